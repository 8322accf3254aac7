"""An attribution as a file: strict JSON, or NPZ with its arrays as they are. Unit: nats.

Both keep every number to the last bit, infinities included, and neither holds a pickle.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import numpy as np

from likely.attribution.records import from_record, to_record
from likely.attribution.result import Attribution
from likely.core.files import write_whole
from likely.core.jsonio import dumps
from likely.errors import InputError, StoreError

KIND = "likely.attribution"
SCHEMA_VERSION = 1

_RECORD = "record"  # of the arrays of an NPZ file, the one that holds all the rest as JSON
_REMEDY = "the file is damaged or is another kind of result"


def to_dict(found: Attribution) -> dict[str, object]:
    """Return an attribution as a mapping that `likely.core.jsonio` writes as strict JSON."""
    return {**_stamp(), **to_record(found)}


def from_dict(record: Mapping[str, object]) -> Attribution:
    """Return the attribution that `to_dict` took apart.

    Raises:
        InputError: It is another kind of record, or a field is missing, unknown or unusable.
        StoreError: A newer version of likely wrote it.
    """
    return _from_record(record, None)


def write_json(found: Attribution, path: str | Path) -> None:
    """Write an attribution as strict JSON, whole or not at all.

    Raises:
        StoreError: The file cannot be written.
    """
    _write(path, (dumps(to_dict(found)) + "\n").encode())


def read_json(path: str | Path) -> Attribution:
    """Return the attribution of a file that `write_json` or ``likely attribute --out`` wrote.

    Raises:
        StoreError: The file cannot be read, is damaged, is of another kind, or is newer.
    """
    try:
        record = json.loads(_bytes(path), parse_constant=_refuse)
        if isinstance(record, dict) and isinstance(record.get("attribution"), dict):
            record = record["attribution"]  # what the command writes has it beside other things
        if not isinstance(record, dict):
            raise InputError(f"an attribution is a JSON object, got {str(record)[:60]!r}")
        return from_dict(record)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}; {_REMEDY}") from error
    except StoreError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}") from error


def write_npz(found: Attribution, path: str | Path) -> None:
    """Write an attribution as a compressed NPZ file, whole or not at all.

    Each array has the path of its field as its name, such as ``places.0.candidates.log_prior``;
    ``record`` is everything else, as UTF-8 bytes of strict JSON.

    Raises:
        StoreError: The file cannot be written.
    """
    arrays: dict[str, np.ndarray] = {}
    record = {**_stamp(), **to_record(found, arrays=arrays)}
    arrays[_RECORD] = np.frombuffer(dumps(record).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    # Numbers alone, so nothing is pickled.
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # numpy's stub takes no names
    _write(path, buffer.getvalue())


def read_npz(path: str | Path) -> Attribution:
    """Return the attribution of a file that `write_npz` wrote.

    Raises:
        StoreError: As `read_json`.
    """
    raw = _bytes(path)
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile) or _RECORD not in file:
                raise InputError("it holds no attribution")
            arrays = {name: np.asarray(file[name]) for name in file.files}
        record = json.loads(arrays.pop(_RECORD).tobytes(), parse_constant=_refuse)
        return _from_record(record, arrays)
    except (ValueError, EOFError, KeyError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}; {_REMEDY}") from error
    except StoreError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}") from error


def _stamp() -> dict[str, object]:
    return {"kind": KIND, "schema_version": SCHEMA_VERSION}


def _from_record(
    record: Mapping[str, object], arrays: Mapping[str, np.ndarray] | None
) -> Attribution:
    kind, version = record.get("kind"), record.get("schema_version")
    if kind != KIND:
        raise InputError(f"a record of kind {KIND!r} is needed, got {kind!r}")
    if not isinstance(version, int) or version < 1:
        raise InputError(f"the schema of a record is a number from 1 on, got {version!r}")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the attribution has schema {version}, this version of likely reads "
            f"{SCHEMA_VERSION}; update likely"
        )
    plain = {name: value for name, value in record.items() if name not in _stamp()}
    found = from_record(Attribution, plain, arrays=arrays)
    _check(found)
    return found


def _check(found: Attribution) -> None:
    """Raise unless the parts of a result have as many entries as there are places and tokens.

    Raises:
        InputError: They have not.
    """
    n_places, n_response = len(found.places), len(found.case.response)
    n_tokens = len(found.case.prompt)
    counts = {
        "excluded_mass": (len(found.excluded_mass), n_places),
        "response_log_probs": (len(found.response_log_probs), n_response),
        "case.response_spans": (len(found.case.response_spans), n_response),
        "case.spans": (len(found.case.spans), n_tokens),
        "case.roles": (len(found.case.roles), n_tokens),
    }
    for i, place in enumerate(found.places):
        counts[f"places.{i}.tokens"] = (len(place.tokens), len(place.positions))
        counts[f"places.{i}.measures.matrix"] = (len(place.measures.matrix), n_response)
        counts[f"places.{i}.candidates.pieces"] = (
            len(place.candidates.pieces), len(place.candidates),
        )  # fmt: skip
    for name, (n, wanted) in counts.items():
        if n != wanted:
            raise InputError(f"the field {name!r} has {wanted} entries, got {n}")


def _bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error.strerror}; check the name") from error


def _write(path: str | Path, raw: bytes) -> None:
    try:
        write_whole(Path(path), [raw])
    except OSError as error:
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _refuse(name: str) -> NoReturn:
    raise InputError(f"{name} is no number of strict JSON")
