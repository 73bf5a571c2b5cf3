"""Bundle adjustment: points of a scene as cameras see them; the sparse Jacobian, block by block, in compressed rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.problem import Problem

CAMERA, POINT = 11, 3  # rotation, centre, focal length, principal point, two coefficients of distortion
ROW = CAMERA + POINT + 1  # what a residual depends on: a camera, a point, a weight


def rotated(v: np.ndarray, point: np.ndarray) -> Any:
    """About an axis by its length, as Rodrigues has it."""
    square = np.sum(v * v)
    if square == 0.0:
        return point + np.cross(v, point)
    angle = np.sqrt(square)
    axis = v / angle
    cos, sin = np.cos(angle), np.sin(angle)
    return point * cos + np.cross(axis, point) * sin + axis * (axis @ point * (1.0 - cos))


def projected(camera: np.ndarray, point: np.ndarray) -> Any:
    """Where a camera sees a point."""
    seen = rotated(camera[:3], point - camera[3:6])
    place = seen[:2] / seen[2]
    square = np.sum(place * place)
    place = place * (1.0 + camera[9] * square + camera[10] * square * square)
    return place * camera[6] + camera[7:9]


def residual(camera: np.ndarray, point: np.ndarray, weight: Any, feature: np.ndarray) -> Any:
    """The weighted error of one observation."""
    return weight * (projected(camera, point) - feature)


def residuals(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, views: np.ndarray, features: np.ndarray
) -> Any:
    """Two for each observation, and behind them one for each weight; views are pairs of a camera and a point."""
    n = weights.size
    out = np.empty(3 * n)
    for i in range(n):
        camera, point = views[i]
        out[2 * i : 2 * i + 2] = residual(cameras[camera], points[point], weights[i], features[i])
        out[2 * n + i] = 1.0 - weights[i] ** 2
    return out


def arguments(_rng: Any, cameras: int, points: int, observations: int) -> tuple[Any, ...]:
    """As in GradBench, all cameras are one, and so are all points, weights and features."""
    camera = [-0.758453, -1.109613, -0.845551, 34.556073, 39.676747, 53.881673]
    camera += [419.194514, 5.864426, -8.518870, 0.087812, 0.002739]
    i = np.arange(observations)
    return (
        np.tile(camera, (cameras, 1)), np.tile([7.203245, 0.001144, 3.023326], (points, 1)),
        np.full(observations, 0.417022), np.stack([i % cameras, i % points], axis=1),
        np.tile([271.760969, 834.209256], (observations, 1)),
    )  # fmt: skip


def derivative() -> Any:
    """The block of an observation by reverse mode, inside of the loop that writes the matrix."""
    from scipy.sparse import csr_matrix

    import diffjit as dj

    block = dj.jacrev(residual, argnums=(0, 1, 2))

    @dj.jit
    def rows(
        cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, views: np.ndarray, features: np.ndarray
    ) -> Any:
        n = weights.size
        values = np.empty((2 * ROW + 1) * n)
        columns = np.empty(values.size, np.int32)
        starts = np.empty(3 * n + 1, np.int32)
        at = 0
        for i in range(n):
            camera, point = views[i]
            by_camera, by_point, by_weight = block(cameras[camera], points[point], weights[i], features[i])
            for k in range(2):
                starts[2 * i + k] = at
                for j in range(CAMERA):
                    columns[at] = CAMERA * camera + j
                    values[at] = by_camera[k, j]
                    at += 1
                for j in range(POINT):
                    columns[at] = cameras.size + POINT * point + j
                    values[at] = by_point[k, j]
                    at += 1
                columns[at] = cameras.size + points.size + i
                values[at] = by_weight[k]
                at += 1
        for i in range(n):
            starts[2 * n + i] = at
            columns[at] = cameras.size + points.size + i
            values[at] = -2.0 * weights[i]
            at += 1
        starts[3 * n] = at
        return values, columns, starts

    def jacobian(cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, *rest: Any) -> Any:
        shape = 3 * weights.size, cameras.size + points.size + weights.size
        return csr_matrix(rows(cameras, points, weights, *rest), shape=shape)

    return jacobian


def skew(v: np.ndarray) -> Any:
    """The matrices of products with vectors, one for each row."""
    out = np.zeros((len(v), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = v.T
    return out - out.transpose(0, 2, 1)


def reference(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, views: np.ndarray, features: np.ndarray
) -> Any:
    """By hand, all blocks at once; the derivative of a rotation is that of Gallego and Yezzi."""
    from scipy.sparse import csr_matrix

    n, (camera, point) = weights.size, views.T
    v, centre, focal, principal, bend = np.split(cameras[camera], [3, 6, 7, 9], axis=1)
    first, second = bend.T
    gap = points[point] - centre
    square = np.sum(v * v, axis=1)[:, None, None]
    cross, outer = skew(v), v[:, :, None] * v[:, None]
    cos, sin = np.cos(np.sqrt(square)), np.sin(np.sqrt(square)) / np.sqrt(square)
    turn = cos * np.eye(3) + sin * cross + (1.0 - cos) / square * outer
    by_v = -turn @ skew(gap) @ (outer + (turn.transpose(0, 2, 1) - np.eye(3)) @ cross) / square
    seen = np.einsum("nij,nj->ni", turn, gap)
    place = seen[:, :2] / seen[:, 2:]
    onto = np.concatenate([np.tile(np.eye(2), (n, 1, 1)), -place[:, :, None]], axis=2) / seen[:, 2, None, None]
    r = np.sum(place * place, axis=1)
    stretch = (1.0 + first * r + second * r * r)[:, None]
    bent = stretch[:, :, None] * np.eye(2)
    bent += 2.0 * (first + 2.0 * second * r)[:, None, None] * place[:, :, None] * place[:, None]
    by_seen = focal[:, :, None] * bent @ onto
    by_point = by_seen @ turn
    blocks = np.concatenate([
        by_seen @ by_v, -by_point, (stretch * place)[:, :, None], np.tile(np.eye(2), (n, 1, 1)),
        (focal * place)[:, :, None] * np.stack([r, r * r], axis=1)[:, None], by_point,
        ((focal * stretch * place + principal - features) / weights[:, None])[:, :, None],
    ], axis=2)  # fmt: skip
    own = cameras.size + points.size + np.arange(n)[:, None]
    columns = np.concatenate(
        [CAMERA * camera[:, None] + np.arange(CAMERA), cameras.size + POINT * point[:, None] + np.arange(POINT), own],
        axis=1,
    )
    values = np.concatenate([(weights[:, None, None] * blocks).ravel(), -2.0 * weights])
    indices = np.concatenate([np.repeat(columns, 2, axis=0).ravel(), own.ravel()])
    starts = np.concatenate([ROW * np.arange(2 * n), 2 * ROW * n + np.arange(n + 1)])
    return csr_matrix((values, indices, starts), shape=(3 * n, cameras.size + points.size + n))


PROBLEM = Problem(
    title="ba",
    sizes={
        name: {"cameras": cameras, "points": points, "observations": observations}
        for name, cameras, points, observations in (
            ("ba1", 49, 7776, 31_843),
            ("ba5", 257, 65_132, 225_911),
            ("ba14", 356, 226_730, 1_255_268),
        )
    },
    arguments=arguments,
    primal=residuals,
    derivative=derivative,
    reference=reference,
    in_jax="GradBench has no JAX version",
    published={"ba1": ("by hand in C++", 4.25), "ba14": ("Enzyme", 529.0)},
)
