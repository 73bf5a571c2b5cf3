"""The analyses of a function: each is made when it is first asked for, and anew when the function has changed.

    analyses(f).memory      references that may share memory
    analyses(f).bounds      indices that are within bounds

Nobody says that a function has changed: passes change it in place, in many places, and one that forgets to say so would
leave others with facts that no longer hold. The function is compared with what it was instead, operation by operation:
that takes a small part of the time that an analysis takes. A pass that changes the function while it works keeps the
analyses that it began with.
"""

from __future__ import annotations

from functools import cached_property

from diffjit.analysis.integers.bounds import Bounds
from diffjit.analysis.integers.dependence import Dependence
from diffjit.analysis.integers.intervals import Intervals
from diffjit.analysis.integers.running import Running
from diffjit.analysis.integers.sums import Sums
from diffjit.analysis.memory import Memory
from diffjit.analysis.order import Order
from diffjit.ir.nodes import Function
from diffjit.ir.roots import Roots
from diffjit.ir.walk import looked_at, same


class Analyses:
    """What is known of a function as it is now."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.order = Order(function)  # first, as it tells values where they stand
        self.seen = looked_at(function)

    @cached_property
    def sums(self) -> Sums:
        """What integers are sums of."""
        return Sums(self.function)

    @property
    def intervals(self) -> Intervals:
        """The least and greatest values of integers."""
        return self.sums.intervals

    @cached_property
    def bounds(self) -> Bounds:
        """Indices that are within bounds."""
        return Bounds(self.order, self.sums)

    @property
    def running(self) -> Running:
        """Integers that loops add to."""
        return self.bounds.running

    @cached_property
    def dependence(self) -> Dependence:
        """Accesses that never touch the same element."""
        return Dependence(self.order, self.sums)

    @cached_property
    def memory(self) -> Memory:
        """References that may share memory; those that control flow joins are one class only where it is written to."""
        return Memory(self.function, self.order, self.dependence)

    @cached_property
    def one_memory(self) -> Memory:
        """The same with all joined references in one class: what may be the same memory, written to or not."""
        return Memory(self.function, self.order, self.dependence, whole=True)

    @cached_property
    def roots(self) -> Roots:
        """The buffers behind references."""
        return Roots(self.function)


def analyses(function: Function) -> Analyses:
    """The analyses of a function as it is now."""
    known = function.analyses
    if isinstance(known, Analyses):
        seen = looked_at(function)
        if same(known.seen, seen):
            return known
    known = function.analyses = Analyses(function)
    return known
