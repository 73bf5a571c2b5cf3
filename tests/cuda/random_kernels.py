"""Random kernels without races: phases between barriers, in loops and branches that all threads of a block share.

python -m tests.cuda.random_kernels 0 40        seeds: against Numba's simulator, threads in random order, and quotients
"""

import os
import pickle
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from tests.aliases.check import loaded
from tests.containers.writing import Lines

BLOCK = 6
LENGTH = 15  # of a grid of three blocks, the last not full


HEAD = """
import math
import warnings

warnings.simplefilter("ignore")
import numpy as np
from numba import cuda, float64


@cuda.jit(device=True)
def bent(u, v):
    if u > v:
        return u - 0.5 * v
    return 0.3 * u * v


"""


class Writer(Lines):
    """The text of a kernel and of a program that launches it."""

    def __init__(self, seed):
        super().__init__(seed)
        self.returns = self.chance(0.3)

    def number(self, *, shared):
        ways = ["a", "b", "c", "x[i % n]", "y[(i + 1) % n]", "0.5 * k", "p[0]", "p[1]", "w[t % 2]"]
        if shared:
            ways += ["sm[t]", f"sm[(t + {self.draw.randrange(1, BLOCK)}) % {BLOCK}]", "sm[0]", "tot"] * 2
        return self.pick([w for w in ways if w != "tot"])

    def value(self, *, shared):
        u, v = self.number(shared=shared), self.number(shared=shared)
        return self.pick(
            [f"{u} * {v}", f"math.sin({u}) + 0.5 * {v}", f"math.tanh({u} - {v})", f"({u} if {v} > 0.4 else 0.3 * {v})",
             f"bent({u}, {v})"]
        )  # fmt: skip

    def private(self, depth, *, shared):
        """Statements that touch a thread's own variables alone."""
        for _ in range(self.draw.randrange(1, 3)):
            way = self.draw.randrange(6)
            name = self.pick(["a", "b"])
            if way == 0:
                self.line(depth, f"if {self.number(shared=shared)} > 0.5 and t % 2 == 0:")
                self.line(depth + 1, f"{name} = {self.value(shared=shared)}")
            elif way == 1:
                self.line(depth, "for q in range(t % 3 + 1):")
                self.line(depth + 1, f"{name} = 0.5 * {name} + {self.value(shared=shared)}")
            elif way == 2:
                self.line(depth, "p = (p[1], a)")
            elif way == 3:
                self.line(depth, f"w[{self.draw.randrange(2)}] += 0.3 * {self.value(shared=shared)}")
            elif way == 4:
                self.line(depth, "k += t % 2 + 1")
            else:
                self.line(depth, f"{name} += {self.value(shared=shared)}")

    def exchange(self, depth):
        """Each thread writes its own cell; all read others' cells between the next two barriers."""
        self.line(depth, f"sm[t] = {self.value(shared=False)}")
        if self.chance(0.3):
            self.line(depth, "if t % 3 == 1:")
            self.line(depth + 1, "sm[t] *= 0.5")
        self.line(depth, "cuda.syncthreads()")
        self.private(depth, shared=True)
        self.line(depth, "cuda.syncthreads()")

    def section(self, depth, number):
        way = self.draw.randrange(5)
        if way == 0:
            self.line(depth, f"for s{number} in range({self.pick(['3', 'steps', 'cuda.blockIdx.x + 1'])}):")
            self.exchange(depth + 1)
            if self.chance(0.4):
                self.line(depth + 1, f"if s{number} >= steps - 1:")
                self.line(depth + 2, "break")
                self.line(depth + 1, f"b += 0.1 * s{number}")
        elif way == 1:
            self.line(depth, "sm[t] = a")
            self.line(depth, "cuda.syncthreads()")
            self.line(depth, f"h = {BLOCK} // 2")
            self.line(depth, "while h > 0:")
            self.line(depth + 1, "if t < h:")
            self.line(depth + 2, "sm[t] += 0.5 * sm[t + h]")
            self.line(depth + 1, "cuda.syncthreads()")
            self.line(depth + 1, "h //= 2")
            self.line(depth, "b = b + 0.1 * sm[0]")
            self.line(depth, "cuda.syncthreads()")
        elif way == 2:
            self.line(depth, f"if {self.pick(['steps > 1', 'cuda.blockIdx.x == 1', 'x.size > 100'])}:")
            self.exchange(depth + 1)
            if self.chance(0.5):
                self.line(depth, "else:")
                self.private(depth + 1, shared=False)
        elif way == 3 and self.returns:
            self.line(depth, f"if t == {self.draw.randrange(1, BLOCK)}:")
            self.line(depth + 1, "return")
        else:
            self.exchange(depth)

    def text(self):
        self.lines += HEAD.splitlines()
        self.line(0, "@cuda.jit")
        self.line(0, "def kernel(x, y, steps, out, bins):")
        self.line(1, f"sm = cuda.shared.array({BLOCK}, float64)")
        self.line(1, "w = cuda.local.array(2, float64)")
        self.line(1, "t = cuda.threadIdx.x")
        self.line(1, self.pick(["i = cuda.grid(1)", "i = cuda.blockIdx.x * cuda.blockDim.x + t"]))
        self.line(1, "n = x.size")
        self.line(1, "w[0] = x[i % n]")
        self.line(1, "w[1] = 0.5")
        self.line(1, "a = 0.0")
        self.line(1, "b = y[i % n]")
        self.line(1, "c = x[i % n] * y[(i + 2) % n]")
        self.line(1, "k = 0")
        self.line(1, "p = (a, b)")
        for number in range(self.draw.randrange(2, 5)):
            if self.chance(0.5):
                self.private(1, shared=False)
            self.section(1, number)
        self.line(1, "if i < n:")
        self.line(2, "out[i] = a + b * c + p[0] + w[1]")
        self.line(1, "cuda.atomic.add(bins, i % 2, math.sin(a) + 0.1 * k)")
        self.line(0, "")
        self.line(0, "def f(x, y, steps):")
        self.line(1, "out = np.zeros(x.size)")
        self.line(1, "bins = np.zeros(2)")
        self.line(1, f"kernel[3, {BLOCK}](x, y, steps, out, bins)")
        self.line(1, "return np.concatenate((out, bins))")
        return "\n".join(self.lines) + "\n"


def made(seed):
    """The module of a seed, and its text."""
    text = Writer(seed).text()
    return loaded(text, f"kernel_{seed}"), text


def arguments(seed):
    r = np.random.default_rng(seed)
    return r.uniform(0.1, 1.0, LENGTH), r.uniform(0.1, 1.0, LENGTH), 2


def simulated(seeds, folder):
    """What Numba's simulator gives, by seed."""
    file = Path(folder) / "values.pkl"
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    call = [sys.executable, "-m", "tests.cuda.random_kernels", "--simulate", str(file), *map(str, seeds)]
    subprocess.run(call, env=env, check=True, timeout=300)  # noqa: S603 - itself
    return pickle.loads(file.read_bytes())  # noqa: S301 - written just now


def compare(seed, wanted, backends):
    """Values as the simulator's and in another order of threads, and gradients as quotients."""
    import diffjit as dj
    from diffjit.frontend.kernels import races

    module, text = made(seed)
    x, y, steps = arguments(seed)
    out, bins = np.zeros(LENGTH), np.zeros(2)
    races.run(module["kernel"], (3, 1, 1), (BLOCK, 1, 1), 0, (x, y, steps, out, bins), random.Random(seed))
    np.testing.assert_allclose(np.concatenate((out, bins)), wanted, rtol=1e-10, err_msg=text)
    weights = np.random.default_rng(seed + 1).uniform(-1, 1, LENGTH + 2)

    def total(x, y):
        return np.sum(np.sin(module["f"](x, y, steps)) * weights)

    u, v = np.random.default_rng(seed + 2).uniform(-1, 1, (2, LENGTH))
    plain = dj.jit(total, backend="python")
    h = 1e-6
    slope = (plain(x + h * u, y + h * v) - plain(x - h * u, y - h * v)) / (2 * h)
    wide = (plain(x + 3 * h * u, y + 3 * h * v) - plain(x - 3 * h * u, y - 3 * h * v)) / (6 * h)
    smooth = abs(slope - wide) < 1e-5  # no branch changes between
    for backend in backends:
        np.testing.assert_allclose(dj.jit(module["f"], backend=backend)(x, y, steps), wanted, rtol=1e-10, err_msg=text)
        g = dj.grad(total, (0, 1), backend=backend)(x, y)
        along = g[0] @ u + g[1] @ v
        tangent = dj.jvp(total, (x, y), (u, v), backend=backend)[1]
        np.testing.assert_allclose(along, tangent, rtol=1e-9, atol=1e-9, err_msg=text)
        if smooth:
            np.testing.assert_allclose(along, slope, rtol=1e-5, atol=1e-6, err_msg=text)
            turned = [dj.grad(total, (0, 1), backend=backend)(x + s * h * u, y + s * h * v) for s in (1, -1)]
            curved = [(p - q) / (2 * h) for p, q in zip(*turned, strict=True)]
            found = dj.hvp(total, (x, y), (u, v), argnums=(0, 1), backend=backend)
            for p, q in zip(found, curved, strict=True):
                np.testing.assert_allclose(p, q, rtol=1e-4, atol=1e-5, err_msg=text)
    return smooth


def main():
    if sys.argv[1] == "--simulate":
        found = {int(s): made(int(s))[0]["f"](*arguments(int(s))) for s in sys.argv[3:]}
        Path(sys.argv[2]).write_bytes(pickle.dumps(found))
        return
    first, last = map(int, sys.argv[1:3])
    backends = sys.argv[3:] or ["python"]
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        wanted = simulated(range(first, last), folder)
        for seed in range(first, last):
            print(seed, compare(seed, wanted[seed], backends), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
