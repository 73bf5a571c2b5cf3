"""Least squares of a polynomial against the sign of its argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.problem import Problem


def objective(x: np.ndarray, n: int) -> Any:
    """Half the sum of squares at n points between -1 and 1."""
    total = 0.0
    for i in range(n):
        t = -1.0 + i * 2.0 / (n - 1)
        rest = np.sign(t)
        power = 1.0
        for j in range(x.size):
            rest -= x[j] * power
            power *= t
        total += rest * rest
    return 0.5 * total


def arguments(rng: Any, n: int, m: int) -> tuple[Any, ...]:
    """Coefficients between 0 and 1."""
    return rng.rand(m), n


def derivative() -> Any:
    """Reverse mode."""
    import diffjit as dj

    return dj.grad(objective)


def reference(x: np.ndarray, n: int) -> Any:
    """By Vandermonde's matrix."""
    t = -1.0 + np.arange(n) * 2.0 / (n - 1)
    powers = np.vander(t, x.size, increasing=True)
    return -powers.T @ (np.sign(t) - powers @ x)


def in_jax() -> Any:
    """By Vandermonde's matrix, too: JAX has no loop that it differentiates at this speed."""
    import jax
    import jax.numpy as jnp

    def by_matrix(x: Any, n: int) -> Any:
        t = -1.0 + jnp.arange(n) * 2.0 / (n - 1)
        return 0.5 * jnp.sum((jnp.sign(t) - jnp.vander(t, x.size, increasing=True) @ x) ** 2)

    return jax.jit(jax.grad(by_matrix), static_argnums=1)


PROBLEM = Problem(
    title="llsq",
    sizes={f"n={n},m=128": {"n": n, "m": 128} for n in (16, 256, 1024, 16_392)},
    arguments=arguments,
    primal=objective,
    derivative=derivative,
    reference=reference,
    in_jax=in_jax,
    published={"n=16392,m=128": ("Enzyme", 1.95)},
)
