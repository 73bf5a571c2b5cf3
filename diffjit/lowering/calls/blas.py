"""BLAS and LAPACK by function pointer, from SciPy's exports: registered as symbols so that compiled code caches."""

from __future__ import annotations

import importlib
from functools import cache

import llvmlite.binding as llvm

from diffjit.primitives.signatures import address_of

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_LIBRARIES = {"cython_blas": ("gemm", "gemv"), "cython_lapack": ("gesv", "getrf", "potrf", "gesdd")}
_HERMITIAN = {"s": "syevd", "d": "syevd", "c": "heevd", "z": "heevd"}
_SYMBOLS = {
    f"dj_{letter}{name}": (library, letter + name)
    for letter in LETTERS.values()
    for library, names in _LIBRARIES.items()
    for name in names
} | {f"dj_{letter}{name}": ("cython_lapack", letter + name) for letter, name in _HERMITIAN.items()}


def provides(symbol: str) -> bool:
    """Whether a symbol is one of these."""
    return symbol in _SYMBOLS


@cache
def register() -> None:
    """Make `dj_dgemm` and the others known to the linker."""
    for symbol, (library, name) in _SYMBOLS.items():
        llvm.add_symbol(symbol, address_of(importlib.import_module(f"scipy.linalg.{library}").__pyx_capi__[name]))
