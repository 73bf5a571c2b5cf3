"""A long short-term memory that predicts the next letter of a text, bit by bit; its weights are diagonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.problem import Problem

BITS = 14  # of a letter: the text has quotation marks of U+2018 to U+201D


def sigmoid(x: np.ndarray) -> Any:
    """Between 0 and 1."""
    return 1.0 / (1.0 + np.exp(-x))


def cell_step(weight: np.ndarray, bias: np.ndarray, hidden: np.ndarray, cell: np.ndarray, fed: np.ndarray) -> Any:
    """One layer: its new output and its new memory."""
    n = hidden.size
    forget = sigmoid(fed * weight[:n] + bias[:n])
    into = sigmoid(hidden * weight[n : 2 * n] + bias[n : 2 * n])
    out = sigmoid(fed * weight[2 * n : 3 * n] + bias[2 * n : 3 * n])
    change = np.tanh(hidden * weight[3 * n :] + bias[3 * n :])
    cell = cell * forget + into * change
    return out * np.tanh(cell), cell


def predict(main: np.ndarray, extra: np.ndarray, state: np.ndarray, letter: np.ndarray) -> Any:
    """What comes next; the state is changed in place."""
    fed = letter * extra[0]
    for i in range(0, len(main), 2):
        state[i], state[i + 1] = cell_step(main[i], main[i + 1], state[i], state[i + 1], fed)
        fed = state[i]
    return fed * extra[1] + extra[2]


def loss(main: np.ndarray, extra: np.ndarray, state: np.ndarray, text: np.ndarray) -> Any:
    """Minus the mean of the log-likelihood, with the 2 that ADBench adds to the sum of exponentials.

    main has two rows for each layer, weights and biases of four gates; state has two, outputs and memory.
    """
    state = state.copy()
    total = 0.0
    for t in range(len(text) - 1):
        guess = predict(main, extra, state, text[t])
        guess = guess - np.log(np.sum(np.exp(guess)) + 2.0)
        total += np.sum(text[t + 1] * guess)
    return -total / text[1:].size


def arguments(rng: Any, layers: int, letters: int) -> tuple[Any, ...]:
    """Numbers between 0 and 1; a text of random letters in the place of GradBench's book."""
    state, main, extra = rng.rand(2 * layers, BITS), rng.rand(2 * layers, 4 * BITS), rng.rand(3, BITS)
    codes = rng.randint(ord(" "), ord("~") + 1, letters)
    codes[::50] = rng.randint(0x2018, 0x201E, codes[::50].size)
    return main, extra, state, (codes[:, None] >> np.arange(BITS)[::-1] & 1).astype(float)


def derivative() -> Any:
    """Reverse mode."""
    import diffjit as dj

    return dj.grad(loss, argnums=(0, 1))


def reference(main: np.ndarray, extra: np.ndarray, state: np.ndarray, text: np.ndarray) -> Any:
    """By hand: forwards with all gates kept, and back through time."""
    layers, steps = len(main) // 2, len(text) - 1
    weights, biases = main[::2].reshape(layers, 4, -1), main[1::2].reshape(layers, 4, -1)
    hidden, cell = state[::2].copy(), state[1::2].copy()
    kept, ends = [], []
    for t in range(steps):
        fed = text[t] * extra[0]
        for i in range(layers):
            gates = np.stack([fed, hidden[i], fed, hidden[i]]) * weights[i] + biases[i]
            gates[:3] = sigmoid(gates[:3])
            gates[3] = np.tanh(gates[3])
            before = hidden[i].copy(), cell[i].copy()
            cell[i] = cell[i] * gates[0] + gates[1] * gates[3]
            kept.append((fed, *before, gates, np.tanh(cell[i])))
            fed = hidden[i] = gates[2] * kept[-1][-1]
        ends.append(fed.copy())
    weights_bar, biases_bar, extra_bar = np.zeros_like(weights), np.zeros_like(biases), np.zeros_like(extra)
    hidden_bar, cell_bar = np.zeros_like(hidden), np.zeros_like(cell)
    for t in reversed(range(steps)):
        part = np.exp(ends[t] * extra[1] + extra[2])
        guess_bar = (np.sum(text[t + 1]) * part / (np.sum(part) + 2.0) - text[t + 1]) / text[1:].size
        extra_bar[1:] += guess_bar * ends[t], guess_bar
        fed_bar = guess_bar * extra[1]
        for i in reversed(range(layers)):
            fed, hidden_before, cell_before, (forget, into, out, change), bent = kept.pop()
            h = hidden_bar[i] + fed_bar
            c = cell_bar[i] + h * out * (1.0 - bent**2)
            gates_bar = np.stack([
                c * cell_before * forget * (1.0 - forget), c * change * into * (1.0 - into),
                h * bent * out * (1.0 - out), c * into * (1.0 - change**2),
            ])  # fmt: skip
            weights_bar[i] += gates_bar * np.stack([fed, hidden_before, fed, hidden_before])
            biases_bar[i] += gates_bar
            back = gates_bar * weights[i]
            fed_bar, hidden_bar[i], cell_bar[i] = back[0] + back[2], back[1] + back[3], c * forget
        extra_bar[0] += fed_bar * text[t]
    return np.stack([weights_bar, biases_bar], axis=1).reshape(main.shape), extra_bar


PROBLEM = Problem(
    title="lstm",
    sizes={
        f"l={layers},c={letters}": {"layers": layers, "letters": letters}
        for layers, letters in ((2, 1024), (2, 4096), (4, 4096), (6, 8192))
    },
    arguments=arguments,
    primal=loss,
    derivative=derivative,
    reference=reference,
    in_jax="GradBench has no JAX version",
    published={"l=2,c=1024": ("CoDiPack", 3.4), "l=4,c=4096": ("CoDiPack", 26.0)},
)
