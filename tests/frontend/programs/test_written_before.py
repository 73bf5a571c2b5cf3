"""A reshape may be a view or a copy: that shows where something is written to afterwards, not before."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
A = np.random.default_rng(0).normal(size=(5, 6, 7))


def gathered(a):
    """As images become rows of a matrix: written first, then reshaped."""
    col = np.zeros((a.shape[0], 2, a.shape[2], a.shape[1]))
    for k in range(2):
        col[:, k] = np.swapaxes(a, 1, 2) * (k + 1.0)
    rows = col.transpose(0, 2, 1, 3).reshape(a.shape[0] * a.shape[2], -1)
    return np.sum(rows @ np.ones(rows.shape[1]) * np.arange(rows.shape[0]))


def in_each_turn(a):
    """What is written and reshaped is new in each turn."""
    total = 0.0
    for k in range(a.shape[0]):
        m = np.zeros((a.shape[2], a.shape[1]))
        m[0] = a[k, :, 1]
        m[1] = a[k, :, 2] * k
        flat = m.T.reshape(-1)
        total = total + np.sum(flat * np.arange(flat.size))
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [gathered, in_each_turn])
def test_written_before(program, backend):
    v, h = np.random.default_rng(1).normal(size=A.shape), 1e-6
    slope = (program(A + h * v) - program(A - h * v)) / (2 * h)
    assert np.isclose(dj.jit(program, backend=backend)(A), program(A))
    assert np.isclose(np.sum(dj.grad(program, backend=backend)(A) * v), slope, rtol=1e-6)


def written_after(a):
    flat = a[:, 0].T.reshape(-1)
    flat[0] = 3.0
    return np.sum(a) + np.sum(flat)


def written_in_the_next_turn(a):
    m = a[0] * 1.0
    total = 0.0
    for _ in range(3):
        flat = m.T.reshape(-1)
        total = total + np.sum(flat)
        m[0] = total
    return total + np.sum(m)


@pytest.mark.parametrize("program", [written_after, written_in_the_next_turn])
@pytest.mark.parametrize("a", [A, A[:, :, :1], A[:1, :1], np.asfortranarray(A)])
def test_written_after(program, a):
    """Decided when the program runs, or refused: never other than NumPy."""
    try:
        found = dj.jit(program, backend="python")(a.copy(order="K"))
    except dj.MemoryProblem:
        return
    assert np.isclose(found, program(a.copy(order="K")))
