"""Where references are given up: where Numba's own analysis gives them up, in random programs."""

import copy

import pytest
from numba.core.postproc import PostProcessor

from diffjit.lowering.flow import lifetimes
from diffjit.lowering.llvm.numba_internals import IR
from diffjit.settings import settings
from tests.lowering.test_registers import Program, both, ran


@pytest.fixture(autouse=True)
def _nothing_from_disk(monkeypatch):
    """Programs have no files of their own here."""
    monkeypatch.setattr(settings, "cache_mb", 0)


class Blocks:
    """What Numba's analysis asks of a function."""

    is_generator = False

    def __init__(self, blocks):
        self.blocks, self.block_entry_vars = blocks, {}


def steps(blocks, counted):
    """The instructions of each block; the variables of `del`s that stand together in any order."""
    found = {}
    for label, block in blocks.items():
        found[label] = lines = []
        for inst in block.body:
            if not isinstance(inst, IR.Del):
                lines.append(str(inst))
            elif inst.value in counted:
                if not lines or not isinstance(lines[-1], set):
                    lines.append(set())
                lines[-1].add(inst.value)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_as_numba_finds_them(seed, monkeypatch):
    ours, compared = lifetimes.mark_ends, []

    def both_ways(blocks, counted):
        theirs = Blocks({label: copy.copy(block) for label, block in blocks.items()})
        for block in theirs.blocks.values():
            block.body = list(block.body)
        PostProcessor(theirs).run(emit_dels=True)
        ours(blocks, counted)
        assert steps(blocks, counted) == steps(theirs.blocks, counted)
        compared.append(sum(isinstance(i, IR.Del) for block in blocks.values() for i in block.body))

    monkeypatch.setattr(lifetimes, "mark_ends", both_ways)
    _, fast = both(Program(seed).text())
    ran(fast, 3, 0)
    assert sum(compared) > 1
