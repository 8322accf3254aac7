"""Sums of independent estimates: closed forms, coverage, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma, norm

from likely.core.estimate import Cost, Estimate
from likely.errors import InputError
from likely.stats.combination import weighted_sum


def normal(value, error, *, level=0.95, **more):
    half = error * float(norm.isf((1.0 - level) / 2.0))
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=level,
        unit="nats",
        method="z",
        **more,
    )


finite = st.floats(-1e3, 1e3)
spread = st.floats(0.01, 1e3)


@given(a=finite, b=finite, s=spread, t=spread, c=st.floats(-5, 5), d=st.floats(-5, 5))
def test_of_symmetrical_intervals_the_errors_add_in_squares(a, b, s, t, c, d):
    found = weighted_sum([normal(a, s), normal(b, t)], [c, d], method="sum")
    wanted = normal(c * a + d * b, math.hypot(c * s, d * t))
    for name in ("value", "low", "high"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-9, rel=1e-9)


@given(a=finite, below=spread, above=spread)
def test_one_estimate_by_one_is_itself_and_by_minus_one_its_mirror(a, below, above):
    one = Estimate(value=a, low=a - below, high=a + above, level=0.9, unit="nats", method="m")
    same = weighted_sum([one], [1.0], method="m")
    assert (same.low, same.high) == pytest.approx((one.low, one.high), rel=1e-12, abs=1e-9)
    mirror = weighted_sum([one], [-1.0], method="m")
    assert (mirror.low, mirror.high) == pytest.approx((-one.high, -one.low), rel=1e-12, abs=1e-9)


def test_exact_numbers_give_exact_ones_and_costs_add_up():
    one = Estimate.exact(2.0, unit="nats", method="exact", cost=Cost(token_evaluations=3))
    two = Estimate.exact(0.5, unit="nats", method="exact", cost=Cost(token_evaluations=4))
    found = weighted_sum([one, two], [1.0, -2.0], method="sum")
    assert found.is_exact
    assert found.level == 1.0
    assert found.value == 1.0
    assert found.cost.token_evaluations == 7
    mixed = weighted_sum([one, normal(0.0, 1.0)], [1.0, 1.0], method="sum")
    assert mixed.level == 0.95
    assert mixed.low == pytest.approx(2.0 - 1.959964, abs=1e-5)


def test_a_weight_of_0_takes_a_part_out_even_with_endless_ends():
    endless = Estimate(value=0.0, low=-math.inf, high=math.inf, level=0.95, unit="nats", method="m")
    found = weighted_sum([normal(1.0, 0.0), endless], [1.0, 0.0], method="sum")
    assert (found.low, found.high) == (1.0, 1.0)
    assert weighted_sum([endless], [-1.0], method="sum").high == math.inf


def test_the_interval_of_a_difference_of_skewed_numbers_covers():
    """Exact intervals of two exponential scales from 5 draws each, in 4,000 repetitions."""
    rng = np.random.default_rng(11)
    n, level, n_trials = 5, 0.95, 4000
    low_factor, high_factor = (float(n / gamma.isf(tail, n)) for tail in (0.025, 0.975))

    def interval(scale):
        mean = float(rng.exponential(scale, n).mean())
        return Estimate(
            value=mean, low=mean * low_factor, high=mean * high_factor, level=level, unit="none",
            method="exact gamma",
        )  # fmt: skip

    hits = 0
    for _ in range(n_trials):
        found = weighted_sum([interval(1.0), interval(3.0)], [1.0, -1.0], method="difference")
        hits += found.low <= -2.0 <= found.high
    error = math.sqrt(level * (1.0 - level) / n_trials)
    assert abs(hits / n_trials - level) < 4.0 * error + 0.01  # the rule is approximate


@pytest.mark.parametrize(
    ("estimates", "weights", "fault"),
    [
        ([], [], "got 0 and 0"),
        ([normal(0.0, 1.0)], [1.0, 2.0], "got 1 and 2"),
        ([normal(0.0, 1.0), normal(0.0, 1.0, level=0.9)], [1.0, 1.0], "[0.9, 0.95]"),
        (
            [normal(0.0, 1.0), Estimate.exact(1.0, unit="prob", method="m")],
            [1.0, 1.0],
            "['nats', 'prob']",
        ),
        ([Estimate.exact(math.inf, unit="nats", method="m")], [1.0], "finite numbers, got [inf]"),
        ([normal(0.0, 1.0)], [math.inf], "finite numbers"),
    ],
)
def test_what_does_not_go_together_is_refused(estimates, weights, fault):
    with pytest.raises(InputError) as error:
        weighted_sum(estimates, weights, method="sum")
    assert fault in str(error.value)
