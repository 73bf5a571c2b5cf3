"""`itertools.batched` and `heapq.merge`: against plain Python and differences."""

import heapq
import itertools
import sys

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import along, of_one_number

X = np.array([3.0, 1.5, 2.0, 5.0, 7.0])
T = np.array([1.0, -0.5, 0.3, 2.0, -1.0])
both = pytest.mark.parametrize("backend", ["python", "numba"])
batches = pytest.mark.skipif(sys.version_info < (3, 12), reason="itertools.batched is new in Python 3.12")


def ranked(x):
    return sum(v * (k + 1) for k, v in enumerate(heapq.merge(sorted(x), [1.0, 2.5], sorted(x * x))))


def falling(x):
    return np.sum(np.array(list(heapq.merge(sorted(x, reverse=True), [9.0, 1.0], reverse=True))) * np.arange(7.0))


def out_of_order(x):
    return sum(v * k for k, v in enumerate(heapq.merge(x, x[::-1] + 0.1)))


@both
@pytest.mark.parametrize("f", [ranked, falling, out_of_order])
def test_merges(f, backend):
    along(f, X, T, backend)


def by_key(x):
    found = heapq.merge([(x, "a"), (5.0, "b")], [(2.0, "c"), (x * x, "d")], key=lambda pair: pair[0])
    return sum(v * (k + 1) * (2.0 if name == "d" else 1.0) for k, (v, name) in enumerate(found))


def test_a_merge_by_a_key_keeps_equals_in_order():
    of_one_number(by_key, x=1.5)
    equal = lambda x: [name for _, name in heapq.merge([(x, "a")], [(x, "b")], [(x, "c")], key=lambda pair: pair[0])]
    assert dj.jit(equal, backend="python")(1.0) == equal(1.0)


def products(x):
    total = 0.0
    for group in itertools.batched(x, 2):
        product = 1.0
        for v in group:
            product *= v
        total += product * len(group)
    return total


def of_a_generator(x):
    return sum(sum(group) ** 2 for group in itertools.batched((v * v for v in x), n=3))


@batches
@both
@pytest.mark.parametrize("f", [products, of_a_generator])
def test_batches(f, backend):
    along(f, X, T, backend)


@batches
def test_batches_of_known_items():
    of_one_number(lambda x: sum(a * b for a, b in itertools.batched([x, x * x, 2 * x, x + 1], 2)))


@batches
def test_no_batch_is_empty():
    with pytest.raises(ValueError, match="n must be at least one"):
        dj.jit(lambda x: [sum(group) for group in itertools.batched(x, 0)])(X)


@batches
def test_items_that_change_meanwhile_are_refused():
    def f(x):
        held = [x[0]]
        total = 0.0
        for group in itertools.batched((v * held[0] for v in x), 2):
            held[0] += 1.0
            total += sum(group)
        return total

    with pytest.raises(dj.UnsupportedSyntax, match="DJ115"):
        dj.jit(f)(X)
