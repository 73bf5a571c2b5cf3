"""Instructions of hot kernels, counted: `python -m tests.instructions [KERNEL ...]`; `--renew` records them.

A time says little on a machine that others use; the number of instructions is the same each time, but for a few in a
thousand, or in a hundred where loops test whether arrays lie apart: that depends on where memory happens to be. So what
seems to have become slower is counted again, and the least counts. Counted are those of a compiled gradient from its
entry to its return, without those of libraries that it calls, which choose them by the processor. Code is generated for
`PROCESSOR`, whatever this machine has, so that the same LLVM makes the same instructions everywhere.

A process compiles the kernels and stops before one more call of each, which is then executed one instruction at a time
(`ptrace`): that takes no tool, and runs whatever the processor can.
"""

# ruff: noqa: T201 - a command line prints

import argparse
import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORD = Path(__file__).with_suffix(".json")
AGAIN = 2  # counts, before it is said that a kernel has become slower
MORE = 1.10  # times as many as recorded are a regression
PROCESSOR = "x86-64-v3"  # with AVX2 and FMA: what most machines have, and no more
NEEDED = ("avx2", "fma", "bmi", "bmi2", "f16c", "movbe")

#: rows of `benchmarks` and sizes at which loops have enough iterations to be vectors and few enough to be stepped
KERNELS = {
    "gauss_seidel": {"n": 14, "sweeps": 2},
    "lu": {"n": 16},
    "stencil_loops": {"n": 34, "steps": 1},
    "stencil_slices": {"n": 34, "steps": 1},
    "convolution": {"n": 24, "k": 2},
    "thomas": {"n": 100},
    "lorenz": {"steps": 40},
    "nbody": {"bodies": 5, "steps": 3},
    "black_scholes": {"options": 100},
    "kmeans": {"points": 20, "centres": 3, "dimensions": 16},
}


class Failed(Exception):
    """The process that is watched did not come to its end; with what it said."""


class Forbidden(Failed):
    """No process may be stepped through here."""


def unable():
    """Why nothing can be counted on this machine, or nothing."""
    import llvmlite.binding as llvm

    if sys.platform != "linux" or not llvm.get_process_triple().startswith("x86_64"):
        return "steps through x86-64 code under Linux"
    features = llvm.get_host_cpu_features()
    if missing := [f for f in NEEDED if not features.get(f, False)]:
        return f"this processor lacks {', '.join(missing)}"
    return ""


def generation():
    """What else than diffjit decides about instructions."""
    import llvmlite.binding as llvm

    return f"LLVM {llvm.llvm_version_info[0]}"


def recorded():
    """The record: instructions of each kernel, for each generation of LLVM."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def regressions(found, wanted):
    """Kernels that have become slower, in words."""
    return [
        f"{name}: {number} instructions, {wanted[name]} recorded"
        for name, number in found.items()
        if number > MORE * wanted[name]
    ]


# The process that is watched ------------------------------------------------------------------------------------------


def watched(names):
    """Compile all kernels, say where they begin, and stop before one more call of each and after that."""
    kernels = {name: ready(name) for name in names}
    print(json.dumps({name: entries for name, (_, entries) in kernels.items()}), flush=True)
    gc.disable()
    ptrace(TRACEME)
    for call, _ in kernels.values():
        os.kill(os.getpid(), signal.SIGSTOP)
        call()
        os.kill(os.getpid(), signal.SIGSTOP)


def ready(name):
    """What calls a kernel that has been called before, so that it runs machine code, and where that begins."""
    import diffjit as dj
    from benchmarks import rows
    from diffjit.lowering.calls import cpu

    row = rows.load(name)
    arguments = row.arguments(**KERNELS[name])
    made = []
    first_call = cpu.FirstCall.__call__

    def noted(self, *given):
        result = first_call(self, *given)
        made.append(self.ready)
        return result

    cpu.FirstCall.__call__ = noted
    try:
        gradient = dj.value_and_grad(row.program, argnums=row.argnums)
        gradient(*arguments)
    finally:
        cpu.FirstCall.__call__ = first_call
    gradient(*arguments)
    assert made
    return partial(gradient, *arguments), [entry(function) for function in made]


def entry(function):
    """The address of the machine code of a function of C: of what `PyMethodDef` points to."""
    assert type(function).__name__ == "builtin_function_or_method", function
    definition = ctypes.c_void_p.from_address(id(function) + 2 * ctypes.sizeof(ctypes.c_void_p)).value
    return ctypes.c_void_p.from_address(definition + ctypes.sizeof(ctypes.c_void_p)).value


# The process that watches ---------------------------------------------------------------------------------------------

TRACEME, PEEKTEXT, PEEKUSER, POKETEXT, POKEUSER, CONT, SINGLESTEP = 0, 1, 3, 4, 6, 7, 9
RIP, RSP = 16 * 8, 19 * 8  # in `struct user`
WORD = 2**64 - 1


@cache
def _library():
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    library.ptrace.restype = ctypes.c_long
    return library


def ptrace(request, pid=0, address=None, data=None):
    """The system call; what it returns is a word of memory or a register."""
    ctypes.set_errno(0)
    result = _library().ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request}: {os.strerror(ctypes.get_errno())}")
    return result & WORD


class Watched:
    """A process under `ptrace`."""

    def __init__(self, pid):
        self.pid = pid
        self.saved = {}  # words under breakpoints, by address

    def resume(self, request=CONT):
        """Go on to the next stop."""
        ptrace(request, self.pid)
        return self.stop(request)

    def stop(self, request=CONT):
        """The next stop that is ours, a trap or the process's own SIGSTOP; other signals are passed on."""
        while True:
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                raise ChildProcessError(f"the process that is watched has ended ({status})")
            if os.WSTOPSIG(status) in (signal.SIGTRAP, signal.SIGSTOP):
                return os.WSTOPSIG(status)
            ptrace(request, self.pid, None, os.WSTOPSIG(status))

    def place(self, address):
        """A breakpoint."""
        self.saved[address] = word = ptrace(PEEKTEXT, self.pid, address)
        ptrace(POKETEXT, self.pid, address, (word & ~0xFF) | 0xCC)

    def remove(self, address):
        """Without it, and back to where it was, if the process has run into it."""
        ptrace(POKETEXT, self.pid, address, self.saved.pop(address))
        if ptrace(PEEKUSER, self.pid, RIP) == address + 1:
            ptrace(POKEUSER, self.pid, RIP, address)

    def generated(self, entries):
        """Where there is code that comes from no file, as far as it was loaded with that of the entries."""
        found = []
        for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            area, flags, *_, inode, name = [*line.split(None, 5), ""][:6]
            if "x" in flags and inode == "0" and not name.strip():
                low, high = (int(end, 16) for end in area.split("-"))
                found.append(range(low, high))
        ours = [area for area in found if any(address in area for address in entries)]
        assert all(any(address in area for area in ours) for address in entries)
        return ours

    def count(self, entries):
        """Instructions of generated code from here to the next SIGSTOP, while one of the entries is active."""
        ours = self.generated(entries)
        for address in entries:
            self.place(address)
        steps = 0
        while self.resume() != signal.SIGSTOP:
            at = ptrace(PEEKUSER, self.pid, RIP) - 1
            self.remove(at)
            steps += self.through(ours)
            self.place(at)
        for address in entries:
            self.remove(address)
        return steps

    def through(self, ours):
        """Instructions from an entry to its return, without those of libraries that are called on the way."""
        steps = 0
        while True:
            self.resume(SINGLESTEP)
            steps += 1
            at = ptrace(PEEKUSER, self.pid, RIP)
            if any(at in area for area in ours):
                continue
            back = ptrace(PEEKTEXT, self.pid, ptrace(PEEKUSER, self.pid, RSP))
            if not any(back in area for area in ours):  # the return to Python, or a last call that returns there
                return steps
            self.place(back)
            self.resume()
            self.remove(back)


def count(names=KERNELS):
    """Instructions of one warm call of each kernel."""
    return stepped("-m", "tests.instructions", "--watched", *names)


def regressed(known):
    """Kernels that take more than is known of them, each time that they are counted, in words."""
    found = count(known)
    for _ in range(AGAIN):
        if slower := [name for name in found if found[name] > MORE * known[name]]:
            again = count(slower)
            found |= {name: min(number, found[name]) for name, number in again.items()}
    return regressions(found, known)


def stepped(*command):
    """Instructions of what a Python process runs between stops, as `watched` does."""
    with tempfile.TemporaryDirectory(prefix="diffjit-instructions-") as folder:
        process = subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, *command], cwd=ROOT, env=environment(folder), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        with process:
            try:
                return counted(Watched(process.pid), json.loads(process.stdout.readline()))
            except (ValueError, ChildProcessError) as error:
                process.kill()
                said = process.stderr.read().strip() or str(error)
                raise (Forbidden if "PermissionError" in said else Failed)(said) from error
            finally:
                process.kill()


def counted(process, entries):
    """Once the process has said where its kernels begin."""
    found = {}
    for name, addresses in entries.items():
        process.resume() if found else process.stop()
        found[name] = process.count(addresses)
    return found


def environment(folder):
    """Nothing that the caller has set of diffjit and Numba, an empty cache, one thread, and the processor."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIFFJIT_", "NUMBA_"))}
    kept |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    ours = {"DIFFJIT_CACHE_DIR": folder, "DIFFJIT_THREADS": "1", "DIFFJIT_TIERS": "0"}
    ours["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    return kept | ours | {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0"}


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("kernels", nargs="*", help=", ".join(KERNELS))
    parser.add_argument("--renew", action="store_true", help=f"write {RECORD.name}")
    parser.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.kernels or list(KERNELS)
    if options.watched:
        watched(names)
        return 0
    if why := unable():
        print(why)
        return 2
    before = recorded()
    known = before.get(generation(), {})
    found = count(names)
    for name, number in found.items():
        print(f"{name:16} {number:8}" + (f" {number / known[name]:8.3f} of what is recorded" if name in known else ""))
    if options.renew:
        after = before | {generation(): known | found}
        RECORD.write_text(json.dumps(dict(sorted(after.items())), indent=1) + "\n")
        return 0
    return any(number > MORE * known.get(name, number) for name, number in found.items())


if __name__ == "__main__":
    sys.exit(main())
