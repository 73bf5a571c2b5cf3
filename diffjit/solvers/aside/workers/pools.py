"""`multiprocessing.Pool` and `ThreadPool`."""

# pyright: basic

from __future__ import annotations

import multiprocessing
import multiprocessing.pool

from diffjit.primitives.registry import implements
from diffjit.solvers.aside.workers.calls import Future, called


class Workers:
    """Workers to which calls are handed."""

    threads = True

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None):
        if initializer is not None:
            raise NotImplementedError("a pool with an initializer: call it before")

    def apply(self, func, args=(), kwds=None):
        """One call."""
        return called(self.threads, func, args, {} if kwds is None else kwds)

    def apply_async(self, func, args=(), kwds=None):
        """One call, asked for later."""
        return Future(called(self.threads, func, args, {} if kwds is None else kwds))

    def map(self, func, iterable, chunksize=None):
        """A call for each item."""
        return [called(self.threads, func, (item,), {}) for item in iterable]

    def map_async(self, func, iterable, chunksize=None):
        """The same, asked for later."""
        return Future(self.map(func, iterable))

    def imap(self, func, iterable, chunksize=1):
        """The same, one after another."""
        return iter(self.map(func, iterable))

    def imap_unordered(self, func, iterable, chunksize=1):
        """The same: any order is right."""
        return iter(self.map(func, iterable))

    def starmap(self, func, iterable, chunksize=None):
        """A call for each tuple of arguments."""
        return [called(self.threads, func, tuple(items), {}) for items in iterable]

    def close(self):
        """No more calls."""

    def join(self):
        """All calls have been made."""

    def terminate(self):
        """Nothing is under way."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return False


@implements(multiprocessing.pool.ThreadPool)
class Threads(Workers):
    """Threads."""


@implements(multiprocessing.Pool, multiprocessing.pool.Pool)
class Processes(Workers):
    """Processes."""

    threads = False
