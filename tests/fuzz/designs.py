"""The designs of random programs, by name: how a seed becomes a program, and how the program is checked.

`smooth` programs are right by construction and compared with difference quotients in every mode. `failing` ones may
raise anywhere, and are compared with Python, call by call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import failing, generate
from .check import VERBS as SMOOTH
from .check import Outcome, check
from .outcomes import VERBS, check_outcomes, verbs_for


@dataclass(frozen=True)
class Design:
    """A way to make programs, and the check that belongs to it."""

    name: str
    from_seed: Callable[[int], str]
    check: Callable[[str, int, str, bool, tuple[str, ...]], Outcome]


def _smooth(source: str, seed: int, backend: str, second: bool, verbs: tuple[str, ...]) -> Outcome:
    return check(source, seed, backend, second, verbs or SMOOTH)


def _failing(source: str, seed: int, backend: str, second: bool, verbs: tuple[str, ...]) -> Outcome:
    return check_outcomes(source, seed, backend, verbs or (VERBS if second else verbs_for(seed)))


DESIGNS = {
    design.name: design
    for design in (
        Design("smooth", generate.from_seed, _smooth),
        Design("failing", failing.from_seed, _failing),
    )
}


def design_of(source: str) -> Design:
    """The design that a program's text was written by: `failing` has CASES, `smooth` has INPUTS."""
    return DESIGNS["failing" if "\nCASES = " in source else "smooth"]


def one_verb(seed: int) -> tuple[str, ...]:
    """One verb for a program: more programs in the same time."""
    return (ONE[seed * 7919 % len(ONE)],)


ONE = ("grad",) * 7 + ("jit",) * 4 + ("jvp",) * 4 + ("second",)
