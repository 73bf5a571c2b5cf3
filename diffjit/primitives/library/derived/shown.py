"""Containers whose items only the run knows, printed one item after another."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic


def print_items(items, left, alone, right):
    """A list or tuple, with what stands behind an item that is alone."""
    print(left, end="")  # noqa: T201
    for k in range(len(items)):
        print("" if k == 0 else ", ", end="")  # noqa: T201
        print(repr(items[k]), end="")  # noqa: T201
    print(alone if len(items) == 1 else right, end="")  # noqa: T201


def print_table(table):
    """A dict with keys of the run."""
    print("{", end="")  # noqa: T201
    first = True
    for key, value in table.items():
        print("" if first else ", ", end="")  # noqa: T201
        print(repr(key), repr(value), sep=": ", end="")  # noqa: T201
        first = False
    print("}", end="")  # noqa: T201
