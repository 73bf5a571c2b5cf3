"""Arrays made of lists that grow, whatever their items are: each item takes the place that it has in NumPy."""

from typing import NamedTuple

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import TypeProblem

BACKENDS = ["python", "numba"]


class Pair(NamedTuple):
    a: float
    b: float


def inside(x, k):
    """A number, or None outside of a range that is tested at run time."""
    if x < -1.0:
        return None
    if x > 50.0:
        return None
    return x * k


def grown(item):
    """A program that lists what `item` makes of some numbers."""

    def program(end, k):
        items = []
        for x in np.arange(0.0, end, 0.5):
            items.append(item(x, k))  # noqa: PERF401 - a list that grows
        return items

    return program


ITEMS = {
    "number": lambda x, k: x * k,
    "may be None": inside,
    "without dimensions": lambda x, k: np.array([x, k * x])[..., 1],
    "pair": lambda x, k: (x, k * x),
    "named": lambda x, k: Pair(x, k * x),
    "pair with None": lambda x, k: (x, inside(x, k)),
    "nested": lambda x, k: ((x, 1.0), (k, k * x)),
    "arrays": lambda x, k: (np.array([x, k]), np.array([1.0, k * x])),
    "array that may be None": lambda x, k: None if x < -1.0 else np.array([x, k]),
    "rows": lambda x, k: [x, k * x],
    "pairs in lists": lambda x, k: [(x, k), (k * x, 1.0)],
}

USES = {
    "array": np.array,
    "float32": lambda items: np.array(items, dtype=np.float32),
    "sum": lambda items: np.sum(items, axis=0),
    "mean": np.mean,
    "product": lambda items: 2.0 * np.asarray(items) + np.array(items),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("item", ITEMS)
def test_values(item, use, backend):
    listed, used = grown(ITEMS[item]), USES[use]

    def program(end, k):
        return used(listed(end, k))

    found, wanted = dj.jit(program, backend=backend)(2.0, 1.5), program(2.0, 1.5)
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("item", ITEMS)
def test_derivatives(item, backend):
    listed = grown(ITEMS[item])

    def program(end, k):
        made = np.array(listed(end, k))
        return np.sum(made**2 * (1.0 + np.arange(made.shape[-1])))

    by_k = lambda k: program(2.0, k)
    slope = (by_k(1.5 + 1e-6) - by_k(1.5 - 1e-6)) / 2e-6
    bend = (by_k(1.5 + 1e-3) - 2 * by_k(1.5) + by_k(1.5 - 1e-3)) / 1e-6
    grad = dj.grad(program, argnums="k", backend=backend)
    assert grad(2.0, 1.5) == pytest.approx(slope, rel=1e-7)
    assert dj.jvp(program, (2.0, 1.5), (0.0, 1.0), backend=backend)[1] == pytest.approx(slope, rel=1e-7)
    assert dj.grad(grad, argnums=1, backend=backend)(2.0, 1.5) == pytest.approx(bend, rel=1e-5)
    lanes = dj.vmap(grad, in_axes=(None, 0), backend=backend)(2.0, np.array([1.5, -0.5]))
    np.testing.assert_allclose(lanes, [grad(2.0, 1.5), grad(2.0, -0.5)], rtol=1e-12)


@pytest.mark.parametrize("item", ["pair", "nested", "arrays", "array that may be None"])
@pytest.mark.parametrize("join", [np.concatenate, np.vstack, np.hstack])
def test_joined(item, join):
    listed = grown(ITEMS[item])

    def program(end, k):
        return join(listed(end, k))

    np.testing.assert_array_equal(dj.jit(program, backend="python")(2.0, 1.5), program(2.0, 1.5))


@pytest.mark.parametrize("backend", BACKENDS)
def test_none_is_refused_when_it_runs(backend):
    def program(end):
        return np.sum(np.array(grown(inside)(end, 10.0)))

    assert dj.jit(program, backend=backend)(2.0) == program(2.0)
    with pytest.raises(TypeError, match="None"):
        dj.jit(program, backend=backend)(60.0)


@pytest.mark.parametrize(
    "item",
    [lambda x, k: {"x": x, "k": k}, lambda x, k: "up" if x > k else "down", lambda x, k: "same"],
    ids=["dict", "texts", "text"],
)
def test_arrays_of_objects_are_refused(item):
    def program(end, k):
        return len(np.array(grown(item)(end, k)))

    with pytest.raises(TypeProblem):
        dj.jit(program, backend="python")(2.0, 1.5)


UNLIKE_NUMBERS = {
    "texts": lambda x, k: "up" if x > k else "down",
    "one text": lambda x, k: "same",
    "None or a text": lambda x, k: None if x > k else "down",
    "tuples of one": lambda x, k: (k * x,),
    "tuples with a text": lambda x, k: ("down", k * x),
    "dicts": lambda x, k: {"x": k * x},
    "objects": lambda x, k: Box(k * x),
    "pairs or None": lambda x, k: (x * k, k) if x > 0.7 else None,
}
HISTORY = []


class Box:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Box and self.value == other.value

    __hash__ = None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("item", UNLIKE_NUMBERS)
def test_lists_of_other_things_are_returned_as_they_are(item, backend):
    program = grown(UNLIKE_NUMBERS[item])
    assert dj.jit(program, backend=backend)(2.0, 1.5) == program(2.0, 1.5)
    assert dj.jit(program, backend=backend)(0.0, 1.5) == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("item", ["tuples of one", "tuples with a text", "dicts", "pairs or None"])
def test_their_tangents(item, backend):
    program = grown(UNLIKE_NUMBERS[item])
    found = dj.jvp(lambda k: program(2.0, k), (1.5,), (1.0,), backend=backend)[1]
    step = 1e-6
    for tangent, a, b in zip(found, program(2.0, 1.5 + step), program(2.0, 1.5 - step), strict=True):
        for one, more, less in zip(*(_numbers(v) for v in (tangent, a, b)), strict=True):
            assert one == pytest.approx((more - less) / (2 * step), abs=1e-8)


def _numbers(item):
    parts = item.values() if isinstance(item, dict) else item or ()
    return [part for part in parts if not isinstance(part, str | int)]


@pytest.mark.parametrize(
    ("verb", "error"),
    [
        (lambda f: dj.vmap(f)(np.ones(2)), "DJ321"), (lambda f: dj.jacfwd(f)(1.5), "DJ322"),
        (lambda f: dj.jacrev(f)(1.5), "DJ322"), (lambda f: dj.jet(f, (1.5,), ((1.0,),)), "DJ319"),
        (lambda f: dj.vjp(f, 1.5)[1]([(1.0,)]), "DJ319"), (lambda f: dj.sparse_jacobian(f)(1.5), "DJ322|DJ319|DJ520"),
    ],
    ids=["vmap", "jacfwd", "jacrev", "jet", "vjp", "sparse"],
)  # fmt: skip
def test_verbs_that_take_arrays_alone(verb, error):
    with pytest.raises(dj.DiffjitError, match=error):
        verb(lambda k: grown(UNLIKE_NUMBERS["dicts"])(2.0, k))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("item", UNLIKE_NUMBERS)
def test_lists_outside_get_them(item, backend):
    made = UNLIKE_NUMBERS[item]

    def program(end, k):
        for x in np.arange(0.0, end, 0.5):
            HISTORY.append(made(x, k))  # noqa: PERF401 - a list that grows
        return end * k

    program(2.0, 1.5)
    expected = list(HISTORY)
    HISTORY.clear()
    dj.jit(program, backend=backend)(2.0, 1.5)
    found = list(HISTORY)
    HISTORY.clear()
    assert found == expected
    assert dj.grad(program, backend=backend)(2.0, 1.5) == 1.5
    assert not HISTORY


def in_order(x):
    """The places of a list become what stands there, one by one."""
    order = [2, 0, 1]
    for k in range(3):
        order[k] = x[order[k]]
    return order[0] + 2.0 * order[1] ** 2 + 3.0 * order[2]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_ints_of_a_list_become_floats(backend):
    x = np.array([1.5, -2.0, 3.0])
    value, slope = dj.value_and_grad(in_order, backend=backend)(x)
    assert value == in_order(x)
    np.testing.assert_allclose(slope, [4.0 * x[0], 3.0, 1.0])
