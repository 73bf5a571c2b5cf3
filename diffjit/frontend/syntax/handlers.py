"""Which method of the interpreter implements which function."""

from __future__ import annotations

from typing import Any

CORE: dict[Any, str] = {}


def core(*functions: Any) -> Any:
    """Register a method as the implementation of NumPy functions."""

    def register(method: Any) -> Any:
        for function in functions:
            CORE[function] = method.__name__
        return method

    return register
