"""Gradients of hot kernels take no more instructions than is recorded in `instructions.json`."""

import json

import pytest

from tests import instructions

able = pytest.mark.skipif(bool(why := instructions.unable()), reason=why)


def steps(count, *given):
    """What is counted, where a process may be stepped through."""
    try:
        return count(*given)
    except instructions.Forbidden as why:
        pytest.skip(str(why))


@able
def test_hot_kernels_take_no_more_instructions_than_recorded():
    known = instructions.recorded().get(instructions.generation())
    if known is None:
        pytest.skip(f"nothing is recorded for {instructions.generation()}; `python -m tests.instructions --renew` does")
    assert steps(instructions.regressed, known) == []


def test_every_kernel_is_recorded():
    for generation, known in json.loads(instructions.RECORD.read_text()).items():
        assert list(known) == list(instructions.KERNELS), generation


def test_a_tenth_more_is_a_regression():
    known = {"one": 1000, "other": 1000}
    assert instructions.regressions({"one": 1099, "other": 900}, known) == []
    assert instructions.regressions({"one": 1101}, known) == ["one: 1101 instructions, 1000 recorded"]


CODE = """
import ctypes, json, mmap, os, signal
from tests import instructions
library = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value
code = bytes.fromhex(
    "4883ec08"  # sub rsp, 8
    "b80a000000" "ffc8" "75fc"  # mov eax, 10; dec eax; jnz back
    "48b8" + library.to_bytes(8, "little").hex() + "ffd0"  # mov rax, labs; call rax
    "4883c408" "c3"  # add rsp, 8; ret
)
memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
call = ctypes.CFUNCTYPE(ctypes.c_int)(address)
print(json.dumps({"once": [address], "twice": [address]}), flush=True)
instructions.ptrace(instructions.TRACEME)
for times in 1, 2:
    os.kill(os.getpid(), signal.SIGSTOP)
    for _ in range(times):
        call()
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@able
def test_instructions_are_counted_one_by_one_and_without_those_of_libraries():
    once = 2 + 2 * 10 + 2 + 2
    assert steps(instructions.stepped, "-c", CODE) == {"once": once, "twice": 2 * once}


def test_a_process_that_fails_says_why():
    with pytest.raises(instructions.Failed, match="a_module_that_is_not_there"):
        instructions.stepped("-c", "import a_module_that_is_not_there")
