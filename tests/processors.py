"""The compiled sample of the corpus for other processors than this one: `python -m tests.processors haswell generic`.

LLVM chooses instructions and vectorises by processor, and what it gets wrong it gets wrong on some: it ends the process
on one and is right on another. So everything is compiled for each, and run if this machine has the instructions.

Each processor has a process of its own, as Numba reads `NUMBA_CPU_NAME` once. One that dies is started again behind the
program that it died of. `--all` takes the whole sample of `test_corpus` (a quarter of an hour for each processor),
otherwise its small programs in some modes.
"""

# ruff: noqa: T201 - a command line prints

import argparse
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import llvmlite.binding as llvm

ROOT = Path(__file__).parent.parent
_AVX512 = frozenset({"avx2", "fma", "bmi2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
# What code for a processor may use, beyond what each x86-64 has.
PROCESSORS = {
    "generic": frozenset(),
    "haswell": frozenset({"avx2", "fma", "bmi2"}),
    "skylake-avx512": _AVX512 | {"adx", "pku"},
    "znver4": _AVX512
    | {"avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512bitalg", "avx512vpopcntdq", "avx512bf16", "avx512ifma"}
    | {"gfni", "vaes", "vpclmulqdq", "sse4a", "sha", "adx"},
}


def here():
    """Whether these are processors of this machine's family at all."""
    return llvm.get_process_triple().startswith("x86_64")


def known(name):
    """Whether this LLVM has heard of a processor."""
    return name != "znver4" or llvm.llvm_version_info >= (16,)


def runs(name):
    """Whether this machine runs what is compiled for a processor."""
    features = llvm.get_host_cpu_features()
    return all(features.get(f, False) for f in PROCESSORS[name] - {"pku"})


def sample(*, everything):
    """Names and modes of corpus programs."""
    from tests import test_corpus

    chosen = [(n, m) for n, m in test_corpus.SAMPLE if test_corpus.case(n).supports(m)]
    chosen = [c for c in chosen if c[0] not in test_corpus.NOT_YET and "-".join(c) not in test_corpus.NOT_YET]
    if everything:
        return chosen
    return [(n, m) for n, m in chosen if n in test_corpus.COMPILED and m in ("grad", "vjp", "jvp")]


class OnlyCompiled(BaseException):
    """Raised in place of the first call of a compiled function."""


def compile_only():
    """From now on, compiled functions are not called."""
    from diffjit.lowering.calls import cpu

    def first_call(self, *args):
        self.dispatcher.compile(tuple(self.dispatcher.typeof_pyval(a) for a in args))
        raise OnlyCompiled

    cpu.FirstCall.__call__ = first_call


def child(start, *, everything, run):
    """Compile, and run, from one place of the sample on; say each program before it, and what went wrong behind it."""
    from tests.modes import MODES, case

    if not run:
        compile_only()
    for k, (name, mode) in enumerate(sample(everything=everything)[start:], start):
        print(f"\n::begin {k} {name} {mode}", flush=True)
        try:
            MODES[mode](case(name), "numba")
        except OnlyCompiled:
            pass
        except Exception:  # noqa: BLE001 - reported, with the next program
            print(f"\n::wrong {traceback.format_exc()[-600:]!r}", flush=True)
    print("\n::end", flush=True)


def survey(name, *, everything=False, command=("-m", "tests.processors", "--child")):
    """What goes wrong for a processor: (program and mode, what) for each."""
    found = []
    start, ended = 0, False
    flags = [*(["--all"] if everything else []), *(["--run"] if runs(name) else [])]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": "", "DIFFJIT_CACHE_DIR": cache}
        while not ended:
            made = subprocess.run(  # noqa: S603 - this file
                [sys.executable, *command, str(start), *flags],
                cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            program = "before the first program"
            for line in made.stdout.splitlines():
                if line.startswith("::begin "):
                    place, program = line[8:].split(" ", 1)
                    start = int(place) + 1
                elif line.startswith("::wrong "):
                    found.append((program, line[8:]))
                ended = ended or line == "::end"
            if not ended:
                found.append((program, f"the process ended with {made.returncode}: {made.stderr[-600:]}"))
                ended = program == "before the first program"
    return found


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=list(PROCESSORS))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, everything=given.all, run=given.run)
        return 0
    bad = 0
    for name in given.names:
        if not here() or not known(name):
            print(f"{name}: LLVM has no such target here")
            continue
        found = survey(name, everything=given.all)
        print(f"{name}: {'compiled and run' if runs(name) else 'compiled'}, {len(found)} wrong", flush=True)
        for program, what in found:
            print(f"  {program}: {what}")
        bad += len(found)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
