"""`scipy.fftpack`: the transforms of `scipy.fft` under their older names; those of real numbers are packed as reals."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.fftpack

from diffjit.primitives.library.axes import as_float, one_axis
from diffjit.primitives.library.fourier import resized
from diffjit.primitives.library.transforms.cosine import dct as new_dct
from diffjit.primitives.library.transforms.cosine import of_all, transformed
from diffjit.primitives.registry import implements


@implements(scipy.fftpack.fft)
def fft(x, n=None, axis=-1, overwrite_x=False):
    """The transform."""
    return np.fft.fft(x, n, axis)


@implements(scipy.fftpack.ifft)
def ifft(x, n=None, axis=-1, overwrite_x=False):
    """The inverse transform."""
    return np.fft.ifft(x, n, axis)


def lengths_alone(shape, axes):
    """Axes that lengths belong to."""
    return tuple(range(-len(shape), 0)) if shape is not None and axes is None else axes


@implements(scipy.fftpack.fftn)
def fftn(x, shape=None, axes=None, overwrite_x=False):
    """The transform along axes."""
    return np.fft.fftn(x, shape, lengths_alone(shape, axes))


@implements(scipy.fftpack.ifftn)
def ifftn(x, shape=None, axes=None, overwrite_x=False):
    """The inverse transform along axes."""
    return np.fft.ifftn(x, shape, lengths_alone(shape, axes))


@implements(scipy.fftpack.fft2)
def fft2(x, shape=None, axes=(-2, -1), overwrite_x=False):
    """The transform along two axes."""
    return np.fft.fftn(x, shape, axes)


@implements(scipy.fftpack.ifft2)
def ifft2(x, shape=None, axes=(-2, -1), overwrite_x=False):
    """The inverse transform along two axes."""
    return np.fft.ifftn(x, shape, axes)


@implements(scipy.fftpack.rfft)
def rfft(x, n=None, axis=-1, overwrite_x=False):
    """The transform of real numbers: the real part of the first, then real and imaginary parts by turns."""
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    x = np.moveaxis(resized(x, n, axis), axis, -1)
    waves = np.fft.rfft(x)
    out = np.zeros_like(x)
    length = x.shape[-1]
    out[..., 0] = np.real(waves[..., 0])
    out[..., 1::2] = np.real(waves[..., 1:])
    out[..., 2::2] = np.imag(waves[..., 1 : (length + 1) // 2])
    return np.moveaxis(out, -1, axis)


@implements(scipy.fftpack.irfft)
def irfft(x, n=None, axis=-1, overwrite_x=False):
    """Real numbers from what `rfft` gives."""
    x = as_float(np.asarray(x))
    axis = one_axis(axis, x.ndim)
    x = np.moveaxis(resized(x, n, axis), axis, -1)
    length = x.shape[-1]
    waves = np.zeros((*x.shape[:-1], length // 2 + 1), np.complex128)
    waves[..., 0] = x[..., 0]
    waves[..., 1:] = x[..., 1::2]
    waves[..., 1 : (length + 1) // 2] += 1j * x[..., 2::2]
    return np.moveaxis(np.fft.irfft(waves, length), -1, axis)


@implements(scipy.fftpack.dct)
def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002 - SciPy's name
    """The cosine transform."""
    return transformed(x, type, n, axis, norm, False, False, None)


@implements(scipy.fftpack.idct)
def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002
    """The cosine transform that goes back, without its factor."""
    return transformed(x, type if type in (1, 4) else 5 - type, n, axis, norm, False, False, None)


@implements(scipy.fftpack.dst)
def dst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002
    """The sine transform."""
    return transformed(x, type, n, axis, norm, True, False, None)


@implements(scipy.fftpack.idst)
def idst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False):  # noqa: A002
    """The sine transform that goes back, without its factor."""
    return transformed(x, type if type in (1, 4) else 5 - type, n, axis, norm, True, False, None)


@implements(scipy.fftpack.dctn)
def dctn(x, type=2, shape=None, axes=None, norm=None, overwrite_x=False):  # noqa: A002
    """The cosine transform along axes."""
    return of_all(new_dct, x, type, shape, axes, norm)


@implements(scipy.fftpack.idctn)
def idctn(x, type=2, shape=None, axes=None, norm=None, overwrite_x=False):  # noqa: A002
    """The cosine transform along axes that goes back, without its factor."""
    return of_all(new_dct, x, type if type in (1, 4) else 5 - type, shape, axes, norm)
