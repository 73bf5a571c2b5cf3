"""What was measured: a line for each callable, `name result=... mode=outcome ...`, in `measured.txt`."""

from __future__ import annotations

import fcntl
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


def read() -> dict[str, dict[str, str]]:
    """The outcomes of each mode, by the name of the callable."""
    found = {}
    for line in lines():
        if not line.startswith("#"):
            name, *parts = line.split("\t")
            found[name] = dict(part.split("=", 1) for part in parts)
    return found


def store(record: dict[str, dict[str, str]]) -> None:
    """Write the record, sorted by name."""
    told = [f"# NumPy {np.__version__}, SciPy {scipy.__version__}"]
    for name, found in sorted(record.items()):
        told.append("\t".join([name, *(f"{mode}={' '.join(words.split())}" for mode, words in found.items())]))
    whole = FILE.with_suffix(".new")
    whole.write_text("\n".join(told) + "\n")
    whole.replace(FILE)  # at once: another run may be reading


def add(name: str, found: dict[str, str]) -> None:
    """Add one line, where several runs may write."""
    with FILE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store({**read(), name: found})
