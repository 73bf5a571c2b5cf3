"""Chemistry, biology, climate, astronomy and engineering models."""

import math
from collections import namedtuple

import numpy as np

from .registry import program, rng


def michaelis_menten_jax(vmax, km, s0, inhibitor, ki, dt, observed):
    import jax.numpy as jnp

    s, sse = s0, 0.0
    for obs in observed:
        for _ in range(3):
            s = s - dt * vmax * s / (km * (1 + inhibitor / ki) + s)
        sse = sse + (jnp.log(s) - jnp.log(obs)) ** 2
    return sse


@program(
    args=lambda: (1.2, 0.8, 5.0, 0.3, 0.7, 0.1, np.array([4.6, 4.4, 4.0, 3.9, 3.5])),
    wrt=("vmax", "km", "s0", "inhibitor", "ki"),
    jax=michaelis_menten_jax,
    tags=("chemistry", "fit", "math"),
)
def michaelis_menten(vmax, km, s0, inhibitor, ki, dt, observed):
    """Misfit in logarithms of a substrate consumed under competitive inhibition."""
    s = s0
    sse = 0
    for obs in observed:
        for _ in range(3):
            s -= dt * vmax * s / (km * (1 + inhibitor / ki) + s)
        sse += (math.log(s) - math.log(obs)) ** 2
    return sse


def chemical_equilibrium_jax(log_k, total):
    import jax.numpy as jnp

    k1, k2 = jnp.exp(log_k)
    x = jnp.log(total / 2)
    for _ in range(25):
        a, b = jnp.exp(x)
        f = jnp.stack([a + k1 * a * b + 2 * k2 * a * a - total[0], b + k1 * a * b - total[1]])
        j = jnp.stack(
            [jnp.stack([a + k1 * a * b + 4 * k2 * a * a, k1 * a * b]), jnp.stack([k1 * a * b, b + k1 * a * b])]
        )
        x = x - jnp.linalg.solve(j, f)
    return jnp.exp(x), k1 * jnp.exp(x[0] + x[1])


@program(
    args=lambda: (np.array([1.2, -0.4]), np.array([1.0, 0.7])),
    wrt=("log_k", "total"),
    jax=chemical_equilibrium_jax,
    tags=("chemistry", "newton", "while", "linalg", "tuple-result"),
)
def chemical_equilibrium(log_k, total):
    """Free concentrations of A and B with complexes AB and A2, Newton in logarithms."""
    k1, k2 = np.exp(log_k[0]), np.exp(log_k[1])
    x = np.log(total / 2)
    converged = False
    n = 0
    while not converged and n < 40:
        a, b = np.exp(x)
        ab, a2 = k1 * a * b, k2 * a**2
        residual = np.array([a + ab + 2 * a2 - total[0], b + ab - total[1]])
        jac = np.array([[a + ab + 4 * a2, ab], [ab, b + ab]])
        step = np.linalg.solve(jac, residual)
        x = x - step
        n += 1
        converged = n > 5 and np.max(np.abs(step)) < 1e-13
    a, b = np.exp(x)
    return np.array([a, b]), k1 * a * b


def scf_toy_jax(h, coupling, n_occ, cycles):
    import jax.numpy as jnp

    rho = jnp.full(h.shape[0], n_occ / h.shape[0])
    for _ in range(cycles):
        f = 0.5 * (h + h.T) + jnp.diag(coupling * rho)
        g = jnp.linalg.solve(jnp.eye(h.shape[0]) + 0.5 * f @ f, jnp.eye(h.shape[0]))
        new = jnp.diag(g) / jnp.trace(g) * n_occ
        rho = 0.5 * rho + 0.5 * new
    return jnp.sum(rho * jnp.diag(h)) + 0.5 * coupling * jnp.sum(rho**2)


@program(
    args=lambda: (rng(1).normal(size=(4, 4)), 0.7, 2.0, 6),
    wrt=("h", "coupling", "n_occ"),
    jax=scf_toy_jax,
    tags=("chemistry", "self-consistency", "linalg", "diagonal"),
)
def scf_density_toy(h, coupling, n_occ, cycles):
    """A self-consistent field with damping; the density comes from a resolvent instead of eigenvectors."""
    n = h.shape[0]
    core = (h + h.T) / 2
    rho = np.ones(n) * n_occ / n
    for _ in range(cycles):
        fock = core.copy()
        for i in range(n):
            fock[i, i] += coupling * rho[i]
        g = np.linalg.inv(np.eye(n) + 0.5 * fock @ fock)
        new = np.diag(g) / np.trace(g) * n_occ
        rho = 0.5 * rho + 0.5 * new
    return np.sum(rho * np.diag(core)) + 0.5 * coupling * np.sum(rho**2)


def roothaan_jax(core, repulsion, cycles):
    import jax.numpy as jnp

    c = jnp.array([1.0, 0.4])
    c = c / jnp.linalg.norm(c)
    for _ in range(cycles):
        p = jnp.outer(c, c)
        f = core + 2 * jnp.einsum("ijkl,kl->ij", repulsion, p) - jnp.einsum("ikjl,kl->ij", repulsion, p)
        f = 0.5 * (f + f.T)
        theta = 0.5 * jnp.arctan2(2 * f[0, 1], f[0, 0] - f[1, 1]) + jnp.pi / 2
        c = jnp.stack([jnp.cos(theta), jnp.sin(theta)])
    p = jnp.outer(c, c)
    return 2 * jnp.sum(core * p) + jnp.einsum("ij,ijkl,kl->", p, repulsion, p)


@program(
    args=lambda: (np.array([[-1.8, -0.6], [-0.6, -1.1]]), 0.2 * rng(2).uniform(0.5, 1, (2, 2, 2, 2)), 8),
    wrt=("core", "repulsion"),
    jax=roothaan_jax,
    tags=("chemistry", "self-consistency", "4d-array", "deep-nest"),
)
def hartree_fock_two_orbitals(core, repulsion, cycles):
    """Two electrons in two orbitals; the 2x2 Fock matrix is diagonalised by one rotation."""
    c = np.array([1.0, 0.4])
    c /= np.linalg.norm(c)

    def fock_matrix(p):
        f = core.copy()
        for i in range(2):
            for j in range(2):
                for k in range(2):
                    for m in range(2):
                        f[i, j] += p[k, m] * (2 * repulsion[i, j, k, m] - repulsion[i, k, j, m])
        return 0.5 * (f + f.T)

    for _ in range(cycles):
        f = fock_matrix(np.outer(c, c))
        theta = 0.5 * math.atan2(2 * f[0, 1], f[0, 0] - f[1, 1]) + 0.5 * math.pi
        c = np.array([math.cos(theta), math.sin(theta)])
    p = np.outer(c, c)
    energy = 2 * np.sum(core * p)
    for i in range(2):
        for j in range(2):
            energy += p[i, j] * (repulsion[i, j] * p).sum()
    return energy


def ising_mean_field_jax(j, h, beta, m, sweeps):
    import jax.numpy as jnp

    n = h.shape[0]
    for _ in range(sweeps):
        for i in range(n):
            m = m.at[i].set(jnp.tanh(beta * (jnp.dot(j[i], m) - j[i, i] * m[i] + h[i])))
    return m


@program(
    args=lambda: (0.3 * rng(3).normal(size=(4, 4)), rng(4).normal(size=4), 0.9, np.zeros(4), 6),
    wrt=("j", "h", "beta", "m"),
    jax=ising_mean_field_jax,
    tags=("physics", "in-place", "mutates-argument", "array-result"),
)
def ising_mean_field(j, h, beta, m, sweeps):
    n = len(m)
    for _ in range(sweeps):
        for i in range(n):
            field = h[i]
            for k in range(n):
                if k != i:
                    field += j[i, k] * m[k]
            m[i] = np.tanh(beta * field)
    return m


def transfer_matrix_jax(couplings, field, beta):
    import jax.numpy as jnp

    t = jnp.eye(2)
    spins = jnp.array([1.0, -1.0])
    for j in couplings:
        t = t @ jnp.exp(beta * (j * jnp.outer(spins, spins) + 0.5 * field * (spins[:, None] + spins[None])))
    return -jnp.log(jnp.trace(t)) / beta


@program(
    args=lambda: (rng(5).normal(size=6), 0.3, 0.8),
    wrt=("couplings", "field", "beta"),
    jax=transfer_matrix_jax,
    tags=("physics", "matmul", "trace"),
)
def ising_transfer_matrix(couplings, field, beta):
    """Free energy of an Ising ring."""
    product = np.eye(2)
    for j in couplings:
        t = np.empty((2, 2))
        for a, s1 in enumerate((1, -1)):
            for b, s2 in enumerate((1, -1)):
                t[a, b] = np.exp(beta * (j * s1 * s2 + 0.5 * field * (s1 + s2)))
        product = product @ t
    return -np.log(np.trace(product)) / beta


def felsenstein_jax(lengths, rate, base, leaves, tree):
    import jax.numpy as jnp

    def partial(node):
        if isinstance(node, int):
            return jnp.eye(4)[leaves[node]]
        out = 1.0
        for child, edge in node:
            e = jnp.exp(-rate * lengths[edge])
            v = partial(child)
            out = out * (e * v + (1 - e) * jnp.dot(base, v))
        return out

    return jnp.log(jnp.dot(base, partial(tree)))


@program(
    args=lambda: (
        np.array([0.1, 0.25, 0.3, 0.15, 0.2, 0.4]),
        1.3,
        np.array([0.3, 0.2, 0.2, 0.3]),
        [0, 2, 0, 3],
        ((((0, 0), (1, 1)), 4), (((2, 2), (3, 3)), 5)),
    ),
    wrt=("lengths", "rate", "base"),
    jax=felsenstein_jax,
    tags=("biology", "recursion", "nested-tuples", "isinstance"),
)
def felsenstein_pruning(lengths, rate, base, leaves, tree):
    """Likelihood of one site on a tree given as nested tuples of (child, edge)."""

    def partial(node):
        if isinstance(node, int):
            v = np.zeros(4)
            v[leaves[node]] = 1.0
            return v
        out = np.ones(4)
        for child, edge in node:
            below = partial(child)
            stay = np.exp(-rate * lengths[edge])
            out *= stay * below + (1 - stay) * (base @ below)
        return out

    return np.log(base @ partial(tree))


def postorder_jax(parent, lengths, kappa, sites):
    import jax.numpy as jnp

    n = parent.shape[0]
    total = 0.0
    for site in sites:
        like = [jnp.eye(2)[s] if s >= 0 else jnp.ones(2) for s in site]
        for i in range(n - 1):
            e = jnp.exp(-kappa * lengths[i])
            like[parent[i]] = like[parent[i]] * (e * like[i] + (1 - e) * 0.5 * jnp.sum(like[i]))
        total = total + jnp.log(0.5 * jnp.sum(like[n - 1]))
    return total


@program(
    args=lambda: (
        np.array([3, 3, 4, 4, -1]),
        np.array([0.2, 0.3, 0.5, 0.1]),
        0.9,
        np.array([[0, 1, 0, -1, -1], [0, 0, 1, -1, -1], [1, 1, 1, -1, -1]]),
    ),
    wrt=("lengths", "kappa"),
    jax=postorder_jax,
    tags=("biology", "parent-array", "in-place", "integer-data"),
)
def phylogeny_postorder(parent, lengths, kappa, sites):
    """Pruning along a parent array, children before parents, for two-state characters."""
    n = len(parent)
    loglik = 0.0
    for site in sites:
        like = np.ones((n, 2))
        for i in range(n):
            if site[i] >= 0:
                like[i, 1 - site[i]] = 0.0
        for i in range(n - 1):
            decay = np.exp(-kappa * lengths[i])
            like[parent[i]] *= decay * like[i] + (1 - decay) * like[i].mean()
        loglik += np.log(like[-1].mean())
    return loglik


def wright_fisher_jax(p, s, h, mu, migration, generations):
    import jax.numpy as jnp

    for _ in range(generations):
        q = 1 - p
        w_bar = p * p * (1 + s) + 2 * p * q * (1 + h * s) + q * q
        p = (p * p * (1 + s) + p * q * (1 + h * s)) / w_bar
        p = p * (1 - mu) + (1 - p) * mu
        p = (1 - migration) * p + migration * jnp.mean(p)
    return 2 * p * (1 - p)


@program(
    args=lambda: (np.array([0.1, 0.4, 0.7]), np.array([0.1, 0.02, -0.05]), 0.5, 1e-2, 0.05, 12),
    wrt=("p", "s", "h", "mu", "migration"),
    jax=wright_fisher_jax,
    tags=("biology", "population-genetics", "vectorised", "array-result"),
)
def selection_migration(p, s, h, mu, migration, generations):
    """Heterozygosity in demes after selection, mutation and migration."""
    for _ in range(generations):
        q = 1 - p
        mean_fitness = p**2 * (1 + s) + 2 * p * q * (1 + h * s) + q**2
        p = (p**2 * (1 + s) + p * q * (1 + h * s)) / mean_fitness
        p = p * (1 - mu) + (1 - p) * mu
        p = (1 - migration) * p + migration * p.mean()
    return 2 * p * (1 - p)


def leslie_jax(fertility, survival, n0, capacity, years):
    import jax.numpy as jnp

    n = n0
    for _ in range(years):
        births = jnp.dot(fertility, n) / (1 + jnp.sum(n) / capacity)
        n = jnp.concatenate([births[None], survival * n[:-1]])
    return jnp.sum(n)


@program(
    args=lambda: (np.array([0.0, 1.2, 1.5, 0.3]), np.array([0.5, 0.7, 0.4]), np.array([10.0, 6.0, 3.0, 1.0]), 40.0, 10),
    wrt=("fertility", "survival", "n0", "capacity"),
    jax=leslie_jax,
    tags=("biology", "overlapping-slices", "mutates-argument"),
)
def leslie_matrix(fertility, survival, n0, capacity, years):
    """An age-structured population, shifted by one class each year in the same array."""
    n = n0
    for _ in range(years):
        births = np.dot(fertility, n) / (1 + n.sum() / capacity)
        n[1:] = survival * n[:-1]
        n[0] = births
    return n.sum()


def tumour_growth_jax(rate, capacity, kill, doses, clearance, n0):
    import jax.numpy as jnp

    n, drug = n0, 0.0
    for dose in doses:
        drug = drug + dose
        for _ in range(5):
            growth = rate * n * jnp.log(capacity / n)
            n = n + 0.1 * (growth - kill * drug * n / (1 + drug))
            drug = drug * jnp.exp(-0.1 * clearance)
    return jnp.log(n)


@program(
    args=lambda: (0.5, 10.0, 0.9, np.array([0.0, 1.0, 0.0, 1.5, 0.5]), 0.8, 2.0),
    wrt=("rate", "capacity", "kill", "doses", "clearance", "n0"),
    jax=tumour_growth_jax,
    tags=("biology", "generator-function", "while"),
)
def tumour_growth(rate, capacity, kill, doses, clearance, n0):
    """Gompertz growth under a drug; the schedule comes from a generator."""

    def schedule():
        for dose in doses:
            yield dose
            for _ in range(4):
                yield 0.0

    n, drug = n0, 0.0
    for dose in schedule():
        drug += dose
        growth = rate * n * np.log(capacity / n)
        n += 0.1 * (growth - kill * drug * n / (1 + drug))
        drug *= np.exp(-0.1 * clearance)
    return np.log(n)


def energy_balance_jax(temp, solar, diffusivity, emissivity, steps):
    import jax.numpy as jnp

    for _ in range(steps):
        ice = 0.5 * (1 - jnp.tanh((temp + 2) / 5))
        absorbed = solar * (1 - 0.3 - 0.3 * ice)
        outgoing = emissivity * 5.67e-8 * (temp + 273.15) ** 4
        t = jnp.pad(temp, 1, mode="edge")
        temp = temp + 0.02 * (absorbed - outgoing + diffusivity * (t[2:] - 2 * temp + t[:-2]))
    return jnp.mean(temp), jnp.max(temp) - jnp.min(temp)


@program(
    args=lambda: (
        np.array([25.0, 20.0, 10.0, -1.0, -15.0]),
        np.array([420.0, 390.0, 330.0, 250.0, 190.0]),
        3.0,
        0.61,
        12,
    ),
    wrt=("temp", "solar", "diffusivity", "emissivity"),
    jax=energy_balance_jax,
    tags=("climate", "boundary-branches", "max", "tuple-result"),
)
def energy_balance(temp, solar, diffusivity, emissivity, steps):
    """Budyko-Sellers climate with ice-albedo feedback in latitude bands."""
    sigma = 5.67e-8
    n = len(temp)
    for _ in range(steps):
        new = temp.copy()
        for i in range(n):
            ice = 0.5 * (1 - np.tanh((temp[i] + 2) / 5))
            absorbed = solar[i] * (1 - 0.3 - 0.3 * ice)
            outgoing = emissivity * sigma * (temp[i] + 273.15) ** 4
            transport = 0.0
            if i > 0:
                transport += temp[i - 1] - temp[i]
            if i < n - 1:
                transport += temp[i + 1] - temp[i]
            new[i] += 0.02 * (absorbed - outgoing + diffusivity * transport)
        temp = new
    return temp.mean(), temp.max() - temp.min()


def radiative_transfer_jax(absorption, temperature, surface):
    import jax.numpy as jnp

    flux = surface**4
    for k, t in zip(absorption, temperature, strict=True):
        tau = jnp.exp(-k)
        flux = flux * tau + t**4 * (1 - tau)
    down = 0.0
    for k, t in zip(absorption[::-1], temperature[::-1], strict=True):
        tau = jnp.exp(-k)
        down = down * tau + t**4 * (1 - tau)
    return flux, down


@program(
    args=lambda: (rng(6).uniform(0.1, 0.9, 6), np.linspace(1.1, 0.8, 6), 1.15),
    wrt=("absorption", "temperature", "surface"),
    jax=radiative_transfer_jax,
    tags=("climate", "zip-reversed", "tuple-result"),
)
def radiative_transfer(absorption, temperature, surface):
    """Up- and downwelling grey radiation through layers."""
    up = surface**4
    for k, t in zip(absorption, temperature):
        tau = np.exp(-k)
        up = up * tau + t**4 * (1 - tau)
    down = 0.0
    for k, t in zip(absorption[::-1], reversed(temperature)):
        tau = np.exp(-k)
        down = down * tau + t**4 * (1 - tau)
    return up, down


def stellar_structure_jax(rho_c, k, gamma, dr):
    import jax
    import jax.numpy as jnp

    def body(s):
        r, m, p, n = s
        rho = (p / k) ** (1 / gamma)
        dm = 4 * jnp.pi * r * r * rho * dr
        dp = -m * rho / (r * r) * dr
        return r + dr, m + dm, p + dp, n + 1

    p0 = k * rho_c**gamma
    r0 = dr
    start = (jnp.asarray(r0), 4 / 3 * jnp.pi * r0**3 * rho_c, p0, 0)
    end = jax.lax.while_loop(lambda s: (s[2] > 0.05) & (s[3] < 500), body, start)
    return end[1]


@program(
    args=lambda: (1.2, 0.8, 1.7, 0.02),
    wrt=("rho_c", "k", "gamma"),
    jax=stellar_structure_jax,
    tags=("astronomy", "while", "scalar"),
)
def stellar_structure(rho_c, k, gamma, dr):
    """Mass of a polytropic star, integrated outwards until the pressure is low."""
    r = dr
    m = 4 / 3 * math.pi * r**3 * rho_c
    p = k * rho_c**gamma
    steps = 0
    while p > 0.05:
        rho = (p / k) ** (1 / gamma)
        dm = 4 * math.pi * r * r * rho * dr
        p += -m * rho / (r * r) * dr
        m += dm
        r += dr
        steps += 1
        if steps >= 500:
            break
    return m


Cosmology = namedtuple("Cosmology", "h om ol")


def luminosity_distance_jax(cosmology, z, observed):
    import jax.numpy as jnp

    h, om, ol = cosmology
    chi = 0.0
    for zi, mu in zip(z, observed, strict=True):
        grid = jnp.linspace(0, 1, 17) * zi
        e = jnp.sqrt(om * (1 + grid) ** 3 + (1 - om - ol) * (1 + grid) ** 2 + ol)
        w = np.array([1] + [4, 2] * 7 + [4, 1]) / 48
        dc = zi * jnp.sum(w / e)
        chi = chi + (5 * jnp.log10(2.998e3 / h * (1 + zi) * dc) + 25 - mu) ** 2
    return chi


@program(
    args=lambda: (Cosmology(0.7, 0.3, 0.65), np.array([0.1, 0.4, 0.9]), np.array([38.2, 41.6, 43.9])),
    wrt=("cosmology", "z"),
    jax=luminosity_distance_jax,
    tags=("astronomy", "namedtuple", "simpson", "branches"),
)
def supernova_chi2(cosmology, z, observed):
    def hubble(x):
        curvature = 1 - cosmology.om - cosmology.ol
        return np.sqrt(cosmology.om * (1 + x) ** 3 + curvature * (1 + x) ** 2 + cosmology.ol)

    chi2 = 0.0
    for zi, mu in zip(z, observed):
        n = 16
        total = 0.0
        for i in range(n + 1):
            if i == 0 or i == n:
                weight = 1
            elif i % 2:
                weight = 4
            else:
                weight = 2
            total += weight / hubble(i * zi / n)
        distance = total * zi / n / 3
        modulus = 5 * np.log10(2.998e3 / cosmology.h * (1 + zi) * distance) + 25
        chi2 += (modulus - mu) ** 2
    return chi2


def truss_jax(nodes, elements, areas, load, young):
    import jax.numpy as jnp

    n = 2 * nodes.shape[0]
    k = jnp.zeros((n, n))
    for (a, b), area in zip(elements, areas, strict=True):
        d = nodes[b] - nodes[a]
        length = jnp.linalg.norm(d)
        v = jnp.concatenate([-d, d]) / length
        dof = np.array([2 * a, 2 * a + 1, 2 * b, 2 * b + 1])
        k = k.at[dof[:, None], dof[None]].add(young * area / length * jnp.outer(v, v))
    free = np.arange(4, n)
    u = jnp.linalg.solve(k[4:, 4:], load[free])
    return jnp.dot(u, load[free])


@program(
    args=lambda: (
        np.array([[0.0, 0.0], [0.0, 1.0], [1.1, 0.1], [1.0, 0.9]]),
        np.array([[0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]),
        np.array([1.0, 0.8, 0.6, 1.1, 0.9]),
        np.array([0, 0, 0, 0, 0.3, -1.0, 0.2, -0.5]),
        2.5,
    ),
    wrt=("nodes", "areas", "load", "young"),
    jax=truss_jax,
    tags=("engineering", "scatter-add", "linalg", "integer-data"),
)
def truss_compliance(nodes, elements, areas, load, young):
    """Work done by the load on a plane truss whose first two nodes are fixed."""
    n = 2 * len(nodes)
    K = np.zeros((n, n))
    for e in range(len(elements)):
        a, b = elements[e]
        dx, dy = nodes[b] - nodes[a]
        length = np.sqrt(dx**2 + dy**2)
        c, s = dx / length, dy / length
        direction = np.array([-c, -s, c, s])
        dofs = [2 * a, 2 * a + 1, 2 * b, 2 * b + 1]
        stiffness = young * areas[e] / length
        for i, p in enumerate(dofs):
            for j, q in enumerate(dofs):
                K[p, q] += stiffness * direction[i] * direction[j]
    u = np.zeros(n)
    u[4:] = np.linalg.solve(K[4:, 4:], load[4:])
    return u @ load


def fem_1d_jax(x, conductivity, source):
    import jax.numpy as jnp

    n = x.shape[0]
    k, f = jnp.zeros((n, n)), jnp.zeros(n)
    for e in range(n - 1):
        h = x[e + 1] - x[e]
        k = k.at[e : e + 2, e : e + 2].add(conductivity[e] / h * jnp.array([[1.0, -1.0], [-1.0, 1.0]]))
        f = f.at[e : e + 2].add(source[e] * h / 2)
    return jnp.linalg.solve(k[1:-1, 1:-1], f[1:-1])


@program(
    args=lambda: (np.array([0.0, 0.2, 0.5, 0.7, 1.1, 1.4]), rng(7).uniform(0.5, 2, 5), rng(8).normal(size=5)),
    wrt=("x", "conductivity", "source"),
    jax=fem_1d_jax,
    tags=("engineering", "block-add", "linalg", "array-result"),
)
def fem_1d(x, conductivity, source):
    """Linear elements for -(k u')' = f with u = 0 at both ends."""
    n = len(x)
    K = np.zeros((n, n))
    F = np.zeros(n)
    for e in range(n - 1):
        h = x[e + 1] - x[e]
        ke = conductivity[e] / h * np.array([[1, -1], [-1, 1]])
        K[e : e + 2, e : e + 2] += ke
        F[e : e + 2] += source[e] * h / 2
    return np.linalg.solve(K[1:-1, 1:-1], F[1:-1])


def beam_jax(stiffness, load, n_elements):
    import jax.numpy as jnp

    h = 1.0 / n_elements
    n = 2 * (n_elements + 1)
    base = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h], [-12, -6 * h, 12, -6 * h],
                     [6 * h, 2 * h * h, -6 * h, 4 * h * h]]) / h**3  # fmt: skip
    k = jnp.zeros((n, n))
    f = jnp.zeros(n)
    for e in range(n_elements):
        k = k.at[2 * e : 2 * e + 4, 2 * e : 2 * e + 4].add(stiffness[e] * base)
        f = f.at[2 * e : 2 * e + 4].add(load[e] * np.array([h / 2, h * h / 12, h / 2, -h * h / 12]))
    u = jnp.linalg.solve(k[2:, 2:], f[2:])
    return u[-2] + 0.1 * u[-1]


@program(
    args=lambda: (np.array([1.0, 0.9, 0.7, 0.5]), np.array([0.2, 0.5, 0.3, 1.0]), 4),
    wrt=("stiffness", "load"),
    jax=beam_jax,
    tags=("engineering", "views", "block-add", "linalg"),
)
def cantilever_beam(stiffness, load, n_elements):
    """Tip deflection of an Euler-Bernoulli cantilever; element blocks are views of the global matrix."""
    h = 1.0 / n_elements
    ndof = 2 * (n_elements + 1)
    K = np.zeros((ndof, ndof))
    f = np.zeros(ndof)
    block = np.array(
        [
            [12, 6 * h, -12, 6 * h],
            [6 * h, 4 * h**2, -6 * h, 2 * h**2],
            [-12, -6 * h, 12, -6 * h],
            [6 * h, 2 * h**2, -6 * h, 4 * h**2],
        ]
    )
    for e in range(n_elements):
        first = 2 * e
        Ke = K[first : first + 4, first : first + 4]
        Ke += stiffness[e] * block / h**3
        fe = f[first : first + 4]
        fe += load[e] * np.array([h / 2, h**2 / 12, h / 2, -(h**2) / 12])
    u = np.linalg.solve(K[2:, 2:], f[2:])
    return u[-2] + 0.1 * u[-1]


def pid_jax(gains, mass, setpoint, limit, steps):
    import jax.numpy as jnp

    kp, ki, kd = gains["p"], gains["i"], gains["d"]
    x = v = integral = cost = 0.0
    previous = setpoint
    for _ in range(steps):
        error = setpoint - x
        integral = integral + 0.05 * error
        u = jnp.clip(kp * error + ki * integral + kd * (error - previous) / 0.05, -limit, limit)
        previous = error
        v = v + 0.05 * (u - 0.4 * v) / mass
        x = x + 0.05 * v
        cost = cost + error**2 + 0.01 * u**2
    return cost


@program(
    args=lambda: ({"p": 3.0, "i": 0.6, "d": 0.8}, 1.4, 1.0, 2.5, 40),
    wrt=("gains", "mass", "setpoint", "limit"),
    jax=pid_jax,
    tags=("engineering", "control", "class", "dict", "saturation"),
)
def pid_control(gains, mass, setpoint, limit, steps):
    """Quadratic cost of a saturated PID loop around a damped mass."""

    class Controller:
        def __init__(self, p, i, d):
            self.p, self.i, self.d = p, i, d
            self.integral = 0.0
            self.previous = None

        def __call__(self, error, dt):
            self.integral += dt * error
            slope = 0.0 if self.previous is None else (error - self.previous) / dt
            self.previous = error
            u = self.p * error + self.i * self.integral + self.d * slope
            return min(max(u, -limit), limit)

    controller = Controller(**gains)
    dt = 0.05
    x = v = cost = 0.0
    for _ in range(steps):
        error = setpoint - x
        u = controller(error, dt)
        v += dt * (u - 0.4 * v) / mass
        x += dt * v
        cost += error**2 + 0.01 * u**2
    return cost


def hydrology_jax(rain, capacity, recession, exponent, observed):
    import jax.numpy as jnp

    store, error = 0.5 * capacity, 0.0
    for p, q in zip(rain, observed, strict=True):
        quick = p * (store / capacity) ** exponent
        store = store + p - quick
        spill = jnp.maximum(store - capacity, 0.0)
        store = store - spill
        base = recession * store
        store = store - base
        error = error + (jnp.sqrt(quick + spill + base) - jnp.sqrt(q)) ** 2
    return error


@program(
    args=lambda: (np.array([3.0, 0.5, 12.0, 6.0, 0.2, 9.0]), 20.0, 0.15, 1.8, np.array([2.0, 1.5, 5.0, 4.0, 2.5, 5.0])),
    wrt=("rain", "capacity", "recession", "exponent"),
    jax=hydrology_jax,
    tags=("climate", "branches", "scalar"),
)
def bucket_hydrology(rain, capacity, recession, exponent, observed):
    store = 0.5 * capacity
    error = 0.0
    for p, q in zip(rain, observed):
        quick = p * (store / capacity) ** exponent
        store += p - quick
        spill = 0.0
        if store > capacity:
            spill = store - capacity
            store = capacity
        base = recession * store
        store -= base
        error += (np.sqrt(quick + spill + base) - np.sqrt(q)) ** 2
    return error


def power_flow_jax(conductance, injection, sweeps):
    import jax.numpy as jnp

    g = 0.5 * (conductance + conductance.T)
    n = injection.shape[0]
    v = jnp.ones(n + 1)
    for _ in range(sweeps):
        for i in range(1, n + 1):
            s = sum(g[i, j] for j in range(n + 1) if j != i)
            flow = sum(g[i, j] * v[j] for j in range(n + 1) if j != i)
            v = v.at[i].set((flow + injection[i - 1] / v[i]) / s)
    return v


@program(
    args=lambda: (rng(9).uniform(1, 3, (4, 4)), np.array([-0.3, 0.2, -0.4]), 5),
    wrt=("conductance", "injection"),
    jax=power_flow_jax,
    tags=("engineering", "in-place", "symmetrise", "array-result"),
)
def dc_power_flow(conductance, injection, sweeps):
    """Gauss-Seidel power flow in a direct-current grid with a slack bus."""
    g = 0.5 * (conductance + conductance.T)
    n = len(injection) + 1
    v = np.ones(n)
    for _ in range(sweeps):
        for i in range(1, n):
            flow, total = 0.0, 0.0
            for j in range(n):
                if j == i:
                    continue
                flow += g[i, j] * v[j]
                total += g[i, j]
            v[i] = (flow + injection[i - 1] / v[i]) / total
    return v


def pharmacokinetics_jax(theta, times, dose):
    import jax.numpy as jnp

    ka, cl, v, q, v2 = jnp.exp(theta)
    k10, k12, k21 = cl / v, q / v, q / v2
    s = k10 + k12 + k21
    root = jnp.sqrt(s**2 - 4 * k10 * k21)
    a, b = 0.5 * (s + root), 0.5 * (s - root)
    pa = ka / v * (k21 - a) / ((ka - a) * (b - a))
    pb = ka / v * (k21 - b) / ((ka - b) * (a - b))
    return dose * (pa * jnp.exp(-a * times) + pb * jnp.exp(-b * times) - (pa + pb) * jnp.exp(-ka * times))


@program(
    args=lambda: (np.array([0.5, -0.3, 1.2, 0.1, 1.5]), np.array([0.5, 1.0, 2.0, 4.0, 8.0]), 100.0),
    wrt=("theta", "times", "dose"),
    jax=pharmacokinetics_jax,
    tags=("biology", "unpacking", "array-result"),
)
def pharmacokinetics(theta, times, dose):
    """Concentration after an oral dose, two compartments, closed form."""
    ka, cl, v, q, v2 = np.exp(theta)
    k10, k12, k21 = cl / v, q / v, q / v2
    s = k10 + k12 + k21
    root = np.sqrt(s**2 - 4 * k10 * k21)
    alpha, beta = 0.5 * (s + root), 0.5 * (s - root)
    p_alpha = ka / v * (k21 - alpha) / ((ka - alpha) * (beta - alpha))
    p_beta = ka / v * (k21 - beta) / ((ka - beta) * (alpha - beta))
    conc = np.zeros(len(times))
    for i, t in enumerate(times):
        conc[i] = p_alpha * np.exp(-alpha * t) + p_beta * np.exp(-beta * t) - (p_alpha + p_beta) * np.exp(-ka * t)
    return dose * conc


def ray_refraction_jax(speeds, angle, thickness):
    import jax.numpy as jnp

    p = jnp.sin(angle) / speeds[0]
    c = jnp.sqrt(1 - (p * speeds) ** 2)
    return jnp.sum(thickness * p * speeds / c), jnp.sum(thickness / (speeds * c))


@program(
    args=lambda: (np.array([1.5, 1.8, 2.2, 2.0]), 0.4, np.array([0.5, 0.7, 1.0, 0.3])),
    wrt=("speeds", "angle", "thickness"),
    jax=ray_refraction_jax,
    tags=("geophysics", "math", "assert", "tuple-result"),
)
def seismic_ray(speeds, angle, thickness):
    """Offset and travel time of a ray through flat layers (Snell's law)."""
    distance, time = 0.0, 0.0
    for i in range(len(speeds)):
        if i > 0:
            sine = math.sin(angle) * speeds[i] / speeds[i - 1]
            assert abs(sine) < 1, "total reflection"
            angle = math.asin(sine)
        distance += thickness[i] * math.tan(angle)
        time += thickness[i] / (speeds[i] * math.cos(angle))
    return distance, time


def thin_film_jax(n, k, thickness, wavelength):
    import jax.numpy as jnp

    # Complex arithmetic is JAX's own here.
    index = n + 1j * k
    m = jnp.eye(2, dtype=complex)
    for q, d in zip(index, thickness, strict=True):
        phase = 2 * jnp.pi * q * d / wavelength
        m = m @ jnp.array([[jnp.cos(phase), -1j * jnp.sin(phase) / q], [-1j * q * jnp.sin(phase), jnp.cos(phase)]])
    b, c = m[0, 0] + 1.5 * m[0, 1], m[1, 0] + 1.5 * m[1, 1]
    r = (b - c) / (b + c)
    return jnp.real(r * jnp.conj(r))


@program(
    args=lambda: (np.array([2.1, 1.4, 1.9]), np.array([0.01, 0.0, 0.02]), np.array([80.0, 100.0, 60.0]), 550.0),
    wrt=("n", "k", "thickness", "wavelength"),
    jax=thin_film_jax,
    tags=("optics", "pairs-for-complex", "nested-helper"),
)
def thin_film_reflectance(n, k, thickness, wavelength):
    """Reflectance of absorbing layers on glass; complex numbers as pairs of reals."""

    def mul(a, b):
        return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]

    def div(a, b):
        d = b[0] ** 2 + b[1] ** 2
        return (a[0] * b[0] + a[1] * b[1]) / d, (a[1] * b[0] - a[0] * b[1]) / d

    def add(a, b):
        return a[0] + b[0], a[1] + b[1]

    def times_minus_i(a):
        return a[1], -a[0]

    b, c = (1.0, 0.0), (1.5, 0.0)
    for layer in reversed(range(len(n))):
        index = (n[layer], k[layer])
        factor = 2 * math.pi * thickness[layer] / wavelength
        x, y = factor * index[0], factor * index[1]
        cosine = (math.cos(x) * math.cosh(y), -math.sin(x) * math.sinh(y))
        sine = (math.sin(x) * math.cosh(y), math.cos(x) * math.sinh(y))
        b, c = (
            add(mul(cosine, b), mul(times_minus_i(div(sine, index)), c)),
            add(mul(times_minus_i(mul(index, sine)), b), mul(cosine, c)),
        )
    r = div((b[0] - c[0], b[1] - c[1]), add(b, c))
    return r[0] ** 2 + r[1] ** 2
