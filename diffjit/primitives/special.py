"""Elementwise rows: special functions, binary exponents, and the parts of complex numbers.

Kinds that are not NumPy ufuncs have their meaning as a scalar function in `semantics.py`. `polygamma`, `sinc_nth` and
`bessel_i` are families closed under differentiation, so that their members have exact derivatives of every order, also
where the closed formulas are 0 / 0.
"""

from __future__ import annotations

import math

import numpy as np

from diffjit.ir.ops import Cost
from diffjit.primitives.registry import elementwise

elementwise("erf(x)", "1.1283791670955126 * exp(-x * x)", also=(math.erf,), math="erf")
elementwise("erfc(x)", "-1.1283791670955126 * exp(-x * x)", also=(math.erfc,), math="erfc")
elementwise("gamma(x)", "out * polygamma(0, x)", also=(math.gamma,), guarded=True)
elementwise("lgamma(x)", "polygamma(0, x)", also=(math.lgamma,), guarded=True)
elementwise("polygamma(n, x)", "0", "polygamma(n + 1, x)", guarded=True)

elementwise("sinc(x)", "sinc_nth(1, x)", also=(np.sinc,))
elementwise("sinc_nth(n, x)", "0", "sinc_nth(n + 1, x)")

elementwise("i0(x)", "bessel_i(1, x)", also=(np.i0,), guarded=True)
elementwise("bessel_i(n, x)", "0", "0.5 * (bessel_i(n - 1, x) + bessel_i(n + 1, x))", guarded=True)

# x * 2**n.
elementwise("ldexp(x, n)", "ldexp(1.0, n)", "0", numpy=np.ldexp, also=(math.ldexp,), guarded=True)

# For real x; `complexes` says what they are for complex ones.
elementwise("real(x)", "1", also=(np.real,), cost=Cost.CHEAP)
elementwise("imag(x)", "0", also=(np.imag,), cost=Cost.CHEAP)
elementwise("conjugate(x)", "1", numpy=np.conjugate, cost=Cost.CHEAP)
