"""SciPy's solvers, and derivatives, inside a `try` that catches what they raise: as plain Python, on both ways."""

import contextlib
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize

import diffjit as dj


class TooCold(ValueError):
    pass


def root(t):
    if t < 0.0:
        raise TooCold("below zero")
    return np.sqrt(t)


def bracketed(a):
    try:
        x = scipy.optimize.brentq(lambda t: np.cos(t) - a * t, 0.0, 2.0)
    except ValueError:
        x = 3.0 * a
    return x * a


def in_a_loop(a):
    total = 0.0
    for low in (-1.0, 0.0, 0.5):
        try:
            total += scipy.optimize.brentq(lambda t: t**3 - a, low, 1.5)
        except ValueError:
            continue
    return total


def not_converged(a):
    try:
        x = scipy.optimize.newton(lambda t: t**2 + 1.5 - a, 1.0, maxiter=8)
    except RuntimeError:
        x = a**2
    else:
        x = 2.0 * x
    return x


def first_that_works(a):
    for guess in (-3.0, 1.0):
        try:
            return scipy.optimize.fsolve(lambda q: [root(q[0]) - a], [guess])[0]
        except TooCold:
            pass
    return 0.0


def by_any_error(a):
    try:
        x = scipy.optimize.minimize(lambda q: (root(q[0] - 0.5) - a) ** 2, [1.0], method="BFGS").x[0]
    except Exception:  # noqa: BLE001
        x = 5.0 * a
    return x


def integral(a):
    try:
        return scipy.integrate.quad(lambda t: root(t - 1.0 + a), 0.0, 1.0, epsabs=1e-11)[0]
    except TooCold as error:
        return a * len(str(error))


def path(a):
    def slope(t, y):
        if y[0] > 2.0:
            raise OverflowError("too fast")
        return a * y

    try:
        return scipy.integrate.solve_ivp(slope, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-9).y[0, -1]
    except OverflowError:
        return 2.0 + a


def fitted(a):
    t = np.linspace(0.0, 1.0, 5)

    def model(t, k):
        if k > 2.0:
            raise TooCold("k")
        return np.exp(-k * t)

    try:
        return scipy.optimize.curve_fit(model, t, np.exp(-a * t), p0=[1.0])[0][0]
    except (TooCold, RuntimeError):
        return 7.0 * a


ROWS, SHIFT = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array(0.25)


def of_rows_in_a_list(a):
    """The list changes, not the array of whose rows it is made first; another array has no dimensions."""

    def height(t):
        pieces = [row for row in ROWS if row[0] < 9.0]
        pieces[0] = pieces[0] * t
        if t > 1.9:
            raise TooCold("beyond the table")
        return pieces[0][1] + pieces[1][0] * t + SHIFT - a

    try:
        return scipy.optimize.bisect(height, -1.0, 2.0 if a < 0.1 else 1.5)
    except ValueError:
        return 7.0 * a


def raised_again(a):
    try:
        try:
            return scipy.optimize.brentq(lambda t: t - a, 0.0, 1.0)
        except ValueError as error:
            raise RuntimeError("no root") from error
    except RuntimeError:
        return a**3


def passed_on(a):
    done = 0.0
    try:
        with contextlib.suppress(ValueError):
            done = scipy.optimize.brentq(lambda t: t - a, 0.0, 1.0)
    finally:
        done = done + a
    return done


def gradient_inside(a):
    try:
        return dj.grad(lambda u: root(u) * u)(a - 1.0)
    except TooCold:
        return a**2


def gradient_of_root(a):
    try:
        return dj.grad(lambda u: scipy.optimize.brentq(lambda t: np.cos(t) - u * t, 0.0, 2.0))(a)
    except ValueError:
        return a**2


def matrix_inside(a):
    try:
        return np.sum(dj.jacfwd(lambda u: u**2 * root(u[0]))(np.array([a - 1.0, 2.0 * a])))
    except TooCold:
        return a**2


def helper(a):
    return scipy.optimize.root_scalar(lambda t: t * np.exp(t) - a, bracket=[0.0, 1.0]).root


def in_a_helper(a):
    try:
        return helper(a) + helper(2.0 * a)
    except ValueError:
        return helper(a / 4.0) * a


PROGRAMS = [
    (bracketed, (0.8, -5.0)), (in_a_loop, (0.7, 2.0)), (not_converged, (2.5, 1.0)), (first_that_works, (0.8,)),
    (by_any_error, (0.6,)), (integral, (1.3, 0.4)), (path, (0.5, 0.9)), (fitted, (1.2, 2.5)),
    (raised_again, (0.4, 1.7)), (passed_on, (0.4, 1.7)), (in_a_helper, (0.9, 2.0)),
]  # fmt: skip
DERIVED = [
    (gradient_inside, lambda a: 1.5 * np.sqrt(a - 1.0) if a > 1.0 else a**2, (1.8, 0.4)),
    (matrix_inside, lambda a: 2.5 * (a - 1) ** 1.5 + (2 * a) ** 2 / (2 * np.sqrt(a - 1)) + 4 * a * np.sqrt(a - 1)
     if a > 1.0 else a**2, (1.8, 0.4)),
]  # fmt: skip


def slope(f, a, h):
    return (f(a + h) - f(a - h)) / (2.0 * h)


@pytest.mark.parametrize(("f", "at"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_solvers_in_a_try(f, at):
    fast = dj.jit(f)
    for a in at:
        assert fast(a) == pytest.approx(f(a), rel=1e-6)
        wanted = slope(f, a, 1e-4)
        assert dj.grad(f)(a) == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        assert dj.jvp(f, (a,), (1.0,))[1] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    first = dj.grad(f)
    assert dj.grad(first)(at[-1]) == pytest.approx(slope(first, at[-1], 1e-4), rel=1e-3, abs=1e-3)
    np.testing.assert_allclose(dj.vmap(first)(np.array(at)), [first(a) for a in at], rtol=1e-9)


@pytest.mark.parametrize(("f", "plain", "at"), DERIVED, ids=[f.__name__ for f, *_ in DERIVED])
def test_derivatives_in_a_try(f, plain, at):
    for a in at:
        assert dj.jit(f)(a) == pytest.approx(plain(a), rel=1e-12)
        assert dj.grad(f)(a) == pytest.approx(slope(plain, a, 1e-6), rel=1e-6)


def test_derivative_of_a_root_in_a_try():
    """By the theorem: x' = -x / (sin x + u)."""

    def wanted(u):
        x = scipy.optimize.brentq(lambda t: np.cos(t) - u * t, 0.0, 2.0)
        return -x / (np.sin(x) + u)

    assert dj.jit(gradient_of_root)(0.8) == pytest.approx(wanted(0.8), rel=1e-9)
    assert dj.grad(gradient_of_root)(0.8) == pytest.approx(slope(wanted, 0.8, 1e-5), rel=1e-6)
    assert dj.grad(gradient_of_root)(-5.0) == pytest.approx(-10.0, rel=1e-12)


def test_as_python_text():
    for f in (bracketed, not_converged, first_that_works):
        assert dj.grad(f, backend="python")(0.8) == pytest.approx(slope(f, 0.8, 1e-4), rel=1e-4)
    first = dj.grad(of_rows_in_a_list, backend="python")
    assert [first(0.8), first(0.05)] == pytest.approx([0.2, 7.0], rel=1e-9)


def test_what_no_handler_names_leaves():
    """Also errors of the derivative's own: a `try` of the program never takes them for its value's."""

    def flat(a):
        try:
            return scipy.optimize.brentq(lambda t: -1.0 if t < a else 1.0, 0.0, 1.1)
        except RuntimeError:
            return 0.0

    assert dj.jit(flat)(0.5) == pytest.approx(0.5, abs=1e-9)
    with pytest.raises(RuntimeError, match="no derivative"):
        dj.grad(flat)(0.5)
    with pytest.raises(ValueError, match="signs"):
        dj.grad(not_caught)(-5.0)


def not_caught(a):
    try:
        return scipy.optimize.brentq(lambda t: np.cos(t) - a * t, 0.0, 2.0)
    except RuntimeError:
        return 0.0


def test_what_would_be_printed_twice_is_refused():
    def loud(a):
        def height(t):
            print("asked")  # noqa: T201
            return t - a

        try:
            return scipy.optimize.brentq(height, 0.0, 1.0)
        except ValueError:
            return a

    with pytest.raises(dj.DiffjitError, match="DJ1"):
        dj.grad(loud)(0.5)


def test_another_class_of_exception():
    class Odd(Exception):
        pass

    def way(x):
        if x > 1.0:
            raise Odd("odd")
        return 2.0 * x

    far = dj.foreign(way, result=float)

    def f(a):
        try:
            return far(a)
        except Exception:  # noqa: BLE001
            return 0.0

    assert dj.jit(f)(0.5) == 1.0
    with pytest.raises(dj.DiffjitError, match="Odd"):
        dj.jit(f)(2.0)


def an_index_too_far(a):
    table = np.array([1.0, 2.0, 4.0])
    try:
        return scipy.optimize.brentq(lambda t: table[int(10.0 * a)] * t - a, 0.0, 1.0)
    except IndexError:
        return 3.0 * a


def a_divisor_of_zero(a):
    try:
        return scipy.optimize.minimize(lambda q: (q[0] - a) ** 2 + 1.0 / math.floor(a), [0.0]).x[0]
    except ZeroDivisionError:
        return 5.0 * a


def outside_a_domain(a):
    try:
        return scipy.optimize.fsolve(lambda q: [math.log(q[0] - a) + 1.0], [2.0])[0]
    except ValueError:
        return a**2


@pytest.mark.parametrize(
    ("f", "at"), [(an_index_too_far, (0.15, 0.7)), (a_divisor_of_zero, (1.2, 0.7)), (outside_a_domain, (0.3, 4.0))]
)
def test_faults_of_the_users_own_function(f, at):
    """The library's own indices are not looked at, those of what it is given are."""
    for a in at:
        assert dj.jit(f)(a) == pytest.approx(f(a), rel=1e-6)
        assert dj.grad(f)(a) == pytest.approx(slope(f, a, 1e-4), rel=1e-4)


@dj.custom_jvp
def logarithm(u):
    return math.log(u)


@logarithm.defjvp
def _logarithm_jvp(primals, tangents):
    return logarithm(primals[0]), tangents[0] / primals[0]


def quotient(a):
    try:
        return dj.grad(lambda u: 1.0 / u * u**2)(a - 1.0)
    except ZeroDivisionError:
        return 7.0 * a


def outside_of_its_domain(a):
    try:
        return logarithm(a - 1.0)
    except ValueError:
        return 7.0 * a


def printed(a):
    def loud(u):
        print("asked")  # noqa: T201
        return 1.0 / u

    try:
        return dj.grad(loud)(a)
    except ZeroDivisionError:
        return a


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_numbers_of_pythons_raise_inside(backend, capsys):
    """By what plain Python does: 1 / 0 and log(-1) raise where a `try` is around."""
    for f, a, value, wanted in (
        (quotient, 1.5, 1.0, 0.0), (quotient, 1.0, 7.0, 7.0),
        (outside_of_its_domain, 1.5, math.log(0.5), 2.0), (outside_of_its_domain, 0.5, 3.5, 7.0),
        (outside_of_its_domain, 1.0, 7.0, 7.0),
    ):  # fmt: skip
        assert dj.jit(f, backend=backend)(a) == pytest.approx(value)
        assert dj.grad(f, backend=backend)(a) == pytest.approx(wanted)
    assert dj.jit(printed, backend=backend)(2.0) == -0.25
    assert capsys.readouterr().out == "asked\n"
