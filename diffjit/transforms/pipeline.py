"""The passes in order, and the dump of every stage (`DIFFJIT_DUMP=folder`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.passes import DERIVED, Pass, Phase, run_passes
from diffjit.ir.raising import tests_index
from diffjit.ir.stages import note, record
from diffjit.ir.types import Scalar, is_float
from diffjit.ir.verify import verify
from diffjit.ir.walk import clone, dce, unused_but_raising, walk
from diffjit.transforms.longints import long_integers
from diffjit.transforms.modes.columns import Apart, Columns
from diffjit.transforms.modes.forward import Several, forward
from diffjit.transforms.modes.shared_unions import fewer_unions
from diffjit.transforms.optimise.algebra import simplify_products
from diffjit.transforms.optimise.batches import in_batches
from diffjit.transforms.optimise.cse import share_common
from diffjit.transforms.optimise.dummies import define_dummies
from diffjit.transforms.optimise.masks import condition_sums
from diffjit.transforms.optimise.needless.skipped import skip_zeros
from diffjit.transforms.optimise.needless.unneeded import drop_contents, drop_copies
from diffjit.transforms.optimise.needless.unread import adopt, drop_unread, lengths_of_arguments
from diffjit.transforms.optimise.products.lanes import join_products
from diffjit.transforms.optimise.products.turns import join_turns
from diffjit.transforms.optimise.scalarise import scalarise
from diffjit.transforms.optimise.simplify import simplify
from diffjit.transforms.optimise.tables import tabulate
from diffjit.transforms.optimise.tidy import labelled, tidy
from diffjit.transforms.optimise.updates import in_place
from diffjit.transforms.reverse.reverse import Reversed, reverse
from diffjit.transforms.squares import smooth_squares


def _share_again(function: Function) -> None:
    if join_products(function):
        simplify(function)
        share_common(function)


def _join_turns(function: Function) -> None:
    if join_turns(function):
        share_common(function)


def _shorten(function: Function) -> None:
    """What the algebra made equal is computed once, and joins that join nothing go."""
    share_common(function)
    simplify(function)


def _batch(function: Function) -> Function | None:
    if not any(op.row.loop for op in function.body.ops) or any("turn" in op.attrs for op in function.body.ops):
        return None  # ways back keep to the order of tapes
    made = clone(function)
    if not in_batches(made):
        return None
    share_common(made)
    return made


PASSES = (
    Pass("simplify", simplify, optional=False),
    Pass("cse", share_common, needs=("simplify",)),
    Pass("long-ints", long_integers, needs=("cse",), optional=False, phases=frozenset({Phase.PROGRAM})),
    Pass("squares", smooth_squares, needs=("cse",), optional=False, phases=frozenset({Phase.PROGRAM})),
    Pass("masks", condition_sums, needs=("cse",), phases=frozenset({Phase.PROGRAM})),
    Pass("products", _share_again, needs=("cse",)),
    Pass("tidy", tidy, needs=("cse",), phases=DERIVED),
    Pass("algebra", simplify_products, needs=("tidy",), phases=DERIVED),
    Pass("shorten", _shorten, needs=("algebra",), phases=DERIVED),
    Pass("in-place", in_place, needs=("shorten",), phases=DERIVED),
    Pass("adopt", adopt, needs=("in-place",), phases=frozenset({Phase.SETTLED})),
    Pass("dummies", define_dummies, needs=("simplify",), optional=False),
)
"""What runs on each program: as it was interpreted, after each mode, and before it is compiled."""

VALUELESS = (
    Pass("contents", drop_contents),
    Pass("unchanged", drop_copies),
    Pass("simplify", simplify, optional=False),
    Pass("copies", tidy),
)
"""What runs where results have been taken away, and with them what computed them."""

NUMBERS = (
    Pass("turns", _join_turns),
    Pass("scalarise", scalarise, phases=frozenset({Phase.SETTLED})),
    Pass("smooth", lambda function: scalarise(function, smooth=True), phases=frozenset({Phase.PROGRAM})),
    Pass("tabulate", tabulate),
    Pass("batches", _batch),
    Pass("skip", skip_zeros, phases=frozenset({Phase.SETTLED})),
)
"""What runs on a program for machine code: on one that is compiled as it is, or that will be differentiated first."""

LANES_APART = tuple(p for p in NUMBERS if p.name != "batches")
"""The same for a device, where each turn is a lane of its own."""

SETS = (Pass("unions", fewer_unions),)
"""What runs on a program that finds which inputs its results depend on, before it is machine code."""


def finish(function: Function, label: str, phase: Phase = Phase.DERIVATIVE) -> Function:
    """Run the passes on a program that has just been made, verify and dump it; `label` names its stages."""
    record(label, function)
    distinct_names(function)
    with labelled(function):
        run_passes(function, PASSES, phase, label)
    verify(function)
    dump(label, function)
    return function


def distinct_names(function: Function) -> None:
    """Parameters with names of their own: leaves of one tree may share a hint."""
    taken: set[str] = set()
    for k, p in enumerate(function.params):
        name = p.name or f"arg{k}"
        count = 1
        while name in taken:
            name = f"{p.name}_{count}"
            count += 1
        taken.add(name)
        p.name = name


def dump(stage: str, function: Function) -> None:
    """Write a stage as text into the dump folder, if one is set."""
    note(stage, "py", lambda: readable(function))


def readable(function: Function) -> str:
    """The text at the level of the user's code."""
    from diffjit.analysis.proven import proofs
    from diffjit.ir.text.expressions import SourcePrinter
    from diffjit.ir.text.printer import print_module  # imports astor, which programs that are only compiled do without
    from diffjit.primitives.semantics import printed

    return print_module(function, SourcePrinter(printed(), proofs(function)))


def _unused_on_the_way_there(function: Function) -> Callable[[Op], bool]:
    """For `dce`: what the program computes in vain now, and what may raise in Python, stays."""
    ops = function.body.ops
    turn = next((k for k, op in enumerate(ops) if "turn" in op.attrs), len(ops))
    back = {id(inner) for inner in walk(Block([], ops[turn:]))}
    return lambda op: tests_index(op) or (id(op) not in back and unused_but_raising(op))


def without_value(function: Function, wanted: list[int]) -> None:
    """Leave these of the results, and what they need, in place."""
    function.body.results = [function.body.results[k] for k in wanted]
    stays = _unused_on_the_way_there(function)
    for drop in (lengths_of_arguments, drop_unread):
        drop(function)
        dce(function, stays)
    run_passes(function, VALUELESS, Phase.SETTLED, "valueless")
    verify(function)
    dump("valueless", function)


def numbers(function: Function, *, smooth: bool = False, compiled: str = "numba") -> Function:
    """The program for machine code: small arrays of fixed shape are numbers, what loops repeat is in tables.

    `smooth`: it will be differentiated. `compiled`: the backend.
    """
    passes = LANES_APART if compiled == "cuda" else NUMBERS
    made = run_passes(function, passes, Phase.PROGRAM if smooth else Phase.SETTLED, "numbers")
    if made is not function:
        verify(made)
        dump("numbers", made)
    return made


def for_sets(function: Function) -> Function:
    """A program with sets (`transforms.modes.sets`) for machine code."""
    made = run_passes(numbers(finish(function, "sets", Phase.SETTLED)), SETS, Phase.SETTLED, "sets")
    verify(made)
    dump("unions", made)
    return made


def seeded(result: Reversed) -> Function:
    """Joint code: the cotangent of the one differentiated result is 1."""
    f = result.function
    constants: list[Op] = []
    for seed in result.seeds:
        ty = seed.type
        one = seed if isinstance(ty, Scalar) else Value(Scalar(ty.dtype), None)
        op = Op("const", [], [one], {"value": _one(ty)})
        one.op, one.block = op, f.body
        constants.append(op)
        if one is not seed:  # a 0-d array
            full = Op("full", [one], [seed], {"order": "C"})
            seed.op, seed.block = full, f.body
            constants.append(full)
        f.params.remove(seed)
    f.body.ops[:0] = constants
    return f


def _one(ty: Any) -> Any:
    if isinstance(ty, Scalar) and ty.weak:
        return 1.0 + 0.0j if ty.dtype.kind == "c" else 1.0
    return ty.dtype.type(1.0)


def joint(function: Function, wrt: list[int], result: int, *, compiled: str = "") -> tuple[Function, list[int | None]]:
    """Values and gradients in one function: results are the primal results, then the gradients that exist.

    Returns the function and, for each input, the position of its gradient among the results (None: it is zero).
    """
    r = reverse(numbers(function, smooth=True, compiled=compiled) if compiled else function, wrt, [result])
    f = seeded(r)
    positions: list[int | None] = []
    f.body.results = list(r.primal)
    for g in r.gradients:
        positions.append(None if g is None else len(f.body.results))
        if g is not None:
            f.body.results.append(g)
    f.name = f"{function.name}_grad"
    return finish(f, "reverse"), positions


def tangents(function: Function, wrt: list[int], *, compiled: str = "") -> tuple[Function, list[int | None]]:
    """Values and tangents in one function: primal results, then the tangents that exist (positions; None: zero)."""
    t = forward(numbers(function, smooth=True, compiled=compiled) if compiled else function, wrt)
    f = t.function
    f.body.results = list(t.primal)
    positions: list[int | None] = []
    for g in t.tangents:
        positions.append(None if g is None else len(f.body.results))
        if g is not None:
            f.body.results.append(g)
    f.name = f"{function.name}_jvp"
    return finish(f, "forward"), positions


def several_tangents(function: Function, wrt: list[int], count: int) -> tuple[Function, list[list[int] | None]]:
    """Values and several tangents in one function: the primal results, then those of each result that has tangents.

    Parameters: the function's own, then the tangents of each one in `wrt`, one after the other. Returns the function
    and, for each result, the positions of its tangents (None: they are zero).
    """
    made = Several(function, wrt, count).accompany()
    positions = made.returned()
    made.function.name = f"{function.name}_jvp"
    return finish(made.function, "forward"), positions


def all_tangents(function: Function, wrt: list[int]) -> tuple[Function, list[int | None]] | None:
    """Values and tangents for any number of columns in one function; None for a program that has no such form.

    Parameters: the function's own, then the tangents of each one in `wrt`, with columns as the last axis, the
    first column and their number. Returns the function and, for each result, the position of its tangent (None: it is
    zero).
    """
    try:
        made = Columns(function, wrt).run()
    except Apart:
        return None
    positions = [None if p is None else p[0] for p in made.returned()]
    made.function.name = f"{function.name}_jvp"
    return finish(made.function, "forward"), positions


__all__ = [
    "Any",
    "Block",
    "Value",
    "all_tangents",
    "dump",
    "finish",
    "is_float",
    "joint",
    "seeded",
    "several_tangents",
    "tangents",
]
