"""`np.nditer` and the flags of arrays, against NumPy and difference quotients."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import UnsupportedSyntax

BACKENDS = ("numba", "python")


def read(x):
    total = 0.0
    for v in np.nditer(x):
        total = 0.5 * total + np.sin(v)  # in this order, and no other
    return total


def by_indices(x):
    it, total = np.nditer(x, flags=["multi_index"]), 0.0
    while not it.finished:
        i, j = it.multi_index
        total += it[0] ** 2 * (i + 2 * j)
        it.iternext()
    return total


def written(x):
    y = x * 1.0
    with np.nditer(y, flags=["c_index", "multi_index"], op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = v * it.index + it.multi_index[1]
    return np.sum(y**2)


def side_by_side(x):
    row = np.arange(3.0) * x[0, 0]
    it = np.nditer([x, row, None], order="C")
    for p, q, r in it:
        r[...] = p * q + np.cos(p)
    return np.sum(it.operands[2] ** 2 * x)


def in_one(x):
    return sum([np.sum(part**3) for part in np.nditer(x, flags=["external_loop"])])


def by_columns(x):
    it, total = np.nditer(x, flags=["f_index"], order="F"), 0.0
    for v in it:
        total = 0.9 * total + v * it.index
    return total * it.itersize


def assigned(x):
    y = x.copy()
    it = np.nditer(y, op_flags=[["readwrite"]])
    while not it.finished:
        it[0] = it[0] * y[0, 0]
        it.iternext()
    return np.sum(y)


X = np.linspace(0.3, 1.7, 6).reshape(2, 3)


@pytest.mark.parametrize("f", [read, by_indices, written, side_by_side, in_one, by_columns, assigned])
@pytest.mark.parametrize("backend", BACKENDS)
def test_elements(f, backend):
    for x in (X, np.asfortranarray(X)):
        np.testing.assert_allclose(dj.jit(f, backend=backend)(x), f(x), rtol=1e-14)
        way = np.cos(5 * x)  # in the same order
        slope = (f(x + 1e-6 * way) - f(x - 1e-6 * way)) / 2e-6
        assert dj.jvp(f, (x,), (way,), backend=backend)[1] == pytest.approx(slope, rel=1e-7)
        gradient = dj.grad(f, backend=backend)
        assert np.sum(gradient(x) * way) == pytest.approx(slope, rel=1e-7)
        bent = (gradient(x + 1e-6 * way) - gradient(x - 1e-6 * way)) / 2e-6
        np.testing.assert_allclose(dj.hvp(f, (x,), (way,), backend=backend), bent, rtol=1e-6, atol=1e-8)


def test_refused():
    with pytest.raises(ValueError, match="not writeable"):
        dj.jit(lambda x: np.nditer(x).__setitem__(0, 1.0))(X)
    with pytest.raises(UnsupportedSyntax, match=r"DJ118.*C.s order"):
        dj.jit(lambda x: read(x[:, ::2]))(X)
    with pytest.raises(ValueError, match="zero-sized"):
        dj.jit(read)(X[:0].copy())


def rows(x):
    if not x.flags["C_CONTIGUOUS"]:
        x = np.ascontiguousarray(x)
    return np.sum(x**2 * np.arange(x.shape[0])[:, None]), x.flags.f_contiguous, x.flags.fnc


@pytest.mark.parametrize("x", [X, np.asfortranarray(X), X[:, :1].copy(), X[:1].copy(order="F")])
def test_flags(x):
    assert dj.jit(rows)(x) == rows(x)


@pytest.mark.parametrize("name", ["owndata", "writeable"])
def test_flags_that_are_not_told(name):
    with pytest.raises(UnsupportedSyntax, match=rf"DJ118.*{name}"):
        dj.jit(lambda x: x * (2.0 if getattr(x.flags, name) else 1.0))(X)
