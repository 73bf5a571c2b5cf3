"""What is drawn in the tests: methods of streams with their arguments, as programs of two numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[[Any, float, float], Any]

# Of NumPy's Generator and RandomState: derivatives by x and y follow the variates.
SHARED: dict[str, Draw] = {
    "normal": lambda r, x, y: r.normal(x, y),
    "normal of arrays": lambda r, x, y: r.normal([x, 2.0, y], np.array([y, x, 1.0])),
    "normal of a size": lambda r, x, y: r.normal(x, y, size=(2, 3)),
    "normal by default": lambda r, x, y: x * r.normal() + y * r.normal(size=2),
    "standard_normal": lambda r, x, y: x * r.standard_normal() + y * r.standard_normal((2, 2)),
    "uniform": lambda r, x, y: r.uniform(-x, y),
    "uniform of arrays": lambda r, x, y: r.uniform(np.array([0.0, -x]), [1.0, y], size=(3, 2)),
    "exponential": lambda r, x, y: r.exponential(x) + y * r.exponential(size=3),
    "standard_exponential": lambda r, x, y: x * r.standard_exponential() * y,
    "rayleigh": lambda r, x, y: r.rayleigh(x) + r.rayleigh(y, 4),
    "laplace": lambda r, x, y: r.laplace(x, y) + r.laplace(x, y, 5),
    "gumbel": lambda r, x, y: r.gumbel(x, y) + r.gumbel(x, y, 5),
    "logistic": lambda r, x, y: r.logistic(x, y) + r.logistic(x, y, 5),
    "standard_cauchy": lambda r, x, y: x * r.standard_cauchy() + y * r.standard_cauchy(2),
    "lognormal": lambda r, x, y: r.lognormal(x, y) + r.lognormal(y, x, 4),
    "weibull": lambda r, x, y: r.weibull(x) + r.weibull(y, 3),
    "power": lambda r, x, y: r.power(x) + r.power(y, 3),
    "pareto": lambda r, x, y: r.pareto(x + 1.0) + r.pareto(y + 2.0, 3),
    "triangular": lambda r, x, y: r.triangular(-x, 0.2, y) + r.triangular(0.0, 0.3 * x, y + 1.0, 4),
    "standard_t": lambda r, x, y: np.sum(r.standard_t(3.0)) * x + y,
}
# Their derivatives are implicit: no difference quotient of the plain function knows them.
IMPLICIT: dict[str, Draw] = {
    "standard_gamma": lambda r, x, y: r.standard_gamma(x) + r.standard_gamma(y, 3),
    "gamma": lambda r, x, y: r.gamma(x, y) + r.gamma([y, x], 2.0),
    "gamma, small": lambda r, x, y: r.gamma(0.3 * x, y, size=4),
    "chisquare": lambda r, x, y: r.chisquare(x) * r.chisquare(y, 2),
    "beta": lambda r, x, y: r.beta(x, y) + r.beta(y, x, 3),
    "beta, small": lambda r, x, y: r.beta(0.3 * x, 0.4 * y, 5),
    "standard_t of a parameter": lambda r, x, y: r.standard_t(x + 1.0) + r.standard_t([y, x], (3, 2)),
    "f": lambda r, x, y: r.f(x + 2.0, y + 3.0) + r.f([x, y], 5.0),
    "dirichlet": lambda r, x, y: r.dirichlet([x, y, 1.5]),
    "dirichlet of a size": lambda r, x, y: r.dirichlet(np.array([x, y]), size=3),
    "dirichlet, small": lambda r, x, y: r.dirichlet([0.02 * x, 0.03 * y, 0.05], 2),
    "multivariate_normal": lambda r, x, y: r.multivariate_normal([x, y], [[1.0 + x, 0.2], [0.2, y]]),
    "multivariate_normal of a size": lambda r, x, y: r.multivariate_normal([x, y], np.array([[x, 0.0], [0.0, x]]), 4),
    "vonmises": lambda r, x, y: r.vonmises(x, 2.0) + r.vonmises(y, 3.0, 2),
}
# Constants: numbers that do not follow x and y.
CONSTANT: dict[str, Draw] = {
    "binomial": lambda r, x, y: x * r.binomial(10, 0.3) + y * r.binomial(5, [0.2, 0.4]),
    "binomial of many": lambda r, x, y: x * np.sum(r.binomial(1000, 0.37, 40)) + r.binomial(3, y, 5),
    "negative_binomial": lambda r, x, y: x * r.negative_binomial(4, 0.3),
    "poisson": lambda r, x, y: x * r.poisson(3.0) + r.poisson(x, 4) * y,
    "zipf": lambda r, x, y: x * r.zipf(3.0),
    "geometric": lambda r, x, y: x * r.geometric(0.3, 3),
    "hypergeometric": lambda r, x, y: x * r.hypergeometric(10, 5, 4),
    "logseries": lambda r, x, y: x * r.logseries(0.4),
    "multinomial": lambda r, x, y: x * r.multinomial(10, [0.2, 0.3, 0.5]) + y * np.sum(r.multinomial(5, [0.5, 0.5], 2)),
    "noncentral_chisquare": lambda r, x, y: x * r.noncentral_chisquare(3.0, 1.0, 2),
    "noncentral_f": lambda r, x, y: x * r.noncentral_f(3.0, 2.0, 1.0),
    "wald": lambda r, x, y: x * r.wald(3.0, 1.0) + y,
    "permutation": lambda r, x, y: x * r.permutation(6) + y,
    "permutation of items": lambda r, x, y: r.permutation(np.array([x, y, x * y, 1.0, 2.0])),
    "permutation of rows": lambda r, x, y: r.permutation(np.array([[x, y], [x * y, 1.0], [2.0, y * y]])),
    "choice": lambda r, x, y: x * r.choice(10) + r.choice([x, y, 3.0]),
    "choice of several": lambda r, x, y: r.choice(np.array([x, y, x * y]), 5) + x * r.choice(4, size=5),
    "choice without": lambda r, x, y: r.choice([x, y, 3.0, 4.0], size=3, replace=False),
    "choice by weight": lambda r, x, y: r.choice([x, y, 3.0], size=4, p=[0.2, 0.5, 0.3]),
}


def shuffled(r: Any, x: float, y: float) -> Any:
    """Lists, vectors and rows, in place."""
    items = [x, y, x * y, 4.0]
    r.shuffle(items)
    vector = np.array([x, y, 3.0, 4.0, x * x])
    r.shuffle(vector)
    rows = np.array([[x, 1.0], [y, 2.0], [3.0, x * y]])
    r.shuffle(rows)
    return items[0] + 2.0 * items[3] + vector[1] * vector[4] + rows[0, 0] * rows[2, 1]


CONSTANT["shuffle"] = shuffled
GENERATOR: dict[str, Draw] = {
    "multivariate_normal by cholesky": lambda r, x, y: r.multivariate_normal(
        [x, y], [[1.0 + x, 0.2], [0.2, y]], (2,), method="cholesky"
    ),
    "random": lambda r, x, y: x * r.random() + y * r.random(3),
    "random of half the bits": lambda r, x, y: (
        x * float(r.random(dtype=np.float32)) + y * r.random(4, dtype=np.float32).astype(float)
    ),
    "normal of half the bits": lambda r, x, y: x * r.standard_normal(5, dtype=np.float32).astype(float),
    "integers": lambda r, x, y: x * r.integers(10) + y * r.integers(3, 9, size=4),
    "integers with both ends": lambda r, x, y: x * r.integers(1, 6, endpoint=True) + y,
    "integers of 32 bits": lambda r, x, y: x * r.integers(0, 2**31 - 1, 5, dtype=np.int32),
    "integers of arrays": lambda r, x, y: x * r.integers([1, 2, 3], [10, 20, 30]),
    "choice of rows": lambda r, x, y: r.choice(np.array([[x, y], [1.0, x * y]]), 3),
    "choice of columns": lambda r, x, y: r.choice(np.array([[x, y], [1.0, x * y]]), 2, axis=1),
}
LEGACY: dict[str, Draw] = {
    "rand": lambda r, x, y: x * r.rand() + y * r.rand(2, 3),
    "randn": lambda r, x, y: x * r.randn() + y * r.randn(3),
    "random_sample": lambda r, x, y: x * r.random_sample() + y * r.random_sample((2,)),
    "random": lambda r, x, y: x * r.random() + y * r.random(2),
    "randint": lambda r, x, y: x * r.randint(10) + y * r.randint(2, 5, 4),
    "seed": lambda r, x, y: [r.seed(5), x * r.randn() + y * r.rand()][1],
}
PYTHON: dict[str, Draw] = {
    "random": lambda r, x, y: x * r.random() + y * r.random(),
    "uniform": lambda r, x, y: r.uniform(x, y) + r.uniform(y, x),
    "gauss": lambda r, x, y: r.gauss(x, y) + r.gauss(y, x) * r.gauss(0.0, 1.0),
    "normalvariate": lambda r, x, y: r.normalvariate(x, y),
    "lognormvariate": lambda r, x, y: r.lognormvariate(x, y),
    "expovariate": lambda r, x, y: r.expovariate(x) + r.expovariate(y),
    "weibullvariate": lambda r, x, y: r.weibullvariate(x, y),
    "paretovariate": lambda r, x, y: r.paretovariate(x) * y,
    "triangular": lambda r, x, y: r.triangular(-x, y) + r.triangular(-x, y, 0.1) + r.triangular(0.0, x, 0.9 * x),
    "randint": lambda r, x, y: x * r.randint(1, 6) + y * r.randrange(10) + r.randrange(2, 20, 3) * x,
    "getrandbits": lambda r, x, y: x * r.getrandbits(5) + y * r.getrandbits(40) * 1e-12,
    "choice": lambda r, x, y: r.choice([x, y, x * y]) + r.choice((x, 2.0)),
    "sample": lambda r, x, y: r.sample([x, y, x * y, 2.0], 2)[1] + sum(r.sample(range(10), 3)) * y,
    "choices": lambda r, x, y: r.choices([x, y, x * y], k=3)[2] + r.choices([x, y], weights=[1.0, 3.0], k=2)[0],
    "seed": lambda r, x, y: [r.seed(5), x * r.gauss(0.0, 1.0) + y * r.random()][1],
    "vonmisesvariate": lambda r, x, y: x * r.vonmisesvariate(0.0, 4.0) + y,
}


def shuffled_list(r: Any, x: float, y: float) -> Any:
    """A list, in place."""
    items = [x, y, x * y, 4.0]
    r.shuffle(items)
    return items[0] + 2.0 * items[3]


PYTHON["shuffle"] = shuffled_list
PYTHON_IMPLICIT: dict[str, Draw] = {
    "gammavariate": lambda r, x, y: r.gammavariate(x, y) + r.gammavariate(0.5 * x, y),
    "betavariate": lambda r, x, y: r.betavariate(x, y),
}

Stream = np.random.Generator | np.random.RandomState | random.Random


def state_of(stream: Any) -> Any:
    """What a stream remembers, to be compared."""
    if isinstance(stream, random.Random):
        return stream.getstate()
    bits = stream.bit_generator.state if isinstance(stream, np.random.Generator) else stream.get_state(legacy=False)
    return repr(sorted(_flat(bits)))


def _flat(state: Any, name: str = "") -> Any:
    if isinstance(state, dict):
        for key, value in state.items():
            yield from _flat(value, f"{name}.{key}")
    else:
        yield name, np.asarray(state).tolist() if isinstance(state, np.ndarray) else state


MAKERS: dict[str, Callable[[int], Any]] = {
    "Generator": np.random.default_rng,
    "RandomState": np.random.RandomState,
    "Random": random.Random,
}
CASES: list[tuple[str, str, Draw, str]] = [
    *(("Generator", n, f, "path") for n, f in (SHARED | GENERATOR).items()),
    *(("Generator", n, f, "implicit") for n, f in IMPLICIT.items()),
    *(("Generator", n, f, "path") for n, f in CONSTANT.items()),
    *(("RandomState", n, f, "path") for n, f in (SHARED | LEGACY | CONSTANT).items()),
    *(("RandomState", n, f, "implicit") for n, f in IMPLICIT.items()),
    *(("Random", n, f, "path") for n, f in PYTHON.items()),
    *(("Random", n, f, "implicit") for n, f in PYTHON_IMPLICIT.items()),
]
