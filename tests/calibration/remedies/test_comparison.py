"""Before and after: the same items, the same metrics, and what is counted instead of guessed."""

import json

import numpy as np
import pytest
from known import (
    answered,
    colors,
    everything,
    ideal_of,
    log_odds,
    said,
    with_odds,
    with_prior,
    with_stem,
)
from questions import answering

from likely.calibration.metrics import measure
from likely.calibration.remedies.comparison import UNITS, compare_remedies, try_remedies
from likely.calibration.remedies.extras import FILLERS, blanked, stem
from likely.calibration.remedies.remedy import REMEDIES
from likely.calibration.tables import targets
from likely.core.jsonio import dumps
from likely.errors import InputError

FITTED = ("option_temperature", "platt", "isotonic", "pride")


@pytest.fixture(scope="module")
def sharp():
    """Twice as sharp as it should be, and drawn to the first place."""
    items = colors()
    return everything(with_odds(items, 2.0 * log_odds(ideal_of(items)) + 0.5, pm=0.4))


@pytest.fixture(scope="module")
def report(sharp):
    return compare_remedies(sharp, n_resamples=200)


def test_every_remedy_is_reported_before_and_after_by_the_same_metrics(sharp, report):
    assert [result.name for result in report.results] == list(REMEDIES.names())
    found = measure(sharp.targets, sharp.masses)
    for result in report.results:
        for metric, change in result.changes.items():
            assert change.before.value == pytest.approx(found[metric].mean())
            moved = change.after.value - change.before.value
            assert change.difference.value == pytest.approx(moved)
            assert change.difference.low <= moved <= change.difference.high
            assert change.difference.unit == UNITS[metric]
        assert {"wd01", "wd_paper", "entropy_gap", "kl", "brier_excess"} <= set(result.changes)
        assert ("pm" in result.changes) == REMEDIES.load(result.name).gives_masses
        assert (result.n_items, result.n_undefined) == (240, 0)


def test_a_line_repairs_what_is_a_line_and_half_measures_repair_half(report):
    assert report["platt"].changes["wd01"].after.value == pytest.approx(0.0, abs=1e-5)
    assert report["platt"].removed.value == pytest.approx(1.0, abs=1e-4)
    for name in ("option_temperature", "temperature", "order", "pride"):
        assert 0.1 < report[name].removed.value < 0.95
    for name in ("contextual", "pmi"):
        assert report[name].removed.value == pytest.approx(0.0, abs=1e-12)
        assert report[name].changes["wd01"].difference.high < 1e-15


def test_what_sharpness_alone_makes_wrong_is_removed_by_temperature_to_the_whole():
    items = colors()
    evidence = everything(with_odds(items, 2.0 * log_odds(ideal_of(items))))
    found = compare_remedies(evidence, names=["temperature"], n_resamples=200)["temperature"]
    assert [fit.parameters["temperature"] for fit in found.fits] == [2.0, 2.0]
    assert found.removed.value == pytest.approx(1.0, abs=1e-12)


def test_fits_are_told_with_what_they_were_made_on(report):
    for result in report.results:
        is_fitted = REMEDIES.load(result.name).is_fitted
        assert [fit.fold for fit in result.fits] == ([0, 1] if is_fitted else [None])
        if is_fitted:
            assert all(fit.n_items == 120 and fit.n_number_pairs == 5 for fit in result.fits)
    assert report["order"].passes == 2.0
    assert report["prior_only"].cost == report["contextual"].cost
    assert report.cost.token_evaluations == 4  # the prior's 3 and the stem's 1, each once


def test_items_that_a_remedy_is_not_defined_for_are_counted_and_left_out_both_times():
    items = colors()
    stems = np.where(np.arange(len(items)) % 3 == 0, np.nan, 0.5)
    shares = 0.5 + 0.4 * np.sign(np.arange(len(items)) % 3 - 0.5)
    evidence = with_stem(answered(items, shares), stems)
    found = compare_remedies(evidence, names=["pmi"], n_resamples=200)["pmi"]
    assert (found.n_items, found.n_undefined) == (160, 80)
    kept = np.arange(len(items)) % 3 != 0
    wanted = np.abs(0.9 - ideal_of(items))[kept].mean()
    assert found.changes["wd01"].before.value == pytest.approx(wanted)


def test_items_without_shares_are_not_tried_on():
    items = colors()
    pm = np.where(np.arange(len(items)) < 40, 0.0, 0.5)
    evidence = with_prior(answered(items, ideal_of(items), pm=pm), np.full(len(items), 0.5))
    report = compare_remedies(evidence, names=["contextual", *FITTED], n_resamples=200)
    assert report.n_unscored == 40
    for result in report.results:
        assert (result.n_items, result.n_undefined) == (200, 0)


def test_infinite_divergences_are_counted_and_have_a_finite_form():
    items = colors()
    shares = ideal_of(items).copy()
    shares[::4] = 1.0
    evidence = with_prior(answered(items, shares), np.full(len(items), 0.5))
    found = compare_remedies(evidence, names=["contextual", "isotonic"], n_resamples=200)
    assert found["contextual"].n_infinite == (60, 60)
    assert found["contextual"].changes["kl"].before.value == pytest.approx(0.0, abs=1e-12)
    assert found["contextual"].changes["kl_floor"].before.value > 1.0
    assert found["isotonic"].n_infinite[0] == 60


def test_a_remedy_without_a_fit_says_why():
    items = colors()
    evidence = answered(items, np.full(len(items), 0.4))
    report = compare_remedies(evidence, names=["platt", "order"], n_resamples=200)
    assert report["platt"].status.startswith("a line needs")
    assert report["platt"].changes == {}
    assert report["platt"].n_undefined == 240
    table = report.table()
    assert table["status"].tolist()[1:] == ["ok"] * (len(table) - 1)
    assert "not measured: a line needs" in report.summary()


def test_too_few_items_for_an_interval_are_said_to_be():
    items = colors()
    stems = np.where(np.arange(len(items)) == 7, 0.5, np.nan)
    evidence = with_stem(answered(items, ideal_of(items)), stems)
    found = compare_remedies(evidence, names=["pmi"], n_resamples=200)["pmi"]
    assert (found.n_items, found.n_undefined) == (1, 239)
    assert found.changes == {}
    assert found.status == "1 items are too few, or share too much, for an interval"
    with pytest.raises(InputError, match="at least 100 resamples"):
        compare_remedies(evidence, names=["pmi"], n_resamples=10)


def test_the_report_reads_as_a_table_as_json_and_as_text(report):
    table = report.table()
    assert set(table["remedy"]) == set(REMEDIES.names())
    assert table.groupby("remedy").size().min() >= 6
    assert (table["low"] <= table["difference"]).all()
    assert (table["difference"] <= table["high"]).all()
    assert report.to_frame().equals(table)
    read = json.loads(report.to_json())
    assert read["results"][0]["fits"][0]["parameters"]["temperature"] > 1
    assert report.summary().count("->") == 1 + len(report.results)
    with pytest.raises(InputError, match="no remedy 'magic'"):
        report["magic"]


def test_the_same_seed_gives_the_same_report(sharp, report):
    again = compare_remedies(sharp, n_resamples=200)
    assert again.to_json() == report.to_json()
    other = compare_remedies(sharp, names=["isotonic"], n_resamples=200, seed=1)
    assert dumps(other["isotonic"].to_dict()) != dumps(report["isotonic"].to_dict())


def test_a_model_with_a_prior_is_asked_for_it_and_repaired():
    """From contexts to the report: a table whose odds are those of the ideal times a prior's."""
    items = colors(n_draws=3)
    goal = targets(items).ideal
    prior = {"black": 0.6, "green": 0.3, "red": 0.1}
    laws = {}
    for i, item in enumerate(items):
        weights = np.array([prior[option.label] for option in item.options])
        tilted = goal[2 * i : 2 * i + 2] * weights
        laws[item.context] = said(item.options, 0.9 * tilted / tilted.sum())
        for filler in FILLERS:
            laws[blanked(item, filler)] = said(item.options, 0.5 * weights)
        behind = said(item.options, weights)
        laws[stem(item.context)] = laws.get(stem(item.context), {}) | behind
    report = try_remedies(answering(laws), items, n_resamples=200)
    for name in ("contextual", "pmi"):
        assert report[name].changes["wd01"].before.value > 0.05
        assert report[name].changes["wd01"].after.value == pytest.approx(0.0, abs=1e-9)
    assert report["temperature"].changes["pm"].before.value == pytest.approx(0.9)
    assert report["temperature"].cost.token_evaluations > 0
    assert report["contextual"].passes == 1 + 36 / 72
    assert report["pmi"].passes == 1 + 3 / 72
    assert report.n_unscored == 0
