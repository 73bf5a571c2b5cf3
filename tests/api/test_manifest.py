"""Programs that another process has left on disk: found again, but not once something that they rest on has changed."""

import importlib
import linecache
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import diffjit as dj
from diffjit import rare
from diffjit.api.engine.derived import Derived
from diffjit.lowering.calls import native
from diffjit.primitives import registry

pytestmark = pytest.mark.skipif(not native.SUPPORTED, reason="machine code is linked by Numba here")

HEAD = "import math\nimport numpy as np\nimport diffjit as dj\n"
X = np.array([0.3, 0.7, 1.1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    path = tmp_path / "cache"
    monkeypatch.setattr(dj.settings, "cache_dir", str(path))
    return path


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Makes a module of a text, as a new process would import it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(text):
        (tmp_path / "program.py").write_text(HEAD + textwrap.dedent(text))
        linecache.checkcache()
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "program", raising=False)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return importlib.import_module("program")

    return make


@pytest.fixture
def specialised(monkeypatch):
    """The functions that were specialised so far."""
    seen = []
    plain = Derived.specialise

    def specialise(self, args, kwargs):
        seen.append(self.__name__)
        return plain(self, args, kwargs)

    monkeypatch.setattr(Derived, "specialise", specialise)
    return seen


def quotient(f, *args):
    """The derivative of a function by its first argument along ones, numerically."""
    h = 1e-6
    return (f(args[0] + h, *args[1:]) - f(args[0] - h, *args[1:])) / (2 * h)


def check(module, *args):
    gradient = dj.grad(module.loss)(*(args or (X,)))
    np.testing.assert_allclose(np.sum(gradient), quotient(module.loss, *(args or (X,))), rtol=1e-6)


SAME = {
    "array expression": "def loss(x): return np.sum(np.sin(x) * x)",
    "loop": """
        def loss(x):
            total = 0.0
            for i in range(x.size):
                total += math.exp(x[i])
            return total
    """,
    "callee": """
        def square(x): return x * x
        def loss(x): return np.sum(square(x))
    """,
    "closure": """
        def make(scale, inner):
            def loss(x): return np.sum(inner(x) * scale)
            return loss
        loss = make(3.0, lambda v: v * v)
    """,
    "captured numbers and arrays": """
        weights, rate, pair = np.arange(3.0), 2.5, (1.0, 2)
        def loss(x): return np.sum(x * x * weights) * rate + pair[0] * pair[1] * x[0]
    """,
    "defaults": "def loss(x, power=3, *, kind='sum'): return np.sum(x ** power) if kind == 'sum' else np.prod(x)",
    "nested derivative": """
        def inner(t): return np.sin(t) * t
        def loss(x): return dj.grad(inner)(x[0]) * x[1]
    """,
    "stop gradient": "def loss(x): return np.sum(x * x) + 0.0 * np.sum(dj.stop_gradient(x))",
    "names of NumPy": """
        from numpy import sum as total
        from numpy.linalg import norm
        def loss(x): return total(x * x) + norm(x)
    """,
    "a solver of SciPy's": """
        from scipy.integrate import solve_ivp
        def slope(t, y, rate): return -rate * y
        tight = 1e-11
        def loss(x): return np.sum(solve_ivp(slope, (0.0, 1.0), x, args=(x[1],), rtol=tight, atol=tight).y[:, -1])
    """,
    "a root": """
        from scipy.optimize import brentq
        def loss(x): return brentq(lambda t, a: np.cos(t) - a * t, 0.0, 2.0, args=(x[0],)) * x[1] + x[2]
    """,
    "functions that are made for each of several": """
        from numpy.polynomial import chebyshev, legendre
        def loss(x): return np.sum(legendre.legder(x)) + chebyshev.chebval(x[0], x)
    """,
    "an error with words": """
        def loss(x):
            if x[0] > 100.0:
                raise ValueError(f"too large: {x[0]}")
            return np.sum(x * x)
    """,
}


@pytest.mark.parametrize("name", SAME)
def test_what_has_not_changed_is_found(name, module, folder, specialised):
    check(module(SAME[name]))
    assert "loss" in specialised
    specialised.clear()
    check(module(SAME[name]))
    assert specialised == []


MAKE_DEEP = """
def make(g):
    def h(x): return g(x)
    def loss(x): return np.sum(h(x))
    return loss
"""
MAKE_FLAG = """
def make(flag):
    def loss(x): return np.sum(x * x) if flag else np.sum(x)
    return loss
"""
PARTIAL = """
import functools
def g(x, kind): return x * x if kind == 'a' else x
h = functools.partial(g, kind='CHOSEN')
def loss(x): return np.sum(h(x))
"""
CHANGED = {
    "code": ("def loss(x): return np.sum(x * x)", "def loss(x): return np.sum(x * x * x)"),
    "a constant in it": ("def loss(x): return np.sum(2.0 * x)", "def loss(x): return np.sum(3.0 * x)"),
    "code of a callee": (
        "def g(x): return x * x\ndef loss(x): return np.sum(g(x))",
        "def g(x): return x * x * x\ndef loss(x): return np.sum(g(x))",
    ),
    "code of a callee's callee": (
        "def h(x): return 2.0 * x\ndef g(x): return h(x) * x\ndef loss(x): return np.sum(g(x))",
        "def h(x): return 4.0 * x\ndef g(x): return h(x) * x\ndef loss(x): return np.sum(g(x))",
    ),
    "another callee": (
        "def g(x): return x * x\ndef h(x): return x\nf = g\ndef loss(x): return np.sum(f(x))",
        "def g(x): return x * x\ndef h(x): return x\nf = h\ndef loss(x): return np.sum(f(x))",
    ),
    "a global string": (
        "kind = 'a'\ndef loss(x): return np.sum(x * x) if kind == 'a' else np.sum(x)",
        "kind = 'b'\ndef loss(x): return np.sum(x * x) if kind == 'a' else np.sum(x)",
    ),
    "a global flag": (
        "square = True\ndef loss(x): return np.sum(x * x) if square else np.sum(x)",
        "square = False\ndef loss(x): return np.sum(x * x) if square else np.sum(x)",
    ),
    "a global number": (
        "rate = 2.0\ndef loss(x): return np.sum(x * rate)",
        "rate = 3.0\ndef loss(x): return np.sum(x * rate)",
    ),
    "a global number that is static": (
        "n = 2\ndef loss(x): return sum([x[0] ** (k + 1) for k in range(n)])",
        "n = 3\ndef loss(x): return sum([x[0] ** (k + 1) for k in range(n)])",
    ),
    "the type of a global": (
        "rate = 2.0\ndef loss(x): return np.sum(x * rate)",
        "rate = np.array([1.0, 2.0, 3.0])\ndef loss(x): return np.sum(x * rate)",
    ),
    "the length of a tuple": (
        "rates = (1.0, 2.0)\ndef loss(x): return sum([r * x[0] for r in rates])",
        "rates = (1.0, 2.0, 3.0)\ndef loss(x): return sum([r * x[0] for r in rates])",
    ),
    "a string in a list": (
        "steps = ['a', 'b']\ndef loss(x): return sum([x[0] if s == 'a' else x[0] ** 2 for s in steps])",
        "steps = ['a', 'a']\ndef loss(x): return sum([x[0] if s == 'a' else x[0] ** 2 for s in steps])",
    ),
    "the keys of a dict": (
        "rates = {'a': 1.0}\ndef loss(x): return x[0] * (rates['a'] if 'b' not in rates else 7.0)",
        "rates = {'a': 1.0, 'b': 2.0}\ndef loss(x): return x[0] * (rates['a'] if 'b' not in rates else 7.0)",
    ),
    "a default": (
        "def loss(x, kind='a'): return np.sum(x * x) if kind == 'a' else np.sum(x)",
        "def loss(x, kind='b'): return np.sum(x * x) if kind == 'a' else np.sum(x)",
    ),
    "a callee's default": (
        "def g(x, kind='a'): return x * x if kind == 'a' else x\ndef loss(x): return np.sum(g(x))",
        "def g(x, kind='b'): return x * x if kind == 'a' else x\ndef loss(x): return np.sum(g(x))",
    ),
    "a default of keywords": (
        "def g(x, *, kind='a'): return x * x if kind == 'a' else x\ndef loss(x): return np.sum(g(x))",
        "def g(x, *, kind='b'): return x * x if kind == 'a' else x\ndef loss(x): return np.sum(g(x))",
    ),
    "a function in a closure": (
        "def make(g):\n    def loss(x): return np.sum(g(x))\n    return loss\nloss = make(lambda v: v * v)",
        "def make(g):\n    def loss(x): return np.sum(g(x))\n    return loss\nloss = make(lambda v: v + v)",
    ),
    "a function in a closure's closure": (
        MAKE_DEEP + "loss = make(lambda v: v * v)",
        MAKE_DEEP + "loss = make(lambda v: v + v)",
    ),
    "a flag in a closure": (MAKE_FLAG + "loss = make(True)", MAKE_FLAG + "loss = make(False)"),
    "a name that was built in": (
        "def loss(x): return abs(x[0]) * x[1]",
        "def loss(x): return abs(x[0]) * x[1]\ndef abs(x): return 5.0 * x",
    ),
    "a class": (
        "class Model:\n    def __call__(self, x): return x * x\nmodel = Model()\ndef loss(x): return np.sum(model(x))",
        "class Model:\n    def __call__(self, x): return 3 * x\nmodel = Model()\ndef loss(x): return np.sum(model(x))",
    ),
    "an attribute of a class": (
        "class Model:\n    kind = 'a'\ndef loss(x): return np.sum(x * x) if Model.kind == 'a' else np.sum(x)",
        "class Model:\n    kind = 'b'\ndef loss(x): return np.sum(x * x) if Model.kind == 'a' else np.sum(x)",
    ),
    "an attribute of a function": (
        "def loss(x): return np.sum(x * x) if loss.kind == 'a' else np.sum(x)\nloss.kind = 'a'",
        "def loss(x): return np.sum(x * x) if loss.kind == 'a' else np.sum(x)\nloss.kind = 'b'",
    ),
    "an enum": (
        "import enum\nclass E(enum.Enum):\n    A = 1\ndef loss(x): return x[0] ** E.A.value",
        "import enum\nclass E(enum.Enum):\n    A = 2\ndef loss(x): return x[0] ** E.A.value",
    ),
    "a partial's argument": (PARTIAL.replace("CHOSEN", "a"), PARTIAL.replace("CHOSEN", "b")),
    "what a derivative is taken of": (
        "def g(t): return t * t\ndg = dj.grad(g)\ndef loss(x): return dg(x[0]) * x[1]",
        "def g(t): return t ** 4\ndg = dj.grad(g)\ndef loss(x): return dg(x[0]) * x[1]",
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_has_changed_is_not(name, module, folder):
    before, after = CHANGED[name]
    check(module(before))
    check(module(before))
    check(module(after))
    check(module(after))
    check(module(before))


def test_globals_change_in_the_process_that_found_it(module, folder, specialised):
    text = "rate, kind = 2.0, 'a'\ndef loss(x): return np.sum(x * x) * rate if kind == 'a' else np.sum(x)"
    check(module(text))
    again = module(text)
    gradient = dj.grad(again.loss)
    assert gradient(X)[0] == pytest.approx(4.0 * X[0])
    assert len(specialised) == 1
    again.rate = 3.0
    assert gradient(X)[0] == pytest.approx(6.0 * X[0])
    assert len(specialised) == 1
    again.kind = "b"
    assert gradient(X)[0] == 1.0
    assert len(specialised) == 2


def test_other_arguments_are_other_programs(module, folder):
    text = "def loss(x, k=1, tree=None): return np.sum(x ** k) * (2.0 if tree is None else np.sum(tree['a']))"
    cases = [
        (X,), (X, 2), (X, 3), (X, 2.0), (X.astype(np.float32), 2), (np.asfortranarray(np.ones((2, 3))), 2),
        (np.ones((1, 3)), 2), (0.5, 2), (X, 2, {"a": 4.0}), (X, 2, {"a": X}), (X[::2], 2), (np.float32(0.5), 3),
    ]  # fmt: skip
    for _ in range(2):
        loaded = module(text)
        for arguments in cases:
            found, wanted = dj.grad(loaded.loss)(*arguments), dj.grad(loaded.loss, backend="python")(*arguments)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
            assert type(found) is type(wanted)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype


def test_other_derivatives_are_other_programs(module, folder):
    text = "def loss(x, y): return np.sum(x * y * y), y\ndef first(x, y): return x * y * y"
    x, y = 2.0, 3.0
    for _ in range(2):
        loaded = module(text)
        loss = loaded.loss
        assert dj.grad(loss, has_aux=True)(x, y) == (9.0, 3.0)
        assert dj.grad(loss, argnums=1, has_aux=True)(x, y) == (12.0, 3.0)
        assert dj.grad(loss, argnums=(0,), has_aux=True)(x, y) == ((9.0,), 3.0)
        assert dj.value_and_grad(loss, argnums="y", has_aux=True)(x, y) == ((18.0, 3.0), 12.0)
        assert dj.jit(loss)(x, y) == (18.0, 3.0)
        assert dj.grad(dj.grad(loaded.first, argnums=1), argnums=1)(x, y) == 4.0


VERBS = {
    "jacfwd": (lambda f: dj.jacfwd(f.curve), lambda x: np.diag(np.cos(x))),
    "jacrev": (lambda f: dj.jacrev(f.curve), lambda x: np.diag(np.cos(x))),
    "hessian": (lambda f: dj.hessian(f.loss), lambda x: np.diag(-np.sin(x))),
    "vmap": (lambda f: dj.vmap(f.curve), np.sin),
    "vmap of grad": (lambda f: dj.vmap(dj.grad(f.loss)), np.cos),
    "vmap of grad, columns": (lambda f: dj.vmap(dj.grad(f.loss), in_axes=1, out_axes=1), np.cos),
    "jvp": (lambda f: lambda x: dj.jvp(f.curve, (x,), (np.ones(3),))[1], np.cos),
    "jvp along every second number": (lambda f: lambda x: dj.jvp(f.curve, (x,), (np.ones(6)[::2],))[1], np.cos),
    "jvp along what is only read": (
        lambda f: lambda x: dj.jvp(f.curve, (x,), (np.broadcast_to(1.0, 3),))[1],
        np.cos,
    ),
    "jvp at every second number": (
        lambda f: lambda x: dj.jvp(f.curve, (np.repeat(x, 2)[::2],), (np.ones(6)[::2],))[1],
        np.cos,
    ),
    "hvp": (lambda f: lambda x: dj.hvp(f.loss, (x,), (x,)), lambda x: -np.sin(x) * x),
    "jit of vmap": (lambda f: dj.jit(dj.vmap(f.loss)), lambda x: np.sum(np.sin(x), axis=1)),
}


def test_verbs_around_a_function_are_found(module, folder, specialised):
    text = "def curve(x): return np.sin(x)\ndef loss(x): return np.sum(np.sin(x))"
    rows = np.array([[0.3, 0.7, 1.1], [0.2, 0.1, 0.4]])
    for _ in range(2):
        specialised.clear()
        loaded = module(text)
        for name, (verb, expected) in VERBS.items():
            x = rows if "vmap" in name else rows[0]
            np.testing.assert_allclose(verb(loaded)(x), expected(x), rtol=1e-12, err_msg=name)
    assert specialised == []


def test_parts_that_were_asked_for_are_found_and_hide_nothing(module, folder, specialised, monkeypatch):
    text = """
        from scipy.integrate import odeint
        def slope(y, t, rate): return -rate * (y - np.cos(t))
        def end(rate): return odeint(slope, 0.5, np.linspace(0.0, 2.0, 5), args=(rate,))[-1, 0]
        def square(x): return x * x
    """
    for part in rare.PARTS:
        monkeypatch.setattr(part, "asked", False)
    found = []
    for _ in range(2):
        specialised.clear()
        loaded = module(text)
        rare.Stiff.asked = False
        found.append([dj.jit(loaded.end)(rate) for rate in (3.0, 3e4, 3.0)])
        assert rare.Stiff.asked
        assert dj.jit(loaded.square)(3.0) == 9.0
    assert specialised == []
    assert found[0] == found[1]


def test_what_a_function_does_to_its_arguments(module, folder, specialised):
    text = "def f(x, log):\n    x[0] = 5.0\n    log.append(x[1])\n    return {'sum': np.sum(x), 'name': 'f'}"
    for _ in range(2):
        x, log = np.ones(3), [1.0]
        assert dj.jit(module(text).f)(x, log) == {"sum": 7.0, "name": "f"}
        assert x[0] == 5.0
        assert log == [1.0, 1.0]
    assert len(specialised) <= 1


def test_rules_of_this_process(module, folder, specialised, monkeypatch):
    loss = module("def loss(x): return np.sum(x * x)").loss
    dj.grad(loss)(X)
    monkeypatch.setitem(registry._count, "declared", registry._count["declared"] + 1)
    dj.grad(loss)(X)
    assert len(specialised) == 2


def test_no_manifest_without_a_cache(module, folder, monkeypatch):
    monkeypatch.setattr(dj.settings, "cache_mb", 0)
    check(module("def loss(x): return np.sum(x * x)"))
    assert not list(folder.glob("*.manifest"))


def test_damaged_files_are_written_anew(module, folder, specialised):
    text = "def loss(x): return np.sum(x * x)"
    check(module(text))
    (kept,) = folder.glob("*.manifest")
    content = kept.read_bytes()
    for damaged in (content[:-5], b"", content[:50] + bytes([content[50] ^ 1]) + content[51:]):
        kept.write_bytes(damaged)
        before = len(specialised)
        check(module(text))
        assert len(specialised) == before + 1
        assert kept.read_bytes()[:32] == content[:32]


@pytest.mark.parametrize("change", ["root", "callee"])
def test_code_replaced_after_it_was_found(change, module, folder, specialised):
    text = "def h(x): return x * x\ndef other(x): return x * x * x\ndef loss(x): return np.sum(h(x))"
    check(module(text))
    found = module(text)
    before = len(specialised)
    g = dj.grad(found.loss)
    np.testing.assert_array_equal(g(X), 2.0 * X)
    assert len(specialised) == before
    if change == "callee":
        found.h.__code__ = found.other.__code__
        expected = 3.0 * X * X
    else:
        found.loss.__code__ = (lambda x: np.sum(h(x)) * 5.0).__code__  # noqa: F821
        expected = 10.0 * X
    np.testing.assert_allclose(g(X), expected)


@pytest.mark.parametrize("name", ["callee", "global", "module"])
def test_what_a_manifest_names_is_not_here(name, module, folder, specialised):
    """The program is made anew, and says what Python says."""
    text = "import statistics\nk = 2.0\ndef h(x): return x * x\ndef loss(x): return np.sum(h(x)) * k"
    check(module(text))
    found = module(text)
    del found.__dict__[{"callee": "h", "global": "k", "module": "np"}[name]]
    before = len(specialised)
    with pytest.raises(NameError):
        dj.grad(found.loss)(X)
    assert len(specialised) == before + 1


def test_mistakes_are_not_hidden(module, folder, monkeypatch):
    """Only files that are missing, damaged or out of date lead to a new program."""
    text = "def loss(x): return np.sum(x * x)"
    check(module(text))

    def broken(made):
        raise RuntimeError("no such symbol")

    monkeypatch.setattr(native, "load", broken)
    with pytest.raises(dj.DiffjitError, match=r"DJ901[\s\S]*no such symbol"):
        dj.grad(module(text).loss)(X)


def test_clearing_the_cache(module, folder, specialised):
    loss = module("def loss(x): return np.sum(x * x)").loss
    dj.grad(loss)(X)
    other = folder / "notes.txt"
    other.write_text("not ours")
    dj.clear_cache()
    assert list(folder.iterdir()) == [other]
    dj.grad(loss)(X)
    assert len(specialised) == 2


PROGRAM = """
import sys
import numpy as np
import diffjit as dj

names = {"tanh", "sin", "square"}

def step(x, name):
    return np.tanh(x) if name in {"tanh", "sin"} else x * x

def make(name):
    def loss(w, x, n):
        total = 0.0
        for k in range(n):
            total += np.sum(step(w @ x, name)) * w[k, 0]
        return total
    return loss

w, x = np.arange(12.0).reshape(2, 6), np.ones(6)
for name in ("tanh", "square"):
    gradient = dj.grad(make(name))
    print(np.sum(gradient(w, x, 2)))
    try:
        gradient(w, x, 5)
    except IndexError as error:
        print(error, error.__notes__)
    if name == "tanh" and len(sys.argv) > 1:
        print("numba.core.typing" in sys.modules)
    try:
        gradient(w, np.ones(7), 2)
    except ValueError as error:
        print(error)
import numba
print(numba.njit(lambda v: np.sum(np.ones(3) * v))(2.0))
"""


def start(script, folder, *arguments):
    environment = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "DIFFJIT_CACHE_DIR": str(folder)}
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, script, *arguments], env={**os.environ, **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processes_agree(tmp_path, folder):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    first = start(script, folder)
    kept = {p: p.stat().st_mtime_ns for p in folder.glob("*.manifest")}
    assert len(kept) == 2
    assert start(script, folder) == first
    assert {p: p.stat().st_mtime_ns for p in folder.glob("*.manifest")} == kept


LEAN = """
import sys
import numpy as np
import diffjit as dj

def loss(x, y):
    return np.sum(np.sin(x) * y)

print(dj.grad(loss, argnums=(0, 1))(np.arange(3.0), 2.0))
heavy = ("numba", "gast", "astor", "optree", "scipy", "diffjit.frontend.syntax.interpret")
print([name for name in heavy if name in sys.modules])
"""


def test_a_second_process_imports_neither_numba_nor_the_frontend(tmp_path, folder):
    script = tmp_path / "program.py"
    script.write_text(LEAN)
    first = start(script, folder).splitlines()
    assert "numba" in first[1]
    assert start(script, folder).splitlines() == [first[0], "[]"]


def test_symbols_of_an_object():
    with pytest.raises(ValueError, match="ELF"):
        native.undefined(b"MZ" + bytes(100))
