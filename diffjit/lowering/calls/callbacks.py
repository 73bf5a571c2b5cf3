"""Functions without source as symbols that compiled code is linked with: `dj_jv_0`, by the label of a site.

The text of a program names sites; which function a label stands for is known in this process alone. So addresses are
no part of text or machine code, and code from the cache is linked with the functions of the process that runs it.

Where Python is to be called, the symbol is a callback. Its one argument says where operands and results are: for a
number its address, for an array its address, lengths and strides, one 64-bit word each. What it raises is kept for the
thread, and comes out of the program as it is.
"""

from __future__ import annotations

import ctypes
import math
import threading
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from diffjit.ir.types import Array, Scalar
from diffjit.lowering.calls import failures
from diffjit.lowering.llvm import tiers
from diffjit.primitives.routines import Site

_WORDS = ctypes.POINTER(ctypes.c_int64)
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, _WORDS)
_made: dict[str, Any] = {}  # label -> what keeps the function alive
_lock = threading.Lock()


def symbol(site: Site) -> str:
    """The symbol of a site's function; that of its data ends in `_data`."""
    return f"dj_{site.label}"


def register(site: Site) -> None:
    """Make a site's function known to the linker."""
    with _lock:
        if site.label not in _made:
            _register(site)


def _register(site: Site) -> None:
    name = symbol(site)
    if site.routine.way == "ufunc":
        function, data = site.loops()
        llvm.add_symbol(name + "_data", data)
    elif site.routine.way == "c":
        assert site.routine.signature is not None
        function = site.routine.signature.address
        given = next((p.value for p in site.routine.signature.parameters if not p.given and p.value), 0)
        llvm.add_symbol(name + "_data", given or function)  # a symbol has an address
    else:
        callback = _CALLBACK(lambda words: _called(site, words))
        _made[site.label] = callback
        function = ctypes.cast(callback, ctypes.c_void_p).value or 0
    llvm.add_symbol(name, function)
    _made.setdefault(site.label, site)


def _called(site: Site, words: Any) -> int:
    """Call Python: 1, or 0 where that raises, as ctypes returns it if this function is not even begun."""
    light = tiers.step_aside()
    try:
        place = 0
        given: list[Any] = []
        for ty in site.inputs:
            given.append(_read(words, place, ty))
            place += _width(ty)
        shapes: list[tuple[int, ...]] = []
        places: list[int] = []
        for ty in site.outputs:
            places.append(place)
            shapes.append(tuple(words[place + 1 + k] for k in range(ty.ndim)) if isinstance(ty, Array) else ())
            place += _width(ty)
        outs = site.call_python(given, shapes)
        for at, ty, shape, value in zip(places, site.outputs, shapes, outs, strict=True):
            if type(value) is float and ty.dtype == np.float64:
                ctypes.c_double.from_address(words[at]).value = value
            else:
                _memory(words[at], shape, ty.dtype)[...] = value
    except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt, too, has to come out of the program
        failures.keep(error)
        return 0
    finally:
        tiers.step_back(light)
    return 1


def _width(ty: Scalar | Array) -> int:
    return 1 + 2 * ty.ndim if isinstance(ty, Array) else 1


def _read(words: Any, place: int, ty: Scalar | Array) -> Any:
    """An operand: a number, or an array as long as the call lasts."""
    if isinstance(ty, Scalar):
        if ty.weak and ty.dtype == np.float64:
            return ctypes.c_double.from_address(words[place]).value
        number = _memory(words[place], (), ty.dtype)[()]
        return number.item() if ty.weak else number
    shape = tuple(words[place + 1 + k] for k in range(ty.ndim))
    strides = tuple(words[place + 1 + ty.ndim + k] for k in range(ty.ndim))
    return failures.view_at(words[place], shape, strides, ty.dtype)


def _memory(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory of compiled code, in C's order, as long as the call lasts."""
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    buffer: Any = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(buffer, dtype).reshape(shape)
