import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.estimate import Estimate
from likely.report.dots import Scale, marks


def estimate(low, value, high):
    return Estimate(value=value, low=low, high=high, level=0.95, unit="none", method="x")


@given(st.lists(st.floats(-100.0, 1.0), min_size=1))
def test_every_value_and_0_lie_on_the_scale(values):
    scale = Scale.around(values)
    for value in (0.0, *values):
        assert -1e-6 <= scale.percent(value) <= 100.0 + 1e-6
    ticks = scale.ticks()
    assert (ticks[0].percent, ticks[-1].percent) == (0.0, 100.0)
    assert 2 <= len(ticks) <= 9
    assert "0" in [tick.label for tick in ticks]


def test_a_mark_stands_where_its_numbers_are():
    scale = Scale(low=-1.0, high=1.0, step=0.5)
    one, other = marks(
        [("opened", estimate(-0.5, 0.0, 0.25)), ("closed", estimate(0.5, 0.5, 0.5))], scale
    )
    assert (one.name, other.name) == ("opened", "closed")
    assert one.bar == "M250.00 33.33H625.00"
    assert one.dot == "M500.00 33.33h0"
    assert other.dot == "M750.00 66.67h0"


def test_what_is_not_there_leaves_its_place_free():
    [mark] = marks(
        [("opened", None), ("closed", estimate(0.0, 0.5, 1.0))], Scale.around([0.0, 1.0])
    )
    assert mark.name == "closed"
    assert float(re.match(r"M[\d.]+ ([\d.]+)h0", mark.dot)[1]) == pytest.approx(66.67)


def test_ticks_have_a_true_minus_sign():
    assert [tick.label for tick in Scale(low=-0.5, high=0.5, step=0.5).ticks()] == [
        "−0.5", "0", "0.5",
    ]  # fmt: skip
