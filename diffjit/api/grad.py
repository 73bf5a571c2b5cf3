"""`grad` and `value_and_grad`: gradients of scalar functions by reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.api.derived import Derived, resolve
from diffjit.api.inline import inline_gradient, verb
from diffjit.api.programs import Arguments, Compiled, executable, flatten_call, program_of
from diffjit.errors import NoRule, TypeProblem, UsageError
from diffjit.frontend.program import Program
from diffjit.frontend.results import OptOut, Out, RecordOut, rebuild
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Loc
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.transforms.pipeline import finish, joint


class Gradient(Derived):
    """The gradient of a scalar function, with or without its value."""

    def __init__(self, function: Any, argnums: Any, *, has_aux: bool, with_value: bool, backend: str | None) -> None:
        super().__init__(function, backend)
        self.argnums = argnums
        self.has_aux = has_aux
        self.with_value = with_value

    def build(self, program: Program, call: Arguments) -> tuple[Compiled, Callable[..., Any]]:
        """The compiled function, and how its flat results become this function's."""
        which = resolve(self.function, self.argnums, call)
        wrt, _ = self.differentiated(program, which, call)
        value = self.scalar_result(program)
        function, positions = joint(program.function, wrt, value.index)
        compiled = executable(program, function, self.backend, unchanged=True)
        where = dict(zip(wrt, positions, strict=True))
        picks = self.picks(which, where, call)
        if picks is not None and not (self.with_value or self.has_aux):
            return compiled, lambda outs, _: _take(outs, picks)

        def finish(outs: tuple[Any, ...], now: Arguments) -> Any:
            gradients = self.gradient_tree(which, where, outs, now) if picks is None else _take(outs, picks)
            if not (self.with_value or self.has_aux):
                return gradients
            result = rebuild(program.result, list(outs))
            if not self.with_value:
                return (gradients, result[1]) if self.has_aux else gradients
            return result, gradients

        return compiled, finish

    def picks(
        self, which: list[int | str], where: dict[int, int | None], call: Arguments
    ) -> int | tuple[int, ...] | None:
        """The positions of gradients by plain numbers and arrays among the results; None where there is more to do."""
        found: list[int] = []
        for argument in which:
            leaves = call.leaf_range(argument)
            position = where.get(leaves[0]) if len(leaves) == 1 else None
            if position is None or not call.structure(argument).is_leaf():
                return None
            found.append(position)
        return found[0] if isinstance(self.argnums, (int, str)) else tuple(found)

    def gradient_tree(
        self, which: list[int | str], where: dict[int, int | None], outs: tuple[Any, ...], call: Arguments
    ) -> Any:
        """Gradients in the structure of the arguments."""
        trees = []
        for argument in which:
            leaves = (gradient_leaf(call.leaves[k], where.get(k), outs, k in where) for k in call.leaf_range(argument))
            trees.append(call.structure(argument).unflatten(leaves))
        return trees[0] if isinstance(self.argnums, (int, str)) else tuple(trees)

    def differentiated(self, program: Program, which: list[int | str], call: Arguments) -> tuple[list[int], list[int]]:
        """The float leaves among the chosen arguments; refuses ints with a message that says so."""
        wrt: list[int] = []
        for argument in which:
            leaves = list(call.leaf_range(argument))
            floats = [k for k in leaves if is_float(program.function.params[k].type)]
            if not floats:
                self.refuse_int(argument, leaves, program, call)
            for k in floats:
                if program.function.params[k].type.dtype.kind == "c":
                    raise NoRule(
                        "DJ203",
                        f"gradient by the complex argument {_quoted(argument, program, leaves)}",
                        loc=self.place(program),
                        cure="complex gradients are not supported yet: pass the real and imaginary parts "
                        "as separate arguments",
                    )
            wrt += floats
        return wrt, wrt

    def refuse_int(self, argument: int | str, leaves: list[int], program: Program, call: Arguments) -> None:
        """The error for an argument without floats."""
        name = _quoted(argument, program, leaves)
        if not leaves:
            raise UsageError(
                "DJ502",
                f"argument {name} of `{program.function.name}` holds no numbers to differentiate by",
                loc=self.place(program),
                cure="choose an argument of floats with argnums",
            )
        kind = call.leaves[leaves[0]]
        described = f"an array of {kind.dtype}" if isinstance(kind, np.ndarray) else f"an {type(kind).__name__}"
        cure = (
            f"pass a float array: {name.strip('`')}.astype(float)"
            if isinstance(kind, np.ndarray)
            else f"pass a float, e.g. {float(kind)!r}"
        )
        raise UsageError(
            "DJ501", f"gradient by argument {name}, which is {described}", loc=self.place(program), cure=cure
        )

    def place(self, program: Program) -> Loc | None:
        """Where the function is defined."""
        f = program.function
        return None if not f.source_file else Loc(f.source_file, f.source_line, 0, 0, f.name)

    def scalar_result(self, program: Program) -> Out:
        """The one result that is differentiated."""
        spec = program.result
        if self.has_aux:
            if not isinstance(spec, tuple) or len(spec) != 2:
                raise UsageError(
                    "DJ506",
                    f"has_aux=True, but `{program.function.name}` does not return a pair (value, aux)",
                    loc=self.place(program),
                    cure="return value, aux",
                )
            spec = spec[0]
        if isinstance(spec, float):
            return constant_result(program)
        if isinstance(spec, OptOut) and isinstance(spec.inner, Out):
            spec = self.certain_result(program, spec)
        if isinstance(spec, Out):
            ty = program.function.results[spec.index].type
            if isinstance(ty, (Scalar, Array)) and (isinstance(ty, Scalar) or ty.ndim == 0) and ty.dtype.kind == "f":
                return spec
            if isinstance(ty, (Scalar, Array)) and ty.dtype.kind == "c" and (isinstance(ty, Scalar) or ty.ndim == 0):
                raise NoRule(
                    "DJ203",
                    f"`{program.function.name}` returns a complex number",
                    loc=self.place(program),
                    cure="return its real part, or abs(z)**2",
                )
        from diffjit.frontend.join import describe_type

        returned = (
            describe_type(program.function.results[spec.index].type)
            if isinstance(spec, Out)
            else f"{type(spec).__name__}"
        )
        raise TypeProblem(
            "DJ320",
            f"the gradient needs a function that returns one float; `{program.function.name}` returns {returned}",
            loc=self.place(program),
            cure="return a float (for example a sum), or use `vjp`/`jvp` for several results; "
            "`has_aux=True` for (value, extras)",
        )

    def certain_result(self, program: Program, spec: OptOut) -> Out:
        """A result that may be None: where it is, the program raises."""
        body, leave = program.function.body, Block()
        message = f"`{program.function.name}` returned None: there is nothing to differentiate [DJ320]"
        Builder(leave).op("raise", [], exception=TypeError, parts=(message,))
        Builder(body).op("if", [body.results[spec.flag]], regions=[leave, Block()])
        inner: Out = spec.inner
        program.result = (inner, program.result[1]) if self.has_aux else inner
        return inner

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The gradient as a program of its own: transforms compose."""
        return self.derive(program_of(self.function, args, kwargs), flatten_call(args, kwargs))

    def derive(self, inner: Program, call: Arguments) -> Program:
        """The gradient of a program."""
        which = resolve(self.function, self.argnums, call)
        wrt, _ = self.differentiated(inner, which, call)
        value = self.scalar_result(inner)
        function, positions = joint(inner.function, wrt, value.index)
        where = dict(zip(wrt, positions, strict=True))
        spec = self._spec(inner, which, where, call, function)
        finish(function, "gradient_program")
        return Program(function, inner.n_args, inner.captures, inner.guards, spec, inner.fixed, inner.arg_names)

    def _spec(
        self, inner: Program, which: list[int | str], where: dict[int, int | None], call: Arguments, function: Any
    ) -> Any:
        """The result's tree; results that are not part of it are dropped."""
        zeros: dict[int, int] = {}

        def position(k: int) -> Any:
            p = where.get(k)
            if p is not None:
                return Out(p)
            if k not in where:
                return 0
            if k not in zeros:
                zeros[k] = len(function.body.results)
                function.body.results.append(zero_like(function, function.params[k]))
            return Out(zeros[k])

        trees = [spec_tree(call.structure(a), iter([position(k) for k in call.leaf_range(a)])) for a in which]
        gradients = trees[0] if isinstance(self.argnums, (int, str)) else tuple(trees)
        result = inner.result
        if self.with_value:
            return (result, gradients)
        return (gradients, result[1]) if self.has_aux else gradients

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        return inline_gradient(self, interpreter, args, kwargs, node)


def _take(outs: tuple[Any, ...], positions: int | tuple[int, ...]) -> Any:
    return outs[positions] if isinstance(positions, int) else tuple([outs[p] for p in positions])


def constant_result(program: Program) -> Out:
    """A function that returns a constant: its gradient is zero."""
    f = program.function
    spec = program.result[0] if isinstance(program.result, tuple) else program.result
    f.body.results.append(Builder(f.body).const(float(spec)))
    return Out(len(f.body.results) - 1)


def spec_tree(structure: tree.Structure, leaves: Any) -> Any:
    """A tree of results in the structure of an argument."""
    import optree

    slots = []
    for slot in structure.slots:
        if isinstance(slot, tree.Leaf):
            slots.append(next(leaves))
        elif isinstance(slot, tree.Fixed):
            slots.append(slot.value)
        else:
            inner = spec_tree(slot.inner, leaves)
            slots.append(RecordOut(slot.cls, dict(zip(slot.names, inner, strict=True))))
    return optree.tree_unflatten(structure.spec, slots)


def zero_like(function: Any, param: Any) -> Any:
    """A zero of a parameter's type, made at the end of a program."""
    builder = Builder(function.body)
    if isinstance(param.type, Array):
        return builder.value("zeros_like", [param], Array(param.type.dtype, param.type.dims, param.type.layout))
    return builder.const(0.0, param.type)


def gradient_leaf(leaf: Any, position: int | None, outs: tuple[Any, ...], chosen: bool) -> Any:
    """The gradient by one leaf, in the leaf's own type; zero where nothing depends on it."""
    if not chosen:
        return np.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(0)
    if position is not None:
        return outs[position]
    return np.zeros_like(leaf, subok=False) if isinstance(leaf, np.ndarray) else type(leaf)(0)


def _quoted(argument: int | str, program: Program, leaves: list[int]) -> str:
    if isinstance(argument, str):
        return f"`{argument}`"
    name = program.arg_names[leaves[0]] if leaves and leaves[0] < len(program.arg_names) else ""
    return f"`{name}`" if name else f"number {argument}"


def _decorate(function: Any, make: Callable[[Any], Any]) -> Any:
    return make if function is None else make(function)


@verb
def grad(fun: Any = None, argnums: Any = 0, has_aux: bool = False, *, backend: str | None = None) -> Any:
    """The gradient of a function that returns one float.

    fun       the function; without it, a decorator (`@dj.grad(argnums="w")`)
    argnums   position or name of the argument to differentiate by, or a sequence of them
    has_aux   the function returns (value, aux); the gradient function then returns (gradient, aux)
    backend   "numba" (compiled) or "python" (readable text); the default is `settings.backend`

    The result takes the same arguments; gradients have the shape, class and dtype of the arguments.
    Raises `DiffjitError` with the user's line where a program cannot be differentiated.
    """
    return _decorate(fun, lambda f: Gradient(f, argnums, has_aux=has_aux, with_value=False, backend=backend))


@verb
def value_and_grad(fun: Any = None, argnums: Any = 0, has_aux: bool = False, *, backend: str | None = None) -> Any:
    """Like `grad`, but the result is (value, gradient); with `has_aux`, ((value, aux), gradient)."""
    return _decorate(fun, lambda f: Gradient(f, argnums, has_aux=has_aux, with_value=True, backend=backend))
