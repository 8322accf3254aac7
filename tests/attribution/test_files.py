"""An attribution in files: every number back to the last bit, one clear line for what is odd."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from attributions import chain, drawn, exact, grouped, same, strict, with_infinities

import likely
from likely.attribution import Attribution, attribute, read_json, read_npz
from likely.core.stored import SCHEMA_VERSION
from likely.core.text.chat import ChatPrompt
from likely.errors import InputError, StoreError


@pytest.fixture(scope="module")
def some():
    """Return an attribution of drawn candidates."""
    return drawn()


@pytest.fixture(params=["drawn", "exact", "infinite", "grouped", "no response", "one place"])
def found(request, some):
    """Return attributions with everything odd that one may hold."""
    return {
        "drawn": lambda: some,
        "exact": exact,
        "infinite": lambda: with_infinities(some),
        "grouped": lambda: grouped(exact()),
        "no response": lambda: exact(response=""),
        "one place": lambda: exact("ab", "b", positions=[1]),
    }[request.param]()


def test_a_record_is_the_attribution_again(found):
    assert same(Attribution.from_dict(found.to_dict()), found)


def test_json_is_strict_and_the_attribution_again(found, tmp_path):
    text = found.to_json(tmp_path / "a.json")
    assert strict(text) == strict((tmp_path / "a.json").read_text())
    assert same(read_json(tmp_path / "a.json"), found)


def test_npz_is_the_attribution_again(found, tmp_path):
    found.to_npz(tmp_path / "a.npz")
    assert same(read_npz(tmp_path / "a.npz"), found)


def test_bytes_of_random_numbers_survive(tmp_path):
    rng = np.random.default_rng(7)
    found = exact()
    wild = rng.standard_normal(len(found.places)) * 10.0 ** rng.integers(-300, 300, size=3)
    odd = replace(found, excluded_mass=wild, log_response=-5e-324, kappa=1e308)
    odd.to_json(tmp_path / "a.json")
    odd.to_npz(tmp_path / "a.npz")
    assert same(read_json(tmp_path / "a.json"), odd)
    assert same(read_npz(tmp_path / "a.npz"), odd)


def test_infinities_are_words_in_json_and_numbers_again(some):
    record = strict(with_infinities(some).to_json())
    assert record["places"][0]["bounds"] == ["-inf", "inf"]
    back = Attribution.from_dict(record).places[0]
    assert back.bounds == (-np.inf, np.inf)
    assert back.measures.reverse_information.diagnostics["standard_error"] == np.inf
    assert back.measures.reverse_information.diagnostics["law"] == "none"
    assert type(back.measures.reverse_information.diagnostics["n"]) is int


def test_a_chat_keeps_its_roles(tmp_path):
    pieces = ["hi", "yo", "<|user|>", "<|assistant|>", "\n"]
    model = likely.TableModel(pieces, lambda before: dict.fromkeys(pieces, 0.2))
    text = ChatPrompt(
        text="<|user|>hi\n<|assistant|>",
        flags=frozenset({"template_trims"}),
        removed=" ",
        contents=((8, 10),),
    )
    found = attribute(model, text, "yo", method="exact", positions=[1])
    found.to_json(tmp_path / "a.json")
    assert read_json(tmp_path / "a.json").case.flags == frozenset({"template_trims"})
    assert same(read_json(tmp_path / "a.json"), found)


def test_the_version_stands_in_the_file(tmp_path):
    found = exact()
    found.to_json(tmp_path / "a.json")
    record = strict((tmp_path / "a.json").read_text())
    assert record["kind"] == "likely.attribution"
    assert record["schema_version"] == SCHEMA_VERSION
    assert record["model"]["likely"] == likely.__version__


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda r: r.update(schema_version=SCHEMA_VERSION + 1), "update likely"),
        (lambda r: r.update(schema_version="1"), "number from 1 on, got '1'"),
        (lambda r: r.update(kind="likely.logic"), "got 'likely.logic'"),
        (lambda r: r.pop("case"), "'case' is missing"),
        (lambda r: r.update(more=1), "'more' is unknown"),
        (lambda r: r["case"].pop("spans"), "'case.spans' is missing"),
        (lambda r: r.update(log_response=None), "'log_response' is a number, got 'None'"),
        (lambda r: r.update(log_response="nan"), "'log_response' is a number, got 'nan'"),
        (lambda r: r.update(seed=1.5), "'seed' is a value of type int, got '1.5'"),
        (lambda r: r.update(seed=True), "'seed' is a value of type int, got 'True'"),
        (lambda r: r.update(method="guess"), "'method' is one of"),
        (lambda r: r["places"][0].update(converged=1), "'places.0.converged'"),
        (lambda r: r["places"][0].update(bounds=[0.0]), "'places.0.bounds' is a list of 2"),
        (lambda r: r["excluded_mass"].append(0.0), "'excluded_mass' has 3 entries, got 4"),
        (lambda r: r["places"][1]["measures"]["matrix"].append(0.0), "'places.1.measures.matrix"),
        (lambda r: r["places"][0]["candidates"]["score"].pop(), "'places.0.candidates.score'"),
        (lambda r: r["places"][0]["candidates"]["tokens"].append([1, 2]), "rows of one length"),
        (lambda r: r["places"][0]["candidates"]["pieces"].pop(), "'places.0.candidates.pieces'"),
        (
            lambda r: r["places"][2]["measures"]["score"].update(low=9.0),
            "low <= value <= high",
        ),
    ],
)
def test_a_record_that_is_not_one_is_one_line_with_the_field(tmp_path, change, fault):
    record = strict(exact().to_json())
    change(record)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record))
    with pytest.raises(StoreError) as error:
        read_json(path)
    assert fault in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises((InputError, StoreError)):
        Attribution.from_dict(record)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[1]", b"null", b'"text"', b"\xff\xfe", b'{"log_response": NaN}', b"{}"]
)
def test_what_is_no_json_of_ours_is_one_line(tmp_path, raw):
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    with pytest.raises(StoreError, match="damaged or is another kind of result"):
        read_json(path)


def test_a_file_that_was_cut_short_is_one_line(tmp_path):
    found = exact()
    for name, read, write in (
        ("a.json", read_json, found.to_json),
        ("a.npz", read_npz, found.to_npz),
    ):
        path = tmp_path / name
        write(path)
        raw = path.read_bytes()
        for n in (0, 1, 10, len(raw) // 2, len(raw) - 2):
            path.write_bytes(raw[:n])
            with pytest.raises(StoreError) as error:
                read(path)
            assert "\n" not in str(error.value)


def test_a_bit_that_was_flipped_in_an_npz_is_noticed(tmp_path):
    path = tmp_path / "a.npz"
    exact().to_npz(path)
    with zipfile.ZipFile(path) as file:
        where = file.getinfo("places.0.measures.matrix.npy").header_offset + 90
    raw = bytearray(path.read_bytes())
    raw[where] ^= 0xFF
    path.write_bytes(bytes(raw))
    with pytest.raises(StoreError):
        read_npz(path)


def test_an_npz_without_its_record_or_an_array_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(2))
    with pytest.raises(StoreError, match="holds no attribution"):
        read_npz(path)
    exact().to_npz(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "excluded_mass"}
    np.savez(path, **arrays)
    with pytest.raises(StoreError, match="'excluded_mass' is an array"):
        read_npz(path)


def test_pickles_are_never_loaded(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, record=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StoreError):
        read_npz(path)


def test_a_file_that_is_not_there_or_cannot_be_written_is_one_line(tmp_path):
    found = exact()
    for read in (read_json, read_npz):
        with pytest.raises(StoreError, match="cannot read"):
            read(tmp_path / "none")
    for write in (found.to_json, found.to_npz):
        with pytest.raises(StoreError, match="cannot write"):
            write(tmp_path / "no folder" / "a")


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    exact().to_json(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(StoreError, match="No space left"):
        exact("ab").to_json(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_what_is_read_can_be_worked_with(tmp_path):
    found = attribute(chain(), "aab", "ba", method="exact")
    found.to_npz(tmp_path / "a.npz")
    back = read_npz(tmp_path / "a.npz")
    assert back.to_frame().equals(found.to_frame())
    assert back.substitutes(2, k=1) == found.substitutes(2, k=1)
    assert back.summary() == found.summary()
