import math
from itertools import product

import pytest
from test_evaluation import HEAD, model

from likely.logic.evaluation import evaluate
from likely.logic.formula import holds
from likely.logic.parser import parse
from likely.logic.probct.diagnoses import diagnoses, violation_patterns
from likely.logic.theory import Theory

TEXT = (
    HEAD
    + """
theories: {Tp: "a & b", Ts: "a <-> b", Tn: "!c", lone: "g"}
conditionals: {C: {if: "a", then: "b"}}
orderings: {O: {more: a, less: c}}
queries: {CLOSE: "a & b & !c"}
"""
)


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(model(), Theory.from_text(TEXT), rescaling="identity", also=["duel"])


@pytest.fixture(scope="module")
def found(evaluation):
    told = diagnoses({"drinks": evaluation}, n_resamples=200, seed=0)
    return {(d.kind, d.name, d.rescaling): d for d in told}


def probs(evaluation, row, label="identity"):
    events = evaluation.events[f"drinks/all/{row}"]
    return {key: 1.0 / (1.0 + math.exp(-e.log_odds[label])) for key, e in events.items()}


def test_implications_have_mean_vacuity_and_violation(evaluation, found):
    rows = [probs(evaluation, row) for row in ("r1", "r2")]
    vacuity = found["vacuity", "C", "identity"]
    assert vacuity.n_items == 2
    assert vacuity.mean.value == pytest.approx(sum(1 - p["a"] for p in rows) / 2)
    violation = found["violation", "C", "identity"]
    assert violation.mean.value == pytest.approx(sum(1 - p["b"] for p in rows) / 2)
    assert ("violation", "C", "duel") in found


def test_orderings_are_the_share_that_is_right(found):
    # r1: a .7 over c .4; r2: a .1 under c .5.
    assert found["ordering", "O", None].mean.value == pytest.approx(0.5)


def test_close_comes_alone_and_given_each_claim(evaluation, found):
    rows = [probs(evaluation, row) for row in ("r1", "r2")]
    close = [p["a"] * p["b"] * (1 - p["c"]) for p in rows]
    claim = [p["a"] * p["b"] for p in rows]
    assert found["close", "CLOSE", "identity"].mean.value == pytest.approx(sum(close) / 2)
    assert found["claim", "Tp", "identity"].mean.value == pytest.approx(sum(claim) / 2)
    given = sum(c / t for c, t in zip(close, claim, strict=True)) / 2
    assert found["close_given", "Tp", "identity"].mean.value == pytest.approx(given)


def test_bounds_hold_the_product_law_between_them(evaluation, found):
    rows = [probs(evaluation, row) for row in ("r1", "r2")]
    low = sum(max(0.0, p["a"] + p["b"] - 1.0) for p in rows) / 2
    high = sum(min(p["a"], p["b"]) for p in rows) / 2
    assert found["bound_low", "Tp", "identity"].mean.value == pytest.approx(low, abs=1e-8)
    assert found["bound_high", "Tp", "identity"].mean.value == pytest.approx(high, abs=1e-8)
    assert 0.0 < found["position", "Tp", "identity"].mean.value < 1.0
    # One event has no dependence to speak of.
    assert ("position", "lone", "identity") not in found


def test_patterns_are_the_likeliest_assignments_that_break_a_claim(evaluation):
    patterns = violation_patterns(evaluation)
    for claim in ("Tp", "Ts", "Tn"):
        expected = {}
        for row in ("r1", "r2"):
            item = evaluation.item(f"{row}/{claim}")
            chances = probs(evaluation, row)
            formula = parse(item.formula)

            def weight(truth, chances=chances):
                return math.prod(chances[k] if v else 1 - chances[k] for k, v in truth.items())

            worlds = [
                dict(zip(item.events, values, strict=True))
                for values in product([False, True], repeat=len(item.events))
            ]
            worst = max((w for w in worlds if not holds(formula, w)), key=weight)
            text = " & ".join(k if v else f"!{k}" for k, v in worst.items())
            expected[text] = expected.get(text, 0) + 1
        assert patterns[claim] == expected
