"""Functions of every kind: defaults, keywords, stars, lambdas, partials, recursion, functions as values."""

import math
from functools import partial

import numba
import numpy as np

from .registry import program


@program(args=lambda: (0.7, np.array([0.3, -1.1, 0.5])), wrt=("a", "x"), tags=("language",))
def positional_defaults(a, x, power=3, shift=0.25, *, scale=1.5):
    """Defaults of positional and keyword-only parameters that the caller leaves out."""
    return scale * np.sum((a * x + shift) ** power)


@program(args=lambda: (0.7,), wrt=("a", "rate"), kwargs={"rate": 1.3, "steps": 3}, tags=("language",))
def keyword_only_arguments(a, *, rate, steps=10, damping=0.1):
    """A derivative with respect to an argument that can only be given by name."""
    for _ in range(steps):
        a = a + damping * math.sin(rate * a)
    return a


def _saturate(x, low=-1.0, high=2.0, *, sharpness=1.0):
    return low + (high - low) / (1.0 + np.exp(-sharpness * x))


@program(args=lambda: (0.4, 1.2), wrt=("x", "k"), tags=("language",))
def calls_by_keyword(x, k):
    """Arguments given out of order, by name, and left to their defaults."""
    plain = _saturate(x)
    named = _saturate(high=k, x=x * k, low=x)
    sharp = _saturate(x - k, 0.5, sharpness=k * k)
    return plain * named - sharp


def _polynomial(x, *coefficients):
    value = 0.0
    for c in coefficients:
        value = value * x + c
    return value


@program(args=lambda: (0.9, 1.5, -0.4), wrt=("x", "b", "c"), tags=("language",))
def star_parameters(x, b, c):
    """A callee that takes any number of positional arguments, called with a different number of them."""
    return _polynomial(x, b, c) + _polynomial(x, 1.0, b * c, b, c) * _polynomial(x) + _polynomial(c, x)


@program(args=lambda: (1.1, 0.6, -0.8, 2.0), wrt=(0, 2, 3), tags=("language",))
def star_args_of_the_program(first, *rest):
    """The differentiated function itself takes `*rest`; `wrt` skips one of them."""
    total = first
    for k, r in enumerate(rest):
        total = total * (1.0 + 0.1 * k) + math.sin(r * first)
    return total * len(rest)


def _spring(x, v, **options):
    k = options.get("stiffness", 1.0)
    force = -k * x
    if "drag" in options:
        force = force - options["drag"] * v * abs(v)
    return force


@program(args=lambda: (0.8, 1.4, 0.3), wrt=("x", "v", "drag"), tags=("language",))
def double_star_parameters(x, v, drag):
    """`**options` looked at by key, present in some calls and absent in others."""
    settings = {"stiffness": x * x + 1.0, "drag": drag}
    return _spring(x, v) + _spring(x, v, drag=drag) * _spring(x, v, **settings)


def _mix(a, b, c, weight=0.5):
    return weight * a * b + (1.0 - weight) * c * c


@program(args=lambda: ((0.3, 0.9, -1.2), 0.7), wrt=("point", "w"), tags=("language",))
def star_in_calls(point, w):
    """A tuple and a dict spread into a call."""
    a, b, c = point
    return _mix(*point) + _mix(*(c, a), b, weight=w) * _mix(*point[::-1], **{"weight": w * a})


@program(args=lambda: (np.array([0.2, 0.5, 0.9]), 1.7), wrt=("x", "k"), tags=("language",))
def lambdas_that_capture(x, k):
    """A lambda kept in a variable, one with a default, one called on the spot."""
    wave = lambda t: np.sin(k * t)  # noqa: E731
    damped = lambda t, rate=0.3: np.exp(-rate * t) * wave(t)  # noqa: E731
    return np.sum(damped(x) + (lambda s: s * s)(wave(x)) + damped(x, rate=k))


def _power_law(amplitude, exponent, x):
    return amplitude * x**exponent


@program(args=lambda: (1.3, 2.5, np.array([0.5, 1.0, 2.0])), wrt=("a", "p", "x"), tags=("language",))
def partial_applications(a, p, x):
    """`functools.partial` with positional and keyword arguments, and a partial of a partial."""
    square = partial(_power_law, a, 2)
    law = partial(partial(_power_law, exponent=p), 0.5 * a)
    return np.sum(square(x)) + np.sum(law(x=x))


@program(args=lambda: (1.2, 0.5), wrt=("x", "h"), tags=("language",))
def functions_as_arguments(x, h):
    """A step that takes the right-hand side as an argument: user function, lambda, builtin and ufunc."""

    def step(f, y):
        k1 = f(y)
        return y + h * f(y + 0.5 * h * k1)

    def logistic(y):
        return y * (1.0 - y)

    return step(logistic, x) + step(np.sin, x) * step(lambda y: -y * x, h) + step(abs, -x)


@program(args=lambda: (np.array([0.4, 1.3]), 0.8), wrt=("x", "a"), tags=("language",))
def functions_in_containers(x, a):
    """Functions looked up in a tuple and a dict, in a loop over them."""

    def bend(t):
        return t / (1.0 + a * t * t)

    layers = (np.tanh, bend, np.cos)
    named = {"square": np.square, "bend": bend}
    for layer in layers:
        x = layer(x * a)
    return np.sum(named["square"](x) * named["bend"](x))


def _compose(*functions):
    def composed(x):
        for f in reversed(functions):
            x = f(x)
        return x

    return composed


@program(args=lambda: (0.6, 1.4), wrt=("x", "a"), tags=("language",))
def functions_returned(x, a):
    """A function that returns a closure over functions."""
    chain = _compose(math.sin, lambda t: t * t + a, math.exp)
    return chain(x) + _compose()(a) * chain(a * x)


@program(args=lambda: (0.3, 0.8), wrt=("a", "b"), tags=("language",))
def nested_functions_late_binding(a, b):
    """A nested function sees the value that the captured variable has when it is called."""
    gain = a

    def amplify(t):
        return gain * t

    first = amplify(b)
    gain = b * b
    second = amplify(a)
    return first * 2.0 + second**3 + amplify(first)


@program(args=lambda: (0.3, 0.8), wrt=("a", "b"), tags=("language",))
def closures_made_in_a_loop(a, b):
    """Late binding in a loop: without a default every closure sees the last value; with one, its own."""
    late, early = [], []
    for k in range(3):
        scale = a * (k + 1.0)
        late.append(lambda t: scale * t)
        early.append(lambda t, scale=scale: scale * t * t)
    total = 0.0
    for f, g in zip(late, early):
        total = total + f(b) * g(b)
    return total


@program(args=lambda: (np.array([0.4, 0.9, 1.6]),), wrt=("x",), tags=("language",))
def nonlocal_accumulator(x):
    """An inner function that rebinds a variable of the outer one."""
    total = 1.0
    calls = 0

    def visit(v):
        nonlocal total, calls
        calls += 1
        total = total * (1.0 + calls * v)
        return total

    last = 0.0
    for v in x:
        last = last + visit(v)
    return last + total * calls


@program(args=lambda: (0.5, 1.3), wrt=("a", "b"), tags=("language",))
def counter_factory(a, b):
    """Two closures of the same maker keep separate state."""

    def make(start):
        state = start

        def bump(by):
            nonlocal state
            state = state * by + start
            return state

        return bump

    left, right = make(a), make(b)
    u = left(b) + right(a)
    v = left(u) * right(u)
    return u + v * left(1.0)


def _power(x, n):
    if n == 0:
        return 1.0
    if n % 2:
        return x * _power(x, n - 1)
    half = _power(x, n // 2)
    return half * half


@program(args=lambda: (1.1, 11), wrt=("x",), tags=("language",), jax=lambda x, n: x**n)
def recursion_on_scalars(x, n):
    """Recursion with several returns; the values on the way down are needed on the way back."""
    return _power(x, n)


def _golden(x, y, depth):
    if depth == 0:
        return math.sin(x) * y
    left = _golden(x * 0.5 + y, y, depth - 1)
    right = _golden(x, y * left, depth - 2 if depth > 1 else 0)
    return left * right + x


@program(args=lambda: (0.7, 0.4, 4), wrt=("x", "y"), tags=("language",))
def recursion_in_two_branches(x, y, depth):
    """Two recursive calls, the second fed by the first."""
    return _golden(x, y, depth)


def _tree_sum(x, power):
    n = x.shape[0]
    if n == 1:
        return x[0] ** power
    middle = n // 2
    left = _tree_sum(x[:middle], power)
    right = _tree_sum(x[middle:], power)
    return np.sqrt(left * left + right * right) + 0.1 * left


@program(args=lambda: (np.array([0.5, 1.5, 0.8, 1.1, 0.9]), 1.5), wrt=("x", "power"), tags=("language",))
def recursion_on_views(x, power):
    """Recursion on halves of an array."""
    return _tree_sum(x, power)


def _haar(x):
    n = x.shape[0]
    if n < 2:
        return
    half = n // 2
    mean = (x[0::2] + x[1::2]) / 2.0
    detail = x[0::2] * x[1::2]
    x[:half] = mean
    x[half:] = detail
    _haar(x[:half])


@program(args=lambda: (np.array([0.5, 1.5, 0.8, 1.1, 0.9, -0.3, 0.7, 0.2]),), wrt=("x",), tags=("language", "memory"))
def recursion_that_writes(x):
    """Recursion on a part of a buffer that each level overwrites in place."""
    y = x.copy()
    _haar(y)
    return np.sum(y * np.arange(1.0, 9.0)) + y[0] * y[5]


def _even(x, n):
    return x if n == 0 else _odd(x * x + 0.1, n - 1)


def _odd(x, n):
    return math.cos(x) if n == 0 else _even(math.sin(x), n - 1)


@program(args=lambda: (0.8, 5), wrt=("x",), tags=("language",))
def mutual_recursion(x, n):
    """Two functions that call each other."""
    return _even(x, n) * _odd(x, n)


@program(args=lambda: (0.8, 4), wrt=("x",), tags=("language",))
def recursive_inner_function(x, n):
    """An inner function that calls itself and captures an argument of the outer one."""

    def continued_fraction(k):
        if k == n:
            return x
        return x + 1.0 / (k + 1.0 + continued_fraction(k + 1))

    return continued_fraction(0)


@numba.njit
def _compiled_kernel(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.exp(-a * x[i] * x[i])
    return total


@numba.njit(inline="always")
def _compiled_scale(x, a):
    for i in range(x.shape[0]):
        x[i] = x[i] * a + i
    return x


@program(args=lambda: (np.array([0.4, -0.9, 1.6]), 0.7), wrt=("x", "a"), tags=("language",))
def numba_callee(x, a):
    """Functions that are already compiled by Numba are followed through their Python source."""
    y = _compiled_scale(x.copy(), a)
    return _compiled_kernel(y, a) * _compiled_kernel(x, 0.5)


@numba.njit(parallel=False)
def _compiled_prange(x, out):
    for i in numba.prange(x.shape[0]):
        out[i] = x[i] ** 3
        for j in range(i):
            out[i] -= out[j] * x[i] if j == 0 else x[j]


@program(args=lambda: (np.array([0.4, -0.9, 1.6, 0.8]),), wrt=("x",), tags=("language",))
def prange_means_range(x):
    """`numba.prange`, in a callee and in the program, read as `range`."""
    out = np.zeros_like(x)
    _compiled_prange(x, out)
    total = 0.0
    for i in numba.prange(1, x.size):
        total += out[i] * out[i - 1]
    return total


@program(args=lambda: (np.array([0.4, -0.9, 1.6]), 0.5), wrt=("x", "a"), tags=("language",))
def several_results(x, a):
    """A callee that returns a tuple, a dict and nothing, by different ways out."""

    def split(v):
        if v.shape[0] > 2:
            return v[0] * a, v[1:]
        return v[-1], v[:1]

    def describe(v):
        return {"mean": np.mean(v), "energy": np.sum(v * v)}

    def touch(v):
        v[0] *= 2.0

    head, tail = split(x)
    _, rest = split(tail)
    facts = describe(x)
    touch(tail := tail.copy())
    return head * facts["energy"] + rest[0] * facts["mean"] + tail[0] ** 2 * tail[1]


@program(args=lambda: (0.7, 0.2), wrt=("x", "y"), tags=("language",))
def returns_a_nested_tree(x, y):
    """The result is a tree of scalars and arrays."""
    v = np.array([x, x * y])
    return {"sum": x + y, "pair": (x * y, v * v), "list": [np.sin(v)]}


@program(args=lambda: (0.7,), wrt=("x",), tags=("language",))
def returns_its_argument(x):
    """An identity and a constant: the caller's seed is passed on, and something does not depend on the argument."""
    return x, 2.0, x


@program(
    args=lambda: (
        {"w": np.array([0.3, -0.2]), "layers": [(0.5, np.array([1.0, 2.0])), (0.1, np.array([0.4, 0.9]))]},
        0.6,
    ),
    wrt=("params", "x"),
    tags=("language",),
)
def tree_of_parameters(params, x):
    """A dict of arrays and a list of tuples as an argument; a loop over a static container unrolls."""
    h = params["w"] * x
    for bias, gain in params["layers"]:
        h = np.tanh(h * gain + bias)
    return np.sum(h) + len(params["layers"]) * params["layers"][-1][0] * h[0]


class Bump:
    """A field that is called with its point."""

    def __init__(self, width):
        self.width = width

    def __call__(self, x, y, scale=1.0):
        return scale * math.exp(-(x * x + 0.5 * y) / self.width)


@program(args=lambda: (np.array([0.3, 0.7]), 0.5), wrt=("x", "width"), tags=("language",))
def star_in_calls_of_objects(x, width):
    """Points whose length the run decides, as the arguments of an object that is called."""
    bump, path = Bump(width), []
    while len(path) < 4:
        path.append(x * (len(path) + 1) * 0.5)
    return bump(*path[1]) + 2.0 * bump(*path[-1], scale=width)
