"""Analog prototypes of `scipy.signal` turned into other filters, and quotients of polynomials as sums of fractions."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.signal

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.signal.forms import coefficients, tf2zpk
from diffjit.primitives.registry import implements


def powers(values, name):
    """The coefficients of a polynomial."""
    values = as_float(np.atleast_1d(np.asarray(values)))
    if values.ndim != 1:
        raise ValueError(f"{name} must be a rank-1 array of coefficients")
    return values


def number(value):
    """A number, also given as an array of one."""
    return as_float(np.ravel(np.asarray(value)))[0]


@implements(scipy.signal.normalize)
def normalize(b, a):
    """A quotient of polynomials whose denominator begins with 1, without the columns of zeros that SciPy leaves out."""
    den = coefficients(a, "a")
    num = as_float(np.atleast_2d(np.asarray(b)))
    if num.ndim > 2:
        raise ValueError("Numerator polynomial must be rank-1 or rank-2 array.")
    num, den = num / den[0], den / den[0]
    if np.all(np.abs(num[:, 0]) <= 1e-14):
        start = 1
        while start < num.shape[1] and np.all(np.abs(num[:, start]) <= 1e-14):
            start += 1
        num = num[:, min(start, num.shape[1] - 1) :]
    return (num[0] if num.shape[0] == 1 else num), den


# Other frequencies ----------------------------------------------------------------------------------------------------


@implements(scipy.signal.lp2lp)
def lp2lp(b, a, wo=1.0):
    """A low pass of another cutoff."""
    b, a, wo = powers(b, "b"), powers(a, "a"), number(wo)
    n, d = b.shape[0], a.shape[0]
    last = max(n - d, 0)  # the power that a begins with, less than that of b
    return normalize(b * wo ** np.arange(last + d - n, last + d), a * wo ** np.arange(last, last + d))


@implements(scipy.signal.lp2hp)
def lp2hp(b, a, wo=1.0):
    """A high pass of a low pass."""
    b, a, wo = powers(b, "b"), powers(a, "a"), number(wo)
    size = max(b.shape[0], a.shape[0])
    scales = wo ** np.arange(size)
    num, den = np.zeros(size, b.dtype), np.zeros(size, a.dtype)
    num[: b.shape[0]], den[: a.shape[0]] = b[::-1], a[::-1]
    return normalize(num * scales, den * scales)


def of_band(c, degree, wo, bw, inside):
    """A polynomial in q / (bw s), times s to a degree, or in bw s / q, times q to it, where q is s² + wo²."""
    found = np.zeros(c.shape[0] + degree if inside else 2 * degree + 1, np.result_type(c.dtype, np.float64))
    last = found.shape[0] - 1
    for i in range(c.shape[0]):
        factors, power, scale = (i, degree - i, 1.0 / bw**i) if inside else (degree - i, i, bw**i)
        for k in range(factors + 1):
            share = math.comb(factors, k) * (wo * wo) ** (factors - k) * scale
            found[last - power - 2 * k] += share * c[c.shape[0] - 1 - i]
    return found


def banded(b, a, wo, bw, inside):
    """A filter of a band, of a low pass."""
    b, a, wo, bw = powers(b, "b"), powers(a, "a"), number(wo), number(bw)
    degree = max(b.shape[0], a.shape[0]) - 1
    return normalize(of_band(b, degree, wo, bw, inside), of_band(a, degree, wo, bw, inside))


@implements(scipy.signal.lp2bp)
def lp2bp(b, a, wo=1.0, bw=1.0):
    """A band pass of a low pass."""
    return banded(b, a, wo, bw, True)


@implements(scipy.signal.lp2bs)
def lp2bs(b, a, wo=1.0, bw=1.0):
    """A filter that stops a band, of a low pass."""
    return banded(b, a, wo, bw, False)


@implements(scipy.signal.bilinear)
def bilinear(b, a, fs=1.0):
    """A filter in steps of time: the polynomials in 2 fs (z - 1) / (z + 1), times (z + 1) to the higher degree."""
    b, a = coefficients(b, "b"), coefficients(a, "a")
    degree, twice = max(b.shape[0], a.shape[0]) - 1, 2.0 * fs
    return normalize(stepped(b, degree, twice), stepped(a, degree, twice))


def stepped(c, degree, twice):
    """One of the polynomials."""
    found = np.zeros(degree + 1, np.result_type(c.dtype, np.float64))
    for i in range(c.shape[0]):
        for k in range(i + 1):
            for j in range(degree - i + 1):
                share = math.comb(i, k) * math.comb(degree - i, j) * (-1.0) ** (i - k)
                found[degree - k - j] += share * c[c.shape[0] - 1 - i] * twice ** (i - degree / 2)
    return found


# By zeros and poles ---------------------------------------------------------------------------------------------------


def roots_of(z, p):
    """Zeros and poles, and how many more poles there are."""
    z, p = (as_float(np.atleast_1d(np.asarray(part))) for part in (z, p))
    more = p.shape[0] - z.shape[0]
    if more < 0:
        raise ValueError("Improper transfer function. Must have at least as many poles as zeros.")
    return z, p, more


@implements(scipy.signal.bilinear_zpk)
def bilinear_zpk(z, p, k, fs):
    """A filter in steps of time."""
    z, p, more = roots_of(z, p)
    twice = 2.0 * fs
    gain = k * np.real(np.prod(twice - z) / np.prod(twice - p))
    return np.concatenate(((twice + z) / (twice - z), -np.ones(more))), (twice + p) / (twice - p), gain


@implements(scipy.signal.lp2lp_zpk)
def lp2lp_zpk(z, p, k, wo=1.0):
    """A low pass of another cutoff."""
    z, p, more = roots_of(z, p)
    return wo * z, wo * p, k * float(wo) ** more


@implements(scipy.signal.lp2hp_zpk)
def lp2hp_zpk(z, p, k, wo=1.0):
    """A high pass of a low pass."""
    z, p, more = roots_of(z, p)
    return np.concatenate((wo / z, np.zeros(more))), wo / p, k * np.real(np.prod(-z) / np.prod(-p))


def both_sides(middle, wo):
    """The two roots around each frequency of a band."""
    away = np.sqrt((middle + 0j) ** 2 - wo**2)
    return np.concatenate((middle + away, middle - away))


@implements(scipy.signal.lp2bp_zpk)
def lp2bp_zpk(z, p, k, wo=1.0, bw=1.0):
    """A band pass of a low pass."""
    z, p, more = roots_of(z, p)
    zeros = np.concatenate((both_sides(z * (bw / 2), wo), np.zeros(more)))
    return zeros, both_sides(p * (bw / 2), wo), k * float(bw) ** more


@implements(scipy.signal.lp2bs_zpk)
def lp2bs_zpk(z, p, k, wo=1.0, bw=1.0):
    """A filter that stops a band, of a low pass."""
    z, p, more = roots_of(z, p)
    ends = 1j * wo * np.ones(more)
    zeros = np.concatenate((both_sides((bw / 2) / z, wo), ends, -ends))
    return zeros, both_sides((bw / 2) / p, wo), k * np.real(np.prod(-z) / np.prod(-p))


@implements(scipy.signal.sos2zpk)
def sos2zpk(sos):
    """Zeros, poles and a gain from sections of the second order."""
    sos = as_float(np.asarray(sos))
    z, p = np.zeros(2 * sos.shape[0], complex), np.zeros(2 * sos.shape[0], complex)
    gain = 1.0
    for k in range(sos.shape[0]):
        zeros, poles, share = tf2zpk(sos[k, :3], sos[k, 3:])
        z[2 * k : 2 * k + 2], p[2 * k : 2 * k + 2] = zeros, poles
        gain = gain * share
    return z, p, gain


# Fractions ------------------------------------------------------------------------------------------------------------


def simple_poles(a, tol):
    """The roots of a denominator, in the order of their sizes; there are no multiple ones."""
    poles = np.roots(a)
    poles = poles[np.argsort(np.abs(poles))]
    for k in range(poles.shape[0]):
        if np.any(np.abs(poles[k + 1 :] - poles[k]) <= tol):
            raise NotImplementedError("scipy.signal's residues of multiple poles: only simple ones have a derivative")
    return poles


def shares(b, poles):
    """The residues at simple poles of a quotient whose denominator begins with 1."""
    found = np.zeros(poles.shape[0], np.complex128)
    for k in range(poles.shape[0]):
        others = np.where(np.arange(poles.shape[0]) == k, 1.0, poles[k] - poles)
        found[k] = np.polyval(b, poles[k]) / np.prod(others)
    return found


@implements(scipy.signal.residue)
def residue(b, a, tol=1e-3, rtype="avg"):
    """A quotient of polynomials as a sum of fractions and a polynomial."""
    if rtype not in ("max", "maximum", "min", "minimum", "avg", "mean"):
        raise ValueError("`rtype` must be one of {'max', 'maximum', 'min', 'minimum', 'avg', 'mean'}")
    b, a = coefficients(b, "b"), coefficients(a, "a")
    poles, whole = simple_poles(a, tol), np.zeros(0)
    if b.shape[0] >= a.shape[0]:
        whole, b = np.polydiv(b, a)
    return shares(b, poles) / a[0], poles, whole
