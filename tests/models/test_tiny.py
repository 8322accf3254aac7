"""The tiny models: they come with the package, are what their records say, and keep every law."""

import hashlib
import json
import math
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

import likely
from likely.errors import InputError
from likely.models.tiny import NAMES, folder
from likely.rare import corpus
from likely.testing import check_model

BEGIN, END, WINDOW = 0, 1, 511
CORPORA = corpus.NAMES
_loaded = {}


def load(name):
    if name not in _loaded:
        _loaded[name] = likely.load(name)
    return _loaded[name]


def record(name):
    return json.loads((folder(name) / "training.json").read_text())


def spread(documents, most):
    """Return the longest documents of a corpus's record that have at most so many tokens."""
    return sorted((d for d in documents if d["tokens"] <= most), key=lambda d: -d["tokens"])[:2]


@pytest.fixture(scope="module")
def tokenizer():
    return load("tiny-1l").tokenizer


@pytest.mark.parametrize("name", NAMES)
def test_a_tiny_model_keeps_the_laws_of_every_model(name):
    check_model(load(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_on_models_says_what_the_record_says(name):
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith(f"| `{name}` | ")]
    told = record(name)
    size = (folder(name) / "model.safetensors").stat().st_size
    losses = [
        f"{one['nats_per_token']:.3f} nats, {one['bits_per_byte']:.3f} bits"
        for one in (told["held_out"][corpus] for corpus in ("code", "english", "spanish"))
    ]
    parameters = load(name).info.details["parameters"]
    seen = f"{told['tokens_seen'] / 1e6:.1f} million"
    cells = [f"`{name}`", f"{parameters:,}", f"{size / 1e6:.1f} MB", seen, *losses]
    assert row == f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("name", NAMES)
def test_the_architecture_is_what_the_name_says(name):
    model, layers = load(name), int(name[5])
    config = model.module.config
    assert config.model_type == "gpt2"
    assert (config.n_layer, config.n_head, config.n_embd) == (layers, 4, 128)
    assert config.activation_function == "gelu"
    assert model.info.n_vocab == 4096
    assert model.info.max_tokens == 512
    assert not model.unembedding().is_tied
    assert model.unembedding().is_linear
    assert model.final_norm().kind == "layer"
    block = 12 * 128**2 + 13 * 128  # attention 4 d^2 + 4 d, MLP 8 d^2 + 5 d, two norms 4 d
    n_weights = sum(weight.numel() for weight in model.module.parameters())
    assert n_weights == 2 * 4096 * 128 + 512 * 128 + layers * block + 2 * 128


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_float16_numbers_are_the_model(name):
    stored = load_file(folder(name) / "model.safetensors")
    assert all(weight.dtype == torch.float16 for weight in stored.values())
    held = load(name).module.state_dict()
    assert set(held) == set(stored)
    assert all(torch.equal(held[key], stored[key].float()) for key in stored)
    assert (folder(name) / "model.safetensors").stat().st_size < 5e6


@pytest.mark.parametrize("name", NAMES)
def test_the_stated_loss_is_found_again_on_documents_held_out(name):
    """Scored by likely: prefix trie, its own softmax; the record is from plain forward passes."""
    model = load(name)
    for corpus_name, stated in record(name)["held_out"].items():
        texts = corpus.load(corpus_name).documents
        for document in spread(stated["documents"], most=1200):
            found = _nats(model, texts[document["index"]])
            assert found[1] == document["tokens"]
            assert abs(found[0] - document["nats"]) < 2e-6 * document["tokens"]


def _nats(model, text):
    ids = (*model.tokenizer.encode(text).tokens, END)
    pieces = [ids[i : i + WINDOW] for i in range(0, len(ids), WINDOW)]
    scores = likely.score(model, [((BEGIN,), piece) for piece in pieces])
    return -sum(score.log_prob for score in scores), len(ids)


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_of_the_loss_is_the_sum_over_its_documents(name):
    for corpus_name, stated in record(name)["held_out"].items():
        texts = corpus.load(corpus_name).documents
        indexes = [document["index"] for document in stated["documents"]]
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        held_out = [i for i, d in enumerate(digests) if int.from_bytes(d[:4], "big") % 20 == 0]
        assert indexes == held_out
        nats = math.fsum(document["nats"] for document in stated["documents"])
        tokens = sum(document["tokens"] for document in stated["documents"])
        n_bytes = sum(len(texts[i].encode()) for i in indexes)
        assert stated["nats_per_token"] == pytest.approx(nats / tokens, rel=1e-12)
        assert stated["bits_per_byte"] == pytest.approx(nats / n_bytes / math.log(2), rel=1e-12)
        assert tokens > 90_000


def test_more_layers_tell_held_out_text_better():
    for corpus_name in CORPORA:
        losses = [record(name)["held_out"][corpus_name]["nats_per_token"] for name in NAMES]
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] < 4.0 < math.log(4096)


@pytest.mark.parametrize("name", NAMES)
def test_the_record_names_the_corpora_of_the_package(name):
    for corpus_name in CORPORA:
        stated = record(name)["corpora"][f"{corpus_name}.txt.xz"]["sha256"]
        assert stated == corpus.load(corpus_name).sha256


@pytest.mark.parametrize(
    ("context", "likely_ones"),
    [
        ("import os\nimport sys\nimport", {" os", " sys", " time", " re"}),
        ("def __init__(self, name):\n        self.", {"name"}),
        ("for i in range(", {"len", "1", "n"}),
        ("She was not at all", {" the", ",", ".", " in"}),
        ("Y dijo Jehová", {" á", ":"}),
        ("En el principio de los", {" hijos", " paquetes", " datos", " archivos", " ficheros"}),
    ],
)
def test_what_comes_next_makes_sense(context, likely_ones):
    row = likely.next_token(load("tiny-4l"), context)
    assert {entry.piece for entry in row.top(8)} & likely_ones


def test_loading_needs_no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    assert likely.load("tiny-1l").info.name == "tiny-1l"


def test_the_other_dtypes_are_the_same_model():
    wide = likely.load("tiny-1l", dtype="float64")
    assert wide.info.dtype == "float64"
    found = likely.next_token(wide, "The whale").log_probs
    near = likely.next_token(load("tiny-1l"), "The whale").log_probs
    np.testing.assert_allclose(found, near, atol=1e-4)


def test_nothing_may_follow_the_name():
    with pytest.raises(InputError, match="nothing after its name"):
        likely.load("tiny-2l:more")


@given(st.text() | st.text("<|begin>3 \n\t"))
def test_any_text_comes_back_to_the_byte(text):
    tokenizer = load("tiny-1l").tokenizer
    tokens = tokenizer.encode(text).tokens
    assert b"".join(tokenizer.token_bytes(token) for token in tokens) == text.encode()


def test_the_tokenizer_has_every_byte_and_begins_texts(tokenizer):
    singles = {tokenizer.token_bytes(token) for token in range(tokenizer.n_tokens)}
    assert {bytes([byte]) for byte in range(256)} <= singles
    assert tokenizer.n_tokens == 4096
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.adds_bos) == (BEGIN, END, True)


def test_digits_stand_alone_and_indents_together(tokenizer):
    def pieces(text):
        return [tokenizer.decode((token,)) for token in tokenizer.encode(text).tokens]

    assert pieces("20 345") == ["2", "0", " ", "3", "4", "5"]
    assert pieces("if x:\n        return") == ["if", " x", ":", "\n       ", " return"]


def test_the_three_models_have_one_tokenizer():
    for file in ("tokenizer.json", "tokenizer_config.json"):
        assert len({(folder(name) / file).read_bytes() for name in NAMES}) == 1
