"""The first gradient of a function of 30 lines in a new process: a neuron after Hodgkin and Huxley."""

import numpy as np

from benchmarks.row import AUTOGRAD, Row, as_it_stands


def neuron(conductances, current, dt, steps):
    """The mean square of the voltage."""
    sodium, potassium, leak = conductances
    V = -65.0
    m = 0.05
    h = 0.6
    n = 0.3
    total = 0.0
    for t in range(steps):
        # opening and closing rates of the gates
        shifted = V + 40.0
        open_m = 0.1 * shifted / (1.0 - np.exp(-shifted / 10.0))
        close_m = 4.0 * np.exp(-(V + 65.0) / 18.0)
        open_h = 0.07 * np.exp(-(V + 65.0) / 20.0)
        close_h = 1.0 / (1.0 + np.exp(-(V + 35.0) / 10.0))
        shifted = V + 55.0
        open_n = 0.01 * shifted / (1.0 - np.exp(-shifted / 10.0))
        close_n = 0.125 * np.exp(-(V + 65.0) / 80.0)
        # currents through the membrane
        through_sodium = sodium * m**3 * h * (V - 50.0)
        through_potassium = potassium * n**4 * (V + 77.0)
        through_leak = leak * (V + 54.4)
        # one step
        V = V + dt * (current[t] - through_sodium - through_potassium - through_leak)
        m = m + dt * (open_m * (1.0 - m) - close_m * m)
        h = h + dt * (open_h * (1.0 - h) - close_h * h)
        n = n + dt * (open_n * (1.0 - n) - close_n * n)
        total = total + V * V
    return total / steps


def arguments(steps):
    """A pulse."""
    current = np.where(np.arange(steps) > steps // 4, 10.0, 0.0)
    return np.array([120.0, 36.0, 0.3]), current, 0.01, steps


def by_hand(njit):
    """The state is kept."""

    @njit
    def rates(V):
        """Opening and closing rates of m, h, n, and their derivatives by V."""
        s, e = V + 40.0, np.exp(-(V + 40.0) / 10.0)
        om = 0.1 * s / (1.0 - e)
        om_V = (0.1 - om * e / 10.0) / (1.0 - e)
        cm = 4.0 * np.exp(-(V + 65.0) / 18.0)
        oh = 0.07 * np.exp(-(V + 65.0) / 20.0)
        ch = 1.0 / (1.0 + np.exp(-(V + 35.0) / 10.0))
        s, e = V + 55.0, np.exp(-(V + 55.0) / 10.0)
        on = 0.01 * s / (1.0 - e)
        on_V = (0.01 - on * e / 10.0) / (1.0 - e)
        cn = 0.125 * np.exp(-(V + 65.0) / 80.0)
        slopes = om_V, -cm / 18.0, -oh / 20.0, ch * (1.0 - ch) / 10.0, on_V, -cn / 80.0
        return (om, cm, oh, ch, on, cn), slopes

    @njit
    def forward(conductances, current, dt, steps, kept):
        sodium, potassium, leak = conductances[0], conductances[1], conductances[2]
        V, m, h, n = -65.0, 0.05, 0.6, 0.3
        total = 0.0
        for t in range(steps):
            kept[t, 0], kept[t, 1], kept[t, 2], kept[t, 3] = V, m, h, n
            om, cm, oh, ch, on, cn = rates(V)[0]
            out = sodium * m**3 * h * (V - 50.0) + potassium * n**4 * (V + 77.0) + leak * (V + 54.4)
            V += dt * (current[t] - out)
            m += dt * (om * (1.0 - m) - cm * m)
            h += dt * (oh * (1.0 - h) - ch * h)
            n += dt * (on * (1.0 - n) - cn * n)
            total += V * V
        kept[steps, 0] = V
        return total / steps

    @njit
    def primal(conductances, current, dt, steps):
        return forward(conductances, current, dt, steps, np.empty((steps + 1, 4)))

    @njit
    def gradient(conductances, current, dt, steps):
        kept = np.empty((steps + 1, 4))
        value = forward(conductances, current, dt, steps, kept)
        sodium, potassium, leak = conductances[0], conductances[1], conductances[2]
        conductances_bar = np.zeros(3)
        current_bar = np.zeros_like(current)
        V_bar = m_bar = h_bar = n_bar = 0.0
        for t in range(steps - 1, -1, -1):
            V_bar += 2.0 * kept[t + 1, 0] / steps
            V, m, h, n = kept[t, 0], kept[t, 1], kept[t, 2], kept[t, 3]
            (om, cm, oh, ch, on, cn), (om_V, cm_V, oh_V, ch_V, on_V, cn_V) = rates(V)
            out = -dt * V_bar
            current_bar[t] = dt * V_bar
            conductances_bar[0] += out * m**3 * h * (V - 50.0)
            conductances_bar[1] += out * n**4 * (V + 77.0)
            conductances_bar[2] += out * (V + 54.4)
            V_bar += (
                out * (sodium * m**3 * h + potassium * n**4 + leak)
                + dt * m_bar * (om_V * (1.0 - m) - cm_V * m)
                + dt * h_bar * (oh_V * (1.0 - h) - ch_V * h)
                + dt * n_bar * (on_V * (1.0 - n) - cn_V * n)
            )
            m_bar += out * sodium * 3.0 * m**2 * h * (V - 50.0) - dt * m_bar * (om + cm)
            h_bar += out * sodium * m**3 * (V - 50.0) - dt * h_bar * (oh + ch)
            n_bar += out * potassium * 4.0 * n**3 * (V + 77.0) - dt * n_bar * (on + cn)
        return value, (conductances_bar, current_bar)

    return primal, gradient


def in_jax():
    """A scan over the steps."""
    import jax.numpy as jnp
    from jax import lax

    def program(conductances, current, dt, steps):
        sodium, potassium, leak = conductances

        def step(state, current):
            V, m, h, n = state
            open_m = 0.1 * (V + 40.0) / (1.0 - jnp.exp(-(V + 40.0) / 10.0))
            close_m = 4.0 * jnp.exp(-(V + 65.0) / 18.0)
            open_h = 0.07 * jnp.exp(-(V + 65.0) / 20.0)
            close_h = 1.0 / (1.0 + jnp.exp(-(V + 35.0) / 10.0))
            open_n = 0.01 * (V + 55.0) / (1.0 - jnp.exp(-(V + 55.0) / 10.0))
            close_n = 0.125 * jnp.exp(-(V + 65.0) / 80.0)
            through = sodium * m**3 * h * (V - 50.0) + potassium * n**4 * (V + 77.0) + leak * (V + 54.4)
            V = V + dt * (current - through)
            m = m + dt * (open_m * (1.0 - m) - close_m * m)
            h = h + dt * (open_h * (1.0 - h) - close_h * h)
            n = n + dt * (open_n * (1.0 - n) - close_n * n)
            return (V, m, h, n), V * V

        return jnp.sum(lax.scan(step, (-65.0, 0.05, 0.6, 0.3), current)[1]) / steps

    return program


ROW = Row(
    title="first gradient of 30 lines",
    program=neuron,
    arguments=arguments,
    quick={"steps": 10},
    full={"steps": 100},
    argnums=(0, 1),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=as_it_stands(AUTOGRAD, neuron),
    static=(3,),
    kind="start",
)
