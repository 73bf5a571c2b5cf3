"""`settings.nan_check`: the user's line where a number, tangent or cotangent first stops being finite."""

import jax
import numpy as np
import pytest

import diffjit as dj


@pytest.fixture(params=["python", "numba"])
def backend(request):
    return request.param


@pytest.fixture(autouse=True)
def _on(monkeypatch):
    monkeypatch.setattr(dj.settings, "nan_check", True)


def caught(run, *args):
    with pytest.raises(dj.NonFinite, match="DJ601") as found:
        run(*args)
    return found.value


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


def norm(x):
    square = np.sum(x * x)
    return np.sqrt(square)


def entropy(p):
    logs = np.log(p)
    return -np.sum(p * logs)


def soft(w):
    top = np.max(w)
    return top + np.log(np.sum(np.exp(w - top)))


def masked(x):
    return np.sum(np.where(x > 0, 2.0 * np.log(x), 0.0))


def march(u0, n):
    u = u0.copy()
    for _ in range(n):
        for i in range(u.size):
            root = np.sqrt(u[i])
            u[i] = root - 0.5
    return np.sum(u)


def test_a_cotangent(backend):
    error = caught(dj.grad(norm, backend=backend), np.zeros(20))
    assert (error.loc.file, error.loc.line) == (__file__, line_of(norm, 2))
    text = str(error)
    assert "cotangent of `square` became inf" in text
    assert "square = 0.0" in text
    assert "    return np.sqrt(square)\n" in text
    assert "^^^^^^^^^^^^^^^" in text
    assert isinstance(error, FloatingPointError)


@pytest.mark.parametrize("size", [3, 20])
def test_a_value_and_its_element(backend, size):
    p = np.linspace(0.5, 1.0, size)
    p[2] = 0.0
    for run in (dj.jit(entropy, backend=backend), dj.grad(entropy, backend=backend)):
        error = caught(run, p)
        assert error.loc.line == line_of(entropy, 1)
        assert "element [2] of `logs` became -inf" in str(error)
        assert "p = 0.0 (at [2])" in str(error)


def test_a_tangent(backend):
    def roots(x):
        root = np.sqrt(x)
        return np.sum(root)

    x = np.linspace(0.0, 1.0, 20)
    error = caught(lambda: dj.jvp(roots, (x,), (np.ones(20),), backend=backend))
    assert error.loc.line == line_of(roots, 1)
    assert "element [0] of the tangent of `root` became inf" in str(error)
    assert "tangent of `x` = 1.0 (at [0])" in str(error)


def test_in_loops_and_writes(backend):
    u = np.full(20, 0.7)
    u[7] = 0.3  # negative after one step
    error = caught(dj.grad(march, backend=backend), u, 3)
    assert error.loc.line == line_of(march, 4)
    assert "`root` became nan" in str(error)
    assert f"an element of u = {np.sqrt(np.sqrt(0.3) - 0.5) - 0.5:.6f}" in str(error)


def test_pullbacks_and_other_verbs(backend):
    x = np.zeros(20)
    _, pullback = dj.vjp(norm, x, backend=backend)
    assert caught(pullback, 1.0).loc.line == line_of(norm, 2)
    lanes = dj.vmap(dj.grad(norm), backend=backend)
    assert caught(lanes, np.stack([x + 1, x])).loc.line == line_of(norm, 2)

    def outer(x):
        return np.sum(dj.grad(norm)(x))

    assert caught(dj.jit(outer, backend=backend), x).loc.line == line_of(norm, 2)


def test_second_derivatives(backend):
    def f(x):
        return x**1.5

    assert dj.grad(f, backend=backend)(0.0) == 0.0
    error = caught(dj.grad(dj.grad(f), backend=backend), 0.0)
    assert error.loc.line == line_of(f, 1)


def test_infinities_that_come_in_pass(backend):
    w = np.array([1.0, -np.inf, 0.3, -np.inf, 2.0, 0.1, 0.2, 0.4, 0.9, 1.1, -2.0, 0.0, 0.5])
    g = dj.grad(soft, backend=backend)(w)
    np.testing.assert_allclose(g, jax.grad(jax.nn.logsumexp)(w), rtol=1e-6, atol=1e-7)


def test_nan_that_comes_in_passes(backend):
    x = np.linspace(0.0, 1.0, 20)
    x[3] = np.nan
    g = dj.grad(lambda x: np.nansum(x) * 2.0, backend=backend)(x)
    np.testing.assert_array_equal(g, np.where(np.isnan(x), 0.0, 2.0))
    assert np.isnan(dj.jit(lambda x: np.sum(x * x), backend=backend)(x))


def test_what_where_throws_away_passes(backend):
    x = np.linspace(-1.0, 1.0, 21)
    x[10] = 0.0
    expected = np.where(x > 0, 2.0 / np.where(x > 0, x, 1.0), 0.0)
    np.testing.assert_allclose(dj.grad(masked, backend=backend)(x), expected)
    tangent = dj.jvp(masked, (x,), (np.ones(21),), backend=backend)[1]
    np.testing.assert_allclose(tangent, np.sum(expected))


def test_nan_alone(backend, monkeypatch):
    monkeypatch.setattr(dj.settings, "nan_check", "nan")
    assert np.isneginf(dj.jit(lambda x: np.log(x) + 1.0, backend=backend)(0.0))
    assert np.isinf(dj.grad(lambda x: np.sqrt(x) + 1.0, backend=backend)(0.0))

    def difference(x):
        a = np.log(x)
        return a - 2 * a

    error = caught(dj.jit(difference, backend=backend), 0.0)
    assert error.loc.line == line_of(difference, 2)


def test_a_sum_of_cotangents_that_overflows(backend):
    def f(x):
        return 1e308 * x + 1e308 * (2 * x)

    error = caught(dj.grad(f, backend=backend), 1e-10)
    assert "cotangent of `x`" in str(error)


def test_inside_a_try_python_decides(backend):
    def f(x):
        try:
            y = 1.0 / x
        except ZeroDivisionError:
            y = 3.0 * x
        return y

    assert dj.grad(f, backend=backend)(0.0) == 3.0


def test_custom_rules_are_tested(backend):
    @dj.custom_vjp
    def clip(x):
        return x * x

    clip.defvjp(lambda x: (clip(x), x), lambda x, bar: (bar / x,))

    def model(x):
        y = clip(x)
        return 2.0 * y

    assert dj.grad(model, backend=backend)(2.0) == 1.0
    error = caught(dj.grad(model, backend=backend), 0.0)
    assert error.loc.file == __file__


def test_recursion(backend):
    def down(x, n):
        if n == 0:
            return np.log(x)
        return down(x - 0.5, n - 1) * 2.0

    assert caught(dj.jit(down, backend=backend), 1.0, 2).loc.line == line_of(down, 2)


def logs(z):
    w = np.log(z)
    return np.sum(np.abs(w))


def powers(z):
    size = abs(z)
    return size**1.5 * z.real


def test_complex_values_tangents_and_cotangents(backend):
    z = np.array([1j, 0j, 2.0])
    for run in (dj.jit(logs, backend=backend), dj.grad(logs, backend=backend)):
        error = caught(run, z)
        assert error.loc.line == line_of(logs, 1)
        assert "element [1] of `w` became (-inf+0j)" in str(error)
        assert "z = 0j (at [1])" in str(error)
    error = caught(lambda: dj.jvp(np.sqrt, (0j,), (1j,), backend=backend))
    assert "tangent" in str(error)

    def mixed(z):
        w = z * z
        s = (w * np.conj(w)).real
        return np.sqrt(s)

    error = caught(dj.grad(mixed, backend=backend), 0j)
    assert (error.loc.line, "cotangent of `s`" in str(error)) == (line_of(mixed, 3), True)
    assert dj.grad(logs, backend=backend)(np.array([1j, 3.0 + 0j])).dtype == complex
    assert np.isinf(dj.jit(logs, backend=backend)(np.array([1j, np.inf])))  # it came in


def test_complex_numbers_of_python(backend):
    assert dj.grad(powers, backend=backend)(3.0 + 4.0j) == pytest.approx(
        complex(jax.grad(powers)(3.0 + 4.0j)), rel=1e-5
    )


def test_switching_takes_effect_at_the_next_call(backend, monkeypatch):
    g = dj.grad(norm, backend=backend)
    caught(g, np.zeros(20))
    monkeypatch.setattr(dj.settings, "nan_check", False)
    assert g(np.zeros(20)).shape == (20,)
    monkeypatch.setattr(dj.settings, "nan_check", True)
    caught(g, np.zeros(20))


def test_off_costs_nothing(monkeypatch):
    monkeypatch.setattr(dj.settings, "nan_check", False)
    before = dj.source(dj.grad(march), np.ones(5), 2)
    monkeypatch.setattr(dj.settings, "nan_check", True)
    assert "isfinite" in dj.source(dj.grad(march), np.ones(5), 2)
    assert "isfinite" not in before
    monkeypatch.setattr(dj.settings, "nan_check", False)
    assert dj.source(dj.grad(march), np.ones(5), 2) == before


@pytest.mark.parametrize("wrong", ["inf", 3])
def test_no_such_level(wrong, monkeypatch):
    monkeypatch.setattr(dj.settings, "nan_check", wrong)
    with pytest.raises(dj.UsageError, match="DJ541"):
        dj.grad(norm)(np.ones(20))
