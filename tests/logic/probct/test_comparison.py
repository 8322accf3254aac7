"""Models side by side: differences and slopes that are known because the documents are made up."""

import copy
import json
import math

import numpy as np
import pytest
from small_suite import model, put_in_place

from likely.core.jsonio import dumps
from likely.errors import InputError, UnknownNameError
from likely.logic.probct import run as run_module
from likely.logic.probct.comparison import compare, document, scaling

LABELS = ("duel", "minp", "identity", "closed")
ROWS = [f"r{i}" for i in range(12) for _ in range(2)]


def made(scores, *, model="m", digest="d1", labels=LABELS, family="negation", null=None):
    """Return a document in which claim C has these S under every rescaling, chance one half."""
    n = len(scores)
    reading = {
        "prob": [0.5 + s / 2 for s in scores],
        "chance_corrected": list(scores),
        "log_ratio_bits": [math.log2(1.0 + s) if s > -1.0 else "-inf" for s in scores],
        "null_prob": [null] * n,
    }
    return {
        "model": model,
        "digests": {family: digest},
        "rescalings": list(labels),
        "items": {
            family: {
                "id": [f"{family}/all/{row}/{i}" for i, row in enumerate(ROWS[:n])],
                "row": ROWS[:n],
                "claim": ["C"] * n,
                "is_comparison": [False] * n,
                "bits": [1.0] * n,
                "readings": {label: copy.deepcopy(reading) for label in labels},
            }
        },
    }


def spread(mean, *, seed=0):
    return (mean + 0.1 * np.random.default_rng(seed).normal(size=len(ROWS))).tolist()


def test_a_constant_difference_has_an_interval_of_no_width():
    theirs = spread(0.2)
    ours = [s + 0.25 for s in theirs]
    found = compare(made(ours), made(theirs, model="other"))
    assert len(found) == 2 * len(LABELS)
    for one in found:
        assert (one.family, one.n_items, one.n_rows) == ("negation", 24, 12)
        assert one.ours - one.theirs == pytest.approx(0.25)
        found_ends = (one.difference.low, one.difference.value, one.difference.high)
        assert found_ends == pytest.approx((0.25, 0.25, 0.25))
    assert json.loads(dumps(found[0].to_dict()))["claim"] is None


def test_pairs_are_matched_by_item_and_not_by_place():
    theirs = made(spread(0.0))
    ours = copy.deepcopy(theirs)
    part = ours["items"]["negation"]
    for column in (part["id"], part["row"], *part["readings"]["duel"].values()):
        column.reverse()
    [one] = [x for x in compare(ours, theirs) if x.rescaling == "duel" and x.claim is None]
    assert (one.difference.low, one.difference.high) == (0.0, 0.0)


def test_comparisons_count_for_their_claim_and_not_for_the_family():
    ours, theirs = made(spread(0.5)), made(spread(0.0))
    for one in (ours, theirs):
        one["items"]["negation"]["claim"][:4] = ["aside"] * 4
        one["items"]["negation"]["is_comparison"][:4] = [True] * 4
    found = {x.claim: x for x in compare(ours, theirs) if x.rescaling == "duel"}
    assert {claim: x.n_items for claim, x in found.items()} == {None: 20, "aside": 4, "C": 20}


def test_what_one_side_lacks_is_left_out():
    ours, theirs = made(spread(0.5)), made(spread(0.0), labels=("minp", "duel"))
    theirs["items"]["negation"]["readings"]["duel"]["chance_corrected"][0] = None
    found = {x.rescaling: x for x in compare(ours, theirs) if x.claim is None}
    assert list(found) == ["duel", "minp"]
    assert (found["duel"].n_items, found["minp"].n_items) == (23, 24)


def test_another_version_of_the_suite_is_refused():
    with pytest.raises(InputError, match=r"'negation' is of another version .* 'b' \(d2\)"):
        compare(made(spread(0.0)), made(spread(0.0), model="b", digest="d2"))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"family": "partition"}, "no family in common"),
        ({"labels": ("typical",)}, "no rescaling in common"),
    ],
)
def test_nothing_in_common_is_refused(change, fault):
    with pytest.raises(InputError, match=fault):
        compare(made(spread(0.0)), made(spread(0.0), **change))


@pytest.mark.parametrize("broken", [{}, {"model": "m", "items": []}, {"model": "m", "items": {}}])
def test_what_is_no_result_is_refused(broken):
    with pytest.raises(InputError, match="this is no result of ProbCT with its items"):
        compare(made(spread(0.0)), broken)


SIZES = (1e6, 1e7, 1e8, 1e9)


def series(slope, *, curvature=0.0, noise=0.0, null=None):
    rng = np.random.default_rng(3)
    documents = []
    for x in (-1.5, -0.5, 0.5, 1.5):
        mean = slope * x + curvature * x * x
        scores = mean + noise * rng.normal(size=len(ROWS)) + np.array(spread(0.0))
        documents.append(made(scores.tolist(), model=f"1e{x + 7.5:.0f}", null=null))
    return documents


def test_a_slope_without_noise_is_found_to_the_digit():
    found = scaling(series(-0.2, curvature=0.05), SIZES)
    trend = found.trend("negation")
    ends = (trend.slope.low, trend.slope.value, trend.slope.high)
    assert ends == pytest.approx((-0.2, -0.2, -0.2), abs=1e-12)
    assert trend.curvature.value == pytest.approx(0.05, abs=1e-12)
    assert trend.spearman.value == -1.0
    assert trend.corrected_slope is None
    assert trend.scores == pytest.approx([0.4125, 0.1125, -0.0875, -0.1875], abs=0.05)
    assert found.models == ("1e6", "1e7", "1e8", "1e9")


def test_the_interval_of_a_noisy_slope_covers_it():
    trend = scaling(series(0.1, noise=0.2), SIZES).trend("negation", "C", rescaling="minp")
    assert trend.slope.low < 0.1 < trend.slope.high
    assert trend.slope.low > 0.0
    assert trend.spearman.low <= trend.spearman.value <= trend.spearman.high


def test_two_models_have_no_curvature_and_equal_ones_no_trend():
    one = made(spread(0.3))
    trend = scaling([one, one], [1.0, 2.0]).trend("negation")
    assert trend.curvature is None
    assert (trend.slope.low, trend.slope.high, trend.spearman.value) == (0.0, 0.0, 0.0)


def test_the_corrected_slope_is_that_of_kappa_against_the_null():
    # S = 2 P - 1 here, so a slope of s in S is one of s / 2 in P, and over 1 - 0.6 in kappa.
    trend = scaling(series(-0.2, null=0.6), SIZES).trend("negation")
    assert trend.corrected_slope.value == pytest.approx(-0.2 / 2 / 0.4, abs=1e-12)


def test_scaling_is_called_inverse_only_if_rescalings_and_the_null_agree():
    assert scaling(series(-0.2, null=0.6), SIZES).is_inverse("negation", "C")
    assert not scaling(series(-0.2), SIZES).is_inverse("negation", "C")
    assert not scaling(series(0.2, null=0.6), SIZES).is_inverse("negation", "C")
    split = series(-0.2, null=0.6)
    for document_ in split:  # under two of four rescalings it goes the other way
        for label in LABELS[:2]:
            reading = document_["items"]["negation"]["readings"][label]
            reading["chance_corrected"] = [-s for s in reading["chance_corrected"]]
    assert not scaling(split, SIZES).is_inverse("negation")
    assert scaling(series(-0.2, null=0.6), SIZES).to_dict()["inverse"] == [
        ["negation", None],
        ["negation", "C"],
    ]


@pytest.mark.parametrize(
    ("claim", "slope", "curvature", "name", "verdict"),
    [
        ("Tp", 0.2, 0.0, "H3a", "holds"),
        ("Tp", -0.2, 0.0, "H3a", "fails"),
        ("Tn", -0.2, 0.0, "H3b", "holds"),
        ("Tn", 0.2, 0.0, "H3b", "fails"),
        ("Tn", 0.0, 0.0, "H3b", "undecided"),
        ("full", 0.01, 0.0, "H3c", "holds"),
        ("full", 0.3, 0.0, "H3c", "fails"),
        ("Tm", -0.2, 0.1, "H5", "holds"),
        ("Tm", 0.0, -0.1, "H5", "fails"),
    ],
)
def test_hypotheses_about_scale_are_read_off_the_trends(claim, slope, curvature, name, verdict):
    documents = series(slope, curvature=curvature)
    for one in documents:
        one["items"]["negation"]["claim"] = [claim] * len(ROWS)
    findings = scaling(documents, SIZES).findings
    assert {(f.name, f.verdict) for f in findings} == {(name, verdict)}
    assert [f.rescaling for f in findings] == list(LABELS)


def test_curvature_needs_three_models():
    documents = series(0.1)[:2]
    for one in documents:
        one["items"]["negation"]["claim"] = ["Tm"] * len(ROWS)
    findings = scaling(documents, SIZES[:2]).findings
    assert {(f.name, f.verdict) for f in findings} == {("H5", "needs more models")}


@pytest.mark.parametrize("sizes", [[1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 2.0, 3.0]])
def test_sizes_that_fit_no_trend_are_refused(sizes):
    with pytest.raises(InputError, match="a number of parameters for each of 2 documents"):
        scaling([made(spread(0.0))] * 2, sizes)


def test_an_unknown_trend_is_named():
    with pytest.raises(UnknownNameError, match="no trend named 'negation D duel'"):
        scaling(series(0.1), SIZES).trend("negation", "D")


def test_the_document_of_a_run_pairs_with_itself(monkeypatch):
    put_in_place(monkeypatch)
    found = run_module.run(model(), families=["negation"], n_permutations=20, n_resamples=100)
    whole = json.loads(dumps(document(found)))
    assert set(whole["digests"]) == {"negation"}
    table = whole["items"]["negation"]
    assert len(table["id"]) == found.n_items == 24
    place = table["id"].index("negation/all/n2/Ts")
    own = found.evaluations["negation", "none"].item("n2/Ts").readings["minp"].scores
    assert table["readings"]["minp"]["prob"][place] == own.prob
    assert table["readings"]["minp"]["chance_corrected"][place] == own.chance_corrected
    assert table["readings"]["minp"]["log_ratio_bits"][place] == own.log_ratio_bits
    lines = {x.claim: x for x in compare(whole, whole, n_resamples=100) if x.rescaling == "duel"}
    assert lines[None].n_items == 20  # the comparison stands aside
    assert lines["Tp"].ours == pytest.approx(found.line("negation", "Tp").chance_corrected.value)


def test_the_digest_is_that_of_the_suite_and_not_of_its_controls(monkeypatch):
    put_in_place(monkeypatch)
    both = [
        run_module.run(
            model(), families=["partition"], controls=c, n_permutations=2, n_resamples=100
        )
        for c in ([], ["shuffled", "nonsense"])
    ]
    assert both[0].to_dict()["digests"] == both[1].to_dict()["digests"]


def test_items_have_a_chance_of_their_own_only_where_shuffling_changes_something(monkeypatch):
    put_in_place(monkeypatch)
    found = run_module.run(
        model(bias=5.0), families=["negation"], controls=[], n_permutations=50, n_resamples=100
    )
    table = found.to_frame().set_index(["rescaling", "claim"])["null_prob"]
    told = {key: values.notna().all() for key, values in table.groupby(level=[0, 1])}
    for (label, claim), is_told in told.items():
        line = found.line("negation", claim, rescaling=label)
        assert is_told == (line.null_z is not None)
    assert any(told.values())
    assert table.dropna().between(0.0, 1.0).all()
