"""k-means: Newton's direction for the sum of squared distances to the nearest centre; the Hessian is diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.problem import Problem


def cost(centres: np.ndarray, points: np.ndarray) -> Any:
    """The sum over all points, by loops."""
    total = 0.0
    for i in range(points.shape[0]):
        best = np.inf
        for k in range(centres.shape[0]):
            distance = 0.0
            for j in range(points.shape[1]):
                gap = points[i, j] - centres[k, j]
                distance += gap * gap
            best = min(best, distance)
        total += best
    return total


def arguments(rng: Any, k: int, n: int, d: int) -> tuple[Any, ...]:
    """The last points are the centres, so that none is without a point."""
    points = rng.rand(n, d)
    return points[-k:].copy(), points


def derivative() -> Any:
    """Forward over reverse mode: a tangent of ones shows the diagonal."""
    import diffjit as dj

    @dj.jit
    def direction(centres: np.ndarray, points: np.ndarray) -> Any:
        gradient = dj.grad(lambda c: cost(c, points))
        slope, curvature = dj.jvp(gradient, (centres,), (np.ones_like(centres),))
        return slope / curvature

    return direction


def reference(centres: np.ndarray, points: np.ndarray) -> Any:
    """A centre moves to the mean of its points."""
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centres**2, axis=1) - 2.0 * points @ centres.T
    nearest = np.argmin(squares, axis=1)
    return np.array([centres[k] - points[nearest == k].mean(axis=0) for k in range(len(centres))])


def in_jax() -> Any:
    """All distances by one product of matrices."""
    import jax
    import jax.numpy as jnp

    def by_product(centres: Any, points: Any) -> Any:
        squares = jnp.sum(points**2, axis=1)[:, None] + jnp.sum(centres**2, axis=1) - 2.0 * points @ centres.T
        return jnp.sum(jnp.min(squares, axis=1))

    def direction(centres: Any, points: Any) -> Any:
        gradient = lambda c: jax.grad(by_product)(c, points)  # noqa: E731
        slope, curvature = jax.jvp(gradient, (centres,), (jnp.ones_like(centres),))
        return slope / curvature

    return jax.jit(direction)


PROBLEM = Problem(
    title="kmeans",
    sizes={
        f"k={k},n={n},d={d}": {"k": k, "n": n, "d": d}
        for k, n, d in ((10, 1000, 8), (10, 10_000, 16), (100, 10_000, 16), (1000, 10_000, 16))
    },
    arguments=arguments,
    primal=cost,
    derivative=derivative,
    reference=reference,
    in_jax=in_jax,
    published={"k=100,n=10000,d=16": ("by hand in C++", 4.2), "k=1000,n=10000,d=16": ("by hand in C++", 47.0)},
)
