"""Noncentral chi-squared distributions, of which Skellam's is one.

Densities f(x; k, w) are closed under derivatives by x and by the noncentrality w: Bessel's recurrence (NIST Handbook
10.29) gives f at k - 2 degrees of freedom from those at k and k + 2. By k there is no derivative.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOptionalCall=false

from __future__ import annotations

import numpy as np
import scipy.special as sc

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.primitives.library.stats.parts import HOMES, part
from diffjit.primitives.registry import of_reals, present


def declared(name):
    """SciPy's function of (x, k, w), with rules by x and w; None where the installed version has another one."""
    found = [f for home in HOMES for f in present(home, name)]
    return custom_jvp(foreign(found[0]), nondiff_argnums=(1,)) if found else None


DENSITY, ABOVE = declared("_ncx2_pdf"), declared("_ncx2_sf")
BELOW = custom_jvp(foreign(sc.chndtr), nondiff_argnums=(1,))


def steps(x, k, w):
    """The density, and that of two degrees of freedom more; 0 without any, as in a branch that is not taken."""
    some = np.where(k > 0.0, k, 1.0)
    return np.where(k > 0.0, DENSITY(x, some, w), 0.0), np.where(k > 0.0, DENSITY(x, some + 2.0, w), 0.0)


def density_jvp(k, primals, tangents):
    x, w = primals
    f, more = steps(x, k, w)
    by_x = 0.5 * (w / x * more + ((k - 2.0) / x - 1.0) * f)
    return DENSITY(x, k, w), by_x * tangents[0] + 0.5 * (more - f) * tangents[1]


def below_jvp(k, primals, tangents):
    x, w = primals
    f, more = steps(x, k, w)
    return BELOW(x, k, w), f * tangents[0] - more * tangents[1]


def above_jvp(k, primals, tangents):
    x, w = primals
    f, more = steps(x, k, w)
    return ABOVE(x, k, w), more * tangents[1] - f * tangents[0]


if DENSITY is not None:
    DENSITY.defjvp(density_jvp)

    @part("_ncx2_pdf")
    def ncx2_pdf(x, df, nc):
        """The density."""
        return DENSITY(1.0 * x, 1.0 * df, 1.0 * nc)

    BELOW.defjvp(below_jvp)

    @of_reals(sc.chndtr)
    def chndtr(x, df, nc):
        """The distribution function."""
        return BELOW(1.0 * x, 1.0 * df, 1.0 * nc)


if DENSITY is not None and ABOVE is not None:
    ABOVE.defjvp(above_jvp)

    @part("_ncx2_sf")
    def ncx2_sf(x, df, nc):
        """What is left of the distribution function."""
        return ABOVE(1.0 * x, 1.0 * df, 1.0 * nc)
