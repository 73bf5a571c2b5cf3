"""Functions of Python's own: what they take, return and raise, `jit` does too."""

import collections
import functools
import math
import operator
import sys
from functools import reduce
from itertools import islice

import numpy as np
import pytest

import diffjit as dj

X = np.arange(1.0, 10.0)


def counted(x, n):
    places = [i for i, _ in enumerate(x, n)], [i for i, _ in enumerate("ab", start=np.int32(2))]
    return places, list(enumerate("a", n > 2))


def parts_of_ranges(x, n):
    length = len(x)
    cut = (
        range(length)[::-1],
        range(length)[1:-1],
        range(1, length, 2)[::-2],
        range(length)[-n:100],
        range(9, 0, -2)[:n],
    )
    return [list(part) for part in cut], len(range(length)[::n]), 2 in range(length)[n:], range(2, length)[-n]


def place_or_not(x, n):
    places = []
    for k in (n, n + 5, n + 17, -n, -n - 17):
        try:
            places.append(range(2, len(x))[k])
        except IndexError:
            places.append(-1)
    return places


def numbers_in_text(x, n):
    bits = [int(s, 2) for s in ("01", "11")]
    return int("12", 8), int("z", base=36), int("0x1f", 16), bits, complex("1+2j").imag * x[0]


def floats_of_math(x, n):
    return math.pow(2, 3), math.pow(2, -1), math.fmod(-7, 3), math.fmod(7, n), math.pow(n, 2), math.copysign(3, -1)


def operators_of_ints(x, n):
    bits = operator.or_(n, 4), operator.and_(n, 1), operator.xor(n, 1), operator.lshift(n, 2), operator.rshift(n, 1)
    orders = operator.lt(n, 2), operator.eq(2**53 + n, 2**53 + n + 1), operator.not_(n), operator.gt("b", "a")
    return bits, orders, operator.invert(n), operator.pos(n), operator.index(n), reduce(operator.or_, [1, 2, n])


def operators_of_arrays(x, n):
    within = reduce(operator.and_, [x > 2.0, operator.lt(x, 7.0), operator.ne(x, n)])
    return x[within], x[operator.invert(within)], reduce(operator.or_, [{1}, {2}]) == {1, 2}


def operators_in_place(x, n):
    items, array, table = [1, n], x.copy(), {"a": 1}
    same = operator.iadd(items, [n + 1]) is items, operator.imul(array, 2.0) is array, operator.ior(table, {"b": n})
    operator.setitem(items, 0, n * 2)
    operator.delitem(items, 1)
    joined = operator.concat(items, [n]), operator.iconcat([n], (1, 2)), operator.concat("a", "b")
    asked = operator.truth(items), operator.contains(items, n), operator.is_(items, items), operator.is_not(n, None)
    return same, items, array, joined, asked, operator.isub(n, 1), operator.ifloordiv(7, n), operator.ipow(n, 2)


def indices_of_slices(x, n):
    slices = (
        slice(None),
        slice(-n, None),
        slice(None, None, -1),
        slice(10, 1, -2),
        slice(-100, 100, n),
        slice(-1, -100, -2),
    )
    return [s.indices(k) for s in slices for k in (0, 1, n + 2)]


def moved_to_an_end(x, n):
    table = collections.OrderedDict(a=x[0], b=n, c=2.0)
    table.move_to_end("a")
    table.move_to_end("c", last=False)
    return list(table.items())


def counted_by_name(x, n):
    counts = collections.Counter("ab", a=n, c=2)
    return sorted(counts.items()), math.isqrt(n * n + 1), math.modf(n), math.modf(True)


class Base:
    def __init__(self, scale, /, **options):
        self.scale, self.options = scale, options

    def of(self, x, /):
        return x * self.scale


class Derived(Base):
    def __init__(self, scale, /, **options):
        super().__init__(scale, **options)

    def of(self, x, /):
        return super().of(x) + self.options["shift"]


def parents_of_positional_methods(x, n):
    return Derived(n, shift=1.5, scale=2).of(x)


def classes_of_results(x, n):
    points = np.linspace(0.0, 1.0, n, retstep=True)
    return (
        np.searchsorted(x, 3.5),
        np.unravel_index(4, (2, n)),
        np.digitize(2.5, x),
        np.digitize(2.5, [3, 2, 1]),
        points,
    )


def methods_of_texts(x, n):
    rows = [row[0] for row in map(str.split, ["a 1", "b 2"])], sorted(["b", "A"], key=str.lower)
    return rows, set(map(str.strip, [" c", "d "])) == {"c", "d"}, str.join("-", ["a", "b"])


def cut(x, n):
    return list(islice(x, n)), list(islice([1, 2, 3, 4], 1, None, n)), list(islice(range(len(x)), n, n + 4, 2))


def trimmed(x, n):
    return np.trim_zeros([0.0, 0.0, 1.5, 0.0]), np.trim_zeros((0, 1, n, 0), "b"), np.trim_zeros(x * (x > 2.0))


def ranges_as_axes(x, n):
    a = np.reshape(x, (n, 3))
    return np.tensordot(a, a, axes=(range(1), range(1, 2))), np.moveaxis(a[None], range(2), (1, 0))


def _plain(value):
    """A result as lists of numbers with their classes."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_plain(v) for v in value]
    return (value.dtype, value.tolist()) if isinstance(value, np.ndarray) else (type(value), value)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "function",
    [
        counted, parts_of_ranges, place_or_not, numbers_in_text, floats_of_math, operators_of_ints, operators_of_arrays,
        operators_in_place, counted_by_name, indices_of_slices, moved_to_an_end, parents_of_positional_methods,
        classes_of_results, methods_of_texts, cut, trimmed, ranges_as_axes,
    ],
)  # fmt: skip
def test_as_in_python(function, backend):
    assert _plain(dj.jit(function, backend=backend)(X, 3)) == _plain(function(X, 3))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    ("function", "error"),
    [
        pytest.param(lambda x, n: [i for i, _ in enumerate(x, 3.14)], TypeError, id="start_a_float"),
        pytest.param(lambda x, n: [i for i, _ in enumerate(x, x[0])], TypeError, id="start_run_time"),
        pytest.param(lambda x, n: range(len(x))[n + 17], IndexError, id="behind_the_end"),
        pytest.param(lambda x, n: range(len(x))[-n - 17], IndexError, id="before_the_start"),
        pytest.param(lambda x, n: range(3)[7], IndexError, id="behind_a_known_end"),
        pytest.param(lambda x, n: range(len(x))[::0], ValueError, id="step_of_a_cut"),
        pytest.param(lambda x, n: range(3)[::0], ValueError, id="step_of_a_known_cut"),
        pytest.param(lambda x, n: [1, n][::0], ValueError, id="step_of_a_list"),
        pytest.param(lambda x, n: int("9", 8), ValueError, id="digits"),
        pytest.param(lambda x, n: int(12, 10), TypeError, id="base_of_an_int"),
        pytest.param(lambda x, n: int(x[0], 10), TypeError, id="base_of_a_float"),
        pytest.param(lambda x, n: operator.index(x[0]), TypeError, id="index_of_a_float"),
        pytest.param(lambda x, n: operator.add(x), TypeError, id="one_of_two"),
        pytest.param(lambda x, n: operator.neg(n, n), TypeError, id="two_of_one"),
        pytest.param(lambda x, n: math.pow(x[0]), TypeError, id="power_of_nothing"),
        pytest.param(lambda x, n: np.maximum(x), TypeError, id="ufunc_of_one"),
        pytest.param(lambda x, n: n @ 2, TypeError, id="product_of_ints"),
        pytest.param(lambda x, n: 7 @ 2, TypeError, id="product_of_constants"),
        pytest.param(lambda x, n: operator.concat(n, n), TypeError, id="ints_joined"),
        pytest.param(lambda x, n: math.isqrt(x[0]), TypeError, id="root_of_a_float"),
        pytest.param(lambda x, n: np.linspace(0.0, 1.0, n / 1), TypeError, id="points"),
        pytest.param(lambda x, n: np.size(3.0, 0), np.exceptions.AxisError, id="a_number_has_no_axis"),
        pytest.param(lambda x, n: np.concatenate([]), ValueError, id="nothing_joined"),
        pytest.param(lambda x, n: np.vstack([]), ValueError, id="nothing_stacked"),
        pytest.param(lambda x, n: list(islice(x, -n)), ValueError, id="cut_before_the_start"),
        pytest.param(lambda x, n: list(islice(x, 0, n, 0)), ValueError, id="cut_without_a_step"),
        pytest.param(lambda x, n: np.meshgrid(x, x, indexing="xx"), ValueError, id="grid"),
        pytest.param(lambda x, n: np.select([x > n, x > 1.0], [x]), ValueError, id="choices"),
    ],
)
def test_raises_as_python(function, error, backend):
    with pytest.raises(error):
        function(X, 3)
    with pytest.raises((error, dj.TypeProblem)):
        dj.jit(function, backend=backend)(X, 3)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="functools.Placeholder is new in Python 3.14")
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_partial_calls_that_keep_places(backend):
    place = functools.Placeholder

    def kept(a, b, c=1.0):
        return a - b * c**2

    outside = functools.partial(kept, place, 2.0)

    class Gap:
        def between(self, a, b):
            return a - 2.0 * b

        upper = functools.partialmethod(between, place, 3.0)

    def f(x):
        inside = functools.partial(functools.partial(kept, place, place, x[2]), place, x[0])
        try:
            missing = outside()
        except TypeError:
            missing = 2.0 * x[1]
        return outside(x[0], x[1]) * inside(x[1]) + Gap().upper(x[0]) * x[1] + missing

    x = X[:3]
    value, slope = dj.value_and_grad(f, backend=backend)(x)
    assert value == f(x)
    steps = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(slope, steps, rtol=1e-6)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="map's strict is new in Python 3.14")
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_map_that_is_strict(backend):
    def f(x):
        squares = [v**2 for v in x]
        total = sum(map(operator.mul, squares, x, strict=True)) + sum(map(operator.pow, x, [3, 2, 1], strict=False))
        for a, b in map(lambda a, b: (a, 2.0 * b), x, x[::-1], strict=True):
            total += a * b
        try:
            total += sum(map(operator.mul, squares, x[:2], strict=True))
        except ValueError:
            total += x[0]
        return total

    x = X[:3]
    value, slope = dj.value_and_grad(f, backend=backend)(x)
    np.testing.assert_allclose(value, f(x))
    steps = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(slope, steps, rtol=1e-6)
