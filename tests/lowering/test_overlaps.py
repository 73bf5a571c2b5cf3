"""Where what is read and what is written overlap, all of it is read first, as in NumPy."""

import numpy as np

import diffjit as dj


def places_of_itself(p, values):
    p[p] = values
    return p[0] * 100 + p[1] * 10 + p[2]


def turned_round(a, places):
    a[places] = a[::-1]
    return a[0] * a[1] + a[2]


def test_indices_that_are_written_are_read_first():
    p, values = np.array([2, 0, 1]), np.array([0, 7, 8])
    assert dj.jit(places_of_itself, backend="numba")(p.copy(), values) == places_of_itself(p, values)


def test_a_source_that_is_written_is_read_first():
    a, places = np.array([1.0, 2.0, 5.0]), np.arange(3)
    found = dj.jit(turned_round, backend="numba")(a.copy(), places)
    assert found == turned_round(a.copy(), places)
    np.testing.assert_allclose(dj.grad(lambda a: turned_round(a * 1.0, places), backend="numba")(a), [1.0, 5.0, 2.0])
