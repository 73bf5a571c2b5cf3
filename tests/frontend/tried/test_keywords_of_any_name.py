"""Keyword arguments of a program's own functions have any name: also those that the interpreter gives its own."""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest

import diffjit as dj
from diffjit.frontend.syntax.interpret import Interpreter

PROGRAM = """
import collections, contextlib, dataclasses, functools


def scaled(x, *, NAME):
    return x * NAME


class Held:
    def __init__(this, NAME):
        this.held = NAME

    def times(this, x, *, NAME):
        return this.held * x * NAME

    def __call__(this, x, **options):
        return options["NAME"] * x


@contextlib.contextmanager
def around(NAME):
    yield NAME


@functools.lru_cache
def doubled(NAME=1):
    return 2 * NAME


@dataclasses.dataclass
class Record:
    NAME: float


def program(x):
    total = scaled(x, NAME=2 * x) + Held(NAME=x).times(x, NAME=x) + Held(x)(x, NAME=x)
    with around(NAME=x) as inside:
        total = total * inside
    total = total + doubled(NAME=3) * x + functools.partial(scaled, NAME=x)(x) + Record(NAME=x).NAME * 2
    items = dict(NAME=x)
    items.update(NAME=2 * x)
    ordered = collections.OrderedDict(NAME=x)
    return total + items["NAME"] * ordered["NAME"]


def linear(x, *, NAME):
    return x * NAME
"""
OFTEN = (
    "out",
    "self",
    "where",
    "axis",
    "dtype",
    "name",
    "args",
    "kwargs",
    "key",
    "value",
    "fun",
    "func",
    "f",
    "backend",
    "node",
)


def names() -> list[str]:
    """What the interpreter calls the arguments of those of its methods that take keywords of others."""
    found = set(OFTEN)
    for _, method in inspect.getmembers(Interpreter, inspect.isfunction):
        parameters = inspect.signature(method).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            found |= {p.name for p in parameters}
    return sorted(found)


@pytest.mark.parametrize("name", names())
def test_a_keyword(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"module_with_{name}.py"
    file.write_text(PROGRAM.replace("NAME", name))
    spec: Any = importlib.util.spec_from_file_location(file.stem, file)
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
        assert dj.jit(module.program, backend="python")(1.3) == module.program(1.3)
        slope = (module.program(1.3 + 1e-6) - module.program(1.3 - 1e-6)) / 2e-6
        assert dj.grad(module.program, backend="python")(1.3) == pytest.approx(slope, rel=1e-7)
        assert dj.grad(module.linear, backend="python")(1.3, **{name: 2.0}) == 2.0
    finally:
        del sys.modules[file.stem]
        linecache.clearcache()
