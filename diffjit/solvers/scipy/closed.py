"""A user's function in the hands of a solver of SciPy's: interpreted once, for arguments of certain types.

What it reads of its surroundings becomes arguments, so that rules have derivatives by it. `closed(f, points, args,
takes)` gives the function and what belongs to it, `(field, floats, others)`; a solver calls `field(points, floats,
others)`:
with other points, and with the numbers and arrays that have derivatives or have none.

Where SciPy's own code is to call the function, it calls `field` itself, which is compiled then.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from diffjit.api.engine.derived import Jitted
from diffjit.api.engine.inline import Inside, abstract_function, elsewhere, nest, plain
from diffjit.api.engine.programs import flatten_call
from diffjit.frontend.calls.nested import Entry, Inner, signature
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Function, Value
from diffjit.ir.types import Array, Sym, is_float, lengths_in, new_length, renamed
from diffjit.ir.walk import clone, walk_called
from diffjit.solvers.states import fitting


class Closed:
    """A function that is interpreted already: `n` of its flat arguments are points, `more` are the others."""

    def __init__(self, inner: Inner, n: int, function: Any, more: list[Any], again: Any) -> None:
        self.inner, self.n = inner, n
        self.function, self.more = function, more
        self.again = again  # interprets the same call once more
        self.__name__ = inner.program.function.name
        rest = range(n, len(inner.inputs))
        self.floats = [k for k in rest if is_float(inner.inputs[k].type)]
        self.others = [k for k in rest if k not in self.floats]
        self.compiled = Jitted(_Flat(self), None)
        self.lengths = [v.type.dims if isinstance(v.type, Array) else () for v in inner.program.function.params[:n]]

    def given(self, which: list[int]) -> Any:
        """What these parameters are bound to."""
        return av.Tup(tuple(self.inner.inputs[k] for k in which))

    def exceptions(self) -> list[type]:
        """The classes of exceptions that it raises by itself."""
        ops = walk_called(self.inner.program.function)
        return [
            op.attrs["exception"] for op in ops if op.kind == "raise" and issubclass(op.attrs["exception"], Exception)
        ]

    def __call__(self, points: Any, floats: Any, others: Any) -> Any:
        """The function's result, as SciPy asks for it while a program runs."""
        for point, dims in zip(points, self.lengths, strict=True):
            if any(isinstance(d, int) and d != n for d, n in zip(dims, np.shape(point), strict=True)):
                raise ValueError(f"{self.__name__} was made for points of other lengths than {np.shape(point)}")
        return self.compiled(*points, *floats, *others)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs
        points, floats, others = (interpreter.sequence_items(a, node) for a in args)
        items: dict[int, Any] = dict(enumerate(points))
        items.update(zip(self.floats, floats, strict=True))
        items.update(zip(self.others, others, strict=True))
        function = self.inner.program.function
        if interpreter.caught_inside(function) is not None:  # with what it reads, as no derivative is taken
            points = [fitting(interpreter, items[k], p) for k, p in enumerate(function.params[: self.n])]
            return interpreter.call(abstract_function(interpreter, self.function), [*points, *self.more], {}, node)
        given = [fitting(interpreter, items[k], p) for k, p in enumerate(function.params)]
        function = with_lengths(function, given[: self.n])
        return interpreter.abstract(self.inner.program.result, interpreter.copy_in(function, given))


def with_lengths(function: Function, points: list[Value]) -> Function:
    """The function for points of these lengths, where they are others than it was interpreted for.

    A length that was not known then may be one here and another where the function is copied to next: so is each length
    inside that may follow from it.
    """
    names: dict[int, int] = {}
    for param, point in zip(function.params, points, strict=False):
        for old, new in zip(getattr(param.type, "dims", ()), getattr(point.type, "dims", ()), strict=True):
            if isinstance(old, Sym) and old != new:
                names[old.uid] = new_length()
    if not names:
        return function
    given = {u for p in function.params for u in lengths_in(p.type)}
    mapping: dict[Value, Value] = {}
    copied = clone(function, mapping)
    inside = {u for v in mapping for u in lengths_in(v.type)} - given
    names |= {u: new_length() for u in inside}
    for v in mapping.values():
        v.type = renamed(v.type, names)
    return copied


class _Flat:
    """The same function of flat arguments, to be compiled."""

    def __init__(self, field: Closed) -> None:
        self.field, self.__name__ = field, field.__name__

    def __call__(self, *args: Any) -> Any:
        """It is compiled; nothing calls it."""
        raise TypeError(self.__name__)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        field = self.field
        n, m = field.n, field.n + len(field.floats)
        parts = [av.Tup(tuple(args[:n])), av.Tup(tuple(args[n:m])), av.Tup(tuple(args[m:]))]
        return field.__diffjit_inline__(interpreter, parts, kwargs, node)


def closed(f: Any, points: Any, args: Any, takes: tuple[str, ...]) -> Any:
    """A function with arguments `(*points, *args)`: what stands for it, its floats, its other numbers and arrays.

    `takes`: the derivatives that are taken of it before those that are taken of what calls it
    (`frontend.entry.demand`), those in the rules of solvers included.
    """
    raise TypeError("only programs call this")


def strict(f, *args):  # type: ignore[no-untyped-def]
    """A function as Python runs it, where its numbers raise."""
    try:
        return f(*args)
    except (ArithmeticError, ValueError):  # noqa: TRY203 - inside, they are tested for
        raise


def _looked_at(interpreter: Any, function: Any) -> Any:
    """The function; where a `try` around catches what Python's own numbers raise (1 / 0), one that raises it."""
    if not interpreter.tries_numbers():
        return function
    return Inside(av.Partial(interpreter.fn_of(strict), (abstract_function(interpreter, function),), {}))


def _closed_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del kwargs
    points = interpreter.sequence_items(args[1], node)
    more = interpreter.sequence_items(args[2], node) if _listed(interpreter, args[2]) else [args[2]]
    function = plain(interpreter, args[0])
    takes = tuple(mode.obj for mode in interpreter.sequence_items(args[3], node))

    def interpreted() -> Inner | None:
        return nest(
            interpreter, _looked_at(interpreter, function), [*points, *more], {}, node,
            refusal="a function in the hands of SciPy", demand=takes,
            plainly=elsewhere, called_on="SciPy",
        )  # fmt: skip

    inner = interpreted()
    if inner is None:
        return NONE
    n = len(flatten_call(tuple(interpreter.enter(p, Entry())[0] for p in points), {}).leaves)
    field = Closed(inner, n, function, more, interpreted)
    return av.Tup((Static(field), field.given(field.floats), field.given(field.others)))


def _listed(interpreter: Any, args: Any) -> bool:
    """Whether arguments are a tuple or list of these, not one of them: SciPy takes either."""
    held = interpreter.contents(args) if isinstance(args, av.Ref) else None
    return isinstance(args, av.Tup) or isinstance(held, av.ListC) or (isinstance(args, Static) and args.obj == ())


closed.__diffjit_inline__ = _closed_inside  # type: ignore[attr-defined]


def constants(function: Any, *args: Any) -> Any:
    """Numbers that a Python function of known arguments gives, as a tuple: a rule's nodes, a method's coefficients."""
    raise TypeError("only programs call this")


def _constants_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del kwargs
    given = [interpreter.static_int(a, "this number", node) for a in args[1:]]
    return av.Tup(tuple(Static(float(x)) for x in np.ravel(args[0].obj(*given))))


constants.__diffjit_inline__ = _constants_inside  # type: ignore[attr-defined]


def number(value: Any) -> Any:
    """A number, of what a function gives: also an array of one element."""
    return np.ravel(value)[0] if np.ndim(value) > 0 else 1.0 * value


def parameters(f: Any) -> Any:
    """How many positional parameters a function has."""
    raise TypeError("only programs call this")


def named_parameters(f: Any) -> Any:
    """The names of a function's parameters."""
    raise TypeError("only programs call this")


def _parameters_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    return Static(len(_named_inside(interpreter, args, kwargs, node).items))


def _named_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del interpreter, kwargs, node
    function = args[0]
    bound = isinstance(function, av.Bound)
    if isinstance(function, Static):
        found = inspect.signature(function.obj).parameters
    else:
        found = signature(function.function if bound else function).parameters
    return av.Tup(tuple(map(Static, list(found)[bound:])))


parameters.__diffjit_inline__ = _parameters_inside  # type: ignore[attr-defined]
named_parameters.__diffjit_inline__ = _named_inside  # type: ignore[attr-defined]
