"""What is not covered is refused by its name; objects of SciPy as arguments and results; designs of constants."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as si
import scipy.linalg
import scipy.ndimage as nd
import scipy.signal as sg
import scipy.sparse as sp
import scipy.stats
from scipy.spatial import distance
from scipy.spatial.transform import Rotation

import diffjit as dj

X = np.linspace(0.0, 1.0, 8)
Y = np.sin(3 * X)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda y: si.UnivariateSpline(X, y)(0.3), r"UnivariateSpline\(s > 0\)"),
        (lambda y: si.splev(0.3, si.splrep(X, y, s=1.0)), r"splrep\(s > 0\)"),
        (lambda y: si.CubicSpline(X, y).roots()[0], "roots of piecewise polynomials"),
        (lambda y: si.griddata(np.stack([X, X]).T, y, np.ones((1, 2)), method="cubic")[0], "griddata"),
        (lambda y: si.RegularGridInterpolator((X,), y, method="cubic")(0.3), "method='cubic'"),
        (lambda y: sg.filtfilt([1.0], [1.0, 0.5], y, method="gust")[0], "method='gust'"),
        (lambda y: sg.welch(y, average="median")[1][0], "average='median'"),
        (lambda y: sg.find_peaks(y, width=2)[0][0], "find_peaks"),
        (lambda y: nd.gaussian_filter1d(y, 1.0, output=np.float32)[0], "output="),
        (lambda y: distance.cdist(y[:, None], y[:, None], "yule")[0, 0], "'yule'"),
        (lambda y: scipy.linalg.lu(np.reshape(y, (4, 2)))[2][0, 0], "LU factors"),
        (lambda y: scipy.linalg.lu_factor(np.reshape(y, (2, 4)))[0][0, 0], "not square"),
        (lambda y: np.sum(sp.diags(y, dtype=np.int64).toarray()), "dtype"),
        (lambda y: Rotation.from_rotvec(y[:3]).mean(), "Rotation.mean"),
    ],
)
def test_refused_by_name(function, said):
    with pytest.raises(dj.UnsupportedSyntax, match=said):
        dj.jit(function)(Y)


def test_designs_are_constants():
    with pytest.raises(dj.TypeProblem, match="what `butter` is given must be known"):
        dj.grad(lambda c, y: sg.lfilter(*sg.butter(2, c), y)[-1])(0.3, Y)


RATE = 100.0
CUT = {"at": 12.0}


def filtered(y, order):
    nyquist = 0.5 * RATE
    b, a = sg.butter(order, CUT["at"] / nyquist)
    return np.sum(sg.lfilter(b, a, y) ** 2)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_designs_follow_their_constants(backend, monkeypatch):
    f = dj.jit(filtered, backend=backend)
    for order, cut in ((2, 12.0), (2, 20.0), (3, 20.0)):
        monkeypatch.setitem(CUT, "at", cut)
        assert f(Y, order) == pytest.approx(filtered(Y, order), rel=1e-12)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda y: distance.cdist(y[:, None], y[:, None], "euclidean", p=3.0), TypeError),
        (lambda y: distance.pdist(y[:, None], "seuclidean", w=[1.0]), TypeError),
        (lambda y: distance.cityblock(y, 2 * y, w=-y), ValueError),
        (lambda y: distance.minkowski(y, 2 * y, -y[1]), ValueError),
        (lambda y: scipy.stats.gmean(y + 1.0, weights=y[:3]), ValueError),
    ],
    ids=["p", "w", "negative weights", "negative order", "weights of another shape"],
)
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_raises_as_scipy_does(function, error, backend):
    with pytest.raises(error):
        function(Y)
    with pytest.raises(error):
        dj.jit(function, backend=backend)(Y)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_objects_as_arguments_and_results(backend):
    spline, matrix = si.CubicSpline(X, Y), sp.csr_matrix(np.diag(Y) + np.eye(8, k=1))

    def both(curve, m, v):
        return np.sum((m @ curve(v)) ** 2)

    f = dj.value_and_grad(both, argnums=(0, 1), backend=backend)
    for curve, m in ((spline, matrix), (si.CubicSpline(X, Y**2), 2 * matrix)):
        value, (by_curve, by_matrix) = f(curve, m, X)
        assert value == pytest.approx(both(curve, m, X), rel=1e-12)
        assert by_curve.c.shape == curve.c.shape
        r = m @ curve(X)
        rows = np.repeat(np.arange(8), np.diff(m.indptr))
        np.testing.assert_allclose(by_matrix.data, 2 * r[rows] * curve(X)[m.indices], rtol=1e-10)
    made = dj.jit(lambda y: (si.CubicSpline(X, y), sp.csr_matrix(np.diag(y))), backend=backend)(Y)
    assert isinstance(made[0], si.CubicSpline)
    assert isinstance(made[1], sp.csr_matrix)
    np.testing.assert_allclose(made[0](0.37), spline(0.37), rtol=1e-13)
    np.testing.assert_allclose(made[1].toarray(), np.diag(Y))
    turned = dj.jit(lambda v: Rotation.from_rotvec(2 * v) ** 0.5, backend=backend)(Y[:3])
    np.testing.assert_allclose(turned.as_matrix(), Rotation.from_rotvec(Y[:3]).as_matrix(), rtol=1e-13)


def test_objects_outside_are_read_at_each_call():
    held = {"curve": si.CubicSpline(X, Y)}
    slope = dj.grad(lambda t: held["curve"](t) + 0.0)
    for y in (Y, Y**2, np.cos(X)):
        held["curve"] = si.CubicSpline(X, y)
        assert slope(0.3) == pytest.approx(float(held["curve"](0.3, 1)), rel=1e-12)
    held["curve"].c[:] *= 2.0
    assert slope(0.3) == pytest.approx(float(held["curve"](0.3, 1)), rel=1e-12)


def test_what_programs_ask_of_objects():
    def asked(y):
        curve = si.CubicSpline(X, y)
        return (
            float(isinstance(curve, si.PPoly)) + float(isinstance(curve, si.CubicSpline)) + curve.x[1] + curve.c[3, 1]
        )

    assert dj.jit(asked)(Y) == pytest.approx(asked(Y), rel=1e-13)
