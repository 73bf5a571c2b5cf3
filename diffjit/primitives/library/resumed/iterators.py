"""Iterators that know their place: what Python makes of sequences, of generators, of `zip` and its like.

A loop that goes through all of an iterator needs none of them. They are for programs that take some items here and some
there, by `next`, by `send`, by a loop that goes on where another one was left.
"""

# pyright: basic, reportArgumentType=false, reportUnboundVariable=false

from __future__ import annotations

from diffjit.primitives.library.containers import refuse_uneven

DONE = -1  # the place of a generator that has ended
PLACE, RESULT = ":place", ":result"  # attributes of a generator beside its variables


class Ended(Exception):
    """A generator has come to its end, which is a StopIteration outside of it."""


class Resumed:
    """A generator: its variables are attributes, and `step` goes on to the next `yield` (see `syntax.machines`)."""

    def __init__(self, step):
        """At the beginning."""
        self.step = step
        setattr(self, PLACE, 0)
        setattr(self, RESULT, None)

    def __iter__(self):
        return self

    def __next__(self):
        """The next item."""
        return self.step(self, None)


class Generator(Resumed):
    """A generator of the program's, which may be given values."""

    def send(self, value):
        """The next item; the `yield` that it was left by gives the value."""
        if getattr(self, PLACE) == 0 and value is not None:
            raise TypeError("can't send non-None value to a just-started generator")
        return self.step(self, value)

    def close(self):
        """End it where it is."""
        setattr(self, PLACE, DONE)


class Cursor:
    """What `iter` makes of a sequence."""

    def __init__(self, items):
        """At the first item."""
        self.items = items
        self.place = 0

    def __iter__(self):
        """The items from here on."""
        while self.more():
            yield self.take()

    def __next__(self):
        """The item at the place."""
        if not self.more():
            raise StopIteration
        return self.take()

    def more(self, given=None):
        """Whether there is another item."""
        if given is not None:
            raise AttributeError("an iterator of a sequence has no attribute 'send'")
        return self.place < len(self.items)

    def take(self):
        """The next item, which there is."""
        self.place += 1
        return self.items[self.place - 1]

    def outcome(self):
        """What it has returned."""
        return


class Ahead:
    """An iterator as a loop within a generator goes through it: first whether there is another item, then which."""

    def __init__(self, source):
        """Before the first item."""
        self.source = source

    def more(self, given=None):
        """Whether there is another item, once the value was sent."""
        try:
            self.item = self.source.__next__() if given is None else self.source.send(given)
        except StopIteration:
            return False
        return True

    def take(self):
        """That item."""
        return self.item

    def outcome(self):
        """What it has returned, where it is a generator."""
        return getattr(self.source, RESULT) if isinstance(self.source, Generator) else None


def place_of(generator):
    """Where it goes on: `frontend.objects.resumable` answers."""
    return getattr(generator, PLACE)


def begun(iterable):
    """A Cursor, or what looks Ahead: `frontend.objects.resumable` makes it."""
    raise NotImplementedError


def kept(owner, name, value):
    """`name := value` of a generator's variable."""
    setattr(owner, name, value)
    return value


def enumerated(iterable, start):
    """What `enumerate` gives."""
    number = start
    for item in iterable:
        yield number, item
        number += 1


def zipped(*iterables):
    """What `zip` gives. Those before one that has ended have been drawn from, as Python does it."""
    columns = [begun(i) for i in iterables]
    while len(columns) > 0:
        given = 0
        for k in range(len(columns)):
            if given == k and columns[k].more():
                given += 1
        if given < len(columns):
            for k in range(len(columns)):
                if k < given:
                    columns[k].take()
            return
        yield tuple([column.take() for column in columns])


def chained(iterables):
    """What `itertools.chain` gives."""
    columns = [begun(i) for i in iterables]
    while True:
        found = False
        for k in range(len(columns)):
            if not found and columns[k].more():
                item = columns[k].take()
                found = True
        if not found:
            return
        yield item


def mapped(function, *iterables):
    """What `map` gives."""
    for row in zipped(*iterables):
        yield function(*row)


def filtered(function, iterable):
    """What `filter` gives."""
    for item in iterable:
        if item if function is None else function(item):
            yield item


def backwards(sequence, count=None):
    """What `reversed` gives; `count`: the items that a list had when it was made."""
    place = len(sequence) if count is None else count
    while place > 0:
        place -= 1
        yield sequence[place]


def cycled(iterable):
    """What `itertools.cycle` gives."""
    items, place = [], 0
    for item in iterable:
        items.append(item)
        yield item
    while len(items) > 0:
        yield items[place]
        place = (place + 1) % len(items)


def zipped_evenly(*iterables):
    """What `zip(..., strict=True)` gives."""
    columns = [begun(i) for i in iterables]
    while True:
        found = [column.more() for column in columns]
        if not all(found):
            refuse_uneven(found)
            return
        yield tuple([column.take() for column in columns])


def padded(fill, *iterables):
    """What `itertools.zip_longest` gives."""
    columns = [begun(i) for i in iterables]
    while True:
        found = [column.more() for column in columns]
        if not any(found):
            return
        yield tuple([column.take() if more else fill for column, more in zip(columns, found, strict=True)])


def grouped(iterable, count, strict):
    """What `itertools.batched` gives."""
    if count < 1:
        raise ValueError("n must be at least one")
    column = begun(iterable)
    while column.more():
        items = []
        while len(items) < count and column.more():
            items.append(column.take())
        if strict and len(items) < count:
            raise ValueError("batched(): incomplete batch")
        yield tuple(items)


def in_groups(iterable, count):
    """What `zip(*[iter(items)] * count)` gives."""
    column = begun(iterable)
    while True:
        items = []
        while len(items) < count and column.more():
            items.append(column.take())
        if len(items) < count:
            return
        yield tuple(items)


def paired(iterable):
    """What `itertools.pairwise` gives."""
    before, begins = None, True
    for item in iterable:
        if not begins:
            yield before, item
        before, begins = item, False


def accumulated(iterable, function, initial):
    """What `itertools.accumulate` gives."""
    total, begins = initial, initial is None
    if not begins:
        yield total
    for item in iterable:
        total, begins = (item, False) if begins else (function(total, item), False)
        yield total


def is_among(item, iterable):
    """`item in iterable` of an object that says what its items are, not what it contains: they are asked in turn."""
    for other in iterable:  # noqa: SIM110 - the loop is what is read
        if other == item:
            return True
    return False


def columns_in_turn(given):
    """The columns of rows whose number and lengths the run knows, as `zip` draws them: until a row has no more."""
    rows, k = list(given), 0
    while is_in_each(rows, k):
        yield tuple([row[k] for row in rows])
        k += 1


def is_in_each(rows, k):
    """Whether each of some rows, of which there are any, has an item at a place."""
    found = len(rows) > 0
    for row in rows:
        found = found and k < len(row)
    return found
