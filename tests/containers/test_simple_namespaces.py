"""`types.SimpleNamespace`: what holds a program's parameters is a tree, as an object of a user's class is."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

import diffjit as dj

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def params():
    return SimpleNamespace(k=2.0, w=np.array([1.0, 3.0]), log=[], sub=SimpleNamespace(n=3))


def step(x, p):
    p.k = p.k * x
    p.w[0] += x
    p.log.append(x)
    p.sub = SimpleNamespace(n=p.sub.n + 1, last=copy.copy(p.w))
    q = SimpleNamespace(**vars(p))
    q.k *= 2
    return SimpleNamespace(cost=q.k * np.sum(p.w**2) * p.sub.n, same=q == p, p=p)


def seen(result, p):
    return repr(result), repr(p), result.p is p


@BACKENDS
def test_as_python(backend):
    wanted, found = params(), params()
    compiled = dj.jit(step, backend=backend)
    for _ in range(2):
        assert seen(compiled(0.5, found), found) == seen(step(0.5, wanted), wanted)
    outside = params()
    assert dj.jit(lambda x: step(x, outside).cost, backend=backend)(0.5) == step(0.5, params()).cost
    assert vars(outside).keys() == vars(wanted).keys()
    assert outside.log == [0.5]


@BACKENDS
def test_what_exists_already_is_returned_itself(backend):
    table = {"n": 1}

    def moved(x, p, items, pair):
        p.k = x
        taken = p.sub
        p.sub = None
        items.append(x)
        return p, items, {"t": taken, "pair": pair}, table, [pair[1], pair[1]]

    p, items, pair = params(), [], ({}, [1.0])
    sub = p.sub
    found = dj.jit(moved, backend=backend)(0.5, p, items, pair)
    assert found == (p, [0.5], {"t": sub, "pair": pair}, table, [[1.0], [1.0]])
    assert found[0] is p
    assert found[1] is items
    assert found[2]["t"] is sub
    assert found[2]["pair"][0] is pair[0]
    assert found[3] is table
    assert found[4][0] is found[4][1] is pair[1]


@BACKENDS
def test_derivatives(backend):
    def cost(p):
        return p.k * np.sum(p.w**2) * p.sub.n

    p = params()
    slope = dj.grad(cost, backend=backend)(p)
    assert type(slope) is SimpleNamespace
    assert slope.k == 30.0
    np.testing.assert_allclose(slope.w, [12.0, 36.0])
    along = SimpleNamespace(k=1.0, w=np.ones(2), log=[], sub=SimpleNamespace(n=0))
    assert dj.jvp(cost, (p,), (along,), backend=backend)[1] == 30.0 + 12.0 + 36.0
