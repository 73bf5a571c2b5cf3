"""Random programs that take derivatives themselves: of functions over outer variables, in loops, branches and lanes.

python -m tests.aliases.verbs 0 300 python        seeds, and backends: each derivative against exact slopes
"""

from __future__ import annotations

from tests.aliases.check import main
from tests.containers.writing import Lines

HEAD = """
import numpy as np
import diffjit as dj


def energy(v, s):
    return np.sum(np.sin(v) * s) + 0.5 * v[0] * v[-1]


def spun(v, s):
    w = np.zeros(len(v))
    for i in range(len(v)):
        w[i] = v[i - 1] * s + np.cos(v[i])
    return w


def written(v, s):
    v[0] = v[0] * s
    v[1:] += v[:-1]
    return v


def bent(s):
    if s > 0.5:
        return s * s
    return np.sin(s)


def stepped(v, n):
    for _ in range(n):
        v = v - 0.1 * dj.grad(energy)(v, 0.3)
    return v


def slope_of(g):
    return lambda s: dj.grad(g)(s)


@dj.custom_jvp
def doubled(s):
    return np.sin(s)


@doubled.defjvp
def doubled_rule(primals, tangents):
    return doubled(primals[0]), 2.0 * np.cos(primals[0]) * tangents[0]


@dj.custom_vjp
def tripled(s):
    return s * s


tripled.defvjp(lambda s: (tripled(s), s), lambda s, out_bar: (3.0 * s * out_bar,))


@dj.checkpoint
def folded(v):
    w = np.sin(v)
    for i in range(3):
        w = np.sin(w) * v[i % 2] + 0.1
    return w


"""


class Writer(Lines):
    """The text of a function `f(a, b, x, k)` of arrays of 3 and 4 numbers, of a number and an int."""

    head = HEAD
    verbs = True
    shapes = {"a": (3,), "b": (4,)}  # noqa: RUF012 - read only

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.vectors = {"a": 3, "b": 4}
        self.numbers = ["x"]
        self.singles = ["bent", "doubled", "tripled", "np.sin"]  # functions of a number
        self.sums: dict[str, int | None] = {}  # functions of a vector to a number, by its length
        self.maps: dict[str, int | None] = {"folded": None}  # to a vector of the same length
        self.deep = 0

    # Expressions -------------------------------------------------------------------------------------------------

    def number(self, depth: int = 1) -> str:
        v, n = self.pick(list(self.vectors.items()))
        atoms = [*self.numbers * 2, f"{v}[{self.pick((0, -1, f'k % {n}'))}]", "0.7", "0.3"]
        if depth == 0 or self.chance(0.25):
            return self.pick(atoms)
        one, other = self.number(depth - 1), self.number(depth - 1)
        ways = [
            f"{one} * {other}",
            f"np.sin({one} + {other})",
            f"np.tanh({one} - {other})",
            f"{one} - 0.5 * {other}",
            f"({one} if {other} > 0.4 else {other})",
            f"np.sum({v} * {self.vector(n, 0)}) * 0.2",
            f"energy({v}, {one})",
            f"{self.pick(self.singles)}({one})",
            f"0.2 * np.sum({v} ** 2)",
            f"dj.stop_gradient({one}) * {other}",
        ]
        ways += [f"0.3 * {h}({self.vector(n or self.draw.randint(3, 4), 0)})" for h, n in self.sums.items()]
        if self.deep < 2:
            ways += [self.verb_number(depth)] * 4
        return self.pick(ways)

    def vector(self, n: int, depth: int = 1) -> str:
        same = [v for v, length in self.vectors.items() if length == n]
        if not same:
            return f"np.array([{', '.join(self.number(0) for _ in range(n))}])"
        if depth == 0 or self.chance(0.25):
            return self.pick([*same, f"{self.pick(same)}[::-1]"])
        one, other = self.vector(n, depth - 1), self.vector(n, depth - 1)
        s = self.number(0)
        ways = [
            f"({one} * {other})",
            f"np.sin({one})",
            f"({one} + {s} * {other})",
            f"spun({one}, {s})",
            f"({s} * {one})",
            f"written({one} + 0.0, {s})",
            f"stepped({one}, {self.pick((1, 2, 'k'))})",
            f"np.where({one} > 0.5, {other}, {s})",
            f"np.cumsum({one})",
            f"np.array([{self.pick(self.singles)}(e) for e in {one}])",
        ]
        ways += [f"{w}({one})" for w, length in self.maps.items() if length in (None, n)]
        if self.deep < 2:
            ways += [self.verb_vector(n, depth)] * 5
        return self.pick(ways)

    def verb_number(self, depth: int) -> str:
        """A number that a verb gives."""
        g, s, t = self.pick(self.singles), self.number(0), self.number(0)
        n = self.draw.randint(3, 4)
        h, v, w = self.sum_of(n), self.vector(n, 0), self.vector(n, 0)
        m = self.map_of(n)
        ways = [
            f"dj.grad({g})({s})",
            f"dj.grad({g})({s})",
            f"dj.value_and_grad({g})({s})[{self.pick((0, 1))}]",
            f"dj.jvp({g}, ({s},), ({t},))[1]",
            f"dj.grad(lambda s: s * {g}(s * {t}))({s})",
            f"slope_of({g})({s})",
            f"dj.vjp({g}, {s})[1]({t})[0]",
            f"dj.jvp({h}, ({v},), ({w},))[1]",
            f"np.sum(dj.hessian({h})({v})) * 0.1",
            f"dj.grad({h})({v})[{self.pick((0, 1))}]",
            f"dj.grad(energy, argnums=1)({v}, {s})",
            f"np.sum(dj.{self.pick(('jacobian', 'jacfwd', 'jacrev'))}({m})({v}) * {w}) * 0.2",
            f"dj.grad(lambda s: np.sum({m}(s * {v})) * 0.2)({s})",
            f"np.sum(dj.vmap({g})({v}) * {w}) * 0.3",
            f"dj.grad(lambda s, v: {h}(v * s), argnums=(0, 1))({s}, {v})[0]",
            f"np.sum(dj.vmap(dj.grad({g}))({v})) * 0.3",
        ]
        if g not in ("doubled", "tripled") and depth:
            ways += [f"dj.grad(dj.grad({g}))({s})", f"dj.grad(slope_of({g}))({s})"]
        return self.pick(ways)

    def verb_vector(self, n: int, depth: int) -> str:
        """A vector that a verb gives."""
        g, s, h, m = self.pick(self.singles), self.number(0), self.sum_of(n), self.map_of(n)
        v, w = self.vector(n, 0), self.vector(n, 0)
        ways = [
            f"dj.grad({h})({v})",
            f"dj.grad({h})({v})",
            f"0.3 * dj.hessian({h})({v}) @ {w}",
            f"dj.jvp({m}, ({v},), ({w},))[1]",
            f"dj.vjp({m}, {v})[1]({w})[0]",
            f"dj.vmap({g})({v})",
            f"dj.vmap(dj.grad({g}))({v})",
            f"dj.hvp({h}, ({v},), ({w},))",
            f"0.2 * dj.jacobian({m})({v}) @ {w}",
            f"dj.grad(lambda v: dj.grad({h})(v)[0] + {h}(v * {s}))({v})",
            f"dj.vmap(lambda s: {self.lane('s')})({v})",
            f"dj.vmap(lambda s, t: s * {s} + {g}(t), in_axes=(0, None))({v}, {s})",
            f"dj.vmap(lambda row: row * {s} + {h}(row))(np.stack([{v}, {w}]))[1]",
            f"dj.value_and_grad({h})({v})[1]",
            f"dj.vmap(lambda column: np.sum(column) * column[0], in_axes=1)(np.stack([{v}, {w}]))",
            f"dj.vmap(lambda s, v: dj.grad({h})(v * s), in_axes=(None, 0), out_axes=1)({s}, np.stack([{v}]))[:, 0]",
        ]
        return self.pick(ways)

    def lane(self, name: str) -> str:
        """What a lane computes of its number."""
        numbers, self.numbers, self.deep = self.numbers, [*self.numbers, name, name], self.deep + 1
        text = self.number(1)
        self.numbers, self.deep = numbers, self.deep - 1
        return f"{text} + {name}"

    def sum_of(self, n: int) -> str:
        """A function of a vector to a number."""
        known = [h for h, length in self.sums.items() if length in (None, n)]
        if known and self.chance(0.7):
            return self.pick(known)
        return self.pick(
            (
                f"(lambda v: energy(v, {self.number(0)}))",
                f"(lambda v: np.sum({self.map_of(n)}(v)) * 0.3)",
                "(lambda v: np.sum(v ** 3) * 0.2)",
            )
        )

    def map_of(self, n: int) -> str:
        """A function of a vector to one."""
        known = [h for h, length in self.maps.items() if length in (None, n)]
        return self.pick(
            [*known * 2, f"(lambda v: spun(v, {self.number(0)}))", f"(lambda v: written(v * 1.0, {self.number(0)}))"]
        )

    # Statements --------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        ways = [(5, self.assign), (4, self.define)] + ([(2, self.loop), (2, self.branch)] if depth < 3 else [])
        weights, options = zip(*ways, strict=True)
        self.draw.choices(options, weights)[0](depth)

    def assign(self, depth: int) -> None:
        if self.chance(0.5):
            v, n = self.pick(list(self.vectors.items()))
            if depth == 1 and self.chance(0.5):
                new = self.name("u")
                self.add(f"{new} = {self.vector(n, 2)}", depth=depth)
                self.vectors[new] = n
            else:
                self.add(
                    self.pick(
                        (
                            f"{v} = 0.5 * {self.vector(n, 2)}",
                            f"{v}[k % {n}] = {self.number(2)}",
                            f"{v}[1:] += 0.3 * {self.vector(n)}[1:]",
                            f"{v} *= {self.number(1)}",
                        )
                    ),
                    depth=depth,
                )
        elif depth == 1 and self.chance(0.5):
            new = self.name("y")
            self.add(f"{new} = {self.number(2)}", depth=depth)
            self.numbers.append(new)
        else:
            self.add(
                f"{self.pick([n for n in self.numbers if n.isidentifier()])} {self.pick(('=', '+='))} {self.number(2)}",
                depth=depth,
            )

    def define(self, depth: int) -> None:
        """A function over what is around it, which later statements bind anew and write to."""
        if depth > 1:
            self.assign(depth)
            return
        form = self.pick(("single", "sum", "map"))
        new = self.name({"single": "g", "sum": "h", "map": "m"}[form])
        n = self.draw.randint(3, 4)
        vectors, numbers = dict(self.vectors), list(self.numbers)
        self.deep += 1
        self.add(f"def {new}({'s' if form == 'single' else 'v'}):")
        if form == "single":
            self.numbers += ["s", "s"]
        else:
            self.vectors["v"] = n
        if self.chance(0.5):
            self.add(
                f"local = {self.vector(n, 1)} * 1.0",
                f"local[{self.pick(('0', 'k % 3', '-1'))}] *= {self.number(1)}",
                depth=2,
            )
            self.vectors["local"] = n
        if self.chance(0.4):
            self.add(
                "total = 0.1", "for i in range(k):", f"    total = total * 0.5 + {self.number(1)} * (i + 1)", depth=2
            )
            self.numbers.append("total")
        if self.chance(0.2):
            self.add(
                f"if {self.number(0)} > 0.6:",
                f"    return {self.vector(n) if form == 'map' else self.number(1)}",
                depth=2,
            )
        if form == "map":
            self.add(f"return {self.vector(n, 2)}", depth=2)
        else:
            self.add(f"return {self.number(2)} * {'s' if form == 'single' else 'v[0]'}", depth=2)
        self.deep -= 1
        self.vectors, self.numbers = vectors, numbers
        if form == "single":
            self.singles += [new] * 3
        else:
            (self.sums if form == "sum" else self.maps)[new] = n

    def loop(self, depth: int) -> None:
        i = self.name("i")
        self.add(
            self.pick((f"for {i} in range(k):", f"for {i} in range(2):", f"for {i}, e in enumerate(a):")), depth=depth
        )
        numbers, self.numbers = self.numbers, [*self.numbers, f"(0.1 * {i})"]
        self.body(depth + 1)
        if self.chance(0.2):
            self.add(f"if {self.number(0)} > 0.8:", f"    {self.pick(('break', 'continue'))}", depth=depth + 1)
            self.body(depth + 1)
        self.numbers = numbers

    def branch(self, depth: int) -> None:
        self.add(f"if {self.number(0)} > {self.number(0)}:", depth=depth)
        self.body(depth + 1)
        if self.chance(0.5):
            self.add("else:", depth=depth)
            self.body(depth + 1)

    def body(self, depth: int) -> None:
        for _ in range(self.draw.randint(1, 2)):
            self.statement(depth)

    def text(self) -> str:
        self.add("def f(a, b, x, k):", depth=0)
        for _ in range(self.draw.randint(4, 8)):
            self.statement(1)
        terms = [
            f"np.tanh(np.sum({v} * np.cos(np.arange({n}) + {j}.0)))" for j, (v, n) in enumerate(self.vectors.items())
        ]
        self.add("return " + " + ".join(terms + [f"np.tanh({y})" for y in self.numbers]))
        return HEAD + "\n".join(self.lines) + "\n"


if __name__ == "__main__":
    main(Writer)
