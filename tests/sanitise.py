"""Corpus programs where stray memory accesses show: `python -m tests.sanitise [--all] [--threads] [NAME ...]`.

Programs run in a child process, batch by batch. Freed and fresh memory is poisoned (`MALLOC_PERTURB_`,
`PYTHONMALLOC=debug`, glibc's checks of its heap), and each array argument lies flush between two pages that nobody may
touch, once at the end of its pages and once at their beginning: what reads or writes outside ends the child, and is
reported with the program that was running. With `--threads`, two threads run everything at once, in opposite orders.
"""

# ruff: noqa: T201 - a command line prints
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import traceback
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
CHECKING = Path("/lib/x86_64-linux-gnu/libc_malloc_debug.so.0")  # glibc's tests of the heap, where it is installed
ENVIRONMENT = {"MALLOC_PERTURB_": "165", "PYTHONMALLOC": "debug", "MALLOC_CHECK_": "3"}
RUN = ("value", "jvp", "vjp", "grad")


def environment() -> dict[str, str]:
    """The child's: poisoned memory, and a heap that is tested at each call if glibc can."""
    preload = {"LD_PRELOAD": str(CHECKING)} if CHECKING.exists() else {}
    return {**os.environ, **ENVIRONMENT, **preload}


def guarded_case(name: str, *, behind: bool):
    """The corpus case with its array arguments between forbidden pages."""
    from tests.fuzz.guarded import guarded
    from tests.modes import Case, leaves, like

    class Guarded(Case):
        def args(self):
            plain = super().args()
            return [
                like(value, [guarded(x, behind=behind) if _plain_array(x) else x for x in leaves(value)])
                for value in plain
            ]

    return Guarded(name)


def _plain_array(value: object) -> bool:
    return type(value) is np.ndarray and value.flags.writeable and value.dtype.kind in "fiubc"


def run_one(name: str, backend: str, *, behind: bool) -> None:
    """All first-order modes of one program."""
    from tests.modes import MODES

    case = guarded_case(name, behind=behind)
    for mode in RUN:
        if case.supports(mode):
            MODES[mode](case, backend)


def child(names: list[str], backend: str, *, threads: bool) -> None:
    """Run programs, saying before each what it is (the last one said is the one that died)."""
    warnings.simplefilter("ignore")
    failed = threading.Event()

    def go(order: list[str], behind: bool) -> None:
        for name in order:
            print(f"begin {name}", flush=True)
            try:
                run_one(name, backend, behind=behind)
            except Exception:  # noqa: BLE001 - reported by the parent
                print(f"failed {name}\n{traceback.format_exc()}", flush=True)
                failed.set()

    if threads:
        workers = [
            threading.Thread(target=go, args=(order, behind)) for order, behind in ((names, True), (names[::-1], False))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    else:
        go(names, behind=True)
        go(names, behind=False)
    print("failures" if failed.is_set() else "done", flush=True)


def sanitised(names: list[str], *, backend: str = "numba", threads: bool = False, seconds: float = 1800) -> str:
    """What is wrong with these programs, run in one child: empty when nothing is."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.sanitise", "--child", "--backend", backend, *names]
    command += ["--threads"] if threads else []
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {seconds} s: {names}"
    if done.returncode == 0 and done.stdout.rstrip().endswith("done"):
        return ""
    begun = [line for line in done.stdout.splitlines() if line.startswith("begin ")]
    said = f"{done.stdout[-6000:]}\n{done.stderr[-4000:]}"
    return f"exit {done.returncode} after {begun[-1] if begun else 'nothing'}\n{said}"


def main() -> int:
    """Run the command line."""
    from tests.modes import PROGRAMS
    from tests.test_corpus import COMPILED, NOT_YET

    parser = argparse.ArgumentParser(prog="python -m tests.sanitise", description=__doc__)
    parser.add_argument("names", nargs="*", help="corpus programs; a sample by default")
    parser.add_argument("--all", action="store_true", help="the whole corpus")
    parser.add_argument("--threads", action="store_true", help="two threads at once")
    parser.add_argument("--backend", choices=("numba", "python"), default="numba")
    parser.add_argument("--batch", type=int, default=20, help="programs of one child")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    refused = {key.rpartition("-")[0] or key for key in NOT_YET}
    names = options.names or [name for name in (sorted(PROGRAMS) if options.all else COMPILED) if name not in refused]
    if options.child:
        child(names, options.backend, threads=options.threads)
        return 0
    wrong = 0
    for start in range(0, len(names), options.batch):
        batch = names[start : start + options.batch]
        said = sanitised(batch, backend=options.backend, threads=options.threads)
        wrong += bool(said)
        print(said or f"{len(batch)} programs right: {batch[0]} ... {batch[-1]}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main())
