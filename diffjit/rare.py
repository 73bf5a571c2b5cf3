"""Parts of programs that hardly any run comes to, and that take long to compile: left out until a run does.

A solver that stands behind another one calls `left_out(...)` where it would begin. The frontend writes `raise Needed`
there. What calls a program from Python (`retried`) meets it, asks for whole programs from now on, and calls again: the
program rests on nobody having asked, so that it is made anew. Where something of the first call would be seen
(printed, or written to the caller's arrays), nothing is left out from the beginning (`api.engine.engine.program_of`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

ASKED = False  # whether a run in this process has come to such a part


class Needed(BaseException):
    """A run has come to a part that its program lacks. No `except Exception` of users' catches it."""


def left_out(what: str) -> None:
    """What follows is for few runs; as plain Python, it follows."""


def reason(what: str) -> str:
    """What who runs the text of a program reads there."""
    return f"this was made without {what}; after diffjit.rare.ask() it is made with it"


_whole: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def whole() -> Iterator[None]:
    """Programs that are specialised meanwhile lack nothing."""
    token = _whole.set(True)
    try:
        yield
    finally:
        _whole.reset(token)


def is_whole() -> bool:
    """Whether nothing may be left out now."""
    return ASKED or _whole.get()


def ask() -> None:
    """Programs of this process are whole from now on."""
    global ASKED  # noqa: PLW0603 - programs rest on a variable of a module
    ASKED = True


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """A function that runs programs: called again where one lacked what was needed."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Needed:
            ask()
        return function(*args, **kwargs)  # here, so that no error tells of the first call

    return called
