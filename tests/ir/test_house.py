"""Rooms: few files in a folder, each short."""

import ast
from collections import Counter
from pathlib import Path

import diffjit
from tests.mutate import misplaced

ROOT = Path(diffjit.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# Flat by nature: one file for each chapter of NumPy, and for each kind of thing that loops call.
LARGE = {"primitives/library": 29, "lowering/runtime": 20, "primitives": 18, "lowering/calls": 17}
MOST = 16


def test_folders_are_small():
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in FILES)
    assert {name: n for name, n in counts.items() if n > LARGE.get(name, MOST)} == {}


def test_folders_and_files_say_what_they_hold():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_files_are_short():
    long = {str(p.relative_to(ROOT)): n for p in FILES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 630}
    assert long == {}


def test_mistakes_made_on_purpose_have_their_places():
    """`python -m tests.mutate` replaces texts of the package: they are there, once each."""
    assert misplaced() == []
