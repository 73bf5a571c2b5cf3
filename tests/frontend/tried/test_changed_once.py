"""Inside a `try`, what an augmented assignment has changed is not changed again where storing it may raise."""

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.9, 1.3, 0.4])


def lists_in_a_list(x, k):
    rows = []
    for i in range(k):
        rows.append([x[0] * i])  # noqa: PERF401 - a list that grows
    try:
        rows[k - 1] += [x[1]]
        rows[k - 2] *= 2
    except IndexError:
        rows.append([x[2]])
    return sum(sum(row) for row in rows)


def single_precision(x, k):
    a, b = x.astype(np.float32), x.astype(np.float32)
    try:
        a[[0, k]] += x[:2]
    except IndexError:
        a[0] = 9.0
    try:
        b[b > 0.5] *= x[k]
    except IndexError:
        b[1] = 3.0
    return float(a.sum() + b.sum())


class Kept:
    def __init__(self, x):
        self.held, self.array, self.uses = [x[0]], x.copy(), 0

    @property
    def items(self):
        self.uses += 1
        return self.held

    @items.setter
    def items(self, value):
        self.uses += 10
        if len(value) > 2:
            raise ValueError("full")
        self.held = value


def properties(x, k):
    kept = Kept(x)
    try:
        for i in range(k):
            kept.items += [x[i]]
        kept.array[kept.array > 0.5] += np.float64(2.0)
        kept.array[k] += 1.0
    except (ValueError, IndexError):
        kept.uses += 100
    return sum(kept.held) * kept.uses + kept.array.sum()


def tuples_of_arrays(x, k):
    parts = (x.copy(), x * 2.0)
    try:
        parts[k] += 1.0
    except (TypeError, IndexError):
        parts[0][0] += 0.25
    return sum(part.sum() for part in parts)


def outcome(function, *args):
    try:
        return float(function(*args))
    except Exception as error:  # noqa: BLE001 - what Python raises is compared
        return type(error).__name__


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", [lists_in_a_list, single_precision, properties, tuples_of_arrays])
def test_changed_once(program, backend):
    made = dj.jit(program, backend=backend)
    for k in (-4, -1, 0, 1, 2, 3):
        wanted, found = outcome(program, X.copy(), k), outcome(made, X.copy(), k)
        assert found == (pytest.approx(wanted, rel=1e-6) if isinstance(wanted, float) else wanted), k
