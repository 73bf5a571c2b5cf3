"""Letters and items at places that the run decides, and reshaped parts of arrays in lists."""

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import of_one_number

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])
FIRST, SECOND = "GATTACA" * 6, "GCATGCU" * 6
WEIGHTS = {(a, b): 1.0 if a == b else 0.1 * k - 0.5 for k, a in enumerate("ACGTU") for b in "ACGTU"}


def traced_back(x):
    """Where a path through a table goes hangs on what it has met."""
    i, j, score = len(FIRST), 9, 0.0
    while i > 0 and j > 0:
        score += x if FIRST[i - 1] == SECOND[j - 1] else -x * x
        if score > 0.0:
            i -= 1
        else:
            j -= 1
    return score + x * i


def looked_up(x):
    place, score = 0, 0.1
    while place < len(FIRST):
        letter = FIRST[place]
        score += WEIGHTS[letter, SECOND[-1 - place]] * x * score
        place += 1 if letter in "GC" else 2
    return score


def parsed(x):
    text, values = "3*x+2*y-x", {"x": x, "y": x * x}
    place, total, sign, factor = 0, 0.0, 1.0, 1.0
    while place < len(text):
        letter = text[place]
        if letter.isdigit():
            factor = float(letter)
        elif letter in values:
            total += sign * factor * values[letter]
            factor = 1.0
        elif letter in "+-":
            sign = 1.0 if letter == "+" else -1.0
        place += 1
    return total


def cut(x):
    rest, left, parts = x * np.arange(1.0, 9.0).reshape(2, 4), 1, []
    for _ in range(2):
        rest = rest.reshape(left * 2, -1)
        kept = max(1, min(2, int(np.sum(rest > 0.0))))
        parts.append(np.sin(rest)[:, :kept].reshape(left, 2, -1))
        left, rest = kept, rest[:kept] * 1.5
    return parts


def parts_in_a_list(x):
    """A list that gets longer changes none of the arrays in it."""
    parts = cut(x)
    return np.sum(parts[0] ** 2) + np.sum(parts[1])


def by_truth_values(x):
    """Python's truth values are the ints 0 and 1."""
    sums, kept = [0.0, 0.0], [[], []]
    for v in (x * np.array([1.0, -2.0, 3.0])).tolist():
        sums[v > 0.5] += v * v
        kept[v > 0.5].append(v)
    chosen = (np.sin, np.cos)[sums[0] > sums[1]]
    return chosen(sums[0] * sums[1]) + [x, x * x][x > 0.5] + sum(kept[0]) * sum(kept[1])


@BACKENDS
@pytest.mark.parametrize("f", [traced_back, looked_up, parsed, parts_in_a_list, by_truth_values])
def test_derivatives(f, backend):
    of_one_number(f, backend, 0.7)


def test_numpys_truth_values_are_no_places():
    with pytest.raises(TypeError, match="truth value of NumPy's"):
        dj.jit(lambda x: [x[0], x[1]][x[0] > 0.0], backend="python")(np.ones(2))


@BACKENDS
def test_a_letter_behind_the_last_one(backend):
    def f(x):
        place, total = 0, 0.0
        while FIRST[place] != "Z":
            total += x
            place += 1
        return total

    with pytest.raises(IndexError):
        dj.jit(f, backend=backend)(0.7)


def test_an_array_of_a_list_that_changes_later_is_refused():
    def f(x):
        parts = cut(x)
        parts[0][0, 0, 0] = 1.0
        return np.sum(parts[0])

    with pytest.raises(dj.MemoryProblem, match="DJ404"):
        dj.grad(f, backend="python")(0.7)
