"""Loops that are functions of their own: the same results and errors as where they stand, in short programs as well."""

import ast
import builtins
import re
import types

import numpy as np
import pytest

import diffjit as dj
from diffjit.ir.nodes import CHECKS
from diffjit.ir.text import syntax
from diffjit.lowering.loops import outlined
from diffjit.lowering.text.printed_order import printed_needs
from tests.test_corpus import COMPILED
from tests.validate import GIANTS, LOOPS, compared

RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 1.5, 7)


@pytest.fixture(autouse=True)
def every_loop(monkeypatch):
    for name in ("LONGEST", "FRACTION", "FEW"):
        monkeypatch.setattr(outlined, name, 0)


def bounds_that_change(x, k):
    """The name of a bound is assigned in the loop, and is another loop's bound there."""
    n = x.size
    total = 0.0
    for i in range(n):
        n = i + 1
        for j in range(n):
            total += x[i] * x[j] * k
    return total + n


def sums_of_all_kinds(x, k):
    y = np.zeros(x.size)
    s, t = 0.0, 1.0
    for i in range(x.size):
        y[i] = k * x[i] ** 2
        s = s + y[i] * k
        if s > 3.0:
            t = t * 1.1 + x[i]
    return np.sum(y * x) + s * t + np.max(y)


def loops_left_early(x, k):
    last = 0
    s = 0.0
    for i in range(x.size):
        if x[i] * k > 2.4:
            break
        s += x[i]
        last = i
    while s > 0.5:
        s *= 0.5 * k
        for i in range(last):
            if i == 2:
                continue
            s -= 0.001 * x[i]
    return s + last


def lists_and_helpers(x, k):
    kept = []
    for i in range(x.size):
        kept.append(x[i] * k)
        if len(kept) > 4:
            kept.pop()
    total = 0.0
    for item in kept:
        total += item * item
    return total


def arrays_that_are_replaced(x, k):
    u = x.copy()
    for _ in range(3):
        v = u[1:] * u[:-1] * k
        u = np.concatenate((v, u[:1]))
    for i in range(u.size):
        u[i:] += 0.1 * x[i]
    return np.sum(np.sin(u) * u)


def loops_of_no_name(x, k):
    total = 0.0
    for _ in range(3):
        p = x * k + total
        for _i in range(x.size):
            p = 0.9 * p + 0.1 * np.sin(p[_i]) * x
        total = total * 0.5 + 0.1 * p[_] * np.sum(x * p)
        for j in range(5):
            total += p[j] * x[_] * k
    return total


def names_without_values(x, k):
    """What a loop gives to a name is carried by the loops around it, and has no value at first."""
    total, place = 0.0, 0
    for part in range(2):
        while place < 3 * (part + 1):
            place += 1
            for i in range(x.size):
                if x[i] * k > 1.7:
                    break
                total += x[i] * x[part]
            total = total * 0.9 + 0.01 * i * k
    return total + i


PROGRAMS = [
    bounds_that_change,
    sums_of_all_kinds,
    loops_left_early,
    lists_and_helpers,
    arrays_that_are_replaced,
    names_without_values,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f):
    k, step = 1.3, 1e-6
    assert "def loops" in dj.source(dj.grad(f), X, k, stage="lowered")
    assert dj.jit(f)(X, k) == pytest.approx(f(X, k), rel=1e-13)
    g, by_k = dj.grad(f, argnums=(0, 1))(X, k)
    assert by_k == pytest.approx((f(X, k + step) - f(X, k - step)) / (2 * step), rel=1e-6)
    for direction in np.eye(7):
        wanted = (f(X + step * direction, k) - f(X - step * direction, k)) / (2 * step)
        assert g @ direction == pytest.approx(wanted, rel=1e-6, abs=1e-7)
        assert dj.jvp(f, (X, k), (direction, 0.0))[1] == pytest.approx(g @ direction, rel=1e-12, abs=1e-13)
    second = dj.hessian(f)(X, k)
    assert second == pytest.approx(dj.jacrev(dj.grad(f))(X, k), rel=1e-10, abs=1e-10)
    wanted = (dj.grad(f)(X + step, k) - dj.grad(f)(X - step, k)) / (2 * step)
    assert second @ np.ones(7) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_what_has_no_value_at_first_is_passed_on_all_the_same():
    f, step = names_without_values, 1e-6
    assert "def loops" in dj.source(dj.grad(f), X, 1.3, stage="lowered")
    assert dj.jit(f)(X, 1.3) == pytest.approx(f(X, 1.3), rel=1e-13)
    wanted = (f(X + step, 1.3) - f(X - step, 1.3)) / (2 * step)
    assert np.sum(dj.grad(f)(X, 1.3)) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("f", [loops_of_no_name, sums_of_all_kinds])
def test_what_the_prompt_keeps_is_no_variable(f, monkeypatch):
    wanted = dj.grad(f)(X, 1.3), dj.hessian(f)(X, 1.3)
    dj.clear_cache()
    for name in ("_", "_i", "s", "t"):  # the last value at the prompt, gettext's function, and what others put there
        monkeypatch.setattr(builtins, name, 2, raising=False)
    other = types.FunctionType(f.__code__, f.__globals__, "other")
    assert "loops" in dj.source(dj.grad(other), X, 1.3, stage="lowered")
    assert dj.grad(other)(X, 1.3) == pytest.approx(wanted[0], rel=1e-14)
    assert dj.hessian(other)(X, 1.3) == pytest.approx(wanted[1], rel=1e-14)


def beyond(x, n):
    total = 0.0
    for i in range(n):
        total += x[i] * x[i]
    return total


def divided(x, n):
    total = 0.0
    for i in range(n):
        total += x[i] * (7 // (3 - i))
    return total


@pytest.mark.parametrize(("f", "error"), [(beyond, IndexError), (divided, ZeroDivisionError)])
def test_errors_come_from_their_line(f, error):
    for verb in (dj.jit(f), dj.grad(f)):
        with pytest.raises(error) as python:
            f(X, 9)
        with pytest.raises(error, match=re.escape(str(python.value).split(":", maxsplit=1)[0])) as raised:
            verb(X, 9)
        assert f'"{__file__}", line {f.__code__.co_firstlineno + 3}, in' in "".join(raised.value.__notes__)
        assert verb(X, 3) is not None


def test_a_sample_of_the_corpus_and_random_programs():
    names = [*COMPILED[::40], "seed 7100", "seed 7101"]
    assert compared(names, alone=LOOPS)[0] == []


def test_a_sample_of_the_corpus_and_random_programs_as_parts_of_a_giant():
    names = [*COMPILED[20::60], "seed 7102", "seed 7103"]
    assert compared(names, alone=GIANTS)[0] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(12))
def test_the_corpus_and_random_programs(block):
    names = [*COMPILED[block::12], *(f"seed {k}" for k in range(7110 + 8 * block, 7118 + 8 * block))]
    assert compared(names, alone=LOOPS)[0] == []
    assert compared(names, alone=GIANTS)[0] == []


def test_what_a_function_relies_on_is_asked_of_its_caller():
    """The order of checks is that of the text with the function's statements in place of its call."""

    class Needs:
        def relied(self, op, done):
            return set(op.attrs["inbounds"]) - done

    class Op:
        def __init__(self, **attrs):
            self.attrs = attrs

    access, check = syntax.stmts("a = x[i]"), syntax.stmts("b = x[i]")
    access[0].origin, check[0].origin = Op(inbounds={"k"}), Op(inbounds=set(), **{CHECKS: {"k"}})
    called = ast.Expr(value=syntax.call("loops1_"))
    called.value.runs = access
    assert printed_needs([*check, called], Needs()) == frozenset()
    assert printed_needs([called, *check], Needs()) == {"k"}


def written(lines):
    """A program of so many lines, each of them a loop with a sum."""
    body = "".join(f"    for i in range(x.size):\n        s += x[i] * {k}.5 * s\n" for k in range(lines))
    return f"def f(x):\n    s = 1.0\n{body}    return s\n"


def test_a_long_program_is_many_functions(tmp_path, monkeypatch):
    monkeypatch.undo()
    file = tmp_path / "long_program.py"
    file.write_text(written(60), encoding="utf-8")
    scope = {"__file__": str(file), "__name__": "long_program"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)  # noqa: S102 - our own text
    text = dj.source(dj.grad(scope["f"]), X, stage="lowered")
    assert text.count("def loops") >= 60
    short = dj.source(dj.grad(bounds_that_change), X, 1.3, stage="lowered")
    assert "def loops" not in short
