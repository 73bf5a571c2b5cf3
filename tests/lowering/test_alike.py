"""Functions of a module that do the same: helpers that programs call in several places, on arrays that overlap."""

import linecache
import random
import re

import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.loops import alike, outlined

RNG = np.random.default_rng(11)
X = RNG.uniform(0.5, 1.5, 9)
K = 0.7

STEPS = (
    "for i in range(a.size):\n    a[i] = a[i] * c + 0.1 * b[i]",
    "for i in range(1, a.size):\n    a[i] += 0.1 * np.tanh(a[i - 1]) * b[i]",
    "for i in range(a.size - 1, -1, -1):\n    s += a[i] * b[i] * {p}",
    "s += np.sum(a * b) * c",
    "a[:] = np.sin(a) + b * {p}",
    "for i in range(b.size):\n    if a[i] > {p}:\n        s += np.exp(-a[i])\n    else:\n        a[i] = a[i] + c",
    "t = a[1:] * b[:-1]\ns += {p} * (t @ t)",
    "for i in range({n}):\n    s += a[i] / (i - {m})",  # may raise: an index, or a division
    "for i in range(3):\n    s += a[i] * {p}\n    a[i] = s * 0.01",
)
CALLS = ("u, v", "v, u", "u[1:], v[:-1]", "u[1:], u[:-1]", "u[:-1], u[1:]", "v[::-1], v", "u, u", "v[2:5], u[1:4]")


def written(seed, *, raises):
    """The text of a program: a few helpers, called in many places."""
    rng = random.Random(seed)
    lines = ["import numpy as np"]
    helpers = rng.randint(1, 2)
    steps = STEPS if raises else [s for s in STEPS if "{n}" not in s]
    for h in range(helpers):
        lines += [f"def h{h}(a, b, c):", "    s = 0.1 * c"]
        for step in rng.sample(steps, rng.randint(1, 3)):
            text = step.format(p=rng.choice((0.2, 0.3, 1.1)), n=rng.choice((2, 3, 9, 12)), m=rng.choice((0, 4.5, 20)))
            lines += ["    " + line for line in text.splitlines()]
        lines += ["    return s"]
    lines += ["def f(x, k):", "    u = x.copy()", "    v = x[::-1] * k", "    r = 1.0"]
    for _ in range(rng.randint(3, 5)):
        call = f"h{rng.randrange(helpers)}({rng.choice(CALLS)}, {rng.choice(('k', 'r * 0.01', '0.5'))})"
        if rng.random() < 0.3:
            lines += [f"    for _ in range({rng.randint(1, 3)}):", f"        r = r * 0.5 + {call}"]
        else:
            lines += [f"    r = r * 0.5 + {call}"]
    return "\n".join([*lines, "    return r + np.sum(u * v)", ""])


def made(seed, tmp_path, *, raises=False):
    text, file = written(seed, raises=raises), str(tmp_path / f"alike_{seed}.py")
    (tmp_path / f"alike_{seed}.py").write_text(text, encoding="utf-8")
    linecache.checkcache(file)
    scope = {"__file__": file, "__name__": f"alike_{seed}"}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - our own text
    return scope["f"], file


@pytest.fixture(params=[(0, 8000), (500, 8000), (0, 0)], ids=["parts", "whole", "giant"])
def every_loop(request, monkeypatch):
    for name in ("LONGEST", "FRACTION", "FEW"):
        monkeypatch.setattr(outlined, name, 0)
    for name, limit in zip(("PART", "HUGE"), request.param, strict=True):
        monkeypatch.setattr(outlined, name, limit)


def check(seed, tmp_path):
    f, _ = made(seed, tmp_path)
    assert dj.jit(f)(X, K) == pytest.approx(f(X, K), rel=1e-12)
    g, by_k = dj.grad(f, argnums=(0, 1))(X, K)
    step = 1e-6
    direction = np.cos(np.arange(9.0))
    wanted = (f(X + step * direction, K) - f(X - step * direction, K)) / (2 * step)
    assert g @ direction == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert by_k == pytest.approx((f(X, K + step) - f(X, K - step)) / (2 * step), rel=1e-5, abs=1e-6)
    assert dj.jvp(f, (X, K), (direction, 0.0))[1] == pytest.approx(g @ direction, rel=1e-10)


def check_errors(seed, tmp_path):
    f, file = made(seed, tmp_path, raises=True)
    try:
        with np.errstate(all="ignore"):
            f(X, K)
    except (IndexError, ZeroDivisionError) as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        for verb in (dj.jit(f), dj.grad(f)):
            with pytest.raises(type(error)) as raised:
                verb(X, K)
            assert f'"{file}", line {trace.tb_lineno}, in' in "".join(raised.value.__notes__)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed, tmp_path, every_loop):
    check(seed, tmp_path)


@pytest.mark.parametrize("seed", range(100, 103))
def test_random_programs_that_raise(seed, tmp_path, every_loop):
    check_errors(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 260))
def test_more_random_programs(seed, tmp_path, every_loop):
    check(seed, tmp_path)
    check_errors(seed, tmp_path)


def stage(u, k):
    for i in range(1, u.size):
        u[i] = u[i] - k * (u[i] - u[i - 1])
    total = 0.0
    for i in range(u.size):
        total += u[i] ** 2
    return total


def four_stages(x, k):
    u = x.copy()
    s = stage(u, k) + stage(u, 0.5 * k)
    w = u.copy()
    return s + stage(w, k) + stage(u, k * k)


def two_places(x, k):
    total = 0.0
    for i in range(x.size):
        total += x[i] * k
    for i in range(x.size):
        total += x[i] * k
    return total


@pytest.mark.usefixtures("every_loop")
def test_one_function_stands_for_all():
    text = dj.source(dj.jit(four_stages), X, K, stage="lowered")
    assert text.count("def loops") == 2
    assert len(re.findall(r"\bloops\d+_\(", text)) == 2 + 8


@pytest.mark.usefixtures("every_loop")
def test_what_fails_in_another_place_is_another_function():
    """Each has its own line of the user's."""
    assert dj.source(dj.jit(two_places), X, K, stage="lowered").count("def loops") == 2


def test_trees_of_other_shapes_are_not_alike():
    """All that a tree is made of counts, and in its order."""
    from diffjit.ir.text import syntax
    from diffjit.lowering.text.spreading import Part

    def part(text, parameters=("x", "n"), apart=(1, 0), rooms=0):
        return Part("loops", list(parameters), apart, syntax.stmts(text), rooms)

    def key(made, rows=()):
        return alike._key(made, rows, lambda _: ())

    first = key(part("for i in range(n):\n    x[i] = 0.0"))
    assert key(part("for j in range(m):\n    y[j] = 0.0", ("y", "m"))) == first
    others = [
        part("for i in range(n):\n    x[i] = -0.0"),
        part("for i in range(n):\n    x[i] = 0"),
        part("for i in range(n):\n    x[n] = 0.0"),
        part("for i in range(n):\n    pass\nx[i] = 0.0"),
        part("for i in range(n):\n    x[i] = 0.0", ("n", "x")),
        part("for i in range(n):\n    x[i] = 0.0", apart=(0, 0)),
        part("for i in range(n):\n    x[i] = 0.0", rooms=1),
        part("for i in trips(n):\n    x[i] = 0.0"),
    ]
    assert first not in [key(other) for other in others]
    assert key(part("for i in range(n):\n    x[i] = 0.0"), ("x",)) != first
