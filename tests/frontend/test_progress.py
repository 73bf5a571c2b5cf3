"""Progress bars of tqdm in programs: loops go through what they go through."""

import numpy as np
import pytest
import tqdm
import tqdm.auto

import diffjit as dj

X = np.array([0.3, -0.7, 1.1])


def around_a_range(x):
    total = 0.0
    for i in tqdm.tqdm(range(len(x)), desc="sum", leave=False, disable=True):
        total += np.sin(x[i] * (i + 1))
    return total


def counted(x):
    total = 0.0
    for i in tqdm.trange(1, 10, 4, disable=True):
        total += np.sum(x**2) * i
    return total


def told(x):
    bar = tqdm.auto.tqdm(x, total=3, disable=True)
    total = 0.0
    for value in bar:
        total += value * total + np.exp(value)
        bar.set_postfix(total=total)
        bar.set_description(f"{total:.2f}")
        if total > 4.0:
            break
    return total


def by_hand(x):
    with tqdm.tqdm(total=100, disable=True) as bar:
        total = 0.0
        for k in range(3):
            total += x[k] ** 3
            bar.update(10)
    return total * len(tqdm.tqdm([1, 2], disable=True))


def nested(x):
    pairs = [(i, value) for i, value in enumerate(tqdm.tqdm(x, disable=True))]
    return sum(i * value**2 for i, value in pairs) + sum(
        a * b for a, b in zip(tqdm.tqdm(x, disable=True), x, strict=True)
    )


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [around_a_range, counted, told, by_hand, nested])
def test_programs(f, backend):
    assert dj.jit(f, backend=backend)(X) == pytest.approx(f(X), rel=1e-13)
    h = 1e-6
    wanted = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(dj.grad(f, backend=backend)(X), wanted, rtol=1e-7, atol=1e-9)
    assert dj.jvp(f, (X,), (np.ones(3),))[1] == pytest.approx(np.sum(wanted), rel=1e-7)


def test_what_is_written_is_printed(capsys):
    def f(x):
        for k in tqdm.trange(2, disable=True):
            tqdm.tqdm.write(f"turn {k}")
        return x * x

    assert dj.grad(f)(3.0) == 6.0
    assert capsys.readouterr().out == "turn 0\nturn 1\n"


def test_how_far_a_bar_is_around_something():
    def f(x):
        bar = tqdm.tqdm([1.0, 2.0], disable=True)
        return x * bar.n

    with pytest.raises(dj.UnsupportedSyntax, match="count yourself"):
        dj.jit(f)(2.0)
