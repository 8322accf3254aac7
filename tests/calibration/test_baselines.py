"""Baselines: their laws, the best constant against any other, and random laws against integrals."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policies import POLICIES, policy_masses
from scipy.integrate import quad
from scipy.stats import norm

from likely.calibration.baselines import (
    BASELINES,
    RANDOM,
    baseline_law,
    baseline_table,
    best_constant,
    measure_baseline,
)
from likely.calibration.metrics import METRICS, measure
from likely.calibration.tables import Targets
from likely.errors import InputError, UnknownNameError

NAN = math.nan


def goal(laws, values=None):
    places = [[NAN] * len(law) for law in laws] if values is None else values
    return Targets(
        offsets=np.concatenate([[0], np.cumsum([len(law) for law in laws])]),
        ideal=np.concatenate([np.array(law, dtype=float) for law in laws]),
        values=np.concatenate([np.array(place, dtype=float) for place in places]),
    )


PAIRS = goal([(0.7, 0.3), (0.2, 0.8), (0.4, 0.6)])


@pytest.mark.parametrize(
    "name", ["pick_higher", "pick_lower", "pick_first", "pick_second", "higher_0.7", "uniform"]
)
def test_baselines_are_the_policies_of_the_same_name(name):
    np.testing.assert_allclose(baseline_law(name, PAIRS), POLICIES[name](PAIRS), atol=1e-15)
    found = measure_baseline(name, PAIRS)
    expected = measure(PAIRS, policy_masses(PAIRS, name))
    for metric in METRICS:
        np.testing.assert_allclose(found[metric], expected[metric], atol=1e-15, err_msg=metric)


def test_any_share_can_be_named():
    assert baseline_law("higher_0.9", PAIRS).round(9).tolist() == [0.9, 0.1, 0.1, 0.9, 0.1, 0.9]
    for odd in ("higher_7", "higher", "lower_0.7", "higher_"):
        with pytest.raises(UnknownNameError, match="no baseline named"):
            baseline_law(odd, PAIRS)


def test_rules_for_integers():
    wanted = goal(
        [(0.25,) * 4, (0.2,) * 5, (0.5, 0.5), (1 / 3,) * 3],
        values=[[8, 5, 6, 7], [16, 17, 18, 27, 19], [NAN, NAN], [1, 2, 3]],
    )
    first, middle, seven = (
        np.split(baseline_law(name, wanted), wanted.offsets[1:-1])
        for name in ("pick_first", "pick_middle", "pick_seven")
    )
    assert first[0].tolist() == [0, 1, 0, 0]  # the smallest, wherever it is mentioned
    assert first[2].tolist() == [1, 0]  # of names the first
    assert middle[0].tolist() == [0, 0, 0.5, 0.5]
    assert middle[1].tolist() == [0, 0, 1, 0, 0]  # 18 of 16, 17, 18, 19, 27
    assert np.isnan(middle[2]).all()
    assert middle[3].tolist() == [0, 1, 0]
    assert seven[0].tolist() == [0, 0, 0, 1]
    assert seven[1].tolist() == [0, 0.5, 0, 0.5, 0]
    assert np.isnan(seven[2]).all()
    assert np.isnan(seven[3]).all()
    assert np.isnan(baseline_law("pick_second", wanted)[[0, 5, 11]]).all()


def test_the_higher_of_equals_is_not_defined_and_several_share():
    wanted = goal([(0.5, 0.5), (0.4, 0.4, 0.2), (0.2, 0.4, 0.4), (1 / 3,) * 3])
    law = np.split(baseline_law("pick_higher", wanted), wanted.offsets[1:-1])
    assert np.isnan(law[0]).all()
    assert law[1].tolist() == [0.5, 0.5, 0]
    assert law[2].tolist() == [0, 0.5, 0.5]
    assert np.isnan(law[3]).all()
    lower = np.split(baseline_law("pick_lower", wanted), wanted.offsets[1:-1])
    assert lower[1].tolist() == [0, 0, 1]
    assert np.isnan(baseline_law("higher_0.7", wanted)).all()
    assert np.isnan(baseline_law("best_constant", wanted)).all()


@given(st.lists(st.floats(0.501, 1.0), min_size=1, max_size=30), st.floats(0.0, 1.0))
def test_no_other_constant_is_closer_than_the_best_one(tops, other):
    wanted = goal([(top, 1 - top) if i % 2 else (1 - top, top) for i, top in enumerate(tops)])
    best = best_constant(wanted)
    mean = measure_baseline("best_constant", wanted)["wd01"].mean()
    assert mean == pytest.approx(np.abs(np.array(tops) - best).mean(), abs=1e-12)
    assert mean <= np.abs(np.array(tops) - other).mean() + 1e-12
    assert mean <= measure_baseline("higher_0.7", wanted)["wd01"].mean() + 1e-12
    assert mean <= measure_baseline("uniform", wanted)["wd01"].mean() + 1e-12


def test_a_best_constant_needs_a_pair_that_is_not_equal():
    with pytest.raises(InputError, match="two options that are not equally likely"):
        best_constant(goal([(0.5, 0.5), (0.2, 0.3, 0.5)]))


@pytest.mark.parametrize("name", ["random_0.5", "random_1", "random_2"])
def test_random_laws_of_two_options_have_the_mean_of_an_integral(name):
    # The difference of two normal draws over tau is normal with variance 2 / tau^2.
    spread = math.sqrt(2.0) / RANDOM[name]

    def distance(z, p):
        return abs(1 / (1 + math.exp(-spread * z)) - p) * norm.pdf(z)

    n_draws = 4000
    found = measure_baseline(name, PAIRS, n_draws=n_draws)
    for item, p in enumerate((0.7, 0.2, 0.4)):
        expected = quad(distance, -9, 9, args=(p,), points=(0.0,), limit=200)[0]
        # |pi - p| lies in [0, 1], so its deviation is at most 1/2; 4.5 of them: 7e-6 a test.
        assert found["wd01"][item] == pytest.approx(expected, abs=4.5 * 0.5 / math.sqrt(n_draws))


def test_published_random_baselines_on_the_smallest_scale():
    # Normal logits at tau 1 and 2 give .39 and .31 in units of sqrt 2 over the pairs of 1 to 10.
    laws = [(a / (a + b), b / (a + b)) for a in range(1, 11) for b in range(1, 11) if a != b]
    for name, expected in (("random_1", 0.39), ("random_2", 0.31)):
        found = measure_baseline(name, goal(laws), n_draws=400)["wd_paper"].mean()
        assert found == pytest.approx(expected, abs=0.01)


def test_at_infinite_temperature_random_is_uniform():
    found, flat = (measure_baseline(name, PAIRS) for name in ("random_inf", "uniform"))
    for metric in METRICS:
        np.testing.assert_allclose(found[metric], flat[metric], atol=1e-12, err_msg=metric)


def test_means_of_metrics_are_not_metrics_of_means():
    # The mean of random laws is uniform by symmetry, their mean distance is larger.
    found = measure_baseline("random_0.5", PAIRS)["wd01"]
    assert (found > measure_baseline("uniform", PAIRS)["wd01"] + 0.02).all()


def test_random_laws_come_from_the_seed_in_rounds_that_change_nothing(monkeypatch):
    found = measure_baseline("random_1", PAIRS, n_draws=50, seed=3)
    again = measure_baseline("random_1", PAIRS, n_draws=50, seed=3)
    other = measure_baseline("random_1", PAIRS, n_draws=50, seed=4)
    np.testing.assert_array_equal(found["wd01"], again["wd01"])
    assert (found["wd01"] != other["wd01"]).all()
    monkeypatch.setattr("likely.calibration.baselines._OPTIONS_A_ROUND", 7)
    in_rounds = measure_baseline("random_1", PAIRS, n_draws=50, seed=3)
    np.testing.assert_allclose(in_rounds["wd01"], found["wd01"], atol=1e-12)
    with pytest.raises(InputError, match="at least 1 draw is needed, got 0"):
        measure_baseline("random_1", PAIRS, n_draws=0)


def test_items_of_one_ideal_share_their_draws():
    wanted = goal(
        [(0.7, 0.3), (1 / 3,) * 3, (0.7, 0.3), (1 / 3,) * 3, (1 / 3,) * 3],
        values=[[NAN] * 2, [1, 2, 3], [NAN] * 2, [1, 2, 3], [1, 2, 4]],
    )
    found = measure_baseline("random_1", wanted, n_draws=20)
    assert found["wd01"][0] == found["wd01"][2]
    assert found["wd_line"][1] == found["wd_line"][3] != found["wd_line"][4]
    assert np.isnan(found["wd_line"][[0, 2]]).all()


def test_the_table_has_a_mean_wherever_there_is_one():
    table = baseline_table(PAIRS, n_draws=20).set_index("baseline")
    assert table.index.tolist() == [*BASELINES, *RANDOM]
    assert table.loc["pick_higher", "wd01"] == pytest.approx((0.3 + 0.2 + 0.4) / 3)
    assert table.loc["pick_higher", ["n", "n_infinite"]].tolist() == [3, 3]
    assert math.isnan(table.loc["pick_higher", "kl"])  # infinite: counted instead
    assert table.loc["pick_higher", "kl_floor"] > 5
    assert table.loc["uniform", "n_infinite"] == 0
    assert table.loc["uniform", "kl"] == pytest.approx(
        measure_baseline("uniform", PAIRS)["kl"].mean()
    )
    assert table.loc["pick_seven", "n"] == 0
    assert math.isnan(table.loc["pick_seven", "wd01"])
    assert np.isfinite(table[["wd01"]].drop(index=["pick_seven", "pick_middle"]).to_numpy()).all()
    numbers = table.drop(columns=[])
    assert not np.isinf(numbers.to_numpy(dtype=float)).any()
    assert isinstance(table, pd.DataFrame)
