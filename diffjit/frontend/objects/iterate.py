"""Iteration: every iterable is either unrolled (its length is known) or becomes a counted loop over an index."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError, UnsupportedSyntax
from diffjit.frontend.syntax.frames import NeedStatic
from diffjit.frontend.syntax.loops import Loop
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.sums import sum_in
from diffjit.frontend.values.templates import DynList, describe
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import INT, Array
from diffjit.ir.walk import callees, walk
from diffjit.primitives.library import containers
from diffjit.primitives.opaque import acts

UNROLL_LIMIT = 4096
_SPREAD = ("view", "zip", "enumerate", "reversed", "iter")  # iterators of others, and the keys and values of dicts


class UnknownLength(Exception):
    """The length of an iterable is only known at run time."""


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """An iterable as a run-time length and a way to get item i."""

    length: Value
    item: Callable[[Any], Any]
    bounds: tuple[Any, Any, Any] | None = None  # of a range: iterate these directly


class Iteration(Mixin):
    """Mixin of the interpreter: `for` and everything that consumes iterables."""

    loops: list[Loop]

    def iterate(
        self,
        iterable: Any,
        body: Callable[[Any], Any],
        node: Any,
        *,
        key: Any = None,
        assigned: frozenset[str] = frozenset(),
        break_uid: Any = None,
        in_turn: bool = False,
    ) -> Any:
        """Run `body` for each item; returns whether `break` ended the loop.

        `in_turn`: how many items there are need not be known behind it.
        """
        if isinstance(iterable, av.Opt):
            iterable = self.not_none(iterable)
        iterable = self.claim(self.as_iterable(iterable))
        if (found := self._one_of_several(iterable)) is not None:
            chosen, place = found
            turn = {"key": key, "assigned": assigned, "break_uid": break_uid}
            return self.each(chosen, lambda v: self.iterate(place(v), body, node, **turn))
        budget = None
        if isinstance(iterable, av.Iter) and iterable.kind == "checkpointed":
            iterable, budget = iterable.parts
            self._refuse_uncounted(iterable, node)
        if self.is_lazy(iterable):
            self.iterate_lazily(iterable, body, node)
            return self.land("break", break_uid)
        site = (self.call_path, self.place() if key is None else key)
        items = self.static_items(iterable, node)
        may = in_turn and self.may_be_long(site)
        if items is not None:
            turn = self._watched(iterable, body)
            if self._written_out(site, iterable, items, turn, may_be_long=may):
                return self.land("break", break_uid)
        elif isinstance(iterable, (av.Ref, av.Iter)) and site in self.growing:
            return self._while_it_grows(iterable, body, site, node, assigned, break_uid)
        loop = Loop(site, "for", [], body, None, assigned, break_uid, node, budget=budget)
        return self._by_index(iterable, loop, may_be_long=may)

    def _by_index(self, iterable: Any, loop: Loop, *, may_be_long: bool) -> Any:
        """A loop over an index, unless what its body needs to know is only known item by item."""
        site, node = loop.site, loop.node
        loop.can_unroll = self.can_unroll(iterable)
        known = self.getters(iterable, node) if loop.can_unroll else []
        must = site in self.unroll or len(known) == 1
        if loop.can_unroll and must:
            turn = self._watched(iterable, loop.body)
            if self._written_out(site, iterable, known, turn, may_be_long=may_be_long):
                return self.land("break", loop.break_uid)
        body, block, first, go_back = loop.body, self.build.block, len(self.build.block.ops), self._way_back()
        indexed = self.indexed(iterable, node, tables=True)
        if indexed is None:
            raise self.not_iterable(iterable, node)
        long = site in self.learned.long
        contents = self.known_contents(iterable) if long else []
        try:
            broke = self._counted(indexed, body, loop)
            if self._grows_inside(iterable, block.ops[first:], node):
                self.growing.add(site)
                go_back()
                return self._while_it_grows(iterable, body, site, node, loop.assigned, loop.break_uid)
            if not long or _same_objects(contents, self.known_contents(iterable)):
                return broke
        except NeedStatic as need:
            if not loop.can_unroll or ("loop", site) not in need.sources:
                raise
        except DiffjitError:
            if not long:
                raise
        self.unroll.add(site)
        if long:
            self.learned.written.add(site)
        go_back()
        loop.body, loop.bounds = body, []
        return self._by_index(iterable, loop, may_be_long=may_be_long and not long)

    def _one_of_several(self, iterable: Any) -> Any:
        """What is gone through, or a part of it, where that is one of several arrays, and what is made of each."""
        if (found := sum_in(iterable)) is not None or not isinstance(iterable, av.Iter) or iterable.kind not in _SPREAD:
            return found
        parts = list(map(self._one_of_several, iterable.parts))
        k = next((k for k, found in enumerate(parts) if found is not None), None)
        if k is None:
            return None
        (chosen, place), before, after = parts[k], iterable.parts[:k], iterable.parts[k + 1 :]
        return chosen, lambda v: replace(iterable, parts=(*before, place(v), *after))

    def _refuse_uncounted(self, iterable: Any, node: Any) -> None:
        """Steps of a checkpointed loop are run again by their number."""
        if self.is_lazy(iterable) or not self._is_countable(iterable):
            message = f"a checkpointed loop over {describe(iterable)}"
            raise self.unsupported("DJ115", message, node, "go through range(n), itertools.count() or an array")

    def not_iterable(self, value: Any, node: Any) -> UnsupportedSyntax:
        """The error of an iteration over something else."""
        error = self.unsupported("DJ115", f"iteration over {describe(value)}", node)
        error.python = self.wrong_type(value)
        return error

    def _watched(self, iterable: Any, body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The body of an unrolled loop over a list, which must not change ahead of the loop."""
        lists = [(ref, back) for ref, back in self.lists_in(iterable) if isinstance(self.contents(ref), av.ListC)]
        before = [self.contents(ref).items for ref, _ in lists]
        sized = self._dict_in(iterable)
        size = len(self.contents(sized).items) if sized is not None else 0
        k = itertools.count(1)

        def checked(item: Any) -> None:
            body(item)
            ahead = next(k)
            for (ref, back), items in zip(lists, before, strict=True):
                held = self.held(ref)
                same = isinstance(held, av.ListC) and len(held.items) == len(items)
                left = slice(len(items) - ahead) if back else slice(ahead, None)
                if not same or any(x is not y for x, y in zip(held.items[left], items[left], strict=True)):
                    raise self.grows(ref)
            if sized is not None and not self.dead and len(self.contents(sized).items) != size:
                message = "dictionary changed size during iteration"
                self.unless_jumped(lambda: self.raise_if(Static(True), RuntimeError, message))

        return checked if lists or sized is not None else body

    def lists_in(self, iterable: Any, *, back: bool = False) -> list[tuple[av.Ref, bool]]:
        """The lists that an iterable goes through, and whether from their ends."""
        if isinstance(iterable, av.Iter):
            back ^= iterable.kind == "reversed"
            return [pair for part in self.iter_sources(iterable) for pair in self.lists_in(part, back=back)]
        known = isinstance(iterable, av.Ref) and (
            iterable.uid in self.sites.of or isinstance(self.contents(iterable), DynList)
        )
        return [(iterable, back)] if known else []

    def _dict_in(self, iterable: Any) -> av.Ref | None:
        """The dict that a loop goes through, by itself or by a view."""
        while isinstance(iterable, av.Iter) and iterable.kind in ("enumerate", "iter", "view"):
            iterable = iterable.parts[0]
        if not isinstance(iterable, av.Ref):
            return None
        held = self.contents(iterable)
        return iterable if isinstance(held, av.DictC) and not held.is_set else None

    def _grows_inside(self, iterable: Any, ops: list[Op], node: Any) -> bool:
        """Whether a loop over growing lists changes the length of one, or calls a function around it that may."""
        lists = {
            _holder(value): back
            for ref, back in self.lists_in(iterable)
            if isinstance(held := self.contents(ref), DynList)
            for value in held.lists
        }
        inside = [op for outer in ops for region in outer.regions for op in walk(region)] if lists else []
        kinds = ("list_append", "list_pop", "list_insert")
        held_by = [(op.kind, _holder(op.inputs[0])) for op in inside if op.kind in kinds]
        found = [(kind, lists[holder]) for kind, holder in held_by if holder in lists]
        around = [r.function for r in self.recursions if r.stacked]  # these have no copies of lists
        if any(op.kind == "call" and any(f in around for f in callees(op.attrs["function"])) for op in inside):
            found += [("call", back) for back in lists.values()]
        if ("list_pop", True) in found:  # one that only gets longer has all items that `reversed` will come to
            message = "a list that becomes shorter while a loop goes through it backwards"
            raise self.unsupported("DJ115", message, node, "go through a copy: reversed(list(items))")
        return any(not back for _, back in found)

    def _while_it_grows(self, iterable: Any, body: Any, site: Any, node: Any, assigned: Any, break_uid: Any) -> Any:
        """A loop over lists that its body changes: their lengths are looked at before each item."""
        name = ("t", next(self._uids))
        self.cells[name] = Static(0)

        def now() -> Indexed:
            found = self.indexed(iterable, node)
            assert found is not None
            return found

        def step(_: list[Value]) -> None:
            k = self.once(lambda: self.cells[name])
            item = self.once(lambda: now().item(k))
            self.cells[name] = self.ew("add", k, Static(1))
            body(item)

        def cond() -> Any:
            return self.compare_kind("less", self.cells[name], now().length)

        broke = self.run_loop(Loop(site, "while", [], step, cond, assigned, break_uid, node))
        del self.cells[name]
        return broke

    def place(self) -> Any:
        """What tells this place in the program from others, within one function."""
        return id(self.here)

    def can_unroll(self, iterable: Any) -> bool:
        """Whether the items could be listed while specialising."""
        try:
            self.getters(iterable, None)
        except UnknownLength:
            return False
        return True

    def _way_back(self) -> Callable[[], None]:
        """How to undo what is interpreted from here on, in this block."""
        saved, block, first = dict(self.cells), self.build.block, len(self.build.block.ops)

        def go_back() -> None:
            self.cells, self.dead = saved, False
            del block.ops[first:]

        return go_back

    def _written_out(
        self,
        site: Any,
        iterable: Any,
        items: list[Callable[[], Any]],
        body: Callable[[Any], Any],
        *,
        may_be_long: bool,
    ) -> bool:
        """Write a loop out, unless that is long, and the loop may be another."""
        begun = 0
        if may_be_long and not self.is_few(items):
            if site in self.learned.long:
                return False
            block, first, go_back = self.build.block, len(self.build.block.ops), self._way_back()
            self._unroll_from(items[:1], 0, body)
            if not self.jumped() and self.is_long(block.ops[first:], len(items)) and self.is_uniform(iterable):
                self.learned.long.add(site)
                go_back()
                return False
            begun = 1
        if len(items) > UNROLL_LIMIT:
            message = f"a loop over {len(items)} items known while specialising would be written out"
            raise self.unsupported("DJ116", message, None, "use an array")
        self._unroll_from(items, begun, body)
        return True

    def _unroll_from(self, items: list[Callable[[], Any]], k: int, body: Callable[[Any], Any]) -> None:
        while k < len(items):
            if self.jumped():
                return
            if not isinstance(self.pending(), Static):
                self.unless_jumped(lambda first=k: self._unroll_from(items, first, body))
                return
            self.guarded(lambda get=items[k]: body(self.once(get)), fresh=True)
            k += 1

    def _counted(self, indexed: Indexed, body: Any, loop: Loop) -> Any:
        if indexed.bounds is not None:
            loop.bounds = [self.number(b) for b in indexed.bounds]
        else:
            loop.bounds = [self.build.const(0), self.number(indexed.length), self.build.const(1)]

        def iteration(index: list[Value]) -> None:
            i = index[0]
            if i.op is None:
                self.iv_loops[i] = loop
            body(i if indexed.bounds is not None else self.once(lambda: indexed.item(i)))

        loop.body = iteration
        return self.run_loop(loop)

    def looping(self, key: Any, kind: str, bounds: list[Value], body: Any, **facts: Any) -> Any:
        """Interpret a loop of this function; returns the flag that says whether it was left by `break`."""
        return self.run_loop(Loop((self.call_path, key), kind, bounds, body, **facts))

    def trip(self, start: Any, stop: Any, step: Any) -> Any:
        """len(range(start, stop, step))."""
        parts = (start, stop, step)
        if all(isinstance(p, Static) for p in parts):
            return Static(len(range(*(p.obj for p in parts))))
        return self.build.value("trip", [self.number(p) for p in parts], INT)

    # Forms of iterables

    def static_items(self, iterable: Any, node: Any) -> list[Callable[[], Any]] | None:
        """How to get the items of a container that are known one by one; None for ranges and run-time lengths."""
        if self._is_countable(iterable):
            return None
        try:
            return self.getters(iterable, node)
        except UnknownLength:
            return None

    def _is_countable(self, source: Any) -> bool:
        if isinstance(source, av.Iter):
            return source.kind in ("enumerate", "zip", "reversed", "map", "iter") and all(
                self._is_countable(p) for p in self.iter_sources(source)
            )
        if isinstance(source, av.Ref):
            return isinstance(self.contents(source), DynList)
        return isinstance(source, (av.Range, Value)) or self._is_array(source)

    def _is_array(self, value: Any) -> bool:
        """Whether a constant is an array of numbers, or of too many texts or dates to be taken one by one."""
        if not isinstance(value, Static) or not isinstance(value.obj, np.ndarray):
            return False
        return not tree.is_of_others(value.obj) or value.obj.dtype.kind == "O" or value.obj.size > UNROLL_LIMIT

    def iter_sources(self, iterable: av.Iter) -> tuple[Any, ...]:
        if iterable.kind == "map":
            return iterable.parts[1:]
        if iterable.kind in ("enumerate", "reversed"):
            return iterable.parts[:1]
        return iterable.parts

    def sequence_items(self, iterable: Any, node: Any) -> list[Any]:
        """The items of an iterable of known length, each an abstract value; UnknownLength otherwise."""
        before = {key for key in self.cells if key[0] == "used"}
        try:
            getters = self.getters(self.claim(iterable), node)
        except UnknownLength:  # nobody has gone through it yet
            for key in [key for key in self.cells if key[0] == "used" and key not in before]:
                del self.cells[key]
            raise
        return [get() for get in getters]

    def getters(self, iterable: Any, node: Any) -> list[Callable[[], Any]]:
        """For each item of an iterable of known length, how to get it when its turn comes."""
        iterable = self.as_iterable(iterable)
        if self._is_array(iterable):
            iterable = self.lift_constant(iterable.obj)
        if isinstance(iterable, av.Iter):
            return self._iter_getters(iterable, node)
        if isinstance(iterable, Value) and isinstance(iterable.type, Array) and iterable.type.ndim > 0:
            length = iterable.type.dims[0]
            if not isinstance(length, int):
                if iterable in self.known_arrays:
                    return self.getters(self.as_known(iterable), node)
                raise UnknownLength
            return [functools.partial(self.element, iterable, Static(i)) for i in range(length)]
        return [functools.partial(_itself, item) for item in self._known_items(iterable)]

    def _known_items(self, iterable: Any) -> list[Any]:
        if isinstance(iterable, av.Tup):
            return list(iterable.items)
        if isinstance(iterable, av.Range):
            parts = (iterable.start, iterable.stop, iterable.step)
            if all(isinstance(p, Static) for p in parts):
                numbers = range(*(p.obj for p in parts))
                if len(numbers) <= UNROLL_LIMIT:
                    return [Static(i) for i in numbers]
        elif isinstance(iterable, Static):
            if hasattr(type(iterable.obj), "__next__"):  # a program is built once, perhaps by several attempts
                what = f"going through a `{type(iterable.obj).__name__}` from outside, which is used up by that"
                raise self.unsupported("DJ115", what, None, "pass list(...) of it, or make it inside the function")
            try:
                return [self.lift_static(x) for x in iterable.obj]
            except TypeError:
                raise UnknownLength from None
        elif isinstance(iterable, av.Ref):
            held = self.contents(iterable)
            if isinstance(held, av.ListC):
                return list(held.items)
            if isinstance(held, av.DictC):
                return [self.lift_static(k) for k in (self.set_order(held) if held.is_set else held.items)]
        raise UnknownLength

    def _iter_getters(self, iterable: av.Iter, node: Any) -> list[Callable[[], Any]]:
        parts = iterable.parts
        if self.is_lazy(iterable):
            raise UnknownLength
        if iterable.kind == "enumerate":
            inner = self.getters(parts[0], node)
            number = functools.partial(self.ew, "add", parts[1])
            return [lambda k=k, get=get: av.Tup((number(Static(k)), get())) for k, get in enumerate(inner)]
        if iterable.kind in ("zip", "map"):
            rows = zip(*(self.getters(p, node) for p in self.iter_sources(iterable)), strict=False)
            make = self._maker(iterable, node)
            return [lambda row=row: make([get() for get in row]) for row in rows]
        if iterable.kind == "reversed":
            items = self.getters(parts[0], node)
            return items[: self.begun_at(parts, len(items))][::-1]
        if iterable.kind == "iter":
            return self.getters(parts[0], node)
        if iterable.kind == "view":
            return self.view_getters(*parts)
        raise UnknownLength

    def indexed(self, iterable: Any, node: Any, *, tables: bool = False) -> Indexed | None:
        """An iterable as length and item getter, for a counted loop; `tables`: items known one by one may be in one."""
        iterable = self.as_iterable(iterable)
        if tables and (items := self.listed(iterable)) is not None:
            get = self.column(items)
            return get and Indexed(self.number(Static(len(items))), get)
        if self._is_array(iterable):
            iterable = self.lift_constant(iterable.obj)
        if isinstance(iterable, av.Range):
            start, stop, step = iterable.start, iterable.stop, iterable.step
            length = self.number(self.trip(start, stop, step))
            return Indexed(length, lambda i: self.ew("add", start, self.ew("multiply", i, step)), (start, stop, step))
        if isinstance(iterable, Value) and isinstance(iterable.type, Array) and iterable.type.ndim > 0:
            array = iterable
            return Indexed(self.number(self.dim(array, 0)), lambda i: self.element(array, i))
        if isinstance(iterable, av.Ref) and isinstance(self.contents(iterable), DynList):
            ref = iterable
            return Indexed(self.number(self.length(ref)), lambda i: self.dyn_get(ref, i))
        if isinstance(iterable, av.Iter):
            return self._indexed_iter(iterable, node, tables=tables)
        return None

    def _maker(self, iterable: av.Iter, node: Any) -> Callable[[list[Any]], Any]:
        """What a `zip` or a `map` makes of one item of each of its sources."""
        if iterable.kind == "zip":
            return lambda row: av.Tup(tuple(row))
        return lambda row: self.call(iterable.parts[0], row, {}, node)

    def _indexed_iter(self, iterable: av.Iter, node: Any, *, tables: bool) -> Indexed | None:
        parts = iterable.parts
        if iterable.kind == "enumerate":
            inner = self.indexed(parts[0], node, tables=tables)
            return inner and Indexed(
                inner.length,
                lambda i: av.Tup((self.ew("add", i, parts[1]) if not _zero(parts[1]) else i, inner.item(i))),
            )
        if iterable.kind in ("zip", "map"):
            inners: list[Any] = [self.indexed(p, node, tables=tables) for p in self.iter_sources(iterable)]
            if any(i is None for i in inners):
                return None
            length = inners[0].length if inners else self.number(Static(0))
            for inner in inners[1:]:
                if inner.length is not length:
                    length = self.number(self.py_min_max("minimum", self.folded(length), self.folded(inner.length)))
            make = self._maker(iterable, node)
            return Indexed(length, lambda i: make([inner.item(i) for inner in inners]))
        if iterable.kind == "iter":
            return self.indexed(parts[0], node, tables=tables)
        if iterable.kind == "reversed":
            inner = self.indexed(parts[0], node, tables=tables)
            if inner is None:
                return None
            length = self.begun_at(parts, inner.length)
            last = self.ew("subtract", length, Static(1))
            return Indexed(length, lambda i: inner.item(self.ew("subtract", last, i)))
        return None

    def begun_at(self, parts: tuple[Any, ...], length: Any) -> Any:
        """How many items a list had when `reversed` was called; what it got since is behind where that begins."""
        if len(parts) == 1:
            return length
        begun = parts[1]
        if isinstance(length, int) and isinstance(begun, Static):
            return begun.obj if begun.obj <= length else 0  # a list that has become shorter has no such item
        fewer = self.compare_kind("less", length, begun)
        self.refuse_if(fewer, NotImplementedError, "a list that has become shorter since `reversed`")
        return begun

    def view_getters(self, ref: av.Ref, what: Static) -> list[Callable[[], Any]]:
        """The items of a dict's view: its keys as they are now, each value as it is when its turn comes."""
        if what.obj == "keys":
            return [functools.partial(self.lift_static, k) for k in self.contents(ref).items]

        def item(k: Any) -> Any:
            held = self.contents(ref)
            if not isinstance(held, av.DictC) or k not in held.items:
                raise self.unsupported("DJ115", "a loop over a dict that takes keys out of it", None)
            value = held.items[k]
            return value if what.obj == "values" else av.Tup((self.lift_static(k), value))

        return [functools.partial(item, k) for k in self.contents(ref).items]

    def range_get(self, owner: av.Range, index: Any, node: Any) -> Any:
        if isinstance(index, av.Slice):
            parts = (owner.start, owner.stop, owner.step)
            if all(isinstance(p, Static) for p in parts):
                cut = range(*(p.obj for p in parts))[self.static_slice(index, node)]
                return av.Range(Static(cut.start), Static(cut.stop), Static(cut.step))
            self.step_of_slice(index.step)
            return av.Range(
                *self.call_plain(containers.range_slice, *parts, index.start, index.stop, index.step, node=node).items
            )
        length = self.trip(owner.start, owner.stop, owner.step)
        position = self.call_plain(containers.range_position, index, length, node=node)
        return self.ew("add", owner.start, self.ew("multiply", position, owner.step))

    def unpack(self, value: Any, count: int | None, node: Any, wrong: type[Exception] = ValueError) -> list[Any]:
        """The items of a value that is unpacked; `count` is the number expected, None where it must be known.

        Another number raises `wrong`.
        """
        if isinstance(value, av.Opt):
            value = self.not_none(value)
        if isinstance(value, av.Sum) and count is not None:
            return list(self.each(value, lambda v: av.Tup(tuple(self._exactly(v, count, node, wrong)))).items)
        if self.is_opaque(value) and count is not None:
            items = self.ask_python(Static(acts.exactly), value, Static(count))
            return [self.get_item(items, Static(k)) for k in range(count)]
        value = self.countable(value, node)
        try:
            return self.sequence_items(value, node)
        except UnknownLength:
            pass
        inner = self.indexed(value, node)
        if inner is None:
            raise self.type_problem(
                "DJ312", f"{describe(value)} cannot be unpacked", node, python=self.wrong_type(value)
            )
        if count is None:
            message = f"unpacking of {describe(value)} into a star, where its length is only known at run time"
            error = self.unsupported("DJ117", message, node, "index it, or slice it, instead")
            raise self.need_static(inner.length, error)
        other = self.compare_kind("not_equal", inner.length, Static(count))
        self.raise_if(other, wrong, av.inexact(f"the number of values to unpack is not {count}"))
        return [inner.item(Static(k)) for k in range(count)]

    def _exactly(self, value: Any, count: int, node: Any, wrong: type[Exception]) -> list[Any]:
        """The items of one of several things that are unpacked; those of another number fail where they are met."""
        items = self.unpack(value, count, node, wrong)
        if len(items) != count:
            message = av.inexact(f"{len(items)} values are unpacked into {count} names")
            self.raise_if(Static(True), wrong, message)
        return items

    def items_or_list(self, value: Any, node: Any) -> list[Any] | av.Ref:
        """The items of an iterable, or a growing list of them where their number is only known at run time."""
        value = self.as_iterable(self.not_none(value) if isinstance(value, av.Opt) else value)
        if self.wrong_type(value):
            raise self.not_iterable(value, node)
        collected = self.py_list(value)
        held = self.contents(collected)
        return list(held.items) if isinstance(held, av.ListC) else collected

    def accumulate(self, iterable: Any, start: Any, step: Callable[[Any, Any], Any], key: Any = None) -> Any:
        """Fold an iterable: `acc = step(acc, item)`."""
        name = ("t", next(self._uids))
        self.cells[name] = start

        def body(item: Any) -> None:
            self.cells[name] = step(self.cells[name], item)

        block, first = self.build.block, len(self.build.block.ops)
        self.iterate(iterable, body, None, key=key)
        self.refuse_endless(block.ops[first:], iterable, None, in_turn=False)
        return self.cells.pop(name)


def _same_objects(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _zero(value: Any) -> bool:
    return isinstance(value, Static) and value.obj == 0


def _itself(value: Any) -> Any:
    return value


def _holder(items: Value) -> tuple[Value, int]:
    """The list that holds a list, directly or not, and how far inside: two of one holder may be one list."""
    depth = 0
    while items.op is not None and items.op.kind == "list_get":
        items, depth = items.op.inputs[0], depth + 1
    return items, depth
