"""The random factors of items, each drawn once."""

import numpy as np
import pandas as pd
import pytest

from likely.calibration.analyses.units import sampling_units
from likely.stats.pigeonhole import pigeonhole_bootstrap


def frame(option_sets, number_pairs):
    n = len(option_sets)
    return pd.DataFrame(
        {"family": "f", "scale": "", "template": [f"T{i % 2}" for i in range(n)],
         "option_set": option_sets, "number_pair": number_pairs}
    )  # fmt: skip


def test_factors_that_cross_are_all_drawn():
    found = sampling_units(frame(list("aaaabbbb"), ["1:2", "1:2", "3:4", "3:4"] * 2))
    assert list(found) == ["template", "option_set", "number_pair"]


def test_ranges_that_are_options_and_numbers_at_once_are_drawn_once():
    names = [str(i // 2) for i in range(40)]
    units = sampling_units(frame(names, names))
    assert list(units) == ["template", "number_pair"]
    values = np.random.default_rng(0).normal(size=20)[np.arange(40) // 2]
    once = {"number_pair": units["number_pair"]}
    narrow, wide = (
        pigeonhole_bootstrap(values, factors)
        for factors in (once, {**once, "option_set": units["number_pair"]})
    )
    drawn_twice = (wide.high - wide.low) / (narrow.high - narrow.low)
    assert drawn_twice == pytest.approx(np.sqrt(3.0), rel=0.1)


def test_options_that_belong_to_their_template_come_with_it():
    options = ["a", "b", "c", "d"] * 4  # a and c in T0, b and d in T1
    assert list(sampling_units(frame(options, [str(i // 4) for i in range(16)]))) == [
        "template", "number_pair",
    ]  # fmt: skip


def test_a_factor_with_one_level_hides_no_other():
    assert list(sampling_units(frame(["a"] * 4, ["1:2"] * 4))) == [
        "template", "option_set", "number_pair",
    ]  # fmt: skip
