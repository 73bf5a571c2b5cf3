"""Statistics of bins, and correlations of ranks along axes."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

import numpy as np
import pytest
from scipy import stats

import diffjit as dj
from tests.options.modes import compared

AT = np.concatenate([np.random.default_rng(3).uniform(0, 1, 12), [0.0, 1.0]])
BESIDE = np.sqrt(AT[::-1])
X = np.random.default_rng(4).uniform(0, 2, 14)
W = np.cos(np.arange(1.0, 40.0))


def of_bins(statistic, **given):
    def program(x):
        found, edges, number = stats.binned_statistic(AT, x, statistic, **given)
        return np.nansum(found**2 * W[: found.shape[0]]) + edges[1] * x[0] + np.sum(number * x)

    return program


def of_rectangles(statistic, **given):
    def program(x):
        found = stats.binned_statistic_2d(AT, BESIDE, x, statistic, **given)
        weights = W[: found.statistic.size].reshape(found.statistic.shape)
        return np.nansum(found.statistic**2 * weights) + found.y_edge[1] * x[0] + np.sum(found.binnumber * x)

    return program


def moving(x):
    found, edges, _ = stats.binned_statistic(x, np.stack([x, x**2]), "mean", bins=3)
    return np.sum(found**2 * W[:3]) + edges[1] ** 2


def ranks(x):
    table = np.stack([x[:5], x[5:10] ** 2, np.sin(x[4:9])])
    alike = stats.spearmanr(table, axis=1).statistic
    pair, chance = stats.spearmanr(table[:2].T)
    flat = stats.spearmanr(table, np.append(x, x[0] * x[1]), axis=None)[0]
    return np.sum(alike * W[:3]) * x[0] + pair * x[1] + chance * x[2] + flat * x[3]


ROWS = {
    **{name: of_bins(name, bins=4) for name in ("mean", "sum", "count", "std", "median", "min", "max")},
    "np.mean": of_bins(np.mean, bins=4),
    "edges": of_bins("mean", bins=[0.0, 0.2, 0.5, 0.9]),
    "range": of_bins("std", bins=3, range=(0.2, 0.8)),
    "range in a list": of_bins("std", bins=3, range=[(0.2, 0.8)]),
    "rectangles": of_rectangles("mean", bins=[2, 3], range=[(0.2, 0.8), (0, 1)]),
    "squares": of_rectangles("sum", bins=3, expand_binnumbers=True),
    "same edges": of_rectangles("sum", bins=[0, 0.5, 1.0]),
    "edges and a number": of_rectangles("median", bins=[[0, 0.5, 1.0], 2]),
    "moving edges": moving,
    "ranks": ranks,
}


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    compared(ROWS[name], X, backend)


def test_functions_of_ones_own():
    with pytest.raises(dj.UnsupportedSyntax, match="loop over the bins"):
        dj.jit(lambda x: stats.binned_statistic(AT, x, lambda part: np.sum(part * part)).statistic)(X)
