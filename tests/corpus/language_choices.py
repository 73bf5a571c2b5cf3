"""Things that are one of several at run time, objects in lists that grow, and the standard library's containers."""

import collections
import enum
import functools
import itertools
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from .registry import program

X = (0.1, 0.28, 0.46, 0.64, 0.82, 1.0)


def line():
    return (np.array(X),)


class Phase(enum.Enum):
    SOLID = 0
    LIQUID = 1
    GAS = 2


@program(args=line, wrt=("x",), tags=("language",))
def thermostat_with_text_states(x):
    """A state machine whose states are strings."""
    rate = {"low": 0.5, "high": 2.0, "off": 0.1}
    state, total = "low", 0.0
    for v in x:
        total += rate[state] * v * v
        if state == "low" and v > 0.4:
            state = "high"
        elif state == "high" and v > 0.8:
            state = "off"
    return total + (1.0 if state in ("off", "low") else x[0])


@program(args=line, wrt=("x",), tags=("language",))
def phases_of_an_enum(x):
    """Enum members told apart by `is` and `==`, in a while loop."""
    phase, energy = Phase.SOLID, 0.0
    while energy < 3.0:
        if phase is Phase.SOLID:
            energy += x[0]
            phase = Phase.LIQUID
        elif phase == Phase.LIQUID:
            energy += x[1] ** 2 + 0.1
            phase = Phase.GAS if x[1] > 0.2 else Phase.SOLID
        else:
            energy += x[2] * energy
            phase = Phase.SOLID
    return energy


@program(args=line, wrt=("x",), tags=("language",))
def text_or_none(x):
    """A label that may never be set."""
    label = None
    for v in x:
        if v > 0.5:
            label = "hot"
        elif v > 0.3:
            label = "mild"
    return x[0] if label is None else x[1] ** 2 if label == "hot" else x[2]


@program(args=line, wrt=("x",), tags=("language",))
def functions_chosen_by_branches(x):
    """NumPy's functions, lambdas and closures, chosen at run time."""
    offset = x * 2

    def scaled(t):
        return t * offset[0]

    def shifted(t):
        return t + offset[1]

    act, move = np.tanh, scaled
    for v in x:
        if v > 0.5:
            act, move = np.exp, shifted
        offset = offset * move(v)
        x = act(x) * 0.5
    table = [np.sin, np.cos, lambda t: t * x[0]]
    k = 0
    for v in offset:
        x = x + table[k](v)
        k = (k + 1 if v > 1.0 else k) % 3
    return np.sum(x)


@program(args=line, wrt=("x",), tags=("language",))
def tuples_matched_at_run_time(x):
    """`match` on tuples of different lengths, on text, and on bool(...)."""
    order = ("add", 2) if x[0] > 0 else ("scale", 3, 4)
    match order:
        case ("add", k):
            s = x[1] + k
        case ("scale", a, b):
            s = x[1] * a * b
    for v in x:
        match bool(v > 0.5):
            case True:
                s += v * v
            case False:
                s *= 1.5
        kind = "big" if v > 0.7 else "small"
        match kind:
            case "big":
                s *= v
            case "small":
                s += v
    return s


class Sphere:
    def __init__(self, r):
        self.r = r

    def hit(self, t):
        return self.r * t


class Plane:
    def __init__(self, h):
        self.h = h

    def hit(self, t):
        return self.h + t * t


@program(args=line, wrt=("x",), tags=("language",))
def nearest_of_unlike_objects(x):
    """Objects of different classes: the one that wins is only known at run time, and changed."""
    scene = [Sphere(x[0]), Plane(x[1]), Sphere(x[2])]
    best, nearest = None, 1e9
    for thing in scene:
        t = thing.hit(x[3])
        if t < nearest:
            nearest, best = t, thing
    current = scene[0]
    for v in x:
        nearest += current.hit(v)
        current = scene[1] if v > 0.3 and current is scene[0] else scene[0]
    return best.hit(x[4]) * nearest


@dataclass
class Body:
    m: float
    x: np.ndarray
    v: np.ndarray

    def kick(self, other, dt):
        d = other.x - self.x
        r2 = np.sum(d * d) + 0.1
        self.v = self.v + dt * other.m * d / r2**1.5
        other.v -= dt * self.m * d / r2**1.5

    def drift(self, dt):
        self.x += dt * self.v


@program(args=line, wrt=("x",), tags=("language",))
def bodies_in_a_list(x):
    """An n-body system of objects whose number is only known at run time."""
    bodies = [Body(m, p.copy(), np.zeros(2)) for m, p in zip(x[:3], x.reshape(3, 2))]
    for _ in range(2):
        for i, a in enumerate(bodies):
            for b in bodies[i + 1 :]:
                a.kick(b, 0.1)
        for b in bodies:
            b.drift(0.1)
    for a, b in itertools.combinations(bodies, 2):
        a.kick(b, 0.05)
    return sum(b.m * np.sum(b.v**2) + b.x[0] for b in bodies)


@program(args=line, wrt=("x",), tags=("language",))
def names_of_items(x):
    """Two names of one item of a list, items that win a comparison, and dicts as items."""
    cells = [Body(a, a * np.ones(2), np.zeros(2)) for a in x]
    p, q = cells[1], cells[-5]
    p.m = p.m * 3
    q.m = q.m * 2
    q.x = q.x * 2
    p.x[0] = x[2]
    for t in range(3):
        top = cells[0]
        for c in cells[1:]:
            if c.m < top.m * (1 + t):
                top = c
        top.m = top.m * 2.5
        low = cells[-1] if t % 2 == 0 else top
        low.m += x[t]
    counts = [{"v": a, "n": 0} for a in x]
    for k in range(len(counts)):
        c = counts[k]
        c["v"] *= 1.5
        if k > 0:
            c["v"] += counts[k - 1]["v"]
            counts[k - 1]["n"] += 1
    return sum(c.m**2 + c.x[0] for c in cells) + sum(c["v"] ** 2 * c["n"] for c in counts)


@program(args=line, wrt=("x",), tags=("language",))
def standard_containers(x):
    """`deque`, `defaultdict`, a local `namedtuple`, dicts from pairs."""
    window, total = collections.deque(maxlen=3), 0.0
    for v in x:
        window.append(v)
        total += sum(window) / len(window) * v
    queue = collections.deque([x[0], x[1]])
    queue.append(x[2])
    queue.appendleft(x[3])
    first, last = queue.popleft(), queue.pop()
    queue.rotate(1)
    groups = collections.defaultdict(list)
    for k in range(3):
        groups[k % 2].append(x[k] * 2)
    sums = collections.defaultdict(float)
    sums["a"] += x[0]
    sums["a"] += x[1]
    pair = collections.namedtuple("pair", "a b")(x[4], x[5])  # noqa: PYI024
    named = dict(zip(("rate", "decay"), x))  # noqa: B905
    return (
        total + first * last + queue[0] ** 2 + sum(groups[0]) * sum(groups[1]) + sums["a"] * pair.a * pair.b
        + named["rate"] * named["decay"]
    )  # fmt: skip


class Triple:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        yield self.x[0]
        yield self.x[1] * 2
        yield self.x[2]


@program(args=line, wrt=("x",), tags=("language",))
def endless_iterators_and_slices(x):
    """`count`, `takewhile`, unpacking of an iterable object, slices of growing lists, sorting by tuples."""
    s = 0.0
    for k, v in zip(itertools.count(2), x):  # noqa: B905
        s += k * v * v
    for k in itertools.count(1):
        if k > 3:
            break
        s *= x[k]
    for v in itertools.takewhile(lambda t: t < 0.5, x):
        s += v
    a, b, c = Triple(x)
    squares = [v * v for v in x]
    s += a * b * c + sum(squares[-2::-1]) * sum(squares[1:3]) + sum(squares[::-2])
    squares[1:] = [x[4], x[5]]
    rows = [[v, v * 2, v * 3] for v in x]
    rows[0][1:] = [x[4], x[5]]
    order = sorted(range(x.size), key=lambda i: (x[i] > 0.5, -x[i]))
    return s + sum(squares) + sum(p * q + r for p, q, r in rows) + sum(x[i] * k for k, i in enumerate(order))


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return 2 * f(*args, **kwargs)

    return wrapper


@doubled
def energy(x):
    return np.sum(x**2)


@program(args=line, wrt=("x",), tags=("language",))
def wrapped_and_vectorized(x):
    """A decorator with `functools.wraps`, `np.vectorize`, comparison of dataclasses."""
    larger = np.vectorize(lambda a, b: a * b if a > b else a + b)
    p, q = Body(x[0], 1.0, 2.0), Body(x[0] * 1.0, 1.0, 2.0)
    return energy(x) * x[0] + np.sum(larger(x, 0.5)) + (x[1] if p == q else x[2]) + (x[3] if p != q else x[4])


@np.vectorize
def limited(v, low=0.5, *, power=2):
    return v**power if v > low else low * v


@np.vectorize(otypes=[float], excluded=["q"])
def line_of(v, q):
    return v * q[0] + q[1]


class Heights:
    def __init__(self, scale):
        self.scale = scale
        self.of = np.vectorize(self.one)

    def one(self, v):
        return self.scale * v * v if v > 0 else 0.0


HEIGHTS = Heights(3.0)


@program(args=line, wrt=("x",), tags=("language",))
def vectorized_outside(x):
    """What `np.vectorize` has made of functions and methods outside, with names for some arguments, and some kept whole."""
    total = np.sum(limited(x) * x) + np.sum(limited(x, low=0.1 * x, power=3)) + limited(2.0) * x[0]
    return total + np.sum(line_of(x, q=[x[1], 2.0])) + np.sum(HEIGHTS.of(x)) + HEIGHTS.of(x[:, None]).shape[0]


@program(args=line, wrt=("x",), tags=("language",))
def chosen_by_a_text_of_pythons(x):
    """A text that Python finds while the program runs is looked for in dicts, lists and texts."""
    kind = scipy.linalg.blas.find_best_blas_type((x,))[0]
    scale = {"s": 2.0, "d": 3.0}
    total = np.sum(x**2) * scale[kind] * scale.get(kind, 5.0)
    if kind in scale and kind in ["c", "d"]:
        total += x[0] * x[1]
    return total if kind in "zd" else np.sum(x)


class Grade(enum.IntEnum):
    LOW = 1
    HIGH = 2

    def __add__(self, other):
        return other * 10.0**self.value

    def __call__(self, other):
        return other / self.value


@program(args=line, wrt=("x",), tags=("language",))
def members_with_operators_of_their_own(x):
    """A member of an enum of numbers is added as its class says, and called."""
    total = 0.0
    for grade in Grade:
        total += (grade + x[0]) * grade(x[1] ** 2) * grade
    return total


@program(args=lambda: (np.array([1.3, -0.4, 2.6, -2.1]),), wrt=("x",), tags=("language",))
def events_that_may_be_none(x):
    """What may be None is compared, looked for, and looked up: alone, in a tuple, as one of several texts or as a number."""
    after = {("rest", "grow"): 2.0, ("rest", "split"): 3.0}
    costs, with_none = {"grow": 0.5, "split": 1.5}, {"grow": 2.5, None: 4.0}
    total, missing = 0.0, 0
    for v in x:
        event, single, number = None, None, None
        if v > 2.0:
            event = "split"
        elif v > 0.0:
            event, single, number = "grow", "grow", 3
        try:
            total += after["rest", event] * v
        except KeyError:
            total += 10.0 * v
            missing += 1
        total += costs.get(event, 7.0) * v**2 + costs.get(single, 6.0) * v + {3: 5.0}.get(number, 8.0) * v**3
        total += with_none[single] * v
        if event == "grow":
            total += np.sin(v)
        if single in ("grow", "stay") and "grow" == single and (single, 1) == ("grow", 1):
            total += 2.0 * np.sin(v)
        if single != "grow":
            total += np.cos(v)
        if number == 3 or number in [4, 5]:
            total += 3.0 * np.cos(v)
        if single in costs:
            total *= 1.1
    return total + missing * x[0]
