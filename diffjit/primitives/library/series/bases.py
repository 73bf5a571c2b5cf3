"""`numpy.polynomial`'s classes: series in a basis, lowest term first, on a domain that is mapped to a window.

NumPy drops last coefficients that are 0 from results of arithmetic. They are kept here until a program asks for `coef`,
since a derivative by one is not 0.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements

POLYNOMIAL = np.polynomial.polynomial
BASE = np.polynomial.Polynomial.__mro__[1]  # in programs, objects say that they are NumPy's


def whole(c):
    """Coefficients as a vector of floats."""
    return as_float(np.atleast_1d(np.asarray(c)))


def added(a, b, sign):
    """The sum or difference of coefficients."""
    n = max(a.shape[0], b.shape[0])
    out = np.zeros(n, (a[:1] + b[:1]).dtype)
    out[: a.shape[0]] += a
    out[: b.shape[0]] += sign * b
    return out


class Series:
    """What all bases have."""

    def __init__(self, coef, domain=None, window=None, symbol="x", trim=False):
        self.series = whole(coef)
        if self.series.shape[0] == 0:
            raise ValueError("Coefficient array is empty")
        self.domain = np.array(self.standard) if domain is None else whole(domain)
        self.window = np.array(self.standard) if window is None else whole(window)
        self.dropping = trim

    @property
    def coef(self):
        """The coefficients."""
        n = self.series.shape[0]
        if self.dropping:
            while n > 1 and self.series[n - 1] == 0:
                n -= 1
        return self.series[:n].copy()

    def degree(self):
        """The highest degree of a term."""
        return self.coef.shape[0] - 1

    def __len__(self):
        return self.coef.shape[0]

    def __iter__(self):
        return iter(self.coef)

    def like(self, coef, trim=False):
        """A series on the same domain."""
        return self.__class__(coef, self.domain, self.window, "x", trim)

    def mapparms(self):
        """Offset and factor that take the domain to the window."""
        (a, b), (c, d) = self.domain, self.window
        return (b * c - a * d) / (b - a), (d - c) / (b - a)

    def mapped(self, x):
        """A point of the domain in the window."""
        offset, factor = self.mapparms()
        return offset + factor * (np.asarray(x) if isinstance(x, (list, tuple)) else x)

    def __call__(self, arg):
        """The value at a point."""
        return self.evaluate(self.mapped(arg))

    def coefficients_of(self, other):
        """The coefficients of a series on the same domain, or of what stands for one."""
        if isinstance(other, BASE):
            if not isinstance(other, self.stands_for):
                raise TypeError("Polynomial types differ")
            if not np.all(self.domain == other.domain):
                raise TypeError("Domains differ")
            if not np.all(self.window == other.window):
                raise TypeError("Windows differ")
            return other.series
        return whole(other)

    def __neg__(self):
        return self.like(-self.series)

    def __pos__(self):
        return self

    def __add__(self, other):
        return self.like(added(self.series, self.coefficients_of(other), 1.0), True)

    def __radd__(self, other):
        return self.like(added(self.series, self.coefficients_of(other), 1.0), True)

    def __sub__(self, other):
        return self.like(added(self.series, self.coefficients_of(other), -1.0), True)

    def __rsub__(self, other):
        return self.like(added(-self.series, self.coefficients_of(other), 1.0), True)

    def __mul__(self, other):
        return self.like(self.product(self.series, self.coefficients_of(other)), True)

    def __rmul__(self, other):
        return self.like(self.product(self.series, self.coefficients_of(other)), True)

    def __truediv__(self, other):
        if np.ndim(other) != 0:
            raise TypeError("unsupported types for true division")
        return self.like(self.series / other)

    def __pow__(self, other):
        found = np.ones(1, self.series.dtype)
        for _ in range(other):
            found = self.product(found, self.series)
        return self.like(found, True)

    def copy(self):
        """Another one."""
        return self.like(self.series.copy())

    def product(self, a, b):
        """The coefficients of a product, where one factor is a number."""
        if a.shape[0] == 1:
            return a[0] * b
        if b.shape[0] == 1:
            return a * b[0]
        raise NotImplementedError("products of two series in this basis: multiply their values")

    def deriv(self, m=1):
        """The derivative."""
        raise NotImplementedError("derivatives of a series in this basis: use numpy.polynomial.Polynomial")

    def integ(self, m=1, k=0, lbnd=None):
        """The antiderivative."""
        raise NotImplementedError("antiderivatives of a series in this basis: use numpy.polynomial.Polynomial")

    def roots(self):
        """The roots."""
        raise NotImplementedError("roots of a series in this basis: use numpy.polynomial.Polynomial")


@implements(np.polynomial.Polynomial)
class Polynomial(Series):
    """A series of powers."""

    stands_for = np.polynomial.Polynomial
    standard = (-1.0, 1.0)

    def evaluate(self, x):
        """The value at a point of the window."""
        return POLYNOMIAL.polyval(x, self.series)

    def product(self, a, b):
        """The coefficients of a product."""
        return np.convolve(a, b)

    def divided(self, other):
        """Quotient and remainder."""
        top, below = self.series + 0.0, self.coefficients_of(other)
        n = below.shape[0]
        count = max(top.shape[0] - n + 1, 1)
        quotient, rest = np.zeros(count, (top[:1] + below[:1]).dtype), top + 0.0 * below[0]
        for k in range(top.shape[0] - n, -1, -1):
            quotient[k] = rest[k + n - 1] / below[n - 1]
            rest[k : k + n] -= quotient[k] * below
        size = max(min(n - 1, top.shape[0]), 1)
        return self.like(quotient, True), self.like(rest[:size] * (1.0 if n > 1 else 0.0), True)

    def __floordiv__(self, other):
        return self.divided(other)[0]

    def __mod__(self, other):
        return self.divided(other)[1]

    def __divmod__(self, other):
        return self.divided(other)

    def deriv(self, m=1):
        """The derivative."""
        _, factor = self.mapparms()
        c = self.series
        for _ in range(m):
            c = factor * c[1:] * np.arange(1.0, c.shape[0]) if c.shape[0] > 1 else 0.0 * c
        return self.like(c)

    def integ(self, m=1, k=0, lbnd=None):
        """The antiderivative, with these constants, or that of which each is k at `lbnd`."""
        offset, factor = self.mapparms()
        start = 0.0 if lbnd is None else offset + factor * lbnd
        constants = np.zeros(m)
        given = np.ravel(np.asarray(k)) if not isinstance(k, list) or len(k) > 0 else np.zeros(0)
        constants[: given.shape[0]] = given
        c = self.series
        for j in range(m):
            c = np.concatenate((0.0 * c[:1], c / (factor * np.arange(1.0, c.shape[0] + 1.0))))
            shift = constants[j] - POLYNOMIAL.polyval(start, c)
            c = np.concatenate((c[:1] + shift, c[1:]))
        return self.like(c)

    def roots(self):
        """The roots, as complex numbers."""
        offset, factor = self.mapparms()
        return (POLYNOMIAL.polyroots(self.series) - offset) / factor

    def convert(self, domain=None, kind=None, window=None):
        """The same polynomial on the domain [-1, 1]."""
        if domain is not None or kind is not None or window is not None:
            raise NotImplementedError("Polynomial.convert with arguments: leave them out")
        offset, factor = self.mapparms()
        found = self.series[-1:]
        for k in range(self.series.shape[0] - 2, -1, -1):
            found = added(np.convolve(found, np.array([offset, factor])), self.series[k : k + 1], 1.0)
        return Polynomial(found, trim=True)

    @classmethod
    def fit(cls, x, y, deg, domain=None, rcond=None, full=False, w=None, window=None, symbol="x"):
        """The polynomial that is nearest in least squares."""
        if full or rcond is not None:
            raise NotImplementedError("Polynomial.fit with `full` or `rcond`: leave them out")
        x = as_float(np.asarray(x))
        ends = np.array([np.min(x), np.max(x)]) if domain is None else whole(domain)
        at = np.array([-1.0, 1.0]) if window is None else whole(window)
        made = cls(np.zeros(1), ends, at)
        return made.like(np.polyfit(made.mapped(x), y, deg, w=w)[::-1].copy())

    @classmethod
    def fromroots(cls, roots, domain=None, window=None, symbol="x"):
        """The polynomial with these roots."""
        if domain is None or window is not None:
            raise NotImplementedError("Polynomial.fromroots: give domain=[-1, 1], and no window")
        made = cls(np.zeros(1), domain)
        return made.like(np.poly(made.mapped(np.asarray(roots)))[::-1] / made.mapparms()[1] ** len(roots))


@implements(np.polynomial.Chebyshev)
class Chebyshev(Series):
    """A series of Chebyshev's polynomials."""

    stands_for = np.polynomial.Chebyshev
    standard = (-1.0, 1.0)

    def evaluate(self, x):
        """The value at a point of the window."""
        return np.polynomial.chebyshev.chebval(x, self.series)


@implements(np.polynomial.Legendre)
class Legendre(Series):
    """A series of Legendre's polynomials."""

    stands_for = np.polynomial.Legendre
    standard = (-1.0, 1.0)

    def evaluate(self, x):
        """The value at a point of the window."""
        return np.polynomial.legendre.legval(x, self.series)


@implements(np.polynomial.Hermite)
class Hermite(Series):
    """A series of Hermite's polynomials, as in physics."""

    stands_for = np.polynomial.Hermite
    standard = (-1.0, 1.0)

    def evaluate(self, x):
        """The value at a point of the window."""
        return np.polynomial.hermite.hermval(x, self.series)


@implements(np.polynomial.HermiteE)
class HermiteE(Series):
    """A series of Hermite's polynomials, as in probability."""

    stands_for = np.polynomial.HermiteE
    standard = (-1.0, 1.0)

    def evaluate(self, x):
        """The value at a point of the window."""
        return np.polynomial.hermite_e.hermeval(x, self.series)


@implements(np.polynomial.Laguerre)
class Laguerre(Series):
    """A series of Laguerre's polynomials."""

    stands_for = np.polynomial.Laguerre
    standard = (0.0, 1.0)

    def evaluate(self, x):
        """The value at a point of the window."""
        return np.polynomial.laguerre.lagval(x, self.series)
