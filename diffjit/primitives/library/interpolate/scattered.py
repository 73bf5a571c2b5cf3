"""Interpolants of scattered points: radial functions, nearest neighbours, and one polynomial through all of them."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.interpolate
import scipy.spatial.distance

from diffjit.primitives.library.axes import as_float, known, one_axis, places, root
from diffjit.primitives.library.interpolate.grids import Interp1d, coordinates
from diffjit.primitives.library.interpolate.pieces import places_moved
from diffjit.primitives.registry import implements

WITHOUT_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


def least_degree(kernel):
    """The degree of the polynomial beside a kind of radial functions."""
    if kernel in ("thin_plate_spline", "cubic"):
        return 1
    return 2 if kernel == "quintic" else 0


def squares(a, b):
    """Squared distances between two sets of points."""
    gaps = a[:, None, :] - b[None, :, :]
    return np.sum(gaps * gaps, axis=-1)


def radial(kernel, square):
    """A radial function of squared distances."""
    if kernel == "linear":
        return -root(square)
    if kernel == "thin_plate_spline":
        return 0.5 * square * np.log(np.where(square == 0, 1.0, square))
    if kernel == "cubic":
        return square * root(square)
    if kernel == "quintic":
        return -square * square * root(square)
    if kernel == "multiquadric":
        return -np.sqrt(square + 1)
    if kernel == "inverse_multiquadric":
        return 1 / np.sqrt(square + 1)
    if kernel == "inverse_quadratic":
        return 1 / (square + 1)
    if kernel == "gaussian":
        return np.exp(-square)
    raise ValueError(f"`kernel` {kernel!r} is not known")


def exponents(ndim, degree):
    """The powers of all monomials up to a degree, a row each, in SciPy's order."""
    return [chosen for total in places(degree + 1) for chosen in combinations(ndim, total)]


def combinations(ndim, total):
    """All tuples of powers with a sum."""
    if ndim == 1:
        return [(total,)]
    return [(first, *rest) for first in places(total + 1)[::-1] for rest in combinations(ndim - 1, total - first)]


def monomials(x, powers):
    """Monomials of points: a row for each point, a column for each row of powers."""
    out = np.ones((x.shape[0], powers.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(powers.shape[0]):
            for k in range(x.shape[1]):
                for _ in range(powers[j, k]):
                    out[i, j] *= x[i, k]
    return out


@implements(scipy.interpolate.RBFInterpolator)
class RBFInterpolator:
    """A sum of radial functions and a polynomial."""

    stands_for = scipy.interpolate.RBFInterpolator

    def __init__(
        self, y, d, neighbors=None, smoothing=0.0, kernel="thin_plate_spline", epsilon=None, degree=None
    ):  # fmt: skip
        if neighbors is not None:
            raise NotImplementedError("RBFInterpolator(neighbors=...): leave it out")
        if epsilon is None and kernel not in WITHOUT_SCALE:
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {WITHOUT_SCALE}.")
        y, d = as_float(np.asarray(y)), as_float(np.asarray(d))
        if degree is None:
            degree = least_degree(kernel)
        n, ndim = y.shape
        if d.shape[0] != n:
            raise ValueError(f"Expected the first axis of `d` to have length {n}.")
        epsilon = 1.0 if epsilon is None else epsilon
        powers = np.array(exponents(known(ndim), degree)) if degree >= 0 else np.zeros((0, ndim), int)
        low, high = np.min(y, axis=0), np.max(y, axis=0)
        shift, scale = (high + low) / 2, (high - low) / 2
        scale = np.where(scale == 0, 1.0, scale)
        count = powers.shape[0]
        if n < count:
            raise ValueError(f"At least {count} data points are required when `degree` is {degree}")
        left = np.zeros((n + count, n + count))
        left[:n, :n] = radial(kernel, squares(y * epsilon, y * epsilon)) + np.diag(smoothing + np.zeros(n))
        part = monomials((y - shift) / scale, powers)
        left[:n, n:] = part
        left[n:, :n] = np.transpose(part)
        right = np.zeros((n + count, *d.shape[1:]), d.dtype)
        right[:n] = d
        self._coeffs = np.linalg.solve(left, np.reshape(right, (n + count, -1)))
        self.y, self._shift, self._scale, self.powers = y, shift, scale, powers
        self.epsilon, self.kernel, self.neighbors, self.d_shape = epsilon, kernel, None, d.shape[1:]

    def __call__(self, x):
        """Values at points."""
        if self.neighbors is not None:
            raise NotImplementedError("RBFInterpolator(neighbors=...): leave it out")
        x, n = as_float(np.asarray(x)), self.y.shape[0]
        if x.ndim != 2:
            raise ValueError("`x` must be a 2-dimensional array.")
        near = radial(self.kernel, squares(x * self.epsilon, self.y * self.epsilon)) @ self._coeffs[:n]
        far = monomials((x - self._shift) / self._scale, self.powers) @ self._coeffs[n:]
        return np.reshape(near + far, (x.shape[0], *self.d_shape))


RADIAL = {  # of squared distances, whose derivatives are right where a point meets another one
    "multiquadric": lambda square: np.sqrt(square + 1),
    "inverse_multiquadric": lambda square: 1.0 / np.sqrt(square + 1),
    "gaussian": lambda square: np.exp(-square),
    "linear": root,
    "cubic": lambda square: square * root(square),
    "quintic": lambda square: square * square * root(square),
    "thin_plate": lambda square: 0.5 * square * np.log(np.where(square == 0, 1.0, square)),
}
OTHER_NAMES = {
    "inverse": "inverse_multiquadric",
    "inverse multiquadric": "inverse_multiquadric",
    "thin-plate": "thin_plate",
}
SCALED = ("multiquadric", "inverse_multiquadric", "gaussian")


@implements(scipy.interpolate.Rbf)
class Rbf:
    """A sum of radial functions around points, without a polynomial."""

    stands_for = scipy.interpolate.Rbf

    def __init__(
        self, *args, mode="1-D", norm="euclidean", epsilon=None, smooth=0.0, function="multiquadric"
    ):  # fmt: skip
        if mode not in ("1-D", "N-D"):
            raise ValueError("Mode has to be 1-D or N-D.")
        self.xi = np.stack([np.ravel(as_float(np.asarray(a))) for a in args[:-1]])
        self.di = as_float(np.asarray(args[-1]))
        self.di = np.ravel(self.di) if mode == "1-D" else self.di
        self.N = self.xi.shape[1]
        if self.di.shape[0] != self.N:
            raise ValueError("All arrays must be equal length.")
        if epsilon is None:
            edges = np.max(self.xi, axis=1) - np.min(self.xi, axis=1)
            wide = edges > 0
            epsilon = (np.prod(np.where(wide, edges, 1.0)) / self.N) ** (1.0 / np.sum(wide))
        self.epsilon, self.norm, self.smooth, self.mode = epsilon, norm, smooth, mode
        self.function = OTHER_NAMES.get(function.lower(), function.lower()) if isinstance(function, str) else function
        self.nodes = np.linalg.solve(self.A, self.di)

    def around(self, a, b):
        """The radial function of the distances of two sets of points."""
        if isinstance(self.norm, str) and self.norm == "euclidean":
            square = squares(a, b)
        else:
            square = scipy.spatial.distance.cdist(a, b, self.norm) ** 2
        if not isinstance(self.function, str):
            return self.function(root(square))
        if self.function not in RADIAL:
            raise ValueError("function must be a callable or one of " + ", ".join(RADIAL))
        return RADIAL[self.function](square / self.epsilon**2 if self.function in SCALED else square)

    @property
    def A(self):  # noqa: N802 - SciPy's name
        """The radial functions around all points, at all points."""
        return self.around(self.xi.T, self.xi.T) - np.eye(self.N) * self.smooth

    def __call__(self, *args):
        """Values at points."""
        points = [as_float(np.asarray(x)) for x in args]
        for x in points:
            if x.shape != points[0].shape:
                raise ValueError("Array lengths must be equal")
        around = self.around(np.stack([np.ravel(x) for x in points]).T, self.xi.T)
        return np.reshape(around @ self.nodes, points[0].shape + self.di.shape[1:])


@implements(scipy.interpolate.lagrange)
def lagrange(x, w):
    """The polynomial through points, as its coefficients."""
    x, w = as_float(np.asarray(x)), as_float(np.asarray(w))
    n = x.shape[0]
    total = np.zeros(n, np.result_type(x, w))
    for j in range(n):
        part = np.zeros_like(total)
        part[0] = w[j]
        for k in range(n):
            if k != j:
                moved = -x[k] * part
                moved[1:] += part[:-1]
                part = moved / (x[j] - x[k])
        total += part
    return np.poly1d(total[::-1])


@implements(scipy.interpolate.NearestNDInterpolator)
class NearestNDInterpolator:
    """The value of the nearest point."""

    stands_for = scipy.interpolate.NearestNDInterpolator

    def __init__(self, x, y, rescale=False, tree_options=None):
        if rescale or tree_options is not None:
            raise NotImplementedError("NearestNDInterpolator(rescale, tree_options): leave them out")
        x = x if isinstance(x, tuple) else as_float(np.asarray(x))
        self.points = coordinates(x, 1)
        self.values = as_float(np.asarray(y))

    def __call__(self, *args):
        """Values at points."""
        ndim = known(self.points.shape[1])
        points = coordinates(args if len(args) > 1 else args[0], ndim)
        flat = np.reshape(points, (-1, ndim))
        nearest = np.zeros(flat.shape[0], int)
        for i in range(flat.shape[0]):
            nearest[i] = np.argmin(np.sum((self.points - flat[i]) ** 2, axis=1))
        return np.reshape(self.values[nearest], points.shape[:-1] + self.values.shape[1:])


@implements(scipy.interpolate.griddata)
def griddata(points, values, xi, method="linear", fill_value=np.nan, rescale=False):
    """Values of scattered points elsewhere: along a line by neighbours, in space by triangles or the nearest one."""
    at = as_float(np.asarray(points)) if not isinstance(points, tuple) else points
    line = at[:, 0] if not isinstance(at, tuple) and at.ndim == 2 and at.shape[1] == 1 else at
    if not isinstance(line, tuple) and line.ndim == 1:
        if method == "nearest":
            fill_value = "extrapolate"
        where = xi[0] if isinstance(xi, tuple) else xi
        return Interp1d(line, values, method, 0, True, False, fill_value)(where)
    if method == "linear":
        return scipy.interpolate.LinearNDInterpolator(points, values, fill_value, rescale)(xi)
    if method != "nearest" or rescale:
        raise NotImplementedError(
            f"griddata(method={method!r}, rescale={rescale}) in the plane: method='linear', or RBFInterpolator"
        )
    return NearestNDInterpolator(points, values)(xi)


@implements(scipy.interpolate.BarycentricInterpolator)
class BarycentricInterpolator:
    """The polynomial through all points."""

    stands_for = scipy.interpolate.BarycentricInterpolator

    def __init__(self, xi, yi=None, axis=0, *, wi=None, rng=None, random_state=None):
        if yi is None or wi is not None:
            raise NotImplementedError("BarycentricInterpolator(yi=None, wi=...): give values, and no weights")
        x, y = as_float(np.asarray(xi)), as_float(np.asarray(yi))
        self.axis = one_axis(axis, y.ndim)
        self.xi, self.yi = x, np.moveaxis(y, axis, 0)
        n, size = x.shape[0], 4.0 / (np.max(x) - np.min(x))
        gaps = size * (x[:, None] - x[None, :]) + np.eye(n)
        self.wi = 1.0 / np.prod(gaps, axis=1)

    def __call__(self, x):
        """Values at points."""
        points, ones = as_float(np.asarray(x)), (1,) * (self.yi.ndim - 1)
        flat = np.ravel(points)
        out = np.zeros((flat.shape[0], *self.yi.shape[1:]), self.yi.dtype)
        for i in range(flat.shape[0]):
            gap = flat[i] - self.xi
            hit = gap == 0
            if np.any(hit):
                # On a point: Lagrange's form, whose derivatives of all orders are the polynomial's.
                lines = 4.0 / (np.max(self.xi) - np.min(self.xi)) * gap
                share = self.wi * np.prod(np.where(np.eye(gap.shape[0]) == 1, 1.0, lines), axis=1)
                out[i] = np.sum(np.reshape(share, (-1, *ones)) * self.yi, axis=0) / np.sum(share)
            else:
                share = self.wi / gap
                out[i] = np.sum(np.reshape(share, (-1, *ones)) * self.yi, axis=0) / np.sum(share)
        return places_moved(np.reshape(out, points.shape + self.yi.shape[1:]), points.ndim, self.axis)


@implements(scipy.interpolate.barycentric_interpolate)
def barycentric_interpolate(xi, yi, x, axis=0, *, der=0, rng=None):
    """The polynomial through all points, elsewhere."""
    if der != 0:
        raise NotImplementedError("barycentric_interpolate(der=...): leave it out")
    return BarycentricInterpolator(xi, yi, axis)(x)
