"""What one mask chooses has one length while the mask is the same, and another one when it may have changed."""

# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.entry.program import specialise
from diffjit.ir.types import Sym
from tests.aliases.check import loaded

LENGTHS = (0, 1, 2, 5, 9)
HOSTED = "def turned(k, t):\n    k[t % max(k.size, 1) : 4] ^= True\n\n\n"


def _statement(rng, names, indent, depth):
    mask = rng.choice(["m", "k", "m", "k", "v"])
    pad = "    " * indent
    kind = rng.randrange(14 if depth < 2 else 10)
    if kind < 4:
        name = f"a{len(names)}"
        names.append(name)
        how = rng.choice([f"x[{mask}]", f"y[{mask}]", f"z[{mask}, 0]", f"x[np.nonzero({mask})[0]]", f"(x * y)[{mask}]"])
        return [f"{pad}{name} = {how}"]
    if kind == 4:
        return [f"{pad}s = s + np.sum(x[{mask}] * y[{mask}])"]
    if kind == 5:
        return [f"{pad}x[{mask}] += 0.5 * y[{mask}] * np.cos(x[{mask}])"]
    if kind == 6:
        return [
            pad + rng.choice(["m &= x < 0.5", "k |= y > 0.2", "v[...] = True", "m[: m.size // 2] = False", "k ^= m"])
        ]
    if kind == 7:
        return [pad + rng.choice(["m = x > 0.1", "k = m", "k = y < x", "v = m[:]", "k = m & k", "v = k"])]
    if kind == 8:
        return [f"{pad}turned({mask}, {rng.randint(0, 3)})"]
    if kind == 9:
        return [f"{pad}y[{mask}] = x[{rng.choice('mkv')}]"]  # which may not fit
    body = [line for _ in range(rng.randint(2, 4)) for line in _statement(rng, names, indent + 1, depth + 1)]
    if kind == 10:
        return [f"{pad}if s > {rng.choice(['0.0', '0.3'])}:", *body]
    if kind == 11:
        other = _statement(rng, names, indent + 1, depth + 1)
        return [f"{pad}if x.size and x[0] > 0.2:", *body, f"{pad}else:", *other]
    return [f"{pad}for t in range({rng.randint(0, 3)}):", *body]


def program(seed):
    """The text of `f(x, y, z, m)`, and the names that it gives what is chosen."""
    rng, names = random.Random(seed), []
    lines = [line for _ in range(rng.randint(6, 12)) for line in _statement(rng, names, 1, 0)]
    start = [f"    {name} = x[:0]" for name in names]
    head = [*HOSTED.splitlines(), "def f(x, y, z, m):", "    x, y, m, s = x.copy(), y.copy(), m.copy(), 0.1"]
    head += ["    k, v = y > 0.3, m[:]", *start]
    return "\n".join([*head, *lines]) + "\n", names


def _arguments(seed, n):
    numbers = np.random.default_rng(seed)
    x, y, z = numbers.uniform(-1, 1, n), numbers.uniform(-1, 1, n), numbers.uniform(-1, 1, (n, 2))
    return x, y, z, numbers.uniform(-1, 1, n) > 0


def _found(function, *args):
    try:
        return function(*args)
    except (IndexError, ValueError) as error:
        return type(error)


def counted(seed):
    """How many lengths of a program have the symbol of another one, none of which is ever another length."""
    text, names = program(seed)
    f = loaded(f"{text}    return [{', '.join(names)}]\n", f"masked lengths {seed}", np=np)["f"]
    made = specialise(f, _arguments(0, 30), {})
    dims = [made.function.results[out.index].type.dims[0] for out in made.result]
    for n in (17, 23, 30):
        for draw in range(4):
            arrays = _found(f, *_arguments(draw, n))
            for k, d in enumerate(dims if isinstance(arrays, list) else ()):
                if isinstance(d, Sym):
                    assert arrays[k].size == arrays[dims.index(d)].size, (text, k, dims.index(d), n)
    return len(dims) - len(set(dims))


def checked(seed):
    """A gradient, compiled, against the program as Python."""
    text, _ = program(seed)
    f = loaded(f"{text}    return s + np.sum(x * y)\n", f"masked {seed}", np=np)["f"]
    gradients = [dj.value_and_grad(f, (0, 1), backend=backend) for backend in ("python", "numba")]
    for n in LENGTHS:
        x, y, z, m = _arguments(seed, n)
        value = _found(f, x, y, z, m)
        plain, compiled = (_found(gradient, x, y, z, m) for gradient in gradients)
        if isinstance(value, type):
            assert (plain, compiled) == (value, value), (text, n)
            continue
        for a, b in ((plain[0], value), (compiled[0], value), *zip(compiled[1], plain[1], strict=True)):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=f"{text} {n}")


def test_lengths():
    assert sum(map(counted, range(30))) > 5


@pytest.mark.slow
def test_more_lengths():
    assert sum(map(counted, range(1000, 2500))) > 250


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 120))])
def test_gradients(seed):
    checked(seed)


def test_what_one_mask_chooses_shares_its_loops():
    def f(x, y):
        m = x > 0.0
        x[m] += y[m] * np.log(x[m])
        return np.sum(x)

    text = dj.source(dj.jit(f), np.ones(40), np.ones(40), stage="lowered")
    assert "joint(" not in text


def test_a_mask_that_changes_chooses_something_else():
    def f(x, y):
        m = x > 0.0
        a = x[m]
        m[0] = not m[0]
        b = y[m]
        return np.sum(a[:, None] * b) + a.size - b.size

    x, y = np.linspace(-1.0, 2.0, 9), np.linspace(0.5, 1.5, 9)
    for backend in ("python", "numba"):
        np.testing.assert_allclose(dj.jit(f, backend=backend)(x, y), f(x, y), rtol=1e-14)
