"""Arrays whose memory ends (or begins) at a page that nobody may touch: a stray access ends the process.

Made for checks that run in a process of their own.
"""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_PAGE = mmap.PAGESIZE
_FORBIDDEN = 0
_KEPT: dict[int, mmap.mmap] = {}  # by address: what a mapping holds is unmapped with it


def memory(size: int, *, behind: bool = True) -> np.ndarray:
    """`size` bytes that end at a forbidden page, or begin right after one; there is one at either side."""
    pages = max(1, -(-size // _PAGE))
    room = mmap.mmap(-1, (pages + 2) * _PAGE)
    whole = np.frombuffer(room, np.uint8)
    address = whole.ctypes.data
    for forbidden in (address, address + (pages + 1) * _PAGE):
        if _LIBC.mprotect(forbidden, _PAGE, _FORBIDDEN):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = (pages + 1) * _PAGE - size if behind else _PAGE
    return whole[start : start + size]


def guarded(values: np.ndarray, *, behind: bool = True) -> np.ndarray:
    """A copy of an array, in its own memory order, with forbidden pages around exactly the bytes that it uses.

    Of a strided array it is the first and the last element that lie at the ends.
    """
    if not values.size:
        return memory(0, behind=behind).view(values.dtype).reshape(values.shape)
    low = sum(min(0, step * (length - 1)) for step, length in zip(values.strides, values.shape, strict=True))
    high = sum(max(0, step * (length - 1)) for step, length in zip(values.strides, values.shape, strict=True))
    room = memory(high - low + values.itemsize, behind=behind)
    copy = np.ndarray(values.shape, values.dtype, room, offset=-low, strides=values.strides)
    copy[...] = values
    return copy
