"""Filters that multiply a transform, and images whose places a function gives."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# ruff: noqa: A002 - SciPy's names

from __future__ import annotations

import numpy as np
import scipy.ndimage

from diffjit.primitives.library.axes import places
from diffjit.primitives.library.ndimage.between import interpolated, without_output
from diffjit.primitives.registry import implements


def along_each(input, given, n, axis, factor, output):
    """An array of a transform times a factor for each axis; `n`: how many numbers a half axis stands for."""
    without_output(output)
    a = np.asarray(input)
    found = a * 1.0
    for k in places(a.ndim):
        size = given if np.ndim(given) == 0 else given[k]
        length = a.shape[k]
        half = n >= 0 and k == axis % a.ndim
        f = np.arange(length) / n if half else np.fft.fftfreq(length)
        found = found * np.reshape(factor(f, size), [length if j == k else 1 for j in places(a.ndim)])
    return found


@implements(scipy.ndimage.fourier_gaussian)
def fourier_gaussian(input, sigma, n=-1, axis=-1, output=None):
    """A Gaussian of a width, in the transform."""
    return along_each(input, sigma, n, axis, lambda f, s: np.exp(-2 * (np.pi * f * s) ** 2), output)


@implements(scipy.ndimage.fourier_uniform)
def fourier_uniform(input, size, n=-1, axis=-1, output=None):
    """A box of a size, in the transform."""
    return along_each(input, size, n, axis, lambda f, s: np.sinc(f * s), output)


@implements(scipy.ndimage.fourier_shift)
def fourier_shift(input, shift, n=-1, axis=-1, output=None):
    """A shift, in the transform."""
    return along_each(input, shift, n, axis, lambda f, s: np.exp(-2j * np.pi * f * s), output)


@implements(scipy.ndimage.geometric_transform)
def geometric_transform(
    input, mapping, output_shape=None, output=None, order=3, mode="constant", cval=0.0, prefilter=True,
    extra_arguments=(), extra_keywords=None,
):  # fmt: skip
    """An array at the places that a function gives for those of the result."""
    without_output(output)
    a = np.asarray(input)
    shape = a.shape if output_shape is None else tuple(output_shape)
    named = {} if extra_keywords is None else extra_keywords
    rows = [mapping(place, *extra_arguments, **named) for place in np.ndindex(shape)]
    found = np.reshape(np.array(rows) * 1.0, (*shape, a.ndim))
    return interpolated(a, np.moveaxis(found, -1, 0), order, mode, cval, prefilter)
