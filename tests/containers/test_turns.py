"""Generators and iterators that are taken items of here and there, against plain Python and differences."""

# ruff: noqa: B007, B905 - programs as people write them
# pyright: reportArgumentType=false, reportReturnType=false

import itertools

import numpy as np
import pytest

import diffjit as dj
from tests.containers.programs import check
from tests.containers.turns import Writer

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


@pytest.mark.parametrize("seed", [1, 2, 4, 5, *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 60))])
def test_random_programs(seed):
    outcome = check(seed, writer=Writer)
    assert outcome == "right" or outcome.startswith("unfit") or outcome[:7] in ("[DJ304]", "[DJ402]")


def steps(x, h):
    while True:
        x = x + h * np.sin(x)
        yield x


def several(x, n):
    g = steps(x, 0.1)
    first, second = next(g), next(g)
    for _ in range(n):
        second = second * 0.9 + next(g)
    return first * second


def in_a_loop(x, n):
    g = steps(x, 0.1)
    total = 0.0
    for _ in range(n):
        total += next(g)
    return total


def until(x, n):
    g = steps(x, 0.3)
    v = next(g)
    while v < 2.0:
        v = next(g)
    return v * n


def averager():
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        total += value
        count += 1
        average = total / count


def sent(x, n):
    a = averager()
    next(a)
    found = 0.0
    for k in range(n):
        found = found * 0.5 + a.send(x * k * x)
    return found


def side_by_side(x, n):
    return sum(a * b for (a, b), _ in zip(zip(steps(x, 0.1), steps(x, 0.2)), range(n)))


class Stepper:
    def __init__(self, x):
        self.states = self.run(x)
        self.calls = 0

    def run(self, x):
        while True:
            self.calls += 1
            x = x * np.cos(x) + 0.1 * self.calls
            yield x

    def step(self):
        return next(self.states)


def in_an_object(x, n):
    stepper = Stepper(x)
    total = stepper.step()
    for _ in range(n):
        total += stepper.step() * stepper.calls
    return total


def counted(x, n):
    numbers = itertools.count(1)
    first = sum(k * v for k, v in zip(numbers, [x] * 3))
    second = sum(k * v for k, v in zip(numbers, [x] * n))
    return first + 10.0 * second * x ** next(numbers)


def cycled(x, n):
    weights = itertools.cycle([1.0, 2.0, 3.0])
    total = 0.0
    for i in range(n):
        total += next(weights) * x**i
    return total


def epochs(x, n):
    batches = iter([x, 2.0 * x, x * x])
    total = 0.0
    for _ in range(n):
        v = next(batches, None)
        if v is None:
            batches = iter([x, 2.0 * x, x * x])
        else:
            total = total * 0.9 + v
    return total


def partial_passes(x, n):
    pairs = enumerate(k * x for k in range(n + 3))
    total = 0.0
    for k, v in pairs:
        total += v * k
        if k == 1:
            break
    for k, v in pairs:
        total += 100.0 * v * v
    return total


def leaf(x, depth):
    yield x
    yield x * x
    return x * depth


def branch(x, depth):
    yield x
    if depth > 0:
        yield from leaf(x * 0.5, depth)
        last = yield from leaf(np.sin(x), depth - 1)
        yield last * x
    return x * depth


def delegated(x, n):
    g = branch(x, 2)
    total = 0.0
    for k in range(n):
        total += next(g) * (k + 1)
    return total + sum(g) ** 2


def windows(x, n):
    def moving(values, size):
        kept = []
        for v in values:
            kept.append(v)
            if len(kept) > size:
                kept.pop(0)
            yield sum(kept) / len(kept)

    g = moving((x * k for k in itertools.count(1)), 3)
    total = 0.0
    for _ in range(n):
        total += next(g) ** 2
    return total


def ends(x, n):
    g = (x * k for k in range(n))
    total = 0.0
    try:
        while True:
            total += next(g) ** 2
    except StopIteration:
        total += x
    return total + next(g, 0.5)


def returned(x, n):
    g = branch(x, 0)
    next(g)
    try:
        next(g)
    except StopIteration as end:
        return end.value + x * n
    return 0.0


def closed(x, n):
    g = steps(x, 0.1)
    total = next(g)
    if n > 2:
        g.close()
    return total + sum(v for v, _ in zip(g, range(n)))


def drawn_too_far(x, n):
    left = iter([x, 2.0 * x, 3.0 * x, 4.0 * x])
    for a, b in zip(left, [1.0] * (n - 2)):
        x = x + a * b
    return x * next(left)


def arrays(x, n):
    def rows(u):
        while True:
            u[1:] = 0.5 * (u[1:] + u[:-1])
            yield u * x

    g = rows(np.array([x, 2.0, x * x]))
    total = 0.0
    for _ in range(n):
        total += np.sum(next(g) ** 2)
    return total


def names_of_its_own(x, n):
    def gen(at_, place, send):
        own_ = at_ * place
        while True:
            step = own_ * send
            sent_ = yield step + place
            own_ = own_ + step * (0.1 if sent_ is None else sent_)

    g = gen(x, 0.5, 0.3)
    total = next(g)
    for _ in range(n):
        total += g.send(x) + next(g)
    return total


def consumed(iterator, n):
    return sum(next(iterator) for _ in range(n))


def under_two_names(x, n):
    g = steps(x, 0.2)
    h = g
    return next(g) * next(h) + consumed(g, 2) * consumed(h, n)


def what_is_left(x, n):
    g = (x * k for k in range(n + 3))
    first = next(g)
    u, *rest = itertools.islice(g, 1, 4)
    return first + u * sum(sorted(rest, reverse=True)) + max(g) + sum(list(g))


def of_itertools(x, n):
    pairs = itertools.pairwise([x, x * x, x**3])
    rows = itertools.product([x, 1.0], [2.0, x * n])
    sums = itertools.accumulate([x, 2.0 * x, 3.0 * x], lambda a, b: a * b)
    total = next(pairs)[1] + next(pairs)[1] + next(rows)[1] + next(rows)[1] * next(rows)[0]
    return total + next(sums) * next(sums) + next(sums)


def a_list_of_them(x, n):
    generators = [steps(x, 0.1), steps(2.0 * x, 0.3)]
    total = 0.0
    for k in range(n):
        for g in generators:
            total += next(g) * (k + 1)
    return total


PROGRAMS = [
    several, in_a_loop, until, sent, side_by_side, in_an_object, counted, cycled, epochs, partial_passes, delegated,
    windows, under_two_names, what_is_left, of_itertools, returned, closed, drawn_too_far, arrays, names_of_its_own,
    a_list_of_them, ends,
]  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f, backend):
    x, n, h = 0.7, 4, 1e-6
    assert dj.jit(f, backend=backend)(x, n) == pytest.approx(f(x, n), rel=1e-13)
    slope = (f(x + h, n) - f(x - h, n)) / (2 * h)
    assert dj.grad(f, backend=backend)(x, n) == pytest.approx(slope, rel=1e-7)
    assert dj.jvp(lambda v: f(v, n), (x,), (1.0,), backend=backend)[1] == pytest.approx(slope, rel=1e-7)
    ours = dj.grad(f, backend=backend)
    bend = (ours(x + h, n) - ours(x - h, n)) / (2 * h)
    assert dj.hessian(f, backend=backend)(x, n) == pytest.approx(bend, rel=1e-6, abs=1e-8)
    many = dj.vmap(f, in_axes=(0, None), backend=backend)(np.array([x, 0.6]), n)
    assert many == pytest.approx([f(x, n), f(0.6, n)], rel=1e-13)


def test_one_turn_costs_what_a_line_costs():
    """The text is that of a program without generators."""
    text = dj.source(dj.jit(in_a_loop), 0.7, 4)
    assert "raise" not in text
    assert "at_" not in text


def escaping(x):
    def inner():
        yield next(iter([])) * x

    g = inner()
    return next(g) + next(g)


def too_early(x):
    a = averager()
    return a.send(x) + next(a)


def used_up(x):
    g = (x * k for k in range(2))
    return next(g) + next(g) + next(g)


@BACKENDS
@pytest.mark.parametrize(("f", "error"), [(escaping, RuntimeError), (too_early, TypeError), (used_up, StopIteration)])
def test_errors_are_pythons(f, error, backend):
    with pytest.raises(error):
        f(0.5)
    for verb in (dj.jit, dj.grad):
        with pytest.raises(error):
            verb(f, backend=backend)(0.5)


def guarded(x):
    def inner():
        try:
            yield x
        finally:
            yield 2 * x

    g = inner()
    return next(g) + next(g)


def tree(x, depth):
    yield x
    if depth > 0:
        yield from tree(x * 0.5, depth - 1)


def through_itself(x):
    g = tree(x, 3)
    return next(g) * next(g) + sum(g)


def test_a_generator_that_goes_through_itself():
    with pytest.raises(dj.UnsupportedSyntax, match="goes through itself, `tree`"):
        dj.grad(through_itself)(0.5)


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(dj.UnsupportedSyntax, match="`try` in `inner`, a generator that is left"):
        dj.grad(guarded)(0.5)
