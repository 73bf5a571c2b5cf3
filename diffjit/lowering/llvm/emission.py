"""Emits LLVM for generated text, leaner than Numba: no stack slots where registers do, errors that clean up.

**Errors.** A Numba `raise` leaks every array that is alive. Here each error exit, whether from one of our checks, from
Numba's own code or from a callee, runs through one block per function that releases all references first. A check is
then a compare and a branch inside one instruction of the text (`a[i]` checks its own index as NumPy does); the text
needs no status variables, and results no dummies. What went wrong is recorded by `failures`.

What is known of an access or a loop stands in the text (`lowering.marks`), and beside Numba's IR (`facts`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.calls import failures
from diffjit.lowering.flow import facts, registers
from diffjit.lowering.llvm import elements, numba_internals, polls, slices, vectors, writing
from diffjit.lowering.llvm.elements import I64
from diffjit.lowering.llvm.exits import REFERENCE, SLOT, context_of, dropper, releaser
from diffjit.lowering.llvm.numba_internals import ERROR_CODE, IR, control_flow
from diffjit.lowering.llvm.operations import Operation, OperationType
from diffjit.lowering.llvm.scopes import Scopes, alone, distinct
from diffjit.lowering.marks import ABREAST, INSIDE, LENT, PARALLEL, SCALAR, SIDE_BY_SIDE, WRAPS

MODULE_KEY = "__diffjit_module__"  # global of a generated module: its key in failures.SITES
ENTRY = "__diffjit_entry__"  # the function whose array arguments never overlap: the wrapper has checked them
APART = "__diffjit_apart__"  # a number for each argument of some functions: those with different ones never overlap
ROWS = "__diffjit_rows__"  # variables of a function that stand for views with rows without gaps
ROOMS = "__diffjit_rooms__"  # how many places of a function have memory that they use again (`slots.room`)
CHECKED = "__diffjit_checked__"  # whether what is relied on is tested (`settings.checked`)
PLAIN = "__diffjit_plain__"  # whether nothing is relied on (`settings.plain`)
DEVICE = "__diffjit_device__"  # of a program for a device: the form of its kernels' images
_REFERENCES: dict[Any, int] = {}  # how many a value of a type holds
TOGETHER = 64  # references that are noted in one array: LLVM looks at all uses of an array for each that it changes
DEPTH = "depth_"  # a parameter of functions that may call themselves


class Lower(numba_internals.FunctionLowering):
    """Emits LLVM for one function.

    Every reference that a variable holds is noted in arrays on the stack, for the clean-up: were the clean-up to
    read the variables themselves, LLVM would merge the states of all of them at each of the many ways into it.
    """

    def __init__(self, context: Any, *args: Any, **kwargs: Any) -> None:
        own = context_of(context, self)
        self.module_key = 0
        self.ranges: dict[Any, Any] = {}  # LLVM values -> what they are made of
        self.counters: dict[Any, Any] = {}
        self.pairs: dict[Any, Any] = {}
        self.slices: dict[Any, slices.Slice] = {}
        self.tuples: dict[Any, list[Any]] = {}  # LLVM values -> the items that they are made of
        self.facts = facts.Facts()
        self.lent: set[str] = set()
        self.known: frozenset[str] = facts.NOTHING  # of the expression or store at hand
        self.checked, self.device = False, ""
        super().__init__(own, *args, **kwargs)
        scope = self.func_ir.func_id.func.__globals__
        self.module_key = scope.get(MODULE_KEY, 0)
        if not scope.get(PLAIN):
            self.facts = getattr(self.func_ir, facts.BESIDE, self.facts)
        self.checked = scope.get(CHECKED, False)
        self.device = scope.get(DEVICE, "")
        self.groups: dict[int, Any] = {}  # id of a block -> the label of the outermost parallel loop around it
        self.marks: dict[Any, Any] = {}
        name = self.func_ir.func_id.func_name
        self.rows = frozenset[str](scope.get(ROWS, {}).get(name, ()))
        self.rooms_wanted = scope.get(ROOMS, {}).get(name, 0)
        self.recursive = DEPTH in self.func_ir.arg_names  # it may call itself
        apart = not scope.get(PLAIN) and (scope.get(ENTRY) == name or scope.get(APART, {}).get(name, False))
        self.scopes = Scopes(self.module, self.func_ir.blocks, self.fndesc.typemap, apart=apart)
        self.kinds: dict[Any, str] = {}  # label of the head of a loop -> what is known of it
        self.nests = self._nests()

    def _nests(self) -> set[tuple[int, Any]]:
        """The jumps (id of a block, label of the head) that close loops of which something is known."""
        blocks = self.func_ir.blocks
        found: set[tuple[int, Any]] = set()
        loops: Any = control_flow(blocks).loops().values() if self.facts.loops else ()
        for loop in sorted(loops, key=lambda x: -len(x.body)):
            kind = self.facts.loops.get(loop.header)
            if kind is None:
                continue
            self.kinds[loop.header] = kind
            found |= {(id(blocks[label]), loop.header) for label in loop.body}
            if kind in (PARALLEL, ABREAST):
                for label in loop.body:
                    self.groups.setdefault(id(blocks[label]), loop.header)
        return found

    def _group(self) -> Any:
        """The metadata that memory accesses of the parallel loops around the current block share; None without."""
        label = self.groups.get(id(self.current))
        if label is None:
            return None
        if label not in self.marks:
            self.marks[label] = alone(self.module)
        return self.marks[label]

    def _accessed(self, kind: str, variable: str) -> None:
        """Say of the load or store just written which array it accesses, and to which parallel loops it belongs."""
        inst = elements.last_access(self.builder, kind)
        if inst is not None:
            self.scopes.mark(inst, variable)
            self.belongs(inst)

    def belongs(self, access: Any) -> None:
        """Say of a load or store to which parallel loops it belongs."""
        group = self._group()
        if group is not None:
            access.set_metadata("llvm.access.group", group)

    def lower_block(self, block: Any) -> None:
        """One block of Numba's IR."""
        self.current = block
        if self.checked and block is self.func_ir.blocks[min(self.func_ir.blocks)]:
            self._test_arguments(block)
        if self.recursive and self.labels[id(block)] == self.firstblk:
            polls.look(self)
        super().lower_block(block)

    def _test_arguments(self, block: Any) -> None:
        """Arguments that are said to be apart are, where one is written (`settings.checked`)."""
        from diffjit.lowering.runtime.moves import share_arguments

        self.loc = block.body[0].loc
        share_arguments(self.context, self.builder, self.scopes, self.fndesc.argtypes, self.fnargs)

    def without_slots(self) -> set[str]:
        """Variables that need no stack slot."""
        counted = {name for name, ty in self.fndesc.typemap.items() if self._references(ty)}
        return registers.without_slots(self.func_ir.blocks, counted)

    def setup_function(self, fndesc: Any) -> None:
        """Begin the function."""
        super().setup_function(fndesc)
        writing.begin(self.function)
        self.builder.__class__ = writing.Builder

    def lower_function_body(self) -> Any:
        """The body, then the block that releases what is alive and returns the error code."""
        fn, builder = self.function, self.builder
        block = fn.append_basic_block("clean_up")
        slot = cgutils.alloca_once(builder, ERROR_CODE)
        fn.diffjit_exit = (block, slot)
        self.stop_block = fn.append_basic_block("stop")
        self.lent = registers.lent(self.func_ir.blocks, self.facts, self.in_registers)
        self.places: dict[str, int] = {}  # variable -> its first place among the noted references
        self.found_places: dict[int, Any] = {}  # place -> its address
        count = 0
        for name, ty in self.fndesc.typemap.items():
            if (references := self._references(ty)) > 0 and name not in self.lent:
                self.places[name] = count
                count += references
        sizes = [min(TOGETHER, count - k) for k in range(0, count, TOGETHER)]
        self.noted = [self._nulls(REFERENCE, size) for size in sizes]
        self.rooms: Any = None
        self.rooms_used = 0
        self.polls = polls.polls_of(self)
        self.labels = {id(b): label for label, b in self.func_ir.blocks.items()}
        if self.rooms_wanted:
            self.rooms = self._nulls(SLOT, self.rooms_wanted)
        tail = super().lower_function_body()
        builder.position_at_end(self.stop_block)
        self.call_conv.return_user_exc(builder, failures.Stopped)
        builder.position_at_end(block)
        for noted, size in zip(self.noted, sizes, strict=True):
            builder.call(releaser(builder.module), [builder.gep(noted, [I64(0), I64(0)]), I64(size)])
        self._release_rooms()
        del fn.diffjit_exit
        builder.ret(builder.load(slot))
        writing.drop(fn)
        return tail

    def _nulls(self, kind: Any, count: int) -> Any:
        """An array on the stack, filled with null: stores of whole arrays become as many stores as they have items."""
        builder = self.builder
        array = cgutils.alloca_once(builder, llvm_ir.ArrayType(kind, count))
        with builder.goto_entry_block():
            size = I64(count * self.context.get_abi_sizeof(kind))
            cgutils.memset(builder, builder.bitcast(array, cgutils.voidptr_t), size, 0)
        return array

    def room(self) -> Any:
        """The slot of one more place that uses its memory again."""
        self.rooms_used += 1
        assert self.rooms_used <= self.rooms_wanted, "more places than the text said"
        return self.builder.gep(self.rooms, [I64(0), I64(self.rooms_used - 1)])

    def _release_rooms(self) -> None:
        if self.rooms_wanted:
            first = self.builder.gep(self.rooms, [I64(0), I64(0)])
            self.builder.call(releaser(self.builder.module, SLOT), [first, I64(self.rooms_wanted)])

    def _references(self, ty: Any) -> int:
        """How many references a value of this type holds."""
        if ty not in _REFERENCES:
            model = self.context.data_model_manager[ty]
            found = model.has_nrt_meminfo()
            if model.contains_nrt_meminfo():
                found += sum(self._references(part) for part, _ in model.traverse(None))
            _REFERENCES[ty] = found
        return _REFERENCES[ty]

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Assign to a variable, and note the references that it holds now."""
        super().storevar(value, name, argidx)
        if name in self.places:
            held = [pointer for _, pointer in self.context.nrt.get_meminfos(self.builder, self.typeof(name), value)]
            self._note(name, held)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """The value of an assignment; what the caller lends is not counted."""
        if isinstance(inst.value, IR.Arg) and inst.target.name in self.lent:
            source = self.typeof(f"arg.{inst.value.name}")
            if not isinstance(source, types.Omitted):
                return self.context.cast(self.builder, self.fnargs[inst.value.index], source, ty)
        return super().lower_assign(ty, inst)

    def delvar(self, name: str) -> None:
        """Delete a variable: where it holds no reference, that is nothing to do."""
        if name not in self.places:
            return
        if self.has_register(name):
            held = self.context.nrt.get_meminfos(self.builder, self.typeof(name), self.loadvar(name))
            for k, (_, pointer) in enumerate(held, self.places[name]):
                self.builder.call(dropper(self.module), [self.builder.bitcast(pointer, REFERENCE), self._place(k)])
            return
        super().delvar(name)
        self._note(name, [llvm_ir.Constant(REFERENCE, None)] * self._references(self.typeof(name)))

    def _note(self, name: str, pointers: Any) -> None:
        for k, pointer in enumerate(pointers, self.places[name]):
            self.builder.store(self.builder.bitcast(pointer, REFERENCE), self._place(k))

    def _place(self, k: int) -> Any:
        """Where a reference is noted."""
        if k not in self.found_places:
            with self.builder.goto_entry_block():
                noted, at = self.noted[k // TOGETHER], k % TOGETHER
                self.found_places[k] = self.builder.gep(noted, [I64(0), I64(at)])
        return self.found_places[k]

    @property
    def checks(self) -> elements.Checks:
        """What has to be done to the indices of the expression or store at hand."""
        if INSIDE in self.known:
            return "promised none" if self.checked else "none"
        if WRAPS in self.known:
            return "promised wrap" if self.checked else "wrap"
        return "all"

    @property
    def lends(self) -> bool:
        """Whether the view at hand holds no reference."""
        return LENT in self.known

    def has_rows(self, variable: str) -> bool:
        """Whether neighbours along the last axis of an array are neighbours in memory."""
        return variable.split(".", maxsplit=1)[0] in self.rows

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
                rows = self.has_rows(value.name)
                array = self.loadvar(value.name)
                pointer = elements.pointer(self.context, self.builder, base, array, indices, self.checks, rows=rows)
                item = elements.load(self.context, self.builder, base, pointer)
                self._accessed("load", value.name)
                return self.context.cast(self.builder, item, base.dtype, resty)
            parts = self._parts(key, self.loadvar(index.name))
            if parts is not None and isinstance(resty, types.Array):
                array = self.loadvar(value.name)
                return slices.view(
                    self.context, self.builder, base, array, parts, resty, self.checks, own=not self.lends
                )
            if self.checks == "all":
                elements.check_ints(
                    self.context, self.builder, base, self.loadvar(value.name), key, self.loadvar(index.name)
                )
        elif isinstance(base, types.UniTuple) and isinstance(key, types.IntegerLiteral):
            item = self.builder.extract_value(self.loadvar(value.name), key.literal_value % base.count)
            self.incref(resty, item)
            return item
        return super().lower_getitem(resty, expr, value, index, signature)

    def _parts(self, key: Any, value: Any) -> list[slices.Index] | None:
        """What a subscript is made of, if that is ints, slices in steps of 1, None and `...`."""
        kinds = key.types if isinstance(key, types.BaseTuple) else [key]  # pyright: ignore[reportAttributeAccessIssue]
        if not all(map(slices.is_plain, kinds)):
            return None
        builder = self.builder
        values = [builder.extract_value(value, k) for k in range(len(kinds))] if kinds[0] is not key else [value]
        known = self.tuples.get(value, values)
        found: list[slices.Index] = []
        for kind, part, whole in zip(kinds, values, known, strict=True):
            if isinstance(kind, types.Integer):
                found.append(elements.to_int64(builder, kind, part))
            elif kind == types.slice2_type:
                made = self.slices.get(whole)
                found.append(made or slices.Slice(builder.extract_value(part, 0), builder.extract_value(part, 1)))
            else:
                found.append(None if isinstance(kind, types.NoneType) else ...)
        return found

    def _lower_tuple(self, kind: Any, given: list[tuple[Any, Any]]) -> Any:
        """A tuple, of which it stays known what it is made of."""
        pairs = zip(given, kind, strict=True)
        items = [self.context.cast(self.builder, value, own, wanted) for (own, value), wanted in pairs]
        made = self.context.joined(self.builder, self.context.get_value_type(kind), items)
        self.incref(kind, made)
        return made

    def _lower_slice(self, expr: Any) -> Any:
        """`start:stop` as two numbers; None for other slices."""
        builder = self.builder
        given: list[Any] = []
        for a in expr.args:
            kind = types.unliteral(self.typeof(a.name))
            if not isinstance(kind, (types.NoneType, types.Integer)):
                return None
            absent = isinstance(kind, types.NoneType)
            given.append(None if absent else elements.to_int64(builder, kind, self.loadvar(a.name)))
        start, stop = given if len(given) == 2 else (None, *given)
        most = I64((1 << 63) - 1)
        parts = [I64(0) if start is None else start, most if stop is None else stop, I64(1)]
        made = cgutils.make_anonymous_struct(builder, parts, self.context.get_value_type(types.slice2_type))
        self.slices[made] = slices.Slice(start, stop)
        return made

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Constant indices of arrays take the same way as others; ranges in steps of one are counters."""
        self.known = self.facts.of.get(id(expr), facts.NOTHING)
        if expr.op in ("getiter", "iternext", "pair_first", "pair_second"):
            found = self._lower_counter(expr)
            if found is not None:
                return found
        if expr.op == "call" and isinstance(resty, types.RangeType) and not expr.kws:
            return self._lower_range(resty, expr)
        if expr.op == "call" and resty == types.slice2_type and not expr.kws:
            made = self._lower_slice(expr)
            if made is not None:
                return made
        if expr.op == "call" and isinstance(called := self.typeof(expr.func.name), OperationType):
            return self._lower_operation(resty, expr, called.operation)
        if expr.op == "build_tuple":
            return self._lower_tuple(resty, [(self.typeof(i.name), self.loadvar(i.name)) for i in expr.items])
        if expr.op == "getattr" and expr.attr == "shape" and isinstance(self.typeof(expr.value.name), types.Array):
            return self.builder.extract_value(self.loadvar(expr.value.name), elements.SHAPE)
        if (
            expr.op == "static_getitem"
            and isinstance(self.typeof(expr.value.name), types.Array)
            and expr.index_var is not None
        ):
            signature = self.fndesc.calltypes[expr]
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, signature)
        return super().lower_expr(resty, expr)

    def _lower_operation(self, resty: Any, expr: Any, operation: Operation) -> Any:
        """A call of a function that is LLVM."""
        signature = self.fndesc.calltypes[expr]
        if isinstance(signature.return_type, types.Phantom):
            return self.context.get_dummy_value()
        builder, context = self.builder, self.context
        given = [
            context.cast(builder, self.loadvar(a.name), self.typeof(a.name), kind)
            for a, kind in zip(expr.args, signature.args, strict=True)
        ]
        made = operation.emit(context, builder, signature.args, given)
        if made is None:  # as Numba has it: there is no value
            made = context.get_dummy_value()
        return context.cast(builder, made, signature.return_type, resty)

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
        """Iteration over a range in steps of 1 or -1, and how often one in other steps turns; None for the rest."""
        builder, value = self.builder, self.loadvar(expr.value.name)
        if expr.op == "getiter" and value in self.ranges:
            start, stop, step = self.ranges[value]
            kind = self.context.get_value_type(self.typeof(expr.value.name).iterator_type)
            slot = cgutils.alloca_once(builder, start.type)
            if not isinstance(step, llvm_ir.Constant) or step.constant not in (1, -1):
                return self._stepping(kind, slot, start, stop, step)
            builder.store(start, slot)
            trips = self._turns(start, stop, step)  # where an iterator is joined, Numba counts turns down
            bound = cgutils.alloca_once(builder, start.type)
            builder.store(polls.first_bound(builder, start, stop, step.constant), bound)
            made = cgutils.make_anonymous_struct(builder, [slot, stop, step, trips], kind)
            self.counters[made] = (slot, stop, step, bound)
            return made
        if expr.op == "iternext" and value in self.counters:
            slot, stop, step, bound = self.counters[value]
            index = builder.load(slot)
            head = self.polls.heads.get(self.labels[id(self.current)])
            limit = stop
            if head is not None:
                limit = builder.load(bound)
                self.polls.counters[head] = (slot, bound, stop, step.constant, index)
            valid = builder.icmp_signed("<" if step.constant == 1 else ">", index, limit)
            builder.store(builder.add(index, step, flags=["nsw"]), slot)  # pyright: ignore[reportCallIssue]
            pair = cgutils.make_anonymous_struct(builder, [index, valid])
            self.pairs[pair] = (index, valid)
            return pair
        if value in self.pairs:
            return self.pairs[value][expr.op == "pair_second"]
        return None

    def _stepping(self, kind: Any, slot: Any, start: Any, stop: Any, step: Any) -> Any:
        """An iterator of Numba's, which counts turns down: it would take `stop - start`, which may need more bits."""
        if start.type != I64:
            return None
        self.builder.store(start, slot)
        return cgutils.make_anonymous_struct(self.builder, [slot, stop, step, self._turns(start, stop, step)], kind)

    def _turns(self, start: Any, stop: Any, step: Any) -> Any:
        """How often a loop over a range turns, in a slot of its own."""
        from diffjit.lowering.runtime.arithmetic import emit_trip

        builder, kind = self.builder, start.type
        turns = emit_trip(self.context, builder, None, (start, stop, step))
        most = kind((1 << (kind.width - 1)) - 1)
        slot = cgutils.alloca_once(builder, kind)
        builder.store(builder.select(builder.icmp_signed("<", turns, kind(0)), most, turns), slot)
        return slot

    def lower_inst(self, inst: Any) -> Any:
        """Constant indices of stores take the same way as others; `raise error()` has left already."""
        if isinstance(inst, IR.Assign) and not self.debugs:  # most are; Numba would print each for its log
            self.storevar(self.lower_assign(self.typeof(inst.target.name), inst), inst.target.name, _number(inst.value))
            return None
        self.known = self.facts.of.get(id(inst), facts.NOTHING)
        if isinstance(inst, IR.Raise):  # pyright: ignore[reportPrivateImportUsage]
            self.builder.unreachable()
            return None
        if isinstance(inst, IR.Return):  # pyright: ignore[reportPrivateImportUsage]
            self._release_rooms()
        if isinstance(inst, IR.StaticSetItem) and isinstance(self.typeof(inst.target.name), types.Array):  # pyright: ignore[reportPrivateImportUsage]
            return self.lower_setitem(inst.target, inst.index_var, inst.value, self.fndesc.calltypes[inst])
        if isinstance(inst, IR.Jump):
            self._lower_jump(inst)
            return None
        if isinstance(inst, IR.Branch):
            self._look_before(inst.truebr, inst.falsebr)
            head = self.polls.heads.get(self.labels[id(self.current)])
            if head in self.polls.counters:
                ended = polls.between(self, head, self.blkmap[inst.falsebr])
                self.builder.cbranch(self.loadvar(inst.cond.name), self.blkmap[inst.truebr], ended)
                return None
        return super().lower_inst(inst)

    def _look_before(self, *heads: Any) -> None:
        """Look whether to stop, if a jump to one of these goes back to the head of a loop that does."""
        if any(self.labels[id(self.current)] in self.polls.each.get(head, ()) for head in heads):
            polls.look(self)

    def _lower_jump(self, inst: Any) -> None:
        """A jump: into a loop that runs in chunks, or back to the head of a loop that looks whether it has to stop."""
        own, head = self.labels[id(self.current)], inst.target
        self._look_before(head)
        if head in self.polls.chunked and own not in self.polls.chunked[head]:
            polls.enter(self, head)
            return
        super().lower_inst(inst)
        if (id(self.current), head) in self.nests:
            block: Any = self.builder.block
            found = loop_mark(self.module, self._group(), self.kinds[head])
            block.terminator.set_metadata("llvm.loop", found)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Stores of one element."""
        base = self.typeof(target_var.name)
        if isinstance(base, types.Array):
            indices = elements.int_indices(self.builder, self.typeof(index_var.name), self.loadvar(index_var.name))
            if indices is not None and len(indices) == base.ndim:
                target = self.loadvar(target_var.name)
                rows = self.has_rows(target_var.name)
                pointer = elements.pointer(self.context, self.builder, base, target, indices, self.checks, rows=rows)
                value = self.context.cast(
                    self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), base.dtype
                )
                elements.store(self.context, self.builder, base, pointer, value)
                self._accessed("store", target_var.name)
                return None
        return super().lower_setitem(target_var, index_var, value_var, signature)


def _number(value: Any) -> int | None:
    """Which argument this is, counted from one."""
    return value.index + 1 if isinstance(value, IR.Arg) else None


def loop_mark(module: Any, group: Any, kind: str) -> Any:
    """A loop's metadata: after vectorising it, which interleaves enough, LLVM unrolls no more.

    Unrolling array loops takes more than half of LLVM's time (5.2 of 20 s here, and it doubles the machine code). Where
    the accesses of a group do not depend on one another, LLVM does not test at run time whether arrays overlap.
    What goes abreast is some vectors, of which no loop is left, and what they add to stays in registers.
    """
    what = [vectors.mark(module, "llvm.loop.unroll.disable")]
    if kind in (ABREAST, SIDE_BY_SIDE):
        left = module.add_metadata([vectors.mark(module, "llvm.loop.unroll.full")])
        what.append(vectors.mark(module, "llvm.loop.vectorize.followup_vectorized", left))
    if kind == SCALAR:
        what.append(vectors.mark(module, "llvm.loop.vectorize.enable", llvm_ir.IntType(1)(0)))
    if group is not None:
        what.append(vectors.mark(module, "llvm.loop.parallel_accesses", group))
    return distinct(module, *what)
