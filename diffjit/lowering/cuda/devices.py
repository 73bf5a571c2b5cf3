"""The devices there are, and which one programs use: a GPU with CUDA, or one that is emulated on the processor.

`DIFFJIT_CUDA=emulated` chooses the second, for tests and for looking for mistakes: kernels run there turn by turn, in
random order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from diffjit.dataclass import dataclass
from diffjit.errors import UsageError

if TYPE_CHECKING:
    from diffjit.lowering.cuda.products import Product

EMULATED, WATCHED = "emulated", "watched"


@dataclass(frozen=True, slots=True)
class Description:
    """A device, as `diffjit.devices()` shows it."""

    name: str
    kind: str  # "cpu" or "cuda"
    details: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}" + (f" ({self.details})" if self.details else "")


class Device(Protocol):
    """What runs kernels."""

    form: str  # of its images: "ptx", "native" or "watched"

    def load(self, image: bytes) -> Any:
        """An image as a kernel."""
        ...

    def launch(
        self, kernel: Any, count: int, args: int, failed: int, arrays: list[tuple[int, int]], *, once: bool
    ) -> None:
        """Run all turns and wait for them.

        `args`: the address of what turns are given; `failed`: of a byte that is set where one fails; `arrays`: first
        byte and size of the arrays among what is given; `once`: turns must not run again.
        """

    def copy(self, to: int, start: int, size: int) -> None:
        """Copy bytes between addresses that the device or the host reaches."""
        ...

    def fetch(self, first: int, size: int) -> None:
        """Have the bytes of an array at hand for the host, which goes on meanwhile."""
        ...

    def wait_for(self, stream: int | None) -> None:
        """Wait for what another library has asked of a stream."""
        ...

    def multiplies(self, much: bool) -> bool:
        """Whether products of matrices run here; `much`: there is enough to do for that."""
        ...

    def product(self, p: Product) -> None:
        """Multiply matrices, and wait for it."""
        ...

    def pays(self, count: int, work: int) -> bool:
        """Whether turns that do so much in all are worth a launch."""
        ...


class _Current:
    device: Device | None = None
    asked: str | None = None  # by which setting


def current() -> Device:
    """The device that programs with `backend="cuda"` use. Raises UsageError (DJ562) where there is none."""
    asked = os.environ.get("DIFFJIT_CUDA", "")
    if _Current.device is None or _Current.asked != asked:
        _Current.device, _Current.asked = _made(asked), asked
    return _Current.device


_wanted: ContextVar[str] = ContextVar("_wanted", default="")


def form() -> str:
    """The form of the kernels that are compiled."""
    return _wanted.get() or current().form


@contextmanager
def compiling_for(wanted: str) -> Iterator[None]:
    """Kernels of another form for a while, which are looked at and not run."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def _made(asked: str) -> Device:
    if asked in (EMULATED, WATCHED):
        from diffjit.lowering.cuda.emulated import Emulated

        return Emulated(watched=asked == WATCHED)
    from diffjit.lowering.cuda import library
    from diffjit.lowering.cuda.gpu.driver import Gpu, Unavailable

    install = 'pip install "diffjit[cuda]"'
    try:
        found = Gpu()
    except Unavailable as error:
        raise UsageError(
            "DJ562",
            f'backend="cuda" needs an NVIDIA GPU: {error}',
            cure=f"install NVIDIA's driver and {install} on a machine that has one; DIFFJIT_CUDA=emulated runs the "
            "same kernels on the processor, slowly, for tests",
        ) from None
    if library.path() is None:
        raise UsageError(
            "DJ562", 'backend="cuda" needs libdevice, NVIDIA\'s library of elementary functions', cure=install
        )
    return found


def listed() -> list[Description]:
    """All devices; the processor is the first."""
    import platform

    from diffjit.lowering.cuda.gpu.driver import described
    from diffjit.tree import cores

    found = [Description(platform.processor() or platform.machine(), "cpu", f"{cores()} cores")]
    found += [Description(name, "cuda", details) for name, details in described()]
    if os.environ.get("DIFFJIT_CUDA") in (EMULATED, WATCHED):
        found.append(Description("kernels on the processor", "cuda", os.environ["DIFFJIT_CUDA"]))
    return found
