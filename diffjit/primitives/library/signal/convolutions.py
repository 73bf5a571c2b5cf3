"""Convolutions and correlations of `scipy.signal`, in any number of dimensions."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.signal

from diffjit.primitives.library.axes import all_axes, as_float, places
from diffjit.primitives.registry import implements


def both(in1, in2):
    """Two arrays of as many dimensions."""
    a, v = np.asarray(in1), np.asarray(in2)
    if a.ndim != v.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    return a, v


def whole(a, v):
    """The full convolution, by sums over the elements of `v`."""
    shape = tuple(a.shape[k] + v.shape[k] - 1 for k in places(a.ndim))
    out = np.zeros(shape, (np.ravel(a)[:1] * np.ravel(v)[:1]).dtype)
    spread(out, a, v, ())
    return out


def spread(out, a, v, at):
    """Add what the elements of `v` from a place on give."""
    k = len(at)
    if k == a.ndim:
        out[tuple(slice(at[j], at[j] + a.shape[j]) for j in places(k))] += v[at] * a
    else:
        for i in range(v.shape[k]):
            spread(out, a, v, (*at, i))


def part(full, a, v, mode, axes, *, lenient=False):
    """The part of a full convolution that a mode asks for, along axes; `lenient` where a length of 1 fits all."""
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ValueError(f"acceptable mode flags are 'valid', 'same', or 'full' (got {mode!r})")
    if mode == "valid":
        first = all(a.shape[k] >= v.shape[k] or (lenient and a.shape[k] == 1) for k in axes)
        if not first and not all(v.shape[k] >= a.shape[k] or (lenient and v.shape[k] == 1) for k in axes):
            raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
    cut = []
    for k in places(full.ndim):
        n, m = a.shape[k], v.shape[k]
        if k not in axes:
            cut.append(slice(None))
        elif mode == "same":
            cut.append(slice((m - 1) // 2, (m - 1) // 2 + n))
        else:
            cut.append(slice(min(n, m) - 1, max(n, m)))
    return full[tuple(cut)].copy()


LARGE = 400  # so many elements of both that transforms are faster than sums


@implements(scipy.signal.convolve)
def convolve(in1, in2, mode="full", method="auto"):
    """The convolution of two arrays."""
    a, v = both(in1, in2)
    if a.ndim == 0:
        return a * v
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    axes = places(a.ndim)
    floats = a.dtype.kind in "fc" and v.dtype.kind in "fc"  # of integers, sums are exact
    if method == "fft" and floats:
        return part(transformed(a, v, axes), a, v, mode, axes)
    if method == "auto" and a.ndim == 1 and floats:
        many = min(a.shape[0], v.shape[0]) > LARGE
        return part(transformed(a, v, axes) if many else np.convolve(a, v), a, v, mode, axes)
    return part(whole(a, v), a, v, mode, axes)


@implements(scipy.signal.correlate)
def correlate(in1, in2, mode="full", method="auto"):
    """The cross-correlation of two arrays."""
    v = np.asarray(in2)
    turned = np.conjugate(v[(slice(None, None, -1),) * v.ndim])
    return convolve(in1, turned, mode, method)


def fast_length(n):
    """A length that transforms are fast for."""
    size = 1
    while size < n:
        size = 2 * size
    return size


def transformed(a, v, axes):
    """The full convolution along axes, by Fourier transforms."""
    a, v = as_float(a), as_float(v)
    lengths = tuple(a.shape[k] + v.shape[k] - 1 for k in axes)
    sizes = tuple(fast_length(n) for n in lengths)
    if a.dtype.kind == "c" or v.dtype.kind == "c":
        full = np.fft.ifftn(np.fft.fftn(a, sizes, axes) * np.fft.fftn(v, sizes, axes), sizes, axes)
    else:
        full = np.fft.irfftn(np.fft.rfftn(a, sizes, axes) * np.fft.rfftn(v, sizes, axes), sizes, axes)
    cut = [slice(None) for _ in places(full.ndim)]
    for k in places(len(axes)):
        cut[axes[k]] = slice(0, lengths[k])
    return full[tuple(cut)]


@implements(scipy.signal.fftconvolve, scipy.signal.oaconvolve)
def fftconvolve(in1, in2, mode="full", axes=None):
    """The convolution of two arrays by Fourier transforms."""
    a, v = both(in1, in2)
    if a.ndim == 0:
        return a * v
    axes = all_axes(axes, a.ndim)
    return part(transformed(a, v, axes), a, v, mode, axes, lenient=True)


@implements(scipy.signal.convolve2d)
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """The convolution of two matrices, the first continued at its edges."""
    a, v = both(in1, in2)
    if a.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if boundary not in ("fill", "pad", "wrap", "circular", "symm", "symmetric"):
        raise ValueError(
            f"Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric', not {boundary!r}"
        )
    axes = (0, 1)
    if mode == "valid":
        return part(whole(a, v), a, v, mode, axes)
    width = ((v.shape[0] - 1, v.shape[0] - 1), (v.shape[1] - 1, v.shape[1] - 1))
    if boundary in ("fill", "pad"):
        if fillvalue == 0:
            return part(whole(a, v), a, v, mode, axes)
        wide = np.pad(a, width, constant_values=fillvalue)
    else:
        wide = np.pad(a, width, "wrap" if boundary in ("wrap", "circular") else "symmetric")
    rows, columns = a.shape[0] + v.shape[0] - 1, a.shape[1] + v.shape[1] - 1
    out = np.zeros((rows, columns), (a[:1, :1] * v[:1, :1]).dtype)
    turned = v[::-1, ::-1]
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            out += turned[i, j] * wide[i : i + rows, j : j + columns]
    return part(out, a, v, mode, axes)


@implements(scipy.signal.correlate2d)
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """The cross-correlation of two matrices, the first continued at its edges."""
    turned = np.conjugate(np.asarray(in2))[::-1, ::-1]
    if mode != "same":
        return convolve2d(in1, turned, mode, boundary, fillvalue)
    # The middle of a window of even length lies on the other side than that of a convolution's.
    full = convolve2d(in1, turned, "full", boundary, fillvalue)
    rows, columns = np.shape(in1)
    i, j = turned.shape[0] // 2, turned.shape[1] // 2
    return full[i : i + rows, j : j + columns].copy()
