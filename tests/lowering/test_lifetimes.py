"""Where references are given up: where Numba's own analysis gives them up, in random programs."""

import copy
import runpy

import numpy as np
import pytest
from numba.core.postproc import PostProcessor

import diffjit as dj
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


def raises(block):
    """Whether a block leaves the function by error, which releases all that is held."""
    return isinstance(block.body[-1], (IR.Raise, IR.StaticRaise))


def steps(blocks, counted):
    """The instructions of each block; the variables of `del`s that stand together in any order."""
    found = {}
    for label, block in blocks.items():
        found[label] = lines = []
        for inst in block.body:
            if not isinstance(inst, IR.Del):
                lines.append(str(inst))
            elif inst.value in counted and not raises(block):
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
        assert not any(isinstance(i, IR.Del) for block in blocks.values() if raises(block) for i in block.body)
        compared.append(sum(isinstance(i, IR.Del) for block in blocks.values() for i in block.body))

    monkeypatch.setattr(lifetimes, "mark_ends", both_ways)
    _, fast = both(Program(seed).text())
    ran(fast, 3, 0)
    assert sum(compared) > 1


def with_tests(n):
    """A program that holds thirty arrays at each of n tests."""
    made = [f"    a{k} = np.sort(x * {k + 1}.5)" for k in range(30)]
    tests = [f'    if a{k}[0] > {100 + k}:\n        raise ValueError("too much")' for k in range(n)]
    return "\n".join(
        [
            "import numpy as np",
            "def f(x):",
            *made,
            *tests,
            "    x[0] = 0.0",
            f"    return [{', '.join(f'a{k}' for k in range(30))}]",
        ]
    )


def test_errors_cost_no_more_code_for_what_is_held(monkeypatch, tmp_path):
    ours, counts = lifetimes.mark_ends, []

    def counted_too(blocks, counted):
        before = sum(isinstance(i, IR.Del) for block in blocks.values() for i in block.body)
        ours(blocks, counted)
        counts.append(sum(isinstance(i, IR.Del) for block in blocks.values() for i in block.body) - before)

    monkeypatch.setattr(lifetimes, "mark_ends", counted_too)
    found = []
    for n in (2, 12):
        file = tmp_path / f"tests_{n}.py"
        file.write_text(with_tests(n))
        counts.clear()
        with pytest.raises(ValueError, match="too much"):
            dj.jit(runpy.run_path(str(file))["f"])(np.array([1000.0, 1000.0]))
        found.append(max(counts))
    assert found[1] - found[0] < 12
