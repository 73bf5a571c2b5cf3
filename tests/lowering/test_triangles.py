"""Systems with triangular matrices, told from others when they run, against NumPy, which factorises them all."""

import numpy as np
import pytest

import diffjit as dj


def _matrix(random, n, dtype):
    """Triangular, almost so, or not at all; some without a solution."""
    a = random.standard_normal((n, n)) + (1j * random.standard_normal((n, n)) if np.issubdtype(dtype, complex) else 0)
    a = a + (n + 1) * np.eye(n)
    kind = random.integers(8)
    a = [np.tril, np.triu, np.tril, np.triu, lambda x: np.diag(np.diag(x)), lambda x: x, np.tril, np.triu][kind](a)
    if n > 1 and kind in (2, 3):  # one element on the wrong side
        i, j = sorted(random.choice(n, 2, replace=False))
        a[(i, j) if kind == 2 else (j, i)] = random.choice([0.5, -0.0])
    if n and kind in (6, 7) and random.random() < 0.5:
        a[(random.integers(n),) * 2] = random.choice([0.0, -0.0])
    return a.astype(dtype)


def _placed(random, a, layout):
    """A matrix with rows, columns or neither at unit stride."""
    if layout != "A":
        return np.array(a, order=layout)
    wide = np.full((2 * len(a), 3 * len(a)), 7, a.dtype)
    view = wide[::2, ::3] if random.random() < 0.5 else wide[: len(a), : len(a)]
    view[...] = a
    return view


def _outcome(function, *args):
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except np.linalg.LinAlgError as error:
        return str(error)


@pytest.mark.parametrize("layout", ["C", "F", "A"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
def test_against_numpy(dtype, layout):
    random = np.random.default_rng([5, ord(layout), np.dtype(dtype).num])
    functions = {f: dj.jit(f) for f in (np.linalg.solve, np.linalg.inv)}
    tolerance = 1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-9
    for _ in range(120):
        n = int(random.choice([0, 1, 2, 3, 5, 8, 17, 33]))
        a = _placed(random, _matrix(random, n, dtype), layout)
        vector, several = random.standard_normal(n).astype(dtype), random.standard_normal((n, 3)).astype(dtype)
        for function, args in (
            (np.linalg.solve, (a, vector)),
            (np.linalg.solve, (a, several)),
            (np.linalg.solve, (a, several[:, ::2])),
            (np.linalg.solve, (np.stack([a, a.T]), np.stack([several, several]))),
            (np.linalg.inv, (a,)),
        ):
            wanted, found = _outcome(function, *args), _outcome(functions[function], *args)
            if isinstance(wanted, str):
                assert found == wanted
            else:
                np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("place", [(0, 2), (2, 0), (1, 1)])
def test_nan_on_any_side(place):
    """It is no zero; what LAPACK makes of it depends on the version."""
    a = 3 * np.eye(3)
    a[place] = np.nan
    found = _outcome(dj.jit(np.linalg.solve), a, np.ones(3))
    assert isinstance(found, str) or np.isnan(found).any()


@pytest.mark.parametrize("form", [np.tril, np.triu])
def test_large(form):
    """Beyond the blocks of BLAS; by rows and by columns."""
    random = np.random.default_rng(6)
    n = 300
    a = form(random.standard_normal((n, n))) / n + np.eye(n)
    b = random.standard_normal((n, n + 1))
    solve = dj.jit(np.linalg.solve)
    for matrix in (a, np.asfortranarray(a), a.T):
        np.testing.assert_allclose(solve(matrix, b), np.linalg.solve(matrix, b), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(solve(matrix, b[:, 0]), np.linalg.solve(matrix, b[:, 0]), rtol=1e-9, atol=1e-9)


def test_a_failure_that_is_caught_is_the_one_that_happens():
    """Whether there is a solution, and the solution, agree: also of a triangle whose factors would be singular."""

    @dj.jit
    def tried(a, b):
        try:
            return np.linalg.solve(a, b)
        except np.linalg.LinAlgError:
            return -b

    @dj.jit
    def factored(a):
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return -a

    random = np.random.default_rng(7)
    for _ in range(200):
        n = int(random.integers(1, 6))
        a = np.tril(random.integers(-2, 3, (n, n)).astype(float)) * 10.0 ** random.integers(-160, 160, (n, 1))
        b = random.standard_normal(n)
        with np.errstate(all="ignore"):
            assert tried(a, b).shape == (n,)
            assert tried(a.T, b).shape == (n,)
        low = np.tril(random.integers(-2, 3, (n, n)).astype(float))
        product = low @ low.T  # often singular, to the last bit
        assert factored(product).shape == (n, n)
        assert factored(np.asfortranarray(product)).shape == (n, n)
