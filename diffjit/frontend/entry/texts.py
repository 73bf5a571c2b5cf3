"""Texts that a function may have been compiled from, where no file has it: `python -c`, the prompt, `exec`.

Each is a candidate, no more: `proof` compiles it, and takes a function only if that gives the very code. So it does
not matter where a text comes from, nor whether it was the one that ran; an equal one does the same. Texts that lack a
word of the function are not given: compiling takes longer than looking for words.
"""

from __future__ import annotations

import itertools
import linecache
import os
import re
import stat
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator
from typing import Any

NAMELESS = frozenset({"<string>", "<stdin>", "<console>", "<input>", "<unknown>"})  # of any text, not of one
_OWN = __name__.split(".", maxsplit=1)[0]
_COMMAND = re.compile(r"-[A-Za-z]*?c(.*)", re.DOTALL)  # an option of Python that a program follows
_STATEMENT = re.compile(r"(?!(elif|else|except|finally|case)\b)[\w@]")  # a line with which a statement begins


CARRIED: dict[str, None] = {}
"""Texts that came from other processes, with functions that no module has by their names."""


def texts_of(function: Any, code: types.CodeType) -> Iterator[str]:
    """Texts that the code of a function may be from, the likeliest first."""
    words, seen = _words(code), set[str]()
    for text in itertools.chain(
        _registered(code), list(CARRIED), _argument(), _redirected(code), _typed(), _held(function)
    ):
        if text not in seen and all(word in text for word in words):
            seen.add(text)
            yield text


def _words(code: types.CodeType) -> list[str]:
    """What a text has to contain: the names of a function, but for those that the compiler makes or changes."""
    name = "lambda" if code.co_name == "<lambda>" else code.co_name
    names = {name, *code.co_names, *code.co_varnames, *code.co_freevars}
    return sorted(n for n in names if n.isidentifier() and n.isascii() and not n.startswith("_"))


def _registered(code: types.CodeType) -> Iterator[str]:
    """What prompts leave in linecache: under a name, and later by code, as functions of several inputs share one."""
    yield "".join(linecache.getlines(code.co_filename))
    by_code = getattr(linecache, "_getlines_from_code", None)
    if by_code is not None:
        yield "".join(by_code(code))


def _argument() -> Iterator[str]:
    """The program that Python was given by `-c`; Python 3.14 takes common blanks from its lines."""
    for option, following in itertools.pairwise([*sys.orig_argv, ""]):
        command = _COMMAND.fullmatch(option)
        if command is not None:
            text = command[1] or following
            yield text
            yield textwrap.dedent(text)


def _redirected(code: types.CodeType) -> Iterator[str]:
    """The file that Python reads its program from: `python < program.py`. What came through a pipe is gone."""
    if code.co_filename != "<stdin>" or not hasattr(os, "pread"):
        return
    about = os.fstat(0)
    if stat.S_ISREG(about.st_mode):
        yield os.pread(0, about.st_size, 0).decode(errors="replace")


def _typed() -> Iterator[str]:
    """Statements that were typed at a prompt with `readline`, the last first: the plain one, `code.interact`, `pdb`."""
    history = sys.modules.get("readline")
    if history is None:
        return
    count = history.get_current_history_length()
    lines = [history.get_history_item(k) or "" for k in range(1, count + 1)]
    begins = [k for k, line in enumerate(lines) if _STATEMENT.match(line)]
    begins = [k for k in begins if k == 0 or not lines[k - 1].startswith("@")]
    for first, last in reversed(list(itertools.pairwise([*begins, count]))):
        yield "\n".join(lines[first:last]) + "\n"


def _held(function: Any) -> Iterator[str]:
    """Texts that are held by what runs now, and by the modules of that: where `exec` may have had one from."""
    modules = {id(function.__globals__): function.__globals__}
    frame: types.FrameType | None = sys._getframe()  # noqa: SLF001 - the documented way to the callers' frames
    while frame is not None:
        if str(frame.f_globals.get("__name__")).split(".", maxsplit=1)[0] != _OWN:
            yield from _texts(frame.f_locals.values())
            yield from _constants(frame.f_code)
            modules[id(frame.f_globals)] = frame.f_globals
        frame = frame.f_back
    for module in modules.values():
        values = list(module.values())
        yield from _texts(values)
        for value in values:
            if type(value) is types.FunctionType:
                yield from _constants(value.__code__)


def _constants(code: types.CodeType) -> Iterator[str]:
    yield from _texts(code.co_consts)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _constants(inner)


def _texts(values: Iterable[Any]) -> Iterator[str]:
    return (value for value in list(values) if type(value) is str)


# Names ----------------------------------------------------------------------------------------------------------------

_names: dict[str, str] = {}


def listed(text: str, file: str) -> str:
    """The name under which linecache has the lines of a text; `file` is what the text was called when it ran."""
    if file != "<string>" and "".join(linecache.getlines(file)) == text:  # all texts of `exec` share that name
        return file
    if text not in _names:
        _names[text] = f"<{os.path.basename(file).strip('<>')}-{len(_names) + 1}>"  # noqa: PTH119 - not a path
    name = _names[text]
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name
