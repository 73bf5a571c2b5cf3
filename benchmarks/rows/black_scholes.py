"""Prices of call options by the formula of Black and Scholes."""

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands


def normal(x):
    """The normal distribution function (Abramowitz and Stegun 26.2.17)."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) * poly
    return np.where(x > 0.0, 1.0 - tail, tail)


def black_scholes(spot, strike, time, volatility, rate):
    """The value of all options together."""
    spread = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
    return np.sum(spot * normal(d1) - strike * np.exp(-rate * time) * normal(d1 - spread))


def arguments(options):
    """A portfolio."""
    rng = np.random.default_rng(0)
    ranges = (50.0, 150.0), (60.0, 140.0), (0.2, 2.0), (0.1, 0.6)
    return *(rng.uniform(low, high, options) for low, high in ranges), 0.03


def by_hand(njit):
    """Each option forwards and backwards in one go: one pass over memory."""

    @njit
    def phi(x):
        """The distribution function and its derivative (of the approximation itself)."""
        k = 1.0 / (1.0 + 0.2316419 * abs(x))
        a = 0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        a_k = -0.356563782 + k * (2.0 * 1.781477937 + k * (3.0 * -1.821255978 + k * (4.0 * 1.330274429)))
        bell = np.exp(-0.5 * x * x) * 0.3989422804014327
        tail = bell * k * a
        slope = -abs(x) * tail - bell * (a + k * a_k) * 0.2316419 * k * k  # by |x|
        return (1.0 - tail, -slope) if x > 0.0 else (tail, -slope)

    @njit
    def primal(spot, strike, time, volatility, rate):
        total = 0.0
        for i in range(spot.size):
            spread = volatility[i] * np.sqrt(time[i])
            d1 = (np.log(spot[i] / strike[i]) + (rate + 0.5 * volatility[i] ** 2) * time[i]) / spread
            total += spot[i] * phi(d1)[0] - strike[i] * np.exp(-rate * time[i]) * phi(d1 - spread)[0]
        return total

    @njit
    def gradient(spot, strike, time, volatility, rate):
        n = spot.size
        spot_bar = np.empty(n)
        strike_bar = np.empty(n)
        time_bar = np.empty(n)
        volatility_bar = np.empty(n)
        rate_bar = 0.0
        total = 0.0
        for i in range(n):
            s, k, t, v = spot[i], strike[i], time[i], volatility[i]
            root = np.sqrt(t)
            spread = v * root
            drift = rate + 0.5 * v * v
            d1 = (np.log(s / k) + drift * t) / spread
            n1, p1 = phi(d1)
            n2, p2 = phi(d1 - spread)
            discount = np.exp(-rate * t)
            total += s * n1 - k * discount * n2

            d2_bar = -k * discount * p2
            d1_bar = s * p1 + d2_bar
            scaled = d1_bar / spread
            spread_bar = -d2_bar - scaled * d1
            discount_bar = -k * n2
            spot_bar[i] = n1 + scaled / s
            strike_bar[i] = -discount * n2 - scaled / k
            time_bar[i] = scaled * drift - discount_bar * rate * discount + spread_bar * v * 0.5 / root
            volatility_bar[i] = scaled * t * v + spread_bar * root
            rate_bar += scaled * t - discount_bar * t * discount
        return total, (spot_bar, strike_bar, time_bar, volatility_bar, rate_bar)

    return primal, gradient


ROW = Row(
    title="Black-Scholes",
    program=black_scholes,
    arguments=arguments,
    quick={"options": 20},
    full={"options": 1_000_000},
    argnums=(0, 1, 2, 3, 4),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, black_scholes, normal=normal),
    in_autograd=as_it_stands(AUTOGRAD, black_scholes, normal=normal),
)
