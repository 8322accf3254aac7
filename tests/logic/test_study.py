"""The study of constraints as records, and what they come to."""

import json

import numpy as np
import pytest
from small_suite import FAMILIES, NEGATION, model

from likely.core.jsonio import dumps
from likely.errors import InputError
from likely.logic.evaluation import evaluate_all
from likely.logic.study import StudyConfig
from likely.logic.theory import Theory
from likely.runs.studies import STUDIES

CONFIG = StudyConfig(also=("identity",))


@pytest.fixture(scope="module")
def theories():
    return [Theory.from_text(FAMILIES[name]) for name in ("negation", "partition")]


@pytest.fixture(scope="module")
def records(theories):
    study = STUDIES.load("logic")
    return list(study.iter_records(model(), theories, CONFIG, rng=np.random.default_rng(0)))


def test_it_is_registered_under_its_name():
    assert STUDIES.load("logic").name == "logic"


def test_there_is_a_record_for_each_item_and_rescaling(theories, records):
    evaluations = evaluate_all(model(), theories, also=["identity"])
    wanted = [
        (e.theory, item.id, label)
        for e in evaluations
        for item in e.items
        for label in item.readings
    ]
    assert [(r["theory"], r["id"], r["rescaling"]) for r in records] == wanted
    own = evaluations[0].item("n3/Tm").readings["identity"].scores
    [record] = [
        r for r in records if r["id"] == "negation/all/n3/Tm" and r["rescaling"] == "identity"
    ]
    assert (record["log_prob"], record["log_ratio_bits"]) == (own.log_prob, own.log_ratio_bits)


def test_the_cost_of_the_one_pass_stands_in_the_first_record(records):
    assert records[0]["model_calls"] == 1
    assert sum(record["token_evaluations"] for record in records[1:]) == 0


def test_the_summary_has_means_with_intervals_and_the_cost(records):
    found = STUDIES.load("logic").summarise(records)
    assert set(found) == {
        f"{theory}/{label}/{quantity}"
        for theory in ("negation", "partition")
        for label in ("duel", "identity")
        for quantity in ("chance_corrected", "earned", "kept")
    }
    laws = [
        record
        for record in records
        if record["theory"] == "negation"
        and record["rescaling"] == "duel"
        and not record["is_comparison"]
    ]
    assert len(laws) == 20
    own = found["negation/duel/chance_corrected"]
    assert own.value == pytest.approx(np.mean([record["chance_corrected"] for record in laws]))
    assert own.low <= own.value <= own.high
    share = sum(r["log_ratio_bits"] for r in laws) / sum(r["bits"] for r in laws)
    assert found["negation/duel/earned"].value == pytest.approx(share)
    assert found["negation/duel/kept"].unit == "prob"
    assert own.cost.token_evaluations == records[0]["token_evaluations"] > 0


def test_records_keep_their_meaning_through_json(records):
    study = STUDIES.load("logic")
    again = [json.loads(dumps(record)) for record in records]
    assert study.summarise(again) == study.summarise(records)


def test_what_is_impossible_has_no_share_of_bits(records):
    broken = [dict(record) for record in records]
    broken[0]["log_ratio_bits"] = "-inf"  # as JSON has it
    found = STUDIES.load("logic").summarise(broken)
    assert "negation/duel/earned" not in found
    assert "negation/identity/earned" in found


def test_a_theory_on_one_row_has_no_interval_and_no_summary():
    first = NEGATION.index("  - {id: n2")
    text = NEGATION[:first] + NEGATION[NEGATION.index("frames:") :]
    study = STUDIES.load("logic")
    rng = np.random.default_rng(0)
    assert study.summarise(
        study.iter_records(model(), [Theory.from_text(text)], CONFIG, rng=rng)
    ) == {}  # fmt: skip


def test_theories_may_be_paths(tmp_path):
    (tmp_path / "t.yaml").write_text(FAMILIES["partition"])
    made = STUDIES.load("logic").iter_records(
        model(), [str(tmp_path / "t.yaml")], StudyConfig(also=()), rng=np.random.default_rng(0)
    )
    assert {record["theory"] for record in made} == {"partition"}


@pytest.mark.parametrize(
    ("items", "config", "fault"),
    [([7], CONFIG, "a Theory or the path of one, got 7"), ([], {}, "takes a StudyConfig")],
)
def test_what_is_of_another_study_is_refused(items, config, fault):
    made = STUDIES.load("logic").iter_records(model(), items, config, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match=fault):
        next(made)


def test_no_record_has_no_summary():
    with pytest.raises(InputError, match="at least one record"):
        STUDIES.load("logic").summarise([])
