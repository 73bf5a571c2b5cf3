"""Every verb, and pairs of verbs, over the corpus: a seeded sample of the programs for each; all with `-m slow`."""

import zlib

import pytest

from tests.modes import PROGRAMS, case
from tests.test_corpus import NOT_YET
from tests.verbs import VERBS, run, supports

IN_FULL = {name for name in PROGRAMS if not any(key == name or key.startswith(f"{name}-") for key in NOT_YET)}

# Small programs that compile quickly and together use loops, branches, `while`, views, objects and lists.
COMPILED = {
    "vmapped": ("newton_while", "element_writes", "early_returns", "decay_euler"),
    "jacobians": ("decay_euler", "overlapping_source_and_target", "if_elif_else"),
    "hessians": ("decay_euler", "newton_while"),
    "linearized": ("element_writes", "newton_while", "class_with_state"),
    "mapped_gradient": ("nelson_siegel", "early_returns"),
    "gradient_of_mapped": ("decay_euler", "break_and_continue"),
    "sparse_jacobians": ("overlapping_source_and_target", "decay_euler"),
    "sparse_hessians": ("newton_while",),
    "jacobian_of_mapped": ("float32_throughout",),
    "series": ("class_with_state", "float32_throughout", "element_writes"),
    "longer_series": ("newton_while", "early_returns"),
    "series_of_gradient": ("decay_euler",),
}


def sample(verb):
    """About one program in ten, another selection for each verb; third derivatives take longer."""
    every = 40 if verb in ("third", "longer_series") else 10
    return [n for n in sorted(IN_FULL) if zlib.crc32(f"{verb} {n}".encode()) % every == 0]


SAMPLE = [(name, verb) for verb in VERBS for name in sample(verb) if supports(case(name), verb)]
REST = [(name, verb) for verb in VERBS for name in sorted(IN_FULL) if supports(case(name), verb)]


@pytest.mark.parametrize(("name", "verb"), SAMPLE)
def test_as_python(name, verb):
    run(case(name), verb, "python")


@pytest.mark.parametrize(("name", "verb"), [(name, verb) for verb, names in COMPILED.items() for name in names])
def test_compiled(name, verb):
    assert run(case(name), verb, "numba")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "verb"), sorted(set(REST) - set(SAMPLE)))
def test_as_python_all(name, verb):
    run(case(name), verb, "python")


def test_few_programs_are_refused():
    """What has no lanes or no Jacobian is the exception: the sample does not pass by being refused."""
    asked = [(n, v) for n, v in SAMPLE if v in ("vmapped", "jacobians")][::3]
    refused = [(n, v) for n, v in asked if not run(case(n), v, "python")]
    assert len(refused) <= len(asked) // 20
