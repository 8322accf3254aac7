"""The study of calibration keeps the shape of a study: records of items, then a summary."""

import json
import math

import numpy as np
import pytest
from listing import Listing
from policies import policy_model

from likely.calibration import build, evaluate
from likely.calibration.study import StudyConfig
from likely.core.jsonio import dumps
from likely.errors import InputError, UnknownNameError
from likely.runs.studies import STUDIES

COLORS = build("colors", preset="smoke")[:40]
INTERVALS = build("distributions", preset="smoke")[:6]


def run(model, items, config=None):
    study, rng = STUDIES.load("calibration"), np.random.default_rng(0)
    return list(study.iter_records(model, items, config or StudyConfig(), rng=rng))


def summary(records):
    return STUDIES.load("calibration").summarise(records)


@pytest.fixture(scope="module")
def model():
    return policy_model([*COLORS, *INTERVALS], "pick_first")


@pytest.fixture(scope="module")
def records(model):
    return run(model, [COLORS, *INTERVALS])


def test_it_is_registered_under_its_name():
    assert STUDIES.load("calibration").name == "calibration"


def test_there_is_a_record_for_each_item_with_its_row(model, records):
    items = [*COLORS, *INTERVALS]
    frame = evaluate(model, items).frame.set_index("id")
    assert sorted(record["id"] for record in records) == sorted(item.id for item in items)
    by_id = {item.id: item for item in items}
    for record in records:
        row, item = frame.loc[record["id"]], by_id[record["id"]]
        for name in ("wd01", "p1", "number_pair", "wd_line_norm", "is_direction_right"):
            if record[name] is None:
                assert row[name] != row[name]
            else:
                assert record[name] == row[name]
        assert record["labels"] == [option.label for option in item.options]
        assert record["log_mass"] == record["log_mass_low"]
        assert record["log_mass"][0] == pytest.approx(0.0, abs=1e-9)
        assert record["log_mass"][1] == -math.inf
        assert record["flags"] == []


def test_records_are_strict_json_and_keep_their_meaning(records):
    again = [json.loads(dumps(record), parse_constant=pytest.fail) for record in records]
    assert again[0]["log_mass"][1] == "-inf"
    assert again[0]["kl"] == "inf"
    assert summary(again) == summary(records)


def test_the_summary_is_that_of_an_evaluation(model, records):
    found = summary(records)
    lines = {
        f"{line.family}/{line.metric}": line.estimate
        for line in evaluate(model, [*COLORS, *INTERVALS]).lines
        if not line.scale and line.estimate is not None
    }
    assert set(found) == set(lines)
    for name, estimate in found.items():
        own = lines[name]
        assert estimate.value == pytest.approx(own.value, abs=1e-12)
        assert (estimate.level, estimate.unit) == (own.level, own.unit)
        assert estimate.low <= estimate.value <= estimate.high
    assert "colors/kl" not in found  # infinite
    assert "colors/wd_line_norm" not in found  # of no item


def test_the_cost_of_a_batch_stands_in_its_first_record(model, records):
    spent = [record["token_evaluations"] for record in records]
    assert [i for i, n in enumerate(spent) if n] == [0, len(COLORS)]
    assert summary(records)["colors/pm"].cost.token_evaluations == sum(spent)


def test_a_name_stands_for_the_small_set_of_its_family(monkeypatch):
    asked = []

    def small(name):
        asked.append(name)
        return COLORS

    monkeypatch.setattr("likely.calibration.study.build", small)
    found = run(policy_model(COLORS, "calibrated"), ["colors"])
    assert asked == ["colors"]
    assert {record["id"] for record in found} == {item.id for item in COLORS}
    assert summary(found)["colors/wd01"].value == pytest.approx(0.0, abs=1e-12)


def test_the_config_is_that_of_scoring():
    model = policy_model(COLORS, "spread_variants")
    exact = run(model, list(COLORS), StudyConfig(level="exact"))
    assert [record["pm"] for record in exact] == pytest.approx([0.25] * len(COLORS))
    whole = run(model, list(COLORS))
    assert [record["pm"] for record in whole] == pytest.approx([1.0] * len(COLORS))


def test_bounds_are_records_with_ends():
    items = [COLORS[0], *COLORS[20:24]]
    found = run(Listing(policy_model(items, "calibrated"), 1), items)
    for record in found:
        assert record["wd01"] is None
        assert record["wd01_low"] <= record["wd01_high"]
        assert record["flags"] == ["censored"]
        assert record["log_mass_low"] != record["log_mass"]
    assert dumps(found)
    assert summary(found) == {}


def test_without_mass_everything_undefined_is_null():
    found = run(policy_model(COLORS, "null"), [COLORS])
    assert {record["wd01"] for record in found} == {None}
    assert set(summary(found)) == {"colors/pm", "colors/is_gated", "colors/wd_raw"}


@pytest.mark.parametrize(
    ("items", "config", "fault"),
    [
        ([7], StudyConfig(), "an Item, a data set of `build` or the name of a family, got 7"),
        ([], {}, "takes a StudyConfig"),
    ],
)
def test_what_is_of_another_study_is_refused(model, items, config, fault):
    made = STUDIES.load("calibration").iter_records(
        model, items, config, rng=np.random.default_rng(0)
    )
    with pytest.raises(InputError, match=fault):
        next(made)


def test_an_unknown_family_is_named(model):
    with pytest.raises(UnknownNameError, match="colours"):
        run(model, ["colours"])


def test_a_summary_is_of_one_model(records):
    with pytest.raises(InputError, match=r"got 0 of \[\]"):
        summary([])
    other = [{**record, "model": "other"} for record in records]
    with pytest.raises(InputError, match="records of one model"):
        summary([*records, *other])


def test_a_family_in_one_item_has_no_interval_and_no_summary():
    assert summary(run(policy_model(COLORS, "calibrated"), [COLORS[0]])) == {}
