"""The policies as models: what they say when read is what they are."""

import math

import numpy as np
import pytest
from policies import ELSEWHERE, POLICIES, policy_masses, policy_model

from likely.calibration import build
from likely.calibration.data_sets.items import Option, make_item
from likely.calibration.metrics import measure
from likely.calibration.tables import exact_masses, targets
from likely.core.answers import score_answers
from likely.core.scoring import next_tokens
from likely.testing import check_model

ITEMS = list(build("colors", preset="smoke"))[::7]


def integers(low, n):
    """A uniform integer, of which one may begin another."""
    from fractions import Fraction

    return make_item(
        family="integers", version=1, template_id="D", template="Between {i}. It is",
        context=f"Between {low} and {low + n - 1}. It is", notation="interval", has_twin=False,
        options=[
            Option(label=str(i), words=(str(i),), value=Fraction(i)) for i in range(low, low + n)
        ],
        ideal=[Fraction(1, n)] * n,
    )  # fmt: skip


def read(model, items, *, level="paper", word_end="auto"):
    """The masses of a model on items, one call an item."""
    masses = []
    for item in items:
        words = [option.words[0] for option in item.options]
        if level == "exact":
            answers = {word: (item.lead + word,) for word in words}
            scores = score_answers(model, [item.context], answers, word_end=word_end)
        else:
            scores = score_answers(model, [item.context], words, level=level, word_end=word_end)
        masses += [scores[0].log_prob(word) for word in words]
    return exact_masses(targets(items).offsets, np.array(masses))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_read_as_a_model_gives_its_masses(policy):
    found = read(policy_model(ITEMS, policy), ITEMS)
    goal = targets(ITEMS)
    np.testing.assert_allclose(
        np.exp(found.log_mass), np.exp(policy_masses(goal, policy).log_mass), atol=1e-12
    )


def test_spelling_alone_hides_three_quarters_of_a_mass_spread_over_four():
    model, goal = policy_model(ITEMS, "spread_variants"), targets(ITEMS)
    whole = measure(goal, read(model, ITEMS))
    np.testing.assert_allclose(whole["pm"], 1.0, atol=1e-12)
    np.testing.assert_allclose(whole["wd01"], 0.0, atol=1e-12)
    exact = measure(goal, read(model, ITEMS, level="exact"))
    np.testing.assert_allclose(exact["pm"], 0.25, atol=1e-12)
    np.testing.assert_allclose(exact["wd01"], 0.0, atol=1e-12)


@pytest.mark.parametrize("policy", ["calibrated", "pick_first", "spread_variants", "leaky_0.3"])
def test_integers_of_which_one_begins_another_are_told_apart(policy):
    items = [integers(8, 5), integers(1, 12)]
    found = measure(targets(items), read(policy_model(items, policy), items))
    expected = measure(targets(items), policy_masses(targets(items), policy))
    for name in ("pm", "wd01", "wd_line_norm", "entropy_gap"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9, err_msg=name)


def test_the_rest_of_the_mass_is_elsewhere():
    model = policy_model(ITEMS, "leaky_0.3")
    row = next_tokens(model, [ITEMS[0].context])[0]
    assert math.exp(row.log_prob(ELSEWHERE)) == pytest.approx(0.3)


def test_without_numbers_options_are_equally_likely():
    model = policy_model(ITEMS, "pick_first")
    item = ITEMS[0]
    words = [option.words[0] for option in item.options]
    scores = score_answers(model, [item.blank], words)
    assert [math.exp(scores[0].log_prob(word)) for word in words] == pytest.approx([0.5, 0.5])


def test_a_policy_keeps_the_contract_of_a_model():
    check_model(
        policy_model(ITEMS, "calibrated"),
        # A context is one token, and the contract is tried on both halves of a text.
        texts=["black black", "greengreen"],
    )
