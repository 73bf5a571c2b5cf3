"""Random programs whose turns are computed in batches, against plain NumPy and difference quotients."""

import pytest

from tests.batches.check import check


@pytest.mark.parametrize("seed", range(2))
def test_random_programs(seed):
    assert check(seed, 3) in ("slopes", "values", "raises")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 60))
def test_more_random_programs(seed):
    check(seed)
