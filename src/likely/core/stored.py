"""Results of studies as strict JSON and back, each stamped with its kind. Unit: none.

Every number comes back to the last bit, infinities included; what is read is checked field by
field against the annotations of the result (`likely.core.records`).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, NoReturn, TypeVar

import numpy as np

from likely.core.files import write_whole
from likely.core.jsonio import dumps
from likely.core.records import from_record, to_record
from likely.errors import InputError, StoreError

SCHEMA_VERSION = 1

REMEDY = "the file is damaged or is another kind of result"

T = TypeVar("T", bound="Stored")


def kind_of(result: type) -> str:
    """Return what the records of a class of results say that they are.

    The study comes first; the result that a study is named after has no more of a name.

    >>> from likely.attribution.drawn import Stability
    >>> kind_of(Stability)
    'likely.attribution.Stability'
    """
    study = ".".join(result.__module__.split(".")[:2])
    return study if getattr(result, "names_study", False) else f"{study}.{result.__name__}"


def stamp(result: type) -> dict[str, object]:
    """Return the fields that a record has before those of its result: its kind and schema."""
    return {"kind": kind_of(result), "schema_version": SCHEMA_VERSION}


class Stored:
    """A result that can be written as strict JSON and read back, every number the same."""

    __slots__ = ()
    names_study: ClassVar[bool] = False

    def to_dict(self) -> dict[str, object]:
        """Return everything as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {**stamp(type(self)), **to_record(self)}

    @classmethod
    def from_dict(cls: type[T], record: Mapping[str, object]) -> T:
        """Return the result that `to_dict` took apart.

        Raises:
            InputError: It is another kind of record, or a field is missing, unknown or unusable.
            StoreError: A newer version of likely wrote it.
        """
        return from_parts(cls, record)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return strict JSON of everything; with a path, also write it there, whole or not at all.

        Raises:
            StoreError: The file cannot be written.
        """
        text = dumps(self.to_dict())
        if path is not None:
            write_bytes(path, (text + "\n").encode())
        return text

    @classmethod
    def from_json(cls: type[T], path: str | Path) -> T:
        """Return the result of a file of strict JSON.

        Args:
            path: As `to_json` or a command with ``--out`` wrote it; what the command writes has
                the result beside other things.

        Raises:
            StoreError: The file cannot be read, is damaged, is of another kind, or is newer.
        """
        try:
            record = json.loads(read_bytes(path), parse_constant=refuse)
            if not isinstance(record, dict):
                raise InputError(f"a result is a JSON object, got {str(record)[:60]!r}")
            parts = [record, *(part for part in record.values() if isinstance(part, dict))]
            ours = [part for part in parts if str(part.get("kind")).startswith("likely.")]
            return cls.from_dict(ours[0] if ours else record)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"cannot read {str(path)!r}: {error}; {REMEDY}") from error
        except StoreError as error:
            raise StoreError(f"cannot read {str(path)!r}: {error}") from error

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by path of a field how many entries it has, and how many it must have."""
        return {}


def from_parts(
    result: type[T],
    record: Mapping[str, object],
    *,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> T:
    """Return the result that `Stored.to_dict` took apart.

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
    found = from_record(result, plain, arrays=arrays)
    for name, (n, needed) in found.counts().items():
        if n != needed:
            raise InputError(f"the field {name!r} has {needed} entries, got {n}")
    return found


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
