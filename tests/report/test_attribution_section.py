"""The section on worked prompts, on models whose every number is known."""

import math
import re

import pytest
from attributed_models import translator
from page_parts import Page
from report_models import TopOnly, bigram_model, coin, hostile_model
from test_document import ALLOWED_TAGS

import likely
from likely import report
from likely.core.jsonio import encode
from likely.report.passage import load_passage
from likely.report.sections.attribution import WORKED, AttributionSection, Worked

RED = Worked(why="Why red?", prompt="say red", response=" rouge", generate=None, focus=" red")
OWN = Worked(why="Why its own?", prompt="say red", response=None, generate=1, focus="say red")


def flat():
    """Return a model of three tokens that are alike likely everywhere."""
    return likely.TableModel(
        ["say", " red", " rouge"], lambda _: dict.fromkeys(["say", " red", " rouge"], 1 / 3)
    )


def built(*worked, model=None, **options):
    section = AttributionSection(worked=worked) if worked else AttributionSection()
    made = report.build(model or translator(), sections=[section], **options)
    return Page(made.html), made


def main_text(page):
    (text,) = ["".join(texts) for tag, _, texts in page.elements if tag == "main"]
    return re.sub(r"\s+", " ", text)


@pytest.fixture(scope="module")
def both():
    return built(RED, OWN)


def test_worked_prompts_show_what_their_numbers_say(both):
    text = main_text(both[0])
    score = math.log(0.8 / (0.5 * 0.8 + 0.2 / 8))
    assert "Why red? ␣red scores highest, +0.63 nats (exact)" in text
    assert f"the response is {math.exp(score):.1f} times as likely" in text
    assert "The model’s likeliest continuation: rouge" in text
    assert "␣red stands there50.0 %94.1 %+0.63" in text


def test_smoke_attributes_the_focus_and_full_all(both):
    page, made = both
    prompts = made.to_dict()["sections"]["attribution"]["prompts"]
    assert [[p["positions"] for p in prompt["places"]] for prompt in prompts] == [
        [[1]], [[0], [1]],
    ]  # fmt: skip
    assert "This page attributes the last token of 2; the full preset does all." in main_text(page)
    page, made = built(RED, preset="full")
    (prompt,) = made.to_dict()["sections"]["attribution"]["prompts"]
    assert [place["positions"] for place in prompt["places"]] == [[0], [1]]
    assert "the full preset" not in main_text(page)


def test_data_stand_beside_the_figure_and_cost_is_counted(both):
    page, made = both
    assert page.data()["attribution"] == encode(made.to_dict())["sections"]["attribution"]
    spent = [p["cost"]["token_evaluations"] for p in page.data()["attribution"]["prompts"]]
    assert made.cost.token_evaluations == sum(spent) > 0
    assert page.tags() <= set(ALLOWED_TAGS.split())
    assert [tag for tag, _, _ in page.elements].count("details") == 2


def test_sentences_change_with_the_model():
    text = main_text(built(RED, model=flat())[0])
    assert "No score is clearly above 0" in text
    assert "1 of 1 score is within ±0.1" in text
    assert "␣red scores highest" not in text


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (coin(), "no token of the table matches"),
        (TopOnly(bigram_model(load_passage("smoke").text), k=3), "no token of the table matches"),
        (TopOnly(flat(), k=2), "tells no log-probability"),
        (TopOnly(flat(), k=2, has_pairs=False), "has no continuation"),
        (hostile_model(), "no token of the table matches"),
    ],
)
def test_a_model_that_cannot_be_asked_gets_a_notice(model, problem):
    worked = (RED,) if "red" in str(model.tokenizer.decode([1])) else WORKED
    page, made = built(*worked, model=model)
    data = made.to_dict()["sections"]["attribution"]
    assert problem in data["problem"]
    assert page.with_class("notice")
    assert not page.with_class("worked")


def test_an_impossible_response_says_so():
    model = likely.TableModel(["say", " red", " rouge"], lambda _: {"say": 0.5, " red": 0.5})
    page, _ = built(RED, model=model)
    assert "impossible" in main_text(page)


def test_the_focus_is_how_the_prompt_ends():
    with pytest.raises(likely.InputError, match="how the prompt ends, got 'say'"):
        Worked(why="", prompt="say red", response=" rouge", generate=None, focus="say")


def test_own_prompts_of_the_report_are_sound():
    assert len(WORKED) == 2
    assert WORKED[0].prompt == "What year did Albert Einstein visit Mars?"


def test_meter_sees_what_is_spent():
    class Count:
        expected = done = 0

        def expect(self, tokens):
            self.expected += tokens

        def advance(self, tokens):
            self.done += tokens

    meter = Count()
    _, made = built(RED, meter=meter)
    assert 0 < meter.done <= made.cost.token_evaluations
