"""The pages keep their word: their programs run and print what stands below them, and every error has its entry.

In the README and in docs/, each ```python block is run, in the order of the page, all of a page in one namespace. A
block followed by an ```output block must print exactly that (`...` stands for anything); a block that raises prints
the name and the text of its error. Snippets that are not to be run are marked `py`.
"""

import contextlib
import doctest
import io
import re
import sys
import types
from pathlib import Path

import pytest

import diffjit as dj

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\s*^```output\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL)


def run(code, file, namespace):
    """Run one block, as the file that `file` names, and return what a reader would see of it."""
    file.parent.mkdir()
    file.write_text(code)
    seen = io.StringIO()
    with contextlib.redirect_stdout(seen):
        try:
            exec(compile(code, str(file), "exec"), namespace)  # noqa: S102 - the project's own pages
        except Exception as error:  # noqa: BLE001 - whatever is raised is part of what the page shows
            seen.write(f"{type(error).__name__}: {error}\n")
            raised = error
        else:
            raised = None
    return re.sub(re.escape(f"{file.parent.parent}/") + r"\d+/", "", seen.getvalue()), raised


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.stem)
def test_the_programs_on_a_page(page, tmp_path, monkeypatch):
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(dj.settings, "backend", dj.settings.backend)  # a page may change them
    monkeypatch.setattr(dj.settings, "nan_check", dj.settings.nan_check)
    monkeypatch.setenv("DIFFJIT_CUDA", "")  # a page may choose a device,
    monkeypatch.delenv("DIFFJIT_CUDA")  # which is forgotten with it
    monkeypatch.setenv("COLUMNS", "100")  # reports are as wide as the terminal
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for number, block in enumerate(BLOCK.finditer(page.read_text())):
        seen, raised = run(block["code"], tmp_path / str(number) / "program.py", vars(module))
        wanted = block["output"]
        if wanted is None:
            if raised is not None:
                raise raised
        elif not doctest.OutputChecker().check_output(wanted, seen, flags):
            line = page.read_text()[: block.start("output")].count("\n") + 1
            pytest.fail(f"{page.relative_to(ROOT)}:{line}: wanted\n{wanted}\ngot\n{seen}")


def test_every_error_code_has_its_entry():
    sources = (path.read_text() for path in (ROOT / "diffjit").rglob("*.py"))
    raised = {code for text in sources for code in re.findall(r'["\[](DJ\d{3})["\]]', text)}
    listed = re.findall(r"^### (DJ\d{3})\b", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE)
    assert sorted(raised - set(listed)) == [], "raised, but not in docs/errors.md"
    assert sorted(set(listed) - raised) == [], "in docs/errors.md, but never raised"
    assert listed == sorted(set(listed)), "docs/errors.md lists each code once, in order"
