"""Iterators that were made outside: a program that is built once cannot say what later calls would find in them."""

import itertools

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.7, 1.3, 0.4])
MADE = {
    "chain": lambda: itertools.chain([1.0], [2.0]),
    "count": lambda: itertools.count(1),
    "cycle": lambda: itertools.cycle([1.0, 2.0]),
    "iter": lambda: iter([1.0, 2.0]),
    "generator": lambda: (float(k) for k in range(3)),
    "zip": lambda: zip([1.0], strict=True),
}


def beside(x, items):
    total = 0.0
    for a, b in zip(items, x, strict=False):
        total += a * b
    return total


def alone(x, items):
    total = 0.0
    for a in items:
        total += a * x[0]
    return total


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("program", [beside, alone])
def test_arguments_are_refused(program, made):
    with pytest.raises(dj.UnsupportedSyntax, match="DJ115") as caught:
        dj.grad(program)(X, made())
    assert "list(...)" in str(caught.value)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_those_outside_are_refused(made):
    items = made()
    with pytest.raises(dj.UnsupportedSyntax, match="DJ115"):
        dj.grad(lambda x: alone(x, items))(X)


def test_what_is_listed_is_taken():
    np.testing.assert_allclose(dj.grad(beside)(X, list(itertools.chain([1.0], [2.0]))), [1.0, 2.0, 0.0])
    np.testing.assert_allclose(dj.grad(lambda x: beside(x, range(1, 4)))(X), [1.0, 2.0, 3.0])
