"""Functions of `scipy.linalg` and `scipy.special` that are written with others, against SciPy and quotients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft as sf
import scipy.linalg as la
import scipy.special as sc

import diffjit as dj
from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import COMPOSITES
from tests.scipy.compare import same_values, total

rng = np.random.default_rng(3)
S, W = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
P = S @ S.T / 3 + np.eye(3)
G = np.array([2.3, 3.9, 2.9, 3.2, 2.6])
U = np.array([0.31, 0.84, 0.12, 0.57, 0.7])
BANDS = np.stack((3 * G, U))
TALL = rng.normal(size=(5, 3))

ROWS: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (la.blas.dgemm, lambda a, b, c: la.blas.dgemm(0.7, a, b, 0.3, c, trans_b=1), (S, W, P)),
    (la.blas.zgemm, lambda a, b: np.real(la.blas.zgemm(0.7j, a + 1j * b, b, trans_a=2)), (S, W)),
    (la.blas.dgemv, lambda a, x, y: la.blas.dgemv(0.7, a, x, 1.0, y, trans=1), (TALL, U, G[:3])),
    (la.blas.ddot, lambda x, y: la.blas.ddot(x, y) + la.blas.dnrm2(x) * la.blas.dasum(y), (G, U)),
    (la.blas.dnrm2, lambda x: la.blas.dnrm2(x), (G,)),  # noqa: PLW0108 - its name is none of Python's
    (la.blas.dasum, lambda x: la.blas.dasum(x), (G,)),  # noqa: PLW0108
    (la.blas.zdotc, lambda x, y: np.real(la.blas.zdotc(x + 1j * y, y)), (G, U)),
    (la.blas.zdotu, lambda x, y: np.imag(la.blas.zdotu(x + 1j * y, y)), (G, U)),
    (la.fiedler, la.fiedler, (G,)),
    (la.leslie, la.leslie, (G, U[:4])),
    (la.khatri_rao, la.khatri_rao, (TALL, S)),
    (la.diagsvd, lambda s: la.diagsvd(s, 3, 4), (G[:3],)),
    (la.matmul_toeplitz, lambda c, r, x: la.matmul_toeplitz((c, r), x), (G, U, U)),
    (la.solve_toeplitz, la.solve_toeplitz, (G * [9, 1, 1, 1, 1], U)),
    (la.cholesky_banded, lambda a: la.cholesky_banded(a, lower=True), (BANDS,)),
    (la.cholesky_banded, la.cholesky_banded, (BANDS[::-1],)),
    (la.cho_solve_banded, lambda a, b: la.cho_solve_banded((la.cholesky_banded(a), False), b), (BANDS[::-1], U)),
    (la.solveh_banded, lambda a, b: la.solveh_banded(a, b, lower=True), (BANDS, U)),
    (la.eigvals_banded, lambda a: la.eigvals_banded(a, lower=True), (BANDS,)),
    (la.eigvalsh_tridiagonal, la.eigvalsh_tridiagonal, (G, U[:4])),
    (la.eigh_tridiagonal, lambda d, e: la.eigh_tridiagonal(d, e)[0], (G, U[:4])),
    *(
        (la.solve, lambda a, b, f=f: la.solve(a, b, assume_a=f) + la.solve(a, b, assume_a=f, transposed=True),
         (P + 0.1 * S, W))
        for f in ("diagonal", "tridiagonal", "upper triangular", "lower triangular", "banded", "general")
    ),
    *((f, f, (G[0],)) for f in (la.cholesky, la.expm)),  # a number is a matrix of one row
    (la.cholesky, lambda a: la.cholesky(a, lower=True), (G[:1],)),
    *((la.solve, la.solve, (a, b)) for a, b in ((G[0], U[0]), (G[0], U[:1]), (P[:1, :1], U[0]), (G[0], TALL[:1]))),
    (la.lu, la.lu, (S,)),
    (la.lu, lambda a: la.lu(a, permute_l=True), (S,)),
    (la.qr, la.qr, (S,)),
    (la.qr, lambda a: la.qr(a, mode="economic"), (TALL,)),
    (la.rq, la.rq, (S,)),
    (la.eig_banded, lambda a: la.eig_banded(a, lower=True)[0], (BANDS,)),
    (la.polar, la.polar, (S,)),
    (la.polar, lambda a: la.polar(a, "left"), (S,)),
    (la.orthogonal_procrustes, la.orthogonal_procrustes, (TALL, TALL[::-1] ** 2)),
    (la.pinvh, la.pinvh, (P,)),
    (la.sqrtm, la.sqrtm, (P + 0.1 * S,)),
    (la.logm, la.logm, (P + 0.1 * S,)),
    (la.funm, lambda a: la.funm(a, lambda z: np.sqrt(z) * np.sin(z)), (P + 0.1 * S,)),
    (la.fractional_matrix_power, la.fractional_matrix_power, (P, 0.3)),
    (la.signm, la.signm, (S + np.diag([3.0, -4.0, 2.0]),)),
    (la.coshm, la.coshm, (S,)),
    (la.sinhm, la.sinhm, (S,)),
    (la.tanhm, la.tanhm, (0.4 * S,)),
    (la.cosm, la.cosm, (S,)),
    (la.sinm, la.sinm, (S,)),
    (la.tanm, la.tanm, (0.4 * S,)),
    (la.expm_frechet, la.expm_frechet, (S, W)),
    (sc.jvp, lambda z: sc.jvp(1.5, z, 2), (G,)),
    (sc.yvp, lambda z: sc.yvp(1.5, z), (G,)),
    (sc.ivp, lambda z: sc.ivp(1.5, z, 3), (G,)),
    (sc.kvp, lambda z: sc.kvp(1.5, z, 3), (G,)),
    (sc.spherical_kn, lambda z: sc.spherical_kn(2, z) + sc.spherical_kn(2, z, True), (G,)),
]  # fmt: skip
ASKED = {la.issymmetric, la.ishermitian}


@pytest.mark.parametrize("k", range(len(ROWS)), ids=[f"{row[0].__name__}-{k}" for k, row in enumerate(ROWS)])
def test_values_and_derivatives(k: int) -> None:
    _, function, args = ROWS[k]
    same_values(function, args, "python")
    dj.check_grads(total(function), args, order=1, backend="python", rtol=2e-5, atol=2e-5)


def test_every_function_has_a_row() -> None:
    learn()
    declared = {
        f for f, plain in COMPOSITES.items() if plain.__module__.startswith("diffjit.primitives.library.linear.")
    }
    assert declared - {row[0] for row in ROWS} == ASKED


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_second_order_and_machine_code(name: str) -> None:
    function = {"sqrtm": la.sqrtm, "logm": la.logm}[name]
    dj.check_grads(lambda a: np.sum(function(a) ** 2), (P,), order=2, backend="python", rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(dj.jit(function)(P), function(P), rtol=1e-10)


def test_equal_eigenvalues() -> None:
    """A root and a logarithm are differentiable where eigenvalues are equal."""
    assert dj.grad(lambda a: np.trace(la.sqrtm(a)), backend="python")(np.eye(2)) == pytest.approx(0.5 * np.eye(2))
    assert dj.grad(lambda a: np.trace(la.logm(a)), backend="python")(np.eye(2)) == pytest.approx(np.eye(2))


def test_without_a_real_root() -> None:
    with pytest.raises(ValueError, match=r"negative axis|Singular"):
        dj.jit(la.sqrtm, backend="python")(np.diag([-1.0, 2.0]))


def test_questions() -> None:
    ask = lambda a: (la.issymmetric(a), la.ishermitian(a), la.issymmetric(a, atol=1e-3))
    for a in (P, S, P + 1e-6 * S):
        assert dj.jit(ask, backend="python")(a) == ask(a)


def test_numbers_that_are_known() -> None:
    program = lambda x: np.sum(x * sc.roots_legendre(3)[0]) + x * sc.jn_zeros(1, 2)[1] + x * la.pascal(3)[2, 2]
    assert dj.grad(program, backend="python")(1.0) == pytest.approx(program(1.0))


def test_a_function_that_dispatches_is_refused() -> None:
    """Its Python source gives what it dispatches on: that was once the result."""
    with pytest.raises(dj.NoRule, match="hfftn"):
        dj.jit(lambda x: np.abs(sf.hfftn(x)), backend="python")(np.ones((3, 4)))
