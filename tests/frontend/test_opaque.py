"""What Python does for a program: logs, clocks, files, warnings, questions about the surroundings, unread results."""

# Programs are as users write them:
# ruff: noqa: DTZ005, G004, NPY002, PTH102, PTH110, PTH123, SIM115, T201, TRY401, UP031

import functools
import json
import logging
import os
import pathlib
import queue
import re
import sys
import time
import warnings
from datetime import datetime

import numpy as np
import pytest
import scipy.linalg

import diffjit as dj

X = np.array([0.7, 1.3, -0.4, 2.1])
LOG = logging.getLogger("tests.opaque")


def logged(x):
    LOG.info("start %s", x.shape)
    total = 0.0
    seen = []
    for i in range(len(x)):
        if x[i] > 0:
            LOG.info("i=%d x=%.2f", i, x[i])
            seen.append(x[i])
        total = total + np.sin(x[i] * total + 1) * x[i]
    LOG.info("seen %s, total %r, %s", seen, total, {"a": x[0], "b": (x[1], None)})
    LOG.info(f"total {total:.3f}")
    return total


def timed(function):
    @functools.wraps(function)
    def inner(*args):
        start = time.perf_counter()
        result = function(*args)
        LOG.debug("%s took %.1f s", function.__name__, time.perf_counter() - start)
        return result

    return inner


@timed
def cubes(x):
    return np.sum(x**3)


def clocked(x):
    start, begun = time.time(), datetime.now()
    total, k = 0.0, 0
    while time.time() - start < 1e4 and k < 5:
        total += np.sum(x**k)
        k += 1
    print("took", (datetime.now() - begun).total_seconds() < 1e4, file=sys.stderr)
    return total + cubes(x)


def warned(x):
    for i in range(4):
        if x[i] < 0:
            warnings.warn(f"x[{i}] = {x[i]:.1f} is negative", RuntimeWarning, stacklevel=2)
    return np.sum(x**2)


def unread(x):
    a = np.outer(x, x) + np.eye(4)
    w, v = np.linalg.eig(a)
    order = np.argsort(w)[::-1]
    w, v = w[order], v[:, order]
    if np.any(w.real > 100.0):
        return 0.0
    noise = np.random.randn(3)
    noise = np.ones(3)
    return np.sum(a**2) + np.sum(noise)


def surrounded(x):
    power = int(os.environ.get("DIFFJIT_TEST_POWER", "2"))
    if "DIFFJIT_TEST_POWER" in os.environ:
        power = int(os.environ["DIFFJIT_TEST_POWER"])
    if LOG.isEnabledFor(logging.CRITICAL + 1) and os.path.exists(os.sep):
        sys.stdout.write("%d\n" % power)
    return np.sum(x**power)


def caught(x):
    try:
        root = np.linalg.cholesky(np.outer(x, x) - 10 * np.eye(4))
    except np.linalg.LinAlgError as error:
        LOG.exception("no root: %s", error)
        return np.sum(x**3)
    finally:
        LOG.info("done at %s", time.time() > 0)
    return np.sum(root)


def queued(x):
    line = queue.Queue()
    line.put(x[0])
    return np.sum(x**2) * line.qsize()


PROGRAMS = [logged, clocked, warned, unread, surrounded, caught, queued]


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*is negative:RuntimeWarning")
def test_values_and_derivatives(program, backend):
    h = 1e-6
    slope = np.array([(program(X + h * e) - program(X - h * e)) / (2 * h) for e in np.eye(4)])
    np.testing.assert_allclose(dj.jit(program, backend=backend)(X), program(X), rtol=1e-12)
    gradient = dj.grad(program, backend=backend)
    np.testing.assert_allclose(gradient(X), slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(dj.jvp(program, (X,), (X,), backend=backend)[1], slope @ X, rtol=1e-6)
    np.testing.assert_allclose(dj.vmap(gradient)(np.stack([X, X]))[1], slope, rtol=1e-6, atol=1e-8)
    if program is not clocked:  # DJ132: each run has another time
        curvature = [(gradient(X + h * e) - gradient(X - h * e)) / (2 * h) for e in np.eye(4)]
        np.testing.assert_allclose(dj.hessian(program, backend=backend)(X), curvature, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(dj.jacrev(gradient)(X), curvature, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("verb", [dj.jit, dj.grad, dj.hessian])
def test_each_message_is_logged_once_and_in_order(verb, backend, caplog):
    with caplog.at_level(logging.INFO, "tests.opaque"):
        logged(X)
        wanted = [r.getMessage() for r in caplog.records]
        caplog.clear()
        verb(logged, backend=backend)(X)
    assert [r.getMessage() for r in caplog.records] == wanted


def test_warnings_come_each_time():
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=r"x\[2\] = -0.4 is negative"):
            dj.grad(warned)(X)


def test_a_warning_that_is_an_error_leaves_the_program():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            dj.grad(warned)(X)


def test_the_surroundings_are_asked_at_each_call(monkeypatch):
    gradient = dj.grad(surrounded)
    np.testing.assert_allclose(gradient(X), 2 * X)
    monkeypatch.setenv("DIFFJIT_TEST_POWER", "3")
    np.testing.assert_allclose(gradient(X), 3 * X**2)
    monkeypatch.delenv("DIFFJIT_TEST_POWER")
    np.testing.assert_allclose(gradient(X), 2 * X)


def test_streams_are_those_of_the_call(capsys):
    def told(x):
        sys.stdout.write("x is %.1f\n" % x)
        print("x too", file=sys.stderr)
        return x * x

    gradient = dj.grad(told)
    for _ in range(2):
        gradient(1.5)
        assert capsys.readouterr() == ("x is 1.5\n", "x too\n")


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_files(tmp_path, backend):
    path = tmp_path / "rates.txt"
    path.write_text("2.0\n0.5 # half\n\n1.5\n")

    def read(name):
        found = []
        with open(name) as file:
            for line in file:
                words = line.split("#")[0].strip()
                if words:
                    found.append(float(words))
        return np.array(found)

    def model(x):
        rates = read(str(path))
        with open(str(path) + ".json", "w") as file:
            json.dump({"first": x[0], "rest": [x[1], x[2]]}, file)
        return np.sum(rates * x**2)

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(dj.grad(model, backend=backend)(x), 2 * x * [2.0, 0.5, 1.5])
    assert json.loads((tmp_path / "rates.txt.json").read_text()) == {"first": 1.0, "rest": [2.0, 3.0]}
    path.write_text("1.0\n1.0\n1.0\n")
    np.testing.assert_allclose(dj.grad(model, backend=backend)(x), 2 * x)


def through_a_file(x, path):
    with open(path, "w") as file:
        file.write(str(x[0]))
    with open(path) as file:
        return float(file.read()) ** 2


def read_and_written(x, path):
    total = 0.0
    file = open(path, "w+")
    for _ in range(2):
        total += float(file.readline() or "1.0")
        file.write(f"{x[0]}\n")
    file.close()
    return total


@pytest.mark.parametrize("program", [through_a_file, read_and_written], ids=lambda f: f.__name__)
def test_what_a_program_writes_does_not_come_back_as_a_number(program, tmp_path):
    with pytest.raises(dj.UnsupportedSyntax, match="DJ131"):
        dj.grad(program)(X, str(tmp_path / "x.txt"))


def test_a_result_that_is_needed_is_refused_where_it_was_made():
    def model(x):
        t, _ = scipy.linalg.hessenberg(np.outer(x, x), calc_q=True)
        return np.sum(t.real)

    with pytest.raises(dj.NoRule, match=r"DJ201.*scipy\.linalg\.hessenberg") as caught:
        dj.grad(model)(X)
    assert "t, _ = scipy.linalg.hessenberg" in str(caught.value)


def test_a_list_that_python_would_change_is_refused():
    class Greedy(logging.Handler):
        def emit(self, record):
            record.args[0].clear()

    log = logging.getLogger("diffjit.tests.greedy")
    log.addHandler(Greedy())
    log.propagate = False

    def model(x):
        kept = [x[0], x[1]]
        log.warning("these: %s", kept)
        return kept[0]

    with pytest.raises(dj.UsageError, match="DJ552"):
        dj.jit(model)(X)


def test_a_program_that_python_runs_meanwhile_keeps_objects_of_its_own(tmp_path):
    path = str(tmp_path / "lines.txt")
    with open(path, "w") as file:
        file.write("one\ntwo\n")

    def inner(y):
        file = open(path)
        count = len(file.readlines())
        file.close()
        return np.sum(y**2) * count

    called = dj.foreign(dj.grad(inner), result=lambda x: x)

    def outer(x):
        first, second = open(path), open(path)
        z = dj.stop_gradient(called(x))
        counts = len(first.readline()), len(second.readlines())
        first.close()
        second.close()
        return np.sum(x * z) * counts[0] * counts[1]

    np.testing.assert_allclose(dj.grad(outer)(X), 4 * X * 4 * 2)


def test_arrays_of_none():
    class Filter:
        def __init__(self, size):
            self.z = np.array([[None] * size]).T
            self.names = np.array(["a", "b"])
            self.x = None

        def update(self, z):
            assert self.z.shape == (2, 1)
            self.z = z
            self.x = self.z * 2 if self.names[0] == "a" else None
            return self.x

    def model(x):
        return np.sum(Filter(2).update(x) ** 2)

    np.testing.assert_allclose(dj.grad(model)(X), 8 * X)


def contracted(a):
    path, report = np.einsum_path("ij,jk,kl->il", a, a.T, a, optimize="optimal")
    other = np.einsum_path("ij,jk->ik", a, a.T)[0]
    total = np.sum(np.einsum("ij,jk,kl->il", a, a.T, a, optimize=path) ** 2)
    for k in range(3):
        total += np.sum(np.einsum("ij,jk->ik", a * k, a.T, optimize=other)) * len(report)
    return total


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_path_of_a_contraction(backend):
    """What says how a product is to be computed may be something that only Python knows."""
    a = np.arange(6.0).reshape(2, 3) / 5
    direction = np.cos(a)
    wanted = (contracted(a + 1e-5 * direction) - contracted(a - 1e-5 * direction)) / 2e-5
    gradient = dj.grad(contracted, backend=backend)(a)
    np.testing.assert_allclose(np.sum(gradient * direction), wanted, rtol=1e-7)
    value, dot = dj.jvp(contracted, (a,), (direction,), backend=backend)
    np.testing.assert_allclose([value, dot], [contracted(a), wanted], rtol=1e-7)
    second = dj.hvp(contracted, (a,), (direction,), backend=backend)
    ends = [dj.grad(contracted, backend=backend)(a + s * 1e-5 * direction) for s in (1, -1)]
    np.testing.assert_allclose(second, (ends[0] - ends[1]) / 2e-5, rtol=1e-6)


def shown_and_set(a):
    np.from_dlpack(a)[0] = 7.0


def shown_and_sorted(a):
    shown = np.from_dlpack(a)
    shown.sort()


def shown_and_doubled(a):
    shown = np.frombuffer(a)
    shown *= 2.0


@pytest.mark.parametrize("change", [shown_and_set, shown_and_sorted, shown_and_doubled])
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_shows_an_array_of_the_program_is_not_written_to(change, backend):
    """Python gets a copy of the array: what is written there would be lost."""

    def model(x):
        a = x * 1.0
        change(a)
        return np.sum(a * a)

    for verb in (dj.jit, dj.grad):
        with pytest.raises(dj.UsageError, match=r"DJ552.*may be an array of the program"):
            verb(model, backend=backend)(np.array([3.0, 1.0, 2.0]))


def kind_of(x):
    return scipy.linalg.blas.find_best_blas_type((x,))[0]


WEIGHTS = {"s": 3.0, "d": 2.0}
CHOICES = {
    "key": lambda x: WEIGHTS[kind_of(x)],
    "get": lambda x: WEIGHTS.get(kind_of(x), 5.0),
    "in dict": lambda x: 2.0 if kind_of(x) in WEIGHTS else 3.0,
    "in list": lambda x: 2.0 if kind_of(x) in ["s", "d"] else 3.0,
    "in set": lambda x: 2.0 if kind_of(x) in {"s", "c"} else 3.0,
    "in text": lambda x: 2.0 if kind_of(x) in "abcd" else 3.0,
    "holds": lambda x: 2.0 if "d" in ("s", kind_of(x)) else 3.0,
}


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_text_that_only_python_knows_is_looked_for(choice, backend):
    """It is a key of a dict, or among texts, where Python says so."""

    def model(x):
        return np.sum(x**2) * choice(x)

    assert dj.jit(model, backend=backend)(X) == model(X)
    np.testing.assert_array_equal(dj.grad(model, backend=backend)(X), 2 * X * choice(X))


class Numbered:
    count = 0

    def __init__(self, name=None):
        if name is None:
            name = f"system[{Numbered.count}]"
            Numbered.count += 1
        elif re.match(r".*\..*", name):
            raise ValueError(name)
        self.name = name

    def is_generic(self):
        return re.match(r"^system\[\d*\]$", self.name) is not None


def test_patterns_meet_texts_of_the_run_in_matrices_of_derivatives():
    """Whether a pattern fits a text hangs on these alone: parts of the program may ask again."""

    def model(x):
        first = Numbered()
        again, other = Numbered(first.name), Numbered("plain")
        return x**2 * (2.0 if again.is_generic() else 1.0) * (3.0 if other.is_generic() else 1.0)

    x = np.array([1.0, 2.0, 3.0])
    for matrix in (dj.jacfwd, dj.jacrev):
        np.testing.assert_array_equal(matrix(model, backend="python")(x), np.diag(4.0 * x))
    np.testing.assert_array_equal(dj.jit(model, backend="python")(x), 2.0 * x**2)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_files_are_read_for_each_run(backend, tmp_path):
    text, binary, raw = tmp_path / "a.txt", tmp_path / "a.npy", tmp_path / "a.bin"

    def write(values):
        np.savetxt(text, values)
        np.save(binary, values)
        values.tofile(raw)

    def model(x):
        data = np.loadtxt(text)
        data[0] += 1.0
        return np.sum(np.load(str(binary)) * x) * data[0] + np.sum(np.genfromtxt(text) * np.fromfile(raw) * x**2)

    gradient = dj.grad(model, backend=backend)
    for values in (np.array([1.0, 2.0]), np.array([5.0, 2.0]), np.array([3.0, -1.0])):
        write(values)
        x = np.array([0.5, 2.0])
        assert dj.jit(model, backend=backend)(x) == pytest.approx(model(x))
        np.testing.assert_allclose(gradient(x), values * (values[0] + 1.0) + 2.0 * values**2 * x)
    write(np.array([4.0, 3.0, 2.0]))
    np.testing.assert_allclose(gradient(np.ones(3)), [4 * 5 + 32, 3 * 5 + 18, 2 * 5 + 8])


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_files_named_by_paths_that_the_program_makes(backend, tmp_path, monkeypatch):
    """A path is known where the texts that it is made of are; what asks the disk is asked when the program runs."""
    (tmp_path / "data").mkdir()
    np.savetxt(tmp_path / "data" / "table.txt", [3.0, 4.0])
    monkeypatch.chdir(tmp_path)
    base = str(tmp_path)

    class Table:
        def __init__(self, name):
            here = pathlib.Path(base)
            self.values = np.loadtxt(here / "data" / f"{name}.txt")
            self.other = np.loadtxt(here.joinpath("data", "other").with_suffix(".npy").with_name("table.txt"))
            self.both = np.array([self.values, self.other])

    def model(x, name):
        resolved = pathlib.Path("data", name + ".txt").resolve()
        again = np.loadtxt(f"{resolved}")[1] if resolved.stem == "table" else 0.0
        found = pathlib.PurePath(base, "data") / "late.txt"
        extra = np.loadtxt(found)[0] if pathlib.Path(found).exists() else 7.0
        return np.sum(Table(name).both * x) * again + extra * x

    slope, value = dj.grad(model, backend=backend), dj.jit(model, backend=backend)
    assert value(2.0, "table") == model(2.0, "table")
    assert slope(2.0, "table") == 14.0 * 4.0 + 7.0
    np.savetxt(tmp_path / "data" / "late.txt", [5.0, 4.0])
    np.savetxt(tmp_path / "data" / "table.txt", [1.0, 2.0])
    assert value(2.0, "table") == model(2.0, "table")
    assert slope(2.0, "table") == 6.0 * 2.0 + 5.0


def test_files_of_several_arrays_and_of_records(tmp_path):
    archive, table = tmp_path / "a.npz", tmp_path / "a.csv"

    def write(first, second):
        np.savez(archive, a=np.array([first, 2.0]), b=second)
        table.write_text(f"x,y\n{first},{second}\n3.0,4.0\n")

    def model(x):
        held = np.load(archive)
        records = np.genfromtxt(table, delimiter=",", names=True)
        column = np.loadtxt(table, delimiter=",", skiprows=1, usecols=(1,))
        return np.sum(held["a"] * x) * held["b"] + np.sum(records["y"] * x**2) + column[0] * x[1]

    x, slope = np.array([0.5, 2.0]), dj.grad(model)
    for first, second in ((1.0, 3.0), (5.0, 3.0), (5.0, 7.0)):
        write(first, second)
        wanted = np.array([first, 2.0]) * second + 2.0 * np.array([second, 4.0]) * x + np.array([0.0, second])
        assert dj.jit(model)(x) == pytest.approx(model(x))
        np.testing.assert_allclose(slope(x), wanted)


def test_a_file_that_may_be_missing(tmp_path):
    name = tmp_path / "later.txt"

    def model(x):
        try:
            scale = np.loadtxt(name)[0]
        except OSError:
            scale = 7.0
        return scale * x

    slope = dj.grad(model)
    assert slope(2.0) == 7.0
    np.savetxt(name, [3.0, 1.0])
    assert slope(2.0) == 3.0
    name.unlink()
    assert slope(2.0) == 7.0
    with pytest.raises(FileNotFoundError):
        dj.grad(lambda x: x * np.loadtxt(name)[0])(2.0)


def test_files_are_written_in_each_run(tmp_path):
    name = tmp_path / "out.npy"

    def model(x):
        np.save(name, np.arange(3))
        return x * x

    slope = dj.grad(model)
    for _ in range(2):
        assert slope(2.0) == 4.0
        np.testing.assert_array_equal(np.load(name), np.arange(3))
        name.unlink()

    def both(x):
        np.save(name, np.arange(3.0))
        return x * np.load(name)[1]

    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ131.*may have changed it"):
        dj.grad(both)(2.0)


def test_a_try_around_what_python_does(tmp_path):
    def settings(x):
        try:
            with open(tmp_path / "none.json") as file:
                factor = float(json.load(file)["factor"])
        except (FileNotFoundError, KeyError):
            factor = 3.0
        return factor * x

    def made(x):
        try:
            os.mkdir(tmp_path / "made")
        except FileExistsError:
            x = 2.0 * x
        return x * x

    assert dj.grad(settings)(2.0) == 3.0
    (tmp_path / "none.json").write_text('{"factor": 5.0}')
    assert dj.grad(settings)(2.0) == 5.0
    slope = dj.grad(made)
    assert slope(2.0) == 4.0
    assert slope(2.0) == 16.0
