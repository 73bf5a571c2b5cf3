"""Specialises a Python function for a structure of arguments: the entry of the frontend."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import optree

from diffjit import streams, tree
from diffjit.errors import DiffjitError, UsageError
from diffjit.frontend.calls.repeated import LONG, is_shorter, size
from diffjit.frontend.entry.lift import array_type, plain_container
from diffjit.frontend.entry.outputs import Change, follow
from diffjit.frontend.entry.places import in_library
from diffjit.frontend.entry.results import Program, output
from diffjit.frontend.entry.source import note_lines, place_of
from diffjit.frontend.entry.writeback import Arguments
from diffjit.frontend.numpy.finite import check_values
from diffjit.frontend.numpy.read_only import decide_views
from diffjit.frontend.outside.opaque import forget_unread
from diffjit.frontend.syntax.frames import MOST_GIVEN_UP, Learned, NeedStatic
from diffjit.frontend.syntax.interpret import Interpreter
from diffjit.frontend.values import values as av
from diffjit.frontend.values.lengths import Related
from diffjit.frontend.values.mixed import settle
from diffjit.frontend.values.nodes import MAX_NESTED, needs_arenas
from diffjit.frontend.values.templates import Learn
from diffjit.frontend.values.values import Static
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import Block, Function, Loc, Value
from diffjit.ir.text.names import identifier
from diffjit.ir.types import Array, Dim, Sym
from diffjit.ir.walk import dce, unused_but_raising
from diffjit.labels import Labels, Numbering
from diffjit.primitives.foreign import stand_in

MAX_RESTARTS = 40  # that tell nothing about a new place of the program
MOST_ATTEMPTS = 200


def specialise(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fixed: frozenset[int] = frozenset(),
    *,
    with_changes: bool = False,
) -> Program:
    """Interpret `function` for arguments of these types; ints that must be static become so, one restart each.

    `with_changes`: what the function leaves in lists, dicts and objects among its arguments is returned, too.
    """
    learned = Learned(at_once=True)
    attempt = functools.partial(_specialise, function, args, kwargs, with_changes=with_changes)
    refused: DiffjitError | None = None
    told: DiffjitError | None = None  # the first refusal that is still one: those given up are raised when they are met
    without: Program | None = None  # with less known of lengths: knowing more refuses nothing
    idle = 0  # attempts that told nothing about a new place
    for _ in range(MOST_ATTEMPTS):
        if idle == MAX_RESTARTS:
            break
        try:
            program, wanted = attempt(fixed, learned)
            refused = refused or learned.refused
            if learned.dead and learned.given_up and refused is not None:
                raise refused from refused.__cause__
            if wanted <= fixed:
                return _in_parts(program, attempt, fixed, learned)
            without, learned.at_once = without or program, False
            fixed |= wanted  # there are only so many axes
        except NeedStatic as need:
            arguments = _to_fix(need, fixed, learned)
            resort = _without_tables(learned)
            if arguments is not None:
                fixed |= arguments
            elif without is not None:
                return without
            elif resort is None:
                raise need.error from None
            else:
                learned, idle = resort, idle + 1
        except DiffjitError as error:
            if without is not None:
                return without
            resort = _without_tables(learned)
            if resort is None:
                refused, told = refused or error, told or error
                resort = _resort(learned, error)
            if resort is None:
                error = _placed(error if told is None or _is_beyond(error, told, learned) else told, function)
                raise error from error.__cause__
            told = None if resort.given_up != learned.given_up else told
            learned, idle = resort, idle + 1
        except Related:
            fixed, idle = fixed | {tree.RELATED}, idle + 1
        except Learn as found:
            if found.table == "lists" and (nodes := _nodes_among(found.facts, learned)) is not None:
                found = nodes
            idle += not _is_news(learned, found)
            if found.table in ("arenas", "referred", "early", "late"):
                learned.lists.clear()  # items of these kinds have another form now
            refused, told = refused or found.error, told or found.error
    if without is not None:
        return without
    raise UsageError("DJ510", "the types in this program do not settle", cure="give each variable and list one type")


def _is_beyond(error: DiffjitError, first: DiffjitError, learned: Learned) -> bool:
    """Whether what is refused is no longer that a value has several types, which are told apart by now."""
    return learned.sums and first.code == "DJ304" and error.code not in ("DJ304", "DJ319")


def _placed(error: DiffjitError, function: Callable[..., Any]) -> DiffjitError:
    """An error that at least tells the function."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    return error if code is None else error.at(Loc(*place_of(code), 0, 0, code.co_name))


def _in_parts(
    program: Program,
    attempt: Callable[[frozenset[int], Learned], tuple[Program, set[int]]],
    fixed: frozenset[int],
    learned: Learned,
) -> Program:
    """A long program with functions that it calls again and again as programs of their own, where that is shorter."""
    length = size(program.function)
    shared = learned.repeated.worth_it(length) if length >= LONG else frozenset[Any]()
    if not shared or learned.assigned or learned.changed:
        return program
    trial = replace(learned, shared=shared, unshared=set(), at_once=False)
    for _ in shared:
        try:
            other, wanted = attempt(fixed, trial)
        except Learn as found:
            if found.table != "unshared":
                return program
            trial.unshared |= found.facts
        except (NeedStatic, Related, DiffjitError):
            return program  # less is known of a function's parameters than of what stands in their place
        else:
            return other if wanted <= fixed and is_shorter(other.function, length) else program
    return program


def _is_news(learned: Learned, found: Learn) -> bool:
    """Take in facts; whether one is about a new place: a long program has many."""
    table = getattr(learned, found.table)
    before = len(table)
    table.update(found.facts)
    return len(table) > before


def _nodes_among(facts: Any, learned: Learned) -> Learn | None:
    """What to learn where the items of lists hold others of their kind, and these others: they are nodes.

    Those that are already put themselves into others in their `__init__`, where they are not yet known as nodes.
    """
    nodes = next((again for elem in facts.values() if (again := needs_arenas(elem, MAX_NESTED)) is not None), None)
    if nodes is None or not nodes.facts.keys() <= learned.arenas.keys():
        return nodes
    early = {kind for kind in nodes.facts if isinstance(kind, type)} - learned.early
    return Learn("early", early) if early else nodes


def _to_fix(need: NeedStatic, fixed: frozenset[int], learned: Learned) -> set[int] | None:
    """The arguments that have to be known, as have the numbers from outside; None where all of them are already."""
    paths = {path for kind, path in need.sources if kind == "param"}
    signs = {path for kind, path in need.sources if kind == "sign"}
    arguments = {path[1] for path in paths if path[0] == "arg"} | {~p[1] for p in signs if p[0] == "arg"}
    outside = {path for path in paths if path[0] != "arg"}
    if arguments <= fixed and outside <= learned.captures and signs <= learned.signs:
        return None
    learned.captures |= outside
    learned.signs |= signs
    return arguments


def _kept(learned: Learned) -> dict[str, Any]:
    """What specialisation still knows when it starts from the beginning."""
    return {
        "sums": learned.sums,
        "rows": learned.rows,
        "given_up": learned.given_up,
        "forgotten": learned.given_up,
        "at_once": learned.at_once,
        "refused": learned.refused,
        "written": learned.written,
        "tables_allowed": learned.tables_allowed,
    }


def _without_tables(learned: Learned) -> Learned | None:
    """Write all loops out whose items are known one by one; None where they are."""
    if not learned.has_tables():
        return None
    return replace(Learned(), spelled=learned.spelled, **_kept(learned) | {"tables_allowed": False})


def _resort(learned: Learned, error: DiffjitError) -> Learned | None:
    """What else can be tried with a program that is refused; None when nothing is left.

    The keys of some dicts can be made known, which allows values of different types.
    Numbers and arrays that have no type in common are told apart at run time. What is refused in a branch is refused
    when that branch is taken; what such branches have taught may be too much.
    """
    doubtful = learned.doubtful()
    if doubtful:
        return replace(Learned(), spelled=learned.spelled | doubtful, **_kept(learned))
    if learned.clashes and not learned.sums:
        return replace(Learned(), spelled=learned.spelled, **_kept(learned) | {"sums": True})
    if learned.unlike and not learned.rows:
        return replace(Learned(), spelled=learned.spelled, **_kept(learned) | {"rows": True})
    if error.branch is None or error.branch in learned.given_up or len(learned.given_up) >= MOST_GIVEN_UP:
        forget = learned.given_up != learned.forgotten
        return replace(Learned(), spelled=learned.spelled, **_kept(learned)) if forget else None
    return replace(learned, given_up=learned.given_up | {error.branch})


def _find_twins(interpreter: Interpreter, given: tuple[Any, ...], noted: Arguments) -> None:
    """One object at several places among the arguments: derivatives take these apart, so it may not change."""
    first: dict[int, av.Ref] = {}
    for ref, path in noted.refs():
        twin = first.setdefault(id(follow(given, path)), ref)
        if twin is not ref:
            interpreter.sites.twins[ref.uid] = twin.uid
            for one in (twin, ref):
                interpreter.freeze(interpreter.cells, one.uid, "is passed as two arguments")


def _noted(interpreter: Interpreter, given: list[Any], values: list[Any], *, held: bool) -> Arguments:
    """The arguments as they are before the program runs; `held`: the caller sees what becomes of them."""
    interpreter.take_in_changed()
    noted = Arguments(interpreter)
    noted.enter(av.Tup(tuple(values)), ())
    _find_twins(interpreter, tuple(given), noted)
    if held:
        interpreter.hold(values, noted.places)
    return noted


def _array_type(array: np.ndarray, lengths: dict[int, Dim]) -> Array:
    """The type of an argument; equal lengths of arguments share a symbol."""
    ty = array_type(array)
    dims = (d if isinstance(d, int) else lengths.setdefault(n, d) for n, d in zip(array.shape, ty.dims, strict=True))
    return Array(ty.dtype, tuple(dims), ty.layout)


def _arrays(
    interpreter: Interpreter, values: tuple[Any, ...], fixed: frozenset[int]
) -> tuple[dict[int, Value], dict[int, tuple[int, int]], Numbering]:
    """Parameters for arrays among the leaves of arguments, which leaves are lengths of theirs, and labels' numbers."""
    leaves = [leaf for value in values for leaf in tree.flatten(value)[0]]
    lengths: dict[int, Dim] = {}  # equal ones: the call's key says which
    found: dict[int, Value] = {}
    facts = interpreter.length_facts
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, np.ndarray):
            ty = _array_type(leaf, lengths)
            found[k] = Value(Array(ty.dtype, leaf.shape, ty.layout) if k in fixed else ty)
            for axis, d in enumerate(found[k].type.dims):
                if isinstance(d, Sym):
                    facts.axes.setdefault(d, (k, axis))
    for fact in fixed:
        about = tree.reached(fact)
        if about is not None:
            k, axis, length = about
            facts.facts[fact] = leaves[k].shape[axis] >= length
    facts.arguments(lengths, related=tree.RELATED in fixed)
    return found, tree.counts(leaves), tree.numbering(*values)


def _specialise(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fixed: frozenset[int],
    learned: Learned,
    *,
    with_changes: bool,
) -> tuple[Program, set[int]]:
    """The program, and what should be known of the lengths of arguments."""
    interpreter = Interpreter(learned=learned)
    try:
        made = _interpreted(interpreter, function, args, kwargs, fixed, with_changes=with_changes)
    except Exception:
        if not interpreter.sites.wider:
            raise
        made = None
    finally:
        learned.clashes = learned.clashes or interpreter.sites.clashes
        learned.unlike = learned.unlike or interpreter.sites.unlike
        learned.dead = interpreter.dead
        learned.repeated = interpreter.repeated
    if made is None or interpreter.sites.wider:
        raise Learn("lists", interpreter.wider_lists())
    for cls in interpreter.drafts:  # of which nothing was learned: this attempt knows them by one of their objects
        problem = f"no `__init__` of `{cls.__name__}` is known to end, and it puts its object into others"
        raise interpreter.type_problem("DJ304", problem, cure="put the object into others where it is made")
    return made


def _interpreted(
    interpreter: Interpreter,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fixed: frozenset[int],
    *,
    with_changes: bool,
) -> tuple[Program, set[int]]:
    body = Block()
    counter = itertools.count()
    params: list[Value] = []
    names = parameter_names(function, args, kwargs)
    places: list[Place] = []  # of the parameters in the arguments

    arrays, counts, number = _arrays(interpreter, (*args, *kwargs.values()), fixed)

    def argument(value: Any, hint: Place) -> Any:
        paths, items, spec = optree.tree_flatten_with_path(value, none_is_leaf=True)
        hints = [(*hint, *path) for path in paths]
        return _containers(
            interpreter, optree.tree_unflatten(spec, [leaf(i, h) for i, h in zip(items, hints, strict=True)])
        )

    def leaf(item: Any, hint: Place) -> Any:
        if tree.is_numeric(item):
            if not isinstance(item, np.ndarray):
                interpreter.taken_plainly(item)
            k = next(counter)
            places.append(hint)
            if k in fixed and not isinstance(item, np.ndarray):
                params.append(Value(scalar_type_of(item)))
                return Static(item)
            param: Any = arrays[k] if k in arrays else Value(scalar_type_of(item))
            params.append(param)
            if k in counts:
                array, axis = counts[k]
                param = interpreter.dim(arrays[array], axis)
            if k not in fixed and isinstance(param, Value):
                interpreter.argument(param, ("arg", k), tree.sign_of(item) if ~k in fixed else None)
            return param
        if streams.is_stream(item):
            next(counter)
            places.append(hint)
            return interpreter.given_stream(item, params)
        if tree.is_record(item):
            fields = {name: argument(part, (*hint, name)) for name, part in tree.attributes(item).items()}
            return interpreter.new(av.ObjC(_class_of(item), fields))
        return _known(interpreter, number(item) if isinstance(item, Labels) else item)

    with interpreter.build.inside(body):
        interpreter.open_arenas()
        values = [argument(a, (names[k],)) for k, a in enumerate(args)]
        keywords = {name: argument(a, (name,)) for name, a in kwargs.items()}
        _name(params, places)
        given = _noted(interpreter, [*args, *kwargs.values()], [*values, *keywords.values()], held=with_changes)
        result = _called(interpreter, function, values, keywords)
        outs: list[Value] = []
        spec: Any = None
        changes: list[Change] = []
        if not interpreter.dead:
            spec = output(interpreter, result, outs)
            if with_changes:
                changes = _changes(interpreter, given, outs)
    body.results = outs
    interpreter.finish_body(body)
    captures = interpreter.read_at_calls(body)
    _make_identifiers([*params, *(c.param for c in captures)])
    ir = Function(
        identifier(getattr(function, "__name__", "program").replace("<lambda>", "lambda_")),
        [*params, *(c.param for c in captures)],
        body,
    )
    _complete(ir)
    _note_source(ir, function)
    return Program(
        ir,
        len(params),
        [c.getter for c in captures],
        [(g.getter, g.expected) for g in interpreter.guards.values() if not in_library(g.getter)],
        spec,
        fixed,
        [p.name or "" for p in params],
        changes,
        tree.threads_from([*tree.flatten((args, kwargs))[0], *(c.getter() for c in captures)]),
        {f: code for f, code in interpreter.followed.items() if not (f.__module__ or "").startswith("diffjit.")},
        interpreter.portable,
        interpreter.changes_arrays(body, interpreter.changed_numbers),
        [k for k, p in enumerate(ir.params) if p in interpreter.stream_params],
        interpreter.changed_outside(),
        None if interpreter.dead else interpreter.to_be_apart(given),
    ), interpreter.length_facts.wanted


def _changes(interpreter: Interpreter, given: Arguments, outs: list[Value]) -> list[Change]:
    """What the program leaves in its arguments, and outside."""
    to_outs = functools.partial(output, interpreter, outs=outs)
    return [*given.changes(to_outs), *interpreter.given_back(to_outs)]


def _complete(ir: Function) -> None:
    """What is decided once all of a program is known."""
    settle(ir)
    decide_views(ir)
    dce(ir, unused_but_raising)
    forget_unread(ir)
    check_values(ir)


def _called(interpreter: Interpreter, function: Any, values: list[Any], keywords: dict[str, Any]) -> Any:
    """What the program returns."""
    try:
        return interpreter.call(Static(function), values, keywords, None)
    except RecursionError as error:
        cure = "write a long formula as several statements"
        raise DiffjitError("DJ111", "the program nests too deeply to specialise", cure=cure) from error


Place = tuple[Any, ...]  # an argument's name, then keys, numbers and attributes on the way to a leaf


def _name(params: list[Value], places: list[Place]) -> None:
    """What leaves are called: `params["w"]` is w and `layers[0].W` is W_0, if no other one is; else all of the way."""
    short = [_short_name(place) for place in places]
    taken = Counter([*short, *(str(place[0]) for place in places if len(place) > 1)])
    for param, name, place in zip(params, short, places, strict=True):
        param.name = name if taken[name] == 1 else re.sub(r"\W", "_", "_".join(map(str, place)))


def _make_identifiers(params: list[Value]) -> None:
    """Names that generated text can have: `params["lambda"]` is none."""
    for param in params:
        param.name = None if param.name is None else identifier(param.name)


def _short_name(place: Place) -> str:
    """The last word of a place, and the numbers on the way."""
    words = [part for part in place if isinstance(part, str) and part.isidentifier()]
    numbers = [str(part) for part in place if isinstance(part, int)]
    return re.sub(r"\W", "_", "_".join([words[-1], *numbers])) if words else "arg"


def _note_source(ir: Function, function: Callable[..., Any]) -> None:
    """Where a program stands, and the text of its lines."""
    own = getattr(function, "__func__", function)  # of what a verb has made, that of the function it was given
    code = getattr(own if hasattr(own, "__code__") else inspect.unwrap(own), "__code__", None)
    if code is not None:
        ir.source_file, ir.source_line = place_of(code)
    note_lines(ir)


def _known(interpreter: Interpreter, item: Any) -> Any:
    """A leaf without numbers: the call's key says what it is, of a set what it holds, in which order."""
    return interpreter.new(interpreter.set_from_outside(item)) if type(item) in (set, frozenset) else Static(item)


def _containers(interpreter: Interpreter, value: Any) -> Any:
    """Python containers of abstract values as abstract containers."""
    if isinstance(value, (Value, Static, av.Ref, av.Tup)):
        return value
    if isinstance(value, tuple):
        plain_container(type(value), "__getitem__")
        items = tuple(_containers(interpreter, v) for v in value)
        return av.Tup(items, type(value) if hasattr(value, "_fields") else None)
    if isinstance(value, list):
        return interpreter.new(av.ListC(tuple(_containers(interpreter, v) for v in value)))
    if isinstance(value, dict):
        return interpreter.new(av.DictC({k: _containers(interpreter, v) for k, v in value.items()}, cls=type(value)))
    raise _not_taken(value)


def _class_of(record: Any) -> type:
    """The class that an object has in the program."""
    if isinstance(record, (Counter, list, tuple, set, frozenset, str, bytes)):  # what it holds is no attribute
        raise _not_taken(record)
    return stand_in(type(record))


def _not_taken(value: Any) -> UsageError:
    plain = next((b for b in (dict, tuple, set, frozenset, str, bytes) if isinstance(value, b)), list)
    cure = f"pass {plain.__name__}(...) of it"
    return UsageError("DJ511", f"arguments of class {type(value).__name__} are not supported", cure=cure)


def parameter_names(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each positional argument."""
    del kwargs
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [f"arg{k}" for k in range(len(args))]
    names: list[str] = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}_{k}" for k in range(len(args) - len(names))]
            break
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    return [*names[: len(args)], *(f"arg{k}" for k in range(len(names), len(args)))]


__all__ = ["Program", "specialise"]
