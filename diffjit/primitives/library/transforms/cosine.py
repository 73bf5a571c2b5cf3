"""Cosine and sine transforms of `scipy.fft`, each by one Fourier transform of numbers continued evenly or oddly."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.fft

from diffjit.primitives.library.axes import all_axes, as_float, one_axis, places
from diffjit.primitives.library.fourier import resized
from diffjit.primitives.registry import implements


def cosines(x, kind):
    """Sums of cosines along the last axis, without any factor: 2 * sum x[j] * cos(...), as SciPy has it."""
    n = x.shape[-1]
    if kind == 1:
        if n < 2:
            raise ValueError("DCT-I is not defined for size < 2")
        whole = np.concatenate((x, x[..., -2:0:-1]), axis=-1)
        return np.real(np.fft.rfft(whole))[..., :n]
    turn = np.exp(-1j * math.pi / (2 * n) * np.arange(n))
    if kind == 2:
        whole = np.concatenate((x, x[..., ::-1]), axis=-1)
        return np.real(np.fft.fft(whole)[..., :n] * turn)
    if kind == 3:
        turned = np.conjugate(turn) * x
        padded = np.concatenate((turned, np.zeros_like(turned)), axis=-1)
        return 2.0 * np.real(np.fft.ifft(padded)[..., :n]) * (2 * n) - x[..., :1]
    if kind == 4:
        half = np.exp(-1j * math.pi / (4 * n)) * turn
        padded = np.concatenate((x * turn, np.zeros_like(x * turn)), axis=-1)
        return 2.0 * np.real(np.fft.fft(padded)[..., :n] * half)
    raise ValueError(f"Invalid DCT type {kind}")


def signs(n):
    """1, -1, 1, ..."""
    return 1.0 - 2.0 * (np.arange(n) % 2)


def sines(x, kind):
    """Sums of sines along the last axis, by sums of cosines of what is mirrored or has changing signs."""
    n = x.shape[-1]
    if kind == 1:
        none = np.zeros_like(x[..., :1])
        whole = np.concatenate((none, x, none, -x[..., ::-1]), axis=-1)
        return -np.imag(np.fft.rfft(whole))[..., 1 : n + 1]
    if kind == 2:
        return cosines(x * signs(n), 2)[..., ::-1]
    if kind == 3:
        return cosines(x[..., ::-1], 3) * signs(n)
    if kind == 4:
        return cosines(x[..., ::-1], 4) * signs(n)
    raise ValueError(f"Invalid DST type {kind}")


def transformed(x, kind, n, axis, norm, sine, inverse, orthogonalize):
    """A transform, or its inverse, with its factors."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"Invalid norm value {norm!r}, should be 'backward', 'ortho' or 'forward'")
    x = as_float(np.asarray(x))
    if x.dtype.kind == "c":
        part = transformed(np.real(x), kind, n, axis, norm, sine, inverse, None)  # as SciPy does
        return part + 1j * transformed(np.imag(x), kind, n, axis, norm, sine, inverse, None)
    turned = norm == "ortho" if orthogonalize is None else orthogonalize
    axis = one_axis(axis, x.ndim)
    x = np.moveaxis(resized(x, n, axis), axis, -1)
    length = x.shape[-1]
    period = 2.0 * (length + (1 if sine else -1)) if kind == 1 else 2.0 * length
    if inverse and kind in (2, 3):
        kind = 5 - kind
    scale = 1.0
    if norm == "ortho":
        scale = 1.0 / np.sqrt(period)
    elif (norm == "forward") != inverse:
        scale = 1.0 / period
    if turned:
        x = x * ends(x, kind, sine, True)
    out = (sines(x, kind) if sine else cosines(x, kind)) * scale
    if turned:
        out = out * ends(out, kind, sine, False)
    return np.moveaxis(out.astype(x.dtype), -1, axis)


def ends(x, kind, sine, before):
    """Factors that make a transform orthogonal, of what goes in or of what comes out."""
    factor = np.ones(x.shape[-1], x.dtype)
    if kind == 1 and not sine:
        factor[0] = math.sqrt(2.0) if before else math.sqrt(0.5)
        factor[-1] = math.sqrt(2.0) if before else math.sqrt(0.5)
    elif (kind == 2 and not before) or (kind == 3 and before):
        factor[-1 if sine else 0] = math.sqrt(0.5) if kind == 2 else math.sqrt(2.0)
    return factor


@implements(scipy.fft.dct)
def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):  # noqa: A002
    """The cosine transform."""
    return transformed(x, type, n, axis, norm, False, False, orthogonalize)


@implements(scipy.fft.idct)
def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):  # noqa: A002
    """The inverse of the cosine transform."""
    return transformed(x, type, n, axis, norm, False, True, orthogonalize)


@implements(scipy.fft.dst)
def dst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):  # noqa: A002
    """The sine transform."""
    return transformed(x, type, n, axis, norm, True, False, orthogonalize)


@implements(scipy.fft.idst)
def idst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):  # noqa: A002
    """The inverse of the sine transform."""
    return transformed(x, type, n, axis, norm, True, True, orthogonalize)


def of_all(one, x, kind, s, axes, norm, orthogonalize):
    """A transform along several axes, the last ones where there are lengths for them alone."""
    x = np.asarray(x)
    if s is None:
        for axis in all_axes(axes, x.ndim):
            x = one(x, kind, None, axis, norm, orthogonalize=orthogonalize)
        return x
    lengths = tuple(s) if isinstance(s, (tuple, list)) else (s,)
    chosen = all_axes(tuple(range(-len(lengths), 0)) if axes is None else axes, x.ndim)
    if len(chosen) != len(lengths):
        raise ValueError("when given, axes and shape arguments have to be of the same length")
    for k in places(len(lengths)):
        x = one(x, kind, None if lengths[k] == -1 else lengths[k], chosen[k], norm, orthogonalize=orthogonalize)
    return x


@implements(scipy.fft.dctn)
def dctn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):  # noqa: A002
    """The cosine transform along axes."""
    return of_all(dct, x, type, s, axes, norm, orthogonalize)


@implements(scipy.fft.idctn)
def idctn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):  # noqa: A002
    """The inverse of the cosine transform along axes."""
    return of_all(idct, x, type, s, axes, norm, orthogonalize)


@implements(scipy.fft.dstn)
def dstn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):  # noqa: A002
    """The sine transform along axes."""
    return of_all(dst, x, type, s, axes, norm, orthogonalize)


@implements(scipy.fft.idstn)
def idstn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):  # noqa: A002
    """The inverse of the sine transform along axes."""
    return of_all(idst, x, type, s, axes, norm, orthogonalize)
