"""SciPy's functions that give several numbers at once, whose derivatives are made of these and of elementary functions.

Source: NIST Handbook of Mathematical Functions, 6.2 (integrals of sine and cosine), 7.2 (Fresnel's), 9.2 (Airy's
functions), 10.61, 10.63 (Kelvin's), 19.4, 22.13 and 22.16 (Jacobi's, by the amplitude).
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
from diffjit.primitives.registry import of_numbers, of_reals


def of_one(function, slopes, declared):
    """Declare a function of z alone: `slopes(z, out)` are the derivatives of what it gives."""
    own = custom_jvp(foreign(function))

    @own.defjvp
    def rule(primals, tangents):
        out = own(primals[0])
        return out, tuple(slope * tangents[0] for slope in slopes(primals[0], out))

    @declared(function)
    def plain(z):
        return own(1.0 * z)


def over(u, z, there):
    """u / z, and `there` at z = 0."""
    zero = z == 0.0
    return np.where(zero, there, u / np.where(zero, 1.0, z))


of_one(sc.fresnel, lambda z, out: (np.sin(0.5 * math.pi * z * z), np.cos(0.5 * math.pi * z * z)), of_numbers)
of_one(sc.sici, lambda z, out: (over(np.sin(z), z, 1.0), over(np.cos(z), z, np.inf)), of_numbers)
of_one(sc.shichi, lambda z, out: (over(np.sinh(z), z, 1.0), over(np.cosh(z), z, np.inf)), of_numbers)
of_one(sc.airy, lambda z, out: (out[1], z * out[0], out[3], z * out[2]), of_numbers)
of_one(sc.kelvin, lambda x, out: (out[2], out[3], 1j * out[0] - out[2] / x, 1j * out[1] - out[3] / x), of_reals)


# Jacobi's elliptic functions, and the amplitude

JACOBI = custom_jvp(foreign(sc.ellipj))
FEW, TERMS = 0.1, 16  # below this parameter, so many terms of its powers say all
LAST = 1e-5  # so near to the parameter 1, rounding leaves too little of second derivatives


def by_parameter(u, m, out):
    """The derivative of the amplitude by the parameter, from that of the integral u (19.4.1), or from its series."""
    sn, cn, dn, phase = out
    few = np.abs(m) < FEW
    small, large = np.where(few, m, 0.0), np.where(few, 0.5, m)
    product, power, integral, total = sn * cn, 1.0, phase, 0.0 * phase
    for k in range(1, TERMS + 1):
        integral = ((2 * k - 1) * integral - product) / (2 * k)  # of sin**(2 * k)
        product = product * sn * sn
        total = total + power * integral
        power = power * small * (2 * k + 1) / (2 * k)
    whole = (sc.ellipeinc(phase, large) - (1.0 - large) * u) / large - sn * cn / dn
    return -0.5 * dn * np.where(few, total, np.where(1.0 - large > LAST, whole / (1.0 - large), np.nan))


@JACOBI.defjvp
def jacobi_jvp(primals, tangents):
    u, m = primals
    out = sn, cn, dn, _ = JACOBI(u, m)
    turn = dn * tangents[0] + by_parameter(u, m, out) * tangents[1]
    sn_dot = cn * turn
    return out, (sn_dot, -sn * turn, -(0.5 * sn * sn * tangents[1] + m * sn * sn_dot) / dn, turn)


@of_reals(sc.ellipj)
def ellipj(u, m):
    """The sine, cosine and delta of the amplitude, and the amplitude."""
    return JACOBI(1.0 * u, 1.0 * m)
