"""Every error that a user can meet, as `programs.py` provokes it, reads as its file in `golden/` says.

`pytest tests/errors --update-golden` writes the files anew; read the difference before committing it.
"""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import diffjit as dj

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("programs", HERE / "programs.py")
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)
CASES = {name: run for name, run in vars(programs).items() if re.match(r"dj\d{3}_", name)}

# Errors that stand for a state which no program is known to reach.
UNREACHED = {"DJ112", "DJ114", "DJ117", "DJ128", "DJ202", "DJ510", "DJ563", "DJ901", "DJ902", "DJ903"}


def golden(name):
    """The file of a case."""
    return HERE / "golden" / f"{name}.txt"


@pytest.mark.parametrize("name", CASES)
def test_message(name, request, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # how deep calls may nest must not depend on pytest's own frames
    try:
        with pytest.raises(Exception) as caught:
            CASES[name]()
    finally:
        sys.setrecursionlimit(limit)
    text = f"{caught.type.__name__}: {caught.value}\n".replace(f"{HERE}/", "")
    if request.config.getoption("--update-golden"):
        golden(name).write_text(text)
    assert text == golden(name).read_text()
    assert f"[{name[:5].upper()}]" in text


@pytest.mark.parametrize("name", CASES)
def test_the_place_is_in_the_program(name):
    """The line that a message shows stands in the body of its program, and the caret under something."""
    shown = re.search(r"--> programs.py:(\d+):(\d+)\n +\|\n(\d+) \| (.*)\n +\| ( *)(\^+)", golden(name).read_text())
    if shown is None:
        return
    line, column, number, text, indent, carets = shown.groups()
    code = CASES[name].__code__
    lines = (HERE / "programs.py").read_text().splitlines()
    assert line == number
    assert lines[int(line) - 1] == text
    last = max(position[0] for position in _lines(code))
    assert code.co_firstlineno < int(line) <= last
    assert len(indent) == int(column) - 1
    assert text[len(indent) : len(indent) + len(carets)].strip()


def _lines(code):
    for _, _, line in code.co_lines():
        if line is not None:
            yield (line,)
    for inner in code.co_consts:
        if hasattr(inner, "co_lines"):
            yield from _lines(inner)


def test_every_code_has_a_program():
    sources = (path.read_text() for path in (HERE.parent.parent / "diffjit").rglob("*.py"))
    raised = {code for text in sources for code in re.findall(r"\bDJ[1-9]\d\d\b", text)}
    assert raised - {name[:5].upper() for name in CASES} <= UNREACHED


def test_no_file_is_left_over():
    assert {path.stem for path in (HERE / "golden").iterdir()} == set(CASES)
