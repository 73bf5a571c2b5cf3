"""Lists whose length the run decides, of numbers and arrays that have no type in common: each item knows what it is."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError


def mixed(x, n):
    items = []
    for k in range(n):
        if k % 2:
            items.append(np.array([x * k, 1.0]))
        else:
            items.append(x * k)
    return items


def squares(x, n):
    return sum(np.sum(v * v) for v in mixed(x, n))


def the_nearest(x, n):
    """Distances of one row and column, as a filter has them, and their threshold."""
    distances = [np.array([[x - 0.7 * k]]) @ np.array([[x + k]]) for k in range(n)]
    distances.append(0.6)
    found = distances.index(min(distances))
    return found * x + np.sum(distances[found])


def layers(x, n):
    parts = []
    for k in range(n):
        parts.append(np.eye(2) * x + k)
        parts.append(np.ones(2) * k * x)
    h = np.array([1.0, x])
    for weights, offset in zip(parts[::2], parts[1::2], strict=True):
        h = np.tanh(0.2 * weights @ h - 0.1 * offset)
    return np.sum(h)


def changed_in_place(x, n):
    items = mixed(x, n)
    part = items[1]
    part[0] += x * x
    items[3] = items[3] * 2.0
    items.insert(0, np.eye(2) * x)
    del items[2]
    items.extend([x, np.ones(2)])
    return squares_of(items) * len(items) + np.sum(part)


def squares_of(items):
    total = 0.0
    for v in items:
        total = total + np.sum(v * v)
    return total


def nothing_among_them(x, n):
    items = [None if k == 0 else np.ones(2) * x if k % 2 else x * k for k in range(n)]
    return sum(np.sum(v) * k for k, v in enumerate(items) if v is not None)


def of_a_dict(x, n):
    found = {}
    for k in range(n):
        found[k] = np.array([x * k, 1.0]) if k % 2 else x * k
    return sum(np.sum(v) * x for v in found.values())


def of_known_length_elsewhere(x, n):
    items = mixed(x, n) if x > 1.0 else [x, np.ones(2) * x]
    return sum(k * np.sum(v) for k, v in enumerate(reversed(items)))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "f",
    [squares, the_nearest, layers, changed_in_place, nothing_among_them, of_a_dict, of_known_length_elsewhere],
)
def test_as_python(f, backend):
    gradient = dj.grad(f, backend=backend)
    for x in (1.3, 0.8):
        numerical = (f(x + 1e-6, 4) - f(x - 1e-6, 4)) / 2e-6
        np.testing.assert_allclose(dj.jit(f, backend=backend)(x, 4), f(x, 4), rtol=1e-12)
        np.testing.assert_allclose(gradient(x, 4), numerical, rtol=1e-6)
        along = dj.jvp(lambda x: f(x, 4), (x,), (1.0,), backend=backend)
        np.testing.assert_allclose(along, (f(x, 4), numerical), rtol=1e-6)


def mixed_by_value(x, n):
    items = []
    for k in range(n):
        items.append(np.array([x * k, 1.0]) if k * x > 2.0 else x * k)  # noqa: PERF401 - it grows
    return items


def test_what_has_one_form_for_all_items_is_refused():
    with pytest.raises(DiffjitError, match="1-dimensional float64 array on one path and a float on another"):
        dj.jit(mixed_by_value, backend="python")(1.3, 4)
    with pytest.raises(DiffjitError):
        dj.jit(lambda x, n: np.array(mixed_by_value(x, n)), backend="python")(1.3, 4)


def test_what_the_number_of_the_turn_decides_is_known():
    found = dj.jit(mixed, backend="python")(1.3, 4)
    assert [type(v) for v in found] == [type(v) for v in mixed(1.3, 4)]
    for item, wanted in zip(found, mixed(1.3, 4), strict=True):
        np.testing.assert_allclose(item, wanted, rtol=1e-14)
