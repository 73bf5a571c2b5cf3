"""Numbers: Python's ints and floats, NumPy's scalars, promotion between them, casts, integer and bit arithmetic."""

import math

import numpy as np

from .registry import program


def _f32(*values):
    return np.array(values, dtype=np.float32)


@program(args=lambda: (0.4, 20), wrt=("x",), tags=("types",))
def python_ints_as_large_as_they_get(x, n):
    """Factorials and powers in Python ints up to 20!, then used as floats."""
    factorial, power, total = 1, 1, 0.0
    for k in range(1, n + 1):
        factorial *= k
        power = 2 * power + 1
        total += x**k / factorial
    return total * (factorial % 1000003) * 1e-6 + x * (power >> 18)


@program(args=lambda: (1.7, -7, 3), wrt=("x",), tags=("types",))
def floor_division_and_modulo(x, p, q):
    """Signs of `//`, `%` and `divmod` with negative numbers, of ints and of floats."""
    total = (p // q) * x + (p % q) * x**2 + (-p // -q) * 0.1 + (p % -q) * x + (-p // q) * x
    d, m = divmod(p, -q)
    total += d * x - m * x * x
    total += (-x % 1.5) * x + (x % -1.5) * 2.0 + (-x // 0.7) * x + math.fmod(-x, 0.9) * x
    return total + p / q * x + (p * 1.0 // q) * x


@program(args=lambda: (1.7, 13, -6), wrt=("x",), tags=("types",))
def bit_operations(x, p, q):
    """`&`, `|`, `^`, `~`, `<<`, `>>` on ints of both signs, as weights and as loop bounds."""
    total = (p & q) * x + (p | q) * 0.1 * x**2 + (p ^ 5) * x + ~p * 0.01 * x + (p >> 1) - (q >> 1) * x
    bit = 1
    while bit <= p:
        if p & bit:
            total = total * 0.5 + bit * x
        bit <<= 1
    return total + (1 << 3 | 1) * math.sin(x)


@program(args=lambda: (0.7, 3, 2), wrt=("x",), tags=("types",))
def integer_powers(x, n, m):
    """`float ** int`, `int ** int`, `int ** -2`, and the exponents 0 and 1, of a loop too."""
    total = x**n + n**m * x - m**-2 * x**2 + float(m) ** -n * x + (-x) ** m + (-x) ** 3
    for k in range(-2, 3):
        total += x**k * (k + 1) + 2.0**k * x
    return total * x**0 + n**0.5 * x**1


@program(args=lambda: (0.7, 3, 2), wrt=("x",), tags=("types", "stretch"))
def integer_power_of_unknown_sign(x, n, m):
    """`int ** int` is an int or a float by the sign of the exponent at run time."""
    total = x
    for k in range(-n, n):
        total = total * x + m**k * x**2
    return total


@program(args=lambda: (0.0, np.array([0.0, 0.5, 0.0, 0.0]), np.array([0, 1, 2, 3])), wrt=("x", "v"), tags=("types",))
def powers_at_zero(x, v, n):
    """`0 ** 0` is 1 and flat, `0 ** 1` has slope 1: nowhere a NaN from `0 * inf`."""
    total = x**0 + 2.0 * x**1 + 3.0 * x**2 + x**3
    total += np.sum(v**n * np.array([1.0, 2.0, 3.0, 4.0])) + np.sum((v + x) ** 2)
    return total + v[0] ** n[0] + v[2] ** n[1] + 0.0**x if x > 1.0 else total + np.power(v, 2)[1]


@program(args=lambda: (np.array([0.0, 0.4, 2.0]), np.array([1.5, 2.5, -0.7])), wrt=("p",), tags=("types",))
def powers_of_zero_by_a_variable(base, p):
    """The derivative by the exponent at base 0 is 0, though the logarithm in its rule is not finite."""
    return np.sum(base[:2] ** p[:2] * p[1]) + base[2] ** p[2] + base[0] ** (p[0] * p[1])


@program(args=lambda: (0.0, 0.3), wrt=("x", "y"), tags=("types",))
def zero_cotangent_second_derivative(x, y):
    """`sin(x) ** 2` at 0: the cotangent of `sin` is exactly zero, the second derivative is 2."""
    s = math.sin(x)
    return s**2 + s * s * y + (np.tan(x) * np.expm1(y)) ** 2 + y * x


@program(args=lambda: (np.array([0.0, 1.5, 0.0]), np.array([0.4, 0.9, 1.3])), wrt=("y",), tags=("types",))
def masked_singularities(c, y):
    """Square root, logarithm and quotient at a zero that a mask or a factor removes: nothing leaks."""
    safe = np.where(c > 0.0, np.sqrt(c * y), y * y)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(c > 0.0, np.log(c * y), 0.0)
        ratio = np.where(c * y == 0.0, y, y / (c * y))
    picked = np.sqrt(c * y)[1:2]
    return np.sum(safe * safe) + logs @ y + ratio @ y + picked[0] * y[0] + np.sum(np.sqrt(c * y) * 0.0)


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), np.array([[1.0, 2.0, 0.5], [0.3, 0.1, 0.9], [2.0, 1.0, 1.0]])),
         wrt=("x", "w"), tags=("types",))  # fmt: skip
def accumulators_that_start_as_int(x, w):
    """`s = 0` that becomes a float, a vector and a matrix in the first pass of a loop."""
    s, v, m, p = 0, 0, 0, 1
    for k in range(3):
        s += x[k] * k
        v = v + w @ x * (k + 1)
        m = m + np.outer(x, w[k])
        p = p * x
    return s + np.sum(v * v) + np.sum(m * w) + np.sum(p)


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), 0, 1), wrt=("x",), tags=("types",))
def accumulator_types_with_no_passes(x, zero, one):
    """The same when the loop runs never or once: the zero must stay usable."""

    def weighted(n):
        s, v = 0, 0
        for k in range(n):
            s += x[k]
            v = v + x * s
        return s, v

    s, v = weighted(zero)
    total = (s + 1) * x[0] + np.sum(v * x) + np.sum(x * x)
    s, v = weighted(one)
    return total * (s + 2) + np.sum(v)


@program(args=lambda: (0.6, 3), wrt=("x",), tags=("types",))
def int_or_float_by_branch(x, n):
    """A name is an int on one path and a float on the other, also as a result of a helper."""

    def clipped(v):
        if v < 0.2:
            return 0
        return v if v < 2.0 else 2

    scale = 1
    for k in range(n):
        step = x * k if k > 1 else k
        scale = scale * (step + clipped(x + 4))
        x = clipped(x) * 0.9 + clipped(0.1 * k) * x
    return x * scale / (clipped(x) + 1)


@program(args=lambda: (2.6, -1.3), wrt=("x", "y"), tags=("types",))
def casts_of_scalars(x, y):
    """`int`, `float`, `bool`, `round`, `np.float64`, `np.int32`, `.item()`: truncation and half-to-even rounding."""
    total = int(x) * y + int(y) * x + float(int(x)) * x + bool(x) * y + round(x) * x + round(y, 1) * x
    total += round(0.5) * x + round(1.5) * y + round(2.5) * x + round(-2.6) * y + float(3) / int(2) * x
    total += np.float64(x) * np.int32(y) + np.int64(7) // np.int64(2) * x + np.array([x, y])[1].item() * x
    return total + float("0.5") * x + int("3") * y + math.floor(y) * x - np.floor(x) * y + np.rint(x) * np.round(y, 1)


@program(args=lambda: (_f32(0.4, -0.9, 1.3), np.float32(0.5)), wrt=("x", "a"), tags=("types", "float32"))
def float32_throughout(x, a):
    """Python numbers are weak: everything stays float32; the size of the type is a factor of the result."""
    s = 0.0
    for i in range(x.size):
        s += x[i] * a
    y = np.sin(x) * 2 + 0.5
    y[1] = math.exp(a)
    total = np.sum(y * y) + np.mean(x) * s
    return total * (s.dtype.itemsize + y.dtype.itemsize + total.itemsize)


@program(args=lambda: (_f32(0.4, -0.9, 1.3), np.array([0.5, 1.5, 0.2]), 0.7), wrt=("x", "y", "a"),
         tags=("types", "float32"))  # fmt: skip
def float32_with_float64(x, y, a):
    """float32 with float64 arrays and NumPy scalars gives float64, with Python floats float32; stores round back."""
    kinds = [x * a, x * y, x * np.float64(2.0), x + np.sum(y), y.astype(np.float32) * x, x * np.array(a), x[0] * a]
    total = 0.0
    for v in kinds:
        total += np.sum(v) * v.dtype.itemsize
    z = x.copy()
    z[:] = y * 3.0
    z += x * np.float32(0.5)
    return total + np.sum(z) * z.itemsize


@program(args=lambda: (_f32(0.4, -0.9, 1.3),), wrt=("x",), tags=("types", "float32"))
def float32_reductions_and_products(x):
    """Reductions, products, creation by `*_like`, `dtype=` and concatenation in float32."""
    w = np.outer(x, x) + np.eye(3, dtype=np.float32) * 2
    y = np.zeros_like(x) + w @ x + np.linalg.solve(w, x)
    z = np.concatenate([y, np.ones(1, dtype="float32")])
    wide = np.sum(x, dtype=np.float64) + np.zeros(3) @ x
    return np.var(z) * z.itemsize + np.linalg.norm(y) * y.itemsize + wide * wide.itemsize + np.prod(x) * x.max()


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), np.array([3, -1, 2], dtype=np.int32), np.array([250, 7, 3], dtype=np.uint8)),
         wrt=("x",), tags=("types",))  # fmt: skip
def integers_of_all_widths(x, i, u):
    """Small integers wrap as NumPy's do, mix to wider ones, divide to floats, and are truncated to on a store."""
    wrapped = u + np.uint8(10)
    wide = u + i
    halves = i / 2
    floors = i // 2 + i % 2
    i = i.copy()
    i[0] = x[2] * 2.0
    i[1:] *= 3
    short = np.array([1, 2, 3], dtype=np.int8) * np.int8(100)
    return x @ wrapped + x @ wide * x[0] + x @ halves + x[1] * np.sum(floors) + np.sum(i * x * x) + short @ x * 0.01


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), np.array([True, False, True])), wrt=("x",), tags=("types",))
def booleans_as_numbers(x, mask):
    """Masks in arithmetic, counts, logical operators, casts, `True + True`."""
    both = mask & (x > 0.5)
    either = mask | ~(x < 0.0)
    odd = mask ^ both
    total = np.sum(mask * x) * np.sum(either) + x @ odd + (x > 0.0) @ x * mask.sum() + np.mean(mask) * x[1]
    total += (True + True) * x[0] + mask.astype(float) @ x**2 + (x[0] > x[1]) * x[2] + int(mask[0]) * x[1]
    total -= np.count_nonzero(both) * x[2] ** 3 + x[mask].size * x[0]
    return total + np.logical_not(mask) @ x + np.logical_and(mask, either)[0] * x[0] + (not mask[1]) * x[1]


@program(args=lambda: (0.6, 1.1), wrt=("r", "t"), tags=("types", "complex"))
def complex_scalars(r, t):
    """A complex iteration with a real result: products, quotients, powers, conjugate, parts, absolute value."""
    z = r + 1j * t
    c = complex(0.1, r)
    for k in range(3):
        z = z * z / (1.5 + abs(z)) + c
    w = z**2 - z.conjugate() / (2 - 1j) + np.exp(1j * t)
    return abs(w) ** 2 + w.real * z.imag + np.angle(w) * r


@program(args=lambda: (np.array([0.4, -0.9, 1.3, 0.2]), 0.5), wrt=("x", "a"), tags=("types", "complex"))
def complex_arrays(x, a):
    """A Fourier sum written with arrays: complex matrix, products, `abs`, `real`, `conj`, `vdot`, complex64."""
    n = x.size
    k = np.arange(n)
    modes = np.exp(-2j * np.pi * np.outer(k, k) / n) @ x
    modes[1:] *= np.exp(-a * k[1:]) + 0.5j
    power = np.sum(np.abs(modes) ** 2)
    short = modes.astype(np.complex64)
    back = np.conj(modes) @ (x + 1j * a)
    return power + back.real * back.imag + np.vdot(modes, modes).real * (short.itemsize + modes.itemsize)


@program(args=lambda: (np.float64(0.6), np.int64(3), np.bool_(True)), wrt=("x",), tags=("types",))
def numpy_scalars_as_arguments(x, n, flag):
    """NumPy scalars as arguments: methods and attributes of scalars, integer scalars as loop bounds and exponents."""
    total = x**n if flag else x
    for k in range(n):
        total += x.clip(0.0, 0.9) * k + len(x.shape)
    return total * n / 2 + x.sum() * x.ndim + x.astype(np.float64) * n.astype(float) + x.size * x.item()


@program(args=lambda: (0.7, 5), wrt=("x",), tags=("types",))
def exponents_of_the_run(x, n):
    """`math.frexp` and `math.ldexp`: exponents are ints, of numbers and of loops."""
    total = 0.0
    for k in range(n):
        mantissa, exponent = math.frexp(x * 3.0**k)
        total += math.ldexp(mantissa * x, exponent - n) + math.ldexp(k, 2 - k) * mantissa
    return total * math.ldexp(x, n > 3) + math.gcd(n, 10) * x


@program(args=lambda: (np.array([-0.2, 0.3, 1.2, -0.5, 0.7, 0.9]), (5, 3, 4)), wrt=("x",), tags=("types", "language"))
def ints_that_begin_as_infinite(x, sizes):
    """`best = math.inf` that loops make an int of: a length, bounds of a range and a slice, an index."""
    size = math.inf
    for n in sizes:
        size = min(size, n)
    low, high = math.inf, -np.inf
    for i in range(len(x)):
        if x[i] > 0.1:
            low = min(low, i)
            if i > high:
                high = i
    weights = np.zeros(high - low + 1)
    for k in range(low, high + 1):
        weights[k - low] = x[k] ** 2
    squares = [v * v for v in x]
    return weights @ x[low : high + 1] * squares[low] + np.sum(np.linspace(x[0], x[high], size) ** 2) * low


DIGITS = np.int64(2)


@program(args=lambda: (0.7,), wrt=("x",), tags=("types",))
def powers_by_ints_from_numpys(x):
    """The sign of an exponent that is one of NumPy's ints from outside decides whether the power is a float."""
    return x * 10 ** (-int(DIGITS)) + x**2 * 10 ** int(DIGITS)
