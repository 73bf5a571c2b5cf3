"""Loops: every kind of range and iterable, while, break, continue, else, returns from inside."""

import math

import numpy as np

from .registry import program


@program(args=lambda: (np.array([0.5, 1.2, 0.9, 0.4, 1.5, 0.7]), 0.3), wrt=("x", "a"), tags=("language",))
def ranges_of_every_step(x, a):
    """Ranges with offsets, strides, negative steps; the order of the passes matters."""
    n = x.size
    s = a
    for i in range(n):
        s = s * x[i] + i
    for i in range(1, n, 2):
        s = math.sin(s) + x[i]
    for i in range(n - 1, -1, -1):
        s = s * 0.9 + x[i] * x[i]
    for i in range(n - 1, 0, -3):
        s = s / (1.0 + x[i])
    return s


@program(args=lambda: (np.array([0.5, 1.2, 0.9, 0.4, 1.5, 0.7]), -1), wrt=("x",), tags=("language",))
def parts_of_ranges(x, last):
    """Slices and items of ranges whose ends the run decides; an index may count from the end."""
    inner = range(1, x.size)
    s = x[inner[last]] * x[inner[last - 2]]
    for i in inner[::-1]:
        s = s * 0.9 + x[i] * x[i]
    for i in range(x.size - 1, -1, -1)[1::2]:
        s = math.sin(s) + x[i]
    for i in inner[-3:last]:
        s = s * x[i] + i
    return s


@program(args=lambda: (np.array([0.5, 1.2]), 0, -1), wrt=("x",), tags=("language",))
def empty_ranges(x, zero, step):
    """Loops that never run: the trip count is `max(0, ...)`, and the names of their bodies keep their values."""
    s = x[0]
    i = 1
    for i in range(zero):
        s = s * 100.0
    for j in range(5, 2):
        s = s - j
    for j in range(0, 5, step):
        s = s + j * x[0]
    for j in range(3, 3, -1):
        s = s / 0.0
    return s * s * x[i]


@program(args=lambda: (0.8, 4, 2), wrt=("x",), tags=("language",))
def loop_variable_after_the_loop(x, n, step):
    """The index keeps its last value, and assigning to it inside does not change the loop."""
    total = 0.0
    for k in range(1, n * step, step):
        total += k * x
        k = k + 10
        total *= 1.0 + 0.01 * k
    return total * x**k


@program(args=lambda: (0.8, 3), wrt=("x",), tags=("language",))
def names_bound_only_in_a_loop(x, n):
    """`last` and `row` are born in the loop and used after it."""
    for k in range(n):
        last = math.sin(x * (k + 1))
        row = np.array([last, x * last, k * 1.0])
    return last * np.sum(row * row)


@program(args=lambda: (np.array([[0.3, 0.8], [1.1, -0.4], [0.6, 0.2]]),), wrt=("a",), tags=("language",))
def loops_over_rows_and_elements(a):
    """`for row in a` gives views, `for v in row` scalars; also over columns and over a raveled array."""
    total = 1.0
    for row in a:
        total = total * (1.0 + row[0]) + row @ row
        for v in row:
            total = total - v * v * total
    for column in a.T:
        total = total + math.sin(column[0] * column[-1])
    for v in a.ravel():
        total = total * 1.1 + v
    return total


@program(args=lambda: (np.array([[0.3, 0.8], [1.1, -0.4], [0.6, 0.2]]),), wrt=("a",), tags=("language", "memory"))
def loop_over_rows_writes_through(a):
    """The rows of a loop are views: writing to them changes the array."""
    a = a.copy()
    previous = a[0]
    for row in a:
        row *= 1.5
        row[1] += previous[0]
        previous = row
    return np.sum(a[:, 0] * a[:, 1]) + previous[1]


@program(args=lambda: (np.array([0.3, 0.8, 1.1]), np.array([1.4, 0.2, -0.7, 9.0])), wrt=("x", "y"), tags=("language",))
def enumerate_zip_reversed(x, y):
    """Index loops in disguise, nested in each other; `zip` stops at the shortest."""
    total = 0.0
    for i, v in enumerate(x):
        total = total * v + i
    for i, v in enumerate(reversed(y), start=2):
        total += v / i
    for a, b in zip(x, y):
        total = math.tanh(total) + a * b
    for i, (a, b) in enumerate(zip(x[1:], reversed(x[:-1]))):
        total *= 1.0 + 0.1 * i * a - b
    for i in reversed(range(1, 4)):
        total = total * y[i % 3] + i
    return total


@program(args=lambda: (np.array([0.3, 0.8, 1.1]), 0.5), wrt=("x", "a"), tags=("language",))
def map_over_iterables(x, a):
    """`map` with one and two iterables, consumed by a loop, by `sum` and by `list`."""
    total = 0.0
    for v in map(lambda t: math.sin(a * t), x):
        total = total * a + v
    products = list(map(lambda p, q: p * q, x, x[::-1]))
    return total + sum(map(math.exp, x)) * products[0] * products[1]


@program(args=lambda: (0.3, 1.7), wrt=("a", "b"), tags=("language",))
def loops_over_static_containers(a, b):
    """Loops over tuples, lists and dicts of mixed things unroll."""
    total = 0.0
    for weight, name in ((1.0, "sin"), (a, "cos"), (2, "tan")):
        total += weight * getattr(math, name)(b)
    for k in [3, 1, 2]:
        total = total * a + k
    options = {"rate": a, "order": 2, "shift": b}
    for key, value in options.items():
        total = total + value ** len(key) if key != "order" else total**value
    for key in options:
        total -= options[key]
    for value in options.values():
        total = total * 0.5 + value
    return total


@program(args=lambda: (2.0, 7.0), wrt=("x", "a"), tags=("language",))
def newton_while(x, a):
    """A loop that runs until it has converged."""
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


@program(args=lambda: (0.8, 1.3), wrt=("x", "a"), tags=("language",))
def while_with_walrus(x, a):
    """An assignment inside the condition of a loop and inside an expression."""
    count = 0
    while (step := a * math.exp(-x)) > 0.1:
        x = x + step
        count += 1
    total = (half := 0.5 * x) * half + step
    if (n := count) > 2 and (r := half * a) > 0.2:
        total = total * r + n
    return total


@program(args=lambda: (np.array([0.3, 0.8, -1.1, 0.5, 2.0, 0.9]),), wrt=("x",), tags=("language",))
def break_and_continue(x):
    """Both in one loop, with work before, between and after them."""
    total, weight = 1.0, 2.0
    for i in range(x.size):
        weight = weight * 0.8
        if x[i] < 0.0:
            total = total - weight * x[i]
            continue
        total = total * (weight + x[i])
        if total > 4.0:
            weight = weight * total
            break
        total = total + 0.1 * i
    return total * weight + x[i]


@program(
    args=lambda: (np.array([[0.3, 0.8, 0.4], [1.1, -0.4, 0.9], [0.6, 0.2, 0.7]]), 1.0), wrt=("a",), tags=("language",)
)
def nested_breaks(a, limit):
    """The inner `break` leaves one loop, the outer one both; inner trip counts differ from pass to pass."""
    total = 0.1
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] < 0.0:
                break
            total = total + a[i, j] * total
            if j == 1 and i == 0:
                continue
            total = math.sin(total)
        k = j
        while True:
            total += 0.3 * a[i, k] ** 2
            k -= 1
            if k < 0:
                break
        if total > limit:
            break
    return total * (1 + i + j)


@program(args=lambda: (np.array([0.3, 0.8, 1.1, 0.5]),), wrt=("x",), tags=("language",))
def else_on_loops(x):
    """The `else` of a loop runs when no `break` did."""
    total = 0.0
    for limit in (0.9, 2.0):
        for v in x:
            if v > limit:
                total += v * v
                break
            total += 0.1 * v
        else:
            total = total * 3.0 + x[0]
    k = 0
    while k < 3:
        total += x[k]
        k += 1
    else:
        total = total * x[k]
    return total


@program(args=lambda: (np.array([[0.3, 0.8, 0.4], [1.1, -0.4, 0.9]]), 0.5), wrt=("a", "s"), tags=("language",))
def return_from_nested_loops(a, s):
    """A return inside two loops ends the program, after work that must be undone exactly."""
    for i in range(5):
        s = s * 1.1
        for row in a:
            for v in row:
                s = s + v * s
                if s > 4.0:
                    return s * v + i
            s = s - row[0] * row[1]
    return 0.0 * s


@program(args=lambda: (np.array([0.9, 0.4, 0.7]), 3), wrt=("x",), tags=("language",))
def triangular_nest(x, n):
    """Inner trip counts that depend on the outer index: tapes are not rectangular."""
    s = 1.0
    for i in range(n):
        for j in range(i, n):
            for _ in range(j - i):
                s = math.sin(s * x[j]) + x[i]
        for j in range(i - 1, -1, -1):
            s = s * (x[j] + 0.5)
    return s


@program(args=lambda: (0.5, 6), wrt=("x",), tags=("language",))
def collatz_trip_count(x, n):
    """The number of passes and the branch in each depend on integer arithmetic."""
    while n != 1:
        if n % 2 == 0:
            n = n // 2
            x = x + 0.3 * math.sin(x)
        else:
            n = 3 * n + 1
            x = x * x - 0.2
    return x


@program(args=lambda: (0.9, 0.2), wrt=("x", "v"), tags=("language",))
def bounded_while(x, v):
    """An event loop with a cap: the exit test is the value itself, and the last step is shortened to hit it."""
    t, dt, steps = 0.0, 0.1, 0
    while x > 0.0 and steps < 100:
        a = -2.0 - 0.3 * v
        if x + dt * v + dt * dt * a < 0.0:
            dt = -x / (v + a * dt)
            t += dt
            break
        v += dt * a
        x += dt * v
        t += dt
        steps += 1
    return t * v + dt


@program(args=lambda: (np.array([[0.3, 0.8], [1.1, -0.4], [0.6, 0.2]]), 0.7), wrt=("m", "a"), tags=("language",))
def loops_over_pairs_and_indices(m, a):
    """Rows unpacked in the loop's head, `ndenumerate`, `ndindex`, `arange` and `linspace` as iterables."""
    total = 1.0
    for p, q in m:
        total = total * (1.0 + p) - q
    for i, (p, q) in enumerate(m[::-1]):
        total += i * p * q
    for (i, j), v in np.ndenumerate(m):
        total = total * 1.05 + v * (i - j)
    for i, j in np.ndindex(2, 2):
        total += m[i, j] * m[j, i] * total
    for t in np.arange(0.0, 1.0, 0.25):
        total = total + math.sin(a * t)
    for t in np.linspace(a, 1.0, 3):
        total = total * t + 0.5
    return total


@program(args=lambda: (np.array([0.3, 0.8, 1.1]), 0.7), wrt=("x", "a"), tags=("language",))
def names_shadowed_by_loops(x, a):
    """Loop targets that shadow the iterable, an argument and an earlier name; the iterable is bound once."""
    total = a
    for x in x:
        total = total + x * a
        a = x * total
    y = np.array([a, x])
    for a in y:
        y = y * 2.0 + a
    for i in range(i := 3):
        i = i + total
    return np.sum(y) * a + i * x


@program(args=lambda: (0.7, 0.4), wrt=("x", "y"), tags=("language", "stretch"))
def list_grows_while_looped_over(x, y):
    """A work list: the loop sees the items that its body appends."""
    work = [x, y]
    total = 0.0
    for v in work:
        total = total * 1.1 + v * v
        if v < 1.5 and len(work) < 12:
            work.append(v * 1.5 + 0.1 * x)
    return total * len(work)


@program(args=lambda: (0.7, 0.4), wrt=("x", "y"), tags=("language",))
def recurrence_written_out(x, y):
    """Every value is used twice by the next two: as many paths as 2 to the number of steps."""
    for weight in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0):
        x, y = 0.5 * x + 0.3 * y * weight, 0.4 * y + 0.2 * x * y
    return x * y


@program(args=lambda: (np.array([[0.5, 1.2], [0.3, 0.7], [0.9, 0.4], [0.6, 0.8]]),), wrt=("a",), tags=("language",))
def bound_in_the_first_turn(a):
    """Variables that only the first turn of a loop binds, and the others read: sweeps up and down of a line."""
    # ruff: noqa: F821 - the first turn binds what the others read
    s = 0.0
    for i, row in enumerate(a):
        if i > 0:
            s += np.dot(row, before) * most
            if row[0] > most:
                most = row[0] * 1.0
        else:
            most = row[1] * 0.5
        before = row * 2.0
    x = np.empty_like(a)
    for k in range(len(a) - 1, -1, -1):
        if k == len(a) - 1:
            line = a[k] * s
        else:
            line = a[k] - 0.3 * a[k, 0] * line
        x[k] = line
    return np.sum(x * x * most)
