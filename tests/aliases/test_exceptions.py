"""Exceptions that leave a program have the class, the arguments and the attributes that Python gives them."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


class Diverged(Exception):
    def __init__(self, step, residual):
        super().__init__(f"step {step}: {residual:.2f}")
        self.step, self.residual = step, residual


class Bounded(ValueError):
    def __init__(self, *, low, where=None):
        self.low, self.where = low, where

    def __str__(self):
        return f"below {self.low} at {self.where}"


class Plain(ArithmeticError):
    pass


def worded(x, k):
    if x > 0.3:
        raise Diverged(k, 2.0 * x)
    return x


def keywords(x, k):
    if x > 0.3:
        raise Bounded(low=k, where=(k, "here", [x]))
    return x


def several(x, k):
    if x > 0.3:
        raise Plain("a", k, x > 0.4, None, {"x": x})
    return x


def number(x, k):
    if x > 0.3:
        raise KeyError(k)
    return x


def asserted(x, k):
    if x > 0.3:
        raise AssertionError((k, "too large"))
    return x


def system(x, k):
    if x > 0.3:
        raise OSError(2, "no such thing", "file")
    return x * k


def array(x, k):
    if x > 0.3:
        raise Plain(np.array([x, 1.0]) * k)
    return x


def made_by_a_function():
    class Local(Plain):
        pass

    def inner(x, k):
        if x > 0.3:
            raise Local(k, "of a function")
        return x

    return inner


def held(function):
    """The exception that a call raises."""
    with pytest.raises(Exception) as raised:  # compared with Python's below
        function(0.5, 3)
    return raised.value


@BACKENDS
@pytest.mark.parametrize(
    "function",
    [worded, keywords, several, number, asserted, system, array, made_by_a_function()],
    ids=lambda function: function.__name__,
)
def test_what_an_exception_holds(function, backend):
    wanted = held(function)
    for verb in (dj.jit, dj.grad):
        error = held(verb(function, backend=backend))
        assert type(error) is type(wanted)
        assert repr(error.args) == repr(wanted.args)
        assert str(error) == str(wanted)
        own = {name: value for name, value in vars(error).items() if not name.startswith(("__", "diffjit_"))}
        assert own == vars(wanted)
    assert dj.grad(function, backend=backend)(0.2, 3) == pytest.approx(function(1.2e-1, 3) / 1.2e-1)


def test_a_text_without_the_class_has_its_ancestor():
    text = dj.source(dj.grad(made_by_a_function()), 0.5, 3)
    assert f"import {__name__}\nLocal = {__name__}.Plain\n" in text
    with pytest.raises(Plain, match="of a function") as raised:
        exec(text + "\ninner_grad(0.5, 3)\n", {})  # noqa: S102 - our own text
    assert raised.type is Plain
