"""Results of the study as strict JSON and back, each stamped with its kind. Unit: none.

Every number comes back to the last bit, infinities included; what is read is checked field by
field against the annotations of the result (`likely.attribution.records`).
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np

from likely.attribution.records import from_record, to_record
from likely.core.files import write_whole
from likely.core.jsonio import dumps
from likely.errors import InputError, StoreError

KIND = "likely.attribution"
SCHEMA_VERSION = 1

REMEDY = "the file is damaged or is another kind of result"
_MAIN = "Attribution"  # the result that the study is named after has no more of a name

T = TypeVar("T")


def kind_of(result: type) -> str:
    """Return what the records of a class of results say that they are.

    >>> from likely.attribution.drawn import Stability
    >>> kind_of(Stability)
    'likely.attribution.Stability'
    """
    return KIND if result.__name__ == _MAIN else f"{KIND}.{result.__name__}"


def stamp(result: type) -> dict[str, object]:
    """Return the fields that a record has before those of its result: its kind and schema."""
    return {"kind": kind_of(result), "schema_version": SCHEMA_VERSION}


def to_dict(found: object) -> dict[str, object]:
    """Return a result as a mapping that `likely.core.jsonio` writes as strict JSON."""
    return {**stamp(type(found)), **to_record(found)}


def from_dict(
    result: type[T],
    record: Mapping[str, object],
    *,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> T:
    """Return the result that `to_dict` took apart.

    Args:
        result: Its class.
        record: As written.
        arrays: Arrays by path, if they were kept apart.

    Raises:
        InputError: It is another kind of record, or a field is missing, unknown or unusable.
        StoreError: A newer version of likely wrote it.
    """
    wanted, kind, version = kind_of(result), record.get("kind"), record.get("schema_version")
    if kind != wanted:
        raise InputError(f"a record of kind {wanted!r} is needed, got {kind!r}")
    if not isinstance(version, int) or version < 1:
        raise InputError(f"the schema of a record is a number from 1 on, got {version!r}")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the record of kind {kind!r} has schema {version}, this version of likely reads "
            f"{SCHEMA_VERSION}; update likely"
        )
    plain = {name: value for name, value in record.items() if name not in stamp(result)}
    return from_record(result, plain, arrays=arrays)


def check_counts(counts: Mapping[str, tuple[int, int]]) -> None:
    """Raise unless fields have as many entries as what they are about.

    Args:
        counts: By path of the field, how many it has and how many are wanted.

    Raises:
        InputError: One has not.
    """
    for name, (n, wanted) in counts.items():
        if n != wanted:
            raise InputError(f"the field {name!r} has {wanted} entries, got {n}")


def to_json(found: object, path: str | Path | None = None) -> str:
    """Return a result as strict JSON; with a path, also write it there, whole or not at all.

    Raises:
        StoreError: The file cannot be written.
    """
    text = dumps(to_dict(found))
    if path is not None:
        write_bytes(path, (text + "\n").encode())
    return text


def read_json(path: str | Path, read: Callable[[Mapping[str, object]], T]) -> T:
    """Return the result of a file of strict JSON.

    Args:
        path: As `to_json` or ``likely attribute --out`` wrote it; what the command writes has
            the result beside other things.
        read: Takes its record, such as ``Stability.from_dict``.

    Raises:
        StoreError: The file cannot be read, is damaged, is of another kind, or is newer.
    """
    try:
        record = json.loads(read_bytes(path), parse_constant=refuse)
        if not isinstance(record, dict):
            raise InputError(f"a result is a JSON object, got {str(record)[:60]!r}")
        parts = [record, *(part for part in record.values() if isinstance(part, dict))]
        return read(next((part for part in parts if _is_ours(part)), record))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}; {REMEDY}") from error
    except StoreError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}") from error


def _is_ours(record: Mapping[str, object]) -> bool:
    return str(record.get("kind")).startswith(KIND)


def refuse(name: str) -> NoReturn:
    """Raise for a number that strict JSON does not have."""
    raise InputError(f"{name} is no number of strict JSON")


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error.strerror}; check the name") from error


def write_bytes(path: str | Path, raw: bytes) -> None:
    """Write a file, whole or not at all.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        write_whole(Path(path), [raw])
    except OSError as error:
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}") from error
