"""Strings built at run time: f-strings, `%` and `.format`, and what is printed or raised with them."""

from __future__ import annotations

import builtins
import itertools
import operator
import re
import string
from _string import formatter_field_name_split  # pyright: ignore[reportMissingImports]
from collections.abc import Callable, Iterator
from typing import Any

import gast

from diffjit import tree
from diffjit.errors import DiffjitError, each_written, plainly
from diffjit.frontend.syntax.frames import NeedStatic
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array

_PERCENT = re.compile(r"%(?:\(([^)]*)\))?([-+ 0#]*)(\d*|\*)(?:\.(\d*|\*))?[hlL]?([diouxXeEfFgGcrsa%])")


class Text(Mixin):
    """Mixin of the interpreter: strings."""

    def eval_JoinedStr(self, node: gast.AST) -> Any:
        pieces = [p for p in node.values if not isinstance(p, gast.Constant)]
        values = [self.eval(p.value) for p in pieces]
        specs = [Static("") if p.format_spec is None else self.eval(p.format_spec) for p in pieces]
        if not all(isinstance(s, Static) for s in specs):
            cure = "write its width and digits as numbers"
            raise self.unsupported("DJ122", "a format that is only known at run time", node, cure)

        def joined(given: list[Any]) -> Any:
            rest = zip(pieces, given, specs, strict=True)
            parts: list[Any] = []
            for p in node.values:
                parts += [p.value] if isinstance(p, gast.Constant) else self._formatted(*next(rest))
            return self.text(parts)

        return self.over_texts(values, joined)

    def _formatted(self, piece: gast.AST, value: Any, spec: Static) -> list[Any]:
        """A piece of an f-string as parts of a text."""
        if piece.conversion == -1:
            return list(self.format_parts(value, spec.obj))
        return list(self._converted(value, chr(piece.conversion), spec.obj))

    def _converted(self, value: Any, conversion: str, spec: str) -> tuple[Any, ...]:
        """The pieces of `{value!r:spec}`, or with another conversion."""
        if conversion == "a" and isinstance(value, Static):
            parts = (ascii(value.obj),)
        else:
            parts = self.text_parts(value) if conversion == "s" else self.repr_parts(value)
        return self.parts_within(parts, plainly(spec)) if spec else parts

    def over_texts(self, values: list[Any], use: Callable[[list[Any]], Any]) -> Any:
        """Use values in a text, or in what is raised: each variant of what is one of several, or may be None."""
        for k, value in enumerate(values):
            one = lambda v, k=k: self.over_texts([*values[:k], v, *values[k + 1 :]], use)  # noqa: E731
            if isinstance(value, av.Sum):
                return self.each(value, one)
            if isinstance(value, av.Opt):
                return self.choose(value.is_none, lambda: one(NONE), lambda: one(value.value))  # noqa: B023
        return use(values)

    def is_exception(self, value: Any) -> bool:
        """An exception object."""
        held = self.contents(value) if isinstance(value, av.Ref) else None
        return isinstance(held, av.ObjC) and issubclass(held.cls, BaseException)

    def eval_FormattedValue(self, node: gast.AST) -> Any:
        return self.eval_JoinedStr(gast.copy_location(gast.JoinedStr(values=[node]), node))

    def text(self, parts: list[Any]) -> Any:
        """A string, static when all its parts are, one of several where one of them is, and Python's as well."""
        return self.over_parts(parts, self._text)

    def _text(self, parts: list[Any]) -> Any:
        flat: list[Any] = []
        for part in parts:
            if isinstance(part, str) and flat and isinstance(flat[-1], str):
                flat[-1] += part
            else:
                flat.append(part)
        if all(isinstance(p, str) for p in flat):
            return Static("".join(flat))
        made = av.Format(tuple(flat))
        return self.act(str, [made], {}, self.here, told="str") if self.of_python(made) else made

    def is_text(self, value: Any) -> bool:
        """A string, known or not."""
        return isinstance(value, av.Format) or (isinstance(value, Static) and isinstance(value.obj, str))

    def call_substitution(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """`pattern.sub(function, text)`: a call of the function for each match; None of other calls."""
        pattern = tree.asked(obj, "__self__")
        if not isinstance(pattern, re.Pattern) or obj.__name__ != "sub":
            return None
        given = {"count": Static(0), **dict(zip(("repl", "string", "count"), args, strict=False)), **kwargs}
        maker, text, count = given.get("repl"), given.get("string"), given["count"]
        if isinstance(maker, Static) and isinstance(maker.obj, str):
            return None
        if not isinstance(text, Static) or not isinstance(text.obj, str):
            return None
        most = self.static_int(count, "the count of matches", node)
        matches = list(itertools.islice(pattern.finditer(text.obj), most or None))
        starts = [0, *(m.end() for m in matches)]
        kept = [text.obj[a:b] for a, b in zip(starts, [*(m.start() for m in matches), None], strict=True)]
        made = [self.call(maker, [Static(m)], {}, node) for m in matches]

        def joined(texts: list[Any]) -> Any:
            if wrong := next((t for t in texts if not self.is_text(t)), None):
                raise self.type_problem("DJ308", f"{describe(wrong)} in place of a match", node, python=TypeError)
            pieces = zip(kept, [*map(self.text_parts, texts), ()], strict=True)
            return self.text([part for before, parts in pieces for part in (before, *parts)])

        return self.over_texts(made, joined)

    def percent_format(self, template: str, right: Any, node: gast.AST | None) -> Any:
        """`"..." % values`."""
        if isinstance(right, Static) and isinstance(right.obj, dict | tuple):
            return self.run_now(operator.mod, [Static(template), right], {})
        held = self.contents(right) if isinstance(right, av.Ref) else None
        if isinstance(held, av.DictC):
            names = list(held.items)
            use = lambda given: self._percent_text(template, [], dict(zip(names, given, strict=True)), node)  # noqa: E731
            return self.over_texts(list(held.items.values()), use)
        given = list(right.items) if isinstance(right, av.Tup) else [right]
        return self.over_texts(given, lambda given: self._percent_text(template, list(given), None, node))

    def _percent_text(self, template: str, items: list[Any], named: dict[Any, Any] | None, node: Any) -> Any:
        """The text that a template makes of items, or of the values of a dict."""

        def wrong(message: str, error: type[Exception] = TypeError) -> DiffjitError:
            return self.type_problem("DJ309", message, node, python=error)

        def take(name: str | None) -> Any:
            if name is not None:
                if named is None or name not in named:
                    raise wrong(f"the text needs a value named {name!r}", TypeError if named is None else KeyError)
                return named[name]
            if not items:
                raise wrong("not enough arguments for format string")
            return items.pop(0)

        def number(text: str) -> str:
            """A width, or the one among the values that `*` stands for."""
            return str(self.static_int(take(None), "the width of a number in a text", node)) if text == "*" else text

        parts: list[Any] = []
        end = 0
        for found in _PERCENT.finditer(template):
            parts.append(template[end : found.start()])
            end = found.end()
            name, flags, width, digits, kind = found.groups()
            if kind == "%":
                parts.append("%")
                continue
            spec = f"%{flags}{number(width)}{'' if digits is None else '.' + number(digits)}{kind}"
            parts += self._percent_parts(take(name), spec)
        if items:
            raise wrong("not all arguments converted during string formatting")
        return self.text([*parts, template[end:]])

    def _percent_parts(self, item: Any, spec: str) -> tuple[Any, ...]:
        """One value in a text, with `%5.2f` or the like."""
        if isinstance(item, Static):
            return (self.evaluated(operator.mod, spec, (item.obj,)),)
        if spec[-1] in "sra":
            parts = self.text_parts(item) if spec[-1] == "s" else self.repr_parts(item)
            return parts if len(spec) == 2 else self.parts_within(parts, f"{spec[:-1]}s")
        return ((self.not_none(item) if isinstance(item, av.Opt) else item, spec),)

    def print_values(self, given: list[Any], between: str, end: str) -> None:
        """Print values, with a text between them and one behind."""
        parts: list[Any] = []
        for k, value in enumerate(given):
            parts += [between] if k else []
            if (way := self.printed_in_turn(value)) is not None:
                self.over_parts(parts, self.print_now)
                self.call_plain(*way, node=None)
                parts = []
            else:
                parts += self.text_parts(value)
        self.over_parts([*parts, end], self.print_now)

    def print_now(self, parts: list[Any]) -> None:
        """Print the pieces of a text."""
        values, formats = self.print_parts(tuple(parts))
        self.build.op("print", values, parts=formats)

    def print_parts(self, parts: tuple[Any, ...]) -> tuple[list[Value], tuple[Any, ...]]:
        """Split a run-time string into IR values and the literal text and formats around them."""
        values: list[Value] = []
        formats: list[Any] = []
        for part in parts:
            if isinstance(part, str):
                formats.append(part)
                continue
            if isinstance(part, av.Sum):  # inside of what an exception holds
                formats.append(f"<{describe(part)}>")
                continue
            value, spec = part
            for piece, text in self.flatten_text(value, spec):
                if piece is None:
                    formats.append(text)
                else:
                    values.append(piece)
                    formats.append(("value", text))
        return values, tuple(formats)

    def flatten_text(self, value: Any, spec: str) -> list[tuple[Any, str]]:
        """A value inside a run-time string as numbers and literal text."""
        if isinstance(value, Value):
            return [(value, spec)]
        if isinstance(value, Static):
            return [(None, format(value.obj, spec))]
        if isinstance(value, av.Format):
            out: list[tuple[Any, str]] = []
            for part in value.parts:
                out += [(None, part)] if isinstance(part, str) else self.flatten_text(*part)
            return out
        return [(None, f"<{describe(value)}>")]

    def text_method(self, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        args = [self.as_python(a) for a in args]
        if isinstance(receiver, Static) and all(isinstance(a, Static) for a in (*args, *kwargs.values())):
            return self.run_now(getattr(receiver.obj, name), args, kwargs)
        if name == "format" and isinstance(receiver, Static):
            return self.format_text(receiver.obj, args, kwargs)
        if name == "join" and isinstance(receiver, Static):
            items = self.items_or_list(args[0], node)
            if isinstance(items, av.Ref):
                return self._joined(receiver.obj, items, node)
            parts: list[Any] = []
            for k, item in enumerate(items):
                parts += [receiver.obj] if k else []
                parts += self.text_parts(item)
            return self.text(parts)
        raise self.letters([receiver, *args, *kwargs.values()], f"string method `{name}`", node)

    def as_python(self, value: Any) -> Any:
        """A tuple, list or dict of what is known as the object that it is, as `startswith` and `translate` take it."""
        held = self.contents(value) if isinstance(value, av.Ref) else value
        if isinstance(held, av.ListC) and all(isinstance(v, Static) for v in held.items):
            return Static([v.obj for v in held.items])
        if isinstance(held, av.Tup) and held.cls is None and all(isinstance(v, Static) for v in held.items):
            return Static(tuple(v.obj for v in held.items))
        if isinstance(held, av.DictC) and _is_plain(held) and all(isinstance(v, Static) for v in held.items.values()):
            return Static({key: v.obj for key, v in held.items.items()})
        return value

    def _joined(self, between: str, items: av.Ref, node: Any) -> Any:
        """As many texts as there turn out to be, joined: all are the same but for their numbers, which are listed."""
        around, self.here = self.here, getattr(node, "func", self.here)  # two lists of one place would be one
        numbers = self.empty_growing_list()
        self.here = around
        patterns: set[tuple[Any, ...]] = set()

        def taken(item: Any) -> None:
            values, parts = self.print_parts(self.text_parts(item))
            patterns.add(parts)
            if len(values) != 1 or isinstance(values[0].type, Array):
                raise self.letters([item], "joining texts of several numbers, or none,", node)
            self.list_append(numbers, values[0])

        self.iterate(items, taken, node, key=("joined", self.place()))
        parts = patterns.pop() if patterns else ("",)
        if patterns:
            raise self.letters([], "joining texts of several forms", node)
        return av.Format(((self.array_from(numbers), each_written(between, parts)),))

    def letters(self, texts: list[Any], what: str, node: Any) -> Exception:
        """What to raise where the letters of texts are needed: numbers in them that can be known are asked for."""
        cure = "compute with the numbers, and make texts of them to be printed"
        error = self.unsupported("DJ118", f"{what} on run-time values", node, cure)
        numbers = [number for text in texts for number in self.print_parts(self.text_parts(text))[0]]
        sources = [self.static_sources(n, of_floats=True) for n in numbers]
        if not sources or not all(sources):
            return error
        return NeedStatic(error, [source for found in sources for source in found])

    @core(builtins.chr)
    def py_chr(self, i: Any) -> Any:
        """The letter of a number, as the format "c" writes it."""
        if isinstance(i, Static):
            return Static(self.evaluated(chr, i.obj))
        if not isinstance(i, Value) or not self.is_int(i):
            problem = f"chr() of {describe(i)}"
            raise self.type_problem("DJ308", problem, python=TypeError)
        return av.Format(((i, "c"),))

    def format_text(self, template: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """`"...".format(...)`."""
        return self.text(self._filled(template, args, kwargs, iter(args)))

    def _filled(self, template: str, args: list[Any], kwargs: dict[str, Any], unnamed: Iterator[Any]) -> list[Any]:
        parts: list[Any] = []
        for literal, field, spec, conversion in string.Formatter().parse(template):
            parts.append(literal)
            if field is None:
                continue
            value = self._field(field, args, kwargs, unnamed)
            form = self.text(self._filled(spec or "", args, kwargs, unnamed))
            if not isinstance(form, Static):
                raise self.letters([form], "the format of a text", None)
            given = self.format_parts(value, form.obj) if conversion is None else ()
            parts += given if conversion is None else self._converted(value, conversion, form.obj)
        return parts

    def _field(self, field: str, args: list[Any], kwargs: dict[str, Any], unnamed: Iterator[Any]) -> Any:
        """What stands in a place of a template: `{}`, `{0}`, `{name}`, `{0.attribute}`, `{name[key]}`."""
        first, rest = formatter_field_name_split(field)
        if first == "":
            value = next(unnamed, None)
        elif isinstance(first, int):
            value = args[first] if first < len(args) else None
        else:
            value = kwargs.get(first)
        if value is None:
            error = KeyError if isinstance(first, str) and first else IndexError
            raise self.type_problem("DJ309", f"nothing is given for {{{field}}} in a text", python=error)
        for is_attribute, key in rest:
            value = self.get_attribute(value, key) if is_attribute else self.get_item(value, Static(key))
        return value


def _is_plain(held: av.DictC) -> bool:
    """Whether a dict is one of Python's own, with keys that are known."""
    return not held.is_set and held.cls in (None, dict) and held.factory is None
