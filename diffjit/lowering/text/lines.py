"""Statements under construction: lines of text with indentation, and temporaries that have one type each."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from diffjit.ir.nodes import Op

INSIDE = "  # inside"  # marks a line whose indices are proven to be within bounds, and not negative
WRAPS = "  # wraps"  # marks a line whose indices are proven to be within bounds, but may count from the end
LENT = "  # lent"  # marks a line whose views hold no reference
NEST = "  # nest"  # marks a loop over an array, of a length that only the run knows: LLVM need not unroll it
PARALLEL = "  # parallel"  # as NEST, and no iteration reads what another writes
SCALAR = "  # scalar"  # as NEST, and it hardly ever runs: LLVM neither unrolls nor vectorises it

_FEW = 8  # loops of fixed length up to this are for LLVM to unroll


def weakest(marks: Iterable[str]) -> str:
    """What is proven of a line, given what is proven of each of its subscripts."""
    found = set(marks)
    if not found or not found <= {INSIDE, WRAPS}:
        return ""
    return INSIDE if found == {INSIDE} else WRAPS


def head(s: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that are on its own line."""
    if isinstance(s, ast.For):
        return [s.iter]
    if isinstance(s, (ast.While, ast.If)):
        return [s.test]
    return [s]


def accesses(tree: ast.AST) -> list[ast.AST]:
    """The subscripts of arrays in a tree: `a[i]`, and `cell(a, i)`, a view of one element."""
    return [n for n in ast.walk(tree) if (isinstance(n, ast.Subscript) and not _is_length(n)) or _is_cell(n)]


def _is_cell(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cell"


def _is_length(node: ast.Subscript) -> bool:
    """`a.shape[k]`."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


class Temporaries:
    """Names for temporaries of one function: each always has the same type, and is free again in the next statement."""

    def __init__(self, suffix: str) -> None:
        self.suffix = suffix
        self.names: dict[tuple[str, str], list[str]] = {}
        self.taken: set[str] = set()
        self.used: dict[tuple[str, str], int] = {}

    def restart(self) -> None:
        """Begin a new statement."""
        self.used = {}

    def get(self, hint: str, spec: str = "int64") -> str:
        """A temporary that this statement has not used yet."""
        key = (hint, spec)
        known = self.names.setdefault(key, [])
        k = self.used.get(key, 0)
        self.used[key] = k + 1
        if k == len(known):
            number = 1
            name = f"{hint}{self.suffix}"
            while name in self.taken:
                number += 1
                name = f"{hint}{number}{self.suffix}"
            self.taken.add(name)
            known.append(name)
        return known[k]


class Lines:
    """The text of one statement of the IR."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.origin: Op | None = None  # the operation that the next lines belong to, where that is known
        self.origins: dict[int, Op] = {}

    def add(self, text: str, *, inside: bool = False, mark: str = "") -> None:
        """Append a line."""
        self.lines.append("    " * self.depth + text + (INSIDE if inside else mark))
        if self.origin is not None:
            self.origins[len(self.lines)] = self.origin

    @contextmanager
    def block(self, head: str, mark: str = "") -> Iterator[None]:
        """A line and an indented block below it."""
        self.add(head, mark=mark)
        self.depth += 1
        begin = len(self.lines)
        try:
            yield
        finally:
            self._filled(begin)
            self.depth -= 1

    def _filled(self, begin: int) -> None:
        """A block has a line: what is computed in vain has none but for its tests, which stand before."""
        if len(self.lines) == begin:
            self.add("pass")

    @contextmanager
    def loops(self, indices: list[str], lengths: list[str], mark: str = NEST) -> Iterator[None]:
        """Nested loops, outermost first."""
        for index, length in zip(indices, lengths, strict=True):
            few = length.isdigit() and int(length) <= _FEW
            self.add(f"for {index} in range({length}):", mark="" if few else mark)
            self.depth += 1
        begin = len(self.lines)
        try:
            yield
        finally:
            if indices:
                self._filled(begin)
            self.depth -= len(indices)

    def parse(self) -> list[ast.stmt]:
        """The statements; those that are marked carry `mark`, those of a known operation `origin`."""
        tree = ast.parse("\n".join(self.lines))
        marks = (INSIDE, WRAPS, NEST, PARALLEL, SCALAR)
        marked = {n: mark for n, line in enumerate(self.lines, 1) for mark in marks if line.endswith(mark)}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                if node.lineno in marked:
                    node.mark = marked[node.lineno]  # type: ignore[attr-defined]
                if node.lineno in self.origins:
                    node.origin = self.origins[node.lineno]  # type: ignore[attr-defined]
        return tree.body


def subscript(name: str, indices: list[str]) -> str:
    """`a[i, j]`, or `a[()]`."""
    return f"{name}[{', '.join(indices) if indices else '()'}]"


def tuple_text(items: list[str]) -> str:
    """`(a, b)`, `(a,)`, `()`."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
