"""pandas' Series and DataFrame: as arguments, captured, made inside, and as gradients."""

import subprocess
import sys

import numpy as np
import pytest

import diffjit as dj
from tests.labelled.cases import check, numbers, same_labels

pd = pytest.importorskip("pandas")

TEXTS = pd.Series([1.3, 2.1, 0.4, 1.7], index=["a", "b", "c", "d"], name="rates")
DATES = pd.Series([1.3, 2.1, 0.4, 1.7], index=pd.date_range("2020-01-01", periods=4))
GAPS = pd.Series([1.3, np.nan, 0.4, 1.7], index=[10, 20, 30, 40])
TABLE = pd.DataFrame(
    {"u": [1.3, 2.1, 0.4], "v": [0.7, 1.9, 2.2], "w": [1.1, 0.3, 0.8]}, index=pd.date_range("2020-01-01", periods=3)
)
SQUARE = pd.DataFrame({"u": [1.3, 2.1], "v": [0.7, 1.9]}, index=["x", "y"])

SERIES = {
    "labels": lambda s: s["a"] * s.b + s.loc["c"] ** 2 * s.at["d"],
    "several labels": lambda s: (s[["a", "c"]] ** 2).sum() * s.loc[["d", "b"]].prod(),
    "positions": lambda s: s.iloc[0] * s.iloc[-1] + (s.iloc[1:3] ** 2).sum() + s[1:].mean(),
    "numbers": lambda s: np.sum(np.sin(s.to_numpy()) * s.values),
    "functions": lambda s: np.exp(-s) + np.sqrt(s) * np.maximum(s, 1.0),
    "operators": lambda s: 2.0 * s**2 - s / 3.0 + 1.0 / s - (-s) % 0.77 + 2.0**s + abs(s - 1.0),
    "arrays": lambda s: (np.arange(4.0) * s + s * [1.0, 2.0, 3.0, 4.0]).sum(),
    "reductions": lambda s: s.sum() * s.mean() + s.var() + s.std() * s.max() - s.min() + s.prod() + s.median(),
    "of NumPy": lambda s: np.sum(s) * np.mean(s) + np.var(s) + np.std(s) + np.max(s) - np.min(s) + np.prod(s),
    "options": lambda s: s.var(ddof=0) + s.std(ddof=2) + s.sum(skipna=False) + s.sem(),
    "steps": lambda s: s.diff() + s.shift(1) * s + s.cumsum() - s.pct_change() + s.shift(-2),
    "conditions": lambda s: s[s > 1.0].sum() ** 2 + s[(s > 0.5) & (s < 2.0)].mean() + s[~(s > 1.5)].max(),
    "choices": lambda s: s.where(s > 1.0, 0.5 * s).sum() + s.mask(s > 1.5, 0.0).sum() + s.clip(0.5, 1.5).sum() ** 2,
    "products": lambda s: s @ s + s.dot(s) ** 2 + np.dot(s, s) + np.linalg.norm(s),
    "each": lambda s: s.apply(lambda v: v**3 if v > 1.0 else np.sin(v)) + s.map(np.exp),
    "loops": lambda s: sum(v * v for v in s) + len(s) * s.size * s.shape[0] * s.iloc[0],
    "names": lambda s: (s.rename("other") * s).rename("third") + s.copy(),
    "methods": lambda s: s.add(1.0).mul(s).sub(0.5).div(2.0).pow(2).abs().pipe(lambda t: t * 2.0),
    "stacked": lambda s: np.concatenate([s, 2.0 * s]).sum() ** 2 + np.stack([s, s])[1, 2],
    "made": lambda s: (pd.Series({"p": s.iloc[0], "q": 2.0}) ** 2)["p"] + pd.Series(s.to_numpy() ** 2).sum(),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SERIES)
def test_series(name, backend):
    check(SERIES[name], TEXTS, backend)


@pytest.mark.parametrize("name", ["positions", "functions", "reductions", "steps", "conditions"])
def test_an_index_of_dates(name):
    check(SERIES[name], DATES, "numba")


@pytest.mark.parametrize(
    "function",
    [
        lambda s: s.sum() * s.mean() + s.var() + s.std() + s.count() * s.max() + s.min() + s.prod() + s.median(),
        lambda s: s.fillna(0.7).sum() ** 2 + s[s.notna()].mean(),
        lambda s: s.cumsum() * s,
        lambda s: (s**2).mean() + np.mean(s) * np.sum(s),
    ],
    ids=["reductions", "chosen", "running", "of NumPy"],
)
def test_numbers_that_are_missing(function):
    check(function, GAPS, "python")


def added_columns(d):
    """As programs prepare their data."""
    d = d.copy()
    d["z"] = d["u"] * d.v
    d["u"] = 2.0
    d["z"] = d["z"] + d["u"] * d["w"] ** 2
    return d


TABLES = {
    "columns": lambda d: (d["u"] * d.v).mean() + np.mean(d["w"]) ** 2,
    "numbers": lambda d: np.sum(d.values @ d.to_numpy().T) + d.shape[0] * d.size * d.iloc[0, 1],
    "of columns": lambda d: (d.mean() * d.std() + d.sum() ** 2 + d.max() - d.min() + d.median())["u"],
    "of rows": lambda d: d.mean(axis=1) * d.sum(axis="columns") + d["u"],
    "standardised": lambda d: (((d - d.mean()) / d.std()) ** 3).sum().sum(),
    "of NumPy": lambda d: np.mean(d) * np.sum(np.exp(d).to_numpy()) + np.sum(d["u"]),
    "operators": lambda d: 2.0 * d**2 - 1.0 / d + d * d + abs(-d) + np.sqrt(d),
    "several": lambda d: (d[["u", "w"]] ** 2).sum().sum() + d[["w"]].mean().iloc[0],
    "positions": lambda d: d.iloc[1].sum() ** 2 + d.iloc[:, 0].prod() + d.iloc[1:, 2].sum() + d.iloc[0]["v"],
    "conditions": lambda d: d[d["u"] > 1.0].to_numpy().sum() ** 2 + d[d.u > 1.0]["v"].mean(),
    "assigned": lambda d: (d.assign(z=d.u * d.v, y=lambda t: t.z + 1.0)["y"] * d["w"]).sum(),
    "column by column": lambda d: added_columns(d)["z"].sum() + added_columns(d).shape[1],
    "dropped": lambda d: (d.drop(columns="u") ** 2).sum().sum(),
    "products": lambda d: (d @ np.array([1.0, 2.0, 3.0]) * d["u"]).sum() + d.dot(d.mean()).sum(),
    "loops": lambda d: sum(d[name].prod() for name in d.columns) + sum(c.mean() ** 2 for _, c in d.items()),
    "each": lambda d: d.apply(lambda c: c.max() - c.min()).sum() ** 2 + d.apply(np.mean, axis=1).prod(),
    "steps": lambda d: d.diff() * d.shift(1) + d.cumsum() - d.pct_change(),
    "correlations": lambda d: d.cov().to_numpy().sum() ** 2 + d.corr().loc["u", "w"],
    "by label": lambda d: (d.loc[:, "u"] * d.loc[:, ["v", "w"]].sum(axis=1)).sum(),
    "made": lambda d: (pd.DataFrame({"p": d["u"] ** 2, "q": d["v"]}) * 2.0).sum().sum(),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TABLES)
def test_tables(name, backend):
    check(TABLES[name], TABLE, backend)


def test_rows_with_texts():
    check(lambda d: d.loc["x"].sum() ** 2 + d.loc["y", "u"] * d.loc["x", "v"], SQUARE, "python")


def fit(theta, data):
    """A program as it is written for pandas."""
    predicted = theta["slope"] * data["t"] + theta["offset"]
    return ((data["y"] - predicted) ** 2).mean() + 1e-3 * (theta**2).sum()


THETA = pd.Series({"slope": 1.0, "offset": 0.5})


def data_of(n, start="2020-01-01"):
    rng = np.random.default_rng(n)
    columns = {"t": np.arange(n, dtype=float), "y": rng.normal(size=n), "count": np.arange(n), "site": ["s"] * n}
    return pd.DataFrame(columns, index=pd.date_range(start, periods=n))


def test_several_classes_of_columns():
    data = data_of(6)
    slopes, table = dj.grad(fit, argnums=(0, 1))(THETA, data)
    assert slopes.index.identical(THETA.index)
    residual = data["y"] - THETA["slope"] * data["t"] - THETA["offset"]
    expected = -2.0 * (residual * data["t"]).mean() + 2e-3 * THETA["slope"]
    np.testing.assert_allclose(slopes["slope"], expected)
    np.testing.assert_allclose(table["y"], 2.0 * residual / 6)
    assert list(table.columns) == list(data.columns)
    assert table.index.identical(data.index)
    assert not table["count"].any()
    assert table["site"].equals(data["site"])


def test_other_labels_need_no_other_program():
    gradient = dj.grad(fit, argnums=1)
    for start in ("2020-01-01", "2021-06-01", "2022-02-03"):
        data = data_of(8, start)
        assert gradient(THETA, data).index.identical(data.index)
    assert len(gradient._cache) == 1


def test_labels_that_are_the_same_ones():
    product = dj.jit(lambda a, b: a * b)
    other = DATES.shift(freq="D")
    same_labels(product(DATES, DATES.rename("x")), DATES)
    with pytest.raises(dj.DiffjitError, match="labels of two operands"):
        product(DATES, other)
    with pytest.raises(dj.DiffjitError, match="labels of two operands"):
        product(TEXTS, TEXTS.iloc[::-1])
    with pytest.raises(dj.DiffjitError, match="labels of two operands"):
        dj.jit(lambda s: s.iloc[1:] - s.iloc[:-1])(TEXTS)
    with pytest.raises(dj.DiffjitError, match="lengths"):
        product(pd.Series([1.0, 2.0, 3.0]), pd.Series([1.0]))


def test_tangents_and_cotangents_with_other_labels():
    with pytest.raises(dj.DiffjitError, match="other labels"):
        dj.jvp(lambda s: s * s, (TEXTS,), (TEXTS.iloc[::-1],))
    _, pullback = dj.vjp(lambda s: s * s, TEXTS)
    with pytest.raises(dj.DiffjitError, match="other labels"):
        pullback(TEXTS.iloc[::-1])
    assert pullback(TEXTS)[0].equals(2.0 * TEXTS * TEXTS)


def test_missing_numbers_have_no_part_in_derivatives():
    def loss(p, s):
        return ((p[0] * s + np.exp(p[1] * s) + s ** p[0]) ** 2).mean()

    p = np.array([0.3, 0.4])
    for verb in (dj.grad, dj.jacfwd):
        np.testing.assert_allclose(verb(loss)(p, GAPS), difference_of(lambda q: loss(q, GAPS), p), rtol=1e-6)


def test_a_part_has_no_known_labels():
    with pytest.raises(dj.DiffjitError, match="labels"):
        dj.jit(lambda s: s.iloc[1:])(TEXTS)


SHARED = {"data": data_of(5)}


def test_a_table_from_outside():
    def loss(p):
        data = SHARED["data"]
        return ((data["y"] - p[0] * data.t - p[1]) ** 2).sum()

    p = np.array([0.3, -0.2])
    gradient = dj.grad(loss)
    for n in (5, 7):
        SHARED["data"] = data_of(n)
        expected = difference_of(loss, p)
        np.testing.assert_allclose(gradient(p), expected, rtol=1e-5)
    SHARED["data"].loc[SHARED["data"].index[0], "y"] = 10.0
    np.testing.assert_allclose(gradient(p), difference_of(loss, p), rtol=1e-5)


def difference_of(f, p):
    return np.array([(f(p + e) - f(p - e)) / 2e-6 for e in 1e-6 * np.eye(2)])


def test_every_verb():
    def energy(s):
        return (s**3).sum() + s["a"] * s["b"]

    def curve(s):
        return s * s.sum()

    value, gradient = dj.value_and_grad(energy)(TEXTS)
    assert np.isclose(value, energy(TEXTS))
    x = TEXTS.to_numpy()
    exact = 3.0 * x**2 + np.array([x[1], x[0], 0.0, 0.0])
    np.testing.assert_allclose(gradient, exact)
    matrix = np.diag(6.0 * x)
    matrix[0, 1] = matrix[1, 0] = 1.0
    np.testing.assert_allclose(dj.hessian(energy)(TEXTS), matrix)
    jacobian = np.outer(x, np.ones(4)) + x.sum() * np.eye(4)
    for verb in (dj.jacfwd, dj.jacrev, dj.jacobian):
        np.testing.assert_allclose(verb(curve)(TEXTS), jacobian)
    np.testing.assert_allclose(dj.sparse_jacobian(lambda s: s**2)(TEXTS).toarray(), np.diag(2.0 * x))
    _, apply = dj.linearize(curve, TEXTS)
    same_labels(apply(TEXTS), TEXTS)
    lanes = dj.vmap(lambda s, k: (k * s**2).sum(), in_axes=(None, 0))(TEXTS, np.arange(3.0))
    np.testing.assert_allclose(lanes, np.arange(3.0) * (x**2).sum())
    _, terms = dj.jet(energy, (TEXTS,), ([TEXTS],))
    np.testing.assert_allclose(terms[0], exact @ x)
    dj.check_grads(energy, (TEXTS,))
    nested = dj.jit(lambda s: (dj.grad(energy)(s) * s).sum())
    np.testing.assert_allclose(nested(TEXTS), exact @ x)


ARRAYS = {
    "assignment": (lambda s: s.__setitem__("a", 1.0), "assignments"),
    "assignment by position": (lambda s: s.iloc.__setitem__(0, 1.0), "assignments"),
    "another index": (lambda s: pd.Series(s, index=["p", "q", "r", "t"]).sum(), "another index"),
    "limits with labels": (lambda s: s.clip(s.shift(1)).sum(), "labelled limits"),
    "in place": (lambda s: s.__iadd__(1.0), "which the caller would see"),
    "unknown method": (lambda s: s.rank().sum(), "`rank`"),
    "index": (lambda s: (s * s.index.to_numpy()).sum(), "index"),
    "label by number": (lambda s: s[10], "iloc"),
    "groups": (lambda s: s.ewm(2).mean().sum(), "`ewm`"),
}


def test_bits_of_integers():
    s = pd.Series([1, 2, 3, 6])
    for function in (lambda s: s & 2, lambda s: s | 4, lambda s: ~s ^ 1, lambda s: (s > 1) & (s < 6) | (s == 1)):
        assert dj.jit(function, backend="python")(s).equals(function(s))


def test_a_column_that_the_caller_would_see():
    with pytest.raises(dj.DiffjitError, match="the caller sees"):
        dj.grad(lambda d: d.__setitem__("u", 1.0))(TABLE)


@pytest.mark.parametrize("name", ARRAYS)
def test_refused(name):
    function, words = ARRAYS[name]
    with pytest.raises(dj.DiffjitError, match=words) as found:
        dj.grad(function)(GAPS)
    assert "help:" in str(found.value)


def test_columns_without_numbers():
    twice = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    with pytest.raises(dj.DiffjitError, match="several columns"):
        dj.grad(lambda d: d["a"].sum())(twice)
    with pytest.raises(KeyError, match="z"):
        dj.grad(lambda d: d["z"].sum())(TABLE)
    with pytest.raises(dj.DiffjitError, match="holds no numbers"):
        dj.grad(lambda s, x: x * s.iloc[0], argnums=1)(pd.Series(["a", "b"]), 2.0)
    with pytest.raises(dj.DiffjitError, match="holds no numbers"):
        dj.grad(lambda d: d["site"].sum())(data_of(3))


class Celsius:
    """An array class of a user's."""

    def __init__(self, degrees):
        self.degrees = degrees

    def __array__(self, dtype=None, copy=None):
        return self.degrees + 273.15

    def mean(self, axis=None, dtype=None, out=None):
        return np.mean(self.degrees) + 273.15


class Logged:
    """A class that says what ufuncs do."""

    def __init__(self, logs):
        self.logs = logs

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if ufunc is np.multiply:
            return Logged(inputs[0].logs + inputs[1].logs)
        return ufunc(np.exp(self.logs))


def test_classes_of_users():
    def program(x):
        warm = Celsius(x)
        product = np.multiply(Logged(np.log(x)), Logged(x))
        return np.sum(np.asarray(warm)) + np.mean(warm) + np.dot(warm, warm) + np.sum(np.sqrt(product))

    x = np.array([1.0, 2.0])
    exact = np.array([program(x + e) - program(x - e) for e in 1e-5 * np.eye(2)]) / 2e-5
    for backend in ("python", "numba"):
        assert np.isclose(dj.jit(program, backend=backend)(x), program(x))
        np.testing.assert_allclose(dj.grad(program, backend=backend)(x), exact, rtol=1e-6)


PROGRAM = """
import sys
import numpy as np
import diffjit as dj
dj.grad(lambda x: np.sum(x ** 2))(np.ones(3))
assert not {"pandas", "xarray"} & {*sys.modules}
import pandas as pd
print(dj.grad(lambda s: (s ** 2).sum() + s["a"])(pd.Series([1.0, 2.0], index=["a", "b"])).to_dict())
"""


def test_pandas_is_imported_by_nobody_else(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    for _ in range(2):  # the second process takes what the first one has compiled
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, file], capture_output=True, text=True, check=False
        )
        assert done.stdout.strip() == "{'a': 3.0, 'b': 4.0}", done.stderr


def test_numbers_of_other_widths():
    s = TEXTS.astype("float32")
    found = dj.grad(lambda s: (s * s).sum())(s)
    assert found.dtype == np.float32
    np.testing.assert_allclose(numbers(found), 2.0 * numbers(s))
