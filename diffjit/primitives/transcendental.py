"""Elementwise rows: exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math

import numpy as np

from diffjit.ir.ops import Cost
from diffjit.primitives.registry import elementwise

# Exponentials (guarded because they overflow: softplus written with `where` multiplies 0 by exp(1000)) --------------

elementwise("exp(x)", "out", numpy=np.exp, also=(math.exp,), overflows=True)
elementwise("exp2(x)", "0.6931471805599453 * out", numpy=np.exp2, also=(math.exp2,), overflows=True)
elementwise("expm1(x)", "out + 1", numpy=np.expm1, also=(math.expm1,), overflows=True)

# Logarithms (math.log takes a base too: frontend/calls/builtin_calls.py) ---------------------------------------------

elementwise("log(x)", "1 / x", numpy=np.log, guarded=True)
elementwise("log2(x)", "1.4426950408889634 / x", numpy=np.log2, also=(math.log2,), guarded=True)
elementwise("log10(x)", "0.4342944819032518 / x", numpy=np.log10, also=(math.log10,), guarded=True)
elementwise("log1p(x)", "1 / (1 + x)", numpy=np.log1p, also=(math.log1p,), guarded=True)
# The two weights sum to 1. Where the result is infinite (two impossible events) it is the maximum of both.
elementwise(
    "logaddexp(x, y)",
    "where(isinf(out), where(x == y, 0.5, where(x > y, 1.0, 0.0)), exp(x - out))",
    "where(isinf(out), where(x == y, 0.5, where(y > x, 1.0, 0.0)), exp(y - out))",
    numpy=np.logaddexp,
    guarded=True,
)
elementwise(
    "logaddexp2(x, y)",
    "where(isinf(out), where(x == y, 0.5, where(x > y, 1.0, 0.0)), exp2(x - out))",
    "where(isinf(out), where(x == y, 0.5, where(y > x, 1.0, 0.0)), exp2(y - out))",
    numpy=np.logaddexp2,
    guarded=True,
)

# log(c + exp(v)), which is `y`, by v (`optimise.logarithms`): exp(v - s) / (1 + exp(v - s)) with s = log(c). Both
# exponentials are of what is never positive, and the sides of the choice are one smooth function.
elementwise(
    "rerouted(y, v, s)",
    "0",
    "where(v > s, 1.0, exp(where(v > s, s - v, v - s))) / (1 + exp(where(v > s, s - v, v - s)))",
    "0",
)

# Trigonometric ------------------------------------------------------------------------------------------------------

elementwise("sin(x)", "cos(x)", numpy=np.sin, also=(math.sin,), along="cos")
elementwise("cos(x)", "-sin(x)", numpy=np.cos, also=(math.cos,), along="sin")
elementwise("tan(x)", "1 + out * out", numpy=np.tan, also=(math.tan,))
# `one_minus_square` keeps the digits near 1 that 1 - x * x loses.
elementwise("arcsin(x)", "1 / sqrt(one_minus_square(x))", numpy=np.arcsin, also=(math.asin,), guarded=True)
elementwise("arccos(x)", "-1 / sqrt(one_minus_square(x))", numpy=np.arccos, also=(math.acos,), guarded=True)
elementwise("arctan(x)", "1 / (1 + x * x)", numpy=np.arctan, also=(math.atan,), math="atan")
elementwise(
    "arctan2(y, x)",
    "x / (x * x + y * y)",
    "-y / (x * x + y * y)",
    numpy=np.arctan2,
    also=(math.atan2,),
    guarded=True,
    math="atan2",
)
elementwise(
    "deg2rad(x)",
    "0.017453292519943295",
    numpy=np.deg2rad,
    also=(np.radians, math.radians),
    math="radians",
    cost=Cost.CHEAP,
)
elementwise(
    "rad2deg(x)",
    "57.29577951308232",
    numpy=np.rad2deg,
    also=(np.degrees, math.degrees),
    math="degrees",
    cost=Cost.CHEAP,
)

# Hyperbolic ---------------------------------------------------------------------------------------------------------

elementwise("sinh(x)", "cosh(x)", numpy=np.sinh, also=(math.sinh,), overflows=True)
elementwise("cosh(x)", "sinh(x)", numpy=np.cosh, also=(math.cosh,), overflows=True)
elementwise("tanh(x)", "1 - out * out", numpy=np.tanh, also=(math.tanh,), math="tanh")
elementwise("arcsinh(x)", "1 / sqrt(x * x + 1)", numpy=np.arcsinh, also=(math.asinh,), math="asinh")
# Two roots, not one of the product: the right branch for complex x with a negative real part. And two quotients, of
# which neither is 0: the second derivative at 1 has no term 0 * inf.
elementwise("arccosh(x)", "1 / sqrt(x - 1) * (1 / sqrt(x + 1))", numpy=np.arccosh, also=(math.acosh,), guarded=True)
elementwise("arctanh(x)", "1 / one_minus_square(x)", numpy=np.arctanh, also=(math.atanh,), guarded=True)
