"""Acts: calls of Python at their place in a program, for what they do or for an answer without a derivative.

    log.info("loss %s", loss)            t = time.perf_counter()            with open(path) as f: ...

Compiled code holds numbers and arrays alone. An object that Python returns stays with the run that made it, and its
place among the objects of that run stands for it. An `Act` says what is called, and where the operands of the call
belong in its arguments; `Routine`s and `Site`s (`primitives.routines`) do the rest, as for any function without source.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from dataclasses import field
from typing import Any, cast

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import UsageError, on_behalf, written
from diffjit.primitives.routines import RUN, Held, Slot


def begin() -> None:
    """A run begins: nobody needs the objects of the last one any more."""
    RUN.began = []


@dataclass(frozen=True, slots=True)
class Kept:
    """An argument that is an object of the run: which operand is its number."""

    index: int


@dataclass(frozen=True, slots=True)
class Written:
    """An argument that is a text with values in it: literal text, and (value, format specification)."""

    parts: tuple[Any, ...]

    def text(self, values: list[Any]) -> str:
        """The text for these operands."""
        return "".join(p if isinstance(p, str) else written(filled(p[0], values), p[1]) for p in self.parts)


@dataclass(frozen=True, slots=True)
class Told:
    """An argument that Python makes a text of, no more: what str() and repr() give."""

    str: Any
    repr: Any

    def __str__(self) -> str:
        return self.str

    def __repr__(self) -> str:
        return self.repr


@dataclass(frozen=True, slots=True)
class Listed:
    """An argument that is a list of numbers, handed over as an array; `weak`: of Python's own."""

    index: int
    weak: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """An argument that is a slice."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Thrown:
    """An argument that is an exception."""

    cls: type[BaseException]
    message: Any


@dataclass(frozen=True, slots=True)
class Stream:
    """One of the streams of `sys`, which may be another object at each call."""

    name: str

    def __getattr__(self, name: str) -> Any:
        found = getattr(getattr(sys, self.name), name)
        return StreamMethod(self, name) if callable(found) else found


@dataclass(frozen=True, slots=True)
class StreamMethod:
    """A method of such a stream."""

    stream: Stream
    name: str

    @property
    def __name__(self) -> str:
        return f"{self.stream.name}.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the stream of this moment does."""
        return getattr(getattr(sys, self.stream.name), self.name)(*args, **kwargs)


def raised(cls: type[BaseException], args: tuple[Any, ...], fields: dict[str, Any]) -> None:
    """Raise an exception that holds objects."""
    error = cls.__new__(cls)
    error.args = args
    for name, value in fields.items():
        setattr(error, name, value)
    raise error


STREAMS = {name: Stream(name) for name in ("stdin", "stdout", "stderr")}


def filled(spec: Any, values: list[Any]) -> Any:
    """An argument, for these operands."""
    match spec:
        case Slot():
            return values[spec.index]
        case Kept():
            return RUN.objects[values[spec.index]]
        case Listed():
            return values[spec.index].tolist() if spec.weak else list(values[spec.index])
        case Cut():
            return slice(*(filled(p, values) for p in spec.parts))
        case Written():
            return spec.text(values)
        case Told():
            return Told(filled(spec.str, values), filled(spec.repr, values))
        case Thrown():
            return _exception(spec.cls, filled(spec.message, values))
        case Held():
            return getattr(sys, spec.value.name) if isinstance(spec.value, Stream) else spec.value
        case list():
            return [filled(s, values) for s in cast("list[Any]", spec)]
        case dict():
            return {k: filled(s, values) for k, s in cast("dict[Any, Any]", spec).items()}
        case tuple():
            items = [filled(s, values) for s in cast("tuple[Any, ...]", spec)]
            made: Any = cast("Any", spec).__class__
            return made(*items) if hasattr(made, "_fields") else tuple(items)
        case _:
            return spec


def _exception(cls: type[BaseException], message: str) -> Any:
    """An exception like the one that the program has; its text where the class takes something else."""
    with contextlib.suppress(TypeError):
        return cls(message)
    return message


@dataclass(slots=True, eq=False)
class Act:
    """What is called, and what it gives: "nothing", an "object", or a number ("bool", "int", "float")."""

    function: Any
    arguments: tuple[Any, dict[str, Any]]
    gives: str
    name: str  # as messages name it
    alive: list[Any] = field(default_factory=list[Any])

    @property
    def sees_memory(self) -> bool:
        """Whether it gets the program's arrays, not copies of them."""
        return getattr(self.function, "sees_memory", False)

    def __call__(self, *values: Any) -> Any:
        """The call, for these operands."""
        given = list(values)
        args, kwargs = filled(self.arguments, given)
        before = _copied((args, kwargs))
        try:
            returned = on_behalf(self.function, args, kwargs)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            problem = f"what `{self.name}` gives is changed, and may be an array of the program"
            raise UsageError("DJ552", problem, cure="change the array itself") from error
        self._unchanged(before, (args, kwargs))
        if self.gives == "nothing":
            return ()
        if self.gives == "object":
            RUN.objects.append(returned if self.sees_memory else _shown(returned, values))
            return len(RUN.objects) - 1
        return {"bool": bool, "int": int, "float": float}[self.gives](returned)

    def _unchanged(self, before: Any, after: Any) -> None:
        """A list or dict that the program made is a copy here: what is changed in it would be lost."""
        if not _alike(before, after):
            raise UsageError(
                "DJ552", f"`{self.name}` changed a list or dict that it was given",
                cure="return what it computes, or change a copy",
            )  # fmt: skip


def _shown(returned: Any, given: tuple[Any, ...]) -> Any:
    """A result that shows an array that was given, a copy of the program's: it cannot be written to."""
    if not isinstance(returned, np.ndarray):
        return returned
    result: Any = cast("Any", returned)
    if not any(isinstance(a, np.ndarray) and np.may_share_memory(result, cast("Any", a)) for a in given):
        return result
    shown: Any = result.view()
    shown.flags.writeable = False
    return shown


def _copied(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_copied(v) for v in cast("tuple[Any, ...]", value))
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in cast("dict[Any, Any]", value).items()}
    return value


def _alike(before: Any, after: Any) -> bool:
    """Whether containers hold the objects that they held."""
    if isinstance(before, tuple):
        items = cast("tuple[Any, ...]", before)
        return len(items) == len(after) and all(map(_alike, items, after))
    if isinstance(before, dict):
        parts = cast("dict[Any, Any]", before)
        return list(parts) == list(after) and all(_alike(v, after[k]) for k, v in parts.items())
    return before is after


# What objects are asked for


def called(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of an object."""
    return function(*args, **kwargs)


def method(receiver: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a method by its name."""
    return getattr(receiver, name)(*args, **kwargs)


def exactly(items: Any, count: int) -> tuple[Any, ...]:
    """The items of what is unpacked into so many names."""
    found = tuple(items)
    if len(found) != count:
        many = "too many values to unpack" if len(found) > count else "not enough values to unpack"
        raise ValueError(f"{many} (expected {count}, got {len(found)})")
    return found


class End:
    """What an iterator gives after its last item."""


END = End()


def following(iterator: Any) -> Any:
    """The next item of an iterator, or END."""
    return next(iterator, END)


def ended(item: Any) -> bool:
    """Whether an iterator had no more items."""
    return item is END


def of_class(value: Any, classes: Any) -> bool:
    """Whether an object is an instance."""
    return isinstance(value, classes)


# Calls that may be left out where nobody reads the result, if the object comes from such a call itself.
_PURE: tuple[Any, ...] = (
    abs, bool, called, ended, exactly, getattr, len, of_class, operator.add, operator.eq, operator.ge, operator.getitem,
    operator.gt, operator.is_, operator.le, operator.lt, operator.mul, operator.ne, operator.neg, operator.sub,
    cast("Any", operator).truediv,
)  # fmt: skip
PURE: frozenset[Any] = frozenset(_PURE)
