"""When Python looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 1_600_000  # objects made meanwhile that are not looked through behind it
FEW = 2_000  # frozen objects that no user froze: Python 3.12 starts with some hundreds; who freezes has thousands

_parked = 0


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Importing the compiler, and building and compiling a program, makes many objects and little garbage.

    Looking through all of them again and again took 15 to 20 % of the time, and a third of that of the imports. Once
    behind it still takes a tenth: they are left for the next time that Python looks through everything.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            _park()
            gc.enable()


def _park() -> None:
    """Put what is young among the oldest, which are rarely looked through: not ever more, nor where some is frozen."""
    global _parked  # noqa: PLW0603 - there is one collector
    _parked += gc.get_count()[0]
    if _parked > MOST:
        _parked = 0
    elif gc.get_freeze_count() < FEW:
        gc.freeze()
        gc.unfreeze()
