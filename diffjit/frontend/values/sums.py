"""Values that are one of several things at run time: whatever is done to one is done to each, in branches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gast

from diffjit.errors import DiffjitError
from diffjit.frontend.syntax.exceptions import Abandon, Split
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Block

# What a condition may be made of that only asks what something is, as `np.ndim(y) > 0` and `isinstance(y, float)` do.
_ASKS = (gast.Name, gast.Attribute, gast.Call, gast.Compare, gast.Constant, gast.Tuple, gast.cmpop, gast.expr_context)

Facts = dict[Any, tuple[Any, Any]]  # a variable's cell -> the sum that it holds, and what of it that can be


def for_each(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the interpreter that is applied to each variant of an argument that is a sum."""

    @functools.wraps(method)
    def spread(self: Any, *args: Any, **kwargs: Any) -> Any:
        for k, value in enumerate(args):
            found = sum_in(value)
            if found is not None:
                chosen, place = found
                return self.each(
                    chosen, lambda v, k=k, place=place: spread(self, *args[:k], place(v), *args[k + 1 :], **kwargs)
                )
        return method(self, *args, **kwargs)

    return spread


def sum_in(value: Any) -> tuple[av.Sum, Callable[[Any], Any]] | None:
    """A sum, by itself or where it may be None instead, and what is made of a variant there."""
    if isinstance(value, av.Sum):
        return value, lambda v: v
    if isinstance(value, av.Opt) and isinstance(value.value, av.Sum):
        return value.value, functools.partial(av.Opt, value.is_none)
    return None


class Sums(Mixin):
    """Mixin of the interpreter: sums."""

    def test(self, node: gast.AST) -> Any:
        """The truth of an expression that stands as a condition: the operands of `and` and `or` may be of any types."""
        if isinstance(node, gast.BoolOp):
            return self._test_chain(isinstance(node.op, gast.And), node.values)
        if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
            return self.logical_not(self.test(node.operand))
        asked = self.asked(node)
        return self.truth(self.eval(node), node) if asked is None else asked

    def _test_chain(self, is_and: bool, nodes: list[gast.AST]) -> Any:
        first = self.test(nodes[0])
        if len(nodes) == 1:
            return first
        if isinstance(first, Static):
            return self._test_chain(is_and, nodes[1:]) if bool(first.obj) == is_and else first
        others: list[Any] = []  # one where the rest does not certainly raise
        rest = lambda: others.append(self._test_chain(is_and, nodes[1:])) or others[-1]  # noqa: E731
        known = lambda: Static(not is_and)  # noqa: E731
        found = self.choose(first, rest, known) if is_and else self.choose(first, known, rest)
        return self.note_facts(found, first, others[-1], is_and=is_and) if others else found

    def asked(self, node: gast.AST) -> Any:
        """The truth of a condition that which variant a variable is decides; None of other conditions.

        Each branch then knows the variable as what it is there (`facts`).
        """
        names = sorted({n.id for n in gast.walk(node) if isinstance(n, gast.Name)})
        cells = [("v", self.frames[-1].uid, name) for name in names] if self.frames else []
        held = [(cell, self.cells[cell]) for cell in cells if sum_in(self.cells.get(cell)) is not None]
        if len(held) != 1 or not all(isinstance(n, _ASKS) for n in gast.walk(node)):
            return None
        (cell, value), *_ = held
        ways = self._ways(value)
        said = [self._said(node, cell, way) for way in ways]
        if None in said:
            return None
        if len(set(said)) == 1:
            return Static(said[0])
        fewer = said.count(True) <= said.count(False)
        one, *more = (self._is_way(value, k) for k, s in enumerate(said) if s is fewer)
        cond = functools.reduce(lambda a, b: self.ew("logical_or", a, b), more, one)
        cond = cond if fewer else self.logical_not(cond)
        left = ([k for k, s in enumerate(said) if s is truth] for truth in (True, False))
        self.facts[cond] = tuple({cell: (value, self._only(value, ks))} for ks in left)
        return cond

    def _ways(self, value: Any) -> list[Any]:
        """What a sum may be, None last."""
        return [*value.value.variants, NONE] if isinstance(value, av.Opt) else list(value.variants)

    def _is_way(self, value: Any, k: int) -> Any:
        """Whether it is one of them."""
        if not isinstance(value, av.Opt):
            return self.ew("equal", value.tag, Static(k))
        if k == len(value.value.variants):
            return value.is_none
        return self.ew("logical_and", self.logical_not(value.is_none), self.ew("equal", value.value.tag, Static(k)))

    def _only(self, value: Any, ks: list[int]) -> Any:
        """What a sum is where it is one of a few of its variants."""
        if len(ks) == 1:
            return self._ways(value)[ks[0]]
        if isinstance(value, av.Opt):
            count = len(value.value.variants)
            inner = self._only(value.value, [k for k in ks if k < count])
            return inner if ks[-1] < count else av.Opt(value.is_none, inner)
        if len(ks) == len(value.variants):
            return value
        tag: Any = Static(len(ks) - 1)
        for place, k in enumerate(ks[:-1]):
            tag = self.ew("where", self.ew("equal", value.tag, Static(k)), Static(place), tag)
        return av.Sum(tag, tuple(value.variants[k] for k in ks))

    def _said(self, node: gast.AST, cell: Any, variant: Any) -> bool | None:
        """What a condition says of a variant, if it says so without computing anything; else None."""
        start, dead, at_once, memo = self.cells, self.dead, self.learned.at_once, self.memo
        self.cells, self.learned.at_once = {**start, cell: variant}, False
        self.memo = None if memo is None else {}  # what is evaluated here is that of this variant alone
        try:
            with self.build.inside(Block()) as block:
                found = self.truth(self.eval(node), node)
        except (DiffjitError, Split, Abandon):  # whoever evaluates the condition for all variants says so
            return None
        finally:
            unchanged, self.cells, self.dead = not self.dead, start, dead
            self.memo, self.learned.at_once = memo, at_once
        return bool(found.obj) if isinstance(found, Static) and unchanged and not block.ops else None

    def facts_of(self, cond: Any, *, true: bool) -> Facts:
        """What variables are where a condition holds, or where it does not."""
        return self.facts.get(cond, ({}, {}))[0 if true else 1]

    def note_facts(self, cond: Any, first: Any, second: Any, *, is_and: bool) -> Any:
        """The condition that two others make: what holds where either does, or neither."""
        if cond is first:  # the second one is sure
            return cond
        one, more = (self.facts_of(c, true=is_and) for c in (first, second))
        both = one | {cell: (one.get(cell, found)[0], found[1]) for cell, found in more.items()}
        if both:
            self.facts[cond] = (both, {}) if is_and else ({}, both)
        return cond

    def holding(self, cond: Any, cells: dict[Any, Any], *, true: bool) -> dict[Any, Any]:
        """Cells as the branch of a condition has them."""
        facts = self.facts_of(cond, true=true)
        return {**cells, **{cell: one for cell, (value, one) in facts.items() if cells.get(cell) is value}}

    def letting_go(self, cond: Any, then: dict[Any, Any], other: dict[Any, Any]) -> None:
        """Behind both branches: what neither has changed is what it was before."""
        sides = [(then, self.facts_of(cond, true=True)), (other, self.facts_of(cond, true=False))]
        for cell in {cell for _, facts in sides for cell in facts}:
            value = next(facts[cell][0] for _, facts in sides if cell in facts)
            if all(cells.get(cell) is facts.get(cell, (value, value))[1] for cells, facts in sides):
                then[cell] = other[cell] = value

    def each(self, value: av.Sum, use: Callable[[Any], Any]) -> Any:
        """Use one variant or another."""

        def one(k: int) -> Any:
            return self.in_branch(lambda: use(value.variants[k]))

        def pick(k: int) -> Any:
            if k == len(value.variants) - 1:
                return one(k)
            return self.fork(self.ew("equal", value.tag, Static(k)), lambda: one(k), lambda: pick(k + 1))

        return pick(0)

    def each_argument(self, args: list[Any], kwargs: dict[str, Any], call: Callable[..., Any]) -> Any:
        """`call(args, kwargs)` for each variant of the arguments; None if none is a sum."""
        for k, value in enumerate(args):
            found = self.sum_within(value)
            if found is not None:
                chosen, place = found
                return self.each(
                    chosen, lambda v, k=k, place=place: call([*args[:k], place(v), *args[k + 1 :]], kwargs)
                )
        for name, value in kwargs.items():
            found = sum_in(value)
            if found is not None:
                chosen, place = found
                return self.each(chosen, lambda v, name=name, place=place: call(args, {**kwargs, name: place(v)}))
        return None

    def sum_within(self, value: Any) -> tuple[av.Sum, Callable[[Any], Any]] | None:
        """A sum that is an argument or stands in a tuple or list there, and the argument made of a variant."""
        if (found := sum_in(value)) is not None:
            return found
        if isinstance(value, av.Iter) and value.kind == "view" and (found := sum_in(value.parts[0])) is not None:
            chosen, place = found  # keys or values of one of several dicts
            return chosen, lambda v: replace(value, parts=(place(v), *value.parts[1:]))
        if self.is_disordered(value):
            return None
        held = self.contents(value) if isinstance(value, av.Ref) else value
        if not isinstance(held, av.Tup | av.ListC):
            return None
        for k, item in enumerate(held.items):
            found = self.sum_within(item)
            if found is not None:
                return found[0], functools.partial(self._placed, held, k, found[1])
        return None

    def _placed(self, held: av.Tup | av.ListC, k: int, place: Callable[[Any], Any], variant: Any) -> Any:
        """The container with one item that is made of a variant."""
        made = replace(held, items=(*held.items[:k], place(variant), *held.items[k + 1 :]))
        return made if isinstance(made, av.Tup) else self.new(made)
