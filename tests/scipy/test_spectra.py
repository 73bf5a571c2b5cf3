"""Eigenvalues of matrices that are not symmetric, roots and polynomials as objects: NumPy, quotients, JAX, and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial
from numpy.polynomial import polynomial as powers

import diffjit as dj
from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import COMPOSITES
from tests.scipy.compare import same_values, total

rng = np.random.default_rng(0)
S = rng.normal(size=(3, 3))  # real eigenvalues
T = rng.normal(size=(4, 4))  # two of them complex
NEAR = np.eye(3) + 0.2 * rng.normal(size=(3, 3))
C, D = np.array([1.0, -2.0, 3.0, 0.5, -1.2]), np.array([2.0, 0.3, -1.0])
X = np.array([0.3, 0.7, 1.9])
CURVE, WIDE = np.poly1d([1.0, 2.0, 3.0]), Polynomial([1.0, 2.0, 3.0], [0, 2], [-1, 1])

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def flat(z: Any) -> Any:
    """Real and imaginary parts."""
    return np.concatenate((np.ravel(np.real(z)), np.ravel(np.imag(z))))


def arithmetic(p: Any, q: Any, x: Any) -> Any:
    one, two = np.poly1d(p), np.poly1d(q)
    quotient, rest = one / two
    both = one * two + 3 * one.deriv() - two.integ() ** 2 + x[0]
    return both(x) + quotient(x) + rest(x) + one(two)(x) + (-one / 2.0)(x) + one[1] + one.o


def by_functions(p: Any, q: Any, x: Any) -> Any:
    """NumPy's functions of coefficients, of objects, which give objects."""
    one, two = np.poly1d(p), np.poly1d(q)
    both = np.polyadd(one, q) - np.polysub([1, 2], two) * np.polyder(np.polymul(one, two), 4)
    return both(x) + np.polyint(one, 2, [1.0, 2.0])(x) + np.polydiv(p, two)[0](x) / 9.0


def interpolating(x: Any) -> Any:
    """Lagrange's polynomials and their slopes, as in direct collocation: their coefficients begin as integers."""
    total = 0.0
    for j in range(3):
        p = np.poly1d([1])
        for k in range(3):
            if k != j:
                p *= np.poly1d([1, -x[k]]) / (x[j] - x[k])
        total = total + np.polyder(p)(x + 0.1) * p(1.0) * (j + 1)
    return total


def series(p: Any, q: Any, x: Any) -> Any:
    one, two, wide = Polynomial(p), Polynomial(q), Polynomial(p, [0, 3])
    both = one * two - 2 * two + one**2 - x[0]
    divided = (one // two)(x) + (one % two)(x)
    return both(x) + divided + wide.deriv(2)(x) + wide.integ(2, [1.0, 2.0], 0.3)(x) + wide.convert()(x) + one.degree()


ROWS: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (np.linalg.eigvals, lambda a: flat(np.linalg.eigvals(a)), (T,)),
    (np.linalg.eig, lambda a: flat(np.linalg.eig(a)[0]), (T,)),
    (np.linalg.eig, lambda a: np.abs(np.linalg.eig(a).eigenvectors), (T,)),
    (np.linalg.eig, lambda a: flat(np.linalg.eig(a)[1]), (S,)),
    (np.linalg.eig, lambda a, b: flat(np.linalg.eig(a + 1j * b)[1]), (S, S.T**2)),
    (np.linalg.eig, lambda a: np.abs(np.linalg.eig(a)[1]), (np.stack((S, S + np.diag([1.0, 2.0, 3.0]))),)),
    (np.linalg.eigvals, lambda a: flat(np.linalg.eigvals(a)), (np.stack((S, T[:3, :3])),)),
    (la.eig, lambda a: flat(la.eig(a)[0]), (T,)),
    (la.eig, lambda a: np.abs(la.eig(a, left=True)[1]) + np.abs(la.eig(a, left=True)[2]), (T,)),
    (la.eig, lambda a: np.abs(la.eig(a, left=True, right=False)[1]), (T,)),
    (la.eigvals, lambda a: flat(la.eigvals(a)), (T,)),
    (la.eigvals, lambda a, b: flat(la.eigvals(a, b)), (S, NEAR)),
    (np.roots, lambda p: flat(np.roots(p)), (C,)),
    (np.roots, lambda p: flat(np.roots(np.concatenate((np.zeros(1), p, np.zeros(1))))), (C,)),
    (np.roots, lambda p: flat(np.roots(p + 1j * p[::-1] ** 2)), (C,)),
    (np.roots, lambda p: flat(np.roots(p)), (D,)),
    (powers.polyroots, lambda p: flat(powers.polyroots(p)), (C,)),
    (np.poly, np.poly, (S,)),
    (np.poly1d, lambda p, x: np.poly1d(p)(x), (C, X)),
    (np.poly1d, arithmetic, (C, D, X)),
    (np.poly1d, lambda p: np.abs(np.roots(np.poly1d(p))) + np.abs(np.poly1d(p, True).c[2:]), (C,)),
    (np.poly1d, lambda x: CURVE(x) + CURVE.deriv()(x) + np.polyval(CURVE, x) + CURVE.order, (X,)),
    (np.polydiv, np.polydiv, (C, D)),
    (np.poly1d, by_functions, (C, D, X)),
    (np.poly1d, interpolating, (X,)),
    (np.poly1d, lambda x: (x[0] * CURVE) * np.sin(np.poly1d(x)) + x * CURVE, (X,)),  # arrays, as NumPy has it
    (Polynomial, lambda p, x: Polynomial(p)(x), (C, X)),
    (Polynomial, series, (C, D, X)),
    (Polynomial, lambda p: np.abs(Polynomial(p, [0, 3]).roots()), (C,)),
    (Polynomial, lambda y: Polynomial.fit(X, y, 1)(X) + Polynomial.fit(X, y, 1).convert().coef[0], (X**2,)),
    (Polynomial, lambda x: WIDE(x) + WIDE.deriv()(x) + WIDE.integ(lbnd=0.5)(x), (X,)),
    *((basis, lambda p, x, f=basis: f(p)(x) + (2 * f(p) - f(p[:2]))(x), (C, X))
      for basis in (Chebyshev, Legendre, Hermite, HermiteE, Laguerre)),
]  # fmt: skip
NAMES = [f"{row[0].__name__}-{k}" for k, row in enumerate(ROWS)]
TWICE = (0, 3, 4, 12, 16, 18, 22)


@pytest.mark.parametrize("k", range(len(ROWS)), ids=NAMES)
def test_values_and_derivatives(k: int) -> None:
    _, function, args = ROWS[k]
    for backend in ("python", "numba"):
        same_values(function, args, backend)
    order = 2 if k in TWICE else 1
    dj.check_grads(total(function), args, order=order, backend="python", rtol=5e-5, atol=5e-5)


@pytest.mark.parametrize("k", [0, 2, 12], ids=["eigvals", "eig", "roots"])
def test_gradients_compiled_and_in_lanes(k: int) -> None:
    _, function, (a,) = ROWS[k]
    plain = dj.grad(total(function), backend="python")
    np.testing.assert_allclose(dj.grad(total(function))(a), plain(a), rtol=1e-9, atol=1e-10)
    lanes = np.stack((a, 1.01 * a))
    np.testing.assert_allclose(dj.vmap(plain)(lanes), [plain(x) for x in lanes], rtol=1e-9, atol=1e-10)


def test_every_function_has_a_row() -> None:
    learn(np.linalg.eig)
    rooms = ("diffjit.solvers.algebra.spectra", "diffjit.solvers.algebra.pencils", "diffjit.primitives.library.series")
    others = "diffjit.primitives.library.series.recurrences"  # `tests/primitives/test_series`
    declared = {f for f, p in COMPOSITES.items() if p.__module__.startswith(rooms) and p.__module__ != others}
    assert declared - {row[0] for row in ROWS} == set()


def test_as_jax_has_it() -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        theirs = jax.grad(lambda a: jax.numpy.sum(jax.numpy.abs(jax.numpy.linalg.eigvals(a)) ** 3))(T)
    found = dj.grad(lambda a: np.sum(np.abs(np.linalg.eigvals(a)) ** 3))(T)
    np.testing.assert_allclose(found, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_random_matrices_along_lines(seed: int) -> None:
    """Vectors go on as LAPACK has them a little further, up to signs that jump."""
    draw = np.random.default_rng(seed)
    n = 2 + seed
    a, dot = draw.normal(size=(n, n)), draw.normal(size=(n, n))
    if seed % 2:
        a, dot = a + 1j * draw.normal(size=(n, n)), dot + 1j * draw.normal(size=(n, n))
    (w, v), (w_dot, v_dot) = dj.jvp(lambda a: tuple(np.linalg.eig(a)), (a,), (dot,), backend="python")
    h = 1e-6
    for sign in (1, -1):
        later, vectors = np.linalg.eig(a + sign * h * dot)
        order = np.argmin(np.abs(later[:, None] - w[None, :]), axis=0)
        later, vectors = later[order], vectors[:, order]
        jumped = np.sign(np.real(np.sum(np.conj(v) * vectors, axis=0)))
        np.testing.assert_allclose((later - w) / (sign * h), w_dot, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose((jumped * vectors - v) / (sign * h), v_dot, rtol=1e-3, atol=1e-3)


@BACKENDS
def test_equal_eigenvalues(backend: str) -> None:
    """What is symmetric in equal eigenvalues has its first derivative; what turns their vectors raises."""
    for f, wanted in (
        (lambda a: np.sum(np.real(np.linalg.eigvals(a) ** 2)), 2 * np.eye(3)),
        (lambda a: np.sum(np.real(np.linalg.eig(a)[0] ** 2)), 2 * np.eye(3)),
        (lambda a: np.poly(a)[3], -np.eye(3)),
    ):
        np.testing.assert_allclose(dj.grad(f, backend=backend)(np.eye(3)), wanted, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="equal eigenvalues"):
        dj.grad(lambda a: np.sum(np.real(np.linalg.eig(a)[1])) ** 2, backend=backend)(np.eye(3))
    with pytest.raises(np.linalg.LinAlgError, match="equal eigenvalues"):
        dj.hessian(lambda a: np.sum(np.real(np.linalg.eigvals(a) ** 2)), backend=backend)(np.eye(2))


@BACKENDS
def test_ends(backend: str) -> None:
    for a in (np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])):
        with pytest.raises(np.linalg.LinAlgError, match="basis of eigenvectors"):
            dj.grad(lambda a: np.sum(np.real(np.linalg.eigvals(a))), backend=backend)(a)
    for p in (np.array([1.0, -2.0, 1.0]), np.array([1.0, 2.0, 0.0, 0.0])):
        with pytest.raises(np.linalg.LinAlgError, match="multiple root"):
            dj.grad(lambda p: np.sum(np.real(np.roots(p))), backend=backend)(p)


def test_units_do_not_make_a_basis_dependent() -> None:
    """States in units of very different sizes have eigenvectors that look alike."""
    scale = np.diag([1.0, 1e6, 1e-5])
    f = lambda a: np.sum(np.abs(np.linalg.eigvals(scale @ a @ la.inv(scale))) ** 2)
    plain = lambda a: np.sum(np.abs(np.linalg.eigvals(a)) ** 2)
    np.testing.assert_allclose(dj.grad(f, backend="python")(S), dj.grad(plain, backend="python")(S), rtol=1e-6)


def test_a_coefficient_that_is_0_has_a_derivative() -> None:
    zero = np.array([0.0, 1.0, 2.0])
    assert dj.grad(lambda p: np.poly1d(p)(3.0), backend="python")(zero) == pytest.approx([9.0, 3.0, 1.0])
    up = zero[::-1].copy()
    assert dj.grad(lambda p: Polynomial(p)(3.0) + (Polynomial(p) + 1.0)(3.0), backend="python")(up) == pytest.approx(
        [2.0, 6.0, 18.0]
    )
    trimmed = dj.jit(lambda p: (np.poly1d(p).c, Polynomial(p).coef, (Polynomial(p) + 1.0).coef))
    for one, other in zip(trimmed(zero), ([1.0, 2.0], zero, [1.0, 1.0, 2.0]), strict=True):
        np.testing.assert_allclose(one, other)


def test_polynomials_as_arguments_and_results() -> None:
    made = dj.jit(lambda p: (np.poly1d(p).deriv(), Polynomial(p) * Polynomial(p)))(C)
    assert made == (np.poly1d(C).deriv(), Polynomial(C) * Polynomial(C))
    assert isinstance(made[1], Polynomial)
    by = dj.grad(lambda p, x: p(x) + p.deriv()(x))(np.poly1d(D), 2.0)
    np.testing.assert_allclose(by.whole, [8.0, 3.0, 1.0])


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda a: la.eig(a, a)[1], "two matrices"),
        (lambda a: np.poly1d(a[0], variable="z").c, "variable"),
    ],
)
def test_refused(program: Any, words: str) -> None:
    with pytest.raises(dj.DiffjitError, match=words):
        dj.jit(program, backend="python")(S)
