"""Products of rows or columns that a counter picks: one product of matrices, with the numbers of one for each turn."""

import linecache
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffjit as dj

RNG = np.random.default_rng(11)
X = RNG.normal(size=(14, 11))
K = RNG.normal(size=(11, 11))


def covariance(data, m):
    centred = data - np.mean(data, axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:m, i] = cov[i, i:m] = centred[:, i] @ centred[:, i:m] / (len(data) - 1.0)
    return np.sum(cov * cov)


def correlation(data, m):
    scaled = data / np.sqrt(np.sum(data**2, axis=0))
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i + 1 : m, i] = corr[i, i + 1 : m] = scaled[:, i] @ scaled[:, i + 1 : m]
    return np.sum(np.tanh(corr))


def similarities(data, m):
    found = np.empty((len(data), len(data)))
    for i in range(len(data)):
        for j in range(len(data)):
            found[i, j] = np.dot(data[i], data[j]) / (1.0 + m)
    return np.sum(found**3)


def by_rows(data, m):
    found = np.zeros((m, m))
    for i in range(m):
        found[i, :i] = data.T[:i] @ data[:, i]
        found[i, i] += data.T[i] @ data[:, 2]
    return np.sum(found**2)


def by_jax(name, data):
    if name == "covariance":
        c = data - jnp.mean(data, axis=0)
        return jnp.sum((c.T @ c / (len(data) - 1.0)) ** 2)
    if name == "correlation":
        c = data / jnp.sqrt(jnp.sum(data**2, axis=0))
        p = c.T @ c
        return jnp.sum(jnp.tanh(p - jnp.diag(jnp.diag(p)) + jnp.eye(len(p))))
    if name == "similarities":
        return jnp.sum((data @ data.T / 12.0) ** 3)
    p = data.T @ data
    lower = jnp.tril(p, -1) + jnp.diag(p[:, 2])
    return jnp.sum(lower**2)


PROGRAMS = [covariance, correlation, similarities, by_rows]


@pytest.mark.parametrize("f", PROGRAMS)
def test_against_jax(f):
    with jax.enable_x64(True):
        value, slope = jax.value_and_grad(lambda x: by_jax(f.__name__, x))(X)
        along = np.cos(X)
        second = jax.jvp(jax.grad(lambda x: by_jax(f.__name__, x)), (X,), (along,))[1]
    found, gradient = dj.value_and_grad(f)(X, 11)
    assert found == pytest.approx(float(value), rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    if f is covariance:
        np.testing.assert_allclose(dj.hvp(lambda x: f(x, 11), (X,), (along,)), second, rtol=1e-9, atol=1e-11)
    tangent = dj.jvp(lambda x: f(x, 11), (X,), (along,))[1]
    assert tangent == pytest.approx(float(np.sum(slope * along)), rel=1e-9)


@pytest.mark.parametrize("f", PROGRAMS)
def test_one_product_stands_in_front(f):
    text = dj.source(dj.jit(f), X, 11, stage="lowered")
    ahead, _, behind = text.partition("for i in ")
    assert "matmul" in ahead
    assert "mat" not in behind.split("__diffjit_entry__")[0].replace("format", "")


def changed(data, m):
    found = np.zeros((m, m))
    for i in range(m):
        found[i] = data[:, i] @ data
        data[0, i] = 0.5 * found[i, 2]
    return np.sum(found)


def band(data, m):
    found = np.zeros((m, m))
    for i in range(m - 2):
        found[i, i : i + 2] = data[:, i] @ data[:, i : i + 2]
    return np.sum(found)


def summed(data, m):
    total = 0.0
    for i in range(m):
        total += np.sum(np.tanh(data[:, i] @ data[:, i:]))
    return total


def few(data, m):
    found = np.zeros((m, m))
    for i in range(m // 4):
        found[i] = data[:, i] @ data
    return np.sum(found)


def searched(data, m):
    found = np.zeros((m, m))
    for i in range(m):
        found[i] = data[:, i] @ data
        if found[i, 0] < 0.0:
            break
    return np.sum(found)


@pytest.mark.parametrize("f", [changed, band, summed, few, searched])
def test_what_does_not_pay_or_changes_stays(f):
    text = dj.source(dj.jit(f), X, 11, stage="lowered")
    assert "matvec" in text.partition("for i in ")[2]
    assert dj.jit(f)(X.copy(), 11) == pytest.approx(f(X.copy(), 11), rel=1e-12)


class Writer:
    """Draws loops with products of what counters pick, with changes between, breaks, and counters out of bounds."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def pick(self, i):
        return self.draw.choice(
            [f"X[:, {i}]", f"Y[{i}]", f"Y[{i}, :]", f"Y.T[:, {i}]", f"X.T[{i}]", "w", f"X[:, {i} - 1]"]
        )

    def wide(self, i):
        part = self.draw.choice([
            "", ":", f"{i}:", f":{i}", f"{i} + 1:", f"{i}:m", f"{i} - 1:", f":{i} + 2", f"{i}:{i} + 3", "2:", f"-{i}:",
            f"{i}::2", f":{i} - 1",
        ])  # fmt: skip
        if not part:
            return self.draw.choice(["X", "Y.T"])
        return self.draw.choice([f"X[:, {part}]", f"Y.T[:, {part}]", f"Y[{part}].T", f"X.T[{part}].T"])

    def product(self, i):
        one, many = self.pick(i), self.wide(i)
        kind = self.draw.randrange(4)
        if kind == 0:
            return f"{one} @ {many}"
        if kind == 1:
            return f"({many}).T @ {one}"
        if kind == 2:
            return f"np.dot({one}, {self.pick(i)})"
        return f"np.dot({one}, {self.pick('j')})"

    def statement(self, i):
        return self.draw.choice([
            f"t = {self.product(i)}; c[{i}] += np.sum(t * t)",
            f"t = {self.product(i)}; t *= 2.0; c[{i}, 1] = np.sum(t)",
            f"c[{i}] = Y[{i}] @ X", f"c[{i}, {i}:] = {self.pick(i)} @ X[:, {i}:]", f"s += np.sum({self.product(i)})",
            f"c[:, {i}] += (X[:, {i}] @ X) * s", f"for j in range(m):\n        c[{i}, j] += {self.product('j')}",
            f"for j in range(m - 1):\n        c[{i}, j] += np.dot({self.pick(i)}, {self.pick('j')})",
        ])  # fmt: skip

    def change(self, i):
        return self.draw.choice([
            f"X[1, {i}] = s * 0.1", f"Y[{i}] *= 0.5", "if s > 40.0:\n        break", f"w[{i}] = c[{i}, 0] * 0.1",
            f"if c[{i}, 0] > 3.0:\n        continue", f"s += c[{i} + 1, 0]",
            f"if s > 1e3:\n        raise ValueError({i})",
        ])  # fmt: skip

    def program(self):
        turns = self.draw.choice(["m", "m", "m - 1", "1, m", "len(c)", "X.shape[1]", "m + 1", "m - 3", "2, m - 1"])
        body = [self.statement("i") for _ in range(self.draw.randrange(1, 3))]
        if self.draw.random() < 0.6:
            body.insert(self.draw.randrange(len(body) + 1), self.change("i"))
        lines = [
            "X, Y, w = x.copy(), x.T * 0.5, np.cos(x[:, 0])",
            "m, s, j = x.shape[1], 0.0, 0",
            "c = np.zeros((m, m))",
        ]
        text = "def f(x):\n" + "".join(f"    {line}\n" for line in lines) + f"    for i in range({turns}):\n"
        text += "".join("        " + line.replace("\n", "\n    ") + "\n" for part in body for line in part.split("; "))
        return text + "    return s + np.sum(np.tanh(c)) + np.sum(X * X)\n"


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            return call()
    except (ValueError, IndexError) as error:
        return type(error)


def compare(seed):
    """Whether a random program returns; then compiled derivatives are those of differences and of Python."""
    text = Writer(seed).program()
    name = f"<turns {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"np": np}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102
    f = namespace["f"]
    rng = np.random.default_rng(seed)
    x, along = rng.normal(size=(13, 11)) * 0.4, rng.normal(size=(13, 11))
    want = outcome(lambda: f(x))
    try:
        found = outcome(lambda: dj.value_and_grad(f)(x))
        plain = outcome(lambda: dj.value_and_grad(f, backend="python")(x))
    except dj.DiffjitError:
        return 0
    if isinstance(want, type):
        assert isinstance(found, type), (text, want, found)
        assert issubclass(found, (want, dj.DiffjitError)), (text, want, found)
        return 0
    np.testing.assert_allclose(found[0], want, rtol=1e-9, atol=1e-12, err_msg=text)
    np.testing.assert_allclose(found[1], plain[1], rtol=1e-8, atol=1e-10, err_msg=text)
    ends = [outcome(lambda h=h: f(x + h * along)) for h in (1e-6, -1e-6)]
    if not any(isinstance(end, type) for end in ends) and abs(ends[0] - ends[1]) < 1e-2:
        slope = float(np.sum(found[1] * along))
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, slope, rtol=1e-4, atol=1e-3, err_msg=text)
    return 1


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(seed) for seed in range(16)) > 6
