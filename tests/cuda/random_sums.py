"""Random array programs aimed at sums on a device: along any axes, of any lengths, beside what is written and moved."""

import numpy as np

KINDS = ("sum", "max", "min", "mean", "prod")


def program(seed):
    """The text of a function `f(x, y)` of an array of three axes and one that is broadcast to it, and its arguments."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(rng.choice([1, 2, 3, 7, 33, 200])) for _ in range(3))
    while np.prod(shape) > 40000:
        shape = tuple(max(1, n // 3) for n in shape)
    other = tuple(1 if rng.random() < 0.4 else n for n in shape)
    lines = ["def f(x, y):", "    d = np.sin(x) * y + 0.3 * x", "    total = 0.0"]
    for k in range(int(rng.integers(1, 4))):
        if rng.random() < 0.4:  # lengths that only the run tells
            axis, by = int(rng.integers(3)), int(rng.integers(-2, 3))
            lines.append(f"    d = d + 0.1 * np.roll(d, {by}, axis={axis}) * y")
        elif rng.random() < 0.3:
            axis = int(rng.integers(3))
            cut = ", ".join("1:" if j == axis else ":" for j in range(3))
            lines.append(f"    d = np.concatenate((d[{cut}], d), axis={axis})")
            lines.append(f"    x, y = np.concatenate((x[{cut}], x), axis={axis}), np.mean(y) * np.ones(d.shape)")
        axes = sorted(rng.choice(3, size=int(rng.integers(1, 4)), replace=False).tolist())
        kind, keep = str(rng.choice(KINDS)), bool(rng.random() < 0.5)
        source = str(rng.choice(["d", "d * d", "np.exp(-d * d)", "x - y", "d.T" if len(axes) > 1 else "d"]))
        if kind == "prod":
            source = f"(1 + 1e-4 * np.cos({source}))"
        form = rng.integers(3)
        lines.append(f"    r{k} = np.{kind}({source}, axis={tuple(axes)}, keepdims={keep})")
        if keep and form == 0 and not source.endswith(".T"):
            lines.append(f"    d = d - 0.1 * r{k}")
        elif keep and form == 1:
            lines += [f"    z{k} = np.zeros(np.shape(r{k})) + r{k}", f"    z{k}[...] += np.tanh(r{k})"]
            lines.append(f"    total = total + np.sum(z{k} * z{k})")
        lines.append(f"    total = total + np.sum(np.sin(r{k}))")
    lines.append("    return total + np.sum(d)")
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    args = tuple(rng.uniform(-1.0, 1.0, s).astype(dtype) for s in (shape, other))
    if rng.random() < 0.3:
        args = np.asfortranarray(args[0]), args[1]
    return "\n".join(lines), args
