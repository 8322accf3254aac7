"""Replacement entropies against enumeration: every substitute, its posterior and its response."""

import json
import math
from collections import Counter

import numpy as np
import pytest

import likely
from likely.attribution import adaptive, attribute, replacement
from likely.core.generation import greedy
from likely.errors import InputError
from likely.stats.edit_distance import edit_distance

LETTERS = list("abcdefgh")


def random_chain(seed, *, sharpness=1.0, letters=LETTERS, eos=None):
    """A law that depends on the last two tokens."""
    rng = np.random.default_rng(seed)
    rows = {}

    def next_probs(context):
        key = context[-2:]
        if key not in rows:
            rows[key] = rng.dirichlet(np.full(len(outcomes), sharpness))
        return dict(zip(outcomes, rows[key].tolist(), strict=True))

    outcomes = [*letters, eos] if eos else letters
    for first in ["<s>", *outcomes]:
        for second in outcomes:
            next_probs((first, second))
    next_probs(("<s>",))
    return likely.TableModel(letters, next_probs, eos=eos)


def enumerated(model, prompt, response, position, *, given_response, n_tokens):
    """The posterior of each candidate at a position, and the likeliest response with it there."""
    bos = (model.info.bos_id,)
    found = {}
    for v in range(model.info.n_tokens):
        ids = (*bos, *prompt[:position], v, *prompt[position + 1 :])
        whole = ids + response if given_response else ids
        start = 1 + position
        log_prob = sum(model.row(whole[:i])[whole[i]] for i in range(start, len(whole)))
        if log_prob > -np.inf:
            made = greedy(model, [ids], max_tokens=n_tokens, bos="never")[0].tokens
            found[v] = math.exp(log_prob), made
    total = math.fsum(weight for weight, _ in found.values())
    return {v: (weight / total, made) for v, (weight, made) in found.items()}


def shannon(weights):
    total = math.fsum(weights)
    return -math.fsum(w / total * math.log(w / total) for w in weights if w > 0)


def truths(law, original):
    """The numbers of a whole law."""
    by_response = Counter()
    for prob, made in law.values():
        by_response[made] += prob
    return {
        "weighted_entropy": shannon(by_response.values()),
        "stability": by_response[original],
        "distance": math.fsum(p * edit_distance(made, original) for p, made in law.values()),
    }


def smallest_set(law, mass):
    chosen, total = [], 0.0
    for v in sorted(law, key=lambda v: (-law[v][0], v)):
        if total >= mass - 1e-12:
            break
        chosen.append(v)
        total += law[v][0]
    return chosen


@pytest.mark.parametrize("given_response", [False, True])
@pytest.mark.parametrize("mass", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_every_number_is_that_of_the_enumeration(seed, mass, given_response):
    model = random_chain(seed)
    prompt, n = model.tokenizer.encode("abcd").tokens, 4
    found = attribute(model, "abcd", generate=n, method="exact", kept=None)
    made = replacement(model, found, mass=mass, given_response=given_response)
    original = found.case.response
    assert made.is_own
    assert made.original == original
    for place in made:
        law = enumerated(
            model, prompt, original, place.positions[0], given_response=given_response, n_tokens=n
        )
        chosen = smallest_set(law, mass)
        inside = {v: (law[v][0], law[v][1]) for v in chosen}
        total = math.fsum(p for p, _ in inside.values())
        assert place.n_set == place.n_tried == len(chosen)
        assert place.reached
        assert place.is_smallest
        assert place.set_mass.value == pytest.approx(total)
        assert place.actual_in_set == (prompt[place.positions[0]] in chosen)
        counts = Counter(made for _, made in inside.values())
        assert place.count_entropy.value == pytest.approx(shannon(counts.values()), abs=1e-9)
        assert place.count_entropy.value <= math.log(place.n_set) + 1e-12
        assert place.n_reproducing.value == counts[original]
        conditional = {v: (p / total, made) for v, (p, made) in inside.items()}
        whole = truths(law, original)
        for name, value in truths(conditional, original).items():
            estimate = getattr(place, name)
            assert estimate.value == pytest.approx(value, abs=1e-9)
            assert estimate.low - 1e-9 <= whole[name] <= estimate.high + 1e-9
            assert estimate.level == 1.0
            if mass == 1.0:
                assert estimate.high - estimate.low < 1e-6
        posterior = [p for p, _ in law.values()]
        assert place.weighted_entropy.high <= shannon(posterior) + 1e-9
        assert {o.tokens: o.n_substitutes for o in place.outcomes} == counts
        assert sum(o.prob for o in place.outcomes) == pytest.approx(place.set_mass.value)


def published(n_original, n_other):
    """A place whose substitutes are alike likely: some give the response, each other its own."""
    n = n_original + n_other
    first = [f"<{i}>" for i in range(n)]
    answers = [f"({i})" for i in range(n_other + 1)]
    of = {token: answers[max(0, i - n_original + 1)] for i, token in enumerate(first)}

    def next_probs(context):
        if len(context) == 1:
            return dict.fromkeys(first, 1 / n)
        return {of[context[1]]: 1.0}

    return likely.TableModel([*first, *answers], next_probs)


@pytest.mark.parametrize(("n_original", "n_other", "entropy"), [(2, 1, 0.6365), (2, 7, 2.0432)])
def test_the_published_entropies_of_counts(n_original, n_other, entropy):
    # arXiv 2605.21726, result files of gpt2 for prompt 6, positions 1 and 7
    model = published(n_original, n_other)
    found = attribute(model, "<0>", generate=1, method="exact")
    (place,) = replacement(model, found, mass=1.0)
    assert place.n_set == n_original + n_other
    assert place.n_reproducing.value == n_original
    assert place.count_entropy.value == pytest.approx(entropy, abs=5e-5)
    assert place.weighted_entropy.value == pytest.approx(entropy, abs=5e-5)  # alike likely
    assert place.stability.value == pytest.approx(n_original / place.n_set)


def test_a_mass_that_is_reached_exactly_takes_no_more():
    model = published(2, 8)
    (place,) = replacement(model, attribute(model, "<0>", generate=1, method="exact"), mass=0.7)
    assert place.n_set == 7  # tenths that add to a little less than 0.7
    assert place.reached
    assert len(place.outcomes) == 6


def test_one_substitute_is_taken_whatever_the_mass():
    model = random_chain(1)
    found = attribute(model, "abcd", generate=3, method="exact")
    for place in replacement(model, found, mass=1e-9):
        assert place.n_set == 1
        assert place.count_entropy.value == 0.0


@pytest.mark.parametrize("given_response", [False, True])
def test_intervals_from_draws_hold_for_the_whole_posterior(given_response):
    letters = [f"<{i}>" for i in range(60)]
    model = random_chain(3, letters=letters, sharpness=2.0)
    found = attribute(model, "<1><2><3>", generate=3, method="exact", kept=None)
    options = {"given_response": given_response}
    whole = replacement(model, found, 1, mass=1.0, **options)[0]
    of_set = replacement(model, found, 1, mass=0.98, **options)[0]
    n, missed, values = 25, Counter(), []
    for seed in range(n):
        (place,) = replacement(model, found, 1, mass=0.98, most=16, seed=seed, **options)
        assert place.n_set > 16 >= place.n_tried
        assert "substitutes were tried" in place.notes[-1]
        for name in ("count_entropy", "n_reproducing"):  # of the set; these always hold
            drawn, true = getattr(place, name), getattr(of_set, name)
            assert drawn.low - 1e-9 <= true.value <= drawn.high + 1e-9
        for name in ("weighted_entropy", "stability", "distance"):
            drawn, true = getattr(place, name), getattr(whole, name)
            missed[name] += not drawn.low - 1e-9 <= true.value <= drawn.high + 1e-9
        values.append(place.stability.value)
    assert max(missed.values()) <= 6  # 5 % of 25: 7 or more has a chance of 2e-4
    assert abs(np.mean(values) - of_set.stability.value) < 4 * np.std(values) / math.sqrt(n) + 1e-12


def test_candidates_that_do_not_reach_the_mass_are_said_to(monkeypatch):
    monkeypatch.setattr(adaptive, "FIRST_SIZE", 6.0)
    letters = [f"<{i}>" for i in range(60)]
    model = random_chain(3, letters=letters, sharpness=2.0)
    true = attribute(model, "<1><2><3>", generate=3, method="exact", kept=None)
    whole = replacement(model, true, 1, mass=1.0)[0]
    held = 0
    for seed in range(10):
        found = attribute(
            model, "<1><2><3>", true.case.response, tolerance=9.0, budget=150.0, seed=seed
        )
        (place,) = replacement(model, found, 1)
        assert found.at(1).method == "adaptive"
        assert not place.reached
        assert not place.is_smallest
        assert "not 0.9" in place.notes[0]
        assert place.set_mass.low < place.set_mass.value < place.set_mass.high
        known = place.stability
        held += known.low <= whole.stability.value <= known.high
        assert place.weighted_entropy.low <= whole.weighted_entropy.value
        assert whole.weighted_entropy.value <= place.weighted_entropy.high
    assert held >= 7


def test_a_set_that_may_not_be_the_smallest_is_said_to_be():
    model = random_chain(2)
    found = attribute(model, "abcd", generate=3, method="exact", kept=3)
    for place in replacement(model, found, mass=0.3):
        kept = found.at(place.positions[0]).candidates
        assert len(kept) < found.at(place.positions[0]).n_candidates
        law = enumerated(
            model, found.case.prompt, found.case.response, place.positions[0],
            given_response=False, n_tokens=3,
        )  # fmt: skip
        if place.is_smallest:
            assert place.n_set == len(smallest_set(law, 0.3))


def test_a_response_that_ended_is_compared_as_a_whole():
    model = random_chain(5, eos="</s>")
    found = attribute(model, "abc", "de</s>", method="exact", kept=None)
    made = replacement(model, found, mass=1.0, max_tokens=6)
    assert not made.is_own or made.own == found.case.response
    for place in made:
        for outcome in place.outcomes:
            assert outcome.distance == edit_distance(outcome.tokens, found.case.response)
            assert outcome.is_original == (outcome.tokens == found.case.response)


def test_longer_responses_are_compared_as_far_as_the_original_goes():
    model = random_chain(2)
    found = attribute(model, "abcd", generate=2, method="exact", kept=None)
    longer = replacement(model, found, mass=1.0, max_tokens=5)
    short = replacement(model, found, mass=1.0)
    for mine, theirs in zip(longer, short, strict=True):
        assert mine.stability.value == pytest.approx(theirs.stability.value)
        assert mine.distance.value == pytest.approx(theirs.distance.value)
        assert mine.weighted_entropy.value >= theirs.weighted_entropy.value - 1e-12


def test_a_transformer_and_its_plain_forward_agree(toy_bpe):
    found = attribute(toy_bpe, "Ans wer", generate=4, method="exact", kept=None)
    made = replacement(toy_bpe, found, [0, 2], mass=0.2)
    assert [place.positions for place in made] == [(0,), (2,)]
    stem = found.case.stem
    for place in made:
        at = len(found.case.context) + place.positions[0]
        candidates = found.at(place.positions[0]).candidates
        n = place.n_set
        assert n > 1
        likeliest = candidates.tokens[:n].tolist()
        prompts = [(*stem[:at], *tokens, *stem[at + 1 :]) for tokens in likeliest]
        alone = [greedy(toy_bpe, [p], max_tokens=4, bos="never")[0].tokens for p in prompts]
        counts = Counter(alone)
        assert {o.tokens: o.n_substitutes for o in place.outcomes} == counts
        assert place.count_entropy.value == pytest.approx(shannon(counts.values()), abs=1e-9)


def test_results_are_tables_text_and_strict_json():
    model = random_chain(1)
    made = replacement(model, attribute(model, "abc", generate=2, method="exact"))
    frame = made.to_frame()
    assert frame["position"].tolist() == [0, 1, 2]
    assert (frame["stability_low"] <= frame["stability"]).all()
    read = json.loads(made.to_json())
    assert read["places"][1]["count_entropy"]["value"] == made[1].count_entropy.value
    assert read["places"][0]["outcomes"][0]["tokens"] == list(made[0].outcomes[0].tokens)
    assert made.summary().count("\n") >= 3
    assert made.cost.token_evaluations > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": 0.0}, "mass is a part of the posterior"),
        ({"most": 1}, "at least 2, got 1"),
        ({"positions": 9}, "position 9 was not attributed"),
        ({"max_tokens": 0}, "max_tokens is at least 1"),
        ({"level": 1.0}, "level of an interval"),
        ({"seed": -1}, "a seed is at least 0"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, message):
    model = random_chain(1)
    found = attribute(model, "abc", generate=2, method="exact")
    with pytest.raises(InputError, match=message):
        replacement(model, found, **options)


def test_the_model_is_the_one_that_was_attributed():
    found = attribute(random_chain(1), "abc", generate=2, method="exact")
    with pytest.raises(InputError, match="give the model that was attributed"):
        replacement(random_chain(1), found)


def test_an_empty_response_needs_a_length():
    model = random_chain(1)
    found = attribute(model, "abc", "", method="exact")
    with pytest.raises(InputError, match="max_tokens"):
        replacement(model, found)
    made = replacement(model, found, max_tokens=2, mass=1.0)
    assert made.original == made.own
    assert all(place.stability.value > 0 for place in made if place.actual_in_set)
