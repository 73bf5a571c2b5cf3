"""Compiled functions as Python calls them: results in the declared types, and errors as the user's exceptions."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError
from diffjit.lowering.calls import failures
from diffjit.settings import settings
from diffjit.tree import is_long

if TYPE_CHECKING:
    from diffjit.ir.nodes import Loc

Conversion = tuple[int, Callable[[Any], Any]]
TOO_LONG = "an int among the arguments does not fit into 64 bits in compiled code: pass it as a float"


@dataclass(slots=True)
class Entry:
    """What a call has to know beside the machine code."""

    name: str
    count: int  # of results
    conversions: list[Conversion] = field(default_factory=list)  # what Python has to do to results
    key: int = 0  # of the generated module
    sites: failures.Sites = field(default_factory=failures.Sites)


class Compiling(Protocol):
    """Compiles at the first call."""

    ready: Callable[..., Any] | None  # what later calls run

    def __call__(self, *args: Any) -> Any:
        """The first call's results."""
        ...


def wrapper(
    entry: Entry, ready: Callable[..., Any] | None, compiling: Compiling | None = None
) -> Callable[..., tuple[Any, ...]]:
    """A callable that returns the tuple of results; `ready` is machine code, or None where it has to be compiled."""
    failures.SITES[entry.key] = entry.sites
    count, conversions, stopped = entry.count, entry.conversions, failures.Stopped

    def call(*args: Any) -> tuple[Any, ...]:
        nonlocal ready
        failed: BaseException | None = None
        result: Any = None
        try:
            if ready is not None:
                result = ready(*args)
            else:
                assert compiling is not None
                result = compiling(*args)
                ready = compiling.ready
        except stopped:
            failed = translated()
        except OverflowError:
            if not any(map(is_long, args)):
                raise
            failed = OverflowError(TOO_LONG)
        if failed is not None:
            try:
                raise failed  # here, where its context and cause stay what they are
            finally:
                del failed  # it refers to this frame
        if count == 1:
            result = (result,)
        elif count == 0:
            return ()
        if not conversions:
            return result
        outs = list(result)
        for k, convert in conversions:
            outs[k] = convert(outs[k])
        return tuple(outs)

    call.__name__ = entry.name
    if settings.checked:
        from diffjit.lowering.calls.guards import guarded

        return guarded(call)
    return call


def translated() -> BaseException:
    """The user's exception for the failure that compiled code has recorded, with the user's line as a note."""
    exception, loc = failures.failure()
    if isinstance(exception, DiffjitError):
        return exception.at(loc)
    if loc is not None:
        if exception.__traceback__ is None:  # what another function has raised stays as it is
            exception.diffjit_loc = loc  # type: ignore[attr-defined]
        _add_place(exception, loc)
    return exception


def _add_place(exception: BaseException, loc: Loc) -> None:
    text = linecache.getline(loc.file, loc.line).strip()
    note = f'  File "{loc.file}", line {loc.line}, in {loc.function}' + (f"\n    {text}" if text else "")
    if note not in getattr(exception, "__notes__", ()):  # an exception may be raised twice
        exception.add_note(note)
