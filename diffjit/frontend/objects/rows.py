"""Long loops over items that are known one by one: counted loops over tables, not a text for each item.

    for a, b, c in TERMS:                    A, B, C = the columns of TERMS
        s += a * cos(b + c * t)              for i in range(64): s += A[i] * cos(B[i] + C[i] * t)

Items are written out one after the other as long as that is short: each may then be of another type, and is known
where it has to be. What is long has to have items of one kind: numbers, tuples and lists of such, or the same thing
again and again. A program that is refused with such loops is written out after all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.places import Column, Forms, Item
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import same_object
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import BOOL, Array
from diffjit.ir.walk import free_values, walk

LONG = 64  # operations that a loop is written out to, at most
ROW = "is a row of a table that a loop goes through"
FEW = 5  # items that are written out whatever they take

Get = Callable[[Any], Any]  # from an index to the item there


class Rows(Mixin):
    """Mixin of the interpreter: tables of items."""

    def init_rows(self) -> None:
        """Nothing is in a table yet."""
        self.in_tables: set[Any] = set()  # keys of numbers from outside that a column holds

    def read_at_calls(self, body: Block) -> list[Any]:
        """The captures of a program: not the numbers that are read as a column of a table, and nowhere else."""
        found = self.captures
        if self.in_tables:
            read = free_values(body)
            found = {k: c for k, c in found.items() if k not in self.in_tables or c.param in read}
            self._guard_tables()
        return list(found.values())

    def _guard_tables(self) -> None:
        """Rows of tables outside are guarded all at once."""
        rows = dict.fromkeys(key[0] for key in self.in_tables if _is_item(key[0]) and key[0] in self.guards)
        tables: dict[Any, list[Any]] = {}
        for row in rows:
            tables.setdefault(row[0], []).append(row)
        for table, its in tables.items():
            item = self.guards[its[0]].getter.owner
            forms = Forms(item.owner)
            if isinstance(item.owner(), tuple | list) and len(found := forms()) == 1:
                self.guards[table, "rows"] = Guard(forms, found)
                for row in its:
                    del self.guards[row], self.guards[row, "kind"]

    # Which loops

    def may_be_long(self, site: Any) -> bool:
        """Whether a loop need not be written out, if its items are of one kind. Rules are not read a second time."""
        return not self.rule_mode and self.learned.tables_allowed and site not in self.learned.written

    def is_few(self, items: Sequence[Any]) -> bool:
        """Whether items are written out whatever they take."""
        return len(items) < FEW

    def is_long(self, ops: Sequence[Op], count: int) -> bool:
        """Whether items that take so much each would be too much, written out."""
        length = 0
        for op in ops:
            length += 1
            for region in op.regions:
                length += sum(1 for _ in walk(region))
        return length * count > LONG

    def known_contents(self, iterable: Any) -> list[Any]:
        """What the lists and dicts hold that a loop goes through, where that is known one by one."""
        if isinstance(iterable, av.Iter):
            parts = iterable.parts[:1] if iterable.kind == "view" else self.iter_sources(iterable)
            return [held for part in parts for held in self.known_contents(part)]
        held = self.held(iterable) if isinstance(iterable, av.Ref) else None
        return [held] if isinstance(held, av.ListC | av.DictC) else []

    # Tables

    def is_uniform(self, iterable: Any) -> bool:
        """Whether the parts of an iterable that are known one by one have items of one kind."""
        if isinstance(iterable, av.Iter):
            if iterable.kind == "view":
                return _alike(self, [get() for get in self.view_getters(*iterable.parts)])
            return iterable.kind in ("enumerate", "zip", "reversed", "map", "iter") and all(
                map(self.is_uniform, self.iter_sources(iterable))
            )
        items = self.listed(iterable)
        return _alike(self, items) if items is not None else self._is_countable(iterable)

    def listed(self, iterable: Any) -> list[Any] | None:
        """The items of a tuple or list of known length; None of what is counted."""
        if isinstance(iterable, av.Tup):
            return list(iterable.items)
        if isinstance(iterable, av.Ref) and isinstance(held := self.contents(iterable), av.ListC):
            return list(held.items)
        if isinstance(iterable, Static) and isinstance(iterable.obj, tuple | list):
            return [self.lift_static(x) for x in iterable.obj]
        return None

    def column(self, items: Sequence[Any]) -> Get | None:
        """How to get an item of one kind at an index of the run that is in range; None where they are of several."""
        return None if not _alike(self, items) else self._column(items)

    def _column(self, items: Sequence[Any]) -> Get:
        first = items[0]
        if all(_same(x, first) for x in items):
            return lambda _: first
        if isinstance(first, av.Tup):
            parts = [self._column(part) for part in zip(*(x.items for x in items), strict=True)]
            return lambda i: av.Tup(tuple(part(i) for part in parts), first.cls)
        if isinstance(first, av.Ref):
            held = [self.contents(x).items for x in items]
            for x in items:
                self.freeze(self.cells, x.uid, ROW)
            parts = [self._column(part) for part in zip(*held, strict=True)]
            return lambda i: self._row([part(i) for part in parts])
        array = self._numbers(items)
        weak = all(map(self.is_weak, items))
        return lambda i: self.as_weak(self.element(array, i)) if weak else self.element(array, i)

    def _row(self, items: list[Any]) -> av.Ref:
        """A copy of a list within a table: neither may be changed from now on, nor asked whether it is the other."""
        row = self.new(av.ListC(tuple(items)))
        self.freeze(self.cells, row.uid, ROW)
        self.sites.made.discard(row.uid)
        return row

    def _numbers(self, items: Sequence[Any]) -> Value:
        """Numbers of one kind as an array: read as one where they are from outside."""
        return self._from_outside(items) or self.array_from(av.Tup(tuple(items)))

    def _from_outside(self, items: Sequence[Any]) -> Value | None:
        """Numbers that stand in one row or column of a container outside, as one parameter."""
        keys = [self.param_paths.get(x) if isinstance(x, Value) else None for x in items]
        if any(key not in self.captures for key in keys):
            return None
        base, getter = keys[0], self.captures[keys[0]].getter
        while _is_item(base) and isinstance(getter, Item):
            base, getter = base[0], getter.owner  # pyright: ignore[reportOptionalSubscript]
        steps = [_steps(key, base) for key in keys]
        if not steps[0] or len({len(s) for s in steps}) > 1:
            return None
        varying = [k for k, part in enumerate(zip(*steps, strict=True)) if len(set(part)) > 1]
        if len(varying) != 1:
            return None
        at = varying[0]
        values = [self.captures[key].getter() for key in keys]
        kind, dtype = type(values[0]), np.array(values).dtype
        if any(type(x) is not kind for x in values) or dtype != items[0].type.dtype:  # ints may be too large
            return None
        places: Any = tuple(s[at] for s in steps)
        every = range(places[0], places[0] + len(places))
        places = every if places == tuple(every) and places[0] >= 0 else places
        column = Column(getter, steps[0][:at], places, steps[0][at + 1 :], kind)
        key = "column", base, column.before, column.places, column.after
        if key not in self.captures:
            self.in_tables.update(keys)
            hint = self.captures[keys[0]].param.name
            self.capture(key, Array(dtype, (len(items),), "C"), column, hint)
        return self.captures[key].param

    # Indices of the run

    def of_long_loops(self, index: Value) -> bool:
        """Whether an index would be known if long loops were written out."""
        sources = self.static_sources(index)
        return bool(sources) and all(kind == "loop" and site in self.learned.long for kind, site in sources)

    def table_item(self, items: Sequence[Any], index: Value) -> Any:
        """An item at an index that only a long loop knows; None for others, and where no table holds the items."""
        get = self.column(items) if self.of_long_loops(index) else None
        return get and get(index if self._is_within(index, len(items)) else self._place(index, len(items)))

    def _place(self, index: Value, count: int) -> Any:
        """An index of the run into so many items, counted from the first; IndexError where there is no such item."""
        low = self.build.value("less", [index, self.build.const(-count)], BOOL)
        high = self.build.value("greater_equal", [index, self.build.const(count)], BOOL)
        self.raise_if(self.ew("logical_or", low, high), IndexError, av.inexact("list index out of range"))
        return self.ew("remainder", index, Static(count))

    def select_any(self, items: list[Any], index: Value, node: Any) -> Any:
        """A run-time index into a container of unlike things: a chain of branches."""
        del node
        wrapped = self._place(index, len(items))
        several: list[Any] = []  # the letters of a text are few, however long it is
        numbers = [_number_among(several, x) for x in items]
        if len(several) < len(items):
            wrapped = self.element(self.lift_constant(np.array(numbers)), wrapped)

        def pick(k: int) -> Any:
            if k == len(several) - 1:
                return several[k]
            hit = self.ew("equal", wrapped, Static(k))
            return self.fork(hit, lambda: several[k], lambda: pick(k + 1))

        return pick(0)

    def _is_within(self, index: Value, count: int) -> bool:
        """Whether an index is the counter of a loop that only takes places of so many."""
        if index not in self.iv_loops:
            return False
        start, stop, step = (self.folded(v) for v in self.iv_loops[index].bounds)
        known = all(isinstance(v, Static) for v in (start, stop, step))
        return known and step.obj > 0 and start.obj >= 0 and stop.obj <= count


def _same(one: Any, other: Any) -> bool:
    """Whether two items are one thing, or things that nobody tells apart."""
    both = isinstance(one, Static) and isinstance(other, Static)
    return same_object(one.obj, other.obj) if both else one is other


def _number_among(several: list[Any], item: Any) -> int:
    """Which of several things an item is; a new one is put behind them."""
    for number, one in enumerate(several):
        if _same(one, item):
            return number
    several.append(item)
    return len(several) - 1


def _alike(rows: Any, items: Sequence[Any]) -> bool:
    """Whether items are of one kind: one thing, numbers, or tuples and lists of so many of such."""
    if not items:
        return False
    first = items[0]
    if all(_same(x, first) for x in items):
        return True
    if isinstance(first, av.Tup):
        size, cls = len(first.items), first.cls
        if not size or not all(isinstance(x, av.Tup) and len(x.items) == size and x.cls is cls for x in items):
            return False
        return all(_alike(rows, part) for part in zip(*(x.items for x in items), strict=True))
    if isinstance(first, av.Ref):
        held = [rows.contents(x) if type(x) is av.Ref else None for x in items]
        size = len(held[0].items) if isinstance(held[0], av.ListC) else 0
        if not size or not all(isinstance(h, av.ListC) and len(h.items) == size for h in held):
            return False
        return all(_alike(rows, part) for part in zip(*(h.items for h in held), strict=True))  # pyright: ignore[reportOptionalMemberAccess]
    if any(isinstance(x, Static) and isinstance(x.obj, int) for x in items):
        return False  # it may be an index of something that is known item by item
    kinds = {rows.kind_of_number(x) for x in items}
    return None not in kinds and len(kinds) == 1


def _is_item(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], tuple) and isinstance(key[1], int)


def _steps(key: Any, base: Any) -> tuple[int, ...]:
    """The indices from a container outside to one of its numbers; none of others."""
    found: list[int] = []
    while key != base:
        if not _is_item(key):
            return ()
        found.append(key[1])
        key = key[0]
    return tuple(reversed(found))
