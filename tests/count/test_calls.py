"""How calls of SciPy are found in programs, and which names they have today."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.count.calls import Names, calls, counted, elsewhere, told

PROGRAM = """
import scipy
import scipy.stats as st
import scipy.sparse.linalg
from scipy import optimize as opt, integrate
from scipy.optimize import minimize as m
try:
    from scipy.integrate import simpson
except ImportError:
    from scipy.integrate import simps as simpson
from numpy.linalg import norm

def fit(x, opt=None):
    m(f, x)
    opt.root(f, x)
    return st.norm.pdf(x) + norm(x) + simpson(x)

class Fit:
    def run(self, m):
        from scipy.linalg import norm
        return norm(m(2.0)) + scipy.sparse.linalg.spsolve(a, b).dot(x)

solve = lambda st: st.norm.pdf(1)
integrate.quad(lambda x: opt.brentq(f, 0, 1), 0, 1)
"""


def test_calls_are_found_by_scope() -> None:
    assert calls(PROGRAM) == {
        "scipy.optimize.minimize": 1, "scipy.stats.norm.pdf": 1, "scipy.integrate.simpson": 1, "scipy.linalg.norm": 1,
        "scipy.sparse.linalg.spsolve": 1, "scipy.integrate.quad": 1, "scipy.optimize.brentq": 1,
    }  # fmt: skip
    assert not calls("from scipy import (")


def test_names_of_today() -> None:
    names = Names()
    for name, known in (
        ("scipy.linalg.norm", "scipy.linalg.norm"),
        ("scipy.integrate.simps", "scipy.integrate.simpson"),
        ("scipy.misc.logsumexp", "scipy.special.logsumexp"),
        ("scipy.signal.hanning", "scipy.signal.windows.hann"),
        ("scipy.ndimage.filters.gaussian_filter", "scipy.ndimage.gaussian_filter"),
        ("scipy.stats.distributions.norm.isf", "scipy.stats.norm.isf"),
        ("scipy.rand", ""),
    ):
        assert names.known(name) in (known, name if name.endswith("norm.isf") else known)
    assert names.kind("scipy.optimize.minimize")[0] == "differentiated"
    assert names.kind("scipy.io.loadmat")[0] == "value only, not tried"
    assert names.kind("scipy.linalg.qz")[0] == "refused"
    assert names.kind("scipy.stats.norm.isf")[0] == "differentiated"


@pytest.mark.parametrize("bare", [False, True])
def test_a_folder_is_counted(tmp_path: Path, bare: bool) -> None:
    work = tmp_path / "some"
    (work / "tests").mkdir(parents=True)
    (work / "fit.py").write_text(PROGRAM)
    (work / "tests" / "test_fit.py").write_text(PROGRAM)
    folder = work
    if bare:
        git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a"]):
            subprocess.run([*git, *command], check=True, capture_output=True)  # noqa: S603
        folder = work / ".git"
    for tests in (False, True):
        found, sizes = counted([folder], tests=tests)
        assert [sum(one.values()) for one in found.values()] == [14 if tests else 7]
        assert list(sizes.values()) == [2 if tests else 1]
    assert "100.0 %" in told(found, sizes, 5)


def test_the_repositories_are_a_hundred() -> None:
    lines = (Path(__file__).with_name("repositories.txt")).read_text().splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    assert len(set(named)) == len(named) == 100
    assert all(row.program or row.reason for row in elsewhere())
