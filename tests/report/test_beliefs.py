"""The section on whether beliefs hang together, on the small suite and its table."""

import builtins
import re

import numpy as np
import pytest
from page_parts import Page
from report_models import Changed, TopOnly, coin
from small_suite import FAMILIES, model, put_in_place

from likely import report
from likely.core.model import Capability
from likely.logic.evaluation import evaluate
from likely.logic.theory import Theory
from likely.report.beliefs import choose_rows
from likely.report.section import Job
from likely.report.sections import logic as section


@pytest.fixture(scope="module", autouse=True)
def small_suite():
    with pytest.MonkeyPatch.context() as patch:
        put_in_place(patch)
        yield


@pytest.fixture(scope="module")
def made(small_suite):
    return report.build(model(), preset="full", sections=["logic"])


def main_text(made):
    page = Page(made.html)
    text = "".join("".join(t) for tag, _, t in page.elements if tag == "main")
    return re.sub(r"\s+", " ", text), page


def test_every_family_has_its_score_with_an_interval(made):
    text, page = main_text(made)
    data = made.to_dict()["sections"]["logic"]
    assert [family["name"] for family in data["families"]] == list(FAMILIES)
    assert [name for _, name in page.with_class("name")] == list(FAMILIES)
    shown = [value.split() for _, value in page.with_class("value")]
    for cells, family in zip(shown, data["families"], strict=True):
        [own] = [x for x in family["lines"] if (x["claim"], x["rescaling"]) == (None, "duel")]
        wanted = own["chance_corrected"]
        numbers = [float(cells[i].replace("−", "-")) for i in (0, 1, 3)]
        assert numbers == pytest.approx(
            [wanted["value"], wanted["low"], wanted["high"]], abs=0.0051
        )
    assert "1 is perfect, 0 is what coins would earn" in text
    n_closed = sum(family["gap"] is not None for family in data["families"])
    assert 0 < n_closed < len(FAMILIES)
    assert len(page.with_class("point")) == len(FAMILIES) + n_closed


def test_the_numbers_are_those_of_the_library(made):
    theory = Theory.from_text(FAMILIES["partition"])
    theirs = evaluate(model(), theory)
    family = made.to_dict()["sections"]["logic"]["families"][-1]
    mean = np.mean([item.readings["duel"].scores.chance_corrected for item in theirs.items])
    [own] = [x for x in family["lines"] if (x["claim"], x["rescaling"]) == (None, "duel")]
    assert own["chance_corrected"]["value"] == pytest.approx(mean)
    assert family["digest"] == theory.digest


def test_open_and_closed_are_compared_on_the_same_items(made):
    text, _ = main_text(made)
    gap = made.to_dict()["sections"]["logic"]["gap"]
    difference = gap["closed"]["value"] - gap["opened"]["value"]
    assert gap["difference"]["value"] == pytest.approx(difference)
    sign = "+" if difference > 0 else "−"
    assert f"The difference is {sign}{abs(difference):.2f} (95 % interval" in text
    assert f"Read so, the same {gap['n_items']} items score" in text


def test_the_worst_breach_of_each_family_is_told_in_sentences(made):
    text, page = main_text(made)
    breaches = [content for _, content in page.with_class("breach")]
    families = made.to_dict()["sections"]["logic"]["families"]
    for family, shown in zip(families, breaches, strict=True):
        account = family["worst"]
        assert account["item"]["formula"] in shown
        for event in account["events"].values():
            assert f"{event['context']} {event['answers'][0]}" in shown
        worst = account["item"]["readings"]["duel"]["log_ratio_bits"]
        assert worst == pytest.approx(min(
            item.readings["duel"].scores.log_ratio_bits
            for item in evaluate(model(), Theory.from_text(FAMILIES[family["name"]])).items
            if not item.is_comparison
        ))  # fmt: skip
    assert text.count("The likeliest breach has probability") == len(families)


def test_data_stand_beside_the_figure(made):
    text, page = main_text(made)
    assert text.count("Data: ") == 2
    assert page.data()["logic"]["rescalings"] == ["duel", "minp", "identity", "closed"]
    assert made.sections[0].cost.token_evaluations > 0


def test_smoke_reads_a_few_rows_of_some_families(monkeypatch):
    monkeypatch.setattr(section, "_ROWS", {"smoke": 2})
    monkeypatch.setattr(section, "_FAMILIES", {"smoke": ("negation",)})
    made = report.build(model(), sections=["logic"])
    text, _ = main_text(made)
    assert "This page reads 2 rows of each family" in text
    assert made.to_dict()["sections"]["logic"]["n_items"] == 2 * 6


def test_rows_are_drawn_by_the_seed_and_stay_in_order():
    theory = Theory.from_text(FAMILIES["negation"])
    drawn = {seed: [row.id for row in choose_rows(theory, 2, seed=seed).rows] for seed in range(20)}
    assert len({tuple(rows) for rows in drawn.values()}) > 2
    assert all(rows == sorted(rows) for rows in drawn.values())
    assert drawn[3] == [row.id for row in choose_rows(theory, 2, seed=3).rows]
    assert choose_rows(theory, None, seed=0) is choose_rows(theory, 99, seed=0) is theory


@pytest.mark.parametrize("name", ["negation", "exclusivity", "paraphrase"])
def test_any_few_rows_of_the_real_families_fit_every_claim(name):
    from importlib import resources

    from likely.logic.instances import instances

    folder = resources.files("likely.logic.probct").joinpath("suites")
    theory = Theory.from_text(folder.joinpath(f"{name}.yaml").read_text("utf-8"))
    few = choose_rows(theory, 1, seed=0)
    placed = {claim.name for instance in instances(few) for claim in instance.claims}
    assert placed == {claim.name for claim in theory.claims}


class NoRows(Changed):
    """The table without whole rows: continuations alone."""

    def __init__(self):
        super().__init__(model(), capabilities=frozenset({Capability.CONTINUATION}))


def test_a_model_without_whole_rows_is_read_as_far_as_it_goes(monkeypatch):
    monkeypatch.setattr(section, "_FAMILIES", {"smoke": ("partition",)})
    made = report.build(NoRows(), sections=["logic"])
    text, _ = main_text(made)
    assert "Partly shown." in text
    assert "shown are identity and closed" in text
    whole = evaluate(model(), Theory.from_text(FAMILIES["partition"]), rescaling="identity")
    mean = np.mean([item.readings["identity"].scores.chance_corrected for item in whole.items])
    data = made.to_dict()["sections"]["logic"]
    [own] = [
        x
        for x in data["families"][0]["lines"]
        if (x["claim"], x["rescaling"]) == (None, "identity")
    ]
    assert own["chance_corrected"]["value"] == pytest.approx(mean)


def test_a_model_that_tells_only_the_top_gets_intervals_and_says_so(monkeypatch):
    monkeypatch.setattr(section, "_FAMILIES", {"smoke": ("partition",)})
    made = report.build(TopOnly(model(), k=3), sections=["logic"])
    text, _ = main_text(made)
    data = made.to_dict()["sections"]["logic"]
    assert 0 < data["n_intervals"] <= data["n_events"] == 6
    assert f"Inexact. {data['n_intervals']} of 6 answers lie outside" in text


def test_a_tokenizer_that_cannot_spell_the_sentences_gets_a_notice(monkeypatch):
    monkeypatch.setattr(section, "_FAMILIES", {"smoke": ("partition",)})
    made = report.build(coin(), sections=["logic"])
    text, page = main_text(made)
    assert "Not shown." in text
    assert "no token of the table matches" in page.data()["logic"]["problem"]


def test_without_torch_there_is_a_notice(monkeypatch):
    real = builtins.__import__

    def fake(name, *args, **kwargs):
        if name == "likely.report.beliefs":
            raise ImportError("No module named 'torch'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)
    found = section.LOGIC.build(coin(), Job(preset="smoke", seed=0))
    assert "pip install &#39;likely[logic]&#39;" in found.body
