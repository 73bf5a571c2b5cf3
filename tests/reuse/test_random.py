"""Programs that are compiled once and called with arguments of other shapes, orders in memory, dtypes and values.

Others: `python -m tests.reuse.check 2 100 numba 600`, seeds from and to, a backend, and seconds.
"""

import pytest

from tests.reuse.check import check


@pytest.mark.filterwarnings("ignore")  # NumPy's, of means of nothing and the like
@pytest.mark.parametrize("seed", range(2))
def test_reused(seed):
    assert check(seed, "python", 3) == "right"
