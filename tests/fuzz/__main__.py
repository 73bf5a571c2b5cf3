"""Hunt for programs whose derivative is wrong: `python -m tests.fuzz --count 1000 --seed 0 --backend python --jobs 2`.

Failing programs are printed and written into a folder. Each job is a process of its own, so that a program that kills
the interpreter, or runs for too long, is reported like any other.
"""

# ruff: noqa: T201 - a command line prints
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .check import check
from .generate import from_seed
from .shrink import shrink

HERE = Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program; the others follow it")
    parser.add_argument("--backend", choices=("python", "numba"), default="python")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--second", "--reverse-second", action="store_true", help="check second derivatives too")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one program")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "diffjit-fuzz")
    parser.add_argument("--refused", action="store_true", help="write refused programs into the folder too")
    parser.add_argument("--shrink", type=Path, help="shrink the failing program in this file, and print it")
    parser.add_argument("--show", action="store_true", help="only print the programs")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def work(options: argparse.Namespace) -> None:
    """Check the seeds that come in on stdin, one line each, and print each outcome as a line of JSON."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what programs print must not mix with the answers
    for line in sys.stdin:
        outcome = check(from_seed(int(line)), int(line), options.backend, options.second)
        print(json.dumps({"kind": outcome.kind, "detail": outcome.detail}), file=answers, flush=True)


class Worker:
    """A process that checks programs, replaced when it dies."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Start lazily."""
        self.options = options
        self.process: subprocess.Popen[str] | None = None
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - lives as long as the worker

    def start(self) -> subprocess.Popen[str]:
        """The process, a new one if there is none."""
        if self.process is None:
            command = [sys.executable, "-m", "tests.fuzz", "--worker", "--backend", self.options.backend]
            command += ["--second"] if self.options.second else []
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                cwd=HERE.parents[1],
            )  # fmt: skip
        return self.process

    def check(self, seed: int) -> dict[str, str]:
        """The outcome of one program."""
        process = self.start()
        if process.stdin is None or process.stdout is None:
            raise AssertionError
        late = threading.Timer(self.options.timeout, process.kill)
        late.start()
        try:
            process.stdin.write(f"{seed}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finished = late.is_alive()
        late.cancel()
        if answer:
            return json.loads(answer)
        process.kill()
        code = process.wait()
        self.process = None
        self.errors.seek(0)
        said = self.errors.read()[-3000:]
        self.errors.truncate(0)
        return {"kind": "crashed", "detail": f"{said}\nthe process died ({code})" if finished else "timed out"}

    def stop(self) -> None:
        """Let the process end."""
        if self.process is not None:
            self.process.communicate()
            self.process = None


def hunt(options: argparse.Namespace) -> int:
    """Check the programs, report, and return the number of failures."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    lock = threading.Lock()

    def report(seed: int, outcome: dict[str, str]) -> None:
        kind, detail = outcome["kind"], outcome["detail"]
        counts[kind] += 1
        if kind == "refused":
            reasons[detail.splitlines()[0] if detail else ""] += 1
        if kind in ("wrong", "crashed") or (kind == "refused" and options.refused):
            options.folder.mkdir(parents=True, exist_ok=True)
            path = options.folder / f"{kind}_{options.backend}_{seed}.py"
            source = from_seed(seed)
            comment = "".join(f"# {line}\n" for line in detail.splitlines())
            path.write_text(f"{source}\n{comment}", encoding="utf-8")
            if kind != "refused":
                print(f"--- {kind}: {path}\n{source}\n{detail}\n", flush=True)

    def run(job: int) -> None:
        worker = Worker(options)
        for seed in range(options.seed + job, options.seed + options.count, options.jobs):
            outcome = worker.check(seed)
            with lock:
                report(seed, outcome)
                if sum(counts.values()) % 100 == 0:
                    print(dict(counts), file=sys.stderr, flush=True)
        worker.stop()

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run, range(options.jobs)))
    for reason, count in reasons.most_common():
        print(f"{count:6} refused: {reason}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return counts["wrong"] + counts["crashed"]


def main() -> int:
    """Run the command line."""
    options = arguments()
    if options.worker:
        work(options)
    elif options.show:
        print("\n\n".join(from_seed(options.seed + place) for place in range(options.count)))
    elif options.shrink is not None:
        source = options.shrink.read_text(encoding="utf-8")
        print(shrink(source, options.seed, options.backend, second=options.second))
    else:
        return min(hunt(options), 1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
