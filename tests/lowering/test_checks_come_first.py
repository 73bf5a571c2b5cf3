"""An index is tested where Python tests it: before later writes, before unchecked accesses, and though nobody reads.

The adjoint of `a[i]` writes to `a_bar[i]` without a test of its own, as that of `a[i]` has passed. Printed in the wrong
order, that is a write outside the heap; dropped, there is no IndexError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diffjit as dj


def scaled(a: Any, i: int) -> Any:
    return a[i] * 2.0


def of_a_row(a: Any, i: int) -> Any:
    rows = a.reshape(-1, 1)
    return rows[i, 0] * 2.0


def summed(a: Any, i: int) -> Any:
    return np.sum(a[i])


def taken(a: Any, i: int) -> Any:
    return np.take(a, i)


def _picked(p: Any, i: int) -> Any:
    return p[i]


def by_a_helper(a: Any, i: int) -> Any:
    return _picked(a, i) * 3.0


def sorted_first(a: Any, i: int) -> Any:
    return np.sort(a)[i]


def last(a: Any, i: int) -> Any:
    return a[-1] * (i + 1.0)


def unused(a: Any, i: int) -> Any:
    a[i]
    return np.sum(a * a)


def not_chosen(a: Any, i: int) -> Any:
    return np.where(i > 100, a[i], 0.0) + np.sum(a)


def in_a_loop(a: Any, i: int) -> Any:
    total = 0.0
    for k in range(3):
        total += a[i + k] * 2.0
    return total


def after_a_write(a: Any, i: int) -> Any:
    b = a.copy()
    b[i] *= 3.0
    return b[i + 1] * b[i]


def out_of_turn(a: Any, i: int) -> Any:
    return a[i] * (a[i + 1] * a[i - 1] + a[i])


def of_a_list(a: Any, i: int) -> Any:
    items = [x * x for x in a]
    return items[i] * 2.0


def two_ways(a: Any, i: int) -> Any:
    x = a[i]
    return a[i + 1] if x > 0 else a[i - 1]


PROGRAMS: list[Callable[[Any, int], Any]] = [
    scaled, of_a_row, summed, by_a_helper, sorted_first, last, unused, not_chosen, in_a_loop, after_a_write,
    out_of_turn, of_a_list, two_ways,
]  # fmt: skip
INDICES = [(3, -4), (3, 3), (3, 1), (3, -1), (1, 0), (0, 0), (3, 2**40)]


def value(program: Any, a: Any, i: int) -> Any:
    return dj.jit(program)(a, i)


def gradient(program: Any, a: Any, i: int) -> Any:
    return dj.grad(program)(a, i)


def pullback(program: Any, a: Any, i: int) -> Any:
    return dj.vjp(lambda a: program(a, i), a)[1](1.0)


def tangent(program: Any, a: Any, i: int) -> Any:
    return dj.jvp(lambda a: program(a, i), (a,), (np.ones_like(a),))


def outcome(call: Callable[[], Any]) -> tuple[type, str] | None:
    """The exception, if one is raised."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return type(error), str(error)
    return None


@pytest.mark.parametrize("mode", [value, gradient, pullback, tangent])
@pytest.mark.parametrize("program", PROGRAMS)
def test_errors_are_those_of_python(program: Any, mode: Any) -> None:
    for n, i in INDICES:
        a = np.linspace(0.5, 1.0, n)
        want = outcome(lambda a=a, i=i: program(a.copy(), i))
        assert outcome(lambda a=a, i=i: mode(program, a.copy(), i)) == want, (n, i)


def test_take_of_a_number() -> None:
    with pytest.raises(IndexError, match="index -4 is out of bounds"):
        dj.grad(taken)(np.ones(3), -4)
    assert dj.grad(taken)(np.ones(3), -3).tolist() == [1.0, 0.0, 0.0]


def test_nothing_is_written_to_the_caller_before_the_error() -> None:
    def first(a: Any, b: Any, i: int) -> Any:
        x = b[i]
        a[:] = 0.0
        return x + np.sum(a)

    def then(a: Any, b: Any, i: int) -> Any:
        a[:] = 0.0
        return b[i] + np.sum(a)

    for program, left in ((first, 1.0), (then, 0.0)):
        a = np.ones(3)
        with pytest.raises(IndexError):
            dj.jit(program)(a, np.ones(2), 2)
        assert a.tolist() == [left] * 3


def test_the_first_of_two_errors() -> None:
    def program(a: Any, b: Any, i: int) -> Any:
        x, y = a[i], b[i]
        return y * 2.0 + x

    with pytest.raises(IndexError, match="with size 3"):
        dj.grad(program)(np.ones(3), np.ones(5), 7)
    with pytest.raises(IndexError, match="with size 3"):
        dj.jit(program)(np.ones(3), np.ones(5), 7)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_is_printed_comes_before_the_error(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    def program(a: Any, i: int) -> Any:
        print("here")  # noqa: T201 - the program of a user
        return a[i] * 2.0

    with pytest.raises(IndexError):
        dj.jit(program, backend=backend)(np.ones(3), 5)
    sys.stdout.flush()
    assert capsys.readouterr().out == "here\n"


def in_vain(x: Any, i: int) -> Any:
    np.max(x[i:])
    x @ np.ones(i)
    1 // (i - 3)
    return np.sum(x * x)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_is_computed_in_vain_raises(backend: str) -> None:
    for n, i in ((3, 3), (3, 2), (4, 3), (0, 0)):
        a = np.ones(n)
        want = outcome(lambda a=a, i=i: in_vain(a.copy(), i))
        assert want is not None
        assert outcome(lambda a=a, i=i: dj.jit(in_vain, backend=backend)(a, i)) == want
        assert outcome(lambda a=a, i=i: dj.grad(in_vain, backend=backend)(a, i)) == want


# Loops in two versions ------------------------------------------------------------------------------------------------


def left_early(b: Any, x: float) -> Any:
    b = b.copy()
    for i in range(5):
        b[-i - 1] += x
        if i < 3:
            break
    return np.sum(np.sin(b))


def test_results_of_a_loop_that_a_later_test_reads() -> None:
    b, x, h = np.linspace(0.0, 1.0, 5), 0.3, 1e-6
    slope = (left_early(b, x + h) - left_early(b, x - h)) / (2 * h)
    assert dj.jit(left_early)(b, x) == pytest.approx(left_early(b, x), rel=1e-14)
    assert dj.grad(left_early, argnums=1)(b, x) == pytest.approx(slope, rel=1e-8)


# What is proven of a line ---------------------------------------------------------------------------------------------


def test_a_view_inside_a_line_that_is_proven() -> None:
    def program(x: Any, y: Any, k: int) -> Any:
        return np.append(x[[2, 1, 1]], y[-1:1, k % 3 - 3][0])[-1]

    got = dj.grad(program, argnums=1)(np.ones(4), np.array([[1.0, 2.0, 3.0]]), 4)
    assert got.tolist() == [[0.0, 1.0, 0.0]]


def test_lengths_of_what_was_recorded_on_a_branch_not_taken() -> None:
    def program(x: Any, k: int) -> Any:
        u = x[1:4]
        u[:] = u - 0.4 * u[:3]
        if k > 0:
            u[:] = u - 0.4 * u[:3]
        return x.sum()

    for k, inner in ((0, 0.6), (1, 0.36)):
        _, back = dj.vjp(program, np.arange(5.0), k)
        np.testing.assert_allclose(back(1.0)[0], [1.0, inner, inner, inner, 1.0], rtol=1e-12)


def add_at(x, k, a):
    np.add.at(x, [0, k], a)


def places(x, k, a):
    x[[0, k]] = a


def rows(x, k, a):
    x.reshape(-1, 1)[np.array([0, k]), 0] = a


def several(x, k, a):
    x[np.array([[0, 1], [2, k]])] += a


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [add_at, places, rows, several])
def test_writes_by_index_arrays_are_all_or_none(f, backend):
    """As NumPy, where one of the indices is wrong."""
    for k in (3, 5, -6):
        want, found = np.arange(5.0), np.arange(5.0)
        errors = []
        for function, x in ((f, want), (dj.jit(f, backend=backend), found)):
            try:
                function(x, k, 0.5)
                errors.append("")
            except IndexError as error:
                errors.append(str(error).splitlines()[0])
        assert errors[0] == errors[1]
        np.testing.assert_array_equal(want, found)
