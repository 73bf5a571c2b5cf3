"""What shifted parts add to one array in one go, arrays computed again, and stacks in the frame of who makes them."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.settings import settings
from tests.lowering.stencils import tried


@pytest.fixture
def plainly(monkeypatch):
    """Runs a function without what could be left out."""

    def run(function):
        with monkeypatch.context() as m:
            m.setattr(settings, "plain", True)
            return function()

    return run


U = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 12))


def lowered(function, *args):
    return dj.source(function, *args, stage="lowered")


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.slow) for k in range(12, 200))])
def test_random_programs(seed):
    tried(seed)


@pytest.mark.parametrize(
    "seed", [1005, 1023, 1058, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1060, 1200))]
)
def test_random_multiples(seed):
    tried(seed)


@pytest.mark.parametrize(
    "seed", [2005, 2028, 2035, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2036, 2100))]
)
def test_random_parts_read_again(seed):
    tried(seed)


@pytest.mark.parametrize("seed", range(300, 304))
def test_random_programs_checked(seed, monkeypatch):
    monkeypatch.setattr(settings, "checked", True)
    tried(seed)


def blurred(u):
    for _ in range(3):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return np.sum(u * u)


def test_a_stencil_adds_once(plainly):
    text = lowered(dj.grad(blurred), U)
    assert text.count("add_shifted_0_") == 2  # where it is defined, and where it is called
    assert "add_into(" not in text
    assert "add_shifted" not in plainly(lambda: lowered(dj.grad(blurred), U))
    np.testing.assert_allclose(dj.grad(blurred)(U), plainly(lambda: dj.grad(blurred)(U)), rtol=1e-13)


def test_empty_parts():
    for shape in ((2, 5), (5, 2), (1, 1), (2, 2), (3, 3)):
        u = np.ones(shape)
        np.testing.assert_allclose(dj.grad(blurred)(u), dj.grad(blurred, backend="python")(u), rtol=1e-13)


def test_what_reads_in_between_stays_in_between():
    def f(u):
        u = np.sin(u)
        total = np.sum((u[:-2] + u[2:]) ** 2)
        u[:40] = 3.0 * u[10:50]
        return total + np.sum((u[2:] + u[:-2]) ** 2)

    x = np.linspace(0.1, 1.5, 60)
    assert "add_shifted" in lowered(dj.grad(f), x)
    np.testing.assert_allclose(dj.grad(f)(x), dj.grad(f, backend="python")(x), rtol=1e-12)


def normalised(q):
    q = np.array(q)
    q /= np.linalg.norm(q)
    return q


def test_what_is_added_to_itself_is_no_multiple():
    """Cotangents that begin as a multiple of an array, and to which others are added."""

    def f(x):
        a = normalised(x[:3])
        return a[1] * a[0] + (2.0 * normalised(x[:3])).sum()

    x, step = np.linspace(0.3, 0.9, 7) ** 2, 1e-5
    gradient = dj.grad(f, backend="python")
    wanted = [(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(7)]
    for second in (dj.hessian(f), dj.jacfwd(dj.grad(f))):
        np.testing.assert_allclose(second(x), wanted, rtol=1e-6, atol=1e-6)


def distances(x, y):
    d = x[:, None, :] - y[None, :, :]
    r = np.sum(d * d, axis=2)
    return np.sum(np.exp(-r)) + np.sum(np.sum(d, axis=1) ** 2)


def test_differences_of_all_pairs_are_not_kept():
    x, y = U[:, :3], U[:5, 3:6]
    text = lowered(dj.grad(distances, (0, 1)), x, y)
    assert "empty_float64((n_, n2_, 3))" not in text
    for a, b in zip(dj.grad(distances, (0, 1))(x, y), dj.grad(distances, (0, 1), backend="python")(x, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_operands_that_change_are_not_read_again():
    def f(x, y):
        x = x + 0.0
        d = x[:, None] * y[None, :]
        s = np.sum(d * d)
        x[0] = 10.0
        return s + np.sum(np.sin(d))

    x, y = np.linspace(0.5, 1.5, 40), np.linspace(0.3, 1.1, 30)
    d = np.outer(x, y)
    assert dj.jit(f)(x.copy(), y) == pytest.approx(np.sum(d * d) + np.sum(np.sin(d)), rel=1e-14)


def test_a_multiple_of_one_array_is_not_kept():
    def f(x):
        z = 3.0 * x
        t = z - 1.0  # of what is computed again itself
        r = np.sum(np.cos(z)) / np.sum(t)
        return np.sum((z - r) ** 2) + np.sum((t + r) ** 3)

    x = np.linspace(0.3, 1.4, 60)
    assert lowered(f, x).count(" = empty_float64(") == 1  # t, but not z
    assert dj.jit(f)(x) == pytest.approx(f(x), rel=1e-14)


def test_what_may_raise_is_not_moved():
    def f(x, y, c, log):
        a, b = x[:, :c], y[:, : c + 1]
        d = a[:, None, :] - b[None, :, :]
        log[0] = 1.0
        return np.sum(d * d) + np.sum(np.sin(d))

    log = np.zeros(2)
    with pytest.raises(ValueError, match="broadcast"):
        dj.jit(f)(np.ones((40, 10)), np.ones((30, 10)), 3, log)
    assert log[0] == 0.0


def decays(x, limit):
    total, k = 0.0, 0
    while x > limit:
        y = x
        for _ in range(k % 3):
            y = y * np.cos(y)
        total += y * x
        x = x - 0.01 * x * x
        k += 1
    return total


def test_stacks_of_numbers_are_in_the_frame(plainly):
    text = lowered(dj.grad(decays), 1.0, 0.05)
    assert "lists.new_stack" in text
    assert 'lists.new_list("float64")' not in text
    assert "lists.new_stack" not in plainly(lambda: lowered(dj.grad(decays), 1.0, 0.05))
    for limit in (1.5, 0.985, 0.501, 0.0201):  # none, one, and more items than there is room for at first
        step = 1e-6
        quotient = (decays(1.0 + step, limit) - decays(1.0 - step, limit)) / (2 * step)
        assert dj.grad(decays)(1.0, limit) == pytest.approx(quotient, rel=1e-5, abs=1e-6)
        assert dj.grad(decays)(1.0, limit) == dj.grad(decays, backend="python")(1.0, limit)


def test_stacks_that_leave_are_lists():
    value, pullback = dj.vjp(decays, 1.0, 0.5)
    assert value == decays(1.0, 0.5)
    assert pullback(1.0)[0] == dj.grad(decays)(1.0, 0.5)
    second = dj.grad(dj.grad(decays))(1.0, 0.5)
    assert second == pytest.approx(dj.grad(dj.grad(decays, backend="python"), backend="python")(1.0, 0.5), rel=1e-12)
