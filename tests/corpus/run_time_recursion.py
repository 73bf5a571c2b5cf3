"""Recursive functions that take, give back and change lists, dicts and objects."""

import numpy as np

from .registry import program

X = (0.31, -0.72, 1.23, 0.52, -0.21, 0.93)


def line():
    return (np.array(X),)


@program(args=line, wrt=("x",), tags=("language",))
def merge_sort(x):
    """Lists go in and out."""

    def ordered(a):
        if len(a) <= 1:
            return a
        m = len(a) // 2
        left, right = ordered(a[:m]), ordered(a[m:])
        out, i, j = [], 0, 0
        while i < len(left) and j < len(right):
            if left[i] < right[j]:
                out.append(left[i])
                i += 1
            else:
                out.append(right[j])
                j += 1
        return out + left[i:] + right[j:]

    return sum((k + 1) * v**2 for k, v in enumerate(ordered(list(x))))


@program(args=line, wrt=("x",), tags=("language",))
def haar_transform(x):
    """An array at first, lists further down."""

    def haar(a):
        if len(a) == 1:
            return [a[0]]
        means = [(a[2 * i] + a[2 * i + 1]) / 2 for i in range(len(a) // 2)]
        details = [(a[2 * i] - a[2 * i + 1]) / 2 for i in range(len(a) // 2)]
        return haar(means) + details

    return sum((k + 1) * v * v for k, v in enumerate(haar(np.concatenate([x, x[:2]]))))


@program(args=line, wrt=("x",), tags=("language",))
def fourier_transform_of_lists(x):
    """A pair of lists comes back."""

    def transform(a):
        n = len(a)
        if n == 1:
            return [a[0]], [0.0 * a[0]]
        (even, even_i), (odd, odd_i) = transform(a[::2]), transform(a[1::2])
        re, im = [0.0] * n, [0.0] * n
        for k in range(n // 2):
            c, s = np.cos(2 * np.pi * k / n), -np.sin(2 * np.pi * k / n)
            t, t_i = c * odd[k] - s * odd_i[k], c * odd_i[k] + s * odd[k]
            re[k], im[k] = even[k] + t, even_i[k] + t_i
            re[k + n // 2], im[k + n // 2] = even[k] - t, even_i[k] - t_i
        return re, im

    re, im = transform(np.concatenate([x, x[:2]]))
    return sum((k + 1) * (a * a + b * b) for k, (a, b) in enumerate(zip(re, im, strict=True)))


@program(args=line, wrt=("x",), tags=("language",))
def leaves_collected_in_a_list(x):
    """A list outside grows, and counters outside count."""
    found, calls = [], 0

    def walk(a, b):
        nonlocal calls
        calls += 1
        if b - a <= 1:
            found.append(x[a] ** 2 * calls)
            return
        m = (a + b) // 2
        walk(a, m)
        walk(m, b)

    walk(0, len(x))
    return sum(found) * calls


@program(args=line, wrt=("x",), tags=("language",))
def remembered_results(x):
    """A dict outside keeps what was computed before."""
    known = {}

    def paths(i, j):
        if i < 0 or j < 0:
            return 1.0
        if (i, j) in known:
            return known[i, j]
        result = x[i] * paths(i - 1, j) + x[j] * paths(i, j - 1)
        known[i, j] = result
        return result

    return paths(3, int(3 + x[0])) + len(known)


@program(args=line, wrt=("x",), tags=("language",))
def best_subset_by_backtracking(x):
    """A list of choices is changed and changed back; the best one is kept outside."""
    best, chosen = 0.0, []

    def choose(i, weight, value, picked):
        nonlocal best, chosen
        if value > best:
            best, chosen = value, list(picked)
        if i == len(x):
            return
        if weight + i < 8:
            picked.append(i)
            choose(i + 1, weight + i, value + abs(x[i]), picked)
            picked.pop()
        choose(i + 1, weight, value, picked)

    choose(0, 0, 0.0, [])
    return best + sum(x[c] ** 2 for c in chosen)


@program(args=line, wrt=("x",), tags=("language",))
def permutations_by_swaps(x):
    """A list is permuted in place."""
    order, best = list(range(4)), [1e9]

    def permute(k):
        if k == 4:
            cost = sum(x[order[i]] * (i + 1) for i in range(4))
            if cost < best[0]:
                best[0] = cost
            return
        for i in range(k, 4):
            order[k], order[i] = order[i], order[k]
            permute(k + 1)
            order[k], order[i] = order[i], order[k]

    permute(0)
    return best[0]


@program(args=line, wrt=("x",), tags=("language",))
def fields_of_an_object(x):
    """An object with numbers and a list in it, changed by a recursion around it."""

    class State:
        def __init__(self):
            self.count, self.total, self.history = 0, 0.0, []

    state = State()

    def halve(low, high):
        state.count += 1
        if high - low <= 1:
            state.total += x[low] ** 2
            state.history.append(x[low] * state.count)
            return x[low]
        m = (low + high) // 2
        return halve(low, m) * halve(m, high) + 0.1

    result = halve(0, len(x))
    return result * state.count + state.total + sum(h * h for h in state.history)


@program(args=line, wrt=("x",), tags=("language",))
def method_with_a_cache(x):
    """A recursive method, and a dict in its object."""

    class Sequence:
        def __init__(self, start):
            self.start, self.cache, self.evaluations = start, {}, 0

        def value(self, i):
            self.evaluations += 1
            if i < 2:
                return self.start(i)
            if i in self.cache:
                return self.cache[i]
            self.cache[i] = self.value(i - 1) * 0.5 + self.value(i - 2)
            return self.cache[i]

    sequence = Sequence(lambda i: x[i] ** 2)
    return sequence.value(int(30 * x[0])) + sequence.evaluations


@program(args=line, wrt=("x",), tags=("language",))
def flood_fill(x):
    """A list of lists of flags."""
    height = x.reshape(2, 3)
    seen = [[False] * 3 for _ in range(2)]

    def fill(i, j):
        if i < 0 or j < 0 or i >= 2 or j >= 3 or seen[i][j]:
            return 0.0
        seen[i][j] = True
        if height[i, j] < -0.5:
            return 0.0
        return height[i, j] ** 2 + fill(i + 1, j) + fill(i, j + 1) + fill(i - 1, j) + fill(i, j - 1)

    return fill(0, 0)


@program(args=line, wrt=("x",), tags=("language",))
def topological_order(x):
    """Depth-first search: a set of what was seen, and an order that is built on the way back."""
    n = len(x)
    following = {i: [(2 * i + 1) % n] for i in range(n)}
    seen, order = set(), []

    def visit(u):
        if u in seen:
            return
        seen.add(u)
        for v in following[u]:
            visit(v)
        order.append(u)

    for i in range(n):
        visit(i)
    return sum((k + 1) * x[u] ** 2 for k, u in enumerate(order))


@program(args=line, wrt=("x",), tags=("language",))
def list_passed_along_and_captured(x):
    """One list under two names."""
    items = [v for v in x if v > 0]

    def extend(p, n):
        if n > int(3 + x[0]):
            return sum(items)
        p.append(x[n])
        return extend(p, n + 1) * items[-1]

    return extend(items, 0) + len(items)


@program(args=line, wrt=("x",), tags=("language",))
def depth_that_is_changed_back(x):
    """A number outside is the same after each call, but not during it."""
    depth, total = 0, 0.0

    def descend(lo, hi):
        nonlocal depth, total
        if hi - lo < 2:
            total += x[lo] ** 2 * depth
            return
        depth += 1
        descend(lo, (lo + hi) // 2)
        descend((lo + hi) // 2, hi)
        depth -= 1

    descend(0, len(x))
    return total + depth


@program(args=line, wrt=("x",), tags=("language",))
def none_until_something_is_found(x):
    """A field and a variable outside that are None at first."""
    state, last = {"best": None}, None

    def scan(i):
        nonlocal last
        if i > int(3 + x[0]):
            return
        if state["best"] is None or x[i] > state["best"]:
            state["best"] = x[i]
        last = x[i] if last is None else last * x[i]
        scan(i + 1)

    scan(0)
    return (1.0 if state["best"] is None else state["best"] ** 2) + (2.0 if last is None else last)


@program(args=lambda: (np.array([0.3, 1.1, 0.7, 0.4, 0.9, 1.6]),), wrt=("x",))
def all_ways_as_tuples(x):
    """A tuple that is longer in each call, and what the ways found that way come to."""
    edges = {0: [(1, 0), (2, 1)], 1: [(2, 2), (3, 3)], 2: [(3, 4), (4, 5)], 3: [(4, 0)], 4: []}
    ways = []

    def walk(way, weight):
        if way[-1] == 4:
            ways.append((way, weight))
            return weight
        total = 0.0
        for node, k in edges[way[-1]]:
            total += walk((*way, node), weight * x[k])
        return total + 0.01 * len(way) * weight

    total = walk((0,), 1.0)
    for way, weight in ways:
        total += weight**2 * len(way) * isinstance(way, tuple) + x[sum(way) % 6]
    return total
