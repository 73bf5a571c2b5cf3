"""Functions with rules of their own: a `call` with the attribute `rules`, opaque until a derivative is taken.

    y = call(x)             forward mode:   y, y_dot = rule(x, x_dot)
                            reverse mode:   y, residuals = ahead(x)      ...     x_bar = back(residuals, y_bar)
                            no derivative:  y = primal(x)

The rule that takes the call's place is ordinary code, and differentiable again; it may hold calls of the same kind. A
rule for one mode gives the other where it is linear: `back` is the transpose of what `rule` does to tangents, and the
tangent map is the transpose of `back`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from diffjit.analysis.activity import Activity
from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.errors import NoRule, UsageError
from diffjit.frontend.entry.demand import Undemanded
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Loc, Op, Value
from diffjit.ir.passes import Phase
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.ir.walk import clone_op, dce, rename, walk, walk_called

LINK = "custom_link"  # outputs are the results that `ahead` gave; their cotangents go to the arguments, through `back`


@dataclass(slots=True, eq=False)
class Rules:
    """The rules of one call, as programs. `args` are the call's first inputs, `free` (what it reads outside) the rest.

    primal    args, free          -> outs
    forward   args, dots, free    -> outs, dots of the outs that are floats
    ahead     args, free          -> outs, residuals
    back      residuals, bars     -> bars of the arguments in `wrt`
    """

    name: str
    n_args: int
    wrt: list[int]  # arguments that have derivatives
    primal: Function
    forward: Function | None = None
    ahead: Function | None = None
    back: Function | None = None
    trusted: bool = False  # the forward rule is known to be linear: the flow of numbers need not show it
    aside: frozenset[int] = frozenset()  # arguments that only repeat what follows from the others: no derivative's way
    undemanded: bool = False  # some rules that there are were not interpreted, as no derivative was announced for them
    transposes: dict[str, Any] = field(default_factory=dict[str, Any])

    def follows(self) -> bool:
        """Whether the rules follow from the function's code, and only say how to come by its derivative."""
        return False

    def narrowed(self, wrt: list[int]) -> Rules:
        """The rules where no derivative is taken by other arguments than these."""
        del wrt
        return self

    def tangents(self, loc: Loc | None = None) -> Function:
        """The forward rule."""
        if self.forward is not None:
            return self.forward
        _announced(self)
        if "forward" not in self.transposes:
            self.transposes["forward"] = _forward_of(self, loc)
        return self.transposes["forward"]

    def cotangents(self, loc: Loc | None = None) -> tuple[Function, Function]:
        """The reverse rule: `ahead` and `back`."""
        if self.ahead is not None and self.back is not None:
            return self.ahead, self.back
        _announced(self)
        if "reverse" not in self.transposes:
            self.transposes["reverse"] = None
            try:
                self.transposes["reverse"] = _reverse_of(self, loc)
            finally:
                if self.transposes["reverse"] is None:
                    del self.transposes["reverse"]
        if self.transposes["reverse"] is None:
            raise UsageError(
                "DJ518",
                f"the forward rule of `{self.name}` calls it for tangents: its transpose would follow from itself",
                loc=loc,
                cure=f"give it one: `{self.name}.defvjp(fwd, bwd)`",
            )
        return self.transposes["reverse"]


def _announced(rules: Rules) -> None:
    """Stop where a rule is missing that was not interpreted, as nobody had announced a derivative that needs it."""
    if rules.undemanded:
        raise Undemanded(rules.name)


def rules_of(op: Op) -> Rules | None:
    """The rules of a call, if it has rules of its own."""
    return op.attrs.get("rules") if op.kind == "call" else None


def floats(values: list[Value]) -> list[int]:
    """Which values carry derivatives."""
    return [k for k, v in enumerate(values) if is_float(v.type) and isinstance(v.type, (Scalar, Array))]


def refuse_outside(op: Op, rules: Rules, varied: Callable[[Value], bool]) -> None:
    """Derivatives flow through arguments alone."""
    for k, v in enumerate(op.inputs):
        if k in rules.wrt or k in rules.aside or not varied(v):
            continue
        what = "reads" if k >= rules.n_args else "takes"
        where = "from its surroundings" if k >= rules.n_args else "in `nondiff_argnums`"
        raise NoRule(
            "DJ204",
            f"`{rules.name}` has rules of its own, and {what} `{v.name or 'a value'}` {where}, "
            "which a derivative is taken by",
            loc=op.loc,
            cure="make it an argument that the rules know of, or stop_gradient marks it as constant",
        )


# Copying in -----------------------------------------------------------------------------------------------------------


def spliced(function: Function, inputs: list[Value], outputs: list[Value], block: Block) -> list[Op]:
    """The operations of a function, for these inputs, defining these very outputs."""
    mapping = dict(zip(function.params, inputs, strict=True))
    into = Block()
    for op in function.body.ops:
        clone_op(op, mapping, into)
    defined_as(into, 0, [mapping.get(v, v) for v in function.results], outputs)
    for op in into.ops:
        for v in op.outputs:
            v.block = block
    return into.ops


def defined_as(into: Block, start: int, results: list[Value], outputs: list[Value]) -> dict[Value, Value]:
    """In place: the operations from `start` on define these very outputs, as results of theirs; what was renamed."""
    made = {v: op for op in into.ops[start:] for v in op.outputs}
    renamed: dict[Value, Value] = {}
    for result, out in zip(results, outputs, strict=True):
        found = result
        if found in made and found not in renamed and found.type == out.type:
            renamed[found] = out
            continue
        found = renamed.get(found, found)
        build = Builder(into)
        if isinstance(out.type, Array):
            order = out.type.layout if out.type.layout != "A" else "K"
            same = build.op("copy", [found], [out.type], order=order)
        else:
            same = build.op("cast", [found], [out.type])
        made[same.out] = same
        renamed[same.out] = out
    changed = Block(ops=into.ops[start:])
    rename(changed, renamed)
    for old, new in renamed.items():
        op = made[old]
        op.outputs = [new if v is old else v for v in op.outputs]
        new.op, new.block = op, into
    return renamed


def replace(block: Block, made: Callable[[Op, Block], list[Op] | None]) -> bool:
    """Put other operations in place of some; None leaves one as it is. Whether there were any."""
    found = False
    ops: list[Op] = []
    for op in block.ops:
        for region in op.regions:
            found |= replace(region, made)
        other = made(op, block)
        found |= other is not None
        ops += [op] if other is None else other
    block.ops = ops
    return found


def without_rules(function: Function) -> Function:
    """The program without calls that have rules: no derivative will be taken any more."""
    from diffjit.transforms.pipeline import finish
    from diffjit.transforms.prepare import clone

    if not any(map(rules_of, walk_called(function))):
        return function
    copies: dict[int, Function] = {}

    def primal(op: Op, block: Block) -> list[Op] | None:
        rules = rules_of(op)
        return None if rules is None else spliced(rules.primal, op.inputs, op.outputs, block)

    def copied(f: Function) -> Function:
        """A copy that calls copies: one that calls itself through its rules then does so directly."""
        if id(f) not in copies:
            made = copies[id(f)] = clone(f)
            while replace(made.body, primal):
                pass
            for op in walk(made.body):
                if op.kind == "call":
                    op.attrs["function"] = copied(op.attrs["function"])
        return copies[id(f)]

    return finish(copied(function), "settled", Phase.SETTLED)


def unfolded(function: Function) -> Function:
    """In place: calls whose rules are derivatives of their own code give way to it."""

    def primal(op: Op, block: Block) -> list[Op] | None:
        rules = rules_of(op)
        return spliced(rules.primal, op.inputs, op.outputs, block) if rules is not None and rules.follows() else None

    while replace(function.body, primal):
        pass
    return function


# Reverse mode ---------------------------------------------------------------------------------------------------------


def opened(function: Function, wrt: list[int], results: list[int], buffers: Sequence[int] = ()) -> Function:
    """In place: active calls run `ahead`, and a link says what their cotangents become.

    `buffers`: parameters whose final contents matter like results.
    """
    if not any(rules_of(op) for op in walk(function.body)):
        return function
    memory = analyses(function).memory
    inputs, outputs = [function.params[k] for k in wrt], [function.results[k] for k in results]
    activity = Activity(function, memory, inputs, [*outputs, *(function.params[k] for k in buffers)])

    def linked(op: Op, block: Block) -> list[Op] | None:
        rules = rules_of(op)
        if rules is None or not any(activity.active(v) for v in op.outputs):
            return None
        refuse_outside(op, rules, activity.is_varied)
        rules = rules.narrowed([k for k in rules.wrt if activity.is_varied(op.inputs[k])])
        ahead, back = rules.cotangents(op.loc)
        n = len(op.outputs)
        made = [Value(v.type, v.name) for v in (*op.outputs, *ahead.results[n:])]
        arguments = [op.inputs[k] for k in rules.wrt]
        link = Op(LINK, [*arguments, *made], op.outputs, {"back": back, "n_args": len(arguments)}, [], op.loc)
        for v in op.outputs:
            v.op = link
        return [*spliced(ahead, op.inputs, made, block), link]

    replace(function.body, linked)
    return function


def unlinked(function: Function) -> None:
    """In place: links, whose cotangents have been seen to, give what `ahead` gave."""

    def same(op: Op, _: Block) -> list[Op] | None:
        if op.kind != LINK:
            return None
        made: list[Op] = []
        for out, found in zip(op.outputs, op.inputs[op.attrs["n_args"] :], strict=False):
            array = isinstance(out.type, Array)
            out.op = Op("copy" if array else "cast", [found], [out], {"order": "K"} if array else {}, [], op.loc)
            made.append(out.op)
        return made

    replace(function.body, same)


# One rule from the other ----------------------------------------------------------------------------------------------


def copied(build: Builder, function: Function, inputs: list[Value]) -> list[Value]:
    """Copy a function's operations to the end of what is built; its results."""
    mapping = dict(zip(function.params, inputs, strict=True))
    for op in function.body.ops:
        clone_op(op, mapping, build.block)
    return [mapping.get(v, v) for v in function.results]


def _parameters(values: list[Value]) -> list[Value]:
    return [Value(v.type, v.name) for v in values]


def _reverse_of(rules: Rules, loc: Loc | None) -> tuple[Function, Function]:
    """The transpose of the map from tangents to tangents, at tangents of zero."""
    from diffjit.transforms.modes.linear import hangs_on
    from diffjit.transforms.reverse.reverse import reverse
    from diffjit.transforms.reverse.split import split

    rule = rules.forward
    assert rule is not None
    n, dots = len(rules.primal.results), [rules.n_args + k for k in range(len(rules.wrt))]
    outs = list(range(n, len(rule.results)))
    args = _parameters(rules.primal.params)
    ahead = Function(f"{rules.name}_ahead", args, Block(), "", rule.source_file, rule.source_line, rule.lines)
    build = Builder(ahead.body)
    given = args[: rules.n_args] + [build.zero(args[k]) for k in rules.wrt] + args[rules.n_args :]
    parts = split(rule, dots, outs)
    if parts is not None:
        made, n_primal = parts.forward, parts.n_primal
        back, gradients = parts.pullback, parts.gradients
        bent = [k for k, reached in enumerate(hangs_on(made, dots)[n_primal:]) if reached]
        found = copied(build, made, given)
        residuals = found[n_primal:]
    else:
        r = reverse(rule, dots, outs)
        back = r.function
        gradients: list[int | None] = []
        back.body.results = []
        for g in r.gradients:
            gradients.append(None if g is None else len(back.body.results))
            back.body.results += [] if g is None else [g]
        bent = list(dots)
        found, residuals = copied(build, rule, given), given
    reached = hangs_on(back, bent)
    if not rules.trusted and any(reached[k] for k in gradients if k is not None):
        raise UsageError(
            "DJ518",
            f"the forward rule of `{rules.name}` is not linear in its tangents, so that it gives no reverse mode",
            loc=loc,
            cure=f"give it one: `{rules.name}.defvjp(fwd, bwd)`",
        )
    seeds = len(back.params) - len(residuals)
    held = len(residuals)
    ahead.body.results = [*found[:n], *residuals, *(args[k] for k in rules.wrt)]
    params = _parameters([*back.params[:held], *(args[k] for k in rules.wrt), *back.params[held:]])
    pulled = Function(f"{rules.name}_back", params, Block(), "", rule.source_file, rule.source_line, rule.lines)
    build = Builder(pulled.body)
    bars = copied(build, back, params[:held] + params[len(params) - seeds :])
    pulled.body.results = [
        build.zero(params[held + k]) if position is None else bars[position] for k, position in enumerate(gradients)
    ]
    dce(ahead)
    dce(pulled)
    return ahead, pulled


def _forward_of(rules: Rules, loc: Loc | None) -> Function:
    """The transpose of the map from cotangents to cotangents, at cotangents of zero."""
    from diffjit.transforms.modes.linear import hangs_on
    from diffjit.transforms.reverse.reverse import reverse

    ahead, back = rules.cotangents()
    n = len(rules.primal.results)
    outs = floats(rules.primal.results)
    held = len(back.params) - len(outs)
    seeds = list(range(held, len(back.params)))
    r = reverse(back, seeds, list(range(len(back.results))))
    transpose = r.function
    transpose.body.results = [g for g in r.gradients if g is not None]
    if any(hangs_on(transpose, seeds)):
        raise UsageError(
            "DJ518",
            f"the reverse rule of `{rules.name}` is not linear in its cotangents, so that it gives no forward mode",
            loc=loc,
            cure=f"give it one: `{rules.name}.defjvp(rule)`",
        )
    args = _parameters(rules.primal.params)
    dots = [Value(args[k].type, f"{args[k].name}_dot") for k in rules.wrt]
    made = Function(
        f"{rules.name}_jvp", args[: rules.n_args] + dots + args[rules.n_args :], Block(), "", ahead.source_file,
        ahead.source_line, ahead.lines,
    )  # fmt: skip
    build = Builder(made.body)
    found = copied(build, ahead, args)
    tangents = copied(build, transpose, [*found[n:], *(build.zero(found[k]) for k in outs), *dots])
    given = iter(tangents)
    made.body.results = found[:n] + [
        build.zero(found[k]) if g is None else next(given) for k, g in zip(outs, r.gradients, strict=True)
    ]
    dce(made)
    return made
