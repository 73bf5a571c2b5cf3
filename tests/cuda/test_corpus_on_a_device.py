"""Every corpus program in every mode with kernels: nests and lanes run turn by turn, in random order."""

import pytest

from tests.modes import MODES, PROGRAMS, case
from tests.test_corpus import COMPILED, NOT_YET, turn

PAIRS = [(name, mode) for name in sorted(PROGRAMS) for mode in MODES if case(name).supports(mode)]


def quick(name, mode):
    """Whether the short suite runs a program in a mode: one mode each of the small programs."""
    modes = [m for m in ("jvp", "vjp", "grad") if case(name).supports(m)]
    return name in COMPILED and bool(modes) and mode == modes[turn(name, len(modes))]


@pytest.mark.parametrize(
    ("name", "mode"),
    [pytest.param(*p, id="-".join(p), marks=[] if quick(*p) else [pytest.mark.slow]) for p in PAIRS],
)
def test_on_the_emulated_device(name, mode):
    if name in NOT_YET or f"{name}-{mode}" in NOT_YET:
        pytest.skip("refused, as tests/test_corpus.py says")
    MODES[mode](case(name), "cuda")
