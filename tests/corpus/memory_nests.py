"""Array statements whose loops could be one: what they share, what they overwrite, and where they must stay apart."""

import numpy as np

from .registry import program


def line(n=7, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 1.4, n)


def table(n=4, m=5, seed=1):
    return np.random.default_rng(seed).uniform(0.2, 1.4, (n, m))


def pair():
    return line(), line(7, 5)


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def one_pass_there_and_back(x, y):
    """Everything over one length: values with several users, a sum, no array in between is needed."""
    t = x * y
    e = np.exp(-t)
    r = e / (x + t)
    return np.sum(r * e + t * r) + np.sum(t)


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def sums_between_passes(x, y):
    """Each pass needs the sum of the one before."""
    t = np.tanh(x * y)
    w = t / np.sum(t)
    gap = x - np.sum(w * x)
    spread = np.sqrt(np.sum(w * gap * gap))
    return np.sum((gap / spread) ** 3 * y) + spread


@program(args=lambda: (table(), line(5, 2)), wrt=("x", "w"), tags=("nests",))
def nests_along_both_axes(x, w):
    """Reductions along either axis of what one nest computes, and weights that are broadcast."""
    z = x * w
    top = np.max(z, axis=1)
    e = np.exp(z - top[:, None])
    rows = np.sum(e, axis=1, keepdims=True)
    p = e / rows
    columns = np.sum(p, axis=0)
    return np.sum(columns * w) + np.sum(np.log(rows)) + np.sum(top * np.mean(p, axis=1))


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def updates_read_before_and_after(x, y):
    """An array is changed between two reads of it, all over the same indices."""
    u = x.copy()
    a = u * y
    u += a
    b = u * u
    u *= y
    c = np.sin(u) + b
    u[...] = c - a
    return np.sum(u * a + b * c)


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def neighbours_of_what_is_written(x, y):
    """What is written is read again at other indices."""
    u = x * y
    u[1:] = u[:-1] * u[1:] + y[1:]
    v = u[:-1] + u[1:]
    u[:-1] += v
    u[::2] = u[::-2] * 0.5
    return np.sum(u * u) + np.sum(v * u[1:])


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def views_of_one_array(x, y):
    """One buffer under several names; whole and part."""
    u = x * 2.0
    left, right = u[:4], u[3:]
    left += right
    s = np.sum(left * y[:4])
    right *= left
    return s + np.sum(u * u) + np.sum(left * right)


@program(args=lambda: (line(6), line(1, 3), line(6, 4)), wrt=("x", "b", "y"), tags=("nests",))
def a_length_of_one_among_others(x, b, y):
    """Lengths that are equal only after broadcasting, in one expression."""
    z = x * b + y
    t = b * b
    q = z * t
    return np.sum(q * z) + np.sum(t) + np.sum(q[:1] * x)


@program(args=lambda: (line(6), line(6, 3)), wrt=("x", "y"), tags=("nests",))
def slices_of_length_one(x, y):
    """Lengths that turn out to be 1 when the program runs."""
    total = 0.0
    for k in range(4):
        a = x[k:-1] * y[: 5 - k]
        b = a * x[4:5] + y[k : k + 1]
        a += b * x[k]
        total += np.sum(a * b) + np.sum(b)
    return total


@program(args=lambda: (np.asfortranarray(table(3, 4)), table(3, 4, 6)), wrt=("f", "c"), tags=("nests",))
def orders_of_memory_meet(f, c):
    """Fortran's order and C's in one expression, and transposes."""
    s = f * c
    t = f * f
    u = t.T + s.T * 0.5
    v = np.exp(-u) * c.T
    return np.sum(v, axis=0) @ np.sum(s, axis=1) + np.sum(t * np.cos(f))


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def huge_angles(x, y):
    """Arguments of sin and cos beyond the range of fast reductions, in an array that is also summed."""
    a = x * 1e9
    s = np.sin(y) + np.where(a > 5e8, np.cos(a * 0.0 + y), np.sin(x))
    return np.sum(s * s) + np.sum(np.tan(0.3 * s))


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def masks_and_choices(x, y):
    """Comparisons as arrays, used by several statements."""
    big = x > y
    both = big & (x > 0.5)
    a = np.where(big, x * y, x / y)
    b = np.where(both, a * a, -a)
    return np.sum(a[big]) + np.sum(b) + np.sum(np.maximum(a, b)) + np.sum(big * x)


@program(
    args=lambda: (line(5).astype(np.float32), line(5, 8)), wrt=("x", "y"), tags=("nests", "float32"), second_order=False
)
def narrow_and_wide(x, y):
    """float32 and float64 in one nest: results keep their own types."""
    n = x * x + np.float32(0.5)
    w = n * y
    m = n - x
    return np.sum(m) * np.sum(w) + np.sum(w * m)


@program(args=pair, wrt=("x", "y"), tags=("nests",))
def loops_around_statements(x, y):
    """Time steps whose array statements share their loops, with numbers that change from step to step."""
    u, v = x.copy(), y.copy()
    dt = 0.1
    for k in range(5):
        force = -u - 0.3 * u * u * u
        v += dt * force
        energy = np.sum(v * v + u * u)
        u += dt * v
        dt = 0.1 / (1.0 + 0.01 * energy) + 0.001 * k
        u /= 1.0 + 1e-3 * np.sum(force)
    return np.sum(u * v) + dt


@program(args=lambda: (table(3, 3), 3), wrt=("a",), tags=("nests",))
def arrays_of_changing_length(a, n):
    """A name that stands for a shorter array in every iteration, next to one that keeps its length."""
    total = 0.0
    y = a[0] * 1.0
    keep = np.zeros(3)
    while len(y) > 1:
        y = y[1:] * a[1, : len(y) - 1]
        keep += y[0] * a[2]
        total += np.sum(y)
    return total + np.sum(keep * y)


@program(args=lambda: (line(6),), wrt=("x",), tags=("nests",))
def recursion_on_halves(x):
    """Results of two calls whose lengths differ."""

    def fold(v):
        if len(v) == 1:
            return v * v
        half = len(v) // 2
        a, b = fold(v[:half]), fold(v[half:])
        out = np.empty(len(v))
        out[:half] = a * b[0]
        out[half:] = b + a[0]
        return out

    y = fold(x)
    return np.sum(y * x) + y[0]


@program(args=lambda: (line(6), 5), wrt=("x",), tags=("nests",))
def indices_that_run(x, n):
    """Integers that nested loops add to, up and down, also where a `while` or a `break` ends them."""
    packed = np.zeros(n * (n + 1) // 2)
    at = 0
    for p in range(n):
        for q in range(p + 1):
            packed[at] = np.exp(-x[p] * x[q]) * x[p]
            at += 1
    total, k, back = 0.0, 0, len(packed) - 1
    while total < 3.0 and k < len(packed):
        total += packed[k] ** 2 * np.sin(packed[back])
        k += 2
        back -= 1
    step = 3
    for i in range(1, n):
        for j in range(n):
            if x[j] * i > 4.0:
                break
            total += x[(step + j) % 6] ** 3 * packed[i]
        step -= 1
    return total


@program(args=lambda: (table(5, 5),), wrt=("a",), tags=("nests",))
def guarded_neighbours(a):
    """Indices that conditions keep within bounds."""
    n, m = a.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = a[i, j] ** 2
            if i > 0:
                s += a[i - 1, j] * a[i, j]
            if j + 1 < m and i + 1 < n:
                s *= a[i + 1, j + 1]
            out[i, j] = s if i != j else -s
    k, total = 0, 0.0
    while k < n and out[k, k] < 2.0:
        total += out[k, n - 1 - k] * a[k, 0]
        k += 1
    return total + np.sum(out)
