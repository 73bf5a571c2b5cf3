"""Smoothing and trends of `scipy.signal`: filters of Savitzky-Golay and Wiener, medians, `detrend`, `resample`."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.ndimage
import scipy.signal

from diffjit.primitives.library.axes import as_float, one_axis
from diffjit.primitives.library.ndimage.filters import each
from diffjit.primitives.library.ndimage.lines import extended_rows
from diffjit.primitives.library.signal.designs import edge_weights
from diffjit.primitives.library.signal.filters import back, rows_of
from diffjit.primitives.registry import implements


@implements(scipy.signal.savgol_filter)
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0):
    """Values, or derivatives, of polynomials through neighbours."""
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    rows, n, half = rows_of(x, axis), x.shape[axis], window_length // 2
    weights = scipy.signal.savgol_coeffs(window_length, polyorder, deriv, delta)
    if mode == "interp" and window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    # An even window reaches further to the left.
    before, after = window_length - 1 - half, half
    wide = extended_rows(rows, before, after, "constant" if mode == "interp" else mode, cval)
    out = np.zeros_like(rows)
    for k in range(window_length):
        out += weights[window_length - 1 - k] * wide[:, k : k + n]
    if mode == "interp":
        first = edge_weights(window_length, polyorder, deriv, delta)
        sign = -1.0 if deriv % 2 == 1 else 1.0
        out[:, :half] = rows[:, :window_length] @ np.transpose(first)
        last = rows[:, ::-1][:, :window_length] @ np.transpose(first)
        out[:, n - half :] = sign * last[:, ::-1]
    return back(out, x.shape, axis)


@implements(scipy.signal.detrend)
def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):  # noqa: A002 - SciPy's name
    """A signal without its mean, or without the line that is nearest to it."""
    x = as_float(np.asarray(data))
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    axis = one_axis(axis, x.ndim)
    rows, n = rows_of(x, axis), x.shape[axis]
    cuts = np.unique(np.concatenate((np.array([0]), np.ravel(np.asarray(bp)), np.array([n]))))
    if np.any(cuts > n):
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    out = np.zeros_like(rows)
    for k in range(cuts.shape[0] - 1):
        part = rows[:, cuts[k] : cuts[k + 1]]
        t = np.arange(part.shape[1]) - 0.5 * (part.shape[1] - 1)
        middle = np.mean(part, axis=1, keepdims=True)
        slope = (part - middle) @ t / np.maximum(np.sum(t * t), 1e-300)
        out[:, cuts[k] : cuts[k + 1]] = part - middle - slope[:, None] * t
    return back(out, x.shape, axis)


@implements(scipy.signal.hilbert)
def hilbert(x, N=None, axis=-1):
    """The analytic signal of a real one."""
    x = as_float(np.asarray(x))
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    axis = one_axis(axis, x.ndim)
    rows = rows_of(x, axis)
    n = rows.shape[1] if N is None else N
    if n <= 0:
        raise ValueError("N must be positive.")
    return back(np.fft.ifft(np.fft.fft(rows, n) * one_sided(n, x.dtype, 1.0)), x.shape, axis)


# Whether SciPy's hilbert2 keeps the wave of the highest frequency, which stands for two: its versions differ.
HIGHEST = float(np.real(scipy.signal.hilbert2(np.array([[1.0, -1.0]]))[0, 0]))


def one_sided(n, dtype, highest):
    """Weights of waves that keep those of positive frequency; `highest`: of the one that stands for two."""
    weights = np.zeros(n, dtype)
    weights[1 : (n + 1) // 2] = 2.0
    weights[0] = 1.0
    if n % 2 == 0:
        weights[n // 2] = highest
    return weights


@implements(scipy.signal.hilbert2)
def hilbert2(x, N=None, axes=(-2, -1)):
    """The analytic signal of a real image."""
    x = np.atleast_2d(as_float(np.asarray(x)))
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    if len(axes) != 2:
        raise ValueError("axes must be a tuple of length 2")
    first, second = one_axis(axes[0], x.ndim), one_axis(axes[1], x.ndim)
    if first == second:
        raise ValueError("axes must contain 2 distinct axes")
    n, m = (x.shape[first], x.shape[second]) if N is None else each(N, 2)
    if n <= 0 or m <= 0:
        raise ValueError("N must be positive, or hold two positive integers")
    waves = np.moveaxis(np.fft.fft2(x, (n, m), (first, second)), (first, second), (-2, -1))
    kept = waves * one_sided(n, x.dtype, HIGHEST)[:, None] * one_sided(m, x.dtype, HIGHEST)
    return np.moveaxis(np.fft.ifft2(kept), (-2, -1), (first, second))


@implements(scipy.signal.resample)
def resample(x, num, t=None, axis=0, window=None, domain="time"):
    """As many values as asked for of a periodic signal, by its Fourier series."""
    if t is not None or window is not None or domain != "time":
        raise NotImplementedError("resample(t, window, domain): leave them out")
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    rows, n = rows_of(x, axis), x.shape[axis]
    shorter = min(n, num)
    half = shorter // 2 + 1
    if x.dtype.kind != "c":
        waves = np.fft.rfft(rows)
        kept = np.zeros((rows.shape[0], num // 2 + 1), waves.dtype)
        kept[:, :half] = waves[:, :half]
        if shorter % 2 == 0 and n != num:
            # The wave of the highest frequency stands for two, or is one of two.
            kept[:, shorter // 2] *= 2.0 if num < n else 0.5
        return back(np.fft.irfft(kept, num) * (num / n), x.shape, axis)
    waves = np.fft.fft(rows)
    kept = np.zeros((rows.shape[0], num), waves.dtype)
    kept[:, :half] = waves[:, :half]
    rest = shorter - half
    kept[:, num - rest :] = waves[:, n - rest :]
    if shorter % 2 == 0:
        if num < n:
            kept[:, shorter // 2] += waves[:, n - shorter // 2]
        elif n < num:
            kept[:, shorter // 2] *= 0.5
            kept[:, num - shorter // 2] = kept[:, shorter // 2]
    return back(np.fft.ifft(kept) * (num / n), x.shape, axis)


@implements(scipy.signal.medfilt)
def medfilt(volume, kernel_size=None):
    """The element in the middle of the order of each window, which has zeros outside."""
    volume = np.atleast_1d(np.asarray(volume))
    if volume.dtype.kind not in "iuf":
        raise ValueError(f"dtype={volume.dtype} is not supported by medfilt")
    sizes = each(3 if kernel_size is None else kernel_size, volume.ndim)
    if any(size % 2 != 1 for size in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    return scipy.ndimage.median_filter(volume, sizes, mode="constant")


@implements(scipy.signal.medfilt2d)
def medfilt2d(input, kernel_size=3):  # noqa: A002 - SciPy's name
    """The element in the middle of the order of each window of an image, which has zeros outside."""
    if np.ndim(input) != 2:
        raise ValueError("object of too small depth for desired array, or of too large one: an image has two axes")
    return medfilt(input, kernel_size)


@implements(scipy.signal.wiener)
def wiener(im, mysize=None, noise=None):
    """Local means, and of what differs from them as much as the local variance exceeds that of the noise."""
    im = np.asarray(im)
    sizes = each(3 if mysize is None else mysize, im.ndim)
    box, count = np.ones(sizes), float(math.prod(sizes))
    mean = scipy.signal.correlate(im, box, "same") / count
    variance = scipy.signal.correlate(im**2, box, "same") / count - mean**2
    if noise is None:
        noise = np.mean(variance)
    quiet = variance < noise
    kept = mean + (im - mean) * (1.0 - noise / np.where(quiet, 1.0, variance))
    return np.where(quiet, mean, kept)
