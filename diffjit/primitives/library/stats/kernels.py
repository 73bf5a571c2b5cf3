"""`scipy.stats.gaussian_kde` as a program: densities of Gaussians around points."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements


@implements(stats.gaussian_kde)
class GaussianKde:
    """A density, by a Gaussian around each point of a sample."""

    stands_for = stats.gaussian_kde

    def __init__(self, dataset, bw_method=None, weights=None):
        data = as_float(np.asarray(dataset))
        self.dataset = np.reshape(data, (1, -1)) if data.ndim < 2 else data
        if self.dataset.size <= 1:
            raise ValueError("`dataset` input should have multiple elements.")
        self.d, self.n = self.dataset.shape
        if weights is None:
            self.weights = np.full(self.n, 1.0 / self.n)
        else:
            given = as_float(np.asarray(weights))
            self.weights = given / np.sum(given)
        self.neff = 1.0 / np.sum(self.weights**2)
        self.set_bandwidth(bw_method)

    def set_bandwidth(self, bw_method=None):
        """How wide the Gaussians are."""
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            self.factor = self.scotts_factor()
        elif isinstance(bw_method, str):
            if bw_method != "silverman":
                raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
            self.factor = self.silverman_factor()
        elif callable(bw_method):
            self.factor = bw_method(self)
        else:
            self.factor = 1.0 * bw_method
        d = self.dataset - np.sum(self.weights * self.dataset, axis=1)[:, None]
        spread = (self.weights * d) @ np.transpose(d) / (1.0 - np.sum(self.weights**2))
        self.covariance = spread * self.factor**2

    def scotts_factor(self):
        """Scott's rule."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self):
        """Silverman's rule."""
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))

    def covariance_factor(self):
        """The rule that was asked for."""
        return self.factor

    def points(self, points):
        """Points as columns, turned by the root of the inverse covariance, and the logarithm of its size."""
        given = as_float(np.asarray(points))
        columns = np.reshape(given, (1, -1)) if given.ndim < 2 else given
        if columns.shape[0] != self.d:
            if columns.shape[0] != 1 or columns.shape[1] != self.d:
                raise ValueError("points have another dimension than the dataset")
            columns = np.reshape(columns, (self.d, 1))
        root = np.linalg.cholesky(self.covariance)
        size = 0.5 * self.d * math.log(2.0 * math.pi) + np.sum(np.log(np.diag(root)))
        return np.linalg.solve(root, columns), np.linalg.solve(root, self.dataset), size

    def evaluate(self, points):
        """The density at points."""
        at, data, size = self.points(points)
        out = np.zeros(at.shape[1])
        for k in range(data.shape[1]):
            gap = at - data[:, k][:, None]
            out += self.weights[k] * np.exp(-0.5 * np.sum(gap * gap, axis=0) - size)
        return out

    def __call__(self, points):
        """The density at points."""
        return self.evaluate(points)

    def pdf(self, x):
        """The density at points."""
        return self.evaluate(x)

    def logpdf(self, x):
        """The logarithm of the density at points."""
        at, data, size = self.points(x)
        out = np.zeros((data.shape[1], at.shape[1]))
        for k in range(data.shape[1]):
            gap = at - data[:, k][:, None]
            out[k] = np.log(self.weights[k]) - 0.5 * np.sum(gap * gap, axis=0) - size
        return special.logsumexp(out, axis=0)

    def integrate_box_1d(self, low, high):
        """The probability of an interval."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        width = np.sqrt(self.covariance[0, 0])
        inside = special.ndtr((high - self.dataset[0]) / width) - special.ndtr((low - self.dataset[0]) / width)
        return np.sum(self.weights * inside)
