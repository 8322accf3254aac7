"""Ids on the disk: the same as made anew, and never believed where a file is not what it was."""

import os

import numpy as np
import pytest

import likely
from likely.rare import frequencies
from likely.rare.corpus import Corpus
from likely.rare.frequencies import count_tokens, encode_documents
from likely.rare.kept_ids import kept_ids

IDS = (np.array([3, 1, 4], np.int32), np.array([], np.int32), np.array([70_000], np.int32))


class Cutter:
    """A tokenizer by its fingerprint alone."""

    def __init__(self, fingerprint):
        self.fingerprint = fingerprint


class Maker:
    """Makes ids and counts how often."""

    def __init__(self, ids=IDS):
        self.ids, self.n_made = ids, 0

    def __call__(self):
        self.n_made += 1
        return self.ids


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_CACHE", str(tmp_path))
    return tmp_path / "ids"


def same(one, other):
    return [a.tolist() for a in one] == [b.tolist() for b in other]


def test_ids_are_made_once_and_read_back_to_the_last_one():
    make = Maker()
    first, again = (kept_ids("hash", 3, Cutter("one"), make) for _ in range(2))
    assert make.n_made == 1
    assert same(first, IDS)
    assert same(again, IDS)
    assert all(ids.dtype == np.int32 for ids in again)


def test_other_texts_numbers_and_tokenizers_have_files_of_their_own(folder):
    make = Maker()
    asked = [("hash", 3, "one"), ("other", 3, "one"), ("hash", 2, "one"), ("hash", 3, "two")]
    for sha256, n, fingerprint in asked:
        kept_ids(sha256, n, Cutter(fingerprint), make)
    assert make.n_made == len(list(folder.iterdir())) == 4


def test_a_tokenizer_that_cannot_be_told_from_others_keeps_nothing(folder):
    assert same(kept_ids("hash", 3, object(), Maker()), IDS)
    assert not folder.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw[:-1],
        lambda raw: raw + b"\0",
        lambda raw: raw[:-4] + b"\1\0\0\0",
        lambda raw: bytes([raw[0] ^ 1]) + raw[1:],
    ],
)
def test_a_damaged_file_is_made_again(folder, damage):
    kept_ids("hash", 3, Cutter("one"), Maker())
    [path] = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    make = Maker()
    assert same(kept_ids("hash", 3, Cutter("one"), make), IDS)
    assert make.n_made == 1
    assert path.read_bytes() == whole


def test_a_file_under_the_name_of_another_is_not_believed(folder):
    kept_ids("hash", 3, Cutter("one"), Maker())
    [first] = folder.iterdir()
    make = Maker((np.array([9], np.int32),))
    kept_ids("hash", 1, Cutter("one"), make)
    [second] = [path for path in folder.iterdir() if path != first]
    os.replace(first, second)
    assert same(kept_ids("hash", 1, Cutter("one"), make), make.ids)
    assert make.n_made == 2


def test_a_folder_that_cannot_be_written_costs_time_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LIKELY_CACHE", str(tmp_path / "file"))
    assert same(kept_ids("hash", 3, Cutter("one"), Maker()), IDS)


def test_a_corpus_is_cut_once_for_a_tokenizer_in_any_process(toy_bpe, folder, monkeypatch):
    asked = []
    own = frequencies.encode_each
    monkeypatch.setattr(
        frequencies, "encode_each", lambda texts, to: asked.append(len(texts)) or own(texts, to)
    )
    corpus = Corpus(name="ours", documents=("one two", "three"), sha256="hash", licence="CC0-1.0")
    first = count_tokens(corpus, toy_bpe)
    frequencies._ENCODED.clear()  # as another process begins
    again = count_tokens(corpus, toy_bpe)
    np.testing.assert_array_equal(first.counts, again.counts)
    assert first.n_tokens == sum(len(ids) for ids in encode_documents(corpus, toy_bpe)) > 0
    assert asked == [2]
    assert len(list(folder.iterdir())) == 1


def test_texts_of_a_caller_stay_off_the_disk(toy_bpe, folder):
    encode_documents(frequencies.read_texts(["one two"]), toy_bpe)
    assert not folder.exists()


def test_tokenizers_have_fingerprints_by_what_they_do(toy_bpe):
    tiny = likely.load("tiny-1l").tokenizer
    assert tiny.fingerprint == likely.load("tiny-1l").tokenizer.fingerprint
    assert tiny.fingerprint != toy_bpe.tokenizer.fingerprint
