"""`concurrent.futures`."""

# pyright: basic

from __future__ import annotations

from concurrent import futures

from diffjit.primitives.registry import implements
from diffjit.solvers.aside.workers.calls import Future, called


class Executor:
    """Workers to which calls are handed."""

    threads = True

    def __init__(self, max_workers=None, *more, initializer=None, initargs=(), **options):
        if initializer is not None or len(more) > 1:
            raise NotImplementedError("an executor with an initializer: call it before")

    def submit(self, fn, /, *args, **kwargs):
        """One call."""
        return Future(called(self.threads, fn, args, kwargs))

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        """A call for each item, or for items side by side."""
        return iter([called(self.threads, fn, args, {}) for args in zip(*iterables)])  # noqa: B905 - as Python does

    def shutdown(self, wait=True, *, cancel_futures=False):
        """All calls have been made."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return False


@implements(futures.ThreadPoolExecutor)
class Threads(Executor):
    """Threads."""


@implements(futures.ProcessPoolExecutor)
class Processes(Executor):
    """Processes."""

    threads = False


@implements(futures.as_completed)
def as_completed(fs, timeout=None):
    """Calls as they end: in the order in which they were handed over."""
    return iter(list(fs))
