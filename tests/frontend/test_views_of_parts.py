"""Arrays of complex numbers that are seen as floats, and floats as complex numbers: `a.view(dtype)`."""

import numpy as np
import pytest
from scipy.integrate import odeint

import diffjit as dj
from tests.first_order import along

X = np.array([0.3, -1.2, 0.7, 2.1, -0.4, 1.6])


def parts(x):
    z = (x[:3] + 1j * x[3:]) ** 2
    return np.sum(z.view(np.float64) * np.arange(6.0) ** 2)


def pairs(x):
    z = x.view(complex)
    return np.abs(np.sum(z * np.exp(1j * z)))


def rows(x):
    z = np.outer(x, x).view("c16")
    return np.sum(z.real * z.imag[::-1]) + np.sum(z.view(float)[1] ** 3)


def filled(x):
    z = np.empty(3, dtype=np.complex128)
    for i in range(3):
        z[i] = complex(x[2 * i], x[2 * i + 1] * x[0])
    return z.view(float) @ x


def turning(x):
    """The usual way to give complex states to a solver."""

    def slope(y, t, rate):
        z = y.view(complex)
        return (1j * rate * z - 0.1 * z).view(float)

    y = odeint(slope, np.array([1 + 0.5j, 0.3]).view(float), np.linspace(0, 2, 3), args=(x[0],))
    return np.sum(np.abs(y.view(complex)[-1] + x[1]) ** 2)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [parts, pairs, rows, filled])
def test_values_and_slopes(f, backend):
    along(f, X, np.linspace(1.0, -2.0, 6), backend)
    slopes = [dj.jvp(f, (X,), (t,), backend=backend)[1] for t in np.eye(6)]
    np.testing.assert_allclose(dj.grad(f, backend=backend)(X), slopes, rtol=1e-12, atol=1e-14)


def test_states_of_a_solver():
    value, slope = dj.value_and_grad(turning, backend="python")(X)
    z = np.array([1 + 0.5j, 0.3]) * np.exp((1j * X[0] - 0.1) * 2)
    assert value == pytest.approx(np.sum(np.abs(z + X[1]) ** 2), rel=1e-6)
    expected = [np.sum(2 * (np.conj(z + X[1]) * d).real) for d in (2j * z, np.ones(2))]
    np.testing.assert_allclose(slope[:2], expected, rtol=1e-6)


def test_single_precision():
    f = lambda x: np.sum(x.astype(np.float32).view(np.complex64) * (1 + 2j))
    found = dj.jit(f)(X)
    assert found.dtype == np.complex64
    assert found == pytest.approx(f(X), rel=1e-6)


MISTAKES = {
    "odd": lambda x: x.reshape(2, 3).view(complex),
    "no axis": lambda x: np.sum(x.view(complex)[()]).reshape(()).view(float),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_numpy_raises(name):
    with pytest.raises(ValueError) as wanted:
        MISTAKES[name](X)
    with pytest.raises(ValueError) as found:
        dj.jit(MISTAKES[name])(X)
    assert str(found.value).split("\n")[0] == str(wanted.value)


def written_before(x):
    z = x.astype(complex)
    shown = z.view(float)
    z[0] = 7.0
    return shown


def written_through(x):
    z = np.zeros(3, complex)
    z.view(float)[:] = x
    return z


@pytest.mark.parametrize("f", [written_before, written_through])
def test_writes_are_refused(f):
    with pytest.raises(dj.MemoryProblem, match="DJ404"):
        dj.jit(f)(X)


def test_other_bytes_are_refused():
    with pytest.raises(dj.UnsupportedSyntax, match="DJ118"):
        dj.jit(lambda x: x.view(np.int64))(X)
