"""Errors show the user's frames and the message: nothing of diffjit, Numba or llvmlite."""

import os
import subprocess
import sys
import threading
import traceback
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

import diffjit as dj
from diffjit.api.engine import engine
from diffjit.lowering.llvm import emission

OURS = f"{Path(dj.__file__).parent}{os.sep}"
LONGEST = 14  # lines of what is printed, with the note or excerpt that shows the user's line


class Refused(Exception):
    """Raised by a program of the user's."""


def beyond(x):
    return x[5] * x[0]


def divided(x):
    return x[0] ** 2 * (7 // int(x[1] > 100.0))


def refusing(x):
    if x[0] > -1.0:
        raise Refused("no such x")
    return x[0] ** 2


LOCK = threading.Lock()


def opened(x):
    with LOCK:
        return x[0] * x[0]


def ruleless(x):
    return np.sum(scipy.linalg.hessenberg(np.outer(x, x)))


def vector(x):
    return x * x


def misshapen(x):
    return np.sum(np.reshape(x, (2, 2)) ** 2)


def asking(x):
    return x[0].nothing


def square(x):
    return np.sum(x * x)


def helper(x):
    raise Refused("from a function of the user's")


called_back = dj.foreign(helper, result=float)


def calling(x):
    return called_back(x)


X = np.ones(3)
UNIT = ((X,), (X,))
FAULTS = {
    "index": (beyond, IndexError),
    "division": (divided, ZeroDivisionError),
    "raise": (refusing, Refused),
    "syntax": (opened, dj.UnsupportedSyntax),
    "no rule": (ruleless, dj.NoRule),
    "shapes": (misshapen, ValueError),
    "attribute": (asking, dj.TypeProblem),
}
VERBS = {
    "jit": lambda f: partial(dj.jit(f), X),
    "grad": lambda f: partial(dj.grad(f), X),
    "value_and_grad": lambda f: partial(dj.value_and_grad(f), X),
    "jvp": lambda f: partial(dj.jvp, f, *UNIT),
    "vjp": lambda f: partial(dj.vjp, f, X),
    "linearize": lambda f: partial(dj.linearize, f, X),
    "jet": lambda f: partial(dj.jet, f, (X,), ([X],)),
    "jacobian": lambda f: partial(dj.jacobian(f), X),
    "hessian": lambda f: partial(dj.hessian(f), X),
    "hvp": lambda f: partial(dj.hvp, f, *UNIT),
    "vmap": lambda f: partial(dj.vmap(f), np.ones((2, 3))),
    "sparse_jacobian": lambda f: partial(dj.sparse_jacobian(f), X),
    "sparsity": lambda f: partial(dj.sparsity(f), X),
    "checkpoint": lambda f: partial(dj.grad(dj.checkpoint(f)), X),
}
COMPILED = {"jit", "grad", "jvp", "vjp"}  # the others run as text, which costs no compilation


def raised(call):
    """The error of a call."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - what is looked at
        return error
    raise AssertionError("nothing was raised")


def frames(error):
    """The names of the functions in a traceback."""
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def lines(error):
    """What Python prints."""
    return "".join(traceback.format_exception(error)).splitlines()


def expect_short(error, *inside):
    """The caller's frames, and those of the user's functions that diffjit has called."""
    assert frames(error) == ["raised", "<lambda>", *inside], "\n".join(lines(error))
    printed = lines(error)
    assert len(printed) <= LONGEST + 4 * len(inside), "\n".join(printed)
    assert not any(OURS in line or "numba" in line or "llvmlite" in line for line in printed)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_frames(verb, fault, monkeypatch):
    function, cls = FAULTS[fault]
    if verb not in COMPILED:
        monkeypatch.setattr(dj.settings, "backend", "python")
    run = VERBS[verb](function)
    for _ in range(2):
        error = raised(lambda: run())  # noqa: PLW0108 - a frame of the caller's
        assert isinstance(error, cls)
        if verb in COMPILED:
            expect_short(error)
            continue
        assert frames(error)[:2] == ["raised", "<lambda>"]
        rest = traceback.extract_tb(error.__traceback__)[2:]
        # A text of backend="python" that raises is shown, with its line, and so is what it calls.
        assert not rest or rest[0].filename.startswith("<diffjit "), rest
        assert not any(OURS in frame.filename for frame in rest)
        assert not any("raised inside diffjit" in line for line in lines(error))


MISTAKES = {
    "no function": lambda: dj.grad(3),
    "another argument": lambda: dj.grad(square, argnums=4)(X),
    "an int": lambda: dj.grad(lambda k: k * k)(3),
    "a vector": lambda: dj.grad(vector)(X),
    "no tuples": lambda: dj.jvp(square, X, X),
    "tangent of another shape": lambda: dj.jvp(square, (X,), (np.ones(2),)),
    "cotangent of another shape": lambda: dj.vjp(vector, X)[1](np.ones(2)),
    "axes": lambda: dj.vmap(square, in_axes=(0, 1))(X),
    "stage": lambda: dj.source(square, X, stage="spam"),
    "not linear": lambda: dj.linear_transpose(square, X),
    "not declared": lambda: dj.foreign(helper),
    "budget": lambda: dj.checkpointed(range(3), 0),
    "solver": lambda: dj.root(lambda x: x, 1.0, solver="spam"),
    "method": lambda: dj.odeint(lambda y, t: y, 1.0, np.ones(2), method="spam"),
    "unknown keyword": lambda: dj.grad(square, argnum=0),
    "arguments that are missing": lambda: dj.grad(square)(x=1),
    "memory": lambda: dj.memory(opened, X),
    "explain": lambda: dj.explain(opened, X),
    "wrong rule": lambda: dj.grad(dj.custom_jvp(square))(X),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_calls(mistake, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    for _ in range(2):
        error = raised(MISTAKES[mistake])
        assert isinstance(error, (dj.DiffjitError, TypeError))
        expect_short(error)


def test_frames_of_functions_that_diffjit_calls(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    expect_short(raised(lambda: dj.check_grads(refusing, (X,))), "refusing")
    expect_short(raised(lambda: dj.constant(helper)(X)), "helper")
    expect_short(raised(lambda: called_back(X)), "helper")
    expect_short(raised(lambda: dj.custom_jvp(helper)(X)), "helper")


def test_what_compiled_code_calls_back_keeps_its_frame():
    program = dj.jit(calling)
    for _ in range(2):
        expect_short(raised(lambda: program(X)), "helper")


def test_a_call_in_an_except_block_keeps_the_context():
    def call():
        try:
            {}["key"]
        except KeyError:
            dj.grad(opened)(X)

    error = raised(call)
    assert isinstance(error.__context__, KeyError)
    assert frames(error) == ["raised", "call"]
    assert frames(error.__context__) == ["call"]


def test_numbas_frames_are_hidden(monkeypatch):
    def fail(*_args, **_kwargs):
        raise KeyError("first line\nsecond line")

    monkeypatch.setattr(emission.Lower, "lower_getitem", fail)
    monkeypatch.setattr(dj.settings, "cache_mb", 0)
    error = raised(lambda: dj.grad(lambda x: np.sum(np.cos(x) * x))(X))
    expect_short(error)
    assert error.code == "DJ901"
    assert error.__cause__ is None
    assert "full_tracebacks" in str(error)
    monkeypatch.setattr(dj.settings, "full_tracebacks", True)
    error = raised(lambda: dj.grad(lambda x: np.sum(np.sin(x) * x))(X))
    assert error.__cause__ is not None
    assert len(lines(error)) > 60
    assert any("numba" in line for line in lines(error))


def test_the_cause_of_a_failure_is_a_line(monkeypatch):
    def fail(*_args, **_kwargs):
        raise ValueError("Failed in a pass\n\nwhat is wrong\nand where")

    monkeypatch.setattr(engine, "finish", fail)
    error = raised(lambda: dj.grad(square)(X))
    assert "ValueError: what is wrong\n" in str(error)
    assert "and where" not in str(error)


def test_what_nobody_meant_to_raise_names_its_place():
    """A mistake that is told as none says at least that it is none of the program's."""

    class Odd:
        tocsc = 3

    error = raised(lambda: dj.column_colors(Odd()))
    assert isinstance(error, TypeError)
    assert any("note: raised inside diffjit, at diffjit.api.coloring:" in line for line in lines(error))
    expect_short(error)


def test_all_frames(monkeypatch):
    short = raised(lambda: dj.grad(opened)(X))
    monkeypatch.setattr(dj.settings, "full_tracebacks", True)
    full = raised(lambda: dj.grad(opened)(X))
    assert len(frames(full)) > 5 * len(frames(short))
    assert str(full) == str(short)


SCRIPT = """
import threading
import diffjit as dj

lock = threading.Lock()

def model(x):
    with lock:
        return x * x

dj.grad(model)(1.0)
"""


@pytest.mark.parametrize("full", ["", "1"])
def test_in_a_plain_interpreter(full, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    known = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "DIFFJIT_FULL_TRACEBACKS": full}
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, script], env={**os.environ, **known}, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    printed = done.stderr.splitlines()
    assert any("[DJ101]" in line for line in printed)
    assert (len(printed) > 4 * LONGEST) if full else (len(printed) <= LONGEST)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_a_call_of_pythons_raises_is_the_programs(backend, tmp_path):
    path = tmp_path / "missing.txt"

    def scaled(x):
        return float(path.read_text()) * x

    error = raised(lambda: dj.grad(scaled, backend=backend)(1.0))
    assert isinstance(error, FileNotFoundError)
    assert not any("raised inside diffjit" in line for line in lines(error))
