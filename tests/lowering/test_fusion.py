"""Which array statements share loops, and which accesses are proven to be within bounds: seen in the lowered text."""

import re

import numpy as np
import pytest

import diffjit as dj


def lowered(f, *args):
    """The body of the entry, without the head and the tables of lines."""
    return dj.source(f, *args, stage="lowered").split("@compiled")[-1].split("__diffjit_entry__")[0]


def nests(text):
    """How many outermost loops over arrays there are."""
    return len(re.findall(r"^    for \w+_ in range", text, re.MULTILINE))


def allocations(text):
    return len(re.findall(r"= empty_\w+\(", text))


def prices(spot, strike, time):
    spread = 0.3 * np.sqrt(time)
    d = np.log(spot / strike) / spread
    k = 1.0 / (1.0 + 0.2 * np.abs(d))
    tail = np.exp(-0.5 * d * d) * k * (0.3 + k * (0.2 + 0.1 * k))
    return np.sum(spot * tail - strike * np.where(d > 0, 1.0 - tail, tail))


def test_there_and_back_in_one_nest():
    """Only the gradients are arrays, and memory is read once."""
    x = np.linspace(0.5, 2.0, 10)
    text = lowered(dj.value_and_grad(prices, (0, 1, 2)), x, x + 0.1, x + 0.2)
    assert nests(text) == 1
    assert allocations(text) == 3
    assert "fitted" not in text


def test_lengths_that_may_differ_are_checked():
    """Arguments of other lengths than each other: the same program with tests."""
    x = np.linspace(0.5, 2.0, 10)
    f = dj.value_and_grad(prices, (0, 1, 2))
    assert np.shape(f(x, np.array([1.5]), x)[1][1]) == (1,)
    with pytest.raises(ValueError, match="broadcast"):
        f(x, x[:7], x)


def test_a_sum_in_between_needs_a_second_nest():
    def f(x):
        e = np.exp(x)
        return np.sum(np.sin(e / np.sum(e)))

    assert nests(lowered(dj.jit(f), np.ones(10))) == 2


def test_an_overlapping_write_waits():
    """What is read at other places than it is written is computed before."""

    def f(x):
        u = x * 1.0
        u[1:] = u[:-1] * 2.0 + u[1:]
        return np.sum(u)

    x = np.linspace(0.0, 1.0, 9)
    u = x.copy()
    u[1:] = u[:-1] * 2.0 + u[1:]
    assert dj.jit(f)(x) == pytest.approx(np.sum(u))
    assert "copy_into" in lowered(dj.jit(f), x)


def test_results_depend_on_no_order_of_shapes():
    """A first call with equal lengths, then with others, and back: each has its own text."""

    def f(x, w):
        return np.sum(x * w) + np.sum(w)

    g = dj.grad(f, (0, 1))
    x, w = np.linspace(1, 2, 6), np.linspace(2, 3, 6)
    for first, second in ((x, w), (x, w[:1]), (x, w)):
        a, b = g(first, second)
        np.testing.assert_allclose(a, np.broadcast_to(second, 6))
        np.testing.assert_allclose(b, (first + 1.0) if len(second) == 6 else [np.sum(first) + 1.0])


def neighbours(u):
    n, m = u.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
    return out


def triangle(a):
    n = a.shape[0]
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += a[i, j] * a[n - 1 - i, i - j - 1]
    return s


def conditions(a):
    s, k = 0.0, 0
    n = len(a)
    while k < n and a[k] < 10.0:
        if k > 0 and k + 2 < n:
            s += a[k - 1] * a[k + 2]
        k += 1
    return s


def downwards(a):
    s = 0.0
    for i in range(len(a) - 1, 0, -2):
        s += a[i] * a[i - 1]
    return s


def made_here(n):
    a = np.zeros(n + 2)
    for i in range(n):
        a[i + 2] = a[i] + a[i + 1] + i
    return a


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (neighbours, (np.ones((7, 8)),)),
        (triangle, (np.ones((6, 6)),)),
        (conditions, (np.ones(9),)),
        (downwards, (np.ones(9),)),
        (made_here, (5,)),
    ],
)
def test_proven_within_bounds(f, args):
    """No access by an index is left without a proof."""
    text = lowered(dj.jit(f), *args)
    assert ".inside[" in text
    for line in text.splitlines():
        assert "shape" in line or not re.search(r"\b(u|a|out|a_1)(\.wraps)?\[[^:\]]+\]", line), line


def beyond(a, k):
    s = 0.0
    for i in range(len(a)):
        s += a[i + k]
    return s


def one_too_far(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i + 1]
    return s


def other_length(a, b):
    s = 0.0
    for i in range(len(a)):
        s += b[i]
    return s


def changed_counter(a):
    s, k = 0.0, 0
    while k < len(a):
        k += 1
        s += a[k]
    return s


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (beyond, (np.ones(5), 1)),
        (one_too_far, (np.ones(5),)),
        (other_length, (np.ones(6), np.ones(5))),
        (changed_counter, (np.ones(5),)),
    ],
)
def test_what_is_not_proven_is_checked(f, args):
    with pytest.raises(IndexError):
        dj.jit(f)(*args)
    with pytest.raises(IndexError):
        dj.grad(f)(*args)


def test_lengths_that_were_equal_by_chance():
    """A proof that rests on equal lengths of two arguments holds for such calls alone."""
    f = dj.jit(other_length)
    assert f(np.ones(5), np.ones(5)) == 5.0
    assert f(np.ones(5), np.ones(7)) == 5.0
    with pytest.raises(IndexError):
        f(np.ones(7), np.ones(5))
    assert f(np.ones(7), np.ones(7)) == 7.0
