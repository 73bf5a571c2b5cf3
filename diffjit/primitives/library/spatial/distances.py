"""Distances of `scipy.spatial.distance`: between two vectors, and between all of two sets.

A distance of 0 has the derivative 0, that of the middle of its directions.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy.spatial import distance

from diffjit.primitives.library.axes import as_float, root
from diffjit.primitives.registry import implements

MINKOWSKI, SHANNON = ("minkowski", "mi", "m", "pnorm"), ("jensenshannon", "js")
STANDARDISED, MAHALANOBIS = ("seuclidean", "se", "s"), ("mahalanobis", "mahal", "mah")


def between(u, v, metric, options):
    """The distance along the last axis of arrays that are broadcast."""
    d = np.abs(u - v)
    if metric in ("euclidean", "euclid", "eu", "e"):
        return root(np.sum(d * d * weights(options, d), axis=-1))
    if metric in ("sqeuclidean", "sqe", "sqeuclid"):
        return np.sum(d * d * weights(options, d), axis=-1)
    if metric in ("cityblock", "cblock", "cb", "c"):
        return np.sum(d * weights(options, d), axis=-1)
    if metric in ("chebyshev", "chebychev", "cheby", "cheb", "ch"):
        return np.max(d * weights(options, d, signs=True), axis=-1)
    if metric in MINKOWSKI:
        p = options.get("p", 2.0)
        if p == np.inf:
            return np.max(d * weights(options, d, signs=True), axis=-1)
        total = np.sum(np.where(d == 0, 0.0, np.where(d == 0, 1.0, d) ** p) * weights(options, d), axis=-1)
        return np.where(total == 0, 0.0, np.where(total == 0, 1.0, total) ** (1.0 / p))
    if metric == "canberra":
        size = np.abs(u) + np.abs(v)
        return np.sum(np.where(size == 0, 0.0, d / np.where(size == 0, 1.0, size)) * weights(options, d), axis=-1)
    if metric == "braycurtis":
        w = weights(options, d)
        return np.sum(d * w, axis=-1) / np.sum(np.abs(u + v) * w, axis=-1)
    if metric in ("cosine", "cos"):
        return 1.0 - cosine_of(u, v, weights(options, d))
    if metric in ("correlation", "co"):
        w = weights(options, d) + 0.0 * d[..., :1]
        total = np.sum(w, axis=-1, keepdims=True)
        u = u - np.sum(u * w, axis=-1, keepdims=True) / total
        v = v - np.sum(v * w, axis=-1, keepdims=True) / total
        return 1.0 - cosine_of(u, v, w)
    if metric in SHANNON:
        return jensen_shannon(u, v, options)
    if metric in STANDARDISED:
        return root(np.sum(d * d / options["V"], axis=-1))
    if metric in MAHALANOBIS:
        return root(np.sum(((u - v) @ options["VI"]) * (u - v), axis=-1))
    raise NotImplementedError(f"the distance {metric!r}: write it as a function of two vectors")


def weights(options, d, *, signs=False):
    """What the parts of a distance count."""
    w = options.get("w")
    if w is None:
        return np.ones(d.shape[-1], d.dtype)
    w = as_float(np.asarray(w))
    if np.any(w < 0):
        raise ValueError("Input weights should be all non-negative")
    return (w > 0).astype(d.dtype) if signs else w


def cosine_of(u, v, w):
    """The cosine of the angle between vectors."""
    return np.sum(u * v * w, axis=-1) / np.sqrt(np.sum(u * u * w, axis=-1) * np.sum(v * v * w, axis=-1))


def jensen_shannon(u, v, options):
    """The root of the Jensen-Shannon divergence."""
    p, q = u / np.sum(u, axis=-1, keepdims=True), v / np.sum(v, axis=-1, keepdims=True)
    m = 0.5 * (p + q)
    divergence = np.sum(relative_to(m, p) + relative_to(m, q), axis=-1) / 2.0
    base = options.get("base")
    divergence = divergence if base is None else divergence / np.log(base)
    return root(np.where(divergence < 0, 0.0, divergence)).astype(m.dtype)[()]


def relative_to(m, p):
    """The terms `p log(p / m)`, infinite where `p` is negative: no probability."""
    rest = np.where(p == 0, 0.0, np.where(np.isnan(p), np.nan, np.inf))
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / np.where(m > 0, m, 1.0)), rest)


def points_of(x):
    """Points as rows, of floats of 64 bits as SciPy has them."""
    x = np.asarray(x)
    x = x if x.dtype.kind == "c" else np.asarray(x, np.float64)
    if x.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    return x


def with_defaults(metric, options, points):
    """The options of a distance: those that it does not have are refused, as they would go unused."""
    if metric in STANDARDISED:
        names = ("V",)
    elif metric in MAHALANOBIS:
        names = ("VI",)
    else:
        names = ("p", "w") if metric in MINKOWSKI else ("base",) if metric in SHANNON else ("w",)
    for name in options:
        if name not in names:
            raise TypeError(f"the distance {metric!r} got an unexpected keyword argument {name!r}")
    if names == ("V",):
        variance = options.get("V")
        return {"V": np.var(points, axis=0, ddof=1) if variance is None else as_float(np.asarray(variance))}
    if names == ("VI",):
        inverse = options.get("VI")
        return {"VI": np.linalg.inv(np.cov(np.transpose(points))) if inverse is None else as_float(np.asarray(inverse))}
    return options


@implements(distance.cdist)
def cdist(XA, XB, metric="euclidean", *, out=None, **kwargs):
    """Distances between the points of two sets."""
    if out is not None:
        raise NotImplementedError("cdist(out=...): assign the result")
    a, b = points_of(XA), points_of(XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    if not isinstance(metric, str):
        return np.array([[metric(u, v) for v in b] for u in a])
    options = with_defaults(metric, kwargs, np.concatenate((a, b)))
    return between(a[:, None, :], b[None, :, :], metric, options)


@implements(distance.pdist)
def pdist(X, metric="euclidean", *, out=None, **kwargs):
    """Distances between the points of one set: those above the diagonal, row by row."""
    if out is not None:
        raise NotImplementedError("pdist(out=...): assign the result")
    a = points_of(X)
    first, second = np.triu_indices(a.shape[0], 1)
    if not isinstance(metric, str):
        return np.array([metric(a[first[k]], a[second[k]]) for k in range(first.shape[0])])
    return between(a[first], a[second], metric, with_defaults(metric, kwargs, a))


@implements(distance.squareform)
def squareform(X, force="no", checks=True):
    """A vector of distances as a matrix, or back."""
    x = np.asarray(X)
    if (x.ndim == 1 and force == "tovector") or (x.ndim == 2 and force == "tomatrix"):
        raise ValueError("Forcing a vector to a vector, or a matrix to a matrix")
    if x.ndim == 1:
        count = x.shape[0]
        n = int(np.ceil(np.sqrt(count * 2.0)))
        if n * (n - 1) != count * 2:
            raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2 for some n.")
        n = max(n, 1)
        first, second = np.triu_indices(n, 1)
        out = np.zeros((n, n), x.dtype)
        out[first, second] = x
        out[second, first] = x
        return out
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and (not np.all(x == np.transpose(x)) or not np.all(np.diagonal(x) == 0)):
        raise ValueError("Distance matrix 'X' must be symmetric, with zeros on its diagonal.")
    first, second = np.triu_indices(x.shape[0], 1)
    return x[first, second]


def vectors(u, v):
    """Two vectors of floats."""
    u, v = as_they_are(u, v)
    return as_float(u), as_float(v)


def as_they_are(u, v):
    """Two vectors of any numbers."""
    u, v = np.asarray(u), np.asarray(v)
    if u.ndim != 1 or v.ndim != 1:
        raise ValueError("Input vector should be 1-D.")
    return u, v


def doubles(u, v):
    """Two vectors of floats of 64 bits, which SciPy makes for some distances."""
    return as_they_are(np.asarray(u, np.float64), np.asarray(v, np.float64))


# Up to SciPy 1.17 BLAS gives lengths: Python's own floats, but for differences of ints.
_OWN = type(distance.euclidean([0.0], [1.0])) is float


def length(u, v, w, found):
    """A length, of the type that the installed SciPy gives."""
    whole = w is None and np.result_type(np.asarray(u), np.asarray(v)).kind != "f"
    return float(found) if _OWN and not whole else found


def options_of(w):
    """Weights as an option."""
    return {"w": w}


@implements(distance.euclidean)
def euclidean(u, v, w=None):
    """Euclid's distance."""
    return length(u, v, w, between(*vectors(u, v), "euclidean", options_of(w)))


@implements(distance.sqeuclidean)
def sqeuclidean(u, v, w=None):
    """The square of Euclid's distance."""
    return between(*vectors(u, v), "sqeuclidean", options_of(w))


@implements(distance.cityblock)
def cityblock(u, v, w=None):
    """The sum of differences."""
    return between(*as_they_are(u, v), "cityblock", options_of(w))


@implements(distance.chebyshev)
def chebyshev(u, v, w=None):
    """The greatest difference."""
    return between(*as_they_are(u, v), "chebyshev", options_of(w))


@implements(distance.canberra)
def canberra(u, v, w=None):
    """The sum of relative differences."""
    return between(*doubles(u, v), "canberra", options_of(w))


@implements(distance.braycurtis)
def braycurtis(u, v, w=None):
    """Differences, relative to sums."""
    return between(*doubles(u, v), "braycurtis", options_of(w))


@implements(distance.cosine)
def cosine(u, v, w=None):
    """1 minus the cosine of the angle."""
    return between(*vectors(u, v), "cosine", options_of(w))


@implements(distance.correlation)
def correlation(u, v, w=None, centered=True):
    """1 minus the correlation."""
    return between(*vectors(u, v), "correlation" if centered else "cosine", options_of(w))


@implements(distance.minkowski)
def minkowski(u, v, p=2, w=None):
    """The p-norm of the difference."""
    if p <= 0:
        raise ValueError("p must be greater than 0")
    found = between(*vectors(u, v), "minkowski", {"p": p, "w": w})
    return length(u, v, w, found) if p == 2 else found


@implements(distance.mahalanobis)
def mahalanobis(u, v, VI):
    """The distance in which a matrix measures."""
    u, v = vectors(u, v)
    return root((u - v) @ (np.asarray(VI) @ (u - v)))


@implements(distance.seuclidean)
def seuclidean(u, v, V):
    """Euclid's distance, each coordinate in units of its own."""
    u, v = vectors(u, v)
    found = root(np.sum((u - v) ** 2 / np.asarray(V)))
    return float(found) if _OWN else np.float64(found)


@implements(distance.jensenshannon)
def jensenshannon(p, q, base=None, *, axis=0, keepdims=False):
    """The root of the Jensen-Shannon divergence."""
    p, q = as_float(np.asarray(p)), as_float(np.asarray(q))
    found = jensen_shannon(np.moveaxis(p, axis, -1), np.moveaxis(q, axis, -1), {"base": base})
    return np.expand_dims(found, axis) if keepdims else found


@implements(distance.directed_hausdorff)
def directed_hausdorff(u, v, rng=0, seed=0):
    """The greatest of the distances to the nearest point, and between which points it is."""
    gaps = cdist(u, v)
    nearest = np.argmin(gaps, axis=1)
    rows = np.arange(gaps.shape[0])
    i = np.argmax(gaps[rows, nearest])
    return gaps[i, nearest[i]], i, nearest[i]
