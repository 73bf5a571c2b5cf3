"""Reports as rich's tables, for terminals and as text."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diffjit.api.checks import Report
    from diffjit.api.memory import Recorded, TapeSize


def as_text(report: Any, width: int | None = None) -> str:
    """What a report looks like, without colours; as wide as the terminal unless told."""
    out = io.StringIO()
    width = width or shutil.get_terminal_size((100, 24)).columns
    Console(file=out, width=width, color_system=None, legacy_windows=False).print(report)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def size_text(n: int | None) -> str:
    """A number of bytes, to be read."""
    if n is None:
        return "?"
    for unit in ("B", "kB", "MB"):
        if n < 10_000:
            return f"{n} {unit}" if isinstance(n, int) else f"{n:.1f} {unit}"
        n = n / 1000  # type: ignore[assignment]
    return f"{n:.1f} GB"


def total_text(size: TapeSize) -> str:
    """The total in words."""
    if size.bytes is not None:
        return f"{size_text(size.bytes)} recorded"
    return f"{size_text(size.known)} recorded, and more that is not known before the run"


def described(row: Recorded) -> str:
    """One record in words."""
    match row.kind:
        case "stack" if row.count:
            what = f"{row.count} {row.form} on a stack"
        case "stack":
            what = f"{row.form} on a stack" if row.form else "a stack"
        case "tape":
            what = f"tape {row.form}"
        case "copy":
            what = f"copy {row.form}"
        case _:
            what = f"array {row.form}"
    if row.kind != "stack" and row.count > 1:
        what += f", {row.count} times"
    return f"{row.name}: {what}"


def tape_table(size: TapeSize) -> Table:
    """Lines, records, bytes."""
    table = Table(title=f"Tape of {size.name}: {total_text(size)}", title_justify="left", title_style="bold")
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("recorded", overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    for row in size.rows:
        what = Text(described(row))
        if row.why:
            each = f"; {row.each} bytes each" if row.each else ""
            what.append(f"\nnot known before the run: {row.why}{each}", style="yellow")
        table.add_row(str(row.line or ""), what, "?" if row.bytes is None else f"{row.bytes:,}")
    return table


def checks_table(report: Report) -> Iterator[Any]:
    """Derivatives side by side, then what there is to say of them."""
    title = f"Derivatives of {report.name}: " + ("all agree" if report.ok else "they DISAGREE")
    table = Table(title=title, title_justify="left", title_style="bold" if report.ok else "bold red")
    table.add_column("order", justify="right")
    table.add_column("mode", no_wrap=True)
    table.add_column("by", overflow="fold")
    stepped = any(row.complex is not None for row in report.rows)
    for head in ("diffjit", *(("complex step",) if stepped else ()), "quotient", "error"):
        table.add_column(head, justify="right", overflow="fold")
    table.add_column("")
    for row in report.rows:
        numbers = [f"{row.ad:.8g}"]
        if stepped:
            numbers.append("" if row.complex is None else f"{row.complex:.8g}")
        numbers += [f"{row.quotient:.8g}", f"{row.error:.1e}"]
        verdict = Text("ok") if row.ok else Text("kink" if row.kink else "WRONG", style="bold red")
        table.add_row(str(row.order), row.mode, row.worst or row.argument, *numbers, verdict)
    yield table
    notes = [f"{row.mode}, {row.argument}: {row.note}" for row in report.rows if row.note]
    for note in dict.fromkeys([*notes, *report.notes]):
        yield Text(note)
