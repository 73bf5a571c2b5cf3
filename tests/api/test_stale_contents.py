"""Arrays of texts, dates and objects, and bytes, are read while a program is specialised: it follows what they hold."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])
LABELS = np.array(["a", "b", "a"])
THINGS = np.array([1, None, "a"], dtype=object)
DAYS = np.arange("2020-01-01", "2020-01-04", dtype="datetime64[D]")
CODES = bytearray(b"abc")
X = np.array([1.0, 10.0, 100.0])


def labelled(x, labels=LABELS):
    return x[labels == "a"].sum() * labels.tolist().count("a")


def of_things(x):
    return x[0] * (THINGS[0] is True) + x[1] * (THINGS[1] is None) + x[THINGS == "a"].sum()


def dated(x):
    return x[np.datetime64("2020-01-01") < DAYS].sum()


def coded(x):
    return x[0] * CODES[0]


def given(x, labels, codes):
    return x[labels == "a"].sum() * codes[1]


def slope(f, *rest):
    return [f(x, *rest) for x in np.eye(3)]  # they are linear


@BACKENDS
@pytest.mark.parametrize(
    ("f", "place", "index", "new", "rest"),
    [
        (labelled, LABELS, 1, "a", ()),
        (of_things, THINGS, 0, True, ()),
        (of_things, THINGS, 1, "a", ()),
        (dated, DAYS, 0, np.datetime64("2020-02-01"), ()),
        (coded, CODES, 0, 7, ()),
        (given, LABELS, 0, "b", (LABELS, CODES)),
        (given, CODES, 1, 0, (LABELS, CODES)),
    ],
)
def test_what_they_hold_now(f, place, index, new, rest, backend):
    value, gradient = dj.jit(f, backend=backend), dj.grad(f, backend=backend)
    old = place[index]
    for held in (old, new, old):
        place[index] = held
        assert value(X, *rest) == f(X, *rest)
        np.testing.assert_array_equal(gradient(X, *rest), slope(f, *rest))


def test_an_array_of_objects_that_are_arrays():
    """Others have no truth value that would say whether they are equal."""
    ragged = np.array([np.ones(2), np.ones(3)], dtype=object)
    gradient = dj.grad(lambda x, parts: x * len(parts[1]))
    assert gradient(2.0, ragged) == 3.0
    ragged[1] = np.ones(7)
    assert gradient(2.0, ragged) == 7.0
