"""Rules of spectral decompositions: eigenvalues and eigenvectors of Hermitian matrices, singular values and vectors.

One operation gives values and vectors in one array, so that both come from one factorisation:

    eigh(A)   (..., n + 1, n)      the eigenvalues, and below them the eigenvectors
    svd(A)    (..., m + n + 1, k)  left singular vectors, singular values, right singular vectors; k = min(m, n)

Formulas from M. B. Giles, "Collected matrix derivative results" (2008), and for complex matrices from Z.-Q. Wan and
S.-X. Zhang, "Automatic differentiation for complex valued SVD" (arXiv:1909.02659). Vectors turn into each other at a
rate of 1 / (difference of their values). Where two values are equal up to rounding, that rate is NaN: vectors of equal
values have no derivative, and what is built of them may have one that their cotangents do not determine. A cotangent
of 0 is not affected, so that functions of the values alone keep their derivative.

The phase of a complex vector is that of LAPACK, which has no derivative: that of functions that hang on it is the one
for vectors whose tangents have no part along themselves.
"""

# NumPy's stubs of operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives.arithmetic import zmul
from diffjit.primitives.linalg import adjoint, lower_half
from diffjit.primitives.registry import rule


def packed_eigh(a: Any, upper: bool) -> Any:
    """Eigenvalues in the first row, eigenvectors below; of one triangle."""
    values, vectors = np.linalg.eigh(a, "U" if upper else "L")
    return np.concatenate([values[..., None, :], vectors], -2)


def packed_svd(a: Any) -> Any:
    """Left singular vectors, singular values, right singular vectors."""
    left, values, right = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([left, values[..., None, :], np.swapaxes(right, -1, -2).conj()], -2)


def rates(gap: Any, size: Any) -> Any:
    """1 / gap off the diagonal, NaN where the gap is 0 up to rounding of numbers of this size, 0 on the diagonal."""
    n = gap.shape[-1]
    near = np.abs(gap) <= 4 * n * np.finfo(gap.dtype).eps * size
    rate = np.where(near, np.nan, 1 / np.where(near, 1, gap)).astype(gap.dtype)
    return np.where(np.eye(n, dtype=np.bool_), np.zeros_like(gap), rate)


def largest(values: Any) -> Any:
    """The largest magnitude, for each matrix."""
    return np.max(np.abs(values), axis=-1, initial=0)[..., None, None]


eigh = rule("eigh", "A", numbers="adjoint")


def turning(values: Any) -> Any:
    """F_ij = 1 / (w_j - w_i)."""
    return rates(values[..., None, :] - values[..., :, None], largest(values))


def diagonal_of(a: Any) -> Any:
    """The diagonals of a stack of matrices, as a fresh array."""
    return np.sum(a * np.eye(a.shape[-1], dtype=a.dtype), axis=-1)


@eigh.jvp
def eigh_jvp(A_dot: Any, out: Any, *, upper: bool) -> Any:
    """w_dot = diag(V^H A_dot V), V_dot = V (F * V^H A_dot V), where A_dot is Hermitian by one triangle."""
    values, vectors = np.real(out[..., 0, :]), out[..., 1:, :]
    half = lower_half(adjoint(A_dot) if upper else A_dot)
    inner = adjoint(vectors) @ ((half + adjoint(half)) @ vectors)
    values_dot = np.real(diagonal_of(inner)).astype(out.dtype)
    vectors_dot = vectors @ zmul(inner, turning(values))
    return np.concatenate([values_dot[..., None, :], vectors_dot], -2)


@eigh.vjp
def eigh_vjp(out: Any, out_bar: Any, *, upper: bool) -> Any:
    """A_bar = Phi(S + S^H), S = V (diag(w_bar) + F * V^H V_bar) V^H."""
    values, vectors = np.real(out[..., 0, :]), out[..., 1:, :]
    inner = zmul(adjoint(vectors) @ out_bar[..., 1:, :], turning(values))
    values_bar = np.real(out_bar[..., 0, :]).astype(out.dtype)
    inner = inner + values_bar[..., None, :] * np.eye(values.shape[-1], dtype=out.dtype)
    whole = vectors @ inner @ adjoint(vectors)
    half = lower_half(whole + adjoint(whole))
    return adjoint(half) if upper else half


svd = rule("svd", "A", numbers="adjoint")


def svd_parts(A: Any, packed: Any) -> Any:
    """Left vectors, values (as they are stored) and right vectors."""
    m = A.shape[-2]
    return packed[..., :m, :], packed[..., m, :], packed[..., m + 1 :, :]


def squared_turning(values: Any) -> Any:
    """F_ij = 1 / (s_j^2 - s_i^2)."""
    row, column = values[..., None, :], values[..., :, None]
    size = largest(values)
    total = np.where(row + column > 0, row + column, np.ones_like(row + column))
    return rates(row - column, size) / total


def inverse_values(values: Any) -> Any:
    """1 / s, NaN for values that are 0 up to rounding."""
    zero = values <= 4 * values.shape[-1] * np.finfo(values.dtype).eps * largest(values)[..., 0]
    return np.where(zero, np.nan, 1 / np.where(zero, 1, values)).astype(values.dtype)


@svd.jvp
def svd_jvp(A: Any, A_dot: Any, out: Any) -> Any:
    """With P = U^H A_dot V: s_dot = Re diag(P), U_dot = U (F * (P S + S P^H)) + (I - U U^H) A_dot V / s."""
    left, stored, right = svd_parts(A, out)
    values = np.real(stored)
    towards = A_dot @ right
    inner = adjoint(left) @ towards
    rate, inverse = squared_turning(values), inverse_values(values)
    row, column = values[..., None, :], values[..., :, None]
    left_dot = left @ zmul(inner * row + column * adjoint(inner), rate)
    right_dot = right @ zmul(column * inner + adjoint(inner) * row, rate)
    if A.shape[-2] > A.shape[-1]:
        left_dot = left_dot + zmul(towards - left @ inner, inverse[..., None, :])
    if A.shape[-1] > A.shape[-2]:
        back = adjoint(A_dot) @ left
        right_dot = right_dot + zmul(back - right @ adjoint(inner), inverse[..., None, :])
    diagonal = diagonal_of(inner)
    if A.dtype.kind == "c":
        left_dot = left_dot + left * zmul(diagonal - np.real(diagonal), inverse)[..., None, :]
    return np.concatenate([left_dot, np.real(diagonal).astype(out.dtype)[..., None, :], right_dot], -2)


@svd.vjp
def svd_vjp(A: Any, out: Any, out_bar: Any) -> Any:
    """The adjoint of the forward rule, by P_bar: A_bar = U P_bar V^H and what lies outside of U and V."""
    left, stored, right = svd_parts(A, out)
    left_bar, stored_bar, right_bar = svd_parts(A, out_bar)
    values = np.real(stored)
    rate, inverse = squared_turning(values), inverse_values(values)
    row, column = values[..., None, :], values[..., :, None]
    on_left, on_right = adjoint(left) @ left_bar, adjoint(right) @ right_bar
    g, h = zmul(on_left, rate), zmul(on_right, rate)
    inner = (g + adjoint(g)) * row + column * (h + adjoint(h))
    unit = np.eye(values.shape[-1], dtype=out.dtype)
    inner = inner + np.real(stored_bar).astype(out.dtype)[..., None, :] * unit
    if A.dtype.kind == "c":
        phase = diagonal_of(on_left)
        inner = inner + zmul(phase - np.real(phase), inverse)[..., None, :] * unit
    A_bar = left @ inner @ adjoint(right)
    if A.shape[-2] > A.shape[-1]:
        A_bar = A_bar + zmul(left_bar - left @ on_left, inverse[..., None, :]) @ adjoint(right)
    if A.shape[-1] > A.shape[-2]:
        A_bar = A_bar + left @ adjoint(zmul(right_bar - right @ on_right, inverse[..., None, :]))
    return A_bar
