"""How results of compiled functions become Python objects.

Numba unpickles the class of an array each time that it returns one, and imports its own pickling for that. Here the
class is one of the function's constants: 0.2 us less for each array, and machine code that runs without Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.llvm.numba_internals import PythonInterface

I32 = llvm_ir.IntType(32)


class Boxing(PythonInterface):
    """Numba's view of Python's C interface, with its own way to make arrays."""

    constants: Any = None  # of the wrapper under construction

    def get_env_manager(self, env: Any, env_body: Any, env_ptr: Any) -> Any:
        """The function's constants."""
        self.constants = super().get_env_manager(env, env_body, env_ptr)
        return self.constants

    def from_native_value(self, typ: Any, val: Any, env_manager: Any = None) -> Any:
        """A value as an object. The items of a tuple are not taken out of it again: LLVM would look at all for each."""
        items = self.context.lower.tuples.get(val) if isinstance(typ, (types.Tuple, types.UniTuple)) else None
        if items is None:
            return super().from_native_value(typ, val, env_manager)
        made = self.tuple_new(len(items))
        for k, (kind, item) in enumerate(zip(typ, items, strict=True)):
            self.tuple_setitem(made, k, self.from_native_value(kind, item, env_manager))
        return made

    def nrt_adapt_ndarray_to_python(self, aryty: Any, ary: Any, dtypeptr: Any) -> Any:
        """An array as NumPy's."""
        if aryty.box_type is not np.ndarray or self.constants is None:
            return super().nrt_adapt_ndarray_to_python(aryty, ary, dtypeptr)
        kind = self.constants.read_const(self.constants.add_const(np.ndarray))
        signature = llvm_ir.FunctionType(self.pyobj, [self.voidptr, self.pyobj, I32, I32, self.pyobj])
        function = self.c_function(signature, "NRT_adapt_ndarray_to_python_acqref")
        ndim = self.context.get_constant(types.int32, aryty.ndim)
        writable = self.context.get_constant(types.int32, int(aryty.mutable))
        place = self.builder.bitcast(cgutils.alloca_once_value(self.builder, ary), self.voidptr)
        return self.builder.call(function, [place, kind, ndim, writable, dtypeptr])
