"""Arrays of texts and dates outside, and as arguments: groups, masks and times that are computed from them alone."""

import numpy as np
import pytest

import diffjit as dj

LABELS = np.array(["a", "b", "a", "c", "b", "a"])
ROWS = np.array([["u", "v"], ["v", "u"]])
DAYS = np.arange("2020-01-01", "2020-01-07", dtype="datetime64[D]")
START = np.datetime64("2020-01-01")
X = np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])


def groups(x):
    total = 0.0
    for label in np.unique(LABELS):
        total += x[label == LABELS].mean() ** 2
    return total


def each(x):
    total = 0.0
    for k, (label, value) in enumerate(zip(LABELS, x, strict=True)):
        total += value * k if label == "a" else value**2
    return total


def sums_by_label(x):
    sums = {}
    for label, value in zip(LABELS, x, strict=True):
        sums[label] = sums.get(label, 0.0) + value
    return sums["a"] * sums["b"]


def members(x):
    return np.sum(x * np.isin(LABELS, ["a", "c"])) * len(set(LABELS)) + sum(x[k] for k, _ in enumerate(LABELS))


def lists_of_texts(x):
    units = {"kpc": 1, "pc": 2}
    total = x[0] if np.isin("kpc", list(units)) and not np.any(np.isin(["au"], ("pc", "kpc"))) else x[1]
    for k, name in enumerate(np.unique(["b", "a", "b"])):
        total = total * x[k + 2] if np.array_equal([name], ["a"]) else total + x[k + 2] ** 2
    return total * np.intersect1d(["a", "b"], ["b"]).size + x[np.argmax(np.char.str_len(["aa", "b", "ccc"]))]


def times(x):
    t = (DAYS - START) / np.timedelta64(1, "D")
    late = START + np.timedelta64(2, "D") < DAYS
    return np.sum(x * t) ** 2 + np.sum(x[late]) + x[int(np.argmax(DAYS))]


def rows(x):
    return sum(x[i] * (row == "u").argmax() for i, row in enumerate(ROWS))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "f", [groups, each, sums_by_label, members, lists_of_texts, times, rows], ids=lambda f: f.__name__
)
def test_as_numpy(f, backend):
    value, slope = dj.value_and_grad(f, backend=backend)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    quotient = [(f(X + h) - f(X - h)) / 2e-6 for h in np.eye(6) * 1e-6]
    np.testing.assert_allclose(slope, quotient, rtol=1e-7, atol=1e-8)


def test_as_an_argument():
    """Each array of labels has a program of its own."""
    by_label = dj.grad(lambda x, labels: sum(x[labels == k].mean() for k in np.unique(labels)))
    np.testing.assert_allclose(by_label(X, LABELS), [1 / 3, 1 / 2, 1 / 3, 1, 1 / 2, 1 / 3])
    np.testing.assert_allclose(by_label(X, np.array(["p"] * 6)), np.full(6, 1 / 6))


HOURS = np.timedelta64(36, "h")


def spans(x, span):
    late = START + np.timedelta64(36, "h") < DAYS
    days = (span / np.timedelta64(1, "D"), (DAYS[3] - START) / HOURS, np.diff(DAYS).astype(float).sum())
    return np.sum(x[late]) * days[0] + x[0] * days[1] + x[1] * days[2] * (np.timedelta64(2, "D") > span)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_spans_of_time_have_units(backend):
    """Their class says that they are integers."""
    value, slope = dj.jit(spans, backend=backend), dj.grad(spans, backend=backend)
    for span in (HOURS, np.timedelta64(36, "D"), np.timedelta64(1, "m"), np.timedelta64(1, "h")):
        assert value(X, span) == pytest.approx(spans(X, span), rel=1e-12)
        np.testing.assert_allclose(slope(X, span), [spans(e, span) for e in np.eye(6)], rtol=1e-12)  # it is linear
    with pytest.raises(dj.TypeProblem, match="DJ301"):
        dj.jit(lambda x: x[0] * HOURS, backend=backend)(X)


def puts(labels, days):
    np.put(labels, [0], "z")


def adds_in_place(labels, days):
    days += np.timedelta64(1, "D")


def adds_out(labels, days):
    np.add(days, np.timedelta64(1, "D"), out=days)


def adds_into(labels, days):
    np.add(days, np.timedelta64(1, "D"), days)


def sorts(labels, days):
    labels.sort()


@pytest.mark.parametrize("change", [puts, adds_in_place, adds_out, adds_into, sorts], ids=lambda f: f.__name__)
def test_changes_are_refused_and_not_made(change):
    """What is computed while the program is built must not be seen."""
    labels, days = LABELS.copy(), DAYS.copy()

    def f(x):
        change(labels, days)
        return x[labels == "a"].sum()

    for make in (dj.jit, dj.grad):
        with pytest.raises(dj.DiffjitError):
            make(f, backend="python")(X)
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(days, DAYS)


class Ports:
    def __init__(self, gains):
        self.gains = gains
        self.modes = np.array(["S"] * len(gains))

    def total(self):
        return sum(g * (2.0 if mode == "S" else 1.0) for g, mode in zip(self.gains, self.modes, strict=True))


def ports(x):
    """Objects of a list whose length the run knows, each with an array of the same texts."""
    found = [Ports([x, x * k]) for k in range(int(x * 3))]
    found.append(Ports([x * x, 1.0]))
    return sum(one.total() for one in found)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_equal_texts_in_objects_of_a_list(backend):
    np.testing.assert_allclose(dj.jit(ports, backend=backend)(1.5), ports(1.5))
    dj.check_grads(ports, (1.5,), order=2, backend=backend)


@pytest.mark.parametrize("names", [("S",), ("S", "S")])
def test_which_of_equal_texts_it_is(names):
    def chosen(x):
        one, two = np.array(names), np.array(names)
        kept = one if x > 1.0 else two
        return x * 2.0 if kept is one else x

    with pytest.raises(dj.DiffjitError, match=r"DJ121.*arrays of the same texts"):
        dj.grad(chosen, backend="python")(0.5)
