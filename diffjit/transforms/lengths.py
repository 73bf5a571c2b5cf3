"""The lengths of a program's results as numbers that are known before it runs.

def f(x, n):                       length of f(x, n):  len(x) + n, computed from x's length and n alone
    a = np.zeros(n)
    return np.concatenate([np.sin(x), a])

Lengths are followed backwards through the program, to those of its parameters and to numbers that are given. What
depends on an array's contents, or on how a branch goes, is not known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import INT, Array, Dim, Scalar, Sym
from diffjit.ir.walk import blocks, walk


def named_lengths(arrays: Iterable[Value]) -> dict[Dim, tuple[Value, int]]:
    """Lengths that have a name of their own, and the first array and axis that has each."""
    found: dict[Dim, tuple[Value, int]] = {}
    for v in arrays:
        for axis, d in enumerate(v.type.dims if isinstance(v.type, Array) else ()):
            if isinstance(d, Sym) and not d.parts:
                found.setdefault(d, (v, axis))
    return found


class Unknown(Exception):
    """A length that hangs on what the program computes."""


class Lengths:
    """Lengths of arrays inside a program, computed by operations in front of it.

    `inputs`: what the parameters are bound to; `inside`: blocks whose values do not exist in front of the program;
    `outside`: arrays that do, whose lengths may be those that are asked for.
    """

    def __init__(
        self,
        build: Builder,
        inputs: Mapping[Value, Value],
        inside: Collection[Block],
        outside: Collection[Value] = (),
    ) -> None:
        self.build = build
        self.inputs = inputs
        self.inside = {
            v for b in inside for c in blocks(b) for v in (*c.args, *(o for op in c.ops for o in op.outputs))
        }
        self.carried = {
            arg: op.outputs[k]
            for b in inside
            for op in walk(b)
            if op.row.loop
            for region in op.regions
            for k, arg in enumerate(region.args[op.kind == "for" :])
        }
        self.known: dict[Any, Value] = {}
        self.syms: dict[int, Value] = {}
        there = named_lengths(v for v in map(self._viewed, (*inputs.values(), *outside)) if v not in self.inside)
        # Symbol -> an array outside that has this length.
        self.uids = {d.uid: at for d, at in there.items() if isinstance(d, Sym)}

    def _viewed(self, v: Value) -> Value:
        while v in self.inside and v.op is not None and v.op.kind in ("view", "transpose"):
            v = v.op.inputs[0]
        return v

    def shapes(self, values: list[Value | None]) -> list[list[Value]] | None:
        """All lengths of all arrays (none of other values); None where one of them is not known beforehand."""
        arrays = [v if v is not None and isinstance(v.type, Array) else None for v in values]
        try:
            return [[] if v is None else [self.of(v, axis) for axis in range(v.type.ndim)] for v in arrays]
        except Unknown:  # what was supposed of loops meanwhile may not hold
            return None

    def dim(self, d: Dim) -> Value | None:
        """A length that the type knows."""
        if isinstance(d, int):
            return self.const(d)
        if not d.parts:
            return self._symbol(d.uid)
        parts = [self._symbol(uid) for uid in sorted(d.parts)]
        return None if None in parts else self.joint([p for p in parts if p is not None])

    def _symbol(self, uid: int) -> Value | None:
        if uid not in self.syms and uid in self.uids:
            array, axis = self.uids[uid]
            self.syms[uid] = self.build.value("dim", [array], INT, axis=axis)
        return self.syms.get(uid)

    def const(self, n: int) -> Value:
        """A constant; equal ones are the same value."""
        return self._once(("const", n), lambda: self.build.const(n))

    def joint(self, lengths: list[Value]) -> Value:
        """The length that several broadcast to."""
        one = self.const(1)
        different = list(dict.fromkeys(n for n in lengths if n is not one))
        if not different:
            return one
        total = different[0]
        for n in different[1:]:
            test = self._made("equal", [total, one], Scalar(_BOOL, weak=True))
            total = self._made("select", [test, n, total], INT)
        return total

    def of(self, v: Value, axis: int) -> Value:
        """One length of an array."""
        key = (v, axis)
        if key not in self.known:
            found = self.dim(v.type.dims[axis])
            self.known[key] = found if found is not None else self._computed(v, axis)
        return self.known[key]

    def _computed(self, v: Value, axis: int) -> Value:
        if v in self.inputs:
            return self.of(self.inputs[v], axis)
        if v not in self.inside:
            return self.build.value("dim", [v], INT, axis=axis)
        if v in self.carried:
            return self.of(self.carried[v], axis)
        if v.op is None:
            raise Unknown
        rule: Callable[[Op, int, Value], Value] | None = getattr(self, f"_of_{v.op.kind}", None)
        if rule is not None:
            return rule(v.op, axis, v)
        return self._by_kind(v.op, axis, v)

    def _by_kind(self, op: Op, axis: int, v: Value) -> Value:
        if op.row.like is not None:
            return self.of(op.inputs[op.row.like], axis)
        if op.row.lengths_at is not None:
            return self.number(op.inputs[op.row.lengths_at + axis])
        if op.row.by_element:
            return self.joint(
                [
                    self.of(x, axis - v.type.ndim + x.type.ndim)
                    for x in op.inputs
                    if isinstance(x.type, Array) and axis - v.type.ndim + x.type.ndim >= 0
                ]
            )
        if op.row.reduces:
            kept = range(op.inputs[0].type.ndim)
            if not op.attrs["keepdims"]:
                kept = [k for k in kept if k not in op.attrs["axes"]]
            return self.const(1) if kept[axis] in op.attrs["axes"] else self.of(op.inputs[0], kept[axis])
        raise Unknown

    def _of_eigh(self, op: Op, axis: int, v: Value) -> Value:
        n = self.of(op.inputs[0], axis)
        return self._made("add", [n, self.const(1)], INT) if axis == v.type.ndim - 2 else n

    def _of_svd(self, op: Op, axis: int, v: Value) -> Value:
        if axis < v.type.ndim - 2:
            return self.of(op.inputs[0], axis)
        m, n = (self.of(op.inputs[0], v.type.ndim - k) for k in (2, 1))
        if axis == v.type.ndim - 1:
            return self._made("minimum", [m, n], INT)
        return self._made("add", [self._made("add", [m, n], INT), self.const(1)], INT)

    def _of_rfft(self, op: Op, axis: int, _: Value) -> Value:
        n = self.of(op.inputs[0], axis)
        if axis != op.attrs["axis"]:
            return n
        return self._made("add", [self._made("floor_divide", [n, self.const(2)], INT), self.const(1)], INT)

    def _of_irfft(self, op: Op, axis: int, _: Value) -> Value:
        return self.number(op.inputs[1]) if axis == op.attrs["axis"] else self.of(op.inputs[0], axis)

    def _of_foreign(self, op: Op, axis: int, v: Value) -> Value:
        arrays = [out for out in op.outputs if isinstance(out.type, Array)]
        start = len(op.inputs) - sum(out.type.ndim for out in arrays)
        before = sum(out.type.ndim for out in arrays[: arrays.index(v)])
        return self.number(op.inputs[start + before + axis])

    def _of_arange(self, op: Op, axis: int, _: Value) -> Value:
        del axis
        ends = [self.number(v) for v in op.inputs]
        if any(v.type != INT for v in ends):
            raise Unknown
        return self._made("trip", ends, INT)

    def _of_transpose(self, op: Op, axis: int, _: Value) -> Value:
        return self.of(op.inputs[0], op.attrs["perm"][axis])

    def _of_concatenate(self, op: Op, axis: int, _: Value) -> Value:
        if axis != op.attrs["axis"]:
            return self.of(op.inputs[0], axis)
        total = self.of(op.inputs[0], axis)
        for x in op.inputs[1:]:
            total = self._made("add", [total, self.of(x, axis)], INT)
        return total

    def _of_matmul(self, op: Op, axis: int, v: Value) -> Value:
        a, b = op.inputs
        if b.type.ndim == 1:
            return self.of(a, axis)
        if a.type.ndim == 1:
            return self.of(b, axis if axis < b.type.ndim - 2 else b.type.ndim - 1)
        if axis == v.type.ndim - 1:
            return self.of(b, b.type.ndim - 1)
        if axis == v.type.ndim - 2:
            return self.of(a, a.type.ndim - 2)
        shifted = [(x, axis - v.type.ndim + x.type.ndim) for x in op.inputs]
        return self.joint([self.of(x, k) for x, k in shifted if k >= 0])

    def _of_view(self, op: Op, axis: int, _: Value) -> Value:
        source, place, seen = 0, 0, 1
        for part in op.attrs["spec"]:
            if part == "i":
                source, seen = source + 1, seen + 1
                continue
            if place == axis:
                if part == "n":
                    return self.const(1)
                length = self.of(op.inputs[0], source)
                return length if part == ":" else self._sliced(op, part, seen, length)
            place += 1
            if part != "n":
                source += 1
                seen += 0 if part == ":" else sum(p is not None for p in part[1:])
        raise Unknown

    def _sliced(self, op: Op, part: Any, seen: int, length: Value) -> Value:
        """The length of a slice with a step of 1."""
        given = iter(op.inputs[seen:])
        start, stop, step = (None if p is None else self.number(next(given)) for p in part[1:])
        if step is not None and step is not self.const(1):
            raise Unknown
        ends = [self.const(0) if start is None else self._end(start, length)]
        ends.append(length if stop is None else self._end(stop, length))
        return self._made("trip", [*ends, self.const(1)], INT)

    def _end(self, n: Value, length: Value) -> Value:
        """An end of a slice, counted from the beginning."""
        zero = self.const(0)
        negative = self._made("less", [n, zero], Scalar(_BOOL, weak=True))
        moved = self._made("select", [negative, self._made("add", [n, length], INT), n], INT)
        return self._made("minimum", [self._made("maximum", [moved, zero], INT), length], INT)

    def _of_for(self, op: Op, axis: int, v: Value) -> Value:
        """A carried array keeps its length if one iteration keeps it, supposing that all that is carried does."""
        k = op.outputs.index(v)
        body = op.regions[-1]
        counted = op.kind == "for"
        first = self.of(op.inputs[k + 3 if counted else k], axis)
        self.known[v, axis] = self.known[body.args[k + 1 if counted else k], axis] = first
        if self.of(body.results[k + (len(body.results) > len(op.outputs))], axis) is not first:
            raise Unknown
        return first

    _of_while = _of_for

    def _of_if(self, op: Op, axis: int, v: Value) -> Value:
        k = op.outputs.index(v)
        found = [self.of(v, axis) for v in (r.results[k] for r in op.regions) if v.op is None or v.op.kind != "undef"]
        if not found or found[0] is not found[-1]:
            raise Unknown
        return found[0]

    # Numbers

    def number(self, v: Value) -> Value:
        """A number that the program computes from lengths and given numbers."""
        v = self.inputs.get(v, v)
        if v not in self.inside:
            return self.const(v.op.attrs["value"]) if v.op is not None and _small(v.op) else v
        op = v.op
        if op is None or not isinstance(v.type, Scalar):
            raise Unknown
        if op.kind == "dim":
            return self.of(op.inputs[0], op.attrs["axis"])
        if op.kind == "const":
            return self.const(op.attrs["value"]) if _small(op) else self.build.const(op.attrs["value"], v.type)
        if op.kind in ("trip", "cast", "select") or op.row.by_element:
            attrs = {name: op.attrs[name] for name in ("nowrap",) if name in op.attrs}
            return self._made(op.kind, [self.number(x) for x in op.inputs], v.type, **attrs)
        raise Unknown

    def _made(self, kind: str, inputs: list[Value], ty: Any, **attrs: Any) -> Value:
        return self._once((kind, *inputs), lambda: self.build.value(kind, inputs, ty, **attrs))

    def _once(self, key: Any, make: Callable[[], Value]) -> Value:
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]


def as_dim(v: Value) -> Dim:
    """What a type can say of a length."""
    return v.op.attrs["value"] if v.op is not None and _small(v.op) else Sym()


_BOOL = Builder(Block()).const(True).type.dtype


def _small(op: Op) -> bool:
    return op.kind == "const" and type(op.attrs["value"]) is int
