"""Loops over lists and dicts that their bodies make longer or shorter, or write to ahead of themselves."""

# ruff: noqa: B007, B905, BLE001, C417, PERF401, RUF007 - programs as people write them

import pytest

import diffjit as dj

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def popped(x, k):
    q = [x, 2 * x, 3 * x, 4 * x]
    r = 0.0
    for v in q:
        r += v * q.pop()
    return r + len(q)


def popped_in_front(x, k):
    q = []
    for i in range(k):
        q.append(x * i)
    r = 0.0
    for v in q:
        r += v * q.pop(0)
    return r + len(q)


def enumerated_and_popped(x, k):
    q = [x, 2 * x, 3 * x, 4 * x]
    r = 0.0
    for i, v in enumerate(q):
        if i == 1:
            q.remove(v) if False else q.pop(1)
        r += v * (i + 1)
    return r


def pairs_of_a_shorter_list(x, k):
    q = [x, 2 * x, 3 * x, 4 * x]
    r = 0.0
    for v, w in zip(q, q[1:]):
        r += v * w
        q.pop()
    return r + len(q)


def mapped(x, k):
    q = [x, 2 * x, 3 * x, 4 * x]
    return sum(map(lambda v: v * q.pop(), q)) + len(q)


def enumerated_and_longer(x, k):
    q = [x, 2 * x]
    r = 0.0
    for i, v in enumerate(q):
        r += v * (i + 1)
        if len(q) < 6:
            q.append(v * x)
    return r + len(q)


def counted_beside(x, k):
    q = [x, 2 * x]
    r = 0.0
    for i, v in zip(range(10), q):
        r += v * (i + 1)
        if len(q) < 6:
            q.append(v * x)
    return r + len(q)


def beside_a_generator(x, k):
    q = [x, 2 * x]
    r = 0.0
    for v, i in zip(q, numbers(k)):
        r += v * (i + 1)
        if len(q) < 6:
            q.append(v * x)
        q[-1] += x
    return r + len(q)


def mapped_and_longer(x, k):
    q = [x, 2 * x]
    s = sum(map(lambda v: v + (q.append(v * x) or 1 if len(q) < k else 2), q))
    return s + len(q)


def backwards_and_longer(x, k):
    q = [x, 2 * x, 3 * x]
    r = 0.0
    for v in reversed(q):
        r += v
        q.append(v)
        if len(q) > 5:
            q[0] = r
    return r + len(q)


def backwards_and_written(x, k):
    q = [x, 2 * x, 3 * x]
    r = 0.0
    for i, v in enumerate(reversed(q)):
        r += v * (i + 1)
        q[1] = r
    return r + len(q)


def pairs_without_the_first(x, k):
    q = [x]
    for i in range(k):
        q.append(x * i)
    r = 0.0
    for v, w in zip(q, q[1:]):
        r += v * w
        q[-1] = r
        q.pop(0)
    return r + sum(q)


def a_dict_that_grows(x, k):
    d = {"a": x}
    r = 0.0
    try:
        for key, v in d.items():
            r += v
            d["b"] = r
    except RuntimeError:
        r += 10
    for key in d:
        d["c"] = r
        if key == "a":
            break
    return r + sum(d.values())


def deleted(x, k):
    q = [x, 2 * x, 3 * x]
    try:
        del q[1]
        del q[5]
    except IndexError:
        q.append(x)
    return sum(q) * len(q)


def work(x, k):
    work = [(x, 0)]
    r = 0.0
    for i, (v, depth) in enumerate(work):
        r += v * (depth + 1) * i
        if depth < k:
            work.append((v * x, depth + 1))
    return r + len(work)


def numbers(k):
    i = 0
    while i < k:
        i += 1
        yield i


def popped_in_a_try(x, k):
    q = [x, 0.5, 0.3 * x]
    for i in range(k):
        q.append(x * i)
    try:
        for v in q:
            x += v * q.pop(0)
        q.append(q[k])
    except IndexError:
        x = x * 2.0
    return sum(q) * x + len(q)


def listed_in_a_try(x, k):
    q = [x, 0.5, 0.3 * x]
    for i in range(k):
        try:
            q = [v * q.pop(0) + 0.1 * i for v in q]
        except Exception:
            q.append(x)
    return sum(q) + len(q)


def written_ahead_in_a_try(x, k):
    q = [x * i for i in range(k)]
    others = [1.0, 2.0, x, 4.0, 5.0]

    def doubled(i):
        q[i] = q[i] * 2.0
        q[2] = q[1]
        return q[0] + q[i]

    try:
        r = [v * doubled(i) * others[i] for i, v in enumerate(q)]
    except IndexError:
        r = [x]
    return sum(r) + sum(q)


FUNCTIONS = [
    popped_in_a_try,
    listed_in_a_try,
    written_ahead_in_a_try,
    popped,
    popped_in_front,
    enumerated_and_popped,
    pairs_of_a_shorter_list,
    mapped,
    enumerated_and_longer,
    counted_beside,
    beside_a_generator,
    mapped_and_longer,
    backwards_and_longer,
    backwards_and_written,
    pairs_without_the_first,
    a_dict_that_grows,
    deleted,
    work,
]


@BACKENDS
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_loops_over_what_they_change(function, backend):
    x, k, h = 0.7, 5, 1e-6
    assert dj.jit(function, backend=backend)(x, k) == pytest.approx(function(x, k), rel=1e-12)
    slope = (function(x + h, k) - function(x - h, k)) / (2 * h)
    assert dj.grad(function, backend=backend)(x, k) == pytest.approx(slope, rel=1e-6)
    assert dj.jvp(lambda v: function(v, k), (x,), (1.0,), backend=backend)[1] == pytest.approx(slope, rel=1e-6)


@BACKENDS
def test_what_python_refuses_in_such_loops(backend):
    def grown(x):
        cells = {"a": x}
        for key in cells:
            cells[key + "b"] = x
        return sum(cells.values())

    def missing(x):
        items = [x, 2.0 * x]
        del items[5]
        return sum(items)

    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        dj.grad(grown, backend=backend)(0.5)
    with pytest.raises(IndexError, match="list assignment index out of range"):
        dj.grad(missing, backend=backend)(0.5)

    def backwards(x, k):
        items = [x * i for i in range(k)]
        total = 0.0
        for item in reversed(items):
            total += item
            items.pop()
        return total

    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ115.*backwards"):
        dj.grad(backwards, backend=backend)(0.5, 4)
