"""Elementwise functions of NumPy on arrays and scalars, as functions and operators, with broadcasting."""

from types import FunctionType

import numpy as np

from .registry import PROGRAMS, program


def in_jax(name):
    """Return the twin of a program without in-place writes: its own code, with `jax.numpy` under the name `np`."""

    def twin(*args):
        import jax.numpy as jnp

        function = PROGRAMS[name].function
        space = {}
        for key, value in function.__globals__.items():
            helper = isinstance(value, FunctionType)
            space[key] = FunctionType(value.__code__, space, key, value.__defaults__) if helper else value
        space["np"] = jnp
        return space[name](*args)

    return twin


def _xy():
    return np.array([0.3, 0.6, -0.8]), np.array([[1.4], [2.3]])


@program(args=_xy, wrt=("x", "y"), tags=("types", "primitives"), jax=in_jax("trigonometric_functions"))
def trigonometric_functions(x, y):
    """Trigonometric and hyperbolic functions and their inverses."""
    t = np.sin(x) * np.cos(y) + np.tan(x) * np.arcsin(x) + np.arccos(x) * np.arctan(y) + np.arctan2(x, y)
    t += np.sinh(x) * np.cosh(y) + np.tanh(x * y) + np.arcsinh(y) * np.arccosh(y) + np.arctanh(x)
    return np.sum(t + np.hypot(x, y) * np.deg2rad(y) + np.rad2deg(x) * np.radians(x) + np.degrees(y) + np.sinc(x * y))


@program(args=_xy, wrt=("x", "y"), tags=("types", "primitives"), jax=in_jax("exponential_functions"))
def exponential_functions(x, y):
    """Exponentials, logarithms, roots and powers."""
    t = np.exp(x) * np.log(y) + np.exp2(x) * np.log2(y) + np.expm1(x) * np.log10(y) + np.log1p(x) * np.sqrt(y)
    t += np.cbrt(x) * np.square(y) + np.reciprocal(y) * np.power(y, x) + np.float_power(y, 3) + np.logaddexp(x, y)
    return np.sum(t * np.logaddexp2(x, y)) + np.sum(y**x + 2.0**x + y**-2)


@program(args=_xy, wrt=("x", "y"), tags=("types", "primitives"), jax=in_jax("arithmetic_functions"))
def arithmetic_functions(x, y):
    """`add`, `subtract`, ... as functions, `divmod`, `floor_divide`, `mod`, `fmod`, `remainder`, `modf`, reflected operators."""
    t = (
        np.add(x, y) * np.subtract(x, y)
        - np.multiply(x, y) / np.divide(y, 2.0)
        + np.true_divide(1.0, y)
        + np.negative(x)
    )
    t += np.floor_divide(y, 0.9) * x + np.mod(x, 0.7) * y + np.fmod(x, 0.7) + np.remainder(y, -0.9) + np.positive(x)
    q, r = np.divmod(y, x)
    fraction, whole = np.modf(y * x)
    t += q * x + r * 0.1 + fraction * whole + (1.0 - x) + 2.0 / y + y % 1.1 + y // 0.3 * x + 3.0 % y + -x + +y
    return np.sum(t)


@program(args=_xy, wrt=("x", "y"), tags=("types", "primitives"), jax=in_jax("choosing_functions"))
def choosing_functions(x, y):
    """`where`, `clip`, `maximum`, `minimum`, `fmax`, `fmin`, with and without a bound, scalar and array bounds."""
    t = np.where(x > 0.0, x * y, y) + np.clip(x, -0.5, 0.5) * y + np.clip(y, x, x + 1.5) + np.clip(x, None, 0.4)
    t += np.maximum(x, 0.0) * y + np.minimum(x * y, 1.0) + np.fmax(x, 0.5 * y) * np.fmin(y, 2.0)
    t += np.where(y > 2.0, 1.0, x) * np.where(x[0] < y[0, 0], x, 5.0) + np.maximum(y[0, 0], x[1]) + x.clip(max=0.5)
    return np.sum(t * t) + np.where(x[0] > 1.0, x[0], y[1, 0]) + y.clip(1.5)[0, 0]


@program(args=_xy, wrt=("x", "y"), tags=("types", "primitives"))
def rounding_and_signs(x, y):
    """Piecewise constant functions as factors; `abs`, `fabs`, `sign`, `copysign`, `heaviside`, `ldexp`, `frexp`."""
    t = np.floor(x * y) * x + np.ceil(y) * x + np.trunc(y * 2.0) + np.rint(y) * x + np.fix(y) * x + np.round(y, 1) * x
    t += np.abs(x) * np.sign(x) * y + np.fabs(x) * y + np.copysign(y, x) + np.heaviside(x, 0.5) * y + np.absolute(-y)
    mantissa, exponent = np.frexp(y)
    t += np.ldexp(x, 3) + mantissa * exponent + np.around(x) * y + np.signbit(x) * x + np.positive(x) ** 2
    return np.sum(t) + np.sum(y.round() * y)


@program(args=_xy, wrt=("x", "y"), tags=("types", "primitives"), jax=in_jax("comparisons_and_logic"))
def comparisons_and_logic(x, y):
    """Comparisons and logical functions, as operators and functions, in counts, masks and weights."""
    t = (
        np.greater(x, 0.0) * x
        + np.less_equal(y, 2.0) * y
        + np.not_equal(np.ceil(x), 0.0) * y
        + np.equal(np.sign(x), 1.0) * x
        + (x < y) * x
    )
    t += np.logical_or(x > 0.0, y > 2.0) * x * y + np.logical_xor(x > 0.0, y > 2.0) * y + (x >= 0.5) * y
    inside = np.logical_and(x > -1.0, np.less(x, 0.5)) & np.greater_equal(y, 1.0)
    if np.isclose(x[0], 0.3, atol=0.1) and np.allclose(y, y + 1e-12) and not np.array_equal(x, x * 2.0):
        t = t * 2.0
    t = t + ~np.isnan(x) * y - np.isinf(y) + np.isfinite(x) * x
    return np.sum(t[inside]) * np.count_nonzero(inside) + np.sum(t)


@program(args=lambda: (0.7, 1.6), wrt=("a", "b"), tags=("types", "primitives"))
def elementwise_functions_on_scalars(a, b):
    """NumPy's functions on Python floats give NumPy scalars; `a ** b`, comparisons and `where` on them."""
    s = np.sin(a) * np.exp(b) + np.maximum(a, b) * np.power(a, b) + np.sqrt(b) / np.hypot(a, b)
    s = s + np.where(a > b, a, b * b) + np.clip(b, 0.0, 1.2) * a + np.abs(-s) * np.sign(a)
    if np.greater(s, a):
        s += np.square(s) * a**b
    return np.log1p(s) + np.float64(a) ** 2 + np.logaddexp(a, b).item()


@program(args=lambda: (np.array([0.8, -0.6, 1.4, -0.2]), 0.7, 1.3), wrt=("x", "a", "b"), tags=("types",))
def roots_of_what_is_not_taken(x, a, b):
    """`where` and NaN-functions leave out roots and powers of negative numbers, and what these are multiplied by."""
    with np.errstate(invalid="ignore"):
        growth = np.where(x > 0.0, b * np.sqrt(x), np.sqrt(-x) * a)
        power = np.where(x > 0.0, a * x**1.5, 0.1 * b)
        kept = np.nansum(np.sqrt(x) * a) + np.nanmax(b / np.sqrt(-x))
    return np.sum(growth * growth * growth) + np.sum(power) * a + kept
