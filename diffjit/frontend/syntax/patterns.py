"""`match` statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gast
import numpy as np

from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array

_ARRAYS_MATCH = bool(np.ndarray.__flags__ & 1 << 5)  # Py_TPFLAGS_SEQUENCE

_TAKES_APART = gast.MatchSequence | gast.MatchMapping | gast.MatchClass


class Patterns(Mixin):
    """Mixin of the interpreter: `match`."""

    def exec_Match(self, node: gast.AST) -> None:
        self._match(self.eval(node.subject), node)

    @for_each
    def _match(self, subject: Any, node: gast.AST) -> None:
        found = _none_or_not(subject)
        if found is not None and any(isinstance(p, _TAKES_APART) for c in node.cases for p in gast.walk(c.pattern)):
            is_none, *both = found
            none, other = (lambda s=s: self._match(s, node) for s in both)
            self.when(is_none, none, other)
        else:
            self._match_cases(subject, node.cases, node)

    def _match_cases(self, subject: Any, cases: list[Any], node: gast.AST) -> None:
        if not cases:
            return
        case = cases[0]
        test, bindings = self.match_pattern(case.pattern, subject)
        if isinstance(test, Static) and not test.obj:
            self._match_cases(subject, cases[1:], node)
            return

        def hit() -> None:
            for name, value in bindings.items():
                self.bind(name, value, node)
            if case.guard is None:
                self.exec_block(case.body)
                return
            extra = self.test(case.guard)
            if isinstance(extra, Static):
                if extra.obj:
                    self.exec_block(case.body)
                else:
                    self._match_cases(subject, cases[1:], node)
            else:
                self.fork(
                    extra, lambda: self.exec_block(case.body), lambda: self._match_cases(subject, cases[1:], node)
                )

        if isinstance(test, Static):
            hit()
        else:
            self.fork(test, hit, lambda: self._match_cases(subject, cases[1:], node))

    def match_pattern(self, pattern: gast.AST, subject: Any) -> tuple[Any, dict[str, Any]]:
        """Whether a pattern fits, and what it binds."""
        yes: Any = Static(True)
        if isinstance(subject, av.Sum) and not isinstance(
            pattern, gast.MatchValue | gast.MatchSingleton | gast.MatchAs
        ):
            raise self.unsupported("DJ114", "this `match` pattern is not supported", pattern)
        asks_class = isinstance(pattern, gast.MatchClass) and not (pattern.patterns or pattern.kwd_patterns)
        if isinstance(subject, av.Opt) and isinstance(pattern, _TAKES_APART) and not asks_class:
            what = "a pattern of parts of what may be None, within another pattern"
            raise self.unsupported("DJ114", what, pattern, "ask whether it is None first")
        if isinstance(pattern, gast.MatchValue):
            return self.truth(self.compare_kind("equal", subject, self.eval(pattern.value))), {}
        if isinstance(pattern, gast.MatchSingleton):
            return self.identical(subject, Static(pattern.value)), {}
        if isinstance(pattern, gast.MatchAs):
            test, bindings = (yes, {}) if pattern.pattern is None else self.match_pattern(pattern.pattern, subject)
            return test, bindings if pattern.name is None else {**bindings, pattern.name: subject}
        if isinstance(pattern, gast.MatchOr):
            result: Any = Static(False)
            for option in pattern.patterns:
                test, bindings = self.match_pattern(option, subject)
                if isinstance(test, Static):
                    if test.obj:
                        return test, bindings
                    continue
                result = test if isinstance(result, Static) else self.ew("logical_or", result, test)
            return result, {}
        if isinstance(pattern, gast.MatchSequence):
            return self._match_sequence(pattern, subject)
        if isinstance(pattern, gast.MatchMapping):
            return self._match_mapping(pattern, subject)
        if isinstance(pattern, gast.MatchClass):
            return self._match_class(pattern, subject)
        raise self.unsupported("DJ114", "this `match` pattern is not supported", pattern)

    def _match_all(self, pairs: list[tuple[Any, Any]]) -> tuple[Any, dict[str, Any]]:
        result: Any = Static(True)
        bindings: dict[str, Any] = {}
        for pattern, item in pairs:
            test, more = self.match_pattern(pattern, item)
            if isinstance(test, Static) and not test.obj:
                return test, {}
            result = self.both(result, test)
            bindings.update(more)
        return result, bindings

    def _match_sequence(self, pattern: gast.AST, subject: Any) -> tuple[Any, dict[str, Any]]:
        if not self._has_items(subject):
            return Static(False), {}
        try:
            items = self.sequence_items(subject, pattern)
        except UnknownLength:
            what, cure = (
                "a pattern of items where their number is only known at run time",
                "compare len(...), and index it",
            )
            length = self.number(self.length(subject))
            raise self.need_static(length, self.unsupported("DJ114", what, pattern, cure)) from None
        star = next((k for k, p in enumerate(pattern.patterns) if isinstance(p, gast.MatchStar)), None)
        if star is None:
            if len(items) != len(pattern.patterns):
                return Static(False), {}
            return self._match_all(list(zip(pattern.patterns, items, strict=True)))
        behind = len(pattern.patterns) - star - 1
        if len(items) < len(pattern.patterns) - 1:
            return Static(False), {}
        pairs = [
            *zip(pattern.patterns[:star], items[:star], strict=True),
            *zip(pattern.patterns[star + 1 :], items[len(items) - behind :], strict=True),
        ]
        test, bindings = self._match_all(pairs)
        name = pattern.patterns[star].name
        if name is not None:
            bindings = {**bindings, name: self.new(av.ListC(tuple(items[star : len(items) - behind])))}
        return test, bindings

    def _has_items(self, subject: Any) -> bool:
        """Whether Python takes it for a sequence: arrays since some version of NumPy."""
        if isinstance(subject, Static) and isinstance(subject.obj, np.ndarray):
            return _ARRAYS_MATCH and subject.obj.ndim > 0
        if isinstance(subject, Value) and isinstance(subject.type, Array):
            return _ARRAYS_MATCH and subject.type.ndim > 0
        return self.is_sequence(subject) and not self.is_text(subject)

    def _match_mapping(self, pattern: gast.AST, subject: Any) -> tuple[Any, dict[str, Any]]:
        held = self.contents(subject) if isinstance(subject, av.Ref) else None
        if not isinstance(held, av.DictC) or held.is_set:
            return Static(False), {}
        keys = [self.static_key(self.eval(k), pattern) for k in pattern.keys]
        if any(k not in held.items for k in keys):
            return Static(False), {}
        test, bindings = self._match_all([(p, held.items[k]) for p, k in zip(pattern.patterns, keys, strict=True)])
        if pattern.rest is not None:
            rest = {k: v for k, v in held.items.items() if k not in keys}
            bindings = {**bindings, pattern.rest: self.new(av.DictC(rest))}
        return test, bindings

    def _match_class(self, pattern: gast.AST, subject: Any) -> tuple[Any, dict[str, Any]]:
        cls = self.eval(pattern.cls)
        test = self.isinstance(subject, cls, pattern)
        if isinstance(test, Static) and not test.obj:
            return test, {}
        names = list(getattr(cls.obj, "__match_args__", ()))
        plain = cls.obj in (int, float, str, bool)
        if len(pattern.patterns) > (1 if plain else len(names)):
            problem = f"{cls.obj.__name__}() accepts {len(names)} positional patterns"
            raise self.type_problem("DJ306", problem, pattern, python=TypeError)
        pairs = []
        for k, inner in enumerate(pattern.patterns):
            pairs.append(
                (
                    inner,
                    subject if plain else self.get_attribute(subject, names[k], pattern),
                )
            )
        for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            pairs.append((inner, self.get_attribute(subject, name, pattern)))
        return self._match_all(pairs)


def _none_or_not(subject: Any) -> tuple[Any, Any, Any] | None:
    """Where a subject, or an item of one, is None; and what the subject is there, and elsewhere."""
    if isinstance(subject, av.Opt):
        return subject.is_none, NONE, subject.value
    for k, item in enumerate(subject.items if isinstance(subject, av.Tup) and subject.cls is None else ()):
        if isinstance(item, av.Opt):
            place = lambda v, k=k: replace(subject, items=(*subject.items[:k], v, *subject.items[k + 1 :]))  # noqa: E731
            return item.is_none, place(NONE), place(item.value)
    return None
