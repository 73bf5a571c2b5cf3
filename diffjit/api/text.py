"""Programs as text, for `source`."""

from __future__ import annotations

from typing import Any

from diffjit.api.engine import program_of
from diffjit.lowering.python import source_text
from diffjit.transforms.custom import without_rules
from diffjit.transforms.pipeline import numbers


def text_of(derived: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stage: str) -> str:
    """The module that runs for these arguments."""
    program = program_of(derived, args, kwargs)
    function = without_rules(program.function)
    if stage == "lowered":
        from diffjit.lowering.cpu import lowered_text

        return lowered_text(numbers(function), large=program.large)
    return source_text(function)
