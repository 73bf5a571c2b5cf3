"""Sets, dicts, counters and deques that change by operators and `update`, under two names, as Python has it."""

from collections import Counter, defaultdict, deque

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import TypeProblem

BACKENDS = ["python", "numba"]


def kept_of_two(x, n):
    nodes = set(range(n))
    seen = nodes
    nodes &= {1, 2, 9}
    return x**2 * len(seen)


def taken_out(x, n):
    nodes = set(range(n))
    seen = nodes
    nodes -= {1, 2, 9}
    nodes ^= {0, 40}
    return x**2 * sum(sorted(seen))


def known_by_unknown(x, n):
    nodes = {1, 2, 3, 17}
    seen = nodes
    nodes &= set(range(n))
    nodes |= set(range(n + 3, n + 5))
    return x**2 * sum(sorted(seen)) + len({1, 99} - seen) + x * len({1, 2} | seen)


def by_methods(x, n):
    nodes = {1, 2, 17}.union(range(n))
    both = {1, 50}.intersection(range(n))
    nodes.update([70], {71})
    nodes.difference_update({0}, {1})
    nodes.symmetric_difference_update({2, 90})
    other = {1, 2, 3}
    other.intersection_update({1, 3, 5}, {3})
    return x**3 * len(nodes) + x * len(both) + {1, 2}.issubset(range(n)) + len(other)


def compared(x, n):
    nodes = set(range(n))
    facts = (nodes < {0, 1, 2, 3, 4, 5}, nodes > {1}, {1} < nodes, nodes != {1}, {0, 1} <= nodes)
    return x**2 * sum(2.0**k * fact for k, fact in enumerate(facts))


def forces(x, n):
    """Values by the numbers of nodes."""
    found = {}
    for k in range(n):
        found[2 * k] = x**k
    return found


def updated(x, n):
    loads = {0: 5.0 * x, 2: x}
    first = loads
    loads.update(forces(x, n))
    loads.update((k + 50, x * k) for k in range(n))
    return first[2] * first[0] + first[4] + len(first) + first[51]


def joined(x, n):
    loads = {0: 5.0 * x, 2: x}
    both = loads | forces(x, n)
    loads |= forces(2.0 * x, n)
    return both[2] * both[4] + loads[4] * len(both)


def counted(x, n):
    a, b = Counter(k % 3 for k in range(n)), Counter(k % 2 for k in range(n - 2))
    facts = (a | b, a & b, a + b, a - b)
    return x**2 * sum(c[0] + 10 * c[1] + 100 * c[2] + 1000 * len(c) for c in facts)


def counted_in_place(x, n):
    a, b = Counter(k % 3 for k in range(n)), Counter(k % 2 for k in range(n - 2))
    first, copied = a, a.copy()
    a |= b
    a += b
    a.subtract([0, 1])
    a -= Counter([2, 2])
    b &= a
    return x**2 * (first[0] + 10 * first[1] + 100 * first[2] + copied[77] + sum(b.values())) + len(first)


def letters(x, n):
    a, b = Counter("abca"), Counter("ab")
    a += b
    return x**2 * ((a | b)["a"] + (a - b)["c"] + (a & b)["b"]) + n * len(a)


def in_a_queue(x, n):
    queue = deque(maxlen=4)
    for k in range(n):
        queue.append(x**k)
    first = queue
    queue += [x, 2.0 * x]
    queue.remove(x)
    twice = queue * 2 + deque([x])
    queue *= 2
    del queue[0]
    return sum(v * (k + 1) for k, v in enumerate(first)) + len(twice) * x + (first == queue)


def defaults(x, n):
    sums = defaultdict(float)
    for k in range(n):
        sums[k % 3] += x * k
    first = sums
    sums |= {1: 5.0 * x}
    return first[1] * first[0] + (sums | {9: x})[9] + first[44]


PROGRAMS = [
    kept_of_two, taken_out, known_by_unknown, by_methods, compared, updated, joined, counted, counted_in_place, letters,
    in_a_queue, defaults,
]  # fmt: skip


def at_run_time(program):
    """The program of a length that is only known when it runs."""
    return lambda x, y: program(x, int(y))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_python_has_it(program, backend):
    run = at_run_time(program)
    both = dj.value_and_grad(run, backend=backend)
    for y in (5.0, 7.0):
        value, slope = both(1.3, y)
        assert value == pytest.approx(run(1.3, y), rel=1e-13)
        assert slope == pytest.approx((run(1.3 + 1e-5, y) - run(1.3 - 1e-5, y)) / 2e-5, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("program", PROGRAMS)
def test_forward_and_second(program):
    run = at_run_time(program)
    grad = dj.grad(run, backend="python")
    slope = dj.jvp(run, (1.3, 5.0), (1.0, 0.0), backend="python")[1]
    assert slope == pytest.approx(grad(1.3, 5.0), rel=1e-12)
    bend = (grad(1.3 + 1e-5, 5.0) - grad(1.3 - 1e-5, 5.0)) / 2e-5
    assert dj.jvp(grad, (1.3, 5.0), (1.0, 0.0), backend="python")[1] == pytest.approx(bend, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_length_is_an_int(program):
    assert dj.jit(program, backend="python")(1.3, 6) == pytest.approx(program(1.3, 6), rel=1e-13)


def test_what_python_does_not_join():
    for wrong in (lambda x: [x] + range(3), lambda x: deque([x]) + [x], lambda x: [x] + {"a": x}):  # noqa: RUF005
        with pytest.raises(TypeError):
            wrong(1.0)
        with pytest.raises((TypeError, TypeProblem)):
            dj.jit(wrong, backend="python")(1.0)
    array = dj.jit(lambda x: x * np.arange(2.0) + [x, 2.0 * x], backend="python")(3.0)
    np.testing.assert_array_equal(array, [3.0, 9.0])
