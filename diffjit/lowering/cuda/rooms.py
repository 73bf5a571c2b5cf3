"""How large the rooms of a kernel's threads are: as large as its turns have turned out to need.

Nothing tells in front how much a `while` records, or how long lists get: rooms start small, and where a block was
refused, the turns run again with larger ones. Turns that must not run again get all there is at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol

from diffjit.lowering.cuda.device_runtime import BASE, SHORT, SIZE

_START = 2048  # bytes
_MOST = 1 << 20  # of turns that run once
_UNIT = 32  # bytes that memory moves at a time: rooms are odd numbers of them, so that threads do not all use one bank

Words = ctypes.c_int64 * 3


class Memory(Protocol):
    """Where rooms are."""

    def most(self) -> int:
        """How many bytes there are for all rooms."""
        ...

    def rooms(self, size: int) -> int:
        """The address of so many bytes."""
        ...

    def set_arena(self, arena: int, words: Any) -> None:
        """Write the words of a kernel's arena."""
        ...

    def read_arena(self, arena: int, words: Any) -> None:
        """Read them."""
        ...


class Rooms:
    """Of one kernel."""

    def __init__(self, arena: int) -> None:
        self.arena = arena  # the address of its words
        self.size = _rounded(_START)

    def run(self, memory: Memory, threads: int, failed: int, run: Callable[[int], None], *, once: bool) -> None:
        """Run the turns by so many threads, or by fewer; the byte `failed` is set where one failed."""
        flag = ctypes.c_uint8.from_address(failed)
        most = memory.most()
        if once:
            self.size = max(self.size, _rounded(min(_MOST, most // threads)))
        words = Words()
        while True:
            threads = min(threads, most // self.size)
            if threads < 1:
                flag.value = 1  # the host has more
                return
            words[BASE], words[SIZE], words[SHORT] = memory.rooms(threads * self.size), self.size, 0
            memory.set_arena(self.arena, words)
            run(threads)
            if not flag.value or once:
                return
            memory.read_arena(self.arena, words)
            if not words[SHORT]:
                return
            self.size = _rounded(max(2 * self.size, words[SHORT] + words[SHORT] // 2))
            flag.value = 0


def _rounded(size: int) -> int:
    return (size // _UNIT | 1) * _UNIT
