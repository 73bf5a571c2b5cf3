"""What stays behind of a module whose object code was made outside of Numba."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from diffjit.lowering.native import UNRESOLVED

_DYNAMIC = b"numba.dynamic.globals"  # in the names of addresses that hold in this process alone


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
