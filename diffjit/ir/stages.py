"""What becomes of a program, stage by stage, for those who look: `settings.dump`, `source(..., stage="llvm")`.

Passes and compilers tell `record` and `note` what they have made. Where nobody listens, these do nothing; a listener
belongs to the program that is being made in this thread, and to the compilation that its first call starts.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from diffjit.ir.dump import format_ir
from diffjit.ir.nodes import Function
from diffjit.ir.walk import callees
from diffjit.settings import settings

PARTS = "parts"  # of the loop program, a line each, which only `explain` reads


class Stages:
    """The stages of one program: texts by name, or files of a folder."""

    def __init__(self, *, folder: Path | None = None, wanted: frozenset[str] = frozenset()) -> None:
        self.folder = folder
        self.wanted = wanted  # those that are kept where there is no folder
        self.texts: list[str] = []
        self.count = 0
        self.last = ""

    def wants(self, stage: str) -> bool:
        """Whether somebody reads this stage."""
        return stage in self.wanted or (self.folder is not None and stage != PARTS)

    def add(self, stage: str, suffix: str, text: str) -> None:
        """Take the text of a stage."""
        if self.folder is None:
            self.texts.append(text)
            return
        (self.folder / f"{self.count:02d}-{stage}.{suffix}").write_text(text, encoding="utf-8")
        self.count += 1


_listener: ContextVar[Stages | None] = ContextVar("_listener", default=None)


def record(stage: str, function: Function) -> None:
    """A pass has been over a function: write its IR, if that has changed."""
    listener = _listener.get()
    if listener is None or not listener.wants(stage):
        return
    text = "\n".join(format_ir(f) for f in callees(function))
    if text != listener.last:
        listener.last = text
        listener.add(stage, "ir", text)


def note(stage: str, suffix: str, text: Callable[[], str]) -> None:
    """A stage that is a text."""
    listener = _listener.get()
    if listener is not None and listener.wants(stage):
        listener.add(stage, suffix, text())


def listening() -> Stages | None:
    """Who listens."""
    return _listener.get()


@contextmanager
def told(listener: Stages | None) -> Generator[None]:
    """For a while, somebody else listens."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def kept(*stages: str) -> Generator[list[str]]:
    """Collect the texts of some stages."""
    listener = Stages(wanted=frozenset(stages))
    with told(listener):
        yield listener.texts


@contextmanager
def recorded(made: Any) -> Generator[None]:
    """While a program is made: where `settings.dump` names a folder, its stages go into one of their own there."""
    if not settings.dump:
        yield
        return
    function = inspect.unwrap(made)
    listener = Stages(folder=_folder(getattr(function, "__name__", type(function).__name__)))
    with told(listener):
        note("source", "py", lambda: f"# {made!r}\n{_source(function)}")
        yield


_OURS = re.compile(r"\d\d+-[\w-]+\.(py|ir|ll|s|ptx)")
_taken: set[Path] = set()


def _folder(name: str) -> Path:
    """A folder that no other program of this process has; what an earlier process has left there goes."""
    stem = re.sub(r"\W+", "_", name).strip("_") or "program"
    path, number = Path(settings.dump) / stem, 1
    while path in _taken:
        number += 1
        path = Path(settings.dump) / f"{stem}_{number}"
    _taken.add(path)
    path.mkdir(parents=True, exist_ok=True)
    for old in path.iterdir():
        if _OURS.fullmatch(old.name):
            old.unlink()
    return path


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return "# its source is not available\n"
