"""Results as files: strict JSONL and Parquet doubles, replaced in one step. Unit: nats.

Both formats keep a probability of 0 (``-inf``) apart from a value that is not there (null).
"""

import errno
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias, cast

from likely.core.files import is_replaceable, part_of, write_whole
from likely.core.jsonio import dumps, encode, number
from likely.errors import InputError, StoreError

Kind = Literal["text", "int", "float", "bool", "texts", "ints", "floats", "bools"]
Columns: TypeAlias = Mapping[str, Kind]
Row: TypeAlias = Mapping[str, object]

ROW_SUFFIXES = (".jsonl", ".parquet")
"""What a file of rows may end in."""

_CHUNK = 4096
"""Rows that are held at a time: the fewer, the more they take in Parquet."""

_NAMED = 12  # columns that a message names

_REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space or name a file on another disk",
    errno.EDQUOT: "your quota is full: free some space or name a file on another disk",
    errno.ENOENT: "make its folder first",
    errno.ENOTDIR: "one of its folders is a file; name another place",
    errno.EISDIR: "it is a folder; name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def store_error(path: Path, doing: str, error: OSError) -> StoreError:
    """Return the `StoreError` for an operating system's error, with a remedy."""
    remedy = _REMEDIES.get(error.errno or 0, "name a file in a folder that can be written")
    if doing == "read":
        remedy = "check the name and its permissions"
    return StoreError(f"cannot {doing} {str(path)!r}: {error.strerror or error}; {remedy}")


def check_writable(path: Path, *, suffixes: Sequence[str] | None = None) -> None:
    """Raise unless a result can be written to ``path``; call it before the work starts.

    Args:
        path: The file to come; an existing one will be replaced.
        suffixes: The formats that make sense, such as ``(".jsonl", ".parquet")``, or None.

    Raises:
        InputError: Another suffix.
        StoreError: No such folder, or no right to write there.
    """
    if suffixes is not None and path.suffix not in suffixes:
        raise InputError(
            f"the format comes from the file's ending, one of {list(suffixes)}; got {str(path)!r}"
        )
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if is_replaceable(target):
            probe = part_of(target)
            probe.touch(exist_ok=False)
            probe.unlink()
    except OSError as error:
        raise store_error(path, "write", error) from error


def write_bytes(path: Path, raw: bytes) -> None:
    """Write a file so that readers see the old one or the whole new one, never a part.

    A device or a pipe is written to directly.

    Raises:
        StoreError: The disk is full, or the file cannot be written.
    """
    _write_chunks(path, [raw])


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise store_error(path, "read", error) from error


def write_rows(path: Path, rows: Iterable[Row], columns: Columns) -> None:
    """Write rows as JSONL or Parquet, after the ending of ``path``.

    Args:
        path: Ends in ``.jsonl`` or ``.parquet``.
        rows: Each with a value, or None, for every column. Few are held at a time.
        columns: Name and kind of each column, in order.

    Raises:
        InputError: Another ending, or a row whose names are not the columns'.
        NumericalError: A number is NaN.
        StoreError: The file cannot be written.
    """
    fitting = _fitting(rows, columns)
    if path.suffix == ".jsonl":
        _write_chunks(path, _line_chunks(fitting))
    elif path.suffix == ".parquet":
        write_bytes(path, _parquet_bytes(fitting, columns))
    else:
        raise InputError(f"rows go to a file ending in {list(ROW_SUFFIXES)}, got {str(path)!r}")


def read_rows(path: Path, columns: Columns) -> list[dict[str, object]]:
    """Return the rows that `write_rows` wrote.

    Raises:
        InputError: Another ending.
        StoreError: The file cannot be read, is damaged, or has other columns.
    """
    if path.suffix not in ROW_SUFFIXES:
        raise InputError(f"rows are in a file ending in {list(ROW_SUFFIXES)}, got {str(path)!r}")
    raw = read_bytes(path)
    if path.suffix == ".parquet":
        return _parquet_rows(path, raw, columns)
    rows = []
    for i, line in enumerate(raw.splitlines(), start=1):
        try:
            rows.append(decode_row(json.loads(line), columns))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path}:{i}: this line is no row of {_named(columns)}: {error!r}; "
                "the file is damaged or is another kind of result"
            ) from error
    return rows


def decode_row(row: Row, columns: Columns) -> dict[str, object]:
    """Return a row read from JSON with its infinities as floats and its lists as tuples.

    Raises:
        KeyError: A column is missing.
        InputError: A number that is none.
    """
    return {name: _decode(row[name], kind) for name, kind in columns.items()}


def _decode(value: object, kind: Kind) -> object:
    if value is None:
        return None
    if kind == "float":
        return number(value)
    if kind == "floats":
        return tuple(number(x) for x in cast(Sequence[object], value))
    return tuple(cast(Sequence[object], value)) if kind in ("texts", "ints", "bools") else value


def _write_chunks(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file as `write_bytes` does, as it comes; whatever ``chunks`` raises leaves no file.

    Raises:
        StoreError: As `write_bytes`.
    """
    try:
        write_whole(path, chunks)
    except OSError as error:
        raise store_error(path, "write", error) from error


def _fitting(rows: Iterable[Row], columns: Columns) -> Iterator[dict[str, object]]:
    """Yield rows with their columns in order.

    Raises:
        InputError: A row has other names.
    """
    for i, row in enumerate(rows):
        if row.keys() != columns.keys():
            odd = sorted(row.keys() ^ columns.keys())
            raise InputError(f"row {i} does not fit {_named(columns)}: {odd}")
        yield {name: row[name] for name in columns}


def _line_chunks(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield rows as strict JSON, one a line, in UTF-8."""
    for row in rows:
        yield (dumps(row) + "\n").encode()


def _named(columns: Columns) -> str:
    """Return the names of columns for a message, the first of many."""
    names = list(columns)
    more = len(names) - _NAMED
    return f"the columns {names[:_NAMED]}" + (f" and {more} more" if more > 0 else "")


def _parquet_bytes(rows: Iterator[dict[str, object]], columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    kinds = plain | {f"{kind}s": pa.list_(type_) for kind, type_ in plain.items()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, schema) as writer:
        while chunk := list(islice(rows, _CHUNK)):
            encode(chunk)  # NaN and foreign types are refused here as in JSON
            writer.write_table(pa.Table.from_pylist(chunk, schema=schema))
    return buffer.getvalue()


def _parquet_rows(path: Path, raw: bytes, columns: Columns) -> list[dict[str, object]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # A thread of Arrow's may abort the process when it ends; read_table starts one in any case.
        rows = pq.ParquetFile(pa.BufferReader(raw)).read(use_threads=False).to_pylist()
        return [decode_row(row, columns) for row in rows]
    except (pa.ArrowException, KeyError, OSError) as error:
        raise StoreError(
            f"cannot read {str(path)!r} as Parquet with {_named(columns)}: {error!r}; "
            "the file is damaged or is another kind of result"
        ) from error
