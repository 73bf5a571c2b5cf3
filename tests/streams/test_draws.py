"""Each way to draw: the numbers and the state of plain Python, bit for bit, and derivatives along the variates."""

import numpy as np
import pytest

import diffjit as dj
from tests.streams.draws import CASES, MAKERS, state_of

X, Y, STEP = 1.3, 0.7, 1e-6


@pytest.fixture(params=["numba", "python"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", request.param)
    return request.param


@pytest.mark.parametrize(("cls", "name", "f", "kind"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_numbers_state_and_gradient(cls, name, f, kind):
    def program(x, y, r):
        return f(r, x, y)

    def total(x, y, r):
        return np.sum(f(r, x, y))

    ours, theirs = MAKERS[cls](1), MAKERS[cls](1)
    found, wanted = dj.jit(program)(X, Y, ours), program(X, Y, theirs)
    assert np.array_equal(found, wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    assert type(found) is type(wanted) or not isinstance(wanted, float)
    assert state_of(ours) == state_of(theirs)

    ours = MAKERS[cls](1)
    gradient = dj.grad(total, argnums=(0, 1))(X, Y, ours)
    assert state_of(ours) == state_of(theirs)
    if kind == "path":

        def at(x, y):
            return float(total(x, y, MAKERS[cls](1)))

        by_x = (at(X + STEP, Y) - at(X - STEP, Y)) / (2 * STEP)
        by_y = (at(X, Y + STEP) - at(X, Y - STEP)) / (2 * STEP)
        np.testing.assert_allclose(gradient, (by_x, by_y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_bit_generators(bits):
    def program(x, rng):
        total = x * rng.normal() + rng.integers(7)
        for _ in range(400):
            total += rng.random() + rng.standard_gamma(x) + rng.integers(0, 1000)
        return total + np.sum(rng.normal(size=11))

    ours, theirs = (np.random.Generator(getattr(np.random, bits)(3)) for _ in range(2))
    for _ in range(2):
        assert dj.jit(program)(1.7, ours) == program(1.7, theirs)
        assert state_of(ours) == state_of(theirs)


def test_normal_variates_come_in_pairs():
    def program(x, a, b):
        return x * a.randn() + b.gauss(x, 1.0)

    ours, theirs = (MAKERS["RandomState"](2), MAKERS["Random"](2)), (MAKERS["RandomState"](2), MAKERS["Random"](2))
    for _ in range(5):
        assert dj.jit(program)(1.7, *ours) == program(1.7, *theirs)
        assert [state_of(s) for s in ours] == [state_of(s) for s in theirs]


@pytest.mark.parametrize("cls", ["Generator", "RandomState"])
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("normal", (0.0, -1.0)), ("normal", ([0.0, 1.0], [1.0, -1.0])), ("gamma", (-1.0, 1.0)), ("gamma", (1.0, -1.0)),
        ("exponential", (-0.0,)), ("beta", (0.0, 1.0)), ("f", (0.0, 1.0)), ("chisquare", ([1.0, -1.0],)),
        ("power", (0.0,)), ("pareto", (0.0,)), ("weibull", (-1.0,)), ("standard_t", (0.0,)), ("lognormal", (0.0, -1.0)),
        ("poisson", (-1.0,)), ("poisson", (1e30,)), ("vonmises", (0.0, -1.0)), ("wald", (-1.0, 1.0)),
        ("wald", (1.0, 0.0)), ("triangular", (1.0, 0.0, 2.0)), ("triangular", (1.0, 3.0, 2.0)),
        ("triangular", (1.0, 1.0, 1.0)), ("noncentral_chisquare", (0.0, 1.0)), ("noncentral_f", (1.0, 1.0, -1.0)),
        ("uniform", (0.0, np.inf)),
        ("binomial", (10, 1.5)), ("binomial", (-1, 0.5)),
        ("multinomial", (3, [0.9, 0.9, 0.1])), ("zipf", (0.5,)),
        ("choice", (0,)), ("dirichlet", ([-1.0, 1.0],)),
    ],
)  # fmt: skip
def test_errors_are_numpys(cls, name, args):
    def program(x, r):
        first = r.standard_normal()
        return first + x * np.sum(getattr(r, name)(*args))

    ours, theirs = MAKERS[cls](1), MAKERS[cls](1)
    with pytest.raises(ValueError if name != "uniform" else OverflowError) as wanted:
        program(1.0, theirs)
    for f in (dj.jit(program), dj.grad(program)):
        with pytest.raises(wanted.type) as found:
            f(1.0, ours)
        assert str(found.value) == str(wanted.value)
        assert state_of(ours) == state_of(theirs)
        ours = MAKERS[cls](1)


def test_errors_of_parameters_can_be_caught():
    def program(x, rng):
        try:
            return rng.normal(0.0, x)
        except ValueError:
            return 2.0 * x + rng.random()

    ours, theirs = MAKERS["Generator"](1), MAKERS["Generator"](1)
    for x in (1.0, -1.0):
        assert dj.jit(program)(x, ours) == program(x, theirs)
    assert state_of(ours) == state_of(theirs)


def test_what_has_no_derivative_is_refused():
    def program(x, rng):
        return rng.wald(x, 1.0)

    assert dj.jit(program)(2.0, MAKERS["Generator"](1)) == program(2.0, MAKERS["Generator"](1))
    with pytest.raises(dj.DiffjitError, match=r"(?s)DJ205.*`wald`.*rng.wald\(x, 1.0\)"):
        dj.grad(program)(2.0, MAKERS["Generator"](1))


@pytest.mark.parametrize("what", ["spawn(1)", "permuted(np.arange(3.0))", "bytes(3)", "no_such_method()"])
def test_methods_that_are_refused(what):
    program = {
        "spawn(1)": lambda x, rng: x * len(rng.spawn(1)),
        "permuted(np.arange(3.0))": lambda x, rng: x * rng.permuted(np.arange(3.0)),
        "bytes(3)": lambda x, rng: x * len(rng.bytes(3)),
        "no_such_method()": lambda x, rng: x * rng.no_such_method(),
    }[what]
    with pytest.raises((dj.DiffjitError, AttributeError), match=r"DJ118|DJ317"):
        dj.jit(program)(1.0, MAKERS["Generator"](1))


def test_parameters_in_small_arrays_stop_inside_loops():
    """Arrays that machine code takes apart into numbers, and functions without source that get them whole."""

    def program(x, y, n, rng):
        total = 0.0
        for k in range(n):
            total += np.sum(rng.gamma([x, y * (k + 1.0)], 2.0)) + np.sum(rng.dirichlet([x, y, 1.5]) ** 2) * total
        return total

    args = X, Y, 5, MAKERS["Generator"](1)
    gradient = dj.grad(program, argnums=(0, 1))(*args)
    tangent = dj.jvp(program, (X, Y, 5, MAKERS["Generator"](1)), (1.0, 0.0, 0, None))[1]
    np.testing.assert_allclose(gradient[0], tangent)


def test_a_vector_and_a_number_are_drawn_for_apart():
    def program(x, rng):
        return np.sum(rng.gamma(np.array([x, 1.0]), 1.0, size=2)) + np.sum(rng.gamma(x, 1.0, size=2))

    assert dj.jit(program)(X, MAKERS["RandomState"](1)) == program(X, MAKERS["RandomState"](1))
