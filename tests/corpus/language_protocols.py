"""Objects that Python and NumPy take for what their methods say: sequences, arrays, things to go through backwards."""

import numpy as np

from .registry import program

POINTS = np.array([0.3, 1.2, -0.5, 0.8])


class Track:
    """A sequence by its length and items."""

    def __init__(self, points):
        self.points = points

    def __len__(self):
        return len(self.points)

    def __getitem__(self, k):
        return self.points[k]


class Halves:
    """A sequence that tells its end by an error, and what it is backwards by a generator."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return 3

    def __getitem__(self, k):
        if k >= 3:
            raise IndexError(k)
        return self.values[k] * 0.5

    def __reversed__(self):
        for k in range(2, -1, -1):
            yield self.values[k] ** 2


@program(args=lambda: (POINTS.copy(),), wrt=("x",), tags=("language",))
def sequences_become_arrays(x):
    """Arrays of objects with length and items: of numbers, of pairs, of rows in a list that grows; NumPy's functions."""
    rows = []
    for v in x:
        if v > -1.0:
            rows.append(np.array([v, np.sin(v)]))
    track = np.array(Track([(v, v * v) for v in x]))
    length = np.sum(np.linalg.norm(np.diff(track, axis=0), axis=1))
    table = np.asarray(Track(rows))
    both = np.array([Halves(x), Halves(x * x)])
    return length + table[0] @ table[-1] + np.sum(both, axis=0)[1] * np.mean(Halves(x)) + np.dot(Track(x), x)


@program(args=lambda: (POINTS.copy(),), wrt=("x",), tags=("language",))
def objects_backwards(x):
    """`reversed` of objects, by their method or by length and items; in `enumerate`, `zip`, `next` and `sum`."""
    total = 0.0
    for k, v in enumerate(reversed(Track(x))):
        if v > 0.0:
            total = total * 0.5 + v * k
    for a, b in zip(reversed(Halves(x)), x, strict=False):
        total += a * b * total
    items = reversed(Track([v * v for v in x]))
    first, second = next(items), next(items)
    return total * first + second * sum(reversed(Halves(x)))


class Cell:
    """A cell whose scratch attributes go when it is built; what is asked of it may not be there."""

    volume = 2.0

    def __init__(self, x):
        self.scratch = x * x
        self.volume = self.scratch + x
        self.size = x

    @property
    def area(self):
        return self._area

    @area.setter
    def area(self, value):
        self._area = value

    @area.deleter
    def area(self):
        del self._area

    @property
    def depth(self):
        if self.size > 0.5:
            raise AttributeError("too large")
        return self.size


@program(args=lambda: (np.array([0.3, 0.8, 1.4]),), wrt=("x",), tags=("language", "objects"))
def attributes_that_are_deleted(x):
    """`del cell.scratch`: what the class has is there again, and `hasattr` asks properties."""
    total = 0.0
    for v in x:
        cell = Cell(v)
        total += cell.scratch * cell.volume
        del cell.scratch
        total += v if hasattr(cell, "area") else 3.0 * v
        cell.area = v * v
        total += cell.area if hasattr(cell, "area") else v
        del cell.area
        if v > 1.0:
            del cell.volume
        total += cell.volume * cell.size + getattr(cell, "depth", v**3) * getattr(cell, "area", 0.5)
    try:
        total += cell.scratch
    except AttributeError:
        total += 5.0 * x[0]
    return total


class Gas:
    """A model whose methods take different options."""

    def pressure(self, temperature, volume=2.0):
        return temperature / volume

    def energy(self, temperature):
        return 1.5 * temperature


def asked(method, **options):
    """Calls a method with those options that it has."""
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
    return method(**{name: options[name] for name in names}) * len(method.__defaults__ or (0, 0))


@program(args=lambda: (1.3, 0.7), wrt=("t", "v"), tags=("language", "objects"))
def methods_are_asked_for_their_options(t, v):
    """`__code__` and `__defaults__` of a method are those of its function."""
    gas = Gas()
    return asked(gas.pressure, temperature=t, volume=v, mass=1.0) + asked(gas.energy, temperature=t, volume=v)


class Body:
    @property
    def density(self):
        return 2.0

    @property
    def colour(self):
        raise AttributeError("colour")


class Heavy(Body):
    def mass(self, x):
        return self.density * x**2


class Reported:
    """A mixin, which adds to what stands behind it where there is something."""

    def mass(self, x):
        behind = super().mass(x) if hasattr(super(), "mass") else x
        factor = getattr(super(), "density", 5.0) * getattr(super(), "colour", 3.0)
        return behind * factor + (np.sin(x) if hasattr(super(), "colour") else np.cos(x))


class Ball(Reported, Heavy):
    pass


class Shadow(Reported):
    pass


@program(args=lambda: (POINTS.copy(),), wrt=("x",), tags=("language",))
def mixins_that_ask_what_stands_behind_them(x):
    """`hasattr(super(), name)`: of methods, of properties that may raise, and where there is nothing."""
    return sum(Ball().mass(v) * Shadow().mass(v) for v in x[:3])
