"""Objects, lists, dicts and variables from outside that a program changes: the function does so, derivatives do not."""

import copy
import random
import types

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.entry import changed

X = np.array([0.7, 1.3, -0.4])


class Model:
    def __init__(self):
        self.calls = 0
        self.best = 1e9
        self.w = np.array([1.0, 2.0, 3.0])
        self.w_ = None
        self.history = []
        self.floats = [1.0, 2.0]
        self.state = {"n": 1, "last": 0.0, "items": [0.5]}
        self.fitted = False

    def counted(self, x):
        self.calls += 1
        value = np.sum(x**2) * self.calls
        self.history.append(value)
        if value < self.best:
            self.best = value
            self.state["last"] = x[0]
        return value

    def in_a_loop(self, x):
        total = 0.0
        for i in range(len(x)):
            self.calls += 1
            if x[i] > 0:
                self.history.append(x[i])
                self.state["items"].append(float(i))
            total += x[i] * self.calls
        return total + len(self.history)

    def fit(self, x):
        if self.w_ is None:
            self.w_ = np.zeros(3)
        self.w_ = self.w_ + np.linalg.solve(np.outer(x, x) + np.eye(3), x)
        self.fitted = True
        self.coefficient = x[0] * 2
        return np.sum(self.w_**2) + self.coefficient

    def attributes(self, x):
        self.__dict__.update(best=x[0], extra=x[1])
        self.__dict__["calls"] += 2
        return self.best * self.extra * self.calls

    def copied(self, x):
        other = copy.deepcopy(self)
        other.state["last"] = x[0]
        other.w = other.w * x
        other.history.append(x[1])
        self.best = np.sum(other.w)
        return self.state["last"] + self.best + np.sum(self.w * x) + len(self.history)


METHODS = ["counted", "in_a_loop", "fit", "attributes", "copied"]


def alike(a, b):
    """Whether two objects have equal attributes of equal types."""
    if isinstance(a, float) and isinstance(b, float):  # Python's, or NumPy's
        return np.allclose(a, b, rtol=1e-12)
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if hasattr(a, "__dict__"):
        return alike(vars(a), vars(b))
    return a is None or np.allclose(a, b, rtol=1e-12)


def slopes(make, name, x, h=1e-6):
    """Difference quotients, from the same state each time."""

    def after(y):
        return getattr(make(), name)(y)

    return np.array([(after(x + h * e) - after(x - h * e)) / (2 * h) for e in np.eye(3)])


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", METHODS)
def test_the_function_changes_what_it_changes_in_python(name, backend):
    plain, model = Model(), Model()
    compiled = dj.jit(getattr(model, name), backend=backend)
    for k in range(3):
        np.testing.assert_allclose(compiled(X + k), getattr(plain, name)(X + k), rtol=1e-12)
        assert alike(model, plain)


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", METHODS)
def test_derivatives_leave_it_as_it_was(name, backend):
    model = Model()
    getattr(model, name)(X)
    before = copy.deepcopy(model)
    method = getattr(model, name)
    wanted = slopes(lambda: copy.deepcopy(before), name, X)
    gradient = dj.grad(method, backend=backend)
    np.testing.assert_allclose(gradient(X), wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(dj.jvp(method, (X,), (X,), backend=backend)[1], wanted @ X, rtol=1e-6)
    np.testing.assert_allclose(dj.vmap(gradient)(np.stack([X, X]))[1], wanted, rtol=1e-6, atol=1e-8)
    curvature = [(gradient(X + 1e-6 * e) - gradient(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(dj.hessian(method, backend=backend)(X), curvature, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dj.jacrev(gradient)(X), curvature, rtol=1e-5, atol=1e-6)
    assert alike(model, before)


calls = 0
settings = types.ModuleType("settings")
settings.scale = 2.0


def with_global(x):
    global calls  # noqa: PLW0603 - as users do
    calls += 1
    if x[0] > 0:
        calls += 10
    return np.sum(x**2) * calls


def with_attribute(x):
    with_attribute.calls += 1
    settings.scale = settings.scale + x[0]
    return np.sum(x**2) * with_attribute.calls * settings.scale


def test_variables():
    global calls  # noqa: PLW0603 - as users do
    calls = 0
    np.testing.assert_allclose(dj.grad(with_global)(X), 2 * X * 11)
    assert calls == 0
    assert [dj.jit(with_global)(X) / np.sum(X**2) for _ in range(2)] == pytest.approx([11, 22])
    assert calls == 22
    with_attribute.calls = 0
    np.testing.assert_allclose(dj.jit(with_attribute)(X), np.sum(X**2) * 2.7)
    assert (with_attribute.calls, settings.scale) == (1, 2.7)


def test_variables_of_a_closure():
    count = 0

    def model(x):
        nonlocal count
        count += 1
        return x * x * count

    assert [dj.jit(model)(2.0), dj.jit(model)(2.0), count] == [4.0, 8.0, 2]
    assert dj.grad(model)(2.0) == 12.0
    assert count == 2


def test_one_list_at_two_places():
    items = [1.0, 2.0]
    a, b = types.SimpleNamespace(items=items), types.SimpleNamespace(items=items)

    def model(x):
        a.items[0] = x
        b.items.append(3.0)
        return a.items[0] * items[0] + len(b.items)

    assert dj.grad(model)(2.0) == 4.0
    assert items == [1.0, 2.0]
    assert dj.jit(model)(2.0) == 7.0
    assert a.items == items == [2.0, 2.0, 3.0]


def test_an_object_that_is_an_argument_too_is_refused():
    items = [1.0, 2.0]

    def model(given, x):
        items[0] = x
        return given[0] * x

    assert dj.grad(model, argnums=1)([1.0, 2.0], 3.0) == 1.0
    with pytest.raises(dj.MemoryProblem, match="DJ402"):
        dj.grad(model, argnums=1)(items, 3.0)


def test_a_long_list_that_grows():
    history = [float(k) for k in range(70)]

    def model(x):
        history[3] = 7.5
        history.append(x)
        return sum(history) * x

    total = sum(range(70)) - 3 + 7.5
    assert dj.grad(model)(2.0) == pytest.approx(total + 4.0)
    assert dj.jit(model)(2.0) == pytest.approx((total + 2.0) * 2.0)
    assert history[3:5] == [7.5, 4.0]
    assert len(history) == 71


def test_a_history_of_floats_is_no_part_of_the_program():
    history = []

    def model(x):
        history.append(x)
        return x * len(history)

    compiled = dj.jit(model)
    assert [compiled(2.0) for _ in range(6)] == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    assert len(compiled._cache) == 1
    assert history == [2.0] * 6


def test_an_attribute_that_a_class_has_from_another_is_not_taken_for_its_own():
    class Base:
        calls = 0

    class Derived(Base):
        pass

    def model(x):
        Derived.calls += 1
        return x * x

    with pytest.raises(dj.UnsupportedSyntax, match="DJ127"):
        dj.grad(model)(2.0)


def settings_of_a_run(x):
    """Variables that are first given a value here, as in programs that came from MATLAB."""
    global gain, counted  # noqa: PLW0603 - the subject
    gain = 2.0 * x
    for k in range(3):
        counted = k * x
    return scaled(x) + counted


def scaled(x):
    return gain * x


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_globals_that_are_new(backend):
    names = globals()
    assert dj.grad(settings_of_a_run, backend=backend)(3.0) == 4.0 * 3.0 + 2.0
    assert "gain" not in names
    compiled = dj.jit(settings_of_a_run, backend=backend)
    try:
        assert [compiled(x) for x in (3.0, 4.0)] == [2.0 * x * x + 2.0 * x for x in (3.0, 4.0)]
        assert (names["gain"], names["counted"]) == (8.0, 8.0)
        assert dj.grad(settings_of_a_run, backend=backend)(3.0) == 4.0 * 3.0 + 2.0
        assert names["gain"] == 8.0
    finally:
        del names["gain"], names["counted"]


def with_an_import(x):
    global np  # noqa: PLW0603 - as programs do that can choose their library
    import numpy as np

    return np.sum(np.sin(x))


def test_a_global_that_is_assigned_what_it_is(monkeypatch):
    told = []
    monkeypatch.setattr(changed, "Learn", lambda *found: told.append(found))
    np.testing.assert_allclose(dj.grad(with_an_import)(X), np.cos(X))
    assert not told


mode = 1


def slowly(x):
    global mode  # noqa: PLW0603 - the subject
    mode = 2
    return x * 2.0


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_global_that_is_not_what_it_was(backend):
    """Where it is what is assigned already, nothing is done; where it is not any more, the program is another."""
    names = globals()
    compiled = dj.jit(slowly, backend=backend)
    try:
        for before in (2, 2, 1, 2, "none"):
            names["mode"] = before
            assert (compiled(1.5), mode) == (3.0, 2)
    finally:
        names["mode"] = 1


def test_a_global_that_is_new_on_some_paths():
    def model(x):
        global sometimes  # noqa: PLW0603 - the subject
        if x > 1.0:
            sometimes = x
        return x * x

    def read(x):
        model(x)
        return sometimes * x

    assert dj.grad(read)(3.0) == 2.0 * 3.0
    with pytest.raises(NameError):
        dj.grad(read)(0.5)
    compiled = dj.jit(model)
    assert compiled(0.5) == 0.25
    assert "sometimes" not in globals()
    assert compiled(3.0) == 9.0
    try:
        assert sometimes == 3.0
    finally:
        globals().pop("sometimes", None)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_attributes_of_functions_that_are_new(backend):
    def square(x):
        return x * x

    class Model:
        def value(self, x):
            return x * x

        value.power = 2

        def last(self, x):
            known = hasattr(self.value, "at")
            self.value.__func__.at = x
            return self.value(x) * self.value.at * self.value.power + getattr(self.value, "shift", 3.0) * known

        def wrong(self, x):
            self.value.at = x
            return x

    def model(x):
        for k in range(3):
            square.total = getattr(square, "total", 0.0) + x * k
        return square(x) * square.total

    assert dj.grad(model, backend=backend)(2.0) == 3.0 * 3.0 * 4.0
    assert vars(square) == {}
    assert dj.jit(model, backend=backend)(2.0) == 3.0 * 8.0
    assert vars(square) == {"total": 6.0}
    last = Model().last
    assert dj.grad(last, backend=backend)(2.0) == 2.0 * 3.0 * 4.0
    assert vars(Model.value) == {"power": 2}
    assert [dj.jit(last, backend=backend)(2.0) for _ in range(2)] == [16.0, 19.0]
    assert vars(Model.value) == {"power": 2, "at": 2.0}
    with pytest.raises(AttributeError):  # as in Python
        Model().wrong(2.0)
    with pytest.raises(dj.DiffjitError, match="DJ127"):
        dj.grad(Model().wrong, backend=backend)(2.0)


# Random programs: statements that change an object, in branches and loops

STATEMENTS = [
    "m.calls += 1", "m.calls = m.calls * 2", "m.best = m.best + x[0] * 0.1", "m.w = m.w * x", "m.w[1] += x[2]",
    "m.floats.append(x[1])", "m.floats[0] = x[0] + m.best", "m.state['n'] += 1", "m.state['last'] = np.sum(m.w)",
    "s += m.best * x[0]", "s += np.sum(m.w**2)", "s += m.calls * x[1]", "s += m.floats[-1] * x[2]",
    "s += m.state['last'] * m.state['n']", "s += sum(m.floats)", "m.best = s",
]  # fmt: skip


def written(rng, depth, indent):
    lines = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if depth and kind < 0.2:
            lines += [f"{indent}if x[{rng.randrange(3)}] > {rng.choice([-1.0, 0.5, 1.0])}:"]
            lines += written(rng, depth - 1, indent + "    ")
        elif depth and kind < 0.4:
            name = f"k{depth}"
            lines += [f"{indent}for {name} in range({rng.randint(1, 3)}):"]
            lines += written(rng, depth - 1, indent + "    ")
        else:
            lines.append(indent + rng.choice(STATEMENTS))
    return lines


def started():
    model = Model()
    model.best = 0.3
    return model


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, tmp_path, monkeypatch):
    text = ["import numpy as np", "def program(x):", "    s = 0.0"]
    text += [*written(random.Random(seed), 2, "    "), "    return s + np.sum(m.w) * x[0] + m.best"]
    (tmp_path / f"changing_{seed}.py").write_text("\n".join(text) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__(f"changing_{seed}")

    def value(x):
        module.m = started()
        return module.program(x)

    h = 1e-6
    slope = [(value(X + h * e) - value(X - h * e)) / (2 * h) for e in np.eye(3)]
    wanted = value(X)
    after = module.m
    module.m = started()
    found = dj.jit(module.program)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert alike(module.m, after)
    module.m = started()
    np.testing.assert_allclose(dj.grad(module.program)(X), slope, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(dj.jvp(module.program, (X,), (X,))[1], np.array(slope) @ X, rtol=1e-5, atol=1e-7)
    assert alike(module.m, started())


class Turned(tuple):  # noqa: SLOT001
    """A tuple that says itself what its items are, which is refused where a program reads one."""

    def __getitem__(self, key):
        return tuple.__getitem__(self, -key)


TABLE = {f"e{i}": {f"p{k}": float(i + k) for k in range(40)} | {"names": Turned((1.0, 2.0))} for i in range(40)}


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_of_a_large_table_only_what_is_read_counts(backend, monkeypatch):
    def model(x, name):
        entry = TABLE[name]
        return (
            entry["p7"] * x + sum(v for k, v in entry.items() if k in ("p1", "p2")) if name == "e3" else x * entry["p5"]
        )

    def picked(x):
        return TABLE["e4"]["p6"] * x * x

    first = dj.grad(picked, backend=backend)
    assert first(3.0) == 60.0
    monkeypatch.setitem(TABLE["e4"], "p6", 2.5)
    assert first(3.0) == 15.0
    monkeypatch.setitem(TABLE, "e9", None)  # is not read
    assert first(3.0) == 15.0
    assert dj.grad(model, backend=backend)(2.0, "e8") == 13.0
    with pytest.raises(dj.DiffjitError, match="DJ113"):
        dj.grad(model, backend=backend)(2.0, "e3")


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_dict_and_a_list_in_it_that_grows(backend):
    """The list is found by its identity where the dict is read; what it holds stays of Python's class."""

    def made():
        run = {"n": 0, "costs": [1.0], "by": {"x": [0.5]}}

        def cost(x, i):
            run["n"] += 1
            run["costs"].append(x * i)
            for k in range(i):
                run["by"]["x"].append(x + k)
            return x * x * run["n"] + sum(run["costs"])

        return cost, run

    (plain, wanted), (cost, run) = made(), made()
    compiled = dj.jit(cost, backend=backend)
    for i in (2, 0, 3):
        assert compiled(0.5, i) == plain(0.5, i)
    assert run == wanted
    assert [type(x) for x in (*run["costs"], *run["by"]["x"])] == [float] * (4 + 6)
    assert dj.grad(cost, backend=backend)(0.5, 2) == 2 * 0.5 * 4 + 2
    assert run == wanted
