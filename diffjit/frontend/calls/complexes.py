"""`cmath`: Python's own complex numbers."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np

from diffjit.errors import TypeProblem
from diffjit.frontend.syntax.handlers import CORE, core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar

_KINDS = {
    cmath.exp: "exp", cmath.log10: "log10", cmath.sqrt: "sqrt", cmath.sin: "sin", cmath.cos: "cos", cmath.tan: "tan",
    cmath.sinh: "sinh", cmath.cosh: "cosh", cmath.tanh: "tanh", cmath.asin: "arcsin", cmath.acos: "arccos",
    cmath.atan: "arctan", cmath.asinh: "arcsinh", cmath.acosh: "arccosh", cmath.atanh: "arctanh",
}  # fmt: skip


class Complexes(Mixin):
    """Mixin of the interpreter: `cmath`."""

    def complex_number(self, value: Any) -> Any:
        """Anything as a Python complex number."""
        return Static(complex(value.obj)) if isinstance(value, Static) else self.cast(value, np.complex128, weak=True)

    def real_only(self, what: str, *values: Any) -> None:
        """Python raises TypeError where a complex number would lose its imaginary part, or have an order."""
        for value in values:
            known: Any = getattr(value, "obj", 0.0) if isinstance(value, Static) else 0.0
            ty = value.type if isinstance(value, Value) else None
            if np.iscomplexobj(known) or (isinstance(ty, (Scalar, Array)) and ty.dtype.kind == "c"):
                cure = "take the real part, z.real, or the absolute value; cmath has functions of complex numbers"
                raise self.error(
                    TypeProblem("DJ302", f"{what} does not take complex numbers", cure=cure, python=TypeError)
                )

    @core(cmath.log)
    def cm_log(self, x: Any, base: Any = None) -> Any:
        result = self.ew("log", self.complex_number(x))
        return result if base is None else self.ew("divide", result, self.ew("log", self.complex_number(base)))

    @core(cmath.phase)
    def cm_phase(self, x: Any) -> Any:
        z = self.complex_number(x)
        return self.as_weak(self.ew("arctan2", self.ew("imag", z), self.ew("real", z)))

    @core(cmath.rect)
    def cm_rect(self, r: Any, phi: Any) -> Any:
        real = self.ew("multiply", r, self.ew("cos", phi))
        return self.py_complex(real, self.ew("multiply", r, self.ew("sin", phi)))

    @core(cmath.polar)
    def cm_polar(self, x: Any) -> Any:
        return av.Tup((self.py_abs(self.complex_number(x)), self.cm_phase(x)))


for _function, _kind in _KINDS.items():

    def _apply(self: Any, x: Any, _kind: str = _kind) -> Any:
        return self.ew(_kind, self.complex_number(x))

    setattr(Complexes, f"cm_{_kind}", _apply)
    CORE[_function] = f"cm_{_kind}"
