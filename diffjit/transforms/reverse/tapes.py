"""Reverse mode through tapes: derivatives of programs that are derivatives themselves.

    push(s, v)            v_bar += pop(s_bar)
    v = pop(s)            push(s_bar, v_bar)
    c = stack_copy(s)     s_bar += c_bar, number by number

A pullback works on a copy of its tape, and pops all of it. So there are cotangents of the whole copy by the time that
the sweep is back where it was made. If the tape is copied once, in the block that makes it, one tape of cotangents
serves both; else each has its own, and those of copies are added up. What no copy has been popped of has an empty tape
of cotangents, which stands for zeros.
"""

from __future__ import annotations

from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import BOOL, INT, Array, Scalar, Stack, Type
from diffjit.transforms.reverse.cotangents import Bar, Cotangents
from diffjit.transforms.reverse.keep import Context


class TapeRules(Cotangents):
    """Mixin of `Reverse`: stacks."""

    def _recorded(self, stack: Value) -> bool:
        """A tape of values (references to changing memory are recorded with their shadows instead)."""
        if not self.activity.active(stack):
            return False
        if self.by_shadow(stack) and isinstance(stack.type.elem, Scalar):
            raise AssertionError("a tape of numbers was joined with another one")
        return not self.by_shadow(stack)

    def _copied(self, stack: Value) -> bool:
        """Whether a tape is copied several times, or perhaps not at all: then each copy has cotangents of its own."""
        same = self.memory.find(stack)
        copies = [
            o for o in self.keep.order.places if o.kind == "stack_copy" and self.memory.find(o.out) is same
        ]  # fmt: skip
        home = self.memory.outermost(stack).block
        return len(copies) > 1 or any(o.out.block is not home for o in copies)

    def begin_tape(self, stack: Value, c: Context) -> None:
        """The tape of cotangents, at the end of the block that makes a tape."""
        if not isinstance(stack.type, Stack) or not self._recorded(stack):
            return
        if self._copied(stack) or self.memory.outermost(stack) is stack:
            with self.build.inside(c.block):
                c.bars[stack] = Bar(self.build.value("stack_new", (), stack.type, name=_bar(stack)), owned=True)

    def stack_shadow(self, stack: Value, c: Context) -> Value:
        """The tape of cotangents."""
        home = stack if self._copied(stack) else self.memory.outermost(stack)
        return self.owner(home, c).bars[home].value

    def mirror_push(self, op: Op, c: Context) -> None:
        """value_bar += s_bar.pop()."""
        stack, value = op.inputs
        if not self._recorded(stack):
            return
        shadow, elem = self.stack_shadow(stack, c), stack.type.elem
        if not self._copied(stack):
            self.add(value, self.build.value("pop", [shadow], elem, name=_bar(value)), c)
            return
        found, none = Block(), Block()
        with self.build.inside(found):
            found.results = [self.build.value("pop", [shadow], elem, name=_bar(value))]
        like = self.keep.kept(value, c) if isinstance(elem, Array) else value
        with self.build.inside(none):
            if isinstance(elem, Array):
                ty = Array(elem.dtype, elem.dims, elem.layout)
                none.results = [self.build.value("zeros_like", [like], ty, name=_bar(value))]
            else:
                none.results = [self.build.const(0.0, elem)]
        made = self.build.op("if", [self._filled(shadow)], [elem], regions=[found, none])
        made.out.name = _bar(value)
        self.add(value, made.out, c)

    def mirror_stack_copy(self, op: Op, c: Context) -> None:
        """The copy's cotangents are those of the tape: added up where there are several."""
        if not self._recorded(op.out) or not self._copied(op.out):
            return
        source, more = self.stack_shadow(op.inputs[0], c), self.stack_shadow(op.out, c)
        elem, build = source.type.elem, self.build
        filled = self._filled(source)
        length = build.value("list_len", [more], INT)
        turned = build.value("stack_new", (), source.type, name=source.name)
        total, both, alone = Block([Value(INT, "k")]), Block(), Block()
        with build.inside(total):
            g = build.value("pop", [more], elem)
            with build.inside(both):
                old = build.value("pop", [source], elem)
                both.results = [self._sum(old, g, elem)]
            alone.results = [g]
            build.op("push", [turned, build.op("if", [filled], [elem], regions=[both, alone]).out])
        build.counted(length, total)
        back = Block([Value(INT, "k")])
        with build.inside(back):
            build.op("push", [source, build.value("pop", [turned], elem)])
        build.counted(length, back)

    def _sum(self, a: Value, b: Value, ty: Type) -> Value:
        if not isinstance(ty, Array):
            return self.build.value("add", [a, b], ty)
        return self._laid_out(self.build.value("add", [a, b], Array(ty.dtype, ty.dims, "C")), ty)

    def _laid_out(self, g: Value, ty: Type) -> Value:
        """A cotangent in the layout of the items of its tape."""
        if not isinstance(ty, Array) or ty.layout in ("A", g.type.layout):
            return g
        return self.build.value("copy", [g], Array(ty.dtype, g.type.dims, ty.layout), order=ty.layout)

    def _filled(self, stack: Value) -> Value:
        length = self.build.value("list_len", [stack], INT)
        return self.build.value("less", [self.build.const(0), length], BOOL)

    def mirror_pop(self, op: Op, c: Context) -> None:
        """s_bar.append(out_bar)."""
        stack = op.inputs[0]
        if self._recorded(stack):
            g = self.take(op.out, c)
            shadow = self.stack_shadow(stack, c)
            if g is None:
                g = self.zero(op.out, c)
            self.build.op("push", [shadow, self._laid_out(g, stack.type.elem)])


def _bar(v: Value) -> str | None:
    return f"{v.name}_bar" if v.name else None
