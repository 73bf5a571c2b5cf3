"""Helper functions that text at the level of the user's code may need above it."""

from __future__ import annotations

ZMUL = '''
def zmul(g, p):
    """g * p, and exactly 0 where g is 0, whatever p is."""
    with np.errstate(all="ignore"):
        return np.where(g == 0, 0, g * p)[()]
'''

ZDIV = '''
def zdiv(g, y):
    """g / y, and exactly 0 where g is 0, whatever y is."""
    with np.errstate(all="ignore"):
        return np.where(g == 0, 0, np.divide(g, y))[()]
'''

ONE_MINUS_SQUARE = '''
def one_minus_square(x):
    """1 - x * x, with the digits that it has near 1."""
    return (1 - x) * (1 + x)
'''

UNBROADCAST = '''
def unbroadcast(g, like):
    """Sum g over the axes along which `like` was broadcast to its shape."""
    g, shape = np.asarray(g), np.shape(like)
    extra = g.ndim - len(shape)
    axes = [k + extra for k, n in enumerate(shape) if n == 1 and g.shape[k + extra] != 1]
    return np.asarray(np.sum(g, axis=(*range(extra), *axes))).reshape(shape)
'''

DIAGONAL = '''
def diagonal(a, offset=0):
    """A view of a diagonal that can be written to."""
    rows, columns = a.shape
    start = a[:, offset:] if offset > 0 else a[-offset:]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return np.lib.stride_tricks.as_strided(start, (length,), (sum(a.strides),))
'''

FACTORIZES = '''
def factorizes(a, kind):
    """Whether a is regular (kind "solve") or positive definite ("cholesky")."""
    try:
        np.linalg.cholesky(a) if kind == "cholesky" else np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return False
    return True
'''

PACKED_EIGH = '''
def packed_eigh(a, triangle="L"):
    """Eigenvalues in the first row, eigenvectors below."""
    values, vectors = np.linalg.eigh(a, triangle)
    return np.concatenate([values[..., None, :], vectors], -2)
'''

PACKED_SVD = '''
def packed_svd(a):
    """Left singular vectors, singular values, right singular vectors."""
    left, values, right = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([left, values[..., None, :], np.swapaxes(right, -1, -2).conj()], -2)
'''

PRELUDE = {
    "zmul": ZMUL, "zdiv": ZDIV, "one_minus_square": ONE_MINUS_SQUARE, "unbroadcast": UNBROADCAST, "diagonal": DIAGONAL,
    "factorizes": FACTORIZES, "packed_eigh": PACKED_EIGH, "packed_svd": PACKED_SVD,
}  # fmt: skip
