"""An ordinary differential equation by Runge and Kutta's method: y_0' = x_0, y_i' = x_i y_(i-1), up to t = 2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.gradbench.problem import Problem


def slope(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """The right-hand side, in place."""
    out[0] = x[0]
    for i in range(1, x.size):
        out[i] = x[i] * y[i - 1]


def solve(x: np.ndarray, steps: int) -> Any:
    """y at t = 2."""
    n = x.size
    h = 2.0 / steps
    y = np.zeros(n)
    k1, k2, k3, k4 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(steps):
        slope(x, y, k1)
        slope(x, y + h / 2.0 * k1, k2)
        slope(x, y + h / 2.0 * k2, k3)
        slope(x, y + h * k3, k4)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def last(x: np.ndarray, steps: int) -> Any:
    """The element whose gradient is asked for."""
    return solve(x, steps)[-1]


def arguments(rng: Any, n: int, s: int) -> tuple[Any, ...]:
    """Coefficients between 0 and 1."""
    return rng.rand(n), s


def derivative() -> Any:
    """Reverse mode."""
    import diffjit as dj

    return dj.grad(last)


def reference(x: np.ndarray, _steps: int) -> Any:
    """The method is exact for y_i with i < 4: there y_i is x_0 ... x_i t**(i + 1) / (i + 1)!; beyond, differences."""
    if x.size <= 4:
        return np.prod(x) / x * 2.0**x.size / math.factorial(x.size)
    return None


def in_jax() -> Any:
    """The right-hand side by a shift, the steps as a loop."""
    import jax
    import jax.numpy as jnp

    def program(x: Any, steps: int) -> Any:
        h = 2.0 / steps
        shifted = lambda y: x * jnp.concatenate([jnp.ones(1), y[:-1]])  # noqa: E731

        def step(y: Any, _: Any) -> Any:
            k1 = shifted(y)
            k2 = shifted(y + h / 2.0 * k1)
            k3 = shifted(y + h / 2.0 * k2)
            k4 = shifted(y + h * k3)
            return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

        return jax.lax.scan(step, jnp.zeros(x.size), None, length=steps)[0][-1]

    return jax.jit(jax.grad(program), static_argnums=1)


PROBLEM = Problem(
    title="ode",
    sizes={f"n={n},s={s}": {"n": n, "s": s} for n, s in ((4, 10), (1000, 10), (10_000, 100), (100_000, 100))},
    arguments=arguments,
    primal=solve,
    derivative=derivative,
    reference=reference,
    in_jax=in_jax,
    published={"n=1000,s=10": ("JAX", 0.072), "n=100000,s=100": ("JAX", 139.0)},
)
