"""`array.array`: a list of numbers of one type.

coefs = array.array("d")        coefs.append(c)         sum(c * p for c, p in zip(coefs, parts))
"""

# pyright: basic

from __future__ import annotations

import array
import operator

import numpy as np

from diffjit.primitives.registry import implements


@implements(array.array)
class TypedArray:  # noqa: PLW1641 - no array is a key
    """The numbers are a list."""

    stands_for = array.array
    returned_as = "return its numbers, `.tolist()`"

    def __init__(self, typecode, initializer=()):
        if typecode not in ("d", "b", "B", "h", "H", "i", "I", "l", "L", "q"):
            raise NotImplementedError(f'array.array of type "{typecode}": take floats ("d") or ints')
        if isinstance(initializer, str | bytes | bytearray):
            raise NotImplementedError("array.array of a text or of bytes")
        self.typecode, self.held_items = typecode, []
        self.extend(initializer)

    def _number(self, item):
        if self.typecode == "d":
            return 1.0 * float(item)
        number, ends = operator.index(item), np.iinfo(self.typecode)
        if number < ends.min or number > ends.max:
            raise OverflowError("a number that the type of this array.array does not hold")
        return number

    def _like(self, items):
        made = TypedArray(self.typecode)
        made.held_items = items
        return made

    def append(self, v, /):
        """Add a number."""
        self.held_items.append(self._number(v))

    def extend(self, bb, /):
        """Add several."""
        for v in bb:
            self.append(v)

    def insert(self, i, v, /):
        """Put a number before a position."""
        self.held_items.insert(i, self._number(v))

    def pop(self, i=-1, /):
        """Take one out."""
        return self.held_items.pop(i)

    def remove(self, v, /):
        """Take out the first that is equal."""
        self.held_items.remove(v)

    def index(self, v, /):
        """Where the first one is that is equal."""
        return self.held_items.index(v)

    def count(self, v, /):
        """How many are equal."""
        return self.held_items.count(v)

    def reverse(self):
        """The other way round."""
        self.held_items.reverse()

    def tolist(self):
        """The numbers as a list."""
        return list(self.held_items)

    def __array__(self, dtype=None, copy=None):
        own = np.array(self.held_items, self.typecode)
        return own if dtype is None else own.astype(dtype)

    def __len__(self):
        return len(self.held_items)

    def __iter__(self):
        return iter(self.held_items)

    def __contains__(self, v):
        return v in self.held_items

    def __getitem__(self, index):
        return self._like(self.held_items[index]) if isinstance(index, slice) else self.held_items[index]

    def __setitem__(self, index, v):
        if isinstance(index, slice):
            raise NotImplementedError("assigning to a part of an array.array: take a list")
        self.held_items[index] = self._number(v)

    def __delitem__(self, index):
        del self.held_items[index]

    def __add__(self, other):
        if not isinstance(other, TypedArray):  # pyright: ignore[reportArgumentType]
            raise TypeError("can only append array to array")
        return self._like(self.held_items + other.held_items)

    def __mul__(self, n):
        return self._like(self.held_items * n)

    def __rmul__(self, n):
        return self * n

    def __eq__(self, other):
        return isinstance(other, TypedArray) and self.held_items == other.held_items  # pyright: ignore[reportArgumentType]
