"""Which loops run in batches of turns, and that nobody can tell."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.transforms import pipeline


def in_batches(f, args):
    """Whether a loop of a program runs in batches."""
    return "for batch in range(" in dj.source(dj.jit(f), *args, stage="lowered")


def triangle(x, low):
    total = 0.0
    for i in range(len(x)):
        y = 1.0 * x[i]
        at = 0
        for j in range(x.shape[1]):
            for m in range(j + 1, x.shape[1]):
                y[m] += low[at] * x[i, j]
                at += 1
        total += np.log(1.0 + np.sum(y * y))
    return total


def nearest(x, low):
    total = 0.0
    for i in range(len(x)):
        best = np.inf
        for k in range(3):
            gap = 0.0
            for j in range(x.shape[1]):
                gap += (x[i, j] - low[k + j]) ** 2
            best = min(best, gap)
        total += best
    return total


def rows(x, low):
    out = np.ones((len(x), x.shape[1]))
    for i in range(len(x)):
        own = out[i]
        for j in range(1, x.shape[1]):
            own[j] += np.sin(x[i, j]) * own[j - 1]
        out[i, 0] *= x[i] @ low[: x.shape[1]]
    return np.sum(out * out)


def scratch(x, low):
    terms = np.empty(len(low))
    total = 0.0
    for i in range(len(x)):
        for k in range(len(low)):
            terms[k] = np.sum((x[i] - low[k]) ** 2)
        top = np.max(terms)
        total += top + np.log(np.sum(np.exp(terms - top)))
    return total


def neighbours(x, low):
    total = 0.0
    for i in range(1, len(x) - 1):
        s = 0.0
        for j in range(x.shape[1]):
            s = 0.5 * s + (x[i - 1, j] - 2.0 * x[i, j] + x[i + 1, j]) * low[j]
        if s > 0.0:
            s = np.sqrt(1.0 + s) - 1.0
        total += s * i
    return total


def turned_round(x, low):
    total = 0.0
    for i in range(len(x)):
        y = np.sin(x[i])
        for j in range(x.shape[1] // 2):
            held = y[j]
            y[j] = y[-1 - j]
            y[-1 - j] = held * low[j]
        total += y[0] * y[1] + y[3] ** 2
    return total


def waves(x, low):
    total, most = 0.0, -np.inf
    for i in range(len(x)):
        a = np.exp(-x[i, 0]) * np.sin(low[0] * i) + x[i, 1]
        if a > 0.9:
            a = 0.9 * np.log(a / 0.9) + 0.9
        total += a * np.tanh(x[i, 0])
        most = np.maximum(most, a)
    return total * most


def guarded(x, low):
    total, first = 0.0, x[:, 0]
    for i in range(len(x)):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * low[j]
        if i > 0:
            s += first[i - 1]
        total += s * s
    return total


BATCHED = [triangle, nearest, rows, scratch, neighbours, turned_round, waves]


def arguments(n, d=5):
    rng = np.random.default_rng(n)
    return rng.uniform(0.1, 1.0, (n, d)), rng.uniform(0.1, 1.0, d * (d - 1) // 2)


@pytest.mark.parametrize("n", [3, 30, 64, 65])
@pytest.mark.parametrize("f", [*BATCHED, guarded], ids=lambda f: f.__name__)
def test_values_and_derivatives(f, n):
    x, low = arguments(n)
    args = (x, 3.0 * np.arange(10.0)[::-1] if f is nearest else low)  # far from where another one is the nearest
    np.testing.assert_allclose(dj.jit(f)(*args), f(*args), rtol=1e-12)
    dj.check_grads(f, args, order=2 if n == 30 and f in (triangle, waves) else 1)


@pytest.mark.parametrize("f", [*BATCHED, guarded], ids=lambda f: f.__name__)
def test_which_loops_run_in_batches(f):
    assert in_batches(f, arguments(30)) == (f is not guarded)


@pytest.mark.parametrize("f", BATCHED, ids=lambda f: f.__name__)
def test_long_rows_run_as_they_are(f):
    x, low = arguments(40, 90)
    args = (x, low[:20] if f is scratch else low)
    np.testing.assert_allclose(dj.jit(f)(*args), f(*args), rtol=1e-12)
    dj.check_grads(f, args, order=1)


def test_slopes_are_those_of_jax():
    jax = pytest.importorskip("jax")

    def program(x, low):
        y = x[:, None, :] - low[:, None]
        terms = jax.numpy.sum(y**2, axis=2)
        return jax.numpy.sum(jax.scipy.special.logsumexp(terms, axis=1))

    args = arguments(100)
    wanted = jax.grad(program, argnums=(0, 1))(*args)
    for got, right in zip(dj.grad(scratch, argnums=(0, 1))(*args), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12)


def after(x, v):
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * v[j]
        out[i] = 0.5 * out[i - 1] + s
    return np.sum(out)


def to_one_place(x, v):
    out = np.zeros(3)
    for i in range(len(x)):
        for j in range(x.shape[1]):
            out[0] = 0.5 * out[0] + x[i, j] * v[j]
    return out[0]


def half_filled(x, v):
    held = np.zeros(x.shape[1])
    total = 0.0
    for i in range(len(x)):
        for j in range(x.shape[1] - 1):
            held[j + 1] = held[j] * 0.5 + x[i, j] * v[j]
        total += np.sum(held)
    return total


def filled_but_for_one(x, v):
    held = np.zeros(x.shape[1])
    total = 0.0
    for i in range(len(x)):
        for j in range(x.shape[1] - 1):
            held[j] = x[i, j] * v[j]
        total += np.sum(held)
        held[-1] = x[i, 0]
    return total


def read_behind(x, v):
    held = np.zeros(x.shape[1])
    total = 0.0
    for i in range(len(x)):
        for j in range(x.shape[1]):
            held[j] = x[i, j] * v[j]
        total += np.sum(held)
    return total + held[0]


@pytest.mark.parametrize(
    "f", [after, to_one_place, half_filled, filled_but_for_one, read_behind], ids=lambda f: f.__name__
)
def test_turns_that_meet_run_one_after_the_other(f):
    args = arguments(70)
    np.testing.assert_allclose(dj.jit(f)(*args), f(*args), rtol=1e-12)
    dj.check_grads(f, args, order=1)
    assert not in_batches(f, args)


def beyond(x, v):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(x.shape[1]):
            out[i] += x[i, j] * v[j + 6]
    return np.sum(out)


def unlike(x, v):
    total = 0.0
    for i in range(len(x)):
        y = np.zeros(len(v) - 1)
        for j in range(x.shape[1]):
            y[j] = x[i, j]
        total += np.sum(y + v)
    return total


@pytest.mark.parametrize("f", [beyond, unlike], ids=lambda f: f.__name__)
def test_errors_are_those_of_numpy(f):
    args = arguments(70)
    with pytest.raises(Exception) as wanted:
        f(*args)
    for run in (dj.jit(f), dj.grad(f)):
        with pytest.raises(wanted.type):
            run(*args)


def test_arguments_are_changed_up_to_the_error():
    def f(x, out):
        for i in range(len(x)):
            s = 0.0
            for j in range(x.shape[1]):
                s += x[i, j]
            out[i] = s
            if i == 40:
                out[i + 1000] = s

    x = arguments(70)[0]
    after_jit, after_plain = np.zeros(70), np.zeros(70)
    for run, out in ((dj.jit(f), after_jit), (f, after_plain)):
        with pytest.raises(IndexError):
            run(x, out)
    np.testing.assert_allclose(after_jit, after_plain)


def test_threads_give_the_same_bits(monkeypatch):
    def f(x, low):
        out = np.zeros(len(x))
        for i in range(len(x)):
            y = np.zeros(x.shape[1])
            for j in range(x.shape[1]):
                for m in range(j, x.shape[1]):
                    y[m] += low[j] * x[i, j]
            out[i] = np.sum(np.tanh(y))
        return out

    args = arguments(5000)
    gradient = dj.grad(lambda *a: np.sum(f(*a) ** 2), argnums=(0, 1))
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(dj.settings, "threads", threads)
        found.append([dj.jit(f)(*args), *gradient(*args)])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(found[0][0][-40:], f(args[0][-40:], args[1]), rtol=1e-12)


def side_by_side(x):
    out = np.ones(len(x))
    for i in range(len(x) // 8):
        out[8 * i : 8 * i + 8] *= 1.0 + x[8 * i]
    return out


def overlap(x):
    out = np.ones(len(x))
    for i in range(len(x) // 8):
        out[8 * i : 8 * i + 9] *= 1.0 + x[8 * i]
    return out


@pytest.mark.parametrize("f", [side_by_side, overlap], ids=lambda f: f.__name__)
def test_threads_take_slices_that_do_not_meet(f):
    x = np.linspace(0.0, 1.0, 40_003)
    np.testing.assert_allclose(dj.jit(f)(x), f(x), rtol=1e-14)
    assert ("run_turns" in dj.source(dj.jit(f), x, stage="lowered")) == (f is side_by_side)


def test_a_device_has_lanes_instead():
    assert "batches" not in {each.name for each in pipeline.LANES_APART}
