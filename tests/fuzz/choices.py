"""Where a generated program takes its decisions from: a seed, or hypothesis (which then shrinks the program)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Decisions, all drawn as bounded integers; the smallest integer is the simplest decision."""

    def __init__(self, draw: Callable[[int, int], int]) -> None:
        """Draw from `draw(low, high)`, which gives an integer between both bounds, inclusive."""
        self.integer = draw

    @classmethod
    def from_seed(cls, seed: int) -> Choices:
        """Reproducible decisions from a plain seed."""
        return cls(random.Random(seed).randint)

    def chance(self, percent: int) -> bool:
        """True in about `percent` of a hundred draws; the simplest decision is False."""
        return self.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, which begin with the simplest."""
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the (weight, option) pairs, which begin with the simplest."""
        place = self.integer(0, sum(weight for weight, _ in options) - 1)
        for weight, option in options:
            place -= weight
            if place < 0:
                return option
        raise AssertionError

    def number(self) -> str:
        """A short float literal between 0.2 and 0.9."""
        return f"0.{self.integer(2, 9)}"
