"""The standard error of a thinned sum, against all ways in which the draws may fall."""

import itertools
import math

import numpy as np
import pytest

from likely.attribution.thinning import Spread, Thinned


def _thinned(chance, earlier=None, resolution=0.1):
    chance = np.array(chance)
    return Thinned(chance, chance if earlier is None else np.array(earlier), resolution)


def _outcomes(chance):
    """Yield every set of survivors with its probability."""
    for kept in itertools.product([False, True], repeat=len(chance)):
        mask = np.array(kept, dtype=bool)
        yield mask, float(np.prod(np.where(mask, chance, 1.0 - chance)))


def _plain_variance(thinned, influence, earlier=None):
    """Return the variance estimate without what `spread` adds for caution."""
    spread = thinned.spread(influence, earlier=earlier)
    first = influence if earlier is None else earlier
    parts = thinned.weight * (1.0 / thinned.earlier - 1.0) * first**2
    parts = parts + thinned.stage_variance * influence**2
    caution = parts.max(initial=0.0) + thinned.resolution**2
    assert spread.error**2 == pytest.approx(float(parts.sum() + caution), rel=1e-12)
    return float(parts.sum())


def test_sums_and_their_variance_are_unbiased_over_all_draws():
    rng = np.random.default_rng(0)
    chance, values = rng.uniform(0.1, 1.0, 6), rng.standard_normal(6)
    chance[0] = 1.0
    mean = second = variance = 0.0
    for kept, prob in _outcomes(chance):
        found = _thinned(chance[kept], resolution=0.0)
        total = float(np.sum(found.weight * values[kept]))
        mean += prob * total
        second += prob * total**2
        variance += prob * _plain_variance(found, values[kept])
    assert mean == pytest.approx(values.sum(), abs=1e-12)
    assert variance == pytest.approx(second - mean**2, rel=1e-12)


def test_two_stages_with_two_influences_are_unbiased_over_all_draws():
    """D is summed over those left after the first stage and N over those left after both."""
    rng = np.random.default_rng(1)
    first, then = rng.uniform(0.3, 1.0, 4), rng.uniform(0.3, 1.0, 4)
    first[0] = then[0] = 1.0
    x, y = rng.uniform(0.0, 1.0, 4), rng.uniform(0.0, 1.0, 4)
    mean = second = variance = 0.0
    for left, prob in _outcomes(first):
        of_d = float(np.sum(x[left] / first[left]))
        for kept, prob_then in _outcomes(then[left]):
            places = np.flatnonzero(left)[kept]
            both = first[places] * then[places]
            found = Thinned(both, first[places], 0.0)
            total = of_d - float(np.sum(found.weight * y[places]))
            weight = prob * prob_then
            mean += weight * total
            second += weight * total**2
            # The later stage moves N alone, the earlier one both.
            variance += weight * _plain_variance(found, -y[places], earlier=x[places] - y[places])
    assert mean == pytest.approx(x.sum() - y.sum(), abs=1e-12)
    assert variance == pytest.approx(second - mean**2, rel=1e-12)


def test_a_later_chance_that_follows_the_earlier_draws_changes_nothing_of_that():
    """Who is kept at the second stage depends on who was left by the first one."""
    first, values = np.array([0.5, 0.7, 0.4]), np.array([1.0, -2.0, 3.0])
    mean = second = variance = 0.0
    for left, prob in _outcomes(first):
        then = np.full(3, 0.3 if left.sum() >= 2 else 0.9)
        for kept, prob_then in _outcomes(then[left]):
            places = np.flatnonzero(left)[kept]
            found = _thinned(first[places] * then[places], resolution=0.0)
            total = float(np.sum(found.weight * values[places]))
            weight = prob * prob_then
            mean, second = mean + weight * total, second + weight * total**2
            variance += weight * _plain_variance(found, values[places])
    assert mean == pytest.approx(2.0, abs=1e-12)
    assert variance == pytest.approx(second - mean**2, rel=1e-12)


def test_candidates_that_were_sure_to_come_add_no_error_but_the_resolution():
    spread = _thinned([1.0, 1.0, 1.0], resolution=0.25).spread(np.array([5.0, -3.0, 1.0]))
    assert spread.error == 0.25
    assert spread.largest_share == 0.0
    assert spread.df == 1
    assert _thinned([1.0, 0.5, 0.2]).n_drawn == 2


def test_the_heaviest_draw_counts_twice():
    spread = _thinned([0.5, 0.5, 1.0], resolution=0.0).spread(np.array([1.0, 3.0, 9.0]))
    assert spread.error == pytest.approx(math.sqrt(2.0 + 18.0 + 18.0))
    assert spread.largest_share == pytest.approx(0.9)
    assert spread.n_effective == pytest.approx(20.0**2 / (2.0**2 + 18.0**2))


def test_equal_draws_are_as_many_as_they_are():
    spread = _thinned([0.5] * 16).spread(np.ones(16))
    assert spread.n_effective == pytest.approx(16.0)
    assert spread.largest_share == pytest.approx(1 / 16)
    assert spread.df == 31


def test_an_interval_is_cut_to_what_the_number_can_be():
    found = _thinned([0.5, 0.5]).estimate(
        0.1, np.ones(2), level=0.95, method="adaptive", low=0.0, high=0.2
    )
    assert (found.low, found.value, found.high) == (0.0, 0.1, 0.2)
    assert found.unit == "nats"
    assert found.level == 0.95
    free = _thinned([0.5, 0.5]).estimate(0.1, np.ones(2), level=0.95, method="adaptive")
    assert free.low < 0.0 < 0.2 < free.high


def test_an_interval_is_wider_at_a_higher_level():
    widths = [
        _thinned([0.5] * 9).estimate(0.0, np.ones(9), level=level, method="adaptive").high
        for level in (0.5, 0.9, 0.99)
    ]
    assert widths == sorted(widths)
    assert widths[0] > 0.0


def test_with_nothing_left_out_a_number_is_exact():
    found = _thinned([1.0, 1.0], resolution=0.0).estimate(
        1.5, np.ones(2), level=0.95, method="exact"
    )
    assert found.is_exact
    assert found.level == 1.0


def test_diagnostics_say_how_uncertain():
    spread = Spread(error=0.5, n_effective=3.2, largest_share=0.4)
    assert spread.df == 5
    assert spread.to_dict() == {"standard_error": 0.5, "n_effective": 3.2, "largest_share": 0.4}


def test_influences_too_small_to_square_twice_give_a_number():
    spread = _thinned([1.0, 0.5], resolution=1e-3).spread(np.array([0.0, 1e-100]))
    assert spread.error == pytest.approx(1e-3)
