"""Other rates of signals: `upfirdn`, `resample_poly`, `decimate`."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import math

import numpy as np
import scipy.signal

from diffjit.primitives.library.axes import as_float, one_axis
from diffjit.primitives.library.ndimage.lines import extended_rows
from diffjit.primitives.library.signal.filters import back, rows_of
from diffjit.primitives.registry import implements

# How `scipy.ndimage` calls what is continued alike.
SAME = {"constant": "constant", "wrap": "wrap", "edge": "nearest", "symmetric": "reflect", "reflect": "mirror"}
MODES = (*SAME, "smooth", "antisymmetric", "antireflect", "line")


def longer(rows, before, after, mode, cval):
    """Rows of signals, continued at both ends."""
    if mode not in MODES:
        raise ValueError(f"Unknown mode: {mode}")
    if mode in SAME:
        return extended_rows(rows, before, after, SAME[mode], cval)
    n = rows.shape[1]
    at = np.arange(-before, n + after)
    first, last = rows[:, :1], rows[:, n - 1 :]
    if mode in ("antisymmetric", "antireflect"):
        period = 2 * n if mode == "antisymmetric" else max(2 * (n - 1), 1)
        turn = at % period
        there = turn < n
        if mode == "antisymmetric":
            return np.where(there, rows[:, np.where(there, turn, 0)], -rows[:, np.where(there, 0, period - 1 - turn)])
        folded = np.where(there, rows[:, np.where(there, turn, 0)],
                          2 * last - rows[:, np.where(there, 0, period - turn)])  # fmt: skip
        return folded + 2 * (at // period) * (last - first)
    if n < 2:
        raise NotImplementedError(f"a signal of one value, with mode={mode!r}: use mode='edge'")
    if mode == "line":
        low, high = (last - first) / (n - 1.0), (last - first) / (n - 1.0)
    else:
        low, high = rows[:, 1:2] - first, last - rows[:, n - 2 : n - 1]
    inside = rows[:, np.minimum(np.maximum(at, 0), n - 1)]
    return inside + np.minimum(at, 0) * low + np.maximum(at - (n - 1), 0) * high


def phases(h, rows, up, down, first, count, mode, cval):
    """So many values, of rows with zeros between the elements through a filter: every `down`-th one from a place on."""
    kind = np.result_type(h.dtype, rows.dtype, np.float32)
    rows, taps = rows.astype(kind), (h.shape[0] - 1) // up + 1
    weights = np.concatenate((h, np.zeros(taps * up - h.shape[0], h.dtype))).astype(kind)
    at = first + down * np.arange(count)
    element, phase = at // up, at % up
    after = max((first + down * (count - 1)) // up - (rows.shape[1] - 1), 0)
    wide = longer(rows, taps - 1, after, mode, cval)
    out = np.zeros((rows.shape[0], count), kind)
    for k in range(taps):
        out += weights[phase + k * up] * wide[:, element + (taps - 1 - k)]
    return out


@implements(scipy.signal.upfirdn)
def upfirdn(h, x, up=1, down=1, axis=-1, mode="constant", cval=0):
    """A signal with zeros between its elements, through a filter; every so many of the values."""
    h, x, up, down = np.asarray(h), np.asarray(x), int(up), int(down)
    if h.ndim != 1 or h.shape[0] == 0:
        raise ValueError("h must be 1-D with non-zero length")
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    axis = one_axis(axis, x.ndim)
    count = ((x.shape[axis] - 1) * up + h.shape[0] - 1) // down + 1
    return back(phases(h, rows_of(x, axis), up, down, 0, count, mode.lower(), cval), x.shape, axis)


def level(x, axis, padtype):
    """What is subtracted before a signal is continued by zeros."""
    if padtype == "mean":
        return np.mean(x, axis, keepdims=True)
    if padtype == "median":
        return np.median(x, axis, keepdims=True)
    return np.min(x, axis, keepdims=True) if padtype == "minimum" else np.max(x, axis, keepdims=True)


@implements(scipy.signal.resample_poly)
def resample_poly(x, up, down, axis=0, window=("kaiser", 5.0), padtype="constant", cval=None):
    """A signal at another rate, through a filter of the length of several steps."""
    x = np.asarray(x)
    if up != int(up) or down != int(down):
        raise ValueError("up and down must be integers")
    up, down = int(up), int(down)
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    if cval is not None and padtype != "constant":
        raise ValueError(f"cval has no effect when padtype is {padtype}")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == 1 and down == 1:
        return x.copy()
    axis = one_axis(axis, x.ndim)
    if isinstance(window, (str, tuple, float)):
        half = 10 * max(up, down)
        h = scipy.signal.firwin(2 * half + 1, 1.0 / max(up, down), window=window)
        h = h.astype(x.dtype) if x.dtype.kind in "fc" else h
    else:
        h = np.asarray(window)
        if h.ndim > 1:
            raise ValueError("window must be 1-D")
        half = (h.shape[0] - 1) // 2
    n = x.shape[axis]
    count = -(-n * up // down)
    if padtype in ("mean", "median", "minimum", "maximum"):
        under = level(x, axis, padtype)
        rows = rows_of(x - under, axis)
        return back(phases(h * up, rows, up, down, half, count, "constant", 0), x.shape, axis) + under
    fill = 0 if cval is None else cval
    return back(phases(h * up, rows_of(x, axis), up, down, half, count, padtype, fill), x.shape, axis)


@implements(scipy.signal.decimate)
def decimate(x, q, n=None, ftype="iir", axis=-1, zero_phase=True):
    """Every q-th value of a signal, without the waves that would be taken for others."""
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    if not isinstance(ftype, str):
        raise NotImplementedError("scipy.signal.decimate with a filter of one's own: filter, and take every q-th value")
    if ftype == "fir":
        b = scipy.signal.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming").astype(x.dtype)
        if zero_phase:
            return resample_poly(x, 1, q, axis, b)
        return back(phases(b, rows_of(x, axis), 1, q, 0, -(-x.shape[axis] // q), "constant", 0), x.shape, axis)
    if ftype != "iir":
        raise ValueError("invalid ftype")
    sos = scipy.signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos").astype(x.dtype)
    y = scipy.signal.sosfiltfilt(sos, x, axis) if zero_phase else scipy.signal.sosfilt(sos, x, axis)
    return back(rows_of(y, axis)[:, ::q].copy(), x.shape, axis)
