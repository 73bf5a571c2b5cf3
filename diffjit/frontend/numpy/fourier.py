"""Fourier transforms along one axis (`primitives.fourier`) as operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Dim, Sym
from diffjit.primitives import fourier


class FourierTransforms(Mixin):
    """Mixin of the interpreter."""

    @core(fourier.dft)
    def np_dft(self, a: Any, axis: Any, forward: Any) -> Any:
        return self.build.value("fft", [a], _transformed(a, a.type.dtype), axis=axis.obj, forward=forward.obj)

    @core(fourier.half_dft)
    def np_half_dft(self, a: Any, axis: Any) -> Any:
        n = a.type.dims[axis.obj]
        ty = _transformed(a, np.result_type(a.type.dtype, np.complex64), axis.obj, _half(n))
        return self.build.value("rfft", [a], ty, axis=axis.obj)

    @core(fourier.dft_of_half)
    def np_dft_of_half(self, a: Any, n: Any, axis: Any) -> Any:
        n = self.length_given(n)
        length = getattr(n, "obj", None)
        real = np.dtype(f"f{a.type.dtype.itemsize // 2}")
        ty = _transformed(a, real, axis.obj, int(length) if length is not None else Sym())
        return self.build.value("irfft", [a, self.number(n)], ty, axis=axis.obj)


def _half(n: Dim) -> Dim:
    return n // 2 + 1 if isinstance(n, int) else Sym()


def _transformed(a: Value, dtype: np.dtype[Any], axis: int = 0, length: Dim | None = None) -> Array:
    """NumPy makes the result in the order of its operand, as far as that has one."""
    ty = a.type
    dims = ty.dims if length is None else (*ty.dims[:axis], length, *ty.dims[axis + 1 :])
    return Array(dtype, dims, "C" if ty.layout == "C" or ty.ndim == 1 else "A")
