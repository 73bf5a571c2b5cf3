"""Mistakes in diffjit itself are told as such, with the user's line, wherever they happen."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.api import gradients
from diffjit.api.engine import engine
from diffjit.lowering.llvm import emission
from diffjit.lowering.text import source


def loss(x):
    y = np.sin(x)
    return np.sum(y * x)


class Fault(KeyError):
    """Stands for a mistake."""


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (engine, "specialise"),
        (engine, "finish"),
        (engine, "numbers"),
        (source.LoweredPrinter, "statements"),
        (emission.Lower, "lower_getitem"),
    ],
)
def test_a_fault_anywhere_is_an_internal_error(owner, name, monkeypatch):
    def fail(*_args, **_kwargs):
        raise Fault(name)

    assert gradients is not None
    monkeypatch.setattr(owner, name, fail)
    monkeypatch.setattr(dj.settings, "cache_mb", 0)
    monkeypatch.setattr(dj.settings, "full_tracebacks", True)
    with pytest.raises(dj.errors.InternalError) as caught:
        dj.grad(loss)(np.array([0.3, 0.7, 1.1, 1.9, 2.3]))
    error = caught.value
    assert error.code == "DJ901"
    assert error.loc is not None
    assert error.loc.file == __file__
    assert error.__cause__ is not None
    assert name in str(error)


def test_the_line_is_that_of_the_operation(monkeypatch):
    plain = source.LoweredPrinter.statements

    def fail(self, op, args, outs):
        if op.kind != "const":
            message = "a fault"
            raise AssertionError(message)
        return plain(self, op, args, outs)

    monkeypatch.setattr(source.LoweredPrinter, "statements", fail)
    monkeypatch.setattr(dj.settings, "full_tracebacks", True)
    with pytest.raises(dj.errors.InternalError) as caught:
        dj.grad(loss)(np.array([0.3, 0.7, 1.1, 1.9, 2.3]))
    assert caught.value.loc.line in (loss.__code__.co_firstlineno + 1, loss.__code__.co_firstlineno + 2)
    assert isinstance(caught.value.__cause__, AssertionError)


@pytest.mark.parametrize("pattern", [3, None, np.ones((2, 2))])
def test_colours_of_what_is_no_pattern(pattern):
    with pytest.raises(dj.DiffjitError, match=r"DJ521.*sparse matrix"):
        dj.column_colors(pattern)
