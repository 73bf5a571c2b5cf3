"""Verbs that are programs by being copied in.

A `Composed` function says how a call of it is built inside a program under interpretation (`__diffjit_inline__`);
called from Python, it is specialised like a user's function that consists of that call. So every verb, `jit` and
programs that call it find one thing: a program.
"""

from __future__ import annotations

from typing import Any

from diffjit.api.derived import Derived
from diffjit.api.programs import Arguments, Compiled, executable, program_of
from diffjit.frontend.program import Program
from diffjit.frontend.results import rebuild


class Composed(Derived):
    """A function made from another one by building around a copy of it."""

    unchanged = True  # the caller's arrays stay as they are

    def specialise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The program that consists of this call."""
        return program_of(self, args, kwargs)

    def build(self, program: Program, call: Arguments) -> tuple[Compiled, Any]:
        """The compiled program, and how its flat results become this function's."""
        del call
        compiled = executable(program, program.function, self.backend, unchanged=self.unchanged)
        return compiled, lambda outs, _: rebuild(program.result, list(outs))

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        raise NotImplementedError
