"""Callables that look like what they wrap: what is differentiated is what Python would call."""

import functools

import numba
import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def square(x):
    return x * x


@numba.njit
def compiled_square(x):
    return x * x


def tripled(f):
    @functools.wraps(f)
    def wrapper(x):
        return 3.0 * f(x)

    return wrapper


class Proxy:
    """As wrapt's wrappers: it answers for the function, whose class it claims to be of."""

    def __init__(self, f):
        object.__setattr__(self, "f", f)

    def __call__(self, x):
        return 3.0 * object.__getattribute__(self, "f")(x)

    def __getattribute__(self, name):
        return getattr(object.__getattribute__(self, "f"), name)


class Forwarding:
    """It hands on what it has not got itself."""

    def __init__(self, f):
        self.f = f

    def __call__(self, x):
        return 3.0 * self.f(x)

    def __getattr__(self, name):
        return getattr(self.__dict__["f"], name)


class Updated:
    """A class for a decorator, with the function's attributes."""

    def __init__(self, f):
        self.f = f
        functools.update_wrapper(self, f)

    def __call__(self, x):
        return 3.0 * self.f(x)


WRAPPERS = [tripled, Proxy, Forwarding, Updated]
WRAPPED = {
    "plain": square,
    "numba": compiled_square,
    "jit": dj.jit(square, backend="python"),
    "constant": dj.constant(square),
    "checkpoint": dj.checkpoint(square),
    "cached": functools.lru_cache(square),
    "partial": functools.partial(square),
    "grad": dj.grad(lambda x: x**3 / 3.0, backend="python"),
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_what_python_calls(wrapper, name):
    if wrapper is Proxy and name not in ("plain", "numba"):
        pytest.skip("a proxy of what is no function claims to be no function")
    wrapped = wrapper(WRAPPED[name])
    inside = lambda x: wrapped(x)  # noqa: PLW0108 - one call inside a program
    for program in (inside, wrapped):
        assert float(dj.jit(program, backend="python")(2.0)) == 12.0
    expected = 0.0 if name == "constant" else 12.0
    assert float(dj.grad(inside, backend="python")(2.0)) == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_proxy_of_a_function(backend):
    proxy = Proxy(square)
    assert dj.grad(lambda x: proxy(x), backend=backend)(2.0) == 12.0  # noqa: PLW0108


class Machine:
    """Its attributes are named as things of diffjit's and Numba's are."""

    def __init__(self, scale):
        self.program = "a text"
        self.form = 3
        self.py_func = square
        self.scale = scale

    def __call__(self, x):
        return self.scale * x * x


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_with_other_peoples_names(backend):
    machine = Machine(5.0)
    assert dj.grad(machine, backend=backend)(2.0) == 20.0
    assert dj.jit(lambda x: machine(x), backend=backend)(2.0) == 20.0  # noqa: PLW0108


class Shaped:
    """A class attribute that is an array is no method."""

    nodes = np.array([0.0, 1.0, 2.0])

    def __init__(self, x):
        self.x = x

    @property
    def moved(self):
        return self.nodes * self.x


@pytest.mark.parametrize("backend", BACKENDS)
def test_classes_with_arrays(backend):
    assert dj.grad(lambda x: np.sum(Shaped(x).moved ** 2), backend=backend)(2.0) == 20.0


def compiled_inside(x):
    @numba.njit
    def powers(v, n):
        total = 0.0
        for i in range(n):
            total += v[i] ** (i + 1)
        return total

    @numba.njit(parallel=True, fastmath=True)
    def scaled(v, factor):
        out = np.zeros_like(v)
        for i in numba.prange(v.size):
            out[i] = v[i] * factor
        return out

    half = numba.jit(lambda v: v / 2, nopython=True)
    return powers(scaled(x, x[0]), 3) + numba.njit(["f8(f8)"])(lambda v: v**3)(x[1]) * half(x[2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_numba_compiles_inside_is_the_function(backend):
    x = np.array([0.5, 1.5, -0.7])
    value, slope = dj.value_and_grad(compiled_inside, backend=backend)(x)
    np.testing.assert_allclose(value, 0.25 + 0.75**2 + (-0.35) ** 3 + 1.5**3 * -0.35)
    rows = [0.5, 0.75, -0.35]
    outer = np.array([1.0, 2 * rows[1], 3 * rows[2] ** 2])
    wanted = outer * x[0] + [outer @ x, 3 * 1.5**2 * -0.35, 1.5**3 / 2]
    np.testing.assert_allclose(slope, wanted)
