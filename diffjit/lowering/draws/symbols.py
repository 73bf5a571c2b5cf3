"""NumPy's C functions that draw from bit generators, as symbols that compiled code is linked with.

NumPy's `_generator` exports its distributions on most systems, and each bit generator has its functions at an address
(`numpy.random.BitGenerator.ctypes`). They take a `bitgen_t`: the address of a state, and functions that read it.
Compiled code makes one whose state are the words of a stream (`diffjit.streams`). How NumPy's states lie in memory is
not documented, so that is looked at in each process before it is relied on: where it is otherwise, or where the
functions are not exported, draws are calls of Python.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from diffjit import streams

SYMBOLS = re.compile(rb"dj_draw_[A-Za-z0-9_]+")  # in machine code
PREFIX = "dj_draw_"
_READERS = ("state", "uint64", "uint32", "double", "raw")  # of a `bitgen_t`, in its order
_LAYOUTS = ("PCG64", "PCG64DXSM", "MT19937")


def provides(symbol: str) -> bool:
    """Whether a symbol is one of these."""
    return symbol.startswith(PREFIX)


@cache
def register(symbol: str) -> None:
    """Make a function known to the linker, if it is there and states are as they are taken to be."""
    bits, _, reader = symbol.removeprefix(PREFIX).rpartition("_")
    found = _reader(bits, reader) if bits in _LAYOUTS else exported(symbol.removeprefix(PREFIX))
    if found:
        llvm.add_symbol(symbol, found)


@cache
def exported(name: str) -> int | None:
    """The address of one of NumPy's distributions."""
    try:
        library = ctypes.CDLL(importlib.import_module("numpy.random._generator").__file__)
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except (AttributeError, OSError, ImportError):
        return None


def _reader(bits: str, reader: str) -> int | None:
    return _table(bits)[_READERS.index(reader)] if fits(bits) else None


@cache
def _kept(bits: str) -> Any:
    """A bit generator, whose functions serve all of its kind."""
    made = getattr(np.random, bits)(12345)
    made.random_raw(3)
    made.ctypes.next_uint32(made.ctypes.state_address)
    return made


def _table(bits: str) -> list[int]:
    return _words_at(_kept(bits).ctypes.bit_generator.value, len(_READERS))


def _words_at(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


@cache
def fits(bits: str) -> bool:
    """Whether states of a kind lie in memory as compiled code lays them out."""
    if bits not in _LAYOUTS or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    kept = _kept(bits)
    state = kept.ctypes.state_address
    if _table(bits)[0] != state:
        return False
    wanted = streams.words_of(np.random.Generator(kept)).tolist()
    if bits == "MT19937":
        found = _words_at(state, len(wanted))
        return found[:-1] == wanted[:-1] and found[-1] & 0xFFFFFFFF == wanted[-1]
    inner, buffer = _words_at(state, 2)
    return [*_words_at(inner, 4), buffer] == wanted


def serves(function: str, bits: str) -> bool:
    """Whether a function may be called from compiled code, for a stream with these bits."""
    return fits(bits) and (not function or exported(function) is not None)
