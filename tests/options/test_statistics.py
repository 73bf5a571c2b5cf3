"""Quantiles by every method and by weights, margins turned round, fits in full, tolerances, and logarithms of sums."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false, reportOptionalSubscript=false
# pyright: reportAssignmentType=false

import numpy as np
import pytest
from scipy import special

import diffjit as dj
from tests.options.modes import compared

A = np.random.default_rng(5).normal(size=(2, 5))
W = np.random.default_rng(6).uniform(0.5, 2.0, 60)
SHARES = np.array([0.0, 0.2, 0.25, 0.5, 0.61, 1.0])


def quantiles(method):
    def program(a):
        found = np.quantile(a, SHARES, axis=1, method=method)
        holes = np.nanpercentile(np.where(a > 1.5, np.nan, a), 30, axis=1, method=method)
        return np.sum(found**2 * W[:12].reshape(6, 2)) + np.sum(holes**2)

    return program


def weighted(a):
    given = {"method": "inverted_cdf", "axis": 1}
    rows = np.quantile(a, [0.0, 0.3, 0.7, 1.0], weights=W[:5], **given)
    none = np.percentile(a, 0, weights=np.array([0.0, 0.0, 1.0, 2.0, 3.0]), **given)
    holes = np.nanquantile(np.where(a > 0.5, np.nan, a), [0.3, 0.7], weights=W[:10].reshape(2, 5), **given)
    stack = np.stack([a, 2 * a, a**2])
    both = np.quantile(stack, 0.2, weights=W[:15].reshape(5, 3), axis=(2, 0), method="inverted_cdf", keepdims=True)
    return np.sum(rows**2 * W[:8].reshape(4, 2)) + np.sum(none**2) + np.sum(holes**2) + np.sum(both**2)


def margins(mode, width):
    def program(a):
        wide = np.pad(a, width, mode=mode, reflect_type="odd")
        return np.sum(np.sin(wide) * np.cos(np.arange(wide.size)).reshape(wide.shape))

    return program


def fit(a):
    c, left, rank, values, cut = np.polyfit(a[1], a[0], 1, full=True, w=W[:5])
    return np.sum(c**2) + left[0] ** 2 + rank * a[0, 0] + np.sum(values) * a[0, 1] + cut


def tolerances(a):
    found = np.linalg.lstsq(a.T, W[:5], rcond=-1)[0]
    inverse = np.linalg.pinv(np.stack([a, a * 2]), rcond=1e-8)
    return np.sum(found**2) + np.sum(inverse**2 * W[:10].reshape(5, 2)) + np.sum(np.linalg.pinv(a, rtol=1e-9))


def sums(a):
    b = np.array([1.0, 0.0, -2.0, 0.0, -0.5])
    log, sign = special.logsumexp(a, b=b, axis=1, return_sign=True)
    nothing, its_sign = special.logsumexp(a[:0], axis=0, return_sign=True)
    return np.sum(log**2 * sign) + np.sum(np.exp(nothing)) + its_sign[0] * a[0, 0] ** 2


def weights_of_sums(b):
    """At weights of 0, whose derivatives are those of any other."""
    b = b - A * (np.arange(5) > 2)
    return special.logsumexp(0.3 * np.arange(10.0).reshape(2, 5), b=b + (np.arange(5) < 3) * 3.0)


ROWS = {
    **{name: quantiles(name) for name in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "weibull")},
    "weighted": weighted,
    "reflected": margins("reflect", ((1, 2), (2, 3))),
    "reflected often": margins("reflect", ((3, 0), (9, 11))),
    "symmetric": margins("symmetric", 2),
    "symmetric often": margins("symmetric", ((5, 1), (12, 11))),
    "fit": fit,
    "tolerances": tolerances,
    "sums": sums,
    "weights of sums": weights_of_sums,
}


LONG = ("tolerances", "fit", "weighted")  # of these the gradient alone is compiled


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    if backend == "numba" and name in LONG:
        found, wanted = dj.grad(ROWS[name])(A), dj.grad(ROWS[name], backend="python")(A)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    else:
        compared(ROWS[name], A, backend, order=2 if backend == "python" else 1)


def test_one_row_has_no_slope_to_turn():
    for mode in ("reflect", "symmetric"):
        program = margins(mode, ((2, 1), (3, 1)))
        np.testing.assert_allclose(dj.jit(program, backend="python")(A[:1]), program(A[:1]))


def test_entries_without_weight_may_be_anything():
    entries = np.array([1.0, np.nan, np.inf, 900.0])

    def program(b):
        return special.logsumexp(entries, b=np.stack([b, 0.0, 0.0, 0.0]))

    assert dj.jit(program, backend="python")(2.0) == pytest.approx(program(2.0))
    assert dj.grad(program, backend="python")(2.0) == pytest.approx(0.5)


@pytest.mark.parametrize("program", [
    pytest.param(lambda a: np.sum(np.linalg.lstsq(a.T, W[:5], rcond=0.9)[0]), id="lstsq"),
    pytest.param(lambda a: np.sum(np.linalg.pinv(a, rcond=0.9)), id="pinv"),
    pytest.param(lambda a: np.sum(np.polyfit(a[0], a[1], 2, rcond=0.5)), id="polyfit"),
])  # fmt: skip
def test_tolerances_that_cut(program):
    with pytest.raises(NotImplementedError, match="among matrices of one rank"):
        dj.grad(program, backend="python")(A)
