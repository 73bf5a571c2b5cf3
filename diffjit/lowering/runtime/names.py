"""The names that generated text may use, and where they come from."""

from __future__ import annotations

from diffjit.lowering import marks
from diffjit.lowering.llvm.numba_internals import Dispatcher, Intrinsic
from diffjit.lowering.llvm.operations import Operation
from diffjit.lowering.runtime import (
    arithmetic,
    choices,
    fourier,
    lane_parts,
    lanes,
    lists,
    memory,
    moves,
    partials,
    scalars,
    slots,
    special,
    spread,
    tape,
    vecmath,
)
from diffjit.lowering.runtime.matrices import products, systems

_MODULES = (
    scalars, choices, arithmetic, special, spread, lane_parts, memory, slots, moves, lists, lanes, products, systems,
    partials, fourier, tape, vecmath,
)  # fmt: skip
_KINDS = (Operation, Intrinsic, Dispatcher, float)

SOURCES: dict[str, str] = {}  # name -> module
for _module in _MODULES:
    for _name, _value in vars(_module).items():
        if not _name.startswith("_") and isinstance(_value, _KINDS):
            SOURCES.setdefault(_name, _module.__name__)
del _module, _name, _value  # pyright: ignore[reportPossiblyUnboundVariable]

SOURCES |= dict.fromkeys(marks.LOOPS, marks.__name__)
SOURCES = dict.fromkeys(special.ON_DEMAND, special.__name__) | SOURCES

HELPER_MODULES = {
    **dict.fromkeys(
        ("memory", "lists", "moves", "partials", "effects", "foreign", "slots"), "diffjit.lowering.runtime"
    ),
    "bitgens": "diffjit.lowering.draws",
}  # and their packages
RUNTIME_NAMES = frozenset(SOURCES) | frozenset(HELPER_MODULES) | {"compiled", "inner", "depth_"}
