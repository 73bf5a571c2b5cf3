"""Each verb on what each verb returns, along a line through a program of the corpus, against derivatives of JAX.

A program with a JAX twin becomes a function of one number, h(t) = program(point + t * direction). A verb makes another
function of one number of it: its derivative, its second derivative, or the function itself (from lanes, a checkpoint).
"""

import itertools
import zlib

import jax
import numpy as np
import pytest

import diffjit as dj
from tests.modes import PROGRAMS, case, leaves, quiet
from tests.test_corpus import NOT_YET
from tests.verbs import CANCELS


def lanes(f):
    return lambda t: dj.vmap(f)(np.array([0.5 * t, t]))[1]


def lane_of_gradient(f):
    return lambda t: dj.vmap(dj.grad(f))(np.array([t, 0.5 * t]))[0]


def series(f):
    return lambda t: dj.jet(f, (t,), ((1.0, 0.0),))[1][1]


# name -> (how often it differentiates, the function that it makes)
VERBS = {
    "jit": (0, dj.jit),
    "vmap": (0, lanes),
    "checkpoint": (0, dj.checkpoint),
    "grad": (1, dj.grad),
    "value_and_grad": (1, lambda f: lambda t: dj.value_and_grad(f)(t)[1]),
    "jvp": (1, lambda f: lambda t: dj.jvp(f, (t,), (1.0,))[1]),
    "vjp": (1, lambda f: lambda t: dj.vjp(f, t)[1](1.0)[0]),
    "linearize": (1, lambda f: lambda t: dj.linearize(f, t)[1](1.0)),
    "jacfwd": (1, dj.jacfwd),
    "jacrev": (1, dj.jacrev),
    "vmap of grad": (1, lane_of_gradient),
    "hessian": (2, dj.hessian),
    "hvp": (2, lambda f: lambda t: dj.hvp(f, (t,), (1.0,))),
    "jet": (2, series),
}


def on_a_line(program):
    """The program and its twin as functions of one number, if it takes numbers and arrays and gives a number."""
    p, c = PROGRAMS[program], case(program)
    args = c.args()
    plain = all(isinstance(x, (float, int, np.ndarray)) for x in args)
    if (
        p.jax is None
        or p.kwargs
        or not plain
        or not p.second_order
        or not isinstance(c.wanted, float)
        or "float32" in p.tags
    ):
        return None
    moving = [isinstance(d, (float, np.ndarray)) and np.any(d) for d in c.direction]
    moves = [d if m else 0 for d, m in zip(c.direction, moving, strict=True)]

    def ours(t):
        return p.function(*[x + t * d if m else x for x, d, m in zip(args, moves, moving, strict=True)])

    def twin(t):
        return p.jax(*[x + t * d if m else x for x, d, m in zip(args, moves, moving, strict=True)])

    return ours, twin


def derivative(f, order):
    """JAX's, forwards: some twins have loops that it does not take backwards."""

    def slope(g):
        return lambda t: jax.jvp(g, (t,), (1.0,))[1]

    for _ in range(order):
        f = slope(f)
    return float(f(0.0))


ILL = set(CANCELS)  # of these nobody has all digits of a third derivative
CHOICES = sorted(
    n
    for n in PROGRAMS
    if "science" in PROGRAMS[n].function.__module__ and not any(k.startswith(n) for k in NOT_YET) and n not in ILL
)
PAIRS = [(a, b) for a, b in itertools.product(VERBS, VERBS) if VERBS[a][0] + VERBS[b][0] <= 3]
TURNS = dict(zip(VERBS, itertools.cycle(range(3))))  # each verb with a third of the others, inside and outside
CASES = [pytest.param(a, b, marks=[pytest.mark.slow] if (TURNS[a] + TURNS[b]) % 3 else []) for a, b in PAIRS]


@pytest.mark.parametrize(("outer", "inner"), CASES)
def test_pair(outer, inner, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    order = VERBS[outer][0] + VERBS[inner][0]
    key = f"{outer} of {inner}"
    ranked = sorted(CHOICES, key=lambda n: zlib.crc32(f"{key} {n}".encode()))
    found = next(made for n in ranked if (made := on_a_line(n)) is not None)
    ours, twin = found
    with quiet():
        value = VERBS[outer][1](VERBS[inner][1](ours))(0.0)
        wanted = derivative(twin, order)
    assert np.shape(leaves(value)[0]) == ()
    assert float(leaves(value)[0]) == pytest.approx(wanted, rel=1e-7, abs=1e-9 * 10**order)
