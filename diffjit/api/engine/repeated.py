"""Programs that run several times where the function runs once: each run draws the same random numbers.

for column in columns:                   saved = words.copy()
f_jvp(x, column, rng)        ->      for column in columns:               saved = words.copy()
        f_jvp(x, column, words)    ->    for column in columns:
                                             leave(words, saved)
                                             f_jvp(x, column, words)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffjit.errors import UsageError
from diffjit.ir.nodes import Function, Value
from diffjit.transforms.prepare import stream_params


class Repeated:
    """The streams among the inputs of a function, as they are before its first run."""

    def __init__(self, interpreter: Any, function: Function, inputs: Sequence[Value]) -> None:
        self.interpreter = interpreter
        self.saved = {k: (inputs[k], interpreter.copy(inputs[k])) for k in stream_params(function)}

    def copy_in(self, function: Function, inputs: Sequence[Value]) -> list[Value]:
        """Copy a program in that has the function's parameters, and perhaps more behind them."""
        for stream, words in self.saved.values():
            self.interpreter.build.op("leave", [stream, words])
        return self.interpreter.copy_in(function, list(inputs))

    def as_before(self, inputs: Sequence[Value]) -> list[Value]:
        """Inputs that a later run may draw from without leaving a trace."""
        return [self.interpreter.copy(self.saved[k][1]) if k in self.saved else v for k, v in enumerate(inputs)]


def refuse_streams(streams: Sequence[int], what: str) -> None:
    """The error where a program draws from streams of its callers."""
    if streams:
        raise UsageError(
            "DJ553",
            f"{what} of a function that draws from a stream of random numbers outside",
            cure="draw before the call, or let the function make its stream from a seed",
        )


__all__ = ["Repeated", "refuse_streams"]
