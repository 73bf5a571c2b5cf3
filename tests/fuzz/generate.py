"""Random NumPy programs as source text: smooth, always in range, and full of writes, views, aliases and loops.

A program is a module with `INPUTS` (shapes of `x` and `y`, their memory order, the integers) and a function
`f(x, y, a, b, n, k)` that returns a float. It is written for those shapes and integers, but for any values.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from .choices import Choices
from .expressions import Shape, wrap
from .scope import Array, Function, Int, Kind, Real, Scope
from .statements import Statements

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TRIPS = 48
ORDERS = ("C", "C", "F", "strided", "reversed")


class Writer(Statements):
    """Writes blocks: statements, branches and loops within one function."""

    def __init__(self, choices: Choices, scope: Scope, budget: int, indent: int = 1) -> None:
        """Write about `budget` lines."""
        super().__init__(choices, scope, indent)
        self.budget = budget

    @contextmanager
    def block(self, scope: Scope) -> Iterator[None]:
        """Indent, with names of its own."""
        outer, self.scope = self.scope, scope
        self.indent += 1
        yield
        self.indent -= 1
        self.scope = outer

    def body(self, most: int) -> None:
        """Between one and `most` statements."""
        before = len(self.lines)
        for _ in range(self.choices.integer(1, most)):
            self.statement()
        if len(self.lines) == before:
            self.emit("pass")

    def statement(self) -> None:
        """One statement of any kind; blocks while there are lines left and nesting is not deep."""
        nested = self.scope.block < 4 and self.budget - len(self.lines) > 3
        deep = self.scope.trips > MAX_TRIPS // 2 or self.scope.loops > 2
        options = [
            (10, self.write),
            (4, self.accumulate),
            (4, self.new_array),
            (6, self.new_view),
            (4, self.new_alias),
            (4, self.write_all),
            (4, self.swap),
            (3, self.new_real),
            (2, self.write_out),
            (3, self.write_mask),
            (3, self.write_gathered),
            (2, self.tuples),
            (10 if self.scope.lists() else 4, self.lists),
            (3, self.sink),
            (2, self.new_int),
            (5, self.call_statement),
            ((16 if self.scope.may_break else 8) * nested, self.branch),
            (16 * (nested and not deep), self.loop),
            (2 * nested, self.closure),
        ]
        for _ in range(3):
            if self.choices.weighted(options)():
                return

    # Branches

    def branch(self) -> bool:
        """`if`, `elif` and `else`, sometimes with a way out at the end."""
        self.emit(f"if {self.condition()}:")
        leaving = self.choices.chance(60 if self.scope.may_break else 25)
        with self.block(self.scope.inner()):
            self.body(1 if leaving else 3)
            if leaving:
                self.leave()
        for _ in range(self.choices.weighted([(7, 0), (2, 1), (1, 2)])):
            self.emit(f"elif {self.condition()}:")
            with self.block(self.scope.inner()):
                self.body(2)
        if self.choices.chance(50):
            self.emit("else:")
            with self.block(self.scope.inner()):
                self.body(2)
        return True

    def leave(self) -> None:
        """`break`, `continue` or `return`, whichever is possible."""
        options = [(1, "return")]
        if self.scope.may_break:
            options.append((7, "break"))
        if self.scope.may_continue:
            options.append((5, "continue"))
        way = self.choices.weighted(options)
        self.emit(f"return {self.result()}".rstrip() if way == "return" else way)

    def result(self) -> str:
        """What the function returns, as it is written in the middle of it."""
        texts = []
        for kind in self.scope.results:
            if isinstance(kind, Array):
                texts.append(self.writable_view(kind.shape) or f"{wrap(self.array(kind.shape, 1))} + 0.0")
            else:
                texts.append(self.real(1))
        return ", ".join(texts)

    # Loops

    def loop(self) -> bool:
        """A `for` or a `while`."""
        room = MAX_TRIPS // self.scope.trips
        write = self.choices.weighted([(6, self.range_loop), (3, self.array_loop), (2, self.while_loop)])
        return write(room)

    def loop_body(self, variables: list[tuple[str, Kind]], trips: int) -> None:
        """The body of a `for` loop, in which `variables` are bound."""
        with self.block(self.scope.inner(trips=trips)):
            for name, kind in variables:
                self.scope.bind(name, kind)
            self.body(4)
        if self.choices.chance(5):
            self.emit("else:")
            with self.block(self.scope.inner()):
                self.body(1)

    def counter(self, names: tuple[str, ...] = ("i", "j", "l", "m", "i2", "j2")) -> str:
        """An unused name for an integer."""
        return next(name for name in names if name not in self.scope.kinds)

    def range_loop(self, room: int) -> bool:
        """`for i in range(...)` with any start and step, also one that depends on an outer loop."""
        options: list[tuple[str, int, int, int]] = [("2", 0, 1, 2)]
        lengths = sorted({length for _, kind in self.scope.arrays() for length in kind.shape})
        for length in lengths:
            size = self.size(length)
            options.append((size, 0, length - 1, length))
            options.append((f"{size} - 1, -1, -1", 0, length - 1, length))
            if length > 1:
                options.append((f"1, {size}", 1, length - 1, length - 1))
                options.append((f"0, {size}, 2", 0, length - 1, (length + 1) // 2))
                options.append((f"{size} - 2, -1, -1", 0, length - 2, length - 1))
                options += 3 * [
                    (f"{name} + 1, {size}", kind.low + 1, length - 1, length)
                    for name, kind in self.scope.ints()
                    if 0 <= kind.low + 1 < length
                ]
            if length > 2:
                options.append((f"1, {size} - 1", 1, length - 2, length - 2))
        for name, kind in self.scope.ints():
            if kind.high >= 1:
                options.append((name, 0, kind.high - 1, kind.high))
                options.append((f"{name} - 1, -1, -1", 0, kind.high - 1, kind.high))
        possible = [option for option in options if option[3] <= room]
        if not possible:
            return False
        text, low, high, trips = self.choices.pick(possible)
        name = self.counter()
        self.emit(f"for {name} in range({text}):")
        self.loop_body([(name, Int(low, high))], trips)
        return True

    def array_loop(self, room: int) -> bool:
        """A loop over elements, rows or a list, also with `enumerate`, `zip` and `reversed`."""
        arrays = [(name, kind) for name, kind in self.scope.arrays() if kind.shape[0] <= room]
        if not arrays:
            return False
        name, kind = self.choices.pick(arrays)
        item = Array(kind.shape[1:], kind.writable) if len(kind.shape) > 1 else Real()
        value = "row" if isinstance(item, Array) else "z"
        if value in self.scope.kinds:
            return False
        trips = kind.shape[0]
        over = self.choices.pick([name, name, f"{name}[::-1]", f"reversed({name})"])
        way = self.choices.integer(0, 3)
        if way == 0:
            self.emit(f"for {value} in {over}:")
            self.loop_body([(value, item)], trips)
        elif way in (1, 2):
            i = self.counter()
            start, offset = self.choices.pick([("", 0), ("", 0), (", 1", 1)])
            self.emit(f"for {i}, {value} in enumerate({over}{start}):")
            self.loop_body([(i, Int(offset, trips - 1 + offset)), (value, item)], trips)
        else:
            others = [(other, other_kind) for other, other_kind in arrays if len(other_kind.shape) == 1]
            if not others or "z2" in self.scope.kinds:
                return False
            other, other_kind = self.choices.pick(others)
            self.emit(f"for {value}, z2 in zip({name}, {other}):")
            self.loop_body([(value, item), ("z2", Real())], min(trips, other_kind.shape[0]))
        return True

    def while_loop(self, room: int) -> bool:
        """A `while` that counts, and often also waits for a float."""
        limit = self.choices.integer(1, min(4, room)) if room > 0 else 0
        counters = [name for name in ("h", "h2", "h3") if name not in self.scope.kinds]
        if limit == 0 or not counters:
            return False
        name = counters[0]
        self.emit(f"{name} = 0")
        test = f"{name} < {limit}"
        if self.choices.chance(40):
            test += f" and {self.condition_in_loop()}"
        self.emit(f"while {test}:")
        first = self.choices.chance(60)
        with self.block(self.scope.inner(trips=limit, may_continue=first)):
            self.scope.bind(name, Int(1, limit) if first else Int(0, limit - 1))
            if first:
                self.emit(f"{name} += 1")
            self.body(4)
            if not first:
                self.emit(f"{name} += 1")
        self.scope.bind(name, Int(0, limit))
        return True

    def condition_in_loop(self) -> str:
        """A condition on a float that the loop may change."""
        return f"{wrap(self.real(0))} < {self.choices.pick(['0.9', '1.7', '2.5'])}"

    # Functions

    def closure(self) -> bool:
        """A nested function that reads and writes arrays of the enclosing one."""
        free = [name for name in ("bump", "bump2", "bump3") if name not in self.scope.kinds]
        captured = [(name, kind) for name, kind in self.scope.kinds.items() if isinstance(kind, Array | Real)]
        if not free or not captured:
            return False
        name = free[0]
        chosen = dict(self.choices.pick(captured) for _ in range(2))
        inside = Scope(fixed=set(chosen))
        for captured_name, kind in chosen.items():
            inside.bind(captured_name, kind)
        function, lines = write_function(self.choices, name, inside, budget=4, indent=self.indent)
        self.lines += lines
        self.scope.captured.update(chosen)
        self.scope.bind(name, function)
        if self.choices.chance(80):
            self.call_statement()
        return True


def write_function(
    choices: Choices, name: str, scope: Scope, *, budget: int, indent: int, shapes: tuple[Shape, ...] = ()
) -> tuple[Function, list[str]]:
    """A helper with a random signature: its kind, and its text."""
    shapes = shapes or tuple(kind.shape for _, kind in scope.arrays()) or ((3,),)
    params: list[tuple[str, Kind]] = []
    arrays = ("u", "v")[: choices.integer(1, 2) if indent == 0 else choices.integer(0, 1)]
    params += [(array, Array(choices.pick(shapes))) for array in arrays if array not in scope.kinds]
    if choices.chance(50) and "c" not in scope.kinds:
        params.append(("c", Int(0, choices.integer(1, 4))))
    if choices.chance(70) or not params:
        params.append(("t" if "t" not in scope.kinds else "t2", Real()))
    kinds = [kind for _, kind in params if isinstance(kind, Array)]
    pair = (choices.pick(kinds), Real()) if kinds else (Real(),)
    one = (choices.pick(kinds),) if kinds else (Real(),)
    scope.results = choices.weighted([(4, (Real(),)), (3, ()), (4, one), (2, pair)])
    for param, kind in params:
        scope.bind(param, kind)
        scope.bound_at[param] = 0
    writer = Writer(choices, scope, budget, indent + 1)
    scope.block, scope.loops, scope.trips = 1, 1, MAX_TRIPS // 8  # it may be called in a loop
    while len(writer.lines) < choices.integer(1, budget):
        writer.statement()
    head = f"{'    ' * indent}def {name}({', '.join(param for param, _ in params)}):"
    if scope.results:
        writer.emit(f"return {writer.result()}")
    return Function(tuple(kind for _, kind in params), scope.results), [head, *writer.lines]


def final_sum(choices: Choices, writer: Writer) -> None:
    """Lines that return a weighted sum of what the program has touched."""
    scope = writer.scope
    terms = [name for name in scope.reals() + scope.reals(sinks=True) if name not in ("a", "b")]
    for name, kind in scope.arrays():
        if name == "TABLE" or (name in ("x", "y") and choices.chance(10)):
            continue
        weights = f"np.cos(np.arange({kind.size}))"
        if len(kind.shape) > 1:
            weights += f".reshape({name}.shape)"
        terms.append(choices.pick([
            f"np.sum({name} * {weights})",
            f"np.sum({weights} * {name} ** 2)",
            f"({weights} * np.sin({name})).sum()",
        ]))  # fmt: skip
    writer.emit(f"result = {' + '.join(terms[:2]) if terms else 'a * b'}")
    for term in terms[2:]:
        writer.emit(f"result += {term}")
    for name, kind in scope.lists():
        if isinstance(kind.item, Real):
            form = choices.pick([f"np.sum(np.array({name}) ** 2)", f"sum({name})", f"{name}[0] * {name}[-1]"])
            writer.emit(f"result += {form}")
        else:
            writer.emit(f"for position, item in enumerate({name}):")
            writer.emit("    result += (position + 1) * np.sum(item[0] * item[-1])")
    writer.emit("return result")


def generate(choices: Choices, *, lines: int = 0) -> str:
    """The source of a random program; `lines` is its least length, drawn when 0."""
    n, k = choices.integer(1, 4), choices.integer(0, 4)
    x_shape = (choices.weighted([(6, 5), (4, 6), (2, 4), (2, 3), (1, 2), (1, 1)]),)
    y_shape = (choices.weighted([(4, 3), (4, 2), (3, 4), (1, 1)]), choices.weighted([(4, 4), (4, 3), (2, 2), (1, 1)]))
    inputs = {"x": x_shape, "y": y_shape, "n": n, "k": k, "order": choices.pick(ORDERS)}
    head = ["import math", "", "import numpy as np", "", f"INPUTS = {inputs!r}"]
    scope = Scope()
    if choices.chance(15):
        values = ", ".join(choices.number() for _ in range(x_shape[0]))
        head.append(f"TABLE = np.array([{values}])")
        scope.bind("TABLE", Array(x_shape, writable=False))
        scope.fixed.add("TABLE")
    helpers = []
    for name in ("first", "second", "third")[: choices.weighted([(3, 0), (5, 1), (3, 2), (1, 3)])]:
        inside = Scope(kinds=dict(scope.kinds), bound_at=dict(scope.bound_at), fixed=set(scope.fixed))
        shapes = (x_shape, y_shape, (y_shape[1],), (y_shape[0],))
        function, text = write_function(choices, name, inside, budget=6, indent=0, shapes=shapes)
        helpers += ["", "", *text]
        scope.bind(name, function)
        scope.fixed.add(name)
    for name, kind in (("x", Array(x_shape)), ("y", Array(y_shape)), ("a", Real()), ("b", Real()), ("n", Int(n, n)),
                       ("k", Int(k, k))):  # fmt: skip
        scope.bind(name, kind)
    writer = Writer(choices, scope, lines or choices.integer(4, 32))
    if choices.chance(70):
        writer.assign("0.0", Real(sink=True), name="acc")
    while len(writer.lines) < writer.budget:
        writer.statement()
    final_sum(choices, writer)
    return "\n".join([*head, *helpers, "", "", "def f(x, y, a, b, n, k):", *writer.lines, ""])


def from_seed(seed: int) -> str:
    """The program of a plain seed."""
    return generate(Choices.from_seed(seed))
