"""Counts the calls of SciPy in the Python files of repositories, and says what diffjit makes of each.

python -m tests.count.calls FOLDER ...            the share of calls by what becomes of them, and the names refused
python -m tests.count.calls --list FILE ROOT      the repositories that a file names, one a line, under a folder
python -m tests.count.calls --tests ...           files of tests, too (left out otherwise)
python -m tests.count.calls --top 60 ...          how many names are listed

A folder is a checkout or a git directory without one, of which the newest commit is read. A call is counted where its
name leads to SciPy through the imports of the file, by the scope that it stands in: `import scipy.stats as st` and
`st.norm.pdf(x)`, `from scipy.optimize import minimize as m` and `m(f, x)`; methods of objects that calls have returned
are not. Names are those of today's SciPy: what it has moved is counted by its new name, what it no longer has is
counted apart, since no program with this SciPy can call it.

What diffjit makes of a name is read from what was measured (`tests/count/measured.txt`), or, where that does not have
it, measured now with the programs of `tests/count/elsewhere.txt`: "differentiated", "value only" (what it gives are no
floats, or they do not move), "value only, not tried" (types, files, settings and the like), "value, no derivative yet",
or "refused". That a name is differentiated does not say that each of its options is.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import subprocess
import sys
import types
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.count.measure import Outcome, measured
from tests.count.page import verdict
from tests.count.record import read
from tests.count.rows import Row, declared, rows

KINDS = (
    "differentiated", "value only", "value only, not tried", "value, no derivative yet", "refused", "not known",
    "gone from SciPy",
)  # fmt: skip
ELSEWHERE = Path(__file__).with_name("elsewhere.txt")


# Files ----------------------------------------------------------------------------------------------------------------


def is_test(path: str) -> bool:
    """Whether a path is that of a test."""
    parts = path.lower().split("/")
    return any(part in ("test", "tests", "testing") for part in parts[:-1]) or parts[-1].startswith(
        ("test_", "conftest")
    )


def wanted(path: str, *, tests: bool) -> bool:
    """Whether a file is read: Python, and no copy of SciPy itself."""
    return path.endswith(".py") and "/scipy/" not in f"/{path}" and (tests or not is_test(path))


def files(folder: Path, *, tests: bool) -> Iterator[tuple[str, str]]:
    """The Python files of a checkout, or of the newest commit of a git directory."""
    if not (folder / "objects").is_dir():
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder).as_posix()
            if wanted(name, tests=tests):
                yield name, path.read_text(errors="replace")
        return
    git = ["git", f"--git-dir={folder}"]
    listed = subprocess.run([*git, "ls-tree", "-r", "HEAD"], capture_output=True, text=True, check=True)  # noqa: S603
    chosen = [(line.split("\t", 1)[1], line.split()[2]) for line in listed.stdout.splitlines() if "\t" in line]
    chosen = [(name, blob) for name, blob in chosen if wanted(name, tests=tests)]
    asked = "".join(f"{blob}\n" for _, blob in chosen).encode()
    given = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout  # noqa: S603
    at = 0
    for name, _ in chosen:
        end = given.index(b"\n", at)
        head = given[at:end].split()
        if head[-1] == b"missing":
            at = end + 1
            continue
        size = int(head[2])
        yield name, given[end + 1 : end + 1 + size].decode(errors="replace")
        at = end + size + 2


# Names ----------------------------------------------------------------------------------------------------------------


@dataclass
class Scope:
    """What names mean in a function, class body or module: the dotted name in SciPy, or None for anything else."""

    names: dict[str, str | None] = field(default_factory=dict)

    def bind(self, name: str, target: str | None) -> None:
        """A name's meaning; of several, as by a `try` around imports, that in SciPy."""
        self.names[name] = target or self.names.get(name)


class Calls(ast.NodeVisitor):
    """The calls of SciPy in one file, by dotted name as the file writes it."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.found: Counter[str] = Counter()

    def scope(self, body: list[ast.stmt], params: list[str]) -> Scope:
        """The scope of a body: its imports and all that it assigns."""
        made = Scope()
        for name in params:
            made.names[name] = None
        waiting: list[ast.AST] = list(body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                made.bind(node.name, None)
                continue
            if isinstance(node, ast.Lambda):
                continue
            if isinstance(node, ast.Import):
                for alias in node.names:
                    known = alias.name.split(".")[0] == "scipy"
                    whole = alias.name if alias.asname else alias.name.split(".")[0]
                    made.bind(alias.asname or alias.name.split(".")[0], whole if known else None)
            elif isinstance(node, ast.ImportFrom):
                self.imported(made, node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                made.bind(node.id, None)
            waiting += ast.iter_child_nodes(node)
        return made

    @staticmethod
    def imported(made: Scope, node: ast.ImportFrom) -> None:
        """`from ... import ...`."""
        module = node.module or ""
        known = not node.level and module.split(".")[0] == "scipy"
        for alias in node.names:
            if alias.name != "*":
                made.bind(alias.asname or alias.name, f"{module}.{alias.name}" if known else None)
            elif known:
                for name in public_names(module):
                    made.names.setdefault(name, f"{module}.{name}")

    def meaning(self, name: str) -> str | None:
        """The dotted name in SciPy that a name stands for here."""
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted name in SciPy of an expression."""
        if isinstance(node, ast.Name):
            return self.meaning(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def inside(self, node: Any, body: list[ast.stmt], params: list[str]) -> None:
        """Visit what has a scope of its own."""
        self.scopes.append(self.scope(body, params))
        self.generic_visit(node)
        self.scopes.pop()

    def visit_Module(self, node: ast.Module) -> None:
        self.inside(node, node.body, [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.inside(node, node.body, parameters(node.args))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.inside(node, node.body, parameters(node.args))

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.inside(node, [], parameters(node.args))

    def visit_Call(self, node: ast.Call) -> None:
        name = self.dotted(node.func)
        if name is not None and name != "scipy":
            self.found[name] += 1
        self.generic_visit(node)


def parameters(given: ast.arguments) -> list[str]:
    """The names of a function's parameters."""
    more = [a for a in (given.vararg, given.kwarg) if a is not None]
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *more)]


def calls(text: str) -> Counter[str]:
    """The calls of SciPy in a file's text; none where it is not Python 3."""
    if "scipy" not in text:
        return Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = ast.parse(text)
        except (SyntaxError, ValueError):
            return Counter()
    visitor = Calls()
    visitor.visit(parsed)
    return visitor.found


def public_names(module: str) -> list[str]:
    """What `from module import *` imports."""
    thing = resolved(module)
    return list(getattr(thing, "__all__", ())) if isinstance(thing, types.ModuleType) else []


MOVED = {  # functions that SciPy has given another name, or another module
    "integrate.simps": "integrate.simpson", "integrate.trapz": "integrate.trapezoid",
    "integrate.cumtrapz": "integrate.cumulative_trapezoid", "misc.logsumexp": "special.logsumexp",
    "misc.comb": "special.comb", "misc.factorial": "special.factorial", "special.sph_harm": "special.sph_harm_y",
    "misc.derivative": "differentiate.derivative", "stats.median_absolute_deviation":
    "stats.median_abs_deviation", "stats.binom_test": "stats.binomtest",
}  # fmt: skip
WINDOWS = ("hann", "hanning", "hamming", "blackman", "gaussian", "kaiser", "tukey", "boxcar", "bartlett", "triang")


def resolved(name: str) -> Any:
    """The thing that a dotted name stands for in today's SciPy; None where it has none."""
    parts = name.split(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(len(parts), 0, -1):
            try:
                thing = importlib.import_module(".".join(parts[:k]))
                for part in parts[k:]:
                    thing = getattr(thing, part)
            except (ImportError, AttributeError):
                continue
            return thing
    return None


def elsewhere() -> list[Row]:
    """The rows for names that the record does not have; of several, the most exact pattern comes first."""
    return sorted(declared(ELSEWHERE.read_text().splitlines()), key=lambda row: row.name.count("*"))


class Names:
    """Names as files write them, and those that are measured."""

    def __init__(self) -> None:
        self.table, self.record = rows(), read()
        self.places: dict[int, str] = {}
        self.kept: list[Any] = []
        for name in sorted(self.record, key=lambda n: ("numpy" in n, len(n))):
            thing = resolved(name)
            if thing is not None and name.startswith("scipy."):
                self.places.setdefault(id(thing), name)
                self.kept.append(thing)
        self.elsewhere = elsewhere()
        self.outcomes: dict[str, Outcome] = {}

    def known(self, name: str) -> str:
        """The name in the record, or in today's SciPy; an empty text where SciPy no longer has it."""
        if name in self.record:
            return name
        short = name.removeprefix("scipy.")
        if short in MOVED:
            return self.known(f"scipy.{MOVED[short]}")
        if short.startswith("signal.") and short.split(".")[-1] in WINDOWS:
            return "scipy.signal.windows." + short.split(".")[-1].replace("hanning", "hann")
        thing = resolved(name)
        if thing is None:
            base, _, method = name.rpartition(".")
            outer = resolved(base) if base.count(".") > 1 else None
            if outer is None or isinstance(outer, types.ModuleType):
                return ""
            return f"{self.known(base)}.{method}"
        if id(thing) in self.places:
            return self.places[id(thing)]
        base, _, method = name.rpartition(".")
        if base.count(".") > 1 and not isinstance(resolved(base), types.ModuleType):
            return f"{self.known(base)}.{method}"
        return name

    def kind(self, name: str) -> tuple[str, str]:
        """What diffjit makes of a name, and in which words it refuses."""
        found, row = self.record.get(name), self.table.get(name)
        if found is None:
            row = next((one for one in self.elsewhere if fnmatch(name, one.name)), None)
            if row is None:
                return "not known", ""
            if row.program not in self.outcomes:
                self.outcomes[row.program] = (
                    {"result": "nature"} if row.reason else measured(row, compiled=False, brief=True)
                )
            found = self.outcomes[row.program]
        kind, why = verdict(name, found, row.reason if row else "")
        if kind == "differentiable":
            return "differentiated", ""
        if kind == "refused":
            return ("value, no derivative yet", why) if found.get("value") == "ok" else ("refused", why)
        if kind != "value only":
            return "not known", why
        return ("value only, not tried" if row and row.reason else "value only"), why


# The count ------------------------------------------------------------------------------------------------------------


def counted(folders: list[Path], *, tests: bool) -> tuple[dict[str, Counter[str]], dict[str, int]]:
    """The calls of each repository by known name, and how many files it has."""
    names, found, sizes, seen = Names(), {}, {}, dict[str, str]()
    for folder in folders:
        label = folder.parent.name if folder.name == "repo" else folder.name
        total: Counter[str] = Counter()
        size = 0
        for _, text in files(folder, tests=tests):
            size += 1
            for name, count in calls(text).items():
                if name not in seen:
                    seen[name] = names.known(name) or f"gone:{name}"
                total[seen[name]] += count
        found[label], sizes[label] = total, size
    return found, sizes


def told(found: dict[str, Counter[str]], sizes: dict[str, int], top: int) -> str:
    """The report."""
    names = Names()
    total: Counter[str] = sum(found.values(), Counter())
    users = {name: sum(name in one for one in found.values()) for name in total}
    kinds: Counter[str] = Counter()
    members: defaultdict[str, Counter[str]] = defaultdict(Counter)
    why = {}
    for name, count in total.items():
        kind, why[name] = ("gone from SciPy", "") if name.startswith("gone:") else names.kind(name)
        kinds[kind] += count
        members[kind][name] += count
    here = sum(count for kind, count in kinds.items() if kind != "gone from SciPy")
    lines = [
        (
            f"{len(found)} repositories, {sum(bool(one) for one in found.values())} of which call SciPy; "
            f"{sum(sizes.values())} files; {here} calls of {sum(len(members[k]) for k in KINDS[:-1])} names, and "
            f"{kinds['gone from SciPy']} calls of names that SciPy no longer has"
        )
    ]
    lines += [
        f"{kinds[k]:6} {100 * kinds[k] / max(here, 1):5.1f} %  {len(members[k]):4} names  {k}" for k in KINDS[:-1]
    ]
    for kind in KINDS[3:]:
        lines += ["", f"{kind}: calls, repositories, name"]
        lines += [f"{n:6} {users[name]:4}  {name}  {why[name]}"[:150] for name, n in members[kind].most_common(top)]
    return "\n".join(lines)


def main() -> None:
    """The command."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folders", nargs="+", type=Path)
    asked.add_argument("--list", type=Path)
    asked.add_argument("--tests", action="store_true")
    asked.add_argument("--top", type=int, default=40)
    given = asked.parse_args()
    folders: list[Path] = given.folders
    if given.list:
        root, folders, missing = folders[0], [], []
        for line in given.list.read_text().splitlines():
            name = line.split("#")[0].strip()
            if name:
                near = [root / name.replace("/", "+") / "repo", root / name.replace("/", "+"), root / name]
                here = next((path for path in near if path.exists()), None)
                (missing if here is None else folders).append(name if here is None else here)
        sys.stdout.write("".join(f"not there: {name}\n" for name in missing))
    found, sizes = counted(folders, tests=given.tests)
    sys.stdout.write(told(found, sizes, given.top) + "\n")


if __name__ == "__main__":
    main()
