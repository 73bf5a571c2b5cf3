"""Random programs that may fail: the generator, the comparison with Python, the command, and a sample of programs."""

import json
import subprocess
import sys
import types
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.check import load
from tests.fuzz.designs import DESIGNS, design_of
from tests.fuzz.failing import from_seed
from tests.fuzz.guarded import guarded, memory
from tests.fuzz.hunt import signature
from tests.fuzz.outcomes import FAULTS, calls_of, check_outcomes, near, run, verbs_for
from tests.fuzz.shrink import shrink_by
from tests.fuzz.workers import Task, Worker, culprit

ROOT = Path(__file__).resolve().parents[1]
HEAD = """import numpy as np

ORDER = "C"
CASES = [
    {"p": 5, "q": 6, "n": 2, "k": 1, "e": 0},
    {"p": 6, "q": 7, "n": 3, "k": 9, "e": 0},
]


"""
WRITES_THEN_FAILS = """def f(x, y, a, n, k, e):
    for i in range(n):
        x[i] *= a
    if k > 5 and x[0] > 90.0:
        raise ValueError(f"far: {k}")
    return np.sum(np.sin(x)) + x[k]
"""


# The generator


def test_a_seed_gives_the_same_program_again():
    assert from_seed(7) == from_seed(7) != from_seed(8)
    assert design_of(from_seed(7)).name == "failing"
    assert design_of(DESIGNS["smooth"].from_seed(7)).name == "smooth"


def test_old_seeds_keep_their_meaning():
    text = DESIGNS["smooth"].from_seed(900003)
    assert "np.subtract(u, 0.4 * u[:3], u[:])" in text
    assert "items = [np.append(x[np.array([2, 1, 1])]" in DESIGNS["smooth"].from_seed(950001)


def test_programs_raise_in_the_middle_and_return_often():
    ends = Counter()
    for seed in range(200):
        module = load(from_seed(seed), "")
        for call in calls_of(module, seed):
            result = run(module.f, call.arguments())
            ends[type(result.error).__name__ if result.error else "value"] += 1
    assert ends["value"] > 400
    assert ends["IndexError"] > 150
    for name in ("ValueError", "ZeroDivisionError"):
        assert ends[name] >= 5, ends
    assert not ends["SyntaxError"] + ends["NameError"] + ends["TypeError"] + ends["AttributeError"], ends


@pytest.mark.parametrize(
    ("construct", "least"),
    [
        ("for ", 80), ("while ", 25), ("break", 25), ("continue", 8), ("raise ", 40), ("try:", 20), ("except ", 20),
        ("else:", 25), ("[::-1]", 60), ("np.where(", 40), ("out=", 15), ("np.add.at", 5), ("items.append", 8),
        ("box.data", 25), ("def first(", 40), ("return np.sum", 10), ("range(5)", 10), (" % u.size", 20),
    ],
)  # fmt: skip
def test_programs_have_all_constructs(construct, least):
    assert sum(construct in from_seed(seed) for seed in range(200)) >= least


# The comparison


def python(*, fault=""):
    """Stands in for diffjit: Python itself, derivatives by differences, and one fault."""

    class DiffjitError(Exception):
        code = "DJ901"

    def slopes(f, arguments):
        def at(*point):
            return f(*(np.array(v) if isinstance(v, np.ndarray) else v for v in point), *arguments[3:])

        bars = []
        for place in range(3):
            bar = np.zeros(np.shape(arguments[place]))
            for index in np.ndindex(bar.shape):
                ends = []
                for h in (1e-5, -1e-5):
                    point = [np.array(v) for v in arguments[:3]]
                    point[place][index] += h
                    ends.append(at(point[0], point[1], float(point[2])))
                bar[index] = (ends[0] - ends[1]) / 2e-5
            bars.append(bar)
        if fault == "gradient":
            bars[0][-1] += 0.01
        return tuple(bars)

    def jit(f, backend):
        def call(*arguments):
            before = [np.array(v) if isinstance(v, np.ndarray) else v for v in arguments]
            try:
                value = f(*arguments)
            except IndexError:
                if fault == "left":
                    arguments[0][:] = before[0]
                if fault == "silent":
                    return 0.0
                if fault == "words":
                    raise IndexError("index 0 is out of bounds") from None
                if fault == "another":
                    raise KeyError("other") from None
                if fault == "ours":
                    raise DiffjitError("[DJ901] a mistake of diffjit") from None
                raise
            if fault == "raises":
                raise IndexError("out")
            if fault == "unstable":
                noise.append(1)
                return value + 1e-13 * len(noise)
            if fault == "arrays":
                arguments[0][:] = before[0]
            return value + (1e-3 if fault == "number" else 0.0)

        return call

    def value_and_grad(f, argnums, backend):
        def both(*arguments):
            copies = [np.array(v) if isinstance(v, np.ndarray) else v for v in arguments]
            value = f(*copies)
            if fault == "caller's":
                arguments[1][0, 0] += 1.0
            return value, slopes(f, arguments)

        return both

    noise = []
    return types.SimpleNamespace(jit=jit, value_and_grad=value_and_grad, DiffjitError=DiffjitError)


@pytest.mark.parametrize(
    ("fault", "found"),
    [(fault, f"jit {fault}") for fault in FAULTS] + [("gradient", "grad number"), ("caller's", "grad arrays")],
)
def test_each_fault_is_noticed(fault, found, monkeypatch):
    monkeypatch.setitem(sys.modules, "diffjit", python(fault=fault))
    outcome = check_outcomes(HEAD + WRITES_THEN_FAILS, 1, "numba", ("jit", "grad"))
    assert outcome.kind == "wrong"
    assert outcome.detail.startswith(found), outcome.detail


def test_python_itself_is_right(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffjit", python())
    assert check_outcomes(HEAD + WRITES_THEN_FAILS, 1, "python", ("jit", "grad")).kind == "ok"
    for seed in range(10):
        outcome = check_outcomes(from_seed(seed), seed, "python", ("jit",))
        assert outcome.kind == "ok", outcome.detail


def test_numbers_that_are_not_finite_are_compared_too():
    assert near([1.0, np.nan, np.inf], [1.0 + 1e-12, np.nan, np.inf])
    assert not near([1.0, np.inf], [1.0, -np.inf])
    assert not near([1.0, np.nan], [1.0, 2.0])
    assert not near(np.ones(3), 1.0)


def test_a_failing_program_shrinks_by_any_test():
    def fails(source):
        return "x[k]" in source

    small = shrink_by(HEAD + WRITES_THEN_FAILS, fails)
    assert fails(small)
    assert "range" not in small


# Processes


def test_what_kills_or_stalls_a_worker_is_told_from_what_is_right():
    dies = HEAD + "def f(x, y, a, n, k, e):\n    import os; os.kill(os.getpid(), 11)\n"
    stalls = HEAD + "def f(x, y, a, n, k, e):\n    while True: pass\n"
    right = HEAD + "def f(x, y, a, n, k, e):\n    return np.sum(x) * a\n"
    worker = Worker(timeout=60)
    assert worker.run(Task("failing", 0, "python", verbs=("jit",), source=right))["kind"] == "ok"
    outcome = worker.run(Task("failing", 1, "python", source=dies))
    assert outcome["kind"] == "dead"
    assert signature(outcome) == ("dead", "dead -11")
    worker.timeout = 5
    assert worker.run(Task("failing", 2, "python", source=stalls))["kind"] == "slow"
    worker.timeout = 60
    last, before = Task("failing", 3, "python", verbs=("jit",), source=right), Task("failing", 1, "python", source=dies)
    worker.close()
    found = culprit(last, [before], Worker(timeout=60))
    assert found is not None
    assert found[0] == before


def test_the_command_goes_on_where_it_stopped(tmp_path):
    def command(seeds):
        return subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "tests.fuzz", "--seeds", seeds, "--design", "smooth", "--jobs", "1", "--state",
             str(tmp_path)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip

    first = command("0:2")
    assert "2 programs: 2 right" in first.stdout, first.stderr
    lines = (tmp_path / "python.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["seed"] for line in lines] == [0, 1]
    second = command("0:3")  # the third one is not smooth where it is evaluated
    assert "3 programs: 2 right" in second.stdout
    assert "1 discarded" in second.stdout
    assert len((tmp_path / "python.jsonl").read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize("behind", [True, False])
def test_pages_around_an_array_are_forbidden(behind):
    offset = "array.nbytes" if behind else "-8"
    program = (
        "import ctypes, numpy as np\nfrom tests.fuzz.guarded import guarded\n"
        f"array = guarded(np.arange(5.0), behind={behind})\nassert array.tolist() == [0, 1, 2, 3, 4]\nprint('in')\n"
        f"ctypes.c_double.from_address(array.ctypes.data + {offset}).value = 1.0\nprint('out')\n"
    )
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-u", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == -11
    assert done.stdout == "in\n"


def test_guarded_arrays_keep_layout_and_values():
    base = np.arange(24.0).reshape(4, 6)
    for values in (base, np.asfortranarray(base), base[::-1, ::2], base[:, ::-1], base[:0], base[0, :1]):
        copy = guarded(values)
        assert np.array_equal(copy, values)
        assert copy.strides == values.strides or not values.size
        copy[...] = -1.0
        assert base[0, 1] == 1.0
    assert memory(0).size == 0


# Programs


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_hundreds_of_programs_end_as_in_python(block):
    check_seeds(range(100 * block, 100 * block + 100), "python")


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_hundreds_of_compiled_programs_end_as_in_python(block):
    check_seeds(range(20 * block, 20 * block + 20), "numba")


def check_seeds(seeds, backend):
    counts = Counter()
    worker = Worker(timeout=120)
    for seed in seeds:
        outcome = worker.run(Task("failing", seed, backend, verbs=verbs_for(seed)))
        counts[outcome["kind"]] += 1
        if outcome["kind"] not in ("ok", "refused"):
            pytest.fail(f"{outcome['kind']} at seed {seed}: {outcome['detail']}\n\n{from_seed(seed)}", pytrace=False)
    worker.close()
    assert counts["refused"] <= max(2, len(seeds) * 3 // 100)
