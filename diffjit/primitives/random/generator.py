"""NumPy's Generator, and how programs make one."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalIterable=false, reportOptionalMemberAccess=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.random.distributions import Distributions, shape_of
from diffjit.primitives.random.draws import draw, fixed, seeded
from diffjit.primitives.registry import implements


class Generator(Distributions):
    """A Generator."""

    stands_for = np.random.Generator
    told = "a random Generator"
    too_wide = "high - low range exceeds valid bounds"
    sticks = True  # small parameters of a Dirichlet distribution are drawn as pieces of a stick

    def check_width(self, width):
        """NumPy refuses an interval that is turned round."""
        if np.signbit(width) if np.ndim(width) == 0 else np.any(np.signbit(width)):
            raise ValueError("high - low < 0")

    def between(self, shape):
        """Between 0 and 1."""
        return draw(self, "random", shape, size=shape)

    def random(self, size=None, dtype=np.float64):
        """Between 0 and 1."""
        shape = shape_of(size)
        if dtype in (np.float64, "d", "float64", float):
            return draw(self, "random", shape, size=shape)
        return draw(self, "random", shape, size=shape, dtype=dtype, gives=dtype)

    def standard_normal(self, size=None, dtype=np.float64):
        """Without parameters."""
        shape = shape_of(size)
        if dtype in (np.float64, "d", "float64", float):
            return draw(self, "standard_normal", shape, size=shape)
        return draw(self, "standard_normal", shape, size=shape, dtype=dtype, gives=dtype)

    def standard_exponential(self, size=None, dtype=np.float64, method="zig"):
        """Without parameters."""
        shape = shape_of(size)
        if dtype in (np.float64, "d", "float64", float) and method == "zig":
            return draw(self, "standard_exponential", shape, size=shape)
        return draw(self, "standard_exponential", shape, size=shape, dtype=dtype, method=method, gives=dtype)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        """Integers."""
        if high is None:
            low, high = 0, low
        shape = shape_of(size, low, high)
        if np.ndim(low) + np.ndim(high) == 0 and (low > high if endpoint else low >= high):
            raise ValueError("low > high" if endpoint else "low >= high")
        return draw(self, "integers", shape, low, high, size=shape, dtype=dtype, endpoint=endpoint, gives=dtype)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Items, by their numbers."""
        shape = shape_of(size)
        if p is not None:
            p = fixed(np.asarray(p, dtype=float))
        n = a if np.ndim(a) == 0 else np.shape(a)[axis]
        if shape is None:
            k = draw(self, "choice", None, n, replace=replace, p=p, shuffle=shuffle, gives=np.int64)
        else:
            k = draw(self, "choice", shape, n, size=shape, replace=replace, p=p, shuffle=shuffle, gives=np.int64)
        if np.ndim(a) == 0:
            return k
        return np.take(np.asarray(a), k, axis=axis)

    def spawn(self, n_children):
        """Refused."""
        raise NotImplementedError("spawn inside a program: make the streams outside, or seed them")

    def permuted(self, x, axis=None, out=None):
        """Refused."""
        raise NotImplementedError("permuted: rng.permutation along an axis, or rng.shuffle of each row")


class BitGenerator:
    """A bit generator that a Generator is made of."""

    def __init__(self, stream):
        self.stream = stream


ENTROPY = np.random.default_rng()  # what seeds the streams of programs that give no seed


def seed_or_new(seed, most=2**63 - 1):
    """A seed; a new one where there is none."""
    if seed is None:
        return ENTROPY.integers(0, most)
    return seed


@implements(np.random.default_rng)
def default_rng(seed=None):
    """A Generator of PCG64."""
    if isinstance(seed, np.random.Generator):
        return seed
    if hasattr(seed, "stream"):
        return seed.stream
    return seeded(Generator, "PCG64", seed_or_new(seed))


@implements(np.random.Generator)
def generator_of(bit_generator):
    """The Generator of a bit generator."""
    return bit_generator.stream


@implements(np.random.PCG64)
def pcg64(seed=None):
    """PCG64."""
    return BitGenerator(seeded(Generator, "PCG64", seed_or_new(seed)))


@implements(np.random.PCG64DXSM)
def pcg64dxsm(seed=None):
    """PCG64DXSM."""
    return BitGenerator(seeded(Generator, "PCG64DXSM", seed_or_new(seed)))


@implements(np.random.MT19937)
def mt19937(seed=None):
    """The Mersenne Twister."""
    return BitGenerator(seeded(Generator, "MT19937", seed_or_new(seed)))


@implements(np.random.Philox)
def philox(seed=None):
    """Philox."""
    return BitGenerator(seeded(Generator, "Philox", seed_or_new(seed)))


@implements(np.random.SFC64)
def sfc64(seed=None):
    """SFC64."""
    return BitGenerator(seeded(Generator, "SFC64", seed_or_new(seed)))
