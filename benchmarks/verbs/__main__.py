"""`python -m benchmarks.verbs`: run the cases, print the table, write the records."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from benchmarks import session
from benchmarks.processes import Record, Say
from benchmarks.report import cell, new, notes, ratio
from benchmarks.verbs import CASES, load
from benchmarks.verbs.case import PEERS


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verbs", description=__doc__)
    add = parser.add_argument
    add("cases", nargs="*", metavar="CASE", help=f"some of {', '.join(CASES)}; all by default")
    add("--quick", action="store_true", help="small sizes: whether all peers run and agree, not how fast they are")
    add("--json", type=Path, metavar="FILE", help="write all records")
    add("--threads", type=int, default=1, metavar="N", help="cores, and threads of every library (default 1); 0: all")
    add("--limit", type=float, default=120.0, metavar="S", help="seconds for one peer on one case (default 120)")
    add("--by", choices=("median", "minimum"), default="median", help="of the samples")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    console = Console(width=150)
    results: Record = {}
    for results in run(
        options.cases or list(CASES),
        quick=options.quick,
        threads=options.threads,
        limit=options.limit,
        say=lambda text: console.print(text, style="dim"),
    ):
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    console.print(table(results, options.by))
    console.print(notes(results))


def run(
    names: list[str], *, quick: bool, threads: int, limit: float, say: Say, again: bool = False
) -> Iterator[Record]:
    """The records so far, after each case; `again`: of second processes as well."""
    results = session.heading(threads, quick=quick)
    for name in names:
        case = load(name)
        records: Record = {}
        results["rows"][name] = {"title": case.title, "size": dict(case.size(quick=quick)), "peers": records}
        with tempfile.TemporaryDirectory(prefix="diffjit-bench-") as folder:
            for peer in PEERS:
                say(f"{name}: {PEERS[peer]}")
                worker = session.of_row(
                    name, peer, Path(folder), results["cores"], limit, quick=quick, module="benchmarks.verbs.worker"
                )
                records[peer] = worker.both() if again else worker.run()
        yield results


def table(results: dict[str, Any], by: str) -> Any:
    """Warm and first calls."""
    made = new(f"{by} of warm calls, and first calls, compiling included")
    columns = "case", "diffjit", "JAX", "SciPy", "diffjit/JAX", "SciPy/diffjit", "first: diffjit", "first: JAX"
    for column in columns:
        made.add_column(column, justify="left" if column == "case" else "right", no_wrap=True)
    for name, row in results["rows"].items():
        peers = row["peers"]
        times = (cell(peers, p, by) for p in ("diffjit", "jax", "scipy"))
        ratios = ratio(peers, "diffjit", "jax", by), Text(ratio(peers, "scipy", "diffjit", by).plain)
        made.add_row(name, *times, *ratios, *(cell(peers, p, "first_call") for p in ("diffjit", "jax")))
    return made


if __name__ == "__main__":
    main()
