"""The audit of splits: masses over all of them, by enumeration."""

import itertools
import json
import math

import numpy as np
import pytest
from policies import policy_model
from questions import answering, hashed, naive_log_prob, question

import likely
from likely.calibration import build, score_items, tokenisation_audit
from likely.errors import InputError

PIECES = ["r", "e", "d", "re", "ed", "red", "R", "Re", " ", " r", " re", "b", "B", "Q", "q"]
ITEMS = [question(context, ["red", "b"], number=i) for i, context in enumerate(["Q", "q", "Qq"])]


def splits(text):
    """Every sequence of pieces that spells a text, by trying all."""
    if not text:
        return [()]
    heads = [piece for piece in PIECES if text.startswith(piece)]
    return [(piece, *rest) for piece in heads for rest in splits(text[len(piece) :])]


def test_masses_are_sums_over_every_split_of_every_spelling():
    model = hashed(PIECES)
    found = tokenisation_audit(model, ITEMS, n=3)
    index = model.tokenizer.index
    expected = []
    for item in ITEMS:
        context = [model.info.bos_id, *model.tokenizer.encode(item.context).tokens]
        for option in item.options:
            every = itertools.chain(*map(splits, likely.surfaces(option.label)))
            expected.append(
                math.fsum(
                    math.exp(naive_log_prob(model, context, [index[piece] for piece in ids]))
                    for ids in every
                )
            )
    np.testing.assert_allclose(np.exp(found.log_marginal), expected, atol=1e-12)
    assert found.is_complete.all()
    assert found.labels == ("red", "b") * 3
    assert found.n_scored == 3 * sum(
        len(splits(form)) for label in ("red", "b") for form in likely.surfaces(label)
    )


def test_the_tokenizers_own_masses_are_those_of_scoring():
    model = hashed(PIECES)
    found = tokenisation_audit(model, ITEMS, n=3)
    scored = score_items(model, ITEMS, word_end="never")
    np.testing.assert_allclose(found.log_canonical, scored.masses.log_mass, atol=1e-12)
    assert (found.gaps[::2] > 0.0).all()
    assert (found.gaps[1::2] == 0.0).all()  # one letter has one split


def test_the_mean_the_largest_and_the_worst_gap_are_those_of_the_options():
    found = tokenisation_audit(hashed(PIECES), ITEMS, n=3)
    gaps = found.log_marginal - found.log_canonical
    assert found.mean_gap.value == pytest.approx(gaps.mean(), abs=1e-12)
    assert found.mean_gap.unit == "nats"
    at = int(gaps.argmax())
    assert found.max_gap == pytest.approx(gaps[at], abs=1e-12)
    assert found.worst == (ITEMS[at // 2].id, ("red", "b")[at % 2])
    shares = [np.exp(x).reshape(-1, 2) for x in (found.log_canonical, found.log_marginal)]
    moved = np.abs(np.subtract(*(mass / mass.sum(axis=1, keepdims=True) for mass in shares)))
    assert found.share_difference == pytest.approx(moved.max(), abs=1e-12)
    assert found.worst[1] in found.summary()


def test_a_limit_leaves_a_lower_bound_that_grows_with_it():
    model = hashed(PIECES)
    whole = tokenisation_audit(model, ITEMS, n=3)
    before = tokenisation_audit(model, ITEMS, n=3, limit=1)
    assert before.max_gap == 0.0
    assert not before.is_complete.all()
    assert "further splits" in before.summary()
    for limit in (2, 3, 5):
        now = tokenisation_audit(model, ITEMS, n=3, limit=limit)
        assert (now.log_marginal >= before.log_marginal - 1e-12).all()
        assert (now.log_marginal <= whole.log_marginal + 1e-12).all()
        before = now


def test_a_vocabulary_of_letters_leaves_nothing_out():
    letters = hashed([chr(code) for code in range(32, 127)])
    found = tokenisation_audit(letters, build("colors", preset="smoke"), n=2, level="exact")
    assert found.max_gap == found.share_difference == 0.0
    assert found.is_complete.all()


def test_splits_that_alone_are_possible_leave_an_infinite_gap_and_no_mean():
    law = {"r": 0.5, "e": 0.25, "d": 0.25}
    model = likely.TableModel(["r", "e", "d", "red", "Q"], lambda context: law)
    items = [question("Q", ["red", "d"], lead="", number=i) for i in range(2)]
    found = tokenisation_audit(model, items, level="exact")
    assert found.gaps.tolist() == [math.inf, 0.0] * 2
    assert found.mean_gap is None
    assert json.loads(found.to_json(), parse_constant=pytest.fail)["max_gap"] == "inf"


def test_an_impossible_option_has_no_gap():
    found = tokenisation_audit(
        answering({"Q": {"a": 1.0, "b": 0.0}}), [question("Q", ["a", "b"], lead="")], level="exact"
    )
    assert found.gaps.tolist() == [0.0, 0.0]
    assert found.log_marginal.tolist() == [0.0, -math.inf]
    assert found.mean_gap is None  # of one item


def test_the_sample_is_that_of_the_seed_and_counts_each_item_once():
    items = [question("Q" + "q" * i, ["red", "b"], number=i) for i in range(8)]
    model = hashed(PIECES)
    one, same, other = (tokenisation_audit(model, items, n=4, seed=s, limit=4) for s in (0, 0, 1))
    assert one.items == same.items != other.items
    assert len(set(one.items)) == 4
    assert one.cost.token_evaluations > 0
    assert one.flags == frozenset()


def test_a_token_over_the_join_is_flagged():
    model = hashed([*PIECES, "Qr"])
    found = tokenisation_audit(model, [question("Q", ["red", "b"], lead="")], level="exact")
    assert "boundary_merge" in found.flags


def test_nothing_to_audit_is_refused():
    items = list(build("colors", preset="smoke"))[:2]
    model = policy_model(items, "calibrated")
    with pytest.raises(InputError, match="at least 1 item"):
        tokenisation_audit(model, items, n=0)
    with pytest.raises(InputError, match="from 1"):
        tokenisation_audit(model, items, limit=0)
