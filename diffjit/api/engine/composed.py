"""Verbs that are programs by being copied in.

A `Composed` function says how a call of it is built inside a program under interpretation (`__diffjit_inline__`);
called from Python, it is specialised like a user's function that consists of that call. So every verb, `jit` and
programs that call it find one thing: a program.
"""

from __future__ import annotations

from typing import Any

from diffjit.api.engine.derived import Derived
from diffjit.api.engine.engine import executable, program_of
from diffjit.api.engine.programs import Arguments, Compiled
from diffjit.api.engine.tracebacks import shorten
from diffjit.frontend.entry.outputs import OptOut, RecordOut, rebuild
from diffjit.frontend.entry.program import Program
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block


def certain(program: Program, spec: Any, what: str) -> Any:
    """A tree of results without any that may be None: where one is, the program raises."""
    match spec:
        case OptOut():
            body, leave = program.function.body, Block()
            Builder(leave).op("raise", [], exception=TypeError, parts=(f"`{program.function.name}` {what}",))
            Builder(body).op("if", [body.results[spec.flag]], regions=[leave, Block()])
            return certain(program, spec.inner, what)
        case RecordOut():
            return RecordOut(spec.cls, {n: certain(program, v, what) for n, v in spec.fields.items()})
        case tuple():
            items = [certain(program, v, what) for v in spec]
            return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
        case list():
            return [certain(program, v, what) for v in spec]
        case dict():
            return {k: certain(program, v, what) for k, v in spec.items()}
        case _:
            return spec


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


class Marked(Composed):
    """A function that means something to derivatives; called from Python, it is the function itself."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        try:
            return self.function(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise
