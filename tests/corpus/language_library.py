"""Python's own library, as programs of numbers use it: `statistics`, and maps over tables beside arrays."""

import statistics
from operator import mul
from statistics import NormalDist, fmean, stdev

import numpy as np

from .registry import program

SAMPLE = np.array([0.3, 1.2, -0.5, 2.2, 0.9])


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def statistics_of_lists_and_arrays(x):
    """Means, deviations and a regression, of an array, of lists of known length and of one that grows."""
    values = [v * v for v in x]
    large = []
    for v in x:
        if v > statistics.mean(x):
            large.append(np.sin(v))
    slope, start = statistics.linear_regression([0.0, 1.0, 2.0, 3.5, 4.0], values)
    spread = stdev(x) * statistics.pstdev(values) + statistics.variance(large) + statistics.pvariance(x, mu=0.5)
    near = statistics.median(values) * statistics.correlation(list(x), values) + statistics.fmean(x, weights=values)
    return spread + near + slope * start + statistics.harmonic_mean([v + 0.1 for v in values])


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def statistics_of_groups(x):
    """Groups in a dict, one of which is too small; normal distributions from a sample and from parameters."""
    groups = {}
    for key, v in zip("abbac", x, strict=True):
        groups.setdefault(key, []).append(v * v)
    total = 0.0
    for rank, group in enumerate(groups.values()):
        try:
            total += stdev(group) * (rank + 1)
        except statistics.StatisticsError:
            total += fmean(group) * total
    fitted, given = NormalDist.from_samples(x), NormalDist(x[0], x[1])
    return total + fitted.pdf(1.0) * given.cdf(x[2]) + given.inv_cdf(0.3) * statistics.quantiles(x, n=4)[1]


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def map_over_a_table_beside_an_array(x):
    """`map` of a function of two: one side is an array, the other a list written out, longer or shorter."""
    total = sum(map(mul, x, [1.0, 2.0, 3.0]))
    for v in map(lambda a, w: np.sin(a * w), [0.5, 1.5, 2.0, 1.0, 0.7, 9.0], x * x):
        total += v * total
    return total
