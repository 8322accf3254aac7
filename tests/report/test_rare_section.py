"""The section on rare events, on models whose every number is known."""

import re

import pytest
from page_parts import Page
from report_models import TopOnly, bigram_model, coin, hostile_model
from scipy.stats import binom

import likely
from likely import report
from likely.core.jsonio import encode
from likely.errors import NumericalError
from likely.report.sections import rare as module
from likely.report.sections.rare import PLANS, Asking, Plan, RareSection

DIGITS = "0123456789abcdef"


def hex_model(**options):
    """Return a model of digits that answers with the digit it read last: all alike likely."""

    def law(before):
        last = before[-1] if before[-1] in DIGITS else "0"
        return {**dict.fromkeys(DIGITS, 0.02), "x": 0.02, last: 0.68}

    return likely.TableModel([*DIGITS, "x"], law, **options)


def plan(**changes):
    options = {
        "length": 3, "n_choice": 6, "n_seen": 2, "n_unseen": 2, "budget": 64,
        "askings": (Asking(method="naive", unseen_only=False), Asking(method="forecast")),
    }  # fmt: skip
    return Plan(**options | changes)


def built(model=None, *, preset="smoke", meter=None, **changes):
    section = RareSection(plans={preset: plan(**changes)})
    made = report.build(model or hex_model(), sections=[section], preset=preset, meter=meter)
    page = Page(made.html)
    (text,) = ["".join(texts) for tag, _, texts in page.elements if tag == "main"]
    return page, made, re.sub(r"\s+", " ", text)


@pytest.fixture(scope="module")
def small():
    return built()


def test_tokens_that_won_are_counted_and_the_others_forecast(small):
    page, made, text = small
    found = made.to_dict()["sections"]["rare"]["estimates"]
    asked = [(one["event"]["name"], one["log_prob"]["method"]) for one in found]
    names = [name for name, _ in asked]
    assert [method for _, method in asked] == ["naive", "naive", *["naive", "forecast"] * 2]
    assert names[2::2] == names[3::2]
    assert len(set(names)) == 4
    assert "cut into 4 tokens with the one that begins a text, 4,096 inputs in all" in text
    assert (
        "Among 6 random inputs the first 2 tokens below won most often, and the last 2 never"
        in text
    )
    assert [content for _, content in page.with_class("tok")][:6] == names


def test_counts_are_those_of_the_model(small):
    """The last digit wins, so each has a probability of 1/16; false alarm 8e-5."""
    for one in small[1].to_dict()["sections"]["rare"]["estimates"]:
        if one["log_prob"]["method"] == "naive":
            hits = one["log_prob"]["diagnostics"]["hits"]
            assert binom.cdf(hits, 64, 1 / 16) > 1e-5
            assert binom.sf(hits - 1, 64, 1 / 16) > 1e-5


def test_data_stand_beside_the_figure_and_cost_is_counted(small):
    page, made, _ = small
    data = page.data()["rare"]
    assert data == encode(made.to_dict())["sections"]["rare"]
    spent = sum(one["spent"]["token_evaluations"] for one in data["estimates"])
    assert made.cost.token_evaluations == spent + 6 * 4


def test_two_runs_give_the_same_numbers(small):
    again = built()[1].to_dict()["sections"]["rare"]["estimates"]
    for one, other in zip(small[1].to_dict()["sections"]["rare"]["estimates"], again, strict=True):
        assert one["log_prob"]["value"] == other["log_prob"]["value"]


def test_a_method_that_the_model_does_not_take_is_named_and_the_rest_is_shown():
    askings = (Asking(method="naive", unseen_only=False), Asking(method="gld"))
    page, made, _ = built(askings=(*askings, Asking(method="not-yet-made")))
    data = made.to_dict()["sections"]["rare"]
    assert len(data["estimates"]) == 4
    assert list(data["left_out"]) == ["gld"]
    (notice,) = page.with_class("notice")
    assert notice[1].startswith("No gld. ")


@pytest.mark.parametrize(
    "model",
    [coin(), bigram_model("a b c"), hostile_model(), TopOnly(hex_model(), k=3)],
    ids=["coin", "letters", "hostile", "no-rows"],
)
def test_a_model_that_cannot_be_asked_gets_a_notice(model):
    page, made, _ = built(model)
    assert page.with_class("notice")
    assert not page.with_class("one")
    assert made.to_dict()["sections"]["rare"]["problem"]
    assert made.cost.token_evaluations == 0


def test_a_law_that_cannot_be_made_is_a_notice(monkeypatch):
    def fail(*args, **options):
        raise NumericalError("did not settle")

    monkeypatch.setattr(module, "distribution", fail)
    assert "did not settle" in built()[0].with_class("notice")[0][1]


def test_plans_cost_what_they_say():
    smoke, full = PLANS["smoke"], PLANS["full"]
    assert (smoke.n_choice + len(smoke.askings) * smoke.budget) * (smoke.length + 1) == 2560
    assert (full.n_choice + len(full.askings) * full.budget) * 33 == 211_200


def test_meter_sees_what_is_spent():
    class Count:
        expected = done = 0

        def expect(self, tokens):
            self.expected += tokens

        def advance(self, tokens):
            self.done += tokens

    meter = Count()
    made = built(meter=meter)[1]
    assert meter.done == meter.expected
    assert 0 <= made.cost.token_evaluations - meter.done <= 4 * 8  # shares are rounded up
