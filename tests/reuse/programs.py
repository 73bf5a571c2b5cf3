"""Random programs of NumPy's library, views, branches and exceptions: `f(a, b, w, m, s, k)`.

`a` and `b` are vectors of p numbers, `w` is a matrix of p rows, `m` holds p indices, `s` is a number, `k` an int.
Nothing keeps an index within range or a shape fitting: what NumPy does is what is wanted.
"""

from __future__ import annotations

from tests.containers.writing import Lines

HEAD = "import numpy as np\n\n\n"
RAISED = ("IndexError", "ValueError", "ZeroDivisionError", "(IndexError, ValueError)", "Exception")
CUTS = (
    "[k:]",
    "[:k]",
    "[::-1]",
    "[::2]",
    "[1:]",
    "[:-1]",
    "[k::-1]",
    "[i0:i0 + k]",
    "[-k:]",
    "[::-2]",
    "[k:-1:2]",
    "[:]",
)
SAME = ("[::-1]", "[:]", ".T", "[...]")  # views with as many entries
SMOOTH = (
    "np.sin({})",
    "np.tanh({})",
    "np.cos({})",
    "np.abs({})",
    "np.arctan({})",
    "np.sqrt(1.0 + {} ** 2)",
    "np.sqrt(np.abs({}))",
)
KINKED = ("np.maximum({}, 0.2)", "np.where({0} > 0.5, {0}, 0.1)", "np.clip({}, 0.1, 0.8)", "np.sign({})", "np.exp(-{})")


class Writer(Lines):
    """Writes one program."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.vectors = {"a": "p", "b": "p"}  # names -> "p" where they have as many entries as arguments have
        self.matrices = ["w"]
        self.reals = ["s"]
        self.counts = ["k", "i0"]
        self.indices = ["m"]
        self.depth = 1
        self.loops = 0

    def text(self) -> str:
        """The text of the module."""
        self.lines = []
        self.put("i0 = k % 3", "r0 = 0.0")
        self.reals.append("r0")
        for _ in range(self.draw.randint(4, 9)):
            self.statement()
        self.put(f"return {self.like('p')}, {self.real()}")
        return HEAD + "def f(a, b, w, m, s, k):\n" + "\n".join(self.lines) + "\n"

    def put(self, *lines: str) -> None:
        self.add(*lines, depth=self.depth)

    # Expressions

    def count(self) -> str:
        return self.pick([*self.counts, "0", "1", "-1", "2", "k + 1", "len(a) - 1", "len(a) // 2", "int(m[0])"])

    def of_p(self) -> str:
        return self.pick([name for name, length in self.vectors.items() if length == "p"])

    def vector(self) -> str:
        name = self.pick(list(self.vectors))
        return name + (self.pick(CUTS) if self.chance(0.4) else "")

    def real(self) -> str:
        """A number."""
        v, w = self.vector(), self.pick(self.matrices)
        return self.pick(
            [
                self.pick(self.reals),
                self.pick(self.reals),
                f"np.sum(np.tanh({v}))",
                f"{v}.sum()",
                f"np.mean({v})",
                f"{self.of_p()}[{self.count()}]",
                f"{v}.max(initial=-1.0)",
                f"np.min({v}, initial=2.0, where={v} > 0.3)",
                f"np.sum({v}, where={v} < 0.9, initial=0.5)",
                f"np.prod(1.0 + 0.1 * {v})",
                f"np.linalg.norm({v})",
                f"np.dot({self.of_p()}, {self.of_p()})",
                f"{w}[{self.count()}, {self.count()}]",
                f"np.std({w})",
                f"np.tanh({w}).mean()",
                f"np.trace({w})",
                f"np.interp({self.pick(self.reals)}, np.arange(3.0), np.array([1.0, 2.0, s]))",
                f"np.ptp({v})",
                f"{v}.var(ddof=1)",
                f"np.linalg.norm({w})",
                f"float(np.median({v}))",
                f"sum(t * t for t in {v})",
                f"max([abs(t) for t in {v}] + [0.1])",
                f"np.tanh({self.pick(self.reals)} / {self.pick(self.reals)})",
                f"(s if {self.test()} else {self.pick(self.reals)})",
            ]
        )

    def like(self, length: str) -> str:
        """A new vector of p numbers."""
        u, v, w = self.of_p(), self.of_p(), self.pick(self.matrices)
        cut = self.pick(SAME)
        return self.pick(
            [
                f"{self.real()} * {u}",
                f"({u} + {v}{cut})",
                f"{u}{cut} * {v}",
                self.pick(SMOOTH).format(u),
                self.pick(SMOOTH).format(v + cut),
                self.pick(KINKED).format(u),
                f"{w} @ np.ones({w}.shape[1])",
                f"{w}.sum(axis=1)",
                f"{w}.mean(axis=-1)",
                f"np.tanh({w}).max(axis=1, initial=0.0)",
                f"np.sum({w}, axis=1, where={w} > 0.4)",
                f"np.cumsum({u}{cut})",
                f"{u}[m]",
                f"np.take({u}, m, mode='wrap')",
                f"np.sort({u})",
                f"{u}[np.argsort({v})]",
                f"np.roll({u}, {self.count()})",
                f"np.multiply.accumulate(0.5 + 0.5 * {u})",
                f"np.maximum.accumulate({u}{cut})",
                f"np.add.reduceat({u}, m)",
                f"np.where({u} > {v}, {u}, {self.real()})",
                f"np.select([{u} > 0.6, {u} > {v}], [{u}, {v}], {self.pick(self.reals)})",
                f"np.bincount(m, weights={u}, minlength=len(a))[:len(a)]",
                f"np.interp({u}, np.arange(4.0), np.array([0.1, 1.0, s, 2.0]))",
                f"np.gradient({u})",
                f"np.concatenate([{u}[1:], {v}[:1]])",
                f"np.append({u}[:-1], {self.real()})",
                f"np.insert({u}[1:], {self.count()}, s)",
                f"np.array([t * {self.pick(self.reals)} for t in {u}])",
                f"np.searchsorted(np.sort({v}), {u}) * {u}",
                f"np.convolve({u}, np.array([0.5, 0.2, 0.1]), mode='same')",
                f"np.full_like({u}, {self.real()})",
                f"np.fromiter((t + 1.0 for t in {u}), dtype=float)",
                f"np.minimum({u}, {v}{cut})",
                f"np.partition({u}, {self.count()})",
                f"np.outer({u}, {v})[:, {self.count()}]",
                f"np.divide({u}, {v}, out=np.zeros_like({u}), where={v} > 0.4)",
                f"np.linalg.solve(np.eye(len(a)) * 2.0 + np.outer({u}, {u}), {v})",
                f"np.diff({u}, prepend=0.0)",
                f"np.flip({w}, axis=1)[:, 0]",
            ]
        )

    def test(self) -> str:
        """A condition."""
        return self.pick(
            [
                "k > 0",
                "k % 2 == 0",
                f"len({self.vector()}) > 2",
                f"{self.pick(self.reals)} > 0.4",
                f"{self.of_p()}[{self.count()}] > 0.5",
                f"np.any({self.of_p()} > 0.8)",
                f"np.all(np.isfinite({self.vector()}))",
                f"{self.count()} in m",
                f"{self.vector()}.sum() < 1.0",
                "w.shape[0] == w.shape[1]",
            ]
        )

    # Statements

    def statement(self) -> None:
        kinds = [self.write] * 4 + [self.bind] * 3 + [self.branch, self.attempt, self.attempt, self.loop]
        kinds += [self.rows, self.helper, self.listed, self.leave]
        if self.depth > 3:
            kinds = [self.write, self.write, self.bind, self.number]
        self.pick(kinds)()

    def body(self, size: int = 2) -> None:
        """What stands below a head, with names that are known there alone."""
        kept = dict(self.vectors), list(self.matrices), list(self.reals), list(self.counts), list(self.indices)
        self.depth += 1
        for _ in range(self.draw.randint(1, size)):
            self.statement()
        self.depth -= 1
        self.vectors, self.matrices, self.reals, self.counts, self.indices = kept

    def write(self) -> None:
        target, length = self.pick(list(self.vectors.items()))
        op = self.pick(["=", "+=", "*=", "-="])
        choice = self.draw.randint(0, 9)
        if choice < 3:
            self.put(f"{target}[{self.count()}] {op} {self.real()}")
        elif choice < 5:
            self.put(f"{target}{self.pick(CUTS)} {op} {self.real()}")
        elif choice < 6 and length == "p":
            self.put(f"{target}[{self.pick(['m', 'm[::-1]', 'm[:2]', f'{target} > 0.6'])}] {op} {self.real()}")
        elif choice < 7 and length == "p":
            self.put(f"np.{self.pick(['add', 'multiply', 'maximum'])}.at({target}, m, {self.pick([self.of_p(), 's'])})")
        elif choice < 8 and length == "p":
            self.put(f"{target}[...] {op} {self.like('p')}")
        elif choice < 9:
            cut = self.pick(CUTS)
            self.put(f"{target}{cut} = {self.pick(SMOOTH).format(target + cut)}")
        else:
            w = self.pick(self.matrices)
            where = self.pick(
                ["[0]", "[:, 0]", "[::-1, 1]", "[k]", "[1:, :2]", "[m]", "[m, 0]", f"[{w} > 0.7]", ".T[0]"]
            )
            self.put(f"{w}{where} {op} {self.real()}")

    def bind(self) -> None:
        choice = self.draw.randint(0, 7)
        name = self.name("v")
        if choice == 0:
            self.put(f"{name} = {self.of_p()}{self.pick(SAME)}")
            self.vectors[name] = "p"
        elif choice == 1:
            self.put(f"{name} = {self.of_p()}{self.pick(CUTS)}")
            self.vectors[name] = "?"
        elif choice == 2:
            self.put(f"{name} = {self.of_p()} if {self.test()} else {self.of_p()}")
            self.vectors[name] = "p"
        elif choice == 3:
            w = self.pick(self.matrices)
            self.put(f"{name} = {w}{self.pick(['[:, 0]', '[:, -1]', '[:, k]', '.T[1]'])}")
            self.vectors[name] = "p"
        elif choice == 4:
            w = self.pick(self.matrices)
            self.put(
                f"{name} = {w}{self.pick(['[::-1]', '[:, ::-1]', '.copy()', '[:, 1:]', '[k:]', '[:, :1]', '[m]'])}"
            )
            self.matrices.append(name)
        elif choice == 5:
            u = self.of_p()
            self.put(
                f"{name} = {self.pick(['{0}[:, None] * {1}', '{0} + {1}[:, None]', 'np.outer({0}, {1})'])}".replace(
                    "{0}", u
                ).replace("{1}", self.of_p())
            )
            self.matrices.append(name)
        else:
            self.put(f"{name} = {self.like('p')}")
            self.vectors[name] = "p"

    def number(self) -> None:
        self.put(f"r0 = {self.pick(['r0 + ', 'np.tanh(r0) * ', ''])}{self.real()}")

    def branch(self) -> None:
        self.put(f"if {self.test()}:")
        self.body()
        if self.chance(0.6):
            self.put("else:")
            self.body()

    def leave(self) -> None:
        choice = self.draw.randint(0, 2)
        self.put(f"if {self.test()}:")
        if choice == 0 and self.loops:
            self.put(f"    {self.pick(['break', 'continue'])}")
        elif choice == 1:
            self.put(f"    raise {self.pick(['ValueError', 'IndexError', 'KeyError'])}('stop')")
        else:
            self.put(f"    return {self.like('p')}, {self.real()}")

    def attempt(self) -> None:
        self.put("try:")
        self.body(3)
        self.put(f"except {self.pick(RAISED)}:")
        self.body()
        if self.chance(0.3):
            self.put("else:")
            self.body()
        if self.chance(0.3):
            self.put("finally:")
            self.depth += 1
            self.number()
            self.depth -= 1

    def loop(self) -> None:
        i = self.name("i")
        self.loops += 1
        head = self.pick(
            [
                f"for {i} in range(k):",
                f"for {i} in range(len(a) - 1, -1, -1):",
                f"for {i}, t{i} in enumerate({self.of_p()}):",
                f"for {i} in m:",
                f"for {i} in range(1, min(len(a), 4), 2):",
                f"while {i} < k:",
                f"for {i} in range(k, 3):",
            ]
        )
        if head.startswith("while"):
            self.put(f"{i} = -1", head, f"    {i} += 1")
        else:
            self.put(head)
        kept = list(self.counts), list(self.reals)
        self.counts += [i, i]
        self.reals += [f"t{i}"] if "enumerate" in head else []
        self.body()
        self.counts, self.reals = kept
        self.loops -= 1

    def rows(self) -> None:
        row = self.name("row")
        self.loops += 1
        self.put(f"for {row} in {self.pick(self.matrices)}:")
        kept = dict(self.vectors)
        self.vectors[row] = "?"
        self.body()
        self.vectors = kept
        self.loops -= 1

    def helper(self) -> None:
        """A function that changes what it is given, and what stands around it."""
        g, v = self.name("g"), self.name("v")
        kept = dict(self.vectors), list(self.matrices), self.loops
        self.put(f"def {g}(u, c=2):")
        self.depth += 1
        self.vectors = {"u": "?", self.of_p(): "p"} if self.chance(0.5) else {"u": "?", **self.vectors}
        self.loops = 0
        self.write()
        self.put(f"if {self.test()}:", f"    return u{self.pick(['', '[::-1]', '.copy()', ' * 2.0'])}")
        self.put(f"return {self.pick(['u', 'u + c', 'np.tanh(u)', 'u[:]'])}")
        self.depth -= 1
        self.vectors, self.matrices, self.loops = kept
        self.put(f"{v} = {g}({self.of_p()}{self.pick(['', '', '[::-1]'])})")
        self.vectors[v] = "p"

    def listed(self) -> None:
        items, v = self.name("items"), self.name("v")
        u = self.of_p()
        choice = self.draw.randint(0, 3)
        if choice == 0:
            self.put(f"{items} = [{u}, {self.of_p()}, {self.like('p')}]")
            self.put(f"{items}[{self.count()}][{self.count()}] += s", f"{v} = {items}[{self.count()}]")
        elif choice == 1:
            self.put(f"{items} = {{0: {u}, 1: {self.of_p()}[::-1]}}", f"{items}[1][0] = {self.real()}")
            self.put(f"{v} = {items}[{self.pick(['0', '1', '0', 'k'])}]")
        elif choice == 2:
            self.put(f"{items} = []", f"for t in {u}:", f"    if {self.test()}:", f"        {items}.append(t * s)")
            self.put(f"{v} = np.resize(np.array([*{items}, 0.5]), len(a))")
        else:
            self.put(f"{items} = []", "for j in range(3):", f"    {items}.append({u} * j)", f"    {u}[j] += 0.1")
            self.put(f"{v} = {items}.pop({self.count()}) + sum({items})")
        self.vectors[v] = "p"
