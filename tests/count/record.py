"""What was measured: a line for each callable, `name result=... mode=outcome ...`, in `measured.txt`.

The first line says with which NumPy and SciPy; a line that was measured with others, as that of a callable which only
newer ones have, says so itself, `with=...`.
"""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

import numpy as np
import scipy

FILE = Path(__file__).with_name("measured.txt")


def lines() -> list[str]:
    """The lines of the file."""
    return FILE.read_text().splitlines() if FILE.exists() else []


def versions() -> str:
    """With what it was measured."""
    return lines()[0].lstrip("# ")


def installed() -> str:
    """With what it is measured now."""
    return f"NumPy {np.__version__}, SciPy {scipy.__version__}"


def read() -> dict[str, dict[str, str]]:
    """The outcomes of each mode, by the name of the callable."""
    found = {}
    for line in lines():
        if not line.startswith("#"):
            name, *parts = line.split("\t")
            found[name] = dict(part.split("=", 1) for part in parts)
    return found


def store(record: dict[str, dict[str, str]], measured_with: str) -> None:
    """Write the record, sorted by name."""
    told = [f"# {measured_with}"]
    for name, found in sorted(record.items()):
        told.append("\t".join([name, *(f"{mode}={' '.join(words.split())}" for mode, words in found.items())]))
    whole = FILE.with_suffix(".new")
    whole.write_text("\n".join(told) + "\n")
    whole.replace(FILE)  # at once: another run may be reading


def add(name: str, found: dict[str, str]) -> None:
    """Add one line, where several runs may write."""
    if installed() != versions():
        found = {**found, "with": f"{installed()}, Python {sys.version_info[0]}.{sys.version_info[1]}"}
    with FILE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store({**read(), name: found}, versions())
