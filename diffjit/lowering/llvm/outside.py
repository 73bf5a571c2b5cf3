"""LLVM's passes run in a second process, so that an assertion that fails in them does not end the user's.

A compilation takes milliseconds to tens of seconds in LLVM, and no release of it is free of assertions that some
program makes fail. The second process (`optimiser`) is started while Numba types the first program, gets bitcode and
gives back object code. Where it dies, another one gets the same bitcode with fewer passes; where that dies with none
left, `Fatal` says what its last words were. Measurements and alternatives: docs/decisions/0035.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import llvmlite

from diffjit.lowering.llvm import optimiser
from diffjit.settings import settings

TROUBLE: list[str] = []  # for tests: what happens to the next requests

_PROGRAM = Path(optimiser.__file__)
_PATIENCE = 60.0  # seconds for the first sign of life
_LAST_WORDS = 8192  # bytes


class Fatal(Exception):
    """LLVM ends the process that compiles a function, whichever passes run."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words  # its last ones


class _Ended(Exception):
    """The second process has ended before it answered."""


class _Second:
    """The second process."""

    def __init__(self) -> None:
        self.greeted = False
        self.process = subprocess.Popen(  # noqa: S603 - this Python, and our own file
            [sys.executable or "", "-I", "-S", str(_PROGRAM), str(Path(llvmlite.__file__ or "").parents[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd="/",
            start_new_session=True,  # Ctrl-C in a terminal goes to all processes of its session
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.requests, self.answers = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.words, self.said = self.process.stderr.fileno(), b""

    def greet(self) -> None:
        """Wait until it is ready."""
        if not self.greeted:
            greeting = self._receive(len(optimiser.GREETING), _PATIENCE)
            self.greeted = greeting == optimiser.GREETING
            if not self.greeted:
                raise _Ended("it is another program")

    def ask(self, head: bytes, bitcode: bytes) -> bytes:
        """The answer to a request."""
        self.said = b""
        try:
            optimiser.write_all(self.requests, optimiser.frame(head) + optimiser.frame(bitcode))
        except (BrokenPipeError, ConnectionResetError):
            raise _Ended("") from None
        return self._receive(optimiser.length(self._receive(optimiser.HEAD)))

    def _receive(self, count: int, patience: float | None = None) -> bytes:
        """So many bytes of what it answers, while its remarks are read, too: a full pipe would stop it."""
        end = None if patience is None else time.monotonic() + patience
        parts: list[bytes] = []
        while count:
            waiting = select.poll()  # `select.select` takes no large numbers of files
            waiting.register(self.answers, select.POLLIN)
            waiting.register(self.words, select.POLLIN)
            ready = dict(waiting.poll(None if end is None else max(0.0, end - time.monotonic()) * 1e3))
            if not ready:
                raise _Ended("it does not answer")
            if self.words in ready:
                self.said = (self.said + os.read(self.words, 1 << 16))[-_LAST_WORDS:]
            if self.answers in ready:
                part = os.read(self.answers, min(count, 1 << 20))
                if not part:
                    raise _Ended(self._last_words())
                parts.append(part)
                count -= len(part)
        return b"".join(parts)

    def _last_words(self) -> str:
        """What it has said on its way out."""
        while part := os.read(self.words, 1 << 16):
            self.said = (self.said + part)[-_LAST_WORDS:]
        lines = self.said.decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if not line.startswith("remark:"))

    def end(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
        self._close()

    def forget(self) -> None:
        """It belongs to the process that this one was forked from."""
        self.process.returncode = 0
        self._close()

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


class _State:
    """What there is of it in this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.second: _Second | None = None
        self.usable = _possible()

    def after_fork(self) -> None:
        self.lock = threading.RLock()
        second, self.second = self.second, None
        if second is not None:
            second.forget()

    def at_exit(self) -> None:
        self.usable = False
        self.stop()

    def stop(self) -> None:
        second, self.second = self.second, None
        if second is not None:
            second.end()

    def running(self) -> _Second | None:
        """The second process, started if there is none; None where it cannot be started."""
        if self.second is None and self.usable and settings.isolate:
            try:
                self.second = _Second()
            except OSError as error:
                self.give_up(str(error))
        return self.second

    def give_up(self, why: str) -> None:
        self.usable = False
        warnings.warn(
            f"LLVM runs inside this process, which it may end, because a second one cannot be started: {why} "
            "(settings.isolate = False says that this is meant)",
            RuntimeWarning,
            stacklevel=2,
        )


def _possible() -> bool:
    """Whether this Python can be started again: not where it is part of another program, nor without signals."""
    name = Path(sys.executable or "").name.lower()
    return os.name == "posix" and "python" in name and not getattr(sys, "frozen", False) and hasattr(select, "poll")


_state = _State()  # of what somebody waits for
_beside = _State()  # of what the fast code of a program that runs already is made by (`tiers`)
for _each in (_state, _beside):
    atexit.register(_each.at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_each.after_fork)


def start() -> None:
    """Start the second process, if it does not run: it gets ready while a program is typed."""
    with _state.lock:
        _state.running()


def stop() -> None:
    """End the second processes; the next compilation starts another one."""
    for state in (_state, _beside):
        with state.lock:
            state.stop()


def object_code(bitcode: bytes, wanted: dict[str, Any]) -> bytes | None:
    """Object code from the second process; None where there is none, and this one has to do its work.

    `wanted`: see `optimiser.object_code`. RuntimeError for what LLVM refuses, `Fatal` for what it does not survive.
    """
    found = attempted(bitcode, wanted)
    return None if found is None else found[0]


def attempted(
    bitcode: bytes, wanted: dict[str, Any], since: int = 0, *, beside: bool = False
) -> tuple[bytes, int] | None:
    """Object code, and how often LLVM had died before; `since`: how often it has before this. As `object_code`.

    `beside`: by a process of its own, so that nobody who waits for a program waits for this.
    """
    state = _beside if beside else _state
    with state.lock:
        words = ""
        for number, passes in enumerate(_cautious(wanted)):
            if number < since:
                continue
            answer: bytes | None = None
            trouble = TROUBLE.pop(0) if TROUBLE else ""
            limits = {"large": optimiser.LARGE, "giant": optimiser.GIANT}
            head = json.dumps({**passes, **limits, "trouble": trouble}).encode()
            try:
                answer = _answer(state, head, bitcode)
            except _Ended as ended:
                words = str(ended)
                continue
            if answer is None:
                return None
            if answer[:1] == b"o":
                return answer[1:], number
            raise RuntimeError(answer[1:].decode())
        raise Fatal(words)


def _answer(state: _State, head: bytes, bitcode: bytes) -> bytes | None:
    """What the second process says; None where there is none. Who interrupts this leaves no half of an answer."""
    if state.second is not None and state.second.process.poll() is not None:
        state.stop()  # nobody asked for long
    while (second := state.running()) is not None:
        try:
            second.greet()
        except _Ended as ended:
            state.stop()
            state.give_up(str(ended))
            return None
        except BaseException:
            state.stop()
            raise
        try:
            return second.ask(head, bitcode)
        except _Ended:
            state.stop()
            if second.process.returncode != -signal.SIGALRM:  # it had ended just before it was asked
                raise
        except BaseException:
            state.stop()
            raise
    return None


def _cautious(wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """The passes that are wanted; the same, where loops are told how many lanes they take (`vectors`); then fewer."""
    first, second = wanted["passes"]
    quiet = {"loops": False, "straight": False}
    return [
        wanted,
        {**wanted, "lanes": True},
        {**wanted, "passes": [{**first, **quiet}, {**second, **quiet}]},
        {**wanted, "passes": [{"level": 0, **quiet}, {"level": 1, **quiet}], "rotate": False},
        {**wanted, "passes": [{"level": 0, **quiet}, {"level": 0, **quiet}], "rotate": False, "references": 0},
    ]
