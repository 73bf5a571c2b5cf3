"""Dicts, sets and counters whose keys are only known at run time, and lists that stand in them."""

import collections
import heapq
import math

import numpy as np

from .registry import program

X = (0.31, -0.72, 1.23, 0.52, -0.21, 0.93)


def line():
    return (np.array(X),)


@program(args=line, wrt=("x",), tags=("language",))
def groups_by_setdefault(x):
    """Values grouped by an integer made of them."""
    groups = {}
    for v in x:
        groups.setdefault(int(3 * v), []).append(v)
    return sum((key + 1) * sum(groups[key]) ** 2 for key in groups)


@program(args=line, wrt=("x",), tags=("language",))
def sums_and_counts_in_defaultdicts(x):
    """Two default dicts, one of floats and one of ints; keys in sorted order."""
    total, count = collections.defaultdict(float), collections.defaultdict(int)
    for v in x:
        total[round(v)] += v
        count[round(v)] += 1
    return sum(total[k] ** 2 / count[k] for k in sorted(total)) + x[0] * count[99] + len(count)


@program(args=line, wrt=("x",), tags=("language",))
def table_of_subproblems(x):
    """Dynamic programming in a dict with pairs of ints as keys."""
    best = {}
    n = len(x)
    for i in range(n):
        for j in range(i + 1):
            if j in (0, i):
                best[i, j] = x[i]
            else:
                best[(i, j)] = best[i - 1, j - 1] * x[j] + best[(i - 1, j)]
    return best[n - 1, 2] + best[n - 1, 3] ** 2


@program(args=line, wrt=("x",), tags=("language",))
def sparse_matrix_of_a_dict(x):
    """A matrix as a dict of its entries, some of them added to twice."""
    entries = collections.defaultdict(float)
    n = len(x)
    for k in range(n):
        entries[int(4 * abs(x[k])) % n, 2 * k % n] += x[k] ** 2
        entries[k, k] += 1.0
    y = [0.0] * n
    for (i, j), a in sorted(entries.items()):
        y[i] += a * x[j]
    return sum(v * v for v in y)


@program(args=line, wrt=("x",), tags=("language",))
def shortest_path_with_dicts(x):
    """Dijkstra: adjacency lists, distances and the set of open nodes."""
    graph = {}

    def join(u, v, length):
        graph.setdefault(u, []).append((v, length))
        graph.setdefault(v, []).append((u, length))

    for u, v, k in ((0, 1, 0), (1, 2, 1), (0, 2, 2), (2, 3, 3), (1, 3, 5)):
        join(u, v, abs(x[k]))
    distance = {v: float("inf") for v in graph}
    distance[0] = 0.0
    todo = set(graph)
    while todo:
        u = min(todo, key=lambda v: distance[v])
        todo.remove(u)
        for v, length in graph[u]:
            if distance[u] + length < distance[v]:
                distance[v] = distance[u] + length
    return distance[3] ** 2 + distance[2]


@program(args=line, wrt=("x",), tags=("language",))
def breadth_first_search(x):
    """A queue, a set of what was seen, and depths in a dict."""
    n = len(x)
    neighbours = {i: [] for i in range(n)}
    for i in range(n - 1):
        if x[i] < x[i + 1] + 1.5:
            neighbours[i].append(i + 1)
            neighbours[i + 1].append(i)
    seen, depth, queue = {0}, {0: 0.0}, [0]
    while queue:
        u = queue.pop(0)
        for w in neighbours[u]:
            if w not in seen:
                seen.add(w)
                depth[w] = depth[u] + x[w] ** 2
                queue.append(w)
    return sum(depth.values()) + len(seen)


@program(args=line, wrt=("x",), tags=("language",))
def labels_as_keys(x):
    """Texts chosen at run time as keys, and keys that are entered on one path only."""
    totals = {}
    for v in x:
        label = "high" if v > 0.4 else ("low" if v < 0.0 else "middle")
        totals[label] = totals.get(label, 0.0) + v * v
    if x[0] > 0.0:
        totals["first"] = x[0]
    return totals["high"] * totals["low"] + len(totals) + sum(totals[k] for k in sorted(totals))


@program(args=line, wrt=("x",), tags=("language",))
def arrays_in_a_dict(x):
    """Arrays as values, changed in place through the dict."""
    fields = {}
    for i in range(len(x)):
        key = (i % 2, i // 2)
        fields[key] = np.sin(x) * i
        fields[key][0] += x[i]
    fields[1, 1] *= 2.0
    return sum(np.sum(v) * k[0] for k, v in fields.items()) + np.sum(fields[0, 1] ** 2)


@program(args=line, wrt=("x",), tags=("language",))
def numbers_as_keys(x):
    """A cache with floats as keys."""
    cache = {}

    def square(t):
        if t not in cache:
            cache[t] = t * t
        return cache[t]

    return sum(square(v) * square(x[0]) for v in x) + len(cache) + sum(cache) * x[1]


@program(args=line, wrt=("x",), tags=("language",))
def dicts_of_dicts(x):
    """Dicts in a dict, made where they are missing; others that are there from the start."""
    table = {}
    state = {"up": {"count": 0, "sum": 0.0}, "down": {"count": 0, "sum": 0.0}}
    for i, v in enumerate(x):
        table.setdefault(i % 2, {})[int(3 * v)] = v
        kind = "up" if v > 0.0 else "down"
        state[kind]["count"] += 1
        state[kind]["sum"] += v * v
    mean = state["up"]["sum"] / state["up"]["count"] - state["down"]["sum"] * state["down"]["count"]
    return mean + sum(sum(row.values()) * (key + 1) for key, row in table.items())


@program(args=line, wrt=("x",), tags=("language",))
def keys_that_go(x):
    """`pop`, `del`, `popitem`, a missing key in `try`, and a dict that shrinks until one is left."""
    active = {7 * i % 5 + i: v for i, v in enumerate(x)}
    total = active.pop(2, x[0]) * 3.0
    del active[5 * 7 % 5 + 5]
    try:
        total += active.pop(77)
    except KeyError:
        total += active.pop(0)
    while len(active) > 1:
        k = min(active, key=lambda q: active[q])
        total += active.pop(k) * len(active)
    key, value = active.popitem()
    return total + key * value + len(active)


@program(args=line, wrt=("x",), tags=("language",))
def sets_of_indices(x):
    """Union, intersection and difference of sets that are made at run time."""
    a, b = set(), set()
    for i, v in enumerate(x):
        if v > 0.0:
            a.add(i)
        if v < 0.6:
            b.add(i)
    b.discard(4)
    total = sum(x[i] ** 2 for i in sorted(a & b)) + sum(x[i] for i in sorted(a - b))
    return total * len(a | b) + (a <= b) + (max(a) in b) * x[0]


@program(args=line, wrt=("x",), tags=("language",))
def entropy_of_a_counter(x):
    """Counts of what is seen, most frequent first."""
    counts = collections.Counter(int(4 * v) for v in x)
    counts[3] += 1
    n = sum(counts.values())
    (key, times), *_ = counts.most_common(1)
    return times * x[key % 6] + counts[42] - sum(c / n * np.log(c / n) * x[k % 6] for k, c in counts.items())


@program(args=line, wrt=("x",), tags=("language",))
def cells_of_points(x):
    """Points in cells, whose keys are tuples of as many ints as the points have coordinates."""
    points = np.stack([x, x[::-1]], axis=1)
    cells = {}
    for i, p in enumerate(points):
        cells.setdefault(tuple((p // 1.0).astype(int)), []).append(i)
    energy = 0.0
    for cell in cells:
        for shift in ((0, 0), (1, 0), (0, 1)):
            for j in cells.get((cell[0] + shift[0], cell[1] + shift[1]), []):
                for i in cells[cell]:
                    energy += np.sum((points[i] - points[j]) ** 2)
    return energy


@program(args=line, wrt=("x",), tags=("language",))
def knapsack_in_dicts(x):
    """The next table is a copy of this one, with better values."""
    table = {0: 0.0}
    for i, v in enumerate(x):
        following = dict(table)
        for weight, value in table.items():
            if weight + i < 9 and value + abs(v) > following.get(weight + i + 1, -1.0):
                following[weight + i + 1] = value + abs(v)
        table = {**following, 99: x[0]}
    return max(table.values()) + table[99]


@program(args=line, wrt=("x",), tags=("language",))
def buckets_chosen_at_run_time(x):
    """Lists in a list of known length, one of which is chosen and grows."""
    buckets = [[], [], []]
    named = {0: [], 1: []}
    for v in x:
        buckets[int(2 * abs(v))].append(v)
        named[int(v > 0)].append(v)
    return sum((k + 1) * sum(b) ** 2 for k, b in enumerate(buckets)) + np.mean(named[1]) * np.mean(named[0])


class Tank:
    def __init__(self, level):
        self.level, self.fills = level, 0


@program(args=line, wrt=("x",), tags=("language",))
def one_of_two_is_changed(x):
    """Objects, lists and dicts chosen by a branch, then changed, while they have other names."""
    first, second = Tank(x[0]), Tank(x[1])
    low, high = [x[0]], [x[1], x[2]]
    on, off = {"sum": 0.0}, {"sum": 1.0}
    current = on
    for v in x:
        (first if v > 0 else second).level += v * v
        tank = first if v > 0.5 else second
        tank.fills += 1
        (low if v > 0 else high).append(v)
        current["sum"] += v * v
        if v > 0.5:
            current = off if current is on else on
    if first.level < second.level:
        first, second = second, first
    first.level *= 2.0
    total = first.level - second.level * second.fills + sum(low) * len(high) + np.prod(np.array(high))
    return total + on["sum"] * off["sum"]


@program(args=line, wrt=("x",), tags=("language",))
def moments_of_an_optimiser(x):
    """Dicts that get their keys in the first iteration, with values of different kinds."""
    parameters, means, squares = {"w": x[:3] * 1.0, "b": x[3] * 1.0}, {}, {}
    for t in range(1, 4):
        error = parameters["w"] @ x[3:] + parameters["b"] - 1.0
        gradients = {"w": 2 * error * x[3:], "b": 2 * error}
        for k in parameters:
            means[k] = 0.9 * means.get(k, 0.0) + 0.1 * gradients[k]
            squares[k] = 0.99 * squares.get(k, 0.0) + 0.01 * gradients[k] ** 2
            step = means[k] / (1 - 0.9**t) / (np.sqrt(squares[k] / (1 - 0.99**t)) + 1e-6)
            parameters[k] = parameters[k] - 0.05 * step
    return np.sum(parameters["w"] ** 2) + parameters["b"]


@program(args=line, wrt=("x",), tags=("language",))
def matrices_of_a_growing_list_in_one_row(x):
    """`np.concatenate` of a list that grows: along an axis, and with `axis=None`."""
    rows, matrices = [], []
    for k in range(len(x) // 2):
        rows.append(x[: k + 1] * k)
        matrices.append(np.outer(x[:2], x[2:4]) * (k + 1))
    flat = np.concatenate(matrices, axis=None)
    return np.sum(np.concatenate(rows) ** 2) + np.sum(flat * np.arange(flat.size)) + np.concatenate(matrices, 1)[1, -1]


@program(args=line, wrt=("x",), tags=("language",))
def parts_of_lists_of_unknown_length(x):
    """Parts of lists of known length become as many items as there turn out to be."""
    large = [v * v for v in x if v > 0.4]
    points = [[None] * 2 for _ in range(2)]
    points[0][:] = [p * x[0] for p in x.tolist()]
    points[1][1:] = (p + q for p, q in zip(points[0], large))
    points[1][:1] = large
    row = [x[0], x[1], "a name", x[2]]
    row[1:3] = large
    shared = other = [x[3], x[4]]
    shared[:] = shared[::-1] + large
    shared[5:2] = large
    alternate = [x[0], 2.0, x[1], 3.0, x[2]]
    alternate[::2] = large
    try:
        alternate[::3] = [1.0]
    except ValueError:
        alternate.append(x[5])
    return sum(k * v for found in (*points, row, other, alternate) for k, v in enumerate(found)) + len(row) * row[-1]


@program(args=lambda: (np.array([1.5, 2.5, 0.5]), 3), wrt=("x",))
def orders_until_none_is_left(x, count):
    """In the first turn the list has a known length, in later ones not: only these would always leave the loop."""
    found = [(x[0],)]
    order = [0, 1, 2]
    while True:
        count -= 1
        if count > 0:
            order[0], order[-count] = order[-count], order[0]
            found.append(tuple([x[i] ** 2 for i in order[:1]]))
        else:
            total = 0.0
            for k in range(len(found)):
                total += (k + 1.0) * found[k][0]
            return total


@program(args=lambda: (np.array([1.5, -2.5, 0.5, 2.0]),), wrt=("x",))
def tuples_of_as_many_as_there_are(x):
    """A tuple of items whose number the run decides is one to whoever asks, is joined, compared and cut."""
    positive = []
    for k in range(len(x)):
        if x[k] > 0:
            positive.append(x[k])
    kept = tuple(positive)
    total = 0.0
    if isinstance(kept, tuple) and type(kept) is tuple and kept != [1.5, 0.5, 2.0]:
        total += kept[0] ** 2
    if kept == tuple(positive) and kept < (9.0,):
        total += 3.0 * kept[1]
    longer = (x[1],) + kept[1:]
    longer += (x[0],)
    for k, item in enumerate(longer):
        total += (k + 1.0) * item**2
    best = ()
    for k in range(3):
        found = tuple([item * k for item in positive])
        if sum(found) > sum(best):
            best = found
    return total + sum(best) + len(best)


@program(args=lambda: (np.array([1.5, 3.5, 2.5, 0.5]),), wrt=("x",))
def tuples_kept_in_lists_of_the_run(x):
    """A tuple of as many items as there are is one wherever it is kept: in a list, a dict, a tuple or an object."""

    class Shelf:
        def __init__(self, items):
            self.items = items

    below, shelves, by_kind = [], [], {}
    for k in range(len(x)):
        smaller = tuple([v for v in x if v < x[k]])
        below.append(smaller)
        shelves.append(Shelf(smaller))
        by_kind.setdefault(len(smaller) % 2, []).append((k, smaller))
    total = 0.0
    for k, found in enumerate(below):
        if isinstance(found, tuple) and found != list(found) and isinstance(shelves[k].items, tuple):
            total += (k + 1.0) * sum(found)
        joined = found + (x[k],)
        total += joined[-1] ** 2 * len(joined)
    for kind, pairs in by_kind.items():
        for k, found in pairs:
            total += (kind + 2.0) * sum(found[::2]) * k * isinstance(found, tuple)
    below.sort()
    return total * (below[0] == ()) + below[1][0]


@program(args=lambda: (np.array([0.3, 1.1, 0.7, 0.4, 0.9, 1.6]),), wrt=("x",))
def paths_that_get_longer(x):
    """Tuples of one kind of items, of several lengths, in a heap and in lists: all ways through a graph, and the best."""
    edges = {0: [(1, 0), (2, 1)], 1: [(2, 2), (3, 3)], 2: [(3, 4), (4, 5)], 3: [(4, 0)], 4: []}
    heap, ways, best = [(0.0, (0,))], [], 0.0
    while heap:
        cost, path = heapq.heappop(heap)
        if path[-1] == 4:
            ways.append(path)
            if len(ways) == 1:
                best = cost**2
            continue
        for node, k in edges[path[-1]]:
            heapq.heappush(heap, (cost + x[k], (*path, node)))
    total = best
    for rank, way in enumerate(sorted(ways)):
        for a, b in zip(way, way[1:], strict=False):
            total += x[(a + b) % 6] * (rank + 1.0) * isinstance(way, tuple)
    return total + len(ways[0])


@program(args=lambda: (1.1, np.array([1.0, 0.8, 0.3])), wrt=("temperature", "start"))
def rates_of_species_in_dicts(temperature, start):
    """The species of reactions, of which each has counts of its own, gone through by stars of their keys."""

    def counts(text):
        found = collections.Counter()
        for term in text.split("+"):
            found[term.strip()] += 1
        return found

    reactions = [{"left": counts("A + B"), "energy": 2.0}, {"left": counts("C"), "energy": 1.5}]
    amounts = dict(zip("ABC", start, strict=True))
    total = 0.0
    for number, reaction in enumerate(reactions):
        rate = np.exp(-reaction["energy"] / temperature)
        for place, name in enumerate((*reaction["left"], "C")):
            rate *= amounts[name] ** (place + 1)
        total += (number + 1.0) * rate
    return total + len({name for reaction in reactions for name in (*reaction["left"],)})


@program(args=lambda: (np.array([1.3, 0.4, 2.1, 0.7]),), wrt=("x",), tags=("language",))
def shortest_ways_through_dicts_of_dicts(x):
    """Which dict is gone through, and which keys it has, is only known when the program runs."""
    roads = {"a": {"b": x[0], "c": 4.0 * x[1]}, "b": {"c": 1.0, "d": 5.0 * x[1]}, "c": {"d": x[2]}, "d": {}}
    dist = dict.fromkeys(roads, math.inf)
    dist["a"], todo, widest = 0.0, set(roads), 0.0
    while todo:
        near = min(sorted(todo), key=lambda town: dist[town])
        todo.remove(near)
        for town, length in roads[near].items():
            dist[town] = min(dist[town], dist[near] + length)
        widest += max(roads[near].values(), default=x[3]) * len(roads[near])
        widest += sum(len(town) for town in roads[near].keys()) * dist[near] * ("d" in roads[near])
    return dist["d"] * x[3] + widest
