"""Memory that lives across passes of loops: versions of one name, views carried along, integers that are overwritten."""

import numba
import numpy as np

from .registry import program


def _vector():
    return np.array([0.5, 1.2, 0.8, -0.3, 0.9, 1.6])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def one_name_many_versions(x, a):
    """`x` is bound again and again, to arrays of other ranks and to a float; each version is needed on the way back."""
    x = np.sin(x) * a
    x = x.reshape(2, 3)
    x = x @ x.T
    x = x * x[0] + x.T
    x, a = x[1] * x[0], x[0, 1] * a
    x = x @ x
    return x * x + a * x


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def arrays_that_shrink_in_a_while(x, a):
    """Pairwise reduction: a new, shorter array in every pass; the odd element is carried."""
    y = x * a
    carry = 1.0
    while y.size > 1:
        if y.size % 2:
            carry = carry * y[-1]
            y = y[:-1]
        y = np.tanh(y[::2]) * y[1::2] + 0.5
    return y[0] * carry


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def view_carried_by_a_loop(x, a):
    """`v = v[1:]` walks along one buffer, which is written through it."""
    y = x.copy()
    v = y
    while v.size > 2:
        v[1] += a * v[0] * v[2]
        v = v[1:]
    v *= 2.0
    w = y[::-1]
    for _ in range(2):
        w = w[:-1]
        w[0] *= w[-1]
    return np.sum(y * y) + v[0] * w[1]


@program(args=lambda: (_vector(), np.array([2, 0, 4, 1, 5, 3])), wrt=("x",), tags=("memory",))
def integers_overwritten_after_use(x, index):
    """An index array, a counter and a mask that change after they were used to address memory."""
    index = index.copy()
    y = np.ones(6)
    mask = np.array([True, False, True, True, False, True])
    for k in range(4):
        y[index] *= x
        y[mask] += 0.1 * x[index[mask]]
        index[k], index[k + 2] = index[k + 2], index[k]
        mask[k] = not mask[k]
        mask[index[0]] = y[k] > 1.0
        index[-1] = (index[-1] + k) % 6
    return np.sum(y * y * (index + 1.0))


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def bounds_overwritten_after_use(x, a):
    """Slice bounds and trip counts read from an integer array that the loop changes."""
    bounds = np.array([1, 4, 6])
    y = x.copy()
    for k in range(3):
        low, high = bounds[0], bounds[1]
        y[low:high] *= a + y[low - 1]
        for j in range(bounds[k] - 1, -1, -bounds[0]):
            y[j] += 0.1 * y[5 - j]
        bounds[0] += 1
        bounds[1] -= k
    return np.sum(y * y)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def exit_in_the_middle_of_writing(x, a):
    """A `break` and a `return` between two stores of one pass."""

    def relax(y):
        for t in range(10):
            for i in range(1, y.size):
                y[i] += 0.3 * a * y[i - 1]
                if y[i] > 3.0:
                    return t
                y[i - 1] *= 0.9
            if y[0] < 0.42:
                break
            y[0] *= a + 0.25
        return -1

    y = x.copy()
    first = relax(y)
    second = relax(y[:2])
    return np.sum(y * y) * (first + 3) + second * y[1]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory", "language"))
def closure_changes_captured_array(x, a):
    """An inner function writes to an array of the outer one, which is bound to another array in between."""
    y = x.copy()

    def scale(i):
        y[i] *= a + i
        return y[i]

    total = scale(0) * scale(1)
    held = y
    y = y * 2.0
    total += scale(0) * held[0]
    for i in range(2, 6):
        total = total + scale(i) * held[i - 1]
    return total + np.sum(y * held)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory", "language"))
def evaluation_order(x, a):
    """Operands are evaluated from left to right, targets after the value and one after the other."""
    y = x.copy()

    def bump(i, by):
        y[i] += by
        return y[i]

    i = 0
    i, y[i] = 3, a * y[i + 1]
    total = y[0] * bump(0, a) + y[0]
    y[i] = bump(i, 1.0) * bump(1, y[i])
    y[2] += bump(2, a) * y[2]
    total += bump(4, 1.0) - bump(4, y[4]) * (bump(5, a) if y[4] > 100.0 else y[5])
    return total + np.sum(y * y)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def scratch_in_each_lane(x, a):
    """Independent passes with a scratch array each, a shared factor, and reductions, as one writes for `prange`."""
    out = np.empty(x.size)
    total = 0.0
    for lane in numba.prange(x.size):
        scratch = np.zeros(3)
        for k in range(3):
            scratch[k] = x[lane] * a + scratch[k - 1] ** 2
        scratch[0] *= scratch[2]
        out[lane] = scratch.sum()
        total += scratch[1] * a
    return np.sum(out * out) + total


@program(args=lambda: (_vector(), 0.7, 1), wrt=("x", "a"), tags=("memory", "stretch"))
def view_or_copy_decided_at_run_time(x, a, k):
    """`ravel` of the transpose of `k` rows is a view for k = 1 and a copy for k = 2."""
    total = 0.0
    for rows in (k, 2 * k):
        w = x.reshape(2, 3) * a
        flat = w[:rows].T.ravel()
        flat[1] *= 3.0
        w[0, 0] += flat[0]
        total += np.sum(w * w) * rows + np.sum(flat * flat)
    return total


@program(args=lambda: (np.outer(_vector(), [1.0, 0.5]), 2), wrt=("p",), tags=("memory",))
def differences_of_the_last_turn(p, n):
    """An array that is first made in a loop, of lengths of its own, and read behind: no length is known before."""
    p = p.copy()
    for _ in range(n):
        d = p.T[:1] - p[:, :1]
        p += p * 0.5
    return np.sum(d * d * d) + np.sum(p)
