"""Callbacks: SciPy's code has passed some points, and when it is done the program's callback is called with each.

    path = []
    minimize(f, x0, callback=lambda x: path.append(x.copy()))

So a callback is a part of the program like any other: it may print, count, and let lists grow. It comes late, though:
nothing that SciPy's code has read may be changed by it, and it cannot end the search.
"""

# pyright: basic

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffjit.errors import UsageError
from diffjit.frontend.numpy.reshapes import changed
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Block, Function, Value, const_of
from diffjit.ir.roots import Roots
from diffjit.ir.types import is_ref
from diffjit.ir.walk import walk
from diffjit.solvers.aside.remarks import LEFT, POINTS
from diffjit.solvers.scipy.closed import Closed, named_parameters
from diffjit.solvers.scipy.results import Named

_ENDED = "a callback that ends a search: end it by its tolerances, or by the number of its steps"


@dataclass
class Passed(Named):
    """A point that a search has passed, as callbacks take it that name it `intermediate_result`."""

    x: Any
    fun: Any


def followed(callback, trail, x, more, height, functions):
    """Call a callback with all points of a trail to x, and with the numbers behind each, of the types `more`.

    `trail` is what `remarks.where` says of it, `height` what the points have a value by; `functions` are those that
    SciPy's code has called.
    """
    before, n = read_by(functions), x.size
    points = LEFT(POINTS(trail[0], trail[1], n + len(more)), x)
    for k in range(points.shape[0]):
        point = points[k, :n].copy()
        behind = [kind(points[k, n + j]) for j, kind in enumerate(more)]
        passed(callback, point, (point, *behind), height, ends=len(more) > 0)
    unchanged(before)


def heard(callback, trail, x, functions):
    """Call a callback with all numbers of a trail to x."""
    before = read_by(functions)
    numbers = LEFT(POINTS(trail[0], trail[1], 1), x)
    for k in range(numbers.shape[0]):
        passed(callback, None, (float(numbers[k, 0]),), None, ends=False)
    unchanged(before)


def passed(callback, x, given, height, ends):
    """One point. Some searches are ended by what a callback returns, all by StopIteration."""
    try:
        if named_parameters(callback) == ("intermediate_result",):
            answer = callback(intermediate_result=Passed(x, height(x)))
        else:
            answer = callback(*given)
    except StopIteration:
        raise NotImplementedError(_ENDED) from None
    if ends and answer is not None:
        raise NotImplementedError(_ENDED)


class _Reading:
    """What functions read of their surroundings, and where in the program."""

    def __init__(self, fields: list[Closed], block: Any) -> None:
        self.fields, self.block, self.first = fields, block, len(block.ops)


def read_by(functions: Any) -> Any:
    """What these functions have read of their surroundings."""
    raise TypeError("only programs call this")


def unchanged(before: Any) -> Any:
    """Refuse what has changed something of that since."""
    raise TypeError("only programs call this")


def _read_by_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del kwargs, node
    interpreter.keeps_objects = True  # the points are one
    return Static(_Reading(list(_fields(args[0])), interpreter.build.block))


def _fields(value: Any) -> Any:
    if isinstance(value, av.Tup):
        for item in value.items:
            yield from _fields(item)
    elif isinstance(value, Static) and isinstance(value.obj, Closed):
        yield value.obj


def _unchanged_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del kwargs
    before: _Reading = args[0].obj
    if interpreter.dead:
        return NONE
    for field in before.fields:
        again = field.again()
        read = field.inner.inputs[field.n :]
        if (
            again is None
            or not _same(read, again.inputs[field.n :])
            or _written(before, [v for v in read if is_ref(v.type)], interpreter.param_paths)
        ):
            raise interpreter.error(
                UsageError(
                    "DJ125", "a callback changes what the function in the hands of SciPy reads",
                    cure="let the callback note what it is given, and change nothing that the function depends on",
                ), node,
            )  # fmt: skip
    return NONE


def _same(before: list[Value], now: list[Value]) -> bool:
    """Whether the values that were read are the same, or equal constants."""

    def known(v: Value) -> Any:
        constant = const_of(v)
        return None if constant is None else (type(constant), repr(constant))

    return len(before) == len(now) and all(
        a is b or (known(a) is not None and known(a) == known(b)) for a, b in zip(before, now, strict=True)
    )


def _written(before: _Reading, read: list[Value], paths: dict[Value, Any]) -> bool:
    """Whether what stands in the block since may write to memory that was read; `paths` tell arguments apart."""
    roots = Roots(Function("", [], before.block))
    since = Block()
    since.ops = before.block.ops[before.first :]
    written = {roots.root(v) for op in walk(since) for v in changed(op) if is_ref(v.type)}

    def may_alias(a: Value, b: Value) -> bool:
        if a in paths and b in paths:
            return paths[a] == paths[b]
        return type(a.type) is type(b.type) and roots.roots_may_alias(a, b)

    return any(may_alias(w, roots.root(v)) for v in read for w in written)


read_by.__diffjit_inline__ = _read_by_inside  # type: ignore[attr-defined]
unchanged.__diffjit_inline__ = _unchanged_inside  # type: ignore[attr-defined]
