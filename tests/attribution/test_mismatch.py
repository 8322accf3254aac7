"""On its own texts a model finds just the surprisal that it expects."""

import json
import math
from itertools import product

import numpy as np
import pytest

import likely
from likely.attribution import attribute, calibration_gap, gap_of
from likely.core.jsonio import dumps
from likely.errors import InputError

ROWS = {
    "<s>": {"a": 0.5, "b": 0.3, "c": 0.2},
    "a": {"a": 0.1, "b": 0.6, "c": 0.3},
    "b": {"a": 0.55, "b": 0.3, "c": 0.15},
    "c": {"a": 0.05, "b": 0.05, "c": 0.9},
}


def chain():
    return likely.TableModel(["a", "b", "c"], lambda c: ROWS[c[-1]])


def probability(model, text):
    ids = (model.info.bos_id, *text)
    return math.exp(sum(model.row(ids[:i])[ids[i]] for i in range(1, len(ids))))


@pytest.fixture(scope="module")
def all_texts():
    """Every text of three tokens with its probability and its attribution."""
    model = chain()
    texts = list(product(range(3), repeat=3))
    made = [attribute(model, list(text), "", method="exact") for text in texts]
    return np.array([probability(model, text) for text in texts]), made


def test_over_all_texts_of_a_length_the_gap_is_nothing(all_texts):
    probs, made = all_texts
    surprisal = [sum(place.measures.surprisal.value for place in one.places) for one in made]
    entropy = [one.context_entropy.sum() for one in made]
    assert probs @ surprisal == pytest.approx(probs @ entropy, abs=1e-12)
    assert probs @ surprisal > 1.0


def test_the_interval_on_drawn_texts_holds_nothing(all_texts):
    probs, made = all_texts
    rng = np.random.default_rng(0)
    n, held, gaps = 60, 0, []
    for _ in range(n):
        drawn = rng.choice(len(probs), size=30, p=probs / probs.sum())
        found = gap_of([made[i] for i in drawn])
        held += found.gap.low <= 0.0 <= found.gap.high
        gaps.append(found.gap.value)
    assert held >= 50  # 95 % of 60: fewer have a chance of 3e-4
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / math.sqrt(n)


def test_texts_are_drawn_from_the_model_and_measured(all_texts):
    probs, made = all_texts
    found = calibration_gap(chain(), n=40, length=3)
    assert found.is_own
    assert found.widest == 0.0
    assert found.gap.low <= 0.0 <= found.gap.high
    entropy = probs @ [one.context_entropy.mean() for one in made]
    assert found.entropy.low <= entropy <= found.entropy.high
    assert found.gap.value == pytest.approx(found.surprisal.value - found.entropy.value)


def test_the_interval_on_texts_of_another_does_not():
    model = chain()
    texts = [list(text) for text in product((0, 2), repeat=4)]  # "ac" and "ca" are rare
    found = calibration_gap(model, texts)
    assert not found.is_own
    assert found.gap.low > 0.0


def test_a_transformer_expects_what_it_writes(gpt2):
    found = calibration_gap(gpt2, n=30, length=4)
    assert found.gap.low <= 0.0 <= found.gap.high
    assert found.n_texts + found.n_left_out == 30  # some draws hold rows that no token uses
    assert found.widest < 1e-9


@pytest.mark.parametrize("context", [None, [4], [1, 0]])
def test_texts_keep_every_token_that_was_drawn(context):
    # A law that writes its BOS, and the given context, again and again.
    law = {"a": 0.3, "b": 0.3, "<s>": 0.4}
    model = likely.TableModel(["a", "b", "c", "d"], lambda c: law)
    found = calibration_gap(model, n=20, length=3, context=context)
    assert found.gap.diagnostics["n_items"] == 60
    entropy = -sum(p * math.log(p) for p in law.values())
    assert found.entropy.value == pytest.approx(entropy)


def test_the_gap_of_attributions_is_that_of_their_places():
    model = chain()
    made = [attribute(model, text, "a", method="exact") for text in ("abc", "cca", "bb")]
    found = gap_of(made)
    surprisals = [p.measures.surprisal.value for one in made for p in one.places]
    assert found.surprisal.value == pytest.approx(np.mean(surprisals))
    entropies = np.concatenate([one.context_entropy for one in made])
    assert found.entropy.value == pytest.approx(entropies.mean())
    assert found.gap.diagnostics["n_clusters"] == 3
    read = json.loads(dumps(found.to_dict()))
    assert read["gap"]["value"] == found.gap.value
    assert "3 texts" in found.summary()


def test_one_text_has_no_interval():
    with pytest.raises(InputError, match="at least 2 of them, got 1"):
        calibration_gap(chain(), ["abc"])
