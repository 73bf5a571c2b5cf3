"""Functions without a file: `python -c`, prompts, documents, `exec`. Their text is found, and proven as a file's is."""

import code
import codeop
import linecache
import marshal
import os
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError
from diffjit.frontend.entry import texts

HEAD = "import diffjit as dj\n"


def agrees(f, x=1.5):
    quotient = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(dj.grad(f, backend="python")(x), quotient, rtol=1e-6)


def refused(f, word=""):
    with pytest.raises(DiffjitError, match=rf"DJ110[\s\S]*{word}") as caught:
        dj.grad(f, backend="python")(1.5)
    return str(caught.value)


def python(*arguments, given=None, stdin=None):
    """What a Python of its own prints."""
    run = subprocess.run(  # noqa: S603 - our own programs
        [sys.executable, *arguments], input=given, stdin=stdin, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.split("\n")[:-1]


# python -c ------------------------------------------------------------------------------------------------------------

PROGRAM = """
import numpy as np
from dataclasses import dataclass

@dataclass
class Spring:
    k: float
    def __eq__(self, other):
        return True
    def __half(self, x):
        return self.k * x * x / 2
    def energy(self, x):
        assert x > 0
        return self.__half(x) if self == Spring(0.0) else 0.0

@dataclass(init=False)
class Own:
    k: float
    def __init__(self, k):
        self.k = 2.0 * k

f, g = lambda x: x * x, lambda x: Spring(3.0).energy(np.sin(x))
print(dj.grad(f, backend="python")(1.5))
for h in (g, lambda x: Own(2.0).k * x):
    print(abs(dj.grad(h, backend="python")(1.0) - (h(1 + 1e-6) - h(1 - 1e-6)) / 2e-6) < 1e-8)
"""


@pytest.mark.parametrize("options", [["-c", "{}"], ["-Bc", "{}", "x"], ["-Bc{}", "-c", "y"], ["-Xutf8", "-c", "{}"]])
def test_the_argument_of_python(options):
    given = [option.replace("{}", HEAD + PROGRAM) for option in options]
    assert python(*given) == ["3.0", "True", "True"]


def test_errors_show_the_line_of_an_argument():
    program = HEAD + textwrap.dedent("""
        def f(x):
            return x * undefined
        try:
            dj.grad(f)(1.0)
        except Exception as error:
            print(error)
        def g(x):
            for k in range(3):
                x = x * x
            return x
        print(dj.explain(dj.grad(g), 1.0))
        """)
    printed = "\n".join(python("-c", program))
    assert "4 |     return x * undefined" in printed
    assert "x = x * x" in printed


# What Python reads ----------------------------------------------------------------------------------------------------

SHORT = HEAD + textwrap.dedent("""
    def f(x):
        return x * x
    try:
        print(dj.grad(f, backend="python")(1.5))
    except dj.DiffjitError as error:
        print(error)
    """)


def test_programs_that_python_reads(tmp_path):
    """A file can be read again, a pipe cannot."""
    (tmp_path / "program.py").write_text(SHORT)
    with (tmp_path / "program.py").open() as file:
        assert python(stdin=file) == ["3.0"]
    with (tmp_path / "program.py").open() as file:
        assert python("-", "more", stdin=file) == ["3.0"]
    printed = "\n".join(python(given=SHORT))
    assert "[DJ110]" in printed
    assert "help: put the program in a file, or pass it to python -c" in printed


def test_a_file_that_changed_while_it_runs(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(f"open({str(path)!r}, 'w').write('def f(x):\\n    return x + x\\n')\n{SHORT}")
    with path.open() as file:
        assert "[DJ110]" in python(stdin=file)[0]


# Prompts --------------------------------------------------------------------------------------------------------------

TYPED = """\
import diffjit as dj, numpy as np
dj.settings.backend = "python"
f = lambda x: x * x
print("=", dj.grad(f)(1.5))
def f(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y * np.exp(0.0)

print("=", dj.grad(f)(-1.5))
@dj.grad
def g(x):
    for _ in range(2):
        x = x * x
    else:
        x = x * 1.0
    return x

print("=", g(1.5))
class Own:
    def __init__(self, k): self.__k = k
    def f(self, x): return self.__k * x * x

print("=", dj.grad(Own(2.0).f)(1.5))
"""


def test_the_plain_prompt():
    """Lines that were typed with readline are its history; from 3.13 on, the prompt's own memory."""
    pytest.importorskip("readline")
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-q"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    ) as prompt:
        os.close(theirs)
        os.write(ours, f"{TYPED}\nexit()\n".encode())
        printed = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # how Linux says that the other side is closed
                break
            if not part:
                break
            printed += part
        os.close(ours)
    assert prompt.returncode == 0
    results = [line.strip() for line in printed.decode().splitlines() if line.startswith("= ")]
    assert results == ["= 3.0", "= -1.0", "= 13.5", "= 6.0"], printed.decode()


def remembering(monkeypatch, *lines):
    """A prompt whose readline remembers these lines."""
    history = types.SimpleNamespace(
        get_current_history_length=lambda: len(lines), get_history_item=lambda k: lines[k - 1]
    )
    monkeypatch.setitem(sys.modules, "readline", history)


def typed(file, *lines):
    """The variables of a prompt at which a statement was typed; nothing that runs holds its text."""
    scope = {}
    exec(codeop.compile_command("\n".join(lines) + "\n", file, "single"), scope)  # noqa: S102
    return scope


def test_histories(monkeypatch):
    f = typed("<stdin>", "def f(x):", "    if x > 0: return x * x", "    return x")["f"]
    other = typed("<stdin>", "def f(x):", "    if x > 0: return x * 5.0", "    return x")["f"]
    refused(f, "came through a pipe")
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    refused(f, "typed at a prompt")
    first = ("def f(x):", "    if x > 0: return x * x", "    return x")
    again = ("def f(x):", "    if x > 0: return x * 5.0", "    return x")
    remembering(monkeypatch, "f = 3", *first, "print(f(2))", *again, "f")
    agrees(f)
    agrees(other)
    remembering(monkeypatch, "def g(x):", "    return 7.0 * x", "g(1)")
    refused(typed("<console>", "def g(x):", "    return 8.0 * x")["g"], "typed at a prompt")


def test_the_prompt_of_python_3_13():
    """It keeps each input in linecache, under a name of its own, with `<stdin>` for its file."""
    scope = {}
    console = code.InteractiveConsole(scope)
    for number, text in enumerate(("import numpy as np", "def f(x):\n    y = np.sin(x)\n    return y * x\n")):
        name = f"<python-input-{number + 1000}>"
        linecache.cache[name] = (len(text), None, [line + "\n" for line in text.splitlines()], "<stdin>")
        console.runcode(compile(text, name, "single" if number == 0 else "exec"))
    agrees(scope["f"])


def test_inputs_that_are_kept_by_their_code(monkeypatch):
    """Later, it keeps them by code object."""
    f = typed("<stdin>", "def f(x):", "    return x * 3.0")["f"]
    kept = {f.__code__: ["def f(x):\n", "    return x * 3.0\n"]}
    monkeypatch.setattr(linecache, "_getlines_from_code", lambda c: kept.get(c, []), raising=False)
    agrees(f)


# exec -----------------------------------------------------------------------------------------------------------------

KEPT = "def kept(x):\n    return x * x\n\ndef of_others(x):\n    return kept(x) + x\n"


def test_texts_that_a_caller_holds():
    scope = {}
    exec("def f(x):\n    return x * x * x\n", scope)  # noqa: S102 - a constant
    agrees(scope["f"])
    for power in (2, 3):
        text = f"def powers(x):\n    return x ** {power}\n"
        exec(text, scope)  # noqa: S102 - a variable
        agrees(scope["powers"])
    exec(KEPT, scope)  # noqa: S102 - a module's
    agrees(scope["of_others"])
    two = eval("lambda x: x * 2.0, lambda x: x * 3.0")  # noqa: S307
    assert [dj.grad(f, backend="python")(1.5) for f in two] == [2.0, 3.0]
    exec(compile("def named(x):\n    return x * 9.0\n", "<made here>", "exec"), scope)  # noqa: S102
    agrees(scope["named"])


def made():
    """A function whose text is a constant of another one of its module."""
    scope = {}
    exec("def inner(x):\n    return x * 11.0\n", scope)  # noqa: S102
    return scope["inner"]


def test_texts_in_other_functions_of_the_module():
    agrees(made())


def built(*lines):
    """A function whose text nobody holds."""
    scope = {"np": np}
    exec("\n".join(lines), scope)  # noqa: S102
    return scope["f"]


def test_texts_that_nobody_holds():
    message = refused(built("def f(x):", "    return x * 13.0"))
    assert "help: keep the text that `exec` runs in a variable where diffjit is called" in message
    assert len(message.split("help: ")[1].splitlines()) == 1


def test_a_text_must_be_the_very_one():
    f = built("def f(x):", "    return x * 14.0")
    head = "def f(x):\n    return "
    for text in (f"{head}x * 14\n", f"{head}14.0 * x\n", f"{head}x * 14.0 + 0\n", f"{head}x * -14.0"):
        refused(f)
        assert text
    text = f"\n\n{head} x * 14.0  # places may differ\n"
    agrees(f)


def test_a_changed_text_is_not_taken_for_the_one_that_ran():
    """Both are held; each function has its own."""
    first, second = "def f(x):\n    return x * 15.0\n", "def f(x):\n    return x * 16.0\n"
    f, g = built(first), built(second)
    assert dj.grad(f, backend="python")(1.0) == 15.0
    assert dj.grad(g, backend="python")(1.0) == 16.0


def test_errors_show_the_line_of_a_text():
    scope = {}
    exec("\n\ndef f(x):\n    return x * undefined\n", scope)  # noqa: S102
    with pytest.raises(NameError) as caught:
        dj.grad(scope["f"], backend="python")(1.0)
    assert "4 |     return x * undefined" in str(caught.value)


def test_only_texts_with_all_words_are_compiled():
    f = built("def f(x):", "    return np.sin(x) * 17.0")
    some = "def f(x):\n    return np.cos(x) * 17.0\n"
    every = "def f(x):\n    return np.cos(x) * 17.0  # sin\n"
    found = list(texts.texts_of(f, f.__code__))
    assert every in found
    assert some not in found


# Functions from elsewhere ---------------------------------------------------------------------------------------------


def sent(f, **changes):
    """A function as dill and cloudpickle bring it: its code, and no module."""
    received = marshal.loads(marshal.dumps(f.__code__)).replace(**changes)  # noqa: S302 - our own
    return types.FunctionType(received, {"__builtins__": __builtins__, "np": np}, f.__name__, f.__defaults__)


def travelling(x, k=2.0):
    return np.sin(x) * k


def test_functions_that_were_sent(tmp_path):
    agrees(sent(travelling))
    agrees(sent(lambda x: x * x))
    moved = sent(travelling, co_filename=str(tmp_path / "gone.py"))
    refused(moved, "there is no file .*gone.py[\\s\\S]*put the file where it was")
