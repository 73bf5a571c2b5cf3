"""Parts of solvers that a program is made without until a run needs them."""

import numpy as np
import pytest
from scipy.integrate import odeint
from scipy.optimize import fsolve

import diffjit as dj
from diffjit import rare
from diffjit.api.engine.engine import program_of
from diffjit.ir.walk import walk

TIMES = np.linspace(0.0, 2.0, 5)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nobody has asked for whole programs."""
    for part in rare.PARTS:
        monkeypatch.setattr(part, "asked", False)


def fall(y, t, rate):
    return -rate * (y - np.cos(t))


def end(rate):
    return odeint(fall, 0.5, TIMES, args=(rate,))[-1, 0]


def size(function, *args):
    return sum(1 for _ in walk(program_of(function, args, {}).function.body))


def compared(found, rate):
    """The solution of this linear equation is known: y = (k k cos t + k sin t) / (1 + k k) + c exp(-k t)."""

    def exact(k):
        start = 0.5 - k * k / (1.0 + k * k)
        return (k * k * np.cos(2.0) + k * np.sin(2.0)) / (1.0 + k * k) + start * np.exp(-2.0 * k)

    value, slope = found
    h = 1e-5 * rate
    assert value == pytest.approx(exact(rate), rel=1e-6)
    assert slope == pytest.approx((exact(rate + h) - exact(rate - h)) / (2 * h), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_a_run_needs_is_there_in_the_next(backend):
    found = dj.value_and_grad(end, backend=backend)
    compared(found(3.0), 3.0)
    assert not rare.Stiff.asked
    compared(found(3e4), 3e4)
    assert rare.Stiff.asked
    compared(found(3.0), 3.0)


def test_other_verbs_go_on_as_well():
    value, pull = dj.vjp(end, 3e4, backend="python")
    compared((value, pull(1.0)[0]), 3e4)
    rare.Stiff.asked = False
    compared(dj.jvp(end, (3e4,), (1.0,), backend="python"), 3e4)


@pytest.mark.slow
def test_lanes_go_on_as_well():
    rates = np.array([2.0, 3e4])
    for value, slope, rate in zip(*dj.vmap(dj.value_and_grad(end))(rates), rates, strict=True):
        compared((value, slope), rate)


def test_a_program_without_it_is_shorter():
    short = size(end, 3.0)
    assert "without the method for stiff equations" in dj.source(end, 3.0)
    with rare.whole():
        assert size(end, 3.0) > 2 * short


def of_other_units(a):
    """Roots of two equations whose numbers are 24 powers of ten apart."""
    x = fsolve(lambda x: [1e12 * (x[0] ** 2 - a), 1e-12 * (x[1] - x[0] * a)], [1.0, 1.0])
    return x[1]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_matrices_are_balanced_where_it_matters(backend):
    mild = lambda a: fsolve(lambda x: [x[0] ** 2 - a, x[1] - x[0] * a], [1.0, 1.0])[1]
    assert dj.grad(mild, backend=backend)(2.0) == pytest.approx(1.5 * 2.0**0.5, rel=1e-9)
    assert rare.asked() == (False, False)
    assert dj.grad(of_other_units, backend=backend)(2.0) == pytest.approx(1.5 * 2.0**0.5, rel=1e-9)
    assert rare.asked() == (False, True)


def keeps_a_note(rate, note):
    note[0] += 1.0
    return end(rate)


def prints(rate):
    print("begun")  # noqa: T201
    return end(rate)


def test_nothing_happens_twice(capsys):
    note = np.zeros(1)
    compared(dj.value_and_grad(end, backend="python")(3.0), 3.0)
    slope = dj.grad(keeps_a_note, backend="python")(3e4, np.zeros(1))
    compared((dj.jit(keeps_a_note, backend="python")(3e4, note), slope), 3e4)
    assert note[0] == 1.0
    compared(dj.value_and_grad(prints, backend="python")(3e4), 3e4)
    assert capsys.readouterr().out == "begun\n"
    assert not rare.Stiff.asked


def says(a):
    print("begun")  # noqa: T201
    return of_other_units(a)


@dj.custom_vjp
def tells(x):
    return of_other_units(x)


def tells_back(kept, bar):
    print("back")  # noqa: T201
    return (bar * kept,)


tells.defvjp(lambda x: (of_other_units(x), x), tells_back)


def test_nothing_happens_twice_where_a_rule_lacks_the_part(capsys):
    assert dj.grad(says, backend="python")(2.0) == pytest.approx(1.5 * 2.0**0.5, rel=1e-9)
    assert capsys.readouterr().out == "begun\n"
    f = lambda x: tells(x) + of_other_units(x)
    assert dj.grad(f, backend="python")(2.0) == pytest.approx(2.0 + 1.5 * 2.0**0.5, rel=1e-9)
    assert capsys.readouterr().out == "back\n"
    assert rare.asked() == (False, False)


def test_no_handler_of_the_user_sees_it():
    assert not issubclass(rare.Needed, Exception)

    def guarded(rate):
        try:
            if rate < 0.0:
                raise ValueError("negative")
        except BaseException:  # noqa: BLE001
            return 0.0
        return end(rate)

    compared(dj.value_and_grad(guarded, backend="python")(3e4), 3e4)
