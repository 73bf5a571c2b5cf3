"""Errors as users see them: their own frames and the message, without diffjit's frames and Numba's.

Where users call in, an error on its way out meets `shorten`, which takes these frames out of its traceback and out of
those of its causes. Nothing runs where there is no error. `settings.full_tracebacks` shows all frames. Alternatives and
measurements: docs/decisions/0040.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

from diffjit.errors import DiffjitError, InternalError, on_behalf
from diffjit.rare import Needed, ask
from diffjit.settings import settings

P = ParamSpec("P")
R = TypeVar("R")

_OWN = __name__.partition(".")[0]
_HELPERS = frozenset({
    "llvmlite", "numba", "gast", "astor", "optree", "rich",
    "ast", "contextlib", "copy", "enum", "functools", "importlib", "inspect", "pickle", "re", "select", "subprocess",
    "threading", "typing",
})  # fmt: skip
_RAISE = dis.opmap["RAISE_VARARGS"]


def boundary(function: Callable[P, R]) -> Callable[P, R]:
    """A function that users call: errors leave it without frames of what it calls, and without its own."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Needed as needed:
            ask(needed)
        except BaseException as error:
            shorten(error)
            raise
        return called(*args, **kwargs)  # here, so that no error tells of the first call

    return called


def shorten(error: BaseException) -> None:
    """Leave the users' frames of an error that is about to leave the function that has caught it.

    That function raises it again with a bare `raise`, which adds no frame. Where diffjit itself has called that
    function, nothing happens: the error passes another boundary.
    """
    trace = error.__traceback__
    if settings.full_tracebacks or trace is None or _is_own(trace.tb_frame.f_back):
        return
    where = _fault(error, trace)
    if where:
        error.add_note(f"note: raised inside diffjit, at {where}; settings.full_tracebacks = True shows all frames")
    waiting, seen = [error], {id(error)}
    while waiting:
        one = waiting.pop()
        one.__traceback__ = _visible(one.__traceback__)
        if isinstance(one, InternalError) and one.code == "DJ901":
            one.__cause__ = None  # its message has the first line
            continue
        for name in ("__cause__", "__context__"):
            link = getattr(one, name)
            if link is None or id(link) in seen:
                continue
            seen.add(id(link))
            waiting.append(link)
            if isinstance(one, DiffjitError) and _visible(link.__traceback__) is None:
                setattr(one, name, None)  # the message says what the user has to know of it


def _fault(error: BaseException, trace: TracebackType) -> str:
    """Where diffjit, or what it calls, has raised something without meaning to; else nothing."""
    if not isinstance(error, Exception) or isinstance(error, (DiffjitError, MemoryError)):
        return ""
    entries = list(_entries(trace))
    if len(entries) == 1 or not entries[-1][1]:  # the call itself fails, for its arguments; or the user's code does
        return ""
    last = entries[-1][0]
    code = last.tb_frame.f_code
    if _is_own(last.tb_frame) and (code.co_code[last.tb_lasti] == _RAISE or code.co_filename.startswith("<")):
        return ""  # a text that was made of the user's program is its own
    if code is on_behalf.__code__:
        return ""
    inside = next(entry for entry, _ in reversed(entries) if _is_own(entry.tb_frame))
    return f"{inside.tb_frame.f_globals['__name__']}:{inside.tb_lineno}"


def _entries(trace: TracebackType | None) -> Any:
    """The entries of a traceback, and whether each is hidden: diffjit's own, and helpers that it has called."""
    hidden = False
    while trace is not None:
        frame = trace.tb_frame
        hidden = _is_own(frame) or (hidden and _package(frame) in _HELPERS)
        yield trace, hidden
        trace = trace.tb_next


def _visible(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without hidden entries."""
    made: TracebackType | None = None
    for entry, hidden in reversed(list(_entries(trace))):
        if not hidden:
            made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _is_own(frame: FrameType | None) -> bool:
    return frame is not None and _package(frame) == _OWN


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
