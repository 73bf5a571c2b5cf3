"""Random programs: those of arrays with several names, and those that call verbs."""

import pytest

from tests.aliases import attempts, kinds, programs, verbs
from tests.aliases.check import check


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 60))])
@pytest.mark.parametrize(
    "writer", [programs.Writer, verbs.Writer, attempts.Writer], ids=["arrays", "verbs", "attempts"]
)
def test_random_programs(seed, writer):
    outcome = check(seed, ("python",), writer)
    assert outcome.startswith(("right", "raises", "unfit", "[DJ"))


@pytest.mark.parametrize("seed", range(2, 20))
@pytest.mark.parametrize(
    "writer", [programs.Writer, verbs.Writer, attempts.Writer], ids=["arrays", "verbs", "attempts"]
)
@pytest.mark.slow
def test_compiled(seed, writer):
    assert check(seed, ("numba",), writer).startswith(("right", "raises", "unfit", "[DJ"))


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 60))])
def test_kinds(seed):
    assert kinds.check(seed, "python").startswith(("right", "raises", "overflow", "[DJ"))
