"""One list, dict or object at several places among the arguments, or outside as well: one, unless it is changed."""

import dataclasses

import numpy as np
import pytest

import diffjit as dj

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])
CONFIG = {"rate": 2.0}


class Layer:
    def __init__(self, w):
        self.w = w


def is_one(first, second, x):
    return x * (first["p"] is second[0]) + first["p"].w * second[0].w


def sets_attribute(first, second, x):
    first["p"].w = x
    return second[0].w


def appends(first, second, x):
    first["items"].append(x)
    return len(second) * x


def replaces(rows, x):
    rows[0][0] = x
    return rows[1][0]


def reads_outside(options, x):
    return CONFIG["rate"] * options["rate"] * x


def changes_what_is_outside(options, x):
    options["rate"] = x
    return CONFIG["rate"] * 2


def is_the_one_outside(options, x):
    return 2.0 * x if options is CONFIG else x


@BACKENDS
def test_what_only_reads(backend):
    layer = Layer(3.0)
    is_the_same = dj.jit(is_one, backend=backend)
    for _ in range(2):
        for second in (layer, Layer(3.0)):
            args = {"p": layer}, [second], 0.5
            assert is_the_same(*args) == is_one(*args)
    assert dj.grad(reads_outside, argnums=1, backend=backend)(CONFIG, 0.5) == 4.0


@BACKENDS
def test_changes_are_refused_where_it_is_one(backend):
    layer, items = Layer(3.0), [1.0]
    for program, together, apart in (
        (sets_attribute, ({"p": layer}, [layer]), ({"p": Layer(3.0)}, [layer])),
        (appends, ({"items": items}, items), ({"items": []}, [1.0])),
        (replaces, ([items, items],), ([[2.0], [1.0]],)),
        (changes_what_is_outside, (CONFIG,), ({"rate": 2.0},)),
        (is_the_one_outside, (CONFIG,), ({"rate": 2.0},)),
    ):
        compiled = dj.jit(program, backend=backend)
        for args in (apart, together, apart):
            if args is apart:
                assert compiled(*args, 0.5) == program(*args, 0.5)
                continue
            with pytest.raises(dj.MemoryProblem, match="DJ402"):
                compiled(*args, 0.5)
            with pytest.raises(dj.MemoryProblem, match="DJ402"):
                dj.grad(program, argnums=len(args), backend=backend)(*args, 0.5)


@BACKENDS
def test_gradients_take_them_apart(backend):
    tied = [1.0, np.array([2.0, 3.0])]
    found = dj.grad(lambda rows: rows[0][0] * np.sum(rows[1][1] ** 2), backend=backend)([tied, tied])
    assert found[0][0] == 13.0
    assert found[1][0] == 0.0
    np.testing.assert_array_equal(found[1][1], [4.0, 6.0])


def test_functions_of_one_text_have_objects_of_their_own():
    """What is compiled once for functions of the same code is tested with the objects of each."""

    def made(k):
        settings = {"k": k}

        def f(options, x):
            options["n"] = options["n"] + 1
            return settings["k"] * x * options["n"]

        return f, settings

    for k in (1.0, 2.0):
        f, settings = made(k)
        assert dj.jit(f)({"n": 1}, 0.5) == k
        settings["n"] = 1
        with pytest.raises(dj.MemoryProblem, match="DJ402"):
            dj.jit(f)(settings, 0.5)


@BACKENDS
def test_new_objects_are_one_wherever_they_stand(backend):
    def made(kept, x):
        row = [x, 2.0]
        grown = []
        while sum(grown) < 2 * x:
            grown.append(x)
        layer = Layer(row)
        kept["row"] = row
        kept["layers"] = [layer, {"grown": grown}]
        return row, layer, {"a": (layer, grown), "b": grown}

    kept = {}
    row, layer, found = dj.jit(made, backend=backend)(kept, 0.5)
    assert row == [0.5, 2.0]
    assert found["b"] == [0.5, 0.5]
    assert row is layer.w is kept["row"]
    assert layer is found["a"][0] is kept["layers"][0]
    assert found["a"][1] is found["b"] is kept["layers"][1]["grown"]
    value, pullback = dj.vjp(lambda x: [[x], [x]] + [[x * x]] * 2, 3.0, backend=backend)
    assert value == [[3.0], [3.0], [9.0], [9.0]]
    assert pullback([[1.0], [10.0], [100.0], [1000.0]])[0] == 11.0 + 1100.0 * 6.0


@dataclasses.dataclass(slots=True)
class Particle:
    x: float
    v: np.ndarray
    steps: int = 0


class Partly:
    __slots__ = ("__dict__", "a", "b")

    def __init__(self):
        self.a = 1.0


def moves(p, t):
    p.x = p.x + t * p.v[0]
    p.v = p.v * 2
    p.steps += 1
    return p.x


def deletes(p, t):
    p.b, p.c = t, p.a * t
    del p.a
    return p.c


def held(p):
    return {name: getattr(p, name) for name in ("x", "v", "steps", "a", "b", "c") if hasattr(p, name)}


@BACKENDS
@pytest.mark.parametrize(("f", "made"), [(moves, lambda: Particle(1.0, np.ones(2))), (deletes, Partly)])
def test_objects_with_slots_are_changed_as_others(f, made, backend):
    plain, found = made(), made()
    assert dj.jit(f, backend=backend)(found, 0.5) == f(plain, 0.5)
    assert repr(held(found)) == repr(held(plain))


@BACKENDS
def test_one_of_several_is_returned_itself(backend):
    def changed(a, b, x):
        chosen = a if x > 0 else b
        chosen.w = x
        return chosen

    compiled = dj.jit(changed, backend=backend)
    for x in (0.5, -0.5):
        a, b = Layer(1.0), Layer(2.0)
        assert compiled(a, b, x) is (a if x > 0 else b)
        assert (a.w, b.w) == ((x, 2.0) if x > 0 else (1.0, x))


@BACKENDS
def test_each_item_of_a_growing_list_is_one_of_its_own(backend):
    def made(kept, x):
        for k in range(int(4 * x)):
            kept.append({"k": k, "x": x * k})
        return kept, [{"k": k} for k in range(int(4 * x))]

    kept, wanted = [], []
    found = dj.jit(made, backend=backend)(kept, 0.75)
    assert found == made(wanted, 0.75)
    assert found[0] is kept
    assert kept[0] is not kept[1]
