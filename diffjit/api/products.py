"""`jvp` and `vjp`: products with the Jacobian and with its transpose."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit import tree
from diffjit.api.engine.derived import Derived, cached
from diffjit.api.engine.programs import Arguments, Compiled, flatten_call
from diffjit.api.engine.tracebacks import boundary, shorten
from diffjit.errors import UsageError
from diffjit.frontend.entry.outputs import OptOut, Out, RecordOut, RowsOut, TableOut, mapped, rebuild, same_class
from diffjit.labels import Constant, Labels, identical
from diffjit.streams import copied, is_stream

if TYPE_CHECKING:
    from diffjit.frontend.entry.results import Program


class ForwardProduct(Derived):
    """Value and tangent of a function."""

    takes = ("forward",)

    def form(self) -> tuple[Any, ...] | None:
        """It has no choices."""
        return ("jvp",)

    def transform(self, program: Program, call: Arguments, *, compiled: str = "") -> Program:
        """The program of both; its last parameters are the tangents."""
        from diffjit.api.product_programs import forward_program

        return forward_program(program, call, compiled=compiled)[0]


@boundary
def jvp(fun: Any, primals: Any, tangents: Any, has_aux: bool = False, *, backend: str | None = None) -> Any:
    """Value and directional derivative: `(fun(*primals), d fun(*primals) . tangents)`.

    primals, tangents   tuples of the same structure, one entry per positional argument
    has_aux             fun returns (value, aux); the result is (value, tangent, aux)
    """
    if (
        not isinstance(primals, (tuple, list))
        or not isinstance(tangents, (tuple, list))
        or len(primals) != len(tangents)
    ):
        raise UsageError(
            "DJ507", "jvp takes a tuple of primals and a tuple of as many tangents", cure="dj.jvp(f, (x,), (x_dot,))"
        )
    product = cached(ForwardProduct, fun, backend)
    given = product.taken(tuple(primals), tuple(tangents))
    primals, tangents = given.args
    call = flatten_call(primals, {})
    compiled, finish = product.lookup(call, primals, {})
    dots = matching(call, tangents)
    along = [dots[k] for k, leaf in enumerate(call.leaves) if _is_float(leaf)]
    value, tangent = given.given_back(rebuild(finish.value, call.results(_run(compiled, call.leaves, along))))
    if has_aux:
        return value[0], tangent[0], value[1]
    return value, tangent


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, (float, complex)) or (
        isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fc"
    )


def _run(compiled: Compiled, leaves: list[Any], more: list[Any]) -> tuple[Any, ...]:
    """Call a program whose parameters are leaves, captures, then tangents or seeds."""
    return compiled(leaves, more)


def matching(call: Arguments, tangents: tuple[Any, ...]) -> dict[int, Any]:
    """Tangents leaf by leaf, in the dtype and shape of the primals."""
    found: dict[int, Any] = {}
    for k, (structure, tangent) in enumerate(zip(call.positional, tangents, strict=True)):
        places = list(call.leaf_range(k))
        if len(places) == 1 and is_stream(call.leaves[places[0]]):
            found[places[0]] = None  # whatever is given there
            continue
        leaves, other = tree.flatten(tangent)
        if len(leaves) != len(places) or len(other.slots) != len(structure.slots):
            raise UsageError(
                "DJ507",
                f"tangent {k} does not have the structure of primal {k}",
                cure="give a tangent for each number and array",
            )
        refuse_other_labels(structure, other, f"tangent {k}")
        for place, leaf in zip(places, leaves, strict=True):
            found[place] = as_like(leaf, call.leaves[place], f"tangent {k}")
    return found


def refuse_other_labels(expected: tree.Structure, given: tree.Structure, what: str) -> None:
    """Numbers go with those that stand at the same places: their labels must be the same."""
    pairs = zip(tree.labels_of((expected,)), tree.labels_of((given,)), strict=False)
    if any(a.held is not None and b.held is not None and not identical(a.held, b.held) for a, b in pairs):
        message, cure = f"{what} has other labels than its value", "bring it into the same order, s.reindex(x.index)"
        raise UsageError("DJ507", message, cure=cure)


def as_like(value: Any, like: Any, what: str) -> Any:
    """A cotangent or tangent in the form of the value it belongs to."""
    refuse_complex(value, like, what)
    if isinstance(like, np.ndarray):
        array = np.asarray(value, dtype=like.dtype)
        if array.shape != like.shape:
            raise UsageError(
                "DJ507", f"{what} has shape {array.shape}, its value has shape {like.shape}", cure="shapes must agree"
            )
        # The program was compiled for the primal's layout, or for C's order where it is neither's, and knows which
        # lengths are 1; machine code that another process has left does not ask.
        order = "F" if like.flags.f_contiguous and not like.flags.c_contiguous else "C"
        given = np.array(array, dtype=like.dtype, order=order, copy=None)
        return given if given.flags.aligned and given.flags.writeable else given.copy(order=order)
    if np.ndim(value):
        raise UsageError(
            "DJ507", f"{what} has shape {np.shape(value)}, its value is a number", cure="shapes must agree"
        )
    if isinstance(like, np.generic):
        return like.dtype.type(value)
    if isinstance(like, float):
        return float(value)
    if isinstance(like, complex):
        return complex(value)
    return value


def refuse_complex(value: Any, like: Any, what: str) -> None:
    """A real number has a real derivative: an imaginary part would be lost."""
    if _complex(value) and not _complex(like):
        raise UsageError("DJ507", f"{what} is complex, its value is real", cure="take the real part")


def _complex(value: Any) -> bool:
    if isinstance(value, (float, int)):
        return False
    dtype = getattr(value, "dtype", None)
    return dtype.kind == "c" if isinstance(dtype, np.dtype) else np.iscomplexobj(value)


def tangent_spec(spec: Any) -> Any:
    """The tree of tangents: static results have none."""
    if isinstance(spec, Out):
        return spec
    if isinstance(spec, OptOut):
        return OptOut(spec.flag, tangent_spec(spec.inner))
    if isinstance(spec, RecordOut):
        # Ints of the library's own classes are settings, as `maxlen` of a deque is.
        own = hasattr(spec.cls, "__diffjit_made__")
        parts = {n: v if own and isinstance(v, int) else tangent_spec(v) for n, v in spec.fields.items()}
        return RecordOut(tree.parts_class(spec.cls), parts)
    if isinstance(spec, tuple):
        items = [tangent_spec(s) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    if isinstance(spec, list):
        return [tangent_spec(s) for s in spec]
    if isinstance(spec, dict):
        return same_class(spec, {k: tangent_spec(v) for k, v in spec.items()})
    if isinstance(spec, TableOut):
        return TableOut(spec.keys, tangent_spec(spec.values))
    if isinstance(spec, RowsOut):
        return RowsOut(tangent_spec(spec.item), spec.lists, spec.flags, spec.cls)
    if isinstance(spec, (int, np.integer, np.bool_)):
        return 0.0
    return type(spec)(0) if isinstance(spec, (float, complex, np.inexact)) else spec


def aligned(spec: Any, primal: list[Any], tangents: dict[int, Any], zero: Callable[[int], Any]) -> list[Any]:
    """The tangents of a program's results at these results' places; flags and keys among them are their own."""
    leaves: set[int] = set()
    mapped(spec, lambda k: leaves.add(k) or Out(k))
    return [tangents[k] if k in tangents else zero(k) if k in leaves else value for k, value in enumerate(primal)]


def zero(value: Any) -> Any:
    """The tangent of a result that depends on nothing."""
    if isinstance(value, np.ndarray):
        return np.zeros(value.shape, value.dtype if value.dtype.kind in "fc" else np.float64)
    if isinstance(value, (list,)):
        return [zero(v) for v in value]
    return type(value)(0) if isinstance(value, (float, complex, np.floating, np.complexfloating)) else 0.0


class LinearMap:
    """A tangent map or pullback that was made outside of programs.

    Called, it applies compiled code to what was recorded when it was made. Inside a program, and so under other verbs,
    it is made again, at the same point; so it is in another process, at its first call there.
    """

    def __init__(
        self, fun: Any, points: tuple[Any, ...], options: dict[str, Any], apply: Callable[..., Any] | None = None
    ) -> None:
        self.fun, self.points, self.options, self.apply = fun, points, options, apply

    def __call__(self, *args: Any) -> Any:
        """Apply the map."""
        try:
            if self.apply is None:
                self.apply = self.made().apply
            assert self.apply is not None
            return self.apply(*args)
        except BaseException as error:
            shorten(error)
            raise

    def __reduce__(self) -> Any:
        return type(self), (self.fun, self.points, self.options)

    def made(self) -> LinearMap:
        """The same map, made again."""
        raise NotImplementedError

    @functools.cached_property
    def again(self) -> Callable[..., Any]:
        """The map as a program."""
        raise NotImplementedError

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.api.engine.inline import abstract_function

        if any(is_stream(x) for x in tree.flatten(self.points)[0]):  # it would go on where the last run has ended
            raise UsageError(
                "DJ553",
                "the map of a function that draws random numbers is called inside a program",
                cure="make it inside the program, or call it from Python",
            )
        return interpreter.call(abstract_function(interpreter, self.again), args, kwargs, node)


def points_of(call: Arguments) -> tuple[Any, ...]:
    """Copies of the arguments: what a map was made at, whatever their arrays hold later."""
    copies = [x.copy(order="K") if isinstance(x, np.ndarray) else copied(x) if is_stream(x) else x for x in call.leaves]
    return tuple(s.unflatten(copies[k] for k in call.leaf_range(n)) for n, s in enumerate(call.positional))


class PullbackAt(LinearMap):
    """Cotangents of the primals for a cotangent of the result."""

    __name__ = "pullback"

    def made(self) -> LinearMap:
        """The same map, made again."""
        return vjp(self.fun, *self.points, **self.options)[1]

    @functools.cached_property
    def again(self) -> Callable[..., Any]:
        """The map as a program."""
        fun, points = self.fun, self.points

        def pullback(cotangent: Any) -> Any:
            return vjp(fun, *points)[1](cotangent)

        def pullback_beside_aux(cotangent: Any) -> Any:
            return vjp(fun, *points, has_aux=True)[1](cotangent)

        return pullback_beside_aux if self.options["has_aux"] else pullback


class ReverseProduct(Derived):
    """Value and pullback of a function."""

    takes = ("reverse",)

    def build(self, program: Program, call: Arguments) -> tuple[Compiled, Any]:
        """The compiled function, and where its flat results belong."""
        from diffjit.api.product_programs import build_reverse

        return build_reverse(self, program, call)


@boundary
def vjp(fun: Any, *primals: Any, has_aux: bool = False, backend: str | None = None) -> Any:
    """Value and pullback: `(fun(*primals), pullback)`, where pullback(cotangent) gives the primals' cotangents.

    The pullback may be called any number of times; it does not see later changes of the caller's arrays.
    With `has_aux`, fun returns (value, aux), and the result is (value, pullback, aux).
    """
    product = cached(ReverseProduct, fun, backend)
    taken = product.taken(primals)
    (primals,) = taken.args
    call = flatten_call(primals, {})
    compiled, (program, made, second) = product.lookup(call, primals, {})
    seeds = made.seeds
    if made.is_split:
        outs = compiled(call.leaves)
        primal, residuals = outs[: made.n_primal], outs[made.n_primal :]
    else:
        residuals = compiled.inputs_as_they_are(call.leaves)
        primal = compiled(call.leaves)
    shapes = [np.shape(primal[k]) for k in seeds]
    kinds = [primal[k] if not isinstance(primal[k], np.ndarray) else np.empty(0, primal[k].dtype) for k in seeds]
    orders = [
        primal[k].flags.f_contiguous and not primal[k].flags.c_contiguous
        if isinstance(primal[k], np.ndarray)
        else False
        for k in seeds
    ]
    value = taken.given_back(rebuild(program.result, call.results(primal)))
    templates = [np.zeros(x.shape, x.dtype) if isinstance(x, np.ndarray) else x for x in call.leaves]
    spec, missing = made.cotangents(call)
    labelled = tree.flatten(value[0] if has_aux else value)[1] if call.labels else None

    def pullback(cotangent: Any) -> Any:
        seen = product.taken(cotangent)
        (cotangent,) = seen.args
        if labelled is not None:
            refuse_other_labels(labelled, tree.flatten(cotangent)[1], "the cotangent")
        found = cotangents(program.result if not has_aux else program.result[0], cotangent)
        bars = [
            _seed(found.get(k), shape, kind, fortran=f)
            for k, shape, kind, f in zip(seeds, shapes, kinds, orders, strict=True)
        ]
        given = compiled.again(residuals, split=made.is_split)
        bars = rebuild(spec, call.results((*second(*given, *bars), *(_zeros(templates[k]) for k in missing))))
        return (taken if taken.library else seen).given_back(bars)

    applied = PullbackAt(fun, points_of(call), {"has_aux": has_aux, "backend": backend}, pullback)
    if has_aux:
        return value[0], applied, value[1]
    return value, applied


def _zeros(like: Any) -> Any:
    if is_stream(like):
        return None
    return np.zeros_like(like) if isinstance(like, np.ndarray) else type(like)(0)


def _seed(value: Any, shape: tuple[int, ...], like: Any, *, fortran: bool) -> Any:
    if isinstance(like, np.ndarray):
        if value is None:
            return np.zeros(shape, like.dtype, order="F" if fortran else "C")
        refuse_complex(value, like, "the cotangent")
        array = np.array(value, dtype=like.dtype, order="F" if fortran else "C")
        if array.shape != shape:
            raise UsageError(
                "DJ507",
                f"the cotangent has shape {array.shape}, the result has shape {shape}",
                cure="shapes must agree",
            )
        return array
    return as_like(0.0 if value is None else value, like, "the cotangent")


def cotangents(spec: Any, cotangent: Any) -> dict[int, Any]:
    """Cotangents by the position of the result they belong to."""
    found: dict[int, Any] = {}
    if isinstance(spec, Out):
        found[spec.index] = cotangent
    elif isinstance(spec, OptOut):
        if cotangent is not None:
            found.update(cotangents(spec.inner, cotangent))
    elif isinstance(spec, RecordOut) and "held_values" in spec.fields and tree.is_numeric(cotangent):
        found.update(cotangents(spec.fields["held_values"], cotangent))
    elif isinstance(spec, RecordOut) and isinstance(cotangent, deque):
        found.update(cotangents(spec.fields["items"], list(cotangent)))
    elif isinstance(spec, RecordOut):
        for name, part in spec.fields.items():
            if not isinstance(part, (Labels, Constant)):
                found.update(cotangents(part, tree.attribute(cotangent, name)))
    elif isinstance(spec, (tuple, list)):
        if not isinstance(cotangent, (tuple, list)) or len(cotangent) != len(spec):
            raise UsageError(
                "DJ507", "the cotangent does not have the structure of the result", cure="one entry per result"
            )
        for part, c in zip(spec, cotangent, strict=True):
            found.update(cotangents(part, c))
    elif isinstance(spec, dict):
        if not isinstance(cotangent, dict) or cotangent.keys() != spec.keys():
            raise UsageError(
                "DJ507", "the cotangent does not have the keys of the result", cure="one entry per result, or None"
            )
        for key, part in spec.items():
            found.update(cotangents(part, cotangent[key]))
    return found


def _jvp_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    from diffjit.api.engine.inline import inline_jvp

    fun, primals, dots = [*args, *(kwargs[n] for n in ("primals", "tangents")[len(args) - 1 :])]
    points, directions = (interpreter.sequence_items(v, node) for v in (primals, dots))
    return inline_jvp(interpreter, fun, points, directions, has_aux=_flag(kwargs), node=node)


def _vjp_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    from diffjit.api.engine.inline import inline_vjp

    return inline_vjp(interpreter, args[0], args[1:], has_aux=_flag(kwargs), node=node)


def _flag(kwargs: dict[str, Any]) -> bool:
    return bool(getattr(kwargs.get("has_aux"), "obj", False))


jvp.__diffjit_inline__ = _jvp_inside  # type: ignore[attr-defined]
vjp.__diffjit_inline__ = _vjp_inside  # type: ignore[attr-defined]
