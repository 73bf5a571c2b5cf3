"""Exceptions as control flow, assertions, error states of NumPy, and output on the side."""

import cmath
import contextlib
import dataclasses
import math

import numpy as np

from .registry import program


@program(args=lambda: (np.array([0.5, 1.2, 0.8]), 0.3), wrt=("x", "a"), tags=("language",))
def except_index_error(x, a):
    """A loop that ends by running off the array; writes made before the error stay."""
    y = x.copy()
    i = 0
    try:
        while True:
            y[i] = y[i] * a
            a = a + y[i] * x[i + 1]
            i += 1
    except IndexError:
        a = a * i
    return a + np.sum(y * y)


@program(args=lambda: (1.5, 0.0, 3.0), wrt=("x", "y"), tags=("language",))
def except_zero_division(x, zero, y):
    """Division of Python floats by zero, caught; the statement that failed has no effect, those before it do."""
    total = x
    for denominator in (2.0, zero, y):
        try:
            total = total * x
            total = total + x / denominator
        except ZeroDivisionError:
            total = total - 1.0 / y
        else:
            total = total * 1.1
    return total


@program(args=lambda: (np.array([0.5, -1.2, 0.8]),), wrt=("x",), tags=("language",))
def except_value_error(x):
    """Domain errors of `math` and shape mismatches of NumPy."""
    total = 0.0
    for v in x:
        try:
            total += math.log(v)
        except ValueError:
            total *= v
    try:
        total += np.sum(x[:2] * x)
    except ValueError:
        total += x[0] * x[2]
    return total


@program(
    args=lambda: (np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 3.0], [3.0, 2.0]])),
    wrt=("a", "b"),
    tags=("language",),
)
def except_linalg_error(a, b):
    """A matrix that is not positive definite, and then with a shift that cures it."""
    total = 0.0
    for m in (a, b):
        shift = 0.0
        while True:
            try:
                factor = np.linalg.cholesky(m + shift * np.eye(2))
                break
            except np.linalg.LinAlgError:
                shift = 2.0 * shift + 1.5
        total += factor[0, 0] * factor[1, 0] + np.log(factor[1, 1])
    return total


class NotConverged(Exception):
    """An exception of the user's own, with a payload."""

    def __init__(self, message, best):
        super().__init__(message)
        self.best = best


def _fixed_point(x, a, limit):
    for k in range(limit):
        new = math.cos(a * x)
        if abs(new - x) < 0.05:
            return new, k
        x = new
    raise NotConverged(f"no luck in {limit} steps", x)


@program(args=lambda: (0.4, 0.9), wrt=("x", "a"), tags=("language",))
def custom_exception_with_payload(x, a):
    """Raised in a helper's loop, caught by the caller, which uses the value that it carries."""
    total = 0.0
    for limit in (2, 40):
        try:
            y, steps = _fixed_point(x, a, limit)
            total += y * steps
        except NotConverged as error:
            total += 3.0 * error.best
    return total


@program(args=lambda: (np.array([0.5, 1.2]),), wrt=("x",), tags=("language",))
def finally_runs_always(x):
    """`finally` after a return, after an error and after a `break`; it writes to memory that is read later."""
    log = np.ones(3)

    def attempt(k):
        try:
            if k == 0:
                return x[0] * log[0]
            if k == 1:
                raise RuntimeError("one")
            return x[1] / log[1]
        except RuntimeError:
            log[2] *= x[0]
            return log[2]
        finally:
            log[k] = log[k] * x[1] + k

    total = 0.0
    for k in range(5):
        try:
            if k == 3:
                break
            total = total * 2.0 + attempt(k)
        finally:
            total = total + x[0]
    return total + log @ np.array([1.0, 2.0, 3.0])


@program(args=lambda: (0.5, 1.2), wrt=("x", "y"), tags=("language",))
def nested_tries_and_reraise(x, y):
    """An inner handler that does not fit, one that raises again, one that raises something else."""

    def fail(k):
        if k == 1:
            raise KeyError("k")
        if k == 2:
            raise ValueError("v")
        return math.sin(x * k + y)

    total = 1.0
    for k in range(4):
        try:
            try:
                total = total + fail(k)
            except KeyError:
                total = total * x
                raise
            except (IndexError, ValueError) as error:
                total = total * y
                raise ArithmeticError("a") from error
        except LookupError:
            total = total + y * y
        except ArithmeticError:
            total = total - x * x
    return total


@program(args=lambda: (np.array([0.5, 0.1, 2.0]), 1.3), wrt=("x", "a"), tags=("language",))
def assertions_and_raises_not_taken(x, a):
    """Guards that hold have no effect on the derivative."""
    assert x.ndim == 1
    assert np.all(x >= 0.0), f"negative entry in {x}"
    if x.size == 0:
        raise ValueError("empty")
    for v in x:
        assert v < 10.0, "too large"
        if not v == v:
            raise FloatingPointError(f"{v} is not a number")
        a = a + v * a
    return a


@program(args=lambda: (np.array([0.5, 0.0, -2.0]), np.array([1.5, 0.7, 0.2])), wrt=("y",), tags=("language",))
def errstate_block(x, y):
    """Divisions and logarithms of zeros, silenced and masked out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = y / x
        logs = np.log(x) * y
    total = np.sum(np.where(x == 0.0, y * y, ratio))
    return total + np.sum(logs[np.isfinite(logs)])


@program(args=lambda: (np.array([0.5, 1.2]), 3), wrt=("x",), tags=("language",))
def prints_and_format_strings(x, n):
    """Output in the middle of a computation, with formats; it must appear once and change nothing."""
    total = 0.0
    for k in range(n):
        total = total * x[0] + math.sin(x[1] * k)
        print(f"step {k:2d}: {total:.3f} {x[0]!r:>10} {100 * k}%", end=" | ")
    label = "done %d" % n + " of {}".format(n)
    print(label, x, total, sep=", ")
    return total * len(label)


@program(args=lambda: (0.5, 1.2), wrt=("x", "y"), tags=("language",))
def raises_in_comprehension_and_call(x, y):
    """An error from deep inside an expression leaves the earlier operands without effect."""

    def root(v):
        if v < 0.0:
            raise ValueError("negative")
        return math.sqrt(v)

    total = x
    try:
        total = sum([root(v) for v in (x, y, x - y)])
    except ValueError:
        total += root(y)
    values = {"a": x * y}
    try:
        total *= values["b"]
    except KeyError as missing:
        total += values["a"] ** len(missing.args)
    return total


def species_of(x, limit):
    """A dictionary that has a key more where a number is large."""
    found = {"water": x}
    if x > limit:
        found["ash"] = x - limit
    return found


@program(args=lambda: (np.array([1.4, 0.3]), 0.5), wrt=("x", "limit"), tags=("language", "exceptions"))
def keys_of_the_run_where_names_may_be_missing(x, limit):
    """A dictionary whose keys are those of the run, within a `try` that catches NameError, and no more."""
    total = 0.0
    for k in range(2):
        try:
            found = species_of(x[k] ** 2, limit)
            if found["water"] > 1.0:
                found["left"] = found["ash"] * limit
        except NameError:
            total -= 100.0
        total += sum([found[name] * (i + 1) for i, name in enumerate(sorted(found))])
    return total


class Beam:
    """Tests what it is made of."""

    def __init__(self, width, height):
        self.width = self.positive(width)
        self.height = self.positive(height)
        self.area = self.width * self.height

    def positive(self, length):
        if length <= 0.0:
            raise ValueError("a length is negative")
        return length


@dataclasses.dataclass
class Load:
    size: float
    kept: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.size = self.size * 2.0
        self.kept.append(self.size)
        if self.size > 4.0:
            raise OverflowError


class TooLarge(ValueError):
    def __init__(self, value, limit):
        if limit < 0.0:
            raise KeyError(limit)
        super().__init__("too large")
        self.excess = value - limit


@program(args=lambda: (np.array([0.5, 1.2, -0.8, 1.9]), 1.5), wrt=("x", "limit"), tags=("language", "exceptions"))
def objects_that_refuse_to_be_made(x, limit):
    """Constructors that may raise, within the `try` that catches it: what they set before is set once."""
    total = 0.0
    for k in range(3):
        try:
            total += Beam(x[k], x[k + 1]).area * Beam(x[k + 1], limit).height
        except ValueError:
            total -= x[k] ** 2
        try:
            load = Load(x[k + 1] * limit)
            total += load.size * load.kept[0] + len(load.kept)
        except OverflowError:
            total += 0.1 * x[k]
        try:
            if x[k] > 0.6:
                raise TooLarge(x[k], limit - 1.0)
            raise TooLarge(x[k + 1], x[k + 1] - limit)
        except TooLarge as error:
            total *= 1.0 + error.excess
        except KeyError:
            total += limit * x[k]
    return total


def friction(x, fast=False):
    """What may fail in a branch that is known, which ends the function."""
    f = math.log(x)
    if not fast:
        b = math.log(x - 1.0)
        f = f * b
        return f
    return 1.0 / f


@program(args=lambda: (np.array([2.5, 0.5, -1.0]), 1.5), wrt=("x", "s"), tags=("language",))
def certain_to_leave(x, s):
    """A statement leaves the function one way or the other: nothing behind it is read."""
    total = 0.0
    for v in x:
        try:
            y = friction(float(v) * s)
        except ValueError:
            y = v * v
        total += y * s
    return total


def real_or_complex(x, b):
    try:
        p = 1.0 / math.sqrt(b - x)
    except Exception:
        p = 1.0 / cmath.sqrt(b - x)
    return abs((p * x).real)


def alternating(x, b):
    if x > 4.0:
        return x
    try:
        v = real_or_complex(x, b)
    except Exception:
        v = math.sqrt(x + 0.5 + 0j)
    return v - alternating(x + 1.0, b)


@program(args=lambda: (1.6, 7.0), wrt=("x", "b"), tags=("language",))
def numbers_told_apart_in_a_recursion(x, b):
    """A number is real or complex within a `try` within another one; `math.sqrt` of complex numbers is a TypeError."""
    return alternating(x, b) * b


class Strict:
    """A manager that raises behind a block, where its number is large."""

    def __init__(self, number, seen):
        self.number = number
        self.seen = seen

    def __enter__(self):
        return self.number * 2.0

    def __exit__(self, kind, error, trace):
        self.seen.append(self.number)
        if self.number > 1.0:
            raise ValueError
        return kind is not None and self.number < 0.0


@program(args=lambda: (np.array([0.4, 1.3, -0.6, 0.7]),), wrt=("x",), tags=("language",))
def managers_that_raise_behind_their_block(x):
    """The block of a manager that may raise behind it runs once; several of them, one of which swallows."""
    seen = []
    total = x[0]
    for v in x:
        try:
            with Strict(v, seen):
                total = total * 1.5 + v
        except ValueError:
            total = total * 0.7
        try:
            with Strict(v, seen) as a, Strict(v * v, seen) as b:
                total = total + a * b
                if total > 2.0:
                    raise ValueError
                total = total + 0.1 * v
        except ValueError:
            total = total * 0.9
    return total + sum(v * (i + 1) for i, v in enumerate(seen))


@program(args=lambda: (np.array([0.4, 1.3, -0.6, 0.7]),), wrt=("x",), tags=("language",))
def an_error_takes_back_what_was_on_its_way(x):
    """`return`, `break` and `continue` out of a block whose manager then raises; the same error raised on two paths."""
    seen = []

    def tried(v):
        try:
            with Strict(v, seen) as a:
                if v > 0.5:
                    return a * v
                a = a * 3.0
        except ValueError:
            a = v * 11.0
        return a

    def fails(v):
        if v > 0.5:
            raise ValueError
        with Strict(v * 0.1, seen):
            if v > 0.0:
                raise ValueError

    total = x[0]
    for v in x:
        try:
            with Strict(v, seen):
                total = total * 1.5
                if total > 1.5:
                    break
                if v > 0.3:
                    continue
                total = total + 0.2
        except ValueError:
            total = total * 0.7
        try:
            fails(v)
            total = total + tried(v) * 2.0
        except ValueError:
            total = total + tried(v) * 3.0
    return total * tried(x[1]) + sum(v * (i + 1) for i, v in enumerate(seen))


@contextlib.contextmanager
def checked_behind(v):
    """A generator that raises behind its `yield`, where a number is large."""
    yield v * 2.0
    if v > 1.0:
        raise ValueError


@program(args=lambda: (np.array([0.4, 1.3, -0.6, 0.7]),), wrt=("x",), tags=("language",))
def a_generator_that_raises_behind_its_block(x):
    """A manager made of a generator raises behind a block that returns or goes on with the loop."""

    def tried(v):
        try:
            with checked_behind(v) as a:
                return a * v
        except ValueError:
            pass
        return v * 5.0

    total = 0.0
    for v in x:
        try:
            with checked_behind(v):
                total = total + tried(v)
                if v > 0.0:
                    continue
                total = total * 1.2
        except ValueError:
            total = total - v
        total = total + 0.1 * v
    return total * total


@program(args=lambda: (np.array([0.3, 0.9, -0.4, 0.8]), 0.7), wrt=("x", "a"), tags=("language",))
def generator_left_within_try(x, a):
    """A loop leaves a generator within its `try`, where reading an item could also have raised: `finally` runs."""
    log = []

    def running():
        total = 0.0
        try:
            for v in x:
                total += v * a
                yield total
        finally:
            log.append(total * a)

    def first_above(bound):
        for k, v in enumerate(running()):
            if v > bound:
                return v * (k + 1)
        return a

    for v in running():
        if v > 0.5:
            break
    return first_above(0.1) + first_above(9.0) * v + sum(running()) + sum((k + 1) * v for k, v in enumerate(log))


@program(args=lambda: (np.array([0.3, 0.9, -0.4, 0.8]), 0.7), wrt=("x", "a"), tags=("language",))
def generators_that_are_closed(x, a):
    """What a loop's body raises does not reach an `except` of the generator that it goes through; `finally` runs."""
    log = []

    def inner():
        try:
            for v in x:
                try:
                    if v < 0.0:
                        raise ArithmeticError
                    yield v * a
                except ArithmeticError:
                    log.append(10.0 * v)
                finally:
                    log.append(v)
        except ValueError:
            log.append(100.0)
        finally:
            log.append(a)

    def outer():
        try:
            yield from inner()
        except (ValueError, ArithmeticError):
            log.append(1000.0)
        finally:
            log.append(a * a)

    total = 0.0
    for limit in (0.25, 0.6, 9.0):
        try:
            for v in outer():
                total += v
                if v > limit:
                    raise ValueError
                if total > 2.0:
                    raise ArithmeticError
        except ValueError:
            total += 3.0 * a
        except ArithmeticError:
            total *= a
    return total + sum((k + 1) * v for k, v in enumerate(log))


@program(args=lambda: (np.array([0.3, 0.9, -0.4, 0.8]), 0.7), wrt=("x", "a"), tags=("language",))
def managers_in_closed_generators(x, a):
    """A manager around a `yield` is left where a loop's body raises, and does not swallow what the loop raises."""
    log = []

    class Swallow:
        def __enter__(self):
            return a

        def __exit__(self, kind, value, traceback):
            log.append(a * a)
            return kind is ValueError

    @contextlib.contextmanager
    def scaled(k):
        try:
            yield k * a
        except ValueError:
            log.append(k)
        finally:
            log.append(1.0)

    def items():
        with scaled(3.0) as factor:
            for v in x:
                with Swallow() as other:
                    yield v * factor * other

    total = 0.0
    for limit in (0.5, 9.0):
        try:
            for v in items():
                total += v
                if v > limit:
                    raise ValueError
        except ValueError:
            total += a
    for v in x:
        with scaled(v) as w:
            if v < 0.0:
                raise ValueError
            total += w
    return total + sum((k + 1) * v for k, v in enumerate(log))
