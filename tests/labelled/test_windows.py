"""pandas' `rolling` and `groupby` against pandas and difference quotients."""

import numpy as np
import pytest

import diffjit as dj
from tests.labelled.cases import check, numbers

pd = pytest.importorskip("pandas")

SERIES = pd.Series([1.3, 2.1, 0.4, 1.7, 2.9, 0.8], index=list("abcdef"), name="rates")
GAPS = pd.Series([1.3, np.nan, 0.4, 1.7, 2.9, 0.8])
TABLE = pd.DataFrame({"u": [1.3, 2.1, 0.4, 1.1], "v": [0.7, 1.9, 2.2, 0.2]}, index=pd.date_range("2020", periods=4))
KEYS = np.array([7, 2, 7, 7, 2, 9])

WINDOWS = {
    "mean": lambda s: s.rolling(3).mean(),
    "sum": lambda s: s.rolling(2).sum() * s,
    "std": lambda s: s.rolling(3).std() + s.rolling(4).var(ddof=0),
    "few": lambda s: s.rolling(3, min_periods=1).mean() + s.rolling(window=3, min_periods=2).std(),
    "middle": lambda s: s.rolling(3, center=True).sum() + s.rolling(4, center=True, min_periods=1).mean(),
    "one number": lambda s: (s - s.rolling(3).mean()).std() * s.rolling(2).count().sum(),
    "counts": lambda s: s.rolling(3, min_periods=1).count() * s + s.rolling(2).count(),
    "groups": lambda s: (s - s.groupby(KEYS).transform("mean")) ** 2 + s.groupby(KEYS).transform("sum"),
    "sums of groups": lambda s: (s.groupby(KEYS).sum() * np.arange(3.0)).sum() + (s**2).groupby(KEYS).mean().iloc[1],
    "spread of groups": lambda s: s.groupby(KEYS).std().sum() + s.groupby(KEYS).var(ddof=0).max(),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("at", [SERIES, GAPS], ids=["whole", "gaps"])
def test_series(name, at):
    check(WINDOWS[name], at, "python")


@pytest.mark.parametrize("name", ["middle", "sums of groups"])
def test_compiled(name):
    check(WINDOWS[name], SERIES, "numba")


def test_tables():
    check(lambda d: d.rolling(2).mean() * d, TABLE, "python")
    check(lambda d: d.groupby(np.array([1, 0, 1, 1])).mean()["u"].iloc[1] ** 2, TABLE, "python")


def test_a_column_of_keys():
    d = pd.DataFrame({"u": SERIES.to_numpy(), "n": KEYS, "v": SERIES.to_numpy() ** 2})
    f = lambda d: (d.groupby("n")["u"].mean() ** 2).sum() + d.groupby("n").sum()["v"].iloc[0]
    np.testing.assert_allclose(dj.jit(f, backend="python")(d), f(d))
    gradient = dj.grad(f, backend="python")(d)
    for name in ("u", "v"):
        for k in range(6):
            ahead, behind = (d.assign(**{name: d[name] + step * (np.arange(6) == k)}) for step in (1e-6, -1e-6))
            np.testing.assert_allclose(gradient[name][k], (f(ahead) - f(behind)) / 2e-6, atol=1e-7)
    assert not numbers(gradient["n"]).any()


@pytest.mark.parametrize("function", [
    lambda s: s.rolling("3D").sum(), lambda s: s.rolling(2).median(), lambda s: s.groupby(KEYS).first(),
    lambda s: s.groupby(KEYS).mean(), lambda s: s.groupby(KEYS * 0.5).sum().sum(),
], ids=range(5))  # fmt: skip
def test_refused(function):
    with pytest.raises(dj.DiffjitError):
        dj.jit(function, backend="python")(SERIES)
