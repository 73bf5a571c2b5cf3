"""What type checkers see of the public names: pyright is run on a program, and says what its comments say."""

import ast
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import diffjit as dj

ROOT = Path(__file__).parents[1]
STUB = ROOT / "diffjit" / "__init__.pyi"

PROGRAM = """
from typing import Any

import diffjit as dj


def cost(x: float, k: float = 2, *, n: int = 3) -> float:
    return x * k * n


class Model:
    @dj.jit
    def step(self, x: float) -> float:
        return x

    @dj.jit(backend="python")
    def other(self, x: float) -> float:
        return x


@dj.grad
def plain(x: float, y: float) -> float:
    return x * y


@dj.grad(argnums="y")
def chosen(x: float, y: float) -> float:
    return x * y


@dj.value_and_grad(argnums=(0, 1))
def both(x: float, y: float) -> float:
    return x * y


@dj.custom_jvp
def ruled(x: float) -> float:
    return x


@ruled.defjvp
def rule(primals: Any, tangents: Any) -> Any:
    return primals, tangents


@dj.custom_vjp(nondiff_argnums=(1,))
def back(x: float, n: int) -> float:
    return x


back.defvjp(cost, cost)


@dj.foreign(result=float)
def outside(x: float) -> float:
    return x


@dj.checkpoint
def layer(x: list[float]) -> list[float]:
    return x


@dj.vmap(in_axes=(0, None))
def lanes(x: Any, w: Any) -> Any:
    return x


@dj.constant
def table(n: int) -> list[float]:
    return [1.0] * n


reveal_type(dj.grad(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.grad(cost, argnums=("x", "k")))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.value_and_grad(cost))  # (x: float, k: float = 2, *, n: int = 3) -> tuple[float, Any]
reveal_type(dj.jit(cost))  # (x: float, k: float = 2, *, n: int = 3) -> float
reveal_type(dj.jit(cost)(1.0))  # float
reveal_type(dj.value_and_grad(cost)(1.0)[0])  # float
reveal_type(dj.jacfwd(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.jacrev(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.jacobian(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.hessian(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.sparse_jacobian(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.sparse_hessian(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.sparsity(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.vmap(cost))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.grad(dj.grad(cost)))  # (x: float, k: float = 2, *, n: int = 3) -> Any
reveal_type(dj.jit(dj.value_and_grad(cost)))  # (x: float, k: float = 2, *, n: int = 3) -> tuple[float, Any]
reveal_type(dj.constant(cost))  # (x: float, k: float = 2, *, n: int = 3) -> float
reveal_type(dj.checkpoint(cost))  # (x: float, k: float = 2, *, n: int = 3) -> float
reveal_type(plain)  # (x: float, y: float) -> Any
reveal_type(chosen)  # (x: float, y: float) -> Any
reveal_type(both(1.0, 2.0))  # tuple[float, Any]
reveal_type(Model().step)  # (x: float) -> float
reveal_type(Model().other)  # (x: float) -> float
reveal_type(ruled(1.0))  # float
reveal_type(rule)  # (primals: Any, tangents: Any) -> Any
reveal_type(back(1.0, 2))  # float
reveal_type(dj.grad(ruled))  # (x: float) -> Any
reveal_type(outside)  # (x: float) -> float
reveal_type(layer)  # (x: list[float]) -> list[float]
reveal_type(lanes)  # (x: Any, w: Any) -> Any
reveal_type(table(3))  # list[float]
reveal_type(dj.jvp(cost, (1.0,), (1.0,)))  # tuple[float, Any]
reveal_type(dj.jvp(cost, (1.0,), (1.0,), has_aux=True))  # tuple[Any, Any, Any]
reveal_type(dj.vjp(cost, 1.0))  # tuple[float, (Any) -> tuple[Any, ...]]
reveal_type(dj.vjp(cost, 1.0, has_aux=True))  # tuple[Any, (Any) -> tuple[Any, ...], Any]
reveal_type(dj.linearize(cost, 1.0))  # tuple[float, (...) -> Any]
reveal_type(dj.jet(cost, (1.0,), ([1.0],)))  # tuple[float, Any]
reveal_type(dj.linear_transpose(cost, 1.0))  # (Any) -> tuple[Any, ...]
reveal_type(dj.hvp(cost, (1.0,), (1.0,)))  # Any
reveal_type(dj.hvp(cost))  # (tuple[Any, ...] | list[Any], tuple[Any, ...] | list[Any]) -> Any
reveal_type(dj.stop_gradient(1.0))  # float
reveal_type(dj.checkpointed(range(3), 2))  # Iterable[int]
reveal_type(dj.source(cost, 1.0, stage="asm"))  # str
reveal_type(dj.memory(cost, 1.0).bytes)  # int | None
reveal_type(dj.explain(cost, 1.0))  # Explanation
reveal_type(dj.check_grads(cost, (1.0,)))  # Report
reveal_type(dj.settings.full_tracebacks)  # bool
reveal_type(dj.UsageError("DJ500", "text").code)  # str

dj.grad(cost)("text")  # error: reportArgumentType
dj.grad(cost)(1.0, 2.0, 3)  # error: reportCallIssue
dj.jit(cost)(1.0, m=3)  # error: reportCallIssue
dj.grad(3)  # error: reportCallIssue
dj.grad(cost, argnum=1)  # error: reportCallIssue
dj.source(cost, 1.0, stage="llmv")  # error: reportArgumentType
dj.gard(cost)  # error: reportAttributeAccessIssue
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What pyright says of each line of the program: kind, rule and message."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    folder = tmp_path_factory.mktemp("typing")
    (folder / "program.py").write_text(PROGRAM)
    settings = {"extraPaths": [str(ROOT)], "pythonVersion": "3.11", "typeCheckingMode": "standard", "include": ["."]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    found = {}
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        found.setdefault(one["range"]["start"]["line"], []).append((one["severity"], one.get("rule"), one["message"]))
    return found


LINES = [
    (n, line) for n, line in enumerate(PROGRAM.splitlines()) if line.startswith("reveal_type") or "# error" in line
]


@pytest.mark.parametrize(("number", "line"), LINES, ids=[line.partition("  #")[0] for _, line in LINES])
def test_line(number, line, said):
    comment = line.partition("  # ")[2]
    (severity, rule, message) = said[number][0]
    if comment.startswith("error: "):
        assert (severity, rule) == ("error", comment.removeprefix("error: "))
    else:
        assert severity == "information"
        assert message.partition('" is ')[2] == f'"{comment}"'


def test_no_other_line_has_an_error(said):
    assert set(said) == {number for number, _ in LINES}


# The stub says what the functions take.


def declared():
    """The functions of the stub: names and forms of their parameters, overload by overload."""
    found = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            a = node.args
            plain = [*a.posonlyargs, *a.args]
            defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
            form = [("positional", p.arg, d) for p, d in zip(plain, defaults, strict=True)]
            form += [("var", a.vararg.arg, None)] if a.vararg else []
            form += [("keyword", p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
            form += [("keywords", a.kwarg.arg, None)] if a.kwarg else []
            found.setdefault(node.name, []).append(form)
    return found


KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
    inspect.Parameter.VAR_POSITIONAL: "var",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "keywords",
}


@pytest.mark.parametrize("name", sorted(n for n in dj.__all__ if inspect.isfunction(getattr(dj, n))))
def test_parameters_are_those_of_the_function(name):
    real = inspect.signature(getattr(dj, name)).parameters
    for form in declared()[name]:
        assert [(kind, arg) for kind, arg, _ in form] == [(KINDS[p.kind], p.name) for p in real.values()]
        for _, arg, default in form:
            if default is not None and ast.unparse(default) != "...":
                assert ast.literal_eval(default) == real[arg].default


def test_the_stub_holds_each_public_name():
    text = STUB.read_text()
    for name in [*dj.__all__, "__version__"]:
        assert re.search(rf"(?m)^(def {name}\(|from .* import \w+ as {name}$|{name}: )", text), name
    assert set(declared()) <= set(dj.__all__)


def test_types_are_shipped():
    assert (ROOT / "diffjit" / "py.typed").exists()
