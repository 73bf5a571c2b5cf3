"""Expressions of the design `failing`: of known kinds, but with indices and lengths that nobody has checked.

Every name has one kind for the whole function. A vector's length is a *symbol*: "p" (that of `x`), "5" (a literal), or
"" where only the run knows it. Operands of one operation mostly share a symbol, so that most programs get through.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .choices import Choices

VECTORS = ("u", "v", "w", "r", "h")
MATRICES = ("A", "B")
REALS = ("s", "t", "g")
INTEGERS = ("c", "m", "o")
COUNTERS = ("i", "j", "l", "i2", "j2")
UNARY = (
    "np.sin({0})",
    "np.cos({0})",
    "np.tanh({0})",
    "np.exp(-{0} * {0})",
    "0.7 * {0}",
    "np.sqrt(1.0 + {0} ** 2)",
    "1.0 / (1.5 + np.sin({0}))",
    "np.arctan({0})",
    "-{0}",
    "np.abs({0})",
    "np.log(2.0 + np.cos({0}))",
)
BINARY = (
    "{0} + 0.5 * {1}",
    "{0} - {1}",
    "0.8 * {0} * {1}",
    "{0} / (2.0 + {1} * {1})",
    "np.sin({0}) * {1}",
    "np.maximum({0}, {1})",
    "np.where({0} > {1}, {0}, 0.3 * {1})",
    "np.where({0} > 0.1, {1}, np.cos({0}))",
    "np.hypot({0}, {1} + 1.0)",
    "np.tanh({0} + {1})",
)
REDUCED = (
    "np.sum({0})",
    "{0}.sum()",
    "np.sum({0} * {0})",
    "np.sum(np.sin({0}))",
    "np.dot({0}, {0})",
    "np.max({0})",
    "{0}.mean()",
    "np.prod(np.cos({0}))",
    "np.linalg.norm({0} + 0.1)",
    "np.sum({0}[::-1] * {0})",
)


@dataclass
class Names:
    """What is in scope: vectors with the symbols of their lengths, and the rest by kind."""

    vectors: dict[str, str] = field(default_factory=dict)
    matrices: list[str] = field(default_factory=list)
    reals: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    objects: dict[str, str] = field(default_factory=dict)
    edges: list[str] = field(default_factory=list)  # integers of any size, which never say how often a loop runs
    read_only: set[str] = field(default_factory=set)

    def inner(self) -> Names:
        """A copy for a nested block."""
        return Names(
            dict(self.vectors), list(self.matrices), list(self.reals), list(self.integers), list(self.counters),
            list(self.lists), dict(self.objects), list(self.edges), set(self.read_only),
        )  # fmt: skip


def grouped(text: str) -> str:
    """`text` in parentheses, unless it is a name, a call or a subscript."""
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and char in " -":
            return f"({text})"
    return text


class FailingExpressions:
    """Draws expressions over `self.names`."""

    def __init__(self, choices: Choices, names: Names) -> None:
        """Start with these names."""
        self.choices = choices
        self.names = names

    # Integers

    def integer(self) -> str:
        """A small integer, known or computed, of either sign."""
        options = [(2, str(self.choices.integer(-3, 4)))]
        options += [(5, name) for name in self.names.counters]
        options += [(3, name) for name in self.names.integers]
        return self.choices.weighted(options)

    def index(self, vector: str) -> str:
        """An index into `vector`, mostly inside it, sometimes negative or beyond."""
        if self.names.edges and self.choices.chance(3):
            return self.choices.pick(self.names.edges)
        one, other = self.integer(), self.integer()
        forms = [
            (6, "{0}"),
            (2, "-{0} - 1"),
            (2, "{0} - 1"),
            (1, "{0} + 1"),
            (2, "{0} - {1}"),
            (1, "{0} + {1}"),
            (3, "({0} + {1}) % {2}.size"),
            (2, "({0} * 2 + 1) % {2}.size"),
            (2, "{2}.size - 1"),
            (1, "{2}.size - 1 - {0}"),
            (1, "-{2}.size"),
            (1, "{2}.size // 2"),
            (1, "{0} // 2"),
            (1, "min({0}, {2}.size - 1)"),
        ]
        return self.choices.weighted(forms).format(grouped(one), grouped(other), vector)

    def bound(self, vector: str) -> str:
        """A bound of a slice."""
        if self.names.edges and self.choices.chance(6):
            return self.choices.pick(self.names.edges)
        return self.choices.weighted([
            (4, str(self.choices.integer(-3, 4))),
            (3, grouped(self.integer())),
            (2, f"{grouped(self.integer())} + 1"),
            (1, f"-{grouped(self.integer())}"),
            (1, f"{vector}.size - 1"),
            (1, f"{vector}.size // 2"),
        ])  # fmt: skip

    def slice(self, vector: str) -> tuple[str, bool]:
        """A slice, and whether it keeps the length."""
        form = self.choices.weighted([
            (4, "::-1"), (4, ":"), (3, "1:"), (3, ":-1"), (3, "1:-1"), (2, "::2"), (5, "{0}:"), (4, ":{1}"),
            (6, "{0}:{1}"), (2, "{0}::-1"), (2, "{0}:{1}:-1"), (2, "{0}:{1}:2"), (1, "::-2"), (1, ":{1}:-1"),
        ])  # fmt: skip
        return form.format(self.bound(vector), self.bound(vector)), form in ("::-1", ":")

    # Vectors

    def vector(self, symbol: str | None = None, *, writable: bool = False) -> tuple[str, str]:
        """A vector's name and symbol, of the given symbol where there is one."""
        found = [
            (name, have)
            for name, have in self.names.vectors.items()
            if not (writable and name in self.names.read_only) and symbol in (None, have)
        ]
        if not found or self.choices.chance(2):
            found = [item for item in self.names.vectors.items() if not (writable and item[0] in self.names.read_only)]
        return self.choices.pick(found[::-1])

    def view(self, *, writable: bool = True) -> tuple[str, str]:
        """A view of a vector, of a matrix or of an object's array, and its symbol."""
        if self.names.matrices and self.choices.chance(15):
            name = self.choices.pick(self.names.matrices)
            row = grouped(self.integer())
            return self.choices.pick([
                (f"{name}[{row}]", "p"),
                (f"{name}[{row}, :]", "p"),
                (f"{name}[:, {row}]", ""),
                (f"{name}[{row}, ::-1]", "p"),
                (f"{name}.T[{row}]", ""),
                (f"{name}[{row}, 1:]", ""),
            ])  # fmt: skip
        if self.names.objects and self.choices.chance(20):
            name, symbol = self.choices.pick(list(self.names.objects.items()))
            return f"{name}.data", symbol
        name, symbol = self.vector(writable=writable)
        if self.choices.chance(30):
            return name, symbol
        text, keeps = self.slice(name)
        return f"{name}[{text}]", symbol if keeps else ""

    def operand(self, symbol: str) -> str:
        """A vector of this symbol, or a number where its length is not known."""
        fitting = [name for name, have in self.names.vectors.items() if have == symbol and symbol]
        fitting += [f"{name}.data" for name, have in self.names.objects.items() if have == symbol and symbol]
        if not fitting or self.choices.chance(12):
            return grouped(self.real(1))
        name = self.choices.pick(fitting[::-1])
        return self.choices.weighted([
            (6, name),
            (3, f"{name}[::-1]"),
            (1, f"{name}[np.arange({name}.size) - 1]"),
            (1, f"np.roll({name}, {grouped(self.integer())})"),
            (1, f"{name}.copy()"),
            *([(2, f"{matrix}[{grouped(self.integer())}]") for matrix in self.names.matrices if symbol == "p"]),
        ])  # fmt: skip

    def like(self, text: str, symbol: str, depth: int = 2) -> str:
        """An expression of the length of `text`, a vector with this symbol."""
        first = grouped(text)
        if depth > 1 and self.choices.chance(50):
            first = grouped(self.like(text, symbol, depth - 1))
        if self.choices.chance(45):
            return self.choices.pick(UNARY).format(first)
        return self.choices.pick(BINARY).format(first, self.operand(symbol))

    def fresh(self) -> tuple[str, str]:
        """A new vector, and its symbol."""
        form = self.choices.integer(0, 9)
        if form == 0:
            return self.choices.pick(["np.zeros(5)", "np.ones(5)", "np.arange(5.0)", "np.linspace(0.1, 0.9, 5)"]), "5"
        if form == 1:
            return f"np.zeros({self.vector()[0]}.size)", ""
        if form == 2:
            name, symbol = self.vector()
            return self.choices.pick([f"np.zeros_like({name})", f"np.full_like({name}, 0.25)"]), symbol
        if form == 3:
            return f"np.full(5, {self.real(1)})", "5"
        name, symbol = self.view(writable=False)
        if form == 4:
            return f"{name}.copy()", symbol
        return self.like(name, symbol), symbol

    # Numbers

    def element(self) -> str:
        """An element of something."""
        if self.names.matrices and self.choices.chance(20):
            name = self.choices.pick(self.names.matrices)
            return f"{name}[{grouped(self.integer())}, {grouped(self.integer())}]"
        if self.names.objects and self.choices.chance(15):
            name = self.choices.pick(list(self.names.objects))
            return f"{name}.data[{self.index(f'{name}.data')}]"
        name, _ = self.vector()
        return f"{name}[{self.index(name)}]"

    def real(self, depth: int = 2) -> str:
        """A float."""
        if depth == 0 or self.choices.chance(25):
            options = [(1, f"0.{self.choices.integer(2, 9)}"), (6, "element"), (2, "reduced")]
            options += [(4, name) for name in self.names.reals]
            options += [(1, f"{name}.scale") for name in self.names.objects]
            options += [(2, f"{name}[-1]") for name in self.names.lists]
            options += [(1, f"0.1 * {name}") for name in self.names.integers + self.names.counters]
            text = self.choices.weighted(options)
            if text == "element":
                return self.element()
            return self.reduced() if text == "reduced" else text
        left = grouped(self.real(depth - 1))
        if self.choices.chance(45):
            return self.choices.pick(UNARY).replace("np.abs", "abs").format(left)
        right = grouped(self.real(depth - 1))
        text = self.choices.pick(BINARY).format(left, right)
        return text.replace("np.maximum", "max") if self.choices.chance(50) else text

    def reduced(self) -> str:
        """A reduction of a view to a float."""
        name, _ = self.view(writable=False)
        return f"np.tanh({self.choices.pick(REDUCED).format(name)})"

    def condition(self) -> str:
        """A condition on integers or floats."""
        one, other = self.integer(), self.integer()
        return self.choices.weighted([
            (4, f"{grouped(one)} % 2 == {self.choices.integer(0, 1)}"),
            (4, f"{one} {self.choices.pick(['<', '>', '==', '!=', '<=', '>='])} {other}"),
            (4, f"{self.real(1)} > {self.choices.pick(['0.0', '0.3', '-0.4', '0.7'])}"),
            (2, f"{self.real(0)} < {self.real(0)}"),
            (1, f"{one} < {other} < 3"),
            (1, f"not {one} > 1"),
            (1, f"{one} > 0 and {self.element()} > 0.2"),
            (1, f"{one} < 2 or {self.element()} < 0.1"),
        ])  # fmt: skip
