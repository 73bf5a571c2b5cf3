"""Hunt for programs that diffjit gets wrong: `python -m tests.fuzz --seeds 0:1000 --backend numba --jobs 2`.

Programs that go wrong are made smaller, printed and written into a folder as files that run. Each batch is a process of
its own, so that a program that kills the interpreter, or runs for too long, is reported like any other. What is done is
written into the folder `--state`, and not done again.
"""

# ruff: noqa: T201 - a command line prints
from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from .check import VERBS as SMOOTH
from .designs import DESIGNS, design_of
from .hunt import Hunt, signature
from .outcomes import VERBS
from .shrink import shrink_by
from .state import default_folder
from .workers import Task, Worker, work


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seeds", type=_seeds, help="A:B, the seeds from A to B - 1; goes on where it was stopped")
    parser.add_argument(
        "--count", type=int, default=1000, help="number of programs, with --seed; nothing is remembered"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program; the others follow it")
    parser.add_argument("--design", choices=(*DESIGNS, "both"), default="both", help="which programs")
    parser.add_argument("--backend", choices=("python", "numba", "cuda"), default="python")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--batch", type=int, default=40, help="programs of one process")
    parser.add_argument("--second", "--reverse-second", action="store_true", help="check second derivatives too")
    parser.add_argument("--verbs", type=_verbs, default=(), help="jit,grad,jvp,vjp,second; several by default")
    parser.add_argument("--one", action="store_true", help="one verb for each program, drawn by its seed")
    parser.add_argument("--checked", action="store_true", help="in checked mode (DIFFJIT_CHECKED=1)")
    parser.add_argument(
        "--validate", action="store_true", help="compare with code without optional passes (DIFFJIT_PLAIN=1)"
    )
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one program")
    parser.add_argument("--shrink-seconds", type=float, default=300.0, help="seconds to make one finding smaller")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "diffjit-fuzz")
    parser.add_argument(
        "--state", type=Path, help="folder of what has been done; with --seeds by default the user's cache"
    )
    parser.add_argument("--refused", action="store_true", help="write refused programs into the folder too")
    parser.add_argument("--shrink", type=Path, help="shrink the failing program in this file, and print it")
    parser.add_argument("--show", action="store_true", help="only print the programs")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.designs = tuple(DESIGNS) if options.design == "both" else (options.design,)
    return options


def _verbs(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if not set(chosen) <= {*VERBS, *SMOOTH}:
        raise argparse.ArgumentTypeError(f"some of {', '.join({*VERBS, *SMOOTH})}")
    return chosen


def _seeds(text: str) -> range:
    first, _, last = text.partition(":")
    return range(int(first), int(last))


def has(setting: str) -> bool:
    """Whether this diffjit has a setting."""
    import diffjit as dj

    return hasattr(dj.settings, setting)


def shrink_file(options: argparse.Namespace) -> str:
    """The program in a file, made smaller."""
    source = options.shrink.read_text(encoding="utf-8")
    design = design_of(source)
    worker = Worker(options.timeout)

    def found(text: str) -> tuple[str, str]:
        return signature(
            worker.run(Task(design.name, options.seed, options.backend, options.second, options.verbs, text))
        )

    wanted = found(source)
    small = shrink_by(source, lambda text: found(text) == wanted, seconds=options.shrink_seconds)
    worker.close()
    return small


def main() -> int:
    """Run the command line."""
    options = arguments()
    if options.worker:
        work()
        return 0
    if options.shrink is not None:
        print(shrink_file(options))
        return 0
    for setting in ("checked", "validate"):
        name = "plain" if setting == "validate" else setting
        if getattr(options, setting) and not has(name):
            raise SystemExit(f"--{setting}: this diffjit has no `settings.{name}`")
    remembered = options.seeds is not None
    if not remembered:
        options.seeds = range(options.seed, options.seed + options.count)
    if options.show:
        print("\n\n".join(DESIGNS[name].from_seed(seed) for seed in options.seeds for name in options.designs))
        return 0
    with tempfile.TemporaryDirectory() as forgotten:
        options.state = options.state or (default_folder() if remembered else Path(forgotten))
        return min(Hunt(options).run(), 1)


if __name__ == "__main__":
    raise SystemExit(main())
