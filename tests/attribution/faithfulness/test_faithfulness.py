"""Curves by hand on tables, draws against enumeration, and what may not be compared."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import likely
from likely import attribution
from likely.attribution.faithfulness.measure import _leave_one_out
from likely.attribution.faithfulness.ranks import BAYES
from likely.core.estimate import Estimate
from likely.errors import InputError, UnknownNameError

WEIGHTS = {"a": 1.0, "b": 0.5, "c": -0.5, "d": 0.0}


def additive():
    """The log-probability of "y" is -3 plus a weight for each letter before it."""

    def law(before):
        prob = math.exp(-3.0 + sum(WEIGHTS.get(t, 0.0) for t in before))
        return {"y": prob, "n": 1.0 - prob}

    return likely.TableModel([*WEIGHTS, "y", "n"], law)


def chain():
    """Two letters that like to repeat, and a response that leans on the last two of them."""

    def law(before):
        if len(before) == 1:
            return {"a": 0.6, "b": 0.4}
        if len(before) < 4:
            return {"a": 0.8, "b": 0.2} if before[-1] == "a" else {"a": 0.3, "b": 0.7}
        prob = {"aa": 0.9, "ab": 0.3, "ba": 0.5, "bb": 0.05}[before[2] + before[3]]
        return {"a": prob, "b": 1.0 - prob}

    return likely.TableModel(["a", "b"], law)


def with_scores(found, scores):
    return replace(
        found, name="made up", removal=None,
        estimates=tuple(Estimate.exact(s, unit="nats", method="made up") for s in scores),
    )  # fmt: skip


@pytest.fixture(scope="module")
def deletion():
    return attribution.baseline(additive(), "bac", "y", name="deletion")


def values(curve):
    return [one.value for one in curve.log_ratios]


def test_curves_and_drops_by_hand(deletion):
    found = attribution.measure_faithfulness(additive(), deletion)
    # Best first: a (1), b (.5), c (-.5). The whole prompt has -3 + 1 = -2.
    assert values(found.deletion) == pytest.approx([0.0, -1.0, -1.5, -1.0])
    assert values(found.insertion) == pytest.approx([-1.0, 0.0, 0.5, 0.0])
    assert found.deletion.log_area.value == pytest.approx((0.0 / 2 - 1.0 - 1.5 - 1.0 / 2) / 3)
    assert found.insertion.log_area.value == pytest.approx((-1.0 / 2 + 0.0 + 0.5 + 0.0 / 2) / 3)
    e = math.exp
    assert found.deletion.area.value == pytest.approx((0.5 + e(-1) + e(-1.5) + e(-1) / 2) / 3)
    assert found.insertion.area.value == pytest.approx((e(-1) / 2 + 1 + e(0.5) + 0.5) / 3)
    assert {k: drop.value for k, drop in found.drops.items()} == pytest.approx({1: 1.0, 3: 1.0})
    assert all(one.is_exact for one in found.numbers().values() if one is not None)
    assert found.deletion.share.tolist() == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])
    assert (found.label, found.removal, found.n_places) == ("deletion", "deletion", 3)
    assert found.correlation is None


def test_where_effects_add_up_no_order_beats_deletions(deletion):
    model = additive()
    best = attribution.measure_faithfulness(model, deletion)
    for order in itertools.permutations([3.0, 2.0, 1.0]):
        other = attribution.measure_faithfulness(model, with_scores(deletion, order))
        assert other.deletion.area.value >= best.deletion.area.value - 1e-12
        assert other.insertion.area.value <= best.insertion.area.value + 1e-12


def test_a_curve_costs_one_call_and_each_prefix_once(deletion):
    found = attribution.measure_faithfulness(additive(), deletion)
    # Left are bac, bc, c and nothing; a, ba and bac: bos, b, ba, bac, bc, c, a.
    assert found.cost.token_evaluations == 7
    assert found.cost.model_calls == 1


def test_replacement_is_another_question(deletion):
    found = attribution.measure_faithfulness(additive(), deletion, removal="replacement", token="b")
    # a becomes b: -.5; b stays b; c becomes b: +1.
    assert values(found.deletion) == pytest.approx([0.0, -0.5, -0.5, 0.5])
    assert found.removal_facts == {"token": 1}
    assert found.flags == frozenset()


def test_scores_that_were_found_as_they_are_tested_are_flagged(deletion):
    model = additive()
    assert attribution.measure_faithfulness(model, deletion).flags == {"same_removal"}
    tied = attribution.measure_faithfulness(model, with_scores(deletion, [1.0, 1.0, 0.0]))
    assert tied.flags == {"tied_scores"}
    bayes = attribution.attribute(chain(), "aba", "a", method="exact", kept=None)
    drawn = attribution.measure_faithfulness(chain(), bayes, removal="marginal", n_draws=4)
    assert (drawn.label, drawn.flags) == (BAYES, {"same_removal"})
    assert "same_removal" in drawn.summary()


def test_the_marginal_is_the_mean_over_independent_posteriors():
    model = chain()
    bayes = attribution.attribute(model, "aba", "a", method="exact", kept=None)
    posterior = [dict(zip(p.candidates.tokens[:, 0].tolist(),
                          np.exp(p.candidates.log_posterior).tolist(), strict=True))
                 for p in bayes.places]  # fmt: skip

    def prob_without(removed):
        total = 0.0
        choices = [posterior[i] if i in removed else {bayes.case.prompt[i]: 1.0} for i in range(3)]
        for filled in itertools.product(*choices):
            weight = math.prod(q[t] for q, t in zip(choices, filled, strict=True))
            total += weight * math.exp(model.row((2, *filled))[0])  # 2 is the BOS, 0 is "a"
        return total

    order = np.argsort(-bayes.scores, kind="stable").tolist()
    tops = [set(order[:k]) for k in range(4)]
    exact = [math.log(prob_without(top) / prob_without(set())) for top in tops]
    area = float(np.trapezoid(np.exp(exact), np.linspace(0, 1, 4)))
    hits, n = 0, 60
    for seed in range(n):
        found = attribution.measure_faithfulness(
            model, bayes, removal="marginal", n_draws=48, seed=seed, level=0.9
        )
        hits += found.deletion.area.low <= area <= found.deletion.area.high
    # At 90 % of 60, fewer than 44 has chance 7e-5.
    assert hits >= 44
    many = attribution.measure_faithfulness(model, bayes, removal="marginal", n_draws=1500)
    for one, truth in zip(many.deletion.log_ratios, exact, strict=True):
        error = float(one.diagnostics.get("standard_error", 0.0))
        assert abs(one.value - truth) <= 4 * error + 1e-12
    assert many.removal_facts == {"n_draws": 1500, "mass": pytest.approx(1.0)}
    assert many.drops[1].value == pytest.approx(bayes.scores.max(), abs=0.1)


def test_leaving_out_a_draw_is_leaving_it_out():
    weights = np.log(np.random.default_rng(0).random((3, 6)))
    weights[0, 0] = 80.0  # subtracted from the sum, it would take the others with it
    weights[1] = -np.inf
    found = _leave_one_out(weights)
    for i in range(6):
        expected = np.logaddexp.reduce(np.delete(weights, i, axis=1), axis=1)
        np.testing.assert_allclose(found[:, i], expected, atol=1e-12)


def test_a_baseline_is_tested_by_the_posteriors_of_its_reference():
    model = chain()
    bayes = attribution.attribute(model, "aba", "a", method="exact", kept=None)
    single = attribution.baseline(model, bayes.case, name="shapley")
    found = attribution.measure_faithfulness(
        model, single, removal="marginal", reference=bayes, n_draws=8
    )
    assert (found.label, found.removal, found.reference) == ("shapley", "marginal", BAYES)
    with pytest.raises(InputError, match="give one as reference="):
        attribution.measure_faithfulness(model, single, removal="marginal")


def test_ranks_are_compared_with_another_method_and_never_with_itself(deletion):
    model = additive()
    shapley = attribution.baseline(model, "bac", "y", name="shapley")
    found = attribution.measure_faithfulness(model, shapley, reference=deletion)
    assert found.correlation.value == pytest.approx(1.0)
    assert found.correlation.is_exact
    other = with_scores(deletion, [1.0, 2.0, math.inf])
    crossed = attribution.measure_faithfulness(model, deletion, reference=other)
    # Ranks 2 3 1 against 1 2 3: 1 - 6 (1 + 1 + 4) / 24.
    assert crossed.correlation.value == pytest.approx(-0.5)
    assert "rank correlation with made up: -0.5" in crossed.summary()
    again = attribution.baseline(model, "bac", "y", name="deletion")
    for same in (deletion, again):
        with pytest.raises(InputError, match="that method itself"):
            attribution.measure_faithfulness(model, deletion, reference=same)
    with pytest.raises(InputError, match="another prompt"):
        attribution.measure_faithfulness(
            model, deletion, reference=attribution.baseline(model, "ba", "y", name="shapley")
        )
    part = attribution.frame_case(model, "bac", "y", positions=[0, 1])
    with pytest.raises(InputError, match="same positions"):
        attribution.measure_faithfulness(
            model, deletion, reference=attribution.baseline(model, part, name="shapley")
        )
    flat = with_scores(deletion, [1.0, 1.0, 1.0])
    assert attribution.measure_faithfulness(model, flat, reference=deletion).correlation is None


def test_the_correlation_of_estimates_has_an_interval(deletion):
    model = additive()
    rough = replace(
        with_scores(deletion, [0.0] * 3),
        estimates=tuple(
            Estimate(value=v, low=v - 1.0, high=v + 1.0, level=0.95, unit="nats", method="drawn")
            for v in (0.5, 1.0, -0.5)
        ),
    )
    found = attribution.measure_faithfulness(model, rough, reference=deletion)
    assert found.correlation.value == pytest.approx(1.0)
    assert found.correlation.low < 1.0
    assert found.correlation.low == pytest.approx(0.5)  # one pair of neighbours swapped


def test_an_impossible_response_has_no_log_area_and_is_written_down():
    def law(before):
        return {"y": 0.5, "n": 0.5} if "a" in before else {"n": 1.0}

    model = likely.TableModel(["a", "b", "y", "n"], law)
    found = attribution.measure_faithfulness(
        model, attribution.baseline(model, "ab", "y", name="deletion")
    )
    assert values(found.deletion) == [0.0, -math.inf, -math.inf]
    assert found.deletion.area.value == pytest.approx(0.25)
    assert found.deletion.log_area.value == -math.inf
    assert found.drops[1].value == math.inf
    record = json.loads(found.to_json())
    assert record["deletion"]["log_area"]["value"] == "-inf"
    assert record["drops"]["1"]["value"] == "inf"


def test_options_are_checked(deletion):
    model = additive()
    with pytest.raises(UnknownNameError, match="no removal named 'drop'"):
        attribution.measure_faithfulness(model, deletion, removal="drop")
    with pytest.raises(InputError, match=r"of 3 places the 1 to 3 highest .* got 4"):
        attribution.measure_faithfulness(model, deletion, top_k=[4])
    with pytest.raises(InputError, match="level"):
        attribution.measure_faithfulness(model, deletion, level=0.0)


def test_the_frame_has_a_row_a_point(deletion):
    frame = attribution.measure_faithfulness(additive(), deletion).to_frame()
    assert frame["curve"].tolist() == ["deletion"] * 4 + ["insertion"] * 4
    assert frame["log_ratio"].tolist() == pytest.approx([0, -1, -1.5, -1, -1, 0, 0.5, 0])


def test_means_over_cases_by_hand():
    model = additive()
    cases = []
    for prompt in ("bac", "ab", "dcba"):
        one = attribution.baseline(model, prompt, "y", name="shapley")
        two = attribution.baseline(model, prompt, "y", name="replacement", token="d")
        cases.append(attribution.measure_faithfulness(model, one, reference=two))
    found = attribution.average_faithfulness(cases, n_grid=7)
    area = [case.deletion.area.value for case in cases]
    assert found.means["deletion_area"].estimate.value == pytest.approx(np.mean(area))
    assert found.means["deletion_area"].estimate.low < np.mean(area)
    assert found.means["drop_1"].estimate.value == pytest.approx(1.0)
    assert found.means["drop_3"].n_cases == 2  # "ab" has no three places
    assert found.means["drop_3"].n_left_out == 1
    assert found.means["correlation"].estimate.value == pytest.approx(1.0)
    at_third = [np.interp(1 / 3, c.deletion.share, c.deletion.ratios) for c in cases]
    assert found.deletion[2].estimate.value == pytest.approx(np.mean(at_third))
    assert found.insertion[-1].estimate.value == pytest.approx(1.0)
    assert found.flags == {"same_removal": 3}
    assert found.cost.token_evaluations == sum(c.cost.token_evaluations for c in cases)
    assert set(found.to_frame()["number"]) == set(found.means)
    assert "shapley, tokens taken out by deletion: 3 cases" in found.summary()
    assert "1 cases left out" in found.summary()
    assert json.loads(found.to_json())["n_cases"] == 3


def test_means_of_different_methods_or_removals_are_refused(deletion):
    model = additive()
    one = attribution.measure_faithfulness(model, deletion)
    two = attribution.measure_faithfulness(model, deletion, removal="replacement", token="d")
    with pytest.raises(InputError, match="one method under one removal"):
        attribution.average_faithfulness([one, two])
    with pytest.raises(InputError, match="at least 2 cases"):
        attribution.average_faithfulness([one])
