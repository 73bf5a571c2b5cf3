"""The source of a function is proven: what is interpreted was compiled to what Python runs."""

import doctest
import importlib
import importlib.abc
import importlib.util
import itertools
import linecache
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError
from diffjit.frontend.entry import proof


def gradient(f, x=1.5):
    """The derivative, twice: as Python sees the function, and as diffjit does."""
    quotient = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    found = dj.grad(f, backend="python")(x)
    np.testing.assert_allclose(found, quotient, rtol=1e-6)
    return found


def refused(f, word=""):
    with pytest.raises(DiffjitError, match=rf"DJ110[\s\S]*{word}"):
        dj.grad(f)(1.5)


# Functions that are hard to tell apart --------------------------------------------------------------------------------


def test_lambdas_on_one_line():
    fs = (lambda x: x * x, lambda x: x * x * x, lambda x: (lambda y: y * 5.0)(x), lambda x, k=2.0: x * k)  # noqa: PLC3002, PLW0108
    assert [gradient(f) for f in fs] == [3.0, 6.75, 5.0, 2.0]
    ((f, g),) = [(lambda x: x * 2.0, lambda x: x * 3.0)]
    assert (gradient(f), gradient(g)) == (2.0, 3.0)
    inner = (lambda x: lambda y: y * x)(4.0)  # noqa: PLC3002
    assert gradient(inner) == 4.0
    same = lambda x: x * x, lambda x: x * x
    assert [gradient(f) for f in same] == [3.0, 3.0]


def test_nested_functions_with_one_name():
    def make(k):
        if k:

            def f(x):
                return x * x

        else:

            def f(x):
                return x * x * x

        return f

    def other():
        def f(x):
            return x * 7.0

        return f

    assert (gradient(make(1)), gradient(make(0)), gradient(other())) == (3.0, 6.75, 7.0)


def test_constants_are_compared_with_their_types():
    def whole(x):
        return x * 2 / 4

    for text in ("x * 2.0 / 4", "x * True / 4", "x * 2 / 4.0", "x * 2 / -4"):
        changed = f"def whole(x):\n    return {text}\n"
        assert proof.prove(changed, whole.__code__) is None or text == "x * 2 / 4"

    def zero(x):
        return x, -0.0, {1, 2}, (1, (2.0, "a"))

    head = "def zero(x):\n    return x, -0.0, {1, 2}, (1, (2.0, 'a'))\n"
    plain = compile(head, "f", "exec").co_consts[0]
    assert proof.prove(head, plain) is not None
    for old, new in (("-0.0", "0.0"), ("{1, 2}", "{1, 3}"), ("2.0", "2"), ("'a'", "b'a'")):
        assert proof.prove(head.replace(old, new), plain) is None
    del zero


def test_constants_in_sets_and_nested_functions():
    text = "def f(x):\n    def g(y):\n        return y in {1, 2} and y\n    return g(x)\n"
    code = compile(text, "f", "exec").co_consts[0]
    assert proof.prove(text, code) is not None
    for old, new in (("{1, 2}", "{1.0, 2}"), ("and y", "or y"), ("g(y)", "g(z)"), ("g(x)", "g")):
        assert proof.prove(text.replace(old, new), code) is None


# Ways in which functions come about -----------------------------------------------------------------------------------


def test_decorated_functions():
    import functools

    def scaled(f):
        @functools.wraps(f)
        def wrapper(x):
            return 3.0 * f(x)

        return wrapper

    @scaled
    @scaled
    def f(x):
        return x * x

    @functools.lru_cache
    def g(x):
        return x * x

    assert gradient(f) == 27.0
    assert gradient(lambda x: g(x) + x) == 4.0


class Mangled:
    """Names with two underscores are the class's own."""

    __scale = 2.0

    def __init__(self):
        self.__own = 3.0

    def __calc(self, x, __more=1.0):
        __local = self.__own * __more
        return x * x * self.__scale * __local

    def f(self, x):
        """A method that calls one."""

        class __Inner:
            def __twice(self, x):
                return x + x

            def run(self, x):
                return self.__twice(x)

        return self.__calc(x, _Mangled__more=2.0) + __Inner().run(x)

    class _Sub:
        def __inner(self, x):
            return x * 5.0

        def run(self, x):
            """Mangled by the inner class."""
            return self.__inner(x)


def test_mangled_names():
    obj = Mangled()
    assert gradient(obj.f) == 2 * 1.5 * 2.0 * 3.0 * 2.0 + 2.0
    assert gradient(lambda x: obj.f(x) + x) == 39.0
    assert gradient(Mangled._Sub().run) == 5.0


def test_exec_by_the_name_of_a_file_that_says_something_else():
    scope = {}
    exec(compile("def f(x): return x * x", __file__, "exec"), scope)  # noqa: S102
    refused(scope["f"])


COUNT = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Imports a module of a text or bytes."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(text):
        name = f"written_{os.getpid()}_{next(COUNT)}"  # never one that an earlier test has imported
        assert name not in sys.modules
        content = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
        (tmp_path / f"{name}.py").write_bytes(content)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return make


TEXTS = {
    "CRLF": b"def f(x):\r\n    '''two\r\n    lines'''\r\n    return x * x\r\n",
    "old Mac": b"def f(x):\r    return x * x\r",
    "tabs": b"def f(x):\n\tif x > 0:\n\t\treturn x * x\n\treturn x\n",
    "latin-1": "# -*- coding: latin-1 -*-\ndef f(x):\n    é = x; s = 'é'\n    return é * é\n".encode("latin-1"),
    "a mark of UTF-8": "\ufeffdef f(x):\n    ñ = x\n    return ñ * ñ\n".encode(),
    "form feeds": b"k = 1\n\x0c\ndef f(x):\n    return x * x\n\x0c\n",
    "no line end": b"def f(x): return x * x",
    "a compatibility character": "def f(\uff58):\n    return x * \uff58\n".encode(),
    "from __future__": b"from __future__ import annotations\ndef f(x: A) -> B:\n    y: C = x\n    return y * x\n",
    "a condition": b"if True:\n    def f(x): return x * x\nelse:\n    def f(x): return x\n",
    "a try": b"try:\n    pass\nfinally:\n    f = lambda x: x * x\n",
    "continued lines": b"f = lambda x: (x *\n   x)\n",
    "a warning": b"def f(x):\n    if x is 'a': return x\n    return x * x\n",
    "an f-string": b"def f(x):\n    s = f'{x!r:>{10}} {(lambda: 1)()}'\n    return x * x\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_texts(name, module):
    assert gradient(module(TEXTS[name]).f) == 3.0


def test_modules_in_archives(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("packed_away.py", "def f(x):\n    return x * x\n")
    monkeypatch.syspath_prepend(str(tmp_path / "archive.zip"))
    assert gradient(importlib.import_module("packed_away").f) == 3.0


# Notebooks and documents ----------------------------------------------------------------------------------------------


def cell(text, name, flags=0):
    """Runs a cell as IPython does: its text is in linecache, without a time."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec", flags, dont_inherit=True), scope)  # noqa: S102
    return scope["f"]


def test_cells():
    import __future__

    f = cell("def f(x):\n    return x * x\n", "<ipython-input-1-abc>")
    assert gradient(f) == 3.0
    g = cell("def f(x):\n    return x * x * x\n", "/nowhere/ipykernel_1/2.py")
    assert gradient(g) == 6.75
    h = cell(
        "def f(x: A):\n    y: B = x\n    return y * x\n",
        "<ipython-input-2>",
        __future__.annotations.compiler_flag,  # an earlier cell's
    )
    assert gradient(h) == 3.0
    # a cell that runs again under its name, with other text
    again = cell("def f(x):\n    return x * 5.0\n", "<ipython-input-1-abc>")
    assert gradient(again) == 5.0
    assert gradient(f) == 3.0  # read before
    unread = cell("def f(x):\n    return x * 7.0\n", "<ipython-input-3>")
    cell("def f(x):\n    return x * 8.0\n", "<ipython-input-3>")
    refused(unread)


def test_doctests():
    """A program in a docstring.

    >>> import diffjit as dj
    >>> def f(x):
    ...     return x * x
    >>> dj.grad(f)(1.5)
    3.0
    """
    test = doctest.DocTestFinder().find(test_doctests, "program")[0]
    assert doctest.DocTestRunner().run(test).failed == 0


# Assertions -----------------------------------------------------------------------------------------------------------


def positive(x, more=()):
    """Rewritten by pytest when it imports this module."""
    assert x > 0.0, f"{x} is negative"
    assert x != 0.0
    for k in more:
        assert not (k < 0 and x in (1.0, 2.0)), "a message"
    return x * x


def test_assertions_in_a_module_of_tests():
    assert any(name.startswith("@py") for name in positive.__code__.co_names), "pytest did not rewrite this module"
    assert gradient(positive) == 3.0
    assert dj.grad(positive)(1.5) == 3.0
    with pytest.raises(AssertionError, match="negative"):
        dj.grad(positive)(-1.5)

    def local(x):
        assert positive(x) > 0.0
        return x * x * x

    assert gradient(local) == 6.75
    fs = [lambda x: x * x, lambda x: x * 3.0]
    assert [gradient(f) for f in fs] == [3.0, 3.0]


def test_rewritten_assertions_that_are_not_those_of_the_text():
    """The rewritten code must be what pytest makes of the text."""
    text = "".join(linecache.getlines(__file__))
    loader = positive.__globals__["__loader__"]
    assert proof.prove(text, positive.__code__, loader) is not None
    for old, new in (("assert x > 0.0, f", "assert x > 0.5, f"), ("assert x != 0.0", "pass"), ("a message", "none")):
        assert text.count(old) >= 1
        assert proof.prove(text.replace(old, new, 1), positive.__code__, loader) is None


SCRIPT = """
import sys
import diffjit as dj

def f(x):
    '''text'''
    assert x > 0, "negative"
    return x * x if __debug__ else x * x * x

print(dj.grad(f, backend="python")(2.0))
try:
    print(dj.grad(f, backend="python")(-2.0))
except AssertionError as error:
    print("refused", error.args)

import py_compile, importlib.util
for level in (0, 1, 2):
    py_compile.compile(sys.argv[1], cfile=sys.argv[1] + "c", optimize=level)
    spec = importlib.util.spec_from_file_location("compiled", sys.argv[1] + "c")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    same = dj.grad(module.f, backend="python")(2.0)
    print(level, same)
"""


@pytest.mark.parametrize(("options", "expected"), [((), "4.0"), (("-O",), "12.0"), (("-OO",), "12.0")])
def test_levels_of_optimisation(options, expected, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "other.py").write_text("def f(x):\n    return x * x if __debug__ else x * x * x\n")
    run = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, *options, str(tmp_path / "script.py"), str(tmp_path / "other.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[0] == expected
    assert lines[1] == ("refused ('negative',)" if not options else "12.0")
    assert lines[2:] == ["0 4.0", "1 12.0", "2 12.0"]


def test_columns_that_are_not_known(tmp_path):
    """Without columns, lambdas on one line cannot be told apart by their places."""
    (tmp_path / "script.py").write_text(
        "import diffjit as dj\n"
        "f, g = lambda x: x * x, lambda x: x * x * x\n"
        "h = lambda x: x * 5.0\n"
        "print(dj.grad(h, backend='python')(2.0))\n"
        "for k in (f, g):\n"
        "    try:\n"
        "        print(dj.grad(k, backend='python')(2.0))\n"
        "    except dj.DiffjitError as error:\n"
        "        print(error.code)\n"
    )
    run = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-X", "no_debug_ranges", str(tmp_path / "script.py")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.split() == ["5.0", "DJ110", "DJ110"]


# Import hooks that rewrite --------------------------------------------------------------------------------------------


class Rewriting(importlib.abc.SourceLoader):
    """An import hook that compiles another text than the file's."""

    def __init__(self, path, change):
        self.path, self.change = path, change

    def get_filename(self, name):
        return self.path

    def get_data(self, path):
        return Path(path).read_bytes()

    def source_to_code(self, data, path, *, _optimize=-1):
        return compile(self.change(data.decode()), path, "exec", dont_inherit=True)


def hooked(path, change):
    spec = importlib.util.spec_from_loader("hooked", Rewriting(str(path), change))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_import_hooks(tmp_path):
    path = tmp_path / "hooked.py"
    path.write_text("def f(x):\n    return x * x\n\ndef g(x):\n    return x * 2.0\n")
    assert gradient(hooked(path, lambda text: text).f) == 3.0
    module = hooked(path, lambda text: text.replace("x * x", "x * x * x"))
    refused(module.f, "Rewriting")
    assert gradient(module.g) == 2.0  # left alone


def test_modules_that_the_program_imports_first(tmp_path, monkeypatch):
    """A module in a package that nobody has imported yet, a name that is not there, a module that raises."""
    package = tmp_path / "instruments"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "lens.py").write_text("def power(x):\n    return x * x\n")
    (package / "broken.py").write_text("raise ValueError('no data')\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def f(x):
        try:
            from instruments import broken
        except ValueError:
            broken = None
        try:
            from instruments import mirror
        except ImportError:
            mirror = None
        from instruments import lens

        return lens.power(x) if broken is None and mirror is None else x

    assert gradient(f) == 3.0
    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ129.*no data"):
        dj.grad(imports_broken)(1.5)


def imports_broken(x):
    from instruments import broken

    return broken.power(x)
