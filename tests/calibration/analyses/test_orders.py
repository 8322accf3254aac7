"""Order of mention: exact effects of policies, and what is paired with what."""

import numpy as np
import pandas as pd
import pytest
from planted import answered, items, line, policy

from likely.calibration.analyses.orders import order_effect, order_pairs
from likely.core.streams import generator
from likely.errors import InputError


@pytest.mark.parametrize(
    ("name", "expected"), [("first", 1.0), ("calibrated", 0.0), ("higher", 0.0), ("uniform", 0.0)]
)
def test_policies_gain_what_they_gain_exactly(name, expected):
    found = order_effect(policy(items(), name), n_resamples=100)
    assert found.delta.value == pytest.approx(expected, abs=1e-12)
    assert found.delta.high - found.delta.low < 1e-12
    assert (found.n_unpaired, found.n_undefined, found.at_ties) == (0, 0, None)


def test_the_effect_is_the_contrast_of_its_definition():
    frame = answered(items(), generator(0, "orders").uniform(size=len(items())))
    by_hand = []
    for _, item in frame.iterrows():
        # the same colour with the same number on it, mentioned second
        twin = frame[
            (frame["template"] == item["template"]) & (frame["label1"] == item["label2"])
            & (frame["label2"] == item["label1"]) & (frame["n1"] == item["n2"])
            & (frame["n2"] == item["n1"])
        ]  # fmt: skip
        assert len(twin) == 1
        by_hand.append(item["pi1"] - (1.0 - twin["pi1"].iloc[0]))
    found = order_effect(frame, n_resamples=100)
    assert found.delta.value == pytest.approx(np.mean(by_hand))
    assert found.n_pairs == len(frame) / 2


def test_a_planted_effect_is_found_at_ties_and_by_scale():
    scales = ("1-10", "10-100")
    parts = [items(scales=scales), items(scales=scales, design="ties", n_pairs=4)]
    frame = line(pd.concat(parts, ignore_index=True), position=0.8)
    found = order_effect(frame, n_resamples=200)
    tie = 2.0 / (1.0 + np.exp(-0.8)) - 1.0
    assert found.at_ties.value == pytest.approx(tie)
    assert 0.0 < found.delta.value < tie
    table = found.table().set_index("part")
    assert list(table.index) == ["all", "ties", *scales]
    weights = table.loc[list(scales), "n_pairs"]
    mean = (table.loc[list(scales), "value"] * weights).sum() / weights.sum()
    assert mean == pytest.approx(found.delta.value)


def test_items_without_a_twin_and_undefined_ones_are_counted():
    frame = line(items(), position=0.5, noise=0.3)
    lonely = frame.drop(index=frame.index[:5])
    assert order_effect(lonely, n_resamples=100).n_unpaired == 5
    frame.loc[frame.index[7], "pi1"] = np.nan
    found = order_effect(frame, n_resamples=100)
    assert (found.n_unpaired, found.n_undefined) == (0, 1)
    assert found.delta.diagnostics["n_items"] == len(frame) // 2 - 1


def test_a_pair_drawn_twice_is_paired_one_to_one():
    frame = line(items(), position=0.5)
    twice = pd.concat([frame, frame], ignore_index=True)
    assert len(order_pairs(twice)) == len(frame)
    assert order_effect(twice, n_resamples=100).n_unpaired == 0


def test_tables_that_hold_no_pairs_or_several_models_are_refused():
    frame = policy(items(), "first")
    with pytest.raises(InputError, match="both orders of mention"):
        order_effect(frame[frame["order"] == "forward"])
    with pytest.raises(InputError, match=r"without \['pi1'\]"):
        order_effect(frame.drop(columns="pi1"))
    with pytest.raises(InputError, match="one model at a time"):
        order_effect(pd.concat([frame, policy(items(), "higher")]))
