"""Rows of a file: what is written comes back as the tables, and few are held at a time."""

import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import pytest
from listing import Listing
from policies import policy_model

from likely.calibration import build, evaluate
from likely.calibration.rows import COLUMNS, evaluation_of, frames_of, iter_rows
from likely.core.jsonio import dumps
from likely.runs.store import read_rows, write_rows

ITEMS = [
    *build("colors", preset="smoke")[:8],
    *build("distributions", preset="smoke")[:4],
    *build("categorical_k", preset="smoke")[:4],
]


@cache
def evaluated(policy):
    return evaluate(policy_model(ITEMS, policy), ITEMS, n_resamples=100)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
@pytest.mark.parametrize("policy", ["leaky_0.3", "pick_first", "null"])
def test_rows_come_back_as_the_frames_of_the_evaluation(tmp_path, policy, suffix):
    path = tmp_path / f"rows{suffix}"
    found = evaluated(policy)
    write_rows(path, iter_rows(found), COLUMNS)
    frame, options = frames_of(read_rows(path, COLUMNS))
    pd.testing.assert_frame_equal(frame, found.frame, check_like=True, check_exact=True)
    pd.testing.assert_frame_equal(options, found.option_frame, check_like=True, check_exact=True)


def test_what_is_known_in_part_comes_back_with_its_ends_and_without_shares():
    items = build("colors", preset="smoke")[:8]
    model = Listing(policy_model(items, "leaky_0.3"), 1)
    found = evaluate(model, items, n_resamples=100)
    frame, options = frames_of(list(iter_rows(found)))
    pd.testing.assert_frame_equal(frame, found.frame, check_like=True, check_exact=True)
    pd.testing.assert_frame_equal(options, found.option_frame, check_like=True, check_exact=True)
    assert not frame["is_resolved"].all()
    assert frame["pm"].isna().any()
    assert options["pi"].isna().any()
    back = evaluation_of(list(iter_rows(found)), found)
    pd.testing.assert_frame_equal(back.frame, found.frame, check_like=True, check_exact=True)


def test_a_row_is_plain_and_null_where_a_metric_is_not_defined():
    rows = list(iter_rows(evaluated("null")))
    assert [row["id"] for row in rows] == [item.id for item in ITEMS]
    assert all(list(row) == list(COLUMNS) for row in rows)
    first, last = rows[0], rows[-1]
    assert first["pm"] == 0.0
    assert [first[name] for name in ("wd01", "pm_low", "is_resolved")] == [None] * 3
    assert first["log_mass"] == (-np.inf, -np.inf)
    assert (last["label1"], last["p1"], last["n_options"]) == (None, None, len(last["ideal"]))
    assert (first["context"], first["flags"]) == (ITEMS[0].context, ())
    assert dumps(rows)


def test_the_size_of_a_chunk_changes_nothing():
    found = evaluated("pick_first")
    assert list(iter_rows(found, chunk=3)) == list(iter_rows(found))


def test_memory_of_writing_does_not_grow_with_the_rows(tmp_path):
    def peak(times):
        rows = list(iter_rows(evaluated("leaky_0.3")))
        tracemalloc.start()
        try:
            write_rows(tmp_path / "x.jsonl", (dict(row) for _ in range(times) for row in rows),
                       COLUMNS)  # fmt: skip
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # imports
    assert peak(16) < 2 * peak(2)


def test_shares_of_tiny_masses_survive_the_file(tmp_path):
    rows = list(iter_rows(evaluated("leaky_0.3")))[:2]
    for row in rows:
        row["log_mass"] = row["log_mass_low"] = (-800.0, -800.0 - np.log(3.0))
    write_rows(tmp_path / "x.parquet", rows, COLUMNS)
    _, options = frames_of(read_rows(tmp_path / "x.parquet", COLUMNS))
    assert options["pi"].tolist() == pytest.approx([0.75, 0.25] * 2)
    assert options["mass"].tolist() == [0.0] * 4


def test_rows_of_another_model_become_its_evaluation_on_the_same_items():
    mine, theirs = evaluated("leaky_0.3"), evaluated("pick_first")
    found = evaluation_of(list(iter_rows(theirs)), mine)
    assert found.model == theirs.model
    pd.testing.assert_frame_equal(found.frame, theirs.frame, check_like=True, check_exact=True)
    pd.testing.assert_frame_equal(
        found.option_frame, theirs.option_frame, check_like=True, check_exact=True
    )
    assert [line.to_dict() for line in found.lines] == [line.to_dict() for line in theirs.lines]
    assert found.scored.flags == theirs.scored.flags
    assert np.isnan(found.scored.shares).all()  # not in the rows, so not known


def test_rows_of_other_items_are_no_evaluation_of_these():
    assert evaluation_of(list(iter_rows(evaluated("leaky_0.3")))[1:], evaluated("null")) is None
