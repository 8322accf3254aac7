"""The journal of a run: each finished batch is on the disk before the next one begins."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.errors import StoreError
from likely.runs.store import Columns, Row, decode_row, read_bytes, store_error

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A finished batch: its rows in the order of the batch, and what they cost."""

    rows: tuple[Mapping[str, object], ...]
    cost: Cost


class Journal:
    """An append-only file of finished batches that belongs to one configuration.

    A last line that a kill has torn is dropped; anything else that does not read is an error.

    Args:
        path: The file; ``<path>.lock`` beside it keeps other processes out.
        configuration: Everything that the numbers depend on; a journal of another is refused.
        columns: Of the rows.
        resume: Whether finished batches are taken over; otherwise the journal starts empty.

    Attributes:
        batches: Finished batches by their number.

    Raises:
        StoreError: It belongs to another run, is damaged, is in use, or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        *,
        configuration: Mapping[str, str],
        columns: Columns,
        resume: bool = True,
    ) -> None:
        self.path = path
        self.batches: dict[int, Batch] = {}
        self._configuration = dict(configuration)
        self._columns = columns
        self._lock = FileLock(f"{path}.lock")
        self._acquire()
        try:
            self._open(resume)
        except BaseException:
            self._lock.release()
            raise

    def append(self, number: int, batch: Batch) -> None:
        """Keep a finished batch; it is durable when this returns.

        Raises:
            StoreError: The disk is full, or the file cannot be written.
        """
        self._write({"batch": number, "rows": batch.rows, "cost": batch.cost.to_dict()})
        self.batches[number] = batch

    def close(self) -> None:
        """Close the file and let other processes in; the journal stays for a later resume."""
        self._file.close()
        self._lock.release()

    def discard(self) -> None:
        """Close and delete the journal, once its results are safe elsewhere."""
        self._file.close()
        self.path.unlink(missing_ok=True)
        with suppress(PermissionError):  # Windows deletes no open file; an empty one stays
            Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _acquire(self) -> None:
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise StoreError(
                f"another process is writing the run of {str(self.path)!r}; "
                "wait for it, or name another output file"
            ) from error
        except OSError as error:
            raise store_error(self.path, "write", error) from error

    def _open(self, resume: bool) -> None:
        good = self._read() if resume and self.path.exists() else 0
        try:
            self._file = self.path.open("r+b" if self.path.exists() else "xb", buffering=0)
            self._file.truncate(good)
            self._file.seek(good)
        except OSError as error:
            raise store_error(self.path, "write", error) from error
        if not good:
            self._write({"journal": _FORMAT, "configuration": self._configuration})

    def _read(self) -> int:
        """Take over what is there, and return how many bytes of it are whole lines."""
        raw = read_bytes(self.path)
        good = 0
        while good < len(raw):
            end = raw.find(b"\n", good) + 1
            try:
                line = json.loads(raw[good : end or None])
                if not end:
                    break
            except ValueError as error:
                if not end or end == len(raw):
                    break
                raise self._damaged(raw, good) from error
            self._take(line, is_first=not good, where=(raw, good))
            good = end
        return good

    def _take(self, line: object, *, is_first: bool, where: tuple[bytes, int]) -> None:
        try:
            if not isinstance(line, dict):
                raise TypeError(f"a line is an object, got {line!r}")
            if is_first:
                self._check_header(line["journal"], line["configuration"])
                return
            rows = tuple(decode_row(row, self._columns) for row in line["rows"])
            self.batches[int(line["batch"])] = Batch(rows=rows, cost=Cost(**line["cost"]))
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(*where) from error

    def _check_header(self, version: int, configuration: Mapping[str, str]) -> None:
        if version > _FORMAT:
            raise StoreError(
                f"the journal {str(self.path)!r} has format {version}, this version of likely "
                f"reads up to {_FORMAT}; upgrade likely or name another output file"
            )
        mine = self._configuration
        odd = [key for key in mine | dict(configuration) if mine.get(key) != configuration.get(key)]
        if odd:
            key = odd[0]
            raise StoreError(
                f"the journal {str(self.path)!r} belongs to another run, which differs in {odd}: "
                f"its {key} is {configuration.get(key)!r}, this run's {mine.get(key)!r}; finish "
                "that run, name another output file, or start over (--no-resume)"
            )

    def _damaged(self, raw: bytes, at: int) -> StoreError:
        n = raw.count(b"\n", 0, at) + 1
        return StoreError(
            f"{self.path}:{n}: this line of the journal is damaged; start over (--no-resume)"
        )

    def _write(self, line: Row) -> None:
        raw = (dumps(line) + "\n").encode()
        start = self._file.tell()
        try:
            view = memoryview(raw)
            while len(view):
                view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._undo(start)
            raise store_error(self.path, "write", error) from error

    def _undo(self, start: int) -> None:
        """Take back a line that a full disk cut short, if the disk still allows it."""
        try:
            self._file.truncate(start)
            self._file.seek(start)
        except OSError:
            return  # the torn line is dropped when the journal is next read


def journal_path(out: Path) -> Path:
    """Return where the journal of a run lies: beside its output."""
    return out.with_name(out.name + ".journal")
