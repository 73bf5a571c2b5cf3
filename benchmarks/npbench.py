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
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.report import new
from benchmarks.session import choose_cores, pin

PEERS = ("numpy", "diffjit", "jax")
NOT_DIFFERENTIABLE = ("crc16", "floyd_warshall", "nussinov")  # integers alone
ROOT = Path(__file__).parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


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


def work(checkout: Path, name: str, peer: str, preset: str, folder: Path) -> dict[str, Any]:
    """The record of one peer."""
    import numpy as np

    from benchmarks.measure import BUDGET, repeated

    kernel = Kernel(checkout, name, preset)
    start = time.perf_counter()
    if peer != "numpy":
        importlib.import_module(peer)
    imports = time.perf_counter() - start
    if peer == "numpy":
        function, arguments = kernel.function("numpy"), ()
        call = lambda: function(*kernel.fresh())  # noqa: E731
    elif peer == "diffjit":
        import diffjit as dj

        gradient = dj.grad(kernel.loss(folder), argnums=tuple(kernel.by))
        call = lambda: gradient(*kernel.arguments)  # noqa: E731
    else:
        call = _by_jax(kernel)
    start = time.perf_counter()
    result = call()
    record: dict[str, Any] = {"first": time.perf_counter() - start}  # on one core: the compiler's processes included
    record["begin"] = record["first"] + imports  # some libraries import their compilers when they need them
    if peer != "numpy":
        found = [np.asarray(g) for g in result]
        reference = folder / "gradient.npz"
        if peer == "diffjit":
            np.savez(reference, *found)
        elif reference.exists():
            with np.load(reference) as file:
                gap = max((_gap(np, file[k], g) for k, g in zip(file.files, found, strict=True)), default=0.0)
            record["gap"] = gap
    arguments = ()
    return record | repeated(lambda: call(), arguments, budget=BUDGET)  # noqa: PLW0108


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


def measure(checkout: Path, name: str, preset: str, limit: float, peers: list[str]) -> dict[str, Any]:
    """All peers on one kernel, one after another."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="diffjit-npbench-") as folder:
        environment = os.environ | {"XDG_CACHE_HOME": folder, "PYTHONPATH": f"{ROOT}:{checkout}"}
        environment |= dict.fromkeys(THREADS, "1")
        environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        for peer in peers:
            command = [sys.executable, "-m", "benchmarks.npbench", str(checkout), name, "--peer", peer]
            command += ["--preset", preset, "--folder", folder]
            try:
                done = subprocess.run(  # noqa: S603 - our own module
                    command,
                    env=environment,
                    preexec_fn=lambda: pin(choose_cores(1)),
                    capture_output=True,
                    text=True,
                    timeout=limit,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                found[peer] = {"status": "late"}
                continue
            lines = done.stdout.strip().splitlines()
            found[peer] = json.loads(lines[-1]) if lines else {"status": "error", "why": done.stderr[-400:]}
    return found


def shown(results: dict[str, Any]) -> Any:
    """The table, and the geometric means below it."""
    table = new("NPBench: gradient of the sum of a kernel's result, one core")
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
    for name, peers in results.items():
        ours, jax, numpy = (peers.get(p, {}) for p in ("diffjit", "jax", "numpy"))
        cells = [name, _ms(numpy), _ms(ours), _ms(jax)]
        if jax.get("gap", 0.0) > 1e-6:
            cells[3] += "*"
        pairs = (
            ("jax", ours, jax, "minimum"),
            ("numpy", ours, numpy, "minimum"),
            ("first", ours, jax, "first"),
            ("begin", ours, jax, "begin"),
        )
        parts = []
        for key, one, other, field in pairs:
            if field in one and field in other:
                ratios[key].append(one[field] / other[field])
                parts.append(f"{ratios[key][-1]:.2f}")
            else:
                parts.append("")
        firsts = [f"{p['first']:.2f} s" if "first" in p else "" for p in (ours, jax)]
        table.add_row(*cells, *parts[:2], *firsts, *parts[2:])
    means = [f"{math.exp(sum(map(math.log, r)) / len(r)):.2f}" if r else "" for r in ratios.values()]
    table.add_row("geometric mean", "", "", "", *means[:2], "", "", *means[2:], style="bold")
    table.caption = "* the JAX version computes something else (its gradient differs)"
    return table


def _ms(record: dict[str, Any]) -> str:
    return f"{1e3 * record['minimum']:.3g} ms" if "minimum" in record else record.get("status", "")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--preset", default="S", help="the size: S, M, L or paper")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one peer on one kernel")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        try:
            record = {
                "status": "ok",
                **work(options.checkout, options.kernels[0], options.peer, options.preset, options.folder),
            }
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
            traceback.print_exc()
            record = {"status": "error", "why": f"{type(error).__name__}: {error}"[:600]}
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()
        os._exit(0)
    known = sorted(p.stem for p in (options.checkout / "bench_info").glob("*.json"))
    results: dict[str, Any] = {}
    console = Console(width=140)
    for name in options.kernels or [k for k in known if k not in NOT_DIFFERENTIABLE]:
        results[name] = measure(options.checkout.resolve(), name, options.preset, options.limit, options.peers)
        console.print(name, {p: _ms(r) or r for p, r in results[name].items()}, highlight=False)
        for peer, record in results[name].items():
            if record.get("status") == "error":
                console.print(f"  {peer}: {record['why'][:300]}", style="red", markup=False)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
    console.print(shown(results))


if __name__ == "__main__":
    main()
