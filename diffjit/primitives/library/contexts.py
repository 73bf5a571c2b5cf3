"""`contextlib.ExitStack`: what is left behind is a chain from the first manager to the last, each with what follows.

    with ExitStack() as stack:               stack.chain = None
        stack.enter_context(a)        ->     stack.chain = (a.__exit__, None)
        stack.enter_context(b)               stack.chain = (a.__exit__, (b.__exit__, None))

Paths that come from between two entries, as exceptions do, agree on the managers that both have entered; a list of
exits that is longer on one path would have no form in common. A chain has an end that is known, or a branch decides.
"""

# Python's signatures take whatever Python takes: no types.
# pyright: basic

from __future__ import annotations

import contextlib

from diffjit.primitives.registry import implements


def linked(chain, leave):
    """A chain with one more exit behind its last."""
    if chain is None:
        return leave, None
    first, others = chain
    return first, linked(others, leave)


def begun(manager):
    """A manager that is entered. The interpreter refuses generators, which only a `with` block can go on with."""
    return manager


def entered(leave):
    """An exit that will be called. The interpreter looks whether it may swallow exceptions."""
    return leave


def left_in_peace(chain):
    """Leave the managers of a chain, the last one first, where nothing was raised and nobody would know."""
    if chain is None:
        return
    leave, later = chain
    left_in_peace(later)
    leave(None, None, None)


class Entered:
    """A manager that was entered before."""

    def __init__(self, leave):
        self.leave = leave

    def __enter__(self):
        return None

    def __exit__(self, kind, error, trace):
        return self.leave(kind, error, trace)


def left(chain, error):
    """Leave the managers of a chain, the last one first: blocks within each other, with the exception inside."""
    if chain is None:
        if error is not None:
            raise error
        return
    leave, later = chain
    with Entered(leave):
        left(later, error)


@implements(contextlib.ExitStack)
class ExitStack:
    """Managers that are entered one by one and left together."""

    def __init__(self):
        self.chain = None

    def __enter__(self):
        return self

    def enter_context(self, cm):
        """Enter a manager: what its `__enter__` gives."""
        given = begun(cm).__enter__()
        self.chain = linked(self.chain, entered(cm.__exit__))
        return given

    def push(self, exit):  # noqa: A002 - Python's name
        """Leave a manager later that was entered elsewhere, or call a function as an `__exit__`."""
        self.chain = linked(self.chain, entered(exit.__exit__ if hasattr(exit, "__exit__") else exit))
        return exit

    def callback(self, callback, /, *args, **kwds):
        """Call a function later."""

        def leave(kind, error, trace):
            callback(*args, **kwds)

        self.chain = linked(self.chain, entered(leave))
        return callback

    def pop_all(self):
        """Hand all exits to a stack of their own."""
        other = ExitStack()
        other.chain = self.chain
        self.chain = None
        return other

    def close(self):
        """Leave all managers now."""
        self.__exit__(None, None, None)

    def leave_in_peace(self):
        """What a `with` block calls that nothing was raised in."""
        chain, self.chain = self.chain, None
        left_in_peace(chain)

    def __exit__(self, kind, error, trace):
        chain, self.chain = self.chain, None
        left(chain, error)
        return error is not None
