"""What an integer is the sum of: a constant, and multiples of other integers and of lengths.

    2 * i - (k + 1)        the sum -1 + 2 i - k, where no step of it can wrap around

All that is known of indices starts here. Machine integers wrap around, sums do not; so an operation is taken for what
it says only where its result is exact: Python's own integers, which are tested for overflow, and those whose intervals
fit into their type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from diffjit.analysis.integers.intervals import Intervals
from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Function, Op, Value, const_of
from diffjit.ir.raising import exact
from diffjit.ir.types import Array, Dim, Scalar, Sym
from diffjit.ir.walk import walk

Atom = TypeVar("Atom")


@dataclass(frozen=True, slots=True)
class Affine(Generic[Atom]):
    """constant + the sum of coefficient * atom."""

    constant: int
    terms: dict[Atom, int]

    def plus(self, other: Affine[Atom], times: int = 1) -> Affine[Atom]:
        """The sum with a multiple of another."""
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + times * c
        return Affine(self.constant + times * other.constant, {a: c for a, c in terms.items() if c})

    def shifted(self, by: int) -> Affine[Atom]:
        """The sum with a constant."""
        return Affine(self.constant + by, self.terms)

    def negative(self) -> Affine[Atom]:
        """The sum times -1."""
        return Affine(-self.constant, {a: -c for a, c in self.terms.items()})

    def without(self, atom: Atom) -> Affine[Atom]:
        """All but one term."""
        return Affine(self.constant, {a: c for a, c in self.terms.items() if a != atom})


Parts = list[tuple[int, Value]]


def length_read(v: Value) -> Dim | None:
    """The length that a number was read of an array as, as its type has it; None of other numbers."""
    array = v.op.inputs[0].type if v.op is not None and v.op.kind == "dim" else None
    if v.op is None or not isinstance(array, Array):
        return None
    axis: int = v.op.attrs["axis"]
    return array.dims[axis]


class Sums:
    """Takes the integers of one function apart."""

    def __init__(self, function: Function) -> None:
        self.intervals = Intervals(function)
        self.lengths = _made_with(function)  # the numbers that arrays were made with, by the lengths that they gave

    def exact(self, op: Op) -> bool:
        """Whether an operation computes the integer that it says, and does not wrap around."""
        ty = op.out.type
        if not isinstance(ty, Scalar) or ty.dtype.kind not in "iu":
            return False
        if not all(isinstance(v.type, Scalar) and v.type.dtype.kind in "iub" for v in op.inputs):
            return False
        return ty.weak or exact(op) or self.intervals.fits(op)

    def added(self, v: Value, form: Callable[[Value], Affine[Atom]]) -> Affine[Atom] | None:
        """The forms of the numbers whose multiples add up to an integer, added up; None for one that is no sum."""
        found = self.parts(v)
        if found is None:
            return None
        total: Affine[Atom] = Affine(found[0], {})
        for times, part in found[1]:
            total = total.plus(form(part), times)
        return total

    def parts(self, v: Value) -> tuple[int, Parts] | None:
        """A constant, and the numbers whose multiples add up to an integer with it; None for one that is no sum."""
        op, number = v.op, const_of(v)
        if number is not None:
            return (int(number), []) if isinstance(v.type, Scalar) and v.type.dtype.kind in "iu" else None
        if op is None or op.kind not in ("add", "subtract", "negative", "multiply", "cast") or not self.exact(op):
            return None
        match op.kind:
            case "add":
                return 0, [(1, op.inputs[0]), (1, op.inputs[1])]
            case "subtract":
                return 0, [(1, op.inputs[0]), (-1, op.inputs[1])]
            case "negative":
                return 0, [(-1, op.inputs[0])]
            case "cast":
                return 0, [(1, op.inputs[0])]
            case _:
                return _product(op)


def _product(op: Op) -> tuple[int, Parts] | None:
    for a, b in (op.inputs, op.inputs[::-1]):
        number = const_of(a)
        if number is not None:
            return 0, [(int(number), b)]
    return None


def _made_with(function: Function) -> dict[Sym, Value]:
    found: dict[Sym, Value] = {}
    for op in walk(function.body):
        lengths = op.inputs[op.row.lengths_at :] if op.row.fill is not None and op.row.lengths_at is not None else ()
        if lengths and isinstance(op.out.type, Array):
            for d, n in zip(op.out.type.dims, lengths, strict=True):
                if isinstance(d, Sym) and not _is_length(n, d):
                    found.setdefault(d, n)
    return found


def _is_length(number: Value, d: Sym) -> bool:
    """Whether a number was read of an array that has this very length, of which it then says nothing."""
    while number.op is not None and number.op.kind == "cast":
        number = number.op.inputs[0]
    return length_read(number) == d
