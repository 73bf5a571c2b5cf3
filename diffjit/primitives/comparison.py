"""Elementwise rows whose values are discrete: comparisons, logic, bits and classification. None has a derivative."""

# The stubs of `operator` are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import cmath
import math
import operator

import numpy as np

from diffjit.primitives.registry import elementwise

elementwise("equal(x, y)", numpy=np.equal, also=(operator.eq,))
elementwise("not_equal(x, y)", numpy=np.not_equal, also=(operator.ne,))
elementwise("less(x, y)", numpy=np.less, also=(operator.lt,))
elementwise("less_equal(x, y)", numpy=np.less_equal, also=(operator.le,))
elementwise("greater(x, y)", numpy=np.greater, also=(operator.gt,))
elementwise("greater_equal(x, y)", numpy=np.greater_equal, also=(operator.ge,))

elementwise("logical_and(x, y)", numpy=np.logical_and)
elementwise("logical_or(x, y)", numpy=np.logical_or)
elementwise("logical_xor(x, y)", numpy=np.logical_xor)
elementwise("logical_not(x)", numpy=np.logical_not)

elementwise("bitwise_and(x, y)", numpy=np.bitwise_and, also=(operator.and_,))
elementwise("bitwise_or(x, y)", numpy=np.bitwise_or, also=(operator.or_,))
elementwise("bitwise_xor(x, y)", numpy=np.bitwise_xor, also=(operator.xor,))
elementwise("invert(x)", numpy=np.invert, also=(operator.invert,))
elementwise("left_shift(x, y)", numpy=np.left_shift, also=(operator.lshift,))
elementwise("right_shift(x, y)", numpy=np.right_shift, also=(operator.rshift,))
elementwise("bitwise_count(x)", numpy=np.bitwise_count)

elementwise("isnan(x)", numpy=np.isnan, also=(math.isnan, cmath.isnan))
elementwise("isinf(x)", numpy=np.isinf, also=(math.isinf, cmath.isinf))
elementwise("isfinite(x)", numpy=np.isfinite, also=(math.isfinite, cmath.isfinite))
elementwise("signbit(x)", numpy=np.signbit)
