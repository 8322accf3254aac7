"""Logistic regression of choices: planted coefficients, and models that leave nothing to chance."""

import numpy as np
import pytest
from planted import answered, items, line, policy

from likely.calibration.analyses.choices import choice_regression
from likely.core.streams import generator
from likely.errors import InputError


def planted_choices(seed):
    base = items(n_pairs=40)
    strengths = {"blue": 0.8, "white": -0.8}
    odds = line(base, slope=1.5, position=0.5, strengths=strengths)["pi1"].to_numpy()
    picks = generator(seed, "choices").uniform(size=len(base)) < odds
    return answered(base, np.where(picks, 0.9, 0.1))


def test_planted_coefficients_lie_in_their_intervals():
    hits = 0
    for seed in range(10):
        found = choice_regression(planted_choices(seed))
        assert found.status == "converged"
        assert sum(e.value for e in found.strengths.values()) == pytest.approx(0.0, abs=1e-9)
        hits += found.slope.low <= 1.5 <= found.slope.high
        hits += found.position.low <= 0.5 <= found.position.high
        hits += found.strengths["blue"].low <= 0.8 <= found.strengths["blue"].high
    assert hits >= 25
    assert found.table()["term"].tolist()[:2] == ["slope", "position"]


@pytest.mark.parametrize("name", ["higher", "lower", "first"])
def test_policies_without_chance_are_said_to_be_separated(name):
    found = choice_regression(policy(items(), name))
    assert found.status == "separated"
    assert found.slope is None
    assert found.table()["value"].isna().all()
    assert found.to_dict()["explained"] is None


def test_an_option_that_is_always_chosen_is_separated_too():
    frame = planted_choices(0)
    frame.loc[frame["label1"] == "blue", "pi1"] = 0.9
    frame.loc[frame["label2"] == "blue", "pi1"] = 0.1
    assert choice_regression(frame).status == "separated"


def test_steep_choices_are_not_taken_for_separated():
    found = choice_regression(line(items(n_pairs=40), slope=6.0, noise=1.0))
    assert found.status == "converged"
    assert found.slope.low > 3.0


def test_ties_are_left_out_and_counted():
    frame = planted_choices(0)
    frame.loc[frame.index[:4], "pi1"] = 0.5
    frame.loc[frame.index[4:6], "pi1"] = np.nan
    found = choice_regression(frame)
    assert (found.n_ties, found.n_undefined) == (4, 2)
    with pytest.raises(InputError, match="got 0 choices on 0"):
        choice_regression(policy(items(), "uniform"))
