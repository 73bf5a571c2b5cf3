"""Functions of matrices: by iterations and exponentials that are analytic in the entries, so that derivatives follow.

Roots by the iteration of Denman and Beavers (N. Higham, Functions of Matrices, 6.3), logarithms by roots and a rule of
Gauss (ibid. 11.5): quadratic convergence, also of the derivatives. They are for matrices without eigenvalues on the
negative axis, where SciPy turns to complex numbers; it raises there.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.primitives.library.scipy_linalg import square
from diffjit.primitives.registry import implements

NODES, WEIGHTS = (tuple(float(v) for v in values) for values in np.polynomial.legendre.leggauss(9))


def root_of(a):
    """The principal square root."""
    x, y = a, np.eye(a.shape[0], dtype=a.dtype)
    left, more = 0, 2
    while more > 0:
        left += 1
        if left > 60:
            raise ValueError("a matrix with eigenvalues on the negative axis has no real root: make it complex")
        inverse, other = np.linalg.inv(y), np.linalg.inv(x)
        moved = 0.5 * (x + inverse)
        gap = np.sum(np.abs(moved - x)) / np.sum(np.abs(moved))
        x, y = moved, 0.5 * (y + other)
        if gap < 1e-7:  # the next step is exact to rounding, and the one after for derivatives too
            more -= 1
    return x


@implements(scipy.linalg.sqrtm)
def sqrtm(A, disp=True, blocksize=64):
    """The principal square root."""
    if not disp:
        raise NotImplementedError("scipy.linalg.sqrtm(disp=False): leave it out")
    return root_of(square(A))


@implements(scipy.linalg.logm)
def logm(A, disp=True):
    """The principal logarithm."""
    if not disp:
        raise NotImplementedError("scipy.linalg.logm(disp=False): leave it out")
    a = square(A)
    one = np.eye(a.shape[0], dtype=a.dtype)
    scale = 1.0
    while np.max(np.sum(np.abs(a - one), axis=0)) > 0.2:
        a = root_of(a)
        scale = 2.0 * scale
    gap = a - one
    total = np.zeros_like(gap)
    for k in range(9):
        total = total + 0.5 * WEIGHTS[k] * np.linalg.solve(one + 0.5 * (1.0 + NODES[k]) * gap, gap)
    return scale * total


@implements(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(A, t):
    """The principal power."""
    return scipy.linalg.expm(t * scipy.linalg.logm(A))


@implements(scipy.linalg.signm)
def signm(A, disp=True):
    """The sign of the eigenvalues' real parts, by Newton's iteration."""
    if not disp:
        raise NotImplementedError("scipy.linalg.signm(disp=False): leave it out")
    x = square(A)
    left, more = 0, 2
    while more > 0:
        left += 1
        if left > 100:
            raise ValueError("a matrix with eigenvalues on the imaginary axis has no sign")
        moved = 0.5 * (x + np.linalg.inv(x))
        gap = np.sum(np.abs(moved - x)) / np.sum(np.abs(moved))
        x = moved
        if gap < 1e-7:
            more -= 1
    return x


@implements(scipy.linalg.coshm)
def coshm(A):
    """The hyperbolic cosine."""
    a = square(A)
    return 0.5 * (scipy.linalg.expm(a) + scipy.linalg.expm(-a))


@implements(scipy.linalg.sinhm)
def sinhm(A):
    """The hyperbolic sine."""
    a = square(A)
    return 0.5 * (scipy.linalg.expm(a) - scipy.linalg.expm(-a))


@implements(scipy.linalg.tanhm)
def tanhm(A):
    """The hyperbolic tangent."""
    return np.linalg.solve(coshm(A), sinhm(A))


@implements(scipy.linalg.cosm)
def cosm(A):
    """The cosine."""
    a = square(A)
    if a.dtype.kind == "c":
        return 0.5 * (scipy.linalg.expm(1j * a) + scipy.linalg.expm(-1j * a))
    return np.real(scipy.linalg.expm(1j * a))


@implements(scipy.linalg.sinm)
def sinm(A):
    """The sine."""
    a = square(A)
    if a.dtype.kind == "c":
        return -0.5j * (scipy.linalg.expm(1j * a) - scipy.linalg.expm(-1j * a))
    return np.imag(scipy.linalg.expm(1j * a))


@implements(scipy.linalg.tanm)
def tanm(A):
    """The tangent."""
    return np.linalg.solve(cosm(A), sinm(A))


@implements(scipy.linalg.expm_frechet)
def expm_frechet(A, E, method=None, compute_expm=True, check_finite=True):
    """The exponential and its derivative along E: a corner of the exponential of a matrix twice as large."""
    a, e = square(A), square(E)
    n = a.shape[0]
    whole = scipy.linalg.expm(np.block([[a, e], [np.zeros_like(a), a]]))
    if compute_expm:
        return whole[:n, :n], whole[:n, n:]
    return whole[:n, n:]


@implements(scipy.linalg.funm)
def funm(A, func, disp=True):
    """A function of a matrix by its eigenvalues; real for real matrices, which SciPy decides when it runs."""
    if not disp:
        raise NotImplementedError("scipy.linalg.funm(disp=False): leave it out")
    a = square(A)
    values, vectors = np.linalg.eig(a + 0j)
    found = (vectors * func(values)) @ np.linalg.inv(vectors)
    if a.dtype.kind == "c":
        return found
    if np.max(np.abs(np.imag(found))) > 1e-9 * np.max(np.abs(found)):
        raise NotImplementedError("scipy.linalg.funm of a real matrix, whose function is not real: make it complex")
    return np.real(found)
