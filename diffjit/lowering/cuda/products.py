"""Products of matrices on the device, by its own library: what compiled code asks in place of the processor's BLAS.

It is asked with the numbers of a call of BLAS, in column order: `out = op(left) @ op(right)`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.dataclass import dataclass
from diffjit.lowering.calls import failures
from diffjit.lowering.cuda import devices, pool
from diffjit.lowering.cuda.launch import DONE, HOST, RAISED

SYMBOL = "dj_product"
WORDS = 12
_ITEMSIZE = {"s": 4, "d": 8, "c": 8, "z": 16}
_LEAST = 1 << 18  # multiplications that are worth a call
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, slots=True)
class Product:
    """What is to be multiplied: `out` has `rows` rows and `columns` columns; `inner`: the length of what is summed."""

    letter: str  # of BLAS: s, d, c, z
    turned: tuple[bool, bool]  # left, right
    rows: int
    columns: int
    inner: int
    places: tuple[int, int, int]  # the addresses of left, right, out
    leading: tuple[int, int, int]  # their leading dimensions

    def extents(self) -> list[tuple[int, int]]:
        """First byte and size of each."""
        size = _ITEMSIZE[self.letter]
        (m, n, k), (a, b) = (self.rows, self.columns, self.inner), self.turned
        shapes = ((k, m) if a else (m, k), (n, k) if b else (k, n), (m, n))
        return [
            (place, size * (leading * (columns - 1) + rows))
            for place, leading, (rows, columns) in zip(self.places, self.leading, shapes, strict=True)
        ]


@cache
def start() -> Any:
    """Make the function known to the linker."""
    pool.start()
    callback = _CALLBACK(_asked)
    llvm.add_symbol(SYMBOL, ctypes.cast(callback, ctypes.c_void_p).value or 0)
    return callback


def _asked(words: int) -> int:
    try:
        return _product((ctypes.c_int64 * WORDS).from_address(words))
    except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt, too, has to come out of the program
        failures.keep(error)
        return RAISED


def _product(words: Any) -> int:
    letter, left, right, rows, columns, inner, *rest = words
    if min(rows, columns, inner) < 1:
        return HOST
    found = Product(
        chr(letter), (left == ord("T"), right == ord("T")), rows, columns, inner,
        (rest[0], rest[2], rest[4]), (rest[1], rest[3], rest[5]),
    )  # fmt: skip
    device = devices.current()
    if not device.multiplies(rows * columns * inner >= _LEAST):
        return HOST
    if not all(pool.owns(first, first + size) for first, size in found.extents()):
        return HOST
    device.product(found)
    return DONE
