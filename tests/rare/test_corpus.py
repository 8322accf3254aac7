"""The corpora of the package: whole, clean, in the language they say, and free to pass on."""

import json
import re
import unicodedata
from importlib.resources import files

import pytest

from likely.errors import StoreError, UnknownNameError
from likely.rare import corpus
from likely.rare.corpus import NAMES, load

FOLDER = files("likely.rare").joinpath("corpora")
MANIFEST = json.loads(FOLDER.joinpath("manifest.json").read_text("utf-8"))
WORDS = {
    "code": r"\bself\b|\bdef\b|\breturn\b",
    "english": r"\bthe\b|\band\b|\bof\b",
    "spanish": r"\bde\b|\bla\b|\by\b",
}


@pytest.fixture
def another_folder(tmp_path, monkeypatch):
    """Where corpora are looked for, with a copy of the Spanish one."""
    target = tmp_path / "corpora"
    target.mkdir()
    for name in ("manifest.json", "spanish.txt.xz"):
        (target / name).write_bytes(FOLDER.joinpath(name).read_bytes())
    monkeypatch.setattr(corpus, "files", lambda package: tmp_path)
    monkeypatch.setattr(corpus, "load", load.__wrapped__)
    return target


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_has_the_size_and_the_parts_that_its_manifest_states(name):
    found, stated = load(name), MANIFEST["files"][f"{name}.txt.xz"]
    parts = [part for part in MANIFEST["sources"] if part["corpus"] == name]
    assert len(found.documents) == stated["documents"] == sum(p["documents"] for p in parts)
    sizes = [len(document.encode()) for document in found.documents]
    assert sum(sizes) == sum(part["bytes"] for part in parts)
    assert stated["bytes"] == sum(sizes) + len(sizes) - 1
    assert found.sha256 == stated["sha256"]
    assert 6e6 < stated["bytes"] < 10e6


@pytest.mark.parametrize("name", NAMES)
def test_documents_are_clean_text(name):
    documents = load(name).documents
    assert min(map(len, documents)) >= 200
    whole = "".join(documents)
    assert unicodedata.is_normalized("NFC", whole)
    assert not re.search("[\f\x1b\ufffd\x08]", whole)
    if name != "code":
        markup = re.findall(r"(?m)</?(?:p|div|span|w|i|b|note)\b[^>]*>|^\.(?:SH|TP|PP)\b", whole)
        assert len(markup) < 50  # some sentences are about markup


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_is_in_the_language_that_it_says(name):
    whole = "".join(load(name).documents)
    counts = {kind: len(re.findall(words, whole)) for kind, words in WORDS.items()}
    assert max(counts, key=lambda kind: counts[kind]) == name
    assert counts[name] > 1.5 * sorted(counts.values())[-2]


@pytest.mark.parametrize("name", ["english", "spanish"])
def test_no_long_paragraph_occurs_twice(name):
    paragraphs = [part for text in load(name).documents for part in text.split("\n\n")]
    long_ones = [part for part in paragraphs if len(part) >= 60]
    assert len(long_ones) > 5000
    assert len(set(long_ones)) == len(long_ones)


def test_every_part_has_a_free_licence_and_its_notice():
    free = re.compile(
        r"public-domain|PSF-2\.0|Linux-man-pages-copyleft|GPL-[23]\.0-or-later|CC-BY-SA-3\.0"
    )
    words = FOLDER.joinpath("LICENCES.md").read_text("utf-8")
    for part in MANIFEST["sources"]:
        for licence in part["licence"].split(" OR "):
            assert free.fullmatch(licence)
            assert licence in words or licence == "public-domain"
        assert re.fullmatch("[0-9a-f]{64}", part["sha256"])
    assert FOLDER.joinpath("licences", "GPL-3.0.txt").is_file()
    assert load("code").licence == "PSF-2.0"
    assert "(GPL-2.0-or-later OR CC-BY-SA-3.0) AND Linux" in load("english").licence


def test_the_packed_corpora_are_small():
    sizes = [len(FOLDER.joinpath(f"{name}.txt.xz").read_bytes()) for name in NAMES]
    assert sum(sizes) < 6e6


def test_an_unknown_corpus_is_an_error_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match=r"no corpus named 'spanisch'.*spanish"):
        load("spanisch")


def test_a_changed_file_is_refused(another_folder):
    assert corpus.load("spanish").documents == load("spanish").documents
    raw = bytearray((another_folder / "spanish.txt.xz").read_bytes())
    raw[1000] ^= 1
    (another_folder / "spanish.txt.xz").write_bytes(bytes(raw))
    with pytest.raises(StoreError, match="sha256"):
        corpus.load("spanish")


def test_a_missing_file_is_told(another_folder):
    with pytest.raises(StoreError, match=r"cannot read the corpus 'english'.*install"):
        corpus.load("english")
