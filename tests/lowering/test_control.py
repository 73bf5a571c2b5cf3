"""Loops, branches, calls, lists, stacks and effects in compiled code."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Loc, Value
from diffjit.ir.types import BOOL, FLOAT, INT, Array, List, Scalar, Stack, Sym
from diffjit.lowering.calls.cpu import compile_function
from diffjit.lowering.python import compile_python
from diffjit.lowering.runtime.tape import Tape
from tests.lowering.harness import program, run, same

rng = np.random.default_rng(4)
F8 = np.dtype("f8")
ROW = Array(F8, (Sym(not_one=True),), "C")


def loop(b: Builder, start: Any, stop: Any, step: Any, carried: list[Value], body: Any, **attrs: Any) -> list[Value]:
    block = Block([Value(INT, "i"), *(Value(v.type, v.name) for v in carried)])
    with b.inside(block):
        block.results = body(*block.args)
    bounds = [b.const(v) if isinstance(v, int) else v for v in (start, stop, step)]
    return b.op("for", [*bounds, *carried], [v.type for v in carried], regions=[block], **attrs).outputs


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 5, 1), (2, 9, 3), (9, 2, -3), (5, 5, 1), (7, 2, 1), (3, -2, -1), (0, 1, 5)]
)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_for(start: int, stop: int, step: int, reverse: bool, constant: bool) -> None:
    def build(b: Builder, *params: Value) -> Any:
        lo, hi, by = (start, stop, step) if constant else params
        ten, zero = b.const(10), b.const(0)
        return loop(
            b,
            lo,
            hi,
            by,
            [zero],
            lambda i, s: [b.value("add", [b.value("multiply", [s, ten], INT), i], INT)],
            reverse=reverse,
        )

    want = 0
    indices = range(start, stop, step)
    for i in reversed(indices) if reverse else indices:
        want = want * 10 + i
    assert run(build, *(() if constant else (start, stop, step))) == want


def test_swaps_and_exit() -> None:
    """Fibonacci until it passes a bound: carried values change at once, the loop leaves early."""

    def build(b: Builder, bound: Value) -> Any:
        def body(i: Value, x: Value, y: Value, count: Value) -> list[Value]:
            del i
            total = b.value("add", [x, y], INT)
            leave = b.value("greater", [total, bound], BOOL)
            return [leave, y, total, b.value("add", [count, b.const(1)], INT)]

        a, c, n = b.const(0), b.const(1), b.const(0)
        return loop(b, 0, 1000, 1, [a, c, n], body, exit=True)

    x, y, count = run(build, 100)
    assert (x, y, count) == (89, 144, 11)


def test_while_and_if() -> None:
    """Collatz."""

    def build(b: Builder, n: Value) -> Any:
        cond, body = Block([Value(INT, "n"), Value(INT, "steps")]), Block([Value(INT, "n"), Value(INT, "steps")])
        with b.inside(cond):
            cond.results = [b.value("not_equal", [cond.args[0], b.const(1)], BOOL)]
        with b.inside(body):
            k, steps = body.args
            even = b.value("equal", [b.value("remainder", [k, b.const(2)], INT), b.const(0)], BOOL)
            then, other = Block(), Block()
            with b.inside(then):
                then.results = [b.value("floor_divide", [k, b.const(2)], INT)]
            with b.inside(other):
                other.results = [b.value("add", [b.value("multiply", [k, b.const(3)], INT), b.const(1)], INT)]
            k2 = b.op("if", [even], [INT], regions=[then, other]).out
            body.results = [k2, b.value("add", [steps, b.const(1)], INT)]
        zero = b.const(0)
        return b.op("while", [n, zero], [INT, INT], regions=[cond, body]).outputs

    assert run(build, 27) == (1, 111)


def test_float_after_int_under_one_name() -> None:
    """Versions of one name with different types stay apart."""

    def build(b: Builder, n: Value) -> Any:
        k = b.value("add", [n, b.const(1)], INT, name="n")
        x = b.value("divide", [k, b.const(2)], FLOAT, name="n")
        y = b.value("multiply", [x, b.const(2.0)], FLOAT, name="n")
        return [b.value("floor_divide", [k, b.const(2)], INT), y]

    assert run(build, 4) == (2, 5.0)


def test_buffers_swapped_in_a_loop() -> None:
    def build(b: Builder, u: Value, n: Value) -> Any:
        v = b.value("copy", [u], u.type, order="C", name="v")
        w = b.value("copy", [u], u.type, order="C", name="w")

        def body(i: Value, x: Value, y: Value) -> list[Value]:
            b.op("store", [x, b.value("cast", [i], FLOAT), b.const(0)])
            return [y, x]

        return loop(b, 0, n, 1, [v, w], body)

    v, w = run(build, np.array([7.0, 8.0]), 3)
    same(v, np.array([1.0, 8.0]))
    same(w, np.array([2.0, 8.0]))


def test_calls() -> None:
    b = Builder()
    x, y = Value(FLOAT, "x"), Value(ROW, "y")
    doubled = b.value("multiply", [y, x], ROW)
    b.block.results = [doubled, b.value("add", [x, b.const(1.0)], FLOAT)]
    helper = Function("scale", [x, y], b.block)

    def build(b: Builder, u: Value, k: Value) -> Any:
        first = b.op("call", [k, u], [ROW, FLOAT], function=helper).outputs
        return b.op("call", [first[1], first[0]], [ROW, FLOAT], function=helper).outputs

    u = rng.normal(size=4)
    out, k = run(build, u, 3.0)
    same(out, u * 12.0)
    assert k == 5.0


def recursive(deep: bool) -> Function:
    b = Builder()
    n = Value(INT, "n")
    f = Function("fib", [n], b.block)
    small = b.value("less", [n, b.const(2)], BOOL)
    then, other = Block(), Block()
    with b.inside(then):
        then.results = [b.value("cast", [n], FLOAT)]
    with b.inside(other):
        one = b.op("call", [b.value("subtract", [n, b.const(1)], INT)], [FLOAT], function=f).out
        if deep:
            other.results = [b.value("add", [one, b.const(1.0)], FLOAT)]
        else:
            two = b.op("call", [b.value("subtract", [n, b.const(2)], INT)], [FLOAT], function=f).out
            other.results = [b.value("add", [one, two], FLOAT)]
    b.block.results = [b.op("if", [small], [FLOAT], regions=[then, other]).out]
    return f


def test_recursion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dj.settings, "cache_dir", str(tmp_path))
    assert compile_function(recursive(deep=False))(15) == (610.0,)
    assert not list(tmp_path.glob("*.bin"))  # parts that another process would read would not find each other
    deep = compile_function(recursive(deep=True))
    assert deep(500) == (500.0,)
    with pytest.raises(RecursionError):
        deep(5000)


def test_failures_name_the_users_line_through_calls() -> None:
    b = Builder()
    x, i = Value(ROW, "x"), Value(INT, "i")
    b.loc = Loc(__file__, 17, 4, 9, "inner")
    b.block.results = [b.value("load", [x, i], Scalar(F8))]
    helper = Function("inner", [x, i], b.block)

    def build(b: Builder, u: Value, k: Value) -> Any:
        b.loc = Loc(__file__, 23, 4, 9, "outer")
        return b.op("call", [u, k], [Scalar(F8)], function=helper).out

    f = compile_function(program(build, np.zeros(3), 1))
    assert f(np.ones(3), 2) == (1.0,)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3") as caught:
        f(np.ones(3), 3)
    assert caught.value.diffjit_loc.line == 17
    assert any("line 17, in inner" in note for note in caught.value.__notes__)


def test_raise() -> None:
    def build(b: Builder, x: Value) -> Any:
        bad = b.value("less", [x, b.const(0.0)], BOOL)
        block = Block()
        with b.inside(block):
            b.op("raise", [x], exception=ValueError, parts=("negative: ", ("value", ".2f"), "!"))
        b.op("if", [bad], regions=[block, Block()])
        return b.value("sqrt", [x], FLOAT)

    assert run(build, 4.0) == 2.0
    with pytest.raises(ValueError, match=r"^negative: -1.50!$"):
        run(build, -1.5)


def test_raise_in_one_branch_gives_no_value() -> None:
    def build(b: Builder, x: Value) -> Any:
        then, other = Block(), Block()
        with b.inside(then):
            b.op("raise", [], exception=KeyError, parts=())
            then.results = [b.value("undef", (), ROW)]
        with b.inside(other):
            other.results = [b.value("full", [x, b.const(3)], ROW)]
        return b.op("if", [b.value("less", [x, b.const(0.0)], BOOL)], [ROW], regions=[then, other]).out

    same(run(build, 2.0), np.full(3, 2.0))
    with pytest.raises(KeyError):
        run(build, -2.0)


def test_print(capfd: pytest.CaptureFixture[str]) -> None:
    def build(b: Builder, x: Value, n: Value, a: Value) -> Any:
        flag = b.value("less", [x, b.const(0.0)], BOOL)
        f4 = b.value("cast", [x], Scalar(np.dtype("f4")))
        b.op(
            "print",
            [x, n, flag, a, f4],
            parts=(
                "x=",
                ("value", ".3f"),
                " n=",
                ("value", ""),
                " ",
                ("value", ""),
                " ",
                ("value", ""),
                " ",
                ("value", "!r"),
                "\n",
            ),
        )
        return []

    a = np.arange(6.0).reshape(2, 3).T
    run(build, 1.5, 7, a)
    assert capfd.readouterr().out == f"x=1.500 n=7 False {a} {np.float32(1.5)!r}\n"


def test_stacks() -> None:
    def build(b: Builder, u: Value, n: Value) -> Any:
        s = b.value("stack_new", (), Stack(FLOAT))
        refs = b.value("stack_new", (), Stack(ROW))

        def forward(i: Value) -> list[Value]:
            b.op("push", [s, b.value("cast", [b.value("multiply", [i, i], INT)], FLOAT)])
            b.op("push", [refs, b.value("multiply", [u, b.value("cast", [i], FLOAT)], ROW)])
            return []

        loop(b, 0, n, 1, [], forward)

        def backward(i: Value, total: Value, rows: Value) -> list[Value]:
            del i
            x = b.value("pop", [s], FLOAT)
            row = b.value("pop", [refs], ROW)
            total = b.value("add", [b.value("multiply", [total, b.const(2.0)], FLOAT), x], FLOAT)
            return [total, b.value("add", [b.value("multiply", [rows, b.const(0.5)], ROW), row], ROW)]

        zero, rows = b.const(0.0), b.value("zeros_like", [u], ROW)
        return loop(b, 0, n, 1, [zero, rows], backward)

    u = rng.normal(size=3)
    total, rows = run(build, u, 5)
    want, want_rows = 0.0, np.zeros(3)
    for i in range(4, -1, -1):
        want, want_rows = want * 2.0 + i * i, want_rows * 0.5 + u * i
    assert total == want
    same(rows, want_rows)


def test_lists() -> None:
    items = List(INT)

    def build(b: Builder, n: Value) -> Any:
        x = b.value("list_new", (), items, name="x")
        loop(b, 0, n, 1, [], lambda i: b.op("list_append", [x, b.value("multiply", [i, i], INT)]) and [])
        y = b.value("list_copy", [x], items, name="y")
        b.op("list_set", [x, b.const(-1), b.const(0)])
        b.op("list_insert", [x, b.const(77), b.const(1)])
        last = b.value("list_pop", [x, b.const(-1)], INT, name="last")
        return [x, y, b.value("list_len", [x], INT), b.value("list_get", [y, b.const(2)], INT), last]

    assert run(build, 4) == ([-1, 77, 1, 4], [0, 1, 4, 9], 4, 4, 9)


def test_lists_of_arrays_and_of_lists() -> None:
    def build(b: Builder, u: Value, n: Value) -> Any:
        rows, nested = (
            b.value("list_new", (), List(ROW), name="rows"),
            b.value("list_new", (), List(List(FLOAT)), name="nested"),
        )

        def body(i: Value) -> list[Value]:
            b.op("list_append", [rows, b.value("multiply", [u, b.value("cast", [i], FLOAT)], ROW)])
            inner = b.value("list_new", (), List(FLOAT), name="inner")
            b.op("list_append", [inner, b.value("cast", [i], FLOAT)])
            b.op("list_append", [nested, inner])
            return []

        loop(b, 0, n, 1, [], body)
        first = b.value("list_get", [nested, b.const(1)], List(FLOAT), name="first")
        b.op("list_append", [first, b.const(9.0)])
        return [
            rows,
            b.value("list_len", [b.value("list_get", [nested, b.const(1)], List(FLOAT))], INT),
            b.value("list_get", [first, b.const(1)], FLOAT),
        ]

    u = rng.normal(size=3)
    rows, length, nine = run(build, u, 3)
    for k, row in enumerate(rows):
        same(row, u * k)
    assert (length, nine) == (2, 9.0)


def test_list_errors() -> None:
    def get(b: Builder, i: Value) -> Any:
        x = b.value("list_new", (), List(FLOAT))
        b.op("list_append", [x, b.const(1.0)])
        return b.value("list_get", [x, i], FLOAT)

    assert run(get, -1) == 1.0
    for i in (1, -2):
        with pytest.raises(IndexError, match="list index out of range"):
            run(get, i)

    def pop(b: Builder) -> Any:
        return b.value("list_pop", [b.value("list_new", (), List(FLOAT)), b.const(-1)], FLOAT)

    with pytest.raises(IndexError, match="pop from empty list"):
        run(pop)


def test_tapes_cross_from_one_function_to_another() -> None:
    stack, nested = Stack(FLOAT), Stack(ROW)

    def forward(b: Builder, u: Value) -> Any:
        s, rows = b.value("stack_new", (), stack, name="s"), b.value("stack_new", (), nested, name="rows")
        n = b.value("dim", [u], INT, axis=0)

        def body(i: Value) -> list[Value]:
            b.op("push", [s, b.value("cast", [b.value("load", [u, i], Scalar(F8))], FLOAT)])
            b.op("push", [rows, b.value("multiply", [u, u], ROW)])
            return []

        loop(b, 0, n, 1, [], body)
        return [n, s, rows]

    def backward(b: Builder, s: Value, rows: Value) -> Any:
        mine, theirs = (
            b.value("stack_copy", [s], stack, name="mine"),
            b.value("stack_copy", [rows], nested, name="theirs"),
        )
        return [b.value("pop", [mine], FLOAT), b.value("pop", [mine], FLOAT), b.value("pop", [theirs], ROW)]

    u = np.array([1.0, 2.0, 5.0])
    first = compile_function(program(forward, u), residual_outs=frozenset({1, 2}))
    second = compile_function(program(backward, 0, 0, types=(stack, nested)))
    n, s, rows = first(u)
    assert n == 3
    assert isinstance(s, Tape)
    for _ in range(3):
        last, before, row = second(s, rows)
        assert (last, before) == (5.0, 2.0)
        same(row, u * u)


def test_nothing_leaks_when_a_check_fails() -> None:
    def build(b: Builder, n: Value) -> Any:
        big = b.value("zeros", [n], ROW, name="big")
        rows = b.value("list_new", (), List(ROW), name="rows")
        b.op("list_append", [rows, b.value("add", [big, b.const(1.0)], ROW)])
        view = b.value("view", [big, b.const(3)], ROW, name="view", spec=(("s", True, None, None),))
        return b.value("load", [view, n], Scalar(F8))

    f = compile_function(program(build, 1))
    sizes = []
    for k in range(400):
        with pytest.raises(IndexError):
            f(1_000_000)
        if k in (50, 399):
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert sizes[1] - sizes[0] < 40_000


def test_no_results() -> None:
    assert compile_function(program(lambda b, x: [], 1.0))(1.0) == ()


def test_parameters_named_like_helpers() -> None:
    b = Builder()
    params = [Value(FLOAT, n) for n in ("sin", "plus", "range", "float64")]
    total = b.value("sin", [params[0]], FLOAT, name="where")
    for p in params[1:]:
        total = b.value("add", [total, p], FLOAT, name="floor")
    b.block.results = [b.value("floor", [total], FLOAT, name="empty_float64")]
    assert compile_function(Function("sum", params, b.block))(0.0, 1.0, 2.0, 3.5) == (6.0,)
    assert [p.name for p in params] == ["sin", "plus", "range", "float64"]


def test_python_backend_has_the_same_contract() -> None:
    f = program(
        lambda b, x, k: [b.value("multiply", [x, k], ROW), b.value("load", [x, b.const(0)], Scalar(F8))],
        np.zeros(3),
        1.0,
    )
    u = rng.normal(size=4)
    for compiled in (compile_function(f), compile_python(f)):
        out, first = compiled(u, 2.0)
        same(out, u * 2)
        assert type(first) is np.float64


def test_a_name_assigned_on_the_way_out_of_a_loop() -> None:
    """What Numba's own interpreter gets wrong: `v = 0.0; break` after a loop that reads `v`."""

    def build(b: Builder, a: Value) -> Any:
        cond, body = Block([Value(FLOAT, "v")]), Block([Value(FLOAT, "v")])
        with b.inside(cond):
            cond.results = [b.const(True)]
        with b.inside(body):
            (v,) = body.args
            leave = b.value("greater", [v, b.const(3.0)], BOOL)
            then, other = Block(), Block()
            with b.inside(then):
                then.results = [b.const(0.0)]
            with b.inside(other):
                other.results = [b.value("multiply", [v, b.const(2.0)], FLOAT)]
            body.results = [leave, b.op("if", [leave], [FLOAT], regions=[then, other]).out]
        body.results[1].name = "v"
        return b.op("while", [a], [FLOAT], regions=[cond, body], exit=True).out

    assert run(build, 0.5) == 0.0


def test_an_int_of_more_than_64_bits_is_refused_at_the_first_call_too():
    def third(a, i):
        return a[i] * 3.0

    first = dj.jit(third, backend="numba")
    for i in (2**63, 2**70, -(2**63) - 1):
        with pytest.raises(OverflowError, match="an int among the arguments does not fit into 64 bits"):
            first(np.ones(3), i)
    assert first(np.ones(3), 2) == 3.0
    with pytest.raises(OverflowError, match="an int among the arguments does not fit into 64 bits"):
        first(np.ones(3), 2**70)


# Names that compiled text takes for itself ----------------------------------------------------------------------------


def helpers_names(error_0: Any, as_C: Any, transpose_10_A: Any) -> Any:
    """Each name is that of a helper which its own text needs."""
    if error_0[0, 0] < -5.0:
        raise ValueError("below")
    empty_float64 = np.zeros(3)
    empty_float64[1] = np.sum(error_0 * as_C)
    return np.sum(empty_float64 * error_0.T) + np.sum(np.sin(transpose_10_A.T) @ error_0.T)


def versions(x: Any) -> Any:
    """The second version of `error` is called like the helper that raises."""
    error = x * 2.0
    for k in range(3):
        if error > 100.0 * k + 100.0:
            raise ValueError("above")
        error, x = error * x, error + x
    return error * x


def test_variables_called_like_helpers() -> None:
    points = [np.arange(9.0).reshape(3, 3) + k for k in range(3)]
    for k, found in enumerate(dj.grad(helpers_names, argnums=(0, 1, 2))(*points)):
        v = np.cos(np.arange(9.0)).reshape(3, 3)
        ahead, behind = ([p + s * v if j == k else p for j, p in enumerate(points)] for s in (1e-6, -1e-6))
        quotient = (helpers_names(*ahead) - helpers_names(*behind)) / 2e-6
        assert np.sum(found * v) == pytest.approx(quotient, rel=1e-6)
    with pytest.raises(ValueError, match="below"):
        dj.grad(helpers_names)(points[0] - 9.0, *points[1:])
    assert dj.grad(versions)(1.3) == pytest.approx((versions(1.3 + 1e-6) - versions(1.3 - 1e-6)) / 2e-6, rel=1e-6)


def test_an_error_that_lengths_rule_out_behind_finally():
    """What its text would show has no value on any path that is left, and is read where the error would be raised."""

    def spread(b, w):
        r = 0.0
        try:
            for i in range(3):
                try:
                    scale = np.std(w)
                finally:
                    r = np.sum(b)
                b[1:] = w[i, 1] * scale
        finally:
            r = r * 2.0
        return r + np.sum(b)

    b, w = np.ones(4), np.arange(16.0).reshape(4, 4) / 7
    value, (b_bar, w_bar) = dj.value_and_grad(spread, argnums=(0, 1), backend="numba")(b, w)
    assert value == pytest.approx(spread(b.copy(), w))
    b_dot, w_dot, h = np.arange(1.0, 5.0), np.cos(w), 1e-5
    ahead, behind = (spread(b + t * b_dot, w + t * w_dot) for t in (h, -h))
    assert np.sum(b_bar * b_dot) + np.sum(w_bar * w_dot) == pytest.approx((ahead - behind) / (2 * h), rel=1e-7)
