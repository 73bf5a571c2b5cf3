"""Which method of the interpreter implements which function."""

from __future__ import annotations

import sys
from typing import Any

CORE: dict[Any, tuple[str, ...]] = {}  # function -> the name of a method, and what it is told first
_LATE: dict[str, dict[str, str]] = {}  # module that few programs import -> name in it -> the name of a method


def core(*functions: Any) -> Any:
    """Register a method as the implementation of functions."""

    def register(method: Any) -> Any:
        CORE.update(dict.fromkeys(functions, (method.__name__,)))
        return method

    return register


def late(module: str, *names: str) -> Any:
    """Register a method for functions of a module that takes long to import: once somebody else has imported it."""

    def register(method: Any) -> Any:
        for name in names:
            _LATE.setdefault(module, {})[name] = method.__name__
        return method

    return register


def implementation(function: Any) -> tuple[str, ...] | None:
    """The name of the method that implements a function, and what it is told first."""
    for module in [m for m in _LATE if m in sys.modules]:
        CORE.update({getattr(sys.modules[module], name): (method,) for name, method in _LATE.pop(module).items()})
    return CORE.get(function)


def kinds(**functions: Any) -> Any:
    """Register a method as the implementation of functions of several kinds: it is told which one is called."""

    def register(method: Any) -> Any:
        CORE.update({function: (method.__name__, kind) for kind, function in functions.items()})
        return method

    return register
