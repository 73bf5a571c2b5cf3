"""`checkpoint` and `checkpointed`: derivatives in bounded memory, at the price of computing some things again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from diffjit.analysis.manager import analyses
from diffjit.api.engine.composed import Marked
from diffjit.api.engine.derived import verb
from diffjit.api.engine.inline import nest
from diffjit.api.engine.tracebacks import boundary
from diffjit.errors import MemoryProblem, UsageError
from diffjit.frontend.calls.nested import Inner
from diffjit.frontend.entry.demand import NOTHING
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Function, Value
from diffjit.ir.types import BOOL, Array, Scalar
from diffjit.ir.walk import dce
from diffjit.transforms.checkpoint.calls import APART, recomputed
from diffjit.transforms.outlined import own
from diffjit.transforms.prepare import copied_params, stream_params

T = TypeVar("T")

_CURE = "return a copy"

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class CheckpointedFunction(Marked):
    """A function whose derivatives keep only its inputs."""

    apart = False  # whether it returns a view is looked at where it is called

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        interpreter.portable = False  # the function is this object's, which has no name in another process
        name = getattr(self.function, "__name__", "function").replace("<lambda>", "lambda_")
        what = f"`{name}`, which is checkpointed,"
        inner = nest(interpreter, self.function, args, kwargs, node, refusal=what, demand=NOTHING, itself=True)
        if inner is None:
            return NONE
        return _Call(interpreter, name, inner).emit()


class _Call:
    """Builds one call: its function changes nothing outside and shares no memory with anything."""

    def __init__(self, interpreter: Any, name: str, inner: Inner) -> None:
        self.interpreter, self.name, self.inner = interpreter, name, inner

    def emit(self) -> Any:
        interpreter, inner = self.interpreter, self.inner
        f = inner.program.function
        if not all(isinstance(v.type, (Scalar, Array)) for v in (*f.params, *f.results)):
            raise self.refused(
                "takes or returns a list whose length is only known at run time", "use an array: np.array(items)"
            )
        given = {p: v for p, v in zip(f.params, inner.inputs, strict=True) if isinstance(p.type, Array)}
        itself = {k: given[v] for k, v in enumerate(f.results) if v in given}
        made, copies = copied_params(f)
        drawn = stream_params(f)
        pairs = self.one_memory(f, itself, frozenset(copies))
        self.refuse_overlap(f, copies)
        order = [k for k in range(len(f.results)) if k not in itself]
        made.body.results = own([*(made.results[k] for k in order), *copies.values()], made)
        dce(made)
        rules = recomputed(self.name, made)
        types = [v.type for v in made.results]
        op = interpreter.build.op("call", inner.inputs, types, function=made, rules=rules)
        if pairs:
            op.attrs[APART] = tuple((a if a < 0 else order.index(a), order.index(b)) for a, b in pairs)
        for out, v in zip(op.outputs, made.results, strict=True):
            out.name = v.name
        for k, out in zip(copies, op.outputs[len(order) :], strict=True):
            interpreter.build.op("leave" if k in drawn else "assign", [inner.inputs[k], out])
        outs: list[Value] = [itself.get(k) or op.outputs[order.index(k)] for k in range(len(f.results))]
        return interpreter.abstract(inner.program.result, outs)

    def one_memory(self, f: Function, itself: dict[int, Value], changed: frozenset[int]) -> list[tuple[int, int]]:
        """Pairs of inputs (counted from -1 downwards) and results that may share memory, which the call cuts apart."""
        memory = analyses(f).one_memory
        taken = {memory.find(p): -1 - k for k, p in enumerate(f.params) if isinstance(p.type, Array)}
        pairs: list[tuple[int, int]] = []
        for k, v in enumerate(f.results):
            if not isinstance(v.type, Array) or k in itself:
                continue
            other = taken.setdefault(memory.find(v), k)
            if other == k:
                continue
            if other < 0 and -1 - other in changed:
                name = f.params[-1 - other].name or "an argument"
                raise self.refused(f"returns an array that may share memory with `{name}`, which it changes", _CURE)
            pairs.append((other, k))
        return pairs

    def refuse_overlap(self, f: Function, copies: dict[int, Value]) -> None:
        """An array that the function changes must not have a second name among what it reads."""
        interpreter, inputs = self.interpreter, self.inner.inputs
        for k in copies:
            for j, p in enumerate(f.params):
                if j == k or not isinstance(p.type, Array) or (j in copies and j < k):
                    continue
                text = (
                    f"`{self.name}` is checkpointed and changes `{f.params[k].name}`, which shares memory with "
                    f"`{p.name}`: pass a copy [DJ406]"
                )
                shares = interpreter.build.value("share", [inputs[k], inputs[j]], BOOL)
                interpreter.build.raise_where(shares, ValueError, text)

    def refused(self, problem: str, cure: str) -> MemoryProblem:
        """An error about the function."""
        return MemoryProblem("DJ405", f"`{self.name}` is checkpointed, and {problem}", cure=cure)


@verb
def checkpoint(fun: Any = None) -> Any:
    """Mark a function so that derivatives keep only the inputs of its calls, and compute it again on the way back.

    As a decorator or bare: `checkpoint(f)(x)` is `f(x)`, in every mode. Reverse mode runs f twice and keeps what f
    computes only while that call is reversed. f may change arrays among its arguments, and return such an array itself.
    Raises `MemoryProblem` where f returns another view of it, or of an array that is changed after the call.
    """
    return CheckpointedFunction if fun is None else CheckpointedFunction(fun, None)


@boundary
def checkpointed(iterable: Iterable[T], budget: int | str = 64) -> Iterable[T]:
    """Mark a loop so that reverse mode keeps only snapshots of its state.

    iterable  range(n), itertools.count() (then `break` ends the loop), an array, or enumerate, zip of such
    budget    how many snapshots may be kept: a number of them, or their memory, as "100MB" or "2GiB"

    What the loop's body carries from one iteration to the next, and the arrays from outside that it changes, are its
    state. The way back runs each step again from the last snapshot before it, and takes new ones on its way, by the
    schedule of Griewank and Walther ("Algorithm 799: revolve", ACM TOMS 26, 2000), which runs the fewest steps. Where
    `break` may end the loop, snapshots are taken and given up while it runs: no step runs more often than with a known
    number of steps (Wang, Moin and Iaccarino, SIAM Journal on Scientific Computing 31, 2009).

    Without a derivative this is an ordinary loop. Raises `UsageError` for a budget without room, and `MemoryProblem`
    for loops that work on lists or on memory with two names.
    """
    amount_of(budget)
    return iterable


def amount_of(budget: Any) -> tuple[str, int]:
    """A budget as ("snapshots" or "bytes", how many)."""
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?|)b\s*", budget.lower())
        amount = 0 if found is None else int(float(found[1]) * _UNITS[found[2]])
        kind = "bytes"
    else:
        amount = budget if isinstance(budget, int) and not isinstance(budget, bool) else 0
        kind = "snapshots"
    if not 1 <= amount < 2**62:
        raise UsageError(
            "DJ523",
            f"{budget!r} is no budget of snapshots",
            cure='give a number of snapshots, as 64, or their memory, as "100MB"',
        )
    return kind, amount


def _checkpointed_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    given = {**dict(zip(("iterable", "budget"), args, strict=False)), **kwargs}
    budget = given.get("budget", Static(64))
    if not (isinstance(budget, Static) and isinstance(budget.obj, str)):
        budget = Static(interpreter.static_int(budget, "a budget of snapshots", node))
    return av.Iter("checkpointed", (interpreter.as_iterable(given["iterable"]), amount_of(budget.obj)))


checkpointed.__diffjit_inline__ = _checkpointed_inside  # type: ignore[attr-defined]

__all__ = ["CheckpointedFunction", "checkpoint", "checkpointed"]
