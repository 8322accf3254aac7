"""Rounds of draws until the score is known: when they stop, and that exact stays exact."""

import dataclasses
import math

import numpy as np
import pytest
from attribution_truth import (
    Law,
    check_measures,
    found_exactly,
    found_within,
    peaked_law,
    peaked_laws,
    unchecked_shapes,
)
from scipy.stats import binom

from likely.attribution.adaptive import FIRST_SIZE, hunt_score, run_hunts

LAW = peaked_law("large", seed=31, n_vocab=20000, n_prompt=5, n_response=6, first=3.0, rank=40)


def _find(law, seed=0, *, tolerance=0.05, budget=1e9, level=0.95):
    search = law.search(seed)
    found = found_within(search, tolerance=tolerance, level=level, budget=budget)
    return found, search.stem.spending.cost.token_evaluations


def _half(found):
    score = found.measures.score
    return max(score.high - score.value, score.value - score.low)


def test_every_candidate_gives_the_truth():
    law = peaked_law("small", seed=30, n_vocab=300)
    found = found_exactly(law.search(0), level=0.9)
    check_measures(found.measures, law.truth, atol=1e-9)
    assert (found.method, found.reason, found.converged) == ("exact", "exact", True)
    assert found.n_rounds == 0


def test_few_candidates_are_all_evaluated():
    law = peaked_law("small", seed=30, n_vocab=int(FIRST_SIZE) // 4)
    found, spent = _find(law, tolerance=10.0)
    assert found.method == "exact"
    assert spent == law.read.size
    check_measures(found.measures, law.truth, atol=1e-9)


@pytest.mark.parametrize("tolerance", [0.2, 0.05])
def test_rounds_go_on_until_the_score_is_known(tolerance):
    for law in (LAW, *peaked_laws()):
        found, _ = _find(law, tolerance=tolerance)
        assert found.converged
        assert found.reason in ("exact", "tolerance")
        assert _half(found) <= tolerance
        assert found.measures.score.value == pytest.approx(
            law.truth.numbers()["score"], abs=5.0 * tolerance
        )


def test_a_tighter_tolerance_costs_more():
    loose, tight = (_find(LAW, tolerance=tolerance)[1] for tolerance in (1.0, 0.02))
    assert loose < tight


def test_a_tolerance_that_draws_cannot_meet_makes_it_exact():
    found, spent = _find(LAW, tolerance=1e-7)
    assert found.method == "exact"
    assert found.converged
    check_measures(found.measures, LAW.truth, atol=1e-9)
    assert found.evidence.is_exact
    assert spent >= LAW.read.size


def test_over_the_budget_it_stops_and_says_so():
    _, first = _find(LAW, tolerance=100.0)
    found, spent = _find(LAW, tolerance=1e-7, budget=float(first))
    assert spent <= 1.3 * first
    assert not found.converged
    assert (found.method, found.reason, found.n_rounds) == ("adaptive", "budget", 1)
    assert _half(found) > 1e-7


def test_the_budget_bounds_all_rounds_after_the_first():
    _, first = _find(LAW, tolerance=100.0)
    for share in (1.5, 3.0, 10.0):
        found, spent = _find(LAW, tolerance=1e-4, budget=share * first)
        # What a round costs is forecast from the last one, so it may be a little more.
        assert spent <= 1.3 * share * first
        assert found.converged == (found.reason != "budget")


@pytest.mark.parametrize("budget", [10.0, 300.0, 2000.0])
def test_no_round_goes_far_over_the_budget(budget):
    """The actual token is evaluated whatever it costs, and draws vary by their root."""
    found, spent = _find(LAW, budget=budget)
    assert spent <= 3 * len(LAW.suffix) + 1.3 * budget
    assert not found.converged


def test_the_same_seed_finds_the_same():
    one, other = _find(LAW, 3)[0], _find(LAW, 3)[0]
    assert one.measures.score == other.measures.score
    assert _find(LAW, 4)[0].measures.score.value != one.measures.score.value


def test_a_law_in_which_the_actual_token_is_certain_is_found_at_once():
    read = LAW.read.copy()
    read[LAW.actual] = -1e-9
    read[:, 0] -= 30.0
    read[LAW.actual, 0] = -1e-9
    law = Law("certain", LAW.log_w, read, LAW.n_prompt, LAW.actual)
    found, _ = _find(law, tolerance=0.01)
    assert found.n_rounds <= 2  # so few draws are believed when a second round agrees
    assert found.measures.score.value == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("law", peaked_laws(), ids=lambda law: law.name)
def test_scores_that_are_called_known_mostly_are(law):
    """Of 40 scores at least so many lie within the tolerance as nine of ten in the long run ask."""
    tolerance = 0.1
    exact = law.truth.numbers()["score"]
    near = 0
    with unchecked_shapes():
        for seed in range(40):
            found, _ = _find(law, seed, tolerance=tolerance)
            assert found.converged
            near += abs(found.measures.score.value - exact) <= tolerance
    assert near >= binom.ppf(1e-4, 40, 0.9)


def test_stopping_when_the_interval_is_narrow_biases_nothing():
    """Each round is unbiased; that the last one is chosen by its own interval must not show."""
    law = next(law for law in peaked_laws() if law.name == "ordinary")
    ratios = []
    with unchecked_shapes():
        for seed in range(180):
            found, _ = _find(law, seed, tolerance=0.02)
            ratios.append(math.exp(found.measures.log_prompt_likelihood.value - law.truth.log_d))
    error = float(np.std(ratios, ddof=1)) / math.sqrt(len(ratios))
    assert float(np.mean(ratios)) == pytest.approx(1.0, abs=3.0 * error)


def test_what_easy_places_leave_goes_to_those_where_least_is_missing():
    """Two places share a budget that is too small for the harder one; the easier one is known."""
    easy, hard = LAW, dataclasses.replace(LAW, read=LAW.read * 2.0)
    alone = [_find(law, tolerance=0.05)[1] for law in (easy, hard)]
    assert alone[0] < alone[1]
    searches = [law.search(0) for law in (hard, easy)]
    hunts = [hunt_score(search, tolerance=0.05, level=0.95) for search in searches]
    told = []
    run_hunts(hunts, budget=1.2 * alone[0] + 0.5 * alone[1], told=told.append)
    assert [hunt.converged for hunt in hunts] == [False, True]
    spent = [hunt.cost.token_evaluations for hunt in hunts]
    assert sum(told) == sum(spent)
    assert spent == [search.stem.spending.cost.token_evaluations for search in searches]
    assert sum(spent) <= 1.2 * (1.2 * alone[0] + 0.5 * alone[1])


def test_places_that_are_known_cost_no_more_however_much_is_left():
    search = LAW.search(0)
    hunt = hunt_score(search, tolerance=0.05, level=0.95)
    run_hunts([hunt], budget=1e9)
    spent = hunt.cost
    run_hunts([], budget=1e9)
    assert hunt.next_cost == 0.0
    assert hunt.cost == spent
