"""A dense network and its cross-entropy on one batch."""

from itertools import pairwise

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands


def mlp(layers, images, labels):
    """Layers are pairs (weights, biases); tanh between them."""
    x = images
    for W, b in layers[:-1]:
        x = np.tanh(x @ W + b)
    W, b = layers[-1]
    logits = x @ W + b
    logits = logits - np.max(logits, axis=1, keepdims=True)
    logs = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(len(labels)), labels])


def arguments(batch, inputs, hidden, outputs):
    """Random weights, images and labels."""
    rng = np.random.default_rng(0)
    widths = [inputs, hidden, hidden, outputs]
    layers = [(rng.normal(size=(n, m)) / np.sqrt(n), np.zeros(m)) for n, m in pairwise(widths)]
    return layers, rng.normal(size=(batch, inputs)), rng.integers(0, outputs, batch)


def by_hand(njit):
    """Activations are kept; every product goes to BLAS."""

    @njit
    def dense(x, W, b):
        y = np.dot(x, W)
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = np.tanh(y[i, j] + b[j])
        return y

    @njit
    def losses(x, W, b, labels, shares):
        """The loss; shares receives the softmax."""
        logits = np.dot(x, W)
        loss = 0.0
        for i in range(logits.shape[0]):
            top = -np.inf
            for j in range(b.size):
                logits[i, j] += b[j]
                top = max(top, logits[i, j])
            total = 0.0
            for j in range(b.size):
                shares[i, j] = np.exp(logits[i, j] - top)
                total += shares[i, j]
            for j in range(b.size):
                shares[i, j] /= total
            loss -= logits[i, labels[i]] - top - np.log(total)
        return loss / logits.shape[0]

    @njit
    def columns(y):
        total = np.zeros(y.shape[1])
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                total[j] += y[i, j]
        return total

    @njit
    def through(y_bar, W, x):
        x_bar = np.dot(y_bar, W.T)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x_bar[i, j] *= 1.0 - x[i, j] ** 2
        return x_bar

    @njit
    def run(W1, b1, W2, b2, W3, b3, images, labels):
        x2 = dense(dense(images, W1, b1), W2, b2)
        return losses(x2, W3, b3, labels, np.empty((images.shape[0], b3.size)))

    @njit
    def run_back(W1, b1, W2, b2, W3, b3, images, labels):
        x1 = dense(images, W1, b1)
        x2 = dense(x1, W2, b2)
        bar3 = np.empty((images.shape[0], b3.size))
        loss = losses(x2, W3, b3, labels, bar3)
        for i in range(labels.size):
            bar3[i, labels[i]] -= 1.0
        bar3 /= labels.size
        bar2 = through(bar3, W3, x2)
        bar1 = through(bar2, W2, x1)
        weights = np.dot(images.T, bar1), np.dot(x1.T, bar2), np.dot(x2.T, bar3)
        return loss, weights, (columns(bar1), columns(bar2), columns(bar3))

    def primal(layers, images, labels):
        (W1, b1), (W2, b2), (W3, b3) = layers
        return run(W1, b1, W2, b2, W3, b3, images, labels)

    def gradient(layers, images, labels):
        (W1, b1), (W2, b2), (W3, b3) = layers
        loss, weights, biases = run_back(W1, b1, W2, b2, W3, b3, images, labels)
        return loss, (list(zip(weights, biases, strict=True)),)

    return primal, gradient


ROW = Row(
    title="dense network",
    program=mlp,
    arguments=arguments,
    quick={"batch": 4, "inputs": 5, "hidden": 6, "outputs": 3},
    full={"batch": 128, "inputs": 784, "hidden": 256, "outputs": 10},
    argnums=(0,),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, mlp),
    in_autograd=as_it_stands(AUTOGRAD, mlp),
)
