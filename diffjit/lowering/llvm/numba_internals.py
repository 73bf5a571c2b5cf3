"""All that diffjit uses of Numba and llvmlite beyond what they document, each thing under a name of ours.

Documented are `numba`, `numba.extending`, `numba.core.types`, `numba.core.cgutils`, `llvmlite.ir` and
`llvmlite.binding`. The rest may change with any release, so a new Numba is tried out, and an old one kept going, in
this file alone: a test holds the others to it. Numba's extension modules are used without Numba, too, which is in
`extensions`. The versions that are known to work stand in `diffjit.installed`.

The classes are Numba's own. Where one of diffjit's overrides a private method, the class here gives the method a name,
so that the override stands where its reason is.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
from typing import Any

import numpy as np

from diffjit import installed

try:
    import numba
except ImportError as error:  # it is not there, or does not run with this NumPy
    raise installed.refusal(f"numba cannot be imported: {error}") from error
import llvmlite

installed.check("numba", numba.__version__)
installed.check("llvmlite", llvmlite.__version__)

# ruff: noqa: E402 - an old Numba fails in one of these imports, and a new one may
import llvmlite.binding as llvm
from numba.core import (
    analysis,
    bytecode,
    callconv,
    cgutils,
    codegen,
    compiler,
    config,
    errors,
    extending,
    interpreter,
    ir_utils,
    lowering,
    registry,
    serialize,
    transforms,
    typed_passes,
    typeinfer,
    untyped_passes,
)
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.datamodel import models
from numba.core.dispatcher import Dispatcher, OmittedArg
from numba.core.pythonapi import PythonAPI
from numba.core.runtime.context import NRTContext
from numba.core.runtime.nrt import rtsys
from numba.core.typing import context as typing_context
from numba.core.typing import signature  # pyright: ignore[reportPrivateImportUsage]
from numba.cpython.listobj import ListInstance
from numba.np import arrayobj, linalg
from numba.np.numpy_support import from_dtype, map_layout


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another value for a while (`unittest.mock` does this, and imports asyncio). The compiler lock is held."""
    plain = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, plain)


with replaced(linalg, "ensure_blas", lambda: None):
    # Numba asks here whether there is a BLAS, which imports scipy.linalg (0.1 s). There is, as diffjit requires SciPy;
    # what uses it asks again.
    import numba.np.arraymath


# Numba's IR and its graphs --------------------------------------------------------------------------------------------

IR: Any = lowering.ir  # pyright: ignore[reportPrivateImportUsage]
control_flow: Any = analysis.compute_cfg_from_blocks
with_one_way_back: Any = transforms.canonicalize_cfg  # blocks whose loops go back to their heads in one place each
always_in_slots: Any = analysis.must_use_alloca


def names_read(inst: Any) -> list[str]:
    """The variables that an instruction of Numba's IR reads; its own `list_vars` looks into all that it holds."""
    if not isinstance(inst, IR.Assign):
        return [v.name for v in inst.list_vars()]
    value = inst.value
    if isinstance(value, IR.Var):
        return [value.name]
    if not isinstance(value, IR.Expr):
        return [v.name for v in value.list_vars()] if isinstance(value, IR.Inst) else []
    found: list[str] = []
    todo: list[Any] = list(value._kws.values())
    while todo:
        part = todo.pop()
        if isinstance(part, IR.Var):
            found.append(part.name)
        elif isinstance(part, (list, tuple)):
            todo += part
    return found


def definitions_of(function: Any) -> dict[str, list[Any]]:
    """What each variable of a function of Numba's IR is assigned."""
    return function._definitions


def with_variables(inst: Any, variables: dict[str, Any]) -> None:
    """Let an instruction of Numba's IR read other variables, in place; what it assigns to stays."""
    fields = (
        ("value",) if isinstance(inst, IR.Assign) else ("target", "index", "index_var", "value", "cond", "exception")
    )
    for field in fields:
        part = getattr(inst, field, None)
        if part is not None and not isinstance(part, (int, str)):
            setattr(inst, field, ir_utils.replace_vars_inner(part, variables))


def known_function(context: Any, function: Any, kinds: tuple[Any, ...]) -> tuple[Any, Any]:
    """What Numba calls for operands of these types: the signature, and what writes the call."""
    fn_type = context.typing_context.resolve_value_type(function)
    signature = fn_type.get_call_type(context.typing_context, kinds, {})
    implementation = context.get_function(fn_type, signature)
    context.add_linking_libs(getattr(implementation, "libs", ()))
    return signature, implementation


def definitions(function: Any, name: str) -> Any:
    """What a variable of a function is assigned: nothing for what is none of its variables, where Numba would raise."""
    return function._definitions.get(name, ())


def insert(builder: Any, instruction: Any) -> None:
    """Put an instruction of a kind of ours where a builder stands, as it does with its own."""
    builder._insert(instruction)


class CompilerBase(compiler.CompilerBase):
    """What takes a function through the passes."""

    def without_bytecode(self, function: Callable[..., Any]) -> Any:
        """Compile a function whose bytecode no pass asks for."""
        self.state.func_id = bytecode.FunctionIdentity.from_function(function)
        self.state.lifted, self.state.lifted_from = (), None
        return self._compile_bytecode()


# Passes and types -----------------------------------------------------------------------------------------------------

Interpreter = interpreter.Interpreter
TranslateByteCode = untyped_passes.TranslateByteCode
FixupArgs = untyped_passes.FixupArgs
NoPythonBackend = typed_passes.NoPythonBackend
NopythonTypeInference = typed_passes.NopythonTypeInference
NativeLowering = typed_passes.BaseNativeLowering
TypingContext = typing_context.Context
TargetContext = CPUContext


ConstraintNetwork: Any = typeinfer.ConstraintNetwork
CallConstraint: Any = typeinfer.CallConstraint
TYPING_ERRORS = errors.TypingError, errors.ForceLiteralArg


class TypeInferer(typeinfer.TypeInferer):
    """Numba's inference of the types of variables."""

    def variable_of_argument(self, name: str) -> Any:
        """The type variable of an argument, as the caller gives it."""
        return self.typevars[self._mangle_arg_name(name)]


def inferring_with(inferer: type[TypeInferer]) -> Any:
    """For a while, another inference."""
    return replaced(typeinfer, "TypeInferer", inferer)


def with_typing(plain: Any, kind: type[Any]) -> Any:
    """A typing context that shares everything with another one, and behaves as `kind`."""
    made = copy.copy(plain)
    made.__class__ = kind
    return made


@contextmanager
def populated() -> Iterator[None]:
    """Have Numba know what generated code uses of it, for what this thread compiles or loads meanwhile.

    Each of some 250 templates would have the target look at all registries again, in case it is another target: they
    are looked at once. Code of other people's gets all of Numba, as ever, when Numba compiles it.
    """
    before = getattr(_ours, "compiling", False)
    _ours.compiling = True
    try:
        _populate()
        yield
    finally:
        _ours.compiling = before


_ours = threading.local()  # whether what this thread has Numba compile is generated code


@cache
def _populate() -> None:
    both: Any = registry.cpu_target
    context: Any = both.target_context
    everything = context.load_additional_registries
    context.load_additional_registries = lambda: (
        _what_code_uses(context) if getattr(_ours, "compiling", False) else everything()
    )
    context.get_abi_sizeof = cache(context.get_abi_sizeof)  # llvmlite prints and parses a module to find a size
    with replaced(TypingContext, "refresh", _nothing):
        context.refresh()
    with replaced(TargetContext, "refresh", _nothing):
        both.typing_context.refresh()


def _what_code_uses(context: Any) -> None:
    """The parts of Numba that generated code and the runtime use.

    Numba's random numbers, sets, typed containers, dates, polynomials, classes and extensions of other packages take
    as long to import as all of these.
    """
    rtsys.initialize(context)
    from numba.core import optional
    from numba.cpython import cmathimpl, hashing, iterators, mathimpl, numbers, rangeobj, tupleobj, unicode
    from numba.misc import literal
    from numba.np import npyimpl
    from numba.np.unsafe import ndarray

    for module in (cmathimpl, mathimpl, npyimpl):
        context.install_registry(module.registry)
    del optional, hashing, iterators, numbers, rangeobj, tupleobj, unicode, literal, ndarray  # they register themselves


def defined(function: Any, operands: tuple[Any, ...], implementation: Callable[..., Any]) -> None:
    """Let compiled code find what a function is made of, for operands of these types."""
    both: Any = registry.cpu_target
    both.target_context.insert_func_defn([(implementation, function, operands)])


def type_of(dispatcher: Any, value: Any) -> Any:
    """The type of an argument, as the dispatcher sees it.

    For an array Numba would ask whether it is a masked one, and import `numpy.ma` for that.
    """
    if type(value) is not np.ndarray:
        return dispatcher.typeof_pyval(value)
    writeable = value.flags.writeable
    return numba.types.Array(from_dtype(value.dtype), value.ndim, map_layout(value), readonly=not writeable)


def _nothing(_self: Any) -> None:
    """What is done where all has been done."""


# One function in LLVM -------------------------------------------------------------------------------------------------


def _counting_in_full() -> Any:
    """For a while, all increfs and decrefs of a function stay.

    Up to 0.62, Numba takes them out of functions that neither keep nor return an array, where it sees no other use of
    them. It does not see the decrefs of our error exits: with no incref before, they would free the caller's arrays.
    """
    remover = getattr(lowering, "removerefctpass", None)
    return replaced(remover, "remove_unnecessary_nrt_usage", lambda *_a, **_k: False) if remover else nullcontext()


class FunctionLowering(lowering.Lower):
    """Numba's way from its IR to LLVM."""

    def lower(self) -> None:
        """Lower the function."""
        with _counting_in_full():
            super().lower()

    def without_slots(self) -> set[str]:
        """The variables that are no stack slots."""
        return set()

    def lower_block(self, block: Any) -> None:
        """One block. Numba opens a context for each instruction, for errors that hardly ever are."""
        self.pre_block(block)
        inst: Any = None
        try:
            for inst in block.body:
                self.loc = inst.loc
                self.lower_inst(inst)
        except errors.NumbaError as error:
            error.add_context(f'lowering "{inst}" at {self.loc}')
            raise
        self.post_block(block)

    @cached_property
    def debugs(self) -> bool:
        """Whether places are noted for a debugger."""
        return bool(self.flags and self.flags.debuginfo)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign to a variable."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            super().storevar(value, name, argidx)

    def decref(self, typ: Any, val: Any) -> None:
        """Give up the references that a value holds."""
        self.context.nrt.decref(self.builder, typ, val)

    def _find_singly_assigned_variable(self) -> None:
        self._singly_assigned_vars = self.without_slots()
        self._blk_local_varmap: dict[str, Any] = {}

    @property
    def in_registers(self) -> set[str]:
        """The variables that are no stack slots."""
        return self._singly_assigned_vars

    def has_register(self, name: str) -> bool:
        """Whether a variable is no stack slot, and has been assigned."""
        return name in self._singly_assigned_vars and name in self._blk_local_varmap


ERROR_CODE = callconv.errcode_t
USER_ERROR = callconv.RETCODE_USEREXC
SUCCESS = callconv.RETCODE_OK


class CallingConvention(callconv.CPUCallConv):
    """How compiled functions call each other: the status is returned, results and exceptions by pointer."""

    def leave(self, builder: Any, code: Any) -> None:
        """Return a status."""
        super()._return_errcode_raw(builder, code)

    def is_success(self, code: Any) -> bool:
        """Whether a status is none of an error."""
        return code is callconv.RETCODE_OK or code is callconv.RETCODE_NONE

    def exception_place(self, function: Any) -> Any:
        """The argument that points to where a function leaves its exception."""
        return self._get_excinfo_argument(function)

    def result_argument(self, function: Any) -> Any:
        """The argument that points to where a function leaves its result."""
        return self._get_return_argument(function)

    def result_type(self, function: Any) -> Any:
        """The type of what a function leaves as its result."""
        return self._get_return_argument(function.function_type).pointee

    def packed(self, kinds: Any, builder: Any, values: Any) -> list[Any]:
        """Arguments of a call, in parts."""
        return list(self._get_arg_packer(kinds).as_arguments(builder, values))

    def _return_errcode_raw(self, builder: Any, code: Any) -> None:
        self.leave(builder, code)


class ReferenceCounts(NRTContext):
    """Numba's counting of references."""

    @property
    def context(self) -> Any:
        """The target context of the function at hand."""
        return self._context

    def holds_references(self, ty: Any) -> bool:
        """Whether values of a type refer to memory that is counted."""
        found = _HOLDING.get(ty)
        if found is None:
            found = _HOLDING[ty] = self._context.data_model_manager[ty].contains_nrt_meminfo()
        return found


_HOLDING: dict[Any, bool] = {}


class PythonInterface(PythonAPI):
    """Python's C interface in LLVM."""

    def c_function(self, kind: Any, name: str) -> Any:
        """One of Python's or Numba's C functions, declared in the module."""
        return self._get_function(kind, name=name)


load_item: Any = arrayobj.load_item
store_item: Any = arrayobj.store_item


class ListInside(ListInstance):
    """A list of compiled code."""

    @property
    def payload(self) -> Any:
        """What the list holds in memory: `size`, and for how many items there is room, `allocated`."""
        return self._payload

    def get_dtor(self) -> Any:
        """What gives up the references of items, where they hold any: none, then what calls it does not."""
        if self._datamodel.contains_nrt_meminfo():
            return super().get_dtor()
        return cgutils.get_null_value(cgutils.voidptr_t)

    def with_room(self, room: Any) -> Any:
        """Get memory for some items, those that are there kept: null where there is none, and the list is as before."""
        context, builder = self._context, self._builder
        head = context.get_abi_sizeof(context.get_data_type(numba.types.ListPayload(self._ty))) - self._itemsize
        size, too_big = cgutils.muladd_with_overflow(builder, room, room.type(self._itemsize), room.type(head))
        most = builder.select(too_big, room.type((1 << 63) - 1), size)  # refused by whoever has the memory
        found = context.nrt.meminfo_varsize_realloc_unchecked(builder, self.meminfo, most)
        with builder.if_then(cgutils.is_not_null(builder, found)):
            self.payload.allocated = room
        return found


# Modules of LLVM ------------------------------------------------------------------------------------------------------


DYNAMIC = b"numba.dynamic.globals"  # in the names of addresses that hold in this process alone
_PRUNED = llvm.RefPruneSubpasses.PER_BB | llvm.RefPruneSubpasses.DIAMOND | llvm.RefPruneSubpasses.FANOUT


def _reorders(library: Any) -> bool:
    """Whether LLVM's passes may choose an order of sums: nothing of ours lets them, Numba's `fastmath` does."""
    if isinstance(library, Library):
        return any(map(_reorders, library._linking_libraries))
    return " reassoc " in str(library._final_module)


class Library(codegen.JITCodeLibrary):
    """A module of LLVM: functions are added, others linked in, and all optimised at the end."""

    made_outside: bytes | None = None  # object code

    def link_only(self) -> None:
        """Link in what this refers to, and neither optimise nor make machine code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(self, "_reload_init"):  # from Numba 0.63 on
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    away: bytes | None = None  # what was put away

    def put_away(self) -> None:
        """Keep what has been linked into an entry as bitcode, a tenth of what it is as a module.

        Another entry of the same text takes it out again; helpers, which many programs link, stay as they are.
        """
        todo, seen = list(self._linking_libraries), set[Any]()
        while todo:
            library = todo.pop()
            if library in seen or not isinstance(library, Library):
                continue
            seen.add(library)
            todo += library._linking_libraries
            if library.generated and library.away is None:
                _leave_module(library)

    def _get_module_for_linking(self) -> Any:
        return super()._get_module_for_linking() if self.away is None else llvm.parse_bitcode(self.away)

    generated = False  # by a program, and only linked into its entry

    def prepare_functions(self, module: Any) -> None:
        """Numba optimises each function by itself as it is added. Here they only learn the layout of data."""
        module.data_layout = self._codegen._data_layout

    @property
    def final_module(self) -> Any:
        """The module with all that is linked into it."""
        return self._final_module if self.away is None else llvm.parse_bitcode(self.away)

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether the machine code holds addresses of this process: some of its module's may be optimised away."""
        made = self.made_outside
        return super().has_dynamic_globals if made is None else DYNAMIC in made

    def optimise(self) -> None:
        """All passes over the whole module."""
        super()._optimize_final_module()

    def optimisation(self, *, light: bool = False) -> dict[str, Any]:
        """What `optimiser.object_code` is to do: the processor and the passes that Numba compiles with.

        Numba would prune `FANOUT_RAISE` pairs of incref and decref, too, as if error exits released nothing; ours do.
        `light`: quickly, without passes but inlining. Pairs that are pruned are few, and to look for them takes five
        times as long as all the rest in functions of some ten thousand instructions.
        """
        chosen: Any = config
        maker: Any = self._codegen
        level, machine = int(chosen.OPT), dict[str, Any]()
        maker._customize_tm_options(machine)
        early = {"level": maker._opt_level, "loops": maker._loopvect, "straight": False}
        late = {"level": level, "loops": bool(chosen.LOOP_VECTORIZE), "straight": bool(chosen.SLP_VECTORIZE)}
        quick = light and not _reorders(self)
        if quick:
            late = {"level": 0, "loops": False, "straight": False}
        return {
            "triple": llvm.get_process_triple(),
            "machine": {"opt": 0 if light else level, **machine},
            "passes": [early, late],
            "rotate": level != 0 and not quick,
            "lanes": False,
            "references": int(_PRUNED) if chosen.LLVM_REFPRUNE_PASS and not quick else 0,
            "form": "object",
        }

    def printed(self, form: str) -> str:
        """The module as text: LLVM ("llvm") or assembly ("asm")."""
        return str(self._final_module) if form == "llvm" else self._codegen._tm.emit_assembly(self._final_module)

    def take(self, code: bytes) -> None:
        """Have LLVM take object code instead of compiling the module."""
        self._set_compiled_object(code)

    def object_code(self) -> bytes:
        """What LLVM has made of the module."""
        return super()._get_compiled_object()

    def _get_compiled_object(self) -> bytes:
        return self.object_code()

    def _optimize_functions(self, ll_module: Any) -> None:
        self.prepare_functions(ll_module)

    def _optimize_final_module(self) -> None:
        self.optimise()


def _leave_module(library: Any) -> None:
    """Keep bitcode in place of the module."""
    library.away = library._get_module_for_linking().as_bitcode()
    library._final_module = library._shared_module = None


def pruning(kinds: str) -> Any:
    """For a while, which pairs of incref and decref Numba takes out."""
    return replaced(config, "LLVM_REFPRUNE_FLAGS", kinds)


# Compiled functions ---------------------------------------------------------------------------------------------------

Intrinsic = extending._Intrinsic
signature_of: Any = signature
type_of_dtype: Any = from_dtype
dumped: Any = serialize.dumps


def forget(dispatcher: Any) -> None:
    """Let go of the code of a function that nobody calls any more.

    Numba's table of what compiled code may call holds it, and so does what cleans up behind the function; it holds its
    module, which holds the function.
    """
    for made in dispatcher.overloads.values():
        if made.entry_point in dispatcher.targetctx._defns:
            dispatcher.targetctx.remove_user_function(made.entry_point)
    dispatcher.overloads.clear()


def forget_types(made: Any) -> None:
    """Let go of the types of a function's variables: their table is by Numba's IR, and holds all of it."""
    made.fndesc.typemap = made.fndesc.calltypes = None


def forget_module(made: Any) -> None:
    """Let go of the module of a function that is linked and kept: LLVM would hold it as long as the process lives."""
    library = made.library
    if isinstance(library, Library) and library.made_outside is not None:
        library._codegen._engine._ee.remove_module(library._final_module)
        _leave_module(library)


def set_cache(dispatcher: Any, cache: Any) -> None:
    """Give a function another cache than Numba's."""
    dispatcher._cache = cache


def compile_for(dispatcher: Any, args: Iterable[Any]) -> None:
    """Compile a function for arguments like these, as a call with them would: the last may have defaults."""
    given, defaults = tuple(args), dispatcher.py_func.__defaults__ or ()
    left_out = dispatcher.py_func.__code__.co_argcount - len(given)
    dispatcher._compile_for_args(*given, *map(OmittedArg, defaults[len(defaults) - left_out :]))


def cache_of(dispatcher: Any) -> Any:
    """The cache that a function was given."""
    return dispatcher._cache


def reduced(made: Any) -> Any:
    """A compiled function as data, as Numba's own cache keeps it."""
    return made._reduce()


def rebuilt(context: Any, parts: Any) -> Any:
    """A compiled function from its data."""
    return compiler.CompileResult._rebuild(context, *parts)


def asked(name: str) -> Any:
    """One of Numba's settings."""
    return getattr(config, name)


__all__ = [
    "AnalysisPass",
    "Dispatcher",
    "PassManager",
    "models",
    "register_pass",
]
