"""Files that are written whole or not at all."""

import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file so that readers see the old one or the whole new one, never a part.

    A link keeps pointing where it pointed; a device or a pipe is written to directly. Whatever
    ``chunks`` raises leaves the old file as it was.

    Args:
        path: The file to come; an existing one is replaced and keeps its permissions.
        chunks: Its content, taken as it comes.

    Raises:
        OSError: The file cannot be written.
    """
    target = Path(os.path.realpath(path))
    if not is_replaceable(target):
        with target.open("wb") as file:
            file.writelines(chunks)
        return
    part = part_of(target)
    try:
        with part.open("xb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def is_replaceable(target: Path) -> bool:
    """Return whether a new file may take the place of ``target``: not of a device or a pipe."""
    return target.is_file() or not target.exists()


def part_of(target: Path) -> Path:
    """Return the name, its own each time, under which a file is written until it is whole."""
    return target.with_name(f".{target.name[:80]}.{uuid.uuid4().hex[:12]}.part")
