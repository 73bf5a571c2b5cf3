"""Distributions as NumPy draws them, from the standard variates of a stream: what Generator and RandomState share.

Where NumPy computes `loc + scale * z`, so does the program, and derivatives are those of this formula. Where it
computes a number in another way, the number is NumPy's own, and a formula for it is beside it: `beside`.
Where acceptance hangs on a parameter (gamma, beta), derivatives are implicit (`diffjit.primitives.random.implicit`).
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalIterable=false, reportOptionalMemberAccess=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.random.draws import draw, fixed, order, twin
from diffjit.primitives.random.implicit import beta_sample, gamma_sample


def shape_of(size, *params):
    """The shape of the result; None for one number."""
    if size is None:
        shape = np.broadcast_shapes(*[np.shape(p) for p in params])
        if len(shape) == 0:
            return None
        return shape
    if isinstance(size, (int, np.integer)):
        return (int(size),)
    return tuple(size)


def real(x):
    """A parameter as NumPy takes it: a Python float, or an array of float64."""
    if np.ndim(x) == 0:
        return float(x)
    return np.asarray(x, dtype=float)


def fitted(x, shape):
    """A parameter that has to fit into the size that was asked for."""
    x = real(x)
    if shape is not None and np.ndim(x) > 0:
        return np.broadcast_to(x, shape)
    return x


def not_negative(x, name):
    """What NumPy asks of a scale."""
    x = real(x)
    if np.signbit(x) if np.ndim(x) == 0 else np.any(np.signbit(x)):
        raise ValueError(name + " < 0")


def positive(x, name):
    """What NumPy asks of a shape."""
    x = real(x)
    if x <= 0.0 if np.ndim(x) == 0 else np.any(x <= 0.0):
        raise ValueError(name + " <= 0")


def ordered(left, mode, right):
    """What NumPy asks of a triangle."""
    if left > mode if np.ndim(left) + np.ndim(mode) == 0 else np.any(left > mode):
        raise ValueError("left > mode")
    if mode > right if np.ndim(mode) + np.ndim(right) == 0 else np.any(mode > right):
        raise ValueError("mode > right")
    if left == right if np.ndim(left) + np.ndim(right) == 0 else np.any(left == right):
        raise ValueError("left == right")


def placed(loc, scale, z, shape):
    """A standard variate moved and stretched."""
    return fitted(loc, shape) + fitted(scale, shape) * z


def beside(value, formula):
    """NumPy's value, with the derivatives of a formula for it."""
    return value + (formula - fixed(formula))


class Distributions:
    """A stream: `state`, its words, and `bits`, the name of its bit generator."""

    # Moved and stretched

    def normal(self, loc=0.0, scale=1.0, size=None):
        """`loc + scale * z`."""
        not_negative(scale, "scale")
        shape = shape_of(size, loc, scale)
        return placed(loc, scale, draw(self, "standard_normal", shape, size=shape), shape)

    def uniform(self, low=0.0, high=1.0, size=None):
        """`low + (high - low) * u`."""
        shape = shape_of(size, low, high)
        low = fitted(low, shape)
        width = fitted(high, shape) - low
        if not (np.isfinite(width) if np.ndim(width) == 0 else np.all(np.isfinite(width))):
            raise OverflowError(self.too_wide)
        self.check_width(width)
        return low + width * self.between(shape)

    def exponential(self, scale=1.0, size=None):
        """`scale * e`."""
        not_negative(scale, "scale")
        shape = shape_of(size, scale)
        return fitted(scale, shape) * draw(self, "standard_exponential", shape, size=shape)

    def rayleigh(self, scale=1.0, size=None):
        """`scale * sqrt(2 e)`."""
        not_negative(scale, "scale")
        shape = shape_of(size, scale)
        return fitted(scale, shape) * draw(self, "rayleigh", shape, 1.0, size=shape)

    def laplace(self, loc=0.0, scale=1.0, size=None):
        """`loc + scale * x`."""
        not_negative(scale, "scale")
        shape = shape_of(size, loc, scale)
        return placed(loc, scale, draw(self, "laplace", shape, 0.0, 1.0, size=shape), shape)

    def gumbel(self, loc=0.0, scale=1.0, size=None):
        """`loc + scale * x`."""
        not_negative(scale, "scale")
        shape = shape_of(size, loc, scale)
        return placed(loc, scale, draw(self, "gumbel", shape, 0.0, 1.0, size=shape), shape)

    def logistic(self, loc=0.0, scale=1.0, size=None):
        """`loc + scale * x`."""
        not_negative(scale, "scale")
        shape = shape_of(size, loc, scale)
        return placed(loc, scale, draw(self, "logistic", shape, 0.0, 1.0, size=shape), shape)

    def standard_normal(self, size=None):
        """Without parameters."""
        shape = shape_of(size)
        return draw(self, "standard_normal", shape, size=shape)

    def standard_exponential(self, size=None):
        """Without parameters."""
        shape = shape_of(size)
        return draw(self, "standard_exponential", shape, size=shape)

    def standard_cauchy(self, size=None):
        """Without parameters."""
        shape = shape_of(size)
        return draw(self, "standard_cauchy", shape, size=shape)

    # With a formula beside

    def lognormal(self, mean=0.0, sigma=1.0, size=None):
        """exp(mean + sigma z)."""
        not_negative(sigma, "sigma")
        shape = shape_of(size, mean, sigma)
        z = draw(twin(self), "standard_normal", shape, size=shape)
        value = draw(self, "lognormal", shape, fixed(mean), fixed(sigma), size=shape)
        return beside(value, np.exp(placed(mean, sigma, z, shape)))

    def weibull(self, a, size=None):
        """e ** (1 / a)."""
        not_negative(a, "a")
        shape = shape_of(size, a)
        value = draw(self, "weibull", shape, fixed(a), size=shape)
        a = fitted(a, shape)
        return beside(value, value ** (fixed(a) / a))

    def power(self, a, size=None):
        """(1 - exp(-e)) ** (1 / a)."""
        positive(a, "a")
        shape = shape_of(size, a)
        value = draw(self, "power", shape, fixed(a), size=shape)
        a = fitted(a, shape)
        return beside(value, value ** (fixed(a) / a))

    def pareto(self, a, size=None):
        """exp(e / a) - 1."""
        positive(a, "a")
        shape = shape_of(size, a)
        value = draw(self, "pareto", shape, fixed(a), size=shape)
        a = fitted(a, shape)
        return beside(value, np.expm1(np.log1p(value) * fixed(a) / a))

    def triangular(self, left, mode, right, size=None):
        """The inverse of the distribution function: roots on either side of the mode."""
        ordered(real(left), real(mode), real(right))
        shape = shape_of(size, left, mode, right)
        u = twin(self).between(shape)
        value = draw(self, "triangular", shape, fixed(left), fixed(mode), fixed(right), size=shape)
        left, mode, right = fitted(left, shape), fitted(mode, shape), fitted(right, shape)
        base = right - left
        below = u <= (mode - left) / base
        rising = left + np.sqrt(np.where(below, u * (mode - left) * base, 1.0))
        falling = right - np.sqrt(np.where(below, 1.0, (1.0 - u) * (right - mode) * base))
        formula = np.where(below, rising, falling)
        return beside(value, float(formula) if shape is None else formula)

    def vonmises(self, mu, kappa, size=None):
        """Turned by mu; there is no derivative by kappa."""
        not_negative(kappa, "kappa")
        shape = shape_of(size, mu, kappa)
        value = draw(self, "vonmises", shape, fixed(mu), kappa, size=shape)
        return beside(value, fitted(mu, shape))

    # Implicit

    def standard_gamma(self, shape, size=None):
        """Derivatives by the shape are implicit."""
        not_negative(shape, "shape")
        wanted = shape_of(size, shape)
        value = draw(self, "standard_gamma", wanted, fixed(shape), size=wanted)
        return gamma_sample(value, fitted(shape, wanted))

    def gamma(self, shape, scale=1.0, size=None):
        """`scale` times a standard one."""
        not_negative(shape, "shape")
        not_negative(scale, "scale")
        wanted = shape_of(size, shape, scale)
        value = draw(self, "standard_gamma", wanted, fixed(shape), size=wanted)
        return fitted(scale, wanted) * gamma_sample(value, fitted(shape, wanted))

    def chisquare(self, df, size=None):
        """Twice a gamma variate."""
        positive(df, "df")
        shape = shape_of(size, df)
        half = fitted(df, shape) / 2.0
        return 2.0 * gamma_sample(draw(self, "standard_gamma", shape, fixed(half), size=shape), half)

    def beta(self, a, b, size=None):
        """Derivatives by both parameters are implicit."""
        positive(a, "a")
        positive(b, "b")
        shape = shape_of(size, a, b)
        value = draw(self, "beta", shape, fixed(a), fixed(b), size=shape)
        return beta_sample(value, fitted(a, shape), fitted(b, shape))

    def standard_t(self, df, size=None):
        """A normal variate over the root of a gamma variate, drawn in turns."""
        positive(df, "df")
        shape = shape_of(size, df)
        again = twin(self)
        value = draw(self, "standard_t", shape, fixed(df), size=shape)
        if shape is None:
            z = draw(again, "standard_normal", None)
            return beside(value, z * np.sqrt(0.5 * df / again.standard_gamma(0.5 * df)))
        half = np.broadcast_to(0.5 * real(df), shape).reshape(-1)
        formula = np.empty(len(half))
        for k in range(len(half)):
            z = draw(again, "standard_normal", None)
            formula[k] = z * np.sqrt(half[k] / again.standard_gamma(half[k]))
        return beside(value, formula.reshape(shape))

    def f(self, dfnum, dfden, size=None):
        """The quotient of two gamma variates, drawn in turns."""
        positive(dfnum, "dfnum")
        positive(dfden, "dfden")
        shape = shape_of(size, dfnum, dfden)
        again = twin(self)
        value = draw(self, "f", shape, fixed(dfnum), fixed(dfden), size=shape)
        if shape is None:
            x, y = again.chisquare(dfnum), again.chisquare(dfden)
            return beside(value, x * dfden / (y * dfnum))
        above = np.broadcast_to(real(dfnum), shape).reshape(-1)
        below = np.broadcast_to(real(dfden), shape).reshape(-1)
        formula = np.empty(len(above))
        for k in range(len(above)):
            x, y = again.chisquare(above[k]), again.chisquare(below[k])
            formula[k] = x * below[k] / (y * above[k])
        return beside(value, formula.reshape(shape))

    def dirichlet(self, alpha, size=None):
        """Gamma variates over their sum."""
        alpha = np.asarray(alpha, dtype=float)
        if np.any(alpha < 0.0) if self.sticks else np.any(alpha <= 0.0):
            raise ValueError("alpha < 0" if self.sticks else "alpha <= 0")
        n = len(alpha)
        shape = (n,) if size is None else (*shape_of(size), n)
        again = twin(self)
        value = draw(self, "dirichlet", shape, fixed(alpha), size=size)
        parts = np.empty(shape)
        if self.sticks and np.max(alpha) < 0.1:
            self.broken(again, alpha, parts.reshape(-1, n))
        else:
            parts[...] = gamma_sample(draw(again, "standard_gamma", shape, fixed(alpha), size=shape), alpha)
            parts[...] = parts / np.sum(parts, axis=-1, keepdims=True)
        return beside(value, parts)

    def broken(self, again, alpha, parts):
        """Small parameters: pieces of a stick, each a beta variate of what is left."""
        n = len(alpha)
        for row in range(len(parts)):
            left = 1.0
            for j in range(n - 1):
                piece = again.beta(alpha[j], np.sum(alpha[j + 1 :]))
                parts[row, j] = left * piece
                left = left * (1.0 - piece)
            parts[row, n - 1] = left

    # No derivatives: by a parameter that has one they are refused, where the numbers drawn are not integers

    def noncentral_chisquare(self, df, nonc, size=None):
        """A value."""
        positive(df, "df")
        not_negative(nonc, "nonc")
        shape = shape_of(size, df, nonc)
        return draw(self, "noncentral_chisquare", shape, df, nonc, size=shape)

    def noncentral_f(self, dfnum, dfden, nonc, size=None):
        """A value."""
        positive(dfnum, "dfnum")
        positive(dfden, "dfden")
        not_negative(nonc, "nonc")
        shape = shape_of(size, dfnum, dfden, nonc)
        return draw(self, "noncentral_f", shape, dfnum, dfden, nonc, size=shape)

    def wald(self, mean, scale, size=None):
        """A value."""
        positive(mean, "mean")
        positive(scale, "scale")
        shape = shape_of(size, mean, scale)
        return draw(self, "wald", shape, mean, scale, size=shape)

    # Integers

    def counted(self, method, size, params):
        """Draws of integers."""
        shape = shape_of(size, *params)
        return draw(self, method, shape, *[fixed(p) for p in params], size=shape, gives=int)

    def binomial(self, n, p, size=None):
        """Integers."""
        p = fixed(real(p))
        if np.ndim(n) == 0 and n < 0:
            raise ValueError("n < 0")
        if not (0.0 <= p <= 1.0 if np.ndim(p) == 0 else np.all((p >= 0.0) & (p <= 1.0))):
            raise ValueError("p < 0, p > 1 or p is NaN")
        return self.counted("binomial", size, (n, p))

    def negative_binomial(self, n, p, size=None):
        """Integers."""
        return self.counted("negative_binomial", size, (n, p))

    def poisson(self, lam=1.0, size=None):
        """Integers."""
        rate = fixed(real(lam))
        if not (rate >= 0.0 if np.ndim(rate) == 0 else np.all(rate >= 0.0)):
            raise ValueError("lam < 0 or lam is NaN")
        most = 9.223372006484771e18  # as NumPy has it
        if rate > most if np.ndim(rate) == 0 else np.any(rate > most):
            raise ValueError("lam value too large")
        return self.counted("poisson", size, (rate,))

    def zipf(self, a, size=None):
        """Integers."""
        return self.counted("zipf", size, (a,))

    def geometric(self, p, size=None):
        """Integers."""
        return self.counted("geometric", size, (p,))

    def hypergeometric(self, ngood, nbad, nsample, size=None):
        """Integers."""
        return self.counted("hypergeometric", size, (ngood, nbad, nsample))

    def logseries(self, p, size=None):
        """Integers."""
        return self.counted("logseries", size, (p,))

    def multivariate_normal(self, mean, cov, size=None, check_valid="warn", tol=1e-8, **options):
        """A factor of the covariance times standard variates.

        By method="cholesky" the derivative is that of the factor. The factors of "svd" and "eigh" have none where
        variances are equal; there the variate x moves with the covariance as M x, where M = (C C0^-1)^(1/2) for the
        covariance C at hand and C0 around it: M C0 M^T = C, so M x has the covariance C. With E = (C - C0) C0^-1,

            M = 1 + E / 2 - E^2 / 8 + E^3 / 16 ...
        """
        mean, cov = np.asarray(mean, dtype=float), np.asarray(cov, dtype=float)
        n = len(mean)
        shape = (n,) if size is None else (*shape_of(size), n)
        again = twin(self)
        value = draw(
            self, "multivariate_normal", shape, fixed(mean), fixed(cov), size=size, check_valid=check_valid, tol=tol,
            **options,
        )  # fmt: skip
        if options.get("method", "svd") == "cholesky":
            z = draw(again, "standard_normal", shape, size=shape)
            return beside(value, mean + z @ np.transpose(np.linalg.cholesky(cov)))
        x = value - fixed(mean)
        around = fixed(cov)
        turned = np.transpose((cov - around) @ fixed(np.linalg.pinv(around)))
        once = x @ turned
        twice = once @ turned
        return beside(value, mean + once / 2.0 - twice / 8.0 + (twice @ turned) / 16.0)

    def multinomial(self, n, pvals, size=None):
        """Integers."""
        pvals = fixed(np.asarray(pvals, dtype=float))
        shape = (len(pvals),) if size is None else (*shape_of(size), len(pvals))
        return draw(self, "multinomial", shape, n, pvals, size=size, gives=int)

    # Not followed

    def bytes(self, length):
        """Refused."""
        raise NotImplementedError("bytes of a stream: draw integers")

    def get_state(self, legacy=True):
        """Refused."""
        raise NotImplementedError("the state of a stream inside a program: read it outside")

    def set_state(self, state):
        """Refused."""
        raise NotImplementedError("the state of a stream inside a program: set it outside, or seed a new stream")

    # Orders

    def shuffle(self, x, axis=0):
        """Bring items into another order, in place."""
        if axis != 0:
            raise NotImplementedError("shuffle along another axis: x[:] = rng.permutation(x, axis=axis)")
        places = order(self, len(x))
        if isinstance(x, list):
            x[:] = [x[int(places[k])] for k in range(len(x))]
        else:
            x[:] = x[places]

    def permutation(self, x, axis=0):
        """Items in another order."""
        if np.ndim(x) == 0:
            return draw(self, "permutation", (int(x),), int(x), gives=int)
        items = np.asarray(x)
        if np.ndim(items) == 1:
            return items[order(self, len(items))]
        n = np.shape(items)[axis]
        return np.take(items, draw(self, "permutation", (n,), n, gives=int), axis=axis)
