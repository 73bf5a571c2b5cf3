"""Programs as the text of Python modules. The only file that knows astor."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from diffjit.ir.nodes import Function
from diffjit.ir.text import syntax
from diffjit.ir.text.names import BUILTINS, Names
from diffjit.ir.text.outofssa import function_def
from diffjit.ir.text.strategy import OpPrinter
from diffjit.ir.walk import blocks, callees

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ast.Num and its kin, looked up by getattr
    from astor.code_gen import SourceGenerator, to_source
    from astor.source_repr import split_lines

__all__ = ["OpPrinter", "print_module", "to_text"]

_WIDTH = 118  # lines longer than this are wrapped
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def print_module(function: Function, printer: OpPrinter) -> str:
    """The text of a module with `function`, the functions that it calls, and the imports and helpers that they use."""
    functions = callees(function)
    printer.begin(functions)
    names = _function_names(function, functions, printer)
    definitions: list[ast.stmt] = [function_def(f, printer, names) for f in functions]
    used, variables = _names_in(definitions)
    helpers = _helpers(used, printer.prelude)
    for helper in helpers:
        used |= set(_IDENTIFIER.findall(printer.prelude[helper]))
    variables.add(names[id(function)])  # the one function that keeps its name whatever the text calls
    clashes = sorted(variables & (BUILTINS | set(printer.imports) | set(printer.prelude)) & used)
    if clashes:
        _rename(definitions, {name: f"{name}_" for name in clashes})
    parts = [line for name, line in printer.imports.items() if name in used]
    text = "\n".join(parts) + "\n\n\n" if parts else ""
    text += "".join(printer.prelude[helper].strip("\n") + "\n\n\n" for helper in helpers)
    text += "".join(f"{name}_ = {name}\n" for name in clashes) + ("\n\n" if clashes else "")
    return text + to_text(definitions)


def to_text(statements: Sequence[ast.stmt]) -> str:
    """Statements as text."""
    text = to_source(
        ast.Module(body=list(statements), type_ignores=[]), source_generator_class=_Generator, pretty_source=_wrapped
    )
    return text.strip("\n") + "\n"


class _Generator(SourceGenerator):
    """astor's generator, with comments."""

    def visit_Comment(self, node: syntax.Comment) -> None:  # noqa: N802 - astor's naming
        """Write a comment on a line of its own, after an empty line if it wants one."""
        assert isinstance(node.value, ast.Constant)
        self.newline(extra=1 if node.gap else 0)
        self.write("# " + str(node.value.value))


def _wrapped(pieces: list[str]) -> str:
    return "".join(split_lines(pieces, maxline=_WIDTH))


def _function_names(root: Function, functions: Sequence[Function], printer: OpPrinter) -> dict[int, str]:
    """The name that each function is printed under: its own where that is free, and always for the outermost."""
    variables: set[str] = set()
    for f in functions:
        variables.update(p.name for p in f.params if p.name)
        for block in blocks(f.body):
            variables.update(a.name for a in block.args if a.name)
            variables.update(v.name for op in block.ops for v in op.outputs if v.name)
    free = Names({*variables, *printer.prelude, *printer.imports, *printer.reserved, *BUILTINS})
    names = {id(root): free.pin(root.name)}
    for f in functions:
        if f is not root:
            names[id(f)] = free.fresh(f.name)
    return names


def _names_in(statements: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that stand for modules, builtins and helpers, and those of the program's own."""
    used: set[str] = set()
    variables: set[str] = set()
    waiting = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, syntax.Variable):
            variables.add(node.id)
        elif isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.arg):
            variables.add(node.arg)
        elif not isinstance(node, ast.Constant):
            for field in node._fields:
                value = getattr(node, field, None)
                if isinstance(value, list):
                    waiting += [x for x in cast("list[object]", value) if isinstance(x, ast.AST)]
                elif isinstance(value, ast.AST):
                    waiting.append(value)
    return used, variables


def _helpers(used: set[str], prelude: Mapping[str, str]) -> list[str]:
    """The helpers that are used, directly or by other helpers, in the prelude's order."""
    found: set[str] = set()
    waiting = [name for name in prelude if name in used]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [n for n in _IDENTIFIER.findall(prelude[name]) if n in prelude]
    return [name for name in prelude if name in found]


def _rename(statements: Iterable[ast.stmt], names: Mapping[str, str]) -> None:
    """Rename builtins, modules and helpers that share their name with a parameter or the function itself."""
    for statement in statements:
        for node in syntax.nodes(statement):
            if isinstance(node, ast.Name) and not isinstance(node, syntax.Variable) and node.id in names:
                node.id = names[node.id]
