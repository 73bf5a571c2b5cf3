"""The way there with snapshots where nobody knows how many steps there are: online checkpointing.

A snapshot has a level; one whose level is lower than that of a later one may be dropped. With f places that are free or
may become so, snapshots of level q follow at distances beta(f, q), beta(f - 1, q), ..., beta(0, q) = 1, where
beta(f, q) = (f + q)! / (f! q!). When no place is left, the last one moves on by one step, and up by one level: after
beta(f, q + 1) steps in all. So with s places beside the first, and h the highest level so far, beta(s, h) steps have
been left behind, and no step of up to beta(s, r) is run more than r times before it is reversed. No schedule has less,
not even where the number of steps is known (Wang, Moin and Iaccarino, "Minimal repetition dynamic checkpointing
algorithm for unsteady adjoint calculation", SIAM Journal on Scientific Computing 31, 2009, where q is 0).

    while the loop goes on:
        a place: a free one, or the last that may be dropped; else that of the last snapshot, a level higher
        save the state there
        run beta(f, q) steps,  q = max(h - 1, 0)

Snapshots of levels below h - 1 would hardly stand when they are wanted, so they are not taken. The last that may be
dropped goes first, and only when its place is needed: then up to beta(s, 2) steps no schedule runs fewer steps in all,
in the range of the algorithm of Stumm and Walther ("New algorithms for optimal online checkpointing", ibid. 32, 2010).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffjit.ir.types import BOOL, INT
from diffjit.transforms.checkpoint.snapshots import HELD, Held

if TYPE_CHECKING:
    from diffjit.ir.nodes import Value
    from diffjit.transforms.checkpoint.snapshots import Steps, Storage

BOTTOM = 2**62  # level of the first snapshot: above all


class Online:
    """Builds the steps of one loop, with snapshots."""

    def __init__(self, s: Steps, storage: Storage, slots: Value) -> None:
        self.s, self.build = s, s.build
        self.storage, self.slots = storage, slots
        self.levels = s.counters(slots, "levels")

    def steps(self, n: Value, first: list[Value]) -> tuple[Value, Held, list[Value]]:
        """Run until the loop is left, or to step n: the number of steps, the snapshots, and what is carried."""
        s, build = self.s, self.build

        def on(now: list[Value]) -> Value:
            goes_on = build.value("logical_not", [now[-1]], BOOL)
            return build.value("logical_and", [goes_on, s.less(now[0], n)], BOOL)

        def piece(now: list[Value]) -> list[Value]:
            at, *carried = now
            above, loose, height, *state = carried[len(HELD) : -1]
            held, above, loose, height = self.place(at, Held(*carried[: len(HELD)]), above, loose, height)
            floor = self.floor(height)
            gap = self.beta(self.free(held, loose), floor)
            held, above, loose = self.make_room(held, above, loose, floor, gap)
            s.save(self.storage, held.top, at, state)
            stop = build.value("minimum", [s.int("add", at, gap), n], INT)
            *nexts, ran, left = s.run(at, stop, state, ends=True)
            return [s.int("add", at, ran), *held.values(), above, loose, height, *nexts, left]

        zero = build.const(0)
        names = ["at", *HELD, "above", "loose", "height", *(a.name for a in s.args), "left"]
        begin = [zero, *s.nothing().values(), zero, zero, zero, *first, build.const(False)]
        ran, *outs = s.repeat(begin, names, on, piece, state=len(HELD) + 4)
        return ran, Held(*outs[: len(HELD)]), outs[len(HELD) + 3 : -1]

    def place(
        self, at: Value, held: Held, above: Value, loose: Value, height: Value
    ) -> tuple[Held, Value, Value, Value]:
        """A place on top. `loose` snapshots may be dropped, the last of which is below `above` or further down."""
        s, build = self.s, self.build
        zero, one = build.const(0), build.const(1)

        def another() -> list[Value]:
            full = build.value("equal", [held.taken, self.slots], BOOL)
            *now, a, count = s.choose(
                full, lambda: self.drop(held, above, loose), lambda: [*held.values(), above, loose], [INT] * 6
            )
            more = s.push(self.storage, Held(*now))
            begins = build.value("equal", [at, zero], BOOL)
            level = build.value("select", [begins, build.const(BOTTOM), self.floor(height)], INT)
            s.write(self.levels, more.top, level)
            return [*more.values(), a, count, height]

        def higher() -> list[Value]:
            level = s.int("add", s.read(self.levels, held.top), one)
            s.write(self.levels, held.top, level)
            below = s.read(self.storage.previous, held.top)
            _, count = s.repeat(
                [below, zero], ["slot", "loose"],
                lambda now: s.less(s.read(self.levels, now[0]), level),
                lambda now: [s.read(self.storage.previous, now[0]), s.int("add", now[1], one)],
            )  # fmt: skip
            return [*held.values(), held.top, count, build.value("maximum", [height, level], INT)]

        *now, a, count, high = s.choose(s.less(zero, self.free(held, loose)), another, higher, [INT] * 7)
        return Held(*now), a, count, high

    def make_room(self, held: Held, above: Value, loose: Value, floor: Value, gap: Value) -> tuple[Held, Value, Value]:
        """Drop snapshots until the free places are enough to reverse the steps that are to come now."""
        s = self.s
        level = s.int("add", floor, self.build.const(1))

        def tight(carried: list[Value]) -> Value:
            return s.less(self.beta(s.int("subtract", self.slots, carried[0]), level), gap)

        def drop(carried: list[Value]) -> list[Value]:
            return self.drop(Held(*carried[: len(HELD)]), *carried[len(HELD) :])

        *now, a, count = s.repeat([*held.values(), above, loose], [*HELD, "above", "loose"], tight, drop)
        return Held(*now), a, count

    def drop(self, held: Held, above: Value, loose: Value) -> list[Value]:
        """Give back the place of the last snapshot that may be dropped: the levels of those behind it do not rise."""
        s = self.s

        def higher(slot: list[Value]) -> Value:
            below = s.read(self.levels, s.read(self.storage.previous, *slot))
            return self.build.value("logical_not", [s.less(below, s.read(self.levels, *slot))], BOOL)

        (a,) = s.repeat([above], ["above"], higher, lambda slot: [s.read(self.storage.previous, *slot)])
        rest = s.drop(self.storage, held, a)
        return [*rest.values(), a, s.int("subtract", loose, self.build.const(1))]

    def free(self, held: Held, loose: Value) -> Value:
        """How many places are free or may become so."""
        return self.s.int("add", self.s.int("subtract", self.slots, held.taken), loose)

    def floor(self, height: Value) -> Value:
        """The level of the next snapshot."""
        lower = self.s.int("subtract", height, self.build.const(1))
        return self.build.value("maximum", [lower, self.build.const(0)], INT)

    def beta(self, free: Value, level: Value) -> Value:
        """(free + level)! / (free! level!)."""
        s, one = self.s, self.build.const(1)

        def factor(now: list[Value]) -> list[Value]:
            k, product = now
            more = s.int("add", k, one)
            grown = s.int("multiply", product, s.int("add", free, more))
            return [more, s.int("floor_divide", grown, more)]

        return s.repeat(
            [self.build.const(0), one], ["k", "beta"], lambda now: s.less(now[0], level), factor
        )[1]  # fmt: skip
