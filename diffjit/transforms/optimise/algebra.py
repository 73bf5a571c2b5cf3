"""Algebra on what a derivative multiplies and adds: a table of rewritings that leave its numbers as they are.

1.0 * x                  ->  x                 zmul(-1.0, -a / b)   ->  a / b
-1.0 * x                 ->  -x                -a * b               ->  -(a * b), where -a has no other use
2.0 * 100                ->  200.0             a - -b               ->  a + b
4 * (0.3 * x)            ->  1.2 * x           x + x                ->  2 * x
sum(full((n, m), 1.0))   ->  n * m             full(n, x).copy()    ->  full(n, x), where it has no other use

Each rewriting gives the same bits, but for c * (1 / x) -> c / x, which rounds once where the derivative rounded twice.
Products of constants are taken only where one of them is a power of two, or the product is exact.
Rules derive a partial derivative by itself: what they are multiplied with is known only when all are together.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import LABELS, SUM, TRIED, Block, Function, Op, Value, const_of, is_view, is_weak
from diffjit.ir.types import INT, Array, Scalar
from diffjit.ir.walk import blocks, walk
from diffjit.transforms.optimise.changes import Changes

_LARGEST = 2**53  # whole numbers up to here are floats
_ROUNDS = 8
_STEPS = frozenset({"add", "subtract"})
_FRESH = frozenset({"matmul", "full", "unbroadcast", "zeros", "zeros_like"})
_READING = frozenset({"sum", "matmul", "unbroadcast", "copy", "dim"})
_EITHER = frozenset({"add", "subtract", "multiply", "zmul", "zdiv"})  # the same of NumPy's numbers and Python's


def simplify_products(function: Function) -> None:
    """Apply the table until nothing changes, in place."""
    if not any(op.kind in TABLE for op in walk(function.body)):
        return
    for _ in range(_ROUNDS):
        if not _Round(function).run():
            break
    _make_in_place(function)


def _make_in_place(function: Function) -> None:
    """What is made to be copied, and for nothing else, is made where the copy would be."""
    count: Counter[Value] = Counter()
    for block in blocks(function.body):
        for op in block.ops:
            count.update(op.inputs)
        count.update(block.results)
    for block in blocks(function.body):
        made: dict[Value, Op] = {}
        kept: list[Op] = []
        for op in block.ops:
            source = made.get(op.inputs[0]) if op.kind == "copy" else None
            if source is not None and count[source.out] == 1 and source.out.type == op.out.type:
                del made[source.out]
                source.outputs, op.out.op = [op.out], source
                made[op.out] = source
                continue
            fresh = op.row.makes or (op.row.by_element and op.kind != "select")  # which gives an operand itself
            if fresh and isinstance(op.out.type, Array) and op.out.type.ndim:  # NumPy makes numbers of 0-d results
                made[op.out] = op
            kept.append(op)
        block.ops = kept


class _Round:
    """One walk over a function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.changes = Changes(function)
        self.fresh: set[Value] = set()  # made in this round: nothing is known of them yet
        self.count: Counter[Value] = Counter()
        self.readers: dict[Value, list[Op]] = {}
        self.returned: set[Value] = set()
        for block in blocks(function.body):
            for op in block.ops:
                self.count.update(op.inputs)
                for v in op.inputs:
                    self.readers.setdefault(v, []).append(op)
            self.count.update(block.results)
            self.returned.update(block.results)
        self.mapping: dict[Value, Value] = {}
        self.changed = False
        self.new: list[Op] = []  # constants, and operations that come before the one that is rewritten

    def run(self) -> bool:
        for block in blocks(self.function.body):
            self.block(block)
            self.terms(block)
        if self.mapping:
            for block in blocks(self.function.body):
                for op in block.ops:
                    op.inputs = [self.final(v) for v in op.inputs]
                block.results = [self.final(v) for v in block.results]
        return self.changed

    def final(self, v: Value) -> Value:
        while v in self.mapping:
            v = self.mapping[v]
        return v

    def terms(self, block: Block) -> None:
        """What is only added to a sum of its own name needs no name: `k_bar += g * s`."""
        for op in block.ops:
            if op.kind != "add" or SUM not in op.attrs:
                continue
            first, term = op.inputs
            if isinstance(first.type, Array) or (first.op is not None and SUM in first.op.attrs):
                first = term  # a sum goes on under its name
            for v in (first, term):
                if v.op is not None and not v.op.regions and v.name == op.out.name and self.count[v] == 1:
                    v.name = None

    def block(self, block: Block) -> None:
        kept: list[Op] = []
        for op in block.ops:
            op.inputs = [self.final(v) for v in op.inputs]
            rules = TABLE.get(op.kind, ())
            if rules and op.kind != "copy" and not _is_real(op):
                rules = (_steps_together,) if op.kind in _STEPS and op.out.type == INT else ()
            for rule in rules:
                self.new = []
                found = rule(self, op)
                if found is None:
                    continue
                self.changed = True
                for made in self.new:
                    made.out.block = block
                kept += self.new
                if isinstance(found, Value):
                    self.mapping[op.out] = found
                    found.name = found.name or op.out.name
                    break
                kind, inputs = found
                self.count.update(inputs)
                self.count.subtract(op.inputs)
                op.kind, op.inputs = kind, inputs
                break
            kept.append(op)
        block.ops = kept

    # What rules ask for, and make

    def constant(self, number: Any, like: Value) -> Value:
        """A number, weak as a constant that it stands for."""
        strong = isinstance(like.type, Scalar) and not like.type.weak
        ty = like.type if strong and isinstance(like.type, Scalar) else scalar_type_of(number)
        return self.made("const", [], ty, value=ty.dtype.type(number) if strong else number)

    def made(self, kind: str, inputs: list[Value], ty: Any, **attrs: Any) -> Value:
        """An operation in front of the one that is rewritten."""
        op = Op(kind, inputs, [Value(ty)], attrs)
        op.out.op = op
        self.new.append(op)
        self.fresh.add(op.out)
        self.count.update(inputs)
        return op.out

    def stands_for(self, other: Value, v: Value) -> bool:
        """Whether a number may be read in place of another one that is equal.

        It may be NumPy's for one of Python's, as conversions print as nothing, and Python's for one of NumPy's where
        each reader has another operand of NumPy's.
        """
        if other.type == v.type:
            return True
        a, b = other.type, v.type
        if not isinstance(a, Scalar) or not isinstance(b, Scalar) or a.dtype != b.dtype or v in self.returned:
            return False
        readers = self.readers.get(v, ())
        if b.weak:
            return all(op.row.by_element for op in readers)
        return all(
            op.kind in _EITHER
            and _is_real(op)
            and any(x is not v and not (isinstance(x.type, Scalar) and x.type.weak) for x in op.inputs)
            for op in readers
        )

    def alone(self, v: Value, kind: str, op: Op) -> Op | None:
        """The operation that makes a value for `op` alone, if it is of a kind, and its operands do not change."""
        inner = v.op
        if inner is None or inner.kind != kind or self.count[v] != 1 or v in self.fresh or not _is_real(inner):
            return None
        if inner.out.type.dtype != op.out.type.dtype or any(name in inner.attrs for name in LABELS):
            return None
        if any(self.changes.after(x, inner) for x in inner.inputs):
            return None
        return inner


def _is_real(op: Op) -> bool:
    """Whether an operation computes floats from floats of the same precision, and Python's numbers."""
    ty = op.out.type
    if not isinstance(ty, (Scalar, Array)) or ty.dtype.kind != "f":
        return False
    if isinstance(ty, Array) and ty.ndim == 0:  # NumPy makes numbers of them
        return False
    strong = not (isinstance(ty, Scalar) and ty.weak)
    exact = False
    for v in op.inputs:
        t = v.type
        if isinstance(t, Scalar) and t.weak and t.dtype.kind in "if":
            if t.dtype.kind == "i" and const_of(v) is None:
                return False
            continue
        if not isinstance(t, (Scalar, Array)) or t.dtype != ty.dtype:
            return False
        exact = True
    return exact or not strong


def _number(v: Value) -> float | None:
    """A constant that floats hold exactly."""
    value = const_of(v)
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return None
    if isinstance(value, int) and abs(value) > _LARGEST:
        return None
    return value if math.isfinite(value) else None  # type: ignore[return-value]


def _constants(op: Op) -> list[float] | None:
    numbers: list[float] = []
    for v in op.inputs:
        number = _number(v)
        if number is None:
            return None
        numbers.append(number)
    return numbers


Found = Value | tuple[str, list[Value]] | None
Rule = Callable[[_Round, Op], Found]


def _folded(compute: Callable[..., Any]) -> Rule:
    """Constants among themselves, where the result is a finite number; computed as it would be when it runs."""

    def rule(at: _Round, op: Op) -> Found:
        numbers = _constants(op)
        ty = op.out.type
        if numbers is None or not isinstance(ty, Scalar):
            return None
        exact = [n if isinstance(v.type, Scalar) and v.type.weak else ty.dtype.type(n)
                 for n, v in zip(numbers, op.inputs, strict=True)]  # fmt: skip
        with np.errstate(all="ignore"):
            try:
                result = compute(*exact)
            except (ZeroDivisionError, OverflowError):  # which it raises, if Python's numbers are meant, when it runs
                return None
        if not math.isfinite(result):
            return None
        return at.made("const", [], ty, value=float(result) if ty.weak else ty.dtype.type(result))

    return rule


def _quotient(a: float, b: float) -> float:
    return a / b


def _by_one(at: _Round, op: Op) -> Found:
    """1.0 * x is x, and -1.0 * x is -x. An array stays another one than x."""
    for k, other in ((0, op.inputs[1]), (1, op.inputs[0])):
        number = _number(op.inputs[k])
        if number == 1 and isinstance(other.type, Scalar) and at.stands_for(other, op.out):
            return other
        if number == -1 and (other.type == op.out.type or at.stands_for(other, op.out)):
            return "negative", [other]
    return None


def _certain(plain: str) -> Rule:
    """zmul(g, p) and zdiv(g, p) guard against g = 0, in vain where g is another number, or p a harmless one.

    A quotient by the number 0 stays: that of two numbers of a text is Python's, which raises.
    """

    def rule(_: _Round, op: Op) -> Found:
        g, p = (_number(v) for v in op.inputs)
        if plain == "divide" and p == 0:
            return None
        return (plain, list(op.inputs)) if g or p is not None else None

    return rule


def _converted(at: _Round, op: Op) -> Found:
    """A constant as another kind of float64, or the same number as NumPy's and as Python's."""
    v, ty = op.inputs[0], op.out.type
    if not isinstance(ty, Scalar) or not isinstance(v.type, Scalar) or v.type.dtype != ty.dtype:
        return None
    number = _number(v)
    if number is not None:
        return at.made("const", [], ty, value=float(number) if ty.weak else ty.dtype.type(number))
    return v if at.stands_for(v, op.out) else None


def _numbers_together(at: _Round, op: Op) -> Found:
    """c * (d * x) is (c * d) * x, where both are exactly the same."""
    for k in (0, 1):
        c = _number(op.inputs[k])
        inner = at.alone(op.inputs[1 - k], "multiply", op) if c is not None else None
        if inner is None or c is None:
            continue
        for j in (0, 1):
            d = _number(inner.inputs[j])
            if d is None or not (_is_power_of_two(c) or _is_power_of_two(d)):
                continue
            product = c * d
            if not _moderate(product) or (isinstance(product, int) and abs(product) > _LARGEST):
                continue
            like = op.inputs[k] if not op.inputs[k].type.weak else inner.inputs[j]  # type: ignore[union-attr]
            return "multiply", [at.constant(product, like), inner.inputs[1 - j]]
    return None


def _is_power_of_two(c: float) -> bool:
    return c != 0 and abs(math.frexp(c)[0]) == 0.5 and _moderate(c)


def _moderate(c: float) -> bool:
    return 1e-30 < float(abs(c)) < 1e30  # which is no number of float16


def _numbers_outwards(at: _Round, op: Op) -> Found:
    """(c * x) * (d * y) is (c * d * x) * y, where d is a power of two, and x / 2 is 0.5 * x."""
    found = [_factor(at.alone(v, "multiply", op) or at.alone(v, "divide", op)) for v in op.inputs]
    for k in (0, 1):
        here, there = found[k], found[1 - k]
        if here is None or there is None or not _is_power_of_two(here.number):
            continue
        product = _whole(here.number * there.number)
        if not _moderate(product) or there.rest.type != op.inputs[1 - k].type:
            continue
        if product == 1:
            return "multiply", [there.rest, here.rest]
        return "multiply", [
            at.made("multiply", [at.constant(product, here.constant), there.rest], there.rest.type), here.rest
        ]  # fmt: skip
    return None


@dataclass(slots=True)
class _Factor:
    """A product with a constant."""

    number: float
    constant: Value
    rest: Value


def _factor(op: Op | None) -> _Factor | None:
    """What an operation multiplies with what; division by a power of two is multiplication."""
    if op is None:
        return None
    for k in (0, 1) if op.kind == "multiply" else (1,):
        c = _number(op.inputs[k])
        if c is not None and (op.kind == "multiply" or _is_power_of_two(c)):
            return _Factor(c if op.kind == "multiply" else 1 / c, op.inputs[k], op.inputs[1 - k])
    return None


def _whole(c: float) -> float:
    """A whole number as an int: it is read more easily."""
    return int(c) if float(c).is_integer() and abs(c) < 1000 else c


def _number_over(at: _Round, op: Op) -> Found:
    """c * (1 / x) is c / x."""
    for k in (0, 1):
        c = _number(op.inputs[k])
        inner = at.alone(op.inputs[1 - k], "divide", op) if c is not None else None
        if inner is not None and _number(inner.inputs[0]) == 1 and inner.inputs[0].type.weak:  # type: ignore[union-attr]
            return "divide", [op.inputs[k], inner.inputs[1]]
    return None


def _sign_outwards(at: _Round, op: Op) -> Found:
    """-a * b is -(a * b): there it meets additions, or another sign."""
    for k, v in enumerate(op.inputs):
        inner = at.alone(v, "negative", op)
        if inner is None or inner.inputs[0].type != v.type:
            continue
        inputs = list(op.inputs)
        inputs[k] = inner.inputs[0]
        tried = {TRIED: True} if TRIED in op.attrs else {}
        return "negative", [at.made(op.kind, inputs, op.out.type, **tried)]
    return None


def _same_divisor(_: _Round, op: Op) -> Found:
    """zmul(c / y, d / y) needs no guard: where c / y is 0, so is d / y."""
    g, p = (v.op for v in op.inputs)
    if g is None or p is None or g.kind != "divide" or p.kind != "divide" or g.inputs[1] is not p.inputs[1]:
        return None
    certain = _number(g.inputs[0]) and _number(p.inputs[0]) and isinstance(g.inputs[1].type, Scalar)
    return ("multiply", list(op.inputs)) if certain else None


def _signed_number(at: _Round, op: Op) -> Found:
    """-(c * x) is (-c) * x, and -(c / x) is (-c) / x. But -(a - b) is -0.0 where b - a is 0.0."""
    v = op.inputs[0]
    inner = at.alone(v, "multiply", op) or at.alone(v, "divide", op)
    if inner is None:
        return None
    for k in (0, 1) if inner.kind == "multiply" else (0,):
        c = _number(inner.inputs[k])
        if c:
            inputs = list(inner.inputs)
            inputs[k] = at.constant(-c, inner.inputs[k])
            return inner.kind, inputs
    return None


def _as_int(at: _Round, op: Op) -> Found:
    """A whole number as it is written by hand: 200 * x and 1 / x."""
    for k, other in ((0, op.inputs[1]), (1, op.inputs[0])):
        v = op.inputs[k]
        c = _number(v)
        if c is None or not isinstance(c, (float, np.floating)) or not float(c).is_integer() or not 0 < abs(c) < 1000:
            continue
        if _number(other) is None and is_weak(other) == is_weak(op.out):
            inputs = list(op.inputs)
            inputs[k] = at.made("const", [], scalar_type_of(1), value=int(c))
            return op.kind, inputs
    return None


def _two_signs(_: _Round, op: Op) -> Found:
    """-(-x) is x."""
    inner = op.inputs[0].op
    if inner is None or inner.kind != "negative" or not isinstance(op.out.type, Scalar):
        return None
    return inner.inputs[0] if inner.inputs[0].type == op.out.type else None


def _subtracted_sign(at: _Round, op: Op) -> Found:
    """a - -b is a + b."""
    inner = at.alone(op.inputs[1], "negative", op)
    return None if inner is None else ("add", [op.inputs[0], inner.inputs[0]])


def _added_sign(at: _Round, op: Op) -> Found:
    """a + -b is a - b. Sums of cotangents stay sums: loops add them up in any order."""
    if SUM in op.attrs:
        return None
    for k in (1, 0):
        inner = at.alone(op.inputs[k], "negative", op)
        if inner is not None:
            return "subtract", [op.inputs[1 - k], inner.inputs[0]]
    return None


def _twice(at: _Round, op: Op) -> Found:
    """x + x is 2 * x."""
    if op.inputs[0] is not op.inputs[1]:
        return None
    op.attrs.pop(SUM, None)
    return "multiply", [at.made("const", [], scalar_type_of(2), value=2), op.inputs[0]]


def _copy_of_own(at: _Round, op: Op) -> Found:
    """A copy of a fresh array that is read, and never written or returned, is that array."""
    v = op.inputs[0]
    if v.op is None or v.type != op.out.type or v in at.returned or v in at.fresh or not isinstance(v.type, Array):
        return None
    if not v.op.row.by_element and v.op.kind not in _FRESH:
        return None
    readers = [r for r in at.readers.get(v, ()) if r is not op]
    views = [r for r in readers if is_view(r)]
    if any(r.out in at.returned for r in views) or at.changes.after(v, v.op) or at.changes.after(op.out, op):
        return None
    around = [r for r in readers if not is_view(r)] + [r for w in views for r in at.readers.get(w.out, ())]
    if any(not r.row.by_element and r.kind not in _READING for r in around):
        return None
    at.returned.add(v)
    v.name = op.out.name
    return v


def _sum_of_ones(at: _Round, op: Op) -> Found:
    """sum(full((n, m), c)) is c * (n * m), where c is a power of two, which adds up exactly."""
    full = op.inputs[0].op
    if full is None or full.kind != "full" or not isinstance(op.out.type, Scalar) or op.out.type != _item(full.out):
        return None
    c, lengths = _number(full.inputs[0]), full.inputs[1:]
    if c is None or not _is_power_of_two(c) or not lengths or at.changes.after(full.out, full):
        return None
    size = lengths[0]
    for n in lengths[1:]:
        size = at.made("multiply", [size, n], INT)
    op.attrs = {name: op.attrs[name] for name in LABELS if name in op.attrs}
    if c == 1:
        return "cast", [size]
    return "multiply", [at.constant(c, op.out), at.made("cast", [size], op.out.type)]


def _item(array: Value) -> Scalar:
    return Scalar(array.type.dtype)


def _steps_together(at: _Round, op: Op) -> Found:
    """n - 1 - 1 is n - 2, of Python's ints."""
    inner, by = op.inputs[0].op, _step(op)
    if inner is None or inner.kind not in _STEPS or by is None or at.count[inner.out] != 1 or inner.out.type != INT:
        return None
    before = _step(inner)
    if before is None or inner.inputs[0].type != INT or any(name in inner.attrs for name in LABELS):
        return None
    total = before + by
    if total == 0:
        return inner.inputs[0]
    if not inner.attrs.get("nowrap"):
        op.attrs.pop("nowrap", None)
    made = at.made("const", [], INT, value=abs(total))
    return "add" if total > 0 else "subtract", [inner.inputs[0], made]


def _step(op: Op) -> int | None:
    """The small constant that an operation adds to its first operand."""
    by = const_of(op.inputs[1])
    if type(by) is not int or abs(by) >= _LARGEST:
        return None
    return by if op.kind == "add" else -by


TABLE: dict[str, tuple[Rule, ...]] = {
    "multiply": (
        _folded(operator.mul),
        _by_one,
        _numbers_together,
        _numbers_outwards,
        _number_over,
        _sign_outwards,
        _as_int,
    ),
    "cast": (_converted,),
    "sum": (_sum_of_ones,),
    "copy": (_copy_of_own,),
    "zmul": (_certain("multiply"), _same_divisor, _sign_outwards),
    "zdiv": (_certain("divide"), _sign_outwards),
    "divide": (_folded(_quotient), _sign_outwards, _as_int),
    "negative": (_folded(operator.neg), _two_signs, _signed_number),
    "subtract": (_folded(operator.sub), _subtracted_sign),
    "add": (_folded(operator.add), _twice, _added_sign),
}
"""Rewritings by the kind of operation: the first that fits is taken; what it makes is looked at in the next round."""
