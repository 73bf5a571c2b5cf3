"""Runs rows: one process for each peer, one after another, on the same pinned cores."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import rows
from benchmarks.peers import PEERS, WITHOUT_DERIVATIVE

ROOT = Path(__file__).parent.parent
STARTS = 3  # processes for each figure of a start row
Say = Callable[[str], None]


def run(
    names: list[str], *, quick: bool, threads: int, limit: float, dtype: str, peers: list[str], say: Say
) -> Iterator[dict[str, Any]]:
    """The records so far, after each row, with what is needed to read them."""
    cores = choose_cores(threads)
    results: dict[str, Any] = {"machine": machine(), "quick": quick, "threads": threads, "cores": cores, "rows": {}}
    results["dtype"] = dtype
    for name in names:
        row = rows.load(name)
        record = {"title": row.title, "kind": row.kind, "size": dict(row.size(quick=quick)), "peers": {}}
        results["rows"][name] = record
        with tempfile.TemporaryDirectory(prefix="diffjit-bench-") as folder:
            for peer in peers:
                if row.kind == "start" and peer in WITHOUT_DERIVATIVE:
                    continue
                say(f"{name}: {PEERS[peer]}")
                process = Process(name, peer, "quick" if quick else "full", Path(folder), cores, limit, dtype=dtype)
                record["peers"][peer] = process.run() if row.kind == "run" else process.starts()
        yield results


class Process:
    """One peer on one row."""

    def __init__(
        self,
        name: str,
        peer: str,
        size: str,
        folder: Path,
        cores: list[int],
        limit: float,
        module: str = "benchmarks.worker",
        dtype: str = "float64",
    ) -> None:
        self.command = [sys.executable, "-m", module, name, peer, size, str(folder / "by_hand.npz"), dtype]
        self.folder = folder
        self.cores = cores
        self.limit = limit

    def run(self, cache: str = "cache") -> dict[str, Any]:
        """Its record, and the seconds from the start of the process to its first result."""
        begin = time.time()
        try:
            done = subprocess.run(  # noqa: S603 - our own module
                self.command,
                cwd=ROOT,
                env=environment(len(self.cores), self.folder / cache),
                capture_output=True,
                text=True,
                timeout=self.limit,
                check=False,
                preexec_fn=self.pin,
            )
        except subprocess.TimeoutExpired:
            return {"status": "late", "why": f"not finished after {self.limit:g} s"}
        try:
            record = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            return {"status": "error", "why": f"exit status {done.returncode}: {done.stderr[-300:]}"}
        if "ready_at" in record:
            record["start"] = record.pop("ready_at") - begin
        return record

    def starts(self) -> dict[str, Any]:
        """The middle one of several processes with an empty cache, and of several with what the first left behind."""
        first = [self.run(f"cache-{k}") for k in range(STARTS)]
        if any(record["status"] != "ok" for record in first):
            return next(record for record in first if record["status"] != "ok")
        again = [self.run("cache-0") for _ in range(STARTS)]
        record = sorted(first, key=lambda r: r["start"])[STARTS // 2]
        return record | {"start_again": sorted(r["start"] for r in again)[STARTS // 2]}

    def pin(self) -> None:
        """In the new process, before it starts."""
        pin(self.cores)


def pin(cores: list[int]) -> None:
    """Let this process, and what it starts, run on these cores alone: some libraries heed no other word."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def choose_cores(threads: int) -> list[int]:
    """The last cores that this process may use: the first ones serve the system."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(threads))
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        raise SystemExit(f"--threads {threads}: only {len(allowed)} cores may be used")
    return allowed[-threads:]


def environment(threads: int, cache: Path) -> dict[str, str]:
    """One setting of threads for every library, and a cache folder that nothing has filled before."""
    pools = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR")
    eigen = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    return {
        **os.environ,
        **{f"{pool}_NUM_THREADS": str(threads) for pool in pools},
        "XLA_FLAGS": eigen,
        "JAX_PLATFORMS": "cpu",
        "DIFFJIT_CACHE_DIR": str(cache),
        "PYTHONPATH": path,
    }


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
