"""Streams in programs: of modules, objects and closures, made inside, chosen at run time, and by other processes."""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import diffjit as dj
from tests.streams.draws import MAKERS, state_of

module_stream = np.random.default_rng(4)


@pytest.fixture(params=["numba", "python"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", request.param)
    return request.param


@pytest.fixture(autouse=True)
def _as_before():
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002 - what is tested
    yield
    np.random.set_state(numpys)  # noqa: NPY002
    random.setstate(pythons)


def new(seed=1):
    return np.random.default_rng(seed)


def same(a, b):
    assert np.array_equal(a, b)


def agree(program, *args, verbs=(dj.jit,)):
    """Values and states are those of plain Python, when called twice."""
    ours = [dj.jit, *verbs]
    streams = [k for k, a in enumerate(args) if type(a) in (np.random.Generator, np.random.RandomState, random.Random)]

    def copies():
        made = list(args)
        for k in streams:
            made[k] = MAKERS["Generator"](0) if type(args[k]) is np.random.Generator else type(args[k])()
            if type(args[k]) is np.random.Generator:
                made[k].bit_generator.state = args[k].bit_generator.state
            elif type(args[k]) is random.Random:
                made[k].setstate(args[k].getstate())
            else:
                made[k].set_state(args[k].get_state())
        return made

    for verb in ours:
        mine, plain = copies(), copies()
        for _ in range(2):
            found, wanted = verb(program)(*mine), program(*plain)
            if verb is dj.jit:
                same(found, wanted)
            assert [state_of(mine[k]) for k in streams] == [state_of(plain[k]) for k in streams]


def of_numpy(x):
    return x * np.random.normal() + np.random.rand() + np.sum(np.random.randn(3)) * x  # noqa: NPY002


def of_python(x):
    return random.gauss(x, 1.0) + random.random() * x + random.choice([x, 2 * x, 3.0])


def test_the_streams_of_modules():
    for program, stream in ((of_numpy, np.random.mtrand._rand), (of_python, random.random.__self__)):
        for verb in (dj.jit, dj.grad, dj.hessian):
            np.random.seed(3)  # noqa: NPY002
            random.seed(3)
            np.random.normal()  # noqa: NPY002 - the second of a pair is kept
            start = stream.getstate() if program is of_python else stream.get_state()
            wanted = program(2.0)
            left = state_of(stream)
            (stream.setstate if program is of_python else stream.set_state)(start)
            found = verb(program)(2.0)
            assert state_of(stream) == left
            if verb is dj.jit:
                assert found == wanted


def test_seeds():
    def seeds(x, n):
        np.random.seed(n)  # noqa: NPY002
        random.seed(n)
        return x * np.random.normal() + random.random()  # noqa: NPY002

    for n in (5, 6):
        same(dj.jit(seeds)(2.0, n), seeds(2.0, n))
        after = np.random.rand(), random.random()  # noqa: NPY002
        seeds(2.0, n)
        assert after == (np.random.rand(), random.random())  # noqa: NPY002


def test_streams_that_the_program_makes():
    def program(x, n):
        a, b = np.random.default_rng(n), np.random.default_rng(n)
        c = np.random.RandomState(n)
        d = random.Random(n)
        e = np.random.Generator(np.random.MT19937(n))
        f = np.random.Generator(np.random.Philox(n))
        g = np.random.default_rng([n, 2, 3])
        total = x * a.normal() + np.sum(b.normal(size=3)) + b.normal() * a.normal() + c.rand() + d.gauss(x, 1.0)
        return total + e.random() + np.sum(f.random(4)) + g.integers(10)

    for n in (5, 6):
        same(dj.jit(program)(2.0, n), program(2.0, n))
        same(dj.grad(program)(2.0, n), new(n).normal() + 1.0)


def test_streams_without_a_seed_differ():
    def program(x):
        return x + np.random.default_rng().random() - np.random.default_rng().random()

    run = dj.jit(program)
    found = {run(1.0) for _ in range(5)}
    assert len(found) == 5
    assert 1.0 not in found


class Model:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.scale = 2.0

    def sample(self, x):
        self.scale = self.scale + 1.0
        return x * self.rng.normal() * self.scale


def test_streams_in_objects():
    ours, theirs = Model(1), Model(1)
    run = dj.jit(lambda x, m: m.sample(x) + m.sample(x))
    for _ in range(2):
        same(run(2.0, ours), theirs.sample(2.0) + theirs.sample(2.0))
        assert ours.scale == theirs.scale
        assert state_of(ours.rng) == state_of(theirs.rng)
    found = dj.grad(lambda x, m: m.sample(x), argnums=1)(2.0, ours)
    assert found.rng is None
    same(found.scale, 2.0 * theirs.rng.normal())


def test_streams_in_closures_and_containers():
    held = {"a": new(), "b": new(2)}

    def program(x):
        return x * held["a"].normal() + held["b"].normal()

    theirs = new(), new(2)
    for _ in range(2):
        same(dj.jit(program)(2.0), 2.0 * theirs[0].normal() + theirs[1].normal())
    same(dj.grad(program)(2.0), theirs[0].normal())
    theirs[1].normal()
    held["b"] = held["a"]  # now one stream
    same(dj.jit(program)(2.0), 2.0 * theirs[0].normal() + theirs[0].normal())
    held["b"] = new(7)
    same(dj.jit(program)(2.0), 2.0 * theirs[0].normal() + new(7).normal())
    draw = held["a"].normal
    same(dj.jit(lambda x: x * draw())(2.0), 2.0 * theirs[0].normal())


def test_a_stream_of_the_module_may_be_another_one(monkeypatch):
    run = dj.jit(lambda x: x * module_stream.normal())
    for made in (lambda: new(4), lambda: new(9), lambda: np.random.Generator(np.random.MT19937(3))):
        monkeypatch.setattr(sys.modules[__name__], "module_stream", made())
        theirs = made()
        for _ in range(2):
            same(run(2.0), 2.0 * theirs.normal())


def test_errors_leave_the_stream_where_they_were_raised():
    def program(x, rng):
        a = rng.normal()
        rng.normal(size=4)
        if a * x > -100:
            raise ValueError("out")
        return x * rng.normal()

    def late(x, rng):
        values = rng.normal(size=3)
        for k in range(5):
            x = x * values[k] + rng.random()
        return x

    for f, kind in ((program, ValueError), (late, IndexError)):
        theirs = new()
        with pytest.raises(kind):
            f(2.0, theirs)
        for verb in (dj.jit, dj.grad, dj.hessian, dj.value_and_grad, dj.jacfwd):
            ours = new()
            with pytest.raises(kind):
                verb(f)(2.0, ours)
            assert state_of(ours) == state_of(theirs)


def test_one_stream_as_two_is_refused():
    run = dj.jit(lambda x, a, b: x * a.normal() + b.normal())
    rng = new()
    with pytest.raises(dj.DiffjitError, match=r"DJ402.*`a` and `b` are one stream"):
        run(1.0, rng, rng)
    same(run(1.0, new(1), new(2)), new(1).normal() + new(2).normal())
    with pytest.raises(dj.DiffjitError, match="DJ402"):
        run(1.0, rng, rng)


def test_the_callers_stream_is_returned_itself_and_no_other_one():
    def drawn(x, rng):
        return rng.normal() * x, rng

    given, plain = new(), new()
    value, found = dj.jit(drawn)(2.0, given)
    assert found is given
    assert (value, given.normal()) == (drawn(2.0, plain)[0], plain.normal())
    with pytest.raises(dj.DiffjitError, match=r"DJ319.*a random Generator"):
        dj.jit(lambda x: np.random.default_rng(3))(1.0)
    with pytest.raises(dj.DiffjitError, match=r"DJ319.*a random Generator"):
        dj.value_and_grad(drawn, has_aux=True)(2.0, new())


def test_recursion():
    def walk(x, n, rng):
        return x if n == 0 else walk(x * np.cos(rng.normal()), n - 1, rng) + rng.random()

    def tree(x, rng):
        u = rng.random()
        return x * u if u < 0.6 else tree(x * u, rng) * tree(x + u, rng)

    for f, args in ((walk, (2.0, 6)), (tree, (2.0,))):
        agree(f, *args, new(), verbs=(dj.grad, dj.hessian))

        def at(x, f=f, args=args):
            return f(x, *args[1:], new())

        wanted = (at(2.0 + 1e-6) - at(2.0 - 1e-6)) / 2e-6
        np.testing.assert_allclose(dj.grad(f)(*args, new()), wanted, rtol=1e-6)


def test_control_flow():
    def until(x, rng):
        n = 0
        while rng.random() < 0.9:
            x = np.sin(x) + rng.normal() * x
            n += 1
        return x * n

    def grown(x, rng):
        found = [rng.normal(x, 1.0) for _ in range(rng.integers(3, 9))]
        return np.sum(np.array(found))

    def either(x, a, b, flag):
        rng = a if flag > 0 else b
        return x * rng.normal() * (rng.random() if x > 0 else 1.0)

    agree(until, 2.0, new(), verbs=(dj.grad, dj.hessian))
    agree(grown, 2.0, new(), verbs=(dj.grad,))
    agree(either, 2.0, new(1), new(2), -1.0, verbs=(dj.grad, dj.hessian))
    agree(either, -2.0, new(1), new(2), 1.0, verbs=(dj.grad,))
    wanted = (until(2.0 + 1e-6, new()) - until(2.0 - 1e-6, new())) / 2e-6
    np.testing.assert_allclose(dj.grad(until)(2.0, new()), wanted, rtol=1e-5)


def test_threads_draw_one_after_the_other():
    def program(x, rng):
        total = 0.0
        for _ in range(20):
            total += x * rng.random()
        return total

    run = dj.jit(program)
    run(1.0, new())
    ours, theirs = new(), new()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: run(1.0, ours), range(300)))
    finally:
        sys.setswitchinterval(interval)
    assert sorted(found) == sorted(program(1.0, theirs) for _ in range(300))
    assert state_of(ours) == state_of(theirs)


OTHER_PROCESS = """
import random, sys
import numpy as np
import diffjit as dj

rng_of_module = np.random.default_rng(4)

def given(x, rng): return x * rng.normal() + np.sum(rng.random(3))
def hidden(x): return x * np.random.randn() + random.random()
def made(x, n): return x * np.random.default_rng(n).normal(size=2)
def held(x): return x * rng_of_module.normal()
def by_python(x, rng): return x * rng.standard_gamma([x, 1.0]) + rng.permutation(5)[2] + rng.binomial(9, 0.5)

seed = int(sys.argv[1])
def seeded():
    global rng_of_module
    np.random.seed(seed)
    random.seed(seed)
    rng_of_module = np.random.default_rng(seed)

def run(call):
    seeded()
    streams = [np.random.default_rng(seed), np.random.default_rng(seed)]
    found = [call(given)(2.0, streams[0]), call(hidden)(2.0), call(made)(2.0, seed), call(held)(2.0)]
    found.append(call(by_python)(2.0, streams[1]))
    return repr([np.asarray(v).tolist() for v in found]), np.random.rand(), random.random(), rng_of_module.random(), [
        s.random() for s in streams]

assert run(dj.jit) == run(lambda f: f)
first = run(lambda f: dj.jacfwd(f))[1:]
assert first == run(lambda f: f)[1:]
print(sorted({"diffjit.frontend.syntax.interpret", "numba"} & set(sys.modules)))
"""

QUICK = """
import random, sys
import numpy as np
import diffjit as dj
def f(x, rng): return x * rng.normal() + random.random() + np.random.rand() + np.sum(rng.integers(5, size=3))
def draw(call):
    random.seed(2), np.random.seed(2)
    rng = np.random.default_rng(int(sys.argv[1]))
    return call(f)(2.0, rng), rng.random(), np.random.rand()
assert draw(dj.jit) == draw(lambda f: f)
print("diffjit.frontend.syntax.interpret" in sys.modules)
"""


@pytest.mark.parametrize("script", [OTHER_PROCESS, QUICK], ids=["all", "quick"])
def test_other_processes_draw_too(script, tmp_path, backend):
    if backend == "python":
        pytest.skip("there is no cache")
    file = tmp_path / "program.py"
    file.write_text(script)
    root = str(Path(dj.__file__).parent.parent)
    environment = {**os.environ, "DIFFJIT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": root, "DIFFJIT_DUMP": ""}
    told = []
    for seed in (1, 1, 2):
        done = subprocess.run(  # noqa: S603 - our own text
            [sys.executable, str(file), str(seed)], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.strip())
    if script is QUICK:
        assert told == ["True", "False", "False"]  # what another process has left is taken as it is
