"""What a call costs: parameters in a dict that holds a list of dicts, as models have them."""

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands


def model(params, x):
    """Two layers of next to nothing."""
    first, second = params["layers"]
    return np.sum(second["w"] * (first["w"] * x + first["b"]) + second["b"]) * params["scale"]


def arguments():
    """Four numbers in each array."""
    w, b, v, c, x = np.random.default_rng(0).normal(size=(5, 4)).copy()
    return {"layers": [{"w": w, "b": b}, {"w": v, "b": c}], "scale": 1.5}, x


def by_hand(njit):
    """One loop; the dict is taken apart and put together by Python."""

    @njit
    def primal_of(w, b, v, c, scale, x):
        total = 0.0
        for i in range(x.size):
            total += v[i] * (w[i] * x[i] + b[i]) + c[i]
        return total * scale

    @njit
    def gradient_of(w, b, v, c, scale, x):
        w_bar, b_bar, v_bar, c_bar = np.empty_like(w), np.empty_like(b), np.empty_like(v), np.empty_like(c)
        total = 0.0
        for i in range(x.size):
            inner = w[i] * x[i] + b[i]
            w_bar[i], b_bar[i], v_bar[i], c_bar[i] = scale * v[i] * x[i], scale * v[i], scale * inner, scale
            total += v[i] * inner + c[i]
        return total * scale, w_bar, b_bar, v_bar, c_bar, total

    def parts(params):
        first, second = params["layers"]
        return first["w"], first["b"], second["w"], second["b"], params["scale"]

    def primal(params, x):
        return primal_of(*parts(params), x)

    def gradient(params, x):
        value, w_bar, b_bar, v_bar, c_bar, scale_bar = gradient_of(*parts(params), x)
        layers = [{"w": w_bar, "b": b_bar}, {"w": v_bar, "b": c_bar}]
        return value, ({"layers": layers, "scale": scale_bar},)

    return primal, gradient


ROW = Row(
    title="a call with a dict of parameters",
    program=model,
    arguments=arguments,
    quick={},
    full={},
    argnums=(0,),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, model),
    in_autograd=as_it_stands(AUTOGRAD, model),
)
