"""Processes that measure: pinned, with one setting of threads, and with byte code as installed packages have it."""

from __future__ import annotations

import compileall
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = ("diffjit", "benchmarks", "numpy", "scipy", "llvmlite", "numba", "gast", "astor", "optree", "rich")
PACKAGES += ("jax", "jaxlib", "ml_dtypes", "autograd")
POOLS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR")
FIRST = "BENCHMARK_FIRST_CALL"  # set: a worker makes its first call and no other
KEPT = ("diffjit", "jit", "jax")  # peers that find in a second process what the first one has compiled

Record = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Worker:
    """One peer on one program, in new processes.

    arguments   of Python
    peer        who
    folder      of caches, empty at first
    cores       that it may use
    limit       seconds
    path        where else it looks for modules
    """

    arguments: Sequence[str]
    peer: str
    folder: Path
    cores: list[int]
    limit: float
    path: tuple[str, ...] = ()

    def run(self, cache: str = "cache", **variables: str) -> Record:
        """What it prints last, as JSON, or why there is none; with the seconds from its start to its first result."""
        begin = time.time()
        try:
            with pinned(self.cores):
                done = subprocess.run(  # noqa: S603 - our own module
                    [sys.executable, *self.arguments],
                    cwd=ROOT,
                    env=environment(len(self.cores), self.folder / cache, self.path) | variables,
                    capture_output=True,
                    text=True,
                    timeout=self.limit,
                    check=False,
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

    def both(self) -> Record:
        """The same, and its first call in a second process, which finds what the first one has left behind."""
        record = self.run()
        if record["status"] == "ok" and self.peer in KEPT:
            again = self.again()
            if again["status"] == "ok":
                record |= {"first_again": again["first_call"], "first_again_processor": again.get("first_processor")}
            else:
                record["why_not_again"] = again["why"]
        return record

    def again(self, cache: str = "cache") -> Record:
        """A process that finds what was compiled before. JAX keeps it if asked to, which the first one was not."""
        if self.peer != "jax":
            return self.run(cache, **{FIRST: "1"})
        kept = {
            "JAX_COMPILATION_CACHE_DIR": str(self.folder / "jax"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            FIRST: "1",
        }
        if not (self.folder / "jax").exists():
            self.run(cache, **kept)
        return self.run(cache, **kept)


def first_call_only() -> bool:
    """Whether a worker is asked for its first call alone."""
    return FIRST in os.environ


@contextmanager
def pinned(cores: list[int]) -> Iterator[None]:
    """Let processes that are started meanwhile run on these cores alone: some libraries heed no other word.

    They inherit it from this thread, which takes no part in what is measured.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def choose_cores(threads: int) -> list[int]:
    """The last cores that this process may use, as the first ones serve the system; all of them for 0."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(threads or os.cpu_count() or 1))
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        raise SystemExit(f"--threads {threads}: only {len(allowed)} cores may be used")
    return allowed[-threads:]


def environment(threads: int, cache: Path, path: tuple[str, ...] = ()) -> dict[str, str]:
    """One setting of threads for every library, a cache that nothing has filled before, and byte code that is kept."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    eigen = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    return {
        **given,
        **{f"{pool}_NUM_THREADS": str(threads) for pool in POOLS},
        "XLA_FLAGS": eigen,
        "JAX_PLATFORMS": "cpu",
        "DIFFJIT_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(p for p in (str(ROOT), *path, given.get("PYTHONPATH", "")) if p),
    }


def settings() -> dict[str, str]:
    """What the caller's environment sets of diffjit and Numba, for workers as well."""
    ours = ("DIFFJIT_", "NUMBA_")
    return {name: value for name, value in os.environ.items() if name.startswith(ours) and name != "DIFFJIT_CACHE_DIR"}


def compile_packages(names: Sequence[str] = PACKAGES) -> list[str]:
    """Write byte code of diffjit and of the peers, as an installer does; those whose byte code cannot be written.

    Without it a process compiles what it imports, and its first call with it: of diffjit in an editable installation,
    where `PYTHONDONTWRITEBYTECODE` is set, all modules, each time.
    """
    missing: list[str] = []
    for name in names:
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            continue
        compileall.compile_dir(Path(found.origin).parent, quiet=2, rx=re.compile(r"[\\/]tests[\\/]"))
        if not Path(importlib.util.cache_from_source(found.origin)).exists():
            missing.append(name)
    return missing
