"""Sensitivity is the difference of attributions that were asked one by one."""

import re
from dataclasses import replace

import numpy as np
import pytest
from attribution_truth import enumerated, random_table, table_rows
from listing_models import Listing
from scipy.stats import rankdata

import likely
from likely import attribution
from likely.attribution import Sensitivity, sensitivity
from likely.core.estimate import Estimate
from likely.errors import CapabilityError, InputError

WORDS = (" the", " a", " cat", " dog", " ran", " sat")


def words_model(seed=0):
    def law(before):
        rng = np.random.default_rng([seed, *(len(x) + ord(x[1]) for x in before[-2:])])
        return dict(zip(WORDS, rng.dirichlet(np.full(len(WORDS), 0.6)).tolist(), strict=True))

    def whole(before):
        found = law(before)
        total = sum(found.values())
        return {word: p / total for word, p in found.items()}

    return likely.TableModel(WORDS, whole)


def test_a_temperature_of_one_moves_nothing_and_another_is_enumerated():
    table = random_table(4, seed=2)
    found = sensitivity(table, "abc", "da", temperatures=[1.0, 2.5], method="exact")
    same, other = found.variants
    assert [one.difference.value for one in same.shared] == pytest.approx([0.0], abs=1e-12)
    assert same.n_turned == 0
    flat = table.at_temperature(2.5)
    case = attribution.frame_case(flat, "abc", "da")
    truth = [enumerated(table_rows(flat), case, i, n_tokens=4).numbers()["score"] for i in range(3)]
    assert other.attribution.scores == pytest.approx(np.array(truth), abs=1e-12)
    assert other.attribution.case.response == found.reference.case.response


def test_paraphrases_are_compared_word_by_word():
    model = words_model()
    found = sensitivity(
        model, " the cat sat", " a dog", paraphrases=[" a cat sat", " the cat ran"], method="exact"
    )
    assert [(one.kind, one.name) for one in found.variants] == [
        ("paraphrase", "0"), ("paraphrase", "1"),
    ]  # fmt: skip
    for variant, words in zip(found.variants, (["cat", "sat"], ["the", "cat"]), strict=True):
        alone = attribution.attribute(
            model, variant.attribution.case.prompt_text, " a dog", method="exact"
        )
        assert variant.attribution.scores == pytest.approx(alone.scores)
        assert [one.text.strip() for one in variant.shared] == words
        moved = max(abs(one.difference.value) for one in variant.shared)
        assert abs(variant.largest.difference.value) == moved > 0.0


def test_other_models_answer_the_same_question():
    model, other = words_model(), words_model(seed=4)
    found = sensitivity(
        model, " the cat sat", " a dog", models={"other": other, "same": model}, method="exact"
    )
    alone = attribution.attribute(other, " the cat sat", " a dog", method="exact")
    assert found.variants[0].attribution.scores == pytest.approx(alone.scores)
    assert found.variants[1].rank_correlation.value == pytest.approx(1.0)
    prompt = " the cat sat a dog ran"
    found_long = sensitivity(model, prompt, " a cat", models={"other": other}, method="exact")
    ranks = [
        rankdata(scores.round(12))
        for scores in (found_long.reference.scores, found_long.variants[0].attribution.scores)
    ]
    expected = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    assert found_long.variants[0].rank_correlation.value == pytest.approx(expected)
    assert expected < 0.99
    assert "model other: response" in found.summary()
    frame = found.to_frame()
    assert frame["variant"].tolist() == ["other"] * 3 + ["same"] * 3
    sums = frame["first"] - frame["second"]
    assert sums.to_numpy() == pytest.approx(frame["difference"].to_numpy())


def test_signs_that_turn_are_counted_where_that_is_sure():
    model, other = words_model(), words_model(seed=4)
    prompt = " the cat sat a dog ran"
    found = sensitivity(model, prompt, " a cat", models={"other": other}, method="exact")
    sides = found.reference.scores * found.variants[0].attribution.scores
    assert found.variants[0].n_turned == int((sides < 0.0).sum()) > 0


def test_what_was_found_comes_back_from_json(tmp_path):
    found = sensitivity(words_model(), " the cat", " sat", temperatures=[2.0], method="exact")
    found.to_json(tmp_path / "found.json")
    again = Sensitivity.from_json(tmp_path / "found.json")
    assert again.to_json() == found.to_json()
    assert again.variants[0].largest == found.variants[0].largest


def test_what_cannot_be_asked_is_one_clear_line():
    with pytest.raises(InputError, match="name something to change"):
        sensitivity(words_model(), " the cat", " sat")
    listing = Listing(words_model(), k=3)
    with pytest.raises(CapabilityError, match="has no temperature; those that have"):
        sensitivity(listing, " the cat", " sat", temperatures=[2.0])


def test_the_summary_tells_by_how_much_and_which_way_the_most_moved_word_went(monkeypatch):
    monkeypatch.setattr("likely.attribution.adaptive.FIRST_SIZE", 4.0)
    table = random_table(6, seed=1)
    found = sensitivity(table, "abc", "da", temperatures=[3.0], tolerance=0.5, budget=60.0)
    moved = found.variants[0].largest
    by = moved.second.value - moved.first.value
    assert by != 0.0
    assert not moved.difference.is_exact
    shown = re.search(r"by (\S+) \[(\S+), (\S+)\]", found.summary())
    numbers = [float(text) for text in shown.groups()]
    assert numbers[0] == pytest.approx(by, abs=5e-5)
    assert numbers[1] < numbers[0] < numbers[2]


def test_the_most_moved_word_is_the_one_that_moved_most_for_certain():
    found = sensitivity(random_table(4, seed=2), "abc", "da", temperatures=[2.5], method="exact")
    variant = found.variants[0]

    def moved(*ends):
        texts = []
        for low, value, high in ends:
            exact = Estimate.exact(value, unit="nats", method="exact")
            difference = replace(exact, low=low, high=high, level=0.95)
            texts.append(replace(variant.comparison.texts[0], difference=difference))
        return replace(variant, comparison=replace(variant.comparison, texts=tuple(texts)))

    wide, sure, near = (-0.8, 1.2, 3.2), (-0.7, -0.6, -0.5), (0.1, 0.7, 1.3)
    assert moved(wide, sure, near).largest.difference.value == -0.6
    assert moved(wide, near).largest.difference.value == 0.7
    assert moved((-1.0, 0.1, 1.0), wide).largest.difference.value == 1.2
