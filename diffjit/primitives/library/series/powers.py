"""`numpy.poly1d`: a polynomial by its coefficients, highest power first.

NumPy drops coefficients that are 0 in front. They are kept here, since a derivative by one is not 0, and dropped where
a program asks for the coefficients or their number.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.registry import implements


def trimmed(p):
    """Coefficients without what is 0 in front, in the same memory; of the polynomial 0, one."""
    first = 0
    while first < p.shape[0] - 1 and p[first] == 0:
        first += 1
    return p[first:]


def coefficients_of(p):
    """The coefficients of a polynomial, or of what stands for one."""
    return p.whole if isinstance(p, np.poly1d) else np.atleast_1d(np.asarray(p))


def as_given(coefficients, *given):
    """A polynomial as an object where one of those that it is made of is one."""
    for p in given:
        if isinstance(p, np.poly1d):
            return np.poly1d(coefficients)
    return coefficients


@implements(np.poly1d)
class Poly1d:
    """A polynomial."""

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as NumPy has it

    stands_for = np.poly1d

    def __init__(self, c_or_r, r=False, variable=None):
        if variable is not None:
            raise NotImplementedError("np.poly1d(variable=...): leave it out")
        self.whole = np.poly(c_or_r) if r else coefficients_of(c_or_r)

    @property
    def coeffs(self):
        """The coefficients."""
        return trimmed(self.whole)

    @property
    def c(self):
        """The coefficients."""
        return trimmed(self.whole)

    @property
    def coef(self):
        """The coefficients."""
        return trimmed(self.whole)

    @property
    def coefficients(self):
        """The coefficients."""
        return trimmed(self.whole)

    def __array__(self, t=None, copy=None):
        """What NumPy's functions, and NumPy's numbers and arrays on its left, compute with."""
        return np.array(trimmed(self.whole), t)

    @property
    def order(self):
        """The highest power."""
        return trimmed(self.whole).shape[0] - 1

    @property
    def o(self):
        """The highest power."""
        return trimmed(self.whole).shape[0] - 1

    @property
    def r(self):
        """The roots."""
        return np.roots(self.whole)

    @property
    def roots(self):
        """The roots."""
        return np.roots(self.whole)

    def __call__(self, val):
        """The value at a point, or the polynomial of another one."""
        if isinstance(val, np.poly1d):
            found = Poly1d(self.whole[:1])
            for k in range(1, self.whole.shape[0]):
                found = found * val + self.whole[k]
            return found
        return np.polyval(self.whole, np.asarray(val) if isinstance(val, (list, tuple)) else val)

    def __len__(self):
        return trimmed(self.whole).shape[0] - 1

    def __getitem__(self, power):
        n = self.whole.shape[0]
        if power < 0 or power >= n:
            return 0.0 * self.whole[0]
        return self.whole[n - 1 - power]

    def __iter__(self):
        return iter(trimmed(self.whole))

    def deriv(self, m=1):
        """The derivative."""
        return Poly1d(np.polyder(self.whole, m))

    def integ(self, m=1, k=0):
        """The antiderivative."""
        return Poly1d(np.polyint(self.whole, m, k))

    def __neg__(self):
        return Poly1d(-self.whole)

    def __pos__(self):
        return self

    def __add__(self, other):
        return Poly1d(np.polyadd(self.whole, coefficients_of(other)))

    def __radd__(self, other):
        return Poly1d(np.polyadd(self.whole, coefficients_of(other)))

    def __sub__(self, other):
        return Poly1d(np.polysub(self.whole, coefficients_of(other)))

    def __rsub__(self, other):
        return Poly1d(np.polysub(coefficients_of(other), self.whole))

    def __mul__(self, other):
        return Poly1d(np.polymul(self.whole, coefficients_of(other)))

    def __rmul__(self, other):
        return Poly1d(np.polymul(self.whole, coefficients_of(other)))

    def __pow__(self, val):
        found = Poly1d(np.ones(1, self.whole.dtype))
        for _ in range(val):
            found = found * self
        return found

    def __truediv__(self, other):
        if isinstance(other, np.poly1d):
            quotient, rest = np.polydiv(self.whole, other.whole)
            return Poly1d(quotient), Poly1d(rest)
        return Poly1d(self.whole / other)

    def __eq__(self, other):
        one, two = trimmed(self.whole), trimmed(coefficients_of(other))
        return one.shape[0] == two.shape[0] and bool(np.all(one == two))


@implements(np.polydiv)
def polydiv(u, v):
    """Quotient and remainder, without the coefficients in front that are 0 up to rounding."""
    top, below = coefficients_of(u) + 0.0, coefficients_of(v) + 0.0
    m, n = top.shape[0] - 1, below.shape[0] - 1
    quotient = np.zeros(max(m - n + 1, 1), (top[:1] + below[:1]).dtype)
    rest = top.astype(quotient.dtype)
    for k in range(m - n + 1):
        quotient[k] = rest[k] / below[0]
        rest[k : k + n + 1] -= quotient[k] * below
    first = 0
    while first < rest.shape[0] - 1 and np.abs(rest[first]) <= 1e-8:
        first += 1
    rest = rest[first:].copy()
    return as_given(quotient, u, v), as_given(rest, u, v)
