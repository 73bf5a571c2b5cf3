"""What NumPy makes of eigenvalues and singular values: decompositions, norms, ranks, least squares."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import as_float, by_lower_half
from diffjit.primitives.registry import implements
from diffjit.primitives.spectral import packed_eigh, packed_svd

EighResult = type(np.linalg.eigh(np.eye(1)))
SVDResult = type(np.linalg.svd(np.eye(1)))


def eigen(a, triangle):
    """Eigenvalues and eigenvectors in one array."""
    if triangle not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return packed_eigh(as_float(np.asarray(a)), triangle in ("U", "u"))


@implements(np.linalg.eigh)
def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    both = eigen(a, UPLO)
    return EighResult(np.real(both[..., 0, :]).copy(), both[..., 1:, :].copy())


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    """Eigenvalues of Hermitian matrices."""
    return np.real(eigen(a, UPLO)[..., 0, :]).copy()


def singular(a, hermitian):
    """The matrices, and their singular values and vectors in one array."""
    a = as_float(np.asarray(a))
    if hermitian:
        raise NotImplementedError("singular values of a matrix said to be hermitian: leave `hermitian` out")
    return a, packed_svd(a)


@implements(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values and vectors."""
    a, both = singular(a, hermitian)
    m = a.shape[-2]
    values = np.real(both[..., m, :]).copy()
    if not compute_uv:
        return values
    if full_matrices and m != a.shape[-1]:
        raise NotImplementedError(
            "np.linalg.svd of a matrix that is not square: full_matrices=False; further vectors have no derivative"
        )
    return SVDResult(both[..., :m, :].copy(), values, np.conjugate(np.swapaxes(both[..., m + 1 :, :], -1, -2)).copy())


@implements(np.linalg.svdvals)
def svdvals(x, /):
    """Singular values."""
    a, both = singular(x, False)
    return np.real(both[..., a.shape[-2], :]).copy()


@implements(np.linalg.matrix_rank)
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """How many singular values are not 0 up to rounding."""
    A = as_float(np.asarray(A))
    if A.ndim < 2:
        return int(np.any(A != 0))
    A = by_lower_half(A) if hermitian else A
    values = svdvals(A)
    if tol is None:
        if rtol is None:
            rtol = max(A.shape[-2], A.shape[-1]) * np.finfo(values.dtype).eps
        tol = np.max(values, axis=-1, keepdims=True, initial=0) * rtol
    return np.sum(values > tol, axis=-1)
