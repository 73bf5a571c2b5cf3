"""NVIDIA's library of products, cuBLAS, by its C interface: of a toolkit, or of the package `nvidia-cublas`.

(docs.nvidia.com/cuda/cublas, `cublas<t>gemm`: arguments are those of BLAS, in column order. Its results are the same
bits in each run on one device, and float32 is multiplied as float32.)
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from diffjit.lowering.cuda.products import Product

_NAMES = ("cublas64_13.dll", "cublas64_12.dll") if sys.platform == "win32" else ("libcublas.so.13", "libcublas.so.12")
_KINDS: dict[str, tuple[Any, int]] = {  # of letters: the type of a part of a number, and how many parts it has
    "s": (ctypes.c_float, 1), "d": (ctypes.c_double, 1), "c": (ctypes.c_float, 2), "z": (ctypes.c_double, 2),
}  # fmt: skip
_OUT_OF_MEMORY = 3  # CUBLAS_STATUS_ALLOC_FAILED


def _places() -> Iterator[str]:
    package = importlib.util.find_spec("nvidia")
    for folder in () if package is None else (package.submodule_search_locations or ()):
        for name in _NAMES:
            yield from map(str, sorted(Path(folder).glob(f"*/lib/{name}")))
            yield from map(str, sorted(Path(folder).glob(f"*/bin/{name}")))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield from (str(Path(os.environ[variable], "lib64", name)) for name in _NAMES)
    yield from _NAMES  # where the system looks
    yield from (f"/usr/local/cuda/lib64/{name}" for name in _NAMES)


@cache
def opened() -> Any:
    """The library; None where it is not installed."""
    for place in _places():
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    return None


class Handle:
    """The library in the device's context, which is entered where this is used."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()
        self.code = opened().cublasCreate_v2(ctypes.byref(self.handle))

    def product(self, p: Product) -> int:
        """Ask for a product: the library's code, 0 where it was taken."""
        kind, parts = _KINDS[p.letter]
        one, zero = (kind * parts)(1.0), (kind * parts)(0.0)
        left, right, out = map(ctypes.c_uint64, p.places)
        a, b, c = p.leading
        function = getattr(opened(), f"cublas{p.letter.upper()}gemm_v2")
        return function(
            self.handle, int(p.turned[0]), int(p.turned[1]), p.rows, p.columns, p.inner, one, left, a, right, b,
            zero, out, c,
        )  # fmt: skip


def out_of_memory(code: int) -> bool:
    """Whether a code of the library says that there is no memory."""
    return code == _OUT_OF_MEMORY
