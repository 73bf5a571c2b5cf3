"""Reports as rich's tables, for terminals and as text."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diffjit.api.reports.checks import Report
    from diffjit.api.reports.explain import Explanation
    from diffjit.api.reports.memory import Recorded, TapeSize


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
    size: float = n
    for unit in ("B", "kB", "MB"):
        if size < 10_000:
            return f"{size} {unit}" if isinstance(size, int) else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def total_text(size: TapeSize) -> str:
    """The total in words."""
    if size.bytes is not None:
        return f"{size_text(size.bytes)} recorded"
    return f"{size_text(size.known)} recorded, and more that is not known before the run"


def described(row: Recorded) -> str:
    """One record in words."""
    match row.kind:
        case "stack" if row.count and not row.why:
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
    title = f"Tape of {size.name}: {total_text(size)}"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("recorded", overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    for (_, line), rows in size.by_line().items():
        what = Text("\n".join(grouped(rows)))
        for row in rows:
            if row.why:
                each = f"; {row.each} bytes each" if row.each else ""
                what.append(f"\nnot known before the run: {row.why}{each}", style="yellow")
        unknown = any(row.bytes is None for row in rows)
        table.add_row(str(line or ""), what, "?" if unknown else f"{sum(row.bytes or 0 for row in rows):,}")
    return table


def checks_table(report: Report) -> Iterator[Any]:
    """Derivatives side by side, then what there is to say of them."""
    title = f"Derivatives of {report.name}: " + ("all agree" if report.ok else "they DISAGREE")
    style = "bold" if report.ok else "bold red"
    table = Table(title=title, title_justify="left", title_style=style, box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("order", justify="right")
    table.add_column("mode", overflow="fold")
    table.add_column("by", overflow="fold")
    stepped = any(row.complex is not None for row in report.rows)
    for head in ("diffjit", *(("complex step",) if stepped else ()), "quotient", "error"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    for row in report.rows:
        numbers = [f"{row.ad:.7g}"]
        if stepped:
            numbers.append("" if row.complex is None else f"{row.complex:.7g}")
        numbers += [f"{row.quotient:.7g}", f"{row.error:.1e}"]
        verdict = Text("ok") if row.ok else Text("kink" if row.kink else "WRONG", style="bold red")
        table.add_row(str(row.order), row.mode, row.worst or row.argument, *numbers, verdict)
    yield table
    notes = [f"{row.mode}, {row.argument}: {row.note}" for row in report.rows if row.note]
    for note in dict.fromkeys([*notes, *report.notes]):
        yield Text(note)


def explained(e: Explanation, width: int) -> Iterator[Any]:
    """The program line by line; the way back beside it where there is room, else below each line."""
    yield Text(f"{e.name}: {total_text(e.tape)}", style="bold")
    wide = width >= _WIDE
    for part in e.parts:
        title = f"{part.name}, {Path(part.file).name}"
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, expand=wide, pad_edge=False)
        table.add_column("", justify="right", style="dim", no_wrap=True)
        table.add_column("program" if wide else "program, and its way back", overflow="fold", ratio=5)
        if wide:
            table.add_column("way back", overflow="fold", ratio=5)
        table.add_column("recorded", overflow="fold", ratio=3)
        table.add_column("bytes", justify="right", no_wrap=True)
        shift = min((_indent(n.text) for n in part.lines if n.text.strip()), default=0)
        for n in part.lines:
            code = Text(n.text[shift:])
            back = Text("\n".join(n.back), style="cyan")
            if not wide and n.back:
                pad = " " * (_indent(n.text) - shift)
                code.append("\n" + "\n".join(f"{pad}< {b}" for b in n.back), style="cyan")
            recorded = Text("\n".join(grouped(n.recorded)))
            size = "" if not n.recorded else "?" if n.bytes is None else f"{n.bytes:,}"
            table.add_row(str(n.number), code, *((back,) if wide else ()), recorded, size)
        yield table
    for row in e.tape.unknown:
        yield Text(f"line {row.line}, {row.name}: not known before the run: {row.why}", style="yellow")
    for line in () if e.device is None else e.device.lines():
        yield Text(line)


def grouped(rows: list[Recorded]) -> list[str]:
    """Records in words; those of one form together."""
    alike: dict[tuple[str, str, int, bool], list[Recorded]] = {}
    for row in rows:
        alike.setdefault((row.kind, row.form, row.count, row.bytes is None), []).append(row)
    found: list[str] = []
    for same in alike.values():
        if len(same) == 1:
            found.append(described(same[0]))
            continue
        names = list(dict.fromkeys(r.name for r in same))
        listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        found.append(f"{listed}: {len(same)} x {described(same[0]).partition(': ')[2]}")
    return found


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


_WIDE = 110  # columns from which the way back has room beside the program
