"""Builds gradients of programs: imported with the first one that is not in the cache."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from diffjit import tree
from diffjit.api.engine.derived import resolve
from diffjit.api.engine.programs import Arguments
from diffjit.errors import TypeProblem, UsageError
from diffjit.frontend.entry.outputs import OptOut, Out, RecordOut, mapped
from diffjit.frontend.entry.results import Program
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Function, Loc
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.ir.walk import always_raises
from diffjit.stored import stored
from diffjit.streams import is_stream
from diffjit.transforms.pipeline import finish, joint, without_value

if TYPE_CHECKING:
    from diffjit.api.grad import Gradient


def differentiated(
    program: Program, which: list[int | str], call: Arguments, *, holomorphic: bool = False, real: str = ""
) -> list[int]:
    """The float leaves among the chosen arguments; refuses ints with a message that says so.

    With `holomorphic` all must be complex; with `real`, the name of the verb that says so, none may be.
    """
    wrt: list[int] = []
    for argument in which:
        leaves = list(call.leaf_range(argument))
        floats = [k for k in leaves if is_float(program.function.params[k].type)]
        if not floats:
            refuse_int(argument, leaves, program, call)
        for k in floats:
            is_complex = program.function.params[k].type.dtype.kind == "c"
            name = _quoted(argument, program, leaves)
            if holomorphic and not is_complex:
                raise not_holomorphic(
                    program,
                    f"a holomorphic derivative by argument {name}, which is real",
                    f"pass complex({name[1:-1]})",
                )
            if real and is_complex and not holomorphic:
                cure = "if it is holomorphic, say holomorphic=True; else take `jacrev` of a real result, or `jvp`"
                raise not_holomorphic(program, f"{real} by the complex argument {name}", cure)
        wrt += floats
    return wrt


def not_holomorphic(program: Program, problem: str, cure: str) -> TypeProblem:
    """The error where numbers are not of the kind that a derivative asks for, real or complex."""
    return TypeProblem("DJ325", problem, loc=place(program), cure=cure, python=TypeError)


COMPLEX_RESULT = "return its real part, or abs(z)**2; if the function is holomorphic, say holomorphic=True"
REAL_RESULT = "leave out holomorphic=True: the gradient of a real function has a meaning by complex arguments, too"


def refuse_int(argument: int | str, leaves: list[int], program: Program, call: Arguments) -> None:
    """The error for an argument without floats."""
    name = _quoted(argument, program, leaves)
    if not leaves:
        raise UsageError(
            "DJ502",
            f"argument {name} of `{program.function.name}` holds no numbers to differentiate by",
            loc=place(program),
            cure="choose an argument of floats with argnums",
        )
    kind = call.leaves[leaves[0]]
    described = f"an array of {kind.dtype}" if isinstance(kind, np.ndarray) else f"an {type(kind).__name__}"
    cure = (
        f"pass a float array: {name.strip('`')}.astype(float)"
        if isinstance(kind, np.ndarray)
        else f"pass a float, e.g. {float(kind)!r}"
    )
    raise UsageError("DJ501", f"gradient by argument {name}, which is {described}", loc=place(program), cure=cure)


def place(program: Program) -> Loc | None:
    """Where the function is defined."""
    f = program.function
    return None if not f.source_file else Loc(f.source_file, f.source_line, 0, 0, f.name)


def without_extras(program: Program) -> Any:
    """The value of a function that returns (value, extras)."""
    spec = program.result
    if not isinstance(spec, tuple) or len(spec) != 2:
        raise UsageError(
            "DJ506",
            f"has_aux=True, but `{program.function.name}` does not return a pair (value, aux)",
            loc=place(program),
            cure="return value, aux",
        )
    return spec[0]


def scalar_result(derived: Gradient, program: Program) -> Out:
    """The one result that is differentiated."""
    if program.result is None and always_raises(program.function.body):
        program.result = (0.0, None) if derived.has_aux else 0.0  # the call says what is wrong
    spec = program.result
    if derived.has_aux:
        spec = without_extras(program)
    spec = number_within(spec)
    if isinstance(spec, (complex, np.complexfloating) if derived.holomorphic else (float, np.floating)):
        return constant_result(program)
    if isinstance(spec, OptOut) and isinstance(spec.inner, Out):
        spec = certain_result(derived, program, spec)
    if isinstance(spec, Out):
        ty = program.function.results[spec.index].type
        if isinstance(ty, (Scalar, Array)) and (isinstance(ty, Scalar) or ty.ndim == 0):
            if ty.dtype.kind == ("c" if derived.holomorphic else "f"):
                return spec
            if ty.dtype.kind in "cf":
                raise wrong_result(program, f"`{program.function.name}` returns", derived.holomorphic)
    elif isinstance(spec, (float, complex, np.inexact)):
        raise wrong_result(program, f"`{program.function.name}` returns", derived.holomorphic)
    from diffjit.frontend.entry.results import in_words
    from diffjit.frontend.values.join import describe_type

    returned = describe_type(program.function.results[spec.index].type) if isinstance(spec, Out) else in_words(spec)
    raise TypeProblem(
        "DJ320",
        f"the gradient needs a function that returns one float; `{program.function.name}` returns {returned}",
        loc=place(program),
        cure=_instead(spec, program.function.results[spec.index].type.dtype if isinstance(spec, Out) else None),
    )


def _instead(spec: Any, dtype: np.dtype[Any] | None) -> str:
    """What to return in place of something that is not one float."""
    if spec is None:
        return "end the function with `return` and a float"
    if isinstance(spec, tuple):
        return "return one float; `has_aux=True` takes (value, extras), `jacobian` has derivatives of several results"
    if isinstance(spec, (bool, int, np.integer, np.bool_)) or (dtype is not None and dtype.kind in "biu"):
        return "integers and truth values have no derivative: return a float, and compute it in arrays of floats"
    return "return a float (for example a sum), or take `jacobian` (`hessian` for the gradient of a gradient)"


def number_within(spec: Any) -> Any:
    """The number that an array of xarray without dimensions holds; other results as they are."""
    known = stored(spec.cls) if isinstance(spec, RecordOut) else None
    return spec.fields["held_values"] if known is not None and known.labelled and "held_values" in spec.fields else spec


def wrong_result(program: Program, subject: str, holomorphic: bool) -> TypeProblem:
    """The error for a real result of a holomorphic function, and for a complex one of another."""
    if holomorphic:
        return not_holomorphic(program, f"{subject} a real number, which no holomorphic function does", REAL_RESULT)
    return not_holomorphic(program, f"{subject} a complex number", COMPLEX_RESULT)


def certain_result(derived: Gradient, program: Program, spec: OptOut) -> Out:
    """A result that may be None: where it is, the program raises."""
    body = program.function.body
    message = f"`{program.function.name}` returned None: there is nothing to differentiate [DJ320]"
    Builder(body).raise_where(body.results[spec.flag], TypeError, message)
    inner: Out = spec.inner
    program.result = (inner, program.result[1]) if derived.has_aux else inner
    return inner


def derive(derived: Gradient, program: Program, call: Arguments, *, compiled: str) -> Program:
    """The gradient of a program."""
    which = resolve(derived.function, derived.argnums, call)
    wrt = differentiated(program, which, call, holomorphic=derived.holomorphic)
    value = scalar_result(derived, program)
    function, positions = joint(program.function, wrt, value.index, compiled=compiled)
    where = dict(zip(wrt, positions, strict=True))
    trees = [
        spec_tree(call.structure(a), iter([bar(function, k, where.get(k), call) for k in call.leaf_range(a)]))
        for a in which
    ]
    gradients = trees[0] if isinstance(derived.argnums, (int, str)) else tuple(trees)
    result: Any = gradients
    if derived.with_value:
        result = (program.result, gradients)
    elif derived.has_aux:
        result = (gradients, program.result[1])
    elif compiled:  # nothing computes a value that nobody asks for
        wanted: list[int] = []
        result = mapped(result, lambda k: wanted.append(k) or Out(len(wanted) - 1))
        without_value(function, wanted)
    if not compiled:
        finish(function, "gradient_program")
    return replace(program, function=function, result=result, changes=[])


def bar(function: Function, k: int, position: int | None, call: Arguments) -> Any:
    """Where the cotangent of a parameter stands among the results; zeros are added, an int has a constant."""
    if is_stream(call.leaves[k]):
        return None
    if position is not None:
        return Out(position)
    ty = function.params[k].type
    if isinstance(ty, Scalar) and not is_float(ty):
        return ty.dtype.type(0) if not ty.weak else 0
    with_zero = Builder(function.body).zero(function.params[k])
    function.body.results.append(with_zero)
    return Out(len(function.body.results) - 1)


def constant_result(program: Program) -> Out:
    """A function that returns a constant: its gradient is zero."""
    f = program.function
    spec = program.result[0] if isinstance(program.result, tuple) else program.result
    f.body.results.append(
        Builder(f.body).const(complex(spec) if isinstance(spec, (complex, np.complexfloating)) else float(spec))
    )
    return Out(len(f.body.results) - 1)


def spec_tree(structure: tree.Structure, leaves: Any) -> Any:
    """A tree of results in the structure of an argument."""
    if structure.spec is None:
        return next(leaves)
    slots = []
    for slot in structure.slots:
        if isinstance(slot, tree.Leaf):
            slots.append(next(leaves))
        elif isinstance(slot, tree.Fixed):
            slots.append(slot.value)
        else:
            inner = spec_tree(slot.inner, leaves)
            slots.append(RecordOut(tree.parts_class(slot.cls), dict(zip(slot.names, inner, strict=True))))
    return optree.tree_unflatten(structure.spec, slots)


def _quoted(argument: int | str, program: Program, leaves: list[int]) -> str:
    if isinstance(argument, str):
        return f"`{argument}`"
    name = program.arg_names[leaves[0]] if leaves and leaves[0] < len(program.arg_names) else ""
    return f"`{name}`" if name else f"number {argument}"
