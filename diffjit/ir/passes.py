"""A pass, and the runner of lists of passes.

The lists are `PASSES` and `NUMBERS` of `diffjit.transforms.pipeline`, and `LOOPS` of `diffjit.lowering.text.module`;
nothing else runs a pass on a whole program. Each pass that changed something is a stage for those who look
(`ir.stages`), and is followed by the verifier where `settings.verify_passes` asks for it, as the tests do.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from diffjit.dataclass import dataclass
from diffjit.ir.checks import Check, needed
from diffjit.ir.nodes import Function
from diffjit.ir.stages import record
from diffjit.ir.verify import verify
from diffjit.ir.walk import looked_at, same
from diffjit.settings import settings


class Phase(enum.Enum):
    """What a program is when passes run on it."""

    PROGRAM = "as the user wrote it"
    DERIVATIVE = "made by a mode"
    SETTLED = "what is compiled: calls of functions with rules of their own are plain calls"


ALL = frozenset(Phase)
DERIVED = frozenset({Phase.DERIVATIVE, Phase.SETTLED})


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass: a function from a program to the same program, changed in place, or to another one."""

    name: str
    run: Callable[[Function], Function | None]
    needs: tuple[str, ...] = ()  # passes that have run before
    phases: frozenset[Phase] = ALL
    optional: bool = True  # left out by `settings.plain`: the program is as right without it


def run_passes(function: Function, passes: Sequence[Pass], phase: Phase, label: str) -> Function:
    """Run those of a list that a phase has, in order; `label` names the stages."""
    done: set[str] = set()
    owed = needed(function) if settings.verify_passes else frozenset[Check]()
    verified: list[object] = []
    for each in passes:
        if phase not in each.phases or (each.optional and settings.plain):
            continue
        missing = [name for name in each.needs if name not in done and not settings.plain]
        if missing:
            raise AssertionError(f"{each.name} needs {', '.join(missing)}")
        function = each.run(function) or function
        done.add(each.name)
        record(f"{label}-{each.name}", function)
        if settings.verify_passes and not same(verified, now := looked_at(function)):
            _verify(function, each, owed)
            verified = now
    return function


def _verify(function: Function, each: Pass, owed: frozenset[Check]) -> None:
    try:
        verify(function)
        lost = needed(function) - owed
        if lost:
            raise AssertionError(f"no check comes before what relies on it: {', '.join(map(str, lost))}")
    except AssertionError as error:
        raise AssertionError(f"after the pass {each.name}: {error}") from error
