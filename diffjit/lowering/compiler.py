"""A lean Numba pipeline for generated text, and the error exits of compiled functions.

Generated text needs none of Numba's rewriting: its names have one type each (so no SSA reconstruction), it holds no
array expressions, closures or `with` blocks. What remains is bytecode -> typing -> LLVM. Measured on 60 statements with
checked loads: 1.9 s with the default pipeline and `return`ed statuses, 0.45 s here. Beside fewer passes:

- the types of calls are remembered across functions (`MEMO`): Numba resolves `float64 + float64` anew at every plus;
- `a[i, j]` and arithmetic on equal types are emitted directly.

**Errors.** A Numba `raise` leaks every array that is alive. Here each error exit, whether from one of our checks, from
Numba's own code or from a callee, runs through one block per function that releases all references first. A check is
then a compare and a branch inside one instruction of the text (`a[i]` checks its own index as NumPy does); the text
needs no status variables, and results no dummies. What went wrong is recorded by `failures`.

A line of generated text that ends with `# inside` holds only indices that are proven to be within bounds; where it says
`# wraps`, they may be negative.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any
from unittest import mock

import numba
from llvmlite import ir as llvm_ir
from numba.core import (
    analysis,
    callconv,
    cgutils,
    codegen,
    config,
    cpu,
    interpreter,
    lowering,
    typed_passes,
    typeinfer,
    types,
    untyped_passes,
)
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typing import context as typing_context

from diffjit.lowering import elements, failures

IR: Any = lowering.ir  # pyright: ignore[reportPrivateImportUsage]

I64 = llvm_ir.IntType(64)
REFERENCE = llvm_ir.IntType(8).as_pointer()
MODULE_KEY = "__diffjit_module__"  # global of a generated module: its key in failures.SITES
INSIDE_LINES = "__diffjit_inside__"  # global of a generated module: lines whose indices are within bounds
WRAPS_LINES = "__diffjit_wraps__"  # the same for indices that may count from the end

# Error exits ----------------------------------------------------------------------------------------------------------


class CleanExits(callconv.CPUCallConv):
    """Numba's calling convention, with a clean-up on every way out by error."""

    def return_user_exc(
        self, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: Any = None
    ) -> None:
        """Leave with one of Numba's own exceptions."""
        self.set_static_user_exc(builder, exc, exc_args=exc_args, loc=loc, func_name=func_name)
        self._return_errcode_raw(builder, callconv.RETCODE_USEREXC)

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Leave because a callee failed; a caller made from user code notes its own line."""
        builder.store(status.excinfoptr, self._get_excinfo_argument(builder.function))
        lower = self.context.lower
        if lower.module_key and builder.function is lower.function:
            trace = cgutils.get_or_insert_function(
                builder.module, llvm_ir.FunctionType(llvm_ir.VoidType(), [I64, I64]), "dj_trace"
            )
            builder.call(trace, [I64(lower.module_key), I64(lower.loc.line)])
        self._return_errcode_raw(builder, status.code)

    def _return_errcode_raw(self, builder: Any, code: Any) -> None:
        way_out = getattr(builder.function, "diffjit_exit", None)
        if way_out is None or code is callconv.RETCODE_OK or code is callconv.RETCODE_NONE:
            builder.ret(code)
            return
        block, slot = way_out
        builder.store(code, slot)
        builder.branch(block)


class Context(cpu.CPUContext):
    """The target context of one function being lowered."""

    lower: Lower

    @property
    def call_conv(self) -> CleanExits:
        """The convention with clean exits."""
        return CleanExits(self)


def fail(context: Any, builder: Any, kind: int, *payload: Any) -> None:
    """Emit: record a failure, clean up, leave. The builder's block is closed by this."""
    lower = context.lower
    record = _recorder(builder.module, len(payload))
    builder.call(record, [I64(lower.module_key), I64(lower.loc.line), I64(kind), *payload])
    builder.branch(lower.stop_block)


def _recorder(module: Any, count: int) -> Any:
    """A function of the LLVM module that packs the payload and calls `dj_fail`: out of line, it keeps checks small."""
    name = f"diffjit_fail_{count}"
    found = module.globals.get(name)
    if found is not None:
        return found
    void = llvm_ir.VoidType()
    fn = llvm_ir.Function(module, llvm_ir.FunctionType(void, [I64] * (3 + count)), name)
    fn.linkage = "linkonce_odr"
    fn.attributes.add("noinline")
    fn.attributes.add("cold")
    builder = llvm_ir.IRBuilder(fn.append_basic_block())
    array = builder.alloca(llvm_ir.ArrayType(I64, max(1, count)))
    for k, word in enumerate(fn.args[3:]):
        builder.store(word, builder.gep(array, [I64(0), I64(k)]))
    target = cgutils.get_or_insert_function(
        module, llvm_ir.FunctionType(void, [I64] * 4 + [I64.as_pointer()]), "dj_fail"
    )
    builder.call(target, [*fn.args[:3], I64(count), builder.bitcast(array, I64.as_pointer())])
    builder.ret_void()
    return fn


def _releaser(context: Any, module: Any) -> Any:
    """A function of the LLVM module that releases `count` references; null ones are skipped."""
    name = "diffjit_release"
    found = module.globals.get(name)
    if found is not None:
        return found
    fn = llvm_ir.Function(module, llvm_ir.FunctionType(llvm_ir.VoidType(), [REFERENCE.as_pointer(), I64]), name)
    fn.linkage = "linkonce_odr"
    fn.attributes.add("noinline")
    fn.attributes.add("cold")
    builder = llvm_ir.IRBuilder(fn.append_basic_block())
    decref = cgutils.get_or_insert_function(module, llvm_ir.FunctionType(llvm_ir.VoidType(), [REFERENCE]), "NRT_decref")
    with cgutils.for_range(builder, fn.args[1], intp=I64) as loop:
        builder.call(decref, [builder.load(builder.gep(fn.args[0], [loop.index]))])
    builder.ret_void()
    return fn


class Lower(lowering.Lower):
    """Emits LLVM for one function.

    Every reference that a variable holds is noted in one array on the stack, for the clean-up: were the clean-up to
    read the variables themselves, LLVM would merge the states of all of them at each of the many ways into it.
    """

    def __init__(self, context: Any, *args: Any, **kwargs: Any) -> None:
        own = copy.copy(context)
        own.__class__ = Context
        own.lower = self
        self.module_key = 0
        self.ranges: dict[Any, Any] = {}  # LLVM values -> what they are made of
        self.counters: dict[Any, Any] = {}
        self.pairs: dict[Any, Any] = {}
        self.inside: frozenset[int] = frozenset()
        self.wraps: frozenset[int] = frozenset()
        super().__init__(own, *args, **kwargs)
        scope = self.func_ir.func_id.func.__globals__
        self.module_key = scope.get(MODULE_KEY, 0)
        self.inside = scope.get(INSIDE_LINES, frozenset())
        self.wraps = scope.get(WRAPS_LINES, frozenset())

    def _find_singly_assigned_variable(self) -> None:
        """Variables that need no stack slot: assigned once, at a place that every use comes behind.

        Numba asks that all uses be in one block. LLVM's time for turning slots into values grows with their number
        times the number of blocks, so the fewer the better.
        """
        super()._find_singly_assigned_variable()
        blocks = self.func_ir.blocks
        dominance = _Dominance(analysis.compute_cfg_from_blocks(blocks))
        homes: dict[str, tuple[Any, int]] = {}
        models, typemap = self.context.data_model_manager, self.fndesc.typemap
        several = {n for n in typemap if models[typemap[n]].contains_nrt_meminfo()}
        several.update(analysis.must_use_alloca(blocks))
        for label, block in blocks.items():
            for k, inst in enumerate(block.body):
                if isinstance(inst, IR.Assign):
                    name = inst.target.name
                    if name in homes:
                        several.add(name)
                    homes[name] = (label, k)
        for label, block in blocks.items():
            for k, inst in enumerate(block.body):
                for name in _names_used(inst):
                    if name not in several and not dominance.behind((label, k), homes.get(name)):
                        several.add(name)
        self._singly_assigned_vars = homes.keys() - several

    def lower_function_body(self) -> Any:
        """The body, then the block that releases what is alive and returns the error code."""
        fn, builder = self.function, self.builder
        block = fn.append_basic_block("clean_up")
        slot = cgutils.alloca_once(builder, callconv.errcode_t)
        fn.diffjit_exit = (block, slot)
        self.stop_block = fn.append_basic_block("stop")
        self.places: dict[str, int] = {}  # variable -> its first place among the noted references
        count = 0
        for name, ty in self.fndesc.typemap.items():
            if (references := self._references(ty)) > 0:
                self.places[name] = count
                count += references
        kind = llvm_ir.ArrayType(REFERENCE, max(1, count))
        self.noted = cgutils.alloca_once(builder, kind)
        with builder.goto_entry_block():
            builder.store(llvm_ir.Constant(kind, None), self.noted)
        tail = super().lower_function_body()
        builder.position_at_end(self.stop_block)
        self.call_conv.return_user_exc(builder, failures.Stopped)
        builder.position_at_end(block)
        if count:
            first = builder.gep(self.noted, [I64(0), I64(0)])
            builder.call(_releaser(self.context, builder.module), [first, I64(count)])
        del fn.diffjit_exit
        builder.ret(builder.load(slot))
        return tail

    def _references(self, ty: Any) -> int:
        """How many references a value of this type holds."""
        model = self.context.data_model_manager[ty]
        if not model.contains_nrt_meminfo():
            return 0
        return model.has_nrt_meminfo() + sum(self._references(part) for part, _ in model.traverse(self.builder))

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Assign to a variable, and note the references that it holds now."""
        super().storevar(value, name, argidx)
        if name in self.places:
            held = [pointer for _, pointer in self.context.nrt.get_meminfos(self.builder, self.typeof(name), value)]
            self._note(name, held)

    def delvar(self, name: str) -> None:
        """Delete a variable."""
        super().delvar(name)
        if name in self.places:
            self._note(name, [llvm_ir.Constant(REFERENCE, None)] * self._references(self.typeof(name)))

    def _note(self, name: str, pointers: Any) -> None:
        for k, pointer in enumerate(pointers, self.places[name]):
            place = self.builder.gep(self.noted, [I64(0), I64(k)])
            self.builder.store(self.builder.bitcast(pointer, REFERENCE), place)

    @property
    def checks(self) -> elements.Checks:
        """What has to be done to the indices of the current line."""
        line = self.loc.line  # pyright: ignore[reportAttributeAccessIssue]
        return "none" if line in self.inside else "wrap" if line in self.wraps else "all"

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Arithmetic and comparisons of equal types; the rest is left to Numba."""
        left, right = types.unliteral(self.typeof(expr.lhs.name)), types.unliteral(self.typeof(expr.rhs.name))
        if left == right:
            emit = elements.direct_operator(left, resty, op)
            if emit is not None:
                return emit(self.builder, self.loadvar(expr.lhs.name), self.loadvar(expr.rhs.name))
        return super().lower_binop(resty, expr, op)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Array elements, rows and slices with checked ints; items of tuples at known positions."""
        base, key = self.typeof(value.name), self.typeof(index.name)
        if isinstance(base, types.Array):
            indices = elements.int_indices(self.builder, key, self.loadvar(index.name))
            if indices is not None and len(indices) == base.ndim:
                pointer = elements.pointer(
                    self.context, self.builder, base, self.loadvar(value.name), indices, self.checks
                )
                item = elements.load(self.context, self.builder, base, pointer)
                return self.context.cast(self.builder, item, base.dtype, resty)
            if self.checks == "all":
                elements.check_ints(
                    self.context, self.builder, base, self.loadvar(value.name), key, self.loadvar(index.name)
                )
        elif isinstance(base, types.UniTuple) and isinstance(key, types.IntegerLiteral):
            item = self.builder.extract_value(self.loadvar(value.name), key.literal_value % base.count)
            self.incref(resty, item)
            return item
        return super().lower_getitem(resty, expr, value, index, signature)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Constant indices of arrays take the same way as others; ranges in steps of one are counters."""
        if expr.op in ("getiter", "iternext", "pair_first", "pair_second"):
            found = self._lower_counter(expr)
            if found is not None:
                return found
        if expr.op == "call" and isinstance(resty, types.RangeType) and not expr.kws:
            return self._lower_range(resty, expr)
        if (
            expr.op == "static_getitem"
            and isinstance(self.typeof(expr.value.name), types.Array)
            and expr.index_var is not None
        ):
            signature = self.fndesc.calltypes[expr]
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, signature)
        return super().lower_expr(resty, expr)

    def _lower_range(self, resty: Any, expr: Any) -> Any:
        """A range is three numbers; Numba keeps them, and all that follows from them, in stack slots."""
        given = [
            self.context.cast(self.builder, self.loadvar(a.name), self.typeof(a.name), resty.dtype) for a in expr.args
        ]
        zero, one = llvm_ir.Constant(given[0].type, 0), llvm_ir.Constant(given[0].type, 1)
        parts = ([zero, *given, one] if len(given) == 1 else [*given, one])[:3]
        made = cgutils.make_anonymous_struct(self.builder, parts, self.context.get_value_type(resty))
        self.ranges[made] = parts
        return made

    def _lower_counter(self, expr: Any) -> Any:
        """Iteration over a range in steps of 1 or -1; None for others."""
        builder, value = self.builder, self.loadvar(expr.value.name)
        if expr.op == "getiter" and value in self.ranges:
            start, stop, step = self.ranges[value]
            if not isinstance(step, llvm_ir.Constant) or step.constant not in (1, -1):
                return None
            slot = cgutils.alloca_once(builder, start.type)
            builder.store(start, slot)
            trips = cgutils.alloca_once(builder, start.type)  # where an iterator is joined, Numba counts trips down
            builder.store(builder.sub(stop, start) if step.constant == 1 else builder.sub(start, stop), trips)
            kind = self.context.get_value_type(self.typeof(expr.value.name).iterator_type)
            made = cgutils.make_anonymous_struct(builder, [slot, stop, step, trips], kind)
            self.counters[made] = (slot, stop, step)
            return made
        if expr.op == "iternext" and value in self.counters:
            slot, stop, step = self.counters[value]
            index = builder.load(slot)
            valid = builder.icmp_signed("<" if step.constant == 1 else ">", index, stop)
            builder.store(builder.add(index, step, flags=["nsw"]), slot)  # pyright: ignore[reportCallIssue]
            pair = cgutils.make_anonymous_struct(builder, [index, valid])
            self.pairs[pair] = (index, valid)
            return pair
        if value in self.pairs:
            return self.pairs[value][expr.op == "pair_second"]
        return None

    def lower_inst(self, inst: Any) -> Any:
        """Constant indices of stores take the same way as others; `raise error()` has left already."""
        if isinstance(inst, IR.Raise):  # pyright: ignore[reportPrivateImportUsage]
            self.builder.unreachable()
            return None
        if isinstance(inst, IR.StaticSetItem) and isinstance(self.typeof(inst.target.name), types.Array):  # pyright: ignore[reportPrivateImportUsage]
            return self.lower_setitem(inst.target, inst.index_var, inst.value, self.fndesc.calltypes[inst])
        return super().lower_inst(inst)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Stores of one element."""
        base = self.typeof(target_var.name)
        if isinstance(base, types.Array):
            indices = elements.int_indices(self.builder, self.typeof(index_var.name), self.loadvar(index_var.name))
            if indices is not None and len(indices) == base.ndim:
                target = self.loadvar(target_var.name)
                pointer = elements.pointer(self.context, self.builder, base, target, indices, self.checks)
                value = self.context.cast(
                    self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), base.dtype
                )
                elements.store(self.context, self.builder, base, pointer, value)
                return None
        return super().lower_setitem(target_var, index_var, value_var, signature)


class _Dominance:
    """Which places of a function every way to another place passes."""

    def __init__(self, graph: Any) -> None:
        above = graph.immediate_dominators()
        below: dict[Any, list[Any]] = {}
        for label, parent in above.items():
            if label != parent:
                below.setdefault(parent, []).append(label)
        self.span: dict[Any, tuple[int, int]] = {}
        entered: dict[Any, int] = {}
        todo = [(graph.entry_point(), False)]
        count = 0
        while todo:
            label, done = todo.pop()
            count += 1
            if done:
                self.span[label] = (entered[label], count)
                continue
            entered[label] = count
            todo.append((label, True))
            todo.extend((child, False) for child in below.get(label, ()))

    def behind(self, use: tuple[Any, int], home: tuple[Any, int] | None) -> bool:
        """Whether each way to an instruction comes by another one first."""
        if home is None or use[0] not in self.span or home[0] not in self.span:
            return False
        if use[0] == home[0]:
            return use[1] > home[1]
        (first, last), (low, high) = self.span[home[0]], self.span[use[0]]
        return first < low and high < last


def _names_used(inst: Any) -> list[str]:
    if isinstance(inst, IR.Del):
        return [inst.value]
    names = [v.name for v in inst.list_vars()]
    if isinstance(inst, IR.Assign):
        names.remove(inst.target.name)
    return names


class Library(codegen.JITCodeLibrary):
    """A module whose functions are optimised once.

    Numba optimises each function by itself first, which matters where much is linked together. For one long function
    it costs half of the compile time and more than proportionally (7.4 of 17.4 s at 1900 lines); the code that comes
    out is the same.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001

    def _optimize_final_module(self) -> None:
        """Numba prunes pairs of incref and decref as if error exits released nothing; ours do, out of its sight."""
        with mock.patch.object(config, "LLVM_REFPRUNE_FLAGS", "per_bb,diamond,fanout"):  # the compiler lock is held
            super()._optimize_final_module()


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPass(typed_passes.BaseNativeLowering):
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
        return super().run_pass(state)


# Bytecode -------------------------------------------------------------------------------------------------------------


class _Interpreter(interpreter.Interpreter):
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
class BytecodePass(untyped_passes.TranslateByteCode):
    """Runs `_Interpreter`."""

    _name = "diffjit_bytecode"

    def run_pass(self, state: Any) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Translate one function."""
        state["func_ir"] = _Interpreter(state["func_id"]).interpret(state["bc"])
        return True


# Typing ---------------------------------------------------------------------------------------------------------------

MEMO: dict[tuple[Any, Any], Any] = {}
_OPERATORS = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le, operator.gt, operator.ge,
    operator.eq, operator.ne, operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.and_,
    operator.or_, operator.xor, operator.neg, operator.not_, operator.getitem,
})  # fmt: skip


class MemoTyping(typing_context.Context):
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


class _Inferer(typeinfer.TypeInferer):
    """Read-only arguments are typed as others: the IR says what is written, and the wrapper checks those arguments."""

    def constrain_statement(self, inst: Any) -> None:
        """`raise` says nothing about types."""
        if not isinstance(inst, IR.Raise):  # pyright: ignore[reportPrivateImportUsage]
            super().constrain_statement(inst)

    def typeof_arg(self, inst: Any, target: Any, arg: Any) -> None:
        """The type of the local variable that holds an argument."""
        source = self.typevars[self._mangle_arg_name(arg.name)]
        ty = source.getone() if source.defined else None
        if isinstance(ty, types.Array) and not ty.mutable:
            self.add_type(target.name, ty.copy(readonly=False), loc=inst.loc)
        elif hasattr(ty, "held"):  # a tape: the list in it
            self.add_type(target.name, ty.held, loc=inst.loc)  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        else:
            super().typeof_arg(inst, target, arg)


@register_pass(mutates_CFG=True, analysis_only=False)
class TypingPass(typed_passes.NopythonTypeInference):
    """Type inference with a memory."""

    _name = "diffjit_typing"

    def run_pass(self, state: Any) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Swap in the remembering context for a while (the compiler lock is held)."""
        plain = state.typingctx
        memo = copy.copy(plain)
        memo.__class__ = MemoTyping
        state.typingctx = memo
        typeinfer.TypeInferer, saved = _Inferer, typeinfer.TypeInferer
        try:
            return super().run_pass(state)
        finally:
            typeinfer.TypeInferer = saved
            state.typingctx = plain


class LeanCompiler(CompilerBase):
    """The pipeline."""

    def define_pipelines(self) -> list[PassManager]:
        """Only what generated text needs."""
        passes = PassManager("diffjit")
        for number, stage in enumerate((
            BytecodePass, untyped_passes.FixupArgs, untyped_passes.IRProcessing, TypingPass,
            typed_passes.IRLegalization, LowerPass, typed_passes.NoPythonBackend,
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
    return numba.njit(**OPTIONS)(function)


def inner(function: Callable[..., Any]) -> Any:
    """Decorator of functions that only compiled code calls."""
    return numba.njit(no_cpython_wrapper=True, **OPTIONS)(function)  # pyright: ignore[reportCallIssue]
