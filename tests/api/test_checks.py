"""`check_grads`: what it compares, what it finds, and what it says of it."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import diffjit as dj


class Pair(NamedTuple):
    a: float
    b: np.ndarray


def model(p, x, n):
    u = x.copy()
    for _ in range(n):
        u[1:] = np.sin(p["k"] * u[:-1]) * u[1:]
    return {"s": np.sum(u) * p["b"], "u": u}


ARGS = ({"k": 0.5, "b": 2.0}, np.linspace(0.3, 1.0, 5), 3)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_report_of_orders_and_modes(backend):
    report = dj.check_grads(model, ARGS, order=2, backend=backend)
    assert report.ok
    assert {row.argument for row in report.rows} == {"p['k']", "p['b']", "x"}
    assert {row.mode for row in report.rows if row.order == 1} == {"fwd", "rev"}
    second = {row.mode for row in report.rows if row.order == 2}
    assert second == {"fwd(fwd)", "rev(fwd)", "fwd(rev)", "rev(rev)"}
    for row in report.rows:
        assert abs(row.ad - row.quotient) <= 1e-8 * max(1.0, abs(row.ad))
        if row.order == 1:
            assert abs(row.ad - row.complex) <= 1e-13
    text = str(report)
    assert "all agree" in text
    assert "complex step" in text


def test_against_derivatives_by_hand():
    """Each number is the product of the seeds, the Jacobian and the direction: with the same seed, a known one."""
    x = np.array([0.3, 0.9])
    report = dj.check_grads(lambda x: np.sum(x**3), (x,), order=3, seed=4, backend="python")
    rng = np.random.default_rng(4)
    w = rng.standard_normal()
    first = rng.standard_normal(2)  # the direction of the second derivative comes before that of the first row
    moved = rng.standard_normal(2)
    assert report.rows[0].ad == pytest.approx(w * np.sum(3 * x**2 * moved))
    again = rng.standard_normal(2)
    then = rng.standard_normal(2)
    del again
    row = next(r for r in report.rows if r.mode == "fwd(fwd)")
    assert row.ad == pytest.approx(w * np.sum(6 * x * first * then))


def test_directions_and_seeds():
    f = lambda x: np.sum(np.sin(x))
    x = np.linspace(0, 1, 3)
    one = dj.check_grads(f, (x,), seed=1, backend="python")
    assert one == dj.check_grads(f, (x,), seed=1, backend="python")
    assert one.rows[0].ad != dj.check_grads(f, (x,), seed=2, backend="python").rows[0].ad
    assert len(dj.check_grads(f, (x,), directions=3, backend="python").rows) == 3 * len(one.rows)


def test_trees_and_dtypes():
    report = dj.check_grads(
        lambda q, s: (q.a * np.sum(q.b), [s[0] * q.b]),
        (Pair(0.5, np.ones(2)), [np.float64(2.0)]),
        backend="python",
    )
    assert {row.argument for row in report.rows} == {"q.a", "q.b", "s[0]"}
    narrow = dj.check_grads(lambda x: np.sum(x**3), (np.array([1.0, -2.0], np.float32),), order=2, backend="python")
    assert narrow.ok
    assert narrow.rows[0].tolerance > 1e-3


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_a_wrong_rule_is_found_with_its_element(backend, modes):
    @dj.custom_jvp
    def wave(x):
        return np.sin(x)

    @wave.defjvp
    def rule(primals, tangents):
        (x,), (d,) = primals, tangents
        w = np.ones((6, 7))
        w[4, 3] = 1.01
        return wave(x), d * np.cos(x) * w

    def f(c, x):
        return c * np.sum(wave(x))

    x = np.linspace(0, 1, 42).reshape(6, 7)
    with pytest.raises(dj.GradientMismatch, match=r"DJ602.*`x\[4, 3\]`") as caught:
        dj.check_grads(f, (2.0, x), modes=modes, backend=backend)
    report = caught.value.report
    assert [(row.argument, row.ok) for row in report.rows] == [("c", True), ("x", False)]
    assert "WRONG" in str(caught.value)
    assert report.rows[1].complex == pytest.approx(report.rows[1].quotient)
    assert isinstance(caught.value, AssertionError)


def test_second_order_alone_may_be_wrong():
    @dj.custom_jvp
    def cube(x):
        return x**3

    @cube.defjvp
    def rule(primals, tangents):
        (x,), (d,) = primals, tangents
        return cube(x), 3 * dj.stop_gradient(x) * x * d

    dj.check_grads(cube, (1.5,), backend="python")
    with pytest.raises(dj.GradientMismatch, match="order 2"):
        dj.check_grads(cube, (1.5,), order=2, backend="python")


def test_parameters_with_defaults():
    def power(x, k=2.0, scale=np.sin, *rest, offset=1.0):
        return scale(x) ** k + offset + sum(rest)

    assert {row.argument for row in dj.check_grads(power, (0.7,), order=2).rows} == {"x"}
    assert {row.argument for row in dj.check_grads(power, (0.7, 3.0), order=2).rows} == {"x", "k"}


def test_kinks():
    def ramp(x):
        return np.sum(np.where(x > 0, 2.0 * x, 0.0))

    dj.check_grads(ramp, (np.array([1.0, -1.0]),), backend="python")
    with pytest.raises(dj.GradientMismatch, match="left and right") as caught:
        dj.check_grads(ramp, (np.array([1.0, 0.0]),), backend="python")
    row = caught.value.report.rows[0]
    left, right = row.kink
    assert row.ad in (pytest.approx(left, abs=1e-9), pytest.approx(right, abs=1e-9))
    assert "kink" in str(caught.value)
    assert row.worst == "x[1]"
    # abs'(0) = 0 is what the central quotient says, too; the report tells of the kink.
    report = dj.check_grads(lambda x: np.abs(x) + 1.0, (0.0,), backend="python")
    assert report.rows[0].kink is not None


def test_steep_is_no_kink():
    report = dj.check_grads(lambda x: np.tanh(50.0 * x), (0.01,), rtol=1e-3, backend="python")
    assert all(row.kink is None for row in report.rows)


def test_complex_steps_count_where_they_mean_something():
    real = dj.check_grads(lambda x: np.sum(np.abs(x) ** 3), (np.array([1.0, -2.0]),), backend="python")
    assert "not complex-analytic" in real.rows[0].note
    refused = dj.check_grads(lambda x: x * x if x > 0 else -x, (2.0,), backend="python")
    assert refused.rows[0].complex is None
    assert "TypeError" in refused.notes[0]
    derived = dj.check_grads(dj.grad(lambda x: x**3), (2.0,), backend="python")
    assert derived.rows[0].complex is None


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_complex_arguments_and_results(backend):
    def f(z, a):
        return {"size": np.sum(np.abs(z * a) ** 2), "turned": np.exp(a * z) * np.conj(z), "n": 3}

    args = (np.array([1 + 2j, 0.3 - 1j]), 0.5)
    report = dj.check_grads(f, args, order=2, backend=backend)
    assert [r.argument for r in report.rows if r.mode == "fwd"] == ["z.real", "z.imag", "a"]
    assert "complex" in report.notes[0]
    assert len({round(r.ad, 9) for r in report.rows if r.mode in ("fwd", "rev")}) == 3  # both modes, each part
    narrow = dj.check_grads(lambda z: z * z, (np.complex64(1 + 2j),), backend=backend)
    assert narrow.rows[0].tolerance > 1e-3
    spectrum = dj.check_grads(lambda x: np.fft.fft(x) ** 2, (np.arange(4.0),), order=2, backend=backend)
    assert spectrum.notes == ["no complex step: its results are complex"]


def test_complex_numbers_against_derivatives_by_hand():
    """The real part of the seed times what the function changes by, for a move of either part."""
    z = 1.5 - 0.5j
    report = dj.check_grads(lambda z: z * z * np.conj(z), (z,), seed=4, backend="python")
    rng = np.random.default_rng(4)
    w = rng.standard_normal() + 1j * rng.standard_normal()
    rng.standard_normal(2)  # the direction of a second derivative
    for row, unit in zip(report.rows[::2], (1.0, 1j), strict=True):
        d = rng.standard_normal() * unit
        change = 2 * z * np.conj(z) * d + z * z * np.conj(d)
        assert row.ad == pytest.approx((w * change).real)


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_a_wrong_rule_for_complex_numbers_is_found(modes):
    @dj.custom_jvp
    def square(z):
        return z * z

    @square.defjvp
    def rule(primals, tangents):
        (z,), (d,) = primals, tangents
        scale = np.ones(3)
        scale[1] = 1.01
        return square(z), 2 * z * d * scale

    z = np.array([1 + 2j, 0.3 - 1j, 2.0])
    with pytest.raises(dj.GradientMismatch, match=r"DJ602.*`z\[1\]\.(real|imag)`"):
        dj.check_grads(lambda z: np.sum(np.abs(square(z))), (z,), modes=modes, backend="python")


def test_arguments_stay_as_they_are():
    def scale(x):
        x *= 2.0
        return np.sum(x * x)

    x = np.array([1.0, 2.0])
    dj.check_grads(scale, (x,), backend="python")
    np.testing.assert_array_equal(x, [1.0, 2.0])


def settling(d, density):
    """How fast a grain of diameter `d` sinks (m/s): Newton's law with a drag that hangs on the speed."""
    speed = 1e-3
    for _ in range(60):
        reynolds = density * speed * d / 1e-3
        speed = math.sqrt(4 * 9.81 * d * 1600.0 / (3 * density * (24 / reynolds + 6 / (1 + math.sqrt(reynolds)))))
    return speed


def test_small_arguments():
    """Steps are no larger than arguments bear, such as lengths in metres; nor lost beside larger numbers."""
    dj.check_grads(settling, (7e-5, 1e3), backend="python")  # the root of a negative number otherwise
    dj.check_grads(lambda x: np.sum(np.sin(3.0 + x)), (np.array([1e-14, -2e-14]),), backend="python")
    with pytest.raises(dj.GradientMismatch):
        dj.check_grads(lambda d: settling(d, 1e3) + dj.stop_gradient(d), (7e-5,), backend="python")


def test_nan_is_no_agreement():
    with pytest.raises(dj.GradientMismatch):
        dj.check_grads(lambda x: np.sqrt(x) + 1.0, (-1.0,), backend="python")


@pytest.mark.parametrize("options", [{"modes": "sideways"}, {"modes": ()}, {"order": 0}, {"directions": 0}], ids=str)
def test_refused_options(options):
    with pytest.raises(dj.UsageError, match="DJ542"):
        dj.check_grads(lambda x: x * x, (1.0,), **options)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_truth_values_among_arguments_and_results(backend):
    def settled(x, upwards, n):
        y = x**n if upwards else -x
        return {"y": y, "large": y > 1.0, "same": upwards}

    for upwards in (True, False, np.True_):
        assert dj.check_grads(settled, (0.7, upwards, 3), order=2, backend=backend).ok


def test_arguments_without_elements():
    def energy(x, y):
        return np.sum(x * x) + np.prod(y) * np.sum(y)

    assert dj.check_grads(energy, (np.zeros((0, 3)), np.zeros(0)), order=2, backend="python").ok
    assert dj.check_grads(energy, (np.zeros(0), np.array([0.4, 0.7])), order=2, backend="python").ok
