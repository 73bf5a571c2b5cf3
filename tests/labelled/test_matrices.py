"""`np.matrix`: products, indexing that keeps two dimensions, NumPy's functions; by NumPy and difference quotients."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import diffjit as dj

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # NumPy's, of every matrix
rng = np.random.default_rng(3)
SQUARE = (rng.normal(size=(3, 3)) + 3 * np.eye(3)).view(np.matrix)
COLUMN = rng.normal(size=(3, 1)).view(np.matrix)
ROWS = rng.normal(size=(2, 3)).view(np.matrix)
ARRAY = rng.normal(size=3)


def written(m):
    """Elements, rows and columns changed in place."""
    m = m.copy()
    m[0, 0] = m[1, 1] * 2
    m[:, 1] = m[:, 2] * m[0, 1]
    m[2] = m[1] * m
    m += 1.0
    m *= m
    m[m < 0] = 0.0
    m -= m.T * 0.5
    return m.sum()


def filtered(m):
    """A Kalman filter as textbooks write it."""
    x, p = COLUMN.copy(), np.asmatrix(np.eye(3))
    for _ in range(2 * m.shape[0]):
        gain = p * m.T * (m * p * m.T + np.eye(3)).I
        p = p - gain * m * p
        x = x + gain * (COLUMN - m * x)
    return (x.T * x)[0, 0] + p.trace()[0, 0]


PROGRAMS = {
    "products": lambda m: (m * m * COLUMN)[1, 0] + (COLUMN.T * m * COLUMN).item() + (m * ROWS.T)[2, 1],
    "powers": lambda m: (m**3)[0, 1] + (m**-1)[1, 0] + (m**2).sum(),
    "attributes": lambda m: (m.T * m.I).sum() + m.H[0, 1] + m.A[1, 2] ** 2 + np.sum(m.A1**2) + m[:2].I.sum(),
    "arrays": lambda m: ((m * ARRAY[:, None]).sum() + (ARRAY * m)[0, 1] + (m * [[1.0], [2.0], [3.0]])[2, 0]
                         + (np.eye(3) * m)[0, 0] ** 2 + (m + ARRAY).sum() + (ARRAY - m)[0, 1]),
    "indexing": lambda m: (m[0] * m[:, 1])[0, 0] + m[1:, 0].sum() + m[m > 1].sum() + m[[0, 2]][1, 0] + m[-1, ...][0, 0],
    "numbers": lambda m: (2 * m + m * 3.0 - m / 2 + 1 / m - (-m) + np.float64(2) * m).sum(),
    "functions": lambda m: (np.exp(-m) * np.sin(m) + np.multiply(m, m) + np.maximum(m, 0.5)).sum(),
    "reductions": lambda m: ((m.sum(0) * m.mean(1))[0, 0] + m.std() + m.var(0)[0, 1] + m.max() - m.min(1)[2, 0]
                             + 0.1 * m.prod() + np.sum(m, axis=1)[0, 0] + np.mean(m) + m.ptp()),
    "linear algebra": lambda m: ((np.linalg.inv(m) * COLUMN)[0, 0] + (np.linalg.solve(m, COLUMN).T * COLUMN)[0, 0]
                                 + np.linalg.det(m) + np.trace(m) + np.linalg.norm(m) + np.dot(m, COLUMN)[1, 0]),
    "decompositions": lambda m: (np.linalg.svd(m)[1].sum() + np.linalg.cholesky(m * m.T)[1, 0]
                                 + (np.linalg.eigh(m + m.T)[1] * np.linalg.qr(m)[1])[0, 0] ** 2),
    "blocks": lambda m: ((np.vstack([m, ROWS]) * COLUMN)[4, 0] + np.hstack([m, COLUMN])[0, 3] * m[0, 0]
                         + np.bmat([[m, COLUMN], [COLUMN.T, np.matrix([[1.0]])]])[1, 1] ** 2),
    "made": lambda m: (np.matrix([[m[0, 0], 1.0], [2.0, m[1, 1]]]) * np.matrix("1 2; 3 4"))[1, 1] * m[0, 0],
    "arrays of it": lambda m: np.asarray(m).sum() ** 2 + (m @ ARRAY)[0, 1] * ARRAY.dot(m)[0, 0] + m.dot(ARRAY)[0, 1],
    "shapes": lambda m: (m.flatten()[0, 2] + (m.ravel() * m.reshape(9, 1))[0, 0] + m.diagonal()[0, 1] * len(m)
                         + m[:, 0].squeeze()[0, 1] + m.tolist()[0][1] + m.item(1, 1)),
    "rows": lambda m: sum((r * r.T)[0, 0] for r in m),
    "written": written,
    "filtered": filtered,
}  # fmt: skip


def slope(function, at, direction):
    ahead, behind = (np.asarray(function(np.asmatrix(at.A + step * direction))) for step in (1e-6, -1e-6))
    return (ahead - behind) / 2e-6


def check(name, backend):
    function = PROGRAMS[name]
    direction = np.random.default_rng(5).normal(size=(3, 3))
    np.testing.assert_allclose(dj.jit(function, backend=backend)(SQUARE), function(SQUARE), rtol=1e-12)
    gradient = dj.grad(function, backend=backend)
    found = gradient(SQUARE)
    assert type(found) is np.matrix
    expected = slope(function, SQUARE, direction)
    np.testing.assert_allclose((found.A * direction).sum(), expected, rtol=1e-5)
    _, tangent = dj.jvp(function, (SQUARE,), (np.asmatrix(direction),), backend=backend)
    np.testing.assert_allclose(tangent, expected, rtol=1e-5)
    product = dj.hvp(function, (SQUARE,), (np.asmatrix(direction),), backend=backend)
    assert type(product) is np.matrix
    np.testing.assert_allclose(product, slope(gradient, SQUARE, direction), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_python(name):
    check(name, "python")


@pytest.mark.parametrize("name", ["arrays", "written"])
def test_compiled(name):
    check(name, "numba")


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_compiled(name):
    check(name, "numba")


SYMMETRIC = SQUARE + SQUARE.T
OF_ONE = [
    np.linalg.inv, np.linalg.pinv, np.linalg.qr, np.linalg.eigh, np.linalg.svd, np.linalg.det, np.linalg.slogdet,
    np.linalg.norm, np.linalg.eigvalsh, np.trace, np.diag, np.diagonal, np.ravel, np.tril, np.copy, np.shape,
    np.zeros_like, np.diff, np.sort, np.sum, np.std, np.max, np.cumsum, np.transpose, np.squeeze, np.round, np.fliplr,
    np.asanyarray, np.asarray, np.array, np.exp, np.isnan, lambda m: m >= m.T, lambda m: m[0], lambda m: m[:, 0],
]  # fmt: skip
OF_TWO = [
    lambda a, b: np.einsum("ij,jk->ik", a, b),
    np.dot, np.inner, np.kron, np.outer, np.linalg.solve, np.allclose, np.matmul, np.multiply,
    lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a.dot(b), lambda a, b: np.where(a > b, a, b),
    lambda a, b: np.vstack([a, b]), lambda a, b: np.tensordot(a, b, 1),
]  # fmt: skip


def same(found, expected):
    """The same classes, shapes and numbers."""
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert type(found) is type(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("function", OF_ONE, ids=range(len(OF_ONE)))
def test_classes_of_results(function):
    program = lambda m: function(m)  # noqa: PLW0108 - a function of NumPy's has no source
    same(dj.jit(program, backend="python")(SYMMETRIC), function(SYMMETRIC))


@pytest.mark.parametrize("function", OF_TWO, ids=range(len(OF_TWO)))
@pytest.mark.parametrize("classes", ["mm", "ma", "am"])
def test_classes_beside_arrays(function, classes):
    a, b = (m if c == "m" else m.A for c, m in zip(classes, (SYMMETRIC, SQUARE), strict=True))
    program = lambda a, b: function(a, b)  # noqa: PLW0108 - a function of NumPy's has no source
    same(dj.jit(program, backend="python")(a, b), program(a, b))


def test_lanes_and_changed_arguments():
    stack = np.stack([SQUARE.A, SQUARE.A * 2])
    expected = np.stack([(np.asmatrix(a) * np.asmatrix(a)).A for a in stack])
    found = dj.vmap(lambda a: (np.asmatrix(a) * np.asmatrix(a)).A, backend="python")(stack)
    np.testing.assert_allclose(found, expected)

    def doubled(m):
        m[0] = 2 * m[0]
        return m[:, 0].sum()

    one, other = SQUARE.copy(), SQUARE.copy()
    assert dj.jit(doubled, backend="python")(one) == doubled(other)
    np.testing.assert_array_equal(one, other)


def test_sparse_matrices_become_dense():
    sparse = scipy.sparse.csr_matrix(np.where(SYMMETRIC.A > 0, SYMMETRIC.A, 0.0))
    programs = (
        lambda s: (s.todense() * COLUMN)[1, 0] ** 2,
        lambda s: (s.sum(axis=0) * s.sum(axis=1))[0, 0],
    )
    for f in programs:
        assert dj.jit(f, backend="python")(sparse) == pytest.approx(f(sparse))
        found = dj.grad(f, backend="python")(sparse).data
        for k in range(sparse.nnz):
            ahead, behind = sparse.copy(), sparse.copy()
            ahead.data[k] += 1e-6
            behind.data[k] -= 1e-6
            assert found[k] == pytest.approx((f(ahead) - f(behind)) / 2e-6, abs=1e-6)


def test_functions_that_are_not_known_are_refused():
    with pytest.raises(dj.DiffjitError, match="median"):
        dj.grad(lambda m: np.median(m)[0, 0])(SQUARE)
    with pytest.raises(dj.DiffjitError, match="out"):
        dj.grad(lambda m: np.exp(m, out=m).sum())(SQUARE)


class Logged:
    """An array that says itself what NumPy's functions make of it."""

    def __init__(self, held):
        self.held = held

    def __array__(self, dtype=None, copy=None):
        return self.held

    def __array_function__(self, func, types, args, kwargs):
        if func is np.concatenate:
            return NotImplemented
        return 3.0 * func(*[a.held if isinstance(a, Logged) else a for a in args], **kwargs)


def test_classes_are_asked():
    program = lambda x: np.sum(Logged(x**2)) + np.dot(x, Logged(x))
    x = np.array([1.0, 2.0])
    assert dj.jit(program, backend="python")(x) == program(x) == 30.0
    np.testing.assert_allclose(dj.grad(program, backend="python")(x), 12 * x)
    with pytest.raises(dj.DiffjitError, match="no implementation"):
        dj.grad(lambda x: np.concatenate([Logged(x), x]).sum())(x)


PATCHED = """
import diffjit as dj
import numpy as np

class Matrix:
    def __init__(self, data):
        self.array = np.array(data, dtype=float)

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def __matmul__(self, other):
        return Matrix(self.array @ np.asarray(other))

    def __rmatmul__(self, other):
        return Matrix(np.asarray(other) @ self.array)

np.matrix = Matrix
np.asmatrix = lambda data: data if isinstance(data, Matrix) else Matrix(data)
rows = np.array([[1.0, 2.0], [3.0, 4.0]])
print(dj.grad(lambda x: np.asarray(rows @ np.asmatrix(np.matrix(x)) @ rows).sum(), backend="python")(rows).tolist())
"""


def test_a_class_of_the_users_in_its_place():
    """Packages put their own class where NumPy's was, before anything of it is asked for."""
    command = [sys.executable, "-W", "ignore", "-c", PATCHED]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own text
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert shown.strip() == str(np.outer(rows.sum(axis=0), rows.sum(axis=1)).tolist())
