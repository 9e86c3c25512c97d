"""Replaces files as a whole or not at all, and leaves nothing beside them.

The new content is written into a draft, which takes the file's place. On Linux the draft has no
name until it is whole, so that the system removes it with the process. Where it needs one, it is
locked as long as its process lives: the next that writes in the folder knows it for a dead one's.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

_DRAFT: Final = re.compile(r"\.shapecheck-[0-9a-f]{8}\.tmp")
_UNNAMED: Final = getattr(os, "O_TMPFILE", None)
_OPEN_FILES: Final = Path("/proc/self/fd")


def replace(path: Path, content: bytes, *, durable: bool) -> None:
    """Give a file this content in one step: it has the old or the new one, whatever happens.

    It keeps its permissions, its owner where that may be, and the like; a file that is new gets the
    usual ones. `durable`: it is on the disk before the old content goes. Raises OSError.
    """
    _clear(path.parent)
    if _UNNAMED is not None and _OPEN_FILES.is_dir():
        with suppress(OSError):  # the file system doesn't know it
            handle = os.open(path.parent, _UNNAMED | os.O_WRONLY, 0o600)
            _replace(path, content, handle, None, durable)
            return
    draft = _new_name(path.parent)
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    _replace(path, content, handle, draft, durable)


def _replace(path: Path, content: bytes, handle: int, draft: Path | None, durable: bool) -> None:
    """Replace a file by an open draft, which has a name or gets one."""
    stream = None
    try:
        _take(handle)
        stream = os.fdopen(handle, "wb")
        stream.write(content)
        stream.flush()
        if durable:
            os.fsync(handle)
        _make_alike(path, draft or _OPEN_FILES / str(handle))
        if draft is None:
            draft = _new_name(path.parent)
            # Given a folder, Python asks the system to follow the link that an open file is.
            os.link(_OPEN_FILES / str(handle), draft, src_dir_fd=handle, follow_symlinks=True)
        if sys.platform == "win32":
            stream.close()
        draft.replace(path)
    except BaseException:
        if draft is not None:
            draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle) if stream is None else stream.close()


def _make_alike(path: Path, draft: Path) -> None:
    """Give a draft the permissions and the like of a file, or the usual ones of a new file."""
    if path.exists():
        if sys.platform != "win32":
            owner = path.stat()
            with suppress(OSError):  # only root gives files away
                os.chown(draft, owner.st_uid, owner.st_gid)
        shutil.copystat(path, draft)
        os.utime(draft)
    else:
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)


def _new_name(folder: Path) -> Path:
    return folder / f".shapecheck-{secrets.token_hex(4)}.tmp"


def _clear(folder: Path) -> None:
    """Remove the drafts that processes which are no more have left in a folder."""
    drafts: list[Path] = []
    with suppress(OSError):  # a folder that may be written to, and not read
        drafts += (path for path in folder.iterdir() if _DRAFT.fullmatch(path.name))
    for draft in drafts:
        with suppress(OSError):  # another process is writing it, or has removed it
            _remove(draft)


def _remove(draft: Path) -> None:
    """Remove a draft; raises OSError where a process has it open."""
    if sys.platform != "win32":
        handle = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            _take(handle)
        finally:
            os.close(handle)
    draft.unlink()


def _take(handle: int) -> None:
    """Lock an open draft; raises OSError where another process has it."""
    if sys.platform != "win32":
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
