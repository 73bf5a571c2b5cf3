"""Dense Hessians and Jacobians."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.row import rebind
from benchmarks.verbs.case import Case, Function


def posterior(w, x, y):
    """Minus the logarithm of the posterior density of a logistic regression."""
    z = x @ w
    return np.sum(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0.0) - y * z) + 0.5 * np.sum(w * w)


def regression(rows: int, columns: int) -> tuple[Any, ...]:
    """Made from a random generator with a fixed seed."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((rows, columns)) / np.sqrt(columns)
    return rng.standard_normal(columns), x, (rng.random(rows) < 0.5).astype(float)


def hessian_diffjit() -> Function:
    """As a user writes it."""
    import diffjit as dj

    return dj.jit(dj.hessian(posterior))


def hessian_jax() -> Function:
    """Forward over reverse."""
    import jax

    return jax.hessian(rebind(posterior, np=jax.numpy))


def hessian_scipy() -> Function:
    """Richardson's extrapolation of differences."""
    from scipy.differentiate import hessian

    def run(w, x, y):
        def many(ws):
            flat = ws.reshape(ws.shape[0], -1)
            return np.array([posterior(v, x, y) for v in flat.T]).reshape(ws.shape[1:])

        return hessian(many, w, maxiter=2, initial_step=1e-2).ddf

    return run


def rotation(a):
    """The matrix of three angles, one after another."""
    c, s = np.cos(a), np.sin(a)
    return np.array([
        [c[1] * c[2], s[0] * s[1] * c[2] - c[0] * s[2], c[0] * s[1] * c[2] + s[0] * s[2]],
        [c[1] * s[2], s[0] * s[1] * s[2] + c[0] * c[2], c[0] * s[1] * s[2] - s[0] * c[2]],
        [-s[1], s[0] * c[1], c[0] * c[1]],
    ])  # fmt: skip


def hand(p, points, weights, wanted):
    """A hand of five fingers, fitted to points: 6 numbers of the palm's pose, 4 angles for each finger.

    A point moves with the palm and with the three bones of each finger, by its weights (linear blend skinning).
    """
    palm, where = rotation(p[:3]), p[3:6]
    moved = weights[:, :1] * points
    for finger in range(5):
        spread, first, second, third = p[6 + 4 * finger], p[7 + 4 * finger], p[8 + 4 * finger], p[9 + 4 * finger]
        turn, joint = rotation(np.array([0.0, 0.0, spread])), np.array([0.4 * finger - 0.8, 1.0, 0.0])
        for bone in range(3):
            angle = first if bone == 0 else second if bone == 1 else third
            turn = turn @ rotation(np.array([angle, 0.0, 0.0]))
            k = 1 + 3 * finger + bone
            moved = moved + weights[:, k : k + 1] * ((points - joint) @ turn.T + joint)
            joint = joint + turn @ np.array([0.0, 0.5, 0.0])
    return (moved @ palm.T + where - wanted).ravel()


def pose(points: int) -> tuple[Any, ...]:
    """Made from a random generator with a fixed seed."""
    rng = np.random.default_rng(6)
    weights = rng.random((points, 16)) ** 4
    return (
        0.3 * rng.standard_normal(26), rng.standard_normal((points, 3)), weights / weights.sum(axis=1, keepdims=True),
        rng.standard_normal((points, 3)),
    )  # fmt: skip


def hand_diffjit() -> Function:
    """As a user writes it."""
    import diffjit as dj

    return dj.jit(dj.jacfwd(hand))


def hand_jax() -> Function:
    """All columns at once."""
    import jax

    jnp = jax.numpy
    return jax.jacfwd(rebind(hand, np=jnp, rotation=rebind(rotation, np=jnp)))


def hand_scipy() -> Function:
    """Forward differences."""
    from scipy.optimize import approx_fprime

    return lambda p, *rest: approx_fprime(p, hand, 1e-7, *rest)


CASES = {
    "logistic_hessian": Case(
        title="the Hessian of a logistic regression",
        arguments=regression,
        quick={"rows": 20, "columns": 3},
        full={"rows": 2000, "columns": 40},
        diffjit=hessian_diffjit,
        jax=hessian_jax,
        scipy=hessian_scipy,
        numerical=1e-3,
    ),
    "hand_jacobian": Case(
        title="the 26 columns of a hand's pose",
        arguments=pose,
        quick={"points": 7},
        full={"points": 500},
        diffjit=hand_diffjit,
        jax=hand_jax,
        scipy=hand_scipy,
        numerical=1e-5,
    ),
}
