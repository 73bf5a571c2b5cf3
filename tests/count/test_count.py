"""The count knows what the installed NumPy and SciPy have; measuring it again is a command, `python -m tests.count`."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.count.measure import MODES, measured
from tests.count.names import MODULES, known
from tests.count.page import PAGE, page
from tests.count.record import read, versions
from tests.count.rows import rows


def test_every_callable_is_counted():
    """A callable that a new NumPy or SciPy adds gets a row in `tests/count/rows`, and is measured."""
    names = {name for name in known() if not may_be_dropped(name)}
    new = names - set(read())
    assert not new, f"python -m tests.count {' '.join(sorted(new))}"
    assert not names - set(rows())


def may_be_dropped(name):
    """Whether a library is older than what was measured, which may have dropped the name; Python's drop none."""
    module = name.partition(".")[0]
    if module in ("math", "cmath"):
        return False
    found = re.search(rf"{module} ([0-9.]+)", versions(), re.IGNORECASE)
    parts = [tuple(map(int, v.split(".")[:2])) for v in (importlib.import_module(module).__version__, found[1])]
    return parts[0] < parts[1]


def test_every_module_is_counted():
    counted = {name.rpartition(".")[0] for name in read()}
    assert set(MODULES) <= counted


def test_nothing_is_wrong():
    bad = {(n, mode, words) for n, found in read().items() for mode, words in found.items() if words[:5] == "wrong"}
    assert not bad


def test_few_other_errors():
    """What is neither right nor one of diffjit's errors; it may only become less."""
    bad = {(n, mode, words) for n, found in read().items() for mode, words in found.items() if words[:3] == "raw"}
    assert len(bad) <= RAW, bad


def test_the_page_is_that_of_the_record():
    assert PAGE.read_text() == page(), "python -m tests.count --page"


RAW = 0
SPOT = (
    "numpy.clip", "numpy.linalg.inv", "numpy.einsum", "math.hypot", "scipy.special.gammaln", "scipy.linalg.expm",
    "scipy.stats.gumbel_r.logpdf", "scipy.fft.dct", "numpy.argsort", "numpy.linalg.eig",
)  # fmt: skip


@pytest.mark.parametrize("name", SPOT)
def test_what_is_measured_is_what_is_recorded(name):
    found = measured(rows()[name], compiled=False)
    recorded = read()[name]
    both = [mode for mode in MODES if mode in found and mode in recorded]
    assert "value" in both
    assert {m: found[m][:5] for m in both} == {m: recorded[m][:5] for m in both}


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_measured_again(module):
    """As `test_what_is_measured_is_what_is_recorded`, for everything, values under the `python` backend."""
    table, recorded = rows(), read()
    names = [n for n in known() if n.rpartition(".")[0] == module and table[n].program]
    worse = {}
    for name in names[:: max(1, len(names) // 40)]:
        found = measured(table[name], compiled=False)
        for mode, words in recorded[name].items():
            if words == "ok" and mode in found and found[mode] != "ok":
                worse[name, mode] = found[mode]
    assert not worse
