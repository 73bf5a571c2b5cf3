"""What statistics do where something is no number, and axes that they keep; how likely distances of samples are."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

import numpy as np
import pytest
from scipy import stats

import diffjit as dj
from tests.options.modes import compared

A = np.random.default_rng(5).uniform(1.0, 3.0, (5, 4))
HOLES = np.array([[0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 1]]) > 0
W = np.cos(np.arange(1.0, 60.0))
pytestmark = pytest.mark.filterwarnings("ignore")  # SciPy warns of samples of nothing
ONE = ("gmean", "hmean", "skew", "kurtosis", "sem", "variation", "gstd", "iqr", "median_abs_deviation", "circmean")
NORMAL = stats.norm.cdf  # SciPy 1.18 takes no parameters with the name "norm"
OTHERS = ("circvar", "circstd", "entropy")


def weighed(part):
    part = np.asarray(part)
    return np.nansum(part * part * W[: part.size].reshape(part.shape))


def holed(x):
    return np.where(HOLES, np.nan, x)


def omitting(function, *rest, **given):
    def program(x):
        kept = function(x, *rest, axis=(1, 0), keepdims=True, **given)
        rows = function(holed(x), *rest, axis=0, nan_policy="omit", keepdims=True, **given)
        return weighed(kept) + weighed(rows) + function(holed(x), *rest, axis=None, nan_policy="omit", **given)

    return program


def weights(x):
    given = {"axis": 1, "weights": holed(x**2), "nan_policy": "omit"}
    far = stats.entropy(holed(x), np.where(HOLES.T[:1].T, np.nan, x**2), axis=1, nan_policy="omit", keepdims=True)
    return weighed(stats.gmean(x, **given)) + weighed(stats.pmean(x, 2.5, **given)) + weighed(far)


def scores(x):
    found = stats.zscore(holed(x), nan_policy="omit"), stats.gzscore(holed(x), axis=None, nan_policy="omit")
    return sum(weighed(part) for part in found) + weighed(stats.zmap(x, holed(x), axis=1, ddof=1, nan_policy="omit"))


def of_samples(x):
    found = stats.ttest_1samp(x, 2.1, axis=1, keepdims=True), stats.ttest_ind(x, x[::-1] ** 2, keepdims=True)
    pairs = stats.linregress(holed(x)[:, 1], x[:, 2] ** 2, nan_policy="omit")
    one = stats.ttest_rel(holed(x).ravel(), x.ravel() ** 1.5, nan_policy="omit")
    return sum(weighed(part) for both in found for part in both) + pairs.slope * pairs.pvalue + one.pvalue * 1e9


def likely(alternative, method):
    def program(x):
        rows = stats.kstest(x, NORMAL, (2.0, 0.9), alternative=alternative, method=method, axis=1, keepdims=True)
        flat = stats.ks_1samp(holed(x), stats.norm.cdf, (2.1, 0.8), axis=None, nan_policy="omit")
        return weighed(rows.pvalue) + weighed(rows.statistic) + flat.pvalue

    return program


ROWS = {
    **{name: omitting(getattr(stats, name)) for name in (*ONE, *OTHERS)},
    "moment": omitting(stats.moment, order=3),
    "moments": omitting(lambda x, **given: np.sum(stats.moment(x, [2, 3], **given) ** 2, axis=0)),
    "trim_mean": omitting(stats.trim_mean, 0.2),
    "weights": weights,
    "scores": scores,
    "tests": of_samples,
}
CHANCES = [("two-sided", "auto"), ("two-sided", "asymp"), ("less", "auto"), ("greater", "auto")]


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    if backend == "numba" and name in ("weights", "scores", "tests"):  # only the gradient is compiled
        found, wanted = dj.grad(ROWS[name])(A), dj.grad(ROWS[name], backend="python")(A)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    else:
        compared(ROWS[name], A, backend, rtol=1e-5, order=2 if backend == "python" else 1)


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("which", CHANCES, ids=" ".join)
def test_distances(which, backend):
    compared(likely(*which), A, backend, rtol=1e-5, order=1)


def test_a_distribution_by_name_takes_parameters():
    by_name = dj.jit(lambda x: stats.kstest(x, "norm", (2.0, 0.9)), backend="python")(A[:, 0])
    np.testing.assert_allclose(tuple(by_name)[:2], tuple(stats.ks_1samp(A[:, 0], NORMAL, (2.0, 0.9)))[:2], rtol=1e-12)


def test_no_slope_of_a_density():
    with pytest.raises(NotImplementedError, match="second derivatives"):
        dj.hvp(likely("less", "auto"), (A,), (A,), backend="python")


def test_nothing_to_omit_and_what_must_not_be():
    assert dj.jit(lambda x: stats.gmean(x, nan_policy="raise"), backend="python")(A[0]) == stats.gmean(A[0])
    with pytest.raises(ValueError, match="contains nan"):
        dj.jit(lambda x: stats.gmean(holed(x), nan_policy="raise"), backend="python")(A)
    with pytest.raises(dj.UnsupportedSyntax, match="call it for each"):
        dj.jit(lambda x: stats.skewtest(x, nan_policy="omit").pvalue, backend="python")(A)


def test_ranks_of_what_is_a_number():
    program = lambda x: stats.rankdata(holed(x), axis=1, nan_policy="omit")
    np.testing.assert_array_equal(dj.jit(program, backend="python")(A), program(A))
