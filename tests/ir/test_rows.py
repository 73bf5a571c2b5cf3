"""Each kind of operation has one row, and the row says everything; no table of kinds stands beside the rows."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import diffjit
import diffjit.lowering.calls.cpu  # the kinds that lowering makes
import diffjit.primitives
from diffjit.ir.ops import ROWS, Raises, Reads, View
from diffjit.ir.text.expressions import SourcePrinter
from diffjit.ir.text.statements import STATEMENTS
from diffjit.lowering.text.forms import form
from diffjit.primitives.registry import ELEMENTWISE, RULES
from diffjit.primitives.semantics import printed
from diffjit.transforms.lengths import Lengths
from diffjit.transforms.reverse import memory_rules, tapes

ROOT = Path(diffjit.__file__).parent
DTYPES = set("biufcOUSmM")


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def made():
    """The kinds that the program text gives when operations are made."""
    for name, tree in modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            kind = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            builds = called in ("op", "value") and owner.split(".")[-1] in ("build", "b", "builder")
            if isinstance(kind, str) and (builds or called == "Op"):
                yield kind, name


def test_whatever_is_made_has_a_row():
    missing = {kind: place for kind, place in made() if kind not in ROWS}
    assert not missing
    assert len(set(made())) > 60


def test_rules_and_derivatives_belong_to_rows():
    assert set(ELEMENTWISE) == {kind for kind, row in ROWS.items() if row.by_element}
    assert set(RULES) <= set(ROWS)


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_a_row_is_complete(kind):
    row = ROWS[kind]
    operands = row.operands.split()
    assert row.kind == kind
    assert len(row.about) > 4 or row.by_element
    assert len(set(operands)) == len(operands)
    assert not any(name.startswith("*") for name in operands[:-1])
    for position in (*row.writes, row.value, row.keeps, row.like):
        assert position is None or position < len(operands)
    for first in (row.lengths_at, row.indices_at):
        assert first is None or operands[first].startswith("*")
    assert (row.raises is Raises.INDEX) == (row.indices_at is not None)
    assert (row.raises is Raises.ALLOCATION) <= (row.lengths_at is not None)
    assert row.keeps is None or (row.writes and row.value == row.keeps)
    assert not (row.fill and row.view is not View.NEVER)
    assert not (row.boolean and row.reads is Reads.SIZE)
    assert not row.exact or not row.fails
    if row.by_element:
        assert operands == list(ELEMENTWISE[kind].params)
    if kind in RULES:
        given = [("*" if k == len(RULES[kind].params) - 1 and RULES[kind].variadic else "") + name
                 for k, name in enumerate(RULES[kind].params)]  # fmt: skip
        assert operands == given


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_a_kind_is_written_in_one_way(kind):
    assert form(kind), "nothing says how machine code is made of it"


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_a_kind_has_a_text(kind):
    row = ROWS[kind]
    if row.inner or row.literal or row.about.endswith("(made while lowering)") or kind in ("for", "while", "if"):
        return
    spelled = hasattr(SourcePrinter, f"op_{kind}") or hasattr(SourcePrinter, f"ew_{kind}")
    known = row.operator or kind in printed() or any(hasattr(m, kind) for m in (np, np.linalg, np.fft))
    assert spelled or kind in STATEMENTS or known or kind in ("call", "raise"), "nothing says how it is printed"


ARRAYS = sorted(
    kind for kind, row in ROWS.items()
    if kind in RULES and not row.constant and not row.writes and row.cost and kind not in ("det", "gather", "mask_get")
)  # fmt: skip


@pytest.mark.parametrize("kind", ARRAYS)
def test_the_lengths_of_what_comes_out_are_known(kind):
    row = ROWS[kind]
    ruled = row.like is not None or row.lengths_at is not None or row.by_element or row.reduces
    assert ruled or hasattr(Lengths, f"_of_{kind}")


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_each_mode_has_a_rule_or_nothing_to_do(kind):
    row = ROWS[kind]
    if row.by_element or row.constant or row.control or row.effect or row.view is View.ALWAYS:
        return
    if row.about.endswith("(made while lowering)") or kind in ("foreign", "custom_link", "kept"):
        return
    rule = RULES.get(kind)
    mirrored = any(hasattr(cls, f"mirror_{kind}") for module in (memory_rules, tapes)
                   for cls in vars(module).values() if isinstance(cls, type))  # fmt: skip
    assert mirrored or (rule is not None and rule.vjp_rule is not None), "no reverse rule"
    assert mirrored or (rule is not None and (rule.linear or rule.bilinear or rule.jvp_rule is not None)), (
        "no forward rule"
    )


# Tables of kinds that a pass or a mode has as its own rules: rewritings, transfer functions, texts. A new one has to be
# argued for here; what two places ask belongs into the row. One is none: LLVM's intrinsics, in `lowering.cuda.images`,
# have the names of kinds.
ALLOWED = 100


def test_tables_of_kinds_do_not_grow():
    found = Counter()
    for name, tree in modules():
        if name.startswith(("primitives/", "ir/ops/")):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, (ast.Set, ast.Dict, ast.Tuple, ast.List)):
                continue
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            words = [i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)]
            kinds = [w for w in words if w in ROWS]
            if len(kinds) >= 3 and len(kinds) >= 0.7 * len(items):
                found[name] += 1
    assert sum(found.values()) <= ALLOWED, found.most_common(12)


OWN = """
import math
import numpy as np
from diffjit.ir.text.expressions import SourcePrinter
from diffjit.ir.text.statements import STATEMENTS
from diffjit.lowering.text.forms import form
from diffjit.primitives.registry import elementwise


def softsign(x):
    return x / (1 + abs(x))


elementwise("softsign(x)", "1 / (1 + absolute(x)) ** 2", scalar=softsign, also=(softsign,))

import diffjit as dj


def f(x):
    total = 0.0
    for k in range(x.size):
        total += softsign(x[k]) * k
    return total + np.sum(np.sin(x))


x = np.array([0.5, -1.5, 3.0])
slopes = np.arange(3) / (1 + abs(x)) ** 2 + np.cos(x)
bends = -2 * np.arange(3) * np.sign(x) / (1 + abs(x)) ** 3 - np.sin(x)
for backend in ("python", "numba"):
    assert dj.jit(f, backend=backend)(x) == f(x)
    assert np.allclose(dj.grad(f, backend=backend)(x), slopes)
    assert np.allclose(dj.jvp(f, (x,), (np.ones(3),), backend=backend)[1], slopes.sum())
    assert np.allclose(dj.hessian(f, backend=backend)(x), np.diag(bends))
print("right")
"""


def test_a_function_of_our_own_is_one_row(tmp_path):
    program = tmp_path / "own.py"
    program.write_text(OWN)
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "right\n", done.stderr


LACKING = """
import numpy as np
from diffjit.ir.ops import Raises, Row, declare
from diffjit.ir.text.expressions import SourcePrinter
from diffjit.ir.text.statements import STATEMENTS
from diffjit.lowering.text.forms import form
from diffjit.primitives.registry import FUNCTIONS, elementwise


def mystery(x):
    return x


elementwise("mystery(x)", None, also=(mystery,))

import diffjit as dj


def f(x):
    return mystery(x) * 2.0


for verb in (lambda: dj.grad(f)(1.0), lambda: dj.jvp(f, (1.0,), (1.0,)), lambda: dj.jit(f)(1.0)):
    try:
        verb()
    except dj.DiffjitError as error:
        print(error.code, "mystery(x) * 2.0" in str(error))
"""


def test_what_a_mode_has_no_rule_for_is_refused_the_same_way(tmp_path):
    program = tmp_path / "lacking.py"
    program.write_text(LACKING)
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "DJ202 True\n" * 3, done.stdout + done.stderr
