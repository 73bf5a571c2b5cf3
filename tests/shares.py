"""What the short suite runs of each file: `python -m tests.shares TIMES`, of what `pytest --times TIMES` wrote.

A case that takes more than `CASE` seconds of the processor is added to `slow.txt`, unless its file has no other. A file
whose tests then take more than `FILE` seconds has them cut: each keeps a case of each backend that its cases name, the
dearest tests going to `slow.txt` where even that is too much, and the seconds that are left are dealt out evenly. How
many cases each test keeps stands in `shares.txt`. Files in which every case counts are left alone.

Of tests of which no more than their share was run, shares only shrink, and no line of `slow.txt` goes: where the short
suite should grow, take the lines out, and ask for all (`-m "slow or not slow"`).
"""

import sys
from collections import defaultdict
from pathlib import Path

from tests.budget import LISTED, SHARES, family

CASE = 1.0
FILE = 1.5
MORE = {  # each case is another program
    "tests/scipy/test_rows.py": 15.0,
    "tests/test_verbs.py": 10.0,
    "tests/test_fuzz.py": 5.0,
    "tests/primitives/test_library.py": 15.0,
    "tests/api/test_foreign.py": 5.0,
    "tests/cuda/test_kernels.py": 5.0,
}
ALL = ("test_corpus.py", "test_docs.py", "golden/", "errors/", "ir/", "batches/")


def dealt(tests, seconds):
    """How many cases each test keeps, and which tests keep none: from the mean seconds and the numbers of cases."""
    order = sorted(tests, key=lambda test: tests[test][0])
    kept, spent = {}, 0.0
    for test in order:
        if kept and spent + tests[test][0] > seconds:
            break
        kept[test] = 1
        spent += tests[test][0]
    # Each in turn is offered its part of what is left; the cheapest first, who may need less.
    left = max(0.0, seconds - spent)
    for place, test in enumerate(kept):
        mean, count = tests[test]
        more = count - 1 if mean == 0 else min(count - 1, int(left / (len(kept) - place) / mean))
        kept[test] += more
        left -= more * mean
    return kept, order[len(kept) :]


def shares(lines):
    """The lines of `slow.txt` and of `shares.txt`, from those of a file of times."""
    files = defaultdict(dict)
    for line in lines:
        seconds, name = line.strip().split(None, 1)
        if not name.startswith(tuple(f"tests/{start}" for start in ALL)):
            files[name.partition("::")[0]][name] = float(seconds)
    slow, found = set(LISTED), dict(SHARES)
    for file, taken in files.items():
        quick = {name for name, seconds in taken.items() if seconds <= CASE} or {min(taken, key=taken.get)}
        slow |= taken.keys() - quick
        kinds = defaultdict(list)
        for name in quick:
            kinds[family(name)].append(taken[name])
        tests = defaultdict(lambda: (0.0, 0))
        for (test, _), cases in kinds.items():  # a case of each backend
            mean, count = tests[test]
            tests[test] = mean + sum(cases) / len(cases), max(count, len(cases))
        kept, dropped = dealt(tests, MORE.get(file, FILE))
        slow |= {name for name in quick if family(name)[0] in dropped}
        for test, count in kept.items():
            if count < tests[test][1]:
                found[test] = min(count, found.get(test, count))
    return sorted(slow), [f"{name} {count}" for name, count in sorted(found.items())]


if __name__ == "__main__":
    for place, lines in zip(("slow", "shares"), shares(Path(sys.argv[1]).read_text().splitlines()), strict=True):
        Path(__file__).with_name(f"{place}.txt").write_text("\n".join(lines) + "\n")
