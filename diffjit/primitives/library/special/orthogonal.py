"""Orthogonal polynomials as objects, and spherical harmonics, of `scipy.special`."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOptionalSubscript=false, reportOptionalCall=false

from __future__ import annotations

import math

import numpy as np
import scipy.special

from diffjit.primitives.library.series.powers import Poly1d
from diffjit.primitives.registry import implements, present


class Orthogonal(Poly1d):
    """A polynomial of a family and a degree, as SciPy's function of its values computes it."""

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as NumPy has it

    stands_for = type(scipy.special.legendre(1))

    def __init__(self, function, roots, n, shapes, monic):
        if monic:
            raise NotImplementedError("orthogonal polynomials with monic=True: divide by the leading coefficient")
        if n < 0:
            raise ValueError("n must be nonnegative.")
        self.function, self.zeros, self.n, self.shapes = function, roots, n, shapes

    def __call__(self, val):
        """The value at a point, or the polynomial of another one."""
        if isinstance(val, np.poly1d):
            return Poly1d(self.whole)(val)
        return self.function(self.n, *self.shapes, val)

    @property
    def whole(self):
        """The coefficients: by its roots, and by its value at a point beyond them."""
        if self.n == 0:
            return np.array([self.function(0, *self.shapes, 0.0)])
        roots = self.zeros(self.n, *self.shapes)[0]
        beyond = np.max(roots) + 1.0
        return np.poly(roots) * (self.function(self.n, *self.shapes, beyond) / np.prod(beyond - roots))

    @property
    def order(self):
        """The degree."""
        return self.n


@implements(type(scipy.special.legendre(1)))
class Given(Poly1d):
    """An orthogonal polynomial as SciPy makes it: coefficients, and a function of its values."""

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as NumPy has it

    stands_for = type(scipy.special.legendre(1))

    def __init__(
        self, roots, weights=None, hn=1.0, kn=1.0, wfunc=None, limits=None, monic=False, eval_func=None
    ):  # fmt: skip
        self.whole = np.poly(roots) * (1.0 if monic else float(kn))
        self.limits, self.weight_func = limits, wfunc
        self.normcoef = np.sqrt(hn) / (abs(kn) if monic else 1.0)
        by_number = [weights[k] / wfunc(roots[k]) for k in range(len(roots))]
        self.weights = np.array([(roots[k], weights[k], by_number[k]) for k in range(len(roots))])
        self.eval_func = (lambda x: eval_func(x) / kn) if monic and eval_func else eval_func

    def __call__(self, val):
        """The value at a point, or the polynomial of another one."""
        if self.eval_func and not isinstance(val, np.poly1d):
            return self.eval_func(val)
        return super().__call__(val)

    def _scale(self, p):
        """Multiply by a number, as SciPy's functions do it that make one."""
        if p != 1.0:
            before = self.eval_func
            self.whole = self.whole * p
            self.eval_func = (lambda x: before(x) * p) if before else None
            self.normcoef = self.normcoef * p


@implements(scipy.special.hermite)
def hermite(n, monic=False):
    """The physicist's polynomial of Hermite's."""
    return Orthogonal(scipy.special.eval_hermite, scipy.special.roots_hermite, n, (), monic)


@implements(scipy.special.hermitenorm)
def hermitenorm(n, monic=False):
    """The statistician's polynomial of Hermite's."""
    return Orthogonal(scipy.special.eval_hermitenorm, scipy.special.roots_hermitenorm, n, (), monic)


@implements(scipy.special.legendre)
def legendre(n, monic=False):
    """Legendre's polynomial."""
    return Orthogonal(scipy.special.eval_legendre, scipy.special.roots_legendre, n, (), monic)


@implements(scipy.special.chebyt)
def chebyt(n, monic=False):
    """Chebyshev's polynomial of the first kind."""
    return Orthogonal(scipy.special.eval_chebyt, scipy.special.roots_chebyt, n, (), monic)


@implements(scipy.special.chebyu)
def chebyu(n, monic=False):
    """Chebyshev's polynomial of the second kind."""
    return Orthogonal(scipy.special.eval_chebyu, scipy.special.roots_chebyu, n, (), monic)


@implements(scipy.special.chebyc)
def chebyc(n, monic=False):
    """Chebyshev's polynomial of the first kind, between -2 and 2."""
    return Orthogonal(scipy.special.eval_chebyc, scipy.special.roots_chebyc, n, (), monic)


@implements(scipy.special.chebys)
def chebys(n, monic=False):
    """Chebyshev's polynomial of the second kind, between -2 and 2."""
    return Orthogonal(scipy.special.eval_chebys, scipy.special.roots_chebys, n, (), monic)


@implements(scipy.special.sh_chebyt)
def sh_chebyt(n, monic=False):
    """Chebyshev's polynomial of the first kind, between 0 and 1."""
    return Orthogonal(scipy.special.eval_sh_chebyt, scipy.special.roots_sh_chebyt, n, (), monic)


@implements(scipy.special.sh_chebyu)
def sh_chebyu(n, monic=False):
    """Chebyshev's polynomial of the second kind, between 0 and 1."""
    return Orthogonal(scipy.special.eval_sh_chebyu, scipy.special.roots_sh_chebyu, n, (), monic)


@implements(scipy.special.sh_legendre)
def sh_legendre(n, monic=False):
    """Legendre's polynomial, between 0 and 1."""
    return Orthogonal(scipy.special.eval_sh_legendre, scipy.special.roots_sh_legendre, n, (), monic)


@implements(scipy.special.laguerre)
def laguerre(n, monic=False):
    """Laguerre's polynomial."""
    return Orthogonal(scipy.special.eval_laguerre, scipy.special.roots_laguerre, n, (), monic)


@implements(scipy.special.genlaguerre)
def genlaguerre(n, alpha, monic=False):
    """Laguerre's generalised polynomial."""
    if alpha <= -1:
        raise ValueError("alpha must be > -1")
    return Orthogonal(scipy.special.eval_genlaguerre, scipy.special.roots_genlaguerre, n, (alpha,), monic)


@implements(scipy.special.gegenbauer)
def gegenbauer(n, alpha, monic=False):
    """Gegenbauer's polynomial."""
    return Orthogonal(scipy.special.eval_gegenbauer, scipy.special.roots_gegenbauer, n, (alpha,), monic)


@implements(scipy.special.jacobi)
def jacobi(n, alpha, beta, monic=False):
    """Jacobi's polynomial."""
    if alpha <= -1 or beta <= -1:
        raise ValueError("alpha and beta must be greater than -1")
    return Orthogonal(scipy.special.eval_jacobi, scipy.special.roots_jacobi, n, (alpha, beta), monic)


# Values of a degree ---------------------------------------------------------------------------------------------------


@implements(scipy.special.eval_chebyc)
def eval_chebyc(n, x):
    """Chebyshev's polynomial of the first kind, between -2 and 2."""
    return 2.0 * scipy.special.eval_chebyt(n, 0.5 * np.asarray(x))


@implements(scipy.special.eval_chebys)
def eval_chebys(n, x):
    """Chebyshev's polynomial of the second kind, between -2 and 2."""
    return scipy.special.eval_chebyu(n, 0.5 * np.asarray(x))


@implements(scipy.special.eval_sh_chebyt)
def eval_sh_chebyt(n, x):
    """Chebyshev's polynomial of the first kind, between 0 and 1."""
    return scipy.special.eval_chebyt(n, 2.0 * np.asarray(x) - 1.0)


@implements(scipy.special.eval_sh_chebyu)
def eval_sh_chebyu(n, x):
    """Chebyshev's polynomial of the second kind, between 0 and 1."""
    return scipy.special.eval_chebyu(n, 2.0 * np.asarray(x) - 1.0)


@implements(scipy.special.eval_sh_legendre)
def eval_sh_legendre(n, x):
    """Legendre's polynomial, between 0 and 1."""
    return scipy.special.eval_legendre(n, 2.0 * np.asarray(x) - 1.0)


@implements(scipy.special.eval_sh_jacobi)
def eval_sh_jacobi(n, p, q, x):
    """Jacobi's polynomial between 0 and 1, with 1 as its leading coefficient."""
    return scipy.special.eval_jacobi(n, p - q, q - 1.0, 2.0 * np.asarray(x) - 1.0) / scipy.special.binom(
        2 * n + p - 1.0, n
    )


# Spherical harmonics --------------------------------------------------------------------------------------------------


@implements(*present(scipy.special, "sph_harm_y"))
def sph_harm_y(n, m, theta, phi, *, diff_n=0):
    """A spherical harmonic, of a degree and an order that are ints, at polar and azimuthal angles."""
    if diff_n:
        raise NotImplementedError("scipy.special.sph_harm_y(diff_n=...): take its derivatives")
    if np.ndim(n) > 0 or np.ndim(m) > 0:
        raise NotImplementedError("scipy.special.sph_harm_y of several degrees or orders at once: call it for each")
    return harmonic(n, m, theta, phi)


def harmonic(n, m, theta, phi):
    """By the recurrence of functions of Legendre's that are normed, upwards in the degree (DLMF 14.30)."""
    theta, phi = 1.0 * np.asarray(theta), 1.0 * np.asarray(phi)
    order = abs(m)
    cosine, sine = np.cos(theta), np.sin(theta)
    before, value = 0.0 * theta, math.sqrt(0.25 / math.pi) + 0.0 * theta
    for k in range(1, order + 1):
        value = -math.sqrt((2.0 * k + 1.0) / (2.0 * k)) * sine * value
    for k in range(order + 1, n + 1):
        a = math.sqrt((4.0 * k * k - 1.0) / (k * k - order * order))
        b = math.sqrt(((k - 1.0) ** 2 - order * order) / (4.0 * (k - 1.0) ** 2 - 1.0)) if k > order + 1 else 0.0
        before, value = value, a * (cosine * value - b * before)
    if order > n:
        value = 0.0 * value
    if m < 0:
        value = value * (1.0 if order % 2 == 0 else -1.0)
    return (value * np.exp(1j * m * phi))[()]
