"""NumPy's masked arrays against NumPy itself, data and masks and fill values, and difference quotients."""

import numpy as np
import pytest
from numpy import ma

import diffjit as dj

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4))
WEIGHTS = rng.uniform(1, 2, size=(3, 4))
HIDDEN = X > 0.8
MASKED = ma.array(X, mask=HIDDEN)
GRAM = X @ X.T + np.eye(3)
GAPS = ma.array(X, mask=np.array([[1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]], bool))  # a column that does not count


def assigned(x):
    """Entries set, and taken out, in place."""
    m = ma.masked_where(x > 0.8, x)
    m[0, 0] = x[1, 1] ** 2
    m[m < -0.5] = ma.masked
    return (m * m).sum()


def given_masks(x):
    """Masks that are assigned, and changed from then on: means without one entry each."""
    m = ma.asarray(x[0] * x[1])
    m.mask = np.zeros(m.shape, dtype=bool)
    total, before = 0.0, m.mask
    for i in range(len(m)):
        m.mask[i] = True
        total = total + m.mean() ** 2
        m.mask[i] = False
    m.mask = x[0] > 0.8
    total = total + m.sum() + before.sum() * x[2, 0]
    m.mask = False
    m.mask[1] = True
    return total + m.mean() * m.count()


def statistics(m):
    return m.mean() * m.std() + m.var(ddof=1) + m.max() - m.min() + m.prod() * 0.1 + m.count()


def loss(x):
    """A misfit where there are observations."""
    model, seen = ma.array(x, mask=HIDDEN), ma.array(WEIGHTS, mask=WEIGHTS > 1.5)
    return ((model - seen) ** 2).mean() + np.sqrt(((model - WEIGHTS) ** 2).mean())


def parts(x):
    m = ma.array(x**2, mask=HIDDEN)
    seen = (m.data * ~m.mask).sum() + ma.getmaskarray(m).sum() * x[0, 0]
    return seen + np.sum(m) + np.mean(m, axis=1)[0] + m[0, 0] * m[1].sum() + m.T[0].sum()


OF_ARRAYS = {
    "where": lambda x: (ma.masked_where(x > 0.5, x) ** 2).sum(),
    "invalid": lambda x: ma.masked_invalid(np.log(x)).mean() + ma.masked_invalid(np.sqrt(x)).sum(),
    "statistics": lambda x: statistics(ma.array(x, mask=x < -0.3)),
    "filled": lambda x: ma.masked_less(x, 0).filled(2.0) * x,
    "compressed": lambda x: ((ma.masked_less(x, 0).compressed() ** 2).sum()
                             + ma.masked_outside(x, -1, 1).compressed().mean()),
    "functions": lambda x: (ma.log(x).sum() + ma.sqrt(ma.array(x, mask=HIDDEN)).sum()
                            + np.log(ma.masked_less_equal(x, 0)).sum() + (ma.array(x, mask=HIDDEN) ** 0.5).sum()),
    "averages": lambda x: (ma.average(ma.array(x, mask=HIDDEN), weights=WEIGHTS) + ma.mean(ma.array(x * x, mask=HIDDEN))
                           + ma.average(ma.array(x, mask=HIDDEN), axis=0, weights=x[:, 0] ** 2).sum()),
    "equal": lambda x: (ma.masked_equal(np.round(x), 0.0).sum() * x.sum()
                        + ma.masked_equal(np.maximum(x, 0), 0.0).filled()[0, 0]),
    "parts": parts,
    "assigned": assigned,
    "given masks": given_masks,
    "loss": loss,
    "anomalies": lambda x: (ma.array(x, mask=HIDDEN).anom(axis=0) ** 2).sum(),
}  # fmt: skip
OF_MASKED = {
    "operators": lambda m: m * 2 + 1 / m - X * m + m / X + (m - m.mean()) ** 2 + np.exp(m) * ma.sin(m) + abs(m) - (-m),
    "axes": lambda m: m.mean(axis=0) + m.sum(axis=0) * m.std(axis=0) + m.var(axis=0) + m.max(axis=0),
    "numbers": lambda m: (m * m).sum() + m.filled(0.0)[0, 1] ** 2,
    "arrays": lambda m: m.filled(0.5) ** 2,
    "powers": lambda m: m**2 + ma.power(m, 3) + 1.3**m,
    "shapes": lambda m: m.reshape(2, 6)[1] * m.ravel()[:6] + m.T[:, 0].sum(),
    "running": lambda m: m.cumsum(axis=1) * m,
    "other masks": lambda m: ma.masked_where(X > 0.7, m) * ma.masked_inside(m, 0.1, 0.2) * ma.array(m, mask=m < 0),
    "equalities": lambda m: m * (m == m[::-1]) + X * (m != WEIGHTS) + (m == ma.masked_less(WEIGHTS, 1.2)) * 2.0,
    "in place": lambda m: changed(m.copy(), X) * m,
    "comparisons": lambda m: ma.masked_where(m > 0.3, m) + (m < 0.5) * 1.0,
}  # fmt: skip


def changed(m, x):
    """By operators: what does not count stays as it is."""
    m += x**2
    m *= x
    m -= 0.5
    return m


def changed_by_another(m, other):
    m = m * 1.0
    m += other
    return m.sum()


def numbers(result):
    return ma.filled(result, 0.0) if isinstance(result, ma.MaskedArray) else np.asarray(result, float)


def same(found, expected):
    """The same data, masks and fill values."""
    if not isinstance(expected, ma.MaskedArray):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        return
    assert type(found) is type(expected)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-12)
    np.testing.assert_array_equal(found.mask, expected.mask)
    assert found.fill_value == expected.fill_value


def check(function, at, backend):
    """Value and derivatives to second order."""
    given = (lambda d: ma.array(d, mask=at.mask)) if isinstance(at, ma.MaskedArray) else np.asarray
    direction = np.random.default_rng(2).normal(size=at.shape)

    def slope(f):
        return (numbers(f(at + 1e-6 * direction)) - numbers(f(at - 1e-6 * direction))) / 2e-6

    with np.errstate(invalid="ignore", divide="ignore"):
        expected = function(at)
        same(dj.jit(function, backend=backend)(at), expected)
        change = slope(function)
        _, tangent = dj.jvp(function, (at,), (given(direction),), backend=backend)
        tangent = np.where(ma.getmaskarray(expected), 0.0, ma.getdata(tangent))
        np.testing.assert_allclose(tangent, change, rtol=1e-5, atol=1e-7)
        total = lambda a: np.sum(function(a) ** 2)
        gradient = dj.grad(total, backend=backend)
        bar = gradient(at)
        assert type(bar) is type(at)
        assert not np.any(numbers(bar)[ma.getmaskarray(at)])
        np.testing.assert_allclose(np.sum(numbers(bar) * direction), slope(total), rtol=1e-5)
        product = dj.hvp(total, (at,), (given(direction),), backend=backend)
        np.testing.assert_allclose(numbers(product), slope(gradient), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_made_inside(name):
    check(OF_ARRAYS[name], X, "python")


@pytest.mark.parametrize("name", OF_MASKED)
def test_arguments(name):
    check(OF_MASKED[name], MASKED, "python")


@pytest.mark.parametrize("name", ["assigned", "given masks", pytest.param("parts", marks=pytest.mark.slow)])
def test_compiled(name):
    check(OF_ARRAYS[name], X, "numba")


@pytest.mark.parametrize("name", [pytest.param("operators", marks=pytest.mark.slow), "numbers"])
def test_compiled_arguments(name):
    check(OF_MASKED[name], MASKED, "numba")


@pytest.mark.parametrize("name", OF_MASKED)
@pytest.mark.parametrize("at", [GAPS, ma.array(X), ma.array(X, mask=False), ma.array(X, mask=HIDDEN, fill_value=7.0)],
                         ids=["column", "bare", "nothing", "fill"])  # fmt: skip
def test_masks(name, at):
    function = OF_MASKED[name]
    with np.errstate(invalid="ignore", divide="ignore"):
        same(dj.jit(function, backend="python")(at), function(at))


def test_what_does_not_count_may_be_anything():
    m = ma.array([1.0, np.nan, 2.0, -1.0], mask=[False, True, False, True])
    f = lambda m: (np.sqrt(m) * ma.log(m)).sum() + m.std() + (1 / m).mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        gradient = dj.grad(f, backend="python")(m)
        np.testing.assert_allclose(dj.jit(f, backend="python")(m), f(m))
    assert np.all(np.isfinite(gradient.data))
    assert gradient.data[1] == gradient.data[3] == 0.0


def own_masks(x):
    """Masks of results are new ones, of functions of one operand the operand's."""
    m = ma.masked_where(x > 0.5, x)
    copied, product, function, power = m.copy(), m * 1.0, np.exp(m), m**2
    copied[0] = ma.masked
    product[1] = ma.masked
    m[2, 0] = ma.masked
    return m.sum() + copied.sum() + product.sum() + function.sum() + power.sum()


def test_masks_that_are_shared():
    assert dj.jit(own_masks, backend="python")(X) == pytest.approx(own_masks(X))
    m = ma.array(X, mask=X > 0.5, fill_value=7.0)
    for f in (lambda m: m.astype(np.float32), lambda m: m.std(axis=0), lambda m: np.log(m) * 1.0, lambda m: m.copy()):
        with np.errstate(invalid="ignore", divide="ignore"):
            same(dj.jit(f, backend="python")(m), f(m))


def test_lanes():
    f = lambda x: ma.masked_less(x, 0.0).mean()
    np.testing.assert_allclose(dj.vmap(f, backend="python")(X), [f(x) for x in X])
    slopes = dj.vmap(dj.grad(f), backend="python")(X)
    np.testing.assert_allclose(slopes, [(x >= 0) / np.sum(x >= 0) for x in X])


def test_a_result_that_does_not_count():
    f = dj.jit(lambda x: ma.masked_less(x, 0.0).sum(), backend="python")
    assert f(np.array([1.0, -1.0])) == 1.0
    with pytest.raises(NotImplementedError, match="masked as a whole"):
        f(np.array([-1.0, -1.0]))


@pytest.mark.parametrize("function", [
    lambda m: np.concatenate([m, m]).sum(), lambda m: (m @ m.T).sum(), lambda m: changed_by_another(m, m),
    lambda m: np.inner(m, m).sum(), lambda m: m * ma.masked, lambda m: np.exp(m, out=m).sum(),
], ids=range(6))  # fmt: skip
def test_refused(function):
    with pytest.raises(dj.DiffjitError):
        dj.jit(function, backend="python")(MASKED)


def same_but_for_none(found, wanted):
    """Values and masks; where nothing is masked, NumPy may have no mask."""
    np.testing.assert_array_equal(ma.getmaskarray(found), ma.getmaskarray(wanted))
    np.testing.assert_allclose(found.filled(0.0), wanted.filled(0.0), rtol=1e-14)


MOVED = {
    "atleast_1d": lambda m: ma.atleast_1d(m[0], m)[0],
    "atleast_2d": lambda m: ma.atleast_2d(m[1]),
    "atleast_3d": ma.atleast_3d,
    "vstack": lambda m: ma.vstack([m, m[0] * 2.0]),
    "hstack": lambda m: ma.hstack((m[0], m[1].data)),
    "dstack": lambda m: ma.dstack([m, m]),
    "column_stack": lambda m: ma.column_stack([m[:, 0], m[:, 1]]),
    "stack": lambda m: ma.stack([m, m * m], axis=1),
    "concatenate": lambda m: ma.concatenate([m, m**2], axis=1),
    "append": lambda m: ma.append(m, m[0]),
    "squeeze": lambda m: ma.squeeze(m[None]),
    "reshape": lambda m: ma.reshape(m, (2, 6)),
    "transpose": ma.transpose,
    "swapaxes": lambda m: ma.swapaxes(m, 0, 1),
    "where": lambda m: ma.where(m > 0.0, m * 2.0, m.data),
    "fix_invalid": lambda m: ma.fix_invalid(1.0 / m, fill_value=3.0),
    "ptp": lambda m: ma.atleast_1d(ma.ptp(m) + ma.median(m)),
    "dot": lambda m: np.dot(X[:, :3], m) + np.dot(m, WEIGHTS[:, :4].T)[0, 1] * np.dot(m[0], X[1]),
    "products": lambda m: np.dot(np.outer(m[0], X[1]) + np.tensordot(m, WEIGHTS, axes=([0], [0])), m.T),
    "norms": lambda m: m * np.linalg.norm(m) + np.vdot(m, WEIGHTS) * np.einsum("ij,ij->j", m, X),
    "solve": lambda m: np.linalg.solve(GRAM, m) * m + np.linalg.inv(np.dot(ma.array(m.data), X.T) + GRAM)[0, 0],
    "dot without masks": lambda m: np.dot(X.T, ma.array(m.data)) + np.dot(m, X[0])[0],
}


@pytest.mark.parametrize("name", MOVED)
def test_moved(name):
    f = MOVED[name]
    same_but_for_none(dj.jit(f, backend="python")(MASKED), f(MASKED))
    total = lambda x: np.sum(f(ma.array(x, mask=HIDDEN)) ** 2)
    slope = (total(X + 1e-6 * WEIGHTS) - total(X - 1e-6 * WEIGHTS)) / 2e-6
    for mode in ("python", "numba") if name in ("where", "vstack") else ("python",):
        assert np.sum(dj.grad(total, backend=mode)(X) * WEIGHTS) == pytest.approx(slope, rel=1e-6)
