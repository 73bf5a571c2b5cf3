"""Random programs of products over a few numbers: the generator behind the tests.

`python -m tests.lowering.skinny FROM TO [BACKEND ...]` tries more of them: values against NumPy, gradients against the
program as Python and against differences; `DIFFJIT_CHECKED` and `DIFFJIT_CUDA` as for `tests.lowering.stencils`.
"""

import random
import sys

import numpy as np

import diffjit as dj
from tests.aliases.check import loaded

ROWS = (1, 2, 3, 5, 17)
LONG = (0, 1, 2, 3, 3, 4, 16, 17, 40)
_PARTS = ["[:2]", "[1:]", "[::2]", "[::-1]", "[:, 1:]", "[-2:]", "[:m - 1]", "[0]", "[1:1]", "[:, ::-1]", "[..., :3]"]


def _operands(rng):
    """Shapes of two operands, how the program writes them, the lengths that it reads, and what comes behind."""
    m, k, n = rng.choice(ROWS), rng.choice((1, 2, 3, 4, 5)), rng.choice(LONG)
    inner = k if rng.random() < 0.9 else k + 1
    stack = rng.choice((1, 2, 3))
    left, first = rng.choice([
        ((m, k), f"a.reshape(m, {k})"),
        ((m, k), f"(a * np.ones({k}))"),
        ((m, k), "a"),
        ((k, m), f"a.T.copy().reshape(m, {k})"),
        ((k, m), f"(a.T + np.zeros({k}))"),
        ((stack, m, k), f"(a - np.zeros({k}))"),
        ((stack, m, k), f"a.reshape(-1, m, {k})"),
    ])  # fmt: skip
    rows = "a.shape[-1]" if left == (k, m) and ".T" in first else "a.shape[-2]"
    if rng.random() < 0.3 and len(left) == 2:
        right = (inner, n, rng.choice(ROWS))
        given = rng.choice(["b", f"(b + np.zeros(({inner}, 1, 1)))"])
        return left, right, (first, f"{given}.reshape({inner}, n * l)", ".reshape(m, n, l)"), (
            rows, "b.shape[1]", rng.choice(["b.shape[2]"] * 9 + ["b.shape[2] + 1"])
        )  # fmt: skip
    right, second = rng.choice([
        ((inner, n), "b"),
        ((inner, n), "np.sin(b)"),
        ((inner, n), f"b.reshape({inner}, n)"),
        ((n, inner), "b.T"),
        ((inner, n), f"(b + np.zeros({n}))"),
        ((n, inner), f"b.reshape({n}, {inner}).T"),
        ((stack if rng.random() < 0.9 else 4, inner, n), "b"),
        ((n, inner, stack), "b.transpose(2, 1, 0)"),
        ((stack, inner, n), f"b.reshape({stack}, {inner}, n)"),
    ])  # fmt: skip
    length = "b.shape[0]" if right[0] == n and ".t" in second.lower() else "b.shape[-1]"
    return left, right, (first, second, ""), (rows, length, "1")


def program(seed):
    """The text of `f(a, b, w, s)`, and its arguments."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    left, right, (first, second, after), lengths = _operands(rng)
    lines = ["def f(a, b, w, s):", f"    m, n, l = {', '.join(lengths)}"]
    lines.append("    total = s")
    inside = []
    if rng.random() < 0.3:
        inside.append(f"x = {second}")
        second = "x"
    if rng.random() < 0.3 and not after:
        inside.append(f"p = np.matmul({first}, {second})")
    else:
        inside.append(f"p = ({first} @ {second}){after}")
    if rng.random() < 0.3:  # what it was made of changes before it is read
        inside.append(rng.choice(["b *= 1.1", "a[0] = s", "b += s", "a *= 0.9", "w += 1.0"]))
    read = "p" + (rng.choice(_PARTS) if rng.random() < 0.5 else "")
    kinds = [
        f"total = total + np.sum({read} * np.cos({read}))",
        f"total = total + np.sum(np.sin({read} + s))",
        f"q = {read} * s + 1.0; total = total + np.sum(q * q)",
        f"w[:] += np.sum({read}) * 0.1",
        f"w = w + 0.1 * np.sum({read} ** 2)",
        "total = total + np.sum(p) + np.max(np.abs(p), initial=0.0)",
        "r = p + 0.0; r[:] *= p; total = total + np.sum(r)",
        f"total = total + np.sum({read} * w[0])",
        f"for i in range(2): total = total + np.sum({read}) * i",
        f"if s > 0: total = total + np.sum({read} ** 3)",
    ]
    inside += [rng.choice(kinds) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.4:
        lines.append(f"    for turn in range({rng.randint(1, 3)}):")
        inside = [f"    {line}" for line in inside]
    lines += [f"    {line}" for line in inside]
    lines.append("    return total + np.sum(w * w)")
    dtype = rng.choice([np.float64] * 6 + [np.float32])
    a, b = (numbers.uniform(-1.0, 1.0, shape).astype(dtype) for shape in (left, right))
    if rng.random() < 0.2:
        b = np.asfortranarray(b)
    elif rng.random() < 0.2:
        b = np.repeat(b, 2, axis=-1)[..., ::2]
    return "\n".join(lines), (a, b, numbers.uniform(-1.0, 1.0, 3).astype(dtype), dtype(0.3))


def _copies(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def tried(seed, backends=("numba",)):
    """Whether it ran to its end; values, and gradients by some backends, are compared."""
    text, args = program(seed)
    function = loaded(text, f"skinny {seed}", np=np)["f"]
    try:
        value = function(*_copies(args))
    except (IndexError, ValueError) as error:
        for backend in ("python", *backends):
            try:
                made = dj.value_and_grad(function, (0, 1, 2, 3), backend=backend)(*_copies(args))
            except type(error):
                continue
            raise AssertionError(f"{backend} does not raise {error!r}, but gives {made}") from error
        return False
    _, wanted = dj.value_and_grad(function, (0, 1, 2, 3), backend="python")(*_copies(args))
    single = args[0].dtype == np.float32
    direction = [np.random.default_rng(seed + k).uniform(-1.0, 1.0, np.shape(x)) for k, x in enumerate(args)]
    if not single:
        step = 1e-5
        ends = [
            function(*(np.asarray(x + sign * step * d)[()] for x, d in zip(_copies(args), direction, strict=True)))
            for sign in (1, -1)
        ]
        slope = sum(float(np.sum(g * d)) for g, d in zip(wanted, direction, strict=True))
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), slope, rtol=1e-5, atol=1e-6)
    tolerance = 1e-4 if single else 1e-11
    for backend in backends:
        assert abs(dj.jit(function, backend=backend)(*_copies(args)) - value) <= tolerance * max(1.0, abs(value))
        found = dj.value_and_grad(function, (0, 1, 2, 3), backend=backend)(*_copies(args))
        for x, y in zip((found[0], *found[1]), (value, *wanted), strict=True):
            scale = max(1.0, float(np.max(np.abs(y), initial=0.0)))
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale)
    return True


if __name__ == "__main__":
    ended = 0
    for number in range(*map(int, sys.argv[1:3])):
        try:
            ended += tried(number, sys.argv[3:] or ["numba"])
        except Exception as error:  # noqa: BLE001 - all are shown
            sys.stdout.write(f"{number}: {type(error).__name__}: {error}\n{program(number)[0]}\n")
    sys.stdout.write(f"{ended} ran to their end\n")
