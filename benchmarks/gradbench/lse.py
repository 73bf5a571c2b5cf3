"""The logarithm of a sum of exponentials, shifted by the maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.problem import Problem


def logsumexp(x: np.ndarray) -> Any:
    """As NumPy's users write it."""
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def arguments(rng: Any, n: int) -> tuple[Any, ...]:
    """Numbers between 0 and 1."""
    return (rng.rand(n),)


def derivative() -> Any:
    """Reverse mode."""
    import diffjit as dj

    return dj.grad(logsumexp)


def reference(x: np.ndarray) -> Any:
    """The softmax."""
    part = np.exp(x - np.max(x))
    return part / np.sum(part)


def in_jax() -> Any:
    """The same program."""
    import jax
    import jax.numpy as jnp

    def program(x: Any) -> Any:
        top = jnp.max(x)
        return top + jnp.log(jnp.sum(jnp.exp(x - top)))

    return jax.jit(jax.grad(program))


PROBLEM = Problem(
    title="lse",
    sizes={f"{n}": {"n": n} for n in (2500, 80_000, 1_280_000)},
    arguments=arguments,
    primal=logsumexp,
    derivative=derivative,
    reference=reference,
    in_jax=in_jax,
    published={"80000": ("JAX", 0.165), "1280000": ("JAX", 3.8)},
)
