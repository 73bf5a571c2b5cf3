"""Iterators that read or change what a loop over them changes: each item is made when its turn comes, or refused."""

import itertools

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import along

X, T = np.array([0.3, 1.2, -0.7, 2.1, 0.9]), np.array([1.0, 0.5, -2.0, 0.3, 0.7])


def writes_a_log(x):
    log = []

    def noted(k):
        for v in x:
            log.append(v * k)
            yield v

    total = sum(a * b for a, b in zip(noted(1), noted(2), strict=False))
    return total + sum(v * k for k, v in enumerate(log))


def reads_a_list(x):
    held, total = [0.0], 0.0
    for a, b in zip((v for v in x), (v * held[0] for v in x), strict=False):
        held[0] += a
        total += b
    return total


def reads_a_variable(x):
    scale, total = 1.0, 0.0
    for a, b in zip((v for v in x), (v * scale for v in x), strict=False):
        scale += a
        total += b
    return total


def reads_an_array(x):
    y, total = x.copy(), 0.0
    for k, (a, b) in enumerate(zip((v for v in x), (v * 2 for v in y), strict=False)):
        y[4 - k] *= a
        total += b
    return total


def reads_by_a_function(x):
    held, total = [1.0], 0.0

    def scaled(v):
        return v * held[0]

    for a, b in zip((v for v in x), (scaled(v) for v in x), strict=False):
        held[0] += a
        total += b
    return total


def reads_rows_of_a_list(x):
    rows, total = [np.array([v, 2 * v]) for v in x], 0.0
    for a, b in zip((v for v in x), (row[0] * row[1] for row in rows), strict=False):
        rows[-1][0] += a
        total += b
    return total


def writes_rows_of_a_list(x):
    rows = [np.array([v, 2 * v]) for v in x]

    def doubled():
        for row in rows:
            row[0] *= 2
            yield row[0]

    return sum(a * b for a, b in zip(doubled(), doubled(), strict=False))


def reads_one_of_two_arrays(x):
    y, z, total = x.copy(), 2 * x, 0.0
    either = y if x[0] > 0 else z
    for k, (a, b) in enumerate(zip((v for v in x), (v for v in y), strict=False)):
        either[4 - k] += a
        total += b
    return total


def of_one_length(x):
    scale, total = 1.0, 0.0
    for a, b in zip(x, (v * scale for v in x), strict=True):
        scale += a
        total += b
    for a, b in zip((v for v in x), (v * scale for v in x), strict=True):
        scale += a
        total += b
    return total


def reads_what_grows(x):
    grown, total = [], 0.0

    def sums():
        for k in range(5):
            yield sum(grown) + x[k]

    for a, b in zip((v for v in x), sums(), strict=False):
        grown.append(a)
        total += b
    return total


def pairs(x):
    held, total = [1.0], 0.0
    for a, b in itertools.pairwise(v * held[0] for v in x):
        held[0] += 0.3 * b
        total += a * b
    return total


def sums_so_far(x):
    held, total = [1.0], 0.0
    for a in itertools.accumulate(v * held[0] for v in x):
        held[0] += 0.1 * a
        total += a
    return total


def over_and_over(x):
    held, total = [1.0], 0.0
    for k, v in zip(range(8), itertools.cycle(v * held[0] for v in x[:3]), strict=False):
        held[0] += v * 0.5
        total += v * k
    return total


def as_long_as_any(x):
    held, total = [1.0], 0.0
    for a, b in itertools.zip_longest((v for v in x), (v * held[0] for v in x[:3]), fillvalue=0.5):
        held[0] += 0.3 * a
        total += a * b
    return total


def only_others_change(x):
    kept, total = [], 0.0
    for a, b in zip((v * v for v in x if v > 0), (v + 1 for v in x), strict=False):
        kept.append(a * b)
        total += a
    return total + sum(kept)


PROGRAMS = [
    writes_a_log, reads_a_list, reads_a_variable, reads_an_array, reads_by_a_function, reads_what_grows, pairs,
    reads_rows_of_a_list, writes_rows_of_a_list, reads_one_of_two_arrays, of_one_length,
    sums_so_far, over_and_over, as_long_as_any, only_others_change,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_as_python_has_it(f):
    along(f, X, T)


@pytest.mark.parametrize("f", [reads_a_list, pairs])
def test_compiled(f):
    along(f, X, T, "numba")


def grows_to_one_length(x):
    """The lengths are compared when one has ended, not before."""
    short = [x[0]]
    for a, b in zip([v * 2 for v in x], short, strict=True):
        if len(short) < 5:
            short.append(a * b)
    return sum(short)


def left_before_the_end(x):
    total = 0.0
    for a, b in zip(x, x[:4], strict=True):
        total += a * b
        if total > 1:
            break
    return total


def says_which(x):
    """Python says which argument is longer or shorter than which."""
    total = 0.0
    for rest in ((x, x[1:]), (x[1:], x), (x, x * 2, x[2:]), (x[1:], x[1:], x), (x[2:], (v * v for v in x))):
        try:
            for row in zip(*rest, strict=True):
                total += row[0] * row[-1]
        except ValueError as error:
            total *= 1.0 + 0.01 * len(str(error)) + 0.5 * str(error).endswith("arguments 1-2")
    return total


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [grows_to_one_length, left_before_the_end, says_which])
def test_as_long_as_each_other(f, backend):
    along(f, X, T, backend)


def test_what_ran_before_lengths_differ():
    def f(x):
        for a, b in zip(x, x[:4], strict=True):
            x[0] += a * b

    x, y = X.copy(), X.copy()
    with pytest.raises(ValueError, match="shorter") as wanted:
        f(x)
    with pytest.raises(ValueError, match="shorter") as found:
        dj.jit(f, backend="python")(y)
    assert str(found.value) == str(wanted.value)
    np.testing.assert_allclose(y, x, rtol=1e-14)


def groups(x):
    held, total = [1.0], 0.0
    for key, run in itertools.groupby((v * held[0] for v in x), key=lambda v: v > 0):
        for a in run:
            held[0] += a * 0.1
            total += a * (1 + key)
    return total


def several(x):
    held, total = [1.0], 0.0
    one, other = itertools.tee(v * held[0] for v in x)
    for a, b in zip(one, other, strict=False):
        held[0] += a
        total += a * b
    return total


@pytest.mark.parametrize("f", [groups, several])
def test_what_is_listed_must_not_change(f):
    with pytest.raises(dj.UnsupportedSyntax, match="DJ115"):
        dj.grad(f, backend="python")(X)


def test_of_other_lengths():
    def f(x):
        scale, total = 1.0, 0.0
        for a, b in zip(x, (v * scale for v in x[1:]), strict=True):
            scale += a
            total += b
        return total

    with pytest.raises(ValueError, match=r"zip\(\) argument"):
        dj.grad(f, backend="python")(X)


def test_runs_of_what_stays():
    def quiet(x):
        found = [(key, sum(run)) for key, run in itertools.groupby((v * v for v in x), key=lambda v: v > 0.5)]
        one, other = itertools.tee(v * 2 for v in x)
        next(other)
        return sum(s * (1 + key) for key, s in found) + sum(a * b for a, b in zip(one, other, strict=False))

    along(quiet, X, T)
