"""What random programs have found."""

# ruff: noqa: B012, BLE001 - a return in a `finally` is what is tested

import numpy as np
import pytest

import diffjit as dj

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def compared(function, *point, backend, rest=()):
    """Value, memory, `grad`, `jvp` and second derivatives of a function of arrays and numbers, by differences."""
    fresh = lambda: [np.array(p) if isinstance(p, np.ndarray) else p for p in point]
    ours, plain = fresh(), fresh()
    assert dj.jit(function, backend=backend)(*ours, *rest) == pytest.approx(function(*plain, *rest), rel=1e-12)
    for left, right in zip(ours, plain, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)
    argnums = tuple(range(len(point)))
    directions = [np.cos(np.arange(np.size(p)) + k).reshape(np.shape(p)) for k, p in enumerate(point)]
    directions = [d if isinstance(p, np.ndarray) else float(d) for d, p in zip(directions, point, strict=True)]
    moved = lambda h: [p + h * d for p, d in zip(point, directions, strict=True)]
    inner = lambda bars: sum(np.sum(bar * d) for bar, d in zip(bars, directions, strict=True))
    h = 1e-5
    slope = (function(*moved(h), *rest) - function(*moved(-h), *rest)) / (2 * h)
    grad = dj.grad(function, argnums=argnums, backend=backend)
    assert inner(grad(*fresh(), *rest)) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    of_point = lambda *args: function(*args, *rest)
    assert dj.jvp(of_point, tuple(fresh()), tuple(directions), backend=backend)[1] == pytest.approx(slope, rel=1e-6)
    bend = (inner(grad(*moved(h), *rest)) - inner(grad(*moved(-h), *rest))) / (2 * h)
    second = dj.jvp(dj.grad(of_point, argnums=argnums), tuple(fresh()), tuple(directions), backend=backend)[1]
    assert inner(second) == pytest.approx(bend, rel=1e-5, abs=1e-6)


@BACKENDS
def test_a_tuple_refuses_an_array_that_has_been_changed(backend):
    def changed(a, x):
        pair = (a[1:], x)
        try:
            pair[0] *= x
        except TypeError:
            a[0] += 3.0 * x
        return np.sum(a * a * np.arange(3))

    def refused(a, x):
        pair = (a, x)
        if x > 0.1:
            pair[0] += x
        return np.sum(a)

    compared(changed, np.array([0.2, 0.5, 0.7]), 0.9, backend=backend)
    with pytest.raises(TypeError):
        dj.grad(refused, backend=backend)(np.ones(3), 0.5)


class Counted:
    def __init__(self, rows):
        self.rows, self.writes = rows, 0

    def __getitem__(self, k):
        return self.rows[k]

    def __setitem__(self, k, value):
        self.writes += 1
        self.rows[k] = value * 1.5


@BACKENDS
def test_an_objects_own_setitem_is_called_with_what_changed_in_place(backend):
    def counted(m, x):
        held = Counted(m)
        held[0] += x
        held[1] *= m[0]
        return np.sum(m * m) * held.writes

    compared(counted, np.array([[0.2, 0.5], [0.7, 0.1]]), 0.9, backend=backend)


@BACKENDS
def test_a_list_that_one_branch_makes(backend):
    def made(a, x, n):
        if x > 0.5:
            q = [x]
            for i in range(n):
                q.append(a[i] * q[i])
        if x > 0.4:
            x = x + q[1] * q[2]
        return x * np.sum(a)

    def changed(a, x, n):
        q = None
        if x > 0.5:
            q = [x]
            for i in range(n):
                q.append(a[i] * q[i])
        if x > 0.4:
            q[0] = q[1] * x
            q.append(x)
            x = x + q[0] * q[1] * q[-1] * len(q)
        return x * np.sum(a)

    def starred(a, x, n):
        for _ in range(n):
            try:
                first, *rest = a
                x = x + rest[0] * first
                x = x + rest[1] * 0.1 * len(rest)
                if x > 9.0:
                    raise ValueError
            except IndexError:
                x = x * 0.5
        return x * np.sum(a)

    for function in (made, changed, starred):
        compared(function, np.array([0.2, 0.5, 0.7, 0.4]), 0.9, backend=backend, rest=(3,))


@BACKENDS
def test_the_length_of_what_may_be_none(backend):
    def shortened(a, x):
        try:
            if x > 0.1:
                first, *rest = a
                x = x * first - len(rest) * 0.1 * x
        finally:
            a[0] = 1.0
        return x * x + np.sum(a * a)

    compared(shortened, np.array([0.2, 0.5, 0.7, 0.4]), 0.9, backend=backend)


@BACKENDS
def test_a_statement_that_may_raise_behind_a_write_makes_it_once(backend):
    def unpacked(a, m, x):
        try:
            a[::-1], m[0, 1] = a, x
        except IndexError:
            a[0] = x
        return np.sum(a * a * np.arange(4)) + np.sum(m * m)

    def chained(a, m, x):
        try:
            a[:] = m[1, 0:4] = a[::-1]
        except ValueError:
            a[0] = x * x
        return np.sum(a * a * np.arange(4)) + np.sum(m * m) * x

    class Twice:
        def __init__(self, rows):
            self.rows, self.writes = rows, 0

        def __getitem__(self, k):
            return self.rows[k]

        def __setitem__(self, k, value):
            self.writes += 1
            if self.writes > 1:
                raise ValueError(k)
            self.rows[k] = value

    def own(a, m, x):
        held = Twice(m)
        try:
            held[0] += x
            held[1] += a[0]
            held[0] += x
        except (IndexError, ValueError):
            a[0] = x * x
        return np.sum(a * a) + np.sum(m * m) * held.writes

    for function in (unpacked, chained, own):
        compared(function, np.array([0.2, 0.5, 0.7, 0.4]), np.array([[0.3, 0.6], [0.2, 0.8]]), 0.9, backend=backend)


@BACKENDS
@pytest.mark.parametrize("shown", [np.diagonal, np.diag])
def test_a_diagonal_is_not_written_to(shown, backend):
    def write(m, x):
        row = shown(m)
        row[0] = x
        return np.sum(m)

    with pytest.raises(dj.MemoryProblem, match=r"DJ404.*np.diagonal gives is read-only"):
        dj.grad(write, backend=backend)(np.eye(2), 1.0)


@BACKENDS
def test_what_always_raises_leaves_arguments_to_derivatives(backend):
    def fails(a, x):
        a[0] = x
        a[1:] *= a[0]
        return np.sum(a) * {"u": x}["w"]

    a, x = np.array([0.2, 0.5, 0.7]), 0.9
    direction = (np.ones(3), 1.0)
    verbs = [
        lambda: dj.grad(fails, argnums=(0, 1), backend=backend)(a, x),
        lambda: dj.hessian(fails, backend=backend)(a, x),
        lambda: dj.jacfwd(fails, backend=backend)(a, x),
        lambda: dj.jacrev(fails, backend=backend)(a, x),
        lambda: dj.jet(fails, (a, x), tuple((d, 0.0 * d) for d in direction), backend=backend),
        lambda: dj.vmap(dj.grad(fails), in_axes=(0, None), backend=backend)(a.reshape(1, 3), x),
        lambda: dj.jit(lambda a, x: np.sum(dj.grad(fails)(a, x)), backend=backend)(a, x),
    ]
    for verb in verbs:
        with pytest.raises(KeyError, match="w"):
            verb()
        np.testing.assert_array_equal(a, [0.2, 0.5, 0.7])
    with pytest.raises(KeyError, match="w"):
        dj.jit(fails, backend=backend)(a, x)
    np.testing.assert_allclose(a, [0.9, 0.45, 0.63])


def returned(a, x):
    try:
        if x < 0.9:
            return a[0]
    finally:
        if x > 0.5:
            return x
    return 2.0 * x


def raised(a, x):
    try:
        if x > 0.1:
            raise ValueError("first")
    finally:
        a[0] = x
        if x > 0.5:
            return x
    return 2.0 * x


def raised_again(a, x):
    try:
        try:
            if x > 0.1:
                raise KeyError("first")
        finally:
            if x > 0.5:
                raise ValueError("second")
    except KeyError:
        return x
    except ValueError:
        return 2.0 * x
    finally:
        a[0] = x
    return 3.0 * x


def nested(a, x):
    try:
        return a[0] * x
    finally:
        try:
            if x > 0.1:
                raise ValueError
            a[1] = 3.0
        except ValueError:
            a[0] = 9.0
            if x > 0.5:
                return a[0] + x


def passed_on(a, x):
    y, q, i = x, [1.0, 2.0], 1 if x < 0.5 else 2
    try:
        try:
            y = a[i]
        except Exception:
            try:
                y = q[i]
            except Exception:
                y = a[i - 1]
                raise
            finally:
                x = x * y
        finally:
            if x > 5.0:
                raise KeyError("large")
    except KeyError:
        x = 3.0
    except LookupError:
        x = x * 7.0
    return x * y


@BACKENDS
@pytest.mark.parametrize(
    "function", [returned, raised, raised_again, nested, passed_on], ids=lambda function: function.__name__
)
@pytest.mark.parametrize("x", [0.05, 0.3, 0.7, 1.4])
def test_a_finally_that_leaves_by_itself(function, x, backend):
    fresh = lambda: np.array([0.4, 0.8])
    ours, plain, problem = fresh(), fresh(), ""
    try:
        wanted = function(plain, x)
    except ValueError as error:
        problem = str(error)
    if problem:
        with pytest.raises(ValueError, match=problem):
            dj.jit(function, backend=backend)(ours, x)
        with pytest.raises(ValueError, match=problem):
            dj.grad(function, argnums=1, backend=backend)(fresh(), x)
    else:
        assert dj.jit(function, backend=backend)(ours, x) == wanted
        slope = (function(fresh(), x + 1e-6) - function(fresh(), x - 1e-6)) / 2e-6
        assert dj.grad(function, argnums=1, backend=backend)(fresh(), x) == pytest.approx(slope, rel=1e-6)
    np.testing.assert_array_equal(ours, plain)


@BACKENDS
def test_scattered_operands_are_those_from_before_where_they_share_memory(backend):
    def multiplied(a, x):
        np.multiply.at(a, [3, 0, 3, 2], a)
        return x * np.sum(a * np.arange(4))

    def largest(a, x):
        np.maximum.at(a[1:], [2, 0, 2], a[:-1])
        return x * np.sum(a * a * np.arange(4))

    def put(a, x):
        np.put(a, [3, 0, 1, 2, 1], a[::-1])
        a.put([1, 2], a)
        return x * np.sum(a * a * np.arange(4))

    def put_by_itself(k, x):
        np.put(k, k, k[::-1] + 1)
        return x * k[0] + x**2 * k[1] + x**3 * k[2]

    for function in (multiplied, largest, put):
        compared(function, np.array([0.2, 1.5, 0.7, 1.1]), 0.9, backend=backend)
    numbers = lambda: np.array([2, 0, 1])
    assert dj.grad(put_by_itself, argnums=1, backend=backend)(numbers(), 0.5) == pytest.approx(1 + 6 * 0.5 + 6 * 0.25)
    assert dj.jit(put_by_itself, backend=backend)(numbers(), 0.5) == put_by_itself(numbers(), 0.5)
