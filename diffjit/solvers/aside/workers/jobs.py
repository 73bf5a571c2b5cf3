"""`joblib.Parallel` and `delayed`."""

# pyright: basic

from __future__ import annotations

import joblib

from diffjit.primitives.registry import implements
from diffjit.solvers.aside.workers.calls import called


@implements(joblib.delayed)
def delayed(function):
    """A call that is written down."""
    return lambda *args, **kwargs: (function, args, kwargs)


@implements(joblib.Parallel)
class Parallel:
    """Calls that were written down, made by workers."""

    def __init__(self, n_jobs=None, backend=None, return_as="list", *, prefer=None, require=None, **options):
        serial = n_jobs is None or n_jobs == 1
        self.threads = serial or backend == "threading" or prefer == "threads" or require == "sharedmem"
        self.lazy = return_as != "list"

    def __call__(self, iterable):
        """Their results."""
        found = [called(self.threads, function, args, kwargs) for function, args, kwargs in iterable]
        return iter(found) if self.lazy else found

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return False
