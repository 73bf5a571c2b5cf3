"""Spectra of `scipy.signal`: Fourier transforms of segments that a window has been laid over."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from __future__ import annotations

import numpy as np
import scipy.signal

from diffjit.primitives.library.axes import as_float, one_axis
from diffjit.primitives.library.fourier import as_real
from diffjit.primitives.library.signal.filters import extended, rows_of
from diffjit.primitives.library.signal.smoothing import detrend as without_trend
from diffjit.primitives.registry import implements


def cosines(n, second, third):
    """A window made of cosines, as the first part of a period."""
    turn = 2 * np.pi / n * np.arange(n)
    return 1.0 - second - third - second * np.cos(turn) + third * np.cos(2 * turn)


def window_of(window, n):
    """A window of a length: one that is given, one of the common ones, or SciPy's constant."""
    if not isinstance(window, (str, tuple)):
        window = as_float(np.asarray(window))
        if window.ndim != 1:
            raise ValueError("window must be 1-D")
        return window
    if window in ("hann", "hanning", "hann_periodic"):
        return cosines(n, 0.5, 0.0) if n > 1 else np.ones(n)
    if window in ("hamming", "hamming_periodic"):
        return cosines(n, 0.46, 0.0) if n > 1 else np.ones(n)
    if window in ("blackman", "blackman_periodic"):
        return cosines(n, 0.5, 0.08) if n > 1 else np.ones(n)
    if window in ("boxcar", "rect", "rectangular", "ones", "boxcar_periodic"):
        return np.ones(n)
    return scipy.signal.get_window(window, n)


def segment_length(window, nperseg, n):
    """How long segments are."""
    if not isinstance(window, (str, tuple)):
        length = np.asarray(window).shape[0]
        if length > n:
            raise ValueError("window is longer than input signal")
        if nperseg is not None and nperseg != length:
            raise ValueError("value specified for nperseg is different from length of window")
        return length
    if nperseg is not None and nperseg < 1:
        raise ValueError("nperseg must be a positive integer")
    return min(256 if nperseg is None else nperseg, n)


def segments(rows, window, noverlap, nfft, trend, onesided):
    """Fourier transforms of the segments of rows: (row, segment, frequency)."""
    length = window.shape[0]
    step = length - noverlap
    count = (rows.shape[1] - length) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(length)[None, :]
    parts = rows[:, places]
    if trend == "constant":
        parts = parts - np.mean(parts, axis=-1, keepdims=True)
    elif trend is not False:
        parts = without_trend(parts, -1, trend)
    return np.fft.rfft(as_real(parts * window), nfft) if onesided else np.fft.fft(parts * window, nfft)


def prepared(x, axis, window, nperseg, noverlap, nfft, boundary, padded):
    """Rows, continued as asked for; the window, how far segments overlap, and the length of transforms."""
    rows = rows_of(x, axis)
    nperseg = segment_length(window, nperseg, x.shape[axis])
    win = window_of(window, nperseg)
    nfft = nperseg if nfft is None else nfft
    if nfft < nperseg:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    noverlap = nperseg // 2 if noverlap is None else noverlap
    if noverlap >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")
    rows = continued(rows, nperseg // 2, boundary)
    if padded:
        more = (-(rows.shape[1] - nperseg) % (nperseg - noverlap)) % nperseg
        rows = np.concatenate((rows, np.zeros((rows.shape[0], more), rows.dtype)), axis=1)
    return rows, win, noverlap, nfft


def continued(rows, count, boundary):
    """Rows with more at both ends."""
    if boundary is None:
        return rows
    if boundary == "zeros":
        none = np.zeros((rows.shape[0], count), rows.dtype)
        return np.concatenate((none, rows, none), axis=1)
    if boundary not in ("even", "odd", "constant"):
        raise ValueError(f"Unknown boundary option '{boundary}'")
    return extended(rows, count, boundary)


def trend_of(detrend):
    """The trend that is taken away: False, "constant" or "linear"."""
    if detrend is None or detrend is False:
        return False
    if not isinstance(detrend, str):
        raise NotImplementedError("detrend=function: detrend the signal before")
    return detrend


def scale_of(window, fs, scaling):
    """What a squared transform is multiplied by."""
    if scaling == "density":
        return 1.0 / (fs * np.sum(window * window))
    if scaling == "spectrum":
        return 1.0 / np.sum(window) ** 2
    raise ValueError(f"Unknown scaling: {scaling!r}")


def frequencies(nfft, fs, onesided):
    """The frequencies of a transform."""
    return np.fft.rfftfreq(nfft, 1 / fs) if onesided else np.fft.fftfreq(nfft, 1 / fs)


def powers(x, y, fs, window, nperseg, noverlap, nfft, trend, return_onesided, scaling, axis):
    """Spectra of all segments, crossed with those of a second signal: frequencies, and (row, segment, frequency)."""
    onesided = return_onesided and x.dtype.kind != "c" and (y is None or y.dtype.kind != "c")
    rows, win, noverlap, nfft = prepared(x, axis, window, nperseg, noverlap, nfft, None, False)
    waves = segments(rows, win, noverlap, nfft, trend, onesided)
    if y is None:
        found = np.real(waves) ** 2 + np.imag(waves) ** 2
    else:
        found = np.conjugate(waves) * segments(rows_of(y, axis), win, noverlap, nfft, trend, onesided)
    found = found * scale_of(win, fs, scaling)
    if onesided:
        factor = np.full(found.shape[2], 2.0)
        factor[0] = 1.0
        if nfft % 2 == 0:
            factor[-1] = 1.0
        found = found * factor
    return frequencies(nfft, fs, onesided), found, win.shape[0], noverlap


def averaged(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average):
    """Spectra, averaged over segments."""
    if average != "mean":
        raise NotImplementedError(f"welch(average={average!r}): use 'mean'")
    axis = one_axis(axis, x.ndim)
    f, found, _, _ = powers(
        x, y, fs, window, nperseg, noverlap, nfft, trend_of(detrend), return_onesided, scaling, axis
    )  # fmt: skip
    mean = np.mean(found, axis=1)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :], mean.shape[1])
    return f, np.moveaxis(np.reshape(mean, shape), -1, axis)


@implements(scipy.signal.welch)
def welch(
    x, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
    scaling="density", axis=-1, average="mean",
):  # fmt: skip
    """The power spectrum by averages over segments."""
    x = as_float(np.asarray(x))
    return averaged(
        x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    )  # fmt: skip


@implements(scipy.signal.csd)
def csd(
    x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
    scaling="density", axis=-1, average="mean",
):  # fmt: skip
    """The cross power spectrum by averages over segments."""
    x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
    if x.ndim != y.ndim:
        raise NotImplementedError("csd of arrays of different numbers of dimensions: broadcast them")
    return averaged(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@implements(scipy.signal.coherence)
def coherence(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", axis=-1):
    """How much two signals have to do with each other, by frequency."""
    f, xx = welch(x, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    _, yy = welch(y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    _, xy = csd(x, y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    return f, (np.real(xy) ** 2 + np.imag(xy) ** 2) / xx / yy


@implements(scipy.signal.periodogram)
def periodogram(
    x, fs=1.0, window="boxcar", nfft=None, detrend="constant", return_onesided=True, scaling="density", axis=-1
):  # fmt: skip
    """The power spectrum of all of a signal."""
    x = as_float(np.asarray(x))
    n = x.shape[one_axis(axis, x.ndim)]
    window = "boxcar" if window is None else window
    if nfft is not None and nfft < n:
        raise ValueError("periodogram(nfft) of less than the signal: cut it")
    return welch(x, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis)


@implements(scipy.signal.spectrogram)
def spectrogram(
    x, fs=1.0, window=("tukey_periodic", 0.25), nperseg=None, noverlap=None, nfft=None, detrend="constant",
    return_onesided=True, scaling="density", axis=-1, mode="psd",
):  # fmt: skip
    """Power spectra of segments."""
    if mode != "psd":
        raise NotImplementedError(f"spectrogram(mode={mode!r}): use stft")
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    length = segment_length(window, nperseg, x.shape[axis])
    noverlap = length // 8 if noverlap is None else noverlap
    f, found, length, noverlap = powers(
        x, None, fs, window, nperseg, noverlap, nfft, trend_of(detrend), return_onesided, scaling, axis
    )  # fmt: skip
    t = (np.arange(found.shape[1]) * (length - noverlap) + length / 2) / fs
    return f, t, arranged(found, x, axis)


def arranged(found, x, axis):
    """(row, segment, frequency) as SciPy has it: frequencies where the signal was, segments last."""
    shape = (*x.shape[:axis], *x.shape[axis + 1 :], found.shape[1], found.shape[2])
    return np.moveaxis(np.reshape(found, shape), -1, axis)


@implements(scipy.signal.stft)
def stft(
    x, fs=1.0, window="hann", nperseg=256, noverlap=None, nfft=None, detrend=False, return_onesided=True,
    boundary="zeros", padded=True, axis=-1, scaling="spectrum",
):  # fmt: skip
    """Fourier transforms of segments."""
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    onesided = return_onesided and x.dtype.kind != "c"
    rows, win, noverlap, nfft = prepared(x, axis, window, nperseg, noverlap, nfft, boundary, padded)
    waves = segments(rows, win, noverlap, nfft, trend_of(detrend), onesided)
    waves = waves * np.sqrt(scale_of(win, fs, "density" if scaling == "psd" else scaling))
    t = (np.arange(waves.shape[1]) * (win.shape[0] - noverlap) + win.shape[0] / 2) / fs
    if boundary is not None:
        t = t - win.shape[0] / 2 / fs
    return frequencies(nfft, fs, onesided), t, arranged(waves, x, axis)


@implements(scipy.signal.istft)
def istft(
    Zxx, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, input_onesided=True, boundary=True,
    time_axis=-1, freq_axis=-2, scaling="spectrum",
):  # fmt: skip
    """A signal from Fourier transforms of its segments."""
    z = np.asarray(Zxx)
    if z.ndim != 2 or one_axis(time_axis, 2) != 1 or one_axis(freq_axis, 2) != 0:
        raise NotImplementedError("istft of more than one signal, or with other axes: one call for each")
    most = 2 * (z.shape[0] - 1) if input_onesided else z.shape[0]
    nperseg = most if nperseg is None else nperseg
    nfft = (nperseg if input_onesided and nperseg == most + 1 else most) if nfft is None else nfft
    noverlap = nperseg // 2 if noverlap is None else noverlap
    step = nperseg - noverlap
    win = window_of(window, nperseg)
    waves = np.transpose(z)
    parts = np.fft.irfft(waves, nfft) if input_onesided else np.fft.ifft(waves, nfft)
    size = np.sum(win) if scaling == "spectrum" else np.sqrt(fs * np.sum(win * win))
    count = z.shape[1]
    out = np.zeros(nperseg + (count - 1) * step, parts.dtype)
    weight = np.zeros(nperseg + (count - 1) * step, win.dtype)
    for k in range(count):
        out[k * step : k * step + nperseg] += parts[k, :nperseg] * win * size
        weight[k * step : k * step + nperseg] += win * win
    if boundary:
        half = nperseg // 2
        out, weight = out[half : out.shape[0] - half], weight[half : weight.shape[0] - half]
    found = out / np.where(weight > 1e-10, weight, 1.0)
    return np.arange(found.shape[0]) / fs, found
