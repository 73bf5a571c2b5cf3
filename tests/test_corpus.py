"""Every corpus program in every mode: as Python text, and compiled."""

import zlib

import numpy as np
import pytest

import diffjit as dj
from diffjit import DiffjitError
from tests.budget import LISTED
from tests.modes import MODES, PROGRAMS, case, is_float, leaves, like, near, quiet

# Programs that are refused for now, and why: by name, or by name and mode as in the identifiers of the tests. An entry
# must raise a DiffjitError, never give a number, and has to go when the program works.
NOT_YET: dict[str, str] = {
    "triangles_and_windows": "sliding_window_view",
    "accumulator_types_with_no_passes": "a result whose type depends on whether a loop ran: an error when it runs",
}  # fmt: skip

# Small programs that compile quickly and together use loops, views, lists, linear algebra, branches, float32.
COMPILED = (
    "append_same_buffer",
    "break_and_continue",
    "chemical_equilibrium",
    "class_with_state",
    "conditional_expressions",
    "cox_partial_likelihood",
    "dataclass_argument",
    "decay_euler",
    "early_returns",
    "element_writes",
    "float32_throughout",
    "if_elif_else",
    "index_array_writes",
    "keyword_only_arguments",
    "loop_over_rows_writes_through",
    "match_on_numbers",
    "nelson_siegel",
    "overlapping_source_and_target",
    "newton_while",
    "overwritten_value_was_used",
    "partial_applications",
    "pop_from_a_stack",
    "quantile_loss",
    "ranges_of_every_step",
    "repeated_indices_in_place_add",
    "student_t_fit",
    "swaps_of_elements",
)

TWINS = [name for name in sorted(PROGRAMS) if PROGRAMS[name].jax is not None]


def check(name, mode, backend):
    c = case(name)
    if not c.supports(mode):
        pytest.skip(f"no {mode} of this program's result")
    if name in NOT_YET or f"{name}-{mode}" in NOT_YET:
        with pytest.raises((DiffjitError, NotImplementedError)):
            MODES[mode](c, backend)
    else:
        MODES[mode](c, backend)


# With `-m "slow or not slow"`, every mode both as Python text and compiled. Without, each program has one of these
# derivatives, in turn by its name, by which every second one is compiled, unless that takes seconds (`slow.txt`). As
# Python text it runs in the other modes: all forwards and back, every second as a value, every third as a gradient
# (which those test too), and a fifth at second order.
COMPILED_BY = ("jvp", "vjp", "grad")


def turn(name, among):
    """A number that a program's name decides, from 0 up to another."""
    return zlib.crc32(name.encode()) // 7 % among


def own(name):
    """The derivative whose turn it is with a program."""
    modes = [m for m in COMPILED_BY if case(name).supports(m)]
    return modes[turn(name, len(modes))]


def compiled(name, mode):
    """Whether the short suite compiles a program in a mode."""
    quick = f"tests/test_corpus.py::test_compiled[{name}-{mode}-numba]" not in LISTED
    return quick and ((mode == own(name) and turn(name, 10) % 2 == 0) or (name in COMPILED and mode != "second"))


def as_python(name, mode):
    """Whether the short suite runs a program as Python text in a mode."""
    among = {"value": 2, "grad": 3, "second": 5}.get(mode, 1)
    return turn(name, among) == 0 and not compiled(name, mode)


def parameters(backend, short):
    """All programs in all modes; `small` ones are for runs with other versions and settings."""
    every = [(name, mode) for name in sorted(PROGRAMS) for mode in MODES if case(name).supports(mode)]
    marks = {
        pair: [pytest.mark.slow] * (not short(*pair)) + [pytest.mark.small] * (pair[0] in COMPILED) for pair in every
    }
    return [pytest.param(*pair, id=f"{'-'.join(pair)}-{backend}", marks=marks[pair]) for pair in every]


@pytest.mark.parametrize(("name", "mode"), parameters("python", as_python))
def test_as_python(name, mode):
    check(name, mode, "python")


@pytest.mark.parametrize(("name", "mode"), parameters("numba", compiled))
def test_compiled(name, mode):
    check(name, mode, "numba")


@pytest.mark.parametrize("name", sorted({key.rpartition("-")[0] or key for key in NOT_YET}))
def test_the_table_names_programs(name):
    assert name in PROGRAMS


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_tangent_of_the_twin(name):
    """JAX, in forward mode: a few twins contain a `while_loop`, which it cannot reverse."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", val=True)
    c = case(name)
    if c.program.kwargs or name in NOT_YET or f"{name}-jvp" in NOT_YET:
        pytest.skip("called by keyword, or refused")
    args = c.args()

    def twin(t):
        moved = list(args)
        for k in c.wrt:
            pairs = zip(leaves(args[k]), leaves(c.direction[k]), strict=True)
            # Records are not trees to JAX, but the twins take them apart in Python.
            moved[k] = like(
                args[k],
                [jax.numpy.asarray(x) + (t * d).astype(np.asarray(x).dtype) if is_float(x) else x for x, d in pairs],
            )
        return [jax.numpy.asarray(x, dtype=float) for x in jax.tree.leaves(c.program.jax(*moved))]

    with quiet():
        theirs = jax.jvp(twin, (0.0,), (1.0,))[1]
        ours = dj.jvp(c.function, tuple(args), tuple(c.direction), backend="python")[1]
    flat = [np.concatenate([np.ravel(x) for x in tangents]) for tangents in (jax.tree.leaves(ours), theirs)]
    near(*flat, 1e-3 if c.single else 1e-9, "tangent against JAX")
