"""The screen of an evaluation: its numbers are those of the record, and nothing is hidden."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from listing import Listing
from policies import policy_model

from likely.calibration import analyse, build_all, compare_models, evaluate
from likely.calibration.analyses.frequencies import NumberCounts
from likely.cli.calibration_tables import screen_lines
from likely.cli.intervals import show, span

NAMES = ("coin_bias", "dice_sum", "distractor")
COUNTS = NumberCounts(source="here", kind="exact", counts={n: 1 + n % 9 for n in range(1, 1000)})


@cache
def evaluated(policy, names=NAMES):
    items = build_all(names, preset="smoke")
    model = policy_model(items, policy)
    return model, evaluate(model, items, n_resamples=100)


@cache
def analysed(policy, names=NAMES):
    return analyse(evaluated(policy, names)[1].frame, counts=COUNTS, n_resamples=100)


def lines_of(policy, names=NAMES, **options):
    model, found = evaluated(policy, names)
    options = {"sets": "preset smoke", "has_counts": False, "other": None} | options
    differences = options.pop("differences", ())
    return screen_lines(model, found, analysed(policy, names), differences, **options)


def rows_under(lines, title, *, skip=1):
    """The rows of the table under a line, by their first word; intervals below go to their row."""
    start = next(i for i, line in enumerate(lines) if line.startswith(title)) + skip
    rows = {}
    for line in lines[start:]:
        if not line.strip() or line.startswith(("A cell", "a and b", "Spearman", "pm is")):
            break
        if line[0] != " ":
            name, *cells = line.split()
            rows[name] = cells
        else:
            rows[name] += line.split()
    return rows


@pytest.mark.parametrize("policy", ["leaky_0.3", "pick_first"])
def test_numbers_of_the_first_table_are_those_of_the_record(policy):
    _, found = evaluated(policy)
    rows = rows_under(lines_of(policy), "family")
    assert list(rows) == list(NAMES)
    for family, distance in (("coin_bias", "wd01"), ("dice_sum", "wd_line_norm")):
        told = rows[family]
        assert told[0] == str(found.line(family, "pm").n_items)
        for metric, sign in (("pm", False), (distance, False), ("entropy_gap", True)):
            estimate = found.line(family, metric).estimate
            assert show(estimate.value, sign=sign) in told
            assert span(estimate, sign=sign) in told
        assert show(found.line(family, "entropy_kept").estimate.value) in told


def test_a_mean_without_an_interval_is_shown_and_told():
    lines = lines_of("pick_first")
    assert evaluated("pick_first")[1].line("distractor", "wd01").estimate is None
    assert rows_under(lines, "family")["distractor"] == ["40", "1.000", "1.000", ".500", "-1.000",
                                                         ".500"]  # fmt: skip
    assert any(line.endswith("options and numbers: distractor.") for line in lines)


def test_little_mass_and_items_without_any_are_told():
    text = " ".join(lines_of("leaky_0.3"))
    assert "PM is below .75 in coin_bias, dice_sum and distractor:" in text
    assert "PM is below" not in " ".join(lines_of("pick_first"))
    text = " ".join(lines_of("null"))
    assert "no wd: coin_bias 36, dice_sum 20 and distractor 40." in text
    assert " 0  " in text


def test_rules_stand_beside_the_model():
    _, found = evaluated("pick_first")
    rows = rows_under(lines_of("pick_first"), "wd of the model", skip=3)
    rules = found.baselines[found.baselines["scale"] == ""].set_index(["family", "baseline"])
    names = ("best_constant", "higher_0.7", "uniform", "pick_higher", "pick_first", "random_1")
    expected = [show(rules.loc[("coin_bias", name), "wd01"]) for name in names]
    assert rows["coin_bias"] == [".500", *expected]
    numbers = [rules.loc[("dice_sum", name), "wd_line_norm"] for name in names]
    assert rows["dice_sum"] == [".500", *(show(x) for x in numbers if not np.isnan(x))]


def test_behaviours_that_agree_share_a_line():
    rows = rows_under(lines_of("pick_first"), "behaviours", skip=2)
    assert rows["coin_bias"] == ["4", "all", "pick", "first", "4"]
    model, found = evaluated("pick_first")
    little = analyse(found.frame.assign(pm=0.01), n_resamples=100)
    lines = screen_lines(
        model, found, little, (), sets="preset smoke", has_counts=False, other=None
    )
    start = lines.index("behaviours")
    assert [line.split()[2:] for line in lines[start + 2 : start + 4]] == [
        ["rates;", "nearest;", "likelihood", "null", "4"],
        ["rates,", "any", "mass", "pick", "first", "4"],
    ]


def test_what_could_not_be_estimated_is_named_and_blank():
    lines = lines_of("pick_first")
    order = rows_under(lines, "order and slope", skip=2)
    one = {each.family: each for each in analysed("pick_first")}["distractor"]
    assert (one.regression, one.order.delta) == (None, None)
    assert order["distractor"] == [
        show(one.plane_any_mass.a), show(one.plane_any_mass.b), show(one.reliability.ece),
    ]  # fmt: skip
    text = " ".join(lines)
    told = text[text.index("Not estimated") :]
    assert "slope and position of distractor" in told
    assert "order of distractor" in told
    assert "frequency" not in told
    assert "--json" in told


def test_lines_that_say_nothing_are_left_out():
    text = "\n".join(lines_of("pick_first"))
    assert "strengths in" not in text  # all of them are 0
    assert "variance of log-odds" not in text
    assert "frequency" not in text
    assert "differences" not in text


def test_frequencies_are_shown_if_counts_were_given():
    names = ("no_replacement", "scaled")
    lines = lines_of("leaky_0.3", names, has_counts=True)
    text = " ".join(lines)
    known = [one for one in analysed("leaky_0.3", names) if one.frequency is not None]
    for one in known:
        for scale, effect in one.frequency.by_scale.items():
            row = rows_under(lines, "frequency of numbers", skip=3)[one.family]
            assert row[0] == (scale or "all")
            assert effect.spearman is None or show(effect.spearman.value, sign=True) in row
    assert ("gap in frequency, here (exact)" in text) == bool(known)
    skipped = [one.family for one in analysed("leaky_0.3", names) if one.frequency is None]
    assert all(family in text[text.index("Not estimated") :] for family in skipped)


def test_differences_are_those_of_the_record():
    _, ours = evaluated("pick_first")
    _, theirs = evaluated("leaky_0.3")
    found = compare_models(ours.frame, theirs.frame, n_resamples=100)
    lines = lines_of("pick_first", differences=found, other="leaky")
    start = next(i for i, line in enumerate(lines) if line.startswith("differences: "))
    assert lines[start] == "differences: policy:pick_first less leaky"
    for one, line in zip(found, lines[start + 2 :], strict=False):
        assert line.split() == [
            one.family, one.metric, str(one.n_items), show(one.comparison.first.value),
            show(one.comparison.second.value), show(one.comparison.delta.value, sign=True),
            span(one.comparison.delta, sign=True), show(one.adjusted_p),
        ]  # fmt: skip


def test_what_is_known_in_part_has_a_table_of_its_ends():
    items = build_all(["coin_bias"], preset="smoke")
    model = Listing(policy_model(items, "calibrated"), 1)
    found = evaluate(model, items, n_resamples=100)
    lines = screen_lines(model, found, (), (), sets="preset smoke", has_counts=False, other=None)
    row = rows_under(lines, "items that are known only in part", skip=2)["coin_bias"]
    is_known = ~found.scored.masses.is_exact
    own = found.frame[is_known]
    ends = "-".join(show(float(own[f"pm_{end}"].mean())) for end in ("low", "high"))
    assert row[:3] == [str(is_known.sum()), show(float(own["is_resolved"].mean())), ends]
    assert "without any mass" not in " ".join(lines)


def test_a_family_alone_is_no_families():
    assert "36 items in 1 family, preset smoke" in lines_of("pick_first", ("coin_bias",))[1]
    _, found = evaluated("pick_first")
    chat = replace(found.scored.policy, chat="answer", wrapper="finish")
    asked = replace(found, scored=replace(found.scored, policy=chat))
    model = evaluated("pick_first")[0]
    text = " ".join(
        screen_lines(model, asked, (), (), sets="preset smoke", has_counts=False, other=None)
    )
    assert "chat answer (finish)" in text
