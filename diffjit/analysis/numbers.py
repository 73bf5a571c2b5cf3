"""Arrays without dimensions that are numbers on another path: whether the program can tell.

y = np.where(x > 0.0, x, 0.1 * x)      of a number that is an array without dimensions,
if x > 2.0:
    y = y / x                          and this is a number
y += 1.0                               in place, or not?

Where the paths meet, the array's number is read, and the name stands for a number from there on. That is right as long
as nobody changes the array afterwards; where the name is changed in place, nobody may look at the array afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

from diffjit.analysis.integers.dependence import Dependence
from diffjit.analysis.integers.sums import Sums
from diffjit.analysis.memory import Memory
from diffjit.analysis.order import Order
from diffjit.errors import TypeProblem
from diffjit.frontend.values.leaves import JOINED
from diffjit.ir.nodes import Function, Op
from diffjit.ir.types import Array, is_ref
from diffjit.ir.walk import walk


def review_numbers(function: Function, *, in_place: bool) -> None:
    """Refuse a program that can tell; `in_place`: it changes such a number by `+=` or its like."""
    for each in _functions(function):
        reads = [op for op in walk(each.body) if op.kind == "load" and isinstance(op.attrs.get(JOINED), Array)]
        if not reads:
            continue
        order = Order(each)
        memory = Memory(each, order, Dependence(order, Sums(each)), whole=True)
        for read in reads:
            if memory.changes_after(read.inputs[0], read) or (in_place and not _is_last(read, memory, each)):
                message = "an array without dimensions is a number on another path, and changes in place"
                cure = "make it a number before the paths meet: x = x[()]"
                raise TypeProblem("DJ304", message, loc=read.loc, cure=cure)
        for read in reads:  # not asked again of derivatives, which change memory of their own
            read.attrs[JOINED] = read.outputs[0].type


def _functions(function: Function) -> Iterator[Function]:
    """A program and the functions that it calls, each once."""
    todo, seen = [function], {function}
    while todo:
        each = todo.pop()
        yield each
        for op in walk(each.body):
            called = op.attrs.get("function")
            if isinstance(called, Function) and called not in seen:
                seen.add(called)
                todo.append(called)


def _is_last(read: Op, memory: Memory, function: Function) -> bool:
    """Whether nobody looks at an array after its number has been read: neither the program nor who gave it."""
    found = memory.find(read.inputs[0])
    others = [*function.params, *function.results]
    if any(is_ref(v.type) and memory.find(v) == found for v in others):
        return False
    return not any(
        op is not read and is_ref(v.type) and memory.find(v) == found and memory.may_follow(read, op, found)
        for op in walk(function.body)
        for v in op.inputs
    )
