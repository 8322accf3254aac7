import re
from collections import Counter
from fractions import Fraction

import pytest
from family_checks import rendered

from likely.calibration.data_sets.families.distributions import (
    NOTATIONS,
    STARTS,
    TEMPLATES,
    WIDTHS,
    starts,
)
from likely.calibration.data_sets.family import build

LITE = rendered("distributions", "lite")


def sampled():
    """Return every 7th item of the full set: all templates, widths and notations are in it."""
    items = tuple(build("distributions", preset="full")[::7])
    assert {(i.template_id, i.notation) for i in items} == {
        (template_id, notation) for template_id in TEMPLATES for notation in NOTATIONS
    }
    return items


SAMPLED = sampled()


def test_the_full_set_is_5_templates_by_320_distinct_intervals_by_3_notations():
    specs = build("distributions", preset="full").specs
    assert len(specs) == len(set(specs)) == 4800
    intervals = {(spec.low, spec.width) for spec in specs}
    assert len(intervals) == 320
    assert Counter(width for _, width in intervals) == dict.fromkeys(WIDTHS, 40)
    assert Counter(spec.notation for spec in specs) == dict.fromkeys(NOTATIONS, 1600)


def test_starts_are_distinct_and_lie_in_their_scale():
    assert sorted(starts("0-9")) == list(range(10))
    for scale, (low, high, n) in STARTS.items():
        drawn = starts(scale, seed=5)
        assert len(drawn) == len(set(drawn)) == n
        assert all(low <= x <= high for x in drawn)


def test_smaller_presets_use_one_notation_and_the_same_intervals():
    assert {item.notation for item in LITE} == {"half_open"}
    full = set(build("distributions", preset="full").specs)
    for preset, n_intervals, n_templates in (("lite", 64, 5), ("smoke", 20, 2)):
        specs = set(build("distributions", preset=preset).specs)
        assert specs < full
        assert len({(spec.low, spec.width) for spec in specs}) == n_intervals
        assert len({spec.template_id for spec in specs}) == n_templates


def bounds(context):
    """Return the first and the last integer that a context gives a chance, read from its text."""
    for pattern, is_closed in (
        (r"in \[(\d+), (\d+)\)", False),
        (r"between (\d+) and (\d+) inclusive", True),
        (r"from (\d+) up to but not including (\d+)", False),
    ):
        match = re.search(pattern, context)
        if match:
            return int(match[1]), int(match[2]) - (not is_closed)
    raise AssertionError(context)


def test_the_options_are_the_integers_that_the_text_allows_all_alike():
    for item in SAMPLED:
        low, last = bounds(item.context)
        integers = list(range(low, last + 1))
        assert [option.label for option in item.options] == [str(x) for x in integers]
        assert [option.value for option in item.options] == integers
        assert set(item.ideal) == {Fraction(1, len(integers))}
        assert re.findall(r"\d+", item.context) == [str(x) for x in item.numbers]
        assert item.number_pair_id == f"{low}:{last + 1}"
        assert item.order == "none"
        assert item.weight == 1


def test_flags_say_what_the_interval_contains():
    for item in SAMPLED:
        values = [int(option.label) for option in item.options]
        lengths = {len(option.label) for option in item.options}
        assert item.meta == {
            "width": len(values),
            "crosses_digit_length": len(lengths) > 1,
            "contains_round": any(value % 10 == 0 for value in values),
            "contains_7": any(str(value).endswith("7") for value in values),
        }
    for flag in ("crosses_digit_length", "contains_round", "contains_7"):
        assert {item.meta[flag] for item in SAMPLED} == {True, False}


@pytest.mark.parametrize("template_id", TEMPLATES)
def test_the_blank_is_the_stem_without_numbers(template_id):
    item = next(item for item in LITE if item.template_id == template_id)
    assert item.blank is not None
    assert item.blank.count("{n}") == 2
    assert not re.search(r"\d", item.blank)
    assert re.sub(r"\d+", "{n}", item.context) == item.blank
