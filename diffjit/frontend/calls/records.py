"""What is known of a recursive function while it is interpreted."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Cells, Const, Leaf, Node, Same
from diffjit.ir.nodes import Function, Op, Value
from diffjit.ir.types import Array
from diffjit.ir.walk import free_values, rename


@dataclass(slots=True, eq=False)
class Record:
    """A recursive function under interpretation."""

    node: Any
    function: Function
    arguments: dict[str, Any]  # templates
    result: Any = None  # template, once a path has arrived
    state: dict[Any, Any] = field(default_factory=dict)  # cells outside that it reads or changes -> templates
    changed: set[Any] = field(default_factory=set)  # those that it changes, and names of arguments that it changes
    outer: frozenset[int] = frozenset()  # objects that were there before
    start: Cells = field(default_factory=dict)  # where it is called from outside
    entry: Cells = field(default_factory=dict)  # where its body begins
    by_value: set[str] = field(default_factory=set)  # arguments that refer to different objects from call to call
    seen: set[str] = field(default_factory=set)  # those of them whose form is by value already
    longer: set[str] = field(default_factory=set)  # arguments that are tuples of another length in each call
    captured: frozenset[int] = frozenset()  # those of them that it reaches by names of its own
    shares: dict[Any, set[Any]] = field(default_factory=dict)  # result or variable -> arguments and cells it may be of
    calls: list[Site] = field(default_factory=list)  # in its own body, and in those of functions that it calls
    sites: list[Site] = field(default_factory=list)  # where it is called from outside
    within: dict[Value, Value] = field(default_factory=dict)  # values of the surroundings -> its parameters
    form: Any = None  # of the arguments in each call, where it is not recursive (`repeated`)
    settled: bool = True
    waits: bool = False  # some path in it calls a function around it whose result is not known yet
    tried: list[Any] = field(default_factory=list)  # the handlers around its calls of itself, and where these are
    filled: int = 0  # operations at the head of its body that make its lists of what it is given
    stacked: bool = False  # becomes a loop with a stack: lists outside are the program's own in it
    parts: set[Any] = field(default_factory=set)  # functions that become parts of its loop
    handed_back: dict[int, int] = field(default_factory=dict)  # results that are arguments, once it is complete


Site = tuple[Op, Record | None]  # a call, and the recursive function whose body it stands in


def unlike(old: Any, new: Any) -> bool:
    """Whether an argument is a number or array where the other is an object, or the like."""
    kinds = [_rough_kind(t) for t in (old, new)]
    return None not in kinds and kinds[0] != kinds[1]


def _rough_kind(t: Any) -> Any:
    match t:
        case Leaf():
            return t.type.ndim if isinstance(t.type, Array) else "number"
        case Const() if av.is_number(t.obj):
            return "number"
        case Node() if isinstance(t.like, av.Packed):
            return "object"
        case Same() if isinstance(t.value, av.Ref):
            return "object"
        case _:
            return None


def within(where: Record | None, v: Value) -> Value:
    """A value of the surroundings inside of a function, which takes it along from now on if it did not read it."""
    if where is None:
        return v
    if v not in where.within:
        where.within[v] = own = Value(v.type, v.name)
        where.function.params.append(own)
        for op, outer in [*where.calls, *where.sites]:
            op.inputs.append(within(outer, v))
    return where.within[v]


def close(function: Function) -> list[Value]:
    """Values of the surroundings that a function's body reads become parameters; returns them."""
    free = free_values(function.body, function.params)
    mapping = {v: Value(v.type, v.name) for v in free}
    function.params += list(mapping.values())
    rename(function.body, mapping)
    return list(free)
