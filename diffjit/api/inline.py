"""Derivatives called inside a function that is itself differentiated."""

from __future__ import annotations

from typing import Any

from diffjit.errors import UnsupportedSyntax


def inline_program(derived: Any, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    """Specialise a derivative for abstract arguments and copy its program in."""
    del args, kwargs
    raise UnsupportedSyntax(
        "DJ119",
        f"the derivative of `{getattr(derived.function, '__name__', derived.function)}` is called "
        "inside a function that diffjit specialises",
        loc=interpreter.loc(node),
        cure="call the derivative outside, and nest the verbs there",
    )
