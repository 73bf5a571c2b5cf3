"""What is measured inside the process of one peer: times of calls, and memory."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import statistics
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.row import Function

SAMPLE = 2e-3  # seconds: a quicker call is repeated within one sample, so that the clock does not count
BUDGET = 1.5  # seconds for the samples of one function
FEWEST, MOST = 5, 200  # samples


@contextmanager
def quiet() -> Any:
    """Without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def made() -> None:
    """Wait until what diffjit makes beside its first calls is there: warm calls run it, and later processes find it."""
    tiers = sys.modules.get("diffjit.lowering.llvm.tiers")
    if tiers is not None:
        tiers.join()


def repeated(function: Function, arguments: tuple[Any, ...], *, budget: float = BUDGET) -> dict[str, Any]:
    """Median, minimum and number of samples of warm calls."""
    made()
    with quiet():
        calls = _calls_per_sample(function, arguments)
        samples: list[float] = []
        begin = time.perf_counter()
        while len(samples) < FEWEST or (len(samples) < MOST and time.perf_counter() - begin < budget):
            start = time.perf_counter()
            for _ in range(calls):
                function(*arguments)
            samples.append((time.perf_counter() - start) / calls)
    return {
        "median": statistics.median(samples),
        "minimum": min(samples),
        "samples": len(samples),
        "calls_per_sample": calls,
    }


def _calls_per_sample(function: Function, arguments: tuple[Any, ...]) -> int:
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        seconds = time.perf_counter() - start
        if seconds >= SAMPLE / 2:
            return max(1, round(calls * SAMPLE / seconds))
        calls *= 4


def processor_seconds() -> float | None:
    """Of this process and of those that it has started and that still run, as compilers' do: Linux."""
    if sys.platform != "linux":
        return None
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = file.read_text().rpartition(")")[2].split()
            pid = int(file.parent.name)
            parents[pid] = int(fields[1])
            seconds[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(seconds.get(pid, 0.0) for pid in family)


def first_call(function: Function, arguments: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
    """A function's first result, and what it took, compiling included: by the clock, and of the processor."""
    before = processor_seconds()
    start = time.perf_counter()
    result = function(*arguments)
    record: dict[str, Any] = {"first_call": time.perf_counter() - start, "ready_at": time.time()}
    after = processor_seconds()
    if before is not None and after is not None:
        record |= {"first_processor": after - before, "start_processor": after}
    return result, record


def process_peak() -> int:
    """Bytes: the most memory that this process has ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def call_peak(function: Function, arguments: tuple[Any, ...]) -> int | None:
    """Bytes: the most that one warm call holds beyond what was held before it, seen on Linux or planned by the peer."""
    if planned := getattr(function, "planned_memory", None):
        return planned(*arguments)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what earlier calls gave back does not hide this one's need
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the mark of the highest use starts again from here
        result = function(*arguments)
        peak = _status("VmHWM") - before
        del result
        return max(peak, 0)
    return None


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(field)
