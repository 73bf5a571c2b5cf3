"""Specialised programs, and their results as trees of positions among the flat results of an IR function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from diffjit import tree
from diffjit.errors import TypeProblem
from diffjit.frontend import values as av
from diffjit.frontend.classes import LOCAL
from diffjit.frontend.templates import DynList, describe
from diffjit.frontend.values import Static
from diffjit.frontend.writeback import Change, write_back
from diffjit.ir.nodes import Function, Value
from diffjit.primitives.library.tables import Table

if TYPE_CHECKING:
    from diffjit.frontend.interpret import Interpreter


@dataclass(slots=True, eq=False)
class Program:
    """A specialised function: IR, how to call it, and how to rebuild its result."""

    function: Function
    n_args: int  # the first parameters are the numeric leaves of the arguments
    captures: list[Callable[[], Any]]  # the others are read afresh at each call
    guards: list[tuple[Callable[[], Any], Any]]
    result: Any  # a tree of `Out`, static objects and containers
    fixed: frozenset[int] = frozenset()  # argument leaves whose `fixed_key` is part of the specialisation
    arg_names: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)  # containers among the arguments that the function changes

    def write_back(self, arguments: tuple[Any, ...], outs: list[Any]) -> None:
        """Change the caller's containers as the function does; `arguments`: positional ones, then keywords'."""
        write_back(self.changes, arguments, lambda spec: rebuild(spec, outs))


@dataclass(frozen=True, slots=True, eq=False)
class Out:
    """A leaf of the result: position among the IR function's results."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class OptOut:
    """A result that may be None."""

    flag: int
    inner: Any


@dataclass(frozen=True, slots=True, eq=False)
class RecordOut:
    """A result that is an object."""

    cls: type
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class TableOut:
    """A result that is a dict with keys of the run: lists of keys and of values."""

    keys: Out
    values: Any


def output(interpreter: Interpreter, value: Any, outs: list[Value]) -> Any:
    """The result as a tree of positions among the IR results."""
    match value:
        case Value():
            outs.append(value)
            return Out(len(outs) - 1)
        case Static():
            return value.obj
        case av.Tup():
            items = [output(interpreter, i, outs) for i in value.items]
            return value.cls(*items) if value.cls is not None else tuple(items)
        case av.Ref():
            return _heap_output(interpreter, interpreter.contents(value), outs)
        case av.Opt():
            outs.append(value.is_none)
            flag = len(outs) - 1
            return OptOut(flag, output(interpreter, value.value, outs))
        case DynList():
            return _heap_output(interpreter, value, outs)
        case av.Poison():
            raise TypeProblem("DJ304", f"the result is {value.reason}", cure="return one type on all paths")
        case _:
            pass
    raise TypeProblem(
        "DJ319", f"the function returns {describe(value)}", cure="return numbers, arrays, or containers of them"
    )


def _heap_output(interpreter: Interpreter, held: Any, outs: list[Value]) -> Any:
    if isinstance(held, av.ListC):
        return [output(interpreter, i, outs) for i in held.items]
    if isinstance(held, av.DictC):
        items = {k: output(interpreter, v, outs) for k, v in held.items.items()}
        return set(items) if held.is_set else items
    if isinstance(held, av.ObjC) and held.cls is Table:
        keys, values = (output(interpreter, held.fields[name], outs) for name in ("kept_keys", "kept_values"))
        return TableOut(keys, values)
    if isinstance(held, av.ObjC) and hasattr(held.cls, "stands_for"):
        cure = "return sorted(...) of it, or a dict"
        raise TypeProblem("DJ319", f"the function returns {describe(held)} made at run time", cure=cure)
    if isinstance(held, av.ObjC):
        if held.cls.__module__ == LOCAL:
            cure = "return its attributes, or define the class at module level"
            raise TypeProblem(
                "DJ319", f"the function returns an object of its own class `{held.cls.__name__}`", cure=cure
            )
        return RecordOut(held.cls, {n: output(interpreter, v, outs) for n, v in held.fields.items()})
    if isinstance(held, DynList) and len(held.lists) == 1:
        outs.append(held.lists[0])
        return Out(len(outs) - 1)
    raise TypeProblem(
        "DJ319",
        "the function returns a list that grows at run time with tuples in it",
        cure="return one list per item, or arrays",
    )


def rebuild(spec: Any, outs: list[Any]) -> Any:
    """The Python result from the program's flat results."""
    if isinstance(spec, Out):
        return outs[spec.index]
    if isinstance(spec, OptOut):
        return None if outs[spec.flag] else rebuild(spec.inner, outs)
    if isinstance(spec, RecordOut):
        return tree.make_object(spec.cls, {n: rebuild(v, outs) for n, v in spec.fields.items()})
    if isinstance(spec, TableOut):
        return dict(zip(rebuild(spec.keys, outs), rebuild(spec.values, outs), strict=True))
    if isinstance(spec, tuple):
        items = [rebuild(s, outs) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    if isinstance(spec, list):
        return [rebuild(s, outs) for s in spec]
    if isinstance(spec, dict):
        return {k: rebuild(v, outs) for k, v in spec.items()}
    return spec


def mapped(spec: Any, leaf: Callable[[int], Any]) -> Any:
    """The same tree with other leaves; flags that say what is None stay."""
    if isinstance(spec, Out):
        return leaf(spec.index)
    if isinstance(spec, OptOut):
        return OptOut(spec.flag, mapped(spec.inner, leaf))
    if isinstance(spec, RecordOut):
        return RecordOut(spec.cls, {name: mapped(v, leaf) for name, v in spec.fields.items()})
    if isinstance(spec, TableOut):
        return TableOut(spec.keys, mapped(spec.values, leaf))
    if isinstance(spec, tuple):
        items = [mapped(s, leaf) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    if isinstance(spec, list):
        return [mapped(s, leaf) for s in spec]
    if isinstance(spec, dict):
        return {key: mapped(v, leaf) for key, v in spec.items()}
    return spec
