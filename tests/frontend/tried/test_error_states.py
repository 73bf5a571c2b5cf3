"""Error states and warnings that raise: NumPy's own answers, and what is refused or told when the program runs."""

import warnings

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import UnsupportedSyntax

BACKENDS = ["python", "numba"]
X = np.array([1.0, 2.0])


def divided(x, y):
    try:
        with np.errstate(divide="raise"):
            return np.sum(x / y)
    except FloatingPointError:
        return np.sum(x) * 9.0


def each(x, y):
    with np.errstate(divide="raise"):
        for k in range(len(x)):
            yield x[k] / y


def generated(x, y):
    try:
        return sum(each(x, y))
    except FloatingPointError:
        return x[0] * 3.0


def left_early(x, y):
    with np.errstate(divide="raise", invalid="raise"):
        for k in range(3):
            try:
                if x[0] / (y - k) > 0.3:
                    continue
            except FloatingPointError:
                y = y + x[1]
                break
    return x[0] / y


def too_large(x, y):
    try:
        with np.errstate(over="raise"):
            return np.sum(x**2 * 1e300) * np.dot(x, x)
    except FloatingPointError:
        return x[0] * y


def silenced_again(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore")
        return np.sum(x / (y + 1.0)) + np.sum(np.log(x * y))


def functions(x, y):
    try:
        with np.errstate(all="raise"):
            return np.interp(y, x, x * x) + np.linalg.solve(np.diag(x), x)[0] + np.std(x) + np.maximum(x, y).sum()
    except FloatingPointError:
        return x[0]


def numbers_of_python(x, y):
    with np.errstate(all="raise"):
        return np.sum(x) + (y * 1e308 * 10 > 1.0)


def inner_gradient(x, y):
    with np.errstate(all="raise"):
        return np.sum(dj.grad(lambda z: np.sum(z / (z - 1.0)))(x)) * y


PROGRAMS = [
    divided, generated, left_early, too_large, silenced_again, functions, numbers_of_python, inner_gradient,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("x", "y"), [(X, 2.0), (X, 0.0), (X * 1e200, 1.0)])
def test_values(program, x, y, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(dj.jit(program, backend=backend)(x, y), program(x, y), rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_nobody_catches(backend):
    def overflowing(x):
        with np.errstate(over="raise"):
            return np.exp(x * 2.0)

    assert dj.grad(overflowing, backend=backend)(1.0) == pytest.approx(2.0 * np.exp(2.0))
    for f in (overflowing, dj.jit(overflowing, backend=backend), dj.grad(overflowing, backend=backend)):
        with pytest.raises(FloatingPointError, match="overflow encountered in exp"):
            f(800.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_not_known_to_raise_is_not_gone_past(backend):
    def mean(x):
        with np.errstate(all="raise"):
            return np.mean(x[x > 100.0])

    def small(x):
        try:
            with np.errstate(under="raise"):
                return np.sum(np.exp(-x))
        except Exception:  # noqa: BLE001
            return 5.0

    def whole(x):
        with np.errstate(invalid="raise"):
            return np.sum(np.log(x).astype(int) * x)

    assert dj.jit(mean, backend=backend)(X * 80.0) == 160.0
    for f, x in ((mean, X), (small, X * 371.0), (whole, X * 0.0)):
        with pytest.raises(NotImplementedError, match="DJ124"):
            dj.grad(f, backend=backend)(x)


def halved(x, n):
    return x / n if n < 1 else halved(x * 0.5, n - 1.0)


def recursive(x):
    with np.errstate(all="raise"):
        return halved(np.sum(x), x[0])


LOUD, QUIET = np.errstate(divide="raise"), np.errstate(all="ignore")


@np.errstate(divide="raise")
def inverse(x):
    return np.sum(1 / x)


@np.errstate(all="ignore")
def inverse_in_silence(x):
    return np.sum(1 / x)


class Model:
    scale = 2.0

    @np.errstate(divide="raise")
    def inverse(self, x, *, power=1.0):
        return self.scale * np.sum(1 / x**power)


def by_state_outside(x):
    with LOUD:
        return inverse_in_silence(x) + np.sum(1 / x)


def by_decorated_function(x):
    with np.errstate(divide="ignore"):
        return inverse(x) * x[1]


def by_decorated_method(x):
    return Model().inverse(x, power=2.0) + np.log(x[1])


def by_function_inside(x):
    @np.errstate(divide="raise")
    def inside(y, scale=3.0):
        return np.sum(scale / y)

    return inside(x) + inside(x, scale=2.0)


def by_state_outside_called(x):
    return np.errstate(divide="raise")(lambda y: np.sum(1 / y))(x * 2.0)


LOUDLY = [by_state_outside, by_decorated_function, by_decorated_method, by_function_inside, by_state_outside_called]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", LOUDLY)
def test_functions_under_a_state(program, backend):
    step = np.array([0.3, -0.7])
    if program is not by_state_outside:  # NumPy enters a state once
        quotient = (program(X + 1e-6 * step) - program(X - 1e-6 * step)) / 2e-6
        assert dj.jit(program, backend=backend)(X) == pytest.approx(program(X), rel=1e-13)
        assert dj.jvp(program, (X,), (step,), backend=backend)[1] == pytest.approx(quotient, rel=1e-8)
    for f in (dj.jit(program, backend=backend), dj.grad(program, backend=backend)):
        with pytest.raises(FloatingPointError, match="divide by zero"):
            f(np.array([0.0, 1.0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_silent_function_inside_of_a_loud_one(backend):
    def program(x):
        try:
            with np.errstate(divide="raise"):
                return np.sum(np.minimum(QUIET(lambda y: 1 / y)(x), 9.0)) + x[1] ** 2
        except FloatingPointError:
            return x[0]

    assert dj.jit(program, backend=backend)(np.array([0.0, 2.0])) == 13.5


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("careful", stacklevel=2)
        return np.sum(x)


def changed_in_place(x):
    z = x.copy()
    try:
        with np.errstate(divide="raise"):
            z /= x - 1.0
    except FloatingPointError:
        pass
    return np.sum(z)


def of_one_kind(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="divide")
        return np.sum(1 / x)


def forever(x):
    warnings.simplefilter("error")
    return np.sum(1 / x)


@pytest.mark.parametrize("program", [recursive, warned, changed_in_place, of_one_kind, forever])
def test_refused(program):
    with pytest.raises(UnsupportedSyntax, match="DJ124"):
        dj.grad(program, backend="python")(X)


def test_under_a_condition():
    def model(x):
        with warnings.catch_warnings():
            if x[0] > 0.0:
                warnings.simplefilter("error")
            return np.sum(1 / x)

    with pytest.raises(NotImplementedError, match="DJ124"):
        dj.grad(model, backend="python")(X)
    np.testing.assert_allclose(dj.grad(model, backend="python")(-X), -1 / X**2)
