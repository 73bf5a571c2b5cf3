"""The generated module: head, functions, and what is known of each line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from diffjit.analysis.separate import mark_independent, mark_separate
from diffjit.dataclass import dataclass
from diffjit.ir.checks import Needs
from diffjit.ir.nodes import Function, Loc, Op, Value
from diffjit.ir.passes import Pass, Phase, run_passes
from diffjit.ir.text import syntax
from diffjit.ir.text.names import BUILTINS, Names
from diffjit.ir.text.outofssa import function_def
from diffjit.ir.types import Array, List, Stack
from diffjit.ir.walk import callees, clone, walk
from diffjit.lowering.draws.text import find_alone
from diffjit.lowering.loops import alike
from diffjit.lowering.loops.checked import promise_lengths
from diffjit.lowering.loops.fusion import fuse_loops
from diffjit.lowering.loops.reuse import borrow
from diffjit.lowering.loops.stencils import join_shifted
from diffjit.lowering.loops.versions import in_two_versions
from diffjit.lowering.runtime.names import HELPER_MODULES, RUNTIME_NAMES, SOURCES
from diffjit.lowering.runtime.typespec import spec_of
from diffjit.lowering.text.lines import head, printed
from diffjit.lowering.text.printed_order import printed_needs
from diffjit.lowering.text.rows import named
from diffjit.lowering.text.source import LoweredPrinter
from diffjit.lowering.text.spreading import Part
from diffjit.settings import settings
from diffjit.tree import NO_THREADS

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class Module:
    """The text of a module, and its lines' places and operations."""

    text: str
    entry: str
    places: list[Loc | None] = field(default_factory=list)  # by line number
    ops: dict[int, Op] = field(default_factory=dict)  # `raise` and `print` operations, by line number
    promises: dict[int, str] = field(default_factory=dict)  # who promised what is not tested, by line number


def lower(
    function: Function,
    residual_outs: frozenset[int] = frozenset(),
    *,
    threads_from: int = NO_THREADS,
    device: str = "",
) -> Module:
    """The module for a function and what it calls; results at `residual_outs` if lists or stacks, leave as tapes.

    `threads_from`: nests of so many axes may run in threads. `device`: the form of its kernels, "" without.
    """
    sealed = frozenset(k for k in residual_outs if isinstance(function.results[k].type, (List, Stack)))
    threads_from = NO_THREADS if settings.plain else threads_from
    function, functions = _fused(function, shared=threads_from < NO_THREADS)
    if settings.checked:
        for f in functions:
            promise_lengths(f)
    recursive = recursive_ones(functions)
    hidden = _hide_clashes(functions)
    try:
        names = _function_names(function, functions)
        definitions: dict[str, str] = {}
        bodies: list[tuple[Function, ast.FunctionDef]] = []
        parts: dict[int, list[Part]] = {}
        rooms: dict[str, int] = {}
        unit_rows: dict[str, frozenset[str]] = {}
        for f in functions:
            lent = set[Value]() if settings.plain else borrow(f)
            printer = LoweredPrinter(
                f,
                recursive,
                sealed if f is function else frozenset(),
                lent=lent,
                threads_from=threads_from,
                device=bool(device),
            )
            printer.numbered = sum(map(len, parts.values()))
            made = function_def(f, printer, names)
            if id(f) in recursive:
                default = [ast.Constant(value=0)] if f is function else []
                made.args.args.append(ast.arg(arg="depth_"))
                made.args.defaults += default
            made.body = [s for s in made.body if not _is_docstring(s)]
            if printer.rooms:
                rooms[made.name] = printer.rooms
            if settings.verify_passes:
                _in_order(f, made.body)
            definitions |= printer.definitions
            bodies.append((f, made))
            parts[id(f)] = printer.parts
            if settings.plain:
                continue
            own = unit_rows[made.name] = named(made.body, [a.arg for a in made.args.args])
            unit_rows |= {part.name: named(part.body, part.parameters, own) for part in printer.parts}
            rooms |= {part.name: part.rooms for part in printer.parts if part.rooms}
    finally:
        for value, name in hidden:
            value.name = name
    if not device:
        every = [part for f, _ in bodies for part in parts[id(f)]]
        left = {p.name for p in alike.merge(every, [made.body for _, made in bodies], unit_rows, _noted)}
        parts = {k: [p for p in found if p.name in left] for k, found in parts.items()}
    shown = {name: sorted(found) for name, found in unit_rows.items() if found}
    told = {
        "__diffjit_rooms__": rooms,
        "__diffjit_rows__": shown,
        "__diffjit_checked__": settings.checked,
        "__diffjit_plain__": settings.plain,
        "__diffjit_device__": device,
    }
    return _assembled(function, names, definitions, bodies, parts, told)


def _in_order(function: Function, body: list[ast.stmt]) -> None:
    needs = Needs()
    lost = printed_needs(body, needs) - needs.of(function)[1]
    if lost:
        text = "\n".join(map(ast.unparse, body))
        raise AssertionError(f"{function.name}: printed in front of checks ({', '.join(map(str, lost))}):\n{text}")


def melted(function: Function) -> set[Value]:
    """The arrays that are never made, as their loops melt with those that use them."""
    mapping: dict[Value, Value] = {}
    copy = clone(function, mapping)
    arrays = {v for op in walk(copy.body) for v in op.outputs if isinstance(v.type, Array)}
    fuse_loops(copy)
    arrays -= {v for op in walk(copy.body) for v in op.outputs}
    return {v for v, image in mapping.items() if image in arrays}


LOOPS = (
    Pass("separate", mark_separate),  # where arrays are large enough for threads
    Pass("versions", in_two_versions),
    Pass("independent", mark_independent, needs=("versions",)),  # as "separate", once it is known what cannot fail
    Pass("stencils", join_shifted, needs=("versions",)),
    Pass("fusion", fuse_loops, needs=("versions", "stencils")),
    Pass("draws", find_alone, needs=("fusion",)),
)
"""What runs on each function of a program before its loops are printed."""
THREADS = frozenset({"separate", "independent"})


def _fused(function: Function, *, shared: bool) -> tuple[Function, list[Function]]:
    """Copies of a function and of those that it calls, with array operations put into common loops."""
    copies = {id(f): clone(f) for f in callees(function)}
    for copy in copies.values():
        for op in walk(copy.body):
            if op.kind == "call":
                op.attrs["function"] = copies.get(id(op.attrs["function"]), op.attrs["function"])
        run_passes(copy, [p for p in LOOPS if shared or p.name not in THREADS], Phase.SETTLED, "lowered")
    return copies[id(function)], callees(copies[id(function)])


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and not isinstance(statement, syntax.Comment)
    )


def _hide_clashes(functions: Iterable[Function]) -> list[tuple[Any, str | None]]:
    """Parameters keep their names whatever is reserved: rename those that a helper needs; remember their names."""
    hidden: list[tuple[Any, str | None]] = []
    for f in functions:
        for p in f.params:
            if p.name is not None and (p.name in RUNTIME_NAMES or p.name in BUILTINS):
                hidden.append((p, p.name))
                p.name = p.name + "_0"
    return hidden


def _function_names(root: Function, functions: list[Function]) -> dict[int, str]:
    hints = {v.name for f in functions for op in walk(f.body) for v in op.outputs if v.name}
    hints |= {v.name for f in functions for v in f.params if v.name}
    free = Names({*RUNTIME_NAMES, *BUILTINS, *hints})
    names = {id(root): free.fresh(_WORD.findall(root.name)[0] if _WORD.findall(root.name) else "function")}
    for f in functions:
        if f is not root:
            names[id(f)] = free.fresh("".join(_WORD.findall(f.name)) or "function")
    return names


def recursive_ones(functions: list[Function]) -> frozenset[int]:
    """Functions that may reach themselves."""
    calls = {id(f): {id(op.attrs["function"]) for op in walk(f.body) if op.kind == "call"} for f in functions}
    found: set[int] = set()
    for start, called in calls.items():
        seen: set[int] = set()
        todo = list(called)
        while todo:
            k = todo.pop()
            if k not in seen:
                seen.add(k)
                todo += calls[k]
        if start in seen:
            found.add(start)
    return frozenset(found)


_SPEAK = ("raise", "print")  # what they say is looked up when they have run


class _Writer:
    """Prints statements one to a line, and notes what each line stands for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Loc | None] = [None]
        self.ops: dict[int, Op] = {}
        self.promises: dict[int, str] = {}

    def line(self, text: str, depth: int, origin: Op | None = None) -> None:
        """Append a line."""
        self.lines.append("    " * depth + text if text else "")
        self.places.append(origin.loc if origin is not None else None)
        if origin is not None and origin.kind in _SPEAK:
            self.ops[len(self.lines)] = origin

    def body(self, statements: Iterable[ast.stmt], depth: int) -> None:
        """Statements of a block."""
        for statement in statements:
            self.statement(statement, depth)

    def statement(self, s: ast.stmt, depth: int) -> None:
        """One statement."""
        if isinstance(s, syntax.Comment):
            assert isinstance(s.value, ast.Constant)
            for part in str(s.value.value).splitlines():
                self.line(f"# {part}", depth)
            return
        origin = _origin(s)
        if settings.checked and (who := _promised(s)):
            self.promises[len(self.lines) + 1] = who
        if isinstance(s, ast.For):
            self.line(f"for {ast.unparse(s.target)} in {ast.unparse(s.iter)}:", depth, origin)
            self.body(s.body, depth + 1)
        elif isinstance(s, ast.While):
            self.line(f"while {ast.unparse(s.test)}:", depth, origin)
            self.body(s.body, depth + 1)
        elif isinstance(s, ast.If):
            self._if(s, depth, origin, "if")
        else:
            self.line(ast.unparse(s), depth, origin)

    def _if(self, s: ast.If, depth: int, origin: Op | None, word: str) -> None:
        self.line(f"{word} {ast.unparse(s.test)}:", depth, origin)
        self.body(s.body, depth + 1)
        if len(s.orelse) == 1 and isinstance(s.orelse[0], ast.If):
            nested = s.orelse[0]
            self._if(nested, depth, _origin(nested), "elif")
        elif s.orelse:
            self.line("else:", depth)
            self.body(s.orelse, depth + 1)


def _origin(s: ast.stmt) -> Op | None:
    """The operation that a line comes from."""
    own = getattr(s, "origin", None)
    if own is not None:
        return own
    for part in head(s):
        for node in syntax.nodes(part):
            found = getattr(node, "origin", None)
            if found is not None and found.loc is not None:
                return found
    return None


def _noted(s: ast.stmt) -> tuple[Loc | None, str] | None:
    """What is noted of a statement's line; None where it is the operation itself."""
    origin = _origin(s)
    if origin is not None and origin.kind in _SPEAK:
        return None
    return None if origin is None else origin.loc, _promised(s) if settings.checked else ""


def _promised(s: ast.stmt) -> str:
    """Who says that the indices of a line are within bounds."""
    ops = [getattr(node, "origin", None) for part in head(s) for node in syntax.nodes(part)]
    return ", ".join(sorted({str(op.attrs["inbounds"]) for op in ops if op is not None and "inbounds" in op.attrs}))


def _assembled(
    function: Function,
    names: dict[int, str],
    definitions: dict[str, str],
    bodies: list[tuple[Function, ast.FunctionDef]],
    parts: dict[int, list[Part]],
    told: dict[str, Any],
) -> Module:
    draft = _Writer()
    for f, made in bodies:
        for part in parts[id(f)]:
            draft.line("", 0)
            draft.line("", 0)
            draft.line("@inner", 0)
            draft.line(f"def {part.name}({', '.join(part.parameters)}):", 0)
            draft.body(map(printed, part.body), 1)
        given = ", ".join(repr(spec_of(v.type)) for v in f.results)
        decorator = "compiled" if f is function else f"giving({given})"
        draft.line("", 0)
        draft.line("", 0)
        draft.line(f"@{decorator}", 0)
        draft.line(f"def {made.name}({ast.unparse(made.args)}):", 0)
        draft.body(map(printed, made.body), 1)
    used = set(_WORD.findall("\n".join(draft.lines)))
    head = _head_lines(function, used, definitions)
    shift = len(head)
    lines = head + draft.lines
    tail = ["", "", f'__diffjit_entry__ = "{names[id(function)]}"']
    apart = {part.name: part.apart for found in parts.values() for part in found}  # none where all is plain
    if apart:
        tail.append(f"__diffjit_apart__ = {apart}")
    tail += [f"{name} = {found!r}" for name, found in told.items() if found]
    places = [None] * shift + draft.places
    return Module(
        "\n".join(lines + tail) + "\n",
        names[id(function)],
        places,
        {n + shift: op for n, op in draft.ops.items()},
        {n + shift: who for n, who in draft.promises.items()},
    )


def _head_lines(function: Function, used: set[str], definitions: dict[str, str]) -> list[str]:
    where = f" ({function.source_file}:{function.source_line})" if function.source_file else ""
    lines = [f'"""Loops for `{function.name}`{where}, written by diffjit."""'.replace("\\", "/"), ""]
    decorators = ", ".join(sorted({"compiled", *(used & {"inner", "giving"})}))
    lines.append(f"from diffjit.lowering.llvm.compiler import {decorators}")
    wanted = {n: what for n, what in definitions.items() if n in used}
    modules = sorted({what.split(".")[0] for what in wanted.values()} & set(HELPER_MODULES))
    for package in sorted({HELPER_MODULES[name] for name in modules}):
        own = [name for name in modules if HELPER_MODULES[name] == package]
        lines.append(f"from {package} import {', '.join(own)}")
    sources: dict[str, list[str]] = {}
    for name in sorted(used & set(SOURCES)):
        sources.setdefault(SOURCES[name], []).append(name)
    lines += [f"from {module} import {', '.join(imported)}" for module, imported in sorted(sources.items())]
    if wanted:
        lines.append("")
        lines += [f"{name} = {what}" for name, what in sorted(wanted.items())]
    return lines
