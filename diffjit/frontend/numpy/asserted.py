"""Tests in programs: `np.testing`. What they say where they fail is not NumPy's text."""

from __future__ import annotations

from typing import Any

from diffjit.frontend.syntax.handlers import late
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.primitives.library.asserted import comparisons as asserted


class Asserted(Mixin):
    """Mixin of the interpreter: assertions of NumPy."""

    @late("numpy.testing", "assert_allclose")
    def np_assert_allclose(
        self,
        actual: Any,
        desired: Any,
        rtol: Any = Static(1e-7),
        atol: Any = Static(0),
        equal_nan: Any = Static(True),
        err_msg: Any = NONE,
        verbose: Any = NONE,
    ) -> Any:
        del err_msg, verbose
        self.call_plain(asserted.assert_allclose, actual, desired, rtol, atol, equal_nan, node=None)
        return NONE

    @late("numpy.testing", "assert_array_equal", "assert_equal")
    def np_assert_equal(self, actual: Any, desired: Any, err_msg: Any = NONE, verbose: Any = NONE) -> Any:
        del err_msg, verbose
        self.call_plain(asserted.assert_array_equal, self._operand(actual), self._operand(desired), node=None)
        return NONE

    @late("numpy.testing", "assert_almost_equal")
    def np_assert_almost_equal(
        self, actual: Any, desired: Any, decimal: Any = Static(7), err_msg: Any = NONE, verbose: Any = NONE
    ) -> Any:
        del err_msg, verbose
        self.call_plain(asserted.assert_almost_equal, actual, desired, decimal, node=None)
        return NONE

    @late("numpy.testing", "assert_array_almost_equal")
    def np_assert_array_almost_equal(
        self, actual: Any, desired: Any, decimal: Any = Static(6), err_msg: Any = NONE, verbose: Any = NONE
    ) -> Any:
        return self.np_assert_almost_equal(actual, desired, decimal, err_msg, verbose)

    @late("numpy.testing", "assert_array_less")
    def np_assert_array_less(self, x: Any, y: Any, err_msg: Any = NONE, verbose: Any = NONE) -> Any:
        del err_msg, verbose
        self.call_plain(asserted.assert_array_less, self._operand(x), self._operand(y), node=None)
        return NONE

    def _operand(self, value: Any) -> Any:
        if is_none(value) or (isinstance(value, Static) and isinstance(value.obj, str)):
            raise self.unsupported("DJ118", "an assertion of NumPy on anything but numbers", None, "use `assert`")
        return self.array(value)
