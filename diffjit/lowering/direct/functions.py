"""A function of LLVM for a helper and types of its arguments, and calls of it."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Callable
from dataclasses import field
from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.dataclass import dataclass
from diffjit.lowering.calls import failures
from diffjit.lowering.direct.walk import Typed, Walk
from diffjit.lowering.llvm import writing
from diffjit.lowering.llvm.exits import context_of
from diffjit.lowering.llvm.numba_internals import ERROR_CODE


@dataclass(slots=True)
class Place:
    """Where in a file a statement stands."""

    line: int


@dataclass(slots=True, eq=False)
class Frame:
    """What emitters ask of the function that they write to: `emission.Lower`, of a helper."""

    module: Any
    function: Any
    builder: Any
    device: str
    loc: Place
    stop_block: Any = None
    tuples: dict[Any, list[Any]] = field(default_factory=dict)  # LLVM values -> the items that they are made of
    group: Any = None  # the metadata that accesses of the outermost parallel loop around share
    module_key: int = 0  # a helper is no line of the user's: who calls it notes its own
    checked: bool = False

    def belongs(self, access: Any) -> None:
        """Say of a load or store to which parallel loop it belongs."""
        if self.group is not None:
            access.set_metadata("llvm.access.group", self.group)


@cache
def text_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The tree of a helper; None where its text cannot be had. Only its own lines are parsed."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    start = next((k for k, line in enumerate(lines) if line.startswith("def ")), None)
    if start is None:
        return None
    end = next((k for k in range(start + 1, len(lines)) if lines[k].strip() and lines[k][0] not in " )"), len(lines))
    tree = ast.parse("".join(lines[start:end]))
    ast.increment_lineno(tree, code.co_firstlineno - 1 + start)
    (found,) = tree.body
    assert isinstance(found, ast.FunctionDef)
    assert found.name == function.__name__
    return found


def call(
    context: Any, builder: Any, function: Callable[..., Any], result: Any, kinds: Any, args: Any, *, inline: bool
) -> Any:
    """Emit: call a helper, or have LLVM put it here (`inline`); where it fails, leave."""
    callee = _written(context, builder.module, function, result, tuple(kinds))
    if inline:
        callee.attributes.add("alwaysinline")
    status, value = context.call_conv.call_function(builder, callee, result, kinds, args)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return context.get_dummy_value() if result == types.none else value


def _spelled(kind: Any) -> str:
    """A type, in letters and digits alone."""
    if isinstance(kind, types.Array):
        return f"{kind.dtype}_{kind.ndim}{kind.layout}"
    return re.sub(r"\W+", "_", str(kind))


def _written(context: Any, module: Any, function: Callable[..., Any], result: Any, kinds: tuple[Any, ...]) -> Any:
    """The function in a module of LLVM, written there if there is none yet."""
    name = "_".join(("diffjit", function.__name__, *map(_spelled, kinds)))
    found = module.globals.get(name)
    if found is not None:
        return found
    convention = context.call_conv
    made = llvm_ir.Function(module, convention.get_function_type(result, kinds), name)
    writing.begin(made)
    made.linkage = "internal"  # the loader takes the first one of a name: a device's, or one not optimised yet
    tree = text_of(function)
    assert tree is not None
    names = list(inspect.signature(function).parameters)
    convention.decorate_function(made, names, kinds)
    builder = writing.Builder(made.append_basic_block("entry"))
    frame = Frame(module, made, builder, context.lower.device, Place(tree.lineno))
    own = context_of(context, frame)
    end = made.append_basic_block("clean_up")
    code = cgutils.alloca_once(builder, ERROR_CODE)
    vars(made)["diffjit_exit"] = (end, code)
    frame.stop_block = made.append_basic_block("stop")
    values = convention.decode_arguments(builder, kinds, made)
    given = {name: Typed(kind, value) for name, kind, value in zip(names, kinds, values, strict=True)}
    walk = Walk(own, frame, function.__globals__, given, result)
    walk.function(tree)
    builder.position_at_end(frame.stop_block)
    own.call_conv.return_user_exc(builder, failures.Stopped)
    builder.position_at_end(end)
    del vars(made)["diffjit_exit"]
    builder.ret(builder.load(code))
    writing.drop(made)
    return made
