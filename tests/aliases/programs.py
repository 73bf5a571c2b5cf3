"""Random programs that write to arrays by several names: views in containers, ways out of loops, exceptions midway.

python -m tests.aliases.programs 0 300 python        seeds, and backends: each derivative against exact slopes
"""

from __future__ import annotations

from tests.aliases.check import main
from tests.aliases.expressions import Expressions, Shape

HEAD = """
import numpy as np


class Stop(Exception):
    pass


class Box:
    def __init__(self, data, other=None):
        self.data = data
        self.other = data if other is None else other
        self.count = 0

    def push(self, v):
        self.data[self.count % len(self.data)] += v
        self.count += 1
        return self.data

    @property
    def tail(self):
        return self.data[1:]

    def __getitem__(self, i):
        return self.other[i]

    def __setitem__(self, i, v):
        self.other[i] = v


def halved(v):
    v *= 0.5
    return v[::-1]


def bumped(v, by=0.3, *, at=0):
    v[at] += by
    return v[at] * by


def flipped(v):
    v[0], v[-1] = v[-1], v[0]


def rows_of(v):
    for i in range(len(v)):
        v[i] = np.sin(v[i]) + 0.1 * i
        yield v[i]


def both(v, w):
    v += 0.2 * w[0]
    w[-1] = v[0]
    return w, v


def guarded(v, limit):
    try:
        for i in range(len(v)):
            v[i] = 0.9 * v[i] + 0.1
            if v[i] > limit:
                raise Stop(i)
    except Stop:
        v[0] -= 0.25
        return v[0]
    else:
        v[-1] += 0.05
    finally:
        v[0] *= 1.1
    return v[-1]


def first_above(v, limit):
    for i, e in enumerate(v):
        if e > limit:
            v[i] = limit
            return i
        v[i] = e + 0.1
    return -1


"""


class Writer(Expressions):
    """The text of a function `f(a, m, b, x, k)` of arrays of 6, (3, 5) and 3 numbers, of a number and an int."""

    head = HEAD
    size = (5, 11)  # statements

    # Statements --------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        ways = [
            (12, self.write),
            (4, self.new_array),
            (4, self.rebind),
            (3, self.new_box),
            (4, self.assign),
            (5, self.special),
        ]
        if depth < 4:
            ways += [(4, self.loop), (3, self.branch), (2, self.attempt), (1, self.local)]
        weights, options = zip(*ways, strict=True)
        self.draw.choices(options, weights)[0](depth)

    def assign(self, depth: int) -> None:
        if depth == 1 and self.chance(0.5):
            new = self.name("v")
            text = self.number(2)
            self.add(f"{new} = {text}", depth=depth)
            self.numbers.append(new)
        else:
            target = self.pick([n for n in self.numbers if "." not in n])
            self.add(f"{target} {self.pick(('=', '+=', '-='))} {self.number(2)}", depth=depth)

    def shape(self) -> Shape:
        return self.pick([*self.arrays.values(), (4,), (2,), (6,), (2, 3)])

    def new_array(self, depth: int) -> None:
        if depth > 1:
            self.rebind(depth)
            return
        new, shape = self.name("u"), self.shape()
        text = self.view(shape) if self.chance(0.65) else self.array(shape)
        if self.chance(0.1):
            other = self.name("u")
            self.add(f"{new} = {other} = {text}", depth=depth)
            self.arrays[other] = shape
            self.bindable.add(other)
        else:
            self.add(f"{new} = {text}", depth=depth)
        self.arrays[new] = shape
        self.bindable.add(new)

    def rebind(self, depth: int) -> None:
        free = [text for text in self.arrays if text in self.bindable]
        if not free:
            self.write(depth)
            return
        target = self.pick(free)
        others = [text for text in free if self.arrays[text] == self.arrays[target] and text != target]
        if others and self.chance(0.25):
            other = self.pick(others)
            self.add(f"{target}, {other} = {other}, {target}", depth=depth)
        else:
            self.add(f"{target} = {self.array(self.arrays[target], self.pick((0, 0, 1)))}", depth=depth)

    def new_box(self, depth: int) -> None:
        """Arrays in an object, a dict, a list or a tuple."""
        if depth > 1:
            self.write(depth)
            return
        shape = self.shape()
        one, other = self.view(shape), self.array(shape, self.pick((0, 1)))
        form = self.pick(("box", "dict", "list", "tuple", "nested"))
        new = self.name({"box": "o", "dict": "d", "list": "q", "tuple": "t", "nested": "n"}[form])
        if form == "box":
            self.add(f"{new} = Box({one}{self.pick(('', f', {other}'))})", depth=depth)
            places = [f"{new}.data", f"{new}.other"]
            self.boxes.append(new)
        elif form == "dict":
            self.add(f'{new} = {{"u": {one}, "w": {other}}}', depth=depth)
            places = [f'{new}["u"]', f'{new}["w"]']
        elif form == "list":
            self.add(f"{new} = [{one}, {other}]", depth=depth)
            if self.chance(0.3):
                self.add(f"{new}.append({self.view(shape)})", depth=depth)
            places = [f"{new}[0]", f"{new}[-1]", f"{new}[k % len({new})]"]
        elif form == "tuple":
            self.add(f"{new} = ({one}, {other})", depth=depth)
            self.arrays |= {f"{new}[0]": shape, f"{new}[1]": shape}
            return
        else:
            self.add(f'{new} = {{"in": [({one}, 1), {{"w": {other}}}]}}', depth=depth)
            self.arrays[f'{new}["in"][0][0]'] = shape
            places = [f'{new}["in"][1]["w"]']
        self.arrays |= dict.fromkeys(places, shape)
        self.bindable |= set(places)

    def target(self) -> tuple[str, Shape]:
        """An array that is written to, or a part of one."""
        text, shape = self.pick(list(self.arrays.items()))
        if len(shape) == 2:
            ways = [
                (text + "[:]", shape),
                (f"{text}[{self.index(shape[0], text)}]", shape[1:]),
                (f"{text}[:, {self.index(shape[1])}]", shape[:1]),
                (f"{text}.T[{self.index(shape[1])}]", shape[:1]),
                (f"{text}[1:, ::-1]", (shape[0] - 1, shape[1])),
            ]
            return self.pick([way for way in ways if min(way[1]) > 0])
        length = shape[0]
        part = self.slices(length, want := self.draw.randint(1, length)) or ":"
        return self.pick(
            [(f"{text}[:]", shape), (f"{text}[::-1]", shape), (f"{text}[{part}]", (want,) if part != ":" else shape)]
        )

    def write(self, depth: int) -> None:
        form = self.pick(("element", "element", "part", "part", "picked", "mask", "whole", "out", "swap", "call"))
        getattr(self, f"_write_{form}")(depth)

    def _write_element(self, depth: int) -> None:
        target, operator = self.element(), self.pick(("=", "+=", "*=", "-="))
        if self.chance(0.1):
            self.add(f"{target} = {self.element()} = {self.number(1)}", depth=depth)
        else:
            self.add(f"{target} {operator} {self.number(1)}", depth=depth)

    def _write_part(self, depth: int) -> None:
        target, shape = self.target()
        value = self.array(shape) if self.chance(0.7) else self.number(1)
        self.add(f"{target} {self.pick(('=', '=', '+=', '*=', '-='))} {value}", depth=depth)

    def _write_picked(self, depth: int) -> None:
        text, shape = self.pick(list(self.arrays.items()))
        picks = self.picks(shape[0])
        value = self.array(shape) if self.chance(0.5) else self.number(1)
        ways = [f"{text}[{picks}] = {value}", f"{text}[{picks}] += {value}", f"np.add.at({text}, {picks}, {value})"]
        i, j = self.index(shape[0]), self.index(shape[0])
        ways += [f"{text}[[{i}, {j}]] = {text}[[{j}, {i}]]"] * 2
        ways += [f"np.put({text}, {picks}, {self.number(0)})", f"{text}[{picks}] *= 0.8"]
        self.add(self.pick(ways), depth=depth)

    def _write_mask(self, depth: int) -> None:
        text, shape = self.pick(list(self.arrays.items()))
        number, value = self.number(0), self.array(shape)
        mask = self.pick(
            (f"{text} > {number}", f"{self.view(shape)} < 0.6", f"({text} > 0.2) & ({self.view(shape)} < 0.9)")
        )
        ways = [f"{text}[{mask}] {self.pick(('=', '+=', '*='))} {number}", f"{text}[{mask}] = ({value})[{mask}]"]
        ways += [f"np.copyto({text}, {value}, where={mask})", f"np.putmask({text}, {mask}, {number})"]
        ways += [
            f"{text}[:] = np.where({mask}, {text}, {value})",
            f"np.multiply({text}, 0.5, out={text}, where={mask})",
        ]
        ways += [f"np.sin({value}, out={text}, where={mask})"]
        self.add(self.pick(ways), depth=depth)

    def _write_whole(self, depth: int) -> None:
        text, shape = self.pick(list(self.arrays.items()))
        value, number = self.array(shape), self.number(0)
        ways = [f"{text} += {value}", f"{text} *= {value}", f"{text} -= 0.3 * {number}", f"{text}.fill({number})"]
        ways += [
            f"{text}.sort()",
            f"{text}[...] = {value}",
            f"{text}[:-1] += 0.5 * {text}[1:]",
            f"{text}[1:] = {text}[:-1]",
        ]
        if self.inner and "[" not in text and "." not in text:  # the name would be the inner function's own
            ways = [way.replace(text, f"{text}[:]", 1) for way in ways[:3]]
        ways += [
            f"{text}.flat[{self.index(shape[0])}] = {number}",
            f"{text}[::-1] *= 0.7",
            f"np.copyto({text}, {value})",
        ]
        self.add(self.pick(ways), depth=depth)

    def _write_out(self, depth: int) -> None:
        text, shape = self.pick(list(self.arrays.items()))
        value, other = self.view(shape), self.view(shape)
        ways = [
            f"np.{self.pick(('add', 'multiply', 'subtract'))}({value}, {other}, out={text})",
            f"np.sin({value}, out={text})",
        ]
        ways += [
            f"np.cumsum({value}, axis=0, out={text})",
            f"np.tanh({value}, {text})",
            f"np.cos({text}[::-1], out={text})",
        ]
        if len(shape) == 1:
            ways += [
                f"np.add({text}[1:], {text}[:-1], out={text}[:-1])",
                f"np.multiply({text}[:-1], 0.6, out={text}[1:])",
            ]
        self.add(self.pick(ways), depth=depth)

    def _write_swap(self, depth: int) -> None:
        one, other = self.element(), self.element()
        target, shape = self.target()
        ways = [f"{one}, {other} = {other}, {one}", f"{one}, {other} = {self.number(0)}, {self.number(1)}"]
        ways += [f"{target}, {one} = {self.view(shape)}, {self.number(0)}"]
        self.add(self.pick(ways), depth=depth)

    def _write_call(self, depth: int) -> None:
        text, shape = self.pick(list(self.arrays.items()))
        ways = [f"halved({text})[{self.index(shape[0])}] += 0.2"]
        if len(shape) == 1:
            ways += [f"flipped({text})", f"bumped({text}, {self.number(0)}, at={self.index(shape[0])})"]
            ways += [f"both({text}, {self.view(shape)})[0][{self.index(shape[0])}] *= 0.9"]
            ways += [f"x = x + guarded({self.view(shape)}, 0.9)", f"x -= sum(rows_of({text})) * 0.1"]
            ways += [f"x = x + 0.1 * first_above({text}, {self.pick((0.5, 0.9, 1.5))})"]
        for o in self.boxes:
            if len(self.arrays[f"{o}.data"]) == 1:
                ways += [
                    f"{o}.push({self.number(0)})[0] *= 0.9",
                    f"{o}[{self.index(2)}] = {self.number(0)}",
                    f"{o}.tail[:] *= {self.number(0)}",
                ]
                ways += [f"{o}[-1] += {self.number(0)}"]
        self.add(self.pick(ways), depth=depth)

    def special(self, depth: int) -> None:
        """Idioms of several lines."""
        text, shape = self.pick(list(self.arrays.items()))
        number = self.number(0)
        i = self.name("i")
        ways = [[f"if (w := {number}) > 0.5:", f"    {text}[0] = w"]]
        if len(shape) == 1:
            ways += [
                [
                    f"first, *rest = {text}",
                    f"x = x + 0.1 * first * rest[-1] - {self.pick(('rest[0]', 'len(rest)', 'sum(rest)'))} * 0.1",
                ],
                [
                    f"match {self.integer()} % 3:",
                    "    case 0:",
                    f"        {text}[0] += {number}",
                    "    case 1 | 5:",
                    f"        {text} *= 0.9",
                    "    case other:",
                    f"        {text}[-1] = 0.1 * other",
                ],
                [
                    f"{i} = 0",
                    f"while {i} < len({text}):",
                    f"    if {text}[{i}] > {self.pick((0.5, 0.9))}:",
                    f"        {text}[{i}] *= 0.5",
                    f"        {self.pick(('break', f'{i} += 2', 'x = x * 0.9'))}",
                    f"    {i} += 1",
                    "else:",
                    f"    {text}[-1] += {number}",
                ],
                [
                    f"for {i} in range({self.pick(('k', 'len(' + text + ')', '4'))}):",
                    f"    if {text}[{i} % {shape[0]}] > {self.pick((0.7, 1.1))}:",
                    f"        {self.pick(('break', 'continue'))}",
                    f"    {text}[{i} % {shape[0]}] += {number}",
                    "else:",
                    "    x = x * 0.9",
                    f"x = x + 0.01 * {i}",
                ],
                [
                    f"for {i} in range(3):",
                    "    for j in range(2):",
                    f"        {text}[{i} % {shape[0]}] += 0.1 * {number}",
                    f"        if {text}[j] > {self.pick((0.6, 1.4, 2.5))}:",
                    f"            return np.sum({text}) * x + 0.1 * j",
                ],
                [
                    f"{text}[0] = 0.5 * {text}[0]",
                    f"for {i}, w in enumerate({text}):",
                    f"    {text}[({i} + 1) % {shape[0]}] = w + 0.1",
                ],
            ]
        else:
            ways += [
                [f"for row in {text}:", f"    row *= {number}", "    row[0] += 0.1"],
                [
                    f"for {i}, row in enumerate({text}.T):",
                    f"    row[:] = row[::-1] * {number}",
                    f"    x = x + 0.1 * {i} * row[0]",
                ],
                [f"for {i} in range({shape[0]}):", f"    {text}[{i}] = {text}[{i} - 1] + {number}"],
                [f"row, *others = {text}", f"row += {number}", "x = x + 0.1 * np.sum(others[0])"],
            ]
        self.add(*self.pick(ways), depth=depth)

    def loop(self, depth: int) -> None:
        i = self.name("i")
        heads: list[tuple[str, list[str], list[str], dict[str, Shape]]] = [
            (f"for {i} in range(k):", [], [i], {}),
            (f"for {i} in range(3):", [], [i], {}),
            (f"for {i} in range(2, -1, -1):", [], [i], {}),
        ]
        w = self.name("w")
        for text, shape in self.arrays.items():
            if len(shape) == 1:
                heads += [(f"for {w} in {text}:", [w], [], {}), (f"for {i}, {w} in enumerate({text}):", [w], [i], {})]
                heads += [
                    (f"for {i} in range(len({text})):", [], [i], {}),
                    (f"for {w} in reversed({text}):", [w], [], {}),
                ]
                heads += [(f"for {w} in rows_of({text}):", [w], [], {})]
            else:
                heads += [
                    (f"for {w} in {text}:", [], [], {w: shape[1:]}),
                    (f"for {i}, {w} in enumerate({text}):", [], [i], {w: shape[1:]}),
                ]
        for text in {t.partition("[")[0] for t in self.arrays if t.startswith(("q", "t")) and t.endswith("[0]")}:
            heads += [(f"for {w} in {text}:", [], [], {w: self.arrays[f"{text}[0]"]})]
        if self.chance(0.3):
            self.add(f"{i} = 0", depth=depth)
            head, numbers, counters, arrays = (f"while {i} < {self.pick(('3', 'k'))}:", [], [i], {})
        else:
            head, numbers, counters, arrays = self.pick(heads)
        self.add(head, depth=depth)
        before = (list(self.numbers), list(self.counters), dict(self.arrays))
        self.numbers += numbers
        self.counters += counters
        self.arrays |= arrays
        self.loops += 1
        if head.startswith("while"):
            self.add(f"{i} += 1", depth=depth + 1)
        self.body(depth + 1)
        if self.chance(0.25):
            self.add(f"if {self.number(0)} > {self.pick((0.8, 1.2))}:", depth=depth + 1)
            self.add(self.pick(("break", "continue", "break", f"return x * {self.number(0)}")), depth=depth + 2)
            self.body(depth + 1)
        self.loops -= 1
        self.numbers, self.counters, self.arrays = before
        if self.chance(0.15):
            self.add("else:", depth=depth)
            self.body(depth + 1)

    def branch(self, depth: int) -> None:
        self.add(f"if {self.number(0)} > {self.number(0)}:", depth=depth)
        self.body(depth + 1)
        if self.chance(0.5):
            self.add("else:", depth=depth)
            self.body(depth + 1)

    def attempt(self, depth: int) -> None:
        """Something that may raise after some writes, which must stay."""
        self.add("try:", depth=depth)
        self.body(depth + 1)
        self.add(f"if {self.number(0)} > {self.pick((0.4, 0.8))}:", depth=depth + 1)
        self.add(self.pick(("raise Stop(1)", f'raise ValueError("above {self.made}")')), depth=depth + 2)
        self.body(depth + 1)
        caught = self.pick(("Stop", "ValueError", "(Stop, ValueError)", "Exception"))
        self.add(f"except {caught}:" if self.chance(0.7) else f"except {caught} as problem:", depth=depth)
        self.body(depth + 1)
        if self.chance(0.2):
            self.add("else:", depth=depth)
            self.body(depth + 1)
        if self.chance(0.3):
            self.add("finally:", depth=depth)
            self.body(depth + 1)

    def local(self, depth: int) -> None:
        """A function of its own that sees, writes and rebinds what is around it."""
        g = self.name("g")
        if depth == 1 and self.chance(0.6):
            self.add(f"def {g}(s):", "    nonlocal x", depth=depth)
            before = list(self.numbers)
            self.numbers.append("s")
            (bindable, self.bindable), self.inner = (self.bindable, set()), True
            for _ in range(self.draw.randint(1, 2)):
                self.write(depth + 1)
            self.numbers, self.bindable, self.inner = before, bindable, False
            self.add("    x = x * 0.9 + 0.1 * s", f"    return {self.number(1)}", depth=depth)
            self.add(f"x = x + 0.1 * {g}({self.number(0)})", f"{self.element()} += 0.2 * {g}(x)", depth=depth)
            return
        i = self.name("i")
        self.add(f"{g} = [lambda s: s * {self.number(0)} + {i} for {i} in range(3)]", depth=depth)
        self.add(f"{self.element()} = 0.1 * {g}[{self.pick((0, 1, '-1'))}]({self.number(0)})", depth=depth)

    def body(self, depth: int) -> None:
        for _ in range(self.draw.randint(1, 3)):
            self.statement(depth)

    def text(self) -> str:
        self.add("def f(a, m, b, x, k):", depth=0)
        for _ in range(self.draw.randint(*self.size)):
            self.statement(1)
        weights = [
            f"np.sum({text} * np.sin(np.arange({text}.size).reshape({text}.shape) + {place}.0))"
            for place, text in enumerate(self.arrays)
        ]
        self.add("return " + " + ".join(f"np.tanh({term})" for term in weights + self.numbers))
        return HEAD + "\n".join(self.lines) + "\n"


if __name__ == "__main__":
    main(Writer)
