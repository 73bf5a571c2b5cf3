"""Which method of the interpreter implements which function."""

from __future__ import annotations

from typing import Any

CORE: dict[Any, tuple[str, ...]] = {}  # function -> the name of a method, and what it is told first


def core(*functions: Any) -> Any:
    """Register a method as the implementation of functions."""

    def register(method: Any) -> Any:
        CORE.update(dict.fromkeys(functions, (method.__name__,)))
        return method

    return register


def kinds(**functions: Any) -> Any:
    """Register a method as the implementation of functions of several kinds: it is told which one is called."""

    def register(method: Any) -> Any:
        CORE.update({function: (method.__name__, kind) for kind, function in functions.items()})
        return method

    return register
