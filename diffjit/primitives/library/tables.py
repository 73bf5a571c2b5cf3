"""Dicts, sets and counters whose keys are only known at run time: lists of keys and values, in order of insertion."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import collections

from diffjit.primitives.registry import implements


def growing():
    """A list that is taken as one whose length is only known at run time, from the start."""
    return []


def place(keys, key):
    """Where a key stands, or -1."""
    for k in range(len(keys)):
        if keys[k] == key:
            return k
    return -1


def same_range(a, b):
    """Whether two ranges have the same numbers."""
    if len(a) != len(b):
        return False
    return len(a) == 0 or (a[0] == b[0] and a[-1] == b[-1])


def alike(a, b):
    """Whether two lists or tuples hold equal items."""
    if len(a) != len(b):
        return False
    for k in range(len(a)):
        if a[k] != b[k]:
            if isinstance(a[k], float) and isinstance(b[k], float) and a[k] != a[k] and b[k] != b[k]:
                raise NotImplementedError("lists with NaN at one place, be they one object or two: use isnan")
            return False
    return True


def before(a, b, greater, equal):
    """Whether a list stands before another one, or behind it: the first items that differ decide, or the lengths."""
    for k in range(min(len(a), len(b))):
        if a[k] != b[k]:
            return bool(a[k] > b[k]) if greater else bool(a[k] < b[k])
    if len(a) == len(b):
        return equal
    return len(a) > len(b) if greater else len(a) < len(b)


class Table:  # noqa: PLW1641 - no dict is a key
    """A dict."""

    stands_for = dict

    def __init__(self, factory=None):
        """An empty one; `factory` makes the values of missing keys, as a defaultdict's does."""
        self.kept_keys = growing()
        self.kept_values = growing()
        self.made_by = factory

    def __len__(self):
        return len(self.kept_keys)

    def __contains__(self, key):
        return place(self.kept_keys, key) >= 0

    def __iter__(self):
        return self.kept_keys

    def __reversed__(self):
        return reversed(self.kept_keys)

    def __getitem__(self, key):
        k = place(self.kept_keys, key)
        if k < 0:
            if self.made_by is None:
                raise KeyError(key)
            k = len(self.kept_keys)
            self.kept_keys.append(key)
            self.kept_values.append(self.made_by())
        return self.kept_values[k]

    def __setitem__(self, key, value):
        k = place(self.kept_keys, key)
        if k < 0:
            self.kept_keys.append(key)
            self.kept_values.append(value)
        else:
            self.kept_values[k] = value

    def __delitem__(self, key):
        k = place(self.kept_keys, key)
        if k < 0:
            raise KeyError(key)
        self.kept_keys.pop(k)
        self.kept_values.pop(k)

    def enter(self, key, value):
        """Add a key that is not there yet."""
        self.kept_keys.append(key)
        self.kept_values.append(value)

    def get(self, key, default=None):
        """The value of a key, or another one."""
        k = place(self.kept_keys, key)
        if k < 0:
            return default
        return self.kept_values[k]

    def setdefault(self, key, default=None):
        """The value of a key, which is entered where it is missing."""
        k = place(self.kept_keys, key)
        if k < 0:
            k = len(self.kept_keys)
            self.kept_keys.append(key)
            self.kept_values.append(default)
        return self.kept_values[k]

    def pop(self, key, *default):
        """Take the value of a key out."""
        k = place(self.kept_keys, key)
        if k < 0:
            if not default:
                raise KeyError(key)
            return default[0]
        self.kept_keys.pop(k)
        return self.kept_values.pop(k)

    def popitem(self, last=True):
        """Take the newest, or the oldest, key and its value out."""
        if len(self.kept_keys) == 0:
            raise KeyError("popitem(): dictionary is empty")
        k = len(self.kept_keys) - 1 if last else 0
        return self.kept_keys.pop(k), self.kept_values.pop(k)

    def move_to_end(self, key, last=True):
        """Make a key the newest, or the oldest, one."""
        value = self.pop(key)
        k = len(self.kept_keys) if last else 0
        self.kept_keys.insert(k, key)
        self.kept_values.insert(k, value)

    def keys(self):
        """The keys."""
        return self.kept_keys

    def values(self):
        """The values."""
        return self.kept_values

    def items(self):
        """Keys with their values."""
        return zip(self.kept_keys, self.kept_values)  # noqa: B905 - of one length

    def update(self, other=(), **named):
        """Enter what another dict, or pairs, have."""
        pairs = other.items() if hasattr(other, "items") else other
        for key, value in pairs:
            self[key] = value
        for key, value in named.items():
            self[key] = value

    def copy(self):
        """Another dict of the same items."""
        other = Table(self.made_by)
        other.kept_keys = self.kept_keys.copy()
        other.kept_values = self.kept_values.copy()
        return other

    def clear(self):
        """Forget everything."""
        self.kept_keys.clear()
        self.kept_values.clear()

    def __eq__(self, other):
        if len(self) != len(other):
            return False
        for key, value in self.items():
            if key not in other:
                return False
            if other[key] != value:
                return False
        return True

    def __or__(self, other):
        both = self.copy()
        both.update(other)
        return both

    def __ior__(self, other):
        self.update(other)
        return self


class RunTimeSet:  # noqa: PLW1641 - no set is a key
    """A set; its items have no order."""

    stands_for = set

    def __init__(self, iterable=()):
        """The items of an iterable."""
        self.kept_keys = growing()
        for item in iterable:
            self.add(item)

    def __len__(self):
        return len(self.kept_keys)

    def __contains__(self, item):
        return place(self.kept_keys, item) >= 0

    def add(self, item):
        """Enter an item."""
        if place(self.kept_keys, item) < 0:
            self.kept_keys.append(item)

    def discard(self, item):
        """Take an item out if it is there."""
        k = place(self.kept_keys, item)
        if k >= 0:
            self.kept_keys.pop(k)

    def remove(self, item):
        """Take an item out."""
        k = place(self.kept_keys, item)
        if k < 0:
            raise KeyError(item)
        self.kept_keys.pop(k)

    def update(self, *others):
        """Enter the items of others."""
        for other in others:
            for item in entries(other):
                self.add(item)

    def copy(self):
        """Another set of the same items."""
        other = RunTimeSet()
        other.kept_keys = self.kept_keys.copy()
        return other

    def clear(self):
        """Forget everything."""
        self.kept_keys.clear()

    def union(self, *others):
        """The items of any."""
        both = self.copy()
        both.update(*others)
        return both

    def intersection(self, *others):
        """The items of all."""
        both = self.copy()
        both.intersection_update(*others)
        return both

    def difference(self, *others):
        """The items of this one alone."""
        rest = self.copy()
        rest.difference_update(*others)
        return rest

    def symmetric_difference(self, other):
        """The items of one, but not of both."""
        rest = self.copy()
        rest.symmetric_difference_update(other)
        return rest

    def intersection_update(self, *others):
        """Keep what others have as well."""
        for other in others:
            self.keep(other, True)

    def difference_update(self, *others):
        """Keep what no other one has."""
        for other in others:
            self.keep(other, False)

    def symmetric_difference_update(self, other):
        """Take out what another one has too, and enter what it has alone."""
        new = growing()
        for item in entries(other):
            if item not in self and place(new, item) < 0:
                new.append(item)
        self.keep(other, False)
        for item in new:
            self.kept_keys.append(item)

    def keep(self, other, wanted):
        """Keep the items that another one has, or those that it has not."""
        kept = growing()
        for item in self.kept_keys:
            if (item in other) == wanted:
                kept.append(item)
        self.kept_keys.clear()
        for item in kept:
            self.kept_keys.append(item)

    def issubset(self, other):
        """Whether the other one has all its items."""
        return all(item in other for item in self.kept_keys)

    def issuperset(self, other):
        """Whether it has all items of another one."""
        return all(item in self for item in entries(other))

    def isdisjoint(self, other):
        """Whether there is no item in both."""
        return not any(item in other for item in self.kept_keys)

    def __or__(self, other):
        return self.union(other)

    def __and__(self, other):
        return self.intersection(other)

    def __sub__(self, other):
        return self.difference(other)

    def __xor__(self, other):
        return self.symmetric_difference(other)

    def __ior__(self, other):
        self.update(other)
        return self

    def __iand__(self, other):
        self.intersection_update(other)
        return self

    def __isub__(self, other):
        self.difference_update(other)
        return self

    def __ixor__(self, other):
        self.symmetric_difference_update(other)
        return self

    def __le__(self, other):
        return self.issubset(other)

    def __lt__(self, other):
        return len(self) < len(other) and self.issubset(other)

    def __ge__(self, other):
        return self.issuperset(other)

    def __gt__(self, other):
        return len(self) > len(other) and self.issuperset(other)

    def __eq__(self, other):
        return len(self) == len(other) and self.issubset(other)


def entries(iterable):
    """The items of an iterable; of a set, in whichever order they came."""
    return iterable.kept_keys if hasattr(iterable, "kept_keys") else iterable


@implements(collections.Counter)
class Counter(Table):  # noqa: PLW1641 - no dict is a key
    """How often each item occurs."""

    def __init__(self, iterable=(), /, **counts):
        """Counts of the items of an iterable, and others by their names."""
        super().__init__()
        self.update(iterable)
        for name, number in counts.items():
            self[name] += number

    def __getitem__(self, key):
        k = place(self.kept_keys, key)
        if k < 0:
            return 0
        return self.kept_values[k]

    def update(self, other=()):
        """Count more items."""
        self.count(other, 1)

    def subtract(self, other=()):
        """Count fewer items."""
        self.count(other, -1)

    def count(self, other, sign):
        """Count items of another one, or its own counts."""
        if hasattr(other, "items"):
            for key, value in other.items():
                self[key] += sign * value
        else:
            for key in other:
                self[key] += sign

    def copy(self):
        """Another one of the same counts."""
        other = Counter()
        other.kept_keys = self.kept_keys.copy()
        other.kept_values = self.kept_values.copy()
        return other

    def positive(self):
        """Forget what does not occur."""
        keys, values = growing(), growing()
        for key, value in self.items():
            if value > 0:
                keys.append(key)
                values.append(value)
        self.clear()
        for key, value in zip(keys, values):  # noqa: B905 - of one length
            self.enter(key, value)
        return self

    def __pos__(self):
        return self.copy().positive()

    def __neg__(self):
        return Counter() - self

    def __iadd__(self, other):
        self.count(other, 1)
        return self.positive()

    def __isub__(self, other):
        self.count(other, -1)
        return self.positive()

    def __ior__(self, other):
        for key, value in other.items():
            self[key] = max(self[key], value)
        return self.positive()

    def __iand__(self, other):
        for k in range(len(self.kept_keys)):
            value = other[self.kept_keys[k]]
            self.kept_values[k] = min(self.kept_values[k], value)
        return self.positive()

    def __add__(self, other):
        both = self.copy()
        both += other
        return both

    def __sub__(self, other):
        rest = self.copy()
        rest -= other
        return rest

    def __or__(self, other):
        both = self.copy()
        both |= other
        return both

    def __and__(self, other):
        both = self.copy()
        both &= other
        return both

    def __eq__(self, other):
        return all(other[key] == self[key] for key in self.kept_keys) and all(
            self[key] == other[key] for key in other.kept_keys
        )

    def most_common(self, n=None):
        """Items with their counts, the most frequent first."""
        ranked = sorted(zip(self.kept_keys, self.kept_values), key=lambda pair: pair[1], reverse=True)  # noqa: B905
        return ranked if n is None else ranked[:n]

    def total(self):
        """The sum of the counts."""
        return sum(self.kept_values)

    def elements(self):
        """Each item as often as it was counted."""
        for key, count in zip(self.kept_keys, self.kept_values):  # noqa: B905 - of one length
            for _ in range(count):
                yield key
