"""The published gpt2 scores of seven prompts, where the weights of gpt2 are on this machine.

The comparison itself is tested on made-up numbers, so that it is known to notice what is wrong.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import likely
from likely.attribution import attribute
from likely.errors import LikelyError

TOLERANCE = 0.05
"""Nats: A and D of the published runs come from different batches, in reduced precision."""

WINDOW = 0.01  # width within which scores count as the same
TABLES = json.loads((Path(__file__).parent / "published_gpt2.json").read_text())


def modal(scores):
    """Return the mean of the densest window of scores: that of tokens that are forced."""
    ordered = np.sort(np.asarray(scores, dtype=float))
    ends = np.searchsorted(ordered, ordered + WINDOW, side="right")
    start = int(np.argmax(ends - np.arange(len(ordered))))
    return float(ordered[start : ends[start]].mean())


@dataclass(frozen=True)
class Comparison:
    """Largest gaps between found and published numbers, and whether the top tokens agree."""

    prompt_gap: float
    score_gap: float
    response_gap: float
    modal: float
    found_top: list
    published_top: list

    @property
    def agrees(self):
        return (
            max(self.prompt_gap, self.score_gap, self.response_gap, abs(self.modal)) < TOLERANCE
            and self.found_top == self.published_top
        )


def compare(scores, log_prompt, log_response, table):
    """Return how found numbers compare to a published table.

    The offset that all scores of a published prompt share is taken off first.
    """
    published = np.array(table["AS"])
    if len(scores) != len(published):
        raise AssertionError(f"{len(scores)} tokens for {len(published)} published ones")
    offset, found_offset = modal(published), modal(scores)
    gaps = (np.asarray(scores) - found_offset) - (published - offset)
    return Comparison(
        prompt_gap=float(np.abs(np.asarray(log_prompt) - table["Ld"]).max()),
        score_gap=float(np.abs(gaps).max()),
        response_gap=abs(log_response - table["A"]),
        modal=found_offset,
        found_top=sorted(np.argsort(-np.asarray(scores))[:3].tolist()),
        published_top=sorted(np.argsort(-published)[:3].tolist()),
    )


# The comparison on made-up numbers.


@pytest.fixture(params=list(TABLES["prompts"]))
def table(request):
    return TABLES["prompts"][request.param]


def _right(table, *, noise=0.02, offset=None):
    """Return numbers as an exact run would give them, off by some noise."""
    rng = np.random.default_rng(0)
    scores = np.array(table["AS"]) - (modal(table["AS"]) if offset is None else offset)
    log_prompt = np.array(table["Ld"]) + rng.uniform(-noise, noise, len(scores))
    moved = scores + rng.uniform(-noise, noise, len(scores)) * (np.abs(scores) > WINDOW)
    return moved, log_prompt, table["A"] + 0.001


def test_the_right_numbers_agree(table):
    assert compare(*_right(table, noise=0.01), table).agrees


def test_a_shift_of_all_scores_is_noticed_though_their_differences_agree(table):
    found = compare(*_right(table, noise=0.0, offset=modal(table["AS"]) - 0.2), table)
    assert found.score_gap < 1e-9
    assert found.modal == pytest.approx(0.2)
    assert not found.agrees


@pytest.mark.parametrize("place", [0, -1])
def test_one_wrong_score_is_noticed(table, place):
    scores, log_prompt, log_response = _right(table, noise=0.0)
    scores[place] += 0.06
    found = compare(scores, log_prompt, log_response, table)
    assert found.score_gap > TOLERANCE
    assert not found.agrees


def test_a_wrong_prompt_likelihood_is_noticed(table):
    scores, log_prompt, log_response = _right(table, noise=0.0)
    log_prompt[len(log_prompt) // 2] -= 0.06
    assert not compare(scores, log_prompt, log_response, table).agrees


def test_another_response_is_noticed(table):
    scores, log_prompt, log_response = _right(table, noise=0.0)
    assert not compare(scores, log_prompt, log_response + 0.06, table).agrees


def test_scores_of_the_wrong_sign_or_order_are_noticed(table):
    scores, log_prompt, log_response = _right(table, noise=0.0)
    assert not compare(-scores, log_prompt, log_response, table).agrees
    assert not compare(scores[::-1], log_prompt, log_response, table).agrees


def test_another_number_of_tokens_is_noticed(table):
    scores, log_prompt, log_response = _right(table, noise=0.0)
    with pytest.raises(AssertionError, match="tokens for"):
        compare(scores[1:], log_prompt[1:], log_response, table)


def test_the_modal_score_is_where_most_are():
    assert modal([0.3, 0.0150, 0.0152, 1.9, 0.0147, -0.2]) == pytest.approx(0.0149667, abs=1e-6)
    assert modal(TABLES["prompts"]["P0"]["AS"]) == pytest.approx(0.0147, abs=0.002)
    assert modal(TABLES["prompts"]["P1"]["AS"]) == pytest.approx(-0.0277, abs=0.002)
    assert modal(TABLES["prompts"]["P4"]["AS"]) == pytest.approx(-0.042, abs=0.002)


def test_the_tables_are_whole(table):
    assert len(table["AS"]) == len(table["Ld"]) in (54, 49, 48, 52, 45, 30, 8)
    assert table["Ld"][-1] == 0.0
    assert table["A"] < -20.0
    assert len(TABLES["prompts"]) == 7


# gpt2 itself.


@pytest.fixture(scope="module")
def published_model():
    """Return gpt2 from this machine's own files, or skip."""
    constants = pytest.importorskip("huggingface_hub.constants")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        patch.setenv("HF_HUB_OFFLINE", "1")
        try:
            return likely.load("hf:gpt2")
        except LikelyError as error:
            pytest.skip(f"the weights of gpt2 are not on this machine: {error}")


@pytest.mark.parametrize("name", list(TABLES["prompts"]))
def test_gpt2_scores_are_the_published_ones(published_model, name):
    model, table = published_model, TABLES["prompts"][name]
    on_gpu = model.info.device.startswith("cuda")
    if name != "P6" and not on_gpu:
        pytest.skip("a prompt of 50 tokens takes half an hour without a CUDA device")
    found = attribute(
        model, table["prompt"], generate=20, exclude=TABLES["missing_ids"],
        method="exact" if name == "P6" and on_gpu else "adaptive", tolerance=0.01, budget=1e12,
    )  # fmt: skip
    assert found.case.response_text == table["response"]
    log_prompt = [place.measures.log_prompt_likelihood.value for place in found.places]
    compared = compare(found.scores, log_prompt, found.log_response, table)
    assert compared.agrees, compared
