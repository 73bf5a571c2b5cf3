"""What a program was built for is told from what only looks like it: each call gives what Python gives."""

import dataclasses
import types
import warnings
from collections import namedtuple

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def right(f, derived, *args):
    """Value and slope by the first argument, as Python and differences have them."""
    value, slope = derived(*args)
    x, *rest = args
    np.testing.assert_allclose(value, f(x, *rest), rtol=1e-12)
    np.testing.assert_allclose(slope, (f(x + 1e-6, *rest) - f(x - 1e-6, *rest)) / 2e-6, rtol=1e-6, atol=1e-8)


def in_order(x, params):
    total = x
    for name, v in params.items():
        total = total * v + (1.0 if name == "a" else 2.0)
    return total


def keyed(x, table):
    total = 0.0
    for key in table:
        total = (
            total + x * (1.0 if isinstance(key, bool) else 2.0 if isinstance(key, int) else 3.0) + np.copysign(x, key)
        )
    return total


def spread(x, r):
    return x * (r.stop - r.start) + x * len(r)


def members(x, names):
    return x * len(names) + (x if "a" in names else 0.0)


class Slotted:
    __slots__ = ("__private", "k", "name")

    def __init__(self, k, name="a"):
        self.k, self.name, self.__private = k, name, 2.0 * k

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def private(self):
        return self.__private


def slotted(x, s):
    return x * s.k + s.private() + (x if s.name == "a" else 0.0)


FLIPPED = [
    (in_order, [{"a": 2.0, "b": 3.0}, {"b": 3.0, "a": 2.0}, {"a": 2.0, "b": 3.0}]),
    (keyed, [{1: 0.0}, {1.0: 0.0}, {True: 0.0}, {-1: 0.0}, {0.0: 0.0}, {-0.0: 0.0}, {np.int8(1): 0.0}]),
    (keyed, [frozenset([1]), frozenset([True]), (1,), (True,), (1.0,)]),
    (spread, [range(0, 3, 2), range(0, 4, 2), range(0, 3, 2)]),
    (slotted, [Slotted(1.0), Slotted(5.0), Slotted(5.0, "b"), Slotted(2.0)]),
    (in_order, [{"a": 2.0, "c": {"z": 1.0}["z"]}, {"c": 1.0, "a": 2.0}]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("f", "values"), FLIPPED, ids=["orders", "keys", "members", "ranges", "slots", "other keys"])
def test_arguments(f, values, backend):
    derived = dj.value_and_grad(f, backend=backend)
    for value in values:
        right(f, derived, 1.5, value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_that_change(backend):
    derived = dj.value_and_grad(members, backend=backend)
    names = {"b"}
    right(members, derived, 1.5, names)
    names.add("a")
    right(members, derived, 1.5, names)
    derived, s = dj.value_and_grad(slotted, backend=backend), Slotted(1.0)
    right(slotted, derived, 1.5, s)
    s.k, s.name = 4.0, "b"
    right(slotted, derived, 1.5, s)


def test_nested_dicts():
    def f(x, layers):
        for layer in layers:
            for name, w in layer.items():
                x = np.sin(x) * w if name == "w" else x + w
        return x

    derived = dj.value_and_grad(f, backend="python")
    right(f, derived, 0.7, [{"w": 2.0, "b": 1.0}])
    right(f, derived, 0.7, [{"b": 1.0, "w": 2.0}])
    value, slope = dj.jvp(f, (0.7, [{"w": 2.0, "b": 1.0}]), (1.0, [{"b": 0.0, "w": 0.0}]), backend="python")
    np.testing.assert_allclose((value, slope), (2 * np.sin(0.7) + 1, 2 * np.cos(0.7)))


Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - its class is what the test is about
Riap = namedtuple("Riap", "b a")  # noqa: PYI024
HELD = None


def of_held(x):
    if isinstance(HELD, Pair | Riap):
        return x * HELD.a + 10.0 * HELD.b
    if isinstance(HELD, np.ndarray):
        return x * (HELD + HELD)[1]
    if isinstance(HELD, list):
        return x * (HELD + HELD)[1] + 1.0
    if isinstance(HELD, tuple):
        return x * HELD[1] + 2.0
    return x * sum(HELD.values() if isinstance(HELD, dict) else HELD) + (3.0 if isinstance(HELD, dict) else 4.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_containers_outside(backend, monkeypatch):
    derived = dj.value_and_grad(of_held, backend=backend)
    held = [[2.0, 3.0], (2.0, 3.0), Pair(2.0, 3.0), Riap(2.0, 3.0), (2.0, 3.0), np.array([2.0, 3.0]), {0: 2.0, 1: 3.0},
            {0.0, 1.0}, {0: 1.0, 1: 2.0}, [1.0, 5.0]]  # fmt: skip
    for value in held:
        monkeypatch.setitem(globals(), "HELD", value)
        right(of_held, derived, 1.5)


class Model:
    def __init__(self):
        self.a, self.b, self.name = 2.0, 3.0, "m"

    def norm(self, x):
        return x * sum(v for v in vars(self).values() if not isinstance(v, str)) + len(self.__dict__)

    def cached(self, x):
        return x * 2.0 if "cache" in self.__dict__ else x


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_of_objects_outside(backend):
    model = Model()

    def of_model(x):
        return model.norm(x) + model.cached(x)

    derived = dj.value_and_grad(of_model, backend=backend)
    right(of_model, derived, 1.5)
    model.c = 7.0
    right(of_model, derived, 1.5)
    model.cache = 1.0
    right(of_model, derived, 1.5)
    del model.c
    right(of_model, derived, 1.5)
    right(model.norm, dj.value_and_grad(model.norm, backend=backend), 1.5)


@dataclasses.dataclass
class Point:
    u: float
    v: float


def test_an_object_outside_is_returned_whole():
    point = Point(2.0, 3.0)

    def f(x):
        return x * point.u, point

    value, found = dj.jit(f, backend="python")(1.5)
    assert (value, found) == (3.0, point)


def transposed(x):
    a = np.arange(6.0).reshape(2, 3) * x
    b = a.T
    b.flat[1] = x * x
    b.flat[::4] = 2.0 * x
    b.flat[0] += x
    b.flat[2:4] *= 3.0
    return np.sum(a * np.arange(6.0).reshape(2, 3)) + b.flat[1] * b.flat[-1]


def turned(x):
    a = np.arange(6.0).reshape(3, 2) * x
    a[::-1].flat[0] += x
    a[:, ::-1].flat[3] = x * x
    a[:, ::2].flat[2] = x
    return np.sum(a * a)


def by_columns(x):
    a = np.zeros((3, 3), order="F")
    a.flat[1] = x
    a.T.flat = np.arange(9.0) * x
    line = np.arange(8.0)[::-2]
    line.flat[1] = x * x
    return a[0, 1] * x + np.sum(line * a[1, 0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [transposed, turned, by_columns], ids=lambda f: f.__name__)
def test_flat(f, backend):
    right(f, dj.value_and_grad(f, backend=backend), 1.5)


def test_flat_under_a_name():
    def f(x):
        a = (np.arange(6.0).reshape(2, 3) * x).T
        flat = a.flat
        flat[1] = x
        return np.sum(a)

    with pytest.raises(dj.DiffjitError, match="DJ404"):
        dj.grad(f)(1.5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_signs_of_zero(backend):
    def f(y, x):
        return np.arctan2(0.0 * y, -(x - 1.0)) * y

    right(f, dj.value_and_grad(f, backend=backend), 2.0, 1.0)

    def g(y, a, b):
        return y * np.copysign(2.0, -(a - b))

    right(g, dj.value_and_grad(g, backend=backend), 2.0, 1.0, 1.0)


def test_namespaces():
    space = types.SimpleNamespace(a=2.0, b=3.0)

    def f(x):
        return x * space.a + space.b

    derived = dj.value_and_grad(f, backend="python")
    right(f, derived, 1.5)
    space.a = 4.0
    right(f, derived, 1.5)


TABLE = {"lambda": 2.0, "if": 3.0, "a b": 4.0}


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_that_are_no_names(backend):
    def f(x, params, **options):
        return (
            x * params["lambda"] + params["class"] * params["2x"] + options["in"] * TABLE["lambda"] * x * TABLE["a b"]
        )

    given = {"lambda": 2.0, "class": 3.0, "2x": 5.0}
    x_bar, bars = dj.grad(f, argnums=(0, 1), backend=backend)(1.5, given, **{"in": 7.0})
    assert x_bar == 58.0
    assert bars == {"lambda": 1.5, "class": 5.0, "2x": 3.0}


def test_powers_of_remainders():
    def f(x):
        return x * pow(3, 200, 7) + x * pow(-3, 5, 7) + x * pow(2, 10, -7)

    right(f, dj.value_and_grad(f), 2.0)
    with pytest.raises(ValueError, match="negative power"):
        dj.jit(lambda x: x * pow(3, -1, 7))(2.0)


def test_jumps_out_of_finally():
    def f(x):
        for k in range(3):
            try:
                return x * (k + 1)
            finally:
                x = x * 2
                if k < 1:
                    continue  # noqa: B012 - what the test is about
        return x

    with pytest.raises(dj.DiffjitError, match=r"DJ124.*continue"):
        dj.grad(f)(1.5)


def quietly(x):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        return np.sqrt(x) / (1.0 + x)


def read_back(x):
    with warnings.catch_warnings(record=True) as log:
        y = np.sqrt(x)
    return y + len(log)


def test_a_record_of_warnings_that_nobody_reads_only_silences():
    x, h = 0.7, 1e-6
    slope = (quietly(x + h) - quietly(x - h)) / (2 * h)
    assert dj.jit(quietly, backend="python")(x) == pytest.approx(quietly(x), rel=1e-14)
    assert dj.grad(quietly, backend="python")(x) == pytest.approx(slope, rel=1e-8)
    with pytest.raises(dj.DiffjitError, match=r"DJ124.*record of warnings"):
        dj.grad(read_back, backend="python")(x)


def test_an_error_state_that_the_program_sets_is_not_asked_for():
    """It is not set while the program is read."""

    def before(x):
        old = np.seterr(all="ignore")
        y = x if np.geterr()["divide"] == "ignore" else 2 * x
        np.seterr(**old)
        return y

    def inside(x):
        with np.errstate(divide="ignore"):
            return x if np.geterr()["divide"] == "ignore" else 2 * x

    for f in (before, inside):
        with pytest.raises(dj.DiffjitError, match=r"DJ124.*error state"):
            dj.grad(f)(1.0)


REGIONS = {letter: (0.1 * k, 1.0 - 0.02 * k) for k, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}


def region_of(x):
    if x < 0.0:
        return "a" if x < -2.0 else "b" if x < -1.5 else "c" if x < -1.0 else "d" if x < -0.5 else "e"
    if x < 1.0:
        return "f" if x < 0.2 else "g" if x < 0.4 else "h" if x < 0.6 else "i" if x < 0.8 else "j"
    if x < 2.0:
        return "k" if x < 1.2 else "l" if x < 1.4 else "m" if x < 1.6 else "n" if x < 1.8 else "o"
    if x < 3.0:
        return "p" if x < 2.2 else "q" if x < 2.4 else "r" if x < 2.6 else "s" if x < 2.8 else "t"
    return "u" if x < 3.2 else "v" if x < 3.4 else "w" if x < 3.6 else "x" if x < 3.8 else "y" if x < 4.0 else "z"


def by_region(x):
    shift, scale = REGIONS[region_of(x)]
    return (x - shift) ** 2 * scale


@pytest.mark.parametrize("backend", BACKENDS)
def test_as_many_regions_as_letters(backend):
    """As the regions of a formulation of steam have them."""
    derived = dj.value_and_grad(by_region, backend=backend)
    for x in (-3.0, -0.7, 0.5, 1.3, 2.5, 3.3, 5.0):
        right(by_region, derived, x)


X = np.array([3.0, -1.0, 2.0])


def where_all_are_real(x):
    spectrum = x + 0.0j
    if np.isreal(x).all():
        spectrum = spectrum.real  # of one type on all paths
    total = np.sum(spectrum * x) if not np.any(np.iscomplex(x)) else 1j
    changed = np.isreal(x)
    changed[0] = False
    total = total if not np.iscomplex(x[0]) else 1j
    return total if not changed.all() else 3.0 * total


@pytest.mark.parametrize("backend", BACKENDS)
def test_real_numbers_are_known_to_be_real(backend):
    value, slope = dj.value_and_grad(where_all_are_real, backend=backend)(X)
    assert value == where_all_are_real(X)
    np.testing.assert_array_equal(slope, 2.0 * X)


def costs_with_nan(x):
    return [v if v > 0.0 else np.nan for v in x]


ASKED = {
    "in": lambda costs: 1.0 if np.nan in costs else 2.0,  # noqa: PLW0177
    "count": lambda costs: 1.0 + costs.count(np.nan),
    "index": lambda costs: 1.0 + costs.index(costs[1]),
    "equal": lambda costs: 1.0 if costs == list(costs) else 2.0,
    "in a tuple": lambda costs: 1.0 if costs[1] in (0.0, np.nan) else 2.0,
}


@pytest.mark.parametrize("question", ASKED)
def test_nan_among_nan_is_not_decided(question):
    """Python asks whether they are one object before it compares them."""

    def f(x):
        return ASKED[question](costs_with_nan(x)) * x[0]

    with pytest.raises(NotImplementedError, match="NaN"):
        dj.jit(f, backend="python")(X)
    assert dj.jit(f, backend="python")(np.abs(X)) == f(np.abs(X))


def test_an_object_is_among_what_holds_it():
    def f(x):
        unknown = float("nan")
        return (1.0 if unknown in [x[0], unknown] else 2.0) * x[0] + [x[1], np.nan, x[2]].count(np.nan)

    assert dj.jit(f, backend="python")(X) == f(X)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_ranges_of_what_was_a_number_and_became_an_array(backend):
    """In the turn that is interpreted, an item of the table may be either; NumPy raises for an array."""

    def model(x):
        table, total = {0: 1, 1: 2}, 0.0
        for k in np.abs([0, -1]):
            table[k] = np.arange(table[k] + 1)
        for places in table.values():
            total = total + np.sum(x * np.sum(places))
        return total

    x = np.array([0.3, 0.4])
    assert dj.jit(model, backend=backend)(x) == pytest.approx(model(x))
    np.testing.assert_array_equal(dj.grad(model, backend=backend)(x), [4.0, 4.0])
    with pytest.raises(TypeError, match="arange takes numbers"):
        dj.jit(lambda x: 2.0 * np.arange(x), backend=backend)(x)
