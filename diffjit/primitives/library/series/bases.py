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
from diffjit.primitives.library.series import recurrences
from diffjit.primitives.library.series.recurrences import added, trimmed, whole
from diffjit.primitives.registry import implements

BASE = np.polynomial.Polynomial.__mro__[1]  # in programs, objects say that they are NumPy's


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
        return trimmed(self.series).copy() if self.dropping else self.series.copy()

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
        return self.like(recurrences.power(self.own_basis, self.series, other), True)

    def __floordiv__(self, other):
        return self.divided(other)[0]

    def __mod__(self, other):
        return self.divided(other)[1]

    def __divmod__(self, other):
        return self.divided(other)

    def divided(self, other):
        """Quotient and remainder."""
        quotient, rest = recurrences.divided(self.own_basis, self.series, self.coefficients_of(other))
        return self.like(quotient, True), self.like(rest, True)

    def evaluate(self, x):
        """The value at a point of the window."""
        return recurrences.summed(self.own_basis, x, self.series, True)

    def copy(self):
        """Another one."""
        return self.like(self.series.copy())

    def cutdeg(self, deg):
        """Without the terms of higher degree."""
        return self.truncate(deg + 1)

    def truncate(self, size):
        """The first terms."""
        return self.like(self.series[:size].copy())

    def trim(self, tol=0):
        """Without last coefficients that are small."""
        return self.like(trimmed(self.series, tol).copy())

    def linspace(self, n=100, domain=None):
        """Points of the domain, or another one, and the values there."""
        ends = self.domain if domain is None else whole(domain)
        x = np.linspace(ends[0], ends[1], n)
        return x, self(x)

    def product(self, a, b):
        """The coefficients of a product."""
        return recurrences.product(self.own_basis, a, b)

    def deriv(self, m=1):
        """The derivative."""
        _, factor = self.mapparms()
        return self.like(recurrences.derived(self.own_basis, self.series, m, factor))

    def integ(self, m=1, k=[], lbnd=None):  # noqa: B006 - NumPy's
        """The antiderivative, with these constants, or that of which each is k at `lbnd`."""
        offset, factor = self.mapparms()
        start = 0.0 if lbnd is None else offset + factor * lbnd
        return self.like(recurrences.integrated(self.own_basis, self.series, m, k, start, 1.0 / factor))

    def roots(self):
        """The roots, as complex numbers."""
        offset, factor = self.mapparms()
        return (self.roots_in_the_window() - offset) / factor

    def roots_in_the_window(self):
        """The roots without domain."""
        return recurrences.roots_of(self.own_basis, self.series)

    def convert(self, domain=None, kind=None, window=None):
        """The same polynomial in another basis, or on another domain."""
        cls = self.__class__ if kind is None else kind
        made = cls(np.zeros(1), domain, window)
        (start, slope), (offset, factor) = made.mapparms(), self.mapparms()
        scale = factor / slope  # made's x is start + slope * point
        found = recurrences.recast(self.own_basis, made.own_basis, self.series, offset - scale * start, scale)
        return made.like(found, True)

    @classmethod
    def fit(cls, x, y, deg, domain=None, rcond=None, full=False, w=None, window=None, symbol="x"):
        """The polynomial that is nearest in least squares; with `full` what `lstsq` gives beside it."""
        x = as_float(np.asarray(x))
        ends = np.array([np.min(x), np.max(x)]) if domain is None else whole(domain)
        if isinstance(domain, list) and len(domain) == 0:
            ends = np.array(cls.standard)
        made = cls(np.zeros(1), ends, np.array(cls.standard) if window is None else whole(window))
        found = recurrences.fitted(cls.own_basis, made.mapped(x), y, deg, rcond, full, w)
        return (made.like(found[0]), found[1]) if full else made.like(found)

    @classmethod
    def fromroots(cls, roots, domain=[], window=None, symbol="x"):  # noqa: B006 - NumPy's
        """The polynomial with these roots."""
        roots = whole(roots)
        ends = np.array([np.min(roots), np.max(roots)]) if domain is None else domain
        if isinstance(domain, list) and len(domain) == 0:
            ends = np.array(cls.standard)
        made = cls(np.zeros(1), ends, window)
        found = recurrences.from_roots(cls.own_basis, made.mapped(roots))
        return made.like(found / made.mapparms()[1] ** roots.shape[0])


@implements(np.polynomial.Polynomial)
class Polynomial(Series):
    """A series of powers."""

    stands_for = np.polynomial.Polynomial
    own_basis = recurrences.Powers
    standard = (-1.0, 1.0)

    def roots_in_the_window(self):
        """The roots without domain."""
        return np.polynomial.polynomial.polyroots(self.series)


@implements(np.polynomial.Chebyshev)
class Chebyshev(Series):
    """A series of Chebyshev's polynomials."""

    stands_for = np.polynomial.Chebyshev
    own_basis = recurrences.Chebyshevs
    standard = (-1.0, 1.0)


@implements(np.polynomial.Legendre)
class Legendre(Series):
    """A series of Legendre's polynomials."""

    stands_for = np.polynomial.Legendre
    own_basis = recurrences.Legendres
    standard = (-1.0, 1.0)


@implements(np.polynomial.Hermite)
class Hermite(Series):
    """A series of Hermite's polynomials, as in physics."""

    stands_for = np.polynomial.Hermite
    own_basis = recurrences.Hermites
    standard = (-1.0, 1.0)


@implements(np.polynomial.HermiteE)
class HermiteE(Series):
    """A series of Hermite's polynomials, as in probability."""

    stands_for = np.polynomial.HermiteE
    own_basis = recurrences.HermitesE
    standard = (-1.0, 1.0)


@implements(np.polynomial.Laguerre)
class Laguerre(Series):
    """A series of Laguerre's polynomials."""

    stands_for = np.polynomial.Laguerre
    own_basis = recurrences.Laguerres
    standard = (0.0, 1.0)
