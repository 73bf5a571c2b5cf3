"""Arrays of Python on their way into a program for a device, and back.

A program gets copies of arrays in memory that the device reaches, with the same strides; arrays that came out of such
a program are in it already, and are taken as they are. What the program writes to goes back into the caller's arrays,
and a result that is part of an argument is part of the caller's array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffjit.lowering.cuda import devices
from diffjit.lowering.cuda.pool import MANAGED, Block

_LARGE = 1 << 20  # bytes


def shared(call: Callable[..., tuple[Any, ...]], written: Sequence[int]) -> Callable[..., tuple[Any, ...]]:
    """A compiled program as a function of NumPy's arrays; it writes to the arguments `written`."""

    def run(*args: Any) -> tuple[Any, ...]:
        given = list(args)
        moved: list[tuple[np.ndarray, np.ndarray, int, int]] = []  # the caller's, ours, where ours begins and ends
        known: dict[int, np.ndarray] = {}
        for k, a in enumerate(args):
            if isinstance(a, np.ndarray) and not is_shared(a):
                if id(a) not in known:
                    known[id(a)] = to_shared(a)
                    moved.append((a, known[id(a)], *np.lib.array_utils.byte_bounds(known[id(a)])))
                given[k] = known[id(a)]
        try:
            outs = call(*given)
        finally:
            for k in written:
                if given[k] is not args[k]:
                    fetched(given[k])
                    np.copyto(args[k], given[k])
        results = tuple([_returned(x, moved) if isinstance(x, np.ndarray) else x for x in outs])
        if moved:  # the caller's arrays are the host's, where these will be read, too
            for x in results:
                if isinstance(x, np.ndarray):
                    fetched(x)
        return results

    run.__dict__.update(call.__dict__)
    run.__name__ = call.__name__
    return run


def fetched(array: np.ndarray) -> None:
    """The host reads an array next."""
    if array.nbytes >= _LARGE:
        low, high = np.lib.array_utils.byte_bounds(array)
        devices.current().fetch(low, high - low)


def is_shared(array: np.ndarray) -> bool:
    """Whether all of an array is in memory that the device reaches."""
    return array.size == 0 or bool(MANAGED.piece(*np.lib.array_utils.byte_bounds(array)))


def to_shared(array: np.ndarray) -> np.ndarray:
    """A copy in such memory, with the same strides."""
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = in_memory(high - low)
    start = array.__array_interface__["data"][0] - low
    made = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
    if high - low >= _LARGE:  # straight to the device: pages that the host writes would come into being there
        devices.current().copy(ctypes.addressof(memory), low, high - low)
    elif all(n == 1 or s for n, s in zip(array.shape, array.strides, strict=True)):
        np.copyto(made, array)
    else:  # repeated elements, of which NumPy writes none
        ctypes.memmove(ctypes.addressof(memory), low, high - low)
    made.flags.writeable = array.flags.writeable
    return made


def from_shared(array: np.ndarray) -> np.ndarray:
    """A copy in plain memory."""
    if array.nbytes < _LARGE or not array.flags.c_contiguous:
        return array.copy()
    made = np.empty_like(array)
    devices.current().copy(made.ctypes.data, array.ctypes.data, array.nbytes)
    return made


def in_memory(size: int) -> Any:
    """A buffer for an array, which goes back when nothing refers to it any more."""
    block = Block(size)
    memory: Any = (ctypes.c_char * size).from_address(block.address)
    memory.block = block
    return memory


def _returned(result: np.ndarray, moved: list[tuple[np.ndarray, np.ndarray, int, int]]) -> np.ndarray:
    """A result that is an argument, or part of one, as the caller has it."""
    if result.size == 0:
        return result
    address = result.__array_interface__["data"][0]
    for theirs, ours, low, high in moved:
        if result is ours:
            return theirs
        if low <= address < high:
            offset = address - ours.__array_interface__["data"][0]
            return _part_of(theirs, offset, result)
    return result


class _Part:
    """Memory of an array, for NumPy, which keeps this and with it the array."""

    def __init__(self, owner: np.ndarray, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def _part_of(array: np.ndarray, offset: int, like: np.ndarray) -> np.ndarray:
    address = array.__array_interface__["data"][0] + offset
    interface = {**like.__array_interface__, "data": (address, not array.flags.writeable), "strides": like.strides}
    return np.asarray(_Part(array, interface))
