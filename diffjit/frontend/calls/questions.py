"""Questions about a number's type, where the program joined numbers of different types into one.

An int and a float that meet become a float, a Python number and NumPy's become NumPy's. That is right for arithmetic,
but `isinstance(v, int)` may have had another answer on one of the paths. Such questions are answered by the joined
type at first. When the program is complete, each is asked again of every type that the number may have had.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import field, replace
from typing import Any

import gast

from diffjit.dataclass import dataclass
from diffjit.errors import TypeProblem
from diffjit.frontend.numpy.arith import PYTHON_OPERATORS, numpy_result, scalar_result
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.leaves import JOINED
from diffjit.frontend.values.templates import Cells, Learn, kind_of, split
from diffjit.frontend.values.values import Static
from diffjit.ir.aliases import Classes, edges
from diffjit.ir.nodes import Block, Loc, Op, Value, written
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
    without_dims: dict[Value, Any]  # numbers that NumPy has as arrays without dimensions, and where they are made
    changed_places: list[tuple[Value, Cells, Loc | None]]  # of changed numbers, what all names stood for
    boxes: list[tuple[Value, Value, Cells, Loc | None]]  # what `np.asarray` gives for such a number, the number, names

    def note_changed(self, number: Value) -> None:
        """A number is changed by `x += 1` or its like."""
        self.changed_numbers.append(number)
        self.changed_places.append((number, self._names(), self.build.loc))

    def note_boxed(self, box: Value, number: Value) -> None:
        """An array without dimensions is made of a number that NumPy has as such an array already."""
        if self.without_dims:
            self.boxes.append((box, number, self._names(), self.build.loc))

    def own_number(self, number: Value) -> Value:
        """A number that has no other name: `y[()]`, `y.copy()`."""
        return self.build.value("cast", [number], number.type) if self.without_dims else number

    def need_array(self, number: Value) -> None:
        """Start again where a number that NumPy has as an array is written to or asked for its class."""
        if number in self.without_dims:
            raise Learn("boxed", {self.without_dims[number]})

    def as_index(self, owner: Any, index: Any) -> Any:
        """An index into a number or an array without dimensions: a mask without dimensions is a truth value.

        One into a list or tuple is an int, or a truth value of Python's.
        """
        if isinstance(owner, av.Tup) or (isinstance(owner, av.Ref) and self.is_sequence(owner)):
            own = isinstance(owner, av.Tup) and owner.cls is not None  # which may have a `__getitem__` of its own
            if not own and isinstance(index, Value) and isinstance(index.type, Array) and index.type.ndim > 0:
                problem = "an array cannot be an index into a list or tuple"
                raise self.type_problem("DJ308", problem, None, cure="np.array(items)[index]", python=TypeError)
            truth = isinstance(index, Value) and isinstance(index.type, Scalar) and index.type.dtype.kind == "b"
            if truth and not own:
                if not self.is_weak(index):
                    problem = "a truth value of NumPy's cannot be an index into a list or tuple"
                    raise self.type_problem("DJ308", problem, None, cure="use int(...)", python=TypeError)
                return self.to_int(index)
            return self.whole(index, TypeError)
        self.no_part_of_tuple(index)  # into an array it is one index for each axis
        sizes = [v.type.ndim if isinstance(v.type, Array) else 0 for v in (owner, index) if isinstance(v, Value)]
        mask = sizes == [0, 0] and isinstance(index.type, Array) and index.type.dtype.kind == "b"
        return self.number(index) if mask else index

    def names_of(self, value: Value) -> int:
        """How many names and parts of containers stand for a value."""
        return sum(1 for held in _held(self._names()) if held is value)

    def _names(self) -> Cells:
        return {key: held for key, held in self.cells.items() if key[0] in ("v", "h")}

    def refuse_other_names(self, body: Block, since: int = 0) -> None:
        """Refuse `x += 1` of what `np.where` gives for numbers where something else stands for the same array."""
        if not self.without_dims or not (self.boxes or len(self.changed_places) > since):
            return
        origins = Origins(body)
        classes, changed = _memory(body)
        boxes = [(classes.find(box), origins.made_by(number, self.without_dims)) for box, number, _, _ in self.boxes]

        def arrays_of(v: Value) -> frozenset[Value]:
            if isinstance(v.type, Scalar):
                return origins.made_by(v, self.without_dims)
            return frozenset[Value]().union(*(arrays for box, arrays in boxes if classes.find(v) is box))

        kept = frozenset[Value]().union(*(arrays_of(v) for v in origins.all_stored()))

        def others(arrays: frozenset[Value], names: Cells) -> int:
            return sum(1 for v in _held(names) if arrays & arrays_of(v)) + bool(arrays & kept)

        for number, names, loc in self.changed_places[since:]:
            arrays = arrays_of(number)
            if arrays and others(arrays, names) > 1:
                raise _seen(loc)
        for (_, _, names, loc), (box, arrays) in zip(self.boxes, boxes, strict=True):
            if changed[box] > 1 and others(arrays, names):
                raise _seen(loc)

    def ask(self, value: Any, answer: Callable[[type], Any], site: Any = None) -> Any:
        """What holds for the class of a value; a number's may turn out to depend on the path."""
        self.known_object(value)
        if isinstance(value, Value) and isinstance(value.type, Scalar):
            self.need_array(value)  # whose class is that of arrays
            self.questions.append(Question(value, answer, self.build.loc, site))
        kind = self.class_of(value)
        found = answer(kind)
        self.refuse_own(kind, lambda cls: answer(cls) != found)
        return found

    def ask_no_more(self, node: gast.AST, since: int) -> None:
        """`type(x) is list` asks no more of a number than whether it is one."""
        asked = [k for k in range(since, len(self.questions)) if self.questions[k].answer is itself]
        if not asked or len(node.ops) > 1 or not _is_question(node.left) or not isinstance(node.comparators[0], _NAMED):
            return
        known = self.all_known(self.eval(node.comparators[0]))
        sign = _SIGNS.get(type(node.ops[0]))
        if known is not None and sign is not None:
            wanted = known.obj if isinstance(known, Static) else known
            for k in asked:
                self.questions[k] = replace(self.questions[k], answer=lambda cls: sign(cls, wanted))

    def lacks(self, value: Any, name: str, exception: type[Exception]) -> bool:
        """Whether the class of a number lacks an attribute, inside a `try` that catches what Python raises then.

        Elsewhere Python's numbers have what NumPy's have: a program that asks them for more does not run in Python.
        """
        if self.in_library() or not self.catches(exception):
            return False
        return not self.ask(value, lambda cls: hasattr(cls, name))

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


def itself(cls: type) -> type:
    """The answer where the class itself is asked for."""
    return cls


_NAMED = (gast.Name, gast.Attribute, gast.Tuple, gast.List)  # what can be evaluated once more
_SIGNS: dict[type, Callable[[Any, Any], bool]] = {
    gast.Is: operator.is_,
    gast.IsNot: operator.is_,
    gast.Eq: operator.eq,
    gast.NotEq: operator.eq,
    gast.In: lambda cls, classes: cls in classes,
    gast.NotIn: lambda cls, classes: cls in classes,
}


def _is_question(node: gast.AST) -> bool:
    """Whether an expression is `type(...)`."""
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id == "type"


def _seen(loc: Loc | None) -> TypeProblem:
    message = "an array without dimensions (`np.where` of numbers) is changed in place, and has another name"
    return TypeProblem("DJ304", message, loc=loc, cure="write x = x + 1 for x += 1, or take its number: y[()]")


def _memory(body: Block) -> tuple[Classes, Counter[Any]]:
    """Which references may be the same memory, and how many operations write to each."""
    classes, writes = Classes(), []
    for op in walk(body):
        classes.meet(op)
        for edge in edges(op):
            classes.unite(edge.source, edge.target)
        writes += [op.inputs[k] for k in written(op)]
    return classes, Counter(classes.find(v) for v in writes)


def _held(names: Cells) -> Iterator[Value]:
    """Each number and array that a name or a part of a container stands for, as often as one does."""
    todo = list(names.values())
    while todo:
        held = todo.pop()
        if isinstance(held, Value):
            yield held
        elif kind_of(held) is not None:
            todo += split(held)


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
    makers: dict[Value, frozenset[Value]] = field(default_factory=dict)

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
        if value in self.known:
            return self.known[value]
        todo, settled = [value], set[Value]()  # not by recursion: branches may stand in branches by the hundred
        while todo:
            v = todo[-1]
            if v not in self.known:
                self.known[v] = frozenset()  # on a way that leads back here, nothing new
                todo += [source for source in self._asked(v) if source not in self.known]
                continue
            todo.pop()
            if v not in settled:
                settled.add(v)
                self.known[v] = frozenset(self._types(v))
        return self.known[value]

    def _asked(self, value: Value) -> list[Value]:
        """The numbers whose types say that of another one."""
        op = value.op
        if value in self.sources or op is None:
            return list(self.sources.get(value, ()))
        if op.row.gives and isinstance(op.inputs[0].type, List):
            return self.stored.get(op.inputs[0].type.elem, [])
        return op.inputs if JOINED in op.attrs or op.kind in PYTHON_OPERATORS else []

    def all_stored(self) -> Iterator[Value]:
        """What enters lists."""
        for items in self.stored.values():
            yield from items

    def made_by(self, value: Value, makers: Collection[Value]) -> frozenset[Value]:
        """Which of `makers` a number may be, and not only be computed of."""
        if value not in self.makers:
            self.makers[value] = frozenset()
            found = {value} if value in makers else set[Value]()
            sources = list(self.sources.get(value, ()))
            op = value.op
            if not sources and op is not None and JOINED in op.attrs:
                sources += op.inputs[:1]
            elif not sources and op is not None and op.row.gives and isinstance(op.inputs[0].type, List):
                sources += self.stored.get(op.inputs[0].type.elem, [])
            self.makers[value] = frozenset(found).union(*(self.made_by(v, makers) for v in sources))
        return self.makers[value]

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
