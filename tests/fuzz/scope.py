"""What the generator knows about the names of the program it is writing: kinds with concrete shapes and ranges."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Real:
    """A float. A `sink` is only read by the final sum, so it may grow."""

    sink: bool = False


@dataclass(frozen=True)
class Int:
    """An integer that stays within [low, high]."""

    low: int
    high: int


@dataclass(frozen=True)
class Array:
    """A float64 array (or a view of one) of a known shape."""

    shape: tuple[int, ...]
    writable: bool = True

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True)
class Items:
    """A list with at least one item, all of one kind."""

    item: Real | Array


@dataclass(frozen=True)
class Function:
    """A helper: kinds of its parameters, and of its result (several for a tuple, none for None)."""

    params: tuple[Kind, ...]
    results: tuple[Kind, ...]


Kind = Real | Int | Array | Items | Function


@dataclass
class Scope:
    """The names a statement may use, and what control flow allows there."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    bound_at: dict[str, int] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)  # never rebound, not even by an augmented assignment
    captured: set[str] = field(default_factory=set)  # keep their kind, since a closure reads them
    results: tuple[Kind, ...] = (Real(),)
    block: int = 0
    loops: int = 0
    trips: int = 1
    may_break: bool = False
    may_continue: bool = False

    def inner(self, *, trips: int | None = None, may_continue: bool = True) -> Scope:
        """The scope of a nested block; of a loop's body when `trips` is given."""
        child = replace(self, kinds=dict(self.kinds), bound_at=dict(self.bound_at), block=self.block + 1)
        if trips is not None:
            child.loops, child.trips = self.loops + 1, self.trips * max(1, trips)
            child.may_break, child.may_continue = True, may_continue
        return child

    def bind(self, name: str, kind: Kind) -> None:
        """Record an assignment to `name`."""
        if name not in self.kinds or self.bound_at[name] == self.block:
            self.bound_at[name] = self.block
        self.kinds[name] = kind

    def may_rebind(self, name: str, kind: Kind) -> bool:
        """Whether `name = <kind>` keeps what other places assume about `name`."""
        if name in self.fixed:
            return False
        old = self.kinds.get(name)
        if old is None or old == kind:
            return True
        if isinstance(old, Int | Items | Function):
            return False
        return self.bound_at[name] == self.block and name not in self.captured

    def arrays(self, *, writable: bool = False) -> list[tuple[str, Array]]:
        """Arrays by name."""
        found = [(name, kind) for name, kind in self.kinds.items() if isinstance(kind, Array)]
        return [(name, kind) for name, kind in found if kind.writable or not writable]

    def reals(self, *, sinks: bool = False) -> list[str]:
        """Names of floats."""
        return [name for name, kind in self.kinds.items() if isinstance(kind, Real) and kind.sink == sinks]

    def ints(self) -> list[tuple[str, Int]]:
        """Integers by name."""
        return [(name, kind) for name, kind in self.kinds.items() if isinstance(kind, Int)]

    def lists(self) -> list[tuple[str, Items]]:
        """Lists by name."""
        return [(name, kind) for name, kind in self.kinds.items() if isinstance(kind, Items)]

    def functions(self) -> list[tuple[str, Function]]:
        """Helpers by name."""
        return [(name, kind) for name, kind in self.kinds.items() if isinstance(kind, Function)]
