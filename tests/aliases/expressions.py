"""Expressions of random programs over arrays: numbers, arrays of a shape, and views that are written to."""

from __future__ import annotations

from tests.containers.writing import Lines

Shape = tuple[int, ...]


class Expressions(Lines):
    """Numbers and arrays of shapes, of what is in scope; and views, by every way NumPy has."""

    verbs = False
    shapes = {"a": (6,), "m": (3, 5), "b": (3,)}  # noqa: RUF012 - read only

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.arrays: dict[str, Shape] = dict(self.shapes)  # text: shape
        self.bindable: set[str] = set()  # arrays that may be bound anew
        self.numbers = ["x"]
        self.counters: list[str] = []
        self.boxes: list[str] = []
        self.loops = 0
        self.inner = False
        self.raises = self.draw.random() < 0.15

    # Integers and numbers ----------------------------------------------------------------------------------------

    def integer(self) -> str:
        return self.pick([*self.counters * 3, "k", "1", "0", "2"])

    def index(self, length: int, text: str = "") -> str:
        ways = [
            "0",
            "-1",
            f"{self.integer()} % {length}",
            f"{self.integer()} % {length}",
            str(length // 2),
            f"-{length}",
        ]
        if text:
            ways += [f"len({text}) - 1", f"{self.integer()} % {text}.shape[0]"]
        if self.raises and self.chance(0.1):
            ways += [f"{self.integer()} + {length - 2}"] * 3
        return self.pick(ways)

    def element(self) -> str:
        text, shape = self.pick(list(self.arrays.items()))
        if len(shape) == 1:
            return f"{text}[{self.index(shape[0], text)}]"
        return f"{text}[{self.index(shape[0], text)}, {self.index(shape[1])}]"

    def number(self, depth: int = 1) -> str:
        if depth == 0 or self.chance(0.3):
            ways = [*self.numbers, self.element(), self.element(), self.pick(("0.3", "0.7", "1.2"))]
            ways += [f"0.1 * {c}" for c in self.counters] + [f"{o}.count * 0.1" for o in self.boxes]
            return self.pick(ways)
        one, other = self.number(depth - 1), self.number(depth - 1)
        text, shape = self.pick(list(self.arrays.items()))
        ways = [
            f"{one} * {other}",
            f"{one} - 0.5 * {other}",
            f"np.sin({one} + {other})",
            f"np.tanh({one})",
            f"{one} / (1.5 + {other} ** 2)",
            f"({one} if {other} > 0.4 else {other})",
            f"abs({one})",
            f"0.2 * np.sum({text})",
            f"{text}.mean()",
            f"np.max({text})",
            f"0.1 * np.sum({text} * {text})",
            f"min({one}, 0.8)",
            f"np.where({one} > 0.5, {other}, 0.2)[()]",
            f"np.exp(-{one} ** 2)",
            f"np.sqrt(1.0 + {one} ** 2)",
            f"0.3 * sum(v * v for v in {text}.ravel())",
            f"np.prod(np.cos({text}))",
            f"({one} % 0.7)",
            f"np.tanh({text}.ravel()).cumsum()[-1]",
        ]
        if len(shape) == 1:
            ways += [f"0.2 * {text} @ {text}[::-1]", f"np.dot({text}, {self.array(shape, 0)}) * 0.2", f"sum({text})"]
            ways += [f"np.sort({text})[{self.index(shape[0])}]", f"sorted({text})[0]", f"max({text})"]
            ways += [f"{text}[np.argmax({text})]", f"np.add.reduce({text}[{self.index(shape[0])}:])"]
            if self.loops < 2:
                ways += [f"bumped({text}, {one})", f"guarded({text}, {self.pick((0.4, 0.8))})"]
        return self.pick(ways)

    # Arrays ------------------------------------------------------------------------------------------------------

    def slices(self, have: int, want: int) -> str | None:
        """A slice of one axis of a length that has another one."""
        starts = [
            (start, stop, step)
            for step in (1, 2, -1, -2)
            for start in (None, *range(have))
            for stop in (None, *range(have + 1))
            if len(range(have)[start:stop:step]) == want
        ]
        if not starts:
            return None
        start, stop, step = self.pick(starts)
        write = lambda at: (
            "" if at is None else self.pick((str(at), str(at), str(at - have) if 0 < at < have else str(at)))
        )
        return f"{write(start)}:{write(stop)}" + (f":{step}" if step != 1 else "")

    def view(self, shape: Shape) -> str:
        """A view of an array in scope that has a shape, or a new array."""
        ways = []
        for text, have in self.arrays.items():
            if have == shape:
                ways += [text, text, f"{text}[:]", f"{text}[...]", f"{text}[::-1]", f"{text}.view()"]
                ways += [f"np.asarray({text})"]
            if len(have) == 2 and have[::-1] == shape:
                ways += [f"{text}.T"] * 3
            if len(have) == len(shape) == 1 and have != shape and (part := self.slices(have[0], shape[0])):
                ways += [f"{text}[{part}]"] * 2
            if len(have) == 2 and len(shape) == 1:
                if part := self.slices(have[1], shape[0]):
                    ways += [f"{text}[{self.index(have[0], text)}, {part}]"] * 2
                if have[1] == shape[0]:
                    ways += [f"{text}[{self.index(have[0], text)}]"] * 2
                if part := self.slices(have[0], shape[0]):
                    ways += [f"{text}[{part}, {self.index(have[1])}]", f"{text}.T[{self.index(have[1])}, {part}]"]
                if shape[0] == min(have):
                    ways += [f"np.diagonal({text}).copy()", f"np.diag({text})"]
            if len(have) == len(shape) == 2 and have != shape:
                one, other = self.slices(have[0], shape[0]), self.slices(have[1], shape[1])
                ways += [f"{text}[{one}, {other}]"] * 2 if one and other else []
            size = have[0] * (have[1] if len(have) == 2 else 1)
            if have != shape and size == shape[0] * (shape[1] if len(shape) == 2 else 1):
                one = str(shape) if len(shape) == 2 else "-1"
                ways += [f"{text}.reshape({one})", f"{text}.reshape({one})", f"np.reshape({text}, {shape})"]
                if len(shape) == 1:
                    ways += [f"{text}.ravel()", f"{text}.flatten()", f"{text}.T.ravel()", f"{text}.T.reshape(-1)"]
        ways += [
            f"{o}.{way}"
            for o in self.boxes
            for way in ("data", "other", "push(0.1)")
            if self.arrays.get(f"{o}.{way}") == shape
        ]
        if not ways or self.chance(0.05):
            return self.fresh(shape)
        return self.pick(ways)

    def fresh(self, shape: Shape) -> str:
        size = shape[0] if len(shape) == 1 else shape
        ways = [f"np.zeros({size})", f"np.full({size}, {self.number(0)})", f"np.ones({size})"]
        if len(shape) == 1:
            ways += [
                f"np.array([{', '.join(self.number(0) for _ in range(shape[0]))}])",
                f"np.zeros({size}) + 0.2 * np.arange({size})",
            ]
            ways += [f"np.array([{self.number(0)} * i for i in range({size})])", f"np.linspace(0.0, 1.0, {size})"]
        return self.pick(ways)

    def array(self, shape: Shape, depth: int = 1) -> str:
        """An expression of this shape: a view or what is computed."""
        if depth == 0 or self.chance(0.3):
            return self.view(shape)
        one, other = (f"({self.array(shape, depth - 1)})" if depth > 1 else self.view(shape) for _ in range(2))
        number = self.number(0)
        ways = [
            f"{number} * {one}",
            f"{one} + {other}",
            f"{one} * {other}",
            f"np.sin({one})",
            f"np.tanh({one} - {other})",
            f"np.where({one} > {self.pick((0.3, number))}, {other}, {number})",
            f"np.maximum({one}, {other})",
            f"-{one}",
            f"{one}.copy()",
            f"np.minimum({one}, {number})",
            f"np.cumsum({one}, axis=-1)",
            f"np.roll({one}, {self.integer()}, axis=0)",
            f"np.flip({one})",
            f"np.sort({one}, axis=-1)",
            f"{one}[{self.picks(shape[0])}]",
            f"np.abs({one})",
            f"np.clip({one}, 0.1, {self.pick((0.9, number))})",
            f"np.add({one}, {other})",
            f"{one} / (1.5 + {other} ** 2)",
            f"np.concatenate([{one}[:1], {other}[1:]])",
            f"np.exp(-{one} ** 2)",
            f"halved({one}.copy())",
        ]
        if len(shape) == 1:
            ways += [
                f"np.array([v * {number} for v in {one}])",
                f"{one}[np.argsort({other})]",
                f"np.add.accumulate({one})",
            ]
            ways += [f"np.array(sorted({one}))", f"np.array([u + v for u, v in zip({one}, {other})])"]
            ways += [f"np.cumprod(np.cos({one}))", f"np.array(list(map(lambda v: v * {number}, {one})))"]
            ways += [
                f"np.mean({text}, axis={1 - axis})"
                for text, have in self.arrays.items()
                if len(have) == 2
                for axis in (0, 1)
                if have[axis] == shape[0]
            ]
            ways += [
                f"0.3 * {text} @ {self.view((have[1],))}"
                for text, have in self.arrays.items()
                if len(have) == 2 and have[0] == shape[0]
            ]
        else:
            row, column = self.view(shape[1:]), self.view(shape[:1])
            ways += [
                f"{one} + {row}",
                f"{one} * {column}[:, None]",
                f"np.outer({column}, {row})",
                f"np.add.outer({column}, {row})",
            ]
            ways += [f"{one} - {one}.mean(axis=0)", f"{one} * np.max({other}, axis=1, keepdims=True)"]
            ways += [f"np.stack([{', '.join(self.view(shape[1:]) for _ in range(shape[0]))}])"] if shape[0] < 4 else []
        return self.pick(ways)

    def picks(self, length: int) -> str:
        """An array of indices along an axis that keeps the length; indices may come twice."""
        some = [self.draw.randrange(-length, length) for _ in range(length)]
        ways = [
            str(some),
            f"np.array({some})",
            f"np.arange({length})[::-1]",
            f"(np.arange({length}) * 2 + {self.integer()}) % {length}",
        ]
        return self.pick(ways)
