"""What NumPy and Python do about doubtful results: error states and warnings change nothing, unless they raise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static


class Record(warnings.catch_warnings):
    """Stands for one that records: where nobody reads the record, it only silences."""


_CURE = "test the operands or the result instead: np.isfinite(...), x > 0, ..."


class Warned(Mixin):
    """Mixin of the interpreter: error states and warnings."""

    def only_silenced(self, what: str, actions: Any) -> None:
        """Refuse a setting under which operations raise that would not raise otherwise."""
        for action in actions:
            if not isinstance(action, Static) or action.obj in ("raise", "call", "error"):
                raise self.unsupported("DJ124", f"{what} that raises, or calls a function", None, _CURE)

    @core(np.errstate)
    def np_errstate(self, *, call: Any = NONE, **actions: Any) -> Any:
        del call
        self.only_silenced("an error state", actions.values())
        self.sets_error_state = True
        return Static(np.errstate())

    @core(np.geterr)
    def np_geterr(self) -> Any:
        if self.sets_error_state:
            cure = "remember in a variable what was set"
            raise self.unsupported("DJ124", "np.geterr of an error state that the program sets", None, cure)
        return self.answer(np.geterr, ())

    @core(np.seterr)
    def np_seterr(self, *args: Any, **actions: Any) -> Any:
        self.only_silenced("an error state", (*args, *actions.values()))
        self.sets_error_state = True
        return self.new(av.DictC({name: Static(action) for name, action in np.geterr().items()}))

    @core(warnings.simplefilter, warnings.filterwarnings)
    def filter_warnings(self, action: Any, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        self.only_silenced("a filter of warnings", (action,))
        return NONE

    @core(warnings.catch_warnings)
    def catch_warnings(self, *, record: Any = Static(False), action: Any = NONE, **_: Any) -> Any:
        self.only_silenced("a filter of warnings", (action,))
        if not isinstance(record, Static):
            raise self.no_record(None)
        return Static(Record(record=True) if record.obj else warnings.catch_warnings())

    def no_record(self, node: Any) -> Exception:
        """What a record of warnings is refused with, where the program gives it a name."""
        return self.unsupported("DJ124", "a record of warnings", node, _CURE)
