"""Runs rows: one process for each peer, one after another, on the same pinned cores."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import rows
from benchmarks.peers import PEERS, WITHOUT_DERIVATIVE
from benchmarks.processes import Record, Say, Worker, choose_cores, compile_packages, settings

STARTS = 3  # processes for each figure of a start row


def run(
    names: list[str],
    *,
    quick: bool,
    threads: int,
    limit: float,
    dtype: str,
    peers: list[str],
    say: Say,
    again: bool = False,
) -> Iterator[Record]:
    """The records so far, after each row, with what is needed to read them; `again`: of second processes as well."""
    results = heading(threads, quick=quick) | {"dtype": dtype}
    for name in names:
        row = rows.load(name)
        record = {"title": row.title, "kind": row.kind, "size": dict(row.size(quick=quick)), "peers": {}}
        results["rows"][name] = record
        with tempfile.TemporaryDirectory(prefix="diffjit-bench-") as folder:
            for peer in peers:
                if row.kind == "start" and peer in WITHOUT_DERIVATIVE:
                    continue
                say(f"{name}: {PEERS[peer]}")
                worker = of_row(name, peer, Path(folder), results["cores"], limit, quick=quick, dtype=dtype)
                if row.kind == "start":
                    record["peers"][peer] = starts(worker, 1 if quick else STARTS)
                else:
                    record["peers"][peer] = worker.both() if again else worker.run()
        yield results


def heading(threads: int, *, quick: bool) -> Record:
    """What is needed to read records, and no rows yet; before that, byte code is made ready."""
    missing = compile_packages()
    return {
        "machine": machine(),
        "quick": quick,
        "threads": threads,
        "cores": choose_cores(threads),
        "settings": settings(),
        "without_byte_code": missing,
        "rows": {},
    }


def of_row(
    name: str,
    peer: str,
    folder: Path,
    cores: list[int],
    limit: float,
    *,
    quick: bool,
    dtype: str = "float64",
    module: str = "benchmarks.worker",
) -> Worker:
    """One peer on one row, or on one case of `benchmarks.verbs`."""
    size = "quick" if quick else "full"
    return Worker(["-m", module, name, peer, size, str(folder / "by_hand.npz"), dtype], peer, folder, cores, limit)


def starts(worker: Worker, count: int) -> Record:
    """The middle one of several processes with an empty cache, and of several with what the first left behind."""
    first = [worker.run(f"cache-{k}") for k in range(count)]
    if any(record["status"] != "ok" for record in first):
        return next(record for record in first if record["status"] != "ok")
    record = sorted(first, key=lambda r: r["start"])[count // 2]
    again = [worker.again("cache-0") for _ in range(count)]
    fields = {"start_again": "start", "first_again": "first_call", "start_again_processor": "start_processor"}
    return record | {name: _middle(again, field) for name, field in fields.items()}


def _middle(records: list[Record], field: str) -> float | None:
    found = sorted(r[field] for r in records if field in r)
    return found[len(found) // 2] if found else None


def machine() -> dict[str, str]:
    """Where the figures come from."""
    return {
        "processor": processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: installed(package) for package in ("diffjit", "numpy", "numba", "llvmlite", "jax", "autograd")},
    }


def processor() -> str:
    """The name of the processor."""
    file = Path("/proc/cpuinfo")
    if file.exists():
        for line in file.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def installed(package: str) -> str:
    """The version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
