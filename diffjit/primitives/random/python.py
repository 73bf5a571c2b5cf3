"""Python's Random, and the one behind `random`."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalIterable=false, reportOptionalMemberAccess=false

from __future__ import annotations

import math
import random

import numpy as np

from diffjit.primitives.random.distributions import beside
from diffjit.primitives.random.draws import draw, fixed, order, reseed, seeded, twin
from diffjit.primitives.random.generator import seed_or_new
from diffjit.primitives.random.implicit import beta_sample, gamma_sample
from diffjit.primitives.registry import implements


class Random:
    """A Random."""

    stands_for = random.Random
    told = "a random.Random"

    def seed(self, a=None):
        """Begin anew."""
        reseed(self, seed_or_new(a))

    def random(self):
        """Between 0 and 1."""
        return draw(self, "random", None)

    def uniform(self, a, b):
        """`a + (b - a) * u`."""
        return a + (b - a) * draw(self, "random", None)

    def gauss(self, mu=0.0, sigma=1.0):
        """`mu + sigma * z`, of two that are drawn together."""
        return mu + draw(self, "gauss", None, 0.0, 1.0) * sigma

    def normalvariate(self, mu=0.0, sigma=1.0):
        """`mu + sigma * z`."""
        return mu + draw(self, "normalvariate", None, 0.0, 1.0) * sigma

    def lognormvariate(self, mu=0.0, sigma=1.0):
        """exp(mu + sigma z)."""
        z = draw(twin(self), "normalvariate", None, 0.0, 1.0)
        value = draw(self, "lognormvariate", None, fixed(mu), fixed(sigma))
        return beside(value, math.exp(mu + z * sigma))

    def expovariate(self, lambd=1.0):
        """`e / lambd`."""
        return draw(self, "expovariate", None, 1.0) / lambd

    def gammavariate(self, alpha, beta):
        """Derivatives by alpha are implicit."""
        if alpha <= 0.0 or beta <= 0.0:
            raise ValueError("gammavariate: alpha and beta must be > 0.0")
        return float(gamma_sample(draw(self, "gammavariate", None, fixed(alpha), 1.0), float(alpha))) * beta

    def betavariate(self, alpha, beta):
        """Derivatives by both parameters are implicit."""
        value = draw(self, "betavariate", None, fixed(alpha), fixed(beta))
        return float(beta_sample(value, float(alpha), float(beta)))

    def weibullvariate(self, alpha, beta):
        """`alpha * e ** (1 / beta)`."""
        value = draw(self, "weibullvariate", None, 1.0, fixed(beta))
        return alpha * beside(value, value ** (fixed(beta) / beta))

    def paretovariate(self, alpha):
        """u ** (-1 / alpha)."""
        value = draw(self, "paretovariate", None, fixed(alpha))
        return beside(value, value ** (fixed(alpha) / alpha))

    def vonmisesvariate(self, mu, kappa):
        """A value."""
        return draw(self, "vonmisesvariate", None, mu, kappa)

    def triangular(self, low=0.0, high=1.0, mode=None):
        """Roots on either side of the mode."""
        if mode is None:
            u = draw(twin(self), "random", None)
            value = draw(self, "triangular", None, fixed(low), fixed(high))
            part = u if u <= 0.5 else 1.0 - u
            root = math.sqrt(part * 0.5)
            formula = low + (high - low) * (root if u <= 0.5 else 1.0 - root)
            return beside(value, formula)
        u = draw(twin(self), "random", None)
        value = draw(self, "triangular", None, fixed(low), fixed(high), fixed(mode))
        part = (mode - low) / (high - low)
        if u > part:
            formula = high + (low - high) * math.sqrt((1.0 - u) * (1.0 - part))
        else:
            formula = low + (high - low) * math.sqrt(u * part)
        return beside(value, formula)

    def getrandbits(self, k):
        """An integer."""
        if k > 62:
            raise NotImplementedError("more than 62 random bits: several of fewer bits")
        return draw(self, "getrandbits", None, k, gives=int)

    def randrange(self, start, stop=None, step=1):
        """An integer."""
        if stop is None:
            start, stop = 0, start
        return draw(self, "randrange", None, start, stop, step, gives=int)

    def randint(self, a, b):
        """An integer."""
        return draw(self, "randint", None, a, b, gives=int)

    def choice(self, seq):
        """An item."""
        if len(seq) == 0:
            raise IndexError("Cannot choose from an empty sequence")
        return seq[draw(self, "randrange", None, len(seq), gives=int)]

    def shuffle(self, x):
        """Bring items into another order, in place."""
        places = order(self, len(x))
        if isinstance(x, list):
            x[:] = [x[int(places[k])] for k in range(len(x))]
        else:
            x[:] = x[places]

    def sample(self, population, k):
        """Different items."""
        n = len(population)
        places = draw(self, "sample", (k,), n, k, gives=int)
        return [population[int(places[j])] for j in range(k)]

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        """Items, any of them several times."""
        if weights is not None:
            weights = fixed(np.asarray(weights, dtype=float))
        if cum_weights is not None:
            cum_weights = fixed(np.asarray(cum_weights, dtype=float))
        places = draw(self, "choices", (k,), len(population), weights, cum_weights, k, gives=int)
        return [population[int(places[j])] for j in range(k)]


@implements(random.Random)
def random_of(x=None):
    """A Random."""
    return seeded(Random, "MT19937", seed_or_new(x))
