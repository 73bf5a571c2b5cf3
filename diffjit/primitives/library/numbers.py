"""Elementwise functions written with elementwise kinds: clipping, rounding, parts of numbers, closeness."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import builtins
import math
import numbers
import operator

import numpy as np

from diffjit.errors import words
from diffjit.primitives.registry import implements

BY_ZERO = words(operator.truediv, 1.0, 0.0)


@implements(np.clip)
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):  # noqa: A002 - NumPy's names
    """Limit to an interval; at a bound half the derivative passes."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is not None:
        a = np.maximum(a, within_reach(low, a, lowest=True))
    if high is not None:
        a = np.minimum(a, within_reach(high, a, lowest=False))
    return a if low is not None or high is not None else np.positive(a)


def within_reach(bound, a, *, lowest):
    """A bound, or that of the integers of an array where Python's int lies beyond it and limits nothing."""
    if not isinstance(bound, int) or isinstance(bound, bool) or not hasattr(a, "dtype") or a.dtype.kind not in "iu":
        return bound
    limits = np.iinfo(a.dtype)
    return builtins.max(bound, limits.min) if lowest else builtins.min(bound, limits.max)


@implements(np.ndarray.clip)
def clip_method(a, min=None, max=None, out=None):  # noqa: A002 - NumPy's names
    """Limit to an interval; at a bound half the derivative passes."""
    return np.clip(a, min, max)


@implements(np.round, np.around, np.ndarray.round)
def round_(a, decimals=0, out=None):
    """Round to a decimal place; the derivative is 0."""
    a, decimals = np.asarray(a), operator.index(decimals)
    if a.dtype.kind in "iu":
        whole = a.copy() if a.ndim > 0 else a[()]
        return whole if decimals >= 0 else (np.rint(a / 10.0**-decimals) * 10.0**-decimals).astype(a.dtype)
    if decimals == 0:
        return np.rint(a)
    if decimals > 0:
        return np.rint(a * 10.0**decimals) / 10.0**decimals
    return np.rint(a / 10.0**-decimals) * 10.0**-decimals


@implements(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x.copy()
    top = float(np.finfo(x.dtype).max) if posinf is None else posinf
    bottom = float(np.finfo(x.dtype).min) if neginf is None else neginf
    result = np.where(np.isnan(x), nan, np.where(x == np.inf, top, np.where(x == -np.inf, bottom, x)))
    if copy:
        return result
    x[...] = result
    return x


@implements(np.modf)
def modf(x, /):
    """Fractional and whole part; the whole part has no derivative."""
    x = np.multiply(x, 1.0)
    whole = np.trunc(x)
    return np.where(np.isinf(x), 0.0, x - whole), whole


@implements(math.modf)
def math_modf(x, /):
    """Fractional and whole part of one number."""
    x = float(x)
    whole = np.trunc(x)
    return (0.0 if np.isinf(x) else x - whole), whole


@implements(np.frexp)
def frexp(x, /):
    """Mantissa and binary exponent; the exponent has no derivative."""
    x = np.asarray(x)
    ordinary = np.logical_and(np.isfinite(x), np.not_equal(x, 0))
    size = np.abs(np.where(ordinary, x, 1.0))
    guess = np.floor(np.log2(size)) + 1  # rounding can make it one too large or too small
    scaled = np.ldexp(size, -guess.astype(np.int32))
    guess = np.where(scaled >= 1.0, guess + 1, np.where(scaled < 0.5, guess - 1, guess))
    exponent = np.where(ordinary, guess, 0.0).astype(np.int32)
    return np.ldexp(x, -exponent), exponent


@implements(math.frexp)
def math_frexp(x, /):
    """Mantissa and binary exponent of one number; the exponent has no derivative."""
    if x == 0 or np.isnan(x) or np.isinf(x):
        return x, 0
    exponent = int(np.floor(np.log2(abs(x)))) + 1
    size = np.ldexp(abs(x), -exponent)
    if size >= 1.0:
        exponent += 1
    elif size < 0.5:
        exponent -= 1
    return np.ldexp(x, -exponent), exponent


@implements(np.divmod)
def divmod_(x1, x2, /):
    """Quotient rounded down, and remainder."""
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


@implements(np.angle)
def angle(z, deg=False):
    """Argument of complex numbers."""
    radians = np.arctan2(np.imag(z), np.real(z)) if np.iscomplexobj(z) else np.arctan2(0, z)
    return np.rad2deg(radians) if deg else radians


@implements(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=6.283185307179586):
    """Jumps by more than half a period removed; the derivative is that of the identity."""
    p = np.asarray(p)
    moved = np.moveaxis(p, axis, -1)
    limit = period / 2 if discont is None else np.maximum(discont, period / 2)
    steps = moved[..., 1:] - moved[..., :-1]
    wrapped = (steps + period / 2) % period - period / 2
    wrapped = np.where(np.logical_and(wrapped == -period / 2, steps > 0), period / 2, wrapped)
    correction = np.where(np.abs(steps) < limit, 0.0, wrapped - steps)
    result = moved * 1.0
    result[..., 1:] += np.cumsum(correction, axis=-1)
    return np.moveaxis(result, -1, axis)


@implements(np.isposinf)
def isposinf(x, out=None):
    """Whether +inf."""
    return np.equal(x, np.inf)


@implements(np.isneginf)
def isneginf(x, out=None):
    """Whether -inf."""
    return np.equal(x, -np.inf)


@implements(np.isreal)
def isreal(x):
    """Whether the imaginary part is 0."""
    return np.equal(np.imag(x), 0) if np.iscomplexobj(x) else everywhere(x, True)


@implements(np.iscomplex)
def iscomplex(x):
    """Whether the imaginary part is not 0."""
    return np.not_equal(np.imag(x), 0) if np.iscomplexobj(x) else everywhere(x, False)


def everywhere(x, known):
    """What is known of all numbers, before the program runs."""
    return np.full(np.shape(x), known) if np.ndim(x) else np.bool_(known)


@implements(np.real_if_close)
def real_if_close(a, tol=100):
    """Numbers without imaginary parts where all of these are close to zero; complex ones stay of a complex type."""
    a = np.asarray(a)
    if a.dtype.kind != "c":
        return a
    limit = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return a if np.any(np.absolute(np.imag(a)) >= limit) else np.real(a).astype(a.dtype)


@implements(np.iscomplexobj)
def iscomplexobj(x):
    """Whether of a complex type."""
    return np.asarray(x).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x):
    """Whether not of a complex type."""
    return np.asarray(x).dtype.kind != "c"


@implements(np.isscalar)
def isscalar(element):
    """Whether a number or a text, not an array."""
    return isinstance(element, (numbers.Number, str, bytes, np.generic))


@implements(np.isclose)
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether equal within a tolerance."""
    near = np.abs(np.subtract(a, b)) <= atol + rtol * np.abs(b)
    result = np.logical_or(np.logical_and(near, np.isfinite(b)), np.equal(a, b))
    if equal_nan:
        return np.logical_or(result, np.logical_and(np.isnan(a), np.isnan(b)))
    return result


@implements(np.allclose)
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all are equal within a tolerance."""
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    """Whether shapes and elements are equal."""
    a1, a2 = np.asarray(a1), np.asarray(a2)
    if a1.shape != a2.shape:
        return False
    same = np.equal(a1, a2)
    if equal_nan:
        same = np.logical_or(same, np.logical_and(np.isnan(a1), np.isnan(a2)))
    return bool(np.all(same))


@implements(np.array_equiv)
def array_equiv(a1, a2):
    """Whether elements are equal, where one shape broadcasts to the other."""
    a1, a2 = np.asarray(a1), np.asarray(a2)
    for n, m in zip(a1.shape[::-1], a2.shape[::-1], strict=False):
        if n not in (m, 1) and m != 1:
            return False
    return bool(np.all(np.equal(a1, a2)))


@implements(np.iterable)
def iterable(y):
    """Whether a loop can go through something."""
    return np.ndim(y) > 0 if isinstance(y, (np.ndarray, np.generic)) else hasattr(y, "__iter__")


@implements(np.isfortran)
def isfortran(a):
    """Whether columns of an array stand one after another, and rows do not."""
    return a.flags.fnc


@implements(np.shares_memory)
def shares_memory(a, b, /, max_work=None):
    """Refused: which arrays are copies of others is not known as NumPy has it."""
    return not_asked("np.shares_memory", a, b, max_work)


@implements(np.may_share_memory)
def may_share_memory(a, b, /, max_work=None):
    """Refused, as `np.shares_memory`."""
    return not_asked("np.may_share_memory", a, b, max_work)


def not_asked(name, *given):
    """Refuse a question."""
    raise NotImplementedError(f"{name}: leave the question out of the program")


@implements(np.packbits)
def packbits(a, /, axis=None, bitorder="big"):
    """Truth values, eight to a byte, the last ones filled up with zeros."""
    a = np.asarray(a)
    bits = np.ravel(a) != 0 if axis is None else np.moveaxis(a, axis, -1) != 0
    n = bits.shape[-1]
    filled = np.zeros((*bits.shape[:-1], -(-n // 8) * 8), np.uint8)
    filled[..., :n] = bits
    weights = 1 << (np.arange(7, -1, -1) if bitorder == "big" else np.arange(8))
    packed = np.sum(np.reshape(filled, (*bits.shape[:-1], -1, 8)) * weights, axis=-1).astype(np.uint8)
    return packed if axis is None else np.moveaxis(packed, -1, axis)


@implements(np.unpackbits)
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    """The bits of bytes, one by one."""
    a = np.asarray(a)
    held = np.ravel(a) if axis is None else np.moveaxis(a, axis, -1)
    places = np.arange(7, -1, -1) if bitorder == "big" else np.arange(8)
    bits = ((held[..., None] >> places) & 1).astype(np.uint8)
    bits = np.reshape(bits, (*held.shape[:-1], -1))
    if count is not None:
        n = bits.shape[-1]
        if count > n:
            more = np.zeros((*held.shape[:-1], count - n), np.uint8)
            bits = np.concatenate((bits, more), axis=-1)
        bits = bits[..., :count]
    return bits if axis is None else np.moveaxis(bits, -1, axis)


def round_decimal(x, digits):
    """Python's round(x, digits) of a float: the decimal nearest to the exact binary value.

    Only a product that rounds to a half needs care: the sign of its rounding error, by Dekker's exact product (1971),
    says on which side of the half the exact one lies.
    """
    digits = operator.index(digits)
    if digits < 0:
        return np.rint(x / 10.0 ** (-digits)) * 10.0 ** (-digits)
    scale = 10.0**digits
    y = x * scale
    if not abs(y) < 9007199254740992.0:  # 2**53: floats stand no closer here than the decimals, or it is not finite
        return x
    low = np.floor(y)
    rest = y - low
    a = 134217729.0 * x
    a = a - (a - x)
    b = 134217729.0 * scale
    b = b - (b - scale)
    error = ((a * b - y) + a * (scale - b) + (x - a) * b) + (x - a) * (scale - b)
    up = rest > 0.5 or (rest == 0.5 and (error > 0.0 or (error == 0.0 and low % 2.0 == 1.0)))
    return np.copysign((low + 1.0 if up else low) / scale, x)


# Functions of `numpy.lib.scimath`, which leave the real numbers where an argument is outside their domain: what they
# return is real or complex by what the numbers are, and the two are told apart at run time.


def as_complex(x):
    """The same numbers as complex ones, of the same precision."""
    return x.astype(np.complex64 if x.dtype == np.float32 else np.complex128)


def numpys_number(x):
    """Numbers as NumPy's."""
    x = np.asarray(x)
    return x[()] if x.ndim == 0 else x


def widened(function, x, is_outside):
    """A function of real numbers where all are in its domain, of complex ones otherwise."""
    numbers = np.asarray(x)
    if numbers.dtype.kind == "c":
        return numpys_number(function(numbers))
    outside = is_outside(x) if np.ndim(x) == 0 else np.any(is_outside(numbers))  # a length never is
    return numpys_number(function(as_complex(numbers)) if outside else function(numbers))


def is_negative(x):
    """Whether a number has no real root or logarithm."""
    return x < 0


def is_beyond_one(x):
    """Whether a number is no real sine, cosine or hyperbolic tangent."""
    return np.absolute(x) > 1


@implements(np.lib.scimath.sqrt)
def wide_sqrt(x):
    """Square root, imaginary where a number is negative."""
    return widened(np.sqrt, x, is_negative)


@implements(np.lib.scimath.log)
def wide_log(x):
    """Natural logarithm, complex where a number is negative."""
    return widened(np.log, x, is_negative)


@implements(np.lib.scimath.log10)
def wide_log10(x):
    """Logarithm to base 10, complex where a number is negative."""
    return widened(np.log10, x, is_negative)


@implements(np.lib.scimath.log2)
def wide_log2(x):
    """Logarithm to base 2, complex where a number is negative."""
    return widened(np.log2, x, is_negative)


@implements(np.lib.scimath.arcsin)
def wide_arcsin(x):
    """Angle of a sine, complex where that is larger than 1."""
    return widened(np.arcsin, x, is_beyond_one)


@implements(np.lib.scimath.arccos)
def wide_arccos(x):
    """Angle of a cosine, complex where that is larger than 1."""
    return widened(np.arccos, x, is_beyond_one)


@implements(np.lib.scimath.arctanh)
def wide_arctanh(x):
    """Inverse hyperbolic tangent, complex where a number is larger than 1."""
    return widened(np.arctanh, x, is_beyond_one)
