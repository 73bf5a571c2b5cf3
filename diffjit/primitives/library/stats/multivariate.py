"""Distributions of vectors and matrices: `scipy.stats.multivariate_normal` and its kin, called or made.

A covariance is read as SciPy reads it, by its lower triangle; so its gradient stands there.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
import scipy.special as sc
from scipy import stats
from scipy.stats import _multivariate as multivariate

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.shaping import has_length_one
from diffjit.primitives.library.stats.families import stream_of
from diffjit.primitives.registry import COMPOSITES, implements

LOG_TAU = math.log(2 * math.pi)


def squared(matrix, what):
    """A matrix of a number (times the identity, later), a diagonal, or a square matrix."""
    if matrix.ndim == 1:
        return np.diag(matrix)
    if matrix.ndim > 2:
        raise ValueError(f"Array '{what}' must be at most two-dimensional")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"Array '{what}' must be square if it is two dimensional")
    return matrix


def place_and_spread(place, spread, names):
    """The centre as a vector, and the matrix around it; either says how many numbers there are."""
    spread = as_float(np.asarray(1.0 if spread is None else spread))
    if place is None:
        if spread.ndim < 2:
            return np.zeros(1), np.reshape(spread, (1, 1))
        place = np.zeros(spread.shape[0])
    place = as_float(np.asarray(place))
    if place.ndim == 0:
        return np.reshape(place, (1,)), np.reshape(spread, (1, 1))
    if place.ndim > 1:
        if place.size != 1:
            raise ValueError(f"Array '{names[0]}' must be a vector")
        place = np.reshape(place, (1,))
    if spread.ndim == 0:
        return place, spread * np.eye(place.shape[0])
    spread = squared(spread, names[1])
    if spread.shape[0] != place.shape[0]:
        raise ValueError(f"Dimension mismatch: array '{names[1]}' and the vector '{names[0]}'")
    return place, spread


def gaps(x, place):
    """Points minus the centre, along the last axis; a vector is many points where the centre is a number.

    One number is one point, whatever the centre is.
    """
    x = as_float(np.asarray(x))
    if x.ndim == 0:
        return x[None] - place
    if x.ndim == 1:
        return (x[:, None] if has_length_one(place, 0, x.shape[0] == 1) else x[None, :]) - place
    return x - place


def is_singular(matrix):
    """Whether SciPy would leave out the smallest eigenvalue."""
    sizes = np.linalg.eigvalsh(matrix)
    return np.min(sizes) <= 1e6 * np.finfo(np.float64).eps * np.max(np.abs(sizes))


def lower(matrix, singular=False):
    """A triangle whose product with its transpose is the matrix, which must be positive definite.

    singular: SciPy takes matrices that are not; here these are refused.
    """
    if singular and is_singular(matrix):
        raise NotImplementedError("scipy.stats: a singular matrix around a mean")
    factor = np.linalg.cholesky(matrix)
    if np.min(np.diagonal(factor)) ** 2 <= 1e-6 * np.trace(matrix) and is_singular(matrix):
        raise np.linalg.LinAlgError("the matrix around the mean must be symmetric positive definite")
    return factor


def log_det(factor):
    """The logarithm of the determinant of a matrix, by its triangle."""
    return 2.0 * np.sum(np.log(np.diagonal(factor)))


def distances(gap, factor):
    """The squares of lengths, in units of the matrix."""
    rows = np.reshape(gap, (-1, factor.shape[0]))
    z = scipy.linalg.solve_triangular(factor, np.transpose(rows), lower=True)
    return np.reshape(np.sum(z * z, axis=0), gap.shape[:-1])


def squeezed(out):
    """SciPy drops what has length one."""
    return np.squeeze(out)[()]


def own_stream(seed):
    """What a distribution with a seed draws from; others draw from NumPy's."""
    return None if seed is None else stream_of(seed)


class Vectors:
    """What all of them have: a density."""

    def pdf(self, x):
        """The density."""
        return np.exp(self.logpdf(x))


@implements(multivariate.multivariate_normal_frozen)
class MultivariateNormal(Vectors):
    """Normal vectors."""

    def __init__(self, mean=None, cov=1, allow_singular=False, seed=None):
        self.mean, self.cov = place_and_spread(mean, cov, ("mean", "cov"))
        self.allow_singular, self.stream = allow_singular, own_stream(seed)

    @property
    def dim(self):
        """How many numbers."""
        return self.mean.shape[0]

    def logpdf(self, x):
        """The logarithm of the density."""
        factor = lower(self.cov, self.allow_singular)
        total = distances(gaps(x, self.mean), factor) + log_det(factor)
        return squeezed(-0.5 * (total + self.mean.shape[0] * LOG_TAU))

    def entropy(self):
        """The differential entropy."""
        return 0.5 * (self.mean.shape[0] * (LOG_TAU + 1.0) + log_det(lower(self.cov, self.allow_singular)))

    def rvs(self, size=1, random_state=None):
        """Draws."""
        stream = self.stream if random_state is None else random_state
        return squeezed(stream_of(stream).multivariate_normal(self.mean, self.cov, size))


@implements(multivariate.multivariate_t_frozen)
class MultivariateT(Vectors):
    """Student's vectors."""

    def __init__(self, loc=None, shape=1, df=1, allow_singular=False, seed=None):
        if shape is None and loc is not None:
            shape = np.eye(np.size(loc))
        self.loc, self.shape = place_and_spread(loc, shape, ("loc", "shape"))
        self.df = 1 if df is None else df
        if self.df <= 0:
            raise ValueError("'df' must be greater than zero.")
        if self.df != self.df:
            raise ValueError("'df' is 'nan' but must be greater than zero or 'np.inf'.")
        if self.df == math.inf:
            raise NotImplementedError("scipy.stats.multivariate_t of infinite df: use multivariate_normal")

    def logpdf(self, x):
        """The logarithm of the density."""
        factor, dim, df = lower(self.shape, True), self.loc.shape[0], self.df
        half = 0.5 * (df + dim)
        front = sc.gammaln(half) - sc.gammaln(0.5 * df) - 0.5 * dim * np.log(df * math.pi) - 0.5 * log_det(factor)
        return squeezed(front - half * np.log(1.0 + distances(gaps(x, self.loc), factor) / df))

    def entropy(self):
        """The differential entropy; SciPy takes a series where df is large."""
        dim, df = self.loc.shape[0], self.df
        half, half_df = 0.5 * (df + dim), 0.5 * df
        if df >= dim * 400 / (np.log(dim) + 1):
            raise NotImplementedError("scipy.stats.multivariate_t.entropy of large df")
        front = sc.gammaln(half_df) - sc.gammaln(half) + 0.5 * dim * np.log(df * math.pi)
        return front + half * (sc.psi(half) - sc.psi(half_df)) + 0.5 * log_det(lower(self.shape, True))


@implements(multivariate.matrix_normal_frozen)
class MatrixNormal(Vectors):
    """Normal matrices."""

    def __init__(self, mean=None, rowcov=1, colcov=1, seed=None):
        rowcov, colcov = as_float(np.asarray(rowcov)), as_float(np.asarray(colcov))
        if mean is None:
            rowcov = np.reshape(rowcov, (1, 1)) if rowcov.ndim == 0 else squared(rowcov, "rowcov")
            colcov = np.reshape(colcov, (1, 1)) if colcov.ndim == 0 else squared(colcov, "colcov")
            mean = np.zeros((rowcov.shape[0], colcov.shape[0]))
        self.mean = as_float(np.asarray(mean))
        if self.mean.ndim != 2:
            raise ValueError("Array `mean` must be two dimensional.")
        rows, columns = self.mean.shape
        self.rowcov = rowcov * np.eye(rows) if rowcov.ndim == 0 else squared(rowcov, "rowcov")
        self.colcov = colcov * np.eye(columns) if colcov.ndim == 0 else squared(colcov, "colcov")
        if self.rowcov.shape[0] != rows:
            raise ValueError("Arrays `mean` and `rowcov` must have the same number of rows.")
        if self.colcov.shape[0] != columns:
            raise ValueError("Arrays `mean` and `colcov` must have the same number of columns.")

    def logpdf(self, X):
        """The logarithm of the density; of several matrices along the first axes."""
        rows, columns = self.mean.shape
        left, right = lower(self.rowcov), lower(self.colcov)
        points = as_float(np.asarray(X))
        if points.ndim < 2 or points.shape[-2] != rows or points.shape[-1] != columns:
            raise ValueError("The shape of array `X` is not compatible with the distribution parameters.")
        gap = points - self.mean
        z = scipy.linalg.solve_triangular(right, np.reshape(gap, (-1, columns)).T, lower=True)
        turned = np.swapaxes(np.reshape(z.T, (-1, rows, columns)), -1, -2)
        z = scipy.linalg.solve_triangular(left, np.reshape(turned, (-1, rows)).T, lower=True)
        length = np.sum(np.reshape(np.sum(z * z, axis=0), (-1, columns)), axis=1)
        front = rows * columns * LOG_TAU + columns * log_det(left) + rows * log_det(right)
        return squeezed(np.reshape(-0.5 * (front + length), gap.shape[:-2]))

    def entropy(self):
        """The differential entropy."""
        rows, columns = self.mean.shape
        front = rows * columns * (1.0 + LOG_TAU)
        return 0.5 * (front + rows * log_det(lower(self.colcov)) + columns * log_det(lower(self.rowcov)))


class Squares(Vectors):
    """Random matrices with a scale: their parameters, and points as matrices along the first two axes."""

    def __init__(self, df, scale, seed=None):
        scale = as_float(np.asarray(1.0 if scale is None else scale))
        self.scale = np.reshape(scale, (1, 1)) if scale.ndim == 0 else squared(scale, "scale")
        self.df = self.scale.shape[0] if df is None else df
        if self.df <= self.scale.shape[0] - 1:
            raise ValueError("Degrees of freedom must be greater than the dimension of scale matrix minus 1.")

    @property
    def dim(self):
        """How many rows."""
        return self.scale.shape[0]

    def points(self, x):
        """Matrices along the last axis."""
        x = as_float(np.asarray(x))
        if x.ndim == 0:
            x = x * np.eye(self.dim)
        if x.ndim == 1:
            x = x[None, None, :] if has_length_one(self.scale, 0) else np.diag(x)
        x = x[:, :, None] if x.ndim == 2 else x
        if x.ndim > 3 or x.shape[0] != self.dim or x.shape[1] != self.dim:
            raise ValueError("Quantiles have incompatible dimensions")
        return x

    def triangles(self, x):
        """Of each matrix, and the logarithms of their determinants."""
        factors = np.linalg.cholesky(np.moveaxis(x, -1, 0))
        return factors, 2.0 * np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2)), axis=-1)

    def digammas(self):
        """What entropies add up."""
        total = 0.0
        for i in range(self.dim):
            total = total + sc.psi(0.5 * (self.df - i))
        return total


@implements(multivariate.wishart_frozen)
class Wishart(Squares):
    """Wishart's: sums of squares of normal vectors."""

    def logpdf(self, x):
        """The logarithm of the density."""
        x, factor, dim = self.points(x), np.linalg.cholesky(self.scale), self.dim
        half = scipy.linalg.solve_triangular(factor, np.reshape(x, (dim, -1)), lower=True)
        turned = np.reshape(scipy.linalg.solve_triangular(factor, half, lower=True, trans="T"), (dim, dim, -1))
        traces = np.sum(np.diagonal(turned), axis=-1)
        front = 0.5 * self.df * (dim * math.log(2.0) + log_det(factor)) + sc.multigammaln(0.5 * self.df, dim)
        return squeezed(0.5 * (self.df - dim - 1) * self.triangles(x)[1] - 0.5 * traces - front)

    def mean(self):
        """The mean."""
        return squeezed(self.df * self.scale)

    def var(self):
        """The variances of the entries."""
        diagonal = np.diagonal(self.scale)
        return squeezed(self.df * (self.scale**2 + np.outer(diagonal, diagonal)))

    def entropy(self):
        """The differential entropy."""
        dim, df = self.dim, self.df
        front = 0.5 * (dim + 1) * log_det(np.linalg.cholesky(self.scale)) + 0.5 * dim * (dim + 1) * math.log(2.0)
        rest = sc.multigammaln(0.5 * df, dim) - 0.5 * (df - dim - 1) * self.digammas()
        return front + rest + 0.5 * df * dim


@implements(multivariate.invwishart_frozen)
class InverseWishart(Squares):
    """The inverses of Wishart's."""

    def logpdf(self, x):
        """The logarithm of the density."""
        x, factor, dim = self.points(x), np.linalg.cholesky(self.scale), self.dim
        factors, sizes = self.triangles(x)
        parts = np.linalg.solve(factors, factor)
        traces = np.sum(np.sum(parts * parts, axis=-1), axis=-1)
        front = 0.5 * self.df * dim * math.log(2.0) + 0.5 * (self.df + dim + 1) * sizes
        return squeezed(
            0.5 * self.df * log_det(factor) - 0.5 * traces - front - sc.multigammaln(0.5 * self.df, dim)
        )  # fmt: skip

    def mean(self):
        """The mean, where there is one."""
        if self.df <= self.dim + 1:
            raise NotImplementedError("scipy.stats.invwishart.mean of so few degrees of freedom is None")
        return squeezed(self.scale / (self.df - self.dim - 1))

    def mode(self):
        """The mode."""
        return squeezed(self.scale / (self.df + self.dim + 1))

    def entropy(self):
        """The differential entropy."""
        dim, df = self.dim, self.df
        front = sc.multigammaln(0.5 * df, dim) + 0.5 * dim * df
        size = 0.5 * (dim + 1) * (log_det(np.linalg.cholesky(self.scale)) - math.log(2.0))
        return front + size - 0.5 * (df + dim + 1) * self.digammas()


@implements(multivariate.dirichlet_frozen)
class Dirichlet(Vectors):
    """Shares of a whole."""

    def __init__(self, alpha, seed=None):
        self.alpha = as_float(np.asarray(alpha))
        if np.min(self.alpha) <= 0:
            raise ValueError("All parameters must be greater than 0")
        if self.alpha.ndim != 1:
            raise ValueError("Parameter vector 'a' must be one dimensional")
        self.stream = own_stream(seed)

    def shares(self, x):
        """Points whose shares add up to one: the last one may be left out."""
        x, count = as_float(np.asarray(x)), self.alpha.shape[0]
        if x.shape[0] != count:
            if x.shape[0] + 1 != count:
                raise ValueError(
                    "Vector 'x' must have either the same number of entries as, or one entry fewer than, 'a'"
                )
            x = np.concatenate((x, 1.0 - np.sum(x, axis=0, keepdims=True)))
        if np.min(x) < 0:
            raise ValueError("Each entry in 'x' must be greater than or equal to zero.")
        if np.max(x) > 1:
            raise ValueError("Each entry in 'x' must be smaller or equal one.")
        if np.any(np.transpose((x == 0).T & (self.alpha < 1))):
            raise ValueError("Each entry in 'x' must be greater than zero if its alpha is less than one.")
        if np.any(np.abs(np.sum(x, axis=0) - 1.0) > 10e-10):
            raise ValueError("The input vector 'x' must lie within the normal simplex.")
        return x

    def log_front(self):
        """The logarithm of the beta function of the parameters."""
        return np.sum(sc.gammaln(self.alpha)) - sc.gammaln(np.sum(self.alpha))

    def logpdf(self, x):
        """The logarithm of the density; of several points along the last axis."""
        return squeezed(np.sum(sc.xlogy(self.alpha - 1.0, self.shares(x).T).T, axis=0) - self.log_front())

    def entropy(self):
        """The differential entropy."""
        whole = np.sum(self.alpha)
        rest = np.sum((self.alpha - 1.0) * sc.psi(self.alpha))
        return self.log_front() + (whole - self.alpha.shape[0]) * sc.psi(whole) - rest

    def mean(self):
        """The mean."""
        return squeezed(self.alpha / np.sum(self.alpha))

    def var(self):
        """The variances."""
        whole = np.sum(self.alpha)
        return squeezed(self.alpha * (whole - self.alpha) / (whole * whole * (whole + 1.0)))

    def cov(self):
        """The covariance."""
        mean = self.alpha / np.sum(self.alpha)
        return squeezed((np.diag(mean) - np.outer(mean, mean)) / (np.sum(self.alpha) + 1.0))

    def rvs(self, size=1, random_state=None):
        """Draws."""
        stream = self.stream if random_state is None else random_state
        return squeezed(stream_of(stream).dirichlet(self.alpha, size=size))


class Counts:
    """What distributions of counts have: a probability."""

    def pmf(self, x):
        """The probability."""
        return np.exp(self.logpmf(x))


def counted(x, n):
    """Counts, and whether they are whole numbers that add up to n."""
    x = as_float(x)
    right = np.all((x >= 0) & (x == np.floor(x)), axis=-1) & (np.sum(x, axis=-1) == n)
    return np.where(x >= 0, x, 0.0), right


@implements(multivariate.multinomial_frozen)
class Multinomial(Counts):
    """Counts of n draws by their probabilities."""

    def __init__(self, n, p, seed=None):
        self.n, self.p = np.asarray(n), as_float(np.asarray(p))
        if np.any(np.abs(1.0 - np.sum(self.p, axis=-1)) > 10 * np.finfo(np.float64).eps):
            raise NotImplementedError("scipy.stats.multinomial of probabilities that do not add up to 1")

    def right(self):
        """Whether the parameters are ones."""
        return np.all((self.p >= 0) & (self.p <= 1), axis=-1) & (self.n >= 0)

    def logpmf(self, x):
        """The logarithm of the probability."""
        x = np.asarray(x)
        if x.ndim == 0:
            raise ValueError("x must be an array.")
        if x.shape[-1] != self.p.shape[-1]:
            raise ValueError("Size of each quantile should be size of p.")
        x, inside = counted(x, self.n)
        value = sc.gammaln(self.n + 1.0) + np.sum(sc.xlogy(x, self.p) - sc.gammaln(x + 1.0), axis=-1)
        return np.where(self.right(), np.where(inside, value, -math.inf), math.nan)[()]

    def mean(self):
        """The mean."""
        return np.where(self.right()[..., None], self.n[..., None] * self.p, math.nan)


@implements(multivariate.dirichlet_multinomial_frozen)
class DirichletMultinomial(Counts):
    """Counts of n draws whose probabilities are Dirichlet's."""

    def __init__(self, alpha, n, seed=None):
        self.alpha, self.n = as_float(np.asarray(alpha)), np.asarray(n)
        if np.any(self.alpha <= 0):
            raise ValueError("`alpha` must contain only positive values.")
        if np.any(self.n < 0) or np.any(self.n != np.floor(self.n)):
            raise ValueError("`n` must be a non-negative integer.")

    def logpmf(self, x):
        """The logarithm of the probability."""
        given = np.asarray(x)
        if np.any(given < 0) or np.any(given != np.floor(given)):
            raise ValueError("`x` must contain only non-negative integers.")
        x, alpha = np.broadcast_arrays(given, self.alpha)
        x, inside = counted(x, self.n)
        whole = np.sum(alpha, axis=-1)
        front = sc.gammaln(whole) + sc.gammaln(self.n + 1.0) - sc.gammaln(self.n + whole)
        parts = sc.gammaln(x + alpha) - sc.gammaln(alpha) - sc.gammaln(x + 1.0)
        return np.where(inside, front + np.sum(parts, axis=-1), -math.inf)[()]


def of_points(made, method):
    """A method of a distribution that is given its parameters behind the point."""

    def called(x, *args, **kwds):
        return getattr(made(*args, **kwds), method)(x)

    return called


def of_parameters(made, method):
    """A method of a distribution that is given its parameters."""

    def called(*args, **kwds):
        return getattr(made(*args, **kwds), method)()

    return called


@implements(stats.matrix_normal.logpdf)
def matrix_normal_logpdf(X, mean=None, rowcov=1, colcov=1):
    """The logarithm of the density of normal matrices."""
    return MatrixNormal(mean, rowcov, colcov).logpdf(X)


@implements(stats.matrix_normal.pdf)
def matrix_normal_pdf(X, mean=None, rowcov=1, colcov=1):
    """The density of normal matrices."""
    return MatrixNormal(mean, rowcov, colcov).pdf(X)


@implements(stats.matrix_normal.entropy)
def matrix_normal_entropy(rowcov=1, colcov=1):
    """The differential entropy, which has no mean."""
    return MatrixNormal(None, rowcov, colcov).entropy()


@implements(stats.multivariate_normal.rvs)
def multivariate_normal_rvs(mean=None, cov=1, size=1, random_state=None):
    """Draws of normal vectors."""
    return MultivariateNormal(mean, cov).rvs(size, random_state)


@implements(stats.dirichlet.rvs)
def dirichlet_rvs(alpha, size=1, random_state=None):
    """Draws of shares."""
    return Dirichlet(alpha).rvs(size, random_state)


for family, made, points, parameters in (
    (stats.multivariate_normal, MultivariateNormal, ("logpdf", "pdf"), ("entropy",)),
    (stats.multivariate_t, MultivariateT, ("logpdf", "pdf"), ("entropy",)),
    (stats.matrix_normal, MatrixNormal, (), ()),
    (stats.wishart, Wishart, ("logpdf", "pdf"), ("mean", "var", "entropy")),
    (stats.invwishart, InverseWishart, ("logpdf", "pdf"), ("mean", "mode", "entropy")),
    (stats.dirichlet, Dirichlet, ("logpdf", "pdf"), ("mean", "var", "cov", "entropy")),
    (stats.multinomial, Multinomial, ("logpmf", "pmf"), ("mean",)),
    (stats.dirichlet_multinomial, DirichletMultinomial, ("logpmf", "pmf"), ()),
):
    COMPOSITES[family] = made
    for method in points:
        COMPOSITES[getattr(family, method)] = of_points(made, method)
    for method in parameters:
        COMPOSITES[getattr(family, method)] = of_parameters(made, method)
