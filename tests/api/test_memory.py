"""`memory`: the tape's size before the run, against the arrays and lists that the forward sweep leaves behind."""

import ast

import numpy as np
import pytest

import diffjit as dj
from diffjit.ir.types import Array, Stack
from tests.corpus.registry import load_all

BACKENDS = ("python", "numba")
CORPUS = load_all()


def relax(u0, k, n):
    u = u0.copy()
    for _ in range(n):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * np.sin(u[i - 1]) * u[i + 1]
    return np.sum(u * u)


def power(a, n):
    for _ in range(n):
        a = np.tanh(a @ a)
    return np.sum(a)


def triangle(a):
    s = 0.0
    for i in range(a.size):
        p = 1.0
        for j in range(i):
            p = np.sin(p * a[j])
        s += p * p
    return s


def newton(x, tol):
    y = x
    while abs(y * y - x) > tol:
        y = 0.5 * (y + x / y)
    return y


def until(x):
    y, s, k = np.exp(-x), 0.0, 0
    while s < 3.0:
        s += np.sin(y[k] * s) + 1.0
        k += 1
    return s * s


def chosen(x, flags):
    s = 1.0
    for i in range(x.size):
        if flags[i] > 0:
            s = np.sin(s * x[i])
            s = s * s
        else:
            s = s * 2.0
    return s


def growing(x, n):
    s = 0.0
    for m in range(1, n):
        part = np.exp(x[:m])
        s += np.sum(part * part)
    return s


def delayed(x, n):
    before, now = x, np.sin(x)
    for _ in range(n):
        before, now = now, np.sin(before * now)
    return np.sum(now * before)


def stencil(u, n):
    for _ in range(n):
        flux = u[1:] * u[:-1]
        u = np.concatenate([u[:1], u[1:-1] + 0.1 * (flux[1:] - flux[:-1]), u[-1:]])
    return np.sum(u**2)


def plain(x, y):
    w = np.exp(x) * y
    return np.sum(np.sin(w) * w) / np.sum(w)


PROGRAMS = {
    "relax": (relax, (np.linspace(0.1, 1, 50), 0.1, 7)),
    "power": (power, (np.full((20, 20), 0.01), 9)),
    "triangle": (triangle, (np.linspace(0.1, 1, 12),)),
    "newton": (newton, (2.0, 1e-10)),
    "until": (until, (np.linspace(0.1, 1, 12),)),
    "chosen": (chosen, (np.linspace(0.1, 1, 12), np.arange(12) % 3)),
    "growing": (growing, (np.linspace(0.1, 1, 12), 9)),
    "delayed": (delayed, (np.linspace(0.1, 1, 12), 30)),
    "stencil": (stencil, (np.linspace(0.1, 1, 30), 12)),
    "plain": (plain, (np.linspace(0.1, 1, 30), np.linspace(0.1, 1, 30))),
}


def measured(found, arguments):
    """Bytes of distinct memory behind arrays and lists, without the arguments'."""
    seen = {id(owner(a)) for a in arguments if isinstance(a, np.ndarray)}
    total = 0

    def add(x, ty):
        nonlocal total
        if isinstance(x, np.ndarray):
            base = owner(x)
            if id(base) not in seen:
                seen.add(id(base))
                total += base.nbytes
        elif isinstance(x, list) and id(x) not in seen:
            seen.add(id(x))
            for item in x:
                if isinstance(item, (list, np.ndarray)):
                    add(item, None)
                else:
                    total += {bool: 1, complex: 16}.get(type(item), getattr(item, "nbytes", 8))

    for x in found:
        add(x, None)
    return total, seen


def owner(a):
    while isinstance(a, np.ndarray) and a.base is not None:
        if not isinstance(a.base, np.ndarray) and getattr(a.base, "base", None) is None:
            break
        a = a.base if isinstance(a.base, np.ndarray) else a.base.base  # of np.lib.stride_tricks.as_strided
    return a


def at_the_turn(gradient, args):
    """What the program's own text has in its variables when the way back begins, and what that still reads."""
    text = dj.source(gradient, *args)
    lines = text.splitlines()
    turn = next(k for k, line in enumerate(lines) if line == "    # Reverse sweep.")
    head = "\n".join([*lines[:turn], "    return locals()", ""])
    namespace = {}
    exec(compile(head, "<forward>", "exec"), namespace)  # noqa: S102 - our own text
    name = next(line.split("(")[0].removeprefix("def ") for line in lines[turn::-1] if line.startswith("def "))
    variables = namespace[name](*args)
    names = read_first("\n".join(["def back():", *lines[turn:-1]]))
    return [v for name, v in variables.items() if name in names]


def read_first(text):
    """The names that a program reads before it sets them."""
    read, made = set(), set()

    def visit(node):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.id not in made:
                read.add(node.id)
            elif isinstance(node.ctx, ast.Store):
                made.add(node.id)
            return
        parts = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign):
            parts = [node.value, *node.targets]
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in made:
            read.add(node.target.id)
        elif isinstance(node, ast.For):
            parts = [node.iter, node.target, *node.body]
        for part in parts:
            visit(part)

    visit(ast.parse(text))
    return read


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_are_those_of_the_variables_at_the_turn(name):
    f, args = PROGRAMS[name]
    gradient = dj.grad(f, backend="python")
    size = dj.memory(gradient, *args)
    if name == "until":
        assert size.bytes is None
        return
    found, _ = measured(at_the_turn(gradient, args), args)
    assert size.bytes == found
    assert size.bytes > 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_are_those_of_the_residuals(name, backend, monkeypatch):
    """What the forward half of split code returns beside the value, in both backends."""
    from diffjit.api.engine.derived import cached
    from diffjit.api.products import ReverseProduct

    f, args = PROGRAMS[name]
    size = dj.memory(f, *args, backend=backend)
    dj.vjp(f, *args, backend=backend)
    compiled, (_, made, _) = next(iter(cached(ReverseProduct, f, backend)._cache.values()))
    types = [v.type for v in made.forward.results[made.n_primal :]]
    residuals = compiled(list(args))[made.n_primal :]
    if name == "until":
        assert size.bytes is None
        assert [row.each for row in size.unknown] == [8] * len(size.unknown)
        assert all("`while`" in row.why for row in size.unknown)
        return
    if backend == "numba" and any(isinstance(t, Stack) for t in types):
        arrays = sum(r.nbytes for r, t in zip(residuals, types, strict=True) if isinstance(t, Array))
        assert size.bytes >= arrays  # the length of a compiled list cannot be seen from here
        return
    copies = [np.array(r) if isinstance(r, np.ndarray) and any(r is a for a in args) else r for r in residuals]
    assert size.bytes == measured(copies, args)[0]


@pytest.mark.parametrize("name", [name for name in sorted(CORPUS) if not CORPUS[name].kwargs][::9])
def test_programs_of_the_corpus(name):
    from diffjit.api.engine.derived import cached
    from diffjit.api.engine.programs import flatten_call
    from diffjit.api.products import ReverseProduct

    program = CORPUS[name]
    f = program.function
    try:
        dj.vjp(f, *program.args(), backend="python")
    except dj.DiffjitError:
        pytest.skip("by some of its arguments, the program has no derivative")
    size = dj.memory(f, *program.args(), backend="python")
    args = program.args()
    call = flatten_call(tuple(args), {})
    compiled, (_, made, _) = cached(ReverseProduct, f, "python").lookup(call, tuple(args), {})
    if not made.is_split or size.bytes is None:
        assert all(row.why for row in size.unknown)
        return
    outs = compiled(call.leaves)
    known = [*call.leaves, *(getter() for getter in compiled.captures)]
    assert size.bytes == measured(outs[made.n_primal :], known)[0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_follow_the_arguments(backend):
    gradient = dj.grad(relax, backend=backend)
    one, two = (dj.memory(gradient, np.ones(50), 0.1, n).bytes for n in (10, 20))
    per_step = 48 * 8
    assert two - one == 10 * per_step


def test_gradients_under_other_verbs():
    args = (np.linspace(0.1, 1, 50), 0.1, 7)
    alone = dj.memory(dj.grad(relax), *args).bytes
    assert dj.memory(dj.value_and_grad(relax), *args).bytes == alone
    assert dj.memory(dj.jit(dj.grad(relax)), *args).bytes == alone
    lanes = dj.vmap(dj.grad(relax), in_axes=(0, None, None))
    # One lane's tape is freed before the next one's is made.
    assert dj.memory(lanes, np.stack([args[0]] * 5), 0.1, 7).bytes == alone


def test_derivatives_inside_a_loop_count_once():
    def descend(w, n):
        for _ in range(n):
            w = w - 0.1 * dj.grad(plain)(w, w)
        return w

    few, many = (dj.memory(dj.jit(descend), np.ones(30), n).bytes for n in (2, 50))
    assert few == many > 0


def test_many_iterations_are_counted_fast():
    assert dj.memory(dj.grad(relax), np.ones(1000), 0.1, 10**6).bytes > 998 * 8 * 10**6


def test_a_count_that_takes_too_long_says_so():
    size = dj.memory(dj.grad(triangle), np.ones(400_000))
    assert size.bytes is None
    assert "steps" in size.unknown[0].why


def test_recursion_is_not_known():
    def tree(x, depth):
        if depth == 0:
            return np.sin(x)
        return tree(x * 0.5, depth - 1) * tree(x, depth - 1)

    size = dj.memory(dj.grad(tree), 0.3, 4)
    assert size.bytes is None
    assert "recursion" in size.unknown[0].why


def test_rows_name_the_line():
    size = dj.memory(dj.grad(relax), np.ones(50), 0.1, 7)
    rows = size.by_line()
    line = relax.__code__.co_firstlineno + 4
    assert sum(row.bytes for row in rows[__file__, line]) == 7 * 48 * 8
    assert {row.kind for row in rows[__file__, line]} == {"tape"}
    text = str(size)
    assert f"{7 * 48 * 8:,}" in text
    assert str(line) in text


def test_nothing_is_run(capsys):
    def noisy(x):
        print("ran")  # noqa: T201 - what must not be run
        return x * x * np.sin(x)

    dj.memory(dj.grad(noisy), 1.0)
    assert capsys.readouterr().out == ""
    dj.grad(noisy, backend="python")(1.0)
    assert capsys.readouterr().out == "ran\n"


def test_a_linear_function_records_nothing():
    size = dj.memory(dj.grad(lambda x: np.sum(3.0 * x)), np.ones(100))
    assert size.bytes == 0
    assert size.rows == []
