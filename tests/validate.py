"""Translation validation of the corpus: `python -m tests.validate [--all] [NAME ...]`.

Each program runs in two processes, one with every optional pass off (`DIFFJIT_PLAIN=1`), on its own arguments and on
others at the edges: NaN, infinities and huge numbers inside arrays, no elements, one element, small integers of either
sign, reversed views, arrays that share memory. Values, gradients, exceptions and what is left in the arguments must be
the same, to the order in which sums are rounded. `--alone`: every loop is a function (`loops.outlined`). `--tiers`:
code made quickly (`DIFFJIT_TIERS=light`) against code made well, to the last bit. `--seeds 0:100`: random programs.
"""

# ruff: noqa: T201 - a command line prints
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz import validate as random_programs
from tests.fuzz.check import Discarded
from tests.fuzz.generate import from_seed
from tests.fuzz.outcomes import run
from tests.fuzz.validate import EDGES, FAST, LIGHT, PLAIN, Record, bits_agree, differences, other_bits, written

ROOT = Path(__file__).resolve().parents[1]
SMALL = (0, -1, 1)
ALONE = "TESTS_LOOPS_ALONE"  # in the environment: every loop is a function
LOOPS, GIANTS = "loops", "giants"  # in it: that, or array operations in loops, too, and LLVM leaves what calls them
SEED = "seed "  # of a random program, in place of a name


def variants(case: Any) -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """Makers of arguments, by name."""
    from tests.modes import leaves

    yield "its own", case.args
    yield "moved", lambda: case.moved(0.3)
    flat = [leaf for value in case.args() for leaf in leaves(value)]
    for place, leaf in enumerate(flat):
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f" and leaf.size:
            for edge in EDGES:
                yield f"leaf {place} holds {edge}", _changed(case, place, lambda x, edge=edge: _holding(x, edge))
            for length in (0, 1):
                yield f"leaf {place} of length {length}", _changed(case, place, lambda x, n=length: x[:n].copy())
            yield f"leaf {place} reversed", _changed(case, place, lambda x: x[::-1].copy()[::-1])
        elif type(leaf) is int:
            for number in SMALL:
                yield f"leaf {place} is {number}", _changed(case, place, lambda _, number=number: number)
    arrays = [place for place, leaf in enumerate(flat) if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"]
    pairs = [(p, q) for p in arrays for q in arrays if p < q and flat[p].shape == flat[q].shape]
    if pairs:
        yield "two leaves share memory", _shared(case, *pairs[0])


def _changed(case: Any, place: int, change: Callable[[Any], Any]) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        from diffjit import tree

        flat, structure = tree.flatten(case.args())
        flat = list(flat)
        flat[place] = change(flat[place])
        return structure.unflatten(iter(flat))

    return make


def _shared(case: Any, first: int, second: int) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        from diffjit import tree

        flat, structure = tree.flatten(case.args())
        flat = list(flat)
        flat[second] = flat[first]
        return structure.unflatten(iter(flat))

    return make


def _holding(array: np.ndarray, edge: float) -> np.ndarray:
    copy = array.copy()
    copy.flat[copy.size // 2] = edge
    return copy


def record(name: str, backend: str) -> dict[str, Record]:
    """What `jit` and the pullback or gradient of a corpus program give, by the names of verb and arguments."""
    import diffjit as dj
    from tests.modes import Case, leaves

    if name.startswith(SEED):
        seed = int(name.removeprefix(SEED))
        try:
            return random_programs.record(from_seed(seed), seed, backend)
        except Discarded:
            return {}
    case = Case(name)
    jitted = dj.jit(case.function, backend=backend)
    graded = dj.value_and_grad(case.function, argnums=case.wrt, backend=backend)

    def pulled(*arguments: Any) -> Any:
        value, pullback = dj.vjp(case.function, *arguments, backend=backend)
        return value, pullback(case.seeds())

    found: dict[str, Record] = {}
    for number, (what, make) in enumerate(variants(case)):
        verbs = [("jit", jitted), ("grad", graded if case.supports("grad") else pulled)]
        if number == 0 and case.supports("grad"):
            verbs.append(("vjp", pulled))
        for verb, function in verbs:
            result = run(function, make())
            result.after = leaves(result.after)
            if result.error is None:
                numbers = int | float | np.number | np.ndarray
                result.value = [leaf for leaf in leaves(result.value) if isinstance(leaf, numbers)]
            found[f"{verb}: {what}"] = written(result)
    return found


def recorded(names: list[str], backend: str, environment: dict[str, str]) -> dict[str, dict[str, Record]]:
    """The records of these programs, made in a process of their own."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-W", "ignore", "-m", "tests.validate", "--child", "--backend", backend, *names],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"exit {done.returncode} with {environment}\n{done.stdout[-500:]}\n{done.stderr[-3000:]}")
    lines = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("record:")]
    return dict(lines)


def every_loop_alone(how: str = LOOPS) -> None:
    """Make a function of every loop that may be one, and of what is called twice, however short the program is."""
    from diffjit.frontend.calls import repeated
    from diffjit.frontend.entry import program
    from diffjit.lowering.loops import outlined

    program.LONG = repeated._SMALLEST = 0  # pyright: ignore[reportPrivateUsage]
    repeated._CALLS, repeated._SHARE, repeated._GAIN = 2, 10**9, 10  # pyright: ignore[reportPrivateUsage]

    outlined.LONGEST = outlined.FRACTION = outlined.FEW = 0
    if how == GIANTS:
        from diffjit.lowering.llvm import optimiser

        outlined.HUGE = optimiser.LARGE = 0
        optimiser.GIANT = 200


def compared(names: list[str], backend: str = "numba", *, alone: str = "") -> tuple[list[str], int]:
    """Where the optimised programs differ from the plain ones, and how many are the same to the last bit."""
    how = {"DIFFJIT_PLAIN": "", ALONE: alone}
    optimised, plain = recorded(names, backend, how), recorded(names, backend, PLAIN)
    found = [f"{name}: {line}" for name in names for line in differences(optimised[name], plain[name])]
    return found, sum(bits_agree(optimised[name], plain[name]) for name in names)


def tiers_compared(names: list[str], *, alone: str = "") -> list[str]:
    """Where quick code gives other bits than fast code."""
    how = {ALONE: alone}
    light, fast = recorded(names, "numba", LIGHT | how), recorded(names, "numba", FAST | how)
    return [f"{name}: {line}" for name in names for line in other_bits(light[name], fast[name])]


def main() -> int:
    """Run the command line."""
    import diffjit as dj
    from tests.modes import PROGRAMS
    from tests.test_corpus import COMPILED, NOT_YET

    parser = argparse.ArgumentParser(prog="python -m tests.validate", description=__doc__)
    parser.add_argument("names", nargs="*", help="corpus programs; a sample by default")
    parser.add_argument("--all", action="store_true", help="the whole corpus")
    parser.add_argument("--tiers", action="store_true", help="code made quickly against code made well")
    told = "loops that are functions against plain code; of giants, array operations in loops, too"
    parser.add_argument("--alone", choices=(LOOPS, GIANTS), default="", nargs="?", const=LOOPS, help=told)
    parser.add_argument("--seeds", metavar="A:B", help="random programs instead")
    parser.add_argument("--backend", choices=("numba", "python"), default="numba")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        if os.environ.get(ALONE):
            every_loop_alone(os.environ[ALONE])
        for name in options.names:
            print("record:" + json.dumps([name, record(name, options.backend)]), flush=True)
        return 0
    if not hasattr(dj.settings, "plain"):
        raise SystemExit("this diffjit has no `settings.plain`")
    refused = {key.rpartition("-")[0] or key for key in NOT_YET}
    names = options.names or [name for name in (sorted(PROGRAMS) if options.all else COMPILED) if name not in refused]
    if options.seeds:
        names = [f"{SEED}{k}" for k in range(*map(int, options.seeds.split(":")))]
    wrong = same = 0
    for start in range(0, len(names), 10):
        some = names[start : start + 10]
        found, bits = (
            (tiers_compared(some, alone=options.alone), 0)
            if options.tiers
            else compared(some, options.backend, alone=options.alone)
        )
        same_here = len(some) - len({line.split(":")[0] for line in found}) if options.tiers else bits
        wrong, same = wrong + len(found), same + same_here
        if found:
            print("\n".join(found), flush=True)
    print(f"{len(names)} programs: {same} with the same bits, {wrong} differences")
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main())
