"""Everything asked of one evaluation: planted laws, policies, and what items do not allow."""

import numpy as np
import pandas as pd
import pytest
from planted import items, line, policy

from likely.calibration.analyses.frequencies import NumberCounts
from likely.calibration.analysis import LABELLINGS, analyse
from likely.core.jsonio import dumps

PARTS = ("plane", "plane_any_mass", "regression", "reliability", "order", "strengths", "variance",
         "choices", "frequency")  # fmt: skip


def named(frame, **columns):
    """The table as an evaluation has it: options are names, so there is no line of numbers."""
    return frame.assign(wd_line=np.nan, wd_paper=np.sqrt(2.0) * frame["wd01"], **columns)


def analysed(frame, **options):
    return analyse(frame, n_resamples=100, **options)


def test_a_planted_law_is_found_part_by_part():
    base = items(n_pairs=20)
    strengths = {"blue": 0.6, "white": -0.6}
    frame = named(line(base, slope=0.7, position=0.4, strengths=strengths, noise=0.1))
    [found] = analysed(frame)
    assert (found.family, found.n_items, dict(found.skipped)) == ("colors", len(base), {})
    assert all(getattr(found, part) is not None for part in PARTS)
    assert found.regression.line.beta.value == pytest.approx(0.7, abs=0.05)
    assert found.regression.line.alpha.value == pytest.approx(0.4, abs=0.05)
    assert found.order.delta.value > 0.0
    assert found.strengths.strengths["blue"].value == pytest.approx(0.6, abs=0.05)
    assert found.reliability.ece > 0.0


@pytest.mark.parametrize(("name", "place"), [("first", (1.0, 1.0)), ("higher", (1.0, 0.0))])
def test_a_policy_has_one_label_in_every_cell_and_its_place_in_the_plane(name, place):
    [found] = analysed(named(policy(items(), name)))
    assert set(found.behaviours) == set(LABELLINGS)
    for labels in found.behaviours.values():
        assert labels == {f"pick_{name}": 3 * 12}  # templates and ordered pairs of four colours
    assert (found.plane.a, found.plane.b) == place


def test_little_mass_is_null_except_where_any_mass_will_do():
    [found] = analysed(named(policy(items(), "first"), pm=0.01))
    labels = {name: set(counts) for name, counts in found.behaviours.items()}
    assert labels == {
        "rates": {"null"}, "nearest": {"null"}, "likelihood": {"null"},
        "rates, any mass": {"pick_first"},
    }  # fmt: skip
    assert found.plane is None
    assert "null items" in found.skipped["plane"]
    assert (found.plane_any_mass.a, found.plane_any_mass.b) == (1.0, 1.0)


def test_what_items_do_not_allow_is_told_and_the_rest_is_there():
    [found] = analysed(named(line(items(templates=("C1",)), slope=0.5, noise=0.1)))
    assert found.regression is None
    assert "1 clusters" in found.skipped["regression"]
    assert set(found.skipped) == {part for part in PARTS if getattr(found, part) is None}
    assert found.order is not None


def test_only_items_with_two_named_options_are_looked_at():
    base = named(line(items(), slope=0.5, noise=0.1))
    numbers = base.assign(family="numbers", wd_line=1.0)
    many = base.assign(family="many", n_options=3)
    urns = base.assign(family="urns")
    [one, two] = analysed(pd.concat([numbers, urns, many, base], ignore_index=True))
    assert (one.family, two.family) == ("urns", "colors")
    assert analysed(numbers) == ()
    silent = base.assign(pi1=np.nan, wd01=np.nan, pm=0.0)
    [found] = analysed(silent)
    assert all(set(labels) == {"null"} for labels in found.behaviours.values())
    assert (found.plane, found.regression, found.order) == (None, None, None)
    one = base.assign(pi1=base["pi1"].mask(base.index == 7), pm=base["pm"].mask(base.index == 7, 0))
    assert set(analysed(one)[0].behaviours) == set(LABELLINGS)
    nowhere = base.assign(pi1=base["pi1"].where(base.index % 2 == 0))
    assert analysed(nowhere)[0].n_items == len(base) // 2


def test_frequencies_are_those_given_or_the_law_that_is_their_own_null():
    frame = named(line(items(n_pairs=20), slope=0.5, noise=0.1))
    [found] = analysed(frame)
    assert (found.frequency.source, found.frequency.kind) == ("1/n", "modelled")
    counts = NumberCounts(source="here", kind="exact", counts={n: 1 + n % 9 for n in range(1, 101)})
    [found] = analysed(frame, counts=counts)
    assert (found.frequency.source, found.frequency.kind) == ("here", "exact")
    [found] = analysed(frame.assign(n1=frame["n1"] / 4.0))
    assert "whole and at least 1" in found.skipped["frequency"]


def test_the_record_is_strict_json_with_every_part():
    [found] = analysed(named(policy(items(templates=("C1",)), "first")))
    record = found.to_dict()
    assert set(record) == {"family", "n_items", "behaviours", "skipped", *PARTS}
    assert record["plane_any_mass"] == {"a": 1.0, "b": 1.0}
    assert record["regression"] is None
    assert dumps(record)


def test_the_same_seed_gives_the_same_record():
    frame = named(line(items(), slope=0.5, noise=0.3))
    assert dumps(analysed(frame, seed=3)[0].to_dict()) == dumps(
        analysed(frame, seed=3)[0].to_dict()
    )
