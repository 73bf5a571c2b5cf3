"""Random programs of products over a few numbers, by kernels."""

import pytest

from tests.lowering.skinny import tried

MORE = [pytest.param(k, marks=pytest.mark.slow) for k in range(503, 540)]


@pytest.mark.parametrize("seed", [*range(500, 503), *MORE])
def test_random_programs(seed):
    tried(seed, ["cuda"])
