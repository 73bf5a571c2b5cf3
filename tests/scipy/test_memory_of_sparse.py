"""Sparse matrices that share entries, are changed in place, and have their entries in the order that SciPy does."""

import numpy as np
import pytest
import scipy.sparse as sp

import diffjit as dj

INDICES, STARTS = np.array([0, 1, 0, 2, 1, 2]), np.array([0, 2, 4, 6])
MIXED = np.array([2, 0, 1, 0, 2, 1])  # not in order
ROWS = np.array([0, 0, 1, 1, 2, 2])
X = np.array([1.0, -2.0, 3.0, 0.5, 5.0, 0.7])
WEIGHTS = np.arange(1.0, 10.0).reshape(3, 3)


def told(a):
    """A number that hangs on each element, and on the order in which entries stand."""
    return np.sum(a.toarray() * WEIGHTS) + a.data @ np.sqrt(np.arange(1.0, a.data.size + 1.0))


def compressed(x, kind=sp.csr_array, indices=INDICES):
    return kind((x * 1.0, indices, STARTS), shape=(3, 3))


def pairs(x, kind=sp.coo_array):
    return kind((x**2, (ROWS, INDICES[::-1])), shape=(3, 3))


def scaled(x):
    a = compressed(x)
    b, data = a, a.data
    a *= 2.0
    a /= x[0]
    return told(b) + np.sum(data)


def turned(x):
    a, c = compressed(x), pairs(x)
    b, d, e = a.T, c.T, a.tocsc().transpose(copy=True)
    a.data *= 2.0
    c.data[1] = x[0]
    return told(b) + told(d) + told(e)


def itself(x):
    a = compressed(x)
    same, other, made, copied = a.tocsr(), a.tocsc(), sp.csr_array(a), sp.csr_array(a, copy=True)
    real, coo, conj = a.real, a.tocoo(copy=False), a.conj()
    a.data[2] = x[1] ** 2
    return sum(told(m) * (k + 1) for k, m in enumerate([same, other, made, copied, real, coo, conj]))


def columns(x):
    a = compressed(x, sp.csc_array)
    coo, shared, given = a.tocoo(), a.asformat("coo"), x * 1.0
    a.data *= 3.0
    apart = sp.csc_matrix((given, INDICES, STARTS), (3, 3), copy=True)
    given *= 2.0
    return told(coo) + told(shared) + told(apart)


def editable(x):
    a = sp.lil_array((3, 3))
    a[0, 1], a[2, 2] = x[0], x[1]
    b = a
    a += a.T
    a -= sp.eye_array(3)
    a *= x[2]
    a /= 2.0
    c = sp.dok_array((3, 3))
    c[1, 1] = x[3]
    d = c
    c *= x[4]
    return np.sum(b.toarray() * WEIGHTS) + np.sum(d.toarray() * WEIGHTS)


def out_of_order(x):
    a = compressed(x, indices=MIXED)
    b = compressed(x**2, sp.csc_matrix, MIXED)
    parts = [
        a.T,
        a.tocsc(),
        a.tocoo(),
        a.copy(),
        -a,
        a + a,
        a - 0.5 * a.T,
        a @ a,
        a.multiply(a.T),
        b @ b,
        b + a,
        (a * 2.0).T,
    ]
    return sum(told(m) * (k + 1) for k, m in enumerate(parts))


def products(x):
    a, b, c = compressed(x), pairs(x, sp.csc_matrix), pairs(x)
    p = a @ c
    return told(p.T + p) + told(p @ p) + told(b @ b) + told(b * c) + told(p.multiply(c)) + told(c.multiply(a))


def compiled(x):
    p = compressed(x) @ pairs(x)
    return told(p.multiply(pairs(x)) + p)


def powers(x):
    a = compressed(x, sp.csr_matrix)
    twice = sp.coo_matrix((x, (ROWS, [0, 0, 1, 2, 2, 2])), shape=(3, 3))
    counted = twice.copy()
    counted.sum_duplicates()
    whole = told(a**3) + told(a**1) + np.sum((a**0).toarray()) + told(twice.power(2)) + told(compressed(x) ** 2)
    return whole + counted.data[2] * counted.size


def compared(x):
    a, c = compressed(x), pairs(x, sp.csc_array)
    return told(a.maximum(c)) + told(c.minimum(a)) + told(a.maximum(-1.0)) + told(a.minimum(0.6))


def divided(x):
    a = compressed(x)
    beside = (x[:3] @ a) @ x[3:] + np.sum(x[:3] * pairs(x, sp.csr_matrix)) + np.sum(x[:3] + a)
    return beside + told(a / x[0]) + told(a / np.arange(1.0, 4.0)) + told(sum([a, a.T, 0 - a, pairs(x)])) + told(a + 0)


PROGRAMS = [
    scaled, turned, itself, columns, editable, out_of_order, products, powers, compared, divided,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_scipy_has_it(program):
    direction = np.cos(X)
    slope = (program(X + 1e-6 * direction) - program(X - 1e-6 * direction)) / 2e-6
    value, change = dj.jvp(program, (X,), (direction,), backend="python")
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-13)
    np.testing.assert_allclose(change, slope, rtol=1e-7)
    np.testing.assert_allclose(dj.grad(program, backend="python")(X) @ direction, change, rtol=1e-12)


@pytest.mark.parametrize("program", [scaled, turned, editable, compiled], ids=lambda f: f.__name__)
def test_compiled(program):
    value, slopes = dj.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-13)
    np.testing.assert_allclose(slopes, dj.grad(program, backend="python")(X), rtol=1e-12)


def test_dtypes():
    """Quotients of single numbers are doubles, as SciPy has them."""

    def f(x):
        a = compressed(x).astype(np.float32)
        return (a / 2.0).data, (a * 2.0).data, (a @ a).data, a.multiply(a).data

    for mine, theirs in zip(dj.jit(f, backend="python")(X), f(X), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
