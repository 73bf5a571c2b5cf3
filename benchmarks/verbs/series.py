"""All derivatives along a curve at once: `jet` beside JAX's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.row import rebind
from benchmarks.verbs.case import Case, Function


def solution(x, weights, offsets, out):
    """A network with two hidden layers, whose derivatives by x enter a differential equation of order six."""
    h = np.tanh(np.outer(x, weights[0, :, 0]) + offsets[0])
    h = np.tanh(h @ weights[1] + offsets[1])
    return h @ out


def points(number: int, width: int) -> tuple[Any, ...]:
    """Made from a random generator with a fixed seed."""
    rng = np.random.default_rng(8)
    return (
        np.linspace(-1.0, 1.0, number), rng.standard_normal((2, width, width)) / np.sqrt(width),
        0.1 * rng.standard_normal((2, width)), rng.standard_normal(width) / np.sqrt(width),
    )  # fmt: skip


def series_diffjit() -> Function:
    """As a user writes it: value and six derivatives by x, at every point."""
    import diffjit as dj

    def run(x, weights, offsets, out):
        none = np.zeros_like(x)
        return dj.jet(
            lambda x: solution(x, weights, offsets, out), (x,), ((np.ones_like(x), none, none, none, none, none),)
        )

    return dj.jit(run)


def series_jax() -> Function:
    """The same."""
    import jax
    from jax.experimental.jet import jet

    jnp = jax.numpy
    there = rebind(solution, np=jnp)

    def run(x, weights, offsets, out):
        one, none = jnp.ones_like(x), jnp.zeros_like(x)
        return jet(lambda x: there(x, weights, offsets, out), (x,), ((one, none, none, none, none, none),))

    return run


CASES = {
    "network_series": Case(
        title="value and six derivatives of a network at many points, by jet",
        arguments=points,
        quick={"number": 5, "width": 4},
        full={"number": 1000, "width": 32},
        diffjit=series_diffjit,
        jax=series_jax,
        scipy="differences of order six have no digits left",
    )
}
