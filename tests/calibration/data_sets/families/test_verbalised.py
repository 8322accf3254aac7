"""Questions about probabilities: a whole percentage is right, and a revealed twin exists."""

import re
from collections import Counter
from fractions import Fraction

from family_checks import rendered

from likely.calibration.data_sets.families.verbalised import TOTALS
from likely.calibration.data_sets.family import build

STATED = rendered("verbalised", "lite")
REVEALED = tuple(build("verbalised", preset="lite", design="revealed"))
COUNT = re.compile(
    r"(\d+) (red|blue|green|yellow|black|white)|(red|blue|green|yellow|black|white) buttons: (\d+)"
    r"|(\d+) (?:balloons? )?(?:is|are) (red|blue|green|yellow|black|white)"
)


def counts(item):
    found = [[part for part in groups if part] for groups in COUNT.findall(item.context)]
    return {next(p for p in pair if not p.isdigit()): int(next(filter(str.isdigit, pair)))
            for pair in found}  # fmt: skip


def test_the_law_is_the_point_mass_at_the_percentage_of_the_colour_asked_for():
    for item in STATED:
        urn = counts(item)
        asked = item.meta["mention"].split("/")[item.meta["asked"] == "second"]
        assert len(re.findall(rf"\b{asked}\b", item.context)) == 2, item.context
        percent = Fraction(100 * urn[asked], sum(urn.values()))
        assert percent.denominator == 1
        assert item.ideal.index(1) == percent == item.meta["percent"]
        assert item.options[int(percent)].value == percent


def test_each_event_is_asked_for_as_often_as_the_other():
    asked = Counter((i.template_id, i.meta["mention"], i.meta["asked"]) for i in STATED)
    assert len(set(asked.values())) == 1
    percents = Counter(i.meta["percent"] for i in STATED)
    assert all(percents[p] == percents[100 - p] for p in percents)


def test_sums_of_counts_divide_a_hundred_and_are_all_used():
    assert {sum(item.numbers) for item in STATED} == set(TOTALS)
    assert all(100 % total == 0 for total in TOTALS)


def test_options_are_0_to_100_in_percent():
    options = STATED[0].options
    assert [option.value for option in options] == list(range(101))
    assert [option.words for option in options] == [(str(k),) for k in range(101)]


def test_a_revealed_item_tells_the_same_scene_up_to_its_end():
    revealed = {item.meta["link"]: item for item in REVEALED}
    assert len(revealed) == len(REVEALED)
    uses = Counter(item.meta["link"] for item in STATED)
    assert set(uses) == set(revealed)
    assert set(uses.values()) == {2}
    for item in STATED:
        twin = revealed[item.meta["link"]]
        scene = twin.context[: twin.context.rindex(". ") + 1]
        assert item.context.startswith(scene)
        urn = counts(twin)
        law = tuple(Fraction(urn[o.label], sum(urn.values())) for o in twin.options)
        assert twin.ideal == law
        assert twin.numbers == item.numbers


def test_revealed_cells_are_mirrored():
    cells = Counter((i.template_id, i.option_pair_id, i.higher) for i in REVEALED)
    for template, pair, _ in cells:
        assert cells[template, pair, "first"] == cells[template, pair, "second"]
