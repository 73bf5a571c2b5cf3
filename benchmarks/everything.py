"""One page of all that is measured: `python -m benchmarks --report [FOLDER]`.

Each part is measured by the program that is there for it; records go to `report.json` after each row, tables and
figures to `index.html`. What was left out, and what failed, stands there with its reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from benchmarks import gradbench, npbench, report, rows, session, verbs
from benchmarks.gradbench import __main__ as gradbench_runs
from benchmarks.page import Section, page
from benchmarks.processes import Record, Say
from benchmarks.verbs import __main__ as verbs_runs

PARTS = ("rows", "threads", "verbs", "gradbench", "npbench")
QUICK_KERNELS = ("gemm", "jacobi_1d", "softmax")
QUICK_BUDGET = 0.1  # seconds for the samples of one peer
LENGTHS = {100: "lines_100", 300: "lines_300", 1000: "lines_1000"}


@dataclass(frozen=True)
class Wanted:
    """What is measured, and how."""

    parts: tuple[str, ...]
    names: list[str]  # of rows; all where it is empty
    peers: list[str]  # of rows
    quick: bool
    threads: int
    limit: float
    npbench: Path | None
    by: str  # "median" or "minimum" of the samples
    say: Say


def write(folder: Path, wanted: Wanted) -> None:
    """Measure, and make the page."""
    folder.mkdir(parents=True, exist_ok=True)
    records: Record = {}
    try:
        for records in measured(wanted):
            (folder / "report.json").write_text(json.dumps(records, indent=1) + "\n")
    finally:  # what was measured before an interruption is shown as well
        draw(folder, records, wanted.by)


def draw(folder: Path, records: Record, by: str = "median") -> None:
    """The page of records, and its figures."""
    (folder / "index.html").write_text(page("diffjit: where time goes", list(sections(folder, records, by))))


# Measuring ------------------------------------------------------------------------------------------------------------


def measured(wanted: Wanted) -> Iterator[Record]:
    """The records so far: of each part, or why there are none."""
    records: Record = {}
    for name in PARTS:
        if why := missing(name, wanted):
            records[name] = {"missing": why}
            yield records
            continue
        for part in MEASURE[name](wanted):
            records[name] = part
            yield records


def missing(name: str, wanted: Wanted) -> str:
    """Why a part is not measured, or nothing."""
    if name not in wanted.parts:
        return "left out"
    if name == "npbench" and wanted.npbench is None:
        return "--npbench CHECKOUT was not given"
    if name == "threads" and len(session.choose_cores(wanted.threads)) == 1:
        return "measured on one core; --threads N adds N cores, --threads 0 all"
    return ""


def _rows(wanted: Wanted) -> Iterator[Record]:
    yield from session.run(
        wanted.names or rows.NAMES, quick=wanted.quick, threads=1, limit=wanted.limit, dtype="float64",
        peers=wanted.peers, say=wanted.say, again=True,
    )  # fmt: skip


def _threads(wanted: Wanted) -> Iterator[Record]:
    """Those that are called often, and peers that use more than one core."""
    names = [name for name in wanted.names or rows.NAMES if rows.load(name).kind == "run"]
    cores = len(session.choose_cores(wanted.threads))
    yield from session.run(
        names, quick=wanted.quick, threads=cores, limit=wanted.limit, dtype="float64",
        peers=[peer for peer in ("hand", *report.COMPILED) if peer in wanted.peers],
        say=lambda text: wanted.say(f"{cores} cores: {text}"),
    )  # fmt: skip


def _verbs(wanted: Wanted) -> Iterator[Record]:
    yield from verbs_runs.run(
        list(verbs.CASES), quick=wanted.quick, threads=1, limit=wanted.limit, say=wanted.say, again=True
    )


def _gradbench(wanted: Wanted) -> Iterator[Record]:
    yield from gradbench_runs.run(
        list(gradbench.NAMES), small=wanted.quick, threads=1, limit=wanted.limit, say=wanted.say, again=True,
        budget=budget(wanted),
    )  # fmt: skip


def _npbench(wanted: Wanted) -> Iterator[Record]:
    assert wanted.npbench is not None
    checkout = wanted.npbench.resolve()
    names = list(QUICK_KERNELS) if wanted.quick else npbench.kernels(checkout)
    yield from npbench.run(
        checkout, names, preset="S", threads=1, limit=wanted.limit, peers=list(npbench.PEERS), say=wanted.say,
        again=True, budget=budget(wanted),
    )  # fmt: skip


def budget(wanted: Wanted) -> float:
    """Seconds for the samples of one peer."""
    return QUICK_BUDGET if wanted.quick else npbench.BUDGET


MEASURE: dict[str, Callable[[Wanted], Iterator[Record]]] = {
    "rows": _rows, "threads": _threads, "verbs": _verbs, "gradbench": _gradbench, "npbench": _npbench,
}  # fmt: skip


# Showing --------------------------------------------------------------------------------------------------------------


def sections(folder: Path, records: Record, by: str) -> Iterator[Section]:
    """All parts of the page."""
    there = {name: part for name, part in records.items() if "missing" not in part}
    if there:
        yield about(next(iter(there.values())))
    if "rows" in there:
        yield from of_rows(folder, there["rows"], by)
    if "threads" in there and "rows" in there:
        table = report.on_cores(there["rows"], there["threads"], by)
        yield Section("On more cores", "", [table], report.reasons(there["threads"]))
    for name, (title, text, tables) in OTHERS.items():
        if name in there:
            yield other(folder, name, there[name], title, text, tables(there[name], by))
    left = [f"{name}: {part['missing']}" for name, part in records.items() if "missing" in part]
    if left:
        yield Section("What is not here", notes=left)


def about(results: Record) -> Section:
    """The machine, the versions, and what else the figures hang on."""
    table = report.new("")
    table.add_column("machine")
    table.add_column("")
    for name, value in results["machine"].items():
        table.add_row(name, value)
    table.add_row("cores used", "1, the same for all, unless the table says so")
    for name, value in results["settings"].items():
        table.add_row(name, value)
    text = (
        "Each peer ran in processes of its own, one after another. Times are of warm calls after its result had been "
    )
    text += "compared with that of another way to compute it; the notes below each table say why a figure is missing."
    if results["quick"]:
        text = f"Quick sizes: these times say nothing about full ones. {text}"
    missing = [f"The byte code of {name} could not be written: first calls include compiling it." for name in
               results["without_byte_code"]]  # fmt: skip
    return Section("Machine and versions", text, [table], missing)


def of_rows(folder: Path, results: Record, by: str) -> Iterator[Section]:
    """The rows of this folder."""
    from benchmarks import plot

    runs = {name: row for name, row in results["rows"].items() if row["kind"] == "run"}
    starts = {name: row for name, row in results["rows"].items() if row["kind"] == "start"}
    notes = report.reasons(results)
    if runs:
        parts = [*plot.draw(results, folder / "rows.png", by), report.run_times(runs, by)]
        yield Section("Value and gradient", "The adjoint written by hand is the yardstick.", parts, notes)
        yield compiling(folder, runs)
        held = {row["title"]: field_of(row, "call_peak", 2**20) for row in runs.values()}
        figure = plot.dots(folder / "memory.png", held, "memory of one warm call, MiB")
        text = (
            "How far one warm call raises the memory of its process; for JAX, what XLA plans. What is less than 1 MiB "
        )
        text += "is not in the figure."
        yield Section("Memory", text, [*figure, report.memories(runs)])
    if starts:
        text = "From the start of a process to its first gradient."
        yield Section("A start", text, [*lengths(folder, starts), report.start_times(starts)], [] if runs else notes)


def compiling(folder: Path, runs: Record) -> Section:
    """First calls, of fresh processes and of second ones."""
    from benchmarks import plot

    fields = "first_call", "first_again"
    fresh, again = ({row["title"]: field_of(row, field) for row in runs.values()} for field in fields)
    for points in fresh.values():
        points.pop("autograd", None)  # it compiles nothing
    figure = plot.dots(folder / "compiling.png", fresh, "first call, seconds", second=again)
    return Section("First calls", "Compiling included, imports not.", [*figure, report.compile_times(runs)])


def lengths(folder: Path, starts: Record) -> list[Path]:
    """How compiling grows with the length of a program, where that was measured."""
    from benchmarks import plot

    everywhere = [peer for row in starts.values() for peer in row["peers"].values() if peer["status"] == "ok"]
    field = "first_processor" if all("first_processor" in peer for peer in everywhere) else "first_call"
    points = {
        peer: {n: starts[name]["peers"][peer][field] for n, name in LENGTHS.items() if fine(starts, name, peer)}
        for peer in ("hand", *report.COMPILED)
    }
    if not any(len(found) > 1 for found in points.values()):
        return []
    label = "first call, seconds" + (" of the processor" if field == "first_processor" else "")
    return plot.lines(folder / "lengths.png", points, label)


def fine(rows: Record, name: str, peer: str) -> bool:
    """Whether there is a record, and a good one."""
    return name in rows and rows[name]["peers"].get(peer, {}).get("status") == "ok"


def field_of(row: Record, field: str, unit: float = 1.0) -> dict[str, float]:
    """A field of each peer that has it, and as much as one unit of memory."""
    found = {peer: record.get(field) or 0.0 for peer, record in row["peers"].items() if record["status"] == "ok"}
    return {peer: value / unit for peer, value in found.items() if value > (unit if unit > 1 else 0.0)}


def other(folder: Path, name: str, results: Record, title: str, text: str, tables: list[Table]) -> Section:
    """A part that is compared with JAX: a figure, and its tables."""
    from benchmarks import plot

    ratios = {row: plot.times(one, "minimum", "jax") for row, one in results["rows"].items()}
    figure = plot.dots(folder / f"{name}.png", ratios, "time relative to JAX", at=1.0)
    return Section(title, text, [*figure, *tables, report.compile_times(results["rows"])], report.reasons(results))


OTHERS: dict[str, tuple[str, str, Callable[[Record, str], list[Table]]]] = {
    "verbs": (
        "Verbs", "Hessians, Jacobians, lanes, series and differential equations.",
        lambda results, by: [verbs_runs.table(results, by)],
    ),
    "gradbench": (
        "GradBench", "Published times were measured on another machine, on another occasion.",
        lambda results, _: [gradbench_runs.table(results)],
    ),
    "npbench": (
        "NPBench", "The gradient of the sum of what a kernel returns or changes.",
        lambda results, _: [npbench.shown(results)],
    ),
}  # fmt: skip
