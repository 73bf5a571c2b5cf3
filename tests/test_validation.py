"""Optimised code against the same programs with every optional pass off; and against itself, which must not differ."""

import numpy as np
import pytest

import diffjit as dj
from tests.fuzz.outcomes import Result
from tests.fuzz.validate import bits_agree, differences, written
from tests.modes import PROGRAMS, Case
from tests.test_corpus import COMPILED, NOT_YET
from tests.validate import compared, record, variants

needs_plain = pytest.mark.skipif(not hasattr(dj.settings, "plain"), reason="no setting that turns optional passes off")
REFUSED = {key.rpartition("-")[0] or key for key in NOT_YET}
NAMES = [name for name in sorted(PROGRAMS) if name not in REFUSED]


@needs_plain
@pytest.mark.parametrize("name", ["element_writes", "early_returns", "overlapping_source_and_target"])
def test_optional_passes_change_nothing(name):
    assert compared([name])[0] == []


@needs_plain
@pytest.mark.slow
@pytest.mark.parametrize("block", range(0, len(NAMES), 10))
def test_optional_passes_change_nothing_in_the_whole_corpus(block):
    assert compared(NAMES[block : block + 10])[0] == []


def test_a_program_agrees_with_itself():
    left, right = (record("element_writes", "python") for _ in range(2))
    assert differences(left, right) == []
    assert bits_agree(left, right)


def test_a_number_another_exception_or_another_state_is_noticed():
    right = written(Result((2.0, np.ones(3)), None, [np.zeros(2)]))
    for wrong in (
        Result((2.0, np.array([1.0, 1.0, 1.001])), None, [np.zeros(2)]),
        Result((2.0, np.ones(3)), None, [np.ones(2)]),
        Result((np.nan, np.ones(3)), None, [np.zeros(2)]),
        Result(None, IndexError("out"), [np.zeros(2)]),
    ):
        assert differences({"jit": written(wrong)}, {"jit": right})
    raised = written(Result(None, IndexError("out"), [np.zeros(2)]))
    for error in (ValueError("out"), IndexError("far out")):
        assert differences({"jit": written(Result(None, error, [np.zeros(2)]))}, {"jit": raised})


@pytest.mark.parametrize("name", COMPILED[:8])
def test_variants_reach_the_edges(name):
    made = dict(variants(Case(name)))
    assert "its own" in made
    for make in made.values():
        assert len(make()) == len(Case(name).args())
