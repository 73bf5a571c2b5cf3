"""Operators, comparisons and truth values, on numbers, arrays, containers and users' objects."""

from __future__ import annotations

import operator
import sys
from typing import Any, TypeGuard

import gast
import numpy as np

from diffjit import tree
from diffjit.errors import DiffjitError
from diffjit.frontend.numpy.arith import PYTHON_OPERATORS
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.objects.members import is_own_member
from diffjit.frontend.outside.surroundings import is_surroundings
from diffjit.frontend.protocols.of_python import DUNDER, REFLECTED_KINDS
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import describe, same_object
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import BOOL, Array, Scalar, not_one
from diffjit.primitives.library import tables
from diffjit.primitives.library.resumed import iterators

BINARY = {
    gast.Add: "add", gast.Sub: "subtract", gast.Mult: "multiply", gast.Div: "divide", gast.FloorDiv: "floor_divide",
    gast.Mod: "remainder", gast.Pow: "power", gast.MatMult: "matmul", gast.BitAnd: "bitwise_and",
    gast.BitOr: "bitwise_or", gast.BitXor: "bitwise_xor", gast.LShift: "left_shift", gast.RShift: "right_shift",
}  # fmt: skip
COMPARE = {
    gast.Lt: "less", gast.LtE: "less_equal", gast.Gt: "greater", gast.GtE: "greater_equal", gast.Eq: "equal",
    gast.NotEq: "not_equal",
}  # fmt: skip
LARGEST_KEPT = next(k for k in range(256, 1 << 20) if int(str(k + 1)) is not int(str(k + 1)))  # as one object
UNARY = {gast.USub: "negative", gast.UAdd: "positive", gast.Invert: "invert"}


class Operators(Mixin):
    """Mixin of the interpreter: operators."""

    def eval_UnaryOp(self, node: gast.AST) -> Any:
        operand = self.eval(node.operand)
        if isinstance(node.op, gast.Not):
            return self.python_bool(self.logical_not(self.truth(operand, node)))
        return self.unary(UNARY[type(node.op)], operand)

    @for_each
    def unary(self, kind: str, operand: Any) -> Any:
        """`-x`, `+x`, `~x`."""
        if isinstance(operand, av.Ref):
            return self.call_method(operand, f"__{DUNDER[kind]}__", [])
        if isinstance(operand, av.Tup):
            if operand.cls is not None and self.class_has(operand.cls, f"__{DUNDER[kind]}__"):
                return self.call_method(operand, f"__{DUNDER[kind]}__", [])
            raise self.type_problem("DJ309", f"Python has no `{kind}` of {self.in_words(operand)}", python=TypeError)
        if is_own_member(operand):
            return self.member_unary(f"__{DUNDER[kind]}__", kind, operand)
        if (
            kind == "invert"
            and isinstance(operand, Value)
            and operand.type.dtype.kind == "b"
            and not isinstance(operand.type, Array)
        ):
            if not operand.type.weak:
                return self.ew("logical_not", operand)
            operand = self.cast(operand, np.int64, weak=True)  # Python's own bool is an int here: `~True` is -2
        if isinstance(operand, Static) and tree.never_changes(type(operand.obj)):
            return Static(self.evaluated(getattr(operator, DUNDER[kind]), operand.obj))
        return self.ew(kind, operand)

    def logical_not(self, value: Any) -> Any:
        """`not` on a truth value."""
        if isinstance(value, Static):
            return Static(not value.obj)
        negated = self.build.value("logical_not", [value], BOOL)
        if value in self.facts:
            self.facts[negated] = self.facts[value][::-1]
        return negated

    def eval_BinOp(self, node: gast.AST) -> Any:
        left = self.eval(node.left)
        right = self.eval(node.right)
        kind = BINARY[type(node.op)]
        return self.remember_known(self.binary(kind, left, right, node), getattr(np, kind), left, right)

    @for_each
    def binary(self, kind: str, left: Any, right: Any, node: gast.AST | None = None) -> Any:
        """A binary operator on any two values."""
        if isinstance(left, Static) and isinstance(right, Static):
            arrays = [v.obj for v in (left, right) if isinstance(v.obj, np.ndarray)]
            if not arrays or any(tree.is_of_others(a) and a.dtype != object for a in arrays):
                return self.static_binary(kind, left, right, node)
        left, right = self.fraction_as_number(kind, left, right)
        left, right = self.met_keys(self.certain(left), self.certain(right))
        user = self.user_operator(kind, left, right)
        if user is not None:
            return user
        left, right = self.met(left, right)
        if kind == "add" and self.is_text(left) and self.is_text(right):
            return self.text([*self.text_parts(left), *self.text_parts(right)])
        if kind == "remainder" and isinstance(left, Static) and isinstance(left.obj, str):
            return self.percent_format(left.obj, right, node)
        if self.is_part_of_tuple(left) or self.is_part_of_tuple(right):
            return self.joined_parts(kind, left, right, node)
        right = self.plain_list(right) if kind == "add" and self.is_sequence(left) else right
        self.check_sequences(kind, left, right, node)
        if kind in ("add", "multiply") and (self.is_sequence(left) or self.is_sequence(right)):
            joined = self.sequence_operator(kind, left, right, node)
            if joined is not None:
                return joined
        joined = self.combine_sets(kind, left, right)
        if joined is not None:
            return joined
        if kind == "matmul":
            product = self.matmul(self.number(left, "an array"), self.number(right, "an array"))
            return self.mind_result(kind, (left, right), product)
        return self.arithmetic(kind, left, right)

    def in_words(self, value: Any) -> str:
        """What a value is, in words."""
        return describe(self.contents(value) if isinstance(value, av.Ref) else value)

    def check_sequences(self, kind: str, left: Any, right: Any, node: gast.AST | None) -> None:
        """Python has few operators of lists and tuples; beside NumPy's arrays and numbers they are arrays."""
        plain = [self.is_sequence(v) and not self.is_text(v) for v in (left, right)]
        if all(plain):
            alike = kind == "add" and isinstance(left, av.Tup) == isinstance(right, av.Tup)
            allowed = alike or kind in COMPARE.values()
        elif any(plain):
            other = right if plain[0] else left
            if not isinstance(other, (Value, Static)):
                return
            repeated = kind == "multiply" and not (isinstance(other, Value) and isinstance(other.type, Array))
            fitting = int | np.integer if repeated else np.generic | np.ndarray
            allowed = self.ask(other, lambda cls: issubclass(cls, fitting))
        else:
            return
        if not allowed:
            message = f"Python has no `{kind}` of {self.in_words(left)} and {self.in_words(right)}"
            raise self.type_problem("DJ309", message, node, cure="np.array(...) makes an array", python=TypeError)

    def arithmetic(self, kind: str, left: Any, right: Any) -> Any:
        """Python's operator on numbers and arrays."""
        self.check_zero_division(kind, left, right)
        if kind == "power" and _is_mask(left) and _is_two(right):
            return self.ew("square", left)  # NumPy's `**` has a way of its own for squares, and another dtype
        result = self.ew(kind, left, right)
        self.check_power(kind, left, right, result)
        if self.doubts:
            self.check_operator(kind, left, right, result)
        return result

    def is_weak(self, value: Any) -> bool:
        """A Python number rather than NumPy's."""
        if isinstance(value, Value):
            return isinstance(value.type, Scalar) and value.type.weak
        return (
            isinstance(value, Static)
            and isinstance(value.obj, (int, float, complex))
            and not isinstance(value.obj, np.generic)
        )

    def static_binary(self, kind: str, left: Static, right: Static, node: gast.AST | None) -> Any:
        a, b = left.obj, right.obj
        if av.is_number(a) and av.is_number(b) and kind != "matmul":
            return self.arithmetic(kind, left, right)
        self.rest_on_context(a, b)
        try:
            found = PYTHON_OPERATORS[kind](a, b)
            return self.lift_static(found) if isinstance(found, np.ndarray) else Static(found)
        except TypeError as error:
            raise self.type_problem("DJ309", str(error), node, python=TypeError) from error
        except (ArithmeticError, ValueError) as error:
            self.raise_if(Static(True), type(error), str(error))
            raise

    def fraction_as_number(self, kind: str, left: Any, right: Any) -> tuple[Any, Any]:
        """Operands of which a fraction that meets a float is one, as Python computes with it."""
        for value, other in ((left, right), (right, left)):
            fraction: Any = value.obj if isinstance(value, Static) else None
            if not tree.never_changes(type(fraction)) or type(fraction).__name__ != "Fraction":
                continue
            if not _is_double(other):
                continue
            whole = kind == "power" and value is right and fraction.denominator == 1
            number = Static(fraction.numerator if whole else float(fraction))
            return (number, right) if value is left else (self.as_weak(left), number)
        return left, right

    def eval_Compare(self, node: gast.AST) -> Any:
        since = len(self.questions)
        found = self.compare_chain(self.eval(node.left), list(zip(node.ops, node.comparators, strict=True)), node)
        self.ask_no_more(node, since)
        return found

    def compare_chain(self, left: Any, links: list[Any], node: gast.AST) -> Any:
        """`left < a < b ...`: each operand is evaluated once, and no further than needed."""
        op, operand = links[0]
        right = self.eval(operand)
        asked = getattr(np, COMPARE.get(type(op), ""), None)
        outcome = self.remember_known(self.compare(op, left, right, node), asked, left, right)
        if len(links) == 1:
            return outcome
        outcome = self.truth(outcome, node)
        return self.choose(outcome, lambda: self.compare_chain(right, links[1:], node), lambda: Static(False))

    def both(self, a: Any, b: Any) -> Any:
        """Conjunction of two truth values already computed."""
        if isinstance(a, Static):
            return b if a.obj else a
        if isinstance(b, Static):
            return a if b.obj else b
        return self.ew("logical_and", a, b)

    def compare(self, op: gast.AST, left: Any, right: Any, node: gast.AST) -> Any:
        """One comparison."""
        if isinstance(op, (gast.Is, gast.IsNot)):
            outcome = self.identical(left, right)
            return outcome if isinstance(op, gast.Is) else self.logical_not(outcome)
        if isinstance(op, (gast.In, gast.NotIn)):
            outcome = self.own_truth(self.contains(left, right, node))
            return outcome if isinstance(op, gast.In) else self.logical_not(outcome)
        kind = COMPARE[type(op)]
        return self.compare_signs(kind, left, right) or self.compare_kind(kind, left, right, node)

    @for_each
    def compare_kind(self, kind: str, left: Any, right: Any, node: gast.AST | None = None) -> Any:
        """One ordering or equality comparison."""
        if isinstance(left, av.Opt) or isinstance(right, av.Opt):
            return self.compare_optional(kind, left, right, node)
        if (found := self.compare_bounds(kind, left, right, node)) is not None:
            return found
        if isinstance(left, Static) and isinstance(right, Static):
            outcome = self.evaluated(PYTHON_OPERATORS[kind], left.obj, right.obj)
            return Static(outcome) if not isinstance(outcome, np.ndarray) else self.lift_constant(outcome)
        for value, other, turned in ((right, left, False), (left, right, True)):
            if is_exact(value) and _is_double(other):
                return self.compare_exactly(REFLECTED_KINDS.get(kind, kind) if turned else kind, other, value.obj)
        if self.is_text(left) and self.is_text(right):
            raise self.letters([left, right], "a comparison of texts", node)
        left, right = self.met_keys(left, right)
        user = self.compare_objects(kind, left, right, node)
        if user is not None:
            return user
        keyed = self.compare_keyed(kind, left, right, node)
        if keyed is not None:
            return self.own_truth(keyed)
        if self.is_sequence(left) and self.is_sequence(right):
            found = self.compare_sequences(kind, left, right, node)
            return self.own_truth(found) if kind in ("equal", "not_equal") else found  # an order is that of two items
        if kind in ("equal", "not_equal") and self.never_equal(left, right):
            return self.unequal(left, right, Static(kind == "not_equal"))
        if kind not in ("equal", "not_equal") and self.is_weak(left) and self.is_weak(right):
            self.real_only("an order of Python's numbers", left, right)
        self.check_sequences(kind, left, right, node)
        return self.ew(kind, left, right)

    def compare_exactly(self, kind: str, number: Value, exact: Any) -> Any:
        """A float beside a decimal or fraction, which may lie between two floats."""
        near = self.evaluated(float, exact)
        if kind not in ("equal", "not_equal") and (signal := _without_order(exact)) is not None:
            self.raise_if(self.ew("not_equal", number, number), signal, f"[{signal}]")
        if near != exact:
            if kind in ("equal", "not_equal"):
                return Static(kind == "not_equal")
            below = self.evaluated(operator.lt, near, exact)
            kind = {"less": "less_equal", "greater_equal": "greater"}.get(kind, kind) if below else kind
            kind = {"less_equal": "less", "greater": "greater_equal"}.get(kind, kind) if not below else kind
        return self.ew(kind, number, Static(near))

    def unequal(self, left: Any, right: Any, outcome: Static) -> Any:
        """What a comparison of things that are never equal gives: an array says so item by item."""
        arrays = [v for v in (left, right) if isinstance(v, Value) and isinstance(v.type, Array) and v.type.ndim]
        return self.call_static(np.full_like, [arrays[0], outcome, Static(bool)], {}, None) if arrays else outcome

    def never_equal(self, left: Any, right: Any) -> bool:
        """Whether Python says that these are not equal because of what they are; NumPy's numbers compare with items."""
        for a, b in ((left, right), (right, left)):
            if _never_equals(a, b):
                return True
            plain = isinstance(b, Static) or (isinstance(b, Value) and isinstance(b.type, Scalar))
            if isinstance(a, av.Fn | av.Bound | av.Method) and plain:
                return True  # a function and a number or None
            number = isinstance(b, Value) and isinstance(b.type, Scalar)
            if self.is_sequence(a) and (number or isinstance(b, Static)):
                return not self.ask(b, lambda cls: issubclass(cls, np.generic | np.ndarray))
        return False

    def compare_optional(self, kind: str, left: Any, right: Any, node: gast.AST | None) -> Any:
        if isinstance(right, Static) and right.obj is None and isinstance(left, av.Opt):
            return left.is_none if kind == "equal" else self.logical_not(left.is_none)
        if kind in ("equal", "not_equal") and not any(map(_has_elements, (left, right))):
            same = self.equal_keys(left, right, node)
            return same if kind == "equal" else self.logical_not(same)
        return self.compare_kind(
            kind,
            self.not_none(left) if isinstance(left, av.Opt) else left,
            self.not_none(right) if isinstance(right, av.Opt) else right,
            node,
        )

    def compare_sequences(self, kind: str, left: Any, right: Any, node: gast.AST | None) -> Any:
        equality = kind in ("equal", "not_equal")
        if equality and (self.list_and_tuple(left, right) or self.is_text(left) != self.is_text(right)):
            return Static(kind == "not_equal")
        if equality and (self.is_growing(left) or self.is_growing(right)):
            for side in (left, right):
                self.class_of(side)  # refused where that hangs on the path
            for one, other in ((left, right), (right, left)):
                if not self.is_growing(one) and not self.sequence_items(one, node):
                    return self.compare_kind(kind, self.length(other), Static(0), node)
            same = self.truth(self.call_plain(tables.alike, left, right, node=node))
            return same if kind == "equal" else self.logical_not(same)
        classes = [self.class_of(v) for v in (left, right)]
        if not equality and issubclass(classes[0], list) != issubclass(classes[1], list):
            names = " and ".join(f"'{c.__name__}'" for c in classes)
            self.raise_if(Static(True), TypeError, av.inexact(f"an order of instances of {names}"))
        if self.is_growing(left) or self.is_growing(right):
            greater, equal = kind.startswith("greater"), "equal" in kind
            return self.call_plain(tables.before, left, right, Static(greater), Static(equal), node=node)
        a, b = self.sequence_items(left, node), self.sequence_items(right, node)
        if equality:
            if len(a) != len(b):
                return Static(kind == "not_equal")
            result: Any = Static(True)
            for x, y in zip(a, b, strict=True):
                result = self.both(result, self.same_item(x, y, node))
            return result if kind == "equal" else self.logical_not(result)
        strict = kind.split("_", maxsplit=1)[0]
        result = (
            Static(len(a) < len(b) if strict == "less" else len(a) > len(b))
            if len(a) != len(b)
            else Static("equal" in kind)
        )
        for x, y in reversed(list(zip(a, b, strict=False))):
            first = self.compare_kind(strict, x, y, node)
            same = self.compare_kind("equal", x, y, node)
            result = self.choose(first, lambda: Static(True), lambda s=same, r=result: self.both(s, r))
        return result

    @for_each
    def identical(self, left: Any, right: Any) -> Any:
        """`is`."""
        if self.is_opaque(left) or self.is_opaque(right):
            return self.tell_python(Static(bool), Static(operator.is_), left, right)
        for a, b in ((left, right), (right, left)):
            if isinstance(b, Static) and (
                b.obj is None or isinstance(b.obj, (bool, np.bool_, type)) or b.obj is Ellipsis
            ):
                if isinstance(a, av.Opt):
                    if b.obj is None:
                        return a.is_none
                    return self.choose(a.is_none, lambda: Static(False), lambda a=a, b=b: self.identical(a.value, b))
                if isinstance(a, Value) and isinstance(b.obj, bool) and a.type == Scalar(BOOL.dtype):
                    message = f"`is {b.obj}` of a NumPy bool, which is never {b.obj} itself"
                    raise self.unsupported("DJ121", message, None, "test its truth, or compare with ==")
                if isinstance(a, Value) and isinstance(b.obj, bool | np.bool_):
                    if not self.ask(a, lambda cls, b=b: cls is type(b.obj)):
                        return Static(False)
                    return a if b.obj else self.logical_not(a)
                return Static(isinstance(a, Static) and a.obj is b.obj)
        if isinstance(left, Static) and isinstance(right, Static):
            if av.is_read_only(left.obj) and same_object(left.obj, right.obj):  # one may stand for the other
                raise self.unsupported("DJ121", "`is` between arrays of the same texts", None, "compare with ==")
            return Static(left.obj is right.obj)
        for a, b in ((left, right), (right, left)):
            if isinstance(a, av.Opt) and isinstance(b, av.Opt | av.Handle):
                inner = lambda a=a, b=b: self.identical(a.value, b)  # noqa: E731
                none = b.is_none if isinstance(b, av.Opt) else Static(False)
                return self.choose(a.is_none, lambda none=none: none, inner)
        if isinstance(left, av.Handle) and isinstance(right, av.Handle):
            return self.same_handle(left, right)
        if isinstance(left, av.Ref) and isinstance(right, av.Ref):
            return Static(self.same_object(left, right))
        if all(self.is_python_int(v) for v in (left, right)):
            return self.same_int(left, right)
        if type(left) is not type(right):
            number = [isinstance(v, Value) or (isinstance(v, Static) and av.is_number(v.obj)) for v in (left, right)]
            if all(number):  # Python keeps one object for each small int
                raise self.unsupported("DJ121", "`is` between two numbers", None, "compare with ==")
            return Static(False)
        if isinstance(left, Value | av.Tup) and left is right:
            return Static(True)  # of a tuple's names, one tuple: each evaluation makes its own
        found = self.same_array(left, right)
        if found is None:
            raise self.unsupported(
                "DJ121", "`is` between two run-time values", None, "compare with == or test `is None`"
            )
        return found

    def is_python_int(self, value: Any) -> bool:
        """Whether a value is an int of Python's own."""
        if isinstance(value, Static):
            return type(value.obj) is int
        scalar = isinstance(value, Value) and isinstance(value.type, Scalar)
        return scalar and value.type.dtype.kind == "i" and self.ask(value, lambda cls: cls is int)

    def same_int(self, left: Any, right: Any) -> Any:
        """Whether two ints are one object: Python keeps one for each small int, and others where it happens to."""
        equal = self.compare_kind("equal", left, right)
        one = left if isinstance(left, Value) else right
        large = self.compare_kind("greater", one, Static(LARGEST_KEPT))
        outside = self.ew("logical_or", large, self.compare_kind("less", one, Static(-5)))
        message = f"`is` between equal ints outside of -5 to {LARGEST_KEPT}, be they one object or two: use == [DJ121]"
        self.refuse_if(self.ew("logical_and", equal, outside), NotImplementedError, message)
        return equal

    @for_each
    def contains(self, item: Any, container: Any, node: gast.AST) -> Any:
        """`in`."""
        if (there := self.variable_is_there(container, item)) is not None:
            return there
        if isinstance(container, Static) and isinstance(item, Static) and is_surroundings(container.obj):
            return self.answer(container.obj.__contains__, (item.obj,))
        if isinstance(container, Static) and isinstance(item, Static) and not isinstance(container.obj, np.ndarray):
            return Static(item.obj in container.obj)
        if isinstance(container, Static) and isinstance(container.obj, str | bytes) and self.is_opaque(item):
            return self.tell_python(Static(bool), Static(operator.contains), container, item)
        if isinstance(container, av.Ref):
            held = self.contents(container)
            if isinstance(held, av.DictC):
                if self.is_run_time_key(item):
                    return self.any_equal(item, [self.lift_static(k) for k in held.items], node)
                return Static(self.static_key(item, node) in held.items)
            if isinstance(held, av.ObjC) and (self.is_opaque(container) or self.class_has(held.cls, "__contains__")):
                return self.truth(self.call_method(container, "__contains__", [item]), node)
            if isinstance(held, av.ObjC):
                return self.call_plain(iterators.is_among, item, container, node=node)
        if isinstance(container, Value) and isinstance(container.type, Array):
            return self.reduce("any", self.ew("equal", container, item))
        if isinstance(container, Static):
            return self.any_equal(item, [self.lift_static(x) for x in container.obj], node)
        try:
            return self.any_equal(item, self.sequence_items(container, node), node)
        except UnknownLength:
            equal = lambda found, x: self.either(found, self.same_item(item, x, node))  # noqa: E731
            return self.accumulate(container, Static(False), equal, ("in", self.place()))

    def any_equal(self, item: Any, candidates: list[Any], node: gast.AST) -> Any:
        result: Any = Static(False)
        for candidate in candidates:
            same = self.same_item(item, candidate, node)
            if isinstance(same, Static):
                if same.obj:
                    return Static(True)
                continue
            result = same if isinstance(result, Static) else self.ew("logical_or", result, same)
        return result

    def eval_BoolOp(self, node: gast.AST) -> Any:
        return self.bool_chain(isinstance(node.op, gast.And), node.values, node)

    def bool_chain(self, is_and: bool, nodes: list[gast.AST], node: gast.AST) -> Any:
        """`and`/`or` with Python's value semantics."""
        first = self.eval(nodes[0])
        if len(nodes) == 1:
            return first
        test = self.truth(first, node)
        if isinstance(test, Static):
            return self.bool_chain(is_and, nodes[1:], node) if bool(test.obj) == is_and else first
        rest = lambda: self.bool_chain(is_and, nodes[1:], node)  # noqa: E731
        known = lambda: first if first is not test else Static(not is_and)  # noqa: E731
        return self.choose(test, rest, known) if is_and else self.choose(test, known, rest)

    @for_each
    def truth(self, value: Any, node: gast.AST | None = None) -> Any:
        """The truth value: Static(bool) or an IR bool."""
        if isinstance(value, Static):
            if isinstance(value.obj, np.ndarray) and value.obj.size > 1:
                raise self.ambiguous(node)
            return Static(bool(value.obj))
        if isinstance(value, av.Opt):
            present = self.logical_not(value.is_none)
            if isinstance(value.value, (av.Tup, av.Fn)):
                return present
            return self.choose(present, lambda: self.truth(value.value, node), lambda: Static(False))
        if isinstance(value, Value):
            if isinstance(value.type, Array) and value.type.ndim > 0:
                return self.array_truth(value, node)
            scalar = self.as_known(self.number(value))
            if isinstance(scalar, Static):
                return Static(bool(scalar.obj))
            if scalar.type.dtype.kind == "b":
                return scalar
            return self.build.value("not_equal", [scalar, self.build.const(0, scalar.type)], BOOL)
        if isinstance(value, (av.Tup, av.Ref, av.Range)):
            return self.container_truth(value, node)
        return Static(True)

    def array_truth(self, value: Value, node: gast.AST | None) -> Any:
        """The truth value of an array: only one element has one."""
        if any(not_one(d) for d in value.type.dims):
            raise self.ambiguous(node)
        if any(d != 1 for d in value.type.dims):
            several = self.compare_kind("not_equal", self.np_size(value), Static(1))
            told = f"{_AMBIGUOUS}: {_for_elements(node)} [DJ311]"
            self.raise_if(several, ValueError, av.inexact(told))
        return self.truth(self.item(value), node)

    def ambiguous(self, node: gast.AST | None) -> DiffjitError:
        """The error of an array of several elements that is asked for its truth value."""
        return self.type_problem("DJ311", _AMBIGUOUS, node, cure=_for_elements(node), python=ValueError)


_AMBIGUOUS = "the truth value of an array is ambiguous"


def _for_elements(test: Any) -> str:
    """What to write where an array is asked for its truth value."""
    if isinstance(test, gast.BoolOp):
        sign, word = ("&", "and") if isinstance(test.op, gast.And) else ("|", "or")
        return f"write `(x > a) {sign} (x < b)` in place of `{word}`"
    if isinstance(test, gast.Compare) and len(test.ops) > 1:
        return "write `(a < x) & (x < b)` in place of `a < x < b`"
    return "use .any() or .all(), or for each element np.where(test, a, b), np.maximum(a, b)"


def _is_double(value: Any) -> TypeGuard[Value]:
    """Whether a value is a number of float64 that is only known at run time."""
    return isinstance(value, Value) and isinstance(value.type, Scalar) and value.type.dtype == np.float64


def is_exact(value: Any) -> bool:
    """Whether a value is a decimal or a fraction."""
    return isinstance(value, Static) and tree.never_changes(type(value.obj)) and hasattr(value.obj, "as_integer_ratio")


def _without_order(exact: Any) -> Any:
    """What Python raises where NaN is less or greater; None where it says that it is not."""
    return getattr(sys.modules[type(exact).__module__], "InvalidOperation", None)


def _never_equals(a: Any, b: Any) -> bool:
    """A string, None or type never equals a number or a container."""
    if not isinstance(a, Static) or is_exact(a) or av.is_number(av.as_number(a).obj) or isinstance(a.obj, np.ndarray):
        return False
    return isinstance(b, (Value, av.Tup, av.Ref, av.Fn))


def _is_two(value: Any) -> bool:
    return isinstance(value, Static) and type(value.obj) is int and value.obj == 2


def _is_mask(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, Array) and value.type.dtype.kind == "b"


def _has_elements(value: Any) -> bool:
    """Whether a value, if it is not None, is compared element by element, or cannot be used at all."""
    value = value.value if isinstance(value, av.Opt) else value
    array = isinstance(value, Value) and isinstance(value.type, Array)
    return array or isinstance(value, av.Poison) or isinstance(getattr(value, "obj", None), np.ndarray)
