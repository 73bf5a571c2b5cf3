"""Copies for the way back of what is changed later: one for several readers, unless one writes between them."""

from __future__ import annotations

import numpy as np
import pytest

import diffjit as dj

rng = np.random.default_rng(8)


def read_twice(x, n):
    state = np.tanh(x)
    total = 0.0
    for i in range(n):
        a = state * x
        b = np.exp(0.1 * state) * state
        total += a @ b
        state[:] = np.sin(a + i)
    return total


def written_between(x, n):
    state = np.tanh(x)
    total = 0.0
    for i in range(n):
        a = state * x
        state[i % 3] = a[i % 3] * 2.0
        b = state * state
        total += a @ b
        state[:] = np.sin(b)
    return total


def written_in_a_branch(x, n):
    state = np.tanh(x)
    total = 0.0
    for i in range(n):
        a = state * x
        if x[i % 4] > 0:
            for k in range(2):
                state[k] = state[k] * a[k + 1]
        b = state * state
        total += a @ b
        state[:] = np.sin(b)
    return total


def written_by_the_reader(x, n):
    state = np.tanh(x)
    for _ in range(n):
        state *= state * 0.5 + x
        state += state * state
    return np.sum(state)


def written_through_another_name(x, n):
    state = np.tanh(np.outer(x, x))
    row, column = state[1], state[:, 2]
    total = 0.0
    for _ in range(n):
        a = row * x
        column[:] = column * column + a
        b = row * row
        total += a @ b
        row[:] = np.sin(b)
    return total


def of_which_there_is_no_copy(x, n):
    """What is linear in the state needs a record of its own: the way back has no use for the state."""
    state = np.tanh(x)
    total = 0.0
    for i in range(n):
        a = 2.0 * state + i
        total += np.sum(np.sin(a))
        state += 0.3 * x
    return total


PROGRAMS = [
    of_which_there_is_no_copy,
    read_twice,
    written_between,
    written_in_a_branch,
    written_by_the_reader,
    written_through_another_name,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(program) -> None:
    x, n = rng.normal(size=6), 4
    x = 0.3 * x if program is written_by_the_reader else x
    dj.check_grads(program, (x, n), order=2)


@pytest.mark.parametrize(("program", "copies"), [(read_twice, 1), (written_between, 2)])
def test_readers_share_a_copy(program, copies) -> None:
    text = dj.source(dj.grad(program), np.ones(6), 4)
    assert text.count("[i, :] = state\n") == copies


def falls(pos, vel, n, dt):
    """What is computed from the positions is computed from their copies again."""
    for _ in range(n):
        x, y = pos
        r2 = x * x + y * y + 0.1
        f = 1.0 / (r2 * np.sqrt(r2))
        vel[0] -= dt * f * x
        vel[1] -= dt * f * y
        pos += dt * vel
    return np.sum(pos * pos)


def test_only_what_changes_is_recorded() -> None:
    pos, vel = rng.normal(size=(2, 2, 5))
    assert dj.source(dj.grad(falls), pos, vel, 4, 0.1).count(".append(") == 2
    dj.check_grads(falls, (pos, vel, 4, 0.1), order=2)
