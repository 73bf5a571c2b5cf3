"""Random programs over numbers and arrays of all kinds, as NumPy mixes them: values and kinds must be NumPy's.

python -m tests.aliases.kinds 0 300 python        seeds, and backends
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np

import diffjit as dj
from tests.aliases.check import Wrong, loaded, outcome
from tests.containers.writing import Lines
from tests.pythons_errors import is_of_numbers

KINDS = (
    "np.float32",
    "np.int32",
    "np.int8",
    "np.uint8",
    "np.int64",
    "np.float64",
    "bool",
    "np.complex128",
    "float",
    "int",
)


class Writer(Lines):
    """The text of a function `f(x, a, g, i, p, q, z)` of a float, arrays of 4 of several kinds, and an int."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.numbers = ["x", "i", "2", "0.5", "-3", "True", "np.float32(1.5)", "np.int8(7)", "x"] + ["(1 + 2j)"] * (
            seed % 4 == 0
        )
        self.arrays = ["a", "g", "p", "q", "a"] + ["z"] * (seed % 4 == 0)

    def number(self, depth: int) -> str:
        if depth == 0 or self.draw.random() < 0.2:
            return self.pick([*self.numbers, f"{self.pick(self.arrays)}[{self.pick((0, -1, 'i % 4'))}]"])
        one, other, array = self.number(depth - 1), self.number(depth - 1), self.array(depth - 1)
        return self.pick(
            [
                *(f"({one} {sign} {other})" for sign in ("+", "-", "*", "/", "//", "%", "<", ">=", "==")),
                f"({one} ** {self.pick(('2', '3', '-1', '0.5', other))})",
                f"abs({one})",
                f"-{one}",
                f"np.sum({array})",
                f"{array}.max()",
                f"np.mean({array})",
                f"np.prod({array})",
                f"np.sign({one})",
                f"{self.pick(KINDS)}({one})",
                f"({self.whole()} {self.pick(('&', '|', '^', '<<', '>>', '//', '%', '**'))} {self.whole()})",
                f"np.floor({one})",
                f"(not {one})",
                f"round({one} + 0)",
                f"np.argmax({array})",
                f"np.any({array})",
                f"len({array})",
                f"np.maximum({one}, {other})",
                f"divmod({one}, {other})[{self.pick((0, 1))}]",
                f"np.where({one}, {other}, {one})",
                f"sum({array})",
                f"{array}.item(2)",
                f"np.real({one})",
                f"({array} @ {self.array(0)})",
                f"np.sqrt({one})",
                f"np.arctan2({one}, {other})",
                f"int({one})",
            ]
        )

    def whole(self) -> str:
        """An integer or bool, or an array of them."""
        return self.pick(["i", "3", "p", "q", "p[1]", "True", "np.int8(100)", "np.uint8(200)", "-2", "p.sum()"])

    def array(self, depth: int) -> str:
        if depth == 0 or self.draw.random() < 0.2:
            return self.pick(self.arrays)
        one = self.array(depth - 1)
        other = self.pick((self.array(depth - 1), self.number(depth - 1)))
        return self.pick(
            [
                *(f"({one} {sign} {other})" for sign in ("+", "-", "*", "/", "//", "%", "<", ">=", "!=")),
                f"({one} ** {self.pick(('2', '-1', '0.5', other))})",
                f"abs({one})",
                f"-{one}",
                f"np.cumsum({one})",
                f"~{self.pick(('p', 'q'))}",
                f"{one}.astype({self.pick(KINDS)})",
                f"({self.pick(('p', 'q'))} {self.pick(('&', '|', '^', '<<', '>>'))} {self.whole()})",
                f"np.sin({one})",
                f"np.where({self.array(0)}, {one}, {other})",
                f"np.maximum({one}, {other})",
                f"np.round({one} + 0, 1)",
                f"np.sort({one})",
                f"np.clip({one}, 0, {self.number(0)})",
                f"np.sign({one})",
                f"np.cumprod({one})",
                f"np.full(4, {self.number(0)})",
                f"np.array([{self.number(0)}, {self.number(0)}, 1, 2])",
                f"{one}[{self.array(0)} > 0.5].sum() + {one}",
                f"np.diff({one}, prepend=0)",
                f"np.concatenate([{one}[:2], {self.array(0)}[2:]])",
                f"np.outer({one}, {self.array(0)})[1]",
                f"np.zeros_like({one})",
                f"np.real({one})",
                f"np.mod({one}, {other})",
                f"np.power({one} + 0, 2)",
                f"np.floor_divide({one}, {other})",
                f"np.logical_not({one})",
                f"np.add({one}, {other}, dtype={self.pick(('np.float32', 'np.float64', 'np.complex128'))})",
                f"np.conj({one})",
            ]
        )

    def text(self) -> str:
        self.add("def f(x, a, g, i, p, q, z):", depth=0)
        made = []
        for _ in range(self.draw.randint(2, 5)):
            form = self.draw.random()
            if form < 0.4:
                new = self.name("v")
                self.add(f"{new} = {self.number(2)}")
                self.numbers += [new, new]
                made.append(new)
            elif form < 0.75:
                new = self.name("u")
                self.add(f"{new} = {self.array(2)}")
                self.arrays += [new, new]
                made.append(new)
            else:
                u = self.pick(self.arrays)
                self.add(
                    self.pick(
                        (
                            f"{u} {self.pick(('+=', '-=', '*=', '/=', '//=', '%=', '**=', '&='))} {self.number(1)}",
                            f"{u}[{self.pick((0, '1:', 'q', '[0, 0]'))}] {self.pick(('=', '+='))} {self.number(1)}",
                            f"{u}[:] = {self.array(1)}",
                            f"{u} += {self.array(1)}",
                        )
                    )
                )
        self.add(f"return ({', '.join(made or ['a'])}, a, p)")
        return "import numpy as np\n\n\n" + "\n".join(self.lines) + "\n"


def arguments(seed: int) -> list[Any]:
    """Fresh arguments."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(-5, 6, 4).astype([np.int64, np.int32, np.int8, np.uint8][seed % 4])
    floats = rng.uniform(-2.0, 2.0, (3, 4))
    return [
        float(rng.uniform(-2.0, 2.0)),
        floats[0],
        floats[1].astype(np.float32),
        int(rng.integers(-3, 9)),
        whole,
        rng.uniform(size=4) > 0.5,
        floats[2] + 1j * rng.uniform(-1.0, 1.0, 4),
    ]


def check(seed: int, backend: str) -> str:
    """Values and kinds against NumPy's, and derivatives against each other and differences."""
    text = Writer(seed).text()
    f = loaded(text, f"kinds_{seed}")["f"]
    ours, plain = arguments(seed), arguments(seed)
    wanted, error = outcome(lambda: f(*plain))
    got, problem = outcome(lambda: dj.jit(f, backend=backend)(*ours))
    try:
        if isinstance(problem, dj.DiffjitError):
            if isinstance(problem, dj.InternalError):
                raise Wrong(str(problem))
            return str(problem)[:120].splitlines()[0]
        if error is not None or problem is not None:
            if isinstance(problem, OverflowError) or is_of_numbers(str(error)):
                return "overflow or division"
            if (
                error is None
                or problem is None
                or not (isinstance(problem, type(error)) or isinstance(error, type(problem)))
            ):
                raise Wrong(f"{problem!r}, should be {error!r}")
            return f"raises {type(error).__name__}"
        for place, (left, right) in enumerate(zip((*got, *ours), (*wanted, *plain), strict=True)):
            same(left, right, f"part {place}")
        return derivatives(f, seed, backend)
    except Wrong as problem_:
        raise Wrong(f"{backend}: {problem_}\n{text}") from problem_


def same(got: Any, wanted: Any, what: str) -> None:
    """Raise Wrong unless two results have one kind and one value."""
    if np.ndim(got) != np.ndim(wanted) or np.asarray(got).dtype != np.asarray(wanted).dtype:
        kinds = [f"{type(v).__name__} of {np.asarray(v).dtype}" for v in (got, wanted)]
        raise Wrong(f"{what} is {got!r} ({kinds[0]}), should be {wanted!r} ({kinds[1]})")
    single = np.asarray(got).dtype in (np.float32, np.complex64)
    with np.errstate(all="ignore"):
        if not np.allclose(got, wanted, rtol=2e-5 if single else 1e-10, atol=1e-5 if single else 1e-12, equal_nan=True):
            raise Wrong(f"{what} is {got!r}, should be {wanted!r}")


def derivatives(f: Any, seed: int, backend: str) -> str:
    """`jvp`, `grad` and differences of the sum of the float64 parts."""

    def total(x: Any, a: Any) -> Any:
        _, _, g, i, p, q, z = rest
        s = 0.0
        for part in f(x, a * 1.0, g * np.float32(1.0), i, p * 1, q, z * 1.0):
            s = s + np.sum(np.real(part))
        return s * 1.0

    rest = arguments(seed)
    x, a = rest[0], rest[1]
    dot = np.cos(np.arange(4.0))
    (_, forward), problem = outcome(lambda: dj.jvp(total, (x, a), (0.7, dot), backend=backend))[0] or (0, 0), None
    got, problem = outcome(lambda: dj.grad(total, argnums=(0, 1), backend=backend)(x, a))
    if problem is not None:
        if isinstance(problem, dj.DiffjitError) and not isinstance(problem, dj.InternalError):
            return str(problem)[:100].splitlines()[0]
        raise Wrong(f"grad: {problem!r}")
    reverse = got[0] * 0.7 + np.sum(got[1] * dot)
    if not np.isclose(forward, reverse, rtol=1e-4, atol=1e-5, equal_nan=True) and np.isfinite(forward + reverse):
        raise Wrong(f"jvp {forward}, grad {reverse}")
    with np.errstate(all="ignore"):
        steps = [
            float(total(x + h * 0.7, a + h * dot) - total(x - h * 0.7, a - h * dot)) / (2 * h) for h in (1e-5, 5e-6)
        ]
    with np.errstate(all="ignore"):
        large = abs(float(total(x, a))) > 1e6
    smooth = (
        not large and np.isclose(*steps, rtol=1e-5, atol=1e-6) and "float32" not in str(steps) and abs(steps[0]) < 1e4
    )
    if smooth and not np.isclose(reverse, steps[1], rtol=1e-3, atol=1e-3):
        raise Wrong(f"grad {reverse}, differences {steps}")
    return "right"


def main() -> None:
    """The command line: seeds from, to, and backends."""
    first, last, *backends = sys.argv[1:]
    counts: Counter[str] = Counter()
    for seed in range(int(first), int(last)):
        for backend in backends or ("python", "numba"):
            try:
                found = check(seed, backend)
            except Wrong as error:
                found = "WRONG"
                print(f"seed {seed}: {error}"[:3000], flush=True)  # noqa: T201
            if found.startswith("["):
                print(f"seed {seed}: {found}", flush=True)  # noqa: T201
            counts[found[:7]] += 1
    print(dict(counts))  # noqa: T201


if __name__ == "__main__":
    main()
