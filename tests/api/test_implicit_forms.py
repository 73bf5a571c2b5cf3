"""Solvers of equations: unknowns that are trees and complex numbers, linear solvers, and what they refuse.

Against direct solvers, formulas, JAX and difference quotients.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import diffjit as dj

BOTH = pytest.mark.parametrize("backend", ["python", "numba"])
rng = np.random.default_rng(11)
CA = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4)) + 4.0 * np.eye(4)
CB = rng.standard_normal(4) + 1j * rng.standard_normal(4)


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def close(found, wanted, rtol=1e-8, atol=1e-10):
    """The same numbers."""
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def quotient(f, x, h=1e-5):
    """The derivative by a number, from central differences."""
    return (8.0 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12.0 * h)


def to_first_order(f, x, backend):
    """The first derivative by a number is a quotient of the value."""
    value, found = dj.jit(f), dj.grad(f, backend=backend)(x)
    close(found, quotient(value, x), 1e-7, 1e-8)
    close(dj.jvp(f, (x,), (1.0,), backend=backend)[1], found)


def to_second_order(f, x, backend, rtol=1e-7):
    """The second one is a quotient of the gradient."""
    slope = dj.grad(f)
    close(dj.grad(dj.grad(f), backend=backend)(x), quotient(slope, x), rtol, 1e-7)
    close(dj.jvp(dj.grad(f), (x,), (1.0,), backend=backend)[1], quotient(slope, x), rtol, 1e-7)


ORDERS = pytest.mark.parametrize("order", [to_first_order, to_second_order], ids=["first", "second"])


# Trees ----------------------------------------------------------------------------------------------------------------


@dataclass
class Plant:
    """Leaves and a stem, in balance."""

    stem: float
    leaves: np.ndarray


class Pair(NamedTuple):
    a: Any
    b: Any


def balance(plant, light):
    """What vanishes."""
    stem = plant.stem**3 + np.sum(plant.leaves) - light
    leaf = 2.0 * plant.leaves[0] - plant.stem
    return Plant(stem, np.array([leaf, plant.leaves[1] + np.tanh(plant.leaves[0]) - light * light]))


def grown(light):
    plant = dj.root(balance, Plant(1.0, np.zeros(2)), light)
    return plant.stem * plant.leaves[1] + plant.leaves[0]


def circle(k):
    """A fixed point in a dict with a matrix, and what it reads outside."""
    mix = np.array([[0.1, 0.2], [0.3, -0.1]])
    found = dj.fixed_point(
        lambda s: {"m": mix @ s["m"] * s["x"] + k, "x": 0.3 * np.sin(k * s["m"][0, 1])},
        {"x": 0.0, "m": np.ones((2, 2))},
    )
    return np.sum(found["m"] ** 2) * found["x"]


def bowl(k):
    """A minimum over a named tuple of a number and a vector."""
    x = dj.minimize_implicit(
        lambda p, k: np.sum((p.b - k * p.a) ** 2) + np.cosh(p.a - k) + np.sum(p.b**4), Pair(0.5, np.ones(3)), k
    )
    return x.a * np.sum(x.b)


def mapped(k):
    """A linear map of a tuple, and a right-hand side that varies."""
    u, v = dj.linear_solve(lambda w, k: (k * w[0] + np.sum(w[1]), 2.0 * w[1] - w[0] * k * k), (k, np.arange(3.0)), k)
    return u * np.sum(v**2)


@BOTH
@pytest.mark.parametrize("f", [grown, circle, bowl, mapped])
@ORDERS
def test_unknowns_that_are_trees(order, f, backend):
    order(f, 1.3, backend)
    close(dj.vmap(dj.grad(f))(np.array([1.1, 1.3]))[1], dj.grad(f)(1.3))


def test_the_form_of_the_start_comes_back():
    plant = dj.root(balance, Plant(1.0, np.zeros(2)), 1.3)
    assert isinstance(plant, Plant)
    close(balance(plant, 1.3).leaves, 0.0)
    matrix = dj.root(lambda x: x * x - 2.0, np.ones((2, 1, 3)))
    close(matrix, np.full((2, 1, 3), np.sqrt(2.0)))
    single = dj.root(lambda x: x * x - np.float32(2.0), np.ones(2, np.float32))
    assert single.dtype == np.float32
    close(single, np.sqrt(2.0), rtol=1e-6)


# Complex numbers ------------------------------------------------------------------------------------------------------


def cubic(c):
    """A complex root of a cubic equation."""
    return dj.root(lambda z: z**3 + c * z - 1.0, 1.0 + 1.0j)


@BOTH
def test_a_holomorphic_root(backend):
    c = 0.4 + 0.3j
    z = cubic(c)
    close(z**3 + c * z, 1.0)
    slope = -z / (3.0 * z * z + c)
    close(dj.grad(cubic, holomorphic=True, backend=backend)(c), slope)
    by_z, by_c = 1.0 / (3.0 * z * z + c), 1.0
    curved = -slope * by_z + z * by_z**2 * (6.0 * z * slope + by_c)
    close(dj.grad(dj.grad(cubic, holomorphic=True), holomorphic=True, backend=backend)(c), curved)
    close(dj.grad(lambda c: np.abs(cubic(c)) ** 2, backend=backend)(c), 2.0 * np.conj(z) * slope)


def tangled(a):
    """Not holomorphic: a conjugate in the equation, and a real unknown beside a complex one."""
    z, r = dj.root(
        lambda s: (s[0] * s[0] * np.conj(s[0]) + a * s[0] - (1.0 + 2.0j) * s[1], np.sum(np.abs(s[0])) + s[1] - 2.0 * a),
        (np.array([1.0 + 1.0j, 2.0]), 1.0),
    )
    return np.sum(z.real * z.imag) * r


def spiral(a):
    return np.abs(dj.fixed_point(lambda z: 0.4j * np.exp(1j * a * z) + a, 0.0j) - 1.0) ** 2


def valley(a):
    z = dj.minimize_implicit(lambda z: np.sum(np.abs(z - a * (1.0 + 2.0j)) ** 2 + np.abs(z) ** 4), np.ones(2) + 0.0j)
    return np.sum(z.imag * z.real)


@BOTH
@pytest.mark.parametrize("f", [tangled, spiral, valley])
@ORDERS
def test_equations_that_are_not_holomorphic(order, f, backend):
    order(f, 1.3, backend)


@BOTH
@pytest.mark.parametrize("solver", ["auto", "dense", "gmres", "cg"])
def test_complex_linear_systems_as_jax_has_them(solver, backend):
    jax = pytest.importorskip("jax")
    a = CA @ CA.conj().T if solver == "cg" else CA

    def ours(a, b):
        return np.sum(np.abs(dj.linear_solve(lambda v: a @ v, b, solver=solver)) ** 3)

    def theirs(a, b):
        return jax.numpy.sum(jax.numpy.abs(jax.numpy.linalg.solve(a, b)) ** 3)

    with jax.enable_x64(True):
        wanted = jax.tree.map(np.asarray, jax.grad(theirs, argnums=(0, 1))(a, CB))
    for found, right in zip(dj.grad(ours, argnums=(0, 1), backend=backend)(a, CB), wanted, strict=True):
        close(found, right, rtol=1e-7)


# Linear solvers -------------------------------------------------------------------------------------------------------


def diffusion(v, k):
    """A symmetric map."""
    w = (2.0 + k) * v
    w[1:] -= v[:-1]
    w[:-1] -= v[1:]
    return w


def wind(v, k):
    """A map that is not symmetric."""
    w = (2.0 + k) * v
    w[1:] -= 1.5 * v[:-1]
    w[:-1] -= 0.5 * v[1:]
    return w


def near(v, k):
    """Roughly an inverse."""
    return v / (2.0 + k)


@pytest.mark.parametrize(
    ("matvec", "solver", "M", "backend"),
    [
        (diffusion, "cg", None, "python"), (diffusion, "cg", near, "numba"), (diffusion, "gmres", None, "python"),
        (wind, "gmres", near, "numba"), (wind, "auto", None, "python"), (wind, "dense", None, "numba"),
    ],
    ids=["cg", "cg-M", "gmres-symmetric", "gmres-M", "auto", "dense"],
)  # fmt: skip
def test_linear_solvers(matvec, solver, M, backend):
    n = 130
    b = np.sin(0.1 * np.arange(n))

    def ours(k):
        return np.sum(dj.linear_solve(matvec, b * k, k, solver=solver, M=M) ** 3)

    def directly(k):
        columns = [matvec(e, k) for e in np.eye(n)]
        return np.sum(np.linalg.solve(np.stack(columns, axis=1), b * k) ** 3)

    slope = dj.grad(ours, backend=backend)
    close(dj.jit(ours, backend=backend)(0.3), directly(0.3), rtol=1e-10)
    close(slope(0.3), quotient(directly, 0.3), rtol=1e-7)
    if backend == "python":
        close(dj.grad(dj.grad(ours))(0.3), quotient(slope, 0.3), rtol=1e-7)


def front(u, k):
    return diffusion(u, k) + u**3 - 1.0


def energy(u, k):
    return 0.5 * np.sum(u * diffusion(u, k)) + 0.25 * np.sum(u**4) - np.sum(u)


def scaled(v, u, k):
    """A preconditioner that knows the point."""
    return v / (2.0 + k + 3.0 * u * u)


@pytest.mark.parametrize(
    "options",
    [{}, {"solver": "cg"}, {"M": scaled}, {"solver": "dense"}, {"solver": "cg", "M": scaled}],
    ids=["auto", "cg", "M", "dense", "cg-M"],
)
def test_large_unknowns(options):
    """A root of the gradient, and the minimum: by all linear solvers the same."""

    def root(k):
        return np.sum(dj.root(front, np.zeros(120), k, **options) ** 2)

    def minimum(k):
        return np.sum(dj.minimize_implicit(energy, np.zeros(120), k, **options) ** 2)

    plain = quotient(root, 0.5)
    for f in (root, minimum):
        slope = dj.grad(f)
        close(slope(0.5), plain, rtol=1e-7)
        close(dj.jvp(dj.grad(f), (0.5,), (1.0,))[1], quotient(slope, 0.5), rtol=1e-6)


def test_large_unknowns_compiled():
    def minimum(k):
        return np.sum(dj.minimize_implicit(energy, np.zeros(120), k, M=scaled) ** 2)

    close(dj.grad(minimum, backend="numba")(0.5), dj.grad(minimum)(0.5), rtol=1e-10)


def test_rows_and_columns_of_all_sizes():
    """Chemistry: units that differ by 20 powers of ten make no system singular."""
    scale = np.array([1e-20, 1.0, 1e15])

    def f(k):
        return dj.root(
            lambda x: np.array([x[0] - 1e-20 * k, x[1] - x[0] * 1e20, x[2] - 1e15 * x[1] * k]), scale, tol=1e-14
        )

    close(dj.jacfwd(f)(2.0) / scale, [1.0, 1.0, 4.0])


# What has no derivative -----------------------------------------------------------------------------------------------


def raises(f, text, backend):
    with pytest.raises(RuntimeError, match=text), np.errstate(all="ignore"):
        dj.value_and_grad(f, backend=backend)(1.0)


@BOTH
def test_systems_that_have_no_solution_raise(backend):
    def flat(v, a):
        return a * np.array([v[0] + v[1], v[0] + v[1]])

    for solver, text in (("auto", "singular"), ("dense", "singular"), ("gmres", "GMRES did not"), ("cg", "positive")):
        raises(lambda a, s=solver: np.sum(dj.linear_solve(flat, np.array([1.0, -0.5]), a, solver=s)), text, backend)
    raises(
        lambda a: np.sum(dj.linear_solve(lambda v: a * v * np.array([1.0, -1.0]), np.array([1.0, 2.0]), solver="cg")),
        "not positive definite", backend,
    )  # fmt: skip
    raises(
        lambda a: np.sum(dj.linear_solve(lambda v: a * v, np.array([1.0, 2.0]), solver="cg", M=lambda v: -v)),
        "preconditioner", backend,
    )  # fmt: skip
    turning = np.roll(np.eye(90), 1, axis=0)  # restarts after 40 vectors make no headway
    raises(
        lambda a: np.sum(dj.linear_solve(lambda v: a * (turning @ v), np.eye(90)[0], solver="gmres")), "GMRES", backend
    )


@BOTH
def test_points_that_are_no_solutions_raise(backend):
    def saddle(a):
        return np.sum(dj.minimize_implicit(lambda x: a * x[0] ** 2 - a * x[1] ** 2 + x[1] ** 4 * 0.0, np.zeros(2)))

    def unbounded(a):
        return dj.minimize_implicit(lambda x: np.exp(-a * x), 0.0)

    def creeps(a):
        return dj.fixed_point(lambda x: x + 1e-3 * a / (1.0 + x * x), 0.0)

    def double(a):
        return np.sum(dj.root(lambda x: np.array([x[0] + x[1] - a, 2.0 * (x[0] + x[1] - a)]), np.array([0.0, 0.5])))

    for f, text in ((saddle, "no minimum"), (unbounded, "did not"), (creeps, "did not"), (double, "singular")):
        raises(f, text, backend)


def test_forms_and_options_that_do_not_fit():
    for f, x0 in (
        (lambda x: x[0], (1.0, 2.0)), (lambda x: {"a": x["a"]}, {"a": 1.0, "b": 2.0}), (lambda x: 1j * x, 1.0),
        (lambda x: "no", 1.0), (lambda x: x, "no"),
    ):  # fmt: skip
        with pytest.raises(dj.UsageError, match="DJ519"):
            dj.root(f, x0)
    with pytest.raises(dj.UsageError, match="DJ519"):
        dj.minimize_implicit(lambda x: x * 1j, 1.0)
    with pytest.raises(ValueError, match="another shape"):
        dj.root(lambda x: np.sum(x, keepdims=True) - 3.0, np.ones(2))
    for options in ({"solver": "lu"}, {"solver": "dense", "M": near}):
        with pytest.raises(dj.UsageError, match="DJ530"):
            dj.root(front, np.zeros(3), 1.0, **options)


def test_programs_call_solvers_as_python_does():
    def front_of(a):
        return dj.root(f=lambda x: x * x - a, x0=1.0, M=None)

    assert dj.jit(front_of)(4.0) == front_of(4.0) == 2.0
    with pytest.raises(dj.UsageError, match=r"DJ530.*the argument `x0` is missing"):
        dj.jit(lambda a: dj.root(lambda x: x * x - a))(4.0)
    with pytest.raises(dj.UsageError, match=r"DJ530.*no option `f`"):
        dj.jit(lambda a: dj.root(lambda x: x * x - a, 1.0, f=front_of))(4.0)
