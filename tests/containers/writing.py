"""What the writers of random programs have in common."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any


class Lines:
    """The lines of a program's text, and where its decisions come from."""

    head = ""  # what stands above the function

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.made = 0

    def name(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def add(self, *lines: str, depth: int = 1) -> None:
        self.lines += ["    " * depth + line for line in lines]

    def line(self, depth: int, text: str) -> None:
        self.add(text, depth=depth)

    def pick(self, among: Any) -> Any:
        return self.draw.choice(among)

    def chance(self, p: float) -> bool:
        return self.draw.random() < p


class Unfit(Exception):
    """A program that does not serve as a test."""


def limited(run: Callable[[], Any], steps: int) -> Any:
    """What a call gives that does not run for more than so many lines."""
    left = steps

    def traced(*_: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise Unfit("long")
        return traced

    sys.settrace(traced)
    try:
        return run()
    finally:
        sys.settrace(None)
