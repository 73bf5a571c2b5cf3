"""Printed derivatives, letter by letter, and how many operations they take beside derivatives written by hand.

`pytest tests/golden --update-golden` writes the files anew; read the difference before committing it.
"""

import ast
import inspect
import math
from pathlib import Path

import numpy as np
import pytest

import diffjit as dj

from . import by_hand, formulae, programs

TEXTS = Path(__file__).parent / "texts"
# How many operations the printed gradient takes at most, in parts of those of the derivative by hand.
MOST = 1.2  # in geometric mean
WORST = {"softplus": 2.5}  # stable at 800, where the one by hand is not
MOST_OF_ONE = 1.85


def formula_case(name):
    arguments = formulae.POINTS[name]
    wrt = formulae.ACTIVE.get(name, tuple(range(len(arguments))))
    return dj.value_and_grad(getattr(formulae, name), argnums=wrt, backend="python"), arguments


def program_case(name):
    arguments, wrt = programs.CASES[name]
    return dj.value_and_grad(getattr(programs, name), argnums=wrt, backend="python"), arguments


CASES = {**dict.fromkeys(formulae.POINTS, formula_case), **dict.fromkeys(programs.CASES, program_case)}


def text_of(name):
    derivative, arguments = CASES[name](name)
    return dj.source(derivative, *arguments)


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    if isinstance(tree, programs.Layer):
        return [tree.W, tree.b]
    return [tree]


@pytest.mark.parametrize("name", CASES)
def test_texts(name, request):
    text, path = text_of(name), TEXTS / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_text_has_a_program():
    assert {path.stem for path in TEXTS.glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("name", formulae.POINTS)
def test_formulae_are_right(name):
    """Beside what is written by hand."""
    derivative, arguments = formula_case(name)
    value, gradient = derivative(*arguments)
    by_others = getattr(by_hand, name)(*arguments)
    for found, want in zip(leaves((value, gradient)), by_others, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", programs.CASES)
def test_programs_are_right(name):
    """Beside difference quotients."""
    arguments, wrt = programs.CASES[name]
    function = getattr(programs, name)
    places = [list(inspect.signature(function).parameters).index(p) for p in wrt]

    def of_active(*active):
        given = list(arguments)
        for place, value in zip(places, active, strict=True):
            given[place] = value
        return function(*given)

    dj.check_grads(of_active, tuple(arguments[k] for k in places), backend="python")


def operations(text):
    """Operators, calls and choices of the last function of a text."""
    function = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)][-1]
    counted = (ast.BinOp, ast.UnaryOp, ast.AugAssign, ast.IfExp, ast.Compare, ast.Call)
    signs = [n for n in ast.walk(function) if isinstance(n, ast.UnaryOp) and isinstance(n.operand, ast.Constant)]
    return sum(isinstance(node, counted) for node in ast.walk(function)) - len(signs)


def test_operations():
    ratios = {}
    for name in formulae.POINTS:
        ours, best = operations(text_of(name)), operations(inspect.getsource(getattr(by_hand, name)))
        ratios[name] = ours / best
    assert math.exp(np.mean(np.log(list(ratios.values())))) <= MOST
    assert {n: r for n, r in ratios.items() if r > WORST.get(n, MOST_OF_ONE)} == {}


def test_far_out():
    """Where exp overflows, and where it is 0."""
    softplus, logistic = dj.value_and_grad(formulae.softplus), dj.grad(formulae.logistic, argnums=(0, 1, 2))
    assert softplus(-800.0) == (0.0, 0.0)
    assert softplus(800.0)[1] == 1.0
    for t in (-800.0, 800.0):
        np.testing.assert_allclose(logistic(t, 1.0, 0.0), (0.0, 0.0, 0.0), atol=1e-300)
    z = np.array([-800.0, 0.0, 800.0])
    np.testing.assert_allclose(dj.grad(programs.softmax_loss)(z, 2), 0.0, atol=1e-300)
