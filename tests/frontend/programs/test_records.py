"""Arrays of records that a program makes: fields, elements, parts, loops over them, names for them."""

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import bend_and_lanes, of_an_array

BODY = np.dtype([("mass", float), ("place", float, 3), ("kind", int)])
X = np.array([0.3, 0.7, 0.5])


def fields(x):
    b = np.zeros(3, dtype=BODY)
    b["mass"] = [1.0, 2.0, 3.0]
    b["mass"][0] = x[0]
    b["place"][:, 0] = x[0] * np.arange(3.0)
    b[1]["place"] = [x[1], 2 * x[2], 1.0]
    b[2] = (x[0] * x[1], np.array([1.0, x[2], 0.0]), 7)
    total = 0.0
    for q in b:
        total += q["mass"] * np.sum(q["place"] ** 2) + q["kind"]
    return total + len(b) + b.size + b.shape[0] + b.ndim


def parameters(x):
    p = np.zeros(1, dtype=[("x1", np.float64), ("x2", "f8")])
    for i, name in enumerate(["x1", "x2"]):
        p[name] = x[i] * (i + 1)
    return model(p[0]) + np.sum(p["x1"]) * len(p.dtype.names)


def model(q):
    return q["x1"] * q["x2"] ** 2 + q[1]


def listed(x):
    t = np.array([(1, 2.0 * x[0]), (2, x[1] ** 2), (3, x[2])], dtype=[("i", int), ("v", float)])
    u = t[t["v"] > 0.55]
    other = t.copy()
    other["v"] *= 2
    return np.sum(u["v"]) + np.sum(other[1:]["v"] * other["i"][1:]) + t[-1]["v"] * x[1]


def matrix_of_records(x):
    r = np.ones((4, 2), dtype=[("e", complex), ("w", np.float32)])
    r["e"] = 1j * x[0]
    for i in range(4):
        r["e"][i, 0] = x[1] * i
    return np.sum(np.abs(r[r.dtype.names[0]]) ** 2) + r[1, 1]["w"]


def names_of_one(x):
    a = np.zeros(2, dtype=BODY)
    b = a
    b["mass"] += x[:2]
    e = b[0]
    e["mass"] *= 3
    apart = a[0].copy()
    apart["mass"] = 100.0
    return a["mass"][0] * a[1]["mass"] + apart["place"][0]


def of_run_time_length(x):
    n = len(x)
    b = np.zeros(n, dtype=[("m", float), ("p", float, 2)])
    b["m"] = x
    b["p"][:, 1] = x**2
    total = 0.0
    for q in b:
        total += q["m"] * q["p"][1]
    for i in range(n):
        b[i]["m"] = total * x[i]
        total += b["m"][i]
        if b[i]["m"] > 0.8:
            b[i] = (1.0, np.zeros(2))
    for i, q in enumerate(b):
        total += i * q["m"]
    return total + np.sum(b[b["m"] > 0.2]["m"])


def moved(b, dt):
    b["p"] += dt * b["v"]
    b["v"] -= dt * b["p"]
    return b


def in_time(x):
    b = np.zeros(len(x), dtype=[("p", float), ("v", float)])
    b["p"] = x
    for _ in range(5):
        b = moved(b, 0.1)
    return np.sum(b["p"] ** 2 + b["v"] ** 2)


def a_field_that_is_missing(x):
    b = np.zeros(3, dtype=[("m", float)])
    try:
        b["mass"] = 1.0
    except ValueError:
        b["m"] = x[0]
    return np.sum(b["m"] ** 2)


def copied_and_assigned(x):
    b = np.zeros(3, dtype=BODY)
    b["mass"][:] = x
    b[1] = b[0]
    other = np.array(b, dtype=BODY)
    other["mass"][0] = 100.0
    return np.sum(b["mass"] ** 2) + np.sum(other["mass"] * x)


PROGRAMS = [
    copied_and_assigned,
    fields, parameters, listed, matrix_of_records, names_of_one, of_run_time_length, in_time, a_field_that_is_missing
]  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_programs(f, backend):
    of_an_array(f, X, backend)


@pytest.mark.parametrize("f", [of_run_time_length, listed])
def test_second_order_and_lanes(f):
    bend_and_lanes(f, X, 2 * X)


def test_errors():
    def out_of_bounds(x):
        return x[0] * np.zeros(2, dtype=BODY)[5]["mass"]

    def too_few(x):
        b = np.zeros(2, dtype=BODY)
        b[0] = (x[0], 2.0)
        return b["mass"][0]

    def returned(x):
        b = np.zeros(2, dtype=BODY)
        b["mass"] = x[:2]
        return b

    def as_numbers(x):
        return np.zeros(2, dtype=BODY) + x[0]

    def of_texts(x):
        return np.zeros(2, dtype=[("name", "U5"), ("v", float)])["v"][0] * x[0]

    with pytest.raises(IndexError):
        dj.jit(out_of_bounds)(X)
    with pytest.raises(ValueError, match="tuple of length 2 to structure with 3 fields"):
        dj.jit(too_few)(X)
    for f, code in ((returned, "DJ319"), (as_numbers, "DJ301"), (of_texts, "DJ308")):
        with pytest.raises(dj.TypeProblem, match=code):
            dj.jit(f)(X)
