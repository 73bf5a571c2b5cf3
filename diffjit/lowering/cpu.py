"""Compiles IR for the CPU: generated module -> Numba -> a Python callable that raises what NumPy would."""

from __future__ import annotations

import gc
import linecache
import re
import sys
import types
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.ir.nodes import Function
from diffjit.ir.types import Array, List, Scalar, Stack
from diffjit.lowering import cache, failures
from diffjit.lowering.emission import MODULE_KEY
from diffjit.lowering.module import Module, lower
from diffjit.lowering.runtime.tape import Tape
from diffjit.lowering.runtime.typespec import spec_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diffjit.ir.nodes import Loc


def lowered_text(function: Function) -> str:
    """The text that Numba compiles (`stage="lowered"`)."""
    return lower(function).text


def compile_function(
    function: Function,
    *,
    name_hint: str | None = None,
    residual_outs: frozenset[int] = frozenset(),
    settled: bool = False,
) -> Callable[..., tuple[Any, ...]]:
    """A callable of flat arguments that returns the tuple of results.

    Arguments are arrays, Python numbers for weak scalars and NumPy's for others. Results are arrays, Python numbers for
    weak scalars, NumPy scalars for others, and Python lists for lists. Results at the positions `residual_outs` that
    are lists or stacks come back as opaque `Tape`s, which another compiled function takes where it has a list or stack
    as parameter: nothing is copied. A pullback that is called twice copies its stacks itself (`stack_copy`) before it
    pops.
    """
    module = lower(function, residual_outs)
    loaded = _load(module, name_hint or function.name)
    return _wrapper(getattr(loaded, module.entry), function, residual_outs)


def _load(module: Module, hint: str) -> types.ModuleType:
    """Write, import and register the generated module."""
    stem = re.sub(r"\W", "_", hint) or "function"
    path = cache.module_file(stem, module.text)
    name = f"diffjit_generated.{path.stem}"
    key = int(cache.digest(module.text)[:15], 16)
    failures.SITES[key] = failures.Sites(module.places, module.ops)
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    loaded = types.ModuleType(name)
    loaded.__file__ = str(path)
    setattr(loaded, MODULE_KEY, key)
    linecache.cache[str(path)] = (len(module.text), None, module.text.splitlines(keepends=True), str(path))
    exec(compile(module.text, str(path), "exec"), loaded.__dict__)  # noqa: S102 - our own text
    sys.modules[name] = loaded
    return loaded


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Compiling makes many objects and no garbage: 15-20% less time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def translated() -> BaseException:
    """The user's exception for the failure that compiled code has recorded, with the user's line as a note."""
    exception, loc = failures.failure()
    if loc is not None:
        exception.diffjit_loc = loc  # type: ignore[attr-defined]
        _add_place(exception, loc)
    return exception


def _add_place(exception: BaseException, loc: Loc) -> None:
    text = linecache.getline(loc.file, loc.line).strip()
    exception.add_note(f'  File "{loc.file}", line {loc.line}, in {loc.function}' + (f"\n    {text}" if text else ""))


def _conversions(
    function: Function, residual_outs: frozenset[int], entry: Any
) -> list[tuple[int, Callable[[Any], Any]]]:
    """What Python has to do to results: make NumPy scalars, wrap tapes, mark broadcast views read-only."""
    found: list[tuple[int, Callable[[Any], Any]]] = []
    for k, v in enumerate(function.results):
        ty = v.type
        if isinstance(ty, Scalar) and not ty.weak:
            found.append((k, ty.dtype.type))
        elif isinstance(ty, (List, Stack)) and k in residual_outs:
            found.append((k, partial(_tape, spec_of(ty), entry)))
        elif isinstance(ty, List) and isinstance(ty.elem, Scalar) and not ty.elem.weak:
            found.append((k, partial(_strong_items, ty.elem.dtype.type)))
        elif isinstance(ty, Array) and ty.ndim == 0:
            found.append((k, np.asarray))  # boxing turns 0-d arrays into scalars
        elif isinstance(ty, Array) and v.op is not None and v.op.kind == "broadcast_to":
            found.append((k, _read_only))
    return found


def _tape(spec: str, owner: Any, meminfo: Any) -> Tape:
    return Tape(meminfo, spec, owner)


def _strong_items(make: type[np.generic], items: list[Any]) -> list[Any]:
    return [make(x) for x in items]


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _wrapper(entry: Any, function: Function, residual_outs: frozenset[int]) -> Callable[..., tuple[Any, ...]]:
    """Calls the compiled function; errors, and results that Numba boxes otherwise, are dealt with here."""
    count = len(function.results)
    conversions = _conversions(function, residual_outs, entry)
    stopped = failures.Stopped
    compiled: list[bool] = []

    def first(args: tuple[Any, ...]) -> Any:
        with _no_garbage_collection():
            result = entry(*args)
        compiled.append(True)
        return result

    def call(*args: Any) -> tuple[Any, ...]:
        try:
            result = entry(*args) if compiled else first(args)
        except stopped:
            raise translated() from None
        if count == 0:
            return ()
        if count == 1:
            result = (result,)
        if not conversions:
            return result
        outs = list(result)
        for k, convert in conversions:
            outs[k] = convert(outs[k])
        return tuple(outs)

    call.__name__ = function.name
    call.entry = entry  # type: ignore[attr-defined]
    return call
