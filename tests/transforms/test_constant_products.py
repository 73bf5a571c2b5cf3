"""Products and solutions of constants that are written to later: none of their operands has a tangent."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
STIFF = np.array([[3.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 5.0]])
LOADS = np.arange(6.0).reshape(3, 2)
POINT = np.array([0.3, 1.2, 0.5])


def product(p):
    forces = STIFF @ LOADS
    forces[0] = p[1] * p[0]
    forces *= p[2]
    return np.sum(forces**2)


def row(p):
    forces = np.dot(np.array([1.0, 2.0, 3.0]), LOADS)
    for k in range(2):
        forces[k] -= p[k] * p[2]
    return np.sum(forces**3)


def stack(p):
    forces = np.stack((STIFF, STIFF)) @ LOADS
    forces[1, :, 0] -= p
    return np.sum(forces * forces) * p[0]


def summed(p):
    forces = np.einsum("ij,jk->ki", STIFF, LOADS)
    forces[1] *= p
    return np.sum(forces**2)


def solution(p):
    forces = np.linalg.solve(STIFF, LOADS)
    forces[:, 1] += p * p
    return np.sum(forces**3)


def quotient(function, h=1e-4):
    """Central differences of fourth order."""
    ends = [[function(POINT + s * h * e) for e in np.eye(3)] for s in (-2, -1, 1, 2)]
    far, near, beyond, farthest = (np.array(e) for e in ends)
    return (far - 8 * near + 8 * beyond - farthest) / (12 * h)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [product, row, stack, summed, solution])
def test_forward(program, backend):
    wanted = quotient(program)
    np.testing.assert_allclose(dj.grad(program, backend=backend)(POINT), wanted, rtol=1e-8)
    for k, e in enumerate(np.eye(3)):
        value, dot = dj.jvp(program, (POINT,), (e,), backend=backend)
        np.testing.assert_allclose(value, program(POINT), rtol=1e-12)
        np.testing.assert_allclose(dot, wanted[k], rtol=1e-8)
    np.testing.assert_allclose(dj.jacfwd(program, backend=backend)(POINT), wanted, rtol=1e-8)
    second = quotient(dj.grad(program, backend=backend))
    for k, e in enumerate(np.eye(3)):
        found = dj.hvp(program, (POINT,), (e,), backend=backend)
        np.testing.assert_allclose(found, second[k], rtol=1e-7, atol=1e-7)
