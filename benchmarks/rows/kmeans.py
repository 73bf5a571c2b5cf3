"""The cost of a clustering: each point's squared distance from the nearest centre."""

import numpy as np

from benchmarks.row import Row


def kmeans(points, centres):
    """By arrays, one point at a time."""
    cost = 0.0
    for i in range(len(points)):
        gaps = centres - points[i]
        cost += np.min(np.sum(gaps * gaps, axis=1))
    return cost


def arguments(points, centres, dimensions):
    """A cloud."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(points, dimensions)), rng.normal(size=(centres, dimensions))


def by_hand(njit):
    """Only the nearest centre of a point has a cotangent."""

    @njit
    def nearest(point, centres):
        best, which = np.inf, 0
        for k in range(centres.shape[0]):
            total = 0.0
            for j in range(point.size):
                gap = centres[k, j] - point[j]
                total += gap * gap
            if total < best:
                best, which = total, k
        return best, which

    @njit
    def primal(points, centres):
        cost = 0.0
        for i in range(points.shape[0]):
            cost += nearest(points[i], centres)[0]
        return cost

    @njit
    def gradient(points, centres):
        points_bar = np.empty_like(points)
        centres_bar = np.zeros_like(centres)
        cost = 0.0
        for i in range(points.shape[0]):
            best, k = nearest(points[i], centres)
            cost += best
            for j in range(points.shape[1]):
                g = 2.0 * (points[i, j] - centres[k, j])
                points_bar[i, j] = g
                centres_bar[k, j] -= g
        return cost, (points_bar, centres_bar)

    return primal, gradient


def all_distances(np, points, centres):
    """By one product of matrices."""
    squares = np.sum(points * points, axis=1)[:, None] + np.sum(centres * centres, axis=1)
    return np.sum(np.min(squares - 2.0 * points @ centres.T, axis=1))


def in_jax():
    """One product of matrices for all distances."""
    import jax.numpy as jnp

    return lambda points, centres: all_distances(jnp, points, centres)


def in_autograd():
    """One product of matrices for all distances."""
    from autograd import numpy as anp

    return lambda points, centres: all_distances(anp, points, centres)


ROW = Row(
    title="k-means",
    program=kmeans,
    arguments=arguments,
    quick={"points": 12, "centres": 3, "dimensions": 2},
    full={"points": 10_000, "centres": 50, "dimensions": 16},
    argnums=(0, 1),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=in_autograd,
)
