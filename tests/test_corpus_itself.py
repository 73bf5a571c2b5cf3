"""The corpus itself: its programs run, are repeatable and smooth where tested, and their JAX twins agree with them."""

import dataclasses

import numpy as np
import pytest

from tests.corpus.registry import load_all, rng

DEPRECATED = ("numpy.fix is deprecated", "Setting the shape on a NumPy array")  # by NumPy 2.5
pytestmark = [pytest.mark.filterwarnings(f"ignore:{words}:DeprecationWarning") for words in DEPRECATED]
PROGRAMS = load_all()
NAMES = sorted(PROGRAMS)
SCIENCE = [name for name in NAMES if PROGRAMS[name].function.__module__.rpartition(".")[2].startswith("science_")]
TWINS = [name for name in NAMES if PROGRAMS[name].jax is not None]


def is_float_array(x):
    return isinstance(x, np.ndarray | np.generic) and np.issubdtype(x.dtype, np.inexact)


def leaves(tree):
    """Yield the float scalars and float arrays of a tree, in a fixed order."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from leaves(tree[key])
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from leaves(item)
    elif dataclasses.is_dataclass(tree):
        for f in dataclasses.fields(tree):
            yield from leaves(getattr(tree, f.name))
    elif isinstance(tree, float) or is_float_array(tree) or type(tree).__module__.startswith("jax"):
        yield tree


def rebuild(tree, new):
    """Return the tree with its float leaves taken one by one from the iterator `new`."""
    if isinstance(tree, dict):
        changed = {key: rebuild(tree[key], new) for key in sorted(tree)}
        return type(tree)((key, changed[key]) for key in tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(rebuild(item, new) for item in tree))
    if isinstance(tree, list | tuple):
        return type(tree)([rebuild(item, new) for item in tree])
    if dataclasses.is_dataclass(tree):
        changed = {f.name: rebuild(getattr(tree, f.name), new) for f in dataclasses.fields(tree)}
        return dataclasses.replace(tree, **changed)
    return next(new) if isinstance(tree, float) or is_float_array(tree) else tree


class Line:
    """A program seen along one random line through its differentiable arguments: a function of one float."""

    def __init__(self, p):
        self.p = p
        self.positions = p.wrt_positions()
        args, kwargs = self.fresh()
        self.base = [list(leaves(args[w] if isinstance(w, int) else kwargs[w])) for w in self.positions]
        assert all(self.base), f"{p.name}: an argument in wrt without a float in it"
        noise = rng(sum(map(ord, p.name)))
        self.direction = [[noise.uniform(0.2, 1, np.shape(x)) * noise.choice([-1, 1], np.shape(x)) for x in group]
                          for group in self.base]  # fmt: skip

    def fresh(self):
        kwargs = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.p.kwargs.items()}
        return list(self.p.args()), kwargs

    def size(self):
        return sum(np.size(x) for group in self.base for x in group)

    def call(self, function, moved):
        args, kwargs = self.fresh()
        for w, base, direction in zip(self.positions, self.base, self.direction, strict=True):
            new = iter([moved(x, d) for x, d in zip(base, direction, strict=True)])
            where = args if isinstance(w, int) else kwargs
            where[w] = rebuild(where[w], new)
        return function(*args, **kwargs)

    def at(self, t):
        """Return the program's result at distance t, as one vector of float64."""
        return flat(self.call(self.p.function, lambda x, d: step(x, t * d)))

    def quotient(self, h):
        return (self.at(h) - self.at(-h)) / (2 * h)


def step(x, by):
    if isinstance(x, float) and not isinstance(x, np.generic):
        return x + float(by)
    return (x + by).astype(x.dtype) if isinstance(x, np.ndarray) else x.dtype.type(x + by)


def flat(result):
    if isinstance(result, dict):
        return flat([result[key] for key in sorted(result)])
    if isinstance(result, list | tuple):
        return np.concatenate([flat(item) for item in result])
    if dataclasses.is_dataclass(result):
        return flat([getattr(result, f.name) for f in dataclasses.fields(result)])
    return np.asarray(result, dtype=float).ravel()


def close(a, b, rtol):
    scale = max(1e-3, float(np.max(np.abs(b))))
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("name", NAMES)
def test_runs_repeatably(name):
    p = PROGRAMS[name]
    line = Line(p)
    first, second = (line.at(0.0) for _ in range(2))
    assert first.size
    assert np.all(np.isfinite(first))
    np.testing.assert_array_equal(first, second)
    assert line.size() <= 80


@pytest.mark.parametrize("name", NAMES)
def test_smooth_at_its_arguments(name):
    p = PROGRAMS[name]
    if "float32" in p.tags:
        pytest.skip("difference quotients in float32 say too little")
    line = Line(p)
    fine = line.quotient(1e-6)
    assert np.any(fine != 0), "the result does not depend on the differentiable arguments"
    close(fine, line.quotient(1e-5), 1e-4)
    # A central quotient is blind to a kink exactly at the point, the two one-sided ones are not.
    close((line.at(1e-6) - line.at(0.0)) / 1e-6, (line.at(0.0) - line.at(-1e-6)) / 1e-6, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_twin_agrees(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", val=True)
    jnp = jax.numpy
    p = PROGRAMS[name]
    line = Line(p)

    def twin(t):
        result = line.call(p.jax, lambda x, d: jnp.asarray(x) + (t * d).astype(getattr(x, "dtype", float)))
        found = [jnp.ravel(jnp.asarray(leaf, dtype=float)) for leaf in jax.tree.leaves(result)]
        return jnp.concatenate(found)

    value, slope = jax.jvp(twin, (0.0,), (1.0,))
    single = "float32" in p.tags
    close(np.asarray(value), line.at(0.0), 1e-4 if single else 1e-9)
    if single:
        return
    # Central differences at h and 2h, extrapolated.
    h = 1e-4 if "rough" not in p.tags else 1e-6
    close(np.asarray(slope), (4 * line.quotient(h) - line.quotient(2 * h)) / 3, 1e-5)


def test_twins_are_many():
    assert len(SCIENCE) >= 110
    assert len(set(TWINS) & set(SCIENCE)) >= 0.6 * len(SCIENCE)
