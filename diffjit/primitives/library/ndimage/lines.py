"""Arrays continued beyond their edges, in the ways of `scipy.ndimage`, and correlations along one axis."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import along

MODES = ("reflect", "mirror", "nearest", "constant", "wrap", "grid-mirror", "grid-constant", "grid-wrap")


def mirrored(places, n, mode):
    """The elements that stand for places beyond the edges of an axis; or of several, each with its length."""
    if mode in ("reflect", "grid-mirror"):
        turn = places % (2 * n)
        return np.minimum(turn, 2 * n - 1 - turn)
    if mode == "mirror":
        period = np.maximum(2 * (n - 1), 1)
        turn = places % period
        return np.minimum(np.minimum(turn, period - turn), n - 1)
    if mode in ("wrap", "grid-wrap"):
        return places % n
    if mode in ("nearest", "constant", "grid-constant"):
        return np.minimum(np.maximum(places, 0), n - 1)
    raise ValueError(f"boundary mode {mode!r} is not supported")


def continued(a, axis, before, after, mode, cval):
    """An array with more elements at both ends of an axis."""
    n = a.shape[axis]
    places = np.arange(-before, n + after)
    wide = a[along(axis, mirrored(places, n, mode))]
    if mode in ("constant", "grid-constant"):
        inside = np.reshape((places >= 0) & (places < n), (-1,) + (1,) * (a.ndim - 1 - axis))
        wide = np.where(inside, wide, cval)
    return wide


def extended_rows(rows, before, after, mode, cval):
    """Rows with more elements at both ends."""
    return continued(rows, 1, before, after, mode, cval)


def without_output(output):
    """Results are fresh arrays of the input's dtype."""
    if output is not None:
        raise NotImplementedError("scipy.ndimage: output= is not supported: assign the result")


def exact(a):
    """Numbers in double precision, as SciPy computes with them."""
    if a.dtype.kind in "iub":
        raise NotImplementedError("scipy.ndimage of integers, which are rounded after each step: a.astype(float)")
    return a.astype(np.complex128) if a.dtype.kind == "c" else a.astype(np.float64)


def correlated(a, weights, axis, mode, cval, origin):
    """The correlation of an array with weights along an axis, in the array's dtype."""
    m, n = weights.shape[0], a.shape[axis]
    before = m // 2 + origin
    if before < 0 or before > m - 1:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    wide = continued(exact(a), axis, before, m - 1 - before, mode, cval)
    out = weights[0] * wide[along(axis, slice(0, n))]
    for k in range(1, m):
        out = out + weights[k] * wide[along(axis, slice(k, k + n))]
    return out.astype(a.dtype) if a.dtype.kind != out.dtype.kind or a.dtype.itemsize != out.dtype.itemsize else out
