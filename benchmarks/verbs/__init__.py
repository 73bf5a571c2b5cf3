"""Benchmarks of verbs: Hessians, Jacobians, lanes, differential equations, beside JAX and SciPy.

`CASES` names the cases; each is made by a function of its module, so that a process loads its peer only.
"""

from importlib import import_module

from benchmarks.verbs.case import Case

CASES = {
    "lorenz_value": "ode", "lorenz_gradient": "ode", "lotka_value": "ode", "lotka_gradient": "ode",
    "vanderpol_value": "ode", "vanderpol_gradient": "ode", "logistic_hessian": "matrices", "hand_jacobian": "matrices",
    "bundle_jacobian": "bundle", "per_example_gradients": "learning", "hypergradient": "learning",
    "network_series": "series",
}  # fmt: skip


def load(name: str) -> Case:
    """The case of this name."""
    return import_module(f"benchmarks.verbs.{CASES[name]}").CASES[name]
