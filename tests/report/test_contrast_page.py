"""The page of a contrast: its numbers, its colours, and nothing from outside."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from attributed_models import HOSTILE_WORDS, translator
from page_parts import Page
from test_attribution_page import body_text, policy_of

import likely
from likely.attribution import contrast
from likely.report.attributed import score_shade
from likely.report.contrast_page import contrast_page
from likely.report.contrasted import (
    HEADS,
    contrast_row,
    contrast_warnings,
    instead,
    look_at_contrast,
)
from likely.report.display import signed


@cache
def french(**options):
    """Return why "rouge." and not "bleu": after red, blue or "and" with 0.5, 0.3, 0.2."""
    return contrast(translator(), "say red", " rouge.", " and", method="exact", **options)


@cache
def page(**options):
    return Page(contrast_page(french(**options)))


def test_the_page_runs_its_own_script_alone_and_loads_nothing():
    words = dict.fromkeys(HOSTILE_WORDS, 1 / len(HOSTILE_WORDS))
    model = likely.TableModel(HOSTILE_WORDS, lambda _: words, name=HOSTILE_WORDS[0])
    text = "".join(HOSTILE_WORDS)
    html = contrast_page(contrast(model, text, HOSTILE_WORDS[1], HOSTILE_WORDS[2], method="exact"))
    (script,) = re.findall(r"<script>(.*?)</script>", html, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy_of(html).startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert policy_of(html).endswith(f"; script-src 'sha256-{digest}'")
    made = Page(html)
    for _, attributes, _ in made.elements:
        assert not [name for name in attributes if name.startswith("on")], attributes
        links = [attributes.get(name) for name in ("src", "href", "action", "srcset")]
        assert all(link is None or link[0] == "#" or link == "data:," for link in links)
    shown = "".join(text for _, text in made.with_class("heat"))
    assert all(word in shown for word in HOSTILE_WORDS[:4])


def test_tokens_carry_the_shade_of_their_difference_and_say_all_three_numbers():
    found = french()
    tokens = [a for a, _ in page().with_class("t") if "data-place" in a]
    assert [a["id"] for a in tokens] == ["t0", "t1"]
    for attributes, difference in zip(tokens, found.differences.tolist(), strict=True):
        assert score_shade(difference) in attributes["class"]
    first, second = (one.scores[1] for one in (found.first, found.second))
    # "and" follows red and blue with 0.1 and itself with 1/8.
    assert second == pytest.approx(math.log(0.1 / (0.8 * 0.1 + 0.2 / 8)), abs=1e-12)
    assert found.differences[1] == pytest.approx(first - second, abs=1e-12)
    said = f"1 · ␣red · difference +{first - second:.2f} nats, exact · score +{first:.2f}"
    assert tokens[1]["title"].startswith(said)
    assert tokens[1]["title"].endswith(f"of the other −{-second:.2f}")


def test_views_and_columns_are_those_of_both_responses():
    (block,) = re.findall(r'id="views-data">(.*?)</script>', contrast_page(french()))
    views = json.loads(block)
    found = french()
    names = {"difference": found.differences, "first": found.first.scores,
             "second": found.second.scores}  # fmt: skip
    codes = {"": "0"} | {f"up{n}": n for n in "1234"} | dict(
        zip(["down1", "down2", "down3", "down4"], "abcd", strict=True)
    )  # fmt: skip
    for name, scores in names.items():
        assert views["views"][name] == "".join(codes[score_shade(x)] for x in scores.tolist())
    assert len(views["columns"]) == len(found.first.case.response) + len(found.second.case.response)
    said = page().with_class("said")
    assert [a["data-name"] for a, _ in said] == [
        "token 1 of the response", "token 2 of the response", "token 1 of the other",
    ]  # fmt: skip
    assert set(views["says"]) == set(views["views"])


def test_tables_hold_all_numbers_without_a_script():
    found, text = french(), body_text(page())
    for number in (found.differences[1], found.first.scores[1]):
        assert signed(number, 3) in text
    (row,) = [
        "".join(texts) for tag, a, texts in page().elements if tag == "tr" and a.get("id") == "s1"
    ]
    assert "␣red50.0 %+0.63" in row.replace(" %", " %")
    assert len(contrast_row(found, 0)) == len(HEADS)
    assert "scores highest" not in text


def test_substitutes_have_both_scores_or_a_dash():
    found = french()
    rows = {one.text: one for one in instead(found, 1, 3)}
    assert rows[" red"].is_own
    assert rows[" red"].score == pytest.approx(found.first.scores[1], abs=1e-12)
    assert rows[" red"].other == pytest.approx(found.second.scores[1], abs=1e-12)
    place = found.second.places[1]
    few = replace(place, candidates=place.candidates.take(np.arange(0)))
    cut = replace(found, second=replace(found.second, places=(found.second.places[0], few)))
    assert all(one.other is None for one in instead(cut, 1, 3))
    assert "–" in contrast_page(cut)


def test_what_is_seen_is_said():
    seen = look_at_contrast(french())
    assert seen.best.text == " red"
    assert seen.worst is None
    assert seen.n_near == 1
    text = body_text(page())
    assert "␣red spoke most for the response" in text
    back = contrast(translator(), "say red", " and", " rouge.", method="exact")
    assert look_at_contrast(back).worst.text == " red"
    assert "␣red spoke most for the other" in body_text(Page(contrast_page(back)))
    far = contrast(translator(), "say red", " rouge", " and", method="exact")
    assert "is 8.0 times as likely after this prompt as the other, ␣and" in body_text(
        Page(contrast_page(far))
    )
    near = contrast(translator(), "say red", " and", " rouge", method="exact")
    assert "The other response, ␣rouge, is 8.0 times as likely" in body_text(
        Page(contrast_page(near))
    )
    same = contrast(translator(), "say red", " and", " and", method="exact")
    text = body_text(Page(contrast_page(same)))
    assert "are alike likely" in text
    assert "No token clearly spoke for either." in text


def test_groups_that_overlap_and_differences_that_are_wide_are_warned_of():
    found = french(groups=((0, 1), (1,)))
    assert any("1 token is in more than one" in line for line in contrast_warnings(found))
    text = body_text(Page(contrast_page(found)))
    assert "2 of 2 attributed, in 2 groups" in text
    place = found.places[0]
    wide = replace(
        place, converged=False, method="adaptive", reason="budget",
        difference=replace(place.difference, high=place.difference.value + 0.5, level=0.95),
    )  # fmt: skip
    loose = replace(found, places=(wide, found.places[1]))
    assert contrast_warnings(loose)[0].startswith("Not known to ±0.02 nats: 1 of 2 differences")
    assert "up to 0.50" in contrast_warnings(loose)[0]
    marked = [a for a, _ in Page(contrast_page(loose)).with_class("open") if "data-place" in a]
    assert len(marked) == 2


def test_what_is_said_of_one_response_names_it():
    found = contrast(translator(), "say red", " rouge", "", method="exact")
    assert contrast_warnings(found) == (
        "Of the other: The response is empty, so that every score is 0.",
    )
    assert "The other is empty" in body_text(Page(contrast_page(found)))


def test_nothing_to_show_is_refused():
    found = french()
    with pytest.raises(likely.InputError, match="no places"):
        contrast_page(replace(found, places=()))
    with pytest.raises(likely.InputError, match="at least 1, got 0"):
        contrast_page(found, k=0)
