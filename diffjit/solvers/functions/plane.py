"""SciPy's functions of complex numbers whose derivatives are functions of the same family.

For real numbers they have rows (`primitives.scipy_special`); these are the plain versions for complex ones. By
parameters such as the order of a Bessel function there is no derivative. Source: NIST Handbook of Mathematical
Functions, 5.2, 5.5, 5.11 (gamma), 6.2 (exponential integrals), 7.2, 7.10 (errors), 10.6, 10.29 (Bessel), 15.5
(hypergeometric), 25.12 (dilogarithm).
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.special as sc

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.primitives.registry import of_numbers, of_plane

_ROOT = 2.0 / math.sqrt(math.pi)


def of_one(function, slope):
    """Declare a function of z alone: `slope(z, out)` is its derivative."""
    own = custom_jvp(foreign(function))

    @own.defjvp
    def rule(primals, tangents):
        out = own(primals[0])
        return out, slope(primals[0], out) * tangents[0]

    @of_plane(function)
    def plain(z):
        return own(z)


def of_order(function, slope, declared=of_plane):
    """Declare a function of an order and z: `slope(v, z, out)` is its derivative by z."""
    own = custom_jvp(foreign(function), nondiff_argnums=(0,))

    @own.defjvp
    def rule(v, primals, tangents):
        out = own(v, primals[0])
        return out, slope(v, primals[0], out) * tangents[0]

    @declared(function)
    def plain(v, z):
        return own(1.0 * v, 1.0 * z if np.iscomplexobj(z) else z + 0j)  # orders that are ints would be constants


def dilogarithm_slope(z):
    """log(z) / (1 - z), around 1 by its series."""
    w = z - 1.0
    near = np.abs(w) < 0.01
    small = np.where(near, w, 0.0)
    series = 1.0 / 9.0 + 0.0 * small
    for k in range(8, 0, -1):
        series = 1.0 / k - small * series
    away = np.where(near, 2.0, z)
    return np.where(near, -series, np.log(away) / (1.0 - away))


def trigamma(z):
    """The second derivative of log(gamma): upwards to its series, by reflection on the left."""
    left = np.real(z) < 0.5
    w = np.where(left, 1.0 - z, z)
    total = 0.0 * w
    for k in range(16):
        total = total + 1.0 / (w + k) ** 2
    u = 1.0 / (w + 16.0)
    v = u * u
    total = total + u + 0.5 * v + u * v * (1 / 6 - v * (1 / 30 - v * (1 / 42 - v * (1 / 30 - v * (5 / 66)))))
    return np.where(left, (math.pi / np.sin(math.pi * np.where(left, z, 0.25))) ** 2 - total, total)


of_one(sc.erf, lambda z, out: _ROOT * np.exp(-z * z))
of_one(sc.erfc, lambda z, out: -_ROOT * np.exp(-z * z))
of_one(sc.erfi, lambda z, out: _ROOT * np.exp(z * z))
of_one(sc.erfcx, lambda z, out: 2.0 * z * out - _ROOT)
of_one(sc.dawsn, lambda z, out: 1.0 - 2.0 * z * out)
of_one(sc.ndtr, lambda z, out: np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))
of_one(sc.exp1, lambda z, out: -np.exp(-z) / z)
of_one(sc.expi, lambda z, out: np.exp(z) / z)
of_one(sc.spence, lambda z, out: dilogarithm_slope(z))
of_one(sc.wrightomega, lambda z, out: out / (1.0 + out))
of_one(sc.loggamma, lambda z, out: sc.psi(z))
of_one(sc.gamma, lambda z, out: out * sc.psi(z))
of_one(sc.rgamma, lambda z, out: -out * sc.psi(z))
of_one(sc.psi, lambda z, out: trigamma(z))

of_order(sc.jv, lambda v, z, out: 0.5 * (sc.jv(v - 1, z) - sc.jv(v + 1, z)))
of_order(sc.yv, lambda v, z, out: 0.5 * (sc.yv(v - 1, z) - sc.yv(v + 1, z)))
of_order(sc.iv, lambda v, z, out: 0.5 * (sc.iv(v - 1, z) + sc.iv(v + 1, z)))
of_order(sc.kv, lambda v, z, out: -0.5 * (sc.kv(v - 1, z) + sc.kv(v + 1, z)))
of_order(sc.kve, lambda v, z, out: out - 0.5 * (sc.kve(v - 1, z) + sc.kve(v + 1, z)))
of_order(sc.hankel1, lambda v, z, out: 0.5 * (sc.hankel1(v - 1, z) - sc.hankel1(v + 1, z)), of_numbers)
of_order(sc.hankel2, lambda v, z, out: 0.5 * (sc.hankel2(v - 1, z) - sc.hankel2(v + 1, z)), of_numbers)
of_order(sc.hankel1e, lambda v, z, out: 0.5 * (sc.hankel1e(v - 1, z) - sc.hankel1e(v + 1, z)) - 1j * out, of_numbers)
of_order(sc.hankel2e, lambda v, z, out: 0.5 * (sc.hankel2e(v - 1, z) - sc.hankel2e(v + 1, z)) + 1j * out, of_numbers)
of_order(sc.hyp0f1, lambda v, z, out: sc.hyp0f1(v + 1, z) / v)

HYP1F1 = custom_jvp(foreign(sc.hyp1f1), nondiff_argnums=(0, 1))
HYP2F1 = custom_jvp(foreign(sc.hyp2f1), nondiff_argnums=(0, 1, 2))


@HYP1F1.defjvp
def hyp1f1_jvp(a, b, primals, tangents):
    (z,) = primals
    return HYP1F1(a, b, z), a / b * HYP1F1(a + 1, b + 1, z) * tangents[0]


@of_plane(sc.hyp1f1)
def hyp1f1(a, b, z):
    """The confluent hypergeometric function."""
    return HYP1F1(1.0 * a, 1.0 * b, z)


@HYP2F1.defjvp
def hyp2f1_jvp(a, b, c, primals, tangents):
    (z,) = primals
    return HYP2F1(a, b, c, z), a * b / c * HYP2F1(a + 1, b + 1, c + 1, z) * tangents[0]


@of_plane(sc.hyp2f1)
def hyp2f1(a, b, c, z):
    """Gauss' hypergeometric function."""
    return HYP2F1(1.0 * a, 1.0 * b, 1.0 * c, z)
