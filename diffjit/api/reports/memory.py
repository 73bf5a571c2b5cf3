"""`memory`: what a derivative records, in bytes, before it runs."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from diffjit.analysis.tape import Record, at_turns
from diffjit.api.engine.derived import Derived, resolve
from diffjit.api.engine.engine import is_compiled, program_of
from diffjit.api.engine.programs import flatten_call
from diffjit.api.engine.tracebacks import boundary
from diffjit.api.grad import Gradient
from diffjit.api.gradients import differentiated, scalar_result
from diffjit.api.product_programs import reversible
from diffjit.frontend.entry.results import Program
from diffjit.ir.nodes import Function, Loc, Value
from diffjit.settings import settings
from diffjit.transforms.custom import without_rules
from diffjit.transforms.pipeline import joint, numbers

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(slots=True)
class Recorded:
    """What one place of the program leaves for the way back.

    name     the variable, or the expression where it has no name
    kind     "tape": an array of numbers, one for each iteration; "stack": numbers pushed one by one; "copy": a copy of
             an array that is written to later; "array": an array of the program's own that stays alive
    bytes    None where it is not known before the run; then `why` says what it hangs on, and `each` how many bytes one
             record has, where that is known
    """

    file: str
    line: int
    function: str
    name: str
    kind: str
    form: str
    count: int
    bytes: int | None
    each: int | None
    why: str = ""


@dataclass(slots=True)
class TapeSize:
    """The predicted memory of a derivative's tape.

    bytes     the total; None if part of it is not known before the run
    known     the bytes of the rows that are known
    rows      what is recorded, place by place, largest first
    unknown   those rows whose size is not known, each with the reason
    """

    name: str
    rows: list[Recorded] = field(default_factory=list[Recorded])

    @property
    def known(self) -> int:
        """The bytes that are known."""
        return sum(r.bytes or 0 for r in self.rows)

    @property
    def unknown(self) -> list[Recorded]:
        """What is not known beforehand."""
        return [r for r in self.rows if r.bytes is None]

    @property
    def bytes(self) -> int | None:
        """All of it, if that is known."""
        return None if self.unknown else self.known

    def by_line(self) -> dict[tuple[str, int], list[Recorded]]:
        """The rows of each line, by file and number."""
        found: dict[tuple[str, int], list[Recorded]] = {}
        for row in self.rows:
            found.setdefault((row.file, row.line), []).append(row)
        return found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from diffjit.api.reports.display import tape_table

        yield tape_table(self)

    def __str__(self) -> str:
        from diffjit.api.reports.display import as_text

        return as_text(self)


@boundary
def memory(fun: Any, *args: Any, backend: str | None = None, **kwargs: Any) -> TapeSize:
    """The memory that a derivative's forward sweep leaves for its way back, in bytes, without running it.

    fun       what `grad`, `vmap`, `jit`, ... have made; for a plain function, its pullback (`vjp(fun, *args)`)
    args      the arguments of a call
    backend   "numba", "cuda" or "python": compiled code makes fewer arrays

    The result's `bytes` are exact where trip counts, branches and shapes follow from the arguments; else they are None,
    and `unknown` lists what is not known, and why. Counted are numbers and arrays, without the few words that describe
    each array, and neither the arguments nor what the way back makes itself. Where a program takes derivatives inside,
    the largest tape alive at one time counts.
    """
    return predicted(fun, args, kwargs, backend)[0]


def predicted(
    fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any], backend: str | None
) -> tuple[TapeSize, Function, Program]:
    """The tape's size, and the program it is the tape of."""
    backend = backend or getattr(fun, "backend", None) or settings.backend
    call = flatten_call(args, kwargs)
    crossing: list[Value] | None = None
    compiled = is_compiled(backend)
    if isinstance(fun, Gradient):
        program = program_of(fun.function, args, kwargs)
        wrt = differentiated(program, resolve(fun.function, fun.argnums, call), call)
        value = scalar_result(fun, program)
        function = joint(program.function, wrt, value.index, compiled=compiled)[0]
    elif isinstance(fun, Derived):
        program = program_of(fun, args, kwargs)
        function = program.function
    else:
        program = program_of(fun, args, kwargs)
        made = reversible(program, call, compiled=compiled)
        function = made.forward if made.is_split else made.pullback
        if made.is_split:
            function, crossing = _crossing(function, made.n_primal, compiled=compiled)
    if crossing is None:
        function = without_rules(function)
        function = numbers(function, compiled=compiled) if compiled else function
    leaves = [*call.leaves, *(getter() for getter in program.captures)]
    gone: set[Value] = set()
    if compiled:
        from diffjit.lowering.text.module import melted

        gone = melted(function)
    rows = [_row(r) for r in at_turns(function, leaves, gone, crossing)]
    rows.sort(key=lambda r: -(r.bytes or 0))
    name = getattr(fun, "__name__", type(fun).__name__)
    return TapeSize(name, rows), function, program


def _crossing(function: Function, n: int, *, compiled: str) -> tuple[Function, list[Value]]:
    """Split code as it runs, and its residuals."""
    function = without_rules(function)
    function = numbers(function, compiled=compiled) if compiled else function
    return function, function.results[n:]


def _row(r: Record) -> Recorded:
    loc = r.loc or Loc("", 0, 0, 0, "")
    size = None if r.why else r.size
    name = r.name if r.name != "value" else linecache.getline(loc.file, loc.line)[loc.col : loc.end_col] or r.name
    return Recorded(loc.file, loc.line, loc.function, name, r.kind, r.form, r.count, size, r.each, r.why)
