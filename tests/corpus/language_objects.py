"""Objects: plain classes, dataclasses and namedtuples that are made, changed and called inside a program."""

import math
from collections import OrderedDict, namedtuple
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .registry import program


class Particle:
    """A plain class with state."""

    drag = 0.1

    def __init__(self, x, v=0.0):
        self.x = x
        self.v = v

    def kick(self, force, dt):
        self.v += dt * (force - self.drag * self.v)
        return self

    def drift(self, dt):
        self.x = self.x + dt * self.v

    @property
    def energy(self):
        return 0.5 * self.v**2 + 0.5 * self.x**2


@program(args=lambda: (0.8, 0.3, 5), wrt=("x", "v"), tags=("language",))
def class_with_state(x, v, n):
    """An object made before a loop and changed by its methods in it."""
    p = Particle(x, v)
    for _ in range(n):
        p.kick(-math.sin(p.x), 0.2)
        p.drift(0.2)
    p.drag = 0.5 * x
    return p.kick(1.0, 0.1).energy + p.x


@program(args=lambda: (0.8, 0.3), wrt=("x", "v"), tags=("language",))
def objects_that_share(x, v):
    """Two names of one object, a third object that is a copy, and objects in a list."""
    p = Particle(x, v)
    q = p
    r = Particle(p.x, p.v)
    q.x = q.x * 2.0
    particles = [p, r, Particle(v)]
    for k, body in enumerate(particles):
        body.v = body.v + (k + 1) * particles[0].x
    p, r = r, p
    return p.energy + 3.0 * q.energy + r.x * particles[2].v


class Grid:
    """A class that holds arrays and writes into them."""

    def __init__(self, n, spacing):
        self.values = np.zeros(n)
        self.spacing = spacing
        self.flux = None

    def __len__(self):
        return self.values.shape[0]

    def __getitem__(self, i):
        return self.values[i] * self.spacing

    def __setitem__(self, i, value):
        self.values[i] = value / self.spacing

    def relax(self, rate):
        self.flux = (self.values[1:] - self.values[:-1]) / self.spacing
        self.values[1:-1] += rate * (self.flux[1:] - self.flux[:-1])


@program(args=lambda: (np.array([0.8, 0.3, 1.2, 0.5]), 0.7), wrt=("x", "h"), tags=("language", "memory"))
def class_with_arrays(x, h):
    """Attributes that are arrays, one of them None at first; item access through `__getitem__` and `__setitem__`."""
    grid = Grid(x.size, h)
    for i in range(len(grid)):
        grid[i] = x[i] ** 2
    alias = grid.values
    for _ in range(3):
        grid.relax(0.1)
    return np.sum(alias * alias) + grid[1] * grid[-1] + grid.flux[0]


class Dual:
    """A user's own number with operators."""

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __add__(self, other):
        if isinstance(other, Dual):
            return Dual(self.a + other.a, self.b + other.b)
        return Dual(self.a + other, self.b)

    __radd__ = __add__

    def __mul__(self, other):
        if not isinstance(other, Dual):
            return Dual(self.a * other, self.b * other)
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    def __rsub__(self, other):
        return Dual(other - self.a, -self.b)

    def __neg__(self):
        return Dual(-self.a, -self.b)

    def __lt__(self, other):
        return self.a < other

    def __iadd__(self, other):
        self.a = self.a + other
        return self

    def __abs__(self):
        return math.hypot(self.a, self.b)


@program(args=lambda: (0.8, 1.5), wrt=("x", "y"), tags=("language",))
def operators_of_a_class(x, y):
    """`+`, `*`, reflected forms, comparison, in-place `+=` and `abs` of a user's class of dual numbers."""
    d = Dual(x, 1.0)
    square = d * d * y + 1.0
    other = 2.0 - square + 3.0
    keep = other
    other += x
    if -other < 5.0:
        other = other * d
    return other.b * keep.a + abs(square) + sum([d, square], Dual(0.0, y)).b


class Layer:
    """Parameters with `__call__`, and a subclass that extends it."""

    def __init__(self, w, b):
        self.w, self.b = w, b

    def __call__(self, x):
        return self.activate(self.w * x + self.b)

    def activate(self, z):
        return np.tanh(z)

    @staticmethod
    def decay(w):
        return np.sum(w * w)

    @classmethod
    def scaled(cls, w, b, s):
        return cls(w * s, b * s)


class Smooth(Layer):
    """Overrides one method and calls the other by `super`."""

    def __init__(self, w, b, beta=2.0):
        super().__init__(w, b)
        self.beta = beta

    def activate(self, z):
        return np.log1p(np.exp(self.beta * z)) / self.beta + 0.1 * super().activate(z)


@program(args=lambda: (np.array([0.4, -0.7]), 0.3, np.array([1.0, 2.0])), wrt=("w", "b", "x"), tags=("language",))
def callable_objects_and_inheritance(w, b, x):
    """`__call__`, a subclass with `super()`, a static method and a class method."""
    layers = [Layer(w, b), Smooth(w * w, b), Smooth.scaled(w, b, 0.5)]
    for layer in layers:
        x = layer(x)
    return np.sum(x) + 0.1 * Layer.decay(w) + layers[1].beta * layers[2].b


@dataclass
class Orbit:
    """A dataclass with a default, a factory and a method that changes it."""

    position: np.ndarray
    velocity: np.ndarray
    mass: float = 1.0
    log: list = field(default_factory=list)

    def advance(self, dt):
        r = math.sqrt(self.position @ self.position)
        self.velocity = self.velocity - dt * self.mass * self.position / r**3
        self.position += dt * self.velocity
        self.log.append(r)


@program(args=lambda: (np.array([1.0, 0.2]), np.array([0.1, 0.9]), 1.2), wrt=("x", "v", "m"), tags=("language",))
def dataclass_with_methods(x, v, m):
    """A dataclass made inside, whose arrays are changed in place and whose list grows."""
    orbit = Orbit(x.copy(), v, mass=m)
    for _ in range(4):
        orbit.advance(0.1)
    heavier = replace(orbit, mass=orbit.mass * 2.0, log=[])
    heavier.advance(0.1)
    return sum(orbit.log) * orbit.position[0] + heavier.velocity[1] * orbit.mass


@dataclass(frozen=True)
class Medium:
    """A frozen dataclass with a nested one and a derived property."""

    speed: float
    density: float
    name: str = "water"

    @property
    def impedance(self):
        return self.speed * self.density


@dataclass
class Setup:
    """Holds a medium and arrays."""

    medium: Medium
    depths: np.ndarray
    order: int = 2


@program(
    args=lambda: (Setup(Medium(1.5, 0.9), np.array([0.3, 0.7])), 0.4),
    wrt=("setup", "a"),
    kwargs={},
    tags=("language",),
)
def dataclass_argument(setup, a):
    """A nested dataclass as a differentiated argument; strings and integers in it are not differentiated."""
    m = setup.medium
    loss = a * setup.depths if m.name == "water" else setup.depths
    return np.sum(np.exp(-loss) * m.impedance) ** setup.order / m.speed


Point = namedtuple("Point", "x y")


class State(NamedTuple):
    """A typed namedtuple with a default and a method."""

    point: Point
    energy: float = 0.0

    def moved(self, by):
        return self._replace(point=Point(self.point.x + by, self.point.y * by), energy=self.energy + by * by)


@program(args=lambda: (Point(0.4, 1.1), 0.3), wrt=("p", "s"), tags=("language",))
def namedtuples(p, s):
    """Namedtuples as argument, loop-carried value and result; by name, by index, unpacked, replaced."""
    state = State(p)
    for k in range(3):
        state = state.moved(s * (k + 1))
        if state.point.x > 1.5:
            state = State(Point(*reversed(state.point)), energy=state[1])
    (x, y), e = state
    return Point(x * e, y * p[0])


class Rate(namedtuple("Rate", "factor energy")):
    """A law with two constants, called with the temperature."""

    def __call__(self, t):
        return self.factor * np.exp(-self.energy / t)

    def scaled(self, by):
        return Rate(self.factor * by, energy=self.energy)


FORWARD = Rate(2.0, 0.9)
Shifted = namedtuple("Shifted", "law by unit")
Shifted.__new__.__defaults__ = (0.25, None)  # as programs set defaults that are older than `defaults=`


class Checked:
    """A class with sets of names, of which each object has its own share."""

    default_checks = {"positive", "integral", "balanced"}  # noqa: RUF012
    always = frozenset({"balanced"})

    def __init__(self, value, without=None):
        self.checks = self.default_checks ^ (without or set())
        self.value = value * len(self.checks | self.always) + len(self.checks - self.always)


@program(args=lambda: (1.3, 0.7, Rate(1.5, 0.4)), wrt=("t", "e", "given"), tags=("language",))
def called_namedtuples(t, e, given):
    """Namedtuples with a `__call__`: made here, found outside and as an argument; sets that a class has."""
    law = Rate(3.0, e)
    total = law(t) + FORWARD(t) * law.scaled(t)(2.0) + given(t + e)
    for shifted in (Shifted(law), Shifted(given, by=e)):
        total = total + shifted.law(t + shifted.by) if shifted.unit is None else total
    for f in (law, np.cos, given):
        total = total * f(0.8) if callable(f) else total
    return total + Checked(t).value * Checked(e, {"integral"}).value + callable((1, 2))


@program(args=lambda: (0.5, 3), wrt=("x",), tags=("language",))
def method_as_value(x, n):
    """A bound method and a class are values like any other."""

    class Integrator:
        def __init__(self, rhs):
            self.rhs = rhs
            self.calls = 0

        def step(self, y):
            self.calls += 1
            return y + 0.1 * self.calls * self.rhs(y)

    integrator = Integrator(lambda y: -y * x)
    step = integrator.step
    y = 1.0
    for _ in range(n):
        y = step(y)
    return y * integrator.calls


class Solid:
    """Sides and a scale."""

    corners = 4

    def __init__(self, *sides, scale=1.0):
        self.sides, self.scale = list(sides), scale

    @property
    def volume(self):
        return self.scale * np.prod(np.array(self.sides))

    def weight(self, density):
        return density * self.volume


class Hollow(Solid):
    """One with a hole: properties, methods and constants of the parent."""

    corners = 8

    @property
    def volume(self):
        return super().volume * np.pi - self.sides[0] ** 2 / super().corners

    def weight(self, density):
        return super().weight(density) + 0.1 * self.corners


@program(args=lambda: (np.array([0.7, 1.4, 1.3]), 2.0), wrt=("x", "density"), tags=("objects",))
def properties_of_the_parent(x, density):
    """`super().volume`, a property, in one and the same expression as a constant of the class."""
    table = {"a": [Solid(x[0], x[1]), Hollow(x[2], 2.0)], "b": [Hollow(x[0] * x[2], x[1] + 3.0, scale=x[1])]}
    total = 0.0
    for name, items in sorted(table.items()):
        for s in items:
            total += s.volume**2 if name == "a" else np.sqrt(1.0 + s.weight(density) ** 2)
    return total


class Spring:
    """Names with two underscores belong to the class that they stand in."""

    __stiffness = 3.0

    def __init__(self, length):
        self.__length = length

    def __force(self, x, __scale=1.0):
        return self.__stiffness * (x - self.__length) * __scale

    def energy(self, x):
        def __half(y):
            return 0.5 * y

        return __half(self.__force(x, 2.0) * (x - self.__length))


class _Stiff(Spring):
    def __init__(self, length):
        super().__init__(length)
        self.__length = 7.0

    def __force(self, x):
        return 100.0 * x * self.__length

    def both(self, x):
        return self.energy(x) + 0.01 * self.__force(x) * self._Spring__length


@program(args=lambda: (0.8, 0.3), wrt=("x", "length"), tags=("language",))
def private_names(x, length):
    """Attributes, methods, parameters and inner functions whose names Python expands by the class."""
    return Spring(length).energy(x) ** 2 + _Stiff(length).both(x)


class Term:
    """A node of an expression that knows what it was made of, and its own derivative."""

    def __init__(self, value, parts=()):
        self.value = value
        self.slope = 0.0
        self.parts = set(parts)
        self.hand_down = lambda: None

    def __add__(self, other):
        total = Term(self.value + other.value, (self, other))

        def hand_down():
            self.slope += total.slope
            other.slope += total.slope

        total.hand_down = hand_down
        return total

    def __mul__(self, other):
        product = Term(self.value * other.value, (self, other))

        def hand_down():
            self.slope += other.value * product.slope
            other.slope += self.value * product.slope

        product.hand_down = hand_down
        return product

    def differentiate(self):
        order, seen = [], set()

        def visit(term):
            if term not in seen:
                seen.add(term)
                for part in term.parts:
                    visit(part)
                order.append(term)

        visit(self)
        self.slope = 1.0
        for term in reversed(order):
            term.hand_down()


@program(args=lambda: (0.8, 1.3), wrt=("x", "y"), tags=("language", "sets"))
def sets_of_objects(x, y):
    """An expression that differentiates itself: sets of objects, gone through by a function that calls itself."""
    a, b = Term(x), Term(y)
    c = a * b + b
    d = c + c  # each sum stands twice in the next: eight ways lead from the last one to the first
    e = d + d
    c = (e + e) * a
    c.differentiate()
    return a.slope * b.slope + len(c.parts) + (a in c.parts) - (b in c.parts)


@program(args=lambda: (0.8, 1.3), wrt=("x", "y"), tags=("language", "dicts"))
def objects_as_keys(x, y):
    """A dict whose keys are objects, its deep copy, and tuples of objects as keys."""
    p, q = Particle(x), Particle(y)
    cost = {p: x * y, q: 3.0}
    cost[p] *= 2
    if q in cost and Particle(x) not in cost:
        cost[q] += y
    twin, costs = deepcopy((p, cost))
    costs[twin] *= 5.0
    springs = {(p, q): x + 2 * y}
    springs[p, q] *= springs[(p, q)]
    kept = {k: v for k, v in cost.items() if k is not q}
    return (
        cost[p] * cost.get(q) + sum(costs.values()) + springs[p, q] + kept.pop(p) + len(kept) + sum(k.x for k in cost)
    )


class Tabulated:
    """An object that says which array it is."""

    def __init__(self, values):
        self.values = np.atleast_1d(values)

    def __array__(self, dtype=None, copy=None):
        values = self.values if dtype is None else self.values.astype(dtype)
        return values.copy() if copy else values

    def __radd__(self, other):
        return 100.0 * np.sum(other)

    def __mul__(self, other):
        return Tabulated(self.values * other)


class Preferred(Tabulated):
    """NumPy's operators leave the work to it."""

    __array_priority__ = 5.0


class Refusing(Tabulated):
    """NumPy's operators leave the work to it."""

    __array_ufunc__ = None


@program(args=lambda: (np.array([0.8, 1.3]), 0.4), wrt=("x", "y"), tags=("language", "views"))
def objects_beside_arrays(x, y):
    """NumPy computes with the array that an object says it is, unless its class takes the operator over."""
    t = Tabulated(x * 1.0)
    s = np.sum((x + t) * np.exp(t)) + np.sum(np.float64(2.0) - t) + (x + Preferred(x)) + (x + Refusing(x))
    s = s + (y + t) * 0.01 + np.sum((t * y).values)
    view, copied = np.asarray(t), np.array(t)
    view[0] = 3.0 * y
    copied[1] = y * y
    x = x * 2.0
    x += t
    return s + np.sum(t.values**2) + np.sum(copied) + np.sum(x * np.asarray(t, dtype="float64"))


class Slope:
    """A number with a derivative of its own, as textbooks write it: NumPy's functions call its methods."""

    def __init__(self, value, slope):
        self.value = value
        self.slope = slope

    def __add__(self, other):
        return Slope(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        if not isinstance(other, Slope):
            other = Slope(other, 0.0)
        return Slope(self.value * other.value, self.value * other.slope + self.slope * other.value)

    __rmul__ = __mul__

    def __rtruediv__(self, other):
        return Slope(other / self.value, -other * self.slope / self.value**2)

    def __neg__(self):
        return Slope(-self.value, -self.slope)

    def __abs__(self):
        return Slope(np.abs(self.value), np.sign(self.value) * self.slope)

    def conjugate(self):
        return self

    def sin(self):
        return Slope(np.sin(self.value), np.cos(self.value) * self.slope)

    def exp(self):
        return Slope(np.exp(self.value), np.exp(self.value) * self.slope)

    def arctan2(self, other):
        squares = self.value**2 + other.value**2
        return Slope(
            np.arctan2(self.value, other.value), (other.value * self.slope - self.value * other.slope) / squares
        )

    @property
    def real(self):
        return self.value


@program(args=lambda: (0.7, np.array([0.8, 1.3])), wrt=("x", "w"), tags=("language",))
def functions_of_objects(x, w):
    """NumPy takes an object that is no array as an element: by the operator or the method of its function's name."""
    d = Slope(x, 1.0)
    y = np.sin(np.exp(d) * 0.5) + np.multiply(2.0, d) + np.square(np.add(d, d)) + np.reciprocal(np.abs(np.negative(d)))
    for k in range(len(w)):
        y = y * w[k] + np.arctan2(np.sin(d), np.conj(d))
    try:
        y = np.tanh(y)
    except TypeError:
        y = y * 2.0
    return y.slope * np.real(y)


class Ordered:
    """A number that is compared, rounded and turned into a float by its class."""

    def __init__(self, value, slope):
        self.value = value
        self.slope = slope

    def __mul__(self, other):
        return Ordered(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __le__(self, other):
        return self.value <= (other.value if isinstance(other, Ordered) else other)

    def __ge__(self, other):
        return self.value >= (other.value if isinstance(other, Ordered) else other)

    def __lt__(self, other):
        return self.value < (other.value if isinstance(other, Ordered) else other)

    def __floor__(self):
        return math.floor(self.value)

    def __float__(self):
        return float(self.value)


class Sum:
    """A node of a formula that is written down while it is computed, as programs for derivatives do it."""

    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right

    def __add__(self, other):
        return Sum(self.value + other.value, self, other)

    def __ge__(self, other):
        return self.value >= other.value

    def sin(self):
        return Sum(np.sin(self.value), self)

    def total(self):
        found = self.value
        if self.left is not None:
            found = found + self.left.total()
        if self.right is not None:
            found = found + self.right.total()
        return found


@program(args=lambda: (0.7, np.array([0.8, 1.3, 0.4])), wrt=("x", "w"), tags=("language",))
def orders_of_objects(x, w):
    """NumPy compares elements that are objects by their own operators, and rounds them as `math` does."""
    d = Ordered(x, 1.0)
    one = np.maximum(d, d * d)
    for k in range(len(w)):
        one = np.fmin(one * Ordered(w[k], 0.5), np.minimum(one, Ordered(w[k], 1.0) * d))
    y = one.slope * one.value + np.floor(Ordered(3.2 * x, 0.0)) * x + math.ceil(Ordered(2.7 * x, 0.0)) * x**2
    if np.less(d, 0.9) and not np.greater_equal(d, Ordered(x + 0.1, 0.0)):
        y = y * x
    return y


@program(args=lambda: (0.7, np.array([0.8, 1.3, 0.4])), wrt=("x", "w"), tags=("language",))
def functions_of_nodes(x, w):
    """The same of objects that hold others of their kind."""
    e = Sum(x)
    for k in range(len(w)):
        e = np.maximum(np.add(np.sin(e), Sum(w[k] * x)), e)
    return e.total()


class WaterState:
    """What a class gives until an object has its own: as properties of water, computed where they can be."""

    status = 0
    message = "Unknown"
    limit = 1.5
    given = {"T": 0.0, "P": 0.0, "x": None}  # noqa: RUF012 - as such classes are written
    enthalpy = None

    def __init__(self, **given):
        self.given = WaterState.given.copy()
        self(**given)

    def __call__(self, **given):
        self.given.update(given)
        if self.calculable:
            self.status = 1
            self.calculate()
            self.message = ""

    @property
    def calculable(self):
        self._by = ""
        if self.given["T"] and self.given["P"] > 1.0:
            self._by = "TP"
        return self._by

    def calculate(self):
        if self._by == "TP":
            self.enthalpy = self.given["T"] * self.given["P"] ** 2
            self.region = 1 if self.enthalpy < WaterState.limit else 2
        for name in ("u", "v"):
            setattr(self, name, self.enthalpy * 2.0)
        if self.enthalpy > 3.0:
            self.limit = self.enthalpy


@program(args=lambda: (0.7, np.array([0.3, 1.3, 2.4])), wrt=("x", "p"), tags=("language",))
def attributes_of_a_class_until_set(x, p):
    """What one path sets is read of the object there, and of its class elsewhere, also where that is None."""
    s = 0.0
    for k in range(len(p)):
        state = WaterState(T=x, P=p[k])
        if state.enthalpy is None:
            s = s + state.limit * x + state.status + (p[k] - x if hasattr(state, "message") else 0.0)
        else:
            s = s * state.limit + state.enthalpy * state.status + state.u * state.region
        s = s + x * (2.0 if state.message else 3.0)
    return s


class Parameters(OrderedDict):
    """A dict with attributes, whose keys are made in `__init__`."""

    def __init__(self, n, label="p"):
        super().__init__()
        self.label = label
        for k in range(n):
            self[f"{label}{k}"] = 0.0

    def total(self):
        return sum(v**2 for v in self.values()) + len(self)


class Bunch(dict):
    """A dict whose items are attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


class Memory(dict):
    """A dict that makes what it lacks."""

    def __missing__(self, key):
        self[key] = 2.0 * self.get("start", 1.0)
        return self[key]


@program(args=lambda: (0.8, 1.3), wrt=("x", "y"), tags=("language", "dicts"))
def classes_of_dicts(x, y):
    """Objects that are dicts as well: inherited methods, methods of their own, attributes, copies."""
    p, b, m = Parameters(2), Bunch(a=x, c=y), Memory(start=x)
    p["p0"], p["p1"] = x * y, y
    p.scale = 3.0
    b.d = b.a * 2 + b["c"]
    m["z"] += x * m["w"]
    s = sum(p[k] ** 2 for k in p) * p.scale + p.total() + len(vars(p))
    for k, v in b.items():
        s += v if k != "c" else 3 * v
    q, r = copy(m), deepcopy(m)
    q["z"] = 100.0 * x
    r["w"] *= 2
    r["new"] += 1
    e = dict(p)
    e["p0"] = 0.0
    dict.update(m, {"z": y}, k=x)
    merged = {**b, "k": y}

    def volume(a, c, d):
        return a * c * d

    s += sum(m.values()) + q["z"] + q["w"] + r["w"] + r["new"] + sum(e.values()) + merged["d"] + volume(**b)
    s += 2 * ("p1" in p) + 3 * (m == q) + 5 * (m == dict(m)) + isinstance(b, dict) + p.get("none", y) + bool(Memory())
    return s * b.pop("a") + len(b) + p.setdefault("p0", 7.0)
