"""The Fourier transforms of `scipy.fft`, which are those of `np.fft`, with single precision kept."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.fft

from diffjit.primitives.registry import constant, implements


def no_plan(plan):
    """Plans are not taken; workers and what may be overwritten change nothing."""
    if plan is not None:
        raise NotImplementedError("scipy.fft: plan= is not supported: leave it out")


def along_one(theirs, ours):
    """A transform along one axis."""

    @implements(theirs)
    def transform(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
        no_plan(plan)
        return ours(x, n, axis, norm)

    return transform


def along_two(theirs, ours):
    """A transform along two axes."""

    @implements(theirs)
    def transform(x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None, *, plan=None):
        no_plan(plan)
        return ours(x, s, axes, norm)

    return transform


def along_all(theirs, ours):
    """A transform along all axes, or some."""

    @implements(theirs)
    def transform(x, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, plan=None):
        no_plan(plan)
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))
        return ours(x, s, axes, norm)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    along_one(getattr(scipy.fft, _name), getattr(np.fft, _name))
for _name in ("fft2", "ifft2", "rfft2", "irfft2"):
    along_two(getattr(scipy.fft, _name), getattr(np.fft, _name))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    along_all(getattr(scipy.fft, _name), getattr(np.fft, _name))


@implements(scipy.fft.fftshift)
def fftshift(x, axes=None):
    """The frequency 0 in the middle."""
    return np.fft.fftshift(x, axes)


@implements(scipy.fft.ifftshift)
def ifftshift(x, axes=None):
    """The frequency 0 first."""
    return np.fft.ifftshift(x, axes)


@implements(scipy.fft.fftfreq)
def fftfreq(n, d=1.0, *, xp=None, device=None):
    """The frequencies of a transform."""
    return np.fft.fftfreq(n, d)


@implements(scipy.fft.rfftfreq)
def rfftfreq(n, d=1.0, *, xp=None, device=None):
    """The frequencies of a transform of real numbers."""
    return np.fft.rfftfreq(n, d)


constant(scipy.fft.next_fast_len)
