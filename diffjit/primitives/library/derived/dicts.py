"""What a class inherits from `dict`: an object with attributes, and items in a dict that only these methods reach."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic

from __future__ import annotations

ITEMS = "<items>"  # where the interpreter keeps that dict among the attributes; no name in a program


def items_of(owner):
    """The dict behind an object of a class of dicts, known to the interpreter alone; anything else is itself."""
    raise AssertionError(owner)


def found_or_made(self, key):
    """`self[key]` of a class that has a `__missing__`."""
    if key not in items_of(self):
        return self.__missing__(key)
    return items_of(self)[key]


class Inherited:  # noqa: PLW1641 - no dict is a key
    """The methods of `dict`, which ask none of the class's own, as those of C do not."""

    def __init__(self, *others, **named):
        """The items of another mapping or of pairs, and of keywords."""
        items = items_of(self)
        for other in others:
            items.update(items_of(other))
        items.update(**named)

    def __len__(self):
        return len(items_of(self))

    def __contains__(self, key):
        return key in items_of(self)

    def __iter__(self):
        return items_of(self)

    def __reversed__(self):
        return reversed(items_of(self))

    def __getitem__(self, key):
        return items_of(self)[key]

    def __setitem__(self, key, value):
        items_of(self)[key] = value

    def __delitem__(self, key):
        del items_of(self)[key]

    def __eq__(self, other):
        return items_of(self) == items_of(other)

    def __ne__(self, other):
        return items_of(self) != items_of(other)

    def keys(self):
        """The keys."""
        return items_of(self).keys()

    def values(self):
        """The values."""
        return items_of(self).values()

    def items(self):
        """Keys with their values."""
        return items_of(self).items()

    def get(self, key, default=None):
        """The value of a key, or another one."""
        return items_of(self).get(key, default)

    def pop(self, key, *default):
        """Take the value of a key out."""
        return items_of(self).pop(key, *default)

    def setdefault(self, key, default=None):
        """The value of a key, which is entered where it is missing."""
        return items_of(self).setdefault(key, default)

    def update(self, *others, **named):
        """Enter the items of another mapping or of pairs, and of keywords."""
        items = items_of(self)
        for other in others:
            items.update(items_of(other))
        items.update(**named)

    def copy(self):
        """A plain dict of the same items."""
        return dict(items_of(self))

    def clear(self):
        """Forget the items."""
        items_of(self).clear()
