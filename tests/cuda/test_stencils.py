"""Random programs of shifted parts and of all pairs, by kernels."""

import pytest

from tests.lowering.stencils import tried

MORE = [pytest.param(k, marks=pytest.mark.slow) for k in range(406, 460)]


@pytest.mark.parametrize("seed", [*range(400, 406), *MORE])
def test_random_programs(seed):
    tried(seed, ["cuda"])
