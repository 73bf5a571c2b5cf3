"""Arrays without dimensions that are numbers on another path: as in Python, or refused where that would show."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def leaky(x):
    y = np.where(x[0] > 0.0, x[0], 0.1 * x[0])
    if x[1] > 0.0:
        y = y * x[2]
    y += x[1]
    return y


def accumulated(x):
    total = np.array(0.0)
    for v in x:
        if v > 0.0:
            total = total + v**2
    return np.sqrt(total + 1.0)


def reciprocal(x):
    v = np.asarray(x[2])
    if v > 1.0:
        v = 1.0 / v
    return np.sqrt(np.abs(v)) * x[0]


def in_a_loop(x):
    total = 0.0
    for v in x:
        t = np.where(v > 0.0, v, 0.1 * v)
        if t > 2.5:
            t = t / 3.0
        t *= 2.0
        total += t
    return total


def after_an_exception(x):
    y = np.array(1.0)
    try:
        y = x[0] / x[2]
        if y > 1e9:
            raise ValueError
    except ValueError:
        y = np.array(0.0)
    return y * x[1]


def in_a_list(x):
    kept = []
    for v in x:
        kept.append(np.where(v > 0.0, v, 0.0) if v < 3.0 else v * 2.0)  # noqa: PERF401
    return sum(kept)


def while_it_grows(x):
    t = np.squeeze(x[:1])
    while t < 10.0:
        t = t * 2.0 + x[2]
    return t


def where_a_truth_value_says(x):
    """`p[is_large]` is a mask without axes, of a new one in front."""
    p, is_large = np.array(x[0]), x[0] > 0.5
    flow, table = np.zeros(1), x * x
    if np.any(is_large):
        flow[is_large] = p[is_large] * x[1]
    if np.any(~is_large):
        flow[~is_large] = x[2] - p[~is_large]
    table[is_large] = x - flow
    table[x[1] > 5.0] = 7.0
    return np.sum(table[is_large] ** 2) + 3.0 * np.sum(x[~is_large]) + flow[0] * table[True].shape[0] + table[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f", [leaky, accumulated, reciprocal, in_a_loop, after_an_exception, in_a_list, while_it_grows]
)
def test_as_in_python(f, backend):
    for x in (np.array([1.0, -2.0, 3.5]), np.array([-1.5, 2.1, 4.0]), np.array([0.4, 0.3, 0.2])):
        value, slope = dj.value_and_grad(f, backend=backend)(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(slope, [(f(x + h) - f(x - h)) / 2e-6 for h in steps], rtol=1e-6, atol=1e-7)
        along = np.array([0.3, -0.7, 1.1])
        assert dj.jvp(f, (x,), (along,), backend=backend)[1] == pytest.approx(slope @ along, rel=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_truth_value_as_index(backend):
    f = where_a_truth_value_says
    value_and_grad = dj.value_and_grad(f, backend=backend)
    for x in (np.array([1.0, -2.0, 3.5]), np.array([0.4, 5.3, 0.2])):
        value, slope = value_and_grad(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        np.testing.assert_allclose(slope, [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)], atol=1e-7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_derivatives_that_are_programs(backend):
    """Their memory changes where the program's does not."""

    def bounded(x):
        out = np.zeros(len(x))
        for i, v in enumerate(x):
            a = np.asarray(v)
            if a < 0.0:
                a = -a
            while a < 0.5:
                a = a * 1.5
            out[i] = a * v
        return out

    x = np.array([0.3, -0.9, 1.4, -0.2, 0.7])
    slopes = np.array([(bounded(x + h) - bounded(x - h)) / 2e-6 for h in 1e-6 * np.eye(5)]).T
    np.testing.assert_allclose(dj.jacrev(bounded, backend=backend)(x), slopes, atol=1e-8)
    np.testing.assert_allclose(dj.jacfwd(bounded, backend=backend)(x), slopes, atol=1e-8)
    second = dj.hessian(lambda x: np.sum(bounded(x) ** 2), backend=backend)(x)
    np.testing.assert_allclose(second, np.diag(12.0 * (bounded(x) / x) ** 2), rtol=1e-9)  # of c**2 * x**4


def seen_by_another_name(x):
    first = np.asarray(x[0] * 1.0)
    y = first
    if x[1] > 0.0:
        y = y + 1.0
    y += 5.0
    return first + y


def changed_by_another_name(x):
    y = np.array(1.0)
    other = y
    if x[1] > 0.0:
        y = y + 1.0
    other += x[0]
    return y * x[2]


def a_view_of_what_changes(x):
    v = x[0, ...]
    if x[1] > 0.0:
        v = v * 2.0
    x[0] = 100.0
    return v * x[2]


def changes_what_it_views(x):
    v = x[0:1].reshape(())
    if x[1] > 0.0:
        v = v * 2.0
    v += 1.0
    return v + x[0]


def the_callers(y):
    if y > 0.0:
        y = y * 2.0
    y += 1.0
    return y


def asks_for_the_class(x):
    y = np.array(2.0)
    if x[1] > 0.0:
        y = y * x[0]
    return x[0] if isinstance(y, np.ndarray) else y


def asks_whether_it_is_a_number(x):
    y = np.array(2.0)
    if x[1] > 0.0:
        y = y * x[0]
    return x[0] if np.isscalar(y) else y


SHOWS = [
    seen_by_another_name, changed_by_another_name, a_view_of_what_changes, changes_what_it_views, asks_for_the_class,
    asks_whether_it_is_a_number,
]  # fmt: skip


@pytest.mark.parametrize("f", SHOWS)
def test_what_would_show_is_refused(f):
    for verb in (dj.jit, dj.grad):
        with pytest.raises(dj.TypeProblem, match="DJ304"):
            verb(f)(np.array([1.0, -2.0, 3.0]))
    with pytest.raises(dj.TypeProblem, match="DJ304"):
        dj.jit(the_callers)(np.array(-1.0))


def another_name(x):
    y = np.where(x > 0.0, x, 0.1 * x)
    z = y
    y += 1.0
    return z * x


def of_select(x):
    y = np.select([x > 0.0], [x], 0.0)
    z = y
    y *= 2.0
    return z * x


def in_a_list_of_its_own(x):
    items = [np.where(x > 0.0, x, 0.0)]
    for y in items:
        y *= 3.0  # noqa: PLW2901
    return items[0]


def in_a_list_of_any_length(x):
    items = []
    for k in range(int(x) + 2):
        items.append(np.where(x > k, x, 0.0))  # noqa: PERF401
    y = items[0]
    y += 1.0
    return items[0] * x


def by_a_helper(x):
    def clip(v):
        v -= 1.0
        return v

    y = np.where(x > 0.0, x, 0.0)
    return clip(y) * y


def as_an_array(x):
    y = np.where(x > 0.0, x, 0.0)
    z = np.asarray(y)
    y += 1.0
    return z * x


def the_array_changes(x):
    y = np.where(x > 0.0, x, 0.0)
    z = y[...]
    z += 1.0
    return y * x


def through_a_view(x):
    y = np.where(x > 0.0, x, 0.0)
    z = np.squeeze(y).reshape((1,))
    z[0] = 7.0
    return y * x


def by_its_conjugate(x):
    y = np.where(x > 0.0, x, 0.0)
    z = y.conj()
    z *= 3.0
    return y * x


@pytest.mark.parametrize(
    "f",
    [
        another_name, of_select, in_a_list_of_its_own, in_a_list_of_any_length, by_a_helper, as_an_array,
        the_array_changes, through_a_view, by_its_conjugate,
    ],
)  # fmt: skip
def test_what_where_gives_for_numbers_is_an_array(f):
    """It has other names, which would see that it changes."""
    for verb in (dj.jit, dj.grad, dj.jacfwd, dj.hessian, lambda f: dj.jit(dj.grad(f))):
        with pytest.raises(dj.TypeProblem, match="DJ304") as caught:
            verb(f)(1.5)
        assert "y[()]" in str(caught.value)


def no_other_name(x):
    y = np.where(x > 0.0, x, 0.1 * x)
    y += 1.0
    y *= x
    return y


def another_number(x):
    y = np.where(x > 0.0, x, 0.1 * x)
    z = y * 1.0
    w = y[()] + y.copy() * y.astype(float)
    u, v = np.array(y), y.item()
    y += np.sum(y)
    u *= y
    return z * y * w * np.ravel(u)[0] * v


def an_array_of_its_own(x):
    y = np.asarray(np.where(x > 0.0, x, 0.1 * x))
    y += 1.0
    y[...] *= x
    return y[()] * x


def in_turns(x):
    total = 0.0
    for k in range(3):
        y = np.where(x > k, x, 0.1 * x * k)
        y += 1.0
        total += y
    return total * x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [no_other_name, another_number, in_turns, an_array_of_its_own])
def test_changed_where_nothing_else_sees_it(f, backend):
    for x in (1.5, -0.7, 2.5):
        value, slope = dj.value_and_grad(f, backend=backend)(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-7)


def squeezed(x):
    a = np.array([x, 2.0 * x])
    y = a[:1].squeeze()
    y += 1.0
    return a[0] * x + a[1]


def squeezed_by_numpy(a):
    a = a * 2.0
    y = np.squeeze(a[1:2])
    y *= a[0]
    return a[1] * a[1]


def not_squeezed_away(a):
    b = np.squeeze(a.reshape(1, -1, 1))
    b = b * np.squeeze(a[:, None], axis=1)
    return np.sum(b**2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_squeeze_gives_a_view(backend):
    value, slope = dj.value_and_grad(squeezed, backend=backend)(1.5)
    assert value == squeezed(1.5)
    assert slope == pytest.approx(2 * 1.5 + 1.0 + 2.0)
    a = np.array([1.5, -0.5])
    value, slope = dj.value_and_grad(squeezed_by_numpy, backend=backend)(a)
    assert value == squeezed_by_numpy(a)
    np.testing.assert_allclose(slope, [2.0 * 16.0 * a[0] * a[1] ** 2, 2.0 * 16.0 * a[0] ** 2 * a[1]])
    np.testing.assert_allclose(dj.grad(not_squeezed_away, backend=backend)(a), 4.0 * a**3)
    written = a.copy()

    def doubles(a):
        y = np.squeeze(a[:1])
        y *= 2.0

    dj.jit(doubles, backend=backend)(written)
    assert written.tolist() == [3.0, -0.5]


def joined_view(x, n):
    a = np.array([x, x])
    y = a[:1].reshape(())
    if n > 2:
        y = x * 1.0
    y += 1.0
    return y * a[0]


VERBS = {
    "jacfwd": dj.jacfwd(joined_view),
    "jacrev": dj.jacrev(joined_view),
    "hessian": dj.hessian(joined_view),
    "vmap": lambda x, n: dj.vmap(joined_view, in_axes=(0, None))(np.array([x]), n),
    "vmap of grad": lambda x, n: dj.vmap(dj.grad(joined_view), in_axes=(0, None))(np.array([x]), n),
    "jet": lambda x, n: dj.jet(lambda z: joined_view(z, n), (x,), ((1.0, 0.0),)),
    "checkpoint": dj.grad(dj.checkpoint(joined_view)),
    "grad inside": dj.jit(lambda x, n: dj.grad(joined_view)(x, n) + 0.0),
    "jvp inside": dj.jit(lambda x, n: dj.jvp(lambda z: joined_view(z, n), (x,), (1.0,))),
    "linearize": lambda x, n: dj.linearize(lambda z: joined_view(z, n), x),
}


@pytest.mark.parametrize("verb", VERBS)
def test_refused_whatever_the_verb(verb):
    with pytest.raises(dj.TypeProblem, match="DJ304"):
        VERBS[verb](0.5, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_conjugate_of_what_is_real_is_itself(backend):
    """As a method; the function makes a copy."""

    def by_method(a):
        b, c = a.conj(), np.conj(a)
        b *= 2.0
        c *= 5.0
        return np.sum(a * a.conjugate())

    a = np.array([1.0, -2.0])
    assert dj.jit(by_method, backend=backend)(a.copy()) == by_method(a.copy()) == 20.0
    np.testing.assert_allclose(dj.grad(lambda a: by_method(a * 1.0), backend=backend)(a), 8.0 * a)


@pytest.mark.parametrize("backend", BACKENDS)
def test_cotangents_of_several_results_are_added_in_an_array(backend):
    """That of a sum over no dimension is an array, not a number, so that others are added to it in place."""

    def f(a):
        return np.sum(a), a[()] * 2.0, float(a), a + 1.0

    _, pullback = dj.vjp(f, np.array(2.0), backend=backend)
    (found,) = pullback((1.0, 10.0, 100.0, 1000.0))
    assert isinstance(found, np.ndarray)
    assert found == 1121.0


def test_reductions_over_the_axis_that_a_number_does_not_have():
    """NumPy's ufuncs let a number have a first axis, also the last one; functions that count elements do not."""

    def f(a):
        return (
            np.sum(a, axis=0) * np.max(a, axis=-1) + np.cumsum(a, axis=0)[0] + np.prod(a, axis=0, keepdims=True),
            np.argmax(a, axis=0),
            np.any(a > 0.0, axis=-1),
            np.nansum(a, axis=0),
        )

    for a in (3.0, np.array(3.0)):
        assert dj.jit(f, backend="python")(a) == f(a) == (15.0, 0, True, 3.0)
        assert dj.grad(lambda a: f(a)[0], backend="python")(a) == 8.0
    for fails in (
        lambda a: np.sum(a, axis=(0,)), lambda a: np.sum(a, axis=1), lambda a: np.mean(a, axis=0),
        lambda a: np.argmin(a, axis=-2),
    ):  # fmt: skip
        with pytest.raises((np.exceptions.AxisError, dj.TypeProblem), match="out of bounds"):
            dj.jit(fails, backend="python")(3.0)


def clipped(x):
    """For numbers and arrays: NumPy's numbers can be read by a mask, not be written to."""
    y, steep = np.sin(x), np.abs(x) <= 0.5
    try:
        y[steep] = np.sign(x[steep]) * 7.0 * x[steep] ** 2
    except TypeError:
        if steep:
            y = np.sign(x) * 7.0 * x**2
    return np.sum(y * 2.0)


def read_by_a_mask(x):
    y = np.asarray(np.sin(x))
    found = y[x > 0.5]
    return np.sum(found**2) + found.size + len(np.sin(x)[x > 0.1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [clipped, read_by_a_mask])
def test_a_bool_as_the_mask_of_a_number(program, backend):
    for x in (np.float64(0.3), np.float64(0.9), np.array([0.3, 0.9])):
        value, slope = dj.value_and_grad(program, backend=backend)(x)
        assert value == pytest.approx(program(x), rel=1e-14)
        wanted = (program(x + 1e-6) - program(x - 1e-6)) / 2e-6
        assert np.sum(slope) == pytest.approx(wanted, rel=1e-8, abs=1e-9)


def by_its_own_mask(x, limit):
    """Written for arrays of any shape: a mask of a number chooses it or nothing."""
    x = np.asarray(x)
    out, large = np.empty_like(x), x > limit
    out[large] = -np.log(x[large]) * limit
    out[~large] = x[~large] ** 2
    out[x > 2 * limit] += 3.0 * limit
    return np.sum(out * x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [1.7, 0.4, np.array([0.3, 1.7, 3.1])])
def test_masks_of_numbers(backend, x):
    args, step = (x, 1.0), 1e-6
    assert np.isclose(dj.jit(by_its_own_mask, backend=backend)(*args), by_its_own_mask(*args))
    slope = (by_its_own_mask(x + step, 1.0) - by_its_own_mask(x - step, 1.0)) / (2 * step)
    grad = dj.grad(by_its_own_mask, argnums=(0, 1), backend=backend)
    assert np.isclose(np.sum(grad(*args)[0]), slope)
    ones = np.ones_like(x)
    tangents = (ones, 0.5)
    assert np.isclose(dj.jvp(by_its_own_mask, args, tangents, backend=backend)[1], slope + 0.5 * grad(*args)[1])
    moved = [np.sum(grad(x + d, 1.0)[0]) for d in (step, -step)]
    second = dj.hvp(by_its_own_mask, args, (ones, 0.0), argnums=(0, 1), backend=backend)[0]
    assert np.isclose(np.sum(second), (moved[0] - moved[1]) / (2 * step))


def written_by_a_mask(x, chosen, values):
    out = np.array(x)
    out[chosen > 0] = values
    return out * 2.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("chosen", [0.0, 1.0])
def test_as_many_values_as_the_mask_of_a_number_takes(backend, chosen, count):
    args = (1.5, chosen, np.arange(3.0, 3.0 + count))
    found = []
    for f in (written_by_a_mask, dj.jit(written_by_a_mask, backend=backend)):
        try:
            found.append(float(f(*args)))
        except ValueError as error:
            found.append(str(error))
    assert found[0] == found[1]


def hue(x):
    """As written for pictures, and called for one colour."""
    most, spread = np.max(x, axis=-1), np.ptp(x, axis=-1)
    h = np.where(most == x[0], (x[1] - x[2]) / spread, 2.0 + (x[2] - x[0]) / spread)
    h = np.where(most == x[2], 4.0 + (x[0] - x[1]) / spread, h)
    same = h
    h[np.asarray(h < 0.0)] += 6.0
    h[h > 4.5] *= x[0]
    h[np.asarray(spread == 0.0)] = 0.0
    return h * same


def written_at_no_index(x):
    total = 0.0
    for v in x:
        y = np.where(v > 0.0, v, 0.1 * v)
        y[()] += x[0]
        y[...] = y**2 * v
        total += y
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [hue, written_at_no_index])
def test_what_where_gives_is_written_to(f, backend):
    for x in (
        np.array([1.2, 0.2, 0.5]),
        np.array([0.3, 0.9, 0.4]),
        np.array([0.4, -0.3, 1.2]),
        np.array([0.9, 0.1, 0.8]),
    ):
        value, slope = dj.value_and_grad(f, backend=backend)(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(slope, [(f(x + h) - f(x - h)) / 2e-6 for h in steps], rtol=1e-6, atol=1e-7)


def turned_and_ordered(x):
    s, z = np.sum(x), np.array(x[1])
    turned = s.T * np.transpose(x[2]) + x[0].transpose(()) + np.transpose(z, ())
    return turned, np.ascontiguousarray(s), np.asfortranarray(z), np.ascontiguousarray(2.0), x


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_have_no_axes_to_turn(backend):
    """`np.ascontiguousarray` and its kin give one dimension at least."""
    x = np.array([1.0, -2.0, 3.5])
    for found, known in zip(dj.jit(turned_and_ordered, backend=backend)(x), turned_and_ordered(x), strict=True):
        assert np.shape(found) == np.shape(known)
        np.testing.assert_allclose(found, known, rtol=1e-14)
    slope = dj.grad(lambda x: turned_and_ordered(x)[0], backend=backend)(x)
    np.testing.assert_allclose(slope, [x[2] + 1.0, x[2] + 1.0, x[2] + np.sum(x)], rtol=1e-14)


def overlap(x):
    """Arrays without dimensions that are real on one path and complex on another."""
    total = np.tensordot(x, x, 1)
    for k in range(3):
        if x[k] > 0.5:
            total = np.tensordot(x, x * 1j, 1) * x[k]
    other = np.tensordot(x, x, 1) if x[1] > 0.0 else np.tensordot(x, 1j * x, 1)
    return np.abs(total) + (other * x[2]).real + np.abs(other)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_arrays_without_dimensions_of_two_dtypes_meet(backend):
    for x in (np.array([0.9, -0.3, 0.4]), np.array([0.1, 0.2, -0.7])):
        value, slope = dj.value_and_grad(overlap, backend=backend)(x)
        assert value == pytest.approx(overlap(x), rel=1e-12)
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(slope, [(overlap(x + h) - overlap(x - h)) / 2e-6 for h in steps], rtol=1e-7)


def numbers_of_arrays_without_dimensions(x):
    first, second = np.array(x[0]).tolist(), np.where(x[1] > 5.0, x[1], x[2] * 2.0).tolist()
    assert isinstance(first, float)
    return first * second + np.sum(x).tolist() * np.array([[x[1]]]).tolist()[0][0]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_lists_of_arrays_without_dimensions_are_numbers(backend):
    x = np.array([1.0, -2.0, 3.5])
    value, slope = dj.value_and_grad(numbers_of_arrays_without_dimensions, backend=backend)(x)
    assert value == pytest.approx(numbers_of_arrays_without_dimensions(x), rel=1e-14)
    np.testing.assert_allclose(slope, [2 * x[2] + x[1], np.sum(x) + x[1], 2 * x[0] + x[1]], rtol=1e-14)
