import hashlib
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from likely.calibration.data_sets.family import build
from likely.calibration.data_sets.files import items_sha256, iter_items, read_items, write_items
from likely.errors import InputError, StoreError

ITEMS = tuple(build("distributions", preset="smoke")[:5])


def test_a_file_gives_its_items_back(tmp_path):
    path = tmp_path / "items.jsonl"
    write_items(path, iter(ITEMS))
    assert read_items(path) == ITEMS
    assert path.read_bytes().count(b"\n") == 5
    assert [entry.name for entry in tmp_path.iterdir()] == ["items.jsonl"]


def test_the_hash_is_of_the_bytes_of_the_file(tmp_path):
    path = tmp_path / "items.jsonl"
    told = write_items(path, ITEMS)
    assert told == hashlib.sha256(path.read_bytes()).hexdigest() == items_sha256(ITEMS)
    assert items_sha256(ITEMS[::-1]) != told


def test_reading_is_a_stream(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text(ITEMS[0].to_json() + "\n\n" + ITEMS[1].to_json() + "\nnonsense\n")
    stream = iter_items(path)
    assert tuple(itertools.islice(stream, 2)) == ITEMS[:2]
    with pytest.raises(InputError, match=r"items\.jsonl:4: this is no record of an item"):
        next(stream)


def test_two_items_of_one_id_are_refused(tmp_path):
    path = tmp_path / "items.jsonl"
    write_items(path, (*ITEMS, ITEMS[2]))
    with pytest.raises(InputError, match=r"items\.jsonl:6: the id .* is taken by line 3"):
        read_items(path)


def test_bytes_that_are_no_utf8_are_told_with_their_place(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(InputError, match=r"items\.jsonl:1: .* not UTF-8 at byte 8"):
        read_items(path)


def test_a_file_without_items_is_refused(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("\n")
    with pytest.raises(InputError, match="holds no items"):
        read_items(path)


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "items.jsonl"
    write_items(path, ITEMS)

    def broken():
        yield ITEMS[0]
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        write_items(path, broken())
    assert read_items(path) == ITEMS
    assert [entry.name for entry in tmp_path.iterdir()] == ["items.jsonl"]


def test_a_link_keeps_pointing_and_its_file_is_new(tmp_path):
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    write_items(tmp_path / "link.jsonl", ITEMS)
    assert (tmp_path / "link.jsonl").is_symlink()
    assert read_items(tmp_path / "real.jsonl") == ITEMS


def test_a_file_of_the_users_own_that_ends_in_part_is_let_be(tmp_path):
    (tmp_path / "items.jsonl.part").write_text("mine")
    write_items(tmp_path / "items.jsonl", ITEMS)
    assert (tmp_path / "items.jsonl.part").read_text() == "mine"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(max_workers=1) as pool:
        read = pool.submit(path.read_bytes)
        told = write_items(path, ITEMS)
        assert hashlib.sha256(read.result()).hexdigest() == told
    assert path.is_fifo()


def test_files_that_cannot_be_had_are_errors_of_the_store(tmp_path):
    with pytest.raises(StoreError, match=r"cannot read items from .*absent"):
        read_items(tmp_path / "absent.jsonl")
    with pytest.raises(StoreError, match="cannot write items to"):
        write_items(tmp_path / "absent" / "items.jsonl", ITEMS)
