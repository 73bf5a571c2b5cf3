"""Specialised programs, and their results as trees of positions among the flat results of an IR function."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit import rare
from diffjit.dataclass import dataclass
from diffjit.errors import TypeProblem
from diffjit.frontend.calls.classes import LOCAL
from diffjit.frontend.entry.outputs import (
    Apart,
    Change,
    OneOf,
    OptOut,
    Out,
    RecordOut,
    RowsOut,
    TableOut,
    TextOut,
    is_made_text,
)
from diffjit.frontend.entry.places import Attribute
from diffjit.frontend.values import values as av
from diffjit.frontend.values.nodes import ListsOf
from diffjit.frontend.values.templates import (
    Boxed,
    Const,
    DynList,
    Leaf,
    Node,
    OptT,
    Sub,
    SumT,
    describe,
    objects_among,
    of_numbers,
)  # fmt: skip
from diffjit.frontend.values.values import Static, is_number
from diffjit.ir.nodes import Function, Value
from diffjit.ir.types import COMPLEX, FLOAT, Array, List, Scalar
from diffjit.labels import Labels
from diffjit.primitives.foreign import stood_for
from diffjit.primitives.library.derived.dicts import ITEMS
from diffjit.primitives.library.tables import Table
from diffjit.stored import stored
from diffjit.tree import NO_THREADS

if TYPE_CHECKING:
    from diffjit.frontend.syntax.interpret import Interpreter


@dataclass(slots=True, eq=False)
class Program:
    """A specialised function: IR, how to call it, and how to rebuild its result."""

    function: Function
    n_args: int  # the first parameters are the numeric leaves of the arguments
    captures: list[Callable[[], Any]]  # the others are read afresh at each call
    guards: list[tuple[Callable[[], Any], Any]]
    result: Any  # a tree of `Out`, static objects and containers
    # Leaves k whose value is part of it, ~k: their sign; of lengths: `tree.reach`, and RELATED, what they differ by
    fixed: frozenset[int] = frozenset()
    arg_names: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)  # containers among the arguments that the function changes
    threads_from: int = NO_THREADS  # nests of so many axes may run in threads
    followed: dict[Any, Any] = field(default_factory=dict)  # the Python functions in it, and their code
    portable: bool = False  # whether it rests on these and its guards alone
    changes_arrays: bool = False  # in place, by a name that is a number on another path
    streams: list[int] = field(default_factory=list[int])  # parameters that are the words of streams of random numbers
    changed_outside: list[Any] = field(default_factory=list)  # objects outside that it changes
    apart: Apart | None = None  # objects that it takes for several

    def parts(self, *, asked: bool) -> bool:
        """Whether it has, or lacks, a part because somebody has asked for that, or nobody has (`diffjit.rare`)."""
        places = (g for g, expected in self.guards if isinstance(g, Attribute) and expected is asked)
        return any(place.owner is part for place in places for part in rare.PARTS)


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
        case av.Handle() if not isinstance(value.kind, ListsOf):
            cure = "return its numbers, as a list or array"
            raise TypeProblem("DJ319", f"the function returns {describe(value)}, whose nodes it makes", cure=cure)
        case av.Ref() if (known := interpreter.itself(value)) is not None:
            return known
        case av.Ref() if value.uid in interpreter.given_once:
            return interpreter.given_once[value.uid]
        case av.Ref():
            if not (interpreter.is_opaque(value) and interpreter.flagged(value, "text_")):
                interpreter.known_object(value)
            found = _heap_output(interpreter, interpreter.contents(value), outs)
            found = _in_a_tuple(found) if interpreter.is_part_of_tuple(value) else found
            interpreter.give_once(value, found)
            return found
        case av.Opt():
            outs.append(value.is_none)
            flag = len(outs) - 1
            return OptOut(flag, output(interpreter, value.value, outs))
        case DynList():
            return _heap_output(interpreter, value, outs)
        case av.Format():
            return _text_output(interpreter, value, outs)
        case av.Sum() if all(interpreter.is_text(v) or interpreter.itself(v) is not None for v in value.variants):
            outs.append(value.tag)
            flag = len(outs) - 1
            return OneOf(flag, tuple(output(interpreter, v, outs) for v in value.variants))
        case av.Sum() if (dtype := _widest(value)) is not None:
            return output(interpreter, interpreter.each(value, lambda v: interpreter.cast(v, dtype)), outs)
        case av.Poison():
            error = TypeProblem(
                "DJ304", f"the result is {value.reason}", cure=value.cure or "return one type on all paths"
            )
            raise interpreter.undecided(value, error)
        case _:
            pass
    raise TypeProblem(
        "DJ319", f"the function returns {describe(value)}", cure="return numbers, arrays, or containers of them"
    )


def _widest(value: av.Sum) -> np.dtype[Any] | None:
    """Of arrays of ints, of floats and of complex numbers, the dtype that holds them all, as where numbers meet."""
    types = [v.type for v in value.variants if isinstance(v, Value) and isinstance(v.type, Array)]
    if len(types) < len(value.variants) or len({ty.ndim for ty in types}) > 1:
        return None
    if all(ty.dtype.kind in "iu" or ty.dtype in (FLOAT.dtype, COMPLEX.dtype) for ty in types):
        return np.result_type(FLOAT.dtype, *(ty.dtype for ty in types))
    return None


def _text_output(interpreter: Interpreter, value: av.Format, outs: list[Value]) -> TextOut:
    """A text of the run: of numbers alone, since an array may have changed since the text was made."""
    parts: list[Any] = []
    for piece, text in interpreter.flatten_text(value, ""):
        if piece is None:
            parts.append(text)
        elif isinstance(piece.type, Scalar):
            outs.append(piece)
            parts.append((Out(len(outs) - 1), text or "", interpreter.class_of(piece)))
        else:
            raise TypeProblem(
                "DJ319", "the function returns a text that is made of an array at run time", cure="return the array"
            )
    return TextOut(tuple(parts))


def _heap_output(interpreter: Interpreter, held: Any, outs: list[Value]) -> Any:
    if isinstance(held, av.ListC):
        return [output(interpreter, i, outs) for i in held.items]
    if isinstance(held, av.DictC) and objects_among(held.items):
        raise TypeProblem("DJ319", "the function returns a dict or set whose keys are objects", cure="return a list")
    if isinstance(held, av.DictC):
        items = {k: output(interpreter, v, outs) for k, v in held.items.items()}
        if held.is_set:
            return (held.cls or set)(items)
        return OrderedDict(items) if held.cls is OrderedDict else items
    if isinstance(held, av.ObjC) and ITEMS in held.fields:
        kind = interpreter.container_of(held.cls).__name__  # pyright: ignore[reportOptionalMemberAccess] - it has items
        raise TypeProblem(
            "DJ319", f"the function returns {describe(held)}, a class of {kind}s", cure=f"return {kind}(...) of it"
        )
    if isinstance(held, av.ObjC) and held.cls is Table:
        keys, values = (output(interpreter, held.fields[name], outs) for name in ("kept_keys", "kept_values"))
        return TableOut(keys, values)
    if isinstance(held, av.ObjC) and hasattr(held.cls, "told"):
        cure = "return what is drawn from it; the caller's own is left as the function leaves it"
        raise TypeProblem("DJ319", f"the function returns {describe(held)}", cure=cure)
    if isinstance(held, av.ObjC) and hasattr(held.cls, "stands_for") and not hasattr(held.cls, "has_more"):
        known = stored(held.cls.stands_for)
        if known is not None and known.make is not None:
            fields = interpreter.all_fields(held)
            if any(isinstance(v, Static) and isinstance(v.obj, Labels) and v.obj.cut for v in parts_of(fields)):
                cure = "return its numbers, .to_numpy()"
                raise TypeProblem(
                    "DJ319",
                    f"the function returns a part of {describe(held)}, whose labels it does not know",
                    cure=cure,
                )
            return RecordOut(held.cls.stands_for, {n: output(interpreter, v, outs) for n, v in fields.items()})
        usual = (
            "return sorted(...) of it, or a dict" if held.cls.stands_for in (dict, set) else "return what it computes"
        )
        cure = getattr(held.cls, "returned_as", usual)
        raise TypeProblem("DJ319", f"the function returns {describe(held)} made at run time", cure=cure)
    if isinstance(held, av.ObjC):
        if held.cls.__module__ == LOCAL:
            cure = "return its attributes, or define the class at module level"
            raise TypeProblem(
                "DJ319", f"the function returns an object of its own class `{held.cls.__name__}`", cure=cure
            )
        known = None if interpreter.of_call or hasattr(held.cls, "__diffjit_made__") else stood_for(held.cls)
        if known is not None or issubclass(held.cls, BaseException):
            what = f"an object of class `{(known or held.cls).__name__}` made at run time"
            raise TypeProblem("DJ319", f"the function returns {what}", cure="return what it computes")
        return RecordOut(held.cls, {n: output(interpreter, v, outs) for n, v in interpreter.all_fields(held).items()})
    if isinstance(held, DynList) and of_numbers(held.elem):
        outs.append(held.lists[0])
        return _as_it_is(Out(len(outs) - 1), Sub(held.elem))
    if isinstance(held, DynList) and (rows := _rows(held, outs)) is not None:
        return rows
    tuples = isinstance(held, DynList) and isinstance(held.elem, Node)
    items = "tuples" if tuples else "what is not numbers alone"
    raise TypeProblem(
        "DJ319",
        f"the function returns a list that grows at run time with {items} in it",
        cure="return one list per item, or arrays",
    )


def _as_it_is(found: Out, template: Any) -> Any:
    """A number or array, a list that grows, or a tuple of the run, each with items that may be such."""
    if not _holds_tuples(template):
        return found
    return RowsOut(_as_it_is(Out(0), template.elem), (found,), frozenset(), tuple if template.frozen else list)


def _holds_tuples(template: Any) -> bool:
    return isinstance(template, Sub) and (bool(template.frozen) or _holds_tuples(template.elem))


def _in_a_tuple(spec: Any) -> RowsOut:
    """The items of a list that grows, in a tuple."""
    if isinstance(spec, RowsOut):
        return RowsOut(spec.item, spec.lists, spec.flags, tuple)
    return RowsOut(Out(0), (spec,), frozenset(), tuple)


def parts_of(fields: dict[str, Any]) -> Iterator[Any]:
    """What an object holds, in tuples too."""
    for value in fields.values():
        yield from value.items if isinstance(value, av.Tup) else (value,)


def _rows(held: DynList, outs: list[Value]) -> RowsOut | None:
    """A list whose items are tuples, dicts and objects of numbers and arrays; None of others."""
    flags: set[int] = set()
    places = itertools.count()
    item = _row(held.elem, places, flags)
    if item is None:
        return None
    lists = tuple(Out(len(outs) + k) for k in range(len(held.lists)))
    outs += held.lists
    return RowsOut(item, lists, frozenset(flags))


def _row(template: Any, places: Iterator[int], flags: set[int]) -> Any:
    """The tree of an item, whose leaves are numbered; None where it has no form."""
    match template:
        case Leaf() if not isinstance(template.type, List):
            return Out(next(places))
        case Const() if template.obj is not None:
            return template.obj
        case OptT() if template.inner is not None:
            flags.add(flag := next(places))
            inner = _row(template.inner, places, flags)
            return None if inner is None else OptOut(flag, inner)
        case SumT() if all(isinstance(v, Const) for v in template.variants):
            flags.add(flag := next(places))
            return OneOf(flag, tuple(v.obj for v in template.variants))
        case Boxed():
            return _row(template.node, places, flags)
        case Sub() if of_numbers(template):
            return _as_it_is(Out(next(places)), template)
        case Node():
            parts = [_row(child, places, flags) for child in template.children]
            return None if any(p is None for p in parts) else _put_together(template.like, parts)
        case _:
            return None


def _put_together(like: Any, parts: list[Any]) -> Any:
    match like:
        case av.Tup():
            return tuple(parts) if like.cls is None else like.cls(*parts)
        case av.DictC() if not like.is_set and like.cls is None:
            return dict(zip(like.items, parts, strict=True))
        case av.ObjC() if like.cls.__module__ != LOCAL and not {"stands_for", "told"} & {*dir(like.cls)}:
            return RecordOut(like.cls, dict(zip(sorted(like.fields), parts, strict=True)))
        case _:
            return None


def in_words(spec: Any) -> str:
    """A result that has no derivative, in a user's words."""
    if isinstance(spec, RowsOut):
        return "a growing list"
    if isinstance(spec, TextOut | OneOf) or is_made_text(spec):
        return "a text"
    if spec is None:
        return "None"
    return f"the {type(spec).__name__} {spec}" if is_number(spec) else f"a {type(spec).__name__}"
