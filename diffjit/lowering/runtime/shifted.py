"""Arrays that are added to parts of one array, each at its place: what a stencil's way back does, in one go.

    a[0:n, 1:m + 1] += t                for each element of `a` within reach:
    a[2:n + 2, 1:m + 1] += t                add what falls upon it of each, in their order
    a[1:n + 1, 0:m] += u

Each element is read and written once, by nobody else, so this is a kernel where the program is for a device; the
processor goes row by row. To each element the same numbers are added in the same order as one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import cgutils, types

from diffjit.lowering.llvm.elements import ITEMSIZE, SHAPE, STRIDES, pointer
from diffjit.lowering.llvm.emission import loop_mark
from diffjit.lowering.llvm.scopes import distinct
from diffjit.lowering.marks import NEST, SCALAR
from diffjit.lowering.runtime import moves
from diffjit.lowering.runtime.build import I64, operation

Shift = tuple[int, ...]  # the number of what is added, and the first index along each axis


@cache
def add_shifted(shifts: tuple[Shift, ...], *, wide: bool = False) -> Any:
    """`add_shifted(shifts)(a, t, ...)`: to the part of `a` from the indices of a shift on, add what it names.

    All that is added has one shape, and no memory in common with `a`, where each part lies as a whole.
    """
    count = 1 + max(which for which, *_ in shifts)

    def typed(*kinds: Any) -> Any:
        first = kinds[0]
        fits = isinstance(first.dtype, types.Float) and first.ndim == len(shifts[0]) - 1
        return types.none if fits and all(k.dtype == first.dtype and k.ndim == first.ndim for k in kinds) else None

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        plan = _Plan(context, list(kinds), shifts)
        label = "_".join("".join((k.layout, str(k.dtype))) for k in kinds)
        name = f"diffjit_add_shifted_{label}_{'__'.join('_'.join(map(str, s)) for s in shifts)}"
        kernel = (plan.elements, plan.turns) if wide else None
        return moves.call_once(context, builder, name, (list(kinds), list(args)), plan.all, kernel)

    return operation("add_shifted", 1 + count, typed, emit)


class _Plan:
    """What is added where."""

    def __init__(self, context: Any, kinds: list[Any], shifts: tuple[Shift, ...]) -> None:
        self.context, self.kinds, self.shifts = context, kinds, shifts
        ndim = kinds[0].ndim
        self.axes = range(ndim - 1, -1, -1) if kinds[0].layout == "F" else range(ndim)  # neighbours last
        self.low = [min(s[1 + k] for s in shifts) for k in range(ndim)]
        self.high = [max(s[1 + k] for s in shifts) for k in range(ndim)]

    def _reach(self, b: Any, values: list[Any]) -> tuple[list[Any], list[Any]]:
        """The lengths of what is added, and how far all of it reaches along each axis: not at all if it is empty."""
        lengths = [b.extract_value(values[1], (SHAPE, k)) for k in range(self.kinds[0].ndim)]
        empty = cgutils.false_bit
        for n in lengths:
            empty = b.or_(empty, b.icmp_signed("==", n, I64(0)))
        over = zip(lengths, self.low, self.high, strict=True)
        return lengths, [b.select(empty, I64(0), b.add(n, I64(high - low))) for n, low, high in over]

    def elements(self, b: Any, values: list[Any]) -> Any:
        """How many elements of `a` are within reach."""
        count = I64(1)
        for n in self._reach(b, values)[1]:
            count = b.mul(count, n)
        return count

    def _falls(self, b: Any, shift: Shift, place: dict[int, Any], lengths: list[Any]) -> tuple[Any, dict[int, Any]]:
        """Whether something falls on a place, given along some axes, and which index it has there."""
        inside, at = cgutils.true_bit, dict[int, Any]()
        for k, i in place.items():
            at[k] = b.sub(i, I64(shift[1 + k] - self.low[k]))
            inside = b.and_(inside, b.icmp_unsigned("<", at[k], lengths[k]))
        return inside, at

    def _at(self, b: Any, which: int, values: list[Any], index: dict[int, Any], *, rows: bool = False) -> Any:
        indices = [index[k] for k in range(self.kinds[0].ndim)]
        return pointer(self.context, b, self.kinds[which], values[which], indices, rows=rows)

    def all(self, b: Any, values: list[Any]) -> None:
        """Row by row. Where all of a row's parts overlap, an element is in a register until all has been added."""
        lengths, reach = self._reach(b, values)
        *outer, inner = self.axes
        apart = _Apart(b.module)
        n, behind = lengths[inner], I64(self.high[inner] - self.low[inner])
        total = cgutils.alloca_once(b, self.context.get_value_type(self.kinds[0].dtype))

        def rows(*, unit: bool) -> None:
            with cgutils.loop_nest(b, [reach[k] for k in outer], I64) as indices:
                place = dict(zip(outer, indices, strict=True))
                found = [self._falls(b, shift, place, lengths) for shift in self.shifts]
                whole = b.icmp_signed("<=", behind, n)
                for inside, _ in found:
                    whole = b.and_(whole, inside)

                def some(start: Any, stop: Any) -> None:
                    with _loop(b, start, stop, SCALAR) as i:
                        self._element(b, values, {**place, inner: i}, lengths, total)

                with b.if_else(whole) as (then, otherwise):
                    with then:
                        some(I64(0), behind)
                        with _loop(b, behind, n, NEST) as i:
                            target = self._target(b, values, {**place, inner: i}, rows=unit)
                            value = apart.written(b.load(target))
                            for shift, (_, at) in zip(self.shifts, found, strict=True):
                                at = {**at, inner: b.sub(i, I64(shift[1 + inner] - self.low[inner]))}  # noqa: PLW2901
                                source = self._at(b, 1 + shift[0], values, at, rows=unit)
                                value = b.fadd(value, apart.read(b.load(source)))
                            apart.written(b.store(value, target))
                        some(n, reach[inner])
                    with otherwise:
                        for shift, (inside, at) in zip(self.shifts, found, strict=True):
                            with b.if_then(inside), _loop(b, I64(0), n, NEST) as i:
                                to = {**place, inner: b.add(i, I64(shift[1 + inner] - self.low[inner]))}
                                target = self._target(b, values, to, rows=unit)
                                source = self._at(b, 1 + shift[0], values, {**at, inner: i}, rows=unit)
                                before = apart.written(b.load(target))
                                apart.written(b.store(b.fadd(before, apart.read(b.load(source))), target))

        if any(k.layout == "F" for k in self.kinds):
            rows(unit=False)
            return
        unit = cgutils.true_bit
        for ty, value in zip(self.kinds, values, strict=True):
            stride = b.extract_value(value, (STRIDES, ty.ndim - 1))
            unit = b.and_(unit, b.icmp_signed("==", stride, b.extract_value(value, ITEMSIZE)))
        with b.if_else(unit, likely=True) as (then, otherwise):
            with then:
                rows(unit=True)
            with otherwise:
                rows(unit=False)

    def turns(self, b: Any, values: list[Any], ends: tuple[Any, Any]) -> None:
        """The elements with numbers from the one end to the other."""
        lengths, reach = self._reach(b, values)
        total = cgutils.alloca_once(b, self.context.get_value_type(self.kinds[0].dtype))
        with cgutils.for_range_slice(b, *ends, I64(1), intp=I64) as (number, _):
            place: dict[int, Any] = {}
            for k in reversed(self.axes):
                place[k], number = b.urem(number, reach[k]), b.udiv(number, reach[k])  # noqa: PLW2901
            self._element(b, values, place, lengths, total)

    def _target(self, b: Any, values: list[Any], place: dict[int, Any], *, rows: bool = False) -> Any:
        return self._at(b, 0, values, {k: b.add(i, I64(self.low[k])) for k, i in place.items()}, rows=rows)

    def _element(self, b: Any, values: list[Any], place: dict[int, Any], lengths: list[Any], total: Any) -> None:
        """Add to one element what falls on it."""
        target = self._target(b, values, place)
        b.store(b.load(target), total)
        for shift in self.shifts:
            inside, at = self._falls(b, shift, place, lengths)
            with b.if_then(inside):
                b.store(b.fadd(b.load(total), b.load(self._at(b, 1 + shift[0], values, at))), total)
        b.store(b.load(total), target)


@contextmanager
def _loop(b: Any, start: Any, stop: Any, mark: str) -> Iterator[Any]:
    """A loop that LLVM does not unroll; yields its counter."""
    head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(I64)
    i.add_incoming(start, before)
    b.cbranch(b.icmp_signed("<", i, stop), body, after)
    b.position_at_end(body)
    yield i
    i.add_incoming(b.add(i, I64(1), flags=["nsw"]), b.block)
    b.branch(head).set_metadata("llvm.loop", loop_mark(b.module, None, mark))
    b.position_at_end(after)


class _Apart:
    """Says of loads and stores that what is written is not what is read."""

    def __init__(self, module: Any) -> None:
        domain = distinct(module)
        self.scopes = [module.add_metadata([distinct(module, domain)]) for _ in range(2)]

    def _of(self, access: Any, own: Any, other: Any) -> Any:
        access.set_metadata("alias.scope", own)
        access.set_metadata("noalias", other)
        return access

    def written(self, access: Any) -> Any:
        """An access of what is written."""
        return self._of(access, *self.scopes)

    def read(self, access: Any) -> Any:
        """An access of what is only read."""
        return self._of(access, *reversed(self.scopes))
