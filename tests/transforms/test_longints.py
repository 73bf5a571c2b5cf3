"""Python's ints beyond 64 bits, where all that becomes of them is floats: against plain Python and differences."""

import math
import random

import numpy as np
import pytest

import diffjit as dj
from tests.fuzz.check import load


def taylor(x, n):
    total = 0.0
    for k in range(n):
        total += x**k / math.factorial(k)
    return total


def by_products(x, n):
    factorial, total = 1, 1.0
    for k in range(1, n):
        factorial *= k
        total += x**k / factorial
    return total


def powers(x, n):
    two, sign = 1, 1
    total = 0.0
    for _ in range(n):
        two *= 2
        sign = -sign
        total += sign * two * x
    return total + np.sum(np.array([x, 2 * x]) / two)


def alternating(x, n):
    term, total, k = 1, 0.0, 0
    while k < n:
        k += 1
        if k % 3 == 0:
            term = term * -k
        else:
            term *= k + 1
        total += math.sin(k * x) / term
    return total


def begun_anew(x, n):
    total = 0.0
    for i in range(3):
        product = n + i
        for k in range(1, n):
            product *= k
        total += x * (i + 1) / product + 1 / product
    return total


def of_powers(x, n):
    total = 0.0
    for k in range(1, 2 * n):
        total += x * (-1) ** k / (2 * k + 1) / 3**k + 2**k * 5 * x / 4**k
    return total


def rabbits(x, n):
    a, b, total = 1, 1, 0.0
    for k in range(3 * n):
        a, b = b, a + b
        total += math.cos(k * x) / (a * b)
    return total


PROGRAMS = [rabbits, taylor, by_products, powers, alternating, begun_anew, of_powers]


def check(f, n, backend):
    value, slope = dj.value_and_grad(f, backend=backend)(0.7, n)
    assert value == pytest.approx(f(0.7, n), rel=1e-13)
    assert slope == pytest.approx((f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6, rel=1e-7)
    assert dj.jit(f, backend=backend)(0.7, n) == pytest.approx(f(0.7, n), rel=1e-13)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_beyond_64_bits(f, backend):
    check(f, 40, backend)
    check(f, 5, backend)


def test_in_lanes_and_twice():
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(dj.vmap(taylor, in_axes=(0, None))(x, 40), np.exp(x), rtol=1e-13)
    assert dj.hessian(taylor, backend="python")(0.7, 40) == pytest.approx(np.exp(0.7), rel=1e-12)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_beyond_floats_python_raises(backend):
    with pytest.raises(OverflowError, match="int too large to convert to float"):
        by_products(0.7, 200)
    with pytest.raises(OverflowError, match="int too large to convert to float"):
        dj.grad(by_products, backend=backend)(0.7, 200)


def as_ints(x, n):
    product = 1
    for k in range(1, n):
        product *= k
    return x * (product % 7) + x / product


def test_what_is_used_as_an_int_stays_one():
    assert dj.grad(as_ints)(0.7, 6) == pytest.approx(120 % 7 + 1 / 120)
    with pytest.raises(OverflowError, match="64 bits"):
        dj.grad(as_ints)(0.7, 40)


def determinant(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x * (a * a - b * (b - a))  # 1 or -1, as Cassini found


def of_a_product(x, n):
    product, before = 1, 1
    for k in range(1, n + 1):
        before = product
        product *= k
    return x * (product - n * before + 1)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [determinant, of_a_product])
def test_digits_that_cancel_are_not_lost_without_a_word(f, backend):
    for n in (4, 17):
        assert dj.jit(f, backend=backend)(0.5, n) == f(0.5, n)
    with pytest.raises(OverflowError, match="cancel"):
        dj.jit(f, backend=backend)(0.5, 60)
    with pytest.raises(OverflowError, match="cancel"):
        dj.grad(f, backend=backend)(0.5, 60)


def binomial(p, n):
    total = 0.0
    for k in range(n + 1):
        total += math.comb(n, k) * p**k * (1 - p) ** (n - k) * math.sqrt(k)
    return total + 3.0 * math.comb(n, n // 3) / 2**n


def differences_of_choices(x, n):
    return x * (math.comb(n, 2) - math.comb(n, 3)) + x**2 * (2 ** (n + 3) - 3)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [binomial, differences_of_choices])
def test_choices(f, backend):
    for n in (5, 100):
        check(f, n, backend)


def written(seed):
    """A random program: ints that are multiplied, added and begun anew, in branches and loops, and made floats."""
    rng = random.Random(seed)
    names = ["a", "b"]

    def small():
        return rng.choice(["(k + 1)", "n", "2", "-3", "(i + 2)"])

    def integer():
        return rng.choice([*names, small()])

    def statement(depth):
        name = rng.choice(names)
        match rng.randrange(7 if depth < 2 else 5):
            case 0 | 1:
                return [f"{name} *= {small()}"]
            case 2:
                return [f"{name} = {rng.choice(names)} {rng.choice('+-')} {integer()}"]
            case 3:
                return [f"s += x * {integer()} / (abs(float({name})) + 1.0)"]
            case 4:
                return [f"s = 0.5 * s + {name} * x / 1e3" if rng.random() < 0.5 else f"{name} = -{name}"]
            case 5:
                test = rng.choice(["k % 2 == 0", "s > 0", "k > i"])
                return [f"if {test}:", *block(depth + 1), "else:", *block(depth + 1)]
            case _:
                return [f"for i in range({rng.choice(['3', 'n', 'k'])}):", *block(depth + 1)]

    def block(depth):
        lines = [line for _ in range(rng.randrange(1, 4)) for line in statement(depth)]
        return ["    " + line for line in lines]

    body = [
        "a, b, i, s = 1, n, 0, x",
        "for k in range(n):",
        *block(0),
        *block(0),
        f"return s + x / ({rng.choice([*names, 'n'])} + 0.5)",
    ]
    return "def f(x, n):\n" + "\n".join("    " + line for line in body) + "\n"


def outcome(call):
    try:
        return float(call())
    except OverflowError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    compare(written(seed), "python")


@pytest.mark.parametrize("seed", [100, 101])
def test_random_programs_compiled(seed):
    compare(written(seed), "numba")


def compare(text, backend):
    f = load(text, "").f
    for n in (3, 9):
        wanted = outcome(lambda n=n: f(0.7, n))
        found = outcome(lambda n=n: dj.jit(f, backend=backend)(0.7, n))
        if isinstance(found, str) and ("64 bits" in found or "cancel" in found):
            continue  # a result, or something compared; or a float would have lost what a difference is made of
        if isinstance(wanted, str):
            assert found == wanted, text
        else:
            assert found == pytest.approx(wanted, rel=1e-11), text
            slope = (f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6
            assert dj.grad(f, backend=backend)(0.7, n) == pytest.approx(slope, rel=1e-5, abs=1e-5 * abs(wanted)), text
