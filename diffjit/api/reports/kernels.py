"""What `explain` says of a device: which parts become kernels, what stays on the host and why, what is copied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.api.engine.derived import Derived
from diffjit.api.engine.text import compiled_anew
from diffjit.ir.stages import PARTS


@dataclass(frozen=True, slots=True)
class Placed:
    """A part of a program: one kernel, or a loop or call that the host runs.

    name     of the kernel, as `source(..., stage="ptx")` has it; "" of what the host runs
    why      the reason why it is no kernel
    """

    file: str
    line: int
    name: str
    why: str = ""


@dataclass(slots=True)
class DeviceUse:
    """What a program does with a device.

    kernels   launched one after the other, each waited for
    host      loops and calls that the processor runs, with the reason
    copied    arguments that are copied at each call, with their bytes; `device_put` keeps them there
    """

    kernels: list[Placed] = field(default_factory=list[Placed])
    host: list[Placed] = field(default_factory=list[Placed])
    copied: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def lines(self) -> list[str]:
        """All of it in words."""
        count = len(self.kernels)
        found = [f"device: {count} kernel{'s' * (count != 1)}, each waited for; the rest runs on the host"]
        found += [f"{f'line {p.line}: ' * bool(p.line)}kernel {p.name}" for p in self.kernels]
        found += [f"line {p.line}: on the host{f' ({p.name})' * bool(p.name)}, as {p.why}" for p in self.host]
        if self.copied:
            names = ", ".join(f"{name} ({size:,} bytes)" for name, size in self.copied)
            found.append(f"copied at each call: {names}; device_put(...) keeps them on the device")
        return found


def device_use(derived: Derived, args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str]) -> DeviceUse:
    """What a call does with a device, which need not be there."""
    from diffjit.lowering.cuda import library
    from diffjit.lowering.cuda.devices import compiling_for

    with compiling_for("native" if library.path() is None else "ptx"):
        texts = compiled_anew(derived, args, kwargs, PARTS, "ptx")
    refused = dict(_refusals(texts))
    found = DeviceUse(copied=_copied(args, kwargs, names))
    for text in dict.fromkeys(t for t in texts if t.startswith("part\t")):
        _, name, file, line, why = text.split("\t")
        part = Placed(file, int(line), name, refused.get(name, why))
        (found.host if part.why else found.kernels).append(part)
    at = {(p.file, p.line) for p in found.kernels}  # of a loop in two versions, the host has the careful one
    found.host = [p for p in found.host if p.name or (p.file, p.line) not in at]
    return found


def _refusals(texts: list[str]) -> list[tuple[str, str]]:
    """The parts that no kernel could be made of, and why."""
    mark = " runs on the host: "
    told = (t.strip().removeprefix("// ") for t in texts if t.startswith("// ") and mark in t)
    return [(name, why) for name, _, why in (t.partition(mark) for t in told)]


def _copied(args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str]) -> list[tuple[str, int]]:
    from diffjit.lowering.cuda.arguments import is_shared

    leaves, _ = tree.flatten((args, kwargs))
    pairs = zip([*names, *[""] * len(leaves)], leaves, strict=False)
    return [(n or "an array", x.nbytes) for n, x in pairs if isinstance(x, np.ndarray) and x.size and not is_shared(x)]
