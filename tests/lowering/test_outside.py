"""LLVM in a second process: what ends it there does not end this one."""

import importlib
import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import threading
from functools import partial

import llvmlite.binding as llvm
import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.llvm import optimiser, outside, vectors
from diffjit.lowering.text import nests
from tests.fuzz import check, generate

pytestmark = pytest.mark.skipif(os.name != "posix", reason="compiled in this process")

PROCESSORS = ("x86-64", "haswell", "skylake-avx512", "znver4")  # the first is what Numba calls generic
KINDS = ("abort", "kill", "hang 0.05")


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """Nothing is found on disk, no trouble is left over."""
    monkeypatch.setattr(dj.settings, "cache_dir", str(tmp_path))
    monkeypatch.setattr(dj.settings, "cache_mb", 0)
    monkeypatch.setattr(dj.settings, "backend", "numba")
    monkeypatch.setattr(dj.settings, "isolate", True)
    monkeypatch.setattr(outside, "TROUBLE", [])


def program(tmp_path, body, name="f(x)"):
    """A function that no other test compiles, from a file of its own."""
    number = len(list(tmp_path.glob("program_*.py")))
    path = tmp_path / f"program_{number}.py"
    path.write_text(f"import numpy as np\n\ndef {name}:\n{textwrap.indent(body, '    ')}\n")
    spec = importlib.util.spec_from_file_location(f"{tmp_path.name}_{number}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_passes_where_llvm_dies(tmp_path, kind):
    x = np.linspace(0.0, 1.0, 21)
    for times in range(1, 5):
        f = program(tmp_path, f"return np.sum(np.sin(x) * {times}.0 * x)")
        outside.TROUBLE[:] = [kind] * times
        np.testing.assert_allclose(dj.grad(f)(x), times * (np.cos(x) * x + np.sin(x)), rtol=1e-13)
        assert not outside.TROUBLE


def test_what_llvm_never_survives_is_an_error_at_the_function(tmp_path):
    f = program(tmp_path, "y = np.cos(x)\nreturn np.sum(y * y * y)")
    outside.TROUBLE[:] = ["abort"] * 5
    gradient = dj.grad(f)
    with pytest.raises(dj.DiffjitError, match="DJ902") as caught:
        gradient(np.ones(3))
    assert caught.value.loc.file == f.__code__.co_filename
    assert caught.value.loc.line == 3
    assert "Assertion `tested' failed" in str(caught.value)
    np.testing.assert_allclose(gradient(np.ones(3)), -3 * np.cos(1.0) ** 2 * np.sin(1.0) * np.ones(3))


def test_many_remarks_stop_nothing(tmp_path):
    f = program(tmp_path, "return np.sum(x * x * x)")
    outside.TROUBLE[:] = ["chatter"]
    assert dj.grad(f)(np.array([1.0, 2.0])).tolist() == [3.0, 12.0]


def test_one_that_has_ended_meanwhile_is_replaced(tmp_path):
    for number in range(2):
        f = program(tmp_path, f"return np.sum(x * x) * {number}.0")
        assert dj.grad(f)(np.array([1.0, 2.0])).tolist() == [2.0 * number, 4.0 * number]
        second = outside._state.second
        os.kill(second.process.pid, signal.SIGKILL)
        second.process.wait()


def test_without_it(tmp_path, monkeypatch):
    monkeypatch.setattr(dj.settings, "isolate", False)
    outside.stop()
    f = program(tmp_path, "return np.sum(x * x) / 2.0")
    assert dj.grad(f)(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert outside._state.second is None


def test_where_it_cannot_be_started_that_is_said_once(tmp_path, monkeypatch):
    outside.stop()
    monkeypatch.setattr(outside._state, "usable", True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    f = program(tmp_path, "return np.sum(x * x) / 4.0")
    with pytest.warns(RuntimeWarning, match="cannot be started") as seen:
        assert dj.grad(f)(np.array([1.0, 2.0])).tolist() == [0.5, 1.0]
    assert len(seen) == 1


def test_an_interrupt_while_llvm_works(tmp_path):
    f = program(tmp_path, "return np.sum(x * np.exp(x))")
    gradient, before = dj.grad(f), signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background are born deaf to it
    outside.TROUBLE[:] = ["hang 60"]
    timer = threading.Thread(target=interrupt_when_asked)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            gradient(np.zeros(2))
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert outside._state.second is None
    assert gradient(np.zeros(2)).tolist() == [1.0, 1.0]


def interrupt_when_asked():
    """Ctrl-C, as soon as the second process has got its request."""
    pause = threading.Event()
    while outside.TROUBLE:
        pause.wait(0.05)
    pause.wait(0.3)
    os.kill(os.getpid(), signal.SIGINT)


def test_threads_compile_at_once(tmp_path):
    functions = [program(tmp_path, f"return np.sum(x * x) * {k}.5") for k in range(4)]
    found = [None] * 4

    def work(k):
        found[k] = dj.grad(functions[k])(np.ones(2)).tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[2 * k + 1.0] * 2 for k in range(4)]


# Processes ------------------------------------------------------------------------------------------------------------

START = """
import os, sys
import llvmlite.binding as llvm
import numpy as np
import diffjit as dj
from diffjit.lowering.llvm import outside

def f(x):
    return np.sum(x * x)

def g(x):
    return np.sum(x * x * x)

def pid():
    return outside._state.second.process.pid

"""


def start(tmp_path, text, **options):
    """A process of its own, where warnings are errors, and files left open are told of."""
    path = tmp_path / "started.py"
    path.write_text(START + textwrap.dedent(text))
    environment = {**os.environ, "DIFFJIT_CACHE_DIR": str(tmp_path / "cache"), "DIFFJIT_ISOLATE": "1"}
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-X", "dev", "-W", "ignore::DeprecationWarning", str(path)],
        env=environment, text=True, check=False, timeout=300, **{"capture_output": True, **options},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def gone(pid):
    """Whether a process has ended (one that is still there is waited for)."""
    pause = threading.Event()
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        pause.wait(0.05)
    return False


def test_nothing_stays_behind_at_the_end(tmp_path):
    done = start(tmp_path, "dj.grad(f)(np.ones(2)); print(pid())")
    assert gone(int(done.stdout))
    assert "Warning" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_starts_its_own(tmp_path):
    text = """
    dj.grad(f)(np.ones(2))
    first = pid()
    child = os.fork()
    if not child:
        assert dj.grad(g)(np.ones(2)).tolist() == [3.0, 3.0] and pid() != first
        print(pid(), flush=True)
        outside.stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert dj.grad(g)(np.ones(2)).tolist() == [3.0, 3.0] and pid() == first
    print(first)
    """
    done = start(tmp_path, text)
    assert all(gone(int(pid)) for pid in done.stdout.split())
    assert "ResourceWarning" not in done.stderr


def test_a_process_that_dies_takes_it_along(tmp_path):
    done = start(tmp_path, "dj.grad(f)(np.ones(2)); print(pid(), flush=True); os._exit(0)")
    assert gone(int(done.stdout))


def test_standard_files_may_be_closed(tmp_path):
    text = """
    for k in range(3):
        os.close(k)
    answer = dj.grad(f)(np.ones(2)).tolist()
    with open("answer", "w") as out:
        out.write(repr(answer))
    os._exit(0)
    """
    start(tmp_path, text, cwd=tmp_path)
    assert (tmp_path / "answer").read_text() == "[2.0, 2.0]"


# Loops ----------------------------------------------------------------------------------------------------------------


class Compiled(BaseException):
    """It need not run."""


def bitcode(monkeypatch, build):
    """What is asked of the second process for the first program that `build` compiles."""
    asked = []

    def take(*request):
        asked.append(request)
        raise Compiled

    with monkeypatch.context() as patch:
        patch.setattr(outside, "object_code", take)
        with pytest.raises(Compiled):
            build()
    return asked[0]


def processor(wanted, name):
    """The same for a processor."""
    return {**wanted, "machine": {**wanted["machine"], "cpu": name, "features": ""}}


def levels(code, wanted):
    """At which attempt LLVM survives, and the object."""
    for level, passes in enumerate(outside._cautious(wanted)):
        try:
            answer = outside._answer(outside._state, json.dumps({**passes, "trouble": ""}).encode(), code)
        except outside._Ended:
            continue
        assert answer[:1] == b"o"
        return level
    return 5


def reversed_views(a, b, m):
    """LLVM's two models of costs disagreed on the loop that computes the cosine of huge arguments."""
    b[1:-1] += np.sin(b[::-1] + np.where(a[::-1] > 0.1, m[1], b[::-1]))[1:-1]
    return np.sum(a * np.arange(1.0, 6.0)) + np.sum(np.sin(b))


def differentiated():
    """Compile the derivative of `reversed_views`."""
    r = np.random.default_rng(0)
    return dj.grad(reversed_views, argnums=(0, 1, 2))(r.normal(size=5), r.normal(size=5), r.normal(size=(3, 5)))


@pytest.mark.parametrize("name", PROCESSORS)
def test_loops_that_hardly_ever_run_are_left_alone(monkeypatch, name):
    code, wanted = bitcode(monkeypatch, differentiated)
    assert levels(code, processor(wanted, name)) == 0


def test_a_loop_on_which_llvm_dies_is_told_its_lanes(monkeypatch):
    monkeypatch.setattr(nests, "SCALAR", nests.PARALLEL)
    code, wanted = bitcode(monkeypatch, differentiated)
    assert {levels(code, processor(wanted, name)) for name in PROCESSORS} <= {0, 1}


def test_told_lanes_reorder_no_sum(tmp_path):
    body = "s = 0.0\nfor i in range(x.size):\n    s += x[i] * x[i]\nreturn s"
    x = np.random.default_rng(1).normal(size=1001)
    expected = program(tmp_path, body)(x)
    outside.TROUBLE[:] = ["abort"]
    assert dj.jit(program(tmp_path, body))(x) == expected


def test_sizes_of_elements(tmp_path, monkeypatch):
    noted = []
    plain = vectors.note
    monkeypatch.setattr(vectors, "note", lambda module: (plain(module), noted.append(str(module))))

    def sizes(body, *arguments):
        noted.clear()
        bitcode(monkeypatch, lambda: dj.jit(program(tmp_path, body, "f(a, out)"))(*arguments))
        return {int(line.split("i32 ")[1].split()[0]) for line in "".join(noted).splitlines() if vectors.WIDEST in line}

    body = "for i in range(a.size):\n    out[i] = a[i] * a[i]\nreturn out"
    assert sizes(body, np.ones(9), np.ones(9)) == {8}
    assert 4 in sizes(body, np.ones(9, np.float32), np.ones(9, np.float32))
    assert sizes(body, np.ones(9, np.float32), np.ones(9)) == {8}


@pytest.mark.slow
def test_random_programs_for_every_processor(monkeypatch):
    survived = [0] * 6
    for seed in range(7_000_000, 7_000_012):
        try:
            made, _, _ = check.prepare(generate.from_seed(seed), seed)
        except check.Discarded:
            continue
        try:
            code, wanted = bitcode(monkeypatch, partial(dj.grad(made.module.fixed, argnums=(0, 1)), *made.arguments()))
        except dj.DiffjitError:
            continue
        for name in PROCESSORS:
            survived[levels(code, processor(wanted, name))] += 1
    assert sum(survived) >= 16
    assert survived[2:] == [0] * 4, survived


@pytest.mark.skipif(sys.platform != "linux" or struct.calcsize("P") != 8, reason="objects are read as ELF")
def test_the_object_is_kept_for_other_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(dj.settings, "cache_mb", 100)
    f = program(tmp_path, "return np.sum(x * x) * 8.0")
    assert dj.grad(f)(np.ones(2)).tolist() == [16.0, 16.0]
    assert list(tmp_path.glob("*.bin"))


LOOP_WITH_A_TEST = """
declare void @first(i64)
declare void @second(i64)
define void @f(i64 %n, i1 %which) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %behind ]
  br i1 %which, label %one, label %other
one:
  call void @first(i64 %i)
  br label %behind
other:
  call void @second(i64 %i)
  br label %behind
behind:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


def test_loops_of_large_modules_are_not_copied_for_tests_in_them():
    """The search for these takes LLVM minutes in functions of 100,000 instructions."""
    passes = [{"level": 0, "loops": False, "straight": False}, {"level": 3, "loops": True, "straight": False}]
    wanted = {"triple": llvm.get_process_triple(), "machine": {"opt": 3}, "passes": passes, "rotate": True}
    wanted |= {"lanes": False, "references": 0, "form": "llvm"}
    bitcode = llvm.parse_assembly(LOOP_WITH_A_TEST, llvm.create_context()).as_bitcode()
    found = {}
    for large in (len(bitcode), len(bitcode) - 1):
        limits = {"large": large, "giant": optimiser.GIANT}
        found[large] = optimiser.object_code(llvm, bitcode, {**wanted, **limits}).decode().count(" = phi ")
    assert list(found.values()) == [2, 1]


X = np.linspace(0.1, 0.8, 6)


def giant(x, k):
    total, seen = 0.0, []
    for i in range(x.size):
        if x[i] > k:
            break
        seen.append(np.sin(x[i]) * x[: i + 1])
        total += np.sum(seen[-1] * x[i])
    return total + np.sum(seen[0]) * k


def test_functions_that_llvm_does_not_get_through_are_left_as_they_are(monkeypatch):
    """An old llvmlite cannot say so, and does as little for all functions of the module."""
    wanted = dj.value_and_grad(giant, argnums=(0, 1))(X, 0.9)
    second = dj.hessian(giant)(X, 0.9)
    dj.clear_cache()
    monkeypatch.setattr(optimiser, "LARGE", 0)
    monkeypatch.setattr(optimiser, "GIANT", 100)
    if optimiser._may_leave(llvm):
        assert "optnone" in dj.source(dj.grad(giant), X, 0.9, stage="llvm")
    found = dj.value_and_grad(giant, argnums=(0, 1))(X, 0.9)
    for a, b in zip((wanted[0], *wanted[1]), (found[0], *found[1]), strict=True):
        assert a == pytest.approx(b, rel=1e-14)
    assert second == pytest.approx(dj.hessian(giant)(X, 0.9), rel=1e-13)
    with pytest.raises(IndexError) as raised:
        dj.grad(giant)(X, -1.0)
    assert f", line {giant.__code__.co_firstlineno + 7}, in" in "".join(raised.value.__notes__)
