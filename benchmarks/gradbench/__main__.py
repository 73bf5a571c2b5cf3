"""GradBench's problems: `python -m benchmarks.gradbench [PROBLEM ...]`.

Each peer runs each size in a process of its own, pinned to one core, after its result has been compared with a
reference. The column `published` is what the best of GradBench's own tools needs, measured on another occasion, with
another load of such a machine: its order of magnitude counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.gradbench import NAMES
from benchmarks.gradbench.problem import Problem, differences
from benchmarks.measure import BUDGET, first_call, repeated
from benchmarks.peers import flat
from benchmarks.processes import Record, Say, Worker, first_call_only
from benchmarks.report import cell, new, notes, seconds
from benchmarks.session import heading
from benchmarks.worker import answer

PEERS = {"primal": "diffjit.jit, no derivative", "diffjit": "diffjit", "jax": "JAX, jit"}
NEAR = 1e-4  # descents end near, not at, what they look for


def problem(name: str) -> Problem:
    """By its name."""
    return importlib.import_module(f"benchmarks.gradbench.{name}").PROBLEM


def work(name: str, size: str, peer: str, budget: float) -> Record:
    """The record of one peer."""
    one = problem(name)
    arguments = one.given(size)
    if peer == "jax":
        if isinstance(one.in_jax, str):
            return {"status": "none", "why": one.in_jax}
        function, arguments = _by_jax(one.in_jax, arguments)
    elif peer == "primal":
        import diffjit as dj

        function = dj.jit(one.primal)
        if name in ("particle", "saddle"):  # what is evaluated has no derivative of its own
            return {"status": "none", "why": "all of it is derivatives"}
    else:
        function = one.derivative()
    result, record = first_call(function, arguments)
    if first_call_only():
        return {"status": "ok", **record}
    if peer != "primal":
        record["gap"] = gap(one, size, result)
        if not record["gap"] <= NEAR:
            return record | {"status": "wrong", "why": f"differs by {record['gap']:.1e}, relative"}
    return record | {"status": "ok"} | repeated(lambda: function(*arguments), (), budget=budget)


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


def run(
    names: list[str], *, small: bool, threads: int, limit: float, say: Say, again: bool = False, budget: float = BUDGET
) -> Iterator[Record]:
    """The records so far, after each size of each problem; `small`: the smallest ones alone."""
    results = heading(threads, quick=small and budget < BUDGET)
    for name in names:
        one = problem(name)
        for size in list(one.sizes)[:1] if small else one.sizes:
            records: Record = {}
            label, published = one.published.get(size, ("", None))
            results["rows"][f"{name} {size}"] = {
                "title": one.title, "problem": name, "size": size, "tool": label, "published": published,
                "peers": records,
            }  # fmt: skip
            with tempfile.TemporaryDirectory(prefix="diffjit-gradbench-") as folder:
                for peer, words in PEERS.items():
                    say(f"{name} {size}: {words}")
                    command = ["-m", "benchmarks.gradbench", name, "--size", size, "--peer", peer]
                    command += ["--budget", str(budget)]
                    worker = Worker(command, peer, Path(folder) / peer, results["cores"], limit)
                    records[peer] = worker.both() if again and peer != "primal" else worker.run()
            yield results


def table(results: Record) -> Any:
    """What was measured, and what is published."""
    made = new("GradBench: minimum of warm calls, and first calls, compiling included")
    for column in ("problem", "size", "primal", "derivative", "ratio", "JAX", "published", "first call", "JAX's"):
        made.add_column(column, justify="left" if column in ("problem", "size") else "right", no_wrap=True)
    for row in results["rows"].values():
        peers = row["peers"]
        primal, ours = (peers[p].get("minimum") for p in ("primal", "diffjit"))
        ratio = f"{ours / primal:.1f}" if primal and ours else ""
        best = f"{seconds(row['published'] / 1e3)} {row['tool']}" if row["published"] else ""
        times = [cell(peers, p, "minimum") for p in PEERS]
        firsts = [cell(peers, p, "first_call") for p in ("diffjit", "jax")]
        made.add_row(row["problem"], row["size"], *times[:2], ratio, times[2], best, *firsts)
    return made


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradbench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("problems", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--sizes", choices=("small", "all"), default="all", help="the smallest one of each, or all")
    parser.add_argument(
        "--threads", type=int, default=1, help="cores, and threads of every library (default 1); 0: all"
    )
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one peer on one size")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--size", help=argparse.SUPPRESS)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=BUDGET, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        answer(lambda: work(options.problems[0], options.size, options.peer, options.budget))
    console = Console(width=140)
    results: Record = {}
    for results in run(
        options.problems or list(NAMES),
        small=options.sizes == "small",
        threads=options.threads,
        limit=options.limit,
        say=lambda text: console.print(text, style="dim"),
    ):
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    console.print(table(results))
    console.print(notes(results))


if __name__ == "__main__":
    main()
