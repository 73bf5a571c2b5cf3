"""A derivative is that of what Python would run now: code, classes, names and files change under it."""

import functools
import importlib
import linecache
import os
import sys
import textwrap
import types

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import diffjit as dj
from diffjit.errors import DiffjitError

HEAD = "import math\nimport functools\nimport numpy as np\nimport diffjit as dj\n"
BACKENDS = ("python", "numba")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a module's file; `loaded` imports it, once or again."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "edited", raising=False)
    moments = iter(range(1_000_000_000, 2_000_000_000, 100))

    def write(text):
        file = tmp_path / "edited.py"
        file.write_text(HEAD + textwrap.dedent(text))
        moment = next(moments)
        os.utime(file, (moment, moment))  # two edits within the clock's resolution
        importlib.invalidate_caches()

    yield write
    sys.modules.pop("edited", None)


def loaded():
    return importlib.import_module("edited")


def slope(f, x):
    """What Python says now."""
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


def agrees(g, f, x=1.3):
    np.testing.assert_allclose(g(x), slope(f, x), rtol=1e-6)


# Files that are edited ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_reload(write, backend):
    write("def f(x): return x * x")
    module = loaded()
    agrees(dj.grad(module.f, backend=backend), module.f)
    write("def f(x): return x * x * x")
    importlib.reload(module)
    agrees(dj.grad(module.f, backend=backend), module.f)
    write("def f(x): return x * x * 3.0")
    importlib.reload(module)
    agrees(dj.grad(module.f, backend=backend), module.f)


def test_reload_of_a_helper(write):
    write("def h(x): return x * x\ndef f(x): return h(x) + x")
    module = loaded()
    g = dj.grad(module.f)
    agrees(g, module.f)
    old = module.f
    write("def h(x): return x * x * x\ndef f(x): return h(x) + x")
    importlib.reload(module)
    agrees(g, old)  # the function from before finds the new helper in its module
    agrees(dj.grad(module.f), module.f)


@pytest.mark.parametrize(
    "after",
    [
        "def f(x): return x * x * x",
        "def f(x): return x * 3.0",
        "def f(x): return x * x + 0 * np.sin(x)",
        "def f(y): return y * y",
        "def f(x, k=1): return x * x",
        "f = lambda x: x * x",
        "x = 3",
        "def f(x) return",
    ],
)
def test_a_file_edited_after_its_import(write, after):
    write("def f(x): return x * x")
    f = loaded().f
    write(after)
    with pytest.raises(DiffjitError, match="DJ110"):
        dj.grad(f)(1.3)


def test_an_edit_where_the_text_was_read_before(write):
    write("def f(x): return x * 2.0\ndef h(x): return x * x")
    module = loaded()
    agrees(dj.grad(module.f), module.f)
    write("def f(x): return x * 2.0\ndef h(x): return x * x * x")
    agrees(dj.grad(module.f), module.f)
    with pytest.raises(DiffjitError, match=r"DJ110[\s\S]*importlib.reload"):
        dj.grad(module.h)(1.3)


def test_lines_that_moved(write):
    write("def f(x):\n    y = x * x\n    return y * x")
    f = loaded().f
    write("# a remark\n\nother = 1\nclass C:\n    pass\ndef f(x):\n    # another\n    y = x * x\n\n    return y * x\n")
    agrees(dj.grad(f), f)


def test_lines_that_moved_onto_another_function(write):
    write("def f(x):\n    return x * x\ndef g(x):\n    return x * x * x")
    f = loaded().f
    write("def g(x):\n    return x * x * x\ndef f(x):\n    return x * x")
    agrees(dj.grad(f), f)


def test_an_old_function_is_read_once(write):
    write("def f(x): return x * x")
    f = loaded().f
    g = dj.grad(f)
    agrees(g, f)
    write("def f(x): return x * x * x")
    assert g(np.float32(1.5)) == np.float32(3.0)  # arguments of new types, from the text that was proven then


def test_bytecode_without_source(tmp_path, monkeypatch):
    import py_compile

    file = tmp_path / "sourceless.py"
    file.write_text("def f(x): return x * {}\n".format("7.25"))  # a text that nobody holds
    py_compile.compile(str(file), cfile=str(tmp_path / "sourceless.pyc"))
    file.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    with pytest.raises(DiffjitError, match="DJ110"):
        dj.grad(importlib.import_module("sourceless").f)(1.3)


# Code and defaults that are replaced ----------------------------------------------------------------------------------


def square(x):
    return x * x


def cube(x):
    return x * x * x


def copied(f):
    return types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


@pytest.mark.parametrize("backend", BACKENDS)
def test_code_of_the_function(backend):
    f = copied(square)
    g = dj.grad(f, backend=backend)
    agrees(g, f)
    f.__code__ = cube.__code__
    agrees(g, f)
    f.__code__ = square.__code__
    agrees(g, f)


@pytest.mark.parametrize("verb", ["jit", "grad of grad", "jvp", "vjp", "linearize", "vmap", "jacobian", "hvp"])
def test_code_of_the_function_under_each_verb(verb):
    f = copied(square)
    x = np.array([0.7, 1.3])

    def result(f):
        return {
            "jit": lambda: made(1.3),
            "grad of grad": lambda: made(1.3),
            "jvp": lambda: dj.jvp(f, (1.3,), (1.0,))[1],
            "vjp": lambda: dj.vjp(f, 1.3)[1](1.0)[0],
            "linearize": lambda: dj.linearize(f, 1.3)[1](1.0),
            "vmap": lambda: made(x),
            "jacobian": lambda: made(x),
            "hvp": lambda: dj.hvp(f, (1.3,), (1.0,)),
        }[verb]()

    def verbs(f):
        kinds = {"jit": dj.jit, "grad of grad": lambda f: dj.grad(dj.grad(f)), "vmap": dj.vmap, "jacobian": dj.jacobian}
        return kinds.get(verb, lambda f: f)(f)

    made = verbs(f)
    before = result(f)
    f.__code__ = cube.__code__
    after = result(f)
    made = verbs(cube)
    np.testing.assert_array_equal(after, result(cube))
    assert not np.array_equal(before, after)


def test_code_of_a_helper():
    helper = copied(square)

    def inner(x):
        return helper(x) + x

    g = dj.grad(inner)
    agrees(g, inner)
    helper.__code__ = cube.__code__
    agrees(g, inner)


def test_defaults_replaced():
    def f(x, a=2.0, b=3.0):
        return x * x * a + b * x

    g = dj.grad(f)
    agrees(g, f)
    f.__defaults__ = (5.0, 7.0)
    agrees(g, f)
    f.__defaults__ = (11.0, 13.0, 17.0)
    agrees(g, f)
    assert dj.grad(f)(1.3) == g(1.3)
    f.__defaults__ = None
    with pytest.raises(TypeError):
        g(1.3)


def test_keyword_defaults_replaced():
    def f(x, *, a=2.0):
        return x * x * a

    g = dj.grad(f)
    agrees(g, f)
    f.__kwdefaults__["a"] = 3.0
    agrees(g, f)
    f.__kwdefaults__ = {"a": 4.0}
    agrees(g, f)
    f.__kwdefaults__ = None
    with pytest.raises(TypeError):
        g(1.3)


def test_closures_rebound():
    helper, scale = square, 2.0

    def f(x):
        return helper(x) * scale

    g = dj.grad(f)
    agrees(g, f)
    helper = cube
    agrees(g, f)
    scale = 5.0
    agrees(g, f)
    scale = 4
    agrees(g, f)


def test_attributes_of_functions():
    def helper(x):
        return x * helper.scale if helper.on else x

    helper.scale, helper.on = 2.0, True
    g = dj.grad(lambda x: helper(x) * x)
    assert g(1.5) == 6.0
    helper.scale = 3.0
    assert g(1.5) == 9.0
    helper.on = False
    assert g(1.5) == 3.0


def test_a_partial_is_given_another_argument():
    def helper(x, f, k=1.0):
        return f(x) * k

    bound = functools.partial(helper, f=square)

    def f(x):
        return bound(x)

    g = dj.grad(f)
    agrees(g, f)
    bound.keywords["f"] = cube
    agrees(g, f)
    bound.keywords["k"] = 4.0
    agrees(g, f)


# Classes --------------------------------------------------------------------------------------------------------------


def fresh_classes():
    class Base:
        scale = 2.0
        on = True

        def helper(self, x):
            return x * x

        @property
        def factor(self):
            return 3.0

        @staticmethod
        def fixed(x):
            return x * 2.0

        @classmethod
        def of_class(cls, x):
            return x * cls.scale

        def __mul__(self, x):
            return x * 5.0

        def __call__(self, x):
            return self.helper(x) * self.factor + self.fixed(x) + self.of_class(x) + self * x if self.on else x

    class Derived(Base):
        def helper(self, x):
            return super().helper(x) * 2.0

    return Base, Derived


CHANGES = {
    "method": lambda base, derived, obj: setattr(derived, "helper", lambda self, x: x * x * x),
    "method of a base": lambda base, derived, obj: setattr(base, "helper", lambda self, x: x * x * x),
    "method removed": lambda base, derived, obj: delattr(derived, "helper"),
    "code of a method": lambda base, derived, obj: setattr(base.helper, "__code__", (lambda self, x: x).__code__),
    "property": lambda base, derived, obj: setattr(base, "factor", property(lambda self: 7.0)),
    "property becomes a number": lambda base, derived, obj: setattr(base, "factor", 7.0),
    "attribute that hides a base's": lambda base, derived, obj: setattr(derived, "factor", 7.0),
    "static method": lambda base, derived, obj: setattr(base, "fixed", staticmethod(cube)),
    "class method": lambda base, derived, obj: setattr(base, "of_class", classmethod(lambda cls, x: x * x)),
    "number of the class": lambda base, derived, obj: setattr(base, "scale", 11.0),
    "flag of the class": lambda base, derived, obj: setattr(base, "on", False),
    "operator": lambda base, derived, obj: setattr(base, "__mul__", lambda self, x: x * x),
    "operator that hides a base's": lambda base, derived, obj: setattr(derived, "__mul__", lambda self, x: x * x),
    "method of the object": lambda base, derived, obj: setattr(obj, "helper", cube),
    "class of the object": lambda base, derived, obj: setattr(obj, "__class__", base),
    "bases": lambda base, derived, obj: setattr(derived, "__bases__", (fresh_classes()[1],)),
    "call": lambda base, derived, obj: setattr(derived, "__call__", lambda self, x: x * x * x),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", ["object outside", "object made inside", "the object itself"])
def test_classes(change, way):
    base, derived = fresh_classes()
    obj = derived()
    if way == "object made inside" and change in ("method of the object", "class of the object"):
        return
    f = {
        "object outside": lambda x: obj(x) + x,
        "object made inside": lambda x: derived()(x) + x,
        "the object itself": obj,
    }[way]
    g = dj.grad(f, backend="python")
    agrees(g, f)
    CHANGES[change](base, derived, obj)
    agrees(g, f)


def test_a_bound_method_keeps_its_function():
    base, _ = fresh_classes()
    method = base().helper
    g = dj.grad(method)
    agrees(g, method)
    base.helper = lambda self, x: x * x * x
    agrees(g, method)
    assert g(2.0) == 4.0


def test_a_class_of_the_arguments():
    class Point:
        def __init__(self, x):
            self.x = x

        def size(self):
            return self.x * self.x

    g = dj.grad(lambda p: p.size())
    assert g(Point(1.5)).x == 3.0
    Point.size = lambda self: self.x * 7.0
    assert g(Point(1.5)).x == 7.0


def test_a_method_that_was_missing():
    class Box:
        def __init__(self, x):
            self.x = x

    def f(x):
        return Box(x).x * 2.0 if not hasattr(Box(x), "twice") else Box(x).twice()

    g = dj.grad(f, backend="python")
    assert g(1.5) == 2.0
    Box.twice = lambda self: self.x * self.x
    assert g(1.5) == 3.0


# Names ----------------------------------------------------------------------------------------------------------------


def test_a_global_that_hides_a_builtin(write):
    write("def f(x): return abs(x) * max(x, 1.0)")
    module = loaded()
    g = dj.grad(module.f)
    agrees(g, module.f)
    module.abs = lambda x: x * x * x
    agrees(g, module.f)
    del module.abs
    agrees(g, module.f)


def test_a_builtin_replaced(write, monkeypatch):
    write("def f(x): return abs(x) * x")
    module = loaded()
    g = dj.grad(module.f)
    agrees(g, module.f)
    monkeypatch.setattr("builtins.abs", lambda x: x * x * x)
    agrees(g, module.f)


OTHERS = {
    "numpy.sin": np.cos,
    "numpy.mean": np.sum,
    "numpy.linalg.norm": lambda x: x[0] * x[1],
    "math.tan": lambda x: 3.0 * x * x,
    "scipy.optimize.brentq": lambda f, a, b: f(a) * b,
    "scipy.special.erf": scipy.special.erfc,
    "functools.reduce": lambda f, items: f(items[0], items[0]),
    "numpy.random.standard_normal": lambda: 2.0,
    "numpy.pi": 3.0,
}


@pytest.mark.parametrize("name", OTHERS)
def test_functions_of_libraries_replaced(write, monkeypatch, tmp_path, name):
    monkeypatch.setattr(dj.settings, "cache_dir", str(tmp_path / "cache"))
    called = {"reduce": "(lambda a, b: a * b, [x, x])", "brentq": "(lambda t: t * t - x, 0.0, 2.0)"}
    called |= {"pi": "", "standard_normal": "()", "norm": "(np.array([x, 2 * x]))", "mean": "(np.array([x, 2 * x]))"}
    last = name.rpartition(".")[2]
    text = f"import scipy.optimize, scipy.special, numpy\ndef f(x): return x * x * {name}{called.get(last, '(x)')}"
    write(text)
    module = loaded()
    g = dj.grad(module.f)
    if last != "standard_normal":
        agrees(g, module.f)
    g(1.3)
    with monkeypatch.context() as now:
        now.setattr(name, OTHERS[name])
        agrees(g, module.f)
        sys.modules.pop("edited")
        agrees(dj.grad(loaded().f), module.f)  # another process would find what the first one has kept
    if last != "standard_normal":
        agrees(g, module.f)


def test_vectorized_functions_are_given_another_one():
    v = np.vectorize(lambda x, k: x * k)
    g, x = dj.grad(lambda x: v(x, 3.0).sum()), np.array([0.5, 2.0])
    np.testing.assert_allclose(g(x), [3.0, 3.0])
    v.pyfunc = lambda x, k: x**2 * k
    np.testing.assert_allclose(g(x), [3.0, 12.0])


def test_a_global_that_is_gone(write):
    write("k = 2.0\ndef h(x): return x * x\ndef f(x): return h(x) * k")
    module = loaded()
    g = dj.grad(module.f)
    agrees(g, module.f)
    del module.k
    with pytest.raises(NameError):
        g(1.3)
    module.k = 3.0
    agrees(g, module.f)


def test_functions_in_containers(write):
    write("table = {'h': lambda x: x * x}\nitems = [lambda x: x]\ndef f(x): return table['h'](x) * items[0](x)")
    module = loaded()
    g = dj.grad(module.f)
    agrees(g, module.f)
    module.table["h"] = cube
    agrees(g, module.f)
    module.items[0] = square
    agrees(g, module.f)


# What travels in files ------------------------------------------------------------------------------------------------


def test_manifests_after_an_edit(write, tmp_path, monkeypatch):
    """Each state of the file has its own, and a file edited after its import brings none back."""
    monkeypatch.setattr(dj.settings, "cache_dir", str(tmp_path / "cache"))
    texts = ["def h(x): return x * x\ndef f(x): return h(x)", "def h(x): return x * x * x\ndef f(x): return h(x)"]
    for text in texts * 2:
        write(text)
        sys.modules.pop("edited", None)
        module = loaded()
        agrees(dj.grad(module.f), module.f)
    module.h.__code__ = square.__code__
    agrees(dj.grad(module.f), module.f)
    sys.modules.pop("edited", None)
    write(texts[0])
    module = loaded()
    linecache.checkcache()
    write(texts[1])
    agrees(dj.grad(module.f), module.f)  # from the manifest: the code is what it was made for
