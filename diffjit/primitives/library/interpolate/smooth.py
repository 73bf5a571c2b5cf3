"""Smoothing splines as programs: the curve that is near points and bends little, a solution of linear equations."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.interpolate

from diffjit.primitives.library.axes import as_float, one_axis
from diffjit.primitives.library.interpolate.splines import eliminated, make_interp_spline
from diffjit.primitives.registry import implements


@implements(scipy.interpolate.make_smoothing_spline)
def make_smoothing_spline(x, y, w=None, lam=None, axis=0):
    """The natural cubic spline of the least sum of w |y - f(x)|^2 and lam times the integral of f''^2."""
    if lam is None:
        raise NotImplementedError("make_smoothing_spline without lam, which is searched for: give lam=...")
    x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
    axis = one_axis(axis, y.ndim)
    y = np.moveaxis(y, axis, 0)
    if x.ndim != 1 or not np.all(x[1:] > x[:-1]):
        raise ValueError("``x`` should be an ascending array")
    if x.shape[0] != y.shape[0]:
        raise ValueError("``x`` and ``y`` should be of the same length")
    if x.shape[0] <= 4:
        raise ValueError("``x`` and ``y`` length must be at least 5")
    if lam < 0.0:
        raise ValueError("Regularization parameter should be non-negative")
    loose = np.ones(x.shape) if w is None else 1.0 / as_float(np.asarray(w))
    return make_interp_spline(x, np.moveaxis(smoothed(x, y, loose, lam), 0, axis), 3, None, "natural", axis)


def smoothed(x, y, loose, lam):
    """The curve at the points (Reinsch's algorithm): y - lam Q b / w, where (R + lam Q^T Q / w) b = Q^T y."""
    inverse = 1.0 / np.diff(x)
    left, right = inverse[:-1], inverse[1:]
    middle = -left - right  # the three bands of Q
    width = np.diff(x)
    band = np.zeros((x.shape[0] - 2, 5))  # row by row, the diagonal in the middle
    band[:, 2] = (width[:-1] + width[1:]) / 3.0
    band[:, 2] += lam * (left**2 * loose[:-2] + middle**2 * loose[1:-1] + right**2 * loose[2:])
    beside = width[1:-1] / 6.0
    beside += lam * (middle[:-1] * left[1:] * loose[1:-2] + right[:-1] * middle[1:] * loose[2:-1])
    far = lam * right[:-2] * left[2:] * loose[2:-2]
    band[1:, 1], band[:-1, 3] = beside, beside
    band[2:, 0], band[:-2, 4] = far, far
    steep = np.reshape(inverse, (-1, *np.ones(y.ndim - 1, int))) * np.diff(y, axis=0)
    bends = eliminated(band, 2, np.diff(steep, axis=0))
    slopes = np.concatenate((bends[:1], np.diff(bends, axis=0), -bends[-1:]))  # of bends, with none outside
    parts = slopes * np.reshape(inverse, (-1, *np.ones(y.ndim - 1, int)))
    drawn = np.concatenate((parts[:1], np.diff(parts, axis=0), -parts[-1:]))
    return y - lam * drawn * np.reshape(loose, (-1, *np.ones(y.ndim - 1, int)))
