"""Users' classes of arrays: what they say of operators, functions and attributes; by NumPy and difference quotients."""

import copy
import itertools

import numpy as np
import pytest

import diffjit as dj
from diffjit.primitives.library.derived import arrays
from tests.first_order import bend_and_lanes, of_an_array


class Tagged(np.ndarray):
    """An attribute that goes on, as NumPy's documentation has it."""

    def __new__(cls, values, tag=2.0):
        made = np.asarray(values).view(cls)
        made.tag = tag
        return made

    def __array_finalize__(self, obj):
        self.tag = getattr(obj, "tag", -1.0)

    def scaled(self):
        return self * self.tag

    @property
    def first(self):
        return self[0]


class Rotation(np.ndarray):
    """A unit quaternion whose operators are those of rotations, on the memory of another array."""

    def __new__(cls, q):
        q = np.array(q, dtype=float)
        q /= np.linalg.norm(q)
        made = super().__new__(cls, q.shape, float, q)
        made.parts = q
        return made

    def __mul__(self, other):
        if not isinstance(other, Rotation):
            return self.parts * other
        (a, b, c, d), (e, f, g, h) = self.parts, other.parts
        return Rotation([
            a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e,
        ])  # fmt: skip

    def __rmul__(self, other):
        return 10.0 * self.parts * other

    @property
    def inverse(self):
        return self.parts * np.array([1.0, -1.0, -1.0, -1.0])


class Span:
    def __init__(self, ghosts, cells):
        self.ghosts, self.first, self.last, self.size = ghosts, ghosts, ghosts + cells - 1, cells + 2 * ghosts


class Field(np.ndarray):
    """Cells and ghosts around them, seen by methods."""

    def __new__(cls, values, span=None):
        made = np.asarray(values).view(cls)
        made.span = span
        return made

    def __array_finalize__(self, obj):
        if obj is None:
            return
        self.span = getattr(obj, "span", None)

    def __array_wrap__(self, made, context=None, return_scalar=False):
        return np.ndarray.__array_wrap__(self, made, context, return_scalar)

    def inside(self, shift=0):
        return np.asarray(self[self.span.first + shift : self.span.last + 1 + shift])

    def fill(self):
        self[: self.span.first] = self[self.span.last - 1 : self.span.last + 1]
        self[self.span.last + 1 :] = self[self.span.first : self.span.first + 2]


class Measured(np.ndarray):
    """Ufuncs ask it."""

    def __new__(cls, values, unit="m"):
        made = np.asarray(values, dtype=float).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, obj):
        self.unit = getattr(obj, "unit", "")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        units = [x.unit for x in inputs if isinstance(x, Measured)]
        found = getattr(ufunc, method)(*[np.asarray(x) for x in inputs], **kwargs)
        if ufunc is np.multiply:
            return Measured(found, "*".join(units))
        if ufunc is np.add and len(set(units)) > 1:
            raise ValueError("other units")
        return Measured(found, units[0]) if ufunc is np.add else found


class Doubled(np.ndarray):
    """Elements are not what they are."""

    def __getitem__(self, key):
        return np.ndarray.__getitem__(self, key) * 2.0

    def __setitem__(self, key, value):
        super().__setitem__(key, value + 1.0)


class Bag(np.ndarray):
    """All attributes go on."""

    def __new__(cls, values, **attributes):
        made = np.asarray(values).view(cls)
        made.__dict__.update(attributes)
        return made

    def __array_finalize__(self, obj):
        if obj is not None:
            self.__dict__.update(getattr(obj, "__dict__", {}))


class Odd(np.ndarray):
    """Operators and a reduction of its own."""

    def __rmul__(self, other):
        return np.asarray(self) * np.asarray(other) * 7.0

    def __add__(self, other):
        return np.asarray(super().__add__(other)) * 3.0

    def sum(self, *args, **kwargs):
        return np.asarray(self).sum(*args, **kwargs) * 11.0

    def __eq__(self, other):
        return bool(np.all(np.asarray(self) == np.asarray(other)))

    __hash__ = None


class Point(np.ndarray):
    """Made of numbers, with an `__init__` beside."""

    def __new__(cls, *places):
        made = super().__new__(cls, (3,))
        made[:] = 0.0
        for k, place in enumerate(places):
            made[k] = place
        return made

    def __init__(self, *places):
        self.given = len(places)

    @property
    def y(self):
        return self[1]

    @y.setter
    def y(self, value):
        self[1] = value

    @property
    def length(self):
        return np.sqrt((self**2).sum())

    def across(self, other):
        return Point(*np.cross(self, other))


SPAN = Span(2, 8)
FIELD = Field(np.arange(12.0) / 5, SPAN)


def advected(x):
    cells = Field(np.zeros(SPAN.size), SPAN)
    cells.inside()[:] = x
    for _ in range(4):
        cells.fill()
        cells.inside()[:] -= 0.05 * (cells.inside(1) ** 2 - cells.inside(-1) ** 2)
    waves = np.sin(cells) * 2.0
    return (waves.inside() ** 2).sum() + cells.max()


def measured(x):
    a = Measured(x)
    b = a * a
    c = b + b
    return np.asarray(c).sum() * len(c.unit) + np.sqrt(a + 1.0).sum()


def doubled(x):
    a = x.view(Doubled)
    total = 0.0
    for v in a:
        total += v * v
    a = a.copy()
    a[0] = 5.0 * x[1]
    return total + np.asarray(a[1:]).sum() + np.asarray(a)[0] + sum(a)


def bagged(x):
    a = Bag(x, scale=x[0], off=2.0)
    b = (a * 3)[1:].copy()
    c, d = copy.deepcopy(a), copy.copy(a)
    c[0] = 9.0
    return (b * b.scale).sum() + b.off + (a * c * d).sum()


def odd(x):
    a = x.view(Odd)
    return (np.ones(8) * a).sum() + (a + 1.0).sum() + np.sum(a) + (2.0 * a).sum() + (1.0 if a == x else 0.0) + a.sum()


def points(x):
    a, b = Point(x[0], x[1], x[2]), Point(1.0, x[3], 0.5)
    c = a.across(b)
    c.y = c.y * 2
    total = Point()
    for one in [a, b, c]:
        total += one * one.length
    return total.y + float(total.length) + c.given + total[2] * x[4]


def looped(x):
    a = Tagged(x, 1.5)
    for _ in range(5):
        a = a * 1.1 + np.sin(a)
        if a.sum() > 9:
            a = a - 0.1
    while a.max() > 1.0:
        a = a / 2
    return a.sum() * a.tag


def rows(x):
    a = Tagged(np.outer(x, x) + np.eye(8), 0.5)
    total = 0.0
    for row in a:
        total = total + (row * row.tag).sum()
    return total + np.linalg.inv(a)[0, 0] + np.trace(a) + (a @ x)[1] + a.T[0, 1] + np.linalg.det(a)


def unpacked(x):
    a = Tagged(x)
    b, c, *_ = a
    y = np.zeros(8)
    y[:] = a
    y[1:] += a[1:]
    return b * c + len(a) + max(a) + y[a > 0].sum() + np.array([a, a])[1, 2] ** 2 + np.where(a > 0.5, a, 0.0).sum()


def in_place(x):
    a = Tagged(np.zeros(8))
    a[:] = x
    b = a
    a *= 2
    a += b
    np.add(a, 1.0, out=a)
    return (b * b).sum() + (type(b[1:]) is Tagged) + isinstance(b, np.ndarray)


PROGRAMS = {
    "attributes": lambda x: (Tagged(x, 2.5) * 3 + 1)[1:].scaled().sum() + Tagged(x).first ** 2,
    "rotations": lambda x: (Rotation(x[:4]) * Rotation(x[4:])).inverse[1] + (2 * Rotation(x[:4])).sum()
    + (Rotation(x[4:]) * 3.0)[0] + np.linalg.norm(Rotation(x[2:6])) * x[0],
    "fields": advected, "ufuncs": measured, "elements": doubled, "all attributes": bagged, "operators": odd,
    "points": points, "loops": looped, "rows": rows, "unpacked": unpacked, "in place": in_place,
    "from outside": lambda x: (FIELD.inside() * x).sum() + (FIELD * 2).inside(1)[0] * x[1],
}  # fmt: skip
X = np.linspace(0.3, 0.9, 8) ** 2
Y = X[::-1] * 1.1


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    of_an_array(PROGRAMS[name], X, slopes=1e-6)


@pytest.mark.parametrize("name", ["rotations", "fields", "points", "loops"])
def test_compiled(name):
    of_an_array(PROGRAMS[name], X, "numba", slopes=1e-6)
    bend_and_lanes(PROGRAMS[name], X, Y, bends=1e-5)


# Which class each function gives, for NumPy to say

M, N = np.array([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]]), np.array([0.3, 1.2, 0.7])
OF_TWO = {
    np.isclose, np.allclose, np.array_equal, np.append, np.kron, np.cross, np.outer, np.convolve, np.dot, np.inner,
    np.vdot, np.linalg.solve,
}  # fmt: skip
OF_A_LIST = {np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack}
GIVEN = {
    np.where: lambda a, b: (a > 1, a, b), np.select: lambda a, b: ([a > 1], [b]),
    np.einsum: lambda a, b: ("i,i->i", a, b),
    np.interp: lambda a, b: (a, np.sort(b), a), np.take: lambda a, b: (a, [0, 2]), np.repeat: lambda a, b: (a, 2),
    np.tile: lambda a, b: (a, 2), np.roll: lambda a, b: (a, 1), np.full_like: lambda a, b: (a, 3.0),
    np.clip: lambda a, b: (a, 0.4, 1.0), np.reshape: lambda a, b: (a, (3, 1)), np.insert: lambda a, b: (a, 1, 2.0),
    np.delete: lambda a, b: (a, 1), np.split: lambda a, b: (a, 3), np.array_split: lambda a, b: (a, 2),
    np.expand_dims: lambda a, b: (a, 0), np.pad: lambda a, b: (a, 1), np.resize: lambda a, b: (a, 5),
    np.broadcast_to: lambda a, b: (a, (2, 3)), np.polyfit: lambda a, b: (a, b, 1),
    np.bincount: lambda a, b: (a.astype(int),), np.take_along_axis: lambda a, b: (a, np.array([1, 0]), 0),
    np.moveaxis: lambda a, b: (a.reshape(3, 1), 0, 1), np.rollaxis: lambda a, b: (a.reshape(3, 1), 1),
    np.swapaxes: lambda a, b: (a.reshape(3, 1), 0, 1), np.linalg.matrix_power: lambda a, b: (Tagged(M), 2),
    np.histogram: lambda a, b: (a, 3), np.lexsort: lambda a, b: ((a, b),), np.squeeze: lambda a, b: (a.reshape(1, 3),),
    np.searchsorted: lambda a, b: (np.sort(a), b), np.digitize: lambda a, b: (a, np.sort(b)),
    np.tensordot: lambda a, b: (a, b, 1), np.fft.fft2: lambda a, b: (Tagged(M),),
    np.fft.ifft2: lambda a, b: (Tagged(M),), np.average: lambda a, b: (Tagged(M), 0),
    np.median: lambda a, b: (Tagged(M), 0),
}  # fmt: skip
OF_A_MATRIX = {
    np.trace, np.diagonal, np.tril, np.triu, np.fliplr, np.rot90, np.cov, np.corrcoef, np.diag, np.linalg.inv,
    np.linalg.pinv, np.linalg.cholesky, np.linalg.qr, np.linalg.det, np.linalg.slogdet, np.linalg.norm,
    np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.cond, np.linalg.matrix_rank, np.linalg.eig, np.linalg.eigh,
    np.linalg.svd, np.flipud, np.transpose, np.ravel,
}  # fmt: skip
TABLES = {
    "like": arrays._LIKE, "arrays": arrays._ARRAYS, "called": set(arrays._CALLED),
    "numbers": arrays._NUMBERS, "vectors": arrays._VECTORS, "others": {np.diag, np.linalg.solve},
}  # fmt: skip
REDUCED = {np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.std, np.var, np.argmax, np.cumsum, np.diff}


def uses(function):
    """How a function is called with two objects, or one and an array."""
    name = function.__name__
    if function in OF_TWO:
        first = (lambda a: Tagged(M, 4.0)) if function is np.linalg.solve else (lambda a: a)
        yield name, lambda a, b: function(first(a), b)
        yield f"{name} beside an array", lambda a, b: function(first(a), np.asarray(b))
        yield f"{name} after an array", lambda a, b: function(np.asarray(first(a)), b)
    elif function in OF_A_LIST:
        yield name, lambda a, b: function([a, b])
        yield f"{name} beside an array", lambda a, b: function([np.asarray(a), b])
    elif function in GIVEN:
        yield name, lambda a, b: function(*GIVEN[function](a, b))
    elif function in OF_A_MATRIX:
        yield name, lambda a, b: function(Tagged(M + np.outer(a, a), 4.0))
    else:
        yield name, lambda a, b: function(a)
    if function in REDUCED:
        yield f"{name} along an axis", lambda a, b: function(Tagged(M, 4.0), axis=0)
        yield f"{name} of all", lambda a, b: function(Tagged(M, 4.0))


EXPRESSIONS = {
    "a + b": lambda a, b: a + b, "b + a": lambda a, b: b + a, "1 - a": lambda a, b: 1 - a,
    "array + a": lambda a, b: np.ones(3) + a, "a @ b": lambda a, b: a @ b, "M @ a": lambda a, b: M @ a,
    "a[0]": lambda a, b: a[0], "a[1:]": lambda a, b: a[1:], "a[..., 0]": lambda a, b: a[..., 0],
    "a[()]": lambda a, b: a[()],
    "mask": lambda a, b: a[a > 0.5], "list": lambda a, b: a[[0, 1]], "a[None]": lambda a, b: a[None],
    "sum": lambda a, b: a.sum(), "2 * sum": lambda a, b: 2 * a.sum(), "sin of sum": lambda a, b: np.sin(a.sum()),
    "sum[()]": lambda a, b: a.sum()[()], "dot": lambda a, b: a.dot(b), "array dot": lambda a, b: np.ones(3).dot(a),
    "max": lambda a, b: max(a), "astype": lambda a, b: a.astype(np.float32), "flatten": lambda a, b: a.flatten(),
    "T": lambda a, b: a.T, "real": lambda a, b: a.real, "imag": lambda a, b: a.imag,
    "conj": lambda a, b: (a * 1j).conj(),
    "view": lambda a, b: a.view(), "view as array": lambda a, b: a.view(np.ndarray),
    "type": lambda a, b: a.view(type=np.ndarray),
    "view as one": lambda a, b: np.asarray(a).view(Tagged), "asarray": lambda a, b: np.asarray(a),
    "asanyarray": lambda a, b: np.asanyarray(a), "array": lambda a, b: np.array(a),
    "subok": lambda a, b: np.array(a, subok=True),
    "copy": lambda a, b: a.copy(), "divmod": lambda a, b: divmod(a, 0.2), "modf": lambda a, b: np.modf(a),
    "hypot": np.hypot, "compared": lambda a, b: a > b, "not": lambda a, b: ~(a > b),
    "powers": lambda a, b: a**2, "power of": lambda a, b: 2**a, "abs": lambda a, b: abs(-a),
    "round": lambda a, b: a.round(),
    "item": lambda a, b: a.item(1), "keepdims": lambda a, b: Tagged(M, 4.0).mean(axis=0, keepdims=True),
    "out": lambda a, b: np.add(a, b, out=a.copy()), "reduce": lambda a, b: np.add.reduce(a),
    "accumulate": lambda a, b: np.add.accumulate(a), "outer": np.multiply.outer,
    "zeros": lambda a, b: np.zeros_like(a, subok=False), "ddof": lambda a, b: a.std(ddof=1),
    "rows": lambda a, b: list(Tagged(M, 4.0)),
    "memory": lambda a, b: np.ndarray.__new__(Tagged, (3,), float, np.asarray(b)),
}  # fmt: skip


def told(found):
    """Whether a result is an object, with which attribute, and its numbers."""
    if isinstance(found, (tuple, list)):
        return [told(v) for v in found]
    own = type(found) is Tagged
    return [1.0 if own else 0.0, found.tag if own else 0.0, np.asarray(found)]


def compared(named):
    """Every use in one program, beside NumPy's own."""
    names, functions = zip(*named, strict=True)

    def program(x, y):
        return [told(function(Tagged(x), Tagged(y, 5.0))) for function in functions]

    given = N, np.array([0.5, 0.1, 2.0])
    for name, want, found in zip(names, program(*given), dj.jit(program, backend="python")(*given), strict=True):
        for a, b in itertools.zip_longest(parts(want), parts(found)):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14, err_msg=name)
            assert np.shape(a) == np.shape(b), name


def parts(found):
    if isinstance(found, list):
        for one in found:
            yield from parts(one)
    else:
        yield found


@pytest.mark.parametrize("table", TABLES)
def test_classes_of_functions(table):
    compared([use for f in sorted(TABLES[table], key=lambda f: f.__name__) for use in uses(f)])


def test_classes_of_expressions():
    compared(list(EXPRESSIONS.items()))


# Arguments, results and refusals


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_arguments_have_their_operators(backend):
    q = Rotation([1.0, 2.0, 0.5, 0.3])
    assert dj.jit(lambda p: (2.0 * p)[1], backend=backend)(q) == (2.0 * q)[1]
    assert dj.grad(lambda s: (s * q).sum(), backend=backend)(2.0) == pytest.approx(10.0 * q.parts.sum(), rel=1e-14)


def test_gradients_are_of_the_class():
    a = Bag(N, scale=3.0, name="a")

    def f(m):
        return (m * m * m.scale).sum()

    for gradient in (dj.grad(f), dj.jit(dj.grad(f, backend="python")), lambda m: dj.vjp(f, m)[1](1.0)[0]):
        found = gradient(a)
        assert type(found) is Bag
        np.testing.assert_allclose(found, 2 * N * 3.0)
        assert found.scale == pytest.approx(np.sum(N * N))
        assert found.name == "a"
    second = dj.grad(lambda m: dj.jvp(f, (m,), (m,))[1])(a)
    np.testing.assert_allclose(second, 6 * N * 3.0)  # of a polynomial of degree three, along itself


def test_results_are_of_the_class():
    found = dj.jit(lambda x: Tagged(x, x[0]) * 2, backend="python")(N)
    assert type(found) is Tagged
    assert found.tag == N[0]
    np.testing.assert_array_equal(found, 2 * N)


def test_what_the_class_raises():
    with pytest.raises(ValueError, match="other units"):
        dj.grad(lambda x: np.asarray(Measured(x) + Measured(x, "s")).sum(), backend="python")(N)


REFUSED = {
    "reductions of those that are asked": (lambda x: Measured(x).sum(), "sum"),
    "functions that are not known": (lambda x: np.percentile(Tagged(x), 50), "percentile"),
    "lengths": (lambda x: setattr(Tagged(x), "shape", (3, 1)), "shape"),
    "other memory": (lambda x: np.ndarray.__new__(Tagged, (2,), float, x)[0], "part of a buffer"),
    "strides": (lambda x: Tagged(x).strides[0], "strides"),
    "results of methods": (lambda x: Tagged(x).sum(out=np.zeros(())), "out="),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    f, word = REFUSED[name]
    with pytest.raises(dj.UnsupportedSyntax, match=word):
        dj.jit(f, backend="python")(N)


def test_seeds_from_outside():
    """Tangents and cotangents that are objects of the outside are what their attributes are."""

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    seed = Pair(np.ones(3), 2.0)

    def pulled(x):
        return dj.vjp(lambda x: Pair(x * 2, (x * x).sum()), x)[1](seed)[0]

    def pushed(x):
        return dj.jvp(lambda p: (p.a * p.b).sum(), (Pair(x, x[0]),), (seed,))[1]

    for backend in ("python", "numba"):
        np.testing.assert_allclose(dj.jit(pulled, backend=backend)(N), 2 + 4 * N)
        assert dj.jit(pushed, backend=backend)(N) == pytest.approx(3 * N[0] + 2 * N.sum())
