"""The page of estimates: numbers that are in the data, zeros as limits, tokens as text."""

import math
import re

import pytest
import rare_cases as make
from page_parts import Page
from test_document import ALLOWED_TAGS

from likely.core.jsonio import encode
from likely.errors import InputError
from likely.rare.event import Event
from likely.report.rare_page import rare_page

HOSTILE = "</script><img src=x onerror=alert(1)>"


def page_of(found, known=None):
    page = Page(rare_page(found, known))
    (body,) = ["".join(texts) for tag, _, texts in page.elements if tag == "main"]
    (lead,) = page.with_class("lead")
    return page, re.sub(r"\s+", " ", body), re.sub(r"\s+", " ", lead[1]).strip()


def test_one_estimate_is_told_in_words_with_its_interval():
    page, body, lead = page_of([make.estimate()])
    assert lead == (
        "Over inputs of the law “hex”, the likeliest next token is ␣dog once in 400 million "
        "inputs, a probability of 2.50 × 10⁻⁹ (1.10 × 10⁻⁹ to 5.80 × 10⁻⁹ at 95 %)."
    )
    assert "2.50 × 10⁻⁹" in body
    assert not page.with_class("notice")
    assert not page.with_class("levels")


def test_an_estimate_of_zero_says_how_large_it_may_be():
    page, body, lead = page_of([make.zero()])
    assert "no case was found where the likeliest next token is ␣cat" in lead
    assert "reaches up to 7.30 × 10⁻⁴, once in 1,370 inputs" in lead
    assert "Zero is no proof." in body
    assert page.with_class("limit")
    assert not page.with_class("point")
    assert page.with_class("arrow")


def test_a_tiny_estimate_is_never_shown_as_zero():
    found = make.estimate(1e-300, 1e-306, 1e-299)
    _, body, lead = page_of([found])
    assert "1.00 × 10⁻³⁰⁰" in lead
    assert "once in 10^300.0 inputs" in body
    assert "Zero is no proof." not in body


def test_warnings_stand_in_the_block_of_their_number():
    page, _, _ = page_of([make.estimate(warnings=("one doubt", "two doubts")), make.zero()])
    blocks = [text for _, text in page.with_class("one")]
    assert "one doubt" in blocks[0]
    assert "no hit among 4,096 inputs" in blocks[1]
    assert "doubt" not in blocks[1]
    assert [a["href"] for tag, a, _ in page.elements if tag == "a"] == ["#e1", "#e2"]


def test_a_warning_of_all_estimates_of_a_method_is_said_once():
    found = [make.estimate(warnings=("all have it", f"own {i}"), token=i) for i in (1, 2)]
    page, body, _ = page_of(found)
    assert body.count("all have it") == 1
    assert "Of every estimate by naive: all have it" in body
    blocks = [text for _, text in page.with_class("one")]
    assert ["own 1" in blocks[0], "own 2" in blocks[1]] == [True, True]
    _, body, _ = page_of([*found[:1], make.estimate(method="itgis")])
    assert "Of every estimate" not in body


def test_the_truth_is_shown_for_plain_events_alone():
    events = [
        make.estimate(),
        make.zero(token=4),
        make.estimate(event=Event(name="a | b", steps=((1, 2),))),
    ]
    page, body, _ = page_of(events, make.truth())
    assert body.count("truth 3.10 × 10⁻⁹") == 1
    assert "truth never seen, at most 3.69 × 10⁻⁹" in body
    assert len(page.with_class("band")) == 2
    assert len(page.with_class("truth")) == 1
    assert "the interval of that count" in body
    page, body, _ = page_of(events[:1], make.truth(exact=True))
    assert not page.with_class("band")
    assert "exact: every input was gone through" in body


def test_an_estimate_of_activations_says_what_comes_on_top():
    (notice,) = page_of([make.split()])[0].with_class("notice")
    assert "comes on top of the interval" in notice[1]
    _, body, _ = page_of([make.split()])
    assert "Not the misfit." in body
    assert "Not the misfit." not in page_of([make.estimate()])[1]


def test_runs_of_zero_are_counted_beside_the_number():
    found = make.split(1e-7, runs=(0.0, 0.0, 1e-7, 3e-7, 1e-13))
    page, body, _ = page_of([found])
    assert "5 runs, 2 of them 0, 1 left of the axis" in body
    (runs,) = [a for a, _ in page.with_class("runs")]
    assert runs["d"].count("M") == 2


def test_levels_are_a_chart_and_a_table():
    found = make.split()
    page, _, _ = page_of([found])
    lines = {a["class"].split()[1]: a["d"] for a, _ in page.with_class("run-line")}
    assert set(lines) == {"prob", "alive", "prior", "wall", "still"}
    assert lines["prob"].count("L") == len(found.levels) - 1
    places = [tuple(map(float, x.split())) for x in lines["prob"].removeprefix("M").split("L")]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted(y for _, y in places)  # 0 is the top
    assert places[-1][0] == 1000.0
    share = -math.log10(2.1e-9) / 10.0  # of ten decades
    assert places[-1][1] == pytest.approx(100.0 * share, abs=0.01)
    tables = [t for t in page.elements if t[0] == "summary"]
    assert "Data: 30 levels" in [text for _, _, texts in tables for text in texts]
    cells = [text for _, text in page.with_class("num")]
    assert f"{0.2 * (29 / 30) ** 3:.4g}" in cells


def test_methods_of_one_event_are_told_apart():
    page, _, lead = page_of([make.split(), make.estimate(method="itgis"), make.zero(name=" dog")])
    assert "ga-amls says once in 476 million inputs" in lead
    assert "itgis says once in 400 million inputs" in lead
    assert "naive says 0, and at most once in 1,370 inputs" in lead
    assert "Some of these" in page.with_class("notice")[0][1]


def test_an_event_of_several_tokens_and_steps_is_put_in_words():
    found = [
        make.estimate(event=Event(name=" a | b", steps=((1, 2),))),
        make.estimate(event=Event(name="no way by 2 nats", steps=((1,), (2,)), above=2.0)),
    ]
    _, body, _ = page_of(found[:1])
    assert "␣a or b" in body
    _, body, lead = page_of(found[1:])
    assert "the greedy answer begins with no␣way, each token more than 2 nats ahead" in lead
    assert "by␣2␣nats" not in body


def test_hostile_names_show_as_text():
    options = {"name": HOSTILE, "distribution": HOSTILE, "warnings": (HOSTILE,)}
    found = [make.estimate(**options), make.zero(**options)]
    page, body, lead = page_of(found)
    assert body.count(HOSTILE.replace(" ", "␣")) >= 2
    assert HOSTILE in body
    assert HOSTILE in lead
    assert page.tags() <= set(ALLOWED_TAGS.split())
    assert page.data()["rare"] == {"estimates": [encode(one.to_dict()) for one in found]}
    assert "<img" not in rare_page(found, None)


def test_a_page_is_of_one_model_under_one_law():
    with pytest.raises(InputError, match="nothing to show"):
        rare_page([], None)
    with pytest.raises(InputError, match=r"one model under one law of inputs, got .*'caps'"):
        rare_page([make.estimate(), make.estimate(distribution="caps")], None)
    other = make.truth()
    other = type(other)(**{name: getattr(other, name) for name in other.__slots__} | {"law": "x"})
    with pytest.raises(InputError, match="the truth is that of 'tiny-2l' under 'hex'"):
        rare_page([make.estimate()], other)


def test_a_law_is_put_in_its_own_words_whatever_it_is_called():
    _, body, _ = page_of([make.estimate(inputs="digits that I chose")])
    assert "hex: digits that I chose" in body
    _, body, _ = page_of([make.estimate()])
    assert "random hexadecimal" not in body


def test_many_levels_are_thinned_and_the_page_says_so():
    found = make.estimate(levels=make.levels_of_run(500))
    _, body, _ = page_of([found])
    assert "500 levels; 60 of them are shown, evenly spread" in body
    assert math.isclose(found.levels[-1]["log_prob"], math.log(2e-9))


def test_runs_that_were_given_up_are_no_estimate_of_zero():
    _, body, lead = page_of([make.zero(1.0, diagnostics={"given_up": 2})])
    assert "no estimate" in body
    assert "Zero is no proof." not in body
    assert "given up" in lead
