"""The score cache: one SQLite file, content-hash keys, raw float bytes, many processes at once."""

import hashlib
import sqlite3
import struct
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

from likely.errors import StoreError

_SCHEMA_VERSION = 1
_BUSY_SECONDS = 60.0
_CHUNK = 500  # keys in one SELECT: below SQLite's limit on variables of every build


def content_key(
    identity: str, mode: str, kind: str, prefix: Sequence[int], target: Sequence[int]
) -> bytes:
    """Return the 20-byte key of one request to one model.

    Args:
        identity: `ModelInfo.identity`: weights, tokenizer, dtype, backend and version.
        mode: Whether the batch shape was fixed.
        kind: What was asked.
        prefix: Exact ids before the target.
        target: Exact ids that are scored; may be empty.
    """
    digest = hashlib.blake2b(digest_size=20)
    for part in (identity, mode, kind):
        raw = part.encode()
        digest.update(struct.pack("<q", len(raw)) + raw)
    for ids in (prefix, target):
        digest.update(struct.pack(f"<q{len(ids)}q", len(ids), *ids))
    return digest.digest()


class ScoreCache:
    """A score cache in one file, safe with many processes on a local disk.

    Args:
        path: The file; made with its folder if missing.

    Raises:
        StoreError: The file is no cache of ours, is newer than this version, or cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._open()
        except (OSError, sqlite3.Error) as error:
            raise self._explain(error) from error

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of those keys that are there."""
        found: dict[bytes, bytes] = {}
        try:
            for start in range(0, len(keys), _CHUNK):
                part = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                rows = self._db.execute(
                    f"SELECT key, value, crc FROM scores WHERE key IN ({marks})", part
                )
                for key, value, crc in rows:
                    if _checksum(value) != crc:
                        raise StoreError(
                            f"the score cache {self.path} has a damaged entry; delete the file"
                        )
                    found[key] = value
        except sqlite3.Error as error:
            raise self._explain(error) from error
        return found

    def put_many(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep the values in one transaction; they are on the disk when this returns."""
        rows = [(key, value, _checksum(value)) for key, value in items]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except sqlite3.Error:
                if self._db.in_transaction:  # a full disk has rolled it back already
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM scores").fetchone()[0])

    def close(self) -> None:
        """Close the file; further use raises."""
        self._db.close()

    def __enter__(self) -> "ScoreCache":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> None:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > _SCHEMA_VERSION:
            raise StoreError(
                f"the score cache {self.path} has format {version}, this version of likely reads "
                f"up to {_SCHEMA_VERSION}; upgrade likely or name another file"
            )
        self._db.execute("PRAGMA synchronous=NORMAL")
        if version == _SCHEMA_VERSION:
            return
        self._switch_to_wal()
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS scores"
            " (key BLOB PRIMARY KEY, value BLOB NOT NULL, crc BLOB NOT NULL) WITHOUT ROWID"
        )
        self._db.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        self._db.execute("COMMIT")

    def _switch_to_wal(self) -> None:
        """Turn on write-ahead logging; SQLite does not wait for its turn to do this by itself."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _explain(self, error: Exception) -> StoreError:
        text = str(error)
        if "full" in text:
            remedy = "free some space or name another folder"
        elif "locked" in text or "locking" in text:
            remedy = "another process holds it; on a network disk, name a file on a local one"
        elif "not a database" in text or "malformed" in text:
            remedy = "it is no score cache or is damaged; delete it or name another file"
        else:
            remedy = "name a file in a folder that can be written"
        return StoreError(f"cannot use the score cache {self.path}: {text}; {remedy}")


def _checksum(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=4).digest()
