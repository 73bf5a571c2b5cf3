"""`jit`: what the function does, compiled; when it is specialised anew."""

import functools
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
GAIN = 2.0
TABLE = np.array([1.0, 2.0])
Point = namedtuple("Point", "x y")  # noqa: PYI024 - users write both


@dataclass
class Medium:
    speed: float
    depths: np.ndarray
    label: str = "water"


def smooth(u, k, n=2):
    u = u.copy()
    for _ in range(n):
        u[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@pytest.mark.parametrize("backend", BACKENDS)
def test_result_of_the_plain_function(backend):
    u = np.linspace(0, 1, 6) ** 2
    np.testing.assert_allclose(dj.jit(smooth, backend=backend)(u, 0.1), smooth(u, 0.1), rtol=1e-14)


def test_bare_decorator_keeps_name_and_documentation():
    @dj.jit
    def area(r):
        """Of a disc."""
        return np.pi * r**2

    assert area.__name__ == "area"
    assert area.__doc__ == "Of a disc."


def test_decorator_with_arguments():
    @dj.jit(backend="python")
    def area(r):
        return np.pi * r**2

    assert area(2.0) == 4 * np.pi


def test_keyword_and_default_arguments():
    compiled = dj.jit(smooth, backend="python")
    u = np.linspace(0, 1, 6) ** 2
    np.testing.assert_array_equal(compiled(u, n=3, k=0.2), smooth(u, 0.2, 3))


def test_methods_bind():
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        @dj.jit(backend="python")
        def energy(self, x):
            return 0.5 * self.stiffness * x * x

    soft, hard = Spring(1.0), Spring(3.0)
    assert soft.energy(2.0) == 2.0
    assert hard.energy(2.0) == 6.0
    hard.stiffness = 5.0
    assert hard.energy(2.0) == 10.0


def test_bound_methods():
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        def energy(self, x):
            return 0.5 * self.stiffness * x * x

    spring = Spring(3.0)
    compiled = dj.jit(spring.energy, backend="python")
    assert compiled(2.0) == 6.0
    spring.stiffness = 5.0
    assert compiled(2.0) == 10.0


def test_lambdas():
    assert dj.jit(lambda x, y: x * y + 1, backend="python")(2.0, 3.0) == 7.0


def test_partial():
    compiled = dj.jit(functools.partial(smooth, k=0.3, n=1), backend="python")
    u = np.linspace(0, 1, 6) ** 2
    np.testing.assert_array_equal(compiled(u), smooth(u, 0.3, 1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_are_changed_as_by_the_function(backend):
    def fill(a, b):
        a[::2] = 7.0
        a += b
        return a[0]

    a = np.zeros(4)
    assert dj.jit(fill, backend=backend)(a, 0.5) == 7.5
    np.testing.assert_array_equal(a, [7.5, 0.5, 7.5, 0.5])


def test_read_only_arguments_are_not_written():
    def fill(a):
        a[0] = 1.0
        return a.sum()

    a = np.zeros(3)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        dj.jit(fill, backend="python")(a)


def test_trees_of_results():
    def many(p, m):
        return {"p": Point(p.y, p.x), "l": [m.speed * m.depths, None, "name"], "m": (1, (m.depths[0],))}

    p, m = Point(1.0, np.ones(2)), Medium(2.0, np.array([3.0, 4.0]))
    found, wanted = dj.jit(many, backend="python")(p, m), many(p, m)
    assert type(found["p"]) is Point
    assert list(found) == list(wanted)
    np.testing.assert_array_equal(found["p"].x, wanted["p"].x)
    assert found["p"].y == wanted["p"].y
    np.testing.assert_array_equal(found["l"][0], wanted["l"][0])
    assert found["l"][1:] == [None, "name"]
    assert found["m"] == wanted["m"]


def test_dataclass_result():
    def deeper(m, by):
        return Medium(m.speed, m.depths + by)

    found = dj.jit(deeper, backend="python")(Medium(2.0, np.array([3.0, 4.0])), 1.0)
    assert type(found) is Medium
    assert found.speed == 2.0
    assert found.label == "water"
    np.testing.assert_array_equal(found.depths, [4.0, 5.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_globals_are_read_afresh(backend, monkeypatch):
    compiled = dj.jit(lambda x: GAIN * x + TABLE[0], backend=backend)
    assert compiled(3.0) == 7.0
    monkeypatch.setitem(globals(), "GAIN", 10.0)
    assert compiled(3.0) == 31.0
    monkeypatch.setitem(globals(), "TABLE", np.array([5.0, 6.0, 7.0]))
    assert compiled(3.0) == 35.0
    assert len(compiled._cache) == 1


def test_closures_are_read_afresh():
    scale = 2.0

    def f(x):
        return scale * x

    compiled = dj.jit(f, backend="python")
    assert compiled(3.0) == 6.0
    scale = 5.0
    assert compiled(3.0) == 15.0


def test_changed_array_in_a_closure():
    weights = np.array([1.0, 2.0])
    compiled = dj.jit(lambda x: np.sum(weights * x), backend="python")
    assert compiled(np.ones(2)) == 3.0
    weights[0] = 10.0
    assert compiled(np.ones(2)) == 12.0


def test_static_things_outside_respecialise():
    mode = "sum"

    def f(x):
        return np.sum(x) if mode == "sum" else np.prod(x)

    compiled = dj.jit(f, backend="python")
    x = np.array([2.0, 3.0, 4.0])
    assert compiled(x) == 9.0
    mode = "product"
    assert compiled(x) == 24.0


def test_changed_function_outside_respecialises():
    def shape(x):
        return x * x

    def f(x):
        return shape(x) + 1.0

    compiled = dj.jit(f, backend="python")
    assert compiled(3.0) == 10.0

    def shape(x):  # noqa: F811
        return x + x

    assert compiled(3.0) == 7.0


def test_type_of_a_global_may_change():
    gain = 2

    def f(x):
        return x * gain

    compiled = dj.jit(f, backend="python")
    assert compiled(3) == 6
    assert type(compiled(3)) is int
    gain = 0.5
    assert compiled(3) == 1.5


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_recompilation_for_a_new_length(backend):
    compiled = dj.jit(lambda u, k, n: smooth(u, k, n) + 0.0, backend=backend)  # nothing was made of it before
    for n in (5, 6, 17):
        u = np.linspace(0, 1, n) ** 2
        np.testing.assert_allclose(compiled(u, 0.1, 3), smooth(u, 0.1, 3), rtol=1e-14)
    assert len(compiled._cache) == 1


def test_specialisations_by_static_arguments():
    def norm(x, kind):
        return np.sum(np.abs(x)) if kind == "one" else np.sqrt(np.sum(x * x))

    compiled = dj.jit(norm, backend="python")
    x = np.array([3.0, -4.0])
    assert compiled(x, "one") == 7.0
    assert compiled(x, "two") == 5.0
    assert compiled(x, "one") == 7.0
    assert len(compiled._cache) == 2


def test_specialisations_by_dtype_and_layout():
    compiled = dj.jit(lambda x: np.sum(x * 2), backend="python")
    assert compiled(np.ones((2, 3), np.float32)).dtype == np.float32
    assert compiled(np.ones((2, 3))).dtype == np.float64
    assert compiled(np.asfortranarray(np.ones((2, 3)))) == 12.0
    assert compiled(np.ones((4, 3))[::2]) == 12.0
    assert compiled(np.ones((2, 3), int)) == 12


def test_number_that_decides_a_shape_is_fixed():
    def windows(x, axis):
        return np.sum(x, axis=axis)

    compiled = dj.jit(windows, backend="python")
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(compiled(x, 0), [3, 5, 7])
    np.testing.assert_array_equal(compiled(x, 1), [3, 12])
    np.testing.assert_array_equal(compiled(x, -1), [3, 12])


def test_jit_of_jit_and_calls_of_jitted_functions():
    @dj.jit(backend="python")
    def inside(x):
        return x * x

    def outside(x):
        return inside(x) + inside(2 * x)

    assert dj.jit(outside, backend="python")(3.0) == 45.0
    assert dj.jit(inside, backend="python")(3.0) == 9.0
    assert dj.grad(outside, backend="python")(3.0) == 30.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_out_of_range(backend):
    compiled = dj.jit(lambda x, i: x[i] * 2, backend=backend)
    assert compiled(np.arange(3.0), -1) == 4.0
    with pytest.raises(IndexError):
        compiled(np.arange(3.0), 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_shapes_that_do_not_fit(backend):
    compiled = dj.jit(lambda x, y: x + y, backend=backend)
    np.testing.assert_array_equal(compiled(np.ones(5), np.ones(5)), [2, 2, 2, 2, 2])
    with pytest.raises(ValueError, match="broadcast"):
        compiled(np.ones(5), np.ones(6))
    with pytest.raises(dj.TypeProblem, match="DJ310"):
        compiled(np.ones(3), np.ones(4))


def test_of_something_else():
    with pytest.raises(dj.UsageError, match="DJ504"):
        dj.jit(3.0)


class Body:
    """Something that can be told apart from its like."""

    def __init__(self, mass):
        self.mass = mass


def heavier(p, q):
    return p.mass * 3.0 if p is q else p.mass + 10.0 * q.mass


def loses_mass(p, q):
    p.mass = p.mass * 0.5
    return q.mass


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_one_object_as_two_arguments(backend):
    p, q = Body(2.0), Body(2.0)
    f = dj.jit(heavier, backend=backend)
    assert [f(p, p), f(p, q), f(q, q)] == [6.0, 22.0, 6.0]
    with pytest.raises(dj.MemoryProblem, match="is passed as two arguments"):
        dj.jit(loses_mass, backend=backend)(p, p)
    assert dj.jit(loses_mass, backend=backend)(p, q) == 2.0
    assert p.mass == 1.0


def test_known_lengths_that_do_not_fit_are_value_errors():
    """Lengths of small vectors are known before the program runs; NumPy's class of error catches it all the same."""
    for lengths in ((3, 4), (7, 9)):
        with pytest.raises(ValueError, match="broadcast"):
            dj.grad(lambda x, y: np.sum(x + y))(*map(np.ones, lengths))
    with pytest.raises(dj.TypeProblem):
        dj.grad(lambda x, y: np.sum(x + y))(np.ones(3), np.ones(4))


def test_arrays_that_look_alike_are_told_apart():
    """Calls are found again by a quick look at the arguments, which tells what is not native from what is."""
    double = dj.jit(lambda x, k: (x * k, k))
    kinds = ["f8", ">f8", "f4", "i8", ">i8", "i4", "?", "c16", "u1"]
    for _ in range(2):
        for kind in kinds:
            a, b = np.arange(4).astype(kind), np.arange(8).astype(kind)
            for x in (a, b[::2], a.reshape(2, 2)):
                for k in (3, 2.0):
                    try:
                        found, other = double(x, k)
                    except dj.DiffjitError:
                        assert kind[0] == ">"
                        continue
                    np.testing.assert_array_equal(found, x * k)
                    assert found.dtype == (x * k).dtype.newbyteorder("=")
                    assert type(other) is type(k)


def test_arrays_alone_by_a_quick_look():
    add = dj.jit(lambda x, y: (x + y, x))
    for _ in range(2):
        for x in (np.ones(3), np.ones(3, ">f8"), np.ones(3, "f4"), np.ones((3, 1)), np.array(["a", "b", "c"])):
            try:
                total, first = add(x, np.ones(3))
            except (dj.DiffjitError, TypeError):
                assert x.dtype.kind == "U" or not x.dtype.isnative
                continue
            np.testing.assert_array_equal(total, x + np.ones(3))
            assert first.shape == x.shape


def test_a_setting_that_changes_between_calls_is_seen(monkeypatch):
    root = dj.jit(np.sqrt)
    x = np.array([-1.0, 4.0])
    with np.errstate(invalid="ignore"):
        for _ in range(3):
            assert np.isnan(root(x)[0])
        monkeypatch.setattr(dj.settings, "nan_check", True)
        with pytest.raises(dj.DiffjitError, match="nan"):
            root(x)
        monkeypatch.undo()
        assert root(x)[1] == 2.0


def tuples_of_truths(a, b):
    both = (a < b, a > b)
    mixed = (a == b, both, (b, both, ()), (a * 2, a * 3))
    return mixed, (both, both), ((a < b,), (a > b,)), [both[1], (both, both)], {"x": (a < b, a), "y": (a * 1j, a + 0j)}


def flat(value):
    if isinstance(value, dict):
        return [part for key in value for part in flat(value[key])]
    return [part for v in value for part in flat(v)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("a", [np.uint64(5), 2.5, np.arange(2.0)])
def test_tuples_within_tuples_are_results(backend, a):
    want, got = tuples_of_truths(a, 1.5), dj.jit(tuples_of_truths, backend=backend)(a, 1.5)
    assert [type(v) for v in flat(got)] == [type(v) for v in flat(want)]
    for one, other in zip(flat(got), flat(want), strict=True):
        np.testing.assert_array_equal(one, other)
