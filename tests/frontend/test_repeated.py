"""Functions that a long program calls again and again: a call of one program, or written out, it is the same."""

import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.calls import repeated
from diffjit.frontend.entry import program

RNG = np.random.default_rng(3)
X = RNG.uniform(0.5, 1.5, 3)
SCALE = 1.5


@pytest.fixture(autouse=True)
def short_programs_too(monkeypatch):
    monkeypatch.setattr(program, "LONG", 0)
    for name, value in (("_CALLS", 2), ("_SMALLEST", 0), ("_SHARE", 10**9), ("_GAIN", 10)):
        monkeypatch.setattr(repeated, name, value)


def shared(f, *args):
    """The functions that are programs of their own."""
    text = dj.source(dj.jit(f), *args)
    names = [line.split("(")[0][4:] for line in text.splitlines() if line.startswith("def ")]
    return sorted(name for name in names if name != f.__name__)


def hat(w):
    m = np.zeros((3, 3))
    m[0, 1], m[0, 2], m[1, 2] = -w[2], w[1], -w[0]
    return m - m.T


def turn(w, angle=0.5):
    size = np.linalg.norm(w)
    if size < 1e-6:
        return np.eye(3)
    k = hat(w / size)
    return np.eye(3) + np.sin(angle * size) * k + (1.0 - np.cos(angle * size)) * (k @ k)


def arm(x, k):
    a = np.array([x[0], x[1] * k, 0.3])
    b = np.array([x[2], 0.1, x[0]])
    p = np.array([1.0, 0.2, k])
    for _ in range(2):
        p = turn(a) @ p + 0.1 * turn(b, 0.7) @ p
    p = turn(p) @ turn(np.array([x[1], 0.0, k])) @ p
    return np.sum(p * p * np.array([1.0, 2.0, 3.0])) + p[0]


def quotient(f, x, k, step=1e-6):
    along_x = [(f(x + e, k) - f(x - e, k)) / (2 * step) for e in step * np.eye(x.size)]
    return np.array(along_x), (f(x, k + step) - f(x, k - step)) / (2 * step)


def check(f, backend, k=0.8):
    wanted = quotient(f, X, k)
    assert dj.jit(f, backend=backend)(X, k) == pytest.approx(f(X, k), rel=1e-12)
    g, by_k = dj.grad(f, argnums=(0, 1), backend=backend)(X, k)
    assert g == pytest.approx(wanted[0], rel=1e-6, abs=1e-7)
    assert by_k == pytest.approx(wanted[1], rel=1e-6, abs=1e-7)
    slope = dj.jvp(f, (X, k), (np.ones(3), 0.5), backend=backend)[1]
    assert slope == pytest.approx(np.sum(wanted[0]) + 0.5 * wanted[1], rel=1e-6, abs=1e-8)
    second = dj.hessian(f, backend=backend)(X, k)
    slopes = lambda x: dj.grad(f, backend="python")(x, k)
    wanted = [(slopes(X + e) - slopes(X - e)) / 2e-5 for e in 1e-5 * np.eye(3)]
    assert second == pytest.approx(np.array(wanted), rel=1e-5, abs=1e-6)
    rows = np.stack([X, 1.1 * X])
    many = dj.vmap(dj.grad(f, backend=backend), in_axes=(0, None))(rows, k)
    assert many == pytest.approx(np.stack([g, dj.grad(f, backend=backend)(1.1 * X, k)]), rel=1e-11)


def halves(v, n):
    """A helper in a recursion, before and behind the recursive call."""
    if n <= 0:
        return bend(v, 0.3) + bend(v * v, 0.3)
    return 0.5 * halves(bend(v, 0.3), n - 1) + 0.1 * bend(v, 0.3) * halves(bend(v, v), n - 1)


def bend(a, b):
    return np.sin(a * b) + a


def powers(v, n):
    """A recursion in a helper."""
    return v if n <= 0 else powers(v * 0.9, n - 1) + v


def with_powers(v, n):
    return np.sum(powers(v, n) * v)


def there(v, n):
    """A helper that is part of a recursion."""
    return v * 0.7 if n <= 0 else back(v, n) + back(v * 0.5, n)


def back(v, n):
    return np.sin(there(v, n - 1)) * v


def around_halves(x, k):
    n = 2 if k > 0.1 else 1
    p = np.array([x[0], k, x[1]])
    total = halves(x[0], n) * halves(k, n) + bend(x[2], 0.3) + bend(k, k)
    return total + with_powers(p, n) + with_powers(p * 0.3, n) + with_powers(p, n)


def around_both(x, k):
    n = 2 if k > 0.1 else 1
    p = np.array([x[0], k, x[1]])
    total = bend(k, k) + bend(k, 0.5 * k) + bend(0.3 * k, k)
    return total + np.sum(there(p, n) * p)


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize(("f", "few"), [(around_halves, {"bend", "with_powers"}), (around_both, {"bend"})])
def test_beside_recursion(f, few, backend):
    assert few <= set(shared(f, X, 0.8))
    check(f, backend)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_an_arm(backend):
    assert shared(arm, X, 0.8) == ["hat", "turn", "turn_1"]  # with two angles; what they call is shared by both
    check(arm, backend)


COUNT = [0]


def counts(v):
    COUNT[0] += 1
    return v * COUNT[0]


def changes(v):
    v[0] = v[0] * 2.0
    return np.sum(v)


def views(v):
    return v[1:]


def scaled(v):
    return v * SCALE + np.sum(v)


def says(v):
    print("here")  # noqa: T201
    return np.sum(v * v)


def picks(v, k):
    return v[k] * v[0]


def divides(v, k):
    return np.sum(v) / (2 - k) if k > 2 else np.sum(v) * (7 // (k - 1))


def none_or(v, k):
    return None if k > 1 else np.sum(v * v)


def with_counts(x, k):
    u = np.array([x[0], k])
    return np.sum(counts(u) + counts(u) * counts(u))


def with_changes(x, k):
    u = np.array([x[0], k])
    return changes(u) + changes(u) * changes(u) + u[0]


def with_views(x, k):
    u = np.array([x[0], k, x[1]])
    first, second = views(u), views(u)
    second[0] = 5.0 * x[0]
    return np.sum(first * views(u)) + u[1]


def with_globals(x, k):
    u = np.array([x[0], k])
    return np.sum(scaled(u) * scaled(u)) + scaled(u)[1]


def with_prints(x, k):
    u = np.array([x[0], k])
    return says(u) + says(u) * says(u)


def with_closures(x, k):
    factor = 2.0

    def inner(v):
        return np.sum(v * v) * factor

    u = np.array([x[0], k])
    total = inner(u) + inner(u)
    factor = 3.0
    return total + inner(u)


def times(factor):
    return lambda v: np.sum(v * v) * factor + v[0]


DOUBLED, TRIPLED = times(2.0), times(3.0)


def with_twins(x, k):
    u = np.array([x[0], k])
    return DOUBLED(u) + TRIPLED(u) * DOUBLED(u * 0.5) + TRIPLED(u[::-1])


def with_nones(x, k):
    u = np.array([x[0], k])
    total = 0.0
    for j in range(3):
        found = none_or(u, j)
        if found is not None:
            total += found * (j + 1)
    return total + none_or(u, 0) + none_or(u, 1)


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize(
    ("f", "names"),
    [
        (with_changes, []),
        (with_views, []),
        (with_globals, ["scaled"]),
        (with_closures, []),
        (with_nones, ["none_or", "none_or_1", "none_or_2"]),
        (with_twins, ["lambda_", "lambda__1", "lambda__2"]),
    ],
)
def test_what_is_shared(f, names, backend):
    assert shared(f, X, 0.8) == names
    check(f, backend)


def test_what_is_seen_from_outside_happens_as_often(capsys):
    assert shared(with_prints, X, 0.8) == []
    dj.jit(with_prints)(X, 0.8)
    assert capsys.readouterr().out == "here\n" * 3
    COUNT[0] = 0
    wanted = with_counts(X, 0.8)
    COUNT[0] = 0
    assert dj.jit(with_counts)(X, 0.8) == wanted
    assert COUNT[0] == 3


def test_globals_are_followed(monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 2.5)
    assert dj.jit(with_globals)(X, 0.8) == pytest.approx(with_globals(X, 0.8), rel=1e-14)


def with_indices(x, k):
    u = np.array([x[0], x[1]])
    return picks(u, 0) + picks(u, 0) + picks(u, k) + picks(u, k)


def with_divisions(x, k):
    u = np.array([x[0], x[1]])
    return divides(u, 4) + divides(u, k) + divides(u, k)


def caught(x, k):
    u = np.array([x[0], x[1]])
    total = picks(u, 0) + picks(u, 1)
    try:
        total += picks(u, k)
    except IndexError:
        total += 10.0 * u[0]
    return total


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize(("f", "k", "error"), [(with_indices, 5, IndexError), (with_divisions, 1, ZeroDivisionError)])
def test_errors(f, k, error, backend):
    for verb in (dj.jit(f, backend=backend), dj.grad(f, backend=backend)):
        with pytest.raises(error) as python:
            f(X, k)
        with pytest.raises(error) as raised:
            verb(X, k)
        if backend == "numba":
            line = python.traceback[-1].lineno + 1
            assert f'"{__file__}", line {line}, in' in "".join(raised.value.__notes__)


def test_what_is_caught_is_written_out():
    for k in (1, 5):
        assert dj.jit(caught)(X, k) == pytest.approx(caught(X, k), rel=1e-14)
        assert dj.grad(caught)(X, k) == pytest.approx(quotient(lambda x, _, k=k: caught(x, k), X, 0.0)[0], abs=1e-8)


STEPS = (
    "m = np.outer(v, v) * c\n    s = m + m.T",
    "s = np.sin(v) * c + np.cos(v[::-1])",
    "s = v.copy()\n    for i in range({n} - 1):\n        s[i + 1] = s[i] * c + v[i + 1]",
    "s = np.cross(v, np.array([c, 1.0, v[0]])) if {n} == 3 else v * c",
    "s = np.where(v > {p}, v * v, c)",
    "if np.sum(v) > {p}:\n        s = v * 2.0\n    else:\n        s = np.exp(-v) * c",
    "s = v / (1.0 + np.linalg.norm(v))\n    s = s[:{n}] + s[0]",
    "s = v * TABLE[:{n}] + TABLE[0] * c",
    "w = [v[j] * c for j in range({n})]\n    s = np.array(w) + max(w)",
)
RETURNS = ("np.sum(s * s)", "s.ravel()[:{n}] * 1.0", "(np.sum(s), s.ravel()[:{n}] + v)")


def written(seed):
    """A program of helpers that call each other with small arrays, in many places."""
    rng = random.Random(seed)
    n = rng.choice((2, 3))
    late = seed >= 200  # only the run knows the lengths; functions and NumPy's numbers among the arguments
    until = "m" if late else n
    numbers = ("", ", k", ", 1.5", ", c=r * 0.01") + late * (", np.float64(1.5)", ", 1.5, half", ", g=half")
    lines, kinds = ["import numpy as np", "TABLE = np.array([0.5, 1.5, 0.7])", "def half(t):", "    return 0.5 * t"], []
    for h in range(rng.randint(2, 3)):
        kind = rng.randrange(3)
        p = rng.choice((0.3, 1.1, 2.0))
        taken = ", g=np.tanh" if late else ""
        lines += [f"def h{h}(v, c=0.7{taken}):", "    " + rng.choice(STEPS).format(n=n, p=p)]
        if late and rng.random() < 0.5:
            lines += ["    s = g(s)"]
        if h and rng.random() < 0.6:
            inner = rng.randrange(h)
            pick = "" if kinds[inner] == 0 else "[0]"
            lines += [f"    s = s * (1.0 + 0.1 * h{inner}(v){pick} * h{inner}(v * 0.5, c){pick})"]
        lines += ["    return " + RETURNS[kind].format(n=n)]
        kinds.append(kind)
    lines += ["def f(x, k):", f"    m = {n} if k > -5.0 else 1"] if late else ["def f(x, k):"]
    lines += [f"    u = np.array([x[0], k, x[1]])[:{until}]", "    r = 0.1 * k"]
    for _ in range(rng.randint(4, 6)):
        h = rng.randrange(len(kinds))
        vector = rng.choice(("u", "u * 0.5", "u[::-1]", f"np.array([r, k, x[2]])[:{until}]"))
        call = f"h{h}({vector}{rng.choice(numbers)})"
        part = ("{0}", "np.sum({0})", "{0}[0] + np.sum({0}[1])")[kinds[h]].format(call)
        if rng.random() < 0.3:
            lines += [f"    for i in range({rng.choice(('2', 'x.size'))}):", f"        r = r * 0.3 + 0.1 * ({part})"]
        else:
            lines += [f"    r = r * 0.3 + 0.1 * ({part})"]
        if kinds[h] == 1 and rng.random() < 0.5:
            lines += [f"    u = 0.5 * {call}"]
        if rng.random() < 0.4:  # what a call has read is overwritten
            lines += [
                "    " + rng.choice(("u[0] = r + 0.5", "u *= 0.9", "u[1:] += 0.1 * u[:-1]", "u[:] = u[::-1] * k"))
            ]
    return "\n".join([*lines, "    return r + np.sum(u * u)", ""])


def random_check(seed, tmp_path, backend):
    file = tmp_path / f"repeated_{seed}.py"
    file.write_text(written(seed), encoding="utf-8")
    scope = {"__file__": str(file), "__name__": f"repeated_{seed}"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)  # noqa: S102 - our own text
    check(scope["f"], backend)
    return shared(scope["f"], X, 0.8)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed, tmp_path):
    assert random_check(seed, tmp_path, "numba")


@pytest.mark.parametrize("seed", range(10, 30))
def test_random_programs_as_python(seed, tmp_path):
    random_check(seed, tmp_path, "python")


@pytest.mark.parametrize("seed", range(200, 206))
def test_random_programs_of_run_time_lengths(seed, tmp_path):
    random_check(seed, tmp_path, "python")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(100, 180), *range(206, 300)])
def test_more_random_programs(seed, tmp_path):
    for backend in ("numba", "python"):
        random_check(seed, tmp_path, backend)
