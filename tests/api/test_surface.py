"""What `dir(dj)`, completion and `help(dj)` show: the public names, grouped, and nothing else."""

import inspect
import os
import pickle
import pydoc
import re
import rlcompleter
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import diffjit as dj

FUNCTIONS = sorted(name for name in dj.__all__ if inspect.isfunction(getattr(dj, name)))
TABLE = dj.__doc__.split("\n\n")[1]


def fresh(code):
    """What a script prints in a new interpreter."""
    known = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **known}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_dir_is_what_is_public():
    assert dir(dj) == sorted([*dj.__all__, "__version__"])


def test_dir_is_complete_before_anything_is_imported_and_imports_nothing():
    shown, more = fresh("""
        import sys
        import diffjit
        before = set(sys.modules)
        print(*dir(diffjit))
        print(*sorted(set(sys.modules) - before))
    """)
    assert shown.split() == dir(dj)
    assert not more


def test_start_up_leaves_verbs_where_they_are():
    (imported,) = fresh("""
        import sys
        import diffjit
        print(*sorted(name for name in sys.modules if name.startswith("diffjit.")))
    """)
    modules = imported.split()
    assert "diffjit.api.grad" in modules
    assert not any(name.startswith(("diffjit.lowering", "diffjit.transforms", "diffjit.analysis")) for name in modules)
    for later in ("vmap", "matrices", "custom", "ode", "sparse", "implicit", "explain", "memory"):
        assert f"diffjit.api.{later}" not in modules


def test_completion():
    found = {match.removeprefix("dj.").rstrip("()") for match in rlcompleter.Completer({"dj": dj}).attr_matches("dj.")}
    assert {name for name in found if not name.startswith("_")} == set(dj.__all__)


def test_the_table_holds_each_name_once():
    names = re.findall(r"\b[a-z]+(?:_[a-z]+)+\b|\b[a-z]+\b|\b[A-Z]\w+\b", re.sub(r"(?m)^(\S.*?)  +", "", TABLE))
    listed = [name for name in names if name in dj.__all__]
    assert sorted(listed) == sorted(dj.__all__)


def test_the_first_lines_of_the_page():
    page = pydoc.plain(pydoc.render_doc(dj)).splitlines()
    assert "derivatives       grad, value_and_grad, jvp, vjp" in "\n".join(page[:12])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_page_shows_signature_and_docstring(name):
    verb = getattr(dj, name)
    page = pydoc.plain(pydoc.render_doc(dj))
    functions = page[page.index("\nFUNCTIONS") :]
    entry = re.search(rf"(?m)^    {name}\((?:.*\n)+?(?=    \w|\n\S)", functions)
    assert entry is not None
    first = inspect.getdoc(verb).splitlines()[0]
    assert first in entry[0]
    assert not entry[0].startswith(f"    {name}(*args, **kwargs)")
    assert name in pydoc.plain(pydoc.render_doc(verb)).splitlines()[0]


def test_every_public_name_is_documented():
    pages = "\n".join(path.read_text() for path in (Path(__file__).parents[2] / "docs").glob("*.md"))
    for name in dj.__all__:
        assert name in pages, name
        assert inspect.getdoc(getattr(dj, name)), name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_found_by_their_names(name):
    verb = getattr(dj, name)
    assert verb.__name__ == name
    assert pickle.loads(pickle.dumps(verb)) is verb  # noqa: S301 - our own


def test_no_other_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'gard'"):
        dj.gard  # noqa: B018 - the attribute is what is tested
