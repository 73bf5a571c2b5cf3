"""What was made for a function is found again by whoever asks for the same of it: `dj.grad(f)(x)` in a loop.

    for _ in range(1000):              each time another Gradient of the one function f: they share what was made
        w -= dj.grad(f)(w)

    def loss(w): ...                   each call of `fit` makes another `loss` of the same code: what was made for an
    def fit(data):                     earlier one is taken if all that it rests on (closure cells, defaults, globals)
        return dj.grad(loss)(w)        is the same at the new one, and reads its data from there

Nothing is kept alive for long by this: functions without closures, of which there are as many as the user has written;
the last `FEW` others; and of each code what was made of it, without the function that it was made for.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from diffjit.api.engine.programs import Compiled
from diffjit.dataclass import dataclass
from diffjit.frontend.entry import places
from diffjit.frontend.entry.outputs import Apart

if TYPE_CHECKING:
    from diffjit.api.engine.derived import Derived

MOST, FEW = 512, 4


@dataclass(slots=True, eq=False)
class Kept:
    """What was made of one function in one way; `derived` keeps the function, and with it the identity in the key."""

    derived: Derived
    templates: dict[Any, Any]  # what was made of functions of the same code
    cache: dict[Any, tuple[Compiled, Any]] = field(default_factory=dict[Any, tuple[Compiled, Any]])
    fixed: dict[Any, frozenset[int]] = field(default_factory=dict[Any, frozenset[int]])
    shortcuts: dict[Any, Any] = field(default_factory=dict[Any, Any])


_plain: dict[Any, Kept] = {}
_others: dict[Any, Kept] = {}
_by_code: dict[Any, dict[Any, Any]] = {}


def kept(derived: Derived, function: Any, steps: Iterable[Any]) -> Kept:
    """What is kept for functions that are derived like this one: from this function, by these steps."""
    registry = sys.modules.get("diffjit.primitives.registry")
    try:
        ways = (registry.extended() if registry is not None else 0, *steps)
    except TypeError:  # options that cannot be compared
        return Kept(derived, {})
    plain = type(function) is types.FunctionType and function.__closure__ is None
    table, most = (_plain, MOST) if plain else (_others, FEW)
    key = (_identity(function), *ways)
    found = table.get(key)
    if found is None:
        templates: dict[Any, Any] = {}
        if type(function) is types.FunctionType:
            code = (function.__code__, id(function.__globals__), *ways)
            templates = _by_code[code] if code in _by_code else _keep(_by_code, code, templates, MOST)
        found = _keep(table, key, Kept(derived, templates), most)
    return found


def _identity(function: Any) -> Any:
    """A function, or the method of an object: bound methods are made anew each time."""
    if type(function) is types.MethodType:
        return id(function.__func__), id(function.__self__)
    return id(function)


def _keep(table: dict[Any, Any], key: Any, value: Any, most: int) -> Any:
    if len(table) >= most:
        table.pop(next(iter(table)), None)
    table[key] = value
    return value


def forget() -> None:
    """Keep nothing."""
    for table in (_plain, _others, _by_code):
        table.clear()


# Programs of one function as those of another -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """Stands for a function of this code."""

    code: types.CodeType
    namespace: dict[str, Any]

    def fits(self, value: Any) -> bool:
        """Whether a function can stand here."""
        alike = type(value) is types.FunctionType and value.__code__ is self.code
        return alike and value.__globals__ is self.namespace


class _Elsewhere(Exception):
    """A program rests on something that is not found from another function."""


def detached(compiled: Compiled, function: Any) -> Compiled | None:
    """A program without its function; None where it rests on more than what is found from there."""
    if not compiled.portable or type(function) is not types.FunctionType or function not in compiled.followed:
        return None
    slots: dict[Any, Any] = {function: Slot(function.__code__, function.__globals__)}
    guards: list[tuple[Any, Any]] = []
    try:
        for getter, expected in compiled.guards:
            if type(expected) is types.FunctionType and not isinstance(getter, places.Global):
                slots.setdefault(expected, Slot(expected.__code__, expected.__globals__))
                expected = slots[expected]  # noqa: PLW2901
            guards.append((_placed(getter, slots), expected))
        captures = [_placed(getter, slots) for getter in compiled.captures]
        apart = _apart(compiled, slots)
    except _Elsewhere:
        return None
    return _like(compiled, guards, captures, apart, {slots.get(f, f): code for f, code in compiled.followed.items()})


def attached(template: Compiled, function: Any) -> Compiled | None:
    """The same program of a function of the same code; None where something is not as it was."""
    start = next(f for f in template.followed if isinstance(f, Slot))
    if not start.fits(function):
        return None
    functions: dict[Any, Any] = {start: function}
    guards: list[tuple[Any, Any]] = []
    try:
        for getter, expected in template.guards:
            there = _placed(getter, functions)
            if isinstance(expected, Slot):
                value = functions.get(expected) or _read(there)
                taken = expected not in functions and any(value is f for f in functions.values())
                if taken or not expected.fits(value):  # two functions there were two
                    return None
                functions[expected] = expected = value  # noqa: PLW2901
            guards.append((there, expected))
        captures = [_placed(getter, functions) for getter in template.captures]
        apart = _apart(template, functions)
    except _Elsewhere:
        return None
    made = _like(
        template, guards, captures, apart, {functions.get(f, f): code for f, code in template.followed.items()}
    )
    return made if made.valid() else None


def _like(compiled: Compiled, guards: Any, captures: Any, apart: Any, followed: dict[Any, Any]) -> Compiled:
    return replace(compiled, guards=guards, captures=captures, apart=apart, followed=followed)


def _apart(compiled: Compiled, same: dict[Any, Any]) -> Apart | None:
    found = compiled.apart
    return None if found is None else replace(found, outside=[_placed(getter, same) for getter in found.outside])


def _placed(getter: Any, same: dict[Any, Any]) -> Any:
    """A place, found from other functions."""
    match getter:
        case places.Global() | places.Absent() | places.StreamOf():
            return getter
        case places.Cell() if getter.function in same:
            return places.Cell(same[getter.function], getter.index)
        case places.Default() if getter.function in same:
            return places.Default(same[getter.function], getter.key)
        case places.Attribute() if isinstance(getter.owner, (types.FunctionType, Slot)) and getter.owner in same:
            return places.Attribute(same[getter.owner], getter.name)
        case places.Attribute() if isinstance(getter.owner, (type, types.ModuleType)):
            return getter
        case places.Item():
            return places.Item(_placed(getter.owner, same), getter.key)
        case places.Column():
            return replace(getter, owner=_placed(getter.owner, same))
        case places.Part():
            return type(getter)(_placed(getter.owner, same))
        case _:
            raise _Elsewhere


def _read(getter: Callable[[], Any]) -> Any:
    try:
        return getter()
    except (LookupError, AttributeError, ValueError, TypeError) as error:  # it is not there
        raise _Elsewhere from error
