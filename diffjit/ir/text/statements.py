"""Writes to memory, and other effects, as statements that a NumPy user would write."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from typing import Any

from diffjit.errors import field
from diffjit.ir.nodes import Op
from diffjit.ir.text import indices as indextext
from diffjit.ir.text import syntax

_AUGMENTED = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def _place(op: Op, tree: ast.expr) -> ast.expr:
    """The elements of the written array as a target: `a[1:-1]` for a view of a, `a[...]` for a itself."""
    view = op.inputs[0].op
    if view is not None and view.kind == "view" and isinstance(tree, ast.Subscript):
        return tree
    return syntax.subscript(tree, [ast.Constant(value=...)])


def _store(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    return [syntax.assign(syntax.subscript(args[0], args[2:]), args[1])]


def _accum_at(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    return [syntax.add_assign(syntax.subscript(args[0], args[2:]), args[1])]


def _in_place(op: Op, tree: ast.expr, operator: ast.operator, value: ast.expr) -> list[ast.stmt]:
    place = tree if isinstance(tree, ast.Name) else _place(op, tree)
    target = syntax.written(place)
    assert isinstance(target, (ast.Name, ast.Subscript))
    return [ast.AugAssign(target=target, op=operator, value=value)]


def _assign(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    dst, src = args
    made = op.inputs[1].op
    if (
        isinstance(src, ast.BinOp)
        and isinstance(src.op, _AUGMENTED)
        and made is not None
        and made.row.augments
        and made.inputs[0] is op.inputs[0]
        and made.out.type.dtype == op.inputs[0].type.dtype  # type: ignore[union-attr] - arrays
        and syntax.same(src.left, dst)
    ):
        return _in_place(op, dst, src.op, src.right)
    return [syntax.assign(_place(op, dst), src)]


def _accum(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    return _in_place(op, args[0], ast.Add(), args[1])


def _scatter(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    items = indextext.index_items(op.attrs["spec"], args[2:])
    return [syntax.assign(indextext.subscript(args[0], items), args[1])]


def _scatter_add(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    index = indextext.tuple_index(indextext.index_items(op.attrs["spec"], args[2:]))
    return [ast.Expr(value=syntax.call("np.add.at", args[0], index, args[1]))]


def _mask_set(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    return [syntax.assign(syntax.subscript(args[0], args[1:2]), args[2])]


def _list_set(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    return [syntax.assign(syntax.subscript(args[0], args[2:]), args[1])]


def _append(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    return [ast.Expr(value=syntax.method(args[0], "append", args[1]))]


def _insert(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    return [ast.Expr(value=syntax.method(args[0], "insert", args[2], args[1]))]


def _print(op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
    parts = list(op.attrs["parts"])
    end: dict[str, ast.expr] = {"end": syntax.text("")}
    if parts and isinstance(parts[-1], str) and parts[-1].endswith("\n"):
        parts[-1] = parts[-1][:-1]
        end = {}
    parts = [p for p in parts if p != ""]
    literals, specs = parts[1::2], parts[::2]
    if (
        args
        and all(p == " " for p in literals)
        and all(isinstance(p, tuple) and not p[1] for p in specs)
        and len(parts) % 2
    ):
        return [ast.Expr(value=syntax.call("print", *args, **end))]
    message = [formatted(parts, args)] if parts else []
    return [ast.Expr(value=syntax.call("print", *message, **end))]


STATEMENTS: dict[str, Callable[[Op, Sequence[ast.expr]], list[ast.stmt]]] = {
    "store": _store,
    "assign": _assign,
    "leave": _assign,
    "accum": _accum,
    "accum_at": _accum_at,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "mask_set": _mask_set,
    "list_append": _append,
    "list_set": _list_set,
    "list_insert": _insert,
    "push": _append,
    "print": _print,
}


def formatted(parts: Sequence[Any], args: Sequence[ast.expr]) -> ast.expr:
    """Text with values in it: a literal, or `"...{:.3f}".format(x)`, with `"%5d" % x` where the user has it so."""
    if not args:
        return syntax.text("".join(p for p in parts if isinstance(p, str)))
    pattern = ""
    given: list[ast.expr] = []
    left = iter(args)
    for part in parts:
        if isinstance(part, str):
            pattern += part.replace("{", "{{").replace("}", "}}")
            continue
        spec, value = part[1] or "", next(left)
        if spec.startswith("&"):
            inner, spec = ast.literal_eval(spec[1:])
            value = formatted(inner, [value])
        if spec.startswith("*"):
            spec, value = "", _each(spec, value)
        elif spec.startswith("%"):
            spec, value = "", ast.BinOp(syntax.text(spec), ast.Mod(), value)
        pattern += field(spec)
        given.append(value)
    return syntax.method(syntax.text(pattern), "format", *given)


def _each(spec: str, value: ast.expr) -> ast.expr:
    """`", ".join("{:.2f}".format(v) for v in x)`: the items of an array, joined."""
    between, parts = ast.literal_eval(spec[1:])
    turns = [ast.comprehension(target=syntax.name("v"), iter=value, ifs=[], is_async=0)]
    return syntax.method(syntax.text(between), "join", ast.GeneratorExp(formatted(parts, [syntax.name("v")]), turns))


def _literal(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def exception_text(op: Op, args: Sequence[ast.expr], imports: dict[str, str]) -> ast.expr:
    """The exception that a `raise` makes; an import that it needs is added to `imports`."""
    made: type[BaseException] = op.attrs["exception"]
    function = _class_text(made, imports)
    if "found" in op.attrs:  # `errors.NonFinite.found`
        what, names = op.attrs["found"]
        place = None if op.loc is None else astuple(op.loc)
        given = [_literal(what), _literal(names), syntax.tuple_of(list(args)), _literal(place)]
        return syntax.call(syntax.attribute(function, "found"), *given)
    if "held" in op.attrs:
        left = iter(args)
        (_, forms), fields = op.attrs["held"]
        values = [_held(form, left) for form in forms]
        if fields is None:
            return syntax.call(function, *values)
        imports["diffjit"] = "import diffjit.errors"
        again = syntax.dotted("diffjit.errors.raised")
        return syntax.call(again, function, syntax.tuple_of(values), _held(fields, left))
    parts = [p for p in op.attrs.get("parts", ()) if p != ""]
    if not parts:
        return syntax.call(function)
    return syntax.call(function, formatted(parts, args))


def _class_text(made: type[BaseException], imports: dict[str, str]) -> ast.expr:
    """The name of an exception's class."""
    if made is getattr(builtins, made.__name__, None):
        return syntax.name(made.__name__)
    if made.__module__.startswith("numpy"):
        return syntax.dotted(f"np.{'linalg.' if 'linalg' in made.__module__ else 'exceptions.'}{made.__name__}")
    if importable(made):
        imports[made.__module__.split(".")[0]] = f"import {made.__module__}"
        return syntax.dotted(f"{made.__module__}.{made.__qualname__}")
    nearest = next(cls for cls in made.__mro__[1:] if cls is getattr(builtins, cls.__name__, None) or importable(cls))
    own = {"np": "import numpy as np"} if nearest.__module__.startswith("numpy") else {}
    known = ast.unparse(_class_text(nearest, own))  # who runs the text puts the class itself there
    imports[made.__name__] = "\n".join((*own.values(), f"{made.__name__} = {known}"))
    return syntax.name(made.__name__)


def importable(cls: type) -> bool:
    """Whether a text can import a class: not where it was made by a function, by a script or at the prompt."""
    module = sys.modules.get(cls.__module__)
    named = cls.__module__ != "__main__" and getattr(module, "__spec__", None) is not None
    return named and "<" not in cls.__qualname__


def _held(form: tuple[Any, ...], values: Iterator[ast.expr]) -> ast.expr:
    """What an exception holds (`errors.held`)."""
    kind, content = form
    match kind:
        case "value":  # Python's own number is NumPy's while the text runs
            return next(values) if content is None else syntax.call(content, next(values))
        case "text":
            count = sum(not isinstance(part, str) for part in content)
            return formatted(content, [next(values) for _ in range(count)])
        case "tuple":
            return syntax.tuple_of([_held(item, values) for item in content])
        case "list":
            return ast.List(elts=[_held(item, values) for item in content], ctx=ast.Load())
        case "dict":
            items = [(_literal(key), _held(item, values)) for key, item in content]
            return ast.Dict(keys=[key for key, _ in items], values=[item for _, item in items])
        case _:
            pass
    return syntax.number(content) if isinstance(content, float | complex) else _literal(content)
