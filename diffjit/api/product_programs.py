"""Builds the programs of `jvp` and `vjp`: imported with the first of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diffjit.api.engine.derived import Derived
from diffjit.api.engine.engine import compile_ir, executable, is_compiled, mutated_params
from diffjit.api.engine.programs import Arguments, Compiled
from diffjit.api.gradients import spec_tree
from diffjit.api.products import tangent_spec
from diffjit.dataclass import dataclass
from diffjit.errors import TypeProblem
from diffjit.frontend.entry.outputs import Out, mapped
from diffjit.frontend.entry.results import Program
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Function, Loc, Value
from diffjit.ir.types import List, is_float
from diffjit.transforms.outlined import own
from diffjit.transforms.pipeline import finish, numbers, tangents
from diffjit.transforms.prepare import own_copy
from diffjit.transforms.reverse.reverse import reverse
from diffjit.transforms.reverse.split import split

_FLOAT = np.dtype(np.float64)  # of the tangents of what has none, ints and flags


def build_reverse(product: Derived, program: Program, call: Arguments) -> tuple[Compiled, Any]:
    """The compiled program that a pullback starts from, and its pullback."""
    made = reversible(program, call, compiled=is_compiled(product.backend))
    residuals = len(made.forward.results) - made.n_primal
    own_values(made.forward, made.n_primal)
    compiled = executable(program, made.forward, product.backend, unchanged=True, residuals=residuals)
    return compiled, (program, made, compile_ir(made.pullback, product.backend, threads_from=program.threads_from))


def own_values(forward: Function, n_primal: int) -> None:
    """Values that share memory neither with the caller's arrays nor with each other, as inside a program."""
    results = forward.body.results
    results[:n_primal] = own(results[:n_primal], forward)


def float_leaves(program: Program, call: Arguments) -> list[int]:
    """The leaves of the arguments that carry derivatives."""
    return [k for k in range(len(call.leaves)) if is_float(program.function.params[k].type)]


def forward_program(program: Program, call: Arguments, *, compiled: str = "") -> tuple[Program, list[int]]:
    """A program that returns (value, tangent), and the leaves that its last parameters are the tangents of."""
    wrt = float_leaves(program, call)
    function, positions = tangents(program.function, wrt, compiled=compiled)

    def tangent(k: int) -> Out:
        position = positions[k]
        if position is None:
            position = positions[k] = len(function.body.results)
            function.body.results.append(zero_tangent(Builder(function.body), function.body.results[k]))
        return Out(position)

    result = (program.result, mapped(tangent_spec(program.result), tangent))
    if not compiled:
        finish(function, "forward_program")
    return replace(program, function=function, result=result, arg_names=[], changes=[]), wrt


def zero_tangent(builder: Builder, like: Value) -> Value:
    """The tangent of a result that depends on nothing."""
    return builder.zero(like, dtype=None if is_float(like.type) else _FLOAT)


@dataclass(slots=True, eq=False)
class Reversible:
    """A program and its pullback, as IR."""

    wrt: list[int]  # the leaves of the arguments that cotangents are computed for
    forward: Function  # results: the primal ones, then the pullback's residuals if `is_split`
    pullback: Function  # parameters: residuals, or the primal's own; then the seeds
    n_primal: int
    seeds: list[int]  # the primal results that have a seed
    gradients: list[int | None]  # position of each leaf's cotangent among the pullback's results
    is_split: bool

    def cotangents(self, call: Arguments) -> tuple[Any, list[int]]:
        """The arguments' cotangents as a tree of the pullback's results; zeros of some leaves stand behind these."""
        where = dict(zip(self.wrt, self.gradients, strict=True))
        missing: list[int] = []

        def leaf(k: int) -> Out:
            position = where.get(k)
            if position is None:
                position = len(self.pullback.results) + len(missing)
                missing.append(k)
            return Out(position)

        trees = [spec_tree(s, iter([leaf(k) for k in call.leaf_range(n)])) for n, s in enumerate(call.positional)]
        return tuple(trees), missing


def reversible(program: Program, call: Arguments, wrt: list[int] | None = None, *, compiled: str = "") -> Reversible:
    """Split code where that is possible, else a pullback that runs the program again; by all floats, or some leaves."""
    wrt = float_leaves(program, call) if wrt is None else wrt
    f = numbers(program.function, smooth=True, compiled=compiled) if compiled else program.function
    if any(isinstance(v.type, List) and is_float(v.type) for v in f.results):
        raise TypeProblem(
            "DJ319",
            f"`{f.name}` returns a list whose length is only known at run time: its cotangent has no form yet",
            loc=Loc(f.source_file, f.source_line, 0, 0, f.name),
            cure="return np.array(items)",
        )
    results = [k for k, v in enumerate(f.results) if is_float(v.type) and hasattr(v.type, "dtype")]
    parts = split(f, wrt, results)
    if parts is not None:
        return Reversible(wrt, parts.forward, parts.pullback, parts.n_primal, parts.seeds, parts.gradients, True)
    r = reverse(f, wrt, results)
    positions: list[int | None] = []
    r.function.body.results = list(r.primal)
    for g in r.gradients:
        positions.append(None if g is None else len(r.function.body.results))
        if g is not None:
            r.function.body.results.append(g)
    finish(r.function, "reverse")
    forward = finish(own_copy(f), "forward") if mutated_params(f) else f
    return Reversible(wrt, forward, r.function, len(f.results), list(results), positions, False)
