"""Lists of known length that are cut at places of the run: as Python's."""

import bisect
import itertools

import numpy as np
import pytest

import diffjit as dj
from tests.containers.quotients import DIRECTION, check

POINT = np.array([3.0, 1.1, 2.0, 0.5])


class Tank:
    def __init__(self, level):
        self.level = level


def parts(x):
    values = [x[0], x[1] * 2, x[2], 4.0]
    k = int(np.argmax(x < 1.5))
    return sum(values[:k]) + sum(values[k:]) ** 2 * x[3] + sum(values[-k:]) + sum(values[::k]) + sum(values[k::-1])


def filled(x):
    weights = [1.0, 2.0, 3.0 * x[1], 4.0]
    behind = list(itertools.accumulate(weights))
    k = bisect.bisect(behind, 5.0)
    return sum(weights[:k]) + (5.0 - behind[k - 1]) * x[2] / weights[k]


def arrays(x):
    rows = [x * 1.0, x * 2, x * 3]
    rest = rows[int(x[1]) :]
    rest[0][0] = 7.0 * x[1]
    return np.sum(rows[1]) + np.sum(rest[0] ** 2) + len(rest)


def objects(x):
    tanks = [Tank(x[0]), Tank(x[1]), Tank(x[2])]
    rest = tanks[int(x[1]) :]
    tanks[2].level = x[3] * 5
    return sum([t.level**2 for t in rest])


def replaced(x):
    values = [x[0], x[1], x[2]]
    k = int(x[1])
    values[k:] = [x[3]]
    return sum(values) * len(values)


def deleted(x):
    values = [x[0], x[1], x[2]]
    k = int(x[1])
    del values[k:]
    return sum(values) * len(values)


def inner_lists(x):
    rows = [[x[0], x[1]], [x[2]], [x[3], x[0]]]
    rest = rows[int(x[1]) :]
    rest[0].append(x[3])
    return sum(rows[1]) * 3 + len(rest[0]) + sum(rest[1])


def without_one(x):
    values = [x[0], x[1], x[2]]
    k = int(x[1])
    texts = ["a", "bb", "ccc"]
    return np.prod(np.array(values[:k] + values[k + 1 :])) + sum([len(t) for t in texts[k:]]) * x[0]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", [parts, filled, arrays, objects, replaced, deleted, inner_lists, without_one])
def test_cut(program, backend):
    check(program, POINT, backend)
    ends = [dj.grad(program, backend=backend)(POINT + s * 1e-5 * DIRECTION) for s in (1, -1)]
    second = dj.hvp(program, (POINT,), (DIRECTION,), backend=backend)
    np.testing.assert_allclose(second, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-6)
