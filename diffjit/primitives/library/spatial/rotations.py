"""Rotations of `scipy.spatial.transform`, by quaternions with their real part last.

Programs have one rotation or a row of them; what depends on which angle is near 0 is continued by its series.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation as SciPys

from diffjit.primitives.library.axes import as_float, known, places
from diffjit.primitives.registry import implements


def product(p, q):
    """The product of quaternions: first q, then p."""
    a, b = p[..., :3], q[..., :3]
    r, s = p[..., 3:], q[..., 3:]
    imaginary = r * b + s * a + np.cross(a, b)
    return np.concatenate((imaginary, r * s - np.sum(a * b, axis=-1, keepdims=True)), axis=-1)


def about_axis(axis, angle):
    """The quaternion of a turn about one of the axes."""
    zero = 0.0 * angle
    parts = [np.sin(0.5 * angle) if k == axis else zero for k in places(3)]
    return np.stack([*parts, np.cos(0.5 * angle)], axis=-1)


def normalised(q):
    """A quaternion of length 1."""
    return q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))


def turned(q, vectors):
    """Vectors, turned by quaternions."""
    a = q[..., :3]
    t = 2.0 * np.cross(a, vectors)
    return vectors + q[..., 3:] * t + np.cross(a, t)


@implements(SciPys)
class Rotation:
    """One rotation, or a row of them."""

    stands_for = SciPys

    def __init__(self, quat, normalize=True, copy=True, scalar_first=False):
        if scalar_first:
            raise NotImplementedError("Rotation(scalar_first=True): put the real part last")
        quat = as_float(np.asarray(quat))
        self.quat = normalised(quat) if normalize else quat

    @classmethod
    def identity(cls, num=None):
        """No rotation."""
        if num is not None:
            return Turn(np.zeros((num, 4)) + np.array([0.0, 0.0, 0.0, 1.0]))
        return Turn(np.array([0.0, 0.0, 0.0, 1.0]))

    @classmethod
    def from_quat(cls, quat, *, scalar_first=False):
        """By quaternions."""
        quat = as_float(np.asarray(quat))
        if scalar_first:
            quat = np.concatenate((quat[..., 1:], quat[..., :1]), axis=-1)
        return Turn(normalised(quat))

    @classmethod
    def from_rotvec(cls, rotvec, degrees=False):
        """By vectors along the axis, as long as the angle."""
        v = as_float(np.asarray(rotvec))
        v = v * (math.pi / 180.0) if degrees else v
        square = np.sum(v * v, axis=-1, keepdims=True)
        small = square < 1e-6
        angle = np.sqrt(np.where(small, 1.0, square))
        series = 0.5 - square / 48.0 + square * square / 3840.0
        share = np.where(small, series, np.sin(0.5 * angle) / angle)
        real = np.where(small, 1.0 - square / 8.0 + square * square / 384.0, np.cos(0.5 * angle))
        return Turn(np.concatenate((share * v, real), axis=-1))

    @classmethod
    def from_euler(cls, seq, angles, degrees=False):
        """By angles about axes, one after the other."""
        angles = as_float(np.asarray(angles))
        angles = angles * (math.pi / 180.0) if degrees else angles
        if len(seq) == 1:
            alone = angles.ndim == 0
            q = about_axis("xyz".index(seq.lower()), angles if alone or angles.ndim == 1 else angles[..., 0])
            return Turn(q)
        q = about_axis("xyz".index(seq[0].lower()), angles[..., 0])
        for k in places(len(seq))[1:]:
            another = about_axis("xyz".index(seq[k].lower()), angles[..., k])
            q = product(q, another) if seq.isupper() else product(another, q)
        return Turn(q)

    @classmethod
    def from_matrix(cls, matrix, *, assume_valid=False):
        """By orthogonal matrices, of which the antisymmetric part and the trace are read."""
        m = as_float(np.asarray(matrix))
        diagonal = [m[..., k, k] for k in places(3)]
        trace = diagonal[0] + diagonal[1] + diagonal[2]
        best = np.argmax(np.stack([*diagonal, trace], axis=-1), axis=-1)
        rows = []
        for i in places(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            parts = [trace, trace, trace, m[..., k, j] - m[..., j, k]]
            parts[i] = 1.0 - trace + 2.0 * m[..., i, i]
            parts[j] = m[..., j, i] + m[..., i, j]
            parts[k] = m[..., k, i] + m[..., i, k]
            rows.append(np.stack(parts, axis=-1))
        last = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1.0 + trace]
        q, best = np.stack(last, axis=-1), np.asarray(best)[..., None]
        for i in places(3):
            q = np.where(best == i, rows[i], q)
        return Turn(normalised(q))

    def as_quat(self, canonical=False, *, scalar_first=False):
        """As quaternions."""
        q = canonical_of(self.quat) if canonical else self.quat
        return np.concatenate((q[..., 3:], q[..., :3]), axis=-1) if scalar_first else q.copy()

    def as_matrix(self):
        """As matrices."""
        x, y, z, w = (self.quat[..., k] for k in places(4))
        rows = (
            (x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w),
        )
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees=False):
        """As vectors along the axis, as long as the angle."""
        q = canonical_of(self.quat)
        a = q[..., :3]
        square = np.sum(a * a, axis=-1, keepdims=True)
        small = square < 1e-8
        length = np.sqrt(np.where(small, 1.0, square))
        share = np.where(small, 2.0 + square / 3.0, 2.0 * np.arctan2(length, q[..., 3:]) / length)
        return share * a * (180.0 / math.pi) if degrees else share * a

    def as_euler(self, seq, degrees=False, *, suppress_warnings=False):
        """As angles about three axes."""
        angles = euler_angles(self.quat, seq)
        return angles * (180.0 / math.pi) if degrees else angles

    def magnitude(self):
        """The angles."""
        a = self.quat[..., :3]
        square = np.sum(a * a, axis=-1)
        return 2.0 * np.arctan2(np.sqrt(square), np.abs(self.quat[..., 3]))

    def inv(self):
        """Back."""
        return Turn(self.quat * np.array([-1.0, -1.0, -1.0, 1.0]))

    def apply(self, vectors, inverse=False):
        """Vectors, turned."""
        vectors = as_float(np.asarray(vectors))
        return turned(self.inv().quat if inverse else self.quat, vectors)

    def mean(self, weights=None):
        """Refused: it is an eigenvector."""
        raise NotImplementedError(
            "Rotation.mean: use the eigenvector of numpy.linalg.eigh of the quaternions' products"
        )

    def __mul__(self, other):
        return Turn(normalised(product(self.quat, other.quat)))

    def __pow__(self, n):
        return Rotation.from_rotvec(n * self.as_rotvec())

    def __getitem__(self, index):
        return Turn(self.quat[index])

    def __len__(self):
        return self.quat.shape[0]


class Turn(Rotation):
    """A rotation by a quaternion of length 1."""

    def __init__(self, quat):
        self.quat = quat


def canonical_of(q):
    """Of q and -q the one whose real part is not negative."""
    return np.where(q[..., 3:] < 0, -q, q)


def euler_angles(q, seq):
    """Angles about three axes.

    E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion: a direct, general and computationally efficient
    method" (2022).
    """
    if len(seq) != 3:
        raise ValueError(f"Expected axes to be a string of length 3, got {seq!r}")
    outside = seq.islower()
    order = seq.lower() if outside else seq.lower()[::-1]
    i, j = known("xyz".index(order[0])), known("xyz".index(order[1]))
    symmetric = order[0] == order[2]
    k = 3 - i - j
    sign = 1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    if symmetric:
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    else:
        a, b = q[..., 3] - q[..., j], q[..., i] + q[..., k] * sign
        c, d = q[..., j] + q[..., 3], q[..., k] * sign - q[..., i]
    middle = 2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    first, third = half_sum - half_difference, half_sum + half_difference
    if not symmetric:
        third, middle = third * sign, middle - 0.5 * math.pi
    angles = (first, middle, third) if outside else (third, middle, first)
    wrapped = [np.where(x < -math.pi, x + 2 * math.pi, np.where(x > math.pi, x - 2 * math.pi, x)) for x in angles]
    return np.stack(wrapped, axis=-1)
