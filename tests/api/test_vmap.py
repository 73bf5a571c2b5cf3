"""`vmap`: lanes, axes, trees, effects; JAX and plain loops say what is right."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffjit as dj
from tests.modes import leaves

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.random.default_rng(1).standard_normal((4, 3))
W = np.random.default_rng(2).standard_normal(3)


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def agree(found, wanted):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: float


AXES = [
    (0, 0, (X, X)),
    ((0, None), 0, (X, W)),
    ((1, 0), -1, (X, X.T)),
    ((None, -1), 1, (X, X.T)),
    ((0, {"a": 0, "b": None}), (0, 1), (X, {"a": X, "b": W})),
    (([0, None],), [0, {"s": 0}], ([X, W],)),
]


def products(*args):
    flat = [v for a in args for v in (a.values() if isinstance(a, dict) else a if isinstance(a, list) else [a])]
    total = flat[0] * 1.0
    for v in flat[1:]:
        total = total * v.sum() + v[0]
    return total


RESULTS = {
    "one": products,
    "pair": lambda *a: (products(*a).sum(), products(*a)),
    "nested": lambda *a: [products(*a), {"s": products(*a).sum()}],
}


@pytest.mark.parametrize("k", range(len(AXES)))
def test_axes_as_in_jax(k):
    in_axes, out_axes, args = AXES[k]
    f = RESULTS["pair" if isinstance(out_axes, tuple) else "nested" if isinstance(out_axes, list) else "one"]
    agree(dj.vmap(f, in_axes, out_axes)(*args), jax.vmap(f, in_axes, out_axes)(*args))


def test_results_of_every_kind():
    @dj.vmap
    def f(x):
        return x[0] > 0, np.argmax(x), 2.5, None, np.float32(x[0]), Layer(x, x[1]), np.zeros((2, 0))

    flags, places, constant, none, single, layer, empty = f(X)
    np.testing.assert_array_equal(flags, X[:, 0] > 0)
    np.testing.assert_array_equal(places, np.argmax(X, axis=1))
    assert flags.dtype == bool
    assert places.dtype == np.int64
    np.testing.assert_array_equal(constant, np.full(4, 2.5))
    assert none is None
    assert single.dtype == np.float32
    assert isinstance(layer, Layer)
    np.testing.assert_array_equal(layer.b, X[:, 1])
    assert empty.shape == (4, 2, 0)


def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_each_lane_has_its_own_trip_count(backend):
    numbers = np.arange(1, 30)
    np.testing.assert_array_equal(dj.vmap(collatz, backend=backend)(numbers), [collatz(int(n)) for n in numbers])


def test_shapes_that_the_arguments_tell():
    """No lane has to run: not even zero lanes are a question."""

    def f(x, n=3):
        up = np.concatenate([x, np.zeros(n)])[1:-2]
        for _ in range(2):
            up = up * 2.0
        return up, np.outer(x, up), x @ np.outer(x, x), np.sum(np.outer(x, up), axis=0, keepdims=True)

    for rows in (X, X[:1], X[:0]):
        found = dj.vmap(f)(rows)
        assert [r.shape[1:] for r in found] == [r.shape for r in f(X[0])]
        assert all(len(r) == len(rows) for r in found)
        for k, row in enumerate(rows):
            agree([r[k] for r in found], f(row))


def test_shapes_that_only_a_lane_tells():
    f = dj.vmap(lambda x: x[x > 0])
    np.testing.assert_array_equal(f(np.abs(X)), np.abs(X))
    with pytest.raises(ValueError, match=r"has length \d, the first lane's has \d \[DJ515\]"):
        f(X)
    with pytest.raises(ValueError, match=r"no lanes.*\[DJ515\]"):
        f(X[:0])
    tangent = dj.jvp(f, (np.abs(X),), (X,))[1]
    np.testing.assert_array_equal(tangent, X)


def test_effects_are_those_of_the_loop(capsys):
    def f(row, total):
        row[0] = 0.0
        total[:] += row
        print(row[1])  # noqa: T201 - what the test is about
        return row.sum()

    rows, plain = X.copy(), X.copy()
    sums, expected = np.zeros(3), np.zeros(3)
    found = dj.vmap(f, (0, None))(rows, sums)
    seen = capsys.readouterr().out
    wanted = [f(row, expected) for row in plain]
    assert seen == capsys.readouterr().out
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(rows, plain)
    np.testing.assert_array_equal(sums, expected)


def test_a_lane_that_raises():
    def f(x):
        if x > 1:
            raise OverflowError(f"too large: {x}")
        return x

    with pytest.raises(OverflowError, match=r"too large: 2\.0"):
        dj.vmap(f)(np.array([0.0, 2.0, 3.0]))

    def caught(x):
        try:
            return f(x)
        except OverflowError:
            return -1.0

    np.testing.assert_array_equal(dj.vmap(caught)(np.array([0.0, 2.0])), [0.0, -1.0])


class Scaled:
    def __init__(self, k):
        self.k = k

    @dj.vmap(in_axes=(None, 0))
    def unbound(self, x):
        return self.k * np.sum(x)

    def method(self, x):
        return self.k * np.sum(x)


def test_decorators_methods_keywords():
    @dj.vmap
    def bare(x, *, k):
        return x * k

    np.testing.assert_array_equal(bare(X, k=X), X * X)
    np.testing.assert_allclose(dj.vmap(Scaled(2.0).method)(X), 2 * X.sum(1), rtol=1e-14)
    np.testing.assert_allclose(Scaled(2.0).unbound(X), 2 * X.sum(1), rtol=1e-14)


def test_nested_and_composed():
    def kernel(a, b):
        return np.exp(-np.sum((a - b) ** 2))

    def theirs(a, b):
        return jnp.exp(-jnp.sum((a - b) ** 2))

    def gram(v):
        return v.vmap(v.vmap(kernel if v is dj else theirs, (None, 0)), (0, None))

    agree(gram(dj)(X, X), gram(jax)(X, X))
    agree(dj.grad(lambda x: np.sum(gram(dj)(x, x) ** 2))(X), jax.grad(lambda x: jnp.sum(gram(jax)(x, x) ** 2))(X))
    agree(dj.jit(dj.vmap(dj.grad(kernel)))(X, X[::-1].copy()), jax.vmap(jax.grad(theirs))(X, X[::-1]))
    agree(dj.vmap(dj.hessian(kernel))(X, X[::-1].copy()), jax.vmap(jax.hessian(theirs))(X, X[::-1]))


def test_shared_arguments_collect_the_cotangents_of_all_lanes():
    def loss(w, x):
        return np.sum(np.tanh(dj.vmap(lambda row: row @ w)(x)))

    agree(dj.grad(loss, (0, 1))(W, X), jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w)), (0, 1))(W, X))


def test_no_copy_per_lane_or_level():
    from diffjit.api.engine.engine import program_of
    from diffjit.ir.walk import walk

    def f(x):
        s = 0.0
        for i in range(x.size):
            s += np.sin(x[i])
        return s

    sizes, g, x = [], f, W
    for _ in range(5):
        sizes.append(sum(1 for _ in walk(program_of(g, (x,), {}).function.body)))
        g, x = dj.vmap(g), np.stack([x] * 2)
    steps = np.diff(sizes)
    assert steps.max() <= 16, sizes


BODIES = [
    lambda x, y: x * y + np.sum(x),
    lambda x, y: np.cumsum(x) if np.sum(y) > 0 else y * 2.0,
    np.outer,
    lambda x, y: (np.sum(x * y), np.where(x > y, x, y)),
]
BRANCH = 1  # whose shape hangs on the branch taken


@given(
    lanes=st.integers(0, 4),
    length=st.integers(1, 4),
    axis=st.sampled_from([0, 1, -1]),
    body=st.sampled_from(range(len(BODIES))),
    shared=st.booleans(),
    out=st.sampled_from([0, -1]),
    seed=st.integers(0, 99),
)
def test_vmap_is_the_loop(lanes, length, axis, body, shared, out, seed):
    f, noise = BODIES[body], np.random.default_rng(seed)
    x = noise.standard_normal((lanes, length) if axis == 0 else (length, lanes))
    y = noise.standard_normal(length if shared else (lanes, length))
    mapped = dj.vmap(f, (axis, None if shared else 0), out, backend="python")
    if lanes == 0 and body == BRANCH:
        with pytest.raises(ValueError, match="DJ515"):
            mapped(x, y)
        return
    found = mapped(x, y)
    rows = x if axis == 0 else x.T
    wanted = [f(rows[k], y if shared else y[k]) for k in range(lanes)]
    for k, part in enumerate(leaves(found)):
        whole = np.moveaxis(part, out, 0)
        assert len(whole) == lanes
        for n in range(lanes):
            np.testing.assert_array_equal(whole[n], leaves(wanted[n])[k])


MODE = "plain"


def set_mode(mode):
    global MODE  # noqa: PLW0603 - as libraries keep a mode
    MODE = str(mode).lower()


class Mode:
    """A mode that holds for a while."""

    def __init__(self, mode):
        self.mode, self.previous = mode, MODE

    def __enter__(self):
        set_mode(self.mode)

    def __exit__(self, *_):
        set_mode(self.previous)


def halved(x):
    with Mode("Safe"):
        return x / 2.0 if MODE == "safe" else np.inf * x


def test_lanes_may_change_what_they_put_back():
    """The text is made anew, and equal to the one before."""
    np.testing.assert_allclose(dj.vmap(halved)(np.array([1.0, 3.0])), [0.5, 1.5])
    assert MODE == "plain"
