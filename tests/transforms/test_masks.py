"""Sums over elements that a mask chooses: without collecting them, and as if they were collected."""

import linecache
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
RNG = np.random.default_rng(5)
DATA, RADIUS = RNG.normal(size=40), RNG.uniform(0.0, 3.0, size=40)


def means(data, radius, n):
    found = np.zeros(n)
    for i in range(n):
        inside = np.logical_and(i <= radius, radius < i + 1)
        chosen = data[inside]
        found[i] = chosen.mean() + np.sum(chosen * radius[inside] - 2.0 * chosen) / chosen.size
    return np.sum(found**2)


def means_by_jax(data, radius, n):
    total = 0.0
    for i in range(n):
        m = jnp.logical_and(i <= radius, radius < i + 1)
        total += ((jnp.sum(data, where=m) + jnp.sum(data * radius - 2.0 * data, where=m)) / jnp.sum(m)) ** 2
    return total


@pytest.mark.parametrize("backend", BACKENDS)
def test_means_of_rings(backend):
    with jax.enable_x64(True):
        want = jax.value_and_grad(means_by_jax, (0, 1))(DATA, RADIUS, 3)
        second = jax.hessian(means_by_jax)(DATA, RADIUS, 3)
        value, gradients = dj.value_and_grad(means, (0, 1), backend=backend)(DATA, RADIUS, 3)
        np.testing.assert_allclose(value, want[0], rtol=1e-12)
        for g, h in zip(gradients, want[1], strict=True):
            np.testing.assert_allclose(g, h, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(dj.hessian(means, backend=backend)(DATA, RADIUS, 3), second, rtol=1e-10, atol=1e-12)


def test_nothing_is_collected():
    lowered = dj.source(dj.grad(means), DATA, RADIUS, 3, stage="lowered")
    assert "at_ += 1" not in lowered
    assert "append" not in lowered


def test_what_is_not_chosen_does_not_count():
    data = DATA.copy()
    data[RADIUS > 2.0] = np.nan
    data[RADIUS > 2.5] = np.inf

    def total(data, radius):
        m = radius <= 2.0
        return np.sum(data[m] * 3.0 - data[m]) / data[m].size

    def products(data, radius):
        known = np.isfinite(data)
        return np.sum(data[known] * radius[known] * data[known])

    for backend in BACKENDS:
        known = np.isfinite(data)
        by_data, by_radius = dj.grad(products, (0, 1), backend=backend)(data, RADIUS)
        np.testing.assert_allclose(by_data, np.where(known, 2.0 * data * RADIUS, 0.0))
        np.testing.assert_allclose(by_radius, np.where(known, data**2, 0.0))
        value, gradient = dj.value_and_grad(total, backend=backend)(data, RADIUS)
        assert value == pytest.approx(total(data, RADIUS))
        np.testing.assert_allclose(gradient, np.where(RADIUS <= 2.0, 2.0, 0.0) / np.sum(RADIUS <= 2.0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_changes_between_is_read_before(backend):
    def f(data, radius):
        u = data.copy()
        m = radius < 1.5
        chosen = u[m]
        u *= 2.0
        before = np.sum(chosen)
        kept = u[m]
        m[:] = True
        return before + np.sum(u[m] * 0.5) + np.sum(kept) + len(kept)

    assert dj.jit(f, backend=backend)(DATA, RADIUS) == pytest.approx(f(DATA, RADIUS))
    want = 3.0 * (RADIUS < 1.5) + 1.0
    np.testing.assert_allclose(dj.grad(f, backend=backend)(DATA, RADIUS), want)


def orbit(start, steps):
    z, last = start * 0.0, np.zeros(start.shape)
    for n in range(steps):
        inside = abs(z) < 2.0
        last[inside] = n
        z[inside] = z[inside] ** 2 + start[inside]
        z[last > 3] *= 0.9
    return np.sum(np.abs(z))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_stored_where_it_was_chosen(backend):
    def by_jax(start, steps):
        z, last = start * 0.0, jnp.zeros(start.shape)
        for n in range(steps):
            inside = abs(z) < 2.0
            last = jnp.where(inside, n, last)
            z = jnp.where(inside, z**2 + start, z)
            z = jnp.where(last > 3, 0.9 * z, z)
        return jnp.sum(jnp.abs(z))

    start = DATA[:20] + 1j * RADIUS[:20]
    with jax.enable_x64(True):
        value, slope = jax.value_and_grad(by_jax)(start, 6)
    found = dj.value_and_grad(orbit, backend=backend)(start, 6)
    assert found[0] == pytest.approx(float(value), rel=1e-12)
    np.testing.assert_allclose(found[1], slope, rtol=1e-10, atol=1e-12)


def test_nothing_is_collected_to_be_stored():
    lowered = dj.source(dj.jit(orbit), DATA + 0j, 6, stage="lowered")
    assert "+= int64(" not in lowered  # how many are chosen
    assert "+= int64(" in dj.source(dj.jit(_roots), DATA, stage="lowered")


def _roots(x):
    y = x.copy()
    y[x > 1.0] = np.exp(x[x > 1.0])
    return np.sum(y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_masks_of_another_length_are_index_errors(backend):
    def f(data, radius):
        return np.sum(data[radius > 1.0])

    for verb in (dj.jit, dj.grad):
        with pytest.raises(IndexError):
            verb(f, backend=backend)(DATA[:30], RADIUS)
    empty = np.zeros(0)
    assert dj.jit(f, backend=backend)(empty, empty) == 0.0
    image, height = DATA.reshape(8, 5), RADIUS.reshape(8, 5)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(image, height), height > 1.0)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(image.T, height.T), height.T > 1.0)


class Writer:
    """Draws programs that choose by masks, compute with what is chosen, and add it up, or not."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def array(self, deep=2):
        kind = self.draw.randrange(8 if deep else 3)
        if kind < 3:
            return f"{self.draw.choice('uvw')}[{self.draw.choice('mmk')}]" if kind else "c"
        if kind == 3:
            return f"np.sin({self.array(deep - 1)})"
        if kind == 4:
            return f"({self.array(deep - 1)} / {self.draw.choice(['2.0', 'a'])})"
        return f"({self.array(deep - 1)} {self.draw.choice('+-*')} {self.draw.choice([self.array(0), 'a', '0.5'])})"

    def statement(self):
        return self.draw.choice([
            f"s += np.sum({self.array()})", f"s += {self.array()}.sum() / (1 + {self.array()}.size)",
            f"s = s * 0.5 + np.sum({self.array(1)}) * a", f"c = {self.array(1)}", "u = u * 1.5", "v[2] = a * s",
            "m[1] = not m[1]", "c[:1] = s", f"s += np.max(np.append({self.array(1)}, 0.2))", "k = m",
            "m = k & (x < 2.0)", f"u[m] = {self.array()}", f"{self.draw.choice('uvw')}[k] = {self.array(1)}",
            "u[m] = u[m] ** 2 - w[m]", "v[k] *= 0.5", f"w[m] += {self.array(1)}", "u[k] -= v[k] * a; s += np.sum(u[k])",
            "v[u > 1.0] = u[u > 1.0] * 0.5", "w[m] = v[m] + c[0]",
        ])  # fmt: skip

    def program(self):
        lines = ["u, v, w = x.copy(), y * x, np.cos(y)", "m = x > a", "k = y < 0.3", "c, s = u[m], 0.0"]
        lines += [part for _ in range(self.draw.randrange(3, 8)) for part in self.statement().split("; ")]
        if self.draw.random() < 0.5:
            lines = [*lines[:4], "for i in range(3):", *("    " + line for line in lines[4:])]
        return "def f(x, y, a):\n" + "".join(
            f"    {line}\n" for line in [*lines, "return s + np.sum(c) + np.sum(np.tanh(u) * v + w)"]
        )


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            return call()
    except (ValueError, IndexError) as error:
        return type(error)


def compare(seed, backend):
    """Whether a random program returns; then its derivatives are those of differences and of forward mode."""
    text = Writer(seed).program()
    name = f"<masks {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"np": np}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102
    f = namespace["f"]
    rng = np.random.default_rng(seed)
    x, y, a = rng.normal(size=11), rng.normal(size=11), 0.1
    want = outcome(lambda: f(x, y, a))
    try:
        found = outcome(lambda: dj.value_and_grad(f, (0, 1), backend=backend)(x, y, a))
    except dj.DiffjitError:
        return 0
    if isinstance(want, type) or isinstance(found, type):
        assert want is found or isinstance(want, type) == isinstance(found, type), (text, want, found)
        return 0
    np.testing.assert_allclose(found[0], want, rtol=1e-9, atol=1e-12, err_msg=text)
    along = rng.normal(size=11), rng.normal(size=11)
    slope = sum(float(g @ d) for g, d in zip(found[1], along, strict=True))
    dot = dj.jvp(lambda x, y: f(x, y, a), (x, y), along, backend="python")[1]
    np.testing.assert_allclose(slope, dot, rtol=1e-8, atol=1e-9, err_msg=text)
    ends = [outcome(lambda h=h: f(x + h * along[0], y + h * along[1], a)) for h in (1e-6, -1e-6)]
    if not any(isinstance(end, type) for end in ends) and abs(ends[0] - ends[1]) < 1e-3:
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, slope, rtol=1e-4, atol=1e-4, err_msg=text)
    return 1


def test_random_programs():
    assert sum(compare(seed, "python") for seed in range(80)) > 30


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(seed, "numba") for seed in range(200, 212)) > 4


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_ints_that_are_not_chosen_stay(backend):
    """2**60 + 1 is no float64, and no uint64 is an int64."""

    def store(u, x):
        m = x > 0
        u[m] = x[m]
        return u

    for u in (np.array([2**60 + 1, 5]), np.array([2**60 + 1, 5], np.uint64)):
        for x in (np.array([-1.0, 2.0]), np.array([-1, 2])):
            np.testing.assert_array_equal(dj.jit(store, backend=backend)(u.copy(), x), store(u.copy(), x))
