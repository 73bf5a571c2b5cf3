"""Gradients of NPBench's kernels, unmodified: `python -m benchmarks.npbench CHECKOUT [KERNEL ...]`.

CHECKOUT is a checkout of https://github.com/spcl/npbench. A kernel's result is summed (its returned numbers, and the
arrays that it changes), and the sum is differentiated by all its floating arguments: by diffjit as NPBench's NumPy
version stands there, by JAX as its JAX version does. Each peer runs in a process of its own, pinned to one core; both
gradients are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.measure import BUDGET, first_call, repeated
from benchmarks.processes import Record, Say, Worker, first_call_only
from benchmarks.report import cell, new, notes
from benchmarks.session import heading
from benchmarks.worker import answer

PEERS = {"numpy": "NumPy, the value", "diffjit": "diffjit.grad", "jax": "jax.jit(jax.grad)"}
NOT_DIFFERENTIABLE = ("crc16", "floyd_warshall", "nussinov")  # integers alone
SOMETHING_ELSE = 1e-6  # relative difference between gradients, from which on JAX's version computes something else


class Kernel:
    """One kernel of the checkout with its arguments."""

    def __init__(self, checkout: Path, name: str, preset: str) -> None:
        self.info = json.loads((checkout / "bench_info" / f"{name}.json").read_text())["benchmark"]
        self.package = f"npbench.benchmarks.{self.info['relative_path'].replace('/', '.')}.{self.info['module_name']}"
        self.names: list[str] = self.info["input_args"]
        data = dict(self.info["parameters"][preset])
        if init := self.info.get("init"):
            module = importlib.import_module(self.package)
            made = getattr(module, init["func_name"])(*(data[k] for k in init["input_args"]))
            data |= dict(zip(init["output_args"], made if isinstance(made, tuple) else (made,), strict=False))
        self.arguments = [data[k] for k in self.names]
        self.by = [
            k for k, a in enumerate(self.arguments) if getattr(a, "dtype", None) is not None and a.dtype.kind in "fc"
        ] or [k for k, a in enumerate(self.arguments) if isinstance(a, float)]

    def function(self, kind: str) -> Any:
        """NPBench's version for `numpy` or `jax`."""
        return getattr(importlib.import_module(f"{self.package}_{kind}"), self.info["func_name"])

    def fresh(self) -> list[Any]:
        """The arguments, their arrays copied."""
        return [a.copy() if hasattr(a, "copy") else a for a in self.arguments]

    def outputs(self) -> tuple[list[str], list[str]]:
        """What is summed, as expressions: parts of `out`, the returned value, and names of changed arguments."""
        import numpy as np

        given = self.fresh()
        out = self.function("numpy")(*given)
        parts = out if isinstance(out, tuple) else (out,)
        texts = [f"out[{k}]" if isinstance(out, tuple) else "out" for k in range(len(parts))]
        returned = [t for t, part in zip(texts, parts, strict=True) if part is not None and _kind(np, part) in "fc"]
        if returned:
            return returned, []
        pairs = zip(self.names, self.arguments, given, strict=True)
        return [], [n for n, a, b in pairs if _kind(np, a) in "fc" and not np.array_equal(a, b, equal_nan=True)]

    def loss(self, folder: Path) -> Any:
        """The sum as a function in a file of its own."""
        returned, changed = self.outputs()
        inner = ", ".join(self.names)
        total = " + ".join(f"np.sum(np.real({t}))" for t in (*returned, *changed)) or "0.0"
        text = f"import numpy as np\nfrom {self.package}_numpy import {self.info['func_name']} as kernel\n\n\n"
        text += f"def loss({inner}):\n    out = kernel({inner})\n    return {total}\n"
        (folder / "loss_of_kernel.py").write_text(text)
        sys.path.insert(0, str(folder))
        return importlib.import_module("loss_of_kernel").loss


def _kind(np: Any, value: Any) -> str:
    return np.asarray(value).dtype.kind


def work(checkout: Path, name: str, peer: str, preset: str, folder: Path, budget: float) -> Record:
    """The record of one peer."""
    import numpy as np

    kernel = Kernel(checkout, name, preset)
    start = time.perf_counter()
    if peer != "numpy":
        importlib.import_module(peer)
    imports = time.perf_counter() - start
    if peer == "numpy":
        function = kernel.function("numpy")
        call = lambda: function(*kernel.fresh())  # noqa: E731
    elif peer == "diffjit":
        import diffjit as dj

        gradient = dj.grad(kernel.loss(folder), argnums=tuple(kernel.by))
        call = lambda: gradient(*kernel.arguments)  # noqa: E731
    else:
        call = _by_jax(kernel)
    result, record = first_call(call, ())  # on one core: the compiler's processes included
    record |= {"status": "ok", "begin": record["first_call"] + imports}  # some import compilers when they need them
    if first_call_only():
        return record
    if peer != "numpy":
        found = [np.asarray(g) for g in result]
        reference = folder / "gradient.npz"
        if peer == "diffjit":
            np.savez(reference, *found)
        elif reference.exists():
            with np.load(reference) as file:
                gap = max((_gap(np, file[k], g) for k, g in zip(file.files, found, strict=True)), default=0.0)
            record["gap"] = gap
    return record | repeated(call, (), budget=budget)


def _gap(np: Any, left: Any, right: Any) -> float:
    scale = max(1e-300, float(np.max(np.abs(left), initial=0.0)))
    return float(np.max(np.abs(left - right), initial=0.0)) / scale


def _by_jax(kernel: Kernel) -> Any:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    function = kernel.function("jax")
    _, changed = kernel.outputs()
    at = [kernel.names.index(n) for n in changed]

    def loss(*floats: Any) -> Any:
        arguments = list(kernel.arguments)
        for k, value in zip(kernel.by, floats, strict=True):
            arguments[k] = value
        out = function(*arguments)
        parts = jax.tree_util.tree_leaves(out)
        if at and len(parts) < len(at):
            parts = [arguments[k] for k in at]
        return sum(jnp.sum(jnp.real(p)) for p in parts if jnp.issubdtype(jnp.asarray(p).dtype, jnp.inexact))

    gradient = jax.jit(jax.grad(loss, argnums=tuple(range(len(kernel.by)))))
    placed = [jax.device_put(kernel.arguments[k]) for k in kernel.by]
    return lambda: jax.block_until_ready(gradient(*placed))


def run(
    checkout: Path,
    names: list[str],
    *,
    preset: str,
    threads: int,
    limit: float,
    peers: list[str],
    say: Say,
    again: bool = False,
    budget: float = BUDGET,
) -> Iterator[Record]:
    """The records so far, after each kernel; `again`: of second processes as well."""
    results = heading(threads, quick=budget < BUDGET) | {"preset": preset}
    for name in names:
        records: Record = {}
        results["rows"][name] = {"title": name, "peers": records}
        with tempfile.TemporaryDirectory(prefix="diffjit-npbench-") as folder:
            for peer in peers:
                say(f"{name}: {PEERS[peer]}")
                command = ["-m", "benchmarks.npbench", str(checkout), name, "--peer", peer, "--preset", preset]
                command += ["--folder", folder, "--budget", str(budget)]
                worker = Worker(command, peer, Path(folder), results["cores"], limit, path=(str(checkout),))
                records[peer] = worker.both() if again else worker.run()
        yield results


def kernels(checkout: Path) -> list[str]:
    """All that have a derivative."""
    known = sorted(p.stem for p in (checkout / "bench_info").glob("*.json"))
    return [name for name in known if name not in NOT_DIFFERENTIABLE]


def shown(results: Record) -> Any:
    """The table, and the geometric means below it."""
    table = new(f"NPBench, size {results['preset']}: gradient of the sum of a kernel's result")
    for column in (
        "kernel",
        "NumPy's value",
        "diffjit",
        "JAX",
        "diffjit/JAX",
        "diffjit/NumPy",
        "first, diffjit",
        "JAX",
        "ratio",
        "with imports",
    ):
        table.add_column(column, justify="left" if column == "kernel" else "right", no_wrap=True)
    ratios: dict[str, list[float]] = {"jax": [], "numpy": [], "first": [], "begin": []}
    for name, row in results["rows"].items():
        peers = row["peers"]
        ours, jax, numpy = (peers.get(p, {}) for p in ("diffjit", "jax", "numpy"))
        times = [cell(peers, p, "minimum") for p in PEERS]
        if jax.get("gap", 0.0) > SOMETHING_ELSE:
            times[2].append("*")
        pairs = (
            ("jax", ours, jax, "minimum"),
            ("numpy", ours, numpy, "minimum"),
            ("first", ours, jax, "first_call"),
            ("begin", ours, jax, "begin"),
        )
        parts = []
        for key, one, other, field in pairs:
            if field in one and field in other:
                ratios[key].append(one[field] / other[field])
                parts.append(f"{ratios[key][-1]:.2f}")
            else:
                parts.append("")
        firsts = [cell(peers, p, "first_call") for p in ("diffjit", "jax")]
        table.add_row(name, *times, *parts[:2], *firsts, *parts[2:])
    means = [f"{math.exp(sum(map(math.log, r)) / len(r)):.2f}" if r else "" for r in ratios.values()]
    table.add_row("geometric mean", "", "", "", *means[:2], "", "", *means[2:], style="bold")
    table.caption = "* the JAX version computes something else (its gradient differs)"
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--preset", default="S", help="the size: S, M, L or paper")
    parser.add_argument(
        "--threads", type=int, default=1, help="cores, and threads of every library (default 1); 0: all"
    )
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one peer on one kernel")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=BUDGET, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        name, folder = options.kernels[0], options.folder
        answer(lambda: work(options.checkout, name, options.peer, options.preset, folder, options.budget))
    console = Console(width=140)
    results: Record = {}
    for results in run(
        options.checkout.resolve(),
        options.kernels or kernels(options.checkout),
        preset=options.preset,
        threads=options.threads,
        limit=options.limit,
        peers=options.peers,
        say=lambda text: console.print(text, style="dim"),
    ):
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    console.print(shown(results))
    console.print(notes(results))


if __name__ == "__main__":
    main()
