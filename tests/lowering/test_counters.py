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
