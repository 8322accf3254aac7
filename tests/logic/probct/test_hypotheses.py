"""Each hypothesis holds, fails or stays open where beliefs are made so that it does."""

import json
import math

import numpy as np
import pytest
from beliefs import judged, logit

from likely.core.jsonio import dumps
from likely.core.streams import generator
from likely.logic.probct.hypotheses import (
    ACROSS_MODELS,
    ALIKE,
    Evidence,
    findings,
)
from likely.logic.probct.tables import item_table
from likely.logic.theory import Theory

N = 12
ROWS = [{"id": f"r{i}", "kind": "complementary" if i < N // 2 else "contrary"} for i in range(N)]

NEGATION = Theory.from_rows(
    ROWS, name="negation",
    events={key: {"context": f"{{id}} {key}", "answer": "yes"} for key in "abcd"},
    theories={"Ts": "(a <-> b) & (c <-> d)", "Tm": "(a ^ c) & (b ^ d)"},
)  # fmt: skip
ANTONYMS = Theory.from_text(
    f"""
name: antonyms
rows: {json.dumps(ROWS)}
events:
  is_p: {{context: "{{id}} p", answer: "yes"}}
  is_q: {{context: "{{id}} q", answer: "yes"}}
theories:
  differs: {{rules: {{d: "is_p ^ is_q"}}, where: "kind == 'complementary'"}}
  differs_contrary: {{rules: {{d: "is_p ^ is_q"}}, where: "kind == 'contrary'", comparison: true}}
conditionals:
  leads: {{if: "is_p", then: "is_q"}}
"""
)


def found(theory, believes, labels=("identity",)):
    """The findings by name, under the first label."""
    evaluation = judged(theory, believes, labels)
    evidence = Evidence(
        table=item_table(evaluation, family=theory.name, control="none"),
        evaluations={theory.name: evaluation},
        rescalings=labels,
        n_resamples=300,
        seed=0,
    )
    return {f.name: f for f in findings(evidence) if f.rescaling in (labels[0], None)}


def number(instance):
    return int(instance.row[1:])


def by_row(rule):
    """Beliefs from the number of the row; the rule gives a, b, c and d."""
    return lambda instance, key, label: rule(number(instance))[key]


def four(a, b, c, d):
    return dict(zip("abcd", (a, b, c, d), strict=True))


BLIND = four(0.9, 0.9, 0.9, 0.9)  # "not" changes nothing
KNOWING = four(0.9, 0.9, 0.1, 0.1)
CONTRARY = four(0.9, 0.1, 0.1, 0.9)  # paraphrases differ too
SAME, DIFFER = 0.82, 0.18  # P(a <-> b) at .9 and .9; at .9 and .1


def s(prob):
    return (prob - 0.25) / 0.75


def test_h1_is_the_gap_between_paraphrase_and_exclusion():
    blind = found(NEGATION, by_row(lambda i: BLIND))["H1"]
    assert blind.estimate.value == pytest.approx(s(SAME**2) - s(DIFFER**2))
    assert blind.verdict == "holds"
    assert found(NEGATION, by_row(lambda i: CONTRARY))["H1"].verdict == "fails"
    even = found(NEGATION, by_row(lambda i: (BLIND, CONTRARY)[i % 2]))["H1"]
    assert even.estimate.value == pytest.approx(0.0, abs=1e-12)
    assert even.verdict == "undecided"
    assert found(NEGATION, by_row(lambda i: KNOWING))["H1"].verdict == "undecided"


def test_h2a_is_what_exclusion_earns():
    blind = found(NEGATION, by_row(lambda i: BLIND))["H2a"]
    assert blind.estimate.value == pytest.approx(math.log2(DIFFER**2 / 0.25))
    assert blind.verdict == "holds"
    knowing = found(NEGATION, by_row(lambda i: KNOWING))["H2a"]
    assert knowing.estimate.value == pytest.approx(math.log2(SAME**2 / 0.25))
    assert knowing.verdict == "fails"
    assert found(NEGATION, by_row(lambda i: (BLIND, KNOWING, KNOWING)[i % 3]))["H2a"].verdict == (
        "undecided"
    )


def spread(i):
    return 0.55 + 0.4 * i / (N - 1)


def test_h2b_is_the_slope_of_bits_on_log_odds():
    def repeats(i):
        return four(*[spread(i)] * 4)

    slope = found(NEGATION, by_row(repeats))["H2b"]
    x = [logit(spread(i)) for i in range(N)]
    y = [math.log2((2.0 * spread(i) * (1.0 - spread(i))) ** 2 / 0.25) for i in range(N)]
    assert slope.estimate.value == pytest.approx(np.polyfit(x, y, 1)[0])
    assert slope.estimate.value < 0
    assert slope.verdict == "holds"

    def learns(i):
        p = spread(i)
        return four(p, p, 1.0 - p, 1.0 - p)

    assert found(NEGATION, by_row(learns))["H2b"].verdict == "fails"

    def either(i):
        return repeats(i) if i % 2 else learns(i)

    assert found(NEGATION, by_row(either))["H2b"].verdict == "undecided"


def test_h2b_stays_open_where_all_sentences_are_known_alike():
    flat = found(NEGATION, by_row(lambda i: BLIND))["H2b"]
    assert (flat.estimate.value, flat.verdict) == (0.0, "undecided")


def jitter(name, i):
    return float(generator(0, name, i).uniform(-0.05, 0.05))


def test_h4a_asks_whether_b_is_nearer_to_a_than_to_c():
    near = found(NEGATION, by_row(lambda i: four(0.8, 0.8, 0.3, 0.5)))["H4a"]
    assert near.estimate.value == pytest.approx(logit(0.8) - logit(0.3))
    assert near.verdict == "holds"
    assert found(NEGATION, by_row(lambda i: four(0.8, 0.3, 0.3, 0.5)))["H4a"].verdict == "fails"
    mixed = found(NEGATION, by_row(lambda i: four(0.8, (0.8, 0.3)[i % 2], 0.3, 0.5)))["H4a"]
    assert mixed.verdict == "undecided"


def test_h4b_asks_whether_d_is_nearer_to_c_than_to_a():
    near = found(NEGATION, by_row(lambda i: four(0.8, 0.5, 0.3, 0.3)))["H4b"]
    assert near.estimate.value == pytest.approx(logit(0.8) - logit(0.3))
    assert near.verdict == "holds"
    assert found(NEGATION, by_row(lambda i: four(0.8, 0.5, 0.3, 0.8)))["H4b"].verdict == "fails"
    mixed = found(NEGATION, by_row(lambda i: four(0.8, 0.5, 0.3, (0.3, 0.8)[i % 2])))["H4b"]
    assert mixed.verdict == "undecided"


def open_and_closed(opened, closed):
    """Beliefs of ``is_p`` and ``is_q``, open and closed, from the number of the row."""

    def believes(instance, key, label):
        return (closed if label == "closed" else opened)(number(instance))[key == "is_q"]

    return believes


LABELS = ("duel", "closed")


def test_h6_is_the_gap_between_closed_and_open():
    hides = open_and_closed(lambda i: (0.7, 0.6), lambda i: (0.9, 0.1))
    gap = found(ANTONYMS, hides, LABELS)["H6"]
    # S of an exclusive or is 2 P - 1
    assert gap.estimate.value == pytest.approx(2 * (SAME - (0.7 * 0.4 + 0.3 * 0.6)))
    assert gap.verdict == "holds"
    shows = open_and_closed(lambda i: (0.9, 0.1), lambda i: (0.7, 0.6))
    assert found(ANTONYMS, shows, LABELS)["H6"].verdict == "fails"
    even = open_and_closed(lambda i: (0.9, (0.1, 0.9)[i % 2]), lambda i: (0.9, (0.9, 0.1)[i % 2]))
    assert found(ANTONYMS, even, LABELS)["H6"].verdict == "undecided"


def test_h6_rests_on_laws_alone_and_needs_the_closed_reading():
    only_contrary = open_and_closed(
        lambda i: (0.9, 0.1), lambda i: (0.9, 0.1) if i < N // 2 else (0.9, 0.9)
    )
    gap = found(ANTONYMS, only_contrary, LABELS)["H6"]
    assert gap.estimate.value == 0.0
    assert gap.estimate.diagnostics["n_clusters"] == N // 2
    assert "H6" not in found(ANTONYMS, only_contrary, ("duel",))
    assert "H6" not in found(ANTONYMS, only_contrary, ("closed", "duel"))


def kinds(complementary, contrary):
    """Beliefs that give an exclusive or these probabilities on the two kinds of rows."""

    def believes(instance, key, label):
        if key == "is_p":
            return 1.0 - 1e-12
        i = number(instance)
        return 1.0 - (complementary(i) if i < N // 2 else contrary(i))

    return believes


def test_h7_asks_whether_both_kinds_of_antonyms_are_treated_alike():
    def near(i):
        return 0.6 + jitter("h7", i) / 5.0

    alike = found(ANTONYMS, kinds(near, near))["H7"]
    assert abs(alike.estimate.value) < ALIKE
    assert alike.verdict == "holds"
    apart = found(ANTONYMS, kinds(lambda i: 0.9, lambda i: 0.3))["H7"]
    assert apart.estimate.value == pytest.approx(2 * (0.9 - 0.3))
    assert apart.verdict == "fails"
    wide = found(ANTONYMS, kinds(lambda i: (0.1, 0.9)[i % 2], lambda i: (0.9, 0.1)[i % 2]))["H7"]
    assert wide.verdict == "undecided"


def test_h7_stays_open_where_a_sure_difference_may_be_below_what_counts_as_alike():
    # the interval excludes 0 but reaches from below ALIKE to above it
    close = found(ANTONYMS, kinds(lambda i: 0.65 + 0.02 * (i % 2), lambda i: 0.61))["H7"]
    assert 0.0 < close.estimate.low < ALIKE < close.estimate.high
    assert close.verdict == "undecided"


def test_h7_needs_rows_of_both_kinds():
    theory = Theory.from_rows(
        ROWS, name="antonyms",
        events={key: {"context": f"{{id}} {key}", "answer": "yes"} for key in "pq"},
        theories={"differs": "p ^ q"},
    )  # fmt: skip
    assert "H7" not in found(theory, lambda *_: 0.7)


def implies(rule):
    return lambda instance, key, label: rule(number(instance))[key == "is_q"]


def test_h9_is_the_share_of_an_implication_that_a_false_antecedent_gives():
    idle = found(ANTONYMS, implies(lambda i: (0.2, 0.7)))["H9"]
    assert idle.estimate.value == pytest.approx(0.8 / (0.8 + 0.2 * 0.7))
    assert idle.verdict == "holds"
    assert found(ANTONYMS, implies(lambda i: (0.9, 0.9)))["H9"].verdict == "fails"
    mixed = found(ANTONYMS, implies(lambda i: ((0.2, 0.7), (0.9, 0.9))[i % 2]))["H9"]
    assert mixed.verdict == "undecided"


def test_what_takes_several_models_says_so():
    made = found(NEGATION, by_row(lambda i: BLIND))
    for name in ("H3", "H5", "H8"):
        finding = made[name]
        assert (finding.rescaling, finding.estimate, finding.verdict) == (
            None, None, "needs more models",
        )  # fmt: skip


def test_findings_come_by_name_and_rescaling_and_are_strict_json():
    evaluation = judged(NEGATION, lambda *_: 0.7, LABELS)
    evidence = Evidence(
        table=item_table(evaluation, family="negation", control="none"),
        evaluations={"negation": evaluation}, rescalings=LABELS, n_resamples=100, seed=0,
    )  # fmt: skip
    made = findings(evidence)
    names = [finding.name for finding in made]
    assert names == sorted(names)
    assert [f.rescaling for f in made if f.name == "H1"] == list(LABELS)
    assert set(names) == {"H1", "H2a", "H2b", "H3", "H4a", "H4b", "H5", "H6", "H8"}
    read = json.loads(dumps([finding.to_dict() for finding in made]))
    assert read[0]["verdict"] in ("holds", "fails", "undecided")
    assert read[0]["estimate"]["value"] == made[0].estimate.value


def test_without_the_families_only_the_open_questions_are_left():
    evidence = Evidence(
        table=item_table(judged(ANTONYMS, lambda *_: 0.5), family="other", control="none"),
        evaluations={}, rescalings=("identity",), n_resamples=100, seed=0,
    )  # fmt: skip
    assert [f.name for f in findings(evidence)] == [name for name, _, _ in ACROSS_MODELS]


def test_one_row_decides_nothing():
    theory = Theory.from_rows(
        ROWS[:1], name="negation",
        events={key: {"context": f"{{id}} {key}", "answer": "yes"} for key in "abcd"},
        theories={"Ts": "(a <-> b) & (c <-> d)", "Tm": "(a ^ c) & (b ^ d)"},
    )  # fmt: skip
    assert set(found(theory, by_row(lambda i: BLIND))) == {"H3", "H5", "H8"}


def test_infinite_odds_and_bits_are_left_out():
    evaluation = judged(NEGATION, by_row(lambda i: BLIND))
    table = item_table(evaluation, family="negation", control="none")
    lost = (table["claim"] == "Tm") & (table["row"] == "r0")
    table.loc[lost, "log_ratio_bits"] = -math.inf
    evidence = Evidence(
        table=table, evaluations={"negation": evaluation}, rescalings=("identity",),
        n_resamples=100, seed=0,
    )  # fmt: skip
    made = {finding.name: finding for finding in findings(evidence)}
    for name in ("H2a", "H2b"):
        assert made[name].estimate.diagnostics["n_items"] == N - 1
        assert math.isfinite(made[name].estimate.value)
