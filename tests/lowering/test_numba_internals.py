"""What Numba and llvmlite do not document is used in one file."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import diffjit
from diffjit.lowering.llvm import numba_internals

ROOT = Path(diffjit.__file__).parent
INSIDE = {"numba_internals.py", "extensions.py"}
DOCUMENTED = {
    "numba", "numba.extending", "numba.core.types", "numba.core.cgutils", "llvmlite", "llvmlite.ir", "llvmlite.binding",
}  # fmt: skip
# Their guides to extensions use these themselves: the value of an LLVM structure, the name of a pass.
USED_IN_GUIDES = {"_getvalue", "_name"}
SET_BY_METACLASSES = {"_is_internal", "_abc_impl"}
# Private by name, documented by Python.
PYTHON = {"_replace", "_exit"}
LOWERING = ROOT / "lowering"  # import-linter sees to it that no other room imports them
FILES = [p for p in sorted(LOWERING.rglob("*.py")) if p.name not in INSIDE]


def modules_imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                whole = f"{node.module}.{a.name}"
                yield node.lineno, whole if whole in DOCUMENTED or node.module not in DOCUMENTED else node.module


def private(name):
    return name.startswith("_") and not name.startswith("__")


def names_given(tree):
    """The private names that a file itself defines: functions, classes, attributes, slots."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def parsed(path):
    return ast.parse(path.read_text())


OWN = {name for path in FILES for name in names_given(parsed(path))}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(LOWERING)))
def test_only_what_is_documented(path):
    tree = parsed(path)
    imports = [
        (line, name)
        for line, name in modules_imported(tree)
        if name.split(".")[0] in ("numba", "llvmlite") and name not in DOCUMENTED
    ]
    assert imports == [], "import it in lowering/llvm/numba_internals.py, under a name of ours"
    reached = [
        (node.lineno, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in OWN | USED_IN_GUIDES | PYTHON
    ]
    assert reached == [], "a private attribute of another library: give it a name in lowering/llvm/numba_internals.py"
    by_text = [
        (node.lineno, node.args[1].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "setattr", "hasattr", "delattr")
        and isinstance(node.args[1], ast.Constant)
        and private(node.args[1].value)
        and node.args[1].value not in OWN
    ]
    assert by_text == []


def classes_on_numba():
    """diffjit's classes that extend one of Numba's or llvmlite's."""
    for info in pkgutil.walk_packages(diffjit.lowering.__path__, "diffjit.lowering."):
        module = importlib.import_module(info.name)
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__ and module is not numba_internals:
                theirs = [b for b in cls.__mro__ if b.__module__.split(".")[0] in ("numba", "llvmlite")]
                if theirs:
                    yield cls, theirs


def test_no_private_method_is_overridden_elsewhere():
    found = list(classes_on_numba())
    assert len(found) > 10
    overridden = [
        (cls.__name__, name)
        for cls, theirs in found
        for name in vars(cls)
        if private(name) and name not in USED_IN_GUIDES | SET_BY_METACLASSES
        if any(name in vars(base) for base in theirs)
    ]
    assert overridden == []


def test_nothing_stands_there_that_nobody_uses():
    given = {n for n in vars(numba_internals) if n in set(names_given(parsed(Path(numba_internals.__file__))))}
    text = "".join(path.read_text() for path in FILES)
    inside = Path(numba_internals.__file__).read_text()
    unused = [n for n in sorted(given) if n not in text and inside.count(n) < 2]
    assert unused == []
