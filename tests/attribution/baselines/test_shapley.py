"""Shapley values against enumeration by permutations, closed forms, and coverage."""

import itertools
import math

import numpy as np
import pytest

import likely
from likely import attribution
from likely.errors import InputError

LETTERS = "abcdef"
WEIGHTS = dict(zip(LETTERS, [1.5, -0.7, 0.0, 0.4, 2.0, -1.1], strict=True))


def logistic_model(log_odds):
    """After any prompt the next token is "y" or "n", by the log-odds of the letters in it."""

    def law(before):
        prob = 1.0 / (1.0 + math.exp(-log_odds(frozenset(before) & set(LETTERS))))
        return {"y": prob, "n": 1.0 - prob}

    return likely.TableModel([*LETTERS, "y", "n"], law)


def power_model(log_prob):
    """The probability of "y" is exp(log_prob(letters)), so that log-probabilities may add up."""

    def law(before):
        prob = math.exp(log_prob(frozenset(before) & set(LETTERS)))
        return {"y": prob, "n": 1.0 - prob}

    return likely.TableModel([*LETTERS, "y", "n"], law)


def crossed(letters):
    return sum(WEIGHTS[t] for t in letters) + 2.0 * ("a" in letters and "b" in letters) - 1.0


def by_permutations(worth, players):
    """The definition: the mean gain of each player over all orders of joining."""
    total = dict.fromkeys(players, 0.0)
    orders = list(itertools.permutations(players))
    for order in orders:
        for k, player in enumerate(order):
            total[player] += worth(frozenset(order[: k + 1])) - worth(frozenset(order[:k]))
    return [total[player] / len(orders) for player in players]


def test_enumeration_is_the_mean_over_all_permutations():
    model = logistic_model(crossed)

    def worth(letters):
        return -math.log1p(math.exp(-crossed(letters)))

    for prompt in ("a", "ab", "acbfe"):
        found = attribution.baseline(model, prompt, "y", name="shapley")
        assert found.scores.tolist() == pytest.approx(by_permutations(worth, prompt), abs=1e-12)
        assert abs(found.diagnostics["efficiency_gap"]) < 1e-12
        assert all(one.is_exact for one in found.estimates)
        assert found.diagnostics["n_coalitions"] == 2 ** len(prompt)


def test_xor_is_shared_equally():
    """Two fair bits, and a response that is their sum: alone neither says anything."""

    def law(before):
        bits = [t for t in before if t in "01"]
        if len(bits) < 2:
            return {"0": 0.5, "1": 0.5}
        return {"0": 0.9, "1": 0.1} if bits[0] == bits[1] else {"0": 0.1, "1": 0.9}

    model = likely.TableModel(["0", "1"], law)
    found = attribution.baseline(model, "01", "1", name="shapley")
    assert found.scores.tolist() == pytest.approx([math.log(0.9 / 0.5) / 2] * 2)
    single = attribution.baseline(model, "01", "1", name="deletion")
    assert single.scores.tolist() == pytest.approx([math.log(0.9 / 0.5)] * 2)  # counted twice


def test_where_effects_add_up_shapley_is_deletion_even_when_sampled():
    model = power_model(lambda letters: -3.0 + 0.4 * sum(WEIGHTS[t] for t in letters))
    single = attribution.baseline(model, LETTERS, "y", name="deletion")
    assert single.scores.tolist() == pytest.approx([0.4 * w for w in WEIGHTS.values()])
    exact = attribution.baseline(model, LETTERS, "y", name="shapley")
    sampled = attribution.baseline(model, LETTERS, "y", name="shapley", exact_up_to=2, n_pairs=2)
    np.testing.assert_allclose(exact.scores, single.scores, atol=1e-12)
    np.testing.assert_allclose(sampled.scores, single.scores, atol=1e-12)


def test_sampled_values_are_covered_and_add_up():
    model = logistic_model(crossed)
    case = attribution.frame_case(model, "abcdef", "y")
    truth = attribution.baseline(model, case, name="shapley").scores
    assert truth[2] == pytest.approx(0.0, abs=1e-12)  # a letter without any weight
    hits, sums = np.zeros(6), []
    n = 60
    for seed in range(n):
        found = attribution.baseline(
            model, case, name="shapley", exact_up_to=0, n_pairs=12, seed=seed, level=0.9
        )
        hits += (found.low - 1e-12 <= truth) & (truth <= found.high + 1e-12)
        sums.append(found.scores)
        assert abs(found.diagnostics["efficiency_gap"]) < 1e-9
    # 300 intervals at 90 %, six a run and dependent: binomial in runs at worst, 4 sigma is .155.
    assert hits.sum() / (6 * n) >= 0.9 - 0.155
    error = np.std(sums, axis=0, ddof=1) / math.sqrt(n)
    assert (np.abs(np.mean(sums, axis=0) - truth) <= 4 * error + 1e-12).all()


def test_a_pair_costs_less_variance_than_two_permutations():
    """Antithetic pairs: in a game of pairs a permutation and its reverse cancel exactly."""
    model = power_model(lambda letters: -4.0 + ("a" in letters and "b" in letters) * 1.0)
    found = attribution.baseline(model, "abc", "y", name="shapley", exact_up_to=0, n_pairs=3)
    assert found.scores.tolist() == pytest.approx([0.5, 0.5, 0.0])
    assert found.high.tolist() == pytest.approx(found.low.tolist())


def test_replacement_is_another_game():
    model = power_model(lambda letters: -4.0 + 0.5 * len(letters))
    found = attribution.baseline(model, "ab", "y", name="shapley", removal="replacement", token="c")
    # With c in place of one letter there are still two letters; with both replaced there is one.
    assert found.scores.tolist() == pytest.approx([0.25, 0.25])
    assert found.removal == "replacement"


def test_an_impossible_response_after_a_part_is_named():
    def law(before):
        return {"y": 0.5, "n": 0.5} if "a" in before else {"n": 1.0}

    model = likely.TableModel(["a", "b", "y", "n"], law)
    with pytest.raises(InputError, match=r"without positions \[0, 1\] it has probability 0"):
        attribution.baseline(model, "ab", "y", name="shapley")
    with pytest.raises(InputError, match="at least 2, got 1"):
        attribution.baseline(model, "ab", "y", name="shapley", n_pairs=1)
    with pytest.raises(InputError, match="0 to 16"):
        attribution.baseline(model, "ab", "y", name="shapley", exact_up_to=17)
