"""Random structured SSA programs over integers: the printed text does what a direct interpreter of the IR does."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from diffjit.ir.build import Builder
from diffjit.ir.dump import format_ir
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.text.expressions import SourcePrinter
from diffjit.ir.text.printer import print_module
from diffjit.ir.types import BOOL, INT, Array, Stack, Sym
from diffjit.ir.verify import verify
from diffjit.ir.walk import clone, dce

CELLS = Array(np.dtype(np.int64), (Sym(),))
TAPE = Stack(INT)
UNDEFINED = object()
MODULUS = 1009

# ------------------------------------------------------------------------------------------------ interpreter

BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "remainder": lambda a, b: a % b,
    "less": lambda a, b: a < b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
}


def interpret(function: Function, args: list[Any]) -> list[Any]:
    env = dict(zip(function.params, args, strict=True))
    return run(function.body, env)


def run(block: Block, env: dict[Value, Any]) -> list[Any]:
    for op in block.ops:
        step(op, [env[v] for v in op.inputs], env)
    return [env[v] for v in block.results]


def step(op: Op, args: list[Any], env: dict[Value, Any]) -> None:
    if op.kind == "if":
        outs = run(op.regions[0 if args[0] else 1], env)
    elif op.kind in ("for", "while"):
        outs = loop(op, args, env)
    elif op.kind == "call":
        outs = interpret(op.attrs["function"], args)
    elif op.kind in BINARY:
        outs = [BINARY[op.kind](*args)]
    elif op.kind == "const":
        outs = [op.attrs["value"]]
    elif op.kind == "undef":
        outs = [UNDEFINED]
    elif op.kind == "load":
        outs = [int(args[0][args[1]])]
    elif op.kind in ("store", "accum_at"):
        args[0][args[2]] = args[1] + (args[0][args[2]] if op.kind == "accum_at" else 0)
        outs = []
    elif op.kind == "push":
        args[0].append(args[1])
        outs = []
    else:
        assert op.kind == "pop"
        outs = [args[0].pop()]
    env.update(zip(op.outputs, outs, strict=True))


def loop(op: Op, args: list[Any], env: dict[Value, Any]) -> list[Any]:
    body = op.regions[-1]
    exits = op.attrs["exit"]
    if op.kind == "for":
        carried = args[3:]
        indices = range(*args[:3])
        for i in reversed(indices) if op.attrs["reverse"] else indices:
            env.update(zip(body.args, [i, *carried], strict=True))
            outs = run(body, env)
            carried = outs[exits:]
            if exits and outs[0]:
                break
        return carried
    carried = args
    while True:
        env.update(zip(op.regions[0].args, carried, strict=True))
        if not run(op.regions[0], env)[0]:
            return carried
        env.update(zip(body.args, carried, strict=True))
        outs = run(body, env)
        carried = outs[exits:]
        if exits and outs[0]:
            return carried


# ------------------------------------------------------------------------------------------------ generator


class Generator:
    """Makes programs with few names, so that versions, swaps and clashes abound."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.b = Builder()
        self.memory = Value(CELLS, "u")
        self.stack = Value(TAPE, "tape")
        self.callee: Function | None = None
        self.budget = self.rng.choice([10, 25, 60])

    def name(self) -> str | None:
        return self.rng.choice(["a", "b", "c", "d", None, None])

    def function(self, name: str = "f") -> Function:
        params = [Value(INT, p) for p in "abc"]
        body = Block()
        with self.b.inside(body):
            ints, maybe = self.ops(list(params), [], 0)
            body.results = [self.pick(ints) for _ in range(self.rng.randint(1, 4))]
        del maybe
        return Function(name, [self.memory, self.stack, *params], body)

    def pick(self, ints: list[Value]) -> Value:
        return self.rng.choice(ints[-6:] if self.rng.random() < 0.7 else ints)

    def small(self, v: Value) -> Value:
        return self.b.value("remainder", [v, self.b.const(MODULUS)], INT, name=self.name())

    def index(self, ints: list[Value]) -> Value:
        return self.b.value("remainder", [self.pick(ints), self.b.const(4)], INT)

    def condition(self, ints: list[Value]) -> Value:
        if self.rng.random() < 0.05:
            return self.b.const(self.rng.random() < 0.5)
        kind = self.rng.choice(["less", "greater_equal", "equal"])
        c = self.b.value(kind, [self.pick(ints), self.pick(ints)], BOOL, name=self.rng.choice([None, None, "done"]))
        if self.rng.random() < 0.15:
            regions = []
            for _ in range(2):
                block = Block()
                with self.b.inside(block):
                    block.results = [self.condition(ints)]
                regions.append(block)
            c = self.b.op("if", [c], [BOOL], regions=regions).out
        elif self.rng.random() < 0.2:
            c = self.b.value(self.rng.choice(["logical_and", "logical_or"]), [c, self.condition(ints)], BOOL)
        return c

    def ops(self, ints: list[Value], maybe: list[Value], depth: int) -> tuple[list[Value], list[Value]]:
        """Fill the current block; `maybe` are values that may be undefined and are only ever copied."""
        for _ in range(self.rng.randint(1, 7)):
            self.budget -= 1
            if self.budget < 0:
                break
            self.one(ints, maybe, depth)
        return ints, maybe

    def one(self, ints: list[Value], maybe: list[Value], depth: int) -> None:
        roll = self.rng.random()
        if roll < 0.35:
            kind = self.rng.choice(["add", "subtract", "multiply"])
            v = self.b.value(kind, [self.pick(ints), self.pick(ints)], INT, name=self.name())
            ints.append(self.small(v) if kind == "multiply" or self.rng.random() < 0.3 else v)
        elif roll < 0.42:
            ints.append(self.b.const(self.rng.randint(-3, 9)))
        elif roll < 0.52:
            ints.append(self.b.value("load", [self.memory, self.index(ints)], INT, name=self.name()))
        elif roll < 0.6:
            self.b.op(
                self.rng.choice(["store", "accum_at"]), [self.memory, self.small(self.pick(ints)), self.index(ints)]
            )
        elif roll < 0.66:
            self.b.op("push", [self.stack, self.pick(ints)])
            if self.rng.random() < 0.6:
                ints.append(self.b.value("pop", [self.stack], INT, name=self.name()))
        elif roll < 0.69 and self.callee is not None and depth < 2:
            args = [self.memory, self.stack, *(self.small(self.pick(ints)) for _ in range(3))]
            op = self.b.op("call", args, [INT] * len(self.callee.results), name=self.name(), function=self.callee)
            ints += [self.small(v) for v in op.outputs]
        elif depth < 4 and roll < 0.84:
            self.branch(ints, maybe, depth)
        elif depth < 3:
            self.loop(ints, maybe, depth)

    def outputs(self, op: Op, names: list[str | None], ints: list[Value], maybe: list[Value], sure: int) -> None:
        for v, name in zip(op.outputs, names, strict=True):
            v.name = name
        ints += op.outputs[:sure]
        maybe += op.outputs[sure:]

    def maybe_value(self, maybe: list[Value], ints: list[Value]) -> Value:
        roll = self.rng.random()
        if roll < 0.4 or (roll < 0.7 and not maybe):
            return self.b.value("undef", [], INT, name=self.name())
        return self.rng.choice(maybe) if roll < 0.7 else self.pick(ints)

    def branch(self, ints: list[Value], maybe: list[Value], depth: int) -> None:
        cond = self.condition(ints)
        sure, unsure = self.rng.choice([0, 0, 1, 1, 2, 3]), self.rng.choice([0, 0, 0, 1])
        regions = []
        for _ in range(2):
            block = Block()
            with self.b.inside(block):
                mine, hazy = list(ints), list(maybe)
                if self.rng.random() < 0.8:
                    self.ops(mine, hazy, depth + 1)
                block.results = [self.pick(mine) for _ in range(sure)] + [
                    self.maybe_value(hazy, mine) for _ in range(unsure)
                ]
            regions.append(block)
        op = self.b.op("if", [cond], [INT] * (sure + unsure), regions=regions)
        self.outputs(op, [self.name() for _ in op.outputs], ints, maybe, sure)

    def loop(self, ints: list[Value], maybe: list[Value], depth: int) -> None:
        sure, unsure = self.rng.choice([0, 1, 2, 2, 3]), self.rng.choice([0, 0, 0, 1])
        kind = self.rng.choice(["for", "for", "while"])
        names = [self.name() for _ in range(sure + unsure)]
        inits = [self.pick(ints) for _ in range(sure)] + [self.maybe_value(maybe, ints) for _ in range(unsure)]
        exits = self.rng.random() < 0.45
        if kind == "for":
            last = self.b.value("remainder", [self.pick(ints), self.b.const(4)], INT, name=self.name())
            bounds = [self.b.const(self.rng.randint(-1, 1)), last, self.b.const(self.rng.choice([1, 1, 2, -1]))]
            regions = [
                self.body([INT, *[INT] * len(names)], ["i", *names], ints, maybe, depth, sure, exits, counter=False)
            ]
            op = self.b.op(
                "for",
                [*bounds, *inits],
                [INT] * len(names),
                regions=regions,
                exit=exits,
                reverse=self.rng.random() < 0.3,
            )
            self.outputs(op, names, ints, maybe, sure)
            return
        # The last carried value of a `while` counts down, so that the program ends.
        inits.append(self.b.const(self.rng.randint(0, 4)))
        names.append(self.rng.choice(["n", None, "a"]))
        cond = Block(args=[Value(INT, n) for n in names])
        with self.b.inside(cond):
            mine = ints + cond.args[:sure]
            go_on = self.b.value("less", [self.b.const(0), cond.args[-1]], BOOL)
            if self.rng.random() < 0.4:
                go_on = self.b.value("logical_and", [go_on, self.condition(mine)], BOOL)
            if self.rng.random() < 0.2:
                self.b.op("push", [self.stack, self.pick(mine)])
            cond.results = [go_on]
        body = self.body([INT] * len(names), names, ints, maybe, depth, sure, exits, counter=True)
        op = self.b.op("while", inits, [INT] * len(names), regions=[cond, body], exit=exits)
        self.outputs(op, names, ints, maybe, sure)

    def body(
        self,
        types: list[Any],
        names: list[Any],
        ints: list[Value],
        maybe: list[Value],
        depth: int,
        sure: int,
        exits: bool,
        *,
        counter: bool,
    ) -> Block:
        block = Block(args=[Value(ty, n) for ty, n in zip(types, names, strict=True)])
        with self.b.inside(block):
            args = block.args[: sure + 1] if not counter else block.args[:sure]
            first = 0 if counter else 1
            mine = ints + args
            hazy = maybe + block.args[first + sure : len(block.args) - counter]
            self.ops(mine, hazy, depth + 1)
            unsure = len(block.args) - first - sure - counter
            if exits and self.rng.random() < 0.7:
                block.results = self.tail(mine, hazy, sure, unsure, depth)
            else:
                block.results = [self.condition(mine)] if exits else []
                block.results += self.results(mine, hazy, sure, unsure, block.args[first:])
            if counter:
                one = self.b.const(1)
                block.results.append(self.b.value("subtract", [block.args[-1], one], INT, name=block.args[-1].name))
                if exits and self.rng.random() < 0.5:  # the counter before the tail
                    op = block.ops.pop()
                    at = self.rng.randint(0, len([o for o in block.ops if o.kind != "if"]) // 2)
                    const = block.ops.pop()
                    block.ops[at:at] = [const, op]
        return block

    def results(self, ints: list[Value], maybe: list[Value], sure: int, unsure: int, args: list[Value]) -> list[Value]:
        if self.rng.random() < 0.3:  # a permutation of what came in
            return self.rng.sample(args[:sure], sure) + [self.maybe_value(maybe, ints) for _ in range(unsure)]
        made = [self.pick(ints) for _ in range(sure)]
        return made + [self.maybe_value(maybe, ints) for _ in range(unsure)]

    def tail(self, ints: list[Value], maybe: list[Value], sure: int, unsure: int, depth: int) -> list[Value]:
        """Results of a body that end in `if cond: break`."""
        cond = self.condition(ints)
        joined = [k for k in range(sure + unsure) if self.rng.random() < 0.6]
        regions = []
        straight = self.results(ints, maybe, sure, unsure, ints[:sure])
        for leaving in self.rng.choice([(True, False), (False, True), (None, False), (True, None)]):
            block = Block()
            with self.b.inside(block):
                mine, hazy = list(ints), list(maybe)
                if self.rng.random() < 0.5:
                    self.ops(mine, hazy, depth + 1)
                leave = self.condition(mine) if leaving is None else self.b.const(leaving)
                inner = self.results(mine, hazy, sure, unsure, mine[:sure])
                block.results = [leave, *(inner[k] for k in joined)]
            regions.append(block)
        op = self.b.op("if", [cond], [BOOL, *[INT] * len(joined)], regions=regions)
        results: list[Value] = list(straight)
        for k, v in zip(joined, op.outputs[1:], strict=True):
            v.name = self.name()
            results[k] = v
        return [op.outputs[0], *results]


class Eager(SourcePrinter):
    """Folds named values too, and has its own idea of which variables may share a name."""

    def foldable(self, op: Op) -> bool:
        return self.expressible(op)

    def storage(self, ty: Any) -> Any:
        return type(ty), getattr(ty, "dtype", None)


# ------------------------------------------------------------------------------------------------ tests


def outcome(call: Any) -> Any:
    memory, stack = np.array([3, 1, 4, 1]), [7, 11, 13, 17, 19] * 40
    with np.errstate(all="ignore"):
        results = call(memory, stack)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    return results, memory.tolist(), stack


def check(function: Function, printer: SourcePrinter, dump: str) -> None:
    text = print_module(function, printer)
    scope: dict[str, Any] = {}
    exec(compile(text, "<generated>", "exec"), scope)  # noqa: S102 - our own text
    for args in ([1, 2, 3], [0, 5, -2], [8, 8, 1]):
        wanted = outcome(lambda m, s: interpret(function, [m, s, *args]))  # noqa: B023
        try:
            got = outcome(lambda m, s: scope["f"](m, s, *args))  # noqa: B023
        except Exception as error:  # noqa: BLE001
            got = error
        assert got == wanted, f"{dump}\n\n{text}\nargs {args}"


def program(seed: int) -> Function:
    first = Generator(seed)
    callee = first.function("helper")
    second = Generator(seed + 10**6)
    second.callee = callee if seed % 3 == 0 else None
    return second.function()


@pytest.mark.parametrize("chunk", range(8))
def test_text_does_what_the_program_does(chunk: int) -> None:
    for seed in range(chunk * 40, chunk * 40 + 40):
        function = program(seed)
        verify(function)
        dump = f"seed {seed}\n{format_ir(function)}"
        check(function, SourcePrinter(), dump)
        check(function, Eager(), dump)


@pytest.mark.parametrize("chunk", range(2))
def test_dead_code_elimination_changes_nothing_else(chunk: int) -> None:
    for seed in range(chunk * 40, chunk * 40 + 40):
        function = program(seed)
        slim = clone(function)
        verify(slim)
        dce(slim)
        verify(slim)
        for args in ([1, 2, 3], [0, 5, -2]):
            wanted = outcome(lambda m, s: interpret(function, [m, s, *args]))  # noqa: B023
            assert outcome(lambda m, s: interpret(slim, [m, s, *args])) == wanted  # noqa: B023
        check(slim, SourcePrinter(), f"seed {seed}\n{format_ir(slim)}")
