"""SciPy's functions beside the library's programs, run as plain Python, on random arguments."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.fft as sf
import scipy.interpolate as si
import scipy.ndimage as nd
import scipy.signal as sg
import scipy.sparse as sp
from scipy import stats
from scipy.spatial import distance
from scipy.spatial.transform import Rotation

from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import COMPOSITES

learn()
SEEDS = 60


class Both:
    """Calls of SciPy's function and of the program that stands for it; what both raise is as good as equal results."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one(self, *choices: Any) -> Any:
        """One of some things."""
        return choices[self.rng.integers(len(choices))]

    def size(self, low: int, high: int) -> int:
        """A length."""
        return int(self.rng.integers(low, high + 1))

    def normal(self, *shape: int) -> np.ndarray:
        """Random numbers, some of them round, so that there are ties."""
        return np.round(self.rng.normal(size=shape), self.one(0, 1, 12))

    def check(self, function: Any, call: Any, tolerance: float = 1e-9) -> None:
        """Compare `call(f)` for both."""
        results = []
        for f in (function, COMPOSITES[function]):
            try:
                results.append(call(f))
            except (ValueError, RuntimeError, TypeError, ZeroDivisionError, np.linalg.LinAlgError) as error:
                results.append(error)
        theirs, ours = results
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            assert isinstance(theirs, Exception), ours
            assert isinstance(ours, Exception), theirs
            return
        pairs = zip(theirs, ours, strict=True) if isinstance(theirs, tuple) else [(theirs, ours)]
        for their, our in pairs:
            assert np.shape(our) == np.shape(their)
            size = float(np.max(np.abs(np.nan_to_num(their)), initial=1.0))
            np.testing.assert_allclose(our, their, rtol=tolerance, atol=tolerance * size)


def knots(b: Both, n: int) -> np.ndarray:
    """Increasing points."""
    return np.cumsum(b.rng.uniform(0.2, 1.0, n))


def interpolators(b: Both) -> None:
    n = b.size(2, 8)
    x, y = knots(b, n), b.normal(n) if b.one(True, False) else b.normal(3, n)
    axis = y.ndim - 1
    t = np.concatenate((b.rng.uniform(x[0] - 1, x[-1] + 1, 6), x[:2], x[-1:])).reshape(b.one((9,), (3, 3)))
    nu, beyond = b.one(0, 0, 1, 2, 3), b.one(None, True, False, "periodic")
    ends = b.one("not-a-knot", "natural", "clamped", ((1, 0.5), "natural"), ("clamped", (2, -1.0)), "periodic")
    z = y.copy()
    if ends == "periodic":
        z[..., -1] = z[..., 0]
    b.check(si.CubicSpline, lambda f: f(x, z, axis, ends, beyond)(t, nu), 1e-8)
    b.check(si.CubicSpline, lambda f: f(x, z, axis, ends).derivative(2)(t), 1e-8)
    b.check(si.CubicSpline, lambda f: f(x, z, axis, ends).antiderivative()(t), 1e-8)
    low, high = b.rng.uniform(x[0] - 1, x[-1] + 1, 2)
    b.check(si.CubicSpline, lambda f: f(x, z, axis, ends).integrate(low, high, beyond), 1e-8)
    b.check(si.PchipInterpolator, lambda f: f(x, y, axis, beyond)(t, nu), 1e-8)
    method = b.one("akima", "makima")
    b.check(si.Akima1DInterpolator, lambda f: f(x, y, axis, method=method)(t, nu), 1e-7)
    b.check(si.CubicHermiteSpline, lambda f: f(x, y, y[..., ::-1], axis, beyond)(t, nu), 1e-8)
    b.check(si.BarycentricInterpolator, lambda f: f(x, y, axis)(t), 1e-7)


def splines(b: Both) -> None:
    k = b.size(0, 5)
    n = b.size(k + 1, k + 6)
    x, y = knots(b, n), b.normal(n)
    t = np.concatenate((b.rng.uniform(x[0] - 0.3, x[-1] + 0.3, 6), x))
    nu, beyond = b.size(0, k), b.one(True, False)
    b.check(si.make_interp_spline, lambda f: f(x, y, k)(t, nu, beyond), 1e-6)
    if k > 0 and n > k + 1:
        ext = b.one(0, 1, 3)
        theirs = si.splrep(x, y, k=k)
        b.check(si.splrep, lambda f: f(x, y, k=k)[1], 1e-6)
        b.check(si.splev, lambda f: f(t, theirs, nu, ext), 1e-8)
        b.check(si.splint, lambda f: f(t[0], t[1], theirs), 1e-8)
        b.check(si.UnivariateSpline, lambda f: f(x, y, k=k, s=0, ext=ext)(t, nu), 1e-6)
        b.check(si.UnivariateSpline, lambda f: f(x, y, k=k, s=0).derivative()(t), 1e-6)
    c = b.normal(n)
    full = np.sort(b.rng.random(n + k + 1))
    b.check(si.BSpline, lambda f: f(full, c, k)(full[k] + (full[n] - full[k]) * b.rng.random(0), nu))
    inside = full[k] + (full[n] - full[k]) * np.linspace(0, 1, 7)
    b.check(si.BSpline, lambda f: f(full, c, k)(inside, nu), 1e-6)
    b.check(si.BSpline, lambda f: f(full, c, k).integrate(inside[1], inside[5]), 1e-7)
    if k > 0:
        b.check(si.BSpline, lambda f: f(full, c, k).derivative()(inside), 1e-6)


def neighbours(b: Both) -> None:
    n = b.size(2, 7)
    x = b.rng.permutation(knots(b, n))
    y = b.normal(2, n) if b.one(True, False) else b.normal(n)
    t = np.concatenate((b.rng.uniform(np.min(x) - 0.5, np.max(x) + 0.5, 6), x, (np.sort(x)[1:] + np.sort(x)[:-1]) / 2))
    kind = b.one("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear")
    fill = b.one(np.nan, 2.0, (1.0, 3.0), "extrapolate")
    bounds = b.one(None, False, True)
    b.check(si.interp1d, lambda f: f(x, y, kind=kind, fill_value=fill, bounds_error=bounds)(t))
    axes = tuple(knots(b, b.size(2, 5)) for _ in range(b.size(1, 3)))
    v = b.normal(*(len(a) for a in axes), *b.one((), (2,)))
    points = np.stack([b.rng.uniform(a[0] - 0.2, a[-1] + 0.2, 7) for a in axes], axis=-1)
    method, bounds, fill = b.one("linear", "nearest"), b.one(True, False), b.one(None, 0.5)
    b.check(si.RegularGridInterpolator, lambda f: f(axes, v, method, bounds, fill)(points))
    sites, found = b.rng.random((b.size(7, 9), 2)), b.rng.random((5, 2))
    d, kernel = (
        b.normal(len(sites)),
        b.one("linear", "thin_plate_spline", "cubic", "quintic", "gaussian", "multiquadric"),
    )
    b.check(si.RBFInterpolator, lambda f: f(sites, d, kernel=kernel, epsilon=1.5, smoothing=b.one(0.0))(found), 1e-5)


def recursive_filters(b: Both) -> None:
    numerator, denominator = b.normal(b.size(1, 5)), 0.3 * b.rng.normal(size=b.size(1, 5))
    denominator[0] = b.one(1.0, 2.0)
    n = b.size(1, 9)
    x = b.normal(n) if b.one(True, False) else b.normal(2, n)
    order = max(len(numerator), len(denominator)) - 1
    zi = b.normal(*x.shape[:-1], order)
    b.check(sg.lfilter, lambda f: f(numerator, denominator, x))
    b.check(sg.lfilter, lambda f: f(numerator, denominator, x, zi=zi))
    b.check(sg.lfilter_zi, lambda f: f(numerator, denominator))
    b.check(sg.lfiltic, lambda f: f(numerator, denominator, b.rng.random(0) if n < 3 else x[..., :2].ravel()))
    pad, length = b.one("odd", "even", "constant", None), b.one(None, 0, 2)
    b.check(sg.filtfilt, lambda f: f(numerator, denominator, x, padtype=pad, padlen=length))
    sos = sg.butter(b.size(1, 4), b.rng.uniform(0.1, 0.9), output="sos")
    b.check(sg.sosfilt, lambda f: f(sos, x))
    b.check(sg.sosfilt_zi, lambda f: f(sos))
    b.check(sg.sosfiltfilt, lambda f: f(sos, x, padtype=pad, padlen=length))
    window, mode = b.size(2, 7), b.one("interp", "mirror", "nearest", "constant", "wrap")
    degree, deriv = b.size(0, window - 1), b.size(0, 2)
    b.check(sg.savgol_filter, lambda f: f(x, window, degree, deriv, mode=mode), 1e-6)
    b.check(sg.detrend, lambda f: f(x, type=b.one("linear")), 1e-9)
    b.check(sg.resample, lambda f: f(x, n + 3, axis=-1))
    b.check(sg.resample, lambda f: f(x, max(n - 2, 1), axis=-1))
    b.check(sg.hilbert, lambda f: f(x))


def convolutions(b: Both) -> None:
    for shapes in (((b.size(1, 8),), (b.size(1, 8),)), ((b.size(1, 6), b.size(1, 6)), (b.size(1, 6), b.size(1, 6)))):
        a, v = b.normal(*shapes[0]), b.normal(*shapes[1])
        mode, method = b.one("full", "same", "valid"), b.one("auto", "direct", "fft")
        b.check(sg.convolve, lambda f, a=a, v=v, m=mode, w=method: f(a, v, m, w))
        b.check(sg.correlate, lambda f, a=a, v=v, m=mode, w=method: f(a, v, m, w))
        b.check(sg.fftconvolve, lambda f, a=a, v=v, m=mode: f(a, v, m))
        if a.ndim == 2 and a.shape >= v.shape and a.shape[1] >= v.shape[1]:
            edge = b.one("fill", "wrap", "symm")
            b.check(sg.convolve2d, lambda f, a=a, v=v, m=mode, e=edge: f(a, v, m, e, 0.5 if e == "fill" else 0))
            b.check(sg.correlate2d, lambda f, a=a, v=v, m=mode, e=edge: f(a, v, m, e))


def images(b: Both) -> None:
    a, mode = b.normal(b.size(1, 6), b.size(2, 7)), b.one("reflect", "mirror", "nearest", "constant", "wrap")
    w, axis, fill = b.normal(b.size(1, 9)), b.one(0, 1), b.one(0.0, 0.7)
    origin = b.size(-(len(w) // 2), (len(w) - 1) // 2)
    b.check(nd.correlate1d, lambda f: f(a, w, axis, None, mode, fill, origin))
    b.check(nd.convolve1d, lambda f: f(a, w, axis, None, mode, fill, 0))
    kernel = b.normal(b.size(1, 4), b.size(1, 4))
    b.check(nd.correlate, lambda f: f(a, kernel, None, mode, fill))
    b.check(nd.convolve, lambda f: f(a, kernel, None, mode, fill))
    sigma, order = b.rng.uniform(0.3, 3.0), b.one(0, 0, 1, 2, 3)
    b.check(nd.gaussian_filter, lambda f: f(a, sigma, order, None, mode, fill))
    b.check(nd.uniform_filter, lambda f: f(a, b.one(3), None, mode, fill))
    b.check(nd.sobel, lambda f: f(a, axis, None, mode, fill))


def between_elements(b: Both) -> None:
    mode = b.one(
        "reflect", "mirror", "nearest", "constant", "wrap", "grid-mirror", "grid-constant", "grid-wrap"
    )  # fmt: skip
    a, order, fill = b.normal(b.size(2, 7), b.size(2, 7)), b.size(0, 5), b.one(0.0, 0.7)
    spots = b.rng.uniform(-12, 18, (2, 9))
    b.check(nd.map_coordinates, lambda f: f(a, spots, None, order, mode, fill))
    b.check(nd.spline_filter, lambda f: f(a, b.one(3), mode=b.one("mirror")))
    b.check(nd.shift, lambda f: f(a, (1.3, -0.6), None, order, mode, fill))
    if mode != "constant":  # a place at the edge may lie beyond it by rounding
        b.check(nd.zoom, lambda f: f(a, b.one(1.7), None, order, mode, fill))
        matrix = b.rng.normal(size=(2, 2))
        b.check(nd.affine_transform, lambda f: f(a, matrix, (0.3, 0.1), None, None, order, mode, fill))
        angle = b.one(90.0, 180.0, 270.0, -90.0, 33.0, 217.5)
        b.check(nd.rotate, lambda f: f(a, angle, reshape=b.one(True), order=min(order, 1), mode=mode, cval=fill))


def spectra(b: Both) -> None:
    n = b.size(9, 40)
    x, y = b.rng.normal(size=(2, n)), b.rng.normal(size=(2, n))
    length = b.size(3, n)
    options = {
        "fs": b.one(1.0, 50.0), "window": b.one("hann", "hamming", "blackman", "boxcar", ("tukey", 0.3)),
        "nperseg": length, "noverlap": b.one(None, 0, length // 3), "nfft": b.one(None, length + 3),
        "detrend": b.one("constant", "linear", False), "scaling": b.one("density", "spectrum"),
        "return_onesided": b.one(True, False),
    }  # fmt: skip
    b.check(sg.welch, lambda f: f(x, **options))
    b.check(sg.csd, lambda f: f(x, y, **options))
    b.check(sg.spectrogram, lambda f: f(x[0], **options))
    b.check(sg.periodogram, lambda f: f(x, options["fs"], detrend=options["detrend"], scaling=options["scaling"]))
    del options["scaling"]
    options["boundary"], options["padded"] = b.one("zeros", "even", "odd", "constant", None), b.one(True, False)
    b.check(sg.stft, lambda f: f(x[0], **options))
    if length > 4:
        z = sg.stft(x[0], nperseg=length)[2]
        b.check(sg.istft, lambda f: f(z, nperseg=length), 1e-7)
    b.check(sg.peak_prominences, lambda f: f(x[0], sg.find_peaks(x[0])[0]))
    asked = {"height": b.one(None, 0.1, (-0.5, 1.0)), "distance": b.one(None, 2, 4), "prominence": b.one(None, 0.3)}
    b.check(sg.find_peaks, lambda f: f(x[0], **asked)[0])
    for name in ("dct", "idct", "dst", "idst"):
        kind, norm = b.size(1, 4), b.one(None, "ortho", "forward", "backward")
        b.check(getattr(sf, name), lambda f, k=kind, m=norm: f(x, k, b.one(None), b.one(-1), m))


def points(b: Both) -> None:
    u, v = b.rng.random((4, 3)) + 0.01, b.rng.random((3, 3)) + 0.01
    metric = b.one(
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine", "minkowski"
    )
    weights = b.one({}, {"w": b.rng.random(3) + 0.1})
    b.check(distance.cdist, lambda f: f(u, v, metric, **weights))
    b.check(distance.pdist, lambda f: f(u, metric, **weights))
    angles, seq = b.rng.uniform(-1.4, 1.4, 3), "".join(b.one(*itertools.permutations("xyz")))
    seq = b.one(seq, seq.upper(), seq[:2] + seq[0], (seq[:2] + seq[0]).upper())
    b.check(Rotation, lambda f: f.from_euler(seq, angles).as_matrix())
    if seq[0] == seq[2]:
        angles[1] = b.rng.uniform(0.2, 2.9)
    b.check(Rotation, lambda f: f.from_euler(seq, angles).as_euler(seq), 1e-8)
    q = b.rng.normal(size=(3, 4))
    b.check(Rotation, lambda f: (f.from_quat(q) * f.from_rotvec(u[:3]).inv()).as_matrix())
    b.check(Rotation, lambda f: f.from_matrix(f.from_quat(q).as_matrix()).as_rotvec(), 1e-8)
    dense = b.normal(3, 4) * (b.rng.random((3, 4)) < 0.5)
    row, col, data = b.rng.integers(0, 3, 6), b.rng.integers(0, 4, 6), b.normal(6)
    form, other = b.one(sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix), b.one(sp.csr_matrix, sp.csc_matrix)
    b.check(form, lambda f: f((data, (row, col)), shape=(3, 4)).toarray())
    b.check(form, lambda f: f((data, (row, col)), shape=(3, 4)).T @ u[:3])
    b.check(other, lambda f: (f(dense) @ f(dense.T) - f(dense[:, :3])).toarray())
    for part in ("data", "indices", "indptr"):
        b.check(other, lambda f, p=part: getattr(f((data, (row, col)), shape=(3, 4)), p))


def vectors(b: Both) -> None:
    """Distributions of vectors and matrices, in all forms of their parameters, and where these make none."""
    n = b.size(1, 3)
    mean, root = b.normal(n), b.normal(n, n) + b.one(0.0, 1.0, 2.0) * np.eye(n)
    cov = b.one(root @ root.T, root @ root.T, b.rng.uniform(0.1, 2.0, n), 1.3, root)
    x = b.one(b.normal(n), b.normal(4, n), b.normal(2, 3, n), b.normal(1, n), b.normal(5), 0.3)
    given = b.one((mean, cov), (None, cov), (mean,), (), (0.2, cov), (mean[None], cov))
    firm = root @ root.T + 0.1 * np.eye(n)  # SciPy takes singular ones
    firm = b.one(
        (mean, firm), (None, firm), (mean,), (), (0.2, 1.3), (mean[None], firm), (mean, np.ones(n)), (None, None)
    )
    for method in ("logpdf", "pdf"):
        b.check(getattr(stats.multivariate_normal, method), lambda f: f(x, *given), 1e-7)
        b.check(getattr(stats.multivariate_t, method), lambda f: f(x, *firm, df=2.5), 1e-7)
    b.check(stats.multivariate_normal, lambda f: (f(*given).mean, f(*given).cov, f(*given).entropy()), 1e-7)
    b.check(stats.multivariate_t, lambda f: f(*firm, 3.5).entropy(), 1e-7)
    alpha = b.rng.uniform(0.3, 3.0, n + 1) * b.one(1.0, 1.0, 1.0, -1.0)
    shares = b.rng.dirichlet(np.ones(n + 1), b.one((), (3,))).T
    shares = b.one(shares, shares[:-1], shares * b.one(1.0, 1.1), np.round(shares))
    b.check(stats.dirichlet.logpdf, lambda f: f(shares, alpha))
    b.check(stats.dirichlet, lambda f: (f(alpha).pdf(shares), f(alpha).mean(), f(alpha).var(), f(alpha).entropy()))
    counts = b.rng.integers(b.one(0, 0, -1), 4, b.one((n + 1,), (3, n + 1), (n,)))
    total = b.one(int(np.sum(np.atleast_2d(counts)[0])), 4, 0)
    b.check(stats.dirichlet_multinomial.logpmf, lambda f: f(counts, alpha, total))
    p = b.rng.dirichlet(np.ones(n + 1))
    p[-1] = 1.0 - np.sum(p[:-1])
    b.check(stats.multinomial.pmf, lambda f: f(counts, total, p))
    df = b.one(n + 0.5, 5.0, n - 1.0)
    squares = b.one(root @ root.T + 0.1 * np.eye(n), np.stack([np.eye(n), 2.0 * np.eye(n)], axis=-1), 1.7, np.ones(2))
    for family in (stats.wishart, stats.invwishart):
        b.check(family.logpdf, lambda f: f(squares, df, cov), 1e-6)
        b.check(family, lambda f: f(df, cov).entropy(), 1e-7)
    rows, columns = b.one(np.eye(2), 0.7, [1.0, 2.0]), b.one(root @ root.T, 1.3, root)
    X = b.one(b.normal(2, n), b.normal(3, 2, n), b.normal(n, 2), b.normal(n))
    b.check(stats.matrix_normal.logpdf, lambda f: f(X, b.normal(2, n) * 0.0, rows, columns), 1e-6)
    b.check(stats.matrix_normal.pdf, lambda f: f(X, None, rows, columns), 1e-6)


FAMILIES = (
    interpolators,
    splines,
    neighbours,
    recursive_filters,
    convolutions,
    images,
    between_elements,
    spectra,
    points,
    vectors,
)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_random_arguments(family: Any) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(SEEDS):
            family(Both(np.random.default_rng(seed)))
