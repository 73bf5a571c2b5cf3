"""Long loops over known items, as counted loops over tables: against plain Python and differences."""

# ruff: noqa: B905, PERF402, RUF007 - programs as people write them

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.objects import rows
from tests.containers.programs import check
from tests.containers.rows import Writer

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


@pytest.fixture
def always(monkeypatch):
    """Every loop that can be one over a table is one."""
    monkeypatch.setattr(rows, "LONG", 0)
    monkeypatch.setattr(rows, "FEW", 1)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 100))])
def test_random_programs(seed):
    outcome = check(seed, writer=Writer)
    assert outcome == "right" or outcome.startswith("unfit")


TERMS = [(0.1 * k + 0.2, 1.0 / (k + 1.0), 0.3 * k) for k in range(70)]
NESTED = [[[0.5 / (i + j + 1), 0.1 * i, 0.2 * j] for j in range(20)] for i in range(4)]
BY_NAME = {"n": [0.3, -0.1, 0.2] * 8, "d": [1, 2, 3] * 8, "t": [0.5, 1.5, 2.0] * 8}
ARGUMENTS = [[k % 3 - 1, (2 * k) % 5 - 2, k % 2] for k in range(60)]
AMPLITUDES = [[1.0 / (k + 1), 0.01 * k] for k in range(60)]


def series(x):
    total = 0.0
    for a, b, c in TERMS:
        total += a * np.cos(b + c * x)
    return total


def by_place(x):
    total = 0.0
    for i in range(len(TERMS)):
        total += TERMS[i][0] * x ** (0.1 * TERMS[i][1]) + 0.1 * TERMS[-1 - i][2]
    return total


def powers_of_series(x):
    total, t = 0.0, 1.0
    for part in NESTED:
        total += t * sum(a * np.cos(b + c * x) for a, b, c in part)
        t *= x
    return total


def equation_of_state(x):
    value, slope = 0.0, 0.0
    for n, d, t in zip(BY_NAME["n"], BY_NAME["d"], BY_NAME["t"]):
        value += n * x**d * 1.3**t
        slope += n * d * x ** (d - 1) * 1.3**t
    return value * slope


def arguments(x):
    angles = [x, 0.5 * x * x, np.sin(x)]
    total = 0.0
    for i, value in enumerate(AMPLITUDES):
        angle = 0.0
        for j in range(3):
            if ARGUMENTS[i][j]:
                angle += ARGUMENTS[i][j] * angles[j]
        size = value[0]
        if value[1]:
            size += value[1] * x
        if abs(ARGUMENTS[i][1]) == 2:
            size = size * x
        total += size * np.sin(angle)
    return total


def filtered(x):
    """Matrices that a list has again and again, as a filter's."""
    F, H, Q = np.array([[1.0, x], [0.0, 1.0]]), np.array([[1.0, 0.0]]), np.eye(2) * 0.1 * x
    measured = np.sin(np.arange(30.0))
    Fs, Hs, us = [F] * 30, [H] * 30, [None] * 30
    state, P, total = np.zeros((2, 1)), np.eye(2), 0.0
    states = np.zeros((30, 2, 1))
    for k, (z, F_, H_, u) in enumerate(zip(measured, Fs, Hs, us)):
        state = F_ @ state if u is None else F_ @ state + u
        P = F_ @ P @ F_.T + Q
        gain = P @ H_.T / (H_ @ P @ H_.T + 0.5)
        state = state + gain * (z - H_ @ state)
        P = P - gain @ H_ @ P
        states[k] = state
        total += P[0, 0]
    return total + np.sum(states**2)


def changed_while_gone_through(x):
    levels = [x * (k + 1) for k in range(40)]
    for k, v in enumerate(levels):
        if k + 1 < len(levels):
            levels[k + 1] = levels[k + 1] + 0.5 * np.sin(v)
    return sum(levels) + levels[-1] ** 2


def rows_changed(x):
    table = [[x, 0.1 * k] for k in range(40)]
    for row in table:
        row[0] = row[0] * np.sin(row[1] + x) + row[1]
        row[1] += x
    return sum(a * b for a, b in table)


def left_behind(x):
    for row in TERMS:
        if row[0] * x > 3.0:
            break
        a, b = row[0] + x, np.cos(row[1] * x) * x
    return a * b + row[2] * x


def numbers_of_the_run(x):
    knots = [x * k for k in range(40)]
    total = 0.0
    for i, (low, high) in enumerate(zip(knots[:-1], knots[1:])):
        total += np.exp(-(high - low)) * np.sin(low) * i + (high**2 if i % 3 == 0 else low)
    return total


def with_an_array(x):
    v = np.linspace(0.1, 1.0, 40) * x
    total = 0.0
    for (a, b, _), u in zip(TERMS, v):
        total += a * np.sin(b * u) + u**2
    return total


# Rows that are lists, under two names or changed ----------------------------------------------------------------------


def changed_beside(x):
    r = [[x, 0.1 * k] for k in range(4)]
    total = 0.0
    for i in range(4):
        row = r[i]
        r[0][1] = r[0][1] + x
        total += row[1] * x
    return total


def changed_behind(x):
    r = [[x, 0.1 * k] for k in range(4)]
    total = 0.0
    for row in r:
        total += row[1] * x
    r[3][1] = 5.0 * x
    return total + row[1]


def which_row(x):
    r = [[x, 0.1 * k] for k in range(4)]
    total = 0.0
    for row in r:
        if row is r[2]:
            total += x
        total += row[0]
    return total


def kept(x):
    r = [[x, 0.1 * k] for k in range(4)]
    rows_kept = []
    for row in r:
        rows_kept.append(row)
    r[0][0] = 7.0 * x
    return rows_kept[0][0] + rows_kept[3][1]


def made_in_turns(x):
    total = 0.0
    for j in range(3):
        r = [[x * j, 0.1 * k] for k in range(4)]
        for i in range(4):
            row = r[i]
            total += row[0]
        row[1] = 3.0 * x
        total += r[3][1]
    return total


def gone_through_twice(x):
    r = [[x, 0.1 * k] for k in range(4)]
    total = 0.0
    for (p, q), row in zip(r, r):
        row[0] = row[0] * 2
        total += p * q
    return total + r[2][0]


def nested(x):
    r = [[x, 0.1 * k] for k in range(4)]
    total = 0.0
    for q in r:
        for s in r:
            total += q[0] * s[1]
        r[1][1] += x
    return total


def changed_ahead(x):
    q = [x, 0.5, 2.0 * x, 1.0, x * x]
    total = 0.0
    for k, v in enumerate(q):
        total += v * x
        if k == 2:
            q[-1] = total
    return total


ROWS = [changed_ahead, changed_beside, changed_behind, which_row, kept, made_in_turns, gone_through_twice, nested]


@pytest.mark.usefixtures("always")
@BACKENDS
@pytest.mark.parametrize("f", ROWS)
def test_rows_are_no_copies(f, backend):
    x, h = 0.7, 1e-6
    assert dj.jit(f, backend=backend)(x) == pytest.approx(f(x), rel=1e-12)
    assert dj.grad(f, backend=backend)(x) == pytest.approx((f(x + h) - f(x - h)) / (2 * h), rel=1e-7)


# --------------------------------------------------------------------------------------------------------------------

PROGRAMS = [
    series, by_place, powers_of_series, equation_of_state, arguments, filtered, changed_while_gone_through,
    rows_changed, left_behind, numbers_of_the_run, with_an_array,
]  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f, backend):
    x, h = 0.7, 1e-6
    assert dj.jit(f, backend=backend)(x) == pytest.approx(f(x), rel=1e-12)
    slope = (f(x + h) - f(x - h)) / (2 * h)
    ours = dj.grad(f, backend=backend)
    assert ours(x) == pytest.approx(slope, rel=1e-7)
    assert dj.jvp(f, (x,), (1.0,), backend=backend)[1] == pytest.approx(slope, rel=1e-7)
    bend = (ours(x + h) - ours(x - h)) / (2 * h)
    assert dj.hessian(f, backend=backend)(x) == pytest.approx(bend, rel=1e-6, abs=1e-8)
    assert dj.vmap(f, backend=backend)(np.array([x, 0.6])) == pytest.approx([f(x), f(0.6)], rel=1e-12)


@pytest.mark.parametrize(
    "f", [series, by_place, powers_of_series, equation_of_state, arguments, filtered, numbers_of_the_run, with_an_array]
)
def test_the_text_does_not_grow_with_the_data(f):
    assert len(dj.source(dj.grad(f), 0.7).splitlines()) < 150


def test_columns_are_read_at_each_call():
    table = [[0.1 * k, 1.0] for k in range(80)]

    def f(x):
        total = 0.0
        for a, b in table:
            total += a * np.sin(b * x) + x
        return total

    g = dj.grad(f)
    assert len(dj.source(dj.jit(f), 0.5).splitlines()) < 15
    before = g(0.5)
    table[3][0] = 7.0
    assert g(0.5) == pytest.approx(before + 6.7 * np.cos(0.5))
    table.append([2.0, 3.0])  # longer
    assert g(0.5) == pytest.approx(before + 6.7 * np.cos(0.5) + 6.0 * np.cos(1.5) + 1.0)
    table[5] = (1.0, 2.0)  # a row of another class
    assert g(0.5) == pytest.approx(dj.grad(f, backend="python")(0.5))
    table[6][1] = 2  # an int
    text = f"{f(0.5 + 1e-6) - f(0.5 - 1e-6):.8g}"
    assert g(0.5) * 2e-6 == pytest.approx(float(text), rel=1e-6)
    del table[4:]
    assert g(0.5) == pytest.approx(sum(a * b * np.cos(b * 0.5) + 1 for a, b in table))


INDICES = [0.5 * k for k in range(60)]


def out_of_range(x):
    total = 0.0
    for i in range(len(INDICES) + 1):
        total += INDICES[i] * x**2 - 0.1 * x * INDICES[0]
    return total


@BACKENDS
def test_errors_are_pythons(backend):
    for verb in (dj.jit, dj.grad):
        with pytest.raises(IndexError):
            verb(out_of_range, backend=backend)(0.5)


def of_integers(x):
    total = 0.0
    for k in [3, 1, 2, 0] * 20:
        total += [x, x * x, np.sin(x), 1.0][k] * x - 0.1 * total
    return total


@BACKENDS
def test_what_must_be_known_is_known(backend):
    x, h = 0.7, 1e-6
    slope = (of_integers(x + h) - of_integers(x - h)) / (2 * h)
    assert dj.grad(of_integers, backend=backend)(x) == pytest.approx(slope, rel=1e-7)


WIDTHS = [3.6 - 0.1 * k for k in range(36)]
GAUGES = {"a": ([1.0 + 0.25 * k for k in range(36)], WIDTHS, True), "b": ([0.5] * 36, WIDTHS, False)}


def gauge(x, kind="a"):
    numbers, widths, _ = GAUGES[kind]
    if x in widths:
        return numbers[widths.index(x)]
    for i in range(len(widths)):
        if widths[i] < x:
            return numbers[i] * x
    return 0.0


@BACKENDS
def test_tables_beside_other_things(backend, monkeypatch):
    """Columns stand in a tuple with what is no list."""
    assert dj.jit(gauge, backend=backend)(2.03) == gauge(2.03)
    assert dj.grad(gauge, backend=backend)(2.03) == gauge(2.03) / 2.03
    monkeypatch.setitem(GAUGES, "a", ((0.5,) * 40, (*WIDTHS[:20], 0.0), 7))
    assert dj.jit(gauge, backend=backend)(1.55) == gauge(1.55) == 0.5 * 1.55
