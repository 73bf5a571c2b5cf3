"""The log-likelihood of a Gaussian mixture with full covariances, by loops over a packed triangle."""

import numpy as np

from benchmarks.row import Row


def gmm(weights, means, diagonals, lowers, x):
    """Inverse square roots of the covariances: exp(diagonals) on the diagonal, lowers below it, row by row."""
    k, d = means.shape
    total = 0.0
    terms = np.empty(k)
    for i in range(len(x)):
        for c in range(k):
            gap = x[i] - means[c]
            square = 0.0
            at = 0
            for p in range(d):
                y = np.exp(diagonals[c, p]) * gap[p]
                for q in range(p):
                    y += lowers[c, at] * gap[q]
                    at += 1
                square += y * y
            terms[c] = weights[c] + np.sum(diagonals[c]) - 0.5 * square
        top = np.max(terms)
        total += top + np.log(np.sum(np.exp(terms - top)))
    top = np.max(weights)
    return total - len(x) * (top + np.log(np.sum(np.exp(weights - top))))


def arguments(points, clusters, dimensions):
    """Random data and parameters."""
    rng = np.random.default_rng(0)
    k, d = clusters, dimensions
    shapes = k, (k, d), (k, d), (k, d * (d - 1) // 2)
    return *(0.5 * rng.normal(size=shape) for shape in shapes), rng.normal(size=(points, d))


def by_hand(njit):
    """Nothing is kept from one point to the next: its projections serve its own way back."""

    @njit
    def logsumexp(v):
        top = np.max(v)
        total = 0.0
        for w in v:
            total += np.exp(w - top)
        return top + np.log(total)

    @njit
    def project(point, means, scales, offsets, lowers, terms, gaps, ys):
        k, d = means.shape
        for c in range(k):
            for p in range(d):
                gaps[c, p] = point[p] - means[c, p]
            square = 0.0
            at = 0
            for p in range(d):
                y = scales[c, p] * gaps[c, p]
                for q in range(p):
                    y += lowers[c, at + q] * gaps[c, q]
                at += p
                ys[c, p] = y
                square += y * y
            terms[c] = offsets[c] - 0.5 * square

    @njit
    def prepared(weights, diagonals):
        offsets = weights.copy()
        for c in range(weights.size):
            for p in range(diagonals.shape[1]):
                offsets[c] += diagonals[c, p]
        return np.exp(diagonals), offsets

    @njit
    def primal(weights, means, diagonals, lowers, x):
        k, d = means.shape
        scales, offsets = prepared(weights, diagonals)
        terms, gaps, ys = np.empty(k), np.empty((k, d)), np.empty((k, d))
        total = 0.0
        for i in range(x.shape[0]):
            project(x[i], means, scales, offsets, lowers, terms, gaps, ys)
            total += logsumexp(terms)
        return total - x.shape[0] * logsumexp(weights)

    @njit
    def gradient(weights, means, diagonals, lowers, x):
        k, d = means.shape
        scales, offsets = prepared(weights, diagonals)
        terms, gaps, ys = np.empty(k), np.empty((k, d)), np.empty((k, d))
        weights_bar, means_bar = np.zeros_like(weights), np.zeros_like(means)
        diagonals_bar, lowers_bar = np.zeros_like(diagonals), np.zeros_like(lowers)
        gap_bar = np.empty(d)
        total = 0.0
        for i in range(x.shape[0]):
            project(x[i], means, scales, offsets, lowers, terms, gaps, ys)
            value = logsumexp(terms)
            total += value
            for c in range(k):
                share = np.exp(terms[c] - value)
                weights_bar[c] += share
                at = 0
                for p in range(d):
                    y_bar = -share * ys[c, p]
                    gap_bar[p] = y_bar * scales[c, p]
                    diagonals_bar[c, p] += y_bar * scales[c, p] * gaps[c, p]
                    for q in range(p):
                        lowers_bar[c, at + q] += y_bar * gaps[c, q]
                        gap_bar[q] += y_bar * lowers[c, at + q]
                    at += p
                for p in range(d):
                    means_bar[c, p] -= gap_bar[p]
        normal = logsumexp(weights)
        for c in range(k):
            for p in range(d):
                diagonals_bar[c, p] += weights_bar[c]
        for c in range(k):
            weights_bar[c] -= x.shape[0] * np.exp(weights[c] - normal)
        return total - x.shape[0] * normal, (weights_bar, means_bar, diagonals_bar, lowers_bar)

    return primal, gradient


def in_jax():
    """The triangles are scattered into dense matrices."""
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    def program(weights, means, diagonals, lowers, x):
        k, d = means.shape
        rows, columns = np.tril_indices(d, -1)
        Q = jnp.zeros((k, d, d)).at[:, rows, columns].set(lowers)
        Q = Q.at[:, np.arange(d), np.arange(d)].set(jnp.exp(diagonals))
        y = jnp.einsum("cpq,icq->icp", Q, x[:, None] - means)
        terms = weights + jnp.sum(diagonals, axis=1) - 0.5 * jnp.sum(y * y, axis=-1)
        return jnp.sum(logsumexp(terms, axis=1)) - len(x) * logsumexp(weights)

    return program


def in_autograd():
    """The triangles become dense matrices by a product with constants, for want of a scatter."""
    from autograd import numpy as anp
    from autograd.scipy.special import logsumexp

    def program(weights, means, diagonals, lowers, x):
        d = means.shape[1]
        rows, columns = np.tril_indices(d, -1)
        place = np.zeros((rows.size, d, d))
        place[np.arange(rows.size), rows, columns] = 1.0
        Q = anp.tensordot(lowers, place, 1) + anp.exp(diagonals)[:, :, None] * np.eye(d)
        y = anp.einsum("cpq,icq->icp", Q, x[:, None] - means)
        terms = weights + anp.sum(diagonals, axis=1) - 0.5 * anp.sum(y * y, axis=-1)
        return anp.sum(logsumexp(terms, axis=1)) - len(x) * logsumexp(weights)

    return program


ROW = Row(
    title="Gaussian mixture",
    program=gmm,
    arguments=arguments,
    quick={"points": 5, "clusters": 3, "dimensions": 3},
    full={"points": 1000, "clusters": 25, "dimensions": 10},
    argnums=(0, 1, 2, 3),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=in_autograd,
)
