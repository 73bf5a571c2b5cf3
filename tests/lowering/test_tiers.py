"""Two tiers of machine code: quick code first, of the same bits as the fast code that follows."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine import shared
from diffjit.lowering.calls import failures, interrupts
from diffjit.lowering.llvm import outside, tiers
from tests.modes import PROGRAMS
from tests.test_corpus import COMPILED, NOT_YET
from tests.validate import SEED, tiers_compared

pytestmark = pytest.mark.skipif(not tiers.SUPPORTED or os.name != "posix", reason="no second process or loader here")

NAMES = [name for name in sorted(PROGRAMS) if name not in NOT_YET]
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """Nothing is found on disk; programs have two tiers."""
    monkeypatch.setattr(dj.settings, "cache_dir", str(tmp_path))
    monkeypatch.setattr(dj.settings, "backend", "numba")
    monkeypatch.setattr(dj.settings, "isolate", True)
    monkeypatch.setattr(dj.settings, "tiers", True)
    monkeypatch.setattr(outside, "TROUBLE", [])
    yield
    tiers.join()


@pytest.fixture
def jobs(monkeypatch):
    """The jobs that begin."""
    found = []
    begin = tiers.begin
    monkeypatch.setattr(tiers, "begin", lambda job: (found.append(job), begin(job)))
    return found


def bits(result):
    return [np.ascontiguousarray(part).tobytes() for part in (result if isinstance(result, tuple) else (result,))]


# Sums that LLVM may reorder, in nests and in helpers; sums that it may not; functions that it knows; other dtypes.


def norms(x, w):
    y = np.tanh(x @ w)
    return np.sum(np.sqrt(1.0 + y * y)) + np.prod(1.0 + 0.01 * w) + np.max(y)


def by_rows(x, w):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return np.sum(np.log(p) @ w)


def recurrence(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s = 0.9 * s + np.sin(x[i, j]) * w[j] ** 3 + abs(x[i, j]) ** 1.5
    return s


def singles(x, w):
    return np.sum((x.astype(np.float32) @ w.astype(np.float32)) ** 2)


def planes(x, w):
    z = np.exp(1j * x) * w
    return np.sum(np.abs(np.fft.fft(z)) ** 2) + np.sum(np.real(z * z))


@pytest.mark.parametrize("function", [norms, by_rows, recurrence, singles, planes])
def test_the_same_bits(function, jobs):
    rng = np.random.default_rng(3)
    arguments = rng.standard_normal((37, 41)), rng.standard_normal(41)
    gradient = dj.value_and_grad(function, argnums=(0, 1))
    value, slopes = gradient(*arguments)
    quick = bits(value), bits(slopes)
    tiers.join()
    assert len(jobs) == 1
    assert jobs[0].ready is not None
    value, slopes = gradient(*arguments)
    assert (bits(value), bits(slopes)) == quick
    np.testing.assert_allclose(value, function(*arguments), rtol=2e-5)


@pytest.mark.parametrize("names", [COMPILED[:3], [f"{SEED}{k}" for k in range(3)]], ids=["corpus", "random"])
def test_the_same_bits_at_the_edges(names):
    assert tiers_compared(list(names)) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(0, len(NAMES), 10))
def test_the_same_bits_in_the_whole_corpus(block):
    assert tiers_compared(NAMES[block : block + 10]) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(0, 100, 10))
def test_the_same_bits_of_random_programs(block):
    assert tiers_compared([f"{SEED}{k}" for k in range(100 + block, 110 + block)]) == []


def test_a_long_run_of_quick_code_leaves_for_the_fast_code(jobs, monkeypatch):
    def series(x, n):
        total = 0.0
        for k in range(n):
            for i in range(len(x)):
                total += np.sin(x[i] * k) * x[i] ** 2
        return total

    begun = threading.Event()
    attempted = outside.attempted

    def after_a_while(*args, beside=False, **kwargs):
        if beside:  # the fast code comes when the quick code runs
            begun.wait()
            time.sleep(0.05)
        return attempted(*args, beside=beside, **kwargs)

    call = tiers.Job.call
    monkeypatch.setattr(tiers.Job, "call", lambda *args: (begun.set(), call(*args))[1])
    monkeypatch.setattr(outside, "attempted", after_a_while)
    monkeypatch.setattr(tiers, "PATIENCE", 0.0)
    x = np.linspace(0.1, 1.0, 1000)
    gradient = dj.grad(series)
    slopes = gradient(x, 20_000)  # seconds
    assert [job.left for job in jobs] == [1]
    assert interrupts.leaving() == 0
    assert bits(gradient(x, 20_000)) == bits(slopes)
    wanted = sum(k * np.cos(x * k) * x**2 + 2 * x * np.sin(x * k) for k in range(20_000))
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6)


def inner(x):
    total = 0.0
    for i in range(40):
        total += np.exp(-x * i) * x
    return total


slope = dj.grad(inner)
fail_at = [-1]


def slowly(x):
    if len(slope.calls) == fail_at[0]:
        raise RuntimeError("it was told to")
    slope.calls.append(x)
    return float(slope(x))


@dj.foreign(result=float)
def through_python(x):
    """It runs a program of its own, which has light and fast code, too."""
    return slowly(x)


def calling(x, n):
    total = 0.0
    for k in range(n):
        y = through_python(x[k % len(x)] * 1.0)
        for i in range(len(x)):
            total += np.sin(x[i] * k) * x[i] ** 2 * y
    return total


def calling_more(x, n):
    total = 0.0
    for k in range(n):
        y = through_python(x[k % len(x)] * 1.0)
        for i in range(len(x)):
            total += np.sin(x[i] * k) * x[i] ** 3 * y
    return total


def calling_once_more(x, n):
    return calling(x, n) * 2.0


def in_plain_python(x, n, power):
    total = 0.0
    for k in range(n):
        z = x[k % len(x)]
        i = np.arange(40)
        y = np.sum(np.exp(-z * i) * (1 - z * i))
        total += np.sum(np.sin(x * k) * x**power) * y
    return total


@pytest.mark.parametrize(("function", "power", "patience"), [(calling, 2, 0.0), (calling_more, 3, 0.01)])
def test_nobody_leaves_while_python_runs(jobs, monkeypatch, function, power, patience):
    monkeypatch.setattr(tiers, "PATIENCE", patience)
    monkeypatch.setattr(slope, "calls", [], raising=False)
    x = np.linspace(0.1, 1.0, 300)
    values = dj.jit(function)
    n = 3000
    first = values(x, n)
    tiers.join()
    assert interrupts.leaving() == 0
    assert bits(values(x, n)) == bits(first)
    assert first == pytest.approx(in_plain_python(x, n, power), rel=1e-10)
    assert jobs
    assert not tiers._light  # pyright: ignore[reportPrivateUsage]
    assert all(not job.runs and job.aside == 0 for job in jobs)


def test_what_python_raises_in_quick_code_comes_out_as_it_is(jobs, monkeypatch):
    monkeypatch.setattr(slope, "calls", [], raising=False)
    monkeypatch.setattr(sys.modules[__name__], "fail_at", [5])
    with pytest.raises(RuntimeError, match="it was told to"):
        dj.jit(calling_once_more)(np.linspace(0.1, 1.0, 30), 50)
    assert jobs
    assert not tiers._light  # pyright: ignore[reportPrivateUsage]
    assert all(not job.runs and job.aside == 0 for job in jobs)


def test_an_exception_is_the_same_before_and_after(jobs):
    def f(x, k):
        return np.sum(x) * x[k]

    gradient = dj.grad(f)
    words = set()
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            gradient(np.ones(3), 5)
        words.add((str(caught.value), *caught.value.__notes__))
        tiers.join()
    assert len(words) == 1
    assert jobs[0].left == 0
    np.testing.assert_array_equal(gradient(np.ones(3), 1), [1.0, 4.0, 1.0])


def test_what_was_printed_is_not_printed_again(jobs, monkeypatch, capsys):
    def told(x, n):
        total = 0.0
        for k in range(n):
            for i in range(len(x)):
                total += np.sin(x[i] * k) * x[i] ** 2
            if k % (n // 8) == 0:
                print(k, total)  # noqa: T201 - that is what is tested
        return total

    there = threading.Event()
    hasten, render = tiers.Job.hasten, failures.render
    monkeypatch.setattr(tiers.Job, "hasten", lambda job: (there.set(), hasten(job))[1])
    monkeypatch.setattr(failures, "render", lambda *args: (there.wait(60.0), render(*args))[1])  # the first print waits
    monkeypatch.setattr(tiers, "PATIENCE", 0.0)
    x = np.linspace(0.1, 1.0, 1000)
    compiled = dj.jit(told)
    first = compiled(x, 30_000)  # seconds
    lines = capsys.readouterr().out
    assert [job.left for job in jobs] == [1]
    assert compiled(x, 30_000) == first
    assert capsys.readouterr().out == lines
    assert len(lines.splitlines()) == 8


class Running:
    """What is printed to it, it writes down, and runs a program."""

    def __init__(self):
        self.lines = []

    def write(self, text):
        self.lines.append(text)
        slope(0.3)

    def flush(self):
        pass


def printing(x, n):
    total = 0.0
    for k in range(n):
        for i in range(len(x)):
            total += np.cos(x[i] * k) * x[i] ** 2
        if k % (n // 100) == 0:
            print(k)  # noqa: T201 - that is what is tested
    return total


def test_what_is_printed_to_may_run_programs(jobs, monkeypatch):
    monkeypatch.setattr(tiers, "PATIENCE", 0.0)
    x, n = np.linspace(0.1, 1.0, 300), 20_000
    told = Running()
    compiled = dj.jit(printing)
    with contextlib.redirect_stdout(told):
        first = compiled(x, n)
    tiers.join()
    assert "".join(told.lines).split() == [str(k) for k in range(0, n, n // 100)]
    assert jobs
    assert not tiers._light  # pyright: ignore[reportPrivateUsage]
    assert all(not job.runs and job.aside == 0 for job in jobs)
    with contextlib.redirect_stdout(told):
        assert compiled(x, n) == first


def speaks(x):
    print("inside", x)  # noqa: T201 - that is what is tested
    return x * x


@dj.foreign(result=float)
def speaking(x):
    return float(dj.jit(speaks)(x))


def tells(x, n):
    total = 0.0
    for k in range(n):
        for i in range(len(x)):
            total += np.sin(x[i] * k) * x[i] ** 2
        if k % (n // 4) == 0:
            print(k, total)  # noqa: T201 - that is what is tested
            total += speaking(0.5 * k)
    return total


def test_what_another_program_has_printed_that_python_ran_is_not_printed_again_either(jobs, monkeypatch, capsys):
    attempted = outside.attempted

    def after_a_while(*args, beside=False, **kwargs):
        if beside:
            time.sleep(0.2)
        return attempted(*args, beside=beside, **kwargs)

    monkeypatch.setattr(outside, "attempted", after_a_while)
    monkeypatch.setattr(tiers, "PATIENCE", 0.0)
    x, n = np.linspace(0.1, 1.0, 1000), 40_000  # a second
    compiled = dj.jit(tells)
    first = compiled(x, n)
    lines = capsys.readouterr().out
    assert any(job.left for job in jobs)
    assert compiled(x, n) == first
    assert capsys.readouterr().out == lines
    assert [line.split()[0] for line in lines.splitlines()] == [
        "0",
        "inside",
        "10000",
        "inside",
        "20000",
        "inside",
        "30000",
        "inside",
    ]


def changes(x):
    x[0] = 2.0 * x[1]
    return x[0] * x[1]


def calls_itself(x, n=5):
    return x[0] if n == 0 else x[0] * calls_itself(x, n - 1)


@pytest.mark.parametrize("function", [changes, calls_itself])
def test_what_leaves_traces_or_takes_stack_waits_for_the_fast_code(function, jobs):
    dj.jit(function)(np.array([3.0, 4.0]))
    assert jobs == []


@pytest.mark.parametrize("setting", [("tiers", False), ("isolate", False), ("checked", True)])
def test_settings_that_have_one_tier(setting, jobs, monkeypatch):
    monkeypatch.setattr(dj.settings, *setting)
    assert dj.grad(lambda x: np.sum(x * x))(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert jobs == []


def test_quick_code_stays_where_llvm_does_not_survive_the_passes(jobs):
    gradient = dj.grad(lambda x: np.sum(x * np.exp(x)))
    outside.TROUBLE[:] = ["", "abort", "abort", "abort", "abort", "abort"]
    x = np.linspace(0.0, 1.0, 5)
    first = gradient(x)
    tiers.join()
    assert jobs[0].fatal
    assert bits(gradient(x)) == bits(first)
    np.testing.assert_allclose(first, (1.0 + x) * np.exp(x))


def test_code_that_this_process_cannot_load_is_compiled_in_the_usual_way(jobs, monkeypatch):
    monkeypatch.setattr("diffjit.lowering.calls.machinecode.load", lambda _made: None)
    gradient = dj.grad(lambda x: np.sum(x * np.cos(x)))
    x = np.linspace(0.0, 1.0, 5)
    first = gradient(x)
    tiers.join()
    assert jobs[0].failed
    assert bits(gradient(x)) == bits(first)


def test_what_goes_wrong_beside_is_made_again_where_it_is_seen(jobs, monkeypatch):
    gradient = dj.grad(lambda x: np.sum(x * np.cosh(x)))
    x = np.linspace(0.0, 1.0, 5)
    with monkeypatch.context() as broken:
        broken.setattr("diffjit.lowering.calls.machinecode.keep", lambda *_: 1 / 0)
        first = gradient(x)
        tiers.join()
    assert isinstance(jobs[0].error, ZeroDivisionError)
    assert bits(gradient(x)) == bits(first)
    assert dj.grad(lambda x: np.sum(x * x))(x).tolist() == (2.0 * x).tolist()  # the thread goes on
    tiers.join()
    assert jobs[1].ready is not None


def test_programs_of_one_text_share_the_fast_code(jobs):
    gradients = [dj.grad(lambda x: np.sum(x * x * x)) for _ in range(2)]
    for gradient in gradients:
        assert gradient(np.ones(2)).tolist() == [3.0, 3.0]
    tiers.join()
    for gradient in gradients:
        assert gradient(np.ones(2)).tolist() == [3.0, 3.0]
    assert len({id(job) for job in jobs}) == 1


def test_threads_at_once(jobs):
    gradient = dj.grad(lambda x, y: np.sum(np.sin(x) * y))
    x, y = np.linspace(0.0, 1.0, 1000), np.ones(1000)
    found = [None] * 4

    def work(k):
        for _ in range(50):
            found[k] = gradient(x, y)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    tiers.join()
    for slopes in (*found, gradient(x, y)):
        np.testing.assert_array_equal(slopes, found[0])
    np.testing.assert_allclose(found[0], np.cos(x), rtol=1e-14)


def run(tmp_path, text, **environment):
    """A script in a process of its own."""
    (tmp_path / "script.py").write_text(textwrap.dedent(text))
    given = os.environ | {"PYTHONPATH": str(ROOT), "DIFFJIT_CACHE_DIR": str(tmp_path / "cache"), "DIFFJIT_TIERS": "1"}
    given |= environment
    return subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(tmp_path / "script.py")], env=given, capture_output=True, text=True, check=True, timeout=60
    ).stdout


SCRIPT = """
import os
import numpy as np
import diffjit as dj

def f(x):
    return np.sum(np.sin(x) * x)

gradient = dj.grad(f)
x = np.linspace(0.0, 1.0, 7)
print(gradient(x).tobytes().hex())
"""


def test_at_exit_the_fast_code_is_waited_for_and_found_by_the_next_process(tmp_path):
    first = run(tmp_path, SCRIPT)
    kept = [p for p in (tmp_path / "cache").iterdir() if p.suffix == ".manifest"]
    assert len(kept) == 1
    second = run(tmp_path, SCRIPT + "import sys\nprint('numba' in sys.modules)\n")
    assert second == first + "False\n"


HELPED = SCRIPT.replace("import os", "import helper")  # no line moves: texts name those of the user's
IMPATIENT = """
import threading
from diffjit.lowering.llvm import outside, tiers
tiers.AT_EXIT = 0.0
asked = outside.attempted
def slow(*args, beside=False):
    if beside:
        threading.Event().wait()
    return asked(*args, beside=beside)
outside.attempted = slow
"""
COUNTED = """
import os
from diffjit.lowering.llvm import outside
asked = outside.attempted
def counted(*args, beside=False):
    os.write(1, f"beside {beside}\\n".encode())  # at once: another thread prints, too
    return asked(*args, beside=beside)
outside.attempted = counted
"""


def spoken(text):
    """What was said: a thread may speak before another one has ended its line."""
    return [line for line in text.replace("beside", "\nbeside").split("\n") if line]


def test_where_fast_code_takes_long_the_next_process_goes_on_with_quick_code(tmp_path):
    helper = tmp_path / "helper.py"
    helper.write_text(IMPATIENT)
    first = run(tmp_path, HELPED)
    helper.write_text(COUNTED)
    again = run(tmp_path, HELPED)
    assert sorted(spoken(again)) == sorted([*first.split(), "beside True"]), "nothing is made quickly"
    assert len(list((tmp_path / "cache").glob("*.bin"))) == 1, "the fast code is there, and the quick one gone"
    assert run(tmp_path, HELPED) == first


def test_a_damaged_file_of_quick_code_is_made_anew(tmp_path):
    (tmp_path / "helper.py").write_text(IMPATIENT)
    first = run(tmp_path, HELPED)
    (kept,) = (tmp_path / "cache").glob("*.bin")
    kept.write_bytes(kept.read_bytes()[:-100])
    (tmp_path / "helper.py").write_text(COUNTED)
    assert sorted(spoken(run(tmp_path, HELPED))) == sorted(["beside False", "beside True", *first.splitlines()])


def test_a_forked_process_goes_on(tmp_path):
    forked = """
    child = os.fork()
    if child == 0:
        from diffjit.lowering.llvm import tiers
        tiers.join()
        again = gradient(x).tobytes().hex()
        os.write(1, (again + "\\n").encode())
        os._exit(0)
    os.waitpid(child, 0)
    """
    lines = run(tmp_path, SCRIPT.replace("print(", "print(", 1) + textwrap.dedent(forked)).split()
    assert len(lines) == 2
    assert lines[0] == lines[1]


def test_interrupts_reach_a_run_of_quick_code(monkeypatch):
    monkeypatch.setattr(dj.settings, "tiers", "light")

    def endless(x, n):
        total = 0.0
        for k in range(n):
            for i in range(len(x)):
                total += np.sin(x[i] * k)
        return total

    def handler(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, handler)
    gradient = dj.grad(endless)
    x = np.ones(1000)
    gradient(x, 1)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            gradient(x, 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_calls_with_other_layouts(jobs):
    def f(x, y):
        return np.sum(np.tanh(x * y))

    x, y = np.linspace(0.1, 1.0, 12).reshape(3, 4), np.ones((3, 4))
    along = np.linspace(1.0, 2.0, 48).reshape(3, 16)[:, ::4]
    wanted = np.sum(along / np.cosh(x) ** 2)
    for _ in range(2):
        for tangent in (along, np.ascontiguousarray(along), np.asfortranarray(along)):
            value, change = dj.jvp(f, (x, y), (tangent, np.zeros((3, 4))))
            np.testing.assert_allclose((value, change), (f(x, y), wanted), rtol=1e-14)
            pulled = dj.vjp(f, x, y)[1](1.0)
            np.testing.assert_allclose(pulled[0], y / np.cosh(x) ** 2, rtol=1e-14)
        tiers.join()
    assert jobs
    assert all(job.ready is not None for job in jobs)


def grows(x):
    """Its tapes are lists: nobody knows beforehand how often it turns."""
    while np.sum(x) < 10.0:
        x = x * x + 0.5
    return x


SLOPE = [2.0 * 1.5 * 2.0 * 1.0, 3.0 * 2.0 * 2.75]


def test_tapes_of_quick_code_are_read_by_any(jobs):
    x = np.array([1.0, 1.5])
    _, early = dj.vjp(grows, x)
    first = early(np.ones(2))
    np.testing.assert_allclose(first[0], SLOPE, rtol=1e-14)
    tiers.join()
    assert len(jobs) == 2
    assert all(job.ready is not None for job in jobs)
    _, late = dj.vjp(grows, x)
    for pullback in (early, late, early):
        assert bits(pullback(np.ones(2))) == bits(first)


def test_tapes_of_code_that_was_compiled_again_stay_readable(jobs, monkeypatch):
    def shrinks(x):
        while np.sum(x) > 1.0:
            x = x * x * 0.25
        return x

    monkeypatch.setattr("diffjit.lowering.calls.machinecode.load", lambda _made: None)
    x = np.array([1.0, 1.5])
    _, early = dj.vjp(shrinks, x)
    tiers.join()
    _, late = dj.vjp(shrinks, x)  # compiled anew: there is no fast code that can be loaded
    gc.collect()
    for pullback in (early, late, early):
        np.testing.assert_allclose(pullback(np.ones(2))[0], 0.5 * x, rtol=1e-14)
    assert any(job.failed for job in jobs)
    del early, late, pullback
    gc.collect()


def test_tapes_outlive_what_made_them(jobs):
    def program(power):
        def raised(x):
            parts = []
            while np.sum(x) < 10.0:
                parts.append(np.sin(x) ** power)
                x = x * x + 0.5
            return x + sum(parts)

        return raised

    x = np.array([1.0, 1.5])
    pullbacks = [dj.vjp(program(k), x)[1] for k in (2, 3)]
    tiers.join()
    gc.collect()
    for power, pullback in zip((2, 3), pullbacks, strict=True):
        wanted = difference_quotients(program(power), x)
        np.testing.assert_allclose(pullback(np.ones(2))[0], wanted, rtol=1e-6)
    assert jobs


def difference_quotients(function, x, step=1e-6):
    return [np.sum(function(x + step * e) - function(x - step * e)) / (2.0 * step) for e in np.eye(len(x))]


def test_quick_code_that_stays_ends_with_its_program(monkeypatch):
    monkeypatch.setattr(dj.settings, "tiers", "light")
    made = []
    monkeypatch.setattr(tiers, "begin", made.append)
    gradient = dj.grad(lambda x: np.sum(x * np.arctan(x)))
    gradient(np.ones(2))
    jobs = [weakref.ref(job) for job in made]
    assert jobs
    made.clear()
    del gradient
    shared.forget()
    gc.collect()  # the program, whose end lets go of what was compiled
    gc.collect()
    assert [job() for job in jobs] == [None]
