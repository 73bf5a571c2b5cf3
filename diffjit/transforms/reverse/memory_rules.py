"""Reverse rules of loads, stores, and everything else that touches memory.

First the cotangent of the target is taken out and zeroed, then it is passed on: the source may overlap the target.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.ir.checks import relying
from diffjit.ir.nodes import Block, Op, Value, const_of, is_view
from diffjit.ir.types import BOOL, INT, Array, Scalar, Type
from diffjit.transforms.reverse.cotangents import Bar
from diffjit.transforms.reverse.keep import Context
from diffjit.transforms.reverse.tapes import TapeRules


def _base(v: Value) -> Value:
    while v.op is not None and is_view(v.op):
        v = v.op.inputs[0]
    return v


class MemoryRules(TapeRules):
    """Mixin of `Reverse`: one method per kind, `mirror_<kind>(op, context)`."""

    def begin(self, block: Block, c: Context) -> None:
        """Shadows of lists and tapes that a block makes."""
        for op in block.ops:
            if op.kind in ("list_new", "list_copy") and self.activity.active(op.out) and not self.by_shadow(op.out):
                with self.keep.forward_ops(self.keep.at_end, block, block) as b:
                    n = b.value("list_len", [op.out], INT)
                length = self.keep.kept(n, c)
                with self.build.inside(c.block):
                    c.bars[op.out] = Bar(self.zero_list(op.out.type, length, op.out.name), owned=True)
            for out in op.outputs:
                self.begin_tape(out, c)

    def zero_list(self, ty: Type, length: Value, name: str | None) -> Value:
        """A list of zeros."""
        out = self.build.value("list_new", (), ty, name=f"{name}_bar" if name else None)
        body = Block([Value(INT, "k")])
        with self.build.inside(body):
            self.build.op("list_append", [out, self.build.const(0.0, ty.elem)])
        self.build.counted(length, body)
        return out

    def indices(self, values: list[Value], c: Context) -> list[Value]:
        return [self.keep.kept(v, c) for v in values]

    # Arrays

    def mirror_load(self, op: Op, c: Context) -> None:
        """a_bar[i] += out_bar."""
        g = self.take(op.out, c)
        if g is not None and self.activity.active(op.inputs[0]):
            value, index = self.fit(g, op.out), self.indices(op.inputs[1:], c)
            self.add_into(
                op.inputs[0],
                c,
                lambda target: self.build.op("accum_at", [target, value, *index], **relying(op, "reverse")),
            )

    def mirror_store(self, op: Op, c: Context) -> None:
        """value_bar += a_bar[i]; a_bar[i] = 0."""
        a, value = op.inputs[:2]
        if not self.activity.active(a):
            return
        target = self.buffer(a, c)
        index = self.indices(op.inputs[2:], c)
        scalar = Scalar(a.type.dtype)
        t = (
            self.build.value("load", [target, *index], scalar, name=_bar(value), **relying(op, "reverse"))
            if self.activity.active(value)
            else None
        )
        self.build.op("store", [target, self.build.const(0.0, scalar), *index], **relying(op, "reverse"))
        if t is not None:
            self.add(value, self.fit(t, value), c)

    def mirror_leave(self, op: Op, c: Context) -> None:
        """The words of a stream of random numbers have no cotangent."""

    def mirror_assign(self, op: Op, c: Context) -> None:
        """src_bar += dst_bar; dst_bar = 0."""
        dst, src = op.inputs
        if not self.activity.active(dst):
            return
        base = self.whole(dst, c)
        if base is not None:  # what it was before has another cotangent, which is zero so far
            bar = c.bars.pop(base, None)
            c.refs = {v: ref for v, ref in c.refs.items() if _base(v) is not base}
            if bar is not None and self.activity.active(src):
                self.add(src, self.unspread(bar.value, src, c), c)
            return
        target = self.buffer(dst, c)
        t = None
        if self.activity.active(src):
            ty = target.type
            t = self.build.value("copy", [target], Array(ty.dtype, ty.dims, ty.layout), name=_bar(src), order="K")
        self.build.op("assign", [target, self.build.const(0.0, Scalar(dst.type.dtype))])
        if t is not None:
            self.add(src, self.unspread(t, src, c), c)

    def whole(self, dst: Value, c: Context) -> Value | None:
        """The array that a reference is all of, if it is made in this block: then nobody else holds its cotangent."""
        v = dst
        while v.op is not None and is_view(v.op):
            if v.op.kind != "view" or any(part != ":" for part in v.op.attrs["spec"]):
                return None
            v = v.op.inputs[0]
        return None if v.op is None or self.by_shadow(v) or v.block is not c.fwd else v

    def unspread(self, g: Value, like: Value, c: Context) -> Value:
        """Undo broadcasting against a forward value (only its shape is read)."""
        if isinstance(like.type, Array) and isinstance(g.type, Array) and like.type.dims != g.type.dims:
            reached = self.keep.kept(like, c)
            g = self.build.value("unbroadcast", [g, reached], Array(g.type.dtype, like.type.dims, "C"))
            return self.converted(g, Array(like.type.dtype, g.type.dims, "C"))
        return self.fit(g, like)

    def mirror_accum(self, op: Op, c: Context) -> None:
        """src_bar += dst_bar."""
        dst, src = op.inputs
        if self.activity.active(dst) and self.activity.active(src):
            target = self.buffer(dst, c)
            if isinstance(src.type, Array):
                target = self.build.value(
                    "copy", [target], Array(target.type.dtype, target.type.dims, target.type.layout), order="K"
                )
            self.add(src, self.unspread(target, src, c), c)

    def mirror_accum_at(self, op: Op, c: Context) -> None:
        """value_bar += a_bar[i]."""
        a, value = op.inputs[:2]
        if self.activity.active(a) and self.activity.active(value):
            t = self.build.value(
                "load",
                [self.buffer(a, c), *self.indices(op.inputs[2:], c)],
                Scalar(a.type.dtype),
                **relying(op, "reverse"),
            )
            self.add(value, self.fit(t, value), c)

    def mirror_scatter(self, op: Op, c: Context) -> None:
        """The last writer of an element receives its cotangent."""
        a, value = op.inputs[:2]
        if not self.activity.active(a):
            return
        target = self.buffer(a, c)
        index = [self.keep.contents(v, op, c) for v in op.inputs[2:]]
        spec = op.attrs["spec"]
        t = None
        if self.activity.active(value):
            t = self.gathered(target, index, spec, a.type.dtype)
            t = self.last_writers(t, target, index, spec)
        self.build.op("scatter", [target, self.build.const(0.0, Scalar(a.type.dtype)), *index], spec=spec)
        if t is not None:
            self.add(value, self.unspread(t, value, c), c)

    def gathered(self, a: Value, index: list[Value], spec: Any, dtype: Any) -> Value:
        """a[index] for integer arrays."""
        dims = self.runner.interpreter.advanced_dims(a, spec, index)
        return self.build.value("gather", [a, *index], Array(np.dtype(dtype), dims, "C"), spec=spec)

    def last_writers(self, t: Value, target: Value, index: list[Value], spec: Any) -> Value:
        """Zero where a later repetition of the same index overwrote the element."""
        ints = np.dtype(np.int64)
        owner = self.build.value("zeros_like", [target], Array(ints, target.type.dims, target.type.layout))
        number = self.numbered(t)
        self.build.op("scatter", [owner, number, *index], spec=spec)
        winner = self.gathered(owner, index, spec, ints)
        won = self.build.value("equal", [winner, number], Array(np.dtype(np.bool_), t.type.dims, "C"))
        zero = self.build.const(0.0, Scalar(t.type.dtype))
        return self.build.value("where", [won, t, zero], t.type)

    def numbered(self, like: Value) -> Value:
        """An array of this shape that numbers its elements."""
        lengths = [self.build.value("dim", [like], INT, axis=k) for k in range(like.type.ndim)]
        total = lengths[0] if lengths else self.build.const(1)
        for n in lengths[1:]:
            total = self.build.value("multiply", [total, n], INT, nowrap=True)
        flat = self.build.value(
            "arange",
            [self.build.const(0), total, self.build.const(1)],
            Array(np.dtype(np.int64), (like.type.dims[0],) if like.type.ndim == 1 else self._sym(), "C"),
        )
        if like.type.ndim == 1:
            return flat
        return self.build.value("reshape", [flat, *lengths], Array(np.dtype(np.int64), like.type.dims, "C"), view=True)

    def _sym(self) -> tuple[Any, ...]:
        from diffjit.ir.types import Sym

        return (Sym(),)

    def mirror_scatter_add(self, op: Op, c: Context) -> None:
        """value_bar += a_bar[index]."""
        a, value = op.inputs[:2]
        if self.activity.active(a) and self.activity.active(value):
            index = [self.keep.contents(v, op, c) for v in op.inputs[2:]]
            t = self.gathered(self.buffer(a, c), index, op.attrs["spec"], a.type.dtype)
            self.add(value, self.unspread(t, value, c), c)

    def mirror_gather(self, op: Op, c: Context) -> None:
        """np.add.at(a_bar, index, out_bar)."""
        g = self.take(op.out, c)
        if g is None or not self.activity.active(op.inputs[0]):
            return
        index = [self.keep.contents(v, op, c) for v in op.inputs[1:]]
        self.add_into(
            op.inputs[0], c, lambda target: self.build.op("scatter_add", [target, g, *index], spec=op.attrs["spec"])
        )

    def mirror_mask_set(self, op: Op, c: Context) -> None:
        """value_bar += a_bar[m]; a_bar[m] = 0."""
        a, m, value = op.inputs
        if not self.activity.active(a):
            return
        target = self.buffer(a, c)
        mask = self.keep.contents(m, op, c)
        t = None
        if self.activity.active(value):
            t = self.runner.interpreter.mask_get(target, mask)
        self.build.op("mask_set", [target, mask, self.build.const(0.0, Scalar(a.type.dtype))])
        if t is not None:
            self.add(value, self.unspread(t, value, c), c)

    def mirror_copy(self, op: Op, c: Context) -> None:
        """a_bar += out_bar."""
        bar = None if self.by_shadow(op.out) else c.bars.get(op.out)
        g = self.take(op.out, c)
        if g is not None:
            self.add(op.inputs[0], g, c)
            if bar is not None and bar.owned and g.type.layout == op.inputs[0].type.layout:
                self.hand_over(op.inputs[0], g, c)

    def hand_over(self, v: Value, g: Value, c: Context) -> None:
        """A buffer that nothing else refers to any more becomes the cotangent of another value."""
        if v in c.bars and c.bars[v].value is g:
            c.bars[v].owned = True

    def mirror_reshape(self, op: Op, c: Context) -> None:
        """a_bar += reshape(out_bar), where the reshape is a copy (a view has no cotangent of its own)."""
        if op.attrs["view"] or not self.activity.active(op.out):
            return
        g = self.take(op.out, c)
        if g is not None:
            self.add(op.inputs[0], self.reshape_like(g, op.inputs[0], c), c)

    def mirror_full(self, op: Op, c: Context) -> None:
        """value_bar += sum(out_bar)."""
        g = self.take(op.out, c)
        if g is not None and self.activity.active(op.inputs[0]):
            total = (
                self.build.value("sum", [g], Scalar(g.type.dtype), axes=tuple(range(g.type.ndim)), keepdims=False)
                if g.type.ndim
                else self.build.value("load", [g], Scalar(g.type.dtype))
            )
            self.add(op.inputs[0], self.fit(total, op.inputs[0]), c)

    # Lists

    def list_shadow(self, ref: Value, c: Context) -> Value:
        """The list that holds a list's cotangents."""
        return self.keep.kept(self.shadows.of[ref], c) if self.by_shadow(ref) else self.owner(ref, c).bars[ref].value

    def _numbers(self, op: Op) -> bool:
        """A list of numbers, which carries derivatives."""
        return self.activity.active(op.inputs[0]) and isinstance(op.inputs[0].type.elem, Scalar)

    def mirror_list_append(self, op: Op, c: Context) -> None:
        """value_bar += l_bar.pop()."""
        if self._numbers(op):
            g = self.build.value(
                "list_pop",
                [self.list_shadow(op.inputs[0], c), self.build.const(-1)],
                op.inputs[0].type.elem,
                name=_bar(op.inputs[1]),
            )
            self.add(op.inputs[1], self.fit(g, op.inputs[1]), c)
        else:
            self._unshadow(op, c, "list_pop", [self.build.const(-1)])

    def mirror_list_get(self, op: Op, c: Context) -> None:
        """l_bar[i] += out_bar."""
        if not self._numbers(op):
            return
        g = self.take(op.out, c)
        if g is not None:
            self._list_add(op.inputs[0], op.inputs[1], g, c)

    def _list_add(self, ref: Value, index: Value, g: Value, c: Context) -> None:
        shadow, i = self.list_shadow(ref, c), self.keep.kept(index, c)
        old = self.build.value("list_get", [shadow, i], ref.type.elem)
        self.build.op("list_set", [shadow, self.build.value("add", [old, g], ref.type.elem), i])

    def mirror_list_set(self, op: Op, c: Context) -> None:
        """value_bar += l_bar[i]; l_bar[i] = 0."""
        if not self._numbers(op):
            return
        shadow, i = self.list_shadow(op.inputs[0], c), self.keep.kept(op.inputs[2], c)
        elem = op.inputs[0].type.elem
        t = self.build.value("list_get", [shadow, i], elem, name=_bar(op.inputs[1]))
        self.build.op("list_set", [shadow, self.build.const(0.0, elem), i])
        self.add(op.inputs[1], self.fit(t, op.inputs[1]), c)

    def mirror_list_pop(self, op: Op, c: Context) -> None:
        """l_bar.insert(i, out_bar)."""
        if not self._numbers(op):
            return
        g = self.take(op.out, c)
        elem = op.inputs[0].type.elem
        value = self.build.const(0.0, elem) if g is None else g
        shadow = self.list_shadow(op.inputs[0], c)
        index = op.inputs[1]
        if const_of(index) == -1:
            self.build.op("list_append", [shadow, value])
            return
        self.build.op("list_insert", [shadow, value, self._position_after(index, shadow, c)])

    def _position_after(self, index: Value, shadow: Value, c: Context) -> Value:
        """Where an item was popped from a list, now one item shorter; negative indices count from the longer list."""
        i = self.keep.kept(index, c)
        n = self.build.value("list_len", [shadow], INT)
        n = self.build.value("add", [n, self.build.const(1)], INT, nowrap=True)
        wrapped = self.build.value("add", [i, n], INT, nowrap=True)
        negative = self.build.value("less", [i, self.build.const(0)], BOOL)
        return self.build.value("select", [negative, wrapped, i], INT)

    def mirror_list_insert(self, op: Op, c: Context) -> None:
        """value_bar += l_bar.pop(i)."""
        if not self._numbers(op):
            self._unshadow(op, c, None, [])
            return
        shadow = self.list_shadow(op.inputs[0], c)
        i = self.keep.kept(op.inputs[2], c)
        n = self.build.value("list_len", [shadow], INT)
        before = self.build.value("subtract", [n, self.build.const(1)], INT, nowrap=True)
        wrapped = self.build.value(
            "maximum", [self.build.value("add", [i, before], INT, nowrap=True), self.build.const(0)], INT
        )
        negative = self.build.value("less", [i, self.build.const(0)], BOOL)
        position = self.build.value("select", [negative, wrapped, self.build.value("minimum", [i, before], INT)], INT)
        g = self.build.value("list_pop", [shadow, position], op.inputs[0].type.elem, name=_bar(op.inputs[1]))
        self.add(op.inputs[1], self.fit(g, op.inputs[1]), c)

    def mirror_list_copy(self, op: Op, c: Context) -> None:
        """l_bar[k] += out_bar[k]."""
        if not (self._numbers(op) and self.activity.active(op.out)):
            return
        source = self.list_shadow(op.out, c)
        target = self.list_shadow(op.inputs[0], c)
        elem = op.out.type.elem
        body = Block([Value(INT, "k")])
        with self.build.inside(body):
            k = body.args[0]
            g = self.build.value("list_get", [source, k], elem)
            old = self.build.value("list_get", [target, k], elem)
            self.build.op("list_set", [target, self.build.value("add", [old, g], elem), k])
        n = self.build.value("list_len", [source], INT)
        self.build.counted(n, body)

    def _unshadow(self, op: Op, c: Context, kind: str | None, extra: list[Value]) -> None:
        """Lists of references: the forward sweep's shadow list is read only through recorded references."""
        del op, c, kind, extra


def _bar(v: Value) -> str | None:
    return f"{v.name}_bar" if v.name else None
