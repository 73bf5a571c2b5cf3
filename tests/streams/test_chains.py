"""Markov chains: Metropolis and Hamiltonian, in every mode, with the numbers of plain Python."""

import numpy as np
import pytest

import diffjit as dj


@pytest.fixture(params=["numba", "python"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", request.param)
    return request.param


def log_density(q, width):
    return -0.5 * np.sum((q / width) ** 2) - 0.1 * np.sum(q**4)


def by_hand(q, width):
    return -q / width**2 - 0.4 * q**3


def chain(width, rng, start, slope, n=12, leaps=4, step=0.3):
    """The mean square of the coordinates, and how many proposals were accepted."""
    q, accepted = start.copy(), 0
    found = np.empty((n, len(start)))
    for k in range(n):
        p = rng.normal(size=len(q))
        before = log_density(q, width) - 0.5 * np.sum(p * p)
        there, p = q.copy(), p + 0.5 * step * slope(q, width)
        for _ in range(leaps):
            there = there + step * p
            p = p + step * slope(there, width)
        p = p - 0.5 * step * slope(there, width)
        after = log_density(there, width) - 0.5 * np.sum(p * p)
        if np.log(rng.random()) < after - before:
            q = there
            accepted += 1
        found[k] = q
    return np.mean(found**2), accepted


def hamiltonian(width, rng, start):
    return chain(width, rng, start, dj.grad(log_density))[0]


def plain(width, rng):
    return chain(width, rng, START, by_hand)[0]


START = np.array([0.3, -0.2, 0.5])


def new():
    return np.random.default_rng(3)


def quotient(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


def test_a_hamiltonian_chain():
    ours, theirs = new(), new()
    assert np.isclose(dj.jit(hamiltonian)(1.3, ours, START), plain(1.3, theirs), rtol=1e-12)
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert 0 < chain(1.3, new(), START, by_hand)[1] < 12  # both happen
    slope = quotient(lambda w: plain(w, new()), 1.3)
    for found in (
        dj.grad(hamiltonian)(1.3, new(), START),
        dj.jvp(hamiltonian, (1.3, new(), START), (1.0, None, 0.0 * START))[1],
        dj.vjp(hamiltonian, 1.3, new(), START)[1](1.0)[0],
        dj.jacfwd(hamiltonian)(1.3, new(), START),
    ):
        np.testing.assert_allclose(found, slope, rtol=1e-6)
    curved = quotient(lambda w: quotient(lambda v: plain(v, new()), w, 1e-4), 1.3, 1e-4)
    for verb in (dj.hessian(hamiltonian), dj.jacrev(dj.grad(hamiltonian))):
        rng = new()
        np.testing.assert_allclose(verb(1.3, rng, START), curved, rtol=1e-4)
        assert rng.bit_generator.state == theirs.bit_generator.state
    ours, theirs = new(), new()
    widths = np.array([1.0, 1.3])
    lanes = dj.vmap(hamiltonian, in_axes=(0, None, None))(widths, ours, START)
    np.testing.assert_allclose(lanes, [plain(w, theirs) for w in widths], rtol=1e-12)


def metropolis(width, n):
    x, total = 0.1, 0.0
    for _ in range(n):
        y = x + width * np.random.randn()  # noqa: NPY002 - as programs are written
        if np.random.rand() < np.exp(0.5 * (x * x - y * y) / width):  # noqa: NPY002
            x = y
        total += x * x
    return total / n


def from_one_seed(f):
    def run(*args):
        np.random.seed(1)  # noqa: NPY002
        return f(*args)

    return run


def test_a_metropolis_chain():
    kept = np.random.get_state()  # noqa: NPY002
    try:
        wanted = from_one_seed(metropolis)(1.1, 200), np.random.rand()  # noqa: NPY002
        assert (from_one_seed(dj.jit(metropolis))(1.1, 200), np.random.rand()) == wanted  # noqa: NPY002
        slope = quotient(lambda w: from_one_seed(metropolis)(w, 200), 1.1, 1e-7)
        np.testing.assert_allclose(from_one_seed(dj.grad(metropolis))(1.1, 200), slope, rtol=1e-5)
        assert np.random.rand() == wanted[1]  # noqa: NPY002
        forward = from_one_seed(lambda w: dj.jvp(lambda v: metropolis(v, 200), (w,), (1.0,))[1])(1.1)
        np.testing.assert_allclose(forward, slope, rtol=1e-5)
    finally:
        np.random.set_state(kept)  # noqa: NPY002
