"""The cases that need a neural network: small random models of transformers, in float32.

The reference is the library's own forward of each sequence alone (`fixtures.plain_rows`).
"""

import itertools
import shutil
import socket

import numpy as np
import pytest
from fixtures import N_UNUSED, plain_rows

import likely
from likely.errors import StoreError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

NEAR = 1e-5  # nats a token: what "equal" means in float32
METHODS = ("full", "cache", "tree")


def some_ids(n, *, seed=0, n_vocab=107):
    return tuple(np.random.default_rng(seed).integers(0, n_vocab, size=n).tolist())


def plain_scores(model, ids, start=1):
    rows = plain_rows(model, ids)
    return np.array([rows[i - 1, ids[i]] for i in range(start, len(ids))])


def values(score):
    return np.array(score.token_log_probs, dtype=float)


@pytest.mark.parametrize(
    ("context", "continuation", "pieces"),
    [
        ("Ans", "wer", {"joint": ("Answer",), "separate": ("wer",)}),
        ("wor", "ld", {"joint": ("world",), "separate": ("ld",)}),
        ("Answer:", " C", {"joint": (": C",), "separate": (" C",)}),
    ],
)
@pytest.mark.parametrize("boundary", ["joint", "separate"])
def test_o01_a_token_across_the_join_follows_the_policy(
    toy_bpe, context, continuation, pieces, boundary
):
    score = likely.score(toy_bpe, [(context, continuation)], bos="always", boundary=boundary)[0]
    assert score.pieces == pieces[boundary]
    assert ("boundary_merge" in score.flags) is (boundary == "joint")
    ids = (*score.context_tokens, *score.tokens)
    expected = plain_scores(toy_bpe, ids, start=len(score.context_tokens))
    assert values(score) == pytest.approx(expected, abs=NEAR)
    with pytest.raises(likely.InputError, match="spans the join"):
        likely.score(toy_bpe, [(context, continuation)], bos="always", boundary="error")


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("é🙂a", ((0, 1),) * 2 + ((1, 2),) * 4 + ((2, 3),)),
        ("i ⭢ j", ((0, 1), (1, 2), *((2, 3),) * 3, (3, 4), (4, 5))),
    ],
)
def test_o04_the_tokens_of_one_character_share_its_span_and_add_up(toy_bytes, text, spans):
    read = likely.surprisal(toy_bytes, text)
    assert read.spans == spans
    assert read.byte_spans == tuple((i, i + 1) for i in range(len(text.encode())))
    assert [p for p, (a, b) in zip(read.pieces, spans, strict=True) if ord(text[a]) > 127] == [
        "\ufffd"
    ] * sum(len(c.encode()) for c in text if ord(c) > 127)
    assert "".join(word.text for word in read.words()) == text
    words = [word.log_prob or 0.0 for word in read.words()]
    assert sum(words) == pytest.approx(read.log_prob, abs=1e-12)
    assert read.token_log_probs[1:] == pytest.approx(plain_scores(toy_bytes, read.tokens), abs=NEAR)


@pytest.mark.parametrize("text", ["Hello . This is", "y is ?", "the word 'social'"])
def test_o05_decoding_cleans_nothing_up(toy_bpe, text):
    read = likely.surprisal(toy_bpe, text)
    assert "".join(read.pieces) == text == toy_bpe.tokenizer.decode(read.tokens)
    pair = likely.score(toy_bpe, [(text[:7], text[7:])])[0] if len(text) > 7 else None
    assert pair is None or toy_bpe.tokenizer.decode((*pair.context_tokens, *pair.tokens)) == text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.parametrize("order", [1, -1])
def test_o10_shorter_texts_of_a_batch_keep_their_positions(gpt2, method, n_rows, order):
    texts = [some_ids(n, seed=n) for n in (1, 3, 17)][::order]
    settings = likely.Settings(method=method, batch_rows=n_rows)
    rows = likely.next_tokens(gpt2, texts, settings=settings)
    for ids, row in zip(texts, rows, strict=True):
        assert row.log_probs == pytest.approx(plain_rows(gpt2, ids)[-1], abs=NEAR)


@pytest.mark.parametrize("name", ["gpt2", "window"])
def test_o11_padding_gives_no_nan(request, name):
    model = request.getfixturevalue(name)
    texts = [some_ids(n, seed=n) for n in (1, 33)]
    for method in METHODS:
        settings = likely.Settings(method=method, batch_rows=2)
        for row in likely.next_tokens(model, texts, settings=settings):
            assert np.isfinite(row.log_probs).all()
            assert np.exp(row.log_probs).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("n", [1, 4, 5, 32])
def test_o12_a_repeated_request_costs_once_and_gives_one_number(gpt2, n):
    ids = some_ids(12)
    scores = likely.score(gpt2, [(ids[:4], ids[4:])] * n)
    assert {s.token_log_probs for s in scores} == {scores[0].token_log_probs}
    assert scores.cost.token_evaluations == 11
    assert values(scores[0]) == pytest.approx(plain_scores(gpt2, ids, start=4), abs=NEAR)


def test_o12_in_16_bit_deterministic_mode_gives_the_same_bits_in_any_company(random_gpt2_folder):
    model = likely.load(f"hf:{random_gpt2_folder}", dtype="bfloat16")
    asked = (some_ids(5), some_ids(9, seed=1))
    settings = likely.Settings(deterministic=True)
    alone = likely.score(model, [asked], settings=settings)[0]
    for n in (4, 5, 32):
        others = [(some_ids(3 + i % 7, seed=i), some_ids(2 + i, seed=i + 50)) for i in range(n - 1)]
        company = likely.score(model, [*others, asked], settings=settings)[-1]
        assert company.token_log_probs == alone.token_log_probs


def test_o13_rows_of_16_bit_weights_have_mass_one(random_gpt2_folder):
    for dtype in ("float16", "bfloat16"):
        row = likely.next_token(likely.load(f"hf:{random_gpt2_folder}", dtype=dtype), some_ids(9))
        assert np.exp(row.log_probs).sum() == pytest.approx(1.0, abs=1e-9)


def test_o14_the_dtype_is_ours_not_the_checkpoints_and_part_of_the_key(gpt2, tmp_path):
    from copy import deepcopy

    gpt2.tokenizer.inner.save_pretrained(tmp_path)
    deepcopy(gpt2.module).half().save_pretrained(tmp_path)
    default = likely.load(f"hf:{tmp_path}")
    half = likely.load(f"hf:{tmp_path}", dtype="float16")
    assert (default.info.dtype, half.info.dtype) == ("float32", "float16")
    assert default.info.identity != half.info.identity


@pytest.mark.parametrize("name", ["gpt2", "window"])
def test_o23_a_stored_prefix_never_stands_in_for_the_whole(request, name):
    model = request.getfixturevalue(name)
    ids = some_ids(117, seed=3)
    expected = plain_scores(model, ids)
    settings = likely.Settings(method="cache", row_tokens=16)
    tail = likely.score(model, [(ids[:112], ids[112:])], settings=settings)[0]
    whole, again = (
        likely.score(model, [(ids[:1], ids[1:])], settings=settings)[0] for _ in range(2)
    )
    assert values(tail) == pytest.approx(expected[111:], abs=NEAR)
    assert values(whole) == pytest.approx(expected, abs=NEAR)
    assert whole.n_scored == 116
    assert again.token_log_probs == whole.token_log_probs


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["gpt2", "window"])
def test_o24_suffixes_never_see_one_another(request, name, method):
    model = request.getfixturevalue(name)
    context, suffixes = "the sky is", [" blue", " pink", " bacon ends here"]
    alone = {
        end: plain_scores(model, model.tokenizer.encode(context + end).tokens, start=len(context))
        for end in suffixes
    }
    settings = likely.Settings(method=method, row_tokens=4, batch_rows=2)
    for order in itertools.permutations(suffixes):
        scores = likely.score(model, [(context, end) for end in order], settings=settings)
        for end, score in zip(order, scores, strict=True):
            assert values(score) == pytest.approx(alone[end], abs=NEAR)


@pytest.mark.parametrize("name", ["gpt2", "window"])
def test_o25_cached_and_full_forward_agree_at_every_cut(request, name):
    model = request.getfixturevalue(name)
    ids = some_ids(64, seed=4)
    expected = plain_scores(model, ids)
    pairs = [(ids[:cut], ids[cut:]) for cut in range(1, len(ids))]
    settings = likely.Settings(method="cache", row_tokens=5, batch_rows=2)
    for cut, score in enumerate(likely.score(model, pairs, settings=settings), start=1):
        assert values(score) == pytest.approx(expected[cut - 1 :], abs=NEAR)
    for cut in (1, 15, 16, 17, 40, 63):
        alone = likely.score(model, [pairs[cut - 1]])[0]
        assert values(alone) == pytest.approx(expected[cut - 1 :], abs=NEAR)


def test_o26_a_folder_never_opens_a_socket(random_gpt2_folder, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    model = likely.load(f"hf:{random_gpt2_folder}")
    assert likely.score(model, [("the sky is", " blue")])[0].n_scored > 0


@pytest.mark.parametrize("missing", ["model.safetensors", "config.json"])
def test_o26_a_missing_file_is_named(random_gpt2_folder, tmp_path, missing):
    folder = tmp_path / "folder"
    shutil.copytree(random_gpt2_folder, folder)
    (folder / missing).unlink()
    with pytest.raises(StoreError, match=missing):
        likely.load(f"hf:{folder}")


def test_o27_a_model_without_padding_token_gets_none(gpt2):
    size = gpt2.module.get_input_embeddings().weight.shape[0]
    texts = [some_ids(2), some_ids(9, seed=1)]
    settings = likely.Settings(method="full", batch_rows=2)
    for ids, row in zip(texts, likely.next_tokens(gpt2, texts, settings=settings), strict=True):
        assert row.log_probs == pytest.approx(plain_rows(gpt2, ids)[-1], abs=NEAR)
    assert gpt2.tokenizer.inner.pad_token is None
    assert gpt2.module.get_input_embeddings().weight.shape[0] == size == gpt2.info.n_vocab


def test_o28_rows_that_no_token_uses_are_told_and_never_crash(gpt2):
    info = gpt2.info
    assert info.n_vocab - info.n_tokens == N_UNUSED
    row = likely.next_token(gpt2, "the sky")
    unused = np.exp(row.log_probs[info.n_tokens :]).sum()
    assert row.unused_mass == pytest.approx(unused, rel=1e-12)
    assert np.exp(row.masked().log_probs).sum() == pytest.approx(1.0, abs=1e-12)
    assert len(row.top(info.n_vocab)) == info.n_vocab
    assert len(row.to_frame(info.n_vocab)) == info.n_vocab
    score = likely.score(gpt2, [("the sky", [info.n_vocab - 1])])[0]
    assert score.pieces == ("",)
    assert score.log_prob == pytest.approx(float(row.log_probs[-1]), abs=NEAR)


def test_o33_dropout_is_off_and_the_callers_flags_come_back(gpt2):
    module = gpt2.module
    try:
        module.train()
        module.transformer.h[0].eval()
        before = {name: part.training for name, part in module.named_modules()}
        once, again = (likely.surprisal(gpt2, "the sky is blue") for _ in range(2))
        assert {name: part.training for name, part in module.named_modules()} == before
    finally:
        module.eval()
    assert once.token_log_probs == again.token_log_probs
    assert values(once)[1:] == pytest.approx(plain_scores(gpt2, once.tokens), abs=NEAR)


def test_o37_a_target_is_built_without_special_tokens(toy_bytes):
    score = likely.score(toy_bytes, [("A", "B")])[0]
    assert len(score.tokens) == len(score.context_tokens) == 1
    assert values(score) == pytest.approx(
        plain_scores(toy_bytes, (*score.context_tokens, *score.tokens)), abs=NEAR
    )


def test_o39_hooks_of_the_caller_see_the_model_and_change_no_bit(gpt2):
    before = likely.surprisal(gpt2, "the sky is blue").token_log_probs
    seen = []
    others = list(gpt2.module.transformer.h[0]._forward_hooks)  # the library may keep its own
    hook = gpt2.module.transformer.h[0].register_forward_hook(
        lambda module, inputs, output: seen.append(1)
    )
    try:
        during = likely.surprisal(gpt2, "the sky is blue").token_log_probs
        hidden = likely.core.engine.Hidden(prefix=some_ids(4), norm="before")
        likely.core.engine.evaluate(gpt2, [hidden])
        assert list(gpt2.module.transformer.h[0]._forward_hooks) == [*others, hook.id]
    finally:
        hook.remove()
    assert seen
    assert during == before
    assert not any(part._forward_pre_hooks for part in gpt2.module.modules())
    assert likely.surprisal(gpt2, "the sky is blue").token_log_probs == before


def test_o18_a_template_that_trims_is_told_and_the_reply_kept(toy_bpe):
    user = {"role": "user", "content": "Where?"}
    for reply in ("The capital is ", "It is\n\n"):
        prompt = likely.chat(toy_bpe, [user, {"role": "assistant", "content": reply}])
        assert prompt.text.endswith(f"[assistant] {reply}")
        assert prompt.removed == reply[len(reply.rstrip()) :]
        score = likely.score(toy_bpe, [(prompt, "Paris")])[0]
        spelled = toy_bpe.tokenizer.decode((*score.context_tokens, *score.tokens))
        assert spelled == prompt.text + "Paris"
