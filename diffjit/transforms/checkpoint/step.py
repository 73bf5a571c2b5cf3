"""The pullback of one step of a loop whose state is restored from elsewhere (`transforms.checkpoint.schedule`).

step(u, w, p)  ->  u_next            step_back(u, w, p, u_next_bar, w_bar, p_bar)  ->  u_bar
    w changes in place                   w_bar, p_bar change in place

A step that touches a few elements of a large array would spend its time on zeros if each pullback made the cotangents
of all of it. So those of arrays from outside the step are buffers that are handed from step to step. All of them are
gradients in the plane: of complex numbers, conjugates of what callers have.
"""

from __future__ import annotations

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Function, Value
from diffjit.ir.types import Array
from diffjit.ir.walk import dce
from diffjit.transforms import custom
from diffjit.transforms.reverse.reverse import Reverse


@dataclass(slots=True, eq=False)
class StepBack:
    """A step and its pullback in one function.

    function   parameters: those of the step, the cotangents of its active results, the buffers
    seeds      the results that have a cotangent among the parameters
    buffers    the parameters that have a buffer
    carried    the parameters whose cotangents are the function's results
    """

    function: Function
    seeds: list[int]
    buffers: list[int]
    carried: list[int]


class _StepReverse(Reverse):
    """Reverse mode with given buffers."""

    def __init__(self, step: Function, wrt: list[int], results: list[int], buffers: list[int]) -> None:
        super().__init__(step, wrt, results, buffers, inside=True)
        self.buffers = buffers

    def step_back(self, carried: list[int], results: list[int]) -> StepBack:
        """The whole transformation."""
        f = self.f
        n = len(f.params)
        top = self.keep.context(f.body, None)
        self.lent = [k for k in self.buffers if self.activity.active(f.params[k])]
        bars = self.lend(top)
        self.shadows.make()
        active = [k for k, out in zip(results, self.outputs, strict=True) if self.activity.active(out)]
        seeds = [Value(f.results[k].type, _bar(f.results[k])) for k in active]
        with self.build.inside(top.block):
            for k, seed in zip(active, seeds, strict=True):
                self.add(f.results[k], seed, top)
            self.sweep(f.body, top)
            gradients = [self.gradient_of(f.params[k], top) or self.zero(f.params[k], top) for k in carried]
            gradients = [self.conform(g, f.params[k].type) for g, k in zip(gradients, carried, strict=True)]
        gradients = self.keep.resolve(top, gradients)
        self.keep.apply()
        custom.unlinked(f)
        f.body.ops += top.block.ops
        for op in top.block.ops:
            for out in op.outputs:
                out.block = f.body
        f.params = [*f.params[:n], *seeds, *bars.values()]
        f.body.results = gradients
        for op in f.body.ops:
            op.attrs.pop("section", None)
        dce(f)
        return StepBack(f, active, self.lent, carried)


def _bar(v: Value) -> str | None:
    return f"{v.name}_bar" if v.name else None


def step_back(step: Function, active: set[int], state: int) -> StepBack:
    """The pullback of a step by its active parameters; the first `state` parameters are what it carries on."""
    wrt = sorted(active)
    buffers = [k for k in wrt if k >= state and isinstance(step.params[k].type, Array)]
    results = [k for k in wrt if k < state]
    back = _StepReverse(step, wrt, results, buffers)
    return back.step_back([k for k in wrt if k not in buffers], results)
