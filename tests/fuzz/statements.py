"""Random straight-line statements: new names, writes of every form, swaps, lists."""

from __future__ import annotations

from collections.abc import Callable

from .choices import Choices
from .expressions import Expressions, Shape, shape_text, wrap
from .scope import Array, Int, Items, Kind, Real, Scope

ARRAY_NAMES = ("u", "v", "w", "p", "q", "r", "g")
REAL_NAMES = ("s", "t", "e", "d", "w", "q")  # two of them are also names of arrays
Statement = Callable[[], bool]


def step(text: str) -> str:
    """The step of a slice."""
    return text.split(":")[2] if text.count(":") == 2 else ""


class Statements(Expressions):
    """Writes statements line by line; each writer says whether it had what it needs."""

    def __init__(self, choices: Choices, scope: Scope, indent: int = 1) -> None:
        """Write into `lines`, first at `indent`."""
        super().__init__(choices, scope)
        self.lines: list[str] = []
        self.indent = indent

    def emit(self, line: str) -> bool:
        """Add a line at the current indent."""
        self.lines.append("    " * self.indent + line)
        return True

    # Names and shapes

    def new_name(self, kind: Kind, names: tuple[str, ...]) -> str:
        """A name that may be bound to `kind` here: mostly a new one, else one that is reused."""
        usable = [name for name in names if self.scope.may_rebind(name, kind)]
        unused = [name for name in usable if name not in self.scope.kinds]
        if unused and not (len(unused) < len(usable) and self.choices.chance(30)):
            return unused[0]
        if usable:
            return self.choices.pick(usable)
        number = 2
        while f"{names[0]}{number}" in self.scope.kinds:
            number += 1
        return f"{names[0]}{number}"

    def assign(self, text: str, kind: Kind, *, name: str | None = None) -> bool:
        """Bind a name to `text`, which is of `kind`."""
        name = name or self.new_name(kind, REAL_NAMES if isinstance(kind, Real) else ARRAY_NAMES)
        self.emit(f"{name} = {text}")
        self.scope.bind(name, kind)
        return True

    def shape(self) -> Shape:
        """A shape that occurs in scope, or nearly so."""
        shapes = [kind.shape for _, kind in self.scope.arrays()]
        shape = self.choices.pick(shapes) if shapes else (3,)
        change = self.choices.integer(0, 9)
        if change == 8 and len(shape) == 2:
            return shape[::-1]
        if change == 9 or (change > 6 and len(shape) == 2):
            return (self.choices.pick(shape),)
        return shape

    def view(self, *, writable: bool = True) -> tuple[str, Array] | None:
        """A view of an array in scope."""
        arrays = self.scope.arrays(writable=writable)
        if not arrays:
            return None
        name, kind = self.choices.pick(arrays)
        dims = len(kind.shape)
        way = self.choices.weighted([(8, "subscript"), (2, "reshape"), (2 * (dims > 1), "T"), (1, "newaxis")])
        if way == "T":
            return self.choices.pick([f"{name}.T", f"np.transpose({name})"]), Array(kind.shape[::-1])
        if way == "reshape" and dims > 1:
            return self.choices.pick([f"{name}.reshape(-1)", f"{name}.ravel()"]), Array((kind.size,))
        if way == "reshape" and kind.size % 2 == 0:
            return f"{name}.reshape(2, -1)", Array((2, kind.size // 2))
        if way == "newaxis" and dims == 1:
            axis = self.choices.integer(0, 1)
            inside, shape = (("None, :", (1, kind.size)), (":, None", (kind.size, 1)))[axis]
            return f"{name}[{inside}]", Array(shape)
        kept = self.choices.integer(1, dims)
        axes = sorted({self.choices.integer(0, dims - 1) for _ in range(kept)})
        want = tuple(self.choices.integer(1, kind.shape[axis]) if self.choices.chance(50) else kind.shape[axis]
                     for axis in axes)  # fmt: skip
        inside = self.subscript(kind.shape, want)
        return None if inside is None else (f"{name}[{inside}]", Array(want))

    def target(self) -> tuple[str, Shape, str] | None:
        """A place to write to in an array, with its shape and the name of that array."""
        arrays = self.scope.arrays(writable=True)
        if not arrays:
            return None
        name, kind = self.choices.pick(arrays[::-1])
        dims = len(kind.shape)
        form = self.choices.weighted([(5, "element"), (4, "part"), (2, "whole"), (2 * (dims > 1), "line")])
        if form == "whole":
            return self.choices.pick([f"{name}[:]", f"{name}[...]"]), kind.shape, name
        if form == "element":
            inside = self.subscript(kind.shape, ()) or "0"
            return f"{name}[{inside.replace(', ', '][') if self.choices.chance(15) else inside}]", (), name
        lengths = [self.choices.integer(max(1, length - 2), length) for length in kind.shape]
        want = (self.choices.pick(lengths),) if form == "line" else tuple(lengths)
        inside = self.subscript(kind.shape, want)
        if inside is None:
            return f"{name}[...]", kind.shape, name
        return f"{name}[{inside}]", want, name

    def source(self, shape: Shape, name: str) -> str:
        """What is written to a place of `shape` in the array `name`: often read from that same array."""
        if shape == ():
            return self.real(2)
        kind = self.scope.kinds[name]
        if self.choices.chance(35) and isinstance(kind, Array):
            options = self.leaves(name, kind.shape, shape)
            if options:
                own = self.choices.weighted(options)()
                bare = self.choices.chance(25) and (len(shape) > 1 or "np.array" in own)  # see `swap`
                return own if bare else self.combine(own, self.array(shape, 0), scalar=False)
        return self.broadcastable(shape, 2)

    # New names

    def new_real(self) -> bool:
        """`s = <float>`."""
        return self.assign(self.real(2), Real())

    def new_array(self) -> bool:
        """`u = <array expression>` or a fresh copy."""
        shape = self.shape()
        way = self.choices.weighted([(3, "copy"), (4, "expression"), (2, "zeros"), (1, "like"), (1, "empty")])
        if way == "copy":
            leaf = wrap(self.array_leaf(shape))
            return self.assign(
                self.choices.pick([f"{leaf}.copy()", f"np.array({leaf})", f"{leaf} + 0.0"]), Array(shape)
            )
        if way == "expression":
            # Adding 0.0 makes sure that the result is no view and can be written to.
            return self.assign(f"{wrap(self.array(shape, 2))} + 0.0", Array(shape))
        if way == "zeros":
            text = self.size(shape[0]) if len(shape) == 1 else f"({', '.join(map(self.size, shape))})"
            text = f"np.zeros({text})"
        else:
            same = [name for name, kind in self.scope.arrays() if kind.shape == shape]
            text = f"np.zeros_like({self.choices.pick(same)})" if same else f"np.ones({shape_text(shape)})"
            if way == "empty":
                text = f"np.empty({shape_text(shape)})"
        name = self.new_name(Array(shape), ARRAY_NAMES)
        self.emit(f"{name} = {text}")
        self.scope.kinds.pop(name, None)  # what is filled in does not read the new array itself
        bound_at = self.scope.bound_at.get(name, self.scope.block)
        self.emit(f"{name}[:] = {self.broadcastable(shape, 2)}")
        self.scope.bind(name, Array(shape))
        self.scope.bound_at[name] = bound_at
        return True

    def new_view(self) -> bool:
        """`w = u[1:, ::-1]` and the like, or an alias chosen by a condition."""
        view = self.view()
        if view is None:
            return False
        text, kind = view
        if self.choices.chance(30):
            other = self.writable_view(kind.shape)
            if other is not None:
                text = f"{text} if {self.condition()} else {other}"
        return self.assign(text, kind)

    def new_alias(self) -> bool:
        """`w = u`, or one of two arrays chosen by a branch."""
        arrays = self.scope.arrays(writable=True)
        if not arrays:
            return False
        name, kind = self.choices.pick(arrays)
        same = [other for other, other_kind in arrays if other_kind == kind and other != name]
        target = self.new_name(kind, ARRAY_NAMES)
        if not same or self.choices.chance(20):
            return self.assign(name, kind, name=target)
        other = self.choices.pick(same)
        if self.choices.chance(30):
            return self.assign(f"{name} if {self.condition()} else {other}", kind, name=target)
        self.emit(f"if {self.condition()}:")
        self.emit(f"    {target} = {name}")
        self.emit("else:")
        self.emit(f"    {target} = {self.choices.pick([other, f'{other}[::-1]', f'{other}.copy()'])}")
        self.scope.bind(target, kind)
        return True

    def new_int(self) -> bool:
        """`c = (n + k) % 3`, later counted round and round."""
        counters = [name for name, _ in self.scope.ints() if name in ("c", "c2")]
        if counters and self.choices.chance(60):
            name = counters[-1]
            kind = self.scope.kinds[name]
            if isinstance(kind, Int):
                return self.emit(f"{name} = ({name} + {wrap(self.int_value()[0])}) % {kind.high + 1}")
        name = "c2" if "c" in self.scope.kinds else "c"
        if name in self.scope.kinds:
            return False
        modulus = self.choices.integer(2, 5)
        return self.assign(f"{wrap(self.int_value()[0])} % {modulus}", Int(0, modulus - 1), name=name)

    # Writes

    def write(self) -> bool:
        """`u[...] = ...`, also augmented."""
        target = self.target()
        if target is None:
            return False
        place, shape, name = target
        operator = self.choices.weighted([(6, "="), (4, "+="), (2, "-="), (2, "*="), (1, "/=")])
        value = self.source(shape, name)
        if operator == "*=":
            value = f"np.cos({value})"
        elif operator == "/=":
            value = f"1.5 + np.sin({value})"
        elif operator != "=" and self.choices.chance(60):
            value = f"{self.choices.number()} * np.sin({value})"
        return self.emit(f"{place} {operator} {value}")

    def write_all(self) -> bool:
        """`u += v`, in place."""
        arrays = [(n, kind) for n, kind in self.scope.arrays(writable=True) if n not in self.scope.fixed]
        if not arrays:
            return False
        name, kind = self.choices.pick(arrays[::-1])
        operator = self.choices.pick(["+=", "*=", "-="])
        value = self.source(kind.shape, name)
        return self.emit(f"{name} {operator} {self.choices.number()} * np.cos({value})")

    def write_out(self) -> bool:
        """`np.multiply(u, v, out=w)`."""
        view = self.view()
        if view is None:
            return False
        text, kind = view
        left, right = self.array(kind.shape, 0), self.broadcastable(kind.shape, 0)
        function = self.choices.pick(["np.sin({0}, out={2})", "np.add(0.5 * {0}, {1}, out={2})",
                                      "np.multiply({0}, np.cos({1}), out={2})", "np.maximum({0}, {1}, out={2})",
                                      "np.subtract({0}, 0.4 * {1}, {2})"])  # fmt: skip
        return self.emit(function.format(wrap(left), wrap(right), text))

    def write_mask(self) -> bool:
        """`u[u > 0.3] *= 0.5`, also through a named mask."""
        arrays = self.scope.arrays(writable=True)
        if not arrays:
            return False
        name, kind = self.choices.pick(arrays)
        mask = self.mask(kind.shape)
        if self.choices.chance(40):
            self.emit(f"mask = {mask}")
            mask = "mask"
        other = self.array(kind.shape, 0)
        return self.emit(self.choices.pick([
            f"{name}[{mask}] = {self.real(1)}",
            f"{name}[{mask}] *= {self.choices.number()}",
            f"{name}[{mask}] += {wrap(other)}[{mask}]" if mask == "mask" else f"{name}[{mask}] -= {self.real(1)}",
            f"{name}[{mask}] = np.sin({name}[{mask}] + {self.real(0)})",
        ]))  # fmt: skip

    def write_gathered(self) -> bool:
        """`u[np.array([0, 2, 2])] = ...`, where repeated indices follow NumPy."""
        arrays = self.scope.arrays(writable=True)
        if not arrays:
            return False
        name, kind = self.choices.pick(arrays)
        length = self.choices.integer(1, 4)
        if self.choices.chance(30):
            index = f"np.arange({length}) * {self.choices.integer(1, 3)} % {kind.shape[0]}"
        else:
            low = 0 if self.choices.chance(70) else -kind.shape[0]
            places = [str(self.choices.integer(low, kind.shape[0] - 1)) for _ in range(length)]
            index = f"np.array([{', '.join(places)}])"
        value = self.broadcastable((length, *kind.shape[1:]), 1)
        self.emit(f"idx = {index}")
        return self.emit(self.choices.pick([
            f"{name}[idx] = {value}",
            f"{name}[idx] += {value}",
            f"{name}[idx] = 0.7 * {name}[idx][::-1]",
            f"np.add.at({name}, idx, {value})",
            f"{name}[idx] *= np.cos({value})",
        ]))  # fmt: skip

    def swap(self) -> bool:
        """Swaps of elements, rows, slices (whose views alias) and names."""
        arrays = self.scope.arrays(writable=True)
        if not arrays:
            return False
        name, kind = self.choices.pick(arrays)
        first, second = self.index(kind.shape[0]), self.index(kind.shape[0])
        others = [other for other, other_kind in arrays if other != name and other_kind == kind]
        others = [other for other in others if not {other, name} & self.scope.fixed]
        way = self.choices.weighted([(4, "items"), (6 if others else 0, "names"), (2, "slices"), (2, "rows")])
        if way == "names":
            other = self.choices.pick(others)
            return self.emit(f"{name}, {other} = {other}, {name}")
        if way == "slices":
            length = self.choices.integer(1, kind.shape[0])
            left = self.subscript(kind.shape[:1], (length,))
            right = self.subscript(kind.shape[:1], (length,))
            if step(left) != step(right):
                right = left  # NumPy itself reads what it has just written where such slices overlap
            return self.emit(f"{name}[{left}], {name}[{right}] = {name}[{right}], {name}[{left}]")
        if way == "rows":
            return self.emit(f"{name}[[{first}, {second}]] = {name}[[{second}, {first}]]")
        if len(kind.shape) > 1 and self.choices.chance(50):
            self.emit(f"held = {name}[{first}].copy()")
            self.emit(f"{name}[{first}] = {name}[{second}]")
            return self.emit(f"{name}[{second}] = held")
        return self.emit(f"{name}[{first}], {name}[{second}] = {name}[{second}], {name}[{first}]")

    # Floats that are carried, tuples, lists, calls

    def accumulate(self) -> bool:
        """`s += ...` or `s = 0.5 * s + ...`."""
        names = [name for name in self.scope.reals() if name not in self.scope.fixed]
        if not names:
            return self.new_real()
        name = self.choices.pick(names[::-1])
        value = self.real(2)
        return self.emit(self.choices.pick([
            f"{name} += {self.choices.number()} * {wrap(value)}",
            f"{name} = 0.5 * {name} + {wrap(value)}",
            f"{name} *= np.cos({value})",
            f"{name} = {value}",
        ]))  # fmt: skip

    def sink(self) -> bool:
        """`total += <product>`: read by the result alone."""
        names = [name for name in self.scope.reals(sinks=True) if name not in self.scope.fixed]
        if not names:
            return False
        left, right = wrap(self.real(1)), wrap(self.real(1))
        return self.emit(f"{self.choices.pick(names)} += {left} * {right}")

    def tuples(self) -> bool:
        """`w, s = u[::-1], 0.5 * s`, sometimes through a named tuple of values."""
        view = self.view()
        if view is None:
            return False
        text, kind = view
        value = self.real(1)
        if self.choices.chance(40):
            self.emit(f"pair = ({text}, {value})")
            self.emit(f"pair[0][...] *= {self.choices.number()}")
            text, value = "pair[0]", "pair[1]"
        array = self.new_name(kind, ARRAY_NAMES)
        self.scope.bind(array, kind)
        real = self.new_name(Real(), tuple(name for name in REAL_NAMES if name != array))
        self.scope.bind(real, Real())
        return self.emit(f"{array}, {real} = {text}, {value}")

    def lists(self) -> bool:
        """A new list, or `append`, item assignment or a read of one in scope."""
        lists = self.scope.lists()
        if not lists or self.choices.chance(10):
            name = "items" if "items" not in self.scope.kinds else "items2"
            if name in self.scope.kinds:
                return False
            if self.choices.chance(50):
                shape = self.shape()
                return self.assign(f"[{self.item(shape)}]", Items(Array(shape)), name=name)
            return self.assign(f"[{self.real(1)}]", Items(Real()), name=name)
        name, kind = self.choices.pick(lists)
        place = self.choices.pick(["-1", "0", f"{wrap(self.int_value()[0])} % len({name})"])
        if isinstance(kind.item, Real):
            value = self.real(1)
            return self.emit(self.choices.pick([
                f"{name}.append({value})",
                f"{name}[{place}] = {value}",
                f"{name}[{place}] += 0.3 * {wrap(value)}",
            ]))  # fmt: skip
        shape = kind.item.shape
        return self.emit(self.choices.pick([
            f"{name}.append({self.item(shape)})",
            f"{name}[{place}] = {self.item(shape)}",
            f"{name}[{place}][...] *= np.cos({self.broadcastable(shape, 1)})",
            f"{name}[{place}][{self.subscript(shape, ())}] += {self.real(1)}",
        ]))  # fmt: skip

    def item(self, shape: Shape) -> str:
        """An array for a list: a fresh one, or one that lives elsewhere too."""
        shared = self.writable_view(shape) if self.choices.chance(50) else None
        return shared or f"{wrap(self.array(shape, 1))} + 0.0"

    def call_statement(self) -> bool:
        """A call of a helper for its result, or only for what it does to its arguments."""
        functions = self.scope.functions()
        if not functions:
            return False
        name, kind = self.choices.pick(functions[::-1])
        arguments = self.arguments(kind)
        if arguments is None:
            return False
        text = f"{name}({arguments})"
        if len(kind.results) == 1:
            return self.assign(text, kind.results[0])
        names: list[str] = []
        for result in kind.results:
            pool = REAL_NAMES if isinstance(result, Real) else ARRAY_NAMES
            names.append(self.new_name(result, tuple(name for name in pool if name not in names)))
            self.scope.bind(names[-1], result)
        return self.emit(f"{', '.join(names)} = {text}" if names else text)
