"""One peer on one row, in a process of its own; its last line of output is the record, as JSON.

`python -m benchmarks.worker ROW PEER SIZE FILE DTYPE`: FILE holds the gradient by hand, written by the peer `hand` and
read by the others.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

SINGLE = 1e-3  # largest relative difference between a gradient in single precision and the same in double


def main(work: Callable[[str, str, bool, Path, str], dict[str, Any]]) -> None:
    """Run and report."""
    name, peer, size, reference, dtype = sys.argv[1:]
    answer(lambda: work(name, peer, size == "quick", Path(reference), dtype))


def answer(work: Callable[[], dict[str, Any]]) -> NoReturn:
    """The record of this process as its last line."""
    try:
        record = work()
    except ModuleNotFoundError as error:
        record = {"status": "none", "why": f"{error.name} is not installed"}
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
        traceback.print_exc()
        record = {"status": "error", "why": summary(error)}
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
    from benchmarks.measure import made

    made()
    os._exit(0)  # neither threads nor finalisers of a library delay the next process


def summary(error: Exception) -> str:
    """The first lines of an error."""
    return f"{type(error).__name__}: {error}"[:600]


def work(name: str, peer: str, quick: bool, reference: Path, dtype: str) -> dict[str, Any]:
    """The record of this peer."""
    from benchmarks import rows
    from benchmarks.measure import BUDGET, first_call, process_peak, repeated
    from benchmarks.peers import IN_DOUBLE, NotExpressible, cast, memory_of_a_call, prepare, recorded
    from benchmarks.processes import first_call_only

    row = rows.load(name)
    arguments = row.arguments(**row.size(quick=quick))
    if peer not in IN_DOUBLE:
        arguments = cast(arguments, dtype)
    try:
        function, arguments = prepare(row, peer, arguments, dtype)
    except NotExpressible as reason:
        return {"status": "none", "why": str(reason)}
    result, record = first_call(function, arguments)
    wrong = check(result, reference, peer, row.tolerance if dtype == "float64" else max(row.tolerance, SINGLE))
    if wrong:
        return {"status": "wrong", "why": wrong}
    if row.kind == "run" and not first_call_only():
        record |= repeated(function, arguments, budget=0.1 if quick else BUDGET)
        record |= {"peak": process_peak(), "call_peak": memory_of_a_call(peer, function, arguments)}
        record |= recorded(row, peer, function, arguments)
    return {"status": "ok", **record}


def check(result: Any, reference: Path, peer: str, tolerance: float) -> str:
    """What is wrong with a result, or nothing."""
    import numpy as np

    from benchmarks.peers import WITHOUT_DERIVATIVE, difference, flat

    found = flat(result)
    if peer == "hand":
        np.savez(reference, *found)
        return ""
    with np.load(reference) as file:
        wanted = [file[key] for key in file.files]
    if peer in WITHOUT_DERIVATIVE:
        wanted = wanted[:1]
    gap = difference(found, wanted)
    return f"differs from the derivative by hand by {gap:.1e}, relative" if gap > tolerance else ""


if __name__ == "__main__":
    main(work)
