"""Functions of complex numbers that SciPy computes and whose derivatives are made of themselves.

Source: NIST Handbook of Mathematical Functions, 4.13 (Lambert), 6.2 (integrals of sines), 7.2 and 7.10 (errors,
Fresnel).
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.special

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.api.products import jvp
from diffjit.primitives.registry import implements, of_numbers, of_reals

FADDEEVA = custom_jvp(foreign(scipy.special.wofz))


@FADDEEVA.defjvp
def faddeeva_jvp(primals, tangents):
    (z,) = primals
    w = FADDEEVA(z)
    return w, (2j / math.sqrt(math.pi) - 2.0 * z * w) * tangents[0]


@of_numbers(scipy.special.wofz)
def wofz(z):
    """Faddeeva's function."""
    return FADDEEVA(1.0 * z if np.iscomplexobj(z) else z + 0j)


def profile(x, sigma, gamma):
    """A normal density with the width of a resonance, of which one may be zero; by Faddeeva's function."""
    x, sigma, gamma = np.broadcast_arrays(1.0 * np.asarray(x), 1.0 * np.asarray(sigma), 1.0 * np.asarray(gamma))
    wide, sharp = sigma > 0.0, gamma > 0.0
    s, g = np.where(wide, sigma, 1.0), np.where(sharp, gamma, 1.0)
    w = FADDEEVA((x + 1j * np.where(sharp, gamma, 0.0)) / (s * math.sqrt(2.0)))
    resonance = g / (math.pi * (x * x + g * g))
    spike = np.where(x == 0.0, np.inf, 0.0)
    return np.where(wide, np.real(w) / (s * math.sqrt(2.0 * math.pi)), np.where(sharp, resonance, spike))[()]


VOIGT = custom_jvp(foreign(scipy.special.voigt_profile))


@VOIGT.defjvp
def voigt_jvp(primals, tangents):
    return VOIGT(*primals), jvp(profile, primals, tangents)[1]


@of_reals(scipy.special.voigt_profile)
def voigt_profile(x, sigma, gamma):
    """A normal density with the width of a resonance."""
    return VOIGT(1.0 * x, 1.0 * sigma, 1.0 * gamma)


LAMBERT = custom_jvp(foreign(scipy.special._ufuncs._lambertw), nondiff_argnums=(1, 2))  # noqa: SLF001 - SciPy's own


@LAMBERT.defjvp
def lambert_jvp(k, tol, primals, tangents):
    (z,) = primals
    w = LAMBERT(z, k, tol)
    return w, tangents[0] / (np.exp(w) * (1.0 + w))


@implements(scipy.special.lambertw)
def lambertw(z, k=0, tol=1e-8):
    """The solution w of `w * exp(w) == z` on a branch."""
    return LAMBERT(1.0 * z if np.iscomplexobj(z) else z + 0j, k, tol)
