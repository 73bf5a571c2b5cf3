"""Hurwitz's and Riemann's zeta functions by their argument (NIST Handbook of Mathematical Functions, 25.11.5)."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.special as sc

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.api.products import jvp
from diffjit.primitives.registry import implements

TERMS = 16
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
# SciPy before 1.15 has Riemann's as Hurwitz's, from 1.
RIEMANN = custom_jvp(foreign(getattr(sc._ufuncs, "_riemann_zeta", sc._ufuncs._zeta)))  # noqa: SLF001
HURWITZ = custom_jvp(foreign(sc._ufuncs._zeta))  # noqa: SLF001
OF_ONE = hasattr(sc._ufuncs, "_riemann_zeta")  # noqa: SLF001


def hurwitz(s, q):
    """The sum of (n + q)**-s over all n, for s > 1: some terms, and Euler's and Maclaurin's series for the rest."""
    total = 0.0 * s * q
    for n in range(TERMS):
        total = total + (n + q) ** -s
    a = q + TERMS
    total = total + a ** (1.0 - s) / (s - 1.0) + 0.5 * a**-s
    factor = 0.5 * s * a ** (-s - 1.0)
    for k in range(len(BERNOULLI)):
        total = total + BERNOULLI[k] * factor
        factor = factor * (s + 2 * k + 1.0) * (s + 2 * k + 2.0) / ((2 * k + 3.0) * (2 * k + 4.0) * a * a)
    return total


@HURWITZ.defjvp
def hurwitz_jvp(primals, tangents):
    return HURWITZ(*primals), jvp(hurwitz, primals, tangents)[1]


@RIEMANN.defjvp
def riemann_jvp(primals, tangents):
    (s,) = primals
    if np.any(s <= 1.0):
        raise NotImplementedError("the derivative of Riemann's zeta function where its series does not converge")
    return RIEMANN(s), jvp(lambda at: hurwitz(at, 1.0), (s,), tangents)[1]


@implements(sc.zeta)
def zeta(x, q=None, out=None):
    """Hurwitz's zeta function, and Riemann's."""
    if q is None and OF_ONE:
        return RIEMANN(1.0 * x)
    return HURWITZ(1.0 * x, 1.0 if q is None else 1.0 * q)
