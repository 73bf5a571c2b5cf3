"""The verbs over the corpus: each function runs one verb, or a pair of verbs, on a `modes.Case`.

Difference quotients along the case's line, and plain Python loops over lanes, say what is right.
"""

import numpy as np
import scipy.sparse

import diffjit as dj
from diffjit import DiffjitError
from tests.modes import inner, is_float, leaves, like, near, quiet, zero

# What a verb refuses for good: results that are no floats (DJ322) or have no array (DJ321), no lanes (DJ513).
REFUSED = {
    "jacobians": ("DJ322",),
    "vmapped": ("DJ321", "DJ513"),
    "mapped_gradient": ("DJ513", "DJ321"),
    "third": ("DJ322",),
    "hessians": ("DJ322",),
    "jacobian_of_gradient": ("DJ322",),
    "gradient_of_mapped": ("DJ513", "DJ321"),
    "mapped_linearize": ("DJ513", "DJ321"),
    "jacobian_of_mapped": ("DJ513", "DJ321"),
    "sparse_jacobians": ("DJ322",),
    "sparse_hessians": ("DJ322",),
}
# Rates that are 0 / 0 at a voltage that the program passes: both ways lose digits there, more with each order.
CANCELS = {"hodgkin_huxley": 1e-7}
LARGE = 20_000  # numbers in a matrix


def size(values):
    return sum(np.size(x) for x in values if is_float(x))


def inputs(c):
    """The number of inputs that the case differentiates by."""
    return sum(size(leaves(c.args()[k])) for k in c.wrt)


def contracted(c, matrices, result):
    """A Jacobian times the case's direction, for each float leaf of the result."""
    directions = [
        np.asarray(d, float) for k in c.wrt for x, d in zip(leaves(c.args()[k]), leaves(c.direction[k]), strict=True)
    ]
    flat = leaves(matrices)
    assert len(flat) == len(directions) * len(leaves(result))
    for n, out in enumerate(leaves(result)):
        row = flat[n * len(directions) : (n + 1) * len(directions)]
        total = np.zeros(np.shape(out))
        for matrix, d in zip(row, directions, strict=True):
            if np.ndim(matrix) == 0 and (np.ndim(out) or np.ndim(d)):
                continue  # the place of an integer argument
            assert np.shape(matrix) == np.shape(out) + np.shape(d)
            total = total + np.tensordot(np.asarray(matrix), d, np.ndim(d))
        yield total


def jacobians(c, backend):
    """Forward and reverse agree with each other, with `jacobian`, and with the difference quotient."""
    args = c.args()
    with quiet():
        found = {
            name: getattr(dj, name)(c.function, argnums=c.wrt, backend=backend)(*args)
            for name in ("jacfwd", "jacrev", "jacobian")
        }
    c.unchanged(args, "a Jacobian")
    for name, matrices in found.items():
        for total, q in zip(contracted(c, matrices, c.wanted), c.quotient, strict=True):
            near(total, q, c.tolerance, f"{name} against difference quotient")
    near(found["jacrev"], found["jacfwd"], c.exact, "jacrev against jacfwd")
    near(found["jacobian"], found["jacfwd"], c.exact, "jacobian against jacfwd")


def linearized(c, backend):
    """The tangent map is `jvp`, at every call, and its transpose is the pullback."""
    args = c.args()
    with quiet():
        value, tangent_map = dj.linearize(c.function, *args, backend=backend)
        wanted = dj.jvp(c.function, tuple(args), tuple(c.direction), backend=backend)[1]
        near(value, c.wanted, c.exact, "value")
        for x in leaves((args, value)):
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = 99
        for _ in range(2):
            found = tangent_map(*c.direction)
            pairs = zip(leaves(found), leaves(wanted), c.quotient, strict=True)
            for x, y, q in pairs:
                if q is not None:
                    near(x, y, c.exact, "linearize against jvp")
            for x in leaves(found):
                if isinstance(x, np.ndarray):
                    x[...] = 99


def lanes(c):
    """Three points of the case's line: stacked arguments, their axes, these by leaf, the arguments of each lane."""
    points = [c.moved(h) for h in (0.0, 1e-3, -1e-3)]
    stacked, axes, flags = [], [], []
    for k, arg in enumerate(c.args()):
        columns = list(zip(*(leaves(p[k]) for p in points), strict=True))
        flags.append([0 if isinstance(x[0], np.ndarray) or is_float(x[0]) else None for x in columns])
        rows = [np.ascontiguousarray(np.stack(x)) if f == 0 else x[0] for x, f in zip(columns, flags[-1], strict=True)]
        stacked.append(like(arg, rows))
        axes.append(like(arg, flags[-1]))
    one = [
        [
            like(a, [x if i is None else x[n].copy() if x[n].ndim else x[n] for x, i in zip(leaves(a), f, strict=True)])
            for a, f in zip(stacked, flags, strict=True)
        ]
        for n in range(3)
    ]
    return stacked, tuple(axes), flags, one


def lanes_of(c):
    """As `lanes`; None where nothing has lanes."""
    found = lanes(c)
    return found if any(0 in f for f in found[2]) else None


def copied(value):
    return like(value, [x.copy() if isinstance(x, np.ndarray) else x for x in leaves(value)])


def vmapped(c, backend):
    """Lane by lane what the function gives, to the last bit what it gives compiled the same way."""
    case = lanes_of(c)
    if case is None:
        return
    stacked, axes, _, one = case
    same = dj.jit(c.function, backend=backend)
    with quiet():
        found = dj.vmap(c.function, axes, backend=backend)(*stacked)
        alone = [
            same(*[like(a, [x.copy() if isinstance(x, np.ndarray) else x for x in leaves(a)]) for a in o]) for o in one
        ]
        plain = [c.function(*o) for o in one]
    for k, whole in enumerate(leaves(found)):
        for n in range(3):
            np.testing.assert_array_equal(whole[n], leaves(alone[n])[k], err_msg="vmap against the same code")
            near(whole[n], leaves(plain[n])[k], c.exact, "vmap against the Python loop")


def _gradients(c, one, backend):
    gradient = dj.grad(c.function, argnums=c.wrt, backend=backend)
    return [leaves(gradient(*o)) for o in one]


def mapped_gradient(c, backend):
    """Gradients of samples: `jit(vmap(grad(f)))`."""
    case = lanes_of(c)
    if case is None:
        return
    stacked, axes, _, one = case
    with quiet():
        found = leaves(dj.jit(dj.vmap(dj.grad(c.function, argnums=c.wrt), axes), backend=backend)(*stacked))
        wanted = _gradients(c, one, backend)
    for k, whole in enumerate(found):
        for n in range(3):
            if np.ndim(whole):
                near(whole[n], wanted[n][k], c.exact, "vmap of grad")


def gradient_of_mapped(c, backend):
    """`grad` of a sum over `vmap`: the gradient by each lane's own arguments is that lane's gradient."""
    case = lanes_of(c)
    if case is None:
        return
    stacked, axes, flags, one = case
    f = dj.vmap(c.function, axes)
    with quiet():
        found = dj.grad(lambda *a: np.sum(f(*a)), argnums=c.wrt, backend=backend)(*stacked)
        wanted = _gradients(c, one, backend)
    chosen = [f for k in c.wrt for f in flags[k]]
    for k, (whole, axis) in enumerate(zip(leaves(found), chosen, strict=True)):
        if axis == 0 and is_float(whole):
            for n in range(3):
                near(whole[n], wanted[n][k], c.exact, "grad of vmap")


def hessians(c, backend):
    """Symmetric, and times a vector what `hvp` gives."""
    args = c.args()
    with quiet():
        found = leaves(dj.hessian(c.function, argnums=c.wrt, backend=backend)(*args))
        product = dj.hvp(c.function, tuple(args), tuple(c.direction), argnums=c.wrt, backend=backend)
    c.unchanged(args, "the Hessian")
    points = [x for k in c.wrt for x in leaves(c.args()[k])]
    directions = [d for k in c.wrt for d in leaves(c.direction[k])]
    n = len(points)
    scale = max([1.0, *(float(np.max(np.abs(m))) for m in found if np.size(m))])
    for i, (x, p) in enumerate(zip(points, leaves(product), strict=True)):
        if not is_float(x):
            continue
        total = np.zeros(np.shape(x))
        for j, y in enumerate(points):
            if not is_float(y):
                continue
            block, other = np.asarray(found[i * n + j]), np.asarray(found[j * n + i])
            assert block.shape == np.shape(x) + np.shape(y)
            turned = np.moveaxis(other, range(np.ndim(y)), range(-np.ndim(y), 0)) if np.ndim(y) else other
            np.testing.assert_allclose(block, turned, rtol=1e-8, atol=1e-8 * scale, err_msg="the Hessian is symmetric")
            total = total + np.tensordot(block, directions[j], np.ndim(y))
        np.testing.assert_allclose(total, p, rtol=1e-8, atol=1e-8 * scale, err_msg="hessian against hvp")


def jacobian_of_gradient(c, backend):
    """`jacfwd(grad(f))` and `jacrev(grad(f))` are the Hessian."""
    with quiet():
        wanted = dj.hessian(c.function, argnums=c.wrt, backend=backend)(*c.args())
        for verb in (dj.jacfwd, dj.jacrev):
            found = verb(dj.grad(c.function, argnums=c.wrt), argnums=c.wrt, backend=backend)(*c.args())
            mine, theirs = leaves(found), leaves(wanted)
            for x, y in zip(mine, theirs, strict=True):
                if np.shape(x) == np.shape(y):  # else the place of an integer
                    near(x, y, 1e-8, f"{verb.__name__} of grad")


def third(c, backend):
    """The derivative of the Hessian along the line, forward and by differences."""
    f = dj.hessian(c.function, argnums=c.wrt, backend=backend)
    with quiet():
        tangent = dj.jvp(f, tuple(c.args()), tuple(c.direction), backend=backend)[1]
        near, far = [[leaves(f(*c.moved(s * h))) for s in (1, -1)] for h in (5e-4, 1e-3)]
    scale = max([1.0, *(float(np.max(np.abs(x))) for x in near[0] if np.size(x))])
    for t, a, b, far_a, far_b in zip(leaves(tangent), *near, *far, strict=True):
        if is_float(t):
            q = (4 * (np.asarray(a) - b) / 1e-3 - (np.asarray(far_a) - far_b) / 2e-3) / 3
            np.testing.assert_allclose(t, q, rtol=1e-3, atol=1e-4 * scale, err_msg="third derivative")


def linearized_gradient(c, backend):
    """`linearize(grad(f))` gives Hessian-vector products."""
    with quiet():
        gradient = dj.grad(c.function, argnums=c.wrt)
        found = dj.linearize(gradient, *c.args(), backend=backend)[1](*c.direction)
        wanted = dj.hvp(c.function, tuple(c.args()), tuple(c.direction), argnums=c.wrt, backend=backend)
    near(found, wanted, 1e-8, "linearize of grad")


def mapped_linearize(c, backend):
    """`vmap` of a function that linearizes inside."""
    case = lanes_of(c)
    if case is None:
        return
    stacked, axes, _, one = case
    zeros = [like(a, [x if is_float(x) else zero(x) for x in leaves(a)]) for a in one[0]]
    if any(not is_float(x) for a in zeros for x in leaves(a)):
        return

    def f(*a):
        return dj.linearize(c.function, *a)[1](*a)

    with quiet():
        found = leaves(dj.vmap(f, axes, backend=backend)(*stacked))
        wanted = [leaves(dj.jvp(c.function, tuple(o), tuple(o), backend=backend)[1]) for o in one]
    for k, whole in enumerate(found):
        for n in range(3):
            near(whole[n], wanted[n][k], c.exact, "linearize inside vmap")


def transposes(c, backend):
    """jvp and vjp are transposes of each other."""
    with quiet():
        tangent = dj.jvp(c.function, tuple(c.args()), tuple(c.direction), backend=backend)[1]
        bars = dj.vjp(c.function, *c.args(), backend=backend)[1](c.seeds())
    floats = [(s, t) for s, t, q in zip(leaves(c.seeds()), leaves(tangent), c.quotient, strict=True) if q is not None]
    left = inner(*zip(*floats, strict=True)) if floats else 0.0
    near(c.along_line(bars), left, c.exact * 10, "jvp and vjp")


def jacobian_of_mapped(c, backend):
    """Lanes do not mix: the Jacobian of `vmap` is block diagonal, and along the line the lanes' tangents."""
    case = lanes_of(c)
    if case is None:
        return
    stacked, axes, flags, one = case
    direction = []
    for a, f, d in zip(stacked, flags, c.direction, strict=True):
        pairs = zip(leaves(a), f, leaves(d), strict=True)
        direction.append(like(a, [np.stack([y] * 3) if i == 0 else zero(x) for x, i, y in pairs]))
    mapped = dj.vmap(c.function, axes)
    with quiet():
        found = leaves(dj.jvp(mapped, tuple(stacked), tuple(direction), backend=backend)[1])
        wanted = [leaves(dj.jvp(c.function, tuple(o), tuple(c.direction), backend=backend)[1]) for o in one]
    for k, whole in enumerate(found):
        for n in range(3):
            if c.quotient[k] is not None:
                near(whole[n], wanted[n][k], c.exact, "jvp of vmap")


def expanded(c, backend, order):
    """`jet` along the case's line, order by order, against `jvp` taken again and again."""
    args = c.args()
    paths = []
    for x, direction in zip(args, c.direction, strict=True):
        paths.append(like(x, [(d, *[zero(d)] * (order - 1)) for d in leaves(direction)]))
    with quiet():
        found, series = dj.jet(c.function, tuple(args), tuple(paths), backend=backend)
    c.unchanged(args, "jet")
    near(found, c.wanted, c.exact, "value")
    terms = leaves(series)
    assert len(terms) == order * len(leaves(c.wanted))
    n, tolerance = len(args), CANCELS.get(c.program.name, c.exact)

    def f(*a):
        return c.function(*a[:n])

    for m in range(order):
        f = along(f, n, backend)
        with quiet():
            wanted = leaves(f(*line(c)))
        for x, y, q in zip(terms[m::order], wanted, c.quotient, strict=True):
            if q is not None:
                finite = np.isfinite(y)
                near(np.where(finite, x, 0), np.where(finite, y, 0), tolerance * 10**m, f"jet and jvp, order {m + 1}")


def along(f, n, backend):
    """The derivative of f(*points, *directions, *zeros), n of each, by the points along the directions."""

    def tangent(*a):
        directions, zeros = a[n : 2 * n], a[2 * n :]
        return dj.jvp(f, a, (*directions, *zeros, *zeros), backend=backend)[1]

    return tangent


def line(c):
    """The arguments of such a function."""
    return *c.args(), *c.direction, *(like(d, map(zero, leaves(d))) for d in c.direction)


def series(c, backend):
    """Two orders of `jet`, and two applications of `jvp`."""
    expanded(c, backend, 2)


def longer_series(c, backend):
    """Three."""
    expanded(c, backend, 3)


def series_of_gradient(c, backend):
    """`jet` of a gradient gives Hessian-vector products, and how they change along the line."""
    args, direction, n = tuple(c.args()), tuple(c.direction), len(c.args())
    paths = tuple(like(x, [(d, zero(d)) for d in leaves(y)]) for x, y in zip(args, direction, strict=True))

    gradient = dj.grad(c.function, argnums=c.wrt)
    first = along(lambda *a: gradient(*a[:n]), n, backend)
    with quiet():
        terms = leaves(dj.jet(gradient, args, paths, backend=backend)[1])
        wanted = [leaves(f(*line(c))) for f in (first, along(first, n, backend))]
    points = [x for k in c.wrt for x in leaves(args[k])]
    for k, x in enumerate(points):
        if is_float(x):
            near(terms[2 * k], wanted[0][k], 1e-8, "jet of grad against jvp of grad")
            near(terms[2 * k + 1], wanted[1][k], 1e-7, "jet of grad against jvp of jvp of grad")


def blocks(sparse, dense):
    """Sparse matrices beside the dense ones, which have an axis for each axis of results and arguments."""
    if scipy.sparse.issparse(sparse):
        yield sparse.toarray(), np.reshape(dense, sparse.shape)
    elif isinstance(sparse, dict):
        for key in sparse:
            yield from blocks(sparse[key], dense[key])
    elif isinstance(sparse, tuple | list):
        for a, b in zip(sparse, dense, strict=True):
            yield from blocks(a, b)
    elif hasattr(sparse, "__dict__"):
        yield from blocks(vars(sparse), vars(dense))


def no_entry_is_missed(c, function, backend, found):
    """The pattern holds every entry that is not zero, and what is evaluated through its colours is the dense matrix."""
    with quiet():
        dense = dj.jacfwd(function, argnums=c.wrt, backend=backend)(*c.args())
        pattern = dj.sparsity(function, argnums=c.wrt)(*c.args())
    for may, is_ in blocks(pattern, dense):
        assert not np.any((is_ != 0) & ~may)
    for sparse, wanted in blocks(found, dense):
        finite = np.isfinite(wanted)
        near(np.where(finite, sparse, 0), np.where(finite, wanted, 0), c.exact * 10, "sparse against dense")


def sparse_jacobians(c, backend):
    """The sparse Jacobian is the dense one."""
    args = c.args()
    with quiet():
        found = dj.sparse_jacobian(c.function, argnums=c.wrt, backend=backend)(*args)
    c.unchanged(args, "a sparse Jacobian")
    no_entry_is_missed(c, c.function, backend, found)


def sparse_hessians(c, backend):
    """The sparse Hessian is the dense one."""
    with quiet():
        found = dj.sparse_hessian(c.function, argnums=c.wrt, backend=backend)(*c.args())
    no_entry_is_missed(c, dj.grad(c.function, c.wrt, backend=backend), backend, found)


VERBS = {
    f.__name__: f
    for f in (jacobians, linearized, vmapped, mapped_gradient, gradient_of_mapped, hessians, jacobian_of_gradient,
              third, linearized_gradient, mapped_linearize, transposes, jacobian_of_mapped,
              sparse_jacobians, sparse_hessians, series, longer_series, series_of_gradient)
}  # fmt: skip
SCALAR = ("mapped_gradient", "gradient_of_mapped")
TWICE = ("hessians", "jacobian_of_gradient", "third", "linearized_gradient", "sparse_hessians", "series_of_gradient")


def supports(c, verb):
    """Whether a verb applies to a program's result, and its matrix is small enough to be looked at."""
    if verb in TWICE:
        return c.twice and inputs(c) ** 2 < LARGE / (10 if verb == "third" else 1)
    if verb in ("jacobians", "sparse_jacobians"):
        return size(leaves(c.wanted)) * inputs(c) < LARGE and inputs(c) > 0
    return c.scalar or verb not in SCALAR


def run(c, verb, backend):
    """One verb; what it refuses for good it must refuse with the error that says so. True if it ran."""
    try:
        VERBS[verb](c, backend)
    except DiffjitError as error:
        if error.code not in REFUSED.get(verb, ()):
            raise
        return False
    return True
