"""Programs of scientists in the whole of the language: class hierarchies, enums, decorators, managers, exceptions, texts."""

import abc
import contextlib
import enum
import functools
import itertools
import math
import operator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import NamedTuple

import numpy as np
from numpy import linalg as LA

from .registry import program


class Kernel(abc.ABC):
    @abc.abstractmethod
    def __call__(self, a, b): ...
    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__


class Sum(Kernel):
    def __init__(self, *ks):
        self.ks = ks

    def __call__(self, a, b):
        return functools.reduce(operator.add, (k(a, b) for k in self.ks))


class Product(Kernel):
    def __init__(self, *ks):
        self.ks = ks

    def __call__(self, a, b):
        return math.prod(k(a, b) for k in self.ks)


class Scaled(Kernel):
    def __init__(self, k, s):
        self.k, self.s = k, s

    def __call__(self, a, b):
        return self.s**2 * self.k(a, b)


class RBF(Kernel):
    def __init__(self, length):
        self.length = length

    def __call__(self, a, b):
        return np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / self.length**2)


class Periodic(RBF):
    def __init__(self, length, period):
        super().__init__(length)
        self.period = period

    def __call__(self, a, b):
        return np.exp(-2 * np.sin(np.pi * (a[:, None] - b) / self.period) ** 2 / self.length**2)


@program(
    args=lambda: (np.array([1.1, 0.7, 2.0, 0.8, 0.1]), np.linspace(0, 4, 7), np.sin(np.linspace(0, 4, 7)) + 0.1),
    wrt=("theta",),
)
def gp_kernel_algebra(theta, x, y):
    s, l1, period, l2, noise = theta
    kernel = s * RBF(l1) * Periodic(l2, period) + 0.3 * RBF(3.0)
    K = kernel(x, x) + (noise**2 + 1e-8) * np.eye(x.size)
    L = LA.cholesky(K)
    alpha = LA.solve(L.T, LA.solve(L, y))
    return 0.5 * y @ alpha + np.log(np.diagonal(L)).sum() + 0.5 * len(y) * math.log(2 * math.pi)


class Phase(enum.IntEnum):
    IDLE = 0
    ACCEL = 1
    CRUISE = 2
    BRAKE = 3


@program(args=lambda: (2.0, 1.5, 10.0), wrt=("amax", "vmax", "dist"))
def motion_profile(amax, vmax, dist):
    phase = Phase.IDLE
    pos = v = t = 0.0
    energy = 0.0
    dt = 0.1
    for _ in range(400):
        if phase is Phase.IDLE:
            phase = Phase.ACCEL
        elif phase == Phase.ACCEL:
            v += amax * dt
            energy += amax * v * dt
            if v >= vmax:
                v = vmax
                phase = Phase.CRUISE
        elif phase == Phase.CRUISE:
            if dist - pos <= v * v / (2 * amax):
                phase = Phase.BRAKE
        else:
            v -= amax * dt
            if v <= 0:
                break
        pos += v * dt
        t += dt
    return energy + t * 0.1 + (dist - pos) ** 2


class ListNode:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


@program(args=lambda: (0.7, 1.2), wrt=("a", "b"))
def linked_list_walk(a, b):
    head = None
    for k in range(4):
        head = ListNode(a * k + b, head)
    total, node, depth = 0.0, head, 0
    while node is not None:
        total += node.value ** (1 + depth)
        node = node.next
        depth += 1
    return total


class Square(NamedTuple):
    a: float


class Disc(NamedTuple):
    r: float


@singledispatch
def area(shape):
    raise TypeError(type(shape))


@area.register
def _(shape: Square):
    return shape.a**2


@area.register
def _(shape: Disc):
    return math.pi * shape.r**2


@program(args=lambda: (1.2, 0.4), wrt=("a", "r"))
def dispatch_on_class(a, r):
    return sum(w * area(s) for w, s in zip((1.0, 2.5), (Square(a), Disc(r)))) + area(Disc(a * r))


class Timer:
    def __init__(self):
        self.t = 0.0
        self.log = []

    @contextmanager
    def step(self, dt, name):
        before = self.t
        try:
            yield dt / 2
        finally:
            self.t += dt
            self.log.append((name, self.t - before))


@program(args=lambda: (1.0, 0.3, 0.05), wrt=("x", "k", "dt"))
def strang_splitting_with_timer(x, k, dt):
    clock = Timer()
    for n in range(6):
        with clock.step(dt, "react") as half:
            x = x / (1 + half * k * x)
        with clock.step(2 * dt, "diffuse"):
            x -= dt * (x - math.sin(clock.t))
        if n == 4:
            continue
        with clock.step(dt, name="react") as half:
            x = x / (1 + half * k * x)
    spent = {}
    for name, d in clock.log:
        spent[name] = spent.get(name, 0.0) + d
    return x * spent["react"] + clock.t * spent["diffuse"]


@dataclass(frozen=True)
class Lens:
    r1: float
    r2: float
    n: float = 1.5
    d: float = 0.1

    def __post_init__(self):
        if self.n <= 1:
            raise ValueError("index must exceed 1")

    @cached_property
    def power(self):
        return (self.n - 1) * (1 / self.r1 - 1 / self.r2 + (self.n - 1) * self.d / (self.n * self.r1 * self.r2))

    @property
    def abcd(self):
        R1 = np.array([[1.0, 0.0], [-(self.n - 1) / (self.n * self.r1), 1 / self.n]])
        T = np.array([[1.0, self.d], [0.0, 1.0]])
        R2 = np.array([[1.0, 0.0], [(self.n - 1) / self.r2, self.n]])
        return R2 @ T @ R1


@program(args=lambda: (np.array([1.2, -1.5, 0.9]), 0.3), wrt=("curv", "gap"))
def lens_system(curv, gap):
    first = Lens(curv[0], curv[1])
    second = replace(first, r1=curv[2], n=1.7)
    try:
        bad = replace(second, n=0.9)
        total = bad.power
    except ValueError:
        total = first.power + second.power - gap * first.power * second.power
    system = second.abcd @ np.array([[1.0, gap], [0.0, 1.0]]) @ first.abcd
    return total - system[1, 0] + np.linalg.det(system)


@dataclass(frozen=True)
class Vec:
    x: float
    y: float
    z: float

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y, self.z - o.z)

    def __mul__(self, s):
        return Vec(self.x * s, self.y * s, self.z * s)

    __rmul__ = __mul__

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z

    @property
    def norm(self):
        return math.sqrt(self @ self)

    @classmethod
    def zero(cls):
        return cls(0.0, 0.0, 0.0)

    def unit(self):
        return self * (1 / self.norm)


class Shape:
    def __init__(self, albedo):
        self.albedo = albedo


class Sphere(Shape):
    def __init__(self, c, r, albedo):
        super().__init__(albedo)
        self.c, self.r = c, r

    def hit(self, o, d):
        oc = o - self.c
        b = oc @ d
        disc = b * b - (oc @ oc - self.r**2)
        if disc < 0:
            return None
        t = -b - math.sqrt(disc)
        return t if t > 1e-6 else None

    def normal(self, p):
        return (p - self.c) * (1 / self.r)


class Floor(Shape):
    def __init__(self, h, albedo):
        super().__init__(albedo)
        self.h = h

    def hit(self, o, d):
        if abs(d.y) < 1e-9:
            return None
        t = (self.h - o.y) / d.y
        return t if t > 1e-6 else None

    def normal(self, p):
        return Vec(0.0, 1.0, 0.0)


@program(
    args=lambda: (np.array([0.1, 0.2, 3.0]), 0.9, np.array([0.6, 0.9, -0.5]), 0.7),
    wrt=("centre", "radius", "light", "albedo"),
)
def tiny_ray_tracer(centre, radius, light, albedo):
    scene = [Sphere(Vec(*centre), radius, albedo), Floor(-1.0, 0.4), Sphere(Vec(1.0, 0.5, 4.0), 0.7, 0.9)]
    L = Vec(*light).unit()
    total = 0.0
    for i in range(4):
        for j in range(4):
            d = Vec((i - 1.5) / 3 + 0.01, (j - 1.5) / 3 - 0.02, 1.0).unit()
            o = Vec.zero()
            weight = 1.0
            for bounce in range(2):
                best_t, best = math.inf, None
                for shape in scene:
                    t = shape.hit(o, d)
                    if t is not None and t < best_t:
                        best_t, best = t, shape
                if best is None:
                    total += weight * 0.1
                    break
                p = o + d * best_t
                n = best.normal(p)
                shade = n @ L
                total += weight * best.albedo * (shade if shade > 0 else 0.1 * math.exp(shade))
                weight *= 0.5 * best.albedo
                d = d - 2 * (d @ n) * n
                o = p
    return total / 16


class Mixin:
    def describe(self):
        return f"{type(self).__name__}({self.size()})"

    def total(self):
        return sum(self.parts())


class Base:
    count = 0

    def __init__(self, a):
        self.a = a

    def size(self):
        return 2


class Child(Mixin, Base):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b

    def parts(self):
        yield self.a
        yield self.b * self.size()

    def __add__(self, o):
        return Child(self.a + o.a, self.b + o.b)

    def __iadd__(self, o):
        self.a += o.a
        return self

    def __neg__(self):
        return Child(-self.a, -self.b)

    def __abs__(self):
        return math.hypot(self.a, self.b)

    def __getattr__(self, name):
        if name.startswith("twice_"):
            return 2 * getattr(self, name[6:])
        raise AttributeError(name)


@program(args=lambda: (0.4, 1.3), wrt=("a", "b"))
def mixins_and_getattr(a, b):
    c = Child(a, b)
    d = c + (-Child(b, a))
    d += c
    return c.total() + abs(d) * len(c.describe()) + c.twice_a * d.twice_b


@program(
    args=lambda: (np.array([0.3, 0.6, 0.1]), np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]]), "HHTTH"),
    wrt=("p", "T"),
)
def string_hmm(p, T, observed):
    emit = {"H": np.array([0.5, 0.8, 0.2]), "T": np.array([0.5, 0.2, 0.8])}
    alpha = p * emit[observed[0]]
    logp = 0.0
    for ch in observed[1:]:
        s = alpha.sum()
        logp += np.log(s)
        alpha = (alpha / s) @ T * emit[ch]
    runs = [(k, len(list(g))) for k, g in itertools.groupby(observed)]
    return logp + np.log(alpha.sum()) + 0.01 * max(n for _, n in runs) + 0.1 * observed.count("H") * p[0]


@program(args=lambda: (np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, -1.0])), wrt=("flat", "x"))
def named_parameters(flat, x):
    names = [f"layer{i}/{kind}" for i in range(2) for kind in ("w", "b")]
    params = dict(zip(names, flat))
    frozen = {k: v for k, v in params.items() if k.endswith("/b")}
    params = {**params, **{k: 2 * v for k, v in frozen.items()}, "scale": 1.5}
    params.update(scale=params["scale"] * params["layer0/w"])
    h = x
    for i in range(2):
        h = np.tanh(params[f"layer{i}/w"] * h + params[f"layer{i}/b"])
    decay = sum(v**2 for k, v in params.items() if k.startswith("layer") and "w" in k.split("/"))
    return params.pop("scale") * h.sum() + decay + len(params)


@program(args=lambda: (np.array([0.3, 0.5, 0.2]), np.array([1, 2, 2]), 5), wrt=("p",))
def memo_partition(p, cost, budget):
    @functools.lru_cache(None)
    def value(i, left):
        if i == len(p):
            return 0.0
        skip = value(i + 1, left)
        if cost[i] > left:
            return skip
        take = p[i] * (1 + value(i + 1, left - cost[i]))
        return math.log(math.exp(3 * skip) + math.exp(3 * take)) / 3

    return value(0, budget)


class StepRejected(Exception):
    def __init__(self, err, h):
        super().__init__(f"err={err}")
        self.err = err
        self.h = h


@program(args=lambda: (1.2, 3.0, 1e-3), wrt=("y", "lam"))
def stepper_with_exceptions(y, lam, tol):
    t, h, rejected = 0.0, 0.4, 0

    def attempt(t, y, h):
        k1 = -lam * (y - math.cos(t))
        k2 = -lam * (y + h * k1 - math.cos(t + h))
        err = abs(h / 2 * (k2 - k1))
        if err > tol:
            raise StepRejected(err, h)
        return y + h / 2 * (k1 + k2), err

    while t < 0.5:
        try:
            y, err = attempt(t, y, h)
        except StepRejected as e:
            h = e.h * max(0.2, 0.9 * math.sqrt(tol / e.err))
            rejected += 1
            continue
        else:
            t += h
        finally:
            h = min(h, 0.5 - t) if t < 0.5 else h
        h = min(h * 1.5, 0.5 - t) if t < 0.5 else h
    return y + 0.01 * rejected


@program(args=lambda: (np.array([1.0, 0.5, -0.2]), 0.7), wrt=("w", "s"))
def exit_stack_and_suppress(w, s):
    log = []

    @contextlib.contextmanager
    def scale(v):
        log.append(v)
        yield v * 2
        log.pop()

    total = 0.0
    with scale(s) as a, scale(a * 3) as b:
        total += a * b * len(log)
    with contextlib.suppress(ZeroDivisionError):
        total += w[0] / (0 if len(log) else 1)
    try:
        with scale(w[1]) as c:
            total *= c
            if c < 10:
                raise ValueError
            total = 0
    except ValueError:
        total += 1.5 * w[2]
    return total + len(log)
