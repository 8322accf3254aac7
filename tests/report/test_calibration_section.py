"""The section on numbers in the context, drawn from policies whose every number is known."""

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from measured_policies import estimate, integer_items, measured
from page_parts import Page
from policies import policy_model
from report_models import HOSTILE, TopOnly, coin
from test_document import ALLOWED_TAGS

from likely import report
from likely.calibration.data_sets.items import Option, make_item
from likely.core.jsonio import encode
from likely.errors import CapabilityError
from likely.report.numeracy import look_at, meaning
from likely.report.section import Job
from likely.report.sections import calibration as section
from likely.report.sections.calibration import (
    CalibrationSection,
    choose_items,
    measure_items,
    show,
)
from likely.report.squares import dots


def built(seen, **more):
    section = CalibrationSection(measure=lambda model, items, job: seen)
    return report.build(coin(), sections=[section], **more)


@pytest.fixture(scope="module")
def sharp():
    return measured("sharp")


@pytest.fixture(scope="module")
def page(sharp):
    return Page(built(sharp).html)


def texts(page, tag):
    return [re.sub(r"\s+", " ", "".join(t)).strip() for kind, _, t in page.elements if kind == tag]


def test_the_page_has_only_what_templates_write_and_loads_nothing(page):
    assert page.tags() <= set(ALLOWED_TAGS.split())
    for tag, attributes, _ in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert tag != "script" or attributes["type"] == "application/json"
        for name in ("src", "href", "data", "srcset"):
            assert attributes.get(name) is None or attributes[name][0] == "#" or \
                attributes[name] == "data:,"  # fmt: skip


def test_the_data_on_the_page_is_that_of_the_look(page, sharp):
    data = page.data()["calibration"]
    assert data == encode(look_at(sharp).to_dict())
    assert [family["name"] for family in data["families"]] == ["colors", "distributions"]


def test_every_family_shows_its_numbers(page, sharp):
    seen = look_at(sharp)
    values = [value.split()[0].replace("−", "-") for _, value in page.with_class("value")]
    wanted = [
        e.value
        for get in ("mass", "distance", "entropy_gap")
        for e in (getattr(family, get) for family in seen.families)
    ]
    np.testing.assert_allclose([float(v) for v in values], wanted, atol=0.0051)


def test_means_are_those_of_the_frame(sharp):
    for family in look_at(sharp).families:
        own = sharp.frame[sharp.frame["family"] == family.name]
        assert family.n_items == len(own)
        assert family.distance.value == pytest.approx(own[family.metric].mean(), abs=1e-12)
        assert family.entropy_floor == pytest.approx(-own["entropy_ideal"].mean(), abs=1e-12)
        assert family.share_gated == (own["pm"] >= 0.75).mean()
    assert [f.metric for f in look_at(sharp).families] == ["wd01", "wd_line_norm"]


def test_every_item_is_in_exactly_one_dot(sharp):
    colors, integers = look_at(sharp).families
    assert sum(dot.n for dot in colors.dots) == colors.n_items
    assert integers.dots == ()


def test_the_lines_stand_at_the_baselines_of_the_family(sharp):
    colors, integers = look_at(sharp).families
    table = sharp.baselines.set_index(["family", "metric", "baseline"])["value"]
    assert list(colors.baselines) == ["best_constant", "higher_0.7", "uniform", "pick_higher"]
    for name, value in colors.baselines.items():
        assert value == table["colors", "wd01", name]
    assert integers.baselines == {"pick_first": 0.5}


def test_the_worst_items_are_shown_as_text_with_what_they_say(page, sharp):
    colors = look_at(sharp).families[0]
    own = sharp.frame[sharp.frame["family"] == "colors"]
    assert colors.cases[0].distance == own["wd01"].max()
    assert len({frozenset(o.label for o in case.outcomes) for case in colors.cases}) == 2
    shown = texts(page, "p")
    for case in colors.cases:
        assert f"{case.context} …" in shown
        assert sum(outcome.prob for outcome in case.outcomes) == pytest.approx(1.0)
        assert sum(outcome.ideal for outcome in case.outcomes) == 1
    cells = texts(page, "td")
    assert str(colors.cases[0].outcomes[0].ideal) in cells


def test_of_many_options_those_are_shown_where_the_model_is_furthest_off():
    seen = look_at(measured("half"))
    case = seen.families[1].cases[0]
    assert len(case.outcomes) == 5 < case.n_options
    assert case.outcomes[0].prob == pytest.approx(0.55)
    assert f"5 of {case.n_options} options: those where the model is furthest off" in show(seen)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("calibrated", "It follows the numbers"),
        ("first", "Always picking the option with the larger number would be nearer"),
        ("higher", "Equal shares, which know nothing of the numbers, would be nearer"),
    ],
)
def test_the_sentence_of_a_policy_is_true_of_it(policy, words):
    colors = look_at(measured(policy)).families[0]
    assert meaning(colors).startswith(words)


def test_a_wide_interval_bears_no_verdict(sharp):
    colors = look_at(sharp).families[0]
    unsure = replace(colors, distance=estimate(0.2, half=0.2))
    assert (
        meaning(unsure)
        == "Whether it does better than simple rules cannot be told from these items."
    )


def test_little_mass_comes_before_any_verdict():
    colors = look_at(measured("calibrated", mass=0.5)).families[0]
    assert meaning(colors).startswith("Only 50.0 % of its probability falls on the options")


def test_no_mass_at_all_is_said_and_nothing_is_drawn():
    seen = look_at(measured("calibrated", mass=0.0))
    assert [family.distance for family in seen.families] == [None, None]
    assert [family.n_undefined for family in seen.families] == [f.n_items for f in seen.families]
    html = show(seen)
    assert html.count("no probability at all") == 2
    assert "How far from the law?" not in html
    assert "furthest off" not in html


def test_what_a_model_cannot_give_is_said_in_its_place():
    def refuse(model, items, job):
        raise CapabilityError("this server tells <nothing>")

    made = report.build(coin(), sections=[CalibrationSection(measure=refuse)])
    assert made.to_dict()["sections"]["calibration"] == {"problem": "this server tells <nothing>"}
    assert "tells &lt;nothing&gt;" in made.html


def test_hostile_words_show_as_text():
    one, other = HOSTILE[0], HOSTILE[2]
    quarter = (Fraction(1, 4), Fraction(3, 4))
    items = tuple(
        make_item(
            family="colors", version=1, template_id="C1", template="x", context=f"{one}: it is",
            options=[Option(label=x, words=(x,)) for x in pair], ideal=quarter[::step],
            numbers=(1, 3)[::step], number_pair_id=str(pair),
        )
        for pair in ((one, other), (other, one))
        for step in (1, -1)
    )  # fmt: skip
    page = Page(built(measured("sharp", items=items)).html)
    assert page.tags() <= set(ALLOWED_TAGS.split())
    assert all(t["type"] == "application/json" for tag, t, _ in page.elements if tag == "script")
    assert f"{one}: it is …" in texts(page, "p")
    assert {one, other} <= set(texts(page, "td"))


def test_a_smoke_report_asks_a_few_dozen_items_in_balanced_cells():
    items = choose_items(Job(preset="smoke", seed=0))
    assert 24 <= len([i for i in items if i.family == "colors"]) <= 100
    higher = Counter(
        (i.template_id, i.option_pair_id, i.higher) for i in items if i.family == "colors"
    )
    assert len(set(higher.values())) == 1
    assert {key[2] for key in higher} == {"first", "second"}


def test_a_full_report_asks_the_preset_lite(monkeypatch):
    asked = []

    def build(name, *, preset, seed):
        asked.append((name, preset, seed))
        return integer_items(1)

    monkeypatch.setattr(section, "build", build)
    choose_items(Job(preset="full", seed=3))
    assert ("colors", "lite", 3) in asked
    assert {(preset, seed) for _, preset, seed in asked} == {("lite", 3)}


def test_dots_are_larger_where_more_items_are():
    made = dots([(0.0, 1.0, 1), (1.0, 0.0, 2), (0.5, 0.5, 3), (0.25, 0.75, 11)])
    assert {d.name: d.path for d in made} == {
        "few": "M0.0 0.0h0M100.0 100.0h0", "some": "M50.0 50.0h0", "many": "M25.0 25.0h0",
    }  # fmt: skip


def test_the_cost_of_the_section_is_that_of_the_pass(sharp):
    assert built(sharp).cost == sharp.cost


def test_cells_without_mass_count_as_behaviour_but_have_no_place(sharp):
    null = sharp.cells.assign(a=np.nan, b=np.nan, dominant="null")
    seen = look_at(replace(sharp, cells=null))
    assert seen.families[0].behaviours == {"null": len(null)}
    html = show(seen)
    assert "Which option is picked" not in html
    assert "<td>Null</td>" in html


def test_an_interval_that_leaves_the_scale_is_drawn_to_its_edge(sharp):
    wide = replace(sharp.estimates["colors", "pm"], value=0.01, low=-0.2, high=1.4)
    seen = look_at(replace(sharp, estimates=sharp.estimates | {("colors", "pm"): wide}))
    page = Page(show(seen))
    bars = [a["d"] for tag, a, _ in page.elements if a.get("class") == "interval opened"]
    assert bars[0] == "M0.00 50.00H1000.00"
    assert next(value for _, value in page.with_class("value")) == "0.01 −0.20 to 1.40"


def test_two_numbers_as_options_have_no_first_one(sharp):
    integers = sharp.frame["family"] == "distributions"
    frame = sharp.frame.assign(
        p1=sharp.frame["p1"].where(~integers, 0.5), pi1=sharp.frame["pi1"].where(~integers, 0.9)
    )
    seen = look_at(replace(sharp, frame=frame))
    assert seen.families[1].dots == seen.families[1].spots == ()
    assert seen.families[1].right is None


@pytest.mark.parametrize(
    ("policy", "distance", "words"),
    [
        ("calibrated", 0.0, "It follows the numbers"),
        ("pick_first", 0.5, "Always picking the option with the larger"),
    ],
)
def test_the_registered_section_asks_the_model_itself(policy, distance, words):
    items = choose_items(Job(preset="smoke", seed=0))
    made = report.build(policy_model(items, policy), sections=["calibration"])
    colors, integers = made.to_dict()["sections"]["calibration"]["families"]
    assert (colors["n_items"], integers["n_items"]) == (72, 10)
    assert colors["mass"]["value"] == pytest.approx(1.0, abs=1e-6)
    assert colors["distance"]["value"] == pytest.approx(distance, abs=1e-6)
    assert integers["distance"]["value"] == pytest.approx(distance, abs=1e-6)
    assert colors["meaning"].startswith(words)
    assert {cell["behaviour"] for cell in colors["cells"]} == {policy}
    assert made.cost.token_evaluations > 0


def test_a_model_that_lists_only_its_likeliest_tokens_gets_no_means_of_chosen_items():
    job = Job(preset="smoke", seed=0)
    items = [item for item in choose_items(job) if item.family == "colors"]
    model = TopOnly(policy_model(items, "calibrated"), k=1)
    with pytest.raises(CapabilityError, match="got 72 of 72 items between bounds"):
        measure_items(model, items, job)
    made = report.build(model, sections=["calibration"])
    assert list(made.to_dict()["sections"]["calibration"]) == ["problem"]


def test_a_tokenizer_that_cannot_spell_the_items_gets_a_notice():
    made = report.build(coin(), sections=["calibration"])
    assert list(made.to_dict()["sections"]["calibration"]) == ["problem"]
