"""An Estimate is a number with an interval and a cost; a Cost is a sum."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.estimate import Cost, Estimate
from likely.core.jsonio import dumps
from likely.errors import InputError

costs = st.builds(
    Cost,
    token_evaluations=st.integers(0, 9),
    model_calls=st.integers(0, 9),
    seconds=st.integers(0, 9).map(float),
    cached=st.integers(0, 9),
)


@given(costs, costs, costs)
def test_costs_add_up_in_any_order(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Cost() == a
    assert Cost(**a.to_dict()) == a


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3).map(sorted))
def test_an_estimate_keeps_its_value_within_its_interval(ends):
    low, value, high = ends
    estimate = Estimate(value=value, low=low, high=high, level=0.95, unit="nats", method="m")
    assert estimate.is_exact is (low == high)
    assert json.loads(dumps(estimate.to_dict()))["unit"] == "nats"
    assert "nats" in estimate.summary()


@pytest.mark.parametrize(
    "fields",
    [
        {"low": 2.0},
        {"high": 0.5},
        {"value": math.nan},
        {"high": math.nan},
        {"level": 0.0},
        {"level": 1.5},
    ],
)
def test_an_estimate_that_contradicts_itself_is_refused(fields):
    good = {"value": 1.0, "low": 1.0, "high": 1.0, "level": 0.95, "unit": "none", "method": "m"}
    Estimate(**good)
    with pytest.raises(InputError):
        Estimate(**(good | fields))


def test_an_exact_estimate_is_a_point():
    exact = Estimate.exact(-math.inf, unit="nats", method="enumeration", cost=Cost(model_calls=2))
    assert exact.low == exact.high == -math.inf
    assert exact.is_exact
    assert exact.cost.model_calls == 2
    assert "exact, enumeration" in exact.summary()


def test_a_cost_comes_back_from_a_record_that_holds_more():
    cost = Cost(token_evaluations=3, model_calls=2, seconds=0.25, cached=1)
    assert Cost.from_dict({"id": "x", **cost.to_dict()}) == cost
    with pytest.raises(InputError, match="'model_calls': None"):
        Cost.from_dict({"token_evaluations": 3, "seconds": 0.25, "cached": 1})
