"""Processes that check programs: one dies, or is too slow, without taking the hunt with it.

A worker reads tasks as lines of JSON and answers each with a line of JSON. Freed memory is poisoned in it, arguments
lie between forbidden pages, and it is replaced after a batch of programs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POISON = {"MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3"}


@dataclass(frozen=True)
class Task:
    """A program to check; without a source it is that of the seed."""

    design: str
    seed: int
    backend: str
    second: bool = False
    verbs: tuple[str, ...] = ()
    source: str = ""
    kind: str = "check"  # or "record", what validation compares


@dataclass
class Worker:
    """A process that does tasks, replaced when it dies and after `batch` of them."""

    timeout: float
    environment: dict[str, str] = field(default_factory=dict)
    batch: int = 40

    def __post_init__(self) -> None:
        """Start lazily."""
        self.process: subprocess.Popen[str] | None = None
        self.done: list[Task] = []  # by the present process
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - as long as this

    def _started(self) -> subprocess.Popen[str]:
        if self.process is not None and len(self.done) >= self.batch:
            self.stop()
        if self.process is None:
            self.done = []
            self.process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz", "--worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                cwd=ROOT, env={**os.environ, **POISON, **self.environment},
            )  # fmt: skip
        return self.process

    def run(self, task: Task) -> dict[str, str]:
        """The outcome of one task: what the worker answers, or `dead` or `slow`."""
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise AssertionError
        late = threading.Timer(self.timeout, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps(asdict(task)) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        in_time = late.is_alive()
        late.cancel()
        self.done.append(task)
        if answer.endswith("\n"):
            return json.loads(answer)
        process.kill()
        with process:  # closes its pipes
            code = process.wait()
        self.process = None
        self.errors.seek(0)
        said = self.errors.read()[-4000:]
        self.errors.seek(0)
        self.errors.truncate()
        if not in_time:
            return {"kind": "slow", "detail": f"not done after {self.timeout} s"}
        return {"kind": "dead", "detail": f"dead {code}\n{said}"}

    def stop(self) -> None:
        """Let the process end."""
        if self.process is not None:
            self.process.communicate()
            self.process = None

    def close(self) -> None:
        """Stop for good."""
        self.stop()
        self.errors.close()


def culprit(task: Task, before: list[Task], worker: Worker) -> tuple[Task, dict[str, str]] | None:
    """The task that kills a process when it runs alone: the one at which it died, or one before it in its batch.

    Closes the worker that it uses.
    """
    try:
        for suspect in [task, *reversed(before)]:
            worker.stop()
            outcome = worker.run(suspect)
            if outcome["kind"] == "dead":
                return suspect, outcome
    finally:
        worker.close()
    return None


def work() -> None:
    """Do the tasks that come in on stdin."""
    from .designs import DESIGNS
    from .validate import record

    answers = sys.stdout
    sys.stdout = sys.stderr  # what programs print must not mix with the answers
    for line in sys.stdin:
        said = json.loads(line)
        task = Task(**{**said, "verbs": tuple(said["verbs"])})
        design = DESIGNS[task.design]
        source = task.source or design.from_seed(task.seed)
        if task.kind == "record":
            answer = {"kind": "recorded", "detail": json.dumps(record(source, task.seed, task.backend))}
        else:
            outcome = design.check(source, task.seed, task.backend, task.second, task.verbs)
            answer = {"kind": outcome.kind, "detail": outcome.detail}
        print(json.dumps(answer), file=answers, flush=True)
