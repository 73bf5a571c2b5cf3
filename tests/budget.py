"""What each test takes of the processor, in this process and its children, and what keeps the short suite short.

Processor time is counted, since a busy machine makes a test wait and not work. A test that takes more than `LIMIT`
seconds and is not marked `slow` fails. `DIFFJIT_TEST_LIMIT=3` allows three times as much, on a slow processor or in a
mode that makes everything longer; 0 allows any. `--times FILE` writes what each test took.

`slow.txt` names cases that take seconds, where their file has quicker ones. `shares.txt` says of tests with many cases
how many of them the short suite runs, with each backend where they name one; which, their names decide. `python -m
tests.shares TIMES` works both out from a file of times.
"""

import os
import resource
import time
import zlib
from collections import defaultdict
from pathlib import Path

import pytest

LIMIT = 45
SCALE = float(os.environ.get("DIFFJIT_TEST_LIMIT", "1"))
NAME = "processor seconds"
STARTED = pytest.StashKey[tuple[float, float]]()
UNKNOWN = pytest.StashKey[list[str]]()
LISTED = Path(__file__).with_name("slow.txt").read_text().splitlines()
SHARES = {
    name: int(count) for name, count in map(str.split, Path(__file__).with_name("shares.txt").read_text().splitlines())
}
TICKS = os.sysconf("SC_CLK_TCK")


def family(name):
    """The test that a case belongs to, and the backend that it names."""
    test, _, case = name.partition("[")
    return test, next((backend for backend in ("numba", "python") if backend in case), "")


def spared(names):
    """The cases beyond the shares of their tests: their names decide, so that a new one changes little."""
    kinds = defaultdict(list)
    for name in names:
        test, backend = family(name)
        if test in SHARES:
            kinds[test, backend].append(name)
    return {
        name
        for (test, _), cases in kinds.items()
        for name in sorted(cases, key=lambda name: zlib.crc32(name.encode()))[SHARES[test] :]
    }


def children(process):
    """The children of a process that are still there, on Linux; elsewhere none are known."""
    found = [int(child) for task in tasks(process) for child in read(f"/proc/{process}/task/{task}/children").split()]
    return found + [k for child in found for k in children(child)]


def tasks(process):
    """The threads of a process; none once it has ended, or where there is no `/proc`."""
    try:
        return os.listdir(f"/proc/{process}/task")  # noqa: PTH208 - `iterdir` makes a Path of each
    except (FileNotFoundError, ProcessLookupError):
        return []


def read(file):
    """A file of `/proc`, three times for each test: with as few calls of the system as can be; "" once it has gone."""
    try:
        handle = os.open(file, os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError):
        return ""
    try:
        return os.read(handle, 4096).decode()
    except ProcessLookupError:
        return ""
    finally:
        os.close(handle)


def taken_by(process):
    """Seconds that a process and the children it has waited for took."""
    fields = read(f"/proc/{process}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def taken():
    """Seconds that this process, the children it has waited for, and those still there have taken so far."""
    own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own + sum(map(taken_by, children(os.getpid())))


def taken_since(started):
    """Seconds since then; no more than there were: what an earlier test's process took may come to light only now."""
    before, when = started
    return min(taken() - before, (os.cpu_count() or 1) * (time.monotonic() - when))


class Budget:
    """Counts, fails what is too dear, and sums up at the end; the workers of xdist count, their master sums up."""

    def __init__(self, file):
        self.file = file
        self.seconds = defaultdict(float)

    @pytest.hookimpl(tryfirst=True)  # before `-m` chooses
    def pytest_collection_modifyitems(self, config, items):
        found = {item.nodeid for item in items}
        tests = found | {family(name)[0] for name in found}
        files = {item.location[0] for item in items}
        named = [*LISTED, *SHARES]
        config.stash[UNKNOWN] = [name for name in named if name.partition("::")[0] in files and name not in tests]
        left = set(LISTED) | spared(found - set(LISTED))
        for item in items:
            if item.nodeid in left:
                item.add_marker(pytest.mark.slow)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        item.stash[STARTED] = taken(), time.monotonic()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        result = yield
        seconds = taken_since(item.stash[STARTED])
        if SCALE and seconds > LIMIT * SCALE and item.get_closest_marker("slow") is None:
            pytest.fail(
                f"took {seconds:.1f} s of the processor, and a test of the short suite has {LIMIT * SCALE:g}: make it "
                f"smaller, or mark it slow and leave a smaller one here",
                pytrace=False,
            )
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item):
        result = yield
        item.user_properties.append((NAME, taken_since(item.stash[STARTED])))
        return result

    def pytest_runtest_logreport(self, report):
        seconds = dict(report.user_properties).get(NAME)
        if report.when != "teardown" or seconds is None:
            return
        self.seconds[report.nodeid] += seconds
        if self.file:
            with Path(self.file).open("a") as file:
                file.write(f"{seconds:.2f} {report.nodeid}\n")

    def pytest_terminal_summary(self, terminalreporter):
        if not self.seconds:
            return
        total, dearest = sum(self.seconds.values()), sorted(self.seconds, key=self.seconds.get)[:-6:-1]
        terminalreporter.section("processor time")
        terminalreporter.line(f"{total / 60:.1f} minutes in {len(self.seconds)} tests; most of it in")
        for name in dearest:
            terminalreporter.line(f"{self.seconds[name]:6.1f} s  {name}")
