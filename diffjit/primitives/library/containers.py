"""Python's containers and iterators that are programs over lists: deques, slices of lists, endless iterators."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import collections
import itertools
import math
import operator
import weakref

import numpy as np

from diffjit.primitives.library.axes import places
from diffjit.primitives.library.shaping import common_shape
from diffjit.primitives.library.tables import alike
from diffjit.primitives.registry import implements


def bounds(start, stop, step, length):
    """Where a slice begins and ends, as `slice.indices` gives it."""
    first, last = (0, length) if step > 0 else (-1, length - 1)
    low, high = (first, last) if step > 0 else (last, first)
    if start is not None:
        low = max(start + length, first) if start < 0 else min(start, last)
    if stop is not None:
        high = max(stop + length, first) if stop < 0 else min(stop, last)
    return low, high


def list_slice(items, start, stop, step):
    """items[start:stop:step]."""
    step = 1 if step is None else step
    low, high = bounds(start, stop, step, len(items))
    return [items[k] for k in range(low, high, step)]


def columns(rows, width):
    """The columns of a list of tuples."""
    return tuple([tuple([row[k] for row in rows]) for k in places(width)])


def range_slice(first, last, width, start, stop, step):
    """Start, stop and step of range(first, last, width)[start:stop:step]."""
    step = 1 if step is None else step
    low, high = bounds(start, stop, step, len(range(first, last, width)))
    return first + low * width, first + high * width, width * step


def indices_of_slice(start, stop, step, length):
    """`slice(start, stop, step).indices(length)`."""
    step = 1 if step is None else step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if length < 0:
        raise ValueError("length should not be negative")
    return (*bounds(start, stop, step, length), step)


def range_position(index, length):
    """The place in a range that an index, which may count from the end, means."""
    if index < -length or index >= length:
        raise IndexError("range object index out of range")
    return index + length if index < 0 else index


def repeated(items, times):
    """items * times."""
    return [item for _ in range(times) for item in items]


def repeat_in_place(items, times):
    """items *= times."""
    length = len(items)
    for _ in range(1, times):
        for k in range(length):
            items.append(items[k])
    if times < 1:
        items.clear()


def assign_slice(items, start, stop, new):
    """items[start:stop] = new."""
    low, high = bounds(start, stop, 1, len(items))
    new = list(new)
    behind = list_slice(items, max(low, high), None, 1)
    while len(items) > low:
        items.pop()
    for item in new:
        items.append(item)
    for item in behind:
        items.append(item)


def assign_stepped(items, start, stop, step, new):
    """items[start:stop:step] = new."""
    low, high = bounds(start, stop, step, len(items))
    places = range(low, high, step)
    new = list(new)
    if len(new) != len(places):
        raise ValueError("attempt to assign sequence to extended slice of another size")
    for k in range(len(places)):
        items[low + k * step] = new[k]


def delete_slice(items, start, stop, step):
    """del items[start:stop:step], the last one first, so that the others keep their places."""
    step = 1 if step is None else step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = bounds(start, stop, step, len(items))
    places = range(low, high, step)
    for k in range(len(places)):
        items.pop(low + (len(places) - 1 - k) * step if step > 0 else low + k * step)


def concatenated(arrays, axis):
    """np.concatenate of a list of arrays, along one axis or of all that they hold."""
    if len(arrays) == 0:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        return concatenated([np.ravel(a) for a in arrays], 0)
    first, total = arrays[0], 0
    for a in arrays:
        total += a.shape[axis]
    before = (slice(None),) * axis
    out = np.empty((*first.shape[:axis], total, *first.shape[axis + 1 :]), dtype=first.dtype)
    at = 0
    for a in arrays:
        out[(*before, slice(at, at + a.shape[axis]))] = a
        at += a.shape[axis]
    return out


@implements(collections.deque)
class Deque:  # noqa: PLW1641 - no deque is a key
    """A list that forgets what does not fit."""

    __diffjit_made__ = staticmethod(lambda fields: collections.deque(fields["items"], fields["maxlen"]))

    def __init__(self, iterable=(), maxlen=None):
        """The items of an iterable."""
        self.items, self.maxlen = [], maxlen
        self.extend(iterable)

    def append(self, item):
        """Add on the right."""
        self.items.append(item)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop(0)

    def appendleft(self, item):
        """Add on the left."""
        self.items.insert(0, item)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop()

    def extend(self, iterable):
        """Add several on the right."""
        for item in iterable:
            self.append(item)

    def extendleft(self, iterable):
        """Add several on the left, one by one."""
        for item in iterable:
            self.appendleft(item)

    def pop(self):
        """Take from the right."""
        return self.items.pop()

    def popleft(self):
        """Take from the left."""
        return self.items.pop(0)

    def rotate(self, n=1):
        """Move n items from the right end to the left end."""
        if len(self.items) > 0:
            for _ in range(n % len(self.items)):
                self.items.insert(0, self.items.pop())

    def clear(self):
        """Forget everything."""
        self.items.clear()

    def copy(self):
        """Another deque of the same items."""
        return Deque(self.items, self.maxlen)

    def remove(self, item):
        """Take out the first item that equals one."""
        self.items.remove(item)

    def repeat(self, n):
        """Have all items n times."""
        items = self.items.copy()
        self.items.clear()
        for _ in range(n):
            self.extend(items)
        return self

    def __iadd__(self, other):
        self.extend(list(other))
        return self

    def __imul__(self, n):
        return self.repeat(n)

    def __add__(self, other):
        if not isinstance(other, Deque):
            raise TypeError("can only concatenate deque to deque")
        both = self.copy()
        both.extend(other.items)
        return both

    def __mul__(self, n):
        return self.copy().repeat(n)

    def __rmul__(self, n):
        return self.copy().repeat(n)

    def __eq__(self, other):
        return isinstance(other, Deque) and alike(self.items, other.items)

    def __delitem__(self, index):
        del self.items[index]

    def reverse(self):
        """Reverse in place."""
        self.items.reverse()

    def insert(self, index, item):
        """Put an item before a position."""
        self.items.insert(index, item)

    def index(self, item):
        """Where an item stands."""
        return self.items.index(item)

    def count(self, item):
        """How often an item occurs."""
        return self.items.count(item)

    def __repr__(self):
        return f"deque({self.items})" if self.maxlen is None else f"deque({self.items}, maxlen={self.maxlen})"

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __setitem__(self, index, item):
        self.items[index] = item

    def __contains__(self, item):
        return item in self.items

    def __iter__(self):
        return iter(self.items)

    def __reversed__(self):
        return reversed(self.items)


def count(start=0, step=1):
    """start, start + step, ..."""
    number = start
    while True:
        yield number
        number += step


def taken(iterable, start, stop, step):
    """The items with the numbers of a range; none is drawn that lies behind it."""
    number = 0
    if stop is None or stop > 0:
        for item in iterable:
            if number >= start and (number - start) % step == 0:
                yield item
            number += 1
            if stop is not None and number >= stop:
                break


def drawn(iterator):
    """The items of an object with __next__."""
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            return
        yield item


def drawn_or(iterator, default):
    """Its next item, or the default when there is none."""
    try:
        return iterator.__next__()
    except StopIteration:
        return default


def called(function, sentinel):
    """What a function returns, until it is the sentinel."""
    while True:
        item = function()
        if item == sentinel:
            return
        yield item


def zipped_strictly(*iterables):
    """zip(..., strict=True)."""
    columns = [i if isinstance(i, (list, tuple, np.ndarray)) else list(i) for i in iterables]
    yield from zip(*columns)  # noqa: B905 - that they are as long is seen when one ends: lists may grow meanwhile
    length = min([len(c) for c in columns])
    refuse_uneven([len(c) > length for c in columns])


def refuse_uneven(left):
    """Raise what `zip` does where some of its arguments have items left and others have none."""
    for k, more in enumerate(left):
        if more == left[0]:
            continue
        before = f"arguments 1-{k}" if k > 1 else "argument 1"
        raise ValueError(f"zip() argument {k + 1} is {'longer' if more else 'shorter'} than {before}")


def zip_longest(*iterables, fillvalue=None):
    """Tuples as long as any of the iterables has items."""
    columns = [i if isinstance(i, (list, tuple, np.ndarray)) else list(i) for i in iterables]
    for k in range(max([len(c) for c in columns])):
        yield tuple([c[k] if k < len(c) else fillvalue for c in columns])


def grouped(items, count, fill):
    """What `zip_longest` gives of an iterator that stands in it several times."""
    for start in range(0, len(items), count):
        yield tuple([items[start + k] if start + k < len(items) else fill for k in range(count)])


def batched(iterable, n, strict):
    """Tuples of so many items, and of what is left."""
    if n < 1:
        raise ValueError("n must be at least one")
    items = iterable if isinstance(iterable, (list, tuple, np.ndarray)) else list(iterable)
    for start in range(0, len(items), n):
        if strict and start + n > len(items):
            raise ValueError("batched(): incomplete batch")
        yield tuple(items[start : start + n])


def tee(iterable, n):
    """Several iterators over the same items."""
    items = list(iterable)
    return tuple([iter(items) for _ in range(n)])


def itself(value):
    """The value."""
    return value


def numbered(sequence):
    """The items of an object with __getitem__ alone."""
    number = 0
    while True:
        try:
            item = sequence[number]
        except IndexError:
            return
        yield item
        number += 1


@implements(itertools.chain.from_iterable)
def chained(iterables):
    """The items of each iterable in turn."""
    for iterable in iterables:
        yield from iterable


@implements(itertools.chain)
def chain(*iterables):
    """The items of each of these in turn."""
    for iterable in iterables:
        yield from iterable


@implements(itertools.starmap)
def starmap(function, iterable):
    """What a function makes of items that are its arguments."""
    return map(lambda args: function(*args), iterable)  # noqa: C417 - a map has a length and places, if its source has


@implements(itertools.filterfalse)
def filterfalse(function, iterable):
    """The items that a function does not hold for."""
    return filter(lambda v: not (v if function is None else function(v)), iterable)


@implements(itertools.repeat)
def repeat(object, times=None):  # noqa: A002 - Python's name
    """One item again and again."""
    return map(lambda _: object, itertools.count() if times is None else range(times))  # noqa: C417 - the same


@implements(operator.itemgetter)
def itemgetter(item, /, *items):
    """A function that looks items up."""
    return (lambda owner: tuple([owner[k] for k in (item, *items)])) if items else lambda owner: owner[item]


def attribute_of(owner, path):
    """An attribute of an attribute, and so on."""
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner


@implements(operator.attrgetter)
def attrgetter(attr, /, *attrs):
    """A function that looks attributes up."""
    if attrs:
        return lambda owner: tuple([attribute_of(owner, name) for name in (attr, *attrs)])
    return lambda owner: attribute_of(owner, attr)


@implements(operator.methodcaller)
def methodcaller(name, /, *args, **kwargs):
    """A function that calls a method."""
    return lambda owner: getattr(owner, name)(*args, **kwargs)


@implements(itertools.takewhile)
def takewhile(predicate, iterable):
    """Items as long as they satisfy a condition."""
    for item in iterable:
        if not predicate(item):
            break
        yield item


@implements(itertools.dropwhile)
def dropwhile(predicate, iterable):
    """Items from the first one that fails a condition."""
    dropping = True
    for item in iterable:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def cycle(iterable):
    """The items over and over."""
    if isinstance(iterable, (list, tuple, np.ndarray)):
        items = list(iterable)
    else:  # the first time, each is drawn when its turn comes
        items = []
        for item in iterable:
            items.append(item)
            yield item
    while len(items) > 0:
        yield from items


@implements(itertools.groupby)
def groupby(iterable, key=None):
    """Runs of items with equal keys."""
    items = list(iterable)
    keys = [item if key is None else key(item) for item in items]
    start = 0
    while start < len(items):
        stop = start + 1
        while stop < len(items) and keys[stop] == keys[start]:
            stop += 1
        yield keys[start], iter(items[start:stop])
        start = stop


@implements(itertools.compress)
def compress(data, selectors):
    """The items at which a selector is true."""
    for item, selected in zip(data, selectors):  # noqa: B905 - as Python's, it ends with the shorter one
        if selected:
            yield item


def neighbours(items):
    """Each item with the next one; each is read once, when its turn comes."""
    if len(items) > 0:
        before = items[0]
        for k in range(1, len(items)):
            item = items[k]
            yield before, item
            before = item


def pairs(items):
    """All pairs of different items, in order."""
    for i in range(len(items)):
        for j in range(i + 1, len(items)):
            yield items[i], items[j]


def triples(items):
    """All triples of different items, in order."""
    for i in range(len(items)):
        for j in range(i + 1, len(items)):
            for k in range(j + 1, len(items)):
                yield items[i], items[j], items[k]


def ordered_pairs(items):
    """All pairs of different items, in either order."""
    for i in range(len(items)):
        for j in range(len(items)):
            if i != j:
                yield items[i], items[j]


def pairs_and_squares(items):
    """All pairs of items, in order, each also with itself."""
    for i in range(len(items)):
        for j in range(i, len(items)):
            yield items[i], items[j]


# What itertools gives of an iterable whose length is only known at run time.
CHOICES = {
    ("combinations", 2): pairs,
    ("combinations", 3): triples,
    ("permutations", 2): ordered_pairs,
    ("combinations_with_replacement", 2): pairs_and_squares,
}


@implements(np.broadcast)
class Broadcast:
    """What arrays of these shapes broadcast to."""

    def __init__(self, *args):
        """Keep the shape."""
        shapes = tuple(np.shape(x) for x in args)
        self.shape = common_shape(shapes)
        for own in shapes:
            for length, whole in zip(own[::-1], self.shape[::-1]):  # noqa: B905 - the shorter one ends it
                if length not in (1, whole):
                    raise ValueError("shape mismatch: objects cannot be broadcast to a single shape")
        self.nd = self.ndim = len(self.shape)
        self.size = math.prod(self.shape)
        self.numiter = len(args)


@implements(weakref.ref)
def reference(obj, callback=None):
    """A weak reference: programs keep what they have made."""
    return lambda: obj


@implements(np.vectorize)
class Vectorize:
    """A function of numbers applied element by element."""

    def __init__(self, pyfunc, otypes=None, doc=None, excluded=None, cache=False, signature=None):
        """Keep the function."""
        if signature is not None:
            raise NotImplementedError("np.vectorize with `signature`: write a loop")
        self.pyfunc = pyfunc
        self.otypes = otypes
        self.excluded = () if excluded is None else tuple(excluded)
        self.once_more = int(otypes is None and not cache)

    def __call__(self, *args, **kwargs):
        """An array of results, or several where the function returns a tuple.

        As with NumPy, what the first elements give says of which types the results are: the function is called with
        them once more.
        """
        places = [k for k in range(len(args)) if k not in self.excluded]
        names = [name for name in kwargs if name not in self.excluded]
        given = [np.asarray(a) for a in (*[args[k] for k in places], *[kwargs[name] for name in names])]  # texts, too
        arrays = np.broadcast_arrays(*given)
        columns = [np.ravel(a) for a in arrays]
        count, more = columns[0].size, self.once_more
        if count == 0:
            if more:
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            none = tuple(np.empty(arrays[0].shape, np.dtype(kind)) for kind in self.otypes or ())
            return none if len(none) > 1 else none[0]

        def at(k):
            numbers = [c[k] for c in columns]
            given, named = list(args), dict(kwargs)
            for j, place in enumerate(places):
                given[place] = numbers[j]
            for j, name in enumerate(names):
                named[name] = numbers[len(places) + j]
            return self.pyfunc(*given, **named)

        given = [at(max(k - more, 0)) for k in range(count + more)]
        if given[0] is None:
            return None
        found = given[more:]
        if isinstance(given[0], tuple):
            return tuple(self.column([g[j] for g in found], j, arrays[0].shape) for j in range(len(given[0])))
        return self.column(found, 0, arrays[0].shape)

    def column(self, found, j, shape):
        """One of the results."""
        if self.otypes is not None:
            return np.array(found).astype(np.dtype(self.otypes[j])).reshape(shape)
        number = found[0]
        isinstance(number, float)  # refused where an int meets a float: what the first one is decides on them all
        return np.array(found).astype(np.asarray(number).dtype).reshape(shape)
