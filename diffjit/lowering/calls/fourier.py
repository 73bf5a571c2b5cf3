"""Fourier transforms by function pointer: the inner loops of NumPy's own, registered as symbols as BLAS is.

`np.fft` calls generalised ufuncs. What these call for a row of transforms is a C function of NumPy's public interface
(`PyUFuncGenericFunction`, in the public structure `PyUFuncObject`), which needs neither Python objects nor a copy:
results are NumPy's to the last bit, and plans are shared with it. Each function takes a pointer to data of its own.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.errors import InternalError
from diffjit.primitives.signatures import loop_of

# Symbol -> ufunc, and the types of the loop.
_LOOPS = {
    f"dj_{name}_{letter}": (ufunc, types.replace("D", letter.upper()).replace("d", letter))
    for letter in ("d", "f")
    for name, ufunc, types in (
        ("fft", "fft", "Dd->D"),
        ("ifft", "ifft", "Dd->D"),
        ("rfft_even", "rfft_n_even", "dd->D"),
        ("rfft_odd", "rfft_n_odd", "dd->D"),
        ("irfft", "irfft", "Dd->d"),
    )
}
_DATA = "_data"


@cache
def register() -> None:
    """Make the loops and their data known to the linker."""
    module = importlib.import_module("numpy.fft._pocketfft_umath")
    for symbol, (name, types) in _LOOPS.items():
        function, data = _loop(getattr(module, name), types)
        llvm.add_symbol(symbol, function)
        llvm.add_symbol(symbol + _DATA, data)


def _loop(ufunc: Any, types: str) -> tuple[int, int]:
    """The addresses of a loop and of its data."""
    found = loop_of(ufunc, types)
    if found is None:
        raise InternalError(
            "DJ901", f"this NumPy has no loop {types} of `{ufunc}`", cure='use backend="python" for np.fft'
        )
    return found
