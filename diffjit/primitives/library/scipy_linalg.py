"""Functions of `scipy.linalg`, written with those of NumPy. What they may overwrite or check changes nothing here."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.orthogonal import demand_rank, pseudo_inverse
from diffjit.primitives.registry import implements


def square(a):
    """One matrix of floats."""
    a = as_float(np.asarray(a))
    if a.ndim < 2:
        raise ValueError("expected a square matrix")
    if a.ndim > 2:
        raise NotImplementedError("stacks of matrices in scipy.linalg: use numpy.linalg, or loop over the stack")
    if a.shape[0] != a.shape[1]:
        raise ValueError("expected a square matrix")
    return a


def enlarged(a):
    """One matrix of floats, which a number is as well."""
    return square(np.atleast_2d(as_float(np.asarray(a))))


def to_factor(a):
    """A matrix for Gauss's elimination, which SciPy has for other shapes too."""
    if np.ndim(a) == 2 and np.shape(a)[0] != np.shape(a)[1]:
        raise NotImplementedError("LU factors of a matrix that is not square: write the elimination as a loop")
    return square(a)


def turned(a, trans):
    """The matrix, its transpose or its adjoint."""
    if trans in (0, "N"):
        return a
    return np.transpose(a) if trans in (1, "T") else np.conjugate(np.transpose(a))


def formed(a, form, lower, what):
    """A matrix that is said to have a form, of those elements that the form has."""
    if form in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        half = np.tril(a) if lower else np.triu(a)
        rest = np.transpose(half)
        if form not in ("sym", "symmetric"):
            rest = np.conjugate(rest)
        return half + rest - np.diag(np.diagonal(a))
    if form == "diagonal":
        return np.diag(np.diagonal(a))
    if form == "tridiagonal":
        return np.triu(np.tril(a, 1), -1)
    if form == "upper triangular":
        return np.triu(a)
    if form == "lower triangular":
        return np.tril(a)
    if form not in (None, "gen", "general", "banded"):  # the band is what is not 0
        raise NotImplementedError(f"{what}(assume_a={form!r}): leave it out")
    return a


@implements(scipy.linalg.solve)
def solve(
    a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False
):  # fmt: skip
    """The solution of a system; of a matrix that is said to have a form by those elements that the form has."""
    a, b = enlarged(a), np.atleast_1d(as_float(np.asarray(b)))
    a = formed(a, assume_a, lower, "scipy.linalg.solve")
    return np.linalg.solve(turned(a, 1 if transposed else 0), b)


@implements(scipy.linalg.solve_triangular)
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    """The solution of a triangular system."""
    a, b = square(a), as_float(np.asarray(b))
    if unit_diagonal:
        half = np.tril(a, -1) if lower else np.triu(a, 1)
        half = half + np.eye(a.shape[0], dtype=a.dtype)
    else:
        half = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(turned(half, trans), b)


@implements(scipy.linalg.inv)
def inv(a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
    """The inverse; of a matrix that is said to have a form by those elements that the form has."""
    a = square(a)
    if assume_a == "diagonal" and np.any(a != np.diag(np.diagonal(a))):  # SciPy leaves the other elements in the result
        raise NotImplementedError("scipy.linalg.inv(assume_a='diagonal') of a matrix that is not: leave it out")
    return np.linalg.inv(formed(a, assume_a, lower, "scipy.linalg.inv"))


@implements(scipy.linalg.det)
def det(a, overwrite_a=False, check_finite=True):
    """The determinant, in double precision."""
    a = as_float(np.asarray(a))
    return np.linalg.det(a.astype(np.result_type(a.dtype, np.float64)))


@implements(scipy.linalg.cholesky)
def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    """The Cholesky factor, of the triangle that is asked for."""
    a = enlarged(a)
    if lower:
        return np.linalg.cholesky(a)
    return np.conjugate(np.transpose(np.linalg.cholesky(np.conjugate(np.transpose(a)))))


# Of a Cholesky factor, from SciPy 1.18 on the other triangle is zero; before, what was there.
_CLEAN = bool(scipy.linalg.cho_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))[0][1, 0] == 0)


@implements(scipy.linalg.cho_factor)
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """The Cholesky factor in one triangle, in the other what the installed SciPy has there."""
    a = square(a)
    factor = cholesky(a, lower)
    if _CLEAN:
        return factor, lower
    return factor + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


@implements(scipy.linalg.cho_solve)
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """The solution of a system by a Cholesky factor."""
    c, lower = c_and_lower
    first, second = ("N", "C") if lower else ("C", "N")
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


@implements(scipy.linalg.lu_factor)
def lu_factor(a, overwrite_a=False, check_finite=True):
    """Gauss's elimination with partial pivoting: both factors in one matrix, and the exchanges of rows."""
    a = to_factor(a).copy()
    n = a.shape[0]
    pivots = np.arange(n).astype(np.int32)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        pivots[k] = p
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
        if a[k, k] != 0:
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, pivots


@implements(scipy.linalg.lu_solve)
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """The solution of a system by its factors."""
    lu, pivots = lu_and_piv
    order = np.arange(lu.shape[0])
    for k in range(lu.shape[0]):
        p = pivots[k]
        kept = order[k]
        order[k] = order[p]
        order[p] = kept
    b = as_float(np.asarray(b))
    if trans == 0:
        return solve_triangular(lu, solve_triangular(lu, b[order], 0, True, True))
    x = solve_triangular(lu, solve_triangular(lu, b, trans, False), trans, True, True)
    return x[np.argsort(order)]


@implements(scipy.linalg.eigh)
def eigh(
    a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1,  # noqa: A002 - SciPy's
    check_finite=True, subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    """Eigenvalues and eigenvectors of a Hermitian matrix, or of two, all or those of some places."""
    if subset_by_value is not None:
        raise NotImplementedError("scipy.linalg.eigh(subset_by_value=...): take some of all")
    a = square(a)
    if b is None:
        values, vectors = np.linalg.eigh(a, "L" if lower else "U")
    else:
        values, vectors = of_two(a, square(b), lower, type)
    if subset_by_index is not None:
        first, last = subset_by_index
        values, vectors = values[first : last + 1].copy(), vectors[:, first : last + 1].copy()
    return values if eigvals_only else (values, vectors)


def of_two(a, b, lower, form):
    """Eigenvalues and vectors of two matrices: of one, between the factors of the positive definite one."""
    if form not in (1, 2, 3):
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    half = cholesky(b if lower else np.conjugate(np.transpose(b)), lower=True)
    across = np.conjugate(np.transpose(half))
    whole = np.tril(a) if lower else np.triu(a)
    whole = whole + np.conjugate(np.transpose(whole)) - np.diag(np.diagonal(a))
    if form == 1:
        left = np.linalg.solve(half, whole)
        values, vectors = np.linalg.eigh(np.linalg.solve(half, np.conjugate(np.transpose(left))))
    else:
        values, vectors = np.linalg.eigh(across @ whole @ half)
    return values, half @ vectors if form == 3 else np.linalg.solve(across, vectors)


@implements(scipy.linalg.eigvalsh)
def eigvalsh(
    a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,  # noqa: A002 - SciPy's
    subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    """Eigenvalues of a Hermitian matrix, or of two."""
    return eigh(
        a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )  # fmt: skip


@implements(scipy.linalg.svd)
def svd(
    a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"
):  # fmt: skip
    """Singular values and vectors."""
    if not compute_uv:
        return np.linalg.svd(a, full_matrices=False, compute_uv=False)
    left, values, right = np.linalg.svd(a, full_matrices)
    return left, values, right


@implements(scipy.linalg.svdvals)
def svdvals(a, overwrite_a=False, check_finite=True):
    """Singular values."""
    return np.linalg.svd(a, full_matrices=False, compute_uv=False)


@implements(scipy.linalg.norm)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):  # noqa: A002 - SciPy's name
    """Norms of vectors and matrices."""
    return np.linalg.norm(a, ord, axis, keepdims)


@implements(scipy.linalg.pinv)
def pinv(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    """The pseudo-inverse, and its rank."""
    if atol is None and rtol is None and not return_rank:
        return np.linalg.pinv(a)
    return above(as_float(np.asarray(a)), atol, rtol, return_rank)


def above(a, atol, rtol, return_rank):
    """The pseudo-inverse of a matrix, of whose singular values tolerances must cut none that count, and its rank."""
    if a.ndim != 2:
        raise NotImplementedError("scipy.linalg.pinv of a stack of matrices with options: loop over the stack")
    if (atol is not None and atol < 0.0) or (rtol is not None and rtol < 0.0):
        raise ValueError("atol and rtol values must be positive.")
    inverse, rank, values = pseudo_inverse(a)
    least = max(a.shape) * np.finfo(a.dtype).eps if rtol is None else rtol
    demand_rank(values, least, rank, 0.0 if atol is None else atol)
    return (inverse, rank) if return_rank else inverse


@implements(scipy.linalg.block_diag)
def block_diag(*arrs):
    """A matrix with others along its diagonal."""
    blocks = [np.atleast_2d(a) for a in arrs]
    rows, columns = 0, 0
    for a in blocks:
        rows, columns = rows + a.shape[0], columns + a.shape[1]
    result = np.zeros((rows, columns), np.concatenate([np.ravel(a)[:0] for a in blocks]).dtype)
    rows, columns = 0, 0
    for a in blocks:
        result[rows : rows + a.shape[0], columns : columns + a.shape[1]] = a
        rows, columns = rows + a.shape[0], columns + a.shape[1]
    return result


def vector(c):
    """One vector, of a number too."""
    c = np.atleast_1d(c)
    if c.ndim != 1:
        raise NotImplementedError("matrices made of a stack of vectors: loop over the stack")
    return c


@implements(scipy.linalg.toeplitz)
def toeplitz(c, r=None):
    """A matrix that is constant along its diagonals."""
    c = vector(c)
    r = np.conjugate(c) if r is None else vector(r)
    values = np.concatenate((r[:0:-1], c))
    places = np.arange(c.shape[0])[:, None] - np.arange(r.shape[0])[None, :]
    return values[places + (r.shape[0] - 1)]


@implements(scipy.linalg.hankel)
def hankel(c, r=None):
    """A matrix that is constant along its counterdiagonals."""
    c = vector(c)
    r = np.zeros_like(c) if r is None else vector(r)
    values = np.concatenate((c, r[1:]))
    return values[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])[None, :]]


@implements(scipy.linalg.circulant)
def circulant(c):
    """A matrix whose columns are the first one, turned further by one each."""
    c = vector(c)
    n = c.shape[0]
    return c[(np.arange(n)[:, None] - np.arange(n)[None, :]) % n]


@implements(scipy.linalg.solve_banded)
def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """The solution of a banded system, as a dense one."""
    below, above = l_and_u
    ab, b = as_float(np.asarray(ab)), as_float(np.asarray(b))
    n = ab.shape[1]
    a = np.zeros((n, n), ab.dtype)
    for k in range(below + above + 1):
        offset = above - k
        for j in range(max(offset, 0), min(n, n + offset)):
            a[j - offset, j] = ab[k, j]
    return np.linalg.solve(a, b)


# The numerator of the diagonal approximation of exp of degree 13, whose denominator has alternating signs.
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@implements(scipy.linalg.expm)
def expm(A):
    """The exponential of a matrix.

    N. J. Higham, "The scaling and squaring method for the matrix exponential revisited" (2005), with degree 13 always.
    """
    A = enlarged(A)
    n = A.shape[0]
    size = float(np.max(np.sum(np.abs(A), axis=0), initial=0.0))
    squarings = 0
    while size > 5.371920351148152:
        size = 0.5 * size
        squarings = squarings + 1
    a = A / 2.0**squarings
    unit = np.eye(n, dtype=A.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    p = PADE
    odd = a6 @ (p[13] * a6 + p[11] * a4 + p[9] * a2) + p[7] * a6 + p[5] * a4 + p[3] * a2 + p[1] * unit
    even = a6 @ (p[12] * a6 + p[10] * a4 + p[8] * a2) + p[6] * a6 + p[4] * a4 + p[2] * a2 + p[0] * unit
    odd = a @ odd
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = result @ result
    return result
