"""GradBench's problems: `python -m benchmarks.gradbench [PROBLEM ...]`.

Each peer runs each size in a process of its own, pinned to one core, after its result has been compared with a
reference. The column `published` is what the best of GradBench's own tools needs, measured on another occasion, with
another load of such a machine: its order of magnitude counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.gradbench import NAMES
from benchmarks.gradbench.problem import Problem, differences
from benchmarks.peers import flat
from benchmarks.report import new
from benchmarks.session import choose_cores, pin

PEERS = ("primal", "diffjit", "jax")
ROOT = Path(__file__).parents[2]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
NEAR = 1e-4  # descents end near, not at, what they look for


def problem(name: str) -> Problem:
    """By its name."""
    return importlib.import_module(f"benchmarks.gradbench.{name}").PROBLEM


def work(name: str, size: str, peer: str) -> dict[str, Any]:
    """The record of one peer."""
    from benchmarks.measure import BUDGET, repeated

    one = problem(name)
    arguments = one.given(size)
    if peer == "jax":
        if isinstance(one.in_jax, str):
            return {"status": "-", "why": one.in_jax}
        function, arguments = _by_jax(one.in_jax, arguments)
    elif peer == "primal":
        import diffjit as dj

        function = dj.jit(one.primal)
        if name in ("particle", "saddle"):  # what is evaluated has no derivative of its own
            return {"status": "-"}
    else:
        function = one.derivative()
    start = time.perf_counter()
    result = function(*arguments)
    record: dict[str, Any] = {"first": time.perf_counter() - start}
    if peer != "primal":
        record["gap"] = gap(one, size, result)
        if not record["gap"] <= NEAR:
            return record | {"status": "WRONG"}
    return record | {"status": "ok"} | repeated(lambda: function(*arguments), (), budget=BUDGET)


def gap(one: Problem, size: str, found: Any) -> float:
    """How far a result is from the reference; where that has nothing to say, from differences at the smallest size."""
    arguments = one.given(size)
    wanted = one.reference(*arguments)
    if wanted is None:
        smallest = one.given(next(iter(one.sizes)))
        found = one.derivative()(*smallest)
        wanted = differences(lambda x, *rest: np.ravel(one.primal(x, *rest))[-1], *smallest)
    if hasattr(wanted, "toarray"):
        return float(abs(found - wanted).max() / abs(wanted).max())
    return float(np.max([_apart(a, b) for a, b in zip(flat(found), flat(wanted), strict=True)]))


def _apart(found: np.ndarray, wanted: np.ndarray) -> float:
    if found.shape != wanted.shape:
        return float("inf")
    return float(np.max(np.abs(found - wanted)) / (np.max(np.abs(wanted)) or 1.0))


def _by_jax(make: Any, arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    function = make()
    placed = tuple(jax.device_put(a) if isinstance(a, np.ndarray) else a for a in arguments)
    return (lambda *args: jax.block_until_ready(function(*args))), placed


def measure(name: str, size: str, limit: float) -> dict[str, Any]:
    """All peers on one size, one after another."""
    found: dict[str, Any] = {}
    for peer in PEERS:
        with tempfile.TemporaryDirectory(prefix="diffjit-gradbench-") as folder:
            environment = os.environ | {"XDG_CACHE_HOME": folder, "PYTHONPATH": str(ROOT)}
            environment |= dict.fromkeys(THREADS, "1")
            environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
            command = [sys.executable, "-m", "benchmarks.gradbench", name, "--size", size, "--peer", peer]
            try:
                done = subprocess.run(  # noqa: S603 - our own module
                    command,
                    env=environment,
                    preexec_fn=lambda: pin(choose_cores(1)),
                    capture_output=True,
                    text=True,
                    timeout=limit,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                found[peer] = {"status": "late"}
                continue
        lines = done.stdout.strip().splitlines()
        found[peer] = json.loads(lines[-1]) if lines else {"status": "error", "why": done.stderr[-400:]}
    return found


def shown(results: dict[tuple[str, str], dict[str, Any]]) -> Any:
    """The table."""
    table = new("GradBench: milliseconds on one core")
    for column in ("problem", "size", "primal", "derivative", "ratio", "JAX", "published", "first call", "JAX's"):
        table.add_column(column, justify="left" if column in ("problem", "size") else "right", no_wrap=True)
    for (name, size), peers in results.items():
        primal, ours, jax = (peers.get(p, {}) for p in PEERS)
        known = problem(name).published.get(size)
        firsts = [f"{p['first']:.2f} s" if "first" in p else "" for p in (ours, jax)]
        both = "minimum" in primal and "minimum" in ours
        ratio = f"{ours['minimum'] / primal['minimum']:.1f}" if both else ""
        best = f"{known[1]:g} {known[0]}" if known else ""
        table.add_row(name, size, _ms(primal), _ms(ours), ratio, _ms(jax), best, *firsts)
    return table


def _ms(record: dict[str, Any]) -> str:
    return f"{1e3 * record['minimum']:.3g}" if "minimum" in record else record.get("status", "")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradbench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("problems", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--sizes", choices=("small", "all"), default="all", help="the smallest one of each, or all")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one peer on one size")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--size", help=argparse.SUPPRESS)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        try:
            record = work(options.problems[0], options.size, options.peer)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
            traceback.print_exc()
            record = {"status": "error", "why": f"{type(error).__name__}: {error}"[:600]}
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()
        os._exit(0)
    results: dict[tuple[str, str], dict[str, Any]] = {}
    console = Console(width=140)
    for name in options.problems or NAMES:
        sizes = list(problem(name).sizes)
        for size in sizes[:1] if options.sizes == "small" else sizes:
            results[name, size] = found = measure(name, size, options.limit)
            console.print(name, size, {p: _ms(r) for p, r in found.items()}, highlight=False)
            for peer, record in found.items():
                if record.get("status") == "error":
                    console.print(f"  {peer}: {record['why'][:300]}", style="red", markup=False)
            if options.json:
                options.json.write_text(json.dumps({f"{n} {s}": r for (n, s), r in results.items()}, indent=1))
    console.print(shown(results))


if __name__ == "__main__":
    main()
