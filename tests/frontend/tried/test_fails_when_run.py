"""What cannot work on one path, and what only one of several forms allows: it fails where that path is taken."""

import enum

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import TypeProblem, UnsupportedSyntax

BACKENDS = ["python", "numba"]
X = np.array([1.0, 2.0, 3.0])


def sum_of_the_last(x, n):
    """What the last turn reads is None in the first one, which is the last for n = 1."""
    last, total = None, 0.0
    for i in range(n):
        now = np.sin(x * i)
        if total > 100.0 or i == n - 1:
            total += np.sum(last[:2])
            break
        last = now
        total += np.sum(now)
    return total


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_slice_of_none(backend):
    for n in (2, 3, 5):
        assert dj.jit(sum_of_the_last, backend=backend)(X, n) == pytest.approx(sum_of_the_last(X, n), rel=1e-14)
    slope = (sum_of_the_last(X * (1 + 1e-6), 3) - sum_of_the_last(X * (1 - 1e-6), 3)) / 2e-6
    assert np.sum(X * dj.grad(sum_of_the_last, backend=backend)(X, 3)) == pytest.approx(slope, rel=1e-8)
    with pytest.raises(TypeError):
        dj.jit(sum_of_the_last, backend=backend)(X, 1)


def half_wrong(x):
    if x > 0.0:
        return 2.0 * x
    return x + None


@pytest.mark.parametrize("backend", BACKENDS)
def test_none_in_a_branch(backend):
    grad = dj.grad(half_wrong, backend=backend)
    assert grad(1.0) == 2.0
    with pytest.raises(TypeError):
        grad(-1.0)


def test_what_fails_always_is_refused_at_once():
    with pytest.raises(TypeProblem):
        dj.grad(lambda x: x + None)(1.0)


def parameters(theta, order=2):
    """Two numbers or three."""
    if order == 2:
        return 1.0 - theta**2, (1.0 - theta) ** 2
    if order == 3:
        return 1.0 - theta**3, theta, theta**2
    raise ValueError("order")


def two_of_them(theta, order):
    g, h = parameters(theta, order)
    return g * h


def two_by_default(theta):
    g, h = parameters(theta)
    return g * h


@pytest.mark.parametrize("backend", BACKENDS)
def test_tuples_of_different_lengths(backend):
    slope = (two_by_default(0.6 + 1e-6) - two_by_default(0.6 - 1e-6)) / 2e-6
    assert dj.grad(two_by_default, backend=backend)(0.6) == pytest.approx(slope, rel=1e-8)
    assert dj.grad(two_of_them, backend=backend)(0.6, 2) == pytest.approx(slope, rel=1e-8)
    with pytest.raises(ValueError, match="unpack"):
        dj.grad(two_of_them, backend=backend)(0.6, 3)


def mode(x):
    """A list, or None where there is none."""
    if x < 0.0:
        return None
    return ["a", "b"]


def over_both(x):
    best = None
    for candidate in (x, -x):
        found = mode(candidate)
        if found is not None:
            best = found
    total = 0.0
    for name, factor in zip(best, [x, x * x], strict=True):
        total += factor if name == "a" else 3.0 * factor
    return total


@pytest.mark.parametrize("backend", BACKENDS)
def test_zip_of_what_may_be_none(backend):
    assert dj.grad(over_both, backend=backend)(2.0) == pytest.approx(13.0)


class Fit:
    def __init__(self, data):
        self.weights = None
        self.fit(data)

    def fit(self, data):
        for column, _ in enumerate(data[0]):
            new = np.sin(data[:, column])
            if self.weights is None:
                self.weights = np.asarray(new)
            else:
                self.weights = np.vstack([self.weights, new])


def fitted(data):
    made = Fit(data)
    return np.sum(made.weights**2) * len(made.weights[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_attribute_that_is_none_until_a_loop_runs(backend):
    data = np.random.default_rng(0).normal(size=(5, 7))
    np.testing.assert_allclose(
        dj.grad(fitted, backend=backend)(data), 2 * len(data) * np.sin(data) * np.cos(data), rtol=1e-12
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_range_is_an_array_beside_one(backend):
    def positions(x):
        return np.sum(((x + range(len(x))) / len(x)) ** 2)

    np.testing.assert_allclose(dj.grad(positions, backend=backend)(X), 2 * (X + np.arange(3)) / 9, rtol=1e-14)


def given_by_letters(a, b):
    """Which of the numbers are given is a text, which is empty where none are."""
    letters = ""
    if a > 0.0 and b > 0.0:
        letters = "ab"
    elif b > 0.0:
        letters = "bb"
    given = {"a": a, "b": b}
    return given[letters[0]] * given[letters[1]] ** 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_letter_that_is_not_there(backend):
    f = dj.value_and_grad(given_by_letters, argnums=(0, 1), backend=backend)
    assert f(2.0, 3.0) == (18.0, (9.0, 12.0))
    assert f(-2.0, 3.0) == (27.0, (0.0, 27.0))
    with pytest.raises(IndexError, match="string index out of range"):
        f(-2.0, -3.0)


class Kind(enum.Enum):
    LINEAR = 1.0
    SQUARE = 2.0


def by_name(x, name):
    try:
        return x ** Kind[name].value
    except KeyError:
        return -x


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_member_that_is_not_there(backend):
    grad = dj.grad(by_name, backend=backend)
    assert [grad(3.0, name) for name in ("SQUARE", "CUBE")] == [6.0, -1.0]
    with pytest.raises(KeyError, match="CUBE"):
        dj.grad(lambda x: x * Kind["CUBE"].value, backend=backend)(3.0)
    with pytest.raises(TypeError, match="string indices must be integers"):
        dj.grad(lambda x, key: x * len("abc"[key]), backend=backend)(3.0, "b")


def unbound_in_a_branch(x, n):
    twice = 2.0 * x
    if n > 2.5:
        del twice
        x = x + twice
    return x, twice


def test_a_refusal_in_a_branch_is_not_blamed_for_another_one():
    def refused(x, n):
        y, z = unbound_in_a_branch(x, n)
        return y * z if y is z else z

    with pytest.raises(UnsupportedSyntax, match="DJ121"):
        dj.grad(refused, backend="python")(1.0, 1.0)
    alone = dj.grad(lambda x, n: unbound_in_a_branch(x, n)[0], backend="python")
    assert alone(1.0, 1.0) == 1.0
