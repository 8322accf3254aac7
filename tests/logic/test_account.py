import pytest
from test_evaluation import TEXT, model

from likely.errors import InputError
from likely.logic.account import explain
from likely.logic.evaluation import evaluate
from likely.logic.theory import Theory


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(model(), Theory.from_text(TEXT), rescaling="identity", also=["closed"])


def test_the_account_names_events_violation_and_repair(evaluation):
    found = explain(evaluation, "r1/Tp")
    # a .7, b .4: the likeliest assignment, a without b, is also the likeliest violation.
    assert found.worst[0].assignment == {"a": True, "b": False}
    assert found.worst[0].prob == pytest.approx(0.7 * 0.6)
    assert list(found.mending.flipped) == ["b"]
    assert (found.bounds.low, found.bounds.high) == pytest.approx((0.1, 0.4))
    text = found.summary()
    assert "holds with probability 0.2800; by chance 0.2500; corrected for chance +0.040" in text
    assert "unsafe [gin]" in text
    assert "most probable violation, probability 0.4200" in text
    assert "cheapest repair: b should be viable (0.405 nats)" in text


def test_a_claim_that_holds_needs_no_repair(evaluation):
    found = explain(evaluation, "r1/given")
    assert "none is needed" in found.summary()
    assert "given exactly_one(c, g)" in found.summary()
    assert "r2 holds with probability" in found.summary()


def test_violations_keep_the_evidence_and_have_their_probability_given_it(evaluation):
    found = explain(evaluation, "r1/given", k=9)
    # c & !g is .2 of the evidence's .5, and a is .7.
    assert all(world.assignment["c"] != world.assignment["g"] for world in found.worst)
    total = sum(world.prob for world in found.worst)
    assert total == pytest.approx(1.0 - found.item.readings["identity"].scores.prob)
    assert found.worst[0].broken == ("!c",)
    assert found.worst[0].prob == pytest.approx(0.7 * 0.2 / 0.5)


@pytest.mark.parametrize("claim", ["given", "noisy", "soft"])
def test_bounds_are_of_plain_claims_alone(evaluation, claim):
    assert explain(evaluation, f"r1/{claim}").bounds is None


def test_a_reading_that_is_not_there_is_named(evaluation):
    with pytest.raises(InputError, match="no reading under 'closed'; there are"):
        explain(evaluation, "r1/Tp", rescaling="closed")


def test_rules_that_only_weigh_are_not_to_be_satisfied(evaluation):
    found = explain(evaluation, "r1/scored")
    assert found.item.formula == "a"
    assert found.worst[0].assignment == {"a": False}
    assert evaluation.item("r1/soft").formula == "b"
    assert evaluation.item("r1/noisy").formula == "a & b"
    assert evaluation.item("r1/scored").readings["identity"].is_kept
