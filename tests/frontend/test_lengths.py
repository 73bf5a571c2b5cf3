"""Lengths with one symbol are equal whenever the program runs, and known ones are what is known of them."""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit import tree
from diffjit.api.engine.programs import fixed_key
from diffjit.frontend.entry.program import specialise
from diffjit.ir.types import Sym
from diffjit.tree import LONG, SMALL, reach, reached

BACKENDS = ["python", "numba"]


class Writer:
    """Writes `f(x, y, m)` of vectors that are cut from each other, or made, by bounds of many forms."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["x", "y"]
        self.counts = ["m", "n"]
        self.lines = ["def f(x, y, m):", "    n = x.shape[0]"]

    def number(self):
        base = self.random.choice([*self.counts, f"{self.random.choice(self.names)}.shape[0]"])
        by = self.random.choice(["", " - 1", " - 2", " - 3", " - 4", " + 1", " + 2", " - 1 + 2", " - 1 - 1"])
        return self.random.choice([f"{base}{by}", f"{base}{by}", f"{self.random.randint(0, 3)} + {base}"])

    def bound(self, of):
        kind = self.random.randrange(5)
        if kind == 0:
            return ""
        if kind == 1:
            return str(self.random.randint(-4, 4))
        if kind == 2:
            return f"{of}.shape[0]" + self.random.choice(["", " - 1", " - 2", " - 3", " + 1"])
        return self.number()

    def start(self, of):
        return self.random.choice(["", "0", "1", "2", "3", self.bound(of)])

    def statement(self):
        new, of = f"a{len(self.names)}", self.random.choice(self.names)
        if self.random.random() < 0.25:
            self.lines.append(f"    {new} = {self.random.choice(['np.zeros', 'np.ones'])}({self.number()})")
        else:
            step = self.random.choice(["", "", "", "", ":1", ":-1", ":2"])
            self.lines.append(f"    {new} = {of}[{self.start(of)}:{self.bound(of)}{step}]")
        self.names.append(new)
        if self.random.random() < 0.3:
            count = f"k{len(self.names)}"
            self.lines.append(f"    {count} = {self.number()}")
            self.counts.append(count)

    def written(self, statements):
        for _ in range(statements):
            self.statement()
        return "\n".join([*self.lines, f"    return [{', '.join(self.names)}]"]) + "\n"


def drawn(seed, statements=10):
    text = Writer(seed).written(statements)
    name = f"<lengths {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)  # noqa: S102 - a drawn program
    return scope["f"], text


def lengths_of(f, n, m, more=0):
    """The lengths as NumPy has them; None where the program raises."""
    try:
        return [len(a) for a in f(np.zeros(n), np.zeros(n + more), m)]
    except ValueError:  # a negative length
        return None


def counted(seed):
    """How many of a program's lengths have the symbol of another one, none of which is ever another length.

    For arguments that are shorter than what is taken of them there is another program.
    """
    f, text = drawn(seed)
    long = np.zeros(30), np.zeros(30)
    general = specialise(f, (*long, 17), {})
    for n in range(9):
        arrays = np.zeros(n), np.zeros(n)
        same = all(fixed_key(long, k) == fixed_key(arrays, k) for k in general.fixed if reached(k))
        if not same and n <= SMALL:
            continue  # all lengths are known there
        program = general if same else specialise(f, (*arrays, 17), {})
        dims = [program.function.results[out.index].type.dims[0] for out in program.result]
        for m in range(-4, 9):
            found = lengths_of(f, n, m)
            for k, d in enumerate(dims if found else ()):
                first = dims.index(d)
                assert found[k] == (found[first] if isinstance(d, Sym) else d), (text, k, first, n, m)
    dims = [general.function.results[out.index].type.dims[0] for out in general.result]
    return len(dims) - len(set(dims))


def related(seed, more):
    """The same where `y` has some elements more than `x`; and how many symbols hang on how many more."""
    f, text = drawn(seed)
    long = np.zeros(30), np.zeros(30 + more)
    program = specialise(f, (*long, 17), {})
    dims = [program.function.results[out.index].type.dims[0] for out in program.result]
    fixed = tree.RELATED in program.fixed
    for n in range(8, 20):
        for other in (more,) if fixed else (more, 0, -1, 3):
            arrays = np.zeros(n), np.zeros(n + other)
            if any(fixed_key(long, k) != fixed_key(arrays, k) for k in program.fixed if reached(k)):
                continue  # they are shorter than what is taken of them: that is another program
            for m in range(-4, 20, 3):
                found = lengths_of(f, n, m, other)
                for k, d in enumerate(dims if found else ()):
                    first = dims.index(d)
                    assert found[k] == (found[first] if isinstance(d, Sym) else d), (text, k, first, n, m, other)
    return fixed


@pytest.mark.parametrize("more", [-4, -1, 1, 2, 5])
def test_lengths_of_arguments_that_differ_by_little(more):
    assert sum(related(seed, more) for seed in range(60)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("more", [-8, -4, -1, 1, 2, 5, 8])
def test_more_lengths_of_arguments_that_differ_by_little(more):
    assert sum(related(seed, more) for seed in range(1000, 3000)) > 300


def staggered(u, p):
    """Velocities on the edges of cells, pressures in them; in steps, in place."""
    u = u.copy()
    for _ in range(3):
        div = u[1:] - u[:-1]
        p = p - 0.1 * div * p
        u[1:-1] -= np.sin(p[1:] - p[:-1])
    return np.sum(u * u) + np.sum(p)


def halo(wide, inner):
    n = inner.shape[0]
    smooth = wide[1 : n + 3] - 0.25 * (wide[: n + 2] + wide[2 : n + 4])
    return np.sum(np.exp(smooth[1:] * smooth[:-1])[: n + 1]) * np.sum(inner * smooth[1 : n + 1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("function", "more"), [(staggered, -1), (halo, -4)])
def test_other_relations_are_other_programs(function, more, backend):
    """What the first call has learned of lengths is no fact of the next one."""
    gradient = dj.grad(function, argnums=(0, 1), backend=backend)
    rng = np.random.default_rng(0)
    for n, m in ((30, 30 + more), (41, 41 + more), (30, 29 + more), (12, 12 + more), (9, 9 + more), (30, 31 + more)):
        x, y = 0.1 * rng.random(n), 0.1 * rng.random(m)
        try:
            function(x, y)
        except ValueError:
            with pytest.raises(ValueError, match="shape"):
                gradient(x, y)
            continue
        u, v = rng.random(n), rng.random(m)
        found = gradient(x, y)
        quotient = (function(x + 1e-6 * u, y + 1e-6 * v) - function(x - 1e-6 * u, y - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(found[0] @ u + found[1] @ v, quotient, rtol=1e-7)


def test_small_lengths_differ_by_little_by_chance():
    assert tree.close([3, 4, 7, 9, 12, 18, 100]) == {3: 3, 4: 4, 7: 7, 9: 9, 12: 9, 18: 18, 100: 100}
    arrays = [np.zeros((30, 5)), np.zeros((34, 30)), 1.0, np.zeros((2, 31, 3))]
    assert tree.relations(arrays) == ((2, 0, -4), (3, 1, 3), (4, 0, -1), (4, 2, 3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_lanes_whose_number_is_close_to_lengths(backend):
    """Relations of what a lane takes hang on more than those of the whole."""

    def f(x, y):
        m = y.shape[0]
        return np.sum(np.sin(x[1 : m + 4] - x[: m + 3])) * np.sum(y)

    lanes = dj.vmap(dj.grad(f), backend=backend)
    rng = np.random.default_rng(1)
    for count, n, m in ((25, 38, 30), (25, 37, 30), (25, 36, 30), (31, 38, 30), (25, 50, 30), (25, 38, 30)):
        x, y = rng.random((count, n)), rng.random((count, m))
        found = lanes(x, y)
        for k in (0, count - 1):
            u = rng.random(n)
            quotient = (f(x[k] + 1e-6 * u, y[k]) - f(x[k] - 1e-6 * u, y[k])) / 2e-6
            np.testing.assert_allclose(found[k] @ u, quotient, rtol=1e-6, atol=1e-7)


def test_lengths_with_one_symbol_are_equal():
    assert sum(counted(seed) for seed in range(200)) > 400


@pytest.mark.slow
def test_more_lengths_with_one_symbol():
    assert sum(counted(seed) for seed in range(1000, 9000)) > 16000


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(3))
def test_slices_of_drawn_programs(seed, backend):
    """Values, and the exceptions of short arrays."""
    f, text = drawn(seed, 6)
    compiled = dj.jit(f, backend=backend)
    rng = np.random.default_rng(seed)
    for n in (30, 7, 6):
        for m in (17, 8, 2, -1):
            x, y = rng.random(n), rng.random(n)
            try:
                expected = f(x, y, m)
            except ValueError:
                with pytest.raises(ValueError, match="negative"):
                    compiled(x, y, m)
                continue
            for ours, numpys in zip(compiled(x, y, m), expected, strict=True):
                np.testing.assert_array_equal(ours, numpys, err_msg=text)


def laplacian(u, c):
    n, m = u.shape
    inner = u[1 : n - 1, 1 : m - 1]
    around = u[2:n, 1 : m - 1] + u[0 : n - 2, 1 : m - 1] + u[1 : n - 1, 2:m] + u[1 : n - 1, 0 : m - 2]
    out = np.zeros((n, m))
    out[1:-1, 1:-1] = inner + c * (around - 4.0 * inner)
    return out


def padded(u, c):
    n, m = u.shape
    wide = np.zeros((n + 2, m + 2))
    wide[1 : n + 1, 1 : m + 1] = u
    return u + c * (wide[2:, 1:-1] + wide[:n, 1:-1] + wide[1:-1, 2:] + wide[1 : n + 1, :m] - 4.0 * u)


@pytest.mark.parametrize("stencil", [laplacian, padded], ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_stencils_by_counts_have_one_nest(stencil, backend):
    def loss(u, c):
        return np.sum(stencil(u, c) ** 2)

    rng = np.random.default_rng(1)
    gradient = dj.value_and_grad(loss, argnums=(0, 1), backend=backend)
    for shape in ((9, 12), (7, 7), (6, 40), (2, 9)):
        u, du = rng.random(shape), rng.random(shape)
        value, (u_bar, c_bar) = gradient(u, 0.3)
        assert value == pytest.approx(loss(u, 0.3), rel=1e-13)
        quotient = (loss(u + 1e-6 * du, 0.3) - loss(u - 1e-6 * du, 0.3)) / 2e-6
        assert np.sum(u_bar * du) == pytest.approx(quotient, rel=1e-7)
        assert c_bar == pytest.approx((loss(u, 0.3 + 1e-6) - loss(u, 0.3 - 1e-6)) / 2e-6, rel=1e-7)
    text = dj.source(dj.jit(stencil), rng.random((9, 12)), 0.3, stage="lowered")
    assert "joint" not in text  # lengths are compared nowhere


# ---------------------------------------------------------------------------------- the first few numbers of arguments


def camera(c, p):
    r, t = c[:3], c[3:6]
    return np.sum(r * p[0:3]) * np.cross(r, p[0:3]) + t * c[7:9][1]


def test_the_first_numbers_of_an_argument_are_known_to_be_there():
    program = specialise(camera, (np.zeros(11), np.zeros(40)), {})
    assert program.function.results[0].type.dims == (3,)
    assert {reached(k) for k in program.fixed} == {(0, 0, 3), (0, 0, 6), (0, 0, 9), (1, 0, 3)}
    assert fixed_key([np.zeros(8), np.zeros(40)], reach(0, 0, 9)) is False


def test_rows_and_what_is_cut_of_arguments():
    def f(m, i):
        return m[i, :3], m[i][1:4:2], m[:, 2:][i][:2], m[1:5, 0]

    program = specialise(f, (np.zeros((20, 11)), 2), {})
    assert [v.type.dims for v in program.function.results] == [(3,), (2,), (2,), (4,)]
    assert max(length for _, _, length in map(reached, program.fixed)) == 5


def test_what_is_not_asked_for():
    """Ends that are counted from behind, bounds of the run, and long beginnings."""

    def f(x, n):
        return x[1:], x[:-1], x[:n], x[: LONG + 1], x[::-1], np.zeros(n)[:2]

    assert not specialise(f, (np.zeros(30), 7), {}).fixed


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_of_any_length(backend):
    """Longer, shorter and as long: each call has the slices that NumPy has."""

    def g(x, m):
        return 2.0 * x[1:4], x[2:7:2] + 0.0, m[:, :5] * 1.0, m[1:][0:2] + 1.0

    rng = np.random.default_rng(4)
    compiled = dj.jit(g, backend=backend)
    for n in (20, 9, 6, 5, 20, 7, 1, 0, 3, 8, 30):
        for rows, columns in ((12, 7), (2, 9), (7, 5)):
            x, m = rng.random(n), rng.random((rows, columns))
            for ours, numpys in zip(compiled(x, m), g(x, m), strict=True):
                np.testing.assert_array_equal(ours, numpys)
    loss = dj.grad(lambda x: np.sum(x[1:4] ** 2) * np.sum(x), backend=backend)
    for n in (20, 3, 6, 2, 30, 5):
        x = rng.random(n)
        wanted = np.full(n, np.sum(x[1:4] ** 2))
        wanted[1:4] += 2 * x[1:4] * np.sum(x)
        for _ in range(2):  # the second call takes the short way
            np.testing.assert_allclose(loss(x), wanted, rtol=1e-13)


def test_what_is_known_refuses_nothing():
    def f(x, y, together):
        if together > 0:
            return x[:3] * y[:2]
        return x[:3] * 2.0

    g = dj.jit(f, backend="python")
    np.testing.assert_array_equal(g(np.ones(7), np.ones(9), 0), np.full(3, 2.0))
    with pytest.raises(ValueError, match="broadcast"):
        g(np.ones(7), np.ones(9), 1)


def test_calls_stay_short():
    """What hangs on the shapes of arrays alone is seen at once."""
    g = dj.jit(lambda x: np.sum(x[:3]), backend="python")
    g(np.ones(20))
    assert g._shortcuts
    assert g(np.ones(30)) == 3.0
    assert g(np.arange(2.0)) == 1.0
