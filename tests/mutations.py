"""Mistakes that the suite must notice: one piece of text in one file of `diffjit`, and what is written instead.

The text occurs once in its file, or `python -m tests.mutate` fails. `tests` are arguments of pytest: files, all cases
of which run, narrowed by `-k` where a file is long.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A mistake, and the tests that have to fail with it."""

    name: str
    file: str
    old: str
    new: str
    tests: str


RULES = "tests/primitives/test_rules.py"
ELEMENTWISE = "tests/primitives/test_elementwise.py"

MUTATIONS = (
    # Rules
    Mutation(
        "wrong sign in a partial", "primitives/arithmetic.py", '"1 / y", "-out / y"', '"1 / y", "out / y"', ELEMENTWISE
    ),
    Mutation(
        "a tie gives all to one side",
        "primitives/arithmetic.py",
        """    "where(x < y, 1.0, where(x == y, 0.5, 0.0))",
    "where(y < x, 1.0, where(x == y, 0.5, 0.0))",
    numpy=np.minimum,""",
        """    "where(x <= y, 1.0, 0.0)",
    "where(y < x, 1.0, 0.0)",
    numpy=np.minimum,""",
        f"{ELEMENTWISE} -k kinks",
    ),
    Mutation(
        "infinities reach what has no cotangent",
        "primitives/arithmetic.py",
        'elementwise("sqrt(x)", "0.5 / out", numpy=np.sqrt, also=(math.sqrt,), cost=Cost.SLOW, finite=True)',
        'elementwise("sqrt(x)", "0.5 / out", numpy=np.sqrt, also=(math.sqrt,), cost=Cost.SLOW)',
        "tests/primitives/test_singular_points.py",
    ),
    Mutation(
        "a running sum is not turned round",
        "primitives/reductions.py",
        "np.flip(np.cumsum(np.flip(out_bar, axis), axis), axis)",
        "np.cumsum(np.flip(out_bar, axis), axis)",
        RULES,
    ),
    Mutation(
        "a recurrence stops one early",
        "primitives/reductions.py",
        "for k in range(n - 2, -1, -1):",
        "for k in range(n - 2, 0, -1):",
        RULES,
    ),
    Mutation(
        "elements that tie are not counted",
        "primitives/reductions.py",
        "spread(out_bar / count, a, axes, keepdims)",
        "spread(out_bar, a, axes, keepdims)",
        RULES,
    ),
    Mutation(
        "wrong axis of a spread",
        "primitives/reductions.py",
        "np.expand_dims(reduced, axes)",
        "np.expand_dims(reduced, tuple(range(len(axes))))",
        RULES,
    ),
    Mutation(
        "a dropped term",
        "primitives/linalg.py",
        "b_dot - solve_product(A_dot, b, out)",
        "b_dot",
        RULES,
    ),
    Mutation(
        "a matrix that is not transposed",
        "primitives/linalg.py",
        "return -turned(out) @ out_bar @ turned(out)",
        "return -out @ out_bar @ turned(out)",
        RULES,
    ),
    # The way back
    Mutation(
        "a store leaves the old cotangent",
        "transforms/reverse/memory_rules.py",
        '        self.build.op("store", [target, self.build.const(0.0, scalar), *index], **relying(op, "reverse"))\n',
        "",
        "tests/test_corpus.py -k 'overwritten or rows_and_columns or swaps_of_elements'",
    ),
    Mutation(
        "every writer of an element receives its cotangent",
        "transforms/reverse/memory_rules.py",
        "            t = self.last_writers(t, target, index, spec)\n",
        "",
        "tests/test_corpus.py -k repeated_indices",
    ),
    Mutation(
        "a popped item goes back one place off",
        "transforms/reverse/memory_rules.py",
        'n = self.build.value("add", [n, self.build.const(1)], INT, nowrap=True)',
        'n = self.build.value("add", [n, self.build.const(0)], INT, nowrap=True)',
        "tests/test_corpus.py -k pop",
    ),
    Mutation(
        "a loop is mirrored in its own order",
        "transforms/reverse/reverse.py",
        'reverse=counted and not op.attrs.get("reverse")',
        "reverse=False",
        "tests/test_corpus.py -k 'nested_loops or ranges_of'",
    ),
    Mutation(
        "a mirrored `while` runs once too few",
        "transforms/reverse/reverse.py",
        "return [self.build.const(0), count, self.build.const(1)]",
        "return [self.build.const(1), count, self.build.const(1)]",
        "tests/test_corpus.py -k while",
    ),
    Mutation(
        "what is broadcast is not summed",
        "transforms/reverse/cotangents.py",
        "[g], Scalar(g.type.dtype), axes=tuple(range(g.type.ndim)), keepdims=False)",
        "[g], Scalar(g.type.dtype), axes=tuple(range(g.type.ndim)), keepdims=False) "
        'if g.type.ndim > 1 else self.build.value("load", [g, self.build.const(0)], Scalar(g.type.dtype))',
        "tests/test_corpus.py -k 'slice_writes or mask_writes'",
    ),
    Mutation(
        "a cotangent that others hold is added to in place",
        "transforms/reverse/cotangents.py",
        "            c.bars[v] = Bar(g)\n",
        "            c.bars[v] = Bar(g, owned=True)\n",
        "tests/test_corpus.py -k sum_shares_its_cotangent",
    ),
    Mutation(
        "memory is read again after it has changed",
        "transforms/reverse/policy.py",
        "return not self.memory.changes_after(op.inputs[0], op)",
        "return True",
        "tests/test_corpus.py -k 'overwritten_value_was_used or swaps_of_elements'",
    ),
    Mutation(
        "a number is read where it no longer stands",
        "transforms/reverse/policy.py",
        "                and not self.memory.overwritten(store)\n",
        "",
        "tests/test_corpus.py -k numbers_stored",
    ),
    # Analyses
    Mutation(
        "what a list holds is another array",
        "ir/aliases.py",
        "            self.unite(self.element(op.inputs[0]), v)",
        "            self.element(op.inputs[0])",
        "tests/test_corpus.py -k 'list_of_arrays or list_of_buffers or append_same'",
    ),
    Mutation(
        "equal indices count as apart",
        "analysis/integers/dependence.py",
        "return self.at_least(gap, 1) or",
        "return self.at_least(gap, 0) or",
        "tests/analysis/test_dependence.py",
    ),
    Mutation(
        "a difference counts as a sum",
        "analysis/integers/running.py",
        '            if op.kind == "subtract" and at == 1:\n                return None\n',
        "",
        "tests/transforms/test_running.py",
    ),
    Mutation(
        "a sum of counters is off by one",
        "analysis/integers/running.py",
        'before = combine("subtract", count, b.const(1, INT))',
        'before = combine("subtract", count, b.const(0, INT))',
        "tests/transforms/test_running.py",
    ),
    Mutation(
        "a loop's last index counts as smaller by one",
        "analysis/integers/bounds.py",
        "plus(counter, -1).shifted(-1 if by > 0 else 0)",
        "plus(counter, -1).shifted(-2 if by > 0 else 0)",
        "tests/lowering/test_versions.py -k past_the_end",
    ),
    Mutation(
        "no upper bound is asked for",
        "analysis/integers/bounds.py",
        "return self._positive(e, op, beyond) and self._positive(size.plus(e, -1).shifted(-1), op, beyond)",
        "return self._positive(e, op, beyond)",
        "tests/lowering/test_versions.py -k past_the_end",
    ),
    Mutation(
        "whatever is computed counts as exact",
        "analysis/integers/sums.py",
        "return ty.weak or exact(op) or self.intervals.fits(op)",
        "return True",
        "tests/analysis/test_integers.py",
    ),
    Mutation(
        "analyses are never made anew",
        "analysis/manager.py",
        "if same(known.seen, seen):",
        "if True:",
        "tests/analysis/test_manager.py",
    ),
    Mutation(
        "keys that are equal are the same",
        "tree.py",
        "        return kind, repr(value)\n    if isinstance(value, (int, str, bytes)):",
        "        return value\n    if isinstance(value, (int, str, bytes)):",
        "tests/frontend/test_told_apart.py",
    ),
    Mutation(
        "dicts are the same in any order",
        "tree.py",
        "Structure(spec, tuple(slots), tuple(_dict_keys(tree)))",
        "Structure(spec, tuple(slots))",
        "tests/frontend/test_told_apart.py",
    ),
    Mutation(
        "two functions of one code are one",
        "api/engine/shared.py",
        "if taken or not expected.fits(value):",
        "if not expected.fits(value):",
        "tests/api/test_shared.py",
    ),
    # Passes
    Mutation(
        "what changes is read once",
        "transforms/optimise/cse.py",
        "if reads_memory(op) and any(",
        "if False and any(",
        "tests/test_corpus.py -k 'value_read_before_and_after or overwritten or augmented_on'",
    ),
    Mutation(
        "an array in place of its copy",
        "transforms/optimise/tidy.py",
        "and not changes.after(other, op):",
        "and True:",
        "tests/test_corpus.py -k products_with_one_of",
    ),
    Mutation(
        "lanes raise in another order",
        "analysis/failing.py",
        "return Failure.TOGETHER if self.uniform([*op.inputs, *op.outputs]) else Failure.APART",
        "return Failure.NEVER",
        "tests/transforms/test_lanes.py -k 'chance or disagree'",
    ),
    # Compiled code
    Mutation(
        "indices are read while they are written",
        "lowering/text/indexing.py",
        "if not isinstance(v.type, Array) or not self.printer.roots.may_alias(base, v):",
        "if True:",
        "tests/lowering/test_overlaps.py",
    ),
    Mutation(
        "a source is read while it is written",
        "lowering/text/indexing.py",
        '''    if isinstance(value.type, Array) and printer.roots.may_alias(target, value):
        made = printer.work("source"''',
        '''    if False:
        made = printer.work("source"''',
        "tests/lowering/test_overlaps.py",
    ),
    Mutation(
        "integers wrap where Python's do not",
        "lowering/text/scalars.py",
        "exact = out.weak and out.dtype == I8 and not nowrap",
        "exact = False",
        "tests/lowering/test_counters.py tests/lowering/test_versions.py -k overflow",
    ),
    Mutation(
        "a narrow integer is computed in 64 bits",
        "lowering/text/scalars.py",
        'return (text, dtype) if dtype.itemsize == 8 else (f"{dtype.name}{text}", dtype)',
        "return text, dtype",
        "tests/lowering/test_elementwise.py -k narrow",
    ),
    Mutation(
        "a constant from the end is tested for too little",
        "lowering/loops/versions.py",
        "self._length(base, axis).shifted(index.constant)",
        "self._length(base, axis).shifted(index.constant + 1)",
        "tests/lowering/test_versions.py -k from_the_end",
    ),
    Mutation(
        "a loop in two versions is tested for too little",
        "lowering/loops/versions.py",
        "asked.append(self._length(base, axis).plus(high, -1).shifted(-1))",
        "asked.append(self._length(base, axis).plus(high, -1))",
        "tests/lowering/test_versions.py",
    ),
    Mutation(
        "the length of a list counts as one that never changes",
        "transforms/reverse/policy.py",
        'if (op.row.cost is Cost.FREE and op.kind != "load") or is_view(op):',
        'if op.row.length or (op.row.cost is Cost.FREE and op.kind != "load") or is_view(op):',
        "tests/test_corpus.py -k ordered_dict_as_a_small_cache",
    ),
    Mutation(
        "a fresh array counts as free to make again",
        "ir/ops/arrays.py",
        """makes=True, reads=Reads.LENGTHS, like=0),
    Row("copy",""",
        """makes=True, reads=Reads.LENGTHS, like=0, cost=Cost.FREE),
    Row("copy",""",
        "tests/test_docs.py -k odeint",
    ),
    Mutation(
        "what may be None is not changed in place",
        "frontend/syntax/statements.py",
        "if isinstance(current, av.Opt):  # what",
        "if False:  # what",
        "tests/test_corpus.py -k in_place_in_what_may_be_none",
    ),
    # Order, and what is said of accesses
    Mutation(
        "what a store tests is no test",
        "lowering/loops/fusion.py",
        "CHECKS in o.attrs or self.raises(o)",
        "self.raises(o)",
        "tests/ir/test_checks.py",
    ),
    Mutation(
        "an index that counts from the end is said to be inside",
        "lowering/text/arrays.py",
        "return INSIDE if positive else WRAPS",
        "return INSIDE",
        "tests/lowering/test_facts.py",
    ),
    Mutation(
        "a word is lost with the loop that it speaks of",
        "lowering/flow/facts.py",
        "facts.loops[block.body[-1].target] = kind",
        "pass",
        "tests/lowering/test_facts.py",
    ),
    Mutation(
        "`or` goes on where `and` does",
        "lowering/flow/trees.py",
        "ways = (following, other) if isinstance(node.op, ast.And) else (then, following)",
        "ways = (following, other)",
        "tests/lowering/test_trees.py",
    ),
    Mutation(
        "`continue` leaves the loop",
        "lowering/flow/trees.py",
        "self.jump(self.loops[-1][0])",
        "self.jump(self.loops[-1][1])",
        "tests/lowering/test_trees.py",
    ),
    Mutation(
        "what is needed before its store is undone is read again",
        "transforms/reverse/undo.py",
        "if v in self.reads and self._is_late(v, path, mirrored, marks):",
        "if False:",
        "tests/transforms/test_undo.py -k late",
    ),
    Mutation(
        "numbers are read back from memory that is put back",
        "transforms/reverse/undo.py",
        "return any(self.memory.find(op.inputs[0]) is cls for op in self.overwritten)",
        "return False",
        "tests/transforms/test_undo.py -k stored",
    ),
    Mutation(
        "results are put back",
        "transforms/reverse/undo.py",
        "seen = {one_memory.find(v) for v in (*function.params, *results) if is_ref(v.type)}",
        "seen = set()",
        "tests/transforms/test_undo.py -k random_programs",
    ),
    Mutation(
        "what is overwritten is read before its index is tested",
        "transforms/reverse/undo.py",
        "                old.op.attrs[CHECKS] = store.attrs.pop(CHECKS)\n                store.attrs |= known",
        "                old.op.attrs |= known",
        "tests/transforms/test_undo.py -k index_that_is_tested",
    ),
    # What is known before loops are made
    Mutation(
        "behind a branch that leaves, its condition holds",
        "analysis/integers/bounds.py",
        "yield from self._said(branch.inputs[0], holds=second)",
        "yield from self._said(branch.inputs[0], holds=first)",
        "tests/transforms/test_leaving.py -k proves",
    ),
    Mutation(
        "a count is not part of the form of a call",
        "api/engine/programs.py",
        "    counts = tuple(tree.counts(leaves).items())",
        "    counts = ()",
        "tests/api/test_counts.py",
    ),
    Mutation(
        "a mask may change before the sum",
        "transforms/optimise/masks.py",
        " or memory.changes_after(mask, maker)",
        "",
        "tests/transforms/test_masks.py",
    ),
    Mutation(
        "elements are stored by another mask than the one that chose them",
        "transforms/optimise/masks.py",
        "return value is v and where is mask and fits",
        "return value is v and fits",
        "tests/transforms/test_masks.py",
    ),
    Mutation(
        "a factor may change from turn to turn",
        "transforms/optimise/products/turns.py",
        "return not is_ref(v.type) or self.memory.find(v) not in self.written",
        "return True",
        "tests/transforms/test_turns.py",
    ),
    Mutation(
        "what an iteration reads, one before it may not have written",
        "transforms/optimise/needless/unread.py",
        "                seen |= _read(inner, memory)",
        "                seen |= set()",
        "tests/transforms/test_unread.py",
    ),
    Mutation(
        "a gradient drops what the value would raise",
        "transforms/pipeline.py",
        "id(op) not in back and unused_but_raising(op)",
        "False",
        "tests/transforms/test_unread.py -k raise",
    ),
    Mutation(
        "nobody waits for a finally",
        "frontend/syntax/control.py",
        ".difference((f.uid for f in self.frames if f.captured), *self.awaited)",
        ".difference(f.uid for f in self.frames if f.captured)",
        "tests/frontend/test_ways_out.py",
    ),
    Mutation(
        "bounds are computed before loops that may not run",
        "transforms/reverse/keep.py",
        "        if may_raise(op, fits=_is_sum):\n            return False\n",
        "",
        "tests/transforms/test_hoisted.py",
    ),
    Mutation(
        "what is deleted on two ways needs no slot",
        "lowering/flow/registers.py",
        "            wrong |= gone & which\n",
        "",
        "tests/lowering/test_registers.py",
    ),
    Mutation(
        "assignments that meet have names of their own",
        "lowering/flow/webs.py",
        "            self.parent[max(one, other)] = min(one, other)\n",
        "",
        "tests/lowering/test_trees.py",
    ),
    Mutation(
        "a broadcast view has a shadow like others",
        "transforms/reverse/shadows.py",
        'if v.op.kind == "broadcast_to":',
        "if False:",
        "tests/transforms/test_shadows.py",
    ),
    Mutation(
        "elements of another dtype are stored by a condition",
        "transforms/optimise/masks.py",
        " and target.type.dtype == v.type.dtype",
        "",
        "tests/transforms/test_masks.py -k ints",
    ),
    Mutation(
        "two arguments of one array lend it twice",
        "transforms/reverse/reverse.py",
        "classes.count(own) == 1 and",
        "True and",
        "tests/transforms/test_recursive.py -k 'one_array_twice'",
    ),
    Mutation(
        "elements of a broadcast array are elements of their own",
        "transforms/reverse/reverse.py",
        "and not self.broadcast(v):",
        "and True:",
        "tests/transforms/test_recursive.py -k 'for_all'",
    ),
    Mutation(
        "arrays made of numbers without dimensions are their own",
        "frontend/numpy/npcore.py",
        "        self.note_boxed(out, scalar)\n",
        "",
        "tests/frontend/test_zero_dimensions.py",
    ),
    Mutation(
        "lists do not hold numbers without dimensions",
        "frontend/calls/questions.py",
        " + bool(arrays & kept)",
        "",
        "tests/frontend/test_zero_dimensions.py",
    ),
    Mutation(
        "the other part of a complex number is forgotten",
        "analysis/sparsity/set_programs.py",
        '            if stays:\n                self.line(f"{sets[0]}[...] = UNION(before, {sets[0]})")\n',
        "",
        "tests/analysis/test_index_sets.py -m 'slow or not slow'",
    ),
    Mutation(
        "what is copied twice is made in place of both",
        "transforms/optimise/algebra.py",
        "count[source.out] == 1 and ",
        "",
        "tests/transforms/test_fresh_arrays.py",
    ),
    Mutation(
        "ones that have been written to are counted",
        "transforms/optimise/algebra.py",
        " or at.changes.after(full.out, full):",
        ":",
        "tests/transforms/test_fresh_arrays.py",
    ),
    Mutation(
        "a bound that counts from the end cuts what it says",
        "frontend/values/lengths.py",
        "start >= k - end - 2",
        "start >= k - end - 3",
        "tests/frontend/test_lengths.py",
    ),
    Mutation(
        "what was cut off is put back",
        "frontend/values/lengths.py",
        " in self.forms and offset <= 0:",
        " in self.forms:",
        "tests/frontend/test_lengths.py",
    ),
    Mutation(
        "what the text says of an access is forgotten",
        "lowering/flow/facts.py",
        "array, known | {value.attr}",
        "array, known",
        "tests/lowering/test_vectorised.py",
    ),
    # Two tiers of machine code
    Mutation(
        "quick code knows of no sums that LLVM may reorder",
        "lowering/runtime/arithmetic.py",
        """            builder.function.reorders = True  # `compiler.Library` asks
""",
        "",
        "tests/lowering/test_tiers.py -k same_bits",
    ),
    Mutation(
        "long runs of quick code stay in it",
        "lowering/llvm/tiers.py",
        """                    interrupts.leave(thread)
""",
        """                    interrupts.leave(0)
""",
        "tests/lowering/test_tiers.py -k long_run",
    ),
    Mutation(
        "what was printed is printed again",
        "lowering/calls/failures.py",
        "        _printed.left = _printed.count",
        "        _printed.left = 0",
        "tests/lowering/test_tiers.py -k printed",
    ),
    Mutation(
        "rows of tables may be changed under another name",
        "frontend/objects/rows.py",
        """            for x in items:
                self.freeze(self.cells, x.uid, ROW)
""",
        "",
        "tests/containers/test_rows.py -k rows_are_no_copies",
    ),
    Mutation(
        "lists that long loops go through may be changed in them",
        "frontend/objects/iterate.py",
        "if not long or _same_objects(contents, self.known_contents(iterable)):",
        "if True:",
        "tests/containers/test_rows.py -k rows_are_no_copies",
    ),
    # Nothing wrong, but slow
    Mutation(
        "loops are not made vectors",
        "lowering/llvm/optimiser.py",
        "options.loop_vectorization = loops",
        "options.loop_vectorization = False",
        "tests/test_instructions.py",
    ),
    Mutation(
        "iterations may depend on one another",
        "lowering/llvm/emission.py",
        '    if group is not None:\n        what.append(vectors.mark(module, "llvm.loop.parallel_accesses", group))\n',
        "",
        "tests/test_instructions.py",
    ),
    Mutation(
        "a variable ends where only one way out needs it no more",
        "lowering/flow/lifetimes.py",
        "            at_heads[following] |= here & kept & ~(alive[following] | found.made[following])",
        "            at_heads[following] |= 0",
        "tests/lowering/test_lifetimes.py",
    ),
    Mutation(
        "what a constraint changes by itself is not news to it",
        "lowering/llvm/compiler.py",
        "else begin if changed else typeinfer.clock",
        "else typeinfer.clock",
        "tests/lowering/test_inference.py",
    ),
    Mutation(
        "an item that is taken out is kept in the list, too",
        "lowering/runtime/lists.py",
        "        made.move(at, behind, b.sub(last, at))\n        made.size = last\n",
        "        made.move(at, behind, b.sub(last, at))\n",
        "tests/containers/test_list_operations.py",
    ),
    Mutation(
        "a list that grows forgets what it holds",
        "lowering/runtime/lists.py",
        "        made.zfill(size, room)\n",
        "        made.zfill(I64(0), room)\n",
        "tests/containers/test_list_operations.py",
    ),
    Mutation(
        "a solution may be as sharp as it likes",
        "solvers/scipy/handed.py",
        "    if sharp or noise",
        "    if noise",
        "tests/solvers/test_scipy_optimize.py -k nothing_is_guessed",
    ),
)
