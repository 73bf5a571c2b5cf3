"""Eigenvalues and eigenvectors of matrices that are not symmetric; roots of polynomials.

LAPACK finds them, through NumPy or SciPy, and they are complex numbers, whatever the matrix: whether a matrix has
complex eigenvalues shows when it runs. From M. B. Giles, "Collected matrix derivative results" (2008), with V the
vectors:

    w_dot = diag(V^-1 A_dot V),   V_dot = V (F * V^-1 A_dot V) + V diag(g),   F_ij = 1 / (w_j - w_i)

LAPACK makes each vector one of length 1 whose largest component is real: g keeps it so. Values that are equal have
vectors that turn into each other at no finite rate, and a matrix without a basis of eigenvectors has no derivative of
its eigenvalues: both raise. The values alone, of a matrix that has a basis, have first derivatives where they are
equal: that of what is symmetric in them.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.series.powers import coefficients_of
from diffjit.primitives.registry import implements

EigResult = type(np.linalg.eig(np.eye(1)))


def complex_of(a):
    """The complex dtype of a matrix's eigenvalues."""
    return np.result_type(a, np.complex64)


def pairs_by_numpy(a):
    """NumPy's eigenvalues and eigenvectors."""
    w, v = np.linalg.eig(np.asarray(a))
    return w.astype(complex_of(a)), np.ascontiguousarray(v, dtype=complex_of(a))


def values_by_numpy(a):
    """NumPy's eigenvalues."""
    return np.linalg.eigvals(np.asarray(a)).astype(complex_of(a))


def vectors_for(a, w):
    """Eigenvectors in the order of these eigenvalues, which LAPACK finds in another order where it finds no vectors."""
    found, v = pairs_by_numpy(a)
    left, order = list(range(w.size)), []
    for value in np.asarray(w):
        nearest = int(np.argmin(np.abs(found[left] - value)))
        order.append(left.pop(nearest))
    return np.ascontiguousarray(v[:, order])


def is_basis(w, v):
    """Whether eigenvectors are independent up to rounding, whatever the units of their components are.

    Where two values are equal up to the rounding of a double one, units do not excuse two vectors that are parallel.
    """
    w, v = np.asarray(w), np.asarray(v)
    least = 10 * np.sqrt(np.finfo(v.real.dtype).eps)
    near = np.abs(w[None, :] - w[:, None]) <= least * np.maximum(np.abs(w[None, :]), np.abs(w[:, None]))
    if np.any(np.triu(near & (np.abs(np.conj(v.T) @ v) > 1 - least), 1)):
        return False
    size = np.max(np.abs(v), axis=1, keepdims=True)
    scaled = v / np.where(size > 0, size, 1)
    s = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=0), compute_uv=False)
    return bool(s.size == 0 or s[-1] > least * s[0])


def pinned(w, v):
    """Where the components are that LAPACK has made real: one of the largest of each vector, and 0 elsewhere."""
    w, v = np.asarray(w), np.asarray(v)
    gap = np.abs(w[None, :] - w[:, None]) + np.where(np.eye(w.size), np.inf, 0.0)
    if np.any(gap <= 4 * w.size * np.finfo(gap.dtype).eps * np.max(np.abs(w), initial=0.0)):
        raise np.linalg.LinAlgError("eigenvectors of equal eigenvalues have no derivative")
    out = np.zeros(v.shape, v.real.dtype)
    out[np.argmax(np.where(v.imag == 0.0, np.abs(v.real), -1.0), axis=0), np.arange(w.size)] = 1.0
    return out


def like_values(a):
    return np.zeros(a.shape[0], np.result_type(a, np.complex64))


def like_vectors(a, w):
    return np.zeros(a.shape, w.dtype)


def like_pairs(a):
    kind = np.result_type(a, np.complex64)
    return np.zeros(a.shape[0], kind), np.zeros(a.shape, kind)


PAIRS = foreign(pairs_by_numpy, result=like_pairs)
VALUES_ALONE = foreign(values_by_numpy, result=like_values)
VECTORS_FOR = foreign(vectors_for, result=like_vectors)
IS_BASIS = foreign(is_basis, result=bool)
PINNED = foreign(pinned, result=lambda w, v: np.zeros(v.shape, np.real(v).dtype))

# `a`, and its eigenvalues and vectors without derivatives, to which these functions give them.


def with_basis(w, v):
    """Vectors, which are a basis."""
    if not IS_BASIS(w, stop_gradient(v)):
        raise np.linalg.LinAlgError("a matrix without a basis of eigenvectors: its eigenvalues have no derivative")
    return v


def values(a, w, v):
    return w + 0.0


def vectors(a, w, v):
    return v + 0.0


VALUES, VECTORS = custom_jvp(values), custom_jvp(vectors)


@VALUES.defjvp
def values_jvp(primals, tangents):
    a, w, v = primals
    basis = with_basis(w, VECTORS(a, w, v))
    inner = np.linalg.solve(basis, tangents[0].astype(w.dtype) @ basis)
    return VALUES(a, w, v), np.diagonal(inner).copy()


@VECTORS.defjvp
def vectors_jvp(primals, tangents):
    a, w, v = primals
    pins = PINNED(w, v)
    here, basis = VALUES(a, w, v), with_basis(w, VECTORS(a, w, v))
    one = np.eye(w.shape[0], dtype=w.dtype)
    inner = np.linalg.solve(basis, tangents[0].astype(w.dtype) @ basis)
    turned = basis @ (inner * (1.0 - one) / (here[None, :] - here[:, None] + one))
    along = np.sum(np.real(basis) * np.real(turned) + np.imag(basis) * np.imag(turned), axis=0)
    phase = np.sum(pins * np.imag(turned), axis=0) / np.sum(pins * np.real(basis), axis=0)
    return VECTORS(a, w, v), turned - basis * (along + 1j * phase).astype(w.dtype)


def alone(a, w):
    return w + 0.0


ALONE = custom_jvp(alone)


@ALONE.defjvp
def alone_jvp(primals, tangents):
    a, w = primals
    v = VECTORS_FOR(stop_gradient(a), w)
    return values_jvp((a, w, v), (tangents[0], 0.0, 0.0))


def eigenvalues(a):
    """Eigenvalues of one matrix."""
    return ALONE(a, VALUES_ALONE(stop_gradient(a)))


def eigenpairs(a):
    """Eigenvalues and eigenvectors of one matrix."""
    w, v = PAIRS(stop_gradient(a))
    return VALUES(a, w, v), VECTORS(a, w, v)


def matrices(a):
    """Square matrices of floats."""
    a = as_float(np.asarray(a))
    if a.ndim < 2:
        raise np.linalg.LinAlgError("array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return a


@implements(np.linalg.eigvals)
def eigvals(a):
    """Eigenvalues, as complex numbers."""
    a = matrices(a)
    if a.ndim == 2:
        return eigenvalues(a)
    n = a.shape[-1]
    stack = np.reshape(a, (-1, n, n))
    out = np.zeros((stack.shape[0], n), complex_of(a))
    for k in range(stack.shape[0]):
        out[k] = eigenvalues(stack[k])
    return np.reshape(out, a.shape[:-1])


@implements(np.linalg.eig)
def eig(a):
    """Eigenvalues and eigenvectors, as complex numbers."""
    a = matrices(a)
    if a.ndim == 2:
        w, v = eigenpairs(a)
        return EigResult(w, v)
    n = a.shape[-1]
    stack = np.reshape(a, (-1, n, n))
    values_of, vectors_of = np.zeros((stack.shape[0], n), complex_of(a)), np.zeros(stack.shape, complex_of(a))
    for k in range(stack.shape[0]):
        values_of[k], vectors_of[k] = eigenpairs(stack[k])
    return EigResult(np.reshape(values_of, a.shape[:-1]), np.reshape(vectors_of, a.shape))


# Roots of polynomials. A root moves as the polynomial stays 0 there: this needs no vectors of a companion matrix.


def roots_by_numpy(upward, p):
    """NumPy's roots, with zeros to as many as there may be, and how many there are."""
    p = np.asarray(p)
    found = np.polynomial.polynomial.polyroots(p) if upward else np.roots(p)
    out = np.zeros(max(p.size - 1, 0), complex_of(p))
    out[: found.size] = found
    return out, int(found.size)


def simple(upward, p, r, count):
    """1 for each root, 0 behind them; raises where one is a multiple root up to rounding."""
    p = np.asarray(p)[::-1] if upward else np.asarray(p)
    r = np.asarray(r)[:count]
    powers = np.polyder(np.poly1d(p)).coef
    size = np.polyval(np.abs(powers), np.abs(r))
    if np.any(np.abs(np.polyval(powers, r)) <= 10 * np.sqrt(np.finfo(size.dtype).eps) * size):
        raise np.linalg.LinAlgError("a multiple root of a polynomial has no derivative")
    out = np.zeros(max(p.size - 1, 0), r.real.dtype)
    out[:count] = 1.0
    return out


def like_roots(upward, p):
    n = p.shape[0] - 1
    return np.zeros(max(0, n), np.result_type(p, np.complex64)), 0


ROOTS_BY_NUMPY = foreign(roots_by_numpy, result=like_roots)
SIMPLE = foreign(simple, result=lambda upward, p, r, count: np.zeros(r.shape, np.real(r).dtype))


def zeros_of(upward, p):
    return ROOTS_BY_NUMPY(upward, p)


ZEROS_OF = custom_jvp(zeros_of, nondiff_argnums=(0,))


@ZEROS_OF.defjvp
def zeros_jvp(upward, primals, tangents):
    (p,) = primals
    r, count = ZEROS_OF(upward, p)
    there = SIMPLE(upward, stop_gradient(p), stop_gradient(r), count)
    moved = tangents[0][::-1] if upward else tangents[0]
    powers = p[::-1] if upward else p
    one = np.ones_like(r)
    slope, change, height = 0.0 * one, moved[0] * one, powers[0] * one
    for k in range(1, p.shape[0]):
        slope = slope * r + height
        height = height * r + powers[k]
        change = change * r + moved[k]
    return (r, count), (-there * change / (slope + (1.0 - there)), count)


def zeros_from(upward, p):
    p = as_float(np.atleast_1d(np.asarray(p)))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.shape[0] < 2:
        return np.zeros(0, np.result_type(p, np.complex64))
    r, count = ZEROS_OF(upward, p)
    return r[:count].copy()


@implements(np.roots)
def roots(p):
    """The roots of a polynomial, as complex numbers."""
    return zeros_from(False, coefficients_of(p))


@implements(np.polynomial.polynomial.polyroots)
def polyroots(c):
    """The roots of a polynomial, lowest power first, as complex numbers."""
    return zeros_from(True, c)
