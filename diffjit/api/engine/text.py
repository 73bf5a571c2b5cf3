"""Programs as text, for `source`."""

from __future__ import annotations

from typing import Any

from diffjit.api.engine.engine import is_compiled, program_of
from diffjit.api.engine.programs import flatten_call
from diffjit.errors import UsageError
from diffjit.ir.stages import kept
from diffjit.settings import settings
from diffjit.transforms.custom import without_rules
from diffjit.transforms.pipeline import readable

STAGES = ("source", "lowered", "llvm", "asm", "ptx")


def text_of(derived: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stage: str) -> str:
    """The module that runs for these arguments."""
    if stage not in STAGES:
        listed = ", ".join(f'"{s}"' for s in STAGES[:-1]) + f' and "{STAGES[-1]}"'
        raise UsageError("DJ508", f"unknown stage {stage!r}", cure=f"stages are {listed}")
    if stage == "source":
        return readable(without_rules(program_of(derived, args, kwargs).function))
    if not is_compiled(derived.backend):
        raise UsageError(
            "DJ508", f'there is no stage {stage!r}: with backend="python" nothing is compiled', cure='use "source"'
        )
    if stage == "ptx":
        return _kernels(derived, args, kwargs)
    call = flatten_call(args, kwargs)
    if stage == "lowered":
        from diffjit.lowering.calls.cpu import texts

        with texts() as written:
            derived.build(derived.specialise(args, kwargs), call)
        return "\n\n".join(written)
    return "\n\n".join(compiled_anew(derived, args, kwargs, stage))


def compiled_anew(derived: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *stages: str) -> list[str]:
    """The texts of some stages, of a program that is compiled for that."""
    call = flatten_call(args, kwargs)
    with kept(*stages) as found:
        compiled, finish = derived.build(derived.specialise(args, kwargs), call)
        compiled.run.first.anew(derived.inputs(compiled, finish, call))
    return found


def _kernels(derived: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The kernels for a GPU, which need not be there."""
    from diffjit.lowering.cuda.devices import compiling_for

    if (derived.backend or settings.backend) != "cuda":
        raise UsageError("DJ508", 'there is no stage "ptx" without kernels', cure='use backend="cuda"')
    with compiling_for("ptx"):
        return "\n\n".join(compiled_anew(derived, args, kwargs, "ptx"))
