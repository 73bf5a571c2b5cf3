"""Eigenvalues by the names of `scipy.linalg`, of one matrix or of two, and what follows from them."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.scipy_linalg import square
from diffjit.primitives.registry import implements
from diffjit.solvers.algebra.spectra import ALONE, VALUES, VECTORS, complex_of


def pairs_by_scipy(a):
    """SciPy's eigenvalues, left and right eigenvectors."""
    found: Any = scipy.linalg.eig(np.asarray(a), left=True)
    w, left, right = found
    kind = complex_of(a)
    return w.astype(kind), np.ascontiguousarray(left, dtype=kind), np.ascontiguousarray(right, dtype=kind)


def pencil_by_scipy(a, b):
    """SciPy's eigenvalues and right eigenvectors of two matrices."""
    found: Any = scipy.linalg.eig(np.asarray(a), np.asarray(b))
    w, right = found
    return w.astype(complex_of(a)), np.ascontiguousarray(right, dtype=complex_of(a))


def values_by_scipy(a):
    """SciPy's eigenvalues."""
    return scipy.linalg.eigvals(np.asarray(a)).astype(complex_of(a))


def like_values(a):
    return np.zeros(a.shape[0], np.result_type(a, np.complex64))


def like_pairs(a):
    kind = np.result_type(a, np.complex64)
    return np.zeros(a.shape[0], kind), np.zeros(a.shape, kind), np.zeros(a.shape, kind)


def like_pencil(a, b):
    kind = np.result_type(a, np.complex64)
    return np.zeros(a.shape[0], kind), np.zeros(a.shape, kind)


PAIRS = foreign(pairs_by_scipy, result=like_pairs)
PENCIL = foreign(pencil_by_scipy, result=like_pencil)
VALUES_ALONE = foreign(values_by_scipy, result=like_values)


@implements(scipy.linalg.eig)
def eig(
    a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True,
    homogeneous_eigvals=False,
):  # fmt: skip
    """Eigenvalues and eigenvectors, as complex numbers."""
    if b is not None and (left or right):
        raise NotImplementedError("scipy.linalg.eig of two matrices, with vectors: eig(np.linalg.solve(b, a))")
    if homogeneous_eigvals:
        raise NotImplementedError("scipy.linalg.eig(homogeneous_eigvals=True): leave it out")
    if not left and not right:
        return eigvals(a, b)
    a = square(a)
    w, of_left, of_right = PAIRS(stop_gradient(a))
    found = VALUES(a, w, of_right)
    if not left:
        return found, VECTORS(a, w, of_right)
    turned = VECTORS(np.conjugate(np.transpose(a)), np.conjugate(w), of_left)
    if not right:
        return found, turned
    return found, turned, VECTORS(a, w, of_right)


@implements(scipy.linalg.eigvals)
def eigvals(a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    """Eigenvalues, as complex numbers."""
    if homogeneous_eigvals:
        raise NotImplementedError("scipy.linalg.eigvals(homogeneous_eigvals=True): leave it out")
    a = square(a)
    if b is None:
        return ALONE(a, VALUES_ALONE(stop_gradient(a)))
    b = square(b)
    w, v = PENCIL(stop_gradient(a), stop_gradient(b))
    return VALUES(np.linalg.solve(b, a), w, v)
