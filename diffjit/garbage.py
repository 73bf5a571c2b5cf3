"""When Python looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Importing the compiler, and building and compiling a program, makes many objects and little garbage.

    Looking through all of them again and again took 15 to 20 % of the time, and a third of that of the imports.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
