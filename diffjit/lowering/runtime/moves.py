"""Whole arrays filled, copied and added up, as LLVM: one function a module for each pair of layouts, not one loop each.

A reverse sweep does little else between its expressions, and LLVM's time is per loop. And whether arrays share memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import cgutils, types

from diffjit.lowering.calls.failures import APART, PROMISED, RAISED
from diffjit.lowering.llvm.elements import DATA, ITEMSIZE, SHAPE, STRIDES, pointer
from diffjit.lowering.llvm.emission import loop_mark
from diffjit.lowering.llvm.exits import fail_if, outline
from diffjit.lowering.llvm.numba_internals import store_item
from diffjit.lowering.llvm.scopes import distinct
from diffjit.lowering.marks import NEST, SCALAR
from diffjit.lowering.runtime.build import I64, operation
from diffjit.lowering.runtime.choices import unless_zero
from diffjit.lowering.runtime.memory import lengths_of, strides_of
from diffjit.lowering.runtime.spread import kernels

Body = Callable[..., Any]  # (builder, address in the target, source: a value or an address)


def _over(context: Any, builder: Any, arrays: list[tuple[Any, Any]], body: Callable[..., None]) -> None:
    """Loops over arrays of one shape; `body` gets the addresses of their elements."""
    ty, first = arrays[0]
    lengths = [builder.extract_value(first, (SHAPE, k)) for k in range(ty.ndim)]
    letters = {a.layout for a, _ in arrays}
    if len(letters) == 1 and letters <= {"C", "F"}:
        count = _product(builder, lengths)
        data = [builder.extract_value(a, DATA) for _, a in arrays]
        with cgutils.for_range(builder, count, intp=I64) as loop:
            body(*[builder.gep(d, [loop.index]) for d in data])
        return

    def loops(*, rows: bool) -> None:
        with cgutils.loop_nest(builder, lengths, I64, order="F" if ty.layout == "F" else "C") as indices:
            body(*[pointer(context, builder, a, value, list(indices), rows=rows) for a, value in arrays])

    _by_rows(builder, arrays, loops)


def _by_rows(builder: Any, arrays: list[tuple[Any, Any]], loops: Callable[..., None]) -> None:
    """Emit loops twice: where neighbours along the last axis are neighbours in memory (`rows`), and where not.

    So views of parts of rows take vector instructions.
    """
    if any(a.layout == "F" or not a.ndim for a, _ in arrays):
        loops(rows=False)
        return
    unit = cgutils.true_bit
    for a, value in arrays:
        stride = builder.extract_value(value, (STRIDES, a.ndim - 1))
        unit = builder.and_(unit, builder.icmp_signed("==", stride, builder.extract_value(value, ITEMSIZE)))
    with builder.if_else(unit, likely=True) as (then, otherwise):
        with then:
            loops(rows=True)
        with otherwise:
            loops(rows=False)


def _product(builder: Any, lengths: list[Any]) -> Any:
    count = I64(1)
    for length in lengths:
        count = builder.mul(count, length)
    return count


def _outermost_first(ty: Any) -> Sequence[int]:
    """The axes of an array: the one along which neighbours are neighbours in memory last."""
    return range(ty.ndim - 1, -1, -1) if ty.layout == "F" else range(ty.ndim)


def _indices(b: Any, number: Any, lengths: list[Any], axes: Sequence[int]) -> dict[int, Any]:
    """The index along each axis of the element with a number, where the last of the axes changes fastest."""
    indices: dict[int, Any] = {}
    for k in reversed(axes):
        indices[k], number = b.urem(number, lengths[k]), b.udiv(number, lengths[k])
    return indices


def _call(context: Any, builder: Any, name: str, kinds: list[Any], args: list[Any], body: Body, *, wide: bool) -> Any:
    """Do something with the elements of arrays of one shape, by a function of the module; `body` emits it for one.

    It gets addresses, and a number as it is. `wide`: a kernel does it, where the program is for a device.
    """
    arrays = [k for k, kind in enumerate(kinds) if isinstance(kind, types.Array)]

    def over(b: Any, values: list[Any]) -> None:
        rest = values[len(arrays) :]
        _over(context, b, [(kinds[k], values[k]) for k in arrays], lambda *places: body(b, *places, *rest))

    def elements(b: Any, values: list[Any]) -> Any:
        return _product(b, lengths_of(b, values[0], kinds[0].ndim))

    def turns(b: Any, values: list[Any], ends: tuple[Any, Any]) -> None:
        _turns(context, b, kinds, values, ends, body)

    return call_once(context, builder, name, (kinds, args), over, (elements, turns) if wide else None)


Turns = tuple[Callable[..., Any], Callable[..., None]]  # how many turns for values; what those between two ends do


def call_once(
    context: Any,
    builder: Any,
    name: str,
    given: tuple[list[Any], list[Any]],
    whole: Callable[..., None],
    kernel: Turns | None = None,
) -> Any:
    """Call a function of the module for arrays and numbers (types and values), whose body is `whole(builder, values)`.

    `kernel`: by turns of a device, where the program is for one and that pays.
    """
    kinds, args = given
    device = context.lower.device if kernel is not None else ""

    def emit(b: Any, *values: Any) -> None:
        if device and kernel is not None:
            _kernel(context, b, name, (kinds, list(values)), kernel)
        whole(b, list(values))
        b.ret(I64(0))

    # Programs for devices of two forms may meet in a process, where functions of one name are one.
    fn = outline(builder, f"{name}_{device}" if kernel is not None else name, I64, args, emit)
    answer = builder.call(fn, args)
    if device:
        fail_if(context, builder, builder.icmp_signed("!=", answer, I64(0)), RAISED)
    return context.get_dummy_value()


def _kernel(context: Any, b: Any, name: str, given: tuple[list[Any], list[Any]], kernel: Turns) -> None:
    """Emit the launch of a kernel that does it; from there on the host has to, as it would not pay or cannot be."""
    elements, turns = kernel
    count = elements(b, given[1])
    with b.if_then(b.icmp_signed(">=", count, I64(kernels().LEAST[context.lower.device])), likely=False):
        answer = kernels().moved(context, b, name, given, count, turns)
        if answer is None:
            return
        done, raised = (b.icmp_signed("==", answer, I64(k)) for k in (kernels().launch.DONE, kernels().launch.RAISED))
        with b.if_then(b.or_(done, raised)):
            b.ret(b.zext(raised, I64))


def _turns(context: Any, b: Any, kinds: list[Any], values: list[Any], ends: tuple[Any, Any], body: Body) -> None:
    """Emit what a kernel does: the elements with numbers from the one end to the other."""
    arrays = [(kind, v) for kind, v in zip(kinds, values, strict=True) if isinstance(kind, types.Array)]
    rest = values[len(arrays) :]
    ty, first = arrays[0]
    letters = {a.layout for a, _ in arrays}
    with cgutils.for_range_slice(b, *ends, I64(1), intp=I64) as (number, _):
        if len(letters) == 1 and letters <= {"C", "F"}:
            body(b, *[b.gep(b.extract_value(v, DATA), [number]) for _, v in arrays], *rest)
            return
        indices = _indices(b, number, lengths_of(b, first, ty.ndim), _outermost_first(ty))
        places = [pointer(context, b, a, v, [indices[k] for k in range(ty.ndim)]) for a, v in arrays]
        body(b, *places, *rest)


def _label(ty: Any) -> str:
    return f"{ty.dtype}_{ty.ndim}{ty.layout}"


def _same_kind(a: Any, b: Any) -> Any:
    return types.none if a.dtype == b.dtype and a.ndim == b.ndim else None


def _fill(*, wide: bool) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (ty, kind), (array, given) = kinds, args
        value = context.cast(builder, given, kind, ty.dtype)

        def store(b: Any, to: Any, item: Any) -> None:
            store_item(context, b, ty, item, to)

        label = f"diffjit_fill_{_label(ty)}"
        return _call(context, builder, label, [ty, ty.dtype], [array, value], store, wide=wide)

    return operation("fill", 2, lambda _a, _v: types.none, emit)


def _copy(*, wide: bool) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        label = f"diffjit_copy_{_label(kinds[0])}_{kinds[1].layout}"
        return _call(
            context, builder, label, list(kinds), list(args), lambda b, to, by: b.store(b.load(by), to), wide=wide
        )

    return operation("copy_into", 2, _same_kind, emit)


def _add(*, wide: bool) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        def add(b: Any, to: Any, by: Any) -> None:
            b.store(b.fadd(b.load(to), b.load(by)), to)

        label = f"diffjit_add_{_label(kinds[0])}_{kinds[1].layout}"
        return _call(context, builder, label, list(kinds), list(args), add, wide=wide)

    return operation("add_into", 2, lambda a, b: _same_kind(a, b) if isinstance(a.dtype, types.Float) else None, emit)


# The arrays have one shape; what is read either does not overlap what is written, or is the same memory.
fill, fill_spread = (_fill(wide=wide) for wide in (False, True))  # a[...] = v
copy_into, copy_into_spread = (_copy(wide=wide) for wide in (False, True))  # a[...] = b
add_into, add_into_spread = (_add(wide=wide) for wide in (False, True))  # a += b, of floats


# Arrays that are added to parts of one array --------------------------------------------------------------------------

# What a stencil's way back does, in one go:
#
#     a[0:n, 1:m + 1] += t                for each element of `a` within reach:
#     a[2:n + 2, 1:m + 1] += -t           add what falls upon it of each, in their order
#     a[1:n + 1, 0:m] += c * u
#
# Each element is read and written once, by nobody else, so this is a kernel where the program is for a device; the
# processor goes row by row. To each element the same numbers are added in the same order as one by one. A fresh `a`
# has no elements yet: all are within reach, and begin with zero.

Shift = tuple[int, ...]  # the number of what is added, and the first index along each axis
Step = tuple[str, int]  # what is done to what is added: `negative`, or `multiply` or `zmul` with which number


@cache
def add_shifted(
    shifts: tuple[Shift, ...],
    steps: tuple[tuple[Step, ...], ...],
    *,
    sources: int,
    fresh: bool,
    wide: bool = False,
    rows: bool = False,
) -> Any:
    """`add_shifted(...)(a, t, ..., c, ...)`: to the part of `a` from the indices of a shift on, add what it names.

    What is added has no memory in common with `a`, where each part lies as a whole. `rows`: two numbers more say which
    rows are to be done.
    """
    numbers = len({k for some in steps for _, k in some if k >= 0})

    def typed(*kinds: Any) -> Any:
        first, added, factors = kinds[0], kinds[1 : 1 + sources], kinds[1 + sources : 1 + sources + numbers]
        fits = isinstance(first.dtype, types.Float) and first.ndim == len(shifts[0]) - 1
        fits = fits and all(k.dtype == first.dtype and k.ndim == first.ndim for k in added)
        return types.none if fits and all(k == first.dtype for k in factors) else None

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        plan = _Plan(context, list(kinds[: 1 + sources]), shifts, steps, fresh=fresh)
        label = "_".join("".join((k.layout, str(k.dtype))) for k in kinds[: 1 + sources])
        done = "__".join("_".join(f"{kind}{k if k >= 0 else ''}" for kind, k in some) for some in steps)
        which = "__".join("_".join(map(str, s)) for s in shifts)
        name = f"diffjit_add_shifted_{'new_' if fresh else ''}{label}_{which}___{done}"
        kernel = (plan.elements, plan.turns) if wide else None
        whole = plan.some if rows else plan.all
        return call_once(context, builder, f"{name}_rows" if rows else name, (list(kinds), list(args)), whole, kernel)

    return operation("add_shifted", 1 + sources + numbers + 2 * rows, typed, emit)


class _Plan:
    """What is added where."""

    def __init__(
        self,
        context: Any,
        kinds: list[Any],
        shifts: tuple[Shift, ...],
        steps: tuple[tuple[Step, ...], ...],
        *,
        fresh: bool,
    ) -> None:
        self.context, self.kinds, self.shifts, self.steps, self.fresh = context, kinds, shifts, steps, fresh
        ndim = kinds[0].ndim
        self.axes = _outermost_first(kinds[0])
        self.low = [0 if fresh else min(s[1 + k] for s in shifts) for k in range(ndim)]
        self.zero = context.get_value_type(kinds[0].dtype)(0.0)

    def _lengths(self, b: Any, values: list[Any]) -> list[list[Any]]:
        """The lengths of each part."""
        return [[b.extract_value(values[1 + s[0]], (SHAPE, k)) for k in range(len(self.low))] for s in self.shifts]

    def _reach(self, b: Any, values: list[Any]) -> list[Any]:
        """How far all of it reaches along each axis, what is empty aside; over all of what is fresh."""
        if self.fresh:
            return [b.extract_value(values[0], (SHAPE, k)) for k in range(len(self.low))]
        found: list[Any] = [I64(0) for _ in self.low]
        for shift, lengths in zip(self.shifts, self._lengths(b, values), strict=True):
            empty = cgutils.false_bit
            for n in lengths:
                empty = b.or_(empty, b.icmp_signed("==", n, I64(0)))
            for k, n in enumerate(lengths):
                end = b.select(empty, I64(0), b.add(n, I64(shift[1 + k] - self.low[k])))
                found[k] = b.select(b.icmp_signed(">", end, found[k]), end, found[k])
        return found

    def elements(self, b: Any, values: list[Any]) -> Any:
        """How many elements of `a` are within reach."""
        return _product(b, self._reach(b, values))

    def _falls(self, b: Any, which: int, place: dict[int, Any], lengths: list[list[Any]]) -> tuple[Any, dict[int, Any]]:
        """Whether a part falls on a place, given along some axes, and which index it has there."""
        inside, at = cgutils.true_bit, dict[int, Any]()
        for k, i in place.items():
            at[k] = b.sub(i, I64(self.shifts[which][1 + k] - self.low[k]))
            inside = b.and_(inside, b.icmp_unsigned("<", at[k], lengths[which][k]))
        return inside, at

    def _at(self, b: Any, which: int, values: list[Any], index: dict[int, Any], *, rows: bool = False) -> Any:
        indices = [index[k] for k in range(self.kinds[0].ndim)]
        return pointer(self.context, b, self.kinds[which], values[which], indices, rows=rows)

    def _added(self, b: Any, which: int, values: list[Any], item: Any) -> Any:
        """What is added of an item of a part."""
        numbers = values[len(self.kinds) :]
        for kind, k in self.steps[which]:
            if kind == "negative":
                item = b.fneg(item)
                continue
            product = b.fmul(item, numbers[k])
            item = product if kind == "multiply" else unless_zero(b, self.kinds[0].dtype, item, product)
        return item

    def some(self, b: Any, values: list[Any]) -> None:
        """From one of the rows of `a` to another."""
        *values, first, last = values
        low, reach = I64(self.low[self.axes[0]]), self._reach(b, values)[self.axes[0]]
        ends: list[Any] = []
        for end in (first, last):
            at = b.sub(end, low)
            at = b.select(b.icmp_signed("<", at, I64(0)), I64(0), at)
            ends.append(b.select(b.icmp_signed("<", at, reach), at, reach))
        self.all(b, values, (ends[0], ends[1]))

    def all(self, b: Any, values: list[Any], ends: tuple[Any, Any] | None = None) -> None:
        """Row by row. Where all of a row's parts overlap, an element is in a register until all has been added."""
        lengths, reach = self._lengths(b, values), self._reach(b, values)
        *outer, inner = self.axes
        apart = _Apart(b.module)
        begins = [I64(s[1 + inner] - self.low[inner]) for s in self.shifts]  # where each part does along a row
        behind, until = begins[0], b.add(begins[0], lengths[0][inner])
        for begin, own in zip(begins[1:], lengths[1:], strict=True):
            end = b.add(begin, own[inner])
            behind = I64(max(behind.constant, begin.constant))
            until = b.select(b.icmp_signed("<", end, until), end, until)
        total = cgutils.alloca_once(b, self.context.get_value_type(self.kinds[0].dtype))

        def loops(*, rows: bool) -> None:
            with _over_rows(b, [reach[k] for k in outer], ends) as indices:
                place = dict(zip(outer, indices, strict=True))
                found = [self._falls(b, which, place, lengths) for which in range(len(self.shifts))]
                whole = b.icmp_signed("<=", behind, until)
                for inside, _ in found:
                    whole = b.and_(whole, inside)

                def some(start: Any, stop: Any) -> None:
                    with _loop(b, start, stop, SCALAR) as i:
                        self._element(b, values, {**place, inner: i}, lengths, total)

                with b.if_else(whole) as (then, otherwise):
                    with then:
                        some(I64(0), behind)
                        with _loop(b, behind, until, NEST) as i:
                            target = self._target(b, values, {**place, inner: i}, rows=rows)
                            value = self.zero if self.fresh else apart.written(b.load(target))
                            for which, (_, at) in enumerate(found):
                                at = {**at, inner: b.sub(i, begins[which])}  # noqa: PLW2901
                                source = self._at(b, 1 + self.shifts[which][0], values, at, rows=rows)
                                item = apart.read(b.load(source))
                                value = b.fadd(value, self._added(b, which, values, item))
                            apart.written(b.store(value, target))
                        some(until, reach[inner])
                    with otherwise:
                        if self.fresh:
                            with _loop(b, I64(0), reach[inner], NEST) as i:
                                b.store(self.zero, self._target(b, values, {**place, inner: i}, rows=rows))
                        for which, (inside, at) in enumerate(found):
                            with b.if_then(inside), _loop(b, I64(0), lengths[which][inner], NEST) as i:
                                to = {**place, inner: b.add(i, begins[which])}
                                target = self._target(b, values, to, rows=rows)
                                source = self._at(b, 1 + self.shifts[which][0], values, {**at, inner: i}, rows=rows)
                                before = apart.written(b.load(target))
                                item = self._added(b, which, values, apart.read(b.load(source)))
                                apart.written(b.store(b.fadd(before, item), target))

        arrays = list(zip(self.kinds, values[: len(self.kinds)], strict=True))
        _by_rows(b, arrays, loops)

    def turns(self, b: Any, values: list[Any], ends: tuple[Any, Any]) -> None:
        """The elements with numbers from the one end to the other."""
        lengths, reach = self._lengths(b, values), self._reach(b, values)
        total = cgutils.alloca_once(b, self.context.get_value_type(self.kinds[0].dtype))
        with cgutils.for_range_slice(b, *ends, I64(1), intp=I64) as (number, _):
            self._element(b, values, _indices(b, number, reach, self.axes), lengths, total)

    def _target(self, b: Any, values: list[Any], place: dict[int, Any], *, rows: bool = False) -> Any:
        return self._at(b, 0, values, {k: b.add(i, I64(self.low[k])) for k, i in place.items()}, rows=rows)

    def _element(self, b: Any, values: list[Any], place: dict[int, Any], lengths: list[list[Any]], total: Any) -> None:
        """Add to one element what falls on it."""
        target = self._target(b, values, place)
        b.store(self.zero if self.fresh else b.load(target), total)
        for which, shift in enumerate(self.shifts):
            inside, at = self._falls(b, which, place, lengths)
            with b.if_then(inside):
                item = self._added(b, which, values, b.load(self._at(b, 1 + shift[0], values, at)))
                b.store(b.fadd(b.load(total), item), total)
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


@contextmanager
def _over_rows(b: Any, lengths: list[Any], ends: tuple[Any, Any] | None) -> Iterator[list[Any]]:
    """Loops of these lengths, of the outermost from one end to the other; yields their counters."""
    if ends is None:
        with cgutils.loop_nest(b, lengths, I64) as indices:
            yield list(indices)
        return
    with _loop(b, *ends, NEST) as first, cgutils.loop_nest(b, lengths[1:], I64) as rest:
        yield [first, *rest]


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


# Memory that arrays share --------------------------------------------------------------------------------------------


def extent(builder: Any, array: Any, ndim: int) -> tuple[Any, Any]:
    """The first address of an array's memory and the one behind the last."""
    start = builder.ptrtoint(builder.extract_value(array, DATA), I64)
    low, high = start, builder.add(start, builder.extract_value(array, ITEMSIZE))
    empty_ = cgutils.false_bit
    for n, s in zip(lengths_of(builder, array, ndim), strides_of(builder, array, ndim), strict=True):
        reach = builder.mul(builder.sub(n, I64(1)), s)
        back = builder.icmp_signed("<", reach, I64(0))
        low = builder.select(back, builder.add(low, reach), low)
        high = builder.select(back, high, builder.add(high, reach))
        empty_ = builder.or_(empty_, builder.icmp_signed("==", n, I64(0)))
    return low, builder.select(empty_, low, high)


def _emit_share(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (low_a, high_a), (low_b, high_b) = (extent(builder, a, k.ndim) for a, k in zip(args, kinds, strict=True))
    overlap = builder.and_(builder.icmp_unsigned("<", low_a, high_b), builder.icmp_unsigned("<", low_b, high_a))
    some = builder.and_(builder.icmp_unsigned("<", low_a, high_a), builder.icmp_unsigned("<", low_b, high_b))
    return builder.and_(overlap, some)


share_memory = operation("share_memory", 2, lambda _a, _b: types.boolean, _emit_share)


def _emit_apart(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    overlap = _emit_share(_context, builder, kinds, args)
    (ty, other), (a, b) = kinds, args
    if ty.ndim != other.ndim:
        return builder.not_(overlap)
    same = builder.icmp_unsigned("==", *(builder.ptrtoint(builder.extract_value(x, DATA), I64) for x in args))
    for values in (lengths_of, strides_of):
        for n, m in zip(values(builder, a, ty.ndim), values(builder, b, ty.ndim), strict=True):
            same = builder.and_(same, builder.icmp_signed("==", n, m))
    return builder.or_(same, builder.not_(overlap))


# Whether two arrays are the same elements in the same order, or have none in common.
apart_or_same = operation("apart_or_same", 2, lambda _a, _b: types.boolean, _emit_apart)


def share_arguments(context: Any, builder: Any, scopes: Any, kinds: Any, args: Any) -> None:
    """Leave with a failure where two arguments overlap though they are said to be apart, and one is written."""
    arrays = [k for k, ty in enumerate(kinds) if isinstance(ty, types.Array)]
    for n, j in enumerate(arrays):
        for k in arrays[:n]:
            if scopes.separates(j, k) and (scopes.writes(j) or scopes.writes(k)):
                overlap = _emit_share(context, builder, (kinds[j], kinds[k]), (args[j], args[k]))
                fail_if(context, builder, overlap, PROMISED, I64(APART))
