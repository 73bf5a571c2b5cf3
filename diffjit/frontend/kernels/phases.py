"""A kernel whose threads wait for one another, cut at its barriers into phases.

    sm = cuda.shared.array(64, float64)           sm = ...
    t = cuda.threadIdx.x                          phase:  t = ...; sm[t] = x[t]
    sm[t] = x[t]                                  s = 32
    cuda.syncthreads()                            while s > 0:
    s = 32                                   ->       phase:  if t < s: sm[t] += sm[t + s]
    while s > 0:                                      s //= 2
        if t < s:                                 phase:  out[t] = sm[t]
            sm[t] += sm[t + s]
        cuda.syncthreads()
        s //= 2
    out[t] = sm[t]

A phase is run by all threads of a block, one after the other; what stands between phases is run once for the block.
That is the meaning of a barrier which all threads come to. Loops and branches around a barrier must be the same for all
threads of a block, and their headers must show it: they hang on sizes, arguments, block indices, and on elements of
arrays, which without a race are the same for all that read them between two barriers.
"""

from __future__ import annotations

import builtins
import copy
import math
import types
from dataclasses import field
from typing import Any

import gast

from diffjit.dataclass import dataclass
from diffjit.frontend.entry.subset import assigned_names, local_names
from diffjit.frontend.kernels.words import Word, word, word_of

_COMPOUND = (gast.If, gast.For, gast.While)
_JUMPS = (gast.Break, gast.Continue)
_OPAQUE = (gast.Lambda, gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp, gast.FunctionDef, gast.ClassDef)


class Phase(gast.stmt):
    """Statements between two barriers."""

    _fields = ("body",)
    body: list[Any]


@dataclass(slots=True, eq=False)
class Plan:
    """A kernel as phases."""

    body: list[Any]
    kept: frozenset[str] = frozenset()  # what a thread takes from one phase to another
    given: frozenset[str] = frozenset()  # those of them that are parameters, and begin as what the kernel is given
    unsure: frozenset[str] = frozenset()  # those of them that may have no value at some place
    again: list[tuple[Phase, Any, frozenset[str]]] = field(default_factory=list)  # assignments that each phase repeats
    shared: frozenset[int] = frozenset()  # calls of shared.array that stand where there may be one
    returns: bool = False  # whether a thread may leave before the last phase


_plans: dict[Any, Plan | None] = {}


def plan_of(node: Any, pyfunc: Any) -> Plan | None:
    """The plan of a kernel; None where its threads have nothing to do with one another."""
    key = pyfunc.__code__, node
    if key not in _plans:
        reader = _Reader(node, pyfunc)
        _plans[key] = _Cut(reader).plan() if reader.is_cooperative() else None
    return _plans[key]


class _Reader:
    """What expressions of a kernel stand for, as far as its text says it."""

    def __init__(self, node: Any, pyfunc: Any) -> None:
        self.node, self.pyfunc = node, pyfunc
        self.local, _ = local_names(node)
        self.outer = {**pyfunc.__globals__}
        for name, cell in zip(pyfunc.__code__.co_freevars, pyfunc.__closure__ or (), strict=True):
            self.outer[name] = _held(cell)

    def found(self, node: Any) -> Any:
        """The object that a name or an attribute stands for; None where that is not known."""
        if isinstance(node, gast.Name):
            return None if node.id in self.local else self.outer.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, gast.Attribute):
            owner = self.found(node.value)
            if owner is None:
                return None
            return word_of(owner, node.attr) or (
                getattr(owner, node.attr, None) if isinstance(owner, types.ModuleType) else None
            )
        return None

    def path(self, node: Any) -> str:
        """The path of a word, or ""."""
        said = word(self.found(node))
        return "" if said is None else said.path

    def called(self, node: Any) -> str:
        """The path of the word that is called."""
        return self.path(node.func) if isinstance(node, gast.Call) else ""

    def is_barrier(self, node: Any) -> bool:
        return isinstance(node, gast.Expr) and self.called(node.value) == "syncthreads"

    def is_shared(self, node: Any) -> bool:
        return isinstance(node, gast.Assign) and self.called(node.value) == "shared.array"

    def is_cooperative(self) -> bool:
        paths = {self.called(n) for n in gast.walk(self.node)}
        return bool(paths & {"syncthreads", "shared.array"})


class _Cut:
    """The cutting of one kernel."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.local = reader.local
        self.private: set[str] = set()  # names that may not be the same for all threads of a block
        self.split: set[int] = set()  # loops and branches that are run once for all threads
        self.needed: set[str] = set()  # names that are computed once for all threads

    def plan(self) -> Plan:
        body = self.reader.node.body
        while self._find_private(body, uniform=True):
            pass
        while self._find_split(body):
            pass
        made = Plan(self._cut(body))
        shared = [s for s in made.body if self.reader.is_shared(s)]
        made.shared = frozenset(id(s.value) for s in shared)
        self._keep(made)
        return made

    # What is the same for all threads

    def is_uniform(self, node: Any) -> bool:
        """Whether an expression is the same for all threads of a block."""
        if isinstance(node, gast.Name):
            return node.id not in self.private
        path = self.reader.path(node)
        if path:
            return path.partition(".")[0] in ("blockIdx", "blockDim", "gridDim", "warpsize")
        if isinstance(node, gast.Call):
            known = self.reader.called(node) in ("gridsize", "shared.array") or _is_plain(self.reader.found(node.func))
            return known and all(map(self.is_uniform, (*node.args, *(k.value for k in node.keywords))))
        if isinstance(node, (*_OPAQUE, gast.NamedExpr)):
            return False
        return all(map(self.is_uniform, _parts(node)))

    def _find_private(self, statements: list[Any], *, uniform: bool) -> bool:
        """Names that these statements give to threads; whether there are new ones."""
        before = len(self.private)
        for s in statements:
            if isinstance(s, gast.Assign):
                for target in s.targets:
                    self._bind(target, s.value, uniform=uniform)
            elif isinstance(s, (gast.AugAssign, gast.AnnAssign)) and isinstance(s.target, gast.Name):
                if s.value is not None and not (uniform and self.is_uniform(s.value)):
                    self.private.add(s.target.id)
            elif isinstance(s, _COMPOUND):
                header = s.iter if isinstance(s, gast.For) else s.test
                inside = uniform and self.is_uniform(header)
                if not isinstance(s, gast.If):
                    inside = inside and self._jumps_alike(s.body)
                if isinstance(s, gast.For) and not inside:
                    self.private |= assigned_names([s.target])
                self._find_private([*s.body, *s.orelse], uniform=inside)
            else:
                self.private |= assigned_names([s])
            self.private |= {n.target.id for n in gast.walk(s) if isinstance(n, gast.NamedExpr)}
        return len(self.private) > before

    def _bind(self, target: Any, value: Any, *, uniform: bool) -> None:
        if isinstance(target, gast.Tuple) and isinstance(value, gast.Tuple) and len(target.elts) == len(value.elts):
            for part, item in zip(target.elts, value.elts, strict=True):
                self._bind(part, item, uniform=uniform)
        elif not (uniform and self.is_uniform(value)):
            self.private |= assigned_names([target])

    def _jumps_alike(self, statements: list[Any], *, uniform: bool = True) -> bool:
        """Whether all threads leave a loop, or go on with it, at the same time."""
        for s in statements:
            if isinstance(s, _JUMPS) and not uniform:
                return False
            if isinstance(s, gast.If):
                alike = uniform and self.is_uniform(s.test)
                if not self._jumps_alike([*s.body, *s.orelse], uniform=alike):
                    return False
        return True

    # What is run once

    def _find_split(self, statements: list[Any]) -> bool:
        """The loops and branches that are not run thread by thread; whether there are new ones, or new names."""
        before = len(self.split), len(self.needed)
        for s in statements:
            if not isinstance(s, _COMPOUND):
                self._refuse_inside(s)
                if isinstance(s, (gast.Assign, gast.AugAssign)) and assigned_names(_targets(s)) & self.needed:
                    self.needed |= self._read(s.value)
                continue
            inner = assigned_names([*s.body, *s.orelse]) & self.needed
            if not (self._waits(s) or inner or (self._jumps(s) and isinstance(s, gast.If) and self.in_split_loop)):
                continue
            header = s.iter if isinstance(s, gast.For) else s.test
            alike = self.is_uniform(header) and (isinstance(s, gast.If) or self._jumps_alike(s.body))
            if not alike:
                self._refuse(s, header)
            self.split.add(id(s))
            self.needed |= self._read(header)
            outer = self.in_split_loop
            self.in_split_loop = outer or not isinstance(s, gast.If)
            self._find_split([*s.body, *s.orelse])
            self.in_split_loop = outer
        return (len(self.split), len(self.needed)) > before

    in_split_loop = False

    def _read(self, node: Any) -> set[str]:
        names = {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}
        return names & self.local - self.private

    def _waits(self, statement: Any) -> bool:
        return any(self.reader.is_barrier(n) for n in gast.walk(statement))

    def _jumps(self, statement: Any) -> bool:
        """Whether a branch leaves the loop around it."""
        parts = [*statement.body, *statement.orelse]
        return any(isinstance(s, _JUMPS) or (isinstance(s, gast.If) and self._jumps(s)) for s in parts)

    def _refuse_inside(self, statement: Any) -> None:
        if not self.reader.is_barrier(statement) and self._waits(statement):
            self._refuse(statement, None)

    def _refuse(self, statement: Any, header: Any) -> None:
        """A barrier that not all threads may come to, or not equally often."""
        at = next((n for n in gast.walk(statement) if self.reader.is_barrier(n)), statement)
        why = "" if header is None else f": `{gast_text(header)}` in line {header.lineno} may be another one for each"
        raise Refused(
            at, f"the threads of a block may not all come to this barrier{why}",
            "move the barrier out of the branch, or make the branch or loop the same for all threads of a block",
        )  # fmt: skip

    # Cutting

    def _cut(self, statements: list[Any]) -> list[Any]:
        made: list[Any] = []
        phase: list[Any] = []

        def close() -> None:
            if phase:
                one = Phase(body=list(phase))
                gast.copy_location(one, phase[0])
                made.append(one)
                phase.clear()

        for s in statements:
            once = not isinstance(s, _COMPOUND) and bool(assigned_names([s]) & self.needed)
            if self.reader.is_barrier(s):
                close()
            elif id(s) in self.split:
                close()
                new = copy.copy(s)
                new.body, new.orelse = self._cut(s.body), self._cut(s.orelse)
                made.append(new)
            elif once or self.reader.is_shared(s) or (isinstance(s, _JUMPS)):
                close()
                made.append(s)
            else:
                phase.append(s)
        close()
        return made

    # What threads keep

    def _keep(self, plan: Plan) -> None:
        phases = [n for s in plan.body for n in gast.walk(s) if isinstance(n, Phase)]
        bound = [n for p in phases for s in p.body for n in _bindings(s)]
        every = [n for s in self.reader.node.body for n in _bindings(s)]
        once = {n for s in plan.body if isinstance(s, gast.Assign) for n in _bindings(s) if every.count(n) == 1}
        fixed = (self.local - set(every)) | once
        for phase in (s for s in plan.body if isinstance(s, Phase)):
            for s in phase.body:
                names = assigned_names([s]) if isinstance(s, gast.Assign) else set[str]()
                if not names or any(bound.count(n) != 1 for n in names) or not all(map(_names_only, s.targets)):
                    continue
                if self.reader.called(s.value) == "local.array" or self._is_index(s.value, fixed):
                    plan.again.append((phase, s, frozenset(names)))
                    fixed |= names
        repeated = {n for _, _, names in plan.again for n in names}
        exposed = {n for p in phases for n in exposures(p.body, set())} & self.local
        plan.kept = frozenset(exposed & set(bound) - repeated)
        spec = self.reader.node.args
        plan.given = frozenset(a.id for a in (*spec.posonlyargs, *spec.args)) & plan.kept
        plan.unsure = frozenset(plan.kept & exposures(plan.body, set(plan.given)))
        last = plan.body[-1] if plan.body else None
        plan.returns = any(isinstance(n, gast.Return) for p in phases if p is not last for n in gast.walk(p))

    def _is_index(self, node: Any, fixed: set[str] | frozenset[str]) -> bool:
        """Whether an expression is the same wherever it stands: made of places in the grid, sizes and arguments."""
        if isinstance(node, gast.Name):
            return node.id in fixed or node.id not in self.local
        path = self.reader.path(node)
        if path or isinstance(node, gast.Constant):
            return path.partition(".")[0] in ("", "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize")
        parts = _parts(node)
        if isinstance(node, gast.Call):
            known = self.reader.called(node) in ("grid", "gridsize") or _is_plain(self.reader.found(node.func))
            return known and all(self._is_index(p, fixed) for p in node.args)
        if isinstance(node, gast.Attribute):
            return node.attr in ("shape", "size", "ndim", "T") and self._is_index(node.value, fixed)
        if isinstance(node, gast.Subscript):
            of_shape = isinstance(node.value, gast.Attribute) and node.value.attr == "shape"
            sliced = any(isinstance(n, gast.Slice) for n in (node.slice, *getattr(node.slice, "elts", ())))
            return (of_shape or sliced) and all(self._is_index(p, fixed) for p in parts)
        kinds = (gast.BinOp, gast.UnaryOp, gast.Compare, gast.BoolOp, gast.IfExp, gast.Tuple, gast.Slice)
        return isinstance(node, kinds) and all(self._is_index(p, fixed) for p in parts)


class Refused(Exception):
    """A barrier that cannot be cut at; the interpreter makes an error with a place of it."""

    def __init__(self, node: Any, message: str, cure: str) -> None:
        super().__init__(message)
        self.node, self.message, self.cure = node, message, cure


def exposures(statements: list[Any], known: set[str]) -> set[str]:
    """Names that these statements may read before they give them a value; `known` grows by what certainly has one."""
    found: set[str] = set()
    for s in statements:
        if isinstance(s, Phase):
            found |= exposures(s.body, known)
        elif isinstance(s, _COMPOUND):
            found |= _loads(s.iter if isinstance(s, gast.For) else s.test) - known
            paths = [set(known), set(known)]
            if isinstance(s, gast.For):
                paths[0] |= assigned_names([s.target])
            found |= exposures(s.body, paths[0]) | exposures(s.orelse, paths[1])
            if isinstance(s, gast.If):
                ends = [bool(part) and isinstance(part[-1], (gast.Return, *_JUMPS)) for part in (s.body, s.orelse)]
                stay = [path for path, ended in zip(paths, ends, strict=True) if not ended]
                known |= set[str].intersection(*stay) if stay else set()
        else:
            found |= _loads(s) - known
            if isinstance(s, (gast.Assign, gast.AugAssign)) or (isinstance(s, gast.AnnAssign) and s.value):
                known |= {n.id for t in _targets(s) for n in gast.walk(t) if isinstance(n, gast.Name) and _is_store(n)}
    return found


def gast_text(node: Any) -> str:
    """An expression as text."""
    import ast

    return ast.unparse(gast.gast_to_ast(node))


def _loads(node: Any) -> set[str]:
    names = {n.id for n in gast.walk(node) if isinstance(n, gast.Name) and not _is_store(n)}
    return names | (
        {node.target.id} if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name) else set()
    )


def _parts(node: Any) -> list[Any]:
    """What an expression is made of."""
    return [n for n in gast.iter_child_nodes(node) if isinstance(n, (gast.expr, gast.Slice, gast.comprehension))]


def _is_store(node: Any) -> bool:
    return isinstance(node.ctx, (gast.Store, gast.Del))


def _targets(statement: Any) -> list[Any]:
    return statement.targets if isinstance(statement, gast.Assign) else [statement.target]


def _bindings(statement: Any) -> list[str]:
    """The names that a statement binds, as often as it does."""
    nodes = (n for n in gast.walk(statement) if isinstance(n, gast.Name) and _is_store(n))
    return [n.id for n in nodes]


def _names_only(target: Any) -> bool:
    return isinstance(target, gast.Name) or (isinstance(target, gast.Tuple) and all(map(_names_only, target.elts)))


def _is_plain(obj: Any) -> bool:
    """Whether a function gives the same for the same arguments, and asks nothing about its thread."""
    if isinstance(obj, Word) or obj is None:
        return False
    known = (abs, bool, float, int, len, max, min, pow, range, round)
    return obj in known or getattr(math, getattr(obj, "__name__", ""), None) is obj


def _held(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
