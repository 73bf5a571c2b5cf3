"""Programs of scientists whose course and containers are found at run time: cells, queues, trees, graphs, events."""

import copy
import heapq
import itertools
import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from .registry import program, rng


def build_cells(pos, box, rc):
    ncell = max(1, int(box // rc))
    cells = {}
    for i, p in enumerate(pos):
        key = tuple(int(c) for c in np.floor(p / box * ncell).astype(int) % ncell)
        cells.setdefault(key, []).append(i)
    return cells, ncell


@program(args=lambda: (rng(3).uniform(0.3, 5.7, size=(8, 2)), 1.1, 0.9, 6.0, 2.0), wrt=("pos", "eps", "sigma"))
def md_cell_list(pos, eps, sigma, box, rc):
    """Energy of truncated and shifted Lennard-Jones particles by a cell list."""
    cells, ncell = build_cells(pos, box, rc)
    sr6c = (sigma / rc) ** 6
    shift = 4 * eps * (sr6c**2 - sr6c)
    energy = 0.0
    for (cx, cy), members in cells.items():
        for dx, dy in itertools.product((-1, 0, 1), repeat=2):
            other = cells.get(((cx + dx) % ncell, (cy + dy) % ncell), ())
            for i in members:
                for j in other:
                    if j <= i:
                        continue
                    d = pos[i] - pos[j]
                    d -= box * np.rint(d / box)
                    r2 = d @ d
                    if r2 >= rc * rc:
                        continue
                    s = (sigma**2 / (r2 + 0.2)) ** 3
                    energy += 4 * eps * (s * s - s) - shift
    return energy


@program(
    args=lambda: (np.array([0.0, 0.4, 0.5, 1.7, 2.0]), np.array([1.0, 0.63, 0.9, 0.31, 0.8]), 2),
    wrt=("arrivals", "service"),
)
def queue_simulation(arrivals, service, servers):
    """Mean waiting time of customers in a queue with several servers, by a heap of events."""
    events = [(t, 0, k) for k, t in enumerate(arrivals)]
    heapq.heapify(events)
    waiting = deque()
    free = servers
    total = 0.0
    finished = 0
    while events:
        now, kind, who = heapq.heappop(events)
        if kind == 0:
            waiting.append((who, now))
        else:
            free += 1
            finished += 1
        while free > 0 and waiting:
            k, since = waiting.popleft()
            total += (now - since) ** 2 + 0.1 * now
            free -= 1
            heapq.heappush(events, (now + service[k], 1, k))
    assert finished == len(service), f"{finished} of {len(service)}"
    return total / finished


@program(args=lambda: (rng(11).normal(size=(7, 2)), 0.7), wrt=("pts", "scale"))
def single_linkage(pts, scale):
    n = len(pts)
    parent = list(range(n))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    edges = []
    for i in range(n):
        for j in range(i + 1, n):
            edges.append((np.hypot(*(pts[i] - pts[j])), i, j))
    edges.sort()
    heights = []
    for w, i, j in edges:
        a, b = find(i), find(j)
        if a == b:
            continue
        parent[a] = b
        heights.append(w)
        if len(heights) == n - 1:
            break
    return sum(math.exp(-h * scale) * (k + 1) for k, h in enumerate(heights))


G = 6.674e-2


@dataclass
class Body:
    m: float
    x: np.ndarray
    v: np.ndarray
    tag: str = ""

    def kinetic(self) -> float:
        return 0.5 * self.m * float(self.v @ self.v)


@program(
    args=lambda: (
        np.array([[0.0, 0.0], [1.0, 0.1], [0.2, 1.3]]),
        np.array([[0.0, 0.1], [0.2, 0.5], [-0.4, 0.0]]),
        np.array([1.0, 0.3, 0.2]),
    ),
    wrt=("xs", "vs", "ms"),
)
def bodies_deepcopied(xs, vs, ms):
    bodies = [Body(m, x.copy(), v.copy(), tag=f"b{k}") for k, (m, x, v) in enumerate(zip(ms, xs, vs))]
    start = copy.deepcopy(bodies)

    def accel(system):
        acc = [np.zeros(2) for _ in system]
        for (i, a), (j, b) in itertools.combinations(enumerate(system), 2):
            d = b.x - a.x
            w = G / (d @ d + 0.01) ** 1.5
            acc[i] += w * b.m * d
            acc[j] -= w * a.m * d
        return acc

    dt = 0.1
    acc = accel(bodies)
    for _ in range(4):
        for b, a in zip(bodies, acc):
            b.v += 0.5 * dt * a
            b.x += dt * b.v
        acc = accel(bodies)
        for b, a in zip(bodies, acc):
            b.v += 0.5 * dt * a
    drift = sum(np.sum((b.x - s.x) ** 2) for b, s in zip(bodies, start))
    return drift + sum(map(Body.kinetic, bodies)) + sum(s.kinetic() for s in start)


@program(args=lambda: (rng(9).uniform(-1, 1, size=(8, 2)), rng(10).uniform(0.5, 1, 8), 0.6), wrt=("pos", "mass"))
def barnes_hut_arrays(pos, mass, theta):
    maxnodes = 200
    child = -np.ones((maxnodes, 4), dtype=int)
    body = -np.ones(maxnodes, dtype=int)
    centre = np.zeros((maxnodes, 2))
    half = np.zeros(maxnodes)
    com = np.zeros((maxnodes, 2))
    m = np.zeros(maxnodes)
    half[0] = 1.0
    n_nodes = 1
    for i in range(pos.shape[0]):
        node = 0
        j = i
        while True:
            if child[node, 0] < 0 and body[node] < 0:
                body[node] = j
                break
            if child[node, 0] < 0:
                for c in range(4):
                    child[node, c] = n_nodes
                    half[n_nodes] = half[node] / 2
                    centre[n_nodes] = centre[node] + half[n_nodes] * np.array([2 * (c & 1) - 1, 2 * (c >> 1) - 1])
                    n_nodes += 1
                old = body[node]
                body[node] = -1
                c = int(pos[old, 0] > centre[node, 0]) + 2 * int(pos[old, 1] > centre[node, 1])
                body[child[node, c]] = old
            c = int(pos[j, 0] > centre[node, 0]) + 2 * int(pos[j, 1] > centre[node, 1])
            node = child[node, c]
    for node in reversed(range(n_nodes)):
        if body[node] >= 0:
            m[node] = mass[body[node]]
            com[node] = pos[body[node]] * m[node]
        elif child[node, 0] >= 0:
            for c in child[node]:
                m[node] += m[c]
                com[node] += com[c]
    total = 0.0
    for i in range(pos.shape[0]):
        stack = [0]
        while stack:
            node = stack.pop()
            if m[node] == 0.0 or body[node] == i:
                continue
            d = np.sqrt(np.sum((com[node] / m[node] - pos[i]) ** 2) + 1e-3)
            if body[node] >= 0 or 2 * half[node] < theta * d:
                total -= 0.5 * mass[i] * m[node] / d
            else:
                stack.extend(child[node])
    return total


@program(
    args=lambda: (np.array([0.3, -0.5]), np.array([0.7, 0.4]), 0.2, np.array([[1.2, 0.3], [0.3, 0.8]])),
    wrt=("q", "p", "eps", "prec"),
)
def nuts_tree(q, p, eps, prec):
    def leapfrog(q, p, e):
        p = p - 0.5 * e * (prec @ q)
        q = q + e * p
        return q, p - 0.5 * e * (prec @ q)

    def energy(q, p):
        return 0.5 * q @ prec @ q + 0.5 * p @ p

    h0 = energy(q, p)

    def build(q, p, direction, depth):
        if depth == 0:
            q1, p1 = leapfrog(q, p, direction * eps)
            w = np.exp(h0 - energy(q1, p1))
            return q1, p1, q1, p1, q1 * w, w, True
        qm, pm, qp, pp, acc, w, ok = build(q, p, direction, depth - 1)
        if ok:
            if direction == -1:
                qm, pm, _, _, acc2, w2, ok2 = build(qm, pm, direction, depth - 1)
            else:
                _, _, qp, pp, acc2, w2, ok2 = build(qp, pp, direction, depth - 1)
            dq = qp - qm
            ok = ok2 and dq @ pm >= 0 and dq @ pp >= 0
            acc = acc + acc2
            w = w + w2
        return qm, pm, qp, pp, acc, w, ok

    qm = qp = q
    pm = pp = p
    mean, weight = q, 1.0
    for depth, direction in enumerate((1, -1, 1)):
        if direction == -1:
            qm, pm, _, _, acc, w, ok = build(qm, pm, -1, depth)
        else:
            _, _, qp, pp, acc, w, ok = build(qp, pp, 1, depth)
        if not ok:
            break
        mean = mean + acc
        weight += w
    return (mean / weight) @ np.array([1.0, 2.0])


@program(args=lambda: (rng(1).uniform(0.5, 2.0, size=(4, 5)),), wrt=("slow",))
def fast_sweep_dijkstra(slow):
    nx, ny = slow.shape
    time = np.full(slow.shape, np.inf)
    done = np.zeros(slow.shape, dtype=bool)
    time[0, 0] = 0.0
    heap = [(0.0, (0, 0))]
    while heap:
        t, (i, j) = heapq.heappop(heap)
        if done[i, j]:
            continue
        done[i, j] = True
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = i + di, j + dj
            if not (0 <= a < nx and 0 <= b < ny) or done[a, b]:
                continue
            tx = min(time[a - 1, b] if a > 0 else np.inf, time[a + 1, b] if a < nx - 1 else np.inf)
            ty = min(time[a, b - 1] if b > 0 else np.inf, time[a, b + 1] if b < ny - 1 else np.inf)
            s = slow[a, b]
            if abs(tx - ty) < s:
                cand = 0.5 * (tx + ty + math.sqrt(2 * s * s - (tx - ty) ** 2))
            else:
                cand = min(tx, ty) + s
            if cand < time[a, b]:
                time[a, b] = cand
                heapq.heappush(heap, (cand, (a, b)))
    return time[-1, -1] + time.mean()


@program(args=lambda: (rng(3).uniform(0.2, 1.0, size=(5, 5)),), wrt=("cost",))
def assignment_auction(cost):
    """Auction algorithm; the derivative of the optimal cost is the assignment."""
    n = cost.shape[0]
    prices = np.zeros(n)
    owner = [-1] * n
    unassigned = deque(range(n))
    eps = 0.01
    while unassigned:
        i = unassigned.popleft()
        values = -cost[i] - prices
        j = int(np.argmax(values))
        second = max(values[k] for k in range(n) if k != j)
        prices[j] += values[j] - second + eps
        if owner[j] >= 0:
            unassigned.append(owner[j])
        owner[j] = i
    return sum(cost[i, j] for j, i in enumerate(owner)) + 0.01 * np.sum(prices**2)


@program(
    args=lambda: (
        rng(7).normal(size=(7, 2)) * 0.08 + np.array([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1.0], [2, 1], [1, 2]]),
        np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [3, 4, 6], [4, 5, 6]]),
        rng(8).uniform(0.5, 2, size=6),
        1.3,
    ),
    wrt=("nodes", "kappa", "load"),
)
def fem_coo(nodes, tris, kappa, load):
    rows, cols, vals = [], [], []
    rhs = np.zeros(len(nodes))
    for e, tri in enumerate(tris):
        X = nodes[tri]
        J = np.array([X[1] - X[0], X[2] - X[0]])
        det = J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]
        area = abs(det) / 2
        grads = np.linalg.solve(J, np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]))
        ke = kappa[e] * area * grads.T @ grads
        for a in range(3):
            rhs[tri[a]] += load * area / 3
            for b in range(3):
                rows.append(tri[a])
                cols.append(tri[b])
                vals.append(ke[a, b])
    n = len(nodes)
    K = np.zeros((n, n))
    np.add.at(K, (np.array(rows), np.array(cols)), np.array(vals))
    fixed = [0, 2]
    free = np.setdiff1d(np.arange(n), fixed)
    u = np.zeros(n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], rhs[free])
    return rhs @ u


@program(
    args=lambda: (0.5 * rng(5).normal(size=(5, 4)), 0.5 * rng(6).normal(size=(4, 5)), 0.05, 0.1, 3),
    wrt=("u", "v", "nu"),
)
def mac_projection(u, v, nu, dt, nsteps):
    """Staggered grid, projection by Gauss-Seidel sweeps. Returns the kinetic energy."""
    u, v = u.copy(), v.copy()
    ny = u.shape[1]
    nx = v.shape[0]
    h = 1.0 / nx
    u[0, :] = u[-1, :] = 0
    v[:, 0] = v[:, -1] = 0
    p = np.zeros((nx, ny))
    for step in range(nsteps):
        un, vn = u.copy(), v.copy()
        for i in range(1, nx):
            for j in range(ny):
                up = un[i, j + 1] if j + 1 < ny else -un[i, j]
                dn = un[i, j - 1] if j > 0 else -un[i, j]
                lap = (un[i + 1, j] + un[i - 1, j] + up + dn - 4 * un[i, j]) / h**2
                vbar = 0.25 * (vn[i - 1, j] + vn[i, j] + vn[i - 1, j + 1] + vn[i, j + 1])
                adv = un[i, j] * (un[i + 1, j] - un[i - 1, j]) / (2 * h) + vbar * (up - dn) / (2 * h)
                u[i, j] += dt * (nu * lap - 0.1 * adv)
        for sweep in range(6):
            for i in range(nx):
                for j in range(ny):
                    nb, cnt = 0.0, 0
                    for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                        a, b = i + di, j + dj
                        if 0 <= a < nx and 0 <= b < ny:
                            nb += p[a, b]
                            cnt += 1
                    div = (u[i + 1, j] - u[i, j] + v[i, j + 1] - v[i, j]) / h
                    p[i, j] = (nb - h * h * div / dt) / cnt
        u[1:-1, :] -= dt / h * (p[1:, :] - p[:-1, :])
        v[:, 1:-1] -= dt / h * np.diff(p, axis=1)
    return 0.5 * (np.sum(u**2) + np.sum(v**2)) * h * h


@program(args=lambda: (rng(5).uniform(0.05, 0.95, 10), rng(6).normal(size=10) * 0.1, 0.7), wrt=("x", "v", "qm"))
def pic_1d(x, v, qm):
    ng = 6
    x, v = x.copy(), v.copy()
    energy = []
    for step in range(3):
        xi = x * ng
        i = xi.astype(int)
        f = xi - i
        rho = np.zeros(ng)
        for k in range(x.size):
            rho[i[k] % ng] += 1 - f[k]
            rho[(i[k] + 1) % ng] += f[k]
        rho = rho / x.size * ng - 1
        rk = np.fft.rfft(rho)
        k = 2 * np.pi * np.arange(rk.size)
        k[0] = 1.0
        phik = rk / k**2
        phik[0] = 0
        E = np.fft.irfft(-1j * k * phik, n=ng)
        Ep = (1 - f) * E[i % ng] + f * np.take(E, i + 1, mode="wrap")
        v += qm * 0.1 * Ep
        x = (x + 0.1 * v) % 1.0
        energy.append(0.5 * (E**2).sum() / ng + 0.5 * np.mean(v**2))
    return energy[-1] + np.ptp(energy)


@program(args=lambda: (0.3, 2.0, 4.0), wrt=("a", "b", "k"))
def adaptive_gk(a, b, k):
    xg = np.array([-0.7745966692414834, 0.0, 0.7745966692414834])
    wg = np.array([5 / 9, 8 / 9, 5 / 9])
    f = lambda x: np.exp(-x) * np.sin(k * x * x) / (1 + x)

    def rule(lo, hi):
        c, h = (lo + hi) / 2, (hi - lo) / 2
        return h * np.dot(wg, f(c + h * xg))

    todo = [(a, b, rule(a, b), 0)]
    total = 0.0
    while len(todo) > 0:
        lo, hi, whole, depth = todo.pop()
        mid = 0.5 * (lo + hi)
        left, right = rule(lo, mid), rule(mid, hi)
        if depth > 8 or abs(left + right - whole) < 1e-6:
            total += left + right + (left + right - whole) / 63
        else:
            todo += [(lo, mid, left, depth + 1), (mid, hi, right, depth + 1)]
    return total


def cycle(u, f):
    """A V-cycle in place, which returns the array that it was given."""
    if u.size == 3:
        u[1] = 0.5 * (u[0] + u[2] + f[1])
        return u
    u[1:-1:2] = 0.5 * (u[:-2:2] + u[2::2] + f[1:-1:2])
    u[2:-1:2] = 0.5 * (u[1:-2:2] + u[3::2] + f[2:-1:2])
    residual = f[::2].copy()
    residual[1:-1] = 4 * (f[2:-2:2] + u[1:-3:2] - 2 * u[2:-2:2] + u[3:-1:2])
    e = cycle(np.zeros_like(residual), residual)
    u[::2] += e
    u[1::2] += 0.5 * (e[:-1] + e[1:])
    return u


@program(args=lambda: (rng(2).normal(size=9), 0.3, -0.2), wrt=("f", "left", "right"))
def multigrid_that_returns_its_array(f, left, right):
    """A recursion that writes to its argument and gives it back, called from a loop."""
    u = np.zeros_like(f)
    u[0], u[-1] = left, right
    for _ in range(2):
        u = cycle(u, f)
    return np.sum(u**2) + u[3]


@program(args=lambda: (np.array([0.31, 1.7, 0.52, 2.6, 0.44]), 0.3), wrt=("x", "k"))
def iterators_that_list_first(x, k):
    """What `product` and `combinations` give is settled when they are called, though arrays and lists change."""
    y = k * x
    grown = [v * k for v in x if v > 0.4]
    total = 0.0
    for a, b in itertools.product(y, y):
        total += a * b
        y[0] += 0.1 * k
        y[-1] *= 0.9
    for a, b in itertools.combinations(grown, 2):
        total += a * b
        grown[0] += k
    for (i, a), (j, b) in itertools.combinations(enumerate(grown), 2):
        total += (j - i) * a * b
        grown[-1] *= k
        if len(grown) < 7:
            grown.append(b)
    return total


@program(args=lambda: (np.array([0.31, 1.7, 0.52, 2.6, 0.44]), 0.3), wrt=("x", "k"))
def iterators_that_read_in_turn(x, k):
    """Other iterators read an item when its turn comes, and once."""
    y, items = k * x, list(k * x)
    grown = [v * k for v in x if v > 0.4]
    total = 0.0
    for v in itertools.accumulate(y):
        y[-1] += k
        total += v
    for column in (items, grown):
        for a, b in itertools.pairwise(column):
            column[-1] += k * a
            column[0] *= 2.0
            total += a * b
        for v in itertools.islice(column, 1, None):
            column[-1] *= 1 + k
            total += v**2
    for a, b in itertools.zip_longest(y, grown, fillvalue=0.5):
        y[-1] += a * k
        total += a * b
    return total
