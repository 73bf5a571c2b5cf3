"""Grids: explicit and implicit steppers, relaxation, multigrid, stencils in place."""

import numpy as np

from .registry import program, rng


def heat_explicit_jax(u0, kappa, dx, dt, steps):
    u = u0
    for _ in range(steps):
        u = u.at[1:-1].add(kappa * dt / dx**2 * (u[2:] - 2 * u[1:-1] + u[:-2]))
    return u


@program(
    args=lambda: (np.sin(np.linspace(0, 3, 14)), 0.4, 0.1, 0.01, 12),
    wrt=("u0", "kappa", "dx"),
    jax=heat_explicit_jax,
    tags=("pde", "slices", "array-result"),
)
def heat_explicit(u0, kappa, dx, dt, steps):
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] += kappa * dt / dx**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_variable_conductivity_jax(temp, k, dt, steps):
    import jax.numpy as jnp

    t = temp
    for _ in range(steps):
        face = 2 * k[:-1] * k[1:] / (k[:-1] + k[1:])
        flux = -face * (t[1:] - t[:-1])
        flux = jnp.concatenate([jnp.zeros(1), flux, jnp.zeros(1)])
        t = t - dt * (flux[1:] - flux[:-1])
    return jnp.sum(t**2)


@program(
    args=lambda: (rng(1).uniform(1, 3, 10), rng(2).uniform(0.5, 2, 10), 0.1, 10),
    wrt=("temp", "k"),
    jax=heat_variable_conductivity_jax,
    tags=("pde", "loops", "mutates-argument"),
)
def heat_variable_conductivity(temp, k, dt, steps):
    """Finite volumes; the harmonic mean of the conductivities at each face."""
    n = temp.size
    flux = np.zeros(n + 1)
    for _ in range(steps):
        for i in range(1, n):
            face = 2 * k[i - 1] * k[i] / (k[i - 1] + k[i])
            flux[i] = -face * (temp[i] - temp[i - 1])
        for i in range(n):
            temp[i] -= dt * (flux[i + 1] - flux[i])
    return np.sum(temp**2)


def wave_leapfrog_jax(u0, c, steps):
    import jax.numpy as jnp

    u_prev, u = u0, u0
    for _ in range(steps):
        lap = u[2:] - 2 * u[1:-1] + u[:-2]
        inner = 2 * u[1:-1] - u_prev[1:-1] + (c[1:-1] * 0.5) ** 2 * lap
        u_prev, u = u, jnp.concatenate([jnp.zeros(1), inner, jnp.zeros(1)])
    return u[5] + jnp.dot(u, u_prev)


@program(
    args=lambda: (np.exp(-((np.arange(12) - 5.0) ** 2) / 3), rng(4).uniform(0.8, 1.2, 12), 15),
    wrt=("u0", "c"),
    jax=wave_leapfrog_jax,
    tags=("pde", "buffer-swap"),
)
def wave_leapfrog(u0, c, steps):
    """Three buffers, rotated every step."""
    old, now, new = u0.copy(), u0.copy(), np.zeros_like(u0)
    for _ in range(steps):
        for i in range(1, len(now) - 1):
            r = (c[i] * 0.5) ** 2
            new[i] = 2 * now[i] - old[i] + r * (now[i + 1] - 2 * now[i] + now[i - 1])
        new[0] = new[-1] = 0.0
        old, now, new = now, new, old
    return now[5] + np.dot(now, old)


def burgers_godunov_jax(u, nu, dx, dt, steps):
    import jax.numpy as jnp

    for _ in range(steps):
        left, right = jnp.roll(u, 1), jnp.roll(u, -1)
        adv = jnp.where(u > 0, u * (u - left), u * (right - u)) / dx
        u = u - dt * adv + nu * dt * (right - 2 * u + left) / dx**2
    return jnp.sqrt(jnp.mean(u**2))


@program(
    args=lambda: (np.sin(2 * np.pi * (np.arange(12) + 0.3) / 12) + 0.1, 0.02, 0.2, 0.05, 8),
    wrt=("u", "nu", "dx"),
    jax=burgers_godunov_jax,
    tags=("pde", "branches", "modulo-index"),
)
def burgers_upwind(u, nu, dx, dt, steps):
    """Viscous Burgers equation, upwind advection, periodic."""
    n = len(u)
    for _ in range(steps):
        new = np.empty(n)
        for i in range(n):
            left, right = u[(i - 1) % n], u[(i + 1) % n]
            if u[i] > 0:
                adv = u[i] * (u[i] - left) / dx
            else:
                adv = u[i] * (right - u[i]) / dx
            new[i] = u[i] - dt * adv + nu * dt * (right - 2 * u[i] + left) / dx**2
        u = new
    return np.sqrt(np.mean(u**2))


def advection_limited_jax(q, speed, cfl, steps):
    import jax.numpy as jnp

    for _ in range(steps):
        d_left = q - jnp.roll(q, 1)
        d_right = jnp.roll(q, -1) - q
        same = d_left * d_right > 0
        slope = jnp.where(same, jnp.where(jnp.abs(d_left) < jnp.abs(d_right), d_left, d_right), 0.0)
        edge = q + 0.5 * (1 - speed * cfl) * slope
        flux = speed * edge
        q = q - cfl * (flux - jnp.roll(flux, 1))
    return q


def minmod(a, b):
    if a * b <= 0:
        return 0.0
    if abs(a) < abs(b):
        return a
    return b


@program(
    args=lambda: (np.array([0.1, 0.4, 1.1, 1.9, 2.3, 1.2, 0.7, 0.25, 0.13, 0.08]), 0.8, 0.5, 6),
    wrt=("q", "speed"),
    jax=advection_limited_jax,
    tags=("pde", "branches", "early-return", "helper", "array-result"),
)
def advection_limited(q, speed, cfl, steps):
    """Second-order advection with the minmod limiter."""
    q = np.array(q)
    for _ in range(steps):
        flux = np.zeros_like(q)
        for i in range(-1, q.size - 1):
            slope = minmod(q[i] - q[i - 1], q[i + 1] - q[i])
            flux[i] = speed * (q[i] + 0.5 * (1 - speed * cfl) * slope)
        q[1:] -= cfl * (flux[1:] - flux[:-1])
        q[0] -= cfl * (flux[0] - flux[-1])
    return q


def seidel_2d_jax(a, sweeps):
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a = a.at[i, j].set(a[i - 1 : i + 2, j - 1 : j + 2].sum() / 9.0)
    return (a * a).sum()


@program(
    args=lambda: (rng(8).normal(size=(5, 6)), 4),
    wrt=("a",),
    jax=seidel_2d_jax,
    tags=("pde", "in-place", "nest"),
)
def seidel_2d(a, sweeps):
    a = a.copy()
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = (
                    a[i - 1, j - 1]
                    + a[i - 1, j]
                    + a[i - 1, j + 1]
                    + a[i, j - 1]
                    + a[i, j]
                    + a[i, j + 1]
                    + a[i + 1, j - 1]
                    + a[i + 1, j]
                    + a[i + 1, j + 1]
                ) / 9.0
    return np.sum(a * a)


def sor_poisson_jax(f, boundary, omega, tol, max_sweeps):
    import jax
    import jax.numpy as jnp

    n = f.shape[0]
    u0 = jnp.zeros((n + 2, n + 2)).at[0].set(boundary)

    def cell(k, state):
        u, worst = state
        i, j = k // n + 1, k % n + 1
        gs = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + f[i - 1, j - 1])
        change = omega * (gs - u[i, j])
        return u.at[i, j].add(change), jnp.maximum(worst, jnp.abs(change))

    def sweep(state):
        u, _, count = state
        u, worst = jax.lax.fori_loop(0, n * n, cell, (u, 0.0))
        return u, worst, count + 1

    def more(state):
        return (state[1] > tol) & (state[2] < max_sweeps)

    u, _, _ = jax.lax.while_loop(more, sweep, (u0, 1.0, 0))
    return jnp.sum(u[1:-1, 1:-1])


@program(
    args=lambda: (rng(9).uniform(0, 1, (3, 3)), rng(10).uniform(0, 1, 5), 1.15, 1e-13, 200),
    wrt=("f", "boundary"),
    jax=sor_poisson_jax,
    tags=("pde", "while", "converged", "in-place"),
)
def sor_poisson(f, boundary, omega, tol, max_sweeps):
    """Successive over-relaxation until the largest change is below tol."""
    n = f.shape[0]
    u = np.zeros((n + 2, n + 2))
    u[0, :] = boundary
    sweeps = 0
    while True:
        worst = 0.0
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                gs = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + f[i - 1, j - 1])
                change = omega * (gs - u[i, j])
                u[i, j] += change
                worst = max(worst, abs(change))
        sweeps += 1
        if worst <= tol or sweeps >= max_sweeps:
            break
    return u[1:-1, 1:-1].sum()


def thomas(lower, diag, upper, rhs):
    """Solve a tridiagonal system; overwrites diag and rhs."""
    n = len(diag)
    for i in range(1, n):
        w = lower[i] / diag[i - 1]
        diag[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    x = np.empty(n)
    x[-1] = rhs[-1] / diag[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (rhs[i] - upper[i] * x[i + 1]) / diag[i]
    return x


def crank_nicolson_jax(u, kappa, dt, steps):
    import jax.numpy as jnp

    n = u.shape[0]
    lap = jnp.diag(jnp.full(n - 1, 1.0), -1) - 2 * jnp.eye(n) + jnp.diag(jnp.full(n - 1, 1.0), 1)
    r = 0.5 * kappa * dt
    for _ in range(steps):
        u = jnp.linalg.solve(jnp.eye(n) - r * lap, (jnp.eye(n) + r * lap) @ u)
    return u


@program(
    args=lambda: (rng(11).normal(size=9), 1.3, 0.2, 5),
    wrt=("u", "kappa"),
    jax=crank_nicolson_jax,
    tags=("pde", "implicit", "helper-mutates", "array-result"),
)
def crank_nicolson(u, kappa, dt, steps):
    """Crank-Nicolson for the heat equation with zero boundaries, by the Thomas algorithm."""
    n = len(u)
    r = 0.5 * kappa * dt
    for _ in range(steps):
        lower = np.full(n, -r)
        upper = np.full(n, -r)
        diag = (1 + 2 * r) * np.ones(n)
        rhs = (1 - 2 * r) * u
        rhs[1:] += r * u[:-1]
        rhs[:-1] += r * u[1:]
        u = thomas(lower, diag, upper, rhs)
    return u


def adi_heat_jax(u, alpha, steps):
    import jax.numpy as jnp

    n, m = u.shape

    def lap(k):
        return jnp.diag(jnp.ones(k - 1), -1) - 2 * jnp.eye(k) + jnp.diag(jnp.ones(k - 1), 1)

    for _ in range(steps):
        half = jnp.linalg.solve(jnp.eye(n) - alpha * lap(n), u + alpha * u @ lap(m))
        u = jnp.linalg.solve(jnp.eye(m) - alpha * lap(m), (half + alpha * lap(n) @ half).T).T
    return jnp.sum(u**2)


@program(
    args=lambda: (rng(12).normal(size=(4, 5)), 0.3, 2),
    wrt=("u", "alpha"),
    jax=adi_heat_jax,
    tags=("pde", "implicit", "transpose-view"),
)
def adi_heat(u, alpha, steps):
    """Alternating directions: implicit along columns, then along rows of a transposed view."""

    def half_step(v):
        n, m = v.shape
        out = np.zeros((n, m))
        padded = np.zeros((n, m + 2))
        padded[:, 1:-1] = v
        rhs = v + alpha * (padded[:, 2:] - 2 * v + padded[:, :-2])
        for j in range(m):
            out[:, j] = thomas(np.full(n, -alpha), np.full(n, 1 + 2 * alpha), np.full(n, -alpha), rhs[:, j])
        return out

    for _ in range(steps):
        u = half_step(u)
        u = half_step(u.T).T
    return np.sum(u**2)


def multigrid_poisson_jax(f, cycles):
    import jax.numpy as jnp

    n = f.shape[0] - 2

    def smooth(u, f, h, count):
        for _ in range(count):
            inner = (1 - 2 / 3) * u[1:-1] + (2 / 3) * 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1])
            u = u.at[1:-1].set(inner)
        return u

    def cycle(u, f, h):
        if u.shape[0] == 3:
            return u.at[1].set(0.5 * (u[0] + u[2] + h * h * f[1]))
        u = smooth(u, f, h, 2)
        r = jnp.zeros_like(u).at[1:-1].set(f[1:-1] - (2 * u[1:-1] - u[:-2] - u[2:]) / h**2)
        rc = jnp.zeros((u.shape[0] + 1) // 2)
        rc = rc.at[1:-1].set(0.25 * r[1:-2:2] + 0.5 * r[2:-1:2] + 0.25 * r[3::2])
        e = cycle(jnp.zeros_like(rc), rc, 2 * h)
        fine = jnp.zeros_like(u).at[::2].set(e).at[1::2].set(0.5 * (e[:-1] + e[1:]))
        return smooth(u + fine, f, h, 2)

    u = jnp.zeros_like(f)
    for _ in range(cycles):
        u = cycle(u, f, 1.0 / (n + 1))
    return u


def v_cycle(u, f, h):
    n = len(u) - 1
    if n == 2:
        u[1] = 0.5 * (u[0] + u[2] + h * h * f[1])
        return
    for _ in range(2):
        u[1:-1] = (1 - 2 / 3) * u[1:-1] + (2 / 3) * 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1])
    residual = np.zeros(n + 1)
    for i in range(1, n):
        residual[i] = f[i] - (2 * u[i] - u[i - 1] - u[i + 1]) / h**2
    coarse = np.zeros(n // 2 + 1)
    for i in range(1, n // 2):
        coarse[i] = 0.25 * residual[2 * i - 1] + 0.5 * residual[2 * i] + 0.25 * residual[2 * i + 1]
    error = np.zeros(n // 2 + 1)
    v_cycle(error, coarse, 2 * h)
    for i in range(n // 2):
        u[2 * i] += error[i]
        u[2 * i + 1] += 0.5 * (error[i] + error[i + 1])
    for _ in range(2):
        u[1:-1] = (1 - 2 / 3) * u[1:-1] + (2 / 3) * 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1])


@program(
    args=lambda: (rng(13).normal(size=17), 2),
    wrt=("f",),
    jax=multigrid_poisson_jax,
    tags=("pde", "recursion", "helper-mutates", "array-result"),
)
def multigrid_poisson(f, cycles):
    """Multigrid V-cycles for -u'' = f, recursive, correcting u in place."""
    u = np.zeros_like(f)
    for _ in range(cycles):
        v_cycle(u, f, 1.0 / (len(f) - 1))
    return u


def multigrid_levels_jax(f):
    import jax.numpy as jnp

    rhs = [f]
    while rhs[-1].shape[0] > 2:
        fine = rhs[-1]
        rhs.append(0.5 * (fine[::2] + fine[1::2]))
    u = jnp.zeros(rhs[-1].shape[0])
    for level in reversed(rhs):
        if u.shape[0] != level.shape[0]:
            u = jnp.repeat(u, 2)
        for _ in range(3):
            u = u + 0.4 * (level - (3 * u - jnp.roll(u, 1) - jnp.roll(u, -1)))
    return jnp.dot(u, f)


@program(
    args=lambda: (rng(14).normal(size=16),),
    wrt=("f",),
    jax=multigrid_levels_jax,
    tags=("pde", "list-of-arrays", "reversed", "while"),
)
def multigrid_levels(f):
    """Full multigrid upwards through a list of ever coarser right-hand sides."""
    levels = [f]
    while len(levels[-1]) > 2:
        fine = levels[-1]
        levels.append(0.5 * (fine[::2] + fine[1::2]))
    u = np.zeros(len(levels[-1]))
    for rhs in reversed(levels):
        if len(rhs) > len(u):
            u = np.repeat(u, 2)
        for _ in range(3):
            au = 3 * u - np.roll(u, 1) - np.roll(u, -1)
            u += 0.4 * (rhs - au)
    return u @ f


def shallow_water_jax(h, hu, g, lam, steps):
    import jax.numpy as jnp

    for _ in range(steps):
        f1 = hu
        f2 = hu**2 / h + 0.5 * g * h**2
        c = jnp.maximum(jnp.abs(hu / h)[:-1] + jnp.sqrt(g * h[:-1]), jnp.abs(hu / h)[1:] + jnp.sqrt(g * h[1:]))
        q1 = 0.5 * (f1[:-1] + f1[1:]) - 0.5 * c * (h[1:] - h[:-1])
        q2 = 0.5 * (f2[:-1] + f2[1:]) - 0.5 * c * (hu[1:] - hu[:-1])
        h = h.at[1:-1].add(-lam * (q1[1:] - q1[:-1]))
        hu = hu.at[1:-1].add(-lam * (q2[1:] - q2[:-1]))
    return h, hu


@program(
    args=lambda: (
        2.0 + np.array([0.9, 0.8, 0.75, 0.6, 0.3, 0.1, 0.05, 0.0]),
        np.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.3, 0.2, 0.1]),
        9.81,
        0.05,
        6,
    ),
    wrt=("h", "hu", "g"),
    jax=shallow_water_jax,
    tags=("pde", "helper", "tuple-result"),
)
def shallow_water(h, hu, g, lam, steps):
    """One-dimensional shallow water with Rusanov fluxes."""

    def physical(h, m):
        return m, m * m / h + 0.5 * g * h * h

    def rusanov(hl, ml, hr, mr):
        fl, fr = physical(hl, ml), physical(hr, mr)
        speed = max(abs(ml / hl) + np.sqrt(g * hl), abs(mr / hr) + np.sqrt(g * hr))
        return 0.5 * (fl[0] + fr[0]) - 0.5 * speed * (hr - hl), 0.5 * (fl[1] + fr[1]) - 0.5 * speed * (mr - ml)

    h, hu = h.copy(), hu.copy()
    n = h.shape[0]
    for _ in range(steps):
        fluxes = np.array([rusanov(h[i], hu[i], h[i + 1], hu[i + 1]) for i in range(n - 1)])
        h[1:-1] -= lam * (fluxes[1:, 0] - fluxes[:-1, 0])
        hu[1:-1] -= lam * (fluxes[1:, 1] - fluxes[:-1, 1])
    return h, hu


def lattice_boltzmann_jax(f, tau, force, steps):
    import jax.numpy as jnp

    c = jnp.array([0.0, 1.0, -1.0])[:, None]
    w = jnp.array([2 / 3, 1 / 6, 1 / 6])[:, None]
    for _ in range(steps):
        rho = f.sum(axis=0)
        u = (f * c).sum(axis=0) / rho + tau * force / rho
        feq = w * rho * (1 + 3 * c * u + 4.5 * (c * u) ** 2 - 1.5 * u**2)
        f = f - (f - feq) / tau
        f = jnp.stack([f[0], jnp.roll(f[1], 1), jnp.roll(f[2], -1)])
    return (f[1] - f[2]).sum() + (f.sum(axis=0) ** 2).mean()


@program(
    args=lambda: (rng(15).uniform(0.2, 0.6, (3, 8)), 0.8, 0.01, 5),
    wrt=("f", "tau", "force"),
    jax=lattice_boltzmann_jax,
    tags=("pde", "broadcast", "roll", "in-place"),
)
def lattice_boltzmann(f, tau, force, steps):
    """The D1Q3 lattice: collide, then stream row by row in place."""
    c = np.array([0, 1, -1])
    w = np.array([2 / 3, 1 / 6, 1 / 6])
    for _ in range(steps):
        rho = f.sum(axis=0)
        u = (f * c[:, None]).sum(axis=0) / rho
        u += tau * force / rho
        for k in range(3):
            feq = w[k] * rho * (1 + 3 * c[k] * u + 4.5 * (c[k] * u) ** 2 - 1.5 * u**2)
            f[k] -= (f[k] - feq) / tau
        f[1] = np.roll(f[1], 1)
        f[2, :] = np.roll(f[2], -1)
    return (f[1] - f[2]).sum() + (f.sum(axis=0) ** 2).mean()


def level_set_jax(phi, speed, dt, steps):
    import jax.numpy as jnp

    for _ in range(steps):
        p = jnp.pad(phi, 1, mode="edge")
        a, b = phi - p[1:-1, :-2], p[1:-1, 2:] - phi
        c, d = phi - p[:-2, 1:-1], p[2:, 1:-1] - phi
        z = 0.0
        plus = jnp.maximum(a, z) ** 2 + jnp.minimum(b, z) ** 2 + jnp.maximum(c, z) ** 2 + jnp.minimum(d, z) ** 2
        phi = phi - dt * speed * jnp.sqrt(plus + 1e-8)
    return jnp.sum(0.5 * (1 - jnp.tanh(phi)))


@program(
    args=lambda: (rng(16).normal(size=(4, 5)), rng(17).uniform(0.5, 1.0, (4, 5)), 0.1, 3),
    wrt=("phi", "speed"),
    jax=level_set_jax,
    tags=("pde", "pad", "minmax"),
)
def level_set(phi, speed, dt, steps):
    """Area enclosed by a front that moves outwards (Osher-Sethian upwinding)."""
    for _ in range(steps):
        p = np.pad(phi, 1, mode="edge")
        dxm = phi - p[1:-1, :-2]
        dxp = p[1:-1, 2:] - phi
        dym = phi - p[:-2, 1:-1]
        dyp = p[2:, 1:-1] - phi
        grad = np.maximum(dxm, 0) ** 2 + np.minimum(dxp, 0) ** 2
        grad += np.maximum(dym, 0) ** 2
        grad += np.minimum(dyp, 0) ** 2
        phi = phi - dt * speed * np.sqrt(grad + 1e-8)
    return np.sum(0.5 * (1 - np.tanh(phi)))


def gray_scott_jax(u, v, feed, kill, steps):
    import jax.numpy as jnp

    def lap(a):
        return jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1) - 4 * a

    for _ in range(steps):
        uvv = u * v * v
        u, v = u + 0.16 * lap(u) - uvv + feed * (1 - u), v + 0.08 * lap(v) + uvv - (feed + kill) * v
    return v.sum()


@program(
    args=lambda: (rng(18).uniform(0.3, 1, (4, 5)), rng(19).uniform(0, 0.5, (4, 5)), 0.035, 0.065, 4),
    wrt=("u", "v", "feed", "kill"),
    jax=gray_scott_jax,
    tags=("pde", "chemistry", "out-argument"),
)
def gray_scott(u, v, feed, kill, steps):
    """Reaction-diffusion on a torus, with preallocated buffers."""
    lap_u, lap_v, uvv = np.empty_like(u), np.empty_like(v), np.empty_like(u)

    def laplacian(a, out):
        out[:] = -4 * a
        for axis in (0, 1):
            for shift in (-1, 1):
                out += np.roll(a, shift, axis=axis)

    for _ in range(steps):
        laplacian(u, lap_u)
        laplacian(v, lap_v)
        np.multiply(u, v, out=uvv)
        uvv *= v
        u += 0.16 * lap_u - uvv + feed * (1 - u)
        v += 0.08 * lap_v + uvv - (feed + kill) * v
    return v.sum()


def smooth_life_jax(board, sharpness, generations):
    import jax.numpy as jnp

    b = jnp.pad(board, 1)
    for _ in range(generations):
        n = b[:-2, :-2] + b[:-2, 1:-1] + b[:-2, 2:] + b[1:-1, :-2] + b[1:-1, 2:]
        n = n + b[2:, :-2] + b[2:, 1:-1] + b[2:, 2:]
        alive = b[1:-1, 1:-1]
        new = 1 / (1 + jnp.exp(-sharpness * (n - 2.5 + alive))) / (1 + jnp.exp(sharpness * (n - 3.5)))
        b = b.at[1:-1, 1:-1].set(new)
    return b.sum()


@program(
    args=lambda: (rng(20).uniform(0, 1, (5, 5)), 2.0, 3),
    wrt=("board", "sharpness"),
    jax=smooth_life_jax,
    tags=("pde", "stencil", "views"),
)
def smooth_life(board, sharpness, generations):
    """A differentiable game of life; neighbours counted through shifted views."""
    n, m = board.shape
    b = np.zeros((n + 2, m + 2))
    inner = b[1:-1, 1:-1]
    inner[...] = board
    for _ in range(generations):
        count = np.zeros((n, m))
        for di in range(3):
            for dj in range(3):
                if di == 1 and dj == 1:
                    continue
                count += b[di : di + n, dj : dj + m]
        birth = 1 / (1 + np.exp(-sharpness * (count - 2.5 + inner)))
        inner[:] = birth / (1 + np.exp(sharpness * (count - 3.5)))
    return b.sum()


def red_black_jax(u, f, sweeps):
    n = u.shape[0]
    for _ in range(sweeps):
        for start in (1, 2):
            u = u.at[start : n - 1 : 2].set(
                0.5 * (u[start - 1 : n - 2 : 2] + u[start + 1 : n : 2] + f[start : n - 1 : 2])
            )
    return u


@program(
    args=lambda: (rng(21).normal(size=12), rng(22).normal(size=12), 5),
    wrt=("u", "f"),
    jax=red_black_jax,
    tags=("pde", "strided-slices", "array-result"),
)
def red_black_relaxation(u, f, sweeps):
    u = u.copy()
    for _ in range(sweeps):
        for start in (1, 2):
            u[start:-1:2] = 0.5 * (u[start - 1 : -2 : 2] + u[start + 1 :: 2] + f[start:-1:2])
    return u


def cahn_hilliard_jax(c, mobility, eps, dt, steps):
    import jax.numpy as jnp

    for _ in range(steps):
        mu = c**3 - c - eps**2 * (jnp.roll(c, 1) + jnp.roll(c, -1) - 2 * c)
        c = c + dt * mobility * (jnp.roll(mu, 1) + jnp.roll(mu, -1) - 2 * mu)
    return 0.25 * ((c**2 - 1) ** 2).sum() + 0.5 * eps**2 * ((jnp.roll(c, -1) - c) ** 2).sum()


@program(
    args=lambda: (0.3 * rng(23).normal(size=14), 1.0, 0.9, 0.05, 6),
    wrt=("c", "mobility", "eps"),
    jax=cahn_hilliard_jax,
    tags=("pde", "fancy-index"),
)
def cahn_hilliard(c, mobility, eps, dt, steps):
    """Phase separation; periodic neighbours by index arrays."""
    n = c.size
    idx = np.arange(n)
    left, right = (idx - 1) % n, (idx + 1) % n
    for _ in range(steps):
        mu = c**3 - c - eps**2 * (c[left] + c[right] - 2 * c)
        c = c + dt * mobility * (mu[left] + mu[right] - 2 * mu)
    bulk = 0.25 * ((c**2 - 1) ** 2).sum()
    gradient = 0.5 * eps**2 * ((c[right] - c) ** 2).sum()
    return bulk + gradient
