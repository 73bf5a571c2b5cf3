"""Elementwise rows: which primitives are differentiable by complex numbers, and how.

A function of complex numbers is one of the plane here: its tangent is p * x_dot + q * conj(x_dot), where p and q are
the derivatives by x and by its conjugate (W. Wirtinger, Math. Ann. 97, 1927). Holomorphic functions have q = 0, and p
is the partial derivative of the real function; a real result takes the real part. A kind that is not named here is
refused for complex numbers: its row may hold for real ones alone (`sinc`, `erf`, ...).
"""

from __future__ import annotations

from diffjit.primitives.registry import holomorphic, planar

holomorphic("add", "subtract", "multiply", "divide", "negative", "positive", "reciprocal", "square", "one_minus_square")
holomorphic("power", "float_power", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p")
holomorphic("sin", "cos", "tan", "arctan")
holomorphic("sinh", "cosh", "tanh", "arcsinh", "arctanh")

# Choices, copies and what is constant almost everywhere.
holomorphic("where", "select", "cast", "zmul", "zdiv", "rint")
holomorphic("maximum", "minimum", "fmax", "fmin")  # by real parts, then by imaginary parts

# On their cuts, which run along the real axis, the sign of a zero imaginary part says which side a number is on: 1 - x
# and x + 1 would lose it, as 0 - 0 is 0 whatever the second zero's sign.
planar("arcsin", ("1 / (sqrt(negative(x - 1)) * sqrt(negative(negative(x) - 1)))", "0"))
planar("arccos", ("-1 / (sqrt(negative(x - 1)) * sqrt(negative(negative(x) - 1)))", "0"))
planar("arccosh", ("1 / sqrt(x - 1) * (1 / sqrt(negative(negative(x) - 1)))", "0"))

# |z| is a cone; 0 is its subgradient at the corner, as for real numbers.
planar("absolute", ("where(out == 0, 0.0, conjugate(x / out))", "0"))
planar("real", ("1", "0"))
planar("imag", ("-1j", "0"))
planar("conjugate", ("0", "1"))

# z / |z|, which turns with z: its derivative is that of a unit vector, 1 / (2 |z|) and -(z / |z|)**2 / (2 |z|).
planar("sign", ("where(x == 0, 0.0, 0.5 / absolute(x))", "where(x == 0, 0.0, -0.5 * out * out / absolute(x))"))
