"""Programs put together at random, which draw here and there: plain Python, the Python backend and machine code agree.

Compared are values, the states of streams, what is raised, and gradients, which forward and reverse mode and difference
quotients give; with draws by NumPy's C functions and with draws through Python.
"""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.draws import symbols
from tests.streams.draws import MAKERS, state_of

_DRAWS = (
    "r.normal()", "r.normal({a}, 1.0)", "r.normal(0.0, {a} * {a})", "r.uniform({a}, {a} + 2.0)", "r.exponential(2.0)",
    "r.standard_normal()", "np.sum(r.normal(size=3)) * {a}", "r.gumbel({a}, 1.0)", "r.lognormal({a} * 0.1, 0.5)",
    "r.rayleigh(1.0 + {a} * {a})", "{a} * r.poisson(2.0)", "np.sum(r.uniform(size=(2, 2)) * {a})",
    "r.choice(v)", "r.permutation(v)[1] * {a}", "r.triangular(-1.0, 0.2 * np.sin({a}), 2.0)",
)  # fmt: skip
_GENERATOR = ("r.random()", "{a} * r.integers(5)", "{a} * r.integers(2, 9)", "np.sum(r.random(4)) * {a}")
_LEGACY = ("r.rand()", "r.randn() * {a}", "{a} * r.randint(4)", "np.mean(r.randn(2, 2)) + {a}")


class Writer:
    """Writes one program; all choices come from `rng`."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.cls = self.rng.choice(["Generator", "RandomState"])
        self.lines = []

    def draw(self, a):
        own = _GENERATOR if self.cls == "Generator" else _LEGACY
        return self.rng.choice(_DRAWS + own * 3).format(a=a)

    def block(self, depth, indent):
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, indent)
        self.add(indent, "t = t * 0.9")

    def add(self, indent, text):
        self.lines.append("    " * indent + text)

    def statement(self, depth, indent):
        rng = self.rng
        kind = rng.randrange(9 if depth else 4)
        name, other = rng.sample(["s", "t", "v[0]", "v[2]"], 2)
        if kind == 0:
            self.add(indent, f"{name} = np.sin({other}) + 0.5 * {self.draw('x')}")
        elif kind == 1:
            self.add(indent, f"{name} = {name} * 0.7 + np.tanh({self.draw(other)})")
        elif kind == 2:
            self.add(indent, f"v = np.cos(v) + 0.3 * r.normal({other}, 1.0, size=3)")
        elif kind == 3:
            self.add(indent, f"{name} = {name} + np.cos(h({other}, r))")
        elif kind in (4, 5):
            self.add(indent, f"for k in range({rng.randint(1, 4)}):")
            self.block(depth - 1, indent + 1)
        elif kind == 6:
            self.add(indent, f"if np.sin({self.draw('s')}) > {rng.choice(['0.0', '0.4', 't'])}:")
            self.block(depth - 1, indent + 1)
            if rng.random() < 0.5:
                self.add(indent, "else:")
                self.block(depth - 1, indent + 1)
        elif kind == 7:
            self.add(indent, "n = 0")
            self.add(indent, f"while n < 4 and np.cos({self.draw('t')}) > -0.5:")
            self.add(indent + 1, "n += 1")
            self.block(depth - 1, indent + 1)
        elif rng.random() < 0.25:
            self.add(indent, f"if np.sin({self.draw('s')}) > 0.9:")
            self.add(indent + 1, rng.choice(["raise ValueError('left')", "s = v[int(5 + n)]"]))

    def program(self):
        self.lines += [
            "def h(a, r):",
            "    v = np.array([a, 1.0, 2.0])",
            f"    return a * {self.draw('a')}",
            "",
            "def f(x, r):",
        ]
        self.lines += ["    n, s, t, v = 0, x, x * x, np.array([x, 1.0, 0.5 * x])"]
        self.block(3, 1)
        self.lines += ["    return s + t * 0.5 + np.sum(v)"]
        return "\n".join(self.lines) + "\n"


def made(seed):
    writer = Writer(seed)
    text, file, scope = writer.program(), f"<random draws {seed}>", {"np": np}
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - our own text
    return scope["f"], MAKERS[writer.cls], text


def outcome(f, *args, stream):
    """A value, or what is raised; and the state afterwards."""
    try:
        with np.errstate(all="ignore"):
            found = f(*args, stream)
    except (ValueError, IndexError) as error:
        found = type(error), str(error)
    return found, state_of(stream)


def smooth(f, make, x, h):
    """A difference quotient, where it is certain that no branch has changed."""
    values = [f(x + k * h, make(5)) for k in (-2, -1, 1, 2)]
    near, wide = (values[2] - values[1]) / (2 * h), (values[3] - values[0]) / (4 * h)
    return near if abs(near - wide) < 1e-4 * (1 + abs(near)) else None


def check(seed):
    f, make, text = made(seed)
    x = 0.83
    wanted, state = outcome(f, x, stream=make(5))
    slopes = []
    for backend in ("python", "numba"):
        found, left = outcome(dj.jit(f, backend=backend), x, stream=make(5))
        if isinstance(wanted, tuple):
            assert found == wanted, text
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=text)
        assert left == state, text
        slope, left = outcome(dj.grad(f, backend=backend), x, stream=make(5))
        assert left == state, text
        slopes.append(slope)
        tangent, left = outcome(lambda y, r, b=backend: dj.jvp(f, (y, r), (1.0, None), backend=b)[1], x, stream=make(5))
        assert left == state, text
        slopes.append(tangent)
    if isinstance(wanted, tuple):
        assert all(s == wanted for s in slopes), text
        return
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-7, atol=1e-9, err_msg=text)
    try:
        quotient = smooth(f, make, x, 1e-6)
    except (ValueError, IndexError):
        return
    if quotient is not None:
        np.testing.assert_allclose(slopes[0], quotient, rtol=2e-3, atol=2e-3, err_msg=text)


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(24, 30))
def test_random_programs_through_python(seed, monkeypatch):
    monkeypatch.setattr(symbols, "serves", lambda *_: False)
    monkeypatch.setattr(dj.settings, "cache_mb", 0)
    check(seed)


def test_c_functions_serve_here():
    """On this platform NumPy's C functions draw, or it is known why not."""
    assert all(symbols.fits(bits) for bits in ("PCG64", "PCG64DXSM", "MT19937"))
    assert not symbols.fits("SFC64")
    if symbols.exported("random_standard_normal") is None:
        pytest.skip("NumPy does not export its distributions here")
    text = dj.source(dj.jit(lambda x, rng: x * rng.normal()), 1.0, np.random.default_rng(1), stage="lowered")
    assert "random_standard_normal" in text
