"""Functions of NumPy beyond those that everybody uses: ufunc methods, blocks, margins, sets, quantiles, series, fits."""

import math
import sys

import numpy as np

from .registry import program


def _matrix():
    return np.array([[0.5, 1.2, 0.8], [-0.3, 0.9, 1.6]])


def _square():
    return np.array([[2.5, 1.2, 0.8], [-0.3, 1.9, 1.6], [0.7, 0.1, 3.0]])


def _vector():
    return np.array([0.4, 0.9, -1.3, 0.2, 1.7])


def _weigh(v):
    return np.sum(v * v * np.arange(1.0, 1.0 + math.prod(v.shape)).reshape(v.shape))


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("types", "library"))
def reductions_of_ufuncs(m, x):
    """`reduce` with axes, `initial` and `where`, for ufuncs with and without a function of their own."""
    total = np.add.reduce(m, axis=1, initial=x[0]) @ np.multiply.reduce(m, axis=1, where=m > 0.6)
    total += np.hypot.reduce(m, axis=None) * np.subtract.reduce(x) + np.fmax.reduce(m, axis=1) @ m[:, 0]
    return total + np.minimum.reduce(m, axis=1, initial=0.4)[1] + _weigh(np.logaddexp2.reduce(m))


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("types", "library"))
def scans_of_ufuncs(m, x):
    """`accumulate` along axes, and `reduceat` with indices that fall back."""
    total = _weigh(np.subtract.accumulate(m, axis=1)) + _weigh(np.divide.accumulate(x)) * 0.01
    total += _weigh(np.logaddexp.accumulate(m)) + _weigh(np.add.reduceat(x, [0, 3, 1]))
    return total + _weigh(np.multiply.reduceat(m, [0, 1], axis=1))


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("types", "memory", "library"))
def ufuncs_in_place_at_indices(m, x):
    """`at` of several ufuncs with repeated indices, pairs of index arrays, masks and slices."""
    y = x.copy()
    np.multiply.at(y, [0, 2, 0], x[1:4])
    np.add.at(y, [1, 1], x[0])
    np.maximum.at(y, [3, 3], [0.1, 0.3])
    w = m.copy()
    np.multiply.at(w, ([0, 0, 1], [1, 1, 2]), x[:3])
    np.subtract.at(w, (slice(None), 0), y[1])
    np.square.at(w, w > 1.0)
    return _weigh(y) + _weigh(w)


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "library"))
def blocks_of_arrays(m, x, a):
    """`block` of matrices, vectors and numbers, in rows and columns."""
    total = _weigh(np.block([[m, m[:, :1] * a], [x[:3], a]])) + _weigh(np.block([x, a]))
    return total + _weigh(np.block([[x], [x * a]])) + _weigh(np.block(m))


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "library"))
def margins_from_statistics(m, x, a):
    """`pad` with ramps, means, extremes and medians, of all of the array or of its ends."""
    total = _weigh(np.pad(x, (2, 1), "linear_ramp", end_values=(a, 2.0)))
    total += _weigh(np.pad(m, ((1, 0), (0, 2)), "mean")) + _weigh(np.pad(x, 2, "maximum", stat_length=3))
    return total + _weigh(np.pad(x, (0, 1), "median", stat_length=(1, 2)))


@program(args=lambda: (_matrix(),), wrt="m", tags=("types", "library"), numpy="2.4")
def margins_by_axis(m):
    """`pad` with a width for each axis named."""
    return _weigh(np.pad(m, {-1: (1, 2)})) + _weigh(np.pad(m, {0: 1, 1: (0, 3)}, "edge"))


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "library"))
def items_put_in(m, x, a):
    """`insert` before one position and several, as numbers, rows and columns; `resize`."""
    total = _weigh(np.insert(x, 2, a)) + _weigh(np.insert(x, [3, 1, 1], [a, a * a, 2.0])) + _weigh(np.insert(m, 1, a))
    total += _weigh(np.insert(m, 1, x[:3], axis=0)) + _weigh(np.insert(m, [0, -1], x[:2], axis=1))
    return total + _weigh(np.resize(m, (4, 2))) + _weigh(np.resize(x, 2))


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "library"))
def items_taken_out(m, x, a):
    """`delete` of positions, slices, masks and rows; `trim_zeros`."""
    total = _weigh(np.delete(x, [0, 2])) + _weigh(np.delete(m, slice(0, None, 2), axis=1)) + _weigh(np.delete(m, -1, 0))
    padded = np.array([0.0, 0.0, a, 0.0, x[1], 0.0])
    total += _weigh(np.delete(x, x > 1.0)) + _weigh(np.delete(m, 4))
    return total + _weigh(np.trim_zeros(padded)) + _weigh(np.trim_zeros(padded, "b"))


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "memory", "library"))
def writes_by_functions(m, x, a):
    """`place`, `put` beyond the ends, `putmask` and `fill_diagonal` with values that repeat."""
    y = x.copy()
    np.place(y, y > 0.3, [a, a * x[2]])
    np.put(y, [6, -1], m[0, :2], mode="wrap")
    np.put(y, [9], a, mode="clip")
    w = np.outer(y, x[:3])
    np.putmask(w, w > 0.23, x)
    np.fill_diagonal(w, m[:, 1], wrap=True)
    return _weigh(y) + _weigh(w)


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "library"))
def functions_piece_by_piece(m, x, a):
    """`piecewise` with functions, numbers, arguments and a rest; `choose` beyond its ends."""
    total = _weigh(np.piecewise(x, [x < 0.0, x > 1.0], [lambda t: t * t, lambda t: a * t, 2.0]))
    total += _weigh(np.piecewise(m, [m < 0.6], [lambda t, k: t**k, lambda t, k: t - k], 3))
    return total + np.piecewise(a, [a > 0], [np.sin]) + _weigh(np.choose([0, 5, 1], [x[:3], m[0]], mode="wrap"))


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "library"))
def functions_applied_along_axes(m, x, a):
    """`apply_along_axis` with numbers, vectors and matrices as results, `apply_over_axes`, `fromfunction`, `fromiter`."""
    total = _weigh(np.apply_along_axis(lambda r: np.outer(r, r) * a, 1, m)) + _weigh(np.apply_along_axis(np.sum, 0, m))
    total += _weigh(np.apply_over_axes(np.sum, m, [0, 1])) + _weigh(np.apply_along_axis(np.cumsum, 0, m))
    return (
        total + _weigh(np.fromfunction(lambda i, j: i * a + j, (2, 3))) + _weigh(np.fromiter((v * a for v in x), float))
    )


@program(args=lambda: (_vector(), np.array([2, 0, 2, 5, 0])), wrt=("x",), tags=("types", "library"))
def sets_of_values(x, k):
    """`unique` and what it returns beside, set operations, `isin`, `argwhere`, `bincount`."""
    values, first, number, counts = np.unique(k, return_index=True, return_inverse=True, return_counts=True)
    total = x[first] @ (values * counts) + _weigh(x[number]) + _weigh(np.unique(x)) + np.sum(x[np.isin(k, [2, 5])] ** 2)
    total += _weigh(np.union1d(x, x[:2])) + np.sum(np.setdiff1d(k, [5])) * x[0] + np.sum(np.setxor1d(k, [9])) * x[3]
    total += np.sum(np.intersect1d(k, [0, 7, 5])) * x[1] + np.argwhere(k == 2)[1, 0] * x[4]
    return total + _weigh(np.bincount(k, weights=x)) + np.bincount(k, minlength=7)[:5] @ x


@program(args=lambda: (_vector(),), wrt=("x",), tags=("types", "library"))
def histograms(x):
    """Histograms of one and two variables with weights, densities, ranges and given edges."""
    heights, edges = np.histogram(x, bins=3, weights=x * x)
    total = _weigh(heights) + _weigh(edges) + np.histogram(x, bins=[-2.0, 0.0, 0.5, 2.0])[0] @ x[:3]
    total += np.histogram(x, 2, (0.0, 2.0), density=True)[0] @ x[:2]
    return total + _weigh(np.histogram2d(x, x[::-1], 3, weights=x)[0])


@program(args=lambda: (_matrix(), _vector(), 0.7), wrt=("m", "x", "a"), tags=("types", "library"))
def quantiles_by_every_method(m, x, a):
    """Medians over several axes, quantiles by every method, at shares that are differentiated."""
    total = np.median(m, axis=(0, 1)) * x[0] + _weigh(np.quantile(m, [0.3, 0.8], axis=1, keepdims=True))
    for method in ("hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf", "midpoint"):
        total += np.quantile(x, 0.35, method=method) ** 2
    total += np.quantile(x, 0.3, method="lower") * np.quantile(x, a * 0.5, method="linear")
    return total + np.percentile(x, 30, method="nearest") * np.percentile(x, 30, method="higher")


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("types", "library"))
def statistics_with_holes_and_weights(m, x):
    """Medians and quantiles without NaN, `partition`, `lexsort`, weighted `cov` and `average` over several axes."""
    holes = np.where(m > 1.5, np.nan, m)
    total = np.nanmedian(holes) ** 2 + _weigh(np.nanquantile(holes, [0.2, 0.7], axis=0))
    total += np.nanpercentile(holes, 40, axis=1)[0] + np.nansum(holes, initial=x[0], where=m > 0.0) ** 2
    total += np.partition(x, 2)[2] * x[np.argpartition(x, 1)[1]] + _weigh(x[np.lexsort((x, [1, 0, 1, 0, 1]))])
    t = m[:, :, None] * x
    total += np.average(t, axis=(2, 1), weights=t[0].T ** 2)[1]
    return total + _weigh(np.cov(m, aweights=x[:3] ** 2, fweights=[1, 2, 1])) + np.cov(x, x * x, aweights=x + 2.0)[0, 1]


@program(args=lambda: (_square(), np.array([0.4, 0.9, -1.3])), wrt=("m", "x"), tags=("types", "library"))
def einsum_with_ellipses(m, x):
    """`einsum` with axes that have no names, for stacks and broadcasts, and with lists of numbers for labels."""
    t = m[:, :, None] * x + np.arange(3.0)
    total = _weigh(np.einsum("...ij,...jk->...ik", t, m)) + _weigh(np.einsum("...i,i", t, x))
    total += _weigh(np.einsum("i...,i...->...", m, t)) + _weigh(np.einsum(m, [0, 1], x, [1], [0]))
    total += _weigh(np.einsum("i,j->j", x * x, x)) + np.einsum("ij,k->", m, x) * np.einsum("ij,k,l->l", m, x, x)[1]
    return total + _weigh(np.einsum("...->...", x)) + np.einsum(m, [0, 0])


@program(args=lambda: (_square(), np.array([0.4, 0.9, -1.3])), wrt=("m", "x"), tags=("types", "memory", "library"))
def einsum_with_diagonals(m, x):
    """`einsum` with repeated labels, several operands, and views of one operand that are written to."""
    t = m[:, :, None] * x + np.arange(3.0)
    total = np.einsum("iii", t) ** 2 + _weigh(np.einsum("bii->bi", t)) + _weigh(np.einsum("ijk,il,jl->kl", t, m, m))
    y = m.copy()
    np.einsum("ii->i", y)[:] = x
    np.einsum("ij->ji", y)[0] *= x
    return total + _weigh(y)


@program(
    args=lambda: (_vector(), np.array([0.5, 1.1, -0.7, 0.3, 0.2]), 0.6), wrt=("x", "c", "a"), tags=("types", "library")
)
def polynomials_made_and_fitted(x, c, a):
    """Polynomials made from zeros, integrated with constants, fitted with weights; windows."""
    total = _weigh(np.poly(x[:3])) + _weigh(np.polyint(c, 2, [a, x[0]])) + _weigh(np.polyint(c, k=a))
    total += _weigh(np.polyfit(x, np.stack([c, x * c], axis=1), 2, w=c + 1.0)) * 0.1
    return total + np.hanning(x.size) @ x + np.hamming(5) @ c + np.bartlett(5) @ c + np.kaiser(5, a) @ x


@program(
    args=lambda: (_vector(), np.array([0.5, 1.1, -0.7, 0.3, 0.2]), 0.6), wrt=("x", "c", "a"), tags=("types", "library")
)
def series_of_polynomials(x, c, a):
    """Powers, and the polynomials of Chebyshev, Legendre, Laguerre and Hermite, at numbers, vectors and matrices."""
    total = np.polynomial.polynomial.polyval(a, c) + _weigh(np.polynomial.chebyshev.chebval(x, c)) * 0.01
    total += np.polynomial.legendre.legval(a, c) ** 2 + np.polynomial.laguerre.lagval(a, c[:3])
    total += _weigh(np.polynomial.hermite.hermval(np.outer(x[:2], x[1:3]), c[:3]))
    return total + np.polynomial.hermite_e.hermeval(a, x) + _weigh(np.polynomial.hermite_e.hermeval(x, [a]))


@program(args=lambda: (_square(),), wrt=("m",), tags=("types", "library"))
def orthogonal_factors(m):
    """`qr` of a square matrix, and of a triangular one, whose reflections LAPACK leaves out."""
    q, r = np.linalg.qr(m)
    full = np.linalg.qr(np.triu(m)[:, :2], mode="complete")
    return _weigh(q) + _weigh(r) + _weigh(full.Q) + _weigh(full.R)


@program(args=lambda: (_square(), np.array([0.4, 0.9, -1.3])), wrt=("m", "x"), tags=("types", "library"))
def inverses_of_every_kind(m, x):
    """`pinv` of a wide matrix, `tensorsolve`, `tensorinv`, `cond`."""
    total = _weigh(np.linalg.tensorsolve(m, x)) + _weigh(np.linalg.tensorinv(m, 1))
    return total + np.linalg.cond(m, 1) + _weigh(np.linalg.pinv(m[:2]))


@program(args=lambda: (_square(), np.array([0.4, 0.9, -1.3])), wrt=("m", "x"), tags=("types", "library"))
def triangles_and_named_results(m, x):
    """Triangles of a vector, indices of a matrix's triangles, the named result of `slogdet`."""
    determinant = np.linalg.slogdet(m)
    total = determinant.logabsdet * determinant.sign + _weigh(np.tril(x))
    return total + _weigh(m[np.triu_indices_from(m, 1)]) + _weigh(m[np.diag_indices_from(m)])


@program(args=lambda: (np.array([0.4, 0.9, -1.3, 0.2, 1.1, -0.6, 0.7, 0.3]),), wrt=("x",), tags=("types", "library"))
def windows_over_a_signal(x):
    """Windows along one axis and two, over an array that was written to before."""
    padded = np.zeros(len(x) + 2)
    padded[1:-1] = x
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3)
    patches = np.lib.stride_tricks.sliding_window_view(x.reshape(2, 4), (2, 3))
    rows = np.lib.stride_tricks.sliding_window_view(np.outer(x, x), 2, axis=0)
    total = _weigh(windows.max(axis=1)) + _weigh(np.median(windows, axis=-1)) + _weigh(patches[0, 1] ** 2)
    return total + _weigh(patches.mean(axis=(2, 3))) + _weigh(rows[1, :, 0])


@program(args=lambda: (np.array([0.4, 0.9, -1.3, 0.2, 1.1, -0.6, 0.7, 0.3]),), wrt=("x",), tags=("types", "library"))
def diagonals_of_stacks(x):
    """`diagonal` and `trace` of several matrices at once; `arange` by keywords."""
    m = x.reshape(2, 2, 2)
    total = _weigh(np.diagonal(m, axis1=1, axis2=2) ** 2) + _weigh(m.diagonal(1, 0, 2)) + _weigh(np.trace(m))
    return total + np.sum(np.arange(stop=3) * x[:3]) + np.sum(np.arange(1, stop=4, step=2) * x[:2])


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("types", "library"))
def reductions_of_numbers_and_ellipses_in_lists(m, x):
    """Sums of numbers and truths, `einsum` by lists of numbers with an ellipsis, limits of floats."""
    total = np.sum(x[0] > 0) * np.prod(x[1]) + np.max(x[2], initial=0.1) + np.sum(True) * np.mean(x[3])
    turned = np.einsum(m, [Ellipsis, 0, 1], [..., 1, 0])
    total += _weigh(np.einsum(m, [..., 0, 1], turned, [..., 1, 2], [..., 0, 2]))
    return total / (1.0 + sys.float_info.epsilon) + sys.float_info.min
