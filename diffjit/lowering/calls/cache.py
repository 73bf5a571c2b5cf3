"""The folder of generated modules: where it is, that nobody else can write there or has written there, atomic writes.

What cannot be read is made anew, and what cannot be written is not kept: no program fails for it.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

from diffjit.errors import CacheWarning
from diffjit.settings import settings

PACKAGE = "diffjit_generated"  # of the generated modules, in `sys.modules`


def digest(text: str) -> str:
    """The name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _fallback() -> Path:
    """The user's own folder among temporary files; where somebody else has taken its name, one for this process."""
    if hasattr(os, "getuid"):
        path = Path(tempfile.gettempdir()) / f"diffjit-{os.getuid()}"
        if not path.is_symlink() and _usable(path):
            return path
    return _passing()


@cache
def _passing() -> Path:
    path = Path(tempfile.mkdtemp(prefix="diffjit-"))
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(path, ignore_errors=True))  # not in its children
    return path


def folder() -> Path:
    """`settings.cache_dir`, or the user's cache folder; a temporary folder where that cannot be used."""
    wanted = settings.cache_dir
    path = Path(wanted) if wanted else _user_cache() / "diffjit"
    return path if _usable(path) else _fallback()


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home() / "AppData" / "Local")))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")))


def _usable(path: Path) -> bool:
    """Ours alone, and writable: the folder holds code that will be run."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _ours(status) and os.access(path, os.W_OK | os.X_OK)


def _ours(status: os.stat_result) -> bool:
    """Whether something belongs to the user, and nobody else may write to it."""
    if sys.platform == "win32":  # what is in a user's profile is the user's
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read_bytes(path: Path) -> bytes | None:
    """What a file holds; None where there is none, or where it is not a plain file of the user's alone.

    The open file is asked, not its name, which may stand for another one a moment later.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _ours(status):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


_BINARY = getattr(os, "O_BINARY", 0)


def keep(path: Path, content: bytes) -> None:
    """Write a file if that is possible; the first one of the process that is not is warned of."""
    try:
        write_bytes(path, content)
    except OSError as error:
        _warn_once(str(path.parent), type(error).__name__, error.strerror or str(error))


@cache
def _warn_once(where: str, kind: str, reason: str) -> None:
    warnings.warn(
        f"diffjit cannot write to {where} ({kind}: {reason}): programs are compiled anew in each process; "
        "settings.cache_dir names another folder",
        CacheWarning,
        stacklevel=2,
    )


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        raise


def make_room(limit: int) -> None:
    """Remove the files that were not used for longest, until those that stay take no more than `limit` bytes."""
    found: list[tuple[float, int, Path]] = []
    for path in folder().iterdir():
        try:
            status = path.stat()
        except OSError:
            continue  # another process removed it
        if stat.S_ISREG(status.st_mode):
            found.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        path.unlink(missing_ok=True)
        total -= size


_OURS = re.compile(r".*_[0-9a-f]{24}(\.py|\.manifest|(\.[0-9a-f]{24})?\.bin)|\..*\.tmp")


def clear() -> None:
    """Remove what diffjit has written into the folder."""
    for path in folder().iterdir():
        if _OURS.fullmatch(path.name) and not path.is_dir():
            path.unlink(missing_ok=True)


def module_file(stem: str, text: str) -> Path:
    """The file of a generated module, written if it is not there (or was damaged) and can be written."""
    path = folder() / f"{stem}_{digest(text)}.py"
    if read_bytes(path) != text.encode():
        keep(path, text.encode())
    return path
