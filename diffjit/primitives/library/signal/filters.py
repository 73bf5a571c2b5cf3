"""Recursive filters of `scipy.signal`: each output is written once, so the way back reads it again.

SciPy keeps sums of what is to come (the transposed direct form II); here a value is a sum over those before it, to
which the initial conditions are added: the same numbers up to rounding, and nothing that is overwritten.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy
import scipy.signal

from diffjit.primitives.library.axes import as_float, one_axis
from diffjit.primitives.registry import implements

# SciPy 1.18: a filter without memory has conditions, which are none, and one with a pole at 1 has none, and raises
SUMMED = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"


def padded(values, n, like):
    """Coefficients, filled up with zeros."""
    return np.concatenate((values, np.zeros(n - values.shape[0], like.dtype)))


def normalised(b, a):
    """Coefficients of one length, divided by the first of `a`."""
    b, a = as_float(np.atleast_1d(np.asarray(b))), as_float(np.atleast_1d(np.asarray(a)))
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("b and a must be vectors of coefficients")
    if a[0] == 0:
        raise ValueError("The first coefficient of a must not be 0.")
    n = max(b.shape[0], a.shape[0])
    return padded(b, n, b) / a[0], padded(a, n, a) / a[0]


def filtered(b, a, x, before):
    """Rows of signals through a filter, and its conditions at their ends; those at their beginnings in `before`."""
    n, length = b.shape[0], x.shape[1]
    y = np.zeros(x.shape, (b[:1] * a[:1] * x[:1, :1] * before[:1, :1]).dtype)
    for r in range(x.shape[0]):
        for t in range(length):
            total = b[0] * x[r, t]
            for j in range(1, min(t, n - 1) + 1):
                total += b[j] * x[r, t - j] - a[j] * y[r, t - j]
            if t < n - 1:
                total += before[r, t]
            y[r, t] = total
    return y


def conditions(b, a, x, y, before):
    """What a filter still has to add after the last values of rows."""
    n, length = b.shape[0], x.shape[1]
    after = np.zeros((x.shape[0], n - 1), y.dtype)
    for r in range(x.shape[0]):
        for j in range(n - 1):
            total = 0.0 * y[r, 0]
            for i in range(j + 1, min(n - 1, length + j) + 1):
                total += b[i] * x[r, length + j - i] - a[i] * y[r, length + j - i]
            if length + j < n - 1:
                total += before[r, length + j]
            after[r, j] = total
    return after


def rows_of(x, axis):
    """An array as rows along an axis."""
    last = np.moveaxis(x, axis, -1)
    return np.reshape(last, (math.prod(last.shape[:-1]), last.shape[-1]))


def back(rows, shape, axis):
    """Rows where they were in an array of this shape, that axis apart."""
    shape = (*shape[:axis], *shape[axis + 1 :], rows.shape[1])
    return np.moveaxis(np.reshape(rows, shape), -1, axis)


@implements(scipy.signal.lfilter)
def lfilter(b, a, x, axis=-1, zi=None):
    """A signal through a filter."""
    b, a = normalised(b, a)
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    rows = rows_of(x, axis)
    if zi is None:
        return back(filtered(b, a, rows, np.zeros((rows.shape[0], b.shape[0]), b.dtype)), x.shape, axis)
    zi = np.asarray(zi)
    if zi.ndim != x.ndim or zi.shape[axis] != b.shape[0] - 1:
        raise ValueError("The shape of zi is not that of x, with len(a) - 1 conditions along the axis")
    whole = np.broadcast_to(zi, (*x.shape[:axis], b.shape[0] - 1, *x.shape[axis + 1 :]))
    before = np.concatenate((rows_of(whole, axis), np.zeros((rows.shape[0], 1), b.dtype)), axis=1)
    y = filtered(b, a, rows, before)
    return back(y, x.shape, axis), back(conditions(b, a, rows, y, before), x.shape, axis)


@implements(scipy.signal.lfilter_zi)
def lfilter_zi(b, a):
    """Conditions under which a step has no beginning."""
    b, a = normalised(b, a)
    n = b.shape[0]
    if SUMMED and np.sum(a) == 0:
        raise ValueError("the filter has a pole at 1: the sum of `a` is 0")
    if n < 2 and not SUMMED:
        raise ValueError("a filter without memory has no conditions")
    zi = np.zeros(n - 1, (b[:1] * a[:1]).dtype)
    start = (np.sum(b[1:]) - np.sum(a[1:]) * b[0]) / np.sum(a)
    held, sent = 1.0 + 0.0 * a[0], 0.0 * b[0]
    for k in range(n - 1):
        if k > 0:
            held += a[k]
            sent += b[k] - a[k] * b[0]
        zi[k] = held * start - sent
    return zi


@implements(scipy.signal.lfiltic)
def lfiltic(b, a, y, x=None):
    """Conditions that follow from outputs and inputs in the past."""
    b, a = normalised(b, a)
    n = b.shape[0]
    y = as_float(np.atleast_1d(np.asarray(y)))
    y = padded(y[: n - 1], max(n - 1, 1), y)
    x = np.zeros(max(n - 1, 1), y.dtype) if x is None else as_float(np.atleast_1d(np.asarray(x)))
    x = padded(x[: n - 1], max(n - 1, 1), x)
    zi = np.zeros(n - 1, (b[:1] * y[:1]).dtype)
    for j in range(n - 1):
        for i in range(j + 1, n):
            zi[j] += b[i] * x[i - j - 1] - a[i] * y[i - j - 1]
    return zi


def extended(x, count, kind):
    """Rows of signals, continued at both ends."""
    if count == 0 or kind is None:
        return x
    if kind == "even":
        first, last = x[:, count:0:-1], x[:, -2 : -(count + 2) : -1]
    elif kind == "odd":
        first, last = 2 * x[:, :1] - x[:, count:0:-1], 2 * x[:, -1:] - x[:, -2 : -(count + 2) : -1]
    else:
        none = np.zeros((1, count), x.dtype)
        first, last = x[:, :1] + none, x[:, -1:] + none
    return np.concatenate((first, x, last), axis=1)


def edge(padtype, padlen, default, x, axis):
    """How many values are added at each end."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    count = default if padlen is None else padlen
    if padtype is None:
        count = 0
    if x.shape[axis] <= count:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {count}.")
    return count


@implements(scipy.signal.filtfilt)
def filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    """A signal through a filter forwards and backwards."""
    if method != "pad":
        raise NotImplementedError(f"filtfilt(method={method!r}): use method='pad'")
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    taps = max(np.atleast_1d(np.asarray(b)).shape[0], np.atleast_1d(np.asarray(a)).shape[0])
    count = edge(padtype, padlen, 3 * taps, x, axis)
    b, a = normalised(b, a)
    rows = extended(rows_of(x, axis), count, padtype)
    zi = np.concatenate((lfilter_zi(b, a), np.zeros(1, b.dtype)))
    forwards = filtered(b, a, rows, zi[None, :] * rows[:, :1])[:, ::-1]
    result = filtered(b, a, forwards, zi[None, :] * forwards[:, :1])[:, ::-1]
    return back(result[:, count : count + x.shape[axis]], x.shape, axis)


def sections(sos):
    """Sections of the second order."""
    sos = as_float(np.atleast_2d(np.asarray(sos)))
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if not np.all(sos[:, 3] == 1):
        raise ValueError("sos[:, 3] should be all ones")
    return sos


@implements(scipy.signal.sosfilt_zi)
def sosfilt_zi(sos):
    """Conditions under which a step has no beginning, for each section."""
    sos = sections(sos)
    zi, scale = np.zeros((sos.shape[0], 2), sos.dtype), 1.0
    for s in range(sos.shape[0]):
        zi[s] = scale * lfilter_zi(sos[s, :3], sos[s, 3:])
        scale = scale * np.sum(sos[s, :3]) / np.sum(sos[s, 3:])
    return zi


def through_sections(sos, rows, before):
    """Rows through all sections, whose conditions stand in `before`; and what these are at the end."""
    after = np.zeros((sos.shape[0], rows.shape[0], 2), rows.dtype)
    for s in range(sos.shape[0]):
        start = np.concatenate((before[s], np.zeros((rows.shape[0], 1), rows.dtype)), axis=1)
        out = filtered(sos[s, :3], sos[s, 3:], rows, start)
        after[s] = conditions(sos[s, :3], sos[s, 3:], rows, out, start)
        rows = out
    return rows, after


@implements(scipy.signal.sosfilt)
def sosfilt(sos, x, axis=-1, zi=None):
    """A signal through sections, one after the other."""
    sos, x = sections(sos), as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    rows = rows_of(x, axis)
    count = sos.shape[0]
    if zi is None:
        for s in range(count):
            rows = filtered(sos[s, :3], sos[s, 3:], rows, np.zeros((rows.shape[0], 3), sos.dtype))
        return back(rows, x.shape, axis)
    zi = np.asarray(zi)
    if zi.ndim != x.ndim + 1 or zi.shape[0] != count or zi.shape[axis + 1] != 2:
        raise ValueError(
            "Invalid zi shape. With axis=axis, an input with the shape of x needs (n_sections, ..., 2, ...)"
        )
    before = np.reshape(np.moveaxis(zi, axis + 1, -1), (count, rows.shape[0], 2))
    rows, after = through_sections(sos, rows, before)
    shape = (count, *x.shape[:axis], *x.shape[axis + 1 :], 2)
    return back(rows, x.shape, axis), np.moveaxis(np.reshape(after, shape), -1, axis + 1)


@implements(scipy.signal.sosfiltfilt)
def sosfiltfilt(sos, x, axis=-1, padtype="odd", padlen=None):
    """A signal through sections forwards and backwards."""
    sos, x = sections(sos), as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    idle = min(np.sum(sos[:, 2] == 0), np.sum(sos[:, 5] == 0))
    count = edge(padtype, padlen, 3 * (2 * sos.shape[0] + 1 - idle), x, axis)
    rows = extended(rows_of(x, axis), count, padtype)
    zi = sosfilt_zi(sos)
    for _ in range(2):
        start = rows[:, :1]
        for s in range(sos.shape[0]):
            before = np.concatenate((zi[s], np.zeros(1, sos.dtype)))[None, :] * start
            rows = filtered(sos[s, :3], sos[s, 3:], rows, before)
        rows = rows[:, ::-1].copy()
    return back(rows[:, count : count + x.shape[axis]], x.shape, axis)


@implements(scipy.signal.freqz)
def freqz(b, a=1, worN=512, whole=False, plot=None, fs=2 * np.pi, include_nyquist=False):
    """The response of a filter to frequencies."""
    if plot is not None:
        raise NotImplementedError("freqz(plot=...): leave it out")
    b, a = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    if worN is None or isinstance(worN, int):
        count = 512 if worN is None else worN
        end = 2 * np.pi if whole else np.pi
        w = np.linspace(0, end, count, endpoint=include_nyquist and not whole)
    else:
        w = 2 * np.pi * np.atleast_1d(as_float(np.asarray(worN))) / fs
    turn = np.exp(-1j * w)
    return w * (fs / (2 * np.pi)), polynomial(b, turn) / polynomial(a, turn)


def polynomial(c, x):
    """Coefficients of rising powers, at points."""
    value = np.zeros_like(x)
    for k in range(c.shape[0] - 1, -1, -1):
        value = value * x + c[k]
    return value
