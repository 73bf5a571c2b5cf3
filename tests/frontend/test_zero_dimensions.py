"""Arrays without dimensions that are numbers on another path: as in Python, or refused where that would show."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def leaky(x):
    y = np.where(x[0] > 0.0, x[0], 0.1 * x[0])
    if x[1] > 0.0:
        y = y * x[2]
    y += x[1]
    return y


def accumulated(x):
    total = np.array(0.0)
    for v in x:
        if v > 0.0:
            total = total + v**2
    return np.sqrt(total + 1.0)


def reciprocal(x):
    v = np.asarray(x[2])
    if v > 1.0:
        v = 1.0 / v
    return np.sqrt(np.abs(v)) * x[0]


def in_a_loop(x):
    total = 0.0
    for v in x:
        t = np.where(v > 0.0, v, 0.1 * v)
        if t > 2.5:
            t = t / 3.0
        t *= 2.0
        total += t
    return total


def after_an_exception(x):
    y = np.array(1.0)
    try:
        y = x[0] / x[2]
        if y > 1e9:
            raise ValueError
    except ValueError:
        y = np.array(0.0)
    return y * x[1]


def in_a_list(x):
    kept = []
    for v in x:
        kept.append(np.where(v > 0.0, v, 0.0) if v < 3.0 else v * 2.0)  # noqa: PERF401
    return sum(kept)


def while_it_grows(x):
    t = np.squeeze(x[:1])
    while t < 10.0:
        t = t * 2.0 + x[2]
    return t


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f", [leaky, accumulated, reciprocal, in_a_loop, after_an_exception, in_a_list, while_it_grows]
)
def test_as_in_python(f, backend):
    for x in (np.array([1.0, -2.0, 3.5]), np.array([-1.5, 2.1, 4.0]), np.array([0.4, 0.3, 0.2])):
        value, slope = dj.value_and_grad(f, backend=backend)(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(slope, [(f(x + h) - f(x - h)) / 2e-6 for h in steps], rtol=1e-6, atol=1e-7)
        along = np.array([0.3, -0.7, 1.1])
        assert dj.jvp(f, (x,), (along,), backend=backend)[1] == pytest.approx(slope @ along, rel=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_derivatives_that_are_programs(backend):
    """Their memory changes where the program's does not."""

    def bounded(x):
        out = np.zeros(len(x))
        for i, v in enumerate(x):
            a = np.asarray(v)
            if a < 0.0:
                a = -a
            while a < 0.5:
                a = a * 1.5
            out[i] = a * v
        return out

    x = np.array([0.3, -0.9, 1.4, -0.2, 0.7])
    slopes = np.array([(bounded(x + h) - bounded(x - h)) / 2e-6 for h in 1e-6 * np.eye(5)]).T
    np.testing.assert_allclose(dj.jacrev(bounded, backend=backend)(x), slopes, atol=1e-8)
    np.testing.assert_allclose(dj.jacfwd(bounded, backend=backend)(x), slopes, atol=1e-8)
    second = dj.hessian(lambda x: np.sum(bounded(x) ** 2), backend=backend)(x)
    np.testing.assert_allclose(second, np.diag(12.0 * (bounded(x) / x) ** 2), rtol=1e-9)  # of c**2 * x**4


def seen_by_another_name(x):
    first = np.asarray(x[0] * 1.0)
    y = first
    if x[1] > 0.0:
        y = y + 1.0
    y += 5.0
    return first + y


def changed_by_another_name(x):
    y = np.array(1.0)
    other = y
    if x[1] > 0.0:
        y = y + 1.0
    other += x[0]
    return y * x[2]


def a_view_of_what_changes(x):
    v = x[0, ...]
    if x[1] > 0.0:
        v = v * 2.0
    x[0] = 100.0
    return v * x[2]


def changes_what_it_views(x):
    v = x[0:1].reshape(())
    if x[1] > 0.0:
        v = v * 2.0
    v += 1.0
    return v + x[0]


def the_callers(y):
    if y > 0.0:
        y = y * 2.0
    y += 1.0
    return y


def asks_for_the_class(x):
    y = np.array(2.0)
    if x[1] > 0.0:
        y = y * x[0]
    return x[0] if isinstance(y, np.ndarray) else y


def asks_whether_it_is_a_number(x):
    y = np.array(2.0)
    if x[1] > 0.0:
        y = y * x[0]
    return x[0] if np.isscalar(y) else y


SHOWS = [
    seen_by_another_name, changed_by_another_name, a_view_of_what_changes, changes_what_it_views, asks_for_the_class,
    asks_whether_it_is_a_number,
]  # fmt: skip


@pytest.mark.parametrize("f", SHOWS)
def test_what_would_show_is_refused(f):
    for verb in (dj.jit, dj.grad):
        with pytest.raises(dj.TypeProblem, match="DJ304"):
            verb(f)(np.array([1.0, -2.0, 3.0]))
    with pytest.raises(dj.TypeProblem, match="DJ304"):
        dj.jit(the_callers)(np.array(-1.0))
