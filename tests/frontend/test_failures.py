"""What fails as in Python: texts that are printed, errors that nobody catches, and what must not be caught."""

# ruff: noqa: T201 - what the programs print is compared

import math

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.4, 0.8, 1.5])


def run(function, *args):
    return dj.jit(function, backend="python")(*args)


def texts(x):
    for k in range(4):
        try:
            if k == 2:
                raise LookupError("two", k)
            print(x[k + 1] / k, [1.0, 2.0][k])
        except (IndexError, LookupError, ZeroDivisionError) as error:
            print(f"{error} |", error, str(error), len(error.args))
    try:
        x.reshape(2, 2)
    except ValueError as error:
        print("shape:", error)
    try:
        {"a": 1.0}["b"]
    except KeyError as error:
        print(f"key: {error}", error.args[0])
    try:
        math.sqrt(float(-x[0]))
    except ValueError as error:
        print("math:", error)
    for pick in (min, max):
        try:
            pick([v for v in x if v > 9.0])
        except ValueError as error:
            print("none:", error)
    name = "high" if x[0] > 1.0 else f"low {x[0]}"
    print(f"<{name}>", name)
    return x[0]


def test_texts_of_errors_are_pythons(capsys):
    with np.errstate(all="ignore"):
        texts(X)
    wanted = capsys.readouterr().out
    run(texts, X)
    assert capsys.readouterr().out == wanted


def undefined(x):
    whole = int(x[0] * -5.0)
    for k in (-1.0, 2.5, np.inf, -np.inf):
        value = float(k * x[2])
        for function in (math.sqrt, math.log, math.log10, math.log2, math.log1p, math.acos, math.asin, math.acosh):
            try:
                print(function(value) > 0.0)
            except ValueError as error:
                print(error)
        for function in (math.atanh, math.gamma, math.lgamma, math.sin, math.cos, math.tan):
            try:
                print(function(math.floor(value) if math.isfinite(value) else value) > 0.0)
            except ValueError as error:
                print(error)
        for function in (math.fmod, math.pow, math.remainder):
            try:
                print(function(value, 0.5 - 0.5) > 0.0)
            except ValueError as error:
                print(error)
    for function in (math.sqrt, math.log, math.log2, math.acos, math.gamma):
        try:
            print(function(whole) > 0.0)
        except ValueError as error:
            print(error)
        try:
            print(function(x[1] - 2.0 * x[2]) > 0.0)
        except ValueError as error:
            print(error)
    return x[0]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_numbers_that_math_is_not_defined_for(backend, capsys):
    undefined(X)
    wanted = capsys.readouterr().out
    dj.jit(undefined, backend=backend)(X)
    assert capsys.readouterr().out == wanted


def ragged(x, n):
    return np.sum(np.array([x, x[:n]]))


def ragged_list(x, n):
    rows = [x]
    for _ in range(n):
        rows.append(x[:n])  # noqa: PERF401 - a list that grows
    return np.sum(np.array(rows))


def strict(x, n):
    return sum(a * b for a, b in zip(x, x[:n], strict=True))


@pytest.mark.parametrize("function", [ragged, ragged_list, strict])
def test_uncaught_as_in_python(function):
    for call in (function, lambda *args: run(function, *args)):
        with pytest.raises(ValueError):
            call(X, 1)


def ways_to_fail(x, where, how, log):
    """An exception of one class that is raised with and without words, passes a `finally`, and is raised again."""
    try:
        try:
            if x[where] > 1.0:
                raise KeyError
            if x[where] > 0.5:
                raise KeyError("large", x[where])
        finally:
            log[0] += x[0]
    except KeyError as error:
        log[1] += len(error.args)
        if how == "again":
            raise
        if how == "words":
            raise RuntimeError(f"found {error}") from error
        if error.args:
            return x[0] * error.args[1] + len(error.args[0])
    return x[where]


@pytest.mark.parametrize("how", ["again", "words", "caught"])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_exceptions_with_and_without_words(where, how):
    found = []
    for call in (ways_to_fail, lambda *args: run(ways_to_fail, *args)):
        log = np.zeros(2)
        try:
            outcome = call(X, where, how, log)
        except (KeyError, RuntimeError) as error:
            outcome = type(error), str(error), error.args
        found.append((outcome, list(log)))
    assert found[0] == found[1]


def power(n, m):
    try:
        return float(2 ** (n - m))
    except ValueError:
        return -1.0


def test_a_refusal_when_the_program_runs_is_not_caught():
    assert power(1, 2) == 0.5
    with pytest.raises(ValueError, match="negative power"):
        run(power, 1, 2)


def mean(x, least):
    chosen = [v for v in x if v > least]
    try:
        return sum(chosen) / len(chosen)
    except ZeroDivisionError:
        return least


def test_a_doubtful_division_by_zero_stops_the_program():
    assert run(mean, X, 0.5) == pytest.approx(mean(X, 0.5))
    with pytest.raises(ZeroDivisionError, match="DJ304"):
        run(mean, X, 9.0)


FACTORS = [2.0, np.float64(300.0)]


def growth(rate, least):
    """A guess is tried again with factors that are Python's or NumPy's."""
    guess = rate
    for factor in FACTORS:
        if guess < least:
            guess = rate * factor
    try:
        return 1.1**guess + guess ** (-0.5)
    except (OverflowError, ZeroDivisionError):
        return rate


def test_a_doubtful_power_without_bound_stops_the_program():
    for least in (0.0, 2.0, 9.0):
        assert run(growth, 1.5, least) == pytest.approx(growth(1.5, least))
        assert dj.grad(growth, backend="python")(1.5, least) == pytest.approx(
            (growth(1.5 + 1e-6, least) - growth(1.5 - 1e-6, least)) / 2e-6, rel=1e-6
        )
    with pytest.raises(OverflowError, match="DJ304"):
        run(growth, 40.0, 1e9)  # NumPy's infinity in Python, which a float would not give
    with pytest.raises(OverflowError, match="DJ304"):
        run(growth, 0.0, -1.0)


def slope_and_value(x):
    return x * x - 2.0, 2.0 * x


def newton(x, slope, tries):
    """A solver whose argument `slope` is a function, or says that the function gives it, too."""
    value, along = slope_and_value(x)
    fresh = True
    for k in range(tries):
        try:
            if k > 7:
                raise ValueError
            x = x - value / along
            value, new = slope_and_value(x)
            fresh = True
        except ValueError:
            pass
        if not fresh:
            new = slope(x)
        along, fresh = new, False
    return x


@pytest.mark.parametrize("slope", [True, None, 2.5, "given"], ids=str)
def test_what_is_no_function_is_called_only_where_python_comes_to_it(slope):
    found = dj.grad(lambda x: newton(x, slope, 2), backend="python")(1.3)
    assert found == pytest.approx((newton(1.3001, slope, 2) - newton(1.2999, slope, 2)) / 2e-4, rel=1e-5)
    for call in (newton, lambda *args: run(newton, *args)):
        with pytest.raises(TypeError):
            call(1.3, slope, 9)


def test_what_is_no_function_may_be_caught():
    def tried(x, way):
        try:
            return way(x)
        except TypeError:
            return 3.0 * x

    for way in (True, "sin", 2.0, None):
        assert dj.grad(lambda x, way=way: tried(x, way), backend="python")(1.0) == 3.0


def test_a_try_around_a_recursive_function():
    """What it raises would leave the program: neither its value nor the handler's would come out."""

    def falling(x, n):
        if n < 0:
            raise ValueError(n)
        return x if n == 0 else falling(x, n - 1) * x

    def caught(x, n):
        try:
            return falling(x, n)
        except ValueError:
            return 0.0

    def not_caught(x, n):
        try:
            return falling(x, n)
        except KeyError:
            return 0.0

    with pytest.raises(dj.UnsupportedSyntax, match="DJ130"):
        dj.jit(caught)(2.0, -1)
    assert dj.jit(not_caught)(2.0, 2) == 8.0


def test_recursion_that_catches_what_it_raises():
    def doubled(x, n):
        if n == 0:
            if x > 3:
                raise ValueError(x)
            return x * x
        try:
            return doubled(2 * x, n - 1) + 1
        except ValueError:
            return x

    def within(x, n):
        if n == 0:
            try:
                if x > 3:
                    raise ValueError(x)
            except ValueError:
                return 3.0 * x
            return x * x
        try:
            return within(2 * x, n - 1) + 1
        except (KeyError, ValueError):
            return x

    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ130[\s\S]*return doubled\(2 \* x"):
        dj.jit(doubled)(1.0, 3)
    for x in (0.25, 1.0):
        assert dj.jit(within)(x, 3) == within(x, 3)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("k", [2, 3, 7, -4, -9])
def test_words_of_an_index_among_many(backend, k):
    """Inside a `try` indices are tested in front of the access; the words are NumPy's all the same."""

    def f(x, k):
        total = 0.0
        try:
            total += np.sum(x[np.array([[0, 1], [2, k]])] ** 2)
            x[np.array([0, k - 1])] = 2.0
        except ValueError:
            total += 1.0
        finally:
            total *= 2.0
        return total

    def outcome(g):
        try:
            return float(g(np.arange(3.0), k))
        except IndexError as error:
            return str(error)

    assert outcome(dj.jit(f, backend=backend)) == outcome(f)
    assert outcome(lambda x, k: dj.value_and_grad(f, backend=backend)(x, k)[0]) == outcome(f)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("count", [2, 3, 9])
def test_a_star_for_too_many_arguments_is_a_type_error(backend, count):
    """A call takes a star of another number of items for wrong arguments; an assignment takes it for a wrong value."""

    def product(a, b):
        return a * b

    def called(x):
        try:
            return product(*x)
        except TypeError:
            return 10.0 * np.sum(x)
        except ValueError:
            return 100.0 * np.sum(x)

    def unpacked(x):
        try:
            a, b = x
        except ValueError:
            return 10.0 * np.sum(x)
        return a * b

    x = 1.0 + np.arange(count)
    wanted = np.array([2.0, 1.0]) if count == 2 else np.full(count, 10.0)
    for function in (called, unpacked):
        value, gradient = dj.value_and_grad(function, backend=backend)(x)
        assert value == function(x)
        np.testing.assert_array_equal(gradient, wanted)


def inverse(x):
    try:
        found = np.linalg.inv(np.array([[x, 1.0], [2.0, 4.0]]))
    except np.linalg.linalg.LinAlgError:  # where NumPy had it before 2.0
        return -1.0
    return np.sum(found)


def test_a_handler_of_classes_that_are_not_there():
    """Python asks for them when something was raised."""
    h = 1e-6
    numerical = (inverse(2.0 + h) - inverse(2.0 - h)) / (2 * h)
    for backend in ("python", "numba"):
        gradient = dj.grad(inverse, backend=backend)
        np.testing.assert_allclose(gradient(2.0), numerical, rtol=1e-8)
        with pytest.raises(AttributeError, match="no attribute 'linalg'"):
            gradient(0.5)


def total(items):
    try:
        s = next(items)
    except TypeError:
        s = items[0]
        for v in items[1:]:
            s = s + v * v
        return s
    for v in items:
        s = s + v
    return s


def totals(x):
    listed = total(x) * total([2.0, x[0]]) + total((x[0], x[1]))
    return listed + total(iter([1.0, x[2]])) + total(v for v in (x[1], 2.0))


def test_next_of_what_is_no_iterator_may_be_tried():
    assert run(totals, X) == totals(X)
    dj.check_grads(totals, (X,), order=1, backend="python")
    with pytest.raises(dj.errors.DiffjitError, match=r"next\(\) on this iterator") as caught:
        run(lambda x: next(x) + 1.0, X)
    assert isinstance(caught.value, TypeError)
