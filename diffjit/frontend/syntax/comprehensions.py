"""Comprehensions and generator expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from diffjit.frontend.entry.subset import assigned_names
from diffjit.frontend.syntax.frames import Frame
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value

SHORT = 16


class Comprehensions(Mixin):
    """Mixin of the interpreter: comprehensions."""

    def eval_ListComp(self, node: gast.AST) -> Any:
        result = self.new(av.ListC(()))
        self.comprehend(node, lambda: self.list_append(result, self.eval(node.elt)))
        return result

    def eval_SetComp(self, node: gast.AST) -> Any:
        result = self.new(av.DictC({}, is_set=True))

        self.comprehend(node, lambda: self.builtin_method_of(result, "add", self.eval(node.elt)))
        return result

    def eval_DictComp(self, node: gast.AST) -> Any:
        result = self.new(av.DictC({}))

        def add() -> None:
            key = self.eval(node.key)
            self.set_item(result, key, self.eval(node.value), node)

        self.comprehend(node, add, first=self.cut_to_known(self.eval(node.generators[0].iter)))
        return result

    def eval_GeneratorExp(self, node: gast.AST) -> Any:
        first = self.eval(node.generators[0].iter)  # Python, too, evaluates it where the expression stands
        return self.generator_expression(node, first)

    def comprehend(
        self, node: gast.AST, action: Callable[[], None], frame: Frame | None = None, first: Any = None
    ) -> None:
        """Run a comprehension's loops; its variables live in a frame of their own."""
        outer = frame or self.frames[-1]
        targets = frozenset(assigned_names([gen.target for gen in node.generators]))
        scope = outer.fn.scope
        seen = {**scope.locals_of, outer.uid: outer.local}
        inner = av.Scope((outer.uid, *scope.frames), scope.pyfunc, scope.namespace, seen)
        fn = av.Fn(outer.fn.node, outer.fn.name, outer.fn.file, (), {}, inner, outer.fn.pyfunc, outer.fn.owner)
        own = Frame(next(self._uids), fn, targets, frozenset(), comprehension=True)
        iterable = self.eval(node.generators[0].iter) if first is None else first
        self.frames.append(own)
        try:
            self._generate(node, 0, iterable, action)
        finally:
            self.frames.pop()
            for name in own.forgotten(targets):
                self.cells.pop(("v", own.uid, name), None)

    def _generate(self, node: gast.AST, depth: int, iterable: Any, action: Callable[[], None]) -> None:
        """One `for` of a comprehension, and what is nested in it."""
        generator = node.generators[depth]

        def deeper() -> None:
            if depth + 1 == len(node.generators):
                action()
            else:
                self._generate(node, depth + 1, self.eval(node.generators[depth + 1].iter), action)

        def body(item: Any) -> None:
            self.assign_target(generator.target, item)
            self._where(generator.ifs, deeper)

        in_turn = type(node).__name__ == "GeneratorExp"
        self.iterate(self.written_out(iterable), body, node, key=(id(node), depth), in_turn=in_turn)

    def _where(self, tests: list[Any], action: Callable[[], None]) -> None:
        """Run `action` where all tests hold."""
        if tests:
            test = self.test(tests[0])
            if isinstance(test, Value) and self.in_library():
                message = "which items are taken here must be known before the program runs"
                raise self.need_static(test, self.type_problem("DJ307", message, tests[0]))
            self.when(test, lambda: self._where(tests[1:], action))
        else:
            action()

    def written_out(self, iterable: Any) -> Any:
        """A short range of known length as its items: the result's length is then known, too."""
        if isinstance(iterable, av.Range):
            length = self.trip(iterable.start, iterable.stop, iterable.step)
            if isinstance(length, Static) and length.obj <= SHORT:
                return av.Tup(tuple(self.sequence_items(iterable, None)))
        return iterable
