"""Sets of inputs by machine code: the same as by a run in Python, on programs of all kinds."""

import itertools
import linecache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffjit as dj
from diffjit.analysis.sparsity.index_sets import IndexSets
from diffjit.api.engine.engine import program_of
from diffjit.api.engine.programs import flatten_call
from diffjit.api.patterns import found as patterns
from diffjit.api.patterns import pools as set_pools
from diffjit.api.patterns.pools import CompiledSets
from diffjit.api.patterns.trees import collected
from diffjit.ir.types import Array, Scalar
from diffjit.transforms.modes.sets import Uncompiled
from tests.analysis.test_index_sets import PROGRAMS, X
from tests.corpus.registry import PROGRAMS as CORPUS
from tests.corpus.registry import load_all
from tests.transforms.set_programs import drawn

load_all()


def is_real(ty):
    return isinstance(ty, Scalar | Array) and ty.dtype.kind == "f"


def both(function, args):
    """The sets of all results by machine code, and by a run in Python."""
    program = program_of(function, args, {})
    call = flatten_call(args, {})
    inputs = [*call.leaves, *(getter() for getter in program.captures)]
    f = program.function
    wrt = [k for k, p in enumerate(f.params[: len(call.leaves)]) if is_real(p.type)]
    results = [k for k, v in enumerate(f.results) if is_real(v.type)]
    pool, sets = CompiledSets(f, wrt, results).sets(inputs)
    columns, starts = pool.rows(np.concatenate([np.zeros(0, np.int64), *sets]))
    found = [columns[a:b].tolist() for a, b in itertools.pairwise(starts)]
    wanted = IndexSets(f).run(inputs, wrt)
    return found, [sorted(s) for r in results for s in wanted[r]]


# Left to the run in Python: functions that are called, complex numbers, stacks of matrices.
LEFT = {"recursion", "parts", "parts_in_a_callee", "imaginary", "parts_read_only", "stacked", "solved_apart",
        "determinants", "interpolated"}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_index_sets(name):
    program, _ = PROGRAMS[name]
    try:
        found, wanted = both(program, (X,))
    except Uncompiled:
        assert name in LEFT
        return
    assert found == wanted


QUICK = ("overlapping_source_and_target", "loop_over_rows_writes_through", "index_array_writes", "swaps_of_elements",
         "pop_from_a_stack", "class_with_state", "cox_partial_likelihood", "early_returns")  # fmt: skip


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in sorted(CORPUS)
])  # fmt: skip
@pytest.mark.parametrize("derived", [False, True])
def test_the_corpus(name, derived):
    case = CORPUS[name]
    function = dj.grad(case.function) if derived else case.function
    try:
        found, wanted = both(function, case.args())
    except (Uncompiled, dj.DiffjitError, UnboundLocalError, NotImplementedError):
        assert name not in QUICK or derived
        return
    assert found == wanted


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=pytest.mark.slow) for s in range(6, 400))])
def test_random_programs(seed):
    source, args = drawn(seed)
    space = {"np": np}
    exec(compile(source, "<random>", "exec"), space)  # noqa: S102 - our own text
    linecache.cache["<random>"] = (len(source), None, source.splitlines(keepends=True), "<random>")
    f = space["f"]
    found, wanted = both(f, args)
    assert found == wanted, source
    dense = np.asarray(dj.jacfwd(f, backend="python")(*args))
    pattern = np.zeros(dense.shape, bool)
    for row, columns in enumerate(found):
        pattern[row, [j for j in columns if j < dense.shape[1]]] = True
    assert not np.any((dense != 0) & ~pattern), source
    sparse = dj.sparse_jacobian(f, backend="numba")(*args)
    np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-9, atol=1e-12, err_msg=source)


# ---------------------------------------------------------------------------------------------------------------- pools


@st.composite
def pools(draw):
    """Pairs of sets, and rows that are sets; some are asked for again and again."""
    n = draw(st.integers(1, 8))
    pairs = []
    for k in range(draw(st.integers(0, 30))):
        x, y = draw(st.integers(1, n + k)), draw(st.integers(1, n + k))
        pairs.append((x, y))
    rows = draw(st.lists(st.integers(0, n + len(pairs)), max_size=60))
    return n, pairs, rows


@given(pools())
def test_leaves_of_trees(pool):
    n, pairs, rows = pool
    sets = [set(), *({k} for k in range(n))]
    for x, y in pairs:
        sets.append(sets[x] | sets[y])
    kept = np.array([max(p) << 32 | min(p) for p in pairs], np.int64)
    columns, starts = collected(kept, n, np.array(rows, np.int64))
    found = [columns[a:b].tolist() for a, b in itertools.pairwise(starts)]
    assert found == [sorted(sets[r]) for r in rows]


def chained(x, n):
    """What all results share is a long way from the inputs."""
    total = 0.0
    for k in range(n):
        total = total * 0.5 + x[k % 7] * x[k % 5]
    out = np.empty(n)
    for k in range(n):
        out[k] = total * x[7 + k]
    return out


def test_what_rows_share_is_listed_once(monkeypatch):
    n = 20_000
    x = np.linspace(1.0, 2.0, n + 7)
    monkeypatch.setattr(patterns, "ALLOWED", 0)
    pattern = dj.sparsity(chained)(x, n)
    assert pattern.nnz == 8 * n
    np.testing.assert_array_equal(pattern[5].indices, [0, 1, 2, 3, 4, 5, 6, 12])
    sets = CompiledSets(program_of(chained, (x, n), {}).function, [0], [0])
    assert sets.sets([x, n])[0].state[0] < 3 * n


def test_a_pool_grows(monkeypatch):
    monkeypatch.setattr(set_pools, "_FIRST", 2)
    found, wanted = both(chained, (np.ones(60), 50))
    assert found == wanted


def test_a_pool_that_may_not_grow_is_left_to_python(monkeypatch):
    monkeypatch.setattr(set_pools, "_FIRST", 2)
    monkeypatch.setattr(set_pools, "_MOST", 2)
    monkeypatch.setattr(patterns, "ALLOWED", 0)
    assert dj.sparsity(chained)(np.ones(60), 50).nnz == 8 * 50


def test_long_runs_become_machine_code(monkeypatch):
    made = []
    real = CompiledSets.__init__

    def noted(self, *args):
        made.append(args)
        real(self, *args)

    monkeypatch.setattr(CompiledSets, "__init__", noted)
    x = np.ones(60)
    pattern = dj.sparsity(chained)
    pattern(x, 50)
    assert not made
    monkeypatch.setattr(patterns, "ALLOWED", 1000)
    pattern = dj.sparsity(lambda x, n: chained(x, n) * 1.0)
    few = [pattern(x, 50) for _ in range(6)]
    assert len(made) == 1  # the allowance is one for all calls
    assert all((p != few[0]).nnz == 0 for p in few)
    dj.sparse_jacobian(lambda x, n: chained(x, n) * 1.0, backend="python")(x, 50)
    assert len(made) == 1


def test_errors_are_the_program_s(monkeypatch):
    def outside(x):
        out = np.empty(3)
        for k in range(4):
            out[k] = x[k]
        return out

    monkeypatch.setattr(patterns, "ALLOWED", 0)
    with pytest.raises(IndexError):
        dj.sparsity(outside)(np.ones(4))
