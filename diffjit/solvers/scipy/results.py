"""What SciPy's functions return, as far as diffjit can give it: a field that it cannot is refused by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from diffjit.solvers.aside.remarks import LEFT, SLOPED, said
from diffjit.solvers.ode_steps import state_at
from diffjit.solvers.vectors import rows


class Named:
    """What a function of SciPy's gives: its parts are attributes, and items by their names."""

    stands_for = scipy.optimize.OptimizeResult
    has_more = "a result of SciPy's"

    def get(self, name: str, default: Any = None) -> Any:
        """A part, or something else where there is none of the name."""
        return getattr(self, name, default)

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Told(Named):
    """The same with a text of SciPy's, by its number."""

    text: Any

    @property
    def message(self) -> Any:
        """Why it ended; searches that end in parts say so in a list."""
        return [said(text) for text in self.text] if isinstance(self.text, list) else said(self.text)


@dataclass
class RootResults(Named):
    """A root, as `scipy.optimize.root_scalar` gives it: where none is found, an error is raised."""

    stands_for = scipy.optimize.RootResults

    root: Any
    converged: bool = True
    flag: str = "converged"

    @property
    def iterations(self) -> int:
        """Not counted."""
        raise NotImplementedError("`iterations` of a root: the steps are not those of SciPy's code")

    @property
    def function_calls(self) -> int:
        """Not counted."""
        raise NotImplementedError("`function_calls` of a root: the steps are not those of SciPy's code")


class Untold:
    """In the place of what SciPy's code tells of its own steps."""

    stands_for = dict

    def __init__(self, what: str) -> None:
        self.what = what

    def __getitem__(self, name: str) -> Any:
        raise NotImplementedError(f"{self.what}: the steps are not those of SciPy's code")

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(f"{self.what}: the steps are not those of SciPy's code")

    def __eq__(self, other: object) -> bool:
        raise NotImplementedError(f"{self.what}: the steps are not those of SciPy's code")

    def __hash__(self) -> int:
        return 0


@dataclass
class Trajectory:
    """A solution of `solve_ivp` at any time, also outside of the integration, as SciPy's `OdeSolution` gives it."""

    steps: Any
    times: Any
    states: Any
    slopes: Any
    like: Any

    def __call__(self, t: Any) -> Any:
        """The state at a time, or in columns those at several."""
        ts = np.array([t]) if np.ndim(t) == 0 else np.asarray(t)
        found = rows(state_at(self.steps, self.times, self.states, self.slopes, ts * 1.0), (self.like,))[0]
        return found[0] if np.ndim(t) == 0 else np.transpose(found)


@dataclass
class OdeResult(Named):
    """What `scipy.integrate.solve_ivp` gives; where SciPy would give up, an error is raised."""

    t: Any
    y: Any
    status: Any
    sol: Any
    t_events: Any
    y_events: Any
    success: bool = True

    @property
    def message(self) -> str:
        """Why it ended."""
        if self.status == 1:
            return "A termination event occurred."
        return "The solver successfully reached the end of the integration interval."

    @property
    def nfev(self) -> int:
        """Not counted."""
        raise NotImplementedError("`nfev` of a solution: the steps are not those of SciPy's code")

    @property
    def njev(self) -> int:
        """Not counted."""
        raise NotImplementedError("`njev` of a solution: the steps are not those of SciPy's code")

    @property
    def nlu(self) -> int:
        """Not counted."""
        raise NotImplementedError("`nlu` of a solution: the steps are not those of SciPy's code")


@dataclass
class RootResult(Told):
    """What `scipy.optimize.root` gives."""

    x: Any
    fun: Any
    success: Any
    status: Any
    text: Any
    count: Any
    method: Any

    @property
    def nfev(self) -> Any:
        """How often the function was called; not all methods say so."""
        if self.method not in ("hybr", "lm", "df-sane"):
            raise AttributeError("nfev")
        return self.count


@dataclass
class Minimum(Told):
    """What `scipy.optimize.minimize` gives; `way`: by which method, `remarks`: what that says of its own steps."""

    x: Any
    fun: Any
    success: Any
    status: Any
    nit: Any
    nfev: Any
    text: Any
    way: Any
    remarks: Any

    @property
    def njev(self) -> Any:
        """How often the slope was asked for."""
        if self.way not in SLOPED or self.way == "tnc":
            raise AttributeError("njev")
        return self.remarks[0]

    @property
    def jac(self) -> Any:
        """The slope where SciPy's code has stopped."""
        if self.way == "trust-constr":
            raise NotImplementedError("`jac` by trust-constr: differentiate the constraints")
        if self.way not in SLOPED:
            raise AttributeError("jac")
        return LEFT(self.remarks[1], self.x)

    @property
    def hess_inv(self) -> Any:
        """What BFGS has found of the inverse of the matrix of second derivatives."""
        if self.way == "l-bfgs-b":
            raise NotImplementedError("`hess_inv` by L-BFGS-B: ask for it by BFGS")
        if self.way != "bfgs":
            raise AttributeError("hess_inv")
        return LEFT(self.remarks[2], self.x)


@dataclass
class ScalarMinimum(Told):
    """What `scipy.optimize.minimize_scalar` gives."""

    x: Any
    fun: Any
    success: Any
    nit: Any
    nfev: Any
    text: Any


@dataclass
class Fit(Told):
    """What `scipy.optimize.least_squares` and `lsq_linear` give."""

    x: Any
    cost: Any
    fun: Any
    jac: Any
    grad: Any
    active_mask: Any
    success: Any
    status: Any
    nfev: Any
    text: Any

    @property
    def optimality(self) -> Any:
        """The greatest slope of a number that is free to move."""
        return np.max(np.abs(np.where(self.active_mask == 0, self.grad, 0.0)))
