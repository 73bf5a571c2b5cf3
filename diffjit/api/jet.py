"""`jet`: Taylor mode, all derivatives of a function along a curve up to an order, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.api.engine.composed import Call, Composed, applied
from diffjit.api.engine.inline import conformed, nest, plain
from diffjit.api.engine.programs import flatten_call
from diffjit.api.product_programs import float_leaves, zero_tangent
from diffjit.errors import TypeProblem, UsageError
from diffjit.frontend.calls.nested import Entry
from diffjit.frontend.entry.outputs import OptOut, Out, RecordOut, RowsOut, TableOut
from diffjit.frontend.entry.program import Program
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE
from diffjit.ir.build import Builder
from diffjit.stored import stored
from diffjit.transforms.modes.jet import jet_program
from diffjit.transforms.pipeline import finish

_CURE = "dj.jet(f, (x,), ((x_1, x_2),)): for each primal, as many terms as there are orders"


class Jet(Composed):
    """Value and series of a function, for primals and series."""

    scaled = True  # terms are derivatives

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        primals, series = args
        return inline_jet(interpreter, self.function, primals, series, scaled=self.scaled, node=node)


class Coefficients(Jet):
    """The same, with the coefficients of power series as terms."""

    scaled = False


def _checked(primals: Any, series: Any) -> tuple[Any, Any]:
    """Tuples of primals and series; arrays of terms have the shapes of their primals."""
    if not isinstance(primals, (tuple, list)) or not isinstance(series, (tuple, list)):
        raise UsageError("DJ507", "jet takes a tuple of primals and a tuple of their series", cure=_CURE)
    primals, series = tuple(primals), tuple(series)
    leaves = tree.flatten(primals)[0]
    for m, terms in enumerate(_by_order(primals, series)):
        for leaf, term in zip(leaves, tree.flatten(terms)[0], strict=True):
            if np.shape(term) != np.shape(leaf):
                problem = f"a term of order {m + 1} has shape {np.shape(term)}, its primal has shape {np.shape(leaf)}"
                raise UsageError("DJ507", problem, cure="shapes must agree")
    return primals, series


def _missing(verb: str, parameter: str, form: str) -> UsageError:
    del form
    return UsageError("DJ507", f"{verb} is called without its {parameter}", cure=_CURE)


@applied(checked=_checked, missing=_missing, fun=plain, factorial_scaled=plain, backend=plain)
def jet(fun: Any, primals: Any, series: Any, factorial_scaled: bool = True, *, backend: str | None = None) -> Call:
    """Value and derivatives along a curve x(t), at t = 0: all orders in one pass, `(primal_out, series_out)`.

    fun                 the function; it gets as many positional arguments as there are primals
    primals             a tuple with the arguments x(0)
    series              for each of them, its terms x'(0), x''(0), ..., all of the same number k
    factorial_scaled    False: terms are coefficients of power series, the m-th derivative divided by m!
    backend             "numba" (compiled), "cuda" (with kernels for a GPU) or "python" (readable text)

    Returns f(x(0)), and as its series the list of f(x(t))'s derivatives of order 1, ..., k at t = 0. Terms have the
    shape of what they belong to. A primal that is a tree has a tree of the same form with sequences of terms for
    leaves, and a result that is a tree has a tree with lists of terms for leaves. Terms of integers have no effect.

    The cost grows with k squared for each nonlinear operation, where nested `jvp` doubles with each order.

    Raises UsageError (DJ507) where primals and series do not fit together.
    """
    return Call(Jet if factorial_scaled else Coefficients, (fun, backend), (primals, series))


def _by_order(primals: tuple[Any, ...], series: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Terms of series as trees like the primals, one for each order."""
    if len(primals) != len(series):
        problem = f"jet has {len(primals)} primals and {len(series)} series"
        raise UsageError("DJ507", problem, cure=_CURE)
    orders: set[int] = set()
    _each(primals, series, lambda _, terms: orders.add(len(terms)))
    if len(orders) > 1:
        found = " and ".join(map(str, sorted(orders)))
        raise UsageError("DJ507", f"series have different numbers of terms: {found}", cure=_CURE)
    order = orders.pop() if orders else 0
    return [_each(primals, series, lambda _, terms, m=m: terms[m]) for m in range(order)]


def _each(primal: Any, series: Any, leaf: Callable[[Any, Any], Any]) -> Any:
    """A tree like the primals', made of leaves and their terms."""
    if tree.is_numeric(primal):
        if not isinstance(series, (tuple, list)):
            raise UsageError("DJ507", "the series of a number or array is not a sequence of terms", cure=_CURE)
        for term in series:
            if not (tree.is_numeric(term) or isinstance(term, bool)):
                raise UsageError("DJ507", f"a term of a series is a {type(term).__name__}, not a number", cure=_CURE)
        return leaf(primal, series)
    known = stored(getattr(type(primal), "stands_for", type(primal)))
    if known is not None and known.labelled:  # terms have the same labels
        if not isinstance(series, (tuple, list)):
            raise _other_structure()
        return leaf(primal, series)
    if isinstance(primal, (tuple, list)):
        if not isinstance(series, (tuple, list)) or len(series) != len(primal):
            raise _other_structure()
        items = [_each(p, s, leaf) for p, s in zip(primal, series, strict=True)]
        return type(primal)(*items) if hasattr(primal, "_fields") else type(primal)(items)
    if isinstance(primal, dict):
        if not isinstance(series, dict) or primal.keys() != series.keys():
            raise _other_structure()
        return {key: _each(p, series[key], leaf) for key, p in primal.items()}
    if tree.is_record(primal) and not hasattr(type(primal), "told"):  # streams of random numbers have no series
        fields = tree.attributes(primal)
        if not tree.is_record(series) or tree.attributes(series).keys() != fields.keys():
            raise _other_structure()
        others = tree.attributes(series)
        return tree.make_object(type(primal), {n: _each(p, others[n], leaf) for n, p in fields.items()})
    return primal


def _other_structure() -> UsageError:
    return UsageError("DJ507", "a series does not have the structure of its primal", cure=_CURE)


def inline_jet(interpreter: Any, fun: Any, primals: Any, series: Any, *, scaled: bool, node: Any) -> Any:
    """Copy the program of values and series in."""
    points = list(interpreter.sequence_items(primals, node))
    inner = nest(interpreter, fun, points, {}, node)
    if inner is None:
        return NONE
    entry = Entry(opens=True)
    given = interpreter.enter(series, entry)[0]
    like = tuple(interpreter.enter(p, Entry())[0] for p in points)
    orders = [flatten_call(terms, {}).leaves for terms in _by_order(like, tuple(given))]
    program, wrt = series_program(inner.program, float_leaves(inner.program, inner.call), len(orders), scaled=scaled)
    terms = [conformed(interpreter, leaves[k], entry, inner.inputs[k]) for k in wrt for leaves in orders]
    outs = interpreter.copy_in(program.function, [*inner.inputs, *terms])
    return av.Tup(interpreter.abstract(program.result, outs).items)


def series_program(program: Program, wrt: list[int], order: int, *, scaled: bool) -> tuple[Program, list[int]]:
    """A program that returns (value, series); its last parameters are the terms of the leaves in `wrt`."""
    made = jet_program(program.function, wrt, order, scaled=scaled)
    function = made.function

    def terms(k: int) -> list[Out]:
        found = made.terms[k]
        if found is None:
            found = made.terms[k] = []
            for _ in range(order):
                found.append(len(function.body.results))
                function.body.results.append(zero_tangent(Builder(function.body), function.body.results[k]))
        return [Out(position) for position in found]

    result = (program.result, _series_spec(program.result, terms, order))
    finish(function, "series_program")
    return replace(program, function=function, result=result, arg_names=[], changes=[]), wrt


def _series_spec(spec: Any, terms: Callable[[int], list[Out]], order: int) -> Any:
    """The tree of results with lists of terms for leaves; static results have none."""
    match spec:
        case Out():
            return terms(spec.index)
        case OptOut():
            return OptOut(spec.flag, _series_spec(spec.inner, terms, order))
        case RecordOut():
            return RecordOut(
                tree.parts_class(spec.cls), {n: _series_spec(v, terms, order) for n, v in spec.fields.items()}
            )
        case RowsOut():
            raise TypeProblem("DJ319", "a series of a list of tuples that grows at run time", cure="return arrays")
        case TableOut():
            raise TypeProblem("DJ319", "a series of a dict whose keys are made at run time", cure="return arrays")
        case tuple():
            items = [_series_spec(s, terms, order) for s in spec]
            return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
        case list():
            return [_series_spec(s, terms, order) for s in spec]
        case dict():
            return {key: _series_spec(s, terms, order) for key, s in spec.items()}
        case _:
            return [0.0] * order if tree.is_numeric(spec) else spec
