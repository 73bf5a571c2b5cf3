"""Random programs of array statements: each is run as soon as it is written, and kept if Python runs it.

python -m tests.arrays.programs 0 300 python        seeds, and a backend

So the writer knows shapes without knowing NumPy's rules, and takes whatever NumPy takes: slices with any bounds and
steps, indices that repeat, masks, views of views, buffers of length 1, names that change their dimensions.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from typing import Any

import numpy as np

from tests.aliases.check import loaded
from tests.arrays.check import Wrong, check, copied
from tests.containers.writing import Lines

HEAD = "import numpy as np\n\n\ndef f(x, y, s):\n"
LARGE, MANY = 1e3, 200  # numbers, elements

EXPRESSIONS = (
    "({e} + {e})", "({e} * {e})", "({e} - {c})", "({e} / 1.7)", "np.sin({e})", "np.tanh({e})", "({e}) ** 2",
    "np.abs({e})", "{a}[{i}]", "{a}[{i}]", "np.where({m}, {e}, {e})", "np.maximum({e}, {e})",
    "np.clip({e}, -0.5, s)", "np.sum({a}, axis={k})", "np.mean({e}, axis={k}, keepdims=True)",
    "np.cumsum({a}, axis={k})", "np.max({a}, axis={k})", "np.sort({a}, axis={k})", "np.diff({a}, axis={k}, n={n})",
    "np.prod({a}, axis={k})", "np.std({a}, axis={k})", "np.median({a}, axis={k})", "{a}.T", "{a}.reshape(-1)",
    "np.ravel({a}, order='F')", "np.expand_dims({a}, {k})", "np.squeeze({a})", "np.flip({a}, {k})",
    "np.roll({a}, {n}, axis={k})", "np.repeat({a}, {n}, axis={k})", "np.swapaxes({a}, {k}, {k})",
    "{a}.take({n}, axis={k})", "np.take({a}, [0, -1], axis={k}, mode='wrap')",
    "np.concatenate([{a}, {a}], axis={k})", "np.stack([{a}, {a}], axis={k})", "{a} @ {a}", "np.outer({a}, {a})",
    "np.einsum('ij,ij->', {a}, {a})", "np.einsum('ij,jk->ik', {a}, {a})", "np.einsum('...i->i...', {a})",
    "np.extract({m}, {a})", "np.delete({a}, {n}, axis={k})", "np.pad({a}, 1, mode='edge')", "np.real({a})",
    "np.asfortranarray({a})", "np.ascontiguousarray({a})", "np.array({a}, ndmin=3, copy=None)", "np.atleast_2d({a})",
    "np.diag({a})", "np.tril({a}, {n})", "np.interp({a}, [-1.0, 0.0, 1.0], [s, 0.2, 1.0])",
    "np.array([{a}[0], {a}[-1]])", "np.zeros_like({a})", "np.full((2, 3), s)",
    "np.broadcast_to({a}, (2, 3, 4)).copy()",
)  # fmt: skip
STATEMENTS = (
    "{t} = {e}", "{t} = {e}", "{t} = {e}", "{a}[{i}] = {e}", "{a}[{i}] += {e}", "{a}[{i}] *= {e}", "{a} += {e}",
    "{a} *= {e}", "np.add.at({a}, {n}, {e})", "np.copyto({a}, {e}, where={m})", "np.putmask({a}, {m}, {e})",
    "{a}.sort(axis={k})", "{a}.fill(s)", "np.add({e}, {e}, out={a})", "np.cumsum({a}, axis={k}, out={a})",
    "{a}, {a} = {a}, {a}", "{a}[1:] = {a}[:-1]", "{a}.T[0] = {c}", "{a}.flat[{n}] = {c}", "{a}.ravel()[-1] += s",
    "np.fill_diagonal({a}, {c})",
)  # fmt: skip
HEADS = ("for i in range({n}):", "for row in {a}:", "if s > 0.7:", "if np.sum({a}) > 0.4:", "for i in range(len({a})):")


class Writer(Lines):
    """Writes one program; `point` are its arguments."""

    def __init__(self, seed: int, size: int = 8) -> None:
        super().__init__(seed)
        rng = np.random.default_rng(seed)
        shapes = [tuple(self.pick((1, 2, 3, 3, 4, 5)) for _ in range(self.pick((1, 1, 2, 2, 3)))) for _ in "xy"]
        self.point: list[Any] = [self.laid(rng.uniform(-1.5, 1.5, shape)) for shape in shapes]
        self.point.append(float(rng.uniform(0.3, 1.5)))
        self.names = self.run([])
        for _ in range(25 * size):
            if len(self.lines) < size:
                self.attempt()
        kept = [name for name, v in self.names.items() if isinstance(v, np.ndarray)][-3:]
        self.lines.append(f"return ({', '.join(kept)},)")

    def laid(self, array: np.ndarray) -> np.ndarray:
        """The array in one of several orders."""
        order = self.pick("CCCFR")
        return np.asfortranarray(array) if order == "F" else array[::-1].copy()[::-1] if order == "R" else array

    def run(self, lines: list[str]) -> dict[str, Any]:
        """The names that a program has at its end."""
        scope: dict[str, Any] = {"np": np, **dict(zip("xys", copied(self.point), strict=True))}
        with np.errstate(all="ignore"):
            exec("\n".join(lines), scope)  # noqa: S102 - our own text
        return {k: v for k, v in scope.items() if isinstance(v, np.ndarray) and v.dtype == np.float64}

    def attempt(self) -> None:
        """One more statement, if Python runs the program with it and its numbers stay small."""
        made = [self.filled(self.pick(STATEMENTS), 2)]
        if self.draw.random() < 0.25:
            body = [made[0], self.filled(self.pick(STATEMENTS), 1)][: self.pick((1, 2))]
            made = [self.filled(self.pick(HEADS), 0), *("    " + line for line in body)]
        with contextlib.suppress(Exception):
            found = self.run([*self.lines, *made])
            if found and all(v.size <= MANY and v.ndim < 5 and np.all(np.abs(v) < LARGE) for v in found.values()):
                self.names = found
                self.lines += made

    def filled(self, form: str, depth: int) -> str:
        """A form with its places filled: arrays, expressions, indices, masks, axes, small ints, numbers."""
        while "{" in form:
            k = form.index("{")
            form = form[:k] + self.part(form[k + 1], depth) + form[k + 3 :]
        return form

    def part(self, what: str, depth: int) -> str:
        arrays = list(self.names) or ["x"]
        if what == "e":
            return self.filled(self.pick(EXPRESSIONS), depth - 1) if depth > 0 else self.pick([*arrays, "s"])
        if what == "i":
            return ", ".join(self.index() for _ in range(self.pick((1, 1, 2))))
        if what == "t":
            return self.name("v") if self.draw.random() < 0.6 else self.pick(arrays)
        among = {
            "a": arrays,
            "m": [f"{self.pick(arrays)} > {self.pick((0.1, -0.3))}"],
            "k": ("0", "-1", "1", "None"),
            "n": ("0", "1", "2", "-1", "3"),
            "c": ("s", "0.5", "-1.5", "2"),
        }
        return self.pick(among[what])

    def index(self) -> str:
        """One place of an index."""
        bounds = ("", "", "0", "1", "2", "-1", "-2", "9", "-9")
        step = self.pick(("", "", ":2", ":-1", ":-2"))
        among = (
            ":",
            f"{self.pick(bounds)}:{self.pick(bounds)}{step}",
            self.pick("01"),
            "-1",
            "[0, 0, -1]",
            "None",
            "...",
        )
        return self.pick((*among, f"{self.pick(list(self.names) or ['x'])} > 0.05"))

    def text(self) -> str:
        return HEAD + "".join(f"    {line}\n" for line in self.lines)


def checked(seed: int, backend: str) -> str:
    """What `check` says of a program; Wrong with its text."""
    writer = Writer(seed)
    text = writer.text()
    with np.errstate(all="ignore"):
        try:
            return check(loaded(text, f"arrays_{seed}")["f"], writer.point, backend)
        except Wrong as error:
            raise Wrong(
                f"{error}\n{text}# {[(np.shape(p), getattr(p, 'strides', p)) for p in writer.point]}"
            ) from error


def main() -> None:
    """The command line."""
    first, last, backend = int(sys.argv[1]), int(sys.argv[2]), (sys.argv[3:] or ["python"])[0]
    counts: Counter[str] = Counter()
    for seed in range(first, last):
        try:
            found = checked(seed, backend)
        except Wrong as error:
            found = "WRONG"
            print(f"seed {seed}: {error}"[:3000], flush=True)  # noqa: T201
        counts[found] += 1
    print(dict(counts))  # noqa: T201


if __name__ == "__main__":
    main()
