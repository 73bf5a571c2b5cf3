"""Statements of the design `failing`: writes through views, swapped buffers, exceptions, ways out of loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .choices import Choices
from .failing_expressions import (
    COUNTERS,
    INTEGERS,
    MATRICES,
    REALS,
    VECTORS,
    FailingExpressions,
    Names,
    grouped,
)

OPERATORS = ("+=", "+=", "-=", "*=", "=")


@dataclass(frozen=True)
class Helper:
    """A function of the program: what it takes, and what it gives ("vector", "same", "real", "both" or "none")."""

    params: tuple[str, ...]
    gives: str


class FailingStatements(FailingExpressions):
    """Writes lines into `self.lines`."""

    def __init__(
        self, choices: Choices, names: Names, budget: int, helpers: dict[str, Helper], indent: int = 1
    ) -> None:
        """Write about `budget` lines."""
        super().__init__(choices, names)
        self.budget = budget
        self.helpers = helpers
        self.indent = indent
        self.lines: list[str] = []
        self.loops = 0
        self.blocks = 0
        self.result = ""  # of an early return; none is written without it
        self.exceptions = ("ValueError", "Stop", "ArithmeticError", "KeyError", "RuntimeError")

    def emit(self, line: str) -> bool:
        """Write a line."""
        self.lines.append("    " * self.indent + line)
        return True

    @contextmanager
    def block(self, head: str, *, loop: bool = False) -> Iterator[None]:
        """Write a head, and what follows below it, with names of its own."""
        self.emit(head)
        outer, before = self.names, len(self.lines)
        self.names = outer.inner()
        self.indent, self.blocks, self.loops = self.indent + 1, self.blocks + 1, self.loops + loop
        yield
        if len(self.lines) == before:
            self.emit("pass")
        self.indent, self.blocks, self.loops = self.indent - 1, self.blocks - 1, self.loops - loop
        for name, symbol in outer.vectors.items():  # a name that was bound anew may have another length now
            if self.names.vectors.get(name) != symbol:
                outer.vectors[name] = ""
        self.names = outer

    def body(self, most: int) -> None:
        """Between one and `most` statements."""
        for _ in range(self.choices.integer(1, most)):
            self.statement()

    def statement(self) -> None:
        """One statement of any kind."""
        room = self.budget - len(self.lines) > 2 and self.blocks < 4
        deep = self.loops > 2
        options = [
            (14, self.write_element),
            (10, self.write_slice),
            (6, self.write_all),
            (5, self.write_picked),
            (4, self.write_out),
            (6, self.new_vector),
            (7, self.new_view),
            (9, self.swap),
            (6, self.new_real),
            (7, self.accumulate),
            (4, self.count),
            (3, self.matrix),
            (14 if self.names.lists else 6, self.list),
            (5, self.object),
            (9 if self.helpers else 0, self.call),
            ((26 if self.loops else 6) * room, self.branch),
            (15 * (room and not deep), self.loop),
            (4 * room, self.attempt),
            (2, self.stop),
        ]
        for _ in range(4):
            if self.choices.weighted(options)():
                return

    # Writes

    def write_element(self) -> bool:
        """`u[i - 1] += ...`."""
        operator = self.choices.pick(OPERATORS)
        name, _ = self.vector(writable=True)
        if self.names.matrices and self.choices.chance(15):
            matrix = self.choices.pick(self.names.matrices)
            target = f"{matrix}[{grouped(self.integer())}, {grouped(self.integer())}]"
        elif self.names.objects and self.choices.chance(15):
            box = self.choices.pick(list(self.names.objects))
            target = f"{box}.data[{self.index(f'{box}.data')}]"
        else:
            target = f"{name}[{self.index(name)}]"
        value = self.real(2)
        return self.emit(f"{target} {operator} {f'np.cos({value})' if operator == '*=' else value}")

    def write_slice(self) -> bool:
        """`u[1:n] *= 0.5`, `u[1:-1] += np.sin(w)[1:-1]`, also through a view of the same memory."""
        target, symbol = self.view()
        operator = self.choices.pick(OPERATORS)
        if "[" not in target:
            target += "[:]"
        name = target.split("[", 1)[0]
        part = target[len(name) :]
        form = self.choices.integer(0, 3)
        if form == 0 or name not in self.names.vectors:
            value = self.real(1)
        elif form == 1:
            value = self.like(target, symbol, 1)
        else:
            value = f"{grouped(self.like(name, self.names.vectors[name], 2))}{part}"
        return self.emit(f"{target} {operator} {f'np.cos({value})' if operator == '*=' else value}")

    def write_all(self) -> bool:
        """`u *= ...`, `u[:] = ...`, `u[...] = ...`."""
        name, symbol = self.vector(writable=True)
        value = self.like(name, symbol)
        return self.emit(self.choices.pick([
            f"{name} += 0.4 * {grouped(value)}",
            f"{name} *= np.cos({value})",
            f"{name}[:] = {value}",
            f"{name}[...] = {value}",
            f"{name} -= 0.2 * {grouped(value)}",
            f"{name}[1:] += 0.3 * {name}[:-1]",
            f"{name}[::-1] += 0.3 * {grouped(value)}",
            f"{name}[:] = {grouped(value)}[::-1]",
            f"{name}[:-1], {name}[1:] = {name}[1:], {name}[:-1]",
        ]))  # fmt: skip

    def write_picked(self) -> bool:
        """Writes through masks and index arrays."""
        name, _ = self.vector(writable=True)
        integer = grouped(self.integer())
        value = self.real(1)
        if self.choices.chance(40):
            return self.emit(self.choices.pick([
                f"{name}[{name} > 0.2] = {value}",
                f"{name}[{name} < {value}] *= 0.6",
                f"{name}[{name}[::-1] > -0.1] += {value}",
                f"{name}[np.sin({name}) > 0.0] += {value}",
                f"{name}[:] = np.where({name} > 0.1, {name}, {value})",
            ]))  # fmt: skip
        pick = self.choices.pick([
            "np.array([0, 2, 1, 2])",
            "np.array([-1, 0, -2])",
            f"np.arange(3) - {integer}",
            f"(np.arange({name}.size) * 2 + 1) % {name}.size",
            f"np.array([{integer}, 1, -1])",
            f"np.arange({name}.size)[::-1]",
            f"[0, {integer}]",
        ])  # fmt: skip
        return self.emit(self.choices.pick([
            f"{name}[{pick}] = {value}",
            f"{name}[{pick}] += {value}",
            f"{name}[{pick}] *= np.cos({name}[{pick}])",
            f"np.add.at({name}, {pick}, {value})",
            f"{name}[{pick}] = 0.7 * {name}[{pick}][::-1]",
        ]))  # fmt: skip

    def write_out(self) -> bool:
        """Results of NumPy's functions that go into memory that exists."""
        name, symbol = self.vector(writable=True)
        other = self.operand(symbol)
        return self.emit(self.choices.pick([
            f"np.sin({name}, out={name})",
            f"np.multiply({name}, {other}, out={name})",
            f"np.add({name}[1:], {name}[:-1], out={name}[1:])",
            f"np.subtract({name}[::-1], 0.4 * {name}, {name}[:])",
            f"np.tanh({name}[::-1], out={name})",
            f"np.maximum({name}, {other}, out={name}[::-1])",
            f"np.cos({name}[{self.bound(name)}:], out={name}[{self.bound(name)}:])",
        ]))  # fmt: skip

    # Names

    def bind(self, symbol: str, text: str, beside: str = "") -> bool:
        """Bind a vector's name, and perhaps another one beside it; mostly one whose length stays."""
        free = [name for name in VECTORS if name not in self.names.vectors]
        same = [
            name for name, have in self.names.vectors.items()
            if have == symbol and name in VECTORS and name not in self.names.read_only
        ]  # fmt: skip
        if free and (not same or self.choices.chance(60)):
            name = free[0]
        elif same:
            name = self.choices.pick(same)
        else:
            return False
        self.names.vectors[name] = symbol
        return self.emit(f"{name}{', ' if beside else ''}{beside} = {text}")

    def new_vector(self) -> bool:
        """A fresh vector."""
        text, symbol = self.fresh()
        return self.bind(symbol, text)

    def new_view(self) -> bool:
        """A view or another name."""
        text, symbol = self.view()
        return self.bind(symbol, text)

    def swap(self) -> bool:
        """Names, elements or slices change places."""
        names = [name for name in self.names.vectors if name not in self.names.read_only]
        one = self.choices.pick(names)
        others = [name for name in names if name != one and self.names.vectors[name] == self.names.vectors[one]]
        if others and self.choices.chance(70):
            other = self.choices.pick(others)
            if self.choices.chance(15) and len(others) > 1:
                third = next(name for name in others if name != other)
                return self.emit(f"{one}, {other}, {third} = {other}, {third}, {one}")
            return self.emit(f"{one}, {other} = {other}, {one}")
        left, right = self.index(one), self.index(one)
        return self.emit(f"{one}[{left}], {one}[{right}] = {one}[{right}], {one}[{left}]")

    def new_real(self) -> bool:
        """A float with a name."""
        free = [name for name in REALS if name not in self.names.reals]
        name = free[0] if free else self.choices.pick([name for name in self.names.reals if name in REALS])
        text = self.real(2)
        if free:
            self.names.reals.append(name)
        return self.emit(f"{name} = {text} + 0.0")

    def accumulate(self) -> bool:
        """`s += ...`."""
        names = [name for name in self.names.reals if name in REALS]
        if not names:
            return self.new_real()
        name, value = self.choices.pick(names), self.real(2)
        return self.emit(self.choices.pick([
            f"{name} += {value}",
            f"{name} = 0.5 * {name} + {value}",
            f"{name} *= np.cos({value})",
            f"{name} -= 0.3 * {grouped(value)}",
        ]))  # fmt: skip

    def count(self) -> bool:
        """An integer, or a step of a machine whose states are integers."""
        free = [name for name in INTEGERS if name not in self.names.integers]
        if free and (len(free) == len(INTEGERS) or self.choices.chance(40)):
            text = self.integer()
            self.names.integers.append(free[0])
            return self.emit(f"{free[0]} = {text}")
        name = self.choices.pick([name for name in self.names.integers if name in INTEGERS] or [""])
        if not name:
            return False
        value = grouped(self.integer())
        return self.emit(self.choices.pick([
            f"{name} += 1",
            f"{name} -= 1",
            f"{name} = ({name} * 2 + {value}) % 5",
            f"{name} = {value} - {name} // 2",
            f"{name} = {name} + 1 if {self.condition()} else 0",
            f"{name} = int(np.sum({self.vector()[0]} > 0.1))",
            f"{name} = int(np.argmax({self.vector()[0]}))",
            f"{name} = len({self.vector()[0]}) - 1",
        ]))  # fmt: skip

    def matrix(self) -> bool:
        """A matrix or a write into one."""
        free = [name for name in MATRICES if name not in self.names.matrices]
        if (free and self.choices.chance(50)) or not self.names.matrices:
            name, symbol = self.vector("p")
            if not free or symbol != "p":
                return False
            self.names.matrices.append(free[0])
            text = self.choices.pick(["{0}[:, None] * {0}", "y[::-1]", "y.copy()", "y"]).format(name)
            return self.emit(f"{free[0]} = {text}")
        name = self.choices.pick(self.names.matrices)
        row, column, value = grouped(self.integer()), grouped(self.integer()), self.real(1)
        vector = self.operand("p")
        return self.emit(self.choices.pick([
            f"{name}[{row}] += {vector}",
            f"{name}[:, {column}] *= 0.7",
            f"{name}[{row}], {name}[{column}] = {name}[{column}], {name}[{row}]",
            f"{name}[1:, :] += 0.3 * {name}[:-1, :]",
            f"{name}[{row}:, {column}] -= {value}",
            f"{name}[::-1] *= np.cos({vector})",
            f"{name}[{row}, ::-1] = {vector}",
        ]))  # fmt: skip

    def list(self) -> bool:
        """A list that grows and shrinks."""
        if not self.names.lists:
            if self.blocks:
                return False
            text = self.real(1)
            self.names.lists.append("items")
            return self.emit(f"items = [{text} + 0.0]")
        value = self.real(1)
        return self.emit(self.choices.weighted([
            (6, f"items.append({value} + 0.0)"),
            (2, f"items[{grouped(self.integer())}] += {value}"),
            (2, f"items[-1] *= np.cos({value})"),
            (1, "items.pop()"),
            (1, f"items[len(items) - 1] = {value} + 0.0"),
        ]))  # fmt: skip

    def object(self) -> bool:
        """An object with an array: made, changed, or asked to change itself."""
        if not self.names.objects:
            if self.blocks or self.choices.chance(40):
                return False
            (text, symbol), scale = self.view(), self.real(1)
            self.names.objects["box"] = symbol
            return self.emit(f"box = Box({text}, {scale} + 0.0)")
        symbol = self.names.objects["box"]
        fitting = [name for name, have in self.names.vectors.items() if have == symbol and symbol]
        options = [
            (4, f"box.scale += 0.1 * {grouped(self.real(1))}"),
            (4, f"box.turn({self.integer()})"),
            (3, f"box.data *= np.cos({self.like('box.data', symbol, 1)})"),
            (2, f"box.data[{self.bound('box.data')}:] += box.scale"),
        ]
        if fitting:
            options.append((3, f"box.data = {self.choices.pick(fitting)}"))
            swapped = [name for name in fitting if name not in self.names.read_only]
            if swapped:
                name = self.choices.pick(swapped)
                options.append((3, f"box.data, {name} = {name}, box.data"))
        return self.emit(self.choices.weighted(options))

    def call(self) -> bool:
        """A helper, for its result or for what it does to its arguments."""
        name, helper = self.choices.pick(list(self.helpers.items()))
        texts, symbols = [], []
        for param in helper.params:
            if param in VECTORS:
                text, symbol = self.view()
                texts.append(text)
                symbols.append(symbol)
            elif param in INTEGERS:
                texts.append(self.integer())
            else:
                texts.append(f"{self.real(1)} + 0.0")
        text = f"{name}({', '.join(texts)})"
        symbol = symbols[0] if helper.gives == "same" and symbols else ""
        if helper.gives == "none":
            return self.emit(text)
        if helper.gives == "real":
            names = [name for name in self.names.reals if name in REALS]
            return self.emit(f"{self.choices.pick(names)} += {text}") if names else self.emit(text)
        if helper.gives == "both":
            names = [name for name in self.names.reals if name in REALS]
            return bool(names) and self.bind("", text, beside=self.choices.pick(names))
        return self.bind(symbol, text) if self.choices.chance(75) else self.emit(text)

    # Control

    def branch(self) -> bool:
        """`if`, with a way out of the loop more often than not."""
        leaving = self.choices.chance(60 if self.loops else 12)
        with self.block(f"if {self.condition()}:"):
            if not leaving or self.choices.chance(50):
                self.body(2)
            if leaving:
                self.leave()
        if self.choices.chance(20):
            with self.block(f"elif {self.condition()}:"):
                self.body(2)
        if self.choices.chance(35):
            with self.block("else:"):
                self.body(2)
        return True

    def leave(self) -> None:
        """`break`, `continue`, `return` or `raise`."""
        options = [(2, f"return {self.result}")] if self.result else []
        if self.loops:
            options += [(9, "break"), (7, "continue")]
        options.append((2, self.raising()))
        self.emit(self.choices.weighted(options))

    def raising(self) -> str:
        """A `raise` of one's own."""
        kind = self.choices.pick(self.exceptions)
        text = self.choices.pick(['"too far"', f'f"at {{{self.integer()}}}"', '"no"'])
        return f"raise {kind}({text})"

    def stop(self) -> bool:
        """An exception under a condition that seldom holds."""
        if self.choices.chance(35):
            return self.emit(f"assert {self.real(0)} < {self.choices.pick(['3.0', '1.5'])}, 'too large'")
        with self.block(f"if {self.real(0)} > {self.choices.pick(['1.2', '0.9', '2.0'])}:"):
            self.emit(self.raising())
        return True

    def attempt(self) -> bool:
        """`try` with a handler for what may well happen inside it."""
        kind = self.choices.pick(["IndexError", "ValueError", "(IndexError, ValueError)", "Stop", "Exception"])
        with self.block("try:"):
            self.body(2)
            if self.choices.chance(30):
                with self.block(f"if {self.condition()}:"):
                    self.emit(f"raise {'Stop' if kind == 'Stop' else 'ValueError'}('inside')")
        with self.block(f"except {kind}:"):
            self.body(1)
        if self.choices.chance(15):
            with self.block("else:"):
                self.body(1)
        if self.choices.chance(15):
            with self.block("finally:"):
                self.accumulate()
        return True

    def loop(self) -> bool:
        """A `for` or a `while`."""
        counter = next((name for name in COUNTERS if name not in self.names.counters), None)
        if counter is None:
            return False
        if self.choices.chance(22):
            return self.while_loop(counter)
        name, _ = self.vector()
        one, other = grouped(self.integer()), grouped(self.integer())
        ranges = [
            (6, f"{name}.size"), (4, self.trips()), (4, "5"), (3, f"1, {name}.size - 1"),
            (3, f"{name}.size - 1, -1, -1"),
            (2, f"{one}, {name}.size"), (3, f"{one} + 1, {name}.size"), (2, f"{one}, {other}"), (2, f"{one}"),
            (2, f"0, {name}.size, 2"), (2, f"{other}, -1, -1"), (1, "0"), (1, f"{name}.size - 2, {one}, -2"),
        ]  # fmt: skip
        bound = [counter]
        head = f"for {counter} in range({self.choices.weighted(ranges)}):"
        real = next((name for name in ("z", "q") if name not in self.names.reals), None)
        if real and self.choices.chance(18):
            bound = [real]
            head = f"for {real} in {name}{self.choices.pick(['', '[::-1]', '[1:]'])}:"
            if self.choices.chance(60):
                bound = [counter, real]
                head = f"for {counter}, {real} in enumerate({name}{self.choices.pick(['', '[::-1]'])}):"
        with self.block(head, loop=True):
            self.names.counters += [name for name in bound if name in COUNTERS]
            self.names.reals += [name for name in bound if name not in COUNTERS]
            self.body(4)
        if self.choices.chance(8):
            with self.block("else:"):
                self.body(1)
        return True

    def trips(self) -> str:
        """How often a loop may run: `n` where it is an argument."""
        return next((name for name in self.names.integers if name in ("n", "c")), "4")

    def while_loop(self, counter: str) -> bool:
        """A `while` that ends, whatever its body does."""
        condition = self.choices.pick([
            f"{counter} < {self.trips()}",
            f"{counter} < {self.vector()[0]}.size",
            f"{counter} < 6 and {self.real(0)} < 0.8",
            f"{counter} < 5",
            "True",
            f"{counter} < 7 and not {self.element()} > 0.9",
        ])  # fmt: skip
        self.emit(f"{counter} = {self.choices.pick(['0', '0', '1', '-1'])}")
        with self.block(f"while {condition}:", loop=True):
            first = condition == "True" or self.choices.chance(70)
            if first:
                self.emit(f"{counter} += 1")
            if condition == "True":
                with self.block(f"if {counter} > {self.choices.pick([self.trips(), '4', '5'])}:"):
                    self.emit("break")
            self.names.counters.append(counter)
            if not first:
                self.steps(3)
                self.emit(f"{counter} += 1")
            else:
                self.body(4)
        return True

    def steps(self, most: int) -> None:
        """Statements that cannot skip the line after them."""
        held, self.loops = self.loops, 0
        self.body(most)
        self.loops = held
