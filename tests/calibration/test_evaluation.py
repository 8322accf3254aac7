"""Evaluations: means with intervals and counts; nothing that is undefined is hidden."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from listing import Listing
from policies import POLICIES, policy_model
from questions import answering

from likely.calibration import build, evaluate
from likely.calibration.baselines import baseline_table
from likely.calibration.data_sets.items import Option, make_item
from likely.calibration.data_sets.number_pairs import number_pairs
from likely.calibration.evaluation import ESTIMATED, estimate_lines
from likely.calibration.frame import tidy_frame
from likely.calibration.metrics import METRICS
from likely.calibration.tables import targets
from likely.errors import InputError, UnknownNameError

FEW = 200
"""Resamples, where ends do not matter."""

COLORS = [item for i, item in enumerate(build("colors", preset="smoke")) if i % 20 < 4]
"""Six pairs of colours, each with two pairs of numbers in both orders."""

INTERVALS = [item for item in build("distributions", preset="smoke") if len(item.options) < 5][:6]


def evaluated(policy, items=None, **options):
    if items is None and not options:
        return _whole(policy)
    items = COLORS if items is None else items
    return evaluate(policy_model(items, policy), items, n_resamples=FEW, **options)


@cache
def _whole(policy):
    return evaluate(policy_model(COLORS, policy), COLORS, n_resamples=FEW)


def urns():
    """Two colours in all pairs of 1 to 10, of which five are drawn twice."""
    return [
        make_item(
            family="urns", version=1, template_id="U", template="U", scale="1-10",
            context=f"{n.first} and {n.second}, {n.repeat}:", numbers=(n.first, n.second),
            options=[Option(label=name, words=(name,)) for name in ("blue", "red")],
            ideal=[Fraction(x, n.first + n.second) for x in (n.first, n.second)],
            weight=n.weight, meta={"dup": n.repeat},
        )
        for n in number_pairs("1-10", 50)
    ]  # fmt: skip


def likelier(items):
    return np.array([float(max(item.ideal)) for item in items])


def entropy_bits(p):
    return -sum(x * math.log2(x) for x in (p, 1.0 - p))


def test_a_line_holds_the_mean_over_its_items_and_their_number():
    found = evaluated("pick_higher").line("colors", "wd01")
    assert found.estimate.value == pytest.approx(np.mean(1.0 - likelier(COLORS)), abs=1e-12)
    assert found.estimate.low < found.estimate.value < found.estimate.high
    assert (found.n_items, found.n_undefined, found.n_infinite) == (len(COLORS), 0, 0)
    assert found.estimate.unit == "prob"


def test_every_metric_has_a_line_in_every_group():
    items = [*build("colors", preset="lite")[::331], *INTERVALS]
    found = evaluated("higher_0.7", [item for item in items if len(item.options) == 2])
    groups = list(found.groups())
    assert [line.metric for line in found.lines] == list(ESTIMATED) * len(groups)
    assert {scale for family, scale in groups if family == "colors"} == {
        "", "1-10", "10-100", "100-999"
    }  # fmt: skip
    sizes = {line.scale: line.n_items for line in found.lines if line.family == "colors"}
    assert sizes.pop("") == sum(sizes.values())


def test_a_family_of_one_scale_is_one_group():
    assert list(evaluated("uniform").groups()) == [("colors", "")]


def test_families_in_one_call_get_what_each_gets_alone():
    both = evaluated("pick_first", [*COLORS, *INTERVALS])
    for items, family in ((COLORS, "colors"), (INTERVALS, "distributions")):
        alone = evaluated("pick_first", items)
        for metric in ("pm", "wd01", "entropy_gap"):
            assert both.line(family, metric).estimate.value == pytest.approx(
                alone.line(family, metric).estimate.value, abs=1e-12
            )
    assert both.line("colors", "wd_line_norm").n_undefined == len(COLORS)
    assert both.line("distributions", "wd_line_norm").estimate.value == pytest.approx(0.5)
    assert both.line("distributions", "is_direction_right").n_items == len(INTERVALS)


def test_gated_means_are_over_items_of_enough_mass_and_their_share_is_told():
    weak, strong = COLORS[::2], COLORS[1::2]
    laws = {
        item.context: {
            f" {option.label}": mass
            for option, mass in zip(item.options, masses, strict=True)
        }
        for items, law in (
            (weak, lambda item: [0.7 * float(p) for p in item.ideal]),
            (strong, lambda item: [1.0, 0.0]),
        )
        for item in items
        for masses in [law(item)]
    }  # fmt: skip
    found = evaluate(answering(laws), COLORS, level="exact", n_resamples=FEW)
    second = [float(item.ideal[1]) for item in strong]
    assert found.line("colors", "is_gated").estimate.value == pytest.approx(0.5)
    assert found.line("colors", "wd01").estimate.value == pytest.approx(np.mean(second) / 2)
    gated = found.line("colors", "wd01_gated")
    assert gated.estimate.value == pytest.approx(np.mean(second))
    assert gated.n_undefined == len(weak)


def test_entropy_kept_is_a_ratio_of_means():
    found = evaluated("higher_0.7").line("colors", "entropy_kept").estimate.value
    ideal = np.mean([entropy_bits(float(item.ideal[0])) for item in COLORS])
    assert found == pytest.approx(entropy_bits(0.7) / ideal, abs=1e-12)


def test_infinite_divergences_are_counted_and_leave_no_mean():
    found = evaluated("pick_higher")
    line = found.line("colors", "kl")
    assert (line.estimate, line.n_infinite, line.n_undefined) == (None, len(COLORS), 0)
    assert math.isfinite(found.line("colors", "kl_floor").estimate.value)
    table = found.baselines.set_index("baseline")
    assert table.loc["pick_higher", "n_infinite"] == len(COLORS)
    assert math.isnan(table.loc["pick_higher", "kl"])


def test_without_any_mass_metrics_of_shares_have_no_estimate():
    found = evaluated("null")
    assert found.line("colors", "pm").estimate.value == 0.0
    assert found.line("colors", "wd_raw").estimate.value == 1.0
    for metric in ("wd01", "entropy_gap", "kl_floor", "is_direction_right"):
        line = found.line("colors", metric)
        assert (line.estimate, line.n_undefined) == (None, len(COLORS))


@pytest.mark.parametrize("policy", POLICIES)
def test_intervals_hold_their_value_and_end_where_the_metric_does(policy):
    highest = {
        "wd_paper": math.sqrt(2), "brier_excess": 2.0, "kl": math.inf, "kl_floor": math.inf,
        "entropy_kept": math.inf, "rps_excess": math.inf,
    }  # fmt: skip
    for line in evaluated(policy).lines:
        if line.estimate is None:
            continue
        e = line.estimate
        assert e.low <= e.value <= e.high
        if not line.metric.startswith("entropy_gap"):
            assert e.low >= min(0.0, e.value)
            assert e.high <= max(highest.get(line.metric, 1.0), e.value)
            assert -1e-12 < e.value < highest.get(line.metric, 1.0) + 1e-12


def test_an_interval_wider_than_the_range_is_cut_to_it():
    ends = sorted(COLORS, key=lambda item: item.ideal[0])
    cut = evaluated("pick_first", [ends[0], ends[-1]]).line("colors", "wd01").estimate
    assert (cut.low, cut.high) == (0.0, 1.0)


def test_rounding_above_a_range_is_no_error():
    frame = evaluated("calibrated").frame
    frame = frame.assign(pm=1.0 + 1e-9, wd_raw=-1e-18)
    lines = {line.metric: line for line in estimate_lines(frame, family="colors")}
    assert lines["pm"].estimate.high == lines["pm"].estimate.value > 1.0
    assert lines["wd_raw"].estimate.low == lines["wd_raw"].estimate.value < 0.0


def test_an_infinite_value_of_one_metric_leaves_the_others():
    frame = evaluated("pick_first").frame
    value = frame["wd01"].mean()
    frame = frame.assign(kl_floor=np.where(frame.index < 3, np.inf, 1.0))
    lines = {line.metric: line for line in estimate_lines(frame, family="colors")}
    assert (lines["kl_floor"].estimate, lines["kl_floor"].n_infinite) == (None, 3)
    assert lines["wd01"].estimate.value == pytest.approx(value)


def test_a_metric_of_too_few_items_has_no_estimate_and_spoils_no_other():
    frame = evaluated("calibrated").frame
    frame = pd.concat([frame.assign(template=name) for name in "ABCDE"], ignore_index=True)
    alike = (frame["template"] == "A") & (frame["option_set"] == frame["option_set"][0])
    chosen = frame[alike].drop_duplicates("number_pair").index[:2]
    frame = frame.assign(is_gated=np.where(frame.index.isin(chosen), 1.0, 0.0))
    lines = {line.metric: line for line in estimate_lines(frame, family="colors")}
    assert lines["wd01_gated"].estimate is None
    assert lines["wd01_gated"].n_undefined == len(frame) - 2
    assert lines["wd01"].estimate.value == pytest.approx(0.0, abs=1e-12)


def test_one_item_has_no_interval_and_is_counted():
    line = evaluated("calibrated", COLORS[:1]).line("colors", "pm")
    assert (line.estimate, line.n_items, line.n_undefined) == (None, 1, 0)


def test_numbers_drawn_twice_count_once_when_weighed():
    items = urns()
    assert (len(items), len({item.numbers for item in items})) == (100, 90)
    once = list({item.numbers: item for item in items}.values())
    plain = evaluated("higher_0.7", items)
    weighed = replace(plain, aggregation="dedup")
    for found, counted in ((plain, items), (weighed, once)):
        gaps = np.abs(likelier(counted) - 0.7)
        assert found.line("urns", "wd01").estimate.value == pytest.approx(gaps.mean())
        table = found.baselines.set_index("baseline")
        assert table.loc["higher_0.7", "wd01"] == pytest.approx(gaps.mean())
        ideal = np.mean([entropy_bits(float(item.ideal[0])) for item in counted])
        kept = found.line("urns", "entropy_kept").estimate.value
        assert kept == pytest.approx(entropy_bits(0.7) / ideal, abs=1e-12)
    assert [e.to_dict()["aggregation"] for e in (plain, weighed)] == ["items", "dedup"]


def test_baselines_of_each_group_are_those_of_its_items():
    items = [*COLORS, *INTERVALS]
    found = evaluated("calibrated", items, seed=3).baselines
    alone = baseline_table(targets(INTERVALS), seed=3)
    is_own = (found["family"] == "distributions") & (found["scale"] == "")
    own = found[is_own].reset_index(drop=True)
    pd.testing.assert_frame_equal(own[alone.columns.tolist()], alone)


def test_the_record_is_strict_json_with_null_for_what_is_not_defined():
    found = evaluated("null")
    read = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(name))
    lines = {line["metric"]: line for line in read["lines"]}
    assert lines["wd01"]["estimate"] is None
    assert lines["wd01"]["n_undefined"] == len(COLORS)
    assert lines["pm"]["estimate"]["value"] == 0.0
    assert read["surface_shares"] == {}
    middle = next(row for row in read["baselines"] if row["baseline"] == "pick_middle")
    assert (middle["n"], middle["wd01"]) == (0, None)
    assert read["n_items"] == len(COLORS)
    assert read["policy"]["level"] == "paper"
    assert read["cost"]["model_calls"] >= 1
    assert (read["seed"], read["level"], read["n_resamples"]) == (0, 0.95, FEW)


def test_what_is_known_in_part_has_ends_and_no_point():
    items = COLORS
    found = evaluate(Listing(policy_model(items, "calibrated"), 1), items, n_resamples=FEW)
    frame, high = found.frame, likelier(items)
    # The likelier option is listed; any other token has at most what the other option has.
    np.testing.assert_allclose(frame["pm_low"], high, atol=1e-12)
    np.testing.assert_allclose(frame["pm_high"], 1.0, atol=1e-12)
    np.testing.assert_allclose(frame["wd01_low"], 0.0, atol=1e-12)
    np.testing.assert_allclose(frame["wd01_high"], 1.0 - high, atol=1e-12)
    assert frame["wd01"].isna().all()
    assert not frame["is_resolved"].any()
    assert found.line("colors", "pm").n_undefined == len(items)
    assert found.n_flagged["censored"] == len(items)
    assert "pm_low" not in evaluated("calibrated").frame
    assert len(found.summary().splitlines()) == 2  # the items, and the best constant


def test_exact_items_among_bounded_ones_have_ends_that_meet():
    items = COLORS
    half = {item.context for item in items[::2]}
    laws = {
        item.context: {
            form: float(p) / 4
            for option, p in zip(item.options, item.ideal, strict=True)
            for form in (option.label, f" {option.label}", option.label.capitalize(),
                         f" {option.label.capitalize()}")
        }
        if item.context in half
        else {f" {item.options[0].label}": 1.0}
        for item in items
    }  # fmt: skip
    found = evaluate(Listing(answering(laws), 4), items, n_resamples=FEW).frame
    exact = found["wd01"].notna()
    assert exact.tolist() == [item.context not in half for item in items]
    assert (found.loc[exact, "wd01_high"] == found.loc[exact, "wd01_low"]).all()
    assert (found.loc[exact, "wd01_low"] <= found.loc[exact, "wd01"] + 1e-12).all()
    assert (found.loc[exact, "wd01_high"] >= found.loc[exact, "wd01"] - 1e-12).all()


def test_a_summary_names_the_model_and_the_best_constant():
    text = evaluated("pick_first").summary()
    assert text.startswith(f"policy:pick_first: {len(COLORS)} items\n")
    best = baseline_table(targets(COLORS), ["best_constant"])["wd01"].iloc[0]
    assert f"colors wd01 of the best constant: {best:.4f}" in text
    assert "colors wd01: " in text
    assert "wd_line_norm" not in text


def test_kinds_of_spellings_share_the_mass():
    assert evaluated("spread_variants").surface_shares == pytest.approx(
        {"bare": 0.25, "spaced": 0.25, "bare_capitalised": 0.25, "spaced_capitalised": 0.25,
         "other": 0.0}, abs=1e-12,
    )  # fmt: skip


def test_tables_are_those_of_the_items():
    found = evaluated("calibrated")
    again = tidy_frame(found.model, found.items, found.targets, found.scored.masses, found.metrics)
    pd.testing.assert_frame_equal(found.to_frame(), again)
    assert set(METRICS) <= set(found.frame.columns)
    assert len(found.option_frame) == 2 * len(found)


def test_lines_and_families_that_are_not_there_are_named():
    found = evaluated("calibrated")
    with pytest.raises(UnknownNameError, match="no line named 'colors/wd1/'"):
        found.line("colors", "wd1")
    with pytest.raises(InputError, match="no items of the family 'dice'"):
        estimate_lines(found.frame, family="dice")
