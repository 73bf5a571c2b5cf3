"""Texts with `%`, stars for as many arguments as there turn out to be, and large tables of numbers by number."""

# Programs are as users write them:
# ruff: noqa: F504, F505, F507, PLE1307, T201, UP031, UP032

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import TypeProblem

BACKENDS = ["python", "numba"]
X = np.array([1.2, 0.7, 2.0])


def slopes(f, x, *rest):
    return [(f(x + 1e-6 * e, *rest) - f(x - 1e-6 * e, *rest)) / 2e-6 for e in np.eye(len(x))]


# Texts ----------------------------------------------------------------------------------------------------------------


def of_known_numbers(x):
    for n in range(3):
        for k in range(n):
            assert n > k, "no %d of %d" % (n, k)
            x = x * n
    raise ValueError("%d%% of (%s, %s)" % (50, "a", (1, 2)))


def of_computed_numbers(x):
    if x > 0:
        raise ValueError("%d|%-8.3f|%+5d|%5.1e|%g|%x|%s|%6.2f" % (x, x, 2 * x, x, x, 17, [x, 1], x))
    return x


def of_named_numbers(x):
    if x > 0:
        raise ValueError("%(a)6.2f and %(b)s of %(a)d" % {"a": x, "b": "b"})
    return x


def of_widths(x):
    if x > 0:
        raise ValueError("%*.*f|%i" % (9, 3, x, x))
    return x


def of_an_exception(x):
    try:
        if x > 0:
            raise ValueError("%.1f" % x)
    except ValueError as error:
        raise RuntimeError("%s: %d" % (error, 3)) from error
    return x


def of_one_of_two(x):
    raise ValueError("%s and %s" % ("large" if x > 1 else "small", "x"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f", [of_known_numbers, of_computed_numbers, of_named_numbers, of_widths, of_an_exception, of_one_of_two]
)
def test_texts_are_as_pythons(f, backend):
    with pytest.raises((ValueError, RuntimeError)) as python:
        f(2.7)
    with pytest.raises(python.type) as ours:
        dj.grad(f, backend=backend)(2.7)
    assert str(ours.value) == str(python.value)


def of_too_few(x):
    return x * len("%d %d" % (1,))


def of_too_many(x):
    return x * len("%d" % (1, x))


def of_a_word(x):
    return x * len("%d" % ("a",))


def of_a_name(x):
    return x * len("%(a)s" % {"b": x})


@pytest.mark.parametrize("f", [of_too_few, of_too_many, of_a_word])
def test_texts_that_python_refuses(f):
    with pytest.raises(TypeError) as python:
        f(1.0)
    with pytest.raises((TypeProblem, TypeError)) as ours:
        dj.grad(f, backend="python")(1.0)
    assert str(python.value) in str(ours.value)


def test_a_text_that_lacks_a_name():
    with pytest.raises(TypeProblem, match=r"DJ309.*'a'"):
        dj.grad(of_a_name, backend="python")(1.0)


# Letters, and joined texts


TABLE = {"angle": 12.345}


def parts_of_a_number_outside(x, n):
    degrees, rest = f"{TABLE['angle']:.5f}".split(".")
    return x * float(degrees) + float(rest) * 1e-5 + len(str(n)) * x


def digits_of_an_argument(x, n):
    text = "%02d" % n
    return x * int(text[0]) + (x * x if f"{n}" == "3" else 2.0 * x) + float("%d.5" % n)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [parts_of_a_number_outside, digits_of_an_argument])
def test_letters_of_numbers_that_can_be_known(f, backend, monkeypatch):
    both = dj.value_and_grad(f, backend=backend)
    for n, angle in ((3, 12.345), (12, 12.345), (12, 0.5)):
        monkeypatch.setitem(TABLE, "angle", angle)
        value, slope = both(1.5, n)
        assert value == pytest.approx(f(1.5, n), rel=1e-14)
        assert slope == pytest.approx((f(1.5 + 1e-6, n) - f(1.5 - 1e-6, n)) / 2e-6, rel=1e-6)


def test_letters_of_what_has_a_derivative_are_refused():
    with pytest.raises(dj.UnsupportedSyntax, match="DJ118"):
        dj.grad(lambda x: x * (2.0 if str(x)[0] == "-" else 1.0), backend="python")(1.5)


def printed_rows(x):
    v = np.arange(3) * x
    print(" ".join("%.2f" % q for q in v), ", ".join([f"<{q:.1f}>" for q in v]), "".join(map(str, range(2))))
    for row in np.outer(v, v):
        print("row " + " ".join(map(str, row)))
    print("|".join("%d" % q for q in v[:0]) + "end")
    return np.sum(v * v)


def printed_history(x):
    seen = []
    while x < 10.0:
        x = x * 1.7
        seen.append(x)
    print("seen: " + "; ".join("%d%%" % (100 * h) for h in seen))
    return seen[-1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [printed_rows, printed_history])
def test_joined_texts(f, backend, capfd):
    value = f(1.5)
    wanted = capfd.readouterr().out
    slope = dj.grad(f, backend=backend)(1.5)
    assert capfd.readouterr().out == wanted
    assert dj.jvp(f, (1.5,), (1.0,), backend=backend) == (pytest.approx(value), pytest.approx(slope))
    assert capfd.readouterr().out == wanted


def raised_texts(x):
    if np.any(x > 1.0):
        raise ValueError(f"too large: {', '.join(['{:G}'.format(v) for v in x])}.")
    return np.sum(x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_joined_texts_of_errors(backend):
    assert dj.grad(raised_texts, backend=backend)(X * 0.1) == pytest.approx([1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"too large: 1\.2, 0\.7, 2\."):
        dj.grad(raised_texts, backend=backend)(X)


# Stars ----------------------------------------------------------------------------------------------------------------


def area(a, b, c, d=0.5):
    return a * b + c * c * (1 + d)


def scaled(a, b, c, d=0.5, *, e=1.0):
    return a * b + c * c * (1 + d) * e


class Line:
    def __init__(self, a, b, c=2.0, d=1.0):
        self.a, self.b, self.c = a, b, c * d

    def at(self, x, y=3.0):
        return self.a * x + self.b * y + self.c


def summed(x):
    """A vector whose length is only known when the program runs."""
    return np.asarray([np.array([r, r * r, r + 1.0, 2.0 * r]) for r in x if r > 0]).sum(axis=0)


def all_given(x):
    return area(*summed(x))


def some_given(x):
    return area(*summed(x)[:3]) + area(x[0], *summed(x)[1:])


def with_keywords(x):
    r = summed(x)[:3]
    return scaled(*r, e=x[0]) + scaled(*r, d=x[1]) + area(*r[:2], c=x[2])


def objects(x):
    r = summed(x)
    first, second = Line(*r), Line(x[0], *r[:2])
    return first.at(*r[1:3]) + second.at(*r[3:])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [all_given, some_given, with_keywords, objects])
def test_stars_of_computed_vectors(f, backend):
    value, slope = dj.value_and_grad(f, backend=backend)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12)
    np.testing.assert_allclose(slope, slopes(f, X), rtol=1e-6)


def too_few(x):
    return area(*summed(x)[:2])


def too_many(x):
    return area(x[0], *summed(x))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [too_few, too_many])
def test_stars_of_too_few_or_many(f, backend):
    with pytest.raises(TypeError):
        f(X)
    with pytest.raises(TypeError):
        dj.grad(f, backend=backend)(X)


# Tables ---------------------------------------------------------------------------------------------------------------

WEIGHTS = {(k * 7) % 150 + 1: 1.0 + 0.5 * k for k in range(150)}  # in no order, as many as there are elements


def weighed(x, kinds):
    total = 0.0
    for kind, mass in zip(kinds, x, strict=True):
        total += WEIGHTS[kind] * mass**2 + WEIGHTS.get(kind - 1, 7.0) * mass**3
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kinds", [[1, 2, 150], [75, 74, 76], [149, 16, 17]])
def test_large_tables(kinds, backend):
    value, slope = dj.value_and_grad(weighed, backend=backend)(X, np.array(kinds))
    np.testing.assert_allclose(value, weighed(X, kinds), rtol=1e-12)
    np.testing.assert_allclose(slope, slopes(weighed, X, kinds), rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", [0, 151, -3])
def test_keys_that_a_large_table_lacks(kind, backend):
    with pytest.raises(KeyError, match=str(kind)):
        dj.grad(weighed, backend=backend)(X, np.array([1, kind, 2]))
