"""Schur's form by SciPy's name: LAPACK finds it, and its two factors move as the form is kept.

Of A = Z T Z^H, with Z_dot = Z X and X skew,

    Z^H A_dot Z = T_dot + X T - T X,

and below the diagonal T_dot is zero: that is one linear system for X. Where a real matrix has two complex eigenvalues,
LAPACK keeps a block of two rows whose diagonal elements are equal; so do its tangents. Equal eigenvalues have vectors
that turn at no finite rate, and raise. The phases of complex vectors, which LAPACK leaves open, stay as they are.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.scipy_linalg import square
from diffjit.primitives.registry import implements
from diffjit.solvers.algebra.spectra import complex_of


def form_by_scipy(a, sort):
    """SciPy's form, and how many eigenvalues its order puts first."""
    found: Any = scipy.linalg.schur(np.asarray(a), output="complex" if np.iscomplexobj(a) else "real", sort=sort)
    return np.ascontiguousarray(found[0]), np.ascontiguousarray(found[1]), 0 if sort is None else int(found[2])


def separate(t):
    """Whether the eigenvalues of a form differ by more than rounding."""
    w = np.linalg.eigvals(np.asarray(t))
    gap = np.abs(w[None, :] - w[:, None]) + np.where(np.eye(w.size), np.inf, 0.0)
    return not np.any(gap <= 1e2 * w.size * np.finfo(gap.dtype).eps * np.max(np.abs(w), initial=0.0))


FORM = foreign(form_by_scipy, result=lambda a, sort: (a, a, 0))
SEPARATE = foreign(separate, result=bool)


def place(i, j):
    """Where the element below the diagonal stands among the unknowns."""
    return i * (i - 1) // 2 + j


def add(matrix, row, p, q, coefficient):
    """An element of a skew matrix in one of its equations."""
    if p > q:
        matrix[row, place(p, q)] += coefficient
    elif p < q:
        matrix[row, place(q, p)] -= coefficient


def turning(t, blocks, m):
    """The skew matrix by which the vectors turn."""
    n = t.shape[0]
    size = n * (n - 1) // 2
    matrix, right = np.zeros((size, size), t.dtype), np.zeros(size, t.dtype)
    for i in range(1, n):
        for j in range(i):
            row = place(i, j)
            if j + 1 == i and blocks[j]:
                right[row] = m[j, j] - m[i, i]
                for k in range(n):
                    add(matrix, row, j, k, t[k, j])
                    add(matrix, row, k, j, -t[j, k])
                    add(matrix, row, i, k, -t[k, i])
                    add(matrix, row, k, i, t[i, k])
            else:
                right[row] = m[i, j]
                for k in range(n):
                    add(matrix, row, i, k, t[k, j])
                    add(matrix, row, k, j, -t[i, k])
    found = np.linalg.solve(matrix, right)
    x = np.zeros((n, n), t.dtype)
    for i in range(1, n):
        for j in range(i):
            x[i, j] = found[place(i, j)]
    return x - np.conjugate(np.transpose(x))


def factors(a, t, z):
    return t + 0.0, z + 0.0


FACTORS = custom_jvp(factors)


@FACTORS.defjvp
def factors_jvp(primals, tangents):
    a, t0, z0 = primals
    t, z = FACTORS(a, t0, z0)
    if not SEPARATE(stop_gradient(t)):
        raise np.linalg.LinAlgError("Schur's form with equal eigenvalues has no derivative")
    n = t0.shape[0]
    blocks = np.diagonal(t0, -1) != 0.0
    m = np.conjugate(np.transpose(z)) @ tangents[0].astype(t0.dtype) @ z
    x = turning(t, blocks, m)
    t_dot = m - x @ t + t @ x
    kept = np.triu(np.ones((n, n)))
    for j in range(n - 1):
        kept[j + 1, j] = 1.0 if blocks[j] else 0.0
    return (t, z), (kept * t_dot, z @ x)


@implements(scipy.linalg.schur)
def schur(a, output="real", lwork=None, overwrite_a=False, sort=None, check_finite=True):
    """The triangular form of a matrix, and the vectors that it belongs to."""
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    if sort is not None and not isinstance(sort, str):
        raise NotImplementedError("scipy.linalg.schur(sort=function): 'lhp', 'rhp', 'iuc' or 'ouc'")
    a = square(a)
    if output in ("complex", "c"):
        a = a.astype(complex_of(a))
    t, z, count = FORM(stop_gradient(a), sort)
    t, z = FACTORS(a, t, z)
    return (t, z) if sort is None else (t, z, count)
