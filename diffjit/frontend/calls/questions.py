"""Questions about a number's type, where the program joined numbers of different types into one.

An int and a float that meet become a float, a Python number and NumPy's become NumPy's. That is right for arithmetic,
but `isinstance(v, int)` may have had another answer on one of the paths. Such questions are answered by the joined
type at first. When the program is complete, each is asked again of every type that the number may have had.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from diffjit.errors import TypeProblem
from diffjit.frontend.numpy.arith import PYTHON_OPERATORS, numpy_result, scalar_result
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values.leaves import JOINED
from diffjit.frontend.values.templates import Learn
from diffjit.ir.nodes import Block, Loc, Op, Value
from diffjit.ir.types import Array, List, Scalar
from diffjit.ir.walk import walk

_NUMBERS = {"b": "bool", "i": "int", "f": "float", "c": "complex"}


@dataclass(slots=True, eq=False)
class Question:
    """What was asked of the class of a number, and where."""

    value: Value
    answer: Callable[[type], Any]
    loc: Loc | None
    site: Any = None  # where the program may decide by itself when it runs


class Questions(Mixin):
    """Mixin of the interpreter: questions about the types of numbers."""

    questions: list[Question]
    changed_numbers: list[Value]  # by `x += 1` and its like

    def ask(self, value: Any, answer: Callable[[type], Any], site: Any = None) -> Any:
        """What holds for the class of a value; a number's may turn out to depend on the path."""
        if isinstance(value, Value) and isinstance(value.type, Scalar):
            self.questions.append(Question(value, answer, self.build.loc, site))
        return answer(self.class_of(value))

    def review_questions(self, body: Block) -> None:
        """Refuse a program in which an answer depends on the path taken."""
        if not self.questions:
            return
        origins = Origins(body)
        sites: set[Any] = set()
        for question in self.questions:
            types = origins.types(question.value)
            answers = [question.answer(self.class_of(Value(ty))) for ty in types]
            if all(a == answers[0] for a in answers):
                continue
            if question.site is not None:
                sites.add(question.site)
            else:
                names = " or ".join(sorted(map(_name, types)))
                message = f"the answer depends on the path taken: this number is {names}"
                cure = "make it one of them on all paths: float(v), int(v), np.float64(v)"
                raise TypeProblem("DJ304", message, loc=question.loc, cure=cure)
        if sites:
            raise Learn("doubts", sites)

    def changes_arrays(self, body: Block, changed: list[Value]) -> bool:
        """Whether `x += 1` or its like meets a number that is an array without dimensions on some path."""
        if not changed:
            return False
        origins = Origins(body)
        return any(isinstance(ty, Array) for v in changed for ty in origins.types(v))


def _name(ty: Any) -> str:
    if isinstance(ty, Array):
        return "an array"
    return _NUMBERS[ty.dtype.kind] if ty.weak else f"np.{ty.dtype}"


@dataclass(slots=True, eq=False)
class Origins:
    """Where the numbers of a program come from."""

    body: Block
    sources: dict[Value, list[Value]] = field(default_factory=dict)  # of what loops carry and branches give
    stored: dict[Any, list[Value]] = field(default_factory=dict)  # type of a list's items -> all that enter such lists
    known: dict[Value, frozenset[Scalar]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for op in walk(self.body):
            for target, *sources in self._carried(op):
                self.sources.setdefault(target, []).extend(sources)
            if op.row.keeps and isinstance(op.inputs[0].type, List):
                self.stored.setdefault(op.inputs[0].type.elem, []).append(op.inputs[1])

    def _carried(self, op: Op) -> Iterator[tuple[Value, ...]]:
        if op.kind == "if":
            yield from zip(op.outputs, *(r.results for r in op.regions), strict=True)
        elif op.row.loop:
            results = op.regions[-1].results[1 if op.attrs.get("exit") else 0 :]
            inits = op.inputs[len(op.inputs) - len(op.outputs) :]
            for region in op.regions:
                args = region.args[len(region.args) - len(op.outputs) :]
                yield from zip(args, inits, results, strict=True)
            yield from zip(op.outputs, inits, results, strict=True)

    def types(self, value: Value) -> frozenset[Scalar]:
        """The types that a number may have had in Python."""
        if value not in self.known:
            self.known[value] = frozenset()  # on a way that leads back here, nothing new
            self.known[value] = frozenset(self._types(value))
        return self.known[value]

    def _types(self, value: Value) -> set[Scalar]:
        own: Any = value.type
        if value in self.sources:
            return {ty for source in self.sources[value] for ty in self.types(source)}
        op = value.op
        if op is None:
            return {own}
        if op.kind == "undef":
            return set()
        if JOINED in op.attrs:
            return set(self.types(op.inputs[0])) if op.inputs else {op.attrs[JOINED]}
        if op.row.gives and isinstance(op.inputs[0].type, List):
            items = self.stored.get(op.inputs[0].type.elem, [])
            return {own, *(ty for item in items for ty in self.types(item))}
        if op.kind in PYTHON_OPERATORS and op.inputs and all(isinstance(v.type, Scalar) for v in op.inputs):
            return {_result(op, types) for types in itertools.product(*(self.types(v) for v in op.inputs))}
        return {own}


def _result(op: Op, types: tuple[Scalar, ...]) -> Scalar:
    """The type that an operator gives with operands of these types."""
    types = tuple(Scalar(ty.dtype) if isinstance(ty, Array) else ty for ty in types)
    if types == tuple(v.type for v in op.inputs):
        return op.out.type  # pyright: ignore[reportReturnType]
    if all(ty.weak for ty in types):
        return scalar_result(op.kind, list(types))
    return Scalar(numpy_result(op.kind, list(types)))
