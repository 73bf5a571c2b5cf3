"""Iterators that a program takes items of here and there: objects that know their place, from where they are made.

An iterator is gone through where it is consumed, its loop around the consumer's body (`objects.iterators`). Where one
is used twice, or made before a loop and used in it, or given values, the program is interpreted again, with an object
of a class in plain Python at the place where it was made (`primitives.library.resumed.iterators`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from diffjit.frontend.syntax.frames import Frame
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.machines import (
    FIRST,
    NoMachine,
    as_function,
    attribute,
    is_machine,
    machine,
    object_of,
    variables,
)
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.reach import Reach
from diffjit.frontend.values.templates import Learn
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.primitives.library import containers
from diffjit.primitives.library.resumed import iterators

ESCAPED = "generator raised StopIteration"
# What is written otherwise to be left at each item.
_IN_TURN = {containers.cycle: iterators.cycled, containers.chain: iterators.chained}


class Resumable(Mixin):
    """Mixin of the interpreter: iterators as objects."""

    def iterator(self, made: av.Iter, resumed: Callable[[], Any] | None = None) -> Any:
        """An iterator; where earlier attempts have found that it has to know its place, such an object."""
        site = (self.call_path, self.place())
        if site in self.learned.cursors:
            return resumed() if resumed is not None else self.cursor(self.collect(made))
        self.sites.turns[made.serial] = site
        return made

    def needs_place(self, serial: int, message: str, node: Any = None) -> Exception:
        """What to raise where an iterator would have to know its place: what to learn, or the error."""
        if serial in self.sites.turns:
            return Learn("cursors", {self.sites.turns[serial]})
        return self.unsupported("DJ115", message, node, "make a list of it first: list(...)")

    def of_lists(
        self, sources: tuple[Any, ...], at_once: Callable[[], Any], function: Any, *args: Any, listed: bool = False
    ) -> Any:
        """What itertools makes of lists and arrays: of what they hold when it is gone through, `at_once`.

        Where they change while it is, a generator of the library draws their items when their turn comes. Arrays are
        read when it comes anyway, where they are not `listed`.
        """
        arrays = listed and any(isinstance(s, Value) for s in sources)
        if not arrays and not any(self.lists_in(s) for s in sources):
            return at_once()

        def drive(body: Callable[[Any], Any]) -> None:
            what, start, ops = Reach(self.cells, av.Tup(sources)), dict(self.cells), self.build.block.ops
            before = len(ops)
            self.iterate(at_once(), body, None)
            if what.touched(start, self.cells, self.build, ops[before:]):
                raise self.needs_place(made.serial, "an iterator over what the loop over it changes")

        made = av.Iter("lazy", (drive,), sources=sources)
        return self.iterator(made, lambda: self.drawn_by(function, *args))

    def groups_of(self, source: Any, place: Any, count: int) -> list[Any]:
        """The first, the second, ... of as many items after each other, from a place on."""
        stop = self.ew("subtract", self.length(source), Static(count - 1))
        starts = [(self.ew("add", place, Static(k)), self.ew("add", stop, Static(k))) for k in range(count)]
        if isinstance(source, Value):
            return [self.get_item(source, av.Slice(start, end, Static(count))) for start, end in starts]
        item = av.Method(source, "__getitem__")
        return [av.Iter("map", (item, av.Range(start, end, Static(count)))) for start, end in starts]

    def zipped_groups(self, iterables: list[Any]) -> Any:
        """`zip(it, it)` of an iterator over a list; None of other iterables."""
        one = iterables[0] if len(iterables) > 1 else None
        if not isinstance(one, av.Iter) or any(getattr(i, "serial", None) != one.serial for i in iterables):
            return None
        source, _ = self.sequence_behind(one)
        if source is None or not self.lists_in(source):
            return None
        self.claim(one)
        count = len(iterables)
        at_once = lambda: av.Iter("zip", tuple(self.groups_of(source, Static(0), count)))  # noqa: E731
        return self.of_lists((source,), at_once, iterators.in_groups, source, Static(count))

    def cursor(self, sequence: Any) -> Any:
        """What `iter` makes of a sequence."""
        return self.instantiate(iterators.Cursor, [sequence], {}, self.here)

    def generator(self, fn: av.Fn, bound: dict[str, Any]) -> Any:
        """The call of a generator function."""
        made = av.Iter("generator", (fn, bound))
        if fn.pyfunc in _IN_TURN:
            return self.iterator(made, lambda: self.drawn_by(_IN_TURN[fn.pyfunc], *bound.values()))
        return self.iterator(made, lambda: self._resumable(fn, bound))

    def generator_expression(self, node: Any, first: Any) -> Any:
        """A generator expression, by what its first `for` goes through."""

        def resumed() -> Any:
            around = self.frames[-1].fn
            if not is_machine(around.node):
                return self._resumable(self.make_fn(as_function(node, ()), "<genexpr>"), {FIRST: first})
            owner = object_of(around.node)  # in whose attributes the variables around are
            fn = replace(around, node=as_function(node, (owner,)), name="<genexpr>", pyfunc=None)
            return self._resumable(fn, {FIRST: first, owner: self.lookup(owner)})

        made = av.Iter("genexp", (node, self.frames[-1], first))
        seen = {self.frames[-1].uid, *self.frames[-1].fn.scope.frames}
        for frame in self.frames:
            if frame.uid in seen:
                frame.waiting[made.serial] = self.forks
        return self.iterator(made, resumed)

    def gone_through(self, serial: int) -> None:
        """Nobody goes through a generator expression again, unless it is another path that does so."""
        for frame in self.frames:
            if frame.waiting.get(serial) == self.forks:
                del frame.waiting[serial]

    def drawn_by(self, function: Any, *args: Any) -> Any:
        """A generator of the library, as an object."""
        fn = self.fn_of(function)
        return self._resumable(fn, self.bind_arguments(fn, list(args), {}, self.here))

    def _resumable(self, fn: av.Fn, bound: dict[str, Any]) -> Any:
        try:
            node = machine(fn.node)
        except NoMachine as problem:
            message = f"{problem.what} in `{fn.name}`, a generator that is left and gone on with"
            cure = "yield outside of it, or write a class with __next__"
            raise self.unsupported("DJ101", message, problem.node, cure) from None
        if any(f.fn.node is node for f in self.frames):
            problem = f"a generator that goes through itself, `{fn.name}`, and is left and gone on with"
            raise self.unsupported("DJ119", problem, None, "go through it by one loop, or append to a list")
        of_library = (getattr(fn.pyfunc, "__module__", None) or "").startswith("diffjit.")
        kind = iterators.Resumed if of_library else iterators.Generator
        made = self.instantiate(kind, [replace(fn, node=node, defaults=(), kw_defaults={})], {}, self.here)
        held = self.contents(made)
        given = {attribute(name): value for name, value in bound.items()}
        self.write(made, replace(held, fields={**held.fields, **dict.fromkeys(variables(node), av.UNBOUND), **given}))
        return made

    def draws(self, iterator: Any) -> av.Iter:
        """What goes through the items that an object with __next__ still has."""
        fn = self.fn_of(containers.drawn)
        return av.Iter("generator", (fn, self.bind_arguments(fn, [iterator], {}, None)))

    def drawn_from(self, iterable: Any) -> Any:
        """The object that such an iterator goes through; None of others."""
        if not isinstance(iterable, av.Iter) or iterable.kind != "generator":
            return None
        fn, bound = iterable.parts
        return bound["iterator"] if fn.pyfunc is containers.drawn else None

    def left_generators(self) -> list[Frame]:
        """The generators that a StopIteration raised here would leave; the innermost is last.

        Where a generator is gone through, its frame stands between two of the consumer's.
        """
        handler = self.handler_for(StopIteration)
        staying = frozenset[int]() if handler is None else self.handler_frames[handler[0]]
        found: list[Frame] = []
        k = len(self.frames) - 1
        while k >= 0 and self.frames[k].uid not in staying:
            frame = self.frames[k]
            if is_machine(frame.fn.node) or frame.on_yield is not None:
                found.append(frame)
            k = self.frames.index(frame) - 1
        return found[::-1]

    def out_of_generators(self, exception: av.Ref) -> av.Ref:
        """An exception as it is seen outside of the generators that it leaves.

        The end of one is a StopIteration with what it returns. Any other StopIteration is a mistake (PEP 479).
        """
        cls = self.contents(exception).cls
        ended = cls is iterators.Ended
        if not ended and not issubclass(cls, StopIteration):
            return exception
        left = self.left_generators()
        if ended:
            frame = left.pop()
            result = self.get_attribute(self.cells["v", frame.uid, object_of(frame.fn.node)], iterators.RESULT)
            exception = self.exception_object(StopIteration, *((result,) if frame.fn.node.returns else ()))
        return self.exception_object(RuntimeError, Static(ESCAPED)) if left else exception

    @core(iterators.place_of)
    def lib_place_of(self, generator: Any) -> Any:
        """Where a generator is: known behind its first `yield`, often, if a loop's first turn is written out."""
        place = self.get_attribute(generator, iterators.PLACE)
        if not isinstance(place, Static) and (first := self.first_turn()) is not None:
            raise first
        return place

    @core(iterators.begun)
    def lib_begun(self, iterable: Any) -> Any:
        """What a loop within a generator goes through."""
        found = self.in_turn(iterable)
        if self.object_class(found) is iterators.Cursor:
            return found
        made = self.instantiate(iterators.Ahead, [found], {}, self.here)
        held = self.contents(made)
        self.write(made, replace(held, fields={**held.fields, "item": av.UNBOUND}))
        return made

    def in_turn(self, iterable: Any) -> Any:
        """What `iter` gives, as an object that knows its place."""
        iterable = self.certain(iterable)
        if (found := self.drawn_from(iterable)) is not None:
            return found
        if isinstance(iterable, av.Iter):
            if not iterable.claimed:
                raise self.needs_place(iterable.serial, "this iterator inside of a generator")
            return self.cursor(self.collect(iterable))
        if isinstance(iterable, av.Ref) and isinstance(held := self.contents(iterable), av.ObjC):
            if self.class_has(held.cls, "__next__"):
                return iterable
            if self.class_has(held.cls, "__iter__"):
                return self.in_turn(self.call_method(iterable, "__iter__", []))
        if isinstance(iterable, av.Ref) and isinstance(self.contents(iterable), av.DictC):
            return self.cursor(self.py_list(iterable))
        return self.cursor(iterable)
