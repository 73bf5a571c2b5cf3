"""Programs as text, for `source`."""

from __future__ import annotations

from typing import Any

from diffjit.api.engine import program_of
from diffjit.api.programs import flatten_call
from diffjit.transforms.custom import without_rules
from diffjit.transforms.pipeline import readable


def text_of(derived: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stage: str) -> str:
    """The module that runs for these arguments."""
    if stage == "lowered":
        from diffjit.lowering.cpu import texts

        with texts() as written:
            derived.build(derived.specialise(args, kwargs), flatten_call(args, kwargs))
        return "\n\n".join(written)
    return readable(without_rules(program_of(derived, args, kwargs).function))
