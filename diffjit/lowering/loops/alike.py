"""Functions of a module that do the same under other names: one stands for all.

    def loops1_(n_, x):            def loops4_(m_, y):          loops1_(n_, x)
        for i_ in range(n_):           for j_ in range(m_):     loops1_(m_, y)
            x[i_] = 0.0                    y[j_] = 0.0

A function of the user's that is called in several places stands in the program as often, and so do its loops: the four
stages of a Runge-Kutta step, say. Each function takes Numba some 10 ms, and LLVM its share.

What counts is all that anybody is told of a function: its statements with names in the order in which they appear, the
places in the user's file that a failure is reported at, which arrays may overlap, and which have rows without gaps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from diffjit.ir.text import syntax

if TYPE_CHECKING:
    from diffjit.lowering.text.spreading import Part


def merge(
    parts: list[Part],
    bodies: Iterable[list[ast.stmt]],
    rows: dict[str, frozenset[str]],
    noted: Callable[[ast.stmt], Any],
) -> list[Part]:
    """The parts that are left; in place, what they and the bodies call has the names of these.

    `rows`: the arrays with rows without gaps, by the name of a part. `noted`: what a module notes of the line of a
    statement; None where it is noted of that line alone.
    """
    first: dict[Any, str] = {}
    same: dict[str, str] = {}
    left: list[Part] = []
    for part in parts:
        _rename(part.body, same)
        key = _key(part, rows.get(part.name, frozenset()), noted)
        known = first.setdefault(key, part.name) if key is not None else part.name
        if known == part.name:
            left.append(part)
        else:
            same[part.name] = known
    for body in bodies if same else ():
        _rename(body, same)
    return left


def _rename(body: list[ast.stmt], same: dict[str, str]) -> None:
    for statement in body if same else ():
        for node in syntax.nodes(statement):
            if isinstance(node, ast.Name):
                node.id = same.get(node.id, node.id)


def _key(part: Part, rows: Collection[str], noted: Callable[[ast.stmt], Any]) -> Any:
    """What is the same of parts that are alike; None where a part is like no other."""
    names = _Names(part)
    found: list[Any] = [noted(statement) for statement in _statements(part.body)]
    if None in found:
        return None
    for statement in part.body:
        if not isinstance(statement, syntax.Comment):
            names.write(statement, found)
    groups: dict[int, int] = {0: 0}
    apart = tuple(groups.setdefault(g, len(groups)) for g in part.apart)
    arrays = frozenset(names.place[name] for name in rows if name in names.place)
    return (*found, apart, arrays, part.rooms)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, syntax.Comment):
            continue
        yield statement
        for inner in ("body", "orelse"):
            yield from _statements(getattr(statement, inner, ()))


class _Names:
    """Names that a part makes or is given as numbers, in the order in which they appear; all others as they are."""

    def __init__(self, part: Part) -> None:
        self.place = {name: k for k, name in enumerate(part.parameters)}
        nodes = (n for s in part.body for n in syntax.nodes(s) if isinstance(n, ast.Name))
        self.made = {n.id for n in nodes if isinstance(n.ctx, ast.Store)}

    def write(self, node: Any, found: list[Any]) -> None:
        """A tree as a list, from which it could be made again."""
        if isinstance(node, ast.Name):
            if node.id in self.made:
                self.place.setdefault(node.id, len(self.place))
            found.append((type(node.ctx), self.place.get(node.id, node.id)))
        elif isinstance(node, ast.AST):
            found.append(type(node))
            for name in node._fields:
                self.write(getattr(node, name, None), found)
        elif isinstance(node, list):
            found.append(len(node))
            for item in node:
                if not isinstance(item, syntax.Comment):
                    self.write(item, found)
        else:
            found.append((type(node), repr(node)))
