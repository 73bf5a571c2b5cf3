"""New arrays: grids, identities, triangles, index grids."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import itertools
import operator

import numpy as np

from diffjit.primitives.library.axes import places
from diffjit.primitives.registry import implements


@implements(np.eye)
def eye(N, M=None, k=0, dtype=float, order="C"):
    """Ones on a diagonal."""
    rows, columns = operator.index(N), operator.index(N if M is None else M)
    if rows < 0 or columns < 0:
        raise ValueError("negative dimensions are not allowed")
    return np.equal(np.arange(rows)[:, None] + k, np.arange(columns)).astype(dtype)


@implements(np.identity)
def identity(n, dtype=float):
    """The identity matrix."""
    return np.eye(n, dtype=dtype)


@implements(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """Evenly spaced numbers; the last one is exactly `stop`."""
    num = operator.index(num)
    if num < 0:
        raise ValueError("Number of samples, num, must be non-negative.")
    start = np.asarray(start) if isinstance(start, (list, tuple)) else start
    stop = np.asarray(stop) if isinstance(stop, (list, tuple)) else stop
    start, stop = start * 1.0, stop * 1.0
    steps = num - 1 if endpoint else num
    step = (stop - start) / max(steps, 1)
    ndim = np.ndim(step)
    position = np.reshape(np.arange(num), (-1,) + (1,) * ndim).astype(np.asarray(step).dtype)
    points = position * step + start
    if endpoint and num > 1:
        points[-1] = stop
    if axis != 0:
        points = np.moveaxis(points, 0, axis)
    if dtype is not None:
        points = (np.floor(points) if np.dtype(dtype).kind in "iu" else points).astype(dtype)
    if retstep:
        return points, np.float64(step) if isinstance(step, float) else step
    return points


@implements(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Powers of `base` with evenly spaced exponents."""
    points = np.power(base, np.linspace(start, stop, num, endpoint=endpoint, axis=axis))
    return points if dtype is None else points.astype(dtype)


@implements(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers at equal ratios, between ends of one sign."""
    if np.any(np.equal(start, 0)) or np.any(np.equal(stop, 0)):
        raise ValueError("Geometric sequence cannot include zero")
    start, stop = np.float64(1.0) * start, np.float64(1.0) * stop  # which also computes in double precision
    sign = np.sign(start)
    points = sign * np.exp(np.linspace(np.log(start * sign), np.log(stop * sign), num, endpoint=endpoint, axis=axis))
    if num > 0:
        ends = np.moveaxis(points, axis, 0)
        ends[0] = start
        if num > 1 and endpoint:
            ends[-1] = stop
    return points if dtype is None else points.astype(dtype)


@implements(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinate arrays of a grid."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    vectors = tuple(np.reshape(np.asarray(x), (-1,)) for x in xi)
    order = (1, 0, *range(2, ndim)) if indexing == "xy" and ndim > 1 else tuple(range(ndim))
    grids = tuple(vectors[k][tuple(slice(None) if j == k else None for j in order)] for k in places(ndim))
    if sparse:
        return tuple(x.copy() for x in grids) if copy else grids
    shape = tuple(vectors[k].shape[0] for k in order)
    whole = tuple(np.broadcast_to(x, shape) for x in grids)
    return tuple(x.copy() for x in whole) if copy else whole


@implements(np.diag)
def diag(v, k=0):
    """A matrix with a given diagonal, or the diagonal of a matrix."""
    v = np.asarray(v)
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.shape[0]
    matrix = np.zeros((n + abs(k), n + abs(k)), v.dtype)
    position = np.arange(n)
    matrix[position + max(-k, 0), position + max(k, 0)] = v
    return matrix


@implements(np.diagflat)
def diagflat(v, k=0):
    """A matrix with all elements of `v` on a diagonal."""
    return np.diag(np.ravel(v), k)


@implements(np.tri)
def tri(N, M=None, k=0, dtype=float):
    """Ones at and below a diagonal."""
    columns = N if M is None else M
    return np.greater_equal(np.arange(N)[:, None] + k, np.arange(columns)).astype(dtype)


@implements(np.tril)
def tril(m, k=0):
    """The lower triangle."""
    m = np.asarray(m)
    return np.where(np.tri(*m.shape[-2:], k=k, dtype=bool), m, np.zeros((1,), m.dtype))


@implements(np.triu)
def triu(m, k=0):
    """The upper triangle."""
    m = np.asarray(m)
    return np.where(np.tri(*m.shape[-2:], k=k - 1, dtype=bool), np.zeros((1,), m.dtype), m)


@implements(np.vander)
def vander(x, N=None, increasing=False):
    """Powers of the elements of a vector, in columns."""
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = x.shape[0] if N is None else N
    powers = np.ones((x.shape[0], columns), (x[:1] + np.arange(1)).dtype)
    for k in range(1, columns):
        powers[:, k] = powers[:, k - 1] * x
    return powers if increasing else powers[:, ::-1]


@implements(np.tril_indices)
def tril_indices(n, k=0, m=None):
    """Rows and columns of a lower triangle."""
    return np.nonzero(np.tri(n, m, k, dtype=bool))


@implements(np.triu_indices)
def triu_indices(n, k=0, m=None):
    """Rows and columns of an upper triangle."""
    return np.nonzero(np.logical_not(np.tri(n, m, k - 1, dtype=bool)))


@implements(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    """Rows and columns of a matrix's lower triangle."""
    return np.tril_indices(arr.shape[0], k, arr.shape[1])


@implements(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    """Rows and columns of a matrix's upper triangle."""
    return np.triu_indices(arr.shape[0], k, arr.shape[1])


@implements(np.diag_indices)
def diag_indices(n, ndim=2):
    """Indices of a main diagonal."""
    return (np.arange(n),) * ndim


@implements(np.diag_indices_from)
def diag_indices_from(arr):
    """Indices of an array's main diagonal."""
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    for k in places(arr.ndim):
        if arr.shape[k] != arr.shape[0]:
            raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0], arr.ndim)


@implements(np.indices)
def indices(dimensions, dtype=int, sparse=False):
    """Index grids."""
    ndim = len(dimensions)
    grids = tuple(
        np.reshape(np.arange(dimensions[k]).astype(dtype), tuple(-1 if j == k else 1 for j in places(ndim)))
        for k in places(ndim)
    )
    if sparse:
        return grids
    return np.stack(tuple(np.broadcast_to(x, tuple(dimensions)) for x in grids), axis=0)


@implements(np.ix_)
def ix_(*args):
    """Index arrays that select a sub-grid."""
    axes = places(len(args))
    return tuple(np.reshape(cross_index(args[k]), tuple(-1 if j == k else 1 for j in axes)) for k in axes)


def cross_index(index):
    """One of the sequences that `ix_` is given: a mask selects where it is true."""
    if len(index) == 0:
        return np.zeros(0, np.intp)
    index = np.asarray(index)
    if index.ndim != 1:
        raise ValueError("Cross index must be 1 dimensional")
    return np.nonzero(index)[0] if index.dtype == np.bool_ else index


@implements(np.fromfunction)
def fromfunction(function, shape, *, dtype=float, **kwargs):
    """A function of index grids."""
    grids = np.indices(shape, dtype)
    return function(*(grids[k] for k in places(len(shape))), **kwargs)


@implements(np.fromiter)
def fromiter(iter, dtype, count=-1):  # noqa: A002 - NumPy's name
    """The items of an iterable, or the first `count`."""
    if count < 0:
        return np.array(list(iter), dtype=dtype)
    items = list(itertools.islice(iter, count))
    if len(items) < count:
        raise ValueError("iterator too short")
    return np.array(items, dtype=dtype)


@implements(np.asarray_chkfinite)
def asarray_chkfinite(a, dtype=None, order=None):
    """An array without NaN and infinity."""
    a = np.asarray(a, dtype)
    if not np.all(np.isfinite(a)):
        raise ValueError("array must not contain infs or NaNs")
    return a


@implements(np.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    """The elements in another dtype."""
    return x.astype(dtype, copy=copy)


# Windows of M points: sums of cosines, and others


def phase(M):
    """M points from 0 to 2 pi."""
    return np.arange(M) * (2.0 * np.pi / max(M - 1, 1))


@implements(np.hanning)
def hanning(M):
    """Raised cosine."""
    return np.where(M > 1, 0.5 - 0.5 * np.cos(phase(M)), 1.0)


@implements(np.hamming)
def hamming(M):
    """Raised cosine on a pedestal."""
    return np.where(M > 1, 0.54 - 0.46 * np.cos(phase(M)), 1.0)


@implements(np.blackman)
def blackman(M):
    """Three cosines."""
    return np.where(M > 1, 0.42 - 0.5 * np.cos(phase(M)) + 0.08 * np.cos(2.0 * phase(M)), 1.0)


@implements(np.bartlett)
def bartlett(M):
    """Triangle."""
    return np.where(M > 1, 1.0 - np.abs(phase(M) / np.pi - 1.0), 1.0)


@implements(np.kaiser)
def kaiser(M, beta):
    """Bessel function of a semicircle."""
    return np.where(M > 1, np.i0(beta * np.sqrt(np.maximum(1.0 - (phase(M) / np.pi - 1.0) ** 2, 0.0))), 1.0) / np.i0(
        np.where(M > 1, beta, 0.0)
    )
