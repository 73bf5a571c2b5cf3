"""Small neural networks, written out in NumPy: layers, recurrence, attention, training loops."""

from collections import namedtuple

import numpy as np

from .registry import program, rng


def mlp_dict_jax(params, x, y):
    import jax.numpy as jnp

    h = jnp.tanh(x @ params["w1"] + params["b1"])
    out = h @ params["w2"] + params["b2"]
    return jnp.mean((out - y) ** 2)


@program(
    args=lambda: (
        {
            "w1": rng(1).normal(size=(2, 4)),
            "b1": rng(2).normal(size=4),
            "w2": rng(3).normal(size=(4, 1)),
            "b2": np.array([0.1]),
        },
        rng(4).normal(size=(5, 2)),
        rng(5).normal(size=(5, 1)),
    ),
    wrt=("params", "x"),
    jax=mlp_dict_jax,
    tags=("network", "dict", "matmul", "broadcast"),
)
def mlp_dict(params, x, y):
    h = np.tanh(x @ params["w1"] + params["b1"])
    out = h @ params["w2"] + params["b2"]
    return np.mean((out - y) ** 2)


def mlp_layers_jax(layers, x):
    import jax.numpy as jnp

    for w, b in layers[:-1]:
        z = x @ w + b
        x = jnp.where(z > 0, z, 0.1 * z)
    w, b = layers[-1]
    z = x @ w + b
    return z - jnp.log(jnp.sum(jnp.exp(z), axis=-1, keepdims=True))


@program(
    args=lambda: (
        [(rng(6).normal(size=(3, 4)), rng(7).normal(size=4)), (rng(8).normal(size=(4, 4)), rng(9).normal(size=4)),
         (rng(10).normal(size=(4, 2)), rng(11).normal(size=2))],
        rng(12).normal(size=(3, 3)),
    ),
    wrt=("layers", "x"),
    jax=mlp_layers_jax,
    tags=("network", "list-of-tuples", "enumerate", "star-unpacking", "array-result"),
)  # fmt: skip
def mlp_layers(layers, x):
    """Leaky ReLU layers and log-softmax; the layers are a list of (w, b)."""
    *hidden, last = layers
    for i, (w, b) in enumerate(hidden):
        z = x @ w + b
        x = np.maximum(z, 0.1 * z)
    w, b = last
    logits = x @ w + b
    top = np.max(logits, axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))


def lstm_loops_jax(w, u, b, xs):
    import jax
    import jax.numpy as jnp

    n = u.shape[0]
    h, c = jnp.zeros(n), jnp.zeros(n)
    for x in xs:
        g = x @ w + h @ u + b
        i, f, o = (jax.nn.sigmoid(g[j * n : (j + 1) * n]) for j in range(3))
        c = f * c + i * jnp.tanh(g[3 * n :])
        h = o * jnp.tanh(c)
    return jnp.sum(h**2)


@program(
    args=lambda: (
        rng(13).normal(size=(2, 8)),
        rng(14).normal(size=(2, 8)),
        rng(15).normal(size=8),
        rng(16).normal(size=(4, 2)),
    ),
    wrt=("w", "u", "b", "xs"),
    jax=lstm_loops_jax,
    tags=("network", "recurrent", "loops", "slices"),
)
def lstm_loops(w, u, b, xs):
    """An LSTM cell by explicit loops over gates and units."""
    n = u.shape[0]
    h, c = np.zeros(n), np.zeros(n)
    for x in xs:
        g = b.copy()
        for j in range(4 * n):
            for i in range(len(x)):
                g[j] += x[i] * w[i, j]
            for i in range(n):
                g[j] += h[i] * u[i, j]
        for k in range(n):
            i_gate = 1 / (1 + np.exp(-g[k]))
            f_gate = 1 / (1 + np.exp(-g[n + k]))
            o_gate = 1 / (1 + np.exp(-g[2 * n + k]))
            c[k] = f_gate * c[k] + i_gate * np.tanh(g[3 * n + k])
            h[k] = o_gate * np.tanh(c[k])
    return np.sum(h**2)


def attention_jax(x, wq, wk, wv, causal):
    import jax
    import jax.numpy as jnp

    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T / jnp.sqrt(q.shape[-1])
    if causal:
        s = jnp.where(jnp.tril(jnp.ones(s.shape)) > 0, s, -jnp.inf)
    return jax.nn.softmax(s, axis=-1) @ v


@program(
    args=lambda: (
        rng(17).normal(size=(4, 3)),
        rng(18).normal(size=(3, 3)),
        rng(19).normal(size=(3, 3)),
        rng(20).normal(size=(3, 3)),
        True,
    ),
    wrt=("x", "wq", "wk", "wv"),
    jax=attention_jax,
    tags=("network", "masks", "infinity", "flag-argument", "array-result"),
)
def attention(x, wq, wk, wv, causal):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / np.sqrt(q.shape[-1])
    if causal:
        n = len(x)
        future = np.arange(n)[None, :] > np.arange(n)[:, None]
        scores[future] = -np.inf
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ v


def multi_head_jax(x, weights, heads):
    import jax
    import jax.numpy as jnp

    n, d = x.shape
    k = d // heads
    q, kk, v = (jnp.swapaxes((x @ weights[i]).reshape(n, heads, k), 0, 1) for i in range(3))
    a = jax.nn.softmax(q @ jnp.swapaxes(kk, 1, 2) / jnp.sqrt(1.0 * k), axis=-1)
    return jnp.sum((jnp.swapaxes(a @ v, 0, 1).reshape(n, d) @ weights[3]) ** 2)


@program(
    args=lambda: (rng(21).normal(size=(3, 4)), 0.5 * rng(22).normal(size=(4, 4, 4)), 2),
    wrt=("x", "weights"),
    jax=multi_head_jax,
    tags=("network", "reshape", "swapaxes", "3d-array", "transpose"),
)
def multi_head_attention(x, weights, heads):
    n, d = x.shape
    size = d // heads
    q, k, v = [np.transpose((x @ weights[i]).reshape(n, heads, size), (1, 0, 2)) for i in range(3)]
    scores = q @ k.swapaxes(1, 2) / np.sqrt(size)
    scores -= np.max(scores, axis=-1, keepdims=True)
    weights_softmax = np.exp(scores)
    weights_softmax /= weights_softmax.sum(-1)[..., np.newaxis]
    mixed = (weights_softmax @ v).swapaxes(0, 1).reshape(n, d)
    return np.sum((mixed @ weights[3]) ** 2)


def conv2d_jax(image, kernels, bias):
    import jax.numpy as jnp
    from jax import lax

    out = lax.conv_general_dilated(image[None, None], kernels[:, None], (1, 1), "VALID")[0] + bias[:, None, None]
    out = jnp.maximum(out, 0)
    f, h, w = out.shape
    pooled = out[:, : h // 2 * 2, : w // 2 * 2].reshape(f, h // 2, 2, w // 2, 2).max(axis=(2, 4))
    return pooled.sum() + (pooled**2).sum()


@program(
    args=lambda: (rng(23).normal(size=(6, 6)), rng(24).normal(size=(2, 3, 3)), np.array([0.5, 0.3])),
    wrt=("image", "kernels", "bias"),
    jax=conv2d_jax,
    tags=("network", "convolution", "deep-nest", "max-of-view"),
)
def conv2d_loops(image, kernels, bias):
    """Convolution by loops, ReLU, 2x2 max pooling."""
    F, kh, kw = kernels.shape
    H, W = image.shape[0] - kh + 1, image.shape[1] - kw + 1
    out = np.zeros((F, H, W))
    for f in range(F):
        for i in range(H):
            for j in range(W):
                acc = bias[f]
                for a in range(kh):
                    for b in range(kw):
                        acc += kernels[f, a, b] * image[i + a, j + b]
                out[f, i, j] = acc if acc > 0 else 0.0
    total = 0.0
    for f in range(F):
        for i in range(0, H - 1, 2):
            for j in range(0, W - 1, 2):
                pooled = out[f, i : i + 2, j : j + 2].max()
                total += pooled + pooled**2
    return total


def layer_norm_jax(x, gain, bias):
    import jax
    import jax.numpy as jnp

    n = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return jnp.sum(jax.nn.gelu(n * gain + bias, approximate=True) ** 2)


@program(
    args=lambda: (rng(25).normal(size=(3, 5)), rng(26).normal(size=5), rng(27).normal(size=5)),
    wrt=("x", "gain", "bias"),
    jax=layer_norm_jax,
    tags=("network", "normalisation", "var", "keepdims"),
)
def layer_norm_gelu(x, gain, bias, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    z = (x - mean) / np.sqrt(var + eps) * gain + bias
    gelu = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
    return np.sum(gelu**2)


def batch_norm_jax(batches, gamma, beta, momentum):
    import jax.numpy as jnp

    mean, var, total = jnp.zeros(gamma.shape), jnp.ones(gamma.shape), 0.0
    for x in batches:
        m, v = x.mean(0), x.var(0)
        total = total + jnp.sum(jnp.tanh(gamma * (x - m) / jnp.sqrt(v + 1e-5) + beta))
        mean = momentum * mean + (1 - momentum) * m
        var = momentum * var + (1 - momentum) * v
    return total, mean, var


@program(
    args=lambda: (rng(28).normal(size=(2, 4, 3)), rng(29).normal(size=3), rng(30).normal(size=3), 0.9),
    wrt=("batches", "gamma", "beta"),
    jax=batch_norm_jax,
    tags=("network", "class", "state", "tuple-result"),
)
def batch_norm(batches, gamma, beta, momentum):
    class BatchNorm:
        """Normalises a batch and remembers running statistics."""

        def __init__(self, width):
            self.mean = np.zeros(width)
            self.var = np.ones(width)

        def __call__(self, x):
            m, v = np.mean(x, axis=0), np.var(x, axis=0)
            self.mean *= momentum
            self.mean += (1 - momentum) * m
            self.var = momentum * self.var + (1 - momentum) * v
            return gamma * (x - m) / np.sqrt(v + 1e-5) + beta

    layer = BatchNorm(len(gamma))
    total = 0.0
    for x in batches:
        total += np.tanh(layer(x)).sum()
    return total, layer.mean, layer.var


def adam_training_jax(w, x, y, rate, beta1, beta2, steps):
    import jax.numpy as jnp

    m, v = jnp.zeros_like(w), jnp.zeros_like(w)
    for t in range(1, steps + 1):
        r = jnp.tanh(x @ w) - y
        g = x.T @ (r * (1 - jnp.tanh(x @ w) ** 2)) / y.shape[0]
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        w = w - rate * m / (1 - beta1**t) / (jnp.sqrt(v / (1 - beta2**t)) + 1e-8)
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2)


@program(
    args=lambda: (
        rng(31).normal(size=3),
        rng(32).normal(size=(6, 3)),
        rng(33).uniform(-0.8, 0.8, 6),
        0.05,
        0.9,
        0.99,
        5,
    ),
    wrt=("w", "x", "y", "rate", "beta1"),
    jax=adam_training_jax,
    tags=("network", "optimisation", "in-place", "training-inside"),
)
def adam_training(w, x, y, rate, beta1, beta2, steps):
    """Five steps of Adam on hand-written gradients, then the loss (so hyperparameters have gradients)."""
    w = w.copy()
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    for t in range(1, steps + 1):
        out = np.tanh(x @ w)
        g = x.T @ ((out - y) * (1 - out**2)) / len(y)
        m[:] = beta1 * m + (1 - beta1) * g
        v[:] = beta2 * v + (1 - beta2) * g * g
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
        w -= rate * m_hat / (np.sqrt(v_hat) + 1e-8)
    return np.mean((np.tanh(x @ w) - y) ** 2)


def rnn_lists_jax(wx, wh, wo, tokens, targets):
    import jax
    import jax.numpy as jnp

    h, loss = jnp.zeros(wh.shape[0]), 0.0
    for token, target in zip(tokens, targets, strict=True):
        h = jnp.tanh(wx[token] + wh @ h)
        loss = loss - jax.nn.log_softmax(wo @ h)[target]
    return loss / len(tokens)


@program(
    args=lambda: (
        rng(34).normal(size=(4, 3)),
        rng(35).normal(size=(3, 3)),
        rng(36).normal(size=(4, 3)),
        [0, 2, 1, 3],
        [2, 1, 3, 0],
    ),
    wrt=("wx", "wh", "wo"),
    jax=rnn_lists_jax,
    tags=("network", "recurrent", "list-append", "integer-list", "embedding"),
)
def rnn_character_model(wx, wh, wo, tokens, targets):
    hidden = [np.zeros(wh.shape[0])]
    for token in tokens:
        hidden.append(np.tanh(wx[token] + wh @ hidden[-1]))
    losses = []
    for h, target in zip(hidden[1:], targets):
        logits = wo @ h
        p = np.exp(logits) / np.sum(np.exp(logits))
        losses.append(-np.log(p[target]))
    return sum(losses) / len(losses)


GruParams = namedtuple("GruParams", ["wz", "wr", "wh"])


def gru_jax(params, xs):
    import jax
    import jax.numpy as jnp

    h = jnp.zeros(params.wz.shape[0])
    for x in xs:
        a = jnp.concatenate([x, h])
        z, r = jax.nn.sigmoid(params.wz @ a), jax.nn.sigmoid(params.wr @ a)
        h = (1 - z) * h + z * jnp.tanh(params.wh @ jnp.concatenate([x, r * h]))
    return h


@program(
    args=lambda: (GruParams(*(rng(37 + i).normal(size=(3, 5)) for i in range(3))), rng(40).normal(size=(4, 2))),
    wrt=("params", "xs"),
    jax=gru_jax,
    tags=("network", "recurrent", "namedtuple", "concatenate", "array-result"),
)
def gru(params, xs):
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    h = np.zeros(len(params.wz))
    for x in xs:
        a = np.concatenate((x, h))
        z, r = sigmoid(params.wz @ a), sigmoid(params.wr @ a)
        candidate = np.tanh(params.wh @ np.concatenate((x, r * h)))
        h = (1 - z) * h + z * candidate
    return h


def graph_network_jax(features, edges, w_self, w_msg, rounds):
    import jax.numpy as jnp

    h = features
    src, dst = edges[:, 0], edges[:, 1]
    for _ in range(rounds):
        msg = jnp.tanh(h[src] @ w_msg)
        h = jnp.tanh(h @ w_self) + jnp.zeros_like(h).at[dst].add(msg)
    return jnp.sum(h**2)


@program(
    args=lambda: (
        rng(41).normal(size=(4, 2)),
        np.array([[0, 1], [1, 0], [1, 2], [2, 3], [3, 1], [0, 1]]),
        rng(42).normal(size=(2, 2)),
        rng(43).normal(size=(2, 2)),
        2,
    ),
    wrt=("features", "w_self", "w_msg"),
    jax=graph_network_jax,
    tags=("network", "graph", "scatter-add", "integer-data"),
)
def graph_network(features, edges, w_self, w_msg, rounds):
    """Message passing along an edge list with a repeated edge."""
    h = features
    for _ in range(rounds):
        incoming = np.zeros_like(h)
        for src, dst in edges:
            incoming[dst] += np.tanh(h[src] @ w_msg)
        h = np.tanh(h @ w_self) + incoming
    return (h**2).sum()


def word2vec_jax(centre, context, pairs, negatives):
    import jax.numpy as jnp

    total = 0.0
    for (a, b), negs in zip(pairs, negatives, strict=True):
        total = total + jnp.log1p(jnp.exp(-jnp.dot(centre[a], context[b])))
        total = total + jnp.sum(jnp.log1p(jnp.exp(context[negs] @ centre[a])))
    return total


@program(
    args=lambda: (
        rng(44).normal(size=(4, 3)),
        rng(45).normal(size=(5, 3)),
        np.array([[0, 1], [2, 3], [3, 0]]),
        np.array([[2, 4], [1, 1], [4, 2]]),
    ),
    wrt=("centre", "context"),
    jax=word2vec_jax,
    tags=("network", "fancy-index", "repeated-index", "integer-data"),
)
def word2vec(centre, context, pairs, negatives):
    """Skip-gram with given negative samples (some repeated)."""
    total = 0.0
    for n in range(len(pairs)):
        a, b = pairs[n]
        total += np.log1p(np.exp(-(centre[a] @ context[b])))
        rows = context[negatives[n]]
        total += np.sum(np.log1p(np.exp(rows @ centre[a])))
    return total


def echo_state_jax(win, w, leak, signal, ridge):
    import jax.numpy as jnp

    x, states = jnp.zeros(w.shape[0]), []
    for u in signal[:-1]:
        x = (1 - leak) * x + leak * jnp.tanh(win * u + w @ x)
        states.append(x)
    s = jnp.stack(states)
    wout = jnp.linalg.solve(s.T @ s + ridge * jnp.eye(s.shape[1]), s.T @ signal[1:])
    return jnp.mean((s @ wout - signal[1:]) ** 2)


@program(
    args=lambda: (rng(46).normal(size=4), 0.4 * rng(47).normal(size=(4, 4)), 0.6, np.sin(0.7 * np.arange(12)), 0.1),
    wrt=("win", "w", "leak", "signal", "ridge"),
    jax=echo_state_jax,
    tags=("network", "linalg", "row-store"),
)
def echo_state(win, w, leak, signal, ridge):
    """A reservoir with a ridge read-out that is solved inside."""
    T, n = len(signal) - 1, len(win)
    states = np.zeros((T, n))
    x = np.zeros(n)
    for t in range(T):
        x = (1 - leak) * x + leak * np.tanh(win * signal[t] + w @ x)
        states[t, :] = x
    wout = np.linalg.solve(states.T @ states + ridge * np.eye(n), states.T @ signal[1:])
    return np.mean((states @ wout - signal[1:]) ** 2)


def mlp_float32_jax(w1, w2, x):
    import jax.numpy as jnp

    return jnp.sum(jnp.square(jnp.maximum(x @ w1, 0) @ w2))


@program(
    args=lambda: (
        rng(48).normal(size=(3, 5)).astype("f4"),
        rng(49).normal(size=(5, 2)).astype("f4"),
        rng(50).normal(size=(4, 3)).astype("f4"),
    ),
    wrt=("w1", "w2", "x"),
    jax=mlp_float32_jax,
    tags=("network", "float32", "masks"),
)
def mlp_float32(w1, w2, x):
    h = x @ w1
    h[h < 0] = 0
    return np.sum(np.square(h @ w2))


def hopfield_jax(patterns, state, beta, steps):
    import jax
    import jax.numpy as jnp

    for _ in range(steps):
        state = patterns.T @ jax.nn.softmax(beta * (patterns @ state))
    return 0.5 * state @ state - jax.scipy.special.logsumexp(beta * (patterns @ state)) / beta + jnp.sum(state)


@program(
    args=lambda: (rng(51).normal(size=(3, 5)), rng(52).normal(size=5), 1.5, 3),
    wrt=("patterns", "state", "beta"),
    jax=hopfield_jax,
    tags=("network", "loops", "nested-helper"),
)
def hopfield(patterns, state, beta, steps):
    """A modern Hopfield network retrieving a pattern, and its energy."""
    k, n = patterns.shape

    def overlaps(s):
        out = np.zeros(k)
        for mu in range(k):
            for i in range(n):
                out[mu] += patterns[mu, i] * s[i]
        return beta * out

    for _ in range(steps):
        a = overlaps(state)
        p = np.exp(a - np.max(a))
        p /= np.sum(p)
        state = np.zeros(n)
        for mu in range(k):
            state += p[mu] * patterns[mu]
    a = overlaps(state)
    lse = np.max(a) + np.log(np.sum(np.exp(a - np.max(a))))
    return 0.5 * state @ state - lse / beta + np.sum(state)
