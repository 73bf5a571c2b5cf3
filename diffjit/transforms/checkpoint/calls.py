"""Calls that keep only their inputs: what the way back needs is computed again.

    y = call(x)     forward mode:   y, y_dot = call'(x, x_dot)             call' keeps only its inputs, too
                    reverse mode:   y = call(x)  ...  x_bar = back(x, y_bar)

`back` is a call with rules of its own, so that derivatives of any order keep only inputs. With J for the derivative of
the call at x, it computes J^T y_bar. Its own derivatives are first derivatives of the map (x, x_dot) -> (y, J x_dot):

    forward    J^T y_bar_dot + d(J^T y_bar)[x_dot]   is the cotangent of x for the cotangents (y_bar_dot, y_bar)
    reverse    by v, that of J^T y_bar:  J v for y_bar, and for x its cotangent at x_dot = v, for (0, y_bar)

For a function `back` runs all of it again; for a checkpointed loop (`checkpoint.timeloop`) it runs single steps again
from snapshots (`transforms.checkpoint.schedule`), which the call on the way there takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.errors import MemoryProblem
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Loc, Value
from diffjit.ir.types import is_ref
from diffjit.ir.walk import dce, rename, walk
from diffjit.transforms.checkpoint.schedule import Schedule
from diffjit.transforms.checkpoint.timeloop import TimeLoop
from diffjit.transforms.custom import Rules, floats
from diffjit.transforms.modes.forward import Forward
from diffjit.transforms.outlined import own, silence
from diffjit.transforms.prepare import clone

APART = "apart"  # attribute of a call: pairs of results, and inputs from -1 downwards, that may be one memory


def refuse_changes(function: Function) -> None:
    """A call gives arrays of its own, where the function might have given its argument: nobody must tell them apart."""
    calls = [op for op in walk(function.body) if APART in op.attrs]
    if not calls:
        return
    memory = analyses(function).memory
    for op in calls:
        pairs: tuple[tuple[int, int], ...] = op.attrs[APART]
        for pair in pairs:
            for k in pair:
                v = op.inputs[-1 - k] if k < 0 else op.outputs[k]
                if memory.changes_after(v, op):
                    raise MemoryProblem(
                        "DJ405",
                        f"`{op.attrs['rules'].name}` is checkpointed and may return a view of its argument, and "
                        f"`{v.name or 'the array'}` is changed after the call",
                        loc=op.loc,
                        cure="return a copy",
                    )


def _like(function: Function, name: str, params: Sequence[Value]) -> tuple[Function, Builder]:
    """An empty function that changes nothing, and a builder of it."""
    made = Function(name, list(params), Block(), "", function.source_file, function.source_line, function.lines)
    made.writes, made.returns_views = frozenset(), frozenset()
    return made, Builder(made.body)


def _fresh(values: Sequence[Value]) -> list[Value]:
    return [Value(v.type, v.name) for v in values]


def _bars(values: Sequence[Value]) -> list[Value]:
    """Cotangents of the values that are floats."""
    return [Value(values[k].type, f"{values[k].name or 'out'}_bar") for k in floats(list(values))]


def _call(build: Builder, rules: Rules, inputs: list[Value], *, repeats: bool = False) -> list[Value]:
    types = [v.type for v in rules.primal.results]
    op = build.op("call", inputs, types, function=rules.primal, rules=rules)
    if repeats:
        op.attrs["repeats"] = True
    for out, v in zip(op.outputs, rules.primal.results, strict=True):
        out.name = v.name
    return op.outputs


@dataclass(slots=True, eq=False)
class _Doubled:
    """A function with tangents: parameters x, x_dot; results y, then those of y_dot that are not zero."""

    function: Function
    tangents: dict[int, int]  # result of the original -> position of its tangent


def _doubled(function: Function, wrt: list[int]) -> _Doubled:
    t = Forward(function, wrt).run()
    made, found = t.function, dict[int, int]()
    made.body.results = list(t.primal)
    for k, dot in enumerate(t.tangents):
        if dot is not None and k in floats(t.primal):
            found[k] = len(made.body.results)
            made.body.results.append(dot)
    made.body.results = own(made.body.results, made)
    return _Doubled(_finished(made, made.name), found)


class Bounded(Rules):
    """Rules that follow from a function's code, and keep only inputs."""

    __slots__ = ()

    def follows(self) -> bool:
        """Whether the rules follow from the function's code."""
        return True


@dataclass(slots=True, eq=False)
class Recomputed(Bounded):
    """The rules of a function that is run again on the way back. All its parameters are arguments."""

    def narrowed(self, wrt: list[int]) -> Rules:
        """The same function, with derivatives by these parameters."""
        return _narrowed(self, wrt, lambda: Recomputed(self.name, self.n_args, wrt, self.primal))

    def tangents(self, loc: Loc | None = None) -> Function:  # noqa: ARG002 - as in other rules
        """The function with tangents, run again in its turn."""
        if "forward" not in self.transposes:
            self.transposes["forward"] = self._tangents()
        return self.transposes["forward"]

    def _tangents(self) -> Function:
        doubled = _doubled(self.primal, self.wrt)
        inner = recomputed(f"{self.name}_jvp", doubled.function)
        made, build = _like(self.primal, f"{self.name}_jvp", _fresh(doubled.function.params))
        outs = _call(build, inner, list(made.params))
        n = len(self.primal.results)
        made.body.results = outs[:n] + [
            outs[doubled.tangents[k]] if k in doubled.tangents else build.zero(outs[k])
            for k in floats(self.primal.results)
        ]
        return made

    def cotangents(self, loc: Loc | None = None) -> tuple[Function, Function]:  # noqa: ARG002 - as above
        """The call as it is, and `back`."""
        if "reverse" not in self.transposes:
            self.transposes["reverse"] = self._cotangents()
        return self.transposes["reverse"]

    def _cotangents(self) -> tuple[Function, Function]:
        ahead, build = _like(self.primal, f"{self.name}_ahead", _fresh(self.primal.params))
        ahead.body.results = [*_call(build, recomputed(self.name, self.primal), list(ahead.params)), *ahead.params]
        back = recomputed(f"{self.name}_back", pullback(self.primal, self.wrt))
        pulled, build = _like(self.primal, f"{self.name}_back", _fresh(back.primal.params))
        pulled.body.results = _call(build, back, list(pulled.params))
        return ahead, pulled


def _narrowed(rules: Rules, wrt: list[int], make: Callable[[], Rules]) -> Rules:
    """Rules for fewer arguments, made once."""
    key = f"by {wrt}"
    if wrt == rules.wrt:
        return rules
    if key not in rules.transposes:
        rules.transposes[key] = make()
    return rules.transposes[key]


def pullback(function: Function, wrt: list[int]) -> Function:
    """A function run again and then back: parameters are its own and the cotangents of its results."""
    from diffjit.transforms.reverse.reverse import reverse

    quiet = clone(function)
    silence([quiet.body])
    outs = floats(quiet.results)
    r = reverse(quiet, wrt, outs)
    made = r.function
    build = Builder(made.body)
    made.body.results = own(
        [build.zero(made.params[k]) if g is None else g for k, g in zip(wrt, r.gradients, strict=True)], made
    )
    _finished(made, f"{function.name}_back")
    _distinct(made)
    return made


def _distinct(function: Function) -> None:
    """What is computed again is not what was computed first: sharing it would keep it for the way back."""
    mark = id(function)
    for op in function.body.ops:
        if op.outputs and is_ref(op.out.type):
            op.attrs["again"] = mark


@dataclass(slots=True, eq=False)
class LoopRules(Bounded):
    """The rules of a checkpointed loop; with `snapshots`, of the loop that takes them."""

    loop: TimeLoop = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    snapshots: bool = False

    def with_snapshots(self) -> LoopRules:
        """The same loop, taking snapshots."""
        if self.snapshots and self.wrt == floats(self.primal.params):
            return self
        if "snapshots" not in self.transposes:
            ahead = Schedule(self.loop).ahead()
            wrt = floats(ahead.params)
            self.transposes["snapshots"] = LoopRules(
                self.name, self.n_args, wrt, ahead, loop=replace(self.loop, wrt=wrt), snapshots=True
            )
        return self.transposes["snapshots"]

    def narrowed(self, wrt: list[int]) -> Rules:
        """The same loop, with derivatives by these parameters."""
        return _narrowed(
            self, wrt,
            lambda: LoopRules(
                self.name, self.n_args, wrt, self.primal, loop=replace(self.loop, wrt=wrt), snapshots=self.snapshots
            ),
        )  # fmt: skip

    def tangents(self, loc: Loc | None = None) -> Function:  # noqa: ARG002 - as in other rules
        """The loop with tangents, again a checkpointed one."""
        if "forward" not in self.transposes:
            self.transposes["forward"] = self._tangents()
        return self.transposes["forward"]

    def _tangents(self) -> Function:
        plain = self.loop.function
        doubled = _doubled(plain, self.wrt)
        made, n = doubled.function, len(plain.results)
        build = Builder(made.body)
        outs = list(made.body.results)
        dots = {
            k: outs[doubled.tangents[k]] if k in doubled.tangents else build.zero(outs[k]) for k in floats(outs[:n])
        }
        results = outs[:n]
        if self.snapshots:
            results += _call(build, self, made.params[: self.n_args], repeats=True)[n:]
            dots |= {k: build.zero(results[k]) for k in floats(results) if k >= n}
        made.body.results = results + [dots[k] for k in floats(results)]
        return made

    def cotangents(self, loc: Loc | None = None) -> tuple[Function, Function]:  # noqa: ARG002 - as above
        """The loop with snapshots, and the way back from them."""
        if "reverse" not in self.transposes:
            self.transposes["reverse"] = self._cotangents()
        return self.transposes["reverse"]

    def _cotangents(self) -> tuple[Function, Function]:
        taking = self.with_snapshots()
        n = len(self.loop.function.results)
        ahead, build = _like(self.primal, f"{self.name}_ahead", _fresh(self.primal.params))
        outs = _call(build, taking, list(ahead.params))
        ahead.body.results = [*(outs if self.snapshots else outs[:n]), *ahead.params, *outs[n:]]
        back = BackRules.of(self.loop, self.name)
        residuals = [*_fresh(ahead.params), *_fresh(outs[n:])]
        bars = _bars(self.loop.function.results)
        unused = _bars(outs[n:]) if self.snapshots else []
        pulled, build = _like(self.primal, f"{self.name}_back", [*residuals, *bars, *unused])
        pulled.body.results = _call(build, back, [*residuals, *bars])
        return ahead, pulled


@dataclass(slots=True, eq=False)
class BackRules(Bounded):
    """The rules of a checkpointed loop's way back. Arguments: the loop's own, the snapshots, cotangents."""

    loop: TimeLoop = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    full: BackRules | None = None  # the same, by all arguments

    @staticmethod
    def of(loop: TimeLoop, name: str) -> BackRules:
        """The way back of a loop."""
        primal, bars = Schedule(loop).back()
        n, x = len(primal.params), loop.function.params
        wrt = [*floats(x), *range(n - len(bars), n)]
        return BackRules(f"{name}_back", n, wrt, primal, aside=frozenset(range(len(x), n - len(bars))), loop=loop)

    def narrowed(self, wrt: list[int]) -> Rules:
        """The same way back, with derivatives by these arguments."""
        return _narrowed(
            self, wrt,
            lambda: BackRules(
                self.name, self.n_args, wrt, self.primal, aside=self.aside, loop=self.loop, full=self.full or self
            ),
        )  # fmt: skip

    def doubled(self, by: list[int]) -> _Doubled:
        """The loop with tangents of these parameters, printing nothing."""
        quiet = clone(self.loop.function)
        silence([quiet.body])
        return _doubled(quiet, by)

    def tangents(self, loc: Loc | None = None) -> Function:  # noqa: ARG002 - as in other rules
        """The cotangents of the loop with tangents."""
        if "forward" not in self.transposes:
            self.transposes["forward"] = self._tangents()
        return self.transposes["forward"]

    def _tangents(self) -> Function:
        from diffjit.transforms.reverse.reverse import reverse

        loop = self.loop
        x, y = len(loop.function.params), floats(loop.function.results)
        by = sorted({*loop.wrt, *(k for k in self.wrt if k < x)})
        doubled = self.doubled(by)
        dotted = [k for k in y if k in doubled.tangents]
        inputs = [*loop.wrt, *(x + by.index(k) for k in loop.wrt)]
        r = reverse(doubled.function, inputs, [*y, *(doubled.tangents[k] for k in dotted)])
        made = r.function
        seeds = dict(zip([*(("dot", k) for k in y), *(("bar", k) for k in dotted)], r.seeds, strict=True))
        build = Builder()
        given = _fresh(self.primal.params)
        given[:x] = made.params[:x]
        first = len(given) - len(y)
        given[first:] = [seeds.get(("bar", k)) or v for k, v in zip(y, given[first:], strict=True)]
        dots = dict(zip(by, made.params[x : x + len(by)], strict=True))
        dots |= {first + j: seeds["dot", k] for j, k in enumerate(y)}
        made.params = [*given, *(dots.pop(k) for k in self.wrt)]
        absent = {v: build.zero(given[k]) for k, v in dots.items()}
        rename(made.body, absent)
        made.body.ops[:0] = build.block.ops
        build = Builder(made.body)
        found = [
            build.zero(p) if g is None else absent.get(g, g)
            for g, p in zip(r.gradients, [given[k] for k in loop.wrt] * 2, strict=True)
        ]
        m = len(loop.wrt)
        made.body.results = own([*found[m:], *found[:m]], made)
        return _finished(made, f"{self.name}_jvp")

    def cotangents(self, loc: Loc | None = None) -> tuple[Function, Function]:  # noqa: ARG002 - as above
        """The way back as it is, and its transpose."""
        if "reverse" not in self.transposes:
            self.transposes["reverse"] = self._cotangents()
        return self.transposes["reverse"]

    def _cotangents(self) -> tuple[Function, Function]:
        from diffjit.transforms.reverse.reverse import reverse

        loop = self.loop
        x, y = len(loop.function.params), floats(loop.function.results)
        ahead, build = _like(self.primal, f"{self.name}_ahead", _fresh(self.primal.params))
        first = len(ahead.params) - len(y)
        bars = ahead.params[first:]
        ahead.body.results = [
            *_call(build, self.full or self, list(ahead.params), repeats=True), *ahead.params[:x], *bars,
        ]  # fmt: skip
        doubled = self.doubled(loop.wrt)
        dotted = [k for k in y if k in doubled.tangents]
        by = [k for k in self.wrt if k < x]
        r = reverse(doubled.function, by, [doubled.tangents[k] for k in dotted])
        made = r.function
        seeds = dict(zip(dotted, r.seeds, strict=True))
        params, dots = made.params[:x], made.params[x : x + len(loop.wrt)]
        kept = [seeds.get(k) or v for k, v in zip(y, _fresh(bars), strict=True)]
        build = Builder(made.body)
        found = {k: build.zero(params[k]) if g is None else g for k, g in zip(by, r.gradients, strict=True)}
        for j, (k, v) in enumerate(zip(y, kept, strict=True)):
            found[first + j] = r.primal[doubled.tangents[k]] if k in doubled.tangents else build.zero(v)
        made.params = [*params, *kept, *dots]
        made.body.results = own([found[k] for k in self.wrt], made)
        return ahead, _finished(made, f"{self.name}_transpose")


def _finished(function: Function, name: str) -> Function:
    function.name = name
    function.writes, function.returns_views = frozenset(), frozenset()
    dce(function)
    return function


def loop_rules(name: str, loop: TimeLoop) -> LoopRules:
    """The rules of a checkpointed loop."""
    primal = clone(loop.function)
    primal.body.results = own(primal.body.results, primal)
    primal.writes, primal.returns_views = frozenset(), frozenset()
    wrt = floats(primal.params)
    return LoopRules(name, len(primal.params), wrt, primal, loop=replace(loop, wrt=wrt))


def recomputed(name: str, function: Function) -> Recomputed:
    """The rules of a function that keeps only its inputs."""
    function.writes, function.returns_views = frozenset(), frozenset()
    return Recomputed(name, len(function.params), floats(function.params), function)
