"""Elementwise rows whose values are discrete: comparisons, logic, bits and classification. None has a derivative."""

# The stubs of `operator` are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import cmath
import math
import operator

import numpy as np

from diffjit.ir.ops import Cost
from diffjit.primitives.registry import elementwise

elementwise("equal(x, y)", numpy=np.equal, also=(operator.eq,), operator="==")
elementwise("not_equal(x, y)", numpy=np.not_equal, also=(operator.ne,), operator="!=")
elementwise("less(x, y)", numpy=np.less, also=(operator.lt,), operator="<")
elementwise("less_equal(x, y)", numpy=np.less_equal, also=(operator.le,), operator="<=")
elementwise("greater(x, y)", numpy=np.greater, also=(operator.gt,), operator=">")
elementwise("greater_equal(x, y)", numpy=np.greater_equal, also=(operator.ge,), operator=">=")

elementwise("logical_and(x, y)", numpy=np.logical_and, operator="and")
elementwise("logical_or(x, y)", numpy=np.logical_or, operator="or")
elementwise("logical_xor(x, y)", numpy=np.logical_xor, cost=Cost.CHEAP, boolean=True, name="test")
elementwise("logical_not(x)", numpy=np.logical_not, operator="not", name="not_{}", size=4)

elementwise("bitwise_and(x, y)", numpy=np.bitwise_and, also=(operator.and_,), operator="&", exact=True)
elementwise("bitwise_or(x, y)", numpy=np.bitwise_or, also=(operator.or_,), operator="|", exact=True)
elementwise("bitwise_xor(x, y)", numpy=np.bitwise_xor, also=(operator.xor,), operator="^", exact=True)
elementwise("invert(x)", numpy=np.invert, also=(operator.invert,), operator="~", exact=True)
elementwise("left_shift(x, y)", numpy=np.left_shift, also=(operator.lshift,), operator="<<", fails=True)
elementwise("right_shift(x, y)", numpy=np.right_shift, also=(operator.rshift,), operator=">>", fails=True)
elementwise("bitwise_count(x)", numpy=np.bitwise_count)

elementwise("isnan(x)", numpy=np.isnan, also=(math.isnan, cmath.isnan), math="isnan", cost=Cost.CHEAP, boolean=True)
elementwise("isinf(x)", numpy=np.isinf, also=(math.isinf, cmath.isinf), math="isinf", cost=Cost.CHEAP, boolean=True)
elementwise(
    "isfinite(x)",
    numpy=np.isfinite,
    also=(math.isfinite, cmath.isfinite),
    math="isfinite",
    cost=Cost.CHEAP,
    boolean=True,
)
elementwise("signbit(x)", numpy=np.signbit, cost=Cost.CHEAP, boolean=True)
