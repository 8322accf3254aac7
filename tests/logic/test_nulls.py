"""Base rates and shuffled items: levels are told from rules."""

import math
from itertools import permutations

import numpy as np
import pytest
from enumeration import mass
from hypothesis import given
from hypothesis import strategies as st

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.logic.formula import count_of, var
from likely.logic.nulls import base_rate_log_prob, permutation_null
from likely.logic.parser import parse


def logit(probs):
    probs = np.asarray(probs, dtype=float)
    with np.errstate(divide="ignore"):
        return np.log(probs) - np.log1p(-probs)


tables = st.lists(st.tuples(*[st.floats(0.0, 1.0)] * 3), min_size=1, max_size=6).map(np.array)


@given(tables)
def test_the_base_rate_prior_is_the_formula_at_the_mean_probabilities(table):
    formula = parse("(a -> b) & exactly_one(a, b, c)")
    rates = dict(zip("abc", table.mean(0).tolist(), strict=True))
    found = base_rate_log_prob(formula, logit(table))
    assert math.exp(found) == pytest.approx(mass(formula, rates), rel=1e-9, abs=1e-12)


def test_columns_may_be_named_and_may_hold_more_events():
    rows = logit([[0.2, 0.9, 0.5], [0.4, 0.7, 0.5]])
    found = base_rate_log_prob("a & b", rows, names=["b", "a", "unused"])
    assert math.exp(found) == pytest.approx(0.3 * 0.8)


def paired_items(n, *, agree):
    """Items whose two events are near certain, and (dis)agree; base rates are one half."""
    first = generator(0, "paired").integers(0, 2, n)
    second = first if agree else 1 - first
    return logit(np.stack([first, second], axis=1) * 0.98 + 0.01)


def test_a_rule_that_holds_item_by_item_stands_out_of_the_null():
    null = permutation_null("a <-> b", paired_items(60, agree=True), role=["b"])
    assert null.observed == pytest.approx(0.99**2 + 0.01**2)
    assert null.mean == pytest.approx(0.5, abs=0.1)
    assert null.z_score > 5
    assert null.p_value == 1 / 101
    broken = permutation_null("a <-> b", paired_items(60, agree=False), role=["b"])
    assert broken.z_score < -5
    assert broken.p_value == 1.0


def test_saturated_probabilities_look_perfect_and_are_null():
    # pitfall P2: all events near 1 satisfy an iff without any rule being kept
    rows = logit(generator(1, "saturated").uniform(0.97, 0.999, (50, 2)))
    null = permutation_null("a <-> b", rows, role=["b"])
    assert null.observed > 0.95
    assert null.mean == pytest.approx(null.observed, abs=0.01)
    assert null.p_value > 1e-2


def test_the_null_law_is_that_of_all_orders():
    table = np.array([[0.9, 0.8], [0.2, 0.1], [0.6, 0.7]])
    agree = [
        np.mean(
            table[:, 0] * table[list(order), 1] + (1 - table[:, 0]) * (1 - table[list(order), 1])
        )
        for order in permutations(range(3))
    ]
    null = permutation_null("a <-> b", logit(table), role=["b"], n_permutations=5000)
    # 4 standard errors of 5000 draws: a false alarm of less than 1e-4
    assert null.mean == pytest.approx(np.mean(agree), abs=4 * np.std(agree) / math.sqrt(5000))
    assert null.sd == pytest.approx(np.std(agree), rel=0.1)
    as_good = np.mean([value >= agree[0] - 1e-12 for value in agree])
    assert null.p_value == pytest.approx(as_good, abs=4 * math.sqrt(as_good / 5000))
    assert null.item_means.mean() == pytest.approx(null.mean)
    assert null.item_means.shape == (3,)


def test_the_p_value_is_valid_when_there_is_no_rule():
    # P(p <= 0.1) is at most 0.1 under exchangeable items; 4 standard errors of 200 trials
    rng = generator(2, "exchangeable")
    p_values = [
        permutation_null(
            "a ^ b", rng.normal(size=(8, 2)), role=["a"], n_permutations=19, seed=i
        ).p_value
        for i in range(200)
    ]
    assert np.mean(np.array(p_values) <= 0.1) <= 0.1 + 4 * math.sqrt(0.09 / 200)


def test_the_events_of_a_role_move_together():
    rows = logit([[0.99, 0.99, 0.5], [0.01, 0.01, 0.5]] * 20)
    together = permutation_null("a <-> b", rows, role=["a", "b"], names=["a", "b", "c"])
    assert together.z_score is None
    assert together.p_value == 1.0
    assert together.mean == pytest.approx(together.observed)


def test_one_item_or_equal_items_have_no_spread():
    null = permutation_null("a & b", logit([[0.25, 0.5]]), role=["a"], statistic="log_prob")
    assert null.observed == pytest.approx(math.log(0.125))
    assert (null.sd, null.z_score, null.p_value) == (0.0, None, 1.0)


def test_a_null_is_the_same_for_the_same_seed():
    rows = paired_items(10, agree=True)
    one, same, other = (
        permutation_null("a <-> b", rows, role=["b"], seed=seed).to_dict() for seed in (0, 0, 1)
    )
    assert one == same
    assert one["mean"] != other["mean"]


def test_what_cannot_be_compared_is_refused():
    rows = np.zeros((2, 2))
    with pytest.raises(ShapeError, match=r"\['a', 'b'\], got shape \(2, 3\)"):
        base_rate_log_prob("a & b", np.zeros((2, 3)))
    with pytest.raises(InputError, match="at least one item"):
        base_rate_log_prob("a & b", np.zeros((0, 2)))
    with pytest.raises(InputError, match="1 NaN in 1 items"):
        base_rate_log_prob("a & b", np.array([[0.0, np.nan]]))
    for role in ([], ["a", "b"], ["z"]):
        with pytest.raises(InputError, match="a role is some of the events"):
            permutation_null("a & b", rows, role=role)
    with pytest.raises(InputError, match="at least 1 permutation"):
        permutation_null("a & b", rows, role=["a"], n_permutations=0)
    impossible = np.array([[np.inf, -np.inf], [0.0, 0.0]])
    with pytest.raises(InputError, match="use statistic='prob'"):
        permutation_null("a & b", impossible, role=["a"], statistic="log_prob")


def test_many_events_are_shuffled_in_batches():
    names = [f"e{i}" for i in range(50)]
    rows = generator(3, "many").normal(size=(300, 50))
    null = permutation_null(
        count_of(*map(var, names), low=20, high=30), rows, role=names[:25], n_permutations=3
    )
    assert 0.0 < null.mean < 1.0


def test_equal_formulas_and_seeds_are_permuted_in_the_same_orders():
    rows = logit(generator(2, "orders").uniform(0.1, 0.9, (9, 2)))
    null = permutation_null("a <-> b", rows, n_permutations=40)
    assert null.means.shape == (40,)
    assert (null.means.mean(), null.means.std()) == (null.mean, null.sd)
    # an iff is the same of the negations: with the same orders it is so draw by draw
    mirrored = permutation_null("a <-> b", -rows, n_permutations=40)
    assert mirrored.means == pytest.approx(null.means)
