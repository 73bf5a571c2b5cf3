"""What programs do beside their mathematics: assertions of NumPy, options in texts, results that nobody reads."""

import dataclasses
import re
import types
from ast import literal_eval

import numpy as np
import pytest
import scipy.linalg
from scipy import stats

import diffjit as dj
from diffjit.errors import UnsupportedSyntax

BACKENDS = ["python", "numba"]
X = np.array([0.5, 2.0, 3.0])


def with_assertions(x):
    weights = np.exp(x) / np.sum(np.exp(x))
    np.testing.assert_allclose(np.sum(weights), 1, err_msg=f"{np.sum(weights)}")
    np.testing.assert_array_less(0.0, weights)
    np.testing.assert_almost_equal(np.sum(weights), 1.0, decimal=6)
    np.testing.assert_array_almost_equal(weights, weights + 1e-9)
    np.testing.assert_equal(weights.shape, (3,))
    np.testing.assert_array_equal(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]))
    return weights[0]


def with_options(x):
    options = {name: literal_eval(text) for name, text in re.findall(r"(\w+)=([^,)]*)", "kernel(scale=0.5, power=2)")}
    return options["scale"] * np.sum(x ** options["power"])


def with_eval(x):
    return eval("0.5") * np.sum(x**2)  # noqa: S307


def with_a_match(x):
    found = re.match(r"(\d+)d", "2d")
    return 0.5 * np.sum(x ** int(found.group(1))) if found else np.sum(x)


def with_replaced_words(x):
    """A formula of chemistry: a function gives what stands in place of each match."""
    masses = {"H": 1.0, "O": 16.0}

    def term(found):
        return f"+{masses[found.group(1)]}*{found.group(2) or 1}"

    total = sum(
        float(a) * int(n) for a, n in (t.split("*") for t in re.sub(r"([HO])(\d?)", term, "H2O").split("+")[1:])
    )
    named = re.sub("x*", lambda found: "-" if x[0] > 0.0 else "+", "abxd", count=3)
    again = re.compile("a").sub(lambda _: "bb", "aXa")
    return total * np.sum(x**2) + (x[1] if named == "-a-b-d" else x[2]) + len(again) * x[0]


def check_types(function, values):
    """What stands in many constructors."""
    for name, wanted in function.__annotations__.items():
        if name in values and not isinstance(values[name], getattr(wanted, "__args__", wanted)):
            message = f"{name} of {function.__qualname__} in {function.__module__}"
            raise TypeError(message)


class Firm:
    def __init__(self, assets: float | np.ndarray, label: str = "a", years: int = 5):
        check_types(self.__init__, locals())
        self.assets = assets * years

    def value(self, rate: float):
        check_types(self.value, locals())
        return np.sum(self.assets) * rate


def with_checked_annotations(x):
    try:
        Firm("three")
    except TypeError as error:
        wrong = str(error).startswith("assets of Firm.__init__ in ")
    return Firm(x**2).value(x[0]) if wrong else x[1]


def with_empty_indices(x):
    columns = np.empty((len(x), 3))
    for k, chosen in enumerate([(), (0,), (0, 0)]):
        columns[:, k] = np.prod(x[:, None][:, chosen], axis=1)
    return np.sum(columns)


def with_a_mask_without_axes(x):
    bins = np.array(x[0] * x[1])
    bins[np.isnan(x[0])] = 0.0
    bins[x[1] > 1.0] = x[1] ** 2 * x[0]
    return bins[()] * 1.0


def with_bands(x):
    """Diagonals whose offset a loop counts."""
    a, total, k = np.outer(x, [0.3, 1.0, -2.0, 0.7]), 0.0, -3
    while k < 5:
        total += np.sum(np.diag(a, k) ** 2) * (k + 4) + np.trace(a[:, :2], k) - np.sum(np.diagonal(a, k, 1, 0))
        k += 1
    return total


def with_squeezed_states(x):
    state = x * 1.0
    while np.sum(np.abs(state)) > 1.0:
        state = np.squeeze(state[:, None]) * 0.5
    return np.sum(state**2)


def with_unread_eigenvalues(x):
    matrix = np.outer(x, x) + np.diag(x)
    values, vectors = scipy.linalg.eig(matrix)
    del vectors
    return np.sum(matrix**2), values


def reads_the_first(x):
    return with_unread_eigenvalues(x)[0]


class Settings:
    scale = 2.0


def with_attributes_by_name(x):
    settings = Settings()
    if x[0] > 0.0:
        settings.shift = x[1]
    total = getattr(settings, "shift", 1.0) * x[2]
    for name in ("scale", "shift"):
        if hasattr(settings, name):
            total = total + settings.__getattribute__(name) * x[0]
    return total


def with_a_label(x):
    total = np.sum(x**3)
    try:  # noqa: SIM105 - as it is written
        total.name = "total"
    except AttributeError:
        pass
    return total


def with_a_density(x):
    return stats.multivariate_normal.logpdf(x[:2], None, np.diag(x[:2] + 1.0), True)


PROGRAMS = [
    with_assertions, with_options, with_eval, with_a_match, with_replaced_words,
    with_checked_annotations, with_empty_indices, with_a_mask_without_axes, with_bands,
    with_squeezed_states, reads_the_first, with_attributes_by_name, with_a_label, with_a_density,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, backend):
    along = lambda h: program(X * (1.0 + h))
    slope, bend = (along(1e-6) - along(-1e-6)) / 2e-6, (along(1e-4) - 2 * along(0.0) + along(-1e-4)) / 1e-8
    grad = dj.grad(program, backend=backend)
    assert dj.jit(program, backend=backend)(X) == pytest.approx(program(X), rel=1e-14)
    assert np.sum(grad(X) * X) == pytest.approx(slope, rel=1e-7)
    assert dj.jvp(program, (X,), (X,), backend=backend)[1] == pytest.approx(slope, rel=1e-7)
    assert np.sum(dj.jvp(grad, (X,), (X,), backend=backend)[1] * X) == pytest.approx(bend, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: np.testing.assert_allclose(x, x + 1e-3),
        lambda x: np.testing.assert_array_less(x, x),
        lambda x: np.testing.assert_equal(x, 2 * x),
        lambda x: np.testing.assert_array_almost_equal(x, x + 1e-3),
    ],
    ids=["close", "less", "equal", "almost"],
)
def test_assertions_fail(wrong):
    def program(x):
        wrong(x)
        return np.sum(x)

    with pytest.raises(AssertionError):
        program(X)
    with pytest.raises(AssertionError):
        dj.grad(program, backend="python")(X)


def test_eval_of_what_is_made_at_run_time_is_refused():
    with pytest.raises(UnsupportedSyntax):
        dj.grad(lambda x: eval(f"{x[0]}") * x[1], backend="python")(X)  # noqa: S307


def test_a_singular_covariance_is_refused():
    def program(x):
        return stats.multivariate_normal.logpdf(x, np.zeros(3), np.outer(x, x), True)

    with pytest.raises(NotImplementedError):
        dj.grad(program, backend="python")(X)


def test_a_class_of_arrays_on_one_path_alone_is_refused():
    class Labelled(np.ndarray):
        def __new__(cls, values):
            return np.asarray(values).view(cls)

    def program(x):
        return np.sum(Labelled(x)) if x[0] > 0.0 else np.sum(x)

    with pytest.raises(dj.TypeProblem, match="DJ304"):
        dj.grad(program, backend="python")(X)


@dataclasses.dataclass
class Market:
    sigma: float
    rate: float = dataclasses.field(default=0.03, metadata={"kind": "rate"})
    steps: int = dataclasses.field(default=3, metadata={"kind": "numerical"})
    history: list = dataclasses.field(default_factory=list, init=False)

    def parameters(self):
        fields = dataclasses.fields(self)
        return {f.name: getattr(self, f.name) for f in fields if f.init and f.metadata.get("kind") != "numerical"}

    def moved(self, **changes):
        given = self.parameters()
        given.update(changes)
        return type(self)(**given)


class Smile(Market):
    """A class with an `__init__` of its own, above the one that `dataclasses` wrote."""

    def __init__(self, sigma, skew, **kwargs):
        super().__init__(sigma, **kwargs)
        self.skew = skew


@dataclasses.dataclass(frozen=True)
class Strike:
    value: float
    factor: float = 2.0

    def __post_init__(self):
        object.__setattr__(self, "scaled", self.value * self.factor)


class Own(Strike):
    def __init__(self, value):
        Strike.__init__(self, value, factor=3.0 * value)


def of_fields(x):
    moved = Market(x[0]).moved(sigma=x[1] ** 2, rate=x[2])
    return moved.sigma * moved.rate + len(moved.history) + sum(Market(x[2]).parameters().values())


def of_generated_inits(x):
    smile = Smile(x[0] ** 2, x[1], rate=x[2])
    return smile.sigma * smile.skew * smile.rate + smile.steps + Own(x[0]).scaled * Strike(x[1]).scaled


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("function", [of_fields, of_generated_inits])
def test_dataclasses_from_outside(function, backend):
    value, slope = dj.value_and_grad(function, backend=backend)(X)
    assert value == pytest.approx(function(X), rel=1e-14)
    wanted = [(function(X + h) - function(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-9)


SETTINGS = {"w": 3.0, "kind": "rate"}
SHOWN = types.MappingProxyType(SETTINGS)


def test_what_a_mapping_proxy_shows_is_read_at_each_call(monkeypatch):
    def function(x):
        total = x[0] * SHOWN["w"] if SHOWN.get("kind") == "rate" else x[1]
        return total + len(SHOWN) + sum(1.0 for key in SHOWN if key in SHOWN)

    grad = dj.grad(function, backend="python")
    assert grad(X)[0] == 3.0
    monkeypatch.setitem(SETTINGS, "w", 5.0)
    assert grad(X)[0] == 5.0
    monkeypatch.setitem(SETTINGS, "kind", "yield")
    np.testing.assert_array_equal(grad(X), [0.0, 1.0, 0.0])

    def written(x):
        SHOWN["w"] = x[0]
        return x[0]

    with pytest.raises(dj.DiffjitError):
        dj.jit(written, backend="python")(X)


def rolling(x, n=4):
    frames = np.lib.stride_tricks.as_strided(x, shape=(len(x) - n + 1, n), strides=x.strides * 2)
    return np.sum(np.std(frames, -1) * np.arange(frames.shape[0]))


def frames(x, width=4):
    count = (len(x) - width) // 2 + 1
    shown = np.lib.stride_tricks.as_strided(x, (count, width), (x.itemsize * 2, x.itemsize), writeable=False)
    return np.sum(np.tile(np.hanning(width), (shown.shape[0], 1)) * shown**2)


def patches(x):
    image = np.reshape(x, (3, 4))
    steps = image.strides
    shown = np.lib.stride_tricks.as_strided(image, (2, 3, 2, 2), steps + steps)
    return np.sum(shown.max(axis=(2, 3)) ** 2) + np.sum(np.lib.stride_tricks.as_strided(image, (3, 3), (steps[0], 0)))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("function", [rolling, frames, patches])
def test_steps_in_memory(function, backend):
    x = np.random.default_rng(3).normal(size=12)
    value, slope = dj.value_and_grad(function, backend=backend)(x)
    assert value == pytest.approx(function(x), rel=1e-13)
    wanted = (function(x + 1e-6 * np.cos(x)) - function(x - 1e-6 * np.cos(x))) / 2e-6
    assert np.sum(slope * np.cos(x)) == pytest.approx(wanted, rel=1e-6)


def test_steps_in_memory_that_lead_elsewhere():
    x = np.arange(12.0)
    show = np.lib.stride_tricks.as_strided
    with pytest.raises(NotImplementedError, match="outside the array"):
        dj.jit(lambda x: show(x, (30,), (8,)).sum(), backend="python")(x)
    with pytest.raises(dj.DiffjitError, match="DJ118"):
        dj.jit(lambda x: show(x[::2], (3,), (16,)).sum(), backend="python")(x)

    def written(x):
        y = x * 2.0
        shown = show(y, (3,), (16,))
        y[0] = 3.0
        return np.sum(shown)

    with pytest.raises(dj.DiffjitError, match="DJ404"):
        dj.jit(written, backend="python")(x)
