"""`x.__getitem__` as a key, and the other methods that operators call, of arrays and of numbers."""

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.7, 1.4, 0.2])


def keys(x):
    order = sorted(range(len(x)), key=x.__getitem__)
    return x[max(range(3), key=x.__getitem__)] ** 2 + sum(x[i] * k for k, i in enumerate(order))


def operators(x):
    y = x.__add__(x).__mul__(2.0)
    y.__setitem__(0, x[1].__pow__(2))
    y.__iadd__(x[0])
    return x.__matmul__(y) + y.__neg__()[0] * x.__len__() + x.__gt__(0.5).sum() * float(x[0]).__sub__(1.0)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [keys, operators], ids=lambda f: f.__name__)
def test_as_python(f, backend):
    value, slope = dj.value_and_grad(f, backend=backend)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    quotient = [(f(X + h) - f(X - h)) / 2e-6 for h in np.eye(3) * 1e-6]
    np.testing.assert_allclose(slope, quotient, rtol=1e-7, atol=1e-8)
