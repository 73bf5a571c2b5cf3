"""Calls on which a composite must give what NumPy's (or math's) own function gives, one row each."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special
from scipy import stats

from diffjit.primitives.registry import present

Case = tuple[Any, tuple[Any, ...], dict[str, Any]]

rng = np.random.default_rng(7)
V = rng.normal(size=5)
V6 = rng.normal(size=6)
M = rng.normal(size=(3, 4))
S = rng.normal(size=(3, 3))
T = rng.normal(size=(2, 3, 4))
I = rng.integers(-5, 6, size=(3, 4))  # noqa: E741 - integers
B = M > 0
C = V + 1j * V[::-1]
F = M.astype(np.float32)
N = np.where(rng.random((3, 4)) < 0.3, np.nan, M)
E0 = np.empty((0, 4))
CASES: list[Case] = []


def case(function: Any, *args: Any, numpy: str = "2.0", **kwargs: Any) -> None:
    """Add one call, which that version of NumPy is the first to take."""
    if np.lib.NumpyVersion(np.__version__) >= f"{numpy}.0":
        CASES.append((function, args, kwargs))


AXES: list[Any] = [None, 0, -1, (0, 2), (1, 2)]

# Statistics
for f in (np.mean, np.var, np.std, np.ptp):
    for axis in AXES:
        for keepdims in (False, True):
            case(f, T, axis=axis, keepdims=keepdims)
    for a in (V, F, I, M.T, M[::2, ::-1], [1.0, 2.0, 4.0], 3.0, np.ones((2, 1))):
        case(f, a)
for f in (np.mean, np.var, np.std):
    case(f, I, dtype=np.float32)
    case(f, C)
    case(f, M, where=B)
    case(f, M, axis=0, where=M > -5, keepdims=True)
    case(f, F, where=B, axis=1)
for f in (np.ndarray.mean, np.ndarray.var, np.ndarray.std):
    case(f, T, 1)
    case(f, T, axis=(0, 1), keepdims=True)
for f in (np.var, np.std, np.nanvar, np.nanstd):
    case(f, T, axis=1, ddof=1)
case(np.var, T, axis=1, correction=1)
case(np.var, T, axis=1, mean=np.mean(T, axis=1, keepdims=True))
case(np.average, T)
case(np.average, T, axis=1, weights=[1.0, 2.0, 3.0])
case(np.average, T, weights=T * T)
case(np.average, V, weights=[1, 2, 3, 4, 5], returned=True)
case(np.average, T, axis=(0, 2), weights=np.abs(T[:, 0]))
case(np.average, T, axis=(2, 0), weights=np.abs(T[:, 0]).T, returned=True, keepdims=True)
case(np.average, T, axis=0, returned=True)
case(np.average, T, axis=-1, weights=np.arange(4.0), keepdims=True)
for a in (V, V6, T, N, I):
    case(np.median, a)
case(np.median, T, axis=1, keepdims=True)
case(np.median, T, keepdims=True)
case(np.median, T, axis=(0, -1))
for method in (
    "linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased",
    "interpolated_inverted_cdf",
):  # fmt: skip
    for q in (0.3, 0.5, [0.0, 0.07, 0.98, 1.0]):
        case(np.quantile, V6, q, method=method)
        case(np.quantile, T, q, axis=(1, 2), method=method, keepdims=True)
        case(np.nanquantile, N, q, method=method)
        case(np.nanquantile, N, q, axis=1, method=method)
    case(np.percentile, F, 40, axis=0, method=method)
for f in (np.nanmedian, np.median):
    for axis in (None, 0, -1, (0, 1)):
        case(f, N, axis=axis, keepdims=True)
case(np.nanmedian, np.array([np.nan, np.nan]))
case(np.nanpercentile, N, [10, 60], axis=0, keepdims=True)
for q in (0.3, 0, 1, [0.1, 0.5], np.array([[0.2], [0.9]])):
    case(np.quantile, T, q)
    case(np.quantile, T, q, axis=1, keepdims=True)
    case(np.percentile, M, np.multiply(q, 100), axis=0)
case(np.cov, M)
case(np.cov, V)
case(np.cov, V, V[::-1])
case(np.cov, M, rowvar=False, bias=True)
case(np.cov, M, M[::-1], ddof=0)
case(np.cov, M, M[::-1], rowvar=False)
case(np.cov, M, fweights=[1, 2, 1, 3])
case(np.cov, M, aweights=np.abs(M[0]), fweights=[1, 2, 1, 3], ddof=0)
case(np.cov, V, V**2, aweights=np.abs(V), bias=True)
case(np.corrcoef, M)
case(np.corrcoef, V, V[::-1] ** 2)
case(np.corrcoef, V)
case(np.count_nonzero, I)
case(np.count_nonzero, I, axis=0)
case(np.count_nonzero, B, axis=1, keepdims=True)
for f in present(np, "cumulative_sum", "cumulative_prod"):
    case(f, V)
    case(f, T, axis=1)
    case(f, T, axis=-1, include_initial=True)
for f in (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin):
    for axis in (None, 0, 1):
        case(f, N, axis=axis)
        case(f, N, axis=axis, keepdims=True)
for f in (np.nanargmax, np.nanargmin, np.nancumsum, np.nancumprod):
    case(f, N, axis=1)
    case(f, N)
case(np.nanmax, np.array([-np.inf, np.nan]))
for f in (np.nansum, np.nanprod, np.nanmax, np.nanmin):
    case(f, N, axis=1, initial=0.25)
    case(f, N, axis=1, initial=0.25, where=M > 0)
for f in (np.nanmean, np.nanvar, np.nanstd, np.nansum, np.nanprod):
    case(f, N, axis=0, where=M > -1.5, keepdims=True)
case(np.nanstd, N, axis=1, correction=1, mean=np.nanmean(N, axis=1, keepdims=True))

# Shaping
for i in range(-3, 3):
    for j in range(-3, 3):
        case(np.swapaxes, T, i, j)
        case(np.moveaxis, T, i, j)
        case(np.rollaxis, T, i, j)
case(np.rollaxis, T, 0, 3)
case(np.ndarray.swapaxes, T, 0, 2)
case(np.moveaxis, T, (0, 1), (-1, 0))
case(np.moveaxis, T, [2, 0], [0, 1])
for f in (np.matrix_transpose, np.linalg.matrix_transpose):
    case(f, T)
case(np.permute_dims, T, (1, 0, 2))
case(np.permute_dims, T)
for axis in (0, 1, -1, (0, 2), (0, -1), (1, 3)):
    case(np.expand_dims, M, axis)
case(np.expand_dims, 2.0, 0)
case(np.squeeze, T[:, :1])
case(np.squeeze, T[:1, :, :1])
case(np.squeeze, T[:1, :, :1], axis=0)
case(np.squeeze, T[:1, :, :1], axis=(0, -1))
case(np.squeeze, np.ones((1, 1)))
case(np.ndarray.squeeze, T[:, :1], 1)
for a in (2.0, V, M, T):
    for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        case(f, a)
case(np.atleast_1d, 2.0, V)
for axis in (None, 0, -1, (0, 2)):
    case(np.flip, T, axis)
case(np.fliplr, M)
case(np.flipud, M)
for k in range(-1, 5):
    case(np.rot90, M, k)
    case(np.rot90, T, k, (1, 2))
case(np.broadcast_arrays, M, V[:4], 2.0)

# Joining
for axis in (0, 1, 2, -1, -2):
    case(np.stack, [M, 2 * M, I], axis=axis)
    case(np.stack, T, axis=axis)
for f in (np.vstack, np.hstack, np.dstack, np.column_stack):
    case(f, (V, 2 * V))
    case(f, [M, 2 * M])
    case(f, M)
    case(f, T)
case(np.vstack, V)
case(np.hstack, V)
case(np.dstack, V)
case(np.broadcast_shapes, (3, 1), (4,), (1, 1, 1))
case(np.broadcast_shapes, 3, (0, 1))
case(np.vstack, (V, np.ones((2, 5))))
case(np.hstack, (1.0, V, 2))
case(np.column_stack, (V, np.ones((5, 2))))
case(np.column_stack, V)
case(np.column_stack, (np.ones((2, 3, 2)), np.ones((2, 1, 2))))
case(np.append, V, 3.0)
case(np.append, M, [[1, 2, 3, 4]], axis=0)
case(np.append, M, M)
case(np.insert, V, 2, 9.0)
case(np.insert, V, -1, [9.0, 8.0])
case(np.delete, V, 2)
case(np.delete, M, -1, axis=1)
case(np.delete, M, 5)
case(np.delete, M, [0, -1], axis=1)
case(np.delete, V6, slice(1, 6, 2))
case(np.delete, V, V > 0)
case(np.insert, V, [1, 4, 1], [7.0, 8.0, 9.0])
case(np.insert, V, [3, -1], 7.0)
case(np.insert, V, V > 0, 0.0)
case(np.insert, M, 1, 5)
case(np.insert, M, 1, V[:4], axis=0)
case(np.insert, M, -1, V[:3], axis=1)
case(np.insert, M, [0, 4], V[:2], axis=1)
case(np.insert, I, [0, 3], [[1.5, 2.5, -3.5, 4.5]], axis=0)
for shape in (2, 13, (5, 3), (0, 2)):
    case(np.resize, M, shape)
case(np.resize, E0, (2, 2))
for trim in ("fb", "f", "b"):
    case(np.trim_zeros, np.array([0.0, 0.0, 1.0, 0.0, 2.0, 0.0]), trim)
    case(np.trim_zeros, np.zeros(3), trim)
case(np.block, [[S, V[:3, None]], [V6[:3], 2.0]])
case(np.block, [V, 1.0, V6])
case(np.block, [[[T]], [[T + 1]]])
case(np.block, [[M], [I]])
case(np.block, M)
for reps in (2, (2,), (2, 1), (1, 3), (2, 2, 2), 0):
    for a in (2.0, V, M, T):
        case(np.tile, a, reps)
for axis in (None, 0, 1, -1):
    case(np.repeat, M, 2, axis=axis)
    case(np.ndarray.repeat, M, 3, axis)
case(np.repeat, M, [1, 0, 2], axis=0)
case(np.repeat, V, np.array([2, 0, 1, 0, 3]))
case(np.repeat, 2.0, 3)
case(np.repeat, V, np.sqrt(8.0))
for shift in (0, 1, -1, 3, 17, -23):
    case(np.roll, V, shift)
    case(np.roll, M, shift)
    for axis in (0, 1, -1):
        case(np.roll, T, shift, axis)
case(np.roll, T, (1, 2), (0, 1))
case(np.roll, T, (1, 2), 2)
case(np.roll, T, 1, (0, 2))
case(np.roll, np.empty(0), 3)
for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
    for width in (0, 1, 2, (1, 2), ((1, 2), (0, 3)), [(2, 1)], 7):
        case(np.pad, M, width, mode)
    case(np.pad, V, (3, 1), mode=mode)
    case(np.pad, np.ones(1), 2, mode=mode)
case(np.pad, M, 1, constant_values=5.0)
case(np.pad, M, 1, constant_values=(5, 6))
case(np.pad, M, 1, constant_values=((5, 6), (7, 8)))
case(np.pad, M, np.array([[1, 2], [0, 3]]))
case(np.pad, M, {0: (1, 2)}, numpy="2.4")
case(np.pad, M, {-1: 2}, "edge", numpy="2.4")
for a in (V, M, I):
    for mode in ("maximum", "minimum", "mean", "median", "linear_ramp"):
        case(np.pad, a, 2, mode)
    for mode in ("maximum", "minimum", "mean", "median"):
        case(np.pad, a, (1, 2), mode, stat_length=2)
    case(np.pad, a, (0, 3), "linear_ramp", end_values=(4.0, -2.0))
for f in (np.split, np.array_split):
    case(f, V6, 3)
    case(f, V6, [2, 5])
    case(f, M, 2, axis=1)
    case(f, M, (1, 2), axis=-2)
    case(f, V6, np.array([2, 5]))
    case(f, V6, [2, 99])
for n in (1, 2, 4, 7):
    case(np.array_split, V, n)
case(np.hsplit, M, 2)
case(np.hsplit, V6, 2)
case(np.vsplit, M, [1])
case(np.dsplit, T, 2)
for f in present(np, "unstack"):
    case(f, T)
    case(f, T, axis=-1)

# Products
for f in (np.dot, np.inner):
    case(f, 2.0, 3.0)
    case(f, 2.0, M)
    case(f, V, V)
    case(f, T, M[0])
    case(f, M[:, 0], M[:, 1])
for a, b in (
    (M, M.T),
    (V6[:4], M.T),
    (M, V6[:4]),
    (T, M.T),
    (T, T.transpose(0, 2, 1)),
    (V6[:3], T),
    (F, F.T),
    (I, I.T),
):
    case(np.dot, a, b)
case(np.ndarray.dot, M, V6[:4])
case(np.inner, M, M)
case(np.inner, T, M)
case(np.inner, V6[:4], T)
case(np.vdot, M, M + 1)
case(np.vdot, C, C[::-1])
case(np.outer, V, V6)
case(np.outer, M, V)
case(np.linalg.outer, V, V6)
case(np.tensordot, T, T.transpose(1, 2, 0))
case(np.tensordot, T, M, axes=([1, 2], [0, 1]))
case(np.tensordot, T, M, axes=([2, 1], [1, 0]))
case(np.tensordot, T, M, axes=(1, 0))
case(np.tensordot, T, V, axes=0)
case(np.tensordot, T, M.T, axes=1)
case(np.linalg.tensordot, T, M.T, axes=1)
for a, b in ((V, V6), (M, S), (M, V), (V, M), (T, M), (2.0, M)):
    case(np.kron, a, b)
for axis in (None, -1):
    case(np.cross, S, S[::-1], axis=axis)
case(np.cross, S[0], S)
case(np.cross, S[0], S[1])
case(np.cross, M, M[:, ::-1], axisa=0, axisb=0, axisc=0)
case(np.linalg.cross, S, S[::-1])
for f in (np.vecdot, np.linalg.vecdot):
    case(f, T, M)
    case(f, C, C[::-1])
case(np.vecdot, T, T + 1, axis=1)
for f in present(np, "matvec"):
    case(f, T, V6[:4])
for f in present(np, "vecmat"):
    case(f, M[:, 0], T)
case(np.linalg.matmul, T, M.T)
for offset in (-2, -1, 0, 1, 3):
    case(np.trace, M, offset)
    case(np.trace, T, offset)
    case(np.trace, T, offset, 2, 0)
    case(np.linalg.trace, T, offset=offset)
    case(np.linalg.diagonal, M, offset=offset)
case(np.ndarray.trace, M, 1)
case(np.trace, M, 1, 1, 0)
case(np.linalg.multi_dot, [M, M.T, S])
case(np.linalg.multi_dot, [V6[:3], M, M.T])
case(np.linalg.multi_dot, [S, M, V6[:4]])
for n in (0, 1, 2, 3, 6, -1, -2):
    case(np.linalg.matrix_power, S, n)
case(np.linalg.matrix_power, np.stack([S, S.T]), 3)
for text, operands in (
    ("ij,jk->ik", (M, M.T)), ("ij,kj", (M, S.T[:, :1] * M[:1])), ("ii", (S,)), ("ii->i", (S,)), ("ij->ji", (M,)),
    ("ij->", (M,)), ("i,i", (V, V)), ("i,j->ij", (V, V6)), ("bij,bjk->bik", (T, T.transpose(0, 2, 1))),
    ("bij,jk->bk", (T, M.T)), ("ij,ij->i", (M, M)), ("ij,jk,k->i", (M, M.T, V6[:3])), ("ijk->kij", (T,)),
    ("i,ij,j->", (V6[:3], M, V6[:4])), ("abc,c->ab", (T, V6[:4])), ("ij,j->ij", (M, V6[:4])), ("ji,jk->ki", (M, M)),
    ("iij->j", (np.stack([S, S.T, S]),)), ("i,->i", (V, 2.0)), ("...ij,jk", (T, M.T)), ("i...->...", (T,)),
    ("...ij,...jk->...ik", (np.stack([S, S.T]), S)), ("...,...", (T, M)), ("iii", (S[:, :, None] * S[0],)),
    ("bii->bi", (np.stack([S, S.T]),)), (" i j , j ", (M, V6[:4])), ("i,i->i", (V, V)), (",", (2.0, 3.0)),
    ("a...,b...->ba...", (T, T[:1])), ("ijij->ij", (S[:, :, None, None] * S,)),
):  # fmt: skip
    case(np.einsum, text, *operands)
case(np.einsum, M, [0, 1], M, [2, 1], [2, 0])
case(np.einsum, S, [3, 1])

# Norms
for order in (None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf):
    for keepdims in (False, True):
        case(np.linalg.norm, V, order, keepdims=keepdims)
        case(np.linalg.norm, T, order, axis=1, keepdims=keepdims)
        case(np.linalg.vector_norm, T, ord=2 if order is None else order, axis=(0, 2), keepdims=keepdims)
for order in ("fro", 1, -1, np.inf, -np.inf):
    for keepdims in (False, True):
        case(np.linalg.norm, M, order, keepdims=keepdims)
        case(np.linalg.norm, T, order, axis=(0, 2), keepdims=keepdims)
        case(np.linalg.norm, T, order, axis=(2, 0), keepdims=keepdims)
        case(np.linalg.matrix_norm, T, ord=order, keepdims=keepdims)
case(np.linalg.norm, T)
case(np.linalg.norm, I)
case(np.linalg.norm, C)
case(np.linalg.norm, F)
case(np.linalg.norm, [3.0, 4.0])
case(np.linalg.norm, np.zeros(3))
case(np.linalg.vector_norm, T)
case(np.linalg.slogdet, S)
case(np.linalg.slogdet, -np.eye(4) * 1e200)
case(np.linalg.slogdet, np.zeros((2, 2)))
case(np.linalg.slogdet, np.zeros((0, 0)))
case(np.linalg.slogdet, np.stack([S, S.T, S @ S]))

# Factorisations
for a in (S, np.triu(S), S[:, :2], S[:2], np.eye(3), M.T, F.T, I[:, :3]):
    for mode in ("reduced", "complete", "r"):
        case(np.linalg.qr, a, mode)
    if a is not I:
        case(np.linalg.pinv, a * 1.0)
for p in (1, -1, np.inf, -np.inf, "fro"):
    case(np.linalg.cond, S, p)
case(np.linalg.cond, np.stack([S, S.T]), 1)
case(np.linalg.tensorsolve, np.reshape(np.eye(6) + 0.1, (2, 3, 3, 2)), M[:2, :3])
case(np.linalg.tensorsolve, np.reshape(np.eye(6) + 0.1, (3, 2, 2, 3)), M[:2, :3], axes=(0, 1))
case(np.linalg.tensorinv, np.reshape(np.eye(6) + 0.1, (2, 3, 3, 2)))
case(np.linalg.tensorinv, S, 1)

# Creation
for args in ((3,), (3, 4), (4, 2, 1), (3, 5, -1), (3, None, 7)):
    case(np.eye, *args)
    case(np.tri, *args)
case(np.eye, 3, dtype=int)
case(np.identity, 3)
case(np.identity, 3, dtype=np.float32)
for args in (
    (0, 1),
    (2.5, -1, 7),
    (0, 1, 1),
    (0, 1, 0),
    (M, 2 * M + 1, 4),
    ([0, 1], [2, 3], 3),
    (np.float32(0), np.float32(1), 3),
):
    for endpoint in (True, False):
        case(np.linspace, *args, endpoint=endpoint)
case(np.linspace, 0, 1, 5, retstep=True)
case(np.linspace, 0, 9, 5, dtype=int)
case(np.linspace, M, M + 1, 5, axis=-1)
case(np.linspace, F, F + 1, 5)
case(np.logspace, 0, 2, 5)
case(np.logspace, 0, 2, 5, endpoint=False, base=2.0)
case(np.geomspace, 1, 1000, 4)
case(np.geomspace, -1, -1000, 4, endpoint=False)
case(np.geomspace, 2.0, 3.0, 1)
for indexing in ("xy", "ij"):
    for sparse in (False, True):
        case(np.meshgrid, V, V6, indexing=indexing, sparse=sparse)
        case(np.meshgrid, V, V6, [1, 2], indexing=indexing, sparse=sparse)
        case(np.meshgrid, V, indexing=indexing, sparse=sparse)
case(np.meshgrid, V, V6, copy=False)
for k in (-2, -1, 0, 1, 2):
    case(np.diag, V, k)
    case(np.diag, M, k)
    case(np.diagflat, M, k)
    case(np.tril, M, k)
    case(np.triu, T, k)
    case(np.tril_indices, 4, k)
    case(np.triu_indices, 4, k, 3)
    case(np.tril_indices_from, M, k)
    case(np.triu_indices_from, M, k)
    case(np.tril, V, k)
case(np.tril, I)
case(np.triu, F)
case(np.vander, V)
case(np.vander, V, 3)
case(np.vander, [1, 2, 3], 4, increasing=True)
case(np.diag_indices, 3)
case(np.diag_indices_from, S)
case(np.fromfunction, lambda i, j: i - 2 * j, (2, 3))
case(np.fromfunction, lambda i: i * i, (4,), dtype=int)
case(np.fromiter, [0.5, 1.0, 1.5], float)
case(np.asarray_chkfinite, [1, 2])
case(np.astype, M, np.float32)
for f in (np.hanning, np.hamming, np.blackman, np.bartlett):
    for n in (0, 1, 2, 5, 8):
        case(f, n)
for n in (1, 2, 7):
    case(np.kaiser, n, 8.6)
case(np.indices, (2, 3))
case(np.indices, (2, 3), sparse=True)
case(np.ix_, [0, 2], [1, 3, 0])
case(np.ix_, [True, False, True], [1, 3])
case(np.ix_, np.array([False, True]), [])

# Calculus
for n in (0, 1, 2, 3):
    case(np.diff, V, n)
    case(np.diff, T, n, axis=1)
case(np.diff, V, prepend=0.0)
case(np.diff, M, axis=0, prepend=M[:1], append=5.0)
case(np.diff, V, 2, prepend=[1.0, 2.0])
case(np.diff, B)
case(np.ediff1d, M)
case(np.ediff1d, V, to_end=[1.0, 2.0], to_begin=9.0)
X6 = np.cumsum(np.abs(V6)) + 0.1
for edge_order in (1, 2):
    case(np.gradient, V6, edge_order=edge_order)
    case(np.gradient, V6, 0.5, edge_order=edge_order)
    case(np.gradient, V6, X6, edge_order=edge_order)
    case(np.gradient, M, edge_order=edge_order)
    case(np.gradient, M, 0.5, X6[:4], edge_order=edge_order)
    case(np.gradient, T[:, :, :3], 2.0, axis=(1, 2), edge_order=edge_order)
    case(np.gradient, M, X6[:3], axis=0, edge_order=edge_order)
case(np.gradient, V[:2])
case(np.gradient, V[:2], X6[:2])
case(np.gradient, I)
case(np.trapezoid, V)
case(np.trapezoid, T, axis=1, dx=0.5)
case(np.trapezoid, V6, X6)
case(np.trapezoid, M, X6[:4])
case(np.trapezoid, M, X6[:3], axis=0)
case(np.trapezoid, M, np.cumsum(np.abs(M), axis=1))
for x in (1.0, X6[2], X6 + 0.01, np.array([[-9.0, 0.5], [99.0, np.nan]]), X6, 3):
    case(np.interp, x, X6, V6)
    case(np.interp, x, X6, V6, left=-1.0, right=7.0)
    case(np.interp, x, X6, V6, period=1.7)
case(np.interp, 0.5, [1.0], [3.0])
case(np.interp, [0.5, 1.0, 2.0], [1.0], [3.0])
case(np.interp, 2, [1, 2, 3], [4, 5, 7])
for mode in ("full", "same", "valid"):
    for a, b in (
        (V, V6),
        (V6, V),
        (V6, V[:2]),
        (V[:2], V6),
        (V6, V[:3]),
        (V[:3], V6),
        (V[:4], V6),
        (V6, V6),
        (V[:1], V),
        ([1, 2], [3, 4, 5]),
    ):
        case(np.convolve, a, b, mode)
        case(np.correlate, a, b, mode)
case(np.correlate, C, C[::-1] * 2, "full")
case(np.correlate, V6, V[:2])
for x in (2.0, 3, V, M):
    case(np.polyval, [1.0, -2.0, 3.0], x)
    case(np.polyval, V, x)
case(np.polyadd, V, V6)
case(np.polysub, V, V6)
case(np.polymul, V, V6)
case(np.polyder, V)
case(np.polyder, V, 2)
case(np.polyint, V)
case(np.polyint, V, 2)
case(np.polyint, V, 2, [1.0, 2.0])
case(np.polyint, V, k=3.0)
case(np.poly, V)
case(np.poly, [2, 3])
case(np.polyfit, V6, np.sin(V6), 2)
case(np.polyfit, V, np.stack([V6[:5], V], axis=1), 1)
case(np.polyfit, np.arange(6.0), V6, 3, w=np.abs(V6) + 1)
case(np.polyfit, np.arange(6.0), V6, 2, cov=True)
case(np.polyfit, np.arange(6.0), V6, 2, w=np.abs(V6) + 1, cov="unscaled")
case(np.polyfit, np.arange(6.0), np.stack([V6, V6**2], axis=1), 2, cov=True)
for f in (
    np.polynomial.polynomial.polyval, np.polynomial.chebyshev.chebval, np.polynomial.legendre.legval,
    np.polynomial.hermite.hermval, np.polynomial.hermite_e.hermeval, np.polynomial.laguerre.lagval,
):  # fmt: skip
    for x in (0.3, V, M):
        case(f, x, V6)
        case(f, x, M)
        case(f, x, [2.0])
        case(f, x, [2, 3])
        case(f, I, x)

# Selecting
for f in (np.take, np.ndarray.take):
    case(f, M, [0, 5, -1])
    case(f, M, [0, 2, -1], axis=1)
    case(f, M, np.array([[0, 1], [2, 0]]), axis=0)
    case(f, T, 1, axis=-1)
case(np.take, V, [7, -9, 2], mode="wrap")
case(np.take, V, [7, -9, 2], mode="clip")
case(np.take, V, 2)
for axis in (0, 1, -1, None):
    case(np.take_along_axis, M, np.argsort(M, axis=axis), axis)
case(np.take_along_axis, T, np.argmax(T, axis=1, keepdims=True), 1)
case(np.take_along_axis, V, np.argsort(V), 0)
case(np.unravel_index, 5, (3, 4))
case(np.unravel_index, np.array([5, 11]), (3, 4))
case(np.unravel_index, 5, (3, 4), "F")
case(np.ravel_multi_index, (np.array([1, 2]), np.array([3, 0])), (3, 4))
case(np.ravel_multi_index, np.array([[1, 2], [0, 3]]), (3, 4))
case(np.ravel_multi_index, ([0, 1], [2, 3]), (3, 4))
case(np.ravel_multi_index, (1, 2), (3, 4), "raise", "F")
case(np.ravel_multi_index, (np.array([5, -2]), 2), (3, 4), "wrap")
case(np.ravel_multi_index, (5, -2), (3, 4), ("clip", "wrap"))
case(np.ravel_multi_index, (np.array([0, 1]), np.array([[1], [2]])), (3, 4))
case(np.compress, [True, False, True], M, axis=0)
case(np.compress, [True, False, True], V6)
case(np.ndarray.compress, M, [True, False, True], axis=0)
case(np.argwhere, M > 0)
case(np.lexsort, (V, [1, 0, 1, 0, 1]))
case(np.lexsort, ([1, 0, 1, 0, 1], [1, 1, 0, 0, 0], V > 0))
case(np.partition, np.sort(V), 2)
case(np.sort_complex, V)
case(np.sort_complex, V * (1 - 2j))
for f in (np.argpartition, np.ndarray.argpartition):
    case(f, np.sort(M, axis=1), 1)
case(np.piecewise, V, [V < 0, V > 0.5], [lambda x: -x, lambda x: x * x, 7.0])
case(np.piecewise, M, [M < 0], [1.0, lambda x: x + 1])
case(np.piecewise, V, V < 0, [lambda x, k: x - k, lambda x, k: k], 3.0)
case(np.piecewise, 0.5, [np.bool_(True)], [lambda x: x * 3, 1.0])
case(np.apply_along_axis, np.sum, 1, T)
case(np.apply_along_axis, np.cumsum, 0, T)
case(np.apply_along_axis, lambda v: np.outer(v, v), 1, T)
case(np.apply_along_axis, lambda v, k: v[::k], -1, T, 2)
case(np.apply_over_axes, np.sum, T, [0, 2])
case(np.apply_over_axes, np.cumsum, T, 1)
case(np.extract, B, M)
case(np.select, [M > 0.5, M < -0.5], [M * 2, -M], 7.0)
case(np.select, [M > 0.5, M > 0.0], [1.0, 2.0])
case(np.choose, [0, 3, -1], (V[:3], 5.0), mode="wrap")
case(np.choose, [0, 3, -1], (V[:3], 5.0), mode="clip")
case(np.choose, [[0, 1], [2, 0]], (np.ones((2, 2)), 5.0, np.array([7.0, 8.0])))
WITH_NAN = np.array([0.0, 1.0, 1.0, 2.0, np.nan])
for side in ("left", "right"):
    case(np.searchsorted, np.sort(V6), V, side=side)
    case(np.searchsorted, WITH_NAN, [[-1.0, 1.0], [np.nan, 9.0]], side=side)
    case(np.searchsorted, np.sort(V6), 0.3, side)
    case(np.searchsorted, V6, V, side=side, sorter=np.argsort(V6))
case(np.ndarray.searchsorted, np.sort(V6), V)
for right in (False, True):
    case(np.digitize, V, [-1.0, 0.0, 0.5], right=right)
    case(np.digitize, [0.0, 0.5, 2.0], [0.5, 0.0, -1.0], right=right)

# Counting
K = np.array([3, 1, 3, 0, 1, 3])
for f in (np.unique, np.sort):
    case(np.unique, f(V6))
for flags in ((True, True, True), (False, True, False), (True, False, True)):
    case(np.unique, I, *flags)
case(np.unique, [np.nan, 1.0, np.nan])
case(np.unique, [np.nan, 1.0, np.nan], equal_nan=False)
for f in (np.unique_all, np.unique_counts, np.unique_inverse):
    case(f, np.array([2.0, np.nan, 1.0, 2.0, np.nan]))
case(np.unique, np.empty(0), return_counts=True)
PARTS = np.array([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0], [1.0, 2.0, 3.0], [1.0, 2.0, 1.0], [0.0, 5.0, 1.0]])
for parts, axis in ((PARTS, 0), (PARTS.T, -1), (np.stack((PARTS, PARTS)), 1), (np.array([1.0, np.nan, np.nan]), 0)):
    case(np.unique, parts, axis=axis)
case(np.unique, PARTS, True, True, True, axis=0)
case(np.unique, np.stack((PARTS.T, PARTS.T + 1)), return_inverse=True, axis=2)
case(np.unique, np.empty((0, 3)), return_counts=True, axis=0)
case(np.union1d, V, V6)
for f in (np.intersect1d, np.setdiff1d, np.setxor1d):
    case(f, I, K)
for first, second in (
    (I, K),
    ([3.0, 1.0, 3.0, np.nan, 2.0], [2, 3, 5, 3]),
    (V, V[::-2].copy()),
    ([[7, 4], [4, 1]], [9, 4, 7, 4]),
):
    case(np.intersect1d, first, second, return_indices=True)
case(np.intersect1d, V, V[:0], return_indices=True)
case(np.isin, I, [1, 2, 9])
case(np.isin, I, [], invert=True)
case(np.isin, 2, K)
case(np.bincount, K)
case(np.bincount, K, V6)
case(np.bincount, K.astype(np.uint8), minlength=7)
case(np.bincount, K[:0])
case(np.bincount, K[:0], minlength=2)
for bins in (1, 4, [-1.0, 0.0, 0.3, 2.0]):
    case(np.histogram_bin_edges, V6, bins)
    case(np.histogram, V6, bins)
    case(np.histogram, M, bins, density=True)
    case(np.histogram, M, bins, weights=F)
    case(np.histogram, I, bins, range=(-1, 2))
    case(np.histogram2d, V6, V6[::-1], bins)
    case(np.histogram2d, V6, V6**2, [bins, 2], density=True, weights=np.abs(V6))
case(np.histogram, [2, 2])
case(np.histogram, np.empty(0), 3)
case(np.histogram, np.arange(0.0, 1.01, 0.1), 10)
case(np.histogram2d, V6, V6, 3, range=[[-1, 1], [0, 1]])
case(np.histogramdd, (V6, V6**2), bins=[[-2.0, 0.1, 2.0], 2], weights=np.abs(V6))
case(np.histogramdd, np.stack((V6, V6**2, -V6), axis=1), 2, density=True)

# Numbers
for args in (
    (V, -0.5, 0.5),
    (M, None, 0.2),
    (M, 0.1, None),
    (I, -2, 2),
    (M, M * 0, 1.0),
    (F, -0.5, 0.5),
    (0.7, 0, 0.5),
    (I, 0.5, 2.5),
):
    case(np.clip, *args)
    if isinstance(args[0], np.ndarray):
        case(np.ndarray.clip, *args)
case(np.clip, V, min=-0.5, numpy="2.1")
case(np.clip, V, max=0.5, min=0.0, numpy="2.1")
for f in (np.round, np.around):
    for decimals in (0, 2, -1):
        case(f, 123.456 * M, decimals)
        case(f, 10 * I, decimals)
        case(f, 12 * F, decimals)
case(np.ndarray.round, M, 1)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 1e300, 5e-324, 0.5, 1.0, 2.0, 3.0])
case(np.nan_to_num, SPECIAL)
case(np.nan_to_num, SPECIAL, nan=7.0, posinf=1.0, neginf=-1.0)
case(np.nan_to_num, SPECIAL[:7].astype(np.float32))
case(np.nan_to_num, I)
case(np.modf, SPECIAL)
case(np.frexp, SPECIAL)
case(np.frexp, 2.0 ** np.arange(-60.0, 60.0))
case(np.divmod, M, 0.3)
case(np.divmod, I, 3)
case(np.angle, C)
case(np.angle, C, deg=True)
case(np.angle, V)
case(np.unwrap, np.cumsum(V6 * 4))
case(np.unwrap, np.cumsum(T * 4, axis=1), axis=1)
case(np.unwrap, np.cumsum(V6 * 4), period=2.0)
case(np.unwrap, np.cumsum(V6 * 4), discont=4.0)
for f in (np.isposinf, np.isneginf, np.isreal, np.iscomplex):
    case(f, SPECIAL)
case(np.isreal, C * np.array([1, 0, 1, 1j, 1]))
case(np.iscomplex, C * np.array([1, 0, 1, 1j, 1]))
OTHER = np.array([np.nan, np.inf, np.inf, 1e-9, 0.0, 1.50001, -2.5, 1.1e300, 0.0, 0.5, np.inf, np.nan, 3.1])
for f in (np.isclose, np.allclose, np.array_equal):
    case(f, SPECIAL, OTHER)
    case(f, SPECIAL, SPECIAL, equal_nan=True)
    case(f, SPECIAL, SPECIAL)
case(np.isclose, SPECIAL, OTHER, 0.2, 1e-3)
case(np.real_if_close, V)
for name in ("sqrt", "log", "log10", "log2", "arcsin", "arccos", "arctanh"):  # of real numbers: frontend/programs
    case(getattr(np.lib.scimath, name), C)
for f in (np.iscomplexobj, np.isrealobj, np.isscalar):
    for x in (1, 2.5, V, C, [1.0], 1j):
        case(f, x)
case(np.array_equal, M, M[:2])
case(np.array_equiv, M, M[:1])
case(np.array_equiv, V, np.stack((V, V)))
case(np.isfortran, np.asfortranarray(M))
for order in ("big", "little"):
    case(np.packbits, T > 0, bitorder=order)
    case(np.packbits, (V > 0).astype(np.uint8), bitorder=order)
    case(np.packbits, M > 0, axis=0, bitorder=order)
    case(np.packbits, (T > 0).astype(int), axis=-1, bitorder=order)
    case(np.unpackbits, np.array([[2, 255], [77, 130]], np.uint8), bitorder=order)
    case(np.unpackbits, np.array([[2, 255], [77, 130]], np.uint8), axis=0, count=11, bitorder=order)
    case(np.unpackbits, np.array([2, 255], np.uint8), count=19, bitorder=order)
    case(np.unpackbits, np.array([2, 255], np.uint8), count=-3, bitorder=order)
case(np.iterable, V)
case(cmath.isclose, 1.0 + 2j, 1.0 + 2.0000000001j)
case(np.array_equal, V, M)

# Methods of ufuncs
P = np.abs(T) + 0.5
for ufunc in (
    np.add, np.subtract, np.multiply, np.divide, np.hypot, np.fmax, np.fmin, np.maximum, np.minimum, np.logaddexp,
    np.logaddexp2,
):  # fmt: skip
    for axis in (0, -1):
        case(ufunc.reduce, P, axis)
        case(ufunc.accumulate, P, axis)
        case(ufunc.reduceat, P, [0, 1, 0], axis=axis)
    case(ufunc.reduce, V)
    case(ufunc.reduce, M, 1, keepdims=True)
    case(ufunc.accumulate, V)
    case(ufunc.reduceat, V, [0, 3, 1])
for ufunc in (np.float_power, np.fmod, np.remainder):
    case(ufunc.reduce, P, 1)
    case(ufunc.accumulate, P, -1)
    case(ufunc.reduceat, P, [0, 1, 0], axis=1)
case(np.multiply.outer, V, M, dtype=complex)
case(np.subtract.outer, M, V, dtype=float)
for ufunc in (np.add, np.multiply, np.fmax, np.hypot):
    case(ufunc.reduce, P, axis=(0, 2))
    case(ufunc.reduce, P, axis=None)
    case(ufunc.reduce, M, axis=1, initial=0.5)
    case(ufunc.reduce, M, axis=1, initial=0.5, where=B, keepdims=True)
for ufunc in (np.logical_and, np.logical_or, np.logical_xor):
    case(ufunc.reduce, B)
    case(ufunc.reduce, B, axis=1, where=M > -0.5)
    case(ufunc.accumulate, B, axis=1)
    case(ufunc.reduceat, B, [0, 2], axis=1)
for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm):
    case(ufunc.reduce, np.abs(I))
    case(ufunc.accumulate, np.abs(I))
    case(ufunc.reduceat, np.abs(I), [0, 2])
case(np.add.reduceat, B, [0, 1])
case(np.add.reduce, I.astype(np.int8), 1)
case(np.divide.accumulate, [8, 2, 4])
case(np.subtract.reduce, np.empty((0, 2)), initial=1.0)
for ufunc in (
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.maximum,
    np.minimum,
    np.hypot,
    np.arctan2,
    np.less,
    np.power,
):
    case(ufunc.outer, np.abs(V), np.abs(M))
case(np.subtract.outer, 2.0, V)

# math
for f in (math.floor, math.ceil, math.trunc, math.ulp):
    for x in (-2.5, 0.0, 3.7, 4.0):
        case(f, x)
for x in (-7.3, 7.5, 9):
    case(divmod, x, 2)
    case(pow, x, 3)
case(pow, 9, 2, 7)
for x in (-7.3, 7.5, 0.0, 2.5, -2.5, 3.5, 1e17):
    for y in (2.0, -3.0, 0.7, 1.0, math.inf):
        case(math.remainder, x, y)
for args in ((), (3.0,), (-3.0, 4.0), (1.0, 2.0, -3.0, 4.0), (1e200, 1e200, 1e200)):
    case(math.hypot, *args)
case(math.dist, [1.0, 2.0], [4.0, -2.0])
case(math.dist, (1e200, 2.0), (4.0, -2e200))
case(math.dist, V, V6[:5])
case(math.prod, [1.0, 2.0, 3.0])
case(math.prod, [2, 3], start=4)
case(math.prod, [])
if hasattr(math, "sumprod"):  # Python 3.12
    case(math.sumprod, [0.1] * 10, [3.0] * 10)  # pyright: ignore[reportAttributeAccessIssue]
if hasattr(math, "fma"):  # Python 3.13
    for operands in ((0.1, 10.0, -1.0), (1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0), (1e300, -1e-300, 1.0), (3, 4, 5)):
        case(math.fma, *operands)  # pyright: ignore[reportAttributeAccessIssue]
    for operands in ((math.inf, 2.0, 1.0), (math.nan, 2.0, 1.0), (0.0, 2.0, -1.0), (1e300, 3.7e7, 1.0)):
        case(math.fma, *operands)  # pyright: ignore[reportAttributeAccessIssue]
case(math.fsum, [0.1] * 10)
case(math.fsum, [1e100, 1.0, -1e100])
case(math.fsum, list(V))
for a, b in ((1.0, 1.0 + 1e-12), (1.0, 1.1), (math.inf, math.inf), (math.inf, 1.0), (0.0, 1e-12), (math.nan, math.nan)):
    case(math.isclose, a, b)
    case(math.isclose, a, b, rel_tol=0.2, abs_tol=1e-9)
case(math.gcd, 12, 18, 8)
case(math.gcd)
case(math.lcm, 4, 6, 10)
case(math.lcm)
for n in range(8):
    case(math.factorial, n)
    case(math.perm, n)
    for k in range(9):
        case(math.comb, n, k)
        case(math.perm, n, k)
case(math.comb, 60, 30)
for n in (0, 1, 2, 3, 4, 8, 9, 10**6, 10**15 - 1, 2**52 + 1, 2**62):
    case(math.isqrt, n)
    case(int.bit_length, n)
for x in (2.5, -0.3, 0.0, 1024.0, 5e-324, 0.49999999999999994, -0.5):
    case(math.frexp, x)
    case(math.modf, x)

# Windows
for window, axis in ((3, 0), ((2, 2), None), (2, (1,)), ((1, 3), (0, 1))):
    case(np.lib.stride_tricks.sliding_window_view, M, window, axis)

# Special functions of SciPy
POSITIVE = np.abs(V) + 0.1
for axis in (None, 0, 1, (0, 1)):
    for keepdims in (False, True):
        case(scipy.special.logsumexp, M, axis=axis, keepdims=keepdims)
        case(scipy.special.logsumexp, M, axis=axis, keepdims=keepdims, b=np.where(B, 0.0, np.abs(M)))
    case(scipy.special.softmax, M, axis=axis)
    case(scipy.special.log_softmax, M, axis=axis)
case(scipy.special.logsumexp, np.array([-np.inf, -np.inf]))
case(scipy.special.logsumexp, np.array([1e4, 1e4 + 1]))
case(scipy.special.logsumexp, [1, 2, 3])
case(scipy.special.logsumexp, V, b=V, return_sign=True)
case(scipy.special.logsumexp, F, axis=1)
case(scipy.special.softmax, I)
case(scipy.special.multigammaln, 2.5, 3)
case(scipy.special.multigammaln, POSITIVE + 2, 3)
case(scipy.special.comb, 5, 2)
case(scipy.special.comb, [5, 3, 2], [2, 4, -1])
case(scipy.special.comb, 5, 2, repetition=True)
case(scipy.special.factorial, np.array([0, 1, 5, -2]))
case(scipy.special.factorial, 5)
for f in (
    scipy.special.eval_legendre, scipy.special.eval_chebyt, scipy.special.eval_chebyu, scipy.special.eval_hermite,
    scipy.special.eval_hermitenorm, scipy.special.eval_laguerre, scipy.special.eval_chebyc, scipy.special.eval_chebys,
    scipy.special.eval_sh_chebyt, scipy.special.eval_sh_chebyu, scipy.special.eval_sh_legendre,
):  # fmt: skip
    for n in (0, 1, 4):
        case(f, n, V)
        case(f, n, 0.3)
for f in (scipy.special.eval_genlaguerre, scipy.special.eval_gegenbauer):
    for n in (0, 1, 4):
        case(f, n, 0.7, V)
for f in (scipy.special.eval_jacobi, scipy.special.eval_sh_jacobi):
    for n in (0, 1, 4):
        case(f, n, 2.7, 0.6, V)

# Eigenvalues and singular values
for a in (S, S.astype(np.float32), np.stack([S, S.T]), S + 1j * S.T, [[2, 1], [1, 3]]):
    for triangle in ("L", "U"):
        case(np.linalg.eigh, a, triangle)
        case(np.linalg.eigvalsh, a, UPLO=triangle)
for a in (S, M, M.T, T, F, M + 1j * M[::-1]):
    case(np.linalg.svd, a, full_matrices=False)
    case(np.linalg.svd, a, compute_uv=False)
    case(np.linalg.svdvals, a)
    case(np.linalg.matrix_rank, a)
    case(np.linalg.cond, a)
    case(np.linalg.cond, a, -2)
    for order in (2, -2, "nuc"):
        case(np.linalg.norm, a, order, axis=(-2, -1))
        case(np.linalg.norm, a, order, axis=(-1, -2), keepdims=True)
        case(np.linalg.matrix_norm, a, ord=order)
case(np.linalg.svd, S)
case(np.linalg.matrix_rank, V)
case(np.linalg.matrix_rank, np.ones((3, 4)))
case(np.linalg.matrix_rank, M, 0.5)
case(np.linalg.matrix_rank, M, rtol=0.5)
for a, b in ((M.T, V[:4]), (M.T, T[0].T), (M, V[:3]), (S, S), (np.array([[1, 0], [0, 2], [3, 4]]), [1, 2, 3])):
    case(np.linalg.lstsq, a, b, rcond=None)

# Linear algebra of SciPy
P = S @ S.T + np.eye(3)
for b in (V[:3], M):
    for lower in (False, True):
        case(scipy.linalg.solve, P, b, lower=lower, assume_a="pos")
        case(scipy.linalg.cho_solve, scipy.linalg.cho_factor(P, lower), b)
        for trans in (0, 1, "N", "T", "C"):
            case(scipy.linalg.solve_triangular, S, b, trans, lower)
        case(scipy.linalg.solve_triangular, S, b, lower=lower, unit_diagonal=True)
    case(scipy.linalg.solve, S, b)
    case(scipy.linalg.solve, S, b, transposed=True)
    for trans in (0, 1):
        case(scipy.linalg.lu_solve, scipy.linalg.lu_factor(S), b, trans)
for lower in (False, True):
    case(scipy.linalg.cholesky, P, lower)
    case(scipy.linalg.cho_factor, P, lower)
    case(scipy.linalg.eigvalsh, S, lower=lower)
    case(scipy.linalg.eigh, S, lower=lower, eigvals_only=True)
for f in (scipy.linalg.inv, scipy.linalg.det, scipy.linalg.lu_factor, scipy.linalg.expm):
    for a in (S, P, 20 * S, S.astype(np.float32), S + 1j * P):
        case(f, a)
for a in (S, M, M.T):
    case(scipy.linalg.svd, a, full_matrices=False)
    case(scipy.linalg.svd, a, compute_uv=False)
    case(scipy.linalg.svdvals, a)
    case(scipy.linalg.norm, a)
    case(scipy.linalg.norm, a, 2)
    case(scipy.linalg.pinv, a)
case(scipy.linalg.block_diag, S, V, 2.0, I)
case(scipy.linalg.block_diag, [[1, 2]], [3])
for f in (scipy.linalg.toeplitz, scipy.linalg.hankel):
    case(f, V)
    case(f, V, V6)
    case(f, V6, V)
case(scipy.linalg.toeplitz, C)
case(scipy.linalg.circulant, V)
case(scipy.linalg.solve_sylvester, S, P[:2, :2], M[:3, :2])
case(scipy.linalg.solve_continuous_lyapunov, S, P)
case(scipy.linalg.solve_discrete_lyapunov, S / 3, P)
for below, above in ((1, 1), (2, 1), (0, 2)):
    bands = rng.normal(size=(below + above + 1, 6))
    bands[above] += 5
    case(scipy.linalg.solve_banded, (below, above), bands, V6)
    case(scipy.linalg.solve_banded, (below, above), bands, rng.normal(size=(6, 2)))

# Distributions of SciPy
for x in (V, M, 0.3, 1, np.array([0.2, 0.8])):
    for f in (
        stats.norm.logpdf, stats.norm.pdf, stats.norm.cdf, stats.norm.sf, stats.norm.logcdf, stats.norm.logsf,
        stats.cauchy.logpdf, stats.laplace.logpdf, stats.logistic.logpdf, stats.logistic.cdf, stats.expon.logpdf,
        stats.expon.pdf, stats.expon.cdf, stats.uniform.logpdf,
    ):  # fmt: skip
        case(f, x)
        case(f, x, 0.1, scale=1.3)
    for f in (
        stats.t.logpdf, stats.t.pdf, stats.t.cdf, stats.gamma.logpdf, stats.gamma.pdf, stats.gamma.cdf,
        stats.chi2.logpdf, stats.chi2.pdf, stats.chi2.cdf, stats.lognorm.logpdf, stats.weibull_min.logpdf,
    ):  # fmt: skip
        case(f, x, 2.3)
        case(f, x, 1.7, 0.1, 1.3)
    for f in (stats.beta.logpdf, stats.beta.pdf, stats.beta.cdf):
        case(f, x, 2.3, 1.7)
        case(f, x, 0.7, 1.7, loc=0.1, scale=1.3)
for k in (np.array([-1, 0, 2, 5]), 2, 1.5):
    case(stats.poisson.logpmf, k, 1.3)
    case(stats.poisson.pmf, k, 1.3, 1)
    case(stats.binom.logpmf, k, 4, 0.3)
    case(stats.bernoulli.logpmf, k, 0.3)
for function in (stats.skewnorm.cdf, stats.skewnorm.sf, stats.skewnorm.logcdf, stats.skewnorm.logsf):
    case(function, [0.1, -0.5, 0.9], 0.7, 0.1, 1.3)
case(stats.norm.ppf, [0.1, 0.5, 0.99], 0.1, 1.3)
for f in (stats.multivariate_normal.logpdf, stats.multivariate_normal.pdf):
    case(f, V[:3], M[:, 0], P)
    case(f, M.T, cov=P)
for f in (scipy.special.jvp, scipy.special.yvp, scipy.special.ivp, scipy.special.kvp):
    for n in (0, 1, 3):
        case(f, 1.5, np.abs(V) + 0.5, n)
for slope in (False, True):
    case(scipy.special.spherical_kn, 2, np.abs(V) + 0.5, slope)

# What infinite, missing and no values give; the precision that is asked for, and that of one precision with another
INFINITE = np.array([0.5, np.inf, -1.0])
NANS = N.astype(np.float32)
COMPLEX_NANS = N + 1j * np.abs(M)
for a in (INFINITE, INFINITE[:2], -INFINITE, np.array([-np.inf, 1.0, np.inf, 2.0]), I, F):
    case(np.median, a)
    case(np.nanmedian, a)
    for method in ("lower", "higher", "nearest"):
        case(np.quantile, a, [0.0, 0.3, 1.0], method=method)
        case(np.nanquantile, a, 0.4, method=method)
for f in (np.nanmean, np.nanvar, np.nanstd):
    for a in (NANS, COMPLEX_NANS, COMPLEX_NANS.astype(np.complex64), I, B):
        case(f, a)
        case(f, a, axis=0, where=M > -1)
    case(f, NANS, dtype=np.float64, axis=1)
for f in (np.nanmax, np.nanmin, np.nanmedian):
    case(f, I, axis=0)
    case(f, NANS, axis=1, keepdims=True)
case(np.nanmax, I, initial=3)
case(np.nanmedian, E0, axis=1)
case(np.nanmedian, E0)
case(np.nanquantile, NANS, [0.2, 0.7], axis=0)
case(np.nanquantile, E0, 0.4, axis=1)
for f in (np.mean, np.var, np.std):
    case(f, F, dtype=np.complex64, where=B)
    case(f, M, dtype=np.float32, where=B, axis=0)
    case(f, C.astype(np.complex64), where=V > 0)
case(np.mean, M, dtype=int)
case(np.var, M, dtype=np.int32, axis=0)
case(np.cov, M, ddof=7)
case(np.cov, V[:, None], aweights=[1.0], ddof=2)
for f in (np.dot, np.inner):
    case(f, F, 0.5)
    case(f, 2, F)
    case(f, F, np.float32(0.5))
case(np.polysub, M[0], np.array([3, 200], np.uint8))
case(np.polysub, np.array([3, 200], np.uint8), 1.5)
case(np.polyadd, M, M)
for f in (np.polynomial.polynomial.polyval, np.polynomial.chebyshev.chebval, np.polynomial.laguerre.lagval):
    case(f, np.array([1.0, np.nan]), 2.0)
    case(f, np.array([1, 2], np.int8), F[0])
    case(f, 0.5, 1.5)
case(np.modf, I)
for f in (np.vstack, np.hstack):
    case(f, F, dtype=np.float64)
case(np.interp, F[0], np.array([-1.0, 2.0], np.float32), F[0, :2])
case(np.linalg.norm, F[0], 0)
case(np.linalg.vector_norm, F, axis=0, ord=0)
case(np.intersect1d, [1, 2, 4], np.array([4.0, 2.5, 1.0]))
case(np.add.reduce, M, where=B)
case(np.add.reduce, E0)
case(np.multiply.reduce, E0, axis=None)
case(np.maximum.reduce, F, dtype=np.float64)
case(np.logaddexp.reduce, E0)
case(np.logaddexp.reduce, I)
for f in present(np, "cumulative_sum", "cumulative_prod"):
    case(f, 1.5)

# Complex columns: LAPACK's reflections leave what ends in a real number as it is
CM = M + 1j * np.roll(M, 2)
for a in (CM, CM.T, CM[:, :3], np.triu(CM), np.triu(M) + 0j, CM.astype(np.complex64), CM[:1]):
    for mode in ("reduced", "complete", "r"):
        case(np.linalg.qr, a, mode)
    if a.dtype == np.complex128:
        case(np.linalg.pinv, a)
        case(np.linalg.lstsq, a, M[0] if a.shape[0] == 4 else CM[: a.shape[0]], None)
case(np.linalg.pinv, np.outer(CM[0], CM[1, :3]))
case(np.polyfit, CM[0], V[:4], 1)
case(np.average, INFINITE, returned=True)
case(np.average, M, axis=0, returned=True)
for a in (np.zeros((2, 2)), np.ones((2, 2, 2)) * np.array([0.0, 1.0])[:, None, None], S):
    case(np.linalg.cond, a, -2)
    case(np.linalg.cond, np.stack([a, a * 0]) if a.ndim == 2 else a * np.eye(2))
