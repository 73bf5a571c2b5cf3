"""Versions that are too old are refused, and newer ones than any that was tested warned of, by diffjit itself."""

import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import diffjit as dj
from diffjit import installed

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = dict(re.match(r"([a-z]+)>=([\d.]+)", d).groups() for d in PROJECT["dependencies"])
LOWEST_SET = re.findall(r"^([a-z]+)==([\d.]+)(.*)$", (ROOT / ".ci" / "lowest.txt").read_text(), re.MULTILINE)


def first_two(version):
    return version.split(".")[:2]


def test_one_table_of_lowest_versions():
    python = re.fullmatch(r">=([\d.]+)", PROJECT["requires-python"])[1]
    names = {k: v for k, v in installed.LOWEST.items() if k != "python"}
    assert installed.LOWEST["python"] == python
    assert {k: (DECLARED[k] + ".0").split(".")[:2] for k in names} == {k: first_two(v) for k, v in names.items()}


def test_the_lowest_set_is_what_is_declared():
    """The versions that .ci/run tries are first releases of those that pyproject.toml declares."""
    tried = {name: version for name, version, marker in LOWEST_SET if ">=" not in marker}
    assert tried.keys() == DECLARED.keys()
    for name, version in tried.items():
        assert f"{version}.".startswith(f"{DECLARED[name]}."), name


def test_classifiers_name_the_versions_of_python():
    found = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    low, high = (int(x["python"].split(".")[1]) for x in (installed.LOWEST, installed.HIGHEST))
    assert found == [f"3.{k}" for k in range(low, high + 1)]


@pytest.mark.parametrize("name", installed.LOWEST)
def test_from_lowest_to_highest_nothing_is_said(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        installed.check(name, installed.LOWEST[name] + ".0")
        installed.check(name, installed.HIGHEST[name] + ".99rc1")


@pytest.mark.parametrize("name", installed.LOWEST)
def test_newer_than_tested_is_said(name):
    major, minor = first_two(installed.HIGHEST[name])
    with pytest.warns(dj.UntestedVersion, match=rf"{name} {major}\.{int(minor) + 1}\.0 is newer than diffjit has been"):
        installed.check(name, f"{major}.{int(minor) + 1}.0")


@pytest.mark.parametrize(("name", "old"), [("numpy", "1.26.4"), ("numba", "0.60.0"), ("llvmlite", "0.9.0")])
def test_older_than_declared_is_an_import_error(name, old):
    with pytest.raises(ImportError, match=rf"DJ561\] {name} {old} is too old: diffjit needs {installed.LOWEST[name]}"):
        installed.check(name, old)


PROGRAM = """
import warnings
import numpy as np
{change}
import diffjit as dj
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("default")
    for backend in ("python", "numba"):
        try:
            print([float(dj.grad(f, backend=backend)(2.0)) for f in (lambda x: x * x, lambda x: x * x * x)])
        except ImportError as error:
            print(type(error).__mro__[1].__name__, error)
print(*[(w.category.__name__, str(w.message)[:40]) for w in seen], sep="\\n")
"""


def outcome(change, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(change=change))
    made = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, str(program)],
        cwd=ROOT,
        env={"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


def test_a_numpy_from_the_future_is_said_once(tmp_path):
    seen = outcome("np.__version__ = '9.1.2'", tmp_path)
    assert seen.count("UntestedVersion") == 1, seen
    assert "('UntestedVersion', 'numpy 9.1.2 is newer than diffjit has be" in seen
    assert seen.startswith("[4.0, 12.0]\nUsageError [DJ561] numba cannot be imported: Numba needs NumPy"), seen


def test_an_old_numpy_is_refused_before_anything_fails_inside(tmp_path):
    seen = outcome("np.__version__ = '1.26.4'; del np.vecdot", tmp_path)
    assert seen.count("UsageError [DJ561] numpy 1.26.4 is too old: diffjit needs 2.0 or newer") == 2, seen


def test_without_a_numba_that_fits_programs_run_as_python(tmp_path):
    change = "import sys; sys.modules['numba'] = None"
    seen = outcome(change, tmp_path)
    assert seen.startswith("[4.0, 12.0]\nUsageError [DJ561] numba cannot be imported: "), seen
