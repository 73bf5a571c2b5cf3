"""Fourier transforms along one axis, without any factor: what `np.fft` is made of (`library/fourier.py`).

`dft` is the discrete transform of complex numbers, forwards or backwards; `half_dft` that of real numbers, of whose
result the second half would be the mirrored conjugate of the first; `dft_of_half` goes back from there. All are linear,
and each is the adjoint of another: that of a sum over exp(-2 pi i j k / n) is one over exp(+2 pi i j k / n). Where a
half stands for the whole, its inner entries stand for two.
"""

# NumPy's stubs of operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives.registry import rule


def dft(a: Any, axis: int, forward: bool) -> Any:
    """out[k] = sum over j of a[j] * exp(-2 pi i j k / n), with +2 backwards; `a` is complex."""
    return np.fft.fft(a, axis=axis) if forward else np.fft.ifft(a, axis=axis, norm="forward")


def half_dft(a: Any, axis: int) -> Any:
    """The first n // 2 + 1 numbers of the transform of real numbers."""
    return np.fft.rfft(a, axis=axis)


def dft_of_half(a: Any, n: int, axis: int) -> Any:
    """The n real numbers that go back from the first n // 2 + 1 of their transform."""
    return np.fft.irfft(a, n, axis=axis, norm="forward")


def inner_scaled(a: Any, n: int, axis: int, factor: float) -> Any:
    """The half of a transform, whose inner entries are multiplied by a factor; not the first, nor the middle one."""
    weights = np.full(a.shape[axis], factor, dtype=a.real.dtype)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    return a * np.reshape(weights, (a.shape[axis],) + (1,) * (a.ndim - 1 - axis))


whole = rule("fft", "a", linear=True, numbers="adjoint")


@whole.vjp
def fft_vjp(out_bar: Any, *, axis: int, forward: bool) -> Any:
    """The transform in the other direction."""
    return dft(out_bar, axis, not forward)


half = rule("rfft", "a", linear=True, numbers="adjoint")


@half.vjp
def rfft_vjp(a: Any, out_bar: Any, *, axis: int) -> Any:
    """Back from a half whose entries stand for themselves alone; `a` lends its length."""
    n = a.shape[axis]
    return dft_of_half(inner_scaled(out_bar, n, axis, 0.5), n, axis)


back = rule("irfft", "a n", linear=True, numbers="adjoint")


@back.vjp
def irfft_vjp(n: Any, out_bar: Any, *, axis: int) -> Any:
    """Inner entries have been read twice."""
    return inner_scaled(half_dft(out_bar, axis), n, axis, 2.0), None
