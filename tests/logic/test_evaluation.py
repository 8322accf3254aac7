import math
from itertools import product

import numpy as np
import pytest

import likely
from likely.errors import BudgetError, InconsistentTheory, InputError, UnknownNameError
from likely.logic.evaluation import evaluate, evaluate_all
from likely.logic.formula import holds, variables
from likely.logic.parser import parse
from likely.logic.theory import Theory

LAWS = {
    "safe": {" gin": 0.3, " tea": 0.5, " Gin": 0.1, " no": 0.1},
    "unsafe": {" gin": 0.6, " tea": 0.1, " Gin": 0.1, " no": 0.2},
    "false": {" gin": 0.2, " tea": 0.2, " Gin": 0.2, " no": 0.4},
}
HEAD = """
name: drinks
rows: [{id: r1, bad: gin, good: tea}, {id: r2, bad: tea, good: gin}]
frames: {pos: safe, neg: unsafe, dneg: "false"}
events:
  a: {frame: neg, answer: "{bad}"}
  b: {frame: dneg, answer: "{bad}", candidates: ["{bad}", "no"]}
  c: {frame: pos, answer: "{bad}"}
  g: {frame: pos, answer: "{good}"}
"""
TEXT = (
    HEAD
    + """
theories:
  Tp: "a & b"
  Ts: "a <-> b"
  Tm: "(a ^ c) & b"
  given: {rules: {r1: "a", r2: "!c"}, evidence: "exactly_one(c, g)"}
  noisy: {rules: {r1: {formula: "a", kind: noisy, weight: 0.8}, r2: "b"}}
  soft: {rules: {r1: {formula: "a ^ c", kind: soft, weight: 1.5}, r2: "b"}}
  scored: {rules: {r1: "a", r2: {formula: "b", kind: score, weight: 2.0}}}
conditionals: {C: {if: "a", then: "b"}}
orderings: {O: {more: a, less: c}}
queries: {CLOSE: "a & b & !c"}
"""
)


def model():
    def law(context):
        return LAWS.get(context[-1], {" no": 1.0})

    return likely.TableModel([*LAWS, " gin", " tea", " Gin", " no", " Tea", " No"], law)


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(model(), Theory.from_text(TEXT), rescaling="identity", also=["duel", "closed"])


def probs(evaluation, instance, label):
    return {
        key: 1.0 / (1.0 + math.exp(-event.log_odds[label]))
        for key, event in evaluation.events[instance].items()
    }


def brute(formula, chances):
    names = variables(formula)
    total = 0.0
    for row in product([False, True], repeat=len(names)):
        truth = dict(zip(names, row, strict=True))
        weight = math.prod(chances[n] if truth[n] else 1.0 - chances[n] for n in names)
        total += weight * holds(formula, truth)
    return total


def test_events_have_the_probabilities_of_the_table(evaluation):
    found = probs(evaluation, "drinks/all/r1", "identity")
    expected = {"a": 0.7, "b": 0.4, "c": 0.4, "g": 0.5}
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("label", ["identity", "duel"])
@pytest.mark.parametrize("claim", ["Tp", "Ts", "Tm"])
@pytest.mark.parametrize("row", ["r1", "r2"])
def test_satisfaction_is_that_of_enumeration(evaluation, label, claim, row):
    item = evaluation.item(f"drinks/all/{row}/{claim}")
    scores = item.readings[label].scores
    formula = parse(item.formula)
    chances = probs(evaluation, item.instance, label)
    assert scores.prob == pytest.approx(brute(formula, chances), rel=1e-12)
    assert math.exp(scores.log_broken) == pytest.approx(brute(~formula, chances), rel=1e-12)
    half = brute(formula, dict.fromkeys(chances, 0.5))
    assert math.exp(scores.log_chance) == pytest.approx(half, rel=1e-12)
    expected = (scores.prob - half) / (1.0 - half)
    assert scores.chance_corrected == pytest.approx(expected, rel=1e-9)


def test_evidence_conditions_the_model_and_chance_alike(evaluation):
    item = evaluation.item("r1/given")
    chances = probs(evaluation, item.instance, "identity")
    joint, evidence = parse("a & !c & exactly_one(c, g)"), parse("exactly_one(c, g)")
    scores = item.readings["identity"].scores
    assert scores.prob == pytest.approx(brute(joint, chances) / brute(evidence, chances), rel=1e-12)
    half = dict.fromkeys(chances, 0.5)
    chance = brute(joint, half) / brute(evidence, half)
    assert math.exp(scores.log_chance) == pytest.approx(chance, rel=1e-12)
    rules = item.readings["identity"].rules
    expected = brute(parse("!c & exactly_one(c, g)"), chances) / brute(evidence, chances)
    assert math.exp(rules["r2"]) == pytest.approx(expected, rel=1e-12)


def test_a_noisy_rule_is_void_as_often_as_its_weight_leaves(evaluation):
    chances = probs(evaluation, "drinks/all/r1", "identity")
    scores = evaluation.item("r1/noisy").readings["identity"].scores
    expected = (0.8 * chances["a"] + 0.2) * chances["b"]
    assert scores.prob == pytest.approx(expected, rel=1e-12)


def test_a_soft_rule_tilts_the_law_under_which_hard_rules_are_judged(evaluation):
    chances = probs(evaluation, "drinks/all/r1", "identity")
    scores = evaluation.item("r1/soft").readings["identity"].scores
    # The soft rule shares no event with the hard one, so it changes nothing.
    assert scores.prob == pytest.approx(chances["b"], rel=1e-12)


def test_a_score_rule_adds_to_the_loss_and_to_nothing_else(evaluation):
    chances = probs(evaluation, "drinks/all/r1", "identity")
    reading = evaluation.item("r1/scored").readings["identity"]
    assert reading.scores.prob == pytest.approx(chances["a"], rel=1e-12)
    expected = -math.log(chances["a"]) - 2.0 * math.log(chances["b"])
    assert reading.loss == pytest.approx(expected, rel=1e-12)


def test_deciding_each_event_by_its_likelier_side_keeps_or_breaks(evaluation):
    kept = {i.id: i.readings["identity"].is_kept for i in evaluation.items}
    # r1: a .7 true, b .4 false, c .4 false.
    assert not kept["drinks/all/r1/Tp"]
    assert not kept["drinks/all/r1/Ts"]
    assert not kept["drinks/all/r1/Tm"]
    assert kept["drinks/all/r1/given"]


def test_vacuity_and_violation_are_told_apart(evaluation):
    (score,) = [c for c in evaluation.conditionals if c.row == "r1"]
    assert score.vacuity["identity"] == pytest.approx(0.3, abs=1e-12)
    assert score.violation["identity"] == pytest.approx(0.6, abs=1e-12)


def test_orderings_compare_raw_probabilities(evaluation):
    ratios = {o.row: o.log_ratio for o in evaluation.orderings}
    assert ratios == pytest.approx({"r1": math.log(0.7 / 0.4), "r2": math.log(0.1 / 0.5)})


def test_queries_are_asked_alone_and_given_each_claim(evaluation):
    (query,) = [q for q in evaluation.queries if q.row == "r1"]
    chances = probs(evaluation, "drinks/all/r1", "identity")
    close = brute(parse("a & b & !c"), chances)
    assert query.prob["identity"] == pytest.approx(close, rel=1e-12)
    given = query.given["identity"]
    assert given["Tp"] == pytest.approx(close / brute(parse("a & b"), chances), rel=1e-12)
    assert "noisy" not in given


def test_a_closed_set_of_one_says_nothing_and_is_left_out(evaluation):
    # a stands alone in its context; b has candidates.
    item = evaluation.item("r1/Tp")
    assert set(item.readings) == {"identity", "duel"}
    events = evaluation.events["drinks/all/r1"]
    assert events["b"].log_odds["closed"] == pytest.approx(0.0, abs=1e-12)


def test_one_pass_for_several_theories_gives_each_its_own_numbers():
    one = Theory.from_text(TEXT)
    other = Theory.from_text(TEXT.replace("name: drinks", "name: again"))
    both = evaluate_all(model(), [one, other], rescaling="identity", also=["duel"])
    alone = evaluate(model(), other, rescaling="identity", also=["duel"])
    assert [i.to_dict() for i in both[1].items] == [i.to_dict() for i in alone.items]
    assert both[0].cost.token_evaluations == alone.cost.token_evaluations == 4
    with pytest.raises(InputError, match="two theories are named 'drinks'"):
        evaluate_all(model(), [one, one], rescaling="identity", also=[])


@pytest.mark.parametrize(
    ("rules", "error", "words"),
    [
        ('{T: "a | !a"}', InputError, "always holds"),
        ('{T: "a & !a"}', InconsistentTheory, "can never hold"),
        ('{T: {rules: {r: "a"}, evidence: "c & !c"}}', InconsistentTheory, "can never hold"),
        ('{T: {rules: {r: "a | c"}, evidence: "c"}}', InputError, "always holds"),
        (
            '{T: {rules: {r: {formula: "a", kind: soft, weight: 1.0}}}}',
            InputError,
            "no hard or noisy rule",
        ),
    ],
)
def test_a_claim_that_says_nothing_or_cannot_hold_is_refused_by_name(rules, error, words):
    lines = [line for line in HEAD.splitlines() if not line.startswith(("  b:", "  g:"))]
    text = "\n".join(lines) + f'\ntheories: {rules}\nqueries: {{Q: "a & c"}}\n'
    with pytest.raises(error, match=words) as caught:
        evaluate(model(), Theory.from_text(text), rescaling="identity", also=[])
    assert "'T' of 'drinks/all/r1'" in str(caught.value)


def test_evidence_that_the_model_rules_out_is_named():
    # " Tea" has probability 0 everywhere.
    text = HEAD.replace(
        'b: {frame: dneg, answer: "{bad}", candidates: ["{bad}", "no"]}',
        'b: {frame: dneg, spellings: [" Tea"], candidates: ["no"]}',
    )
    text += 'theories: {T: {rules: {r: "a"}, evidence: "b"}}\nqueries: {Q: "c & g"}\n'
    with pytest.raises(InconsistentTheory, match="has probability 0 on this model"):
        evaluate(model(), Theory.from_text(text), rescaling="identity", also=[])


def test_results_go_to_frames_and_json(evaluation):
    frame = evaluation.to_frame()
    assert len(frame) == sum(len(item.readings) for item in evaluation.items)
    assert np.isfinite(frame["prob"]).all()
    assert '"drinks/all/r1/Tp"' in evaluation.to_json()
    with pytest.raises(UnknownNameError, match="no item named 'Tq'"):
        evaluation.item("Tq")


def test_a_claim_that_is_too_large_to_compile_is_named(monkeypatch):
    def too_large(formula):
        raise BudgetError("it needs more than the nodes allowed")

    monkeypatch.setattr("likely.logic.evaluation._informed", too_large)
    with pytest.raises(BudgetError, match="'Tp' of 'drinks/all/r1': it needs more than"):
        evaluate(model(), Theory.from_text(TEXT), rescaling="identity", also=[])
