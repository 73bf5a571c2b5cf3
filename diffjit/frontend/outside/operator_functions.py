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
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.ops import ROWS
from diffjit.ir.types import BOOL, Scalar
from diffjit.primitives.arithmetic import exact_quotient

_IN_PLACE = {
    kind: getattr(operator, f"i{function.__name__.strip('_')}")
    for kind, function in PYTHON_OPERATORS.items()
    if kind != "absolute" and hasattr(operator, f"i{function.__name__.strip('_')}")
}


class OperatorFunctions(Mixin):
    """Mixin of the interpreter: `operator.add` and its kin."""

    @kinds(**{kind: function for kind, function in PYTHON_OPERATORS.items() if kind != "absolute"})  # the builtin is it
    def py_operator(self, kind: str, *args: Any) -> Any:
        wanted = len(ROWS[kind].operands.split())
        if len(args) != wanted:
            problem = f"the function of `{ROWS[kind].operator}` takes {wanted} arguments, not {len(args)}"
            raise self.type_problem("DJ306", problem, python=TypeError)
        if wanted == 1:
            return self.unary(kind, *args)
        return self.compare_kind(kind, *args) if kind in COMPARE.values() else self.binary(kind, *args)

    @kinds(**_IN_PLACE)
    def py_in_place(self, kind: str, a: Any, b: Any) -> Any:
        return self.augmented(kind, a, b, None)

    @core(operator.truth)
    def op_truth(self, a: Any) -> Any:
        return self.python_bool(self.truth(a))

    @core(operator.is_)
    def op_is(self, a: Any, b: Any) -> Any:
        return self.identical(a, b)

    @core(operator.is_not)
    def op_is_not(self, a: Any, b: Any) -> Any:
        return self.logical_not(self.identical(a, b))

    @core(operator.contains)
    def op_contains(self, a: Any, b: Any) -> Any:
        return self.own_truth(self.contains(b, a, None))

    @core(operator.concat)
    def op_concat(self, a: Any, b: Any) -> Any:
        return self.binary("add", self.of_items(a), self.of_items(b))

    @core(operator.iconcat)
    def op_iconcat(self, a: Any, b: Any) -> Any:
        return self.augmented("add", self.of_items(a), b, None)

    def of_items(self, value: Any) -> Any:
        """A list, tuple or text, which can be put one behind another."""
        if self.is_sequence(value) or self.is_text(value):
            return value
        raise self.type_problem("DJ314", f"{describe(value)} cannot be concatenated", python=TypeError)

    @core(operator.setitem)
    def op_setitem(self, a: Any, b: Any, c: Any) -> Any:
        self.set_item(a, b, c)
        return NONE

    @core(operator.delitem)
    def op_delitem(self, a: Any, b: Any) -> Any:
        self.delete_item(a, b, None)
        return NONE

    @core(operator.not_)
    def op_not(self, a: Any) -> Any:
        return self.python_bool(self.logical_not(self.truth(a)))

    @core(operator.getitem)
    def op_getitem(self, a: Any, b: Any) -> Any:
        return self.get_item(a, b)

    @core(exact_quotient)
    def op_exact_quotient(self, a: Any, b: Any) -> Any:
        result = self.binary("floor_divide", a, b)
        if isinstance(result, Value) and result.op is not None and result.op.kind == "floor_divide":
            result.op.attrs["multiple"] = True
        return result

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
