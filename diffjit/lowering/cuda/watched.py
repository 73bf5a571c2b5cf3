"""The emulated device with `DIFFJIT_CUDA=watched`: each element remembers which turns of a launch have come to it.

The text of a kernel gets a call beside each load and store, which notes the turn, the address, the size, and of a store
the number. After the launch, an element of an array that turns were given must be one turn's, unless nobody writes to
it, or all write the same number: turns may run at once on a GPU, and nothing stands between them.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np

_DECLARED = "declare void @dj_watched(ptr, i64, i64, i64)"
RUNTIME = """
@dj_log = global i64 0
@dj_room = global i64 0
@dj_noted = global i64 0
@dj_now = global i64 0

define void @dj_watched(ptr %place, i64 %size, i64 %kind, i64 %value) {
  %at = load i64, ptr @dj_noted
  %next = add i64 %at, 1
  store i64 %next, ptr @dj_noted
  %room = load i64, ptr @dj_room
  %fits = icmp slt i64 %at, %room
  br i1 %fits, label %note, label %done
note:
  %start = load i64, ptr @dj_log
  %log = inttoptr i64 %start to ptr
  %first = mul i64 %at, 5
  %now = load i64, ptr @dj_now
  %address = ptrtoint ptr %place to i64
  %a = getelementptr i64, ptr %log, i64 %first
  store i64 %now, ptr %a
  %b = getelementptr i64, ptr %a, i64 1
  store i64 %address, ptr %b
  %c = getelementptr i64, ptr %a, i64 2
  store i64 %size, ptr %c
  %d = getelementptr i64, ptr %a, i64 3
  store i64 %kind, ptr %d
  %e = getelementptr i64, ptr %a, i64 4
  store i64 %value, ptr %e
  br label %done
done:
  ret void
}
"""

_NAME = r'%(?:"[^"]*"|[\w.$-]+)'
_PLACE = rf"(?P<place>{_NAME}|@|getelementptr|null|inttoptr|undef|poison)"
_TYPE = r"(?P<type><\d+ x \w+>|\[\d+ x \w+\]|\{[^{}]*\}|\w+)"
_LOAD = re.compile(rf"^\s+{_NAME} = load (?:volatile )?{_TYPE}, ptr {_PLACE}")
_STORE = re.compile(rf"^\s+store (?:volatile )?{_TYPE} (?P<value>.+), ptr {_PLACE}")
_BLOCK = re.compile(
    rf"^\s+(?:tail )?call void @llvm\.(?P<what>memset|memcpy|memmove)\.\S+?\(ptr [^%@]*(?P<to>{_NAME}), "
    rf"(?:ptr [^%@]*(?P<source>{_NAME})?|i8 [^,]+)[^,]*, i64 (?P<size>[^,]+),"
)
_ACCESS = re.compile(rf"^\s+(?:{_NAME} = load|store) ")  # what is atomic are Numba's counts of references
_BITS = {"double": 64, "float": 32, "half": 16, "ptr": 64}
_ANY = -1  # the number of a store that is not known: another one than all others


def instrumented(text: str) -> str:
    """A kernel's text that notes what it does."""
    lines: list[str] = []
    count = 0
    for line in text.splitlines():
        found = _LOAD.match(line) or _STORE.match(line)
        block = _BLOCK.match(line)
        assert found is not None or _ACCESS.match(line) is None, f"an access of another form: {line}"
        if found is not None and found["place"].startswith("%"):
            is_store = "value" in found.groupdict()
            count += 1
            value, before = _as_number(found["type"], found["value"], count) if is_store else ("0", [])
            size = _bytes(found["type"])
            call = f"  call void @dj_watched(ptr {found['place']}, i64 {size}, i64 {int(is_store)}, i64 {value})"
            lines += [*before, call]
        elif block is not None:
            lines.append(f"  call void @dj_watched(ptr {block['to']}, i64 {block['size']}, i64 1, i64 {_ANY})")
            if block["source"]:
                lines.append(f"  call void @dj_watched(ptr {block['source']}, i64 {block['size']}, i64 0, i64 0)")
        lines.append(line)
    return "\n".join([*lines, _DECLARED])


def _bits(kind: str) -> int:
    several = re.fullmatch(r"[<\[](\d+) x (\w+)[>\]]", kind)
    if several is not None:
        return int(several[1]) * _bits(several[2])
    if kind.startswith("{"):
        end = 0
        for field in kind.strip("{} ").split(", "):
            size = max(_bits(field), 8)
            end = -(-end // size) * size + size
        return end
    return _BITS[kind] if kind in _BITS else int(kind[1:])


def _bytes(kind: str) -> int:
    return -(-_bits(kind) // 8)


def _as_number(kind: str, value: str, count: int) -> tuple[str, list[str]]:
    """What is stored, as 64 bits, and the lines that make it."""
    bits = _bits(kind)
    if kind[0] in "<[{" or bits > 64:
        return str(_ANY), []
    whole, name = f"%dj_whole{count}", f"%dj_value{count}"
    if kind == "ptr":
        return name, [f"  {name} = ptrtoint ptr {value} to i64"]
    lines = []
    if kind in _BITS:
        lines, value = [f"  {whole} = bitcast {kind} {value} to i{bits}"], whole
    step = "add" if bits == 64 else "zext"
    rest = f"i64 {value}, 0" if bits == 64 else f"i{bits} {value} to i64"
    return name, [*lines, f"  {name} = {step} {rest}"]


class Log:
    """What the turns of one launch have done."""

    ROOM = 1 << 20

    def __init__(self, engine: Any) -> None:
        self.rows = np.empty((self.ROOM, 5), np.int64)
        self.noted = np.ctypeslib.as_array(_cell(engine, "dj_noted"))
        np.ctypeslib.as_array(_cell(engine, "dj_log"))[0] = self.rows.ctypes.data
        np.ctypeslib.as_array(_cell(engine, "dj_room"))[0] = self.ROOM
        self.kept: list[np.ndarray] = []

    def begin(self) -> None:
        """A launch begins."""
        self.kept, self.noted[0] = [], 0

    def keep(self, arrays: list[tuple[int, int]]) -> None:
        """Some turns have run: keep what they did with these arrays."""
        count = int(self.noted[0])
        assert count <= self.ROOM, f"turns come to memory {count} times, more than can be noted"
        rows = self.rows[:count]
        inside = np.zeros(count, bool)
        for first, size in arrays:
            inside |= (rows[:, 1] >= first) & (rows[:, 1] < first + size)
        self.kept.append(np.unique(rows[inside], axis=0))
        self.noted[0] = 0

    def refuse_meetings(self) -> None:
        """Raise where two turns meet."""
        rows = np.concatenate(self.kept) if self.kept else np.empty((0, 5), np.int64)
        if not len(rows):
            return
        unit = int(np.gcd.reduce(np.concatenate((rows[:, 1], rows[:, 2]))))
        times = rows[:, 2] // unit
        steps = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        rows, places = np.repeat(rows, times, axis=0), np.repeat(rows[:, 1], times) + unit * steps
        order = np.argsort(places, kind="stable")
        rows, places = rows[order], places[order]
        starts = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))

        def differ(column: np.ndarray) -> np.ndarray:
            return np.minimum.reduceat(column, starts) != np.maximum.reduceat(column, starts)

        written = np.maximum.reduceat(rows[:, 3], starts) > 0
        alike = ~differ(rows[:, 3]) & ~differ(rows[:, 4]) & (rows[starts, 4] != _ANY)
        bad = np.flatnonzero(written & differ(rows[:, 0]) & ~alike)
        if bad.size:
            first = starts[bad[0]]
            group = rows[first : first + int(np.count_nonzero(places == places[first]))]
            told = [f"turn {t} {'writes' if w else 'reads'}" for t, _, _, w, _ in group[:4]]
            raise AssertionError(f"turns of a kernel meet at {bad.size} places: {', '.join(told)}")


def _cell(engine: Any, name: str) -> Any:
    return (ctypes.c_int64 * 1).from_address(engine.get_global_value_address(name))
