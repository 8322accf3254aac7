"""An attribution as a file: strict JSON, or NPZ with its arrays as they are. Unit: nats.

Both keep every number to the last bit, infinities included, and neither holds a pickle.
"""

import io
import json
import zipfile
import zlib
from pathlib import Path

import numpy as np

from likely.attribution.result import Attribution
from likely.core import stored
from likely.core.jsonio import dumps
from likely.core.records import to_record
from likely.errors import InputError, StoreError

_RECORD = "record"  # of the arrays of an NPZ file, the one that holds all the rest as JSON


def read_json(path: str | Path) -> Attribution:
    """Return the attribution of a file that `to_json` or ``likely attribute --out`` wrote.

    Raises:
        StoreError: The file cannot be read, is damaged, is of another kind, or is newer.
    """
    return Attribution.from_json(path)


def write_npz(found: Attribution, path: str | Path) -> None:
    """Write an attribution as a compressed NPZ file, whole or not at all.

    Each array has the path of its field as its name, such as ``places.0.candidates.log_prior``;
    ``record`` is everything else, as UTF-8 bytes of strict JSON.

    Raises:
        StoreError: The file cannot be written.
    """
    arrays: dict[str, np.ndarray] = {}
    record = {**stored.stamp(Attribution), **to_record(found, arrays=arrays)}
    arrays[_RECORD] = np.frombuffer(dumps(record).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    # Numbers alone, so nothing is pickled.
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # numpy's stub takes no names
    stored.write_bytes(path, buffer.getvalue())


def read_npz(path: str | Path) -> Attribution:
    """Return the attribution of a file that `write_npz` wrote.

    Raises:
        StoreError: As `read_json`.
    """
    raw = stored.read_bytes(path)
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile) or _RECORD not in file:
                raise InputError("it holds no attribution")
            arrays = {name: np.asarray(file[name]) for name in file.files}
        record = json.loads(arrays.pop(_RECORD).tobytes(), parse_constant=stored.refuse)
        return stored.from_parts(Attribution, record, arrays=arrays)
    except (ValueError, EOFError, KeyError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}; {stored.REMEDY}") from error
    except StoreError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error}") from error
