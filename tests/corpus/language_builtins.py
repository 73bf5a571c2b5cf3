"""Built-in functions, the math module, generator functions, globals, and small statements."""

import cmath
import itertools
import math
import operator
from functools import reduce
from math import exp, pi

import numpy as np
from numpy import linalg as la

from .registry import program

GRAVITY = 9.81
WEIGHTS = np.array([0.5, 1.5, -1.0])
CONSTANTS = {"offset": 0.25, "table": [1.0, 2.0, 4.0]}
SWITCH = True


@program(args=lambda: (np.array([0.4, -0.9, 1.3]),), wrt=("x",), tags=("language",))
def reads_globals(x):
    """Module globals: a number, an array, a dict with a list, a flag, imported names and an aliased module."""
    y = WEIGHTS * x + CONSTANTS["offset"]
    if SWITCH:
        y = y * GRAVITY
    for c in CONSTANTS["table"]:
        y[1] = y[1] + c * math.sin(y[0])
    return la.norm(y) * exp(-x[0]) + pi * x[2]


_calls = 0
_seen = np.zeros(3)


def _remember(v):
    global _calls
    _calls += 1
    return v * v


@program(args=lambda: (0.4,), wrt=("x",), tags=("language", "stretch"))
def counts_in_a_global(x):
    """A `global` counter that the program resets and a helper increments."""
    global _calls
    _calls = 0
    total = 0.0
    for k in range(3):
        total += _remember(x + k) * x
    return total * _calls


@program(args=lambda: (0.4,), wrt=("x",), tags=("language", "memory"))
def global_array_as_work_space(x):
    """A global array is overwritten, and read back through the global and by a helper."""

    def energy():
        return np.sum(_seen * _seen)

    _seen[:] = 1.0
    for k in range(3):
        _seen[k] += x * _seen[k - 1]
    return _seen[0] * _seen[2] + energy()


@program(args=lambda: (0.4, -1.7, 2.2), wrt=("a", "b", "c"), tags=("language",))
def builtins_on_numbers(a, b, c):
    """`abs min max sum pow divmod round int float bool len` on scalars."""
    q, r = divmod(c, 0.9)
    total = abs(b) * max(a, b, c) - min(a, c) * min([b, a])
    total += sum((a, b, c)) + sum([a * b, c], 1.5) + pow(c, a) + pow(abs(b), 3)
    total += q * r * a + round(c) * a + round(b, 1) * c + int(c) * b + float(int(b)) * a
    total += max(a, c, key=lambda t: -t * t) * bool(a) + float(a) * len((a, b))
    return total + max((a * c, 0.0)) ** 2


@program(args=lambda: (np.array([0.4, -0.9, 1.3, 0.7]),), wrt=("x",), tags=("language",))
def builtins_on_arrays(x):
    """The same on arrays and their elements, with `sorted`, `any`, `all`, `list` and `tuple`."""
    total = sum(x) * max(x) + min(x) * len(x)
    total += np.sum(abs(x) * x) + sorted(x)[1] ** 2
    a, b, c, d = list(x)
    if any(x < 0.0) and not all(x > 0.0):
        total += a * b
    t = tuple(x[1:3])
    total += t[0] * t[1] * c * d
    return total + sum(x[::2] * x[1::2]) + sum(abs(v) for v in x) * float(x[0])


@program(args=lambda: (0.4, 0.7, 1.6), wrt=("a", "b", "c"), tags=("language",))
def math_functions_elementary(a, b, c):
    """Powers, logarithms, trigonometric and hyperbolic functions of `math` on scalars."""
    t = math.sin(a) * math.cos(b) + math.tan(a) * math.asin(b) + math.acos(a) * math.atan(c) + math.atan2(b, c)
    t += math.sinh(a) * math.cosh(b) + math.tanh(c) + math.asinh(c) * math.acosh(c) + math.atanh(a)
    t += math.exp(a) * math.log(c) + math.log(b, 3.0) + math.log2(c) * math.log10(b) + math.log1p(a) * math.expm1(b)
    t += math.sqrt(c) * math.cbrt(b) + math.pow(c, b) + math.exp2(a) + math.hypot(a, b, c) + math.log(c, a + 2.0)
    return t + math.degrees(a) * math.radians(b)


@program(args=lambda: (0.4, 0.7, 2.6), wrt=("a", "b", "c"), tags=("language",))
def math_functions_special(a, b, c):
    """`erf gamma lgamma fsum prod dist copysign fmod floor` and their kind."""
    t = math.erf(a) * math.erfc(b) + math.gamma(c) * math.lgamma(c + a)
    t += math.fsum([a, b * c, c]) + math.prod((a, b, c)) + math.dist((a, b), (c, 1.0))
    t += math.copysign(a, -b) + math.fabs(-c) * b + math.fmod(c, b) + math.remainder(c, 0.9)
    t += math.floor(c) * a + math.ceil(b) * c + math.trunc(-c) * b + math.ldexp(a, 3)
    fraction, whole = math.modf(c)
    t += fraction * whole + math.comb(5, 2) * math.factorial(3) * a + math.gcd(12, 18) * b
    if math.isclose(a, b) or math.isnan(a) or math.isinf(b) or not math.isfinite(c):
        t *= 1000.0
    return t + math.e * math.tau * a


@program(args=lambda: (np.array([0.4, 0.9, 1.3]), 0.5), wrt=("x", "a"), tags=("language",))
def generator_functions(x, a):
    """Generators with state, with an early end, one that delegates, consumed by loops, `sum` and `list`."""

    def running(values, start):
        total = start
        for v in values:
            total = total * v + a
            yield total

    def until(limit):
        k, v = 0, a
        while True:
            if v > limit:
                return
            yield k, v
            v = v * (1.5 + x[0])
            k += 1

    def both():
        yield x[1] * x[2]
        yield from running(x[::-1], 0.0)

    result = 0.0
    for k, v in until(3.0):
        result = result + math.sin(v) * (k + 1)
    for t in running(x, a):
        result = result * 0.5 + t
        if t > 1.2:
            break
    return result + sum(both()) * list(running(x, 1.0))[1]


@program(args=lambda: (np.array([0.4, 0.9, 1.3]),), wrt=("x",), tags=("language",))
def generator_interleaves_with_its_consumer(x):
    """The generator reads memory that the loop which consumes it changes between two yields."""
    y = x.copy()

    def items():
        for i in range(y.size):
            yield y[i] * y[0]

    total = 0.0
    for v in items():
        total += v
        y *= 1.1
        y[0] += v
    return total * y[2]


@program(args=lambda: (0.4, 0.9), wrt=("a", "b"), tags=("language",))
def deleted_names(a, b):
    """`del` of a name, of a list item and of an attribute-like dict key; the name is bound again later."""
    c = a * b
    u = np.array([a, c])
    v = u
    del u, c
    v[0] += b
    d = {"p": a, "q": b}
    del d["p"]
    c = d["q"] * v[0]
    return c * v[1] + len(d)


@program(args=lambda: (np.array([0.4, 0.9, 1.3, 0.6]),), wrt=("x",), tags=("language", "stretch"))
def standard_library_helpers(x):
    """`functools.reduce`, `operator`, `itertools.product`, `accumulate`, `chain` as one meets them in numeric code."""
    total = reduce(lambda p, q: p * q + 1.0, x) + reduce(operator.mul, x[:2], 0.5)
    for i, j in itertools.product(range(2), range(1, 3)):
        total += x[i] * x[j] * (i + 1)
    for a, b in itertools.pairwise(x):
        total += math.sin(a - b * b)
    for v in itertools.accumulate(x, lambda p, q: p * q):
        total += v * v
    for v in itertools.chain(x[:1], (x[1] * 2.0, x[2])):
        total = total * v
    return operator.add(total, operator.itemgetter(1)(x))


@program(args=lambda: (0.6, 1.1), wrt=("r", "t"), tags=("language", "types", "complex", "stretch"))
def cmath_and_conjugates(r, t):
    """Complex numbers as intermediate values, by `cmath` and by attributes."""
    z = cmath.rect(r, t) + complex(0.2, r)
    w = cmath.exp(1j * z) / (1.0 + z * z.conjugate())
    return abs(w) + w.real * z.imag + cmath.phase(z) * r


@program(args=lambda: (0.6, 1.1), wrt=("x", "y"), tags=("language",))
def small_statements(x, y):
    """`pass`, `...`, an expression for its effect, annotations, line continuation, a constant condition."""
    z: float = x * y
    w: float
    if 0:
        z = undefined_name  # noqa: F821
    elif __debug__ and True:
        pass
    (values := []).append(z)
    values.append(x) if x > 0.0 else values.append(y)
    ...
    w = values[0] + \
        values[1] * 2.0; z = w * w  # fmt: skip  # noqa: E702
    while 1:
        break
    return z - (x, y)[1] + [x * x][0] + "ab".count("a") * y**3
