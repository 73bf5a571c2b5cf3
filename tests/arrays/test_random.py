"""Random programs of array statements."""

import pytest

from tests.arrays.programs import checked

# What NumPy cannot raise from a `flat` that fails while a program is tried.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 60))])
def test_random_programs(seed):
    assert checked(seed, "python").startswith(("right", "raises", "[DJ"))


@pytest.mark.parametrize("seed", range(3, 15))
@pytest.mark.slow
def test_compiled(seed):
    assert checked(seed, "numba").startswith(("right", "raises", "[DJ"))
