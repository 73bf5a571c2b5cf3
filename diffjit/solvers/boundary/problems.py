"""`scipy.integrate.solve_bvp` by SciPy's name: SciPy's own code finds the mesh and the solution.

The nodes that SciPy has put between the given ones are where they are between these, so that an end of the interval may
move. The derivative is that of the collocation on this mesh.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.interpolate.pieces import PPoly
from diffjit.primitives.registry import implements
from diffjit.solvers.boundary.collocation import SETTLED, slopes
from diffjit.solvers.scipy.closed import closed
from diffjit.solvers.scipy.results import Named


@dataclass
class Boundary(Named):
    """What `scipy.integrate.solve_bvp` gives."""

    sol: Any
    p: Any
    x: Any
    y: Any
    yp: Any
    niter: Any
    status: Any
    success: Any

    @property
    def message(self) -> str:
        """Why it ended."""
        if self.status == 0:
            return "The algorithm converged to the desired accuracy."
        if self.status == 1:
            return "The maximum number of mesh nodes is exceeded."
        if self.status == 2:
            return "A singular Jacobian encountered when solving the collocation system."
        return "The solver was unable to satisfy boundary conditions tolerance on iteration 10."

    @property
    def rms_residuals(self) -> Any:
        """Not given."""
        raise NotImplementedError("`rms_residuals` of a solution: they say how SciPy chose its mesh; ask for `success`")


def found_boundary(fields, x, y, p, most, kit, given):
    """`scipy.integrate.solve_bvp` at work: the solution, with zeros to as many nodes as there may be."""
    slope, bound, with_p, by_state, by_ends = fields
    others, more, options = kit

    def called(field, floats, others):
        return lambda *points: np.asarray(field(tuple(np.array(q) for q in points), floats, others))

    def several(field, floats, others):
        return lambda *points: tuple(
            np.asarray(part) for part in field(tuple(np.array(q) for q in points), floats, others)
        )

    def derivative(field, owned):
        if field is None:
            return None
        return (several if with_p or field is by_ends else called)(field, *owned)

    found = scipy.integrate.solve_bvp(
        called(slope, given[0], others[0]), called(bound, given[1], others[1]), np.array(x), np.array(y),
        np.array(p) if with_p else None, fun_jac=derivative(by_state, more[0]), bc_jac=derivative(by_ends, more[1]),
        **options,
    )  # fmt: skip
    size = found.x.size
    nodes, states = np.zeros(most), np.zeros((y.shape[0], most))
    nodes[:size], states[:, :size] = found.x, found.y
    told = int(found.niter), int(found.status), bool(found.success)
    return nodes, states, found.p if with_p else np.zeros(0), size, told


FOUND = foreign(
    found_boundary,
    result=lambda fields, x, y, p, most, kit, given: (
        np.zeros(most), np.zeros((y.shape[0], most)), p, 0, (0, 0, True)
    ),
)  # fmt: skip


def between(nodes, x):
    """SciPy's nodes by where they are between the given ones, which may move."""
    piece = np.minimum(np.maximum(np.searchsorted(x, nodes, side="right") - 1, 0), x.shape[0] - 2)
    start, end = x[piece], x[piece + 1]
    part = stop_gradient((nodes - start) / (end - start))
    moved = start + part * (end - start)
    return moved + stop_gradient(nodes - moved)


def checked(x, y, p):
    """What SciPy says of a mesh and a guess."""
    if x.ndim != 1:
        raise ValueError("`x` must be 1 dimensional.")
    if not np.all(x[1:] > x[:-1]):
        raise ValueError("`x` must be strictly increasing.")
    if y.ndim != 2:
        raise ValueError("`y` must be 2 dimensional.")
    if y.shape[1] != x.shape[0]:
        raise ValueError(f"`y` is expected to have {x.shape[0]} columns, but actually has {y.shape[1]}.")
    if p.ndim != 1:
        raise ValueError("`p` must be 1 dimensional.")


@implements(scipy.integrate.solve_bvp)
def solve_bvp(
    fun, bc, x, y, p=None, S=None, fun_jac=None, bc_jac=None, tol=1e-3, max_nodes=1000, verbose=0, bc_tol=None
):
    """The solution of a boundary value problem."""
    if S is not None:
        raise NotImplementedError("scipy.integrate.solve_bvp(S=...): begin a little beside the singular point")
    x, y = np.asarray(x) * 1.0, np.asarray(y) * 1.0
    if np.iscomplexobj(y):
        raise NotImplementedError("scipy.integrate.solve_bvp of complex numbers: take real and imaginary parts")
    with_p = p is not None
    guess = np.asarray(p) * 1.0 if with_p else np.zeros(0)
    checked(x, y, guess)
    most = max(max_nodes, x.shape[0])
    many = np.flatnonzero(stop_gradient(x) == stop_gradient(x)).size  # a length that the types do not know
    nodes, states = np.zeros(many), np.zeros((y.shape[0], many))
    first = states[:, 0].copy()
    points = (nodes, states, guess) if with_p else (nodes, states)
    borders = (first, first, guess) if with_p else (first, first)
    slope, *of_slope = closed(fun, points, (), ("forward", "forward"))
    bound, *of_bound = closed(bc, borders, (), ("forward", "forward"))
    by_state, by_ends, more = None, None, (((), ()), ((), ()))
    if fun_jac is not None:
        by_state, *of_state = closed(fun_jac, points, (), ())
        more = (stop_gradient((of_state[0], of_state[1])), more[1])
    if bc_jac is not None:
        by_ends, *of_ends = closed(bc_jac, borders, (), ())
        more = (more[0], stop_gradient((of_ends[0], of_ends[1])))
    given, others = (of_slope[0], of_bound[0]), (of_slope[1], of_bound[1])
    options = {"tol": tol, "max_nodes": max_nodes, "verbose": verbose, "bc_tol": bc_tol}
    mesh, states, found_p, size, told = FOUND(
        (slope, bound, with_p, by_state, by_ends), *stop_gradient((x, y, guess)), most, (others, more, options),
        stop_gradient(given),
    )  # fmt: skip
    fields = slope, bound, with_p
    there = between(stop_gradient(mesh[:size].copy()), x)
    at, parameters = SETTLED(
        fields, others, there, stop_gradient(states[:, :size].copy()), stop_gradient(found_p), given
    )
    rates = slopes(fields, others, there, at, parameters, given)
    return Boundary(
        spline(there, at, rates), parameters if with_p else None, there, at, rates, told[0], told[1], told[2]
    )


def spline(x, y, rates):
    """The cubic polynomials of a solution."""
    h = x[1:] - x[:-1]
    slope = (y[:, 1:] - y[:, :-1]) / h
    t = (rates[:, :-1] + rates[:, 1:] - 2.0 * slope) / h
    c = np.stack((t / h, (slope - rates[:, :-1]) / h - t, rates[:, :-1], y[:, :-1]), axis=1)
    return PPoly(c, x, True, 1)
