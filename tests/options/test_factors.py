"""Inverses of matrices of a form, factors with exchanged columns and rows, tolerances of SciPy's pseudo-inverses."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false, reportOptionalSubscript=false
# pyright: reportAssignmentType=false

import numpy as np
import pytest
import scipy.linalg as la

import diffjit as dj
from tests.options.modes import compared

A = np.random.default_rng(5).normal(size=(3, 3)) + np.diag([3.0, 4.0, 5.0])
TALL = np.random.default_rng(6).normal(size=(5, 3))
W = np.cos(np.arange(1.0, 60.0))


def weighed(*parts):
    return sum(np.sum(part * part * W[: part.size].reshape(part.shape)) for part in parts)


def formed(form, lower):
    def program(a):
        return weighed(la.inv(a, assume_a=form, lower=lower))

    return program


def exchanged(mode):
    def program(a):
        q, r, order = la.qr(a, mode=mode, pivoting=True)
        right, its_order = la.qr(a.T, mode="r", pivoting=True)
        return weighed(q[:, :3], r, right) + np.sum(order * a[0]) + its_order[0] * a[1, 1] + np.sum(a[:, order] ** 3)

    return program


def rows(a):
    order, low, up = la.lu(a[::-1] @ a, p_indices=True)
    product, _ = la.lu(a, permute_l=True, p_indices=True)
    return weighed(low, up, low[order], product) + np.sum(order * a[0])


def pseudo(a):
    inverse, rank = la.pinv(a, atol=1e-9, return_rank=True)
    return weighed(inverse) * rank


def nearest(a):
    x, left, count, values = la.lstsq(a, W[:5], cond=1e-9)
    return weighed(x, values) + left * count


def symmetric(a):
    inverse, rank = la.pinvh(a, rtol=1e-9, return_rank=True, lower=False)
    return weighed(inverse) * rank + rank * a[0, 0]


def diagonals(a):
    stack = np.stack([a, a**2])
    return weighed(np.linalg.diagonal(stack), np.linalg.diagonal(stack, offset=1), np.linalg.diagonal(a, offset=-1))


ROWS = {
    **{f"{form}, {lower}": (formed(form, lower), A) for form in ("sym", "her", "general") for lower in (True, False)},
    "upper": (formed("upper triangular", False), A),
    "lower": (formed("lower triangular", False), A),
    "pos": (formed("pos", True), A @ A.T),
    "exchanged": (exchanged("full"), TALL),
    "exchanged, economic": (exchanged("economic"), TALL),
    "rows": (rows, A),
    "pseudo": (pseudo, TALL),
    "nearest": (nearest, TALL),
    "symmetric": (symmetric, A + A.T),
    "diagonals": (diagonals, A),
}
LONG = (
    "pseudo",
    "nearest",
    "symmetric",
    "exchanged",
    "exchanged, economic",
    "rows",
)  # only the gradient is compiled


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    program, x = ROWS[name]
    if backend == "numba" and name in LONG:
        found, wanted = dj.grad(program)(x), dj.grad(program, backend="python")(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    else:
        compared(program, x, backend, rtol=1e-5, order=2 if backend == "python" else 1)


def test_types():
    assert dj.jit(lambda a: la.lu(a, p_indices=True)[0], backend="python")(A).dtype == np.int32
    order = dj.jit(lambda a: la.qr(a, pivoting=True)[2], backend="python")(TALL)
    assert order.dtype == la.qr(TALL, pivoting=True)[2].dtype


def test_a_diagonal_is_demanded():
    program = dj.grad(formed("diagonal", False), backend="python")
    a = np.diag([2.0, 3.0, 4.0])
    np.testing.assert_allclose(np.diagonal(program(a)), -2 * W[[0, 4, 8]] / np.diagonal(a) ** 3)
    with pytest.raises(NotImplementedError, match="leave it out"):
        program(A)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: la.pinv(a, atol=3.0),
        lambda a: la.pinvh(a @ a.T, rtol=0.9),
        lambda a: la.lstsq(a[:, :2], W[:3], cond=0.9)[0],
    ],
    ids=["pinv", "pinvh", "lstsq"],
)
def test_tolerances_that_cut_are_refused(function):
    with pytest.raises(NotImplementedError, match="a tolerance"):
        dj.grad(lambda a: np.sum(function(a)), backend="python")(A)
