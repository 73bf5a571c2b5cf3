"""`explain`: a program beside its derivative, with what each line leaves for the way back."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffjit.analysis.proven import proofs
from diffjit.api.engine.derived import Derived, cached, resolve
from diffjit.api.engine.engine import program_of
from diffjit.api.engine.programs import flatten_call
from diffjit.api.engine.tracebacks import boundary
from diffjit.api.grad import Gradient
from diffjit.api.gradients import differentiated, scalar_result
from diffjit.api.product_programs import reversible
from diffjit.api.products import ReverseProduct
from diffjit.api.reports.kernels import DeviceUse, device_use
from diffjit.api.reports.memory import Recorded, TapeSize, predicted
from diffjit.frontend.entry.source import span_of
from diffjit.ir.nodes import Function, Loc, Op
from diffjit.ir.text import syntax
from diffjit.ir.text.expressions import SourcePrinter
from diffjit.ir.text.outofssa import function_def
from diffjit.ir.walk import callees
from diffjit.primitives.semantics import printed
from diffjit.settings import settings
from diffjit.transforms.custom import without_rules
from diffjit.transforms.pipeline import joint

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_LONGEST = 400  # lines of one function that are shown


@dataclass(slots=True)
class Made:
    """One line of the derivative's text."""

    text: str
    depth: int
    place: tuple[str, int] | None  # the user's line that it comes from
    back: bool  # part of the way back


@dataclass(slots=True)
class Line:
    """One line of the program: what it leaves for the way back, and what the way back makes of it."""

    file: str
    number: int
    text: str
    recorded: list[Recorded] = field(default_factory=list[Recorded])
    back: list[str] = field(default_factory=list[str])

    @property
    def bytes(self) -> int | None:
        """The bytes that the line leaves; None where that is not known before the run."""
        return None if any(r.bytes is None for r in self.recorded) else sum(r.bytes or 0 for r in self.recorded)


@dataclass(slots=True)
class Part:
    """One function of the program."""

    name: str
    file: str
    lines: list[Line]


@dataclass(slots=True)
class Explanation:
    """A program beside its derivative. Prints as a table; `to_html` writes a page; notebooks show that page.

    tape         what is recorded, as from `memory`
    parts        the program, function by function, line by line
    derivative   the text of the derivative, line by line
    device       with `backend="cuda"`: which parts are kernels, what the host runs and why, what is copied; else None
    """

    name: str
    tape: TapeSize
    parts: list[Part]
    derivative: list[Made]
    device: DeviceUse | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from diffjit.api.reports.display import explained

        yield from explained(self, options.max_width)

    def __str__(self) -> str:
        from diffjit.api.reports.display import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from diffjit.api.reports.page import fragment

        return fragment(self)

    def to_html(self, path: str | Path) -> Path:
        """Write a page that needs no other file; returns its path."""
        from diffjit.api.reports.page import page

        target = Path(path)
        target.write_text(page(self), encoding="utf-8")
        return target


@boundary
def explain(fun: Any, *args: Any, backend: str | None = None, **kwargs: Any) -> Explanation:
    """Show a program beside its derivative: what each line records for the way back, and how many bytes.

    fun       what `grad`, `value_and_grad`, `jit`, ... have made; a plain function is shown with its pullback
    args      the arguments of a call
    backend   "numba", "cuda" or "python": whose records are counted (see `memory`); the text is the one of `source`

    `print(explain(...))` and rich's console show a table, `.to_html(path)` writes a page, notebooks show it.
    """
    tape, _, program = predicted(fun, args, kwargs, backend)
    functions = _functions(fun, args, kwargs)
    derivative = [line for k, f in enumerate(functions) for line in _text(f, back=k > 0)]
    if not any(line.back for line in derivative) and len(functions) == 1:
        derivative = [Made(m.text, m.depth, m.place, back=False) for m in derivative]
    parts = _parts(fun, program.function, derivative, tape)
    chosen = backend or getattr(fun, "backend", None) or settings.backend
    device = None
    if chosen == "cuda":
        derived = fun if isinstance(fun, Derived) else cached(ReverseProduct, fun, chosen)
        device = device_use(derived, args, kwargs, program.arg_names)
    return Explanation(getattr(fun, "__name__", "program"), tape, parts, derivative, device)


def _functions(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Function]:
    """The derivative at the level of the user's code: one function, or a forward one and its pullback."""
    call = flatten_call(args, kwargs)
    if isinstance(fun, Gradient):
        program = program_of(fun.function, args, kwargs)
        wrt = differentiated(program, resolve(fun.function, fun.argnums, call), call)
        return [without_rules(joint(program.function, wrt, scalar_result(fun, program).index)[0])]
    program = program_of(fun, args, kwargs)
    if isinstance(fun, Derived):
        return [without_rules(program.function)]
    made = reversible(program, call)
    return [without_rules(made.forward), without_rules(made.pullback)]


# The derivative's text ------------------------------------------------------------------------------------------------


def _text(function: Function, *, back: bool) -> list[Made]:
    """The lines of a function, with the user's line that each comes from."""
    printer = SourcePrinter(printed(), proofs(function))
    called = callees(function)
    printer.begin(called)
    names = {id(f): f.name for f in called}
    made: list[Made] = []
    for f in called[::-1]:
        definition = function_def(f, printer, names)
        made.append(Made(f"def {definition.name}({ast.unparse(definition.args)}):", 0, None, back))
        _statements(definition.body, 1, made, [back])
    return made


def _statements(body: Iterable[ast.stmt], depth: int, made: list[Made], back: list[bool]) -> None:
    for s in body:
        if isinstance(s, syntax.Comment):
            text = str(s.value.value)  # type: ignore[attr-defined]
            if text == "Reverse sweep.":
                back[0] = True
                made.append(Made(f"# {text}", depth, None, back=True))
            continue
        place = _place(getattr(s, "maker", None))
        if isinstance(s, ast.For):
            made.append(Made(f"for {ast.unparse(s.target)} in {ast.unparse(s.iter)}:", depth, place, back[0]))
        elif isinstance(s, ast.While):
            made.append(Made(f"while {ast.unparse(s.test)}:", depth, place, back[0]))
        elif isinstance(s, ast.If):
            made.append(Made(f"if {ast.unparse(s.test)}:", depth, place, back[0]))
        else:
            made.append(Made(ast.unparse(s), depth, place, back[0]))
            continue
        _statements(s.body, depth + 1, made, back)
        if s.orelse:
            made.append(Made("else:", depth, None, back[0]))
            _statements(s.orelse, depth + 1, made, back)


def _place(op: Op | None) -> tuple[str, int] | None:
    loc = op.loc if op is not None else None
    return None if loc is None else (loc.file, loc.line)


# The program ----------------------------------------------------------------------------------------------------------


def _parts(fun: Any, function: Function, derivative: list[Made], tape: TapeSize) -> list[Part]:
    """The functions that the program consists of, each with its lines."""
    root = fun
    while hasattr(root, "function") and not inspect.isfunction(root):
        root = root.function
    spans: dict[str, list[tuple[str, int, int]]] = {}
    first = _span(inspect.unwrap(root))
    if first is not None:
        spans[first[0]] = [first[1:]]
    found: dict[tuple[str, str], list[int]] = {}
    rows = tape.by_line()
    for row in tape.rows:
        if row.file:
            found.setdefault((row.file, row.function), []).append(row.line)
    for loc in _places(function):
        found.setdefault((loc.file, loc.function), []).append(loc.line)
    for (file, name), numbers in found.items():
        known = spans.setdefault(file, [])
        rest = [n for n in numbers if not any(a <= n <= b for _, a, b in known)]
        if rest:
            known.append((name, _head(file, name, min(rest)), max(rest)))
    back: dict[tuple[str, int], list[str]] = {}
    for line in derivative:
        if line.back and line.place is not None and not line.text.startswith(("for ", "while ")):
            back.setdefault(line.place, []).append(line.text)
    parts: list[Part] = []
    for file, known in spans.items():
        for name, a, b in known:
            numbers = range(a, min(b, a + _LONGEST) + 1)
            lines = [
                Line(file, n, linecache.getline(file, n).rstrip("\n"), rows.get((file, n), []), back.get((file, n), []))
                for n in numbers
            ]
            while lines and not lines[-1].text.strip():
                lines.pop()
            parts.append(Part(name, file, lines))
    return parts


def _span(function: Any) -> tuple[str, str, int, int] | None:
    """Where a function stands: file, name, first and last line."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    file, first, last = span_of(function, code)
    return file, function.__name__, first, last


def _head(file: str, name: str, line: int) -> int:
    """The line of a function's `def`, upwards from one of its lines."""
    for n in range(line, 0, -1):
        if linecache.getline(file, n).lstrip().startswith(f"def {name}("):
            return n
    return line


def _places(function: Function) -> Iterable[Loc]:
    from diffjit.ir.walk import walk

    for f in callees(function):
        for op in walk(f.body):
            if op.loc is not None:
                yield op.loc
