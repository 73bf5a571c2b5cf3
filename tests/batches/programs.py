"""Random programs with a loop over samples whose turns may be computed in batches: `f(x, u, w, v, s)`.

`x` is a matrix of n rows of d numbers, `u` has n, `w` has k rows of d, `v` has d numbers, `s` is a number. Most of what
a turn does keeps to itself; some does not, and some indices and shapes do not fit.
"""

from __future__ import annotations

from tests.containers.writing import Lines

HEAD = "import numpy as np\n\n\n"
SMOOTH = ("np.sin({})", "np.tanh({})", "np.sqrt(1.0 + ({}) ** 2)", "np.exp(-({}) ** 2)", "0.5 * ({})", "np.arctan({})")
KINKED = ("np.abs({})", "np.maximum({}, 0.3)", "np.where({0} > 0.4, {0}, 0.2)", "np.minimum({}, s)")


class Writer(Lines):
    """Writes one program."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.depth = 1
        self.first = self.draw.choice((0, 0, 1, 2))
        self.last = self.draw.choice((0, 0, 0, 1))
        self.reals: list[str] = ["s"]
        self.rows: list[str] = []  # arrays of d numbers that a turn has made
        self.named = 0
        self.place = ""  # the counter of an inner loop over d
        self.item = ""  # the counter of an inner loop over k
        self.filled = False  # `keep` has been filled in this turn

    def text(self) -> str:
        """The text of the module."""
        self.lines = []
        self.put("n, d = x.shape", "k = len(w)", "out = np.zeros(n)", "rows = np.ones((n, d))", "keep = np.zeros(k)")
        self.put("total, less, most = 0.0, 0.0, -1.0")
        if self.chance(0.2):
            self.put("for step in range(2):")
            self.depth += 1
        self.put(f"for i in range({self.first}, n - {self.last}):" if self.first + self.last else "for i in range(n):")
        self.depth += 1
        for _ in range(self.draw.randint(3, 7)):
            self.statement()
        self.close()
        self.depth = 1
        self.put("return total + less + 0.1 * most + 0.3 * np.sum(np.tanh(out)), out, rows")
        return HEAD + "def f(x, u, w, v, s):\n" + "\n".join(self.lines) + "\n"

    def put(self, *lines: str) -> None:
        self.add(*lines, depth=self.depth)

    def new(self, letter: str) -> str:
        self.named += 1
        return f"{letter}{self.named}"

    # Expressions

    def real(self, depth: int = 2) -> str:
        if depth and self.chance(0.55):
            if self.chance(0.45):
                return self.draw.choice((*SMOOTH, *SMOOTH, *KINKED)).format(self.real(depth - 1))
            return f"({self.real(depth - 1)} {self.draw.choice('+-*')} {self.real(depth - 1)})"
        choices = ["u[i]", "x[i, 0]", "v[1]", "w[0, 1]", "0.7", "x[i, -1]", "0.0137 * i", *self.reals, *self.reals]
        if self.first:
            choices += [f"u[i - {self.first}]", "x[i - 1, 1]"]
        if self.last:
            choices += ["u[i + 1]"]
        if self.place:
            j = self.place
            choices += [f"x[i, {j}]"] * 3 + [f"v[{j}]", f"rows[i, {j}]", *(f"{a}[{j}]" for a in self.rows)]
        if self.item:
            choices += [f"w[{self.item}, 0]", f"w[{self.item}, 1]"]
        if self.place and self.item:
            choices += [f"w[{self.item}, {self.place}]"] * 3
        if not self.place:
            a = self.row(1)
            choices += [f"np.sum({a})", f"({a}) @ v", f"np.max({a})", "out[i]", *(f"{a}[0]" for a in self.rows)]
            if self.filled:
                choices += ["np.max(keep)", "np.sum(np.exp(keep - np.max(keep)))", "keep[0]"]
        return self.pick(choices)

    def row(self, depth: int = 2) -> str:
        """An array of d numbers."""
        if depth and self.chance(0.6):
            if self.chance(0.4):
                return self.draw.choice((*SMOOTH, *KINKED)).format(self.row(depth - 1))
            other = self.row(depth - 1) if self.chance(0.6) else self.pick(self.reals)
            return f"({self.row(depth - 1)} {self.draw.choice('+-*')} {other})"
        choices = ["x[i]", "x[i]", "x[i, :]", "v", "w[0]", "rows[i]", "x[i, ::-1]", *self.rows, *self.rows]
        if self.item:
            choices += [f"w[{self.item}]"] * 3
        if self.first:
            choices.append("x[i - 1]")
        return self.pick(choices)

    # Statements

    def statement(self) -> None:
        kinds = [
            (self.number, 3),
            (self.array, 3),
            (self.in_place, 2),
            (self.kept, 2),
            (self.sums, 2),
            (self.choice, 2),
            (self.fill, 1),
            (self.over_d, 3),
            (self.over_k, 2),
            (self.alias, 1),
            (self.odd, 1),
        ]
        self.draw.choices([k for k, _ in kinds], [n for _, n in kinds])[0]()

    def number(self) -> None:
        expression, name = self.real(), self.new("t")
        self.put(f"{name} = {expression}")
        if not self.place and not self.item:
            self.reals.append(name)

    def array(self) -> None:
        text = self.draw.choice((self.row(), "np.zeros(d)", "np.full(d, s)", f"({self.row()}).copy()"))
        name = self.new("a")
        if text.startswith(("x", "v", "w", "rows", "a")):
            text = f"1.0 * {text}"
        self.put(f"{name} = {text}")
        if not self.place and not self.item:
            self.rows.append(name)

    def in_place(self) -> None:
        if not self.rows:
            self.array()
            return
        a = self.pick(self.rows)
        self.put(
            self.draw.choice(
                (
                    f"{a} += {self.row(1)}",
                    f"{a} *= {self.real(1)}",
                    f"{a}[:] = {self.row()}",
                    f"{a}[0] = {self.real()}",
                    f"{a}[1:] = {a}[:-1] * 0.5",
                    f"{a}[1:] += {self.real(1)}",
                    f"{a}[::-1] *= {self.row(1)}",
                    f"{a}[-1] -= {self.real(1)}",
                )
            )
        )

    def kept(self) -> None:
        self.put(
            *self.draw.choice(
                (
                    (f"out[i] = {self.real()}",),
                    (f"out[i] += {self.real()}",),
                    (f"rows[i] = {self.row()}",),
                    (f"rows[i] *= {self.real(1)}",),
                    (f"rows[i, 0] = {self.real()}",),
                    ("own = rows[i]", f"own[1] = {self.real(1)}", f"own *= {self.row(1)}"),
                    (f"rows[i, 1:] = {self.real(1)}",),
                )
            )
        )

    def sums(self) -> None:
        if self.place or self.item:
            self.number()
            return
        self.put(
            self.draw.choice(
                (f"total += {self.real()}", f"less -= {self.real()}", f"most = np.maximum(most, {self.real()})")
            )
        )

    def choice(self) -> None:
        name = self.new("t")
        before = self.real()
        self.put(f"{name} = {before}")
        self.put(f"if {self.draw.choice((name, self.real(1), 'u[i]', 's'))} > {self.draw.choice(('0.5', '0.2', 's'))}:")
        self.depth += 1
        self.put(f"{name} = {self.real()}")
        if self.chance(0.2) and self.rows:
            self.put(f"{self.pick(self.rows)}[0] = {name}")
        self.depth -= 1
        if self.chance(0.5):
            self.put("else:")
            self.depth += 1
            self.put(f"{name} = {self.draw.choice((f'{name} * 0.5', self.real(1)))}")
            self.depth -= 1
        if self.first == 0 and self.chance(0.15):
            self.put("if i > 0:")
            self.depth += 1
            self.put(f"{name} += u[i - 1]")
            self.depth -= 1
        if not self.place and not self.item:
            self.reals.append(name)

    def fill(self) -> None:
        if self.place or self.item:
            self.number()
            return
        if self.chance(0.3):
            self.put(f"keep[:] = {self.real(1)}")
        else:
            self.put(f"for c in range({self.draw.choice(('k', 'k', 'k', 'k - 1'))}):")
            self.depth += 1
            self.item = "c"
            self.put(f"keep[c] = {self.draw.choice((self.real(), f'np.sum({self.row()})'))}")
            self.item = ""
            self.depth -= 1
        self.filled = True

    def over_d(self) -> None:
        if self.place:
            self.number()
            return
        name, held = self.new("q"), self.pick(self.rows) if self.rows else ""
        first = ("0.0", self.real(1), f"{held}[0]", f"{held}[-1]") if held else ("0.0", self.real(1))
        self.put(f"{name} = {self.draw.choice(first)}")
        outer = self.draw.choice(("range(d)", "range(d)", "range(1, d)", "range(d - 1, -1, -1)"))
        self.put(f"for j in {outer}:")
        self.depth += 1
        self.place = "j"
        for _ in range(self.draw.randint(1, 2)):
            lines = [
                f"{name} += {self.real()}",
                f"{name} = 0.5 * {name} + {self.real(1)}",
                f"{name} -= {self.real(1)} * 0.1",
                f"rows[i, j] = {self.real()}",
                f"rows[i, j] += {self.real(1)}",
            ]
            if held:
                lines += [f"{name} = {held}[j]", f"{name} = {held}[j - 1] * {self.real(1)}"]
                lines += [
                    f"{held}[j] = {self.real()}",
                    f"{held}[j] += {self.real()}",
                    f"{held}[j] = {held}[j - 1] * 0.9",
                ]
            self.put(self.pick(lines))
        if held and self.chance(0.3):
            self.put("for l in range(j + 1, d):")
            self.put(f"    {held}[l] += x[i, j] * {self.draw.choice(('v[l]', f'{held}[j]', name))} * 0.1")
        if self.chance(0.15):
            self.put(f"if j > 1:\n{'    ' * (self.depth + 1)}{name} *= 0.9")
        self.place = ""
        self.depth -= 1
        if not self.item:
            self.reals.append(name)

    def over_k(self) -> None:
        if self.place or self.item:
            self.number()
            return
        name = self.new("q")
        self.put(f"{name} = {self.draw.choice(('0.0', '10.0', self.real(1)))}", "for c in range(k):")
        self.depth += 1
        self.item = "c"
        if self.chance(0.5):
            self.array()
        if self.chance(0.4):
            self.over_d()
        e = self.draw.choice((self.real(), f"np.sum(({self.row(1)}) * ({self.row(1)}))"))
        self.put(
            self.draw.choice((f"{name} += {e}", f"{name} = min({name}, {e})", f"{name} = np.maximum({name}, {e})"))
        )
        self.item = ""
        self.depth -= 1
        self.reals.append(name)

    def alias(self) -> None:
        if not self.rows:
            self.array()
            return
        a, b = self.pick(self.rows), self.new("a")
        self.put(f"{b} = {a}{self.draw.choice(('', '[:]', '[::-1]', f' if k > 8 else {self.pick(self.rows)}'))}")
        self.put(f"{b}[0] = {self.real(1)}")
        if not self.place and not self.item:
            self.rows.append(b)

    def odd(self) -> None:
        """What keeps a loop as it is, or raises."""
        lines = [
            "out[i - 1] += 0.1",
            "rows[0, 0] += 0.1",
            "v[0] = 0.1 * u[i]",
            "x[i, 0] = 0.5",
            f"total += w[k - 1, 0] + {self.real(1)}",
            "total = 0.5 * total + u[i]",
            "out[n - 1 - i] = u[i]",
            "less -= w[k, 0]",
            "total += np.sum(x[i] * keep)",
            "u[i] = u[i] * 0.5",
        ]
        self.put(self.pick(lines))

    def close(self) -> None:
        if self.rows:
            self.put(f"out[i] += np.sum({self.pick(self.rows)})")
        self.put(f"total += {self.pick(self.reals)}")
