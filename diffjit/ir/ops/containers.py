"""Lists, and the stacks that sweeps record on."""

from diffjit.ir.ops.schema import Raises, Reads, Row, declare

declare(
    Row("list_new", "", "-> list", raises=Raises.NEVER, constant=True, name="items"),
    Row("list_append", "l v", "l.append(v)", raises=Raises.VALUES, writes=(0,), value=1, keeps=1),
    Row("list_pop", "l i", "l.pop(i) -> element",
        raises=Raises.VALUES, error=IndexError, writes=(0,), gives=True, name="{}_item"),
    Row("list_get", "l i", "l[i] -> element",
        raises=Raises.VALUES, error=IndexError, gives=True, name="{}_item", size=2),
    Row("list_set", "l v i", "l[i] = v", raises=Raises.VALUES, error=IndexError, writes=(0,), value=1, keeps=1),
    Row("list_insert", "l v i", "l.insert(i, v)", raises=Raises.VALUES, writes=(0,), value=1, keeps=1),
    Row("list_len", "l", "len(l) -> int",
        raises=Raises.NEVER, length=True, constant=True, reads=Reads.SIZE, name="{}_len"),
    Row("list_copy", "l", "l.copy() -> list", raises=Raises.NEVER),
    Row("stack_new", "", "-> stack", raises=Raises.NEVER, constant=True, name="stack"),
    Row("push", "s v", "puts v on top", raises=Raises.NEVER, writes=(0,), value=1, keeps=1),
    Row("pop", "s", "takes what is on top -> element", raises=Raises.NEVER, writes=(0,), gives=True, name="{}_top"),
    Row("stack_copy", "s", "-> stack", raises=Raises.NEVER),
)  # fmt: skip
