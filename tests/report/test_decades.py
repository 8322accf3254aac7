"""Places on an axis of powers of ten: what fits, what hangs over the edge, and what is said."""

import math

import pytest

from likely.core.estimate import Estimate
from likely.report.decades import Decades, strip

LOG_10 = math.log(10.0)


def nats(*powers):
    return [x * LOG_10 for x in powers]


def in_nats(value, low, high):
    return Estimate(value=value, low=low, high=high, level=0.95, unit="nats", method="naive")


def test_every_value_is_on_the_axis_and_far_low_ends_are_not():
    axis = Decades.around(nats(-9.2, -5.1), [*nats(-12.0, -40.0), -math.inf])
    assert (axis.low, axis.high) == (-12, -5)
    assert not axis.is_below(-12.0 * LOG_10)
    assert axis.is_below(-40.0 * LOG_10)
    assert axis.is_below(-math.inf)


@pytest.mark.parametrize("power", [-0.5, -3.0, -12.0, -200.0, -2000.0])
def test_ticks_are_few_whatever_the_range(power):
    axis = Decades.around(nats(power, 0.0))
    assert axis.low <= power <= axis.high
    assert 2 <= len(axis.ticks()) <= 8
    assert axis.ticks()[0].percent == 0.0


def test_a_decade_is_as_wide_wherever_it_lies():
    axis = Decades(low=-9, high=-1, step=2)
    places = [axis.percent(x) for x in nats(-9, -7, -5, -3, -1)]
    assert places == pytest.approx([0, 25, 50, 75, 100])
    assert [tick.label for tick in axis.ticks()] == ["10⁻⁹", "10⁻⁷", "10⁻⁵", "10⁻³", "10⁻¹"]
    assert [tick.label for tick in axis.names()] == ["a thousand", "a million", "a billion"]


def test_an_estimate_of_zero_has_a_limit_and_no_dot():
    axis = Decades(low=-8, high=-3, step=1)
    zero = strip(in_nats(-math.inf, -math.inf, -4.0 * LOG_10), axis, truth=None)
    assert zero.dot == ""
    assert zero.limit.startswith("M800.00 ")
    assert zero.interval == "M0.00 42H800.00"
    assert zero.leaves


def test_value_and_ends_stand_where_their_logs_are():
    axis = Decades(low=-10, high=0, step=2)
    found = strip(
        in_nats(*nats(-5, -6, -3)), axis, truth=in_nats(*nats(-4, -4.5, -3.5)), runs=nats(-5, -11)
    )
    assert found.dot == "M500.00 42h0"
    assert found.interval == "M400.00 42H700.00"
    assert found.truth == "M600.00 6V94"
    assert found.band == "M550.00 6H650.00V94H550.00Z"
    assert found.runs == "M500.00 68V84"
    assert not found.limit
    assert not found.leaves


def test_a_truth_that_was_never_seen_is_an_area_without_a_line():
    axis = Decades(low=-10, high=0, step=2)
    truth = in_nats(-math.inf, -math.inf, -8.0 * LOG_10)
    found = strip(in_nats(*nats(-5, -6, -3)), axis, truth=truth)
    assert found.truth == ""
    assert found.band == "M0.00 6H200.00V94H0.00Z"
    assert found.truth_leaves


def test_an_exact_truth_has_no_area():
    truth = Estimate.exact(-4.0 * LOG_10, unit="nats", method="enumeration")
    found = strip(in_nats(*nats(-5, -6, -3)), Decades(low=-10, high=0, step=2), truth=truth)
    assert found.truth == "M600.00 6V94"
    assert found.band == ""


@pytest.mark.parametrize(
    ("low", "powers"),
    [(-12, [0, -3, -6, -9, -12]), (-20, [0, -6, -12]), (-40, [0, -12]), (-200, [])],
)
def test_words_stand_apart_whatever_the_range(low, powers):
    names = Decades(low=low, high=0, step=10).names()
    assert [tick.value for tick in names] == powers
