"""A program beside its derivative as a page of HTML that needs no other file."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from diffjit.api.reports.display import grouped, size_text, total_text

if TYPE_CHECKING:
    from diffjit.api.reports.explain import Explanation, Line, Part

_STYLE = """
.diffjit { --ink: #1c2430; --faint: #77808c; --paper: #fff; --rule: #e3e7ec; --bar: #f2b880; --mark: #fff3c4;
  --back: #12667a; color: var(--ink); background: var(--paper); font: 14px/1.5 system-ui, sans-serif; padding: 1rem; }
@media (prefers-color-scheme: dark) { .diffjit { --ink: #dde3ea; --faint: #8a94a1; --paper: #14181e; --rule: #2b323c;
  --bar: #8a5a24; --mark: #453c14; --back: #6cc3d8; } }
.diffjit h1 { font-size: 1.2rem; margin: 0 0 .2rem; } .diffjit h2 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
.diffjit p { margin: .2rem 0; color: var(--faint); } .diffjit .warn { color: #b3541e; }
.diffjit .panes { display: grid;
  grid-template-columns: minmax(0, 1.2fr) minmax(0, 1fr); gap: 1.5rem; align-items: start; }
@media (max-width: 1000px) { .diffjit .panes { grid-template-columns: minmax(0, 1fr); } }
.diffjit .code { overflow-x: auto; border: 1px solid var(--rule); border-radius: 6px; }
.diffjit table { border-collapse: collapse; width: 100%; }
.diffjit td, .diffjit th { padding: 0 .6rem; text-align: left; vertical-align: top; border: 0; background: none;
  color: inherit; }
.diffjit td { font: 13px/1.6 ui-monospace, Menlo, Consolas, monospace; white-space: pre; }
.diffjit th { font-size: 12px; color: var(--faint); font-weight: 500; border-bottom: 1px solid var(--rule); }
.diffjit td.n, .diffjit td.b { text-align: right; color: var(--faint); }
.diffjit td.r { white-space: normal; min-width: 9rem; font-family: inherit; font-size: 12px; color: var(--faint); }
.diffjit tr.hit td { background: var(--mark); } .diffjit tr[data-line] { cursor: default; }
.diffjit .bar { display: block; height: 3px; border-radius: 2px; background: var(--bar); min-width: 1px;
  margin-left: auto; }
.diffjit .back td { color: var(--back); } .diffjit .note td { color: var(--faint); }
"""

# A line of the program and what is made of it light up together.
_SCRIPT = """
for (const root of document.querySelectorAll(".diffjit:not([data-live])")) {
  root.dataset.live = "1";
  const light = (event, on) => {
    const row = event.target.closest("tr[data-line]");
    if (!row) return;
    for (const other of root.querySelectorAll("tr[data-line]"))
      other.classList.toggle("hit", on && other.dataset.line === row.dataset.line);
  };
  root.addEventListener("mouseover", (event) => light(event, true));
  root.addEventListener("mouseout", (event) => light(event, false));
}
"""


def page(e: Explanation) -> str:
    """A whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(e.name)} and its derivative</title>\n</head>\n"
        f'<body style="margin: 0">\n{fragment(e)}\n</body>\n</html>\n'
    )


def fragment(e: Explanation) -> str:
    """What a notebook shows."""
    files = {file: k for k, file in enumerate(dict.fromkeys(part.file for part in e.parts))}
    warnings = "".join(
        f'<p class="warn">line {row.line}, {escape(row.name)}: not known before the run: {escape(row.why)}</p>\n'
        for row in e.tape.unknown
    )
    device = "" if e.device is None else "".join(f"<p>{escape(line)}</p>\n" for line in e.device.lines())
    parts = "\n".join(_part(part, files, e.tape.known) for part in e.parts)
    return (
        f'<div class="diffjit">\n<style>{_STYLE}</style>\n'
        f"<h1>{escape(e.name)} and its derivative</h1>\n<p>{escape(total_text(e.tape))}</p>\n{warnings}{device}"
        f'<div class="panes">\n<div>\n{parts}\n</div>\n<div>\n<h2>derivative</h2>\n{_derivative(e, files)}\n</div>\n'
        f"</div>\n<script>{_SCRIPT}</script>\n</div>"
    )


def _part(part: Part, files: dict[str, int], total: int) -> str:
    shift = min((len(n.text) - len(n.text.lstrip()) for n in part.lines if n.text.strip()), default=0)
    rows = "\n".join(_line(n, files[n.file], shift, total) for n in part.lines)
    return (
        f'<h2>{escape(part.name)} <span style="font-weight: 400">({escape(Path(part.file).name)})</span></h2>\n'
        '<div class="code"><table>\n<thead><tr><th>line</th><th>program</th>'
        "<th>recorded</th><th>bytes</th></tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _line(n: Line, file: int, shift: int, total: int) -> str:
    recorded = "<br>".join(map(escape, grouped(n.recorded)))
    size, bar = "", ""
    if n.recorded:
        size = size_text(n.bytes)
        if n.bytes and total:
            bar = f'<span class="bar" style="width: {100 * n.bytes / total:.1f}%"></span>'
    return (
        f'<tr data-line="{file}:{n.number}"><td class="n">{n.number}</td><td>{escape(n.text[shift:])}</td>'
        f'<td class="r">{recorded}</td><td class="b">{size}{bar}</td></tr>'
    )


def _derivative(e: Explanation, files: dict[str, int]) -> str:
    rows: list[str] = []
    for made in e.derivative:
        place = made.place
        known = place is not None and place[0] in files
        mark = f' data-line="{files[place[0]]}:{place[1]}"' if known and place is not None else ""
        if made.text.startswith("#"):
            mark += ' class="note"'
        elif made.back:
            mark += ' class="back"'
        number = str(place[1]) if known and place is not None else ""
        text = escape("    " * made.depth + made.text)
        rows.append(f'<tr{mark}><td class="n">{number}</td><td>{text}</td></tr>')
    body = "\n".join(rows)
    return (
        '<div class="code"><table>\n<thead><tr><th>from</th><th>text</th></tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )
