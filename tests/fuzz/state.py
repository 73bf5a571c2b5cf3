"""What a hunt has done, as a file of lines that it goes on from: one line of JSON for each program."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

KINDS = {"ok": "right", "discarded": "discarded", "refused": "refused", "wrong": "wrong", "crashed": "wrong",
         "dead": "dead", "slow": "slow"}  # fmt: skip


def default_folder() -> Path:
    """Where states are kept unless said otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "diffjit-fuzz"


class State:
    """The programs of one hunt: (design, backend, mode) and a seed each."""

    def __init__(self, folder: Path, name: str) -> None:
        """Read what is there."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.path = folder / f"{name}.jsonl"
        self.done: dict[tuple[str, int], str] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):  # the last line may be cut short
                    entry = json.loads(line)
                    self.done[entry["design"], entry["seed"]] = entry["kind"]

    def add(self, design: str, seed: int, outcome: dict[str, str], smaller: str = "") -> None:
        """Write one line."""
        self.done[design, seed] = outcome["kind"]
        entry = {"design": design, "seed": seed, "kind": outcome["kind"]}
        if outcome["kind"] != "ok":
            entry["detail"] = outcome["detail"][:4000]
        if smaller:
            entry["smaller"] = smaller
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def counts(self, design: str, seeds: range) -> Counter[str]:
        """How many of these programs were right, refused, wrong, dead or slow."""
        return Counter(KINDS[self.done[design, seed]] for seed in seeds if (design, seed) in self.done)
