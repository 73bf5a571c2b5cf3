"""Random programs of shifted parts of arrays, of all pairs of points, (from 1000 on) of multiples of arrays, and (from
2000 on) of parts that are read several times, these to second order.

`python -m tests.lowering.stencils FROM TO [BACKEND ...]` tries more of them: gradients, compared with the program as
Python; in checked mode with `DIFFJIT_CHECKED=1`, kernels with `DIFFJIT_CUDA=emulated` or `watched` and backend `cuda`.
"""

import random
import sys

import numpy as np

import diffjit as dj
from tests.aliases.check import loaded

LENGTHS = (1, 2, 3, 4, 5, 9, 17, 40)


def _cuts(rng, ndim, reach):
    """One part for each of some terms: all have one shape, lengths less `reach`."""
    found = []
    for _ in range(rng.randint(2, 6)):
        first = [rng.randint(0, r) for r in reach]
        parts = [
            ":" if r == 0 else f"{f or ''}:{f - r or ''}" if rng.random() < 0.8 else f"{f}:n{k} - {r - f}"
            for k, (f, r) in enumerate(zip(first, reach, strict=True))
        ]
        found.append(", ".join(parts))
    return found


def _stencil(rng, lines):
    ndim = rng.randint(1, 3)
    reach = [rng.randint(0, 2) for _ in range(ndim)]
    shape = tuple(rng.choice(LENGTHS[2:]) for _ in range(ndim))
    while np.prod(shape) > 3000:
        shape = tuple(max(3, n // 2) for n in shape)
    lines.append(f"    {', '.join(f'n{k}' for k in range(ndim))}, = u.shape")
    for _ in range(rng.randint(1, 3)):
        cuts = _cuts(rng, ndim, reach)
        factors = ["" if rng.random() < 0.7 else f"{rng.choice(['0.3', 'a', '-2.0'])} * " for _ in cuts]
        terms = [f"{factor}u[{cut}]" for factor, cut in zip(factors, cuts, strict=True)]
        if rng.random() < 0.3:
            terms.append(f"w[{cuts[0]}] * u[{cuts[-1]}]")
        target = rng.choice(cuts)
        line = rng.choice([
            f"u[{target}] += 0.1 * ({' + '.join(terms)})",
            f"u[{target}] = np.tanh({' - '.join(terms)})",
            f"w[{target}] += {' + '.join(terms)}",
            f"w[{target}] = {' - '.join(terms)}",
            f"w = w * 0.5\n    u[{target}] = {' - '.join(terms).replace('u[', 'w[')}",
            f"a = a + np.sum(({' + '.join(terms)}) ** 2) * 1e-3",
        ])  # fmt: skip
        if rng.random() < 0.5:
            line = line.replace("\n", "\n    ")
            lines += [f"    for _ in range({rng.randint(1, 3)}):", f"        {line}"]
        else:
            lines.append(f"    {line}")
    lines.append("    return np.sum(u * u) + np.sum(np.sin(w)) + a")
    return shape, shape


def _pairs(rng, lines):
    n, m = rng.choice(LENGTHS), rng.choice(LENGTHS)
    flat = rng.random() < 0.4
    first, second = ("u[:, None]", "w[None, :]") if flat else ("u[:, None, :]", "w[None, :, :]")
    along = "" if flat else ", axis=2"
    lines.append(f"    d = {first} {rng.choice('+-*')} {second}")
    if rng.random() < 0.3:
        lines.append(f"    d = -d * {first}")
    if rng.random() < 0.4:  # what it was made of changes before it is read
        lines.append(rng.choice(["    u[0] = a", "    w *= 1.1", "    u += a"]))
    lines.append(f"    r = np.sum(d * d{along})" if flat else "    r = np.sum(d * d, axis=2)")
    for _ in range(rng.randint(1, 3)):
        line = rng.choice([
            "    a = a + np.sum(np.exp(-d * d))",
            f"    a = a + np.sum(np.sin(d){along}) * 0.1" if flat else "    a = a + np.sum(np.sum(d, axis=1) ** 2)",
            "    a = a + np.max(d)" if rng.random() < 0.3 else "    a = a + np.mean(d * a)",
            "    a = a + np.sum(np.log(1.0 + r))",
        ])  # fmt: skip
        lines.append(line)
    if rng.random() < 0.2:
        lines.append("    d[0] = 2.0 * d[0]")
    lines.append("    return a + np.sum(d) + np.sum(np.cos(r))")
    return ((n,), (m,)) if flat else ((n, 3), (m, 3))


def _multiples(rng, lines):
    """Multiples of multiples, of which some change, some are kept, and some are read by loops of their own."""
    shape = rng.choice([(rng.choice(LENGTHS),), (rng.choice(LENGTHS[1:5]), rng.choice(LENGTHS))])
    known = ["u", "w"]
    for k in range(rng.randint(2, 9)):
        v, other = rng.choice(known), rng.choice(known)
        line = rng.choice([
            f"v{k} = a * {v}", f"v{k} = {v} - 0.5", f"v{k} = -{v}", f"v{k} = {v} + {v}", f"v{k} = {v} * {other}",
            f"v{k} = np.sin({v})", f"v{k} = {v}[::-1]", f"v{k} = ({v}.T * 2.0).T",
            f"{v} += 0.1 * {other}", f"{v}[0] = a", f"{v}[:] = {other} * 0.5",
            f"a = a + np.sum({v} * {other}) * 0.01", f"a = a + np.max({v})", f"a = a + np.mean(np.cos({v}))",
        ])  # fmt: skip
        if line.startswith(f"v{k} = "):
            known.append(f"v{k}")
        elif rng.random() < 0.3:
            line = f"for _ in range({rng.randint(0, 2)}): {line}"
        lines.append(f"    {line}")
    lines.append("    return a + " + " + ".join(f"np.sum({v} ** 2)" for v in known))
    return shape, shape


def _reused(rng, lines):
    """Parts of one array and multiples of them, each read several times: what comes back to a part adds up, from
    multiples of arrays that others read, before it is added to the array's own."""
    length = rng.randint(2, 4)
    for k in range(rng.randint(2, 3)):
        first = rng.randint(0, 3)
        cut = f"{first}:{first + length}"
        lines.append(f"    p{k} = u[{cut}]{rng.choice(['', '.copy()'])}")
        known = [f"p{k}"]
        for j in range(rng.randint(1, 4)):
            v, other = rng.choice(known[-2:]), rng.choice(known)
            line = rng.choice([
                f"q{k}{j} = -{v}", f"q{k}{j} = a * {v}", f"q{k}{j} = -(0.5 * {v})", f"q{k}{j} = {v} * w[{cut}]",
                *[f"q{k}{j} = {v}.copy()\n    q{k}{j} /= np.sqrt(np.sum(q{k}{j} * {r}))" for r in (other, f"q{k}{j}")],
                f"q{k}{j} = {v} / np.sqrt(np.sum({v} * {v}))", f"a = np.sin(a + np.sum({v} ** 3))",
            ])  # fmt: skip
            if line.startswith(f"q{k}{j} = "):
                known.append(f"q{k}{j}")
            lines.append(f"    {line}")
        ends = [rng.choice([f"np.sum(np.cos({v}))", f"np.sum({v})", f"{v}[0] * {v}[1]"]) for v in known]
        ends = rng.sample(ends, rng.randint(1, len(ends)))
        lines.append(f"    a = a {rng.choice('+*')} ({' + '.join(ends)})")
    lines.append("    return a")
    return (9,), (9,)


def program(seed):
    """The text of `f(u, w, a)`, and its arguments."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    lines = ["def f(u, w, a):"]
    make = _reused if seed >= 2000 else _multiples if seed >= 1000 else _stencil if rng.random() < 0.6 else _pairs
    shapes = make(rng, lines)
    dtype = np.float32 if rng.random() < 0.15 else np.float64
    u, w = (numbers.uniform(-1.0, 1.0, s).astype(dtype) for s in shapes)
    if rng.random() < 0.2:
        u = np.asfortranarray(u)
    elif rng.random() < 0.2 and u.ndim > 1:
        u = np.repeat(u, 2, axis=-1)[..., ::2]
    return "\n".join(lines), (u, w, dtype(0.3))


def tried(seed, backends=("numba",)):
    """Gradients by some backends against the program as Python."""
    text, args = program(seed)
    function = loaded(text, f"stencils {seed}", np=np)["f"]

    def found(backend):
        try:
            if seed >= 2000:
                return (dj.jacfwd(dj.grad(function, backend=backend), backend=backend)(*args),)
            value, gradient = dj.value_and_grad(function, (0, 1, 2), backend=backend)(*args)
        except (IndexError, ValueError) as error:
            return type(error)
        return value, *gradient

    wanted = found("python")
    for backend in backends:
        made = found(backend)
        if isinstance(wanted, type) or isinstance(made, type):
            assert wanted is made, (wanted, made)
            continue
        eps = np.finfo(args[0].dtype).eps
        for a, b in zip(made, wanted, strict=True):
            scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
            np.testing.assert_allclose(a, b, rtol=0, atol=1e5 * eps * scale)


if __name__ == "__main__":
    for k in range(*map(int, sys.argv[1:3])):
        try:
            tried(k, sys.argv[3:] or ["numba"])
        except Exception as error:  # noqa: BLE001 - all are shown
            sys.stdout.write(f"{k}: {type(error).__name__}: {error}\n{program(k)[0]}\n")
