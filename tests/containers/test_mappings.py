"""Classes that `collections.abc` completes: mappings, sequences; and what Python takes from an object with keys."""

import collections
import collections.abc

import pytest

from tests.one_number import as_python

BACKENDS = ["python", "numba"]


class Parameters(collections.abc.MutableMapping):
    """Parameters whose names are not sensitive to case."""

    def __init__(self, **given):
        self.store = dict(given)

    def __getitem__(self, name):
        return self.store[name.lower()]

    def __setitem__(self, name, value):
        self.store[name.lower()] = value

    def __delitem__(self, name):
        del self.store[name.lower()]

    def __iter__(self):
        return iter(self.store)

    def __len__(self):
        return len(self.store)


class Track(collections.abc.MutableSequence):
    def __init__(self, points):
        self.points = list(points)

    def __getitem__(self, k):
        return self.points[k]

    def __setitem__(self, k, point):
        self.points[k] = point

    def __delitem__(self, k):
        del self.points[k]

    def __len__(self):
        return len(self.points)

    def insert(self, k, point):
        self.points.insert(k, point)


class Sized(collections.UserDict):
    def area(self):
        return self["w"] * self["h"]


OUTSIDE = Parameters(ab=2.0, cd=3.0)


def changed(x):
    p = Parameters(k=x, m=2.0 * x)
    p["C"] = x**2
    p.update(d=3.0 * x)
    p.setdefault("e", 5.0)
    p.setdefault("K", 7.0)
    taken = p.pop("M") + p.pop("none", 4.0)
    return taken + sum(p.values()) * x + len(p) + p.get("none", 2.0) * x + ("K" in p)


def of_outside(x):
    items = [value * (k + 1) for k, (_, value) in enumerate(OUTSIDE.items())]
    return x**2 * sum(items) + OUTSIDE["AB"] + OUTSIDE.get("ef", x)


def equal(x):
    return x**2 if Parameters(k=x) == Parameters(k=x) else x


def missing(x):
    p = Parameters(k=x)
    try:
        return p["none"]
    except KeyError:
        return p["K"] ** 2


def sequence(x):
    track = Track([x, 2.0])
    track.append(x**2)
    track.extend([1.0, x])
    track[0] = 3.0 * x
    last = track.pop()
    track.reverse()
    track += [x]
    del track[0]
    return last * sum(track) + track[0] * 2.0 + len(track)


def from_user_dict(x):
    box = Sized(w=x, h=2.0 * x)
    box["w"] = box["w"] + 1.0
    return box.area() + sum(box.values())


def as_dict(x):
    def product(ab, cd):
        return ab * cd * x

    return x * sum(dict(OUTSIDE, ef=x).values()) * {**OUTSIDE}["ab"] + product(**OUTSIDE)


def chained(x):
    both = collections.ChainMap({"k": x}, {"k": 1.0, "m": 2.0 * x})
    return both["k"] * both["m"] + len(both)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [changed, of_outside, equal, missing, sequence, from_user_dict, as_dict, chained])
def test_as_python(f, backend):
    as_python(f, backend)
