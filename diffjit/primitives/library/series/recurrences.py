"""What series of polynomials have in common: values, arithmetic, derivatives, fits, roots, a basis in terms of another.

A basis is a class with two functions of the degree k, a number or an array. `recurrence` gives a, b and c of
P_(k+1) = (a x + b) P_k - c P_(k-1), where P_0 = 1. `antiderivative` says what that of P_k is:
P_(k+1) / over + same P_k + below P_(k-1), up to a constant. (NIST Digital Library of Mathematical Functions, 18.9.)
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.orthogonal import demand_rank, least_squares
from diffjit.primitives.registry import implements


class Powers:
    """1, x, x^2, ..."""

    module, short = np.polynomial.polynomial, "poly"
    recurrence = staticmethod(lambda k: (1.0, 0.0, 0.0))  # noqa: ARG005
    antiderivative = staticmethod(lambda k: (k + 1.0, 0.0, 0.0))


class Chebyshevs:
    """Chebyshev's polynomials of the first kind."""

    module, short = np.polynomial.chebyshev, "cheb"
    recurrence = staticmethod(lambda k: (2.0 - (k == 0), 0.0, 1.0))
    antiderivative = staticmethod(
        lambda k: ((k + 1.0) * (2.0 - (k == 0)), 0.0, -1.0 * (k > 1) / (2.0 * k - 2.0 + 4.0 * (k < 2)))
    )


class Legendres:
    """Legendre's polynomials."""

    module, short = np.polynomial.legendre, "leg"
    recurrence = staticmethod(lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1)))
    antiderivative = staticmethod(lambda k: (2.0 * k + 1.0, 0.0, -1.0 / (2.0 * k + 1.0)))


class Hermites:
    """Hermite's polynomials, as in physics."""

    module, short = np.polynomial.hermite, "herm"
    recurrence = staticmethod(lambda k: (2.0, 0.0, 2.0 * k))
    antiderivative = staticmethod(lambda k: (2.0 * k + 2.0, 0.0, 0.0))


class HermitesE:
    """Hermite's polynomials, as in probability."""

    module, short = np.polynomial.hermite_e, "herme"
    recurrence = staticmethod(lambda k: (1.0, 0.0, 1.0 * k))
    antiderivative = staticmethod(lambda k: (k + 1.0, 0.0, 0.0))


class Laguerres:
    """Laguerre's polynomials."""

    module, short = np.polynomial.laguerre, "lag"
    recurrence = staticmethod(lambda k: (-1.0 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)))
    antiderivative = staticmethod(lambda k: (-1.0, 1.0, 0.0))  # noqa: ARG005


BASES = (Powers, Chebyshevs, Legendres, Hermites, HermitesE, Laguerres)


def whole(c):
    """Coefficients as a vector of floats."""
    return as_float(np.atleast_1d(np.asarray(c)))


def trimmed(c, tol=0):
    """Coefficients without those at the end that are small; one of them stays."""
    n = c.shape[0]
    while n > 1 and np.abs(c[n - 1]) <= tol:
        n -= 1
    return c[:n]


def padded(c, n):
    """Coefficients with zeros behind them."""
    out = np.zeros(n, c.dtype)
    out[: c.shape[0]] = c
    return out


def added(a, b, sign):
    """The sum or difference of coefficients."""
    n = max(a.shape[0], b.shape[0])
    out = np.zeros(n, (a[:1] + b[:1]).dtype)
    out[: a.shape[0]] += a
    out[: b.shape[0]] += sign * b
    return out


def times_x(basis, c):
    """The series times x."""
    n = c.shape[0]
    slope, offset, back = basis.recurrence(np.arange(1.0 * n))
    out = np.zeros(n + 1, c.dtype)
    out[1:] += c / slope
    out[:n] -= offset / slope * c
    out[: n - 1] += (back / slope * c)[1:]
    return out


def of_operator(basis, c, turned, start):
    """The sum of c[k] P_k of an operator on coefficients, `turned`, applied to `start`."""
    total, now, before = c[0] * start, start, 0.0 * start
    for k in range(c.shape[0] - 1):
        slope, offset, back = basis.recurrence(k)
        now, before = slope * turned(now) + offset * now - back * before, now
        total = total + c[k + 1] * now
    return total


def product(basis, a, b):
    """The coefficients of a product."""
    if basis is Powers:
        return np.convolve(a, b)
    n = a.shape[0] + b.shape[0] - 1
    start = padded(b + 0.0 * a[0], n)
    return of_operator(basis, a, lambda c: times_x(basis, c)[:n], start)


def power(basis, c, exponent):
    """The coefficients of a power."""
    found = np.ones(1, c.dtype)
    for _ in range(exponent):
        found = product(basis, found, c)
    return found


def divided(basis, a, b):
    """Quotient and remainder."""
    if b[-1] == 0:
        raise ZeroDivisionError
    n = b.shape[0]
    count = a.shape[0] - n + 1
    quotient, rest = np.zeros(max(count, 1), (a[:1] + b[:1]).dtype), a + 0.0 * b[0]
    for k in range(count - 1, -1, -1):
        one = np.zeros(k + 1)
        one[k] = 1.0
        step = product(basis, one, b)
        quotient[k] = rest[k + n - 1] / step[-1]
        rest[: k + n] -= quotient[k] * step
    size = max(min(n - 1, a.shape[0]), 1)
    return quotient, rest[:size] * (1.0 if n > 1 else 0.0)


def derived(basis, c, m, factor):
    """The m-th derivative, each time times a factor."""
    for _ in range(m):
        n = c.shape[0]
        rest, out = c + 0.0, 0.0 * c[: max(n - 1, 1)]
        for j in range(n - 1, 0, -1):
            over, same, below = basis.antiderivative(j - 1)
            out[j - 1] = rest[j] * over
            rest[j - 1] -= same * out[j - 1]
            if j > 1:
                rest[j - 2] -= below * out[j - 1]
        c = factor * out
    return c


def integrated(basis, c, m, constants, start, factor):
    """The m-th antiderivative, each time times a factor; each is one of the constants at `start`."""
    given = np.atleast_1d(np.asarray(constants)) if np.ndim(constants) == 0 or len(constants) > 0 else np.zeros(0)
    if given.shape[0] > m:
        raise ValueError("Too many integration constants")
    for j in range(m):
        n = c.shape[0]
        over, same, below = basis.antiderivative(np.arange(1.0 * n))
        out, c = np.zeros(n + 1, c.dtype), c * factor
        out[1:] += c / over
        out[:n] += same * c
        out[: n - 1] += (below * c)[1:]
        wanted = given[j] if j < given.shape[0] else 0.0
        shift = wanted - summed(basis, start, out, True)
        c = np.concatenate((out[:1] + shift, out[1:]))
    return c


def recast(source, target, c, offset, factor):
    """A series of offset + factor x in one basis, as a series of x in another one."""
    n = c.shape[0]
    start = padded(np.ones(1, c.dtype), n)
    return of_operator(source, c, lambda v: offset * v + factor * times_x(target, v)[:n], start)


def from_roots(basis, roots):
    """The polynomial with these roots and the leading term x^n."""
    found = np.ones(1, roots.dtype)
    for k in range(roots.shape[0]):
        found = times_x(basis, found) - padded(roots[k] * found, k + 2)
    return found


def roots_of(basis, c):
    """The roots in order: eigenvalues of x times a polynomial, modulo this one (the comrade matrix; Barnett 1975)."""
    n = c.shape[0] - 1
    if n < 1:
        return np.zeros(0, c.dtype)
    ones = np.ones(n)
    slope, offset, back = [part * ones for part in basis.recurrence(np.arange(1.0 * n))]
    matrix = np.diag(-offset / slope) + np.diag((back / slope)[1:], 1) + np.diag((1.0 / slope)[:-1], -1) + 0.0 * c[0]
    matrix[:, n - 1] -= c[:n] / (slope[n - 1] * c[n])
    return np.sort(np.linalg.eigvals(matrix))


def vandermonde(basis, x, degree):
    """The polynomials up to a degree at points, along a last axis."""
    x = as_float(np.asarray(x))
    columns = [x * 0 + 1]
    for k in range(degree):
        slope, offset, back = basis.recurrence(k)
        before = columns[k - 1] if k > 0 else 0.0 * x
        columns.append((slope * x + offset) * columns[k] - back * before)
    return np.stack(columns, -1)


def summed(basis, x, c, tensor):
    """The sum of c[k] P_k(x), from the last term (Clenshaw 1955).

    Several sums at once for `c` of more dimensions: each at all x, or each at its own.
    """
    x, c = np.asarray(x), as_float(np.atleast_1d(c))
    x = x.astype(np.result_type(x.dtype, c.dtype))
    c = np.reshape(c, c.shape + (1,) * x.ndim) if tensor else c
    n = c.shape[0]
    value = c[n - 1] + (x * 0 if n == 1 else np.zeros_like(x))  # NaN shows also where nothing else is added
    following = value * 0
    for k in range(n - 2, -1, -1):
        slope, offset, _ = basis.recurrence(k)
        _, _, back = basis.recurrence(k + 1)
        value, following = c[k] + (slope * x + offset) * value - back * following, value
    return value


def fitted(basis, x, y, degree, rcond, full, w):
    """The series that is nearest in least squares; with `full` what `lstsq` gives beside it."""
    x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
    chosen = None if np.ndim(degree) == 0 else sorted(degree)
    columns = vandermonde(basis, x, degree if chosen is None else max(degree))
    columns = columns if chosen is None else columns[:, np.array(chosen)]
    if w is not None:
        columns = columns * np.asarray(w)[:, None]
        y = (y.T * np.asarray(w)).T
    scale = np.sqrt(np.sum(np.abs(columns) ** 2, axis=0))
    columns = columns / scale
    told = None
    if full:
        cut = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
        found, left, rank, values = np.linalg.lstsq(columns, y, cut)
        told = [left, rank, values, cut]
    else:
        if rcond is not None:
            demand_rank(np.linalg.svdvals(columns), rcond, columns.shape[1])
        found = least_squares(columns, y)
    found = (found.T / scale).T
    if chosen is not None:
        spread = np.zeros((max(degree) + 1, *found.shape[1:]), found.dtype)
        spread[np.array(chosen)] = found
        found = spread
    return (found, told) if full else found


# NumPy's functions ----------------------------------------------------------------------------------------------------


def along(function, c, axis):
    """A function of vectors of coefficients, for each vector along an axis."""
    c = whole(c)
    if c.ndim == 1:
        return function(c)
    parts = np.moveaxis(c, axis, 0)
    columns = np.reshape(parts, (parts.shape[0], -1))
    made = np.stack([function(columns[:, k]) for k in range(columns.shape[1])], 1)
    return np.moveaxis(np.reshape(made, (made.shape[0], *parts.shape[1:])), 0, axis)


def functions_of(basis):
    """The functions of one of NumPy's modules, by what their names end in."""

    def val(x, c, tensor=True):
        return summed(basis, x, c, tensor)

    def add(c1, c2):
        return trimmed(added(whole(c1), whole(c2), 1.0))

    def sub(c1, c2):
        return trimmed(added(whole(c1), whole(c2), -1.0))

    def mulx(c):
        return trimmed(times_x(basis, whole(c)))

    def mul(c1, c2):
        return trimmed(product(basis, whole(c1), whole(c2)))

    def div(c1, c2):
        quotient, rest = divided(basis, whole(c1), whole(c2))
        return trimmed(quotient), trimmed(rest)

    def pow(c, pow, maxpower=16):  # noqa: A001, A002 - NumPy's names
        return trimmed(power(basis, whole(c), pow))

    def der(c, m=1, scl=1, axis=0):
        return along(lambda v: derived(basis, v, m, scl), c, axis)

    def int(c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: A001, B006 - NumPy's
        return along(lambda v: integrated(basis, v, m, k, lbnd, scl), c, axis)

    def val2d(x, y, c):
        return val(y, val(x, c), tensor=False)

    def val3d(x, y, z, c):
        return val(z, val(y, val(x, c), tensor=False), tensor=False)

    def grid2d(x, y, c):
        return val(y, val(x, c))

    def grid3d(x, y, z, c):
        return val(z, val(y, val(x, c)))

    def vander(x, deg):
        return vandermonde(basis, np.atleast_1d(x), deg)

    def vander2d(x, y, deg):
        one, two = vandermonde(basis, x, deg[0]), vandermonde(basis, y, deg[1])
        return np.reshape(one[..., :, None] * two[..., None, :], (*one.shape[:-1], -1))

    def vander3d(x, y, z, deg):
        one, two = vandermonde(basis, x, deg[0]), vandermonde(basis, y, deg[1])
        pairs = one[..., :, None] * two[..., None, :]
        three = vandermonde(basis, z, deg[2])
        return np.reshape(pairs[..., None] * three[..., None, None, :], (*one.shape[:-1], -1))

    def fit(x, y, deg, rcond=None, full=False, w=None):
        return fitted(basis, x, y, deg, rcond, full, w)

    def fromroots(roots):
        return from_roots(basis, whole(roots))

    def roots(c):
        return roots_of(basis, whole(c))

    own = (val, add, sub, mulx, mul, div, pow, der, int, val2d, val3d, grid2d, grid3d, vander, vander2d, vander3d, fit)
    return (*own, fromroots) if basis is Powers else (*own, fromroots, roots)


def casts_of(basis):
    """Series of powers as those of a basis, and back."""

    def from_powers(pol):
        return trimmed(recast(Powers, basis, whole(pol), 0.0, 1.0))

    def to_powers(c):
        return trimmed(recast(basis, Powers, whole(c), 0.0, 1.0))

    return from_powers, to_powers


for _basis in BASES:
    for _function in functions_of(_basis):
        implements(getattr(_basis.module, _basis.short + _function.__name__))(_function)
    if _basis is not Powers:
        _from, _to = casts_of(_basis)
        implements(getattr(_basis.module, f"poly2{_basis.short}"))(_from)
        implements(getattr(_basis.module, f"{_basis.short}2poly"))(_to)


@implements(np.polynomial.chebyshev.chebinterpolate)
def chebinterpolate(func, deg, args=()):
    """The series of a degree that equals a function at Chebyshev's points."""
    points = np.cos(np.pi * (np.arange(deg + 1) + 0.5) / (deg + 1))[::-1]
    found = vandermonde(Chebyshevs, points, deg).T @ func(points, *args)
    weights = np.full(deg + 1, 2.0 / (deg + 1))
    weights[0] = 1.0 / (deg + 1)
    return found * weights


@implements(np.polynomial.chebyshev.chebweight)
def chebweight(x):
    """The weight by which Chebyshev's polynomials are orthogonal."""
    return 1.0 / (np.sqrt(1.0 + x) * np.sqrt(1.0 - x))


@implements(np.polynomial.legendre.legweight)
def legweight(x):
    """The weight by which Legendre's polynomials are orthogonal."""
    return x * 0.0 + 1.0


@implements(np.polynomial.hermite.hermweight)
def hermweight(x):
    """The weight by which Hermite's polynomials of physics are orthogonal."""
    return np.exp(-(x**2))


@implements(np.polynomial.hermite_e.hermeweight)
def hermeweight(x):
    """The weight by which Hermite's polynomials of probability are orthogonal."""
    return np.exp(-0.5 * x**2)


@implements(np.polynomial.laguerre.lagweight)
def lagweight(x):
    """The weight by which Laguerre's polynomials are orthogonal."""
    return np.exp(-x)
