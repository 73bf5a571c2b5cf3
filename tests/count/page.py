"""The page `docs/support.md`, made of the record."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from tests.count.names import MODULES
from tests.count.record import read, versions
from tests.count.rows import rows

PAGE = Path(__file__).parents[2] / "docs" / "support.md"
KINDS = ("differentiable", "value only", "refused", "not measured")
REASONS = {
    "DJ201": "no rule for it, and no source that diffjit can read",
    "DJ202": "no derivative by one of its arguments (the value is right)",
    "DJ203": "no derivative for complex numbers",
    "DJ205": "compiled code without a rule: the value is right, a derivative is refused",
    "DJ323": "a dtype that derivatives are not made for",
    "DJ118": "an option, or a formula that SciPy does not have (it integrates, adds up or searches)",
    "later": "refused when the program runs",
}
MODES = ("value", "compiled", "jvp", "grad", "second", "lanes")
HEAD = """# What is counted

Every public callable of the modules below was called with example arguments ({versions}), as a program, and
compared: its value with what NumPy or SciPy give, `jvp` and `grad` with difference quotients; the second derivative,
forward over reverse and reverse over reverse, with second difference quotients; `vmap` with a loop. Nothing is
declared: `python -m tests.count` measures again and writes this page, and a test fails where NumPy or SciPy have a
callable that the count does not know. The arguments are in `tests/count/rows`, what each mode gave in
`tests/count/measured.txt`. {modes}

- **differentiable**: value, `jvp` and `grad` are right.
- **value only**: integers, booleans, text, types, files, settings; also numbers that do not move with any argument.
- **refused**: an [error](errors.md) that says so when the derivative is built, never a wrong number.

One callable has one example, by all its arguments that are floats; [limits](limits.md) says which options are refused.

"""


def verdict(name: str, found: dict[str, str], reason: str) -> tuple[str, str]:
    """The kind of a callable, and why it is of that kind."""
    if reason:
        return "value only", reason
    if found["result"] == "waiting":
        return "not measured", "waits"
    if found["result"] == "raises":
        return "value only", "SciPy's own call raises"
    bad = [found[mode] for mode in ("value", "jvp", "grad") if found.get(mode, "ok") not in ("ok", "implicit")]
    if bad:
        return "refused", bad[0]
    if found["result"] in ("value", "constant"):
        return "value only", "right inside programs"
    rest = [f"{mode}: {found[mode]}" for mode in ("second", "lanes", "compiled") if found.get(mode, "ok") != "ok"]
    if "by" in found:
        return "differentiable", f"by: {found['by']}"
    return "differentiable", rest[0] if rest else ""


def short(reason: str) -> str:
    """A reason in the words of the page."""
    code = reason.split(" ", maxsplit=1)[0]
    return REASONS.get(code, f"{code}: {reason[len(code) :].strip()}" if code.startswith("DJ") else reason)


def names_of(names: list[str]) -> str:
    """Names, those of the methods of a distribution together."""
    families: dict[str, list[str]] = defaultdict(list)
    plain = []
    for name in names:
        head, _, method = name.rpartition(".")
        if name.startswith("scipy.stats.") and name.count(".") == 3:
            families[method].append(head.rpartition(".")[2])
        else:
            plain.append(name.rpartition(".")[2])
    parts = [f"`{name}`" for name in plain]
    parts += [f"`{method}` of {', '.join(sorted(found))}" for method, found in sorted(families.items())]
    return ("; " if families else " ").join(parts)


def module_of(name: str) -> str:
    """The module that a callable is counted with."""
    if name.startswith("scipy.stats.") and name.count(".") == 3:
        return "distributions of scipy.stats"
    return name.rpartition(".")[0]


def section(module: str, members: dict[str, tuple[str, str]]) -> list[str]:
    """What is said of one module."""
    lines = [f"## {module}", ""]
    groups: dict[str, list[str]] = defaultdict(list)
    for name, (kind, reason) in members.items():
        if kind == "refused":
            groups[short(reason)].append(name)
        elif kind == "value only" and reason != "right inside programs":
            groups[f"value only ({reason})"].append(name)
        elif kind == "differentiable" and reason:
            mode, _, words = reason.partition(": ")
            mode = {
                "second": "no second derivative",
                "lanes": "not under `vmap`",
                "compiled": "not compiled",
                "by": "by some arguments",
            }[mode]
            told = "" if mode.startswith("by") else f" ({words.split(' ')[0]})"
            groups[f"differentiable, {mode}{told}"].append(name)
    if not groups:
        return [*lines, "All of it.", ""]
    for reason, found in sorted(groups.items(), key=lambda group: (group[0].startswith("value"), -len(group[1]))):
        lines += [f"{reason[0].upper()}{reason[1:]}: {len(found)}", f": {names_of(found)}", ""]
    return lines


def measured_modes(record: dict[str, dict[str, str]]) -> str:
    """How many callables each mode was right for."""
    right = Counter(mode for found in record.values() for mode in MODES if found.get(mode) in ("ok", "implicit"))
    told = ", ".join(f"{mode} {right[mode]}" for mode in MODES)
    return f"Right in each mode: {told}; the rest of a mode was refused, was not called for, or was not tried."


def page() -> str:
    """The text of the page."""
    table, record = rows(), read()
    verdicts = {
        name: verdict(name, found, table[name].reason if name in table else "") for name, found in record.items()
    }
    modules = [*MODULES, "distributions of scipy.stats"]
    by_module = {m: {n: v for n, v in verdicts.items() if module_of(n) == m} for m in modules}
    others = sorted({found["with"] for found in record.values() if "with" in found})
    measured_with = "; what is newer, with ".join([versions(), *([" or with ".join(others)] if others else [])])
    lines = [HEAD.format(versions=measured_with, modes=measured_modes(record))]
    lines += [
        "| module | callables | differentiable | value only | refused | not measured yet |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    total = Counter(kind for kind, _ in verdicts.values())
    for m in modules:
        count = Counter(kind for kind, _ in by_module[m].values())
        lines.append(f"| {m} | {len(by_module[m])} | " + " | ".join(str(count[k]) for k in KINDS) + " |")
    lines += [f"| **all** | **{len(verdicts)}** | " + " | ".join(f"**{total[k]}**" for k in KINDS) + " |", ""]
    for m in modules:
        lines += section(m, by_module[m])
    return "\n".join(lines).rstrip() + "\n"


def write() -> None:
    """Write the page."""
    PAGE.write_text(page())
