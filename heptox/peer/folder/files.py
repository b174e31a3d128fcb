"""Files that survive ``kill -9``: written whole or not at all, and on the disk before it is reported."""

from __future__ import annotations

import fcntl
import os
import secrets
import select
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

CONTROL: Final = "control.json"
LOCK: Final = "lock"
"""Files of a peer's folder that its commands look at too."""
RESERVE: Final = "reserve"
"""A file of a peer's folder that holds nothing but room, for what makes room on a full disk."""
RESERVE_BYTES: Final = 4 * 1024 * 1024
_LOOK: Final = 0.01
"""Seconds after which a lock that is not free is tried again."""


def write_atomically(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write ``data`` to ``file`` in one step: a reader, after any crash, finds the old content or the new.

    Raises ``OSError``.
    """
    temporary = _temporary(file)
    try:
        write_synced(temporary, data, mode)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


@contextmanager
def written_atomically(file: Path, data: bytes) -> Iterator[None]:
    """As :func:`write_atomically`; when the block fails, what was there before is there again, or nothing.

    Raises ``OSError``.
    """
    before = _temporary(file)
    if replaced := file.exists():
        os.link(file, before)  # which takes no space: a full disk does not keep it from coming back
    try:
        write_atomically(file, data)
        yield
    except BaseException:
        if replaced:
            before.replace(file)
        else:
            file.unlink(missing_ok=True)
        sync_folder(file.parent)
        raise
    finally:
        before.unlink(missing_ok=True)


@contextmanager
def removed_durably(file: Path) -> Iterator[None]:
    """Remove a file, and wait until it is gone from the disk; when the block fails, it is there again.

    Raises ``OSError``.
    """
    before = _temporary(file)
    file.replace(before)
    try:
        sync_folder(file.parent)
        yield
    except BaseException:
        before.replace(file)
        sync_folder(file.parent)
        raise
    with suppress(OSError):  # it is gone by its name; what is left of it goes when the folder is next locked
        before.unlink()


def _temporary(file: Path) -> Path:
    return file.with_name(f".{secrets.token_hex(8)}.tmp")


def write_synced(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a new file and wait until it is on the disk; its mode is set before its content is."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in ``folder`` are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int, seconds: float) -> bool:
    """Lock an open file for as long as it is open; whether that was possible within some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK)
        else:
            return True


def is_locked(file: Path) -> bool:
    """Whether somebody holds the lock of a file: another process, or another opening of it; it is tried to see that."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def wait_until_unlocked(file: Path, seconds: float) -> bool:
    """Wait until nobody holds the lock of a file; whether that came about within some seconds."""
    deadline = time.monotonic() + seconds
    while is_locked(file):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK)
    return True


def holder(file: Path, process: int) -> int | None:
    """A descriptor by which to wait for the end of a process, which the caller closes; ``None`` where the process is
    this one, or cannot be shown to have the lock file open: then its number may mean another one by now, or elsewhere.
    """
    if process == os.getpid() or not hasattr(os, "pidfd_open"):
        return None
    try:
        descriptor: int = os.pidfd_open(process)
    except (OSError, OverflowError):
        return None
    if _has_open(process, file):
        return descriptor
    os.close(descriptor)
    return None


def _has_open(process: int, file: Path) -> bool:
    try:
        meant = file.stat()
        opened = list(Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False
    for one in opened:
        with suppress(OSError):  # it is closed meanwhile
            if os.path.samestat(one.stat(), meant):
                return True
    return False


def wait_until_ended(descriptor: int, seconds: float) -> bool:
    """Wait until the process of a descriptor (:func:`holder`) has ended; whether it did within some seconds."""
    ending = select.poll()
    ending.register(descriptor, select.POLLIN)
    return bool(ending.poll(max(seconds, 0) * 1000))


def keep_reserve(folder: Path) -> None:
    """Have the reserve of a folder, if the disk has room for it."""
    file = folder / RESERVE
    with suppress(OSError):
        if file.exists() and file.stat().st_blocks * 512 >= RESERVE_BYTES:
            return
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
        except OSError:
            release_reserve(folder)
        finally:
            os.close(descriptor)


def release_reserve(folder: Path) -> bool:
    """Give the room of the reserve to others; whether there was any."""
    try:
        (folder / RESERVE).unlink()
    except OSError:
        return False
    return True


@contextmanager
def removed_on_failure(folder: Path) -> Iterator[None]:
    """Remove a folder when the block fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(folder)
        raise


def remove_left_over(folder: Path) -> None:
    """Remove the temporary files that a crash left in ``folder``."""
    for file in folder.glob(".*.tmp"):
        if not file.is_dir():
            file.unlink(missing_ok=True)
