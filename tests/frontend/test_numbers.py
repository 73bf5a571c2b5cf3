"""Numbers at their edges: what Python and NumPy say of them, `jit` says on both backends."""

import cmath
import math
import types

import numpy as np
import pytest
import scipy.special

import diffjit as dj
from diffjit.errors import TypeProblem

LEAST, MOST = -(2**63), 2**63 - 1
NAN, INF = math.nan, math.inf
BACKENDS = ("python", "numba")

TOO_LARGE = (OverflowError, "a Python int does not fit into 64 bits in compiled code")


def outcome(function, *args):
    """The class of a result and its text, or of an exception and what it says."""
    try:
        with np.errstate(all="ignore"):
            result = function(*args)
    except Exception as error:  # noqa: BLE001 - which one is what is compared
        return type(error), str(error)
    return type(result), repr(result)


def agrees(found, wanted):
    """Whether compiled code does as Python does; of ints beyond 64 bits it says that they are too large."""
    if found == wanted or (found[0] is wanted[0] is float and float(found[1]) == float(wanted[1])):
        return True
    beyond = wanted[0] is OverflowError or (wanted[0] in (int, tuple) and "9223372036854775808" in wanted[1])
    large = wanted[0] is int and not LEAST <= int(wanted[1]) <= MOST
    return found == TOO_LARGE and (beyond or large)


EDGES = [NAN, INF, -INF, 1e30, -1e30, -(2.0**63), 2.0**63, 2.5, np.float64(NAN)]
CONVERSIONS = [int, round, math.floor, math.ceil, math.trunc]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("x", EDGES, ids=repr)
def test_what_is_no_integer_is_an_error(convert, x, backend):
    def program(x):
        return convert(x)

    found = outcome(dj.jit(program, backend=backend), x)
    assert agrees(found, outcome(program, x)), found


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_that_is_no_number_is_a_value_error(backend):
    def program(a, x):
        return a[int(x)] ** 2

    for verb in (dj.jit, dj.grad):
        with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
            verb(program, backend=backend)(np.ones(3), NAN)


OPERATIONS = {
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "divmod": divmod, "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b, "*": lambda a, b: a * b, "+": lambda a, b: a + b, "-": lambda a, b: a - b,
    "abs": lambda a, b: abs(a) + 0 * b, "neg": lambda a, b: -a + 0 * b, "// -1": lambda a, b: a // -1 + 0 * b,
}  # fmt: skip
PAIRS = [(LEAST, -1), (MOST, -1), (LEAST, 1), (MOST, 1), (1, 63), (1, 62), (-1, 63), (5, 0), (1, 64), (1, -1), (0, 99)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", OPERATIONS)
def test_ints_at_the_end_of_their_range(kind, backend):
    program = OPERATIONS[kind]
    for numbers in (int, np.int64):
        for a, b in PAIRS:
            pair = numbers(a), numbers(b)
            found, wanted = outcome(dj.jit(program, backend=backend), *pair), outcome(program, *pair)
            zero = found[0] is wanted[0] is ZeroDivisionError  # Python's words for // and % differ by version
            assert zero or agrees(found, wanted), (pair, found, wanted)


CASTS = [
    (np.int64, NAN), (np.int64, 1e30), (np.int64, np.float64(NAN)), (np.int8, 300), (np.int8, 300.5), (np.int8, -128),
    (np.uint8, -1), (np.uint8, np.int64(-1)), (np.int32, 1e10), (np.uint64, -1), (np.uint64, 5), (np.int32, INF),
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("cls", "x"), CASTS, ids=repr)
def test_numpys_ints_take_pythons_numbers_that_fit(cls, x, backend):
    def program(x):
        return cls(x)

    def stored(x):
        a = np.zeros(2, cls)
        a[1] = x
        return a

    def filled(x):
        a = np.zeros(2, cls)
        a[:] = x
        return a

    for function in (program, stored, filled):
        found, wanted = outcome(dj.jit(function, backend=backend), x), outcome(function, x)
        assert agrees(found, wanted), (function, found, wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_python_int_that_does_not_fit_is_no_operand(backend):
    def program(a, n):
        return a + n

    a = np.zeros(2, np.int8)
    run = dj.jit(program, backend=backend)
    assert run(a, 100).tolist() == [100, 100]
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
        run(a, 300)


@pytest.mark.parametrize("backend", BACKENDS)
def test_large_unsigned_indices_are_not_negative(backend):
    def element(a, i):
        return a[i] * 2.0

    def part(a, i):
        return np.sum(a[i:]) + 2.0 * np.sum(a[:i])

    a, large = np.arange(1.0, 4.0), np.uint64(2**64 - 1)
    for verb in (dj.jit, dj.grad):
        with pytest.raises(OverflowError):
            verb(element, backend=backend)(a, large)
    assert dj.jit(element, backend=backend)(a, np.uint64(2)) == 6.0
    assert dj.jit(part, backend=backend)(a, large) == part(a, large) == 12.0
    assert dj.grad(part, backend=backend)(a, large).tolist() == [2.0, 2.0, 2.0]


N = 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_power_is_an_int_or_a_float_by_the_sign_of_its_exponent(backend, monkeypatch):
    def plain(n):
        return 2**n

    def negated(x, n):
        return x * 3 ** -(2 * n)

    def outside(x):
        return x * 2**N

    run, scale, slope = (dj.jit(f, backend=backend) for f in (plain, negated, outside))
    for n in (3, -1, 0, -2, 5):
        assert outcome(run, n) == outcome(plain, n)
        assert scale(1.5, n) == negated(1.5, n)
        assert dj.grad(negated, backend=backend)(1.5, n) == negated(1.0, n)
        assert dj.jvp(negated, (1.5, n), (1.0, 0))[1] == negated(1.0, n)
        monkeypatch.setitem(globals(), "N", n)
        assert slope(1.5) == outside(1.5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_power_whose_sign_is_computed_is_refused_where_it_is_negative(backend):
    def program(n, m):
        return 2 ** (n - m)

    run = dj.jit(program, backend=backend)
    assert run(5, 3) == 4
    with pytest.raises(ValueError, match="write float"):
        run(3, 5)


def compared(a, b):
    return a < b, a <= b, a > b, a >= b, a == b, a != b


@pytest.mark.parametrize("backend", BACKENDS)
def test_pythons_ints_are_compared_with_numpys_by_what_they_are(backend):
    run = dj.jit(compared, backend=backend)
    for a in (np.uint64(5), np.uint64(2**63), np.uint8(5), np.int8(-1), np.array([0, 200], np.uint8)):
        for b in (-1, 5, 300, MOST, 0):
            for pair in ((a, b), (b, a)):
                assert outcome(run, *pair) == outcome(compared, *pair), pair


def powers(x, n):
    return x**2, x**n, np.power(x, n)


@pytest.mark.parametrize("backend", BACKENDS)
def test_powers_of_all_ints_wrap_as_numpys(backend):
    run = dj.jit(powers, backend=backend)
    for cls in (np.uint8, np.uint32, np.uint64, np.int8, np.int64):
        for x, n in ((7, 3), (0, 0), (0, 5), (3, 100), (2, 63)):
            for value in (cls(x), np.array([x, 1], cls)):
                assert outcome(run, value, cls(n)) == outcome(powers, value, cls(n))


@pytest.mark.parametrize("backend", BACKENDS)
def test_running_sums_of_narrow_ints_have_64_bits(backend):
    def program(x):
        return np.cumsum(x), np.cumprod(x), np.sum(x)

    for cls in (np.uint8, np.int8, np.uint32, np.bool_):
        x = np.array([100, 100, 3], cls)
        assert outcome(dj.jit(program, backend=backend), x) == outcome(program, x)


WIDE = [(LEAST, MOST, 2**62), (MOST, LEAST, -(2**62)), (LEAST, LEAST + 3, 1), (MOST - 3, MOST, 2), (MOST, LEAST, 1)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_ranges_as_wide_as_the_ints(backend):
    def length(a, b, c):
        return len(range(a, b, c))

    run = dj.jit(length, backend=backend)
    for args in WIDE:
        assert run(*args) == length(*args), args


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_of_zero_and_common_multiples_that_are_too_large(backend):
    def steps(a, b, c):
        return np.arange(a, b, c)

    for args in ((0, 5, 0), (0.0, 5.0, 0.0), (5.0, 0.0, -0.0), (0, 5, 2), (0.0, 1.0, 0.25)):
        assert outcome(dj.jit(steps, backend=backend), *args) == outcome(steps, *args), args

    def multiple(a, b):
        return math.lcm(a, b)

    for args in ((4, 6), (0, 0), (0, 5), (-4, 6), (2**62, 5)):
        found = outcome(dj.jit(multiple, backend=backend), *args)
        assert agrees(found, outcome(multiple, *args)), (args, found)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_sign_of_a_negative_zero_is_zero(backend):
    run = dj.jit(np.sign, backend=backend)
    assert [math.copysign(1.0, run(x)) for x in (-0.0, 0.0, -2.0)] == [1.0, 1.0, -1.0]
    assert math.isnan(run(NAN))


@pytest.mark.parametrize("backend", BACKENDS)
def test_fsum_loses_nothing(backend):
    x = np.array([1e16, 1.0, -1e16, 0.5])

    def program(x):
        return math.fsum(x)

    value, slope = dj.value_and_grad(program, backend=backend)(x)
    assert value == math.fsum(x) == 1.5
    assert np.array_equal(slope, np.ones(4))


SINGLE = np.arange(3, dtype=np.float32)


def conjugate(x):
    return complex(x, 1.0).conjugate().imag * SINGLE


def from_polar(x):
    return cmath.rect(x, 1.0).real * SINGLE


def power_series(x):
    return np.polyval([1.0, x], 2.0) * SINGLE


def single_series(x):
    return np.polyval([1.0, 2.0], SINGLE) * x


@pytest.mark.parametrize("function", [conjugate, from_polar, power_series, single_series])
@pytest.mark.parametrize("backend", BACKENDS)
def test_whose_number_it_is(function, backend):
    """Python's numbers leave arrays of single precision as they are, NumPy's do not."""
    found, wanted = dj.jit(function, backend=backend)(0.7), function(0.7)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def late_name(name):
    """A module's attribute that its `__getattr__` gives."""
    if name == "spring":
        return lambda x: 0.5 * x**2
    raise AttributeError(name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_module_that_gives_names_when_they_are_asked_for(backend):
    module = types.ModuleType("late")
    module.__getattr__ = late_name
    assert dj.grad(lambda x: module.spring(x), backend=backend)(3.0) == 3.0  # noqa: PLW0108
    with pytest.raises(TypeProblem, match="spring_of_air"):
        dj.grad(lambda x: module.spring_of_air(x), backend=backend)(3.0)  # noqa: PLW0108


def digits(x):
    size = int(x[0] * 50)
    return x[0] * size.bit_length() + (-37).bit_length() * x[1] + x.size.bit_length() * (0).bit_length()


def methods(x):
    ratio = (2.5).as_integer_ratio()
    return x[0] * ratio[0] + x[1] * int.from_bytes(b"12", "big") + (7).bit_count() * float.fromhex("0x1p3") * x[0]


def choices(x):
    total = sum(scipy.special.comb(4, k, exact=True) * x[0] ** k for k in range(6))
    for n in range(4):
        total += (
            scipy.special.factorial(n, exact=True) * x[1] ** n * scipy.special.comb(n, 2, exact=True, repetition=True)
        )
    return total


@pytest.mark.parametrize("function", [digits, methods, choices])
@pytest.mark.parametrize("backend", BACKENDS)
def test_methods_and_counts_of_ints(function, backend):
    x, step = np.array([0.7, 1.3]), 1e-5 * np.array([1.0, -0.5])
    found = dj.jit(function, backend=backend)(x)
    assert found == function(x)
    wanted = (function(x + step) - function(x - step)) / 2
    np.testing.assert_allclose(dj.grad(function, backend=backend)(x) @ step, wanted, rtol=1e-6)


def of_two_parts(x, single):
    z = complex(x[0], x[1])
    return z * single, complex(3, x[0]).real * single, complex(imag=x[1]), z.imag, abs(z), complex(x[0] * 1j, x[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_complex_of_two_numbers_is_pythons(backend):
    """It was NumPy's, where its imaginary part was: a product with a complex64 was a complex128."""
    x = np.array([0.7, 1.3])
    for single in (np.float32(2.0), np.ones(2, np.complex64)):
        wanted = of_two_parts(x, single)
        for found, want in zip(dj.jit(of_two_parts, backend=backend)(x, single), wanted, strict=True):
            assert type(found) is type(want)
            assert np.asarray(found).dtype == np.asarray(want).dtype
            np.testing.assert_allclose(found, want, rtol=1e-6)


def read_again(x):
    """Texts of a float that are read as numbers: what is behind the last digit is rounded off, exactly."""
    padded, pieces = " " + f"{x:+.2f}" + " ", ("%8.1f" % x, f"{x:>12.4f}", "{:.0f}".format(x), f"{x:f}", "%.18f" % x)  # noqa: UP031, UP032
    return (
        float(padded),
        *map(float, pieces),
        float(str(x)),
        float(f"{x!r}"),
        int(f"{x:.0f}"),
        round(x, 15),
        round(x, 18),
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_texts_that_are_read_again(backend):
    random = np.random.default_rng(3)
    sizes = 10.0 ** random.integers(-6, 9, 200)
    read = dj.jit(read_again, backend=backend)
    near_halves = [0.0049190064236668725, 2.675, 1.005, 0.125, -0.0001, 0.0, 2.5, 1e15 + 0.5]
    for x in (*(random.uniform(-1, 1, 200) * sizes), *(random.integers(-1000, 1000, 100) / 64.0), *near_halves):
        assert repr(read(float(x))) == repr(read_again(float(x)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_slopes_of_texts_that_are_read_again(backend):
    """As those of `round`: zero, but one where no float is rounded."""

    def read(x):
        return float(f"{x:.3f}") * x + float(f"{x * x:.18f}") + 2.0 * float(str(x))

    np.testing.assert_allclose(dj.grad(read, backend=backend)(0.7043), 0.704 + 2 * 0.7043 + 2.0, rtol=1e-14)


def test_texts_that_are_no_float():
    for read in (lambda x: float(f"{x:.3e}"), lambda x: float(f"1{x:.3f}"), lambda x: int(f"{x:.1f}")):
        with pytest.raises(dj.DiffjitError, match="DJ118"):
            dj.jit(read, backend="python")(0.3)
