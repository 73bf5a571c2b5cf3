"""Trees of numbers and arrays are split by their form once: each call must find what splitting it anew would say."""

import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine import programs
from diffjit.api.engine.programs import flatten_call, spell
from diffjit.errors import DiffjitError

SHAPES = ((), (1,), (3,), (5,), (20,), (2, 3), (1, 20), (20, 20))


def leaf(rng):
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice([1.5, 2, 20, 3, np.float64(0.5)])
    if kind == 1:
        return rng.choice([True, False, None, "a", "b", ""])
    a = np.ones(rng.choice(SHAPES), rng.choice([float, float, int, np.float32, complex, bool]))
    if kind == 2:
        a = np.asfortranarray(a)
    if kind == 3 and a.ndim:
        a = a[::-1]
    if kind == 4:
        a.flags.writeable = False
    return a


class Part:
    def __init__(self, **fields):
        vars(self).update(fields)


class Other(Part):
    pass


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def made(rng, depth, shared):
    kind = rng.randrange(6) if depth else 0
    if kind < 2:
        return leaf(rng)
    if kind == 2 and shared and rng.random() < 0.3:
        return rng.choice(shared)
    parts = [made(rng, depth - 1, shared) for _ in range(rng.randrange(4))]
    if kind == 2:
        found = parts
    elif kind == 3:
        found = tuple(parts)
    elif kind == 5 and rng.random() < 0.2:
        found = Slotted(parts)
    else:
        names = rng.sample(["w", "b", "a", "x0", "Z"], len(parts))
        found = dict(zip(names, parts, strict=True))
        found = rng.choice([Part, Other])(**found) if kind == 5 else found
    shared.append(found)
    return found


def test_forms_that_look_the_same_are_split_the_same():
    rng = random.Random(7)
    groups = {}
    quick = 0
    for _ in range(4000):
        shared = []
        args = tuple(made(rng, rng.randrange(3), shared) for _ in range(rng.randrange(3)))
        names = rng.sample(["p", "q", "r"], rng.randrange(3))
        kwargs = {name: made(rng, rng.randrange(2), shared) for name in names}
        for _ in range(2):  # when it is seen first, and again
            found, anew = flatten_call(args, kwargs), programs._split_call(args, kwargs)
            assert found.keywords == anew.keywords
            assert list(found.keywords) == names
            assert found.key == anew.key
            assert found.general == anew.general
            assert found.starts == anew.starts
            assert found.positional == anew.positional
            assert len(found.leaves) == len(anew.leaves)
            assert all(a is b for a, b in zip(found.leaves, anew.leaves, strict=True))
        spelled, held = [], set()
        if all(spell(a, spelled, [], held) for a in (*args, *kwargs.values())):
            quick += 1
            groups.setdefault(tuple(spelled), []).append(args)
    assert quick > 2000
    assert sum(len(group) > 1 for group in groups.values()) > 100


def test_what_is_changed_between_calls_is_seen():
    def total(p, k):
        found = np.sum(p["w"] ** 2) * p["c"] + len(p["rows"]) * k
        return found + sum([np.sum(r) for r in p["rows"]]) * (2.0 if p["mode"] == "a" else 3.0)

    p = {"w": np.arange(3.0), "c": 2.0, "rows": [np.ones(2), np.ones(5)], "mode": "a"}
    value, gradient = dj.jit(total), dj.grad(total)

    def right():
        assert value(p, 4) == pytest.approx(total(p, 4))
        found = gradient(p, 4)
        np.testing.assert_allclose(found["w"], 2 * p["w"] * p["c"])
        assert found["c"] == pytest.approx(np.sum(p["w"] ** 2))
        np.testing.assert_allclose(
            found["rows"][-1], np.full(np.shape(p["rows"][-1]), 2.0 if p["mode"] == "a" else 3.0)
        )

    right()
    right()
    for change in (
        {"mode": "b"}, {"c": np.float64(3.0)}, {"w": np.arange(4.0, dtype=np.float32)}, {"w": np.arange(20.0)},
        {"rows": [np.ones((2, 2)), 2.5]}, {"rows": [np.ones(3)] * 2}, {"w": np.arange(6.0)[::2]},
    ):  # fmt: skip
        p.update(change)
        right()
        right()
    held = Part(w=np.arange(3.0), inner=Other(c=2.0))
    of_objects = dj.grad(lambda m: np.sum(m.w**2) * m.inner.c)
    for _ in range(2):
        assert of_objects(held).inner.c == pytest.approx(np.sum(held.w**2))
    held.inner = Part(c=np.ones(3))
    with pytest.raises(dj.TypeProblem):
        of_objects(held)
    held.inner, held.w = Other(c=np.float64(3.0)), np.ones((2, 2), np.float32)
    assert of_objects(held).inner.c == pytest.approx(4.0)
    twin = [np.ones(2)]
    assert dj.jit(lambda a: a[0] is a[1])((twin, twin)) is True
    assert dj.jit(lambda a: a[0] is a[1])((twin, [np.ones(2)])) is False


SCALE = np.ones(1)


def given_back(p):
    p["w"][0] += 1.0
    return {"v": np.sum(p["w"]) * SCALE[0], "p": p, "rows": [p["rows"], (p["w"], None, "text")], "n": 3}


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_what_hangs_on_more_than_the_form(backend, monkeypatch):
    run = dj.jit(given_back, backend=backend)
    for k in range(4):
        p = {"w": np.arange(3.0) + k, "rows": [1.0, np.ones(2)]}
        if k == 3:
            monkeypatch.setitem(globals(), "SCALE", np.array([2.0]))
        found = run(p)
        assert found["p"] is p
        assert found["rows"][0] is p["rows"]
        assert found["rows"][1][1:] == (None, "text")
        assert p["w"][0] == k + 1.0
        assert found["v"] == pytest.approx((4.0 + 3 * k) * SCALE[0])
    assert run({"w": np.arange(3), "rows": []})["v"] == pytest.approx(8.0)  # the first number of ints


def test_several_threads_see_what_they_are_given():
    import concurrent.futures

    gradient = dj.grad(lambda p, k: np.sum(p["w"] ** 2) * p["c"] * k)

    def work(n):
        p = {"w": np.arange(1.0 + n % 7), "c": float(n)}
        return [np.allclose(gradient(p, k=2.0)["w"], 4 * p["w"] * n) for _ in range(50)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(all(done) for done in pool.map(work, range(1, 25)))


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_one_new_object_stays_one_at_later_calls(backend):
    def twice(a):
        found = [a, a]
        return found, found

    def in_a_dict(p):
        found = [p["a"], 2.0]
        return {"x": found, "y": found}, found

    run = dj.jit(twice, backend=backend)
    for _ in range(3):
        first, second = run(1.5)
        assert first is second
    run = dj.jit(in_a_dict, backend=backend)
    for k in range(3):
        named, alone = run({"a": float(k)})
        assert named["x"] is named["y"] is alone
        assert alone == [float(k), 2.0]


class Node:
    def __init__(self, value):
        self.value, self.others = value, []


@pytest.mark.parametrize("kind", ["a list in itself", "a dict in itself", "nodes", "a long chain"])
def test_what_holds_itself_is_no_argument(kind):
    """It has no form; and a chain as long has one that no program would be made for."""
    items: list = [1.0]
    table: dict = {"a": 1.0}
    if kind == "nodes":
        first, second = Node(1.0), Node(2.0)
        first.others, second.others = [second], {"back": first}
        items = [first]
    elif kind == "a long chain":
        for _ in range(2000):
            items = [items]
    else:
        items.append(items)
        table["b"] = table
    held = table if kind == "a dict in itself" else items

    def model(x, held):
        return x * len(held)

    calls = [
        lambda: dj.jit(model)(2.0, held),
        lambda: dj.grad(model)(2.0, held=held),
        lambda: dj.vjp(lambda held: held[0], held),
        lambda: dj.jvp(model, (2.0, held), (1.0, held)),
        lambda: dj.vmap(model, in_axes=(0, None))(np.ones(3), held),
        lambda: dj.jacrev(model)(2.0, held),
    ]
    for call in calls:
        with pytest.raises(DiffjitError, match=r"DJ511.*hold one another"):
            call()
