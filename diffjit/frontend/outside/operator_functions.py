"""Functions of Python's module `operator`: each means what the operator itself does."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from diffjit.frontend.numpy.arith import PYTHON_OPERATORS
from diffjit.frontend.syntax.handlers import core, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.syntax.operators import COMPARE
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import BOOL, Scalar


class OperatorFunctions(Mixin):
    """Mixin of the interpreter: `operator.add` and its kin."""

    @kinds(**{kind: function for kind, function in PYTHON_OPERATORS.items() if kind != "absolute"})  # the builtin is it
    def py_operator(self, kind: str, *args: Any) -> Any:
        if len(args) == 1:
            return self.unary(kind, *args)
        return self.compare_kind(kind, *args) if kind in COMPARE.values() else self.binary(kind, *args)

    @core(operator.not_)
    def op_not(self, a: Any) -> Any:
        return self.python_bool(self.logical_not(self.truth(a)))

    @core(operator.getitem)
    def op_getitem(self, a: Any, b: Any) -> Any:
        return self.get_item(a, b)

    @core(operator.index)
    def op_index(self, a: Any) -> Any:
        return self.counted_from(a, "operator.index", "use int(...)")

    def counted_from(self, number: Any, name: str, cure: str) -> Any:
        """An int that is given to a function of Python's that counts."""
        number = self.whole(number, TypeError)
        if isinstance(number, Value) and isinstance(number.type, Scalar):
            if number.type == BOOL or number.type.dtype.kind in "iu":
                return self.cast(number, np.int64, weak=True)
        elif isinstance(number, Static) and hasattr(number.obj, "__index__"):
            return Static(self.evaluated(operator.index, number.obj))
        problem = f"{name}() takes ints, not {describe(number)}"
        raise self.type_problem("DJ308", problem, cure=cure, python=TypeError)
