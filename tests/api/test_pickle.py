"""Derivatives travel: what is pickled is how to make one, in every state; machine code stays where it is."""

import copy
import importlib
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.calls import native

X = np.array([0.3, 0.7, 1.1])


def loss(x, scale=2.0):
    return np.sum(np.sin(x) * x) * scale


def field(x):
    return np.sin(x) * x


def pair(x):
    return np.sum(x * x), {"size": x.size}


class Model:
    """A method is pickled with its object."""

    def __init__(self, k):
        self.k = k

    def loss(self, x):
        return np.sum(x * x) * self.k

    @dj.grad(argnums=1)
    def slope(self, x):
        return np.sum(x * x) * self.k

    @staticmethod
    @dj.jit
    def doubled(x):
        return x * 2.0


@dj.grad
def decorated(x):
    return np.sum(x * x * x)


@dj.custom_jvp
def custom(x):
    return x * x


@custom.defjvp
def custom_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return x * x, 3.0 * x * t


@dj.checkpoint
def kept(x):
    return np.sin(x) * x


def with_rules(x):
    return np.sum(custom(kept(x)))


MADE = {
    "grad": lambda: dj.grad(loss),
    "options of grad": lambda: dj.grad(loss, argnums=("x",), backend="python"),
    "value and grad, with aux": lambda: dj.value_and_grad(pair, has_aux=True),
    "jit": lambda: dj.jit(field),
    "grad of grad": lambda: dj.grad(lambda_free),
    "jacobian": lambda: dj.jacobian(field),
    "jacfwd": lambda: dj.jacfwd(field),
    "hessian": lambda: dj.hessian(loss),
    "vmap": lambda: dj.vmap(np_free, in_axes=0),
    "vmap of grad": lambda: dj.vmap(dj.grad(np_free)),
    "checkpoint": lambda: dj.checkpoint(field),
    "constant": lambda: dj.constant(field),
    "method": lambda: dj.grad(Model(3.0).loss),
    "decorated method of an object": lambda: dj.jit(Model(3.0).slope),
    "decorated static method": lambda: Model.doubled,
    "decorated": lambda: decorated,
    "grad of a decorated one": lambda: dj.jacobian(decorated),
    "custom rules": lambda: dj.grad(with_rules),
}


def lambda_free(x):
    return dj.grad(loss)(x)[0]


def np_free(x):
    return x * x * 1.5


def arrays(result):
    import optree

    return [np.asarray(leaf) for leaf in optree.tree_leaves(result)]


def travelled(g, protocol=None):
    return pickle.loads(pickle.dumps(g, protocol))  # noqa: S301 - our own


def same(a, b):
    for x, y in zip(arrays(a), arrays(b), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", MADE)
def test_in_every_state(name):
    g = MADE[name]()
    before = travelled(g)
    expected = g(X)
    after = travelled(g)
    same(before(X), expected)
    same(after(X), expected)
    same(g(np.float32(X)), after(np.float32(X)))
    twice = travelled(after)
    same(twice(X), expected)
    assert type(twice) is type(g)
    assert getattr(twice, "__name__", None) == getattr(g, "__name__", None)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        same(travelled(g, protocol)(X), expected)


@pytest.mark.parametrize("name", MADE)
def test_copies(name):
    g = MADE[name]()
    expected = g(X)
    same(copy.copy(g)(X), expected)
    same(copy.deepcopy(g)(X), expected)


def test_a_copy_is_one_of_its_own():
    g = dj.grad(loss)
    g(X)
    other = copy.copy(g)
    assert other.function is loss
    assert other._cache is not g._cache
    assert copy.copy(decorated) is decorated


def test_what_travels_is_small():
    g = dj.grad(loss)
    before = pickle.dumps(g)
    g(X)
    g(np.ones((4, 5)))
    assert pickle.dumps(g) == before
    assert len(before) < 500


@pytest.mark.parametrize("has_aux", [False, True])
def test_linear_maps(has_aux):
    f = pair if has_aux else field
    bar, dot = (1.0, X) if has_aux else (X, X)
    pullback = dj.vjp(f, X, has_aux=has_aux)[1]
    tangent_map = dj.linearize(f, X, has_aux=has_aux)[1]
    for restored in (travelled(pullback), copy.copy(pullback), copy.deepcopy(pullback)):
        same(restored(bar), pullback(bar))
        assert restored.__name__ == "pullback"
    restored = travelled(tangent_map)
    same(travelled(restored)(dot), tangent_map(dot))
    same(restored(dot), tangent_map(dot))
    same(dj.vmap(restored)(np.eye(3)), dj.vmap(tangent_map)(np.eye(3)))


def test_a_linear_map_keeps_its_point():
    x = X.copy()
    pullback = dj.vjp(field, x)[1]
    expected = pullback(X)
    x[:] = 5.0
    same(travelled(pullback)(X), expected)


def test_a_transposed_map():
    transposed = dj.linear_transpose(np_free_linear, X)
    same(travelled(transposed)(X), transposed(X))


def np_free_linear(x):
    return 3.0 * x


def test_functions_that_do_not_travel():
    for g in (dj.grad(lambda x: x * x), dj.jit(closure(2.0))):
        g(1.5)
        with pytest.raises((pickle.PicklingError, AttributeError), match=r"lambda|local"):
            pickle.dumps(g)
        assert copy.copy(g)(1.5) == g(1.5)


def closure(k):
    def f(x):
        return x * k

    return f


# Other processes ------------------------------------------------------------------------------------------------------

MODULE = """
import numpy as np
import diffjit as dj

def loss(x, scale=2.0):
    return np.sum(np.sin(x) * x) * scale

gradient = dj.value_and_grad(loss)

@dj.grad
def decorated(x):
    return np.sum(x * x * x)

class Model:
    def __init__(self, k): self.k = k
    def loss(self, x): return np.sum(x * x) * self.k
"""
CHILD = """
import pickle, sys
import numpy as np
from diffjit.api.engine.derived import Derived
made = []
plain = Derived.specialise
Derived.specialise = lambda self, args, kwargs: made.append(self.__name__) or plain(self, args, kwargs)
with open(sys.argv[1], "rb") as file:
    gs, x = pickle.load(file)
with open(sys.argv[1], "wb") as file:
    pickle.dump(([g(x) for g in gs], made), file)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "travelling.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("DIFFJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(dj.settings, "cache_dir", str(tmp_path / "cache"))
    yield importlib.import_module("travelling")
    sys.modules.pop("travelling", None)


def test_another_process(module, tmp_path):
    """The worker has the same cache: it specialises nothing."""
    gs = [module.gradient, module.decorated, dj.grad(module.Model(3.0).loss)]
    expected = [g(X) for g in gs]
    (tmp_path / "sent").write_bytes(pickle.dumps((gs, X)))
    (tmp_path / "child.py").write_text(textwrap.dedent(CHILD))
    subprocess.run([sys.executable, str(tmp_path / "child.py"), str(tmp_path / "sent")], check=True)  # noqa: S603
    found, made = pickle.loads((tmp_path / "sent").read_bytes())  # noqa: S301 - our own
    same(found, expected)
    assert "decorated" not in made or not native.SUPPORTED
    assert made.count("loss") <= 1 or not native.SUPPORTED  # the object's method has no manifest


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_pools_of_processes(module, method):
    points = [X, 2.0 * X, X[:2]]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        for g in (module.gradient, module.decorated):
            g(X)
            same(list(pool.map(g, points)), [g(p) for p in points])


def no_attribute(x):
    return x.length


def not_equal(x):
    return x * dj.stop_gradient(x)


@pytest.mark.parametrize(
    ("act", "cls"),
    [
        (lambda: dj.jit(no_attribute)(1.0), AttributeError),
        (lambda: dj.jit(lambda x: x @ np.ones((2, 2)))(np.ones(3)), ValueError),
        (lambda: dj.check_grads(not_equal, (2.0,)), AssertionError),
        (lambda: dj.jit(3), dj.UsageError),
    ],
)
def test_errors_go_to_other_processes(act, cls):
    """Also those whose class is diffjit's and Python's at once."""
    with pytest.raises(dj.DiffjitError) as caught:
        act()
    made = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert type(made) is type(caught.value)
    assert isinstance(made, cls)
    assert str(made) == str(caught.value)
    assert (made.code, made.cure) == (caught.value.code, caught.value.cure)


def test_joblib(module):
    joblib = pytest.importorskip("joblib")
    points = [X, 2.0 * X]
    for g in (module.gradient, module.decorated, dj.grad(lambda x: np.sum(x * x))):
        expected = [g(p) for p in points]
        same(joblib.Parallel(2, backend="loky")(joblib.delayed(g)(p) for p in points), expected)
