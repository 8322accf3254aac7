"""The journal: durable, forgiving to a torn end, strict with everything else."""

import errno
import math
import os
import subprocess
import sys

import pytest

from likely.core.estimate import Cost
from likely.errors import StoreError
from likely.runs.journal import Batch, Journal

COLUMNS = {"id": "text", "log_prob": "float"}
MINE = {"model": "a", "bos": "auto"}


def batch(name, log_prob=-0.5):
    return Batch(rows=({"id": name, "log_prob": log_prob},), cost=Cost(token_evaluations=3))


def open_journal(folder, *, configuration=MINE, resume=True):
    return Journal(
        folder / "out.journal", configuration=configuration, columns=COLUMNS, resume=resume
    )


def filled(folder, *, n=2):
    with open_journal(folder) as journal:
        for i in range(n):
            journal.append(i, batch(f"item {i}"))
    return folder / "out.journal"


def test_a_reopened_journal_has_every_batch_with_its_infinities_and_costs(tmp_path):
    batches = {0: batch("a", -math.inf), 3: batch("b", None)}
    with open_journal(tmp_path) as journal:
        for number, each in batches.items():
            journal.append(number, each)
    with open_journal(tmp_path) as journal:
        assert journal.batches == batches


def test_a_batch_is_readable_while_the_writer_still_runs(tmp_path):
    with open_journal(tmp_path) as journal:
        journal.append(0, batch("a"))
        assert (tmp_path / "out.journal").read_bytes().count(b"\n") == 2


def test_a_journal_cut_anywhere_keeps_exactly_the_whole_batches(tmp_path):
    path = filled(tmp_path, n=3)
    raw = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(raw) if byte == ord("\n")]
    for cut in range(len(raw) + 1):
        path.write_bytes(raw[:cut])
        with open_journal(tmp_path) as journal:
            n_whole = max(0, sum(end <= cut for end in ends) - 1)
            assert list(journal.batches) == list(range(n_whole)), cut
            journal.append(9, batch("new"))
        with open_journal(tmp_path) as journal:
            assert list(journal.batches) == [*range(n_whole), 9], cut


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    path = filled(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:-9] + b"\n" + lines[2])
    with pytest.raises(StoreError, match=r"out\.journal:2: .* damaged; start over"):
        open_journal(tmp_path)


@pytest.mark.parametrize("line", [b'{"batch": 1}', b"7", b'{"batch": 0, "rows": 3, "cost": {}}'])
def test_a_line_of_another_kind_is_named(tmp_path, line):
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(StoreError, match=r"out\.journal:4: .* damaged"):
        open_journal(tmp_path)


def test_a_journal_of_another_configuration_is_refused_and_says_what_differs(tmp_path):
    path = filled(tmp_path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"differs in \['bos'\]: its bos is 'auto', .* 'never'"):
        open_journal(tmp_path, configuration={"model": "a", "bos": "never"})
    assert path.read_bytes() == before


def test_a_journal_of_a_newer_format_is_refused(tmp_path):
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'{"journal": 1', b'{"journal": 2', 1))
    with pytest.raises(StoreError, match=r"format 2.*upgrade likely"):
        open_journal(tmp_path)


def test_starting_over_drops_what_another_run_left(tmp_path):
    filled(tmp_path)
    with open_journal(tmp_path, configuration={"model": "b"}, resume=False) as journal:
        assert journal.batches == {}
    with open_journal(tmp_path, configuration={"model": "b"}) as journal:
        assert journal.batches == {}


def test_a_second_process_is_kept_out_and_let_in_afterwards(tmp_path):
    script = (
        "import sys; from pathlib import Path; from likely.runs.journal import Journal; "
        "Journal(Path(sys.argv[1]), configuration={}, columns={}).close()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "out.journal")]
    with Journal(tmp_path / "out.journal", configuration={}, columns={}):
        kept_out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "StoreError: another process is writing the run" in kept_out.stderr
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_refused_journal_is_not_left_locked(tmp_path):
    filled(tmp_path)
    with pytest.raises(StoreError, match="another run"):
        open_journal(tmp_path, configuration={"model": "b"})
    open_journal(tmp_path).close()


def test_a_discarded_journal_leaves_nothing(tmp_path):
    with open_journal(tmp_path) as journal:
        journal.append(0, batch("a"))
        journal.discard()
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_and_the_batch_is_not_half_there(tmp_path, monkeypatch):
    path = filled(tmp_path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with open_journal(tmp_path) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(StoreError, match="the disk is full: free some space"):
                journal.append(2, batch("lost"))
        assert path.read_bytes() == before
        assert list(journal.batches) == [0, 1]
        journal.append(2, batch("kept"))
    with open_journal(tmp_path) as journal:
        assert journal.batches[2] == batch("kept")
