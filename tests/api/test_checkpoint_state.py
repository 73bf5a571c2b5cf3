"""What a checkpointed loop carries: tuples, objects, dicts, choices, and arrays whose shapes must not change."""

import itertools
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.4, 0.7, -0.3])


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def steps():
    return dj.checkpointed(range(6), budget=2)


class Phase(NamedTuple):
    q: np.ndarray
    v: np.ndarray


def named_tuple(x):
    s = Phase(x * 1.0, x * 0.5)
    for _ in steps():
        v = s.v - 0.1 * np.sin(s.q)
        s = Phase(s.q + 0.1 * v, v)
    return np.sum(s.q**2) + s.v[0]


@dataclass
class Body:
    u: np.ndarray
    energy: float


def data_class(x):
    """Fields that change, and an object made anew."""
    s = Body(x.copy(), 0.0)
    for _ in steps():
        s.u[1:] += 0.1 * np.sin(s.u[:-1])
        s.energy += s.u[0] * s.u[1]
        s = Body(s.u * 1.01, s.energy)
    return s.energy + np.sum(s.u)


def nested_dict(x):
    d = {"w": x.copy(), "momentum": [np.zeros_like(x), 1.0]}
    for _ in steps():
        d["momentum"][0] = 0.9 * d["momentum"][0] + np.cos(d["w"])
        d["w"] = d["w"] - 0.1 * d["momentum"][0] * d["momentum"][1]
        d["momentum"][1] *= 0.95
    return np.sum(d["w"] ** 2)


def none_at_first(x):
    best, u = None, x * 1.0
    for _ in steps():
        u = u + 0.1 * np.sin(u)
        if best is None or u[0] > best:
            best = u[0] * u[1]
    return best


def born_inside(x):
    u = x * 1.0
    for _ in steps():
        pair = (np.sin(u), u[0])
        u = u + 0.1 * pair[0] * pair[1]
    return np.sum(u) + np.sum(pair[0]) * pair[1]


def closure(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v * v

    u = x * 1.0
    for _ in steps():
        u = u + 0.1 * np.sin(u)
        add(u[1])
    return total


def swapped(x):
    s = [x.copy(), x * 2.0]
    for _ in steps():
        s[0][1:] += 0.1 * s[1][:-1] * s[0][:-1]
        s = [s[1], s[0]]
    return np.sum(s[0] * s[1])


def queue(x):
    d = deque([x[0], x[1], x[0]], maxlen=3)
    for _ in steps():
        d.append(np.sin(d[0]) + d[2] * 0.1)
    return d[0] * d[1]


def text(x):
    mode, u = "grow", x * 1.0
    for _ in steps():
        u = u * 1.1 if mode == "grow" else np.sin(u)
        mode = "bend" if mode == "grow" else "grow"
    return np.sum(u)


@pytest.mark.parametrize(
    "f", [named_tuple, data_class, nested_dict, none_at_first, born_inside, closure, swapped, queue, text]
)
def test_what_the_engine_takes_apart(f):
    dj.check_grads(f, (X,), order=2)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("counted", [True, False])
def test_shapes_must_not_change(backend, counted):
    def f(x, n):
        u = x * 1.0
        for t in dj.checkpointed(range(n) if counted else itertools.count(), budget=2):
            u = np.append(u, np.sin(u[-1]))
            if not counted and t >= n:
                break
        return np.sum(u)

    with pytest.raises(ValueError, match="DJ406"):
        dj.grad(f, backend=backend)(X, 4)


@pytest.mark.parametrize("outer", [False, True])
def test_arrays_that_a_step_binds_first_have_no_shape_before(outer):
    """Snapshots would have no elements, and compiled code would write beside them."""

    def f(a):
        s = 0.0
        for j in range(2 if outer else 1):
            for t in dj.checkpointed(range(len(a)), budget=2):
                if j + t > 0:
                    s += np.dot(a[t], before)  # noqa: F821 - the first turn binds it
                before = a[t] * 2.0  # noqa: F841
        return s

    with pytest.raises(dj.MemoryProblem, match=r"DJ405.*carries `before`, which has no value before the loop"):
        dj.grad(f)(np.ones((4, 3)))

    def given(a):
        before, s = np.zeros(3), 0.0
        for t in dj.checkpointed(range(len(a)), budget=2):
            s += np.dot(a[t], before)
            doubled = a[t] * 2.0  # nothing is carried to the next step
            before = doubled
        return s

    a = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(dj.grad(given)(a)[1], 2.0 * (a[0] + a[2]))
