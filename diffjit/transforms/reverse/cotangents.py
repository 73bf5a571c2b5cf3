"""Cotangents of values: adding contributions up, in values or in owned buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.analysis.activity import Activity
from diffjit.analysis.memory import Memory
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Op, Value, is_view, without_labels
from diffjit.ir.types import Array, Dim, List, Scalar, Stack, Type, not_one
from diffjit.transforms.reverse.keep import Context, Keeper
from diffjit.transforms.reverse.shadows import Shadows, lives_in_shadow
from diffjit.transforms.rules import RuleRunner


@dataclass(slots=True, eq=False)
class Bar:
    """A cotangent so far. `owned`: a buffer that nothing else refers to, which may be added to in place."""

    value: Value
    owned: bool = False


class Cotangents:
    """Mixin of `Reverse`: the table of cotangents."""

    build: Builder
    keep: Keeper
    memory: Memory
    shadows: Shadows
    activity: Activity
    runner: RuleRunner

    def by_shadow(self, v: Value) -> bool:
        """Whether a reference's cotangent lives in shadow memory that the forward sweep made."""
        return lives_in_shadow(v, self.memory)

    def value_of(self, bar: Bar) -> Value:
        """A cotangent's value."""
        return bar.value

    def fit(self, g: Value, like: Value, *, core: int = 0) -> Value:
        """Undo broadcasting and casting: a cotangent has the shape and dtype of its value.

        `core`: the last axes, which are those of matrices and never broadcast.
        """
        ty = like.type
        if isinstance(ty, Scalar):
            if isinstance(g.type, Array):
                g = self.build.value("sum", [g], Scalar(g.type.dtype), axes=tuple(range(g.type.ndim)), keepdims=False)
        elif isinstance(ty, Array) and (not isinstance(g.type, Array) or not _same_shape(g.type.dims, ty.dims, core)):
            g = self.build.value("unbroadcast", [g, like], Array(g.type.dtype, ty.dims, "C"))
        return self.converted(g, ty)

    def converted(self, g: Value, ty: Type) -> Value:
        """A cotangent in the dtype of its value: a real number that complex ones were made of gets the real part."""
        if g.type.dtype.kind == "c" and ty.dtype.kind != "c":
            real = np.dtype(f"f{g.type.dtype.itemsize // 2}")
            weak = isinstance(g.type, Scalar) and g.type.weak
            part = Scalar(real, weak) if isinstance(g.type, Scalar) else Array(real, g.type.dims, g.type.layout)
            g = self.build.value("real", [g], part)
        if g.type.dtype != ty.dtype:
            if isinstance(ty, Scalar):
                return self.build.value("cast", [g], ty)
            return self.build.value("cast", [g], Array(ty.dtype, ty.dims, g.type.layout))
        if isinstance(ty, Scalar) and g.type != ty:
            return self.build.value("cast", [g], ty)
        return g

    def add(self, v: Value, g: Value, c: Context) -> None:
        """Add a contribution to the cotangent of a value."""
        if not self.activity.active(v):
            return
        if isinstance(v.type, Scalar):
            old = c.bars.get(v)
            value = g if old is None else self.build.value("add", [old.value, g], v.type, name=_bar_name(v))
            if value.name is None:
                value.name = _bar_name(v)
            c.bars[v] = Bar(value)
            return
        if isinstance(v.type, (List, Stack)):
            raise AssertionError("lists have shadow lists")  # noqa: TRY004 - a mistake of ours
        if not self.by_shadow(v) and v.op is not None and is_view(v.op):
            self.add_to_view(v, g, c)
            return
        if self.by_shadow(v) or self.owner(v, c) is not c or self.memory.written(v):
            self.accumulate(self.buffer(v, c), g)
            return
        old = c.bars.get(v)
        if old is None:
            c.bars[v] = Bar(g)
        elif old.owned:
            self.accumulate(old.value, g)
        else:
            order = "F" if v.type.layout == "F" else "C"  # views of it are typed as those of v
            total = self.build.value("add", [old.value, g], Array(v.type.dtype, v.type.dims, order), name=_bar_name(v))
            c.bars[v] = Bar(total, owned=True)

    def accumulate(self, buffer: Value, g: Value) -> None:
        """buffer += g."""
        self.build.op("accum", [buffer, g])

    def add_to_view(self, v: Value, g: Value, c: Context) -> None:
        """A view has no cotangent of its own: it goes to what it is a view of."""
        op = v.op
        assert op is not None
        base = op.inputs[0]
        if op.kind == "broadcast_to":
            like = self.keep.kept(base, c)
            self.add(
                base,
                self.build.value(
                    "unbroadcast",
                    [g, like],
                    base.type if not isinstance(base.type, Array) else Array(base.type.dtype, base.type.dims, "C"),
                ),
                c,
            )
        elif op.kind == "transpose" and isinstance(g.type, Array):
            perm = op.attrs["perm"]
            back = tuple(perm.index(k) for k in range(len(perm)))
            self.add(base, self.build.value("transpose", [g], Array(g.type.dtype, base.type.dims, "A"), perm=back), c)
        elif op.kind == "reshape" and isinstance(g.type, Array):
            self.add(base, self.reshape_like(g, base, c), c)
        elif op.kind == "view" and all(s == ":" for s in op.attrs["spec"]):
            self.add(base, g, c)
        else:
            self.add_into(v, c, lambda buffer: self.accumulate(buffer, g))

    def add_into(self, v: Value, c: Context, write: Callable[[Value], Any]) -> None:
        """Let `write` add to the memory of a reference's cotangent.

        Elements of a broadcast view stand for one element each of its base: they are collected in a full array first.
        """
        chain: list[Value] = []
        walker = v
        while not self.by_shadow(walker) and walker.op is not None and is_view(walker.op):
            if walker.op.kind == "broadcast_to":
                full = self.zero(walker, c)
                target = full
                for view in reversed(chain):
                    target = self.view_of_buffer(view, target, c)
                write(target)
                self.add_to_view(walker, full, c)
                return
            chain.append(walker)
            walker = walker.op.inputs[0]
        write(self.buffer(v, c))

    def broadcast(self, v: Value) -> bool:
        """Whether elements of a reference are one element of what its cotangent belongs to."""
        while not self.by_shadow(v) and v.op is not None and is_view(v.op):
            if v.op.kind == "broadcast_to":
                return True
            v = v.op.inputs[0]
        return False

    def reshape_like(self, g: Value, base: Value, c: Context) -> Value:
        """g in the shape of `base`."""
        like = self.keep.kept(base, c)
        lengths = [
            self.build.value("dim", [like], _int(), axis=k) if not isinstance(d, int) else self.build.const(d)
            for k, d in enumerate(base.type.dims)
        ]
        return self.build.value(
            "reshape", [g, *lengths], Array(g.type.dtype, base.type.dims, "C"), view=g.type.layout == "C"
        )

    def owner(self, v: Value, c: Context) -> Context:
        """The mirrored block of the block that made a value."""
        walker: Context | None = c
        top = c
        while walker is not None:
            if walker.fwd is v.block:
                return walker
            top = walker
            walker = walker.parent
        return top

    def buffer(self, v: Value, c: Context) -> Value:
        """Memory that holds the cotangent of a reference; for a view, the same view of its base's."""
        if self.by_shadow(v):
            return self.keep.kept(self.shadows.of[v], c)
        home = self.owner(v, c)
        if v.op is not None and is_view(v.op):
            if v not in home.refs:
                with self.build.inside(home.block):
                    home.refs[v] = self.view_of_buffer(v, self.buffer(v.op.inputs[0], home), home)
            return home.refs[v]
        bar = home.bars.get(v)
        if bar is not None and bar.owned:
            return bar.value
        with self.build.inside(home.block):
            if bar is None:
                value = self.build.zero(self.keep.kept(v, home), name=_bar_name(v))
            else:
                g = bar.value
                value = self.build.value(
                    "copy",
                    [g],
                    Array(g.type.dtype, v.type.dims, v.type.layout),
                    name=_bar_name(v),
                    order=v.type.layout if v.type.layout != "A" else "K",
                )
        home.bars[v] = Bar(value, owned=True)
        return value

    def view_of_buffer(self, v: Value, base: Value, c: Context) -> Value:
        """The same view of another buffer."""
        op = v.op
        assert op is not None
        inputs = [base, *(self.keep.kept(i, c) for i in op.inputs[1:])]
        return self.build.value(op.kind, inputs, v.type, name=_bar_name(v), **without_labels(op.attrs))

    def take(self, v: Value, c: Context) -> Value | None:
        """The cotangent of a value whose defining operation is reached, or None."""
        if self.by_shadow(v):
            return self.keep.kept(self.shadows.of[v], c) if self.activity.active(v) else None
        bar = c.bars.pop(v, None)
        return None if bar is None else bar.value

    def zero(self, v: Value, c: Context) -> Value:
        """A zero cotangent."""
        if isinstance(v.type, Scalar):
            return self.build.const(0.0, v.type)
        return self.build.zero(self.keep.kept(v, c), name=_bar_name(v))

    def value_or_zero(self, bar: Bar | None, v: Value, c: Context) -> Value:
        return self.zero(v, c) if bar is None else bar.value

    def owned_or_zero(self, g: Value | None, v: Value, c: Context) -> Value:
        return self.zero(v, c) if g is None else g

    def reuse(self, op: Op) -> None:
        """Nothing to do (kinds whose cotangents live in memory alone)."""


def _bar_name(v: Value) -> str | None:
    return f"{v.name}_bar" if v.name else None


def _int() -> Scalar:
    from diffjit.ir.types import INT

    return INT


def _same_shape(result: tuple[Dim, ...], operand: tuple[Dim, ...], core: int) -> bool:
    """Whether an operand was certainly not broadcast: no length is 1, else NumPy would have raised on the way there."""
    stacks = max(0, len(operand) - core)
    pairs = zip(result[:stacks], operand[:stacks], strict=False)
    return len(result) == len(operand) and all(a == b or (not_one(a) and not_one(b)) for a, b in pairs)
