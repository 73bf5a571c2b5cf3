"""The threads that large nests run on: of the pools that come with Numba, TBB's where there is one, else OpenMP's.

A pool is a C function, loaded without Numba around it (`native`), which calls a function of ours for parts of a range.
Compiled code finds it through two numbers: the address, 0 where there is no pool, and how many threads to use. Numba's
third pool, its own work queue, is never taken: it ends the process when two Python threads enter it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from diffjit.lowering.llvm import extensions
from diffjit.settings import settings
from diffjit.tree import cores

SYMBOL = "dj_pool"
_POOL = (ctypes.c_int64 * 2)()
ADDRESS = ctypes.addressof(_POOL)
llvm.add_symbol(SYMBOL, ADDRESS)


@cache
def start() -> None:
    """Load a pool, if this machine has one that is safe, for the code that is loaded or compiled next."""
    address = _tbb() or _openmp()
    if address:
        os.register_at_fork(after_in_child=_stop)  # neither pool survives a fork
        _POOL[0] = address
        settings.watch("threads", _use)


def _use(threads: int) -> None:
    _POOL[1] = min(threads, cores()) if threads > 0 else cores()


def _stop() -> None:
    _POOL[0] = 0


def available() -> bool:
    """Whether there is a pool."""
    return bool(_POOL[0])


def running() -> int:
    """How many threads large nests use now; 1 where there is no pool."""
    return max(1, _POOL[1]) if _POOL[0] else 1


def _tbb() -> int:
    library = Path(sys.prefix, "lib", "libtbb.so.12")  # where the wheel puts it, and no linker looks
    try:
        if library.exists():
            tbb = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            if tbb.TBB_runtime_interface_version() < 12060:  # Numba takes no older one
                return 0
        return _launched("np.ufunc.tbbpool")
    except (ImportError, OSError, AttributeError):  # there is none
        return 0


def _openmp() -> int:
    try:
        with _environment("OMP_WAIT_POLICY", "passive"):  # spinning threads keep others from the cores
            return _launched("np.ufunc.omppool")
    except (ImportError, OSError, AttributeError):
        return 0


def _launched(name: str) -> int:
    pool = extensions.load(name)
    ctypes.CFUNCTYPE(None, ctypes.c_int)(pool.launch_threads)(cores())
    return int(pool.parallel_for)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable that the user has not set, while a library reads it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
