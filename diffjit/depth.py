"""How deep Python's calls may be within each other while a program is built."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DEEP = 5000  # a sum of 1200 terms is that deep; such calls take 100 bytes of the stack each,
ROOM = 8 << 20  # and some that C makes a thousand


def _has_room() -> bool:
    """Whether the stack of the main thread may grow so far."""
    if sys.platform == "win32":  # nobody tells
        return False
    import resource

    room = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return room == resource.RLIM_INFINITY or room >= ROOM


@contextmanager
def deep_calls() -> Iterator[None]:
    """A formula of hundreds of terms, as computer algebra prints it, is a tree as deep: Python's limit is for less.

    Other threads have a small stack in some systems, and keep the limit; so does a process that is given a small one.
    """
    was = sys.getrecursionlimit()
    if was >= DEEP or threading.current_thread() is not threading.main_thread() or not _has_room():
        yield
        return
    sys.setrecursionlimit(DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(was)
