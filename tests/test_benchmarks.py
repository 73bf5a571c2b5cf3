"""The rows of the benchmarks: at the quick size all peers compute the same value and gradient. Nothing is timed."""

import io
import sys

import numpy as np
import pytest

import diffjit as dj
from benchmarks import gradbench, measure, rows, session, verbs, worker
from benchmarks.gradbench import __main__ as gradbench_runs
from benchmarks.peers import NotExpressible, cast, difference, flat, prepare

jax = pytest.importorskip("jax")
ROOT = session.ROOT
QUICK = {name: rows.load(name) for name in rows.NAMES}

every_row = pytest.mark.parametrize("row", QUICK.values(), ids=QUICK)


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


SLOW = [("start_150", "jax")]  # XLA compiles 150 lines for seconds
PEERS = [
    pytest.param(row, peer, id=f"{name}-{peer}", marks=[pytest.mark.slow] if (name, peer) in SLOW else [])
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
    peers = {
        "hand": good,
        "primal": good,
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
