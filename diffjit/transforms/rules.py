"""Applies derivative rules: functions and partial expressions are interpreted by the frontend into a scratch block."""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import NoRule, real_only
from diffjit.frontend.syntax.interpret import Frame, Interpreter
from diffjit.frontend.values import values as av
from diffjit.frontend.values.formulas import choice, formula, is_name, number, quotient
from diffjit.frontend.values.values import Static
from diffjit.ir.build import Builder
from diffjit.ir.nodes import OVERFLOWS, TRIED, Block, Op, Value, const_of, is_const, is_weak
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.registry import ELEMENTWISE, RULES, by_complex
from diffjit.primitives.semantics import SCALAR_SEMANTICS


@dataclass(slots=True, eq=False)
class Scratch:
    """Operations that compute something from values of the forward sweep, not yet placed."""

    block: Block
    results: list[Any]


class RuleRunner:
    """Interprets rules with IR values as arguments."""

    def __init__(self, build: Builder, infinite: Iterable[Value] = ()) -> None:
        """`infinite`: values that may hold numbers that are not finite, as the program says."""
        self.build = build
        self.interpreter = Interpreter(build, rule_mode=True)
        scope = av.Scope((), None, _NAMESPACE)
        node = formula("lambda: 0")
        self.fn = av.Fn(node, "rule", "<rule>", (), {}, scope)
        self.singular = dict.fromkeys(infinite, True)  # whether values may be non-finite for finite data

    def abstract(self, value: Value) -> Any:
        """A value as a rule sees it: constants are known."""
        return Static(const_of(value)) if is_const(value) else value

    def expression(self, tree: Any, names: dict[str, Any]) -> Any:
        """Evaluate a partial derivative's expression."""
        frame = Frame(-1, self.fn, frozenset(names), frozenset())
        for name, value in names.items():
            self.interpreter.cells["v", -1, name] = value
        self.interpreter.frames.append(frame)
        loc = self.build.loc
        try:
            return self.interpreter.eval(tree)
        finally:
            self.interpreter.frames.pop()
            self.build.loc = loc

    def function(self, rule: Any, values: dict[str, Any]) -> Any:
        """Call a rule function with the arguments it asks for by name."""
        fn = self.interpreter.fn_of(rule)
        names = inspect.signature(rule).parameters
        loc = self.build.loc
        try:
            return self.interpreter.call_fn(fn, [], {n: values[n] for n in names})
        finally:
            self.build.loc = loc

    def ew(self, kind: str, *args: Any) -> Any:
        """An elementwise operation."""
        return self.interpreter.ew(kind, *args)

    def where(self, test: Any, yes: Any, no: Any) -> Any:
        """NumPy's choice between two."""
        return self.interpreter.np_where(test, yes, no)

    def number(self, value: Any) -> Value:
        """An abstract result as an IR value."""
        return self.interpreter.number(value)


_NAMESPACE: dict[str, Any] = {
    "where": np.where, "erf": __import__("math").erf, "erfc": __import__("math").erfc,
}  # fmt: skip
# `dir(np)` names modules, too, which NumPy imports once they are asked for.
_NAMESPACE.update({k: f for k, f in vars(np).items() if isinstance(f, np.ufunc) or k == "sinc"})


class Kind:
    """A stand-in callable for an elementwise kind without a NumPy function, usable in partial expressions."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        return interpreter.ew(self.kind, *args)


def _fill_namespace() -> None:
    for kind in ELEMENTWISE:
        if kind not in _NAMESPACE:
            _NAMESPACE[kind] = Kind(kind)


@functools.lru_cache(maxsize=1024)
def partial_tree(text: str) -> Any:
    """A partial's syntax tree."""
    _fill_namespace()
    return formula(text)


def elementwise_names(runner: RuleRunner, op: Op) -> dict[str, Any]:
    """The names that a partial expression may use."""
    entry = ELEMENTWISE[op.kind]
    names = {p: runner.abstract(v) for p, v in zip(entry.params, op.inputs, strict=True)}
    if op.kind in _POWERS and is_complex(op.out):  # logarithms and powers of negative numbers exist
        names = {p: runner.interpreter.cast(v, op.out.type.dtype, weak=is_weak(op.out)) if p == "x" else v
                 for p, v in names.items()}  # fmt: skip
    names["out"] = op.out
    return names


_POWERS = ("power", "float_power")


def is_complex(v: Value) -> bool:
    """Whether a value is a complex number, or an array of them."""
    return isinstance(v.type, (Scalar, Array)) and v.type.dtype.kind == "c"


def tangent_part(runner: RuleRunner, op: Op, k: int, dot: Any) -> Any:
    """What the tangent of input k gives the tangent of an elementwise operation; None where that is zero."""
    if _is_square(op):
        return scaled_partial(runner, op, k, dot, "2 * x") if k == 0 else None
    if not (is_complex(op.out) or is_complex(op.inputs[k])):
        return scaled_partial(runner, op, k, dot)
    direct, mirrored = planar(op)[k]
    parts = [scaled_partial(runner, op, k, dot, direct)]
    if is_complex(op.inputs[k]):
        parts.append(scaled_partial(runner, op, k, conjugated(runner, dot), mirrored))
    return _sum(runner, parts, op.out)


def cotangent_part(runner: RuleRunner, op: Op, k: int, bar: Any) -> Any:
    """What the cotangent of an elementwise operation gives input k; None where that is zero.

    Cotangents are gradients in the plane: that of p * x_dot + q * conj(x_dot) is conj(p) * bar + q * conj(bar).
    """
    if _is_square(op):
        return scaled_partial(runner, op, k, bar, "2 * x") if k == 0 else None
    if not (is_complex(op.out) or is_complex(op.inputs[k])):
        return scaled_partial(runner, op, k, bar)
    direct, mirrored = planar(op)[k]
    parts = [scaled_partial(runner, op, k, bar, direct, conjugate=True)]
    if is_complex(op.inputs[k]):
        parts.append(scaled_partial(runner, op, k, conjugated(runner, bar), mirrored))
    return _sum(runner, parts, op.inputs[k])


def _is_square(op: Op) -> bool:
    """Whether a number is multiplied with itself: the two contributions are the same."""
    return op.kind == "multiply" and op.inputs[0] is op.inputs[1] and not is_complex(op.out)


def _sum(runner: RuleRunner, parts: list[Any], like: Value) -> Any:
    """The sum of what is not zero; its real part for a real number."""
    total: Any = None
    for part in parts:
        if part is not None:
            total = part if total is None else runner.ew("add", total, part)
    if total is None or is_complex(like):
        return total
    total = runner.number(total)
    return runner.ew("real", total) if is_complex(total) else total


def conjugated(runner: RuleRunner, value: Any, *, formula: bool = False) -> Any:
    """The complex conjugate, where there is one; that of a `formula` may be the number that it is the conjugate of.

    Not so that of any array: it may have been written to since.
    """
    if isinstance(value, Static):
        number: Any = value.obj
        return Static(number.conjugate()) if np.iscomplexobj(number) else value
    if not (isinstance(value, Value) and is_complex(value)):
        return value
    if formula and value.op is not None and value.op.kind == "conjugate":
        return value.op.inputs[0]
    return runner.ew("conjugate", value)


def planar(op: Op) -> tuple[tuple[str, str], ...]:
    """The derivatives of an elementwise operation on complex numbers."""
    found = by_complex(op.kind)
    if found is None:
        raise refused(op)
    return found


def scaled_partial(
    runner: RuleRunner, op: Op, k: int, g: Any, text: str | None = "", *, conjugate: bool = False
) -> Any:
    """g times the partial derivative by input k (or `text`, or the conjugate of it); None where that is zero."""
    entry = ELEMENTWISE[op.kind]
    text = entry.partials[k] if text == "" else text
    if op.kind == "zmul" and text != "0":
        other = conjugated(runner, op.inputs[1 - k]) if conjugate else op.inputs[1 - k]
        return runner.ew("zmul", g, other) if k == 0 else _both(runner, other, g)
    if op.kind == "zdiv" and text != "0":
        above, below = (conjugated(runner, v) if conjugate else v for v in (op.out, op.inputs[1]))
        if k == 0:
            return runner.ew("zdiv", g, below)
        return runner.ew("negative", runner.ew("zdiv", _both(runner, above, g), below))
    if text is None:
        raise NoRule(
            "DJ202",
            f"`{_name(op.kind)}` has no derivative by argument {k + 1}",
            loc=op.loc,
            cure="stop_gradient marks it as constant",
        )
    before, runner.build.tried = runner.build.tried, bool(op.attrs.get(TRIED))
    try:
        names = elementwise_names(runner, op)
        return _scaled(runner, partial_tree(text), names, g, guarded=needs_guard(runner, op, k), conjugate=conjugate)
    finally:
        runner.build.tried = before


def _both(runner: RuleRunner, factor: Value, g: Any) -> Any:
    """factor * g, and exactly 0 where either is 0: a factor such as 1 / y may be infinite where nothing asks for it.

    The test is of the factor, so that the product stays a linear map of g; and what stands where the factor is 0 is a
    product too, so that it has the derivative g by the factor.
    """
    if isinstance(g, Static) or const_of(g) or not _singular(runner.singular, factor):
        return runner.ew("zmul", factor, g)
    nothing = runner.ew("equal", factor, Static(0.0))
    return runner.where(nothing, runner.ew("zmul", factor, g), runner.ew("zmul", g, factor))


def needs_guard(runner: RuleRunner, op: Op, k: int) -> bool:
    """Whether the partial can be non-finite for these operands."""
    if op.attrs.get(TRIED) or op.attrs.get(OVERFLOWS):
        return True
    if _reads_singular(runner, op, k):
        return True
    if not ELEMENTWISE[op.kind].guarded or ELEMENTWISE[op.kind].overflows:
        return False
    constant = [const_of(v) for v in op.inputs]
    if op.kind in ("divide", "remainder", "floor_divide") and constant[1]:
        return False
    at_zero = op.inputs[_SINGULAR_AT_ZERO[op.kind]] if op.kind in _SINGULAR_AT_ZERO else None
    if at_zero is not None and isinstance(at_zero.type, Scalar) and least(at_zero) > _TINY:
        return False
    if op.kind == "power" and isinstance(constant[1], (int, float, np.floating, np.integer)) and k == 0:
        return not (constant[1] == 0 or (constant[1] >= 1 and (not constant[1] % 1 or least(op.inputs[0]) >= 0)))
    return True


_SINGULAR_AT_ZERO = {"divide": 1, "zdiv": 1, "log": 0, "log2": 0, "log10": 0, "sqrt": 0}
_TINY = 1e-100
_DEPTH = 8


def least(v: Value, depth: int = _DEPTH) -> float:
    """A number that a real number is never below, if it is one: 1 + x**2 is never 0. Without more to say, -inf."""
    op = v.op
    if op is None or depth == 0 or not isinstance(v.type, Scalar | Array) or v.type.dtype.kind not in "biuf":
        return -math.inf
    if op.kind == "const":
        return float(op.attrs["value"]) if math.isfinite(op.attrs["value"]) else -math.inf
    if op.row.length or op.kind in ("exp", "exp2", "absolute", "square"):
        return 0.0
    if op.kind == "cosh":
        return 1.0
    if op.kind == "power":
        exponent = const_of(op.inputs[1])
        return 0.0 if isinstance(exponent, int) and exponent % 2 == 0 and exponent > 0 else -math.inf
    if op.kind == "sum":
        return 0.0 if least(op.inputs[0], depth - 1) >= 0 else -math.inf
    if op.kind == "matmul" and op.inputs[0] is op.inputs[1] and isinstance(v.type, Scalar):
        return 0.0
    if op.kind not in ("add", "multiply", "divide", "sqrt", "maximum", "cast"):
        return -math.inf
    bounds = [least(x, depth - 1) for x in op.inputs]
    if op.kind == "multiply" and op.inputs[0] is op.inputs[1]:
        return 0.0
    if op.kind == "cast":
        return bounds[0] if v.type.dtype.kind == "f" else -math.inf
    if op.kind == "maximum":
        return max(bounds)
    if op.kind == "sqrt":
        return math.sqrt(bounds[0]) if bounds[0] > 0 else 0.0
    if min(bounds) < 0:
        return -math.inf
    return {"add": bounds[0] + bounds[-1], "multiply": bounds[0] * bounds[-1], "divide": 0.0}[op.kind]


_PASS_ON = frozenset({"divide", "power", "zmul", "add", "subtract", "multiply", "negative", "absolute"})


def _reads_singular(runner: RuleRunner, op: Op, k: int) -> bool:
    """Whether the partial by input k may be non-finite for finite data (a quotient, a logarithm, ...)."""
    text = ELEMENTWISE[op.kind].partials[k]
    if (
        text is None
        or text.lstrip("-").replace(".", "").isdigit()
        or op.kind in ("where", "select", "maximum", "minimum")
    ):
        return False
    names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    entry = ELEMENTWISE[op.kind]
    return any(_singular(runner.singular, v) for p, v in zip(entry.params, op.inputs, strict=True) if p in names)


def _singular(known: dict[Value, bool], v: Value) -> bool:
    """Whether a value may be non-finite for finite data; each value is looked at once, in whatever depth it lies."""
    waiting = [v]
    while waiting:
        at = waiting[-1]
        if at not in known:
            if not _passes_on(at):
                known[at] = _singular_itself(at)
            elif _singular_itself(at):
                known[at] = True
            else:
                missing = [i for i in at.op.inputs if i not in known]  # pyright: ignore[reportOptionalMemberAccess]
                if missing:
                    waiting += missing
                    continue
                known[at] = any(known[i] for i in at.op.inputs)  # pyright: ignore[reportOptionalMemberAccess]
        waiting.pop()
    return known[v]


def _passes_on(v: Value) -> bool:
    return v.op is not None and v.op.kind in _PASS_ON


def _singular_itself(v: Value) -> bool:
    op = v.op
    if op is None or not op.row.by_element:
        return False
    entry = ELEMENTWISE[op.kind]
    if op.kind == "sqrt":
        return least(op.inputs[0]) < 0
    if not entry.guarded or entry.finite or entry.overflows:
        return False
    constant = const_of(op.inputs[-1])
    if not (isinstance(constant, (int, float, np.floating, np.integer)) and constant > 0):
        return True
    if op.kind in ("power", "float_power") and constant % 1:
        return least(op.inputs[0]) < 0
    return op.kind not in ("divide", "power", "float_power")


def _scaled(
    runner: RuleRunner, tree: Any, names: dict[str, Any], g: Any, *, guarded: bool, conjugate: bool = False
) -> Any:
    """g * expression, or its conjugate; a choice is applied branch by branch, so that 0 stays 0 whatever g is."""
    factor = number(tree)
    if factor == 0:
        return None
    if factor == 1:
        return g
    if factor == -1:
        return runner.ew("negative", g)
    fraction = quotient(tree)
    if fraction is not None:
        return _divided(runner, *fraction, names, g, guarded=guarded, conjugate=conjugate)
    branches = choice(tree)
    if branches is not None:
        test = runner.expression(branches[0], names)
        if isinstance(test, Static):
            return _scaled(runner, branches[1 if test.obj else 2], names, g, guarded=guarded, conjugate=conjugate)
        yes, no = (_scaled(runner, t, names, g, guarded=guarded, conjugate=conjugate) for t in branches[1:])
        if yes is None and no is None:
            return None
        return runner.where(test, Static(0.0) if yes is None else yes, Static(0.0) if no is None else no)
    partial = runner.expression(tree, names)
    if conjugate:
        partial = conjugated(runner, partial, formula=not is_name(tree))
    if isinstance(partial, Static) and partial.obj == 0:
        return None
    if isinstance(partial, Static) and np.isfinite(partial.obj):
        guarded = False
    mask = _as_mask(partial)
    if mask is not None:
        return runner.where(mask, g, Static(0.0))
    return runner.ew("zmul" if guarded else "multiply", g, partial)


def _as_mask(factor: Any) -> Value | None:
    """The truth values that a factor consists of: x * (x > 0) chooses as `where` does, and 0 is 0 whatever g is.

    An array that was made of truth values may have been written to since.
    """
    if isinstance(factor, Value) and isinstance(factor.type, Scalar) and factor.op is not None:
        factor = factor.op.inputs[0] if factor.op.kind == "cast" else factor
    return factor if isinstance(factor, Value) and _is_truth(factor) else None


def _is_truth(v: Value) -> bool:
    return isinstance(v.type, (Scalar, Array)) and v.type.dtype.kind == "b"


def _divided(
    runner: RuleRunner, negative: bool, above: Any, below: Any, names: dict[str, Any], g: Any, *,
    guarded: bool, conjugate: bool,
) -> Any:  # fmt: skip
    """g times a quotient: g is divided first, as several partial derivatives of an operation have that in common."""
    parts = [runner.expression(tree, names) for tree in (above, below)]
    if conjugate:
        parts = [conjugated(runner, p, formula=not is_name(t)) for p, t in zip(parts, (above, below), strict=True)]
    over, under = parts
    if isinstance(over, Static) and isinstance(under, Static):
        if over.obj == 0:
            return None
        with np.errstate(all="ignore"):
            partial = np.divide(over.obj, under.obj)
        if np.isfinite(partial):
            guarded = False
    elif isinstance(under, Static) and np.isfinite(under.obj) and under.obj != 0:
        guarded = guarded and not isinstance(over, Static)
    result = runner.ew("zdiv" if guarded else "divide", g, under)
    if not (isinstance(over, Static) and over.obj == 1):
        product = "zmul" if guarded and not isinstance(over, Static) else "multiply"
        result = runner.ew(product, over, result) if isinstance(over, Static) else runner.ew(product, result, over)
    return runner.ew("negative", result) if negative else result


def rule_values(runner: RuleRunner, op: Op, extra: dict[str, Any]) -> dict[str, Any]:
    """Everything a rule function may ask for, by name."""
    entry = RULES[op.kind]
    values: dict[str, Any] = {**op.attrs, **extra, "out": op.outputs[0]}
    fixed = entry.params[:-1] if entry.variadic else entry.params
    for name, value in zip(fixed, op.inputs, strict=False):
        values[name] = runner.abstract(value)
    if entry.variadic:
        values[entry.params[-1]] = av.Tup(tuple(op.inputs[len(fixed) :]))
    for name, value in list(values.items()):
        if isinstance(value, (tuple, list)):
            values[name] = av.Tup(tuple(Static(v) for v in value))  # pyright: ignore[reportUnknownVariableType]
        elif not isinstance(value, (Value, Static, av.Tup)):
            values[name] = Static(value)
    return values


def without_source(op: Op) -> NoRule:
    """The error for a function that has neither source nor a rule."""
    routine = op.attrs["site"].routine
    name, word = routine.name, routine.stem
    if routine.cure:
        return NoRule("DJ205", f"{name} has no derivative", loc=op.loc, cure=routine.cure)
    return NoRule(
        "DJ205",
        f"`{name}` has no source to take a derivative of, and no rule of its own",
        loc=op.loc,
        cure=f"declare one, outside of the program: {word} = diffjit.custom_jvp({name}); {word}.defjvp(rule), and call "
        "that; or stop_gradient marks its arguments as constant",
    )


def refused(op: Op) -> NoRule:
    """The error for an operation whose rule is for real numbers alone."""
    return real_only(op.kind, op.loc)


def on_complex(op: Op) -> str:
    """What the rules of a structural operation are for complex numbers; "" if there are none among its operands."""
    if not any(is_complex(v) for v in (*op.inputs, *op.outputs)):
        return ""
    numbers = RULES[op.kind].numbers
    if not numbers:
        raise refused(op)
    return numbers


__all__ = [
    "RuleRunner",
    "Scratch",
    "ast",
    "conjugated",
    "cotangent_part",
    "elementwise_names",
    "is_complex",
    "on_complex",
    "partial_tree",
    "rule_values",
    "scaled_partial",
    "tangent_part",
]


def _name(kind: str) -> str:
    """What users call an elementwise kind."""
    semantics = SCALAR_SEMANTICS.get(kind)
    return (semantics.library if semantics is not None else "") or kind
