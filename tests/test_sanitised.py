"""Corpus programs with poisoned memory, between forbidden pages, and in two threads at once; each batch in a child."""

import pytest

from tests.modes import PROGRAMS
from tests.sanitise import environment, guarded_case, sanitised
from tests.test_corpus import COMPILED, NOT_YET

REFUSED = {key.rpartition("-")[0] or key for key in NOT_YET}
NAMES = [name for name in sorted(PROGRAMS) if name not in REFUSED]
BATCH = 20


def test_a_program_is_run_between_forbidden_pages():
    plain = guarded_case("swaps_of_elements", behind=True)
    assert plain.args()[0].ctypes.data % 4096 == 4096 - plain.args()[0].nbytes
    assert guarded_case("swaps_of_elements", behind=False).args()[0].ctypes.data % 4096 == 0
    assert environment()["MALLOC_PERTURB_"]


def test_a_failing_child_is_reported():
    assert "KeyError" in sanitised(["no such program"], backend="python")


def test_programs_of_the_python_backend():
    assert sanitised(["swaps_of_elements", "early_returns"], backend="python") == ""


@pytest.mark.slow
@pytest.mark.parametrize("block", range(0, len(NAMES), BATCH))
def test_compiled_programs(block):
    assert sanitised(NAMES[block : block + BATCH]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("block", range(0, len(COMPILED), 9))
def test_two_threads_at_once(block):
    assert sanitised(list(COMPILED[block : block + 9]), threads=True) == ""
