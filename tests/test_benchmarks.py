"""The rows of the benchmarks: at the quick size all peers compute the same value and gradient. Nothing is timed."""

import io
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import diffjit as dj
from benchmarks import everything, gradbench, measure, processes, rows, session, verbs, worker, written
from benchmarks.gradbench import __main__ as gradbench_runs
from benchmarks.peers import NotExpressible, cast, difference, flat, prepare, recorded

jax = pytest.importorskip("jax")
ROOT = processes.ROOT
QUICK = {name: rows.load(name) for name in rows.NAMES}
LONG = ("lines_300", "lines_1000")  # they take seconds to minutes, and are made as `lines_100` is

every_row = pytest.mark.parametrize(
    "row", [pytest.param(row, id=n, marks=[pytest.mark.slow] if n in LONG else []) for n, row in QUICK.items()]
)


@pytest.fixture(autouse=True)
def _double_precision():
    """The peers set JAX's precision, for the process that is measured."""
    yield
    jax.config.update("jax_enable_x64", True)


def quick_arguments(row):
    return row.arguments(**row.quick)


def by_hand(row):
    """Value and gradient by hand, run as plain Python."""
    _, gradient = row.by_hand(lambda function: function)
    return flat(gradient(*quick_arguments(row)))


@every_row
def test_diffjit_agrees_with_the_adjoint_by_hand(row):
    gradient = dj.value_and_grad(row.program, argnums=row.argnums, backend="python")
    assert difference(flat(gradient(*quick_arguments(row))), by_hand(row)) < row.tolerance


@pytest.mark.parametrize("name", gradbench.NAMES)
def test_gradbench(name):
    """Each problem at a small size, as it is timed, and by JAX where that has it."""
    one = gradbench_runs.problem(name)
    agrees(one, next(iter(one.sizes)))


@pytest.mark.slow
def test_gradbench_hand_without_places():
    agrees(gradbench_runs.problem("ht"), "simple small 1")


def agrees(one, size):
    """A problem of GradBench at one size."""
    arguments = one.given(size)
    assert gradbench_runs.gap(one, size, one.derivative()(*arguments)) < gradbench_runs.NEAR
    if not isinstance(one.in_jax, str):
        assert gradbench_runs.gap(one, size, one.in_jax()(*arguments)) < gradbench_runs.NEAR


@every_row
def test_programs_by_hand_compute_the_same_value(row):
    primal, _ = row.by_hand(lambda function: function)
    arguments = quick_arguments(row)
    value = row.program(*arguments)
    assert difference(flat(primal(*arguments)), flat(value)) < row.tolerance
    assert difference(by_hand(row)[:1], flat(value)) < row.tolerance


SLOW = [("start_150", "jax"), ("lines_100", "jax")]  # XLA compiles 100 lines for seconds
PEERS = [
    pytest.param(
        row, peer, id=f"{name}-{peer}", marks=[pytest.mark.slow] if (name, peer) in SLOW or name in LONG else []
    )
    for name, row in QUICK.items()
    for peer, there in (("jax", row.in_jax), ("autograd", row.in_autograd))
    if not isinstance(there, str)
]


@pytest.mark.parametrize(("row", "peer"), PEERS)
def test_peers_agree(row, peer):
    function, arguments = prepare(row, peer, quick_arguments(row))
    assert difference(flat(function(*arguments)), by_hand(row)) < row.tolerance


@pytest.mark.parametrize("peer", ["jax", "autograd"])
def test_a_peer_that_cannot_says_why(peer):
    for row in QUICK.values():
        there = {"jax": row.in_jax, "autograd": row.in_autograd}[peer]
        if isinstance(there, str):
            with pytest.raises(NotExpressible, match=there):
                prepare(row, peer, quick_arguments(row))


@pytest.mark.slow
@every_row
@pytest.mark.parametrize("peer", ["hand", "diffjit"])
def test_compiled_peers_agree(row, peer):
    function, arguments = prepare(row, peer, quick_arguments(row))
    assert difference(flat(function(*arguments)), by_hand(row)) < row.tolerance


@every_row
def test_arguments_are_the_same_each_time(row):
    assert difference(flat(quick_arguments(row)), flat(quick_arguments(row))) == 0.0


def test_every_file_is_a_row():
    files = {path.stem for path in (ROOT / "benchmarks" / "rows").glob("*.py")} - {"__init__"}
    assert files == set(rows.NAMES)


@pytest.mark.parametrize("lines", [100, 300, 1000])
def test_programs_are_as_long_as_they_say(lines):
    assert written.text(lines).count("\n") == lines
    assert rows.load(f"lines_{lines}").program.__name__ == "program"


def test_workers_run_as_installed_packages_would(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in processes.environment(1, tmp_path)
    for name in ("written_once", "cannot_be_written"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "part.py").write_text("value = 1\n")
    (tmp_path / "cannot_be_written" / "__pycache__").write_text("a file in its place")
    monkeypatch.syspath_prepend(tmp_path)
    assert processes.compile_packages(["written_once", "cannot_be_written", "not_installed"]) == ["cannot_be_written"]
    assert len(list((tmp_path / "written_once" / "__pycache__").glob("*.pyc"))) == 2


def process(tmp_path, text, peer="diffjit", limit=30.0):
    """A worker that runs a text."""
    return processes.Worker(["-c", text], peer, tmp_path, processes.choose_cores(1), limit)


def test_what_a_process_says_last_is_its_record(tmp_path):
    assert process(tmp_path, "print('so far'); print('{\"status\": \"ok\"}')").run() == {"status": "ok"}
    failed = process(tmp_path, "raise SystemExit('no memory')").run()
    assert failed["status"] == "error"
    assert "no memory" in failed["why"]
    late = process(tmp_path, "import time; time.sleep(60)", limit=0.5).run()
    assert late == {"status": "late", "why": "not finished after 0.5 s"}


SECOND = """
import json, os
from pathlib import Path
first = "BENCHMARK_FIRST_CALL" in os.environ
kept = Path(os.environ.get("JAX_COMPILATION_CACHE_DIR") or os.environ["DIFFJIT_CACHE_DIR"])
found = kept.exists()
kept.mkdir(exist_ok=True)
print(json.dumps({"status": "ok", "first_call": found + 2.0 * first}))
"""


@pytest.mark.parametrize("peer", ["diffjit", "jax", "autograd"])
def test_a_second_process_finds_what_the_first_one_left(peer, tmp_path):
    record = process(tmp_path, SECOND, peer).both()
    assert record["first_call"] == 0.0
    assert record.get("first_again") == {"diffjit": 3.0, "jax": 3.0, "autograd": None}[peer]


def test_a_peer_that_is_not_installed_is_named(capfd, monkeypatch):
    monkeypatch.setattr(worker.os, "_exit", lambda _: None)

    def work():
        import a_peer_that_nobody_has  # noqa: F401

    worker.answer(work)
    record = json.loads(capfd.readouterr().out)
    assert record == {"status": "none", "why": "a_peer_that_nobody_has is not installed"}


def test_bytes_recorded_are_foretold():
    row = QUICK["lu"]
    arguments = quick_arguments(row)
    function, _ = prepare(row, "diffjit", arguments)
    assert recorded(row, "diffjit", function, arguments)["recorded"] == dj.memory(function, *arguments).bytes
    assert recorded(row, "jax", *prepare(row, "jax", arguments))["recorded"] >= arguments[0].nbytes
    assert recorded(row, "hand", function, arguments) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_seconds_of_the_processor_include_those_of_processes_that_run_on():
    before = measure.processor_seconds()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            begin = time.monotonic()
            while measure.processor_seconds() - before < 0.2:
                assert time.monotonic() - begin < 60.0
                time.sleep(0.05)
        finally:
            busy.kill()


def test_a_page_of_a_row(tmp_path):
    """The whole way, from processes to the page, of the shortest program; other parts say why they are not there."""
    pytest.importorskip("matplotlib")
    said = []
    wanted = everything.Wanted(
        parts=("rows", "npbench", "threads"), names=["lu"], peers=["hand", "diffjit", "autograd"],
        quick=True, threads=1, limit=600.0, npbench=None, by="minimum", say=said.append,
    )  # fmt: skip
    everything.write(tmp_path, wanted)
    records = json.loads((tmp_path / "report.json").read_text())
    ours = records["rows"]["rows"]["lu"]["peers"]["diffjit"]
    assert ours["status"] == "ok", ours
    assert ours["first_again"] < ours["first_call"]
    assert ours["recorded"] > 0
    assert records["rows"]["without_byte_code"] == []
    html = (tmp_path / "index.html").read_text()
    for shown in (
        ">-</span>",
        "refuses writes",
        "--npbench CHECKOUT was not given",
        "measured on one core",
        "left out",
    ):
        assert shown in html
    for name in ("rows.png", "compiling.png"):
        assert f'src="{name}"' in html
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert said[:1] == ["lu: adjoint by hand, Numba"]


def test_a_page_of_all_parts(tmp_path):
    """Records of each part, as they are measured, come with tables and figures."""
    pytest.importorskip("matplotlib")
    good = {
        "status": "ok", "first_call": 0.5, "first_again": 0.1, "first_processor": 0.4, "first_again_processor": 0.1,
        "median": 2e-3, "minimum": 1e-3, "peak": 1, "call_peak": 3 * 2**20, "recorded": 2048, "start": 1.0,
        "begin": 1.0, "start_again": 0.3, "start_processor": 0.9,
    }  # fmt: skip
    bad = {"status": "error", "why": "ValueError: <nothing> works"}
    heading = session.heading(1, quick=True)

    def part(rows_of_it, **more):
        return {**heading, **more, "rows": rows_of_it}

    hand = {name: value for name, value in good.items() if "again" not in name}
    peers = {
        "hand": hand,
        "primal": hand,
        "diffjit": good | {"median": 3e-3},
        "jit": good,
        "jax": good,
        "autograd": bad,
    }
    runs = {"lu": {"title": "a row", "kind": "run", "size": {}, "peers": peers}}
    starts = {
        f"lines_{n}": {
            "title": "a start",
            "kind": "start",
            "size": {},
            "peers": {"diffjit": good, "jax": good, "hand": bad},
        }
        for n in (100, 300)
    }
    kernel = {"title": "gemm", "peers": {"numpy": good, "diffjit": good, "jax": good}}
    records = {
        "rows": part(runs | starts),
        "threads": part(runs, threads=2),
        "verbs": part({"case": {"title": "a case", "size": {}, "peers": {"jax": good, "diffjit": good, "scipy": bad}}}),
        "gradbench": part({"a b": {
            "title": "t", "problem": "a", "size": "b", "tool": "Enzyme", "published": 3.0,
            "peers": {"primal": good, "diffjit": good, "jax": good},
        }}),
        "npbench": part({"gemm": kernel}, preset="S"),
    }  # fmt: skip
    everything.draw(tmp_path, records)
    html = (tmp_path / "index.html").read_text()
    assert {len(row) for row in ET.fromstring(html).iter("tr")} > {2}  # noqa: S314 - our own; all tags are closed
    names = ("rows", "compiling", "memory", "lengths", "verbs", "gradbench", "npbench")
    assert {file.stem for file in Path(tmp_path).glob("*.png")} == set(names)
    for shown in (
        "&lt;nothing&gt; works",
        "3.00 MiB",
        "2.00 KiB",
        "3.00 ms Enzyme",
        "geometric mean",
        ">case<",
        "1 and on 2",
    ):
        assert shown in html
    assert "What is not here" not in html


def test_a_wrong_gradient_is_not_timed(tmp_path):
    reference = tmp_path / "by_hand.npz"
    right = 1.0, (np.array([1.0, 2.0]),)
    assert not worker.check(right, reference, "hand", 1e-10)
    assert not worker.check(right, reference, "diffjit", 1e-10)
    assert not worker.check(1.0, reference, "jit", 1e-10)
    wrong = 1.0, (np.array([1.0, 2.001]),)
    assert "by hand" in worker.check(wrong, reference, "diffjit", 1e-10)
    nothing = 1.0, (np.array([1.0, np.nan]),)
    assert "by hand" in worker.check(nothing, reference, "diffjit", 1e-10)
    other = 1.0, (np.array([[1.0, 2.0]]),)
    assert "by hand" in worker.check(other, reference, "diffjit", 1e-10)


def test_repeated_calls_are_counted():
    calls = []
    found = measure.repeated(lambda: calls.append(0), (), budget=0.0)
    assert found["samples"] == measure.FEWEST
    assert 0.0 < found["minimum"] <= found["median"]
    assert len(calls) >= found["samples"] * found["calls_per_sample"]


def test_a_record_of_each_kind_is_shown():
    report = pytest.importorskip("benchmarks.report", reason="needs rich", exc_type=ImportError)
    console = pytest.importorskip("rich.console").Console(width=150, file=io.StringIO())
    good = {"status": "ok", "first_call": 0.5, "median": 2e-3, "minimum": 1e-3, "peak": 1, "call_peak": 3 * 2**20}
    hand = {name: value for name, value in good.items() if "again" not in name}
    peers = {
        "hand": hand,
        "primal": hand,
        "diffjit": good | {"median": 3e-3},
        "jit": good,
        "jax": {"status": "wrong", "why": "differs by 1.0e+00"},
        "autograd": {"status": "none", "why": "refuses writes into arrays"},
    }
    row = {"title": "a row", "kind": "run", "size": {}, "peers": peers}
    machine = session.machine()
    results = {"machine": machine, "quick": True, "threads": 1, "cores": [0], "rows": {"some_row": row}}
    for table in report.tables(results, "median"):
        console.print(table)
    text = console.file.getvalue()
    for shown in ("3.00 ms", "1.50", "WRONG", "differs by 1.0e+00", "refuses writes", "3.00 MiB", "500 ms"):
        assert shown in text


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_call_is_what_it_holds_at_most():
    held = measure.call_peak(lambda: np.ones(40_000_000).sum(), ())
    assert 300e6 < held < 600e6


KEPT = """
import diffjit as dj
from benchmarks import rows
from benchmarks.peers import memory_of_a_call, prepare, recorded

row = rows.load("lorenz")
arguments = row.arguments(steps=200_000)
function, _ = prepare(row, "diffjit", arguments)
for _ in range(3):
    function(*arguments)
before = dj.settings.reserve_mb
held = memory_of_a_call("diffjit", function, arguments)
assert dj.settings.reserve_mb == before
print(held, recorded(row, "diffjit", function, arguments)["recorded"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_call_includes_what_diffjit_would_keep_for_the_next():
    """In a process of its own: what other tests have freed would be there for the call."""
    done = subprocess.run([sys.executable, "-c", KEPT], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    held, record = map(int, done.stdout.split())
    # The kernel counts whole pages, and those at both ends of a record may have been touched before the call.
    assert held + 2 * resource.getpagesize() >= record > 2**22


@pytest.mark.parametrize("name", verbs.CASES)
def test_peers_agree_on_verbs(name, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    case = verbs.load(name)
    arguments = case.arguments(**case.quick)

    def found(peer):
        function, given = case.prepare(peer, arguments)
        return flat(function(*given))

    with jax.enable_x64(True):
        wanted = found("jax")
    if case.reference is not None:
        by_jax, wanted = wanted, flat(case.reference(*arguments))
        backwards_is_unstable = name == "vanderpol_gradient"
        assert (difference(by_jax, wanted) < case.tolerance) != backwards_is_unstable
    assert difference(found("diffjit"), wanted) < case.tolerance
    if not isinstance(case.scipy, str):
        assert difference(found("scipy"), wanted) < case.numerical


@pytest.mark.parametrize("name", ["attention", "stencil_slices"])
def test_single_precision(name):
    row = rows.load(name)
    given = cast(quick_arguments(row), "float32")
    assert all(a.dtype == np.float32 for a in given if isinstance(a, np.ndarray) and a.dtype.kind == "f")
    wanted = flat(row.by_hand(lambda f: f)[1](*cast(given, "float64")))
    for peer in ("diffjit", "jax"):
        function, arguments = prepare(row, peer, given, "float32")
        assert difference(flat(function(*arguments)), wanted) < worker.SINGLE
