"""Random programs over lists, dicts, tuples and objects of numbers, as plain Python has them.

python -m tests.containers.programs 0 300        seeds: compiled and as text, each derivative against exact slopes
"""

from __future__ import annotations

import linecache
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import diffjit as dj
from tests.containers.exact import Dual, slope
from tests.containers.writing import Lines, Unfit, limited

HEAD = """
import numpy as np


class Cell:
    def __init__(self, level, seen=None):
        self.level = level
        self.seen = [] if seen is None else seen
        self.count = 0

    def note(self, v):
        self.seen.append(v)
        self.count += 1
        return self.level * v

    def shift(self, v):
        self.level = self.level + 0.5 * v

    @property
    def last(self):
        return self.seen[-1] if self.seen else self.level


def pushed(q, v):
    q.append(v)
    return len(q)


def swapped(q):
    q[0], q[-1] = q[-1], q[0]


def smoothed(q, w=0.5):
    return [w * a + (1.0 - w) * b for a, b in zip(q[:-1], q[1:])] or [q[0]]


def parts(q):
    for k, v in enumerate(q):
        yield k * v


def ends(q):
    return q[0], q[-1]

"""


class Writer(Lines):
    """The text of one function `f(x, y, z, k)` of three numbers and an int that loops may run to."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.numbers = ["x", "y", "z"]
        self.lists: list[str] = []
        self.tables: list[str] = []  # lists of lists
        self.pairs: list[str] = []  # lists of pairs
        self.dicts: list[str] = []  # by "a", "b" or "c"
        self.cells: list[str] = []
        self.counters: list[str] = []
        self.busy: set[str] = set()  # lists that a loop goes through: not to be lengthened or shortened

    # Expressions -------------------------------------------------------------------------------------------------

    def index(self, q: str) -> str:
        ways = ["0", "-1", f"len({q}) // 2", f"k % len({q})"]
        ways += [f"{c} % len({q})" for c in self.counters] * 2
        return self.pick(ways)

    def atom(self) -> str:
        ways = [*self.numbers, *self.numbers[-2:], f"{self.pick((0.3, 0.7, 1.1, 1.5))}"]
        ways += [f"{q}[{self.index(q)}]" for q in self.lists] * 2
        ways += [f"{q}[{self.index(q)}][0]" for q in self.tables]
        ways += [f"{q}[{self.index(q)}][{self.pick((0, 1))}]" for q in self.pairs]
        ways += [f'{d}["{self.pick("abc")}"]' for d in self.dicts]
        ways += [f"{c}.{self.pick(('level', 'last', 'count'))}" for c in self.cells]
        ways += [f"0.1 * {c}" for c in self.counters]
        return self.pick(ways)

    def value(self) -> str:
        a, b = self.atom(), self.atom()
        ways = [
            f"{a} * {b}", f"{a} + {b}", f"{a} - 0.5 * {b}", f"np.sin({a})", f"np.tanh({a} - {b})", f"{a} ** 2",
            f"{a} / (1.5 + {b} ** 2)", f"({a} if {b} > 0.4 else {b})", f"max({a}, {b})", a,
        ]  # fmt: skip
        ways += [f"sum({q}) * 0.2" for q in self.lists]
        ways += [f"min({q}) * {a}" for q in self.lists]
        ways += [f"sum(sorted({q})[:2])" for q in self.lists]
        ways += [f"0.1 * sum(v * v for v in {q})" for q in self.lists]
        ways += [f"0.1 * sum(parts({q}))" for q in self.lists]
        ways += [f"sum({d}.values()) * 0.3" for d in self.dicts]
        ways += [f'{d}.get("{self.pick("aq")}", {a})' for d in self.dicts]
        ways += [f"sum(sum(row) for row in {q}) * 0.1" for q in self.tables]
        ways += [f"{c}.note({a})" for c in self.cells if not self.busy]
        ways += [f"sum(p[0] * p[1] for p in {q}) * 0.2" for q in self.pairs]
        return self.pick(ways)

    def literal(self) -> str:
        """A list display, comprehension or copy: of constants alone, or not."""
        constant = "[0.5, 0.25, 1.25]"
        ways = [constant, "[0.1 * i for i in range(4)]", "[0.2] * (k + 1)", "[0.3 * i + 0.1 for i in range(k)]"]
        ways += [f"[{self.atom()}, {self.atom()}]", f"[{self.atom()} for _ in range(3)]", f"[{self.atom()}] * k"]
        ways += [f"[{self.atom()}] + {constant}"]
        for q in self.lists:
            ways += [f"list({q})", f"{q}[:]", f"{q}.copy()", f"{q}[::-1]", f"sorted({q})", f"{q} + [{self.atom()}]"]
            ways += [
                f"[v * {self.atom()} for v in {q}]",
                f"smoothed({q})",
                f"list(reversed({q}))",
                f"{q}[1:] + {q}[:1]",
            ]
            ways += [f"[v for v in {q} if v > 0.3] + [0.2]", f"[a + b for a, b in zip({q}, {self.pick(self.lists)})]"]
        ways += [f"list({q}[{self.index(q)}])" for q in self.tables]
        ways += [f"[row[-1] for row in {q}]" for q in self.tables]
        ways += [f"list({d}.values())" for d in self.dicts]
        ways += [f"[p[0] for p in {q}]" for q in self.pairs]
        return self.pick(ways)

    # Statements --------------------------------------------------------------------------------------------------

    def free(self) -> list[str]:
        return [q for q in self.lists if q not in self.busy]

    def statement(self, depth: int) -> None:
        ways = [(4, self.assign), (3, self.new_list), (5, self.change), (1, self.new_table), (1, self.new_pairs)]
        ways += [(1, self.new_dict), (1, self.new_cell), (2, self.other)]
        if depth < 3:
            ways += [(2, self.loop), (2, self.branch)]
        weights, options = zip(*ways, strict=True)
        self.draw.choices(options, weights)[0](depth)

    def assign(self, depth: int) -> None:
        target = self.pick(self.numbers[3:]) if len(self.numbers) > 3 and self.chance(0.6) else None
        if target is None and depth > 1:
            self.change(depth)
            return
        text = self.value()
        if target is None:
            target = self.name("v")
            self.line(depth, f"{target} = {text}")
            self.numbers.append(target)
        else:
            self.line(depth, f"{target} {self.pick(('=', '+=', '='))} {text}")

    def _once(self, depth: int, stem: str, text: str, among: list[str]) -> None:
        """A new name at the level of the function; within loops and branches, one that exists may be bound anew."""
        if depth == 1:
            new = self.name(stem)
            self.line(depth, f"{new} = {text}")
            among.append(new)
        elif free := [q for q in among if q not in self.busy]:
            self.line(depth, f"{self.pick(free)} = {text}")
        else:
            self.change(depth)

    def new_list(self, depth: int) -> None:
        if depth == 1 and self.lists and self.chance(0.15):  # another name for the same list
            new = self.name("q")
            self.line(depth, f"{new} = {self.pick(self.lists)}")
            self.lists.append(new)
            return
        self._once(depth, "q", self.literal(), self.lists)

    def new_table(self, depth: int) -> None:
        ways = ["[[0.5, 0.2], [0.1]]", "[[0.0] * 3 for _ in range(k)]", f"[[{self.atom()}] for _ in range(2)]"]
        ways += [f"[list({q}), [{self.atom()}]]" for q in self.lists]
        ways += [f"[list(row) for row in {q}]" for q in self.tables]
        self._once(depth, "t", self.pick(ways), self.tables)

    def new_pairs(self, depth: int) -> None:
        ways = [f"[({self.atom()}, {self.atom()})]", "[(0.5, 0.25), (0.1, 0.2)]"]
        ways += [f"list(zip({q}, {self.pick(self.lists)}))" for q in self.lists]
        ways += [f"[(v, {self.atom()}) for v in {q}]" for q in self.lists]
        self._once(depth, "p", self.pick(ways), self.pairs)

    def new_dict(self, depth: int) -> None:
        ways = ['{"a": 0.5, "b": 0.25, "c": 1.0}', f'{{"a": {self.atom()}, "b": 0.5, "c": {self.atom()}}}']
        ways += [f"dict(a={self.atom()}, b=0.1, c=0.2)", f'{{key: {self.atom()} for key in ("a", "b", "c")}}']
        ways += [f"dict({d})" for d in self.dicts]
        self._once(depth, "d", self.pick(ways), self.dicts)

    def new_cell(self, depth: int) -> None:
        ways = [f"Cell({self.atom()})", f"Cell(0.5, [{self.atom()}])"] + [f"Cell(1.0, {q})" for q in self.lists]
        if depth == 1:
            self._once(depth, "c", self.pick(ways), self.cells)
        else:
            self.change(depth)

    def change(self, depth: int) -> None:
        ways = []
        for q in self.lists:
            i = self.index(q)
            ways += [f"{q}[{i}] = {self.value()}", f"{q}[{i}] += {self.atom()}", f"{q}[{i}] *= {self.atom()}"]
            ways += [f"swapped({q})", f"{q}.reverse()"]
        for q in self.free():
            ways += [f"{q}.append({self.value()})"] * 2
            ways += [
                f"{q}.insert(0, {self.atom()})",
                f"{q}.extend([{self.atom()}, 0.3])",
                f"pushed({q}, {self.atom()})",
            ]
            ways += [f"{q} += [{self.atom()}]", f"{q}.sort()"]
        for q in self.tables:
            ways += [f"{q}[{self.index(q)}].append({self.atom()})", f"{q}[{self.index(q)}][0] = {self.value()}"]
            ways += [f"{q}[-1][-1] += {self.atom()}"]
            ways += [f"{q}.append([{self.atom()}])"] if q not in self.busy else []
        ways += [f"{q}.append(({self.atom()}, {self.atom()}))" for q in self.pairs if q not in self.busy]
        for d in self.dicts:
            ways += [
                f'{d}["{self.pick("abc")}"] {self.pick(("=", "+="))} {self.value()}',
                f"{d}.update(b={self.atom()})",
            ]
        for c in self.cells:
            ways += [f"{c}.shift({self.atom()})", f"{c}.level *= {self.atom()}"]
            ways += [] if self.busy else [f"{c}.note({self.atom()})"]
        self.line(depth, self.pick(ways) if ways else f"z = z + {self.value()}")

    def other(self, depth: int) -> None:
        """What takes several lines."""
        if (free := self.free()) and self.chance(0.6):
            q = self.pick(free)
            self.line(depth, f"if len({q}) > 1:")
            text = self.pick((f"z = z + {q}.pop()", f"{q}.pop(0)", f"del {q}[0]", f"z = {q}.pop() * {self.atom()}"))
            self.line(depth + 1, text)
        elif self.lists:
            self.line(depth, f"y, z = ends({self.pick(self.lists)})")
        else:
            self.assign(depth)

    def loop(self, depth: int) -> None:
        i, v, w = self.name("i"), self.name("u"), self.name("w")
        heads: list[tuple[str, str, list[str], list[str]]] = [
            (f"for {i} in range(k):", "", [], [i]), (f"for {i} in range(3):", "", [], [i]),
            (f"for {i} in range(2, -1, -1):", "", [], [i]),
        ]  # fmt: skip
        for q in self.lists:
            heads += [(f"for {v} in {q}:", q, [v], []), (f"for {i}, {v} in enumerate({q}):", q, [v], [i])]
            heads += [(f"for {i} in range(len({q})):", "", [], [i]), (f"for {v} in reversed({q}):", q, [v], [])]
            heads += [(f"for {v}, {w} in zip({q}, {self.pick(self.lists)}):", "*", [v, w], [])]
        heads += [(f"for {v}, {w} in {q}:", q, [v, w], []) for q in self.pairs]
        heads += [(f"for {v} in {d}.values():", "*", [v], []) for d in self.dicts]
        head, busy, numbers, counters = self.pick(heads)
        before = (set(self.busy), list(self.numbers), list(self.counters))
        self.busy |= {*self.lists, *self.tables, *self.pairs} if busy else set()  # other names may be the same list
        self.numbers += numbers
        self.counters += counters
        self.line(depth, head)
        self.body(depth + 1)
        if self.chance(0.15):
            self.line(depth + 1, f"if {self.atom()} > 1.2:")
            self.line(depth + 2, self.pick(("break", "continue")))
            self.body(depth + 1)
        self.busy, self.numbers, self.counters = before

    def branch(self, depth: int) -> None:
        self.line(depth, f"if {self.atom()} > {self.atom()}:")
        self.body(depth + 1)
        if self.chance(0.5):
            self.line(depth, "else:")
            self.body(depth + 1)

    def body(self, depth: int) -> None:
        numbers = list(self.numbers)
        for _ in range(self.draw.randint(1, 3)):
            self.statement(depth)
        self.numbers = numbers

    def text(self) -> str:
        self.line(0, "def f(x, y, z, k):")
        self.new_list(1)
        for _ in range(self.draw.randint(4, 9)):
            self.statement(1)
        terms = [f"sum({q})" for q in self.lists] + [f"sum({d}.values())" for d in self.dicts]
        terms += [f"sum(sum(row) for row in {q})" for q in self.tables] + [
            f"sum(p[1] for p in {q})" for q in self.pairs
        ]
        terms += [f"{c}.level + sum({c}.seen)" for c in self.cells] + self.numbers
        self.line(1, "return " + " + ".join(f"np.tanh({t})" for t in terms))
        return HEAD + "\n".join(self.lines) + "\n"


# Checks ---------------------------------------------------------------------------------------------------------------

POINT = (0.37, 0.83, 0.56)
TANGENT = (0.7, -0.4, 1.1)
STEPS = 20_000  # lines that a program may run


def function(seed: int, writer: Any = Writer) -> tuple[Callable[..., Any], str]:
    """The program, and its text."""
    text = writer(seed).text()
    file = f"<{writer.__module__} {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": f"containers_{seed}"}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - our own text
    return scope["f"], text


def check(seed: int, backends: tuple[str, ...] = ("python", "numba"), writer: Any = Writer) -> str:
    """Compare value, `jvp`, `vjp`, `grad` and second derivatives with exact ones: "right", or the code of a refusal."""
    f, text = function(seed, writer)
    text = text.removeprefix(writer.head)
    k = 2 + seed % 3
    try:
        value = limited(lambda: f(*POINT, k), STEPS)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        StopIteration,
        TypeError,
        ValueError,
        Unfit,
    ) as error:
        return f"unfit: {type(error).__name__}"
    units = [tuple(float(i == j) for j in range(3)) for i in range(3)]
    first = [slope(f(*map(Dual, POINT, u), k)) for u in units]
    second = [
        slope(slope(f(*(Dual(Dual(p, t), Dual(v, 0.0)) for p, t, v in zip(POINT, TANGENT, u, strict=True)), k)))
        for u in units
    ]
    return max(_compared(f, k, backend, value, first, second, text) for backend in backends)


def _compared(f: Any, k: int, backend: str, value: Any, first: Any, second: Any, text: str) -> str:
    of_numbers = lambda x, y, z: f(x, y, z, k)
    near = lambda got, wanted, what: np.testing.assert_allclose(
        np.asarray(got, float),
        np.asarray(wanted, float),
        rtol=1e-9,
        atol=1e-10,
        err_msg=f"{what}, {backend}\n{text}",
    )
    try:
        near(dj.jit(f, backend=backend)(*POINT, k), value, "value")
        near(dj.jvp(of_numbers, POINT, TANGENT, backend=backend)[1], np.dot(first, TANGENT), "jvp")
        near(dj.grad(f, argnums=(0, 1, 2), backend=backend)(*POINT, k), first, "grad")
        out, pullback = dj.vjp(of_numbers, *POINT, backend=backend)
        near(out, value, "vjp's value")
        near(pullback(1.0), first, "vjp")
        near(dj.jvp(dj.grad(of_numbers, argnums=(0, 1, 2)), POINT, TANGENT, backend=backend)[1], second, "second")
    except dj.DiffjitError as error:
        if isinstance(error, dj.InternalError):
            raise
        return str(error).partition("]")[0] + "] " + str(error).splitlines()[0].partition("] ")[2]
    return "right"


def main(writer: Any = Writer) -> None:
    """The command line: seeds from, to, and backends."""
    first, last, *backends = sys.argv[1:]
    counts: Counter[str] = Counter()
    for seed in range(int(first), int(last)):
        try:
            outcome = check(seed, tuple(backends) or ("python", "numba"), writer)
        except Exception as error:  # noqa: BLE001 - each is told, and the next is tried
            outcome = "WRONG"
            print(f"seed {seed}: {type(error).__name__}: {error}"[:6000], flush=True)  # noqa: T201
        if outcome.startswith("["):
            print(f"seed {seed}: {outcome}", flush=True)  # noqa: T201
        counts[outcome if not outcome.startswith("[") else outcome[:7]] += 1
    print(dict(counts))  # noqa: T201


if __name__ == "__main__":
    main()
