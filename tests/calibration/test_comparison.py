"""Two models on the same items: differences that are known, and what is left out."""

import numpy as np
import pandas as pd
import pytest
from planted import items, line, policy

from likely.calibration.comparison import compare_models
from likely.core.jsonio import dumps
from likely.errors import InputError
from likely.stats.comparison import holm

FEW = {"metrics": ("wd01", "pm"), "n_resamples": 100}


def by_name(found):
    return {(one.family, one.metric): one for one in found}


def test_a_model_does_not_differ_from_itself():
    frame = line(items(), slope=0.5, noise=0.3)
    for one in compare_models(frame, frame, **FEW):
        delta = one.comparison.delta
        assert (delta.value, delta.low, delta.high) == (0.0, 0.0, 0.0)
        assert one.comparison.test.p_value == one.adjusted_p == 1.0


def test_a_difference_is_that_of_the_means_item_by_item():
    ours, theirs = policy(items(), "first"), line(items(), slope=0.5)
    one = by_name(compare_models(ours, theirs, **FEW))["colors", "wd01"]
    assert one.n_items == len(ours)
    assert one.comparison.first.value == pytest.approx(ours["wd01"].mean())
    assert one.comparison.delta.value == pytest.approx((ours["wd01"] - theirs["wd01"]).mean())
    swapped = by_name(compare_models(theirs, ours, **FEW))["colors", "wd01"]
    assert swapped.comparison.delta.value == pytest.approx(-one.comparison.delta.value)


def test_items_are_matched_by_their_id_and_others_left_out():
    ours, theirs = policy(items(), "first"), line(items(), slope=0.5, noise=0.3)
    whole = compare_models(ours, theirs, **FEW)
    shuffled = theirs.sample(frac=1.0, random_state=0)
    assert compare_models(ours, shuffled, **FEW) == whole
    part = by_name(compare_models(ours, theirs.iloc[::2], **FEW))["colors", "wd01"]
    assert part.n_items == len(theirs) // 2
    assert part.comparison.first.value == pytest.approx(ours["wd01"].iloc[::2].mean())


def test_p_values_are_adjusted_for_all_rows_together():
    ours = policy(items(templates=tuple("ABCDEF")), "first")
    ours["pm"] = 0.9
    other = ours.assign(family="urns", id="u" + ours["id"])
    both = pd.concat([ours, other], ignore_index=True)
    theirs = both.assign(wd01=both["wd01"] - 0.1, pm=1.0)
    found = compare_models(both, theirs, **FEW)
    assert [one.family for one in found] == ["colors", "colors", "urns", "urns"]
    p_values = np.array([one.comparison.test.p_value for one in found])
    assert p_values.max() < 0.05
    assert [one.adjusted_p for one in found] == holm(p_values).tolist()
    assert found[0].to_dict()["adjusted_p"] == found[0].adjusted_p
    assert dumps([one.to_dict() for one in found])


def test_metrics_that_are_not_defined_or_vary_in_nothing_are_left_out():
    ours = policy(items(), "first")
    undefined = ours.assign(pm=np.nan)
    found = compare_models(ours, undefined, **FEW)
    assert [one.metric for one in found] == ["wd01"]
    one_cell = ours[(ours["template"] == "C1") & (ours["option_set"] == "blue/red")]
    one_cell = one_cell[one_cell["number_pair"] == one_cell["number_pair"].iloc[0]]
    lone = one_cell.assign(family="lone", id="l" + one_cell["id"])
    both = pd.concat([ours, lone], ignore_index=True)
    assert {one.family for one in compare_models(both, both, **FEW)} == {"colors"}
    with pytest.raises(InputError, match="2 levels of a factor"):
        compare_models(lone, lone, **FEW)


def test_models_that_cannot_be_compared_are_told():
    ours = policy(items(), "first")
    with pytest.raises(InputError, match="share no item; run both with the same preset"):
        compare_models(ours, ours.assign(id="other"), **FEW)
    nowhere = ours.assign(wd01=np.nan, pm=np.nan)
    with pytest.raises(InputError, match=r"none of the metrics \['wd01', 'pm'\] is defined"):
        compare_models(ours, nowhere, **FEW)
