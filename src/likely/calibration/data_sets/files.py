"""Items as a file: JSON Lines, one record a line, written and read in a stream. Unit: none."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from likely.calibration.data_sets.items import Item
from likely.core.files import write_whole
from likely.errors import InputError, StoreError


def items_sha256(items: Iterable[Item]) -> str:
    """Return the sha256 of the file that `write_items` would write, in hexadecimal.

    >>> from likely.calibration.data_sets.family import build
    >>> items_sha256(build("distributions", preset="smoke"))[:8]
    'becbc944'
    """
    digest = hashlib.sha256()
    for item in items:
        digest.update(_line(item))
    return digest.hexdigest()


def write_items(path: str | Path, items: Iterable[Item]) -> str:
    """Write items to a file, whole or not at all, and return its sha256.

    Args:
        path: Replaced if it exists; a device or a pipe is written to directly.
        items: Taken one at a time.

    Raises:
        StoreError: The file cannot be written.
    """
    digest = hashlib.sha256()

    def lines() -> Iterator[bytes]:
        for item in items:
            line = _line(item)
            digest.update(line)
            yield line

    try:
        write_whole(Path(path), lines())
    except OSError as error:
        raise StoreError(f"cannot write items to {str(path)!r}: {error.strerror}") from error
    return digest.hexdigest()


def iter_items(path: str | Path) -> Iterator[Item]:
    """Yield the items of a file that `write_items` wrote; empty lines are passed over.

    Raises:
        StoreError: The file cannot be read.
        InputError: A line is no record of an item or has the id of an earlier one, named by file
            and number.
    """
    lines_of: dict[str, int] = {}
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                item = _item(line, where=f"{path}:{number}")
                if item.id in lines_of:
                    raise InputError(
                        f"{path}:{number}: the id {item.id!r} is taken by line {lines_of[item.id]}"
                    )
                lines_of[item.id] = number
                yield item
    except OSError as error:
        raise StoreError(f"cannot read items from {str(path)!r}: {error.strerror}") from error


def read_items(path: str | Path) -> tuple[Item, ...]:
    """Return all items of a file.

    Raises:
        StoreError: The file cannot be read.
        InputError: As `iter_items`, or there are none.
    """
    items = tuple(iter_items(path))
    if not items:
        raise InputError(f"{str(path)!r} holds no items; write some with write_items")
    return items


def _line(item: Item) -> bytes:
    return item.to_json().encode() + b"\n"


def _item(line: bytes, *, where: str) -> Item:
    try:
        return Item.from_json(line.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: this line is not UTF-8 at byte {error.start}") from error
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
