"""Filters of `scipy.ndimage`: correlations, Gaussians, derivatives."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from __future__ import annotations

import numpy as np
import scipy.ndimage

from diffjit.primitives.library.axes import all_axes, as_float, one_axis, places
from diffjit.primitives.library.ndimage.lines import continued, correlated, exact, without_output
from diffjit.primitives.registry import implements


def each(value, count):
    """One value, or one for each axis."""
    if isinstance(value, (tuple, list)):
        if len(value) != count:
            raise RuntimeError("sequence argument must have length equal to the number of axes")
        return tuple(value)
    return (value,) * count


def rising(axes, ndim):
    """Axes that a filter goes along, in their order: SciPy does not turn windows."""
    axes = all_axes(axes, ndim)
    if any(axes[k] >= axes[k + 1] for k in places(len(axes) - 1)):
        raise NotImplementedError("scipy.ndimage along axes that do not rise: give them in their order")
    return axes


def on_axes(value, axes, ndim, rest):
    """One value, or one for each of some axes, as one for each of all; another one for those that are not given."""
    if axes is None:
        return each(value, ndim)
    axes = rising(axes, ndim)
    return placed(each(value, len(axes)), axes, ndim, rest)


def placed(values, axes, ndim, rest):
    """Values of some axes at the places of these among all, and another one at the others."""
    return tuple(values[axes.index(k)] if k in axes else rest for k in places(ndim))


def extended(window, axes, ndim):
    """A window for some axes as one for all, of length 1 along those that are not given."""
    if window.ndim != len(axes):
        raise RuntimeError("a window must have as many axes as the filter goes along")
    if window.ndim == ndim:
        return window
    return np.reshape(window, placed(window.shape, axes, ndim, 1))


def rounded(out, a):
    """In the dtype of what was given."""
    return out if a.dtype == out.dtype else out.astype(a.dtype)


@implements(scipy.ndimage.correlate1d)
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):  # noqa: A002 - SciPy's
    """The correlation with weights along an axis."""
    without_output(output)
    a, weights = np.asarray(input), as_float(np.asarray(weights))
    return correlated(a, weights, one_axis(axis, a.ndim), mode, cval, origin)


@implements(scipy.ndimage.convolve1d)
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):  # noqa: A002
    """The convolution with weights along an axis."""
    weights = as_float(np.asarray(weights))
    shift = -origin - (1 if weights.shape[0] % 2 == 0 else 0)
    return correlate1d(input, weights[::-1], axis, output, mode, cval, shift)


@implements(scipy.ndimage.correlate)
def correlate(
    input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None  # noqa: A002
):  # fmt: skip
    """The correlation with weights."""
    without_output(output)
    a, weights = np.asarray(input), as_float(np.asarray(weights))
    weights = extended(weights, rising(axes, a.ndim), a.ndim)
    wide, modes, origins = exact(a), on_axes(mode, axes, a.ndim, "constant"), on_axes(origin, axes, a.ndim, 0)
    for k in places(a.ndim):
        before = weights.shape[k] // 2 + origins[k]
        wide = continued(wide, k, before, weights.shape[k] - 1 - before, modes[k], cval)
    out = np.zeros(a.shape, (np.ravel(weights)[:1] * np.ravel(wide)[:1]).dtype)
    gather(out, wide, weights, ())
    return rounded(out, a)


def gather(out, wide, weights, at):
    """Add the window's elements from a place on."""
    k = len(at)
    if k == out.ndim:
        out += weights[at] * wide[tuple(slice(at[j], at[j] + out.shape[j]) for j in places(k))]
    else:
        for i in range(weights.shape[k]):
            gather(out, wide, weights, (*at, i))


@implements(scipy.ndimage.convolve)
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):  # noqa: A002
    """The convolution with weights."""
    weights = as_float(np.asarray(weights))
    turned = weights[(slice(None, None, -1),) * weights.ndim]
    origins = each(origin, weights.ndim)
    shifts = tuple(-origins[k] - (1 if weights.shape[k] % 2 == 0 else 0) for k in places(weights.ndim))
    return correlate(input, turned, output, mode, cval, shifts, axes=axes)


def gaussian(sigma, order, radius):
    """Weights of a Gaussian, or of a derivative of it."""
    if order < 0:
        raise ValueError("order must be non-negative")
    x = np.arange(-radius, radius + 1).astype(np.float64)
    square = sigma * sigma
    bell = np.exp(-0.5 / square * x * x)
    bell = bell / np.sum(bell)
    # A derivative is the Gaussian times a polynomial p: (p g)' = (p' - x p / sigma^2) g.
    p = [1.0]
    for _ in places(order):
        slope = [*((k + 1) * p[k + 1] for k in places(len(p) - 1)), 0.0, 0.0]
        shifted = [0.0, *p]
        p = [slope[k] - shifted[k] / square for k in places(len(shifted))]
    value = p[-1] + 0.0 * x
    for k in places(len(p) - 1)[::-1]:
        value = value * x + p[k]
    return value * bell


@implements(scipy.ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None  # noqa: A002
):  # fmt: skip
    """A Gaussian filter, or a derivative of it, along an axis."""
    without_output(output)
    a = np.asarray(input)
    radius = int(truncate * sigma + 0.5) if radius is None else radius
    if radius < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    weights = gaussian(sigma, order, radius)[::-1]
    return correlated(a, weights, one_axis(axis, a.ndim), mode, cval, 0)


@implements(scipy.ndimage.gaussian_filter)
def gaussian_filter(
    input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None,  # noqa: A002
    axes=None,
):  # fmt: skip
    """A Gaussian filter, or a derivative of it."""
    without_output(output)
    a = np.array(input)
    axes = all_axes(axes, a.ndim)
    sigmas, orders, modes, radii = (each(v, len(axes)) for v in (sigma, order, mode, radius))
    for k in places(len(axes)):
        if sigmas[k] > 1e-15:
            a = gaussian_filter1d(a, sigmas[k], axes[k], orders[k], None, modes[k], cval, truncate, radius=radii[k])
    return a


@implements(scipy.ndimage.uniform_filter1d)
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):  # noqa: A002
    """Means over a window along an axis."""
    without_output(output)
    a = np.asarray(input)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return correlated(a, np.full(size, 1.0 / size), one_axis(axis, a.ndim), mode, cval, origin)


@implements(scipy.ndimage.uniform_filter)
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):  # noqa: A002
    """Means over a window."""
    without_output(output)
    a = np.asarray(input)
    axes = all_axes(axes, a.ndim)
    sizes, modes, origins = (each(v, len(axes)) for v in (size, mode, origin))
    for k in places(len(axes)):
        a = uniform_filter1d(a, sizes[k], axes[k], None, modes[k], cval, origins[k])
    return a


def differences(input, axis, smooth, output, mode, cval):  # noqa: A002
    """Central differences along an axis, smoothed along the others."""
    without_output(output)
    a = np.asarray(input)
    axis, modes = one_axis(axis, a.ndim), each(mode, a.ndim)
    out = correlated(a, np.array([-1.0, 0.0, 1.0]), axis, modes[axis], cval, 0)
    for k in places(a.ndim):
        if k != axis:
            out = correlated(out, smooth, k, modes[k], cval, 0)
    return out


@implements(scipy.ndimage.sobel)
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):  # noqa: A002
    """Sobel's filter."""
    return differences(input, axis, np.array([1.0, 2.0, 1.0]), output, mode, cval)


@implements(scipy.ndimage.prewitt)
def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):  # noqa: A002
    """Prewitt's filter."""
    return differences(input, axis, np.array([1.0, 1.0, 1.0]), output, mode, cval)


@implements(scipy.ndimage.laplace)
def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):  # noqa: A002
    """The sum of second differences."""
    without_output(output)
    a = np.asarray(input)
    axes = all_axes(axes, a.ndim)
    modes = each(mode, len(axes))
    total = correlated(a, np.array([1.0, -2.0, 1.0]), axes[0], modes[0], cval, 0)
    for k in places(len(axes))[1:]:
        total = total + correlated(a, np.array([1.0, -2.0, 1.0]), axes[k], modes[k], cval, 0)
    return total


def second(axis, axes, order):
    """An order of derivative along one of some axes, 0 along the others."""
    return tuple(order if k == axis else 0 for k in axes)


def _along_axes(a, sigma, order, mode, cval, axes, truncate, radius):
    """A derivative of a Gaussian filter of all axes along each of some, with the mode of that one."""
    modes = each(mode, len(axes))
    return [
        gaussian_filter(
            a, sigma, second(axes[k], places(a.ndim), order), None, modes[k], cval, truncate, radius=radius
        )
        for k in places(len(axes))
    ]  # fmt: skip


@implements(scipy.ndimage.gaussian_laplace)
def gaussian_laplace(
    input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, truncate=4.0, radius=None  # noqa: A002
):  # fmt: skip
    """The sum of second derivatives of a Gaussian filter."""
    without_output(output)
    a = np.asarray(input)
    axes = all_axes(axes, a.ndim)
    sigmas = placed(each(sigma, len(axes)), axes, a.ndim, 0.0)
    parts = _along_axes(a, sigmas, 2, mode, cval, axes, truncate, radius)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@implements(scipy.ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, truncate=4.0, radius=None  # noqa: A002
):  # fmt: skip
    """The length of the gradient of a Gaussian filter."""
    without_output(output)
    a = np.asarray(input)
    parts = _along_axes(a, sigma, 1, mode, cval, all_axes(axes, a.ndim), truncate, radius)
    total = parts[0] * parts[0]
    for part in parts[1:]:
        total = total + part * part
    return np.sqrt(total)
