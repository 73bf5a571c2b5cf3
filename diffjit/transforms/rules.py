"""Applies derivative rules: functions and partial expressions are interpreted by the frontend into a scratch block."""

from __future__ import annotations

import ast
import functools
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffjit.errors import NoRule
from diffjit.frontend import values as av
from diffjit.frontend.formulas import choice, formula, number, reciprocal
from diffjit.frontend.interpret import Frame, Interpreter
from diffjit.frontend.values import Static
from diffjit.ir.build import Builder
from diffjit.ir.nodes import TRIED, Block, Op, Value, const_of, is_const
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.primitives.registry import ELEMENTWISE, RULES


@dataclass(slots=True, eq=False)
class Scratch:
    """Operations that compute something from values of the forward sweep, not yet placed."""

    block: Block
    results: list[Any]


class RuleRunner:
    """Interprets rules with IR values as arguments."""

    def __init__(self, build: Builder) -> None:
        self.build = build
        self.interpreter = Interpreter(build, rule_mode=True)
        scope = av.Scope((), None, _NAMESPACE)
        node = formula("lambda: 0")
        self.fn = av.Fn(node, "rule", "<rule>", (), {}, scope)
        self.singular: dict[Value, bool] = {}  # whether values may be non-finite for finite data

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
    names["out"] = op.out
    return names


def scaled_partial(runner: RuleRunner, op: Op, k: int, g: Any) -> Any:
    """g times the partial derivative by input k; None where that is zero."""
    entry = ELEMENTWISE[op.kind]
    text = entry.partials[k]
    if op.kind == "zmul":
        return runner.ew("zmul", g, op.inputs[1]) if k == 0 else runner.ew("zmul", op.inputs[0], g)
    if text is None:
        raise NoRule(
            "DJ202",
            f"`{op.kind}` has no derivative by argument {k + 1}",
            loc=op.loc,
            cure="stop_gradient marks it as constant",
        )
    before, runner.build.tried = runner.build.tried, bool(op.attrs.get(TRIED))
    try:
        return _scaled(runner, partial_tree(text), elementwise_names(runner, op), g, guarded=needs_guard(runner, op, k))
    finally:
        runner.build.tried = before


def needs_guard(runner: RuleRunner, op: Op, k: int) -> bool:
    """Whether the partial can be non-finite for these operands."""
    if op.attrs.get(TRIED):
        return True
    if _reads_singular(runner, op, k):
        return True
    if not ELEMENTWISE[op.kind].guarded or op.kind in _OVERFLOW:
        return False
    constant = [const_of(v) for v in op.inputs]
    if op.kind in ("divide", "remainder", "floor_divide") and constant[1]:
        return False
    if op.kind == "power" and isinstance(constant[1], (int, float, np.floating, np.integer)) and k == 0:
        return not (constant[1] >= 1 or constant[1] == 0)
    return True


_OVERFLOW = frozenset({"exp", "exp2", "expm1", "sinh", "cosh", "square"})  # non-finite only where the value itself is
_FINITE = _OVERFLOW | {"sqrt", "hypot", "cbrt", "remainder", "zmul"}  # guarded, but finite for finite operands
_PASS_ON = frozenset({"divide", "power", "add", "subtract", "multiply", "negative", "absolute"})


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
    if op is None or op.kind not in ELEMENTWISE or not ELEMENTWISE[op.kind].guarded:
        return False
    if op.kind in ("select", "where") or op.kind in _FINITE:
        return False
    constant = const_of(op.inputs[-1])
    number = isinstance(constant, (int, float, np.floating, np.integer))
    return not (op.kind in ("divide", "power", "float_power") and number and constant > 0)


def _scaled(runner: RuleRunner, tree: Any, names: dict[str, Any], g: Any, *, guarded: bool) -> Any:
    """g * expression; a choice is applied branch by branch, so that 0 stays 0 whatever g is."""
    factor = number(tree)
    if factor == 0:
        return None
    if factor == 1:
        return g
    if factor == -1:
        return runner.ew("negative", g)
    branches = choice(tree)
    if branches is not None:
        test = runner.expression(branches[0], names)
        if isinstance(test, Static):
            return _scaled(runner, branches[1 if test.obj else 2], names, g, guarded=guarded)
        yes, no = (_scaled(runner, t, names, g, guarded=guarded) for t in branches[1:])
        if yes is None and no is None:
            return None
        return runner.interpreter.np_where(test, Static(0.0) if yes is None else yes, Static(0.0) if no is None else no)
    partial = runner.expression(tree, names)
    if isinstance(partial, Static) and partial.obj == 0:
        return None
    if isinstance(partial, Static) and np.isfinite(partial.obj):
        guarded = False
    denominator = None if guarded else reciprocal(tree)
    if denominator is not None:
        return runner.ew("divide", g, runner.expression(denominator, names))
    return runner.ew("zmul" if guarded else "multiply", g, partial)


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


def refuse_complex(op: Op, value: Value) -> None:
    """Gradients of complex values come with a later version."""
    if isinstance(value.type, (Scalar, Array)) and value.type.dtype.kind == "c" and is_float(value.type):
        raise NoRule(
            "DJ203",
            f"a derivative would flow through complex numbers at `{op.kind}`",
            loc=op.loc,
            cure="complex gradients are not supported yet: write the real and imaginary parts as separate real numbers",
        )


__all__ = [
    "RuleRunner",
    "Scratch",
    "ast",
    "elementwise_names",
    "partial_tree",
    "refuse_complex",
    "rule_values",
    "scaled_partial",
]
