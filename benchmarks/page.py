"""A page of tables and figures as HTML, without anything that has to be loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from rich.table import Table
from rich.text import Text

STYLE = """
body { font: 16px/1.5 Georgia, serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #111; }
h1, h2 { font-weight: normal; }
h2 { margin-top: 3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; border-bottom: 1px solid; border-top: 1px solid; }
caption { text-align: left; caption-side: bottom; color: #555; padding-top: .3rem; }
th { font-weight: normal; border-bottom: 1px solid; vertical-align: bottom; }
th, td { padding: .1rem .7rem; text-align: right; white-space: nowrap; }
th.left, td.left { text-align: left; }
img { max-width: 100%; width: 45rem; display: block; margin: 1rem 0; }
ul { font-size: 14px; color: #555; }
.good { color: #00705a; } .bad { color: #b33a00; } .late { color: #8a6d00; } .none { color: #777; }
"""
#: styles of the terminal, and what they are on paper
CLASSES = {"green": "good", "red": "bad", "bold red": "bad", "yellow": "late", "dim": "none"}


@dataclass
class Section:
    """A part of the page: a title, sentences, and what follows below them."""

    title: str
    text: str = ""
    parts: list[Table | Path] = field(default_factory=list[Table | Path])  # figures by their files
    notes: list[str] = field(default_factory=list[str])


def page(title: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    body = "\n".join(map(section, sections))
    head = f'<meta charset="utf-8"/>\n<title>{escape(title)}</title>\n<style>{STYLE}</style>'
    body = f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>"
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n{body}\n</html>\n'


def section(one: Section) -> str:
    """A part of it."""
    made = [f"<h2>{escape(one.title)}</h2>"]
    if one.text:
        made.append(f"<p>{escape(one.text)}</p>")
    for part in one.parts:
        if isinstance(part, Path):
            made.append(f'<img src="{escape(part.name)}" alt="{escape(part.stem)}"/>')
        else:
            made.append(table(part))
    if one.notes:
        made.append("<ul>\n" + "\n".join(f"<li>{escape(note)}</li>" for note in one.notes) + "\n</ul>")
    return "\n".join(made)


def table(made: Table) -> str:
    """A table of the terminal."""
    left = [' class="left"' if column.justify == "left" else "" for column in made.columns]
    head = "".join(f"<th{at}>{_text(c.header)}</th>" for at, c in zip(left, made.columns, strict=True))
    rows = "\n".join(
        "<tr>" + "".join(f"<td{at}>{_text(cell)}</td>" for at, cell in zip(left, cells, strict=True)) + "</tr>"
        for cells in zip(*(column.cells for column in made.columns), strict=True)
    )
    caption = f"<caption>{_text(made.caption)}</caption>\n" if made.caption else ""
    title = f"<p><b>{_text(made.title)}</b></p>\n" if made.title else ""
    return f'{title}<div class="wide"><table>\n{caption}<tr>{head}</tr>\n{rows}\n</table></div>'


def _text(value: object) -> str:
    """A cell, with what its style says."""
    words = escape(value.plain if isinstance(value, Text) else str(value)).replace("\n", "<br/>")
    kind = CLASSES.get(str(value.style)) if isinstance(value, Text) else None
    return f'<span class="{kind}">{words}</span>' if kind else words
