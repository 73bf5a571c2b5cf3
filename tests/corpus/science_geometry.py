"""Shapes, rotations, curves, bodies and particles in space."""

import math
from dataclasses import dataclass

import numpy as np

from .registry import program, rng


def polygon_area_jax(vertices):
    import jax.numpy as jnp

    x, y = vertices.T
    return 0.5 * jnp.abs(jnp.dot(x, jnp.roll(y, -1)) - jnp.dot(y, jnp.roll(x, -1)))


@program(
    args=lambda: (np.array([[0.0, 0.1], [2.1, 0.0], [2.4, 1.3], [1.0, 2.2], [-0.3, 1.1]]),),
    wrt=("vertices",),
    jax=polygon_area_jax,
    tags=("geometry", "negative-index"),
)
def polygon_area(vertices):
    """The shoelace formula."""
    area = 0.0
    for i in range(len(vertices)):
        x0, y0 = vertices[i - 1]
        x1, y1 = vertices[i]
        area += x0 * y1 - x1 * y0
    return abs(area) / 2


def clip_polygon_area_jax(vertices, normal, offset):
    return polygon_area_jax(_clip_jax(vertices, normal, offset))


def _clip_jax(vertices, normal, offset):
    import jax.numpy as jnp

    # The clipped vertices of the fixed configuration: 1 and 2 are cut away.
    side = vertices @ normal - offset

    def cross(i, j):
        t = side[i] / (side[i] - side[j])
        return vertices[i] + t * (vertices[j] - vertices[i])

    return jnp.stack([vertices[0], cross(0, 1), cross(2, 3), vertices[3]])


@program(
    args=lambda: (np.array([[0.0, 0.0], [2.0, 0.1], [2.2, 1.5], [0.1, 1.2]]), np.array([1.0, 0.2]), 1.3),
    wrt=("vertices", "normal", "offset"),
    jax=clip_polygon_area_jax,
    tags=("geometry", "growing-list", "branches"),
)
def clipped_polygon_area(vertices, normal, offset):
    """Sutherland-Hodgman against one line, then the area of what is left."""
    kept = []
    n = len(vertices)
    for i in range(n):
        a, b = vertices[i], vertices[(i + 1) % n]
        sa, sb = a @ normal - offset, b @ normal - offset
        if sa <= 0:
            kept.append(a)
        if sa * sb < 0:
            t = sa / (sa - sb)
            kept.append(a + t * (b - a))
    area = 0.0
    for i in range(len(kept)):
        p, q = kept[i - 1], kept[i]
        area += 0.5 * (p[0] * q[1] - q[0] * p[1])
    return area


def quaternion_rotation_jax(q, points):
    import jax.numpy as jnp

    w, x, y, z = q / jnp.linalg.norm(q)
    r = jnp.stack(
        [
            jnp.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]),
            jnp.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]),
            jnp.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]),
        ]
    )
    return points @ r.T


@program(
    args=lambda: (np.array([0.8, 0.3, -0.4, 0.2]), rng(1).normal(size=(3, 3))),
    wrt=("q", "points"),
    jax=quaternion_rotation_jax,
    tags=("geometry", "unpacking", "helper", "array-result"),
)
def quaternion_rotation(q, points):
    def product(a, b):
        aw, ax, ay, az = a
        bw, bx, by, bz = b
        return (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        )

    norm = math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    w, x, y, z = q / norm
    out = np.zeros_like(points)
    for i, (px, py, pz) in enumerate(points):
        _, out[i, 0], out[i, 1], out[i, 2] = product(product((w, x, y, z), (0.0, px, py, pz)), (w, -x, -y, -z))
    return out


def rodrigues_projection_jax(rotation, translation, focal, points, observed):
    import jax.numpy as jnp

    theta = jnp.sqrt(jnp.sum(rotation**2))
    k = rotation / theta
    cr = jnp.cross(jnp.broadcast_to(k, points.shape), points)
    p = points * jnp.cos(theta) + cr * jnp.sin(theta) + k * (points @ k)[:, None] * (1 - jnp.cos(theta))
    p = p + translation
    uv = p[:, :2] / p[:, 2:]
    r2 = jnp.sum(uv**2, axis=1, keepdims=True)
    uv = focal[0] * uv * (1 + focal[1] * r2 + focal[2] * r2**2)
    return jnp.sum((uv - observed) ** 2)


def cross(a, b):
    c = np.empty(3)
    c[0] = a[1] * b[2] - a[2] * b[1]
    c[1] = a[2] * b[0] - a[0] * b[2]
    c[2] = a[0] * b[1] - a[1] * b[0]
    return c


@program(
    args=lambda: (
        np.array([0.2, -0.3, 0.15]),
        np.array([0.1, 0.2, 4.0]),
        np.array([1.2, 0.05, 0.01]),
        rng(2).normal(size=(4, 3)),
        rng(3).normal(size=(4, 2)),
    ),
    wrt=("rotation", "translation", "focal", "points"),
    jax=rodrigues_projection_jax,
    tags=("geometry", "bundle-adjustment", "early-return", "helper"),
)
def bundle_adjustment(rotation, translation, focal, points, observed):
    """Reprojection error: Rodrigues rotation, pinhole, radial distortion."""

    def rotate(v):
        sqtheta = np.sum(rotation**2)
        if sqtheta == 0:
            return v + cross(rotation, v)
        theta = np.sqrt(sqtheta)
        w = rotation / theta
        return v * np.cos(theta) + cross(w, v) * np.sin(theta) + w * np.dot(w, v) * (1 - np.cos(theta))

    error = 0.0
    for point, (u, v) in zip(points, observed):
        p = rotate(point) + translation
        x, y = p[:2] / p[2]
        r2 = x * x + y * y
        scale = focal[0] * (1 + focal[1] * r2 + focal[2] * r2**2)
        error += (scale * x - u) ** 2 + (scale * y - v) ** 2
    return error


def n_body_jax(pos, vel, mass, dt, steps):
    import jax.numpy as jnp

    n = pos.shape[0]
    for _ in range(steps):
        d = pos[None] - pos[:, None]
        r2 = jnp.sum(d**2, -1) + 0.05 + jnp.eye(n)
        acc = jnp.sum(mass[None, :, None] * d / r2[..., None] ** 1.5, axis=1)
        vel = vel + dt * acc
        pos = pos + dt * vel
    d = pos[None] - pos[:, None]
    r = jnp.sqrt(jnp.sum(d**2, -1) + 0.05)
    pair = mass[:, None] * mass[None] / r
    return 0.5 * jnp.sum(mass[:, None] * vel**2) - 0.5 * (jnp.sum(pair) - jnp.trace(pair))


@program(
    args=lambda: (rng(4).normal(size=(4, 3)), 0.3 * rng(5).normal(size=(4, 3)), rng(6).uniform(0.5, 1.5, 4), 0.05, 4),
    wrt=("pos", "vel", "mass"),
    jax=n_body_jax,
    tags=("physics", "pairs", "in-place", "mutates-argument"),
)
def n_body(pos, vel, mass, dt, steps):
    """Softened gravity; forces are added pairwise, Newton's third law in place."""
    n = len(mass)
    for _ in range(steps):
        acc = np.zeros_like(pos)
        for i in range(n):
            for j in range(i + 1, n):
                d = pos[j] - pos[i]
                inv = (d @ d + 0.05) ** -1.5
                acc[i] += mass[j] * inv * d
                acc[j] -= mass[i] * inv * d
        vel += dt * acc
        pos += dt * vel
    energy = 0.0
    for i in range(n):
        energy += 0.5 * mass[i] * (vel[i] @ vel[i])
        for j in range(i):
            d = pos[j] - pos[i]
            energy -= mass[i] * mass[j] / np.sqrt(d @ d + 0.05)
    return energy


def ray_sphere_jax(origin, directions, centres, radii):
    import jax.numpy as jnp

    light = jnp.array([0.3, 0.8, -0.5]) / jnp.sqrt(0.98)
    total = 0.0
    for d in directions:
        d = d / jnp.linalg.norm(d)
        best, shade = jnp.inf, 0.1
        for c, r in zip(centres, radii, strict=True):
            oc = origin - c
            b = jnp.dot(oc, d)
            disc = b**2 - jnp.dot(oc, oc) + r**2
            t = -b - jnp.sqrt(jnp.where(disc > 0, disc, 1.0))
            hit = (disc > 0) & (t > 0) & (t < best)
            n = (origin + t * d - c) / r
            shade = jnp.where(hit, jnp.maximum(jnp.dot(n, light), 0.05) + 0.1 * t, shade)
            best = jnp.where(hit, t, best)
        total = total + shade
    return total


@program(
    args=lambda: (
        np.array([0.0, 0.0, -4.0]),
        np.array([[0.05, 0.1, 1.0], [0.2, -0.1, 1.0], [-0.3, 0.05, 1.0], [0.9, 0.9, 1.0]]),
        np.array([[0.1, 0.2, 0.0], [0.6, -0.4, 1.0], [-1.0, 0.2, 0.5]]),
        np.array([0.7, 0.8, 0.6]),
    ),
    wrt=("origin", "directions", "centres", "radii"),
    jax=ray_sphere_jax,
    tags=("geometry", "rays", "none-result", "continue"),
)
def ray_spheres(origin, directions, centres, radii):
    """Shade the nearest sphere along every ray; None is a miss."""
    light = np.array([0.3, 0.8, -0.5]) / np.sqrt(0.98)

    def intersect(d, centre, radius):
        oc = origin - centre
        b = oc @ d
        disc = b * b - oc @ oc + radius**2
        if disc <= 0:
            return None
        t = -b - np.sqrt(disc)
        return t if t > 0 else None

    total = 0.0
    for direction in directions:
        d = direction / np.linalg.norm(direction)
        nearest, hit = np.inf, -1
        for k in range(len(radii)):
            t = intersect(d, centres[k], radii[k])
            if t is None:
                continue
            if t < nearest:
                nearest, hit = t, k
        if hit < 0:
            total += 0.1
        else:
            normal = (origin + nearest * d - centres[hit]) / radii[hit]
            total += max(normal @ light, 0.05) + 0.1 * nearest
    return total


def bezier_length_jax(control, n):
    import jax.numpy as jnp

    points = []
    for k in range(n + 1):
        t, p = k / n, control
        while p.shape[0] > 1:
            p = (1 - t) * p[:-1] + t * p[1:]
        points.append(p[0])
    points = jnp.stack(points)
    return jnp.sum(jnp.sqrt(jnp.sum((points[1:] - points[:-1]) ** 2, axis=1)))


@program(
    args=lambda: (rng(7).normal(size=(5, 2)), 8),
    wrt=("control",),
    jax=bezier_length_jax,
    tags=("geometry", "shrinking-triangle", "in-place"),
)
def bezier_length(control, n):
    """Length of a Bezier curve sampled by de Casteljau's algorithm."""

    def point(t):
        p = control.copy()
        for level in range(len(p) - 1, 0, -1):
            for i in range(level):
                p[i] = (1 - t) * p[i] + t * p[i + 1]
        return p[0]

    length = 0.0
    previous = point(0.0)
    for k in range(1, n + 1):
        current = point(k / n)
        length += np.linalg.norm(current - previous)
        previous = current
    return length


def natural_spline_jax(x, y, xs):
    import jax.numpy as jnp

    n = x.shape[0]
    h = x[1:] - x[:-1]
    s = (y[1:] - y[:-1]) / h
    a = jnp.diag(jnp.concatenate([jnp.ones(1), 2 * (h[:-1] + h[1:]), jnp.ones(1)]))
    a = a + jnp.diag(jnp.concatenate([h[:-1], jnp.zeros(1)]), -1) + jnp.diag(jnp.concatenate([jnp.zeros(1), h[1:]]), 1)
    m = jnp.linalg.solve(a, jnp.concatenate([jnp.zeros(1), 6 * (s[1:] - s[:-1]), jnp.zeros(1)]))
    i = jnp.clip(jnp.searchsorted(x, xs) - 1, 0, n - 2)
    t = xs - x[i]
    return (
        y[i] + t * (s[i] - h[i] * (2 * m[i] + m[i + 1]) / 6) + t**2 * m[i] / 2 + t**3 * (m[i + 1] - m[i]) / (6 * h[i])
    )


@program(
    args=lambda: (np.array([0.0, 0.8, 1.7, 2.5, 3.6]), rng(8).normal(size=5), np.array([0.3, 1.1, 2.2, 3.1, 3.5])),
    wrt=("x", "y", "xs"),
    jax=natural_spline_jax,
    tags=("geometry", "search-loop", "tridiagonal", "array-result"),
)
def natural_spline(x, y, xs):
    """Cubic spline through (x, y), evaluated at xs; intervals found by bisection."""
    n = len(x)
    h = x[1:] - x[:-1]
    m = np.zeros(n)
    c = np.zeros(n)
    for i in range(1, n - 1):
        rhs = 6 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
        w = 2 * (h[i - 1] + h[i]) - h[i - 1] * c[i - 1]
        c[i] = h[i] / w
        m[i] = (rhs - h[i - 1] * m[i - 1]) / w
    for i in range(n - 3, 0, -1):
        m[i] -= c[i] * m[i + 1]
    out = []
    for q in xs:
        lo, hi = 0, n - 1
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if x[mid] > q:
                hi = mid
            else:
                lo = mid
        t = q - x[lo]
        b = (y[hi] - y[lo]) / h[lo] - h[lo] * (2 * m[lo] + m[hi]) / 6
        out.append(y[lo] + t * (b + t * (m[lo] / 2 + t * (m[hi] - m[lo]) / (6 * h[lo]))))
    return np.array(out)


def b_spline_jax(t, knots, coef, degree):
    import jax.numpy as jnp

    k = next(i for i in range(degree, len(knots) - degree - 1) if float(knots[i + 1]) > 1.4)
    d = [coef[j + k - degree] for j in range(degree + 1)]
    for r in range(1, degree + 1):
        for j in range(degree, r - 1, -1):
            a = (t - knots[j + k - degree]) / (knots[j + 1 + k - r] - knots[j + k - degree])
            d[j] = (1 - a) * d[j - 1] + a * d[j]
    return jnp.asarray(d[degree])


@program(
    args=lambda: (1.4, np.array([0.0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4]), rng(9).normal(size=7), 3),
    wrt=("t", "coef"),
    jax=b_spline_jax,
    tags=("geometry", "list-in-place", "int-arguments"),
)
def b_spline_de_boor(t, knots, coef, degree):
    k = degree
    while knots[k + 1] <= t:
        k += 1
    d = [coef[j + k - degree] for j in range(degree + 1)]
    for r in range(1, degree + 1):
        for j in range(degree, r - 1, -1):
            left = knots[j + k - degree]
            alpha = (t - left) / (knots[j + 1 + k - r] - left)
            d[j] = (1.0 - alpha) * d[j - 1] + alpha * d[j]
    return d[degree]


@dataclass
class Body:
    """A rigid body: principal moments, angular velocity and orientation."""

    inertia: np.ndarray
    omega: np.ndarray
    q: np.ndarray


def rigid_body_jax(body, dt, steps):
    import jax.numpy as jnp

    i, w, q = body.inertia, body.omega, body.q
    for _ in range(steps):
        w = w + dt * jnp.stack(
            [
                (i[1] - i[2]) * w[1] * w[2] / i[0],
                (i[2] - i[0]) * w[2] * w[0] / i[1],
                (i[0] - i[1]) * w[0] * w[1] / i[2],
            ]
        )
        a, b, c, d = q
        x, y, z = w
        dq = 0.5 * jnp.stack(
            [-b * x - c * y - d * z, a * x + c * z - d * y, a * y - b * z + d * x, a * z + b * y - c * x]
        )
        q = q + dt * dq
        q = q / jnp.linalg.norm(q)
    return jnp.sum(i * w**2) + q[1] - q[2]


@program(
    args=lambda: (
        Body(np.array([1.0, 1.6, 2.3]), np.array([0.5, 1.0, -0.4]), np.array([1.0, 0.0, 0.0, 0.0])),
        0.05,
        10,
    ),
    wrt=("body",),
    jax=rigid_body_jax,
    tags=("physics", "dataclass", "helper-mutates-object"),
)
def rigid_body(body, dt, steps):
    """Euler's equations and a quaternion, kept in a dataclass that the helper updates."""

    def advance(b):
        i1, i2, i3 = b.inertia
        w1, w2, w3 = b.omega
        torque_free = np.array([(i2 - i3) * w2 * w3 / i1, (i3 - i1) * w3 * w1 / i2, (i1 - i2) * w1 * w2 / i3])
        b.omega = b.omega + dt * torque_free
        x, y, z = b.omega
        spin = np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])
        b.q = b.q + 0.5 * dt * spin @ b.q
        b.q /= np.sqrt(np.sum(b.q**2))

    state = Body(body.inertia, body.omega.copy(), body.q.copy())
    for _ in range(steps):
        advance(state)
    return np.sum(state.inertia * state.omega**2) + state.q[1] - state.q[2]


def lennard_jones_jax(positions, epsilon, sigma, cutoff, box):
    import jax.numpy as jnp

    n = positions.shape[0]
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            d = positions[i] - positions[j]
            d = d - box * jnp.round(d / box)
            r2 = jnp.sum(d**2)
            s6 = (sigma**2 / r2) ** 3
            total = total + jnp.where(r2 < cutoff**2, 4 * epsilon * (s6**2 - s6), 0.0)
    return total


@program(
    args=lambda: (
        np.array([[0.1, 0.2, 0.0], [1.3, 0.1, 0.2], [0.2, 1.4, 0.3], [1.2, 1.5, 1.1], [2.6, 0.4, 2.3]]),
        1.1,
        1.0,
        2.0,
        3.4,
    ),
    wrt=("positions", "epsilon", "sigma"),
    jax=lennard_jones_jax,
    tags=("physics", "cutoff", "round", "continue"),
)
def lennard_jones(positions, epsilon, sigma, cutoff, box):
    """Energy with minimum images and a cutoff."""
    energy = 0.0
    n = len(positions)
    for i in range(n - 1):
        for j in range(i + 1, n):
            d = positions[i] - positions[j]
            d -= box * np.round(d / box)
            r2 = d[0] ** 2 + d[1] ** 2 + d[2] ** 2
            if r2 >= cutoff**2:
                continue
            s6 = (sigma * sigma / r2) ** 3
            energy += 4 * epsilon * s6 * (s6 - 1)
    return energy


def forward_kinematics_jax(angles, lengths, target):
    import jax.numpy as jnp

    total = jnp.cumsum(angles)
    tip = jnp.stack([jnp.sum(lengths * jnp.cos(total)), jnp.sum(lengths * jnp.sin(total))])
    return jnp.linalg.norm(tip - target)


@program(
    args=lambda: (np.array([0.3, 0.5, -0.7, 0.2]), np.array([1.0, 0.8, 0.6, 0.4]), np.array([1.0, 1.5])),
    wrt=("angles", "lengths", "target"),
    jax=forward_kinematics_jax,
    tags=("robotics", "matmul", "linalg-norm"),
)
def forward_kinematics(angles, lengths, target):
    """A planar arm by homogeneous transforms."""
    t = np.eye(3)
    for a, length in zip(angles, lengths):
        c, s = np.cos(a), np.sin(a)
        joint = np.array([[c, -s, length * c], [s, c, length * s], [0, 0, 1]])
        t = t @ joint
    return np.linalg.norm(t[:2, 2] - target)


def mesh_volume_jax(vertices, faces):
    import jax.numpy as jnp

    a, b, c = (vertices[faces[:, k]] for k in range(3))
    n = jnp.cross(b - a, c - a)
    return jnp.sum(a * n) / 6, 0.5 * jnp.sum(jnp.linalg.norm(n, axis=1))


@program(
    args=lambda: (
        np.array([[0.0, 0.1, 0.0], [1.2, 0.0, 0.1], [0.1, 1.1, 0.0], [0.2, 0.1, 1.3]]),
        np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]),
    ),
    wrt=("vertices",),
    jax=mesh_volume_jax,
    tags=("geometry", "integer-data", "fancy-index", "tuple-result"),
)
def mesh_volume_and_area(vertices, faces):
    volume = area = 0.0
    for face in faces:
        a, b, c = vertices[face]
        n = cross(b - a, c - a)
        volume += np.dot(a, n) / 6
        area += 0.5 * np.sqrt(np.dot(n, n))
    return volume, area


def gps_trilateration_jax(ranges, stations, guess):
    import jax.numpy as jnp

    x = guess
    for _ in range(8):
        d = x[:2] - stations
        r = jnp.sqrt(jnp.sum(d**2, axis=1))
        j = jnp.concatenate([d / r[:, None], jnp.ones((r.shape[0], 1))], axis=1)
        x = x - jnp.linalg.solve(j.T @ j, j.T @ (r + x[2] - ranges))
    return x


@program(
    args=lambda: (
        np.array([5.1, 4.3, 6.2, 5.0, 4.6]),
        np.array([[4.0, 3.0], [-3.0, 2.5], [4.5, -4.0], [-3.0, -3.5], [0.2, 4.3]]),
        np.array([0.2, 0.1, 0.0]),
    ),
    wrt=("ranges", "stations"),
    jax=gps_trilateration_jax,
    tags=("geometry", "gauss-newton", "linalg", "array-result"),
)
def gps_position(ranges, stations, guess):
    """Position and clock bias by Gauss-Newton."""
    x, y, bias = guess
    for _ in range(8):
        n = len(ranges)
        jac = np.ones((n, 3))
        res = np.zeros(n)
        for i in range(n):
            dx, dy = x - stations[i, 0], y - stations[i, 1]
            r = math.hypot(dx, dy)
            jac[i, 0], jac[i, 1] = dx / r, dy / r
            res[i] = r + bias - ranges[i]
        step = np.linalg.solve(jac.T @ jac, jac.T @ res)
        x, y, bias = x - step[0], y - step[1], bias - step[2]
    return np.array([x, y, bias])
