"""`dataclasses.dataclass` for diffjit's own classes: the same options and instances, and classes that are made faster.

The standard library writes five methods for a class as text, and compiles each of them when the module is imported.
diffjit has some two hundred such classes, and a program's first gradient waits for all of them: here one `__init__` is
compiled for a class when its first instance is made, and the other methods are shared. Public classes, and those that
programs are interpreted with, keep the standard decorator: tools and the frontend read the signature of `__init__`.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True) -> Any:
        """As `dataclasses.dataclass`: with `eq`, instances are hashed by their fields if `frozen`, else not at all."""
        if cls is None:
            return lambda cls: _made(cls, frozen, slots, eq)
        return _made(cls, frozen, slots, eq)


def _made(cls: Any, frozen: bool, slots: bool, eq: bool) -> Any:
    own = frozenset(vars(cls))
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    methods: dict[str, Any] = {"__repr__": _repr, "__init__": _first_init(cls, frozen)}
    if frozen:
        methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
    if eq:
        methods |= _comparison([f.name for f in dataclasses.fields(cls) if f.compare], frozen)
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def _first_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """An `__init__` that puts the real one into its place."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - the name that errors and profiles show
        if vars(cls)["__init__"] is __init__:
            cls.__init__ = _written_init(cls, frozen)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _written_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """The `__init__` with a parameter for each field, and its defaults."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    by_place: list[str] = ["self"]
    by_name: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name = value = parameter = field.name
        made = field.default_factory is not dataclasses.MISSING
        if made:
            scope[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}" if field.init else f"_make_{name}()"
        elif field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif not field.init:
            continue  # `__post_init__` gives it
        if field.init:
            (by_name if field.kw_only else by_place).append(parameter)
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = [*by_place, "*", *by_name] if by_name else by_place
    text = f"def __init__({', '.join(parameters)}):\n    " + "\n    ".join(lines or ["pass"])
    exec(text, scope)  # noqa: S102 - names of fields
    scope["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return scope["__init__"]


def _comparison(names: list[str], frozen: bool) -> dict[str, Any]:
    """Instances of one class with equal fields are equal."""
    key: Callable[[Any], Any]
    if len(names) == 1:
        first = operator.attrgetter(names[0])
        key = lambda self: (first(self),)  # noqa: E731
    else:
        key = operator.attrgetter(*names) if names else lambda _self: ()

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(key(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _repr(self: Any) -> str:
    """As the standard library shows it, but for what holds itself: that is shown by its class."""
    if id(self) in _shown:
        return f"{type(self).__qualname__}(...)"
    _shown.add(id(self))
    try:
        parts = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(parts)})"
    finally:
        _shown.discard(id(self))


_shown: set[int] = set()


def _refuse_setting(self: Any, name: str, _value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r} of {type(self).__qualname__}")


def _refuse_deleting(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r} of {type(self).__qualname__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
