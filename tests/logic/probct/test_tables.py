"""Lines of the results against numbers worked out by hand, and the null against known laws."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from beliefs import judged

from likely.core.jsonio import dumps
from likely.core.streams import generator
from likely.logic.probct.tables import COLUMNS, claim_nulls, interval, item_table, lines
from likely.logic.theory import Theory

N_ROWS = 24


def z_scores(evaluation, *, n_permutations, seed):
    nulls = claim_nulls(evaluation, n_permutations=n_permutations, seed=seed)
    return {(null.claim, null.rescaling): null.z_score for null in nulls}


def pack(name, **more):
    return {"id": name, "frames": {"f": "{x} is " + name, "g": "{x} was " + name}, **more}


def toy(*, packs=None, n=N_ROWS, theories=None):
    """A theory of two sentences about each row; the packs are wordings."""
    return Theory.from_rows(
        [{"id": f"r{i}", "x": f"thing{i}", "half": str(2 * i // n)} for i in range(n)],
        name="toy",
        events={
            "a": {"frame": "f", "answer": "yes"},
            "b": {"frame": "g", "answer": "yes"},
        },
        theories=theories or {"same": "a <-> b", "alone": "a", "both": "a & b"},
        packs=packs or [pack("p")],
    )  # fmt: skip


def table(*items):
    """Items as (row, claim, bits, prob, S, LLR, is_kept), with what all share."""
    shared = {"family": "F", "control": "none", "pack": "p", "rescaling": "duel"}
    rows = [
        {
            **shared, "instance": f"F/p/{row}", "row": row, "claim": claim,
            "is_comparison": claim.startswith("cmp"), "item": f"F/p/{row}/{claim}", "bits": bits,
            "prob": prob, "chance_corrected": s, "log_ratio_bits": llr, "is_kept": kept,
        }
        for row, claim, bits, prob, s, llr, kept in items
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def made_lines(data, nulls=None):
    made = lines(data, nulls or {}, n_resamples=200, seed=0)
    return {line.claim: line for line in made}


ITEMS = (
    ("r1", "T", 1.0, 0.5, 0.0, 0.0, True),
    ("r1", "T", 1.0, 1.0, 1.0, 1.0, True),
    ("r2", "T", 1.0, 0.75, 0.5, 0.585, False),
    ("r1", "U", 3.0, 0.25, 0.2, 1.0, False),
    ("r2", "U", 3.0, 0.5, 0.6, 2.0, True),
    ("r2", "cmp", 1.0, 0.0, -1.0, -9.0, False),
    ("r3", "cmp", 1.0, 0.1, -0.8, -2.3, False),
)


def test_a_line_of_a_claim_holds_its_means():
    line = made_lines(table(*ITEMS), {("F", "none", "T", "duel"): 1.5})["T"]
    assert (line.family, line.control, line.rescaling) == ("F", "none", "duel")
    assert (line.n_items, line.n_rows, line.n_impossible, line.null_z) == (3, 2, 0, 1.5)
    assert line.prob.value == pytest.approx(0.75)
    assert line.prob.unit == "prob"
    assert line.chance_corrected.value == pytest.approx(0.5)
    assert line.earned.value == pytest.approx(1.585 / 3.0)
    assert line.kept.value == pytest.approx(2 / 3)
    for estimate in (line.prob, line.chance_corrected, line.earned, line.kept):
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.diagnostics["n_clusters"] == 2


def test_a_family_sums_bits_over_claims_and_leaves_comparisons_out():
    made = made_lines(table(*ITEMS))
    whole = made[None]
    assert (whole.n_items, whole.n_rows, whole.null_z) == (5, 2, None)
    assert whole.prob is None  # raw probabilities of claims that differ in bits have no mean
    assert whole.chance_corrected.value == pytest.approx((0.0 + 1.0 + 0.5 + 0.2 + 0.6) / 5)
    assert whole.earned.value == pytest.approx((0.0 + 1.0 + 0.585 + 1.0 + 2.0) / 9.0)
    assert whole.kept.value == pytest.approx(3 / 5)
    assert made["cmp"].chance_corrected.value == pytest.approx(-0.9)


def test_impossible_items_are_counted_and_leave_the_share_of_bits_undefined():
    made = made_lines(table(*ITEMS, ("r3", "T", 1.0, 0.0, -1.0, -math.inf, False)))
    assert (made["T"].n_impossible, made["T"].earned) == (1, None)
    assert made["T"].chance_corrected.value == pytest.approx((0.0 + 1.0 + 0.5 - 1.0) / 4)
    assert made[None].n_impossible == 1
    assert made["U"].n_impossible == 0
    assert made["U"].earned is not None
    assert "Infinity" not in dumps([line.to_dict() for line in made.values()])


def test_one_row_gives_no_interval():
    line = made_lines(table(*ITEMS[:2]))["T"]
    assert (line.n_items, line.n_rows) == (2, 1)
    assert (line.prob, line.chance_corrected, line.earned, line.kept) == (None,) * 4
    assert line.to_dict()["prob"] is None


def test_only_comparisons_leave_the_family_empty():
    made = made_lines(table(*ITEMS[5:]))
    assert (made[None].n_items, made[None].chance_corrected) == (0, None)


def test_families_controls_and_rescalings_have_lines_of_their_own():
    one = table(*ITEMS[:3])
    data = pd.concat(
        [one, one.assign(control="nonsense"), one.assign(rescaling="minp"), one.assign(family="G")]
    )
    made = lines(data, {}, n_resamples=100, seed=0)
    keys = [(line.family, line.control, line.claim, line.rescaling) for line in made]
    assert len(set(keys)) == len(keys) == 8
    assert {line.n_items for line in made} == {3}


def test_the_interval_is_over_rows_however_often_a_row_is_read():
    rng = generator(0, "interval")
    values, rows = rng.normal(size=20), [f"r{i}" for i in range(20)]
    once = interval(values, rows, n_resamples=500, seed=0)
    twice = interval(np.tile(values, 2), rows * 2, n_resamples=500, seed=0)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


def test_items_are_rows_of_the_table():
    theory = toy(n=2)
    evaluation = judged(theory, lambda i, key, _: {"a": 0.8, "b": 0.6}[key])
    found = item_table(evaluation, family="F", control="shuffled")
    assert list(found.columns) == list(COLUMNS)
    assert len(found) == 2 * 3
    same = found[(found["row"] == "r1") & (found["claim"] == "same")].iloc[0]
    assert same["prob"] == pytest.approx(0.8 * 0.6 + 0.2 * 0.4)
    assert same["chance_corrected"] == pytest.approx(2 * same["prob"] - 1.0)
    assert same["log_ratio_bits"] == pytest.approx(math.log2(same["prob"] / 0.5))
    assert (same["item"], same["instance"], same["pack"]) == ("toy/p/r1/same", "toy/p/r1", "p")
    assert (same["bits"], same["is_kept"], same["is_comparison"]) == (1.0, True, False)
    assert set(found["control"]) == {"shuffled"}


def test_claims_over_all_rows_are_one_cluster():
    theory = toy(n=3, theories={"each": "forall r in rows: a(r) <-> b(r)"})
    found = item_table(judged(theory, lambda *_: 0.7), family="F", control="none")
    assert found["row"].tolist() == ["*"]
    assert found["item"].tolist() == ["toy/p/*/each"]


def levels(*names):
    """A probability for each row and name, each by itself."""
    return {
        (f"r{i}", name): float(generator(0, "levels", name, i).uniform(0.02, 0.98))
        for i in range(N_ROWS)
        for name in names
    }


def nulls(theory, believes, seed=0):
    evaluation = judged(theory, lambda instance, key, label: believes(instance, key))
    return z_scores(evaluation, n_permutations=100, seed=seed)


def test_pairs_that_agree_stand_far_above_the_null():
    level = levels("a")
    found = nulls(toy(), lambda i, key: level[i.row, "a"])
    assert found["same", "identity"] > 3
    assert found["both", "identity"] > 3


def test_pairs_that_disagree_stand_far_below_the_null():
    level = levels("a")
    found = nulls(
        toy(), lambda i, key: level[i.row, "a"] if key == "a" else 1.0 - level[i.row, "a"]
    )
    assert found["same", "identity"] < -3


@pytest.mark.parametrize("seed", range(3))
def test_independent_events_are_null(seed):
    # |z| > 4 has a chance below 1e-4 for each claim
    level = levels("a", "b")
    found = nulls(toy(), lambda i, key: level[i.row, key], seed=seed)
    assert abs(found["same", "identity"]) < 4
    assert abs(found["both", "identity"]) < 4


def test_a_claim_about_a_single_event_has_no_null():
    level = levels("a", "b")
    assert nulls(toy(), lambda i, key: level[i.row, key])["alone", "identity"] is None


def test_events_that_are_all_alike_have_no_null():
    assert nulls(toy(), lambda i, key: 0.9) == {
        ("same", "identity"): None, ("alone", "identity"): None, ("both", "identity"): None,
    }  # fmt: skip


def test_reading_the_same_rows_in_more_packs_is_no_more_evidence():
    level = levels("a", "b")
    one = nulls(toy(), lambda i, key: level[i.row, key])
    four = nulls(toy(packs=[pack(name) for name in "pqrs"]), lambda i, key: level[i.row, key])
    assert four["same", "identity"] == pytest.approx(one["same", "identity"], rel=1e-9)
    assert four["both", "identity"] == pytest.approx(one["both", "identity"], rel=1e-9)


def test_other_rows_in_each_pack_are_more_evidence():
    # the same levels twice, in other rows: two groups permuted apart, so z is the root of 2 higher
    level = levels("a")
    n = N_ROWS // 2

    def believes(instance, key):
        return level[f"r{int(instance.row[1:]) % n}", "a"]

    halves = [pack("p", where="half == '0'"), pack("q", where="half == '1'")]
    one = nulls(toy(n=n), believes)["same", "identity"]
    two = nulls(toy(packs=halves), believes)["same", "identity"]
    assert two == pytest.approx(math.sqrt(2.0) * one, rel=1e-9)


def test_rows_that_a_pack_adds_are_permuted_among_themselves():
    # half of the rows are read twice: their copies go together, the others apart
    level = levels("a")
    first = [pack("p"), pack("q", where="half == '0'")]
    found = nulls(toy(packs=first), lambda i, key: level[i.row, "a"])["same", "identity"]
    assert found > 3


def test_rules_that_are_no_plain_formulas_have_no_null():
    evaluation = judged(toy(n=4), lambda i, key, _: 0.3 if key == "a" else 0.6)
    weighted = tuple(
        replace(item, info=None) if item.claim == "both" else item for item in evaluation.items
    )
    found = z_scores(replace(evaluation, items=weighted), n_permutations=10, seed=0)
    assert {claim for claim, _ in found} == {"same", "alone"}


def test_each_rescaling_has_its_null_where_it_is_defined():
    level = levels("a", "b")
    labels = ("duel", "closed")
    evaluation = judged(toy(n=8), lambda i, key, label: level[i.row, key], labels)
    some = tuple(
        replace(item, readings={"duel": item.readings["duel"]}) if item.claim == "both" else item
        for item in evaluation.items
    )
    found = z_scores(replace(evaluation, items=some), n_permutations=10, seed=0)
    assert set(found) == {(c, x) for c in ("same", "alone", "both") for x in labels} - {
        ("both", "closed")
    }
    assert found["same", "duel"] == found["same", "closed"]
