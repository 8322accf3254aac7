"""Items to score, read from a JSONL file and checked once, at the door."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from likely.errors import InputError
from likely.runs.store import read_bytes

Part: TypeAlias = str | tuple[int, ...]

_KEYS = ("id", "context", "continuation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One continuation to score after one context.

    Attributes:
        id: Names the item in results and messages; unique in a run.
        context: Text or ids; may be empty.
        continuation: Text or ids; not empty.
        flags: What happened before the text came to be, such as ``template_trims``.
    """

    id: str
    context: Part
    continuation: Part
    flags: frozenset[str] = frozenset()


def read_text(path: Path) -> str:
    """Return the text of a file to the letter: no newline is translated or trimmed.

    Raises:
        StoreError: The file cannot be read.
        InputError: It is not UTF-8.
    """
    return decode_text(read_bytes(path), where=repr(str(path)))


def decode_text(raw: bytes, *, where: str) -> str:
    """Return UTF-8 bytes as text, to the letter.

    Args:
        raw: The bytes.
        where: Names their source in the message.

    Raises:
        InputError: They are not UTF-8.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is not UTF-8 at byte {error.start}; convert it first (iconv -t utf-8)"
        ) from error


def load_items(path: Path) -> tuple[Item, ...]:
    """Return the items of a JSONL file; the default id is the number of the line.

    Each line is ``{"id"?: text, "context": text or ids, "continuation": text or ids}``.

    Raises:
        StoreError: The file cannot be read.
        InputError: A line is none of these, named by file and number; two ids are the same; or
            there is no item.
    """
    items: list[Item] = []
    lines_of: dict[str, int] = {}
    for i, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            item = _item(line, default_id=str(i))
            if item.id in lines_of:
                raise InputError(f"the id {item.id!r} is taken by line {lines_of[item.id]}")
        except InputError as error:
            raise InputError(f"{path}:{i}: {error}") from error
        lines_of[item.id] = i
        items.append(item)
    if not items:
        raise InputError(f"{str(path)!r} holds no items; write one JSON object a line")
    return tuple(items)


def _item(line: str, *, default_id: str) -> Item:
    try:
        data = json.loads(line, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise InputError(f"a line is one JSON object: {error}; got {line[:60]!r}") from error
    if not isinstance(data, dict):
        raise InputError(f"a line is one JSON object, got {line[:60]!r}")
    odd = sorted(set(data) - set(_KEYS))
    missing = [key for key in _KEYS[1:] if key not in data]
    if odd or missing:
        raise InputError(
            f"an item has 'context' and 'continuation', and may have 'id'; "
            f"got {sorted(data)}: " + (f"{odd} unknown" if odd else f"{missing} missing")
        )
    name = data.get("id", default_id)
    if not isinstance(name, str) or not name:
        raise InputError(f"an id is text that is not empty, got {name!r}")
    return Item(
        id=check_text(name, what="id"),
        context=_part(data["context"], what="context"),
        continuation=_part(data["continuation"], what="continuation"),
    )


def check_text(text: str, *, what: str) -> str:
    """Return ``text``, which must be made of characters that UTF-8 has.

    Raises:
        InputError: It holds half of a surrogate pair, or bytes that were no UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the {what} is not valid Unicode at character {error.start}: {text[:60]!r}"
        ) from error
    return text


def _part(value: object, *, what: str) -> Part:
    if isinstance(value, str):
        return check_text(value, what=what)
    if isinstance(value, list) and all(type(x) is int for x in value):
        return tuple(value)
    raise InputError(f"the {what} is text or a list of ids, got {str(value)[:60]!r}")


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"a name stands once in an object, got {twice} twice")
    return dict(pairs)
