"""The log posterior probability of a Gaussian mixture; the factors of the precisions are packed triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.gradbench.problem import SEED, Problem


def logsumexp(v: np.ndarray) -> Any:
    """Shifted by the maximum."""
    top = np.max(v)
    return top + np.log(np.sum(np.exp(v - top)))


def log_gamma(a: float, d: int) -> float:
    """The logarithm of the gamma function of d dimensions."""
    total = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        total += math.lgamma(a - 0.5 * j)
    return total


def log_prior(q: np.ndarray, low: np.ndarray, m: int, gamma: float) -> Any:
    """Wishart's distribution of the precisions."""
    k, d = q.shape
    n = d + m + 1
    total = k * (n * d * math.log(gamma / math.sqrt(2.0)) - log_gamma(0.5 * n, d))
    for c in range(k):
        squares = np.sum(np.exp(q[c]) ** 2) + np.sum(low[c] ** 2)
        total += m * np.sum(q[c]) - 0.5 * gamma * gamma * squares
    return total


def log_posterior(
    alpha: np.ndarray, mu: np.ndarray, q: np.ndarray, low: np.ndarray, x: np.ndarray, m: int, gamma: float
) -> Any:
    """Weights, means, logarithms of the diagonals, and what is below them, column by column."""
    n, d = x.shape
    k = alpha.size
    scales = np.exp(q)
    terms = np.empty(k)
    total = 0.0
    for i in range(n):
        for c in range(k):
            gap = x[i] - mu[c]
            y = scales[c] * gap
            at = 0
            for column in range(d):
                for row in range(column + 1, d):
                    y[row] += low[c, at] * gap[column]
                    at += 1
            terms[c] = alpha[c] + np.sum(q[c]) - 0.5 * np.sum(y * y)
        total += logsumexp(terms)
    total -= n * (0.5 * d * math.log(2.0 * math.pi) + logsumexp(alpha))
    return total + log_prior(q, low, m, gamma)


def arguments(_rng: Any, d: int, k: int) -> tuple[Any, ...]:
    """GradBench's own generator is another one here; a thousand points, and a prior without further freedom."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(1000, d))
    alpha = rng.normal(size=k)
    mu = rng.uniform(size=(k, d))
    q = rng.normal(size=(k, d))
    return alpha, mu, q, rng.normal(size=(k, d * (d - 1) // 2)), x, 0, 1.0


def derivative() -> Any:
    """Reverse mode."""
    import diffjit as dj

    return dj.grad(log_posterior, argnums=(0, 1, 2, 3))


def softmax(v: np.ndarray) -> Any:
    """Of each row."""
    part = np.exp(v - np.max(v, axis=-1, keepdims=True))
    return part / np.sum(part, axis=-1, keepdims=True)


def reference(
    alpha: np.ndarray, mu: np.ndarray, q: np.ndarray, low: np.ndarray, x: np.ndarray, m: int, gamma: float
) -> Any:
    """By how much each component takes part in each point, component by component."""
    (k, d), n = mu.shape, len(x)
    columns, rows = np.triu_indices(d, 1)
    factors = np.zeros((k, d, d))
    factors[:, rows, columns] = low
    factors[:, np.arange(d), np.arange(d)] = np.exp(q)
    terms = np.empty((n, k))
    for c in range(k):
        terms[:, c] = alpha[c] + np.sum(q[c]) - 0.5 * np.sum(((x - mu[c]) @ factors[c].T) ** 2, axis=1)
    shares = softmax(terms)
    sums = np.sum(shares, axis=0)
    mu_bar, q_bar, low_bar = np.empty_like(mu), np.empty_like(q), np.empty_like(low)
    for c in range(k):
        weighted = shares[:, c, None] * (x - mu[c])
        mu_bar[c] = factors[c].T @ factors[c] @ np.sum(weighted, axis=0)
        factor_bar = -factors[c] @ (weighted.T @ (x - mu[c])) - gamma**2 * factors[c]
        q_bar[c] = np.diag(factor_bar) * np.exp(q[c]) + sums[c] + m
        low_bar[c] = factor_bar[rows, columns]
    return sums - n * softmax(alpha), mu_bar, q_bar, low_bar


def in_jax() -> Any:
    """The triangles are scattered into dense matrices."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp, multigammaln

    def program(alpha: Any, mu: Any, q: Any, low: Any, x: Any, m: int, gamma: float) -> Any:
        (k, d), n, freedom = mu.shape, len(x), mu.shape[1] + m + 1
        columns, rows = np.triu_indices(d, 1)
        factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(low)
        factors = factors.at[:, np.arange(d), np.arange(d)].set(jnp.exp(q))
        y = jnp.einsum("crs,ics->icr", factors, x[:, None] - mu)
        terms = alpha + jnp.sum(q, axis=1) - 0.5 * jnp.sum(y * y, axis=-1)
        likelihood = jnp.sum(logsumexp(terms, axis=1)) - n * (0.5 * d * math.log(2.0 * math.pi) + logsumexp(alpha))
        constant = freedom * d * math.log(gamma / math.sqrt(2.0)) - multigammaln(0.5 * freedom, d)
        return likelihood + k * constant + m * jnp.sum(q) - 0.5 * gamma**2 * jnp.sum(factors**2)

    return jax.jit(jax.grad(program, argnums=(0, 1, 2, 3)), static_argnums=(5, 6))


PROBLEM = Problem(
    title="gmm",
    sizes={f"d={d},k={k}": {"d": d, "k": k} for d, k in ((2, 5), (10, 25), (32, 50), (64, 100))},
    arguments=arguments,
    primal=log_posterior,
    derivative=derivative,
    reference=reference,
    in_jax=in_jax,
    published={
        "d=2,k=5": ("by hand in C++", 0.115),
        "d=10,k=25": ("JAX", 2.22),
        "d=32,k=50": ("by hand in C++", 26.3),
        "d=64,k=100": ("Tapenade", 187.0),
    },
)
