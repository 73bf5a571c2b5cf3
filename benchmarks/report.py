"""Tables of a run, as rich renders them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from benchmarks.peers import PEERS
from benchmarks.row import Row

Record = dict[str, Any]
DERIVATIVES = ("hand", "diffjit", "jax", "autograd")
COMPILED = ("diffjit", "jax")
#: what is said of first calls, and the fields of a record
FIRST_CALLS = {
    "fresh": "first_call",
    "second": "first_again",
    "processor\nfresh": "first_processor",
    "processor\nsecond": "first_again_processor",
}


def tables(results: Record, by: str) -> Iterator[RenderableType]:
    """All that there is to say about a run."""
    runs = {name: row for name, row in results["rows"].items() if row["kind"] == "run"}
    starts = {name: row for name, row in results["rows"].items() if row["kind"] == "start"}
    if runs:
        yield run_times(runs, by)
        yield costs(runs, by)
    if starts:
        yield start_times(starts)
    yield notes(results)


def run_times(rows: Record, by: str) -> Table:
    """Warm calls, and the ratios between them."""
    table = new(f"Value and gradient: {by} of warm calls")
    columns = "row", "primal", "by hand", "diffjit", "JAX", "autograd", "diffjit/primal", "diffjit/hand", "diffjit/JAX"
    for column in columns:
        table.add_column(column, justify="left" if column == "row" else "right", no_wrap=True)
    for name, row in rows.items():
        peers = row["peers"]
        ratios = (ratio(peers, "diffjit", other, by) for other in ("primal", "hand", "jax"))
        table.add_row(name, *(cell(peers, p, by) for p in ("primal", *DERIVATIVES)), *ratios)
    return table


def costs(rows: Record, by: str) -> Table:
    """What comes with it: first calls, memory, diffjit's own primal."""
    table = new(
        "First call (compiling included), memory of one warm call, peak memory of the process, diffjit's own primal"
    )
    table.add_column("row", no_wrap=True)
    for what in ("first", "memory", "peak"):
        for peer in ("by hand", "diffjit", "JAX"):
            table.add_column(f"{what}\n{peer}", justify="right", no_wrap=True)
    table.add_column("diffjit.jit\nprimal", justify="right", no_wrap=True)
    table.add_column("diffjit.jit\n/ primal", justify="right", no_wrap=True)
    for name, row in rows.items():
        peers = row["peers"]
        firsts = (cell(peers, p, "first_call") for p in ("hand", "diffjit", "jax"))
        memory = (cell(peers, p, "call_peak") for p in ("hand", "diffjit", "jax"))
        peaks = (cell(peers, p, "peak") for p in ("hand", "diffjit", "jax"))
        table.add_row(name, *firsts, *memory, *peaks, cell(peers, "jit", by), ratio(peers, "jit", "primal", by))
    return table


def start_times(rows: Record) -> Table:
    """From the start of a process to its first gradient."""
    table = new("A new process up to its first gradient, imports included; a second one; seconds of the processor")
    columns = ("by hand", "diffjit", "JAX", "autograd"), ("diffjit", "JAX"), ("diffjit", "JAX")
    table.add_column("row", no_wrap=True)
    for what, names in zip(("first", "second", "processor"), columns, strict=True):
        for name in names:
            table.add_column(f"{what}\n{name}", justify="right", no_wrap=True)
    for name, row in rows.items():
        peers = row["peers"]
        first = (cell(peers, p, "start") for p in DERIVATIVES)
        again = (cell(peers, p, "start_again") for p in COMPILED)
        table.add_row(name, *first, *again, *(cell(peers, p, "start_processor") for p in COMPILED))
    return table


def compile_times(rows: Record) -> Table:
    """First calls of fresh processes and of second ones, of peers that were measured."""
    table = new("First call, compiling included: of a fresh process, of a second one, and in seconds of the processor")
    names = {"hand": "by hand", "diffjit": "diffjit", "jax": "JAX"}
    there = {peer: name for peer, name in names.items() if any(peer in row["peers"] for row in rows.values())}
    columns = [(what, peer) for what in FIRST_CALLS for peer in there if peer in COMPILED or "second" not in what]
    table.add_column("row", no_wrap=True)
    for what, peer in columns:
        table.add_column(f"{what}\n{there[peer]}", justify="right", no_wrap=True)
    for name, row in rows.items():
        table.add_row(name, *(cell(row["peers"], peer, FIRST_CALLS[what]) for what, peer in columns))
    by_hand = "Code by hand is compiled anew by each process; autograd compiles nothing. "
    table.caption = by_hand if "hand" in there else ""
    table.caption += "JAX's second process finds its persistent cache, which is off unless asked for."
    return table


def memories(rows: Record) -> Table:
    """What a gradient needs, beside the adjoint by hand, and what it records."""
    table = new("Memory of one warm call, and what the way there records for the way back")
    table.add_column("row", no_wrap=True)
    for name in ("by hand", "diffjit", "JAX", "autograd"):
        table.add_column(f"call\n{name}", justify="right", no_wrap=True)
    for name in ("diffjit\n/ by hand", "recorded\ndiffjit", "recorded\nJAX"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in rows.items():
        peers = row["peers"]
        held = [peers.get(p, {}).get("call_peak") or 0 for p in ("diffjit", "hand")]
        ratio = figure(held[0] / held[1]) if min(held) >= 2**20 else ""
        calls = (cell(peers, p, "call_peak") for p in DERIVATIVES)
        table.add_row(name, *calls, ratio, *(cell(peers, p, "recorded") for p in COMPILED))
    table.caption = (
        "Recorded: by diffjit, as dj.memory foretells it; by JAX, what jax.vjp hands on, before XLA looks at it."
    )
    return table


def on_cores(one: Record, many: Record, by: str) -> Table:
    """The rows again, on more cores."""
    cores = many["threads"]
    table = new(f"{by} of warm calls on 1 and on {cores} cores")
    for column in ("row", *(f"{name}, {n}" for name in ("diffjit", "JAX") for n in (1, cores)), "diffjit", "JAX"):
        table.add_column(column, justify="left" if column == "row" else "right", no_wrap=True)
    for name in many["rows"]:
        pairs = [({p: r["rows"][name]["peers"].get(p) for p in COMPILED}) for r in (one, many)]
        cells = [cell(peers, p, by) for p in COMPILED for peers in pairs]
        faster = [ratio({p: pairs[0][p], "many": pairs[1][p]}, p, "many", by).plain for p in COMPILED]
        table.add_row(name, *cells, *faster)
    table.caption = "The last columns say how many times as fast the row is with all of them."
    return table


def new(title: str) -> Table:
    """A table in the style of a paper: rules above, below and under the head."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def cell(peers: Record, peer: str, field: str) -> Text:
    """One figure, or the word for why there is none."""
    record = peers.get(peer)
    if record is None:
        return Text("")
    status = record["status"]
    if status == "ok":
        value = record.get(field)
        if value is None:
            return Text("")
        form = memory if field in {"peak", "call_peak"} else size if field == "recorded" else seconds
        return Text(form(value))
    words = {
        "none": ("-", "dim"),
        "wrong": ("WRONG", "bold red"),
        "error": ("error", "red"),
        "late": ("late", "yellow"),
    }
    word, style = words[status]
    return Text(word, style=style)


def ratio(peers: Record, one: str, other: str, by: str) -> Text:
    """How many times as long."""
    records = peers.get(one), peers.get(other)
    if any(record is None or record["status"] != "ok" for record in records):
        return Text("")
    value = records[0][by] / records[1][by]
    return Text(figure(value), style="green" if value <= 1.2 else "red" if value > 3.0 else "")


def notes(results: Record) -> Group:
    """Where the figures come from, and why some are missing."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {machine[name]}" for name in ("diffjit", "numba", "numpy", "jax", "autograd"))
    where = f"{machine['processor']}, {machine['system']}, {results['threads']} thread(s)"
    where += f", {results.get('dtype', 'float64')}"
    lines = [f"{where}; Python {machine['python']}, {versions}"]
    for name, value in results.get("settings", {}).items():
        lines.append(f"set in the environment: {name}={escape(value)}")
    if missing := ", ".join(results.get("without_byte_code", ())):
        lines.append(f"[bold]The byte code of {missing} could not be written: first calls include compiling it.[/bold]")
    if results["quick"]:
        lines.append("[bold]Quick sizes: these times say nothing about full ones.[/bold]")
    lines += [f"[dim]{escape(line)}[/dim]" for line in reasons(results)]
    return Group(*lines)


def reasons(results: Record) -> list[str]:
    """Why figures are missing."""
    found: list[str] = []
    for name, row in results["rows"].items():
        for peer, record in row["peers"].items():
            if record["status"] != "ok":
                found.append(f"{name}, {peer}: {record['status']}: {' '.join(record.get('why', '').split())}")
            why = {what: record.get(f"why_not_{what}") for what in ("recorded", "again")}
            found += [f"{name}, {peer}, {what}: {reason}" for what, reason in why.items() if reason]
    return found


def overview(rows: list[Row], names: list[str]) -> Table:
    """The rows, their sizes, and what the peers cannot do."""
    table = new("Rows")
    for column in ("row", "program", "full size", "JAX", "autograd"):
        table.add_column(column)
    for name, row in zip(names, rows, strict=True):
        size = ", ".join(f"{key}={value:,}" for key, value in row.full.items())
        peers = (peer if isinstance(peer, str) else "yes" for peer in (row.in_jax, row.in_autograd))
        table.add_row(name, row.title, size, *peers)
    table.caption = "; ".join(f"{name}: {what}" for name, what in PEERS.items())
    return table


def seconds(value: float) -> str:
    """With three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= 0.9995 * size:
            return f"{figure(value / size)} {unit}"
    return f"{figure(value * 1e9)} ns"


def memory(value: float) -> str:
    """In binary units; what is less than the noise of a process is not told apart."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if value >= size:
            return f"{figure(value / size)} {unit}"
    return "< 1 MiB"


def size(value: float) -> str:
    """Of what is counted exactly."""
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= step:
            return f"{figure(value / step)} {unit}"
    return f"{value} B"


def figure(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
