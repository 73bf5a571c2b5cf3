"""Random smooth expressions over the names in scope, right in shape and range by construction.

If every name is bounded by about 2, so is each expression: sums have coefficients, products are damped inside loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import combinations

from .choices import Choices
from .scope import Array, Function, Int, Real, Scope

Shape = tuple[int, ...]
Way = Callable[[], str]


def wrap(text: str) -> str:
    """`text` in parentheses, unless it binds as tightly as a name."""
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and char == " ":
            return f"({text})"
    return f"({text})" if text.startswith("-") else text


def shape_text(shape: Shape) -> str:
    """`shape` as it is passed to `np.zeros` or `reshape`."""
    return str(shape[0]) if len(shape) == 1 else str(shape)


def fits(have: Shape, want: Shape) -> bool:
    """Whether a basic subscript takes an array of shape `want` from one of shape `have`."""
    return any(all(map(int.__ge__, kept, want)) for kept in combinations(have, len(want)))


@lru_cache
def slices(length: int, wanted: int) -> tuple[str, ...]:
    """Slices that take `wanted` of `length` elements, plain ones first."""
    ends = [None, *range(length + 1), *range(-length, 0)]
    found = []
    for step in (None, 2, -1, 3, -2):
        for start in ends:
            for stop in ends:
                taken = range(*slice(start, stop, step).indices(length))
                if len(taken) == wanted:
                    text = f"{'' if start is None else start}:{'' if stop is None else stop}"
                    found.append(text if step is None else f"{text}:{step}")
    return tuple(found)


class Expressions:
    """Draws expressions for the scope `self.scope`."""

    def __init__(self, choices: Choices, scope: Scope) -> None:
        """Start in `scope`."""
        self.choices = choices
        self.scope = scope

    # Integers, indices and slices

    def size(self, length: int) -> str:
        """An expression that is `length`, often through the shape of an array."""
        options = [(1, str(length))]
        for name, kind in self.scope.arrays():
            if kind.shape == (length,):
                options += [(2, f"{name}.size"), (1, f"len({name})")]
            else:
                options += [(1, f"{name}.shape[{axis}]") for axis, n in enumerate(kind.shape) if n == length]
        options += [(2, name) for name, kind in self.scope.ints() if kind.low == kind.high == length]
        return self.choices.weighted(options[:12])

    def index(self, length: int) -> str:
        """An index into a dimension of `length`, possibly negative."""
        options = [(1, "low"), (1, "high")]
        for name, kind in self.scope.ints():
            for shift in (0, -1, 1):
                if -length <= kind.low + shift and kind.high + shift < length:
                    text = name if shift == 0 else f"{name} {'-' if shift < 0 else '+'} 1"
                    options.append((6 if shift == 0 else 3, text))
            options += [(1, f"({name} + shift) % {length}"), (1, f"{name} % {length} - {length}")]
        text = self.choices.weighted(options)
        if text == "low":
            return str(self.choices.integer(0, length - 1))
        if text == "high":
            return str(-self.choices.integer(1, length))
        return text.replace("shift", str(self.choices.integer(1, 3))) if "shift" in text else text

    def int_value(self) -> tuple[str, Int]:
        """A small integer expression with its range."""
        ints = self.scope.ints()
        if not ints:
            literal = self.choices.integer(0, 3)
            return str(literal), Int(literal, literal)
        name, kind = self.choices.pick(ints)
        form = self.choices.integer(0, 3)
        if form == 0:
            return name, kind
        other, other_kind = self.choices.pick(ints)
        if form == 1:
            return f"{name} + {other}", Int(kind.low + other_kind.low, kind.high + other_kind.high)
        modulus = self.choices.integer(2, 4)
        if form == 2:
            return f"({name} + {self.choices.integer(1, 3)}) % {modulus}", Int(0, modulus - 1)
        low, high = kind.low * modulus - other_kind.high, kind.high * modulus - other_kind.low
        return f"({name} * {modulus} - {other}) // 2", Int(low // 2, high // 2)

    def subscript(self, have: Shape, want: Shape, *, plain: int = 55) -> str | None:
        """Text inside brackets that takes `want` from an array of shape `have`, or None when there is none."""
        ways = [
            kept
            for kept in combinations(range(len(have)), len(want))
            if all(have[axis] >= length for axis, length in zip(kept, want, strict=True))
        ]
        if not ways:
            return None
        kept = self.choices.pick(ways)
        parts: list[str] = []
        for axis, length in enumerate(have):
            if axis not in kept:
                parts.append(self.index(length))
            elif want[kept.index(axis)] == length and self.choices.integer(0, 99) < plain:
                parts.append(":")
            else:
                options = slices(length, want[kept.index(axis)])
                simple = max(1, len(options) // 3)
                parts.append(self.choices.pick(options[:simple] if self.choices.chance(60) else options))
        while len(parts) > 1 and parts[-1] == ":" and self.choices.chance(60):
            parts.pop()
        if len(parts) > 1 and parts[0] == ":" and len(kept) > 1 and self.choices.chance(30):
            parts[0] = "..."
        return ", ".join(parts)

    def element(self) -> str | None:
        """An element of an array in scope."""
        arrays = self.scope.arrays()
        if not arrays:
            return None
        name, kind = self.choices.pick(arrays)
        return f"{name}[{self.subscript(kind.shape, ())}]"

    # Conditions

    def condition(self) -> str:
        """A condition on integers, or on floats that are no near-tie for random inputs."""
        form = self.choices.weighted([(6, "int"), (3, "float"), (1, "chain"), (1, "not"), (1, "and"), (1, "or")])
        if form == "float":
            right = self.choices.number() if self.choices.chance(50) else self.real(0)
            return f"{self.real(0)} {self.choices.pick(['>', '<', '>=', '<='])} {right}"
        if form == "chain":
            return f"0 < {self.int_value()[0]} < {self.choices.integer(2, 5)}"
        if form == "not":
            return f"not ({self.condition()})"
        if form in ("and", "or"):
            return f"({self.condition()}) {form} ({self.condition()})"
        text, _ = self.int_value()
        if self.choices.chance(50):
            return f"{wrap(text)} % 2 == {self.choices.integer(0, 1)}"
        return f"{text} {self.choices.pick(['>', '<', '!=', '<=', '=='])} {self.choices.integer(0, 3)}"

    def mask(self, shape: Shape) -> str:
        """A boolean array of `shape`."""
        if len(shape) == 1 and self.choices.chance(30):
            return f"np.arange({self.size(shape[0])}) % 2 == {self.choices.integer(0, 1)}"
        sign = self.choices.pick([">", "<", ">="])
        right = wrap(self.array_leaf(shape)) if self.choices.chance(30) else self.choices.number()
        return f"{wrap(self.array_leaf(shape))} {sign} {right}"

    # Floats

    def real_leaf(self) -> str:
        """A float that takes one step to read."""
        options = [(1, self.choices.number())]
        options += [(8, name) for name in self.scope.reals()]
        if self.scope.arrays():
            options.append((10, "element"))
            options.append((2, "reduction"))
        options += [(2, f"{name}[-1]") for name, kind in self.scope.lists() if isinstance(kind.item, Real)]
        options += [(1, f"0.1 * {name}") for name, _ in self.scope.ints()]
        text = self.choices.weighted(options)
        if text == "element":
            return self.element() or "0.5"
        return self.reduction() if text == "reduction" else text

    def reduction(self) -> str:
        """A reduction of an array to a float."""
        name, kind = self.choices.pick(self.scope.arrays())
        forms = [
            "np.mean({0})",
            "{0}.mean()",
            "np.sum({0}) / {1}",
            "{0}.max()",
            "np.min({0})",
            "np.sin({0}.sum())",
            "np.sin(np.sum({0} * {0}))",
            "np.prod(np.cos({0}))",
            "np.sin(np.var({0}))",
        ]
        if len(kind.shape) == 1:
            forms += ["np.sin(np.dot({0}, {2}))", "np.tanh(np.sum({0} * {2}))"]
        form = self.choices.pick(forms)
        other = wrap(self.array_leaf(kind.shape)) if "{2}" in form else ""
        return form.format(name, kind.size, other)

    def real(self, depth: int = 2) -> str:
        """A float expression of at most `depth` operations deep."""
        if depth == 0 or self.choices.integer(0, 99) < 15:
            return self.real_leaf()
        call = self.call(Real()) if self.choices.chance(10) else None
        if call is not None:
            return call
        left, right = self.real(depth - 1), self.real(depth - 1)
        return self.combine(left, right, module=self.choices.pick(["np", "math"]), scalar=True)

    def combine(self, left: str, right: str, *, module: str = "np", scalar: bool) -> str:
        """A bounded operation on one or both operands; `right` may be of a shape that broadcasts to that of `left`."""
        le, ri = wrap(left), wrap(right)
        forms = [
            (6, "{0} * {2} + {1} * {3}"),
            (4, "{m}.sin({left})"),
            (3, "{2} * {m}.cos({right})"),
            (2, "{m}.tanh({left})"),
            (2, "{2} - {0} * {3}"),
            (2, "{2} / (1.0 + {3} * {3})"),
            (2, "{m}.sin({2} * {3})"),
            (1, "{2} * {m}.exp(-{3} ** 2)"),
            (1, "{m}.sqrt(1.0 + {2} ** 2)"),
            (1, "{m}.log(1.5 + {m}.sin({left}))"),
            (1, "-{2} * {m}.tanh({right})"),
            (1, "abs({left})"),
        ]
        if self.scope.loops == 0:
            forms.append((4, "{2} * {3}"))
        if scalar:
            forms += [(1, "max({left}, {right})"), (2, "({left} if {condition} else {right})")]
        else:
            forms += [(2, "np.maximum({left}, {right})"), (1, "np.minimum({left}, {right})")]
            forms.append((1, "np.clip({left}, -0.45, 0.75)"))
        form = self.choices.weighted(forms)
        numbers = [self.choices.number() if place in form else "" for place in ("{0}", "{1}")]
        condition = self.condition() if "{condition}" in form else ""
        return form.format(*numbers, le, ri, m=module, left=left, right=right, condition=condition)

    # Arrays

    def array_leaf(self, shape: Shape) -> str:
        """An array of exactly `shape`, taken from those in scope."""
        options: list[tuple[int, Way]] = []
        for name, kind in self.scope.arrays():
            options += self.leaves(name, kind.shape, shape)
        options += [
            (2, partial(str, f"{name}[-1]"))
            for name, kind in self.scope.lists()
            if isinstance(kind.item, Array) and kind.item.shape == shape
        ]
        if not options or self.choices.chance(3):
            if self.choices.chance(50):
                return f"np.full({shape_text(shape)}, {self.real(0)})"
            return f"np.ones({shape_text(shape)})"
        return self.choices.weighted(options)()

    def leaves(self, name: str, have: Shape, want: Shape) -> list[tuple[int, Way]]:
        """Weighted ways to take an array of shape `want` from the array `name`."""
        found: list[tuple[int, Way]] = []
        if have == want:
            found.append((6, partial(str, name)))
        if fits(have, want):
            found.append((4, partial(self.part, name, have, want)))
        if len(have) == len(want) == 2 and have[::-1] == want:
            found.append((5, partial(str, f"{name}.T")))
        if have != want and math.prod(have) == math.prod(want):
            found.append((3, partial(str, f"{name}.reshape({', '.join(map(str, want))})")))
            if len(want) == 1:
                found += [(1, partial(str, f"{name}.ravel()")), (1, partial(str, f"{name}.flatten()"))]
        if len(have) == 1 and len(want) == 1:
            found.append((1, partial(self.gathered, name, have[0], want[0])))
        if len(have) == 2 and len(want) == 1 and min(have) == want[0]:
            found.append((2, partial(str, f"np.diag({name})")))
        return found

    def part(self, name: str, have: Shape, want: Shape) -> str:
        """A basic subscript of an array."""
        return f"{name}[{self.subscript(have, want, plain=40)}]"

    def gathered(self, name: str, length: int, count: int) -> str:
        """Elements taken by an index array, perhaps repeated."""
        places = ", ".join(str(self.choices.integer(0, length - 1)) for _ in range(count))
        return f"{name}[np.array([{places}])]"

    def broadcastable(self, shape: Shape, depth: int) -> str:
        """An expression that broadcasts to `shape`."""
        form = self.choices.weighted([(6, "exact"), (2, "real"), (2 if len(shape) == 2 else 0, "lower")])
        if form == "exact":
            return self.array(shape, depth)
        if form == "real" or len(shape) != 2:
            return self.real(min(depth, 1))
        rows, columns = shape
        way = self.choices.integer(0, 3)
        if way == 0:
            return self.array((columns,), depth)
        if way == 1:
            return f"{wrap(self.array((rows,), 0))}[:, None]"
        if way == 2:
            return f"np.mean({self.array(shape, 0)}, axis={self.choices.integer(0, 1)}, keepdims=True)"
        return f"{wrap(self.array((columns,), 0))}[np.newaxis, :]"

    def array(self, shape: Shape, depth: int = 2) -> str:
        """An array expression of exactly `shape`."""
        if depth == 0 or self.choices.integer(0, 99) < 15:
            return self.array_leaf(shape)
        if self.choices.chance(30):
            special = self.special(shape, depth)
            if special is not None:
                return special
        left = self.array(shape, depth - 1)
        right = self.broadcastable(shape, depth - 1)
        if self.choices.chance(10):
            return f"np.where({self.mask(shape)}, {left}, {right})"
        return self.combine(left, right, scalar=False)

    def special(self, shape: Shape, depth: int) -> str | None:
        """A call of `shape` that is not elementwise: a product, a reduction along an axis, a concatenation."""
        call = self.call(Array(shape)) if self.choices.chance(40) else None
        if call is not None:
            return call
        if len(shape) == 1:
            return self.special_vector(shape[0], depth)
        if len(shape) != 2:
            return None
        rows, columns = shape
        forms = [
            "np.sin(np.outer({u}, {v}))",
            "np.tanh({left} @ {right})",
            "np.sin(np.dot({left}, {right}))",
            "{u}[:, None] * np.cos({v}[None, :])",
            "np.roll({whole}, {shift}, axis={axis})",
            "np.sin(np.cumsum({whole}, axis={axis}))",
        ]
        if rows > 1:
            forms.append("np.concatenate([{top}, {bottom}])")
        if rows == 2:
            forms.append("np.stack([{v}, {v}])")
        form = self.choices.pick(forms)
        inner = self.choices.integer(1, 3) if "{left}" in form else 1
        parts = {"u": (rows,), "v": (columns,), "left": (rows, inner), "right": (inner, columns)}
        parts |= {"whole": shape, "top": (1, columns), "bottom": (rows - 1, columns)}
        return self.filled(form, parts, depth)

    def special_vector(self, length: int, depth: int) -> str:
        """A 1-D result of `length` from a call that is not elementwise."""
        forms = ["np.sin(np.cumsum({whole}))", "np.roll({whole}, {shift})", "np.flip({whole})", "{whole}[::-1]"]
        if length > 1:
            forms += ["np.concatenate([{most}, {one}])", "np.append({most}, {one}[0])"]
        for name, kind in self.scope.arrays():
            if len(kind.shape) == 2 and kind.shape[0] == length:
                forms += [f"np.tanh({name} @ {{row {kind.shape[1]}}})", f"np.mean({name}, axis=1)"]
                forms.append(f"{name}.max(axis=1)")
            if len(kind.shape) == 2 and kind.shape[1] == length:
                forms += [f"np.sin({name}.T @ {{row {kind.shape[0]}}})", f"{name}.sum(axis=0) / {kind.shape[0]}"]
                forms.append(f"np.sin({{row {kind.shape[0]}}} @ {name})")
        form = self.choices.pick(forms)
        parts: dict[str, Shape] = {"whole": (length,), "most": (length - 1,), "one": (1,)}
        parts |= {f"row {rows}": (rows,) for rows in range(1, 20)}
        return self.filled(form, parts, depth)

    def filled(self, form: str, parts: dict[str, Shape], depth: int) -> str:
        """`form` with each {name} replaced by an array of the shape of that name."""
        while "{" in form:
            before, _, rest = form.partition("{")
            name, _, after = rest.partition("}")
            if name in ("shift", "axis"):
                text = str(self.choices.integer(0, 1) + (name == "shift"))
            else:
                text = wrap(self.array(parts[name], depth - 1 if name == "whole" else 0))
            form = f"{before}{text}{after}"
        return form

    # Calls of helpers

    def call(self, *results: Real | Array) -> str | None:
        """A call of a helper in scope that gives `results`, or None."""
        fitting = [(name, kind) for name, kind in self.scope.functions() if kind.results == results]
        if not fitting:
            return None
        name, kind = self.choices.pick(fitting)
        arguments = self.arguments(kind)
        return None if arguments is None else f"{name}({arguments})"

    def arguments(self, function: Function) -> str | None:
        """Arguments for `function`, or None when no array in scope fits."""
        texts = []
        for kind in function.params:
            if isinstance(kind, Array):
                text = self.writable_view(kind.shape)
                if text is None:
                    return None
                texts.append(text)
            elif isinstance(kind, Int):
                texts.append(f"{wrap(self.int_value()[0])} % {kind.high + 1}")
            else:
                texts.append(self.real(1))
        return ", ".join(texts)

    def writable_view(self, shape: Shape) -> str | None:
        """A writable array of exactly `shape`: one in scope, or a view of one."""
        options: list[tuple[int, Way]] = []
        for name, kind in self.scope.arrays(writable=True):
            if kind.shape == shape:
                options.append((5, partial(str, name)))
            if kind.shape[::-1] == shape and len(shape) == 2:
                options.append((2, partial(str, f"{name}.T")))
            if len(shape) > 0 and fits(kind.shape, shape):
                options.append((2, partial(self.part, name, kind.shape, shape)))
        return self.choices.weighted(options)() if options else None
