"""Every way to run a corpus program, each checked against the plain function and its difference quotients.

A `Case` is one program seen along one line through its arguments; the functions `value`, `jvp`, `vjp`, `grad` and
`second` run it through diffjit and raise AssertionError where a number, a shape, a dtype, a structure or the state of
the caller's arrays is not what NumPy gives.
"""

import functools
import warnings
import zlib

import numpy as np

import diffjit as dj
from diffjit import tree
from tests.corpus.registry import load_all, rng

PROGRAMS = load_all()


def is_float(x):
    return isinstance(x, float | np.floating) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def leaves(value):
    return tree.flatten(value)[0]


def like(value, new):
    """The tree `value` with other leaves."""
    return tree.flatten(value)[1].unflatten(iter(new))


def shift(x, by):
    """A float leaf moved, in its own type and memory order."""
    if not isinstance(x, np.ndarray):
        return type(x)(x + by)
    moved = np.empty_like(x)
    moved[...] = x + by
    return moved


def zero(x):
    return np.zeros_like(x) if isinstance(x, np.ndarray) else type(x)(0)


def inner(a, b):
    """The inner product of two lists of leaves, over the floats of the second."""
    return sum(
        float(np.sum(np.asarray(x, float) * np.asarray(y, float))) for x, y in zip(a, b, strict=True) if is_float(y)
    )


def near(found, wanted, tolerance, what):
    """Leaf by leaf, to a relative tolerance of the largest entry."""
    __tracebackhide__ = True
    found, wanted = leaves(found), leaves(wanted)
    assert len(found) == len(wanted), f"{what}: {len(found)} numbers or arrays instead of {len(wanted)}"
    for x, y in zip(found, wanted, strict=True):
        assert np.shape(x) == np.shape(y), f"{what}: shape {np.shape(x)} instead of {np.shape(y)}"
        finite = np.abs(np.asarray(y))[np.isfinite(y)]
        scale = max(1.0, float(np.max(finite))) if finite.size else 1.0
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def same_structure(found, wanted, what):
    """The same classes at the same places, and leaves of the same dtypes and shapes."""
    __tracebackhide__ = True
    (mine, a), (theirs, b) = tree.flatten(found), tree.flatten(wanted)
    assert shape_of(a) == shape_of(b), what
    for x, y in zip(mine, theirs, strict=True):
        assert isinstance(x, np.ndarray) == isinstance(y, np.ndarray), f"{what}: {type(x)} instead of {type(y)}"
        assert np.asarray(x).dtype == np.asarray(y).dtype, f"{what}: {np.asarray(x).dtype} for {np.asarray(y).dtype}"
        assert np.shape(x) == np.shape(y), f"{what}: shape {np.shape(x)} for {np.shape(y)}"


def shape_of(structure):
    slots = [
        (s.cls, s.names, shape_of(s.inner)) if isinstance(s, tree.Record) else getattr(s, "value", "number")
        for s in structure.slots
    ]
    return structure.spec, slots


class Case:
    """One program with a random line through its differentiable arguments."""

    def __init__(self, name):
        self.program = p = PROGRAMS[name]
        self.single = "float32" in p.tags
        named = [w in p.kwargs for w in p.wrt]
        self.wrt = tuple(sorted(set(map(int, named)))) if p.kwargs else p.wrt_positions()
        noise = rng(zlib.crc32(name.encode()))
        # The line along which `test_corpus_itself` shows the program to be smooth has entries between 0.2 and 1, too.
        self.direction = [
            self.along(x, noise) if k in self.wrt else like(x, map(zero, leaves(x))) for k, x in enumerate(self.args())
        ]

    @staticmethod
    def along(value, noise):
        entries = []
        for x in leaves(value):
            d = noise.uniform(0.2, 1, np.shape(x)) * noise.choice([-1, 1], np.shape(x))
            entries.append(zero(x) if not is_float(x) else shift(zero(x), d))
        return like(value, entries)

    def args(self):
        """Fresh arguments: those of the program, or, where some go by keyword, a tuple and a dictionary."""
        if not self.program.kwargs:
            return list(self.program.args())
        named = {k: x.copy() if isinstance(x, np.ndarray) else x for k, x in self.program.kwargs.items()}
        return [tuple(self.program.args()), named]

    @functools.cached_property
    def function(self):
        """The program with positional arguments only."""
        f = self.program.function
        return (lambda args, kwargs: f(*args, **kwargs)) if self.program.kwargs else f

    def moved(self, h):
        """The arguments at distance h along the line."""
        args = self.args()
        for k in self.wrt:
            pairs = zip(leaves(args[k]), leaves(self.direction[k]), strict=True)
            args[k] = like(args[k], [shift(x, h * d) if is_float(x) else x for x, d in pairs])
        return args

    @functools.cached_property
    def wanted(self):
        with quiet():
            return self.function(*self.args())

    @functools.cached_property
    def quotient(self):
        """The derivative of the float results along the line, by differences; None for other results."""

        def central(h):
            with quiet():
                ends = [leaves(self.function(*self.moved(s * h))) for s in (1, -1)]
            return [
                (np.asarray(a, float) - np.asarray(b, float)) / (2 * h) if is_float(a) else None
                for a, b in zip(*ends, strict=True)
            ]

        if self.single:
            return central(1e-2)
        if "rough" in self.program.tags:
            return central(1e-6)
        fine, coarse = central(1e-4), central(2e-4)
        return [None if a is None else (4 * a - b) / 3 for a, b in zip(fine, coarse, strict=True)]

    @property
    def tolerance(self):
        return 1e-2 if self.single else 1e-5

    @property
    def exact(self):
        return 1e-4 if self.single else 1e-9

    @property
    def scalar(self):
        return is_float(self.wanted) and np.ndim(self.wanted) == 0

    @property
    def twice(self):
        return self.scalar and self.program.second_order and not self.single

    def supports(self, mode):
        return self.twice if mode == "second" else self.scalar if mode == "grad" else True

    def unchanged(self, args, what):
        """A derivative does not change the caller's arrays."""
        for x, y in zip(leaves(args), leaves(self.args()), strict=True):
            np.testing.assert_array_equal(x, y, err_msg=f"{what} changed the caller's arguments")

    def seeds(self):
        """A random cotangent of the result."""
        noise = rng(zlib.crc32(self.program.name.encode()) + 1)
        return like(
            self.wanted,
            [shift(zero(x), noise.standard_normal(np.shape(x))) if is_float(x) else x for x in leaves(self.wanted)],
        )

    def shaped(self, cotangents, what):
        """Cotangents have the structure, dtype and shape of the arguments."""
        args = self.args()
        for k in self.wrt:
            same_structure(cotangents[k], args[k], f"{what} by argument {k}")

    def along_line(self, cotangents):
        """The derivative along the line that cotangents of the arguments give."""
        return sum(inner(leaves(cotangents[k]), leaves(self.direction[k])) for k in self.wrt)


@functools.cache
def case(name):
    return Case(name)


class quiet:  # noqa: N801 - used as a function
    """Without NumPy's warnings: a branch not taken may divide by zero."""

    def __enter__(self):
        self.kept = warnings.catch_warnings()
        self.kept.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *what):
        self.kept.__exit__(*what)


def value(c, backend):
    """`jit` gives the function's result and does to its arguments what the function does."""
    args, plain = c.args(), c.args()
    with quiet():
        found = dj.jit(c.function, backend=backend)(*args)
        wanted = c.function(*plain)
    same_structure(found, wanted, "result")
    near(found, wanted, c.exact, "value")
    near(args, plain, c.exact, "arguments after the call")


def jvp(c, backend):
    args = c.args()
    with quiet():
        found, tangent = dj.jvp(c.function, tuple(args), tuple(c.direction), backend=backend)
    c.unchanged(args, "jvp")
    near(found, c.wanted, c.exact, "value")
    for x, q in zip(leaves(tangent), c.quotient, strict=True):
        if q is not None:
            near(x, q, c.tolerance, "tangent against difference quotient")


def vjp(c, backend):
    args = c.args()
    with quiet():
        found, pullback = dj.vjp(c.function, *args, backend=backend)
    c.unchanged(args, "vjp")
    near(found, c.wanted, c.exact, "value")
    for x in leaves((args, found)):
        if isinstance(x, np.ndarray) and x.flags.writeable:
            x[...] = 99
    with quiet():
        first = pullback(c.seeds())
        kept = [np.array(x) for x in leaves(first)]
        again = pullback(c.seeds())
    for x, y, z in zip(leaves(first), leaves(again), kept, strict=True):
        np.testing.assert_array_equal(x, y, err_msg="the second call of the pullback")
        np.testing.assert_array_equal(x, z, err_msg="the second call of the pullback changed the first one's result")
    c.shaped(first, "cotangent")
    products = [(s, q) for s, q in zip(leaves(c.seeds()), c.quotient, strict=True) if q is not None]
    wanted = sum(float(np.sum(np.asarray(s, float) * q)) for s, q in products)
    scale = max(1.0, sum(float(np.sum(np.abs(np.asarray(s, float) * q))) for s, q in products))
    np.testing.assert_allclose(c.along_line(first), wanted, rtol=c.tolerance, atol=c.tolerance * scale)


def grad(c, backend):
    args = c.args()
    with quiet():
        found, gradients = dj.value_and_grad(c.function, argnums=c.wrt, backend=backend)(*args)
    c.unchanged(args, "value_and_grad")
    near(found, c.wanted, c.exact, "value")
    by = dict(zip(c.wrt, gradients, strict=True))
    c.shaped(by, "gradient")
    near(c.along_line(by), float(c.quotient[0]), c.tolerance, "gradient against difference quotient")


def second(c, backend):
    """The gradient; forward over reverse and reverse over reverse against its differences, and against each other."""
    gradient = dj.grad(c.function, argnums=c.wrt, backend=backend)
    with quiet():
        by = dict(zip(c.wrt, gradient(*c.args()), strict=True))
    c.shaped(by, "gradient")
    near(c.along_line(by), float(c.quotient[0]), c.tolerance, "gradient against difference quotient")
    args, along = c.args(), tuple(c.direction[k] for k in c.wrt)

    def floats(trees):
        return [
            x
            for t, k in zip(trees, c.wrt, strict=True)
            for x, y in zip(leaves(t), leaves(c.args()[k]), strict=True)
            if is_float(y)
        ]

    h = 1e-5
    with quiet():
        ahead, behind = floats(gradient(*c.moved(h))), floats(gradient(*c.moved(-h)))
        wanted = [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
        forward = floats(dj.jvp(gradient, tuple(args), tuple(c.direction), backend=backend)[1])
        by_arguments = dj.vjp(gradient, *args, backend=backend)[1](along)
    reverse = floats([by_arguments[k] for k in c.wrt])
    c.unchanged(args, "the second derivative")
    scale = max([1.0, *(float(np.max(np.abs(q))) for q in wanted if np.size(q))])
    for f, r, q in zip(forward, reverse, wanted, strict=True):
        np.testing.assert_allclose(f, q, rtol=1e-4, atol=1e-4 * scale, err_msg="forward over reverse")
        np.testing.assert_allclose(r, q, rtol=1e-4, atol=1e-4 * scale, err_msg="reverse over reverse")
        np.testing.assert_allclose(f, r, rtol=1e-8, atol=1e-8 * scale, err_msg="forward against reverse over reverse")


MODES = {"value": value, "jvp": jvp, "vjp": vjp, "grad": grad, "second": second}
