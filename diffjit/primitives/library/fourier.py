"""`np.fft`: transforms along one axis or several, padded or cut, with their factors; shifts and frequencies."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic

from __future__ import annotations

import numpy as np

from diffjit.primitives.fourier import dft, dft_of_half, half_dft
from diffjit.primitives.library.axes import along, one_axis, places
from diffjit.primitives.registry import implements


def is_single(a):
    """Whether NumPy computes in single precision."""
    return a.dtype in (np.float32, np.complex64, np.float16)


def as_complex(a):
    """Complex numbers, as precise as `a`."""
    return a.astype(np.complex64 if is_single(a) else np.complex128)


def as_real(a):
    """Real numbers, as precise as `a`."""
    if a.dtype.kind == "c":
        raise TypeError("a transform of real numbers takes no complex ones")
    return a.astype(np.float32 if is_single(a) else np.float64)


def resized(a, n, axis):
    """Cut, or padded with zeros, to a length."""
    if n is None:
        if a.shape[axis] < 1:
            raise ValueError("Invalid number of FFT data points (0) specified.")
        return a
    if n < 1:
        raise ValueError("Invalid number of FFT data points specified.")
    result = np.zeros((*a.shape[:axis], n, *a.shape[axis + 1 :]), a.dtype)
    m = min(n, a.shape[axis])
    result[along(axis, slice(0, m))] = a[along(axis, slice(0, m))]
    return result


def scaled(a, n, norm, forward):
    """Multiplied by the factor that belongs to this direction."""
    if norm == "ortho":
        return a * n**-0.5  # Python's number, which leaves single precision as it is
    if norm is not None and norm not in ("backward", "forward"):
        raise ValueError('Invalid norm value; should be "backward", "ortho" or "forward".')
    return a * (1.0 / n) if forward == (norm == "forward") else a


def other(norm):
    """The factor of the other direction."""
    if norm is None or norm == "backward":
        return "forward"
    return "backward" if norm == "forward" else norm


def transform(a, n, axis, norm, forward):
    """A transform of complex numbers."""
    a = np.asarray(a)
    axis = one_axis(axis, a.ndim)
    x = resized(as_complex(a), n, axis)
    return scaled(dft(x, axis, forward), x.shape[axis], norm, forward)


def no_out(out):
    """Results are fresh arrays."""
    if out is not None:
        raise NotImplementedError("np.fft: out= is not supported: assign the result")


@implements(np.fft.fft)
def fft(a, n=None, axis=-1, norm=None, out=None):
    """The transform."""
    no_out(out)
    return transform(a, n, axis, norm, True)


@implements(np.fft.ifft)
def ifft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse transform."""
    no_out(out)
    return transform(a, n, axis, norm, False)


@implements(np.fft.rfft)
def rfft(a, n=None, axis=-1, norm=None, out=None):
    """The transform of real numbers: its first half."""
    no_out(out)
    a = np.asarray(a)
    axis = one_axis(axis, a.ndim)
    x = resized(as_real(a), n, axis)
    return scaled(half_dft(x, axis), x.shape[axis], norm, True)


@implements(np.fft.irfft)
def irfft(a, n=None, axis=-1, norm=None, out=None):
    """Real numbers from the first half of their transform."""
    no_out(out)
    a = np.asarray(a)
    axis = one_axis(axis, a.ndim)
    length = 2 * (a.shape[axis] - 1) if n is None else n
    if length < 1:
        raise ValueError("Invalid number of FFT data points specified.")
    x = resized(as_complex(a), length // 2 + 1, axis)
    return scaled(dft_of_half(x, length, axis), length, norm, False)


@implements(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None, out=None):
    """The transform, real, of numbers whose second half is the mirrored conjugate of the first."""
    return irfft(np.conjugate(a), n, axis, other(norm), out)


@implements(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse of `hfft`."""
    return np.conjugate(rfft(a, n, axis, other(norm), out))


def lengths_and_axes(a, s, axes, *, halves=False):
    """A length for each axis; None keeps that of the array, as -1 does."""
    if s is None:
        axes = places(a.ndim) if axes is None else tuple(axes)
        lengths = tuple(None for _ in axes)
        if halves:
            lengths = (*lengths[:-1], 2 * (a.shape[axes[-1]] - 1))
        return lengths, axes
    if axes is None:
        raise NotImplementedError("np.fft: s without axes is not supported: name the axes")
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return tuple(a.shape[axes[k]] if s[k] == -1 else s[k] for k in places(len(s))), tuple(axes)


def transform_all(a, s, axes, norm, forward):
    """Transforms of complex numbers along several axes, the last one first."""
    a = np.asarray(a)
    lengths, axes = lengths_and_axes(a, s, axes)
    result = a if len(axes) > 0 else as_complex(a)
    for k in places(len(axes))[::-1]:
        result = transform(result, lengths[k], axes[k], norm, forward)
    return result


@implements(np.fft.fftn)
def fftn(a, s=None, axes=None, norm=None, out=None):
    """The transform along several axes."""
    no_out(out)
    return transform_all(a, s, axes, norm, True)


@implements(np.fft.ifftn)
def ifftn(a, s=None, axes=None, norm=None, out=None):
    """The inverse transform along several axes."""
    no_out(out)
    return transform_all(a, s, axes, norm, False)


@implements(np.fft.fft2)
def fft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The transform along two axes."""
    no_out(out)
    return transform_all(a, s, axes, norm, True)


@implements(np.fft.ifft2)
def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The inverse transform along two axes."""
    no_out(out)
    return transform_all(a, s, axes, norm, False)


@implements(np.fft.rfftn)
def rfftn(a, s=None, axes=None, norm=None, out=None):
    """The transform of real numbers along several axes: half of the last one."""
    no_out(out)
    a = np.asarray(a)
    lengths, axes = lengths_and_axes(a, s, axes)
    result = rfft(a, lengths[-1], axes[-1], norm)
    for k in places(len(axes) - 1)[::-1]:
        result = transform(result, lengths[k], axes[k], norm, True)
    return result


@implements(np.fft.irfftn)
def irfftn(a, s=None, axes=None, norm=None, out=None):
    """Real numbers from half of their transform along several axes."""
    no_out(out)
    a = np.asarray(a)
    lengths, axes = lengths_and_axes(a, s, axes, halves=True)
    result = a
    for k in places(len(axes) - 1):
        result = transform(result, lengths[k], axes[k], norm, False)
    return irfft(result, lengths[-1], axes[-1], norm)


@implements(np.fft.rfft2)
def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The transform of real numbers along two axes."""
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """Real numbers from half of their transform along two axes."""
    return irfftn(a, s, axes, norm, out)


def shifted(x, axes, forward):
    """Rolled by half of each length."""
    x = np.asarray(x)
    chosen = places(x.ndim) if axes is None else tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    for k in chosen:
        half = x.shape[k] // 2
        x = np.roll(x, half if forward else -half, k)
    return x if chosen else x.copy()


@implements(np.fft.fftshift)
def fftshift(x, axes=None):
    """Frequency 0 moved to the middle."""
    return shifted(x, axes, True)


@implements(np.fft.ifftshift)
def ifftshift(x, axes=None):
    """The inverse of `fftshift`."""
    return shifted(x, axes, False)


@implements(np.fft.fftfreq)
def fftfreq(n, d=1.0, device=None):
    """The frequencies of a transform of n samples at distance d."""
    return np.concatenate((np.arange(0, (n - 1) // 2 + 1), np.arange(-(n // 2), 0))) * (1.0 / (n * d))


@implements(np.fft.rfftfreq)
def rfftfreq(n, d=1.0, device=None):
    """The frequencies of half a transform of n real samples at distance d."""
    return np.arange(0, n // 2 + 1) * (1.0 / (n * d))
