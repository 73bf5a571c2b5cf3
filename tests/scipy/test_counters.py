"""Functions in the hands of solvers that count their calls or note things outside, as programs of every day do.

What the function gives must not hang on its notes, and nobody may read them afterwards: how often SciPy's code calls a
function, compiled solvers do not tell.
"""

import numpy as np
import pytest
import scipy.integrate as si
import scipy.optimize as so

import diffjit as dj
from diffjit.errors import DiffjitError

FINE = {"method": "Nelder-Mead", "options": {"xatol": 1e-11, "fatol": 1e-15}}


def counted(a):
    n = [0]

    def height(q):
        n[0] += 1
        return (q[0] - a) ** 2 + q[0] ** 4

    return so.minimize(height, [0.5], **FINE).x[0]


class Fit:
    """A model that notes how it was fitted."""

    def __init__(self, a):
        self.a, self.calls, self.path, self.last = a, 0, [], None

    def height(self, q):
        self.calls += 1
        self.path.append(q.copy())
        self.last = q[0]
        return (q[0] - self.a) ** 2 + q[0] ** 4

    def with_slope(self, q):
        self.calls += 1
        return (q[0] - self.a) ** 2 + q[0] ** 4, np.array([2 * (q[0] - self.a) + 4 * q[0] ** 3])

    def fit(self):
        self.x = so.minimize(self.height, [0.5], **FINE).x
        return self

    def predict(self, t):
        return self.x[0] * t + self.a


def in_an_object(a):
    return Fit(a).fit().predict(2.0)


def value_and_slope(a):
    return so.minimize(Fit(a).with_slope, [0.5], jac=True, tol=1e-12).x[0]


def lowest_so_far(a):
    best, where = np.inf, None

    def height(q):
        nonlocal best, where
        v = (q[0] - a) ** 2 + q[0] ** 4
        if v < best:
            best, where = v, q.copy()
        return v

    return so.minimize(height, [0.5], **FINE).x[0]


def records(a):
    rows = []

    def residual(q):
        rows.append({"x": q[0], "size": q[0] ** 2})
        if len(rows) > 3:
            rows.pop(0)
        return [q[0] ** 2 - a, q[1] - q[0]]

    return so.fsolve(residual, [1.0, 1.0])[1]


def times(a):
    seen, calls = [], 0

    def slope(t, y):
        nonlocal calls
        calls += 1
        seen.append(t)
        return -a * y

    return np.sum(si.solve_ivp(slope, (0, 1), [1.0, 2.0], rtol=1e-9, atol=1e-11).y[:, -1])


def integrand(a):
    n = 0

    def f(t):
        nonlocal n
        n += 1
        return np.exp(-a * t)

    return si.quad(f, 0, 1)[0] + so.brentq(lambda x: Fit(a).height([x]) - 1.0, 0.9, 3.0)


@pytest.mark.parametrize(
    "f", [counted, in_an_object, value_and_slope, lowest_so_far, records, times, integrand], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_notes_are_left_aside(f, backend):
    value, gradient = dj.value_and_grad(f, backend=backend)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-6)
    assert gradient == pytest.approx((f(0.7 + 1e-3) - f(0.7 - 1e-3)) / 2e-3, rel=1e-4)


def reads_the_count(a):
    fit = Fit(a).fit()
    return fit.predict(1.0) + fit.calls


def reads_the_path(a):
    fit = Fit(a).fit()
    return fit.predict(1.0) + len(fit.path)


def gives_the_count(a):
    n = [0]

    def height(q):
        n[0] += 1
        return (q[0] - a) ** 2

    return so.minimize(height, [0.5], **FINE).x[0], n


def hangs_on_the_count(a):
    n = 0

    def height(q):
        nonlocal n
        n += 1
        return (q[0] - a) ** 2 + 1e-3 * n

    return so.minimize(height, [0.5], **FINE).x[0]


def branches_on_the_count(a):
    n = [0]

    def height(q):
        n[0] += 1
        return (q[0] - a) ** 2 * (2.0 if n[0] > 50 else 1.0)

    return so.minimize(height, [0.5], **FINE).x[0]


def first_call_is_other(a):
    first = True

    def height(q):
        nonlocal first
        shift = 1.0 if first else 0.0
        first = False
        return (q[0] - a - shift) ** 2

    return so.minimize(height, [0.5], **FINE).x[0]


def remembers(a):
    known = {}

    def height(q):
        if "x" in known:
            return (known["x"] - a) ** 2
        known["x"] = q[0]
        return (q[0] - a) ** 2

    return so.minimize(height, [0.5], **FINE).x[0]


def lengthens(a):
    rows = []

    def height(q):
        rows.append(q[0])
        return (q[0] - a) ** 2 * len(rows)

    return so.minimize(height, [0.5], **FINE).x[0]


def prints_the_count(a):
    n = 0

    def slope(t, y):
        nonlocal n
        n += 1
        print(n)  # noqa: T201 - what is refused
        return -a * y

    return si.solve_ivp(slope, (0, 1), [1.0]).y[0, -1]


def into_an_array(a):
    path, k = np.zeros(500), 0

    def height(q):
        nonlocal k
        path[k] = q[0]
        k += 1
        return (q[0] - a) ** 2

    return so.minimize(height, [0.5], **FINE).x[0]


OUTSIDE = Fit(0.5)


def of_an_object_outside(a):
    return OUTSIDE.fit().predict(a)


@pytest.mark.parametrize(
    "f",
    [
        reads_the_count, reads_the_path, gives_the_count, hangs_on_the_count, branches_on_the_count,
        first_call_is_other, remembers, lengthens, prints_the_count, into_an_array, of_an_object_outside,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_hangs_on_notes_is_refused(f, capsys):
    with pytest.raises(DiffjitError, match=r"in the hands of|under|DJ125"):
        dj.jit(f)(0.7)
    assert not capsys.readouterr().out
