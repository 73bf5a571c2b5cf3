"""Functions of `math`, and builtins of numbers, that are not one elementwise kind."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import builtins
import cmath
import math
import operator

import numpy as np

from diffjit.primitives.arithmetic import exact_quotient
from diffjit.primitives.registry import implements


@implements(builtins.divmod)
def divmod_(x, y, /):
    """Quotient rounded down, and remainder."""
    return x // y, x % y


@implements(builtins.pow)
def pow_(base, exp, mod=None):
    """A power, and its remainder."""
    if mod is None:
        return base**exp
    if exp < 0:
        raise ValueError("pow() to a negative power of a remainder is not supported")
    result, base = 1 % mod, base % mod
    while exp > 0:
        if exp % 2:
            result = result * base % mod
        base, exp = base * base % mod, exp // 2
    return result


@implements(math.floor)
def floor(x, /):
    """Largest integer below."""
    return int(np.floor(x))


@implements(math.ceil)
def ceil(x, /):
    """Smallest integer above."""
    return int(np.ceil(x))


@implements(math.trunc)
def trunc(x, /):
    """The integer towards 0."""
    return int(x)


@implements(math.ulp)
def ulp(x, /):
    """The value of the last bit."""
    return np.spacing(np.abs(x))


@implements(math.remainder)
def remainder(x, y, /):
    """IEEE 754: x minus the multiple of y that is nearest, exactly (the algorithm of CPython's mathmodule.c)."""
    if np.isnan(x) or np.isnan(y) or np.isinf(x) or y == 0:
        return math.fmod(x, y)
    if np.isinf(y):
        return x
    size_x, size_y = np.fabs(x), np.fabs(y)
    rest = np.fmod(size_x, size_y)
    gap = size_y - rest
    if rest < gap:
        result = rest
    elif rest > gap:
        result = -gap
    else:
        result = rest - 2.0 * np.fmod(0.5 * (size_x - rest), size_y)
    return -result if np.signbit(x) else result


@implements(math.hypot)
def hypot(*coordinates):
    """Length of a vector, without overflow."""
    if len(coordinates) == 0:
        return 0.0
    length = np.fabs(coordinates[0])
    for x in coordinates[1:]:
        length = np.hypot(length, x)
    return length


@implements(math.dist)
def dist(p, q, /):
    """Distance of two points, without overflow."""
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    length = 0.0
    for a, b in zip(p, q, strict=True):
        length = np.hypot(length, a - b)
    return length


@implements(math.prod)
def prod(iterable, /, *, start=1):
    """Product of a sequence."""
    result = start
    for x in iterable:
        result = result * x
    return result


_sumprod = getattr(math, "sumprod", None)
if _sumprod is not None:  # Python 3.12

    @implements(_sumprod)
    def sumprod(p, q, /):
        """Sum of products."""
        p, q = (v if hasattr(v, "__len__") else list(v) for v in (p, q))
        if len(p) != len(q):
            raise ValueError("Inputs are not the same length")
        return math.fsum([x * y for x, y in zip(p, q, strict=True)])


def rounding_of_product(x, y):
    """What the rounded product lacks of x * y: halves of both have so few digits that products of these are exact."""
    x, x_exponent = math.frexp(x)
    y, y_exponent = math.frexp(y)
    x_far, y_far = 134217729.0 * x, 134217729.0 * y  # 2**27 + 1 cuts 53 digits in the middle
    x_high, y_high = x_far - (x_far - x), y_far - (y_far - y)
    x_low, y_low = x - x_high, y - y_high
    rest = ((x_high * y_high - x * y) + x_high * y_low + x_low * y_high) + x_low * y_low
    return math.ldexp(rest, x_exponent + y_exponent)


_fma = getattr(math, "fma", None)
if _fma is not None:  # Python 3.13

    @implements(_fma)
    def fma(x, y, z, /):
        """A product and a sum with one rounding."""
        product = 1.0 * x * y
        if not np.isfinite(product):
            return product + z
        return math.fsum([product, rounding_of_product(1.0 * x, 1.0 * y), z])


@implements(math.fsum)
def fsum(seq, /):
    """Sum of a sequence with Neumaier's correction: the rounding errors are summed apart."""
    total = 0.0
    correction = 0.0
    for x in seq:
        new = total + x
        if abs(total) >= abs(x):
            correction += (total - new) + x
        else:
            correction += (x - new) + total
        total = new
    return total + correction


@implements(math.isclose, cmath.isclose)
def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    """Whether equal within a tolerance."""
    if a == b:
        return True
    if np.isinf(a) or np.isinf(b):
        return False
    return bool(abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol))


@implements(math.gcd)
def gcd(*integers):
    """Greatest common divisor."""
    result = 0
    for x in integers:
        result = int(np.gcd(result, x))
    return result


@implements(math.lcm)
def lcm(*integers):
    """Least common multiple."""
    result = 1
    for x in integers:
        divisor = int(np.gcd(result, x))
        result = abs(result // divisor * int(x)) if divisor != 0 else 0  # np.lcm would wrap
    return result


@implements(math.factorial)
def factorial(x, /):
    """Product of the integers up to x."""
    if x < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for k in range(2, x + 1):
        result *= k
    return result


@implements(math.perm)
def perm(n, k=None, /):
    """Ordered choices of k out of n."""
    last = n if k is None else k
    if n < 0 or last < 0:
        raise ValueError("n and k must be non-negative integers")
    result = 1
    for j in range(last):
        result *= n - j
    return result


@implements(math.comb)
def comb(n, k, /):
    """Choices of k out of n."""
    if n < 0 or k < 0:
        raise ValueError("n and k must be non-negative integers")
    if k > n:
        return 0
    result = 1
    for j in range(min(k, n - k)):
        result = exact_quotient(result * (n - j), j + 1)  # a product of j + 1 consecutive integers
    return result


@implements(int.bit_length)
def bit_length(n, /):
    """How many binary digits an integer has."""
    rest, digits = n, 0
    while rest != 0:  # towards 0: the least int has no absolute value in 64 bits
        rest = rest // 2 if rest > 0 else (rest + 1) // 2
        digits += 1
    return digits


@implements(math.isqrt)
def isqrt(n, /):
    """Integer square root: the float one, corrected."""
    n = operator.index(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(np.sqrt(float(n)))
    while root * root > n:
        root -= 1
    while n - root * root > 2 * root:
        root += 1
    return root
