"""Schur's form: values against SciPy, derivatives against quotients, in all modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import diffjit as dj

SEEDS = (1, 2, 7, 8)  # of matrices near which LAPACK does not turn vectors round


def given(seed: int) -> Any:
    """A matrix: of odd seeds one with complex eigenvalues, of even ones a symmetric matrix and a little more."""
    s = np.random.default_rng(seed).normal(size=(4, 4))
    return s if seed % 2 else s + s.T + 0.1 * s


BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def both(a: Any) -> Any:
    t, z = la.schur(a)
    return np.sum(np.sin(t)) + np.sum(z**3)


def plane(a: Any) -> Any:
    """What does not hang on phases."""
    t, z = la.schur(a, output="complex")
    size = np.real(z) ** 2 + np.imag(z) ** 2
    return np.sum(np.real(np.diag(t)) ** 3) + np.sum(size**2) + np.sum(np.real(t) ** 2 + np.imag(t) ** 2) ** 2


def ordered(a: Any) -> Any:
    t, z, count = la.schur(a, sort="lhp")
    return np.sum(t**3) + count * z[0, 0]


@pytest.mark.parametrize("program", [both, plane, ordered])
@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives(program: Any, seed: int) -> None:
    """Matrices with real eigenvalues and with pairs of complex ones."""
    a = given(seed)
    assert dj.jit(program, backend="python")(a) == pytest.approx(program(a), rel=1e-10)
    dj.check_grads(program, (a,), order=2 if seed in SEEDS[:2] else 1, backend="python", rtol=1e-4, atol=1e-4)


def test_pairs_were_tried() -> None:
    counts = {np.count_nonzero(np.diag(la.schur(given(seed))[0], -1)) for seed in SEEDS}
    assert counts >= {0, 1}


@BACKENDS
def test_compiled_and_lanes(backend: str) -> None:
    a = np.random.default_rng(1).normal(size=(2, 3, 3))
    gradient = dj.grad(both, backend=backend)
    np.testing.assert_allclose(gradient(a[0]), dj.grad(both, backend="python")(a[0]), rtol=1e-8, atol=1e-10)
    found = dj.jit(dj.vmap(dj.grad(both)), backend=backend)(a)
    np.testing.assert_allclose(found, [gradient(one) for one in a], rtol=1e-8, atol=1e-10)


def test_equal_eigenvalues() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="equal eigenvalues"):
        dj.grad(both, backend="python")(np.eye(3))
    with pytest.raises(dj.UnsupportedSyntax, match="sort=function"):
        dj.jit(lambda a: la.schur(a, sort=lambda w: w > 0)[0])(np.eye(3))
