"""Programs that call SciPy by its own names: one row for each function or class, or for options that are a program.

`row(name, function, *args, of=...)`: what `function(*args)` gives as plain Python is SciPy's own result, which is to be
diffjit's; it is differentiated by all arguments. `of` names what the row stands for, by which the rows are complete.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft as sf
import scipy.fftpack as pack
import scipy.interpolate as si
import scipy.ndimage as nd
import scipy.signal as sg
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from scipy import spatial
from scipy.spatial import distance
from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class Row:
    """A program, its arguments, and what it stands for."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    of: tuple[Any, ...]
    twice: bool = False  # whether the second derivative is looked at, too


ROWS: dict[str, Row] = {}
rng = np.random.default_rng(11)
X = 0.3 * np.arange(7) + 0.1 * rng.random(7)
Y = np.sin(3 * X)
Y2 = np.stack([Y, Y * Y])  # values along the last axis
Q = np.sort(rng.uniform(X[0], X[-1], 4))
S = rng.normal(size=24)
B, A = sg.butter(3, 0.3)
SOS = sg.butter(4, 0.3, output="sos")
I = rng.normal(size=(6, 7))  # noqa: E741 - an image
K = rng.normal(size=(3, 4))
SPREAD = (rng.permutation(27) + 0.5) / 27  # no two of them near each other
P, R = SPREAD[:12].reshape(4, 3), SPREAD[12:].reshape(5, 3)
TURN = np.array([0.3, -0.8, 0.5])
RATE, CUT = 50.0, 8.0


def row(name: str, function: Callable[..., Any], *args: Any, of: Any = (), twice: bool = False) -> None:
    """Add a program."""
    ROWS[name] = Row(function, args, tuple(of) if isinstance(of, (tuple, list)) else (of,), twice)


# Interpolation: made inside ------------------------------------------------------------------------------------------

for end in ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.4))):
    row(f"CubicSpline {end}", lambda x, y, t, end=end: si.CubicSpline(x, y, bc_type=end)(t), X, Y, Q, of=si.CubicSpline)
row("CubicSpline periodic", lambda y, t: si.CubicSpline(X, np.append(y[1:], y[1]), bc_type="periodic")(3 * t), Y, Q)
row("CubicSpline columns", lambda y, t: si.CubicSpline(X, y, axis=1)(t, 1), Y2, Q, twice=True)
row("CubicSpline small", lambda y, t: si.CubicSpline(X[:3], y[:3])(t) + si.CubicSpline(X[:2], y[:2])(t), Y, Q)
row("CubicSpline parts", lambda y, t: si.CubicSpline(X, y).integrate(X[1], t[1]) + si.CubicSpline(X, y).c[1, 2], Y, Q)
row("PPoly", lambda c, t: si.PPoly(c, X[:4])(t), rng.normal(size=(5, 3)), Q, of=si.PPoly)
row("PPoly derivative", lambda c, t: si.PPoly(c, X[:4]).derivative(2)(t), rng.normal(size=(5, 3)), Q)
row("PPoly antiderivative", lambda c, t: si.PPoly(c, X[:4]).antiderivative()(t), rng.normal(size=(3, 3)), Q)
row("Hermite", lambda y, s, t: si.CubicHermiteSpline(X, y, s)(t), Y, 0.3 * Y[::-1], Q, of=si.CubicHermiteSpline)
row("Pchip", lambda x, y, t: si.PchipInterpolator(x, y)(t), X, Y, Q, of=si.PchipInterpolator, twice=True)
row("pchip_interpolate", lambda y, t: si.pchip_interpolate(X, y, t, 1), Y, Q, of=si.pchip_interpolate)
row("Akima", lambda x, y, t: si.Akima1DInterpolator(x, y)(t), X, Y, Q, of=si.Akima1DInterpolator)
row("makima", lambda y, t: si.Akima1DInterpolator(X, y, method="makima")(t), Y, Q)
for degree in (1, 2, 3):
    row(f"make_interp_spline {degree}", lambda x, y, t, k=degree: si.make_interp_spline(x, y, k)(t), X, Y, Q,
        of=si.make_interp_spline)  # fmt: skip
row("make_interp_spline ends", lambda y, t: si.make_interp_spline(X, y, bc_type=([(2, 0.0)], [(1, 0.5)]))(t), Y, Q)
row("make_interp_spline natural", lambda y, t: si.make_interp_spline(X, y, bc_type="natural", axis=1)(t), Y2, Q)
row("BSpline", lambda t, c, x: si.BSpline(t, c, 3)(x, 1), np.linspace(-1, 3, 11), Y, Q, of=si.BSpline, twice=True)
row("BSpline calculus", lambda c, x: si.BSpline(np.linspace(-1, 3, 11), c, 3).derivative()(x)
    + si.BSpline(np.linspace(-1, 3, 11), c, 3).antiderivative()(x), Y, Q)  # fmt: skip
row("BSpline integrate", lambda c, x: si.BSpline(np.linspace(-1, 3, 11), c, 3).integrate(x[0], x[2]), Y, Q)
row("splrep", lambda x, y, t: si.splev(t, si.splrep(x, y), der=1), X, Y, Q, of=(si.splrep, si.splev))
row("splint", lambda y, t: si.splint(t[0], t[1], si.splrep(X, y)), Y, Q, of=si.splint)
row("splder", lambda y, t: si.splev(t, si.splder(si.splrep(X, y))), Y, Q, of=si.splder)
row("splantider", lambda y, t: si.splev(t, si.splantider(si.splrep(X, y))), Y, Q, of=si.splantider)
row("UnivariateSpline", lambda y, t: si.UnivariateSpline(X, y, s=0)(t), Y, Q, of=si.UnivariateSpline)
row("UnivariateSpline calculus", lambda y, t: si.UnivariateSpline(X, y, s=0, k=4).derivative()(t), Y, Q)
row("InterpolatedUnivariateSpline", lambda y, t: si.InterpolatedUnivariateSpline(X, y, ext=3)(2 * t), Y, Q,
    of=si.InterpolatedUnivariateSpline)  # fmt: skip
row("LSQUnivariateSpline", lambda y, t: si.LSQUnivariateSpline(X, y, [X[3]])(t), Y, Q, of=si.LSQUnivariateSpline)
row("make_smoothing_spline", lambda y, t: si.make_smoothing_spline(X, y, lam=0.1)(t), Y, Q, of=si.make_smoothing_spline)
row("make_lsq_spline", lambda y, t: si.make_lsq_spline(X, y, np.r_[[X[0]] * 4, X[3], [X[-1]] * 4])(t), Y, Q,
    of=si.make_lsq_spline)  # fmt: skip
row("RectBivariateSpline", lambda z, t: si.RectBivariateSpline(X, X, z)(t, t + 0.01), np.outer(Y, Y) + X, Q,
    of=si.RectBivariateSpline)  # fmt: skip
KNOTS = np.r_[[X[0]] * 4, X[2:-2], [X[-1]] * 4]
row("bisplev", lambda c, t, u: si.bisplev(t, u, (KNOTS, KNOTS, c, 3, 3)), np.sin(np.arange(49.0)), Q, Q,
    of=si.bisplev)  # fmt: skip
row("bisplev at a point", lambda c, t, u: si.bisplev(t[0], 2 * u, (KNOTS, KNOTS, c, 3, 3), dy=1)
    + si.bisplev(t[1], u[2], (KNOTS, KNOTS, c, 3, 3), dx=2), np.sin(np.arange(49.0)), Q, Q)  # fmt: skip
for kind in ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic"):
    row(f"interp1d {kind}", lambda y, t, k=kind: si.interp1d(X, y, kind=k)(t), Y2, Q, of=si.interp1d)
row("interp1d fill", lambda y, t: si.interp1d(X, y, bounds_error=False, fill_value=(1.0, 2.0))(3 * t), Y, Q)
row("interp1d extrapolate", lambda x, y, t: si.interp1d(x, y, fill_value="extrapolate")(3 * t), X, Y, Q)
GRID = (np.linspace(0, 1, 4), np.linspace(0, 2, 5))
V = rng.random((4, 5))
for method in ("linear", "nearest"):
    row(f"RegularGridInterpolator {method}", lambda v, p, m=method: si.RegularGridInterpolator(GRID, v, method=m)(p), V,
        0.9 * P[:, :2] / 1.1, of=si.RegularGridInterpolator)  # fmt: skip
row("interpn", lambda v, p: si.interpn(GRID, v, (p[:, 0], p[:, 1]), bounds_error=False, fill_value=None), V, 2 * P,
    of=si.interpn, twice=True)  # fmt: skip
SITES = rng.random((8, 2))
for kernel in ("thin_plate_spline", "cubic", "quintic", "linear"):
    row(f"RBFInterpolator {kernel}", lambda y, d, x, k=kernel: si.RBFInterpolator(y, d, kernel=k)(x), SITES, S[:8],
        P[:, :2], of=si.RBFInterpolator)  # fmt: skip
row("RBFInterpolator scale", lambda d, x: si.RBFInterpolator(R, d, kernel="gaussian", epsilon=1.5, smoothing=0.1)(x),
    R[:, :2], P, twice=True)  # fmt: skip
row("NearestNDInterpolator", lambda d, x: si.NearestNDInterpolator(R, d)(x), R[:, 0], P, of=si.NearestNDInterpolator)
row("griddata", lambda d, x: si.griddata(R, d, x, method="nearest") + si.griddata(X[:5], d, X[:4] + 0.01), R[:, 0], P,
    of=si.griddata)  # fmt: skip
row(
    "Barycentric",
    lambda y, t: si.BarycentricInterpolator(X, y)(t),
    Y,
    np.r_[Q[:2], X[2]],
    of=si.BarycentricInterpolator,
    twice=True,
)
row("barycentric_interpolate", lambda x, y, t: si.barycentric_interpolate(x, y, t), X, Y, Q,
    of=si.barycentric_interpolate)  # fmt: skip

# Interpolation: made outside ------------------------------------------------------------------------------------------

MADE = {
    "cubic": si.CubicSpline(X, Y),
    "pchip": si.PchipInterpolator(X, Y),
    "akima": si.Akima1DInterpolator(X, Y),
    "bspline": si.make_interp_spline(X, Y),
    "smoothing": si.UnivariateSpline(X, Y, s=0.05),
    "lines": si.interp1d(X, Y),
    "cubic lines": si.interp1d(X, Y, kind="cubic"),
    "nearest": si.interp1d(X, Y, kind="nearest", fill_value="extrapolate"),
}
for name, made in MADE.items():
    row(f"outside {name}", lambda t, made=made: made(t), Q)
row(
    "outside calculus",
    lambda t: MADE["cubic"](t, 1) + MADE["cubic"].derivative()(t) * MADE["bspline"](t, 2),
    Q,
    twice=True,
)
SURFACE = si.RectBivariateSpline(X, X, np.outer(Y, Y) + X)
row("outside surface", lambda t: SURFACE(t, t) + SURFACE.ev(t, 1.1 * t, dx=1), Q)
ON_GRID, RADIAL = si.RegularGridInterpolator(GRID, V), si.RBFInterpolator(R, R[:, 0])
row("outside grid", lambda p: ON_GRID(p), 0.9 * P[:, :2] / 1.1, twice=True)
row("outside radial", lambda p: RADIAL(p), P)
POLYNOMIAL, NEAR = si.BarycentricInterpolator(X, Y), si.NearestNDInterpolator(R, R[:, 0])
row("outside others", lambda t, p: POLYNOMIAL(t) + NEAR(p), Q, P)

# Filters -------------------------------------------------------------------------------------------------------------

row("lfilter", lambda b, a, x: sg.lfilter(b, a, x), B, A, S, of=sg.lfilter, twice=True)
row("lfilter axis", lambda x: sg.lfilter(np.ones(3) / 3, 1, x, axis=0), I)
row("lfilter zi", lambda b, a, x: sg.lfilter(b, a, x, zi=sg.lfilter_zi(b, a) * x[0]), B, A, S, of=sg.lfilter_zi)
row("lfiltic", lambda y, x: sg.lfiltic(B, A, y, x), S[:3], S[3:5], of=sg.lfiltic)
row("filtfilt", lambda b, a, x: sg.filtfilt(b, a, x), B, A, S, of=sg.filtfilt)
row("filtfilt even", lambda x: sg.filtfilt(B, A, x, padtype="even", padlen=4), I, twice=True)
row("sosfilt", lambda b, x: sg.sosfilt(np.concatenate((b, SOS[:, 3:]), axis=1), x), SOS[:, :3], S, of=sg.sosfilt)
row("sosfilt zi", lambda x: sg.sosfilt(SOS, x, zi=sg.sosfilt_zi(SOS) * x[0])[1], S, of=sg.sosfilt_zi)
row("sosfiltfilt", lambda x: sg.sosfiltfilt(SOS, x), S, of=sg.sosfiltfilt)
row("freqz", lambda b, a: np.real(sg.freqz(b, a, 16)[1]), B, A, of=sg.freqz)
row("designs", lambda x: sg.lfilter(*sg.butter(2, CUT / (0.5 * RATE)), x) * sg.get_window(("kaiser", 4.0), x.size)
    + sg.windows.hann(len(x)), S)  # fmt: skip
for mode in ("full", "same", "valid"):
    row(f"convolve {mode}", lambda a, v, m=mode: sg.convolve(a, v, m), S, K[0], of=sg.convolve)
    row(f"convolve images {mode}", lambda a, v, m=mode: sg.convolve(a, v, m), I, K)
    row(f"correlate {mode}", lambda a, v, m=mode: sg.correlate(a, v, m), S, K[0], of=sg.correlate)
    row(f"fftconvolve {mode}", lambda a, v, m=mode: sg.fftconvolve(a, v, m), I, K, of=(sg.fftconvolve, sg.oaconvolve))
    for boundary in ("fill", "wrap", "symm"):
        row(f"convolve2d {mode} {boundary}", lambda a, v, m=mode, b=boundary: sg.convolve2d(a, v, m, b), I, K,
            of=sg.convolve2d)  # fmt: skip
row("correlate2d", lambda a, v: sg.correlate2d(a, v, "same", "symm"), I, K, of=sg.correlate2d)
row("savgol_filter", lambda x: sg.savgol_filter(x, 7, 3), S, of=sg.savgol_filter)
row("savgol_filter slope", lambda x: sg.savgol_filter(x, 5, 2, deriv=1, delta=0.1), I)
row("savgol_filter mirror", lambda x: sg.savgol_filter(x, 6, 2, mode="mirror", axis=0), I)
row("medfilt", lambda x: sg.medfilt(x) + sg.medfilt(x, 5), S, of=sg.medfilt)
row("medfilt image", lambda x: sg.medfilt(x, [3, 5]), I)
row("wiener", lambda x: sg.wiener(x) + sg.wiener(x, 5, 0.4), S, of=sg.wiener, twice=True)
row("wiener image", lambda x, n: sg.wiener(x, (3, 5), n[0]), I, np.array([0.3]))
row("detrend", lambda x: sg.detrend(x) + sg.detrend(x, type="constant"), I, of=sg.detrend)
row("hilbert", lambda x: np.abs(sg.hilbert(x)), S, of=sg.hilbert, twice=True)
row("resample", lambda x: sg.resample(x, 17) ** 2, S, of=sg.resample)
row("welch", lambda x: sg.welch(x, fs=RATE, nperseg=8)[1], S, of=sg.welch, twice=True)
row("welch options", lambda x: sg.welch(x, window="blackman", nperseg=7, nfft=9, detrend="linear")[1], S)
row("csd", lambda x: np.abs(sg.csd(x, x[::-1], nperseg=8)[1]), S, of=sg.csd)
row("coherence", lambda x: sg.coherence(x, x[::-1], nperseg=8)[1], S, of=sg.coherence)
row("periodogram", lambda x: sg.periodogram(x, scaling="spectrum")[1], S, of=sg.periodogram)
row("spectrogram", lambda x: sg.spectrogram(x, nperseg=8)[2], S, of=sg.spectrogram)
row("stft", lambda x: np.abs(sg.stft(x, nperseg=8)[2]) + sg.stft(x, nperseg=8)[1], S, of=sg.stft)
row("istft", lambda x: sg.istft(sg.stft(x, nperseg=8)[2] * 0.5)[1], S, of=sg.istft)
row("find_peaks", lambda x: x[sg.find_peaks(x, height=-0.5, distance=2)[0]], S, of=sg.find_peaks)
row("peak_prominences", lambda x: sg.peak_prominences(x, sg.find_peaks(x, prominence=0.2)[0])[0], S,
    of=sg.peak_prominences)  # fmt: skip

row("upfirdn", lambda h, x: sg.upfirdn(h, x, 3, 2), K[0], S[:9], of=sg.upfirdn, twice=True)
for mode in ("antisymmetric", "antireflect", "smooth", "line"):
    row(f"upfirdn {mode}", lambda h, x, m=mode: sg.upfirdn(h, x, 2, 1, mode=m, axis=0), S[:13], I[:4, :2])
row("resample_poly", lambda x: sg.resample_poly(x, 6, 4, axis=1, padtype="line"), I, of=sg.resample_poly)
row("resample_poly weights", lambda x, w: sg.resample_poly(x, 2, 3, window=w, padtype="median"), S, K[0], twice=True)
row("decimate", lambda x: sg.decimate(x, 2, 2), S, of=sg.decimate)
for zero_phase in (True, False):
    row(f"decimate fir {zero_phase}", lambda x, z=zero_phase: sg.decimate(x, 3, 8, "fir", 0, z), I)
row("decimate sections", lambda x: sg.decimate(x, 2, 3, zero_phase=False), I)
row("hilbert2", lambda a: np.abs(sg.hilbert2(a)), I, of=sg.hilbert2, twice=True)
row("medfilt2d", lambda a: sg.medfilt2d(a, [3, 5]), I, of=sg.medfilt2d)
row("detrend parts", lambda a: sg.detrend(a, bp=[2, 5]), I)

# Images --------------------------------------------------------------------------------------------------------------

for mode in ("reflect", "mirror", "nearest", "constant", "wrap"):
    row(f"ndimage.convolve {mode}", lambda a, w, m=mode: nd.convolve(a, w, mode=m, cval=0.3), I, K, of=nd.convolve)
    row(f"gaussian_filter1d {mode}", lambda a, m=mode: nd.gaussian_filter1d(a, 1.2, mode=m, cval=0.3), I,
        of=nd.gaussian_filter1d)  # fmt: skip
row("ndimage.correlate", lambda a, w: nd.correlate(a, w, origin=(0, -1)), I, K, of=nd.correlate)
row("convolve1d", lambda a, w: nd.convolve1d(a, w, origin=1), I, K[0], of=nd.convolve1d)
row("correlate1d", lambda a, w: nd.correlate1d(a, w, axis=0), I, K[0], of=nd.correlate1d)
row("gaussian_filter", lambda a, s: nd.gaussian_filter(a, s), I, 1.3, of=nd.gaussian_filter, twice=True)
row("gaussian_filter order", lambda a: nd.gaussian_filter(a, (1.0, 1.5), order=(1, 2)), I)
row("uniform_filter", lambda a: nd.uniform_filter(a, 3), I, of=nd.uniform_filter)
row("uniform_filter1d", lambda a: nd.uniform_filter1d(a, 4, 0), I, of=nd.uniform_filter1d)
row("sobel", lambda a: nd.sobel(a), I, of=nd.sobel)
row("prewitt", lambda a: nd.prewitt(a, 0), I, of=nd.prewitt)
row("laplace", lambda a: nd.laplace(a), I, of=nd.laplace)
row("gaussian_laplace", lambda a: nd.gaussian_laplace(a, 1.0), I, of=nd.gaussian_laplace)
row("gaussian_gradient_magnitude", lambda a: nd.gaussian_gradient_magnitude(a, 1.0), I,
    of=nd.gaussian_gradient_magnitude)  # fmt: skip
FAR = rng.uniform(-9, 14, (2, 4))
SPOTS = rng.uniform(0.2, 4.8, (2, 5))
for order in (0, 1, 2, 3):
    row(f"map_coordinates {order}", lambda a, x, o=order: nd.map_coordinates(a, x, order=o), I, SPOTS,
        of=nd.map_coordinates)  # fmt: skip
row("map_coordinates reflect", lambda a, x: nd.map_coordinates(a, 3 * x, mode="reflect"), I, SPOTS, twice=True)
row("spline_filter", lambda a: nd.spline_filter(a), I, of=(nd.spline_filter, nd.spline_filter1d))
row("shift", lambda a, s: nd.shift(a, s, order=1, mode="nearest"), I, 0.3, of=nd.shift)
row("zoom", lambda a: nd.zoom(a, 1.6, order=1), I, of=nd.zoom)
row("zoom smooth", lambda a: nd.zoom(a, (1.6, 0.7), mode="grid-wrap"), I)
row("shift smooth", lambda a, s: nd.shift(a, s, mode="nearest"), I, np.array([0.3, -1.2]))
for mode in ("reflect", "mirror", "nearest", "constant", "wrap", "grid-constant", "grid-wrap"):
    row(f"map_coordinates {mode}", lambda a, x, m=mode: nd.map_coordinates(a, x, order=2, mode=m, cval=0.3), I, FAR)
row("rotate", lambda a, t: nd.rotate(a, t, reshape=False, order=1, mode="reflect"), I, 33.0, of=nd.rotate, twice=True)
row("affine_transform", lambda a, m: nd.affine_transform(a, m, offset=(0.31, 0.17), order=1, mode="mirror"), I,
    np.array([[0.9, 0.1], [-0.13, 0.8]]), of=nd.affine_transform)  # fmt: skip

# Points --------------------------------------------------------------------------------------------------------------

METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine", "correlation",
           "jensenshannon", "seuclidean", "minkowski")  # fmt: skip
for metric in METRICS:
    row(f"cdist {metric}", lambda a, b, m=metric: distance.cdist(a, b, m), P, R, of=distance.cdist)
    row(f"pdist {metric}", lambda a, m=metric: distance.pdist(a, m), P, of=distance.pdist)
row("cdist Minkowski", lambda a, b, p: distance.cdist(a, b, "minkowski", p=p, w=[1.0, 0.5, 2.0]), P, R, 3.0)
row("cdist Minkowski's limit", lambda a, b: distance.cdist(a, b, "minkowski", p=np.inf), np.exp(P), R, twice=True)
row("pdist Minkowski's limit", lambda a: distance.pdist(a, "minkowski", p=np.inf, w=[1.0, 0.0, 2.0]), P)
row("distance_matrix to the limit", lambda a, b: spatial.distance_matrix(a, b, p=np.inf), P, R)
row("distance.minkowski to the limit", lambda u, v: distance.minkowski(u, v, np.inf), P[0], P[1])
row("cdist mahalanobis, by the matrix", lambda a, m: distance.cdist(a, R, "mahalanobis", VI=m), P,
    np.array([[1.0, 0.2, 0.1], [-0.1, 2.0, 0.3], [0.0, 0.4, 3.0]]))  # fmt: skip
row("cdist mahalanobis", lambda a: distance.cdist(a, R, "mahalanobis", VI=np.diag([1.0, 2.0, 3.0])), P, twice=True)
row("cdist function", lambda a, b: distance.cdist(a, b, lambda u, v: np.sum((u - v) ** 4)), P, R)
row("squareform", lambda a: distance.squareform(distance.pdist(a)), P, of=distance.squareform)
for one in (distance.euclidean, distance.sqeuclidean, distance.cityblock, distance.chebyshev, distance.canberra,
            distance.braycurtis, distance.cosine, distance.correlation, distance.minkowski):  # fmt: skip
    row(f"distance.{one.__name__}", lambda u, v, f=one: f(u, v), P[0], P[1], of=one)
row("distance.jensenshannon", lambda u, v: distance.jensenshannon(u, v), P[0], P[1], of=distance.jensenshannon)
row("distance.mahalanobis", lambda u, v: distance.mahalanobis(u, v, np.eye(3)), P[0], P[1], of=distance.mahalanobis)
row("distance.seuclidean", lambda u, v: distance.seuclidean(u, v, v), P[0], P[1], of=distance.seuclidean)
row("directed_hausdorff", lambda a, b: distance.directed_hausdorff(a, b)[0], P, R, of=distance.directed_hausdorff)
row("distance_matrix", lambda a, b: spatial.distance_matrix(a, b), P, R, of=spatial.distance_matrix)
row("KDTree", lambda a, x: spatial.KDTree(a).query(x)[0], R, P, of=spatial.KDTree)
row("cKDTree", lambda a, x: spatial.cKDTree(a).query(x, k=2)[0], R, P, of=spatial.cKDTree)
TREE, TURNED = spatial.KDTree(R), Rotation.from_rotvec(TURN)
row("outside tree", lambda x: TREE.query(x, 2)[0], P)
row("Rotation", lambda v, x: Rotation.from_rotvec(v).apply(x), TURN, P, of=Rotation)
row("Rotation angles", lambda v: Rotation.from_euler("zyx", v).as_euler("XYZ", degrees=True), TURN, twice=True)
row("Rotation matrix", lambda v: Rotation.from_matrix(Rotation.from_euler("x", v).as_matrix()).as_rotvec(), 0.4)
row("Rotation products", lambda v: (Rotation.from_rotvec(v) * TURNED.inv()).as_quat() * TURNED.magnitude(), TURN)

# Sparse matrices -----------------------------------------------------------------------------------------------------

DENSE = K * (np.abs(K) > 0.5)
WHERE = np.nonzero(DENSE)
N5, N3 = R[:, 0], R[:3, 1]
FORMATS = (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_matrix, sp.coo_array)
for form in FORMATS:
    row(f"{form.__name__}", lambda d, x, f=form: f((d, WHERE), shape=DENSE.shape) @ x, DENSE[WHERE], S[:4], of=form)
row("sparse algebra", lambda d, x: (2.0 * sp.csr_matrix((d, WHERE), shape=(3, 4)).T / 3 - sp.csc_matrix(DENSE).T) @ x,
    DENSE[WHERE], N3, twice=True)  # fmt: skip
row("sparse product", lambda d: (sp.csr_array((d, WHERE), shape=(3, 4)) @ sp.csr_array(DENSE.T)).toarray(),
    DENSE[WHERE])  # fmt: skip
row("diags", lambda a, x: sp.diags([a, a[1:]], [0, 1]) @ x, N5, S[:5], of=(sp.diags, sp.diags_array))
row("eye", lambda a: (sp.eye(5) + sp.diags(a)).toarray(), N5, of=(sp.eye, sp.identity, sp.eye_array))
row("kron", lambda a: sp.kron(sp.diags(a), sp.csr_matrix(DENSE[:2, :2])).toarray(), N3, of=sp.kron)
row("vstack", lambda a: sp.vstack([sp.diags(a), sp.eye(3)]) @ a, N3, of=sp.vstack)
row("hstack", lambda a: sp.hstack([sp.diags(a), sp.eye(3)]).toarray(), N3, of=(sp.hstack, sp.issparse))
row("spsolve", lambda a, b: sl.spsolve(sp.diags([a + 3, a[1:], a[:-1]], [0, 1, -1]).tocsc(), b), N5, S[:5],
    of=sl.spsolve, twice=True)  # fmt: skip
FIXED = sp.csc_matrix(np.diag(N5 + 2) + 0.1)
row("factorized", lambda b: sl.factorized(FIXED)(b), S[:5], of=sl.factorized)
row("outside sparse", lambda x: FIXED @ x + x @ FIXED + FIXED.diagonal() * FIXED.sum(), S[:5])

# Transforms ----------------------------------------------------------------------------------------------------------

for name in ("fft", "ifft", "rfft", "hfft", "fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn"):
    row(f"fft.{name}", lambda x, f=getattr(sf, name): np.abs(f(x, norm="ortho")), I, of=getattr(sf, name))
row("fft.irfft", lambda x: sf.irfft(sf.rfft(x) ** 2, 7), I, of=sf.irfft)
row("fft.ihfft", lambda x: np.abs(sf.ihfft(x)), I, of=sf.ihfft)
row("fft.irfft2", lambda x: sf.irfft2(sf.rfft2(x)) + sf.irfftn(sf.rfftn(x)), I[:, :6], of=(sf.irfft2, sf.irfftn))
row("fft.shifts", lambda x: sf.ifftshift(sf.fftshift(x) * sf.fftfreq(24, 0.1)) + sf.rfftfreq(47), S,
    of=(sf.fftshift, sf.ifftshift, sf.fftfreq, sf.rfftfreq))  # fmt: skip
for kind in (1, 2, 3, 4):
    for name in ("dct", "idct", "dst", "idst"):
        row(f"fft.{name} {kind}", lambda x, f=getattr(sf, name), k=kind: f(x, k, norm="ortho"), S, of=getattr(sf, name))
row("fft.dstn", lambda x: sf.dstn(x) + sf.idstn(x, 3), I, of=(sf.dstn, sf.idstn), twice=True)
row("fft.dctn", lambda x: sf.dctn(x) + sf.idctn(x, norm="ortho"), I, of=(sf.dctn, sf.idctn), twice=True)
for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"):
    row(f"fftpack.{name}", lambda x, f=getattr(pack, name): np.abs(f(x)), I, of=getattr(pack, name))
for name in ("rfft", "irfft", "dct", "idct", "dst", "idst", "dctn", "idctn"):
    row(f"fftpack.{name}", lambda x, f=getattr(pack, name): f(x) + f(x[:, :6]).sum(), I, of=getattr(pack, name))
