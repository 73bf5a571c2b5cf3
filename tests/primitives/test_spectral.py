"""Eigenvalues and singular values in programs: all modes on both backends, equal values, complex matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import diffjit as dj

rng = np.random.default_rng(3)


def normal_modes(k: Any, m: Any) -> Any:
    """Frequencies of coupled oscillators, weighted by the shape of each mode."""
    w, v = np.linalg.eigh(k + k.T + 4 * np.eye(len(m)) / m)
    return np.sum(np.sqrt(np.abs(w)) * v[0] ** 2)


def low_rank(a: Any, b: Any) -> Any:
    """How far a matrix is from its best approximation of rank 1, and how well it is conditioned."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    best = s[0] * np.outer(u[:, 0], vt[0])
    return np.sum((b - best) ** 2) + np.log(s[0] / s[-1])


def sizes(a: Any) -> Any:
    """Numbers made of singular values."""
    return np.log(np.linalg.cond(a)) + np.linalg.norm(a, "nuc") + np.linalg.norm(a, 2) ** 2


def energies(x: Any, y: Any) -> Any:
    """The spectrum and the ground state of a Hermitian matrix."""
    w, v = np.linalg.eigh((x + 1j * y), "U")
    return np.sum(np.tanh(w)) + np.sum(np.abs(v[:, 0]) ** 4)


def channels(x: Any, y: Any) -> Any:
    """The strongest channel between complex antennas."""
    u, s, vh = np.linalg.svd(x + 1j * y, full_matrices=False)
    return np.sum(np.log1p(s**2)) + np.abs(u[0, 0] * vh[0, 1]) ** 2


PROGRAMS = [
    (normal_modes, (rng.normal(size=(3, 3)), np.array([1.0, 2.0, 3.5]))),
    (low_rank, (rng.normal(size=(4, 3)), rng.normal(size=(4, 3)))),
    (low_rank, (rng.normal(size=(2, 4)), rng.normal(size=(2, 4)))),
    (energies, (rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))),
    (channels, (rng.normal(size=(3, 2)), rng.normal(size=(3, 2)))),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_programs_in_all_modes(function: Any, args: Any) -> None:
    for backend, order in (("python", 2), ("numba", 1)):
        assert dj.jit(function, backend=backend)(*args) == pytest.approx(function(*args), rel=1e-12)
        dj.check_grads(function, args, order=order, backend=backend)
    lanes = np.stack([args[0], 0.9 * args[0] + 0.1])
    gradient = dj.grad(function, backend="python")
    mapped = dj.jit(dj.vmap(dj.grad(function), in_axes=(0, None)), backend="python")(lanes, args[1])
    np.testing.assert_allclose(mapped, [gradient(lane, args[1]) for lane in lanes], rtol=1e-9, atol=1e-11)


def test_compiled_at_second_order_and_under_vmap() -> None:
    a = rng.normal(size=(3, 3))
    dj.check_grads(lambda a: np.sum(np.sqrt(np.abs(np.linalg.eigh(a)[1][0]))), (a,), order=2, modes=("rev",))
    values, vectors = dj.jit(dj.vmap(np.linalg.eigh))(np.stack([a, a.T]))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(np.stack([a, a.T])), rtol=1e-12)
    assert vectors.shape == (2, 3, 3)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 3)])
def test_numbers_made_of_singular_values(shape: Any) -> None:
    dj.check_grads(sizes, (rng.normal(size=shape),), order=2, backend="python")


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_equal_values(backend: str) -> None:
    a = np.diag([2.0, 2.0, 5.0])

    def of_values(a: Any) -> Any:
        w, _ = np.linalg.eigh(a)
        return np.sum(w**3) + np.sum(np.linalg.svd(a)[1] ** 2)

    np.testing.assert_allclose(dj.grad(of_values, backend=backend)(a), 3 * a @ a + 2 * a, atol=1e-13)
    # Vectors of equal values have no derivative: never a number.
    slope = dj.grad(lambda a: np.linalg.eigh(a)[1][0, 0] * np.linalg.eigh(a)[1][1, 0], backend=backend)(a)
    assert np.isnan(slope).any()
    slope = dj.grad(lambda a: np.prod(np.linalg.svd(a)[0][:2, 2] + 1), backend=backend)(a)
    assert np.isnan(slope).any()
    # The third vector keeps apart from the two.
    slope = dj.grad(lambda a: np.linalg.eigh(a)[1][0, 2] * np.linalg.eigh(a)[1][2, 2], backend=backend)(a)
    np.testing.assert_allclose(slope, [[0, 0, 0], [0, 0, 0], [1 / 3, 0, 0]], atol=1e-14)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_fails(backend: str) -> None:
    wide = np.ones((2, 3))
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        dj.jit(lambda a: np.linalg.eigh(a)[0], backend=backend)(wide)
    with pytest.raises((dj.UnsupportedSyntax, NotImplementedError), match="full_matrices=False"):
        dj.jit(lambda a: np.linalg.svd(a)[0], backend=backend)(wide)
    with pytest.raises(ValueError, match="UPLO"):
        dj.jit(lambda a: np.linalg.eigh(a, "X")[0], backend=backend)(wide)
    empty = dj.jit(lambda a: np.linalg.svd(a, full_matrices=False), backend=backend)(np.ones((0, 3)))
    assert [x.shape for x in empty] == [(0, 0), (0,), (0, 3)]
