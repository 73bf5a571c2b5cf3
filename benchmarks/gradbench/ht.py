"""Hand tracking: where the vertices of a hand are in a pose, against points that were measured; a Jacobian."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.gradbench.problem import Problem

FINGERS, BONES = 5, 22  # the wrist, four bones of each finger, the forearm
POSE = 26  # the rotation of the hand, its translation, four angles of each finger
TRIANGLES = 1084


class Hand(NamedTuple):
    """A hand at rest, and what was measured."""

    parents: np.ndarray  # of the bones, each before its children; -1: none
    relatives: np.ndarray  # a bone's frame in that of its parent, 4 by 4
    inverses: np.ndarray  # of the frames in space
    vertices: np.ndarray  # 4 by vertices, the last row is one
    weights: np.ndarray  # bones by vertices
    triangles: np.ndarray
    seen: np.ndarray  # for each point, the vertex or the triangle that it belongs to
    points: np.ndarray


def by_axis(v: np.ndarray) -> Any:
    """The rotation about an axis by its length."""
    angle = np.sqrt(np.sum(v * v))
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = v / angle
    s, c = np.sin(angle), np.cos(angle)
    return np.array([
        [x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s],
        [x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s],
        [x * z * (1.0 - c) - y * s, y * z * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c],
    ])  # fmt: skip


def by_angles(about_x: Any, about_z: Any) -> Any:
    """About the first axis, then about the last one, as a frame."""
    turn = np.eye(4)
    turn[1, 1] = turn[2, 2] = np.cos(about_x)
    turn[2, 1] = np.sin(about_x)
    turn[1, 2] = -turn[2, 1]
    turn_z = np.eye(4)
    turn_z[0, 0] = turn_z[1, 1] = np.cos(about_z)
    turn_z[1, 0] = np.sin(about_z)
    turn_z[0, 1] = -turn_z[1, 0]
    return turn_z @ turn


def angles(theta: np.ndarray) -> Any:
    """Of each bone: the first of a finger does not turn, the second one turns about two axes, the others about one."""
    out = np.zeros((BONES, 2))
    for finger in range(FINGERS):
        bone = 2 + 4 * finger
        at = 6 + 4 * finger
        out[bone] = theta[at : at + 2]
        out[bone + 1, 0] = theta[at + 2]
        out[bone + 2, 0] = theta[at + 3]
    return out


def posed(theta: np.ndarray, hand: Hand) -> Any:
    """The vertices, 3 by their number: each goes with several bones."""
    turns = angles(theta)
    frames = np.empty((BONES, 4, 4))
    for i in range(BONES):
        frame = hand.relatives[i] @ by_angles(turns[i, 0], turns[i, 1])
        if hand.parents[i] >= 0:
            frame = frames[hand.parents[i]] @ frame
        frames[i] = frame
    out = np.zeros((3, hand.vertices.shape[1]))
    for i in range(BONES):
        moved = frames[i] @ hand.inverses[i] @ hand.vertices
        out += moved[:3] * hand.weights[i]
    return by_axis(theta[:3]) @ out + theta[3:6, None]


def residuals(theta: np.ndarray, places: np.ndarray | None, hand: Hand) -> Any:
    """Points minus vertices, or minus places in triangles that two numbers of each point say."""
    vertices = posed(theta, hand)
    out = np.empty((hand.seen.size, 3))
    for i in range(hand.seen.size):
        if places is None:
            out[i] = hand.points[i] - vertices[:, hand.seen[i]]
        else:
            a, b, c = hand.triangles[hand.seen[i]]
            u, v = places[i]
            place = u * vertices[:, a] + v * vertices[:, b] + (1.0 - u - v) * vertices[:, c]
            out[i] = hand.points[i] - place
    return out.ravel()


def arguments(rng: Any, vertices: int, points: int, *, complicated: bool) -> tuple[Any, ...]:
    """A hand of random bones of some centimetres, in the place of the one of GradBench's files."""
    parents = np.array([-1] + [p for f in range(FINGERS) for p in (0, 1 + 4 * f, 2 + 4 * f, 3 + 4 * f)] + [0])
    relatives = np.tile(np.eye(4), (BONES, 1, 1))
    frames = np.empty((BONES, 4, 4))
    for i, parent in enumerate(parents):
        relatives[i, :3, :3] = by_axis(rng.randn(3))
        relatives[i, :3, 3] = 0.03 * rng.randn(3)
        frames[i] = relatives[i] if parent < 0 else frames[parent] @ relatives[i]
    weights = np.zeros((BONES, vertices))
    for _ in range(4):
        weights[rng.randint(0, BONES, vertices), np.arange(vertices)] += rng.rand(vertices)
    rest = np.concatenate((0.1 * rng.rand(3, vertices), np.ones((1, vertices))))
    triangles = rng.randint(0, vertices, (TRIANGLES, 3))
    seen = rng.randint(0, TRIANGLES if complicated else vertices, points)
    hand = Hand(
        parents, relatives, np.linalg.inv(frames), rest, weights / weights.sum(0), triangles, seen, rng.randn(points, 3)
    )
    return rng.randn(POSE), rng.rand(points, 2) if complicated else None, hand


def derivative() -> Any:
    """Forward mode; each point has its own place, so that one tangent shows the first numbers of all of them."""
    import diffjit as dj

    @dj.jit
    def jacobian(theta: np.ndarray, places: np.ndarray | None, hand: Hand) -> Any:
        by_pose = dj.jacfwd(residuals)(theta, places, hand)
        if places is None:
            return by_pose
        out = np.empty((by_pose.shape[0], 2 + theta.size))
        out[:, 2:] = by_pose
        for k in range(2):
            seed = np.zeros(places.shape)
            seed[:, k] = 1.0
            out[:, k] = dj.jvp(lambda p: residuals(theta, p, hand), (places,), (seed,))[1]
        return out

    return jacobian


def cross(v: np.ndarray) -> Any:
    """The matrix of the product with a vector."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def reference(theta: np.ndarray, places: np.ndarray | None, hand: Hand) -> Any:
    """By hand: an angle turns all that hangs on its bone about an axis through its joint."""
    turns = angles(theta)
    frames, locals_ = np.empty((BONES, 4, 4)), [by_angles(*turn) for turn in turns]
    for i, parent in enumerate(hand.parents):
        above = np.eye(4) if parent < 0 else frames[parent]
        frames[i] = above @ hand.relatives[i] @ locals_[i]
    hanging = hand.weights[:, None] * (frames @ hand.inverses @ hand.vertices)
    for i in reversed(range(1, BONES)):
        hanging[hand.parents[i]] += hanging[i]
    rest, turn, axis = hanging[0, :3], by_axis(theta[:3]), theta[:3]
    moves = []
    for e in np.eye(3):  # the derivative of a rotation as Gallego and Yezzi found it
        spin = (axis @ e * cross(axis) + cross(np.cross(axis, e - turn @ e))) / (axis @ axis)
        moves.append(spin @ turn @ rest)
    moves += [np.tile(e[:, None], (1, rest.shape[1])) for e in np.eye(3)]
    about_x, about_z = np.zeros((4, 4)), np.zeros((4, 4))
    about_x[:3, :3], about_z[:3, :3] = cross(np.eye(3)[0]), cross(np.eye(3)[2])
    for finger in range(FINGERS):
        bone = 2 + 4 * finger
        by_z = locals_[bone].T @ about_z @ locals_[bone]
        for i, local in ((bone, about_x), (bone, by_z), (bone + 1, about_x), (bone + 2, about_x)):
            spin = frames[i] @ local @ np.linalg.inv(frames[i])
            moves.append(turn @ (spin[:3] @ hanging[i]))
    if places is None:
        return -np.stack([move[:, hand.seen].T.ravel() for move in moves], axis=1)
    corners = hand.triangles[hand.seen].T
    shares = np.stack([places[:, 0], places[:, 1], 1.0 - places[:, 0] - places[:, 1]])
    a, b, c = (turn @ rest[:, corner] for corner in corners)
    columns = [a - c, b - c] + [np.sum(move[:, corners] * shares, axis=1) for move in moves]
    return -np.stack([column.T.ravel() for column in columns], axis=1)


PROBLEM = Problem(
    title="ht",
    sizes={
        f"{kind} {model} {number}": {"vertices": vertices, "points": points, "complicated": kind == "complicated"}
        for model, number, vertices, points in (("small", 1, 544, 100), ("big", 5, 10_000, 800))
        for kind in ("complicated", "simple")
    },
    arguments=arguments,
    primal=residuals,
    derivative=derivative,
    reference=reference,
    in_jax="GradBench has no JAX version",
    published={"complicated small 1": ("by hand in C++", 0.37), "complicated big 5": ("by hand in C++", 8.6)},
)
