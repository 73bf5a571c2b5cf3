"""Loops that only add multiples of cotangents that are zero for all but few iterations are left out where they are."""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj

RNG = np.random.default_rng(11)
C, P = RNG.normal(size=(5, 6)), RNG.normal(size=(7, 6))


def nearest(centres, points):
    total = 0.0
    for i in range(points.shape[0]):
        best = np.inf
        for k in range(centres.shape[0]):
            distance = 0.0
            for j in range(points.shape[1]):
                gap = points[i, j] - centres[k, j]
                distance += gap * gap
            best = min(best, distance)
        total += best
    return total


class Writer:
    """Draws nests in which a minimum, a maximum or a branch lets few cotangents through."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def term(self):
        return self.draw.choice([
            "a[k, j] * b[i, j]", "gap * gap", "np.sin(gap)", "gap ** 3 * s", "a[k, j] * t", "np.exp(-gap * gap)",
            "a[k, j] * a[0, j]", "a[k, 0] * b[i, j] / (2.0 + b[i, j] ** 2)",
        ])  # fmt: skip

    def text(self):
        inner = self.draw.choice(
            ["distance += {}", "distance += {}", "distance -= {}", "distance = distance * 0.9 + {}"]
        )
        after = self.draw.choice([
            ["best = min(best, distance)"], ["best = max(best, distance)"],
            ["if distance > best:", "    best = distance"],
            ["best += max(distance, 0.0)"], ["best += np.where(distance > 0.2, distance ** 2, 0.0)"],
            ["if distance < 0.4:", "    continue", "best += distance * t"],
            ["best += abs(distance) * (distance > 0.3)"],
            ["best = min(best, distance) if k != 1 else best", "t = min(t, distance * 0.3)"],
        ])  # fmt: skip
        lines = ["def f(a, b, s):", "    total = 0.0", "    t = s", "    for i in range(b.shape[0]):"]
        lines += [f"        best = {self.draw.choice(['0.1', 's', 'b[i, 0]'])}", "        for k in range(a.shape[0]):"]
        lines += ["            distance = 0.0", "            for j in range(a.shape[1]):"]
        lines += ["                gap = b[i, j] - a[k, j]"]
        if self.draw.random() < 0.3:
            lines += ["                if gap > 0.0:", f"                    {inner.format(self.term())}"]
        lines += [f"                {inner.format(self.term())}", *("            " + line for line in after)]
        if self.draw.random() < 0.3:
            lines += (
                ["            b[i, k % 3] = distance"] if self.draw.random() < 0.5 else ["            t = distance"]
            )
        lines += [f"        total += {self.draw.choice(['best', 'best * best', 'best * t', 'np.sin(best)'])}"]
        if self.draw.random() < 0.3:
            lines = [line.replace("def f(a, b, s):", "def f(a, b, s):\n    b = b * 1.0") for line in lines]
        return "\n".join([*lines, "    return total"]) + "\n"


def drawn(seed):
    text = Writer(seed).text()
    file = f"<skipped {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)  # noqa: S102
    return space["f"], text


def parted(f):
    return lambda z: f(z[:30].reshape(5, 6), z[30:72].reshape(7, 6).copy(), z[72])


def compare(seed):
    """1 if diffjit's slope and curvature are those that differences see, and those of the plain program."""
    f, text = drawn(seed)
    z = np.random.default_rng(seed).normal(size=73)
    g, along = parted(f), np.cos(np.arange(73.0))
    gradient = dj.grad(g)
    found = gradient(z)
    product = dj.jvp(gradient, (z,), (along,))[1]
    python = dj.grad(g, backend="python")
    np.testing.assert_allclose(found, python(z), rtol=1e-11, atol=1e-11, err_msg=text)
    again = dj.jvp(python, (z,), (along,))[1]
    np.testing.assert_allclose(product, again, rtol=1e-10, atol=1e-10, err_msg=text)
    rough, fine = ((g(z + d * along) - g(z - d * along)) / (2 * d) for d in (1e-5, 1e-6))
    if not np.isclose(rough, fine, rtol=1e-4, atol=1e-6):
        return 0
    assert found @ along == pytest.approx(rough, rel=1e-4, abs=1e-6), text
    bent = (gradient(z + 1e-6 * along) - gradient(z - 1e-6 * along)) / 2e-6
    if np.allclose(bent, (gradient(z + 1e-7 * along) - gradient(z - 1e-7 * along)) / 2e-7, rtol=1e-2, atol=1e-3):
        np.testing.assert_allclose(product, bent, rtol=1e-3, atol=1e-4, err_msg=text)
    return 1


@pytest.mark.parametrize("batch", range(3))
def test_random_programs(batch):
    assert sum(compare(100 * batch + seed) for seed in range(5)) > 3


def test_random_programs_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(7000 + seed) for seed in range(3)) > 1


def test_the_loop_of_all_but_the_nearest_is_left_out():
    text = dj.source(dj.grad(nearest), C, P, stage="lowered")
    assert "if distance_bar != 0.0:" in text


def test_curvature_asks_for_tangents_too():
    """Where a cotangent is zero and its tangent is not, the loop runs."""

    def f(x):
        total = 0.0
        for k in range(x.shape[0]):
            inner = 0.0
            for j in range(x.shape[0]):
                inner += x[j] * x[k]
            if inner > -1.0:
                total += inner**2
        return total

    x = np.array([1.0, -2.0, 0.5, 0.5, 3.0, -3.0])  # all sums are zero
    expected = np.array([(dj.grad(f)(x + h) - dj.grad(f)(x - h)) / 2e-5 for h in 1e-5 * np.eye(6)])
    along = dj.jit(lambda x, v: dj.jvp(dj.grad(f), (x,), (v,))[1])
    assert "!= 0.0" in dj.source(along, x, x, stage="lowered")
    np.testing.assert_allclose(along(x, x), expected @ x, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(dj.hessian(f)(x), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(dj.hessian(f)(x), dj.hessian(f, backend="python")(x), rtol=1e-12)


def test_zeros_times_what_is_not_finite_are_zero():
    points = P.copy()
    centres = C.copy()
    centres[2] = np.inf
    found = dj.grad(nearest)(centres, points)
    assert np.all(found[2] == 0.0)
    assert np.all(np.isfinite(found))


def test_numbers_of_the_program_are_multiplied_whatever_they_are():
    """Zero times infinity is no cotangent here."""

    def f(c, n):
        w = 0.0
        if c < 0:
            for _ in range(3):
                w += c
        s = 0.0
        for j in range(n):
            s += w * np.exp(1000.0 * j * c)
        return s

    with np.errstate(all="ignore"):
        assert np.isnan(f(1.0, 8))
    assert np.isnan(dj.jit(f, backend="numba")(1.0, 8))
    assert np.isnan(dj.jvp(f, (1.0, 8), (1.0, 0), backend="numba")).all()
    assert dj.jit(f, backend="numba")(-1.0, 3) == pytest.approx(f(-1.0, 3))
