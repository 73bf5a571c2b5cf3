"""A lean Numba pipeline for generated text, and the error exits of compiled functions.

Generated text needs none of Numba's rewriting: its names have one type each (so no SSA reconstruction), it holds no
array expressions, closures or `with` blocks. What remains is bytecode -> typing -> LLVM. Measured on 60 statements with
checked loads: 1.9 s with the default pipeline and `return`ed statuses, 0.45 s here. Beside fewer passes:

- the types of calls are remembered across functions (`MEMO`): Numba resolves `float64 + float64` anew at every plus;
- `a[i, j]` and arithmetic on equal types are emitted directly.

How errors leave compiled code, and how its LLVM is written: `emission`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numba
from numba.core import types

from diffjit.dataclass import dataclass
from diffjit.ir import stages
from diffjit.lowering.calls.cache import PACKAGE
from diffjit.lowering.calls.machinecode import MachineCode
from diffjit.lowering.flow import facts, lifetimes, trees, webs
from diffjit.lowering.llvm import numba_internals, outside, tiers, vectors
from diffjit.lowering.llvm.emission import DEPTH, Lower
from diffjit.lowering.llvm.numba_internals import IR, CompilerBase, PassManager, register_pass
from diffjit.lowering.runtime.typespec import numba_type
from diffjit.settings import settings


class Library(numba_internals.Library):
    """A module whose functions are optimised once.

    Numba optimises each function by itself first, which matters where much is linked together. For one long function
    it costs half of the compile time and more than proportionally (7.4 of 17.4 s at 1900 lines); the code that comes
    out is the same.
    """

    only_linked = False
    pending: tiers.Request | None = None  # what its fast code is yet to be made of

    def add_ir_module(self, ir_module: Any) -> None:
        """Take in the LLVM of a function, with what a second attempt of the optimiser is told of its loops."""
        vectors.note(ir_module)
        super().add_ir_module(ir_module)

    def finalize(self) -> None:
        """Make machine code, except of what is only linked into other libraries, and optimised there."""
        if self.only_linked:
            self.link_only()
        else:
            super().finalize()

    def optimise(self) -> None:
        """Optimise in a second process, or here where there is none.

        Numba prunes pairs of incref and decref as if error exits released nothing; ours do, out of its sight.
        """
        bitcode = self.final_module.as_bitcode() if settings.isolate else b""
        self.put_away()
        if settings.isolate and tiers.wanted():
            self.made_quickly(bitcode)
        elif settings.isolate:
            self.made_outside = outside.object_code(bitcode, self.optimisation())
        if self.made_outside is not None:
            self.take(self.made_outside)
        else:
            with numba_internals.pruning("per_bb,diamond,fanout"):
                super().optimise()
        for stage, suffix in (("llvm", "ll"), ("asm", "s")):
            stages.note(stage, suffix, partial(self.text, stage, bitcode))

    def made_quickly(self, bitcode: bytes) -> None:
        """Code of the same bits as the fast code's: no pass of LLVM may reorder anything."""
        if not tiers.possible(bitcode):
            self.made_outside = outside.object_code(bitcode, self.optimisation())
            return
        found = outside.attempted(bitcode, self.optimisation(light=True))
        if found is not None:
            self.made_outside, died = found
            self.pending = tiers.Request(bitcode, self.optimisation(), died)

    def text(self, stage: str, bitcode: bytes) -> str:
        """The optimised module as LLVM ("llvm") or as assembly ("asm"), by whoever has optimised it."""
        if self.made_outside is None:
            return self.printed(stage)
        found = outside.object_code(bitcode, {**self.optimisation(), "form": stage})
        assert found is not None, "the second process has made object code, and cannot be asked again"
        return found.decode()

    def object_code(self) -> bytes:
        """For the disk: Numba gives it away to LLVM and keeps none."""
        return self.made_outside or super().object_code()


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPass(numba_internals.NativeLowering):
    """Runs `Lower`."""

    _name = "diffjit_lowering"

    @property
    def lowering_class(self) -> type[Lower]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Numba asks for it."""
        return Lower

    def run_pass(self, state: Any) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Lower one function into a module of its own."""
        if state.library is None:
            state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        found = not state.flags.no_cpython_wrapper or DEPTH in state.func_ir.arg_names  # by Numba, by their code
        state.flags.no_compile |= not found
        super().run_pass(state)
        made = state["cr"]
        numba_internals.forget_types(made)
        if found:
            return True
        if made.env.consts:
            function = state.targetctx.get_executable(state.library, made.fndesc, made.env)
        else:
            state.library.only_linked = True
            state.library.generated = state.func_id.modname.startswith(f"{PACKAGE}.")
            function = [].pop  # Numba wants a built-in function of its own for each; nobody calls it
        state.targetctx.insert_user_function(function, made.fndesc, [state.library])
        state["cr"] = made._replace(cfunc=function)
        return True


# Bytecode -------------------------------------------------------------------------------------------------------------


class _Interpreter(numba_internals.Interpreter):
    """Bytecode to Numba's IR, one variable for each name.

    Numba gives a name a new version at each assignment on the way through the function that every run takes. Without
    SSA reconstruction the loop before a final `v = 0.0; break` then reads the new version (and Numba itself fails
    to type it).
    """

    def store(self, value: Any, name: str, redefine: bool = False) -> Any:
        """Assign to a variable."""
        if name.startswith("$"):
            return super().store(value, name, redefine)
        target = self.current_scope.get_or_define(name, loc=self.loc)
        if isinstance(value, IR.Var):
            value = self.assigner.assign(value, target)
        self.current_block.append(IR.Assign(value=value, target=target, loc=self.loc))  # pyright: ignore[reportOptionalMemberAccess, reportPrivateImportUsage]
        self.definitions[target.name].append(value)
        return target

    def get(self, name: str) -> Any:
        """Read a variable. One that no run reads before it is assigned may well be read further up in the text."""
        if not name.startswith("$") and name not in self.current_scope.localvars:
            return self.current_scope.get_or_define(name, loc=self.loc)
        return super().get(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class BytecodePass(numba_internals.TranslateByteCode):
    """Runs `_Interpreter`."""

    _name = "diffjit_bytecode"

    def run_pass(self, state: Any) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Translate one function."""
        outside.start()
        function = state["func_id"].func
        if trees.has_tree(function):
            state["func_ir"] = trees.interpreted(state["func_id"], trees.taken_tree(function))
        else:
            state["bc"].labels = frozenset(state["bc"].labels)  # asked for each instruction whether it is among them
            state["func_ir"] = _Interpreter(state["func_id"]).interpret(state["bc"])
        facts.take_out(state["func_ir"])
        webs.split(state["func_ir"])
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class LifetimesPass(numba_internals.AnalysisPass):
    """Marks where variables end that hold references, once types are known."""

    _name = "diffjit_lifetimes"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Mark them in one function."""
        function, models = state.func_ir, state.targetctx.data_model_manager
        function.blocks = numba_internals.with_one_way_back(function.blocks)
        counted = {name for name, ty in state.typemap.items() if models[ty].contains_nrt_meminfo()}
        lifetimes.mark_ends(function.blocks, counted)
        return True


# Typing ---------------------------------------------------------------------------------------------------------------

MEMO: dict[tuple[Any, Any], Any] = {}
_OPERATORS = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le, operator.gt, operator.ge,
    operator.eq, operator.ne, operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.and_,
    operator.or_, operator.xor, operator.neg, operator.not_, operator.getitem,
})  # fmt: skip


class MemoTyping(numba_internals.TypingContext):
    """Numba's typing context, which remembers the signatures of calls."""

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a call."""
        if kws or isinstance(func, types.Dispatcher) or not all(isinstance(a, types.Type) for a in args):
            return super().resolve_function_type(func, args, kws)
        if func in _OPERATORS or (isinstance(func, types.Function) and func.typing_key in _OPERATORS):
            args = tuple(types.unliteral(a) for a in args)
        try:
            return MEMO[func, args]
        except KeyError:
            pass
        signature = super().resolve_function_type(func, args, kws)
        if signature is not None and not isinstance(func, types.BoundFunction) and all(a.is_precise() for a in args):
            MEMO[func, args] = signature
        return signature

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """The signature of an assignment to an element."""
        key = operator.setitem, (target, index, value)
        if key not in MEMO:
            signature = super().resolve_setitem(target, index, value)
            if signature is None or not all(a.is_precise() for a in key[1]):
                return signature
            MEMO[key] = signature
        return MEMO[key]

    def resolve_getattr(self, typ: Any, attr: str) -> Any:
        """The type of an attribute."""
        if not isinstance(typ, types.Array):
            return super().resolve_getattr(typ, attr)
        if (typ, attr) not in MEMO:
            MEMO[typ, attr] = super().resolve_getattr(typ, attr)
        return MEMO[typ, attr]


GIVEN: WeakKeyDictionary[Any, tuple[str, ...]] = WeakKeyDictionary()  # functions -> types of what they give


@dataclass(slots=True)
class _Run:
    """What is known of a constraint."""

    read: frozenset[str]  # the variables that it looks at
    named: frozenset[str]  # these, and the one that it types
    until: int = -1  # up to when it knows of all changes, by the inferer's clock


class _Network(numba_internals.ConstraintNetwork):
    """What is known of types, each run again only where something that it looks at has got another type since.

    Numba runs all of them again until nothing changes. In text, types follow one another: the second time nothing does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[_Run] = []  # of each constraint

    def propagate(self, typeinfer: _Inferer) -> list[Exception]:
        """Run all that may find something; what fails may yet be mended by what another finds."""
        failed: list[Exception] = []
        for k, constraint in enumerate(self.constraints):
            if k == len(self.runs):
                self.runs.append(_first_run(constraint))
            run = self.runs[k]
            if run.until >= typeinfer.last_change(run.named):
                continue
            begin = typeinfer.clock
            try:
                constraint(typeinfer)
                changed = typeinfer.last_change(run.read) > begin  # by itself: `a = a[::2]`
                run.until = -1 if typeinfer.calls_function(constraint) else begin if changed else typeinfer.clock
            except numba_internals.TYPING_ERRORS as error:
                run.until = -1
                failed.append(error)
        return failed


def _first_run(constraint: Any) -> _Run:
    """What a constraint looks at. The variable that it types is a name; what it stores to is a variable."""
    parts = vars(constraint)
    typed = {key for key in ("target", "dst") if isinstance(parts.get(key), str)}
    found: set[str] = set()
    todo = [part for key, part in parts.items() if key not in typed]
    while todo:
        part = todo.pop()
        if isinstance(part, IR.Var):
            found.add(part.name)
        elif isinstance(part, str):
            found.add(part)
        elif isinstance(part, (list, tuple)):
            todo += part
        elif isinstance(part, dict):
            todo += part.values()
    read = frozenset(found)
    return _Run(read, read | {parts[key] for key in typed})


class _Inferer(numba_internals.TypeInferer):
    """Read-only arguments are typed as others: the IR says what is written, and the wrapper checks those arguments."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.constraints = _Network()
        self.clock = 0
        self.changed: dict[str, int] = {}  # variable -> when it got its type

    def add_type(self, var: str, tp: Any, loc: Any, unless_locked: bool = False) -> None:
        """A variable has a type, among others maybe."""
        variable = self.typevars[var]
        before = variable.type
        super().add_type(var, tp, loc, unless_locked)
        self._note(var, before, variable.type)

    def copy_type(self, src_var: str, dest_var: str, loc: Any) -> None:
        """A variable has the type of another one."""
        variable = self.typevars[dest_var]
        before = variable.type
        super().copy_type(src_var, dest_var, loc)
        self._note(dest_var, before, variable.type)

    def last_change(self, names: Iterable[str]) -> int:
        """When one of these variables last got another type."""
        return max((self.changed.get(name, 0) for name in names), default=0)

    def calls_function(self, constraint: Any) -> bool:
        """Whether a constraint is a call of a compiled function: that may go back to what is being typed."""
        if not isinstance(constraint, numba_internals.CallConstraint):
            return False
        variable = self.typevars.get(constraint.func)
        return variable is not None and isinstance(variable.type, (types.Dispatcher, types.RecursiveCall))

    def _note(self, name: str, before: Any, after: Any) -> None:
        if before is not after and before != after:
            self.clock += 1
            self.changed[name] = self.clock

    def constrain_statement(self, inst: Any) -> None:
        """`raise` says nothing about types."""
        if not isinstance(inst, IR.Raise):  # pyright: ignore[reportPrivateImportUsage]
            super().constrain_statement(inst)

    def return_types_from_partial(self) -> Any:
        """What a function gives that is called while its types are inferred: arrays may have another layout by then."""
        told = GIVEN.get(self.func_id.func)
        if told is None or any(":" in spec or "(" in spec for spec in told):
            found = super().return_types_from_partial()
            if found is not None or told is None:
                return found
        each = tuple(map(numba_type, told))
        return types.int64 if not each else each[0] if len(each) == 1 else types.BaseTuple.from_types(each)  # pyright: ignore[reportArgumentType]

    def get_return_type(self, typemap: Any) -> Any:
        """What a function returns, where it calls itself too: of two equal types Numba may make two kinds of pairs."""
        found = super().get_return_type(typemap)
        if isinstance(found, types.BaseTuple) and not isinstance(found, types.BaseNamedTuple):
            return types.BaseTuple.from_types(tuple(map(types.unliteral, found)))  # pyright: ignore[reportArgumentType]
        return found

    def propagate_refined_type(self, updated_var: Any, updated_type: Any) -> None:
        """What is assigned to a variable for any strides keeps its own type: a list takes what is contiguous alone."""
        if not isinstance(updated_type, types.Array):
            super().propagate_refined_type(updated_var, updated_type)

    def typeof_arg(self, inst: Any, target: Any, arg: Any) -> None:
        """The type of the local variable that holds an argument."""
        source = self.variable_of_argument(arg.name)
        ty = source.getone() if source.defined else None
        if isinstance(ty, types.Array) and not ty.mutable:
            self.add_type(target.name, ty.copy(readonly=False), loc=inst.loc)
        elif hasattr(ty, "held"):  # a tape: the list in it
            self.add_type(target.name, ty.held, loc=inst.loc)  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        else:
            super().typeof_arg(inst, target, arg)


@register_pass(mutates_CFG=True, analysis_only=False)
class TypingPass(numba_internals.NopythonTypeInference):
    """Type inference with a memory."""

    _name = "diffjit_typing"

    def run_pass(self, state: Any) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Swap in the remembering context for a while (the compiler lock is held)."""
        plain = state.typingctx
        state.typingctx = numba_internals.with_typing(plain, MemoTyping)
        try:
            with numba_internals.inferring_with(_Inferer):
                return super().run_pass(state)
        finally:
            state.typingctx = plain


class LeanCompiler(CompilerBase):
    """The pipeline."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with numba_internals.populated():
            super().__init__(*args, **kwargs)

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function; nobody reads the bytecode of one that there is a tree of."""
        with numba_internals.populated():
            if trees.has_tree(func):
                return self.without_bytecode(func)
            return super().compile_extra(func)

    def define_pipelines(self) -> list[PassManager]:
        """Only what generated text needs."""
        passes = PassManager("diffjit")
        for number, stage in enumerate((
            BytecodePass, numba_internals.FixupArgs, TypingPass, LifetimesPass, LowerPass,
            numba_internals.NoPythonBackend,
        )):  # fmt: skip
            passes.add_pass(stage, f"stage {number}")
        passes.finalize()
        return [passes]


OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": LeanCompiler,
}


def compiled(function: Callable[..., Any]) -> Any:
    """Decorator of generated functions that Python calls."""
    entry: Any = numba.njit(**OPTIONS)(function)
    numba_internals.set_cache(entry, MachineCode(function))
    return entry


def compile_anew(entry: Any, args: Iterable[Any]) -> None:
    """Compile a function that Python calls, for arguments like these, whatever of it is compiled already."""
    fresh = compiled(entry.py_func)
    given = [numba_internals.type_of(fresh, a) for a in args]
    omitted = fresh.py_func.__code__.co_argcount - len(given)  # the depth of recursion
    fresh.compile((*given, *[types.Omitted(0)] * omitted))


def with_overload(entry: Any, parts: Any) -> Any:
    """A function like a compiled one, with machine code for one signature as `numba_internals.reduced` gives it."""
    fresh = compiled(entry.py_func)
    fresh.add_overload(numba_internals.rebuilt(fresh.targetctx, parts))
    return fresh


def inner(function: Callable[..., Any]) -> Any:
    """Decorator of functions that only compiled code calls."""
    return numba.njit(no_cpython_wrapper=True, **OPTIONS)(function)  # pyright: ignore[reportCallIssue]


def giving(*results: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of such functions that may call themselves, or each other: the types of what they give are told."""

    def decorate(function: Callable[..., Any]) -> Any:
        GIVEN[function] = results
        return inner(function)

    return decorate
