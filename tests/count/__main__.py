"""Measures what is counted, and writes the record and the page `docs/support.md`.

python -m tests.count                        everything: an hour of one core
python -m tests.count scipy.special math     what begins so; the rest of the record stays
python -m tests.count --again refused        what the record says is refused
python -m tests.count --quick ...            without machine code; --brief: without second order and lanes
python -m tests.count --missing              what the record does not have yet
python -m tests.count --page                 the page alone, from the record
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

from tests.count.measure import measured
from tests.count.names import known
from tests.count.page import write
from tests.count.record import add, installed, read, store, versions
from tests.count.rows import rows


def work(*, compiled: bool, brief: bool) -> None:
    """Measure the callables that stdin names, one a line: a line of the record for each."""
    table = rows()
    for line in sys.stdin:
        name = line.strip()
        started = time.perf_counter()
        found = measured(table[name], compiled=compiled, brief=brief)
        sys.stdout.write("\n@" + json.dumps([name, found, round(time.perf_counter() - started, 1)]) + "\n")
        sys.stdout.flush()


def run(names: list[str], *, compiled: bool, brief: bool) -> None:
    """Measure in a process of its own, and in another one what comes after a callable that ends it."""
    left, record = list(names), read()
    while left:
        command = [
            sys.executable,
            "-m",
            "tests.count",
            "--work",
            *([] if compiled else ["--quick"]),
            *(["--brief"] if brief else []),
        ]
        with subprocess.Popen(  # noqa: S603 - this command again
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n".join(left))
            process.stdin.close()
            for line in process.stdout:
                if not line.startswith("@"):
                    continue
                name, found, seconds = json.loads(line[1:])
                left.remove(name)
                before = record.get(name, {})
                if not compiled and "compiled" in before and found.get("value") == "ok":
                    found["compiled"] = before["compiled"]
                bad = {mode: words for mode, words in found.items() if words.startswith(("raw", "wrong"))}
                print(f"{seconds:5.1f} {name} {bad or ''}", flush=True)  # noqa: T201 - a command
                add(name, found)
        if left:
            print(f"      {left[0]}: the process has ended with {process.returncode}")  # noqa: T201 - a command
            add(left.pop(0), {"result": "numbers", "value": f"raw: the process ended with {process.returncode}"})


def main() -> None:
    """The command."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("names", nargs="*")
    asked.add_argument("--again", default="")
    asked.add_argument("--missing", action="store_true")
    asked.add_argument("--brief", action="store_true")
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--page", action="store_true")
    asked.add_argument("--work", action="store_true")
    options = asked.parse_args()
    if options.work:
        work(compiled=not options.quick, brief=options.brief)
        return
    if not options.page:
        table, record = rows(), read()
        everything = not (options.names or options.again or options.missing)
        kept = {} if everything else record
        new = {n: {"result": "nature" if table[n].reason else "waiting"} for n in known()}
        store({**kept, **new, **{n: record[n] for n in new if n in record}}, installed() if everything else versions())
        chosen = [n for n in known() if not table[n].reason and n.startswith(tuple(options.names) or "")]
        if options.missing:
            chosen = [n for n in chosen if record.get(n, {"result": "waiting"})["result"] == "waiting"]
        if options.again:
            chosen = [n for n in chosen if any(options.again in words for words in record.get(n, {"": "new"}).values())]
        run(chosen, compiled=not options.quick, brief=options.brief)
    write()


if __name__ == "__main__":
    main()
