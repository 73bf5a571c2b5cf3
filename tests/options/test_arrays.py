"""Options of NumPy's functions of arrays: inserted slices, elements changed in place, orders along axes, records."""

import numpy as np
import pytest

import diffjit as dj
from tests.options.modes import compared

X = np.array([0.3, 1.2, 0.7, 2.1, 1.6, 0.2])
W = np.cos(np.arange(1.0, 40.0))
PLACES = np.array([0, 2, 0])
TABLE = np.zeros(6, dtype=[("mass", float), ("count", int), ("at", float, (2,))])
TABLE["mass"] = 1.5 + np.sin(np.arange(6))
TABLE["count"] = [1, 0, 2, 1, 4, 3]
TABLE["at"] = np.cos(np.arange(12.0)).reshape(6, 2)


def changed(ufunc, *operands):
    def program(x):
        y = x.copy()
        ufunc.at(y, PLACES, *operands)
        return np.sum(y * y * W[:6])

    return program


def inserted(places, share=None):
    def program(x):
        wide = np.insert(x, places, 2.0 if share is None else x[:share])
        return np.sum(wide * wide * W[: wide.shape[0]])

    return program


def ordered(x):
    keys = np.stack([np.floor(2 * x), x[::-1]]).reshape(2, 2, 3)
    total = np.sum(x)
    for axis in (0, 1, -1):
        total = total + np.sum(np.take_along_axis(keys[1], np.lexsort(keys, axis=axis), axis=axis) ** 2 * W[:3])
    return total


def fields(x):
    total = np.sum(TABLE["mass"] * x**2) + np.sum(TABLE["at"][:, 1] * x)
    for k in range(6):
        total += TABLE["count"][k] * x[k] ** 3
    return total


ROWS = {
    "sine in place": changed(np.sin),
    "tangent in place": changed(np.tanh),
    "degrees in place": changed(np.degrees),
    "powers in place": changed(np.power, 1.5),
    "angles in place": changed(np.arctan2, np.array([0.5, 1.5, 2.5])),
    "inserted at a slice": inserted(slice(0, 3)),
    "inserted at every other": inserted(slice(-1, None, -2), 3),
    "all before one place in a list": inserted([1], 3),
    "all before one place of a slice": inserted(slice(4, 5), 2),
    "order along axes": ordered,
    "fields of records": fields,
}


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    compared(ROWS[name], X, backend)


def test_results_in_an_array_of_ints():
    def rooted(n):
        counts = n.copy()
        np.sqrt.at(counts, PLACES)
        return counts

    np.testing.assert_array_equal(dj.jit(rooted, backend="python")(np.arange(4) * 9), rooted(np.arange(4) * 9))


def test_fields_are_read_anew():
    def weight(table, x):
        return np.sum(table["mass"] * x)

    run = dj.jit(weight, backend="python")
    for k in range(3):
        table = TABLE.copy()
        table["mass"] += k
        assert run(table, X) == pytest.approx(weight(table, X))
        table["mass"][1] = 7.0
        assert run(table, X) == pytest.approx(weight(table, X))


def made(x):
    table = np.zeros(6, dtype=[("a", "U3"), ("b", float)])
    table["b"] = x
    return np.sum(table["b"])


def one_row(x):
    return TABLE[1]["mass"] * np.sum(x)


@pytest.mark.parametrize(
    ("program", "said"), [(made, "keep an array for each field"), (one_row, r"\['mass'\]\[i\]` for one number")]
)
def test_records_of_texts_are_not_made_nor_any_from_outside_read_row_by_row(program, said):
    with pytest.raises(dj.TypeProblem, match="an array of records") as found:
        dj.grad(program)(X)
    assert said.replace("\\", "") in str(found.value)


def nothing_or_one(x):
    return 0.0 if x[0] < 0 else x[:1] ** 2


def kept(x):
    out = 0.0
    if x[0] > 0:
        out = x[:1] * 2
    return np.sum(x) * out


@pytest.mark.parametrize("program", [nothing_or_one, kept])
def test_a_number_or_an_array(program):
    with pytest.raises(dj.TypeProblem, match="on one path and a") as found:
        dj.jit(program)(X)
    assert "`np.zeros(1)` for `0.0`" in str(found.value)
