"""The folder of generated modules: where it is, that nobody else can write there, and atomic writes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

from diffjit.settings import settings


def digest(text: str) -> str:
    """The name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def _fallback() -> Path:
    return Path(tempfile.mkdtemp(prefix="diffjit-"))


def folder() -> Path:
    """`settings.cache_dir`, or the user's cache folder; a private temporary folder where that cannot be used."""
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
    if sys.platform != "win32":
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
    return os.access(path, os.W_OK | os.X_OK)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        Path(temporary).replace(path)
    except OSError:
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
        if _OURS.fullmatch(path.name):
            path.unlink(missing_ok=True)


def module_file(stem: str, text: str) -> Path:
    """The file of a generated module, written if it is not there (or was damaged)."""
    path = folder() / f"{stem}_{digest(text)}.py"
    try:
        if path.read_text(encoding="utf-8") == text:
            return path
    except (OSError, UnicodeDecodeError):
        pass
    write_bytes(path, text.encode())
    return path
