"""What a program asks of where it runs: its variables, its module, frames, the exception at hand."""

import gc
import inspect
import sys
import traceback
import types

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError

BACKENDS = ["python", "numba"]
GRAVITY = 9.81
HOME = sys.modules[__name__]


def checked(x, y):
    if not all(isinstance(value, float) for value in locals().values()):
        raise TypeError("numbers, please")
    return x * y


def without_one(x, y, unit="m"):
    given = locals()
    del given["unit"]
    return sum(given.values()) * y


def weighted(x, y):
    z = x * y
    total = 0.0
    for k, (name, value) in enumerate(locals().items()):
        total = total + (k + 1) * value * len(name)
    return total + z


def spread(x, y):
    scaled = lambda x, y, power: x * y**power
    power = 2
    names = locals()
    return scaled(**{name: names[name] for name in ("x", "y", "power")})


def counted(x, y):
    return x * y * len(locals()) if "x" in locals() and "z" not in dir() else x


def by_vars(x, y):
    return vars()["x"] ** 2 * y


def of_module(x, y):
    return globals()["GRAVITY"] * x * y if "GRAVITY" in globals() else x


def of_named_module(x, y):
    return vars(HOME)["GRAVITY"] * x * y


def after_branches(x, y):
    scale = y if x > 1.0 else 2.0 * y
    return sum(locals().values()) * scale


def kind_of_error(x, y):
    try:
        if y > 0.0:
            raise ValueError("no", 3)
    except Exception:  # noqa: BLE001 - what is asked about it says which one
        kind, error, _ = sys.exc_info()
        return x**2 * y if kind is ValueError and error.args[1] == 3 else x
    return x if sys.exc_info()[0] is None else y


def printed_error(x, y):
    try:
        raise ValueError("no")
    except ValueError:
        sys.stdout.write(traceback.format_exc())
    return x * y


PROGRAMS = [
    checked, without_one, weighted, spread, counted, by_vars, of_module, of_named_module, after_branches, kind_of_error,
    printed_error,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_python(f, backend, capfd):
    x, y = 1.3, 2.1
    numerical = (f(x + 1e-6, y) - f(x - 1e-6, y)) / 2e-6
    bend = (f(x + 1e-4, y) - 2.0 * f(x, y) + f(x - 1e-4, y)) / 1e-8
    np.testing.assert_allclose(dj.jit(f, backend=backend)(x, y), f(x, y), rtol=1e-12)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(x, y), numerical, rtol=1e-6)
    np.testing.assert_allclose(dj.jvp(f, (x, y), (1.0, 0.0), backend=backend)[1], numerical, rtol=1e-6)
    np.testing.assert_allclose(dj.grad(dj.grad(f), backend=backend)(x, y), bend, rtol=1e-5, atol=1e-5)
    del capfd


def test_a_module_is_asked_anew():
    f = dj.grad(lambda x: x * globals()["GRAVITY"] if "LIGHT" not in globals() else x**2)
    assert f(3.0) == GRAVITY
    HOME.LIGHT = 1.0
    try:
        assert f(3.0) == 6.0
        del HOME.LIGHT
        HOME.GRAVITY = 2.0
        assert f(3.0) == 2.0
    finally:
        HOME.GRAVITY = 9.81


def scaled(x, by=2.0, *, times=3.0):
    return x * by * times


def named_later(x):
    try:
        return x * LATER
    except NameError:
        return x**2


class Holder:
    pass


SETTINGS = types.SimpleNamespace(on=True, k=2.0)


HELD = Holder()
QUESTIONS = [
    lambda x: x**2 if "light" in HELD.__dict__ else x,
    lambda x: x * (1.0 + len(vars(HELD))),
    lambda x: x**2 if hasattr(HOME, "light") else x,
    lambda x: x * getattr(HOME, "light", 1.0),
    lambda x: x**2 if "light" in checked.__globals__ else x,
    lambda x: x**2 if "light" in vars(HOME) else x,
    lambda x: x**2 if "light" in dir(HOME) else x,
    lambda x: x**2 if hasattr(checked, "light") else x,
    lambda x: x**2 if hasattr(Holder, "light") else x,
]


@pytest.mark.parametrize("f", QUESTIONS, ids=range(len(QUESTIONS)))
def test_what_comes_later(f):
    value, slope = dj.jit(f), dj.grad(f)
    owners = (HELD, HOME, checked)
    for later in (None, 3.0, None):
        for owner in owners:
            if later is not None:
                owner.light = later
            elif hasattr(owner, "light"):
                del owner.light
        assert value(1.5) == f(1.5)
        np.testing.assert_allclose(slope(1.5), (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rtol=1e-6)


def test_a_class_gets_an_attribute():
    f = QUESTIONS[-1]
    value = dj.jit(f)
    assert value(1.5) == 1.5
    Holder.light = 3.0
    assert value(1.5) == 2.25
    del Holder.light
    assert value(1.5) == 1.5


def change(*, back):
    """What a program reads is changed, or as it was."""
    scaled.__defaults__ = (2.0,) if back else (7.0,)
    scaled.__kwdefaults__ = {"times": 3.0} if back else {"times": 11.0}
    scaled.__doc__ = None if back else "A product."
    SETTINGS.on, SETTINGS.k = (True, 2.0) if back else (False, 3.0)
    np.seterr(divide="warn" if back else "ignore")
    sys.argv[:] = [each for each in sys.argv if each != "--more"] + ([] if back else ["--more"])
    if back:
        vars(HOME).pop("LATER", None)
        sys.modules.pop("imported_later", None)
    else:
        HOME.LATER = 5.0
        sys.modules["imported_later"] = HOME


CHANGED = [
    lambda x: x * len(scaled.__defaults__) * scaled.__kwdefaults__["times"] + scaled.__defaults__[0],
    lambda x: x**2 if scaled.__doc__ else x,
    lambda x: x**2 if "--more" in sys.argv else x,
    lambda x: x**2 if np.geterr()["divide"] == "ignore" else x,
    lambda x: x**2 if types.SimpleNamespace(on=True, k=2.0) == SETTINGS else x,
    lambda x: x**2 if vars(SETTINGS)["on"] else x,
    lambda x: x**2 if "imported_later" in sys.modules else x,
    named_later,
]


@pytest.mark.parametrize("f", CHANGED, ids=range(len(CHANGED)))
def test_what_is_changed_later(f):
    value, slope = dj.jit(f), dj.grad(f)
    try:
        for back in (True, False, True):
            change(back=back)
            assert value(1.5) == f(1.5)
            np.testing.assert_allclose(slope(1.5), (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rtol=1e-6)
    finally:
        change(back=True)


def in_a_loop(x):
    for k in range(int(x)):
        if "z" in locals():
            return x * k
        z = k
    return x


def in_one_branch(x):
    if x > 0.0:
        z = x
        x = z * 2.0
    return x * len(locals())


def in_a_generator(x):
    def items():
        yield len(locals()) * x

    return sum(items())


def by_frame(x):
    return x * 2.0 if inspect.currentframe().f_code.co_name == "by_frame" else x


def by_bare_frame(x):
    return x * 2.0 if sys._getframe().f_code.co_name == "by_bare_frame" else x


def by_stack(x):
    return x * 2.0 if inspect.stack()[0][3] == "by_stack" else x


def by_traceback(x):
    try:
        raise ValueError("no")
    except ValueError:
        trace = sys.exc_info()[2]
        return x * 2.0 if trace.tb_lineno > 0 else x


def by_text_of_error(x):
    try:
        raise ValueError("no")
    except ValueError:
        return x * 2.0 if "ValueError" in traceback.format_exc() else x


REFUSED = [in_a_loop, in_one_branch, in_a_generator, by_frame, by_bare_frame, by_stack, by_traceback, by_text_of_error]


@pytest.mark.parametrize("f", REFUSED)
def test_refused(f):
    with pytest.raises((DiffjitError, NotImplementedError), match="DJ"):
        dj.grad(f)(3.5)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_garbage_is_collected_while_a_program_runs_for_the_first_time(backend):
    """What it calls may make much of it."""
    f = lambda x: x**2 if gc.isenabled() else x
    assert gc.isenabled()
    assert dj.jit(f, backend=backend)(3.0) == 9.0
    assert dj.grad(f, backend=backend)(3.0) == 6.0


NEW = ["scale", "told", "scale_0", "scale_1"]  # variables of this module that the programs below give it


def assigned_by_name(x):
    global scale  # noqa: PLW0603 - the subject
    scale = 3.0 * x
    return x * scale if "scale" in globals() else x


def read_as_an_item(x):
    global scale  # noqa: PLW0603 - the subject
    scale = x * x
    HOME.scale *= 2.0
    return x * globals()["scale"] + vars(HOME)["scale"]


def assigned_as_items(x):
    for k, name in enumerate(["scale_0", "scale_1"]):
        globals()[name] = x ** (k + 2)
    return scale_0 * scale_1 + HOME.__dict__["scale_1"]  # noqa: F821 - as above


def missing_at_first(x):
    global scale  # noqa: PLW0603 - the subject
    try:
        found = x * globals()["scale"]
    except KeyError:
        found = x * x
    scale = x
    return found * globals()["scale"]


def told_once(x):
    total = 0.0
    for k in range(3):
        if x > k:
            if "told" not in globals():
                global told  # noqa: PLW0603 - the subject
                told = k
                sys.stdout.write("large")
            total += k * x * x
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [1.5, -1.0])
@pytest.mark.parametrize("f", [assigned_by_name, read_as_an_item, assigned_as_items, missing_at_first, told_once])
def test_variables_that_are_items_too(f, x, backend, capfd):
    names = globals()

    def run(call):
        given = {name: names.pop(name) for name in NEW if name in names}
        found = call(x)
        left, printed = {name: names.pop(name) for name in NEW if name in names}, capfd.readouterr().out
        names.update(given)
        return found, left, printed

    value, left, printed = run(f)
    assert run(dj.jit(f, backend=backend)) == (pytest.approx(value), pytest.approx(left), printed)
    slope, left, _ = run(dj.grad(f, backend=backend))
    assert not left
    h = 1e-6
    ends = [run(lambda x, by=by: f(x + by))[0] for by in (h, -h)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-9)


def on_some_paths(x):
    global scale  # noqa: PLW0603 - the subject
    if x > 0.0:
        scale = x
    return globals()["scale"] * x


def asked_as_a_dict(x):
    globals()["scale"] = x
    return x * globals().get("scale", 1.0)


def changed_as_a_dict(x):
    globals().update(scale=x)
    return x


def set_on_a_function(x):
    set_on_a_function.calls = x
    return x * vars(set_on_a_function)["calls"]


@pytest.mark.parametrize(
    ("f", "code"),
    [(on_some_paths, "DJ118"), (asked_as_a_dict, "DJ118"), (changed_as_a_dict, "DJ127"), (set_on_a_function, "DJ118")],
)
def test_other_uses_of_the_dict_are_refused(f, code):
    for verb in (dj.jit, dj.grad):
        with pytest.raises(DiffjitError, match=code):
            verb(f)(2.0)
    assert "scale" not in globals()


def written_for_numexpr(numexpr):
    def bells(x, width):
        total = 0.0
        for k in range(3):
            d = x - k  # noqa: F841 - the texts read it
            bell = numexpr.evaluate("exp(-d ** 2 / (2 * width ** 2)) * GRAVITY")
            total = total + np.sum(bell * numexpr.evaluate("where(x > 0.8, sqrt(x), abs(d) / 2)"))
            x = numexpr.evaluate("x * 1.1 + arctan2(d, width) % 3", casting="safe")
        numexpr.evaluate("x * width", out=x)
        return float(total + numexpr.evaluate("width * 2") + numexpr.evaluate("sum(x * d, axis=0)") + (1 / 2))

    return bells


@pytest.mark.parametrize("backend", BACKENDS)
def test_texts_for_numexpr(backend):
    """Their functions are NumPy's, whatever names the program has, and their floats have 64 bits."""
    numexpr = pytest.importorskip("numexpr")
    bells, x = written_for_numexpr(numexpr), np.array([0.4, 0.9, 1.7])
    np.testing.assert_allclose(dj.jit(bells, backend=backend)(x, 0.7), bells(x, 0.7), rtol=1e-14)
    dj.check_grads(bells, (x, 0.7), order=2, backend=backend)
    halved = lambda x: numexpr.evaluate("x * 0.5")
    single = x.astype(np.float32)
    assert dj.jit(halved, backend=backend)(single).dtype == halved(single).dtype == np.float64
    number = dj.jit(halved, backend=backend)(3.0)
    assert isinstance(number, np.ndarray)
    assert number == 1.5


def test_texts_for_numexpr_that_are_refused():
    numexpr = pytest.importorskip("numexpr")
    with pytest.raises(DiffjitError, match=r"DJ118.*local_dict"):
        dj.grad(lambda x: float(numexpr.evaluate("y * 2", local_dict={"y": x})), backend="python")(1.5)
    with pytest.raises(SyntaxError):
        dj.jit(lambda x: numexpr.evaluate("x +* 2"), backend="python")(1.5)
