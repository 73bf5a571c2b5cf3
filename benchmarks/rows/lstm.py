"""A long short-term memory network that predicts the next input."""

import numpy as np

from benchmarks.row import AUTOGRAD, Row, as_it_stands


def sigmoid(x):
    """Between 0 and 1."""
    return 1.0 / (1.0 + np.exp(-x))


def lstm(W, U, b, V, inputs):
    """The mean squared error of the predictions."""
    n = U.shape[1]
    h = np.zeros(n)
    c = np.zeros(n)
    loss = 0.0
    for t in range(len(inputs) - 1):
        gates = W @ inputs[t] + U @ h + b
        into = sigmoid(gates[:n])
        forget = sigmoid(gates[n : 2 * n])
        out = sigmoid(gates[2 * n : 3 * n])
        c = forget * c + into * np.tanh(gates[3 * n :])
        h = out * np.tanh(c)
        loss = loss + np.mean((V @ h - inputs[t + 1]) ** 2)
    return loss / (len(inputs) - 1)


def arguments(hidden, width, length):
    """Random weights and waves."""
    rng = np.random.default_rng(0)
    W, U, V = (rng.normal(size=s) / np.sqrt(s[1]) for s in ((4 * hidden, width), (4 * hidden, hidden), (width, hidden)))
    return W, U, np.zeros(4 * hidden), V, np.sin(np.arange(length)[:, None] * rng.uniform(0.1, 1, width))


def by_hand(njit):
    """Gates and cells are kept; the gradients of the weights are one product over all steps at the end."""

    @njit
    def forward(W, U, b, V, inputs, acts, cells, tanhs, hs, errors):
        n = U.shape[1]
        steps = inputs.shape[0] - 1
        fed = np.dot(inputs[:steps], W.T)
        loss = 0.0
        cells[0] = 0.0
        hs[0] = 0.0
        for t in range(steps):
            g = np.dot(U, hs[t])
            for i in range(n):
                into = 1.0 / (1.0 + np.exp(-(g[i] + fed[t, i] + b[i])))
                forget = 1.0 / (1.0 + np.exp(-(g[n + i] + fed[t, n + i] + b[n + i])))
                out = 1.0 / (1.0 + np.exp(-(g[2 * n + i] + fed[t, 2 * n + i] + b[2 * n + i])))
                new = np.tanh(g[3 * n + i] + fed[t, 3 * n + i] + b[3 * n + i])
                cells[t + 1, i] = forget * cells[t, i] + into * new
                tanhs[t, i] = np.tanh(cells[t + 1, i])
                hs[t + 1, i] = out * tanhs[t, i]
                acts[t, i], acts[t, n + i], acts[t, 2 * n + i], acts[t, 3 * n + i] = into, forget, out, new
        errors[:] = np.dot(hs[1:], V.T) - inputs[1:]
        for t in range(steps):
            for i in range(inputs.shape[1]):
                loss += errors[t, i] ** 2
        return loss / errors.size

    @njit
    def tapes(U, inputs):
        n = U.shape[1]
        steps = inputs.shape[0] - 1
        acts = np.empty((steps, 4 * n))
        return acts, np.empty((steps + 1, n)), np.empty((steps, n)), np.empty((steps + 1, n)), np.empty_like(inputs[1:])

    @njit
    def primal(W, U, b, V, inputs):
        acts, cells, tanhs, hs, errors = tapes(U, inputs)
        return forward(W, U, b, V, inputs, acts, cells, tanhs, hs, errors)

    @njit
    def gradient(W, U, b, V, inputs):
        acts, cells, tanhs, hs, errors = tapes(U, inputs)
        loss = forward(W, U, b, V, inputs, acts, cells, tanhs, hs, errors)
        n = U.shape[1]
        steps = inputs.shape[0] - 1
        errors *= 2.0 / errors.size
        V_bar = np.dot(errors.T, hs[1:])
        h_bars = np.dot(errors, V)
        h_bar = np.zeros(n)
        c_bar = np.zeros(n)
        gates = np.empty((steps, 4 * n))
        UT = np.ascontiguousarray(U.T)
        for t in range(steps - 1, -1, -1):
            for i in range(n):
                into, forget, out, new = acts[t, i], acts[t, n + i], acts[t, 2 * n + i], acts[t, 3 * n + i]
                h = h_bar[i] + h_bars[t, i]
                c = c_bar[i] + h * out * (1.0 - tanhs[t, i] ** 2)
                gates[t, i] = c * new * into * (1.0 - into)
                gates[t, n + i] = c * cells[t, i] * forget * (1.0 - forget)
                gates[t, 2 * n + i] = h * tanhs[t, i] * out * (1.0 - out)
                gates[t, 3 * n + i] = c * into * (1.0 - new * new)
                c_bar[i] = c * forget
            h_bar = np.dot(UT, gates[t])
        W_bar = np.dot(gates.T, inputs[:steps])
        U_bar = np.dot(gates.T, hs[:steps])
        return loss, (W_bar, U_bar, np.sum(gates, axis=0), V_bar)

    return primal, gradient


def in_jax():
    """A scan over time; the products with the inputs and the predictions are taken out of it."""
    import jax.numpy as jnp
    from jax import lax
    from jax.nn import sigmoid

    def program(W, U, b, V, inputs):
        def step(carry, fed):
            h, c = carry
            into, forget, out, new = jnp.split(fed + U @ h, 4)
            c = sigmoid(forget) * c + sigmoid(into) * jnp.tanh(new)
            h = sigmoid(out) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros(U.shape[1])
        _, hs = lax.scan(step, (zero, zero), inputs[:-1] @ W.T + b)
        return jnp.mean((hs @ V.T - inputs[1:]) ** 2)

    return program


ROW = Row(
    title="LSTM",
    program=lstm,
    arguments=arguments,
    quick={"hidden": 4, "width": 3, "length": 6},
    full={"hidden": 64, "width": 32, "length": 200},
    argnums=(0, 1, 2, 3),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=as_it_stands(AUTOGRAD, lstm, sigmoid=sigmoid),
)
