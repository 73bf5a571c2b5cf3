"""Random programs against difference quotients, and the programs that once went wrong."""

import inspect
import sys
import types
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from tests.fuzz.check import Discarded, Outcome, check, check_nested, inner, load, moved, prepare
from tests.fuzz.choices import Choices
from tests.fuzz.generate import from_seed, generate
from tests.fuzz.shrink import shrink

# Hypothesis draws the programs, but `shrink` makes them smaller: it knows Python, and needs a tenth of the time.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SEEDS = sorted((Path(__file__).parent / "fuzz" / "seeds").glob("*.py"))


def checked(source: str, seed: int, backend: str, *, second: bool = False) -> Outcome:
    """The outcome; a failure shows a smaller program that fails in the same way."""
    outcome = check(source, seed, backend, second)
    if outcome.failed:
        small = shrink(source, seed, backend, second=second, seconds=60)
        pytest.fail(
            f"{outcome.kind} at seed {seed}: {outcome.detail}\n\n{source}\n\nSmaller:\n\n{small}", pytrace=False
        )
    return outcome


@st.composite
def programs(draw):
    """Programs whose decisions hypothesis takes."""
    return generate(Choices(lambda low, high: draw(st.integers(low, high))))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_a_program_that_once_went_wrong(path, backend):
    source = path.read_text(encoding="utf-8")
    for seed in range(3 if backend == "python" else 1):
        outcome = check(source, seed, backend, second=True)
        assert outcome.kind == "ok", f"{outcome.kind}: {outcome.detail}"


def test_a_derivative_called_inside_a_function():
    import diffjit as dj

    program, _, rng = prepare(SEEDS[0].read_text(encoding="utf-8"), 0)
    check_nested(dj, program, rng, "python")


@settings(phases=PHASES, max_examples=settings.default.max_examples // 2)
@given(source=programs(), seed=st.integers(0, 9))
def test_drawn_programs_in_python(source, seed):
    event(checked(source, seed, "python").kind)


@settings(phases=PHASES, max_examples=3)
@given(source=programs())
def test_drawn_programs_compiled(source):
    event(checked(source, 0, "numba").kind)


@pytest.mark.parametrize("block", range(5))
def test_seeded_programs_in_python(block):
    check_seeds(range(20 * block, 20 * block + 20), "python")


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_thousands_of_programs_in_python(block):
    check_seeds(range(100 * block, 100 * block + 100), "python", second=block % 5 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_hundreds_of_programs_compiled(block):
    check_seeds(range(20 * block, 20 * block + 20), "numba")


def check_seeds(seeds, backend, *, second=False):
    counts = Counter()
    for seed in seeds:
        counts[checked(from_seed(seed), seed, backend, second=second).kind] += 1
    print(dict(counts))  # noqa: T201 - how many were refused is worth a look
    assert counts["discarded"] <= len(seeds) // 5


# The generator and the oracle themselves


def test_a_seed_gives_the_same_program_again():
    assert from_seed(7) == from_seed(7) != from_seed(8)


def test_programs_run_without_warnings_and_are_smooth():
    discarded = 0
    for seed in range(1000, 1060):
        try:
            prepare(from_seed(seed), seed)  # with warnings as errors
        except Discarded:
            discarded += 1
    assert discarded <= 6


def test_programs_write_loop_and_alias_often():
    sources = [from_seed(seed) for seed in range(100)]
    for construct in ("for ", "while ", "if ", "break", "return", "[::-1]", ".T", "+=", "*=", "out=", "append"):
        share = sum(construct in source for source in sources)
        assert share >= 8, construct


def differencing_engine(fault):
    """Stands in for diffjit: derivatives by differences, with one fault."""
    h = 1e-5

    def value(function, arguments):
        return function(*(np.array(v) if isinstance(v, np.ndarray) else v for v in arguments))

    def jvp(function, primals, tangents, backend):
        ahead, behind = moved(primals, tangents, h), moved(primals, tangents, -h)
        out_dot = (value(function, ahead) - value(function, behind)) / (2 * h)
        return value(function, primals), out_dot * (1.001 if fault == "jvp" else 1.0)

    def gradient(function, primals):
        bars = []
        for place, primal in enumerate(primals):
            bar = np.zeros(np.shape(primal))
            for index in np.ndindex(bar.shape):
                tangents = [np.zeros(np.shape(v)) for v in primals]
                tangents[place][index] = 1.0
                bar[index] = jvp(function, primals, tangents, "python")[1]
            bars.append(bar)
        if fault == "one element":
            bars[0].flat[-1] += 0.01
        if fault == "a scalar":
            bars[3] = bars[3] * 1.001
        return tuple(bars)

    def value_and_grad(function, argnums, backend):
        def both(*arguments):
            primals, integers = arguments[:4], arguments[4:]
            bars = gradient(lambda *point: function(*point, *integers), primals)
            if fault == "caller's array":
                arguments[0][0] += 1.0
            return value(function, arguments), bars

        return both

    def vjp(function, *primals, backend):
        calls = []
        bars = gradient(function, primals)

        def pullback(seed):
            calls.append(seed)
            grown = 1.5 if fault == "second pullback" and len(calls) == 2 else 1.0
            return tuple(seed * grown * bar for bar in bars)

        return value(function, primals), pullback

    def jit(function, backend):
        if fault == "jit copies":
            return lambda *arguments: value(function, arguments)
        return function

    return types.SimpleNamespace(
        jit=jit, jvp=jvp, vjp=vjp, value_and_grad=value_and_grad, DiffjitError=type("DiffjitError", (Exception,), {})
    )


FAULTS = ["one element", "a scalar", "jvp", "second pullback", "caller's array", "jit copies"]
TOUCHES_ALL = SEEDS[-1].read_text(encoding="utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracle_notices(fault, monkeypatch):
    monkeypatch.setitem(sys.modules, "diffjit", differencing_engine(fault))
    assert check(TOUCHES_ALL, 1, "python").kind == "wrong"


def test_a_failing_program_shrinks(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffjit", differencing_engine("one element"))
    source = TOUCHES_ALL.replace("x[-1] *= b", "x[0] += np.sin(x[1])")
    small = shrink(source, 1, "python", seconds=10)
    assert len(small) < len(source) / 2
    assert check(small, 1, "python").kind == "wrong"


def test_the_oracle_accepts_what_is_right(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffjit", differencing_engine(""))
    for source in [path.read_text(encoding="utf-8") for path in SEEDS] + [from_seed(seed) for seed in range(10)]:
        outcome = check(source, 1, "python")
        assert outcome.kind in ("ok", "discarded"), outcome


@pytest.mark.parametrize("body", ["abs(x[0] - X_0) * a", "1.0 if x[0] > X_0 else 0.0", "b if x[0] - X_0 > 2e-4 else a"])
def test_kinks_and_jumps_are_discarded(body):
    inputs = 'INPUTS = {"x": (2,), "y": (1, 1), "n": 1, "k": 1, "order": "C"}\n'
    x_0 = np.random.default_rng(0).uniform(-1, 1, 2)[0]  # where check() evaluates the program
    source = f"import numpy as np\n{inputs}X_0 = {x_0!r}\ndef f(x, y, a, b, n, k):\n    return {body}\n"
    assert check(source.replace("np.float64", "float"), 0, "python").kind == "discarded"


def test_modules_keep_their_source():
    module = load(from_seed(3))
    assert "def f(" in inspect.getsource(module.f)
    assert inner((np.ones(2), 2.0), (np.ones(2), 0.5)) == 3.0
