"""Goes through seeds, in processes that may die, and reports what is wrong with the programs, made smaller."""

# ruff: noqa: T201 - what it finds is printed

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .designs import DESIGNS, one_verb
from .shrink import shrink_by
from .state import KINDS, State
from .validate import CHECKED, PLAIN, bits_agree, differences
from .workers import Task, Worker, culprit

Outcome = dict[str, str]
BAD = ("wrong", "crashed", "dead", "slow")


def signature(outcome: Outcome) -> tuple[str, str]:
    """What must stay while a program is made smaller: the kind of failure, and the verb and fault that come first."""
    lines = outcome["detail"].strip().splitlines() or [""]
    kind = outcome["kind"]
    if kind == "crashed":
        return kind, lines[-1].split(":")[0]
    if kind in ("wrong", "dead"):
        return kind, lines[0].split(":")[0] if kind == "wrong" else lines[0]
    return kind, lines[0]


class Hunt:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Read the state of earlier runs."""
        self.options = options
        modes = [mode for mode in ("second", "checked", "validate", "one") if getattr(options, mode)]
        name = "-".join([options.backend, *modes])
        self.state = State(options.state, name)
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.same_bits = 0
        self.lock = threading.Lock()

    def worker(self, environment: dict[str, str] | None = None) -> Worker:
        """A process of its own for the next batch."""
        checked = CHECKED if self.options.checked else {}
        return Worker(self.options.timeout, {**checked, **(environment or {})}, self.options.batch)

    def tasks(self) -> list[Task]:
        """The programs that are still to be done, the designs in turn."""
        options = self.options
        found = []
        for seed in options.seeds:
            for design in options.designs:
                if (design, seed) not in self.state.done:
                    verbs = one_verb(seed) if options.one else options.verbs
                    found.append(Task(design, seed, options.backend, options.second, verbs))
                else:
                    self.counts[KINDS[self.state.done[design, seed]]] += 1
        return found

    def validated(self, task: Task, workers: list[Worker]) -> Outcome:
        """Compare optimised and plain code."""
        recording = Task(task.design, task.seed, task.backend, source=task.source, kind="record")
        records = []
        for worker in workers:
            outcome = worker.run(recording)
            if outcome["kind"] != "recorded":
                return outcome
            records.append(json.loads(outcome["detail"]))
        with self.lock:
            self.same_bits += bits_agree(*records)
        found = differences(*records)
        return {"kind": "wrong" if found else "ok", "detail": "\n".join(found)}

    def outcome(self, task: Task, workers: list[Worker]) -> tuple[Task, Outcome]:
        """How a program fared, and which one it was that killed the process if one did."""
        if self.options.validate:
            return task, self.validated(task, workers)
        worker = workers[0]
        outcome = worker.run(task)
        if outcome["kind"] == "dead":
            found = culprit(task, worker.done[:-1], self.worker())
            if found is not None:
                return found
            outcome["detail"] += "\nno program of the batch dies alone"
        return task, outcome

    def run(self) -> int:
        """Do all that is left, and return the number of failures."""
        waiting = iter(self.tasks())

        def job(_: int) -> None:
            workers = [self.worker()] + ([self.worker(PLAIN)] if self.options.validate else [])
            while True:
                with self.lock:
                    task = next(waiting, None)
                if task is None:
                    break
                guilty, outcome = self.outcome(task, workers)
                self.report(guilty, outcome)
                if guilty.seed != task.seed or guilty.design != task.design:
                    self.report(*self.outcome(task, workers))
            for worker in workers:
                worker.close()

        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(job, range(self.options.jobs)))
        self.summary()
        return sum(self.counts[kind] for kind in ("wrong", "dead", "slow"))

    def report(self, task: Task, outcome: Outcome) -> None:
        """Count, write down, and show what is wrong."""
        kind, detail = outcome["kind"], outcome["detail"]
        smaller = ""
        if kind in BAD and self.options.shrink_seconds > 0 and kind != "slow":
            smaller = self.shrunk(task, outcome)
        with self.lock:
            self.state.add(task.design, task.seed, outcome, smaller)
            self.counts[KINDS[kind]] += 1
            if kind == "refused":
                self.reasons[detail.splitlines()[0] if detail else ""] += 1
            if kind in BAD or (kind == "refused" and self.options.refused):
                path = self.write(task, outcome, smaller)
                if kind != "refused":
                    text = smaller or DESIGNS[task.design].from_seed(task.seed)
                    print(f"--- {kind}: {path}\n{text}\n{detail[:3000]}\n", flush=True)
            if sum(self.counts.values()) % 20 == 0:
                print(dict(self.counts), file=sys.stderr, flush=True)

    def write(self, task: Task, outcome: Outcome, smaller: str) -> Path:
        """A file that runs: the program, and what was wrong with it."""
        folder = self.options.folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{outcome['kind']}_{task.design}_{task.backend}_{task.seed}.py"
        comment = "".join(f"# {line}\n" for line in outcome["detail"].splitlines()[:60])
        source = DESIGNS[task.design].from_seed(task.seed)
        path.write_text(f"{source}\n{comment}", encoding="utf-8")
        if smaller:
            small = path.with_name(f"{path.stem}_small.py")
            small.write_text(f"{smaller}\n{comment}", encoding="utf-8")
        return path

    def shrunk(self, task: Task, outcome: Outcome) -> str:
        """The program made smaller while it fails in the same way; candidates run in a process of their own."""
        wanted = signature(outcome)
        worker = self.worker()
        plain = self.worker(PLAIN)
        first = wanted[1].split(" ")[0]
        failing = task.design == "failing" and outcome["kind"] == "wrong" and not self.options.validate
        verbs = (first,) if failing else task.verbs

        def fails(source: str) -> bool:
            candidate = Task(task.design, task.seed, task.backend, task.second, verbs, source)
            found = self.validated(candidate, [worker, plain]) if self.options.validate else worker.run(candidate)
            return signature(found) == wanted

        small = shrink_by(DESIGNS[task.design].from_seed(task.seed), fails, seconds=self.options.shrink_seconds)
        worker.close()
        plain.close()
        return small

    def summary(self) -> None:
        """What was refused and why, and the counts."""
        for reason, count in self.reasons.most_common():
            print(f"{count:6} refused: {reason}")
        if self.options.validate:
            print(f"{self.same_bits} programs with the same bits")
        kinds = ("right", "refused", "wrong", "dead", "slow", "discarded")
        total = sum(self.counts.values())
        print(f"{total} programs: " + ", ".join(f"{self.counts[kind]} {kind}" for kind in kinds))
