"""Polynomials: their values in several bases, arithmetic with coefficients, fits."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import as_float, places
from diffjit.primitives.library.orthogonal import demand_rank, least_squares
from diffjit.primitives.library.series.powers import as_given, coefficients_of
from diffjit.primitives.registry import implements


@implements(np.polyval)
def polyval(p, x):
    """A polynomial by Horner's rule, highest power first."""
    value = np.multiply(x, 0)
    for coefficient in p:
        value = value * x + np.add(coefficient, 0)  # NumPy's number, as an array's item is
    return value


@implements(np.polyadd)
def polyadd(a1, a2):
    """Sum of polynomials."""
    first, second = as_long(a1, a2)
    return as_given(first + second, a1, a2)


@implements(np.polysub)
def polysub(a1, a2):
    """Difference of polynomials."""
    first, second = as_long(a1, a2)
    return as_given(first - second, a1, a2)


def as_long(a1, a2):
    """Two polynomials with as many coefficients, the first of the shorter one 0."""
    first, second = coefficients_of(a1), coefficients_of(a2)
    n = max(first.shape[0], second.shape[0])
    return (
        np.concatenate((np.zeros((n - first.shape[0], *first.shape[1:]), first.dtype), first)),
        np.concatenate((np.zeros((n - second.shape[0], *second.shape[1:]), second.dtype), second)),
    )


@implements(np.polymul)
def polymul(a1, a2):
    """Product of polynomials."""
    return as_given(np.convolve(coefficients_of(a1), coefficients_of(a2)), a1, a2)


@implements(np.polyder)
def polyder(p, m=1):
    """Derivative of a polynomial."""
    found = coefficients_of(p)
    for _ in places(m):
        n = found.shape[0]
        found = found[:-1] * np.arange(n - 1, 0, -1)
    return as_given(found, p)


@implements(np.polyint)
def polyint(p, m=1, k=None):
    """Antiderivative of a polynomial."""
    found = as_float(coefficients_of(p))
    constants = np.zeros(m) if k is None else np.ravel(k) * np.ones(m)
    for j in places(m):
        found = np.concatenate((found / np.arange(found.shape[0], 0, -1), constants[j : j + 1]))
    return as_given(found, p)


@implements(np.poly)
def poly(seq_of_zeros):
    """The coefficients of the polynomial with these zeros."""
    zeros = as_float(np.asarray(seq_of_zeros))
    if zeros.ndim != 1:
        of_values = np.poly(np.linalg.eigvals(zeros))
        return of_values if zeros.dtype.kind == "c" else np.real(of_values)
    n = zeros.shape[0]
    coefficients = np.zeros(n + 1, zeros.dtype)
    coefficients[0] = 1.0
    for k in range(n):
        coefficients[1:] -= zeros[k] * coefficients[:-1]
    return coefficients


@implements(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The polynomial that is nearest in least squares, for points that determine it; with `cov` its covariance, too."""
    x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    powers = np.vander(x, deg + 1)
    if w is not None:
        powers = powers * np.asarray(w)[:, None]
        y = (y.T * np.asarray(w)).T
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    if full:
        found, left, rank, values = np.linalg.lstsq(powers, y, rcond)
        cut = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
        return (found.T / scale).T, left, rank, values, cut
    if rcond is not None:
        demand_rank(np.linalg.svdvals(powers), rcond, deg + 1)
    found = least_squares(powers, y)
    fitted = (found.T / scale).T
    if not cov:
        return fitted
    spread = np.linalg.inv(powers.T @ powers) / (scale[:, None] * scale)
    factor = 1.0
    if cov != "unscaled":
        if x.shape[0] <= deg + 1:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = np.sum((powers @ found - y) ** 2, axis=0) / (x.shape[0] - (deg + 1))
    return fitted, spread * factor if y.ndim == 1 else spread[:, :, None] * factor
