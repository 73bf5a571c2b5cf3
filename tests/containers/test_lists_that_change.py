"""Views of dicts, and what `itertools` makes of lists that change or grow before it is gone through and while it is."""

import itertools
import sys

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import along

X, T = np.array([0.5, 0.7, 1.3]), np.array([1.0, -2.0, 0.7])


def two_items(x, made):
    """Of a list with items, which are other ones when it is gone through, and others again in the loop."""
    held, total = [x[0], x[1], x[2]], 0.0
    rows = made(held)
    held[1] = x[0] * 3.0
    for turn, row in enumerate(rows):
        held[(turn + 1) % 3] *= 1.3
        held[2] += x[1]
        total = total * 1.1 + row[0] * row[-1]
        if turn > 5:
            break
    return total + sum(held)


def growing(x, made):
    """Of a list that has more items when it is gone through, and more again in the loop."""
    held, total = [], 0.0
    for v in x:
        held += [v]
    rows = made(held)
    held.append(x[1] * 3.0)
    for row in rows:
        if len(held) < 7:
            held.append(held[-1] * 0.9)
        total = total * 1.1 + np.sum(np.array(row)) ** 2
        if total > 50:
            break
    return total + sum(held)


MADE = {
    "reversed": lambda held: ((v, v) for v in reversed(held)),
    "reversed beside": lambda held: zip(held, reversed(held), strict=False),
    "reversed, numbered": lambda held: enumerate(reversed(held)),
    "groups": lambda held: zip(*[iter(held)] * 2, strict=False),
    "pairwise": itertools.pairwise,
    "accumulate": lambda held: ((v, v) for v in itertools.accumulate(held)),
    "products so far": lambda held: ((v, 1.0) for v in itertools.accumulate(held, lambda a, b: a * b)),
    "islice": lambda held: ((v, 2.0) for v in itertools.islice(held, 1, None)),
    "every second": lambda held: ((v, v) for v in itertools.islice(held, 0, 5, 2)),
    "zip_longest": lambda held: itertools.zip_longest(held, held[1:], fillvalue=0.5),
    "cycle": lambda held: ((v, v) for v in itertools.islice(itertools.cycle(held), 5)),
}
if sys.version_info >= (3, 12):
    MADE["batched"] = lambda held: ((b[0], b[-1]) for b in itertools.batched(held, 2))


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("program", [two_items, growing], ids=["changes", "grows"])
def test_as_python_has_it(program, name):
    along(lambda x: program(x, MADE[name]), X, T)


def shorter_since(x):
    """An iterator backwards begins behind the end, and has no item."""
    held = [x[0], x[1], x[2]]
    rest = reversed(held)
    held.pop()
    return sum(rest) + sum(held)


def test_shorter_since():
    along(shorter_since, X, T)

    def f(x):
        held = [v for v in x if v > 0]
        rest = reversed(held)
        held.pop()
        return sum(rest) + sum(held)

    with pytest.raises(NotImplementedError, match="shorter since"):
        dj.jit(f, backend="python")(X)


def directly(x):
    """A loop over what is made right there."""
    held, total = [x[0], x[1]], 0.0
    for a, b in itertools.pairwise(held):
        if len(held) < 6:
            held.append(a * b)
        total += a * b
    for v in itertools.accumulate(held):
        held[-1] = v * 0.5
        total += v
    for v in itertools.islice(held, 2, None):
        held[3] += v
        total *= v
    return total


def array_over_and_over(x):
    y, total = x.copy(), 0.0
    for k, v in zip(range(7), itertools.cycle(y), strict=False):
        y[(k + 1) % 3] *= 1.3
        total = total * 1.1 + v
    return total + y[0]


@pytest.mark.parametrize("f", [directly, array_over_and_over])
def test_compiled(f):
    along(f, X, T, "numba")


def values_of_a_dict(x):
    held, total = {"a": x[0], "b": x[1], "c": x[2]}, 0.0
    for v in held.values():
        held["b"] = v * 3.0
        held["c"] *= 0.5
        total += v
    return total * held["b"]


def items_of_a_dict(x):
    held, total = {k: x[k % 3] * k for k in range(40)}, 0.0
    for number, (k, v) in enumerate(held.items()):
        held[(k + 1) % 40] = v * 0.5 + 1.0
        total += v * number
    for k, v in list(held.items()):
        held[39] = v * k
        total += v
    return total + held[39]


def doubled_values_of_a_dict(x):
    held, total = {0: x[0], 1: x[1]}, 0.0
    for v in (v * 2.0 for v in held.values()):
        if v > 0.1:
            held[1] = v * x[2]
        total += v
    return total


@pytest.mark.parametrize("f", [values_of_a_dict, items_of_a_dict, doubled_values_of_a_dict])
def test_views_of_dicts(f):
    along(f, X, T)


def teed_list(x):
    held = [x[0], x[1]]
    one, other = itertools.tee(held)
    held[1] = x[2]
    return sum(one) + sum(other)


def teed_array(x):
    y = x.copy()
    one, other = itertools.tee(y)
    y[1] = x[2] * 2.0
    return sum(one) * sum(other)


@pytest.mark.parametrize("f", [teed_list, teed_array])
def test_what_is_teed_must_not_change(f):
    with pytest.raises(dj.DiffjitError, match="tee"):
        dj.jit(f, backend="python")(X)


def teed(x):
    y = x * x
    one, other = itertools.tee(y)
    next(other)
    held = [y[0], y[1], y[2]]
    ahead, behind = itertools.tee(held)
    return sum(a * b for a, b in zip(one, other, strict=False)) + sum(ahead) * max(behind)


def test_teed():
    along(teed, X, T)
