"""How many cases of a test the short suite runs: `python -m tests.shares TIMES`, of what `pytest --times TIMES` wrote.

A test whose cases take more than `EACH` seconds of the processor together is given so many of them as fit, and more
where each case is another program. Each backend that its cases name has as many. Files in which every case counts are
left alone. Of tests of which no more than their share was run, shares only shrink: where they should grow, ask for all
(`-m "slow or not slow"`).
"""

import sys
from collections import defaultdict
from pathlib import Path

from tests.budget import SHARES, family

EACH = 1.0
MORE = {  # each case is another program
    "tests/scipy/test_rows.py::test_compiled": 15.0,
    "tests/scipy/test_rows.py::test_lanes": 8.0,
    "tests/scipy/test_rows.py::test_values_and_derivatives": 20.0,
    "tests/test_verbs.py::test_as_python": 30.0,
    "tests/test_fuzz.py::test_a_program_that_once_went_wrong": 15.0,
}
ALL = ("test_corpus.py", "test_docs.py", "golden/", "errors/", "ir/")


def shares(lines):
    """The lines of `shares.txt`, from those of a file of times."""
    kinds = defaultdict(list)
    for line in lines:
        seconds, name = line.split(None, 1)
        if "[" in name and not name.startswith(tuple(f"tests/{start}" for start in ALL)):
            kinds[family(name.strip())].append(float(seconds))
    tests = defaultdict(list)
    for (test, _), seconds in kinds.items():
        tests[test].append(seconds)
    found = {}
    for test, parts in tests.items():
        total, most = sum(map(sum, parts)), max(map(len, parts))
        given = MORE.get(test, EACH)
        if total > given and most > 1:
            found[test] = max(1, min(most - 1, int(given / sum(sum(p) / len(p) for p in parts))))
    for name, count in SHARES.items():
        if max(map(len, tests.get(name, [[]]))) <= count:  # its share alone was run, or nothing of it
            found[name] = min(count, found.get(name, count))
    return [f"{name} {count}" for name, count in sorted(found.items())]


if __name__ == "__main__":
    Path(__file__).with_name("shares.txt").write_text(
        "\n".join(shares(Path(sys.argv[1]).read_text().splitlines())) + "\n"
    )
