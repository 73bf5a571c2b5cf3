"""Jacobians that take several columns at once, compiled, against JAX and difference quotients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffjit as dj
from diffjit.api import matrices

jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(3)


def quotients(f, x, h=1e-6):
    """The Jacobian by central differences."""
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        step = step.reshape(x.shape)
        columns.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h))
    return np.stack(columns, axis=-1).reshape(np.shape(columns[0]) + x.shape)


def waves(x):
    out = np.zeros(5)
    for t in range(5):
        for k in range(x.size):
            out[t] += np.exp(-0.1 * t * x[k]) * np.sin(x[k] + t)
    return out


def in_place(x):
    y = x.copy()
    for _ in range(3):
        for i in range(1, y.size):
            if y[i] > y[i - 1]:
                y[i] = y[i] * 0.5 + np.cos(y[i - 1])
            else:
                y[i - 1] += y[i] ** 2
    return y


def halving(x):
    total, rounds = np.sum(x * x), 0
    while total > 0.1:
        total = total * 0.5 - 0.01 * np.sin(x[0])
        rounds += 1
    return np.array([total, total * rounds])


def listed(x):
    items = []
    for k in range(x.size):
        if x[k] > 0:
            items.append(x[k] * x[k])  # noqa: PERF401 - a list that grows
    items.append(np.sum(x))
    return np.array(items)


def grid(a):
    return np.tanh(a @ a.T).sum(axis=0) + a[:, 0] * a[:, -1]


@pytest.mark.parametrize("n", [1, 7, 8, 17])
@pytest.mark.parametrize("f", [waves, in_place, halving, listed])
def test_every_number_of_columns(f, n):
    x = RNG.normal(size=n)
    np.testing.assert_allclose(dj.jacfwd(f, backend="numba")(x), quotients(f, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 8), (3, 9), (0, 4)])
def test_matrices(shape):
    a = RNG.normal(size=shape)
    expected = jax.jacfwd(lambda a: jnp.tanh(a @ a.T).sum(axis=0) + a[:, 0] * a[:, -1])(a)
    np.testing.assert_allclose(dj.jacfwd(grid, backend="numba")(a), expected, rtol=1e-12, atol=1e-14)


def mixed(p, s, q):
    return np.outer(np.sin(p) * s, np.exp(0.1 * q)).ravel(), s * np.sum(p) * np.sum(q)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 4), (5, 0), (8, 9)])
def test_several_inputs(m, n):
    p, q, s = RNG.normal(size=m), RNG.normal(size=n), 0.7
    found = dj.jacfwd(mixed, argnums=(0, 1, 2), backend="numba")(p, s, q)
    expected = jax.jacfwd(
        lambda p, s, q: (jnp.outer(jnp.sin(p) * s, jnp.exp(0.1 * q)).ravel(), s * jnp.sum(p) * jnp.sum(q)), (0, 1, 2)
    )(p, s, q)
    for of_result, wanted in zip(found, expected, strict=True):
        for a, b in zip(of_result, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def energy(x):
    total = 0.0
    for i in range(x.size - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + np.exp(-x[i])
    return total


def energy_jax(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + jnp.exp(-x[:-1]))


@pytest.mark.parametrize("n", [2, 8, 11])
def test_hessians_and_what_comes_after(n):
    x = RNG.normal(size=n)
    np.testing.assert_allclose(dj.hessian(energy, backend="numba")(x), jax.hessian(energy_jax)(x), rtol=1e-11)
    third = dj.jit(dj.jacfwd(dj.hessian(energy)), backend="numba")(x)
    np.testing.assert_allclose(third, jax.jacfwd(jax.hessian(energy_jax))(x), rtol=1e-10, atol=1e-10)

    def log_volume(x):
        return np.sum(dj.hessian(energy)(x) ** 2)

    expected = jax.grad(lambda x: jnp.sum(jax.hessian(energy_jax)(x) ** 2))(x)
    np.testing.assert_allclose(dj.grad(log_volume, backend="numba")(x), expected, rtol=1e-10)


def test_lanes_of_jacobians():
    xs = RNG.normal(size=(4, 9))
    found = dj.jit(dj.vmap(dj.jacfwd(waves)), backend="numba")(xs)
    np.testing.assert_allclose(found, np.stack([quotients(waves, x) for x in xs]), rtol=1e-5, atol=1e-7)


@dj.custom_jvp
def softened(x):
    return np.sqrt(x * x + 0.01)


@softened.defjvp
def _softened_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return softened(x), 3.0 * x * t  # not the derivative: the rule is what counts


def test_rules_of_ones_own():
    x = RNG.normal(size=11)
    found = dj.jacfwd(lambda x: np.array([softened(v) for v in x]), backend="numba")(x)
    np.testing.assert_allclose(found, np.diag(3.0 * x))


def test_several_columns_share_the_values():
    text = dj.source(dj.jacfwd(listed, backend="numba"), np.ones(26))
    assert f"zeros_like_empty_{matrices._LANES - 1}" in text
    assert "zeros_like_empty_8" not in text


def test_all_columns_share_the_values():
    text = dj.source(dj.jacfwd(waves, backend="numba"), np.ones(26))
    assert text.count("np.exp(") == 1
    assert "out_dot_1" not in text
