"""What compiled code calls to have a kernel run: the record of a kernel, the number of turns, and what they are given.

A record is five words of the module: the number under which the kernel is loaded (0: not yet), the address and the
size of its image, the address of a text that says where arrays stand among what turns are given, and whether turns must
not run again. Turns only get arrays that the device reaches; otherwise, and where a launch does not pay, the host runs
them.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.lowering.calls import failures
from diffjit.lowering.cuda import devices, pool

SYMBOL = "dj_launch"
DONE, HOST, FAILED, RAISED = range(4)  # what a launch answers

WORDS = 5
_LOADED, _IMAGE, _SIZE, _LAYOUT, _ONCE = range(WORDS)
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class _Kernels:
    """The kernels of this process: each image is loaded once."""

    loaded: list[tuple[Any, Any]] = []  # noqa: RUF012 - a device, and its kernel
    numbers: dict[tuple[int, bytes], int] = {}  # noqa: RUF012
    counts: dict[str, int] = {"device": 0, "host": 0}  # noqa: RUF012 - launches, for who wants to know


def counts() -> dict[str, int]:
    """How often turns ran on the device and how often on the host, so far."""
    return dict(_Kernels.counts)


@cache
def start() -> Any:
    """Make the function known to the linker."""
    pool.start()
    callback = _CALLBACK(_launch)
    llvm.add_symbol(SYMBOL, ctypes.cast(callback, ctypes.c_void_p).value or 0)
    return callback


def _launch(record: int, count: int, args: int, work: int) -> int:
    try:
        answer = _launched((ctypes.c_int64 * WORDS).from_address(record), count, args, work)
    except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt, too, has to come out of the program
        failures.keep(error)
        return RAISED
    if count > 0:
        _Kernels.counts["device" if answer in (DONE, FAILED) else "host"] += 1
    return answer


def _launched(record: Any, count: int, args: int, work: int) -> int:
    if count <= 0:
        return DONE
    device = devices.current()
    if not device.pays(count, work):
        return HOST
    arrays = _arrays(ctypes.string_at(record[_LAYOUT]), args)
    if not all(pool.owns(first, first + size) for first, size in arrays):
        return HOST
    kernel = _kernel(device, record)
    flag = _flag()
    flag.value = 0
    once = bool(record[_ONCE])
    device.launch(kernel, count, args, ctypes.addressof(flag), arrays, once=once)
    if flag.value and once:
        message = "no memory on the device for the arrays that each turn of a loop makes"
        raise MemoryError(message)
    return FAILED if flag.value else DONE


_OF_THREAD = threading.local()


def _flag() -> ctypes.c_uint8:
    """The byte that turns set which fail: each thread has one."""
    if not hasattr(_OF_THREAD, "block"):
        _OF_THREAD.block = pool.Block(1, pool.PINNED)
    return ctypes.c_uint8.from_address(_OF_THREAD.block.address)


def _arrays(layout: bytes, args: int) -> list[tuple[int, int]]:
    """First byte and size of the arrays that turns are given, but for empty ones."""
    found: list[tuple[int, int]] = []
    for offset, ndim, itemsize in _entries(layout):
        words = (ctypes.c_int64 * (1 + 2 * ndim)).from_address(args + offset)
        first, shape, strides = words[0], words[1 : 1 + ndim], words[1 + ndim :]
        if 0 not in shape:
            found.append(pool.extent(first, shape, strides, itemsize))
    return found


@cache
def _entries(layout: bytes) -> list[tuple[int, int, int]]:
    """Of each array: where it stands, its dimensions, the bytes of an element."""
    return [(int(a), int(b), int(c)) for a, b, c in (entry.split(b":") for entry in layout.split())]


def _kernel(device: Any, record: Any) -> Any:
    number = record[_LOADED]
    if number and _Kernels.loaded[number - 1][0] is device:
        return _Kernels.loaded[number - 1][1]
    image = ctypes.string_at(record[_IMAGE], record[_SIZE])
    key = id(device), hashlib.sha256(image).digest()
    number = _Kernels.numbers.get(key, 0)
    if not number:
        _Kernels.loaded.append((device, device.load(image)))
        number = _Kernels.numbers[key] = len(_Kernels.loaded)
    record[_LOADED] = number
    return _Kernels.loaded[number - 1][1]
