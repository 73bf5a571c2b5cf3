"""Sums over spirals in the plane: the chirp transform, and a transform of a band of frequencies; delays of groups."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import scipy.signal

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.signal.filters import polynomial
from diffjit.primitives.registry import implements


def on_spiral(x, m, w, a, axis):
    """The polynomials with these coefficients along an axis, of rising powers, at 1 / (a * w**-k)."""
    x = np.moveaxis(np.asarray(x), axis, -1)
    n = x.shape[-1]
    count = n if m is None else m
    if n == 0 or count < 1:
        raise ValueError(f"Invalid number of CZT data points ({n}) specified. n must be positive and integer type.")
    step = np.exp(-2j * np.pi / count) if w is None else w
    k = np.arange(n)
    turns = np.outer(k, np.arange(count))
    return np.moveaxis((x * (1.0 * a) ** -k) @ (step + 0j) ** turns, -1, axis)


@implements(scipy.signal.czt)
def czt(x, m=None, w=None, a=1 + 0j, *, axis=-1):
    """The z-transform on a spiral."""
    return on_spiral(x, m, w, a, axis)


@implements(scipy.signal.zoom_fft)
def zoom_fft(x, fn, m=None, *, fs=2, endpoint=False, axis=-1):
    """The transform of a band of frequencies."""
    n = np.shape(x)[axis]
    count = n if m is None else m
    low, high = (0.0, fn) if np.ndim(fn) == 0 else (fn[0], fn[1])
    scale = (high - low) * count / (fs * (count - 1)) if endpoint else (high - low) / fs
    return on_spiral(x, count, np.exp(-2j * np.pi / count * scale), np.exp(2j * np.pi * low / fs), axis)


@implements(scipy.signal.group_delay)
def group_delay(system, w=512, whole=False, fs=2 * np.pi):
    """How long a filter in steps of time holds back what is around each frequency, in steps."""
    b, a = (as_float(np.atleast_1d(np.asarray(part))) for part in system)
    if w is None or isinstance(w, int):
        at = np.linspace(0, 2 * np.pi if whole else np.pi, 512 if w is None else w, endpoint=False)
    else:
        at = 2 * np.pi * as_float(np.atleast_1d(np.asarray(w))) / fs
    c = np.convolve(b, np.conjugate(a[::-1]))
    turn = np.exp(-1j * at)
    below = polynomial(c, turn)
    singular = np.abs(below) < 10 * np.finfo(float).eps
    above = polynomial(c * np.arange(c.shape[0]), turn)
    delay = np.real(np.where(singular, 0.0, above / np.where(singular, 1.0, below))) - np.where(singular, 0, a.size - 1)
    return at * (fs / (2 * np.pi)), delay
