"""The minimum cut against all possible choices."""

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from diffjit.analysis.mincut import minimum_cut


@st.composite
def problems(draw):
    """Values 0 ... n-1, each computed from earlier ones, at hand ([]), or only to be recorded (None)."""
    n = draw(st.integers(1, 8))
    operands = {}
    for v in range(n):
        earlier = st.lists(st.integers(0, v - 1), min_size=1, max_size=3, unique=True) if v else st.just([])
        operands[v] = draw(st.one_of(st.just([]), st.none(), earlier, earlier))
    recording = {v: draw(st.integers(1, 9)) for v in range(n)}
    computing = {v: draw(st.integers(0, 5)) for v in range(n)}
    wanted = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4, unique=True))
    return operands, recording, computing, wanted


def cost(recorded, operands, recording, computing, wanted):
    """What a choice costs; None where something that is wanted cannot be had."""
    total = 0
    needed, pending = set(), list(wanted)
    while pending:
        v = pending.pop()
        if v in needed:
            continue
        needed.add(v)
        if v in recorded:
            total += recording[v]
        elif operands[v] is None:
            return None
        elif operands[v]:
            total += computing[v]
            pending += operands[v]
    return total


@given(problems())
def test_no_choice_is_cheaper(problem):
    operands, recording, computing, wanted = problem
    found = minimum_cut(wanted, operands.get, recording.get, computing.get)
    mine = cost(found.chosen, *problem)
    choices = chain.from_iterable(combinations(operands, k) for k in range(len(operands) + 1))
    # A value at hand may be "recorded" in vain: what has to be recorded is forced even where it is at hand for nothing.
    best = min(c for choice in choices if (c := cost(set(choice), *problem)) is not None)
    assert mine == best == found.cost
