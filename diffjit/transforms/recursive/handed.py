"""Lists of numbers that recursive functions are handed as they are, in place of what they hold.

    items = arg.tolist()                          items[n] = k
    items[n] = k                                  ...
    ...                                   ->      f(m - 1, items)
    arg_1 = np.array(items)
    out = f(m - 1, arg_1)
    items[:] = out.tolist()

Objects go into and out of recursive functions by their contents, so that derivatives see numbers and arrays alone
(`frontend.values.portable`). When no derivative will be taken any more, a list that is made of a parameter, and whose
contents are given back, may be the caller's own. A call that has no such list, or must not show what becomes of it,
hands over a list made for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from diffjit.analysis.memory import effects
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value, const_of
from diffjit.ir.same_lists import SameLists
from diffjit.ir.types import INT, Array, List, Scalar, Type
from diffjit.ir.walk import blocks, callees, clone, uses, walk


@dataclass(slots=True)
class Handed:
    """A parameter that becomes a list."""

    position: int
    items: Type
    result: int | None = None  # where the function gives back what the list holds in the end
    changed: bool = True  # whether the function changes the list


@dataclass(slots=True)
class Copied:
    """A list from an array or an array from a list, number by number."""

    source: Value
    made: Value
    ops: list[Op] = field(default_factory=list[Op])  # all that do it, the loop last


def hand_over_lists(function: Function) -> Function:
    """The program in which lists go to recursive functions as they are, or itself where there are none."""
    if not any(_Lists(f).parameters() for f in callees(function) if f is not function):
        return function
    copies = {id(f): clone(f) for f in callees(function)}
    for f in copies.values():
        for op in _calls(f):
            op.attrs["function"] = copies.get(id(op.attrs["function"]), op.attrs["function"])
    root = copies[id(function)]
    found: dict[int, list[Handed]] = {}
    for f in copies.values():
        if f is not root and (lists := _Lists(f).take()):
            found[id(f)] = lists
    for f in copies.values():
        f.writes = None
    for f in copies.values():
        effects(f)
    for f in copies.values():
        for each in found.get(id(f), ()):
            each.changed = each.position in (f.writes or ())
    for f in copies.values():
        for op in _calls(f):
            if id(op.attrs["function"]) in found:
                _Site(f, op, found[id(op.attrs["function"])]).rewrite()
    for f in copies.values():
        known = {each.result for each in found.get(id(f), ())}
        f.body.results = [v for k, v in enumerate(f.body.results) if k not in known]
        _drop_unused(f)
    for f in copies.values():
        f.writes = None
    for f in copies.values():
        effects(f)
    return root


def _calls(function: Function) -> list[Op]:
    return [op for op in walk(function.body) if op.kind == "call"]


class _Shapes:
    """Recognises the loops that copy numbers between lists and arrays."""

    def __init__(self, function: Function) -> None:
        self.uses = uses(function)

    def loop_over(self, op: Op, length: Value | None = None) -> Value | None:
        """The counter of a loop over 0, 1, ... that carries nothing, if it is one (over so many)."""
        if op.kind != "for" or op.outputs or op.attrs.get("exit") or op.attrs.get("reverse"):
            return None
        start, stop, step = op.inputs
        plain = const_of(start) == 0 and const_of(step) == 1 and (length is None or stop is length)
        return op.regions[0].args[0] if plain else None

    def into_list(self, loop: Op) -> Copied | None:
        """`for k in range(array.size): items.append(array[k])`."""
        k, stop = self.loop_over(loop), loop.inputs[1] if loop.kind == "for" else None
        if k is None or stop is None or stop.op is None or stop.op.kind != "dim":
            return None
        ops = loop.regions[0].ops
        array = stop.op.inputs[0]
        if len(ops) not in (2, 3) or ops[0].kind != "load" or ops[-1].kind != "list_append" or array.type.ndim != 1:
            return None
        if len(ops) == 3 and (ops[1].kind != "cast" or ops[1].inputs != [ops[0].out]):
            return None
        items = ops[-1].inputs[0]
        if ops[0].inputs != [array, k] or ops[-1].inputs[1] is not ops[-2].out or not _same_numbers(array, items):
            return None
        if any(CHECKS in o.attrs for o in (stop.op, loop, *ops)):
            return None
        return Copied(array, items, [stop.op, loop])

    def into_array(self, array: Value) -> Copied | None:
        """`array = np.empty(len(items))`, `for k in range(len(items)): array[k] = items[k]`."""
        made = array.op
        if made is None or made.kind != "empty" or len(made.inputs) != 1 or not isinstance(array.type, Array):
            return None
        length = made.inputs[0].op
        if length is None or length.kind != "list_len":
            return None
        items = length.inputs[0]
        for user in self.uses[array]:
            if isinstance(user, Op) and user.kind == "store" and user.inputs[0] is array:
                loop = next((o for o in self.loops_over(length.out) if user in o.regions[0].ops), None)
                k = None if loop is None else loop.regions[0].args[0]
                if loop is None or [o.kind for o in loop.regions[0].ops] != ["list_get", "store"]:
                    return None
                got, store = loop.regions[0].ops
                if got.inputs != [items, k] or store.inputs != [array, got.out, k] or not _same_numbers(array, items):
                    return None
                return Copied(items, array, [length, made, loop])
        return None

    def loops_over(self, length: Value) -> Iterator[Op]:
        """Loops over so many iterations."""
        for user in self.uses[length]:
            if isinstance(user, Op) and user.kind == "for" and self.loop_over(user, length) is not None:
                yield user

    def emptied(self, loop: Op) -> Value | None:
        """`for k in range(len(items)): items.pop()`."""
        stop = loop.inputs[1].op if loop.kind == "for" else None
        if self.loop_over(loop) is None or stop is None or stop.kind != "list_len":
            return None
        pops = [o for o in loop.regions[0].ops if o.kind != "const"]
        items = stop.inputs[0]
        if len(pops) != 1 or pops[0].kind != "list_pop" or pops[0].inputs[0] is not items:
            return None
        return items if const_of(pops[0].inputs[1]) == -1 and not self.uses[pops[0].out] else None


def _same_numbers(array: Value, items: Value) -> bool:
    elem = items.type.elem if isinstance(items.type, List) else None
    return isinstance(elem, Scalar) and isinstance(array.type, Array) and elem.dtype == array.type.dtype


class _Lists(_Shapes):
    """Finds the parameters of a function that are made lists of."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.function = function

    def parameters(self) -> dict[int, Copied]:
        """How a list is made of each of them, and of nothing else."""
        found: dict[int, Copied] = {}
        params = {p: k for k, p in enumerate(self.function.params)}
        touched: set[Value] = set()
        for op in self.function.body.ops:
            made = self.into_list(op)
            if made is not None and made.source in params and made.made not in touched:
                new = made.made.op
                users = self.uses[made.source]
                alone = len(users) == 2 and self.uses[made.ops[0].out] == [op] and self.stays(made.made)
                if alone and new is not None and new.kind == "list_new" and new in self.function.body.ops:
                    made.ops.append(new)
                    found[params[made.source]] = made
            touched |= {v for o in (op, *(o for r in op.regions for o in walk(r))) for v in o.inputs}
        return found

    def stays(self, items: Value) -> bool:
        """Whether nothing but the function itself gets to see a list."""
        return all(
            isinstance(o, Op) and o.kind.startswith("list_") and o.inputs[0] is items and items not in o.inputs[1:]
            for o in self.uses[items]
        )

    def take(self) -> list[Handed]:
        """Make them parameters, in place; what is given back of them is told."""
        f, handed = self.function, list[Handed]()
        given_back = self.given_back()
        for position, made in self.parameters().items():
            given = Value(made.made.type, made.made.name or f.params[position].name)
            given.block = f.body
            f.params[position] = given
            f.body.ops = [op for op in f.body.ops if op not in made.ops]
            for op in walk(f.body):
                op.inputs = [given if v is made.made else v for v in op.inputs]
                for region in op.regions:
                    region.results = [given if v is made.made else v for v in region.results]
            handed.append(Handed(position, given.type, given_back.get(made.made)))
        return handed

    def given_back(self) -> dict[Value, int]:
        """The lists whose final contents the function gives back."""
        body, found = self.function.body, dict[Value, int]()
        for k, v in enumerate(body.results):
            made = self.into_array(v)
            if made is None or len(self.uses[v]) != 2 or made.source in found:
                continue
            loop = made.ops[-1]
            if loop in body.ops and all(map(_leaves_lists, body.ops[body.ops.index(loop) :])):
                found[made.source] = k
        return found


def _leaves_lists(op: Op) -> bool:
    """Whether an operation changes no list."""
    inside = (op, *(o for region in op.regions for o in walk(region)))
    return not any(o.kind == "call" or any(isinstance(o.inputs[k].type, List) for k in o.row.writes) for o in inside)


class _Site(_Shapes):
    """One call of a function that takes lists."""

    def __init__(self, function: Function, op: Op, handed: Sequence[Handed]) -> None:
        super().__init__(function)
        self.function, self.op, self.handed = function, op, handed
        self.block = next(b for b in blocks(function.body) if op in b.ops)

    def rewrite(self) -> None:
        """Hand over lists, in place."""
        own = {each.position: self.own(each) for each in self.handed}
        lists = SameLists(self.function.body)
        known = [lists.find(x[0]) for x in own.values() if x is not None]
        before: list[Op] = []
        after: list[Op] = []
        gone: list[Op] = []
        for each in self.handed:
            found = own[each.position]
            if found is not None and known.count(lists.find(found[0])) == 1:
                self.op.inputs[each.position] = found[0]
                gone += found[1]
            else:
                self.apart(each, before, after)
        k = self.block.ops.index(self.op)
        self.block.ops[k : k + 1] = [*before, self.op, *after]
        self.block.ops = [op for op in self.block.ops if op not in gone]
        if any(each.changed for each in self.handed):
            self.op.attrs.pop(
                "repeats", None
            )  # what it is for is in the list now: it stays where its results are unused
        dropped = {each.result for each in self.handed}
        self.op.outputs = [v for j, v in enumerate(self.op.outputs) if j not in dropped]

    def own(self, each: Handed) -> tuple[Value, list[Op]] | None:
        """The caller's list that may be handed over, and the operations that fill it again afterwards."""
        packed = self.into_array(self.op.inputs[each.position])
        ops = self.block.ops
        if packed is None or packed.ops[-1] not in ops:
            return None
        k = ops.index(self.op)
        if not all(map(_leaves_lists, ops[ops.index(packed.ops[-1]) : k])):
            return None
        items = packed.source
        if not each.changed:
            return (items, []) if each.result is None or not self.uses[self.op.outputs[each.result]] else None
        if each.result is None:
            return None
        return self.filled_again(items, self.op.outputs[each.result], k)

    def filled_again(self, items: Value, out: Value, k: int) -> tuple[Value, list[Op]] | None:
        """Whether what follows the k-th operation fills a list with a result, before anything else sees it."""
        gone: list[Op] = []
        for op in self.block.ops[k + 1 :]:
            if op.kind in ("const", "dim", "list_len"):
                gone += [op] if op.kind == "dim" and op.inputs[0] is out else []
                continue
            emptied = self.emptied(op)
            if emptied is not None:
                gone += [op] if emptied is items else []
                continue
            filled = self.into_list(op)
            if filled is None:
                return None
            if filled.made is items:
                alone = filled.source is out and len(self.uses[out]) == 2 and len(gone) == 2
                return (items, [*gone, op]) if alone and self.uses[filled.ops[0].out] == [op] else None
        return None

    def apart(self, each: Handed, before: list[Op], after: list[Op]) -> None:
        """A list made for this call, and what is wanted of it afterwards."""
        array = self.op.inputs[each.position]
        assert isinstance(each.items, List)
        assert isinstance(array.type, Array)
        build = Builder(Block())
        build.loc = self.op.loc
        items = build.value("list_new", (), each.items, name=array.name)
        body = Block([Value(INT, "k")])
        with build.inside(body):
            number = build.value("load", [array, body.args[0]], Scalar(array.type.dtype))
            if number.type != each.items.elem:
                number = build.value("cast", [number], each.items.elem)
            build.op("list_append", [items, number])
        length = build.value("dim", [array], INT, axis=0)
        build.counted(length, body)
        self.op.inputs[each.position] = items
        before += self.placed(build.block)
        out = None if each.result is None else self.op.outputs[each.result]
        if out is None or not self.uses[out]:
            return
        build.block = Block()
        length = build.value("list_len", [items], INT)
        out.op = build.op("empty", [length])
        out.op.outputs = [out]
        body = Block([Value(INT, "k")])
        with build.inside(body):
            build.op("store", [out, build.value("list_get", [items, body.args[0]], each.items.elem), body.args[0]])
        build.counted(length, body)
        after += self.placed(build.block)

    def placed(self, block: Block) -> list[Op]:
        """Operations that go to the block of the call."""
        for op in block.ops:
            for v in op.outputs:
                v.block = self.block
        return block.ops


def _drop_unused(function: Function) -> None:
    """Arrays of the numbers in lists that nobody reads any more, in place."""
    shapes = _Shapes(function)
    gone: set[int] = set()
    for op in walk(function.body):
        if op.kind == "empty" and len(shapes.uses[op.out]) == 1:
            made = shapes.into_array(op.out)
            if made is not None and not any(CHECKS in o.attrs for o in made.ops[2:]):
                gone |= {id(o) for o in made.ops[1:]}
    for block in blocks(function.body):
        block.ops = [op for op in block.ops if id(op) not in gone]
