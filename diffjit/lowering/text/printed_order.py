"""The order of checks in printed loops: nothing that relies on a check is printed in front of it (`ir.checks`).

Operations are printed inside others, split into statements, and put together; the syntax tree still knows which
operation each part comes from (`origin`), and each statement of a branch what its condition has tested (`given`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from diffjit.ir.checks import Check, Needs
from diffjit.ir.nodes import CHECKS, Op


def printed_needs(body: Sequence[ast.stmt], needs: Needs) -> frozenset[Check]:
    """The checks on which printed statements rely before they make them; `needs` knows the functions that they call."""
    found = _Printed(needs)
    found.statements(body, set())
    return frozenset(found.needed)


class _Printed:
    def __init__(self, needs: Needs) -> None:
        self.needs = needs
        self.needed: set[Check] = set()

    def statements(self, body: Sequence[ast.stmt], done: set[Check]) -> None:
        """A block; `done` grows."""
        for s in body:
            self.statement(s, done)

    def statement(self, s: ast.stmt, done: set[Check]) -> None:
        """What a statement evaluates, in Python's order."""
        op = getattr(s, "origin", None)
        done.update(getattr(s, "given", ()))
        if isinstance(s, ast.AugAssign) and op is not None:
            self.needed |= self.needs.relied(op, done)  # the target is read first
        for operand in getattr(s, "operands", ()):
            self.ran(operand, done)
        match s:
            case ast.For() | ast.While():
                self.expression(s.iter if isinstance(s, ast.For) else s.test, done)
                self.statements(s.body, done)
            case ast.If():
                self.expression(s.test, done)
                first, other = set(done), set(done)
                self.statements(s.body, first)
                self.statements(s.orelse, other)
                done |= first | other
            case ast.AugAssign():
                self.expression(s.target, done)
                self.expression(s.value, done)
            case ast.Assign():
                self.expression(s.value, done)
                for target in s.targets:
                    self.expression(target, done)
            case _:
                for child in ast.iter_child_nodes(s):
                    self.expression(child, done)
        self.ran(op, done)

    def expression(self, tree: ast.AST, done: set[Check]) -> None:
        """An expression: operands first."""
        for child in ast.iter_child_nodes(tree):
            self.expression(child, done)
        self.statements(getattr(tree, "runs", ()), done)  # of a call: what the called function does
        self.ran(getattr(tree, "origin", None), done)

    def ran(self, op: Op | None, done: set[Check]) -> None:
        """An operation has run."""
        for each in _parts(op):
            self.needed |= self.needs.relied(each, done)
            done.update(each.attrs.get(CHECKS, ()))


def _parts(op: Op | None) -> Iterator[Op]:
    if op is not None:
        yield from op.attrs.get("members", ())
        yield op
