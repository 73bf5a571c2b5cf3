"""Whether the suite notices mistakes: `python -m tests.mutate [NAME ...] [--jobs N]`.

Each mistake of `mutations` is made in a copy of the package, one at a time, and the tests that have to notice it run
there. Without any mistake all of these must pass. The exit status is 1 if a mistake survives, 2 if the tests fail
without one, or if a text to be replaced is not there exactly once.
"""

# ruff: noqa: T201 - a command

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutations import MUTATIONS

ROOT = Path(__file__).parent.parent
LIMIT = 1800  # seconds of an attempt; a mistake that makes a test run for ever is noticed, too


def misplaced():
    """Mutations whose text is not there exactly once."""
    return [m.name for m in MUTATIONS if (ROOT / "diffjit" / m.file).read_text().count(m.old) != 1]


def copy(folder):
    """The package, its tests, and the programs and pages that tests read."""
    leave = shutil.ignore_patterns("__pycache__")
    for name in ("diffjit", "tests", "benchmarks", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)


def failed(tests, mutation=None):
    """Whether tests fail with a mistake, and what pytest says last."""
    with tempfile.TemporaryDirectory(prefix="diffjit-mutation-") as made:
        folder = Path(made)
        copy(folder)
        if mutation is not None:
            file = folder / "diffjit" / mutation.file
            file.write_text(file.read_text().replace(mutation.old, mutation.new))
        environment = {
            **os.environ,
            "PYTHONPATH": made,
            "DIFFJIT_CACHE_DIR": str(folder / "cache"),
            "DIFFJIT_TEST_LIMIT": "0",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "slow or not slow"]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist"]
        try:
            ended = subprocess.run(  # noqa: S603 - the project's own tests
                [*command, *shlex.split(tests)], cwd=folder, env=environment, timeout=LIMIT, check=False,
                capture_output=True, text=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return True, f"not done after {LIMIT} s"
    if ended.returncode < 0:
        return True, f"the tests' process ended by signal {-ended.returncode}"
    if ended.returncode not in (0, 1, 2):  # all passed, some failed, the mistake keeps them from being collected
        raise SystemExit(f"pytest {tests}: exit status {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    said = (x for x in ended.stdout.splitlines()[::-1] if x.startswith(("FAILED", "ERROR")))
    return ended.returncode != 0, next(said, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these mistakes")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [m for m in MUTATIONS if not options.names or m.name in options.names]
    if wrong := misplaced():
        print(f"not there exactly once: {wrong}")
        return 2
    with ThreadPoolExecutor(options.jobs) as pool:
        plain = list(dict.fromkeys(m.tests for m in chosen))
        for tests, (broken, line) in zip(plain, pool.map(failed, plain), strict=True):
            if broken:
                print(f"fails without a mistake: {tests}\n{line}")
                return 2
        begun = time.monotonic()
        survived = 0
        for m, (caught, line) in zip(chosen, pool.map(lambda m: failed(m.tests, m), chosen), strict=True):
            survived += not caught
            print(f"{'caught  ' if caught else 'SURVIVED'}  {m.name} ({m.file})  {line}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} caught in {time.monotonic() - begun:.0f} s")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
