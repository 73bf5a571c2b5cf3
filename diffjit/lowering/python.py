"""Runs the text at the level of the user's code as plain Python: `backend="python"`, for debuggers and for checks."""

from __future__ import annotations

import linecache
import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.ir.nodes import Function
from diffjit.ir.stages import note
from diffjit.ir.text.statements import importable
from diffjit.ir.types import FLOAT, List, Scalar
from diffjit.ir.walk import callees, walk, walk_called
from diffjit.lowering.calls import cache
from diffjit.transforms.pipeline import readable


def compile_python(function: Function, residuals: int = 0) -> Callable[..., tuple[Any, ...]]:
    """A callable with the contract of `cpu.compile_function`. Tracebacks and debuggers show the generated lines.

    The last results are `residuals`: lists among them stay as they are.
    """
    text = readable(function)
    note("text", "py", lambda: text)
    stem = re.sub(r"\W", "_", function.name) or "function"
    file = f"<diffjit {stem} {cache.digest(text)[:8]}>"
    module = types.ModuleType(f"{cache.PACKAGE}.{stem}_{cache.digest(text)[:8]}")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102 - our own text
    for name, cls in _classes(function).items():
        setattr(module, name, cls)
    entry = getattr(module, function.name)
    types_out: list[Any] = [v.type for v in function.results]
    for k in range(len(types_out) - residuals, len(types_out)):
        if isinstance(types_out[k], List):
            types_out[k] = None
    floats = _python_floats(function)

    def call(*args: Any) -> tuple[Any, ...]:
        if floats:
            args = tuple(np.float64(a) if k in floats else a for k, a in enumerate(args))
        with np.errstate(all="ignore"):
            result = entry(*args)
        outs = (result,) if len(types_out) == 1 else tuple(result or ())
        return tuple(_as_declared(x, ty) for x, ty in zip(outs, types_out, strict=True))

    call.__name__ = function.name
    call.entry = entry  # type: ignore[attr-defined]
    return call


def _classes(function: Function) -> dict[str, type]:
    """Exceptions that the text raises and cannot import: it has their nearest ancestors in their places."""
    ops = (op for op in walk_called(function) if op.kind == "raise")
    raised = {op.attrs["exception"] for op in ops}
    return {cls.__name__: cls for cls in raised if cls.__module__ != "builtins" and not importable(cls)}


def _python_floats(function: Function) -> frozenset[int]:
    """Parameters that are Python floats, passed as NumPy's: division by zero then follows IEEE, as in compiled code.

    Not where single precision occurs: there the two behave differently (NEP 50).
    """
    for f in callees(function):
        values = [*f.params, *(v for op in walk(f.body) for v in op.outputs)]
        if any(getattr(v.type, "dtype", np.dtype(float)) in _SINGLE for v in values):
            return frozenset()
    return frozenset(k for k, p in enumerate(function.params) if p.type == FLOAT)


_SINGLE = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.complex64))
_PYTHON = {"b": bool, "i": int, "f": float, "c": complex}


def _as_declared(value: Any, ty: Any) -> Any:
    """A number of the declared kind, or a list of such: NumPy's scalars for strong types, Python's for weak ones."""
    if isinstance(ty, List):
        return [_as_declared(x, ty.elem) for x in value]
    if not isinstance(ty, Scalar):
        return value
    return _PYTHON[ty.dtype.kind](value) if ty.weak else ty.dtype.type(value)
