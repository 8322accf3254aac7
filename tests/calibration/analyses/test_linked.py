"""Linked items: shifts with closed forms, and frames that cannot be compared."""

import numpy as np
import pandas as pd
import pytest

from likely.calibration.analyses.linked import ALL, distractor_shift, linked_shifts, scale_error
from likely.calibration.data_sets.family import build
from likely.errors import InputError

LITE = {name: tuple(build(name, preset="lite")) for name in ("scaled", "distractor", "languages")}


def frame(name, pi1, model="m"):
    """Return the columns that linked items need; ``pi1`` is a function of the item."""
    return pd.DataFrame(
        [
            {
                "model": model, "family": item.family, "link": item.meta["link"],
                "variant": item.meta["variant"], "higher": item.higher, "pi1": pi1(item),
                "number_pair": item.number_pair_id, "template": item.template_id,
            }
            for item in LITE[name]
        ]
    )  # fmt: skip


def calibrated(item):
    return float(item.ideal[0])


def flattened(item):
    """The further the factor is from 1, the nearer to a half."""
    return 0.5 + (calibrated(item) - 0.5) / item.meta["k"]


def test_a_model_of_shares_alone_has_no_scale_error():
    found = scale_error(frame("scaled", calibrated))
    assert [row.variant for row in found.rows] == ["x2", "x10", "x100", ALL]
    for row in found.rows:
        assert (row.size.value, row.size.low, row.size.high) == (0.0, 0.0, 0.0)
        assert row.n_undefined == 0


@pytest.mark.parametrize("k", [2, 10, 100])
def test_a_model_that_factors_flatten_has_the_scale_error_of_the_formula(k):
    found = scale_error(frame("scaled", flattened)).row(f"x{k}")
    gaps = [abs(calibrated(i) - 0.5) for i in LITE["scaled"] if i.meta["k"] == k]
    assert found.size.value == pytest.approx((1 - 1 / k) * np.mean(gaps), abs=1e-12)
    assert found.to_higher.value == pytest.approx(-found.size.value, abs=1e-12)
    assert found.to_first.value == pytest.approx(0.0, abs=1e-12)  # both orders cancel
    assert found.size.low < found.size.value < found.size.high
    assert found.size.diagnostics["n_clusters"] == 4
    assert found.n_items == len(gaps)


def test_the_row_over_all_variants_is_the_mean_over_their_items():
    found = scale_error(frame("scaled", flattened))
    parts = [found.row(f"x{k}").size.value for k in (2, 10, 100)]
    assert found.row().size.value == pytest.approx(np.mean(parts), abs=1e-12)


def test_a_distractor_that_favours_the_first_option_shifts_by_what_it_adds():
    added = {"clean": 0.0, "before": 0.01, "between": -0.02, "after": 0.05}
    found = distractor_shift(
        frame("distractor", lambda item: calibrated(item) / 2 + 0.2 + added[item.meta["variant"]])
    )
    for variant in ("before", "between", "after"):
        row = found.row(variant)
        assert row.to_first.value == pytest.approx(added[variant], abs=1e-12)
        assert row.size.value == pytest.approx(abs(added[variant]), abs=1e-12)
        assert row.to_higher.value == pytest.approx(0.0, abs=1e-12)
        assert row.n_items == 3 * sum(i.meta["variant"] == "clean" for i in LITE["distractor"])


def test_models_are_measured_apart():
    both = pd.concat([frame("scaled", calibrated, "good"), frame("scaled", flattened, "bad")])
    found = scale_error(both)
    assert found.row(model="good").size.value == 0.0
    alone = scale_error(frame("scaled", flattened, "bad"))
    assert found.row(model="bad") == alone.row()
    with pytest.raises(InputError, match="one row is asked for"):
        found.row()


def test_any_variant_may_be_the_reference():
    found = linked_shifts(frame("languages", calibrated), reference="en", clusters="template")
    assert [row.variant for row in found.rows] == ["zh", "fr", "de", "es", ALL]


def test_items_without_mass_are_counted_and_left_out():
    rows = frame("scaled", flattened)
    lost = rows.index[(rows["variant"] == "x10")][:3]
    rows.loc[lost, "pi1"] = np.nan
    found = scale_error(rows)
    assert (found.row("x10").n_undefined, found.row("x2").n_undefined) == (3, 0)
    assert found.row().n_undefined == 3
    kept = rows.drop(lost)
    assert found.row("x10").size.value == scale_error(kept).row("x10").size.value


def test_ties_have_no_likelier_option():
    rows = frame("scaled", calibrated).assign(higher="tie")
    assert scale_error(rows).row().to_higher is None


def test_tables_and_records_hold_every_row():
    found = scale_error(frame("scaled", flattened))
    table = found.to_frame()
    assert list(table["variant"]) == ["x2", "x10", "x100", ALL]
    assert (table["size_low"] <= table["size"]).all()
    assert len(found.to_dict()["rows"]) == 4
    assert found.summary().count("\n") == 3


def test_frames_that_cannot_be_compared_are_refused():
    rows = frame("scaled", calibrated)
    with pytest.raises(InputError, match=r"columns \['link'\]"):
        linked_shifts(rows.drop(columns="link"), reference="x1")
    with pytest.raises(InputError, match="none in"):
        linked_shifts(rows[rows["variant"] != "x1"], reference="x1")
    with pytest.raises(InputError, match="got several"):
        linked_shifts(pd.concat([rows, rows]), reference="x1")
    with pytest.raises(InputError, match="nothing to compare"):
        linked_shifts(rows[rows["variant"] == "x1"], reference="x1")
    with pytest.raises(InputError, match="family 'distractor'"):
        distractor_shift(rows)
