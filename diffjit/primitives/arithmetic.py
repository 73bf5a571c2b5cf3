"""Elementwise rows: arithmetic, powers, rounding, divisions and the choices between two numbers.

How the engine reads a partial: `out` and the parameters are in scope, other names are elementwise kinds, and numbers
are Python's (they take the dtype of what they meet). A partial that is `where(c, a, b)` is applied branch by branch, as
`where(c, g * a, g * b)`, and a literal 0 contributes exactly 0 even to an infinite cotangent: `sqrt(maximum(x, 0))` has
derivative 0 at x < 0, not inf * 0.
"""

# The stubs of `operator` are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from diffjit.ir.ops import Cost, Raises
from diffjit.primitives.registry import elementwise

# Arithmetic ---------------------------------------------------------------------------------------------------------

elementwise("add(x, y)", "1", "1", numpy=np.add, also=(operator.add,), operator="+")
elementwise("subtract(x, y)", "1", "-1", numpy=np.subtract, also=(operator.sub,), operator="-")
elementwise("multiply(x, y)", "y", "x", numpy=np.multiply, also=(operator.mul,), operator="*")
elementwise(
    "divide(x, y)",
    "1 / y",
    "-out / y",
    numpy=np.divide,
    also=(operator.truediv,),
    guarded=True,
    operator="/",
    cost=Cost.SLOW,
)
elementwise("negative(x)", "-1", numpy=np.negative, also=(operator.neg,), operator="-", name="minus_{}")
elementwise("positive(x)", "1", numpy=np.positive, also=(operator.pos,), operator="+")
elementwise("reciprocal(x)", "-out * out", numpy=np.reciprocal, guarded=True, cost=Cost.SLOW)
elementwise("square(x)", "2 * x", numpy=np.square, cost=Cost.CHEAP, overflows=True)


# For the partials of inverse functions. As a product it would reach x on two ways, inf and 0 * inf where it is 0, and a
# second derivative would be NaN in some modes.
def one_minus_square(x: Any) -> Any:
    """1 - x * x, with the digits that it has near 1; for rules."""
    return (1 - x) * (1 + x)


elementwise("one_minus_square(x)", "-2 * x", also=(one_minus_square,), cost=Cost.CHEAP)

# The quotient is an integer, so it has no derivative; x - quotient * y does.
elementwise(
    "floor_divide(x, y)",
    "0",
    "0",
    numpy=np.floor_divide,
    also=(operator.floordiv,),
    operator="//",
    cost=Cost.SLOW,
    fails=True,
)


def exact_quotient(x: Any, y: Any) -> Any:
    """The quotient of an int and one that it is a multiple of."""
    return x // y


elementwise(
    "remainder(x, y)",
    "1",
    "-floor_divide(x, y)",
    numpy=np.remainder,
    also=(operator.mod,),
    operator="%",
    cost=Cost.SLOW,
    fails=True,
    finite=True,
)
# fmod is exact where x / y is rounded: trunc(x / y) could be one off, the rounded (out - x) / y cannot.
elementwise("fmod(x, y)", "1", "rint((out - x) / y)", numpy=np.fmod, also=(math.fmod,), guarded=True)

# Powers -------------------------------------------------------------------------------------------------------------

# x**0 is constant also at x = 0, where y * x**(y - 1) would be 0 * inf; elsewhere its partial is 0 as a product, whose
# derivative by y is 1 / x. 0**y is constant for y > 0: log(0) must not enter.
elementwise(
    "power(x, y)",
    "zmul(y, x ** (y - 1))",
    "out * log(where(x == 0, 1.0, x))",
    numpy=np.power,
    also=(math.pow, operator.pow),
    guarded=True,
    operator="**",
    cost=Cost.DEAR,
    fails=True,
)
elementwise(
    "float_power(x, y)",
    "zmul(y, float_power(x, y - 1))",
    "out * log(where(x == 0, 1.0, x))",
    numpy=np.float_power,
    guarded=True,
)
elementwise("sqrt(x)", "0.5 / out", numpy=np.sqrt, also=(math.sqrt,), cost=Cost.SLOW, finite=True)
elementwise("cbrt(x)", "1 / (3 * out * out)", numpy=np.cbrt, also=(math.cbrt,), total=True, finite=True)
# The origin is the corner of a cone; 0 is the subgradient that abs'(0) = 0 asks for.
elementwise(
    "hypot(x, y)",
    "where(out == 0, 0.0, x / out)",
    "where(out == 0, 0.0, y / out)",
    numpy=np.hypot,
    total=True,
    finite=True,
)

# Signs and magnitudes -----------------------------------------------------------------------------------------------

elementwise("absolute(x)", "sign(x)", numpy=np.absolute, total=True, cost=Cost.CHEAP, kink=True)
elementwise("fabs(x)", "sign(x)", numpy=np.fabs, also=(math.fabs,), math="fabs", cost=Cost.CHEAP, kink=True)
elementwise("sign(x)", "0", numpy=np.sign, cost=Cost.CHEAP, kink=True)
elementwise(
    "copysign(x, y)",
    "sign(x) * copysign(1.0, y)",
    "0",
    numpy=np.copysign,
    also=(math.copysign,),
    math="copysign",
    cost=Cost.CHEAP,
)
elementwise("nextafter(x, y)", "1", "0", numpy=np.nextafter, also=(math.nextafter,), total=True)
elementwise("spacing(x)", "0", numpy=np.spacing)
elementwise("heaviside(x, h)", "0", "where(x == 0, 1.0, 0.0)", numpy=np.heaviside, cost=Cost.CHEAP)

# Rounding -----------------------------------------------------------------------------------------------------------

elementwise("floor(x)", "0", numpy=np.floor, cost=Cost.CHEAP)
elementwise("ceil(x)", "0", numpy=np.ceil, cost=Cost.CHEAP)
elementwise("trunc(x)", "0", numpy=np.trunc, also=(np.fix,), cost=Cost.CHEAP)
elementwise("rint(x)", "0", numpy=np.rint, cost=Cost.CHEAP)

# Choosing -----------------------------------------------------------------------------------------------------------

# A tie gives half to each side. Comparisons with NaN are false, so a NaN operand draws no derivative to either side;
# fmax and fmin ignore a NaN, so there the other side has it all.
elementwise(
    "maximum(x, y)",
    "where(x > y, 1.0, where(x == y, 0.5, 0.0))",
    "where(y > x, 1.0, where(x == y, 0.5, 0.0))",
    numpy=np.maximum,
    cost=Cost.CHEAP,
    exact=True,
    name="",
    kink=True,
)
elementwise(
    "minimum(x, y)",
    "where(x < y, 1.0, where(x == y, 0.5, 0.0))",
    "where(y < x, 1.0, where(x == y, 0.5, 0.0))",
    numpy=np.minimum,
    cost=Cost.CHEAP,
    exact=True,
    name="",
    kink=True,
)
elementwise(
    "fmax(x, y)",
    "where(logical_or(x > y, isnan(y)), 1.0, where(x == y, 0.5, 0.0))",
    "where(logical_or(y > x, isnan(x)), 1.0, where(x == y, 0.5, 0.0))",
    numpy=np.fmax,
    cost=Cost.CHEAP,
    kink=True,
)
elementwise(
    "fmin(x, y)",
    "where(logical_or(x < y, isnan(y)), 1.0, where(x == y, 0.5, 0.0))",
    "where(logical_or(y < x, isnan(x)), 1.0, where(x == y, 0.5, 0.0))",
    numpy=np.fmin,
    cost=Cost.CHEAP,
    kink=True,
)
elementwise(
    "where(c, x, y)",
    "0",
    "where(c, 1.0, 0.0)",
    "where(c, 0.0, 1.0)",
    numpy=np.where,
    cost=Cost.CHEAP,
    exact=True,
    name="",
    size=10,
)
elementwise(
    "select(c, x, y)",
    "0",
    "where(c, 1.0, 0.0)",
    "where(c, 0.0, 1.0)",
    cost=Cost.CHEAP,
    name="",
    size=10,
    raises=Raises.NEVER,
    joins=True,
)

# Made by the frontend and the transforms ----------------------------------------------------------------------------

elementwise("cast(x)", "1", cost=Cost.CHEAP, fails=True, name="")
# 0 where g is 0, else g * p. Its derivative is zmul(g_dot, p) + zmul(g, p_dot): g guards in both terms, so the engine
# builds the second term itself (as it would for p, the row alone would guard by p_dot).


def zmul(g: Any, p: Any) -> Any:
    """0 where g is 0, whatever p is, else g * p; for rules."""
    return np.where(g == 0, 0, g * p)


def zdiv(g: Any, y: Any) -> Any:
    """0 where g is 0, whatever y is, else g / y; for rules."""
    return np.where(g == 0, 0, g / y)


elementwise("zmul(g, p)", "p", "g", also=(zmul,), cost=Cost.CHEAP, finite=True, name="")
elementwise("zdiv(g, y)", "1 / y", "-out / y", guarded=True, also=(zdiv,), cost=Cost.SLOW, name="")

# Integers -----------------------------------------------------------------------------------------------------------

elementwise("gcd(x, y)", numpy=np.gcd, math="gcd")
elementwise("lcm(x, y)", numpy=np.lcm, math="lcm")

# Numbers that are sets of inputs (`transforms.modes.sets`); `pool` is the address of what they consist of.
elementwise("unite(pool, x, y)", about="the union of two sets, as numbers", raises=Raises.NEVER, name="inputs_of_{}")


# What NumPy's error states are about

POLES = {"log": 0.0, "log2": 0.0, "log10": 0.0, "reciprocal": 0.0, "log1p": -1.0}  # where an infinite result is exact
UNDERFLOWING = frozenset({"multiply", "divide", "power", "square", "exp", "exp2"})  # 0 only of what is too small
SAID = frozenset({"add", "subtract", "multiply", "divide", "log", "exp", "sqrt"})  # in these very words by NumPy
QUIET = frozenset({
    "minimum", "maximum", "fmin", "fmax", "absolute", "fabs", "negative", "positive", "sign", "floor", "ceil", "trunc",
    "rint", "copysign", "heaviside",
})  # fmt: skip
