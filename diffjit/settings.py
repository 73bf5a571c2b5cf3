"""Settings: attributes of the object `diffjit.settings`, each with an environment variable for its first value."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def _text(name: str, default: str) -> str:
    return os.environ.get(name, default)


def _tiers() -> bool | str:
    text = _text("DIFFJIT_TIERS", "1")
    return "light" if text == "light" else text not in ("", "0")


@dataclass(slots=True)
class Settings:
    """What users may change.

    backend    "numba" (compiled, default), "cuda" or "python" (the readable text, under a debugger); DIFFJIT_BACKEND
    dump       folder that receives a folder for each program, with every stage as a numbered file, or ""; DIFFJIT_DUMP
    cache_dir  folder of generated modules, machine code and manifests, or "" for the platform's; DIFFJIT_CACHE_DIR
    nan_check  True: raise `NonFinite` where a number first stops being finite ("nan": NaN alone); DIFFJIT_NAN_CHECK
    cache_mb   megabytes that the folder is cut down to, least used first; 0: text alone is kept; DIFFJIT_CACHE_MB
    reserve_mb megabytes of freed memory that compiled code keeps for its next large arrays; DIFFJIT_RESERVE_MB
    isolate    True: LLVM runs in a second process, and what ends it there raises DJ902 here at worst; DIFFJIT_ISOLATE
    tiers      True: first calls run quick code until there is fast code ("light": always, False: never); DIFFJIT_TIERS
    threads    how many threads large array operations use, which changes no result; 0: one a core; DIFFJIT_THREADS
    checked    True: compiled code tests all that its optimisation relies on, as it runs (slow); DIFFJIT_CHECKED
    plain      True: no optimisation that could be left out, and each index tested (slow); DIFFJIT_PLAIN
    verify_passes  True: the IR is verified after every pass (for developers); DIFFJIT_VERIFY_PASSES
    full_tracebacks  True: tracebacks show diffjit's frames, too, and causes of DJ901; DIFFJIT_FULL_TRACEBACKS

    `diffjit.clear_cache()` empties the folder.
    """

    backend: str = field(default_factory=lambda: _text("DIFFJIT_BACKEND", "numba"))
    dump: str = field(default_factory=lambda: _text("DIFFJIT_DUMP", ""))
    nan_check: bool | str = field(default_factory=lambda: _text("DIFFJIT_NAN_CHECK", "") or False)
    cache_dir: str = field(default_factory=lambda: _text("DIFFJIT_CACHE_DIR", ""))
    cache_mb: float = field(default_factory=lambda: float(_text("DIFFJIT_CACHE_MB", "1000")))
    reserve_mb: float = field(default_factory=lambda: float(_text("DIFFJIT_RESERVE_MB", "128")))
    isolate: bool = field(default_factory=lambda: _text("DIFFJIT_ISOLATE", "1") != "0")
    tiers: bool | str = field(default_factory=_tiers)
    threads: int = field(default_factory=lambda: int(_text("DIFFJIT_THREADS", "0")))
    checked: bool = field(default_factory=lambda: _text("DIFFJIT_CHECKED", "0") not in ("", "0"))
    plain: bool = field(default_factory=lambda: _text("DIFFJIT_PLAIN", "0") not in ("", "0"))
    verify_passes: bool = field(default_factory=lambda: _text("DIFFJIT_VERIFY_PASSES", "0") not in ("", "0"))
    full_tracebacks: bool = field(default_factory=lambda: _text("DIFFJIT_FULL_TRACEBACKS", "0") not in ("", "0"))
    form: tuple[Any, ...] = field(default=(), init=False, repr=False)  # of the settings that change programs
    stamp: object = field(default=None, init=False, repr=False, compare=False)  # another one since one of those changed

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name in _FORMING or name == "backend":
            object.__setattr__(self, "stamp", object())
        if name in _FORMING and hasattr(self, "plain"):
            object.__setattr__(self, "form", (self.nan_check, self.checked, self.plain))
        if name in _WATCHED:
            _WATCHED[name](value)

    def watch(self, name: str, changed: Callable[[Any], None]) -> None:
        """Call a function with the value of a setting, now and whenever it changes."""
        _WATCHED[name] = changed
        changed(getattr(self, name))


_FORMING = frozenset({"nan_check", "checked", "plain", "form"})  # `form` is set last when an object is made
_WATCHED: dict[str, Callable[[Any], None]] = {}


settings = Settings()
