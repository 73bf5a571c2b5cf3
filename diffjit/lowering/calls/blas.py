"""BLAS and LAPACK by function pointer, from SciPy's exports: registered as symbols so that compiled code caches."""

from __future__ import annotations

import ctypes
import importlib
import sys
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

import llvmlite.binding as llvm

from diffjit.primitives.signatures import address_of

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_LIBRARIES = {"cython_blas": ("gemm", "gemv", "trsm", "trsv"), "cython_lapack": ("gesv", "getrf", "potrf", "gesdd")}
_HERMITIAN = {"s": "syevd", "d": "syevd", "c": "heevd", "z": "heevd"}
_SYMBOLS = {
    f"dj_{letter}{name}": (library, letter + name)
    for letter in LETTERS.values()
    for library, names in _LIBRARIES.items()
    for name in names
} | {f"dj_{letter}{name}": ("cython_lapack", letter + name) for letter, name in _HERMITIAN.items()}


@cache
def register() -> None:
    """Make `dj_dgemm` and the others known to the linker."""
    for library in (*_LIBRARIES,):
        wanted = {symbol: name for symbol, (home, name) in _SYMBOLS.items() if home == library}
        for symbol, address in (_linked(library, wanted) or _exported(library, wanted)).items():
            llvm.add_symbol(symbol, address)


def _exported(library: str, wanted: dict[str, str]) -> dict[str, int]:
    """The addresses that SciPy's module gives; to import it takes a quarter of a second, for all of `scipy.linalg`."""
    exports = importlib.import_module(f"scipy.linalg.{library}").__pyx_capi__
    return {symbol: address_of(exports[name]) for symbol, name in wanted.items()}


def _linked(library: str, wanted: dict[str, str]) -> dict[str, int] | None:
    """The addresses in the libraries that SciPy's module is linked with, without running the module; None: not found.

    They go by the names of Fortran with 32-bit integers: with SciPy's own prefix in its wheels. Others end differently.
    """
    scipy = PathFinder.find_spec("scipy")
    folders = [str(Path(folder) / "linalg") for folder in (scipy and scipy.submodule_search_locations) or ()]
    module = PathFinder.find_spec(f"scipy.linalg.{library}", folders)
    if f"scipy.linalg.{library}" in sys.modules or module is None or module.origin is None:
        return None
    try:
        opened = ctypes.CDLL(module.origin)
    except OSError:
        return None
    for prefix in ("scipy_", ""):
        found = {symbol: getattr(opened, f"{prefix}{name}_", None) for symbol, name in wanted.items()}
        addresses = {symbol: ctypes.cast(f, ctypes.c_void_p).value for symbol, f in found.items() if f is not None}
        if len(addresses) == len(wanted) and all(addresses.values()):
            _OPENED.append(opened)
            return {symbol: address or 0 for symbol, address in addresses.items()}
    return None


_OPENED: list[ctypes.CDLL] = []
