"""NumPy's RandomState, and the one behind `np.random`."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalIterable=false, reportOptionalMemberAccess=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.random.distributions import Distributions, shape_of
from diffjit.primitives.random.draws import draw, fixed, reseed, seeded, stream_of
from diffjit.primitives.random.generator import seed_or_new
from diffjit.primitives.registry import implements


class RandomState(Distributions):
    """A RandomState."""

    stands_for = np.random.RandomState
    told = "a RandomState"
    too_wide = "Range exceeds valid bounds"
    sticks = False

    def seed(self, seed=None):
        """Begin anew."""
        reseed(self, seed_or_new(seed, 2**32 - 1))

    def check_width(self, width):
        """Any interval."""

    def between(self, shape):
        """Between 0 and 1."""
        return draw(self, "random_sample", shape, size=shape)

    def random_sample(self, size=None):
        """Between 0 and 1."""
        return self.between(shape_of(size))

    def random(self, size=None):
        """Between 0 and 1."""
        return self.between(shape_of(size))

    def rand(self, *lengths):
        """Between 0 and 1."""
        return self.between(lengths if len(lengths) > 0 else None)

    def randn(self, *lengths):
        """Standard normal variates."""
        shape = lengths if len(lengths) > 0 else None
        return draw(self, "standard_normal", shape, size=shape)

    def randint(self, low, high=None, size=None, dtype=int):
        """Integers."""
        if high is None:
            low, high = 0, low
        shape = shape_of(size, low, high)
        if np.ndim(low) + np.ndim(high) == 0 and low >= high:
            raise ValueError("low >= high")
        return draw(self, "randint", shape, low, high, size=shape, dtype=dtype, gives=dtype)

    def choice(self, a, size=None, replace=True, p=None):
        """Items, by their numbers."""
        shape = shape_of(size)
        if p is not None:
            p = fixed(np.asarray(p, dtype=float))
        n = a if np.ndim(a) == 0 else len(a)
        if shape is None:
            k = draw(self, "choice", None, n, replace=replace, p=p, gives=int)
        else:
            k = draw(self, "choice", shape, n, size=shape, replace=replace, p=p, gives=int)
        if np.ndim(a) == 0:
            return k
        return np.asarray(a)[k]


@implements(np.random.RandomState)
def random_state(seed=None):
    """A RandomState."""
    if hasattr(seed, "stream"):
        raise NotImplementedError("RandomState of a bit generator: a seed, or np.random.Generator(bits)")
    return seeded(RandomState, "MT19937", seed_or_new(seed, 2**32 - 1))


@implements(np.random.seed)
def seed_all(seed=None):
    """Begin anew."""
    stream_of("RandomState").seed(seed)


@implements(np.random.ranf, np.random.sample)
def ranf(size=None):
    """Between 0 and 1."""
    return stream_of("RandomState").random_sample(size)
