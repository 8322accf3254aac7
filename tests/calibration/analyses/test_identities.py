"""Strengths of options: planted ones are recovered, and what cannot be compared is kept apart."""

import numpy as np
import pandas as pd
import pytest
from planted import answered, items, line, log_odds, policy

from likely.calibration.analyses.identities import mixed_strengths, option_strengths
from likely.core.streams import generator
from likely.errors import InputError

PLANTED = {"blue": 0.6, "green": -0.1, "red": 0.2, "white": -0.7}
TEMPLATES = {"C1": 0.3, "C2": -0.1, "C3": -0.2}


def test_planted_parameters_are_recovered_exactly_without_noise():
    frame = line(items(), slope=1.7, position=0.4, strengths=PLANTED, templates=TEMPLATES)
    found = option_strengths(frame)
    assert list(found.strengths) == ["blue", "red", "green", "white"]
    for name, strength in PLANTED.items():
        assert found.strengths[name].value == pytest.approx(strength, abs=1e-9)
    for name, effect in TEMPLATES.items():
        assert found.templates[name].value == pytest.approx(effect, abs=1e-9)
    assert found.slope.value == pytest.approx(1.7)
    assert found.position.value == pytest.approx(0.4)
    assert found.r_squared == pytest.approx(1.0)
    assert found.table().columns.tolist() == ["option", "strength", "low", "high", "group"]


def test_planted_parameters_lie_in_their_intervals_with_noise():
    hits, n = 0, 0
    for seed in range(15):
        frame = line(
            items(n_pairs=12), slope=1.7, position=0.4, strengths=PLANTED, noise=0.8, seed=seed
        )
        found = option_strengths(frame)
        for name, strength in PLANTED.items():
            hits += found.strengths[name].low <= strength <= found.strengths[name].high
        hits += found.slope.low <= 1.7 <= found.slope.high
        n += 5
    assert hits / n > 0.85


def test_ties_give_the_same_strengths_without_a_slope():
    frame = line(items(design="ties"), position=0.4, strengths=PLANTED, templates=TEMPLATES)
    found = option_strengths(frame, on="ties")
    assert found.slope is None
    assert found.position.value == pytest.approx(0.4)
    assert found.strengths["white"].value == pytest.approx(-0.7)
    assert found.to_dict()["on"] == "ties"
    with pytest.raises(InputError, match="fit on 'ties'"):
        option_strengths(line(items()), on="ties")


def test_options_that_never_meet_are_compared_within_their_groups():
    parts = [items(options=("dog", "cat")), items(options=("rain", "sun"))]
    frame = line(
        pd.concat(parts, ignore_index=True),
        strengths={"dog": 0.5, "cat": -0.5, "rain": 2.0, "sun": 1.0},
    )
    found = option_strengths(frame)
    assert found.groups["dog"] == found.groups["cat"] != found.groups["rain"]
    assert found.strengths["dog"].value == pytest.approx(0.5)
    assert found.strengths["rain"].value == pytest.approx(0.5)
    assert found.strengths["sun"].value == pytest.approx(-0.5)


def test_clipped_and_undefined_items_are_counted():
    frame = policy(items(), "higher")
    frame.loc[frame.index[:3], "pi1"] = np.nan
    found = option_strengths(frame)
    assert (found.n_clipped, found.n_undefined) == (len(frame) - 3, 3)
    assert found.n_items == len(frame) - 3


def test_one_order_alone_does_not_tell_strength_from_position():
    frame = line(items(options=("dog", "cat")), strengths={"dog": 1.0})
    with pytest.raises(InputError, match="tell them apart"):
        option_strengths(frame[frame["order"] == "forward"])


def with_random_effects(seed):
    base = items(n_pairs=10, templates=("C1", "C2", "C3", "C4", "C5"))
    rng = generator(seed, "random effects")
    y = 1.5 * log_odds(base["p1"].to_numpy()) + 0.2
    for column, sd in (("template", 0.5), ("option_pair", 0.8), ("number_pair", 0.3)):
        _, which = np.unique(base[column].to_numpy(dtype=str), return_inverse=True)
        y = y + sd * rng.normal(size=which.max() + 1)[which]
    y = y + 0.4 * rng.normal(size=len(base))
    return answered(base, 1 / (1 + np.exp(-y)))


def test_variances_of_random_effects_are_recovered():
    truths = {"template": 0.25, "option_pair": 0.64, "number_pair": 0.09}
    hits = 0
    for seed in range(4):
        found = mixed_strengths(with_random_effects(seed))
        assert found.status == "converged"
        for name, truth in truths.items():
            hits += found.variances[name].low <= truth <= found.variances[name].high
        assert found.residual == pytest.approx(0.16, rel=0.2)
        assert found.slope.value == pytest.approx(1.5, abs=0.1)
    assert hits >= 9  # of 12 at 95 %: fewer in 2 of 1,000 draws of seeds
    table = found.table().set_index("component")
    assert table["share"].sum() == pytest.approx(1.0)
    assert list(table.index) == ["template", "option_pair", "number_pair", "item"]


def test_a_factor_without_variance_surfaces_in_the_status():
    found = mixed_strengths(line(items(), slope=1.2, noise=0.5), random=("template",))
    means = found.variances["template"]
    assert (found.status == "boundary: template") == (means.value < 1e-4)
    with pytest.raises(InputError, match="explain the response exactly"):
        mixed_strengths(line(items(), slope=1.2))
