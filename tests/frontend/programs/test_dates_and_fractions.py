"""Dates, decimals and fractions never change: what is done with them is done while a program is specialised."""

import datetime as dt
import decimal
import math
from datetime import date, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["numba", "python"]
STEP, DAY, NOON = timedelta(hours=6), date(2021, 2, 3), dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
EAST = timezone(timedelta(hours=2))
THIRD, HALF, PRICE = Fraction(1, 3), Fraction(1, 2), Decimal("1.25")
HOURS, PARTS = 2.5, 5
MODEL = SimpleNamespace(step=STEP, end=date(2022, 1, 1))


def stepped(x):
    steps = MODEL.step.total_seconds() / 3600.0
    for gap in (STEP, 2 * STEP, timedelta(hours=HOURS)):
        x = x + math.sin(x) * gap.total_seconds() / MODEL.step.total_seconds()
    return x * steps + x * (MODEL.end - DAY).days + x * (STEP // timedelta(hours=4)) + x * (-STEP).days


def dated(x):
    season = 1.0 if DAY.replace(month=6).weekday() == 3 else 2.0
    later = DAY + timedelta(days=30)
    return season * x**2 + x * later.month * later.timetuple().tm_yday + x * NOON.astimezone(EAST).hour


def weighted(x):
    return THIRD * x + x**HALF - x / THIRD + THIRD**x + x * float(Fraction(1, PARTS) + HALF) + x * round(THIRD * 10)


def rounded(x):
    tax = (PRICE * 2 - Decimal("0.1")).quantize(Decimal("0.1"))
    return x * float(tax) + x**2 * float(abs(-PRICE)) + x * int(PRICE)


def chosen(x):
    return x**3 * (HALF if x > THIRD else 1) + (x if x < PRICE else x * x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [stepped, dated, weighted, rounded, chosen])
def test_values_and_derivatives(f, backend):
    for x in (0.2, 0.7, 1.6):
        assert dj.jit(f, backend=backend)(x) == pytest.approx(f(x), rel=1e-14)
        slope = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
        gradient = dj.grad(f, backend=backend)
        assert gradient(x) == pytest.approx(slope, rel=1e-7)
        assert dj.jvp(f, (x,), (2.0,), backend=backend)[1] == pytest.approx(2 * slope, rel=1e-7)
        bend = (gradient(x + 1e-5) - gradient(x - 1e-5)) / 2e-5
        assert dj.hvp(f, (x,), (1.0,), backend=backend) == pytest.approx(bend, rel=1e-7, abs=1e-9)


def orders(x, exact):
    return [x < exact, x <= exact, x > exact, x >= exact, x == exact, x != exact,
            exact < x, exact <= x, exact > x, exact >= x, exact == x, exact != x]  # fmt: skip


@pytest.mark.parametrize("exact", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), Decimal("0.1"), Decimal("0.3")])
def test_comparisons_with_what_lies_between_two_floats(exact):
    compiled = dj.jit(lambda x: orders(x, exact))
    near = float(exact)
    for x in (near, math.nextafter(near, 0.0), math.nextafter(near, 1.0), math.inf):
        assert compiled(x) == orders(x, exact)


@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_has_no_order_among_decimals(backend):
    f = dj.jit(lambda x: x if x < PRICE else 2 * x, backend=backend)
    with pytest.raises(decimal.InvalidOperation):
        f(math.nan)


def test_equal_is_not_the_same(monkeypatch):
    f = dj.grad(lambda x: x * NOON.hour + x * len(str(PRICE)))
    assert f(1.0) == 12 + 4
    monkeypatch.setitem(globals(), "NOON", NOON.astimezone(EAST))
    assert f(1.0) == 14 + 4
    monkeypatch.setitem(globals(), "PRICE", Decimal("1.250"))
    assert f(1.0) == 14 + 5


def test_what_they_are_made_of_is_read_afresh(monkeypatch):
    f = dj.grad(lambda x: x * Fraction(1, PARTS) + x * timedelta(hours=HOURS).total_seconds())
    assert f(1.0) == pytest.approx(0.2 + 9000)
    monkeypatch.setitem(globals(), "PARTS", 4)
    monkeypatch.setitem(globals(), "HOURS", 1)
    assert f(1.0) == pytest.approx(0.25 + 3600)


def test_decimals_are_rounded_as_the_context_says():
    f = dj.grad(lambda x: x * float(PRICE / 3))
    assert f(1.0) == float(PRICE / 3)
    with decimal.localcontext() as context:
        context.prec = 3
        assert f(1.0) == 0.417
    assert f(1.0) == float(PRICE / 3)


def narrowed(x):
    with decimal.localcontext() as context:
        context.prec = 3
        return x * float(PRICE / 3)


CONTEXT = decimal.Context(prec=5)


def set_outside(x):
    CONTEXT.prec = 3
    return x * float(PRICE / 3)


@pytest.mark.parametrize("f", [narrowed, set_outside])
def test_a_context_that_the_program_sets_is_refused(f):
    with pytest.raises(dj.DiffjitError, match=r"DJ118|DJ127"):
        dj.grad(f)(1.0)


def test_python_raises_so_does_the_program():
    def day_of(x):
        try:
            return x * date(2020, 1, 40).day
        except ValueError:
            return 3 * x

    def divided(x):
        return x * float(PRICE / 0) if x > 1.0 else x

    assert dj.grad(day_of)(1.0) == 3.0
    assert dj.grad(divided)(0.5) == 1.0
    with pytest.raises(decimal.DivisionByZero):
        dj.grad(divided)(2.0)


def test_clocks_are_no_constants():
    with pytest.raises(dj.DiffjitError, match="DJ131"):
        dj.grad(lambda x: x * dt.datetime.now(tz=EAST).toordinal())(1.0)


class Money(Decimal):
    """A class of the user's, of which Python's operators know more than is followed."""


COST = Money("1.5")


@pytest.mark.parametrize("f", [lambda x: x * float(COST * 2), lambda x: x * float(-COST)], ids=["product", "negative"])
def test_operators_without_source(f):
    with pytest.raises(dj.NoRule, match=r"`Decimal.__(mul|neg)__`"):
        dj.grad(f)(1.0)


def test_fractions_beside_arrays_are_refused():
    with pytest.raises(dj.DiffjitError, match="DJ301"):
        dj.grad(lambda x: np.sum(x * THIRD))(np.ones(2))


def test_numpy_makes_numbers_of_those_that_are_assigned():
    def stored(x):
        a, b, c = np.zeros(4), np.zeros(2, np.int64), np.zeros(1, complex)
        a[0], a[1:3], a[3] = THIRD, PRICE, x
        b[0], b[1] = Fraction(2**60 + 1), Fraction(-7, 2)
        c[...] = HALF
        return np.sum(a * a), b, c

    for found, wanted in zip(dj.jit(stored)(1.3), stored(1.3), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert dj.grad(lambda x: stored(x)[0], backend="python")(1.3) == 2.6
