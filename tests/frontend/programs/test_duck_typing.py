"""Programs that try what a value has, and catch what Python's own numbers raise then."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.array([0.3, 0.2, 0.7])


def length_or_one(x, v):
    try:
        n = v.shape[0]
    except (AttributeError, IndexError):
        n = 7
    return np.sum(x * v) * n


def sizes(x, v):
    def size(u):
        try:
            return u.size
        except AttributeError:
            return 100

    number = float(x[0])
    return np.sum(x * v) * size(v) + size(2.0) + 3 * size(x[1]) + 5 * size(number) + 7 * size(number > 0.1) + size(x)


def called_further_in(x, v):
    def first(u):
        return u.ravel()[0]

    try:
        return first(v) * x[1]
    except AttributeError:
        return v * 11.0 + x[0]


def read_without_axes(x, v):
    try:
        v = v[()]
    except TypeError:
        v = v * 100.0
    return np.sum(x * v)


def what_both_have(x, v):
    try:
        w = v.real * 2.0 + v.conjugate()
    except AttributeError:
        w = 50.0
    return np.sum(x * w)


def grown(x, v):
    kept, found = (x[0], x[1]), {1, 2}
    try:
        kept.append(v)
    except AttributeError:
        kept = [*kept, x[2]]
    try:
        kept.append(v)
    except AttributeError:
        return x[0]
    try:
        return found[0] * x[0]
    except TypeError:
        return np.sum(kept[3] * kept[2] * kept[1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [length_or_one, sizes, called_further_in, read_without_axes, what_both_have, grown])
@pytest.mark.parametrize("v", [2.0, np.float64(2.0), np.array(2.0), X * 3.0], ids=["float", "float64", "0-d", "vector"])
def test_a_number_lacks_what_pythons_lacks(f, v, backend):
    value, (slope,) = dj.value_and_grad(f, argnums=(0,), backend=backend)(X, v)
    assert value == pytest.approx(f(X, v), rel=1e-12)
    steps = 1e-6 * np.eye(3)
    np.testing.assert_allclose(slope, [(f(X + h, v) - f(X - h, v)) / 2e-6 for h in steps], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_hangs_on_the_path_is_refused(backend):
    def last_or_start(x, n):
        s = 0.0
        for k in range(n):
            s = s + x[k]
        try:
            return s.copy() * x[0]
        except AttributeError:
            return s + x[0]

    with pytest.raises(dj.DiffjitError, match="depends on the path taken"):
        dj.jit(last_or_start, backend=backend)(X, 2)


GIVEN = {
    "norm": np.linalg.norm, "norm of order 3": lambda x: np.linalg.norm(x, 3), "std": np.std,
    "interp": lambda x: np.interp(x[0], [0.0, 1.0], x[:2]), "median": np.median,
    "nanmax": np.nanmax, "nan_to_num": lambda x: np.nan_to_num(x[0]), "modf": lambda x: np.modf(x[0])[0],
    "where": lambda x: np.where(x[0] > 0.1, x[0], 0.0), "select": lambda x: np.select([x[0] > 0.1], [x[0]], 0.0),
    "in a function": lambda x: np.where(np.median(x) > 0.1, np.std(x), x[0]), "clip": lambda x: np.clip(x[0], 0.0, 1.0),
    "choose": lambda x: np.choose(np.argmax(x) - 1, [x[0], x[1]]),
    "piecewise": lambda x: np.piecewise(x[0], [x[0] > 0.1], [1.0, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GIVEN)
def test_functions_give_numbers_or_arrays_as_numpys_do(name, backend):
    made = GIVEN[name]

    def told(x):
        v = made(x)
        return isinstance(v, np.ndarray), isinstance(v, float), isinstance(v, np.generic)

    assert dj.jit(told, backend=backend)(X) == told(X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_number_that_a_function_gives_has_no_other_name(backend):
    def changed(x):
        spread = np.std(x)
        kept, held = spread, [np.linalg.norm(x)]
        spread += 1.0
        length = held[0]
        length *= 2.0
        return kept * x[0] + spread * x[1] + held[0] * x[2] + length

    value, slope = dj.value_and_grad(changed, backend=backend)(X)
    assert value == pytest.approx(changed(X), rel=1e-12)
    steps = 1e-6 * np.eye(3)
    np.testing.assert_allclose(slope, [(changed(X + h) - changed(X - h)) / 2e-6 for h in steps], rtol=1e-7, atol=1e-8)


def middle(x, names):
    """Python's number or NumPy's, as the run decides."""
    t = 1000.0
    for k in range(len(x)):
        if x[k] > 0.5:
            t = x[k]
    if type(t) is list or type(t) == tuple or type(t) in (str, dict):  # noqa: E721 - as programs have it
        return t[0]
    return t * len(names) if type(t) not in [int, float, np.float64] else t * 3.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_type_of_a_number_is_asked_whether_it_is_another_one(backend):
    for x in (X, -X):
        value, slope = dj.value_and_grad(middle, backend=backend)(x, "names")
        assert value == middle(x, "names")
        np.testing.assert_array_equal(slope, [0.0, 0.0, 3.0 if x is X else 0.0])


def whether_it_is_python_own(t):
    return type(t) is float


def kept_under_a_name(t):
    kind = type(t)
    return kind is list


@pytest.mark.parametrize("asks", [whether_it_is_python_own, kept_under_a_name])
def test_the_type_of_a_number_that_decides_is_refused(asks):
    with pytest.raises(dj.DiffjitError, match="depends on the path taken"):
        dj.grad(lambda x: x[1] if asks(x[0] if x[2] > 0.5 else 1.0) else x[0])(X)
