"""Putting a finished page on the disk: all of it or nothing, and an error that says why."""

import os
import uuid
from contextlib import suppress
from pathlib import Path

from likely.errors import StoreError


def check_output(path: str | Path) -> None:
    """Raise unless a file can be written at ``path``; call it before the work, not after.

    Raises:
        StoreError: The folder is missing or cannot be written to, or ``path`` is no file.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise StoreError(f"cannot write {str(path)!r}: it is no regular file; name a file")
    if not target.parent.is_dir():
        raise StoreError(
            f"cannot write {str(path)!r}: there is no folder {str(target.parent)!r}; make it first"
        )
    probe = _beside(target)
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        probe.unlink()
    except OSError as error:
        raise _explain(path, error) from error


def write_atomically(path: str | Path, text: str) -> None:
    """Write ``text`` as UTF-8 so that ``path`` holds either the old content or all of the new.

    Raises:
        StoreError: As `check_output`, or the disk is full; no part of a file is left behind.
    """
    check_output(path)
    target = Path(os.path.realpath(path))
    draft = _beside(target)
    try:
        with draft.open("xb") as file:
            file.write(text.encode("utf-8", errors="backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise _explain(path, error) from error


def _beside(target: Path) -> Path:
    return target.with_name(f".{uuid.uuid4().hex}.likely-draft")


def _explain(path: str | Path, error: OSError) -> StoreError:
    reason = error.strerror or type(error).__name__
    return StoreError(
        f"cannot write {str(path)!r}: {reason.lower()}; name a folder that you can write to and "
        "that has room"
    )
