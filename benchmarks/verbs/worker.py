"""One peer on one case, in a process of its own; its last line of output is the record, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.processes import first_call_only
from benchmarks.verbs import load
from benchmarks.worker import main


def work(name: str, peer: str, quick: bool, reference: Path, dtype: str) -> dict[str, Any]:
    """The record of this peer."""
    assert dtype == "float64"
    import numpy as np

    from benchmarks.measure import BUDGET, first_call, repeated
    from benchmarks.peers import difference, flat

    case = load(name)
    if peer == "scipy" and isinstance(case.scipy, str):
        return {"status": "none", "why": case.scipy}
    function, arguments = case.prepare(peer, case.arguments(**case.size(quick=quick)))
    result, record = first_call(function, arguments)
    found = flat(result)
    if first_call_only():
        return {"status": "ok", **record}
    if case.reference is not None:
        wanted = flat(case.reference(*case.arguments(**case.size(quick=quick))))
    elif peer == "jax":
        np.savez(reference, *found)
        wanted = found
    else:
        with np.load(reference) as file:
            wanted = [file[key] for key in file.files]
    gap = record["difference"] = difference(found, wanted)
    if not gap <= (case.numerical if peer == "scipy" else case.tolerance):
        return {"status": "wrong", "why": f"differs by {gap:.1e}, relative"}
    return {"status": "ok", **record, **repeated(function, arguments, budget=0.1 if quick else BUDGET)}


if __name__ == "__main__":
    main(work)
