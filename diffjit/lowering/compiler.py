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

import numba
from llvmlite import ir as llvm_ir
from numba.core import callconv, cgutils, cpu, interpreter, lowering, typed_passes, typeinfer, types, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typing import context as typing_context

from diffjit.lowering import elements, failures

I64 = llvm_ir.IntType(64)
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


class Lower(lowering.Lower):
    """Emits LLVM for one function."""

    def __init__(self, context: Any, *args: Any, **kwargs: Any) -> None:
        own = copy.copy(context)
        own.__class__ = Context
        own.lower = self
        self.module_key = 0
        self.inside: frozenset[int] = frozenset()
        self.wraps: frozenset[int] = frozenset()
        super().__init__(own, *args, **kwargs)
        scope = self.func_ir.func_id.func.__globals__
        self.module_key = scope.get(MODULE_KEY, 0)
        self.inside = scope.get(INSIDE_LINES, frozenset())
        self.wraps = scope.get(WRAPS_LINES, frozenset())

    def _find_singly_assigned_variable(self) -> None:
        """References live in stack slots, where the clean-up finds them."""
        super()._find_singly_assigned_variable()
        models, typemap = self.context.data_model_manager, self.fndesc.typemap
        self._singly_assigned_vars = {
            n for n in self._singly_assigned_vars if not models[typemap[n]].contains_nrt_meminfo()
        }

    def lower_function_body(self) -> Any:
        """The body, then the block that releases what is alive and returns the error code."""
        fn, builder = self.function, self.builder
        block = fn.append_basic_block("clean_up")
        slot = cgutils.alloca_once(builder, callconv.errcode_t)
        fn.diffjit_exit = (block, slot)
        self.stop_block = fn.append_basic_block("stop")
        tail = super().lower_function_body()
        builder.position_at_end(self.stop_block)
        self.call_conv.return_user_exc(builder, failures.Stopped)
        builder.position_at_end(block)
        models = self.context.data_model_manager
        for name, pointer in self.varmap.items():
            ty = self.typeof(name)
            if models[ty].contains_nrt_meminfo():
                self.context.nrt.decref(builder, ty, builder.load(pointer))
        del fn.diffjit_exit
        builder.ret(builder.load(slot))
        return tail

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
        """Constant indices of arrays take the same way as others."""
        if (
            expr.op == "static_getitem"
            and isinstance(self.typeof(expr.value.name), types.Array)
            and expr.index_var is not None
        ):
            signature = self.fndesc.calltypes[expr]
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, signature)
        return super().lower_expr(resty, expr)

    def lower_inst(self, inst: Any) -> Any:
        """Constant indices of stores take the same way as others; `raise error()` has left already."""
        if isinstance(inst, lowering.ir.Raise):  # pyright: ignore[reportPrivateImportUsage]
            self.builder.unreachable()
            return None
        if isinstance(inst, lowering.ir.StaticSetItem) and isinstance(self.typeof(inst.target.name), types.Array):  # pyright: ignore[reportPrivateImportUsage]
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


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPass(typed_passes.BaseNativeLowering):
    """Runs `Lower`."""

    _name = "diffjit_lowering"

    @property
    def lowering_class(self) -> type[Lower]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Numba asks for it."""
        return Lower


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
        if isinstance(value, lowering.ir.Var):  # pyright: ignore[reportPrivateImportUsage]
            value = self.assigner.assign(value, target)
        self.current_block.append(lowering.ir.Assign(value=value, target=target, loc=self.loc))  # pyright: ignore[reportOptionalMemberAccess, reportPrivateImportUsage]
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
        if not isinstance(inst, lowering.ir.Raise):  # pyright: ignore[reportPrivateImportUsage]
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
