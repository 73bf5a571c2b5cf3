"""Reverse mode through pullbacks that pop their tapes several times, or perhaps never."""

import numpy as np
import pytest

import diffjit as dj

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.array([0.3, 0.5, -0.4])
BOTH = pytest.mark.parametrize("backend", ["python", "numba"])


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def arrays(lib, x):
    """A tape of arrays."""
    s, k = x * 1.0, 0
    while k < 3:
        s = s + 0.1 * lib.sin(s) * x[0]
        k += 1
    return s


def numbers(lib, x):
    """Tapes of numbers, one in another; the number of steps is found on the way."""
    a, total, k = x[0], 0.0, 0
    while True:
        a = a * lib.cos(a) + x[1] * 0.3
        j = 0
        while j < k:
            total = total + a * lib.sin(x[2] * a)
            j += 1
        k += 1
        if k > 3:
            break
    return lib.stack([total, a, total * a]) if lib is jnp else np.array([total, a, total * a])


def in_place(lib, x):
    """Elements that are recorded before they are overwritten."""
    u, k = x.copy(), 0
    while k < 3:
        for i in range(1, 3):
            if lib is jnp:
                u = u.at[i].add(0.1 * u[i - 1] * jnp.sin(u[i]))
            else:
                u[i] += 0.1 * u[i - 1] * np.sin(u[i])
        k += 1
    return u


def waves(lib, x):
    """A tape of complex numbers."""
    z, k = x[0] + 1j * x[1], 0
    while k < 4:
        z = z * lib.exp(0.3j * x[2]) + 0.1 * lib.conj(z) * z
        k += 1
    return lib.stack([z.real, z.imag]) if lib is jnp else np.array([z.real, z.imag])


EACH = pytest.mark.parametrize("f", [arrays, numbers, in_place, waves])


def pair(f):
    return (lambda x: f(np, x)), (lambda x: f(jnp, x))


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


@EACH
@BOTH
def test_jacobians_of_jacobians(f, backend, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", backend)
    mine, theirs = pair(f)
    close(dj.jacrev(dj.jacrev(mine))(X), jax.jacrev(jax.jacrev(theirs))(X))
    close(dj.jacfwd(dj.jacrev(dj.jacrev(mine)))(X), jax.jacfwd(jax.jacrev(jax.jacrev(theirs)))(X))


@pytest.mark.parametrize("f", [arrays, numbers])
def test_third_order(f):
    mine, theirs = pair(f)
    found = dj.jacrev(dj.jacrev(dj.jacrev(mine, backend="python"), backend="python"), backend="python")(X)
    close(found, jax.jacrev(jax.jacrev(jax.jacrev(theirs)))(X))


def pulled(lib, np, f, times):
    """A pullback that is called as often as the program says, in a loop and under a branch."""

    def total(x):
        y, pull = lib.vjp(f, x)
        g = x * 1.0
        for k in range(times):
            g = g + pull(np.cos(y) * (k + 1.0))[0] * x[k]
        if times != 1:
            g = g + pull(np.sin(y) * y)[0]
        return np.sum(g * g) + y[1]

    return total


@EACH
@BOTH
def test_as_often_as_the_program_says(f, backend):
    mine, theirs = pair(f)
    gradient = dj.grad(lambda x, times: pulled(dj, np, mine, times)(x), backend=backend)
    for times in (0, 1, 3):
        close(gradient(X, times), jax.grad(pulled(jax, jnp, theirs, times))(X))


@BOTH
def test_not_at_all(backend):
    def f(x, wanted):
        y, pull = dj.vjp(lambda x: numbers(np, x), x)
        total = np.sum(y)
        if wanted:
            total += np.sum(pull(y)[0] ** 2)
        return total

    gradient = dj.grad(f, backend=backend)
    value = lambda x: jnp.sum(numbers(jnp, x))
    both = lambda x: value(x) + jnp.sum(jax.vjp(lambda x: numbers(jnp, x), x)[1](numbers(jnp, x))[0] ** 2)
    close(gradient(X, False), jax.grad(value)(X))
    close(gradient(X, True), jax.grad(both)(X))


def test_lanes_of_pullbacks():
    def f(x):
        y, pull = dj.vjp(lambda x: arrays(np, x), x)
        rows = dj.vmap(lambda bar: pull(bar)[0])(np.outer(np.array([1.0, 2.0]), y))
        return np.sum(rows**2)

    def f_jax(x):
        y, pull = jax.vjp(lambda x: arrays(jnp, x), x)
        rows = jax.vmap(lambda bar: pull(bar)[0])(jnp.outer(jnp.array([1.0, 2.0]), y))
        return jnp.sum(rows**2)

    for backend in ("python", "numba"):
        close(dj.grad(f, backend=backend)(X), jax.grad(f_jax)(X))
        close(dj.vmap(dj.grad(f), backend=backend)(np.stack([X, -X])), jax.vmap(jax.grad(f_jax))(np.stack([X, -X])))


@BOTH
def test_lengths_of_what_holds_nothing_before_a_loop(backend):
    """What a way back gives for an array that the loop makes first has no length that another turn has."""

    def differences(x, n):
        x = x.copy()
        for _ in range(n):
            d = x.T[:1] - x[:, :1]
            x += x * 0.5
        return np.sum(d * d * d)

    x, along = np.sin(np.arange(18.0)).reshape(6, 3), np.cos(np.arange(18.0)).reshape(6, 3)
    gradient = dj.grad(differences, backend=backend)
    _, ahead = dj.jvp(gradient, (x, 2), (along, 0), backend=backend)
    back = dj.vjp(gradient, x, 2, backend=backend)[1](along)[0]
    quotient = (gradient(x + 1e-6 * along, 2) - gradient(x - 1e-6 * along, 2)) / 2e-6
    np.testing.assert_allclose(ahead, quotient, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(back, ahead, rtol=1e-12, atol=1e-13)


def series(x):
    """A branch has a loop that ends where it turns out to: its tapes are there on one path alone."""
    if x[0] > 2.0:
        return x[0] * x[1]
    s = t = x[1]
    for _ in range(50):
        t *= x[0] * 0.4
        s += t * t
        if abs(t) < 1e-3:
            break
    return s


def chosen(x):
    """Branches in branches, each with tapes of its own, of numbers and of arrays."""
    s = x
    if x[0] < 2.0:
        if x[1] < 2.0:
            while np.sum(s * s) > 0.5:
                s = s * np.cos(s) * 0.9
        else:
            while s[2] > 0.1:
                s = s * np.sin(s)
    else:
        k = 0
        while k < 3:
            s = s * s[0] * 0.3
            k += 1
    return np.sum(s * s) + s[0]


def repeated(x):
    """Such a branch in a loop."""
    total = 0.0
    for k in range(3):
        if x[k] < 1.0:
            s = x[k]
            while s > 0.1:
                s = s * s * 0.9
                total += s * x[0]
    return total


@BOTH
@pytest.mark.parametrize("f", [series, chosen, repeated])
@pytest.mark.parametrize("x", [[0.7, 0.5, 0.6], [0.7, 2.5, 0.6], [2.5, 0.7, 0.6]], ids=["first", "second", "third"])
def test_tapes_of_one_branch(f, x, backend):
    def slope(x):
        return dj.vjp(f, x)[1](1.0)[0]

    x, bar, h = np.array(x), np.array([0.3, -0.8, 0.4]), 1e-5
    ends = [dj.grad(f, backend="python")(x + by * bar) for by in (h, -h)]
    back = dj.vjp(slope, x, backend=backend)[1](bar)[0]
    np.testing.assert_allclose(back, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-8)
    first = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(slope(x), first, rtol=1e-6, atol=1e-8)
