"""Two tiers of machine code: a program's first calls run what LLVM makes quickly, later ones what it makes well.

    first call    light code, 2 to 10 % of LLVM's time   ->  its result
    beside it     the fast code, in a process of its own ->  what later calls run, and what is kept on disk

Both have the same bits, as no pass of LLVM changes what a program computes: sums have an order of ours
(`runtime.partials`; docs/decisions/0061, 0094).

A light run that is still under way when the fast code is there leaves at its next look (`interrupts`), and the call
starts again with the fast code: so no call takes much longer than with the fast code alone. For that a program has to
leave no traces: nothing that it changes outside. What it has printed it does not print again; functions without source
depend on their arguments alone, and are called again. While such a function runs in Python, nobody leaves: what looks
then is another program.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.lowering.calls import failures, interrupts, records
from diffjit.lowering.calls.failures import Stopped, counted_prints
from diffjit.lowering.calls.native import SUPPORTED, UNRESOLVED
from diffjit.lowering.llvm import outside
from diffjit.settings import settings

PATIENCE = 0.3  # seconds that a light run may take before it has to make room for the fast code
AT_EXIT = 10.0  # seconds that a process waits at its end for fast code
_AGAIN = 0.05  # after so long a thread that has not left yet is told again

_wanted: ContextVar[bool] = ContextVar("_wanted", default=False)


@dataclass(frozen=True, slots=True)
class Request:
    """What the fast code is made of."""

    bitcode: bytes
    passes: dict[str, Any]  # see `optimiser.object_code`
    died: int  # how often LLVM had died of it when the light code was made


def allowed() -> bool:
    """Whether programs may have two tiers at all."""
    return bool(settings.tiers) and settings.isolate and not settings.checked and SUPPORTED


@contextmanager
def session() -> Iterator[None]:
    """What is compiled meanwhile may have two tiers."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


def wanted() -> bool:
    """Whether what is compiled just now may have two tiers."""
    return _wanted.get()


def possible(bitcode: bytes) -> bool:
    """Whether the fast code will run by itself: not with pointers that Numba alone sets."""
    return UNRESOLVED not in bitcode


class Job:
    """The fast code of one program for one signature, and the runs of the light code meanwhile."""

    def __init__(
        self,
        request: Request,
        finish: Callable[[bytes], tuple[Callable[..., Any] | None, Any]],
        postpone: Callable[[Request], None],
    ) -> None:
        self.request = request
        self.postpone = postpone  # keeps the light code for the next process, and what the fast code is made of
        self.finish = finish  # from object code to what Python calls (None where this process cannot run it), and data
        self.ready: Callable[..., Any] | None = None
        self.parts: Any = None  # the same as data, for calls with arguments of other types as well
        self.failed = False  # there will be no such code
        self.fatal = False  # as LLVM does not survive making it: the light code, which is right, is what there is
        self.error: Exception | None = None  # why there is none, where that was not foreseen
        self.left = 0  # how many runs of the light code have left for the fast one
        self.then: list[Callable[[], None]] = []  # what to do when it is there
        self.runs: dict[int, float] = {}  # threads that run the light code, and since when
        self.aside = 0  # more such threads, which run what it has called of Python

    def call(self, light: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """The result of the light code, or of the fast one if that is ready before."""
        own = threading.get_ident()
        with _changed:
            ready, around = self.ready, (_light.get(own), self.runs.get(own))  # a handler of signals runs programs, too
            if ready is None:  # there is no light run to be hastened from then on
                self.runs[own] = time.monotonic()
                _light[own] = self
        if ready is not None:
            return ready(*args)
        with counted_prints() as again:
            try:
                return light(*args)
            except Stopped:
                if interrupts.leaving() != own:
                    raise
            finally:
                with _changed:
                    _put_back(_light, own, around[0])
                    _put_back(self.runs, own, around[1])
                    if interrupts.leaving() == own:
                        interrupts.leave(0)
                    _changed.notify_all()
            self.left += 1
            records.forget()  # what it may have noted on its way out; the fast code notes it again
            again()
            assert self.ready is not None, "nobody leaves before there is something else to run"
            return self.ready(*args)

    def make(self) -> None:
        """Make the fast code (in the thread that does)."""
        if self.ready is not None or self.failed:  # it had been made when this process was forked
            return
        ready, request = None, self.request
        try:
            found = outside.attempted(request.bitcode, request.passes, request.died, beside=True)
            if found is not None:
                ready, self.parts = self.finish(found[0])
        except outside.Fatal:
            self.fatal = True
        except Exception as error:  # noqa: BLE001 - nobody can take it here: the next call compiles, and raises it
            self.error = error
        with _changed:
            self.ready, self.failed = ready, ready is None
            self.request = Request(b"", {}, 0)
            then, self.then = self.then, []
            _changed.notify_all()
        if ready is not None:
            for tell in then:
                tell()
            self.hasten()

    def afterwards(self, tell: Callable[[], None]) -> None:
        """Call a function when the fast code is there; where none will be made, it is let go of, and what it holds."""
        if settings.tiers == "light":
            return
        with _changed:
            if self.ready is None:
                self.then.append(tell)
                return
        tell()

    def hasten(self) -> None:
        """Have the runs of the light code that take long start again with the fast one, one thread after the other."""
        with _changed:
            while self.runs or self.aside:
                if not self.runs:
                    _changed.wait()
                    continue
                thread, since = min(self.runs.items(), key=lambda item: item[1])
                left = since + PATIENCE - time.monotonic()
                if left <= 0:
                    interrupts.leave(thread)
                _changed.wait(left if left > 0 else _AGAIN)
                if interrupts.leaving() == thread and thread not in self.runs:
                    interrupts.leave(0)


def _put_back(known: dict[int, Any], thread: int, before: Any) -> None:
    if before is None:
        known.pop(thread, None)
    else:
        known[thread] = before


def step_aside() -> tuple[Job, float] | None:
    """A thread's light code, if it runs any, calls Python: until `step_back` nobody has it leave."""
    own = threading.get_ident()
    if own not in _light:
        return None
    with _changed:
        job = _light.pop(own)
        since = job.runs.pop(own)
        job.aside += 1
        if interrupts.leaving() == own:
            interrupts.leave(0)
        _changed.notify_all()
    return job, since


def step_back(run: tuple[Job, float] | None) -> None:
    """The light code goes on."""
    if run is None:
        return
    job, since = run
    with _changed:
        job.runs[threading.get_ident()] = since
        job.aside -= 1
        _light[threading.get_ident()] = job
        _changed.notify_all()


failures.aside = step_aside, step_back
_light: dict[int, Job] = {}  # threads in light code, and whose it is
_changed = threading.Condition()
_todo: deque[Job] = deque()
_worker: threading.Thread | None = None


def begin(job: Job) -> None:
    """Have the fast code made."""
    if settings.tiers == "light":
        return
    with _changed:
        _todo.append(job)
        _start()
        _changed.notify_all()


def _start() -> None:
    global _worker  # noqa: PLW0603 - there is one
    if _worker is None:
        _worker = threading.Thread(target=_work, name="diffjit-tiers", daemon=True)
        _worker.start()


def _work() -> None:
    while True:
        with _changed:
            while not _todo:
                _changed.wait()
            job = _todo[0]
        try:
            job.make()
        finally:
            with _changed:
                if _todo:
                    _todo.popleft()
                _changed.notify_all()


def join() -> None:
    """Wait until all fast code is there: at exit, so that the next process finds it. Ctrl-C ends the waiting.

    Where that takes long, the next process goes on with the light code, and has the fast code made anew.
    """
    end = time.monotonic() + AT_EXIT
    try:
        with _changed:
            while _todo and (left := end - time.monotonic()) > 0:
                _changed.wait(left)
            late = [(job, job.request) for job in _todo if job.ready is None and not job.failed]
        for job, request in late:
            job.postpone(request)
    except KeyboardInterrupt:
        _todo.clear()


def _born() -> None:
    """In a process that was forked: the thread has stayed behind, and what it had to do has not."""
    global _changed, _worker  # noqa: PLW0603 - see above
    _changed = threading.Condition()
    _worker = None
    _light.clear()
    if _todo:
        for job in _todo:
            job.runs.clear()
            job.aside = 0
        with _changed:
            _start()


atexit.register(join)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_born)
