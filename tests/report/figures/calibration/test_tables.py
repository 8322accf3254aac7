"""What several figures take from the tables."""

from dataclasses import replace

import numpy as np
import pytest

from likely.report.figures.calibration.tables import family_distances, family_means


@pytest.mark.parametrize("unit", ["wd01", "wd_paper"])
def test_a_family_has_the_distance_of_its_options_and_names_come_first(four, unit):
    found = family_distances(four, unit)
    assert list(found["metric"].unique()) == [unit, "wd_line_norm"]
    for metric, own in found.groupby("metric"):
        wanted = family_means(four, str(metric))
        wanted = wanted[wanted["family"].isin(own["family"])]
        assert (
            own.drop(columns="metric").reset_index(drop=True).equals(wanted.reset_index(drop=True))
        )
    assert not found.duplicated(["model", "family"]).any()


def test_a_family_of_numbers_never_mixes_metrics_between_models(two):
    frame = two.frame.copy()
    is_lost = (frame["model"] == "flat") & (frame["family"] == "distributions")
    frame.loc[is_lost, "wd_line_norm"] = np.nan
    found = family_distances(replace(two, frame=frame))
    own = found[found["family"] == "distributions"]
    assert own[["model", "metric"]].to_numpy().tolist() == [["sharp", "wd_line_norm"]]


def test_no_items_have_no_distances(one):
    found = family_distances(replace(one, frame=one.frame.iloc[:0]))
    assert list(found.columns) == ["model", "family", "value", "low", "high", "n", "metric"]
    assert not len(found)
