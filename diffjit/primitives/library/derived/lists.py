"""What a class inherits from `list`: an object with attributes, and items in a list that only these methods reach."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic

from __future__ import annotations

from diffjit.primitives.library.derived.dicts import items_of


class Inherited:  # noqa: PLW1641 - no list is a key
    """The methods of `list`, which ask none of the class's own, as those of C do not."""

    def __init__(self, iterable=(), /):
        """The items of an iterable."""
        items = items_of(self)
        items.clear()
        items.extend(iterable)

    def __len__(self):
        return len(items_of(self))

    def __contains__(self, item):
        return item in items_of(self)

    def __iter__(self):
        return iter(items_of(self))

    def __reversed__(self):
        return reversed(items_of(self))

    def __getitem__(self, index):
        return items_of(self)[index]

    def __setitem__(self, index, value):
        items_of(self)[index] = items_of(value) if isinstance(index, slice) else value

    def __delitem__(self, index):
        del items_of(self)[index]

    def __eq__(self, other):
        return items_of(self) == items_of(other)

    def __ne__(self, other):
        return items_of(self) != items_of(other)

    def __lt__(self, other):
        return items_of(self) < items_of(other)

    def __le__(self, other):
        return items_of(self) <= items_of(other)

    def __gt__(self, other):
        return items_of(self) > items_of(other)

    def __ge__(self, other):
        return items_of(self) >= items_of(other)

    def __add__(self, other):
        return items_of(self) + items_of(other)

    def __iadd__(self, other):
        items_of(self).extend(items_of(other))
        return self

    def __mul__(self, count):
        return items_of(self) * count

    def __rmul__(self, count):
        return items_of(self) * count

    def append(self, item):
        """Add an item at the end."""
        items_of(self).append(item)

    def extend(self, iterable):
        """Add the items of an iterable at the end."""
        items_of(self).extend(items_of(iterable))

    def insert(self, index, item):
        """Put an item before a place."""
        items_of(self).insert(index, item)

    def remove(self, item):
        """Take out the first item that equals this one."""
        items_of(self).remove(item)

    def pop(self, index=-1):
        """Take out the item at a place."""
        return items_of(self).pop(index)

    def clear(self):
        """Forget the items."""
        items_of(self).clear()

    def index(self, item, *bounds):
        """Where an item is first."""
        return items_of(self).index(item, *bounds)

    def count(self, item):
        """How often an item is there."""
        return items_of(self).count(item)

    def sort(self, *, key=None, reverse=False):
        """Put the items in order."""
        items_of(self).sort(key=key, reverse=reverse)

    def reverse(self):
        """Turn the order round."""
        items_of(self).reverse()

    def copy(self):
        """A plain list of the same items."""
        return list(items_of(self))
