"""The likelihood of a sequence under a hidden Markov model."""

import numpy as np

from benchmarks.row import AUTOGRAD, Row, as_it_stands


def hmm(start, step, emit, seen):
    """The forward algorithm, scaled at each step."""
    alpha = start * emit[:, seen[0]]
    scale = np.sum(alpha)
    alpha = alpha / scale
    total = np.log(scale)
    for t in range(1, len(seen)):
        alpha = (alpha @ step) * emit[:, seen[t]]
        scale = np.sum(alpha)
        alpha = alpha / scale
        total = total + np.log(scale)
    return total


def arguments(states, symbols, length):
    """Positive tables; rows add up to one."""
    rng = np.random.default_rng(0)
    start, step, emit = (rng.uniform(0.1, 1.0, shape) for shape in (states, (states, states), (states, symbols)))
    tables = start / start.sum(), step / step.sum(axis=1)[:, None], emit / emit.sum(axis=1)[:, None]
    return *tables, rng.integers(0, symbols, length)


def by_hand(njit):
    """Scaled states and scales are kept."""

    @njit
    def forward(start, step, emit, seen, alphas, scales):
        n = start.size
        total = 0.0
        for t in range(seen.size):
            row = alphas[t]
            if t == 0:
                row[:] = start
            else:
                row[:] = 0.0
                for i in range(n):
                    a = alphas[t - 1, i]
                    for j in range(n):
                        row[j] += a * step[i, j]
            scale = 0.0
            for j in range(n):
                row[j] *= emit[j, seen[t]]
                scale += row[j]
            for j in range(n):
                row[j] /= scale
            scales[t] = scale
            total += np.log(scale)
        return total

    @njit
    def primal(start, step, emit, seen):
        return forward(start, step, emit, seen, np.empty((seen.size, start.size)), np.empty(seen.size))

    @njit
    def gradient(start, step, emit, seen):
        n, length = start.size, seen.size
        alphas = np.empty((length, n))
        scales = np.empty(length)
        total = forward(start, step, emit, seen, alphas, scales)
        step_bar = np.zeros_like(step)
        emit_bar = np.zeros_like(emit)
        bar = np.zeros(n)  # cotangent of the scaled state
        for t in range(length - 1, -1, -1):
            scale = scales[t]
            inner = 0.0
            for j in range(n):
                inner += bar[j] * alphas[t, j]
            for j in range(n):
                bar[j] = (bar[j] - inner + 1.0) / scale  # now of the unscaled state
                e = emit[j, seen[t]]
                emit_bar[j, seen[t]] += bar[j] * alphas[t, j] * scale / e
                bar[j] *= e  # now of the predicted state
            if t > 0:
                new = np.zeros(n)
                for i in range(n):
                    a = alphas[t - 1, i]
                    for j in range(n):
                        step_bar[i, j] += a * bar[j]
                        new[i] += step[i, j] * bar[j]
                bar = new
        return total, (bar, step_bar, emit_bar)

    return primal, gradient


def in_jax():
    """A scan over the sequence, unrolled by four: twice as quick as by one."""
    import jax.numpy as jnp
    from jax import lax

    def program(start, step, emit, seen):
        def scaled(alpha):
            scale = jnp.sum(alpha)
            return alpha / scale, jnp.log(scale)

        def advance(alpha, symbol):
            return scaled((alpha @ step) * emit[:, symbol])

        alpha, first = scaled(start * emit[:, seen[0]])
        return first + jnp.sum(lax.scan(advance, alpha, seen[1:], unroll=4)[1])

    return program


ROW = Row(
    title="hidden Markov model, forward",
    program=hmm,
    arguments=arguments,
    quick={"states": 3, "symbols": 4, "length": 8},
    full={"states": 16, "symbols": 20, "length": 2000},
    argnums=(0, 1, 2),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=as_it_stands(AUTOGRAD, hmm),
)
