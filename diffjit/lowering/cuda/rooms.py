"""How large the rooms of a kernel's threads are: as large as its turns have turned out to need.

Nothing tells in front how much a `while` records, or how long lists get: rooms start small, and where a block was
refused, the turns run again with larger ones. Turns that must not run again get their share of what there is at once.
"""

from __future__ import annotations

import ctypes
from typing import Protocol

START = 2048  # bytes
_MOST = 1 << 20  # of turns that run once
_UNIT = 32  # bytes that memory moves at a time

Words = ctypes.c_int64 * 3  # of an arena: BASE, SIZE, SHORT


class Place(Protocol):
    """A launch that is to be."""

    def most(self) -> int:
        """The bytes that a room can have."""
        ...

    def share(self) -> int:
        """The bytes that a room can have where all threads that run at once have one, and arrays have their memory."""
        ...

    def run(self, size: int) -> int:
        """Run all turns with rooms of a size: where one failed, how large its room should have been, or 0."""
        ...


class Rooms:
    """Of one kernel."""

    def __init__(self) -> None:
        self.size = START

    def run(self, place: Place, failed: int, *, once: bool) -> None:
        """Run the turns; the byte `failed` is set where one failed. `once`: they must not run again."""
        flag = ctypes.c_uint8.from_address(failed)
        if once:
            self.size = max(self.size, min(_MOST, place.share()))
        while True:
            short = place.run(self.size)
            if not flag.value or once or short <= self.size:
                return
            larger = min(max(2 * self.size, short + short // 2), place.most())
            if larger < short:
                return  # the host has more
            self.size, flag.value = larger, 0


def staggered(size: int) -> int:
    """A size of rooms that follow one another: an odd number of units, so that threads do not all use one bank."""
    return (size // _UNIT | 1) * _UNIT
