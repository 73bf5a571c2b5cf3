"""Programs that are not plain module functions: closures, bound methods, compiled functions, keyword dicts, long lists."""

import math

import numba
import numpy as np

from .registry import program


def _make_model(weights, scale):
    def closure_over_arrays(x):
        """The program captures an array and a number of the function that made it."""
        return np.sum(np.sin(weights * x)) * scale

    return closure_over_arrays


program(args=lambda: (np.array([0.4, 0.9]),), wrt=("x",), tags=("language",))(_make_model(np.array([1.5, -0.5]), 3))


class _Oscillator:
    def __init__(self, stiffness, start):
        self.stiffness = stiffness
        self.start = np.array(start)

    def acceleration(self, x):
        return -self.stiffness * np.sin(x)

    def bound_method_as_program(self, damping, dt):
        """The program is a method of an object that was made outside."""
        x, v = self.start.copy(), np.zeros(2)
        for _ in range(4):
            v += dt * (self.acceleration(x) - damping * v)
            x += dt * v
        return x @ v


program(args=lambda: (0.3, 0.2), wrt=("damping", "dt"), tags=("language",))(
    _Oscillator(2.0, [0.5, 1.0]).bound_method_as_program
)


@program(args=lambda: (np.array([0.4, 0.9]), 1.3), wrt=("x", "a"), tags=("language",))
@numba.njit
def compiled_program(x, a):
    """The program itself is compiled by Numba."""
    y = x.copy()
    for i in range(y.shape[0]):
        y[i] = math.exp(-a * y[i]) + y[i - 1]
    return y.sum() * a


@program(
    args=lambda: (0.4,),
    wrt=("x", "rate", "field"),
    kwargs={"rate": 1.5, "field": np.array([0.2, 0.7]), "mode": "full"},
    tags=("language",),
)
def keyword_dict_of_the_program(x, **options):
    """The program takes `**options`: floats and arrays that are differentiated, and a string."""
    total = sum(v for v in options["field"]) * options["rate"]
    if options.get("mode") == "full" and "absent" not in options:
        total += x ** options["rate"]
    return total * x * len(options)


@program(args=lambda: ([0.1 * k + 0.3 for k in range(12)], 0.7), wrt=("levels", "a"), tags=("language",))
def long_list_argument(levels, a):
    """A list of a dozen floats, indexed by a run-time index, sliced, summed and looped over."""
    total = levels[0]
    for k in range(1, len(levels)):
        total = total * a + levels[k] * levels[k // 2]
    for v in levels[::3]:
        total += math.sin(v)
    return total + sum(levels[2:5]) * max(levels) * levels[-1]


@program(args=lambda: (0.6, 1.2), wrt=("x", "y"), tags=("language",))
def decorated_helpers(x, y):
    """Helpers under the user's own decorators, with and without arguments."""

    def twice(f):
        def wrapped(*args, **kwargs):
            return f(*args, **kwargs) + f(*args, **kwargs) ** 2

        return wrapped

    def scaled(by):
        def decorate(f):
            return lambda *args: by * f(*args)

        return decorate

    @twice
    def product(a, b=2.0):
        return a * b

    @scaled(y)
    @twice
    def bent(a):
        return math.sin(a)

    return product(x, b=y) * bent(x) + product(y)


@program(args=lambda: (0.65, np.array([0.2, 0.7, 1.1])), wrt=("a", "x"), tags=("language",))
def nothing_depends(a, x):
    """A result that depends on one argument by a path with slope zero, and on the other not at all for some elements."""
    n = int(a * 10.0)
    steps = np.floor(x)
    unused = np.exp(x) * a
    del unused
    return x[1] * n + np.sum(steps) * a + (a > 0.5) * x[0] ** 2
