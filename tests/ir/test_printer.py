"""Hand-built programs: what their text looks like, and that it computes what NumPy computes."""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from diffjit.analysis.proven import proofs
from diffjit.ir.build import Builder
from diffjit.ir.dump import format_ir
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.ops import ROWS, Raises, Row
from diffjit.ir.text import syntax
from diffjit.ir.text.expressions import SourcePrinter
from diffjit.ir.text.outofssa import function_def
from diffjit.ir.text.printer import print_module
from diffjit.ir.types import BOOL, FLOAT, INT, Array, List, Scalar, Stack, Sym, Type
from diffjit.ir.verify import verify

F64, F32, I64, B1, C128 = (Scalar(np.dtype(d)) for d in ("f8", "f4", "i8", "?", "c16"))


def array(ndim: int = 1, dtype: str = "f8", layout: str = "C") -> Array:
    return Array(np.dtype(dtype), tuple(Sym() for _ in range(ndim)), layout)


class Program:
    """A function under construction."""

    def __init__(self, **params: Type) -> None:
        self.params = {name: Value(ty, name) for name, ty in params.items()}
        self.body = Block()
        self.b = Builder(self.body)

    def __getitem__(self, name: str) -> Value:
        return self.params[name]

    def __call__(self, kind: str, inputs: Sequence[Any], ty: Type, name: str | None = None, **attrs: Any) -> Value:
        values = [v if isinstance(v, Value) else self.b.const(v) for v in inputs]
        return self.b.value(kind, values, ty, name=name, **attrs)

    def do(self, kind: str, *inputs: Any, **attrs: Any) -> None:
        self.b.op(kind, [v if isinstance(v, Value) else self.b.const(v) for v in inputs], **attrs)

    def function(self, *results: Value, **facts: Any) -> Function:
        self.body.results = list(results)
        made = Function("f", list(self.params.values()), self.body, **facts)
        verify(made)
        return made

    def loop(
        self, start: Any, stop: Any, step: Any, carried: dict[str, Value], index: str = "i"
    ) -> tuple[Block, list[Value]]:
        """Open a `for`; fill the block's operations and results, then call `close`."""
        block = Block(args=[Value(INT, index), *(Value(v.type, n) for n, v in carried.items())])
        inputs = [v if isinstance(v, Value) else self.b.const(v) for v in (start, stop, step)]
        op = self.b.op(
            "for",
            [*inputs, *carried.values()],
            [v.type for v in carried.values()],
            regions=[block],
            exit=False,
            reverse=False,
        )
        for v, n in zip(op.outputs, carried, strict=True):
            v.name = n
        return block, op.outputs

    def branch(self, cond: Value, *types: Type, names: Sequence[str] = ()) -> tuple[Block, Block, list[Value]]:
        op = self.b.op("if", [cond], types, regions=[Block(), Block()])
        for v, n in zip(op.outputs, names, strict=False):
            v.name = n
        return op.regions[0], op.regions[1], op.outputs


def text_of(function: Function, printer: SourcePrinter | None = None) -> str:
    return print_module(function, printer or SourcePrinter(inside=proofs(function)))


def body_of(function: Function) -> str:
    """The text of the body, without indentation."""
    lines = text_of(function).split("def f(", 1)[1].split("\n")[1:]
    return "\n".join(line[4:] for line in lines).rstrip()


def run(function: Function, *args: Any) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(text_of(function), "<generated>", "exec"), scope)  # noqa: S102 - our own text
    return scope[function.name](*args)


# ------------------------------------------------------------------------------------- statements and folding


def test_the_stencil_of_the_style_page() -> None:
    p = Program(u=array(), k=FLOAT, n=INT)
    block, _ = p.loop(0, p["n"], 1, {}, "t")
    with p.b.inside(block):
        size = p("dim", [p["u"]], INT, axis=0)
        inner, _ = p.loop(1, p("subtract", [size, 1], INT), 1, {})
        with p.b.inside(inner):
            i = inner.args[0]
            left = p("load", [p["u"], p("subtract", [i, 1], INT)], F64)
            right = p("load", [p["u"], p("add", [i, 1], INT)], F64)
            wave = p("multiply", [p("multiply", [p["k"], p("sin", [left], F64)], F64), right], F64)
            p.do(
                "store", p["u"], p("add", [p("load", [p["u"], i], F64), wave], F64), i, comment="relax.py:9  u[i] = ..."
            )
    p.b.block = p.body
    total = p("sum", [p("multiply", [p["u"], p["u"]], array())], F64, axes=(0,), keepdims=False)
    f = p.function(total, doc="Relax u.")
    assert text_of(f) == (
        "import numpy as np\n\n\n"
        "def f(u, k, n):\n"
        '    """Relax u."""\n'
        "    for t in range(n):\n"
        "        for i in range(1, u.size - 1):\n"
        "            # relax.py:9  u[i] = ...\n"
        "            u[i] = u[i] + k * np.sin(u[i - 1]) * u[i + 1]\n"
        "    return np.sum(u * u)\n"
    )


def test_a_load_does_not_cross_a_store() -> None:
    p = Program(u=array())
    first = p("load", [p["u"], 0], F64)
    p.do("store", p["u"], 7.0, 0)
    f = p.function(p("add", [first, p("load", [p["u"], 0], F64)], F64))
    assert body_of(f) == "u_value = u[0]\nu[0] = 7.0\nreturn u_value + u[0]"
    assert run(f, np.array([1.0])) == 8.0


def test_an_array_expression_does_not_cross_a_write_but_a_length_does() -> None:
    p = Program(u=array(), v=array())
    double = p("multiply", [p["u"], 2.0], array())
    size = p("dim", [p["u"]], INT, axis=0)
    p.do("assign", p["v"], 0.0)
    f = p.function(p("add", [double, size], array()))
    assert body_of(f) == "t1 = u * 2.0\nv[...] = 0.0\nreturn t1 + u.size"


def test_nothing_is_folded_into_a_loop_but_constants() -> None:
    p = Program(x=FLOAT, n=INT)
    y = p("sin", [p["x"]], FLOAT)
    block, outs = p.loop(0, p["n"], 1, {"s": p.b.const(0.0)})
    with p.b.inside(block):
        block.results = [p("add", [block.args[1], y], FLOAT)]
    f = p.function(*outs)
    assert body_of(f) == "sin_x = np.sin(x)\ns = 0.0\nfor i in range(n):\n    s += sin_x\nreturn s"


def test_an_operand_that_gets_a_new_version_is_read_before() -> None:
    p = Program(a=FLOAT)
    x = p("multiply", [p["a"], 2.0], FLOAT, "x")
    more = p("add", [x, 1.0], FLOAT)
    x2 = p("multiply", [x, 3.0], FLOAT, "x")
    f = p.function(p("subtract", [more, x2], FLOAT))
    assert body_of(f) == "x = a * 2.0\nt1 = x + 1.0\nx *= 3.0\nreturn t1 - x"
    assert run(f, 5.0) == 11.0 - 30.0


def test_an_older_version_that_is_needed_later_is_kept() -> None:
    p = Program(a=FLOAT)
    x = p("multiply", [p["a"], 2.0], FLOAT, "x")
    x2 = p("multiply", [x, 3.0], FLOAT, "x")
    f = p.function(p("subtract", [x, x2], FLOAT))
    assert body_of(f) == "x_kept = a * 2.0\nx = x_kept * 3.0\nreturn x_kept - x"


def test_long_lines_are_cut_by_names() -> None:
    p = Program(x=FLOAT)
    v = p["x"]
    for _ in range(80):
        v = p("add", [p("sin", [v], FLOAT), 1.0], FLOAT)
    f = p.function(v)
    assert max(len(line) for line in text_of(f).split("\n")) <= 110
    x = 0.3
    for _ in range(80):
        x = np.sin(x) + 1.0
    assert run(f, 0.3) == x


def test_views_are_places() -> None:
    p = Program(a=array(2), b=array())
    inner = ("s", True, True, None)
    row = p("view", [p["a"], 0, 1, -1], array(), spec=("i", inner))
    p.do("assign", row, p["b"])
    again = p("view", [p["a"], 1, 1, -1], array(), spec=("i", inner))
    p.do("assign", again, p("multiply", [again, 3.0], array()))
    p.do("accum", p("view", [p["a"], 2], array(), spec=(":", "i")), p("sum", [p["b"]], F64, axes=(0,)))
    p.do("accum_at", p["a"], 1.0, 0, -1)
    zero_d = p("view", [p["a"], 2, 2], array(0), spec=("i", "i"))
    p.do("assign", zero_d, 9.0)
    p.do("assign", p("transpose", [p["a"]], array(2, layout="F"), perm=(1, 0)), p["a"])
    f = p.function()
    assert body_of(f).split("\n") == [
        "a[0, 1:-1] = b",
        "a[1, 1:-1] *= 3.0",
        "a[:, 2] += np.sum(b)",
        "a[0, -1] += 1.0",
        "a[2, 2, ...] = 9.0",
        "a.T[...] = a",
        "return ()",
    ]
    a, b = np.arange(16.0).reshape(4, 4), np.array([5.0, 6.0])
    want = a.copy()
    want[0, 1:-1] = b
    want[1, 1:-1] *= 3
    want[:, 2] += 11
    want[0, -1] += 1
    want[2, 2] = 9
    run(f, a, b)
    np.testing.assert_array_equal(a, want.T)


def test_an_update_of_integers_by_floats_is_no_augmented_assignment() -> None:
    p = Program(m=array(dtype="i8"))
    p.do("assign", p["m"], p("multiply", [p["m"], 1.5], array()))
    f = p.function()
    assert body_of(f) == "m[...] = m * 1.5\nreturn ()"


def test_arrays_are_never_updated_in_place_by_rebinding() -> None:
    p = Program(a=array())
    x = p("multiply", [p["a"], 2.0], array(), "x")
    x2 = p("add", [x, 1.0], array(), "x")
    f = p.function(x2)
    assert body_of(f) == "x = a * 2.0\nx = x + 1.0\nreturn x"


def test_a_write_to_fresh_memory_changes_nothing_older() -> None:
    p = Program(y=array())
    first = p("load", [p["y"], 1], F64)
    k = p("empty", [2], array(), "k", order="C")
    p.do("store", k, 0.0, 0)
    p.do("store", k, first, 1)
    f = p.function(k)
    assert body_of(f) == "k = np.empty(2)\nk[0] = 0.0\nk[1] = y[1]\nreturn k"


def test_very_deep_expressions_are_cut() -> None:
    class Wide(SourcePrinter):
        width = 10**6

    p = Program(x=FLOAT)
    v = p["x"]
    for _ in range(3000):
        v = p("negative", [p("add", [v, 1.0], FLOAT)], FLOAT)
    scope: dict[str, Any] = {}
    exec(text_of(p.function(v), Wide()), scope)  # noqa: S102 - our own text
    assert scope["f"](0.5) == 0.5


# ------------------------------------------------------------------------------------------------ copies


def test_swap_in_a_loop() -> None:
    p = Program(u=array(), v=array(), n=INT)
    block, outs = p.loop(0, p["n"], 1, {"u": p["u"], "v": p["v"]})
    block.results = [block.args[2], block.args[1]]
    f = p.function(*outs)
    assert body_of(f) == "for i in range(n):\n    u, v = v, u\nreturn u, v"
    assert run(f, 1, 2, 3) == (2, 1)


def test_fibonacci() -> None:
    p = Program(n=INT)
    block, outs = p.loop(0, p["n"], 1, {"a": p.b.const(0), "b": p.b.const(1)})
    with p.b.inside(block):
        block.results = [block.args[2], p("add", [block.args[1], block.args[2]], INT, "b")]
    f = p.function(outs[0])
    assert body_of(f) == "a = 0\nb = 1\nfor i in range(n):\n    a, b = b, a + b\nreturn a"
    assert run(f, 10) == 55


def test_lost_copy() -> None:
    p = Program(n=INT)
    block, outs = p.loop(0, p["n"], 1, {"x": p.b.const(1), "old": p.b.const(0)})
    with p.b.inside(block):
        block.results = [p("add", [block.args[1], 1], INT, "x"), block.args[1]]
    f = p.function(*outs)
    assert run(f, 3) == (4, 3)
    assert "old = x" in body_of(f)


def test_a_join_of_two_branches() -> None:
    p = Program(x=FLOAT)
    cond = p("less", [p["x"], 0.0], BOOL)
    then, other, outs = p.branch(cond, FLOAT, names=["y"])
    with p.b.inside(then):
        then.results = [p("negative", [p["x"]], FLOAT)]
    with p.b.inside(other):
        deep = p("less", [p["x"], 1.0], BOOL)
        a, b, inner = p.branch(deep, FLOAT, names=["y"])
        with p.b.inside(a):
            a.results = [p.b.const(1.0)]
        b.results = [p["x"]]
        other.results = inner
    f = p.function(*outs)
    assert body_of(f) == "if x < 0.0:\n    y = -x\nelif x < 1.0:\n    y = 1.0\nelse:\n    y = x\nreturn y"


def test_branches_without_statements_are_expressions() -> None:
    p = Program(x=FLOAT, i=INT, u=array())
    then, other, outs = p.branch(p("less", [p["x"], 0.0], BOOL), FLOAT)
    with p.b.inside(then):
        then.results = [p("negative", [p["x"]], FLOAT)]
    other.results = [p["x"]]
    root = p("sqrt", [outs[0]], FLOAT, "root")
    cond, body = Block(args=[Value(INT, "i")]), Block(args=[Value(INT, "i")])
    with p.b.inside(cond):
        then, other, outs = p.branch(p("greater", [cond.args[0], 0], BOOL), BOOL)
        with p.b.inside(then):
            then.results = [p("less", [p("load", [p["u"], cond.args[0]], F64), root], BOOL)]
        with p.b.inside(other):
            other.results = [p.b.const(False)]
        cond.results = outs
    with p.b.inside(body):
        body.results = [p("subtract", [body.args[0], 1], INT, "i")]
    out = p.b.op("while", [p["i"]], [INT], regions=[cond, body], exit=False, name="i").out
    f = p.function(out)
    assert body_of(f) == "root = np.sqrt(-x if x < 0.0 else x)\nwhile i > 0 and u[i] < root:\n    i -= 1\nreturn i"


def test_only_the_else_branch_has_code() -> None:
    p = Program(u=array(), x=FLOAT, m=INT)
    for cond in (p("less", [p["x"], 0.0], BOOL), p("less", [p["m"], 0], BOOL)):
        _, other, _ = p.branch(cond)
        with p.b.inside(other):
            p.do("store", p["u"], 1.0, 0)
    f = p.function()
    assert body_of(f) == "if not x < 0.0:\n    u[0] = 1.0\nif m >= 0:\n    u[0] = 1.0\nreturn ()"


def test_values_that_may_be_unset_can_be_copied() -> None:
    p = Program(c=BOOL, n=INT)
    block, outs = p.loop(0, p["n"], 1, {"last": p("undef", [], INT)})
    with p.b.inside(block):
        block.results = [p("multiply", [block.args[0], 2], INT)]
    then, other, joined = p.branch(p["c"], INT, names=["y"])
    then.results = [outs[0]]
    with p.b.inside(other):
        other.results = [p.b.const(1)]
    f = p.function(joined[0])
    assert run(f, True, 3) == 4
    assert run(f, True, 0) == 0  # whatever it is: a number, which an array of numbers can hold


# ------------------------------------------------------------------------------------------------ loops


def _exit(p: Program, block: Block) -> None:
    op = p.body.ops[-1]
    assert op.regions == [block]
    op.attrs["exit"] = True


def test_break_where_the_branch_decides_it() -> None:
    p = Program(u=array(), n=INT)
    block, outs = p.loop(0, p["n"], 1, {"s": p.b.const(0.0, F64)})
    _exit(p, block)
    with p.b.inside(block):
        i, s = block.args
        stop = p("less", [p("load", [p["u"], i], F64), 0.0], BOOL)
        then, other, joined = p.branch(stop, BOOL, F64, names=["leave", "s"])
        with p.b.inside(then):
            then.results = [p.b.const(True), s]
        with p.b.inside(other):
            other.results = [p.b.const(False), p("add", [s, p("load", [p["u"], i], F64)], F64, "s")]
        block.results = joined
    f = p.function(*outs)
    assert body_of(f) == "s = 0.0\nfor i in range(n):\n    if u[i] < 0.0:\n        break\n    s += u[i]\nreturn s"
    assert run(f, np.array([1.0, 2.0, -1.0, 5.0]), 4) == 3.0


def test_break_at_the_end() -> None:
    p = Program(n=INT, tol=FLOAT)
    block, outs = p.loop(0, p["n"], 1, {"x": p.b.const(2.0)})
    _exit(p, block)
    with p.b.inside(block):
        x = block.args[1]
        new = p("multiply", [x, 0.5], FLOAT, "x_new")
        step = p("absolute", [p("subtract", [new, x], FLOAT)], FLOAT)
        block.results = [p("less", [step, p["tol"]], BOOL), new]
    f = p.function(*outs)
    assert body_of(f).split("\n")[1:] == [
        "for i in range(n):",
        "    x_new = x * 0.5",
        "    leave = abs(x_new - x) < tol",
        "    x = x_new",
        "    if leave:",
        "        break",
        "return x",
    ]
    assert run(f, 50, 0.3) == 0.25


def test_while_and_reversed() -> None:
    p = Program(n=INT, u=array())
    cond, body = Block(args=[Value(INT, "n")]), Block(args=[Value(INT, "n")])
    with p.b.inside(cond):
        cond.results = [p("greater", [cond.args[0], 1], BOOL)]
    with p.b.inside(body):
        body.results = [p("floor_divide", [body.args[0], 2], INT, "n")]
    out = p.b.op("while", [p["n"]], [INT], regions=[cond, body], exit=False, name="n").out
    block, _ = p.loop(1, out, 2, {})
    p.body.ops[-1].attrs["reverse"] = True
    with p.b.inside(block):
        p.do("accum_at", p["u"], 1.0, block.args[0])
    f = p.function(out)
    assert body_of(f) == ("while n > 1:\n    n = n // 2\nfor i in reversed(range(1, n, 2)):\n    u[i] += 1.0\nreturn n")


def test_while_with_statements_in_its_condition() -> None:
    p = Program(tape=Stack(INT), s=INT)
    cond, body = Block(args=[Value(INT, "s")]), Block(args=[Value(INT, "s")])
    with p.b.inside(cond):
        p.do("push", p["tape"], cond.args[0])
        cond.results = [p("less", [cond.args[0], 3], BOOL)]
    with p.b.inside(body):
        body.results = [p("add", [body.args[0], 1], INT, "s")]
    out = p.b.op("while", [p["s"]], [INT], regions=[cond, body], exit=False, name="s").out
    f = p.function(out)
    assert body_of(f) == "while True:\n    tape.append(s)\n    if s >= 3:\n        break\n    s += 1\nreturn s"


def test_pops_fold_one_at_a_time() -> None:
    p = Program(tape=Stack(FLOAT), u=array())
    a, b = (p("pop", [p["tape"]], FLOAT) for _ in range(2))
    p.do("store", p["u"], p("subtract", [a, b], FLOAT), 0)
    f = p.function()
    assert body_of(f) == "tape_top = tape.pop()\nu[0] = tape_top - tape.pop()\nreturn ()"


# ------------------------------------------------------------------------------------------------ functions and names


def test_recursion_and_unique_function_names() -> None:
    p = Program(n=INT)
    helper = Program(f_1=INT)
    helped = helper.function(helper("multiply", [helper["f_1"], 2], INT))
    f = Function("f", list(p.params.values()), p.body)
    then, other, outs = p.branch(p("less_equal", [p["n"], 1], BOOL), INT, names=["out"])
    with p.b.inside(then):
        then.results = [p.b.op("call", [p["n"]], [INT], function=helped).out]
    p.body.results = outs
    with p.b.inside(other):
        less = p.b.op("call", [p("subtract", [p["n"], 1], INT)], [INT], function=f).out
        other.results = [p("multiply", [p["n"], less], INT)]
    verify(f)
    text = text_of(f)
    assert "def f_2(f_1):" in text
    assert run(f, 5) == 240


def test_parameters_keep_names_that_the_text_needs_itself() -> None:
    p = Program(max=FLOAT, np=array(), range=INT)
    block, outs = p.loop(0, p["range"], 1, {"len": p["max"]}, "sum")
    with p.b.inside(block):
        block.results = [p("add", [p("sin", [block.args[1]], FLOAT), p["max"]], FLOAT)]
    trips = p("trip", [0, p["range"], 1], INT)
    f = p.function(*outs, trips, p("sum", [p["np"]], F64, axes=(0,)))
    assert "def f(max, np, range):" in text_of(f)
    s = 0.5
    for _ in range(3):
        s = np.sin(s) + 0.5
    assert run(f, 0.5, np.ones(4), 3) == (s, 3, 4.0)


def test_a_function_may_have_the_name_of_what_its_text_needs() -> None:
    for name in ("abs", "np"):
        p = Program(x=FLOAT, n=INT)
        f = Function(name, list(p.params.values()), p.body)
        then, other, outs = p.branch(p("less", [p["n"], 1], BOOL), FLOAT, names=["out"])
        with p.b.inside(then):
            then.results = [p("sin", [p["x"]], FLOAT)]
        p.body.results = outs
        with p.b.inside(other):
            inner = p.b.op("call", [p["x"], p("subtract", [p["n"], 1], INT)], [FLOAT], function=f).out
            other.results = [p("multiply", [p("absolute", [p["x"]], FLOAT), inner], FLOAT)]
        verify(f)
        assert f"def {name}(x, n):" in text_of(f)
        assert run(f, -0.7, 2) == 0.7 * (0.7 * np.sin(-0.7))


def test_keywords_and_strange_hints() -> None:
    p = Program(x=FLOAT)
    a = p("multiply", [p["x"], 2.0], FLOAT, "lambda")
    b = p("multiply", [a, a], FLOAT, "a.b")
    f = p.function(p("add", [b, p("add", [b, a], FLOAT)], FLOAT))
    assert run(f, 1.0) == 10.0


def test_comments_follow_folded_operations() -> None:
    p = Program(x=FLOAT, u=array())
    y = p("sin", [p["x"]], FLOAT, comment="a.py:3  y = sin(x)")
    p.do("store", p["u"], y, 0, comment="a.py:4  u[0] = y", section="Reverse sweep.")
    p.do("store", p["u"], y, 1, comment="a.py:4  u[0] = y")
    f = p.function()
    assert body_of(f) == (
        "# a.py:3  y = sin(x)\nsin_x = np.sin(x)\n\n"
        "# Reverse sweep.\n# a.py:4  u[0] = y\nu[0] = sin_x\nu[1] = sin_x\nreturn ()"
    )


# ------------------------------------------------------------------------------------------------ effects


def test_print_and_raise(capsys: pytest.CaptureFixture[str]) -> None:
    p = Program(x=FLOAT, n=INT)
    p.do("print", p["x"], p["n"], parts=["x {=} ", ("value", ".3f"), " and ", ("value", ""), "\n"])
    p.do("print", p["x"], p["n"], parts=["", ("value", ""), " ", ("value", ""), "\n"])
    p.do("print", parts=["done", ""])
    then, _, _ = p.branch(p("less", [p["x"], 0.0], BOOL))
    with p.b.inside(then):
        p.do("raise", p["x"], exception=ValueError, parts=["bad x: ", ("value", "!r")])
    then, _, _ = p.branch(p("less", [p["n"], 0], BOOL))
    with p.b.inside(then):
        p.do("raise", exception=np.linalg.LinAlgError, parts=["singular"])
    f = p.function(p["x"])
    assert "print(x, n)" in text_of(f)
    assert run(f, 1.5, 2) == 1.5
    assert capsys.readouterr().out == "x {=} 1.500 and 2\n1.5 2\ndone"
    with pytest.raises(ValueError, match=r"bad x: -1\.5"):
        run(f, -1.5, 2)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        run(f, 1.5, -2)


def test_lists() -> None:
    p = Program(x=FLOAT)
    items = p("list_new", [], List(FLOAT), "items")
    p.do("list_append", items, p["x"])
    p.do("list_append", items, 2.0)
    p.do("list_insert", items, 3.0, 0)
    p.do("list_set", items, 4.0, 1)
    size = p("list_len", [items], INT)
    last = p("list_pop", [items, -1], FLOAT, "last")
    f = p.function(size, last, p("list_get", [items, 1], FLOAT), p("list_copy", [items], List(FLOAT)))
    assert run(f, 1.0) == (3, 2.0, 4.0, [3.0, 4.0])
    assert "last = items.pop()" in text_of(f)


# ------------------------------------------------------------------------------------------------ kinds against NumPy

A = np.array([[0.3, -1.2, 2.5], [1.1, 0.4, -0.7], [0.9, 1.3, 0.2]])
V = np.array([0.5, -1.5, 2.0])
J = np.array([2, 0, 2])
M = np.array([True, False, True])

KINDS: list[tuple[str, str, list[Any], dict[str, Any], Type, Any]] = [
    ("sum", "A", [], {"axes": (0, 1)}, F64, A.sum()),
    ("sum", "A", [], {"axes": (1,), "keepdims": True}, array(2), A.sum(axis=1, keepdims=True)),
    ("prod", "A", [], {"axes": (0,)}, array(), A.prod(axis=0)),
    ("max", "A", [], {"axes": (1,)}, array(), A.max(axis=1)),
    ("any", "M", [], {"axes": (0,)}, B1, np.True_),
    ("sum", "J", [], {"axes": (0,)}, I64, J.sum()),
    ("argmax", "A", [], {"axis": None}, INT, 2),
    ("argmin", "A", [], {"axis": 0}, array(dtype="i8"), A.argmin(axis=0)),
    ("cumsum", "A", [], {"axis": 1}, array(2), A.cumsum(axis=1)),
    ("cumprod", "V", [], {"axis": 0}, array(), V.cumprod()),
    ("matmul", "AV", [], {}, array(), A @ V),
    ("matmul", "VV", [], {}, F64, V @ V),
    ("concatenate", "AA", [], {"axis": 1}, array(2), np.concatenate((A, A), axis=1)),
    ("gather", "VJ", [], {"spec": ("i",)}, array(), V[J]),
    ("gather", "AJ", [], {"spec": (("s", None, None, None), "i")}, array(2), A[:, J]),
    ("mask_get", "VM", [], {}, array(), V[M]),
    ("nonzero", "M", [], {}, array(dtype="i8"), np.flatnonzero(M)),
    ("sort", "A", [], {"axis": 0}, array(2), np.sort(A, axis=0)),
    ("argsort", "V", [], {"axis": 0}, array(dtype="i8"), np.argsort(V)),
    ("arange", "", [2, 9, 3], {}, array(dtype="i8"), np.arange(2, 9, 3)),
    ("arange", "", [0.0, 2.0, 0.5], {}, array(), np.arange(0.0, 2.0, 0.5)),
    ("solve", "AV", [], {}, array(), np.linalg.solve(A, V)),
    ("det", "A", [], {}, F64, np.linalg.det(A)),
    ("inv", "A", [], {}, array(2), np.linalg.inv(A)),
    ("unbroadcast", "AV", [], {}, array(), A.sum(axis=0)),
    ("unbroadcast", "A", [1.0], {}, FLOAT, A.sum()),
    ("zeros", "", [2, 3], {"order": "C"}, array(2), np.zeros((2, 3))),
    ("zeros", "", [3], {"order": "C"}, array(dtype="i4"), np.zeros(3, dtype="i4")),
    ("full", "", [1.5, 2], {"order": "C"}, array(dtype="f4"), np.full(2, 1.5, dtype="f4")),
    ("zeros_like", "A", [], {}, array(2), np.zeros_like(A)),
    ("copy", "A", [], {"order": "F"}, array(2), A),
    ("broadcast_to", "V", [2, 3], {}, array(2), np.broadcast_to(V, (2, 3))),
    ("transpose", "A", [], {"perm": (1, 0)}, array(2, layout="F"), A.T),
    ("diagonal", "A", [], {"offset": -1}, array(), np.diagonal(A, -1)),
    ("diagonal", "A", [], {"offset": 1}, array(), np.diagonal(A, 1)),
    ("diagonal", "A", [], {"offset": 5}, array(), np.zeros(0)),
    ("reshape", "A", [9], {"view": False}, array(), A.reshape(9)),
    ("dim", "A", [], {"axis": 1}, INT, 3),
    ("view", "A", [1], {"spec": ("i", "n", ":")}, array(2), A[1, None, :]),
    ("view", "A", [-1], {"spec": (("s", None, None, True), ":")}, array(2), A[::-1, :]),
    ("share", "AA", [], {}, BOOL, True),
    ("trip", "", [5, 1, -2], {}, INT, 2),
    ("where", "MVV", [], {}, array(), V),
    ("zmul", "VV", [], {}, array(), V * V),
    ("zdiv", "VV", [], {}, array(), np.where(V == 0, 0.0, 1.0)),
    ("arctan2", "VV", [], {}, array(), np.arctan2(V, V)),
    ("logical_not", "M", [], {}, array(dtype="?"), ~M),
    ("logical_and", "MM", [], {}, array(dtype="?"), M),
    ("less", "VV", [], {}, array(dtype="?"), np.zeros(3, dtype=bool)),
    ("cast", "V", [], {}, array(dtype="f4"), V.astype("f4")),
    ("cast", "", [2.7], {}, INT, 2),
    ("cast", "", [2], {}, F32, np.float32(2)),
    ("power", "V", [3], {}, array(), V**3),
    ("power", "", [2.0, 0.5], {}, FLOAT, 2.0**0.5),
    ("power", "", [-2.0, 0.5], {}, FLOAT, np.nan),
    ("remainder", "", [-7, 3], {}, INT, 2),
    ("maximum", "", [3, 4], {}, INT, 4),
    ("absolute", "V", [], {}, array(), abs(V)),
    ("exp", "", [1000.0], {}, FLOAT, np.inf),
    ("tanh", "", [0.5], {}, FLOAT, np.tanh(0.5)),
    ("select", "", [True, 1.0, 2.0], {}, FLOAT, 1.0),
    ("invert", "", [True], {}, BOOL, False),
    ("invert", "J", [], {}, array(dtype="i8"), ~J),
    ("real", "A", [], {}, array(2), A),
]


@pytest.mark.parametrize("case", KINDS, ids=[f"{k}-{n}" for n, (k, *_) in enumerate(KINDS)])
def test_kind(case: Any) -> None:
    kind, arrays, numbers, attrs, ty, want = case
    data = {"A": A, "V": V, "J": J, "M": M}
    p = Program(**{f"{n.lower()}{k}": array(data[n].ndim, data[n].dtype.str) for k, n in enumerate(arrays)})
    f = p.function(p(kind, [*p.params.values(), *numbers], ty, **attrs))
    args = [data[n].copy() if kind != "share" else data[n] for n in arrays]
    with np.errstate(all="ignore"):
        got = run(f, *args)
    np.testing.assert_allclose(got, want, rtol=1e-15)
    if isinstance(ty, Array):
        assert got.dtype == ty.dtype
        assert got.ndim == ty.ndim
    else:
        assert np.asarray(got).dtype == ty.dtype


def test_scatter_and_masks() -> None:
    p = Program(v=array(), j=array(dtype="i8"), m=array(dtype="?"))
    p.do("scatter_add", p["v"], 1.0, p["j"], spec=("i",))
    p.do("mask_set", p["v"], p["m"], 0.0)
    p.do("scatter", p["v"], 5.0, p("gather", [p["j"], p["j"]], array(dtype="i8"), spec=("i",)), spec=("i",))
    f = p.function(p["v"])
    want = V.copy()
    np.add.at(want, J, 1.0)
    want[M] = 0.0
    want[J[J]] = 5.0
    np.testing.assert_array_equal(run(f, V.copy(), J, M), want)


def test_a_zero_cotangent_contributes_zero() -> None:
    p = Program(g=array(), x=array())
    f = p.function(p("zmul", [p["g"], p("divide", [1.0, p["x"]], array())], array()))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(f, np.array([0.0, 2.0]), np.array([0.0, 4.0])), [0.0, 0.5])


def test_narrow_floats_keep_python_and_numpy_numbers_apart() -> None:
    p = Program(x=FLOAT, u=array(dtype="f4"))
    wave = p("sin", [p["x"]], FLOAT)
    strong = p("multiply", [p.b.const(np.float64(2.0)), p["u"]], array())
    f = p.function(p("multiply", [wave, p["u"]], array(dtype="f4")), strong)
    one, two = run(f, 0.5, np.ones(2, dtype=np.float32))
    assert one.dtype == np.float32
    assert two.dtype == np.float64


def test_scalar_functions_come_with_their_source(monkeypatch: pytest.MonkeyPatch) -> None:
    import math

    monkeypatch.setitem(ROWS, "triple", Row("triple", "x", "3 * x", by_element=True, raises=Raises.NUMBERS))
    p = Program(x=FLOAT, u=array())
    f = p.function(p("erf", [p["x"]], FLOAT), p("erf", [p["u"]], array()), p("triple", [p["x"]], FLOAT))
    text = print_module(f, SourcePrinter({"erf": math.erf, "triple": _triple}))
    scope: dict[str, Any] = {}
    exec(compile(text, "<generated>", "exec"), scope)  # noqa: S102 - our own text
    one, many, three = scope["f"](0.5, np.array([0.5, 1.0]))
    assert (one, three) == (math.erf(0.5), 1.5)
    np.testing.assert_allclose(many, [math.erf(0.5), math.erf(1.0)])


FACTOR = 3


def _triple(x: float) -> float:
    return _times(x, FACTOR)


def _times(x: float, k: int) -> float:
    return x * k


# ------------------------------------------------------------------------------------------------ text


def _random_expression(rng: random.Random, p: Program, depth: int) -> Value:
    if depth == 0:
        return rng.choice([p["x"], p["y"], p.b.const(rng.choice([-1.5, 2.0, -0.0, 3e300]))])
    kind = rng.choice(
        ["add", "subtract", "multiply", "divide", "power", "negative", "where", "sin", "remainder", "absolute"]
    )
    arity = {"negative": 1, "sin": 1, "absolute": 1}.get(kind, 2)
    args = [_random_expression(rng, p, depth - 1) for _ in range(arity)]
    if kind == "where":
        args.insert(
            0, p("logical_not", [p("logical_or", [p("less", args, BOOL), p("less", args[::-1], BOOL)], BOOL)], BOOL)
        )
    return p(kind, args, FLOAT)


def test_the_text_parses_to_the_tree_that_was_printed() -> None:
    rng = random.Random(0)
    for _ in range(150):
        p = Program(x=FLOAT, y=FLOAT)
        f = p.function(_random_expression(rng, p, 4))
        printer = SourcePrinter()
        printer.begin([f])
        tree = function_def(f, printer)
        printed = next(s for s in ast.parse(text_of(f)).body if isinstance(s, ast.FunctionDef))
        assert ast.dump(printed) == ast.dump(tree), format_ir(f)


def test_templates() -> None:
    tree = syntax.expr("x ** x", x=ast.UnaryOp(op=ast.USub(), operand=syntax.variable("a")))
    assert ast.unparse(tree) == "(-a) ** (-a)" or ast.unparse(tree) == "(-a) ** -a"
    (made,) = syntax.stmts("x[i] = y", x=syntax.variable("u"), i=syntax.number(-1), y=syntax.number(2.0))
    assert ast.unparse(made) == "u[-1] = 2.0"


# ------------------------------------------------------------------------------------------------ verifier


def test_the_verifier_shows_the_program() -> None:
    p = Program(x=FLOAT)
    f = p.function(p("sin", [p["x"]], FLOAT, "y"))
    f.body.ops.clear()
    with pytest.raises(AssertionError, match=r"(?s)is not defined there.*function f\(%0.x: float64~\)"):
        verify(f)


@pytest.mark.parametrize("break_it", ["use outside", "type", "count", "twice"])
def test_the_verifier_finds(break_it: str) -> None:
    p = Program(x=FLOAT, n=INT)
    block, outs = p.loop(0, p["n"], 1, {"s": p["x"]})
    with p.b.inside(block):
        s = p("add", [block.args[1], 1.0], FLOAT)
        block.results = [s]
    f = p.function(*outs)
    if break_it == "use outside":
        f.body.results = [s]
    elif break_it == "type":
        block.results = [block.args[0]]
    elif break_it == "count":
        block.results = []
    else:
        f.body.ops.append(f.body.ops[0])
    with pytest.raises(AssertionError):
        verify(f)
