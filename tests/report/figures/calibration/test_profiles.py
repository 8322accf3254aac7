"""F9 and F10: frequency of numbers, and which integers are preferred."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from likely.report.figures import Missing
from likely.report.figures.calibration.profiles import frequency, profile


def test_frequency_shows_the_table_and_each_null_beside_it(four):
    drawn = frequency(four)
    assert len(drawn.data) == len(four.frequency)
    assert {name for name in drawn.data if name.startswith("null_")} == {
        "null_pick_higher", "null_uniform", "null_higher_0.7",
    }  # fmt: skip
    axes = drawn.figure.axes[0]
    own = four.frequency[(four.frequency["model"] == "sharp") & (four.frequency["scale"] == "1-10")]
    own = own.sort_values("gap", kind="stable")
    by_label = {line.get_label(): line for line in axes.lines}
    np.testing.assert_array_equal(by_label["Pick Higher"].get_ydata(), own["null_pick_higher"])
    np.testing.assert_array_equal(by_label["Uniform"].get_xdata(), own["gap"])


def test_under_the_null_pick_higher_falls_and_uniform_rises(one):
    data = frequency(one).data
    for _, own in data.groupby("scale"):
        assert (np.diff(own["null_pick_higher"]) <= 1e-12).all()
        assert (np.diff(own["null_uniform"]) >= -1e-12).all()


def test_another_policy_gets_a_curve_under_its_own_name(one):
    table = one.frequency.assign(null_pick_first=0.5)
    axes = frequency(replace(one, frequency=table)).figure.axes[0]
    assert "pick first" in [line.get_label() for line in axes.lines]


def options(rows):
    table = pd.DataFrame(rows, columns=["id", "value", "ideal", "pi"])
    return table.assign(model="m")


def profile_of(one, rows, **more):
    data = profile(replace(one, options=options(rows)), **more).data
    return {(r["by"], round(r["at"], 6)): r["value"] for r in data.to_dict("records")}


def test_a_fair_model_has_1_everywhere(one):
    rows = [(f"i{k}", float(k + j), 0.25, 0.25) for k in range(8) for j in range(4)]
    assert set(profile_of(one, rows).values()) == {1.0}


def test_place_and_digit_are_counted_as_shares_of_what_is_due(one):
    rows = [
        ("a", 17.0, 0.5, 0.9),
        ("a", 18.0, 0.5, 0.1),
        ("b", 27.0, 0.5, 0.7),
        ("b", 28.0, 0.5, 0.3),
    ]
    found = profile_of(one, rows, n_bins=2)
    assert found == pytest.approx(
        {("position", 0.25): 1.6, ("position", 0.75): 0.4, ("digit", 7.0): 1.6, ("digit", 8.0): 0.4}
    )


def test_the_whole_probability_is_counted_once(four):
    data = profile(four).data
    for (_, by), own in data.groupby(["model", "by"]):
        assert by in ("position", "digit")
        assert own["n"].sum() == len(four.options) // 4


@pytest.mark.parametrize(("figure", "field"), [(frequency, "frequency"), (profile, "options")])
def test_without_their_table_nothing_is_drawn(one, figure, field):
    assert isinstance(figure(replace(one, **{field: None})), Missing)
