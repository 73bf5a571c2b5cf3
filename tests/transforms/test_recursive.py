"""Recursive functions on the way back: they add to cotangents of arrays that they read, where the caller has them."""

import linecache
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.random.default_rng(5).normal(size=9)


def halves(x, lo, hi):
    if hi - lo == 1:
        return np.sin(x[lo]) * x[lo]
    mid = (lo + hi) // 2
    return halves(x, lo, mid) + halves(x, mid, hi)


def by_halves(x):
    return halves(x, 0, len(x)) ** 2


def parts(x):
    if len(x) < 3:
        return np.sum(x**3)
    m = len(x) // 2
    return parts(x[:m]) * np.cos(parts(x[m:])) + parts(x[::2])


def overlapping(x, y, depth):
    if depth == 0 or len(x) < 2:
        return x[0] * y[-1]
    return overlapping(x[1:], x[:-1], depth - 1) + overlapping(y[::-1], x[::-1], depth - 1)


def one_array_twice(x):
    return overlapping(x, x, len(x) // 3)


def one_array_twice_in_a_loop(x):
    """The first element's cotangent may be held back while those of all are added."""

    def total(v, w, n):
        if n == 0:
            return 0.0
        out = 0.0
        for i in range(len(w)):
            out += v[0] * w[i] ** n
        return out + total(v, w, n - 1)

    return total(x, x, len(x) // 2)


def weights_apart(x):
    def total(v, w, n):
        if n == 0:
            return 0.0
        return v[n - 1] * w[n - 1] + total(v, w, n - 1) * v[0]

    return total(x, np.linspace(0.0, 1.0, len(x)), len(x))


def one_element_for_all(x):
    def total(v, n):
        if n == 0:
            return 1.0
        return total(v, n - 1) * v[n - 1]

    return total(np.broadcast_to(x[:1], (len(x),)), len(x)) + x[1]


def while_it_changes(x):
    """The array changes between calls, in the caller's frame."""
    y = x * 1.0
    out = 0.0
    for k in range(3):
        out += halves(y, 0, len(y))
        y[k] = out * y[k + 1]
    return out


def written_by_the_callee(x):
    def scale(y, z, n):
        if n == 0:
            return z[0]
        y[n] = y[n - 1] * z[n]
        return y[n] + scale(y, z, n - 1)

    y = x * 2.0
    return scale(y, x, 5) + np.sum(y**2)


def each_other(x):
    """Both call both, and one of them alone reads what is outside."""
    w, n = x * 2.0, len(x) // 3

    def one(a, k):
        return a[0] if k <= 0 else other(a, k - 1) + one(w, k - 1)

    def other(a, k):
        return a[1] * w[1] if k <= 0 else one(a, k - 1) + other(a, k - 1) + one(w, k - 1)

    return one(x, n)


def in_a_ring(x):
    u, v, w, n = np.sin(x[2]), x * x, x[3] + 1.0, len(x) // 2

    def first(a, k):
        return a[0] * u if k <= 0 else second(a, k - 1) + first(a[1:], k - 2) * 0.5

    def second(a, k):
        return a[1] if k <= 0 else third(a, k - 1) * v[k] + second(a, k - 2)

    def third(a, k):
        return a[0] if k <= 0 else first(a, k - 1) * w + third(a, k - 2) + second(v, k - 3)

    return first(x, n) + third(x, n - 1)


PROGRAMS = [
    by_halves, parts, one_array_twice, one_array_twice_in_a_loop, weights_apart, one_element_for_all,
    while_it_changes, written_by_the_callee, each_other, in_a_ring,
]  # fmt: skip


def slopes(f, x, step=1e-5):
    return np.array([(f(x + h) - f(x - h)) / (2.0 * step) for h in step * np.eye(len(x))])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f, backend):
    value, gradient = dj.value_and_grad(f, backend=backend)(X)
    assert value == pytest.approx(f(X.copy()), rel=1e-12)
    np.testing.assert_allclose(gradient, slopes(f, X), rtol=1e-7, atol=1e-8)
    along = np.cos(X)
    assert dj.jvp(f, (X,), (along,), backend=backend)[1] == pytest.approx(gradient @ along, rel=1e-9)
    assert dj.vjp(f, X, backend=backend)[1](2.0)[0] == pytest.approx(2.0 * gradient, rel=1e-9)


@pytest.mark.parametrize("f", PROGRAMS[:-1])
def test_second_order(f):
    expected = np.array([(dj.grad(f)(X + h) - dj.grad(f)(X - h)) / 2e-5 for h in 1e-5 * np.eye(len(X))])
    np.testing.assert_allclose(dj.hessian(f)(X), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(dj.jacrev(dj.grad(f))(X), expected, rtol=1e-6, atol=1e-7)


def test_against_jax():
    with jax.enable_x64(True):
        expected = jax.grad(lambda x: jnp.sum(jnp.sin(x) * x) ** 2)(X)
    np.testing.assert_allclose(dj.grad(by_halves)(X), expected, rtol=1e-12)


def test_complex_arrays():
    def f(x):
        def total(z, n):
            if n == 0:
                return z[0] * 1j
            return z[n] * total(z, n - 1) + np.conj(z[n - 1])

        z = x[:4] + 1j * x[4:8]
        out = total(z, 3)
        return out.real + out.imag**2

    for backend in BACKENDS:
        np.testing.assert_allclose(dj.grad(f, backend=backend)(X), slopes(f, X), rtol=1e-7, atol=1e-8)


def test_a_level_costs_what_it_touches():
    """No array as long as the argument is made on any level, and nothing runs again that is not needed."""
    text = dj.source(dj.grad(by_halves), X)
    back = text.partition("def halves_vjp" if "def halves_vjp" in text else "def recursive_halves_vjp")[2]
    back = back.partition("\ndef ")[0]
    assert "x_bar[lo] +=" in back
    assert "zeros" not in back
    assert back.count("recursive_halves(") == 0


def test_comments_show_the_lines_of_recursive_functions():
    assert "return np.sin(x[lo]) * x[lo]" in dj.source(dj.grad(by_halves), X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_printed_is_printed_once(backend, capfd):
    def loud(x, n):
        print("level", n)  # noqa: T201
        return x[0] if n == 0 else loud(x, n - 1) * x[n]

    assert dj.grad(loud, backend=backend)(X, 3)[3] == pytest.approx(np.prod(X[:3]))
    assert capfd.readouterr().out == "level 3\nlevel 2\nlevel 1\nlevel 0\n"


class Writer:
    """Draws a recursive function of two arrays, which it divides, reverses, reads, and may change."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def number(self, names):
        name = self.draw.choice(names)
        return self.draw.choice([
            f"{name}[0]", f"{name}[-1]", f"{name}[len({name}) // 2]", f"np.sum({name})", f"np.sum({name}[::2] * 0.3)",
            f"{name}[0] * {self.draw.choice(names)}[-1]", f"np.tanh({name}[0])", "s", "0.7",
        ])  # fmt: skip

    def part(self, names):
        name = self.draw.choice(names)
        return self.draw.choice([
            f"{name}[:len({name}) // 2 + 1]", f"{name}[1:]", f"{name}[::-1]", f"{name}[:-1]", f"{name}[::2]", name,
            f"{name} * 0.9", f"np.concatenate(({name}[1:], {name}[:1]))", f"np.broadcast_to({name}[:1], (3,))", "c",
            f"{name}.reshape(-1)", f"np.where({name} > 0.0, {name}, 0.5)",
        ])  # fmt: skip

    def call(self, names):
        first, second = self.part(names), self.part(names)
        return f"g({first}, {second}, 0.5 * {self.number(names)}, n - 1)"

    def text(self):
        names = ["a", "b"]
        lines = ["def f(x, y, s):", "    c = np.array([0.3, -0.4, 0.6])", "    def g(a, b, s, n):"]
        lines += [f"        if n == 0 or len(a) < 2:\n            return {self.number(names)} * {self.number(names)}"]
        if self.draw.random() < 0.3:
            lines += [f"        e = {self.part(names)}"]
            names.append("e")
        lines += [f"        t = {self.call(names)} * {self.number(names)}"]
        if self.draw.random() < 0.4:
            lines += [f"        if t > 0.1:\n            t += {self.call(names)}"]
        if self.draw.random() < 0.3:
            lines += ["        own = a * 1.5", "        own[0] = t", f"        t += {self.call(['own', *names])}"]
        lines += [f"        return np.sin(t) + 0.5 * {self.number(names)}"]
        lines += ["    out = 0.0"]
        loop = self.draw.random() < 0.4
        lines += ["    for k in range(2):" if loop else "    if True:"]
        lines += [f"        out += {self.call(['x', 'y']).replace('n - 1', '2')}"]
        if self.draw.random() < 0.4:
            lines += ["        x = x * 0.8", "        x[0] = out"]
        return "\n".join([*lines, "    return out"]) + "\n"


def drawn(seed):
    text = Writer(seed).text()
    file = f"<recursive {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)  # noqa: S102
    return space["f"], text


def compare(seed, backend):
    """1 if the program has a slope here that differences see, and diffjit's is that one."""
    f, text = drawn(seed)
    rng = np.random.default_rng(seed)
    x, y, s = rng.normal(size=5), rng.normal(size=5), 0.4
    together = lambda z: f(z[:5].copy(), z[5:10].copy(), z[10])
    z = np.concatenate([x, y, [s]])
    try:
        rough, fine = (
            np.array([(together(z + h) - together(z - h)) / (2 * d) for h in d * np.eye(11)]) for d in (1e-5, 1e-6)
        )
    except IndexError:
        with pytest.raises(IndexError):
            dj.grad(f, argnums=(0, 1, 2), backend=backend)(x, y, s)
        return 0
    if not np.allclose(rough, fine, rtol=1e-4, atol=1e-6):
        return 0
    found = dj.grad(f, argnums=(0, 1, 2), backend=backend)(x, y, s)
    np.testing.assert_allclose(np.hstack(found), rough, rtol=1e-4, atol=1e-6, err_msg=text)
    return 1


@pytest.mark.parametrize("batch", range(4))
def test_random_programs(batch):
    assert sum(compare(100 * batch + seed, "python") for seed in range(15)) > 10


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(9000 + seed, "numba") for seed in range(6)) > 3
