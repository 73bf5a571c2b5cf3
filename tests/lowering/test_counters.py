"""Integers that loops move by small constants need no test for overflow; others have it."""

import numpy as np
import pytest

import diffjit as dj


def packed(v, d):
    total = 0.0
    at = 0
    back = 100
    for p in range(d):
        for q in range(p):
            if q % 2 == 0:
                total += v[at] * (p - q)
                at += 1
            else:
                at = at + 2
                total -= v[at - 1]
            back -= 3
    n = 0
    while n < d:
        n += 2
    return total + at + back + n


def test_counters_are_plain_additions():
    v = np.arange(60.0)
    text = dj.source(dj.jit(packed), v, 8, stage="lowered")
    assert "add_exact" not in text
    assert "subtract_exact" not in text
    assert dj.jit(packed)(v, 8) == packed(v, 8)


def leaps(n):
    at = 0
    for _ in range(n):
        at += 2**62
    return at


def doubles(n):
    at = 1
    for _ in range(n):
        at = at + at
    return at


def starts_far(n):
    at = 9_223_372_036_854_775_806
    for _ in range(n):
        at += 1
    return at


@pytest.mark.parametrize("f", [leaps, doubles, starts_far])
def test_what_overflows_still_says_so(f):
    assert dj.jit(f)(1) == f(1)
    with pytest.raises(OverflowError):
        dj.jit(f)(70)


def upwards(x, n):
    s = 0.0
    for i in range(2, n):
        s = s * 0.5 + x[i] ** 2
    return s


def from_there(x, n):
    s = 0.0
    for i in range(n, 5):
        s = s * 0.5 + x[i] ** 2
    return s


def downwards(x, n):
    s = 0.0
    for i in range(5, n, -1):
        s = s * 0.5 + x[i] ** 2
    return s


def in_threes(x, n):
    s = 0.0
    for i in range(n, 5, 3):
        s = s * 0.5 + x[i] ** 2
    return s


def in_any_steps(x, n):
    s = 0.0
    for i in range(1, 5, n):
        s = s * 0.5 + x[i] ** 2
    return s


def outcome(function, n):
    try:
        return function(np.arange(6.0), n)
    except (IndexError, ValueError) as error:
        return str(error).splitlines()[0]


FAR = (-(2**63), -(2**63) + 1, -(2**62), -7, 0, 4, 2**62, 2**63 - 2, 2**63 - 1)


@pytest.mark.parametrize("f", [upwards, from_there, downwards, in_threes, in_any_steps])
def test_loops_between_bounds_that_lie_far_apart(f):
    """The number of turns may need more than 64 bits: compiled code turns as often as Python."""
    compiled, gradient = dj.jit(f), dj.grad(f)
    for n in FAR:
        want = outcome(f, n)
        assert outcome(compiled, n) == want, n
        try:
            found = outcome(gradient, n)
        except OverflowError:  # the way back begins or ends beyond 64 bits: allowed, and no other number
            assert abs(n) >= 2**62
            continue
        if isinstance(want, str):
            assert found == want, n
        else:
            x, step = np.arange(6.0), 1e-6
            quotients = [(f(x + step * e, n) - f(x - step * e, n)) / (2 * step) for e in np.eye(6)]
            np.testing.assert_allclose(found, quotients, atol=1e-7)


def turns_in_leaps(x, first, last):
    s = 0.0
    for _ in range(first, last, 2**62):
        s += x
    return s


def test_a_range_of_all_integers():
    bounds = -(2**63), 2**63 - 1
    assert dj.jit(turns_in_leaps)(1.5, *bounds) == turns_in_leaps(1.5, *bounds) == 6.0
    with pytest.raises(OverflowError):
        dj.grad(turns_in_leaps)(1.5, *bounds)
