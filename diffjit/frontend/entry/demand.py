"""Which derivatives a program under interpretation will be asked for: rules of functions are only read where one is.

A demand is a sequence of modes, the first to be taken first: a function that `jacfwd` is taken of inside one that
`grad` is taken of has the demand `("forward", "reverse")`. Any part of it may be taken, in this order: a call that does
not depend on what one mode differentiates by is left to the next. None stands for all that there may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Demand = tuple[str, ...] | None

FORWARD: Demand = ("forward",)
REVERSE: Demand = ("reverse",)
NOTHING: Demand = ()

T = TypeVar("T")

_current: ContextVar[Demand] = ContextVar("demand", default=None)


class Undemanded(Exception):
    """A derivative asks for a rule that nobody had announced: the program is made again with all rules."""


def current() -> Demand:
    """What will be taken of the program that is specialised next."""
    return _current.get()


@contextmanager
def demanded(demand: Demand) -> Iterator[None]:
    """These are the derivatives that will be taken of programs that are specialised meanwhile."""
    token = _current.set(demand)
    try:
        yield
    finally:
        _current.reset(token)


def as_demanded(demand: Demand, make: Callable[[], T]) -> T:
    """What is made of programs that these derivatives will be taken of; once more with all rules, if that was wrong."""
    try:
        with demanded(demand):
            return make()
    except Undemanded:
        with demanded(None):
            return make()


def before(first: Demand, then: Demand) -> Demand:
    """One demand, and another one of what comes out."""
    return None if first is None or then is None else first + then


def covers(all_of: Demand, part: Demand) -> bool:
    """Whether what was made for a demand serves another one."""
    if all_of is None or part is None:
        return all_of is None
    left = iter(all_of)
    return all(mode in left for mode in part)


def either(one: Demand, other: Demand) -> Demand:
    """A demand that covers two."""
    if covers(one, other):
        return one
    return other if covers(other, one) else before(one, other)


def after(demand: Demand, mode: str) -> Demand:
    """What is left once a mode has been taken; that must be part of it."""
    return None if demand is None else demand[demand.index(mode) + 1 :]


def of_rules(demand: Demand, *, forward: bool, reverse: bool) -> dict[str, Demand]:
    """The rules that a demand asks for, of those that a function has, and the demand on each.

    Where a function lacks the rule for a mode, it is made of the other one by reverse mode.
    """
    has = [mode for mode, given in (("forward", forward), ("reverse", reverse)) if given]
    if demand is None:
        return dict.fromkeys(has)
    found: dict[str, Demand] = {}
    for mode in dict.fromkeys(demand):
        rest = after(demand, mode)
        rule = mode if mode in has else has[0]
        asked = rest if rule == mode else before(REVERSE, rest)
        found[rule] = either(found[rule], asked) if rule in found else asked
    return found
