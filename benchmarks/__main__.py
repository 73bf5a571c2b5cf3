"""`python -m benchmarks`: run the rows, print the tables, write the records and the figure."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import everything, report, rows, session
from benchmarks.peers import DTYPES, PEERS


def main() -> None:
    """The command line."""
    options = parse()
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    if options.list:
        console.print(report.overview([rows.load(name) for name in rows.NAMES], rows.NAMES))
        return
    if options.report:
        write_report(options, console)
        return
    if options.read:
        results = json.loads(options.read.read_text())
        results["rows"] = {name: results["rows"][name] for name in options.rows or results["rows"]}
    else:
        results = measured(options, console)
    for part in report.tables(results, options.by):
        console.print(part)
    if options.plot:
        from benchmarks.plot import draw

        draw(results, options.plot, options.by)


def measured(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """The records of a run, on disk after each row."""
    results: dict[str, Any] = {}
    with console.status("") as status:
        for results in session.run(
            options.rows or rows.NAMES,
            quick=options.quick,
            threads=options.threads,
            limit=options.limit,
            dtype=options.dtype,
            peers=chosen(options),
            say=status.update if console.is_terminal else console.print,
        ):
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
    return results


def chosen(options: argparse.Namespace) -> list[str]:
    """The peers that run: the others are compared with the code by hand."""
    return [peer for peer in PEERS if peer == "hand" or peer in options.peers]


def write_report(options: argparse.Namespace, console: Console) -> None:
    """The page of everything."""
    with console.status("") as status:
        everything.write(
            options.report,
            everything.Wanted(
                parts=tuple(options.parts),
                names=options.rows,
                peers=chosen(options),
                quick=options.quick,
                threads=options.threads,
                limit=options.limit,
                npbench=options.npbench,
                by=options.by,
                say=status.update if console.is_terminal else console.print,
            ),
        )
    console.print(options.report / "index.html")


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("rows", nargs="*", metavar="ROW", help="rows to run; all by default")
    add("--list", action="store_true", help="list the rows and stop")
    add("--quick", action="store_true", help="small sizes: whether all peers run and agree, not how fast they are")
    add("--json", type=Path, metavar="FILE", help="write all records")
    add("--plot", type=Path, metavar="FILE", help="draw the run times (.pdf, .svg, .png)")
    add("--report", type=Path, nargs="?", const=Path("report"), metavar="FOLDER", help="one page of all benchmarks")
    add("--npbench", type=Path, metavar="CHECKOUT", help="of NPBench, for the page")
    add(
        "--parts",
        nargs="+",
        choices=everything.PARTS,
        default=everything.PARTS,
        metavar="PART",
        help=f"of the page: {', '.join(everything.PARTS)}",
    )
    add("--read", type=Path, metavar="FILE", help="read the records of an earlier run instead of running")
    add("--threads", type=int, default=1, metavar="N", help="cores, and threads of every library (default 1); 0: all")
    add("--limit", type=float, default=120.0, metavar="S", help="seconds for one peer on one row (default 120)")
    add(
        "--dtype",
        choices=DTYPES,
        default="float64",
        help="of arrays of floats, but not by hand (default float64)",
    )
    add("--by", choices=("median", "minimum"), default="median", help="of the samples, in tables and figure")
    add("--peers", nargs="+", choices=PEERS, default=list(PEERS), metavar="PEER", help=f"some of {', '.join(PEERS)}")
    options = parser.parse_args()
    unknown = [name for name in options.rows if name not in rows.NAMES]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; `--list` lists them")
    return options


if __name__ == "__main__":
    main()
