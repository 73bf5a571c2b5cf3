"""What is written to arrays after a place of a program."""

from __future__ import annotations

from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.ir.nodes import Function, Op, Value
from diffjit.ir.types import Scalar


class Changes:
    """What is written to arrays; looked at when it is first asked for."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.memory: Memory | None = None

    def after(self, v: Value, op: Op) -> bool:
        """Whether a value that an operation reads may be written to later."""
        if isinstance(v.type, Scalar):
            return False
        if self.memory is None:
            self.memory = analyses(self.function).one_memory
        return self.memory.changes_after(v, op)
