"""Iterators without an index: generators, filters, itertools. Their own loops run, with the consumer's body inside."""

from __future__ import annotations

import heapq
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit.frontend.objects.iterate import Indexed, UnknownLength
from diffjit.frontend.syntax.handlers import core, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.reach import Reach, assigned, has_effect
from diffjit.frontend.values.templates import DynList
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import walk
from diffjit.primitives.library import containers, queues
from diffjit.primitives.library.resumed.iterators import (
    Cursor,
    accumulated,
    cycled,
    grouped,
    padded,
    paired,
    zipped_evenly,
)

Body = Callable[[Any], Any]


USED = Static(True)
_TEE = ("an array that `tee` goes through is taken", "take a copy: tee(x.copy())")
_HELPERS = ("item", "spread", "super")  # of maps: functions, not iterators
_OF_OTHERS = ("enumerate", "zip", "reversed", "iter")  # their items are those of their parts
ENDLESS = 2**50  # iterations of a loop that only `break` ends


class Iterators(Mixin):
    """Mixin of the interpreter: lazy iterators."""

    def is_int(self, value: Any) -> bool:
        """An int, known or not."""
        if isinstance(value, Value):
            return isinstance(value.type, Scalar) and value.type.dtype.kind == "i"
        return isinstance(value, Static) and isinstance(value.obj, int | np.integer)

    def as_iterable(self, value: Any) -> Any:
        """What an object's own __iter__ gives, or what its __getitem__ does."""
        while isinstance(value, av.Ref) and isinstance(held := self.contents(value), av.ObjC):
            if self.is_run_time_set(value):
                raise self.no_order(None)
            if not self.class_has(held.cls, "__iter__"):
                sequence = self.class_has(held.cls, "__getitem__")
                return self.call_plain(containers.numbered, value, node=None) if sequence else value
            found = self.call_method(value, "__iter__", [])
            if isinstance(found, av.Ref) and self.class_has(self.class_of(found), "__next__"):
                return self.draws(found)
            value = found
        return value

    def claim(self, iterable: Any) -> Any:
        """An iterator that nobody has gone through before, to be gone through now."""
        if not isinstance(iterable, av.Iter) or iterable.claimed or iterable.kind in _HELPERS:
            return iterable
        if ("used", iterable.serial) in self.cells:
            raise self.needs_place(iterable.serial, "an iterator that was used before")
        self.cells["used", iterable.serial] = USED
        parts = [self.claim(self.certain(part)) for part in iterable.parts]
        return replace(iterable, parts=tuple(parts), claimed=True)

    def taken_in_turn(self, iterables: list[Any]) -> list[Any]:
        """The parts of a `zip` or `map`; `zip(it, it)` of one iterator of a sequence takes groups of its items."""
        moving = [key for i in iterables for key in self._moving(i)]
        twice = {key for key in moving if moving.count(key) > 1}
        if not twice:
            return iterables
        for each in iterables:
            if isinstance(each, av.Iter) and each.serial in self.sites.turns and twice & {*self._moving(each)[1:]}:
                raise self.needs_place(each.serial, "")  # it draws from what the others draw from, in turn with them
        source, place = self.sequence_behind(iterables[0])
        if source is None or len(moving) > len(iterables):
            message, cure = "an iterator that stands twice in a `zip` or `map`", "make a list of it first: list(...)"
            raise self.unsupported("DJ115", message, None, cure)
        if isinstance(iterables[0], av.Iter):
            self.claim(iterables[0])
        else:
            self.set_attribute(iterables[0], "place", self.length(source))
        return self.groups_of(source, place, len(iterables))

    def _moving(self, iterable: Any) -> list[Any]:
        """Numbers of the iterators that are drawn from; one that others draw from is among them."""
        if isinstance(iterable, av.Iter):
            if iterable.claimed or iterable.kind in _HELPERS:
                return []
            sources = iterable.sources or iterable.parts
            if iterable.kind == "generator":
                given = iterable.parts[1].values()
                sources = [part for v in given for part in (v.items if isinstance(v, av.Tup) else (v,))]
            return [("iterator", iterable.serial), *(key for p in sources for key in self._moving(p))]
        if isinstance(iterable, av.Ref) and isinstance(held := self.contents(iterable), av.ObjC):
            return [("object", iterable.uid)] if self.class_has(held.cls, "__next__") else []
        return []

    def _one_by_one(self, iterable: Any) -> bool:
        """Whether items have to be drawn when their turn comes: they may depend on what happens meanwhile."""
        return self.is_lazy(iterable) or (isinstance(iterable, av.Ref) and bool(self._moving(iterable)))

    def sequence_behind(self, iterable: Any) -> tuple[Any, Any]:
        """The array, list or tuple that an iterator goes through, and from where; None of other iterators."""
        if isinstance(iterable, av.Iter) and iterable.kind == "iter":
            (source,) = iterable.parts
            if isinstance(source, Value | av.Tup) or (isinstance(source, av.Ref) and self.is_sequence(source)):
                return source, Static(0)
        if self.object_class(iterable) is Cursor:
            return tuple(self.get_attribute(iterable, name) for name in ("items", "place"))  # pyright: ignore[reportReturnType]
        return None, None

    def is_lazy(self, iterable: Any) -> bool:
        """Whether the items come one after the other only."""
        if not isinstance(iterable, av.Iter):
            return False
        if iterable.kind in ("generator", "genexp", "filter", "lazy"):
            return True
        sources = self.iter_sources(iterable)
        if iterable.kind in ("zip", "map") and len({self.has_known_length(s) for s in sources}) > 1:
            return True  # whichever part is shorter ends it
        return any(self.is_lazy(s) for s in sources)

    def has_known_length(self, iterable: Any) -> bool:
        """Whether the number of items is known while specialising."""
        return self.is_lazy(iterable) or self.can_unroll(iterable)

    def iterate_lazily(self, iterable: av.Iter, body: Body, node: Any) -> None:
        """Run `body` where a lazy iterator gives an item."""
        if iterable.kind == "lazy":
            iterable.parts[0](body)
        elif iterable.kind == "filter":
            self._filtered(*iterable.parts, body, node)  # pyright: ignore[reportCallIssue]
        elif iterable.kind == "map":
            function, *inner = iterable.parts
            source = inner[0] if len(inner) == 1 else av.Iter("zip", tuple(inner))
            spread = len(inner) > 1
            self.iterate(source, lambda x: body(self.call(function, list(x.items) if spread else [x], {}, node)), node)
        elif iterable.kind == "enumerate":
            inner, start = iterable.parts
            self.accumulate(inner, start, lambda k, x: (body(av.Tup((k, x))), self.ew("add", k, Static(1)))[1])
        elif iterable.kind == "zip":
            self._zipped(iterable.parts, body, node)
        elif iterable.kind == "iter":
            self.iterate(iterable.parts[0], body, node)
        elif iterable.kind == "reversed":
            self.iterate(av.Iter("reversed", (self.collect(iterable.parts[0], node),)), body, node)
        else:
            self._generated(iterable, body, node)

    def _filtered(self, function: Any, inner: Any, body: Body, node: Any) -> None:
        always = is_none(function)

        def filtered(item: Any) -> None:
            keep = self.truth(item if always else self.call(function, [item], {}, node), node)
            self.when(keep, lambda: body(item) and None)

        self.iterate(inner, filtered, node)

    def _zipped(self, parts: tuple[Any, ...], body: Body, node: Any) -> None:
        """One part leads, a lazy one or one of known length; the others are indexed along with it.

        What stands in front of a lazy part ends the loop before that is asked for another item, which it may keep.
        """
        lead = next((p for p in parts if self.is_lazy(p)), None) or next(p for p in parts if self.can_unroll(p))
        with ExitStack() as listed:
            beside = [
                None if p is lead else listed.enter_context(self.ahead(p, node)) if self.is_lazy(p) else p
                for p in parts
            ]
            self._abreast(lead, beside, body, node)

    @contextmanager
    def ahead(self, iterable: Any, node: Any, whose: str = "") -> Iterator[Any]:
        """The items of a lazy iterator, listed though a loop, which is what this is around, draws them one by one.

        So they must be the same as later: what they are made of does not change in the loop, nor while they are made.
        Else they are drawn in turn; `whose`: by what cannot do that.
        """
        what, start, ops = Reach(self.cells, iterable), dict(self.cells), self.build.block.ops
        before = len(ops)
        items = self.collect(iterable, node, in_turn=True)
        effect = bool(assigned(start, self.cells)) or has_effect(self.build, ops[before:])
        if not effect:
            start, before = dict(self.cells), len(ops)
            yield items
        if effect or what.touched(start, self.cells, self.build, ops[before:]):
            message = "an iterator whose items depend on what the loop over it and others changes"
            if whose:
                raise self.unsupported("DJ115", f"{whose} of {message}", node, "compute the items in the loop itself")
            raise self.needs_place(iterable.serial, message, node)

    def by_place(self, ref: av.Ref, low: Any, high: Any) -> av.Iter:
        """The items that a list has at some places, whatever it takes meanwhile."""
        return av.Iter("map", (av.Method(ref, "__getitem__"), av.Range(low, high, Static(1))), claimed=True)

    def zipped_strictly(self, parts: tuple[Any, ...]) -> Any:
        """`zip(..., strict=True)`, where the items of some come one by one."""
        if any(self.drawn_from(part) is not None for part in parts):
            return self.call_plain(zipped_evenly, *parts, node=None)

        def drive(body: Body) -> None:
            with ExitStack() as listed:
                columns = [
                    listed.enter_context(self.ahead(self.claim(p), None)) if self.is_lazy(p) else p for p in parts
                ]
                self.iterate(self.call_plain(containers.zipped_strictly, *columns, node=None), body, None)

        return self.iterator(av.Iter("lazy", (drive,), sources=parts), lambda: self.drawn_by(zipped_evenly, *parts))

    def _abreast(self, lead: Any, beside: list[Any], body: Body, node: Any) -> None:
        first = [None if p is None else self.alongside(p, node) for p in beside]
        before = beside.index(None)
        uid, name = next(self._uids), ("t", next(self._uids))
        self.cells[name] = Static(0)

        def now() -> list[Indexed | None]:  # lists may have become longer or shorter meanwhile, or hold other items
            return [self.alongside(p, node) if self.lists_in(p) else at for p, at in zip(beside, first, strict=True)]

        def inside(others: list[Indexed | None]) -> Any:
            found: Any = Static(True)
            for other in others:
                if other is not None:
                    less = self.compare_kind("less", self.cells[name], self.folded(other.length))
                    found = self.both(found, less)
            return found

        def step(item: Any) -> None:
            k, others = self.cells[name], now()
            go = lambda: body(av.Tup(tuple(item if o is None else o.item(k) for o in others))) and None  # noqa: E731
            self.when(inside(others), go, stop)  # the leading part may never end
            self.unless_jumped(further)

        def further() -> None:
            self.cells[name] = self.ew("add", self.cells[name], Static(1))
            if before:
                self.when(inside(now()[:before]), lambda: None, stop)

        def go_through() -> None:
            self.iterate(lead, step, node, key=key, break_uid=uid)

        stop, key = lambda: self.jump("break", uid), ("zip", self.place())
        if isinstance(begins := inside(first[:before]), Static):
            self.when(begins, go_through)
        else:
            self.fork(begins, go_through, lambda: None, zero_trips=(self.call_path, key))
        del self.cells[name]

    def alongside(self, iterable: Any, node: Any) -> Indexed:
        """An iterable as length and items by index, also where the items are known one by one."""
        found = self.indexed(iterable, node)
        if found is not None:
            return found
        items = self.getters(iterable, node)

        def item(k: Any) -> Any:
            return items[k.obj]() if isinstance(k, Static) else self.select_item([get() for get in items], k, node)

        return Indexed(self.number(Static(len(items))), item)

    def countable(self, iterable: Any, node: Any) -> Any:
        """An iterable with a length, of which the items are to be taken now: an iterator has none left."""
        iterable = self.as_iterable(iterable)
        return self.collect(iterable, node) if self.is_lazy(iterable) else self.claim(iterable)

    def refuse_endless(self, ops: list[Op], iterable: Any, node: Any, *, in_turn: bool) -> None:
        """Refuse to list the items of an iterator without an end; `in_turn`: they could as well be drawn one by one."""
        if any(_endless(op) for op in ops):
            if in_turn and iterable.serial in self.sites.turns:
                raise self.needs_place(iterable.serial, "")
            cure = "cut it by itertools.islice, or by something that counts beside it: enumerate, range, an array"
            raise self.unsupported("DJ115", "all items of an iterator without an end", node, cure)

    def _generated(self, iterable: av.Iter, body: Body, node: Any) -> None:
        """Generator functions and expressions: `body` runs in the consumer's frame."""
        consumer, around = self.frames[-1], len(self.handlers)

        def on_yield(value: Any) -> None:
            inner = self.frames
            self.frames = [*inner, consumer]
            try:
                with nullcontext() if iterable.serial in self.managing else self.beyond_yield(around):
                    self.afresh(lambda: body(value))  # one statement may yield twice
            finally:
                self.frames = inner

        if iterable.kind == "generator":
            fn, bound = iterable.parts
            if self.calls_itself(fn, bound):
                problem = f"a generator that goes through itself, `{fn.name}`, to a depth that is known when it runs"
                raise self.unsupported("DJ119", problem, node, "append to a list in place of `yield`")
            self.generated[iterable.serial] = self.run_body(fn, bound, node, on_yield=on_yield)
        else:
            expression, frame, first = iterable.parts
            self.gone_through(iterable.serial)
            self.comprehend(expression, lambda: on_yield(self.eval(expression.elt)), frame, first)

    # Functions that make iterators

    def nested(self, iterables: tuple[Any, ...]) -> av.Iter:
        """All combinations, the last one changing fastest."""
        place = self.place()

        def drive(body: Body) -> None:
            def level(k: int, chosen: tuple[Any, ...]) -> None:
                if k == len(iterables):
                    body(av.Tup(chosen))
                else:
                    self.iterate(
                        iterables[k], lambda item: level(k + 1, (*chosen, item)), None, key=("nested", place, k)
                    )

            level(0, ())

        return av.Iter("lazy", (drive,))

    @core(itertools.product)
    def it_product(self, *iterables: Any, repeat: Any = Static(1)) -> Any:
        columns = tuple(map(self._listed, iterables)) * self.static_int(repeat, "`repeat`")
        known: list[Any] = [self.known_items(c) for c in columns]
        if all(items is not None for items in known):
            return self.iterator(av.Iter("iter", (av.Tup(tuple(av.Tup(row) for row in itertools.product(*known))),)))
        return self.iterator(self.nested(columns))

    def _listed(self, iterable: Any) -> Any:
        """What `product` lists before it gives anything, to be gone through as often as it takes."""
        iterable = self.as_iterable(iterable)
        if self._places(iterable) is None:
            if isinstance(iterable, av.Iter) and iterable.kind in _OF_OTHERS and not self.is_lazy(iterable):
                claimed = self.claim(iterable)
                return replace(claimed, parts=tuple(map(self._listed, claimed.parts)))
            if isinstance(iterable, av.Iter) or self.is_list_of_known_length(iterable):
                return self.collect(iterable)
        return self._kept(iterable)

    def _kept(self, iterable: Any) -> Any:
        """What itertools lists before it gives anything: later changes of an array or list are not seen."""
        places = self._places(iterable)
        if places is not None:
            numbers, key = av.Range(Static(0), places.length, Static(1)), ("kept", self.place())
            drive = lambda body: self.iterate(numbers, lambda i: body(places.item(i)), None, key=key)  # noqa: E731
            return av.Iter("lazy", (drive,), claimed=True)
        if isinstance(iterable, Value) and isinstance(iterable.type, Array) and iterable.type.ndim == 1:
            return self.copy(iterable)  # its items are numbers, the rows of others are views
        if self.is_growing(iterable):
            return self.copy_list(iterable)
        return iterable

    def _places(self, iterable: Any) -> Any:
        """Number and getter of items that are objects in a growing list, by themselves or enumerated."""
        lists = [self.contents(r) for r, _ in self.lists_in(iterable)]
        live = any(isinstance(held, DynList) and self.is_live(held) for held in lists)
        return self.indexed(iterable, None) if live else None

    def known_items(self, iterable: Any) -> list[Any] | None:
        """The items of a container whose length is known; None for ranges and arrays, which are looped over."""
        found = self.static_items(self.written_out(iterable), None)
        return None if found is None else [get() for get in found]

    @core(itertools.permutations)
    def it_permutations(self, iterable: Any, r: Any = NONE) -> Any:
        return self.it_choices("permutations", iterable, r)

    @kinds(combinations=itertools.combinations, combinations_with_replacement=itertools.combinations_with_replacement)
    def it_choices(self, kind: str, iterable: Any, r: Any) -> Any:
        iterable = self.as_iterable(iterable)
        places = self._places(iterable)
        if isinstance(iterable, av.Iter) and not iterable.claimed and places is None:
            iterable = self.collect(iterable)
        number = (
            self.static_int(self.length(iterable), "the number of items")
            if is_none(r)
            else self.static_int(r, "the number of items chosen")
        )
        generator = containers.CHOICES.get((kind, number))
        if places is not None and generator is not None:
            chosen = self.call_plain(generator, av.Range(Static(0), places.length, Static(1)), node=None)
            key, item = ("chosen", self.place()), places.item
            each = lambda t, body: body(av.Tup(tuple(map(item, t.items))))  # noqa: E731
            return av.Iter("lazy", (lambda body: self.iterate(chosen, lambda t: each(t, body), None, key=key),))
        try:
            items = self.sequence_items(iterable, None)
        except UnknownLength:
            if generator is None:
                items = self.unpack(iterable, None, None)
            else:
                return self.call_plain(generator, self._kept(iterable), node=None)
        rows = tuple(av.Tup(row) for row in getattr(itertools, kind)(items, number))
        return self.iterator(av.Iter("iter", (av.Tup(rows),)))

    @core(itertools.cycle)
    def it_cycle(self, iterable: Any) -> Any:
        at_once = lambda: self.call_plain(containers.cycle, iterable, node=None)  # noqa: E731
        return self.of_lists((iterable,), at_once, cycled, iterable, listed=True)

    @core(itertools.zip_longest)
    def it_zip_longest(self, *iterables: Any, fillvalue: Any = NONE) -> Any:
        moving = [key for i in iterables for key in self._moving(i)]
        if len(set(moving)) == len(moving):
            if any(map(self._one_by_one, iterables)):
                return self.call_fn(self.fn_of(padded), [fillvalue, *iterables], {}, None)
            fn = self.fn_of(containers.zip_longest)
            at_once = lambda: self.call_fn(fn, list(iterables), {"fillvalue": fillvalue}, None)  # noqa: E731
            return self.of_lists(iterables, at_once, padded, fillvalue, *iterables)
        if len({id(i) for i in iterables}) > 1:
            message, cure = "an iterator that stands twice in a `zip_longest`", "make a list of it first: list(...)"
            raise self.unsupported("DJ115", message, None, cure)
        items = self.collect(iterables[0])
        return self.call_plain(containers.grouped, items, Static(len(iterables)), fillvalue, node=None)

    @core(itertools.groupby)
    def it_groupby(self, iterable: Any, key: Any = NONE) -> Any:
        if self.is_lazy(iterable):

            def drive(body: Body) -> None:
                with self.ahead(self.claim(iterable), None, "groups") as items:
                    self.iterate(self.it_groupby(items, key), body, None)

            return self.iterator(av.Iter("lazy", (drive,), sources=(iterable, key)))
        source = self.countable(iterable, None)
        items = self.known_items(source)
        if items is None or not all(isinstance(i, Static) for i in items):
            return self.call_plain(containers.groupby, source, key, node=None)
        keys = items if is_none(key) else [self.call(key, [i], {}) for i in items]
        if not all(isinstance(k, Static) for k in keys):
            return self.call_plain(containers.groupby, source, key, node=None)
        runs = [list(run) for _, run in itertools.groupby(range(len(items)), lambda n: keys[n].obj)]
        groups = (av.Tup((keys[run[0]], av.Iter("iter", (av.Tup(tuple(items[n] for n in run)),)))) for run in runs)
        return self.iterator(av.Iter("iter", (av.Tup(tuple(groups)),)))

    @core(itertools.tee)
    def it_tee(self, iterable: Any, n: Any = Static(2)) -> Any:
        if isinstance(iterable, Value) and isinstance(iterable.type, Array):
            iterable = self.mark_unchanging(iterable, _TEE)
        elif isinstance(iterable, av.Ref) and self.is_list_of_known_length(iterable):
            self.freeze(self.cells, iterable.uid, "is gone through by `tee`")
        self.list_at_once(iterable, "tee", lists=True)
        return self.call_plain(containers.tee, iterable, n, node=None)

    @core(heapq.merge)
    def it_merge(self, *iterables: Any, key: Any = NONE, reverse: Any = Static(False)) -> Any:
        for iterable in iterables:
            self.list_at_once(iterable, "merge")
        return self.call_plain(queues.merge, key, reverse, *iterables, node=None)

    @core(*([itertools.batched] if sys.version_info >= (3, 12) else []))
    def it_batched(self, iterable: Any, n: Any, *, strict: Any = Static(False)) -> Any:
        self.list_at_once(iterable, "batched")
        at_once = lambda: self.call_plain(containers.batched, iterable, n, strict, node=None)  # noqa: E731
        return self.of_lists((iterable,), at_once, grouped, iterable, n, strict)

    def list_at_once(self, iterable: Any, name: str, *, lists: bool = False) -> None:
        """All items are listed now, and who goes through them when is not known."""
        drawn = self.is_lazy(iterable) or (lists and self.lists_in(iterable))
        if drawn and Reach(self.cells, iterable).may_change([(f.uid, f.fn.node) for f in self.frames]):
            message = f"`{name}` of an iterator whose items depend on what may change meanwhile"
            raise self.unsupported("DJ115", message, None, "make a list of it first: list(...)")

    @core(itertools.pairwise)
    def it_pairwise(self, iterable: Any) -> Any:
        if self._one_by_one(iterable):
            return self.call_fn(self.fn_of(paired), [iterable], {}, None)
        return self.of_lists((iterable,), lambda: self.neighbours_in(iterable), paired, iterable)

    def neighbours_in(self, iterable: Any) -> Any:
        """Each item and the next one."""
        source = self.countable(iterable, None)
        numbers = source.type.ndim == 1 if isinstance(source, Value) else self._lists_numbers(source)
        if numbers:
            return self.call_plain(containers.neighbours, source, node=None)
        if self.is_list_of_known_length(source):
            later = av.Range(Static(1), self.length(source), Static(1))
            return self.iterator(av.Iter("zip", (source, av.Iter("map", (av.Method(source, "__getitem__"), later)))))
        if not isinstance(source, Value):
            source = self.py_list(source)
        first = self.get_item(source, av.Slice(NONE, Static(-1), NONE))
        return self.iterator(av.Iter("zip", (first, self.get_item(source, av.Slice(Static(1), NONE, NONE)))))

    def is_list_of_known_length(self, value: Any) -> bool:
        """A list that a loop over it would write out."""
        return isinstance(value, av.Ref) and isinstance(self.contents(value), av.ListC)

    def _lists_numbers(self, source: Any) -> bool:
        """Whether this is a growing list of numbers, which an item is read of once."""
        return self.is_growing(source) and all(isinstance(x.type.elem, Scalar) for x in self.contents(source).lists)

    @core(itertools.accumulate)
    def it_accumulate(self, iterable: Any, func: Any = NONE, *, initial: Any = NONE) -> Any:
        plain = is_none(func)
        combine = (lambda a, b: self.binary("add", a, b)) if plain else (lambda a, b: self.call(func, [a, b], {}))
        args = [iterable, Static(operator.add) if plain else func, initial]
        if self._one_by_one(iterable):
            return self.call_fn(self.fn_of(accumulated), args, {}, None)

        def drive(body: Body) -> None:
            begun = not is_none(initial)
            first, rest = (initial, iterable) if begun else self.first_and_rest(iterable, "accumulate() of nothing")
            body(first)

            def step(total: Any, item: Any) -> Any:
                result = combine(total, item)
                body(result)
                return result

            self.accumulate(rest, first, step)

        at_once = lambda: self.iterator(  # noqa: E731
            av.Iter("lazy", (drive,), sources=(iterable,)), lambda: self.drawn_by(accumulated, *args)
        )
        return self.of_lists((iterable,), at_once, accumulated, *args)

    def first_and_rest(self, iterable: Any, empty: str = "") -> tuple[Any, Any]:
        """The first item, and an iterable of the others; `empty` is set where Python needs none."""
        source = self.countable(iterable, None)
        found = self.static_items(self.written_out(source), None)
        if found:  # each is read when its turn comes
            first, *others = found
            drive = lambda body: self._unroll_from(others, 0, self._watched(source, body))  # noqa: E731
            return first(), av.Iter("lazy", (drive,))
        inner = self.indexed(source, None)
        if inner is None:
            raise self.unsupported("DJ115", "this iterable", None, "use a list or an array")
        nothing = self.compare_kind("less_equal", inner.length, Static(0))
        if empty:
            self.refuse_if(nothing, TypeError, empty)
        else:
            self.raise_if(nothing, TypeError, "reduce() of empty iterable with no initial value")
        item = av.Iter("item", (inner,))
        return inner.item(Static(0)), av.Iter("map", (item, av.Range(Static(1), inner.length, Static(1))))

    @core(itertools.islice)
    def it_islice(self, iterable: Any, *bounds: Any) -> Any:
        parts = (NONE, bounds[0], NONE) if len(bounds) == 1 else (*bounds, NONE)[:3]
        for part, least in zip(parts, (0, 0, 1), strict=True):
            if not is_none(part):
                wrong = self.compare_kind("less", part, Static(least))
                self.raise_if(wrong, ValueError, av.inexact("islice() counts from 0, and with steps from 1"))
        source = self.as_iterable(iterable)
        if isinstance(source, av.Iter | av.Range) and not self.can_unroll(source):  # it may have no end
            start, step = (Static(k) if is_none(p) else p for p, k in ((parts[0], 0), (parts[2], 1)))
            return self.call_plain(containers.taken, source, start, parts[1], step, node=None)
        if self.is_growing(source) or self.is_list_of_known_length(source):
            start, step = (Static(k) if is_none(p) else p for p, k in ((parts[0], 0), (parts[2], 1)))

            def at_once() -> Any:
                count = self.length(source)
                low, high = self.call_plain(containers.bounds, parts[0], parts[1], step, count, node=None).items
                return av.Iter("map", (av.Method(source, "__getitem__"), av.Range(low, high, step)))

            return self.of_lists((source,), at_once, containers.taken, source, start, parts[1], step)
        items = self.get_item(source if isinstance(source, Value) else self.py_list(source), av.Slice(*parts))
        return av.Iter("iter", (items,))

    @core(itertools.count)
    def it_count(self, start: Any = Static(0), step: Any = Static(1)) -> Any:
        if not all(self.is_int(n) for n in (start, step)):
            return self.call_plain(containers.count, start, step, node=None)
        far = self.ew("multiply", step, self.build.const(ENDLESS))  # not known while specialising: nobody unrolls it
        numbers = av.Range(start, self.ew("add", start, far), step)
        return self.iterator(av.Iter("iter", (numbers,)), lambda: self.cursor(numbers))

    def call_helper(self, helper: av.Iter, args: list[Any], node: Any) -> Any:
        """A call of a getter by index, or of a function whose argument holds its arguments."""
        (held,) = helper.parts
        if helper.kind == "item":
            return held.item(args[0])
        return self.call(held, self.unpack(args[0], None, node), {}, node)

    @core(np.ndindex)
    def np_ndindex(self, *shape: Any) -> Any:
        lengths = self.lengths_of(shape[0] if len(shape) == 1 else av.Tup(shape))
        return self.nested(tuple(av.Range(Static(0), n, Static(1)) for n in lengths))

    @core(np.ndenumerate)
    def np_ndenumerate(self, arr: Any) -> Any:
        if self.has_method(arr, "__array_function__"):
            places = self.np_ndindex(self.get_attribute(arr, "shape"))
            pair = lambda place: av.Tup((place, self.call_method(arr, "__getitem__", [place])))  # noqa: E731
        else:
            array = self.np_asarray(arr)
            places = self.np_ndindex(self.np_shape(array))
            pair = lambda place: av.Tup((place, self.array_get(array, place)))  # noqa: E731
        return av.Iter("lazy", (lambda body: self.iterate_lazily(places, lambda place: body(pair(place)), None),))

    def next_item(self, iterator: Any, default: Any) -> Any:
        """`next(iterator, default)` of an iterator made right there: its first item."""
        name, uid = ("t", next(self._uids)), next(self._uids)

        def body(item: Any) -> None:
            self.cells[name] = item
            self.jump("break", uid)

        found = self.iterate(iterator, body, None, key=("next", self.place()), break_uid=uid)
        item = self.cells.pop(name, None)
        if item is None or (isinstance(found, Static) and not found.obj):
            if default is None:
                self.out_of_range(av.inexact("next() of an empty iterator"), StopIteration)
            return default
        item = item.value if isinstance(item, av.Maybe) else item
        if default is not None:
            return self.choose(found, lambda: item, lambda: default)
        self.raise_if(self.logical_not(found), StopIteration, av.inexact("next() of an empty iterator"))
        return item


def _endless(op: Op) -> bool:
    """A loop that nothing ends."""
    if op.kind != "while" or op.attrs["exit"]:
        return False
    test = op.regions[0].results[0].op
    ends = any(inner.kind == "raise" for region in op.regions for inner in walk(region))
    return not ends and test is not None and test.kind == "const" and bool(test.attrs["value"])
