import json
import re
from pathlib import Path

import pytest
from page_parts import Page
from report_models import HOSTILE, bigram_model, coin, hostile_model
from small_suite import put_in_place

import likely
from likely import report
from likely.core.jsonio import encode
from likely.report import Section, render_source
from likely.report.passage import Passage, load_passage
from likely.report.sections.reading import ReadingSection

ALLOWED_TAGS = """
    html head meta link title style body header main footer section nav ol ul li a p h1 h2 h3 dl dt
    dd div span b i strong mark code time table thead tbody tr th td details summary figure
    figcaption svg path script
"""


class Extra:
    name = "extra"
    title = "An extra section"
    order = 15

    def __init__(self, body="<b>{{ value }}</b>", value="<i>five</i>"):
        self.template, self.value = body, value

    def build(self, model, job):
        body = render_source(self.template, value=self.value)
        cost = likely.Cost(token_evaluations=7)
        data = {"value": self.value, "seed": job.seed, "preset": job.preset}
        return Section(name=self.name, title=self.title, body=body, data=data, cost=cost)


@pytest.fixture(scope="module", autouse=True)
def small_suite():
    """Put a few rows in the place of ProbCT, whose grounding is slow under type checks."""
    with pytest.MonkeyPatch.context() as patch:
        put_in_place(patch)
        yield


@pytest.fixture(scope="module")
def smoke(small_suite):
    return report.build(bigram_model(load_passage("smoke").text), seed=3)


@pytest.fixture(scope="module")
def hostile():
    reading = ReadingSection(passage=Passage(text="".join(HOSTILE), source=HOSTILE[1]))
    return report.build(hostile_model(), sections=["card", "self-check", reading])


@pytest.mark.parametrize("which", ["smoke", "hostile"])
def test_page_has_only_tags_and_attributes_that_templates_write(which, request):
    page = Page(request.getfixturevalue(which).html)
    assert page.tags() <= set(ALLOWED_TAGS.split())
    for tag, attributes, _ in page.elements:
        assert not [name for name in attributes if name.startswith("on")], attributes
        assert tag != "script" or attributes["type"] == "application/json"


def test_hostile_tokens_names_and_details_show_as_text(hostile):
    page = Page(hostile.html)
    text = "".join("".join(texts) for tag, _, texts in page.elements if tag == "body")
    for token in HOSTILE[:8]:
        assert token in text
    assert "{{ 7 * 7 }}" in text
    shown = "".join(content for _, content in page.with_class("heat"))
    assert shown.startswith("".join(HOSTILE[:8]))
    assert "⟨U+202E⟩evil⟨U+2028⟩⟨U+0000⟩" in shown


def test_data_blocks_survive_hostile_text_unchanged(hostile):
    assert Page(hostile.html).data() == encode(hostile.to_dict())["sections"]
    assert hostile.to_dict()["sections"]["reading"]["source"] == HOSTILE[1]


@pytest.mark.parametrize("which", ["smoke", "hostile"])
def test_nothing_is_loaded_from_elsewhere(which, request):
    html = request.getfixturevalue(which).html
    style = "".join(re.findall(r"<style>(.*?)</style>", html, flags=re.S))
    assert style
    assert "url(" not in style
    assert "@import" not in style
    for _, attributes, _ in Page(html).elements:
        links = [attributes.get(name) for name in ("src", "href", "action", "srcset", "data")]
        assert all(link is None or link[0] == "#" or link == "data:," for link in links)
        assert "url(" not in (attributes.get("style") or "")


def test_policy_forbids_the_network_and_scripts(smoke):
    policies = [
        attributes["content"]
        for tag, attributes, _ in Page(smoke.html).elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_every_section_has_its_data_beside_it(smoke):
    page = Page(smoke.html)
    data = page.data()
    assert list(data) == [
        "card",
        "self-check",
        "reading",
        "logic",
        "calibration",
        "attribution",
        "rare",
    ]
    assert data == encode(smoke.to_dict())["sections"]
    n_charts = len(page.with_class("chart")) + len(page.with_class("heat"))
    assert n_charts == 2
    assert [tag for tag, _, _ in page.elements].count("details") == 1  # one table for both


def test_contents_link_to_every_section(smoke):
    page = Page(smoke.html)
    links = [attributes["href"] for tag, attributes, _ in page.elements if tag == "a"]
    ids = [attributes.get("id") for tag, attributes, _ in page.elements if tag == "section"]
    assert (
        links
        == [f"#{name}" for name in ids]
        == [
            "#card",
            "#self-check",
            "#reading",
            "#logic",
            "#calibration",
            "#attribution",
            "#rare",
        ]
    )


def test_header_names_model_version_seed_preset_and_cost(smoke):
    html = smoke.html
    header = html[html.index("<header>") : html.index("</header>")]
    cost = smoke.cost
    assert cost.token_evaluations == sum(s.cost.token_evaluations for s in smoke.sections) > 0
    for text in ("table of pairs", likely.__version__, "<dd>3</dd>", "smoke", smoke.made[:10]):
        assert text in header
    assert f"{cost.token_evaluations:,} token evaluations" in header


def test_a_section_is_added_by_an_object_and_takes_its_place_by_order():
    made = report.build(coin(), seed=5, sections=["self-check", Extra(), "card"])
    assert [section.name for section in made.sections] == ["card", "extra", "self-check"]
    assert made.to_dict()["sections"]["extra"] == {
        "value": "<i>five</i>",
        "seed": 5,
        "preset": "smoke",
    }
    assert "<b>&lt;i&gt;five&lt;/i&gt;</b>" in made.html
    assert made.cost.token_evaluations == 7 + sum(
        section.cost.token_evaluations for section in made.sections if section.name != "extra"
    )


def test_a_section_is_added_by_one_line_in_the_registry(monkeypatch):
    monkeypatch.setitem(report.SECTIONS._targets, "extra", f"{__name__}:EXTRA")
    made = report.build(coin())
    names = [section.name for section in made.sections]
    assert names == [
        "card",
        "extra",
        "self-check",
        "reading",
        "logic",
        "calibration",
        "attribution",
        "rare",
    ]


EXTRA = Extra()


def test_parts_are_there_for_a_section_in_one_file():
    source = (
        '{% import "parts.html" as parts %}{{ parts.notice(value) }}'
        '{{ parts.data_table("Data", [("x", "nats", true)], [[value]]) }}'
    )
    made = report.build(coin(), sections=[Extra(body=source, value="<u>")])
    assert made.html.count("&lt;u&gt;") == 2
    assert "<u>" not in made.html


def test_a_body_that_is_a_plain_string_shows_as_text():
    class Plain(Extra):
        def build(self, model, job):
            return Section(name="plain", title="<b>", body="<script>1</script>", data={})

    html = report.build(coin(), sections=[Plain()]).html
    assert "&lt;script&gt;1&lt;/script&gt;" in html
    assert "<script>1" not in html


def test_two_sections_of_one_name_are_refused():
    with pytest.raises(likely.InputError, match="two sections are named 'extra'"):
        report.build(coin(), sections=[Extra(), Extra()])


def test_a_name_that_is_no_id_is_refused():
    bad = Extra()
    bad.name = 'x" onclick="'
    with pytest.raises(likely.InputError, match="lower-case letters"):
        report.build(coin(), sections=[bad])


def test_unknown_presets_and_sections_are_named():
    with pytest.raises(likely.UnknownNameError, match=r"no preset named 'smok'.*smoke"):
        report.build(coin(), preset="smok")
    with pytest.raises(likely.UnknownNameError, match=r"no section named 'crad'.*card"):
        report.build(coin(), sections=["crad"])


def test_full_reads_more_than_smoke():
    model = bigram_model(load_passage("full").text)
    few, many = (
        report.build(model, preset=preset, sections=["reading"]).to_dict()["sections"]["reading"]
        for preset in ("smoke", "full")
    )
    assert many["text"]["text"].startswith(few["text"]["text"])
    assert many["totals"]["n_tokens"] > 2 * few["totals"]["n_tokens"]
    assert (len(few["positions"]), len(many["positions"])) == (4, 8)


def test_json_is_strict_and_impossible_tokens_keep_their_value():
    never = coin(heads=0.0)
    reading = ReadingSection(passage=Passage(text="TH", source="two tosses"))
    made = report.build(never, sections=[reading])
    block = Page(made.html).data()["reading"]
    assert block["text"]["token_log_probs"] == [0.0, "-inf"]
    assert json.loads(made.to_json())["sections"]["reading"] == block
    assert "−∞" in made.html


def test_same_seed_and_cache_give_the_same_page_at_no_evaluation(tmp_path):
    cache = likely.ScoreCache(tmp_path / "scores.db")
    model = bigram_model(load_passage("smoke").text, fingerprint="pairs")
    first, again = (report.build(model, cache=cache, sections=["reading"]) for _ in range(2))
    assert first.cost.token_evaluations > 0
    assert again.cost.token_evaluations == 0
    bodies = [made.sections[0].body for made in (first, again)]
    assert bodies[0] == bodies[1]


def test_meter_sees_the_tokens_of_the_reading():
    class Count:
        expected = done = 0

        def expect(self, tokens):
            self.expected += tokens

        def advance(self, tokens):
            self.done += tokens

    meter = Count()
    made = report.build(bigram_model(load_passage("smoke").text), meter=meter, sections=["reading"])
    assert meter.expected == meter.done == made.cost.token_evaluations


def test_the_section_of_the_docs_works_as_written():
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    names = {}
    exec(blocks[-1], names)
    page = Page(report.build(coin(), sections=[names["Hesitation"]()]).html)
    text = " ".join("".join(texts) for tag, _, texts in page.elements if tag == "p")
    assert "After “H” the model hesitates by 0.81 bits." in text
    assert [cell for _, cell in page.with_class("num")][1:] == ["0.750", "0.250", "0.000"]
