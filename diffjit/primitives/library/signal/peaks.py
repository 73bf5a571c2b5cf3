"""Peaks of `scipy.signal`: where they stand is constant, their heights and prominences are not."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.signal

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements


def maxima(x):
    """Elements greater than what stands on both sides of them; of a flat top the middle."""
    n = x.shape[0]
    found = np.zeros(n, np.intp)
    count, i = 0, 1
    while i < n - 1:
        if x[i - 1] < x[i]:
            ahead = i + 1
            while ahead < n - 1 and x[ahead] == x[i]:
                ahead += 1
            if x[ahead] < x[i]:
                found[count] = (i + ahead - 1) // 2
                count += 1
                i = ahead
        i += 1
    return found[:count].copy()


def limits(asked):
    """The least and the greatest value; None for none."""
    if isinstance(asked, (tuple, list)):
        return asked[0], asked[1]
    return asked, None


def within(values, asked):
    """Which values are within limits."""
    low, high = limits(asked)
    keep = np.ones(values.shape[0], bool)
    if low is not None:
        keep = keep & (values >= low)
    if high is not None:
        keep = keep & (values <= high)
    return keep


def far_apart(peaks, heights, distance):
    """Which peaks have no higher one nearby that stays."""
    keep = np.ones(peaks.shape[0], bool)
    order = np.argsort(heights)
    for i in range(peaks.shape[0] - 1, -1, -1):
        j = order[i]
        if keep[j]:
            k = j - 1
            while k >= 0 and peaks[j] - peaks[k] < distance:
                keep[k] = False
                k -= 1
            k = j + 1
            while k < peaks.shape[0] and peaks[k] - peaks[j] < distance:
                keep[k] = False
                k += 1
    return keep


@implements(scipy.signal.peak_prominences)
def peak_prominences(x, peaks, wlen=None):
    """How far peaks rise above the land around them; and the lowest places on both sides."""
    if wlen is not None:
        raise NotImplementedError("peak_prominences(wlen=...): leave it out")
    x, peaks = as_float(np.asarray(x)), np.asarray(peaks)
    count = peaks.shape[0]
    left, right = np.zeros(count, np.intp), np.zeros(count, np.intp)
    for k in range(count):
        top = x[peaks[k]]
        left[k] = right[k] = peaks[k]
        i = peaks[k]
        while i >= 0 and x[i] <= top:
            if x[i] < x[left[k]]:
                left[k] = i
            i -= 1
        i = peaks[k]
        while i < x.shape[0] and x[i] <= top:
            if x[i] < x[right[k]]:
                right[k] = i
            i += 1
    return x[peaks] - np.maximum(x[left], x[right]), left, right


@implements(scipy.signal.find_peaks)
def find_peaks(
    x, height=None, threshold=None, distance=None, prominence=None, width=None, wlen=None, rel_height=0.5,
    plateau_size=None,
):  # fmt: skip
    """Where peaks stand, and what has been asked for of them."""
    if width is not None or wlen is not None or plateau_size is not None:
        raise NotImplementedError("find_peaks(width, wlen, plateau_size): leave them out")
    x = as_float(np.asarray(x))
    if x.ndim != 1:
        raise ValueError("`x` must be a 1-D array")
    peaks = maxima(x)
    if height is not None:
        peaks = peaks[within(x[peaks], height)]
    if threshold is not None:
        left, right = x[peaks] - x[peaks - 1], x[peaks] - x[peaks + 1]
        low, high = limits(threshold)
        keep = within(np.minimum(left, right), (low, None)) & within(np.maximum(left, right), (None, high))
        peaks = peaks[keep]
    if distance is not None:
        peaks = peaks[far_apart(peaks, x[peaks], math.ceil(distance))]
    properties = {}
    if prominence is not None:
        raised, left, right = peak_prominences(x, peaks)
        keep = within(raised, prominence)
        peaks = peaks[keep]
        properties = {"prominences": raised[keep], "left_bases": left[keep], "right_bases": right[keep]}
    if height is not None:
        properties["peak_heights"] = x[peaks]
    if threshold is not None:
        properties["left_thresholds"] = x[peaks] - x[peaks - 1]
        properties["right_thresholds"] = x[peaks] - x[peaks + 1]
    return peaks, properties
