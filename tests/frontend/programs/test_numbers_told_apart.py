"""Numbers and arrays of different types on the paths of a program: told apart when it runs."""

import random

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.array([0.3, 0.5, 0.7])
V = np.array([1.0, -0.5, 0.3])


def ints_or_floats(x, n):
    r = np.zeros(3, dtype=int) if n > 2.5 else x * 2.0
    s = np.hstack((r, x)).astype(float)
    r[0] = 7.9
    return np.sum(s**2) + r[0] * np.sum(x)


def number_or_array(x, n):
    r = x[0]
    if n > 2.5:
        r = x
    y = r * x + np.sin(r)
    return np.sum(y) + np.mean(r)


def in_a_loop(x, n):
    r = x[1]
    for k in range(3):
        if n > k:
            r = r + x
    return np.sum(r * r)


def vector_or_matrix(x, n):
    r = x
    if n > 2.5:
        r = np.outer(x, x)
    r = r @ r if r.ndim == 2 else r
    return np.sum(r) + r.shape[0]


def real_or_complex(x, n):
    r = np.lib.scimath.sqrt(x - 0.2 * n)
    return np.sum(np.abs(r + 0.3) ** 2)


def unit(x, n):
    """A direction, or None where there is none."""
    length = np.sqrt(np.sum(x * x))
    return x / length if length > 0.5 * n - 0.5 else None


def none_or_two_types(x, n):
    v = unit(x, n)
    if v is None:
        v = np.array([0, 2, 1])
    w = v * 2.0 + x
    return v[0] + w @ v + v.shape[0] + len(v) + sum(v) + np.dot(v, x) + (1.0 if v is None else 2.0) + v.sum()


def none_or_two_types_after_a_try(x, n):
    try:
        length, v = np.sqrt(np.sum(x * x)), unit(x, n) if n < 2.5 else None
        if n > 2.5:
            raise ValueError
    except ValueError:
        length, v = 0, np.array([0, 2, 1])
    v = v.astype(float)
    v[0] += x[1]
    return length + np.sum(v * v)


def none_or_two_numbers(x, n):
    best = None
    for k in range(3):
        now = 0 if x[k] < 0.2 * n else x[k]
        if best is None or now > best:
            best = now
    return best * x[0] + (0.0 if best is None else 1.0)


def stacked(x, n):
    """A table that begins without rows, and is a vector after the first turn."""
    rows, now = np.array([]), x
    for _ in range(4):
        change = np.zeros(3)
        change[0] = x[0] * now[1] - now[0]
        now = now + 0.2 * n * change
        if rows.size == 0:  # noqa: SIM108 - two paths
            rows = now
        else:
            rows = np.vstack([rows, now])
    return np.sum(np.array(rows)[-1] ** 2)


def gone_through(x, n):
    r = x if n > 2.5 else np.outer(x, x)
    total = 0.0
    for v in r:
        total += np.sum(v**2)
    for k, (a, v) in enumerate(zip(x, r, strict=True)):
        if np.sum(v) < 0.1:
            break
        total += k * a * np.sum(v)
    else:
        total += 3.0 * x[0] * x[1]
    return total


def left_from_a_loop(x, n):
    def first(r):
        for k, v in enumerate(reversed(r)):
            if np.sum(v) < 0.6:
                return np.sum(v) * k
        return 7.0 * np.sum(r[0])

    r = x if n > 2.5 else np.outer(x, x)
    return first(r) + sum(np.sum(v) for v in r) + max(np.sum(v) for v in r)


def found(v, n):
    """A number on one path, an array on the other."""
    return 0.25 if n > 2.5 else np.sin(v)


def asked_before_use(x, n):
    first = found(x[:1], n)
    if np.ndim(first) > 0:
        first = first[0]
    second = found(x, n)
    third = second * x[1] if isinstance(second, float) else second[2] * 3.0
    if not isinstance(second, float) and second.size == 3 and second[1] > 0.1:
        third = third * second[1]
    if np.isscalar(second) or second.ndim > 1 or second[0] > 9.0:
        return first * third * x[0]
    return first * third + second[0]


def asked_in_a_loop(x, n):
    total = 0.0
    for k in range(3):
        y = found(x[k:], 4.0 - n * k)
        if isinstance(y, float):
            total += y * x[k]
            continue
        total += y[0] * (k + 1)
    return total


def list_or_array(x, n):
    y = [x[0], 2.0 * x[1]] if n > 2.5 else np.array([x[0], x[1] ** 2])
    y[0] = y[0] * x[2]
    return np.sum(y) + y[1] * x[0] + sum(v * v for v in y) * len(y)


def array_of_a_list_with_another_name(x, n):
    y = [x[0], x[1] * x[2]]
    z = y
    if n > 2.5:
        y = np.array(y)
    y[0] *= 3.0
    return z[0] + y[0] * x[1] + z[1]


def form_of(x, k):
    if k == 0:
        return None
    if k == 1:
        return x[0] * 2.0
    return x[:2] if k == 2 else [x[1], x[2]]


def asked_one_after_the_other(x, n):
    """Each question leaves fewer of the things that it may be."""
    total = 0.0
    for k in range(5):
        found = form_of(x, int(n) - 2 + k % 3)
        if found is None:
            total += 1.0
        elif isinstance(found, list):
            total += found[0] * found[1]
        elif np.ndim(found) > 0:
            total = total * 2.0 + np.sum(found) ** 2
        else:
            total += found**3
    return total


def asked_beside(x, n):
    """Some of what it may be is asked for at once, and what is left behind the branches is all of it."""
    found = form_of(x, int(n) - 1)
    if found is not None and not isinstance(found, list):
        found = found * x[2]
    scale = 1.0 if found is None or isinstance(found, list) else np.sum(found)
    return scale * x[0] + (found[0] if isinstance(found, list) else 0.0)


PROGRAMS = [
    asked_one_after_the_other,
    asked_beside,
    list_or_array,
    array_of_a_list_with_another_name,
    asked_before_use,
    asked_in_a_loop,
    stacked,
    gone_through,
    left_from_a_loop,
    ints_or_floats,
    number_or_array,
    in_a_loop,
    vector_or_matrix,
    real_or_complex,
    none_or_two_types,
    none_or_two_types_after_a_try,
    none_or_two_numbers,
]


def agrees(program, backend, n):
    h = 1e-6
    slope = (program(X + h * V, n) - program(X - h * V, n)) / (2 * h)
    f = dj.grad(program, backend=backend)
    value, change = dj.jvp(program, (X, n), (V, 0.0), backend=backend)
    assert np.isclose(value, program(X.copy(), n), rtol=1e-12)
    np.testing.assert_allclose([change, f(X, n) @ V], slope, rtol=1e-6, atol=1e-8)
    bend = (f(X + h * V, n) - f(X - h * V, n)) / (2 * h)
    np.testing.assert_allclose(dj.jvp(f, (X, n), (V, 0.0), backend=backend)[1], bend, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [2.0, 3.0])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, backend, n):
    agrees(program, backend, n)


def test_lengths_of_what_holds_nothing(monkeypatch):
    """Where compiled code tests what it relies on, an array that stands for nothing has the length of its type."""
    monkeypatch.setattr(dj.settings, "checked", True)
    agrees(stacked, "numba", 2.0)


def test_lanes():
    found = dj.vmap(dj.grad(number_or_array, backend="python"), in_axes=(None, 0), backend="python")(
        X, np.array([2.0, 3.0])
    )
    one = dj.grad(number_or_array, backend="python")
    np.testing.assert_allclose(found, [one(X, 2.0), one(X, 3.0)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_total_that_becomes_an_array(backend):
    """It is one behind the first turn, beside what is told apart in each: the program can return it."""

    def spread(x):
        total = 0.0
        for j in range(len(x)):
            factors = np.array([1])
            if x[j] > 0.4:
                factors = factors * x[j]
            total = total + factors[0] * x**2
        return total

    value, slope = dj.jvp(spread, (X,), (V,), backend=backend)
    np.testing.assert_allclose(value, spread(X), rtol=1e-14)
    np.testing.assert_allclose(slope, (spread(X + 1e-6 * V) - spread(X - 1e-6 * V)) / 2e-6, rtol=1e-8)


FORMS = ["x[0]", "x * 1.5", "np.outer(x, x)", "np.arange(3)", "np.array(2)", "x[:2]", "np.sum(x) * 1j + x", "3"]
USES = [
    "r * x[1]", "np.sin(r) + r", "r - np.mean(r)", "np.sum(r)", "np.asarray(r) * 2.0", "r ** 2",
    "np.atleast_1d(r) * x[2]", "-r", "np.where(np.real(r) > 0.2, r, 0.1)", "np.ravel(r)",
]  # fmt: skip


def text_of(seed):
    """A program whose variable is of one of several types, by branches."""
    choose = random.Random(seed)
    a, b = choose.sample(FORMS, 2)
    lines = ["def program(x, n):", f"    r = {a}", "    if n > 2.5:", f"        r = {b}"]
    lines += [f"    r = {choose.choice(USES)}" for _ in range(choose.randrange(1, 4))]
    return "\n".join([*lines, "    return np.sum(np.real(r) * 1.3) + np.sum(np.imag(r))"])


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    text = text_of(seed)
    space = {"np": np, "__name__": __name__}
    exec(text, space)  # noqa: S102 - a program that was made here
    space["text"] = text
    for n in (2.0, 3.0):
        agrees(space["program"], "python", n)


def axis_and_angle(x):
    """Where there is no angle, the axis is one of ints."""
    axis = np.array([0, 0, 1]) if x > 1.0 else np.array([x, x * x, 1.0])
    return x, axis


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_an_array_of_ints_or_floats_is_returned_as_floats(backend):
    for x, slope in ((0.5, [1.0, 2 * 0.5, 0.0]), (1.5, np.zeros(3))):
        angle, axis = dj.jit(axis_and_angle, backend=backend)(x)
        assert (angle, axis.dtype) == (x, np.float64)
        np.testing.assert_array_equal(axis, axis_and_angle(x)[1])
        along = dj.jvp(axis_and_angle, (x,), (1.0,), backend=backend)[1]
        np.testing.assert_allclose(along[1], slope, rtol=1e-12)
        _, pullback = dj.vjp(axis_and_angle, x, backend=backend)
        np.testing.assert_allclose(pullback((0.0, np.array([1.0, 2.0, 3.0])))[0], np.dot(slope, [1, 2, 3]), rtol=1e-12)
        lanes = dj.vmap(axis_and_angle, backend=backend)(np.array([0.5, 1.5]))
        np.testing.assert_array_equal(lanes[1], [axis_and_angle(0.5)[1], axis_and_angle(1.5)[1]])


def polarisation(x):
    """Real where the wave propagates, complex where it does not; the axis is one of ints at normal incidence."""
    root = np.sqrt(1.0 - x) * np.ones(2) if x < 1.0 else 1j * np.sqrt(x - 1.0) * np.ones(2)
    axis = np.array([0, 1]) if x < 0.5 else root * x
    return root, axis, np.abs(axis)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_an_array_of_real_or_complex_numbers_is_returned_as_complex_numbers(backend):
    seeds = np.array([1.0 + 2.0j, 0.5 - 1.0j]), np.array([-1.0j, 0.3 + 0.0j]), np.array([0.7, -0.2])
    for x in (0.25, 0.75, 1.5):
        found, wanted = dj.jit(polarisation, backend=backend)(x), polarisation(x)
        assert [v.dtype for v in found] == [np.complex128, np.complex128, np.float64]
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, want)
        ends = zip(polarisation(x - 1e-6), polarisation(x + 1e-6), strict=True)
        slopes = [(np.asarray(b, complex) - a) / 2e-6 for a, b in ends]
        along = dj.jvp(polarisation, (x,), (1.0,), backend=backend)[1]
        for got, want in zip(along, slopes, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-12)
        _, pullback = dj.vjp(polarisation, x, backend=backend)
        want = sum(np.sum(seed * slope) for seed, slope in zip(seeds, slopes, strict=True)).real
        np.testing.assert_allclose(pullback(seeds)[0], want, rtol=1e-8)


def harmonics(x):
    """Lengths have real roots, so that what is made of them may be a length."""
    root = np.lib.scimath.sqrt(x.shape[0])
    side = int(root)
    grid = x.reshape((side, side))
    below = x[0] if x.size < 0 else 2.0 * x[1]
    return (grid @ grid).sum() * root + below, np.lib.scimath.log(x.size + 1)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_lengths_are_never_negative(backend):
    x = np.array([0.3, 0.7, -0.2, 1.1])
    found, wanted = dj.jit(harmonics, backend=backend)(x), harmonics(x)
    assert [type(v) for v in found] == [type(v) for v in wanted] == [np.float64] * 2
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    steps = 1e-6 * np.eye(4)
    slope = [(harmonics(x + h)[0] - harmonics(x - h)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(dj.grad(lambda x: harmonics(x)[0], backend=backend)(x), slope, rtol=1e-8)
    loop = dj.jit(lambda n: sum([k for k in range(n) if k - 2 < 0 or k >= 0 > k - 4]), backend=backend)
    assert loop(7) == sum([k for k in range(7) if k - 2 < 0 or k >= 0 > k - 4])


def test_what_is_refused_behind_numbers_that_are_told_apart_is_told():
    def model(x):
        axis = np.array([0, 1, 0]) if x[0] < 0.1 else np.array([1j * x[0], x[1], 2.0])
        side = np.cross(axis, np.array([1.0, 2.0, 3.0]))
        return np.sum(np.abs(side)) * int(x[2] + 0j)

    with pytest.raises(dj.DiffjitError, match="int does not take complex numbers"):
        dj.grad(model)(np.array([0.3, 0.4, 0.5]))

    def either(x):  # here the two types are what is refused
        return 1.0 if x[0] < 0.1 else x

    with pytest.raises(dj.DiffjitError, match="DJ304"):
        dj.jit(either)(np.array([0.3, 0.4, 0.5]))
