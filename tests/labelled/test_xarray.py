"""xarray's DataArray: as an argument, captured, made inside, and as a gradient."""

import numpy as np
import pytest

import diffjit as dj
from tests.labelled.cases import check, same_labels

xr = pytest.importorskip("xarray")

FIELD = xr.DataArray(
    np.array([[1.3, 0.4, 2.2], [0.7, 1.9, 1.1]]),
    dims=("time", "x"),
    coords={"time": [10, 20], "lat": ("x", [1.0, 2.0, 3.0]), "height": 2.0},
    name="field",
    attrs={"units": "K"},
)
BARE = xr.DataArray(np.array([0.3, 1.4, 0.9]), dims="x")
GAPS = xr.concat([FIELD.where(FIELD > 0.5), 1.3 * FIELD.assign_coords(time=[30, 40])], "time")

PROGRAMS = {
    "operators": lambda a: 2.0 * a**2 - 1.0 / a + a % 0.77 + 2.0**a + abs(a - 1.0) - (-a),
    "functions": lambda a: np.exp(a) * np.sqrt(a) + np.maximum(a, 1.0),
    "a number": lambda a: (a**2).sum() * a.mean() + a.std() + a.var() * a.max() - a.min() + a.prod() + a.median(),
    "over a dimension": lambda a: a.mean("time") * a.sum(dim="time") + a.std("time") - a.max("time"),
    "over several": lambda a: a.sum(["time", "x"]) * a.mean(dim=("x", "time")),
    "over an axis": lambda a: a.sum(axis=1) + a.mean(axis=-1) * a.var("x"),
    "by names": lambda a: ((a - a.mean("time")) * a.mean("x")).sum(),
    "in another order": lambda a: a.mean("x") * a + (a.T + a.transpose("x", "time")).sum(),
    "positions": lambda a: (
        (a.isel(time=0) * a.isel(time=1)).sum() + a[1, 2] * a[0].values[1] + a.isel(x=slice(1, 3)).sum()
    ).item(),
    "numbers": lambda a: np.sum(a.values @ a.data.T) * a.shape[0] + a.sizes["x"] * a.size * a.to_numpy()[0, 1],
    "of NumPy": lambda a: np.sum(a).values + np.mean(a).item() * np.dot(a.values[0], a.values[1]) + np.std(a).item(),
    "beside one without coordinates": lambda a: a * BARE + BARE * a.isel(time=0).values.sum(),
    "products": lambda a: a.dot(a, dim="x") + a.dot(BARE),
    "choices": lambda a: a.where(a > 1.0, 0.5 * a).sum() + a.clip(0.5, 1.5).sum(),
    "names": lambda a: a.rename("other") + a.copy(),
    "loops": lambda a: sum(row.sum().item() ** 2 for row in a),
    "made": lambda a: a.sum("time") * xr.DataArray(np.arange(3.0), dims="x"),
    "running": lambda a: a.cumsum("x") * a.astype(float),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, backend):
    check(PROGRAMS[name], FIELD, backend)


@pytest.mark.parametrize("name", ["operators", "over a dimension", "positions"])
def test_programs_compiled(name):
    check(PROGRAMS[name], FIELD, "numba")


@pytest.mark.parametrize("name", ["a number", "over a dimension", "running"])
def test_numbers_that_are_missing(name):
    check(PROGRAMS[name], GAPS, "python")


def test_two_arrays():
    weights = xr.DataArray(np.array([0.2, 0.8]), dims="time", coords={"time": [10, 20]})
    gradients = dj.grad(lambda a, w: (a * w).sum() ** 2, argnums=(0, 1))(FIELD, weights)
    total = float((FIELD * weights).sum())
    same_labels(gradients[0], FIELD)
    same_labels(gradients[1], weights)
    np.testing.assert_allclose(gradients[1], 2.0 * total * FIELD.sum("x").values)
    other = weights.assign_coords(time=[10, 30])
    with pytest.raises(dj.DiffjitError, match="coordinates of two operands"):
        dj.grad(lambda a, w: (a * w).sum())(FIELD, other)
    with pytest.raises(dj.DiffjitError, match="coordinates of two operands"):
        dj.grad(lambda a: (a.isel(time=slice(0, 1)) * a.isel(time=slice(1, 2))).sum())(FIELD)


def test_other_coordinates_need_no_other_program():
    gradient = dj.grad(lambda a: (a**2).sum())
    for times in ([10, 20], [1, 2], [5, 7]):
        field = FIELD.assign_coords(time=times)
        same_labels(gradient(field), field)
    assert len(gradient._cache) == 1


def test_every_verb():
    x = BARE.values

    def energy(a):
        return (a**3).sum()

    value, gradient = dj.value_and_grad(energy)(BARE)
    assert np.isclose(value, np.sum(x**3))
    same_labels(gradient, BARE)
    np.testing.assert_allclose(dj.hessian(lambda a: energy(a).item())(BARE), np.diag(6.0 * x))
    np.testing.assert_allclose(dj.jacrev(lambda a: a**2)(BARE), np.diag(2.0 * x))
    np.testing.assert_allclose(dj.vmap(lambda a, k: k * a.sum().item(), in_axes=(None, 0))(BARE, x), x * x.sum())


REFUSED = {
    "labels": (lambda a: a.sel(time=10).sum(), "`sel`"),
    "coordinates": (lambda a: (a * a["lat"]).sum(), "coordinates"),
    "groups": (lambda a: a.groupby("time").mean().sum(), "`groupby`"),
    "assignment": (lambda a: a.__setitem__(0, 1.0), "assignments"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    function, words = REFUSED[name]
    with pytest.raises(dj.DiffjitError, match=words) as found:
        dj.grad(function)(FIELD)
    assert "help:" in str(found.value)
