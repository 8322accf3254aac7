"""Frequencies of numbers: what counts, what is known about counts, and the gaps between them."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.analyses.frequencies import (
    NumberCounts,
    count_numbers,
    frequency_gaps,
    read_counts,
    zipf_counts,
)
from likely.errors import InputError, StoreError


@given(st.lists(st.text(alphabet="0123 ,.a-", max_size=30), max_size=4))
def test_counts_are_matches_with_no_digit_on_either_side(texts):
    numbers = (0, 1, 2, 12, 123)
    found = count_numbers(texts, numbers)
    for n in numbers:
        expected = sum(len(re.findall(rf"(?<!\d){n}(?!\d)", text)) for text in texts)
        assert found.counts[n] == expected
    assert found.kind == "exact"


def test_gaps_are_differences_of_powers_of_ten():
    counts = NumberCounts(source="made up", kind="approx", counts={1: 1000, 2: 10, 3: 0})
    frame = pd.DataFrame({"n1": [1.0, 2.0, 2.0, 1.0, 1.5], "n2": [2.0, 1.0, 2.0, 3.0, 2.0]})
    found = frequency_gaps(frame, counts)
    assert found["gap"].tolist()[:3] == pytest.approx([2.0, 2.0, 0.0])
    # the higher number, 2, is the rarer one
    assert found["signed_gap"].tolist()[:3] == pytest.approx([-2.0, -2.0, 0.0])
    assert found.iloc[3:].isna().all(axis=None)


def test_the_gap_of_the_null_law_is_the_ratio_of_the_numbers():
    frame = pd.DataFrame({"n1": [10.0, 3.0], "n2": [1.0, 6.0]})
    found = frequency_gaps(frame, zipf_counts(range(1, 11)))
    assert found["gap"].tolist() == pytest.approx([1.0, np.log10(2)])
    assert found["signed_gap"].tolist() == pytest.approx([-1.0, -np.log10(2)])


def test_counts_are_read_with_their_kind(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("number,count,note\n7,12,x\n8,3.5,y\n", encoding="utf-8")
    found = read_counts(path, kind="modelled")
    assert found.counts == {7: 12.0, 8: 3.5}
    assert found.to_dict() == {
        "source": "counts.csv", "kind": "modelled", "counts": {"7": 12.0, "8": 3.5}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n1,2\n", "needs the columns"), ("number,count\n1,2\nx,3\n", r"counts\.csv:3"),
     ("number,count\n1\n", r"counts\.csv:2")],
)  # fmt: skip
def test_a_file_that_holds_no_counts_is_refused(tmp_path, text, message):
    path = tmp_path / "counts.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=message):
        read_counts(path, kind="exact")
    with pytest.raises(StoreError, match="cannot be read"):
        read_counts(tmp_path / "nothing.csv", kind="exact")


def test_counts_that_are_none_are_refused():
    with pytest.raises(InputError, match=r"got -1\.0 for 3"):
        NumberCounts(source="x", kind="exact", counts={3: -1.0})
