"""Sums that are taken abreast: those of array operations, and the cotangents that loops of the user's add up.

`python -m tests.lowering.test_abreast FROM TO` tries more random programs.
"""

import linecache
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.llvm import tiers
from diffjit.settings import settings
from tests import processors

LENGTHS = (0, 1, 3, 7, 15, 16, 17, 31, 32, 33, 50, 64, 100, 4097)
TERMS = (
    "a * x[i]", "b * x[i] * w[i]", "a * b * np.sin(w[i])", "x[i - 1] * w[i] * a", "(x[i] - b) ** 2", "a * w[k[i]]",
    "x[-i] * b", "np.sqrt(x[i] + a * a)", "max(x[i], a) * w[i]", "a / (x[i] + 3.0)",
)  # fmt: skip
REDUCED = (
    "x * u", "np.exp(-x) * u", "np.sin(x) + u", "np.where(x > a, x * u, b * u)", "x ** 2", "np.abs(x - u)", "a * x",
    "np.maximum(x, u)", "1.0 / (1.0 + x * x)", "x[::-1] * u", "x.astype(np.float32) * np.float32(2.0)",
)  # fmt: skip
TABLES = (
    "np.sum(A * v)", "np.sum(A, axis=1) @ np.arange(A.shape[0])", "np.sum(np.sum(A * a, axis=0) ** 2)", "np.sum(A @ v)",
    "np.sum(np.log(np.sum(np.exp(A), axis=1)))", "np.sum(A.T * A.T)", "np.sum(A[:, ::2])", "np.var(A + b)",
    "np.sum(np.prod(A * 0.1 + 1.0, axis=-1))", "np.sum(np.mean(A, axis=1, keepdims=True) * A)", "np.sum(v @ A.T)",
    "np.sum(A[1:] * A[:-1], axis=(0, 1))",
    "np.sum(np.where(A > v, A, 0.0)) / (1 + np.sum(A > v))",
    "np.sum(np.sum(A * v, axis=1) / (1 + np.sum(A > a * v, axis=1)))",
)  # fmt: skip


def loop(rng):
    """A loop whose way back adds up cotangents."""
    beyond = rng.random() < 0.15
    ranges = [
        "range(n)",
        "range(1, n)",
        "range(n - 1, -1, -1)",
        "range(2, n - 1)",
        "range(n - 2, 0, -1)",
        "range(0, n, 2)",
    ]
    lines = [f"for i in {'range(1, n + 2)' if beyond else rng.choice(ranges)}:"]
    for _ in range(rng.randint(1, 4)):
        term = rng.choice(TERMS)
        lines.append(
            "    "
            + rng.choice(
                [
                    f"s += {term}",
                    f"z[i] = {term}",
                    f"z[i] += {term}",
                    f"s = s + {term} * s * 1e-3",
                    f"z[i] = s * {term}",
                ]
            )
        )
    if rng.random() < 0.2:
        lines += ["    if s > 1e6:", "        s = s * a"]
    return lines


def program(seed):
    """The text of a random program."""
    rng = random.Random(seed)
    lines = ["n = x.size", "z = np.zeros(n)", "s = a * 0.0", "u = w[:n]", "v = w[: A.shape[1]]"]
    for _ in range(rng.randint(1, 3)):
        lines += (
            loop(rng)
            if rng.random() < 0.6
            else [f"s += np.sum({rng.choice(REDUCED)}) * {rng.choice(['1.0', 'a', 'b'])}"]
        )
        if rng.random() < 0.5:
            lines.append(f"s += b * {rng.choice(TABLES)}")
    lines.append("return s + np.sum(z * w[:n])")
    body = "\n    ".join(lines)
    return f"import numpy as np\n\n\ndef f(a, b, x, w, A, k):\n    {body}\n"


def made(seed, folder):
    """A random program, from a file."""
    text = program(seed)
    file = str(folder / f"abreast_{seed}.py")
    Path(file).write_text(text, encoding="utf-8")
    linecache.checkcache(file)
    scope = {"__file__": file, "__name__": f"abreast_{seed}"}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - our own text
    return scope["f"]


def arguments(seed, n):
    """Numbers of moderate size; the table's rows are not longer than the vectors."""
    rng = np.random.default_rng(seed)
    x, w = rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, max(n, 40))
    if n:
        w[:n] = rng.uniform(0.5, 1.5, n)
    A = rng.uniform(0.2, 1.0, (int(rng.integers(2, 6)), int(rng.integers(1, 40))))
    return 1.1, 0.7, x, w, A, rng.integers(-5, 5, max(n, 1))


def outcome(f, args):
    """What a call gives, or the class of what it raises."""
    try:
        return f(*args)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        return type(error)


def check(seed, folder):
    """Value and derivative in Python, checked and as users run it; both tiers to the last bit."""
    f = made(seed, folder)
    n = LENGTHS[seed % len(LENGTHS)]
    args = arguments(seed, n)
    with np.errstate(all="ignore"):
        expected = outcome(f, args)
    by = (0, 1, 2, 3, 4)
    graded = dj.grad(f, by)
    first = outcome(graded, args)
    tiers.join()
    second = outcome(graded, args)
    jitted = outcome(dj.jit(f), args)
    if isinstance(expected, type):
        assert first is second is jitted is expected
        return
    assert jitted == pytest.approx(expected, rel=1e-6 if "float32" in program(seed) else 1e-11)
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(first, second, strict=True))
    rng = np.random.default_rng(seed + 1)
    along = [np.asarray(rng.uniform(-1, 1, np.shape(arg))) for arg in args[:5]]
    got = sum(float(np.sum(g * d)) for g, d in zip(first, along, strict=True))
    step = 1e-6
    ends = [f(*[arg + sign * step * d for arg, d in zip(args[:5], along, strict=True)], args[5]) for sign in (1, -1)]
    scale = max(1.0, abs(got), abs(expected))
    if "float32" in program(seed):
        return  # a quotient of rounded numbers tells nothing
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(got, rel=1e-6, abs=1e-6 * scale)


@pytest.mark.parametrize("seed", range(14))
def test_random_programs(seed, tmp_path):
    check(seed, tmp_path)


@pytest.mark.parametrize("seed", range(100, 104))
def test_random_programs_checked(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "checked", True)
    check(seed, tmp_path)


def counted_down(a, x):
    s = 0.0
    for i in range(x.size):
        s += a * x[i] * x[i]
    return s


def read_as_it_grows(a, x):
    s = 0.0
    for i in range(x.size):
        s += a * x[i] + 0.01 * s * a
    return s


@pytest.mark.parametrize("n", [31, 32, 33, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cotangents_of_numbers(n, dtype):
    x = np.linspace(0.5, 1.5, n).astype(dtype)
    a = dtype(1.3)
    close = 1e-12 if dtype is np.float64 else 1e-4
    assert dj.grad(counted_down)(a, x) == pytest.approx(float(np.sum(x.astype(float) ** 2)), rel=close)
    assert "in abreast(" in dj.source(dj.grad(counted_down, (0, 1)), a, x, stage="lowered")
    step = 1e-6
    quotient = (read_as_it_grows(1.3 + step, x.astype(float)) - read_as_it_grows(1.3 - step, x.astype(float))) / (
        2 * step
    )
    assert dj.grad(read_as_it_grows)(a, x) == pytest.approx(quotient, rel=1e-5 if dtype is np.float64 else 1e-3)


def neighbours(a, x):
    s = 0.0
    for i in range(1, x.size):
        s += a * x[i] * x[i - 1] ** 2
    return s


def running(a, x):
    s, t = 0.0, 0.0
    for i in range(x.size):
        s += a * x[i]
        t += s * x[i]
    return t


@pytest.mark.parametrize("n", [17, 40, 200])
def test_what_is_read_as_it_grows_is_added_up_one_by_one(n):
    x = np.linspace(0.5, 1.5, n)
    by_a, by_x = dj.grad(running, (0, 1))(1.3, x)
    behind = np.cumsum(x[::-1])[::-1]
    assert by_a == pytest.approx(np.sum(behind * x), rel=1e-12)
    np.testing.assert_allclose(by_x, 1.3 * (behind + np.cumsum(x)), rtol=1e-12)


@pytest.mark.parametrize("n", [17, 40, 200])
def test_turns_that_write_to_each_others_elements_are_not_promised_apart(n):
    x = np.linspace(0.5, 1.5, n)
    assert "in side_by_side(" in dj.source(dj.grad(neighbours, (0, 1)), 1.3, x, stage="lowered")
    by_a, by_x = dj.grad(neighbours, (0, 1))(1.3, x)
    expected = np.zeros(n)
    expected[1:] += 1.3 * x[:-1] ** 2
    expected[:-1] += 1.3 * 2 * x[1:] * x[:-1]
    np.testing.assert_allclose(by_x, expected, rtol=1e-13)
    assert by_a == pytest.approx(np.sum(x[1:] * x[:-1] ** 2), rel=1e-13)


def total(x):
    return np.sum(x)


def test_the_order_is_told():
    """Sixteen sums of every sixteenth element, halves of them added up; then the rest."""
    x = np.random.default_rng(3).standard_normal(1000) * 10.0 ** np.arange(-8, 8, 0.016)
    parts = np.zeros(16)
    for k in range(0, 992, 16):
        parts += x[k : k + 16]
    while parts.size > 1:
        parts = parts[: parts.size // 2] + parts[parts.size // 2 :]
    expected = 0.0 + parts[0]
    for value in x[992:]:
        expected += value
    assert dj.jit(total)(x) == expected


TOLD = """
import sys
from pathlib import Path
import numpy as np
import diffjit as dj
from tests.lowering.test_abreast import arguments, made
for seed in range(40, 46):
    found = dj.value_and_grad(made(seed, Path(sys.argv[1])), (0, 1, 2, 3, 4))(*arguments(seed, 100))
    print([np.asarray(part).tobytes().hex() for part in (found[0], *found[1])])
"""


@pytest.mark.skipif(not processors.here(), reason="these are x86-64 processors")
def test_other_processors_add_up_alike(tmp_path):
    names = ["", *(name for name in ("generic", "haswell") if processors.runs(name))]
    told = set()
    for name in names:
        chosen = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""} if name else {}
        done = subprocess.run(  # noqa: S603 - our own text
            [sys.executable, "-W", "ignore", "-c", TOLD, str(tmp_path)], cwd=processors.ROOT,
            env={**os.environ, **chosen}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        told.add(done.stdout)
    assert len(told) == 1
    assert "None" not in told.pop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_here:
        for number in range(int(sys.argv[1]), int(sys.argv[2])):
            try:
                check(number, Path(made_here))
            except Exception as error:  # noqa: BLE001 - all are shown
                sys.stdout.write(f"{number}: {type(error).__name__}: {error}\n{program(number)}\n")
