"""The sparse Jacobian of a bundle adjustment: residuals of points that cameras see, each of them by a few unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.verbs.case import Case, Function

CAMERA = 9  # numbers of a camera: rotation vector, translation, focal length, two coefficients of distortion


def residuals(x, cameras, seen_by, seen, observed):
    """Two numbers for each observation: the projected point minus the observed one."""
    out = np.empty(2 * seen.size)
    for i in range(seen.size):
        c = CAMERA * seen_by[i]
        p = CAMERA * cameras + 3 * seen[i]
        a0, a1, a2 = x[c], x[c + 1], x[c + 2]
        p0, p1, p2 = x[p], x[p + 1], x[p + 2]
        angle = np.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
        cos, sin = np.cos(angle), np.sin(angle) / angle
        dot = (1.0 - cos) / (angle * angle) * (a0 * p0 + a1 * p1 + a2 * p2)
        u = cos * p0 + sin * (a1 * p2 - a2 * p1) + dot * a0 + x[c + 3]
        v = cos * p1 + sin * (a2 * p0 - a0 * p2) + dot * a1 + x[c + 4]
        w = cos * p2 + sin * (a0 * p1 - a1 * p0) + dot * a2 + x[c + 5]
        u, v = -u / w, -v / w
        square = u * u + v * v
        scale = x[c + 6] * (1.0 + square * (x[c + 7] + square * x[c + 8]))
        out[2 * i] = scale * u - observed[i, 0]
        out[2 * i + 1] = scale * v - observed[i, 1]
    return out


def scene(cameras: int, points: int) -> tuple[Any, ...]:
    """Each point is seen by four cameras."""
    rng = np.random.default_rng(7)
    views = np.empty((cameras, CAMERA))
    views[:, :3] = 0.2 * rng.standard_normal((cameras, 3))
    views[:, 3:6] = rng.standard_normal((cameras, 3)) * 0.1 + np.array([0.0, 0.0, -8.0])
    views[:, 6:] = np.array([500.0, 1e-3, 1e-5])
    x = np.concatenate([views.ravel(), rng.standard_normal(3 * points)])
    seen = np.repeat(np.arange(points), 4)
    seen_by = (seen + np.tile(np.arange(4), points) * (cameras // 4)) % cameras
    return x, cameras, seen_by, seen, 100.0 * rng.standard_normal((seen.size, 2))


def in_diffjit() -> Function:
    """The pattern is found at the first call."""
    import diffjit as dj

    made: list[Any] = []

    def jacobian(*args: Any) -> Any:
        if not made:
            made.append(dj.sparse_jacobian(residuals, pattern=dj.sparsity(residuals)(*args)))
        return _sorted(made[0](*args))

    return jacobian


def in_jax() -> Function:
    """Blocks of 2 by 12, one for each observation, by lanes: what is known of the pattern is written down by hand."""
    import jax

    jnp = jax.numpy

    def one(camera, point):
        angle = jnp.sqrt(jnp.sum(camera[:3] ** 2))
        axis = camera[:3] / angle
        turned = (
            jnp.cos(angle) * point + jnp.sin(angle) * jnp.cross(axis, point)
            + (1.0 - jnp.cos(angle)) * (axis @ point) * axis + camera[3:6]
        )  # fmt: skip
        place = -turned[:2] / turned[2]
        square = place @ place
        return camera[6] * (1.0 + square * (camera[7] + square * camera[8])) * place

    def blocks(x, cameras, seen_by, seen, observed):
        views = x[CAMERA * seen_by[:, None] + jnp.arange(CAMERA)]
        points = x[CAMERA * cameras + 3 * seen[:, None] + jnp.arange(3)]
        del observed
        by_camera, by_point = jax.vmap(jax.jacfwd(one, argnums=(0, 1)))(views, points)
        return jnp.concatenate([by_camera, by_point], axis=2).ravel()

    return blocks


def in_scipy() -> Function:
    """Differences with coloured columns, as `least_squares(jac_sparsity=...)` takes them."""
    from scipy.optimize._numdiff import approx_derivative
    from scipy.sparse import csr_array

    def jacobian(x, cameras, seen_by, seen, observed):
        rows = np.repeat(np.arange(2 * seen.size), 12)
        columns = np.concatenate([
            CAMERA * seen_by[:, None] + np.arange(CAMERA), CAMERA * cameras + 3 * seen[:, None] + np.arange(3)
        ], axis=1)  # fmt: skip
        pattern = csr_array((np.ones(rows.size), (rows, np.repeat(columns, 2, axis=0).ravel())))
        return _sorted(approx_derivative(vectorised, x, sparsity=pattern, args=(cameras, seen_by, seen, observed)))

    return jacobian


def vectorised(x, cameras, seen_by, seen, observed):
    """The same residuals for NumPy, without a loop."""
    views = x[: CAMERA * cameras].reshape(-1, CAMERA)[seen_by]
    points = x[CAMERA * cameras :].reshape(-1, 3)[seen]
    angle = np.sqrt(np.sum(views[:, :3] ** 2, axis=1))[:, None]
    axis = views[:, :3] / angle
    turned = (
        np.cos(angle) * points + np.sin(angle) * np.cross(axis, points)
        + (1.0 - np.cos(angle)) * np.sum(axis * points, axis=1)[:, None] * axis + views[:, 3:6]
    )  # fmt: skip
    place = -turned[:, :2] / turned[:, 2:]
    square = np.sum(place**2, axis=1)
    scale = views[:, 6] * (1.0 + square * (views[:, 7] + square * views[:, 8]))
    return (scale[:, None] * place - observed).ravel()


def _sorted(matrix):
    """The entries, row by row, each row in the order of its columns."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    return matrix.data


CASES = {
    "bundle_jacobian": Case(
        title="the sparse Jacobian of a bundle adjustment",
        arguments=scene,
        quick={"cameras": 4, "points": 5},
        full={"cameras": 20, "points": 1000},
        diffjit=in_diffjit,
        jax=in_jax,
        scipy=in_scipy,
        numerical=1e-4,
    ),
}
