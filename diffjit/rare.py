"""Parts of programs that hardly any run comes to, and that take long to compile: left out until a run does.

A solver calls `left_out(Stiff)` where such a part begins. The frontend writes `raise Stiff(...)` there. What calls a
program from Python (`boundary`, and calls of `Derived`) meets it, notes that programs are to have the part from now on,
and calls again: the program rests on nobody having asked, so that it is made anew. Where something of the first call
would be seen (printed, or written to the caller's arrays), nothing is left out from the beginning
(`api.engine.engine.program_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar


class Needed(BaseException):
    """A run has come to a part that its program lacks. No `except Exception` of users' catches it."""

    part: ClassVar[str] = ""
    asked: ClassVar[bool] = False  # whether a run in this process has come there


class Stiff(Needed):
    """A differential equation is stiff."""

    part, asked = "the method for stiff equations", False


class Unbalanced(Needed):
    """The numbers of a matrix lie far apart."""

    part, asked = "the balancing of matrices", False


PARTS: tuple[type[Needed], ...] = (Stiff, Unbalanced)


def left_out(part: type[Needed]) -> None:
    """What follows is for few runs; as plain Python, it follows."""


def reason(part: type[Needed]) -> str:
    """What who runs the text of a program reads there."""
    return f"this was made without {part.part}; after diffjit.rare.{part.__name__}.asked = True it is made with it"


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
    return _whole.get()


def ask(needed: Needed) -> None:
    """Programs of this process have this part from now on."""
    type(needed).asked = True


def asked() -> tuple[bool, ...]:
    """Which parts programs have."""
    return tuple(part.asked for part in PARTS)
