"""Reductions, scans and products: axes, keepdims, dtype, initial, where, ddof; functions and methods; zeros and vectors."""

import numpy as np

from .registry import program
from .types_elementwise import in_jax


def _matrix():
    return np.array([[0.5, 1.2, 0.8], [-0.3, 0.9, 1.6]])


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("types", "primitives"), jax=in_jax("sums_and_means"))
def sums_and_means(m):
    """`sum`, `mean` over all, one, negative and several axes, with `keepdims`, as functions and methods."""
    r = m / m.sum(axis=1, keepdims=True) - np.mean(m, axis=0)
    t = m.reshape(2, 3, 1) * m[0]
    total = np.sum(r * r) + m.mean() * np.sum(m, axis=-1)[1] + t.sum(axis=(0, 2)) @ m[1] + np.mean(t, (1, 2))[0]
    return total + np.sum(m, where=m > 0.0, initial=2.0) * m.sum(0)[2] + np.average(m[0], weights=m[0] ** 2)


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("types", "primitives"), jax=in_jax("variances"))
def variances(m):
    """`var` and `std` with `ddof`, axes and `keepdims`."""
    z = (m - m.mean(axis=1, keepdims=True)) / m.std(axis=1, keepdims=True, ddof=1)
    total = np.var(m) + m.var(axis=0)[1] * np.std(m) + np.std(m, axis=0, ddof=0)[2]
    return total + np.sum(z * m) + np.var(m, axis=(0, 1), ddof=2) ** 2


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("types", "primitives"), jax=in_jax("extremes"))
def extremes(m):
    """`min`, `max`, `ptp`, `argmin`, `argmax`, `amax` over axes, and indices from them."""
    total = m.max() * m.min() + np.sum(np.max(m, axis=0) * np.min(m, axis=0)) + np.ptp(m, axis=1) @ m[:, 0]
    k = np.argmax(m, axis=1)
    i, j = np.unravel_index(np.argmin(m), m.shape)
    total += m[np.arange(2), k] @ m[:, 1] + m[i, j] ** 3 + m.ravel()[m.argmax()] ** 2
    return (
        total + np.sum(m - m.max(axis=1, keepdims=True) ** 2) + np.amin(m[0]) + np.max(m, initial=1.3) * m[0].argmin()
    )


@program(
    args=lambda: (np.array([[0.5, 1.2, 0.0], [0.0, 0.9, 0.0]]),),
    wrt=("m",),
    tags=("types", "primitives"),
    jax=in_jax("products_with_zeros"),
)
def products_with_zeros(m):
    """`prod` and `cumprod` where none, one and two factors are zero: no division by a factor."""
    total = np.prod(m[0, :2]) + np.prod(m[0]) * 3.0 + np.prod(m, axis=1) @ np.array([2.0, 5.0]) + np.prod(m[1])
    total += np.sum(np.cumprod(m[0]) * np.array([1.0, 2.0, 3.0])) + np.sum(np.cumprod(m, axis=1)[1] * m[0])
    return total + np.sum(m.prod(axis=0, keepdims=True)) + (m + 1.0).prod()


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("types", "primitives"), jax=in_jax("scans"))
def scans(m):
    """`cumsum` and `cumprod`, flat and along axes, functions and methods, reversed by slices."""
    total = np.sum(np.cumsum(m) * np.arange(6.0)) + np.sum(m.cumsum(axis=0) * m) + np.sum(np.cumprod(m, axis=1) ** 2)
    tail = np.cumsum(m[0, ::-1])[::-1]
    return total + tail @ m[1] + m.cumprod()[4] * np.cumsum(m, axis=-1)[1, 2]


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("types", "primitives"), jax=in_jax("any_and_all"))
def any_and_all(m):
    """`any` and `all` over axes, as conditions and as weights."""
    columns = np.all(m > 0.0, axis=0)
    rows = (m > 1.0).any(axis=1, keepdims=True)
    total = np.sum(m * columns * rows) + np.sum(m[:, columns] ** 2)
    if np.any(m > 1.5) and not (m > 0.0).all():
        total *= m[1, 2]
    return total


@program(
    args=lambda: (_matrix(), np.array([0.4, 0.9, -1.3])),
    wrt=("m", "x"),
    tags=("types", "primitives"),
    jax=in_jax("products_of_vectors_and_matrices"),
)
def products_of_vectors_and_matrices(m, x):
    """`dot`, `vdot`, `inner`, `outer`, `matmul` and `@` for every pair of ranks up to two."""
    total = np.dot(x, x) + np.dot(m, x) @ m[:, 0] + np.dot(m, m.T)[0, 1] + np.dot(2.0, x)[1] + np.vdot(m, m * m)
    total += np.inner(m, x)[0] * np.inner(x, x) + np.inner(m, m)[1, 0] + np.sum(np.outer(x, m[0]) ** 2) + (x @ m.T)[1]
    total += np.sum(np.matmul(m.T, m) * np.outer(m, x[:2])[:3, :1]) + (m @ x[:, None])[0, 0] + m[0].dot(x) + m.dot(x)[1]
    return total + np.linalg.norm(x) * np.linalg.norm(m)


@program(
    args=lambda: (np.array([[[0.5, 1.2], [0.3, 0.9]], [[0.1, -0.4], [1.1, 0.6]]]), _matrix()),
    wrt=("t", "m"),
    tags=("types", "primitives"),
    jax=in_jax("products_of_stacks"),
)
def products_of_stacks(t, m):
    """`matmul` of stacks of matrices with stacks, matrices and vectors, broadcast."""
    p = t @ t[::-1]
    q = t @ m
    r = m[:, 0] @ t
    s = t[:1] @ t + t @ m[0, :2]
    return np.sum(p * t) + np.sum(q**2) + r[1, 0] * r[0, 1] + np.sum(s * s) + np.dot(t, m[:, 1])[1, 1]


@program(
    args=lambda: (np.array([[2.5, 1.2, 0.8], [-0.3, 1.9, 1.6], [0.7, 0.1, 3.0]]),),
    wrt=("m",),
    tags=("types", "primitives"),
    jax=in_jax("traces_and_diagonals"),
)
def traces_and_diagonals(m):
    """`trace`, `diag`, with offsets, reading and making; `np.eye` and products with them."""
    total = np.trace(m @ m) + np.trace(m, offset=1) * m.trace() + np.diag(m) @ np.diag(m[::-1])
    made = np.diag(np.diag(m) ** 2) + np.diag(m[0, :2], k=1) + np.diag(np.diag(m, -1), -1) + np.eye(3) * m[2, 2]
    return total + np.sum(made @ m) + np.trace(np.eye(3, k=-1) @ m)


@program(
    args=lambda: (np.array([[2.5, 1.2, 0.8], [-0.3, 1.9, 1.6], [0.7, 0.1, 3.0]]), np.array([0.4, 0.9, -1.3])),
    wrt=("m", "b"),
    tags=("types", "primitives"),
    jax=in_jax("linear_algebra"),
)
def linear_algebra(m, b):
    """`solve` with a vector and a matrix, `inv`, `det`, `cholesky`, in one chain."""
    spd = m @ m.T + np.eye(3)
    factor = np.linalg.cholesky(spd)
    y = np.linalg.solve(m, b)
    z = np.linalg.solve(spd, np.stack([y, b], axis=1))
    total = np.linalg.det(m) * 0.1 + np.sum(np.linalg.inv(m) * factor) + np.log(np.diag(factor)).sum()
    return total + z[:, 0] @ y + np.linalg.norm(z)


@program(
    args=lambda: (_matrix(), np.array([0.4, 0.9, -1.3])),
    wrt=("m", "x"),
    tags=("types", "primitives"),
    jax=in_jax("norms"),
)
def norms(m, x):
    """`np.linalg.norm` of vectors and matrices, of orders 1, 2, 3 and inf, over axes, with `keepdims`."""
    total = np.linalg.norm(x, 1) * np.linalg.norm(x, ord=3) + np.linalg.norm(x, np.inf) + np.linalg.norm(m, "fro")
    unit = m / np.linalg.norm(m, axis=1, keepdims=True)
    return total + np.sum(unit * m) * np.linalg.norm(m, axis=0)[1] + np.linalg.norm(unit[0] - x)


@program(
    args=lambda: (_matrix(), np.array([0.4, 0.9, -1.3])),
    wrt=("m", "x"),
    tags=("types", "primitives", "stretch"),
    jax=in_jax("products_not_named"),
)
def products_not_named(m, x):
    """`einsum`, `tensordot`, `kron`, `cross`, `diff`, `interp`, ufunc methods: what one expects beside the named ones."""
    total = np.einsum("ij,j->i", m, x) @ m[:, 0] + np.tensordot(m, m, axes=([1], [1]))[0, 1] + np.kron(x, m[0])[4]
    total += np.cross(x, m[0]) @ m[1] + np.sum(np.diff(m, axis=1) ** 2) + np.add.reduce(x * x)
    total += np.multiply.outer(x, m[0])[1, 2] + np.maximum.accumulate(m[0])[2] ** 2 + np.sum(np.subtract.outer(x, x)[1])
    return total + np.interp(0.7, np.array([0.0, 1.0, 2.0]), x) + np.trapezoid(m[1], dx=0.5)
