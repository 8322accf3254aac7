"""Strict JSON: what goes in comes back, infinities included, and NaN never leaves."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.jsonio import dumps, encode, number
from likely.errors import InputError, NumericalError

numbers = st.none() | st.floats(allow_nan=False)
values = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5) | numbers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


def refuse(constant):
    raise AssertionError(f"not strict JSON: {constant}")


@given(values)
def test_everything_written_is_strict_json_that_reads_back(value):
    assert json.loads(dumps(value), parse_constant=refuse) == encode(value)


@given(st.lists(numbers))
def test_numbers_come_back_as_they_were(written):
    assert [number(x) for x in json.loads(dumps(written), parse_constant=refuse)] == written


def test_numpy_and_sets_become_plain():
    assert encode({1: np.float64(0.5), "a": np.arange(2), "s": frozenset("ba")}) == {
        "1": 0.5, "a": [0, 1], "s": ["a", "b"],
    }  # fmt: skip
    assert encode(np.array([-math.inf])) == ["-inf"]


@pytest.mark.parametrize("bad", [math.nan, np.float32("nan"), [1.0, {"x": math.nan}]])
def test_nan_is_refused_wherever_it_hides(bad):
    with pytest.raises(NumericalError):
        dumps(bad)


def test_other_types_are_refused():
    with pytest.raises(InputError, match="object"):
        dumps(object())
    for bad in ("nan", True, [], "1"):
        with pytest.raises(InputError, match="expected a number"):
            number(bad)
