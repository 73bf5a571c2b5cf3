"""Gradients for each example, and gradients through the steps of an optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.row import rebind
from benchmarks.verbs.case import Case, Function


def network_loss(w, x, y):
    """The loss of one example: a network of two layers."""
    hidden = np.tanh(w["first"] @ x + w["shift"])
    return (w["second"] @ hidden - y) ** 2


def examples(count: int, width: int) -> tuple[Any, ...]:
    """Made from a random generator with a fixed seed."""
    rng = np.random.default_rng(8)
    w = {
        "first": rng.standard_normal((width, 20)) / 5.0, "second": rng.standard_normal(width) / 5.0,
        "shift": rng.standard_normal(width),
    }  # fmt: skip
    return w, rng.standard_normal((count, 20)), rng.standard_normal(count)


def examples_diffjit() -> Function:
    """A gradient in each lane."""
    import diffjit as dj

    return dj.vmap(dj.grad(network_loss), (None, 0, 0))


def examples_jax() -> Function:
    """The same."""
    import jax

    return jax.vmap(jax.grad(rebind(network_loss, np=jax.numpy)), (None, 0, 0))


def ridge(w, x, y, decay):
    """What is minimised: least squares, weights held small."""
    return np.sum((x @ w - y) ** 2) / y.size + decay * np.sum(w * w)


def trained(settings, x, y, x_new, y_new, steps):
    """The loss on new data after gradient descent with momentum; settings hold logarithms of its rate and the decay."""
    import diffjit as dj

    rate, decay = np.exp(settings)
    w, speed = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for _ in range(steps):
        speed = 0.9 * speed - rate * dj.grad(ridge)(w, x, y, decay)
        w = w + speed
    return np.sum((x_new @ w - y_new) ** 2) / y_new.size


def data(rows: int, columns: int, steps: int) -> tuple[Any, ...]:
    """Made from a random generator with a fixed seed."""
    rng = np.random.default_rng(9)
    right = rng.standard_normal(columns)
    x, x_new = rng.standard_normal((rows, columns)), rng.standard_normal((rows, columns))
    noise, noise_new = rng.standard_normal((2, rows))
    return np.log([1e-3, 1e-2]), x, x @ right + noise, x_new, x_new @ right + noise_new, np.zeros(steps)


def hyper_diffjit() -> Function:
    """Reverse mode through all steps, a gradient in each."""
    import diffjit as dj

    gradient = dj.value_and_grad(trained)
    return lambda *args: gradient(*args[:-1], args[-1].size)


def hyper_jax() -> Function:
    """A scan over the steps."""
    import jax

    jnp = jax.numpy
    slope = jax.grad(rebind(ridge, np=jnp))

    def loss(settings, x, y, x_new, y_new, steps):
        rate, decay = jnp.exp(settings)

        def step(carry, _):
            w, speed = carry
            speed = 0.9 * speed - rate * slope(w, x, y, decay)
            return (w + speed, speed), None

        zeros = jnp.zeros(x.shape[1])
        (w, _), _ = jax.lax.scan(step, (zeros, zeros), steps)
        return jnp.sum((x_new @ w - y_new) ** 2) / y_new.size

    return jax.value_and_grad(loss)


def hyper_scipy() -> Function:
    """Differences; the gradient in each step is written by hand."""
    from scipy.optimize import approx_fprime

    def loss(settings, x, y, x_new, y_new, steps):
        rate, decay = np.exp(settings)
        w, speed = np.zeros(x.shape[1]), np.zeros(x.shape[1])
        for _ in range(steps.size):
            speed = 0.9 * speed - rate * (2.0 * (x.T @ (x @ w - y)) / y.size + 2.0 * decay * w)
            w = w + speed
        return np.sum((x_new @ w - y_new) ** 2) / y_new.size

    return lambda settings, *rest: (loss(settings, *rest), approx_fprime(settings, loss, 1e-7, *rest))


CASES = {
    "per_example_gradients": Case(
        title="a gradient for each example",
        arguments=examples,
        quick={"count": 3, "width": 4},
        full={"count": 1000, "width": 50},
        diffjit=examples_diffjit,
        jax=examples_jax,
        scipy="differences in each of the weights, for each of the examples",
    ),
    "hypergradient": Case(
        title="a gradient through 1000 steps of an optimiser",
        arguments=data,
        quick={"rows": 6, "columns": 3, "steps": 10},
        full={"rows": 200, "columns": 30, "steps": 1000},
        diffjit=hyper_diffjit,
        jax=hyper_jax,
        scipy=hyper_scipy,
        numerical=1e-4,
    ),
}
