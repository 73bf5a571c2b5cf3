"""Between Numba's libraries and object code that was made outside of them: what to ask for, and what stays behind."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import config

from diffjit.lowering.native import UNRESOLVED

_DYNAMIC = b"numba.dynamic.globals"  # in the names of addresses that hold in this process alone
_PRUNED = llvm.RefPruneSubpasses.PER_BB | llvm.RefPruneSubpasses.DIAMOND | llvm.RefPruneSubpasses.FANOUT


def optimisation(codegen: Any) -> dict[str, Any]:
    """What `optimiser.object_code` is to do: the processor and the passes that Numba compiles with.

    Numba would prune `FANOUT_RAISE` pairs of incref and decref, too, as if error exits released nothing; ours do.
    """
    level, machine = int(config.OPT), {}
    codegen._customize_tm_options(machine)  # noqa: SLF001 - as Numba's own
    early = {"level": codegen._opt_level, "loops": codegen._loopvect, "straight": False}  # noqa: SLF001
    late = {"level": level, "loops": bool(config.LOOP_VECTORIZE), "straight": bool(config.SLP_VECTORIZE)}
    return {
        "triple": llvm.get_process_triple(),
        "machine": {"opt": level, **machine},
        "passes": [early, late],
        "rotate": level != 0,
        "lanes": False,
        "references": int(_PRUNED) if config.LLVM_REFPRUNE_PASS else 0,
    }


def names_only(module: Any, code: bytes) -> Any:
    """A module that only says which names there are stands for object code that no other is linked with."""
    if _DYNAMIC in code or UNRESOLVED in code:
        return module  # Numba looks for them
    functions = [f.name for f in module.functions if not f.is_declaration and f.linkage == llvm.Linkage.external]
    text = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in functions)
    text += "".join(
        f'@"{v.name}" = global ptr null\n' for v in module.global_variables if v.linkage == llvm.Linkage.common
    )
    made = llvm.parse_assembly(text)
    made.name, made.triple, made.data_layout = module.name, module.triple, module.data_layout
    return made
