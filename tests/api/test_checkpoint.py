"""Checkpointed functions and loops: every mode and order, the number of steps that run again, memory, refusals."""

import itertools
import tracemalloc

import numpy as np
import pytest

import diffjit as dj
from tests import modes

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.array([0.3, 0.4, 1.1, -0.2, 0.5])
P = 0.7
BOTH = pytest.mark.parametrize("backend", ["python", "numba"])


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def close(found, wanted, rtol=1e-9):
    """The same numbers."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-11)


def steps(n):
    return dj.checkpointed(range(n), budget=4)


# Each program beside what JAX differentiates: written without writes, loops of Python unrolled.


def by_values(x, p, n=9):
    u, s = x * 1.0, 0.0
    for t in steps(n):
        s = s + 0.1 * np.sin(s) + 0.01 * p * t
        u = u + 0.1 * np.sin(u) * s
    return np.sum(u**2) + s


def by_values_jax(x, p, n=9):
    u, s = x * 1.0, 0.0
    for t in range(n):
        s = s + 0.1 * jnp.sin(s) + 0.01 * p * t
        u = u + 0.1 * jnp.sin(u) * s
    return jnp.sum(u**2) + s


def in_place(x, p, n=9):
    u = x.copy()
    record = np.zeros(n)
    for t in steps(n):
        for i in range(1, u.size - 1):
            u[i] = u[i] + 0.1 * p * np.sin(u[i - 1]) * u[i + 1]
        record[t] = u[2] * p
    return np.sum(record**2) + u[1]


def in_place_jax(x, p, n=9):
    u, total = x, 0.0
    for _ in range(n):
        for i in range(1, u.size - 1):
            u = u.at[i].set(u[i] + 0.1 * p * jnp.sin(u[i - 1]) * u[i + 1])
        total = total + (u[2] * p) ** 2
    return total + u[1]


def two_buffers(x, p, n=9):
    u, w = x.copy(), np.zeros_like(x)
    for _ in range(2):
        for _ in steps(n):
            w[1:-1] = u[1:-1] + 0.1 * p * np.sin(u[:-2]) * u[2:]
            w[0] = u[0]
            w[-1] = u[-1] * p
            u, w = w, u
        u[0] *= p
    return np.sum(u**3)


def two_buffers_jax(x, p, n=9):
    u = x
    for _ in range(2):
        for _ in range(n):
            inner = u[1:-1] + 0.1 * p * jnp.sin(u[:-2]) * u[2:]
            u = jnp.concatenate([u[:1], inner, u[-1:] * p])
        u = u.at[0].multiply(p)
    return jnp.sum(u**3)


def until(x, p, n=9):
    u, k = x * 1.0, 0
    for _ in dj.checkpointed(itertools.count(), budget=3):
        u = u + 0.1 * np.sin(u) * p
        k += 1
        if k >= n:
            break
    return k * np.sum(u**2)


def until_jax(x, p, n=9):
    u = x
    for _ in range(n):
        u = u + 0.1 * jnp.sin(u) * p
    return n * jnp.sum(u**2)


def forced(x, p, n=9):
    """Each step reads other elements of arrays from outside."""
    q, v = 0.1, 0.2
    force = np.linspace(0.0, 1.0, n) * p
    for t in steps(n):
        v = v + 0.1 * (force[t] * x[t % 5] - np.sin(q))
        q = q + 0.1 * v
    return q * q + v


def forced_jax(x, p, n=9):
    q, v = 0.1, 0.2
    force = jnp.linspace(0.0, 1.0, n) * p
    for t in range(n):
        v = v + 0.1 * (force[t] * x[t % 5] - jnp.sin(q))
        q = q + 0.1 * v
    return q * q + v


class Body:
    def __init__(self, q, v):
        self.q, self.v = q, v


def nested_objects(x, p, n=9):
    b = Body(x[0], x * 1.0)
    for _ in steps(n):
        for _ in steps(3):
            b.v[1:] -= 0.1 * np.sin(b.q) * p
        b.q = b.q + 0.1 * b.v[2]
    return b.q**2 + np.sum(b.v)


def nested_objects_jax(x, p, n=9):
    q, v = x[0], x
    for _ in range(n):
        for _ in range(3):
            v = v.at[1:].add(-0.1 * jnp.sin(q) * p)
        q = q + 0.1 * v[2]
    return q**2 + jnp.sum(v)


@dj.checkpoint
def block(u, p):
    for _ in steps(3):
        u[1:] += 0.1 * np.sin(u[:-1]) * p
    return u


def blocks(x, p, n=9):
    u = x.copy()
    scale = dj.checkpoint(lambda v: np.tanh(v * p))
    for _ in range(n // 3):
        u = block(u, p)
    return np.sum(scale(scale(u)) ** 2) + u[0]


def blocks_jax(x, p, n=9):
    u = x
    for _ in range(3 * (n // 3)):
        u = u.at[1:].add(0.1 * jnp.sin(u[:-1]) * p)
    return jnp.sum(jnp.tanh(jnp.tanh(u * p) * p) ** 2) + u[0]


class Layer:
    def __init__(self, w):
        self.w = w

    @staticmethod
    @dj.checkpoint
    def inner(tree, *, by):
        return {"u": np.sin(tree["u"] * tree["w"][0]), "s": (np.sum(tree["u"]) * by,)}

    def __call__(self, u):
        return dj.checkpoint(self.apply)(u)

    def apply(self, u):
        found = self.inner({"u": u, "w": (self.w, 1.0)}, by=2.0)
        return found["u"] + found["s"][0]


def trees_and_methods(x, p, n=9):
    del n
    layer = Layer(x * p)
    return np.sum(layer(layer(x)) ** 2)


def trees_and_methods_jax(x, p, n=9):
    del n

    def layer(u):
        return jnp.sin(u * x * p) + 2.0 * jnp.sum(u)

    return jnp.sum(layer(layer(x)) ** 2)


def waves(x, p, n=9):
    """Schrödinger's equation with damping: a complex state, in place and carried, and a record of it."""
    psi, phase, record = x * np.exp(1j * p * x), 1.0 + 0.5j * p, np.zeros(n)
    for t in dj.checkpointed(itertools.count(), budget=3):
        psi[1:-1] += 0.1j * (psi[2:] - 2.0 * psi[1:-1] + psi[:-2])
        phase = phase * np.exp(0.1j * np.abs(psi[0])) - 0.1 * np.conj(phase)
        psi *= phase * np.exp(-0.1j * x)
        record[t] = np.sum(np.abs(psi) ** 2)
        if t == n - 1:
            break
    return np.sum(record) + psi[1].real * psi[2].imag + phase.imag


def waves_jax(x, p, n=9):
    psi, phase, total = x * jnp.exp(1j * p * x), 1.0 + 0.5j * p, 0.0
    for _ in range(n):
        psi = psi.at[1:-1].add(0.1j * (psi[2:] - 2.0 * psi[1:-1] + psi[:-2]))
        phase = phase * jnp.exp(0.1j * jnp.abs(psi[0])) - 0.1 * jnp.conj(phase)
        psi = psi * phase * jnp.exp(-0.1j * x)
        total = total + jnp.sum(jnp.abs(psi) ** 2)
    return total + psi[1].real * psi[2].imag + phase.imag


PROGRAMS = [
    (by_values, by_values_jax), (in_place, in_place_jax), (two_buffers, two_buffers_jax), (until, until_jax),
    (forced, forced_jax), (nested_objects, nested_objects_jax), (blocks, blocks_jax),
    (trees_and_methods, trees_and_methods_jax), (waves, waves_jax),
]  # fmt: skip
EACH = pytest.mark.parametrize(("f", "f_jax"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])


@EACH
@BOTH
def test_values_and_gradients(f, f_jax, backend, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", backend)
    before = X.copy()
    wanted = f_jax(jnp.asarray(X), P)
    close(f(X, P), wanted)
    close(dj.jit(f)(X, P), wanted)
    close(dj.grad(f, argnums=(0, 1))(X, P), jax.grad(f_jax, argnums=(0, 1))(X, P))
    np.testing.assert_array_equal(X, before)


@EACH
def test_any_number_of_steps(f, f_jax):
    gradient = dj.grad(f, argnums=(0, 1))
    for n in (1, 2, 5, 17):
        close(gradient(X, P, n), jax.grad(f_jax, argnums=(0, 1))(X, P, n))


def test_no_steps():
    close(dj.grad(by_values)(X, P, 0), 2 * X)


@EACH
def test_products(f, f_jax):
    dots = (np.cos(X), 0.5)
    close(dj.jvp(f, (X, P), dots), jax.jvp(f_jax, (X, P), dots))
    value, pullback = dj.vjp(f, X, P)
    _, pullback_jax = jax.vjp(f_jax, X, P)
    close(value, f_jax(jnp.asarray(X), P))
    close(pullback(1.5), pullback_jax(1.5))
    close(pullback(-2.0), pullback_jax(-2.0))


@BOTH
def test_complex_arguments_and_results(backend, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", backend)

    def mixed(lib, loop, z, w):
        for t in loop:
            z = z * lib.exp(0.1j * lib.abs(z)) + 0.1 * lib.conj(z) * w[t]
        return z

    f = lambda z, w: mixed(np, steps(5), z, w)
    f_jax = lambda z, w: mixed(jnp, range(5), z, w)
    z, w = X + 0.5j * np.cos(X), np.array([1.0, 2.0j, 1.0 - 1.0j, 0.5, 1.0j])
    dots = (np.sin(X) + 1j * X, 1j * w + 1.0)
    close(dj.jvp(f, (z, w), dots), jax.jvp(f_jax, (jnp.asarray(z), jnp.asarray(w)), dots))
    _, pullback = dj.vjp(f, z, w)
    _, pullback_jax = jax.vjp(f_jax, z, w)
    bar = np.cos(X) + 1j * np.sin(3 * X)
    close(pullback(bar), pullback_jax(jnp.asarray(bar)))
    close(pullback(1j * bar), pullback_jax(jnp.asarray(1j * bar)))
    norm = lambda lib, np, f: lambda z, w: np.sum(np.abs(lib.vjp(f, z, w)[1](bar)[1]) ** 2)
    found = dj.grad(norm(dj, np, f), argnums=(0, 1))(z, w)
    close(found, jax.grad(norm(jax, jnp, f_jax), argnums=(0, 1))(jnp.asarray(z), jnp.asarray(w)))


def gradient_norm(lib, np, f):
    return lambda x, p: np.sum(lib.grad(f)(x, p) ** 2)


def tangent(lib, f):
    return lambda x, p: lib.jvp(f, (x, p), (X, 0.5))[1]


@EACH
def test_second_order(f, f_jax):
    close(dj.hessian(f)(X, P), jax.hessian(f_jax)(X, P))
    both = {"argnums": (0, 1)}
    close(dj.grad(gradient_norm(dj, np, f), **both)(X, P), jax.grad(gradient_norm(jax, jnp, f_jax), **both)(X, P))
    close(dj.grad(tangent(dj, f), **both)(X, P), jax.grad(tangent(jax, f_jax), **both)(X, P))


@pytest.mark.parametrize(("f", "f_jax"), [PROGRAMS[1], PROGRAMS[6]], ids=["loop", "function"])
def test_second_order_compiled(f, f_jax):
    found = dj.grad(gradient_norm(dj, np, f), argnums=(0, 1), backend="numba")(X, P)
    close(found, jax.grad(gradient_norm(jax, jnp, f_jax), argnums=(0, 1))(X, P))


def test_third_order():
    f = lambda p: by_values(X, p)
    f_jax = lambda p: by_values_jax(X, p)
    close(dj.grad(dj.grad(dj.grad(f)))(P), jax.grad(jax.grad(jax.grad(f_jax)))(P))


@EACH
def test_lanes(f, f_jax):
    rows = np.stack([X, 0.5 * X, X - 0.1])
    close(
        dj.vmap(dj.grad(f), in_axes=(0, None))(rows, P), jax.vmap(jax.grad(f_jax), in_axes=(0, None))(rows, P)
    )  # fmt: skip
    total = lambda x, p: np.sum(dj.vmap(f, in_axes=(0, None))(x, p) ** 2)
    total_jax = lambda x, p: jnp.sum(jax.vmap(f_jax, in_axes=(0, None))(x, p) ** 2)
    close(dj.grad(total, argnums=(0, 1))(rows, P), jax.grad(total_jax, argnums=(0, 1))(rows, P))


def test_a_budget_of_memory():
    def f(x, n):
        for _ in dj.checkpointed(range(n), budget="1 kB"):
            x = x + 0.1 * np.sin(x)
        return np.sum(x)

    def f_jax(x, n):
        for _ in range(n):
            x = x + 0.1 * jnp.sin(x)
        return jnp.sum(x)

    close(dj.grad(f)(X, 60), jax.grad(f_jax)(X, 60))


@pytest.mark.parametrize("k", [1, 6], ids=["loop", "function"])
def test_series(k):
    f, f_jax = PROGRAMS[k]
    along = lambda g: lambda t: g(X + t * np.cos(X), P + 0.5 * t)
    first = jax.grad(along(f_jax))
    wanted = [first(0.0), jax.grad(first)(0.0), jax.grad(jax.grad(first))(0.0)]
    straight = lambda x: (x, 0.0 * x, 0.0 * x)
    value, series = dj.jet(f, (X, P), (straight(np.cos(X)), straight(0.5)))
    close((value, list(series)), (f_jax(jnp.asarray(X), P), wanted))
    # d/dt of the gradient along a line
    _, slope = dj.jet(lambda x: dj.grad(f)(x, P), (X,), ((np.cos(X),),))
    close(slope[0], jax.jvp(lambda x: jax.grad(f_jax)(x, P), (X,), (np.cos(X),))[1])


# Memory


def peak(function, *args):
    function(*args)
    tracemalloc.start()
    function(*args)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_a_loop_keeps_no_more_than_its_budget():
    def f(x, n):
        for _ in dj.checkpointed(range(n), budget=5):
            x = x + 0.1 * np.sin(x)
        return np.sum(x)

    x = np.ones(20_000)
    assert peak(dj.grad(f), x, 200) < 20 * x.nbytes
    assert peak(dj.grad(lambda x, n: np.sum(dj.grad(f)(x, n) ** 2)), x, 60) < 70 * x.nbytes


def test_a_function_keeps_only_its_inputs():
    def deep(h):
        for k in range(20):
            h = np.tanh(h) * np.cos(h + k)
        return h

    x = np.linspace(0.0, 1.0, 20_000)
    marked = dj.checkpoint(deep)
    once = peak(dj.grad(lambda h: np.sum(marked(h))), x)
    assert peak(dj.grad(lambda h: np.sum(marked(marked(marked(marked(h)))))), x) < 1.5 * once
    assert peak(dj.grad(lambda h: np.sum(deep(deep(deep(deep(h)))))), x) > 2.5 * once


# Effects and names


def test_steps_that_run_again_print_nothing(capsys):
    def f(x):
        for t in dj.checkpointed(range(5), budget=2):
            x = np.sin(x)
            print("step", t)  # noqa: T201
        return x

    dj.grad(f)(0.5)
    assert capsys.readouterr().out == "".join(f"step {t}\n" for t in range(5))


def test_arguments_change_as_without_a_checkpoint():
    @dj.checkpoint
    def push(u):
        u[0] = u[1] * 2.0

    def f(u):
        for t in dj.checkpointed(range(3)):
            u[1:] += t
        push(u)
        return np.sum(u)

    mine, theirs = X.copy(), X.copy()
    assert dj.jit(f)(mine) == f(theirs)
    np.testing.assert_array_equal(mine, theirs)
    dj.grad(f)(mine)
    np.testing.assert_array_equal(mine, theirs)


def chart_of_products(x, each):
    chart = np.zeros((4, 5))
    for i in range(4):
        chart[i, i + 1] = x[i]
    for span in range(2, 5):
        for i in range(4 - span + 1):
            for k in each(range(i + 1, i + span)):
                chart[i, i + span] += chart[i, k] * np.cos(chart[k, i + span])
    return chart[0, 4]


def in_place_again(x, each):
    y = x.copy()
    for i in range(3):
        for k in each(range(2)):
            y[0] += y[0] * y[1] * (i + 1) / (k + 2)
        y[1] = np.sin(y[0])
    return y[0]


def further_on(x, each):
    y = np.zeros(7)
    y[:2] = x[:2]
    for i in range(1, 5):
        for _ in each(range(2)):
            y[i + 1] = y[i + 1] + np.sin(y[i]) * y[i - 1]
    return y[5] + x[2] * y[4]


def inside_a_while(x, each):
    y = x * 1.0
    n = 0
    while n < 3:
        for k in each(range(3)):
            y[:] = np.sin(y) + 0.1 * k * y[::-1]
        n += 1
    return np.sum(y * x)


@BOTH
@pytest.mark.parametrize("program", [chart_of_products, in_place_again, further_on, inside_a_while])
def test_inside_other_loops(program, backend):
    """The way back of the loop works in a copy of what has come so far, which is added to what is left of it."""
    x = np.array([0.9, 0.6, 0.5, 0.3])
    plain = lambda x: program(x, lambda r: r)
    tried = lambda x: program(x, lambda r: dj.checkpointed(r, 2))
    slope = [(plain(x + h) - plain(x - h)) / 2e-6 for h in 1e-6 * np.eye(x.size)]
    np.testing.assert_allclose(dj.grad(tried, backend=backend)(x), slope, rtol=1e-7, atol=1e-8)
    v = np.array([1.0, -0.5, 0.25, 2.0])
    gradient = dj.grad(plain, backend="python")
    curve = (gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(dj.hvp(tried, (x,), (v,), backend=backend), curve, rtol=1e-6, atol=1e-7)


@BOTH
def test_memory_with_two_names_is_refused_at_run_time(backend):
    def swapped(x, same):
        a, b = x.copy(), x.copy()
        u = a
        w = a if same else b
        for _ in dj.checkpointed(range(4)):
            w[:] = np.sin(u) + u[::-1]
            u, w = w, u
        return np.sum(u)

    @dj.checkpoint
    def shift(u, v):
        u[1:] = v
        return np.sum(u)

    gradient = dj.grad(swapped, backend=backend)
    with pytest.raises(ValueError, match=r"shares memory.*DJ406"):
        gradient(X, same=True)
    with pytest.raises(ValueError, match=r"shares memory.*DJ406"):
        dj.grad(lambda x: shift(y := x * 2.0, y[:-1]), backend=backend)(X)


def test_results_that_may_be_one_array_are_not_changed_later():
    def f(x, n):
        best = x.copy()
        for k in dj.checkpointed(range(n)):
            trial = x * (k - 1.3)
            if trial[0] > best[0]:
                best = trial
        trial[0] = 3.0 * x[1]
        return np.sum(best**2 * trial)

    def f_jax(x, n):
        return jnp.sum(x**2 * (x * (n - 2.3)).at[0].set(3.0 * x[1]))

    close(dj.grad(f)(X, 2), jax.grad(f_jax)(X, 2))
    with pytest.raises(ValueError, match="DJ406"):
        dj.grad(f)(X, 4)


def test_the_schedule_can_be_read():
    text = dj.source(dj.grad(by_values), X, P, 9)
    assert "taken_at" in text
    assert "u_snapshots" in text


# All of the corpus with each of its loops checkpointed: right, or refused


@pytest.fixture
def _marked(monkeypatch):
    from diffjit.api.engine import derived
    from diffjit.frontend.objects import iterate

    monkeypatch.setattr(derived, "_CACHED", {})  # other tests take the same programs as they are

    class Marked(iterate.Loop):
        def __init__(self, *args, **facts):
            super().__init__(*args, **facts)
            if self.kind == "for" and self.budget is None:
                self.budget = ("snapshots", 2)

    monkeypatch.setattr(iterate, "Loop", Marked)


NAMES = sorted(modes.PROGRAMS)
# Names that no step binds, where no step runs; a global that counts calls.
OTHERWISE = {"accumulator_types_with_no_passes", "counts_in_a_global"}


def marked_case(name):
    """Gradient or pullback against difference quotients; whether it was refused."""
    c = modes.case(name)
    try:
        modes.grad(c, "python") if c.supports("grad") else modes.vjp(c, "python")
    except dj.DiffjitError as error:
        return error.code in ("DJ123", "DJ203", "DJ307", "DJ404", "DJ405")
    except ValueError as error:
        return "DJ406" in str(error)
    return True


@pytest.mark.usefixtures("_marked")
@pytest.mark.parametrize("name", [n for n in NAMES[::12] if n not in OTHERWISE])
def test_the_corpus_from_snapshots(name):
    assert marked_case(name)


@pytest.mark.slow
@pytest.mark.usefixtures("_marked")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in OTHERWISE])
def test_all_of_the_corpus_from_snapshots(name):
    assert marked_case(name)


@BOTH
def test_lists_that_the_caller_has_are_given_themselves(backend):
    """What a program changes of them later was changed in a copy."""

    def kept(x):
        outer, given = [x[0]], {"a": [x[1]]}

        @dj.checkpoint
        def step(y, table):
            pair = [y[0] * y[1]]
            return y * y, outer, table, table["a"], pair, (pair,)

        squares, one, table, two, pair, (again,) = step(x, given)
        one.append(x[2])
        table["b"] = [x[3] * x[3]]
        two[0] *= 3.0
        pair[0] += 5.0 * x[4]
        return np.sum(squares) + sum(outer) * given["a"][0] + given["b"][0] + again[0]

    want = X @ X + (X[0] + X[2]) * 3.0 * X[1] + X[3] ** 2 + X[0] * X[1] + 5.0 * X[4]
    slope = 2 * X + [4 * X[1], 3 * (X[0] + X[2]) + X[0], 3 * X[1], 2 * X[3], 5.0]
    assert kept(X) == pytest.approx(want)
    assert dj.jit(kept, backend=backend)(X) == pytest.approx(want)
    np.testing.assert_allclose(dj.grad(kept, backend=backend)(X), slope)
