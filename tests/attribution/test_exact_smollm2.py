"""The adaptive engine against every candidate of SmolLM2, which were evaluated once.

`docs/replication/exact_attribution.py` made the numbers, about three million token evaluations.
"""

import json
from pathlib import Path

import pytest

import likely
from likely import attribution

EXACT = json.loads(Path(__file__).with_name("exact-smollm2.json").read_text(encoding="utf-8"))
PLACES = {place["position"]: place for place in EXACT["places"]}
QUICK = [6]  # 3,000 token evaluations


def test_every_position_of_the_prompt_is_there():
    assert list(PLACES) == list(range(len(EXACT["prompt_tokens"])))


@pytest.mark.parametrize("position", PLACES)
def test_the_saved_numbers_are_those_of_one_law(position):
    place = PLACES[position]
    assert sum(place["matrix"]) == pytest.approx(place["score"], abs=1e-9)
    assert place["surprisal"] - place["response_surprisal"] == pytest.approx(
        place["score"], abs=1e-9
    )
    assert place["score"] <= place["surprisal"]
    change = place["context_entropy"] - place["response_entropy"]
    assert change == pytest.approx(place["entropy_change"], abs=1e-9)


def test_adaptive_scores_agree_with_the_exact_ones_at_every_position():
    for place in PLACES.values():
        adaptive = place["adaptive"]
        assert adaptive["converged"]
        assert abs(adaptive["score"] - place["score"]) <= 0.02
        assert adaptive["low"] - 0.02 <= place["score"] <= adaptive["high"] + 0.02
        assert adaptive["token_evaluations"] < 49_152 * (11 - place["position"])


@pytest.mark.real
def test_the_adaptive_engine_is_right_today():
    model = likely.load("smollm2")
    assert model.info.fingerprint == EXACT["fingerprint"]
    found = attribution.attribute(
        model, EXACT["prompt"], EXACT["response_tokens"], positions=QUICK, budget=float("inf")
    )
    for place in found.places:
        exact = PLACES[place.positions[0]]
        assert place.converged
        assert abs(place.measures.score.value - exact["score"]) <= 0.02
        entropy = place.measures.context_entropy
        assert abs(entropy.value - exact["context_entropy"]) <= 0.2
