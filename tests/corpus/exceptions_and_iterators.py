"""Errors that Python and NumPy raise by themselves, caught; iterators without an end; small classes made on the spot."""

import contextlib
import dataclasses
import enum
import functools
import heapq
import itertools
import math
import types
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .registry import program


@program(args=lambda: (np.array([0.4, 3.0, 0.7]), 0.6), wrt=("x", "s"), tags=("language",))
def math_overflows(x, s):
    """`math` and `**` of Python floats raise where the result is too large; NumPy's numbers become inf."""
    total = 0.0
    for k in range(3):
        try:
            total += math.exp(400.0 * k * s) * 1e-110
        except OverflowError as error:
            total += s * s * len(error.args)
    for power in (1.5, 1e6):
        try:
            total += (s + 2.0) ** power
        except OverflowError:
            total += x[0] * s
    try:
        total += math.gamma(400.0 * s) + math.cosh(x[1])
    except (ValueError, OverflowError):
        total += math.gamma(4.0 * s) + math.cosh(x[1])
    return total


@program(args=lambda: (np.array([0.4, -3.0, 0.0]), 0.6), wrt=("s",), tags=("language",))
def math_domains(x, s):
    """Each function of `math` has its own domain; 0 to a negative power divides by zero."""
    total = 0.0
    for v in x:
        for f in (math.log, math.sqrt, math.acosh, math.atanh, math.asin, math.lgamma):
            try:
                total += f(float(v) * s + 0.9 * s)
            except ValueError:
                total += s * v
        try:
            total += math.fmod(s, v) + math.pow(v, 0.5)
        except ValueError:
            total -= s * s
        try:
            total += float(v) ** -2.0
        except ZeroDivisionError:
            total *= 1.0 + s
        try:
            total += math.log(s, float(v) + 1.0)
        except ZeroDivisionError:
            total += math.sin(s)
        except ValueError:
            total += math.cos(s)
    return total


@program(args=lambda: (np.array([0.4, np.inf, np.nan, -2.7]), 0.6), wrt=("s",), tags=("language",))
def conversions_that_fail(x, s):
    """Infinity and NaN are no integers; text may be no number."""
    total = 0.0
    for v in x:
        for convert in (int, round, math.floor):
            try:
                total = total * s + convert(v)
            except OverflowError:
                total += s * s
            except ValueError:
                total += math.sin(s)
    for text in ("2.5", "x"):
        try:
            total += s * float(text)
        except ValueError as error:
            total *= 1.0 + s * ("x" in str(error))
    return total


@program(
    args=lambda: (np.array([0.4, 3.0, 0.7, 1.2]), np.array([[0.5, 0.2, 0.1], [0.3, 1.5, 0.4], [0.2, 0.6, 2.5]]), 2),
    wrt=("x", "a"),
    tags=("language",),
)
def shapes_that_do_not_fit(x, a, n):
    """NumPy's errors of shapes and indices, caught; what fits goes on."""
    total = x[0]
    for k in (n, n + 1):
        try:
            total += np.sum(x.reshape(k, 2) ** 2)
        except ValueError:
            total *= x[1]
        try:
            total += np.sum(a @ x[:k])
        except ValueError:
            total += x[2] * x[0]
        try:
            total += np.sum(x[np.array([0, k + 1])] * x[:2])
        except IndexError:
            total -= x[3] ** 2
        try:
            total += np.max(x[x > 2.5 * k - 3.0]) * x[0]
        except ValueError as error:
            total += x[1] * ("maximum" in str(error))
        try:
            y = np.zeros(3)
            y[:k] = a[0, :2] * x[0]
            total += y @ a[1]
        except ValueError:
            total += a[0, 1]
        try:
            total += np.sum(np.linalg.solve(a[:k], a[:k, 0] * x[0]))
        except np.linalg.LinAlgError:
            total += a[2, 2] ** 2
    return total


@program(args=lambda: (np.array([0.4, 3.0]), 0.6), wrt=("x", "s"), tags=("language",))
def wrong_types_are_caught(x, s):
    """Duck typing by trial: len, iteration, attributes and arguments that are not there."""

    def size(value):
        try:
            return len(value)
        except TypeError:
            return 1

    def items(value):
        try:
            return list(iter(value))
        except TypeError:
            return [value]

    def unit(value):
        try:
            return value.unit
        except AttributeError:
            return 1.5

    def scaled(value, by):
        return value * by

    total = size(x) * s + size(s) * x[0] + sum(items(x)) * sum(items(s)) * unit(x)
    for values in ((s,), (s, x[1])):
        try:
            total += scaled(*values)
        except TypeError:
            total += s**3
    try:
        total += None + s
    except TypeError:
        total *= s
    return total


@program(args=lambda: (np.array([0.4, 3.0]), 0.6), wrt=("x", "s"), tags=("language",))
def what_exceptions_carry(x, s):
    """args, causes, contexts, and texts that Python words exactly."""
    table = {"a": s, 1: x[0]}
    total = 0.0
    for key in ("a", "b", 1, 2):
        try:
            total += table[key] ** 2
        except KeyError as missing:
            total += s * (2.0 if missing.args[0] == "b" else 3.0) * len(str(missing))
    try:
        try:
            total += 1.0 / (s - s)
        except ZeroDivisionError as error:
            raise RuntimeError("outer", x[1]) from error
    except RuntimeError as error:
        total += error.args[1] * (2.0 if isinstance(error.__cause__, ZeroDivisionError) else 5.0)
        total *= 1.0 if error.__cause__ is error.__context__ else 7.0
    try:
        total += [x[0]][4]
    except IndexError as error:
        print("no item:", error)
        total *= 2.0 if error.__cause__ is None and error.__context__ is None else 3.0
    return total


@program(args=lambda: (np.array([0.4, 3.0, 0.7, 1.2]), 0.6), wrt=("x", "s"), tags=("language",))
def endless_generators(x, s):
    """A solver that yields for ever, cut by islice, zip, takewhile, next and break."""

    def solver(y):
        while True:
            y = y - 0.2 * s * math.sin(y)
            yield y

    total = sum(itertools.islice(solver(x[0]), 3))
    for y in itertools.islice(solver(x[1]), 1, 8, 3):
        total += y * y
    total += sum(a * b for a, b in zip(solver(s), x))
    total += sum(itertools.takewhile(lambda y: y > 0.5, solver(x[2])))
    total += next(y for y in solver(x[1]) if y < 2.0)
    for k, y in enumerate(solver(x[3])):
        if y < 0.9:
            break
    for a, b in zip((v for v in x if v > 0.5), [2.0, s, 1.0]):
        total += a * b * k
    return total + y


class Newton:
    """An iterator of its own."""

    def __init__(self, start, target):
        self.x = start
        self.target = target

    def __iter__(self):
        return self

    def __next__(self):
        new = 0.5 * (self.x + self.target / self.x)
        if abs(new - self.x) < 1e-3:
            raise StopIteration
        self.x = new
        return new


class Samples:
    """A sequence by __getitem__ alone."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, k):
        return self.values[k]


@program(args=lambda: (np.array([0.4, 3.0, 0.7]), 0.6), wrt=("x", "s"), tags=("language",))
def iterator_classes(x, s):
    """Objects with __next__ or __getitem__ in loops, sums, next and unpacking."""
    roots = Newton(1.0, s)
    total = next(roots) + 2.0 * next(roots)
    for y in roots:
        total += y * y
    *_, last = Newton(2.0, x[1])
    total += last * next(roots, x[0])
    total += sum(Samples(x)) + max(v * s for v in Samples([x[0], s]))
    return total + sum(a * b for a, b in zip(Newton(1.0, x[1]), x))


@program(args=lambda: (np.array([0.4, -3.0, 0.7, 1.2]), 0.6, 2), wrt=("x", "s"), tags=("language",))
def lists_of_any_length(x, s, n):
    """Repeated, joined, starred and extended lists; the smallest item with a default, each key computed once."""
    positive = [v for v in x if v > 0.5]
    same = positive
    positive *= n
    total = sum(same * 2) + len(positive) * s
    joined = None
    for v in x:
        joined = [v] if joined is None else [*joined, v * s]
    first, *rest, last = joined
    total += first * last * len(rest)
    calls = 0

    def key(v):
        nonlocal calls
        calls += 1
        return (v - s) ** 2

    total += min(same, key=key) * calls
    total += max((v for v in x if v > 99.0), default=s) * min([v for v in x if v < 0.0], default=1.0)
    return total


@program(args=lambda: (np.array([0.4, 3.0, 0.7]), 0.6), wrt=("x", "s"), tags=("language",))
def classes_made_on_the_spot(x, s):
    """Dataclasses, enums and named tuples defined inside the function."""

    class Phase(enum.Enum):
        SOLID = 1
        LIQUID = 2

        def factor(self):
            return 1.5 if self is Phase.SOLID else self.value * s

    @dataclass(order=True)
    class Layer:
        depth: float
        log: list = field(default_factory=list, compare=False)
        area: float = field(init=False, default=2.0)

        def __post_init__(self):
            self.area = self.area * self.depth

    class Point(NamedTuple):
        x: float
        y: float = 2.0

        def norm(self):
            return math.hypot(self.x, self.y)

    phase = Phase.SOLID
    total = 0.0
    for v in x:
        total += phase.factor() * v
        phase = Phase.LIQUID if v > 1.0 else phase
    thin, thick = Layer(s), Layer(x[1])
    thin.log.append(x[0])
    moved = dataclasses.replace(thick, depth=x[2], log=[*thin.log, s])
    total += sum(moved.log) * moved.area + (thin.depth if thin < thick else 5.0) + len(thick.log)
    total += sum(dataclasses.astuple(moved)[0:1]) * dataclasses.asdict(moved)["area"] * (thin != Layer(s) or 3.0)
    point = Point(s)
    return total * point.norm() + point._replace(y=x[0]).norm()


@program(args=lambda: (np.array([0.4, 3.0, 0.7]), 0.6), wrt=("x", "s"), tags=("language",))
def loops_that_always_leave(x, s):
    """`while True` around a raise and a return, and powers of a counter that begins below zero."""

    def checked(v):
        while True:
            if v == 0.0:
                raise ZeroDivisionError
            return v * s

    total = 0.0
    for k in range(4):
        total += 2 ** (k - 2) * x[k % 3]
    for v in (0.0, 2.0):
        try:
            total = total * s + checked(v)
        except ZeroDivisionError:
            total += s * s
    return total


class Watched:
    """A manager that counts, and swallows one kind of error."""

    def __init__(self, weight):
        self.weight = weight
        self.left = 0

    def __enter__(self):
        self.weight *= 1.5
        return self

    def __exit__(self, kind, error, trace):
        self.left += 1 if kind is None else 10
        return kind is not None and issubclass(kind, ArithmeticError)


@contextlib.contextmanager
def scaled(box, factor):
    """A manager by generator, which cleans up."""
    box[0] *= factor
    try:
        yield box[0]
    finally:
        box[0] /= factor


@program(args=lambda: (np.array([0.4, -3.0, 0.7, 1.2]), 0.6), wrt=("x", "s"), tags=("language",))
def managers(x, s):
    """`with` blocks left at their end, by return, continue and break, and by errors that they swallow or not."""
    watched = Watched(s)
    box = [s]
    total = 0.0
    for k, v in enumerate(x):
        with watched as w, scaled(box, 2.0) as b:
            if k == 2:
                continue
            total += v * w.weight * b
            if v < 0.0:
                raise ArithmeticError("swallowed")
        with contextlib.suppress(ValueError):
            total += math.sqrt(v) * box[0]
    try:
        with watched:
            raise KeyError("passed on")
    except KeyError:
        total *= watched.left

    def early(v):
        with scaled(box, v) as b:
            return b * box[0]

    return total + early(x[0]) * box[0]


@program(args=lambda: (np.array([0.4, 3.0, 0.7, 1.2, 0.9]), 0.6), wrt=("x", "s"), tags=("language",))
def sets_heaps_and_runs(x, s):
    """Sets in Python's order and their operators, a priority queue, runs of equal keys, strict zips."""
    total = 0.0
    for k in {4, 1, 3} | {0} - {1}:
        total = total * s + x[k]
    total += len({1, 2} ^ {2, 3}) * s if {1} <= {1, 2} != {3} else 0.0
    members = {1, 2}
    same = members
    members |= {3}
    total *= len(same)
    heap = [(x[2], 2), (x[0], 0)]
    heapq.heapify(heap)
    for k in (1, 3, 4):
        heapq.heappush(heap, (x[k], k))
    while heap:
        v, k = heapq.heappop(heap)
        total = 0.9 * total + v * (k + 1)
    for large, run in itertools.groupby(x, key=lambda v: v > 0.8):
        total += sum(run) ** 2 * (2.0 if large else s)
    total += sum(a * b for a, b in zip(x, [s, 1.0, 2.0, s, 0.5], strict=True))
    try:
        total += sum(a * b for a, b in zip(x, [s], strict=True))
    except ValueError:
        total += x[0]
    for a, b in itertools.zip_longest(x[:2], [s], fillvalue=2.0):
        total += a * b
    return total


@program(args=lambda: (np.array([0.4, 3.0, 0.7]), 0.6), wrt=("x", "s"), tags=("language",))
def functions_around_functions(x, s):
    """Decorators that keep a name, cached recursion, namespaces, iter with a sentinel, copies that share."""

    def times(factor):
        def decorate(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                return factor * function(*args, **kwargs)

            return inner

        return decorate

    @times(s)
    @times(2.0)
    def area(a, *, b=1.5):
        return a * b

    @functools.cache
    def chain(n):
        return s if n == 0 else chain(n - 1) * x[0] + n

    space = types.SimpleNamespace(a=s, b=x)
    space.c = space.a * np.sum(space.b)
    k = -1

    def following():
        nonlocal k
        k += 1
        return (s, x[2], -1.0)[k]

    total = area(x[1], b=x[0]) + len(area.__name__) * chain(3) + space.c
    total += sum(v * v for v in iter(following, -1.0))
    a, b = itertools.tee(v * s for v in x)
    return total + sum(a) * max(b)


@program(args=lambda: (np.array([0.4, 3.0, 0.7]), 0.6, 1), wrt=("x", "s"), tags=("language",))
def rows_of_different_lengths(x, s, n):
    """Arrays in one growing list do not share their lengths: one broadcasts, and what does not fit is caught."""
    rows = [x]
    for k in range(3):
        rows.append(s * x[: n + k])
    total = np.sum(rows[0] * rows[1]) + rows[0] @ rows[3]
    try:
        total += np.sum(rows[0] * rows[2])
    except ValueError:
        total += x[0] ** 2
    while len(rows) > 1:
        row = rows.pop()
        total += np.sum(row * rows[0][: len(row)])
    return total


@program(args=lambda: (np.array([0.4, -1.2, 2.5, 0.3]),), wrt=("x",), tags=("language",))
def items_that_do_not_hold(x):
    """itertools.filterfalse, of a condition on numbers and of their truth."""
    total = 0.0
    for v in itertools.filterfalse(lambda v: v > 1.0, [x[0], x[2], 3.0 * x[1]]):
        total = total + v * v
    return total + len(list(itertools.filterfalse(None, [0, 1, 0]))) * x[3]


def bumps(x, *params):
    """Three numbers for each bump."""
    y = np.zeros_like(x)
    for centre, height, width in zip(*[iter(params)] * 3):
        y = y + height * np.exp(-((x - centre) ** 2) / (2 * width**2))
    return y


@program(
    args=lambda: (np.array([0.4, 1.3, 0.7, 1.2, 0.9, 0.5, 0.8]), 0.6), wrt=("p", "s"), tags=("language", "iterators")
)
def groups_of_one_iterator(p, s):
    """`zip(it, it)` and `map(f, it, it)` of one iterator take pairs; what is left over has been taken, too."""
    x = np.linspace(0.0, 1.0, 4)
    total = np.sum(bumps(x, *p[:6])) + np.sum(bumps(x, s, 1.0, 0.5, *p))
    it = iter(p)
    total += next(it)
    for a, b in zip(it, it):
        total += a * b * s
    it = iter([s, p[0], 2.0, p[1]])
    total += sum(map(lambda a, b: a * b**2, it, it))
    rows = iter(np.outer(p, x))
    for a, b, c in zip(rows, rows, rows):
        total += a[1] * b[2] - c[3]
    q = p * 1.0
    for a, b in zip(*[iter(q)] * 2):
        q[3] = s
        total += a * b
    return total + len(list(it)) + sum(a - b for a, b in zip(*[iter((s, 1.0, p[2], 2.0))] * 2))


def without_warnings(x, y, k):
    """The quotient, or a number where there is none: what NumPy warns of is an error."""
    try:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("error")
            ratio = np.sin(x) / (y * k)
            ratio += 0.1 / np.sqrt(y + 1.0)
    except (ArithmeticError, RuntimeWarning):
        ratio = x * y * 3.0 + x
    return ratio


@program(
    args=lambda: (np.array([0.7, 1.2, -0.4]), np.array([0.5, 0.8, -2.0]), 0.9), wrt=("x", "y", "s"), tags=("language",)
)
def error_states_that_raise(x, y, s):
    """Operations of NumPy's that raise as the program says: on numbers and arrays, in functions, one state within another."""
    total = 0.0
    for k, (a, b) in enumerate(zip(x, y)):
        total = total + without_warnings(a, b, k) * s
        try:
            with np.errstate(all="raise"):
                with np.errstate(divide="ignore"):
                    limit = np.minimum(a / (b * k), 2.0)
                total = total + np.log(b + 1.0) * limit
        except FloatingPointError as error:
            total = total + a * b * (2.0 if str(error) == "invalid value encountered in log" else 5.0)
    try:
        with np.errstate(over="raise", under="raise"):
            total = total + np.sum(np.exp(x * s)) + np.sum(np.exp(-800.0 * x[:1]))
    except FloatingPointError:
        total = total * s + np.mean(x)
    with np.errstate(invalid="raise"):
        try:
            roots = np.sqrt(x) * s
        except FloatingPointError:
            roots = np.abs(x) * s
        return total + np.sum(roots) + x @ y


@program(args=lambda: (np.array([0.4, 0.9, 1.3, 0.6, -0.7, 1.1]),), wrt=("x",), tags=("language",))
def what_ends_a_zip_takes_no_more(x):
    """A `zip` or `map` whose first part ends leaves the next item of an iterator to those who go on with it."""
    items = iter(x)
    total = 0.0
    for k, v in zip(range(len(x) // 3), items, strict=False):
        total += v * (k + 1)
    for v in map(lambda name, v: v * len(name), ["a", "bc"], items):
        total += v * total
    rest = next(items, 7.0) * 10.0
    seen = []

    def squares(values):
        k = 0
        while True:
            seen.append(values[k])
            yield values[k] ** 2
            k += 1

    for k, v in zip(range(len(x)), squares(x), strict=False):
        total += v * k
    return total * rest + sum(v * (k + 1) for k, v in enumerate(seen))


@program(args=lambda: (np.array([0.4, 0.9, 1.3, 0.6, -0.7, 1.1]),), wrt=("x",), tags=("language",))
def dicts_from_an_iterator(x):
    """Parameters by name, taken one after the other from an iterator of an array, and from a generator."""
    items = iter(x)
    first = dict(zip("ab", items, strict=False))
    second = {name: v * v for name, v in zip(("c", "d"), items, strict=False)}
    squares = (v * v for v in x)
    third = dict(zip(["p", "q"], squares, strict=False))
    third.update(zip("r", squares, strict=False))
    return first["a"] * first["b"] + second["c"] * second["d"] + sum(items) * third["q"] * third["r"] + next(squares)


def attempted(v, k):
    if v * (k + 1) < 1.0:
        raise ValueError("too small")
    return v**2 * (k + 1)


def tried_again(v, n):
    last = None
    for k in range(n):
        try:
            return attempted(v, k)
        except ValueError as error:
            last = error
    if v < 0.0:
        raise last
    raise RuntimeError("no attempt is left") from last


@program(args=lambda: (np.array([0.4, 0.9, 1.3, 0.1, -0.7]),), wrt=("x",), tags=("language",))
def raised_from_what_may_be_none(x):
    """Attempts that end by an error which is raised from the last one, or by that one."""
    total = 0.0
    for v in x:
        try:
            total += tried_again(v, 3)
        except RuntimeError as error:
            total += v**3 * (2.0 if error.__cause__ is None else 5.0)
        except ValueError:
            total += 7.0 * v
    return total
