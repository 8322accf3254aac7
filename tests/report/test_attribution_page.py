import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest
from attributed_models import HOSTILE_WORDS, exact, hostile, loose, many, translator
from page_parts import Page
from test_document import ALLOWED_TAGS

import likely
from likely.attribution.question import attribute
from likely.report.attributed import score_shade
from likely.report.attribution_page import attribution_page
from likely.report.attribution_table import COLUMNS
from likely.report.display import visible


@pytest.fixture(scope="module")
def found():
    return exact()


@pytest.fixture(scope="module")
def html(found):
    return attribution_page(found)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def body_text(page):
    (text,) = ["".join(texts) for tag, _, texts in page.elements if tag == "body"]
    return re.sub(r"\s+", " ", text)


def policy_of(html):
    (policy,) = [
        attributes["content"]
        for _, attributes, _ in Page(html).elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    return policy


@pytest.mark.parametrize("make", [exact, hostile])
def test_page_runs_its_own_script_alone_and_loads_nothing(make):
    html = attribution_page(make())
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.S)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert policy_of(html).startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert policy_of(html).endswith(f"; script-src 'sha256-{digest}'")
    style = "".join(re.findall(r"<style>(.*?)</style>", html, flags=re.S))
    assert "url(" not in style
    assert "@import" not in style
    page = Page(html)
    assert page.tags() <= {*ALLOWED_TAGS.split(), "button", "ol", "small"}
    for _, attributes, _ in page.elements:
        assert not [name for name in attributes if name.startswith("on")], attributes
        links = [attributes.get(name) for name in ("src", "href", "action", "srcset")]
        assert all(link is None or link[0] == "#" or link == "data:," for link in links)


def test_hostile_tokens_show_as_text():
    page = Page(attribution_page(hostile()))
    shown = "".join(text for _, text in page.with_class("heat"))
    for word in HOSTILE_WORDS[:4]:
        assert word in shown
    assert "⟨U+202E⟩" in shown
    assert "{{ 7 }}" in body_text(page)


def test_tokens_carry_their_shade_and_say_their_score(found, page):
    tokens = [attributes for attributes, _ in page.with_class("t") if "data-place" in attributes]
    assert [attributes["id"] for attributes in tokens] == ["t0", "t1"]
    for attributes, score in zip(tokens, found.scores.tolist(), strict=True):
        assert score_shade(score) in attributes["class"]
    assert tokens[1]["title"] == "1 · ␣red · score +0.63 nats, exact"


def test_tokens_that_are_not_attributed_are_grey_and_say_so():
    page = Page(attribution_page(exact(positions=[1])))
    grey = [attributes for attributes, _ in page.with_class("off") if "title" in attributes]
    assert [attributes["title"] for attributes in grey] == ["0 · not attributed"]
    assert "1 of 2 attributed" in body_text(page)


def test_a_chat_says_whose_words_are_not_attributed(toy_bpe):
    found = attribute(
        toy_bpe, [{"role": "user", "content": "world"}], " C", context="A", method="exact"
    )
    page = Page(attribution_page(found))
    titles = [attributes.get("title", "") for attributes, _ in page.with_class("off")]
    assert any(title.endswith("not attributed (template)") for title in titles)


def test_scores_that_are_not_known_are_marked_and_warned_of():
    found = loose()
    page = Page(attribution_page(found))
    assert "Not known to ±1e-06 nats: 3 of 3 scores" in body_text(page)
    assert "Listed are tokens that were evaluated to the end" in body_text(page)
    marked = [attributes for attributes, _ in page.with_class("open") if "data-place" in attributes]
    assert len(marked) == 3
    assert all("not converged" in attributes["title"] for attributes in marked)
    exact_page = Page(attribution_page(exact()))
    assert not exact_page.with_class("open")
    assert "none: every number is exact" in body_text(exact_page)
    assert "Listed are tokens" not in body_text(exact_page)


def test_a_place_whose_interval_reaches_into_another_case_has_a_question_mark():
    found = loose()
    assert "question mark" not in body_text(Page(attribution_page(found)))
    last = found.places[-1]
    wide = replace(last.measures, score=replace(last.measures.score, low=0.2))
    unsure = replace(found, places=(*found.places[:-1], replace(last, measures=wide)))
    text = body_text(Page(attribution_page(unsure)))
    assert "A question mark: an interval reaches into another case." in text
    assert text.count(f"{visible(last.text)}?") == 1


def test_views_of_the_script_are_the_shades_of_the_numbers(found, html):
    (block,) = re.findall(r'id="views-data">(.*?)</script>', html)
    views = json.loads(block)
    decoded = {"0": ""} | {n: f"up{n}" for n in "1234"} | dict(
        zip("abcd", ["down1", "down2", "down3", "down4"], strict=True)
    )  # fmt: skip
    assert [decoded[x] for x in views["views"]["score"]] == list(map(score_shade, found.scores))
    for t, column in enumerate(views["columns"]):
        own = [decoded[x] for x in column]
        assert own == [score_shade(x) for x in found.matrix[:, t].tolist()]
    assert len(views["columns"]) == len(found.case.response)
    assert views["views"]["entropy"] == "22"  # 1.54 and 1.03 nats


def test_tables_hold_all_numbers_without_a_script(found, page):
    rows = [
        attributes["id"]
        for tag, attributes, _ in page.elements
        if tag == "tr" and "id" in attributes
    ]
    assert rows == ["s0", "s1", "n0", "n1"]
    heads = [
        t for t, attributes, _ in page.elements if t == "th" and attributes.get("scope") == "col"
    ]
    n_response = len(found.case.response)
    assert len(heads) == 2 + (2 + n_response + 1) + 4 + (2 + len(COLUMNS))
    text = body_text(page)
    for number in ("+0.633", "1.030", "0.224"):
        assert number in text


def test_substitutes_show_both_posteriors_and_their_own_scores(page):
    (row,) = [
        "".join(texts) for tag, attributes, texts in page.elements
        if tag == "tr" and attributes.get("id") == "s1"
    ]  # fmt: skip
    # "rouge." follows red with 0.8 of 0.425, "and" with 1/8 of it.
    for text in ("␣red50.0 %94.1 %+0.63", "␣blue30.0 %0−∞", "␣and20.0 %5.88 %−1.22"):
        assert text in row


def test_the_four_cases_hold_the_tokens(page):
    text = body_text(page)
    assert "what does changed the response. 1 token: ␣red" in text
    assert "would be about as likely. 1 token: say" in text
    assert "A score of 0 does not mean that a token is unimportant" in text


def test_how_it_was_found_is_said(found, page):
    text = body_text(page)
    for part in (
        found.model.identity,
        f"likely{likely.__version__}",
        "tolerance ±0.02 nats",
        "seed 0",
        f"{found.cost.token_evaluations} token evaluations",
        "Context ids8",
    ):
        assert part.replace(" ", "") in text.replace(" ", ""), part


def test_a_group_is_one_place_with_all_its_positions(found):
    group = replace(found.places[1], positions=(0, 1), text="say red")
    page = Page(attribution_page(replace(found, places=(group,))))
    tokens = [a["data-place"] for a, _ in page.with_class("t") if "data-place" in a]
    assert tokens == ["0", "0"]
    assert "2 of 2 attributed, in 1 group" in body_text(page)


def test_an_empty_response_has_a_page():
    text = body_text(Page(attribution_page(attribute(translator(), "say red", "", method="exact"))))
    assert "The response is empty, so that every score is 0." in text
    assert "No score is clearly above 0" in text


def test_a_long_prompt_comes_in_windows_and_its_page_stays_light(found):
    html = attribution_page(many(found, 600))
    windows = Page(html).with_class("from")
    assert [text for _, text in windows] == [
        "positions 0 to 249", "positions 250 to 499", "positions 500 to 599",
    ]  # fmt: skip
    assert len(html) < 2500 * 600


def test_a_long_response_is_shared_out_in_blocks(found):
    place = found.places[1]
    measures = replace(
        place.measures,
        matrix=found.matrix[1].repeat(50),
        matrix_error=place.measures.matrix_error.repeat(50),
    )
    long = replace(
        found,
        places=(replace(place, measures=measures),),
        response_log_probs=found.response_log_probs.repeat(50),
        case=replace(
            found.case, response=(5,) * 100, response_text="x" * 100,
            response_spans=tuple((i, i + 1) for i in range(100)), positions=(1,),
        ),
        excluded_mass=found.excluded_mass[:1],
    )  # fmt: skip
    text = body_text(Page(attribution_page(long)))
    for part in ("tokens 1 to 40", "tokens 41 to 80", "tokens 81 to 100"):
        assert part in text


def test_nothing_to_show_is_refused(found):
    with pytest.raises(likely.InputError, match="no places"):
        attribution_page(found.select([]))
    with pytest.raises(likely.InputError, match="at least 1, got 0"):
        attribution_page(found, k=0)
