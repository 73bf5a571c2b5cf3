"""Jacobians by arrays of tangents: random programs against JAX's rules, difference quotients, and code without them."""

import linecache
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import diffjit as dj
from diffjit.api import matrices
from diffjit.settings import settings
from diffjit.transforms import pipeline

jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(17)
N = 11


# Random programs: `v` are vectors of the length of x, `m` square matrices, `s` numbers. A line may change any of them.

LINES = (
    "v = np.sin(v) * s + v", "v = m @ v", "v = v @ m", "v = v - np.sum(v) / n", "v[1:] = v[:-1] * 0.5",
    "v[k] = s * v[k - 1]", "v = v[::-1] * w", "v = np.cumsum(v) / n", "v = np.where(v > 0.1, v * v, 0.3 * v)",
    "v = np.concatenate((v[:3], np.cos(v[3:])))", "v = v[p]", "v[p[:4]] = v[:4] * s", "v = np.sort(v)",
    "v = np.linalg.solve(4.0 * np.eye(n) + 0.1 * m, v)", "v = m.T.reshape(-1)[: v.size] + v", "v += m[:, k]",
    "v = np.full(n, s) + v", "v = v / np.sqrt(1.0 + v @ v)", "v = np.maximum(v, w)", "v = np.tanh(v).copy()",
    "v = np.array([v[i] * v[i - 1] for i in range(n)])", "v[v > 1.0] = 0.5", "v = np.diag(m) * v",
    "m = np.outer(v, w) + m", "m = m @ m / n", "m = (v - m) @ m / n", "m = m.T * v", "m = m * v[:, None]",
    "m[k] = v", "m[:, k] = s * v", "m[k, k - 1] += s", "m = np.tanh(m - v)", "m = m - np.mean(m, axis=0)",
    "m = np.linalg.inv(5.0 * np.eye(n) + 0.1 * m)", "m = m[p]", "m = m.reshape(n, n) + s", "m[1:, 1:] = m[:-1, :-1]",
    "m = np.broadcast_to(v, (n, n)) * w[:, None]", "m = np.exp(-m * m)", "m = np.vstack((m[1:], v[None, :]))",
    "s = s * np.cos(s) + v[k]", "s = np.sum(v * w)", "s = np.max(m) * 0.3", "s = np.sum(m, axis=1)[k] / n",
    "s = np.prod(np.tanh(v) + 1.5) * 0.01", "s = float(v[0]) + m[k, 0]", "s = np.trace(m) / n", "s = v @ m @ w / n",
)  # fmt: skip
HEADS = (
    "for i in range(3):", "if s > 0.0:", "if v[k] > v[0]:", "while s > 0.5:", "for i in range(n):", "for i in p[:2]:",
)  # fmt: skip
ENDS = ("v", "s", "m @ w", "v * s", "np.sum(m, axis=0) + v", "np.array([s, v[0], m[k, 1]])", "m")


def program(draw):
    """The text of a function of x; its lines are drawn."""
    lines = ["def f(x, w, c, p, k):", "    n = x.size", "    v = x * w", "    m = c * x", "    s = x[k] * x[k - 1]"]
    depth = 0
    for _ in range(draw.randint(3, 9)):
        pad = "    " * (depth + 1)
        if depth < 2 and draw.random() < 0.25:
            head = draw.choice(HEADS)
            lines.append(pad + head)
            depth += 1
            if head.startswith("while"):
                lines.append(f"{pad}    s = 0.5 * s - 0.1")
            lines.append("    " * (depth + 1) + draw.choice(LINES))
            continue
        lines.append(pad + draw.choice(LINES))
        depth -= depth > 0 and draw.random() < 0.4
    return "\n".join([*lines, f"    return {draw.choice(ENDS)}", ""])


def function(text, name):
    """The function that a text defines, with its lines where they are looked for."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"np": np}
    exec(compile(text, file, "exec"), scope)  # noqa: S102
    return scope["f"]


def arguments(seed, length=N):
    """Numbers in a range where nothing grows much."""
    rng = np.random.default_rng(seed)
    x, w = rng.uniform(-1.0, 1.0, length), rng.uniform(0.2, 0.9, length)
    return x, w, rng.normal(size=(length, length)) / length, rng.permutation(length), int(rng.integers(1, length))


def outcome(make, args):
    """The numbers of a call, or its error."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(make()(*args))
    except Exception as error:  # noqa: BLE001 - what it is, is compared
        return type(error).__name__, str(error)


def agree(make, args):
    """Compare with what is made without arrays of tangents, and without any optimisation; what came out."""
    found = outcome(make, args)
    settings.plain = True
    try:
        wanted = outcome(make, args)
    finally:
        settings.plain = False
    if isinstance(wanted, tuple) or isinstance(found, tuple):
        assert found == wanted
    else:
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        assert_allclose(found, wanted, rtol=1e-8, atol=1e-10 * scale)
    return found


@pytest.fixture
def also_in_python(monkeypatch):
    """The Python backend takes arrays of tangents, too: it needs no time to compile."""
    monkeypatch.setattr(matrices, "is_compiled", lambda _: True)


@pytest.fixture
def made(monkeypatch):
    """Whether programs had arrays of tangents, one after the other."""
    record = []

    def noted(*args):
        found = pipeline.all_tangents(*args)
        record.append(found is not None)
        return found

    monkeypatch.setattr(matrices, "all_tangents", noted)
    return record


def quotients(f, x, rest, h=1e-6):
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        columns.append((np.asarray(f(x + step, *rest)) - np.asarray(f(x - step, *rest))) / (2 * h))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_random_programs(start, also_in_python, made):
    close = 0
    for seed in range(start, start + 10):
        f = function(program(random.Random(seed)), f"columns_{seed}")
        x, *rest = arguments(seed)
        found = agree(lambda f=f: dj.jacfwd(f, backend="python"), (x, *rest))
        if isinstance(found, tuple):
            continue
        with np.errstate(all="ignore"):
            expected = quotients(f, x, rest)
        close += np.allclose(found, expected, rtol=1e-4, atol=1e-5 * max(1.0, np.max(np.abs(expected))))
    assert sum(made) >= 8
    assert close >= 7  # the others jump near the point, or fail


@pytest.mark.parametrize("seed", range(200, 208))
def test_random_programs_compiled(seed):
    f = function(program(random.Random(seed)), f"columns_{seed}")
    agree(lambda: dj.jacfwd(f, backend="numba"), arguments(seed))


@pytest.mark.parametrize("seed", range(300, 312))
def test_random_programs_at_second_order(seed, also_in_python):
    f = function(program(random.Random(seed)), f"columns_{seed}")
    args = arguments(seed, 5)
    found = agree(lambda: dj.jacfwd(dj.jacfwd(f, backend="python"), backend="python"), args)
    if isinstance(found, np.ndarray):
        again = agree(lambda: dj.jacfwd(dj.jacrev(f, backend="python"), backend="python"), args)
        assert_allclose(again, found, rtol=1e-7, atol=1e-8 * np.max(np.abs(found), initial=1.0))


@pytest.mark.parametrize("length", [0, 1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("most", [3, 64])
def test_any_number_of_columns(length, most, monkeypatch):
    monkeypatch.setattr(matrices, "_TOGETHER", most)

    def f(x, y):
        return np.sin(x) * np.sum(y * y), np.cumsum(x * x)[: x.size // 2]

    x, y = RNG.normal(size=length), RNG.normal(size=(2, 6))
    found = dj.jacfwd(f, (0, 1), backend="numba")(x, y)
    for row, whole in zip(found, (np.diag(np.cos(x)) * np.sum(y * y), None), strict=True):
        assert row[0].shape[-1] == length
        assert row[1].shape[-2:] == (2, 6)
        if whole is not None:
            assert_allclose(row[0], whole, rtol=1e-12)
    assert_allclose(found[0][1], np.sin(x)[:, None, None] * 2 * y, rtol=1e-12)
    assert_allclose(found[1][0], np.tril(np.ones((length, length)))[: length // 2] * 2 * x, rtol=1e-12)
    assert not np.any(found[1][1])


PRODUCTS = {
    "matrix_vector": lambda np, x, c: c @ np.sin(x),
    "the identity": lambda np, x, c: (c @ x, x @ c, c.T @ x),
    "vector_matrix": lambda np, x, c: np.sin(x) @ c,
    "vectors": lambda np, x, c: x @ np.cos(x),
    "matrices": lambda np, x, c: (c * x) @ np.outer(x, x),
    "matrix_with_one_row_of_tangents": lambda np, x, c: (c - x) @ (c + x[:, None]),
    "tangents_of_rows_and_columns": lambda np, x, c: (x[:, None] - x) @ c @ x,
    "solve": lambda np, x, c: np.linalg.solve(5 * np.eye(x.size) + c * x, np.sin(x)),
    "solve_of_a_matrix": lambda np, x, c: np.linalg.solve(5 * np.eye(x.size) + c * x, np.outer(x, x[:3])),
    "solve_of_a_fixed_matrix": lambda np, x, c: np.linalg.solve(5 * np.eye(x.size) + c, np.outer(x, x[:3])),
    "inv": lambda np, x, c: np.linalg.inv(5 * np.eye(x.size) + c * x),
    "det": lambda np, x, c: np.linalg.det(np.eye(x.size) + c * x),
    "cholesky": lambda np, x, c: np.linalg.cholesky(np.eye(x.size) + np.outer(x, x)),
    "stacks": lambda np, x, c: np.stack((c * x, c)) @ np.stack((c, c * x[:, None])),
    "one_column": lambda np, x, c: np.outer(x, x)[:, :1] @ c[:1] + x,
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, made):
    c, x = RNG.normal(size=(N, N)) / N, RNG.uniform(0.5, 1.5, N)
    with_numpy, with_jax = (lambda x, np=np: PRODUCTS[name](np, x, c)), lambda x: PRODUCTS[name](jnp, x, c)
    for verb in (lambda m, f: m.jacfwd(f), lambda m, f: m.jacfwd(m.jacfwd(f))):
        found, wanted = verb(dj, with_numpy)(x), verb(jax, with_jax)(x)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    assert all(made)


def test_columns_of_the_identity_are_not_multiplied():
    c = RNG.normal(size=(40, N))
    text = dj.source(dj.jacfwd(lambda x: np.sin(c @ x)), np.ones(N))
    assert text.count(" @ ") == 1


def test_a_hessian_is_two_products():
    def f(w, x, y):
        return np.sum((np.tanh(x @ w) - y) ** 2)

    args = RNG.normal(size=N), RNG.normal(size=(50, N)), RNG.normal(size=50)
    text = dj.source(dj.hessian(f), *args)
    assert "x @ w" in text
    assert text.count(" @ ") == 3  # of these one is in the user's line: the value, and x.T times all columns
    wanted = jax.hessian(lambda w, x, y: jnp.sum((jnp.tanh(x @ w) - y) ** 2))(*args)
    assert_allclose(dj.hessian(f)(*args), wanted, rtol=1e-10, atol=1e-12)


def test_what_is_zero_is_not_multiplied():
    def f(x, c):
        return np.sum(np.sign(c @ x) * np.tanh(c @ x)) + np.sum(np.floor(x) * np.ones((3, x.size)))

    def product(x, c, t):
        return dj.jvp(lambda x: f(x, c), (x,), (t,))[1]

    text = dj.source(dj.jit(product), np.ones(4), np.ones((5, 4)), np.ones(4))
    assert text.count("zeros") == 4  # all for the copy of t


def test_written_memory_is_no_one_elses():
    def f(x):
        y = x + 1.0  # its tangent is that of x
        z = y[:3]
        first = y[0]  # and stays what it is here
        z[0] = 5.0 * x[1]
        y[1:] *= x[0]
        return np.concatenate((y, x, z * first))

    x = RNG.normal(size=N)
    assert_allclose(dj.jacfwd(f, backend="numba")(x), quotients(f, x, ()), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_memory_in_another_order(backend, also_in_python):
    def f(y, k):
        u = y.T if k > 0 else y[:3].T  # in C's order, as `y` is in Fortran's
        u[1] = 2.0 * u[0]
        return y * y

    y = np.asfortranarray(RNG.normal(size=(3, 4)))
    found = dj.jacfwd(f, backend=backend)(y, 1).reshape(12, 12)
    wanted = quotients(lambda v: f(np.asfortranarray(v.reshape(3, 4)), 1).ravel(), y.ravel(), ())
    assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_errors_are_those_of_the_program():
    def f(x, k):
        y = np.zeros(3)
        y[k] = x[0]
        return y * x[:3]

    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        dj.jacfwd(f, backend="numba")(np.ones(N), 3)
    with pytest.raises(np.linalg.LinAlgError):
        dj.jacfwd(lambda x: np.linalg.solve(np.outer(x, 0 * x), x), backend="numba")(np.ones(N))


def test_lanes_with_and_without_a_shared_program():
    xs = RNG.normal(size=(4, N))

    def f(x):
        y = x * x
        for i in range(1, x.size):
            y[i] += np.sin(y[i - 1])
        return y

    found = dj.jit(dj.vmap(dj.jacfwd(f)), backend="numba")(xs)
    assert_allclose(found, np.stack([quotients(f, x, ()) for x in xs]), rtol=1e-6, atol=1e-7)
