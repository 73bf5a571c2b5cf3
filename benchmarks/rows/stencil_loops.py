"""The heat flow of `stencil_slices`, by loops and two buffers."""

import numpy as np

from benchmarks.row import Row
from benchmarks.rows import stencil_slices


def heat(u, k, steps):
    """Explicit steps from one buffer to the other."""
    n, m = u.shape
    u = u.copy()
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                flow = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                new[i, j] = u[i, j] + k[i, j] * flow
        u, new = new, u
    return np.sum(u * u)


ROW = Row(
    title="heat flow in 2-D, by loops",
    program=heat,
    arguments=stencil_slices.arguments,
    quick={"n": 8, "steps": 3},
    full={"n": 200, "steps": 100},
    argnums=(0, 1),
    by_hand=stencil_slices.by_hand,
    in_jax=stencil_slices.in_jax,
    in_autograd=stencil_slices.ROW.in_autograd,
    static=(2,),
)
