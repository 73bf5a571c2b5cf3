"""What is known of lengths while a program is specialised: which are equal, however they are written.

A length that hangs on a number or on another length is written `max(0, base + offset)`: `u[1:-1]` and `u[2:n]`, where
`n = u.shape[0]`, are both as long as `u` is without two elements, and so is `np.zeros(n - 2)`. One symbol stands for
all lengths with the same base and offset. What NumPy makes of a bound that is negative, or behind the end, is looked
at in `Lengths.cut`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Op, Value, const_of, is_const, written
from diffjit.ir.types import INT, Array, Dim, Sym
from diffjit.ir.walk import walk
from diffjit.tree import LONG, reach

Form = tuple[Any, int]  # a base, which is a length or a number, and what is added to it


class Related(Exception):
    """Lengths of arguments that differ by little meet: what they differ by has to be part of the specialisation."""


@dataclass(slots=True, eq=False)
class Lengths:
    """The symbols of one program."""

    symbols: dict[Any, Sym] = field(default_factory=dict[Any, Sym])
    forms: dict[Sym, Form] = field(default_factory=dict[Sym, Form])  # the symbol is max(0, base + offset)
    axes: dict[Sym, tuple[int, int]] = field(default_factory=dict[Sym, tuple[int, int]])  # of arguments: leaf and axis
    facts: dict[int, bool] = field(default_factory=dict[int, bool])  # about them (`tree.reach`), as far as known
    wanted: set[int] = field(default_factory=set[int])  # facts that would say how long a slice is
    given: dict[Sym, int] = field(default_factory=dict[Sym, int])  # lengths of arguments, as they are just now
    asked: dict[Value, Op] = field(default_factory=dict[Value, Op])  # masks -> what was chosen by each of them last

    def arguments(self, lengths: dict[int, Dim], *, related: bool) -> None:
        """The lengths of arguments, which are told apart; `related`: what they differ by is part of the specialisation.

        Then a length is written by the shortest one that it is close to: fields on staggered grids, and with halos.
        """
        symbols = {n: d for n, d in lengths.items() if isinstance(d, Sym)}
        if not related:
            self.given = {d: n for n, d in symbols.items()}
            return
        for n, base in tree.close(symbols).items():
            if n != base:
                self.symbols[symbols[base], n - base] = symbols[n]
                self.forms[symbols[n]] = (symbols[base], n - base)

    def meet(self, lengths: Sequence[Dim]) -> None:
        """Some lengths should be equal: raises `Related` where they are, if what arguments differ by is known."""
        if self.given:
            known = [(f[0], self.given[f[0]] + f[1]) for d in lengths if (f := self._by_argument(d)) is not None]
            for base, n in known:
                for other, m in known:
                    if n == m:
                        self._ask(base, other)

    def _by_argument(self, length: Dim) -> Form | None:
        """A length by one of an argument."""
        form = self.forms.get(length, (length, 0)) if isinstance(length, Sym) else (None, 0)
        return form if form[0] in self.given else None

    def _ask(self, base: Any, other: Any) -> None:
        """Raise `Related` where two lengths of arguments are two, and close to each other."""
        if base is other or base not in self.given or other not in self.given:
            return
        n, m = self.given[base], self.given[other]
        if n != m and tree.close((n, m))[max(n, m)] != max(n, m):
            raise Related

    def made(self, n: Value) -> Dim:
        """The length of what has been made with so many elements: the number is not negative."""
        return self._of(self._form(n))

    def choose(self, build: Builder, kind: str, inputs: list[Value], dtype: Any, rest: Sequence[Dim] = ()) -> Value:
        """What the last operand, a mask, chooses: as many as a moment ago, if nothing but floats was written since.

        Only what stands in the same block counts: a loop may come by again when the mask is another one.
        """
        mask, last = inputs[-1], self.asked.get(inputs[-1])
        if last is not None and not _unchanged_since(last, build.block):
            last = None
        length = Sym() if last is None else last.out.type.dims[0]
        op = self.asked[mask] = build.op(kind, inputs, [Array(dtype, (length, *rest), "C")])
        return op.out

    def slice(self, length: Dim, start: Any, stop: Any, step: Any) -> Dim:
        """The length of a slice; its parts are numbers, values, or None."""
        parts = (start, stop, step)
        if isinstance(length, int):
            if not any(isinstance(p, Value) for p in parts):
                return len(range(*slice(*parts).indices(length)))
        elif self.reaches(length, start, stop, step):
            return len(range(start or 0, stop, step or 1))
        elif step in (None, 1) and not isinstance(step, Value):
            found = self.cut(length, start or 0, stop) if not isinstance(start, Value) else None
            if found is not None:
                return found
        elif step == -1 and start is None and stop is None:
            return length
        return self.symbols.setdefault(("slice", length, *self._bounds(length, *parts)), Sym())

    def _bounds(self, length: Dim, start: Any, stop: Any, step: Any) -> tuple[Any, ...]:
        """The parts of a slice, the same for those that are the same numbers: `i + 1` wherever it is written."""
        start, stop, step = (self._form(p) if isinstance(p, Value) else p for p in (start, stop, step))
        if step in (None, 1):
            start, stop, step = start or 0, None if stop == (length, 0) else stop, None
        return start, stop, step

    def reaches(self, length: Sym, start: Any, stop: Any, step: Any) -> bool:
        """Whether an array is certainly long enough for a slice with bounds that are known and small."""
        if any(isinstance(p, Value) for p in (start, stop, step)) or stop is None or not 0 < stop <= LONG:
            return False
        if (start or 0) < 0 or (1 if step is None else step) < 1:
            return False
        base, offset = self.forms.get(length, (length, 0))
        if not isinstance(base, Sym) or offset > 0:
            return False
        if base not in self.axes or stop - offset > LONG:
            return False
        fact = reach(*self.axes[base], stop - offset)
        if fact not in self.facts:
            self.wanted.add(fact)
        return self.facts.get(fact, False)

    def cut(self, length: Sym, start: int, stop: Any) -> Dim | None:
        """The length of `[start:stop]`; None where it hangs on more than a base and an offset.

        With L = max(0, b + k) elements and stop = b + s:

        - s >= k: the slice ends at the end, for b + s >= L, or L = 0;
        - s < k and b + s >= 0: it ends at b + s < L, and has max(0, b + s - start) elements;
        - s < k and b + s < 0: NumPy counts from the end, up to 2 * b + s + k, which is at most k - s - 2. There is
          nothing from a start that is not before that, and max(0, b + s - start) is 0, too.
        """
        if start < 0:
            return None
        if stop is None:
            return self._of((length, -start))
        if not isinstance(stop, Value):
            return self._of((length, stop - start)) if stop < 0 else None
        if stop.type.dtype != INT.dtype:
            return None
        base, end = self._form(stop)
        for b, k in ((length, 0), self.forms.get(length, (length, 0))):
            if b is not base and b != base:
                continue
            if end >= k:
                return self._of((length, -start))
            if (end >= 0 and isinstance(b, Sym)) or start >= k - end - 2:
                return self._of((b, end - start))
        self._ask(self.forms.get(length, (length, 0))[0], base)
        return None

    def _form(self, value: Value) -> Form:
        """A number as a known length, or another number, plus a constant."""
        offset = 0
        while value.op is not None and value.op.kind in ("add", "subtract") and value.type.dtype == INT.dtype:
            a, b = value.op.inputs
            if is_const(b):
                offset += const_of(b) if value.op.kind == "add" else -const_of(b)
                value = a
            elif is_const(a) and value.op.kind == "add":
                offset += const_of(a)
                value = b
            else:
                break
        if value.op is not None and value.op.kind == "dim":
            return self._exact(value.op.inputs[0].type.dims[value.op.attrs["axis"]], offset)
        return value, offset

    def _exact(self, length: Dim, offset: int) -> Form:
        """A length plus a constant by the base of the length, where the length itself is never cut off at 0."""
        if isinstance(length, Sym):
            base, k = self.forms.get(length, (length, 0))
            if isinstance(base, Sym) and k >= 0:
                return base, k + offset
        return length, offset

    def _of(self, form: Form) -> Dim:
        """The symbol of max(0, base + offset)."""
        base, offset = form
        if isinstance(base, Sym) and base in self.forms and offset <= 0:  # cutting twice
            own, k = self.forms[base]
            base, offset = own, k + offset
        if isinstance(base, Sym) and offset == 0:
            return base
        symbol = self.symbols.setdefault((base, offset), Sym())
        self.forms[symbol] = (base, offset)
        return symbol


def _unchanged_since(op: Op, block: Block) -> bool:
    """Whether nothing behind an operation of an open block may have changed an array of bools."""
    for later in reversed(block.ops):
        if later is op:
            return True
        if any(map(_may_change_bools, (later, *(inner for region in later.regions for inner in walk(region))))):
            return False
    return False


def _may_change_bools(op: Op) -> bool:
    """What runs another function may change whatever it is given."""
    changed = op.inputs if op.row.control or op.row.effect else [op.inputs[k] for k in written(op)]
    return any(isinstance(v.type, Array) and v.type.dtype.kind not in "fc" for v in changed)
