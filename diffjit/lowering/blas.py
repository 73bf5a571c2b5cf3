"""BLAS and LAPACK by function pointer, from SciPy's exports: registered as symbols so that compiled code caches."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_BLAS = ("gemm", "gemv")
_LAPACK = ("gesv", "getrf", "potrf")


@cache
def register() -> None:
    """Make `dj_dgemm` and the others known to the linker."""
    from numba.extending import get_cython_function_address

    for letter in LETTERS.values():
        for library, names in (("cython_blas", _BLAS), ("cython_lapack", _LAPACK)):
            for name in names:
                address = get_cython_function_address(f"scipy.linalg.{library}", letter + name)
                llvm.add_symbol(f"dj_{letter}{name}", address)
