"""Elementwise rows: special functions, binary exponents, and the parts of complex numbers.

Kinds that are not NumPy ufuncs name the scalar function that they mean (`semantics.py`). `polygamma`, `sinc_nth` and
`bessel_i` are families closed under differentiation, so that their members have exact derivatives of every order, also
where the closed formulas are 0 / 0.
"""

from __future__ import annotations

import math

import numpy as np

from diffjit.ir.ops import Cost
from diffjit.primitives import semantics
from diffjit.primitives.registry import elementwise

elementwise("erf(x)", "1.1283791670955126 * exp(-x * x)", also=(math.erf,), math="erf", scalar=math.erf)
elementwise("erfc(x)", "-1.1283791670955126 * exp(-x * x)", also=(math.erfc,), math="erfc", scalar=math.erfc)
elementwise("gamma(x)", "out * polygamma(0, x)", also=(math.gamma,), guarded=True, scalar=semantics.gamma_function)
elementwise("lgamma(x)", "polygamma(0, x)", also=(math.lgamma,), guarded=True, scalar=semantics.log_gamma)
elementwise("polygamma(n, x)", "0", "polygamma(n + 1, x)", guarded=True, scalar=semantics.polygamma, integer=True)

elementwise("sinc(x)", "sinc_nth(1, x)", also=(np.sinc,), scalar=semantics.sinc)
elementwise("sinc_nth(n, x)", "0", "sinc_nth(n + 1, x)", scalar=semantics.sinc_nth, integer=True)

elementwise("i0(x)", "bessel_i(1, x)", also=(np.i0,), guarded=True, scalar=semantics.i0)
elementwise(
    "bessel_i(n, x)",
    "0",
    "0.5 * (bessel_i(n - 1, x) + bessel_i(n + 1, x))",
    guarded=True,
    scalar=semantics.bessel_i,
    integer=True,
)

# x * 2**n.
elementwise("ldexp(x, n)", "ldexp(1.0, n)", "0", numpy=np.ldexp, also=(math.ldexp,), guarded=True)

# For real x; `complexes` says what they are for complex ones.
elementwise("real(x)", "1", also=(np.real,), cost=Cost.CHEAP)
elementwise("imag(x)", "0", also=(np.imag,), cost=Cost.CHEAP)
elementwise("conjugate(x)", "1", numpy=np.conjugate, cost=Cost.CHEAP)
